"""Substitution for eight right-hand sides of one system side by side: a row is a vector of eight.

Rows known to be zero, and unknowns that are not asked for, are skipped. Rows are in elimination
order, so that nothing is gathered: `row_places` gives the places of the user's rows.
"""

import numpy as np

from graphsys.kernels.base.jit import (
    DISABLE_JIT,
    LazyModule,
    inlined,
    intrinsic,
    kernel,
    types,
)
from graphsys.kernels.base.layout import (
    ORDER_AT,
    ROWS,
    STARTS_AT,
    SUPERNODES,
    UPPER,
    only_scalars,
)
from graphsys.kernels.base.widths import LANES, SMALL, TILE_ROWS
from graphsys.kernels.blocks.blocks import _Lower, copy_block, real_name
from graphsys.kernels.blocks.supernodes import (
    backward_one_triangle,
    backward_supernode,
    forward_supernode,
)
from graphsys.kernels.blocks.weak import NO_COPY
from graphsys.kernels.single.scalar_ldu import solve_scalars_side_by_side

lanes_rows = LazyModule("graphsys.kernels.llvm.lanes_rows")


def _product(mode, transposed, text):
    def typed(typing, c, c_at, a, a_at, lda, b, b_at, m, k):
        signature = types.none(c, c_at, a, a_at, lda, b, b_at, m, k)
        real = real_name(c.dtype)

        def generate(context, builder, signature, arguments):
            low = _Lower(context, builder, signature, arguments)
            function = lanes_rows.rows_function(builder.module, real, mode, transposed)
            places = [low.pointer(0, 1), low.pointer(2, 3), low.integer(4), low.pointer(5, 6)]
            builder.call(function, [*places, low.integer(7), low.integer(8)])
            return low.none()

        return signature, generate

    typed.__name__ = f"{mode}_rows"
    typed.__doc__ = text
    return intrinsic(typed)


def _twin(mode, transposed=False):
    def twin(c, c_at, a, a_at, lda, b, b_at, m, k):
        steps = (a.itemsize * lda, a.itemsize) if transposed else (a.itemsize, a.itemsize * lda)
        left = np.lib.stride_tricks.as_strided(a[a_at:], (m, k), steps)
        product = left @ b[b_at : b_at + LANES * k].reshape(k, LANES)
        out = c[c_at : c_at + LANES * m].reshape(m, LANES)
        out[...] = out - product if mode == "subtract" else product

    return twin


if DISABLE_JIT:
    subtract_rows, assign_rows = _twin("subtract"), _twin("assign")
    subtract_rows_transposed = _twin("subtract", True)
else:
    subtract_rows = _product("subtract", False, "C <- C - A B, rows of B and C vectors of eight.")
    subtract_rows_transposed = _product("subtract", True, "C <- C - A^T B.")
    assign_rows = _product("assign", False, "C <- A B; C may be B when m <= 8.")


@inlined
def _subtract(c, c_at, ldc, a, a_at, lda, b, b_at, row_step, column_step, m, n, k):
    """C <- C - A B, with the arguments of `supernodes`."""
    subtract_rows(c, c_at, a, a_at, lda, b, b_at, m, k)


@inlined
def _apply_inverse(x, at, rows, arena, d, m, count, w, work):
    """x_k <- D_k^-1 x_k; a large block works on a copy."""
    if w <= TILE_ROWS:
        assign_rows(x, at, arena, d, m, x, at, w, w)
        return
    for i in range(LANES * w):
        work[i] = x[at + i]
    assign_rows(x, at, arena, d, m, work, 0, w, w)


@inlined
def _subtract_transposed(c, c_at, ldc, a, a_at, lda, b, b_at, row_step, column_step, m, n, k):
    """C <- C - A^T B, with the arguments of `supernodes`."""
    subtract_rows_transposed(c, c_at, a, a_at, lda, b, b_at, m, k)


@inlined
def _add_inverse(x, at, rows, work, s, lds, arena, d, m, copy, w, count):
    """X <- x + D^-1 s."""
    if w <= SMALL and arena[copy] != NO_COPY:  # as `weak.add_weak`
        assign_rows(work, 0, arena, d, m, work, s, w, w)
        subtract_rows(work, s, arena, copy, w, work, 0, w, w)
        for i in range(LANES * w):
            x[at + i] += work[i]
    for i in range(LANES * w):
        work[s + i] = -work[s + i]
    subtract_rows(x, at, arena, d, m, work, s, w, w)


@kernel
def row_places(program, place, supernode):
    """Place of each of the user's rows in elimination order, and its supernode."""
    order = program[ORDER_AT]
    if only_scalars(program):
        for k in range(program[ROWS]):
            place[program[order + k]] = supernode[program[order + k]] = k
        return
    for s in range(program[SUPERNODES]):
        at = program[program[STARTS_AT] + s]
        for i in range(program[at + 2], program[at + 2] + program[at]):
            row = program[order + i]
            place[row], supernode[row] = i, s


@kernel
def clear_side_by_side(program, first, x):
    """X <- 0 from supernode ``first`` on."""
    row = first if only_scalars(program) else program[program[program[STARTS_AT] + first] + 2]
    for i in range(LANES * row, LANES * program[ROWS]):
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
    if only_scalars(program):
        solve_scalars_side_by_side(program, first, last, arena, x)
        return
    for s in range(first, program[SUPERNODES]):  # z_k = D_k^-1 x_k, x_i <- x_i - L_ik z_k
        at = program[program[STARTS_AT] + s]
        forward_supernode(
            program, at, arena, 0, x, 1, LANES, copy, 1, LANES, _subtract, _apply_inverse
        )
    for s in range(program[SUPERNODES] - 1, last - 1, -1):  # x_k = z_k - sum_j W_kj x_j
        at = program[program[STARTS_AT] + s]
        if program[at + UPPER] >= 0:
            backward_supernode(program, at, arena, 0, x, 1, LANES, 1, LANES, _subtract)
        else:
            backward_one_triangle(
                program, at, arena, 0, x, 1, 1, copy, 1, LANES,
                copy_block, _subtract, _subtract_transposed, _add_inverse,
            )  # fmt: skip
