"""Pivots of sparse LU factors by Markowitz' criterion with threshold pivoting.

The active submatrix is stored twice: by rows with values, by columns without. A line that outgrows
its room moves to the end of its array. Lines with equal counts are doubly linked lists (Duff,
Erisman and Reid, Direct Methods for Sparse Matrices, 2017, ch. 10; Suhl and Suhl, ORSA J. Computing
2 (1990)). Blocks are independent of each other.
"""

import numpy as np

from graphsys.kernels.base.jit import inlined, kernel

#: Rows of ``lines``: first entry of a line, entries, room, neighbours in the list of its count.
START, LENGTH, ROOM, NEXT, PREVIOUS, LINE_FIELDS = range(6)
#: Lines that are searched for a better pivot. With 4, pivots of linear programs cost nearly as
#: little as with all lines (Suhl and Suhl).
SEARCHED = 4
#: Numbers in ``limits``: least pivot relative to its row; operations; operations per entry of a
#: block before half of its pivots, of which a few do not count; part of entries from which the rest
#: of a block is dense; and cubed rows of it that take as long as one operation on sparse rows.
THRESHOLD, MOST, EARLY, DENSE, OF_DENSE, LIMITS = range(6)
#: Rows from which the rest of a block may be dense, and operations that are a few: 20 us.
DENSE_ROWS, FEW = 24, 5000
#: Entries that may be read for each operation that is allowed: factors of circuits and linear
#: programs read 3. Where all pivots change one dense row, reading it takes n^2 entries.
READ = 10
#: Status: there is no room; the elimination takes too long.
FULL, LONG = -1, -3
#: In place of a previous neighbour: the line is that of a pivot.
PIVOT = -2


@kernel
def choose_pivots(
    # Tables:
    block,
    # In:
    limits,
    # In and out:
    row,
    column,
    row_index,
    row_value,
    column_index,
    column_value,
    # Work:
    row_head,
    column_head,
    largest,
    place,
    free,
    # Out:
    order,
    rest,
):
    """Order of pivots a_ij, ``|a_ij| >= limits[THRESHOLD] max_j |a_ij|``; 0, a status, 1 + a row.

    ``row`` and ``column`` are lines, (LINE_FIELDS, n). Block k has the rows ``block[k, 0]`` to
    ``block[k, 1]``, and columns of the same numbers. ``order`` (2, n) lists rows and columns; those
    of a block before ``rest[k]`` are pivots, the others dense. The lines of pivots then are those
    of U and L D, with the pivot; values of L D are in ``column_value``. More operations than
    ``limits`` allow, or `READ` times as many entries that are read, are `LONG`. ``free`` (3,) are
    places in the lists of rows and columns, and entries.
    """
    most, threshold = limits[MOST], limits[THRESHOLD]
    free[0] = free[1] = free[2] = 0
    operations = 0.0
    for i in range(largest.size):
        place[i] = -1
        free[0] = max(free[0], row[START, i] + row[ROOM, i])
        free[1] = max(free[1], column[START, i] + column[ROOM, i])
    for k in range(block.shape[0]):
        first, after = block[k, 0], block[k, 1]
        active = 0
        for count in range(after - first + 1):
            row_head[count] = column_head[count] = -1
        for i in range(after - 1, first - 1, -1):
            active += row[LENGTH, i]
            _link(row, row_head, i)
            _link(column, column_head, i)
            largest[i] = _largest(row, row_value, i)
        done, left = first, after - first
        early, half = operations + FEW + limits[EARLY] * active, left // 2
        while left > 0:
            if left >= DENSE_ROWS and active >= limits[DENSE] * left * left:
                break
            p, q = _best_pivot(
                row, column, row_index, row_value, column_index, row_head, column_head,
                largest, threshold, left,
            )  # fmt: skip
            if p < 0:
                return 1 + first
            order[0, done], order[1, done] = p, q
            done += 1
            left -= 1
            fill = _eliminate(
                p, q, row, column, row_index, row_value, column_index, column_value, row_head,
                column_head, largest, place, free,
            )  # fmt: skip
            if fill == FULL:
                return FULL
            operations += (row[LENGTH, p] - 1) * (column[LENGTH, q] - 1)
            if operations > most or free[2] > READ * most:
                return LONG
            if operations > early and left > half:
                return LONG
            active += fill - row[LENGTH, p] - column[LENGTH, q] + 1
        operations += left * left * left // limits[OF_DENSE]
        if operations > most:
            return LONG
        rest[k] = done
        at = done
        for i in range(first, after):
            if row[PREVIOUS, i] != PIVOT:
                order[0, at] = i
                at += 1
        at = done
        for j in range(first, after):
            if column[PREVIOUS, j] != PIVOT:
                order[1, at] = j
                at += 1
    return 0


@inlined
def _link(lines, head, i):
    """Put a line into the list of its count."""
    count = lines[LENGTH, i]
    other = head[count]
    lines[NEXT, i], lines[PREVIOUS, i] = other, -1
    if other >= 0:
        lines[PREVIOUS, other] = i
    head[count] = i


@inlined
def _unlink(lines, head, i):
    """Take a line out of the list of its count."""
    before, after = lines[PREVIOUS, i], lines[NEXT, i]
    if before >= 0:
        lines[NEXT, before] = after
    else:
        head[lines[LENGTH, i]] = after
    if after >= 0:
        lines[PREVIOUS, after] = before


