"""NumPy twin of every vector kernel: the oracle in tests, the path under ``NUMBA_DISABLE_JIT=1``.

Same names, arguments and results as in `blocks`; matrices are column-major inside flat arrays.
"""

import numpy as np

from graphsys.kernels.base.layout import (
    BLOCKS,
    NEIGHBOUR_FIELDS,
    NODE_FIELDS,
    PANEL_FIELDS,
    RUN_FIELDS,
    RUNS,
    UPDATE_FIELDS,
)
from graphsys.kernels.base.widths import SMALL
from graphsys.kernels.blocks.large import invert_large


def _matrix(array, at, ld, m, n):
    """View of the m x n column-major matrix at ``array[at]``."""
    step = array.itemsize
    return np.lib.stride_tricks.as_strided(array[at:], (m, n), (step, step * ld), writeable=True)


def _strided(array, at, row_step, column_step, m, n):
    step = array.itemsize
    return np.lib.stride_tricks.as_strided(
        array[at:], (m, n), (step * row_step, step * column_step), writeable=False
    )


def subtract_product(c, c_at, ldc, a, a_at, lda, b, b_at, row_step, column_step, m, n, k):
    """C <- C - A B."""
    left, right = _matrix(a, a_at, lda, m, k), _strided(b, b_at, row_step, column_step, k, n)
    _matrix(c, c_at, ldc, m, n)[...] -= left @ right


def add_product(c, c_at, ldc, a, a_at, lda, b, b_at, row_step, column_step, m, n, k):
    """C <- C + A B."""
    left, right = _matrix(a, a_at, lda, m, k), _strided(b, b_at, row_step, column_step, k, n)
    _matrix(c, c_at, ldc, m, n)[...] += left @ right


def assign_product(c, c_at, ldc, a, a_at, lda, b, b_at, row_step, column_step, m, n, k):
    """C <- A B; C may be B when m <= 8."""
    left, right = _matrix(a, a_at, lda, m, k), _strided(b, b_at, row_step, column_step, k, n)
    _matrix(c, c_at, ldc, m, n)[...] = left @ right


def assign_product_of(
    c, c_at, ldc, a, a_at, lda, b, b_at, row_step, column_step, m, n, k, conjugated
):  # fmt: skip
    """C <- A B, or A conj(B)."""
    left, right = _matrix(a, a_at, lda, m, k), _strided(b, b_at, row_step, column_step, k, n)
    _matrix(c, c_at, ldc, m, n)[...] = left @ (right.conj() if conjugated else right)


def subtract_transposed(c, c_at, ldc, a, a_at, lda, b, b_at, ldb, m, n, k):
    """C <- C - A^T B for a k x m matrix A and n columns."""
    product = _matrix(a, a_at, lda, k, m).T @ _matrix(b, b_at, ldb, k, n)
    _matrix(c, c_at, ldc, m, n)[...] -= product


def magnitude(x):
    """|Re x| + |Im x|."""
    return np.abs(x.real) + np.abs(x.imag)


def raise_magnitude(s, s_at, a, a_at, lda, m, n):
    """s_i <- max(s_i, max_j |A_ij|), by `magnitude`."""
    if n:
        rows = np.fmax.reduce(magnitude(_matrix(a, a_at, lda, m, n)), axis=1)
        s[s_at : s_at + m] = np.fmax(s[s_at : s_at + m], rows)


def add_magnitude(s, s_at, a, a_at, lda, m, n):
    """s_i <- s_i + sum_j |A_ij|."""
    s[s_at : s_at + m] += np.abs(_matrix(a, a_at, lda, m, n)).sum(axis=1)


def largest_of(a, a_at, lda, m, n):
    """Largest `magnitude` of A_ij, 0 where there is none."""
    return magnitude(_matrix(a, a_at, lda, m, n)).max(initial=0.0)


def any_beyond(s, s_at, t, t_at, limit, n):
    """Not 0 where any s_i > limit t_i."""
    return int((s[s_at : s_at + n] > limit * t[t_at : t_at + n]).any())


def copy_block(b, b_at, ldb, a, a_at, lda, m, n):
    """B <- A."""
    _matrix(b, b_at, ldb, m, n)[...] = _matrix(a, a_at, lda, m, n)


def add_block(b, b_at, ldb, a, a_at, lda, m, n):
    """B <- B + A."""
    _matrix(b, b_at, ldb, m, n)[...] += _matrix(a, a_at, lda, m, n)


