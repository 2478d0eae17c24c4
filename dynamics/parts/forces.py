"""Forces other than those of joints: springs and dampers between points, and users' functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation
from dynamics.parts.bodies import WORLD, check_ends
from dynamics.parts.options import never_changes
from dynamics.parts.user_functions import bodies_of, ends_of

__all__ = ["Potential", "Rope", "Spring", "Thruster", "Wrench"]

Float = NDArray[np.float64]


@never_changes("spring")
@dataclass(frozen=True, slots=True, eq=False)
class Spring:
    """A spring and damper between two points, along the line between them.

    Parameters
    ----------
    parent, child : Body or world
    stiffness : float, optional
        N/m.
    damping : float, optional
        N s/m.
    length : float, optional
        Rest length, m.
    parent_point, child_point : array_like, shape (3,), optional
        End points, body frames, m.
    name : hashable, optional
    actuated : bool, optional
        Whether a control pushes the points apart, N.
    limits : tuple of float, optional
        Smallest and largest distance of the points, m; either may be infinite. See `Rope`.
    control_limits : tuple of float, optional
        Smallest and largest control, N; controls are clipped to them.
    limit_compliance : float, optional
        Compliance of the limits, m/N; 0 is rigid.
    """

    parent: Any
    child: Any
    stiffness: float = 0.0
    damping: float = 0.0
    length: float = 0.0
    parent_point: ArrayLike = (0.0, 0.0, 0.0)
    child_point: ArrayLike = (0.0, 0.0, 0.0)
    name: Hashable = None
    actuated: bool = False
    limits: tuple[float, float] | None = None
    control_limits: tuple[float, float] | None = None
    limit_compliance: float = 0.0

    def __post_init__(self) -> None:
        check_ends("spring", self.parent, self.child)
        if self.name is None:
            object.__setattr__(self, "name", f"{self.parent.name}~{self.child.name}")
        label = f"spring {self.name!r}"
        if self.parent is self.child:
            raise ValueError(f"{label} joins {self.parent.name!r} with itself")
        for what in ("stiffness", "damping", "length", "limit_compliance"):
            value = getattr(self, what)
            if not (math.isfinite(value) and value >= 0.0):
                raise ValueError(f"{what} of {label} is {value}, and must not be negative")
        for what in ("parent_point", "child_point"):
            point = rotation.as_numbers(getattr(self, what), (3,), f"{what} of {label}")
            object.__setattr__(self, what, point)
        if self.limits is not None:
            low, high = _pair(self.limits, f"limits of {label}")
            if not (low <= high and high > 0.0):
                raise ValueError(f"limits of {label} must be (lower, upper), in order")
            object.__setattr__(self, "limits", (low if low > 0.0 else -math.inf, high))
        if self.control_limits is not None:
            low, high = _pair(self.control_limits, f"control_limits of {label}")
            if not (low <= high and self.actuated):
                raise ValueError(
                    f"control_limits of {label} must be (lower, upper), in order, and need "
                    "actuated=True"
                )
            object.__setattr__(self, "control_limits", (low, high))


def _pair(given: Any, label: str) -> tuple[float, float]:
    """Lower and upper end."""
    if np.shape(given) != (2,):
        raise ValueError(f"{label} must be (lower, upper), not {given!r}")
    return float(given[0]), float(given[1])


def Rope(
    parent: Any, child: Any, length: float, *, compliance: float = 0.0, **options: Any
) -> Spring:
    """Limit the distance of two points: a rope, or with ``compliance`` an elastic band.

    Parameters
    ----------
    parent, child : Body or world
    length : float
        Largest distance, m.
    compliance : float, optional
        m/N; 0 is inextensible.
    **options
        ``parent_point``, ``child_point``, ``name`` and the other options of `Spring`.

    Returns
    -------
    Spring
        For `Mechanism.add_force`; `Trajectory.contact` returns its slack and its tension.
    """
    return Spring(parent, child, limits=(-math.inf, length), limit_compliance=compliance, **options)


@never_changes("thruster")
@dataclass(frozen=True, slots=True, eq=False)
class Thruster:
    """Force and torque in the frame of a body, proportional to a control: a propeller or a jet.

    The control with its name multiplies both. No other body gets the reaction.

    Parameters
    ----------
    child : Body
        Body on which it acts.
    force : array_like, shape (3,), optional
        Force at control 1, body frame, N.
    torque : array_like, shape (3,), optional
        Torque at control 1, body frame, N m.
    point : array_like, shape (3,), optional
        Point of action of the force, body frame, m.
    name : hashable, optional
    control_limits : tuple of float, optional
        Smallest and largest control; controls are clipped to them.

    Raises
    ------
    ValueError
        For numbers that are not finite, and if both force and torque are missing.
    """

    child: Any
    force: ArrayLike = (0.0, 0.0, 0.0)
    torque: ArrayLike = (0.0, 0.0, 0.0)
    point: ArrayLike = (0.0, 0.0, 0.0)
    name: Hashable = None
    control_limits: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        check_ends("thruster", self.child)
        if self.name is None:
            object.__setattr__(self, "name", f"thruster of {self.child.name}")
        label = f"thruster {self.name!r}"
        if self.child is WORLD:
            raise ValueError(f"{label} pushes the world, which does not move")
        for what in ("force", "torque", "point"):
            numbers = rotation.as_numbers(getattr(self, what), (3,), f"{what} of {label}")
            object.__setattr__(self, what, numbers)
        if not (np.any(self.force) or np.any(self.torque)):
            raise ValueError(f"{label} has neither force nor torque")
        if self.control_limits is not None:
            low, high = _pair(self.control_limits, f"control_limits of {label}")
            if not low <= high:
                raise ValueError(f"control_limits of {label} must be (lower, upper), in order")
            object.__setattr__(self, "control_limits", (low, high))

    @property
    def parent(self) -> Any:
        """The world, which feels nothing."""
        return WORLD


@never_changes("wrench")
@dataclass(frozen=True, slots=True, eq=False)
class Wrench:
    """Force and torque from a function of time, poses and velocities.

    At order 2, half of an interval's impulse acts at each of its ends, with the pose there and the
    velocity of the interval, so steps stay of second order. At orders 4 and 6 the wrench acts at
    all nodes of a step, with the velocities there, and must be sufficiently smooth for these
    orders. The wrench on a ``parent`` is equal and opposite: a wrench between two bodies conserves
    momentum.

    Parameters
    ----------
    child : Body
        Body on which the wrench acts.
    function : callable
        ``wrench = function(time, pose, twist)``, shape (6,): force (world, N) and torque (body
        frame, N m) about the body's origin, from its pose [x, y, z, qs, qx, qy, qz] and its twist,
        v (world, m/s) and omega (body frame, rad/s). With a ``parent`` that is a body:
        ``function(time, parent_pose, pose, parent_twist, twist)``.
    parent : Body or world, optional
    jacobian : callable, optional
        Function of the same arguments: derivative of the wrench with respect to the child's twist,
        shape (6, 6). It saves iterations if the derivative is large.
    name : hashable, optional

    Raises
    ------
    ValueError
        If it connects a body with itself, or acts on the world.
    TypeError
        If ``function`` or ``jacobian`` is not callable.
    """

    child: Any
    function: Callable[..., ArrayLike]
    parent: Any = WORLD
    jacobian: Callable[..., ArrayLike] | None = None
    name: Hashable = None

    def __post_init__(self) -> None:
        _check_user(self, "wrench", self.function, self.jacobian)
        if self.child is WORLD:
            raise ValueError(f"wrench {self.name!r} acts on the world; exchange parent and child")


@never_changes("potential")
@dataclass(frozen=True, slots=True, eq=False)
class Potential:
    """Potential energy from a function of the poses of any number of bodies.

    ``Potential(bodies=[a, b, c], function=V)`` is the energy V(z_a, z_b, z_c). ``Potential(child,
    V)`` is short for ``bodies=[world, child]``, and with a ``parent`` for ``bodies=[parent,
    child]``.

    Parameters
    ----------
    child : Body, optional
        Omitted with ``bodies``.
    function : callable
        ``energy, gradient = function(*poses)``, with one pose [x, y, z, qs, qx, qy, qz] per body:
        the energy, J, and for k bodies its derivative, shape (6 k,), with respect to (x_1, theta_1,
        x_2, theta_2, ...), theta a rotation vector in the body's frame.
    parent : Body or world, optional
    name : hashable, optional
    bodies : sequence of Body or world, optional
        Bodies in the order of the function's arguments, each once.

    Raises
    ------
    ValueError
        If a body is given twice, and if all bodies are fixed.
    TypeError
        If ``function`` is not callable, and if ``bodies`` are not bodies.

    Notes
    -----
    Each call runs Python. A step uses the gradient explicitly, at both ends of an interval, so the
    potential must not be too stiff for the time step (theory/step).
    """

    child: Any = None
    function: Callable[..., Any] | None = None
    parent: Any = WORLD
    name: Hashable = None
    bodies: Any = None

    def __post_init__(self) -> None:
        if self.bodies is None:
            if self.child is None:
                raise TypeError("a potential needs a child or bodies=")
            object.__setattr__(self, "bodies", (self.parent, self.child))
        else:
            label = "a potential" if self.name is None else f"potential {self.name!r}"
            found = bodies_of(self.bodies, label)
            ends = ends_of(found)
            if self.child is not None and (self.parent, self.child) not in (found, ends):
                raise TypeError(f"{label} has bodies=; leave out child and parent")
            for what, value in zip(("bodies", "parent", "child"), (found, *ends)):
                object.__setattr__(self, what, value)
        _check_user(self, "potential", self.function, None)


def _check_user(force: Any, what: str, function: Any, jacobian: Any) -> None:
    """Name a user's force, and refuse what is none."""
    check_ends(what, force.parent, force.child)
    if force.name is None:
        ends = getattr(force, "bodies", (force.parent, force.child))
        object.__setattr__(force, "name", f"{what} {'~'.join(str(one.name) for one in ends)}")
    label = f"{what} {force.name!r}"
    if force.parent is force.child:
        raise ValueError(f"{label} joins {force.parent.name!r} with itself")
    if not callable(function) or not (jacobian is None or callable(jacobian)):
        raise TypeError(f"{label} needs a function, not {function!r} and {jacobian!r}")
