"""Asking for memory before it is read: a numba intrinsic over LLVM's prefetch.

A processor foresees streams without gaps by itself. But the blocks of a node lie in the user's
order and panels lie in chunks; where they come from beyond the caches, waiting for them takes as
long as the arithmetic.
"""

from graphsys.kernels.base.jit import DISABLE_JIT, LazyModule, inlined, intrinsic, ir, types
from graphsys.kernels.base.layout import STARTS_AT, SUPERNODES

emit = LazyModule("graphsys.kernels.llvm.emit")

#: Bytes of a cache line.
LINE = 64
#: Bytes that do not stay in the caches.
FAR = 2**24
#: Memory is asked for so many nodes ahead.
AHEAD = 4


@intrinsic
def _fetch(typing, array, at):
    """Ask for the cache line of array[at], soon to be read."""

    def generate(context, builder, signature, arguments):
        made = context.make_array(signature.args[0])(context, builder, arguments[0])
        index = context.cast(builder, arguments[1], signature.args[1], types.int64)
        place = builder.bitcast(builder.gep(made.data, [index]), emit.I8.as_pointer())
        read, often, data = emit.I32(0), emit.I32(3), emit.I32(1)
        arguments = [place, read, often, data]
        kinds = [argument.type for argument in arguments]
        fetch = emit.declare(builder.module, "llvm.prefetch.p0", ir.VoidType(), kinds)
        builder.call(fetch, arguments)
        return context.get_dummy_value()

    return types.none(array, at), generate


def _fetch_nothing(array, at):
    pass


fetch = _fetch_nothing if DISABLE_JIT else _fetch


@inlined
def is_far(count, array):
    """Whether so many numbers of an array's type have to be asked for."""
    return count * array.itemsize > FAR


@inlined
def fetch_block(values, source, length):
    """Ask for ``length`` numbers behind a source; a negative one is in the arena, see `narrow`."""
    line = LINE // values.itemsize
    if source >= 0:
        for k in range(source, source + length + line - 1, line):
            fetch(values, k)


@inlined
def fetch_lower(program, s, arena):
    """Ask for the lower panel of supernode s, or for nothing behind the last one."""
    if s < program[SUPERNODES]:
        at = program[program[STARTS_AT] + s]
        fetch_block(arena, program[at + 3], (program[at] + program[at + 1]) * program[at])


@inlined
def fetch_upper(program, s, arena):
    """Ask for the upper panel of supernode s, or for nothing before the first one."""
    if s >= 0:
        at = program[program[STARTS_AT] + s]
        fetch_block(arena, program[at + 4], program[at] * program[at + 1])
