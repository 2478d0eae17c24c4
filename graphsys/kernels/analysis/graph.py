"""Neighbor lists of a graph from its edges, and the layout of its blocks."""

from graphsys.kernels.base.jit import interpreted


@interpreted
def list_neighbors(
    # In:
    ends,
    # Work:
    place,
    bucket,
    # Out:
    start,
    neighbor,
):
    """Ascending neighbors of each node, each once; how many. An edge p is ends[0, p] - ends[1, p].

    Two passes of a counting sort: edges by their one end, then in that order by the other.
    """
    n, m = start.size - 1, ends.shape[1]
    for i in range(n + 1):
        start[i] = 0
    for p in range(m):
        i, j = ends[0, p], ends[1, p]
        if i != j:
            start[i + 1] += 1
            start[j + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
        place[0, i] = place[1, i] = start[i]
    for p in range(m):
        i, j = ends[0, p], ends[1, p]
        if i != j:
            bucket[place[0, i]], bucket[place[0, j]] = j, i
            place[0, i] += 1
            place[0, j] += 1
    for j in range(n):
        for p in range(start[j], start[j + 1]):
            i = bucket[p]
            if place[1, i] == start[i] or neighbor[place[1, i] - 1] != j:
                neighbor[place[1, i]] = j
                place[1, i] += 1
    count = 0  # close the gaps that repeats have left
    for i in range(n):
        first, start[i] = start[i], count
        for p in range(first, place[1, i]):
            neighbor[count] = neighbor[p]
            count += 1
    start[n] = count
    return count


@interpreted
def lay_blocks(
    # In:
    size,
    neighbor_start,
    neighbor,
    most,
    # Out:
    row_start,
    diagonal_at,
    block_at,
):
    """Rows of nodes and places of blocks as in `BlockGraph`; their entries, -1 if over ``most``."""
    total, at, row = 0.0, 0, 0
    for i in range(size.size):
        row_start[i], diagonal_at[i] = row, at
        width = size[i]
        at += size[i] * size[i]
        for p in range(neighbor_start[i], neighbor_start[i + 1]):
            block_at[p] = at
            width += size[neighbor[p]]
            at += size[i] * size[neighbor[p]]
        total += float(size[i]) * float(width)
        if total > most:
            return -1
        row += size[i]
    row_start[size.size] = row
    return at


@interpreted
def group_rows(
    # In:
    start,
    neighbor,
    order,
    most,
    equal,
    # Work:
    mark,
    # Out:
    size,
):
    """Groups of rows that follow each other in ``order`` and are alike: sizes, and how many.

    There are up to ``most`` rows in one. A row is alike if it shares two thirds of the neighbors of
    the first one, themselves left out; Y. Saad, SIAM J. Sci. Comput. 24, 2003, compares rows by
    cosines. Rows that do not have each other, as those of multipliers, share more neighbors than
    the group has rows, for their diagonal block is zero. With ``equal`` rows have each other and
    all neighbors in common. Rows may be among their own neighbors, which changes nothing. ``mark``
    is -1 at first.
    """
    n, count, k = order.size, 0, 0
    while k < n:
        first, rows, degree, again = order[k], 1, 0, True
        for p in range(start[first], start[first + 1]):
            mark[neighbor[p]] = k
            degree += neighbor[p] != first
        mark[first] = -1
        while again and k + rows < n and rows < most:
            row = order[k + rows]
            both = linked = own = 0
            for p in range(start[row], start[row + 1]):
                both += mark[neighbor[p]] == k and neighbor[p] != row
                own += neighbor[p] == row
                linked += neighbor[p] == first
            either = degree + start[row + 1] - start[row] - own - both - 2 * linked
            if equal:
                again = linked == 1 and both == either
            else:
                again = 3 * both >= 2 * either and (linked == 1 or both > rows)
            rows += again
        size[count] = rows
        count += 1
        k += rows
    return count


@interpreted
def block_entries(
    # In:
    start,
    neighbor,
    order,
    size,
    # Work:
    node,
    seen,
):
    """Entries of all blocks if ``size`` rows of ``order`` at a time are a node; ``seen`` is -1.

    Rows may be among their own neighbors.
    """
    at = 0
    for i in range(size.size):
        for k in range(at, at + size[i]):
            node[order[k]] = i
        at += size[i]
    total, at = 0.0, 0
    for i in range(size.size):
        width, seen[i] = size[i], i
        for k in range(at, at + size[i]):
            for p in range(start[order[k]], start[order[k] + 1]):
                j = node[neighbor[p]]
                if seen[j] != i:
                    seen[j] = i
                    width += size[j]
        total += float(size[i]) * float(width)
        at += size[i]
    return total


@interpreted
def pair_nodes(
    # In:
    node,
    start,
    column,
    # Work:
    seen,
    # Out:
    ends,
):
    """Pairs of different nodes that the entries of a matrix in compressed rows join; how many.

    Rows and columns r are of ``node[r]``, rows of a node follow each other. Each direction of a
    pair comes once. ``seen`` is -1 at first, ``ends`` (2, entries).
    """
    count = 0
    for r in range(start.size - 1):
        i = last = node[r]
        for e in range(start[r], start[r + 1]):
            j = node[column[e]]
            if j != last:
                last = j
                if seen[j] != i and j != i:
                    seen[j] = i
                    ends[0, count], ends[1, count] = i, j
                    count += 1
    return count


@interpreted
def place_rows(
    # In:
    node,
    start,
    column,
    size,
    row_start,
    neighbor_start,
    neighbor,
    diagonal_at,
    block_at,
    # Out:
    at,
):
    """Places in `values` of the entries of a matrix in sorted compressed rows.

    Returns -1, or the first entry that lies in no block.
    """
    for r in range(start.size - 1):
        i = node[r]
        p, end, last, to = neighbor_start[i], neighbor_start[i + 1], -1, 0
        for e in range(start[r], start[r + 1]):
            j = node[column[e]]
            if j != last:
                last, block = j, diagonal_at[i]
                if j != i:
                    while p < end and neighbor[p] < j:
                        p += 1
                    if p == end or neighbor[p] != j:
                        return e
                    block = block_at[p]
                to = block + r - row_start[i] - row_start[j] * size[i]
            at[e] = to + column[e] * size[i]
    return -1


@interpreted
def place_columns(
    # In:
    size,
    row_start,
    neighbor_start,
    neighbor,
    diagonal_at,
    block_at,
    # Out:
    start,
    column,
    at,
):
    """Compressed rows of all entries of blocks, sorted: their columns and places in `values`."""
    count = start[0] = 0
    for i in range(size.size):
        first, after = neighbor_start[i], neighbor_start[i + 1]
        middle = first
        while middle < after and neighbor[middle] < i:
            middle += 1
        for r in range(size[i]):
            for p in range(first, after + 1):
                if p == middle:
                    j, place = i, diagonal_at[i] + r
                else:
                    q = p if p < middle else p - 1
                    j, place = neighbor[q], block_at[q] + r
                for c in range(size[j]):
                    column[count], at[count] = row_start[j] + c, place + c * size[i]
                    count += 1
            start[row_start[i] + r + 1] = count


@interpreted
def similar_part(start, column, step, mark):
    """Rows, about one of ``step``, that are alike to another at first sight; how many were seen.

    They have two thirds of their columns in common with the next row, both of them left out, or all
    with the row of one of their columns. ``mark`` is -1 at first.
    """
    n, seen, count = start.size - 1, 0, 0
    for first in range(0, n - step, step):
        r = first + (seen * 40503) % step  # no stride that rows of nodes may have as well
        seen += 1
        degree, others, both = start[r + 1] - start[r], 0, 0
        for e in range(start[r], start[r + 1]):
            j = column[e]
            mark[j] = r
            others += j != r and j != r + 1
        for e in range(start[r + 1], start[r + 2]):
            j = column[e]
            if j != r and j != r + 1:
                others += 1
                both += mark[j] == r
        found = 5 * both >= 2 * others
        for e in range(start[r], start[r + 1]):
            j = column[e]
            if j != r and start[j + 1] - start[j] == degree and not found:
                k = 0
                while k < degree and column[start[r] + k] == column[start[j] + k]:
                    k += 1
                found = k == degree
        count += found and degree > 0
    return count, seen


@interpreted
def number_alike(
    # In:
    start,
    neighbor,
    alone,
    numbers,
    most,
    # Work:
    key,
    owner,
    # Out:
    member,
):
    """Number nodes by the sum of ``numbers`` over their neighbors, equal ones the same; how many.

    A node's own number counts if it is ``alone``. -1 where there are more than ``most``. ``owner``,
    a table of hashes with more places than nodes, is -1 at first.
    """
    count, places = 0, owner.size
    for i in range(start.size - 1):
        total = numbers[i] if alone[i] else 0
        for p in range(start[i], start[i + 1]):
            total += numbers[neighbor[p]]
        key[i] = total
        at = total % places
        while owner[at] >= 0 and key[owner[at]] != total:
            at = at + 1 if at + 1 < places else 0
        if owner[at] < 0:
            if count == most:
                return -1
            owner[at], member[i] = i, count
            count += 1
        else:
            member[i] = member[owner[at]]
    return count


@interpreted
def mirror_entries(
    # In:
    start,
    column,
    # Work:
    passed,
    # Out:
    mirrored,
):
    """Entry across the diagonal of each entry of sorted compressed rows; 0 where one has none."""
    n = start.size - 1
    for i in range(n):
        passed[i] = start[i]
    for i in range(n):
        first = passed[i]  # the entries before have been met
        if first < start[i + 1] and column[first] < i:
            return 0
        for e in range(first, start[i + 1]):
            j = column[e]
            p = passed[j]
            if j != i and (p == start[j + 1] or column[p] != i):
                return 0
            if j == i:
                p = e
            mirrored[e], mirrored[p] = p, e
            passed[j] = p + 1
    return 1
