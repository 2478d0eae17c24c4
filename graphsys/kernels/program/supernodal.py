"""Supernodes and the program of the numeric kernels (its layout: `program`)."""

from graphsys.kernels.base.jit import interpreted
from graphsys.kernels.base.layout import (
    ARENA_SIZE,
    ARENA_TOTAL,
    AT_ONCE,
    BY_PIVOTS,
    HEADER,
    LOAD_AT,
    LOAD_FIELDS,
    LOADS,
    NODAL_AT,
    ONE_TRIANGLE,
    ORDER_AT,
    PANEL_FIELDS,
    PANELS_AT,
    PROGRAM_VERSION,
    REFINED,
    ROWS,
    SCALED,
    STARTS_AT,
    SUPERNODES,
    SYMMETRIC,
    TARGET_FIELDS,
    VERSION,
    WEAK_WORK,
    WIDEST,
    WORK_AT,
    WORK_COLUMNS,
)
from graphsys.kernels.blocks.medium import MEDIUM_WORK

#: Pivots share a block, and rows are exchanged between them, up to this many rows.
PIVOT_ROWS = 8
#: Widest supernode: its columns stay in the first caches while they update others. Wider ones are
#: cut into panels that update each other in one run of rows; 64 to 144 columns are no faster.
MOST_COLUMNS = 48
#: Zeros stored, as a part of a panel, for the sake of a wider supernode; the second one while it
#: still fits one pivot block.
ZEROS, ZEROS_IN_BLOCK = 0.1, 0.5
#: Rows below the pivots of a symmetric supernode, and entries of its upper panel, from which on it
#: stores one triangle. Copies of its pivot blocks take up to `PIVOT_ROWS` columns.
BELOW_ONE_TRIANGLE, ENTRIES_ONE_TRIANGLE = 2 * PIVOT_ROWS, 128


@interpreted
def supernodes(
    # Tables:
    size,
    parent,
    below,
    joined,
    n_last,
    # Out:
    super_of,
    super_start,
):
    """Supernode of each step, and where each starts; returns how many.

    ``below`` counts the later rows of each step; a step is ``joined`` when it must share a pivot
    block with the next one. No supernode reaches into the ``n_last`` last steps.
    """
    n = size.size
    count = -1
    columns = 0
    entries = 0.0
    for k in range(n):
        own = float(size[k]) * (size[k] + 2 * below[k])
        extend = False
        if k > 0 and parent[k - 1] == k and k != n - n_last:
            wider = columns + size[k]
            full = float(wider) * (wider + 2 * below[k])
            zeros = full - (entries + own)
            allowed = ZEROS_IN_BLOCK if wider <= PIVOT_ROWS else ZEROS
            extend = wider <= MOST_COLUMNS and zeros <= allowed * full
        if k > 0 and joined[k - 1]:
            extend = True
        if extend:
            columns += size[k]
            entries += own
        else:
            count += 1
            super_start[count] = k
            columns = size[k]
            entries = own
        super_of[k] = count
    super_start[count + 1] = n
    return count + 1


@interpreted
def _find(front, first, last, k):
    """Place of k in the ascending front[first:last]."""
    while first < last:
        middle = (first + last) // 2
        if front[middle] < k:
            first = middle + 1
        else:
            last = middle
    return first


@interpreted
def _targets(front, first, last, row_of, super_of, super_start, runs_of):
    """Sizes of one supernode's part: (runs, targets, runs of all targets).

    Leaves in ``runs_of[e - first]`` how many runs start at or after entry e of the front.
    """
    runs = 0
    for e in range(last - 1, first - 1, -1):
        if e == last - 1 or front[e + 1] != front[e] + 1:
            runs += 1
        runs_of[e - first] = runs
    targets = 0
    of_targets = 0
    for e in range(first, last):
        t = super_of[front[e]]
        if e > first and super_of[front[e - 1]] == t:
            continue
        targets += 1
        of_targets += runs_of[e - first]
        # a run that continues after the target's pivots is cut there
        end = _find(front, e, last, super_start[t + 1])
        if end < last and front[end - 1] + 1 == front[end]:
            of_targets += 1
    return runs, targets, of_targets


