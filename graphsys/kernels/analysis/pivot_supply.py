"""Rows that singular diagonal blocks lack, and what neighbours easily give them."""

from graphsys.kernels.base.jit import interpreted, kernel
from graphsys.kernels.single.matrix import absolute_sums


@kernel
def lacking_rows(
    # Tables (as in BlockGraph):
    size,
    row_start,
    neighbor_start,
    neighbor,
    diagonal_at,
    block_at,
    # In:
    values,
    weak,
    # Out:
    sums,
    demand,
):
    """d_i <- size of i if block (i, i) is zero; counts other blocks with a zero or tiny pivot.

    Tiny is less than ``weak`` times the sum of its row, which ``sums`` gets. A matrix of zeros
    counts as not yet known, and lacks nothing.
    """
    absolute_sums(
        size, row_start, neighbor_start, neighbor, diagonal_at, block_at, values, False, sums
    )
    others, total = 0, 0.0
    for i in range(size.size):
        d, at, row = size[i], diagonal_at[i], row_start[i]
        demand[i] = 0
        suspect = False
        for k in range(d):
            total += sums[row + k]
            pivot = abs(values[at + k * (d + 1)])
            suspect = suspect or pivot == 0.0 or pivot < weak * sums[row + k]
        if suspect:
            zero = True
            for entry in range(at, at + d * d):
                zero = zero and values[entry] == 0.0
            if zero:
                demand[i] = d
            else:
                others += 1
    if total == 0.0:
        for i in range(size.size):
            demand[i] = 0
        others = 0
    return others


@interpreted
def supply(
    # Tables (of BlockGraph, then rows that are lacking, and who gives none):
    neighbor_start,
    neighbor,
    size,
    demand,
    needy,
    # Work:
    by_node,
    # Out:
    lacking,
    supplier,
    served,
    amount,
):
    """Serve each node by one neighbour if one can, else by several; returns how many gave.

    Nodes with the fewest regular neighbours are served first: they have no choice (0.65 of the
    analysis of saddle matrices of 300 rows). One that can serve is the neighbour with most to give
    (optimal control is 3 times as fast), of those the one with fewest neighbours. ``lacking``
    is what the flow leaves open; ``by_node`` has room for four times n + 1.
    """
    n = size.size
    capacity, choice, start, wanting = by_node[0], by_node[1], by_node[2], by_node[3]
    for i in range(n + 1):
        start[i] = 0
    for i in range(n):
        capacity[i], lacking[i], choice[i] = 0 if needy[i] else size[i], demand[i], 0
        if demand[i] > 0:
            for p in range(neighbor_start[i], neighbor_start[i + 1]):
                choice[i] += 0 if needy[neighbor[p]] else 1
            start[choice[i] + 1] += 1
    for c in range(n):
        start[c + 1] += start[c]
    wanted = start[n]
    for i in range(n):
        if demand[i] > 0:
            wanting[start[choice[i]]] = i
            start[choice[i]] += 1
    found = 0
    for k in range(wanted):
        j = wanting[k]
        first, after = neighbor_start[j], neighbor_start[j + 1]
        while lacking[j] > 0:
            best = -1
            for p in range(first, after):
                i = neighbor[p]
                if capacity[i] == 0:
                    continue
                if best < 0 or capacity[i] > capacity[best]:
                    best = i
                elif capacity[i] == capacity[best] and lacking[j] <= capacity[i]:
                    degree = neighbor_start[i + 1] - neighbor_start[i]
                    if degree < neighbor_start[best + 1] - neighbor_start[best]:
                        best = i
            if best < 0:
                break
            given = min(capacity[best], lacking[j])
            capacity[best] -= given
            lacking[j] -= given
            supplier[found], served[found], amount[found] = best, j, given
            found += 1
    return found


@interpreted
def release_lists(
    # In:
    supplier,
    served,
    # Work:
    place,
    sorted_pairs,
    # Out:
    waits,
    release_start,
    release,
):
    """How many suppliers nodes wait for, and who waits for each supplier, ascending."""
    n = waits.size
    for i in range(n):
        waits[i] = release_start[i] = 0
    release_start[n] = 0
    for p in range(served.size):
        waits[served[p]] += 1
        release_start[supplier[p] + 1] += 1
    at = 0
    for i in range(n):
        place[i] = at
        at += waits[i]
        release_start[i + 1] += release_start[i]
    for p in range(served.size):  # sorted by who is served, and then by who supplies
        sorted_pairs[place[served[p]]] = p
        place[served[p]] += 1
    for i in range(n):
        place[i] = release_start[i]
    for q in range(served.size):
        p = sorted_pairs[q]
        release[place[supplier[p]]] = served[p]
        place[supplier[p]] += 1
