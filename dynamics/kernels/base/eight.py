"""Elimination in a panel of eight columns of eight numbers, kept in vector registers.

A panel holds U by columns, with inverse pivots on its diagonal, and another one L by columns, whose
diagonal is not stored. Rows and columns that a panel does not need are 0.
"""

from dynamics.kernels.base.jit import CHECKED, cgutils, intrinsic, ir, kernel, place_of, types
from dynamics.kernels.base.six import first_number

if CHECKED:

    @kernel
    def eliminate(panel, at, lower, bt, pivots):
        """Factorize the first columns of panel[at:at + 64]; 0, or not for a pivot of 0."""
        for i in range(pivots):
            column = at + 8 * i
            pivot = panel[column + i]
            if not 0.0 < abs(pivot) < 1e300:
                return 1
            for k in range(8):
                lower[bt + 8 * i + k] = panel[column + k] / pivot if k > i else 0.0
                panel[column + k] = panel[column + k] if k < i else 0.0
            panel[column + i] = 1.0 / pivot
            for j in range(i + 1, 8):
                part = panel[at + 8 * j + i]
                for k in range(i + 1, 8):
                    panel[at + 8 * j + k] -= part * lower[bt + 8 * i + k]
        return 0

    @kernel
    def go_forward(lower, bt, pivots, places, first, y):
        """y <- L^-1 y, of the eight numbers at ``places[first:first + 8]``."""
        for i in range(pivots):
            known = y[places[first + i]]
            for k in range(i + 1, 8):
                y[places[first + k]] -= lower[bt + 8 * i + k] * known

    @kernel
    def go_back(panel, at, pivots, places, first, y):
        """y <- U^-1 y, of the pivots among these numbers."""
        for i in range(pivots - 1, -1, -1):
            total = y[places[first + i]]
            for j in range(i + 1, 8):
                total -= panel[at + 8 * j + i] * y[places[first + j]]
            y[places[first + i]] = total * panel[at + 9 * i]

