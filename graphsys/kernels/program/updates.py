"""Loads and targets of supernodes: what their panels start from, and which they update."""

from graphsys.kernels.base.jit import interpreted
from graphsys.kernels.base.layout import (
    LOAD_AT,
    LOAD_FIELDS,
    LOADS,
    NODES,
    PANEL_FIELDS,
    STARTS_AT,
    SUPERNODES,
    TARGET_FIELDS,
    TARGETS_AT,
)


@interpreted
def place_rows(program, super_of_row):
    """Supernode of each row."""
    for s in range(program[SUPERNODES]):
        panel = program[program[STARTS_AT] + s]
        for row in range(program[panel + 2], program[panel + 2] + program[panel]):
            super_of_row[row] = s


@interpreted
def place_below(program, panel, row):
    """Place of a row among the rows below a panel."""
    first = panel + PANEL_FIELDS + program[panel + 5]
    low, high = 0, program[panel + 6] - 1  # runs
    while low < high:
        middle = (low + high + 1) // 2
        if program[first + 3 * middle + 2] <= row:
            low = middle
        else:
            high = middle - 1
    at = first + 3 * low
    return program[at] + row - program[at + 2]


@interpreted
def block_place(program, panel, row, column):
    """Place of a block in the panels of the supernode of its earlier row; leading dimension."""
    p, first = program[panel], program[panel + 2]
    m = p + program[panel + 1]
    if row < first + p and column < first + p:
        return program[panel + 3] + (column - first) * m + row - first, m
    if row > column:
        place = p + place_below(program, panel, row)
        return program[panel + 3] + (column - first) * m + place, m
    return program[panel + 4] + place_below(program, panel, column) * p + row - first, p


@interpreted
def targets_length(program, super_of_row):
    """Length of the targets of all supernodes but the first ``nodes``."""
    length = 0
    for s in range(program[NODES], program[SUPERNODES]):
        length += 2 + _targets(program, program[program[STARTS_AT] + s], super_of_row, -1)[1]
    return length


@interpreted
def append_updates(
    # Tables:
    size,
    row_of,
    symmetric,
    loads,
    # In:
    super_of_row,
    # In and out:
    program,
    at,
):
    """Write loads and targets of all supernodes but the first ``nodes``, from place ``at`` on.

    ``loads`` are, by steps, where the later neighbours begin, these, the offsets in values of the
    blocks (neighbour, k) and (k, neighbour), and those of the diagonal blocks.
    """
    load_start, load_node, load_lower, load_upper, diagonal_at = loads
    count, first = program[SUPERNODES], program[NODES]
    program[LOAD_AT], program[LOADS] = at, 0
    for k in range(first, size.size):
        row, d = row_of[k], size[k]
        if d == 0:
            continue
        panel = program[program[STARTS_AT] + super_of_row[row]]
        at = _put_load(program, at, panel, diagonal_at[k], d, d, row, row)
        for e in range(load_start[k], load_start[k + 1]):
            j = load_node[e]
            at = _put_load(program, at, panel, load_lower[e], size[j], d, row_of[j], row)
            if not symmetric:
                at = _put_load(program, at, panel, load_upper[e], d, size[j], row, row_of[j])
    program[TARGETS_AT] = at
    at += count - first
    for s in range(first, count):
        panel = program[program[STARTS_AT] + s]
        program[program[TARGETS_AT] + s - first] = at
        program[at], length = _targets(program, panel, super_of_row, at + 1)
        at += 1 + length


@interpreted
def _put_load(program, at, panel, source, rows, columns, row, column):
    """One block of the load table."""
    program[at] = source
    program[at + 1] = rows
    program[at + 2] = columns
    program[at + 3], program[at + 4] = block_place(program, panel, row, column)
    program[LOADS] += 1
    return at + LOAD_FIELDS


@interpreted
def _targets(program, panel, super_of_row, to):
    """Number and length of a supernode's targets, written from place ``to`` on unless it is -1."""
    first_run = panel + PANEL_FIELDS + program[panel + 5]
    end = first_run + 3 * program[panel + 6]
    writing, at, targets = to >= 0, max(to, 0), 0
    start, head, skip = at, first_run, 0  # of this run, ``skip`` rows have had their target
    while head < end:
        row = program[head + 2] + skip
        target = program[program[STARTS_AT] + super_of_row[row]]
        p, first = program[target], program[target + 2]
        field, columns, runs = at, 0, 0
        at += TARGET_FIELDS
        run, passed = head, skip
        while run < end:
            row = program[run + 2] + passed
            length = program[run + 1] - passed
            inside = row < first + p
            if inside:  # a run that continues after the target's pivots is cut there
                length = min(length, first + p - row)
                columns += 1
            if writing:
                program[at] = program[run] + passed
                program[at + 1] = length
                program[at + 2] = row - first if inside else p + place_below(program, target, row)
            at += 3
            runs += 1
            passed += length
            if passed == program[run + 1]:
                run, passed = run + 3, 0
            if inside:
                head, skip = run, passed
        if writing:
            program[field] = program[target + 3]
            program[field + 1] = p + program[target + 1]
            program[field + 2] = program[target + 4]
            program[field + 3] = p
            program[field + 4] = first
            program[field + 5] = columns
            program[field + 6] = runs
        targets += 1
    return targets, at - start
