"""Recorded tosses of a cube: see `cube_toss.py`."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynamics import rotation

H, WIDTH, AFTER = 1.0 / 148.0, 0.1048, 45  # s a frame, m, frames behind the first touch
UNIT = 0.5 * WIDTH / 0.979  # m: a cube at rest stands 0.979 units high
CORNERS = 0.5 * WIDTH * np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T


@dataclass
class Toss:
    """Positions, orientations, the frame of the first touch, and velocities at the start."""

    position: np.ndarray
    orientation: np.ndarray

    def __post_init__(self):
        low = corners(self.position, self.orientation)[0][..., 2].min(axis=1)
        self.touch = int(np.argmax(low < 0.003))
        self.free = min(self.touch - 1, 10)  # frames that the start is fitted to


def corners(x, q):
    """Corners of cubes, shape (k, 8, 3), and their slopes by poses, (k, 8, 3, 6)."""
    turn = np.moveaxis([rotation.rotate(q, axis) for axis in np.eye(3)], 0, -1)
    arms = np.cross(np.eye(3)[None], CORNERS[:, None])  # (8, 3, 3): axis of the turn, e x c
    by_turn = np.einsum("kij,caj->kcia", turn, arms)
    by_place = np.broadcast_to(np.eye(3), by_turn.shape)
    points = x[:, None] + np.einsum("kij,cj->kci", turn, CORNERS)
    return points, np.concatenate([by_place, by_turn], axis=-1)


def read(folder=None):
    """Tosses of the file beside this one, or all of a folder of the published tables."""
    if folder:
        tables = [np.loadtxt(path, delimiter=",") for path in sorted(Path(folder).glob("*.csv"))]
    else:
        rows = np.loadtxt(Path(__file__).with_name("cube_tosses.csv"), delimiter=",")
        tables = [rows[rows[:, 0] == k, 1:] for k in np.unique(rows[:, 0])]
    return [Toss(UNIT * one[:, :3], rotation.normalized(one[:, 3:7])) for one in tables]
