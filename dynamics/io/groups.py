"""Links that move as one: those that fixed joints hold together, and those without mass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.io.description import Description, JointEntry, Link, Pose
from dynamics.io.massless import settle, thicken
from dynamics.io.notes import MERGED, Notes
from dynamics.io.shape_inertia import shape_inertia
from dynamics.parts.bodies import WORLD

__all__ = ["Group", "grouped"]

Float = NDArray[np.float64]
WATER = 1000.0  #: kg/m^3
#: Least moment over the largest one: a moment of 0 is some 1e-16 of it in a turned frame.
ROUNDING = 1e-14


class Group:
    """Links that move as one: their common mass, and each link's pose in the first one's frame.

    Parameters
    ----------
    name : str
        Of the body.
    fixed : bool, optional
        Whether it is the world.
    """

    def __init__(self, name: str, fixed: bool = False) -> None:
        self.name, self.fixed = name, fixed
        self.links: list[tuple[Link, Pose]] = []

    def pose_of(self, name: str | None) -> Pose:
        """Pose of a link's frame in the body's, whose origin is the centre of mass.

        Parameters
        ----------
        name : str or None

        Returns
        -------
        Pose
        """
        pose = next((pose for link, pose in self.links if link.name == name), Pose())
        return pose if self.fixed else Pose(pose.position - self.center, pose.orientation)

    @property
    def mass(self) -> float:
        """Of all links, kg."""
        return float(sum(link.mass for link, _ in self.links))

    @property
    def center(self) -> Float:
        """Common centre of mass in the group's frame."""
        parts = [link.mass * pose.point(link.center) for link, pose in self.links if link.mass]
        return np.sum(parts, axis=0) / self.mass if parts else np.zeros(3)

    @property
    def inertia(self) -> Float:
        """About the common centre of mass (parallel-axis theorem)."""
        total, center = np.zeros((3, 3)), self.center
        for link, pose in self.links:
            R, d = rotation.to_matrix(pose.orientation), pose.point(link.center) - center
            total += R @ link.inertia @ R.T + link.mass * (d @ d * np.eye(3) - np.outer(d, d))
        return (total + total.T) / 2.0

    @property
    def gravity_scale(self) -> float:
        """That of the sum of all links' weights."""
        heavy = [link for link, _ in self.links if link.mass > 0.0] or [self.links[0][0]]
        if len({link.gravity_scale for link in heavy}) == 1:
            return heavy[0].gravity_scale
        return sum(link.mass * link.gravity_scale for link in heavy) / self.mass

    @property
    def complete(self) -> bool:
        """True if it can move as a body: it has mass, and inertia about every axis."""
        moments = np.linalg.eigvalsh(self.inertia)
        return self.mass > 0.0 and bool(moments[0] > ROUNDING * moments[-1])


def grouped(
    found: Description, notes: Notes, merge_fixed: bool, least_radius: float | None
) -> dict[str, Group]:
    """Groups by name of link; the world's is called "world".

    Parameters
    ----------
    found : Description
        Loses joints that are composed into one.
    notes : Notes
        Gets what is merged, composed or filled.
    merge_fixed : bool
        Whether links that fixed joints hold are one body, mass or not.
    least_radius : float or None
        Of balls that links without mass become.

    Returns
    -------
    dict of Group

    Raises
    ------
    ValueError
        If a link without mass moves on its own.
    """
    world = Group("world", fixed=True)
    groups: dict[str, Group] = {}
    by_parent: dict[str | None, list[JointEntry]] = {}
    for joint in found.joints.values():
        if not joint.closure:
            by_parent.setdefault(joint.parent, []).append(joint)
    hung = {joint.child for joints in by_parent.values() for joint in joints}
    waiting: list[str | None] = [None, *(link for link in found.links if link not in hung)]
    for name in waiting:  # parents first
        if name is not None and name not in groups:
            groups[name] = Group(name)
            groups[name].links.append((found.links[name], Pose()))
        for joint in by_parent.get(name, ()):
            child = str(joint.child)
            here = world if name is None else groups[name]
            one = Group(child)
            one.links.append((found.links[child], Pose()))
            groups[child] = one
            if joint.kind == "fixed":
                alone = here.complete or here.fixed
                is_world = here.fixed and child == WORLD.name
                alike = here.fixed or here.gravity_scale == one.gravity_scale
                if (merge_fixed and alike) or not one.complete or not alone or is_world:
                    groups[child] = _merged(here, one, joint, name, notes)
            waiting.append(child)
    if least_radius is None:
        settle(found, groups, notes)
        thicken(found, groups, notes)
    for group in groups.values():
        if not group.fixed and not group.complete and least_radius is not None:
            _fill(group, least_radius, notes)
        if not group.fixed and not group.complete:
            _shape(group, notes)
        if not group.fixed and not group.complete:
            raise ValueError(f"{notes.path.name}: {_incomplete(group, found)}")
    return groups


def _fill(group: Group, radius: float, notes: Notes) -> None:
    """Give a body that lacks mass or inertia those of a ball of water, or spread its own mass."""
    first = group.links[0][0]
    if group.mass <= 0.0:
        first.mass = 4.0 / 3.0 * np.pi * radius**3 * WATER
    first.inertia = first.inertia + 0.4 * group.mass * radius**2 * np.eye(3)
    notes.merge(f"made a ball of radius {radius} m", group.name)


def _shape(group: Group, notes: Notes) -> None:
    """Give links with a mass and too little inertia that of their shapes, as Bullet does."""
    for link, _ in group.links:
        moments = np.linalg.eigvalsh(link.inertia)
        lacking = link.mass > 0.0 and abs(moments[0]) <= 1e-9 * moments[-1]
        found = shape_inertia(link) if lacking else None
        if found is not None:
            link.inertia = found
            what = "links without inertia about some axis that got the inertia of their shapes"
            notes.merge(what, link.name)


def _merged(here: Group, one: Group, joint: JointEntry, parent: str | None, notes: Notes) -> Group:
    """Put a link into the group of its parent."""
    link = one.links[0][0]
    start = next((pose for other, pose in here.links if other.name == parent), Pose())
    pose = start @ joint.at_parent @ joint.at_child.inverse()
    if here.fixed and link.name == here.name:
        pass  # the world is itself
    elif not here.fixed and not here.complete and one.mass > here.mass:  # the heavier names both
        notes.merge(f"{MERGED} {link.name!r}", here.name)
        here.name = link.name
    else:
        notes.merge(f"{MERGED} {here.name!r}", link.name)
    if not here.fixed and min(here.mass, one.mass) > 0.0:
        if here.gravity_scale != one.gravity_scale:
            notes.merge("links whose gravity acts at the centre of mass of the whole", link.name)
    here.links.append((link, pose))
    return here


def _incomplete(group: Group, found: Description) -> str:
    moments = np.linalg.eigvalsh(group.inertia)
    if moments[0] < -1e-9 * moments[-1]:
        return (
            f"link {group.name!r} has an inertia with the moments {moments}, one of them negative: "
            "mend it in the file"
        )
    lacks = "no mass" if group.mass <= 0.0 else "no inertia about some axis"
    way_out = "give it mass and inertia, fix it to a link with some, or load with least_radius="
    if group.links[0][0].name in found.roots:
        way_out = "load it with base='fixed', for it is the root, or " + way_out
    return f"link {group.name!r} moves and has {lacks}: {way_out}"
