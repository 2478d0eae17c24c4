"""Rows that nodes with singular diagonal blocks get from their neighbours: what is easily given."""

from graphsys.kernels.base.jit import interpreted


@interpreted
def supply(
    # Tables (of BlockGraph, then who is served, in turn):
    neighbor_start,
    neighbor,
    wanting,
    # In and out:
    capacity,
    lacking,
    # Out:
    supplier,
    served,
    amount,
):
    """Serve each node by one neighbour if one can, else by several; returns how many gave.

    One that can is the neighbour with most to give, of those the one with fewest neighbours. What
    is given is taken from ``capacity`` and ``lacking``.
    """
    found = 0
    for j in wanting:
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
