"""Substitution of `sparse_lu` for eight right-hand sides side by side: a row is eight numbers.

Tables and factors are those of `sparse_lu`, and so is each step. Real numbers only.
"""

import numpy as np

from graphsys.kernels.base.address_table import indices, numbers
from graphsys.kernels.base.jit import (
    DISABLE_JIT,
    LazyModule,
    inlined,
    intrinsic,
    kernel,
    types,
)
from graphsys.kernels.base.pointers import place_of, pointer
from graphsys.kernels.base.widths import LANES
from graphsys.kernels.blocks.blocks import real_name
from graphsys.kernels.program.sparse_lu import AFTER, DENSE_AT, FIRST, PART_FIELDS, REST
from graphsys.kernels.single.sparse_lu import (
    COLUMN,
    CORRECTED,
    DATA,
    FACTORS,
    INACCURATE,
    INDEX,
    PART,
    REFINEMENTS,
    ROW,
    SLIGHT,
    START,
    TOLERATED,
    lower_tables,
    rest_tables,
    row_tables,
    upper_tables,
)

emit = LazyModule("graphsys.kernels.llvm.emit")


def _on_rows(result, text):
    """Intrinsic of (y, a, x), a number between two rows of eight, that stores one of them."""

    def typed(typing, y, a, x):
        real = real_name(y.dtype)

        def generate(context, builder, signature, arguments):
            emitter, kind = emit.Emitter(builder, real), emit.REAL[real].as_pointer()
            of, rows = signature.args, (arguments[0], arguments[2])
            places = [place_of(context, builder, *pair) for pair in zip(of[::2], rows, strict=True)]
            result(emitter, arguments[1], *(builder.bitcast(place, kind) for place in places))
            return context.get_dummy_value()

        return types.none(y, y.dtype, x), generate

    typed.__doc__ = text
    return intrinsic(typed)


def _subtract_emitted(emitter, a, y, x):
    factor = emitter.splat(emitter.b.fneg(a))
    emitter.store(emitter.fma(factor, emitter.load(x), emitter.load(y)), y)


def _scale_emitted(emitter, a, y, x):
    emitter.store(emitter.b.fmul(emitter.splat(a), emitter.load(y)), x)


def _subtract_twin(y, a, x):
    y[:LANES] -= a * x[:LANES]


def _scale_twin(y, a, x):
    x[:LANES] = a * y[:LANES]


if DISABLE_JIT:
    _subtract, _scale = _subtract_twin, _scale_twin
else:
    _subtract = _on_rows(_subtract_emitted, "y <- y - a x")
    _scale = _on_rows(_scale_emitted, "x <- a y")


@kernel
def solve_columns(
    # Tables and factors:
    frame,
    # In:
    b,
    columns,
    # Work:
    work,
    # Out:
    x,
):
    """A X = B by the factors of `factorize_parts`; 1 if X is not finite.

    ``b`` and ``x`` are row by row. ``work`` has 2 n + m rows of eight, m of the largest dense rest.
    """
    n = indices(frame, ROW, b).size
    given, found, rest = pointer(work, 0), pointer(work, LANES * n), pointer(work, 2 * LANES * n)
    wrong = 0
    for c in range(0, columns, LANES):
        count = min(LANES, columns - c)
        _load(b, c, count, columns, n, given)
        _solve(frame, b, given, rest, found)
        wrong |= _unload(found, c, count, columns, n, x)
    return wrong


@kernel
def _solve(frame, like, given, rest, found):
    """A X = B for eight columns, which change; ``like`` has their type."""
    part, f = indices(frame, PART, like), numbers(frame, FACTORS, like)
    start, index, data, row, column, pivot = row_tables(frame, f)
    n, done = indices(frame, ROW, like).size, 0
    for k in range(LANES * n):
        found[k] = 0.0
    for s in range(0, part.size + 1, PART_FIELDS):
        end = part[s + FIRST] if s < part.size else n
        for k in range(done, end):
            r = row[k]
            total = pointer(given, LANES * r)
            for e in range(start[r], start[r + 1]):
                _subtract(total, data[e], pointer(found, LANES * index[e]))
            _scale(total, pivot[k], pointer(found, LANES * column[k]))
        if s < part.size:
            _solve_part(frame, s, f, given, rest, found)
            done = part[s + AFTER]


