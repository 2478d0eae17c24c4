"""Elimination of a sparse matrix in one pass: blocks, scales, and pivots of which the numbers stay.

The matrix comes by compressed lines, which are its rows, or its columns if ``by_columns``. It is
permuted to block triangular form, and its diagonal blocks are eliminated.
"""

import numpy as np

from graphsys.kernels.analysis.markowitz import (
    BLOCK,
    DENSE,
    DENSE_ROWS,
    EARLY,
    FULL,
    LENGTH,
    LINE_FIELDS,
    LONG,
    MOST,
    OF_DENSE,
    ROOM,
    START,
    THRESHOLD,
    choose_pivots,
)
from graphsys.kernels.analysis.matching import match
from graphsys.kernels.analysis.strong_blocks import find_blocks
from graphsys.kernels.base.jit import inlined, kernel

#: Status: factors; a matrix for other methods, because its tables, entries or pivots are not good,
#: or because it takes many operations; too little room.
GOOD, REFUSED, EXPENSIVE, NO_ROOM = range(4)
#: Numbers in ``info``: parts, that is blocks of several rows; entries of L and of U, numbers of
#: dense rests, rows of the largest; entries in rows of parts before them; entries of the matrix
#: that solves read; and not 0 where solves have to be checked.
PARTS, LOWER, UPPER, REST_NUMBERS, WIDEST, BEFORE, OUTSIDE, DOUBTFUL, INFO = range(9)
#: Rows of ``lines``, and of ``work`` if it is (WORK_ROWS, n), which has two numbers more.
LINES, WORK_ROWS = 2 * LINE_FIELDS, 9
#: Least pivot relative to its row, columns scaled: as in MA48 and in simplex codes.
LEAST_PIVOT = 0.1
#: Part of entries from which the rest of a block is dense, and cubed rows of it that take as long
#: as one operation on sparse rows. Parts of 0.5 and 0.7 take 1.1 to 2 times as long with random
#: matrices and grids of 400 to 2,000 rows.
DENSE_PART, CUBED = 0.2, 180.0
#: Part of entries from which a matrix is one dense block without a search for others: full ones of
#: 300 rows take 0.8 of the time. Triangles have half of them.
DENSE_MATRIX = 0.6
#: Entry, rows and columns scaled, below which errors of small unknowns may be invisible in the rows
#: that judge factors: as `analysis.sparse_lu.WILD`. One in so many entries are few of them.
WILD, FEW = 2.0**-17, 64
#: Sweeps over rows and columns that balance them: with 3, all scales of up to 2^+-90 are found.
SWEEPS = 3
#: Exponent of scales up to which no entry of L and U leaves the range of numbers.
FARTHEST = 400
#: Part of entries that have one across the diagonal from which a pattern is nearly symmetric.
SYMMETRIC = 0.85
#: Operations per entry of a nearly symmetric matrix, and before half of its pivots. Meshes take
#: more, and less time with the panels of a `Factor`.
SPARSE, SPARSE_AT_FIRST = 100.0, 1.3
#: Operations on sparse rows per entry of other matrices, and at most, 0.5 s: a `Factor` makes them
#: symmetric. Dense rests of these do not count: 30,000 rows of 3 entries take 0.4 s instead of 9.
SPARSE_BEFORE_DELAYS, SPARSE_AT_MOST = 1024.0, 2e8


