"""Sensitivities of a motion to numbers of the model and to its start."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation
from dynamics.derivatives.near_tangents import NearStep, final_step, step_between
from dynamics.derivatives.tangents import Changed, Directions, Tangent, check_offered
from dynamics.errors import check_model
from dynamics.kernels.base import layout
from dynamics.kinematics.coordinates import free_velocities
from dynamics.kinematics.momenta import momenta, turned_momenta
from dynamics.kinematics.near_run import Part
from dynamics.kinematics.plane_placement import placed
from dynamics.kinematics.stiff_momenta import StiffImpulses
from dynamics.parts.options import NEW_WORDS
from dynamics.simulation import simulate
from dynamics.state import State, check_state
from dynamics.studies.variation import unknown_part, variant
from dynamics.tables import inputs
from dynamics.trajectory import Trajectory

if TYPE_CHECKING:
    from dynamics.kinematics.near_models import NearModel
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
        Derivatives of position (world, m) and rotation vector (body frame, rad) of each body, with
        respect to each parameter, then each direction of the initial state.
    velocities : ndarray of float, shape (n, 6, k)
        Derivatives of the velocities at the end: see `linearize`.
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
    """Simulate, and differentiate the motion with respect to parameters and initial state.

    The derivatives are exact, computed step by step in forward mode as by `linearize`. They cost a
    factorization per step, and a solve per step for each parameter and direction.

    Parameters
    ----------
    model : Model
    state : State
        Initial state; its velocities are constant if parameters change.
    seconds : float
    parameters : iterable of (name, what), optional
        Numbers as in `variant`: ``("floor", "friction")``, ``("box", "mass")``, with
        `Mechanism.collide` ``("floor|box", "friction")``. They must be single numbers other than 0.
        The derivative with respect to a friction that several pairs share is the sum of theirs.
    start : array_like, shape (12 n, d), optional
        Directions of change of the initial state, in the maximal coordinates of `linearize`.
    controls : array_like, shape (c,) or (steps, c), optional
        See `simulate`.

    Returns
    -------
    Sensitivity

    Raises
    ------
    ConvergenceError
        If the equations of a step could not be solved.
    NotImplementedError
        For the first-order form, and beyond order 2.
    UnknownNameError, ValueError
        For parameters that the model does not have.

    Notes
    -----
    The barrier of contacts makes derivatives finite, and a larger one makes them smooth. The
    derivative of a motion with many impacts is correct, but may be valid for very small changes
    only.

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
                f'{one!r} is not a parameter: give a list of pairs, as in [("floor", "friction")]'
            )
    if not named and start is None:
        raise ValueError("there is nothing to differentiate by: give parameters or start")
    changed = [_Parameter(model, name, what) for name, what in named]
    n = layout.TWIST * model.n_bodies
    given = np.zeros((2 * n, 0)) if start is None else np.atleast_2d(np.asarray(start, float))
    given = rotation.as_numbers(given, (2 * n, given.shape[-1]), "start")
    each = given.T.reshape(given.shape[1], model.n_bodies, 2, layout.TWIST)
    columns = given.shape[1] + len(changed)
    dc, outside = np.zeros((columns, model.n_controls)), inputs.wrenches_of(model, None)
    motion = simulate(model, state, seconds, controls=controls)
    tangents: dict[NearModel | None, Tangent] = {}
    poses, way, before = [], None, None
    for k, (at, step) in enumerate(_steps(model, state, motion)):
        near = None if step is None else step.near
        if near not in tangents:
            acting = model if near is None else near.model
            found = [one.constants(near) for one in changed]
            tangents[near] = Tangent(acting, columns, found)
        tangent = tangents[near]
        if way is None:
            way = _first(tangent, at, each, step)
        elif step is not None and before is not None:
            heavier = np.zeros((columns, layout.TWIST * step.near.n_bodies))
            heavier[columns - len(changed) :] = tangent.momentum_changes(at, step.laid_twist())
            way = step.entered(way, before, heavier)
        poses.append(way.dz[:, :n])
        if k < len(motion) - 1:
            row = motion.controls[min(k, len(motion.controls) - 1)]
            _, way = tangent.follow(at, row, outside, way, dc)
        before = near
    assert way is not None
    _, dV = tangent.projected(at, way, dc)
    dV = dV[:, :n]
    order = [*range(given.shape[1], columns), *range(given.shape[1])]

    def shaped(one: Any) -> Float:
        rows = np.moveaxis(np.asarray(one)[..., order, :], -2, -1)
        return rows.reshape(*rows.shape[:-2], model.n_bodies, layout.TWIST, columns)

    return Sensitivity(motion, shaped(poses), shaped(dV))


