"""Inertia of links whose file gives a mass only: that of their shapes, of one density."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.io.description import Link
from dynamics.parts.geometry import Geometry, Mesh
from dynamics.parts.meshes import corners_of

__all__ = ["shape_inertia"]

Float = NDArray[np.float64]


def shape_inertia(link: Link) -> Float | None:
    """Inertia of a link's collision shapes, or else of what is seen of it, that have its mass.

    Meshes count as their convex hulls, and overlaps twice.

    Parameters
    ----------
    link : Link

    Returns
    -------
    ndarray of float, shape (3, 3), or None
        About the centre of the shapes, along the link's axes. None where no shape has a volume.
    """
    parts = [part for one in link.collisions or link.visuals if (part := _part(one)) is not None]
    volume = sum(part[0] for part in parts)
    if volume <= 0.0:
        return None
    center = sum((part[0] * part[1] for part in parts), np.zeros(3)) / volume
    total = np.zeros((3, 3))
    for v, at, inertia in parts:
        d = at - center
        total += inertia + v * (d @ d * np.eye(3) - np.outer(d, d))
    return np.asarray(link.mass / volume * total)


def _part(geometry: Geometry) -> tuple[float, Float, Float] | None:
    """Volume, centre and inertia about it of a density of 1, in the link's frame."""
    shape, R = geometry.shape, rotation.to_matrix(geometry.orientation)
    if isinstance(shape, Mesh):
        try:
            volume, center, inertia = _hull(corners_of(shape))
        except (ValueError, OSError, IndexError, ImportError):
            return None
    elif getattr(shape, "volume", 0.0) > 0.0:
        volume, center = shape.volume, shape.center_of_mass
        inertia = shape.volume / shape.mass * shape.inertia
    else:
        return None
    return volume, geometry.position + R @ center, R @ inertia @ R.T


def _hull(points: Float) -> tuple[float, Float, Float]:
    """Volume, centre and inertia of the convex hull of points, by tetrahedra from its middle."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(points)
    except QhullError as error:
        raise ValueError("the points lie in a plane") from error
    middle = points[hull.vertices].mean(axis=0)
    a, b, c = np.moveaxis(points[hull.simplices] - middle, 1, 0)
    volumes = np.abs(np.einsum("ij,ij->i", a, np.cross(b, c))) / 6.0
    total = volumes.sum()
    shift = np.einsum("i,ij->j", volumes, a + b + c) / (4.0 * total)
    # second moments of a tetrahedron with a corner in the origin
    s = a + b + c
    moments = np.einsum("i,ij,ik->jk", volumes, s, s)
    for side in (a, b, c):
        moments += np.einsum("i,ij,ik->jk", volumes, side, side)
    moments = moments / 20.0 - total * np.outer(shift, shift)
    return float(total), middle + shift, np.trace(moments) * np.eye(3) - moments
