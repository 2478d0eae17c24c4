"""Joints that are more than held axes: crosses, screws, rods, rolling, and users' own.

They take the same options as those of `dynamics.parts.joint_types`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from dynamics import rotation
from dynamics.kernels.rows import rows as kinds
from dynamics.parts.joint_types import IDENTITY, label_of
from dynamics.parts.joints import POINTS, Joint, Row, basis, joint, translation, turning, unit
from dynamics.parts.options import JointOptions, takes
from dynamics.parts.user_functions import bodies_of, ends_of

__all__ = ["Custom", "Distance", "Helical", "KnifeEdge", "Rolling", "Universal"]


@takes(JointOptions, joint)
def Universal(
    parent: Any,
    child: Any,
    axis: ArrayLike,
    second: ArrayLike,
    *,
    orientation: ArrayLike = IDENTITY,
    **options: Unpack[JointOptions],
) -> Joint:
    """Universal joint: a cross of an axis of each body; 4 constraints, two angles, rad.

    Parameters
    ----------
    parent, child : Body or world
    axis : array_like, shape (3,)
        Axis fixed in the parent, in its frame.
    second : array_like, shape (3,)
        Axis fixed in the child, in the frame of the parent at zero angles; perpendicular to the
        first.
    orientation : array_like, shape (4,), optional
        Orientation of the child in the parent's frame at zero coordinates, scalar first.
    **options
        Those of every joint.

    Returns
    -------
    Joint
    """
    label = label_of(parent, child, options)
    n, across = unit(axis, label), unit(second, f"second axis of {label}")
    if abs(n @ across) > 1e-9:
        raise ValueError(f"the axes of {label} must be perpendicular")
    offset = rotation.normalized(rotation.as_numbers(orientation, (4,), f"orientation of {label}"))
    e = rotation.rotate(rotation.conjugate(offset), across)
    rows = [*POINTS, Row(kinds.DOT, n, e)]
    angles = [Row(kinds.HEADING_A, n, e), Row(kinds.HEADING_B, n, e)]
    return joint("universal", parent, child, rows, angles, angles, offset, **options)


@takes(JointOptions, joint)
def Helical(
    parent: Any,
    child: Any,
    axis: ArrayLike,
    pitch: float,
    *,
    orientation: ArrayLike = IDENTITY,
    **options: Unpack[JointOptions],
) -> Joint:
    """Screw joint: the child advances ``pitch`` metres per turn; 5 constraints, a displacement, m.

    Parameters
    ----------
    parent, child : Body or world
    axis : array_like, shape (3,)
        In the frame of the parent, of any length but 0.
    pitch : float
        m per turn.
    orientation : array_like, shape (4,), optional
        Orientation of the child in the parent's frame at zero coordinates, scalar first.
    **options
        Those of every joint.

    Returns
    -------
    Joint
    """
    label = label_of(parent, child, options)
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


@takes(JointOptions, joint)
def Distance(parent: Any, child: Any, length: float, **options: Unpack[JointOptions]) -> Joint:
    """Keep two points at a distance, as a massless rod between two balls; 1 constraint.

    Parameters
    ----------
    parent, child : Body or world
    length : float
        m.
    **options
        Those of every joint.

    Returns
    -------
    Joint
    """
    label = label_of(parent, child, options)
    if not (math.isfinite(length) and length > 0.0):
        raise ValueError(f"length of {label} is {length}, and must be positive")
    rows = [Row(kinds.DISTANCE, np.zeros(3), np.zeros(3), rest=length)]
    return joint("distance", parent, child, rows, [], [], np.array(IDENTITY), **options)


@takes(JointOptions, joint)
def Rolling(
    parent: Any,
    child: Any,
    normal: ArrayLike,
    radius: float,
    *,
    axis: ArrayLike | None = None,
    **options: Unpack[JointOptions],
) -> Joint:
    """Rolling without slip on a plane of the parent; 3 constraints, two of them on velocities.

    The child is a ball about its centre of mass or, with ``axis``, a thin disc.

    Parameters
    ----------
    parent, child : Body or world
    normal : array_like, shape (3,)
        Normal of the plane through ``parent_point``, towards the child, in the parent's frame.
    radius : float
        m.
    axis : array_like, shape (3,), optional
        Axis of the disc, in the child's frame.
    **options
        Those of every joint.

    Returns
    -------
    Joint
    """
    label = label_of(parent, child, options)
    if not (math.isfinite(radius) and radius > 0.0):
        raise ValueError(f"radius of {label} is {radius}, and must be positive")
    _refuse_soft(label, options)
    n = unit(normal, label)
    disc = np.zeros(3) if axis is None else unit(axis, label)
    rows = [Row(kinds.HEIGHT, n, n, radius)]
    rows += [Row(kinds.ROLL, along, n, radius) for along in basis(n)[:2]]
    offset = np.array(IDENTITY)
    if "child_point" in options:
        raise TypeError(f"{label} rolls about the child's centre of mass; leave out child_point=")
    options["child_point"] = disc
    return joint("rolling", parent, child, rows, [], [], offset, **options)


@takes(JointOptions, joint)
def KnifeEdge(parent: Any, child: Any, across: ArrayLike, **options: Unpack[JointOptions]) -> Joint:
    """Prevent the child's point from moving sideways; 1 constraint, on the velocity.

    Parameters
    ----------
    parent, child : Body or world
    across : array_like, shape (3,)
        Direction without motion, in the child's frame.
    **options
        Those of every joint.

    Returns
    -------
    Joint
    """
    label = label_of(parent, child, options)
    _refuse_soft(label, options)
    n = unit(across, label)
    rows = [Row(kinds.EDGE, n, n)]
    return joint("knife edge", parent, child, rows, [], [], np.array(IDENTITY), **options)


def _refuse_soft(label: str, options: JointOptions) -> None:
    if np.any(options.get("compliance", 0.0)):
        raise ValueError(f"{label} holds velocities, which cannot be compliant: leave it out")


@takes(JointOptions, joint)
def Custom(
    parent: Any = None,
    child: Any = None,
    constraint: Callable[..., Any] | None = None,
    count: int = 1,
    *,
    bodies: Sequence[Any] | None = None,
    **options: Unpack[JointOptions],
) -> Joint:
    """Keep ``count`` values of a function of the poses of any number of bodies at zero.

    ``Custom(bodies=[a, b, c], constraint=g, count=2)`` requires g(z_a, z_b, z_c) = 0, for example a
    rope over pulleys or a constant area. ``Custom(a, b, g, 2)`` is the same as ``bodies=[a, b]``.

    Parameters
    ----------
    parent, child : Body or world, optional
        Omitted with ``bodies``.
    constraint : callable
        ``g, jacobian = constraint(*poses)``, with one pose [x, y, z, qs, qx, qy, qz] per body: the
        values, shape (count,), and for k bodies their Jacobian, shape (count, 6 k), with respect to
        (x_1, theta_1, x_2, theta_2, ...), theta a rotation vector in the body's frame. Each call
        runs Python.
    count : int, optional
        Number of values.
    bodies : sequence of Body or world, optional
        Bodies in the order of the function's arguments, each once.
    **options
        Those of every joint.

    Returns
    -------
    Joint
        With these bodies as ``user_bodies``; its parent and child are the first two that move.

    Raises
    ------
    TypeError
        If ``constraint`` is not callable, and if ``bodies`` are not bodies.
    ValueError
        If a body is given twice, if all bodies are fixed, and if ``count`` is not positive.
    """
    if bodies is not None:
        label = f"joint {options.get('name') or 'with a function'!r}"
        if parent is not None or child is not None:
            raise TypeError(f"{label} has bodies=; leave out parent and child")
        users = bodies_of(bodies, label)
        parent, child = ends_of(users)
        if options.get("name") is None:
            options["name"] = "-".join(str(one.name) for one in users)
    else:
        users = (parent, child)
    label = label_of(parent, child, options)
    if not callable(constraint):
        raise TypeError(f"{label} needs a function as constraint, not {constraint!r}")
    if count < 1:
        raise ValueError(f"{label} needs at least one constraint")
    offset = np.array(IDENTITY)
    return joint(
        "custom", parent, child, [], [], [], offset, user=constraint, n_user=count,
        user_bodies=users, **options,
    )  # fmt: skip
