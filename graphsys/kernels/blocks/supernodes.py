"""Elimination of one supernode, updates of its ancestors and substitution, over block primitives.

One text serves one system, eight systems in lanes, and eight right-hand sides side by side. They
differ in ``wide`` and ``wide_x``, numbers per entry of the factors and of the vectors, and in the
primitives:

``subtract(c, c_at, ldc, a, a_at, lda, b, b_at, row_step, column_step, m, n, k)``: C <- C - A B
``subtract_transposed(...)``: C <- C - A^T B, of the same arguments
``apply_inverse(x, at, rows, arena, d, m, count, w, work)``: x <- D^-1 x for a block D of w rows
``raise_magnitude(s, s_at, a, a_at, lda, m, n)``: s_i <- max(s_i, max_j |A_ij|)
``invert(arena, d, m, magnitude, row, w, context)``: D <- D^-1 of w rows; `FAILED`, `FINE` or
`IS_WEAK`
``scale(arena, to, ld, d, m, w, u, row_step, column_step, columns, weak, hermitian, work_at)``:
B <- D^-1 U, U being B or apart from it; its conjugate takes the place of U if ``hermitian``
``keep(arena, to, w, weak, work_at)``: a copy of a block D of at most `SMALL` rows where it is weak
``recall(arena, copy, w, work_at)``: True if D was weak, which is then in the workspace
``write_columns(program, panel, arena, base, to, first, columns, work_at)``: `scale_columns`
``copy(to, to_at, ld, a, a_at, lda, m, n)``: a block to another place
``add_inverse(x, at, rows, work, s, lds, arena, d, m, copy, w, count)``: X <- X + D^-1 S, S and the
first numbers of ``work`` are lost

Offsets count numbers, leading dimensions and steps count entries. ``base`` is the place of the
system in the arena, ``at`` that of the supernode's panel in the program.
"""

from graphsys.kernels.base.complex_numbers import conjugate, drop_imaginary
from graphsys.kernels.base.jit import inlined
from graphsys.kernels.base.layout import (
    HERMITIAN,
    PANEL_FIELDS,
    SCALED,
    SYMMETRIC,
    TARGET_FIELDS,
)
from graphsys.kernels.base.pointers import pointer
from graphsys.kernels.base.widths import SMALL

#: What `invert` returns: the block is singular, all is well, or it is weak (`blocks.weak`).
FAILED, FINE, IS_WEAK = range(3)


@inlined
def forward_supernode(
    program, at, arena, base, x, rows, count, work, wide, wide_x, subtract, apply_inverse
):
    """z_k = D_k^-1 x_k, x_i <- x_i - L_ik z_k."""
    table = pointer(program, at)
    p, m, row = table[0], table[0] + table[1], wide_x * table[2]
    lower, pivots, runs = base + wide * table[3], table[5], table[6]
    i = 0
    for b in range(PANEL_FIELDS, PANEL_FIELDS + pivots):
        w = table[b]
        d, here = lower + wide * (i * m + i), row + wide_x * i
        apply_inverse(x, here, rows, arena, d, m, count, w, work)
        i += w
        if i < p:
            subtract(
                x, row + wide_x * i, rows, arena, d + wide * w, m, x, here, 1, rows,
                p - i, count, w,
            )  # fmt: skip
    first = PANEL_FIELDS + pivots
    for run in range(first, first + 3 * runs, 3):
        subtract(
            x, wide_x * table[run + 2], rows, arena, lower + wide * (p + table[run]), m,
            x, row, 1, rows, table[run + 1], count, p,
        )  # fmt: skip


@inlined
def backward_supernode(program, at, arena, base, x, rows, count, wide, wide_x, subtract):
    """x_k = z_k - sum_j W_kj x_j."""
    table = pointer(program, at)
    p, m, row = table[0], table[0] + table[1], wide_x * table[2]
    lower, upper = base + wide * table[3], base + wide * table[4]
    pivots, runs = table[5], table[6]
    first = PANEL_FIELDS + pivots
    for run in range(first, first + 3 * runs, 3):
        subtract(
            x, row, rows, arena, upper + wide * table[run] * p, p,
            x, wide_x * table[run + 2], 1, rows, p, count, table[run + 1],
        )  # fmt: skip
    i = p
    for b in range(pivots - 1, -1, -1):
        w = table[PANEL_FIELDS + b]
        if i < p:
            subtract(
                x, row + wide_x * (i - w), rows, arena, lower + wide * (i * m + i - w), m,
                x, row + wide_x * i, 1, rows, w, count, p - i,
            )  # fmt: skip
        i -= w


