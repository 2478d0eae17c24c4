"""Compiler options of every kernel: those of `graphsys`, and no reference counts.

Kernels here allocate nothing, and hand no array back to Python, so nobody has to count: for one
body the counting was a quarter of a step. What they call is compiled the same way.
"""

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from graphsys.kernels.jit import DISABLE_JIT, OPTIONS

__all__ = ["DISABLE_JIT", "inlined", "kernel", "natural"]

kernel = njit(**OPTIONS, _nrt=False)
inlined = njit(**OPTIONS, _nrt=False, inline="always")


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
