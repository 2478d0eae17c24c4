"""Substitution for eight right-hand sides of one system side by side: a row is a vector of eight.

Rows known to be zero, and unknowns that are not asked for, are skipped. Rows are in elimination
order, so that nothing is gathered: `row_places` gives the places of the user's rows.
"""

import numpy as np

from graphsys.kernels.base.jit import DISABLE_JIT, LazyModule, intrinsic, kernel, types
from graphsys.kernels.base.layout import ORDER_AT, PANEL_FIELDS, ROWS, STARTS_AT, SUPERNODES
from graphsys.kernels.base.widths import LANES, TILE_ROWS
from graphsys.kernels.blocks.blocks import _Lower, real_name

lanes_rows = LazyModule("graphsys.kernels.llvm.lanes_rows")


def _product(mode, text):
    def typed(typing, c, c_at, a, a_at, lda, b, b_at, m, k):
        signature = types.none(c, c_at, a, a_at, lda, b, b_at, m, k)
        real = real_name(c.dtype)

        def generate(context, builder, signature, arguments):
            low = _Lower(context, builder, signature, arguments)
            function = lanes_rows.rows_function(builder.module, real, mode)
            places = [low.pointer(0, 1), low.pointer(2, 3), low.integer(4), low.pointer(5, 6)]
            builder.call(function, [*places, low.integer(7), low.integer(8)])
            return low.none()

        return signature, generate

    typed.__name__ = f"{mode}_rows"
    typed.__doc__ = text
    return intrinsic(typed)


def _twin(mode):
    def twin(c, c_at, a, a_at, lda, b, b_at, m, k):
        left = np.lib.stride_tricks.as_strided(a[a_at:], (m, k), (a.itemsize, a.itemsize * lda))
        product = left @ b[b_at : b_at + LANES * k].reshape(k, LANES)
        out = c[c_at : c_at + LANES * m].reshape(m, LANES)
        out[...] = out - product if mode == "subtract" else product

    return twin


if DISABLE_JIT:
    subtract_rows, assign_rows = _twin("subtract"), _twin("assign")
else:
    subtract_rows = _product("subtract", "C <- C - A B, rows of B and C vectors of eight.")
    assign_rows = _product("assign", "C <- A B; C may be B when m <= 8.")


@kernel
def row_places(program, place, supernode):
    """Place of each of the user's rows in elimination order, and its supernode."""
    order = program[ORDER_AT]
    for s in range(program[SUPERNODES]):
        at = program[program[STARTS_AT] + s]
        for i in range(program[at + 2], program[at + 2] + program[at]):
            row = program[order + i]
            place[row], supernode[row] = i, s


@kernel
def clear_side_by_side(program, first, x):
    """X <- 0 from supernode ``first`` on."""
    for i in range(LANES * program[program[program[STARTS_AT] + first] + 2], LANES * program[ROWS]):
        x[i] = 0.0


@kernel
def solve_side_by_side(
    # Tables:
    program,
    # In:
    first,
    last,
    arena,
    # Work:
    copy,
    # In and out:
    x,
):
    """X <- A^-1 x, eight columns that are zero before supernode ``first``, down to ``last``."""
    for s in range(first, program[SUPERNODES]):  # z_k = D_k^-1 x_k, x_i <- x_i - L_ik z_k
        at = program[program[STARTS_AT] + s]
        p, m, row = program[at], program[at] + program[at + 1], LANES * program[at + 2]
        lower, pivots, runs = program[at + 3], program[at + 5], program[at + 6]
        at += PANEL_FIELDS
        i = 0
        for b in range(pivots):
            w = program[at + b]
            d, here = lower + i * m + i, row + LANES * i
            if w <= TILE_ROWS:
                assign_rows(x, here, arena, d, m, x, here, w, w)
            else:
                for j in range(LANES * w):
                    copy[j] = x[here + j]
                assign_rows(x, here, arena, d, m, copy, 0, w, w)
            i += w
            if i < p:
                subtract_rows(x, row + LANES * i, arena, d + w, m, x, here, p - i, w)
        for run in range(at + pivots, at + pivots + 3 * runs, 3):
            subtract_rows(
                x, LANES * program[run + 2], arena, lower + p + program[run], m, x, row,
                program[run + 1], p,
            )  # fmt: skip
    for s in range(program[SUPERNODES] - 1, last - 1, -1):  # x_k = z_k - sum_j W_kj x_j
        at = program[program[STARTS_AT] + s]
        p, m, row = program[at], program[at] + program[at + 1], LANES * program[at + 2]
        lower, upper, pivots = program[at + 3], program[at + 4], program[at + 5]
        runs = program[at + 6]
        at += PANEL_FIELDS
        for run in range(at + pivots, at + pivots + 3 * runs, 3):
            subtract_rows(
                x, row, arena, upper + program[run] * p, p, x, LANES * program[run + 2], p,
                program[run + 1],
            )  # fmt: skip
        i = p
        for b in range(pivots - 1, -1, -1):
            w = program[at + b]
            if i < p:
                here = row + LANES * (i - w)
                subtract_rows(
                    x, here, arena, lower + i * m + i - w, m, x, row + LANES * i, w, p - i
                )  # fmt: skip
            i -= w
