"""Six numbers of a body (a twist, or a row's slopes) as one vector register.

LLVM puts no neighbouring numbers together here (numba leaves its pass for that off), so that sums
over rows take far fewer instructions where it is told. Where indices are `CHECKED` it is a
tuple.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from .jit import CHECKED, kernel, place_of

VECTOR = ir.VectorType(ir.DoubleType(), 6)


class Six(types.Type):  # type: ignore[misc]
    """Type of six numbers in a register."""

    def __init__(self):
        super().__init__(name="six")


six = Six()


@register_model(Six)
class SixModel(models.PrimitiveModel):  # type: ignore[misc]
    """Kept as an LLVM vector."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, VECTOR)


def _at(context, builder, signature, arguments, i):
    """Place of six numbers: argument i is the array, the next one where they start."""
    first = place_of(context, builder, signature.args[i], arguments[i])
    at = context.cast(builder, arguments[i + 1], signature.args[i + 1], types.int64)
    return builder.bitcast(builder.gep(first, [at]), VECTOR.as_pointer())


if CHECKED:

    @kernel
    def nothing():
        """Zeros."""
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0

    @kernel
    def plus(sums, scale, x, at):
        """Sums + scale x[at:at + 6]."""
        return (
            sums[0] + scale * x[at],
            sums[1] + scale * x[at + 1],
            sums[2] + scale * x[at + 2],
            sums[3] + scale * x[at + 3],
            sums[4] + scale * x[at + 4],
            sums[5] + scale * x[at + 5],
        )

    @kernel
    def add(r, at, sums):
        """r[at:at + 6] <- r[at:at + 6] + sums."""
        for i in range(6):
            r[at + i] += sums[i]

    @kernel
    def put(r, at, sums):
        """r[at:at + 6] <- sums."""
        for i in range(6):
            r[at + i] = sums[i]

else:

    @intrinsic
    def nothing(typing):
        """Zeros."""

        def generate(context, builder, signature, arguments):
            return ir.Constant(VECTOR, [0.0] * 6)

        return six(), generate

    @intrinsic
    def plus(typing, sums, scale, x, at):
        """Sums + scale x[at:at + 6]."""

        def generate(context, builder, signature, arguments):
            row = builder.load(_at(context, builder, signature, arguments, 2), align=8)
            lanes = ir.Constant(VECTOR, ir.Undefined)
            for i in range(6):
                lanes = builder.insert_element(lanes, arguments[1], ir.Constant(ir.IntType(32), i))
            return builder.fadd(arguments[0], builder.fmul(lanes, row))

        return six(six, types.float64, x, at), generate

    @intrinsic
    def add(typing, r, at, sums):
        """r[at:at + 6] <- r[at:at + 6] + sums."""

        def generate(context, builder, signature, arguments):
            place = _at(context, builder, signature, arguments, 0)
            held = builder.load(place, align=8)
            builder.store(builder.fadd(held, arguments[2]), place, align=8)
            return context.get_dummy_value()

        return types.none(r, at, six), generate

    @intrinsic
    def put(typing, r, at, sums):
        """r[at:at + 6] <- sums."""

        def generate(context, builder, signature, arguments):
            place = _at(context, builder, signature, arguments, 0)
            builder.store(arguments[2], place, align=8)
            return context.get_dummy_value()

        return types.none(r, at, six), generate
