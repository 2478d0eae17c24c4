"""Convex hulls of points, found by Qhull: what of a mesh can touch a half-space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Hull", "hull_of"]

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Hull:
    """Convex hull of points, say of a mesh.

    Attributes
    ----------
    corners : ndarray of float, shape (k, 3)
        In the body's frame, m.
    """

    corners: Float


def hull_of(points: Any, label: str) -> Hull:
    """Corners of the convex hull of points; all points where they lie in a plane.

    Parameters
    ----------
    points : array_like, shape (k, 3)
        m.
    label : str
        Of the contact.

    Returns
    -------
    Hull

    Raises
    ------
    ValueError
        For arrays of another shape, none, and numbers that are not finite.
    """
    from scipy.spatial import ConvexHull, QhullError

    given = np.asarray(points, float)
    if given.ndim != 2 or given.shape[1] != 3 or len(given) == 0 or not np.isfinite(given).all():
        raise ValueError(
            f"points of {label} have shape {given.shape}; give finite numbers of shape (k, 3)"
        )
    try:
        return Hull(given[np.sort(ConvexHull(given).vertices)])
    except QhullError:  # flat, or fewer than four
        return Hull(given)
