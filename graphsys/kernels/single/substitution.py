"""Forward and back substitution, theory/elimination (3), for A and for its transpose.

Right-hand sides are the columns of a column-major array; ``x`` stores them in elimination
order.
"""

import numpy as np

from graphsys.kernels.base.complex_numbers import conjugate, is_real
from graphsys.kernels.base.jit import inlined, kernel, lazy
from graphsys.kernels.base.layout import (
    HERMITIAN,
    NODAL_AT,
    ORDER_AT,
    PANEL_FIELDS,
    PROGRAM_VERSION,
    ROWS,
    STALE,
    STARTS_AT,
    SUPERNODES,
    SYMMETRIC,
    UPPER,
    VERSION,
    WIDEST,
    only_nodes,
    only_scalars,
)
from graphsys.kernels.base.pointers import pointer
from graphsys.kernels.base.widths import LANES, SMALL
from graphsys.kernels.blocks.blocks import (
    add_product,
    assign_product,
    copy_block,
    subtract_product,
    subtract_transposed,
)
from graphsys.kernels.blocks.nodes import (
    backward_nodes,
    backward_transposed_nodes,
    forward_nodes,
    forward_transposed_nodes,
)
from graphsys.kernels.blocks.prefetch import AHEAD, fetch_lower, fetch_upper, is_far
from graphsys.kernels.blocks.supernodes import (
    backward_one_triangle,
    backward_supernode,
    backward_transposed_supernode,
    forward_supernode,
    forward_transposed_supernode,
)
from graphsys.kernels.blocks.weak import NO_COPY, add_weak
from graphsys.kernels.single.permutation import gather, scatter
from graphsys.kernels.single.scalar_ldu import (
    solve_scalar_columns,
    solve_scalars,
    solve_scalars_transposed,
)

