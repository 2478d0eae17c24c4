"""Running a model: `simulate`."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.errors import InconsistentStateError, check_model
from dynamics.interrupts import Deferred, hand_on, in_portions
from dynamics.kernels.base import run_totals, step_info
from dynamics.kinematics.contact_queries import CONSISTENT, check_apart
from dynamics.kinematics.diagnosis import failure, warn_of_gain
from dynamics.kinematics.discrete_start import first_node
from dynamics.kinematics.event_location import (
    EventFunction,
    EventSearch,
    controls_of_part,
    event_functions,
    part_of_step,
)
from dynamics.kinematics.near_run import NearRun, chosen_parts, joined
from dynamics.kinematics.plane_placement import placed
from dynamics.kinematics.stiff_momenta import with_impulses
from dynamics.state import State, check_state, interval_of
from dynamics.tables import inputs
from dynamics.tables.callbacks import Callback
from dynamics.tables.error_control import ErrorControl, Event, check_accuracy
from dynamics.tables.model_tables import row_units
from dynamics.tables.workspace import Workspace
from dynamics.trajectory import Trajectory

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = ["check_start", "simulate"]

Float = NDArray[np.float64]
EventCallable = Callable[[float, State], float]
Events = EventCallable | Sequence[EventCallable] | Mapping[Hashable, EventCallable]

#: Numbers of states that the first portion of a run computes, in 1 to 10 ms.
PORTION = 20_000


def simulate(
    model: Model,
    state: State,
    seconds: float,
    *,
    controller: Callable[..., Any] | None = None,
    controls: ArrayLike | Mapping[Hashable, ArrayLike] | None = None,
    wrenches: ArrayLike | Mapping[Hashable, ArrayLike] | None = None,
    every: int = 1,
    start: str = "legendre",
    accuracy: float | None = None,
    events: Events | None = None,
    progress: bool | Callable[[float], None] = False,
    workspace: Workspace | None = None,
) -> Trajectory:
    """Simulate a motion and record its states.

    Without a controller the whole run is compiled code. Each call of a Python controller takes
    about 10 microseconds in addition to its own time.

    Parameters
    ----------
    model : Model
    state : State
        Initial state; not changed.
    seconds : float
        Duration, s, rounded to whole steps.
    controller : callable, optional
        ``controller(state, time)`` returns the controls of the step, shape (c,) or by name of
        joint or spring.
    controls : array_like, shape (c,), (steps, c) or (steps, len(model.nodes), c), or mapping
        Controls without a controller: constant, one row per step, or values at the times
        ``(k + model.nodes) timestep`` of each step k, which keep the order of the method for
        varying controls. Or by name of joint or spring with k coordinates: constant, a number or
        shape (k,), or per step, shape (steps,) or (steps, k); 0 for the others.
    wrenches : array_like, shape (6 n,) or (steps, 6 n), or mapping, optional
        External force (world, N) and torque (body frame, N m) on every body at its centre of mass,
        constant or per step; or by name of body, shape (6,) or (steps, 6).
    every : int, optional
        Steps between records.
    accuracy : float, optional
        Error that a second of motion may add to a position, m, and to an orientation, rad. Steps
        are then divided into intervals as needed, and an interval ends at each impact of a contact
        or limit: see docs/theory/error_control. Records and controls keep the times of the model's
        steps, which no interval exceeds.
    events : callable, or sequence or mapping of callables, optional
        ``event(time, state)`` returns a number. ``trajectory.events`` lists its zeros, with the
        place in the sequence or the key in the mapping as name. Two attributes are as in scipy's
        `solve_ivp`: with ``terminal`` True the motion ends at the first zero, with a count n at
        the n-th; ``direction`` above 0 selects zeros with rising values, below 0 with falling ones.
        Signs are compared at the ends of steps, so two zeros within a step are missed. A zero at
        the start is not an event. Times have the error of the method, or of the accuracy: see
        docs/theory/error_control.
    start : {"legendre", "discrete"}, optional
        Meaning of the initial velocities: those of the momenta (discrete Legendre transform), or
        those of the first interval as in the papers, ``x_1 = x_0 + h v_0`` (theory/step (11a)),
        which needs ``form="first order"``.
    progress : bool or callable, optional
        Show a progress bar, or a function that is called with the finished fraction.
    workspace : Workspace, optional
        One per thread, if several threads run the same model.

    Returns
    -------
    Trajectory
        The first state, every ``every``-th, and the one at which a terminal event ended the
        motion; with an accuracy or events also ``trajectory.events``.

    Raises
    ------
    ConvergenceError
        If the equations of a step could not be solved, or the shortest intervals did not reach the
        accuracy; ``error.trajectory`` is the motion before it. Exceptions of a controller or an
        event are raised again with the same attribute; a note names the event.
    KeyboardInterrupt
        By Ctrl-C in the main thread, within about 0.1 s or one step; ``error.trajectory`` is the
        motion before it. The model stays usable.
    InconsistentStateError
        If the first state violates the constraints: see `Model.assemble`.
    TypeError
        For an event that is not callable.
    ValueError
        For an invalid start, time or control, controls together with a controller, and tables with
        fewer rows than steps. For an accuracy that is not positive or below the tolerance of
        Newton's method. For an event function that returns no finite number. Models with
        ``form="first order"`` support neither accuracy nor events, those of `compose` no accuracy.
    """
    steps = count_steps(model, seconds, every)
    if accuracy is not None:
        check_accuracy(model, accuracy, start)
    functions = [] if events is None else event_functions(events)
    if functions and model.form != "second order":
        raise ValueError(
            'events need form="second order": a part of a step of the other form is of another '
            "motion"
        )
    if controller is not None and controls is not None:
        raise ValueError("controls are those of a controller, or given: leave out one of the two")
    if controller is not None and not model.n_controls:
        raise ValueError(
            "no joint takes controls, so the controller would not be called: give a joint "
            "actuated=True or a servo"
        )
    if controller is not None:
        inputs.check_function("controller", controller, "state, time")
    table, outside = tables_of_inputs(model, controls, wrenches, steps)
    put_in = table if controller is None else np.zeros((steps, model.n_controls))
    check_start(model, state)
    state = placed(model, state)
    if model.near is not None:
        return _through_near_models(
            model, state, steps, table, outside, controller, every, start, accuracy, functions,
            progress,
        )  # fmt: skip
    limited = None if accuracy is None else ErrorControl(model, accuracy)
    if limited is not None and limited.explicit is not None:
        state = with_impulses(model, state)
    given, first = [state], _is_discrete(model, start) and steps > 0
    if first:
        control = table[0]
        if controller is not None:
            control = put_in[0] = _asked(model, controller, state.copy())
        given.append(first_node(model, state, control, outside[0]))
        check_apart(model, given[1], CONSISTENT)
        table, outside = table[min(1, len(table) - 1) :], outside[min(1, len(outside) - 1) :]
    space = (model.workspace if workspace is None else workspace).free()
    kernel, work, tables = model.kernel, space.work, space.step_tables
    found: list[Event] = []
    used: Float | None = None
    if limited is not None:
        kernel, work, tables = limited.kernel, limited.work(space), limited.tables(space)
    stride, run_steps = (1, steps - 1) if first else (1 if functions else every, steps)
    record = np.empty((run_steps // stride, state.data.size + 2))
    call = None
    if controller is not None:
        table, used = np.zeros((1, model.n_controls)), put_in[int(first) :]
        call = _controller(
            model, controller, state, lambda data, time: _seen(model, data, time, info), used,
            put_in[0] if first else state.controls,
        )  # fmt: skip
    info, totals = np.zeros(step_info.INFO_SIZE), np.zeros(run_totals.TOTALS_SIZE)
    now = given[-1].copy()
    most = max(every, steps // 100 // every * every)

    def run(done: int, count: int) -> int:
        took = 0
        while took < count:
            took += int(kernel.simulate(
                *tables, model.timestep, model.settings, count - took, stride,
                (0 if call is None else call.address, table, outside), None, now.data, work,
                space.step_solver, (record, info, totals),
            ))  # fmt: skip
            if limited is None or limited.take_events(model, found):
                break
        return took

    def node(k: int) -> State:
        if k == 0:
            return state.copy()
        made = model.state_of(record[k - 1, :-2].copy(), state.time + k * model.timestep)
        made.interval = (float(record[k - 1, -2]), float(record[k - 1, -1]))
        made.controls = inputs.last_of(model, _row(table, used, k - 1))
        return made

    def part(k: int, length: float) -> State:
        row = controls_of_part(model, _row(table, used, k), length / model.timestep)
        wrench = outside[min(k, len(outside) - 1)]
        made = part_of_step(model, node(k), k, length, row, wrench, accuracy)
        made.controls = inputs.last_of(model, row)
        return made

    search = EventSearch(functions, model.timestep, run, node, part) if functions else None
    with Deferred() as deferred, space:
        totals[run_totals.END_TIME], totals[run_totals.RESUMED] = space.begin(now, info)
        info[step_info.REJECTED] = info[step_info.SHORTEST] = info[step_info.UNRESOLVED] = 0.0
        stopped = in_portions(
            deferred, run if search is None else search.advance, run_steps,
            _portion(now, accuracy if search is None else 1.0), 0 if progress is False else most,
            None if progress is False else lambda done: _show(progress, done, run_steps),
        )  # fmt: skip
        done = int(totals[run_totals.STEPS])
        record = record[: done // stride]
        states = np.concatenate([*(one.data[None] for one in given), record[:, :-2]])
        space.kick(states[len(given) :], -0.5)
        intervals = np.concatenate([[one.interval for one in given], record[:, -2:]])
        chosen, time = _records(state.time, model.timestep, len(states), (every, stride), search)
        ended = None if search is None else search.final
        if ended is not None:
            _end_bar(progress)
            states[-1], intervals[-1] = ended.data, ended.interval
        put_in = put_in if used is None else put_in[: max(1, done + first)]
        trajectory = Trajectory(model, time, states[chosen], put_in, summary_of(totals, done, info))
        trajectory.controls_before = state.controls
        trajectory.intervals, trajectory.events = intervals[chosen], _events(found, search)
        whole = done and (done + first) % every == 0 and info[step_info.STATUS] == 0.0
        if whole and ended is None and (limited is None or limited.explicit is None):
            last = trajectory.final
            kicked = now.data if space.first_order else None
            trajectory.memory = space.memory(last, kicked, float(totals[run_totals.END_TIME]), info)
        beyond = int(totals[run_totals.FIRST_UNEXPLAINED])
        if beyond and stopped is None:
            gain = max(totals[run_totals.MOST_WORK], info[step_info.LARGEST_RISE])
            warn_of_energy(trajectory, beyond + first, every, float(gain))
        warn_of_contacts(trajectory)
        if stopped is None and done < run_steps and ended is None:
            stopped = _failure(model, call, done, totals, info)
    hand_on(deferred, stopped, trajectory)
    return trajectory


def _through_near_models(
    model: Model,
    state: State,
    steps: int,
    table: Float,
    outside: Float,
    controller: Callable[..., Any] | None,
    every: int,
    start: str,
    accuracy: float | None,
    functions: list[EventFunction],
    progress: bool | Callable[[float], None],
) -> Trajectory:
    """`simulate` of a model that finds its contacts, from one near model to the next."""
    assert model.near is not None
    _is_discrete(model, start)
    call = None
    used: Float | None = None
    if controller is not None:
        table, used = np.zeros((1, model.n_controls)), np.zeros((steps, model.n_controls))
        call = _controller(
            model, controller, state, lambda data, time: run.seen(time), used, state.controls
        )
    given = 0 if call is None else call.address, table, outside
    run = NearRun(model.near, state, 1 if functions else every, given, accuracy)

    def node(k: int) -> State:
        made = run.seen(state.time + k * model.timestep)
        made.controls = (
            state.controls if k == 0 else inputs.last_of(model, _row(table, used, k - 1))
        )
        return made

    def part(k: int, length: float) -> State:
        row, wrench = _row(table, used, k), outside[min(k, len(outside) - 1)]
        made = run.part(k, state.time + k * model.timestep, length, row, wrench)
        made.controls = inputs.last_of(model, row)
        return made

    search = EventSearch(functions, model.timestep, run.advance, node, part) if functions else None
    most = max(every, steps // 100 // every * every)
    with Deferred() as deferred, run:
        stopped = in_portions(
            deferred, run.advance if search is None else search.advance, steps,
            _portion(run.state, accuracy if search is None else 1.0),
            0 if progress is False else most,
            None if progress is False else lambda done: _show(progress, done, steps),
        )  # fmt: skip
        done, totals, info = int(run.totals[run_totals.STEPS]), run.totals, run.info
        ended = None if search is None else search.final
        if ended is not None:
            _end_bar(progress)
            run.end(ended)
        count = sum(len(part.states) for part in run.parts)
        chosen, time = _records(state.time, model.timestep, count, (every, run.every), search)
        parts = joined(run.parts)
        if search is not None:
            parts = chosen_parts(parts, chosen)
        columns = [model.near.of(part.pairs).columns for part in parts]
        states = np.concatenate([part.states[:, at] for part, at in zip(parts, columns)])
        put_in = table if used is None else used[: max(1, done)]
        trajectory = Trajectory(model, time, states, put_in, summary_of(totals, done, info))
        trajectory.controls_before = state.controls
        trajectory.parts, trajectory.intervals = parts, np.concatenate(run.intervals)[chosen]
        trajectory.events = _events(run.events, search)
        if done and done % every == 0 and info[step_info.STATUS] == 0.0 and ended is None:
            trajectory.memory = run.whole(float(time[-1])).memory
        beyond = int(totals[run_totals.FIRST_UNEXPLAINED])
        if beyond and stopped is None:
            gain = max(totals[run_totals.MOST_WORK], info[step_info.LARGEST_RISE])
            warn_of_energy(trajectory, beyond, every, float(gain))
        warn_of_contacts(trajectory)
        if stopped is None and done < steps and ended is None:
            stopped = _failure(model.near.named(run.near), call, done, totals, info)
    hand_on(deferred, stopped, trajectory)
    return trajectory


def _portion(state: State, accuracy: float | None) -> int:
    """Steps of the first portion of a run: one where any number of intervals may follow."""
    return PORTION // state.data.size if accuracy is None else 1


def _events(found: list[Event], search: EventSearch | None) -> list[Event]:
    """Events of contacts and of functions, in the order of time, until the motion ends."""
    if search is not None:
        end = math.inf if search.final is None else search.final.time
        found = [event for event in found if event.time <= end] + search.events
    return sorted(found, key=lambda event: event.time)


def _records(
    start: float, timestep: float, count: int, steps: tuple[int, int], search: EventSearch | None
) -> tuple[NDArray[np.int64], Float]:
    """Numbers and times of the records that a trajectory has, out of a count of them.

    ``steps`` are those from one to the next, and those from record to record. An end is one more.
    """
    every, stride = steps
    chosen = np.arange(0, count, every // stride)
    ended = None if search is None else search.final
    if ended is not None and chosen[-1] != count - 1:
        chosen = np.append(chosen, count - 1)
    time = start + timestep * every * np.arange(len(chosen), dtype=float)
    if ended is not None:
        time[-1] = ended.time
    return chosen, time


def summary_of(totals: Float, done: int, info: Float) -> dict[str, Any]:
    """Summary of a run, see `Trajectory.info`."""
    names = ["iterations", "intervals", "most_iterations", "most_intervals", "factorizations"]
    names += ["softened", "less_friction"]
    what: dict[str, Any] = dict(
        zip(names, totals[run_totals.TOTAL_ITERATIONS : run_totals.STEPS].astype(int).tolist())
    )
    if info[step_info.SHORTEST] > 0.0:
        what["rejected_intervals"] = int(info[step_info.REJECTED])
        what["shortest_interval"] = float(info[step_info.SHORTEST])
        what["unresolved_impacts"] = int(info[step_info.UNRESOLVED])
    what["unexplained_energy"] = float(totals[run_totals.MOST_WORK])
    what["accumulated_energy"] = float(info[step_info.LARGEST_RISE])
    return {"steps": done, "intervals_per_step": what["intervals"] / max(1, done)} | what


def warn_of_energy(trajectory: Trajectory, step: int, every: int, work: float) -> None:
    """Warn of energy that appears first in a step, counted from 1."""
    record = min(-(-step // every), len(trajectory) - 1)
    now, before = trajectory.twists[record], trajectory.twists[max(0, record - 1)]
    time = float(trajectory.time[0]) + (step - 1) * trajectory.model.timestep
    warn_of_gain(trajectory.model, work, time, now, before)


def warn_of_contacts(trajectory: Trajectory) -> None:
    """Warn of steps with less friction, and of impacts that no length resolves."""
    less = trajectory.info["less_friction"]
    if less:
        warnings.warn(
            f"{less} of {trajectory.info['steps']} steps were solved with less friction, as they "
            "could not be solved otherwise: a body may be wedged between others; see "
            'motion.info["less_friction"]',
            RuntimeWarning,
            stacklevel=4,
        )
    count = trajectory.info.get("unresolved_impacts", 0)
    if count:
        warnings.warn(
            f"{count} impacts are not known to the accuracy: where several contacts close at once, "
            "velocities depend on their order, however short the intervals are; see "
            'motion.info["unresolved_impacts"]',
            RuntimeWarning,
            stacklevel=4,
        )


def _failure(
    model: Model, call: Callback | None, done: int, totals: Float, info: Float
) -> BaseException:
    """Reason why a run ended early: an exception of a user's function, or a step not solved."""
    try:
        if call is not None:
            call.reraise()
        bad = int(info[step_info.STATUS])
        if bad == 0:
            return RuntimeError(
                f"step {done}: the controller was stopped before it began, by an exception that "
                "Python printed above: a signal handler other than that of Ctrl-C raised it"
            )
        return failure(model, bad, done, float(totals[run_totals.END_TIME]), info)
    except BaseException as error:
        return error


