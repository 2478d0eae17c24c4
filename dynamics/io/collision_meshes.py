"""Collision meshes of a robot file: refused, cut into convex parts, or listed as hulls."""

from __future__ import annotations

from itertools import count
from pathlib import PurePosixPath

from dynamics.io.description import Description
from dynamics.io.notes import Notes
from dynamics.parts.closed_surfaces import UnfitMeshError, closed_surface
from dynamics.parts.convex_hulls import MOST_CORNERS, hull_of
from dynamics.parts.convex_parts import FILLED, cut, hull_ratio
from dynamics.parts.geometry import Geometry, Mesh
from dynamics.parts.meshes import corners_of

__all__ = ["check_collision_meshes"]

#: What became of a mesh, in the report.
PARTS = "convex parts of concave meshes"
HULLS = "concave meshes that touch as their hulls (decompose= cuts them)"
UNFIT = "meshes that are {}, so that they touch as their hulls"
TURNED = "meshes with faces that wind inward, which are turned"
CORNERS = f"meshes that touch by {MOST_CORNERS} corners of their hulls at most"
CONCAVITY = 0.05


def check_collision_meshes(
    found: Description, notes: Notes, decompose: bool | float, touching: bool
) -> None:
    """Cut concave collision meshes into convex parts in their places, or note what they touch as.

    Parameters
    ----------
    found : Description
        Changed: its collision shapes, and ``shapes``.
    notes : Notes
        Gets what became of meshes.
    decompose : bool or float
        See `dynamics.load`.
    touching : bool
        Whether collision shapes touch each other.

    Raises
    ------
    ValueError
        For a concavity that is invalid, and for meshes that touch and cannot be read or lie in
        a plane.
    graphsys.MissingExtraError
        If ``coacd`` is not installed.
    """
    if not decompose and not touching:
        return
    concavity = None if not decompose else CONCAVITY if decompose is True else float(decompose)
    check = _Check(found, notes, concavity, touching)
    for link in found.links.values():
        link.collisions[:] = [part for one in link.collisions for part in check(one, link.name)]
    for name, geometry in list(found.obstacles.items()):
        parts = check(geometry, name)
        found.obstacles[name] = parts[0]
        labels = (label for k in count(2) if (label := f"{name} {k}") not in found.obstacles)
        for part in parts[1:]:
            found.obstacles[next(labels)] = part
    for ratio, name in sorted(check.concave, key=lambda one: -one[0]):
        notes.merge(HULLS, f"{name}, hull {ratio:.3g} times its volume")
    for corners, name in sorted(check.corners, key=lambda one: -one[0]):
        notes.merge(CORNERS, f"{name}, of {corners:,}")


class _Check:
    """What collision meshes are fit for, one by one."""

    def __init__(
        self, found: Description, notes: Notes, concavity: float | None, touching: bool
    ) -> None:
        self.found, self.notes = found, notes
        self.concavity, self.touching = concavity, touching
        self.concave: list[tuple[float, str]] = []
        self.corners: list[tuple[int, str]] = []

    def __call__(self, geometry: Geometry, owner: str) -> list[Geometry]:
        """Convex parts of one shape, or the shape itself."""
        mesh = geometry.shape
        if not isinstance(mesh, Mesh):
            return [geometry]
        title = PurePosixPath(mesh.path).name or geometry.name or "mesh"
        name = owner if title == owner else f"{owner}: {title}"
        label = f"{self.notes.path.name}: mesh {(mesh.path or title)!r} of {owner!r}"
        try:
            vertices, faces, turned = closed_surface(mesh, label)
        except UnfitMeshError as error:
            if self.touching and error.reason == "flat":
                raise ValueError(
                    f"{label} lies in a plane, and cannot touch others; give it a thickness"
                ) from None
            detail = f", {error.detail}" if error.detail else ""
            self.notes.merge(UNFIT.format(error.reason), name + detail)
            self._count_corners(mesh, label, name)
            return [geometry]
        if turned:
            self.notes.merge(TURNED, f"{name}, {turned:,} of {len(faces):,}")
        if self.concavity is not None:
            parts = cut(geometry, vertices, faces, label, self.concavity)
            if len(parts) > 1:
                self.found.shapes.setdefault(PARTS, []).extend([owner] * len(parts))
                return parts
        elif (ratio := hull_ratio(vertices, faces)) > 1.0 + FILLED:
            self.concave.append((ratio, name))
        self._count_corners(mesh, label, name)
        return [geometry]

    def _count_corners(self, mesh: Mesh, label: str, name: str) -> None:
        """List a hull of which only some corners touch."""
        if self.touching:
            corners = len(hull_of(corners_of(mesh), label).corners)
            if corners > MOST_CORNERS:
                self.corners.append((corners, name))
