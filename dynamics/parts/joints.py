"""Joints as data: rows of constrained and of free axes between two frames.

A joint holds frame *a* on its parent and frame *b* on its child. The rows that it constrains and
those that measure what is left free are entries of one table (theory/joints (2) to (9); Table B.2);
no kernel knows a joint's name.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation
from dynamics.errors import unknown_words
from dynamics.kernels.rows import rows as kinds
from dynamics.parts.options import JointOptions, never_changes, with_new_words
from dynamics.parts.servos import PositionServo, VelocityServo
from dynamics.parts.softness import softness_of

__all__ = ["Joint", "Row", "basis"]

Float = NDArray[np.float64]
EYE = np.eye(3)


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One scalar function of two poses; kinds are those of `dynamics.kernels.rows.rows`.

    Attributes
    ----------
    kind : int
    axis : ndarray of float, shape (3,)
    second : ndarray of float, shape (3,)
        Second axis where the kind has one.
    pitch : float
        Metres a radian, of a screw.
    rest : float
        Taken off the value.
    """

    kind: int
    axis: Float
    second: Float
    pitch: float = 0.0
    rest: float = 0.0


#: Rows that keep two points together; `dynamics.kernels.rows.rows` takes them at once.
POINTS = tuple(Row(kinds.POINT, axis, axis) for axis in EYE)


@never_changes("joint")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Joint:
    """A joint between two bodies; made by `Revolute` and similar functions.

    Attributes
    ----------
    kind : str
        Name of the type of joint, for messages.
    name : hashable
    parent, child : Body or world
    parent_point, child_point : ndarray of float, shape (3,)
        Position of the joint on each body, in the body's frame, from its centre of mass, m.
    offset : ndarray of float, shape (4,)
        Orientation of the child in the parent's frame at zero coordinates, scalar first.
    rows : tuple of Row
        Constraint rows, whose values are kept at zero.
    positions, rates : tuple of Row
        Rows that measure the coordinates, and rows whose derivatives measure their rates.
    stiffness, damping, rest : ndarray of float, shape (number of coordinates,)
        Spring, N/m or N m/rad, and damper, N s/m or N m s/rad, along each free axis; coordinates at
        which the spring has no force, m or rad.
    friction : ndarray of float, shape (number of coordinates,)
        Largest dry friction along each free axis, N or N m.
    armature : ndarray of float, shape (number of coordinates,)
        Inertia of a rotor that turns with each free axis, reflected through its gear, kg or kg m^2.
    compliance, constraint_damping : float, or ndarray of float, shape (n_rows, n_rows)
        Compliance of the constraint, m/N and rad/(N m), 0 if rigid; and its damping, N s/m and N m
        s/rad.
    theta : float
        Implicitness of a compliant joint: 1/2 keeps its energy, 1 lets it decay.
    actuated : bool
        Whether the free axes take controls.
    limits : ndarray of float, shape (number of coordinates, 2), or None
        Lower and upper limits of the coordinates, m or rad.
    velocity_limits : ndarray of float, shape (number of coordinates, 2), or None
        Lower and upper limits of their rates, m/s or rad/s.
    control_limits : ndarray of float, shape (number of coordinates, 2), or None
        Smallest and largest control along each axis, N or N m; controls are clipped to them.
    servo : PositionServo, VelocityServo or None
        Motor with feedback; the joint's control is added to its target.
    user : callable or None
        Constraint ``g(*poses) -> (g, jacobian)`` of a `Custom` joint.
    n_user : int
        Number of rows of ``user``.
    user_bodies : tuple of Body or world
        Bodies whose poses are the arguments of ``user``, in order.
    """

    kind: str
    name: Hashable
    parent: Any
    child: Any
    parent_point: Float
    child_point: Float
    offset: Float
    rows: tuple[Row, ...]
    positions: tuple[Row, ...]
    rates: tuple[Row, ...]
    stiffness: Float
    damping: Float
    rest: Float
    friction: Float
    armature: Float
    compliance: float | Float = 0.0
    constraint_damping: float | Float = 0.0
    theta: float = 0.5
    actuated: bool = False
    limits: Float | None = None
    velocity_limits: Float | None = None
    control_limits: Float | None = None
    servo: PositionServo | VelocityServo | None = None
    user: Callable[..., Any] | None = None
    n_user: int = 0
    user_bodies: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        ends = " and ".join(repr(getattr(one, "name", one)) for one in self.bodies)
        return f"Joint({self.name!r}, {self.kind} of {ends})"

    @property
    def bodies(self) -> tuple[Any, ...]:
        """All bodies of its constraints, the world included; usually parent and child."""
        return self.user_bodies or (self.parent, self.child)

    @property
    def soft(self) -> bool:
        """True if some of its constraints are compliant."""
        return bool(np.any(self.compliance))

    @property
    def n_rows(self) -> int:
        """Number of constraints."""
        return self.n_user or len(self.rows)

    @property
    def n_coordinates(self) -> int:
        """Number of free axes that have a coordinate."""
        return len(self.positions)


