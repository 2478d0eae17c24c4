"""A C function that solves by a plan or calls back to Python, and is an error at the end.

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
#: Patterns that may have a plan.
PLACES = 4096
#: Words of 8 bytes: XLA_FFI_CallFrame has the interface at 2, which has XLA_FFI_Error_Create at 6.
#: The arguments of an error are their size, no extension, the text and XLA's code CANCELLED.
#: `direct` solves by a plan (`graphsys.interop.direct_calls`): 0 where it did. The places in XLA's
#: structures are those that `graphsys.interop.jax` names. A plan begins with the address of its
#: function, XLA's code of the type of its numbers and its length. A call has 8 words: addresses and
#: lengths of the entries, b and x, the bit of the transposed matrix and the columns or 0.
SOURCE = r"""
@closed = global i64 0
@running = global i64 0
@callback = global ptr null
@plans = global [TWICE x i64] zeroinitializer
@locks = global [TWICE x i64] zeroinitializer
@text = constant [36 x i8] c"graphsys.jax: the process is ending\00"
@arguments = global { i64, ptr, ptr, i64 } { i64 32, ptr null, ptr @text, i64 1 }

define ptr @handle(ptr %frame) {
entry:
  %before = atomicrmw add ptr @running, i64 1 seq_cst
  %closed = load atomic i64, ptr @closed seq_cst, align 8
  %late = icmp ne i64 %closed, 0
  br i1 %late, label %refuse, label %try
try:
  %status = call i64 @direct(ptr %frame)
  %solved = icmp eq i64 %status, 0
  br i1 %solved, label %leave, label %pass
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
  %result = phi ptr [ null, %try ], [ %found, %pass ], [ %error, %refuse ]
  %after = atomicrmw sub ptr @running, i64 1 seq_cst
  ret ptr %result
}

define internal i64 @word(ptr %base, i64 %k) alwaysinline {
  %at = getelementptr i64, ptr %base, i64 %k
  %value = load i64, ptr %at
  ret i64 %value
}

define internal ptr @pointer(ptr %base, i64 %k) alwaysinline {
  %word = call i64 @word(ptr %base, i64 %k)
  %place = inttoptr i64 %word to ptr
  ret ptr %place
}

define internal i64 @vector(ptr %buffer, ptr %call, i64 %k) {
entry:
  %data = call i64 @word(ptr %buffer, i64 3)
  %rank = call i64 @word(ptr %buffer, i64 4)
  %lengths = call ptr @pointer(ptr %buffer, i64 5)
  br label %head
head:
  %axis = phi i64 [ 0, %entry ], [ %axis.next, %body ]
  %lead = phi i64 [ 1, %entry ], [ %size, %body ]
  %size = phi i64 [ 1, %entry ], [ %size.next, %body ]
  %more = icmp slt i64 %axis, %rank
  br i1 %more, label %body, label %done
body:
  %length = call i64 @word(ptr %lengths, i64 %axis)
  %size.next = mul i64 %size, %length
  %axis.next = add i64 %axis, 1
  br label %head
done:
  %at = getelementptr i64, ptr %call, i64 %k
  store i64 %data, ptr %at
  %next = getelementptr i64, ptr %at, i64 1
  store i64 %size, ptr %next
  ret i64 %lead
}