def _is_discrete(model: Model, start: str) -> bool:
    """True if velocities are to be those of the first interval."""
    if start not in ("legendre", "discrete"):
        raise ValueError(f'start {start!r} is unknown; use "legendre" or "discrete"')
    if start == "discrete" and model.form != "first order":
        raise ValueError('start="discrete" is the papers\' own; it needs form="first order"')
    return start == "discrete"


def count_steps(model: Model, seconds: float, every: int) -> int:
    """Steps of a simulation.

    Parameters
    ----------
    model : Model
    seconds : float
        Rounded to whole steps.
    every : int
        Steps between records, of which steps are a multiple.

    Returns
    -------
    int

    Raises
    ------
    TypeError, ValueError
        For numbers that make no sense.
    """
    check_model(model, "simulate")
    if not isinstance(every, (int, np.integer)):
        raise TypeError(f"every is {every!r}, and must be an integer")
    if not isinstance(seconds, (int, float, np.number)):
        raise TypeError(f"seconds is {seconds!r}, and must be a number")
    if not (math.isfinite(seconds) and seconds >= 0.0):
        raise ValueError(f"seconds is {seconds}, and must be finite and not negative")
    if every < 1:
        raise ValueError(f"every is {every}, and must be at least 1")
    steps = seconds / model.timestep
    if 0.0 < steps < every * (1.0 - 1e-6):
        what = "one step" if every == 1 else f"the {every} steps from record to record"
        raise ValueError(
            f"seconds is {seconds}, less than {what} of {model.timestep} s; give more of them, or "
            "finalize the mechanism with a smaller timestep"
        )
    return round(steps / every) * every


