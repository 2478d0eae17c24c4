"""Partial factorization of one front by threshold pivoting, in panels.

A front is a dense m x m matrix, column-major in ``a[0:m * m]``. Its first f rows and columns are
*fully summed*: they may give pivots. ``ids`` holds the names of its rows, then of its columns, and
moves with every exchange. A symmetric front is its lower triangle; with ``hermitian`` its transpose
is its conjugate, and L^T stands for L^H.
"""

import numpy as np

from graphsys.kernels.base.complex_numbers import conjugate, drop_imaginary, magnitude
from graphsys.kernels.base.jit import inlined, kernel
from graphsys.kernels.base.layout import HERMITIAN
from graphsys.kernels.base.pointers import pointer
from graphsys.kernels.base.widths import KEPT, LANES
from graphsys.kernels.blocks.blocks import largest_of, leading_pivots, subtract_product

#: Columns that are factorized before all others are updated: these stay in the first caches.
PANEL = 32
#: The same of a front of few rows that is not symmetric: all of it is in these caches, and columns
#: in a panel are updated by plain loops. Fronts of 30 to 190 rows take 0.77 to 0.85 of the time.
NARROW_PANEL, FEW_ROWS = 8, 192
#: The same of a symmetric front whose leading pivots are good: one vector of columns. With 32,
#: early control matrices of 27 + 13 take 1.14 times as long.
LEFT_PANEL = 8
#: Columns of a symmetric front that are updated together, from their diagonal down. A crystal of
#: 10^3 nodes of 3 would take 1.29 times as long without.
STRIP = 16
#: Fields of ``info`` that a front changes: least pivot relative to the largest entry of its column,
#: and largest entry of the products l d l^T of symmetric pivots.
LEAST, LARGEST = range(2)


@kernel
def leading_dimension(m, symmetric):
    """Distance of the columns of a front: those of a symmetric one are whole vectors."""
    return (m + LANES - 1) & -LANES if symmetric else m


@kernel
def room(m):
    """Numbers that a front of m rows needs: itself, and columns of D L^T of a panel."""
    return leading_dimension(m, True) * (m + PANEL + 1)


@kernel
def factorize_front(a, m, ld, f, threshold, weak, symmetric, ids, double, info):
    """L and U (or L and D L^T) of as many fully summed columns as have a good pivot; how many.

    ``symmetric`` is that of a program.

    They end up in front, the others after them, up to date. The columns of a symmetric front are
    ``ld`` apart, with zeros after row m. Pivots of a symmetric front that are
    below ``threshold`` of their column, but not below ``weak``, are taken after all others.
    ``double[k]`` is 1 where pivots k and k + 1 are a block of 2 x 2. ``a`` has `room` for m rows.
    """
    if symmetric != 0:
        hermitian = symmetric == HERMITIAN
        return _factorize_symmetric(a, m, ld, f, threshold, weak, hermitian, ids, double, info)
    done = passed = 0
    fresh, widest = f, NARROW_PANEL if m <= FEW_ROWS else PANEL
    while done < f:
        if fresh == 0:  # columns that this pass has not tried
            if passed == 0:
                break
            fresh, passed = f - done, 0
        width = min(widest, fresh)
        end = done + width
        found = _panel(a, m, f, done, end, threshold, ids, info)
        if found > 0 and end < m:
            _update(a, m, done, found, end)
        done += found
        passed += found
        fresh -= width
        failed = width - found
        for i in range(min(failed, fresh)):  # try the others first
            _exchange_columns(a, m, done + i, done + failed + fresh - 1 - i, ids)
    return done


@inlined
def _update(a, m, done, found, end):
    """A <- A - L U for the columns after a panel."""
    first = done + found
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