@inlined
def _load(b, c, count, columns, n, rows):
    """Columns from c on to rows of eight, with zeros after ``count``."""
    for k in range(n):
        to = pointer(rows, LANES * k)
        for i in range(LANES):
            to[i] = b[k * columns + c + i] if i < count else 0.0


@inlined
def _unload(rows, c, count, columns, n, x):
    """Rows of eight to columns from c on; 1 if one is not finite."""
    wrong = 0
    for k in range(n):
        for i in range(count):
            value = rows[LANES * k + i]
            wrong |= not abs(value) < np.inf
            x[k * columns + c + i] = value
    return wrong


@inlined
def _solve_part(frame, s, f, given, y, x):
    """X <- U^-1 L^-1 B for one part; its rest in ``y``."""
    before_start, before_at, before_column, lower_start, lower_column = lower_tables(frame, f)
    row, column, upper_start, upper_column, lower, upper, pivot = upper_tables(frame, f)
    part, names, rest_scale = rest_tables(frame, f)
    data = pointer(numbers(frame, DATA, f), 0)
    first, rest, after = part[s + FIRST], part[s + REST], part[s + AFTER]
    m = after - rest
    for i in range(first, after):
        k = i if i < rest else rest + names[i]
        total = pointer(given, LANES * row[k])
        for e in range(before_start[k], before_start[k + 1]):
            _subtract(total, data[before_at[e]], pointer(x, LANES * before_column[e]))
        for e in range(lower_start[k], lower_start[k + 1]):
            _subtract(total, lower[e], pointer(x, LANES * lower_column[e]))
        if i < rest:
            _scale(total, pivot[k], pointer(x, LANES * column[k]))
        else:
            _scale(total, rest_scale[k], pointer(y, LANES * (i - rest)))
    if m > 0:
        _solve_rest(pointer(f, part[s + DENSE_AT]), m, y)
        for k in range(m):
            _scale(pointer(y, LANES * k), 1.0, pointer(x, LANES * column[rest + k]))
    for k in range(rest - 1, first - 1, -1):
        total = pointer(x, LANES * column[k])
        for e in range(upper_start[k], upper_start[k + 1]):
            _subtract(total, upper[e], pointer(x, LANES * upper_column[e]))


@inlined
def _solve_rest(f, m, y):
    """Y <- U^-1 L^-1 Y for a dense rest."""
    for k in range(m):
        lower, own = pointer(f, k * m), pointer(y, LANES * k)
        for i in range(k + 1, m):
            _subtract(pointer(y, LANES * i), lower[i], own)
    for k in range(m - 1, -1, -1):
        upper, own = pointer(f, k * m), pointer(y, LANES * k)
        _scale(own, 1.0 / upper[k], own)
        for i in range(k):
            _subtract(pointer(y, LANES * i), upper[i], own)


@kernel
def solve_columns_transposed(
    # Tables and factors:
    frame,
    # In:
    b,
    columns,
    # Work:
    work,
    # Out:
    x,
):
    """A^T X = B as `solve_columns`."""
    n = indices(frame, ROW, b).size
    w, found, rest = pointer(work, 0), pointer(work, LANES * n), pointer(work, 2 * LANES * n)
    wrong = 0
    for c in range(0, columns, LANES):
        count = min(LANES, columns - c)
        _load(b, c, count, columns, n, w)
        _solve_transposed(frame, b, w, rest, found)
        wrong |= _unload(found, c, count, columns, n, x)
    return wrong