def tables_of_inputs(model: Model, controls: Any, wrenches: Any, steps: int) -> tuple[Float, Float]:
    """Controls and wrenches of `simulate` as tables of one row for each step, or one for all."""
    table = np.zeros((1, model.n_controls))
    if controls is not None:
        table = inputs.controls_table(model, controls)
        names = ", ".join(map(repr, model.tables.control_start))
        _check_length(table, f"controls of {names}", steps)
    outside = np.zeros((1, 0))
    if isinstance(wrenches, Mapping):
        outside = inputs.wrenches_table(model, wrenches)
        _check_length(outside, "wrenches", steps)
    elif wrenches is not None:
        outside = np.atleast_2d(np.array(wrenches, np.float64, order="C"))
        if outside.shape[1] != 6 * model.n_bodies or not np.isfinite(outside).all():
            raise ValueError(f"wrenches must be finite, {6 * model.n_bodies} a step")
        _check_length(outside, "wrenches", steps)
    return table, outside


def _check_length(table: Float, what: str, steps: int) -> None:
    if 1 < len(table) < steps:
        raise ValueError(
            f"{what} have {len(table)} rows for {steps} steps: give a row a step, or one for all"
        )


def check_start(model: Model, state: State) -> None:
    """Refuse a first state that no motion can begin with."""
    check_state(model, state, begins=True)
    if not np.isfinite(state.data).all():
        raise ValueError("the state holds numbers that are not finite")
    if model.n_rows:
        g = np.abs(model.constraint_violation(state))
        units = row_units(model.tables)
        row = int(np.argmax(units * g))
        if units[row] * g[row] > CONSISTENT and not model.soft:
            k = int(np.searchsorted(model.tables.row_start, row, side="right")) - 1
            raise InconsistentStateError(
                f"joint {list(model.tables.joint_index)[k]!r} is open by {g[row]:.2e} at the "
                "start; use model.assemble(state), set the joint's coordinates, or move a whole "
                "robot by model.set_body(state, name, ..., carry=True)"
            )
    if model.near is None:
        check_apart(model, state, CONSISTENT)
    else:
        entry = model.near.entry(state)
        check_apart(entry.near.model, entry.state, CONSISTENT)


