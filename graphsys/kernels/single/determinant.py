"""Determinant of the inverse pivot blocks."""

import numpy as np

from graphsys.kernels.base.jit import kernel
from graphsys.kernels.single.dense_lu import factorize_dense


@kernel
def log_determinant(
    # Tables:
    places,
    # In:
    arena,
    # Work:
    block,
    name,
    # Out:
    sign,
):
    """Sum of log |det X| over blocks X, by LU with partial pivoting.

    ``sign[0]`` is the product of det X / |det X|. ``places`` has the place, leading dimension and
    size of each block, as `pivot_blocks`.
    """
    logarithm, sign[0] = 0.0, 1.0
    for b in range(places.shape[1]):
        at, ld, w = places[0, b], places[1, b], places[2, b]
        for c in range(w):
            for r in range(w):
                block[r + c * w] = arena[at + r + c * ld]
        if factorize_dense(block, 0, w, name) < w:
            sign[0] = 0.0
            return -np.inf
        for k in range(w):
            pivot = block[k + k * w]
            size = abs(pivot)
            sign[0] *= pivot / size
            logarithm += np.log(np.float64(size))
            while name[k] != k:  # each exchange puts one row where it belongs
                row = name[k]
                name[k], name[row] = name[row], row
                sign[0] = -sign[0]
    return logarithm
