"""Nested dissection by level sets: a region's separator is eliminated after its two sides.

A. George and J. W. H. Liu, An automatic nested dissection algorithm for irregular finite element
problems, SIAM J. Numer. Anal. 15 (1978), cut a region at the middle level of a breadth-first
search. Here the best level of two functions is taken: the distance from an end of the region, whose
level sets are the diagonals of a grid (three quarters of a plane in a cube), and the smoothed
difference of the distances from two ends, for meshes without such a structure. The separator is
then refined by moves of single nodes (C. Ashcraft and J. W. H. Liu, Applications of the Dulmage-
Mendelsohn decomposition and network flow to graph bisection improvement, SIAM J. Matrix Anal.
Appl. 19, 1998; C. M. Fiduccia and R. M. Mattheyses, 1982).
"""

from graphsys.kernels.base.jit import inlined, kernel

#: Numbers per node that `dissect` works with.
DISSECTION_ROWS = 17
#: Regions of at most so many nodes are not cut: minimum degree is as good there. With 120, crystals
#: of 6 x 6 x 6 take 1.1 times the operations, with 30 all graphs the same.
LEAF = 60
#: Least part of a region's rows on either side of a separator.
LEAST = 0.25
#: Sweeps that smooth the difference of distances: with 5, tetrahedra of 3,000 points take 1.24
#: times the operations.
SWEEPS = 20
#: Moves without a better separator that end a refinement: with 10, tetrahedra of 10,000 points take
#: 1.12 times the operations.
PATIENCE = 50
#: The two sides, and the separator.
LEFT, RIGHT, CUT = 0, 1, 2
#: Score of no separator.
NONE = 1e300


@kernel
def dissect(
    # Tables:
    neighbor_start,
    neighbor,
    weight,
    before,
    # Work:
    rows,
    lists,
    real,
    # Out:
    order,
):
    """Order by nested dissection; separators, and regions that have none, are as in ``before``.

    ``rows`` is (DISSECTION_ROWS, n + 2), ``lists`` has room for all neighbours, ``real`` for n.
    """
    n = order.size
    nodes, part, local, ends, side, place = rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]
    for i in range(n):
        nodes[i], part[i] = i, 0
    ends[0], ends[1], waiting = 0, n, int(n > LEAF)
    while waiting > 0:
        waiting -= 1
        low, high = ends[2 * waiting], ends[2 * waiting + 1]
        count = high - low
        start, size, kept = rows[6], rows[7], rows[8]
        for k in range(count):
            local[nodes[low + k]] = k
        _cut_out(
            neighbor_start, neighbor, weight, nodes, part, local, low, high, start, size, lists
        )
        pieces = _components(start, lists, count, kept, side)
        connected = pieces == 1
        if connected:
            if _separate(start, lists, size, count, rows[8:], real, side) == NONE:
                continue
            pieces = 3
        for p in range(pieces + 1):
            place[p] = 0
        for k in range(count):
            kept[k] = nodes[low + k]
            place[side[k] + 1] += 1
        place[0] = low
        for p in range(pieces):
            place[p + 1] += place[p]
            if place[p + 1] - place[p] > LEAF and not (connected and p == CUT):
                ends[2 * waiting], ends[2 * waiting + 1] = place[p], place[p + 1]
                waiting += 1
        for k in range(count):
            part[kept[k]] = place[side[k]]
        for k in range(count):
            nodes[place[side[k]]] = kept[k]
            place[side[k]] += 1
    for i in range(n):
        place[i] = i
    for k in range(n):
        i = before[k]
        order[place[part[i]]] = i
        place[part[i]] += 1


@kernel
def _cut_out(
    # Tables:
    neighbor_start,
    neighbor,
    weight,
    nodes,
    part,
    local,
    # In:
    low,
    high,
    # Out:
    start,
    size,
    near,
):
    """Adjacency lists and rows of the nodes at places ``low`` to ``high``, numbered from 0."""
    found = 0
    for k in range(low, high):
        i = nodes[k]
        start[k - low], size[k - low] = found, weight[i]
        for p in range(neighbor_start[i], neighbor_start[i + 1]):
            if part[neighbor[p]] == low:
                near[found] = local[neighbor[p]]
                found += 1
    start[high - low] = found