@inlined
def _panel(a, m, f, start, end, threshold, ids, info):
    """Pivots of the columns start ... end: rows are exchanged among the fully summed ones."""
    k, last = start, end  # columns before ``last`` are still to be tried
    while k < last:
        column = a[k * m : k * m + m]
        row, largest, beyond = k, magnitude(column[k]), 0.0
        for i in range(k + 1, f):
            size = magnitude(column[i])
            if size > largest:
                row, largest = i, size
        for i in range(f, m):
            size = magnitude(column[i])
            if size > beyond:
                beyond = size
        if not (largest > 0.0 and largest >= threshold * beyond):
            last -= 1
            _exchange_columns(a, m, k, last, ids)
            continue
        if beyond > largest:
            info[LEAST] = min(info[LEAST], largest / beyond)
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
def _factorize_symmetric(a, m, ld, f, threshold, weak, hermitian, ids, double, info):
    """L and D of a symmetric front by pivots of 1 x 1 and 2 x 2 (Duff and Reid 1983).

    The columns of a panel of a wide front are left-looking: each is updated when it is tried, in
    ``wide``, which keeps (L D)^T of the panel's pivots. As long as leading pivots are good, several
    are updated together.
    """
    if f <= PANEL:
        return _factorize_narrow(a, m, ld, f, threshold, weak, hermitian, ids, double, info)
    start, done, end = _leading_panels(a, m, ld, f, threshold, hermitian, double, info)
    if done < f:  # the columns that follow catch up with those of the panel
        _subtract(a, m, ld, start, start, done, end, m)
        start = done
    passed, fresh, least = done, f - done, threshold
    while done < f:
        if fresh == 0:
            if passed == 0:
                if not weak < least:
                    break
                least = weak
            fresh, passed = f - done, 0
        if done - start >= PANEL:
            _subtract(a, m, ld, start, start, done, done, m)
            start = done
        found = _try_column(
            a, m, ld, start, start, done, fresh, least, hermitian, ids, double, info
        )  # fmt: skip
        if found == 0:
            fresh -= 1
            _exchange(a, m, ld, start, done, done + fresh, hermitian, ids)
        done += found
        passed += found
        fresh -= found
    _subtract(a, m, ld, start, start, done, done, m)
    return done


@inlined
def _factorize_narrow(a, m, ld, f, threshold, weak, hermitian, ids, double, info):
    """L and D of a symmetric front of few columns: each pivot updates those still to be tried.

    It updates all columns of a small front. Pivots of 1 x 1 come first, since a diagonal of zero
    mostly fills in; only where none is left are pairs looked for.
    """
    last = m if ld <= KEPT * LANES else f
    done = 0
    if last < m:
        _, done, end = _leading_panels(a, m, ld, f, threshold, hermitian, double, info)
        _subtract(a, m, ld, 0, 0, done, end, f)
    passed, fresh, least, in_pairs = done, f - done, threshold, False
    while done < f:
        if fresh == 0:
            if passed == 0:
                if not in_pairs and f - done > 1:
                    in_pairs = True
                elif weak < least:
                    least = weak
                else:
                    break
            fresh, passed = f - done, 0
        found = leading_pivots(a, 0, ld, m, f, 0, done, done + fresh, least, info, hermitian)
        for k in range(done, done + found):
            double[k] = 0
        done += found
        passed += found
        fresh -= found
        if fresh == 0:
            continue
        found = 0
        if in_pairs and fresh > 1:
            found = _try_column(
                a, m, ld, 0, done, done, fresh, least, hermitian, ids, double, info
            )  # fmt: skip
        if found == 0:
            fresh -= 1
            _exchange(a, m, ld, 0, done, done + fresh, hermitian, ids)
        else:
            _subtract(a, m, ld, 0, done, done + found, done + found, last)
            done += found
            passed += found
            fresh -= found
    if last < m:
        _subtract(a, m, ld, 0, 0, done, last, m)
    return done


