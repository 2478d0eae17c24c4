"""From what a file says to a mechanism: links that cannot stand alone merged, frames kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.io.description import Description, JointEntry, Link, Pose
from dynamics.io.mimic import follow
from dynamics.io.notes import Notes
from dynamics.kernels.rows import rows as kinds
from dynamics.mechanism import Mechanism
from dynamics.parts import joint_types, special_joints
from dynamics.parts.bodies import WORLD
from dynamics.parts.geometry import Frame, Geometry
from dynamics.parts.joints import POINTS, Joint, Row
from dynamics.parts.joints import joint as joint_of
from dynamics.parts.options import with_new_words

__all__ = ["assembled"]

Float = NDArray[np.float64]
WATER = 1000.0  #: kg/m^3
MAKERS: dict[str, Callable[..., Any]] = {
    "fixed": joint_types.Fixed,
    "revolute": joint_types.Revolute,
    "prismatic": joint_types.Prismatic,
    "cylindrical": joint_types.Cylindrical,
    "planar": joint_types.PlanarAxis,
    "planar without turning": joint_types.Planar,
    "fixed orientation": joint_types.FixedOrientation,
    "free axis": joint_types.FreeAxis,
    "floating": joint_types.Floating,
    "spherical": joint_types.Spherical,
    "universal": special_joints.Universal,
}
#: Properties of joints that can be left out, and their values without them.
LEFT_OUT: dict[str, float | None] = {
    "limits": None,
    "velocity_limits": None,
    "control_limits": None,
    "friction": 0.0,
    "armature": 0.0,
    "damping": 0.0,
    "stiffness": 0.0,
}
WITHOUT_AXIS = {
    joint_types.Fixed, joint_types.FixedOrientation, joint_types.Floating, joint_types.Spherical,
}  # fmt: skip


def assembled(
    found: Description,
    notes: Notes,
    *,
    base: str,
    root: Pose,
    gravity: Any,
    actuated: bool | Iterable[str] | None,
    merge_fixed: bool,
    least_radius: float | None,
    without: Iterable[str],
) -> Mechanism:
    """Make the mechanism; see `dynamics.load`.

    Parameters
    ----------
    found : Description
    notes : Notes
        Gets what is left out or merged.
    base : {"floating", "fixed"}
    root : Pose
        Of the root's frame in the world.
    gravity : array_like, shape (3,)
    actuated : bool, iterable of str or None
    merge_fixed : bool
    least_radius : float or None
    without : iterable of str
        Keywords of joints, keys of `LEFT_OUT`.

    Returns
    -------
    Mechanism

    Raises
    ------
    ValueError
        Where a link that moves has no mass, or a name is that of no joint.
    """
    if base == "fixed":
        for link in found.roots:
            name = "world-" + link
            found.joints[name] = JointEntry(name, "fixed", None, link, root)
    _choose_motors(found, actuated)
    _leave_out(found, without)
    groups = _groups(found, notes, merge_fixed, least_radius)
    mechanism = Mechanism(gravity)
    taken = {joint.name for joint in found.joints.values() if not _inside(joint, groups)}
    bodies: dict[str, Any] = {}
    for group in groups.values():
        if group.name not in bodies:
            bodies[group.name] = _add_body(mechanism, group, taken, base, found, root, notes)
    for name, group in groups.items():
        pose = group.pose_of(name)
        body = bodies[group.name]
        mechanism.frames[name] = Frame(name, body, pose.position, pose.orientation)
    for mark, (owner, place) in found.frames.items():
        body, pose = WORLD, place
        if owner is not None:
            body, pose = bodies[groups[owner].name], groups[owner].pose_of(owner) @ place
        if mark in mechanism.frames:
            notes.leave_out("frames with names of links", mark)
        else:
            mechanism.frames[mark] = Frame(mark, body, pose.position, pose.orientation)
    for joint in found.joints.values():
        if not _inside(joint, groups):
            mechanism.add_joint(_joint(joint, groups, bodies))
    for mimic in found.mimics:
        follow(mechanism, mimic, notes)
    return mechanism


class _Group:
    """Links that move as one: their common mass, and each link's pose in the first one's frame."""

    def __init__(self, name: str, fixed: bool = False) -> None:
        self.name, self.fixed = name, fixed
        self.links: list[tuple[Link, Pose]] = []

    def pose_of(self, name: str | None) -> Pose:
        """Pose of a link's frame in the body's, whose origin is the centre of mass."""
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
    def complete(self) -> bool:
        """True if it can move as a body: it has mass, and inertia about every axis."""
        return self.mass > 0.0 and bool(np.linalg.eigvalsh(self.inertia)[0] > 0.0)


def _choose_motors(found: Description, actuated: bool | Iterable[str] | None) -> None:
    """Set which joints take controls; None leaves it as the file says."""
    if actuated is None:
        return
    if isinstance(actuated, bool):
        for joint in found.joints.values():
            joint.actuated = actuated and not joint.closure and joint.kind not in (
                "fixed", "floating",
            )  # fmt: skip
        return
    names = {actuated} if isinstance(actuated, str) else set(actuated)
    unknown = names - set(found.joints)
    if unknown:
        raise ValueError(f"actuated names no joint: {sorted(unknown)}; there are "
                         f"{list(found.joints)}")  # fmt: skip
    for joint in found.joints.values():
        joint.actuated = joint.name in names


def _leave_out(found: Description, without: Iterable[str]) -> None:
    """Make all joints as if the file did not give them these properties."""
    given = {without} if isinstance(without, str) else set(without)
    names = set(with_new_words(dict.fromkeys(given), "joints without properties"))
    unknown = names - set(LEFT_OUT)
    if unknown:
        raise ValueError(f"without names no property: {sorted(unknown)}; there are "
                         f"{list(LEFT_OUT)}")  # fmt: skip
    for joint in found.joints.values():
        for name in names:
            setattr(joint, name, LEFT_OUT[name])


def _groups(
    found: Description, notes: Notes, merge_fixed: bool, least_radius: float | None
) -> dict[str, _Group]:
    """Groups by name of link; the world's is called "world"."""
    world = _Group("world", fixed=True)
    groups: dict[str, _Group] = {}
    by_parent: dict[str | None, list[JointEntry]] = {}
    for joint in found.joints.values():
        if not joint.closure:
            by_parent.setdefault(joint.parent, []).append(joint)
    hung = {joint.child for joints in by_parent.values() for joint in joints}
    waiting: list[str | None] = [None, *(link for link in found.links if link not in hung)]
    for name in waiting:  # parents first
        if name is not None and name not in groups:
            groups[name] = _Group(name)
            groups[name].links.append((found.links[name], Pose()))
        for joint in by_parent.get(name, ()):
            child = str(joint.child)
            here = world if name is None else groups[name]
            one = _Group(child)
            one.links.append((found.links[child], Pose()))
            groups[child] = one
            if joint.kind == "fixed":
                alone = here.complete or here.fixed
                is_world = here.fixed and child == WORLD.name
                if merge_fixed or not one.complete or not alone or is_world:
                    groups[child] = _merged(here, one, joint, name, notes)
            waiting.append(child)
    for group in groups.values():
        if not group.fixed and not group.complete and least_radius is not None:
            _fill(group, least_radius, notes)
        if not group.fixed and not group.complete:
            raise ValueError(f"{notes.path.name}: {_incomplete(group, found)}")
    return groups


