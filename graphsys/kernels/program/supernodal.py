"""Supernodes and their panels in the program of the numeric kernels (its layout: `layout`)."""

from graphsys.kernels.base.jit import interpreted
from graphsys.kernels.base.layout import (
    ARENA_SIZE,
    ARENA_TOTAL,
    BY_PIVOTS,
    HEADER,
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
#: still fits one pivot block. With none, tetrahedra of 2,000 points take 1.12 times as long, and
#: with a tenth in both, power laws of 2,000 scalars 1.28 times.
ZEROS, ZEROS_IN_BLOCK = 0.1, 0.5
#: Rows below the pivots of a symmetric supernode from which on it stores one triangle. Copies of
#: its pivot blocks take up to `PIVOT_ROWS` columns. Solves with sphere2500 take 0.6 of the time.
BELOW_ONE_TRIANGLE = 2 * PIVOT_ROWS


@interpreted
def supernodes(
    # Tables:
    size,
    parent,
    below,
    joined,
    n_last,
    nodes,
    # Out:
    super_of,
    super_start,
):
    """Supernode of each step, and where each starts; returns how many.

    ``below`` counts the later rows of each step; a step is ``joined`` when it must share a pivot
    block with the next one. No supernode reaches into the ``n_last`` last steps, and each of the
    ``nodes`` first ones is one.
    """
    n = size.size
    count = -1
    columns = 0
    entries = 0.0
    for k in range(n):
        own = float(size[k]) * (size[k] + 2 * below[k])
        extend = False
        if k > nodes and parent[k - 1] == k and k != n - n_last:
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
def count_parts(rows, cut):
    """Number of pivot blocks of a node: one, or of at most `PIVOT_ROWS` rows each."""
    if rows == 0:
        return 0
    return (rows + PIVOT_ROWS - 1) // PIVOT_ROWS if cut else 1


@interpreted
def measure_program(
    # Tables:
    size,
    joined,
    cut,
    fronts,
    supernodes,
    row_of,
    halves,
    nodes,
    # Out:
    offset,
    by_supernode,
    sizes,
):
    """Places of all panels; ``sizes`` <- numbers in them, widest pivot block, length of their part.

    Last in ``sizes``, numbers of the columns of W that update one target. ``fronts`` are where the
    later steps of each step begin, and these; ``supernodes`` that of each step, and where each
    begins. Steps that are ``cut`` have several pivot blocks. ``halves`` allows supernodes after the
    first ``nodes`` to store one triangle. ``offset`` gets the row of each front entry inside its
    supernode's panel; ``by_supernode`` last step, rows below, places of both panels, pivot blocks.
    """
    front_start, front = fronts
    super_of, super_start = supernodes
    last_step, below = by_supernode[0], by_supernode[1]
    lower, upper, pivots = by_supernode[2], by_supernode[3], by_supernode[4]
    count = super_start.size - 1
    length = arena = widest = scaled = 0
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
            if block > 0 and (block + size[k] <= PIVOT_ROWS or joined[k - 1]):
                block += size[k]
                widest = max(widest, block)
                continue
            parts = count_parts(size[k], cut[k])
            for i in range(parts):
                copies += block * block if block <= PIVOT_ROWS else 0
                pivots[s] += 1
                block = size[k] * (i + 1) // parts - size[k] * i // parts
                widest = max(widest, block)
        copies += block * block if block <= PIVOT_ROWS else 0
        half = halves and s >= nodes and q >= BELOW_ONE_TRIANGLE
        upper[s] = copies if half else -1
        if half:
            columns, target = 0, -1
            for e in range(front_start[last], front_start[last + 1]):
                if super_of[front[e]] != target:
                    columns, target = 0, super_of[front[e]]
                columns += size[front[e]]
                scaled = max(scaled, p * columns)
        runs = 0
        for e in range(front_start[last], front_start[last + 1]):
            runs += e == front_start[last] or front[e] != front[e - 1] + 1
        length += PANEL_FIELDS + pivots[s] + 3 * runs
    for s in range(count):
        if upper[s] < 0:
            upper[s] = arena
            arena += (row_of[last_step[s] + 1] - row_of[super_start[s]]) * below[s]
        else:
            copies, upper[s] = upper[s], -1 - arena
            arena += copies
    sizes[0], sizes[1], sizes[2], sizes[3] = arena, widest, length, scaled


@interpreted
def build_program(
    # Tables:
    size,
    user_row,
    joined,
    cut,
    fronts,
    supernodes,
    row_of,
    symmetric,
    # In:
    offset,
    by_supernode,
    sizes,
    # Out:
    program,
):
    """Write header, order and panels with what `measure_program` found; returns the next place.

    ``row_of`` (n + 1,) is the first row of each step, ``user_row`` (n,) the user's.
    """
    front_start, front = fronts
    super_start = supernodes[1]
    count, rows = super_start.size - 1, row_of[size.size]
    upper = by_supernode[3]
    arena, widest, scaled = sizes[0], sizes[1], sizes[3]
    write_header(program, rows, count, symmetric, arena, widest, scaled)
    for s in range(count):
        program[ONE_TRIANGLE] += upper[s] < 0

    at = write_order(program, size, user_row)
    program[STARTS_AT], program[PANELS_AT] = at, at + count
    at = program[PANELS_AT]
    for s in range(count):
        program[program[STARTS_AT] + s] = at
        at = _put_panel(
            program, at, s, size, joined, cut, fronts, super_start, row_of, offset, by_supernode
        )
    return at


@interpreted
def write_header(program, rows, count, symmetric, arena, widest, scaled):
    """Header of a program without parts."""
    for k in range(HEADER):
        program[k] = 0
    program[PROGRAM_VERSION], program[ROWS], program[SUPERNODES] = VERSION, rows, count
    program[SYMMETRIC] = 1 if symmetric else 0
    program[REFINED] = BY_PIVOTS
    program[WORK_AT] = program[ARENA_SIZE] = arena
    program[ORDER_AT], program[WIDEST] = HEADER, widest
    work = max(WORK_COLUMNS * widest, WEAK_WORK)
    if widest > PIVOT_ROWS and work < MEDIUM_WORK:
        work = MEDIUM_WORK
    program[ARENA_TOTAL], program[SCALED] = arena + work + scaled, work


@interpreted
def write_order(program, size, user_row):
    """The user's row of each row; returns the next place."""
    at = HEADER
    for k in range(size.size):
        for r in range(size[k]):
            program[at] = user_row[k] + r
            at += 1
    return at


@interpreted
def _put_panel(
    program, at, s, size, joined, cut, fronts, super_start, row_of, offset, by_supernode
):  # fmt: skip
    """One supernode: sizes, pivot blocks, runs."""
    front_start, front = fronts
    last, below, lower = by_supernode[0, s], by_supernode[1, s], by_supernode[2, s]
    upper, pivots = by_supernode[3, s], by_supernode[4, s]
    front_first, front_last = front_start[last], front_start[last + 1]
    program[at] = row_of[last + 1] - row_of[super_start[s]]
    program[at + 1] = below
    program[at + 2] = row_of[super_start[s]]
    program[at + 3] = lower
    program[at + 4] = upper
    program[at + 5] = pivots
    panel = at
    at += PANEL_FIELDS
    block = 0
    for k in range(super_start[s], last + 1):
        if block > 0 and (block + size[k] <= PIVOT_ROWS or joined[k - 1]):
            block += size[k]
            program[at - 1] = block
            continue
        parts = count_parts(size[k], cut[k])
        for i in range(parts):
            block = size[k] * (i + 1) // parts - size[k] * i // parts
            program[at] = block
            at += 1

    e, first = front_first, at
    while e < front_last:
        end = e + 1
        while end < front_last and front[end] == front[end - 1] + 1:
            end += 1
        program[at] = offset[e]
        program[at + 1] = row_of[front[end - 1] + 1] - row_of[front[e]]
        program[at + 2] = row_of[front[e]]
        at += 3
        e = end
    program[panel + 6] = (at - first) // 3
    return at
