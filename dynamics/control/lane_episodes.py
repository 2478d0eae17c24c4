"""Episodes of up to eight environments side by side, in the lanes of vector registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics.kinematics.lane_runs import LaneRun, LaneRuns
from dynamics.state import interval_of

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = ["LaneEpisodes"]

Float = NDArray[np.float64]


class LaneEpisodes:
    """Runs of some environments from action to action.

    Parameters
    ----------
    model : Model
        That passes `check_lanes`.
    skip : int
        Steps per action.
    most : ndarray of float, shape (c,)
        Controls of an action of 1.
    """

    def __init__(self, model: Model, skip: int, most: Float) -> None:
        self._model, self._skip, self._most = model, skip, most
        self._group: list[LaneRun] = []
        self._runs: LaneRuns | None = None
        self._numbers = np.empty((0, 0))  # of the states where the runs are

    def act(
        self,
        states: Float,
        actions: Float,
        times: Sequence[float],
        intervals: Sequence[tuple[float, float]],
    ) -> tuple[NDArray[np.int64], list[tuple[float, float]]]:
        """Hold actions for all their steps.

        Parameters
        ----------
        states : ndarray of float, shape (k, state size)
            At most eight; changed. One that fails is left before the step that did.
        actions : ndarray of float, shape (k, c)
            Cut off at -1 and 1.
        times : sequence of float
            s.
        intervals : sequence of (float, float)
            See `State.interval`.

        Returns
        -------
        ndarray of int, shape (k,)
            Steps that were taken.
        list of (float, float)
            Intervals of the states after them.
        """
        if self._runs is None or not np.array_equal(states, self._numbers):
            self._group = [
                self._begun(*one) for one in zip(states, actions, times, intervals, strict=True)
            ]
            self._runs = LaneRuns(self._model, self._group, self._skip + 1)
        self._runs.hold(self._most * np.clip(actions, -1.0, 1.0))
        self._runs.advance(self._skip, _go_on)
        self._numbers = np.array([run.state.data for run in self._group])
        states[:] = self._numbers
        if any(run.error is not None for run in self._group):
            self._runs = None
        took = np.array([run.done for run in self._group])
        return took, [interval_of(run.info) for run in self._group]

    def _begun(
        self, numbers: Float, action: Float, time: float, interval: tuple[float, float]
    ) -> LaneRun:
        """Run that begins at a state."""
        state = self._model.state_of(numbers.copy(), time)
        state.interval = interval
        nothing = np.empty((0, numbers.size + 2))
        run = LaneRun(state, np.zeros((1, action.size)), np.zeros((1, 0)), nothing)
        run.begin(self._model)
        return run


def _go_on() -> None:
    """Nothing: an action takes a short time."""
