"""Substitution for eight right-hand sides of one system side by side: a row is a vector of eight.

What is known to be zero, or is not asked for, is left out. Rows come in elimination order, so that
nothing is gathered: `row_places` tells where the user's rows are.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .blocks import _REAL_NAME, _Lower
from .emit import I64, LANES, REAL, Emitter, cases, integer, private_function
from .jit import DISABLE_JIT, kernel
from .lanes import TILE_ROWS, at_most
from .program import ORDER_AT, PANEL_FIELDS, ROWS, STARTS_AT, SUPERNODES


def rows_function(module, real, mode):
    """``C <- C - A B`` ("subtract") or ``A B`` ("assign"), rows of B and C vectors of eight.

    Arguments ``(c, a, lda, b, m, k)``: A is m x k, column-major. In mode "assign" C may be B when
    m <= 8.
    """
    pointer = REAL[real].as_pointer()
    function, builder = private_function(
        module,
        f"graphsys_rows_{mode}_{real}",
        ir.VoidType(),
        [pointer, pointer, I64, pointer, I64, I64],
        ["c", "a", "lda", "b", "m", "k"],
    )
    if builder is None:
        return function
    emit = Emitter(builder, real)
    c, a, lda, b, m, k = function.args
    with emit.loop("rows", integer(0), m, integer(TILE_ROWS), []) as (i, _):
        mr = at_most(builder, builder.sub(m, i), TILE_ROWS)
        tile = (emit.at(c, builder.shl(i, integer(3))), emit.at(a, i), lda, b)
        for rows in cases(builder, mr, range(1, TILE_ROWS + 1)):
            _tile(emit, tile, k, rows, mode)
    builder.ret_void()
    return function


def _tile(emit, places, k, rows, mode):
    """One tile in registers, over all k."""
    builder = emit.b
    c, a, lda, b = places
    c_rows = [emit.at(c, integer(LANES * r)) for r in range(rows)]
    subtract = mode == "subtract"
    sums = [emit.load(row) if subtract else emit.fill(0.0) for row in c_rows]
    loop = emit.loop("k", integer(0), k, integer(1), [*sums, integer(0), integer(0)])
    with loop as (_, values):
        *new, a_at, b_at = values
        right = emit.load(emit.at(b, b_at))
        if subtract:
            right = builder.fneg(right)
        for r in range(rows):
            entry = emit.load_scalar(emit.at(a, a_at, integer(r)))
            new[r] = emit.fma(emit.splat(entry), right, new[r])
        loop.carry([*new, builder.add(a_at, lda), builder.add(b_at, integer(LANES))])
    for total, row in zip(loop.results, c_rows, strict=False):
        emit.store(total, row)


def _product(mode, text):
    def typed(typing, c, c_at, a, a_at, lda, b, b_at, m, k):
        signature = types.none(c, c_at, a, a_at, lda, b, b_at, m, k)
        real = _REAL_NAME[c.dtype]

        def generate(context, builder, signature, arguments):
            low = _Lower(context, builder, signature, arguments)
            function = rows_function(builder.module, real, mode)
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
    """Where each of the user's rows is in elimination order, and the supernode it belongs to."""
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
