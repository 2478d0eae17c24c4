"""Joints that follow another joint, where two poses are enough to say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.bodies import WORLD
from dynamics.io.description import Mimic
from dynamics.io.notes import Notes
from dynamics.joints import Joint
from dynamics.mechanism import Mechanism
from dynamics.special_joints import Custom

__all__ = ["follow"]

Float = NDArray[np.float64]
#: Coordinate of a body's joint to the world, and its slope over the body's (x, theta).
Measured = tuple[float, Float]


def follow(mechanism: Mechanism, mimic: Mimic, notes: Notes) -> None:
    """Add the constraint ``q = multiplier * q_leader + offset``, or note that it is left out.

    A constraint sees two poses, so both joints must hang on the world.

    Parameters
    ----------
    mechanism : Mechanism
        Changed.
    mimic : Mimic
    notes : Notes
    """
    leader, joint = mechanism.joints.get(mimic.leader), mechanism.joints.get(mimic.joint)
    ends = [one.parent if one is not None else None for one in (leader, joint)]
    simple = {"revolute", "prismatic"}
    if (
        leader is None
        or joint is None
        or leader is joint
        or any(end is not WORLD for end in ends)
        or not {leader.kind, joint.kind} <= simple
        or leader.child is joint.child
    ):
        notes.leave_out("mimic (both joints must hang on the world)", mimic.joint)
        return
    mechanism.add_joint(
        Custom(
            leader.child,
            joint.child,
            _gear(leader, joint, mimic.multiplier, mimic.offset),
            1,
            name=f"{mimic.joint} mimics {mimic.leader}",
        )
    )


def _gear(leader: Joint, joint: Joint, multiplier: float, offset: float) -> Callable[..., Any]:
    """Value and slopes of ``q - multiplier * q_leader - offset``."""
    last = [0.0, offset]  # an angle has many values: the one next to the last is meant
    first, second = _coordinate(leader), _coordinate(joint)

    def constraint(pose_a: Float, pose_b: Float) -> tuple[Float, Float]:
        (q_leader, slope_a), (q, slope_b) = first(pose_a), second(pose_b)
        if leader.kind == "revolute":
            q_leader += 2.0 * np.pi * round((last[0] - q_leader) / (2.0 * np.pi))
        if joint.kind == "revolute":
            goal = multiplier * q_leader + offset
            q += 2.0 * np.pi * round((goal - q) / (2.0 * np.pi))
        last[0] = q_leader
        slopes = np.concatenate([-multiplier * slope_a, slope_b])
        return np.array([q - multiplier * q_leader - offset]), slopes[None]

    return constraint


def _coordinate(joint: Joint) -> Callable[[Float], Measured]:
    """Coordinate of a joint whose parent is the world, from its child's pose."""
    row = joint.positions[0]

    def slide(pose: Float) -> Measured:
        arm = rotation.rotate(pose[3:], joint.child_point)
        # d(R p) = -R [p]x dtheta, theta in the body's frame
        along = rotation.rotate(rotation.conjugate(pose[3:]), row.axis)
        slope = np.concatenate([row.axis, np.cross(joint.child_point, along)])
        return float(row.axis @ (pose[:3] + arm - joint.parent_point)), slope

    def turn(pose: Float) -> Measured:
        q = rotation.multiply(rotation.conjugate(joint.offset), pose[3:])
        s, c = float(row.axis @ q[1:]), float(q[0])
        # q = 2 atan2(s, c); dq/dtheta = 1/2 q (0, theta): slopes of s and c
        ds = 0.5 * (c * row.axis + np.cross(row.axis, q[1:]))
        dc = -0.5 * q[1:]
        slope = 2.0 * (c * ds - s * dc) / (s * s + c * c)
        return 2.0 * float(np.arctan2(s, c)), np.concatenate([np.zeros(3), slope])

    return turn if joint.kind == "revolute" else slide
