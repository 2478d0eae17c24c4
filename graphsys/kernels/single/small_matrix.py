"""Dense LU factors of a small sparse matrix, and solutions that are checked in its entries.

The matrix comes by compressed lines, which are its rows, or its columns if ``by_columns``. Both are
scaled to largest entries of about 1.
"""

import numpy as np

from graphsys.kernels.base.jit import inlined, kernel
from graphsys.kernels.base.pointers import pointer
from graphsys.kernels.single.dense_lu import factorize_dense

#: Status: good; not so: other tables, a number not finite, weak pivots, or an inaccurate solution;
#: arrays of other types.
GOOD, REFUSED, MISFIT = range(3)
#: Smallest entry and pivot of the scaled matrix, and largest entry of U: others take pivots from
#: an analysis.
SMALLEST, LARGEST = 2.0**-20, 64.0
#: Steps of refinement at most.
REFINEMENTS = 2


@kernel
def factorize_small(
    # In:
    start,
    index,
    data,
    by_columns,
    # Out:
    scale,
    f,
    name,
):
    """L U = P R A C, column-major, with R and C in ``scale`` (2 n,); a status."""
    n = name.size
    if start.size != n + 1 or start[0] != 0 or start[n] != index.size or index.size != data.size:
        return REFUSED
    for k in range(n):
        before = -1
        if start[k] > start[k + 1] or start[k + 1] > index.size:
            return REFUSED
        for e in range(start[k], start[k + 1]):
            if index[e] <= before or index[e] >= n:
                return REFUSED
            before = index[e]
    for k in range(n):
        scale[k] = scale[n + k] = 0.0
    for k in range(n):
        for e in range(start[k], start[k + 1]):
            scale[k] = max(scale[k], abs(data[e]))
    wrong = 0
    for k in range(n):
        scale[k] = 1.0 / scale[k]
        wrong |= not 0.0 < scale[k] < np.inf
        for e in range(start[k], start[k + 1]):
            j = n + index[e]
            scale[j] = max(scale[j], abs(data[e]) * scale[k])
    for k in range(n, 2 * n):
        scale[k] = 1.0 / scale[k]
        wrong |= not 0.0 < scale[k] < np.inf
    for e in range(n * n):
        f[e] = 0.0
    step, line = (1, n) if by_columns else (n, 1)
    for k in range(n):
        for e in range(start[k], start[k + 1]):
            entry = data[e] * scale[k] * scale[n + index[e]]
            wrong |= not (abs(entry) > SMALLEST or entry == 0.0)
            f[index[e] * step + k * line] = entry
    if wrong != 0 or factorize_dense(f, 0, n, pointer(name, 0)) < n:
        return REFUSED
    for k in range(n):
        column = pointer(f, k * n)
        wrong |= not abs(column[k]) > SMALLEST
        for i in range(k + 1):
            wrong |= not abs(column[i]) < LARGEST
    return GOOD if wrong == 0 else REFUSED


@kernel
def solve_small(
    # Tables and factors:
    start,
    index,
    data,
    by_columns,
    scale,
    f,
    name,
    # In:
    b,
    good,
    # Work:
    work,
    # Out:
    x,
):
    """A x = b, refined until the componentwise backward error is ``good``; ``work`` (4 n,)."""
    n, wrong = name.size, 0
    left, sizes, change = pointer(work, n), pointer(work, 2 * n), pointer(work, 3 * n)
    given, found = pointer(b, 0), pointer(x, 0)
    _substitute(by_columns, scale, f, name, given, pointer(work, 0), found)
    for k in range(n):
        wrong |= not abs(found[k]) < np.inf
        wrong |= not abs(given[k]) < np.inf
    if wrong != 0:
        return REFUSED
    for step in range(REFINEMENTS + 1):
        if _error(start, index, data, by_columns, given, found, left, sizes) <= good:
            return GOOD
        if step < REFINEMENTS:
            _substitute(by_columns, scale, f, name, left, pointer(work, 0), change)
            for k in range(n):
                found[k] += change[k]
    return REFUSED


@inlined
def _substitute(by_columns, scale, f, name, b, y, x):
    """x <- C U^-1 L^-1 P R b."""
    n = name.size
    row, column = (n, 0) if by_columns else (0, n)
    for k in range(n):
        y[k] = b[name[k]] * scale[row + name[k]]
    for k in range(n):
        factor, lower = y[k], pointer(f, k * n)
        for i in range(k + 1, n):
            y[i] -= lower[i] * factor
    for k in range(n - 1, -1, -1):
        upper = pointer(f, k * n)
        factor = y[k] / upper[k]
        x[k] = factor * scale[column + k]
        for i in range(k):
            y[i] -= upper[i] * factor


@inlined
def _error(start, index, data, by_columns, b, x, r, size):
    """r <- b - A x; the largest |r| / (|A| |x| + |b|)."""
    n, worst = start.size - 1, 0.0
    for i in range(n):
        r[i], size[i] = b[i], abs(b[i])
    for k in range(n):
        for e in range(start[k], start[k + 1]):
            i, j = (index[e], k) if by_columns else (k, index[e])
            product = data[e] * x[j]
            r[i] -= product
            size[i] += abs(product)
    for i in range(n):
        if size[i] > 0.0:
            worst = max(worst, abs(r[i]) / size[i])
        elif not size[i] == 0.0:
            worst = np.inf
    return worst
