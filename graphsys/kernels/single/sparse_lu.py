"""Block triangular systems: sparse LU of the diagonal blocks, substitution in the rest.

Rows and columns are in the order of pivots. Blocks of one row need no tables: they are the rows
between the parts, and substitution reads the user's rows.
"""

import numpy as np

from graphsys.kernels.base.address_table import doubles, enter, indices, integers, leave, numbers
from graphsys.kernels.base.jit import inlined, kernel
from graphsys.kernels.base.pointers import pointer
from graphsys.kernels.program.sparse_lu import AFTER, DENSE_AT, FIRST, LONG, PART_FIELDS, REST
from graphsys.kernels.single.dense_lu import factorize_dense

#: Arrays of a frame.
(
    START, INDEX, ROW, COLUMN, PART, BEFORE_START, BEFORE_AT, BEFORE_COLUMN, LOWER_START,
    LOWER_COLUMN, UPPER_START, UPPER_COLUMN, SINGLE, SINGLE_AT, LOAD_AT, LOAD_TO, STEP, PIVOTS,
    PLACE, FOURTH, MIRRORED, NAMES, BOUND, FLOOR, LIMIT, REST_SCALE, DATA, FACTORS, WORK,
) = range(29)  # fmt: skip
#: Fields of a step: first operation, first pivot to invert, first entry of U to scale by one.
STEP_FIELDS = 3
#: Steps of refinement at most: each gains the digits that growth leaves, 6 or more.
REFINEMENTS = 3
#: Status of a refined solution, and its backward error relative to one that is good: 2.3e-13.
INACCURATE, TOLERATED = 2, 32.0
#: Backward error, relative to a good one, from which a correction of at most so much of each
#: unknown leaves a good one: half of it, if errors of the correction are relatively as large.
#: Without a second residual, solves of `tumorAntiAngiogenesis_2` take 3/4 of the time.
CORRECTED, SLIGHT = 32.0, 2.0**-6
#: Entries of L and U that ask for new pivots, relative to those that make factors doubtful.
WEAKEST = 64.0
#: Status: factors; factors that grew; a pivot is too small for the values, or these are too large
#: or not finite; values of another pattern; another thread is at work; arrays of other types.
DONE, DOUBTFUL, WEAK, OTHER_PATTERN, BUSY, MISFIT = range(6)


@kernel
def factorize_parts(
    # Tables and factors:
    frame,
    operation,
    scaled,
    # In:
    start,
    index,
    values,
):
    """L U = A of all parts, and 1 / a of the rows between them; a status.

    ``operation`` lists t, l, u of f_t <- f_t - f_l f_u, and ``scaled`` u, l, k of entries of U,
    f_u <- f_l / pivot_k, level by level. Values of another pattern, beyond their bounds, or not
    symmetric as the first ones change nothing.
    """
    own_start, own_index = indices(frame, START, values), indices(frame, INDEX, values)
    data, f = numbers(frame, DATA, values), numbers(frame, FACTORS, values)
    bound = doubles(frame, BOUND, values)
    if start.size != own_start.size or index.size != own_index.size or values.size != data.size:
        return OTHER_PATTERN
    different = wrong = 0
    for k in range(start.size):
        different |= start[k] != own_start[k]
    for e in range(index.size):
        different |= index[e] != own_index[e]
    if different != 0:
        return OTHER_PATTERN
    for e in range(values.size):
        wrong |= not abs(values[e]) <= bound[e]
    mirrored = indices(frame, MIRRORED, values)
    pairs = mirrored.size // 2
    for e in range(pairs):
        wrong |= values[mirrored[e]] != values[mirrored[pairs + e]]
    if wrong != 0:
        return WEAK
    if not enter(frame):
        return BUSY
    for e in range(values.size):
        data[e] = values[e]
    status = _factorize(frame, operation, scaled, data, f)
    leave(frame)
    return status


