"""Inverse of a block of 9 to 16 rows from the inverses of two halves, in registers.

Elimination of the first half: with X = A11^-1, W = X A12, S = A22 - A21 W, Y = S^-1, V = A21 X the
inverse is [X + W Y V, -W Y; -Y V, Y]. Rows are exchanged within the halves only; where that costs
digits the block is inverted whole, with every row to choose from.
"""

from graphsys.kernels.base.jit import inlined
from graphsys.kernels.blocks.blocks import (
    assign_product,
    copy_block,
    invert_small,
    raise_magnitude,
    subtract_product,
)
from graphsys.kernels.blocks.large import invert_large

#: Largest block inverted by halves: 0.45 of the time of panels, with 9 complex rows 0.86.
MEDIUM = 16
#: Numbers of workspace: four halves of halves.
MEDIUM_WORK = 256
#: Least pivot, relative to its row in the whole block, for which halves are accurate enough.
GOOD = 0.01


@inlined
def invert_medium(d, d_at, ldd, a, a_at, lda, s, s_at, n, work, work_at):
    """D <- A^-1 for 9 to 16 rows; smallest |pivot| / s, at most 1. D may be A."""
    p = (n + 1) // 2
    r = n - p
    right, below = a_at + p * lda, a_at + p
    x, w, v, y = work_at, work_at + 64, work_at + 128, work_at + 192
    raise_magnitude(s, s_at, a, a_at, lda, n, n)
    ratio = invert_small(work, x, p, a, a_at, lda, work, y, s, s_at, p)
    if ratio > GOOD:
        assign_product(work, w, p, work, x, p, a, right, 1, lda, p, r, p)
        copy_block(work, y, r, a, right + p, lda, r, r)
        subtract_product(work, y, r, a, below, lda, work, w, 1, p, r, r, p)
        second = invert_small(work, y, r, work, y, r, work, v, s, s_at + p, r)
        if not (second >= ratio):  # a NaN is taken, where `min` drops it
            ratio = second
    if not (ratio > GOOD):
        return invert_large(d, d_at, ldd, a, a_at, lda, s, s_at, n)
    assign_product(work, v, r, a, below, lda, work, x, 1, p, r, p, p)
    # D21 <- -Y V, then D11 = X - W D21
    lower, upper = d_at + p, d_at + p * ldd
    for j in range(p):
        for i in range(r):
            d[lower + j * ldd + i] = 0.0
    subtract_product(d, lower, ldd, work, y, r, work, v, 1, r, r, p, r)
    copy_block(d, d_at, ldd, work, x, p, p, p)
    subtract_product(d, d_at, ldd, work, w, p, d, lower, 1, ldd, p, p, r)
    for j in range(r):
        for i in range(p):
            d[upper + j * ldd + i] = 0.0
    subtract_product(d, upper, ldd, work, w, p, work, y, 1, r, p, r, r)
    copy_block(d, upper + p, ldd, work, y, r, r, r)
    return ratio
