"""Many simulations of one model at once, in threads, processes or on a cluster: `rollouts`.

Anything with the interface of `concurrent.futures.Executor` runs them; the results are the same
bit for bit, wherever they come from on machines of one kind. A job that fails is a result too, and
neither a process that dies nor Ctrl-C loses what is done.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
    wait,
)
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dynamics.errors import UnknownNameError, check_model
from dynamics.kernels.base.jit import CHECKED
from dynamics.kernels.base.lanes import LANES
from dynamics.kinematics.lane_runs import check_lanes
from dynamics.studies.jobs import (
    Found,
    InterruptedJobError,
    Job,
    Rollout,
    check_names,
    result_of,
    run_parcel,
)

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = ["rollouts"]

#: Parcels that an executor gets for each of its workers: enough to even out slow jobs.
PARCELS = 4
#: Seconds in which processes that got Ctrl-C, too, may send what they have.
GRACE = 5.0

#: Jobs that were lost, by number, and why.
Lost = dict[int, Exception]


def rollouts(
    model: Model,
    jobs: Iterable[Job],
    executor: Executor | None = None,
    *,
    threads: int | None = None,
    lanes: bool = False,
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
        pickled, and must be able to import the functions of controllers. If a process dies, its
        jobs run once more, for a `ProcessPoolExecutor` in new processes; a job fails only if it
        kills its process twice.
    threads : int, optional
        Number of threads without an executor; by default one per core, with 1 no thread is started.
        Simulations without a Python controller run in parallel, because compiled code releases the
        GIL; Python controllers take turns.
    lanes : bool, optional
        Simulate eight jobs at once in each thread, one in each lane of the vector registers. This
        takes 0.3 to 0.5 of the time if contacts and limits seldom act. Jobs must have the same
        seconds and ``every``; those with a controller, policy, parameters, accuracy or events run
        one by one, and so do steps in which a contact or a limit may act in any of the eight.
        Results differ by rounding from those without lanes. The first call compiles for about 15 s.
        Under ``NUMBA_DISABLE_JIT`` and ``NUMBA_BOUNDSCHECK`` there are no lanes, and all jobs run
        one by one.
    seed : int, optional
        Seed from which, with the number of the job, the random numbers of each job follow.
    progress : callable, optional
        Called with the fraction of finished jobs.

    Returns
    -------
    list of Rollout
        In the order of the jobs; failed ones carry their error.

    Raises
    ------
    KeyboardInterrupt
        By Ctrl-C; ``error.rollouts`` is the list, in which unfinished jobs have an error.
    UnknownNameError
        For an unknown name among a job's controls, wrenches or parameters, before anything runs.
    TypeError
        If a job is not a `Job`, or a process needs the model, and it contains a Python function:
        see `Model`.
    ValueError
        For a number of threads below 1, and where the model cannot be simulated in lanes: with
        ``contacts="auto"``, Python functions, or of another order than 2.

    Examples
    --------
    >>> results = dy.rollouts(model, [dy.Job(state, 10.0) for state in states])
    >>> [result.trajectory.energy()[-1] for result in results if result.ok]
    """
    check_model(model, "rollouts")
    if isinstance(jobs, Job):
        raise TypeError("jobs is one job; give a list of them")
    todo = list(jobs)
    for k, job in enumerate(todo):
        if not isinstance(job, Job):
            raise TypeError(f"job {k} is a {type(job).__name__}; use dynamics.Job(state, seconds)")
        try:
            check_names(model, job)
        except UnknownNameError as error:
            raise UnknownNameError(f"job {k}: {error}") from None
    count = _cores() if threads is None else threads
    if count < 1:
        raise ValueError(f"threads is {threads}, and must be at least 1")
    if lanes:
        check_lanes(model)
    count = min(count, max(1, len(todo)))
    whole = _Ensemble(model, todo, seed, progress, lanes and not CHECKED)
    try:
        if executor is not None:
            whole.spread(executor, _workers(executor), None)
        elif count > 1:
            with ThreadPoolExecutor(count) as pool:
                whole.spread(pool, count, threading.Event())
        else:
            for part in whole.parts(1):
                parcel = [whole.job(i) for i in part]
                whole.keep(part, run_parcel(model, parcel, None, whole.lanes))
    except KeyboardInterrupt as error:
        error.rollouts = whole.rollouts()  # type: ignore[attr-defined]
        raise
    return whole.rollouts()


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


