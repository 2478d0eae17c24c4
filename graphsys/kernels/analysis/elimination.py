"""Elimination structure of a graph: searches, elimination tree, postorder, fronts.

Graphs come as symmetric adjacency lists without the diagonal: the neighbours of node i are
``neighbor[neighbor_start[i]:neighbor_start[i + 1]]``.
"""

from graphsys.kernels.base.jit import interpreted


@interpreted
def depth_first(
    # Tables:
    neighbor_start,
    neighbor,
    roots,
    # Work:
    place,
    # Out:
    order,
    parent,
):
    """Spanning forest by depth-first search, roots as they come in ``roots``, neighbours ascending.

    ``order`` is its postorder; both are in node numbers, a root has parent -1. Every edge joins a
    node and one of its ancestors.
    """
    for i in range(order.size):
        parent[i] = -2  # not found yet
        place[i] = neighbor_start[i]
    found = 0
    for root in roots:
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


@interpreted
def breadth_first(
    # Tables:
    neighbor_start,
    neighbor,
    # In:
    by_places,
    # Work:
    mark,
    key,
    # Out:
    order,
):
    """Cuthill-McKee order: levels from an end of each component, low degrees first.

    Equal degrees go ``by_places`` of all neighbours that come before, or as they come. A numbering
    by the graph's shape, hardly by the user's numbers: ties of other orderings are broken by it.
    """
    n = order.size
    for i in range(n):
        mark[i] = 0
    found = 0
    for first in range(n):
        if mark[first] != 0:
            continue
        start = first
        size = 0
        for sweep in range(1, 4):  # twice to the farthest node of low degree, then for good
            base = sweep * (n + 1)  # beyond it, marks are places in the order
            order[found] = start
            mark[start] = base + found
            done, end, level = found, found + 1, found
            while done < end:
                if done == level:  # a new level starts here
                    last_level, level = level, end
                node = order[done]
                done += 1
                new = end
                for p in range(neighbor_start[node], neighbor_start[node + 1]):
                    i = neighbor[p]
                    if mark[i] >= base:
                        continue
                    mark[i] = base + n
                    key[i] = (neighbor_start[i + 1] - neighbor_start[i]) * n * n
                    last = neighbor_start[i + 1] if by_places and sweep == 3 else 0
                    for q in range(neighbor_start[i], last):
                        place = mark[neighbor[q]] - base
                        if 0 <= place < level:
                            key[i] += place
                    at = end
                    while at > new and key[order[at - 1]] > key[i]:
                        order[at] = order[at - 1]
                        at -= 1
                    order[at] = i
                    end += 1
                for at in range(new, end):
                    mark[order[at]] = base + at
            if sweep < 3:
                best = order[last_level]
                for k in range(last_level, end):
                    i = order[k]
                    if (
                        neighbor_start[i + 1] - neighbor_start[i]
                        < neighbor_start[best + 1] - neighbor_start[best]
                    ):
                        best = i
                start = best
            size = end - found
        found += size


@interpreted
def relabel(
    # Tables:
    neighbor_start,
    neighbor,
    order,
    position,
    # Out:
    new_start,
    new_neighbor,
):
    """Adjacency lists of the nodes numbered by their position in an order."""
    found = 0
    for k in range(order.size):
        new_start[k] = found
        node = order[k]
        for p in range(neighbor_start[node], neighbor_start[node + 1]):
            new_neighbor[found] = position[neighbor[p]]
            found += 1
    new_start[order.size] = found


@interpreted
def relabel_edges(
    # Tables:
    neighbor_start,
    neighbor,
    order,
    position,
    # Out:
    new_start,
    new_neighbor,
):
    """`relabel` of symmetric lists, ascending: each node goes to its neighbours' lists in turn."""
    found = 0
    new_start[0] = 0
    for k in range(order.size):
        new_start[k + 1] = found  # where the list of k begins, until it is filled
        found += neighbor_start[order[k] + 1] - neighbor_start[order[k]]
    for k in range(order.size):
        for p in range(neighbor_start[order[k]], neighbor_start[order[k] + 1]):
            j = position[neighbor[p]] + 1
            new_neighbor[new_start[j]] = k
            new_start[j] += 1


