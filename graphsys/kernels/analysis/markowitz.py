"""Pivots of sparse LU factors by Markowitz' criterion with threshold pivoting.

The active submatrix is stored twice: by rows with values, by columns without. A line that outgrows
its room moves to the end of its array. Lines with equal counts are doubly linked lists (Duff,
Erisman and Reid, Direct Methods for Sparse Matrices, 2017, ch. 10; Suhl and Suhl, ORSA J. Computing
2 (1990)). Blocks are independent of each other.
"""

import numpy as np

from graphsys.kernels.base.jit import inlined, kernel
from graphsys.kernels.base.pointers import pointer

#: Rows of ``lines``: first entry of a line, entries, room, neighbours in the list of its count.
START, LENGTH, ROOM, NEXT, PREVIOUS, LINE_FIELDS = range(6)
#: Lines that are searched for a better pivot. With 4, pivots of linear programs cost nearly as
#: little as with all lines (Suhl and Suhl).
SEARCHED = 4
#: Numbers in ``limits``: least pivot relative to its row; operations; operations per entry of a
#: block before half of its pivots, if they are not few; part of entries from which the rest
#: of a block is dense; and cubed rows of it that take as long as one operation on sparse rows.
THRESHOLD, MOST, EARLY, DENSE, OF_DENSE, LIMITS = range(6)
#: Rows from which the rest of a block may be dense, and operations that are few: 25 us.
DENSE_ROWS, FEW = 24, 8000.0
#: Entries that may be read for each operation that is allowed: factors of circuits and linear
#: programs read 3. Where all pivots change one dense row, reading it takes n^2 entries.
READ = 10
#: Numbers in ``state``, 0 at first: places in the lists of rows and columns; entries that were
#: read, and operations; 1 + a block that is not done, its pivots so far, active entries, and
#: operations that are `EARLY`.
ROW_END, COLUMN_END, READ_ENTRIES, OPERATIONS, BLOCK, DONE, ACTIVE, EARLY_AT, STATE = range(9)
#: Status: there is no room, and with more the elimination goes on; it takes too long.
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
    # In and out:
    state,
    order,
    rest,
):
    """Order of pivots a_ij, ``|a_ij| >= limits[THRESHOLD] max_j |a_ij|``; 0, a status, 1 + a row.

    ``row`` and ``column`` are lines, (LINE_FIELDS, n). Block k has the rows ``block[k, 0]`` to
    ``block[k, 1]``, and columns of the same numbers. ``order`` (2, n) lists rows and columns; those
    of a block before ``rest[k]`` are pivots, the others dense. The lines of pivots then are those
    of U and L D, with the pivot; values of L D are in ``column_value``. More operations than
    ``limits`` allow, or `READ` times as many entries that are read, are `LONG`. After `FULL` lists
    may be longer: the call is repeated.
    """
    n, most, threshold = largest.size, limits[MOST], limits[THRESHOLD]
    of_row, of_column = _pointers(row, row_head), _pointers(column, column_head)
    entries = pointer(row_index, 0), pointer(row_value, 0), pointer(column_index, 0)
    left_of, row_count, column_count = pointer(column_value, 0), of_row[LENGTH], of_column[LENGTH]
    if state[BLOCK] == 0:
        for i in range(n):
            place[i] = -1
            state[ROW_END] = max(state[ROW_END], row[START, i] + row[ROOM, i])
            state[COLUMN_END] = max(state[COLUMN_END], column[START, i] + column[ROOM, i])
        _begin(block, 0, of_row, of_column, entries, pointer(largest, 0), limits, state)
    for k in range(state[BLOCK] - 1, block.shape[0]):
        first, after = block[k, 0], block[k, 1]
        if state[BLOCK] != k + 1:
            _begin(block, k, of_row, of_column, entries, pointer(largest, 0), limits, state)
        left, half = after - state[DONE], (after - first) // 2
        while left > 0:
            if left >= DENSE_ROWS and state[ACTIVE] >= limits[DENSE] * left * left:
                break
            p, q = _best_pivot(of_row, of_column, entries, pointer(largest, 0), threshold, left)
            if p < 0:
                return 1 + first
            if not _has_room(p, q, of_row, of_column, entries, row_index.size, state):
                return FULL
            order[0, after - left], order[1, after - left] = p, q
            fill = _eliminate(
                p, q, of_row, of_column, entries, left_of, pointer(largest, 0), pointer(place, 0),
                state,
            )  # fmt: skip
            left -= 1
            state[DONE] += 1
            state[OPERATIONS] += (row_count[p] - 1) * (column_count[q] - 1)
            state[ACTIVE] += fill - row_count[p] - column_count[q] + 1
            if state[OPERATIONS] > most or state[READ_ENTRIES] > READ * most:
                return LONG
            if state[OPERATIONS] > state[EARLY_AT] and left > half:
                return LONG
        state[OPERATIONS] += int(left * left * left / limits[OF_DENSE])
        if state[OPERATIONS] > most:
            return LONG
        rest[k] = after - left
        at = rest[k]
        for i in range(first, after):
            if row[PREVIOUS, i] != PIVOT:
                order[0, at] = i
                at += 1
        at = rest[k]
        for j in range(first, after):
            if column[PREVIOUS, j] != PIVOT:
                order[1, at] = j
                at += 1
    return 0