#: Between the cosines of multiples of 15 degrees, of diagonals of a cube and of 3 to 4 to 5.
JUMP = -0.65


def basis(n: Float) -> tuple[Float, Float, Float]:
    """Right-handed orthonormal triad of a unit vector (Duff et al. 2017).

    It jumps where ``n[2]`` is `JUMP`, and nowhere next to axes that files have: rounding of an axis
    leaves the coordinates of its joint as they are.

    Parameters
    ----------
    n : ndarray of float, shape (3,)

    Returns
    -------
    tuple of three ndarray of float, shape (3,)
        v1, v2, n.
    """
    sign = 1.0 if n[2] > JUMP else -1.0
    a = -1.0 / (sign + n[2])
    b = n[0] * n[1] * a
    v1 = np.array([1.0 + sign * n[0] ** 2 * a, sign * b, -sign * n[0]])
    v2 = np.array([b, sign + n[1] ** 2 * a, -n[1]])
    return v1, v2, n


def unit(axis: ArrayLike, label: str) -> Float:
    """Axis of length one, with a notice where it had another.

    Parameters
    ----------
    axis : array_like, shape (3,)
    label : str
        Whose it is.

    Returns
    -------
    ndarray of float, shape (3,)

    Raises
    ------
    ValueError
        If it is zero or not finite.
    """
    given = rotation.as_numbers(axis, (3,), f"axis of {label}")
    length = float(np.linalg.norm(given))
    if length == 0.0:
        raise ValueError(f"axis of {label} is zero")
    if abs(length - 1.0) > 1e-9:
        warnings.warn(f"axis of {label} has length {length:.6g}; it is normalized", stacklevel=4)
    return given / length


def translation(axes: Any) -> list[Row]:
    """Rows of displacement along axes of the parent's frame."""
    return [Row(kinds.TRANSLATION, axis, axis) for axis in axes]


def turning(kind: int, axes: Any) -> list[Row]:
    """Rows of rotation about axes of the offset frame."""
    return [Row(kind, axis, axis) for axis in axes]


def free_rows(
    name: str, n: Float, offset: Float, along: Float | None = None
) -> tuple[list[Row], list[Row], list[Row]]:
    """Rows, positions and rates of a joint of Table B.2 with axis n in the parent's frame.

    Parameters
    ----------
    name : str
        Key of `TABLE`.
    n : ndarray of float, shape (3,)
    offset : ndarray of float, shape (4,)
    along : ndarray of float, shape (3,), optional
        First axis across n, by default that of `basis`.

    Returns
    -------
    tuple of three list of Row
    """
    held, fixed = TABLE[name]
    v1, v2, _ = basis(n) if along is None else (along, np.cross(n, along), n)
    t1, t2, t = basis(rotation.rotate(rotation.conjugate(offset), n))
    if held == 3:
        rows, positions = list(POINTS), []
    else:
        rows = translation({2: (v1, v2), 1: (n,), 0: ()}[held])
        positions = translation({2: (n,), 1: (v1, v2), 0: EYE}[held])
    rates = list(positions)
    rows += turning(kinds.ROTATION, {3: EYE, 2: (t1, t2), 1: (t,), 0: ()}[fixed])
    if fixed == 2:
        positions += turning(kinds.ANGLE, (t,))
        rates += turning(kinds.ANGLE, (t,))
    elif fixed < 2:
        axes = EYE if fixed == 0 else (t1, t2)
        positions += turning(kinds.LOGARITHM, axes)
        rates += turning(kinds.SPIN, axes)
    return rows, positions, rates


#: Translational and rotational axes that a joint constrains (Table B.2, in theory/joints).
TABLE = {
    "fixed": (3, 3),
    "prismatic": (2, 3),
    "planar": (1, 3),
    "fixed orientation": (0, 3),
    "revolute": (3, 2),
    "cylindrical": (2, 2),
    "planar axis": (1, 2),
    "free axis": (0, 2),
    "spherical": (3, 0),
    "point on line": (2, 0),
    "point on plane": (1, 0),
    "floating": (0, 0),
    "constant velocity": (3, 1),
}


