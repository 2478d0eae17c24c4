"""LLVM's part of compiling: from a function's LLVM code to an object file.

`helper` also runs this source in a process of its own, so it imports llvmlite and Python's library
only.
"""

import os
import pickle
import sys
from threading import Timer
from typing import NamedTuple

import llvmlite.binding as llvm

#: Seconds without work after which a process that is forgotten ends.
FORGOTTEN = 60.0
#: How numba names constants that are addresses.
ADDRESS = "numba.dynamic.globals"


class Request(NamedTuple):
    """What is to be compiled: LLVM code of a module, and modules that it is linked with."""

    name: str
    text: str
    bitcodes: tuple[bytes, ...]


class Compiled(NamedTuple):
    """An object file, and what callers want to know of it.

    Attributes
    ----------
    code : bytes
        Object file.
    bitcode : bytes
        Optimized LLVM code, for callers that link it.
    sizes : dict
        Numbers of instructions of the optimized functions.
    declared : tuple of str
        Functions that it calls and does not define.
    lasting : bool
        False if it holds addresses of this process.
    """

    code: bytes
    bitcode: bytes
    sizes: dict[str, int]
    declared: tuple[str, ...]
    lasting: bool


class Optimizer:
    """LLVM for one processor, with the passes that numba runs.

    Parameters
    ----------
    settings : dict
        ``machine``: arguments of `Target.create_target_machine`; ``empty``: LLVM code of a module
        without functions; ``cheap`` and ``full``: speed level, and whether loops and straight code
        are vectorized, in both rounds of passes; ``svml``: whether Intel's vector functions are
        called.
    """

    def __init__(self, settings):
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.settings = settings
        target = llvm.Target.from_triple(llvm.get_process_triple())
        self.machine = target.create_target_machine(**settings["machine"])

    def compile(self, request):
        """Object file of a request."""
        whole = llvm.parse_assembly(self.settings["empty"])
        whole.name = request.name
        own = llvm.parse_assembly(request.text)
        own.verify()
        split_variables(own, self._builder("full"))
        whole.link_in(own)
        for bitcode in request.bitcodes:
            whole.link_in(llvm.parse_bitcode(bitcode))
        self._optimize(whole)
        whole.verify()
        code = self.machine.emit_object(whole)
        sizes, declared = {}, []
        for function in whole.functions:
            if function.is_declaration:
                declared.append(function.name)
                continue
            sizes[function.name] = sum(1 for block in function.blocks for _ in block.instructions)
            if function.linkage == llvm.Linkage.external:
                function.linkage = "linkonce_odr"  # callers may drop it, or have it twice
        lasting = not any(one.name.startswith(ADDRESS) for one in whole.global_variables)
        return Compiled(code, whole.as_bitcode(), sizes, tuple(declared), lasting)

    def _optimize(self, module):
        builder = self._builder("cheap")
        passes = builder.getModulePassManager()
        if self.settings["full"][0]:
            passes.add_loop_rotate_pass()
            passes.add_instruction_combine_pass()
            passes.add_jump_threading_pass()
        passes.run(module, builder)
        builder = self._builder("full")
        builder.getModulePassManager().run(module, builder)

    def _builder(self, which):
        level, loops, straight = self.settings[which]
        options = llvm.create_pipeline_tuning_options()
        options.speed_level = level
        options.loop_vectorization, options.slp_vectorization = loops, straight
        return llvm.create_pass_builder(self.machine, options)


def split_variables(module, builder):
    """Split structures into numbers, which is what the passes over a module need before all else.

    numba runs all passes over functions twice: alone and in the module.
    """
    for function in module.functions:
        passes = llvm.create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.run(function, builder)


def serve(settings, source, sink):
    """Answer requests until there are no more."""
    if settings["svml"]:
        llvm.set_option("SVML", "-vector-library=SVML")
    optimizer = Optimizer(settings)
    while True:
        forgotten = Timer(FORGOTTEN, os._exit, (0,))
        forgotten.daemon = True
        forgotten.start()
        try:
            request = Request(*pickle.load(source))
        except EOFError:
            return
        forgotten.cancel()
        pickle.dump(tuple(optimizer.compile(request)), sink, protocol=-1)
        sink.flush()


if __name__ == "__main__":
    serve(pickle.load(sys.stdin.buffer), sys.stdin.buffer, sys.stdout.buffer)
