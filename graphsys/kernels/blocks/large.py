"""Inverse of a block of any size or type, in memory: plain loops over contiguous columns."""

import numpy as np

from graphsys.kernels.base.complex_numbers import magnitude
from graphsys.kernels.base.jit import kernel


@kernel
def invert_large(d, d_at, ldd, a, a_at, lda, s, s_at, n):
    """D <- A^-1 = U^-1 L^-1 P, partial pivoting; returns the smallest |pivot| / s, <= 1.

    Entries are compared by `magnitude`. ``s[s_at:]`` are the magnitudes that each row had before,
    raised to what it has now; the rows that pivots came from replace them. Gauss-Jordan elimination
    would take as long and leave residuals larger by the condition number of U (N. J. Higham,
    Accuracy and Stability of Numerical Algorithms, SIAM, 2002, sec. 14.3 and 14.4).
    """
    for j in range(n):
        for i in range(n):
            entry = a[a_at + j * lda + i]
            d[d_at + j * ldd + i] = entry
            size = magnitude(entry)
            if size > s[s_at + i]:
                s[s_at + i] = size
    ratio = 1.0
    for j in range(n):  # P A = L U
        column = d[d_at + j * ldd : d_at + j * ldd + n]
        row, largest = j, -1.0
        for i in range(j, n):
            size = magnitude(column[i])
            if not (size <= largest):  # a NaN is taken, and stays
                row, largest = i, size
        local = largest / s[s_at + row] if s[s_at + row] > 0.0 else np.nan
        if not (local >= ratio):
            ratio = local
        if not (0.0 < largest < np.inf):
            return np.nan
        s[s_at + row] = s[s_at + j]
        s[s_at + j] = row
        if row != j:
            for q in range(n):
                at = d_at + q * ldd
                d[at + j], d[at + row] = d[at + row], d[at + j]
        for i in range(j + 1, n):
            column[i] /= column[j]
        for q in range(j + 1, n):
            other = d[d_at + q * ldd : d_at + q * ldd + n]
            factor = other[j]
            for i in range(j + 1, n):
                other[i] -= column[i] * factor
    for j in range(n):  # U^-1, above and on the diagonal
        column = d[d_at + j * ldd : d_at + j * ldd + n]
        inverse = 1.0 / column[j]
        column[j] = inverse
        _multiply_upper(d, d_at, ldd, column, 0, j)
        for i in range(j):
            column[i] *= -inverse
    for j in range(n - 1, -1, -1):  # L^-1, below the diagonal
        column = d[d_at + j * ldd : d_at + j * ldd + n]
        for k in range(n - 1, j, -1):
            other, factor = d[d_at + k * ldd : d_at + k * ldd + n], column[k]
            for i in range(k + 1, n):
                column[i] += other[i] * factor
        for i in range(j + 1, n):
            column[i] = -column[i]
    for j in range(n):  # their product
        _multiply_upper(d, d_at, ldd, d[d_at + j * ldd : d_at + j * ldd + n], j + 1, n)
    for j in range(n - 1, -1, -1):  # undo the exchanges of rows on the columns
        home = int(s[s_at + j])
        if home != j:
            for i in range(n):
                at, to = d_at + j * ldd + i, d_at + home * ldd + i
                d[at], d[to] = d[to], d[at]
    for j in range(n):
        for i in range(n):
            if not np.isfinite(d[d_at + j * ldd + i]):
                return np.nan
    return ratio


@kernel
def _multiply_upper(d, d_at, ldd, x, first, last):
    """x <- U x for x[first:last], the rows above them taking part; U is above D's diagonal."""
    for k in range(first, last):
        other, factor = d[d_at + k * ldd : d_at + k * ldd + k + 1], x[k]
        for i in range(k):
            x[i] += other[i] * factor
        x[k] = other[k] * factor