@kernel
def _components(
    # Tables:
    start,
    near,
    # In:
    count,
    # Work:
    queue,
    # Out:
    component,
):
    """Connected component of each node; how many there are."""
    for i in range(count):
        component[i] = -1
    found = 0
    for root in range(count):
        if component[root] >= 0:
            continue
        component[root], queue[0] = found, root
        done, end = 0, 1
        while done < end:
            for p in range(start[queue[done]], start[queue[done] + 1]):
                i = near[p]
                if component[i] < 0:
                    component[i], queue[end] = found, i
                    end += 1
            done += 1
        found += 1
    return found


@kernel
def _distances(
    # Tables:
    start,
    near,
    # In:
    count,
    root,
    # Work:
    queue,
    # Out:
    distance,
):
    """Distances from a node of a connected graph; the last node that the search reaches."""
    for i in range(count):
        distance[i] = -1
    distance[root], queue[0], end = 0, root, 1
    for done in range(count):
        i = queue[done]
        for p in range(start[i], start[i + 1]):
            j = near[p]
            if distance[j] < 0:
                distance[j], queue[end] = distance[i] + 1, j
                end += 1
    return queue[count - 1]


@kernel
def _separate(
    # Tables:
    start,
    near,
    size,
    # In:
    count,
    # Work:
    rows,
    real,
    # Out:
    side,
):
    """Separator of a connected graph of two or more nodes; its score, or NONE."""
    distance, opposite, queue, levels, other = rows[0], rows[1], rows[2], rows[3], rows[4]
    root, height = 0, -1
    end = _distances(start, near, count, root, queue, distance)
    while distance[end] > height:  # until the root is an end, too
        root, height = end, distance[end]
        end = _distances(start, near, count, root, queue, distance)
    _distances(start, near, count, end, queue, opposite)
    best = _level_cut(start, near, size, count, distance, height, levels, rows[5], side)
    for i in range(count):
        real[i] = distance[i] - opposite[i]
    _smooth_levels(start, near, count, real, queue)
    score = _level_cut(start, near, size, count, queue, count, levels, rows[5], other)
    if score < best:
        best = score
        for i in range(count):
            side[i] = other[i]
    return best if best == NONE else _refine(start, near, size, count, rows, side)


@inlined
def _smooth_levels(
    # Tables:
    start,
    near,
    # In:
    count,
    # In and work:
    value,
    # Out:
    level,
):
    """Levels 0 to ``count`` of a function after SWEEPS averages over neighbours."""
    for _ in range(SWEEPS):
        for i in range(count):
            total = 0.0
            for p in range(start[i], start[i + 1]):
                total += value[near[p]]
            value[i] = 0.5 * (value[i] + total / (start[i + 1] - start[i]))
    low = high = value[0]
    for i in range(count):
        low, high = min(low, value[i]), max(high, value[i])
    scale = count / (high - low) if high > low else 0.0
    for i in range(count):
        level[i] = min(int((value[i] - low) * scale), count)


@kernel
def _level_cut(
    # Tables:
    start,
    near,
    size,
    # In:
    count,
    level,
    top,
    # Work:
    cut,
    left,
    # Out:
    side,
):
    """Best separator between lower and other levels, of 0 to ``top``; its score, or NONE.

    For each threshold t, nodes below t are left, and the separator is all others with a neighbour
    there: node i is in those of t from its lowest neighbour's level + 1 to its own.
    """
    total = 0
    for t in range(top + 2):
        cut[t] = left[t] = 0
    for i in range(count):
        low = level[i]
        for p in range(start[i], start[i + 1]):
            low = min(low, level[near[p]])
        left[level[i] + 1] += size[i]
        cut[low + 1] += size[i]
        cut[level[i] + 1] -= size[i]
        total += size[i]
    best, threshold = NONE, 0
    for t in range(1, top + 1):
        left[t] += left[t - 1]
        cut[t] += cut[t - 1]
        right = total - left[t] - cut[t]
        if min(left[t], right) >= LEAST * total:
            score = _score(left[t], right, total)
            if score < best:
                best, threshold = score, t
    for i in range(count):
        side[i] = RIGHT
        for p in range(start[i], start[i + 1]):
            if level[near[p]] < threshold:
                side[i] = CUT
        if level[i] < threshold:
            side[i] = LEFT
    return best


