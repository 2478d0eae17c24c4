"""Compliance and damping of a joint's constraints: one number, one a row, or a matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["check_semidefinite", "softness_of"]

Float = NDArray[np.float64]

#: Asymmetry, and negative eigenvalues, that rounding makes, over the roots of the diagonal.
ROUNDING = 1e-10


def softness_of(value: Any, n: int, what: str, label: str) -> float | Float:
    """Check the compliance or the damping of constraints.

    Parameters
    ----------
    value : float or array_like, shape (n,) or (n, n)
    n : int
        Number of constraints.
    what, label : str
        Option, and whose it is.

    Returns
    -------
    float, or ndarray of float, shape (n, n)

    Raises
    ------
    ValueError
        If it is not finite, has the wrong shape, or is not symmetric positive semidefinite.
    """
    numbers = np.array(value, np.float64)
    if numbers.ndim == 0:
        if not (math.isfinite(numbers) and numbers >= 0.0):
            raise ValueError(f"{what} of {label} must be finite and not negative")
        return float(numbers)
    if numbers.shape not in ((n,), (n, n)):
        raise ValueError(
            f"{what} of {label} has shape {numbers.shape}; give one number, or shape ({n},) or "
            f"({n}, {n}), for its {n} constraints"
        )
    matrix = np.diag(numbers) if numbers.ndim == 1 else numbers
    check_semidefinite(matrix, f"{what} of {label}")
    matrix = 0.5 * (matrix + matrix.T)
    matrix.flags.writeable = False
    return matrix


def check_semidefinite(matrix: ArrayLike, label: str) -> None:
    """Refuse a matrix that is not symmetric positive semidefinite, whatever its rows' units.

    Parameters
    ----------
    matrix : array_like, shape (n, n)
    label : str
        What it is.

    Raises
    ------
    ValueError
    """
    given = np.asarray(matrix, float)
    if not np.isfinite(given).all():
        raise ValueError(f"{label} must be finite")
    diagonal = np.diag(given)
    if (diagonal < 0.0).any():
        raise ValueError(f"{label} must not be negative: its diagonal is {diagonal}")
    root = np.sqrt(diagonal)
    size = np.outer(root, root)
    if (np.abs(given - given.T) > ROUNDING * size).any():
        raise ValueError(f"{label} must be symmetric")
    if (np.abs(given[size == 0.0]) > 0.0).any():
        raise ValueError(f"{label} is not positive semidefinite: a row with 0 on its diagonal is 0")
    scaled = np.divide(given, size, out=np.zeros_like(given), where=size > 0.0)
    least = np.linalg.eigvalsh(scaled)[0] if given.size else 0.0
    if least < -ROUNDING:
        raise ValueError(f"{label} is not positive semidefinite: scaled to 1, it has {least:.3g}")
