"""Inverse in place of a block of more than 16 rows, by panels of 8 columns.

As `large.invert_large`, with products that keep 8 rows in a register: half of its time with 40
rows. Steps are those of LAPACK's getrf and getri.
"""

import numpy as np

from graphsys.kernels.base.complex_numbers import magnitude
from graphsys.kernels.base.jit import inlined
from graphsys.kernels.blocks.blocks import add_product, largest_of, subtract_product

#: Columns of a panel, and of the workspace.
PANEL = 8


@inlined
def invert_wide(d, d_at, ldd, s, s_at, n, work, work_at):
    """D <- D^-1 = U^-1 L^-1 P, partial pivoting; returns the smallest |pivot| / s, <= 1.

    ``s[s_at:]`` are the magnitudes of rows; the rows that pivots came from replace them. ``work``
    has room for `PANEL` columns.
    """
    ratio = _lu(d, d_at, ldd, s, s_at, n)
    if not (ratio > 0.0):
        return np.nan
    _invert_upper(d, d_at, ldd, n)
    for p in range((n - 1) // PANEL * PANEL, -1, -PANEL):  # X L = U^-1, the last columns first
        w, left = min(PANEL, n - p), n - p
        at = d_at + p * ldd
        for j in range(w):  # L of these columns goes to the workspace
            for i in range(p + j + 1, n):
                work[work_at + j * left + i - p] = d[at + j * ldd + i]
                d[at + j * ldd + i] = 0.0
        if left > w:
            subtract_product(
                d, at, ldd, d, at + w * ldd, ldd, work, work_at + w, 1, left, n, w, left - w
            )
        for j in range(w - 2, -1, -1):
            subtract_product(
                d, at + j * ldd, ldd, d, at + (j + 1) * ldd, ldd, work,
                work_at + j * left + j + 1, 1, left, n, 1, w - 1 - j,
            )  # fmt: skip
    for j in range(n - 1, -1, -1):  # undo the exchanges of rows on the columns
        home = int(s[s_at + j])
        if home != j:
            for i in range(n):
                at, to = d_at + j * ldd + i, d_at + home * ldd + i
                d[at], d[to] = d[to], d[at]
    return ratio if largest_of(d, d_at, ldd, n, n) < np.inf else np.nan


@inlined
def _lu(d, d_at, ldd, s, s_at, n):
    """P D = L U in place; the least pivot relative to its row, NaN where a column has no pivot."""
    ratio = 1.0
    for p in range(0, n, PANEL):
        w = min(PANEL, n - p)
        for j in range(p, p + w):
            at = d_at + j * ldd
            row, largest = j, -1.0
            for i in range(j, n):
                size = magnitude(d[at + i])
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
                    here = d_at + q * ldd
                    d[here + j], d[here + row] = d[here + row], d[here + j]
            pivot = d[at + j]
            for i in range(j + 1, n):
                d[at + i] /= pivot
            _eliminate(d, at + j + 1, at + ldd, ldd, j, n - j - 1, p + w - j - 1)
        rest = n - p - w
        if rest > 0:
            right = d_at + (p + w) * ldd
            for j in range(p, p + w - 1):
                _eliminate(d, d_at + j * ldd + j + 1, right, ldd, j, p + w - j - 1, rest)
            subtract_product(
                d, right + p + w, ldd, d, d_at + p * ldd + p + w, ldd, d, right + p, 1, ldd,
                rest, rest, w,
            )  # fmt: skip
    return ratio


@inlined
def _eliminate(d, lower, columns, ldd, row, m, count):
    """Subtract a column of L times its row from the m rows below of ``count`` columns."""
    if m > 0 and count > 0:
        subtract_product(
            d, columns + row + 1, ldd, d, lower, ldd, d, columns + row, 1, ldd, m, count, 1
        )


@inlined
def _invert_upper(d, d_at, ldd, n):
    """U <- U^-1 on and above the diagonal."""
    for p in range(0, n, PANEL):
        w, panel = min(PANEL, n - p), d_at + p * ldd
        for j in range(w):  # the triangle on the diagonal
            column = panel + j * ldd + p
            inverse = 1.0 / d[column + j]
            d[column + j] = inverse
            for k in range(j):
                factor, other = d[column + k], panel + k * ldd + p
                for i in range(k):
                    d[column + i] += d[other + i] * factor
                d[column + k] = d[other + k] * factor
            for i in range(j):
                d[column + i] *= -inverse
        for q in range(0, p, PANEL):  # the panel above it times the inverse before it
            for k in range(q, q + PANEL):
                column = d_at + k * ldd
                if k > q:
                    add_product(
                        d, panel + q, ldd, d, column + q, ldd, d, panel + k, 1, ldd, k - q, w, 1
                    )
                for j in range(w):
                    d[panel + j * ldd + k] *= d[column + k]
            if q + PANEL < p:
                add_product(
                    d, panel + q, ldd, d, d_at + (q + PANEL) * ldd + q, ldd, d, panel + q + PANEL,
                    1, ldd, PANEL, w, p - q - PANEL,
                )  # fmt: skip
        for j in range(w - 1, -1, -1):  # times the triangle's inverse
            column = panel + j * ldd
            factor = -d[column + p + j]
            for i in range(p):
                d[column + i] *= factor
            if j > 0:
                subtract_product(d, column, ldd, d, panel, ldd, d, column + p, 1, ldd, p, 1, j)
