"""Joint coordinates of a whole mechanism as one vector, and their tangent space."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation
from dynamics.elsewhere import JOINT_SPACE, refer
from dynamics.errors import UnknownNameError, check_model
from dynamics.kernels.base import layout
from dynamics.kernels.observables import measure as kernel
from dynamics.kernels.rows import curvature, rows
from dynamics.kinematics import coordinates
from dynamics.kinematics.spanning_tree import Motions, Slopes, groups_of
from dynamics.state import check_state

if TYPE_CHECKING:
    from dynamics.model import Model
    from dynamics.state import State

__all__ = ["JointSpace", "row_slopes", "space_of"]

Float = NDArray[np.float64]

TURNING = (rows.ANGLE, rows.HEADING_A, rows.HEADING_B)


@refer(JOINT_SPACE)
class JointSpace:
    """Coordinates of several joints as one vector.

    Parameters
    ----------
    model : Model
    joints : iterable of hashable, optional
        Names; by default all joints that have coordinates, without the lengths of tendons.

    Attributes
    ----------
    names : tuple
        Names of the joints.
    start : dict
        By name of joint: place of its first coordinate, and number of its coordinates.
    size : int
        Number k of coordinates.
    places : ndarray of int, shape (2, k)
        Rows of the coordinates and of their rates: see `Workspace.observed`.
    rate_rows : ndarray of int, shape (k,)
        Rows of the rates in the tables.

    Raises
    ------
    UnknownNameError
        If no joint with coordinates has a name.
    """

    def __init__(self, model: Model, joints: Iterable[Hashable] | None = None) -> None:
        check_model(model, "JointSpace")
        tables = model.tables
        self.model = model
        lengths = model.mechanism.tendons  # which the other coordinates make
        every = (name for name in tables.measure_group if name not in lengths)
        joints = (joints,) if isinstance(joints, str) else joints
        self.names = tuple(every if joints is None else joints)
        for name in self.names:
            if name not in tables.measure_group:
                raise UnknownNameError(
                    f"there is no joint {name!r} with coordinates; there are "
                    f"{list(tables.measure_group)}"
                )
        plan = tables.plan
        groups = groups_of(model)
        first_row = int(groups[plan[layout.GROUPS] :, layout.FIRST_ROW].min(initial=2**62))
        places: tuple[list[int], list[int]] = ([], [])
        self.start: dict[Hashable, tuple[int, int]] = {}
        self._turns: list[tuple[slice, Float]] = []
        for name in self.names:
            count = model.mechanism.joints[name].n_coordinates
            self.start[name] = (len(places[0]), count)
            for side, group in zip(places, tables.measure_group[name]):
                first = int(groups[group, layout.FIRST_ROW])
                side += range(first, first + count)
        rows_of = [np.array(side, np.int64) for side in places]
        self.rate_rows = rows_of[1]
        self.size = self.rate_rows.size
        self.places = np.stack(rows_of) - first_row
        self.places.setflags(write=False)
        kinds = []
        for name in self.names:
            positions = model.mechanism.joints[name].positions
            kinds += [row.kind for row in positions]
            logs = [i for i, row in enumerate(positions) if row.kind == rows.LOGARITHM]
            if logs:
                first = self.start[name][0]
                axes = np.array([positions[i].axis for i in logs])
                self._turns.append((slice(first + logs[0], first + logs[-1] + 1), axes))
        self._wraps = np.isin(kinds, TURNING)

    def __repr__(self) -> str:
        return f"JointSpace({self.size} coordinates of {len(self.names)} joints)"

    def read(self, state: State) -> tuple[Float, Float]:
        """Return the coordinates of a state and their rates.

        Parameters
        ----------
        state : State

        Returns
        -------
        position, velocity : ndarray of float, shape (k,)
        """
        check_state(self.model, state)
        if self.model.near is None:
            found = self.observed(state.data[None])[0]
        else:  # velocities that contacts of near pairs hold
            found = self.measured(state.data[None], self.model.velocities(state).reshape(1, -1))[0]
        return found[0], found[1]

    def positions(self, state: State) -> Float:
        """Return the coordinates of a state without their rates, which is faster.

        Parameters
        ----------
        state : State

        Returns
        -------
        ndarray of float, shape (k,)
        """
        check_state(self.model, state)
        still = np.zeros((1, layout.TWIST * self.model.n_bodies))
        return np.asarray(self.measured(state.data[None], still)[0, 0])

    def place(self, state: State, position: ArrayLike, velocity: ArrayLike = 0.0) -> None:
        """Set the coordinates of all joints of a tree.

        Parameters
        ----------
        state : State
            Changed.
        position : array_like, shape (k,)
        velocity : float or array_like, shape (k,), optional

        Raises
        ------
        InconsistentStateError
            If a joint is on a loop: see `Model.assemble`.
        """
        q = rotation.as_numbers(position, (self.size,), "position")
        if np.ndim(velocity) == 0:
            velocity = np.full(self.size, velocity)
        rates = rotation.as_numbers(velocity, (self.size,), "velocity")
        numbers, speeds = q.tolist(), rates.tolist()
        parts = {name: slice(at, at + count) for name, (at, count) in self.start.items()}
        given = [(name, numbers[part], speeds[part]) for name, part in parts.items()]
        coordinates.set_joints(self.model, state, given)

    def observed(self, states: Float) -> Float:
        """Coordinates and their rates in many states of a model without near pairs.

        Parameters
        ----------
        states : ndarray of float, shape (s, state size)

        Returns
        -------
        ndarray of float, shape (s, 2, k)
        """
        return self.model.workspace.observed(self.places, states)

    def measured(self, states: Float, twists: Float) -> Float:
        """Coordinates in many states, and their rates with given velocities of the bodies.

        Parameters
        ----------
        states : ndarray of float, shape (s, state size)
        twists : ndarray of float, shape (s, 6 n)

        Returns
        -------
        ndarray of float, shape (s, 2, k)
        """
        plan = self.model.tables.plan
        groups = int(plan[layout.GROUPS]), int(plan[layout.MEASURES])
        found = self.model.workspace.measured(*groups, states, twists)
        return np.stack([found[:, side, k] for k, side in enumerate(self.places)], axis=1)

    def difference(self, position: Float, reference: Float) -> Float:
        """Difference of two coordinates, in the units of their rates.

        Parameters
        ----------
        position, reference : ndarray of float, shape (k,)

        Returns
        -------
        ndarray of float, shape (k,)
            Angles are at most half a turn; where a joint turns freely, the rotation vector between
            the two orientations, in the child's axes.
        """
        out = np.asarray(position, float) - reference
        out[self._wraps] -= 2.0 * np.pi * np.round(out[self._wraps] / (2.0 * np.pi))
        for part, axes in self._turns:
            now, before = (
                rotation.from_rotation_vector(axes.T @ q[part]) for q in (position, reference)
            )
            turn = rotation.multiply(rotation.conjugate(before), now)
            out[part] = axes @ rotation.to_rotation_vector(turn)
        return np.asarray(out)

    @cached_property
    def motions(self) -> Motions:
        """Motions by these coordinates, for `Slopes`."""
        return Motions(self.model, self.rate_rows)

    def slopes(self, state: State, twist: Float | None = None) -> Slopes:
        """Jacobians of the constraints and of the coordinates.

        Parameters
        ----------
        state : State
        twist : ndarray of float, shape (6 n,), optional
            Velocities of all bodies, for the slopes of rates.

        Returns
        -------
        Slopes

        Notes
        -----
        A coordinate's Jacobian is that of its rate: of the spin, where a joint turns freely.
        """
        return Slopes(self.motions, *row_slopes(self.model, state, twist))


def space_of(model: Model, joints: Iterable[Hashable] | None = None) -> JointSpace:
    """The `JointSpace` of some joints, made once for each model."""
    names = None if joints is None else (joints,) if isinstance(joints, str) else tuple(joints)
    key = "space", names
    if key not in model.structures:
        model.structures[key] = JointSpace(model, names)
    return cast(JointSpace, model.structures[key])


def row_slopes(model: Model, state: State, twist: Float | None = None) -> tuple[Float, Float]:
    """Jacobians of all rows of the tables but those of forces, and of their rates, 12 numbers each.

    Parameters
    ----------
    model : Model
    state : State
    twist : ndarray of float, shape (6 n,), optional
        Velocities of all bodies, for the slopes of rates.

    Returns
    -------
    slopes, changes : ndarray of float
        The changes are empty where no velocities are given.
    """
    plan, constant = model.tables.plan, model.tables.constant
    n, every = model.n_bodies, int(plan[layout.MEASURED_ROWS])
    pose, matrix = np.zeros(layout.POSE * (n + 1)), np.zeros(9 * (n + 1))
    g, G = np.zeros(every), np.zeros(12 * every)
    kernel.placed(n, state.data, pose, matrix)
    parts = (0, int(plan[layout.JOINTS])), (int(plan[layout.GROUPS]), int(plan[layout.MEASURES]))
    for first, last in parts:
        rows.evaluate(plan, constant, first, last, pose, matrix, g, G)
    if twist is None:
        return G, np.zeros(0)
    W = np.zeros(12 * every)
    wide = np.concatenate([twist, np.zeros(layout.TWIST)])
    work, H = curvature_work(model), np.zeros(144)
    for first, last in parts:
        row = int(groups_of(model)[first, layout.FIRST_ROW]) if last > first else 0
        curvature.rate_slopes(
            plan, constant, first, last, pose, matrix, wide, work, H, W[12 * row :]
        )
    return G, W


def curvature_work(model: Model) -> Float:
    """Workspace of `dynamics.kernels.rows.curvature.hessian`, and 12 and 144 numbers."""
    return np.zeros(12 + 144 + layout.POSE + 13 * max(1, model.n_rows) + 144)
