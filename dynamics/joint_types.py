"""The joints that users name; each is a few rows of one table, see `dynamics.joints`.

All take ``name=``, ``parent_point=, child_point=`` (m, from the centres of mass, body frames),
``orientation=`` (of the child in the parent's frame where all coordinates are 0), ``spring=,
damper=, rest=`` along the free axes (one number, or one an axis), ``actuated=``, ``limits=``, and
``compliance=, constraint_damping=, theta=`` that soften the constraint itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynamics import rotation
from dynamics.joints import Joint, Row, basis, free_rows, joint, translation, turning, unit
from dynamics.kernels import rows as kinds

__all__ = [
    "ConstantVelocity",
    "Custom",
    "Cylindrical",
    "Distance",
    "Fixed",
    "FixedOrientation",
    "Floating",
    "FreeAxis",
    "Helical",
    "KnifeEdge",
    "Planar",
    "PlanarAxis",
    "PointOnLine",
    "PointOnPlane",
    "Prismatic",
    "Revolute",
    "Rolling",
    "Spherical",
    "Universal",
]

IDENTITY = (1.0, 0.0, 0.0, 0.0)
Z = (0.0, 0.0, 1.0)


def _label(parent: Any, child: Any, options: Any) -> str:
    return f"joint {options.get('name') or f'{parent.name}-{child.name}'!r}"


def _of_table(
    kind: str, parent: Any, child: Any, axis: ArrayLike, orientation: ArrayLike, options: Any
) -> Joint:
    label = _label(parent, child, options)
    n = unit(axis, label)
    offset = rotation.normalized(rotation.as_numbers(orientation, (4,), f"orientation of {label}"))
    return joint(kind, parent, child, *free_rows(kind, n, offset), offset, **options)


def Fixed(parent: Any, child: Any, *, orientation: ArrayLike = IDENTITY, **options: Any) -> Joint:
    """Weld the child to the parent: 6 constraints, 0 coordinates."""
    return _of_table("fixed", parent, child, Z, orientation, options)


def Prismatic(
    parent: Any, child: Any, axis: ArrayLike, *, orientation: ArrayLike = IDENTITY, **options: Any
) -> Joint:
    """Slide along an axis (parent's frame): 5 constraints; coordinate: displacement, m."""
    return _of_table("prismatic", parent, child, axis, orientation, options)


def Planar(
    parent: Any, child: Any, axis: ArrayLike, *, orientation: ArrayLike = IDENTITY, **options: Any
) -> Joint:
    """Slide in the plane across an axis, without turning: 4 constraints, 2 displacements."""
    return _of_table("planar", parent, child, axis, orientation, options)


def FixedOrientation(
    parent: Any, child: Any, *, orientation: ArrayLike = IDENTITY, **options: Any
) -> Joint:
    """Move freely without turning: 3 constraints, 3 displacements along the parent's axes."""
    return _of_table("fixed orientation", parent, child, Z, orientation, options)


def Revolute(
    parent: Any, child: Any, axis: ArrayLike, *, orientation: ArrayLike = IDENTITY, **options: Any
) -> Joint:
    """Turn about an axis (parent's frame): 5 constraints; coordinate: angle, rad."""
    return _of_table("revolute", parent, child, axis, orientation, options)


def Cylindrical(
    parent: Any, child: Any, axis: ArrayLike, *, orientation: ArrayLike = IDENTITY, **options: Any
) -> Joint:
    """Slide along and turn about an axis: 4 constraints; displacement and angle."""
    return _of_table("cylindrical", parent, child, axis, orientation, options)


def PlanarAxis(
    parent: Any, child: Any, axis: ArrayLike, *, orientation: ArrayLike = IDENTITY, **options: Any
) -> Joint:
    """Slide across and turn about an axis: 3 constraints; two displacements and an angle."""
    return _of_table("planar axis", parent, child, axis, orientation, options)


def FreeAxis(
    parent: Any, child: Any, axis: ArrayLike, *, orientation: ArrayLike = IDENTITY, **options: Any
) -> Joint:
    """Move freely, turn about an axis alone: 2 constraints; three displacements and an angle."""
    return _of_table("free axis", parent, child, axis, orientation, options)


def Spherical(
    parent: Any, child: Any, *, orientation: ArrayLike = IDENTITY, **options: Any
) -> Joint:
    """Turn about a point: 3 constraints; the rotation vector, rad, and the spin in child axes."""
    return _of_table("spherical", parent, child, Z, orientation, options)


def PointOnLine(
    parent: Any, child: Any, axis: ArrayLike, *, orientation: ArrayLike = IDENTITY, **options: Any
) -> Joint:
    """Hold the child's point on a line of the parent: 2 constraints."""
    return _of_table("point on line", parent, child, axis, orientation, options)


def PointOnPlane(
    parent: Any, child: Any, axis: ArrayLike, *, orientation: ArrayLike = IDENTITY, **options: Any
) -> Joint:
    """Hold the child's point on a plane of the parent, across the axis: 1 constraint."""
    return _of_table("point on plane", parent, child, axis, orientation, options)


def Floating(
    parent: Any, child: Any, *, orientation: ArrayLike = IDENTITY, **options: Any
) -> Joint:
    """Constrain nothing: coordinates, springs, dampers and controls between two free bodies."""
    return _of_table("floating", parent, child, Z, orientation, options)


def ConstantVelocity(
    parent: Any, child: Any, axis: ArrayLike, *, orientation: ArrayLike = IDENTITY, **options: Any
) -> Joint:
    """Couple two shafts that meet at a point (Rzeppa): 4 constraints, two bending angles."""
    return _of_table("constant velocity", parent, child, axis, orientation, options)


def Universal(
    parent: Any,
    child: Any,
    axis: ArrayLike,
    second: ArrayLike,
    *,
    orientation: ArrayLike = IDENTITY,
    **options: Any,
) -> Joint:
    """Cross of two axes, one on the parent, ``second`` on the child: 4 constraints, two angles.

    Both axes are in the parent's frame where the angles are 0, perpendicular to each other.
    """
    label = _label(parent, child, options)
    n, across = unit(axis, label), unit(second, f"second axis of {label}")
    if abs(n @ across) > 1e-9:
        raise ValueError(f"the axes of {label} must be perpendicular")
    offset = rotation.normalized(rotation.as_numbers(orientation, (4,), f"orientation of {label}"))
    e = rotation.rotate(rotation.conjugate(offset), across)
    rows = [Row(kinds.POINT, a, a) for a in np.eye(3)] + [Row(kinds.DOT, n, e)]
    angles = [Row(kinds.HEADING_A, n, e), Row(kinds.HEADING_B, n, e)]
    return joint("universal", parent, child, rows, angles, angles, offset, **options)


def Helical(
    parent: Any,
    child: Any,
    axis: ArrayLike,
    pitch: float,
    *,
    orientation: ArrayLike = IDENTITY,
    **options: Any,
) -> Joint:
    """Screw along an axis, ``pitch`` metres a turn: 5 constraints; coordinate: displacement, m."""
    label = _label(parent, child, options)
    if not (math.isfinite(pitch) and pitch != 0.0):
        raise ValueError(f"pitch of {label} is {pitch}; without one it is a Revolute joint")
    n = unit(axis, label)
    offset = rotation.normalized(rotation.as_numbers(orientation, (4,), f"orientation of {label}"))
    v1, v2, _ = basis(n)
    t1, t2, t = basis(rotation.rotate(rotation.conjugate(offset), n))
    rows = translation((v1, v2)) + turning(kinds.ROTATION, (t1, t2))
    rows += [Row(kinds.SCREW, n, t, pitch / (2.0 * math.pi))]
    along = translation((n,))
    return joint("helical", parent, child, rows, along, along, offset, **options)


def Distance(parent: Any, child: Any, length: float, **options: Any) -> Joint:
    """Hold two points at a distance, as a massless rod with ball ends: 1 constraint."""
    label = _label(parent, child, options)
    if not (math.isfinite(length) and length > 0.0):
        raise ValueError(f"length of {label} is {length}, and must be positive")
    rows = [Row(kinds.DISTANCE, np.zeros(3), np.zeros(3), rest=length)]
    return joint("distance", parent, child, rows, [], [], np.array(IDENTITY), **options)


def Rolling(
    parent: Any,
    child: Any,
    normal: ArrayLike,
    radius: float,
    *,
    axis: ArrayLike | None = None,
    **options: Any,
) -> Joint:
    """Roll on a plane of the parent without slip: 3 constraints, two of them on velocities.

    ``normal`` (parent's frame) points from the plane through ``parent_point`` to the child, a ball
    of ``radius`` m or, with ``axis`` (child's frame), a thin disc, about its centre of mass.
    """
    label = _label(parent, child, options)
    if not (math.isfinite(radius) and radius > 0.0):
        raise ValueError(f"radius of {label} is {radius}, and must be positive")
    _refuse_soft(label, options)
    n = unit(normal, label)
    disc = np.zeros(3) if axis is None else unit(axis, label)
    rows = [Row(kinds.HEIGHT, n, n, radius)]
    rows += [Row(kinds.ROLL, along, n, radius) for along in basis(n)[:2]]
    offset = np.array(IDENTITY)
    return joint("rolling", parent, child, rows, [], [], offset, child_point=disc, **options)


def KnifeEdge(parent: Any, child: Any, across: ArrayLike, **options: Any) -> Joint:
    """Keep the child's point from moving along ``across`` (child's frame): 1, on the velocity."""
    label = _label(parent, child, options)
    _refuse_soft(label, options)
    n = unit(across, label)
    rows = [Row(kinds.EDGE, n, n)]
    return joint("knife edge", parent, child, rows, [], [], np.array(IDENTITY), **options)


def _refuse_soft(label: str, options: Any) -> None:
    if options.get("compliance", 0.0) != 0.0:
        raise ValueError(f"{label} holds velocities, which cannot be compliant: leave it out")


def Custom(
    parent: Any, child: Any, constraint: Callable[..., Any], count: int, **options: Any
) -> Joint:
    """Hold ``count`` values of a function of the two poses at zero.

    ``constraint(pose_a, pose_b)`` gets two arrays [x, y, z, qs, qx, qy, qz] and gives the values,
    shape (count,), and their Jacobian, shape (count, 12), with respect to (x_a, theta_a, x_b,
    theta_b), theta a rotation vector in the body's frame. See `dynamics.callbacks` for what it
    costs.
    """
    if count < 1:
        raise ValueError(f"{_label(parent, child, options)} needs at least one constraint")
    offset = np.array(IDENTITY)
    return joint(
        "custom", parent, child, [], [], [], offset, user=constraint, n_user=count, **options
    )
