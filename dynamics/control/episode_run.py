"""Run of an episode, which goes on from action to action as if it were one motion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics.interrupts import around
from dynamics.kernels.base import run_totals, step_info
from dynamics.kinematics.near_run import NearRun, Part
from dynamics.kinematics.plane_placement import placed
from dynamics.state import State, interval_of
from dynamics.tables.workspace import Workspace

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = ["EpisodeRun"]

Float = NDArray[np.float64]
NO_WRENCHES = np.zeros((1, 0))


class PlainRun:
    """Run of a model whose contacts are given, with the part of `NearRun` that actions need.

    Parameters
    ----------
    model : Model
    state : State
        Left as it is.
    every : int
        More steps than are taken at once: nothing is recorded.
    inputs : tuple
        A controller's address, controls and wrenches.

    Attributes
    ----------
    state : State
        Of the last step, with the momenta of half kicks.
    info, totals : ndarray of float
        See `dynamics.simulation`.
    """

    def __init__(
        self, model: Model, state: State, every: int, inputs: tuple[int, Float, Float]
    ) -> None:
        self.model, self.state = model, state.copy()
        self.info = np.zeros(step_info.INFO_SIZE)
        self.totals = np.zeros(run_totals.TOTALS_SIZE)
        self._record = np.empty((0, state.data.size + 2))
        self._every, self._inputs = every, inputs
        self._kept: list[Float] = []

    def __enter__(self) -> PlainRun:
        space = self._work_in(self.model.workspace.free())
        space.__enter__()
        begin = space.begin(self.state, self.info)
        self.totals[run_totals.END_TIME], self.totals[run_totals.RESUMED] = begin
        return self

    def _work_in(self, space: Workspace) -> Workspace:
        """Arguments of steps in a workspace."""
        model, self.space = self.model, space
        self._tables = *space.step_tables, model.timestep, model.settings
        self._rest = (
            self._every, self._inputs, None, self.state.data, space.work, space.step_solver,
            (self._record, self.info, self.totals),
        )  # fmt: skip
        return space

    def advance(self, done: int, count: int) -> int:
        """Take some steps; how many it took."""
        return int(self.model.kernel.simulate(*self._tables, count, *self._rest))

    def pause(self) -> None:
        """Leave the workspace to other runs, until `go_on`."""
        self._kept = self.space.pause(self._kept)

    def go_on(self) -> None:
        """Go on after a pause, in any thread, with steps that are counted from 0 again."""
        space = self.model.workspace.free()
        space.go_on(self._kept)
        self.totals[run_totals.STEPS] = 0.0
        if space is not self.space:
            self._work_in(space)

    @property
    def numbers(self) -> Float:
        """Numbers of the state."""
        found = self.state.data.copy()
        self.space.kick(found[None], -0.5)
        return found


class EpisodeRun:
    """Run of an episode from action to action.

    Parameters
    ----------
    model : Model
    state : State
        Left as it is.
    skip : int
        Steps per action.
    most : ndarray of float, shape (c,)
        Controls of an action of 1.

    Attributes
    ----------
    numbers : ndarray of float, shape (state size,)
        Of the state after the last action.
    """

    def __init__(self, model: Model, state: State, skip: int, most: Float) -> None:
        self._callbacks, self._skip, self._most = model.tables.callbacks, skip, most
        self._control = np.zeros((1, most.size))
        inputs = 0, self._control, NO_WRENCHES
        self._run: NearRun | PlainRun
        if model.near is None:
            self._run = PlainRun(model, state, skip + 1, inputs)
        else:
            self._run = NearRun(model.near, state, skip + 1, inputs)
        self._run.__enter__()
        self._run.pause()
        self.numbers = state.data.copy()
        self._seal = self.numbers.tobytes()

    def leads_to(self, numbers: Float) -> bool:
        """Whether the run is where a state is.

        Parameters
        ----------
        numbers : ndarray of float, shape (state size,)

        Returns
        -------
        bool
        """
        return self._seal == numbers.tobytes()

    def act(self, action: Float) -> int:
        """Hold an action for all its steps.

        Parameters
        ----------
        action : ndarray of float, shape (c,)
            Cut off at -1 and 1.

        Returns
        -------
        int
            Steps that were taken: fewer where one cannot be solved.
        """
        run, control = self._run, self._control[0]
        np.maximum(action, -1.0, out=control)
        np.minimum(control, 1.0, out=control)
        control *= self._most
        run.go_on()
        try:
            if self._callbacks:
                took = self._with_functions()
            else:
                took = run.advance(0, self._skip)
        finally:
            run.pause()
        self.numbers = run.numbers
        self._seal = self.numbers.tobytes()
        return took

    def _with_functions(self) -> int:
        """Steps that call users' functions."""
        with around(self._callbacks):
            took = self._run.advance(0, self._skip)
        if took < self._skip:
            for call in self._callbacks:
                call.reraise()
        return took

    @property
    def interval(self) -> tuple[float, float]:
        """See `State.interval`."""
        return interval_of(self._run.info)

    @property
    def part(self) -> Part | None:
        """The state with the pairs of shapes that are near, where the model finds its contacts."""
        run = self._run
        if isinstance(run, NearRun):
            return Part(run.near.pairs, run.state.data[None].copy())
        return None


def begun(
    model: Model, numbers: Float, time: float, interval: tuple[float, float], skip: int, most: Float
) -> EpisodeRun:
    """Begin a run.

    Parameters
    ----------
    model : Model
    numbers : ndarray of float, shape (state size,)
        Of a state; left as they are.
    time : float
        s.
    interval : (float, float)
        See `State.interval`.
    skip : int
    most : ndarray of float, shape (c,)
        See `EpisodeRun`.

    Returns
    -------
    EpisodeRun
    """
    state = model.state_of(numbers.copy(), time)
    state.interval = interval
    if model.near is not None:
        state = placed(model, state)
    return EpisodeRun(model, state, skip, most)
