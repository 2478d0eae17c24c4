"""One simulation of many and what comes of it, wherever it runs: `Job`, `Rollout`."""

from __future__ import annotations

import pickle
import threading
import traceback
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.interrupts import Stop
from dynamics.kernels.base.lanes import LANES
from dynamics.kinematics.near_run import Part
from dynamics.simulation import Events, simulate
from dynamics.state import State
from dynamics.studies.lanes import simulate_in_lanes
from dynamics.studies.variation import carried, unknown_part, variant
from dynamics.tables.error_control import Event
from dynamics.tables.inputs import check_driven
from dynamics.trajectory import Trajectory

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = [
    "Found",
    "InterruptedJobError",
    "Job",
    "Rollout",
    "check_names",
    "result_of",
    "run_parcel",
]

Float = NDArray[np.float64]

#: Whose exceptions come back as they are.
KNOWN = ("builtins", "dynamics", "graphsys", "numpy")


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """One simulation of `rollouts`.

    Attributes
    ----------
    state : State
        Initial state.
    seconds : float
    controls, wrenches : array_like, optional
        As in `simulate`.
    controller : callable, optional
        ``controller(state, time)``, as in `simulate`.
    policy : callable, optional
        ``policy(model, rng)`` returns the controller; it is called where the job runs, with the
        random numbers of the job.
    parameters : mapping, optional
        Numbers of the mechanism that differ in this job: see `dynamics.variant`. Initial poses and
        velocities are kept.
    every : int, optional
        Steps between records.
    accuracy, events : optional
        As in `simulate`; ``trajectory.events`` lists the events. For processes, event functions
        must be picklable.
    seed : int, optional
        Seed of the job's random numbers; by default it follows from the seed of `rollouts` and the
        number of the job.
    """

    state: State
    seconds: float
    controls: ArrayLike | Mapping[Hashable, ArrayLike] | None = None
    wrenches: ArrayLike | Mapping[Hashable, ArrayLike] | None = None
    controller: Callable[..., Any] | None = None
    policy: Callable[..., Any] | None = None
    parameters: Mapping[Hashable, Any] | None = None
    every: int = 1
    accuracy: float | None = None
    events: Events | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Rollout:
    """Result of a job.

    Attributes
    ----------
    job : Job
    error : Exception or None
        A `ConvergenceError`, an exception of a controller (a `RuntimeError` with its text if its
        class is defined by the user, or for `sys.exit`), or the failure of a worker process.
    trajectory : Trajectory or None
        The motion, until the failure if there was one; None if it never started.
    """

    job: Job
    error: Exception | None = None
    trajectory: Trajectory | None = None

    def __repr__(self) -> str:
        if self.error is None:
            return f"Rollout({self.trajectory!r})"
        return f"Rollout(failed: {type(self.error).__name__}: {self.error})"

    @property
    def ok(self) -> bool:
        """True if the job was completed."""
        return self.error is None


def check_names(model: Model, job: Job) -> None:
    """Refuse names of a job that the model does not have."""
    if isinstance(job.controls, Mapping):
        check_driven(model, job.controls)
    for name in job.wrenches if isinstance(job.wrenches, Mapping) else ():
        model.body_number(name)
    mechanism = model.mechanism
    known: list[Container[Hashable]] = [
        mechanism.bodies, mechanism.joints, mechanism.springs, mechanism.contacts
    ]  # fmt: skip
    if model.near is not None:
        known.append(model.near.candidates.numbers)
    for name in job.parameters or ():
        if name != "gravity" and not any(name in parts for parts in known):
            raise unknown_part(model, name)


class InterruptedJobError(RuntimeError):
    """Error of a job that Ctrl-C ended."""


class Local:
    """Variant of a job in the process that made it; others get none, and make it again."""

    def __init__(self, model: Model | None = None) -> None:
        self.model = model

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return Local, ()


#: Variant, times, states, controls, what the run took, near pairs, intervals and events.
Record = tuple[Local, Float, Float, Float, dict[str, Any], tuple[Part, ...], Float, Sequence[Event]]
#: What comes back of a job: its error and its motion.
Found = tuple[Exception | None, Record | None]


