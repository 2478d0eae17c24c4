"""Directions carried through intervals: how poses and momenta at their ends change.

By the implicit function theorem on theory/step (3), (4) and theory/contacts (1) to (5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import graphsys.kernels as solver_kernels
from dynamics.derivatives.wrench_slopes import wrench_slopes
from dynamics.kernels.base import layout, step_info
from dynamics.kernels.base.settings import (
    BARRIER,
    ENERGY_SHARE,
    FRICTION_PART,
    LARGEST_TURN,
    SETTINGS_SIZE,
)
from dynamics.kernels.contacts.rows import impulses
from dynamics.kernels.derivatives import contacts as contact_slopes
from dynamics.kernels.derivatives import interval as kernel
from dynamics.kernels.stepping import step as stepping
from dynamics.kinematics.contact_queries import failed_from
from dynamics.kinematics.coordinates import free_velocities
from dynamics.kinematics.diagnosis import failure
from dynamics.kinematics.joint_space import curvature_work
from dynamics.kinematics.momenta import momenta, turned_momenta
from dynamics.kinematics.stiff_momenta import StiffImpulses
from dynamics.state import State

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = ["Directions", "Tangent", "check_offered"]

Float = NDArray[np.float64]
#: Constants of a model with one number changed, and by how much.
Changed = tuple[Float, float]

#: Cuts are made by hand where slopes are taken: |phi| < 1 is never too far, any work is accepted.
ANY_TURN, ANY_SHARE = 1.0, 0.0
#: Lengths of intervals that are kept: more than a step has, `kernels.stepping.substeps.DEPTH`.
ROOM = 1 << 12
#: Status of `interval_slopes` where velocities of two bodies act on each other too strongly.
CROSSED = 4


def check_offered(model: Model) -> None:
    """Refuse integrators whose steps are not differentiated."""
    if model.form != "second order" or model.order != 2:
        raise NotImplementedError(
            'linearize a model of order 2 in the "second order" form, the defaults'
        )


class Directions:
    """Small changes of a state, by rows.

    Parameters
    ----------
    dz, dp, dbefore : ndarray of float, shape (k, 6 n)
        Of poses (position, rotation vector), momenta, and the last interval's velocities.
    """

    def __init__(self, dz: Float, dp: Float, dbefore: Float) -> None:
        self.dz, self.dp, self.dbefore = dz, dp, dbefore


class Tangent:
    """Carries directions of one model through intervals.

    Parameters
    ----------
    model : Model
    columns : int
        Number of directions.
    changed : list of (ndarray of float, float), optional
        Constants of a model with one number changed, and by how much: the last directions are
        those of these numbers.

    Notes
    -----
    Residuals are linear in every number of a body, spring or contact, so that their difference
    with a number changed is exact but for round-off.
    """

    def __init__(self, model: Model, columns: int, changed: list[Changed] | None = None) -> None:
        self.model, self.columns, self.changed = model, columns, changed or []
        plan = model.tables.plan
        self._n = layout.TWIST * model.n_bodies
        self._unknowns = self._n + model.n_rows
        both = (model.tables.symbolic, model.tables.fallback)
        sizes = [solver_kernels.work_sizes(one.program, columns) for one in both if one]
        arena, magnitude, work = np.max(sizes, axis=0)
        self._b, self._d, self._dx = np.zeros((3, self._unknowns * max(1, columns)))
        self._solver: tuple[Any, ...] = (
            np.zeros(model.symbolic.graph.nnz), np.empty(magnitude), np.empty(arena),
            np.empty(work), np.zeros(3),
        )  # fmt: skip
        self._work, self._H = curvature_work(model), np.zeros(144)
        bends = contact_slopes.BENDS
        self._touch = tuple(
            np.zeros(size)
            for size in (
                12 * contact_slopes.W_SIZE,
                144,
                12 * bends,
                contact_slopes.W_SIZE,
                layout.POSE,
                step_info.NEAREST_SIZE,
            )
        )
        self._contacts = np.zeros(
            layout.contact_work_size(int(plan[layout.CONTACTS]), int(plan[layout.BODIES]))
        )
        self._slots = int(plan[layout.SLOTS])
        self._places = np.zeros((2, plan[layout.WORK_SIZE]))

    def follow(
        self, state: State, control: Float, wrench: Float, way: Directions, dc: Float
    ) -> tuple[State, Directions]:
        """End of a step, and what the directions have become there.

        Parameters
        ----------
        state : State
        control, wrench : ndarray of float
        way : Directions
        dc : ndarray of float, shape (k, c)
            Of the control.

        Returns
        -------
        State, Directions

        Raises
        ------
        ConvergenceError
            If the equations of the step could not be solved.
        """
        model = self.model
        after = self._followed(state, model.timestep, model.settings, control, wrench, way, dc)
        after[0].time = state.time + model.timestep
        return after

    def _followed(
        self,
        state: State,
        h: float,
        settings: Float,
        control: Float,
        wrench: Float,
        way: Directions,
        dc: Float,
    ) -> tuple[State, Directions]:
        """`follow` for a step of length h; cut into intervals where the step is."""
        end, lengths, settings = self._stepped(state, h, settings, control, wrench)
        if lengths.size == 1:
            part = float(settings[FRICTION_PART])
            return end, self._interval(state, end, h, part, control, wrench, way, dc)
        settings[LARGEST_TURN], settings[ENERGY_SHARE] = ANY_TURN, ANY_SHARE
        now, before = state, np.cumsum(lengths) - lengths
        for length, passed in zip(lengths.tolist(), before.tolist()):
            now = now.copy()
            now.time = state.time + passed
            now.interval_velocity_before[:] = now.interval_velocity
            now, way = self._followed(now, length, settings, control, wrench, way, dc)
        return now, way

    def _stepped(
        self, state: State, h: float, settings: Float, control: Float, wrench: Float
    ) -> tuple[State, Float, Float]:
        """State after a step of length h, lengths of its intervals and the settings it took."""
        model = self.model
        after, info, space = state.copy(), np.zeros(step_info.INFO_SIZE + ROOM), model.workspace
        info[step_info.TIME] = state.time
        bad = stepping.step(
            model.tables.plan, model.tables.constant, model.symbolic.program, h, settings, control,
            wrench, after.data, space.work, space.step_solver, info, False, None,
        )  # fmt: skip
        if bad != 0:
            raise failed_from(model, state, failure(model, bad, 0, state.time, info))
        lengths = info[step_info.INFO_SIZE :][: int(info[step_info.INTERVALS])]
        sets = settings.reshape(-1, SETTINGS_SIZE)
        barriers, parts = sets[:, BARRIER] / sets[0, BARRIER], sets[:, FRICTION_PART]
        # an interval raises the barrier of its settings by itself
        chosen = np.isclose(barriers * info[step_info.RAISED], info[step_info.RELAXATION])
        took = chosen & (parts == info[step_info.FRICTION])
        return after, lengths, sets[np.argmax(took)].copy()

    def _interval(
        self,
        start: State,
        end: State,
        h: float,
        part: float,
        control: Float,
        wrench: Float,
        way: Directions,
        dc: Float,
    ) -> Directions:
        """Directions at the end of an interval, with a part of the friction, from its start's."""
        tables, constant = self.model.tables, self._rubbing(self.model.tables.constant, part)
        x = np.concatenate([end.interval_velocity.ravel(), h * end.multipliers])
        before = start.interval_velocity.ravel()
        c = self._impulses(start, end, h)
        given = self._given(start, h, part, control, wrench, x, before, c)
        node, trial, spare = map(tuple, self._nodes())  # named ones are slow to hand on
        stepping.load_state(tables.plan, constant, start.data, node, trial)
        kernel.part_given(tables.plan, h, start.data, node[2])
        stepping.load_state(tables.plan, constant, end.data, trial, spare)
        dz, dp = np.empty(way.dz.shape), np.empty(way.dp.shape)
        twist = end.interval_velocity
        wrenches = np.array(
            [
                wrench_slopes(tables, start.time, start.pose, twist),
                wrench_slopes(tables, start.time + h, end.pose, twist),
            ]
        )
        work = (
            self._work, self._H, self._touch, self._contacts, (self._b, self._d, self._dx),
            self._solver,
        )  # fmt: skip
        bad = kernel.interval_slopes(
            tables.plan, constant, tables.symbolic.program, h, control, (x, before, c),
            (node, trial), (way.dz, way.dp, way.dbefore, dc), given, wrenches, work,
            (dz, dp.reshape(-1)),
        )  # fmt: skip
        self._check(bad)
        du = self._dx[: self.columns * self._unknowns].reshape(self.columns, -1)
        return Directions(dz, dp, du[:, : self._n].copy())

    def _rubbing(self, constant: Float, part: float) -> Float:
        """Constants of a model with a part of its friction."""
        if part == 1.0:
            return constant
        plan, found = self.model.tables.plan, constant.copy()
        first, size = int(plan[layout.CONTACT_CONSTANT_AT]), layout.CONTACT_SIZE
        numbers = found[first : first + size * int(plan[layout.CONTACTS])].reshape(-1, size)
        numbers[:, layout.FRICTION : layout.OF_RATE] *= part  # of all blocks
        return found

    def _nodes(self) -> tuple[Any, Any, Any]:
        """Both ends of an interval, and another node."""
        plan = self.model.tables.plan
        node, behind = stepping.node_of(plan, self._places[0], 0)
        trial, _ = stepping.node_of(plan, self._places[0], behind)
        return node, trial, stepping.node_of(plan, self._places[1], 0)[0]

    def _impulses(self, start: State, end: State, h: float) -> Float:
        """Numbers of the contacts with impulses for forces, as the solver has them."""
        tables, c = self.model.tables, end.contacts.copy()
        ones = np.zeros(layout.CONTACT_WORK * int(tables.plan[layout.CONTACTS]))
        ones[layout.ACTIVE_AT :: layout.CONTACT_WORK] = 1.0
        time, late = h, start.contacts[self.model.late_at :]
        if late.size:
            time = 0.5 * (float(late[0]) + h)
        impulses(tables.plan, tables.constant, h, time, ones, c)
        return c

    def _given(
        self, start: State, h: float, part: float, control: Float, wrench: Float, x: Float,
        before: Float, c: Float,
    ) -> tuple[Float, Float, Float]:  # fmt: skip
        """Changes of residuals and of the momenta at the end by the numbers that change."""
        tables = self.model.tables
        sizes = self._unknowns, self._slots, self._n
        out = [np.zeros((self.columns, size)) for size in sizes]
        if self.changed:
            node, trial, _ = self._nodes()
            if tables.plan[layout.WRENCHES]:
                node.f[self._n], trial.f[self._n] = start.time, start.time + h
            kick, p = np.empty(self._n), start.momentum.ravel()
            both = tuple(node), tuple(trial)

            def parts(constant: Float) -> list[Float]:
                found = [np.zeros(size) for size in sizes]
                numbers = self._rubbing(constant, part)
                bad = kernel.residuals(
                    tables.plan, numbers, h, (control, wrench), start.data, p, (x, before, c), both,
                    kick, self._touch[5], self._contacts, tuple(found),
                )  # fmt: skip
                self._check(bad)
                return found

            base = parts(tables.constant)
            first = self.columns - len(self.changed)
            for k, (constant, change) in enumerate(self.changed):
                for whole, now, held in zip(out, parts(constant), base):
                    whole[first + k] = (now - held) / change
        r, errors, end = (one.ravel() for one in out)
        return r, errors, end

    def momentum_changes(self, state: State, twist: Float) -> Float:
        """Changes of momenta with the numbers that change, at fixed velocities.

        Parameters
        ----------
        state : State
        twist : ndarray of float, shape (6 n,)

        Returns
        -------
        ndarray of float, shape (number of them, 6 n)
        """
        tables = self.model.tables

        def told(constant: Float) -> Float:
            found = momenta(tables, state.pose, twist[None], constant)
            return np.asarray(found - StiffImpulses(self.model, state, constant).impulses(twist))

        rows = [(told(one) - told(tables.constant)) / change for one, change in self.changed]
        return np.concatenate([np.zeros((0, self._n)), *rows])

    def projected(
        self, state: State, way: Directions, dc: Float | None = None
    ) -> tuple[Float, Float]:
        """`free_velocities` of a state, and how they change along directions.

        Parameters
        ----------
        state : State
        way : Directions
        dc : ndarray of float, shape (k, c), optional
            Of the control of the interval before.

        Returns
        -------
        twist : ndarray of float, shape (6 n,)
        dV : ndarray of float, shape (k, 6 n)
        """
        model, space = self.model, self.model.workspace
        twist = free_velocities(model, state)
        more = -turned_momenta(model.tables, state.pose, twist, way.dz)
        more[self.columns - len(self.changed) :] -= self.momentum_changes(state, twist)
        more += StiffImpulses(model, state).changes(twist, way.dz, None, dc)
        solver = (*space.solver[:3], *self._solver[3:])
        dV = np.empty_like(way.dp)
        bad = kernel.projection_slopes(
            model.tables.plan, model.tables.constant, space.projector,
            (space.x, space.pose, space.matrix, space.G), way.dz, way.dp, more, solver,
            (self._work, self._H, (self._b, self._d, self._dx)), dV,
        )  # fmt: skip
        self._check(bad)
        return twist, dV

    def _check(self, bad: int) -> None:
        for call in self.model.tables.callbacks:
            call.reraise()
        if bad == CROSSED:
            raise ArithmeticError(
                "the wrenches of two bodies change so much with each other's velocities that the "
                "slopes of a step are not found; take a shorter timestep"
            )
        if bad:
            raise ArithmeticError("the matrix of the step is singular where its slopes are taken")
