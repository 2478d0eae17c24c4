"""A floor under a loaded robot: contacts of its collision shapes with half-spaces of the world."""

from __future__ import annotations

from collections.abc import Container, Mapping
from itertools import product
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.io.collision_meshes import CORNERS
from dynamics.io.description import Description, Floor
from dynamics.io.notes import Notes
from dynamics.mechanism import Mechanism
from dynamics.parts.bodies import WORLD
from dynamics.parts.contact_primitives import HalfSpace
from dynamics.parts.convex_hulls import MOST_CORNERS, hull_of, outermost
from dynamics.parts.geometry import Geometry, Mesh, Surface
from dynamics.parts.meshes import corners_of
from dynamics.parts.options import unused

__all__ = ["add_ground"]

Float = NDArray[np.float64]


def add_ground(
    mechanism: Mechanism,
    found: Description,
    notes: Notes,
    ground: bool | HalfSpace,
    friction: float | None,
) -> None:
    """Let the collision shapes of all bodies that move touch a floor.

    Parameters
    ----------
    mechanism : Mechanism
        Changed.
    found : Description
        Has the floors of the file, without one the floor is z < 0, and pairs.
    notes : Notes
        Gets shapes and floors that are left out.
    ground : bool or HalfSpace
    friction : float or None
        Coefficient of sliding friction instead of the file's.

    Raises
    ------
    ValueError
        If no shape can touch a floor, and for collision meshes that cannot be read.
    """
    floors = found.floors
    own = {frozenset(names): numbers for names, numbers in found.pairs.items()}
    standing = {floor.name for floor in floors} if ground is True else set()
    for names in found.pairs:
        if not standing & {*names}:
            notes.leave_out("pairs (they need collide=)", ", ".join(names))
    if not isinstance(ground, HalfSpace):
        if not isinstance(ground, bool):
            raise TypeError(
                f"ground is {ground!r}, and must be True, False or a dynamics.HalfSpace"
            )
        if not ground:
            if friction is not None:
                raise ValueError("friction= is that of the floor; give ground=True, too")
            for floor in floors:
                notes.leave_out("geoms of the world (they need ground= or collide=)", floor.name)
            return
    given = isinstance(ground, HalfSpace)
    for floor in floors if given else ():
        notes.leave_out("geoms of the world", floor.name)
    if given or not floors:
        plane = ground if isinstance(ground, HalfSpace) else HalfSpace()
        point, normal = np.asarray(plane.point), np.asarray(plane.normal)
        floors = [Floor("ground", point, normal, Surface(0.0, kind=-1, touches=-1))]
    welded, apart = _welded_to_world(mechanism), set(map(frozenset, found.excluded))
    for floor in floors:
        for name, body in mechanism.bodies.items():
            if id(body) not in welded:
                _stand(mechanism, floor, (name, body), own, apart, friction, notes)
    if not mechanism.contacts:
        raise ValueError(
            f"{notes.path.name}: no body that moves has a collision shape that can touch the "
            "ground; load it without ground=, and use add_contact with shapes or points of yours"
            + notes.hint("geoms of type", "collision")
        )


def _stand(
    mechanism: Mechanism,
    floor: Floor,
    named: tuple[Any, Any],
    own: Mapping[frozenset[str], Mapping[str, float]],
    apart: Container[frozenset[str]],
    friction: float | None,
    notes: Notes,
) -> None:
    """Contacts of all shapes of a body with a floor, pairs of the file with ``own`` options."""
    name, body = named
    half_space = HalfSpace(floor.normal, floor.point)
    for geometry in body.collisions:
        surface = geometry.surface or Surface()
        pair = own.get(frozenset((floor.name, geometry.name)))
        labels = product((*floor.labels, WORLD.name), geometry.labels)
        filtered = not surface.meets(floor.surface) or any(frozenset(p) in apart for p in labels)
        if pair is None and filtered:
            continue
        shape = geometry
        if isinstance(geometry.shape, Mesh):
            points = _outermost(geometry, name, notes)
            if points is None:
                continue
            shape = points
        options = dict(pair) if pair is not None else surface.against(floor.surface)
        if friction is not None:
            options["friction"] = friction
        if options["friction"] == 0.0:
            options["torsional"] = options["rolling"] = 0.0
        label = unused(f"{floor.name}|{name}", mechanism)
        mechanism.add_contact(body, shape=shape, against_shape=half_space, name=label, **options)


def _outermost(geometry: Geometry, name: Any, notes: Notes) -> Float | None:
    """Corners of a mesh, in the body's frame, that stand for it; None where there is no mesh."""
    title = geometry.shape.path or geometry.name or "mesh"
    label = f"{notes.path.name}: mesh {title!r} of {name!r}"
    try:
        corners = corners_of(geometry.shape)
    except FileNotFoundError:
        notes.leave_out("collision meshes that are not there", title)
        return None
    except (ValueError, OSError, IndexError) as error:
        raise ValueError(f"{label}: {error}") from None
    corners = hull_of(corners, label).corners
    if len(corners) > MOST_CORNERS:
        notes.merge(CORNERS, f"{name}: {PurePosixPath(title).name}, of {len(corners):,}")
    corners = outermost(corners)
    turned = np.broadcast_to(geometry.orientation, (len(corners), 4))
    return np.asarray(geometry.position + rotation.rotate(turned, corners))


def _welded_to_world(mechanism: Mechanism) -> set[int]:
    """Ids of the world and of the bodies that fixed joints hold to it."""
    fixed = [joint for joint in mechanism.joints.values() if joint.kind == "fixed"]
    reached, before = {id(WORLD)}, 0
    while len(reached) > before:
        before = len(reached)
        for joint in fixed:
            if {id(joint.parent), id(joint.child)} & reached:
                reached |= {id(joint.parent), id(joint.child)}
    return reached