@interpreted
def measure_program(
    # Tables:
    size,
    joined,
    fronts,
    supernodes,
    row_of,
    halves,
    # Work:
    runs_of,
    # Out:
    offset,
    by_supernode,
    sizes,
):
    """Places of all panels; ``sizes`` <- numbers in them, widest pivot block, length of their part.

    Last in ``sizes``, numbers of the columns of W that update one target. ``fronts`` are where the
    later steps of each step begin, and these; ``supernodes`` that of each step, and where each
    begins. ``halves`` allows supernodes to store one triangle. ``offset`` gets the row of each
    front entry inside its supernode's panel; ``by_supernode`` last step, rows below, places of both
    panels, pivot blocks. Returns the length of the targets' part.
    """
    front_start, front = fronts
    super_of, super_start = supernodes
    last_step, below = by_supernode[0], by_supernode[1]
    lower, upper, pivots = by_supernode[2], by_supernode[3], by_supernode[4]
    count = super_start.size - 1
    length = targets_length = arena = widest = scaled = 0
    for s in range(count):
        last = super_start[s + 1] - 1
        last_step[s] = last
        q = 0
        for e in range(front_start[last], front_start[last + 1]):
            offset[e] = q
            q += size[front[e]]
        below[s] = q
        p = row_of[last + 1] - row_of[super_start[s]]
        lower[s] = arena
        arena += (p + q) * p
        pivots[s] = block = copies = 0
        for k in range(super_start[s], last + 1):
            together = block > 0 and (block + size[k] <= PIVOT_ROWS or joined[k - 1])
            if together:
                block += size[k]
            elif size[k] > 0:
                copies += block * block if block <= PIVOT_ROWS else 0
                pivots[s] += 1
                block = size[k]
            if block > widest:
                widest = block
        copies += block * block if block <= PIVOT_ROWS else 0
        half = halves and q >= BELOW_ONE_TRIANGLE and p * q >= ENTRIES_ONE_TRIANGLE
        upper[s] = copies if half else -1
        if half and p * q <= AT_ONCE:
            scaled = max(scaled, p * q)
        elif half:
            columns, target = 0, -1
            for e in range(front_start[last], front_start[last + 1]):
                if super_of[front[e]] != target:
                    columns, target = 0, super_of[front[e]]
                columns += size[front[e]]
                scaled = max(scaled, p * columns)
        runs, targets, of_targets = _targets(
            front, front_start[last], front_start[last + 1], row_of, super_of, super_start, runs_of
        )
        length += PANEL_FIELDS + pivots[s] + 3 * runs
        targets_length += TARGET_FIELDS * targets + 3 * of_targets
    for s in range(count):
        if upper[s] < 0:
            upper[s] = arena
            arena += (row_of[last_step[s] + 1] - row_of[super_start[s]]) * below[s]
        else:
            copies, upper[s] = upper[s], -1 - arena
            arena += copies
    sizes[0], sizes[1], sizes[2], sizes[3] = arena, widest, length, scaled
    return targets_length


@interpreted
def build_program(
    # Tables:
    size,
    user_row,
    joined,
    fronts,
    supernodes,
    row_of,
    symmetric,
    loads,
    # In:
    offset,
    by_supernode,
    sizes,
    # Work:
    runs_of,
    # Out:
    program,
):
    """Write the supernodal program with what `measure_program` found.

    ``row_of`` (n + 1,) is the first row of each step, ``user_row`` (n,) the user's. ``loads`` are,
    by steps, where the later neighbours begin, these, the offsets in values of the blocks
    (neighbour, k) and (k, neighbour), and those of the diagonal blocks.
    """
    front_start, front = fronts
    super_of, super_start = supernodes
    load_start, load_node, load_lower, load_upper, diagonal_at = loads
    n, count, rows = size.size, super_start.size - 1, row_of[size.size]
    last_step, below = by_supernode[0], by_supernode[1]
    lower, upper = by_supernode[2], by_supernode[3]
    arena, widest, length, scaled = sizes[0], sizes[1], sizes[2], sizes[3]
    loaded = n + load_start[n] * (1 if symmetric else 2)  # blocks
    program[PROGRAM_VERSION] = VERSION
    program[ROWS] = rows
    program[SUPERNODES] = count
    program[SYMMETRIC] = 1 if symmetric else 0
    program[REFINED] = BY_PIVOTS
    program[WORK_AT] = arena
    program[ARENA_SIZE] = arena
    program[ORDER_AT] = HEADER
    program[LOAD_AT] = HEADER + rows
    program[LOADS] = loaded
    program[STARTS_AT] = HEADER + rows + LOAD_FIELDS * loaded
    program[PANELS_AT] = program[STARTS_AT] + count
    program[WIDEST] = widest
    program[NODAL_AT] = 0
    work = max(WORK_COLUMNS * widest, WEAK_WORK)
    if widest > PIVOT_ROWS and work < MEDIUM_WORK:
        work = MEDIUM_WORK
    program[ARENA_TOTAL] = arena + work + scaled
    program[ONE_TRIANGLE], program[SCALED] = 0, work
    for s in range(count):
        program[ONE_TRIANGLE] += upper[s] < 0

    at = HEADER
    for k in range(n):
        for r in range(size[k]):
            program[at] = user_row[k] + r
            at += 1

    for k in range(n):
        s = super_of[k]
        first = row_of[super_start[s]]
        last = last_step[s]
        p = row_of[last + 1] - first
        m = p + below[s]
        local = row_of[k] - first
        at = _put_load(
            program, at, diagonal_at[k], size[k], size[k], lower[s] + local * m + local, m
        )
        for e in range(load_start[k], load_start[k + 1]):
            j = load_node[e]
            if super_of[j] == s:
                row = row_of[j] - first
                to_upper, ld = lower[s] + row * m + local, m
            else:
                place = _find(front, front_start[last], front_start[last + 1], j)
                row = p + offset[place]
                to_upper, ld = upper[s] + offset[place] * p + local, p
            to_lower = lower[s] + local * m + row
            at = _put_load(program, at, load_lower[e], size[j], size[k], to_lower, m)
            if not symmetric:
                at = _put_load(program, at, load_upper[e], size[k], size[j], to_upper, ld)

    at = program[PANELS_AT]
    target_at = at + length
    for s in range(count):
        program[program[STARTS_AT] + s] = at
        program[at + 8] = target_at
        at = _put_panel(
            program, at, s, size, joined, fronts, supernodes, row_of, offset, by_supernode, runs_of
        )
        target_at = _put_targets(
            program, target_at, s, fronts, supernodes, row_of, offset, by_supernode
        )


