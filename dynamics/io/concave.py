"""Concave collision meshes of a robot file: cut into convex parts, or listed as hulls."""

from __future__ import annotations

from itertools import count

from dynamics.io.description import Description
from dynamics.io.notes import Notes
from dynamics.parts.convex_parts import UnfitMeshError, hollow, parts_of
from dynamics.parts.geometry import Geometry, Mesh
from dynamics.parts.meshes import corners_of

__all__ = ["cut_concave"]

#: What became of a concave mesh, in the report.
PARTS, HULLS = "convex parts of concave meshes", "concave meshes that touch as their hulls"
CONCAVITY = 0.05


def cut_concave(found: Description, notes: Notes, decompose: bool | float, touching: bool) -> None:
    """Replace concave collision meshes by convex parts in their places, or list them.

    Parameters
    ----------
    found : Description
        Changed: its collision shapes, and ``shapes``.
    notes : Notes
        Gets meshes that cannot be cut.
    decompose : bool or float
        See `dynamics.load`.
    touching : bool
        Whether collision shapes touch each other.

    Raises
    ------
    ValueError
        For a concavity that makes no sense.
    graphsys.MissingExtraError
        Where ``coacd`` is not installed.
    """
    if not decompose:
        if touching:
            _list_hulls(found)
        return
    concavity = CONCAVITY if decompose is True else float(decompose)
    for link in found.links.values():
        link.collisions[:] = [
            part
            for one in link.collisions
            for part in _cut(one, link.name, found, notes, concavity)
        ]
    for name, geometry in list(found.obstacles.items()):
        parts = _cut(geometry, name, found, notes, concavity)
        found.obstacles[name] = parts[0]
        labels = (label for k in count(2) if (label := f"{name} {k}") not in found.obstacles)
        for part in parts[1:]:
            found.obstacles[next(labels)] = part


def _cut(
    geometry: Geometry, owner: str, found: Description, notes: Notes, concavity: float
) -> list[Geometry]:
    """Convex parts of one shape, or the shape itself."""
    if not isinstance(geometry.shape, Mesh):
        return [geometry]
    label = f"{notes.path.name}: mesh {geometry.shape.path!r} of {owner!r}"
    try:
        parts = parts_of(geometry, label, concavity)
    except UnfitMeshError as error:
        notes.merge(f"meshes that are {error.reason}, so that they touch as their hulls", owner)
        return [geometry]
    if len(parts) > 1:
        found.shapes.setdefault(PARTS, []).extend([owner] * len(parts))
    return parts


def _list_hulls(found: Description) -> None:
    """List the concave meshes of links and obstacles, which touch as their hulls."""
    shapes = [(link.name, one) for link in found.links.values() for one in link.collisions]
    for owner, geometry in [*shapes, *found.obstacles.items()]:
        if isinstance(geometry.shape, Mesh):
            try:
                concave = hollow(corners_of(geometry.shape).reshape(-1, 3, 3))
            except (OSError, IndexError, ValueError, ImportError):  # refused where it touches
                continue
            if concave:
                found.shapes.setdefault(HULLS, []).append(owner)
