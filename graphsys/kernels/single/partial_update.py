"""Numeric factorization of the supernodes that a change reaches: its own, and their ancestors.

All others keep their factors. Each supernode in reach is loaded again and then updated by all its
descendants, those out of reach too, whose L and W are still there: the updates that `ldu` pushes
from a supernode to its ancestors are pulled here, in the same order.
"""

from graphsys.kernels.base.jit import kernel
from graphsys.kernels.base.layout import (
    GROWTH,
    LOAD_AT,
    LOAD_FIELDS,
    LOADS,
    PANEL_FIELDS,
    PIVOT_RATIO,
    STARTS_AT,
    SUPERNODES,
    SYMMETRIC,
    TARGET_FIELDS,
    WEAKEST,
    WORK_AT,
    panels_hold,
    targets_of,
)
from graphsys.kernels.base.widths import SMALL
from graphsys.kernels.blocks.blocks import copy_block, raise_magnitude, subtract_product
from graphsys.kernels.blocks.supernodes import update_target
from graphsys.kernels.single.ldu import eliminate, given_magnitudes, write_columns


@kernel
def reach_sizes(program):
    """Numbers of updates from supernode to supernode, and of pivot blocks."""
    updates = blocks = 0
    for s in range(program[SUPERNODES]):
        at = program[program[STARTS_AT] + s]
        blocks += program[at + 5]
        updates += targets_of(program, s)[0]
    return updates, blocks


@kernel
def reach_tables(
    # Tables:
    program,
    # Out:
    super_of_row,
    parent,
    load_start,
    source_start,
    source,
    update_at,
    pivot_row,
):
    """Tables of `Reach`: parents, loads and updates of each supernode, rows of pivot blocks."""
    count = program[SUPERNODES]
    found = 0
    for s in range(count):
        at = program[program[STARTS_AT] + s]
        super_of_row[program[at + 2] : program[at + 2] + program[at]] = s
        row = program[at + 2]
        for b in range(program[at + 5]):
            pivot_row[found] = row
            row += program[at + PANEL_FIELDS + b]
            found += 1
    source_start[:] = 0
    for s in range(count):
        targets, at = targets_of(program, s)
        parent[s] = super_of_row[program[at + 4]] if targets > 0 else -1
        for _ in range(targets):
            source_start[super_of_row[program[at + 4]] + 1] += 1
            at += TARGET_FIELDS + 3 * program[at + 6]
    for s in range(count):
        source_start[s + 1] += source_start[s]
    for s in range(count):
        targets, at = targets_of(program, s)
        for _ in range(targets):
            t = super_of_row[program[at + 4]]
            source[source_start[t]] = s
            update_at[source_start[t]] = at
            source_start[t] += 1
            at += TARGET_FIELDS + 3 * program[at + 6]
    for s in range(count, 0, -1):
        source_start[s] = source_start[s - 1]
    source_start[0] = 0

    s = 0
    load_start[0] = 0
    at = program[LOAD_AT]
    for k in range(program[LOADS]):
        if program[at + 1] * program[at + 2] > 0:
            while not panels_hold(program, s, program[at + 3]):
                s += 1
                load_start[s] = k
        at += LOAD_FIELDS
    load_start[s + 1 :] = program[LOADS]


@kernel
def climb(parent, rows, super_of_row, mark, reached):
    """Supernodes of some rows and all their ancestors, in no order; returns how many."""
    count = 0
    for row in rows:
        s = super_of_row[row]
        while s != -1 and not mark[s]:
            mark[s] = True
            reached[count] = s
            count += 1
            s = parent[s]
    for k in range(count):
        mark[reached[k]] = False
    return count


@kernel
def refactorize_reached(
    # Tables:
    program,
    load_start,
    source_start,
    source,
    update_at,
    reached,
    # In:
    values,
    tolerance,
    # Work:
    magnitude,
    # Out:
    arena,
    info,
):
    """L, D^-1, W of the supernodes ``reached``, ascending; status and ``info`` as `factorize`.

    ``magnitude`` and ``arena`` are those of the factorization before, ``info`` is that of
    the reached supernodes alone.
    """
    work_at = program[WORK_AT]
    info[PIVOT_RATIO], info[WEAKEST], info[GROWTH] = 1.0, 0.0, 0.0
    for t in reached:
        load_panel(program, t, load_start, values, magnitude, arena)
        for k in range(source_start[t], source_start[t + 1]):
            pull(program, source[k], update_at[k], work_at, magnitude, arena)
        failed = eliminate(program, t, 1, False, work_at, tolerance, magnitude, arena, info)
        if failed != 0:
            return failed
    return 0


@kernel
def load_panel(program, t, load_start, values, magnitude, arena):
    """Panel of supernode t <- the user's blocks, with their magnitudes."""
    at = program[program[STARTS_AT] + t]
    p, q, lower, upper = program[at], program[at + 1], program[at + 3], program[at + 4]
    arena[lower : lower + (p + q) * p] = 0.0
    if upper >= 0:
        arena[upper : upper + p * q] = 0.0
    else:
        copies = 0
        for b in range(PANEL_FIELDS, PANEL_FIELDS + program[at + 5]):
            w = program[at + b]
            copies += w * w if w <= SMALL else 0
        arena[-1 - upper : -1 - upper + copies] = 0.0
    for k in range(load_start[t], load_start[t + 1]):
        block = program[LOAD_AT] + LOAD_FIELDS * k
        rows = program[block + 1]
        copy_block(
            arena, program[block + 3], program[block + 4],
            values, program[block], rows, rows, program[block + 2],
        )  # fmt: skip
    given_magnitudes(program, at, magnitude, arena)


@kernel
def pull(program, source, at, work_at, magnitude, arena):
    """Update of a supernode by a descendant, ``source``, from place ``at`` of the program."""
    panel = program[program[STARTS_AT] + source]
    update_target(
        program, at, arena, 0, panel, program[SYMMETRIC] != 0, magnitude, 1, work_at,
        write_columns, subtract_product, raise_magnitude,
    )  # fmt: skip
