"""Compiler options of every kernel: those of `graphsys`, and no reference counts.

Kernels here allocate nothing, and hand no array back to Python, so nobody has to count: for one
body the counting was a quarter of a step. What they call is compiled the same way.

An array is seven words to hand on, and every index of it is looked at, whether it counts from the
end: forty per cent of a step of one body. So `step` and `measure` hand on each array as a `pointer`
to its first number. Kernels behind them are written as for arrays, but ask for no sizes and cut
nothing off: ``pointer(x, at)`` is ``x[at:]`` for both.
"""

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from graphsys.kernels.jit import DISABLE_JIT, inlined, kernel

__all__ = ["CHECKED", "DISABLE_JIT", "inlined", "kernel", "natural", "place_of", "pointer"]


#: Whether kernels are plain Python, or look at every index (``NUMBA_BOUNDSCHECK=1``).
CHECKED = DISABLE_JIT or bool(config.BOUNDSCHECK)


def place_of(context, builder, kind, x):
    """LLVM pointer to the first number of x, an array or a `pointer`."""
    if isinstance(kind, types.CPointer):
        return x
    return context.make_array(kind)(context, builder, x).data


if DISABLE_JIT:

    def natural(i):
        """Index i."""
        return i

else:

    @intrinsic
    def natural(typing, i):
        """Index i, which is never negative: nobody need look whether it counts from the end."""

        def generate(context, builder, signature, arguments):
            kind = ir.FunctionType(ir.VoidType(), [ir.IntType(1)])
            assume = builder.module.declare_intrinsic("llvm.assume", (), kind)
            value = context.cast(builder, arguments[0], signature.args[0], types.int64)
            builder.call(assume, [builder.icmp_signed(">=", value, ir.Constant(value.type, 0))])
            return value

        return types.int64(i), generate


if CHECKED:

    @inlined
    def pointer(x, at):
        """x[at:]."""
        return x[at:]

else:

    @intrinsic
    def pointer(typing, x, at):
        """x[at:] by the place of its first number."""

        def generate(context, builder, signature, arguments):
            first = place_of(context, builder, signature.args[0], arguments[0])
            at = context.cast(builder, arguments[1], signature.args[1], types.int64)
            return builder.gep(first, [at])

        return types.CPointer(x.dtype)(x, at), generate
