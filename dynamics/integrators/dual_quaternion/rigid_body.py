"""Dual-quaternion variational integrator (DQVI) of one rigid body, to second order.

The reference point is any point of the body and the inertia any symmetric positive definite 6 x 6
matrix. Equations, what is printed wrong in [1]_, and measured figures:
docs/theory/dual_quaternion.md.

References
----------
.. [1] J. Xu and K. H. Halse, Dual quaternion variational integrator for rigid body dynamic
   simulation, 2016.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation
from dynamics.errors import ConvergenceError, InconsistentStateError
from dynamics.integrators.dual_quaternion.forces import (
    AnchoredSpring,
    BodyWrench,
    Drag,
    Pivot,
    WorldForce,
    pack,
)
from dynamics.integrators.dual_quaternion.trajectory import RigidBodyState, RigidBodyTrajectory
from dynamics.interrupts import Deferred, hand_on, in_portions
from dynamics.parts.spatial_inertia import check_inertia, skew
from dynamics.rotation import as_numbers

__all__ = ["RigidBody"]

Float = NDArray[np.float64]
Force = WorldForce | AnchoredSpring | BodyWrench | Drag
External = Callable[[float, Float, Float, Float], ArrayLike]

# A state fulfils the joint where it misses it by no more than this, m or m/s for lengths and
# speeds of order 1: what ten digits in a user's file leave, and far more than rounding.
CONSISTENT = 1e-8
# The end wrench of a user's function is found by repetition, to this relative change of momentum.
# A change that has grown so much shows that it will not settle.
SETTLED, REPETITIONS, GROWN = 1e-13, 50, 1e6
# Steps of the first portion of a run, some milliseconds.
PORTION = 2000


@dataclass(frozen=True, slots=True, eq=False, init=False)
class RigidBody:
    """One rigid body with its inertia, forces and joint, and its integrator.

    Parameters
    ----------
    inertia : array_like, shape (6, 6)
        Symmetric positive definite inertia for twists ``[omega; v]`` of the reference point in body
        axes: `spatial_inertia`, plus added mass.
    forces : iterable of WorldForce, AnchoredSpring, BodyWrench or Drag
        Built-in forces; a run with them is compiled code.
    pivot : Pivot, optional
        Spherical joint between a point of the body and the world.
    external : callable, optional
        ``external(time, position, orientation, twist)`` returns an additional wrench ``[torque;
        force]`` about the reference point, body axes, N m and N. If it depends on the twist, its
        value at the end of a step is found by fixed-point iteration.

    Attributes
    ----------
    inertia : ndarray of float, shape (6, 6)
        As given.
    forces : tuple
        As given.
    pivot : Pivot or None
        As given.
    external : callable or None
        As given.
    mobility : ndarray of float, shape (6, 6)
        W: twist = W momentum; the inverse of the inertia, projected onto the joint's free motions.
    table : ndarray of float
        Numbers that the kernels read, as in `dynamics.kernels.dual_quaternion.equations`.

    Raises
    ------
    TypeError
        If a force has another type.
    ValueError
        If the inertia is not symmetric positive definite, or a number is not finite.

    Examples
    --------
    A thrown ball follows a parabola, for any time step:

    >>> inertia = spatial_inertia(2.0, np.eye(3))
    >>> ball = RigidBody(inertia, forces=[WorldForce((0, 0, -2.0 * 9.81))])
    >>> thrown = ball.simulate(ball.state(velocity=(1, 0, 5)), timestep=0.1, steps=10)
    >>> thrown.position[-1].round(12)
    array([1.   , 0.   , 0.095])
    """

    inertia: Float
    forces: tuple[Force, ...]
    pivot: Pivot | None
    external: External | None
    mobility: Float
    table: Float

    def __init__(
        self,
        inertia: ArrayLike,
        forces: Iterable[Force] = (),
        *,
        pivot: Pivot | None = None,
        external: External | None = None,
    ) -> None:
        M = check_inertia(inertia)
        own = tuple(forces)
        for k, force in enumerate(own):
            if not isinstance(force, Force):
                raise TypeError(
                    f"force {k} must be WorldForce, AnchoredSpring, BodyWrench or Drag, "
                    f"not {force!r}"
                )
        if pivot is not None and not isinstance(pivot, Pivot):
            raise TypeError(f"pivot must be a Pivot, not {pivot!r}")
        if external is not None and not callable(external):
            raise TypeError(f"external must be a function, not {external!r}")
        W = np.linalg.inv(M)
        if pivot is not None:  # [M -G^T; G 0] [twist; nu] = [p; 0] with G = [-S(a), I]
            WG = W @ np.hstack([-skew(pivot.point), np.eye(3)]).T
            W = W - WG @ np.linalg.solve(WG[3:] - skew(pivot.point) @ WG[:3], WG.T)
        W = (W + W.T) / 2.0
        table = pack(M, W, own, pivot)
        W.flags.writeable = table.flags.writeable = False
        for name, value in (
            ("inertia", M),
            ("forces", own),
            ("pivot", pivot),
            ("external", external),
            ("mobility", W),
            ("table", table),
        ):
            object.__setattr__(self, name, value)

    def state(
        self,
        position: ArrayLike | None = None,
        orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        *,
        angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
        velocity: ArrayLike | None = None,
        time: float = 0.0,
    ) -> RigidBodyState:
        """Initial state.

        Parameters
        ----------
        position : array_like, shape (3,), optional
            Reference point in the world, m; by default the origin, or the place given by the joint.
        orientation : array_like, shape (4,)
            Quaternion, scalar first, body to world.
        angular_velocity : array_like, shape (3,)
            Along the body's axes, rad/s.
        velocity : array_like, shape (3,), optional
            Velocity of the reference point, body axes, m/s; by default zero, or the velocity given
            by the joint.
        time : float
            s.

        Returns
        -------
        RigidBodyState

        Raises
        ------
        InconsistentStateError
            If it violates the joint.
        ValueError
            If the orientation is zero or a number is not finite.
        """
        omega = as_numbers(angular_velocity, (3,), "the angular velocity")
        q = rotation.normalized(as_numbers(orientation, (4,), "the orientation"))
        at, v = np.zeros(3), np.zeros(3)
        if self.pivot is not None:
            at = self.pivot.anchor - rotation.rotate(q, self.pivot.point)
            v = np.cross(self.pivot.point, omega)
        if position is not None:
            at = as_numbers(position, (3,), "the position")
        if velocity is not None:
            v = as_numbers(velocity, (3,), "the velocity")
        state = RigidBodyState(time, at, q, np.concatenate([omega, v]))
        self._check(state)
        return state

    def step(self, state: RigidBodyState, timestep: float) -> RigidBodyState:
        """Take one step.

        Parameters
        ----------
        state : RigidBodyState
            Stays as it is.
        timestep : float
            h, s. In a step the body may turn by about 1 rad, and move along the axis of rotation by
            about twice its radius of gyration; beyond that the equations have no solution.

        Returns
        -------
        RigidBodyState

        Raises
        ------
        ConvergenceError
            If the equations of the step could not be solved.
        InconsistentStateError
            If the state violates the joint.
        ValueError
            If the timestep is not positive.
        """
        return self.simulate(state, timestep, 1).state()

    def simulate(self, state: RigidBodyState, timestep: float, steps: int) -> RigidBodyTrajectory:
        """Simulate a number of steps.

        Parameters
        ----------
        state : RigidBodyState
            Stays as it is.
        timestep : float
            h, s; as for `step`.
        steps : int
            n, 0 or more.

        Returns
        -------
        RigidBodyTrajectory
            At n + 1 nodes, starting with the given state.

        Raises
        ------
        ConvergenceError
            If the equations of a step could not be solved; `step` is its number.
        InconsistentStateError
            If the state violates the joint.
        ValueError
            If the timestep is not positive, or the function `external` returned no wrench.
        """
        from dynamics.kernels.dual_quaternion import equations as layout
        from dynamics.kernels.dual_quaternion import step as kernels

        h, n = float(as_numbers(timestep, (), "the timestep")), operator.index(steps)
        if h <= 0.0 or n < 0:
            raise ValueError(f"timestep and steps must be positive, not {timestep!r} and {steps!r}")
        self._check(state)
        table = self.table.copy()
        D = table[layout.DRAG : layout.IMPLICIT].reshape(6, 6)
        implicit = np.asarray(np.linalg.inv(np.eye(6) + 0.5 * h * D @ self.mobility))
        table[layout.IMPLICIT : layout.WRENCH] = implicit.ravel()
        pose, p = np.empty((n + 1, 7)), np.empty((n + 1, 6))
        pose[0, :3], pose[0, 3:], p[0] = (
            state.position,
            state.orientation,
            self.inertia @ state.twist,
        )
        iterations, work = np.zeros(n, dtype=np.int64), np.zeros(layout.WORK_SIZE)
        springs = sum(isinstance(force, AnchoredSpring) for force in self.forces)
        counts = sum(isinstance(force, WorldForce) for force in self.forces), springs
        tables = table, self.pivot is not None, *counts, h
        time = np.asarray(state.time + h * np.arange(n + 1), dtype=np.float64)
        status, made = layout.SOLVED, [0]

        def run(first: int, count: int) -> int:
            nonlocal status
            rest = pose[first:].ravel(), p[first:].ravel(), iterations[first:][:count]
            did, status = kernels.run(*tables, *rest, work)
            made[0] += did
            return int(did)

        with Deferred() as deferred:
            if self.external is None:
                stopped = in_portions(deferred, run, n, PORTION)
            else:
                try:
                    deferred.open = True
                    status = self._run(tables, implicit, time, pose, p, iterations, work, made)
                except BaseException as error:  # of the user's function, or Ctrl-C
                    stopped = error
                else:
                    stopped = None
                deferred.open = False
            done = made[0]
            twist = p[: done + 1] @ self.mobility
            if status != layout.SOLVED:
                raise _failure(status, done, time[done], h, twist[done], work[layout.RESIDUAL])
            twist[0] = state.twist
            time, pose = time[: done + 1], pose[: done + 1]
            arrays = time, pose[:, :3], pose[:, 3:], twist, iterations[:done]
            for array in arrays:
                array.flags.writeable = False
            trajectory = RigidBodyTrajectory(self, *arrays)
        hand_on(deferred, stopped, trajectory)
        return trajectory

    def _run(
        self,
        tables: Any,
        implicit: Float,
        time: Float,
        pose: Float,
        p: Float,
        n: Any,
        work: Float,
        made: list[int],
    ) -> int:
        """`kernels.run` with the user's function called between the kernels."""
        from dynamics.kernels.dual_quaternion import equations as layout
        from dynamics.kernels.dual_quaternion import step as kernels

        table, jointed, n_forces, n_springs, h = tables
        node = work[layout.NODE : layout.NODE + 6]
        pushed = self._external(time[0], pose[0], p[0])
        for k in range(n.size):
            place = tuple(pose[k, :3]), tuple(pose[k, 3:])
            layout.node_wrench(table, n_forces, n_springs, *place, work, layout.NODE)
            node += pushed
            status, n[k] = kernels.advance(
                table, jointed, h, pose.ravel(), 7 * k, p.ravel(), 6 * k, work, 7 * k + 7, 6 * k + 6
            )
            if status != layout.SOLVED:
                return int(status)
            place = tuple(pose[k + 1, :3]), tuple(pose[k + 1, 3:])
            layout.node_wrench(table, n_forces, n_springs, *place, work, layout.NODE)
            built_in = p[k + 1] + 0.5 * h * node
            limit = np.inf
            for _ in range(REPETITIONS):
                p[k + 1] = implicit @ (built_in + 0.5 * h * pushed)
                before, pushed = pushed, self._external(time[k + 1], pose[k + 1], p[k + 1])
                change = 0.5 * h * (pushed - before)
                gap, size = (float(np.sqrt(x @ self.mobility @ x)) for x in (change, p[k + 1]))
                limit = min(limit, GROWN * gap)
                if gap <= SETTLED * size or gap > limit:
                    break
            if gap > SETTLED * size:
                raise ConvergenceError(
                    f"step {k} at t = {time[k]:.6g} s: the wrench of the function external "
                    f"depends on the twist so strongly that repetition did not find it; take a "
                    f"timestep below {h:.3g} s, or model the drag by Drag",
                    k,
                    gap / size,
                )
            made[0] = k + 1
        return layout.SOLVED

    def _external(self, time: float, pose: Float, p: Float) -> Float:
        """The user's wrench at a node, checked."""
        assert self.external is not None
        given = self.external(float(time), pose[:3].copy(), pose[3:].copy(), self.mobility @ p)
        return as_numbers(given, (6,), f"the wrench of the function external at t = {time:.6g} s")

    def _check(self, state: RigidBodyState) -> None:
        """Refuse a state that violates the joint."""
        if self.pivot is None:
            return
        a, c = self.pivot.point, self.pivot.anchor
        gap = state.position + rotation.rotate(state.orientation, a) - c
        slip = state.twist[3:] + np.cross(state.twist[:3], a)
        reach = max(1.0, float(np.linalg.norm(a)), float(np.linalg.norm(c)))
        speed = max(1.0, float(np.linalg.norm(state.twist)))
        if np.linalg.norm(gap) > CONSISTENT * reach:
            raise InconsistentStateError(
                f"the body's point of the pivot is {np.linalg.norm(gap):.3g} m from its anchor; "
                "leave position out, and the pivot sets it"
            )
        if np.linalg.norm(slip) > CONSISTENT * speed * reach:
            raise InconsistentStateError(
                f"the body's point of the pivot moves at {np.linalg.norm(slip):.3g} m/s; leave "
                "velocity out, and the pivot sets it"
            )


def _failure(
    status: int, step: int, time: float, h: float, twist: Float, residual: float
) -> ConvergenceError:
    """Error for a step that was not solved."""
    from dynamics.kernels.dual_quaternion import equations as layout

    turn, travel = (h * float(np.linalg.norm(part)) for part in np.split(twist, 2))
    sentence = {
        layout.UNSOLVED: f"Newton's method stopped at a relative change of {residual:.1e}",
        layout.NOT_FINITE: "momentum or wrench is not finite",
        layout.TOO_LARGE: "the step is too large for its equations to have one solution",
    }[status]
    return ConvergenceError(
        f"step {step} at t = {time:.6g} s was not solved: {sentence}. In a timestep of {h:.3g} s "
        f"the body turns by {turn:.3g} rad and travels {travel:.3g} m; a step can carry a turn of "
        "about 1 rad, and a travel along the axis of turning of about twice the radius of "
        "gyration: take a smaller timestep",
        step,
        residual,
    )
