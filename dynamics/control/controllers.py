"""Controllers for `simulate`: PD, computed torque, and the linear-quadratic regulator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation
from dynamics.control.inverse_dynamics import actuated, inverse_dynamics
from dynamics.derivatives.linearization import linearize
from dynamics.errors import InconsistentStateError, UnknownNameError, check_model
from dynamics.kinematics.joint_space import JointSpace
from dynamics.kinematics.stiff_momenta import as_if_under
from dynamics.state import check_state
from dynamics.tables import inputs

if TYPE_CHECKING:
    from dynamics.model import Model
    from dynamics.state import State

__all__ = ["ComputedTorque", "LinearQuadratic", "ProportionalDerivative", "lqr"]

Float = NDArray[np.float64]

#: A state stays where one step changes no coordinate and no rate by more, m, rad, m/s or rad/s.
STAYS = 1e-6


#: Growth of errors a step below which PD control is not warned of: rounding of a double eigenvalue
#: 1, that of a coordinate which nothing pushes (the root of machine epsilon).
GROWS = 1e-7


class _Feedback:
    """Base of controllers: reads actuated coordinates, and places forces in the controls."""

    def __init__(self, model: Model, joints: Iterable[Hashable] | None) -> None:
        check_model(model, type(self).__name__)
        self.model = model
        self.space = JointSpace(model, actuated(model) if joints is None else joints)
        if not self.space.names:
            raise ValueError("there is no joint to drive: make one with actuated=True")
        places: list[int] = []
        for name in self.space.names:
            if name not in model.tables.control_start:
                raise ValueError(
                    f"joint {name!r} is not actuated; actuated are "
                    f"{list(model.tables.control_start)}"
                )
            if model.mechanism.joints[name].servo is not None:
                raise ValueError(
                    f"joint {name!r} has a servo: its control is a target, not a force; give the "
                    "joint actuated=True in place of the servo"
                )
            first, count = model.tables.control_start[name]
            places += range(first, first + count)
        self.places = np.array(places, np.int64)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.space!r})"

    def controls(self, forces_: Float) -> Float:
        """Vector of controls with these forces in the joints."""
        out = np.zeros(self.model.n_controls)
        out[self.places] = forces_
        return out

    def mobility(self) -> Float | None:
        """Inverse inertias of the coordinates at the first state; None where there is none."""
        try:
            state = self.model.initial_state()
        except InconsistentStateError:
            return None
        J = self.space.slopes(state).J.toarray()
        pushed = np.tile(state.data, (self.space.size, 1))
        first = state.pose.size
        pushed[:, first : first + J.shape[1]] = J
        return np.asarray(J @ self.model.workspace.velocities(pushed).T)

    def aims(self, target: Any, time: float, *what: str) -> list[Float]:
        """Coordinates and their derivatives, which ``what`` names, of a target at a time."""
        if not callable(target):
            return [target, *[np.zeros(self.space.size)] * (len(what) - 1)]
        given = target(time)
        if isinstance(given, (tuple, list, np.ndarray)) and len(given) == len(what):
            numbers = not any(np.ndim(one) or isinstance(one, Mapping) for one in given)
            if isinstance(given, tuple) or self.space.size == 1 or not numbers:
                return [self.numbers(one, "target") for one in given]
        raise ValueError(
            f"target({time:g}) is {given!r}, and must be a tuple: {', '.join(what)}, each a "
            f"number, {self.space.size} of them, or a mapping by joint"
        )

    def numbers(self, value: ArrayLike | Mapping[Hashable, ArrayLike], what: str) -> Float:
        """One number per coordinate, by joint or in turn; a scalar is that of all."""
        if not isinstance(value, Mapping):
            shape = (self.space.size,) if np.ndim(value) else ()
            return np.broadcast_to(rotation.as_numbers(value, shape, what), self.space.size).copy()
        if set(value) != set(self.space.names):
            raise UnknownNameError(
                f"{what} is of {list(value)}, and must be of each joint that is driven: "
                f"{list(self.space.names)}"
            )
        parts = [np.atleast_1d(value[name]) for name in self.space.names]
        counts = [self.space.start[name][1] for name in self.space.names]
        return np.concatenate([
            rotation.as_numbers(part, (count,), f"{what} of joint {name!r}")
            for name, part, count in zip(self.space.names, parts, counts)
        ])  # fmt: skip


class ProportionalDerivative(_Feedback):
    """PD control of actuated joints: ``u = kp (target - q) + kd (target' - q')``.

    The force is computed at the start of a step and held during it (zero-order hold), as in a
    digital controller. With an effective inertia m and a time step h the motion is unstable if
    ``h kd / m > 2`` or ``kd < h kp / 2``, with dampers of the joints as part of kd.
    `PositionServo` has no such limit.

    Parameters
    ----------
    model : Model
    stiffness, damping : float, array_like, shape (k,), or mapping by joint
        kp and kd, N/m or N m/rad and N s/m or N m s/rad.
    target : array_like, shape (k,), mapping by joint, or callable, optional
        Coordinates; or ``target(time)``, which returns coordinates and their rates.
    joints : iterable of hashable, optional
        By default all actuated joints.
    most : float or array_like, shape (k,), optional
        Largest force, N or N m.

    Raises
    ------
    UnknownNameError
        If a mapping does not contain all joints of the controller.
    ValueError
        If the gains are too high for the time step, at the model's first state: ``h kd / m``
        above 2 or ``h^2 kp / m`` above 4.

    Warns
    -----
    RuntimeWarning
        If the motion is slowly unstable, because ``kd`` is too small for ``kp``.

    References
    ----------
    .. [1] K. J. Astrom, B. Wittenmark, Computer-Controlled Systems, Prentice Hall, 1997, sec. 3.2.
    """

    def __init__(
        self,
        model: Model,
        stiffness: ArrayLike | Mapping[Hashable, ArrayLike],
        damping: ArrayLike | Mapping[Hashable, ArrayLike],
        target: ArrayLike | Mapping[Hashable, ArrayLike] | Callable[[float], Any] = 0.0,
        *,
        joints: Iterable[Hashable] | None = None,
        most: ArrayLike = np.inf,
    ) -> None:
        super().__init__(model, joints)
        self.stiffness = self.numbers(stiffness, "stiffness")
        self.damping = self.numbers(damping, "damping")
        self.target = target if callable(target) else self.numbers(target, "target")
        self.most = np.broadcast_to(np.asarray(most, float), (self.space.size,)).copy()
        self._check_gains()

    def _check_gains(self) -> None:
        """Refuse gains for which a held force makes errors grow."""
        W, h = self.mobility(), self.model.timestep
        if W is None:
            return
        names = [name for name in self.space.names for _ in range(self.space.start[name][1])]
        for gain, what, power, most in (
            (self.damping, "kd", 1, 2.0),
            (self.stiffness, "kp", 2, 4.0),
        ):
            largest = _largest(W, gain)
            if h**power * largest > most:
                name = names[int(np.argmax(np.abs(gain) * np.diag(W)))]
                steps = "h" if power == 1 else "h^2"
                raise ValueError(
                    f"{what} of joint {name!r} is too high for a force that is held over a step of "
                    f"{h:g} s: {steps} {what} / m is {h**power * largest:.3g} of its inertia m, "
                    f"and above {most:g} the motion grows; use "
                    "servo=dynamics.PositionServo(kp, kd) on the joint, which has no limit, "
                    "or a timestep below "
                    f"{(most / largest) ** (1 / power):.2g} s"
                )
        joints = self.model.mechanism.joints
        damped = self.damping + np.concatenate([joints[name].damping for name in self.space.names])
        P, D, eye = W * self.stiffness, W * damped, np.eye(len(W))
        step = np.block([[eye - 0.5 * h**2 * P, h * eye - 0.5 * h**2 * D], [-h * P, eye - h * D]])
        radius = float(np.abs(np.linalg.eigvals(step)).max(initial=0.0))
        if radius > 1.0 + GROWS:
            warnings.warn(
                f"PD control of {list(self.space.names)} lets errors grow by {radius - 1.0:.1e} a "
                f"step, as its force is held over a step of {h:g} s: give kd at least h kp / 2, or "
                "use servo=dynamics.PositionServo(kp, kd) on the joints",
                RuntimeWarning,
                stacklevel=3,
            )

    def __call__(self, state: State, time: float) -> Float:
        """Return the controls at a state."""
        q, rate = self.space.read(state)
        goal, speed = self.aims(self.target, time, "coordinates", "rates")
        force = -self.stiffness * self.space.difference(q, goal) - self.damping * (rate - speed)
        return self.controls(np.clip(force, -self.most, self.most))


class ComputedTorque(_Feedback):
    """Computed torque: inverse dynamics of ``q'' = target'' - kd e' - kp e``, e = q - target.

    Parameters
    ----------
    model : Model
    target : callable, float, array_like, shape (k,), or mapping by joint
        ``target(time)`` returns coordinates of the joints, their rates and second derivatives, each
        a number, an array of shape (k,) or a mapping by joint. Or constant coordinates.
    stiffness, damping : float, array_like, shape (k,), or mapping by joint
        kp, 1/s^2, and kd, 1/s: the error decays as ``e'' + kd e' + kp e = 0``.
    joints : iterable of hashable, optional
        By default all actuated joints.
    """

    def __init__(
        self,
        model: Model,
        target: ArrayLike | Mapping[Hashable, ArrayLike] | Callable[[float], Any],
        stiffness: ArrayLike | Mapping[Hashable, ArrayLike],
        damping: ArrayLike | Mapping[Hashable, ArrayLike],
        *,
        joints: Iterable[Hashable] | None = None,
    ) -> None:
        super().__init__(model, joints)
        self.target = target if callable(target) else self.numbers(target, "target")
        self.stiffness = self.numbers(stiffness, "stiffness")
        self.damping = self.numbers(damping, "damping")

    def __call__(self, state: State, time: float) -> Float:
        """Return the controls at a state."""
        q, rate = self.space.read(state)
        goal, speed, acceleration = self.aims(
            self.target, time, "coordinates", "rates", "accelerations"
        )
        e, change = self.space.difference(q, goal), rate - speed
        wanted = acceleration - self.damping * change - self.stiffness * e
        return self.controls(inverse_dynamics(self.model, state, wanted, self.space.names))


class LinearQuadratic:
    """Linear feedback ``u = u0 - K (x - x0)``, made by `lqr`.

    Parameters
    ----------
    space : JointSpace
        Coordinates of x.
    state : State
        x0, after an interval under the control.
    control : ndarray of float, shape (c,)
        u0.
    A, B : ndarray of float
        Linearization of a step.
    P, R : ndarray of float
        Matrices of the cost to go and of the cost of controls.

    Attributes
    ----------
    gain : ndarray of float, shape (c, 2 k)
        K, for coordinates and rates.
    cost : ndarray of float, shape (2 k, 2 k)
        P: the cost to go from x is ``(x - x0)^T P (x - x0)``.
    closed_loop : ndarray of float, shape (2 k, 2 k)
        A - B K; its eigenvalues are inside the unit circle.
    """

    def __init__(
        self,
        space: JointSpace,
        state: State,
        control: Float,
        A: Float,
        B: Float,
        P: Float,
        R: Float,
    ) -> None:
        self.space, self.control, self.cost = space, control, P
        self.position, self.velocity = self._read(state)
        self.gain = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        self.closed_loop = A - B @ self.gain

    def __repr__(self) -> str:
        return f"LinearQuadratic({len(self.gain)} controls, {self.space!r})"

    def __call__(self, state: State, time: float) -> Float:
        """Return the controls at a state."""
        q, rate = self._read(state)
        error = np.concatenate([self.space.difference(q, self.position), rate - self.velocity])
        return np.asarray(self.control - self.gain @ error)

    def _read(self, state: State) -> Float:
        """Coordinates and rates as `linearize` has them: before the impulses of contacts."""
        model = self.space.model
        check_state(model, state)
        free = as_if_under(model, state, self.control).copy()
        free.contacts[: model.late_at] = 0.0
        return np.asarray(self.space.observed(free.data[None])[0])


def lqr(
    model: Model,
    state: State,
    Q: ArrayLike,
    R: ArrayLike,
    control: ArrayLike | Mapping[Hashable, ArrayLike] | None = None,
    *,
    joints: Iterable[Hashable] | None = None,
) -> LinearQuadratic:
    """Design a discrete linear-quadratic regulator (LQR) that keeps a mechanism at a state.

    Parameters
    ----------
    model : Model
    state : State
        Equilibrium under the control.
    Q : array_like, shape (2 k, 2 k), (2 k,) or ()
        Cost of coordinates and rates per step, positive semidefinite; a vector is its diagonal.
    R : array_like, shape (c, c), (c,) or ()
        Cost of controls per step, positive definite; a vector is its diagonal.
    control : array_like, shape (c,), or mapping, optional
        Control that holds the state; by default from inverse dynamics with zero acceleration.
    joints : iterable of hashable, optional
        Joints whose coordinates are the state of the regulator; by default all.

    Returns
    -------
    LinearQuadratic
        For ``simulate(..., controller=...)``.

    Raises
    ------
    ValueError
        If the state is not an equilibrium under the control, or cannot be stabilized.

    References
    ----------
    .. [1] J. Bruedigam, Z. Manchester, Linear-quadratic optimal control in maximal coordinates,
       IEEE International Conference on Robotics and Automation, 2021.
    """
    from scipy.linalg import solve_discrete_are

    check_model(model, "lqr")
    if not model.n_controls:
        raise ValueError("there is no joint to drive: make one with actuated=True")
    space = JointSpace(model, joints)
    if control is None:
        acting = _Feedback(model, None)
        control = acting.controls(inverse_dynamics(model, state, np.zeros(acting.space.size)))
    hold = inputs.controls_of(model, control)
    after, _ = model.step(state, hold)
    here, there = space.read(state), space.read(after)
    moved = max(
        np.abs(space.difference(there[0], here[0])).max(initial=0.0),
        np.abs(there[1] - here[1]).max(initial=0.0),
    )
    if moved > STAYS:
        raise ValueError(
            f"the state does not stay: its coordinates and rates change by up to {moved:.2e} in a "
            f"step under the control {hold}; give a state at rest, and the control that holds it"
        )
    # not at the state: stiff forces push only half as long in the first interval of a motion
    A, B = linearize(model, after, hold, coordinates=space.names, chained=True)
    costs = (
        _weights(Q, 2 * space.size, "Q", [*space.names, "their rates"]),
        _weights(R, model.n_controls, "R", list(model.tables.control_start)),
    )
    try:
        P = solve_discrete_are(A, B, *costs)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise ValueError(
            f"the mechanism cannot be stabilized by its {model.n_controls} controls at this state, "
            f"or costs miss a motion that grows: {error}"
        ) from None
    return LinearQuadratic(space, after, hold, A, B, P, costs[1])


def _largest(W: Float, gain: Float) -> float:
    """Largest eigenvalue of W diag(gain)."""
    roots = np.sqrt(np.maximum(gain, 0.0))
    return float(np.linalg.eigvalsh(roots[:, None] * 0.5 * (W + W.T) * roots).max(initial=0.0))


def _weights(given: ArrayLike, size: int, what: str, order: list[Hashable]) -> Float:
    matrix = np.array(np.nan if isinstance(given, Mapping) else given, np.float64)
    if matrix.shape in ((), (size,)):
        matrix = np.diag(np.broadcast_to(matrix, (size,)))
    if matrix.shape != (size, size) or not np.isfinite(matrix).all():
        raise ValueError(
            f"{what} must be finite, of shape ({size}, {size}), ({size},) or a number; in the "
            f"order {order}"
        )
    if not np.allclose(matrix, matrix.T, rtol=1e-12, atol=0.0):
        raise ValueError(f"{what} is not symmetric")
    return np.asarray(matrix)
