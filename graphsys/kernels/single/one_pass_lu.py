"""Sparse LU factors of a matrix that is eliminated in one pass, as `sparse_lu` solves with them."""

import numpy as np

from graphsys.kernels.analysis.markowitz import LENGTH, LINE_FIELDS, START
from graphsys.kernels.analysis.one_pass import (
    BEFORE,
    DOUBTFUL,
    GOOD,
    LOWER,
    PARTS,
    REFUSED,
    UPPER,
)
from graphsys.kernels.base.jit import inlined, kernel
from graphsys.kernels.base.pointers import pointer
from graphsys.kernels.program.sparse_lu import (
    AFTER,
    DENSE_AT,
    FIRST,
    LONG,
    PART_FIELDS,
    REST,
    count_entries,
)
from graphsys.kernels.single.dense_lu import factorize_dense

#: Scaled pivot below which there may be cancellation.
SMALLEST = 2.0**-20
#: Largest scaled entries of L, of U, and of U in dense rests that are not doubtful, as
#: `analysis.sparse_lu.LARGEST`; and how much larger ones are refused.
GROWN, GROWN_UPPER, GROWN_REST, WEAKEST = 64.0, 16.0, 512.0, 64.0


@kernel
def write_parts(
    # Tables:
    row_start,
    row_index,
    values,
    order,
    block,
    scale,
    info,
    lines,
    work,
    line_index,
    line_value,
    # Out:
    tables,
    rest_scale,
    f,
):
    """Factors of `eliminate_parts` as `kernels.single.sparse_lu` reads them; a status.

    Of scaled factors, R A C = L D U, these are R^-1 L D C^-1 and C U C^-1. ``tables`` are row and
    column of each pivot, parts, entries before them, L, U, and names in dense rests.
    """
    n, before, n_lower, n_upper = row_start.size - 1, info[BEFORE], info[LOWER], info[UPPER]
    row, column, at = tables[:n], tables[n : 2 * n], 2 * n + PART_FIELDS * info[PARTS]
    part, before_start = tables[2 * n : at], tables[at : at + n + 1]
    at += n + 1
    before_at, before_column = tables[at : at + before], tables[at + before : at + 2 * before]
    at += 2 * before
    lower_start, lower_column = tables[at : at + n + 1], tables[at + n + 1 : at + n + 1 + n_lower]
    at += n + 1 + n_lower
    upper_start, upper_column = tables[at : at + n + 1], tables[at + n + 1 : at + n + 1 + n_upper]
    names = tables[at + n + 1 + n_upper :]
    form_column, part_of = work[:n], work[2 * n : 3 * n]
    matrix_row, matrix_column, rest = work[3 * n : 4 * n], work[4 * n : 5 * n], work[8 * n + 2 :]
    row_at, column_at = work[5 * n : 6 * n], work[6 * n : 7 * n]
    in_row, in_column = lines[:LINE_FIELDS], lines[LINE_FIELDS:]
    r, c, r_inverse, c_inverse = scale[:n], scale[n : 2 * n], scale[2 * n : 3 * n], scale[3 * n :]
    at = info[LOWER] + info[UPPER] + n
    for s in range(info[PARTS]):
        t, wide = s * PART_FIELDS, block[s, 1] - rest[s]
        part[t + FIRST], part[t + REST], part[t + AFTER] = block[s, 0], rest[s], block[s, 1]
        part[t + DENSE_AT], part[t + LONG] = at, 1
        at += wide * wide
    for k in range(n):
        p, q = order[0, k], order[1, k]
        row_at[p] = column_at[q] = k
        row[k], column[k] = matrix_row[p], matrix_column[q]
        rest_scale[k], r_inverse[k], c_inverse[k] = r[row[k]], 1.0 / r[row[k]], 1.0 / c[column[k]]
    _write_before(
        row_start, row_index, form_column, part_of, matrix_row, row, before_start, before_at,
        before_column,
    )  # fmt: skip
    count_entries(
        part, order[1], in_row, in_column, line_index[1], row_at, lower_start, upper_start
    )
    wrong = _write_singles(row_start, row_index, values, part_of, row, column, info, f)
    grown = _write_lines(
        order, part, info, in_row, in_column, line_index, line_value, row_at, column_at, c, column,
        r_inverse, c_inverse, lower_start, upper_start, names, lower_column, upper_column, f,
    )  # fmt: skip
    for s in range(0, part.size, PART_FIELDS):
        grown = max(
            grown,
            _write_rest(
                part,
                s,
                order,
                in_row,
                line_index,
                line_value,
                column_at,
                c,
                column,
                c_inverse,
                names,
                f,
            ),  # fmt: skip
        )
    for e in range(f.size):
        wrong |= not abs(f[e]) < np.inf
    if wrong != 0 or not grown <= WEAKEST:
        return REFUSED
    info[DOUBTFUL] |= 1 if grown > 1.0 else 0
    return GOOD