#: Words for options of joints elsewhere.
MEANT = {
    "damping_coefficient": "damping", "mu": "friction", "frictionloss": "friction",
    "k": "stiffness", "d": "damping", "c": "damping", "range": "limits",
    "limit": "limits", "motor": "actuated", "actuator": "actuated", "springref": "rest",
    "inertia": "armature", "position": "parent_point", "point": "parent_point",
    "anchor": "parent_point", "torque_limits": "control_limits", "force_limits": "control_limits",
}  # fmt: skip


def per_axis(value: Any, count: int, what: str, label: str) -> Float:
    """One number an axis: a scalar is that of all."""
    numbers = np.array(value, np.float64)
    if numbers.ndim == 0:
        numbers = np.full(count, float(numbers))
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise ValueError(
            f"{what} of {label} must be one finite number, or {count}: one a free axis"
        )
    return sealed(numbers)


def pairs(given: Any, count: int, label: str) -> Float | None:
    """Lower and upper ends, one pair a free axis; None stays."""
    if given is None:
        return None
    ends = np.array(given, np.float64)
    if ends.size == 2 * count:
        ends = ends.reshape(count, 2)
    if ends.shape != (count, 2) or np.isnan(ends).any() or (ends[:, 0] > ends[:, 1]).any():
        raise ValueError(
            f"{label} must be {count} pair{'s' * (count != 1)} (lower, upper), in order, with "
            f"numpy.inf where there is no end; {given!r} is not"
        )
    return sealed(ends)


def sealed(numbers: Float) -> Float:
    """Return an array that can no longer be written."""
    numbers.flags.writeable = False
    return numbers


def check_armature(armature: Float, positions: Any, rates: Any, label: str) -> None:
    """Refuse rotors of negative inertia, and those of coordinates that are no angle or way.

    Parameters
    ----------
    armature : ndarray of float, shape (number of coordinates,)
    positions, rates : sequence of Row
    label : str
        Whose it is.

    Raises
    ------
    ValueError
    """
    if (armature < 0.0).any():
        raise ValueError(f"armature of {label} is negative; it is an inertia")
    if armature.any() and any(p.kind != r.kind for p, r in zip(positions, rates)):
        raise ValueError(
            f"{label} has armature but turns freely: its coordinates are no angles of rotors; "
            "give it to joints of one axis each"
        )


def check_servo(servo: Any, actuated: bool, positions: Any, rates: Any, label: str) -> None:
    """Refuse servos of joints that are actuated otherwise, or whose coordinates are no angles."""
    if not isinstance(servo, (PositionServo, VelocityServo)):
        raise TypeError(
            f"servo of {label} must be a dynamics.PositionServo or VelocityServo, not {servo!r}"
        )
    if actuated:
        raise ValueError(
            f"{label} has a servo, whose control is its target; leave out actuated=True"
        )
    if not positions or any(p.kind != r.kind for p, r in zip(positions, rates)):
        raise ValueError(
            f"{label} has no coordinates that a servo could drive; give it to joints of one axis "
            "each"
        )
    servo.rows(len(positions), label)


