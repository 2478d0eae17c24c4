"""Numeric factorization of eight systems at once, one in each lane of a vector.

`ldu` and `substitution` with a vector in the place of each number: the same program, the arena with
eight numbers for each of its own, ``arena[base + 8 * place + lane]``. Rows are exchanged within a
pivot block in each lane by itself. A singular pivot stops no lane: the numbers of its own lane are
invalid from then on, and the lane's pivot ratio reports it.
"""

import numpy as np

from graphsys.kernels.base.jit import inlined, kernel
from graphsys.kernels.base.layout import (
    ARENA_TOTAL,
    LOAD_AT,
    LOAD_FIELDS,
    LOADS,
    ORDER_AT,
    PANEL_FIELDS,
    ROWS,
    SHORT,
    STARTS_AT,
    SUPERNODES,
    SYMMETRIC,
    TARGET_FIELDS,
    WORK_AT,
    panels_hold,
    targets_of,
)
from graphsys.kernels.base.widths import GROWN, LANES
from graphsys.kernels.batch.substitution import (
    backward_eight,
    forward_eight,
    gather_eight,
    scatter_eight,
)
from graphsys.kernels.blocks.batch_blocks import (
    assign_lanes,
    invert_lanes,
    load_lanes,
    raise_lanes,
    subtract_lanes,
)
from graphsys.kernels.blocks.blocks import any_beyond, copy_block
from graphsys.kernels.blocks.prefetch import LINE, is_far
from graphsys.kernels.blocks.supernodes import (
    FINE,
    eliminate_supernode,
    scale_columns,
    update_target,
)


def schedule(program: np.ndarray) -> np.ndarray:
    """Table of `fill_schedule`."""
    count = program[SUPERNODES]
    table, touched = np.empty(5 * count + 1, np.int64), np.zeros(count, np.bool_)
    fill_schedule(program, table, touched, np.empty(count + 1, np.int64), np.zeros(count, np.int64))
    return table


@kernel
def fill_schedule(program, table, touched, first_load, filled):
    """Order of loading panels: before each supernode, those that it is the first to touch.

    For each supernode: how many supernodes it is the first to touch, then for each of these (place
    in the program, whether its panels must be cleared first, loads, place in the load table). The
    blocks that are then worked with are still in the first cache.
    """
    count, symmetric = program[SUPERNODES], program[SYMMETRIC] != 0
    for s in range(count + 1):
        first_load[s] = program[LOADS]
    s = 0
    for load in range(program[LOADS]):
        at = program[LOAD_AT] + LOAD_FIELDS * load
        if program[at + 1] * program[at + 2] > 0:
            while not panels_hold(program, s, program[at + 3]):
                s += 1
        first_load[s] = min(first_load[s], load)
        filled[s] += program[at + 1] * program[at + 2]
    for s in range(count - 1, -1, -1):
        first_load[s] = min(first_load[s], first_load[s + 1])
    place = 0
    for s in range(count):
        targets, at = targets_of(program, s)
        head = place
        table[head] = 0
        place += 1
        t = s
        for target in range(-1, targets):
            if target >= 0:
                while program[program[program[STARTS_AT] + t] + 2] != program[at + 4]:
                    t += 1
                at += TARGET_FIELDS + 3 * program[at + 6]
            if touched[t]:
                continue
            touched[t] = True
            panel = program[program[STARTS_AT] + t]
            size = program[panel] * (program[panel] + 2 * program[panel + 1])
            table[head] += 1
            table[place] = panel
            table[place + 1] = 1 if symmetric or filled[t] < size else 0
            table[place + 2] = first_load[t + 1] - first_load[t]
            table[place + 3] = program[LOAD_AT] + LOAD_FIELDS * first_load[t]
            place += 4


@kernel
def _clear(arena, first, length):
    """arena[first:first + length] <- 0."""
    panel = arena[first : first + length]
    for i in range(panel.size):
        panel[i] = 0.0


