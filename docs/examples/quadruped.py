"""A quadruped learns to trot: Algorithms 6 and 7 of Bruedigam et al. (2023), from standing still.

python docs/examples/quadruped.py [a1.urdf] [--timestep 0.001] [--plot docs/gallery/quadruped.png]
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np

import dynamics as dy

START = (0.1, 0.0, 1.0, 0.0, -1.5)  # stands still
#: Parts of the time step at which a gait is tried again, and how much shorter or longer it may get.
PARTS, CHANGE = (2, 10), 0.1


def gait(parameters, timestep, seconds):
    """Controls of all steps: legs FR and RL move alike, FL and RR half a turn behind."""
    pace, thigh, thigh_rest, calf, calf_rest = parameters
    time = timestep * (np.arange(round(seconds / timestep)) + 0.5)[:, None]
    angle = 20.0 * np.pi * pace * time + np.pi * np.array([0, 1, 1, 0])
    target = np.zeros((len(time), 4, 3))
    target[:, :, 1] = thigh * np.cos(angle) + thigh_rest
    target[:, :, 2] = calf * np.sin(angle) + calf_rest
    return np.tile([100.0, 80.0, 60.0], 4) * target.reshape(len(time), 12)


def walk(parameters, model, state, seconds=10.0, every=10):
    """Metres walked along x, nan after a fall; and the motion."""
    controls = gait(parameters, model.timestep, seconds)
    motion = dy.simulate(model, state, seconds, controls=controls, every=every)
    place, turn = motion.body("trunk")
    upright = 1.0 - 2.0 * (turn[:, 1] ** 2 + turn[:, 2] ** 2)
    fell = upright.min() < 0.5 or place[:, 2].min() < 0.15
    return np.nan if fell else place[-1, 0] - place[0, 0], motion


def robots(path=None, timestep=0.005):
    """Model and start of the robot: at a time step, and at its `PARTS`."""
    return [
        dy.zoo.quadruped(
            dy.load(path) if path else None,
            timestep=timestep / part, barrier=2e-5, contact_tolerance=2e-7,
        )
        for part in (1, *PARTS)
    ]  # fmt: skip


def learn(robot, episodes=100, seed=0, seconds=10.0):
    """Algorithm 7. Steps after an improvement are longer than in the paper (0.01, 0.002, 0.9)."""
    return dy.random_search(
        lambda p: walk(p, *robot, seconds)[0],
        START, episodes, seed=seed, stride=0.05, noise=0.02, shrink=0.95,
    )  # fmt: skip


def holds(parameters, distance, finer, seconds=10.0):
    """Whether a gait walks as far at smaller time steps: if not, it lives on errors or on luck."""
    return all(
        abs(walk(parameters, *robot, seconds)[0] - distance) <= CHANGE * distance for robot in finer
    )


def choose(found, finer, seconds=10.0):
    """Parameters and distance of the gait that walks furthest of all tried ones that hold."""
    for k in np.argsort(np.where(np.isfinite(found.scores), -found.scores, np.inf)):
        if holds(found.tried[k], found.scores[k], finer, seconds):
            return found.tried[k], found.scores[k]
    raise ValueError("no gait holds at smaller time steps")


def main(path=None, timestep=0.005, seed=0):
    """Learn, choose, and print the gait with the digits that its replay needs; return all."""
    robot, *finer = robots(path, timestep)
    found = learn(robot, seed=seed)
    parameters, distance = choose(found, finer)
    print(f"{distance:.2f} m in 10 s, after {found.scores.size - 1} episodes, with")
    print(parameters.tolist())
    return found, distance, walk(parameters, *robot, every=1)[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="?"), parser.add_argument("--plot")
    parser.add_argument("--timestep", type=float, default=0.005)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    learnt, far, best = main(chosen.path, chosen.timestep, chosen.seed)
    assert far > 12.0
    if chosen.plot:
        _, (one, two) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
        one.plot(learnt.scores, "."), one.step(range(len(learnt.best)), learnt.best, where="post")
        one.set(xlabel="episode", ylabel="walked in 10 s, m")
        for foot in best.contacts[:2]:
            two.plot(best.time[-200:], 1e3 * best.contact(foot).gap[-200:], label=foot)
        two.set(xlabel="time, s", ylabel="above ground, mm")
        two.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
        plt.savefig(chosen.plot)