@interpreted
def number_by_levels(
    # Tables:
    neighbor_start,
    neighbor,
    waiting,
    # Work:
    key,
    # Out:
    levels,
    position,
    new_start,
    new_neighbor,
):
    """Adjacency on a breadth-first numbering, which ``levels`` and ``position`` get.

    Where nodes are ``waiting`` for others, ties are broken as the user numbers them: more regular
    constraints would count as redundant otherwise (tests/graphsys/test_redundancy.py).
    """
    breadth_first(neighbor_start, neighbor, not waiting, position, key, levels)
    for k in range(levels.size):
        position[levels[k]] = k
    if waiting:
        relabel(neighbor_start, neighbor, levels, position, new_start, new_neighbor)
    else:
        relabel_edges(neighbor_start, neighbor, levels, position, new_start, new_neighbor)


@interpreted
def elimination_tree(
    # Tables:
    neighbor_start,
    neighbor,
    order,
    position,
    # Work:
    ancestor,
    # Out:
    parent,
):
    """Parent of each elimination step, -1 at a root (Liu 1990, with path compression)."""
    for k in range(order.size):
        ancestor[k] = parent[k] = -1
        node = order[k]
        for p in range(neighbor_start[node], neighbor_start[node + 1]):
            i = position[neighbor[p]]
            while i != -1 and i < k:
                following = ancestor[i]
                ancestor[i] = k
                if following == -1:
                    parent[i] = k
                i = following


@interpreted
def postorder(
    # Tables:
    parent,
    # Work:
    first_child,
    sibling,
    # Out:
    order,
):
    """Steps of a forest with every subtree consecutive, children ascending."""
    n = parent.size
    for k in range(n):
        first_child[k] = -1
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


@interpreted
def front_counts(
    # Tables:
    neighbor_start,
    neighbor,
    order,
    position,
    parent,
    size,
    most,
    # Work:
    mark,
    # Out:
    count,
    below,
    squares,
):
    """Later nodes that share a block with each step, and their rows: climbs every row's subtree.

    ``size`` (n,) are the rows of each node, in node numbers; ``squares`` are sums of their squares.
    False, and nothing counted, where there are more than ``most``.
    """
    climbed = 0
    for k in range(order.size):
        count[k] = below[k] = squares[k] = 0
        mark[k] = -1
    for i in range(order.size):
        mark[i] = i
        node = order[i]
        for p in range(neighbor_start[node], neighbor_start[node + 1]):
            k = position[neighbor[p]]
            while k < i and mark[k] != i:
                mark[k] = i
                count[k] += 1
                below[k] += size[node]
                squares[k] += size[node] * size[node]
                k = parent[k]
                climbed += 1
        if climbed > most:
            return False
    return True


@interpreted
def column_counts(
    # Tables:
    neighbor_start,
    neighbor,
    order,
    position,
    parent,
    size,
    # Work:
    first,
    most,
    last,
    ancestor,
    # Out:
    count,
    below,
    squares,
):
    """`front_counts` of a postorder, in almost linear time (Gilbert, Ng and Peyton 1994).

    A row counts at every step of its subtree: at its leaves once more, where two branches meet, and
    above its root, once less. Steps add up what their children have.
    """
    n = order.size
    for k in range(n):
        first[k] = most[k] = last[k] = -1
        ancestor[k] = k
        count[k] = below[k] = squares[k] = 0
    for k in range(n):
        i = k
        while i != -1 and first[i] == -1:
            first[i] = k
            i = parent[i]
    for k in range(n):
        above, rows = parent[k], size[order[k]]
        if first[k] == k:
            count[k] += 1
            below[k] += rows
            squares[k] += rows * rows
        if above != -1:
            count[above] -= 1
            below[above] -= rows
            squares[above] -= rows * rows
        for p in range(neighbor_start[order[k]], neighbor_start[order[k] + 1]):
            i, rows = position[neighbor[p]], size[neighbor[p]]
            if i <= k or first[k] <= most[i]:
                continue
            most[i] = first[k]
            count[k] += 1
            below[k] += rows
            squares[k] += rows * rows
            leaf, last[i] = last[i], k
            if leaf == -1:
                continue
            meets = leaf
            while meets != ancestor[meets]:
                meets = ancestor[meets]
            while leaf != meets:
                following = ancestor[leaf]
                ancestor[leaf] = meets
                leaf = following
            count[meets] -= 1
            below[meets] -= rows
            squares[meets] -= rows * rows
        if above != -1:
            ancestor[k] = above
    for k in range(n):
        above, rows = parent[k], size[order[k]]
        if above != -1:
            count[above] += count[k]
            below[above] += below[k]
            squares[above] += squares[k]
        count[k] -= 1
        below[k] -= rows
        squares[k] -= rows * rows