def joint(
    kind: str,
    parent: Any,
    child: Any,
    rows: list[Row],
    positions: list[Row],
    rates: list[Row],
    offset: Float,
    *,
    name: Hashable = None,
    parent_point: ArrayLike = (0.0, 0.0, 0.0),
    child_point: ArrayLike = (0.0, 0.0, 0.0),
    stiffness: ArrayLike = 0.0,
    damping: ArrayLike = 0.0,
    rest: ArrayLike = 0.0,
    friction: ArrayLike = 0.0,
    armature: ArrayLike = 0.0,
    compliance: ArrayLike = 0.0,
    constraint_damping: ArrayLike = 0.0,
    theta: float = 0.5,
    actuated: bool = False,
    limits: Any = None,
    velocity_limits: Any = None,
    control_limits: Any = None,
    servo: Any = None,
    user: Callable[..., Any] | None = None,
    n_user: int = 0,
    user_bodies: tuple[Any, ...] = (),
    **unknown: Any,
) -> Joint:
    """Check the options of a joint, and make it.

    Parameters
    ----------
    kind : str
        Name of the type of joint, for messages.
    parent, child : Body or world
    rows, positions, rates : list of Row
        Constraints; coordinates along the free axes; their rates.
    offset : ndarray of float, shape (4,)
        Orientation of the child in the parent's frame at zero coordinates, scalar first.
    name : hashable, optional
        By default ``"parent-child"``.
    parent_point, child_point : array_like, shape (3,), optional
        Position of the joint on each body, in the body's frame, from its centre of mass, m.
    stiffness : float or array_like, shape (number of coordinates,), optional
        Spring along each free axis, N/m or N m/rad.
    damping : float or array_like, shape (number of coordinates,), optional
        Damper along each free axis, N s/m or N m s/rad; not negative.
    rest : float or array_like, shape (number of coordinates,), optional
        Coordinates at which the spring has no force, m or rad.
    friction : float or array_like, shape (number of coordinates,), optional
        Largest dry friction along each free axis, N or N m.
    armature : float or array_like, shape (number of coordinates,), optional
        Inertia of a rotor that turns with each free axis, reflected through its gear, kg or kg m^2.
    compliance : float or array_like, shape (n_rows,) or (n_rows, n_rows), optional
        Compliance of the constraint, m/N and rad/(N m); 0 is rigid. An array has a row per
        constraint row of the joint (``rows``): any symmetric positive semidefinite matrix. With an
        array, displacements of a joint that fixes a point are in the parent's axes.
    constraint_damping : float or array_like, shape (n_rows,) or (n_rows, n_rows), optional
        Damping of a compliant constraint, N s/m and N m s/rad; like ``compliance``.
    theta : float, optional
        Implicitness, from 1/2 to 1: 1/2 keeps the energy of a compliant constraint, 1 lets it
        decay.
    actuated : bool, optional
        Whether controls act along the free axes.
    limits : array_like, shape (number of coordinates, 2), optional
        Lower and upper limit of each coordinate, m or rad; numpy.inf for none.
    velocity_limits : array_like, shape (number of coordinates, 2), optional
        Lower and upper limit of each rate, m/s or rad/s.
    control_limits : array_like, shape (number of coordinates, 2), optional
        Smallest and largest control along each axis, N or N m; controls are clipped to them.
    servo : PositionServo or VelocityServo, optional
        Motor with feedback; the joint's control is added to its target.
    user : callable, optional
        Constraint ``g(*poses) -> (g, jacobian)`` of a `Custom` joint.
    n_user : int, optional
        Number of rows of ``user``.
    user_bodies : tuple of Body or world, optional
        Bodies whose poses are the arguments of ``user``, in order.
    **unknown
        Raises an error.

    Returns
    -------
    Joint

    Raises
    ------
    TypeError
        For an unknown option, with the name of the option that is meant if it is known.
    ValueError
        For invalid numbers.
    """
    name = f"{parent.name}-{child.name}" if name is None else name
    label = f"joint {name!r}"
    if unknown:
        given = {"stiffness": stiffness, "damping": damping}
        renamed = with_new_words(unknown | {k: v for k, v in given.items() if np.any(v)}, label)
        stiffness = renamed.pop("stiffness", stiffness)
        damping = renamed.pop("damping", damping)
        if renamed:
            raise TypeError(unknown_words(label, renamed, JointOptions.__annotations__, MEANT))
    if parent is child:
        raise ValueError(f"{label} joins {parent.name!r} with itself")
    count = len(positions)
    held = n_user or len(rows)
    soft = softness_of(compliance, held, "compliance", label)
    slow = softness_of(constraint_damping, held, "constraint_damping", label)
    if (np.ndim(soft) or np.ndim(slow)) and rows[:3] == list(POINTS):
        rows = translation(EYE) + rows[3:]
    if not 0.5 <= theta <= 1.0:
        raise ValueError(f"theta of {label} is {theta}, and must lie in [1/2, 1]")
    springs = per_axis(stiffness, count, "stiffness", label)
    dampers = per_axis(damping, count, "damping", label)
    if (dampers < 0.0).any():
        raise ValueError(f"damping of {label} is negative: it would add energy")
    rubbing = per_axis(friction, count, "friction", label)
    if (rubbing < 0.0).any():
        raise ValueError(f"friction of {label} is negative: it would add energy")
    heavy = per_axis(armature, count, "armature", label)
    check_armature(heavy, positions, rates, label)
    if control_limits is not None and not actuated:
        raise ValueError(f"{label} has control_limits but no controls; give it actuated=True")
    if servo is not None:
        check_servo(servo, actuated, positions, rates, label)
    return Joint(
        kind,
        name,
        parent,
        child,
        sealed(rotation.as_numbers(parent_point, (3,), f"parent_point of {label}")),
        sealed(rotation.as_numbers(child_point, (3,), f"child_point of {label}")),
        offset,
        tuple(rows),
        tuple(positions),
        tuple(rates),
        springs,
        dampers,
        per_axis(rest, count, "rest", label),
        rubbing,
        heavy,
        soft,
        slow,
        float(theta),
        actuated,
        pairs(limits, count, f"limits of {label}"),
        pairs(velocity_limits, count, f"velocity_limits of {label}"),
        pairs(control_limits, count, f"control_limits of {label}"),
        servo,
        user,
        n_user,
        user_bodies,
    )
