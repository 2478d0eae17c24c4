"""A tree of joints in any graph of links: what is left closes loops."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import fields, replace

import numpy as np

from dynamics.io.description import Description, JointEntry
from dynamics.io.notes import Notes

__all__ = ["hang"]

#: Kinds whose parent and child may change places, with their axes turned round.
TURNED = {"fixed", "revolute", "prismatic", "helical", "cylindrical", "spherical", "universal"}


class _Sets:
    """Disjoint sets (union-find)."""

    def __init__(self) -> None:
        self.above: dict[Hashable, Hashable] = {}

    def find(self, one: Hashable) -> Hashable:
        """Representative of an element's set."""
        while (above := self.above.get(one, one)) != one:
            self.above[one] = self.above.get(above, above)
            one = above
        return one

    def unite(self, one: Hashable, two: Hashable) -> bool:
        """Unite two sets; False where they are one."""
        a, b = self.find(one), self.find(two)
        self.above[a] = b
        return a != b


def hang(found: Description, notes: Notes) -> list[str]:
    """Make a tree of the joints in the file's order, rooted at the world; others close loops.

    Parameters
    ----------
    found : Description
        Its joints become closures where they close a loop, and change ends where the tree needs it:
        coordinates keep their meaning. Those between links that cannot move are taken out.
    notes : Notes

    Returns
    -------
    list of str
        Roots: links of parts that no joint holds to the world.
    """
    reached, rigid = _Sets(), _Sets()
    joints = list(found.joints.values())
    for joint in sorted(joints, key=lambda one: one.closure):  # those that must close loops last
        joint.closure = not reached.unite(joint.parent, joint.child)
        if joint.kind == "fixed" and not joint.closure:
            rigid.unite(joint.parent, joint.child)
    for joint in joints:
        if joint.closure and rigid.find(joint.parent) == rigid.find(joint.child):
            notes.leave_out("joints between links that are fixed to each other", joint.name)
            del found.joints[joint.name]
    at: dict[str | None, list[JointEntry]] = {}
    hung = set()
    for joint in joints:
        if not joint.closure:
            at.setdefault(joint.parent, []).append(joint)
            at.setdefault(joint.child, []).append(joint)
            hung.add(joint.child)
    starts = [one for one in found.links if one not in hung]
    placed: set[str | None] = set()
    roots: list[str] = []
    for start in (None, *starts, *found.links):
        if start in placed:
            continue
        placed.add(start)
        roots += [start] if start is not None else []
        waiting = deque([start])
        while waiting:
            here = waiting.popleft()
            for joint in at.get(here, ()):
                other = joint.child if joint.parent == here else joint.parent
                if other in placed:
                    continue
                if joint.child == here and joint.kind not in TURNED:
                    joint.closure = True  # its parent is a root
                    continue
                if joint.child == here:
                    _turn(joint)
                placed.add(other)
                waiting.append(other)
    return roots


def _turn(joint: JointEntry) -> None:
    """Change parent and child of a joint: its coordinates keep their meaning."""
    joint.parent, joint.child = joint.child, joint.parent
    joint.at_parent, joint.at_child = joint.at_child, joint.at_parent
    if joint.kind == "universal":
        joint.axis, joint.second = -joint.second, -joint.axis
        for what in ("damping", "friction", "armature", "stiffness", "rest"):
            setattr(joint, what, np.flip(np.broadcast_to(getattr(joint, what), 2)))
        for what in ("limits", "velocity_limits", "control_limits"):
            if getattr(joint, what) is not None:
                setattr(joint, what, getattr(joint, what)[::-1])
        if joint.servo is not None:
            numbers = {one.name: getattr(joint.servo, one.name) for one in fields(joint.servo)}
            turned = {name: np.flip(one) for name, one in numbers.items() if np.ndim(one)}
            joint.servo = replace(joint.servo, **turned)
    else:
        joint.axis = -joint.axis