@kernel
def eliminate_parts(
    # In:
    start,
    index,
    data,
    by_columns,
    # Out (compressed rows):
    row_start,
    row_index,
    values,
    # Out:
    order,
    block,
    scale,
    info,
    # Work, for `write_parts` too:
    bits,
    limits,
    state,
    lines,
    work,
    line_index,
    line_value,
):
    """Rows of the matrix, pivots of its diagonal blocks and their elimination; a status.

    After `NO_ROOM` the call is repeated with ``line_index`` and ``line_value`` (2, m) longer.
    Scales of rows and columns are in ``scale`` (4 n,), whose numbers ``bits`` holds as integers.
    ``order`` (2, n) are pivots by places in the form, ``block`` (n / 2, 2) has room for first rows
    and ends of all. ``lines`` is (LINES, n), ``work`` (WORK_ROWS n + 2,).
    """
    n = row_start.size - 1
    if state[BLOCK] == 0 and _prepare(
        start, index, data, by_columns, row_start, row_index, values, order, block, scale, info,
        bits, limits, lines, work, line_index, line_value,
    ):  # fmt: skip
        return REFUSED
    if info[WIDEST] == n:
        return GOOD
    matrix_row, place, rest = work[3 * n : 4 * n], work[5 * n : 6 * n], work[8 * n + 2 :]
    row_head, column_head = work[6 * n : 7 * n + 1], work[7 * n + 1 : 8 * n + 2]
    row, column, parts = lines[:LINE_FIELDS], lines[LINE_FIELDS:], info[PARTS]
    status = choose_pivots(
        block[:parts], limits, row, column, line_index[0], line_value[0], line_index[1],
        line_value[1], row_head, column_head, scale[2 * n : 3 * n], place, state, order, rest,
    )  # fmt: skip
    if status != 0:
        return NO_ROOM if status == FULL else EXPENSIVE if status == LONG else REFUSED
    info[OUTSIDE] -= n
    for s in range(parts):
        wide = block[s, 1] - rest[s]
        info[OUTSIDE] += block[s, 1] - block[s, 0]
        info[REST_NUMBERS] += wide * wide
        info[WIDEST] = max(info[WIDEST], wide)
        for k in range(block[s, 0], block[s, 1]):
            info[BEFORE] += row_start[matrix_row[k] + 1] - row_start[matrix_row[k]]
        for k in range(block[s, 0], rest[s]):
            info[UPPER] += row[LENGTH, order[0, k]] - 1
            info[LOWER] += column[LENGTH, order[1, k]] - 1
    return GOOD


@inlined
def _prepare(
    start, index, data, by_columns, row_start, row_index, values, order, block, scale, info, bits,
    limits, lines, work, line_index, line_value,
):  # fmt: skip
    """Blocks, their lines, and limits of their elimination; not 0 if there are none."""
    n = row_start.size - 1
    row_of, column_of, block_of = work[:n], work[n : 2 * n], work[2 * n : 3 * n]
    matrix_row, matrix_column = work[3 * n : 4 * n], work[4 * n : 5 * n]
    place = work[5 * n : 6 * n]
    row_head, column_head = work[6 * n : 7 * n + 1], work[7 * n + 1 : 8 * n + 2]
    if _read(start, index, data, by_columns, row_start, row_index, values, place) != 0:
        return 1
    wild = _scale(row_start, row_index, values, scale, bits)
    if wild < 0:
        return 1
    for k in range(INFO):
        info[k] = 0
    info[DOUBTFUL] = 1 if wild > 0 else 0
    for k in range(n):
        order[0, k] = order[1, k] = k
    row, column = lines[:LINE_FIELDS], lines[LINE_FIELDS:]
    if n >= DENSE_ROWS and index.size >= DENSE_MATRIX * n * n:
        info[PARTS], info[REST_NUMBERS], info[WIDEST] = 1, n * n, n
        block[0, 0], block[0, 1], work[8 * n + 2] = 0, n, 0
        for k in range(n):
            row_of[k] = matrix_row[k] = matrix_column[k] = k
            block_of[k] = column[START, k] = column[LENGTH, k] = 0
            row[START, k], row[LENGTH, k] = row_start[k], row_start[k + 1] - row_start[k]
            for e in range(row_start[k], row_start[k + 1]):
                j, r = row_index[e], scale[k]
                line_index[0, e], line_value[0, e] = j, values[e] * r * scale[n + j]
        return 0
    match(row_start, row_index, lines[:4], row_of, column_of)
    for i in range(n):
        if column_of[i] < 0:
            return 1
    blocks = find_blocks(row_start, row_index, row_of, lines[:5], block_of)
    parts = _sort_blocks(
        blocks, block_of, column_of, row_head, column_head, matrix_row, matrix_column, block
    )  # fmt: skip
    column_place = row_of  # matches have served
    for k in range(n):
        column_place[matrix_column[k]] = k
    inside = _fill_lines(
        row_start, row_index, values, scale, block_of, matrix_row, column_place, row, column,
        line_index, line_value,
    )  # fmt: skip
    both = _across(row_start, row_index, column, line_index, matrix_row, column_place, place)
    limits[THRESHOLD], limits[DENSE], limits[OF_DENSE] = LEAST_PIVOT, DENSE_PART, np.inf
    limits[EARLY], limits[MOST] = np.inf, min(SPARSE_BEFORE_DELAYS * inside, SPARSE_AT_MOST)
    if both >= SYMMETRIC * inside:
        limits[EARLY], limits[MOST], limits[OF_DENSE] = SPARSE_AT_FIRST, SPARSE * inside, CUBED
    info[PARTS], info[BEFORE], info[OUTSIDE] = parts, -inside, index.size - inside
    return 0


