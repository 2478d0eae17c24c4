"""Approximate minimum degree ordering of a graph with weighted nodes and precedence.

The quotient graph of Amestoy, Davis and Duff (1996): eliminated nodes become elements, degrees are
bounded from above, indistinguishable nodes merge, elements are absorbed. Weights are block sizes.
New here: a node that waits for suppliers takes part in everything but may not be chosen, merged or
eliminated along with another before all of them are gone.
"""

from graphsys.kernels.analysis.elimination import defer, depth_first, number_by_levels, relabel
from graphsys.kernels.base.jit import interpreted

#: Numbers a node that `minimum_degree` works with.
WORK_ROWS = 13
#: Numbers a node that `order_by_degree` works with.
ORDER_ROWS = WORK_ROWS + 6


@interpreted
def order_by_degree(
    # Tables:
    neighbor_start,
    neighbor,
    weight,
    waits,
    release_start,
    release,
    # Work:
    work,
    starts,
    head,
    lists,
    # Out:
    order,
):
    """Minimum degree on a breadth-first numbering: hardly any two labellings differ then.

    ``work`` is (ORDER_ROWS, n), ``starts`` (2, n + 1), ``head`` has room for one more than all
    weights, ``lists`` for five times all neighbours and once all releases.
    """
    n, m, after = order.size, neighbor.size, 5 * neighbor.size
    start, new_release_start = starts[0], starts[1]
    levels, position, new_weight = work[WORK_ROWS], work[WORK_ROWS + 1], work[WORK_ROWS + 2]
    left, peeled, new_order = work[WORK_ROWS + 3], work[WORK_ROWS + 4], work[WORK_ROWS + 5]
    near, new_release = lists[:m], lists[after : after + release.size]
    waiting = release.size > 0
    number_by_levels(neighbor_start, neighbor, waiting, left, levels, position, start, near)
    relabel(release_start, release, levels, position, new_release_start, new_release)
    for k in range(n):
        new_weight[k], left[k] = weight[levels[k]], waits[levels[k]]
    found = peel(start, near, new_release_start, new_release, left, position, peeled, new_order)
    minimum_degree(
        start, near, new_weight, new_release_start, new_release, peeled,
        left, work[:WORK_ROWS], head, lists[m : 3 * m], lists[3 * m : after], new_order, found,
    )  # fmt: skip
    for k in range(n):
        order[k] = levels[new_order[k]]


@interpreted
def order_by_depth(
    # Tables:
    neighbor_start,
    neighbor,
    waits,
    release_start,
    release,
    # Work:
    work,
    # Out:
    order,
):
    """Postorder of a depth-first search, which begins in the middle of each tree of a forest.

    ``work`` is (5, n).
    """
    n = order.size
    place, left, peeled, roots, parent = work[0], work[1], work[2], work[3], work[4]
    for i in range(n):
        left[i] = waits[i]
        roots[i] = i
    count = n
    if peel(neighbor_start, neighbor, release_start, release, left, parent, peeled, order) == n:
        count = 0  # a root is peeled after all of its neighbours
        for k in range(n):
            place[order[k]] = k
        for i in range(n):
            last = True
            for p in range(neighbor_start[i], neighbor_start[i + 1]):
                last = last and place[neighbor[p]] < place[i]
            if last:
                roots[count] = i
                count += 1
    depth_first(neighbor_start, neighbor, roots[:count], place, order, parent)
    if release.size > 0:
        for k in range(n):
            left[k], place[k] = waits[k], order[k]
        defer(place, left, release_start, release, peeled, order)