def invert_small(d, d_at, ldd, a, a_at, lda, k, k_at, s, s_at, n):
    """D <- A^-1 for n <= 8 with partial pivoting, K <- A; smallest |pivot| / s, at most 1.

    ``s`` is raised to the magnitudes of the rows of A.
    """
    copy_block(k, k_at, n, a, a_at, lda, n, n)
    raise_magnitude(s, s_at, a, a_at, lda, n, n)
    raised = s[s_at : s_at + n].copy()
    ratio = invert_large(d, d_at, ldd, a, a_at, lda, s, s_at, n)
    s[s_at : s_at + n] = raised
    return ratio


def eliminate_node(arena, values, program, panel, at, magnitude, given_at, symmetric, done, x):
    """W_j <- D^-1 U_j, A_ij <- S_ij - L_i W_j for all neighbours i, j of a node: see `nodal_ldu`.

    Its panel and its node are at these places of the program. If ``done``, W is there already.
    Unless x is None, also what `forward_nodes` does.
    """
    w, q, row, lower, upper = program[panel : panel + BLOCKS]
    m, count = w + q, program[at]
    at += NODE_FIELDS
    inverse = _matrix(arena, lower, m, w, w)
    neighbours = program[at : at + NEIGHBOUR_FIELDS * count].reshape(count, NEIGHBOUR_FIELDS)
    at += NEIGHBOUR_FIELDS * count
    for rows, place, _, source, _ in neighbours:
        if source >= 0:
            copy_block(arena, lower + w + place, m, values, source, rows, rows, w)
    if x is not None:
        x[row : row + w] = z = inverse @ x[row : row + w]
        for rows, place, first, _, _ in neighbours:
            x[first : first + rows] -= _matrix(arena, lower + w + place, m, rows, w) @ z
    for j, (columns, place, _, _, source) in enumerate(neighbours):
        scaled = _matrix(arena, upper + place * w, w, w, columns)
        if symmetric:
            right = _matrix(arena, lower + w + place, m, columns, w).T
        else:
            right = _matrix(values, source, w, w, columns) if source >= 0 else scaled
        if not done:
            scaled[...] = inverse @ right
        for i in range(j if symmetric else 0, count):
            rows, place, first, _, _ = neighbours[i]
            source, lds, to, ld = program[at : at + UPDATE_FIELDS]
            block = (values, source) if source >= 0 else (arena, ~source)
            old = _strided(*block, 1, lds, rows, columns).copy()
            left = _matrix(arena, lower + w + place, m, rows, w)
            _matrix(arena, to, ld, rows, columns)[...] = old - left @ scaled
            if i == j:
                most = np.fmax.reduce(np.abs(old), axis=1)
                magnitude[first : first + rows] = np.fmax(magnitude[first : first + rows], most)
                if source >= 0:
                    given = given_at + first
                    magnitude[given : given + rows] = magnitude[first : first + rows]
            at += UPDATE_FIELDS


def _small_panel(program, starts, s):
    """(p, q, first, lower, upper) and the runs of a supernode that is one small block, or None."""
    at = program[starts + s]
    if program[at + BLOCKS] != 1 or program[at] > SMALL:
        return None
    runs = program[at + PANEL_FIELDS + 1 :][: RUN_FIELDS * program[at + RUNS]]
    return program[at : at + BLOCKS], runs.reshape(-1, RUN_FIELDS)


def forward_nodes(x, arena, program, starts, begin, end):
    """z <- D^-1 x_k, x_k <- z, x_i <- x_i - L_i z for one vector, small nodes from a place on."""
    for s in range(begin, end):
        panel = _small_panel(program, starts, s)
        if panel is None:
            return s
        (w, below, first, lower, _), runs = panel
        x[first : first + w] = _matrix(arena, lower, w + below, w, w) @ x[first : first + w]
        for place, length, row in runs:
            left = _matrix(arena, lower + w + place, w + below, length, w)
            x[row : row + length] -= left @ x[first : first + w]
    return end