@inlined
def _begin(block, k, row, column, entries, largest, limits, state):
    """Lists of a block, and its part of the state."""
    if k >= block.shape[0]:
        state[BLOCK] = 1
        return
    first, after, active = block[k, 0], block[k, 1], 0
    for count in range(after - first + 1):
        row[LINE_FIELDS][count] = column[LINE_FIELDS][count] = -1
    for i in range(after - 1, first - 1, -1):
        active += row[LENGTH][i]
        _link(row, i)
        _link(column, i)
        size = 0.0
        for e in range(row[START][i], row[START][i] + row[LENGTH][i]):
            size = max(size, abs(entries[1][e]))
        largest[i] = size
    early = min(state[OPERATIONS] + max(FEW, limits[EARLY] * active), 1e18)
    state[BLOCK], state[DONE], state[ACTIVE], state[EARLY_AT] = k + 1, first, active, int(early)


@inlined
def _has_room(p, q, row, column, entries, room, state):
    """True if there is room for all lines that outgrow theirs."""
    if row[LENGTH][p] == 1 or column[LENGTH][q] == 1:
        return True
    rows = columns = 0
    for e in range(column[START][q], column[START][q] + column[LENGTH][q]):
        rows += 2 * (row[LENGTH][entries[2][e]] + row[LENGTH][p])
    for e in range(row[START][p], row[START][p] + row[LENGTH][p]):
        columns += 4 * (column[ROOM][entries[0][e]] + column[LENGTH][q] + 1)
    return state[ROW_END] + rows <= room and state[COLUMN_END] + columns <= room


@inlined
def _pointers(lines, head):
    """Fields of lines, and the first line of each count."""
    return (
        pointer(lines[START], 0),
        pointer(lines[LENGTH], 0),
        pointer(lines[ROOM], 0),
        pointer(lines[NEXT], 0),
        pointer(lines[PREVIOUS], 0),
        pointer(head, 0),
    )


@inlined
def _link(lines, i):
    """Put a line into the list of its count."""
    _, length, _, after, before, head = lines
    other = head[length[i]]
    after[i], before[i] = other, -1
    if other >= 0:
        before[other] = i
    head[length[i]] = i


@inlined
def _unlink(lines, i):
    """Take a line out of the list of its count."""
    _, length, _, after, before, head = lines
    previous, following = before[i], after[i]
    if previous >= 0:
        after[previous] = following
    else:
        head[length[i]] = following
    if following >= 0:
        before[following] = previous


