"""Links without mass between joints: composed into one joint, or given a trace of mass.

Files say "ball joint" by hinges with massless links between. Where these links hold nothing that a
cross or a ball joint would lose, the hinges become that joint. Otherwise they stay hinges, with
their own limits and motors, and the links between get `TRACE` of the mass that follows. The poses
of the two neighbours with mass determine theirs, so that no fast motion of their own appears.

Point masses get a trace of inertia where their joint moves their centre of mass in all its ways.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.io.description import Description, JointEntry, Pose
from dynamics.io.notes import BETWEEN, Notes
from dynamics.parts.options import unused
from dynamics.parts.tendons import Wrap

if TYPE_CHECKING:
    from dynamics.io.groups import Group

__all__ = ["TRACE", "determined", "settle", "thicken"]

Float = NDArray[np.float64]
#: Mass and inertia of a massless link over those of the link that follows. Motions of a body on
#: three hinges are the same to 8e-9 from 1e-7 down to 1e-12 (tests/dynamics/test_massless.py). With
#: 1e-9 a servo or damper on a joint of the link leaves Newton's steps no digits.
TRACE = 1e-7
#: Least moment of inertia over mass and the square of the distance of the joints, and what a point
#: mass gets: below the first, rounding in steps is a force. A cart with a point mass on its pole
#: moves the same to 5e-7 m in a second with 1e-8 and 1e-6 (tests/dynamics/test_massless.py).
THIN, THICK = 2e-11, 1e-8
#: Sine of an angle up to which axes are perpendicular, and metres up to which they meet.
MEANT = 1e-6
#: Least singular value of motions that count as independent, lengths over the distance of the axes.
LEAST = 1e-3
#: Properties of a hinge that a cross of two keeps along each axis.
PER_AXIS = ("damping", "friction", "armature", "stiffness", "rest")


def settle(found: Description, groups: dict[str, Group], notes: Notes) -> None:
    """Compose hinges around massless links, and give the other massless links a trace of mass.

    Parameters
    ----------
    found : Description
        Loses joints that are composed, and gets what they are composed into.
    groups : dict of Group
        By name of link; loses links inside composed joints.
    notes : Notes
    """
    tree = _Tree(found, groups)
    for path in tree.chains():
        made = _composed(path, found.joints)
        if made is None:
            continue
        for joint, _ in path:
            del found.joints[joint.name]
            if joint is not path[-1][0]:
                for link, _ in groups[str(joint.child)].links:
                    notes.merge("massless links that are part of a joint now", link.name)
                    del groups[link.name]
        found.joints[made.name] = made
        notes.merge("hinges that are one joint now", made.name)
    tree = _Tree(found, groups)
    for path in tree.paths():
        if determined(path):
            last = tree.child(path[-1][0])
            for joint, _ in path[:-1]:
                _fill(tree.child(joint), last, notes)


def determined(path: list[tuple[JointEntry, Pose]]) -> bool:
    """True if the ends of a chain of joints determine where its links are, where coordinates are 0.

    Parameters
    ----------
    path : list of (JointEntry, Pose)
        Joints, and their poses in one frame.

    Returns
    -------
    bool
    """
    return _independent([twist for joint, pose in path for twist in _twists(joint, pose)])


def thicken(found: Description, groups: dict[str, Group], notes: Notes) -> None:
    """Give bodies that are points a trace of inertia, where their joint moves their centre of mass.

    Parameters
    ----------
    found : Description
    groups : dict of Group
        By name of link.
    notes : Notes
    """
    arms: dict[int, float] = {}
    neighbours: dict[int, list[Group]] = {}
    above: dict[int, JointEntry] = {}
    for joint in found.joints.values():
        ends = [(joint.parent, joint.at_parent), (joint.child, joint.at_child)]
        pair = [(groups[link], link, pose) for link, pose in ends if link is not None]
        for group, link, pose in pair:
            arm = float(np.linalg.norm((group.pose_of(link) @ pose).position))
            arms[id(group)] = max(arms.get(id(group), 0.0), 0.0 if group.fixed else arm)
            neighbours.setdefault(id(group), []).extend(one for one, _, _ in pair)
        if not joint.closure and joint.child is not None:
            above.setdefault(id(groups[joint.child]), joint)
    for group in {id(one): one for one in groups.values()}.values():
        up = above.get(id(group))
        if group.fixed or group.mass <= 0.0 or up is None or up.child != group.links[0][0].name:
            continue
        near = max(arms[id(one)] for one in neighbours[id(group)])
        length = arms[id(group)] or near
        moments = np.linalg.eigvalsh(group.inertia)
        thin = moments[0] < THIN * group.mass * length**2
        thin &= length > 0.0 and moments[0] >= -1e-9 * moments[-1]
        if thin and _moves_center(group, up, length):
            first = group.links[0][0]
            first.inertia = first.inertia + THICK * group.mass * length**2 * np.eye(3)
            notes.merge(f"point masses that got an inertia of {THICK:g} m r^2", group.name)


def _moves_center(group: Group, joint: JointEntry, length: float) -> bool:
    """True if a body's joint leaves no motion in which its centre of mass rests."""
    twists = _twists(joint, group.pose_of(joint.child) @ joint.at_child)
    ways = [t[3:] / (length if t[:3].any() else 1.0) for t in twists]
    if not 1 <= len(ways) <= 3:
        return not ways
    return float(np.linalg.svd(np.array(ways), compute_uv=False).min()) > LEAST