def _fill(group: _Group, radius: float, notes: Notes) -> None:
    """Give a body that lacks mass or inertia those of a ball of water, or spread its own mass."""
    first = group.links[0][0]
    if group.mass <= 0.0:
        first.mass = 4.0 / 3.0 * np.pi * radius**3 * WATER
    first.inertia = first.inertia + 0.4 * group.mass * radius**2 * np.eye(3)
    notes.merge(f"made a ball of radius {radius} m", group.name)


def _merged(
    here: _Group, one: _Group, joint: JointEntry, parent: str | None, notes: Notes
) -> _Group:
    """Put a link into the group of its parent."""
    link = one.links[0][0]
    start = next((pose for other, pose in here.links if other.name == parent), Pose())
    pose = start @ joint.at_parent @ joint.at_child.inverse()
    if here.fixed and link.name == here.name:
        pass  # the world is itself
    elif not here.fixed and not here.complete and one.mass > here.mass:  # the heavier names both
        notes.merge(f"merged into {link.name!r}", here.name)
        here.name = link.name
    else:
        notes.merge(f"merged into {here.name!r}", link.name)
    here.links.append((link, pose))
    return here


def _incomplete(group: _Group, found: Description) -> str:
    moments = np.linalg.eigvalsh(group.inertia)
    if moments[0] < -1e-9 * moments[-1]:
        return (
            f"link {group.name!r} has an inertia with the moments {moments}, one of them negative: "
            "mend its <inertia>"
        )
    lacks = "no mass" if group.mass <= 0.0 else "no inertia about some axis"
    way_out = "give it an <inertial>, fix it to a link that has one, or load with least_radius="
    if group.links[0][0].name in found.roots:
        way_out = "it is the root: load it with base='fixed', or " + way_out
    return f"link {group.name!r} moves and has {lacks}: {way_out}"


