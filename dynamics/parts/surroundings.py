"""Surfaces of the world that bodies touch: half-spaces, and shapes that contacts hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.kernels.contacts import geometry as kinds
from dynamics.parts.bodies import WORLD
from dynamics.parts.contact_primitives import HalfSpace
from dynamics.parts.contacts import Contact
from dynamics.parts.convex_hulls import Core, hull_mesh
from dynamics.parts.geometry import Geometry
from dynamics.parts.shapes import Box, Capsule, Sphere

if TYPE_CHECKING:
    from dynamics.mechanism import Mechanism

__all__ = ["planes_of", "touched_shapes"]

Float = NDArray[np.float64]
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
#: Corners of a polygon that stands for a disc.
SIDES = 48


def planes_of(mechanism: Mechanism) -> list[tuple[Float, Float]]:
    """Points and normals of the half-spaces of the world that bodies touch, each once."""
    found: dict[tuple[float, ...], tuple[Float, Float]] = {}
    planes = [
        (np.asarray(touch.first), np.asarray(touch.second_first))
        for contact in mechanism.contacts.values()
        if contact.parent is WORLD and contact.plane is None
        for touch in contact.touches
        if touch.kind in (kinds.PLANE_SPHERE, kinds.PLANE_RIM)
    ]
    planes += [
        (np.asarray(one.shape.point), np.asarray(one.shape.normal))
        for one in mechanism.obstacles.values()
        if isinstance(one.shape, HalfSpace)
    ]
    for point, normal in planes:
        key = tuple(np.round([*normal, normal @ point], 9) + 0.0)
        found.setdefault(key, (point, normal))
    return list(found.values())


def touched_shapes(contact: Contact) -> Iterator[Geometry]:
    """Shapes of the world that a contact holds, apart from half-spaces.

    Parameters
    ----------
    contact : Contact

    Yields
    ------
    Geometry
    """
    if WORLD not in (contact.parent, contact.child):
        return
    first = contact.parent is WORLD
    if contact.plane is not None:
        yield _hull(contact.plane.first if first else contact.plane.other)
        return
    drawn = set()
    for touch in contact.touches:
        if first and touch.kind == kinds.BOX_SPHERE:
            box = Box(*(2.0 * touch.second_first), density=1.0)
            yield Geometry(box, touch.first, touch.frame)
            continue
        if first and touch.kind in (kinds.SEGMENT_SPHERE, kinds.SEGMENT_SEGMENT):
            low, high, radius = touch.first, touch.second_first, touch.radius_first
        elif first and touch.kind == kinds.SPHERE_SPHERE:
            low, high, radius = touch.first, touch.first, touch.radius_first
        elif not first and touch.kind == kinds.SEGMENT_SEGMENT:
            low, high, radius = touch.other, touch.second_other, touch.radius_other
        elif not first:
            low, high, radius = touch.other, touch.other, touch.radius_other
        else:
            continue
        ends = tuple(low), tuple(high)
        if (*ends, radius) in drawn:  # again, or an end of a capsule
            continue
        drawn |= {(*ends, radius), (ends[0], ends[0], radius), (ends[1], ends[1], radius)}
        yield from _capsule(low, high, radius)


def _capsule(low: Float, high: Float, radius: float) -> Iterator[Geometry]:
    """Capsule between two points, a sphere if they coincide; none for a point."""
    length = float(np.linalg.norm(high - low))
    if radius > 0.0 and length == 0.0:
        yield Geometry(Sphere(radius, density=1.0), low, IDENTITY)
    elif radius > 0.0:
        turn = rotation.align((0.0, 0.0, 1.0), high - low)
        yield Geometry(Capsule(radius, length, density=1.0), 0.5 * (low + high), turn)


def _hull(core: Core) -> Geometry:
    """Hull of a convex shape; a radius around it is part of it only for one or two points."""
    if core.radius > 0.0 and core.rim == 0.0 and len(core.points) <= 2:
        (found,) = _capsule(core.points[0], core.points[-1], core.radius)
        return found
    return Geometry(hull_mesh(core.corners(SIDES), "a contact"), np.zeros(3), IDENTITY)