@inlined
def _leading_panels(a, m, ld, f, threshold, hermitian, double, info):
    """Pivots of 1 x 1 in their order, until one fails: how many, after the first in ``wide``.

    The end of the columns that know all of them comes last. `LEFT_PANEL` columns are updated with
    all pivots in ``wide`` at once (left-looking), and all that follow with `PANEL` of them.
    """
    start = done = end = 0
    while done < f:
        if done - start == PANEL:
            _subtract(a, m, ld, start, start, done, done, m)
            start = done
        end = min(done + LEFT_PANEL, f)
        _subtract(a, m, ld, start, start, done, done, end)
        found = leading_pivots(
            a, 0, ld, m, end, start, done, end, threshold, info, hermitian
        )  # fmt: skip
        for k in range(done, done + found):
            double[k] = 0
        done += found
        if done < end:
            break
    return start, done, end


@inlined
def _try_column(a, m, ld, start, late, k, fresh, threshold, hermitian, ids, double, info):
    """A pivot with column k, alone or with another of the ``fresh`` ones: 0, 1 or 2 columns.

    The pivots from ``late`` on are still to be subtracted.
    """
    one = m * ld + (k - start) * ld  # columns k and ``partner``, up to date, from row k on
    other = one + ld
    column, pair = pointer(a, one), pointer(a, other)
    given = pointer(a, k * ld)
    for i in range(k, m):
        column[i] = given[i]
    _up_to_date(a, m, ld, start, late, k, k, one)
    if hermitian:  # rounding errors of the diagonal
        drop_imaginary(a, one + k, 1, 1)
    diagonal, largest = magnitude(column[k]), largest_of(a, one + k + 1, ld, m - k - 1, 1)
    if diagonal > 0.0 and diagonal >= threshold * largest:
        _keep_pivot(a, m, ld, k, one, largest, hermitian, double, info)
        return 1
    partner, inside = k, 0.0
    for i in range(k + 1, k + fresh):
        size = magnitude(column[i])
        if size > inside:
            partner, inside = i, size
    if not inside > 0.0:
        return 0
    for i in range(k, partner):
        pair[i] = a[i * ld + partner]
    if hermitian:
        conjugate(a, other + k, partner - k)
    given = pointer(a, partner * ld)
    for i in range(partner, m):
        pair[i] = given[i]
    _up_to_date(a, m, ld, start, late, k, partner, other)
    if hermitian:
        drop_imaginary(a, other + partner, 1, 1)
    # The largest entry of the second column, but for the rows of both.
    last, pair[partner] = pair[partner], 0.0
    second, beyond = magnitude(last), largest_of(a, other + k + 1, ld, m - k - 1, 1)
    pair[partner] = last
    if second > 0.0 and second >= threshold * max(beyond, inside):
        _exchange(a, m, ld, start, k, partner, hermitian, ids)
        for i in range(k, m):
            column[i] = pair[i]
        column[k], column[partner] = column[partner], column[k]
        _keep_pivot(a, m, ld, k, one, max(beyond, inside), hermitian, double, info)
        return 1
    between, column[partner] = column[partner], 0.0
    rest = largest_of(a, one + k + 1, ld, m - k - 1, 1)
    column[partner] = between
    # Scaled by the entry between them, so that products stay in range.
    ratio = column[k] / between * (last / (between.conjugate() if hermitian else between))
    size = magnitude(1.0 - ratio) * inside
    if not (
        threshold * (second / inside * rest + beyond) <= size
        and threshold * (diagonal / inside * beyond + rest) <= size
        and 0.0 < size < np.inf
    ):
        return 0
    info[LEAST] = min(info[LEAST], size / max(size, rest, beyond))
    _exchange(a, m, ld, start, k + 1, partner, hermitian, ids)
    pair[k + 1], pair[partner] = pair[partner], pair[k + 1]
    _keep_pair(a, m, ld, k, one, other, hermitian, info)
    double[k], double[k + 1] = 1, 0
    return 2


@inlined
def _up_to_date(a, m, ld, start, late, k, c, to):
    """Subtract L D L^T of the pivots ``late`` ... k from rows k ... m of column c, at ``to``."""
    if k > late:
        subtract_product(
            a, to + k, ld, a, late * ld + k, ld, a, (m + late - start) * ld + c, ld, ld,
            m - k, 1, k - late,
        )  # fmt: skip