def _inside(joint: JointEntry, groups: dict[str, _Group]) -> bool:
    """True if merging makes both ends one body."""
    if joint.kind != "fixed" or joint.closure:
        return False
    parent = groups[joint.parent] if joint.parent is not None else None
    child = groups[str(joint.child)]
    return child is parent or (parent is None and child.fixed)


def _add_body(
    mechanism: Mechanism,
    group: _Group,
    taken: set[str],
    base: str,
    found: Description,
    root: Pose,
    notes: Notes,
) -> Any:
    """Body of a group; the root of a floating robot has its place."""
    if group.fixed:
        return WORLD
    name = group.name
    if name in taken or name == WORLD.name:
        name = f"{name} body"
        notes.merge("bodies with names of joints are now called", name)
    place: dict[str, Any] = {}
    if base == "floating" and group.links[0][0].name in found.roots:
        where = root @ Pose(group.center)
        place = {"position": where.position, "orientation": where.orientation}
    moments = np.linalg.eigvalsh(group.inertia)
    if moments[2] > (moments[0] + moments[1]) * (1.0 + 1e-9):
        notes.keep("inertia that no rigid body has (triangle inequality)", name)
    return mechanism.add_body(
        name=name,
        mass=group.mass,
        inertia=group.inertia,
        gravity_scale=group.links[0][0].gravity_scale,
        visuals=tuple(_moved(group, "visuals")),
        collisions=tuple(_moved(group, "collisions")),
        any_inertia=True,
        **place,
    )


def _moved(group: _Group, what: str) -> Iterable[Geometry]:
    """Geometry of all links in the body's frame."""
    for link, _ in group.links:
        pose = group.pose_of(link.name)
        for one in getattr(link, what):
            here = pose @ Pose(one.position, one.orientation)
            yield replace(one, position=here.position, orientation=here.orientation)


def _joint(joint: JointEntry, groups: dict[str, _Group], bodies: dict[str, Any]) -> Any:
    """Joint of ours between the bodies of two links."""
    ends: list[Any] = []
    poses: list[Pose] = []
    for link, pose in ((joint.parent, joint.at_parent), (joint.child, joint.at_child)):
        group = groups[link] if link is not None else None
        ends.append(WORLD if group is None else bodies[group.name])
        poses.append(pose if group is None else group.pose_of(link) @ pose)
    at_parent, at_child = poses
    offset = rotation.multiply(at_parent.orientation, rotation.conjugate(at_child.orientation))
    axis = rotation.rotate(at_parent.orientation, joint.axis)
    second = rotation.rotate(at_parent.orientation, joint.second)
    options: dict[str, Any] = {
        "name": joint.name,
        "orientation": offset,
        "parent_point": at_parent.position,
        "child_point": at_child.position,
    }
    if joint.kind != "fixed":
        options |= {
            "damping": joint.damping,
            "friction": joint.friction,
            "armature": joint.armature,
            "stiffness": joint.stiffness,
            "rest": joint.rest,
            "limits": joint.limits,
            "velocity_limits": joint.velocity_limits,
            "actuated": joint.actuated,
            "control_limits": joint.control_limits if joint.actuated else None,
        }
    if joint.kind == "skew universal":
        return _skew_universal(joint.name, ends, axis, second, at_parent, at_child, offset)
    if joint.kind == "universal":
        return special_joints.Universal(ends[0], ends[1], axis, second, **options)
    maker = MAKERS[joint.kind]
    return maker(*ends, **options) if maker in WITHOUT_AXIS else maker(*ends, axis, **options)


def _skew_universal(
    name: str, ends: list[Any], n: Float, across: Float, a: Pose, b: Pose, offset: Float
) -> Joint:
    """Cross of two axes that keep their angle, one on each body: exact, but without coordinates."""
    e = rotation.rotate(rotation.conjugate(offset), across)
    rows = [*POINTS, Row(kinds.DOT, n, e, rest=float(n @ across))]
    return joint_of(
        "skew universal", ends[0], ends[1], rows, [], [], offset, name=name,
        parent_point=a.position, child_point=b.position,
    )  # fmt: skip
