"""Many simulations at once: what threads gain, and what a job costs beside its steps."""

import os
import time

import numpy as np

import dynamics as dy


def pendulums(count, seconds):
    """Double pendulums with random starts."""
    model, still = dy.zoo.double_pendulum()
    rng = np.random.default_rng(0)
    jobs = []
    for _ in range(count):
        state = still.copy()
        for i in range(2):
            model.set_joint(state, ("joint", i), *rng.normal(size=2))
        jobs.append(dy.Job(state, seconds, every=10))
    return model, jobs


def fastest(model, jobs, threads, rounds):
    """Least seconds of some rounds: what else runs on the machine only adds to them."""
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        dy.rollouts(model, jobs, threads=threads)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


class DoublePendulums:
    params = [1, 2]
    param_names = ("threads",)
    timeout = 300

    def setup(self, threads):
        self.model, self.jobs = pendulums(256, 10.0)
        dy.rollouts(self.model, self.jobs[:4], threads=threads)

    def time_256_jobs_of_1000_steps(self, threads):
        dy.rollouts(self.model, self.jobs, threads=threads)


def exoskeletons(count, seconds):
    """Exoskeletons with other torques."""
    model, state = dy.zoo.exoskeleton()
    rng = np.random.default_rng(0)
    torques = 0.1 * rng.normal(size=(count, model.n_controls))
    return model, [dy.Job(state, seconds, controls=one, every=10) for one in torques]


class Lanes:
    """Eight simulations at once in vector registers, and one after another."""

    params = [["double pendulum", "exoskeleton"], [False, True]]
    param_names = ("mechanism", "lanes")
    timeout = 300

    def setup(self, mechanism, lanes):
        make = pendulums if mechanism == "double pendulum" else exoskeletons
        self.model, self.jobs = make(64, 2.0)
        dy.rollouts(self.model, self.jobs[:8], threads=1, lanes=lanes)

    def time_64_jobs_of_2_seconds(self, mechanism, lanes):
        dy.rollouts(self.model, self.jobs, threads=1, lanes=lanes)


class Overhead:
    def setup(self):
        self.model, self.jobs = pendulums(256, 0.01)
        dy.rollouts(self.model, self.jobs, threads=1)

    def time_256_jobs_of_one_step(self):
        dy.rollouts(self.model, self.jobs, threads=1)


class Gain:
    timeout = 300

    def setup(self):
        self.model, self.jobs = pendulums(256, 10.0)
        dy.rollouts(self.model, self.jobs[:4], threads=2)

    def track_gain_of_two_threads(self):
        if (os.cpu_count() or 1) < 2:
            raise NotImplementedError("one core")
        one, two = (fastest(self.model, self.jobs, threads, 3) for threads in (1, 2))
        return one / two

    track_gain_of_two_threads.unit = "time with one thread over that with two"
