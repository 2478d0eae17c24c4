"""Inverse of a block of any size or type, in memory: plain loops over contiguous columns."""

import numpy as np

from .jit import kernel


@kernel
def invert_large(d, d_at, ldd, s, s_at, n):
    """D <- D^-1 by Gauss-Jordan with partial pivoting; returns the smallest |pivot| / s, <= 1."""
    origin = np.arange(n)
    scale = s[s_at : s_at + n].copy()
    ratio = 1.0
    for j in range(n):
        pivot_column = d[d_at + j * ldd : d_at + j * ldd + n]
        row, largest = j, -1.0
        for i in range(j, n):
            size = abs(pivot_column[i])
            if not (size <= largest):  # a NaN is taken, and stays
                row, largest = i, size
        local = largest / scale[row] if scale[row] > 0.0 else np.nan
        if not (local >= ratio):
            ratio = local
        if not (largest > 0.0):
            return np.nan
        if row != j:
            origin[j], origin[row] = origin[row], origin[j]
            scale[row] = scale[j]
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
    for j in range(n):  # columns go back to the rows' places: follow the cycles of `origin`
        while origin[j] != j:
            home = origin[j]
            for i in range(n):
                at, to = d_at + j * ldd + i, d_at + home * ldd + i
                d[at], d[to] = d[to], d[at]
            origin[j], origin[home] = origin[home], origin[j]
    return ratio