def _fill(group: Group, after: Group, notes: Notes) -> None:
    """Give a group that lacks mass or inertia a trace of those that follow."""
    if group.complete:
        return
    first = group.links[0][0]
    if group.mass <= 0.0:
        first.mass = TRACE * after.mass
    moment = float(np.linalg.eigvalsh(after.inertia)[0])
    first.inertia = first.inertia + TRACE * moment * np.eye(3)
    kind = BETWEEN if first.between else "links without mass or inertia"
    notes.merge(f"{kind} that got {TRACE:g} of the next one's", group.name)


class _Tree:
    """Joints between groups, without closures."""

    def __init__(self, found: Description, groups: dict[str, Group]) -> None:
        self.found, self.groups = found, groups
        self.below: dict[int, list[JointEntry]] = {}
        self.first: list[JointEntry] = []  # joints from what has mass, or the world
        self.bound = {name for one in found.mimics for name in (one.joint, one.leader)}
        self.bound |= {name for one in found.tendons.values() for name in one.joints}
        self.held = {
            id(groups[link])
            for joint in found.joints.values()
            for link in (joint.parent, joint.child)
            if joint.closure and link is not None
        }
        self.carrying = _carrying(found)
        for joint in found.joints.values():
            parent = None if joint.parent is None else groups[joint.parent]
            if joint.closure or parent is self.child(joint):
                continue
            if parent is None or parent.fixed or parent.complete:
                self.first.append(joint)
            else:
                self.below.setdefault(id(parent), []).append(joint)

    def child(self, joint: JointEntry) -> Group:
        """Group that a joint moves."""
        return self.groups[str(joint.child)]

    def paths(self) -> list[list[tuple[JointEntry, Pose]]]:
        """Joints from one group with mass to the next, each with its pose in the first one's."""
        out: list[list[tuple[JointEntry, Pose]]] = []
        waiting = [[(joint, joint.at_parent)] for joint in self.first]
        while waiting:
            path = waiting.pop()
            joint, pose = path[-1]
            group = self.child(joint)
            if group.complete or group.fixed:
                out += [path] if len(path) > 1 else []
                continue
            here = pose @ (group.pose_of(joint.child) @ joint.at_child).inverse()
            for after in self.below.get(id(group), []):
                place = here @ group.pose_of(after.parent) @ after.at_parent
                waiting.append([*path, (after, place)])
        return out

    def chains(self) -> list[list[tuple[JointEntry, Pose]]]:
        """Paths whose links between have no branches, closures or followers, and carry nothing."""
        out = []
        for path in self.paths():
            joints = [joint for joint, _ in path]
            between = [self.child(joint) for joint in joints[:-1]]
            plain = all(
                group.mass == 0.0
                and len(self.below[id(group)]) == 1
                and id(group) not in self.held
                and not any(
                    link.visuals or link.collisions or link.name in self.carrying
                    for link, _ in group.links
                )
                for group in between
            )
            if plain and not self.bound & {joint.name for joint in joints}:
                out.append(path)
        return out


