"""Elimination structure of a graph: depth-first search, elimination tree, postorder, fronts.

Graphs come as symmetric adjacency lists without the diagonal: the neighbours of node i are
``neighbor[neighbor_start[i]:neighbor_start[i + 1]]``.
"""

import numpy as np

from .jit import kernel


@kernel
def depth_first(
    # Tables:
    neighbor_start,
    neighbor,
    # Out:
    order,
    parent,
):
    """Spanning forest by depth-first search, roots and neighbours ascending; order is its postorder.

    Both in node numbers; a root has parent -1. Every edge joins a node and one of its ancestors.
    """
    n = parent.size
    parent[:] = -2  # not found yet
    place = neighbor_start[:-1].copy()
    found = 0
    for root in range(n):
        if parent[root] != -2:
            continue
        parent[root] = -1
        node = root
        while node != -1:
            p = place[node]
            if p < neighbor_start[node + 1]:
                place[node] = p + 1
                child = neighbor[p]
                if parent[child] == -2:
                    parent[child] = node
                    node = child
            else:
                order[found] = node
                found += 1
                node = parent[node]


@kernel
def elimination_tree(
    # Tables:
    neighbor_start,
    neighbor,
    order,
    position,
    # Out:
    parent,
):
    """Parent of each elimination step, -1 at a root (Liu 1990, with path compression)."""
    n = order.size
    ancestor = np.full(n, -1)
    for k in range(n):
        parent[k] = -1
        node = order[k]
        for p in range(neighbor_start[node], neighbor_start[node + 1]):
            i = position[neighbor[p]]
            while i != -1 and i < k:
                following = ancestor[i]
                ancestor[i] = k
                if following == -1:
                    parent[i] = k
                i = following


@kernel
def postorder(
    # Tables:
    parent,
    # Out:
    order,
):
    """Steps of a forest with every subtree consecutive, children ascending."""
    n = parent.size
    first_child = np.full(n, -1)
    sibling = np.full(n, -1)
    root = -1
    for k in range(n - 1, -1, -1):
        above = parent[k]
        if above == -1:
            sibling[k] = root
            root = k
        else:
            sibling[k] = first_child[above]
            first_child[above] = k
    found = 0
    node = root
    while node != -1:
        while first_child[node] != -1:  # down to the first leaf
            child = first_child[node]
            first_child[node] = -1
            node = child
        order[found] = node
        found += 1
        node = sibling[node] if sibling[node] != -1 else parent[node]


@kernel
def front_counts(
    # Tables:
    neighbor_start,
    neighbor,
    order,
    position,
    parent,
    size,
    # Work:
    mark,
    # Out:
    count,
    below,
):
    """Later nodes that share a block with each step, and their rows: climbs every row's subtree.

    ``size`` (n,) are the rows of each node, in node numbers.
    """
    count[:] = 0
    below[:] = 0
    mark[:] = -1
    for i in range(order.size):
        mark[i] = i
        node = order[i]
        for p in range(neighbor_start[node], neighbor_start[node + 1]):
            k = position[neighbor[p]]
            while k < i and mark[k] != i:
                mark[k] = i
                count[k] += 1
                below[k] += size[node]
                k = parent[k]


@kernel
def fronts(
    # Tables:
    neighbor_start,
    neighbor,
    order,
    position,
    parent,
    front_start,
    # Work:
    mark,
    edge,
    place,
    # Out:
    front,
    fill,
):
    """Fronts, ascending, and which of their entries are fill-in."""
    mark[:] = -1
    edge[:] = -1
    place[:] = front_start[:-1]
    for i in range(order.size):
        mark[i] = i
        node = order[i]
        for p in range(neighbor_start[node], neighbor_start[node + 1]):
            edge[position[neighbor[p]]] = i
        for p in range(neighbor_start[node], neighbor_start[node + 1]):
            k = position[neighbor[p]]
            while k < i and mark[k] != i:
                mark[k] = i
                front[place[k]] = i
                fill[place[k]] = edge[k] != i
                place[k] += 1
                k = parent[k]


@kernel
def defer(
    # Tables:
    order,
    waits,
    release_start,
    release,
    # Out:
    result,
):
    """An order in which nodes that wait for others move behind the last of these.

    ``waits`` (n,) counts the outstanding suppliers of each node and is used up.
    """
    n = order.size
    reached = np.zeros(n, np.bool_)
    found = 0
    for k in range(n):
        node = order[k]
        reached[node] = True
        if waits[node] > 0:
            continue
        first = found
        result[found] = node
        found += 1
        while first < found:  # nodes released on the way follow at once
            supplier = result[first]
            first += 1
            for p in range(release_start[supplier], release_start[supplier + 1]):
                waiting = release[p]
                waits[waiting] -= 1
                if waits[waiting] == 0 and reached[waiting]:
                    result[found] = waiting
                    found += 1
    return found
