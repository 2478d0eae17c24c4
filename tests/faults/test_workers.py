"""Processes and threads that run jobs: whoever dies or is stopped, what is done is kept."""

import os
import signal
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import dynamics as dy
from dynamics.studies.jobs import InterruptedJobError
from dynamics.zoo import cart_pole

from .interrupting import interrupted


def push(state, time):
    return [0.1]


class Kills:
    """Controller that kills its process at the start of a job: always, or once per file."""

    def __init__(self, once=None):
        self.once = once

    def __call__(self, state, time):
        if self.once is not None:
            if self.once.exists():
                return [0.1]
            self.once.touch()
        os.kill(os.getpid(), signal.SIGKILL)


class Announces:
    """Controller that writes a file when its job begins."""

    def __init__(self, file):
        self.file, self.running = file, False

    def __call__(self, state, time):
        if not self.running:
            self.file.touch()
            self.running = True
        return [0.1]


def jobs_of(count, seconds=0.05):
    model, state = cart_pole()
    dy.simulate(model, state, 0.05, controller=push)  # compiled before processes fork
    jobs = []
    for k in range(count):
        start = state.copy()
        model.set_joint(start, "hinge", 0.01 * k)
        jobs.append(dy.Job(start, seconds, controller=push))
    return model, jobs


@pytest.fixture
def processes():
    # a server without threads imports once what its forks need
    context = get_context("forkserver")
    context.set_forkserver_preload(["dynamics.studies.ensemble", "dynamics.model", __name__])
    # what runs the tests in the background may have them ignore SIGINT, which children inherit
    handle = signal.SIGINT, signal.default_int_handler
    with ProcessPoolExecutor(2, context, signal.signal, handle) as pool:
        yield pool


def same(results, expected):
    for result, one in zip(results, expected):
        assert result.ok, result.error
        assert np.array_equal(result.trajectory.states, one.trajectory.states)


def with_controller(job, controller):
    return dy.Job(job.state, job.seconds, controller=controller)


def test_a_process_that_is_killed_loses_no_job(processes, tmp_path):
    model, jobs = jobs_of(16)
    expected = dy.rollouts(model, jobs, threads=1)
    jobs[5] = with_controller(jobs[5], Kills(tmp_path / "killed"))

    results = dy.rollouts(model, jobs, processes)

    assert (tmp_path / "killed").exists()
    same(results, expected)


def test_only_the_job_that_kills_its_process_again_and_again_fails(processes):
    model, jobs = jobs_of(12)
    expected = dy.rollouts(model, jobs, threads=1)
    jobs[5] = with_controller(jobs[5], Kills())

    results = dy.rollouts(model, jobs, processes)

    assert [result.ok for result in results] == [k != 5 for k in range(12)]
    assert "terminated abruptly" in str(results[5].error)
    same(results[:5] + results[6:], expected[:5] + expected[6:])


def leave(model, rng):
    sys.exit("out of here")


@pytest.mark.parametrize("threads", [1, 2])
def test_sys_exit_in_a_policy_ends_its_job_alone(threads):
    model, jobs = jobs_of(6)
    expected = dy.rollouts(model, jobs, threads=1)
    jobs[3] = dy.Job(jobs[3].state, 0.05, policy=leave)

    results = dy.rollouts(model, jobs, threads=threads)

    assert [result.ok for result in results] == [k != 3 for k in range(6)]
    assert str(results[3].error) == "SystemExit: out of here"
    same(results[:3] + results[4:], expected[:3] + expected[4:])


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_keeps_what_is_finished(threads):
    model, jobs = jobs_of(8)
    expected = dy.rollouts(model, jobs[:4], threads=1)
    long = [dy.Job(job.state, 20_000.0) for job in jobs[4:]]
    before = threading.active_count()
    start = time.perf_counter()

    with interrupted(0.5) as caught:
        dy.rollouts(model, jobs[:4] + long, threads=threads)

    assert time.perf_counter() - start < 5.0
    results = caught.value.rollouts
    assert len(results) == 8
    same(results[:4], expected)
    assert all(isinstance(result.error, InterruptedJobError) for result in results[4:])
    assert "interrupted before" in str(results[-1].error)
    assert results[4].trajectory is not None and len(results[4].trajectory) > 1
    assert threading.active_count() <= before
    same(dy.rollouts(model, jobs[:4], threads=threads), expected)


def test_an_interrupt_of_a_process_keeps_what_it_has_finished(processes, tmp_path):
    model, jobs = jobs_of(8)
    expected = dy.rollouts(model, jobs[:6], threads=1)
    files = [tmp_path / "6", tmp_path / "7"]
    jobs[6:] = [
        dy.Job(job.state, 5_000.0, controller=Announces(file)) for job, file in zip(jobs[6:], files)
    ]

    def interrupt_all():  # as a terminal does
        while not all(file.exists() for file in files):  # both jobs run
            time.sleep(0.05)
        for pid in processes._processes:
            os.kill(pid, signal.SIGINT)

    threading.Thread(target=interrupt_all, daemon=True).start()
    with pytest.raises(KeyboardInterrupt) as caught:
        dy.rollouts(model, jobs, processes)

    same(caught.value.rollouts[:6], expected)
    assert [result.ok for result in caught.value.rollouts[6:]] == [False, False]