def _carrying(found: Description) -> set[str | None]:
    """Links that frames, sensors, ropes, thrusters and tendons need."""
    links = {owner for owner, _ in found.frames.values()}
    for sensor in found.sensors:
        links |= {sensor.link, *sensor.links}
        links |= {sensor.reference[0]} if sensor.reference is not None else set()
    links |= {end for rope in found.ropes for end in (rope.parent, rope.child)}
    links |= {one.link for one in found.thrusters}
    for tendon in found.tendons.values():
        for one in (point for run in tendon.path for point in run):
            if isinstance(one, Wrap):
                links |= {one.body, one.side[0] if one.side is not None else None}
            else:
                links.add(one[0])
    return links


def _composed(path: list[tuple[JointEntry, Pose]], joints: Container[str]) -> JointEntry | None:
    """Cross or ball joint with the motions of hinges that meet; None where it would lose anything.

    A cross keeps limits and forces of each axis. A ball joint keeps none.
    """
    chain, places = [joint for joint, _ in path], [pose for _, pose in path]
    if any(joint.kind != "revolute" or joint.actuated or joint.servo for joint in chain):
        return None
    axes = [rotation.rotate(pose.orientation, joint.axis) for joint, pose in zip(chain, places)]
    point = _meeting([pose.position for pose in places], axes)
    if point is None:
        return None
    free = not any(
        joint.limits or joint.velocity_limits or any(np.any(getattr(joint, k)) for k in PER_AXIS)
        for joint in chain
    )
    cross = len(chain) == 2 and abs(float(axes[0] @ axes[1])) < MEANT
    ball = len(chain) == 3 and abs(float(np.linalg.det(axes))) > LEAST and free
    if not (cross or ball):
        return None
    first, last = chain[0], chain[-1]
    start = Pose(point, first.at_parent.orientation)
    made = JointEntry(
        unused("+".join(joint.name for joint in chain), joints),
        "universal" if cross else "spherical",
        first.parent,
        last.child,
        start,
        last.at_child @ places[-1].inverse() @ start,
        first.axis,
    )
    if cross:
        made.second = rotation.rotate(rotation.conjugate(start.orientation), axes[1])
        for what in PER_AXIS:
            setattr(made, what, np.array([float(np.mean(getattr(j, what))) for j in chain]))
        for what in ("limits", "velocity_limits"):
            given = [getattr(joint, what) for joint in chain]
            if any(given):
                setattr(made, what, [one[0] if one else (-np.inf, np.inf) for one in given])
    return made


def _meeting(points: list[Float], axes: list[Float]) -> Float | None:
    """Point next to all lines, where it lies on them."""
    A, b = np.zeros((3, 3)), np.zeros(3)
    for point, axis in zip(points, axes):
        across = np.eye(3) - np.outer(axis, axis)
        A += across
        b += across @ point
    if np.linalg.cond(A) > 1.0 / MEANT:
        return None  # parallel
    x = np.linalg.solve(A, b)
    off = [float(np.linalg.norm(np.cross(x - point, axis))) for point, axis in zip(points, axes)]
    return np.asarray(x) if max(off) < MEANT else None


def _twists(joint: JointEntry, pose: Pose) -> list[Float]:
    """Motions that a joint leaves, angular and linear velocity at the origin."""
    n, across = (rotation.rotate(pose.orientation, axis) for axis in (joint.axis, joint.second))
    turns = {"revolute": [n], "universal": [n, across], "spherical": list(np.eye(3))}
    slides = {"prismatic": [n]}
    if joint.kind == "fixed":
        return []
    if joint.kind not in turns and joint.kind not in slides:
        return [np.zeros(6)]  # not looked into
    return [np.concatenate([a, np.cross(pose.position, a)]) for a in turns.get(joint.kind, [])] + [
        np.concatenate([np.zeros(3), a]) for a in slides.get(joint.kind, [])
    ]


def _independent(twists: list[Float]) -> bool:
    """True if no motion is a sum of others: the ends of the chain say where its links are."""
    if len(twists) > 6:
        return False
    T = np.array(twists)
    points = [np.cross(t[:3], t[3:]) for t in T if t[:3].any()]  # of the axes next to the origin
    center = np.mean(points, axis=0) if points else np.zeros(3)
    T[:, 3:] += np.cross(T[:, :3], center)
    spread = float(np.linalg.norm(T[:, 3:][T[:, :3].any(axis=1)], axis=1).max(initial=0.0))
    turning = T[:, :3].any(axis=1)
    if spread > MEANT:
        T[turning, 3:] /= spread
    return float(np.linalg.svd(T, compute_uv=False).min()) > LEAST
