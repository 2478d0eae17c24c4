"""Up to eight simulations side by side, in the lanes of vector registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.interrupts import Deferred
from dynamics.kernels.base import run_totals, step_info
from dynamics.kinematics.lane_runs import LaneRun, LaneRuns
from dynamics.kinematics.plane_placement import placed
from dynamics.simulation import (
    check_start,
    count_steps,
    summary_of,
    tables_of_inputs,
    warn_of_contacts,
    warn_of_energy,
)
from dynamics.state import State
from dynamics.trajectory import Trajectory

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = ["simulate_in_lanes"]


def simulate_in_lanes(
    model: Model, starts: Sequence[tuple[State, Any, Any]], seconds: float, every: int
) -> tuple[list[tuple[BaseException | None, Trajectory | None]], bool]:
    """Run simulations side by side.

    Parameters
    ----------
    model : Model
        That passes `check_lanes`.
    starts : sequence of (State, controls, wrenches)
        At most eight, as of `dynamics.simulate`; states are kept as they are changed.
    seconds : float
    every : int

    Returns
    -------
    list of (exception or None, Trajectory or None)
        For each start what went wrong, and the motion so far.
    bool
        Whether an interrupt ended all.
    """
    errors: dict[int, BaseException] = {}
    runs: dict[int, LaneRun] = {}
    firsts: dict[int, State] = {}
    steps, interrupted = 0, False
    for i, (state, controls, wrenches) in enumerate(starts):
        try:
            steps = count_steps(model, seconds, every)
            tables = tables_of_inputs(model, controls, wrenches, steps)
            check_start(model, state)
            state = placed(model, state).copy()
            runs[i] = LaneRun(state, *tables, np.empty((steps // every, state.data.size + 2)))
            firsts[i] = state.copy()
            runs[i].begin(model)
        except Exception as error:
            errors[i] = error
    if runs:
        with Deferred() as deferred:
            try:
                LaneRuns(model, list(runs.values()), every).advance(steps, deferred.deliver)
            except KeyboardInterrupt:
                interrupted = True
    results: list[tuple[BaseException | None, Trajectory | None]] = []
    for i in range(len(starts)):
        run = runs.get(i) if i not in errors else None
        motion = None if run is None else _motion(model, firsts[i], run, every)
        results.append((errors.get(i, None if run is None else run.error), motion))
    return results, interrupted


def _motion(model: Model, first: State, run: LaneRun, every: int) -> Trajectory:
    """Motion of a simulation so far, with its warnings."""
    record = run.record[: run.done // every]
    states = np.concatenate([first.data[None], record[:, :-2]])
    time = first.time + model.timestep * every * np.arange(len(states), dtype=float)
    summary = summary_of(run.totals, run.done, run.info)
    motion = Trajectory(model, time, states, run.controls, summary)
    motion.intervals = np.concatenate([[first.interval], record[:, -2:]])
    beyond = int(run.totals[run_totals.FIRST_UNEXPLAINED])
    if beyond and run.error is None:
        gain = max(run.totals[run_totals.MOST_WORK], run.info[step_info.LARGEST_RISE])
        warn_of_energy(motion, beyond, every, float(gain))
    warn_of_contacts(motion)
    return motion
