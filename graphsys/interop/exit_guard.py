"""A C function that calls back to Python until the process ends, and an error afterwards.

A callback of ctypes waits for the interpreter's lock. At the end of the process JAX waits for its
threads while it holds that lock, so a late callback would wait for ever.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any

__all__ = ["ExitGuard"]

#: Seconds between two readings of the number of calls that still run.
PAUSE = 1e-3
#: Words of 8 bytes: XLA_FFI_CallFrame has the interface at 2, which has XLA_FFI_Error_Create at 6.
#: The arguments of an error are their size, no extension, the text and XLA's code CANCELLED.
SOURCE = r"""
@closed = global i64 0
@running = global i64 0
@callback = global ptr null
@text = constant [36 x i8] c"graphsys.jax: the process is ending\00"
@arguments = global { i64, ptr, ptr, i64 } { i64 32, ptr null, ptr @text, i64 1 }

define ptr @handle(ptr %frame) {
entry:
  %before = atomicrmw add ptr @running, i64 1 seq_cst
  %closed = load atomic i64, ptr @closed seq_cst, align 8
  %late = icmp ne i64 %closed, 0
  br i1 %late, label %refuse, label %pass
pass:
  %callback = load ptr, ptr @callback
  %found = call ptr %callback(ptr %frame)
  br label %leave
refuse:
  %api.at = getelementptr i64, ptr %frame, i64 2
  %api = load ptr, ptr %api.at
  %create.at = getelementptr i64, ptr %api, i64 6
  %create = load ptr, ptr %create.at
  %error = call ptr %create(ptr @arguments)
  br label %leave
leave:
  %result = phi ptr [ %found, %pass ], [ %error, %refuse ]
  %after = atomicrmw sub ptr @running, i64 1 seq_cst
  ret ptr %result
}
"""


class ExitGuard:
    """Machine code of the function, which lives as long as this object.

    Parameters
    ----------
    callback : int
        Address of the C function that calls Python.

    Attributes
    ----------
    address : int
        Address of the guarded function.
    """

    def __init__(self, callback: int) -> None:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine()
        self._engine: Any = llvm.create_mcjit_compiler(llvm.parse_assembly(SOURCE), machine)
        self._engine.finalize_object()
        self.address = int(self._engine.get_function_address("handle"))
        self._word("callback").value = callback

    def close(self) -> None:
        """Refuse calls from now on, and wait for those that run."""
        self._word("closed").value = 1
        running = self._word("running")
        while running.value:
            time.sleep(PAUSE)

    def _word(self, name: str) -> ctypes.c_int64:
        """A global number of the machine code."""
        return ctypes.c_int64.from_address(self._engine.get_global_value_address(name))
