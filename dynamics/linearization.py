"""Linearization of a step: how its end changes with its start and with controls."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import graphsys.kernels as solver_kernels
from dynamics import inputs
from dynamics.diagnosis import failure
from dynamics.joint_space import JointSpace, curvature_work
from dynamics.kernels import layout as at
from dynamics.kernels import linearize as kernel
from dynamics.kernels import step as stepping
from dynamics.state import State

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = ["linearize"]

Float = NDArray[np.float64]

#: Cuts are made by hand where slopes are taken: |phi| < 1 is never too far.
ANY_TURN = 1.0


def linearize(
    model: Model,
    state: State,
    control: ArrayLike | Mapping[Hashable, ArrayLike] | None = None,
    *,
    coordinates: str | Iterable[Hashable] = "maximal",
    wrenches: Mapping[Hashable, ArrayLike] | None = None,
) -> tuple[Float, Float]:
    """Differentiate one step exactly, ``d next = A d state + B d control``.

    By the implicit function theorem at the solution of the step, with all second derivatives of
    joints, springs, dampers and controls: one factorization for all columns, on the graph of the
    mechanism. A step that is cut into intervals is differentiated interval by interval.

    Parameters
    ----------
    model : Model
    state : State
        At the start of the step, its constraints fulfilled. Its momenta count by their velocities,
        `JointSpace.read` and `Model.velocities`.
    control : array_like, shape (c,), or mapping, optional
        Of the step: see `Model.step`.
    coordinates : {"maximal", "joint"} or iterable of hashable, optional
        What a small change is made of.

        - ``"maximal"``: 12 numbers a body, one body after another: position (world, m), rotation
          vector (body frame, rad: ``q * exp(theta / 2)``), velocity (world, m/s), angular velocity
          (body frame, rad/s).
        - ``"joint"``: coordinates of all joints in the order of the mechanism, then their rates.
          Where a joint turns freely (`Spherical` and its like) a small change is the rotation
          vector in the child's axes. On loops, where coordinates depend on each other, A is that
          of the step behind the projection onto what the loops allow (least squares); at a state
          that stays, its eigenvalues are those of the mechanism, and zeros.
        - names of joints: the same with these only, a minimal choice on loops for instance.
    wrenches : mapping, optional
        See `Model.step`.

    Returns
    -------
    A : ndarray of float, shape (k, k)
    B : ndarray of float, shape (k, c)

    Raises
    ------
    ConvergenceError
        Where the step's equations were not solved.
    NotImplementedError
        For mechanisms with contacts or joint limits, in the first-order form, and beyond order 2.
    ValueError
        Where joint coordinates do not determine all bodies, as with compliant joints or free
        bodies without a `Floating` joint.

    References
    ----------
    .. [1] J. Bruedigam, Z. Manchester, Linear-quadratic optimal control in maximal coordinates,
       IEEE International Conference on Robotics and Automation, 2021.
    """
    if int(model.tables.plan[at.CONTACTS]):
        raise NotImplementedError("steps with contacts or joint limits cannot be linearized yet")
    for joint in model.mechanism.joints.values():
        if joint.kind in ("rolling", "knife edge"):
            raise NotImplementedError(
                f"joint {joint.name!r} holds velocities; its steps cannot be linearized yet"
            )
    if model.form != "second order" or model.order != 2:
        raise NotImplementedError(
            'linearize a model of order 2 in the "second order" form, the defaults'
        )
    start = state.copy()
    twist = model.workspace.velocities(state.data[None])[0]
    for i, one in enumerate(twist.reshape(-1, at.TWIST)):
        start.momentum[i, :3] = model.bodies[i].mass * one[:3]
        start.momentum[i, 3:] = model.bodies[i].inertia @ one[3:]
    driven = inputs.controls_of(model, control)
    outside = inputs.wrenches_of(model, wrenches)
    n, c = at.TWIST * model.n_bodies, driven.size
    if coordinates == "maximal":
        space = None
        order = np.arange(2 * n).reshape(2, -1, at.TWIST).transpose(1, 0, 2).ravel()
        dz, dV = np.eye(2 * n)[order][:, :n], np.eye(2 * n)[order][:, n:]
    else:
        space = JointSpace(model, None if coordinates == "joint" else coordinates)
        dz, dV = joint_directions(space, start, twist)
    k = dz.shape[0]
    dz, dV = (np.concatenate([one, np.zeros((c, n))]) for one in (dz, dV))
    dc = np.zeros((k + c, c))
    dc[k:] = np.eye(c)
    end, dz, dp = _follow(model, start, driven, outside, dz, _momenta(model, dV), dc)
    twist, dV = _projected(model, end, dz, dp)
    if space is None:
        found = np.concatenate([dz, dV], axis=1)[:, order]
    else:
        slopes = space.slopes(end, twist)
        found = np.concatenate([dz @ slopes.J.T, dV @ slopes.J.T + dz @ slopes.swing.T], axis=1)
    return found[:k].T.copy(), found[k:].T.copy()


def joint_directions(space: JointSpace, state: State, twist: Float) -> tuple[Float, Float]:
    """Changes of poses and velocities, by rows, that unit changes of (q, q') stand for.

    Parameters
    ----------
    space : JointSpace
    state : State
    twist : ndarray of float, shape (6 n,)

    Returns
    -------
    dz, dV : ndarray of float, shape (2 k, 6 n)
    """
    slopes = space.slopes(state, twist)
    along, normal = slopes.tangent()
    bent = -normal @ (slopes.bend @ along)
    bent -= along @ (slopes.swing @ along + slopes.J @ bent)
    still = np.zeros_like(along)
    return np.hstack([along, still]).T.copy(), np.hstack([bent, along]).T.copy()


def _momenta(model: Model, twists: Float) -> Float:
    """M V, by rows."""
    out = twists.reshape(len(twists), -1, at.TWIST).copy()
    for i, body in enumerate(model.bodies):
        out[:, i, :3] *= body.mass
        out[:, i, 3:] = out[:, i, 3:] @ body.inertia
    return out.reshape(twists.shape)


def _stepped(
    model: Model, state: State, h: float, settings: Float, control: Float, wrench: Float
) -> tuple[State, int]:
    """State behind a step of length h, and the number of intervals it was cut into."""
    after, info, space = state.copy(), np.zeros(stepping.INFO_SIZE), model.workspace
    bad = stepping.step(
        model.tables.plan, model.tables.constant, model.symbolic.program, h, settings, control,
        wrench, after.data, space.work, space.solver, info, False,
    )  # fmt: skip
    if bad != 0:
        raise failure(model, bad, 0, state.time, info)
    return after, int(info[stepping.INTERVALS])


def _follow(
    model: Model, state: State, control: Float, wrench: Float, dz: Float, dp: Float, dc: Float
) -> tuple[State, Float, Float]:
    """End of the step, and what the directions have become there."""
    end, count = _stepped(model, state, model.timestep, model.settings, control, wrench)
    if count == 1:
        dz, dp = _interval(model, state, end, model.timestep, control, dz, dp, dc)
        return end, dz, dp
    part, settings = model.timestep / count, model.settings.copy()
    settings[1] = ANY_TURN
    now = state
    for _ in range(count):
        now = now.copy()
        now.interval_velocity_before[:] = now.interval_velocity
        end, _ = _stepped(model, now, part, settings, control, wrench)
        dz, dp = _interval(model, now, end, part, control, dz, dp, dc)
        now = end
    return now, dz, dp


def _interval(
    model: Model,
    start: State,
    end: State,
    h: float,
    control: Float,
    dz: Float,
    dp: Float,
    dc: Float,
) -> tuple[Float, Float]:
    """What directions at one end of an interval become at the other."""
    tables = model.tables
    work = np.zeros(tables.plan[at.WORK_SIZE])
    node, behind = stepping.node_of(tables.plan, work, 0)
    trial, _ = stepping.node_of(tables.plan, work, behind)
    stepping.start(tables.plan, tables.constant, start.data, node, trial)
    spare = stepping.node_of(tables.plan, work.copy(), 0)[0]
    stepping.start(tables.plan, tables.constant, end.data, trial, spare)
    x = np.concatenate([end.interval_velocity.ravel(), h * end.multipliers])
    b, d, dx, solver = _columns(model, len(dz))
    dz_next, dp_next = np.empty_like(dz), np.empty_like(dp)
    bad = kernel.interval_slopes(
        tables.plan, tables.constant, tables.symbolic.program, h, control, x, node, trial, dz, dp,
        dc, solver, curvature_work(model), np.zeros(144), b, d, dx, dz_next, dp_next,
    )  # fmt: skip
    _check(model, bad)
    return dz_next, dp_next


def _projected(model: Model, state: State, dz: Float, dp: Float) -> tuple[Float, Float]:
    """Velocities at a state, and how they change along directions."""
    space = model.workspace
    twist = space.velocities(state.data[None])[0]
    b, d, dx, solver = _columns(model, len(dz))
    solver = (space.solver[0], space.solver[1], space.solver[2], *solver[3:])
    dV = np.empty_like(dp)
    bad = kernel.projection_slopes(
        model.tables.plan, model.tables.constant, model.symbolic.program, space.x, space.pose,
        space.matrix, space.G, dz, dp, solver, curvature_work(model), np.zeros(144), b, d, dx, dV,
    )  # fmt: skip
    _check(model, bad)
    return twist, dV


def _columns(model: Model, columns: int) -> tuple[Float, Float, Float, Any]:
    """Right-hand sides, increments, solutions and solver arrays of many columns."""
    arena, magnitude, work = solver_kernels.work_sizes(model.symbolic.program, columns)
    size = (at.TWIST * model.n_bodies + model.n_rows) * max(1, columns)
    b, d, dx = np.zeros((3, size))
    values = np.zeros(model.symbolic.graph.nnz)
    return b, d, dx, (values, np.empty(magnitude), np.empty(arena), np.empty(work), np.zeros(3))


def _check(model: Model, bad: int) -> None:
    for call in model.tables.callbacks:
        call.reraise()
    if bad:
        raise ArithmeticError("the matrix of the step is singular where its slopes are taken")
