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


def place_of_numbers(context, builder, signature, arguments, i):
    """`first_number` of a vector."""
    first = first_number(context, builder, signature, arguments, i)
    return builder.bitcast(first, registers.VECTOR.as_pointer())


def _lanes(builder, six_lanes):
    """The six numbers one by one."""
    return [builder.extract_element(six_lanes, ir.Constant(ir.IntType(32), i)) for i in range(6)]


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

    def fused(builder, sums, scale, a):
        """Sums + scale a, fused."""
        vector = registers.VECTOR
        lanes = ir.Constant(vector, ir.Undefined)
        for i in range(6):
            lanes = builder.insert_element(lanes, scale, ir.Constant(ir.IntType(32), i))
        kind = ir.FunctionType(vector, [vector] * 3)
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.fmuladd.v6f64")
        return builder.call(function, [lanes, a, sums])

    @intrinsic
    def plus(typing, sums, scale, x, at):
        """Sums + scale x[at:at + 6]."""

        def generate(context, builder, signature, arguments):
            place = place_of_numbers(context, builder, signature, arguments, 2)
            return fused(builder, arguments[0], arguments[1], builder.load(place, align=8))

        return registers.six(registers.six, types.float64, x, at), generate

    @intrinsic
    def plus_multiple(typing, sums, scale, a):
        """Sums + scale a."""

        def generate(context, builder, signature, arguments):
            return fused(builder, *arguments)

        return registers.six(registers.six, types.float64, registers.six), generate

    @intrinsic
    def add(typing, r, at, sums):
        """r[at:at + 6] <- r[at:at + 6] + sums."""

        def generate(context, builder, signature, arguments):
            place = place_of_numbers(context, builder, signature, arguments, 0)
            held = builder.load(place, align=8)
            builder.store(builder.fadd(held, arguments[2]), place, align=8)
            return context.get_dummy_value()

        return types.none(r, at, registers.six), generate

    @intrinsic
    def put(typing, r, at, sums):
        """r[at:at + 6] <- sums."""

        def generate(context, builder, signature, arguments):
            place = place_of_numbers(context, builder, signature, arguments, 0)
            builder.store(arguments[2], place, align=8)
            return context.get_dummy_value()

        return types.none(r, at, registers.six), generate

    @intrinsic
    def load_six(typing, x, at):
        """x[at:at + 6]."""

        def generate(context, builder, signature, arguments):
            return builder.load(
                place_of_numbers(context, builder, signature, arguments, 0), align=8
            )

        return registers.six(x, at), generate

    @intrinsic
    def minus(typing, a, b):
        """a - b."""

        def generate(context, builder, signature, arguments):
            return builder.fsub(arguments[0], arguments[1])

        return registers.six(registers.six, registers.six), generate

    @intrinsic
    def multiplied(typing, sums, a, b):
        """Sums + a b, one by one."""

        def generate(context, builder, signature, arguments):
            return builder.fadd(arguments[0], builder.fmul(arguments[1], arguments[2]))

        return registers.six(registers.six, registers.six, registers.six), generate

    @intrinsic
    def products(typing, sums, x, at, y, bt):
        """Sums + x[at:at + 6] y[bt:bt + 6], one by one."""

        def generate(context, builder, signature, arguments):
            places = [place_of_numbers(context, builder, signature, arguments, i) for i in (1, 3)]
            left, right = (builder.load(place, align=8) for place in places)
            return builder.fadd(arguments[0], builder.fmul(left, right))

        return registers.six(registers.six, x, at, y, bt), generate

    @intrinsic
    def largest(typing, most, a):
        """max(most, |a|), one by one."""

        def generate(context, builder, signature, arguments):
            kind = ir.FunctionType(registers.VECTOR, [registers.VECTOR])
            size = cgutils.get_or_insert_function(builder.module, kind, "llvm.fabs.v6f64")
            row = builder.call(size, [arguments[1]])
            above = builder.fcmp_ordered(">", row, arguments[0])
            return builder.select(above, row, arguments[0])

        return registers.six(registers.six, registers.six), generate

    @kernel
    def larger(most, x, at):
        """max(most, |x[at:at + 6]|), one by one."""
        return largest(most, load_six(x, at))

    @intrinsic
    def total_of(typing, sums):
        """Sum of the six."""

        def generate(context, builder, signature, arguments):
            one, two, three, four, five, last = _lanes(builder, arguments[0])
            first = builder.fadd(builder.fadd(one, two), builder.fadd(three, four))
            return builder.fadd(first, builder.fadd(five, last))

        return types.float64(registers.six), generate

    @intrinsic
    def most_of(typing, sums):
        """Largest of the six."""

        def generate(context, builder, signature, arguments):
            found = _lanes(builder, arguments[0])
            while len(found) > 1:
                one, two = found.pop(0), found.pop(0)
                found.append(builder.select(builder.fcmp_ordered(">", one, two), one, two))
            return found[0]

        return types.float64(registers.six), generate


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
