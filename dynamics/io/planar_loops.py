"""Planar loops of files: hinges that are parallel up to the file's rounding, made exactly parallel.

A planar linkage moves because constraints across its plane repeat each other. Numbers of a file
are rounded, to 1e-7 in single precision or as 1.5708 for a quarter turn: then they contradict each
other, and no posture fulfils them all. Each body of such a loop gets one normal, and all joints of
the loop are turned to it. What is left of a height along the normal goes into the joint that closes
the loop.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.io.description import JointEntry, Pose
from dynamics.io.groups import Group
from dynamics.io.notes import Notes

__all__ = ["straighten"]

Float = NDArray[np.float64]
#: Sine of an angle, and height over the size of a loop, up to which a loop is meant to be planar:
#: angles and lengths of three digits.
MEANT = 1e-3
#: What is rounding of our own sums, left as it is, and what rounding of single precision is, which
#: is not worth a note.
EXACT, SINGLE = 1e-13, 1e-6
#: Kinds of joints of a planar loop; a ball joint may close it.
PLANAR = {"revolute", "prismatic", "fixed"}


def straighten(joints: Iterable[JointEntry], groups: dict[str, Group], notes: Notes) -> None:
    """Make axes of joints on planar loops exactly parallel, and heights along them the same.

    Parameters
    ----------
    joints : iterable of JointEntry
        Between bodies; changed.
    groups : dict of Group
        By name of link.
    notes : Notes
        Gets joints that are changed by more than single precision rounds.
    """
    ends = [_Ends(joint, groups) for joint in joints]
    above: dict[Hashable, _Ends] = {one.child: one for one in ends if not one.joint.closure}
    for loops in _sharing([_cycle(one, above) for one in ends if one.joint.closure]):
        _Plane(loops).apply(notes)


class _Ends:
    """A joint with its frames in the bodies that it connects."""

    def __init__(self, joint: JointEntry, groups: dict[str, Group]) -> None:
        self.joint = joint
        self.groups = [None if one is None else groups[one] for one in (joint.parent, joint.child)]
        self.parent, self.child = (
            "world" if one is None or one.fixed else id(one) for one in self.groups
        )
        self.links = [
            Pose() if group is None else group.pose_of(link)
            for group, link in zip(self.groups, (joint.parent, joint.child))
        ]
        self.poses = [link @ at for link, at in zip(self.links, (joint.at_parent, joint.at_child))]

    def put(self, side: int, pose: Pose) -> None:
        """Set the frame on the parent (0) or the child (1)."""
        self.poses[side] = pose
        at = self.links[side].inverse() @ pose
        if side == 0:
            self.joint.at_parent = at
        else:
            self.joint.at_child = at


def _cycle(closure: _Ends, above: dict[Hashable, _Ends]) -> list[_Ends]:
    """Joints of the tree between the ends of a closure, from the top, and it; empty without one."""

    def way(body: Hashable) -> list[_Ends]:
        found: list[_Ends] = []
        while body in above:
            found.append(above[body])
            body = above[body].parent
        return found[::-1]

    one, two = way(closure.parent), way(closure.child)
    if (one[0].parent if one else closure.parent) != (two[0].parent if two else closure.child):
        return []
    while one and two and one[0] is two[0]:
        one, two = one[1:], two[1:]
    return [*one, *two, closure]


def _sharing(cycles: list[list[_Ends]]) -> list[list[_Ends]]:
    """Joints of cycles that share hinges, those of the tree from the top, then the closures."""
    found: list[dict[int, _Ends]] = []
    for cycle in filter(None, cycles):
        merged = {id(one): one for one in cycle}
        hinges = {key for key, one in merged.items() if one.joint.kind == "revolute"}
        for other in [one for one in found if hinges & one.keys()]:
            found.remove(other)
            merged = other | merged
        found.append(merged)
    return [sorted(one.values(), key=lambda end: end.joint.closure) for one in found]


class _Plane:
    """Loops that share hinges: a normal of each body, and heights along it."""

    def __init__(self, ends: list[_Ends]) -> None:
        self.ends = ends
        self.normals: dict[Hashable, Float] = {}
        self.heights: dict[Hashable, float] = {}
        self.worst = 0.0

    def apply(self, notes: Notes) -> None:
        """Change joints, if the loops are planar up to rounding."""
        hinges = [one for one in self.ends if one.joint.kind == "revolute"]
        if len(hinges) < 2 or not self.fits(hinges[0]):
            return
        points = [pose.position for one in self.ends for pose in one.poses]
        size = float(np.linalg.norm(points, axis=1).max())
        gaps = [self.gap(one) / size for one in self.ends if one.joint.closure and size > 0.0]
        self.worst = max([self.worst, *map(abs, gaps)])
        if not EXACT < self.worst < MEANT:
            return
        for one in self.ends:
            self.turn(one)
        for one in self.ends:
            if one.joint.closure:
                normal = self.normals[one.child]
                pose = one.poses[1]
                shifted = pose.position + self.gap(one) * normal
                one.put(1, Pose(shifted, pose.orientation))
        if self.worst > SINGLE:
            for one in self.ends:
                notes.merge("joints of planar loops, made exactly parallel", one.joint.name)

    def fits(self, first: _Ends) -> bool:
        """Spread normals and heights from a hinge; True if all joints are of a planar loop."""
        self.normals[first.parent], self.heights[first.parent] = _axis(first, 0), 0.0
        at: dict[Hashable, list[_Ends]] = {}
        for one in self.ends:
            if not one.joint.closure:
                at.setdefault(one.parent, []).append(one)
                at.setdefault(one.child, []).append(one)
        bodies = [first.parent]
        for here in bodies:
            for one in at.get(here, ()):
                side = 0 if one.parent == here else 1
                there = (one.child, one.parent)[side]
                if there in self.normals:
                    continue
                if not self.meets(one, side):
                    return False
                self.normals[there] = _across(one, side, self.normals[here])
                self.heights[there] = 0.0
                self.heights[there] = (1 - 2 * side) * self.gap(one)
                bodies.append(there)
        for one in self.ends:
            if one.joint.closure and not (self.meets(one, 0) and self.meets(one, 1)):
                return False
            if one.joint.closure and one.joint.kind in ("fixed", "prismatic"):
                off = _across(one, 0, self.normals[one.parent])
                self.note(np.cross(off, self.normals[one.child]))
        return self.worst < MEANT

    def meets(self, one: _Ends, side: int) -> bool:
        """True if a joint is one of the plane on this side; note how far it is off."""
        kind, normal = one.joint.kind, self.normals[(one.parent, one.child)[side]]
        if kind not in PLANAR:
            return kind == "spherical" and one.joint.closure
        if kind == "revolute":
            self.note(np.cross(_axis(one, side), normal))
        elif kind == "prismatic":
            self.note(np.array([_axis(one, side) @ normal]))
        return self.worst < MEANT

    def note(self, off: Float) -> None:
        """Keep the largest deviation."""
        self.worst = max(self.worst, float(np.linalg.norm(off)))

    def gap(self, one: _Ends) -> float:
        """Height of the frame on the parent above that on the child."""
        rise = self.heights[one.parent] + self.normals[one.parent] @ one.poses[0].position
        down = self.heights[one.child] + self.normals[one.child] @ one.poses[1].position
        return float(rise - down)

    def turn(self, one: _Ends) -> None:
        """Turn the frames of a joint to the normals of its bodies."""
        kind, joint = one.joint.kind, one.joint
        if kind == "revolute":
            for side, body in enumerate((one.parent, one.child)):
                axis, normal = _axis(one, side), self.normals[body]
                meant = normal if axis @ normal > 0.0 else -normal
                self.rotate(one, side, rotation.align(axis, meant))
        elif kind in ("fixed", "prismatic"):
            if kind == "prismatic":
                back = rotation.conjugate(one.poses[0].orientation)
                normal = rotation.rotate(back, self.normals[one.parent])
                slide = joint.axis - (joint.axis @ normal) * normal
                joint.axis = slide / np.linalg.norm(slide)
            across = _across(one, 0, self.normals[one.parent])
            self.rotate(one, 1, rotation.align(across, self.normals[one.child]))

    @staticmethod
    def rotate(one: _Ends, side: int, turn: Float) -> None:
        """Turn a joint's frame on one body about its own origin."""
        pose = one.poses[side]
        one.put(side, Pose(pose.position, rotation.multiply(turn, pose.orientation)))


def _axis(one: _Ends, side: int) -> Float:
    """Axis of a joint in the frame of one of its bodies."""
    return np.asarray(rotation.rotate(one.poses[side].orientation, one.joint.axis))


def _across(one: _Ends, side: int, normal: Float) -> Float:
    """The normal of a joint's other body, by that of the body on this side."""
    if one.joint.kind == "revolute":
        axis = _axis(one, 1 - side)
        return axis if _axis(one, side) @ normal > 0.0 else -axis
    here, there = one.poses[side].orientation, one.poses[1 - side].orientation
    return np.asarray(rotation.rotate(there, rotation.rotate(rotation.conjugate(here), normal)))
