"""The first-touch program (`nodal_ldu`) for eight systems at once, solved while it is factorized.

Nothing is kept but what the substitution reads, W: L and the pivot's elimination steps lie in a
workspace that the next node takes over. Blocks of the eight systems are transposed where they are
first needed.
"""

import numpy as np

from graphsys.kernels.base.jit import kernel
from graphsys.kernels.base.layout import (
    ARENA_TOTAL,
    NEIGHBOUR_FIELDS,
    NODAL_AT,
    NODE_FIELDS,
    REPEATED,
    ROWS,
    STARTS_AT,
    SUPERNODES,
    SYMMETRIC,
    UPDATE_FIELDS,
    WORK_AT,
)
from graphsys.kernels.base.widths import LANES, SMALL
from graphsys.kernels.batch.ldu import lane_growth, pass_over
from graphsys.kernels.batch.substitution import backward_eight, gather_eight, scatter_eight
from graphsys.kernels.blocks.batch_blocks import (
    assign_lanes,
    invert_lanes,
    load_lanes,
    scale_lanes_stored,
    scale_lanes_values,
    steps_lanes,
    subtract_lanes,
    update_lanes_stored,
    update_lanes_values,
)
from graphsys.kernels.blocks.prefetch import is_far
from graphsys.kernels.blocks.supernodes import mirror


@kernel
def node_room(program):
    """Vectors after the arena that `solve_nodes` needs: a node's steps and its L."""
    room, at = 0, program[STARTS_AT]
    for s in range(program[SUPERNODES]):
        panel = program[at + s]
        room = max(room, program[panel] * program[panel + 1])
    return SMALL * SMALL + room


@kernel
def solve_nodes(
    # Tables:
    program,
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
    arena,
    # Out:
    ratio,
    growth,
    out,
):
    """out <- A^-1 b for groups of eight systems; arguments as of `batch.factorize_groups`."""
    nnz, rows = values.size // count, program[ROWS]
    given = LANES * rows
    zeros, steps = LANES * program[WORK_AT], LANES * program[ARENA_TOTAL]
    scratch = steps + LANES * SMALL * SMALL
    symmetric, far = program[SYMMETRIC] != 0, is_far(values.size, values) and nnz > 0
    for g in range(first_group, last_group):
        system = min(LANES * g, count - LANES)
        values_at = system * nnz
        if far:  # as in `batch.ldu`; the next line clears it again
            arena[zeros] = pass_over(values, values_at, values_at + LANES * nnz)
        arena[zeros : zeros + LANES * SMALL] = 0.0
        gather_eight(program, b, system * rows * columns, rows * columns, columns, x)
        magnitude[:given] = 0.0
        magnitude[given:] = np.inf
        for lane in range(system, system + LANES):
            ratio[lane] = 1.0
        at = program[NODAL_AT]
        for _ in range(program[SUPERNODES]):
            panel = at
            at += REPEATED
            w, q, first = program[panel], program[panel + 1], LANES * program[panel + 2]
            d, upper = LANES * program[panel + 3], LANES * program[panel + 4]
            neighbours, source, m = program[at], program[at + 1], w + q
            at += NODE_FIELDS
            last = at + NEIGHBOUR_FIELDS * neighbours
            if source >= 0:
                load_lanes(arena, d, m, values, values_at + source, nnz, w, w)
            if symmetric:
                mirror(arena, d, m, w, LANES, False)
            tame = steps_lanes(arena, d, m, magnitude, first, ratio, system, w, arena, steps)
            if tame == 0:
                invert_lanes(arena, d, m, magnitude, first, ratio, system, w)
                assign_lanes(x, first, rows, arena, d, m, x, first, 1, rows, w, columns, w)
            else:
                scale_lanes_stored(x, first, rows, arena, steps, x, first, 1, rows, w, columns)
            for row in range(at, last, NEIGHBOUR_FIELDS):
                size, place, source = program[row], program[row + 1], program[row + 3]
                left, ld, right = d + LANES * (w + place), m, upper + LANES * w * place
                if source >= 0:
                    left, ld = scratch + LANES * w * place, size
                    load_lanes(arena, left, size, values, values_at + source, nnz, size, w)
                if symmetric:
                    if tame != 0:
                        scale_lanes_stored(
                            arena, right, w, arena, steps, arena, left, ld, 1, w, size
                        )
                    else:
                        assign_lanes(arena, right, w, arena, d, m, arena, left, ld, 1, w, size, w)
                else:
                    source = program[row + 4]
                    if tame != 0 and source >= 0:
                        scale_lanes_values(
                            arena, right, w, arena, steps, values, values_at + source, 1, nnz,
                            w, size,
                        )  # fmt: skip
                    elif tame != 0:
                        scale_lanes_stored(
                            arena, right, w, arena, steps, arena, right, 1, w, w, size
                        )
                    else:
                        if source >= 0:
                            load_lanes(arena, right, w, values, values_at + source, nnz, w, size)
                        assign_lanes(arena, right, w, arena, d, m, arena, right, 1, w, w, size, w)
                there = LANES * program[row + 2]
                subtract_lanes(x, there, rows, arena, left, ld, x, first, 1, rows, size, columns, w)
            update = last
            for j in range(at, last, NEIGHBOUR_FIELDS):
                right = upper + LANES * w * program[j + 1]
                for i in range(j if symmetric else at, last, NEIGHBOUR_FIELDS):
                    left, lda = d + LANES * (w + program[i + 1]), m
                    if program[i + 3] >= 0:
                        left, lda = scratch + LANES * w * program[i + 1], program[i]
                    source, row_at = program[update], LANES * program[i + 2]
                    to, ld = LANES * program[update + 2], program[update + 3]
                    if source >= 0:
                        update_lanes_values(
                            arena, to, ld, values, values_at + source, nnz,
                            arena, left, lda, arena, right, w, program[i], program[j], w,
                            i == j, magnitude, row_at,
                        )  # fmt: skip
                        if i == j:  # the first update
                            for k in range(row_at, row_at + LANES * program[i]):
                                magnitude[given + k] = magnitude[k]
                    else:
                        update_lanes_stored(
                            arena, to, ld, arena, LANES * ~source, program[update + 1],
                            arena, left, lda, arena, right, w, program[i], program[j], w,
                            i == j, magnitude, row_at,
                        )  # fmt: skip
                    update += UPDATE_FIELDS
            at = update
        lane_growth(program, magnitude, growth, system)
        backward_eight(program, arena, 0, columns, x)
        scatter_eight(program, x, system * rows * columns, rows * columns, columns, out)
