"""Prefetch of memory before it is read: a numba intrinsic over LLVM's prefetch.

The processor prefetches contiguous streams by itself. The blocks of a node lie in the user's order
and panels lie in chunks; if they come from main memory, the wait takes as long as the arithmetic.
"""

from graphsys.kernels.base.jit import LazyModule, hint, inlined, ir, types
from graphsys.kernels.base.layout import STARTS_AT, SUPERNODES

emit = LazyModule("graphsys.kernels.llvm.emit")

#: Bytes of a cache line.
LINE = 64
#: Least bytes of a system that does not stay in the caches.
FAR = 2**24
#: Nodes between a prefetch and its use.
AHEAD = 4


@hint
def fetch(typing, array, at):
    """Prefetch the cache line of array[at]."""

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


@inlined
def is_far(count, array):
    """True if so many numbers of an array's type do not stay in the caches."""
    return count * array.itemsize > FAR


@inlined
def fetch_block(values, source, length):
    """Prefetch ``length`` numbers from a source: see `nodal_ldu`; none from the arena."""
    line = LINE // values.itemsize
    if source >= 0:
        for k in range(source, source + length + line - 1, line):
            fetch(values, k)


@inlined
def fetch_lower(program, s, arena):
    """Prefetch the lower panel of supernode s, if there is such a one."""
    if 0 <= s < program[SUPERNODES]:
        at = program[program[STARTS_AT] + s]
        fetch_block(arena, program[at + 3], (program[at] + program[at + 1]) * program[at])


@inlined
def fetch_upper(program, s, arena):
    """Prefetch what back substitution reads of supernode s, if there is such a one."""
    if 0 <= s < program[SUPERNODES]:
        at = program[program[STARTS_AT] + s]
        if program[at + 4] < 0:
            fetch_lower(program, s, arena)
        else:
            fetch_block(arena, program[at + 4], program[at] * program[at + 1])
