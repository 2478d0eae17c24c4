"""Rows of a joint recombined, so that compliance and damping are diagonal.

With the constraints g and their forces lambda, a compliance C and a damping D say g = -C (lambda +
D dg/dt). The rows T g have the forces T^-T lambda, the compliance T C T^T and the damping T^-T D
T^-1. We scale C to a diagonal of 1, which takes the units out, and split it into its null space,
whose combinations of rows stay rigid, and its range. In coordinates of the range in which C is 1,
we take the eigenvectors of D. Damping of what is rigid does nothing and is left out.

Kernels multiply rows by T in place: T = L U, with its rows in an order that needs no pivots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Recombination", "of_loose_rows", "recombined"]

Float = NDArray[np.float64]

#: Eigenvalues of a compliance, scaled to a diagonal of 1, below which combinations are rigid.
RIGID = 1e-12


class Recombination(NamedTuple):
    """Rows T g with a diagonal compliance and damping.

    Attributes
    ----------
    rows : ndarray of float, shape (n, n), or None
        T; None leaves the rows as they are.
    factors : ndarray of float, shape (n, n)
        L below the diagonal, and U.
    compliance, damping : ndarray of float, shape (n,)
        Of the rows T g.
    """

    rows: Float | None
    factors: Float
    compliance: Float
    damping: Float


def recombined(compliance: ArrayLike, damping: ArrayLike, n: int) -> Recombination:
    """Find rows with a diagonal compliance and damping.

    Parameters
    ----------
    compliance, damping : float or array_like, shape (n, n)
        Symmetric positive semidefinite.
    n : int
        Number of rows.

    Returns
    -------
    Recombination
    """
    if np.ndim(compliance) == np.ndim(damping) == 0:
        return Recombination(None, np.eye(n), np.full(n, compliance), np.full(n, damping))
    C, D = _matrix(compliance, n), _matrix(damping, n)
    loose = np.diag(C) > 0.0
    if _is_diagonal(C) and _is_diagonal(D[np.ix_(loose, loose)]):
        return Recombination(None, np.eye(n), np.diag(C).copy(), np.diag(D).copy())
    size = np.sqrt(np.where(loose, np.diag(C), 1.0))
    soft, Q = np.linalg.eigh((C / np.outer(size, size))[np.ix_(loose, loose)])
    held = soft <= RIGID * n
    T, c, d = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    rigid = n - int((~held).sum())
    T[: n - int(loose.sum()), ~loose] = np.eye(n)[~loose][:, ~loose]
    T[n - int(loose.sum()) : rigid, loose] = Q[:, held].T / size[loose]
    # g = B z for rows z of the range, in which C is 1
    B = size[loose, None] * Q[:, ~held] * np.sqrt(soft[~held])
    slow, R = np.linalg.eigh(B.T @ D[np.ix_(loose, loose)] @ B)
    T[rigid:, loose] = (R.T / np.sqrt(soft[~held])) @ Q[:, ~held].T / size[loose]
    c[rigid:], d[rigid:] = 1.0, np.maximum(slow, 0.0)
    length = np.linalg.norm(T, axis=1)
    T /= length[:, None]
    c, d = c / length**2, d * length**2
    from scipy.linalg import lu  # its import takes longer than a first motion

    place, L, U = lu(T, p_indices=True)
    order = np.argsort(place)
    return Recombination(T[order], np.tril(L, -1) + U, c[order], d[order])


def of_loose_rows(
    compliance: ArrayLike, damping: ArrayLike, n: int
) -> tuple[NDArray[np.bool_], Recombination]:
    """Find the rows that give way at all, and recombine these alone.

    Parameters
    ----------
    compliance, damping : float or array_like, shape (n, n)
    n : int

    Returns
    -------
    loose : ndarray of bool, shape (n,)
    Recombination
        Of those rows.
    """
    C, D = _matrix(compliance, n), _matrix(damping, n)
    loose = np.diag(C) > 0.0
    own = np.ix_(loose, loose)
    return loose, recombined(C[own], D[own], int(loose.sum()))


def _matrix(value: ArrayLike, n: int) -> Float:
    """A matrix, or a number on its diagonal."""
    given = np.asarray(value, float)
    return given * np.eye(n) if given.ndim == 0 else given


def _is_diagonal(matrix: Float) -> bool:
    """True if there is nothing off the diagonal."""
    return not (matrix - np.diag(np.diag(matrix))).any()