@inlined
def _factorize(frame, operation, scaled, data, f):
    """`factorize_parts` of good values."""
    part, row = indices(frame, PART, data), indices(frame, ROW, data)
    single, single_at = indices(frame, SINGLE, data), indices(frame, SINGLE_AT, data)
    load_at, load_to = indices(frame, LOAD_AT, data), indices(frame, LOAD_TO, data)
    lower_start, upper_start = indices(frame, LOWER_START, data), indices(frame, UPPER_START, data)
    step, pivots = indices(frame, STEP, data), indices(frame, PIVOTS, data)
    floor, limit = doubles(frame, FLOOR, data), doubles(frame, LIMIT, data)
    n = row.size
    operation, scaled = pointer(operation, 0), pointer(scaled, 0)
    g, given = pointer(f, 0), pointer(data, 0)
    pivot = pointer(f, lower_start[n] + upper_start[n])
    symmetric = indices(frame, MIRRORED, data).size > 0
    wrong = 0
    for e in range(f.size):
        f[e] = 0.0
    for s in range(single.size):
        inverse = _inverse(given[single_at[s]])
        pivot[single[s]] = inverse
        wrong |= not 0.0 < abs(inverse) < np.inf
    for e in range(load_at.size):
        g[load_to[e]] = given[load_at[e]]
    for s in range(0, step.size - STEP_FIELDS, STEP_FIELDS):
        for e in range(step[s], step[s + STEP_FIELDS], 3):
            g[operation[e]] -= g[operation[e + 1]] * g[operation[e + 2]]
        for e in range(step[s + 1], step[s + 1 + STEP_FIELDS]):
            k = pivots[e]
            wrong |= not abs(pivot[k]) > floor[k]
            pivot[k] = _inverse(pivot[k])
        for e in range(step[s + 2], step[s + 2 + STEP_FIELDS], 3):
            g[scaled[e]] = g[scaled[e + 1]] * pivot[scaled[e + 2]]
    weak, doubtful = 0, 0
    for s in range(0, part.size, PART_FIELDS):
        if part[s + LONG] != 0:
            wrong |= _factorize_rows(frame, s, f, floor)
        if symmetric:
            _mirror_rest(part, s, f)
        wrong |= _factorize_rest(frame, s, f, floor)
        grown = _grown_rest(part, s, f, pointer(limit, lower_start[n] + upper_start[n]))
        weak |= grown > WEAKEST
        doubtful |= grown > 1.0
    for e in range(lower_start[n] + upper_start[n]):
        weak |= not abs(f[e]) <= WEAKEST * limit[e]
        doubtful |= not abs(f[e]) <= limit[e]
    if wrong != 0 or weak != 0:
        return WEAK
    return DONE if doubtful == 0 else DOUBTFUL


@inlined
def _inverse(pivot):
    """1 / pivot, 0 of none: complex division by zero would end the kernel."""
    return 1.0 / pivot if pivot != 0.0 else pivot


@inlined
def _factorize_rows(frame, s, f, floor):
    """Rows of L and U of a part one after another, each in ``w``: not 0 where a pivot is weak.

    Four rows of U that have the columns of the last, and their pivots', are subtracted together.
    """
    part = indices(frame, PART, f)
    _, _, _, lower_start, lower_column = lower_tables(frame, f)
    _, column, upper_start, upper_column, lower, upper, pivot = upper_tables(frame, f)
    place, w = pointer(indices(frame, PLACE, f), 0), pointer(numbers(frame, WORK, f), 0)
    fourth = pointer(indices(frame, FOURTH, f), 0)
    dense = pointer(f, part[s + DENSE_AT])
    rest, m, wrong = part[s + REST], part[s + AFTER] - part[s + REST], 0
    for k in range(part[s + FIRST], part[s + AFTER]):
        begin, end = lower_start[k], lower_start[k + 1]
        for e in range(begin, end):
            w[lower_column[e]] = lower[e]
        if k < rest:
            w[column[k]] = pivot[k]
            for e in range(upper_start[k], upper_start[k + 1]):
                w[upper_column[e]] = upper[e]
        else:
            for j in range(m):
                w[column[rest + j]] = dense[j * m + k - rest]
        e = begin
        while e < end:
            j = place[lower_column[e]]
            at, after, factor = upper_start[j], upper_start[j + 1], w[lower_column[e]]
            lower[e] = factor
            if e + 3 < end and place[lower_column[e + 3]] == fourth[j]:
                second = w[lower_column[e + 1]] - factor * upper[at]
                at_2 = upper_start[place[lower_column[e + 1]]]
                third = w[lower_column[e + 2]] - factor * upper[at + 1] - second * upper[at_2]
                at_3 = upper_start[place[lower_column[e + 2]]]
                last = w[lower_column[e + 3]] - factor * upper[at + 2] - second * upper[at_2 + 1]
                last -= third * upper[at_3]
                at_4 = upper_start[fourth[j]]
                lower[e + 1], lower[e + 2], lower[e + 3] = second, third, last
                for t in range(after - at - 3):
                    w[upper_column[at_4 + t]] -= (
                        factor * upper[at + 3 + t]
                        + second * upper[at_2 + 2 + t]
                        + third * upper[at_3 + 1 + t]
                        + last * upper[at_4 + t]
                    )
                e += 4
            else:
                for u in range(at, after):
                    w[upper_column[u]] -= factor * upper[u]
                e += 1
        if k < rest:
            size, inverse = abs(w[column[k]]), _inverse(w[column[k]])
            wrong |= not size > floor[k]
            pivot[k] = inverse
            for e in range(upper_start[k], upper_start[k + 1]):
                upper[e] = w[upper_column[e]] * inverse
        else:
            for j in range(m):
                dense[j * m + k - rest] = w[column[rest + j]]
    return wrong


