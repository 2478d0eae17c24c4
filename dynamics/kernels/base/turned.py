"""Slopes of a joint at the end of an interval, as the matrix of a step holds them: by columns.

Block (joint, body) is G diag(1, E), E the derivative of what turns by that of the angular velocity
(theory/step (8)). Rows of G are 12 apart and what is next to each other in the block lies in
several of them, so that four or two rows go side by side through vector registers: see `six`.
"""

from dynamics.kernels.base.jit import CHECKED, LazyModule, cgutils, intrinsic, ir, kernel, types
from dynamics.kernels.base.quaternion import dot, load3
from dynamics.kernels.base.six import place_of_numbers, put

registers = LazyModule("dynamics.kernels.base.registers")


@kernel
def turn_row(late, E, G, at, rows, to, values):
    """One row, ``late`` times; E by columns."""
    x = load3(G, at + 3)
    for j in range(3):
        values[to + rows * j] = late * G[at + j]
        values[to + rows * (3 + j)] = late * dot(x, E[j])


if CHECKED:

    @kernel
    def turn_rows(E, rows, G, at, to, values):
        """All rows of a joint whose first is at G[at]."""
        for i in range(rows):
            turn_row(1.0, E, G, at + 12 * i, rows, to + i, values)

else:

    def downwards(count):
        """Intrinsic: x[at] and so many numbers from 12 to 12."""

        @intrinsic
        def down(typing, x, at):
            kind = registers.Numbers(count)

            def generate(context, builder, signature, arguments):
                real = ir.DoubleType()
                first = place_of_numbers(context, builder, signature, arguments, 0, real)
                lanes = ir.Constant(kind.vector, ir.Undefined)
                for i in range(count):
                    place = builder.gep(first, [ir.Constant(ir.IntType(64), 12 * i)])
                    lane = ir.Constant(ir.IntType(32), i)
                    lanes = builder.insert_element(lanes, builder.load(place, align=8), lane)
                return lanes

            return kind(x, at), generate

        return down

    four_down, two_down = downwards(4), downwards(2)

    @intrinsic
    def combined(typing, column, x, y, z):
        """x, y and z times the three numbers of a column."""
        vector = x.vector

        def generate(context, builder, signature, arguments):
            kind = ir.FunctionType(vector, [vector] * 3)
            name = f"llvm.fmuladd.v{vector.count}f64"
            fused = cgutils.get_or_insert_function(builder.module, kind, name)
            total = ir.Constant(vector, [0.0] * vector.count)
            for i in range(3):
                scale = builder.extract_value(arguments[0], i)
                lanes = ir.Constant(vector, ir.Undefined)
                for k in range(vector.count):
                    lanes = builder.insert_element(lanes, scale, ir.Constant(ir.IntType(32), k))
                if i == 0:
                    total = builder.fmul(lanes, arguments[1])
                else:
                    total = builder.call(fused, [lanes, arguments[1 + i], total])
            return total

        return x(types.UniTuple(types.float64, 3), x, x, x), generate

    @kernel
    def turn_four(E, rows, G, at, to, values):
        """Four rows."""
        x, y, z = four_down(G, at + 3), four_down(G, at + 4), four_down(G, at + 5)
        for j in range(3):
            put(values, to + rows * j, four_down(G, at + j))
            put(values, to + rows * (3 + j), combined(E[j], x, y, z))

    @kernel
    def turn_two(E, rows, G, at, to, values):
        """Two rows."""
        x, y, z = two_down(G, at + 3), two_down(G, at + 4), two_down(G, at + 5)
        for j in range(3):
            put(values, to + rows * j, two_down(G, at + j))
            put(values, to + rows * (3 + j), combined(E[j], x, y, z))

    @kernel
    def turn_rows(E, rows, G, at, to, values):
        """All rows of a joint whose first is at G[at]."""
        left = rows
        while left >= 4:
            turn_four(E, rows, G, at, to, values)
            at, to, left = at + 48, to + 4, left - 4
        if left >= 2:
            turn_two(E, rows, G, at, to, values)
            at, to, left = at + 24, to + 2, left - 2
        if left == 1:
            turn_row(1.0, E, G, at, rows, to, values)
