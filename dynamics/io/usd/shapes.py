"""Geometry of USD's prims in the frames of bodies, with colours and what a collider has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics.io.description import Pose
from dynamics.io.facets import cone, parallelepiped
from dynamics.io.notes import Notes
from dynamics.io.usd.stage import Stage, authored
from dynamics.parts.geometry import Geometry, Mesh
from dynamics.parts.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere, positive

__all__ = ["Shapes", "axis_of", "extent_of"]

Float = NDArray[np.float64]
AXES = {"X": 0, "Y": 1, "Z": 2}
#: Scales that differ by less than this are meant to be one.
MEANT = 1e-6
#: Solids of revolution with an axis.
ROUND = ("Cylinder", "Capsule", "Cone", "Cylinder_1", "Capsule_1")
UNIT_DENSITY = 1.0


class Shapes:
    """Reader of geometry.

    Parameters
    ----------
    stage : Stage
    notes : Notes
    """

    def __init__(self, stage: Stage, notes: Notes) -> None:
        self.stage, self.notes = stage, notes
        self.made: dict[str, Geometry | None] = {}

    def read(self, prim: Any, frame: Pose) -> Geometry | None:
        """Shape of a prim in a frame, always the same one; None where there is none here.

        Parameters
        ----------
        prim : pxr.Usd.Prim
        frame : Pose
            In the world.

        Returns
        -------
        Geometry or None

        Raises
        ------
        ValueError
            For sizes that are not positive, and meshes with faces of corners that they lack.
        """
        path = str(prim.GetPath())
        if path not in self.made:
            self.made[path] = self._read(prim, frame)
        return self.made[path]

    def _read(self, prim: Any, frame: Pose) -> Geometry | None:
        """Shape of a prim in a frame."""
        label = self.stage.name(prim)
        pose, scales, matrix, origin = self.stage.inside(prim, frame)
        kind = str(prim.GetTypeName())
        try:
            if kind == "Mesh":
                made = self._mesh(prim, matrix, origin)
                return None if made is None else Geometry(made, np.zeros(3), Pose().orientation)
            if _is_sheared(matrix) and kind in ("Sphere", *ROUND):
                self.notes.merge("sheared shapes are taken without their shear", prim.GetPath())
            if _is_sheared(matrix) and kind == "Cube":
                self.notes.merge("sheared cubes are meshes", prim.GetPath())
                size = positive(self._value(prim, "size"), "size of a cube")
                made = parallelepiped(0.5 * size * matrix, origin)
                return Geometry(made, np.zeros(3), Pose().orientation)
            shape = self._shape(prim, kind, scales)
        except ValueError as error:
            if str(error).startswith(self.stage.path.name):
                raise
            raise ValueError(f"{label}: {error}") from None
        if shape is None:
            return None
        return Geometry(shape, pose.position, pose.orientation)

    def _value(self, prim: Any, name: str) -> Any:
        """Value of an attribute; a number is finite."""
        value = prim.GetAttribute(name).Get()
        if isinstance(value, float) and not np.isfinite(value):
            raise ValueError(f"its {name} is {value}")
        return value

    def _shape(self, prim: Any, kind: str, scales: Float) -> Any:
        path = str(prim.GetPath())
        if kind == "Cube":
            return Box(*(scales * self._value(prim, "size")), density=UNIT_DENSITY)
        if kind == "Sphere":
            radii = scales * self._value(prim, "radius")
            if np.ptp(radii) <= MEANT * radii.max():
                return Sphere(float(radii.mean()), density=UNIT_DENSITY)
            return Ellipsoid(*radii, density=UNIT_DENSITY)
        if kind in ROUND:
            return self._round(prim, kind, scales, path)
        self.notes.leave_out(f"{kind} as a geometry", path)
        return None

    def _round(self, prim: Any, kind: str, scales: Float, path: str) -> Any:
        """A solid of revolution; along its axis and across it by the scales of these."""
        k = axis_of(prim, self.stage)
        n = np.eye(3)[k]
        across = np.delete(scales, k)
        if np.ptp(across) > MEANT * across.max():
            self.notes.merge("round shapes with unequal scales have the larger radius", path)
        if kind.endswith("_1"):
            ends = [float(self._value(prim, f"radius{end}")) for end in ("Top", "Bottom")]
            if ends[0] != ends[1]:
                self.notes.leave_out(f"{kind} of two radii as a geometry", path)
                return None
            size = ends[0]
        else:
            size = float(self._value(prim, "radius"))
        radius = size * float(across.max())
        length = float(scales[k]) * float(self._value(prim, "height"))
        if kind == "Cone":
            self.notes.merge("cones are meshes", path)
            return cone(radius, length, n)
        if kind.startswith("Capsule"):
            if length == 0.0:
                return Sphere(radius, density=UNIT_DENSITY)
            return Capsule(radius, length, density=UNIT_DENSITY, axis=n)
        return Cylinder(radius, length, density=UNIT_DENSITY, axis=n)

    def _mesh(self, prim: Any, matrix: Float, origin: Float) -> Mesh | None:
        """Triangles of a mesh in the frame."""
        label = self.stage.name(prim)
        points, corners, counts = (
            self._value(prim, name) for name in ("points", "faceVertexIndices", "faceVertexCounts")
        )
        if not points or not corners or not counts:
            self.notes.leave_out("meshes without faces", prim.GetPath())
            return None
        vertices = np.asarray(points, np.float64)
        index, count = np.asarray(corners, np.int64), np.asarray(counts, np.int64)
        if not np.isfinite(vertices).all():
            raise ValueError(f"{label} has points that are not finite numbers")
        vertices = vertices @ matrix.T + origin
        if (count < 0).any() or count.sum() != len(index):
            raise ValueError(f"{label}: faceVertexCounts do not add up to its faceVertexIndices")
        if (index < 0).any() or (index >= len(vertices)).any():
            raise ValueError(f"{label} has faces of points that it has not: there are "
                             f"{len(vertices)}")  # fmt: skip
        start = np.cumsum(count) - count
        fans = [
            np.column_stack([index[at], index[at + j], index[at + j + 1]])
            for j in range(1, int(count.max(initial=0)) - 1)
            for at in [start[count > j + 1]]
        ]
        faces = np.concatenate([np.zeros((0, 3), np.int64), *fans])
        left = str(self._value(prim, "orientation")) == "leftHanded"
        if left != (np.linalg.det(matrix) < 0.0):
            faces = faces[:, ::-1]
        return Mesh("", "", np.ones(3), vertices, np.ascontiguousarray(faces))

    # Looks

    def is_seen(self, prim: Any) -> bool:
        """True if a prim is drawn: visible, and no guide or proxy."""
        image = self.stage.pxr.UsdGeom.Imageable(prim)
        if str(image.ComputePurpose()) not in ("default", "render"):
            return False
        return str(image.ComputeVisibility()) != "invisible"

    def color(self, prim: Any) -> Float | None:
        """Colour of a prim: its own, or that of its material.

        Parameters
        ----------
        prim : pxr.Usd.Prim

        Returns
        -------
        ndarray of float, shape (4,), or None
        """
        gprim = self.stage.pxr.UsdGeom.Gprim(prim)
        rgb = gprim.GetDisplayColorAttr().Get()
        if rgb is not None and len(rgb):
            alpha = gprim.GetDisplayOpacityAttr().Get()
            opacity = float(alpha[0]) if alpha is not None and len(alpha) else 1.0
            return self._clipped([*rgb[0], opacity])
        shade = self.stage.pxr.UsdShade
        material = shade.MaterialBindingAPI(prim).ComputeBoundMaterial()[0]
        if not material:
            return None
        shader = material.ComputeSurfaceSource()[0]
        found = shader.GetInput("diffuseColor") if shader else None
        value = found.Get() if found else None
        return None if value is None else self._clipped([*value, 1.0])

    @staticmethod
    def _clipped(color: list[float]) -> Float | None:
        values = np.clip([authored(x) for x in color], 0.0, 1.0)
        return values if np.isfinite(values).all() else None


def _is_sheared(matrix: Float) -> bool:
    """True if the axes of a frame are not at right angles, by scales above its turn."""
    unit = matrix / np.maximum(np.linalg.norm(matrix, axis=0), 1e-300)
    return bool(np.abs(unit.T @ unit - np.eye(3)).max() > MEANT)


def axis_of(prim: Any, stage: Stage) -> int:
    """Number of the axis that a prim has.

    Parameters
    ----------
    prim : pxr.Usd.Prim
    stage : Stage

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If it is none of X, Y and Z.
    """
    text = str(prim.GetAttribute("axis").Get())
    if text not in AXES:
        raise ValueError(f"{stage.name(prim)} has the axis {text!r}, and must have X, Y or Z")
    return AXES[text]


def extent_of(geometry: Geometry, label: str) -> tuple[float, Float, Float]:
    """Volume, inertia at a density of 1 about the centre of mass, and that centre.

    Parameters
    ----------
    geometry : Geometry
    label : str
        For messages.

    Returns
    -------
    volume : float
        m^3.
    inertia : ndarray of float, shape (3, 3)
        Along the axes of the geometry's own frame, m^5.
    center : ndarray of float, shape (3,)
        In that frame, m.

    Raises
    ------
    ValueError
        For meshes that enclose nothing.
    """
    shape = geometry.shape
    if not isinstance(shape, Mesh):
        return shape.volume, shape.inertia, shape.center_of_mass
    assert shape.vertices is not None and shape.faces is not None
    corners = shape.vertices[shape.faces]
    if not _is_closed(shape.faces, shape.vertices):
        raise ValueError(f"{label} is open and has no volume: give its body mass and inertia")
    middle = shape.vertices.mean(axis=0)
    a = corners - middle
    volumes = np.einsum("ij,ij->i", a[:, 0], np.cross(a[:, 1], a[:, 2])) / 6.0
    volume = float(volumes.sum())
    if volume < 0.0:  # inside out, all of it
        volumes, volume = -volumes, -volume
    if volume <= 0.0:
        raise ValueError(f"{label} encloses nothing: give its body mass and inertia")
    total = a.sum(axis=1)
    center = volumes @ total / (4.0 * volume)
    # Second moments of tetrahedra with a corner at the origin.
    second = np.einsum("i,ij,ik->jk", volumes, total, total)
    second += np.einsum("i,icj,ick->jk", volumes, a, a)
    second = second / 20.0 - volume * np.outer(center, center)
    return volume, np.trace(second) * np.eye(3) - second, center + middle


def _is_closed(faces: NDArray[np.int64], vertices: Float) -> bool:
    """True if each edge has as many triangles one way as the other; corners are joined by place."""
    _, same = np.unique(np.round(vertices, 9), axis=0, return_inverse=True)
    joined = same.reshape(-1)[faces]
    edges = np.concatenate([joined[:, [0, 1]], joined[:, [1, 2]], joined[:, [2, 0]]])
    n = int(joined.max(initial=0)) + 1
    there, back = edges @ [n, 1], edges[:, ::-1] @ [n, 1]
    return bool((np.sort(there) == np.sort(back)).all())