def _steps(
    model: Model, state: State, motion: Trajectory
) -> Iterator[tuple[State, NearStep | None]]:
    """States of a motion, in their near models if it found its contacts."""
    if model.near is None:
        for k in range(len(motion)):
            yield motion[k], None
        return
    records = [Part(one.pairs, row[None]) for one in motion.parts for row in one.states]
    lays = model.near.remembered(state) is not None
    for k, (before, now) in enumerate(pairwise(records)):
        step = step_between(model, before, now, float(motion.time[k]), lays or k > 0)
        yield step.state, step
    last = final_step(model, records[-1], float(motion.time[-1]))
    yield last.state, last


def _first(tangent: Tangent, state: State, each: Float, step: NearStep | None) -> Directions:
    """Directions at the start, of poses and velocities ``each`` of a body and of the parameters."""
    model, zeros = tangent.model, len(tangent.changed)
    size = each.shape[1] * each.shape[3]
    dz, dV = (each[:, :, i].reshape(len(each), size) for i in (0, 1))
    twist = free_velocities(model, state)
    if step is not None:
        dz, dV = step.widened(dz, dV, twist.reshape(-1, layout.TWIST))
    dp = momenta(model.tables, state.pose, dV) + turned_momenta(model.tables, state.pose, twist, dz)
    dp -= StiffImpulses(model, state).changes(twist, dz, dV)
    dp = np.concatenate([dp, tangent.momentum_changes(state, twist)])
    still = np.zeros((zeros, dz.shape[1]))
    return Directions(np.concatenate([dz, still]), dp, np.concatenate([dV, still]))


class _Parameter:
    """A number of a model, and models with it a little smaller or larger."""

    def __init__(self, model: Model, name: Hashable, what: str) -> None:
        value = np.asarray(_value(model, name, what), float)
        label = f"{what!r} of {name!r}"
        if value.size != 1:
            raise ValueError(f"{label} is {value.size} numbers; derivatives are by single ones")
        self.number = value.item()
        if self.number == 0.0:
            raise ValueError(f"{label} is 0, where equations are others; start from a small number")
        self._model, self._name, self._what = model, name, what
        self._others = [self._other(-PART)]

    def _other(self, part: float) -> tuple[Model, float]:
        changed = {self._name: {self._what: self.number * (1.0 + part)}}
        return variant(self._model, changed), part * self.number

    def constants(self, near: NearModel | None) -> Changed:
        """Constants of the model, or of a near one, with the number changed, and by how much."""
        for k, part in enumerate((-PART, PART)):
            if k == len(self._others):
                self._others.append(self._other(part))
            other, change = self._others[k]
            like = other.stiff == self._model.stiff
            if near is None:
                tables = other.tables.constant
            else:
                assert other.near is not None
                found = other.near.of(near.pairs).arrays
                tables = found.constant
                like = like and np.array_equal(found.plan, near.arrays.plan)
            if like:  # the same springs and dampers are stiff at one of both, as planes are tied
                break
        return tables, change


def _value(model: Model, name: Hashable, what: str) -> Any:
    """A number of a body, joint, spring, contact or pair of `collide`."""
    mechanism = model.mechanism
    for things in (mechanism.bodies, mechanism.joints, mechanism.springs, mechanism.contacts):
        if name in things:
            known = NEW_WORDS.get(what, what) if things is mechanism.joints else what
            return getattr(things[name], known, 1.0)  # `variant` says what there is
    if model.near is not None and name in model.near.candidates.numbers:
        return getattr(model.near.contact(model.near.candidates.numbers[name]), what, 1.0)
    raise unknown_part(model, name)
