"""Distances along rays to the surfaces of shapes, of many rays at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.parts.contact_primitives import HalfSpace
from dynamics.parts.geometry import Geometry, Mesh
from dynamics.parts.meshes import corners_of
from dynamics.parts.shapes import Box, Capsule, Compound, Ellipsoid, Round, Sphere

__all__ = ["reach_of", "simple_shapes", "surface_distance"]

Float = NDArray[np.float64]
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


def simple_shapes(shape: Any) -> Iterator[tuple[Any, Float, Float]]:
    """Shapes that `surface_distance` takes, each with its place; compounds in parts.

    Parameters
    ----------
    shape : Shape, HalfSpace or Geometry
        Of a mesh the triangles, shape (t, 3, 3).

    Yields
    ------
    tuple of Shape, HalfSpace or ndarray, and ndarray of float, shapes (3,) and (4,)
        Origin of the shape's frame, and orientation.
    """
    if isinstance(shape, Geometry):
        for inner, x, q in simple_shapes(shape.shape):
            place = shape.position + rotation.rotate(shape.orientation, x)
            yield inner, place, rotation.multiply(shape.orientation, q)
    elif isinstance(shape, Compound):
        for part in shape.parts:
            for inner, x, q in simple_shapes(part.shape):
                place = part.position + rotation.rotate(part.orientation, x)
                yield inner, place, rotation.multiply(part.orientation, q)
    elif isinstance(shape, Mesh):
        yield corners_of(shape).reshape(-1, 3, 3), np.zeros(3), IDENTITY
    elif isinstance(shape, Round):
        q = rotation.align((0.0, 0.0, 1.0), shape.axis)
        yield shape, np.zeros(3), q
    else:
        yield shape, np.zeros(3), IDENTITY


def reach_of(shape: Any) -> float:
    """Radius about the origin of a simple shape's frame that holds it, m; inf for a half-space."""
    if isinstance(shape, HalfSpace):
        return float("inf")
    if isinstance(shape, np.ndarray):
        return float(np.linalg.norm(shape.reshape(-1, 3), axis=1).max(initial=0.0))
    if isinstance(shape, Box):
        return 0.5 * float(np.linalg.norm([shape.x, shape.y, shape.z]))
    if isinstance(shape, Ellipsoid):
        return float(max(shape.x, shape.y, shape.z))
    return float(shape.radius) + (0.5 * float(shape.length) if isinstance(shape, Round) else 0.0)


def surface_distance(shape: Any, origin: Float, direction: Float) -> Float:
    """Distance to the first point of a surface, also from within; inf where there is none.

    Parameters
    ----------
    shape : Shape, HalfSpace or ndarray of float, shape (t, 3, 3)
        Solids of revolution lie along z.
    origin, direction : ndarray of float, shape (k, 3)
        In the shape's frame; directions of length one.

    Returns
    -------
    ndarray of float, shape (k,)
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if isinstance(shape, np.ndarray):
            return np.array([_triangles(shape, o, d) for o, d in zip(origin, direction)])
        if isinstance(shape, HalfSpace):
            n = np.asarray(shape.normal)
            found = [((np.asarray(shape.point) - origin) @ n / (direction @ n), True)]
        elif isinstance(shape, Box):
            found = list(_box(0.5 * np.array([shape.x, shape.y, shape.z]), origin, direction))
        elif isinstance(shape, Sphere):
            found = [(t, True) for t in _ball(shape.radius, 3, origin, direction)]
        elif isinstance(shape, Ellipsoid):
            half = np.array([shape.x, shape.y, shape.z])
            found = [(t, True) for t in _ball(1.0, 3, origin / half, direction / half)]
        else:
            found = list(_round(shape, origin, direction))
        ways = [np.where((t >= 0.0) & on, t, np.inf) for t, on in found]
    return np.asarray(np.min(ways, axis=0))


def _box(half: Float, origin: Float, direction: Float) -> Iterator[tuple[Float, Any]]:
    """Ways to the six planes, and whether they lead to a face."""
    for i in range(3):
        others = [j for j in range(3) if j != i]
        for sign in (-1.0, 1.0):
            t = (sign * half[i] - origin[:, i]) / direction[:, i]
            at = origin[:, others] + t[:, None] * direction[:, others]
            yield t, (np.abs(at) <= half[others]).all(axis=1)


def _ball(radius: float, axes: int, origin: Float, direction: Float) -> tuple[Float, Float]:
    """Both ways to a sphere, or with two axes to an infinite cylinder along z; nan for none."""
    o, d = origin[:, :axes], direction[:, :axes]
    a, b = (d * d).sum(axis=1), (o * d).sum(axis=1)
    nearest = o - (b / a)[:, None] * d  # loses no digits far away
    root = np.sqrt((radius**2 - (nearest * nearest).sum(axis=1)) / a)
    return -b / a - root, -b / a + root


def _round(shape: Any, origin: Float, direction: Float) -> Iterator[tuple[Float, Any]]:
    """Ways to the side of a cylinder, capsule or rod and to its ends."""
    radius, half = float(shape.radius), 0.5 * float(shape.length)
    if radius == 0.0:  # no ray meets a line
        yield np.full(len(origin), np.inf), True
        return
    for t in _ball(radius, 2, origin, direction):
        yield t, np.abs(origin[:, 2] + t * direction[:, 2]) <= half
    for end in (-half, half):
        if not isinstance(shape, Capsule):
            t = (end - origin[:, 2]) / direction[:, 2]
            at = origin[:, :2] + t[:, None] * direction[:, :2]
            yield t, (at * at).sum(axis=1) <= radius**2
            continue
        for t in _ball(radius, 3, origin - [0.0, 0.0, end], direction):
            z = origin[:, 2] + t * direction[:, 2]
            yield t, (z - end) * np.sign(end) >= 0.0


def _triangles(corners: Float, origin: Float, direction: Float) -> float:
    """Distance along one ray to triangles (Moeller and Trumbore 1997), seen from both sides."""
    a, u, v = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(direction, v)
    scale = 1.0 / (u * across).sum(axis=1)
    arm = origin - a
    one = scale * (arm * across).sum(axis=1)
    normal = np.cross(arm, u)
    two = scale * (normal @ direction)
    t = scale * (v * normal).sum(axis=1)
    on = (one >= 0.0) & (two >= 0.0) & (one + two <= 1.0) & (t >= 0.0)
    return float(np.where(on, t, np.inf).min(initial=np.inf))
