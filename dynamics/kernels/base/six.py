"""Six numbers of a body (a twist, or a row's slopes) as one vector register.

LLVM does not vectorize here by itself (numba turns that pass off): these types save most of the
instructions of sums over rows. With `CHECKED` indices it is a tuple.
"""

from dynamics.kernels.base.jit import (
    CHECKED,
    LazyModule,
    cgutils,
    intrinsic,
    ir,
    kernel,
    place_of,
    types,
)

registers = LazyModule("dynamics.kernels.base.registers")


def first_number(context, builder, signature, arguments, i):
    """Place of numbers: argument i is the array, the next one where they start."""
    first = place_of(context, builder, signature.args[i], arguments[i])
    at = context.cast(builder, arguments[i + 1], signature.args[i + 1], types.int64)
    return builder.gep(first, [at])


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
    def plus_multiple(sums, scale, a):
        """Sums + scale a."""
        return (
            sums[0] + scale * a[0],
            sums[1] + scale * a[1],
            sums[2] + scale * a[2],
            sums[3] + scale * a[3],
            sums[4] + scale * a[4],
            sums[5] + scale * a[5],
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

    @kernel
    def load_six(x, at):
        """x[at:at + 6]."""
        return x[at], x[at + 1], x[at + 2], x[at + 3], x[at + 4], x[at + 5]

    @kernel
    def minus(a, b):
        """a - b."""
        return a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5]

    @kernel
    def multiplied(sums, a, b):
        """Sums + a b, one by one."""
        return (
            sums[0] + a[0] * b[0],
            sums[1] + a[1] * b[1],
            sums[2] + a[2] * b[2],
            sums[3] + a[3] * b[3],
            sums[4] + a[4] * b[4],
            sums[5] + a[5] * b[5],
        )

    @kernel
    def products(sums, x, at, y, bt):
        """Sums + x[at:at + 6] y[bt:bt + 6], one by one."""
        return (
            sums[0] + x[at] * y[bt],
            sums[1] + x[at + 1] * y[bt + 1],
            sums[2] + x[at + 2] * y[bt + 2],
            sums[3] + x[at + 3] * y[bt + 3],
            sums[4] + x[at + 4] * y[bt + 4],
            sums[5] + x[at + 5] * y[bt + 5],
        )

    @kernel
    def largest(most, a):
        """max(most, |a|), one by one."""
        return (
            max(most[0], abs(a[0])),
            max(most[1], abs(a[1])),
            max(most[2], abs(a[2])),
            max(most[3], abs(a[3])),
            max(most[4], abs(a[4])),
            max(most[5], abs(a[5])),
        )

    @kernel
    def larger(most, x, at):
        """max(most, |x[at:at + 6]|), one by one."""
        return largest(most, load_six(x, at))

    @kernel
    def total_of(sums):
        """Sum of the six."""
        return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + (sums[4] + sums[5])

    @kernel
    def most_of(sums):
        """Largest of the six."""
        return max(max(max(sums[0], sums[1]), max(sums[2], sums[3])), max(sums[4], sums[5]))

