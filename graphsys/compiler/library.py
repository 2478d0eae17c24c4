"""Machine code of one kernel, as numba handles it: an object file that numba itself never loads."""

from functools import cache

import llvmlite.binding as llvm
from numba.core import cgutils, config
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target

from graphsys.compiler.helper import Helper, Job
from graphsys.compiler.optimizer import Compiled, Optimizer, Request


@cache
def helper():
    """What compiles, here or in a second process."""
    codegen = cpu_target.target_context.codegen()
    machine = {"opt": int(config.OPT)}
    codegen._customize_tm_options(machine)
    settings = {
        "machine": machine,
        "empty": str(codegen._create_empty_module("kernel")),
        "cheap": (codegen._opt_level, codegen._loopvect, False),
        "full": (int(config.OPT), bool(config.LOOP_VECTORIZE), bool(config.SLP_VECTORIZE)),
        "svml": bool(config.USING_SVML),
    }
    return Helper(Optimizer(settings).compile, settings)


class Library(JITCodeLibrary):
    """Machine code that may still be in the making, see `helper`; `machine` loads it.

    Attributes
    ----------
    pending : bool
        Whether asking for it would take time.
    """

    def __init__(self, codegen, name):
        super().__init__(codegen, name)
        self._text, self._job = "", None

    @classmethod
    def stored(cls, codegen, name, code, bitcode, sizes, declared):
        """Machine code of an earlier process."""
        self = cls(codegen, name)
        self._job = Job(Request(name, "", ()))
        self._job.compiled, self._job.done = Compiled(code, bitcode, sizes, declared, True), True
        self._finalized = True
        return self

    def add_ir_module(self, ir_module):
        """Take LLVM code, of one module only."""
        self._raise_if_finalized()
        assert not self._text
        self._text = cgutils.normalize_ir_text(str(ir_module))

    def finalize(self):
        """Let it be compiled with all that is linked to it."""
        self._raise_if_finalized()
        libraries = dict.fromkeys(self._linking_libraries)
        bitcodes = tuple(bitcode_of(library) for library in libraries)
        request = Request(cgutils.normalize_ir_text(self.name), self._text, bitcodes)
        self._job, self._finalized = helper().submit(request), True

    @property
    def pending(self):
        return not self._job.done

    @property
    def compiled(self):
        """What LLVM made of it: `optimizer.Compiled`."""
        self._ensure_finalized()
        return helper().result(self._job)

    @property
    def has_dynamic_globals(self):
        """True if it is of this process alone."""
        return not self.compiled.lasting

    def _get_module_for_linking(self):
        if self._shared_module is None:
            self._shared_module = llvm.parse_bitcode(self.compiled.bitcode)
        return self._shared_module

    def get_llvm_str(self):
        """Optimized LLVM code."""
        return str(self._get_module_for_linking())

    def get_asm_str(self):
        """Assembler."""
        return str(self._codegen._tm.emit_assembly(self._get_module_for_linking().clone()))

    def get_pointer_to_function(self, name):
        """No address: numba does not load it, and nothing in it refers to an environment."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self):
        """Who gets the environment of a function from numba."""
        return self

    def set_env(self, name, environment):
        """Nothing, see `get_pointer_to_function`."""


def bitcode_of(library):
    """Optimized LLVM code of what is linked."""
    if isinstance(library, Library):
        return library.compiled.bitcode
    return library._get_module_for_linking().as_bitcode()