@inlined
def backward_one_triangle(
    program, at, arena, base, x, rows, count, work, wide, wide_x,
    copy, subtract, subtract_transposed, add_inverse,
):  # fmt: skip
    """`backward_supernode` where it stores one triangle: x_k = z_k - D^-1 L^T x_j, or L^H.

    ``work`` has room for the p + q rows of the panel in each column.
    """
    table = pointer(program, at)
    p, q, row = table[0], table[1], wide_x * table[2]
    m, lower, kept = p + q, base + wide * table[3], base + wide * (-1 - table[4])
    pivots, runs, s = table[5], table[6], wide_x * q * count
    first = PANEL_FIELDS + pivots
    for run in range(first, first + 3 * runs, 3):
        copy(
            work, wide_x * table[run], wide_x * q, x, wide_x * table[run + 2], wide_x * rows,
            wide_x * table[run + 1], count,
        )  # fmt: skip
    for i in range(s, s + wide_x * p * count):
        work[i] = 0.0
    hermitian = program[SYMMETRIC] == HERMITIAN
    if hermitian:  # L^H x is the conjugate of L^T times that of x
        conjugate(work, 0, s)
    subtract_transposed(work, s, p, arena, lower + wide * p, m, work, 0, 1, q, p, count, q)
    if hermitian:
        conjugate(work, s, wide_x * p * count)
    for b in range(PANEL_FIELDS, first):
        if table[b] <= SMALL:
            kept += wide * table[b] * table[b]
    i = p
    for b in range(first - 1, PANEL_FIELDS - 1, -1):
        w = table[b]
        i -= w
        d, here = lower + wide * (i * m + i), row + wide_x * i
        if i + w < p:
            subtract(
                x, here, rows, arena, d + wide * w * m, m, x, here + wide_x * w, 1, rows,
                w, count, p - i - w,
            )  # fmt: skip
        if w <= SMALL:
            kept -= wide * w * w
        add_inverse(x, here, rows, work, s + wide_x * i, p, arena, d, m, kept, w, count)


@inlined
def forward_transposed_supernode(
    program, at, arena, base, x, rows, count, wide, wide_x, subtract_transposed
):
    """x_j <- x_j - W_kj^T x_k."""
    table = pointer(program, at)
    p, m, row = table[0], table[0] + table[1], wide_x * table[2]
    lower, upper = base + wide * table[3], base + wide * table[4]
    pivots, runs = table[5], table[6]
    i = 0
    for b in range(PANEL_FIELDS, PANEL_FIELDS + pivots):
        w = table[b]
        if i + w < p:
            subtract_transposed(
                x, row + wide_x * (i + w), rows, arena, lower + wide * ((i + w) * m + i), m,
                x, row + wide_x * i, 1, rows, p - i - w, count, w,
            )  # fmt: skip
        i += w
    first = PANEL_FIELDS + pivots
    for run in range(first, first + 3 * runs, 3):
        subtract_transposed(
            x, wide_x * table[run + 2], rows, arena, upper + wide * table[run] * p, p,
            x, row, 1, rows, table[run + 1], count, p,
        )  # fmt: skip


@inlined
def backward_transposed_supernode(
    program, at, arena, base, x, rows, count, work, wide, wide_x, subtract_transposed,
    apply_inverse_transposed,
):  # fmt: skip
    """x_k = D_k^-T (x_k - sum_i L_ik^T x_i)."""
    table = pointer(program, at)
    p, m, row = table[0], table[0] + table[1], wide_x * table[2]
    lower, pivots, runs = base + wide * table[3], table[5], table[6]
    first = PANEL_FIELDS + pivots
    for run in range(first, first + 3 * runs, 3):
        subtract_transposed(
            x, row, rows, arena, lower + wide * (p + table[run]), m,
            x, wide_x * table[run + 2], 1, rows, p, count, table[run + 1],
        )  # fmt: skip
    i = p
    for b in range(pivots - 1, -1, -1):
        w = table[PANEL_FIELDS + b]
        i -= w
        d, here = lower + wide * (i * m + i), row + wide_x * i
        if i + w < p:
            subtract_transposed(
                x, here, rows, arena, d + wide * w, m, x, here + wide_x * w, 1, rows,
                w, count, p - i - w,
            )  # fmt: skip
        apply_inverse_transposed(x, here, rows, arena, d, m, count, w, work)


