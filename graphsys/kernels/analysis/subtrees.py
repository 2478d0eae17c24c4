"""Orders within subtrees of an elimination tree: minimum degree with the nodes around them."""

from graphsys.kernels.analysis.elimination import (
    elimination_tree,
    front_counts,
    number_by_levels,
)
from graphsys.kernels.analysis.minimum_degree import minimum_degree
from graphsys.kernels.base.jit import kernel

#: Numbers a node that `order_subtrees` works with, besides those of `minimum_degree`.
SUBTREE_ROWS = 15


@kernel
def order_subtrees(
    # Tables:
    neighbor_start,
    neighbor,
    size,
    order,
    position,
    parent,
    below,
    # In:
    most,
    n_last,
    # Work:
    rows,
    work,
    head,
    lists,
    # Out:
    new_order,
):
    """An order in which subtrees of at most ``most`` nodes are in a better one; how many changed.

    A subtree is ordered by minimum degree together with its later neighbours, the halo, which count
    in all degrees and come last (F. Pellegrini, J. Roman, P. Amestoy, Hybridizing nested dissection
    and halo approximate minimum degree, Concurrency 12, 2000). What a subtree leaves to its
    ancestors does not depend on its order, so its own operations decide.

    Steps are in a postorder, and the ``n_last`` last ones are in no subtree. ``rows`` is
    (SUBTREE_ROWS, n + 1), ``work`` (WORK_ROWS, n), ``head`` has room for one more than all rows of
    the matrix, ``lists`` for five times all neighbours.
    """
    n = order.size
    nodes, local, count, found = rows[0], rows[1], rows[2], rows[3]
    for k in range(n):
        local[k], count[k], new_order[k] = -1, 1, order[k]
    for k in range(n):
        if parent[k] != -1:
            count[parent[k]] += count[k]
    changed = 0
    for root in range(n - n_last):
        above, inside = parent[root], count[root]
        largest = above == -1 or above >= n - n_last or count[above] > most
        if inside > most or not largest:
            continue
        first = root + 1 - inside
        before = 0.0
        for k in range(first, root + 1):
            before += _operations(size[order[k]], below[k])
        total = _cut_out(
            neighbor_start, neighbor, order, position, first, root, nodes, local, rows, lists
        )
        after = _order_cut(size, nodes, inside, total, neighbor.size, rows, work, head, lists)
        if after < before:
            changed += 1
            for k in range(inside):
                new_order[first + k] = nodes[found[k]]
    return changed


@kernel
def _cut_out(
    # Tables:
    neighbor_start,
    neighbor,
    order,
    position,
    # In:
    first,
    root,
    # Work:
    nodes,
    local,
    rows,
    # Out:
    lists,
):
    """Adjacency lists of the steps ``first`` to ``root`` and their halo; how many nodes these are.

    ``nodes`` gets the nodes, ``rows[4]`` where their neighbours begin. ``local`` is -1 before and
    after.
    """
    inside, degree, start = root + 1 - first, rows[5], rows[4]
    total = inside
    for k in range(first, root + 1):
        nodes[k - first], local[k] = order[k], k - first
        degree[k - first] = neighbor_start[order[k] + 1] - neighbor_start[order[k]]
    for k in range(first, root + 1):
        for p in range(neighbor_start[order[k]], neighbor_start[order[k] + 1]):
            j = position[neighbor[p]]
            if local[j] == -1:
                nodes[total], local[j], degree[total] = neighbor[p], total, 0
                total += 1
            if j > root:
                degree[local[j]] += 1
    start[0] = 0
    for i in range(total):
        start[i + 1] = start[i] + degree[i]
        degree[i] = start[i]  # from here on where the next neighbour goes
    for k in range(first, root + 1):
        for p in range(neighbor_start[order[k]], neighbor_start[order[k] + 1]):
            i = local[position[neighbor[p]]]
            lists[degree[k - first]] = i
            degree[k - first] += 1
            if i >= inside:
                lists[degree[i]] = k - first
                degree[i] += 1
    for i in range(total):
        local[position[nodes[i]]] = -1
    return total


@kernel
def _order_cut(
    # Tables:
    size,
    nodes,
    # In:
    inside,
    total,
    m,
    # Work:
    rows,
    work,
    head,
    # In and work:
    lists,
):
    """Minimum degree of what `_cut_out` made, the halo last; operations of the nodes inside.

    ``rows[3]`` gets the order. Nodes are numbered by levels: minimum degree then breaks ties well.
    """
    levels, place, start, near = rows[6][:total], rows[7][:total], rows[8][: total + 1], lists[:m]
    number_by_levels(
        rows[4][: total + 1], near, False, rows[5], levels, place, start, lists[m : 2 * m]
    )
    for p in range(start[total]):
        near[p] = lists[m + p]
    weight, waits, peeled = rows[9][:total], rows[10][:total], rows[11][:total]
    for i in range(total):
        weight[i], waits[i], peeled[i] = size[nodes[levels[i]]], levels[i] >= inside, False
        rows[12][i] = rows[12][i + 1] = 0  # nobody waits for these
    found = rows[3][:total]
    minimum_degree(
        start, near, weight, rows[12], near, peeled,
        waits, work, head, lists[m : 3 * m],
        lists[3 * m : 5 * m], found[:inside], 0,
    )  # fmt: skip
    for i in range(inside, total):
        found[i] = place[i]
    for i in range(total):
        place[found[i]] = i
    parent, below = rows[13][:total], rows[14][:total]
    elimination_tree(start, near, found, place, waits, parent)
    front_counts(
        start, near, found, place, parent, weight, total * total, waits, peeled, below, rows[5]
    )
    operations = 0.0
    for i in range(inside):
        operations += _operations(weight[found[i]], below[i])
        found[i] = levels[found[i]]
    return operations


@kernel
def _operations(size, below):
    """Floating-point operations of one step of L D U: theory/elimination (5)."""
    d, s = float(size), float(below)
    return 2.0 * d**3 + 2.0 * d * d * s + 2.0 * d * s * s
