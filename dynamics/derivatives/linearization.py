"""Linearization of a step: how its end changes with its start and with controls."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.derivatives.near_tangents import near_step
from dynamics.derivatives.tangents import Directions, Tangent, check_offered
from dynamics.errors import check_model
from dynamics.kernels.base import layout
from dynamics.kinematics.coordinates import free_velocities
from dynamics.kinematics.joint_space import JointSpace, space_of
from dynamics.kinematics.momenta import momenta, turned_momenta
from dynamics.kinematics.plane_placement import placed
from dynamics.kinematics.stiff_momenta import StiffImpulses
from dynamics.state import State, check_state
from dynamics.tables import inputs

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = ["linearize"]

Float = NDArray[np.float64]


def linearize(
    model: Model,
    state: State,
    control: ArrayLike | Mapping[Hashable, ArrayLike] | None = None,
    *,
    coordinates: str | Iterable[Hashable] = "maximal",
    wrenches: ArrayLike | Mapping[Hashable, ArrayLike] | None = None,
    chained: bool = False,
    memory: bool = False,
) -> tuple[Float, Float]:
    """Differentiate one step exactly, ``d next = A d state + B d control``.

    By the implicit function theorem at the solution of the step, with all second derivatives of
    joints, springs, dampers, controls, contacts and limits, and those of your own functions by
    central differences of what they give: one factorization for all columns, on the graph of the
    mechanism. A step that is cut into intervals is differentiated interval by interval. With
    `Mechanism.collide` it is the step with the pairs of shapes that are near.

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
          of the step after the projection onto what the loops allow (least squares); at a state
          that stays, its eigenvalues are those of the mechanism, and zeros.
        - names of joints: the same with these only, a minimal choice on loops for instance.
    wrenches : array_like, shape (6 n,), or mapping, optional
        See `Model.step`.
    chained : bool, optional
        B for use along a motion, ``x_2 = A_1 (A_0 x_0 + B_0 u_0) + B_1 u_1``. Velocities at a node
        contain half an interval of the forces of stiff servos, and the interval after it takes back
        what they had of the control before. If true, B leaves that half out. It makes no difference
        to controls that are forces.
    memory : bool, optional
        If true, what a motion remembers are states, too, after those of the robot: velocities of
        the n bodies in the interval before (6 numbers each, as above), and separating planes of
        `Mechanism.collide`, 12 numbers (as of a body) for each that both shapes press on, p of them
        at the start of the step and p' at its end, in the order of their pairs. Then products of A
        along a motion are those of the motion: p of a step is p' of the one before.

    Returns
    -------
    A : ndarray of float, shape (k, k), with memory (k + 6 n + 12 p', k + 6 n + 12 p)
    B : ndarray of float, shape (k, c), with memory (k + 6 n + 12 p', c)

    Raises
    ------
    ConvergenceError
        Where the step's equations were not solved.
    NotImplementedError
        In the first-order form, and beyond order 2.
    ValueError
        Where joint coordinates do not determine all bodies, as with compliant joints or free
        bodies without a `Floating` joint.

    Notes
    -----
    With contacts or limits, velocities are those of the momenta at the nodes: before the impulses
    of the contacts there, so that a body at rest on the ground falls with ``h g / 2``. Products of
    A along a motion are then the derivatives of the motion by its start, and those with B by its
    controls if ``chained``. At the barrier kappa of
    `Mechanism.finalize` the equations of contacts are smooth, so A and B are finite everywhere: a
    contact acts as a damper of ``gamma / s``, impulse over gap velocity, which a larger barrier
    softens.

    A motion remembers more than a robot's states. An impact (`restitution`) looks at the velocity
    of the interval before, and a separating plane (docs/theory/contacts) that is laid anew before a
    step moves with it. Without ``memory`` that is taken to change as the velocity of the node does.
    A plane that both shapes press on stays in the motion; without ``memory`` it rides on the
    lighter body. Products of A then miss a part of 1e-3 where faces rest on faces, of 0.3 where an
    edge rests across an edge, and up to 1 after impacts.

    References
    ----------
    .. [1] J. Bruedigam, Z. Manchester, Linear-quadratic optimal control in maximal coordinates,
       IEEE International Conference on Robotics and Automation, 2021.
    """
    check_model(model, "linearize")
    check_state(model, state)
    check_offered(model)
    if isinstance(coordinates, str) and coordinates not in ("maximal", "joint"):
        raise ValueError(
            f'coordinates is {coordinates!r}, and must be "maximal", "joint" or a list of joints'
        )
    start = placed(model, state)
    driven = inputs.controls_of(model, control)
    outside = inputs.wrenches_of(model, wrenches)
    n, c = layout.TWIST * model.n_bodies, driven.size
    acting, step = model, None
    if model.near is not None:
        step = near_step(model, start, driven, outside)
        acting, start = step.near.model, step.state
    twist = free_velocities(acting, start)
    late = StiffImpulses(acting, start)
    start.momentum.ravel()[:] = momenta(acting.tables, start.pose, twist[None])[0]
    start.momentum.ravel()[:] -= late.impulses(twist)
    if coordinates == "maximal":
        space = None
        order = np.arange(2 * n).reshape(2, -1, layout.TWIST).transpose(1, 0, 2).ravel()
        dz, dV = np.eye(2 * n)[order][:, :n], np.eye(2 * n)[order][:, n:]
    else:
        space = space_of(model, None if coordinates == "joint" else coordinates)
        dz, dV = joint_directions(space, start, twist[:n])
    db = dV
    if memory:
        db = np.vstack([np.zeros_like(dV), np.eye(n)])
        dz, dV = (np.vstack([one, np.zeros((n, n))]) for one in (dz, dV))
    if step is not None:
        dz, dV, db = step.directions(dz, dV, db, twist, memory)
    k = dz.shape[0]
    dz, dV, db = (np.concatenate([one, np.zeros((c, one.shape[1]))]) for one in (dz, dV, db))
    dc = np.zeros((k + c, c))
    dc[k:] = np.eye(c)
    tangent = Tangent(acting, k + c)
    dp = momenta(acting.tables, start.pose, dV)
    dp += turned_momenta(acting.tables, start.pose, twist, dz) - late.changes(twist, dz, dV)
    way = Directions(dz, dp, db)
    end, way = tangent.follow(start, driven, outside, way, dc)
    twist, wide = tangent.projected(end, way, None if chained else dc)
    dz, dV = way.dz[:, :n], wide[:, :n]
    if space is None:
        found = np.concatenate([dz, dV], axis=1)[:, order]
    else:
        slopes = space.slopes(end, twist[:n])
        moved, faster = slopes.J @ dz.T, slopes.J @ dV.T + slopes.swing @ dz.T
        found = np.concatenate([moved.T, faster.T], axis=1)
    if memory:
        found = np.concatenate([found, way.dbefore[:, :n]], axis=1)
        if step is not None:
            found = np.concatenate([found, step.planes_after(end, way.dz, wide)], axis=1)
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
    along = slopes.along()
    bent = -slopes.held(slopes.bend @ along)
    bent -= along @ (slopes.swing @ along + slopes.J @ bent)
    still = np.zeros_like(along)
    return np.hstack([along, still]).T.copy(), np.hstack([bent, along]).T.copy()