@kernel
def _solve_transposed(frame, like, w, rest, found):
    """A^T X = B for eight columns, as `_solve`."""
    part, f = indices(frame, PART, like), numbers(frame, FACTORS, like)
    start, index, data, row, column, pivot = row_tables(frame, f)
    done = indices(frame, ROW, like).size
    for s in range(part.size - PART_FIELDS, -1 - PART_FIELDS, -PART_FIELDS):
        for k in range(done - 1, (part[s + AFTER] if s >= 0 else 0) - 1, -1):
            r = row[k]
            value = pointer(found, LANES * r)
            _scale(pointer(w, LANES * column[k]), pivot[k], value)
            for e in range(start[r], start[r + 1]):
                _subtract(pointer(w, LANES * index[e]), data[e], value)
        if s >= 0:
            _solve_part_transposed(frame, s, f, w, rest, found)
            done = part[s + FIRST]


@inlined
def _solve_part_transposed(frame, s, f, w, y, x):
    """X <- L^-T U^-T W for one part, then W <- W - B^T X; its rest in ``y``."""
    before_start, before_at, before_column, lower_start, lower_column = lower_tables(frame, f)
    row, column, upper_start, upper_column, lower, upper, pivot = upper_tables(frame, f)
    part, names, rest_scale = rest_tables(frame, f)
    data = pointer(numbers(frame, DATA, f), 0)
    first, rest, after = part[s + FIRST], part[s + REST], part[s + AFTER]
    m = after - rest
    for k in range(first, rest):
        value = pointer(w, LANES * column[k])
        for e in range(upper_start[k], upper_start[k + 1]):
            _subtract(pointer(w, LANES * upper_column[e]), upper[e], value)
    for k in range(m):
        _scale(pointer(w, LANES * column[rest + k]), 1.0, pointer(y, LANES * k))
    _solve_rest_transposed(pointer(f, part[s + DENSE_AT]), m, y)
    for i in range(after - 1, first - 1, -1):
        k = i if i < rest else rest + names[i]
        value = pointer(x, LANES * row[k])
        if i < rest:
            _scale(pointer(w, LANES * column[i]), pivot[i], value)
        else:
            _scale(pointer(y, LANES * (i - rest)), rest_scale[k], value)
        for e in range(lower_start[k], lower_start[k + 1]):
            _subtract(pointer(w, LANES * lower_column[e]), lower[e], value)
        for e in range(before_start[k], before_start[k + 1]):
            _subtract(pointer(w, LANES * before_column[e]), data[before_at[e]], value)


@inlined
def _solve_rest_transposed(f, m, y):
    """Y <- L^-T U^-T Y for a dense rest."""
    for k in range(m):
        total = pointer(y, LANES * k)
        for i in range(k):
            _subtract(total, f[k * m + i], pointer(y, LANES * i))
        _scale(total, 1.0 / f[k * m + k], total)
    for k in range(m - 1, -1, -1):
        total = pointer(y, LANES * k)
        for i in range(k + 1, m):
            _subtract(total, f[k * m + i], pointer(y, LANES * i))


@kernel
def solve_columns_refined(
    # Tables and factors:
    frame,
    # In:
    b,
    columns,
    transposed,
    good,
    # Work:
    work,
    # Out:
    x,
):
    """A X = B or A^T X = B, each column refined as by `solve_parts_refined`; the worst status.

    ``work`` has 6 n + m + 3 rows of eight, m of the largest dense rest.
    """
    n, failed = indices(frame, ROW, b).size, 0
    wide = LANES * n
    given, w, found = pointer(work, 0), pointer(work, wide), pointer(work, 2 * wide)
    r, better, size = pointer(work, 3 * wide), pointer(work, 4 * wide), pointer(work, 5 * wide)
    error, after = pointer(work, 6 * wide), pointer(work, 6 * wide + LANES)
    small, rest = pointer(work, 6 * wide + 2 * LANES), pointer(work, 6 * wide + 3 * LANES)
    for c in range(0, columns, LANES):
        count = min(LANES, columns - c)
        _load(b, c, count, columns, n, given)
        _solve_either(frame, b, transposed, n, given, w, rest, found)
        _residual(frame, b, given, found, transposed, size, r, error)
        for _ in range(REFINEMENTS):
            left = 0
            for t in range(LANES):
                left |= error[t] > good
            if left == 0:
                break
            _solve_either(frame, b, transposed, n, r, w, rest, better)
            if _add(n, found, better, error, good, small) != 0:
                _residual(frame, b, given, better, transposed, size, r, after)
            for t in range(LANES):  # columns that are good, or gain no more, stay as they are
                taken = error[t] > good and (small[t] > 0.0 or after[t] < error[t])
                if taken:
                    for k in range(t, wide, LANES):
                        found[k] = better[k]
                if small[t] > 0.0 or not taken:
                    after[t] = 0.0 if small[t] > 0.0 else error[t]
                    for k in range(t, wide, LANES):
                        r[k] = 0.0
                error[t] = after[t]
        for t in range(count):
            if not error[t] <= TOLERATED * good:
                failed = max(failed, INACCURATE)
        failed = max(failed, _unload(found, c, count, columns, n, x))
    return failed


