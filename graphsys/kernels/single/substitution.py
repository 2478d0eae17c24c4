"""Forward and back substitution, theory/elimination (3), for A and for its transpose.

Right-hand sides are the columns of a column-major array; ``x`` stores them in elimination
order.
"""

import numpy as np

from graphsys.kernels.base.jit import inlined, kernel
from graphsys.kernels.base.layout import ORDER_AT, PANEL_FIELDS, ROWS, STARTS_AT, SUPERNODES
from graphsys.kernels.base.pointers import pointer
from graphsys.kernels.base.widths import SMALL
from graphsys.kernels.blocks.blocks import (
    assign_product,
    largest_of,
    subtract_product,
    subtract_transposed,
)
from graphsys.kernels.blocks.nodes import backward_nodes, forward_nodes
from graphsys.kernels.blocks.prefetch import AHEAD, fetch_lower, fetch_upper, is_far


@kernel
def solve(
    # Tables:
    program,
    # In:
    arena,
    b,
    count,
    # Work:
    x,
    # Out:
    out,
):
    """A out = b for ``count`` right-hand sides; 0, or 1 where the solution is not finite.

    b and out are rows x count, column-major and flat; ``x`` stores them in elimination order, and
    then the widest pivot block's rows.
    """
    rows = program[ROWS]
    order = program[program[ORDER_AT] : program[ORDER_AT] + rows]
    gather(b, order, count, x)
    forward(program, arena, count, x)
    backward(program, arena, count, x)
    return scatter(x, order, count, out)


@kernel
def solve_nodal(
    # Tables:
    program,
    # In:
    arena,
    b,
    # Work:
    x,
    # Out:
    out,
):
    """`solve` for one vector of real numbers by the program of `nodal_ldu`."""
    rows, count = program[ROWS], program[SUPERNODES]
    order = program[program[ORDER_AT] : program[ORDER_AT] + rows]
    gather(b, order, 1, x)
    stretch = 1 if is_far(arena.size, arena) else max(count, 1)
    for s in range(0, count, stretch):
        if stretch == 1:
            fetch_lower(program, s + AHEAD, arena)
        forward_nodes(x, arena, program, program[STARTS_AT], s, s + stretch)
    backward_nodal(program, arena, x)
    return scatter(x, order, 1, out)


@inlined
def backward_nodal(program, arena, x):
    """`backward` for one vector of real numbers where every supernode is one small node."""
    count = program[SUPERNODES]
    stretch = 1 if is_far(arena.size, arena) else max(count, 1)
    for s in range(count, 0, -stretch):
        if stretch == 1:
            fetch_upper(program, s - 1 - AHEAD, arena)
        backward_nodes(x, arena, program, program[STARTS_AT], s - stretch, s)


@kernel
def solve_transposed(
    # Tables:
    program,
    # In:
    arena,
    b,
    count,
    # Work:
    x,
    # Out:
    out,
):
    """A^T out = b, without conjugation; as `solve`."""
    rows = program[ROWS]
    order = program[program[ORDER_AT] : program[ORDER_AT] + rows]
    gather(b, order, count, x)
    for j in range(count):
        _forward_transposed(program, arena, j * rows, x)
        _backward_transposed(program, arena, j * rows, x, rows * count)
    return scatter(x, order, count, out)


@inlined
def gather(b, order, count, x):
    """X <- b in elimination order."""
    rows, place = order.size, pointer(order, 0)
    for j in range(count):
        to, given = pointer(x, j * rows), pointer(b, j * rows)
        for i in range(rows):
            to[i] = given[place[i]]


@inlined
def scatter(x, order, count, out):
    """Out <- x in the user's order, as `gather`; 1 where an entry is not finite, else 0."""
    rows, place = order.size, pointer(order, 0)
    lost = False
    for j in range(count):
        given, to = pointer(x, j * rows), pointer(out, j * rows)
        for i in range(rows):
            to[place[i]] = given[i]
        if x.itemsize <= 8:
            lost |= not largest_of(x, j * rows, rows, rows, 1) < np.inf
        else:  # a finite complex number may be larger than any real one
            for i in range(rows):
                lost |= given[i] - given[i] != 0
    return 1 if lost else 0


@inlined
def forward(program, arena, count, x):
    """z_k = D_k^-1 x_k, x_i <- x_i - L_ik z_k."""
    rows = program[ROWS]
    table, starts = pointer(program, 0), pointer(program, program[STARTS_AT])
    alone = count == 1 and arena.itemsize <= 8  # one vector of real numbers
    far, nodes = is_far(arena.size, arena), program[SUPERNODES]
    s = 0
    while s < nodes:
        if far:
            fetch_lower(program, s + AHEAD, arena)
        if alone:
            done = forward_nodes(x, arena, program, program[STARTS_AT], s, s + 1 if far else nodes)
            if done > s:
                s = done
                continue
        at = starts[s]
        s += 1
        p, q, first, lower = table[at], table[at + 1], table[at + 2], table[at + 3]
        pivots, runs = table[at + 5], table[at + 6]
        m = p + q
        at += PANEL_FIELDS
        i = 0
        for b in range(pivots):
            w = table[at + b]
            d = lower + i * m + i
            _apply_inverse(arena, d, m, w, x, first + i, rows, count)
            if i + w < p:
                subtract_product(
                    x, first + i + w, rows, arena, d + w, m, x, first + i, 1, rows,
                    p - i - w, count, w,
                )  # fmt: skip
            i += w
        at += pivots
        for _ in range(runs):
            subtract_product(
                x, table[at + 2], rows, arena, lower + p + table[at], m, x, first, 1, rows,
                table[at + 1], count, p,
            )  # fmt: skip
            at += 3