#: Most rows in all columns of a node for which the program of `nodal_ldu` solves column by column;
#: two columns it always does. 0.5 to 0.8 of the time of all columns at once (chains of nodes of 1,
#: 2 and 3 rows); three columns of 3 or 6 rows would take 1.1 to 1.2 of it.
ONE_BY_ONE = 6


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
    then the widest pivot block's rows. ``out`` is workspace first.
    """
    if program[PROGRAM_VERSION] != VERSION:
        return STALE
    rows, failed = program[ROWS], 0
    if only_scalars(program):
        if not is_real(arena):
            return STALE
        if count >= LANES:
            return solve_scalar_columns(program, arena, b, count, x, out)
        for j in range(count):
            own = slice(j * rows, (j + 1) * rows)
            failed |= solve_scalars(program, arena, b[own], x, out[own])
        return failed
    few = count <= 2 or count * program[WIDEST] <= ONE_BY_ONE
    if only_nodes(program) and few and is_real(arena):
        for j in range(count):
            own = slice(j * rows, (j + 1) * rows)
            failed |= solve_nodal(program, arena, b[own], x, out[own])
        return failed
    return solve_supernodes(program, arena, b, count, x, out)


@lazy("int")
def solve_supernodes(
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
    """`solve` without the program of `nodal_ldu`."""
    rows = program[ROWS]
    order = program[program[ORDER_AT] : program[ORDER_AT] + rows]
    gather(b, order, count, x)
    forward(program, arena, count, x)
    backward(program, arena, count, x, out)
    return scatter(x, order, count, out)


@lazy("int")
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
    if program[PROGRAM_VERSION] != VERSION:
        return STALE
    rows = program[ROWS]
    if program[SYMMETRIC] != 0:
        if program[SYMMETRIC] != HERMITIAN:  # A^T = A
            return solve(program, arena, b, count, x, out)
        for i in range(rows * count):  # A^T x = b where A takes the conjugate of x to that of b
            out[i] = b[i]
        conjugate(out, 0, rows * count)
        failed = solve(program, arena, out, count, x, out)
        conjugate(out, 0, rows * count)
        return failed
    if only_scalars(program):
        if not is_real(arena):
            return STALE
        failed = 0
        for j in range(count):
            own = slice(j * rows, (j + 1) * rows)
            failed |= solve_scalars_transposed(program, arena, b[own], x, out[own])
        return failed
    order = program[program[ORDER_AT] : program[ORDER_AT] + rows]
    gather(b, order, count, x)
    # All columns of complex numbers: 0.6 to 0.95 of the time; of real ones it would be 0.6 to 2.
    together = 1 if is_real(arena) else max(count, 1)
    for j in range(0, count, together):
        z, work = x[j * rows :], rows * (count - j)
        forward_transposed(program, arena, together, z)
        backward_transposed(program, arena, together, z, work)
    return scatter(x, order, count, out)


@inlined
def forward(program, arena, count, x):
    """z_k = D_k^-1 x_k, x_i <- x_i - L_ik z_k."""
    rows = program[ROWS]
    starts = pointer(program, program[STARTS_AT])
    alone = count == 1 and is_real(arena)  # one vector of real numbers
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
        forward_supernode(
            program, starts[s], arena, 0, x, rows, count, rows * count, 1, 1,
            subtract_product, _apply_inverse,
        )  # fmt: skip
        s += 1


@inlined
def _apply_inverse(x, at, rows, arena, d, m, count, w, work):
    """x_k <- D_k^-1 x_k; a large block works on a copy at ``x[work:]``."""
    if w <= SMALL:
        assign_product(x, at, rows, arena, d, m, x, at, 1, rows, w, count, w)
        return
    for j in range(count):
        place = j * rows + at
        for i in range(w):
            x[work + i] = x[place + i]
        assign_product(x, place, rows, arena, d, m, x, work, 1, w, w, 1, w)


@inlined
def backward(program, arena, count, x, work):
    """x_k = z_k - sum_j W_kj x_j; ``work`` has room for all rows."""
    rows = program[ROWS]
    starts = pointer(program, program[STARTS_AT])
    alone = count == 1 and is_real(arena)  # one vector of real numbers
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
        if program[starts[s] + UPPER] >= 0:
            backward_supernode(program, starts[s], arena, 0, x, rows, count, 1, 1, subtract_product)
            continue
        _backward_one_triangle(program, starts[s], arena, count, x, work)


@inlined
def _subtract_transposed(c, c_at, ldc, a, a_at, lda, b, b_at, row_step, column_step, m, n, k):
    """C <- C - A^T B, with the arguments of `supernodes`; B is column-major."""
    subtract_transposed(c, c_at, ldc, a, a_at, lda, b, b_at, column_step, m, n, k)


@lazy("None")
def _backward_one_triangle(program, at, arena, count, x, work):
    """`backward_one_triangle` of a supernode whose panel begins at ``at``."""
    backward_one_triangle(
        program, at, arena, 0, x, program[ROWS], count, work, 1, 1,
        copy_block, subtract_product, _subtract_transposed, _add_inverse,
    )  # fmt: skip


@inlined
def _add_inverse(x, at, rows, work, s, lds, arena, d, m, copy, w, count):
    """X <- X + D^-1 S."""
    if w <= SMALL and arena[copy] != NO_COPY:
        for j in range(count):
            add_weak(x, at + j * rows, work, s + j * lds, 0, arena, d, m, copy, w)
    else:
        add_product(x, at, rows, arena, d, m, work, s, 1, lds, w, count, w)


@inlined
def forward_transposed(program, arena, count, x):
    """x_j <- x_j - W_kj^T x_k."""
    rows, nodes = program[ROWS], program[SUPERNODES]
    starts = pointer(program, program[STARTS_AT])
    alone, far = count == 1 and is_real(arena), is_far(arena.size, arena)
    s = 0
    while s < nodes:
        if far:
            fetch_upper(program, s + AHEAD, arena)
        if alone:
            end = s + 1 if far else nodes
            done = forward_transposed_nodes(x, arena, program, program[STARTS_AT], s, end)
            if done > s:
                s = done
                continue
        forward_transposed_supernode(
            program, starts[s], arena, 0, x, rows, count, 1, 1, _subtract_transposed
        )
        s += 1


@inlined
def backward_transposed(program, arena, count, x, work):
    """x_k = D_k^-T (x_k - sum_i L_ik^T x_i); a block's rows fit at ``x[work:]``."""
    rows = program[ROWS]
    starts = pointer(program, program[STARTS_AT])
    alone, far = count == 1 and is_real(arena), is_far(arena.size, arena)
    s = program[SUPERNODES]
    while s > 0:
        if far:
            fetch_lower(program, s - 1 - AHEAD, arena)
        if alone:
            begin = s - 1 if far else 0
            left = backward_transposed_nodes(x, arena, program, program[STARTS_AT], begin, s)
            if left < s:
                s = left
                continue
        s -= 1
        backward_transposed_supernode(
            program, starts[s], arena, 0, x, rows, count, work, 1, 1, _subtract_transposed,
            _apply_inverse_transposed,
        )  # fmt: skip


@inlined
def _apply_inverse_transposed(x, at, rows, arena, d, m, count, w, work):
    """x_k <- D_k^-T x_k by a copy at ``x[work:]``."""
    for place in range(at, at + count * rows, rows):
        for i in range(w):
            x[work + i] = -x[place + i]
            x[place + i] = 0.0
        subtract_transposed(x, place, w, arena, d, m, x, work, w, w, 1, w)


@kernel
def count_pivot_blocks(program):
    """Number of pivot blocks."""
    count = 0
    if only_scalars(program):
        return program[SUPERNODES]
    for s in range(program[SUPERNODES]):
        count += program[program[program[STARTS_AT] + s] + 5]
    return count


@kernel
def find_pivot_blocks(program, places):
    """Places, leading dimensions and sizes of all pivot blocks, one row each."""
    found = 0
    if only_scalars(program):
        starts = program[NODAL_AT]
        for k in range(program[ROWS]):
            places[0, k] = k + program[starts + k]
            places[1, k] = 1 + program[starts + k + 1] - program[starts + k]
            places[2, k] = 1
        return
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
