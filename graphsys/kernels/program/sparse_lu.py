"""Tables of sparse LU factors in one order of pivots: places of entries, and operations.

Factors lie in one array: rows of L by columns, then rows of U, then pivots, one for each row, then
the dense rests of blocks, column-major. A place of the matrix is a row or column in the order of
pivots.
"""

from graphsys.kernels.analysis.markowitz import LENGTH, START
from graphsys.kernels.base.jit import kernel

#: Fields of a part: first row, first row of its dense rest, row after it, place of the rest, and
#: not 0 where rows of U are so long that there are loops for them instead of operations.
FIRST, REST, AFTER, DENSE_AT, LONG, PART_FIELDS = range(6)


@kernel
def count_entries(
    # Tables:
    part,
    column_order,
    row,
    column,
    column_index,
    row_place,
    # Out:
    lower_start,
    upper_start,
):
    """Where the rows of L and of U begin."""
    n = row_place.size
    for k in range(n + 1):
        lower_start[k] = upper_start[k] = 0
    for s in range(0, part.size, PART_FIELDS):
        for k in range(part[s + FIRST], part[s + REST]):
            q = column_order[k]
            begin = column[START, q]
            for e in range(begin, begin + column[LENGTH, q]):
                i = row_place[column_index[e]]
                if i == k:  # the row of this pivot
                    upper_start[k + 1] = row[LENGTH, column_index[e]] - 1
                else:
                    lower_start[i + 1] += 1
    for k in range(n):
        lower_start[k + 1] += lower_start[k]
        upper_start[k + 1] += upper_start[k]


@kernel
def write_tables(
    # Tables:
    part,
    row_order,
    column_order,
    row,
    column,
    row_index,
    column_index,
    row_place,
    column_place,
    lower_start,
    upper_start,
    # Work:
    filled,
    # Out:
    lower_index,
    upper_index,
):
    """Columns of the entries of L and U, by rows."""
    for k in range(filled.size):
        filled[k] = lower_start[k]
    for s in range(0, part.size, PART_FIELDS):
        for k in range(part[s + FIRST], part[s + REST]):
            p, q = row_order[k], column_order[k]
            for e in range(column[START, q], column[START, q] + column[LENGTH, q]):
                i = row_place[column_index[e]]
                if i != k:
                    lower_index[filled[i]] = k
                    filled[i] += 1
            at = upper_start[k]
            for e in range(row[START, p], row[START, p] + row[LENGTH, p]):
                j = column_place[row_index[e]]
                if j != k:
                    upper_index[at] = j
                    at += 1


@kernel
def find_levels(
    # Tables:
    part,
    lower_start,
    lower_index,
    upper_start,
    upper_index,
    # Out:
    level,
):
    """Length of the longest path of L and U to each row: those of one level are independent."""
    for k in range(level.size):
        level[k] = 0
    for s in range(0, part.size, PART_FIELDS):
        for k in range(part[s + FIRST], part[s + AFTER]):
            for e in range(lower_start[k], lower_start[k + 1]):
                level[k] = max(level[k], level[lower_index[e]] + 1)
            for e in range(upper_start[k], upper_start[k + 1]):
                j = upper_index[e]
                level[j] = max(level[j], level[k] + 1)


@kernel
def write_operations(
    # Tables:
    part,
    lower_start,
    lower_index,
    upper_start,
    upper_index,
    load_start,
    load_column,
    level,
    symmetric,
    # Work:
    place,
    # Out:
    operation,
    moment,
    load_to,
):
    """Operations f[t] -= f[l] f[u] of the rows of parts, as t, l, u; the rows' entries in f.

    ``moment`` is the level of an operation, and where its entry of L is in the row. There are none
    for parts of `LONG` rows. If ``symmetric``, those of the lower triangle alone, at the level of
    the target's column: U = D^-1 L^T. Returns how many.
    """
    n = load_start.size - 1
    upper_at, pivot_at = lower_start[n], lower_start[n] + upper_start[n]
    op = 0
    for s in range(0, part.size, PART_FIELDS):
        rest, after = part[s + REST], part[s + AFTER]
        for k in range(part[s + FIRST], after):
            for e in range(lower_start[k], lower_start[k + 1]):
                place[lower_index[e]] = e
            if k >= rest:
                at, m = part[s + DENSE_AT] + k - rest, after - rest
                for j in range(m):
                    place[rest + j] = at + j * m
            else:
                place[k] = pivot_at + k
                for e in range(upper_start[k], upper_start[k + 1]):
                    place[upper_index[e]] = upper_at + e
            for e in range(load_start[k], load_start[k + 1]):
                load_to[e] = place[load_column[e]]
            if part[s + LONG] != 0:
                continue
            for e in range(lower_start[k], lower_start[k + 1]):
                j = lower_index[e]
                for u in range(upper_start[j], upper_start[j + 1]):
                    c = upper_index[u]
                    if symmetric and c > k:
                        continue
                    operation[op, 0] = place[c]
                    operation[op, 1] = e
                    operation[op, 2] = upper_at + u
                    moment[op] = (level[c if symmetric else k] << 32) + e - lower_start[k]
                    op += 1
    return op
