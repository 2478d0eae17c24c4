"""Inertia of one rigid body about any reference point, as a 6 x 6 matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.rotation import as_numbers

__all__ = ["SYMMETRIC", "check_inertia", "skew", "spatial_inertia"]

Float = NDArray[np.float64]

# An inertia is singular where the least eigenvalue, rows and columns scaled to a diagonal of 1, is
# below this: rounding of its entries alone may then make it indefinite.
SINGULAR = 64 * np.finfo(float).eps
# Products like A.T @ A leave entries this far from symmetric, relative to the diagonal.
SYMMETRIC = 1e-12


def spatial_inertia(
    mass: float, inertia: ArrayLike, center_of_mass: ArrayLike = (0.0, 0.0, 0.0)
) -> Float:
    """Inertia of a rigid body about its reference point, (4.4) of Xu and Halse 2016.

    Parameters
    ----------
    mass : float
        kg.
    inertia : array_like, shape (3, 3)
        Inertia about the centre of mass, body axes, kg m^2.
    center_of_mass : array_like, shape (3,)
        Position relative to the reference point, body axes, m.

    Returns
    -------
    ndarray of float, shape (6, 6)
        ``[[J, m S(r)], [-m S(r), m I]]`` with J about the reference point; add the added mass of an
        underwater vehicle to it.

    Raises
    ------
    ValueError
        If the mass is not positive, or a number is not finite.
    """
    m = float(as_numbers(mass, (), "the mass"))
    if m <= 0.0:
        raise ValueError(f"the mass must be positive, it is {m}")
    J = as_numbers(inertia, (3, 3), "the inertia")
    S = skew(as_numbers(center_of_mass, (3,), "the centre of mass"))
    return np.block([[J - m * S @ S, m * S], [-m * S, m * np.eye(3)]])


def skew(a: Float) -> Float:
    """S(a), with ``S(a) b = a x b``."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def check_inertia(matrix: ArrayLike) -> Float:
    """A 6 x 6 inertia that an integrator can use.

    Parameters
    ----------
    matrix : array_like, shape (6, 6)
        About the reference point, for twists ``[omega; v]`` along the body's axes.

    Returns
    -------
    ndarray of float, shape (6, 6)
        The same, symmetric to the last digit; read-only.

    Raises
    ------
    ValueError
        If it is not symmetric, not positive definite or not finite.
    """
    M = as_numbers(matrix, (6, 6), "the inertia")
    d = np.diag(M)
    if d.min() <= 0.0:
        j = int(d.argmin())
        raise ValueError(
            f"the inertia is not positive definite: its entry ({j}, {j}) is {d[j]:.6g}"
        )
    scaled = M / np.sqrt(np.outer(d, d))
    gap = abs(scaled - scaled.T)
    if gap.max() > SYMMETRIC:
        i, k = divmod(int(gap.argmax()), 6)
        raise ValueError(
            f"the inertia is not symmetric: entry ({i}, {k}) is {M[i, k]:.6g}, "
            f"entry ({k}, {i}) is {M[k, i]:.6g}"
        )
    least = float(np.linalg.eigvalsh((scaled + scaled.T) / 2.0)[0])
    if least < SINGULAR:
        kind = "singular" if least > -SINGULAR else "indefinite"
        raise ValueError(
            f"the inertia is {kind}: scaled to a diagonal of 1, its least eigenvalue is {least:.3g}"
        )
    M = (M + M.T) / 2.0
    M.flags.writeable = False
    return M
