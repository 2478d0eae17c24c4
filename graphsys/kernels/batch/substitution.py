"""Substitution with the factors of eight systems at once; see `batch`.

``x`` holds, for each right-hand side and row in elimination order, a vector of eight systems.
"""

from graphsys.kernels.base.jit import kernel
from graphsys.kernels.base.layout import ORDER_AT, PANEL_FIELDS, ROWS, STARTS_AT, SUPERNODES
from graphsys.kernels.base.widths import LANES
from graphsys.kernels.blocks.batch_blocks import (
    assign_lanes,
    assign_lanes_transposed,
    gather_lanes,
    scatter_lanes,
    subtract_lanes,
    subtract_lanes_transposed,
)


@kernel
def forward_eight(program, at, arena, base, count, x):
    """z_k = D_k^-1 x_k, x_i <- x_i - L_ik z_k for the supernode whose panel begins at ``at``."""
    rows = program[ROWS]
    p, m, row = program[at], program[at] + program[at + 1], LANES * program[at + 2]
    lower, pivots, runs = base + LANES * program[at + 3], program[at + 5], program[at + 6]
    at += PANEL_FIELDS
    i = 0
    for b in range(pivots):
        w = program[at + b]
        d, here = lower + LANES * (i * m + i), row + LANES * i
        assign_lanes(x, here, rows, arena, d, m, x, here, 1, rows, w, count, w)
        i += w
        if i < p:
            subtract_lanes(
                x, row + LANES * i, rows, arena, d + LANES * w, m, x, here, 1, rows,
                p - i, count, w,
            )  # fmt: skip
    for run in range(at + pivots, at + pivots + 3 * runs, 3):
        subtract_lanes(
            x, LANES * program[run + 2], rows, arena, lower + LANES * (p + program[run]), m,
            x, row, 1, rows, program[run + 1], count, p,
        )  # fmt: skip


@kernel
def backward_eight(program, arena, base, count, x):
    """x_k = z_k - sum_j W_kj x_j."""
    rows = program[ROWS]
    for s in range(program[SUPERNODES] - 1, -1, -1):
        at = program[program[STARTS_AT] + s]
        p, m, row = program[at], program[at] + program[at + 1], LANES * program[at + 2]
        lower, upper = base + LANES * program[at + 3], base + LANES * program[at + 4]
        pivots, runs = program[at + 5], program[at + 6]
        at += PANEL_FIELDS
        for run in range(at + pivots, at + pivots + 3 * runs, 3):
            subtract_lanes(
                x, row, rows, arena, upper + LANES * program[run] * p, p,
                x, LANES * program[run + 2], 1, rows, p, count, program[run + 1],
            )  # fmt: skip
        i = p
        for b in range(pivots - 1, -1, -1):
            w = program[at + b]
            if i < p:
                subtract_lanes(
                    x, row + LANES * (i - w), rows, arena, lower + LANES * (i * m + i - w), m,
                    x, row + LANES * i, 1, rows, w, count, p - i,
                )  # fmt: skip
            i -= w


@kernel
def forward_transposed_eight(program, arena, base, count, x):
    """x_j <- x_j - W_kj^T x_k, every node before its ancestors."""
    rows = program[ROWS]
    for s in range(program[SUPERNODES]):
        at = program[program[STARTS_AT] + s]
        p, m, row = program[at], program[at] + program[at + 1], LANES * program[at + 2]
        lower, upper = base + LANES * program[at + 3], base + LANES * program[at + 4]
        pivots, runs = program[at + 5], program[at + 6]
        at += PANEL_FIELDS
        i = 0
        for b in range(pivots):
            w = program[at + b]
            if i + w < p:
                subtract_lanes_transposed(
                    x, row + LANES * (i + w), rows, arena, lower + LANES * ((i + w) * m + i), m,
                    x, row + LANES * i, 1, rows, p - i - w, count, w,
                )  # fmt: skip
            i += w
        at += pivots
        for _ in range(runs):
            subtract_lanes_transposed(
                x, LANES * program[at + 2], rows, arena, upper + LANES * program[at] * p, p,
                x, row, 1, rows, program[at + 1], count, p,
            )  # fmt: skip
            at += 3


@kernel
def backward_transposed_eight(program, arena, base, count, x):
    """x_k = D_k^-T (x_k - sum_i L_ik^T x_i)."""
    rows = program[ROWS]
    for s in range(program[SUPERNODES] - 1, -1, -1):
        at = program[program[STARTS_AT] + s]
        p, m, row = program[at], program[at] + program[at + 1], LANES * program[at + 2]
        lower, pivots, runs = base + LANES * program[at + 3], program[at + 5], program[at + 6]
        at += PANEL_FIELDS
        for run in range(at + pivots, at + pivots + 3 * runs, 3):
            subtract_lanes_transposed(
                x, row, rows, arena, lower + LANES * (p + program[run]), m,
                x, LANES * program[run + 2], 1, rows, p, count, program[run + 1],
            )  # fmt: skip
        i = p
        for b in range(pivots - 1, -1, -1):
            w = program[at + b]
            i -= w
            d, here = lower + LANES * (i * m + i), row + LANES * i
            if i + w < p:
                subtract_lanes_transposed(
                    x, here, rows, arena, d + LANES * w, m, x, here + LANES * w, 1, rows,
                    w, count, p - i - w,
                )  # fmt: skip
            assign_lanes_transposed(x, here, rows, arena, d, m, x, here, 1, rows, w, count, w)


@kernel
def gather_eight(program, b, first, stride, count, x):
    """X <- b of eight systems in elimination order; b has ``count`` numbers a row, `x` columns."""
    rows, order = program[ROWS], program[ORDER_AT]
    for j in range(count):
        gather_lanes(x, LANES * j * rows, b, first + j, stride, program, order, count, rows)


@kernel
def scatter_eight(program, x, first, stride, count, out):
    """Out <- x, as `gather_eight`."""
    rows, order = program[ROWS], program[ORDER_AT]
    for j in range(count):
        scatter_lanes(x, LANES * j * rows, out, first + j, stride, program, order, count, rows)