@inlined
def _mirror_rest(part, s, f):
    """Upper triangle of a dense rest <- the lower one."""
    at, m = part[s + DENSE_AT], part[s + AFTER] - part[s + REST]
    for j in range(m):
        for i in range(j):
            f[at + j * m + i] = f[at + i * m + j]


@inlined
def _factorize_rest(frame, s, f, floor):
    """Dense rest of a part, its rows scaled by powers of two: not 0 where a pivot is weak."""
    part, names = indices(frame, PART, f), integers(frame, NAMES, f)
    rest_scale = doubles(frame, REST_SCALE, f)
    rest, at, m = part[s + REST], part[s + DENSE_AT], part[s + AFTER] - part[s + REST]
    for j in range(m):
        for i in range(m):
            f[at + j * m + i] *= rest_scale[rest + i]
    wrong = 1 if factorize_dense(f, at, m, pointer(names, rest)) < m else 0
    for k in range(m):
        wrong |= not abs(f[at + k * m + k]) > floor[rest + k]
    return wrong


@inlined
def _grown_rest(part, s, f, limit):
    """Largest entry of U of a dense rest, relative to the limit of its column."""
    rest, at, m, most = part[s + REST], part[s + DENSE_AT], part[s + AFTER] - part[s + REST], 0.0
    for j in range(m):
        largest, upper = 0.0, pointer(f, at + j * m)
        for i in range(j + 1):
            largest = max(largest, abs(upper[i]))
        most = max(most, largest / limit[rest + j])
    return most


@kernel
def solve_parts(
    # Tables and factors:
    frame,
    # In:
    b,
    # Work:
    work,
    # Out:
    x,
):
    """A x = b for columns in turn, by the factors of `factorize_parts`; 1 if x is not finite."""
    n, part, f = indices(frame, ROW, b).size, indices(frame, PART, b), numbers(frame, FACTORS, b)
    start, index, data, row, column, pivot = row_tables(frame, f)
    wrong = 0
    for c in range(0, b.size, n):
        given, found = pointer(b, c), pointer(x, c)
        for k in range(n):
            found[k] = 0.0
        done = 0
        for s in range(0, part.size + 1, PART_FIELDS):
            end = part[s + FIRST] if s < part.size else n
            for k in range(done, end):
                r = row[k]
                total = given[r]
                for e in range(start[r], start[r + 1]):
                    total -= data[e] * found[index[e]]
                found[column[k]] = total * pivot[k]
            if s < part.size:
                _solve_part(frame, s, f, given, pointer(work, 0), found)
                done = part[s + AFTER]
        for k in range(n):
            wrong |= not abs(found[k]) < np.inf
    return wrong


@inlined
def row_tables(frame, f):
    """Entries of the matrix, rows and columns of pivots, and the pivots."""
    row = indices(frame, ROW, f)
    n = row.size
    return (
        pointer(indices(frame, START, f), 0),
        pointer(indices(frame, INDEX, f), 0),
        pointer(numbers(frame, DATA, f), 0),
        pointer(row, 0),
        pointer(indices(frame, COLUMN, f), 0),
        pointer(f, indices(frame, LOWER_START, f)[n] + indices(frame, UPPER_START, f)[n]),
    )


@inlined
def lower_tables(frame, f):
    """Entries of the matrix before parts, and of L."""
    return (
        pointer(indices(frame, BEFORE_START, f), 0),
        pointer(indices(frame, BEFORE_AT, f), 0),
        pointer(indices(frame, BEFORE_COLUMN, f), 0),
        pointer(indices(frame, LOWER_START, f), 0),
        pointer(indices(frame, LOWER_COLUMN, f), 0),
    )


