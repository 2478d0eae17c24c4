"""Determinant and definiteness of the inverse pivot blocks."""

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


@kernel
def definite_signs(
    # Tables:
    places,
    # In:
    arena,
    margin,
    # Work:
    block,
    # Out:
    sign,
):
    """Sign of each block X that is definite by far, else 0: Cholesky's method for X - margin D(X).

    X and X^H may differ by as much. ``places`` as in `log_determinant`.
    """
    for b in range(places.shape[1]):
        at, ld, w = places[0, b], places[1, b], places[2, b]
        sign[b] = 1 if arena[at].real > 0.0 else -1
        for c in range(w):
            for r in range(c, w):
                lower, upper = arena[at + r + c * ld], np.conj(arena[at + c + r * ld])
                block[r + c * w] = sign[b] * lower
                own, other = arena[at + r + r * ld].real, arena[at + c + c * ld].real
                most = margin * np.sqrt(abs(own)) * np.sqrt(abs(other))
                if not w * abs(lower - upper) <= most:
                    sign[b] = 0
        for c in range(w):
            block[c + c * w] *= 1.0 - margin
        for k in range(w):
            pivot = block[k + k * w].real
            if not pivot > 0.0:
                sign[b] = 0
                break
            for c in range(k + 1, w):
                factor = np.conj(block[c + k * w]) / pivot
                for r in range(c, w):
                    block[r + c * w] -= factor * block[r + k * w]
