"""Joint coordinates of a whole mechanism as one vector, and their tangent space."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation
from dynamics.errors import UnknownNameError, check_model
from dynamics.kernels.base import layout
from dynamics.kernels.observables import measure as kernel
from dynamics.kernels.rows import curvature, rows
from dynamics.kinematics import coordinates
from dynamics.state import check_state

if TYPE_CHECKING:
    from dynamics.model import Model
    from dynamics.state import State

__all__ = ["JointSpace", "Slopes"]

Float = NDArray[np.float64]

#: Singular values below this part of the largest are those of redundant constraints.
RANK = 1e-8
#: Velocity of a body per rate of a coordinate, m/s or rad/s per rad/s or m/s, above which
#: coordinates do not measure all motions, as of loops.
LARGEST = 1e8
TURNING = (rows.ANGLE, rows.HEADING_A, rows.HEADING_B)


class Slopes:
    """Jacobians of constraints and joint coordinates at one state, dense.

    Attributes
    ----------
    G, bend : ndarray of float, shape (m, 6 n)
        Of the rigid constraints with respect to (x, theta) of every body; and of their rates ``G
        V``, ``V`` fixed.
    J, swing : ndarray of float, shape (k, 6 n)
        The same of the joint coordinates.
    """

    def __init__(self, G: Float, bend: Float, J: Float, swing: Float) -> None:
        self.G, self.bend, self.J, self.swing = G, bend, J, swing

    def split(self) -> tuple[Float, Float]:
        """Split velocities into free and constrained ones.

        Returns
        -------
        null : ndarray of float, shape (6 n, d)
            Orthonormal, ``G null = 0``.
        normal : ndarray of float, shape (6 n, m)
            Pseudo-inverse of G.
        """
        size = self.G.shape[1]
        if self.G.shape[0] == 0:
            return np.eye(size), np.zeros((size, 0))
        U, s, Vt = np.linalg.svd(self.G)
        rank = int((s > RANK * s[0]).sum())
        return Vt[rank:].T, (Vt[:rank].T / s[:rank]) @ U[:, :rank].T

    def along(self) -> Float:
        """Motions of `tangent` alone: of a tree by one LU factorization in place of two SVDs.

        Returns
        -------
        ndarray of float, shape (6 n, k)
        """
        stack, m = np.vstack([self.G, self.J]), self.G.shape[0]
        if stack.shape[0] == stack.shape[1]:
            with suppress(np.linalg.LinAlgError):
                wanted = np.eye(len(stack))[:, m:]
                found = np.linalg.solve(stack, wanted)
                most = np.abs(found).max(initial=0.0)
                missed = np.abs(stack @ found - wanted).max(initial=0.0)
                if most < LARGEST and missed <= RANK * max(1.0, most):
                    return np.asarray(found)
        return self.tangent()[0]

    def null(self) -> Float:
        """Orthonormal basis of the motions that the constraints leave, shape (6 n, d)."""
        if sum(map(len, (self.G, self.J))) == self.G.shape[1]:
            return np.asarray(np.linalg.qr(self.along())[0])
        return self.split()[0]

    def tangent(self) -> tuple[Float, Float]:
        """Motions of all bodies that joint coordinates stand for.

        Returns
        -------
        along : ndarray of float, shape (6 n, k)
            ``G along = 0``; ``J along`` is the identity or, where the coordinates depend on each
            other, the projection onto what they can do.
        normal : ndarray of float, shape (6 n, m)
            Pseudo-inverse of G.

        Raises
        ------
        ValueError
            Where bodies can move without any coordinate changing.
        """
        null, normal = self.split()
        freedoms = null.shape[1]
        U, s, Vt = np.linalg.svd(self.J @ null, full_matrices=False)
        found = int((s > RANK * max(1e-300, s.max(initial=0.0))).sum())
        if found < freedoms:
            raise ValueError(
                f"the bodies have {freedoms} freedoms, and joint coordinates measure {found} of "
                "them; name all joints, give free bodies a Floating joint to the world, or use "
                'coordinates "maximal"'
            )
        return null @ (Vt.T / s) @ U.T, normal


class JointSpace:
    """Coordinates of some joints, one after another.

    Parameters
    ----------
    model : Model
    joints : iterable of hashable, optional
        Names; by default all joints that have coordinates, without the lengths of tendons.

    Attributes
    ----------
    names : tuple
        Of the joints.
    start : dict
        First coordinate of a joint by name, and how many it has.
    size : int
        Number k of coordinates.
    places : ndarray of int, shape (2, k)
        Rows of their values and of their rates: see `Workspace.observed`.

    Raises
    ------
    UnknownNameError
        Where a name is that of no joint with coordinates.
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
        groups = plan[plan[layout.GROUP_AT] :][: layout.GROUP_FIELDS * plan[layout.MEASURES]]
        self._groups = groups.reshape(-1, layout.GROUP_FIELDS)
        first_row = int(self._groups[plan[layout.GROUPS] :, layout.FIRST_ROW].min(initial=2**62))
        places: tuple[list[int], list[int]] = ([], [])
        self.start: dict[Hashable, tuple[int, int]] = {}
        self._turns: list[tuple[slice, Float]] = []
        for name in self.names:
            count = model.mechanism.joints[name].n_coordinates
            self.start[name] = (len(places[0]), count)
            for side, group in zip(places, tables.measure_group[name]):
                first = int(self._groups[group, layout.FIRST_ROW])
                side += range(first, first + count)
        rows_of = [np.array(side, np.int64) for side in places]
        self._rates = rows_of[1]
        self.size = self._rates.size
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
        """Coordinates and their rates.

        Parameters
        ----------
        state : State

        Returns
        -------
        position, velocity : ndarray of float, shape (k,)
        """
        check_state(self.model, state)
        positions, velocities = self.read_all(state.data[None])
        return positions[0], velocities[0]

    def place(self, state: State, position: ArrayLike, velocity: ArrayLike = 0.0) -> None:
        """Put the joints of a tree at coordinates, one after another.

        Parameters
        ----------
        state : State
            Changed; nothing is returned.
        position : array_like, shape (k,)
        velocity : float or array_like, shape (k,), optional

        Raises
        ------
        InconsistentStateError
            Where a joint is on a loop: see `Model.assemble`.
        """
        q = rotation.as_numbers(position, (self.size,), "position")
        if np.ndim(velocity) == 0:
            velocity = np.full(self.size, velocity)
        rates = rotation.as_numbers(velocity, (self.size,), "velocity")
        parts = {name: slice(at, at + count) for name, (at, count) in self.start.items()}
        given = [(name, q[part], rates[part]) for name, part in parts.items()]
        coordinates.set_joints(self.model, state, given)

    def read_all(self, states: Float) -> tuple[Float, Float]:
        """Coordinates and their rates in many states.

        Parameters
        ----------
        states : ndarray of float, shape (s, state size)

        Returns
        -------
        positions, velocities : ndarray of float, shape (s, k)
        """
        found = self.observed(states)
        return found[:, 0], found[:, 1]

    def observed(self, states: Float) -> Float:
        """Coordinates and their rates in many states, in one array.

        Parameters
        ----------
        states : ndarray of float, shape (s, state size)

        Returns
        -------
        ndarray of float, shape (s, 2, k)
        """
        return self.model.workspace.observed(self.places, states)

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

    def slopes(self, state: State, twist: Float) -> Slopes:
        """Jacobians of the constraints and of the coordinates.

        Parameters
        ----------
        state : State
        twist : ndarray of float, shape (6 n,)
            Velocities of all bodies.

        Returns
        -------
        Slopes

        Notes
        -----
        A coordinate's Jacobian is that of its rate: of the spin, where a joint turns freely.
        """
        model = self.model
        plan, constant = model.tables.plan, model.tables.constant
        n, every = model.n_bodies, int(plan[layout.MEASURED_ROWS])
        pose, matrix = np.zeros(layout.POSE * (n + 1)), np.zeros(9 * (n + 1))
        g, G, W = np.zeros(every), np.zeros(12 * every), np.zeros(12 * every)
        kernel.placed(n, state.data, pose, matrix)
        rows.evaluate(plan, constant, 0, int(plan[layout.MEASURES]), pose, matrix, True, g, G)
        wide = np.concatenate([twist, np.zeros(layout.TWIST)])
        work, H = curvature_work(model), np.zeros(144)
        for first, last in (
            (0, int(plan[layout.JOINTS])), (int(plan[layout.GROUPS]), int(plan[layout.MEASURES])),
        ):  # fmt: skip
            row = int(self._groups[first, layout.FIRST_ROW]) if last > first else 0
            curvature.rate_slopes(
                plan, constant, first, last, pose, matrix, wide, work, H, W[12 * row :]
            )
        rigid = np.arange(model.n_rows)[~soft_rows(model)]
        dense = [self._dense(flat, one) for one in (rigid, self._rates) for flat in (G, W)]
        return Slopes(*dense)

    def _dense(self, flat: Float, chosen: NDArray[np.int64]) -> Float:
        """Rows of 12 numbers as rows of all bodies."""
        n = self.model.n_bodies
        owner = np.searchsorted(self._groups[:, layout.FIRST_ROW], chosen, side="right") - 1
        ends = self._groups[owner][:, [layout.A, layout.B]]
        out = np.zeros((chosen.size, n + 1, layout.TWIST))
        blocks = flat.reshape(-1, 2, layout.TWIST)[chosen]
        for side in (0, 1):
            out[np.arange(chosen.size), ends[:, side]] += blocks[:, side]
        place = {row: k for k, row in enumerate(chosen)}
        for group in self._groups[
            self._groups[:, layout.EQUATION] != self._groups[:, layout.FIRST_ROW]
        ]:
            for i in range(group[layout.N_ROWS]):
                if group[layout.EQUATION] + i not in place:
                    continue
                mine = place[group[layout.EQUATION] + i]
                for side, end in ((0, group[layout.A]), (1, group[layout.B])):
                    row = 12 * (group[layout.FIRST_ROW] + i) + layout.TWIST * side
                    out[mine, end] += flat[row : row + layout.TWIST]
        return out[:, :n].reshape(chosen.size, layout.TWIST * n)


def soft_rows(model: Model) -> NDArray[np.bool_]:
    """True for each compliant constraint row, shape (m,)."""
    plan, constant = model.tables.plan, model.tables.constant
    rows_of = constant[plan[layout.ROW_CONSTANT_AT] :][: layout.ROW_SIZE * model.n_rows]
    return np.asarray(rows_of.reshape(-1, layout.ROW_SIZE)[:, layout.COMPLIANCE] > 0.0)


def curvature_work(model: Model) -> Float:
    """Workspace of `dynamics.kernels.rows.curvature.hessian`, and 12 numbers."""
    return np.zeros(12 + layout.POSE + 13 * max(1, model.n_rows) + 144)