@interpreted
def renumber(
    # Tables:
    neighbor_start,
    neighbor,
    size,
    order,
    n_last,
    symmetric,
    # Work:
    work,
    # Out:
    step_node,
    position,
    parent,
    below,
    front_start,
):
    """Order by a postorder of its tree, and where the fronts of its steps begin; operations.

    Theory/elimination (5): inverses of pivots, rows to their right, updates; the ``n_last`` last
    steps are not eliminated. ``work`` is (6, n).
    """
    n = order.size
    mark, count, squares, tree = work[0], work[1], work[2], work[3]
    for k in range(n):
        position[order[k]] = k
    elimination_tree(neighbor_start, neighbor, order, position, mark, tree)
    postorder(tree, count, below, squares)
    for k in range(n):
        step_node[k] = order[squares[k]]
        position[step_node[k]] = k
        mark[squares[k]] = k  # where a step went
    for k in range(n):
        above = tree[squares[k]]
        parent[k] = -1 if above == -1 else mark[above]
    tables = neighbor_start, neighbor, step_node, position, parent, size
    # Chains and trees have few entries: 0.5 of the time. Grids in space take 0.1 of it by columns.
    if not front_counts(*tables, n + neighbor.size, mark, count, below, squares):
        column_counts(*tables, mark, tree, work[4], work[5], count, below, squares)
    operations = 0.0
    front_start[0] = 0
    for k in range(n):
        front_start[k + 1] = front_start[k] + count[k]
        if k < n - n_last:
            d, s = float(size[step_node[k]]), float(below[k])
            updates = (s * s + squares[k]) / 2 if symmetric else s * s
            operations += 2 * d**3 + 2 * d * d * s + 2 * d * updates
    return operations


@interpreted
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
    for k in range(order.size):
        mark[k] = edge[k] = -1
        place[k] = front_start[k]
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


@interpreted
def defer(
    # Tables:
    order,
    waits,
    release_start,
    release,
    # Work:
    reached,
    # Out:
    result,
):
    """An order in which nodes that wait for others move after the last of these.

    ``waits`` (n,) counts the outstanding suppliers of each node and is used up.
    """
    n = order.size
    for i in range(n):
        reached[i] = False
    found = 0
    for k in range(n):
        node = order[k]
        reached[node] = True
        if waits[node] > 0:
            continue
        first = found
        result[found] = node
        found += 1
        while first < found:  # nodes released on the way follow immediately
            supplier = result[first]
            first += 1
            for p in range(release_start[supplier], release_start[supplier + 1]):
                waiting = release[p]
                waits[waiting] -= 1
                if waits[waiting] == 0 and reached[waiting]:
                    result[found] = waiting
                    found += 1
    return found


@interpreted
def reverse_edges(
    # Tables:
    neighbor_start,
    neighbor,
    # Work:
    place,
    # Out:
    reverse,
):
    """Place of (j, i) for the place of each (i, j) in symmetric ascending adjacency lists."""
    for i in range(place.size):
        place[i] = neighbor_start[i]
    for i in range(place.size):
        for p in range(neighbor_start[i], neighbor_start[i + 1]):
            j = neighbor[p]
            reverse[place[j]] = p
            place[j] += 1


@interpreted
def earlier_blocks(
    # Tables:
    size,
    neighbor_start,
    neighbor,
    block_at,
    reverse,
    order,
    position,
    # Out:
    start,
    later,
    lower,
    upper,
):
    """Blocks off the diagonal by the earlier step of the two: later step, places of L and of U.

    ``later[start[k]:start[k + 1]]`` are ascending; blocks without entries are left out.
    """
    total = 0
    for k in range(order.size):
        node, first = order[k], total
        start[k] = first
        for p in range(neighbor_start[node], neighbor_start[node + 1]):
            j = position[neighbor[p]]
            if j > k and size[node] > 0 and size[neighbor[p]] > 0:
                at = total  # few are later: its elimination takes a step for each pair of these
                while at > first and later[at - 1] > j:
                    later[at], lower[at], upper[at] = later[at - 1], lower[at - 1], upper[at - 1]
                    at -= 1
                later[at], lower[at], upper[at] = j, block_at[reverse[p]], block_at[p]
                total += 1
    start[order.size] = total
