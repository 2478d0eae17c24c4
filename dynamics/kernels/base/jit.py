"""Compiler options of every kernel: those of `graphsys`.

An array takes seven words per call, and every index is tested for being negative: 40 % of a step of
one body. So `step` and `measure` hand on each array as a `pointer` to its first number. The kernels
that they call are written as for arrays, but use no sizes and no slices: ``pointer(x, at)`` is
``x[at:]`` for both.
"""

from graphsys.kernels.base.jit import (
    DIFFER,
    DISABLE_JIT,
    LanesDifferError,
    LazyModule,
    bind_all,
    cgutils,
    compile_all,
    inlined,
    intrinsic,
    ir,
    kernel,
    lazy,
    types,
)
from graphsys.kernels.base.pointers import CHECKED, place_of, pointer

__all__ = [
    "CHECKED",
    "DIFFER",
    "DISABLE_JIT",
    "LanesDifferError",
    "LazyModule",
    "bind_all",
    "cgutils",
    "compile_all",
    "inlined",
    "intrinsic",
    "ir",
    "kernel",
    "lazy",
    "natural",
    "place_of",
    "pointer",
    "record",
    "types",
]


def record(cls):
    """Decorator of a named tuple that kernels hand on: its name lists its fields.

    Machine code is stored by the types of its arguments, so it is compiled anew if fields move.
    """
    cls.__name__ = f"{cls.__name__}[{','.join(cls._fields)}]"
    return cls


if DISABLE_JIT:

    def natural(i):
        """Index i."""
        return i

else:

    @intrinsic
    def natural(typing, i):
        """Index i, which is never negative: no test whether it counts from the end."""

        def generate(context, builder, signature, arguments):
            kind = ir.FunctionType(ir.VoidType(), [ir.IntType(1)])
            assume = builder.module.declare_intrinsic("llvm.assume", (), kind)
            value = context.cast(builder, arguments[0], signature.args[0], types.int64)
            builder.call(assume, [builder.icmp_signed(">=", value, ir.Constant(value.type, 0))])
            return value

        return types.int64(i), generate