@inlined
def upper_tables(frame, f):
    """Rows and columns of pivots, entries of U, and the numbers of L, U and the pivots."""
    row, lower_start = indices(frame, ROW, f), indices(frame, LOWER_START, f)
    upper_start = indices(frame, UPPER_START, f)
    upper_at = lower_start[row.size]
    return (
        pointer(row, 0),
        pointer(indices(frame, COLUMN, f), 0),
        pointer(upper_start, 0),
        pointer(indices(frame, UPPER_COLUMN, f), 0),
        pointer(f, 0),
        pointer(f, upper_at),
        pointer(f, upper_at + upper_start[row.size]),
    )


@inlined
def rest_tables(frame, f):
    """Parts, and rows and scales of their dense rests."""
    return indices(frame, PART, f), integers(frame, NAMES, f), doubles(frame, REST_SCALE, f)


@inlined
def _solve_part(frame, s, f, given, y, x):
    """x <- U^-1 L^-1 b for one part; its rest in ``y``."""
    before_start, before_at, before_column, lower_start, lower_column = lower_tables(frame, f)
    row, column, upper_start, upper_column, lower, upper, pivot = upper_tables(frame, f)
    part, names, rest_scale = rest_tables(frame, f)
    data = pointer(numbers(frame, DATA, f), 0)
    first, rest, after = part[s + FIRST], part[s + REST], part[s + AFTER]
    m = after - rest
    for i in range(first, after):
        k = i if i < rest else rest + names[i]
        total = given[row[k]]
        for e in range(before_start[k], before_start[k + 1]):
            total -= data[before_at[e]] * x[before_column[e]]
        for e in range(lower_start[k], lower_start[k + 1]):
            total -= lower[e] * x[lower_column[e]]
        if i < rest:
            x[column[k]] = total * pivot[k]
        else:
            y[i - rest] = total * rest_scale[k]
    if m > 0:
        _solve_rest(pointer(f, part[s + DENSE_AT]), m, y)
        for k in range(m):
            x[column[rest + k]] = y[k]
    for k in range(rest - 1, first - 1, -1):
        total = x[column[k]]
        for e in range(upper_start[k], upper_start[k + 1]):
            total -= upper[e] * x[upper_column[e]]
        x[column[k]] = total


@inlined
def _solve_rest(f, m, y):
    """y <- U^-1 L^-1 y for a dense rest."""
    for k in range(m):
        factor, lower = y[k], pointer(f, k * m)
        for i in range(k + 1, m):
            y[i] -= lower[i] * factor
    for k in range(m - 1, -1, -1):
        upper = pointer(f, k * m)
        factor = y[k] / upper[k]
        y[k] = factor
        for i in range(k):
            y[i] -= upper[i] * factor


@kernel
def solve_parts_transposed(
    # Tables and factors:
    frame,
    # In:
    b,
    # Work:
    work,
    # Out:
    x,
):
    """A^T x = b as `solve_parts`."""
    n, part, f = indices(frame, ROW, b).size, indices(frame, PART, b), numbers(frame, FACTORS, b)
    start, index, data, row, column, pivot = row_tables(frame, f)
    w, wrong = pointer(work, work.size - n), 0
    for c in range(0, b.size, n):
        given, found = pointer(b, c), pointer(x, c)
        for k in range(n):
            w[k] = given[k]
        done = n
        for s in range(part.size - PART_FIELDS, -1 - PART_FIELDS, -PART_FIELDS):
            for k in range(done - 1, (part[s + AFTER] if s >= 0 else 0) - 1, -1):
                r = row[k]
                value = w[column[k]] * pivot[k]
                found[r] = value
                for e in range(start[r], start[r + 1]):
                    w[index[e]] -= data[e] * value
            if s >= 0:
                _solve_part_transposed(frame, s, f, w, pointer(work, 0), found)
                done = part[s + FIRST]
        for k in range(n):
            wrong |= not abs(found[k]) < np.inf
    return wrong


@inlined
def _solve_part_transposed(frame, s, f, w, y, x):
    """x <- L^-T U^-T w for one part, then w <- w - B^T x; its rest in ``y``."""
    before_start, before_at, before_column, lower_start, lower_column = lower_tables(frame, f)
    row, column, upper_start, upper_column, lower, upper, pivot = upper_tables(frame, f)
    part, names, rest_scale = rest_tables(frame, f)
    data = pointer(numbers(frame, DATA, f), 0)
    first, rest, after = part[s + FIRST], part[s + REST], part[s + AFTER]
    m = after - rest
    for k in range(first, rest):
        value = w[column[k]]
        for e in range(upper_start[k], upper_start[k + 1]):
            w[upper_column[e]] -= upper[e] * value
    for k in range(m):
        y[k] = w[column[rest + k]]
    _solve_rest_transposed(pointer(f, part[s + DENSE_AT]), m, y)
    for i in range(after - 1, first - 1, -1):
        if i < rest:
            k, value = i, w[column[i]] * pivot[i]
        else:
            k = rest + names[i]
            value = y[i - rest] * rest_scale[k]
        x[row[k]] = value
        for e in range(lower_start[k], lower_start[k + 1]):
            w[lower_column[e]] -= lower[e] * value
        for e in range(before_start[k], before_start[k + 1]):
            w[before_column[e]] -= data[before_at[e]] * value


