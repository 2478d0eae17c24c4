"""Order of the nodes inside each supernode: rows that others update become contiguous."""

from graphsys.kernels.base.jit import kernel


@kernel
def count_parts(
    # Tables:
    super_start,
    super_of,
    front_start,
    front,
):
    """Number of pairs of supernodes of which one updates two nodes of the other or more."""
    parts = 0
    for s in range(super_start.size - 1):
        last = super_start[s + 1] - 1
        e, end = front_start[last], front_start[last + 1]
        while e < end:
            begin, target = e, super_of[front[e]]
            while e < end and super_of[front[e]] == target:
                e += 1
            parts += 1 if e - begin > 1 else 0
    return parts


@kernel
def _put_parts(super_start, super_of, front_start, front, begin, end):
    """First and last entry of the front for each of `count_parts`."""
    parts = 0
    for s in range(super_start.size - 1):
        last = super_start[s + 1] - 1
        e, stop = front_start[last], front_start[last + 1]
        while e < stop:
            first, target = e, super_of[front[e]]
            while e < stop and super_of[front[e]] == target:
                e += 1
            if e - first > 1:
                begin[parts], end[parts] = first, e
                parts += 1


@kernel
def arrange(
    # Tables:
    super_start,
    super_of,
    front_start,
    front,
    fixed,
    # Work:
    parts,
    places,
    inside,
    closed,
    # Out:
    order,
):
    """Steps in another order, in which few runs of steps make up what each supernode updates.

    Partition refinement: the nodes of a supernode are one cell at first. Each set of them that an
    earlier supernode updates, the largest first, splits the cells that it meets in two, so that it
    is contiguous there as far as earlier sets allow (M. Jacquelin, E. Ng, B. Peyton, Fast and
    effective reordering of columns within supernodes using partition refinement, SIAM CSC 2018).

    ``fixed`` are steps whose supernodes stay as they are. There is room for four numbers for each
    of `count_parts` and, ``places``, for three for each step and three more.
    """
    n, supers, count = front_start.size - 1, super_start.size - 1, parts.shape[1]
    begin, end, by_size, sorted_parts = parts[0], parts[1], parts[2], parts[3]
    start, new, spare = places[0], places[1], places[2]
    _put_parts(super_start, super_of, front_start, front, begin, end)
    for k in range(n + 1):  # sorted by size, the largest first, ...
        start[k] = 0
    for p in range(count):
        start[n - (end[p] - begin[p])] += 1
    at = 0
    for k in range(n + 1):
        at, start[k] = at + start[k], at
    for p in range(count - 1, -1, -1):
        k = n - (end[p] - begin[p])
        by_size[start[k]] = p
        start[k] += 1
    for s in range(supers + 1):  # ... and then by the supernode that is updated
        start[s] = 0
    for p in range(count):
        start[super_of[front[begin[p]]]] += 1
    at = 0
    for s in range(supers + 1):
        at, start[s] = at + start[s], at
    for p in by_size:
        s = super_of[front[begin[p]]]
        sorted_parts[start[s]] = p
        start[s] += 1

    for k in range(n):
        order[k] = k
        inside[k] = False
    for s in range(supers):
        first, width = super_start[s], super_start[s + 1] - super_start[s]
        free = width > 2
        for k in range(first, first + width):
            free = free and not fixed[k]
            closed[k] = False
        if not free:
            continue
        closed[first + width - 1] = True
        cells = 1
        for q in range(start[s - 1] if s > 0 else 0, start[s]):
            p = sorted_parts[q]
            size = end[p] - begin[p]
            if cells == width:
                break
            if size < width:
                for e in range(begin[p], end[p]):
                    inside[front[e]] = True
                cells += _split(order, inside, closed, first, first + width, new, spare)
                for e in range(begin[p], end[p]):
                    inside[front[e]] = False


@kernel
def _split(order, inside, closed, first, last, new, spare):
    """Split all cells in order[first:last] by a set; returns by how many there are more."""
    more = 0
    after_set = False  # whether the cell before ends with nodes of the set
    k = first
    while k < last:
        begin = k
        of_set = others = 0
        while True:
            if inside[order[k]]:
                new[of_set] = order[k]
                of_set += 1
            else:
                spare[others] = order[k]
                others += 1
            k += 1
            if closed[k - 1]:
                break
        if of_set == 0 or others == 0:
            after_set = others == 0
            continue
        more += 1
        at = begin if after_set else begin + others
        for j in range(of_set):
            order[at + j] = new[j]
        other_at = begin + of_set if after_set else begin
        for j in range(others):
            order[other_at + j] = spare[j]
        closed[begin + (of_set if after_set else others) - 1] = True
        after_set = not after_set
    return more
