"""Many simulations of one model at once, in threads, processes or on a cluster: `rollouts`.

Anything with the interface of `concurrent.futures.Executor` runs them; the results are the same
bit for bit, wherever they come from on machines of one kind. A job that fails is a result too.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.simulation import simulate
from dynamics.state import State
from dynamics.trajectory import Trajectory
from dynamics.variation import carried, variant

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = ["Job", "Rollout", "rollouts"]

Float = NDArray[np.float64]

#: Parcels that an executor gets for each of its workers: enough to even out slow jobs.
PARCELS = 4
#: Whose exceptions come back as they are.
KNOWN = ("builtins", "dynamics", "graphsys", "numpy")


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """One simulation.

    Attributes
    ----------
    state : State
        Where it starts.
    seconds : float
    controls, wrenches : array_like, optional
        As in `simulate`.
    controller : callable, optional
        ``controller(state, time)``, as in `simulate`.
    policy : callable, optional
        ``policy(model, rng)`` makes the controller where the job runs, with the job's own random
        numbers.
    parameters : mapping, optional
        Numbers of the mechanism that are other here: see `dynamics.variation.variant`. Poses and
        velocities at the start are kept.
    every : int, optional
        Steps between records.
    seed : int, optional
        Of the job's random numbers; by default one that follows from that of all jobs and the
        number of this one.
    """

    state: State
    seconds: float
    controls: ArrayLike | None = None
    wrenches: ArrayLike | None = None
    controller: Callable[..., Any] | None = None
    policy: Callable[..., Any] | None = None
    parameters: Mapping[Hashable, Any] | None = None
    every: int = 1
    seed: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Rollout:
    """What came of a job.

    Attributes
    ----------
    job : Job
    error : Exception or None
        What went wrong: a `ConvergenceError`, what a controller raised (a `RuntimeError` with its
        text where the class is the user's own), or that of a worker that died.
    trajectory : Trajectory or None
        The motion, up to where it failed; None where it never began.
    """

    job: Job
    error: Exception | None = field(default=None)
    trajectory: Trajectory | None = field(default=None, repr=False)

    @property
    def ok(self) -> bool:
        """Whether the job came to its end."""
        return self.error is None


#: Times, states, controls and what the run took.
Record = tuple[Float, Float, Float, dict[str, Any]]


def rollouts(
    model: Model,
    jobs: Iterable[Job],
    executor: Executor | None = None,
    *,
    threads: int | None = None,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> list[Rollout]:
    """Run many simulations of one model.

    Parameters
    ----------
    model : Model
    jobs : iterable of Job
    executor : concurrent.futures.Executor, optional
        Threads, processes, ``dask.distributed.Client(...).get_executor()``,
        ``mpi4py.futures.MPIPoolExecutor()``, ...; it is not shut down. Processes get the model
        pickled, and so must be able to import what controllers are made of.
    threads : int, optional
        Of the pool that runs the jobs where there is no executor; by default one a core, 1 is none
        at all. Simulations without a Python controller run side by side, as compiled code holds no
        lock; Python controllers take turns.
    seed : int, optional
        Random numbers of each job follow from it and the job's number.
    progress : callable, optional
        Called with the part of the jobs that is done.

    Returns
    -------
    list of Rollout
        In the order of the jobs; failures are among them.

    Raises
    ------
    TypeError
        Where a process needs the model, and it holds a Python function: see `Model`.
    ValueError
        For a number of threads below 1.

    Examples
    --------
    >>> results = dy.rollouts(model, [dy.Job(state, 10.0) for state in states])
    >>> [result.trajectory.energy()[-1] for result in results if result.ok]
    """
    todo = list(jobs)
    if executor is not None:
        return _spread(model, todo, executor, _workers(executor), seed, progress)
    count = _cores() if threads is None else threads
    if count < 1:
        raise ValueError(f"threads is {threads}, and must be at least 1")
    count = min(count, max(1, len(todo)))
    if count > 1:
        with ThreadPoolExecutor(count) as pool:
            return _spread(model, todo, pool, count, seed, progress)
    results = []
    for i, job in enumerate(todo):
        results.append(_result(model, job, _run(model, job, _seed(job, seed, i))))
        if progress is not None:
            progress((i + 1) / len(todo))
    return results


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _workers(executor: Executor) -> int:
    """Workers of an executor, where it says so."""
    for name in ("_max_workers", "max_workers", "num_workers"):
        count = getattr(executor, name, None)
        if isinstance(count, int) and count > 0:
            return count
    return _cores()


def _seed(job: Job, seed: int, number: int) -> list[int]:
    return [seed, number] if job.seed is None else [job.seed]


def _spread(
    model: Model,
    jobs: Sequence[Job],
    executor: Executor,
    workers: int,
    seed: int,
    progress: Callable[[float], None] | None,
) -> list[Rollout]:
    """Run parcels of jobs on an executor."""
    size = max(1, -(-len(jobs) // (PARCELS * workers)))
    waiting: dict[Future[Any], range] = {}
    results: list[Rollout | None] = [None] * len(jobs)
    for first in range(0, len(jobs), size):
        part = range(first, min(first + size, len(jobs)))
        parcel = [(jobs[i], _seed(jobs[i], seed, i)) for i in part]
        try:
            waiting[executor.submit(_parcel, model, parcel)] = part
        except RuntimeError as error:  # a pool that broke, or was shut down
            for i in part:
                results[i] = Rollout(jobs[i], error)
    done = sum(result is not None for result in results)
    for future in as_completed(waiting):
        part = waiting[future]
        try:
            records: list[Any] = future.result()
        except (TypeError, AttributeError) as error:  # of pickling: nothing has run
            _refuse(error)
            records = [(error, None)] * len(part)
        except Exception as error:  # of a worker that died
            records = [(error, None)] * len(part)
        for i, record in zip(part, records):
            results[i] = _result(model, jobs[i], record)
        done += len(part)
        if progress is not None:
            progress(done / len(jobs))
    return [result for result in results if result is not None]


def _refuse(error: Exception) -> None:
    """Raise what says that a model cannot be pickled: that is no fault of a job."""
    if "cannot be pickled" in str(error):
        raise error


def _parcel(
    model: Model, parcel: Sequence[tuple[Job, list[int]]]
) -> list[tuple[Exception | None, Record | None]]:
    """Run some jobs where the executor put them."""
    return [_run(model, job, seed) for job, seed in parcel]


def _run(model: Model, job: Job, seed: list[int]) -> tuple[Exception | None, Record | None]:
    """Error and record of one job; whatever goes wrong is a value."""
    try:
        state = job.state
        if job.parameters:
            other = variant(model, job.parameters)
            model, state = other, carried(model, state, other)
        controller = job.controller
        if job.policy is not None:
            controller = job.policy(model, np.random.default_rng(seed))
        motion = simulate(
            model, state, job.seconds, controller=controller, controls=job.controls,
            wrenches=job.wrenches, every=job.every,
        )  # fmt: skip
    except Exception as error:  # one job must not lose the others
        before = getattr(error, "trajectory", None)
        if before is not None:
            error.trajectory = None  # type: ignore[attr-defined]
        return _sendable(error), None if before is None else _record(before)
    return None, _record(motion)


def _sendable(error: Exception) -> Exception:
    """The error, or its text where its class is not one that every process knows."""
    if type(error).__module__.split(".")[0] in KNOWN:
        return error
    made = RuntimeError(f"{type(error).__name__}: {error}")
    made.add_note("".join(traceback.format_exception(error)))
    return made


def _record(motion: Trajectory) -> Record:
    return motion.time, motion.states, motion.controls, motion.info


def _result(model: Model, job: Job, found: tuple[Exception | None, Record | None]) -> Rollout:
    """The result of a job from what its worker sent back."""
    error, record = found
    if record is None:
        return Rollout(job, error)
    whose = variant(model, job.parameters) if job.parameters else model
    motion = Trajectory(whose, *record)
    return Rollout(job, error, motion)
