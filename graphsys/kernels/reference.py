"""NumPy twin of every vector kernel: the oracle in tests, the path under ``NUMBA_DISABLE_JIT=1``.

Same names, arguments and results as in `blocks`; matrices are column-major inside flat arrays.
"""

import numpy as np

from .large import invert_large


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


def subtract_transposed(c, c_at, a, a_at, lda, b, b_at, m, n):
    """c <- c - A^T b for an m x n matrix A."""
    c[c_at : c_at + n] -= _matrix(a, a_at, lda, m, n).T @ b[b_at : b_at + m]


def raise_magnitude(s, s_at, a, a_at, lda, m, n):
    """s_i <- max(s_i, max_j |A_ij|)."""
    if n:
        rows = np.fmax.reduce(np.abs(_matrix(a, a_at, lda, m, n)), axis=1)
        s[s_at : s_at + m] = np.fmax(s[s_at : s_at + m], rows)


def add_magnitude(s, s_at, a, a_at, lda, m, n):
    """s_i <- s_i + sum_j |A_ij|."""
    s[s_at : s_at + m] += np.abs(_matrix(a, a_at, lda, m, n)).sum(axis=1)


def copy_block(b, b_at, ldb, a, a_at, lda, m, n):
    """B <- A."""
    _matrix(b, b_at, ldb, m, n)[...] = _matrix(a, a_at, lda, m, n)


def invert_small(d, d_at, ldd, a, a_at, lda, s, s_at, n):
    """D <- A^-1 for n <= 8 with partial pivoting; smallest |pivot| / s, at most 1."""
    held = s[s_at : s_at + n].copy()
    ratio = invert_large(d, d_at, ldd, a, a_at, lda, s, s_at, n)
    s[s_at : s_at + n] = held
    return ratio


def product_from(c, c_at, ldc, s, s_at, lds, a, a_at, lda, b, b_at, row_step, column_step, m, n, k):
    """C <- S - A B for m, n <= 8."""
    left, right = _matrix(a, a_at, lda, m, k), _strided(b, b_at, row_step, column_step, k, n)
    _matrix(c, c_at, ldc, m, n)[...] = _strided(s, s_at, 1, lds, m, n) - left @ right


def product_from_diagonal(
    c, c_at, ldc, s, s_at, lds, a, a_at, lda, b, b_at, row_step, column_step, m, n, k, t, t_at
):
    """C <- S - A B for m, n <= 8, and t_i <- max(t_i, max_j |S_ij|)."""
    raise_magnitude(t, t_at, s, s_at, lds, m, n)
    product_from(c, c_at, ldc, s, s_at, lds, a, a_at, lda, b, b_at, row_step, column_step, m, n, k)