@kernel
def _score(left, right, total):
    """Rows of a separator, more where its sides differ: 1 + ((left - right) / total)^2 times."""
    apart = (left - right) / total
    return (total - left - right) * (1.0 + apart * apart)


@kernel
def _refine(
    # Tables:
    start,
    near,
    size,
    # In:
    count,
    # Work:
    rows,
    # In and out:
    side,
):
    """Move nodes of a separator to either side while that lowers its score; the score.

    The opposite neighbours of a node that moves join the separator. The best move comes first, even
    if it raises the score. A node moves once; moves after the best separator are undone.
    """
    cut, place, moved, log, weights = rows[0], rows[1], rows[2], rows[3], rows[4]
    gains = rows[5:7]  # of a move to the left and to the right: rows that leave the separator
    joined = rows[7:9]  # by which move a node joined the separator, before and after its own
    weights[LEFT] = weights[RIGHT] = total = 0
    for i in range(count):
        total += size[i]
        if side[i] != CUT:
            weights[side[i]] += size[i]
    n_cut = 0
    for i in range(count):
        moved[i], joined[0, i], joined[1, i] = 0, -1, -1
        if side[i] == CUT:
            n_cut = _join(start, near, size, side, i, cut, place, gains, n_cut)
    best = _score(weights[LEFT], weights[RIGHT], total)
    n_moves = n_best = 0
    while n_moves - n_best < PATIENCE:
        i, to = _best_move(size, cut, moved, gains, weights, n_cut, total)
        if i < 0:
            break
        last = cut[n_cut - 1]
        cut[place[i]], place[last] = last, place[i]
        n_cut -= 1
        side[i], moved[i], log[n_moves] = to, 1, i
        weights[to] += size[i]
        for p in range(start[i], start[i + 1]):
            j = near[p]
            if side[j] == CUT:
                gains[1 - to, j] -= size[i]
            elif side[j] == 1 - to:
                side[j], joined[moved[j], j] = CUT, n_moves
                weights[1 - to] -= size[j]
                n_cut = _join(start, near, size, side, j, cut, place, gains, n_cut)
                for q in range(start[j], start[j + 1]):
                    if side[near[q]] == CUT:
                        gains[to, near[q]] += size[j]
        n_moves += 1
        score = _score(weights[LEFT], weights[RIGHT], total)
        if score < best and min(weights[LEFT], weights[RIGHT]) >= LEAST * total:
            best, n_best = score, n_moves
    for k in range(n_moves - 1, n_best - 1, -1):
        i = log[k]
        to = side[i]
        side[i], moved[i] = CUT, 0
        for p in range(start[i], start[i + 1]):
            j = near[p]
            if side[j] == CUT and joined[moved[j], j] == k:
                side[j] = 1 - to
    return best


@inlined
def _join(
    # Tables:
    start,
    near,
    size,
    side,
    # In:
    i,
    # In and out:
    cut,
    place,
    gains,
    # In:
    n_cut,
):
    """Put a node into the list of the separator with the gains of its moves; the list's length."""
    cut[n_cut], place[i] = i, n_cut
    gains[LEFT, i] = gains[RIGHT, i] = size[i]
    for p in range(start[i], start[i + 1]):
        j = near[p]
        if side[j] != CUT:
            gains[1 - side[j], i] -= size[j]
    return n_cut + 1


@inlined
def _best_move(
    # Tables:
    size,
    cut,
    moved,
    gains,
    weights,
    # In:
    n_cut,
    total,
):
    """Node and side of the move with the lowest score that keeps sides apart by LEAST; or -1."""
    best, node, to = NONE, -1, LEFT
    least = min(LEAST * total, min(weights[LEFT], weights[RIGHT]))
    for k in range(n_cut):
        i = cut[k]
        if moved[i]:
            continue
        for a in range(2):
            there = weights[a] + size[i]
            here = weights[1 - a] - (size[i] - gains[a, i])
            if here >= least:
                score = _score(there, here, total)
                if score < best:
                    best, node, to = score, i, a
    return node, to