@inlined
def _read(start, index, data, by_columns, row_start, row_index, values, seen):
    """Compressed rows of a matrix by lines; not 0 if its tables or numbers are not sound."""
    n, wrong = row_start.size - 1, 0
    if start.size != n + 1 or start[0] != 0 or start[n] != index.size or index.size != data.size:
        return 1
    for k in range(n):
        wrong |= start[k] > start[k + 1]
        seen[k] = -1
    for e in range(index.size):
        wrong |= index[e] < 0 or index[e] >= n
        wrong |= not abs(data[e]) < np.inf
    if wrong != 0:
        return 1
    for k in range(n):
        for e in range(start[k], start[k + 1]):
            wrong |= seen[index[e]] == k
            seen[index[e]] = k
    if by_columns:
        for k in range(n + 1):
            row_start[k] = 0
        for e in range(index.size):
            row_start[index[e] + 1] += 1
        for k in range(n):
            row_start[k + 1] += row_start[k]
            seen[k] = row_start[k]
        for k in range(n):
            for e in range(start[k], start[k + 1]):
                at = seen[index[e]]
                row_index[at], values[at] = k, data[e]
                seen[index[e]] = at + 1
    else:
        for k in range(n + 1):
            row_start[k] = start[k]
        for e in range(index.size):
            row_index[e], values[e] = index[e], data[e]
    return wrong


@inlined
def _scale(row_start, row_index, values, scale, bits):
    """Powers of two for rows and columns, after which entries are at most 1; how many are `WILD`.

    Where largest entries alone leave more than one in `FEW`, means come first. The result is -1
    where there are none, or scales are beyond `FARTHEST`.
    """
    n, wild = row_start.size - 1, 0
    for attempt in range(2):
        for k in range(2 * n):
            scale[k] = 1.0
        for _ in range(SWEEPS * attempt):
            _balance(row_start, row_index, values, scale, bits)
        wild = _fit(row_start, row_index, values, scale, bits)
        if FEW * wild <= row_start[n]:
            break
    for k in range(2 * n):
        if not -FARTHEST < (bits[k] >> 52) - 1023 < FARTHEST:
            return -1
    return wild


@inlined
def _fit(row_start, row_index, values, scale, bits):
    """Scale rows, then columns, to largest entries of 0.5 to 1; how many are `WILD`, -1 for none.

    The exponent of a number is in its bits 52 to 62.
    """
    n, wrong, wild = row_start.size - 1, 0, 0
    for i in range(n):
        largest = 0.0
        for e in range(row_start[i], row_start[i + 1]):
            largest = max(largest, abs(values[e]) * scale[n + row_index[e]])
        scale[2 * n + i], scale[3 * n + i] = largest * scale[i], 0.0
    for i in range(n):
        exponent = bits[2 * n + i] >> 52
        wrong |= not 0 < exponent < 2045
        bits[2 * n + i] = (2045 - exponent) << 52
        scale[i] *= scale[2 * n + i]
    for i in range(n):
        for e in range(row_start[i], row_start[i + 1]):
            j = row_index[e]
            scale[3 * n + j] = max(scale[3 * n + j], abs(values[e]) * scale[i] * scale[n + j])
    for j in range(n):
        exponent = bits[3 * n + j] >> 52
        wrong |= not 0 < exponent < 2045
        bits[3 * n + j] = (2045 - exponent) << 52
        scale[n + j] *= scale[3 * n + j]
    for i in range(n):
        for e in range(row_start[i], row_start[i + 1]):
            size = abs(values[e]) * scale[i] * scale[n + row_index[e]]
            wild += 0.0 < size < WILD
    return wild if wrong == 0 else -1