@inlined
def _write_before(
    row_start, row_index, form_column, part_of, matrix_row, row, start, at, column
):  # fmt: skip
    """Entries of the matrix outside of parts, by rows of parts."""
    end = 0
    for k in range(row.size):
        i, start[k] = row[k], end
        own = part_of[i]
        for e in range(row_start[i], row_start[i + 1] if own >= 0 else row_start[i]):
            if part_of[matrix_row[form_column[row_index[e]]]] != own:
                at[end], column[end] = e, row_index[e]
                end += 1
    start[row.size] = end


@inlined
def _write_singles(row_start, row_index, values, part_of, row, column, info, f):
    """1 / a of blocks of one row, and 0 for all others: those of dense rests are not read."""
    wrong, pivot = 0, pointer(f, info[LOWER] + info[UPPER])
    for k in range(row.size):
        i, pivot[k] = row[k], 0.0
        for e in range(row_start[i], row_start[i + 1] if part_of[i] < 0 else row_start[i]):
            if row_index[e] == column[k]:
                wrong |= not abs(values[e]) > 0.0
                pivot[k] = 1.0 / values[e] if wrong == 0 else values[e]
    return wrong


@inlined
def _write_lines(
    order, part, info, in_row, in_column, line_index, line_value, row_at, column_at, c, column,
    r_inverse, c_inverse, lower_start, upper_start, filled, lower_column, upper_column, f,
):  # fmt: skip
    """L and U of parts without their dense rests; entries relative to those that are doubtful."""
    grown = 0.0
    lower, upper = pointer(f, 0), pointer(f, info[LOWER])
    pivot = pointer(f, info[LOWER] + info[UPPER])
    for k in range(filled.size):
        filled[k] = lower_start[k]
    for s in range(0, part.size, PART_FIELDS):
        for k in range(part[s + FIRST], part[s + REST]):
            p, q = order[0, k], order[1, k]
            end = upper_start[k]
            e = in_row[START, p]
            while line_index[0, e] != q:
                e += 1
            diagonal = line_value[0, e]
            if not abs(diagonal) > SMALLEST:
                return np.inf
            inverse, own, across = 1.0 / diagonal, c[column[k]], c_inverse[k]
            pivot[k] = inverse * own / r_inverse[k]
            for e in range(in_row[START, p], in_row[START, p] + in_row[LENGTH, p]):
                if line_index[0, e] == q:
                    continue
                j, value = column_at[line_index[0, e]], line_value[0, e] * inverse
                upper_column[end], upper[end] = column[j], value * own * c_inverse[j]
                grown = max(grown, abs(value) / GROWN_UPPER)
                end += 1
            for e in range(in_column[START, q], in_column[START, q] + in_column[LENGTH, q]):
                i, value = row_at[line_index[1, e]], line_value[1, e]
                if i == k:
                    continue
                at = filled[i]
                lower_column[at], lower[at] = column[k], value * r_inverse[i] * across
                grown = max(grown, abs(value) / GROWN)
                filled[i] = at + 1
    return grown


@inlined
def _write_rest(
    part, s, order, in_row, line_index, line_value, column_at, c, column, c_inverse, names, f
):  # fmt: skip
    """Dense rest of a part, factorized; its entries of U relative to those that are doubtful."""
    rest, at, grown = part[s + REST], part[s + DENSE_AT], 0.0
    m = part[s + AFTER] - rest
    for e in range(m * m):
        f[at + e] = 0.0
    for i in range(m):
        p = order[0, rest + i]
        for e in range(in_row[START, p], in_row[START, p] + in_row[LENGTH, p]):
            j = column_at[line_index[0, e]]
            f[at + (j - rest) * m + i] = line_value[0, e] * c_inverse[j]
    if factorize_dense(f, at, m, pointer(names, rest)) < m:
        return np.inf
    for j in range(m):
        upper, size, largest = pointer(f, at + j * m), c[column[rest + j]], 0.0
        if not abs(upper[j]) * size > SMALLEST:
            return np.inf
        for i in range(j + 1):
            largest = max(largest, abs(upper[i]))
        grown = max(grown, largest * size / GROWN_REST)
    return grown
