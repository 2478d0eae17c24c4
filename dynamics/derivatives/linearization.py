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

    The derivatives follow from the implicit function theorem at the solution of the step, with all
    second derivatives of joints, springs, dampers, controls, contacts and limits. Those of your own
    functions are central differences. One factorization on the graph of the mechanism serves all
    columns. A step that is divided into intervals is differentiated interval by interval. With
    `Mechanism.collide` it is the step with the pairs of shapes that are near.

    Parameters
    ----------
    model : Model
    state : State
        State at the start of the step, which satisfies the constraints. Its velocities are those of
        `JointSpace.read` and `Model.velocities`.
    control : array_like, shape (c,), or mapping, optional
        Control of the step: see `Model.step`.
    coordinates : {"maximal", "joint"} or iterable of hashable, optional
        Coordinates of a small change of state.

        - ``"maximal"``: 12 numbers per body, one body after another: position (world, m), rotation
          vector (body frame, rad: ``q * exp(theta / 2)``), velocity (world, m/s), angular velocity
          (body frame, rad/s).
        - ``"joint"``: coordinates of all joints in the order of the mechanism, then their rates.
          For a joint that turns freely (`Spherical` and similar) a small change is the rotation
          vector in the child's axes. If loops make coordinates depend on each other, changes are
          first projected onto those that the loops allow (least squares); at an equilibrium the
          eigenvalues of A are those of the mechanism, and zeros.
        - names of joints: the same with these only, for instance independent joints of loops.
    wrenches : array_like, shape (6 n,), or mapping, optional
        See `Model.step`.
    chained : bool, optional
        If true, B is for products along a motion, ``x_2 = A_1 (A_0 x_0 + B_0 u_0) + B_1 u_1``.
        Velocities at a node contain half an interval of the forces of stiff servos, and the next
        interval removes the part that depends on the previous control; B then leaves this half
        out. It makes no difference for controls that are forces.
    memory : bool, optional
        If true, the state also contains the memory of a motion, after the coordinates of the
        bodies: velocities of the n bodies in the interval before (6 numbers each, as above), and
        12 numbers (as of a body) for each separating plane of `Mechanism.collide` on which both
        shapes press, p of them at the start of the step and p' at its end, in the order of their
        pairs. Products of A along a motion are then exact; p of a step is p' of the one before.

    Returns
    -------
    A : ndarray of float, shape (k, k), with memory (k + 6 n + 12 p', k + 6 n + 12 p)
    B : ndarray of float, shape (k, c), with memory (k + 6 n + 12 p', c)

    Raises
    ------
    ConvergenceError
        If the equations of the step could not be solved.
    NotImplementedError
        In the first-order form, and beyond order 2.
    ValueError
        If joint coordinates do not determine all bodies, as with compliant joints or free
        bodies without a `Floating` joint.

    Notes
    -----
    With contacts or limits, velocities belong to the momenta at the nodes, before the impulses of
    the contacts there: a body at rest on the ground has the velocity ``h g / 2`` downwards.
    Products of A along a motion are then the derivatives of the motion with respect to its initial
    state, and with B those with respect to its controls if ``chained``. The barrier kappa of
    `Mechanism.finalize` makes the equations of contacts smooth, so A and B are finite: a contact
    acts as a damper of ``gamma / s``, impulse over gap velocity, which is softer for a larger
    barrier.

    A motion depends on more than poses and velocities. An impact (`restitution`) depends on the
    velocity of the interval before, and a separating plane (docs/theory/contacts) that is placed
    before a step moves with that velocity. Without ``memory`` this velocity is taken to change like
    that of the node. A plane on which both shapes press keeps its own pose during a motion; without
    ``memory`` it is taken to move with the lighter body. Products of A then have relative errors of
    1e-3 if faces rest on faces, of 0.3 if an edge rests across an edge, and up to 1 after impacts.

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