@interpreted
def minimum_degree(
    # Tables:
    neighbor_start,
    neighbor,
    weight,
    release_start,
    release,
    peeled,
    # Work:
    waits,
    work,
    head,
    lists,
    spare,
    # In and out:
    order,
    found,
):
    """Elimination order of all nodes, whose first ``found`` are those of `peel`.

    A shorter ``order`` gets the first nodes only. ``waits`` (n,), outstanding suppliers, is used
    up. ``work`` is (WORK_ROWS, n) or wider, ``lists`` and
    ``spare`` have room for all neighbours twice, ``head`` for one more than all weights.
    """
    n = weight.size
    size = work[0]  # of a merged node; 0 when dead; negative while in the current front
    start = work[1][:n]
    length = work[2]
    elements = work[3]  # how many entries of a node's list are elements
    degree = work[4]
    mark = work[5]
    following = work[6]  # members of a merged node, in a list
    last_member = work[7]
    after = work[8]  # in the buckets of degrees, whose first are in head
    before = work[9]
    hashed = work[10]
    hash_of = work[11]
    hash_next = work[12]
    free = 0
    stamp = 1
    total = 0
    for i in range(n):
        size[i] = 0 if peeled[i] else weight[i]
        total += size[i]
        length[i] = elements[i] = degree[i] = mark[i] = 0
        following[i] = hashed[i] = -1
        last_member[i] = i
    for k in range(total + 1):
        head[k] = -1

    for i in range(n):
        if peeled[i]:
            continue
        start[i] = free
        for p in range(neighbor_start[i], neighbor_start[i + 1]):
            j = neighbor[p]
            if not peeled[j]:
                lists[free] = j
                free += 1
                degree[i] += size[j]
        length[i] = free - start[i]
        if waits[i] <= 0:
            _insert(head, after, before, degree[i], i)
    lowest = 0
    left = total
    while found < order.size:
        while lowest <= total and head[lowest] == -1:
            lowest += 1
        if lowest > total:  # only waiting nodes are left: suppliers that do not exist
            for i in range(n):
                if size[i] > 0 and waits[i] > 0:
                    waits[i] = 0
                    _insert(head, after, before, degree[i], i)
            lowest = 0
            continue
        me = head[lowest]
        _remove(head, after, before, degree[me], me)

        # The front of the new element: all that me reaches.
        pivot_size = size[me]
        size[me] = -pivot_size
        room = length[me]
        for p in range(start[me], start[me] + elements[me]):
            room += length[lists[p]]
        if free + room > lists.size:
            free = _close_gaps(lists, start, length, spare)
            lists, spare = spare, lists
        front_at = free
        front_weight = 0
        for step in range(elements[me] + 1):
            if step < elements[me]:
                source = lists[start[me] + step]
                first, last = start[source], start[source] + length[source]
            else:
                source = -1
                first, last = start[me] + elements[me], start[me] + length[me]
            for p in range(first, last):
                i = lists[p]
                if size[i] > 0:
                    front_weight += size[i]
                    size[i] = -size[i]
                    lists[free] = i
                    free += 1
                    if waits[i] <= 0:
                        _remove(head, after, before, degree[i], i)
            if source != -1:
                mark[source] = -1  # absorbed
                length[source] = 0
        front_end = free
        start[me] = front_at
        length[me] = front_end - front_at
        elements[me] = 0
        left -= pivot_size

        # Weight of every neighbouring element outside this front.
        stamp += 1
        base = stamp
        for q in range(front_at, front_end):
            i = lists[q]
            for p in range(start[i], start[i] + elements[i]):
                e = lists[p]
                if mark[e] == -1:
                    continue
                if mark[e] < base:
                    mark[e] = degree[e] + base
                mark[e] += size[i]  # size is negative here
        stamp = base + total + 1

        # New lists and degrees.
        for q in range(front_at, front_end):
            i = lists[q]
            write = start[i]
            outside = 0
            key = 0
            for p in range(start[i], start[i] + elements[i]):
                e = lists[p]
                if mark[e] == -1:
                    continue
                beyond = mark[e] - base
                if beyond > 0:
                    outside += beyond
                    key += e
                    lists[write] = e
                    write += 1
                else:  # nothing outside: the new element covers it
                    mark[e] = -1
                    length[e] = 0
            kept = write - start[i] + 1
            key += me
            pending = me
            for p in range(start[i] + elements[i], start[i] + length[i]):
                j = lists[p]
                if size[j] > 0:
                    outside += size[j]
                    key += j
                    lists[write] = pending
                    write += 1
                    pending = j
            lists[write] = pending
            write += 1
            elements[i] = kept
            length[i] = write - start[i]
            if outside == 0 and waits[i] <= 0:
                # nothing but this front: eliminated along with me
                front_weight += size[i]
                left += size[i]
                pivot_size -= size[i]
                size[i] = 0
                following[last_member[me]] = i
                last_member[me] = last_member[i]
                continue
            if outside < degree[i]:
                degree[i] = outside
            if waits[i] <= 0:
                key %= n
                hash_of[i] = key
                hash_next[i] = hashed[key]
                hashed[key] = i

        # Nodes that are indistinguishable from now on become one.
        for q in range(front_at, front_end):
            i = lists[q]
            if size[i] >= 0 or waits[i] > 0:
                continue
            i = hashed[hash_of[i]]
            if i == -1:
                continue
            hashed[hash_of[i]] = -1
            while i != -1:
                stamp += 1
                for p in range(start[i], start[i] + length[i]):
                    mark[lists[p]] = stamp
                previous = i
                j = hash_next[i]
                while j != -1:
                    same = length[i] == length[j] and elements[i] == elements[j]
                    p = start[j]
                    while same and p < start[j] + length[j]:
                        same = mark[lists[p]] == stamp
                        p += 1
                    if same:
                        size[i] += size[j]
                        size[j] = 0
                        following[last_member[i]] = j
                        last_member[i] = last_member[j]
                        hash_next[previous] = hash_next[j]
                    else:
                        previous = j
                    j = hash_next[j]
                i = hash_next[i]
        stamp += 1

        # Out with me and its members; those that waited for them are free.
        node = me
        while node != -1:
            order[found] = node
            found += 1
            for p in range(release_start[node], release_start[node + 1]):
                waiting = release[p]
                waits[waiting] -= 1
                if waits[waiting] == 0 and size[waiting] > 0:
                    _insert(head, after, before, degree[waiting], waiting)
                    if degree[waiting] < lowest:
                        lowest = degree[waiting]
            node = following[node]

        # The front goes back to the buckets.
        write = front_at
        for q in range(front_at, front_end):
            i = lists[q]
            if size[i] == 0:
                continue
            size[i] = -size[i]
            most = degree[i] + front_weight
            degree[i] = (most if most < left else left) - size[i]
            if waits[i] <= 0:
                _insert(head, after, before, degree[i], i)
                if degree[i] < lowest:
                    lowest = degree[i]
            lists[write] = i
            write += 1
        free = write
        length[me] = write - front_at
        degree[me] = front_weight
        mark[me] = 0
        size[me] = 0


