"""Pose graphs for `pose_graph.py`: those of files in g2o format, and a helix of its own."""

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation


def pose(t, R):
    """Matrices [R t; 0 1], shape (n, 4, 4), of places (n, 3) and rotations."""
    X = np.tile(np.eye(4), (len(t), 1, 1))
    X[:, :3, :3], X[:, :3, 3] = R.as_matrix(), t
    return X


def moved(X, step):
    """Poses X after steps (v, w), shape (n, 6), in their own frames: X [exp(w) v; 0 1]."""
    return X @ pose(step[:, :3], Rotation.from_rotvec(step[:, 3:]))


def read(path):
    """Poses of a file, its edges (i, j), X_i^-1 X_j as they saw it, and their information."""
    lines = [line.split() for line in Path(path).read_text().splitlines()]
    node = np.array([x[1:] for x in lines if x[:1] == ["VERTEX_SE3:QUAT"]], float)
    edge = np.array([x[1:] for x in lines if x[:1] == ["EDGE_SE3:QUAT"]], float)
    node = node[np.argsort(node[:, 0])]
    row, column = np.triu_indices(6)
    information = np.empty((len(edge), 6, 6))
    information[:, row, column] = information[:, column, row] = edge[:, 9:]
    return (
        pose(node[:, 1:4], Rotation.from_quat(node[:, 4:])),  # scalar last, as in the file
        np.searchsorted(node[:, 0], edge[:, :2]).T,
        pose(edge[:, 2:5], Rotation.from_quat(edge[:, 5:9])),
        information,
    )


def helix(n=60, turn=12, sigma=0.02, seed=0):
    """Poses up a spiral ramp, each seeing the next one and the one a turn above; all with noise."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi / turn * np.arange(n)
    t = np.column_stack([5 * np.cos(angle), 5 * np.sin(angle), angle])
    X = pose(t, Rotation.from_euler("z", angle[:, None]))
    i, j = np.array([(k, k + d) for d in (1, turn) for k in range(n - d)]).T
    seen = moved(np.linalg.inv(X[i]) @ X[j], sigma * rng.standard_normal((i.size, 6)))
    start = X[:1]
    for k in range(n - 1):  # odometry: each pose from the one before
        start = np.concatenate([start, start[-1:] @ seen[k]])
    spread = sigma * np.repeat([1.0, 0.5], 3)  # a quaternion turns by half the angle
    return start, (i, j), seen, np.tile(np.diag(spread**-2), (i.size, 1, 1))
