"""Largest gains of an exoskeleton that spare a spastic elbow: Bruedigam et al. 2023, Algorithm 8.

python docs/examples/exoskeleton.py [exoskeleton.urdf] [--plot docs/gallery/exoskeleton.png]
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np

import dynamics as dy

LIMIT, QUARTER = 5.0, 0.25 * np.pi  # comfortable torque of an elbow, N m; rad


def aims(time):
    """Wanted angles and rates of shoulder and elbow, one row an instant."""
    swing, rate = QUARTER * np.sin(time), QUARTER * np.cos(time)
    return np.stack([QUARTER + swing, -QUARTER + swing], 1), np.stack([rate, rate], 1)


def elbow_torque(scale, spastic, path=None, seconds=10.0):
    """Time, and torque of the exoskeleton's elbow in an exercise, N m."""
    robot = dy.load(path, base="fixed") if path else None
    model, state = dy.zoo.exoskeleton(robot, scale=scale, spastic=spastic)
    gains = scale * np.array([100.0, 50.0])
    angles, rates = aims(model.timestep * (np.arange(round(seconds / model.timestep)) + 0.5))
    motion = dy.simulate(model, state, seconds, controls=gains * angles + 0.1 * gains * rates)
    angles, rates = aims(motion.time)
    missed = angles[:, 1] - motion.joint("eFE"), rates[:, 1] - motion.joint_velocity("eFE")
    return motion.time, gains[1] * (missed[0] + 0.1 * missed[1])


def main(path=None):
    """Largest scale of the gains that keeps to the limit, by bisection; and all four torques."""
    low, high = 0.05, 1.0
    while high - low > 0.01:
        scale = 0.5 * (low + high)
        fits = np.abs(elbow_torque(scale, True, path)[1]).max() < LIMIT
        low, high = (scale, high) if fits else (low, scale)
    cases = [(scale, spastic) for scale in (1.0, low) for spastic in (False, True)]
    return low, {case: elbow_torque(*case, path) for case in cases}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="?"), parser.add_argument("--plot")
    chosen = parser.parse_args()
    tuned, torques = main(chosen.path)
    largest = {case: round(np.abs(run[1]).max().item(), 3) for case, run in torques.items()}
    for (gain, spasm), most in largest.items():
        print(f"gains x {gain:.2f}, {'spastic' if spasm else 'healthy'}: at most {most} N m")
    assert largest[1.0, False] < LIMIT < largest[1.0, True]
    assert max(largest[tuned, False], largest[tuned, True]) < LIMIT
    if chosen.plot:
        _, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
        for (gain, spasm), (time, torque) in torques.items():
            ax.plot(time, torque, label=f"gains x {gain:.2f}, {'spastic' if spasm else 'healthy'}")
        ax.axhspan(-LIMIT, LIMIT, alpha=0.1), ax.legend()
        ax.set(xlabel="time, s", ylabel="elbow torque, N m"), plt.savefig(chosen.plot)
