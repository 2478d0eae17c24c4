"""Geometry on a body: visuals, collision shapes with their surfaces, and named frames."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Frame", "Geometry", "Mesh", "Surface"]

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

    def __repr__(self) -> str:
        found = "from a file" if self.faces is None else f"{len(self.faces)} triangles"
        return f"Mesh({self.path!r}, {found})"


@dataclass(frozen=True, slots=True)
class Surface:
    """Friction and filters of a collision shape, as robot files give them.

    Attributes
    ----------
    friction : float
        Coefficient of sliding friction.
    torsional, rolling : float
        Coefficients of torsional and rolling friction, m.
    dimensions : {1, 3, 4, 6}
        1 is without friction, 3 slides, 4 also twists, 6 also rolls (MJCF's ``condim``).
    kind, touches : int
        Bits of what it is and of what it touches (``contype``, ``conaffinity``).
    priority : int or None
        Of two numbers the higher one's surface alone counts (MJCF's ``priority``).
    """

    friction: float = 0.5
    torsional: float = 0.0
    rolling: float = 0.0
    dimensions: int = 3
    kind: int = 1
    touches: int = 1
    priority: int | None = None

    def meets(self, other: Surface) -> bool:
        """True if the filters of the two let them touch.

        Parameters
        ----------
        other : Surface

        Returns
        -------
        bool
        """
        return bool(self.kind & other.touches or other.kind & self.touches)

    def against(self, other: Surface) -> dict[str, float]:
        """Coefficients of a contact with another surface, as in MuJoCo.

        They are those of the surface of higher priority, or else the larger of each.

        Parameters
        ----------
        other : Surface

        Returns
        -------
        dict of float
            ``friction``, ``torsional`` and ``rolling``.
        """
        both: tuple[Surface, ...] = (self, other)
        if self.priority is not None and other.priority is not None:
            first = max(self.priority, other.priority)
            both = tuple(one for one in both if one.priority == first)
        dimensions = max(one.dimensions for one in both)
        names = (("friction", 3), ("torsional", 4), ("rolling", 6))
        return {
            name: max(getattr(one, name) for one in both) if dimensions >= least else 0.0
            for name, least in names
        }


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
    surface : Surface or None
        Of a collision shape; None where the file says nothing of it.
    name : str or None
        In the file.
    labels : tuple of str
        By which the file leaves out pairs: that of its link, and the path of a USD prim.
    """

    shape: Any
    position: Float
    orientation: Float
    color: Float | None = None
    surface: Surface | None = None
    name: str | None = None
    labels: tuple[str, ...] = ()


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
