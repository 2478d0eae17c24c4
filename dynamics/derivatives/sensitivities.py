"""Sensitivities of a motion to numbers of the model and to its start."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation
from dynamics.derivatives.tangents import Directions, Tangent, check_offered
from dynamics.errors import UnknownNameError, check_model
from dynamics.kernels.base import layout
from dynamics.kinematics.coordinates import free_velocities
from dynamics.kinematics.momenta import momenta, turned_momenta
from dynamics.kinematics.plane_placement import placed
from dynamics.kinematics.stiff_momenta import StiffImpulses
from dynamics.parts.options import NEW_WORDS
from dynamics.simulation import simulate
from dynamics.state import State, check_state
from dynamics.studies.variation import variant
from dynamics.tables import inputs
from dynamics.trajectory import Trajectory

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = ["Sensitivity", "sensitivity"]

Float = NDArray[np.float64]

#: Part by which a number is changed: residuals are linear in it, so that any will do.
PART = 0.01


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """A motion and its derivatives.

    Attributes
    ----------
    motion : Trajectory
    poses : ndarray of float, shape (steps + 1, n, 6, k)
        Of position (world, m) and rotation vector (body frame, rad) of each body, by each of the
        parameters and directions.
    velocities : ndarray of float, shape (n, 6, k)
        Of the velocities at the end: see `linearize`.
    """

    motion: Trajectory
    poses: Float
    velocities: Float

    def __repr__(self) -> str:
        return f"Sensitivity({self.poses.shape[-1]} parameters and directions, {self.motion!r})"

    def joint(self, name: Hashable) -> Float:
        """Derivatives of a joint's coordinates.

        Parameters
        ----------
        name : hashable

        Returns
        -------
        ndarray of float, shape (steps + 1, k) or (steps + 1, number of coordinates, k)
            Those of `Trajectory.joint`; where a joint turns freely, the rotation vector in the
            child's axes.
        """
        motion = self.motion
        columns = np.moveaxis(self.poses, -1, 0).reshape(self.poses.shape[-1], len(motion), -1)
        measure = motion.model.workspace.joint  # rates, for poses that change by these columns
        rates = [measure(name, motion.states, column)[:, :, 1].copy() for column in columns]
        found = np.stack(rates, axis=-1)
        return found[:, 0] if found.shape[1] == 1 else found


def sensitivity(
    model: Model,
    state: State,
    seconds: float,
    parameters: Iterable[tuple[Hashable, str]] = (),
    *,
    start: ArrayLike | None = None,
    controls: ArrayLike | None = None,
) -> Sensitivity:
    """Simulate, and differentiate the motion by numbers of the model and by its start.

    Exact, step by step as `linearize`, and forward: the price is a factorization a step and a
    solve for each parameter and direction.

    Parameters
    ----------
    model : Model
    state : State
        Where it starts; its velocities are held where parameters change.
    seconds : float
    parameters : iterable of (name, what), optional
        Numbers as `variant` knows them: ``("floor", "friction")``, ``("box", "mass")``. They must
        not be 0, and single numbers.
    start : array_like, shape (12 n, d), optional
        Directions of the start, in the maximal coordinates of `linearize`.
    controls : array_like, shape (c,) or (steps, c), optional
        See `simulate`.

    Returns
    -------
    Sensitivity

    Raises
    ------
    ConvergenceError
        Where a step's equations were not solved.
    NotImplementedError
        In the first-order form, and beyond order 2.
    UnknownNameError, ValueError
        For parameters that the model does not have.

    Notes
    -----
    The barrier of contacts makes derivatives finite, and a larger one makes them smooth: that of a
    motion through many impacts is right, but may hold for very small changes only.

    References
    ----------
    .. [1] T. A. Howell et al., Dojo: a differentiable physics engine for robotics, 2022.
    """
    check_model(model, "sensitivity")
    check_state(model, state)
    check_offered(model)
    state = placed(model, state)
    named = list(parameters)
    for one in named:
        if not isinstance(one, tuple) or len(one) != 2:
            raise TypeError(
                f'{one!r} is no parameter: give a list of pairs, as in [("floor", "friction")]'
            )
    if not named and start is None:
        raise ValueError("there is nothing to differentiate by: give parameters or start")
    changed = [_changed(model, name, what) for name, what in named]
    n = layout.TWIST * model.n_bodies
    given = np.zeros((2 * n, 0)) if start is None else np.atleast_2d(np.asarray(start, float))
    given = rotation.as_numbers(given, (2 * n, given.shape[-1]), "start")
    each = given.T.reshape(given.shape[1], model.n_bodies, 2, layout.TWIST)
    dz, dV = (each[:, :, i].reshape(len(each), n) for i in (0, 1))
    columns = given.shape[1] + len(changed)
    tangent = Tangent(model, columns, changed)
    twist = free_velocities(model, state)
    still = np.zeros((len(changed), n))
    dp = momenta(model.tables, state.pose, dV) + turned_momenta(model.tables, state.pose, twist, dz)
    dp -= StiffImpulses(model, state).changes(twist, dz, dV)
    dp = np.concatenate([dp, tangent.momentum_changes(state, twist)])
    way = Directions(np.concatenate([dz, still]), dp, np.concatenate([dV, still]))
    dc = np.zeros((columns, model.n_controls))
    motion = simulate(model, state, seconds, controls=controls)
    poses = [way.dz]
    for k in range(len(motion) - 1):
        row = motion.controls[min(k, len(motion.controls) - 1)]
        _, way = tangent.follow(motion[k], row, inputs.wrenches_of(model, None), way, dc)
        poses.append(way.dz)
    _, dV = tangent.projected(motion.final, way, dc)
    order = [*range(given.shape[1], columns), *range(given.shape[1])]

    def shaped(one: Any) -> Float:
        rows = np.moveaxis(np.asarray(one)[..., order, :], -2, -1)
        return rows.reshape(*rows.shape[:-2], model.n_bodies, layout.TWIST, columns)

    return Sensitivity(motion, shaped(poses), shaped(dV))


def _changed(model: Model, name: Hashable, what: str) -> tuple[Float, float]:
    """Constants with one number a little smaller, and by how much."""
    value = np.asarray(_value(model, name, what), float)
    label = f"{what!r} of {name!r}"
    if value.size != 1:
        raise ValueError(f"{label} is {value.size} numbers; derivatives are by single ones")
    number = value.item()
    if number == 0.0:
        raise ValueError(f"{label} is 0, where equations are others; start from a small number")
    for part in (-PART, PART):  # the same springs and dampers are stiff at one of both
        other = variant(model, {name: {what: number * (1.0 + part)}})
        if other.stiff == model.stiff:
            break
    return other.tables.constant, part * number


def _value(model: Model, name: Hashable, what: str) -> Any:
    """A number of a body, joint, spring or contact."""
    mechanism = model.mechanism
    for things in (mechanism.bodies, mechanism.joints, mechanism.springs, mechanism.contacts):
        if name in things:
            known = NEW_WORDS.get(what, what) if things is mechanism.joints else what
            return getattr(things[name], known, 1.0)  # `variant` says what there is
    raise UnknownNameError(f"there is no body, joint, spring or contact {name!r}")