@inlined
def _keep_pivot(a, m, ld, k, one, largest, hermitian, double, info):
    """Column k <- D and L of one pivot."""
    pivot, size = a[one + k], magnitude(a[one + k])
    info[LEAST] = min(info[LEAST], size / max(largest, size))
    info[LARGEST] = max(info[LARGEST], largest / size * largest)
    double[k] = 0
    lower, given = pointer(a, k * ld), pointer(a, one)
    lower[k] = pivot
    for i in range(k + 1, m):
        lower[i] = given[i] / pivot
    if hermitian:
        conjugate(a, one + k, m - k)


@inlined
def _keep_pair(a, m, ld, k, one, other, hermitian, info):
    """Columns k and k + 1 <- D and L of a 2 x 2 pivot block."""
    first, second = pointer(a, k * ld), pointer(a, (k + 1) * ld)
    given, beside = pointer(a, one), pointer(a, other)
    between = given[k + 1]
    across = between.conjugate() if hermitian else between
    upper, lower = given[k] / across, beside[k + 1] / between
    rest = upper * lower - 1.0  # the determinant, over both entries beside the diagonal
    left, right = 1.0 / (across * rest), 1.0 / (between * rest)
    first[k], first[k + 1], second[k + 1] = given[k], between, beside[k + 1]
    for i in range(k + 2, m):
        x, y = given[i], beside[i]
        first[i] = (lower * x - y) * left
        second[i] = (upper * y - x) * right
    largest = 0.0
    for i in range(k + 2, m):
        largest = max(largest, magnitude(first[i] * given[i]) + magnitude(second[i] * beside[i]))
    info[LARGEST] = max(info[LARGEST], largest)
    if hermitian:
        conjugate(a, one + k, m - k)
        conjugate(a, other + k, m - k)


@inlined
def _subtract(a, m, ld, start, late, done, first, last):
    """A <- A - L D L^T of the pivots ``late`` ... ``done``, in the columns ``first`` ... last."""
    if done == late:
        return
    for c in range(first, last, STRIP):
        subtract_product(
            a, c * ld + c, ld, a, late * ld + c, ld, a, (m + late - start) * ld + c, ld, 1,
            m - c, min(STRIP, last - c), done - late,
        )  # fmt: skip


@inlined
def _exchange_columns(a, m, j, k, ids):
    """Columns j and k change places."""
    if j != k:
        one, other = a[j * m : j * m + m], a[k * m : k * m + m]
        for i in range(m):
            one[i], other[i] = other[i], one[i]
        ids[m + j], ids[m + k] = ids[m + k], ids[m + j]


@kernel
def _exchange(a, m, ld, start, j, k, hermitian, ids):
    """Columns and rows j <= k of a symmetric front change places, and in the panel's ``wide``."""
    if j == k:
        return
    _exchange_rows(a, 0, ld, j, j, k)
    _exchange_rows(a, m * ld, ld, j - start, j, k)
    one, other = pointer(a, j * ld), pointer(a, k * ld)
    across = pointer(a, k)
    for i in range(j + 1, k):
        one[i], across[i * ld] = across[i * ld], one[i]
        if hermitian:
            conjugate(a, i * ld + k, 1)
    if hermitian:
        conjugate(a, j * ld + j + 1, k - j)
    one[j], other[k] = other[k], one[j]
    for i in range(k + 1, m):
        one[i], other[i] = other[i], one[i]
    ids[j], ids[k] = ids[k], ids[j]
    ids[m + j], ids[m + k] = ids[m + k], ids[m + j]


@inlined
def _exchange_rows(a, at, ld, columns, j, k):
    """Rows j and k of columns at ``at`` change places."""
    one, other = pointer(a, at + j), pointer(a, at + k)
    for c in range(columns):
        one[c * ld], other[c * ld] = other[c * ld], one[c * ld]