@inlined
def _solve_either(frame, like, transposed, n, b, w, rest, x):
    """A X = B or A^T X = B for eight columns, which stay."""
    for k in range(LANES * n):
        w[k] = b[k]
    if transposed:
        _solve_transposed(frame, like, w, rest, x)
    else:
        _solve(frame, like, w, rest, x)


@inlined
def _add(n, x, better, error, good, small):
    """better <- better + x; 1 in ``small`` for columns of which no residual is needed, or not 0."""
    for t in range(LANES):
        small[t] = 1.0 if error[t] <= CORRECTED * good else 0.0
    for k in range(0, LANES * n, LANES):
        for t in range(LANES):
            if not abs(better[k + t]) <= SLIGHT * abs(x[k + t]):
                small[t] = 0.0
            better[k + t] += x[k + t]
    left = 0
    for t in range(LANES):
        left |= error[t] > good and small[t] == 0.0
    return left


@kernel
def _residual(frame, b, given, found, transposed, size, r, error):
    """R <- B - A X, or B - A^T X; the largest |r| / (|A| |x| + |b|) of each column.

    Rows between the parts are left out, as in `residual_of_parts`.
    """
    start, index = pointer(indices(frame, START, b), 0), pointer(indices(frame, INDEX, b), 0)
    data, n = pointer(numbers(frame, DATA, b), 0), indices(frame, ROW, b).size
    row, column = pointer(indices(frame, ROW, b), 0), pointer(indices(frame, COLUMN, b), 0)
    part = indices(frame, PART, b)
    for t in range(LANES):
        error[t] = 0.0
    if transposed:
        for k in range(LANES * n):
            r[k], size[k] = given[k], abs(given[k])
        for i in range(n):
            value = pointer(found, LANES * i)
            for e in range(start[i], start[i + 1]):
                _reduce(data[e], value, LANES * index[e], r, size)
    done = 0
    for s in range(0, part.size + 1, PART_FIELDS):
        first = part[s + FIRST] if s < part.size else n
        for k in range(done, first):
            left = pointer(r, LANES * (column[k] if transposed else row[k]))
            for t in range(LANES):
                left[t] = 0.0
        done = part[s + AFTER] if s < part.size else n
        for k in range(first, done):
            i = column[k] if transposed else row[k]
            if not transposed:
                for t in range(LANES * i, LANES * i + LANES):
                    r[t], size[t] = given[t], abs(given[t])
                for e in range(start[i], start[i + 1]):
                    _reduce(data[e], pointer(found, LANES * index[e]), LANES * i, r, size)
            for t in range(LANES):
                if size[LANES * i + t] > 0.0:
                    error[t] = max(error[t], abs(r[LANES * i + t]) / size[LANES * i + t])


@inlined
def _reduce(a, x, at, r, size):
    """r <- r - a x and size <- size + |a x| for eight numbers."""
    left, sizes = pointer(r, at), pointer(size, at)
    for t in range(LANES):
        product = a * x[t]
        left[t] -= product
        sizes[t] += abs(product)