@inlined
def eliminate_supernode(
    program, at, arena, base, magnitude, wide, work_at, context,
    invert, scale, keep, subtract, raise_magnitude,
):  # fmt: skip
    """D^-1, L and W in a loaded panel: 0, or 1 + the first row of a pivot block that fails.

    Rows and columns without pivots are computed left-looking, in one pass each.
    """
    table = pointer(program, at)
    p, q, first = table[0], table[1], table[2]
    lower, upper, pivots = base + wide * table[3], base + wide * table[4], table[5]
    m, i, symmetric = p + q, 0, program[SYMMETRIC] != 0
    hermitian = program[SYMMETRIC] == HERMITIAN
    one_triangle, copy = table[4] < 0, base + wide * (-1 - table[4])
    for b in range(PANEL_FIELDS, PANEL_FIELDS + pivots):
        w = table[b]
        d, above = lower + wide * (i * m + i), upper + wide * i
        right, below = p - i - w, lower + wide * (i * m + p)
        if q > 0 and i > 0:
            subtract(
                arena, below, m, arena, lower + wide * p, m, arena, lower + wide * i * m, 1, m,
                q, w, i,
            )  # fmt: skip
            if not symmetric:
                subtract(arena, above, p, arena, lower + wide * i, m, arena, upper, 1, p, w, q, i)
        if symmetric:
            mirror(arena, d, m, w, wide, hermitian)
        state = invert(arena, d, m, magnitude, first + i, w, context)
        if state == FAILED:
            return first + i + 1
        weak = state == IS_WEAK
        beside = d + wide * w * m
        if symmetric:
            # W = D^-1 L^T or D^-1 L^H: the rows to the right are never stored before
            scale(arena, beside, m, d, m, w, d + wide * w, m, 1, right, weak, hermitian, work_at)
            if not one_triangle:
                scale(arena, above, p, d, m, w, below, m, 1, q, weak, hermitian, work_at)
            elif w <= SMALL:
                keep(arena, copy, w, weak, work_at)
                copy += wide * w * w
        else:
            scale(arena, beside, m, d, m, w, beside, 1, m, right, weak, False, work_at)
            scale(arena, above, p, d, m, w, above, 1, p, q, weak, False, work_at)
        i += w
        if right > 0:
            j = i
            for later in range(b + 1, PANEL_FIELDS + pivots):
                size, there = table[later], lower + wide * (j * m + j)
                raise_magnitude(magnitude, wide * (first + j), arena, there, m, size, size)
                j += size
            subtract(
                arena, beside + wide * w, m, arena, d + wide * w, m, arena, beside, 1, m,
                right, right, w,
            )  # fmt: skip
    return 0


@inlined
def mirror(arena, d, m, w, wide, hermitian):
    """Upper triangle of a pivot block <- its lower triangle, or the conjugate of that."""
    for j in range(1, w):
        for i in range(j):
            for lane in range(wide):
                arena[d + wide * (j * m + i) + lane] = arena[d + wide * (i * m + j) + lane]
        if hermitian:
            conjugate(arena, d + wide * j * m, wide * j)
    if hermitian:  # rounding errors of the diagonal
        drop_imaginary(arena, d, m + 1, w)


@inlined
def scale_columns(program, panel, arena, base, to, first, columns, wide, work_at, scale, recall):
    """W <- D^-1 L^T, or D^-1 L^H, for some rows below as columns, p x ``columns``."""
    table, hermitian = pointer(program, panel), program[SYMMETRIC] == HERMITIAN
    p, m, lower = table[0], table[0] + table[1], base + wide * table[3]
    copy, i = base + wide * (-1 - table[4]), 0
    for b in range(PANEL_FIELDS, PANEL_FIELDS + table[5]):
        w, d, weak = table[b], lower + wide * (i * m + i), False
        if w <= SMALL:
            weak = recall(arena, copy, w, work_at)
            copy += wide * w * w
        below = lower + wide * (i * m + p + first)
        scale(arena, to + wide * i, p, d, m, w, below, m, 1, columns, weak, hermitian, work_at)
        i += w


@inlined
def update_target(
    program, at, arena, base, panel, symmetric, magnitude, wide, work_at,
    write_columns, subtract, raise_magnitude,
):  # fmt: skip
    """A_ij <- A_ij - L_ik W_kj for the blocks of one target; returns the place after it.

    The supernode's panel is at place ``panel`` of the program.
    """
    table = pointer(program, panel)
    p, m, lower = table[0], table[0] + table[1], base + wide * table[3]
    upper, one_triangle = base + wide * table[4], table[4] < 0
    table = pointer(program, 0)
    t_lower, t_m = base + wide * table[at], table[at + 1]
    t_upper, t_p, t_first = base + wide * table[at + 2], table[at + 3], table[at + 4]
    columns, runs = table[at + 5], table[at + 6]
    at += TARGET_FIELDS
    if one_triangle:  # the target's pivots are consecutive among the rows below
        upper, first, last = work_at + wide * program[SCALED], table[at], at + 3 * (columns - 1)
        count = table[last] + table[last + 1] - first
        write_columns(program, panel, arena, base, upper, first, count, work_at)
        upper -= wide * first * p
    for c in range(columns):
        c_from, c_size, c_to = table[at + 3 * c], table[at + 3 * c + 1], table[at + 3 * c + 2]
        diagonal = t_lower + wide * (c_to * t_m + c_to)
        raise_magnitude(magnitude, wide * (t_first + c_to), arena, diagonal, t_m, c_size, c_size)
        for r in range(c if symmetric else 0, runs):
            r_from, r_size = table[at + 3 * r], table[at + 3 * r + 1]
            subtract(
                arena, t_lower + wide * (c_to * t_m + table[at + 3 * r + 2]), t_m,
                arena, lower + wide * (p + r_from), m,
                arena, upper + wide * c_from * p, 1, p,
                r_size, c_size, p,
            )  # fmt: skip
        if not symmetric:
            for r in range(columns, runs):  # the same pivots as rows, the later ones as columns
                r_from, r_size = table[at + 3 * r], table[at + 3 * r + 1]
                subtract(
                    arena, t_upper + wide * ((table[at + 3 * r + 2] - t_p) * t_p + c_to), t_p,
                    arena, lower + wide * (p + c_from), m,
                    arena, upper + wide * r_from * p, 1, p,
                    c_size, r_size, p,
                )  # fmt: skip
    return at + 3 * runs