@inlined
def _largest(row, value, i):
    """Largest magnitude of a row."""
    most = 0.0
    for e in range(row[START, i], row[START, i] + row[LENGTH, i]):
        most = max(most, abs(value[e]))
    return most


@kernel
def _best_pivot(
    row, column, row_index, row_value, column_index, row_head, column_head, largest, threshold, left
):
    """Row and column of the least Markowitz cost of a few lines of least counts; -1 for none."""
    best, ratio, p, q, searched = np.inf, 0.0, -1, -1, 0
    for count in range(1, left + 1):
        if best <= (count - 1) ** 2:
            break
        j = column_head[count]
        while j >= 0:
            found = False
            for e in range(column[START, j], column[START, j] + count):
                i = column_index[e]
                cost = (row[LENGTH, i] - 1.0) * (count - 1.0)
                if cost > best:
                    continue
                at = row[START, i]
                while row_index[at] != j:
                    at += 1
                size = abs(row_value[at])
                if not (size >= threshold * largest[i] and size > 0.0):
                    continue
                found = True
                if cost < best or size > ratio * largest[i]:
                    best, ratio, p, q = cost, size / largest[i], i, j
            searched += found
            if best <= (count - 1) ** 2 or (searched >= SEARCHED and p >= 0):
                return p, q
            j = column[NEXT, j]
        i = row_head[count]
        while i >= 0:
            for e in range(row[START, i], row[START, i] + count):
                j, size = row_index[e], abs(row_value[e])
                cost = (column[LENGTH, j] - 1.0) * (count - 1.0)
                if not (size >= threshold * largest[i] and size > 0.0):
                    continue
                if cost < best or (cost == best and size > ratio * largest[i]):
                    best, ratio, p, q = cost, size / largest[i], i, j
            searched += 1
            if best <= count * (count - 1) or (searched >= SEARCHED and p >= 0):
                return p, q
            i = row[NEXT, i]
    return p, q


@kernel
def _eliminate(
    p, q, row, column, row_index, row_value, column_index, column_value, row_head, column_head,
    largest, place, free,
):  # fmt: skip
    """Subtract multiples of row p from all rows of column q; the fill-in, or `FULL`."""
    _unlink(row, row_head, p)
    _unlink(column, column_head, q)
    row[PREVIOUS, p] = column[PREVIOUS, q] = PIVOT
    first, length = row[START, p], row[LENGTH, p]
    pivot = row_value[first]
    for e in range(first, first + length):  # the row leaves the other columns
        j = row_index[e]
        if j == q:
            pivot = row_value[e]
            continue
        place[j] = e
        _unlink(column, column_head, j)
        at, last = column[START, j], column[START, j] + column[LENGTH, j] - 1
        free[2] += column[LENGTH, j]
        while column_index[at] != p:
            at += 1
        column_index[at] = column_index[last]
        column[LENGTH, j] -= 1
    fill = 0
    for c in range(column[START, q], column[START, q] + column[LENGTH, q]):
        i = column_index[c]
        if i == p:
            continue
        _unlink(row, row_head, i)
        free[2] += row[LENGTH, i]
        at, last = row[START, i], row[START, i] + row[LENGTH, i] - 1
        while row_index[at] != q:
            at += 1
        column_value[c] = row_value[at]
        factor = row_value[at] / pivot
        row_index[at], row_value[at] = row_index[last], row_value[last]
        row[LENGTH, i] -= 1
        new = length - 1
        for e in range(row[START, i], last):
            at = place[row_index[e]]
            if at >= 0:
                row_value[e] -= factor * row_value[at]
                place[row_index[e]] = ~at
                new -= 1
        if row[LENGTH, i] + new > row[ROOM, i]:
            room = 2 * (row[LENGTH, i] + new)
            if free[0] + room > row_index.size:
                return FULL
            for e in range(row[LENGTH, i]):
                row_index[free[0] + e] = row_index[row[START, i] + e]
                row_value[free[0] + e] = row_value[row[START, i] + e]
            row[START, i], row[ROOM, i] = free[0], room
            free[0] += room
        for e in range(first, first + length):
            j = row_index[e]
            if j == q:
                continue
            if place[j] < 0:  # the row had this column
                place[j] = e
                continue
            at = row[START, i] + row[LENGTH, i]
            row_index[at], row_value[at] = j, -factor * row_value[e]
            row[LENGTH, i] += 1
            if column[LENGTH, j] == column[ROOM, j]:
                room = 2 * column[ROOM, j] + 2
                if free[1] + room > column_index.size:
                    return FULL
                for k in range(column[LENGTH, j]):
                    column_index[free[1] + k] = column_index[column[START, j] + k]
                column[START, j], column[ROOM, j] = free[1], room
                free[1] += room
            column_index[column[START, j] + column[LENGTH, j]] = i
            column[LENGTH, j] += 1
            fill += 1
        largest[i] = _largest(row, row_value, i)
        _link(row, row_head, i)
    for e in range(first, first + length):
        j = row_index[e]
        if j != q:
            place[j] = -1
            _link(column, column_head, j)
    return fill