@inlined
def _solve_rest_transposed(f, m, y):
    """y <- L^-T U^-T y for a dense rest."""
    for k in range(m):
        upper, total = pointer(f, k * m), y[k]
        for i in range(k):
            total -= upper[i] * y[i]
        y[k] = total / upper[k]
    for k in range(m - 1, -1, -1):
        lower, total = pointer(f, k * m), y[k]
        for i in range(k + 1, m):
            total -= lower[i] * y[i]
        y[k] = total


@kernel
def solve_parts_refined(
    # Tables and factors:
    frame,
    # In:
    b,
    transposed,
    good,
    # Work:
    work,
    size,
    r,
    better,
    # Out:
    x,
):
    """A x = b or A^T x = b for one vector, refined until the backward error is ``good``.

    1 if x is not finite, and `INACCURATE` if the error stays above `TOLERATED` times as much. A
    step that does not reduce the error is not taken.
    """
    if _solve(frame, b, transposed, work, x) != 0:
        return 1
    error = residual_of_parts(frame, b, x, transposed, size, r)
    for _ in range(REFINEMENTS):
        if error <= good or _solve(frame, r, transposed, work, better) != 0:
            break
        large = 0
        for i in range(x.size):
            large |= not abs(better[i]) <= SLIGHT * abs(x[i])
            better[i] += x[i]
        if large == 0 and error <= CORRECTED * good:
            for i in range(x.size):
                x[i] = better[i]
            return 0
        after = residual_of_parts(frame, b, better, transposed, size, r)
        if not after < error:
            break
        error = after
        for i in range(x.size):
            x[i] = better[i]
    return 0 if error <= TOLERATED * good else INACCURATE


@inlined
def _solve(frame, b, transposed, work, x):
    """A x = b or A^T x = b."""
    if transposed:
        return solve_parts_transposed(frame, b, work, x)
    return solve_parts(frame, b, work, x)


@kernel
def residual_of_parts(
    # Tables and factors:
    frame,
    # In:
    b,
    x,
    transposed,
    # Work:
    size,
    # Out:
    r,
):
    """r <- b - A x, or b - A^T x, of one vector; the largest |r| / (|A| |x| + |b|).

    Rows between the parts are left out, and have r = 0: substitution alone is accurate.
    """
    start, index = pointer(indices(frame, START, b), 0), pointer(indices(frame, INDEX, b), 0)
    data, n = pointer(numbers(frame, DATA, b), 0), indices(frame, ROW, b).size
    row, column = pointer(indices(frame, ROW, b), 0), pointer(indices(frame, COLUMN, b), 0)
    part, worst = indices(frame, PART, b), 0.0
    given, found, left, sizes = pointer(b, 0), pointer(x, 0), pointer(r, 0), pointer(size, 0)
    for i in range(n):
        left[i] = 0.0
    if transposed:
        for i in range(n):
            left[i], sizes[i] = given[i], abs(given[i])
        for i in range(n):
            factor = found[i]
            for e in range(start[i], start[i + 1]):
                product = data[e] * factor
                left[index[e]] -= product
                sizes[index[e]] += abs(product)
    done = 0
    for s in range(0, part.size, PART_FIELDS):
        if transposed:
            for k in range(done, part[s + FIRST]):
                left[column[k]] = 0.0
        for k in range(part[s + FIRST], part[s + AFTER]):
            i = column[k] if transposed else row[k]
            if transposed:
                total, scale = left[i], sizes[i]
            else:
                total, scale = given[i], abs(given[i])
                for e in range(start[i], start[i + 1]):
                    product = data[e] * found[index[e]]
                    total -= product
                    scale += abs(product)
                left[i] = total
            if scale > 0.0:
                worst = max(worst, abs(total) / scale)
        done = part[s + AFTER]
    if transposed:
        for k in range(done, n):
            left[column[k]] = 0.0
    return worst
