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
    """Poses of a file, its edges (i, j), X_i^-1 X_j as they saw it, and their information.

    Poses in the plane (SE2) become those of z = 0, where what they lack is 0 and of information 1;
    that of an angle counts for the quaternion's vector part, half as large.
    """
    lines = [line.split() for line in Path(path).read_text().splitlines()]
    flat = any(x[:1] == ["VERTEX_SE2"] for x in lines)
    of_node, of_edge = ("VERTEX_SE2", "EDGE_SE2") if flat else ("VERTEX_SE3:QUAT", "EDGE_SE3:QUAT")
    node = np.array([x[1:] for x in lines if x[:1] == [of_node]], float)
    edge = np.array([x[1:] for x in lines if x[:1] == [of_edge]], float)
    node = node[np.argsort(node[:, 0])]
    axes, numbers = ([0, 1, 5], 3) if flat else (range(6), 7)
    row, column = np.array(axes)[np.array(np.triu_indices(len(axes)))]
    information = np.tile(np.eye(6), (len(edge), 1, 1))
    information[:, row, column] = information[:, column, row] = edge[:, 2 + numbers :]
    if flat:
        information[:, 5] *= 2.0
        information[:, :, 5] *= 2.0
    return (
        _poses(node[:, 1:]),
        np.searchsorted(node[:, 0], edge[:, :2]).T,
        _poses(edge[:, 2 : 2 + numbers]),
        information,
    )


def _poses(x):
    """Poses of (x, y, angle) or of a place and a quaternion, scalar last as in the file."""
    if x.shape[1] == 3:
        place = np.column_stack([x[:, :2], np.zeros(len(x))])
        return pose(place, Rotation.from_euler("z", x[:, 2:]))
    return pose(x[:, :3], Rotation.from_quat(x[:, 3:]))


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