else:

    @intrinsic
    def nothing(typing):
        """Zeros."""

        def generate(context, builder, signature, arguments):
            return ir.Constant(registers.VECTOR, [0.0] * 6)

        return registers.six(), generate

    def sixes(emit, *kinds):
        """Signature and code of an intrinsic of the sixes ``emit(builder, *values)`` makes.

        `kinds` are those of the arguments: numbers, sixes, and pairs of an array and a place.
        """
        result = registers.six_of(kinds)

        def generate(context, builder, signature, arguments):
            values = registers.values_of(context, builder, signature.args, arguments, result)
            made = [emit(builder, *one) for one in zip(*values)]
            return registers.joined(builder, made, result)

        return result(*kinds), generate

    def fused(builder, sums, scale, a):
        """Sums + scale a, fused."""
        kind = ir.FunctionType(a.type, [a.type] * 3)
        name = f"llvm.fmuladd.v{a.type.count}f64"
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(function, [scale, a, sums])

    def added(builder, sums, a, b):
        """Sums + a b."""
        return builder.fadd(sums, builder.fmul(a, b))

    @intrinsic
    def plus(typing, sums, scale, x, at):
        """Sums + scale x[at:at + 6]."""
        return sixes(fused, sums, scale, x, at)

    @intrinsic
    def plus_multiple(typing, sums, scale, a):
        """Sums + scale a."""
        return sixes(fused, sums, scale, a)

    @intrinsic
    def add(typing, r, at, sums):
        """r[at:at + 6] <- r[at:at + 6] + sums."""

        def generate(context, builder, signature, arguments):
            result = registers.six_of(signature.args)
            places = registers.places_of(context, builder, signature, arguments, 0, result)
            (values,) = registers.values_of(
                context, builder, signature.args[2:], arguments[2:], result
            )
            for place, value in zip(places, values):
                held = builder.load(place, align=8)
                builder.store(builder.fadd(held, value), place, align=8)
            return context.get_dummy_value()

        return types.none(r, at, sums), generate

    @intrinsic
    def put(typing, r, at, sums):
        """r[at:at + 6] <- sums."""

        def generate(context, builder, signature, arguments):
            result = registers.six_of(signature.args)
            places = registers.places_of(context, builder, signature, arguments, 0, result)
            (values,) = registers.values_of(
                context, builder, signature.args[2:], arguments[2:], result
            )
            for place, value in zip(places, values):
                builder.store(value, place, align=8)
            return context.get_dummy_value()

        return types.none(r, at, sums), generate

    @intrinsic
    def load_six(typing, x, at):
        """x[at:at + 6]."""
        return sixes(lambda builder, value: value, x, at)

    @intrinsic
    def minus(typing, a, b):
        """a - b."""
        return sixes(lambda builder, one, two: builder.fsub(one, two), a, b)

    @intrinsic
    def multiplied(typing, sums, a, b):
        """Sums + a b, one by one."""
        return sixes(added, sums, a, b)

    @intrinsic
    def products(typing, sums, x, at, y, bt):
        """Sums + x[at:at + 6] y[bt:bt + 6], one by one."""
        return sixes(added, sums, x, at, y, bt)

    @intrinsic
    def largest(typing, most, a):
        """max(most, |a|), one by one."""

        def emit(builder, most, a):
            kind = ir.FunctionType(a.type, [a.type])
            name = f"llvm.fabs.v{a.type.count}f64"
            size = cgutils.get_or_insert_function(builder.module, kind, name)
            row = builder.call(size, [a])
            return builder.select(builder.fcmp_ordered(">", row, most), row, most)

        return sixes(emit, most, a)

    @kernel
    def larger(most, x, at):
        """max(most, |x[at:at + 6]|), one by one."""
        return largest(most, load_six(x, at))

    @intrinsic
    def total_of(typing, sums):
        """Sum of the six."""

        def generate(context, builder, signature, arguments):
            one, two, three, four, five, last = registers.numbers(
                builder, signature.args[0], arguments[0]
            )
            first = builder.fadd(builder.fadd(one, two), builder.fadd(three, four))
            return builder.fadd(first, builder.fadd(five, last))

        return sums.number(sums), generate

    @intrinsic
    def most_of(typing, sums):
        """Largest of the six."""

        def generate(context, builder, signature, arguments):
            found = registers.numbers(builder, signature.args[0], arguments[0])
            while len(found) > 1:
                one, two = found.pop(0), found.pop(0)
                found.append(builder.select(builder.fcmp_ordered(">", one, two), one, two))
            return found[0]

        return sums.number(sums), generate


@kernel
def inner_product(n, x, at, y, bt):
    """x[at:at + n] . y[bt:bt + n]."""
    whole = 6 * (n // 6)
    sums = nothing()
    for i in range(0, whole, 6):
        sums = products(sums, x, at + i, y, bt + i)
    total = total_of(sums)
    for i in range(whole, n):
        total += x[at + i] * y[bt + i]
    return total


@kernel
def put_multiple(n, scale, x, at, y, bt):
    """y[bt:bt + n] <- scale x[at:at + n]."""
    whole = 6 * (n // 6)
    for i in range(0, whole, 6):
        put(y, bt + i, plus(nothing(), scale, x, at + i))
    for i in range(whole, n):
        y[bt + i] = scale * x[at + i]


@kernel
def add_multiples(n, scale, x, y):
    """y[:n] <- y[:n] + scale x[:n]."""
    whole = 6 * (n // 6)
    for i in range(0, whole, 6):
        put(y, i, plus(load_six(y, i), scale, x, i))
    for i in range(whole, n):
        y[i] += scale * x[i]
