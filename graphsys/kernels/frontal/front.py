"""Partial factorization of one front by threshold pivoting, in panels.

A front is a dense m x m matrix, column-major in ``a[0:m * m]``. Its first f rows and columns are
*fully summed*: they may give pivots. ``ids`` holds the names of its rows, then of its columns, and
moves with every exchange. A symmetric front is its lower triangle.
"""

import numpy as np

from graphsys.kernels.base.jit import inlined, kernel
from graphsys.kernels.blocks.blocks import subtract_product

#: Columns that are factorized before all others are updated: these stay in the first caches.
PANEL = 32
#: Columns of a symmetric front that are updated together, from their diagonal down.
STRIP = 64


@kernel
def factorize_front(a, m, f, threshold, symmetric, ids, double, info):
    """L and U (or L and D L^T) of as many fully summed columns as have a good pivot; how many.

    They end up in front, the others after them, up to date. ``double[k]`` is 1 where pivots k and
    k + 1 are a block of 2 x 2. ``info[0]`` is the least pivot so far relative to the largest entry
    of its column.
    """
    done = passed = 0
    fresh = f  # columns that this pass has not tried
    while done < f:
        if fresh == 0:
            if passed == 0:
                break
            fresh, passed = f - done, 0
        width = min(PANEL, fresh)
        end = done + width
        if symmetric:
            found = _symmetric_panel(a, m, f, done, end, threshold, ids, double, info)
        else:
            found = _panel(a, m, f, done, end, threshold, ids, info)
        if found > 0 and end < m:
            _update(a, m, done, found, end, symmetric)
        done += found
        passed += found
        fresh -= width
        failed = width - found
        for i in range(min(failed, fresh)):  # try the others first
            _exchange(a, m, done + i, done + failed + fresh - 1 - i, symmetric, ids)
    return done


@inlined
def _update(a, m, done, found, end, symmetric):
    """A <- A - L U for the columns after a panel."""
    first = done + found
    if not symmetric:
        for c in range(end, m):  # U = L^-1 A
            column = a[c * m : c * m + m]
            for k in range(done, first):
                factor = column[k]
                if factor != 0:
                    lower = a[k * m : k * m + m]
                    for i in range(k + 1, first):
                        column[i] -= lower[i] * factor
        subtract_product(
            a, end * m + first, m, a, done * m + first, m, a, end * m + done, 1, m,
            m - first, m - end, found,
        )  # fmt: skip
        return
    for c in range(end, m, STRIP):
        count = min(STRIP, m - c)
        subtract_product(
            a, c * m + c, m, a, done * m + c, m, a, c * m + done, 1, m, m - c, count, found,
        )  # fmt: skip


@inlined
def _panel(a, m, f, start, end, threshold, ids, info):
    """Pivots of the columns start ... end: rows are exchanged among the fully summed ones."""
    k, last = start, end  # columns before ``last`` are still to be tried
    while k < last:
        column = a[k * m : k * m + m]
        row, largest, beyond = k, abs(column[k]), 0.0
        for i in range(k + 1, f):
            size = abs(column[i])
            if size > largest:
                row, largest = i, size
        for i in range(f, m):
            size = abs(column[i])
            if size > beyond:
                beyond = size
        if not (largest > 0.0 and largest >= threshold * beyond):
            last -= 1
            _exchange_columns(a, m, k, last, ids)
            continue
        if beyond > largest:
            info[0] = min(info[0], largest / beyond)
        if row != k:
            for c in range(m):
                at = c * m
                a[at + k], a[at + row] = a[at + row], a[at + k]
            ids[k], ids[row] = ids[row], ids[k]
        pivot = column[k]
        for i in range(k + 1, m):
            column[i] /= pivot
        for c in range(k + 1, end):
            other = a[c * m : c * m + m]
            factor = other[k]
            if factor != 0:
                for i in range(k + 1, m):
                    other[i] -= column[i] * factor
        k += 1
    return k - start


