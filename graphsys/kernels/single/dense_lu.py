"""Dense LU factors with partial pivoting, column-major, in panels."""

from graphsys.kernels.base.jit import inlined, kernel
from graphsys.kernels.base.pointers import pointer
from graphsys.kernels.blocks.blocks import subtract_product

#: Columns that are factorized before all others are updated.
PANEL = 4


@kernel
def factorize_dense(a, at, m, name):
    """L U = P A in the place of A; ``name[i]`` is the row of A that is row i. Columns with pivots.

    The pivots are on the diagonal, and L has ones there.
    """
    for i in range(m):
        name[i] = i
    for start in range(0, m, PANEL):
        end = min(start + PANEL, m)
        for k in range(start, end):
            column = pointer(a, at + k * m)
            row, largest = k, abs(column[k])
            for i in range(k + 1, m):
                size = abs(column[i])
                if size > largest:
                    row, largest = i, size
            if not largest > 0.0:
                return k
            if row != k:
                name[k], name[row] = name[row], name[k]
                one, other = pointer(a, at + k), pointer(a, at + row)
                for c in range(m):
                    one[c * m], other[c * m] = other[c * m], one[c * m]
            inverse = 1.0 / column[k]
            for i in range(k + 1, m):
                column[i] *= inverse
            for c in range(k + 1, end):
                other = pointer(a, at + c * m)
                factor = other[k]
                for i in range(k + 1, m):
                    other[i] -= column[i] * factor
        if end < m:
            _update(a, at, m, start, end)
    return m


@inlined
def _update(a, at, m, start, end):
    """A <- A - L U for the columns after a panel."""
    for c in range(end, m):  # U = L^-1 A
        column = pointer(a, at + c * m)
        for k in range(start, end):
            factor, lower = column[k], pointer(a, at + k * m)
            for i in range(k + 1, end):
                column[i] -= lower[i] * factor
    subtract_product(
        a, at + end * m + end, m, a, at + start * m + end, m, a, at + end * m + start, 1, m,
        m - end, m - end, end - start,
    )  # fmt: skip
