"""Run of an episode, which goes on from action to action as if it were one motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynamics.interrupts import around
from dynamics.kernels.base import run_totals, step_info
from dynamics.kernels.observables.act import act
from dynamics.kernels.stepping import step
from dynamics.kinematics.joint_space import JointSpace
from dynamics.kinematics.near_run import NearRun, Part
from dynamics.kinematics.plane_placement import placed
from dynamics.state import State, interval_of
from dynamics.tables.workspace import Workspace

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = ["EpisodeRun", "begun"]

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
        self.model, self.state, self.every, self.inputs = model, state.copy(), every, inputs
        self.info = np.zeros(step_info.INFO_SIZE)
        self.totals = np.zeros(run_totals.TOTALS_SIZE)
        self._record = np.empty((0, state.data.size + 2))
        self._kept: list[Float] = []

    def __enter__(self) -> PlainRun:
        self.space: Workspace = self.model.workspace.free()
        self.space.__enter__()
        begin = self.space.begin(self.state, self.info)
        self.totals[run_totals.END_TIME], self.totals[run_totals.RESUMED] = begin
        return self

    def advance(self, done: int, count: int) -> int:
        """Take some steps after those that are done; how many it took."""
        model, space = self.model, self.space
        return int(model.kernel.simulate(
            *space.step_tables, model.timestep, model.settings, count, self.every, self.inputs,
            None, self.state.data, space.work, space.step_solver,
            (self._record, self.info, self.totals),
        ))  # fmt: skip

    def pause(self) -> None:
        """Leave the workspace to other runs, until `go_on`."""
        self._kept = self.space.pause(self._kept)

    def go_on(self) -> None:
        """Go on after a pause, in any thread, with steps that are counted from 0 again."""
        self.space = self.model.workspace.free()
        self.space.go_on(self._kept)
        self.totals[run_totals.STEPS] = 0.0

    @property
    def acting(self) -> tuple[Any, ...]:
        """As of `NearRun`, without columns and a watch."""
        space = self.model.workspace.free()
        return (
            space.step_tables, None, space.projection, None, self.state.data, self._kept[0],
            space.work, space.step_solver,
        )  # fmt: skip

    def finish_action(self, took: int, count: int) -> int:
        """As of `NearRun`, whose near pairs change."""
        return took

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
    space : JointSpace
        Of the model, whose coordinates are observed.
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
    seen : ndarray of float, shape (1, 2, m), or None
        Coordinates and their rates there; None where nothing is known of them.
    """

    def __init__(self, space: JointSpace, state: State, skip: int, most: Float) -> None:
        model = space.model
        self._space, self._model, self._skip, self._most = space, model, skip, most
        self._control = np.zeros((1, most.size))
        self._inputs = 0, self._control, NO_WRENCHES
        self._run: NearRun | PlainRun
        if model.near is None:
            self._run = PlainRun(model, state, skip + 1, self._inputs)
        else:
            self._run = NearRun(model.near, state, skip + 1, self._inputs)
        self._run.__enter__()
        self._run.pause()
        self.numbers: Float = state.data.copy()
        self.seen: Float | None = None
        self._seal = self.numbers.tobytes()
        self._callbacks = model.tables.callbacks
        plain = model.kernel is step and model.form == "second order"
        self._at_once = plain and not self._callbacks
        if self._at_once:
            record = np.empty((0, 0))
            self._results = record, self._run.info, self._run.totals
            self._observing: tuple[Workspace, tuple[Any, ...]] | None = None

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(None), ()  # copies of an environment begin a run of their own

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
        took = self._all_at_once(action) if self._at_once else self._part_by_part(action)
        self._seal = self.numbers.tobytes()
        return took

    def _all_at_once(self, action: Float) -> int:
        """Steps of order 2 and what is observed after them, in one call."""
        run, model, whole = self._run, self._model, self._model.workspace
        if self._observing is None or self._observing[0] is not whole:
            self._observing = whole, whole.observing(self._space.places)
        tables, columns, projection, watch, state, kept, work, solver = run.acting
        numbers, seen = np.empty((1, self.numbers.size)), np.empty((1, 2, self._space.size))
        took = int(act(
            tables, self._observing[1], columns, projection, model.timestep, model.settings,
            self._skip, self._inputs, watch, (action, self._most), state, kept, work, solver,
            self._results, numbers, seen,
        ))  # fmt: skip
        self.numbers, self.seen = numbers[0], seen if took == self._skip else None
        if took < 0:  # `Workspace.observed` tries another elimination order
            return self._skip
        more = run.finish_action(took, self._skip)
        if more > took:
            self.numbers = run.numbers
        return more

    def _part_by_part(self, action: Float) -> int:
        """Steps of other orders, and those that call users' functions."""
        run = self._run
        self._control[0] = self._most * np.clip(action, -1.0, 1.0)
        run.go_on()
        try:
            with around(self._callbacks):
                took = run.advance(0, self._skip)
        finally:
            run.pause()
        if took < self._skip:
            for call in self._callbacks:
                call.reraise()
        self.numbers, self.seen = run.numbers, None
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
            return run.record
        return None


def begun(
    space: JointSpace,
    numbers: Float,
    time: float,
    interval: tuple[float, float],
    skip: int,
    most: Float,
) -> EpisodeRun:
    """Begin a run.

    Parameters
    ----------
    space : JointSpace
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
    model = space.model
    state = model.state_of(numbers.copy(), time)
    state.interval = interval
    if model.near is not None:
        state = placed(model, state)
    return EpisodeRun(space, state, skip, most)