@kernel
def _load(program, table, place, values, first, stride, magnitude, arena, base):
    """Panels <- their blocks, listed in the schedule at ``place``; returns the next place.

    A stride of 0 means that values hold eight systems side by side.
    """
    panels = table[place]
    place += 1
    for _ in range(panels):
        if table[place + 1] != 0:
            at = table[place]
            p, q = program[at], program[at + 1]
            _clear(arena, base + LANES * program[at + 3], LANES * (p + q) * p)
            if program[at + 4] >= 0:
                _clear(arena, base + LANES * program[at + 4], LANES * p * q)
        at = table[place + 3]
        for _ in range(table[place + 2]):
            to, rows, columns = base + LANES * program[at + 3], program[at + 1], program[at + 2]
            if stride > 0:
                load_lanes(
                    arena, to, program[at + 4], values, first + program[at], stride, rows, columns
                )  # fmt: skip
            else:
                copy_block(
                    arena, to, LANES * program[at + 4], values, LANES * program[at], LANES * rows,
                    LANES * rows, columns,
                )  # fmt: skip
            at += LOAD_FIELDS
        _given_magnitudes(program, table[place], magnitude, arena, base)
        place += 4
    return place


@kernel
def _given_magnitudes(program, at, magnitude, arena, base):
    """Magnitudes of the rows of a supernode, at place ``at``, whose panel was just loaded."""
    p, first, lower = program[at], program[at + 2], program[at + 3]
    m, i, given = p + program[at + 1], 0, LANES * program[ROWS]
    for b in range(program[at + 5]):
        w = program[at + PANEL_FIELDS + b]
        there = base + LANES * (lower + i * m + i)
        raise_lanes(magnitude, given + LANES * (first + i), arena, there, m, w, w)
        i += w


@kernel
def lane_growth(program, magnitude, growth, system):
    """growth <- that of each lane, as `growth.pivot_growth`."""
    rows = program[ROWS]
    given = LANES * rows
    for lane in range(LANES):
        growth[system + lane] = np.inf if program[SHORT] > 0 else 0.0
    if any_beyond(magnitude, 0, magnitude, given, GROWN, given) == 0:
        return
    for i in range(rows):
        for lane in range(LANES):
            largest = magnitude[LANES * i + lane]
            if largest > GROWN * magnitude[given + LANES * i + lane]:
                quotient = largest / magnitude[given + LANES * i + lane]
                growth[system + lane] = max(growth[system + lane], quotient)


@kernel
def pass_over(values, first, last):
    """Sum of some numbers, one of each cache line at least."""
    line = LINE // values.itemsize
    a = b = c = d = values[first]
    for k in range(first, last - 3 * line, 4 * line):
        a += values[k]
        b += values[k + line]
        c += values[k + 2 * line]
        d += values[k + 3 * line]
    return a + b + c + d


@kernel
def factorize_eight(
    # Tables:
    program,
    table,
    # In:
    values,
    first,
    stride,
    columns,
    # Work:
    magnitude,
    x,
    # Out:
    arena,
    base,
    ratio,
    system,
):
    """Factors of one group, the systems from ``system`` on; where columns > 0, x <- L^-1 x.

    The first system is at ``values[first]``, the next ones ``stride`` after one another. A stride
    of 0 means that each entry is a vector of eight systems.
    """
    symmetric, work_at = program[SYMMETRIC] != 0, base + LANES * program[WORK_AT]
    for i in range(magnitude.size):
        magnitude[i] = 0.0
    for lane in range(system, system + LANES):
        ratio[lane] = 1.0
    place = 0
    for s in range(program[SUPERNODES]):
        place = _load(program, table, place, values, first, stride, magnitude, arena, base)
        panel = program[program[STARTS_AT] + s]
        targets, target_at = targets_of(program, s)
        eliminate_supernode(
            program, panel, arena, base, magnitude, LANES, work_at, (ratio, system),
            _invert, _scale, _keep, subtract_lanes, raise_lanes,
        )  # fmt: skip
        if columns > 0:
            forward_eight(program, panel, arena, base, columns, x)
        for _ in range(targets):
            target_at = _update(
                program, target_at, panel, base, symmetric, magnitude, work_at, arena
            )