@inlined
def _best_pivot(row, column, entries, largest, threshold, left):
    """Row and column of the least Markowitz cost of a few lines of least counts; -1 for none."""
    row_start, row_count, _, row_next, _, row_head = row
    column_start, column_count, _, column_next, _, column_head = column
    row_index, row_value, column_index = entries
    best, ratio, p, q, searched = np.inf, 0.0, -1, -1, 0
    for count in range(1, left + 1):
        if best <= (count - 1) ** 2:
            break
        j = column_head[count]
        while j >= 0:
            found = False
            for e in range(column_start[j], column_start[j] + count):
                i = column_index[e]
                cost = (row_count[i] - 1.0) * (count - 1.0)
                if cost > best:
                    continue
                at = row_start[i]
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
            j = column_next[j]
        i = row_head[count]
        while i >= 0:
            for e in range(row_start[i], row_start[i] + count):
                j, size = row_index[e], abs(row_value[e])
                cost = (column_count[j] - 1.0) * (count - 1.0)
                if not (size >= threshold * largest[i] and size > 0.0):
                    continue
                if cost < best or (cost == best and size > ratio * largest[i]):
                    best, ratio, p, q = cost, size / largest[i], i, j
            searched += 1
            if best <= count * (count - 1) or (searched >= SEARCHED and p >= 0):
                return p, q
            i = row_next[i]
    return p, q


@inlined
def _eliminate(p, q, row, column, entries, column_value, largest, place, state):
    """Subtract multiples of row p from all rows of column q; the fill-in."""
    row_start, row_count, row_room, _, row_previous, _ = row
    column_start, column_count, column_room, _, column_previous, _ = column
    row_index, row_value, column_index = entries
    _unlink(row, p)
    _unlink(column, q)
    row_previous[p] = column_previous[q] = PIVOT
    first, after = row_start[p], row_start[p] + row_count[p]
    pivot, seen = row_value[first], 0
    for e in range(first, after):  # the row leaves the other columns
        j = row_index[e]
        if j == q:
            pivot = row_value[e]
            continue
        place[j] = e
        _unlink(column, j)
        at, last = column_start[j], column_start[j] + column_count[j] - 1
        seen += column_count[j]
        while column_index[at] != p:
            at += 1
        column_index[at] = column_index[last]
        column_count[j] -= 1
    fill = 0
    for c in range(column_start[q], column_start[q] + column_count[q]):
        i = column_index[c]
        if i == p:
            continue
        _unlink(row, i)
        seen += row_count[i]
        at, begin, last = row_start[i], row_start[i], row_start[i] + row_count[i] - 1
        while row_index[at] != q:
            at += 1
        column_value[c] = row_value[at]
        factor = row_value[at] / pivot
        row_index[at], row_value[at] = row_index[last], row_value[last]
        size, new = 0.0, after - first - 1
        for e in range(begin, last):
            at = place[row_index[e]]
            if at >= 0:
                row_value[e] -= factor * row_value[at]
                place[row_index[e]] = ~at
                new -= 1
            size = max(size, abs(row_value[e]))
        if last - begin + new > row_room[i]:
            wanted = 2 * (last - begin + new)
            to = state[ROW_END]
            for e in range(last - begin):
                row_index[to + e], row_value[to + e] = row_index[begin + e], row_value[begin + e]
            row_start[i], row_room[i] = to, wanted
            begin, last = to, to + last - begin
            state[ROW_END] += wanted
        for e in range(first, after):
            j = row_index[e]
            if j == q:
                continue
            if place[j] < 0:  # the row had this column
                place[j] = e
                continue
            value = -factor * row_value[e]
            row_index[last], row_value[last] = j, value
            size = max(size, abs(value))
            last += 1
            if column_count[j] == column_room[j]:
                wanted, to = 2 * column_room[j] + 2, state[COLUMN_END]
                for k in range(column_count[j]):
                    column_index[to + k] = column_index[column_start[j] + k]
                column_start[j], column_room[j] = to, wanted
                state[COLUMN_END] += wanted
            column_index[column_start[j] + column_count[j]] = i
            column_count[j] += 1
            fill += 1
        row_count[i], largest[i] = last - begin, size
        _link(row, i)
    for e in range(first, after):
        j = row_index[e]
        if j != q:
            place[j] = -1
            _link(column, j)
    state[READ_ENTRIES] += seen
    return fill
