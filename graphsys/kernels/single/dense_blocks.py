"""Block triangular systems: dense diagonal blocks by LU with scaled partial pivoting.

Rows and columns are in the order of the form, in which block k is rows ``block[k]`` to
``block[k + 1]``. ``before_index`` and ``before`` are the entries left of the diagonal blocks, in
compressed rows. Factors of block k are column-major at ``place[k]``; blocks without room there are
factorized elsewhere, and only what lies left of them is done here.
"""

from graphsys.kernels.base.jit import inlined, kernel


@kernel
def factorize_dense(block, place, lu, pivot, work, threshold):
    """L U = P A of all dense blocks; the row after the first one without a pivot, or 0.

    Pivots are chosen by size relative to their row. A pivot is none if it is below ``threshold`` of
    the entries of its row and column, both equilibrated. ``work`` has room for two numbers a row
    of the largest block.
    """
    for k in range(block.size - 1):
        first, m, at = block[k], block[k + 1] - block[k], place[k]
        if place[k + 1] == at:
            continue
        if m == 1:
            pivot[first] = 0
            if lu[at] == 0.0 or not abs(lu[at]) < 1e308:
                return first + 1
            continue
        failed = _factorize(lu[at : at + m * m], m, pivot[first : first + m], work, threshold)
        if failed > 0:
            return first + failed
    return 0


@inlined
def _factorize(a, m, pivot, work, threshold):
    """L U = P A of one block, in its place; 1 + the column without a pivot, or 0."""
    for i in range(m):
        work[i] = work[m + i] = 0.0
    for j in range(m):
        for i in range(m):
            work[i] = max(work[i], abs(a[j * m + i]))
    for i in range(m):
        work[i] = 1.0 / work[i] if work[i] > 0.0 else 0.0
    for j in range(m):
        for i in range(m):
            work[m + j] = max(work[m + j], abs(a[j * m + i]) * work[i])
    for k in range(m):
        best, chosen = -1.0, k
        for i in range(k, m):
            size = abs(a[k * m + i]) * work[i]
            if size > best:
                best, chosen = size, i
        if not threshold * work[m + k] < best < 1e300:
            return k + 1
        pivot[k] = chosen
        if chosen != k:
            work[k], work[chosen] = work[chosen], work[k]
            for j in range(m):
                a[j * m + k], a[j * m + chosen] = a[j * m + chosen], a[j * m + k]
        column, inverse = a[k * m : k * m + m], 1.0 / a[k * m + k]
        for i in range(k + 1, m):
            column[i] *= inverse
        for j in range(k + 1, m):
            other = a[j * m : j * m + m]
            factor = other[k]
            if factor != 0.0:
                for i in range(k + 1, m):
                    other[i] -= column[i] * factor
    return 0


@kernel
def solve_dense(
    # Tables:
    block, place, before_start, before_index,
    # In:
    before, lu, pivot, first_block, after_block,
    # In and out:
    x,
):  # fmt: skip
    """x <- A_kk^-1 (x_k - A_k x) for blocks in turn; ``x`` (columns, rows) is b where they are."""
    for c in range(x.shape[0]):
        v = x[c]
        for k in range(first_block, after_block):
            first, m, at = block[k], block[k + 1] - block[k], place[k]
            for i in range(first, first + m):
                for e in range(before_start[i], before_start[i + 1]):
                    v[i] -= before[e] * v[before_index[e]]
            if place[k + 1] == at:
                continue
            if m == 1:
                v[first] /= lu[at]
                continue
            for i in range(m - 1):
                p = first + pivot[first + i]
                v[first + i], v[p] = v[p], v[first + i]
            for i in range(m - 1):
                for r in range(i + 1, m):
                    v[first + r] -= lu[at + i * m + r] * v[first + i]
            for i in range(m - 1, -1, -1):
                v[first + i] /= lu[at + i * m + i]
                for r in range(i):
                    v[first + r] -= lu[at + i * m + r] * v[first + i]


@kernel
def solve_dense_transposed(
    # Tables:
    block, place, before_start, before_index,
    # In:
    before, lu, pivot, first_block, after_block,
    # In and out:
    x,
):  # fmt: skip
    """x_k <- A_kk^-T x_k, then x <- x - A_k^T x_k, for blocks from the last to the first."""
    for c in range(x.shape[0]):
        v = x[c]
        for k in range(after_block - 1, first_block - 1, -1):
            first, m, at = block[k], block[k + 1] - block[k], place[k]
            if place[k + 1] > at:
                for i in range(m):
                    for r in range(i):
                        v[first + i] -= lu[at + i * m + r] * v[first + r]
                    v[first + i] /= lu[at + i * m + i]
                for i in range(m - 2, -1, -1):
                    for r in range(i + 1, m):
                        v[first + i] -= lu[at + i * m + r] * v[first + r]
                for i in range(m - 2, -1, -1):
                    p = first + pivot[first + i]
                    v[first + i], v[p] = v[p], v[first + i]
            for i in range(first, first + m):
                for e in range(before_start[i], before_start[i + 1]):
                    v[before_index[e]] -= before[e] * v[i]