@kernel
def solve_eight(program, arena, b, x, out):
    """out <- A^-1 b with the factors of `factorize_eight`; both hold a vector for each row."""
    rows, order = program[ROWS], program[ORDER_AT]
    for i in range(rows):
        copy_block(x, LANES * i, LANES, b, LANES * program[order + i], LANES, LANES, 1)
    for s in range(program[SUPERNODES]):
        forward_eight(program, program[program[STARTS_AT] + s], arena, 0, 1, x)
    backward_eight(program, arena, 0, 1, x)
    for i in range(rows):
        copy_block(out, LANES * program[order + i], LANES, x, LANES * i, LANES, LANES, 1)


@kernel
def factorize_groups(
    # Tables:
    program,
    table,
    # In:
    values,
    count,
    first_group,
    last_group,
    b,
    columns,
    # Work:
    magnitude,
    x,
    # Out:
    arena,
    ratio,
    growth,
    out,
):
    """L, D^-1, W of groups of eight systems; where ``columns`` > 0, out <- A^-1 b on the way.

    Group g is the systems from ``min(8 g, count - 8)`` on: the last one overlaps where they do not
    divide by eight, and computes the same numbers again. ``values``, ``b`` and ``out`` hold system
    after system, ``columns`` numbers for each row. ``arena`` is for one group where there are
    right-hand sides, its factors are lost; it is for all groups else. ``ratio`` is the smallest
    pivot ratio, NaN where a pivot is singular; ``growth`` that of pivot blocks,
    as in `growth`. ``magnitude`` is for ``2 rows`` vectors; ``table`` is from `schedule`.
    """
    nnz, rows = values.size // count, program[ROWS]
    far = is_far(values.size, values) and nnz > 0
    for g in range(first_group, last_group):
        system = min(LANES * g, count - LANES)
        base = 0 if columns > 0 else LANES * g * program[ARENA_TOTAL]
        if far:
            # The processor foresees one stream, not blocks of eight systems here and there. The sum
            # is of no use, but would not be computed if it went nowhere.
            arena[base] = pass_over(values, system * nnz, (system + LANES) * nnz)
        if columns > 0:
            gather_eight(program, b, system * rows * columns, rows * columns, columns, x)
        factorize_eight(
            program, table, values, system * nnz, nnz, columns, magnitude, x, arena, base, ratio,
            system,
        )  # fmt: skip
        lane_growth(program, magnitude, growth, system)
        if columns > 0:
            backward_eight(program, arena, base, columns, x)
            scatter_eight(program, x, system * rows * columns, rows * columns, columns, out)


@inlined
def _invert(arena, d, m, magnitude, row, w, context):
    """D^-1 of a pivot block in each lane; lanes report on their own whether it is singular."""
    ratio, system = context
    invert_lanes(arena, d, m, magnitude, LANES * row, ratio, system, w)
    return FINE


@inlined
def _scale(arena, to, ld, d, m, w, u, row_step, column_step, columns, weak, hermitian, work_at):
    """B <- D^-1 U for the w rows of a pivot block."""
    if columns > 0:
        assign_lanes(arena, to, ld, arena, d, m, arena, u, row_step, column_step, w, columns, w)


@inlined
def _keep(arena, to, w, weak, work_at):
    """Nothing: no pivot block is weak in lanes."""


@inlined
def _recall(arena, copy, w, work_at):
    """No pivot block is weak in lanes."""
    return False


@kernel
def _write_columns(program, panel, arena, base, to, first, columns, work_at):
    """W <- D^-1 L^T for some rows below as columns."""
    scale_columns(program, panel, arena, base, to, first, columns, LANES, work_at, _scale, _recall)


@kernel
def _update(program, at, panel, base, symmetric, magnitude, work_at, arena):
    """A_ij <- A_ij - L_ik W_kj for the blocks of one target; returns the place after it."""
    return update_target(
        program, at, arena, base, panel, symmetric, magnitude, LANES, work_at,
        _write_columns, subtract_lanes, raise_lanes,
    )  # fmt: skip