def _row(table: Float, used: Float | None, k: int) -> Float:
    """Controls of a step, from a controller or from a table whose last row is repeated."""
    rows = table if used is None else used
    found: Float = rows[min(k, len(rows) - 1)]
    return found


def _seen(model: Model, data: Float, time: float, info: Float) -> State:
    """State as a controller sees it: the numbers themselves."""
    now = model.state_of(data, time)
    now.interval = interval_of(info)
    return now


def _asked(model: Model, controller: Callable[..., Any], state: State) -> Float:
    """Controls that a controller gives at a state."""
    given = controller(state, state.time)
    if given is None:
        raise ValueError("the controller returned None; it must return the controls")
    return inputs.controls_of(model, given)


def _controller(
    model: Model,
    controller: Callable[..., Any],
    state: State,
    seen: Callable[[Float, float], State],
    used: Float,
    before: Float | None,
) -> Callback:
    """Callback of a controller; a row of ``used`` gets its controls of each step."""
    names, step = model.n_controls, itertools.count()

    def call(time: Float, data: Float, control: Float) -> None:
        now, k = seen(data, float(time[0])), next(step)
        now.controls = before if k == 0 else used[k - 1].copy()
        control[:] = used[k] = _asked(model, controller, now)

    return Callback(call, ((1,), (state.data.size,), (names,)))


def _end_bar(progress: Any) -> None:
    """Leave the line of a bar that a terminal event stopped."""
    if progress is True:
        print()


def _show(progress: Any, done: int, steps: int) -> None:
    if callable(progress):
        progress(done / steps)
        return
    part = round(40 * done / steps)
    end = "\n" if done == steps else "\r"
    print(f"[{'#' * part}{'.' * (40 - part)}] {100 * done // steps} %", end=end, flush=True)
