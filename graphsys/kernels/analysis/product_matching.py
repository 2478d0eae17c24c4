"""Matching of rows with columns whose product of entries is largest, and the scaling it gives.

Shortest augmenting paths: I. S. Duff, J. Koster, On algorithms for permuting large entries to the
diagonal of a sparse matrix, SIAM J. Matrix Anal. Appl. 22 (2001). The dual variables u of rows and
v of columns scale the entries, which then are 1 in the matching and at most 1 elsewhere.
"""

from graphsys.kernels.base.jit import inlined, kernel

#: Integers a row that `match_products` works with.
WORK_ROWS = 6
FAR = 1e300


@kernel
def match_products(
    # Tables (of a square CSR pattern):
    start,
    index,
    # In:
    size,
    # Work:
    work,
    real,
    # Out:
    row_of,
    column_of,
    u,
    v,
):
    """Match rows with columns by the largest sum of ``size``, logarithms of entries.

    Returns 0, or 1 + a row that has no column by structure. Rows without entries need none; where
    there are some, another matching may have a larger sum. ``size + u + v`` is 0 in the matching
    and at most 0 elsewhere, up to rounding. ``column_of`` a row and ``row_of`` a column are -1
    where there is none. ``work`` has WORK_ROWS n numbers and ``real`` n.
    """
    n = column_of.size
    before, place, heap, touched = (
        work[:n],
        work[n : 2 * n],
        work[2 * n : 3 * n],
        work[3 * n : 4 * n],
    )
    state, scanned, distance = work[4 * n : 5 * n], work[5 * n : 6 * n], real
    _first_duals(start, index, size, row_of, column_of, u, v)
    for j in range(n):
        distance[j], place[j], state[j] = FAR, -1, 0
    for root in range(n):
        if column_of[root] >= 0 or start[root] == start[root + 1]:
            continue
        n_touched = n_scanned = n_heap = 0
        best, end, i, low = FAR, -1, root, 0.0
        while True:
            for e in range(start[i], start[i + 1]):
                j = index[e]
                if state[j] != 0:
                    continue
                d = low + max(0.0, -size[e] - u[i] - v[j])
                if not (d < best and d < distance[j]):
                    continue
                if row_of[j] < 0:
                    best, end = d, j
                else:
                    if place[j] < 0:
                        touched[n_touched], place[j] = j, n_heap
                        n_touched += 1
                        n_heap += 1
                    distance[j] = d
                    _rise(heap, place, distance, j)
                before[j] = i
            if n_heap == 0:
                break
            j = heap[0]
            if not distance[j] < best:
                break
            n_heap -= 1
            _sink(heap, place, distance, n_heap)
            low, i, state[j], scanned[n_scanned] = distance[j], row_of[j], 1, j
            n_scanned += 1
        if end < 0:
            return 1 + root
        u[root] += best
        for k in range(n_scanned):
            j = scanned[k]
            u[row_of[j]] += best - distance[j]
            v[j] -= best - distance[j]
        for k in range(n_touched):
            distance[touched[k]], place[touched[k]], state[touched[k]] = FAR, -1, 0
        while end >= 0:  # every row of the path takes the column that led to the next one
            i = before[end]
            row_of[end] = i
            column_of[i], end = end, column_of[i]
    return 0


@inlined
def _first_duals(start, index, size, row_of, column_of, u, v):
    """Duals of the largest entry of each row and then column, and a matching by such entries."""
    n = column_of.size
    for j in range(n):
        v[j], row_of[j], column_of[j] = FAR, -1, -1
    for i in range(n):
        u[i] = FAR if start[i] < start[i + 1] else 0.0
        for e in range(start[i], start[i + 1]):
            u[i] = min(u[i], -size[e])
        for e in range(start[i], start[i + 1]):
            v[index[e]] = min(v[index[e]], -size[e] - u[i])
    for j in range(n):
        if v[j] == FAR:
            v[j] = 0.0
    for i in range(n):
        for e in range(start[i], start[i + 1]):
            j = index[e]
            if column_of[i] < 0 and row_of[j] < 0 and -size[e] - u[i] - v[j] <= 0.0:
                column_of[i], row_of[j] = j, i


@inlined
def _rise(heap, place, distance, j):
    """A column rises in the heap to where its smaller distance belongs."""
    at = place[j]
    while at > 0:
        above = (at - 1) // 2
        other = heap[above]
        if distance[other] <= distance[j]:
            break
        heap[at], place[other] = other, at
        at = above
    heap[at], place[j] = j, at


@inlined
def _sink(heap, place, distance, count):
    """The last column of a heap, ``count`` below it, replaces the first one and sinks."""
    j, at = heap[count], 0
    while 2 * at + 1 < count:
        below = 2 * at + 1
        if below + 1 < count and distance[heap[below + 1]] < distance[heap[below]]:
            below += 1
        other = heap[below]
        if distance[j] <= distance[other]:
            break
        heap[at], place[other] = other, at
        at = below
    heap[at], place[j] = j, at
