"""Height fields as convex prisms, two for each cell of the grid."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.parts.geometry import Mesh

__all__ = ["checked_field", "prisms"]

Float = NDArray[np.float64]
#: Faces of a prism: corners 0 to 2 are its top, anticlockwise, 3 to 5 its bottom below them.
FACES = np.array(
    [[0, 1, 2], [5, 4, 3], [0, 3, 1], [1, 3, 4], [1, 4, 2], [2, 4, 5], [2, 5, 0], [0, 5, 3]]
)
#: Thickness below the lowest point, over the way across the field.
THICKNESS = 0.1


def checked_field(x: Any, y: Any, heights: Any, bottom: float | None, label: str) -> Any:
    """Grid and bottom of a height field as numbers.

    Parameters
    ----------
    x : array_like, shape (n,)
    y : array_like, shape (m,)
    heights : array_like, shape (n, m)
    bottom : float or None
    label : str

    Returns
    -------
    tuple of ndarray and float

    Raises
    ------
    ValueError
        For coordinates that do not ascend, heights of another shape, and a bottom above them.
    """
    x, y = (
        rotation.as_numbers(one, (...,), f"{axis} of {label}") for one, axis in ((x, "x"), (y, "y"))
    )
    for one, axis in ((x, "x"), (y, "y")):
        if one.ndim != 1 or one.size < 2 or not (np.diff(one) > 0.0).all():
            raise ValueError(f"{axis} of {label} must be two or more ascending numbers")
    z = rotation.as_numbers(heights, (x.size, y.size), f"heights of {label}")
    if bottom is None:
        bottom = float(z.min() - THICKNESS * max(np.ptp(x), np.ptp(y)))
    if not bottom < z.min():
        raise ValueError(f"bottom of {label} is {bottom}, and must be below {z.min():.6g}")
    return x, y, z, float(bottom)


def prisms(x: Float, y: Float, z: Float, bottom: float) -> Iterator[Mesh]:
    """Prisms below the triangles of a grid, cut from the corner (x, y) to (x + dx, y + dy).

    Parameters
    ----------
    x : ndarray of float, shape (n,)
        Ascending, m.
    y : ndarray of float, shape (m,)
        Ascending, m.
    z : ndarray of float, shape (n, m)
        Heights, m.
    bottom : float
        Below all heights, m.

    Yields
    ------
    Mesh
    """
    for i, j in np.ndindex(x.size - 1, y.size - 1):
        for corners in (((0, 0), (1, 1), (0, 1)), ((0, 0), (1, 0), (1, 1))):
            top = np.array([(x[i + a], y[j + b], z[i + a, j + b]) for a, b in corners])
            low = np.column_stack([top[:, :2], np.full(3, bottom)])
            yield Mesh("", "", np.ones(3), np.concatenate([top, low]), FACES)