@interpreted
def _close_gaps(lists, start, length, spare):
    """spare <- the lists that are left, one after the other; returns where they end.

    They are no longer than all neighbours: an element takes the place of what it is made of.
    """
    free = 0
    for i in range(start.size):
        first = start[i]
        start[i] = free
        for p in range(first, first + length[i]):
            spare[free] = lists[p]
            free += 1
    return free


@interpreted
def peel(
    # Tables:
    neighbor_start,
    neighbor,
    release_start,
    release,
    # Work:
    waits,
    degree,
    # Out:
    peeled,
    order,
):
    """Nodes with at most one neighbour left, again and again: they fill nothing; returns how many.

    A tree goes entirely, and a hub loses its leaves without a search of its list for each of them.
    """
    n = degree.size
    for i in range(n):
        peeled[i] = False
    found = 0
    for i in range(n):
        degree[i] = neighbor_start[i + 1] - neighbor_start[i]
        found = _peel_one(i, degree, waits, peeled, order, found)
    done = 0
    while done < found:
        i = order[done]
        done += 1
        for p in range(release_start[i], release_start[i + 1]):
            waits[release[p]] -= 1
            found = _peel_one(release[p], degree, waits, peeled, order, found)
        for p in range(neighbor_start[i], neighbor_start[i + 1]):
            degree[neighbor[p]] -= 1
            found = _peel_one(neighbor[p], degree, waits, peeled, order, found)
    return found


@interpreted
def _peel_one(i, degree, waits, peeled, order, found):
    """Append node i to the order where it may go; returns how many there are."""
    if peeled[i] or degree[i] > 1 or waits[i] > 0:
        return found
    peeled[i] = True
    order[found] = i
    return found + 1


@interpreted
def _insert(head, after, before, degree, i):
    """i -> bucket of its degree."""
    other = head[degree]
    after[i] = other
    before[i] = -1
    if other != -1:
        before[other] = i
    head[degree] = i


@interpreted
def _remove(head, after, before, degree, i):
    """i out of the bucket of its degree."""
    if before[i] != -1:
        after[before[i]] = after[i]
    else:
        head[degree] = after[i]
    if after[i] != -1:
        before[after[i]] = before[i]