@inlined
def _symmetric_panel(a, m, f, start, end, threshold, ids, double, info):
    """Pivots of 1 x 1 and 2 x 2 among the columns start ... end (Duff and Reid 1983)."""
    k, last = start, end
    while k < last:
        # The largest entry of column k, and of its part in this panel.
        partner, inside, largest = k, 0.0, 0.0
        for i in range(k + 1, m):
            size = abs(a[k * m + i])
            if size > largest:
                largest = size
            if i < end and size > inside:
                partner, inside = i, size
        diagonal = abs(a[k * m + k])
        if diagonal > 0.0 and diagonal >= threshold * largest:
            info[0] = min(info[0], diagonal / max(largest, diagonal))
            _pivot(a, m, k, end)
            double[k] = 0
            k += 1
            continue
        if inside > 0.0:
            other = 0.0  # the largest entry of the partner's column, but for column k
            for i in range(k + 1, m):
                if i != partner:
                    size = abs(a[i * m + partner] if i < partner else a[partner * m + i])
                    if size > other:
                        other = size
            second = abs(a[partner * m + partner])
            if second > 0.0 and second >= threshold * max(other, inside):
                info[0] = min(info[0], second / max(other, inside, second))
                _exchange(a, m, k, partner, True, ids)
                _pivot(a, m, k, end)
                double[k] = 0
                k += 1
                continue
            rest = 0.0  # the largest entry of column k, but for the partner's row
            for i in range(k + 1, m):
                if i != partner:
                    rest = max(rest, abs(a[k * m + i]))
            between = a[k * m + partner]
            # Scaled by the entry between them, so that products stay in range.
            ratio = a[k * m + k] / between * (a[partner * m + partner] / between)
            size = abs(1.0 - ratio) * inside
            if (
                threshold * (second / inside * rest + other) <= size
                and threshold * (diagonal / inside * other + rest) <= size
                and 0.0 < size < np.inf
            ):
                info[0] = min(info[0], size / max(size, rest, other))
                _exchange(a, m, k + 1, partner, True, ids)
                _pivot_pair(a, m, k, end)
                double[k], double[k + 1] = 1, 0
                k += 2
                if last < k:
                    last = k
                continue
        last -= 1
        _exchange(a, m, k, last, True, ids)
    return k - start


@inlined
def _pivot(a, m, k, end):
    """L of one pivot and, in row k, D L^T; updates the rest of its panel."""
    column = a[k * m : k * m + m]
    pivot = column[k]
    for c in range(k + 1, m):
        a[c * m + k] = column[c]
    for i in range(k + 1, m):
        column[i] /= pivot
    for c in range(k + 1, end):
        other = a[c * m : c * m + m]
        factor = other[k]
        if factor != 0:
            for i in range(c, m):
                other[i] -= column[i] * factor


@inlined
def _pivot_pair(a, m, k, end):
    """L of a 2 x 2 pivot block and, in rows k and k + 1, D L^T; updates the rest of its panel."""
    first, second = a[k * m : k * m + m], a[(k + 1) * m : (k + 1) * m + m]
    between = first[k + 1]
    upper, lower = first[k] / between, second[k + 1] / between
    scale = 1.0 / (between * (upper * lower - 1.0))
    for i in range(k + 2, m):
        x, y = first[i], second[i]
        a[i * m + k], a[i * m + k + 1] = x, y
        first[i] = (lower * x - y) * scale
        second[i] = (upper * y - x) * scale
    for c in range(k + 2, end):
        other = a[c * m : c * m + m]
        x, y = other[k], other[k + 1]
        for i in range(c, m):
            other[i] -= first[i] * x + second[i] * y


@inlined
def _exchange_columns(a, m, j, k, ids):
    """Columns j and k change places."""
    if j != k:
        one, other = a[j * m : j * m + m], a[k * m : k * m + m]
        for i in range(m):
            one[i], other[i] = other[i], one[i]
        ids[m + j], ids[m + k] = ids[m + k], ids[m + j]


@kernel
def _exchange(a, m, j, k, symmetric, ids):
    """Columns j <= k change places; in a symmetric front rows do too."""
    if j == k:
        return
    if not symmetric:
        _exchange_columns(a, m, j, k, ids)
        return
    for c in range(j):
        at = c * m
        a[at + j], a[at + k] = a[at + k], a[at + j]
    for i in range(j + 1, k):
        a[j * m + i], a[i * m + k] = a[i * m + k], a[j * m + i]
    a[j * m + j], a[k * m + k] = a[k * m + k], a[j * m + j]
    for i in range(k + 1, m):
        a[j * m + i], a[k * m + i] = a[k * m + i], a[j * m + i]
    ids[j], ids[k] = ids[k], ids[j]
    ids[m + j], ids[m + k] = ids[m + k], ids[m + j]
