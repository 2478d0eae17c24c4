"""Runs of one model side by side, in the lanes of vector registers: `LaneRuns`.

What steps are made of is compiled once more, with eight numbers in the place of each. Conditions
hold for all eight or for none: where they differ, and where a contact or a limit may act, the eight
take some steps one after another, by the same code as any other run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics.kernels.base import layout, run_totals, step_info
from dynamics.kernels.base.jit import LanesDifferError
from dynamics.kernels.base.lanes import LANES
from dynamics.kernels.stepping import side_by_side, step
from dynamics.kinematics.diagnosis import failure
from dynamics.state import State
from graphsys.kernels.base.layout import ROWS, WIDEST
from graphsys.kernels.base.widths import SMALL
from graphsys.kernels.batch.ldu import schedule
from graphsys.kernels.batch.substitution import panel_room

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = ["LaneRun", "LaneRuns", "check_lanes"]

Float = NDArray[np.float64]

#: Steps that eight take one after another where lanes differ, at most: 1, and twice as many as last
#: time where lanes took no more in between. If it is always 1, robots at the limits of their joints
#: take 1.3 times as long as without lanes (a reacher of dm_control).
MOST = 64
#: Numbers of states that lanes compute from one look for Ctrl-C to the next, in 5 to 20 ms.
PORTION = 200_000


def check_lanes(model: Model) -> None:
    """Refuse a model that cannot be simulated in lanes.

    Parameters
    ----------
    model : Model

    Raises
    ------
    ValueError
        With the reason.
    """
    reason = _obstacle(model)
    if reason is not None:
        raise ValueError(f"{reason}, so that it has no simulations in lanes; leave out lanes=True")


def _obstacle(model: Model) -> str | None:
    """Why a model cannot be simulated in lanes; None if it can."""
    if model.near is not None:
        return 'the model finds its contacts by itself (contacts="auto")'
    if model.kernel is not step or model.form != "second order":
        return "the model is of another order than 2, a composition, or in first-order form"
    if model.tables.callbacks:
        return "the model has Python functions of forces, joints or contacts"
    if model.tables.symbolic.program[WIDEST] > SMALL:
        return f"joints between the same bodies form a block of more than {SMALL} rows"
    return None


@dataclass(slots=True, eq=False)
class LaneRun:
    """One of the simulations.

    Attributes
    ----------
    state : State
        Of its last step.
    controls, wrenches : ndarray of float, shape (steps, ...) or (1, ...)
    record : ndarray of float, shape (records, state size + 2)
        States of every so many steps with their intervals, as `dynamics.simulation` has them.
    info, totals : ndarray of float
        See `dynamics.kernels.base.step_info`, `dynamics.kernels.base.run_totals`.
    error : BaseException or None
        Why it ended before the others.
    """

    state: State
    controls: Float
    wrenches: Float
    record: Float
    info: Float = field(default_factory=lambda: np.zeros(step_info.INFO_SIZE))
    totals: Float = field(default_factory=lambda: np.zeros(run_totals.TOTALS_SIZE))
    error: BaseException | None = None

    def begin(self, model: Model) -> None:
        """Begin at the state."""
        self.totals[run_totals.END_TIME], _ = model.workspace.begin(self.state, self.info)

    @property
    def done(self) -> int:
        """Steps that are solved, of the last call of `LaneRuns.advance`."""
        return int(self.totals[run_totals.STEPS])


class LaneRuns:
    """Up to eight simulations of one model side by side.

    Parameters
    ----------
    model : Model
        That passes `check_lanes`.
    runs : sequence of LaneRun
        At most eight, at their starts.
    every : int
        Steps between records.

    Attributes
    ----------
    together : int
        Steps that were taken in lanes.
    """

    def __init__(self, model: Model, runs: Sequence[LaneRun], every: int) -> None:
        tables = model.tables
        symbolic = tables.symbolic.in_postorder
        program, free = symbolic.supernodal_program, tables.plan.copy()
        free[[layout.CONTACTS, layout.PLANAR_AT, layout.FALLBACK_SIZE]] = 0
        free.flags.writeable = False
        self._model, self._runs, self._every, self.together = model, runs, every, 0
        self._held = False  # whether the lanes hold node and predictor of the next step
        self._tables = tables.plan, free, tables.constant, program
        size, rows = tables.state_size, int(program[ROWS])
        room = rows + panel_room(program)
        self._solver = (
            *map(_lanes, (symbolic.graph.nnz, 2 * rows, symbolic.arena_size, room, 1)), None,
            schedule(program),
        )  # fmt: skip
        self._work = _lanes(int(free[layout.WORK_SIZE]))
        self._contact = _lanes(layout.SLOPES + step_info.NEAREST_SIZE)
        self._state, self._saved = _lanes(size), _lanes(size + step_info.INFO_SIZE)
        self._info, self._totals = _lanes(step_info.INFO_SIZE), _lanes(run_totals.TOTALS_SIZE)
        self._portion = max(1, PORTION // (LANES * size))
        records = self._portion // every + 1
        self._record = _lanes(records * (size + 2)).reshape(records, -1)
        self._controls = self._table([run.controls for run in self._runs])
        self._wrenches = self._table([run.wrenches for run in self._runs])
        self._space = model.workspace.free()

    def advance(self, steps: int, look: Callable[[], None]) -> None:
        """Take steps in all simulations, which are counted from 0 again.

        Parameters
        ----------
        steps : int
        look : callable
            Called many times a second; what it raises ends all.
        """
        for run in self._runs:
            run.totals[run_totals.STEPS] = 0.0
        self._totals.reshape(-1, LANES)[run_totals.STEPS] = 0.0
        done, pause = 0, 1
        while done < steps and (going := self._going()):
            took = self._in_lanes(going, done, steps, look)
            done, self.together = done + took, self.together + took
            pause = 1 if took > pause else min(2 * pause, MOST)
            if (count := min(pause, steps - done)) > 0:
                self._held = False
                with self._space:
                    for run in going:
                        self._one(run, done, count)
                        look()
                done += count

    def hold(self, controls: Float) -> None:
        """Hold controls in all steps that follow.

        Parameters
        ----------
        controls : ndarray of float, shape (runs, c)
            Of runs that have not failed, whose tables have one row.
        """
        for run, row in zip(self._runs, controls):
            run.controls[0] = row
        lanes = np.arange(LANES) % len(controls)
        self._controls.reshape(-1, LANES)[:] = controls[lanes].T

    def _going(self) -> list[LaneRun]:
        """Simulations that have not failed."""
        return [run for run in self._runs if run.error is None]

    def _in_lanes(
        self, runs: Sequence[LaneRun], done: int, steps: int, look: Callable[[], None]
    ) -> int:
        """Take steps in lanes until they differ; how many were taken."""
        first, totals = done, self._totals.reshape(-1, LANES)
        if not self._held:
            self._spread(self._state, [run.state.data for run in runs])
            self._spread(self._info, [run.info for run in runs])
            self._spread(self._totals, [run.totals for run in runs])
            totals[run_totals.RESUMED] = 0.0
            self._held = True
        try:
            while self._held and done < steps:
                took, self._held = self._call(runs, done, min(self._portion, steps - done))
                done += took
                look()
        finally:
            for lane, run in enumerate(runs):
                run.state.data[:] = self._state.reshape(-1, LANES)[:, lane]
                run.info[:] = self._info.reshape(-1, LANES)[:, lane]
                run.totals[:] = totals[:, lane]
        return done - first

    def _call(self, runs: Sequence[LaneRun], done: int, count: int) -> tuple[int, bool]:
        """Take steps in lanes in one call; how many, and whether they can go on."""
        totals, size, rows = self._totals.reshape(-1, LANES), self._state.size, done // self._every
        totals[run_totals.FIRST_RECORD] = rows
        self._saved[:size], self._saved[size:] = self._state, self._info
        try:
            took = int(side_by_side.simulate(
                *self._tables, self._model.timestep, self._model.settings, count, self._every,
                self._controls, self._wrenches, self._state, self._saved, self._work,
                self._contact, self._solver, (self._record, self._info, self._totals),
            ))  # fmt: skip
            goes_on = took == count
        except LanesDifferError:
            self._state[:], self._info[:] = self._saved[:size], self._saved[size:]
            took, goes_on = int(totals[run_totals.STEPS, 0]) - done, False
        new = self._record.reshape(len(self._record), -1, LANES)
        new = new[: (done + took) // self._every - rows]
        for lane, run in enumerate(runs):
            run.record[rows : rows + len(new)] = new[:, :, lane]
        return took, goes_on

    def _one(self, run: LaneRun, done: int, steps: int) -> None:
        """Take steps in one simulation by itself."""
        run.totals[run_totals.RESUMED] = run.totals[run_totals.FIRST_RECORD] = 0.0
        space = self._space
        took = int(self._model.kernel.simulate(
            *space.step_tables, self._model.timestep, self._model.settings, steps, self._every,
            (0, run.controls, run.wrenches), None, run.state.data, space.work, space.step_solver,
            (run.record, run.info, run.totals),
        ))  # fmt: skip
        if took < steps:
            time, bad = float(run.totals[run_totals.END_TIME]), int(run.info[step_info.STATUS])
            run.error = failure(self._model, bad, done + took, time, run.info)

    def _table(self, tables: Sequence[Float]) -> Float:
        """Inputs of all steps side by side; those that are the same in all steps are repeated."""
        rows, columns = (max(table.shape[k] for table in tables) for k in range(2))
        made = _lanes(rows * columns).reshape(rows, -1)
        view = made.reshape(rows, columns, LANES)
        for lane in range(LANES):
            table = tables[lane % len(tables)]
            if table.shape[1] > 0:  # else there are none, and the room holds 0
                view[:, :, lane] = table
        return made

    @staticmethod
    def _spread(lanes: Float, numbers: Sequence[Float]) -> None:
        """Lanes <- the numbers of each simulation; the first ones once more where there are few."""
        view = lanes.reshape(-1, LANES)
        for lane in range(LANES):
            view[:, lane] = numbers[lane % len(numbers)]


def _lanes(count: int) -> Float:
    """Room for so many lanes, filled with 0, each at a multiple of its size."""
    made = np.zeros(LANES * (count + 1))
    first = -made.ctypes.data // made.itemsize % LANES
    return made[first : first + LANES * count]
