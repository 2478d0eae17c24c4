"""Many simulations: what threads and vector lanes gain, and what a job costs apart from its steps.

``python -m benchmarks.rollouts [mechanism ...]`` in ``asv_benchmarks`` prints, for eight
simulations of 400 steps, microseconds per step one after another and in lanes, and how many steps
were taken in lanes. Robots of gymnasium are in the air.
"""

import argparse
import os
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import dynamics as dy
from dynamics.kinematics.lane_runs import LaneRuns

#: Files of robots in gymnasium.
ROBOTS = {"half cheetah": "half_cheetah", "humanoid": "humanoid"}
STEPS = 400


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


def robots(name):
    """Eight robots in the air, with their limits, under other controls."""
    spec = find_spec("gymnasium")
    if spec is None:
        raise NotImplementedError("gymnasium is not installed")
    path = Path(spec.origin).parent / "envs" / "mujoco" / "assets" / f"{ROBOTS[name]}.xml"
    model = dy.load(path).finalize(0.005)
    controls = 0.1 * np.random.default_rng(0).uniform(-1.0, 1.0, size=(8, model.n_controls))
    state = model.initial_state()
    for joint in model.mechanism.joints.values():  # between its limits
        if joint.limits is not None and joint.n_coordinates == 1:
            model.set_joint(state, joint.name, float(np.mean(joint.limits)))
    seconds = STEPS * model.timestep
    return model, [dy.Job(state, seconds, controls=one, every=10) for one in controls]


def chains(count):
    """Eight chains of spherical joints, each alike."""
    model, state = dy.zoo.sphere_chain(count)
    return model, [dy.Job(state, STEPS * model.timestep, every=10) for _ in range(8)]


MECHANISMS = {
    "double pendulum": lambda: pendulums(8, STEPS * 0.01),
    "exoskeleton": lambda: exoskeletons(8, STEPS * 0.005),
    **{name: lambda name=name: robots(name) for name in ROBOTS},
    "chain of 10": lambda: chains(10),
    "chain of 50": lambda: chains(50),
    "chain of 200": lambda: chains(200),
}


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


def compared(model, jobs, rounds=5):
    """Least seconds one after another and in lanes, in turns, and steps in lanes."""
    taken, advance = [], LaneRuns.advance

    def counted(self, *arguments):
        advance(self, *arguments)
        taken.append(self.together)

    LaneRuns.advance = counted
    times = {False: [], True: []}
    for _ in range(rounds):
        for lanes, seconds in times.items():
            start = time.perf_counter()
            dy.rollouts(model, jobs, threads=1, lanes=lanes)
            seconds.append(time.perf_counter() - start)
    LaneRuns.advance = advance
    return min(times[False]), min(times[True]), taken[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mechanisms", nargs="*", default=list(MECHANISMS))
    for name in parser.parse_args().mechanisms:
        model, jobs = MECHANISMS[name]()
        one, lanes, taken = compared(model, jobs)
        steps = 1e6 / (len(jobs) * STEPS)
        print(
            f"{name}: {one * steps:.2f} us, in lanes {lanes * steps:.2f} us, {lanes / one:.2f}; "
            f"{taken} of {STEPS} steps in lanes"
        )


if __name__ == "__main__":
    main()