class _Ensemble:
    """Jobs of one model, and what came of them so far."""

    def __init__(
        self,
        model: Model,
        jobs: Sequence[Job],
        seed: int,
        progress: Callable[[float], None] | None,
        lanes: bool,
    ) -> None:
        self.model, self.jobs, self.seed, self.progress = model, jobs, seed, progress
        self.lanes = lanes
        self.results: list[Rollout | None] = [None] * len(jobs)
        self.done = 0

    def job(self, i: int) -> tuple[Job, list[int]]:
        """Job i and the seed of its random numbers."""
        job = self.jobs[i]
        return job, [self.seed, i] if job.seed is None else [job.seed]

    def parts(self, size: int) -> list[range]:
        """Numbers of jobs in parts of about a size, in lanes of a multiple of eight."""
        size = -(-size // LANES) * LANES if self.lanes else size
        every = range(len(self.jobs))
        return [every[k : k + size] for k in every[::size]]

    def keep(self, numbers: Sequence[int], found: Sequence[Found]) -> None:
        """Keep what came of some jobs; KeyboardInterrupt where an interrupt ended one of them."""
        for i, record in zip(numbers, found):
            self.results[i] = result_of(self.model, self.jobs[i], record)
        self.done += len(numbers)
        if any(isinstance(error, InterruptedJobError) for error, _ in found):
            raise KeyboardInterrupt
        if self.progress is not None:
            self.progress(self.done / len(self.jobs))

    def rollouts(self) -> list[Rollout]:
        """Results in the order of the jobs; one without any was interrupted."""
        return [
            Rollout(job, InterruptedJobError("interrupted before its end"))
            if result is None
            else result
            for job, result in zip(self.jobs, self.results)
        ]

    def spread(self, executor: Executor, workers: int, stop: threading.Event | None) -> None:
        """Run parcels of jobs on an executor; what is lost with a worker runs once more."""
        size = max(1, -(-len(self.jobs) // (PARCELS * workers)))
        lost = self._run(executor, self.parts(size), stop)
        if isinstance(executor, ProcessPoolExecutor):  # once broken, it accepts nothing
            again = [i for i, error in sorted(lost.items()) if isinstance(error, BrokenExecutor)]
            left = {*self._in_new_processes(executor, workers, again), *(lost.keys() - again)}
        else:
            left = {*self._run(executor, [[i] for i in sorted(lost)], stop)}
        for i in sorted(left):
            self.keep([i], [(lost[i], None)])

    def _run(
        self, executor: Executor, parcels: Sequence[Sequence[int]], stop: threading.Event | None
    ) -> Lost:
        """Run parcels on an executor; what was lost."""
        running: dict[Future[Any], Sequence[int]] = {}
        lost: Lost = {}
        more = stop, self.lanes  # events of threads alone: they cannot be pickled
        try:
            for part in parcels:
                try:
                    jobs = [self.job(i) for i in part]
                    running[executor.submit(run_parcel, self.model, jobs, *more)] = part
                except RuntimeError as error:  # a pool that broke, or was shut down
                    lost |= dict.fromkeys(part, error)
            for future in as_completed(list(running)):
                lost |= self._kept(future, running.pop(future))
        except KeyboardInterrupt:
            self._end(running, stop)
            raise
        return lost

    def _kept(self, future: Future[Any], part: Sequence[int]) -> Lost:
        """Keep what came of a parcel, or say why it was lost."""
        try:
            found = future.result()
        except (TypeError, AttributeError) as error:  # of pickling: nothing has run
            if "cannot be pickled" in str(error):  # the model, which is no fault of a job
                raise
            found = [(error, None)] * len(part)
        except Exception as error:  # of a worker that died
            return dict.fromkeys(part, error)
        self.keep(part, found)
        return {}

    def _end(self, running: dict[Future[Any], Sequence[int]], stop: threading.Event | None) -> None:
        """Stop what runs, cancel what has not begun, and keep what is there."""
        self.progress = None
        if stop is not None:
            stop.set()
        begun = {future: part for future, part in running.items() if not future.cancel()}
        wait(begun, GRACE if stop is None else None)
        for future, part in begun.items():
            if future.done():
                with suppress(Exception, KeyboardInterrupt):
                    self.keep(part, future.result())

    def _in_new_processes(
        self, broken: ProcessPoolExecutor, workers: int, again: Iterable[int]
    ) -> Lost:
        """Run jobs in pools like one that broke, no more at once than it has workers.

        Where such a pool breaks, one of the jobs that ran did it. Each of these then runs in a pool
        of its own, so that the others are not lost.
        """
        waiting, suspects = deque(again), list[int]()
        while waiting:
            suspects += self._one_by_one(_like(broken, workers), workers, waiting)
        lost: Lost = {}
        for i in suspects:
            lost |= self._one_by_one(_like(broken, 1), 1, deque([i]))
        return lost

    def _one_by_one(self, pool: Executor, workers: int, waiting: deque[int]) -> Lost:
        """Run jobs until none waits or the pool breaks; those that ran then."""
        running: dict[Future[Any], Sequence[int]] = {}
        lost: Lost = {}
        try:
            while running or (waiting and not lost):
                while waiting and not lost and len(running) < workers:
                    i = waiting.popleft()
                    try:
                        future = pool.submit(run_parcel, self.model, [self.job(i)])
                    except BrokenExecutor as error:
                        lost[i] = error
                    else:
                        running[future] = [i]
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    lost |= self._kept(future, running.pop(future))
        except KeyboardInterrupt:
            self._end(running, None)
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        return lost


def _like(pool: ProcessPoolExecutor, workers: int) -> ProcessPoolExecutor:
    """Another pool of processes, made as one that broke."""
    return ProcessPoolExecutor(
        workers,
        mp_context=getattr(pool, "_mp_context", None),
        initializer=getattr(pool, "_initializer", None),
        initargs=getattr(pool, "_initargs", ()),
    )
