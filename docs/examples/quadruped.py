"""A quadruped learns to trot: Algorithms 6 and 7 of Bruedigam et al. (2023), from standing still.

python docs/examples/quadruped.py [a1.urdf] [--plot docs/gallery/quadruped.png]
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np

import dynamics as dy


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


def main(path=None, episodes=100, seed=1, seconds=10.0):
    """What was learnt, the motion of the best gait."""
    robot = dy.load(path) if path else None
    model, state = dy.zoo.quadruped(robot, barrier=2e-5, contact_tolerance=2e-7)
    start = (0.1, 0.0, 1.0, 0.0, -1.5)
    found = dy.random_search(
        lambda p: walk(p, model, state, seconds)[0], start, episodes, seed=seed
    )
    return found, walk(found.parameters, model, state, seconds, every=1)[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("path", nargs="?"), parser.add_argument("--plot")
    chosen = parser.parse_args()
    learnt, best = main(chosen.path)
    print(f"{learnt.score:.2f} m in 10 s with {learnt.parameters.round(3)}")
    assert learnt.score > 12.0
    if chosen.plot:
        _, (one, two) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
        one.plot(learnt.scores, "."), one.step(range(len(learnt.best)), learnt.best, where="post")
        one.set(xlabel="episode", ylabel="walked in 10 s, m")
        for foot in best.contacts[:2]:
            two.plot(best.time[-200:], 1e3 * best.contact(foot).gap[-200:], label=foot)
        two.set(xlabel="time, s", ylabel="above ground, mm"), two.legend(), plt.savefig(chosen.plot)