@inlined
def _apply_inverse(arena, d, m, w, x, row, rows, count):
    """x_k <- D_k^-1 x_k; a large block works on a copy."""
    if w <= SMALL:
        assign_product(x, row, rows, arena, d, m, x, row, 1, rows, w, count, w)
        return
    copy = rows * count
    for j in range(count):
        place = j * rows + row
        for i in range(w):
            x[copy + i] = x[place + i]
        assign_product(x, place, rows, arena, d, m, x, copy, 1, w, w, 1, w)


@inlined
def backward(program, arena, count, x):
    """x_k = z_k - sum_j W_kj x_j."""
    rows = program[ROWS]
    table, starts = pointer(program, 0), pointer(program, program[STARTS_AT])
    alone = count == 1 and arena.itemsize <= 8  # one vector of real numbers
    far, s = is_far(arena.size, arena), program[SUPERNODES]
    while s > 0:
        if far:
            fetch_upper(program, s - 1 - AHEAD, arena)
        if alone:
            left = backward_nodes(x, arena, program, program[STARTS_AT], s - 1 if far else 0, s)
            if left < s:
                s = left
                continue
        s -= 1
        at = starts[s]
        p, q, first, lower = table[at], table[at + 1], table[at + 2], table[at + 3]
        upper, pivots, runs = table[at + 4], table[at + 5], table[at + 6]
        m = p + q
        at += PANEL_FIELDS
        run_at = at + pivots
        for _ in range(runs):
            subtract_product(
                x, first, rows, arena, upper + table[run_at] * p, p,
                x, table[run_at + 2], 1, rows, p, count, table[run_at + 1],
            )  # fmt: skip
            run_at += 3
        i = p
        for b in range(pivots - 1, -1, -1):
            w = table[at + b]
            if i < p:
                subtract_product(
                    x, first + i - w, rows, arena, lower + i * m + i - w, m,
                    x, first + i, 1, rows, w, count, p - i,
                )  # fmt: skip
            i -= w


@kernel
def _forward_transposed(program, arena, x_at, x):
    """x_j <- x_j - W_kj^T x_k, every node before its ancestors."""
    for s in range(program[SUPERNODES]):
        at = program[program[STARTS_AT] + s]
        p, q, first, lower = program[at], program[at + 1], program[at + 2], program[at + 3]
        upper, pivots, runs = program[at + 4], program[at + 5], program[at + 6]
        m = p + q
        row = x_at + first
        at += PANEL_FIELDS
        i = 0
        for b in range(pivots):
            w = program[at + b]
            if i + w < p:
                right = lower + (i + w) * m + i
                subtract_transposed(x, row + i + w, arena, right, m, x, row + i, w, p - i - w)
            i += w
        at += pivots
        for _ in range(runs):
            later = x_at + program[at + 2]
            subtract_transposed(
                x, later, arena, upper + program[at] * p, p, x, row, p, program[at + 1]
            )
            at += 3


@kernel
def _backward_transposed(program, arena, x_at, x, copy):
    """x_k = D_k^-T (x_k - sum_i L_ik^T x_i)."""
    for s in range(program[SUPERNODES] - 1, -1, -1):
        at = program[program[STARTS_AT] + s]
        p, q, first, lower = program[at], program[at + 1], program[at + 2], program[at + 3]
        pivots, runs = program[at + 5], program[at + 6]
        m = p + q
        row = x_at + first
        at += PANEL_FIELDS
        run_at = at + pivots
        for _ in range(runs):
            later = x_at + program[run_at + 2]
            subtract_transposed(
                x, row, arena, lower + p + program[run_at], m, x, later, program[run_at + 1], p
            )
            run_at += 3
        i = p
        for b in range(pivots - 1, -1, -1):
            w = program[at + b]
            i -= w
            d = lower + i * m + i
            if i + w < p:
                subtract_transposed(x, row + i, arena, d + w, m, x, row + i + w, p - i - w, w)
            for r in range(w):
                x[copy + r] = -x[row + i + r]
                x[row + i + r] = 0.0
            subtract_transposed(x, row + i, arena, d, m, x, copy, w, w)


@kernel
def count_pivot_blocks(program):
    """Number of pivot blocks."""
    count = 0
    for s in range(program[SUPERNODES]):
        count += program[program[program[STARTS_AT] + s] + 5]
    return count


@kernel
def find_pivot_blocks(program, places):
    """Places, leading dimensions and sizes of all pivot blocks, one row each."""
    found = 0
    for s in range(program[SUPERNODES]):
        at = program[program[STARTS_AT] + s]
        m = program[at] + program[at + 1]
        i = 0
        for b in range(program[at + 5]):
            w = program[at + PANEL_FIELDS + b]
            places[0, found] = program[at + 3] + i * m + i
            places[1, found] = m
            places[2, found] = w
            found += 1
            i += w


def pivot_blocks(program: np.ndarray) -> np.ndarray:
    """Places, leading dimensions and sizes of all pivot blocks, shape (3, blocks)."""
    places = np.empty((3, count_pivot_blocks(program)), np.int64)
    find_pivot_blocks(program, places)
    return places
