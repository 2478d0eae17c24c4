"""Frames of bodies that joints place, one after another, as tuples of Python's numbers.

A frame is position, orientation, velocity and angular velocity, all in the world. For a single
body numpy's calls take several times as long as the numbers themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dynamics.kernels.rows import rows as kinds
from dynamics.parts.joints import Joint

__all__ = [
    "STILL", "Frame", "along", "at_rest", "child_frame", "conjugate", "cross", "minus",
    "parent_frame", "plus", "rotate",
]  # fmt: skip

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
Frame = tuple[Vector, Quaternion, Vector, Vector]
ZERO: Vector = (0.0, 0.0, 0.0)
STILL: Frame = (ZERO, (1.0, 0.0, 0.0, 0.0), ZERO, ZERO)


def plus(a: Any, b: Any, scale: float = 1.0) -> Vector:
    """Sum ``a + scale b``."""
    return a[0] + scale * b[0], a[1] + scale * b[1], a[2] + scale * b[2]


def minus(a: Any, b: Any) -> Vector:
    """Difference."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def cross(a: Any, b: Any) -> Vector:
    """Cross product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def conjugate(q: Any) -> Quaternion:
    """Inverse rotation."""
    return q[0], -q[1], -q[2], -q[3]


def multiply(p: Any, q: Any) -> Quaternion:
    """Hamilton product."""
    a, b, c, d = p
    s, x, y, z = q
    return (
        a * s - b * x - c * y - d * z, a * x + b * s + c * z - d * y,
        a * y - b * z + c * s + d * x, a * z + b * y - c * x + d * s,
    )  # fmt: skip


def unit(q: Any) -> Quaternion:
    """Quaternion over its length."""
    s, x, y, z = q
    scale = 1.0 / math.sqrt(s * s + x * x + y * y + z * z)
    return scale * s, scale * x, scale * y, scale * z


def rotate(q: Any, a: Any) -> Vector:
    """Vector of the body's frame, written in the world's."""
    s, x, y, z = q
    i, j, k = a
    b, c, d = 2.0 * (y * k - z * j), 2.0 * (z * i - x * k), 2.0 * (x * j - y * i)
    return i + s * b + y * d - z * c, j + s * c + z * b - x * d, k + s * d + x * c - y * b


def at_rest(pose: Sequence[float]) -> Frame:
    """Frame of a pose, shape (7,)."""
    x, y, z, *q = pose
    return (x, y, z), unit(q), ZERO, ZERO


def turned(vector: Any, angle: float = 1.0) -> Quaternion:
    """Rotation about a vector by its length times an angle."""
    x, y, z = vector
    length = math.sqrt(x * x + y * y + z * z)
    turn = 0.5 * angle * length
    part = math.sin(turn) / length if length > 0.0 else 0.0
    return math.cos(turn), part * x, part * y, part * z


def motion_of(
    joint: Joint, q: Sequence[float], rates: Sequence[float]
) -> tuple[Vector, Quaternion, Vector, Vector]:
    """Displacement and turn of the child's frame in the parent's, and how they change.

    Parameters
    ----------
    joint : Joint
    q, rates : sequence of float
        Coordinates and their rates.

    Returns
    -------
    tuple of tuple of float
        Displacement (parent's frame), orientation of the child in the parent's frame, rate of the
        displacement, and the child's angular velocity relative to the parent (child's frame).
    """
    shift = slide = vector = spin = ZERO
    offset = joint.offset.tolist()
    heads: dict[int, tuple[float, float, Any]] = {}
    for row, rate, value, speed in zip(joint.positions, joint.rates, q, rates):
        if row.kind == kinds.TRANSLATION:
            axis = row.axis.tolist()
            shift, slide = plus(shift, axis, value), plus(slide, axis, speed)
        elif row.kind in (kinds.HEADING_A, kinds.HEADING_B):
            heads[row.kind] = (value, speed, row)
        else:
            vector = plus(vector, row.axis.tolist(), value)
            spin = plus(spin, rate.axis.tolist(), speed)
    turn = multiply(offset, turned(vector))
    if joint.kind == "helical":
        screw = joint.rows[-1]
        axis = screw.second.tolist()
        turn = multiply(offset, turned(axis, q[0] / screw.pitch))
        spin = plus(ZERO, axis, rates[0] / screw.pitch)
    if joint.kind == "constant velocity":  # its row keeps t . v at 0: t turns as the bends demand
        t = joint.rows[-1].axis.tolist()
        rho = turned(vector)
        bend = sum(a * b for a, b in zip(spin, cross(t, rho[1:])))
        spin = plus(spin, t, -bend / rho[0])
    if heads:
        (a, da, row), (b, db, _) = heads[kinds.HEADING_A], heads[kinds.HEADING_B]
        first, last = row.axis.tolist(), row.second.tolist()
        turn = multiply(multiply(turned(first, a), offset), turned(last, b))
        spin = plus(plus(ZERO, rotate(conjugate(turn), first), da), last, db)
    return shift, turn, slide, spin


def child_frame(joint: Joint, parent: Frame, q: Sequence[float], rates: Sequence[float]) -> Frame:
    """State of the child from that of the parent and the joint's coordinates."""
    x, orientation, v, omega = parent
    shift, turn, slide, spin = motion_of(joint, q, rates)
    arm = rotate(orientation, plus(joint.parent_point.tolist(), shift))
    now = unit(multiply(orientation, turn))
    omega_child = plus(omega, rotate(now, spin))
    point = rotate(now, joint.child_point.tolist())
    at_joint = plus(plus(v, cross(omega, arm)), rotate(orientation, slide))
    velocity = minus(at_joint, cross(omega_child, point))
    return minus(plus(x, arm), point), now, velocity, omega_child


def parent_frame(joint: Joint, child: Frame, q: Sequence[float], rates: Sequence[float]) -> Frame:
    """State of the parent from that of the child and the joint's coordinates."""
    x, orientation, v, omega = child
    shift, turn, slide, spin = motion_of(joint, q, rates)
    now = unit(multiply(orientation, conjugate(turn)))
    omega_parent = minus(omega, rotate(orientation, spin))
    arm = rotate(now, plus(joint.parent_point.tolist(), shift))
    point = rotate(orientation, joint.child_point.tolist())
    at_joint = minus(plus(v, cross(omega, point)), rotate(now, slide))
    velocity = minus(at_joint, cross(omega_parent, arm))
    return minus(plus(x, point), arm), now, velocity, omega_parent


def along(old: Frame, other: Frame, new: Frame) -> Frame:
    """Frame of another body that keeps pose and motion relative to one from `old` to `new`."""
    turn = unit(multiply(new[1], conjugate(old[1])))
    arm = minus(other[0], old[0])
    slide = rotate(turn, minus(minus(other[2], old[2]), cross(old[3], arm)))
    omega = plus(new[3], rotate(turn, minus(other[3], old[3])))
    arm = rotate(turn, arm)
    velocity = plus(plus(new[2], cross(new[3], arm)), slide)
    return plus(new[0], arm), unit(multiply(turn, other[1])), velocity, omega