@interpreted
def _put_load(program, at, source, rows, columns, to, ld):
    """One block of the load table."""
    program[at] = source
    program[at + 1] = rows
    program[at + 2] = columns
    program[at + 3] = to
    program[at + 4] = ld
    return at + LOAD_FIELDS


@interpreted
def _put_panel(
    program, at, s, size, joined, fronts, supernodes, row_of, offset, by_supernode, runs_of
):
    """One supernode: sizes, pivot blocks, runs."""
    front_start, front = fronts
    super_of, super_start = supernodes
    last, below, lower = by_supernode[0, s], by_supernode[1, s], by_supernode[2, s]
    upper, pivots = by_supernode[3, s], by_supernode[4, s]
    front_first, front_last = front_start[last], front_start[last + 1]
    runs, targets, _ = _targets(
        front, front_first, front_last, row_of, super_of, super_start, runs_of
    )
    program[at] = row_of[last + 1] - row_of[super_start[s]]
    program[at + 1] = below
    program[at + 2] = row_of[super_start[s]]
    program[at + 3] = lower
    program[at + 4] = upper
    program[at + 5] = pivots
    program[at + 6] = runs
    program[at + 7] = targets
    at += PANEL_FIELDS
    block = 0
    for k in range(super_start[s], last + 1):
        if block > 0 and (block + size[k] <= PIVOT_ROWS or joined[k - 1]):
            block += size[k]
            program[at - 1] = block
        elif size[k] > 0:
            block = size[k]
            program[at] = block
            at += 1

    e = front_first
    while e < front_last:
        end = e + 1
        while end < front_last and front[end] == front[end - 1] + 1:
            end += 1
        program[at] = offset[e]
        program[at + 1] = row_of[front[end - 1] + 1] - row_of[front[e]]
        program[at + 2] = row_of[front[e]]
        at += 3
        e = end
    return at


@interpreted
def _put_targets(program, at, s, fronts, supernodes, row_of, offset, by_supernode):
    """Targets of one supernode."""
    front_start, front = fronts
    super_of, super_start = supernodes
    last_step, below = by_supernode[0], by_supernode[1]
    lower, upper = by_supernode[2], by_supernode[3]
    last = last_step[s]
    first, front_last = front_start[last], front_start[last + 1]
    while first < front_last:
        t = super_of[front[first]]
        after = super_start[t + 1]
        t_first = row_of[super_start[t]]
        t_p = row_of[after] - t_first
        t_front, t_end = front_start[after - 1], front_start[after]
        head = at
        program[head] = lower[t]
        program[head + 1] = t_p + below[t]
        program[head + 2] = upper[t]
        program[head + 3] = t_p
        program[head + 4] = t_first
        at += TARGET_FIELDS
        columns = 0
        count = 0
        following = front_last
        e = first
        while e < front_last:
            end = e + 1
            while end < front_last and front[end] == front[end - 1] + 1 and front[end] != after:
                end += 1
            program[at] = offset[e]
            program[at + 1] = row_of[front[end - 1] + 1] - row_of[front[e]]
            if front[e] < after:
                program[at + 2] = row_of[front[e]] - t_first
                columns += 1
                following = end
            else:
                t_front = _find(front, t_front, t_end, front[e])
                program[at + 2] = t_p + offset[t_front]
            at += 3
            count += 1
            e = end
        program[head + 5] = columns
        program[head + 6] = count
        first = following
    return at
