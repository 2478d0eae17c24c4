"""Slopes of a row for both of its bodies, twelve numbers in three registers: see `six`."""

from dynamics.kernels.base.jit import CHECKED, LazyModule, intrinsic, ir, kernel, types
from dynamics.kernels.base.six import nothing, plus

registers = LazyModule("dynamics.kernels.base.registers")

if CHECKED:

    @kernel
    def none():
        """Zeros."""
        return nothing(), nothing()

    @kernel
    def plus_row(sums, scale, x, at):
        """Sums + scale x[at:at + 12]."""
        return plus(sums[0], scale, x, at), plus(sums[1], scale, x, at + 6)

    @kernel
    def halves(sums):
        """The first six and the last."""
        return sums

else:

    def picked(builder, a, b, lanes):
        """Lanes of two vectors in a row."""
        lanes = [ir.Constant(ir.IntType(32), i) for i in lanes]
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
        return builder.shuffle_vector(a, b, mask)

    @intrinsic
    def none(typing):
        """Zeros."""
        result = types.UniTuple(registers.four, 3)

        def generate(context, builder, signature, arguments):
            zeros = ir.Constant(registers.four.vector, [0.0] * 4)
            return context.make_tuple(builder, result, [zeros] * 3)

        return result(), generate

    @kernel
    def plus_row(sums, scale, x, at):
        """Sums + scale x[at:at + 12]."""
        return (
            plus(sums[0], scale, x, at),
            plus(sums[1], scale, x, at + 4),
            plus(sums[2], scale, x, at + 8),
        )

    @intrinsic
    def first_six(typing, one, two):
        """Of eight numbers."""

        def generate(context, builder, signature, arguments):
            return picked(builder, *arguments, range(6))

        return registers.six(registers.four, registers.four), generate

    @intrinsic
    def last_six(typing, one, two):
        """Of eight numbers."""

        def generate(context, builder, signature, arguments):
            return picked(builder, *arguments, range(2, 8))

        return registers.six(registers.four, registers.four), generate

    @kernel
    def halves(sums):
        """The first six and the last."""
        return first_six(sums[0], sums[1]), last_six(sums[1], sums[2])