@inlined
def _balance(row_start, row_index, values, scale, bits):
    """Scale rows, then columns, so that largest and least entries have opposite exponents."""
    n = row_start.size - 1
    for side in range(2):
        for k in range(n):
            scale[2 * n + k], scale[3 * n + k] = 2.0**1000, 2.0**-1000
        for i in range(n):
            for e in range(row_start[i], row_start[i + 1]):
                size = abs(values[e]) * scale[i] * scale[n + row_index[e]]
                k = i if side == 0 else row_index[e]
                if size > 0.0:
                    scale[2 * n + k] = min(scale[2 * n + k], size)
                    scale[3 * n + k] = max(scale[3 * n + k], size)
        for k in range(n):
            mean = ((bits[2 * n + k] >> 52) + (bits[3 * n + k] >> 52)) >> 1
            bits[2 * n + k] = min(max(2046 - mean, 1), 2045) << 52
            scale[side * n + k] *= scale[2 * n + k]


@inlined
def _sort_blocks(blocks, block_of, column_of, at, part_of, matrix_row, matrix_column, block):
    """Rows and their columns block by block; those of several rows are parts, others -1."""
    n, parts, end = block_of.size, 0, 0
    for k in range(blocks):
        at[k] = 0
    for i in range(n):
        at[block_of[i]] += 1
    for k in range(blocks):
        size, part_of[k] = at[k], -1
        if size > 1:
            block[parts, 0], block[parts, 1], part_of[k] = end, end + size, parts
            parts += 1
        at[k] = end
        end += size
    for i in range(n):
        k = at[block_of[i]]
        matrix_row[k], matrix_column[k] = i, column_of[i]
        at[block_of[i]] = k + 1
        block_of[i] = part_of[block_of[i]]
    return parts


@inlined
def _fill_lines(
    row_start, row_index, values, scale, part_of, matrix_row, column_place, row, column, line_index,
    line_value,
):  # fmt: skip
    """Scaled entries inside of parts, by rows and by columns; how many."""
    n, end = matrix_row.size, 0
    for k in range(n):
        column[LENGTH, k] = 0
    for k in range(n):
        i, first = matrix_row[k], end
        own, r = part_of[i], scale[i]
        for e in range(row_start[i], row_start[i + 1] if own >= 0 else row_start[i]):
            j = row_index[e]
            c = column_place[j]
            if part_of[matrix_row[c]] == own:
                line_index[0, end], line_value[0, end] = c, values[e] * r * scale[n + j]
                column[LENGTH, c] += 1
                end += 1
        row[START, k], row[LENGTH, k], row[ROOM, k] = first, end - first, end - first
    at = 0
    for k in range(n):
        column[START, k], column[ROOM, k] = at, column[LENGTH, k]
        at += column[LENGTH, k]
        column[LENGTH, k] = 0
    for k in range(n):
        for e in range(row[START, k], row[START, k] + row[LENGTH, k]):
            c = line_index[0, e]
            line_index[1, column[START, c] + column[LENGTH, c]] = k
            column[LENGTH, c] += 1
    return end


@inlined
def _across(row_start, row_index, column, line_index, matrix_row, column_place, seen):
    """Entries inside of parts that have one across the diagonal of the matrix."""
    n, both = matrix_row.size, 0
    for i in range(n):
        seen[i] = -1
    for i in range(n):
        for e in range(row_start[i], row_start[i + 1]):
            seen[row_index[e]] = i
        c = column_place[i]
        for e in range(column[START, c], column[START, c] + column[LENGTH, c]):
            both += seen[matrix_row[line_index[1, e]]] == i
    return both
