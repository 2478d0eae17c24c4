"""Zeros of users' event functions: found from step to step, located in parts of a step."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics.interrupts import current
from dynamics.kernels.base import run_totals, step_info
from dynamics.kinematics.diagnosis import failure
from dynamics.state import State, interval_of
from dynamics.tables.error_control import ErrorControl, Event
from dynamics.tables.workspace import Workspace

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = ["EventFunction", "EventSearch", "event_functions", "part_of_step", "controls_of_part"]

Float = NDArray[np.float64]

#: Error of the time of a zero, over the step: below the error of order 6 in steps of use, and above
#: rounding, 2e-16 of a position over the way in a step.
RESOLUTION = 1e-11


class EventFunction(NamedTuple):
    """Function of the user with its attributes, checked.

    Attributes
    ----------
    name : hashable
    function : callable
        ``function(time, state)``.
    direction : float
        Of the zeros that count: all of them (0), or those where values rise (> 0) or fall (< 0).
    most : float
        Number of zeros after which the motion ends.
    """

    name: Hashable
    function: Callable[[float, State], Any]
    direction: float
    most: float


def event_functions(events: Any) -> list[EventFunction]:
    """Event functions of a callable, a sequence or a mapping of them.

    Raises
    ------
    TypeError, ValueError
        If one is not a function, or has attributes that are invalid.
    """
    if callable(events):
        events = [events]
    if not isinstance(events, (Mapping, Sequence)):
        raise TypeError(f"events are functions of (time, state), in a list or by name: {events!r}")
    items = events.items() if isinstance(events, Mapping) else enumerate(events)
    found = []
    for name, function in items:
        if not callable(function):
            raise TypeError(f"event {name!r} is {function!r}, and must be a function (time, state)")
        direction, terminal = getattr(function, "direction", 0), getattr(function, "terminal", 0)
        try:
            direction, most = float(direction), float(terminal or math.inf)
        except (TypeError, ValueError):
            direction, most = math.nan, math.nan
        if math.isnan(direction) or not (most == math.inf or most >= 1.0 and most.is_integer()):
            raise ValueError(
                f"event {name!r} has direction {getattr(function, 'direction', 0)!r} and terminal "
                f"{terminal!r}: direction must be a number, and terminal a bool or a count of zeros"
            )
        found.append(EventFunction(name, function, direction, most))
    return found


class EventSearch:
    """Event functions during a run that goes step by step.

    A zero is a change of sign from node to node. It is located in steps of the same method from
    the node before, each over a part of the step, by Brent's method. So its time has the order of
    the method, and its state fulfils the constraints.

    Parameters
    ----------
    functions : list of EventFunction
    timestep : float
        s.
    step : callable
        ``step(k, 1)`` takes step k of the run; 1, or 0 where it failed.
    node : callable
        ``node(k)`` is the state before step k, as the user sees it.
    part : callable
        ``part(k, length)`` is the state after a part of step k.

    Attributes
    ----------
    events : list of Event
    final : State or None
        Where a terminal event has ended the motion.
    """

    def __init__(
        self,
        functions: list[EventFunction],
        timestep: float,
        step: Callable[[int, int], int],
        node: Callable[[int], State],
        part: Callable[[int, float], State],
    ) -> None:
        self._functions, self._timestep = functions, timestep
        self._step, self._node, self._part = step, node, part
        self._values: list[float] | None = None
        self._counts = [0] * len(functions)
        self.events: list[Event] = []
        self.final: State | None = None

    def advance(self, done: int, count: int) -> int:
        """Take some steps after those that are done; how many it took."""
        for k in range(done, done + count):
            if self._values is None:
                first = self._node(k)
                self._values = [self._value(one, first) for one in self._functions]
            if self.final is not None or self._step(k, 1) == 0:
                return k - done
            self._look(k)
        return count

    def _look(self, k: int) -> None:
        """Find the zeros of a step that was taken."""
        end, before = self._node(k + 1), self._values
        assert before is not None
        after = [self._value(one, end) for one in self._functions]
        found = []
        for i, one in enumerate(self._functions):
            sign = _crossing(before[i], after[i])
            if sign != 0.0 and sign * one.direction >= 0.0:
                length, state = self._located(one, k, before[i], after[i], end)
                found.append((length, i, "rises" if sign > 0.0 else "falls", state))
        self._values = after
        for _, i, kind, state in sorted(found, key=lambda item: item[:2]):
            self.events.append(Event(state.time, self._functions[i].name, kind, state))
            self._counts[i] += 1
            if self._counts[i] >= self._functions[i].most:
                self.final = state
                return

    def _located(
        self, one: EventFunction, k: int, before: float, after: float, end: State
    ) -> tuple[float, State]:
        """Length of the part of step k until just after a zero, and the state there."""
        from scipy.optimize import brentq  # takes longer to import than most runs

        h, sign = self._timestep, _crossing(before, after)
        states: dict[float, State] = {h: end}
        values: dict[float, float] = {0.0: before, h: after}

        def value(length: float) -> float:
            if length not in values:
                states[length] = self._part(k, length)
                values[length] = self._value(one, states[length])
            return values[length]

        length = float(brentq(value, 0.0, h, xtol=RESOLUTION * h, rtol=4.0 * np.spacing(1.0)))
        more = RESOLUTION * h
        while length < h and (length <= 0.0 or sign * value(length) < 0.0):
            length, more = min(h, length + more), 2.0 * more
        return length, states[length]

    def _value(self, one: EventFunction, state: State) -> float:
        """Value of an event function."""
        given: list[Any] = []
        deferred = current()
        time = state.time
        try:
            if deferred is None:
                given.append(one.function(time, state))
            else:
                deferred.call(lambda: given.append(one.function(time, state)))
        except Exception as error:
            error.add_note(f"raised by event {one.name!r} at {time:.6g} s")
            raise
        try:
            value = float(given[0]) if np.ndim(given[0]) == 0 else math.nan
        except (TypeError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            raise ValueError(
                f"event {one.name!r} gave {given[0]!r} at {time:.6g} s, and must give one finite "
                "number"
            )
        return value


def _crossing(before: float, after: float) -> float:
    """1 or -1 if values reach zero from below or from above, 0 if they do not or began there."""
    if before < 0.0 <= after:
        return 1.0
    return -1.0 if before > 0.0 >= after else 0.0


def part_of_step(
    model: Model,
    state: State,
    k: int,
    length: float,
    control: Float,
    wrench: Float,
    accuracy: float | None,
) -> State:
    """State after a step of another length, which leaves the model's workspace as it is.

    Parameters
    ----------
    model : Model
        With its contacts declared, or a near model.
    state : State
        Left as it is.
    k : int
        Number of the step, for messages.
    length : float
        s.
    control, wrench : ndarray of float
        See `dynamics.kernels.stepping.run`, one row of each.
    accuracy : float or None

    Returns
    -------
    State

    Raises
    ------
    ConvergenceError
    """
    space, now = Workspace(model), state.copy()
    kernel, work, tables, now.memory = model.kernel, space.work, space.step_tables, None
    if accuracy is not None:
        limited = ErrorControl(model, accuracy)
        kernel, work, tables = limited.kernel, limited.work(space), limited.tables(space)
    info, totals = np.zeros(step_info.INFO_SIZE), np.zeros(run_totals.TOTALS_SIZE)
    record = np.empty((1, now.data.size + 2))
    totals[run_totals.END_TIME], totals[run_totals.RESUMED] = space.begin(now, info)
    done = kernel.simulate(
        *tables, length, model.settings, 1, 1, (0, control[None], wrench[None]), None,
        now.data, work, space.step_solver, (record, info, totals),
    )  # fmt: skip
    if not done:
        raise failure(model, int(info[step_info.STATUS]), k, state.time, info)
    now.time, now.interval = state.time + length, interval_of(info)
    return now


def controls_of_part(model: Model, control: Float, part: float) -> Float:
    """Controls at the nodes of a part of a step, of the polynomial through those of the step."""
    nodes = model.nodes
    if control.size == model.n_controls or nodes.size == 1:
        return control
    others = [np.delete(nodes, j) for j in range(nodes.size)]
    weights = [
        np.prod((part * nodes[:, None] - other) / (node - other), axis=1)
        for node, other in zip(nodes, others)
    ]
    return (np.transpose(weights) @ control.reshape(nodes.size, -1)).ravel()