def backward_nodes(x, arena, program, starts, begin, end):
    """x_k <- x_k - sum_j W_kj x_j for one vector and small nodes down from a place."""
    for s in range(end - 1, begin - 1, -1):
        panel = _small_panel(program, starts, s)
        if panel is None:
            return s + 1
        (w, below, first, lower, upper), runs = panel
        if upper < 0:
            if arena[~upper] != np.inf:
                return s + 1
            total = np.zeros(w, x.dtype)
            for place, length, row in runs:
                left = _matrix(arena, lower + w + place, w + below, length, w)
                total += left.T @ x[row : row + length]
            x[first : first + w] -= _matrix(arena, lower, w + below, w, w) @ total
            continue
        for place, length, row in runs:
            right = _matrix(arena, upper + place * w, w, w, length)
            x[first : first + w] -= right @ x[row : row + length]
    return begin


def forward_transposed_nodes(x, arena, program, starts, begin, end):
    """x_j <- x_j - W_kj^T x_k for one vector, small nodes from a place on."""
    for s in range(begin, end):
        panel = _small_panel(program, starts, s)
        if panel is None:
            return s
        (w, _, first, _, upper), runs = panel
        for place, length, row in runs:
            right = _matrix(arena, upper + place * w, w, w, length)
            x[row : row + length] -= right.T @ x[first : first + w]
    return end


def backward_transposed_nodes(x, arena, program, starts, begin, end):
    """x_k <- D_k^-T (x_k - sum_i L_ik^T x_i) for one vector and small nodes down from a place."""
    for s in range(end - 1, begin - 1, -1):
        panel = _small_panel(program, starts, s)
        if panel is None:
            return s + 1
        (w, below, first, lower, _), runs = panel
        rest = x[first : first + w].copy()
        for place, length, row in runs:
            left = _matrix(arena, lower + w + place, w + below, length, w)
            rest -= left.T @ x[row : row + length]
        x[first : first + w] = _matrix(arena, lower, w + below, w, w).T @ rest
    return begin


def scalar_residual(r, sizes, b, values, x, neighbor_start, neighbor, diagonal_at):
    """r <- b - A x, sizes <- |A| |x| + |b|: `scalar_residual.scalar_residual_function`."""
    for i, place in enumerate(diagonal_at):
        near = neighbor[neighbor_start[i] : neighbor_start[i + 1]]
        terms = values[place : place + near.size + 1] * x[np.append(i, near)]
        r[i], sizes[i] = b[i] - terms.sum(), abs(b[i]) + np.abs(terms).sum()


def wide_residual(
    r, sizes, b, values, x, first, place, rows, own, begin, end, size, row_start, neighbor
):  # fmt: skip
    """r <- b - A x, sizes <- |A| |x| + |b|: `wide_residual.wide_residual_function`."""
    mine = slice(first, first + rows)
    r[mine], sizes[mine] = b[mine], np.abs(b[mine])
    for j in (own, *neighbor[begin:end]):
        block = _matrix(values, place, rows, rows, size[j])
        known = x[row_start[j] : row_start[j] + size[j]]
        r[mine] -= block @ known
        sizes[mine] += np.abs(block) @ np.abs(known)
        place += rows * size[j]


def small_residual(
    r, worst, sizes, b, values, x, floor, fine, enough, size, row_start, neighbor_start, neighbor,
    diagonal_at, block_at,
):  # fmt: skip
    """r <- b - A x, and how large it is: `small_nodes.residual_function`."""
    worst[...] = 0.0
    done = False
    for i, (rows, row) in enumerate(zip(size, row_start, strict=False)):
        own = slice(row, row + rows)
        rest, d, total = b[own].copy(), np.abs(b[own]), np.zeros(rows)
        near = range(neighbor_start[i], neighbor_start[i + 1])
        for j, at in [(i, diagonal_at[i]), *((neighbor[p], block_at[p]) for p in near)]:
            block = _matrix(values, at, rows, rows, size[j])
            known = x[row_start[j] : row_start[j] + size[j]]
            rest -= block @ known
            d += np.abs(block) @ np.abs(known)
            total += np.abs(block).sum(axis=1)
        r[own] = rest
        if sizes is not None:
            sizes[own] = d
        if done:
            continue
        d = np.maximum(d, np.finfo(r.dtype).tiny)
        with np.errstate(over="ignore"):
            least = floor * total
        least[np.isinf(least)] = 0.0
        strict = floored = np.abs(rest) / d
        if not (strict <= fine).all():
            floored = np.abs(rest) / np.maximum(d, least)
            done = not (floored <= enough).all()
        for k, error in enumerate((floored, strict)):
            lanes = worst[8 * k : 8 * k + rows]
            lanes[...] = np.maximum(lanes, error)
