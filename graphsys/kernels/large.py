"""Inverse of a block of any size or type, in memory: plain loops over contiguous columns."""

import numpy as np

from .jit import kernel


@kernel
def invert_large(d, d_at, ldd, a, a_at, lda, s, s_at, n):
    """D <- A^-1 by Gauss-Jordan with partial pivoting; returns the smallest |pivot| / s, <= 1.

    ``s[s_at:]`` are the magnitudes that each row had before, raised to what it has now; the rows
    that pivots came from replace them.
    """
    for j in range(n):
        for i in range(n):
            entry = a[a_at + j * lda + i]
            d[d_at + j * ldd + i] = entry
            if abs(entry) > s[s_at + i]:
                s[s_at + i] = abs(entry)
    ratio = 1.0
    for j in range(n):
        pivot_column = d[d_at + j * ldd : d_at + j * ldd + n]
        row, largest = j, -1.0
        for i in range(j, n):
            size = abs(pivot_column[i])
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
        inverse = 1.0 / pivot_column[j]
        pivot_column[j] = -1.0
        for q in range(n):
            if q != j:
                column = d[d_at + q * ldd : d_at + q * ldd + n]
                factor = column[j] * inverse
                column[j] = 0.0
                for i in range(n):
                    column[i] -= pivot_column[i] * factor
        for i in range(n):
            pivot_column[i] *= -inverse
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