else:

    def _number(i):
        return ir.Constant(ir.IntType(32), i)

    def _vector():
        return ir.VectorType(ir.DoubleType(), 8)

    def _column(builder, start, i):
        """Place of column i of a panel."""
        place = builder.gep(start, [ir.Constant(ir.IntType(64), 8 * i)])
        return builder.bitcast(place, _vector().as_pointer())

    def _splat(builder, lanes, i):
        """Lane i eight times."""
        every = ir.Constant(ir.VectorType(ir.IntType(32), 8), [i] * 8)
        return builder.shuffle_vector(lanes, ir.Constant(lanes.type, ir.Undefined), every)

    def _where(builder, chosen, lanes):
        """Lanes that are chosen, and 0."""
        mask = ir.Constant(ir.VectorType(ir.IntType(1), 8), [int(one) for one in chosen])
        return builder.select(mask, lanes, ir.Constant(lanes.type, [0.0] * 8))

    def _subtract(builder, held, part, lanes):
        """Held - part lanes, fused."""
        kind = ir.FunctionType(held.type, [held.type] * 3)
        fused = cgutils.get_or_insert_function(builder.module, kind, "llvm.fmuladd.v8f64")
        return builder.call(fused, [builder.fneg(part), lanes, held])

    def _gathered(builder, y, places):
        """Eight numbers by their places, and where they lie."""
        lanes, at = ir.Constant(_vector(), [0.0] * 8), []
        for i in range(8):
            place = builder.load(builder.gep(places, [ir.Constant(ir.IntType(64), i)]))
            at.append(builder.gep(y, [place]))
            lanes = builder.insert_element(lanes, builder.load(at[-1]), _number(i))
        return lanes, at

    @intrinsic
    def eliminate(typing, panel, at, lower, bt, pivots):
        """Factorize the first columns of panel[at:at + 64]; 0, or not for a pivot of 0."""

        def generate(context, builder, signature, arguments):
            upper = first_number(context, builder, signature, arguments, 0)
            lower = first_number(context, builder, signature, arguments, 2)
            count = context.cast(builder, arguments[4], signature.args[4], types.int64)
            columns = [cgutils.alloca_once(builder, _vector()) for _ in range(8)]
            bad = cgutils.alloca_once_value(builder, ir.Constant(ir.IntType(1), 0))
            for i, one in enumerate(columns):
                builder.store(builder.load(_column(builder, upper, i), align=8), one)
            done = builder.append_basic_block("done")
            for i in range(8):
                end = builder.append_basic_block(f"end.{i}")
                more = builder.append_basic_block(f"pivot.{i}")
                builder.cbranch(
                    builder.icmp_signed("==", count, ir.Constant(count.type, i)), end, more
                )
                builder.position_at_end(end)
                for j in range(i, 8):
                    builder.store(builder.load(columns[j]), _column(builder, upper, j), align=8)
                builder.branch(done)
                builder.position_at_end(more)
                own = builder.load(columns[i])
                pivot = builder.extract_element(own, _number(i))
                inverse = builder.fdiv(ir.Constant(pivot.type, 1.0), pivot)
                # inf and NaN: the pivot is 0 or none
                zero = builder.fmul(inverse, ir.Constant(pivot.type, 0.0))
                wrong = builder.fcmp_unordered("une", zero, ir.Constant(pivot.type, 0.0))
                builder.store(builder.or_(builder.load(bad), wrong), bad)
                lanes = builder.insert_element(own, inverse, _number(i))
                scale = _splat(builder, lanes, i)
                below = _where(builder, [k > i for k in range(8)], builder.fmul(own, scale))
                builder.store(below, _column(builder, lower, i), align=8)
                kept = _where(builder, [k <= i for k in range(8)], lanes)
                builder.store(kept, _column(builder, upper, i), align=8)
                for j in range(i + 1, 8):
                    held = builder.load(columns[j])
                    changed = _subtract(builder, held, _splat(builder, held, i), below)
                    builder.store(changed, columns[j])
            builder.branch(done)
            builder.position_at_end(done)
            return builder.zext(builder.load(bad), ir.IntType(64))

        return types.int64(panel, at, lower, bt, pivots), generate

    @intrinsic
    def go_forward(typing, lower, bt, pivots, places, first, y):
        """y <- L^-1 y, of the eight numbers at ``places[first:first + 8]``."""

        def generate(context, builder, signature, arguments):
            lower = first_number(context, builder, signature, arguments, 0)
            count = context.cast(builder, arguments[2], signature.args[2], types.int64)
            places = first_number(context, builder, signature, arguments, 3)
            numbers = place_of(context, builder, signature.args[5], arguments[5])
            lanes, at = _gathered(builder, numbers, places)
            held = cgutils.alloca_once_value(builder, lanes)
            done = builder.append_basic_block("done")
            for i in range(8):
                more = builder.append_basic_block(f"pivot.{i}")
                builder.cbranch(
                    builder.icmp_signed("==", count, ir.Constant(count.type, i)), done, more
                )
                builder.position_at_end(more)
                now = builder.load(held)
                below = builder.load(_column(builder, lower, i), align=8)
                builder.store(_subtract(builder, now, _splat(builder, now, i), below), held)
            builder.branch(done)
            builder.position_at_end(done)
            now = builder.load(held)
            for i in range(8):
                builder.store(builder.extract_element(now, _number(i)), at[i])
            return context.get_dummy_value()

        return types.none(lower, bt, pivots, places, first, y), generate

    @intrinsic
    def go_back(typing, panel, at, pivots, places, first, y):
        """y <- U^-1 y, of the pivots among these numbers."""

        def generate(context, builder, signature, arguments):
            upper = first_number(context, builder, signature, arguments, 0)
            count = context.cast(builder, arguments[2], signature.args[2], types.int64)
            places = first_number(context, builder, signature, arguments, 3)
            numbers = place_of(context, builder, signature.args[5], arguments[5])
            lanes, at = _gathered(builder, numbers, places)
            held = cgutils.alloca_once_value(builder, lanes)
            for i in range(7, -1, -1):
                column = builder.load(_column(builder, upper, i), align=8)
                now = builder.load(held)
                known = _splat(builder, lanes, i)
                is_pivot = builder.icmp_signed(">", count, ir.Constant(count.type, i))
                with builder.if_else(is_pivot) as (pivot, other):
                    with pivot:
                        solved = builder.fmul(now, column)
                        one = _splat(builder, solved, i)
                        above = _where(builder, [k < i for k in range(8)], column)
                        changed = _subtract(builder, now, one, above)
                        value = builder.extract_element(solved, _number(i))
                        builder.store(value, at[i])
                        builder.store(changed, held)
                    with other:
                        builder.store(_subtract(builder, now, known, column), held)
            return context.get_dummy_value()

        return types.none(panel, at, pivots, places, first, y), generate
