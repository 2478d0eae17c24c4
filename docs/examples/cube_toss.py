"""System identification: friction of a cube on a table from recorded tosses, by gradients.

python docs/examples/cube_toss.py [--plot docs/gallery/cube_toss.png]
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares
from tossed_cube import cube, start
from tosses import AFTER, WIDTH, H, corners, read

import dynamics as dy

NUMBERS = [("table", "friction")]


def misses(guess, tosses):
    """Corners at the frames behind the first touch less recorded ones, in widths, and slopes."""
    model = dy.variant(cube(), {"table": {"friction": guess[0]}})
    errors, slopes = [], []
    for toss in tosses:
        first, last = toss.touch, min(toss.touch + AFTER, len(toss.position) - 1)
        found = dy.sensitivity(model, start(model, toss), last * H, NUMBERS)
        points, by_pose = corners(*found.motion.body("cube"))
        error = points - corners(toss.position, toss.orientation)[0][: last + 1]
        errors.append(error[first:].ravel() / WIDTH)
        slope = by_pose @ found.poses[:, 0][:, None]  # d corners / d pose, d pose / d number
        slopes.append(slope[first:].reshape(-1, len(NUMBERS)) / WIDTH)
    return np.concatenate(errors), np.concatenate(slopes)


def identify(tosses, guess=0.3):
    """Friction that fits best, far misses counting less."""
    return least_squares(
        lambda mu: misses(mu, tosses)[0], guess, lambda mu: misses(mu, tosses)[1],
        bounds=(0.02, 1.0), loss="soft_l1", f_scale=0.1, max_nfev=30,
    ).x[0]  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plot"), parser.add_argument("--data", type=Path)
    chosen = parser.parse_args()
    tosses = read(chosen.data)
    mu = identify(tosses)
    print(f"friction {mu:.3f}, from {len(tosses)} tosses")
    assert 0.15 < mu < 0.25
    model = dy.variant(cube(), {"table": {"friction": mu}})
    _, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
    for k, toss in enumerate(tosses[:4]):
        x = dy.simulate(model, start(model, toss), (len(toss.position) - 1) * H).body("cube")[0]
        time, color = H * np.arange(len(x)), f"C{k}"
        ax.plot(time, x[:, 2], color), ax.plot(time, toss.position[:, 2], color + ".", ms=3)
    ax.set(xlabel="time, s", ylabel="height of the centre, m (dots: recorded)")
    if chosen.plot:
        plt.savefig(chosen.plot)
