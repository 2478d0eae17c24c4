"""Geometry on a body: visuals, collision shapes, and named frames."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Frame", "Geometry", "Mesh"]

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Mesh:
    """A surface of triangles; from a file, which is read at its first use.

    Attributes
    ----------
    path : str
        As the file of the mechanism names it, or "" where the surface is given.
    folder : str
        Where a relative path begins.
    scale : ndarray of float, shape (3,)
        Along the axes of the mesh.
    vertices : ndarray of float, shape (v, 3), or None
        Before scaling, m.
    faces : ndarray of int, shape (f, 3), or None
        Corners of each triangle, anticlockwise from outside.
    within : str
        Folder that the file must lie in, links resolved; by default ``folder``.
    """

    path: str
    folder: str
    scale: Float
    vertices: Float | None = None
    faces: NDArray[np.int64] | None = None
    within: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Geometry:
    """A shape and where it sits on its body.

    Attributes
    ----------
    shape : Shape or Mesh
    position : ndarray of float, shape (3,)
        Origin of the shape's frame in the body's, m.
    orientation : ndarray of float, shape (4,)
        The shape's frame to the body's.
    color : ndarray of float, shape (4,), or None
        Red, green, blue and opacity, 0 to 1.
    """

    shape: Any
    position: Float
    orientation: Float
    color: Float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A frame with a name that moves with a body, as a link's of a robot file.

    Attributes
    ----------
    name : hashable
    body : Body or world
    position : ndarray of float, shape (3,)
        Of the frame's origin in the body's frame, m.
    orientation : ndarray of float, shape (4,)
        The frame to the body's.
    """

    name: Hashable
    body: Any
    position: Float
    orientation: Float