def run_parcel(
    model: Model,
    parcel: Sequence[tuple[Job, list[int]]],
    stop: threading.Event | None = None,
    lanes: bool = False,
) -> list[Found]:
    """Run some jobs one after the other; an interrupt ends the rest, not what is done.

    Parameters
    ----------
    model : Model
    parcel : sequence of (Job, list of int)
        Each with the seed of its random numbers.
    stop : threading.Event, optional
        Ends runs in this thread, as Ctrl-C does in the main one.
    lanes : bool, optional
        Run eight of them side by side, those of one length without a controller or parameters.
    """
    found = dict[int, Found]()
    with Stop(stop):
        for numbers in _groups([job for job, _ in parcel], LANES if lanes else 1):
            group = [parcel[i] for i in numbers]
            if len(group) > 1:
                results, interrupted = _run_in_lanes(model, [job for job, _ in group])
            else:
                results, interrupted = _run_alone(model, *group[0])
            found |= zip(numbers, results)
            if interrupted:
                break
    rest = InterruptedJobError("interrupted before it began"), None
    return [found.get(i, rest) for i in range(len(parcel))]


def _groups(jobs: Sequence[Job], most: int) -> Iterator[list[int]]:
    """Numbers of jobs that may run in lanes together, and of each of the others."""
    alike: dict[tuple[float, int], list[int]] = {}
    for i, job in enumerate(jobs):
        others = job.controller, job.policy, job.parameters, job.accuracy, job.events
        if most == 1 or any(one is not None for one in others):
            yield [i]
        else:
            alike.setdefault((job.seconds, job.every), []).append(i)
    for numbers in alike.values():
        yield from (numbers[k : k + most] for k in range(0, len(numbers), most))


def _run_in_lanes(model: Model, jobs: Sequence[Job]) -> tuple[list[Found], bool]:
    """Errors and records of up to eight jobs alike, and whether an interrupt ended them."""
    starts = [pickle.loads(pickle.dumps((job.state, job.controls, job.wrenches))) for job in jobs]
    motions, interrupted = simulate_in_lanes(model, starts, jobs[0].seconds, jobs[0].every)
    found: list[Found] = []
    for error, motion in motions:
        known = None if error is None else _sendable(error)
        if interrupted and error is None:
            known = InterruptedJobError("interrupted before its end")
        found.append((known, None if motion is None else _record(motion)))
    return found, interrupted


def _run_alone(model: Model, job: Job, seed: list[int]) -> tuple[list[Found], bool]:
    """`_run` of one job, and whether an interrupt ended it."""
    try:
        return [_run(model, job, seed)], False
    except KeyboardInterrupt as error:
        before = getattr(error, "trajectory", None)
        record = None if before is None else _record(before)
        return [(InterruptedJobError("interrupted before its end"), record)], True


def _run(model: Model, job: Job, seed: list[int]) -> Found:
    """Error and record of one job; whatever goes wrong is a value, except for an interrupt."""
    try:
        state: State = pickle.loads(pickle.dumps(job.state))  # threads begin as processes do
        if job.parameters:
            other = variant(model, job.parameters)
            model, state = other, carried(model, state, other)
        controller = job.controller
        if job.policy is not None:
            controller = job.policy(model, np.random.default_rng(seed))
        motion = simulate(
            model, state, job.seconds, controller=controller, controls=job.controls,
            wrenches=job.wrenches, every=job.every, accuracy=job.accuracy, events=job.events,
        )  # fmt: skip
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # one job must not lose the others, nor must its `sys.exit`
        before = getattr(error, "trajectory", None)
        if before is not None:
            error.trajectory = None  # type: ignore[attr-defined]
        return _sendable(error), None if before is None else _record(before)
    return None, _record(motion)


def _sendable(error: BaseException) -> Exception:
    """The error, or its text where its class is not one that every process knows."""
    known = type(error).__module__.split(".")[0] in KNOWN
    if known and isinstance(error, Exception):
        return error
    made = RuntimeError(f"{type(error).__name__}: {error}")
    made.add_note("".join(traceback.format_exception(error)))
    return made


def _record(motion: Trajectory) -> Record:
    return (
        Local(motion.model), motion.time, motion.states, motion.controls, motion.info, motion.parts,
        motion.intervals, motion.events,
    )  # fmt: skip


def result_of(model: Model, job: Job, found: Found) -> Rollout:
    """Result of a job from what its worker sent back."""
    error, record = found
    if record is None:
        return Rollout(job, error)
    whose, made = model, record[0].model
    if job.parameters:  # without the memory of its run
        whose = variant(model, job.parameters) if made is None else made._replace()
    motion = Trajectory(whose, *record[1:5])
    motion.parts, motion.intervals, motion.events = record[5:]
    motion.controls_before = job.state.controls
    return Rollout(job, error, motion)
