"""Contacts of a loaded robot with itself and with the world: `Mechanism.collide` by the file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from dynamics.errors import InconsistentStateError
from dynamics.io.description import WORLD_BODY, Description
from dynamics.io.notes import Notes
from dynamics.io.parsing import attribute, tree
from dynamics.kinematics.plane_placement import look_at
from dynamics.mechanism import Mechanism
from dynamics.parts.bodies import WORLD
from dynamics.parts.collisions import NothingTouchesError, candidates_of
from dynamics.parts.contact_primitives import HalfSpace
from dynamics.parts.geometry import Geometry, Surface
from dynamics.parts.options import unused

__all__ = ["add_collisions", "read_srdf"]

LET_THROUGH = 1e-8  #: m, overlap that a motion may begin with
UNTURNED = np.array([1.0, 0.0, 0.0, 0.0])


def add_collisions(
    mechanism: Mechanism,
    found: Description,
    notes: Notes,
    collide: bool | str | Path,
    ground: bool | HalfSpace,
    friction: float | None,
) -> None:
    """Let the collision shapes of all bodies touch each other and the world.

    Parameters
    ----------
    mechanism : Mechanism
        Changed.
    found : Description
    notes : Notes
    collide : True, str or Path
        Or an SRDF file, whose disabled pairs are left out.
    ground : bool or HalfSpace
        A floor besides those of the file.
    friction : float or None
        Coefficient of sliding friction instead of the file's.

    Raises
    ------
    ValueError
        For an SRDF file that is broken.
    """
    every = Surface(0.0, kind=-1, touches=-1)
    every_one = (WORLD.name,) if WORLD.name not in mechanism.frames else ()
    for floor in () if isinstance(ground, HalfSpace) else found.floors:
        plane = HalfSpace(floor.normal, floor.point)
        made = Geometry(
            plane, np.zeros(3), UNTURNED, surface=floor.surface, name=floor.name,
            labels=(*every_one, *floor.labels),
        )  # fmt: skip
        mechanism.add_obstacle(made, name=_shape_name(floor.name, mechanism))
    names = {}
    for name, shape in found.obstacles.items():
        names[name] = _shape_name(name, mechanism)
        labels = (*every_one, *shape.labels)
        mechanism.add_obstacle(replace(shape, labels=labels), name=names[name])
    if isinstance(ground, HalfSpace) or (ground and not found.floors):
        plane = ground if isinstance(ground, HalfSpace) else HalfSpace()
        name = "ground" if "ground" not in mechanism else unused("ground plane", mechanism)
        made = Geometry(plane, np.zeros(3), UNTURNED, surface=every, labels=every_one)
        mechanism.add_obstacle(made, name=name)
    excluded = list(found.excluded)
    if not isinstance(collide, bool):
        excluded += read_srdf(Path(collide), found.links)
    known = {WORLD.name, WORLD_BODY, *mechanism.frames, *_labels(mechanism)}
    for link in dict.fromkeys(link for pair in excluded for link in pair if link not in known):
        notes.leave_out("excluded pairs of links that there are not", link)
    without: list[tuple[str, str]] = []
    of_base = [names[one] for some in found.fixed.values() for one in some]
    for joint in mechanism.joints.values():  # what hangs on the base is next to it
        if joint.n_rows > 0 and WORLD in (joint.parent, joint.child):
            child = joint.child if joint.parent is WORLD else joint.parent
            without += product(of_base, [str(child.name)])
    for one, two in _overlapping(mechanism, without, excluded):
        notes.leave_out("contacts of bodies that overlap in the file's posture", f"{one}, {two}")
        without.append((one, two))
    mechanism.collide(without=without, friction=friction, pairs=found.pairs, apart=excluded)
    try:
        candidates_of(mechanism)
    except NothingTouchesError:
        mechanism.collisions.clear()
        notes.leave_out("contacts, as no two shapes may touch", notes.path.name)
    except ValueError:  # `finalize` will raise it
        pass


def _overlapping(
    mechanism: Mechanism, without: list[tuple[str, str]], apart: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Pairs of bodies that may touch and overlap at the start, as hulls of neighbours' meshes do.

    MoveIt leaves these out, too; a contact without penetration cannot begin with them.
    """
    trial = mechanism.copy()
    trial.collide(without=without, apart=apart)
    try:
        model = trial.finalize()
        state = model.initial_state()
    except (ValueError, InconsistentStateError):  # `finalize` will raise it
        return []
    assert model.near is not None
    entry = model.near.entry(state)
    near = entry.near.model
    gaps = look_at(near, entry.state.data[None])[0, :, 0]
    found: dict[frozenset[Any], tuple[str, str]] = {}
    for (name, _), gap in zip(near.tables.contact_touches, gaps):
        contact = near.mechanism.contacts.get(name)
        if gap < -LET_THROUGH and contact is not None:
            ends = [contact.parent.name, contact.child.name]
            if WORLD.name not in ends:
                one, two = sorted(ends, key=near.tables.body_index.__getitem__)
                found.setdefault(frozenset(ends), (one, two))
    return list(found.values())


def _shape_name(name: str, mechanism: Mechanism) -> str:
    """Name of a static shape; in a file it may be that of a body or a joint, too."""
    return unused(f"{name} shape", mechanism) if name in mechanism else name


def _labels(mechanism: Mechanism) -> set[str]:
    """Labels of all collision shapes."""
    shapes = [one for body in mechanism.bodies.values() for one in body.collisions]
    return {label for one in (*shapes, *mechanism.obstacles.values()) for label in one.labels}


def read_srdf(path: Path, links: Iterable[str] = ()) -> list[tuple[str, str]]:
    """Pairs of links that an SRDF file says never collide.

    Parameters
    ----------
    path : Path
    links : iterable of str, optional
        All of the robot, for ``<disable_default_collisions>``.

    Returns
    -------
    list of (str, str)

    Raises
    ------
    FileNotFoundError
    ValueError
        If the file is broken.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    root = tree(path)
    if root.tag != "robot":
        raise ValueError(f"{path.name} is not an SRDF file: its root is <{root.tag}>, not <robot>")

    def pairs(tag: str) -> list[tuple[str, str]]:
        return [
            (attribute(one, "link1", path.name), attribute(one, "link2", path.name))
            for one in root.iter(tag)
        ]

    enabled, found = set(map(frozenset, pairs("enable_collisions"))), pairs("disable_collisions")
    for one in root.iter("disable_default_collisions"):
        link = attribute(one, "link", path.name)
        others = [two for two in links if two != link and frozenset((link, two)) not in enabled]
        found += [(link, two) for two in others or [link]]  # one that is not there is named
    return found
