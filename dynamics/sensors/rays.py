"""Shapes that rays meet, as numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.kernels.observables import rays as kinds
from dynamics.parts.contact_primitives import HalfSpace
from dynamics.parts.geometry import Geometry, Mesh
from dynamics.parts.meshes import corners_of
from dynamics.parts.shapes import Box, Capsule, Compound, Ellipsoid, Round, Sphere

__all__ = ["Simple", "simple_shapes"]

Float = NDArray[np.float64]
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
UP = (0.0, 0.0, 1.0)


class Simple(NamedTuple):
    """A shape that rays meet.

    Attributes
    ----------
    kind : int
        See `dynamics.kernels.observables.rays`.
    position : ndarray of float, shape (3,)
        Of its own frame.
    orientation : ndarray of float, shape (4,)
    sizes : tuple of float
        Three numbers.
    reach : float
        Radius about the position that holds the shape, m; inf for half-spaces.
    triangles : ndarray of float, shape (t, 9)
        Corners of a mesh, in its own frame.
    """

    kind: int
    position: Float
    orientation: Float
    sizes: tuple[float, float, float] = (0.0, 0.0, 0.0)
    reach: float = float("inf")
    triangles: Float = np.zeros((0, 9))


def simple_shapes(shape: Any) -> Iterator[Simple]:
    """Shapes that rays meet; compounds in parts, and nothing of a line.

    Parameters
    ----------
    shape : Shape, HalfSpace or Geometry

    Yields
    ------
    Simple
    """
    origin = np.zeros(3)
    if isinstance(shape, Geometry):
        yield from _placed(shape)
    elif isinstance(shape, Compound):
        for part in shape.parts:
            yield from _placed(part)
    elif isinstance(shape, HalfSpace):
        turned = rotation.align(UP, shape.normal)
        yield Simple(kinds.HALF_SPACE, np.asarray(shape.point), turned)
    elif isinstance(shape, Mesh):
        corners = corners_of(shape).reshape(-1, 3)
        reach = float(np.linalg.norm(corners, axis=1).max(initial=0.0))
        sizes = (0.0, 0.0, 0.0)
        yield Simple(kinds.TRIANGLES, origin, IDENTITY, sizes, reach, corners.reshape(-1, 9))
    elif isinstance(shape, Box):
        sizes = (0.5 * shape.x, 0.5 * shape.y, 0.5 * shape.z)
        yield Simple(kinds.BOX, origin, IDENTITY, sizes, float(np.linalg.norm(sizes)))
    elif isinstance(shape, Sphere):
        sizes = (shape.radius, shape.radius, shape.radius)
        yield Simple(kinds.ELLIPSOID, origin, IDENTITY, sizes, shape.radius)
    elif isinstance(shape, Ellipsoid):
        sizes = (shape.x, shape.y, shape.z)
        yield Simple(kinds.ELLIPSOID, origin, IDENTITY, sizes, max(sizes))
    elif isinstance(shape, Round) and shape.radius > 0.0:
        kind = kinds.CAPSULE if isinstance(shape, Capsule) else kinds.CYLINDER
        sizes = (shape.radius, 0.5 * shape.length, 0.0)
        yield Simple(kind, origin, rotation.align(UP, shape.axis), sizes, sizes[0] + sizes[1])


def _placed(part: Any) -> Iterator[Simple]:
    """Simple shapes of a geometry or of a part of a compound."""
    for inner in simple_shapes(part.shape):
        position = part.position + rotation.rotate(part.orientation, inner.position)
        turned = rotation.multiply(part.orientation, inner.orientation)
        yield inner._replace(position=position, orientation=turned)