define internal i64 @direct(ptr %frame) {
entry:
  %call = alloca [8 x i64], align 8
  %extension = call i64 @word(ptr %frame, i64 1)
  %stage.word = call i64 @word(ptr %frame, i64 4)
  %stage = trunc i64 %stage.word to i32
  %plain = icmp eq i64 %extension, 0
  %executes = icmp eq i32 %stage, 3
  %ready = and i1 %plain, %executes
  br i1 %ready, label %number, label %no
number:
  %attributes = call ptr @pointer(ptr %frame, i64 20)
  %scalar = call ptr @pointer(ptr %attributes, i64 0)
  %value = call ptr @pointer(ptr %scalar, i64 1)
  %code = load i64, ptr %value
  %pattern = ashr i64 %code, 3
  %known = icmp ult i64 %pattern, PLACES
  br i1 %known, label %buffers, label %no
buffers:
  %operands = call ptr @pointer(ptr %frame, i64 9)
  %results = call ptr @pointer(ptr %frame, i64 14)
  %data = call ptr @pointer(ptr %operands, i64 0)
  %b = call ptr @pointer(ptr %operands, i64 1)
  %x = call ptr @pointer(ptr %results, i64 0)
  %type.word = call i64 @word(ptr %data, i64 2)
  %type = trunc i64 %type.word to i32
  %matrices = call i64 @vector(ptr %data, ptr %call, i64 0)
  %lead.b = call i64 @vector(ptr %b, ptr %call, i64 2)
  %lead.x = call i64 @vector(ptr %x, ptr %call, i64 4)
  %many = icmp ugt i64 %matrices, 1
  %many.word = zext i1 %many to i64
  %twice = shl i64 %pattern, 1
  %place = or i64 %twice, %many.word
  %lock = getelementptr i64, ptr @locks, i64 %place
  %held = atomicrmw xchg ptr %lock, i64 1 seq_cst
  %free = icmp eq i64 %held, 0
  br i1 %free, label %look, label %no
look:
  %plan = call ptr @pointer(ptr @plans, i64 %place)
  %none = icmp eq ptr %plan, null
  br i1 %none, label %unlock, label %compare
compare:
  %wanted.word = call i64 @word(ptr %plan, i64 1)
  %wanted = trunc i64 %wanted.word to i32
  %fits = icmp eq i32 %type, %wanted
  br i1 %fits, label %solve, label %unlock
solve:
  %shifted = lshr i64 %code, 2
  %transposed = and i64 %shifted, 1
  %transposed.at = getelementptr i64, ptr %call, i64 6
  store i64 %transposed, ptr %transposed.at
  %is.matrix = and i64 %code, 1
  %rank.x = call i64 @word(ptr %x, i64 4)
  %axis.x = sub i64 %rank.x, 1
  %lengths.x = call ptr @pointer(ptr %x, i64 5)
  %last.x = call i64 @word(ptr %lengths.x, i64 %axis.x)
  %columns = mul i64 %is.matrix, %last.x
  %columns.at = getelementptr i64, ptr %call, i64 7
  store i64 %columns, ptr %columns.at
  %function = call ptr @pointer(ptr %plan, i64 0)
  %length = call i64 @word(ptr %plan, i64 2)
  %words = getelementptr i64, ptr %plan, i64 3
  %found = call i64 %function(ptr %words, i64 %length, ptr %call, i64 8, ptr null, i64 0)
  br label %unlock
unlock:
  %status = phi i64 [ 1, %look ], [ 1, %compare ], [ %found, %solve ]
  store atomic i64 0, ptr %lock seq_cst, align 8
  ret i64 %status
no:
  ret i64 1
}

define i64 @store(i64 %place, i64 %plan) {
entry:
  %lock = getelementptr i64, ptr @locks, i64 %place
  %held = atomicrmw xchg ptr %lock, i64 1 seq_cst
  %free = icmp eq i64 %held, 0
  br i1 %free, label %write, label %no
write:
  %at = getelementptr i64, ptr @plans, i64 %place
  store i64 %plan, ptr %at
  store atomic i64 0, ptr %lock seq_cst, align 8
  ret i64 1
no:
  ret i64 0
}
""".replace("PLACES", str(PLACES)).replace("TWICE", str(2 * PLACES))


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
    places : int
        Patterns that may have plans: one for one matrix, and one for many.
    """

    places = PLACES

    def __init__(self, callback: int) -> None:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine()
        self._engine: Any = llvm.create_mcjit_compiler(llvm.parse_assembly(SOURCE), machine)
        self._engine.finalize_object()
        self.address = int(self._engine.get_function_address("handle"))
        self._word("callback").value = callback
        store = int(self._engine.get_function_address("store"))
        self._store = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(store)

    def store(self, place: int, plan: int) -> bool:
        """Store the address of a plan, 0 for none; False while one is at work there.

        The place is twice the number of a pattern, and 1 more for many matrices.
        """
        return bool(self._store(place, plan))

    def close(self) -> None:
        """Refuse calls from now on, and wait for those that run."""
        self._word("closed").value = 1
        running = self._word("running")
        while running.value:
            time.sleep(PAUSE)

    def _word(self, name: str) -> ctypes.c_int64:
        """A global number of the machine code."""
        return ctypes.c_int64.from_address(self._engine.get_global_value_address(name))
