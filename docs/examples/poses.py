"""Poses [R t; 0 1] as matrices: steps, errors of what is seen, and a helix; for `pose_graph.py`."""

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


def hat(a):
    """Matrices of the products a x b, shape (m, 3, 3)."""
    return np.cross(np.eye(3), a[:, None])


def errors(X, i, j, seen):
    """Errors, shape (m, 6), and slopes in the steps `moved` of X_i and X_j, (m, 6, 6)."""
    back = np.linalg.inv(X[j]) @ X[i]
    R, E = back[:, :3, :3], np.linalg.inv(back @ seen)
    q = Rotation.from_matrix(E[:, :3, :3]).as_quat(canonical=True)
    zero, half = np.zeros_like(R), (q[:, 3:, None] * np.eye(3) + hat(q[:, :3])) / 2
    slope = np.block([[E[:, :3, :3], zero], [zero, half]])  # of E exp(step)
    adjoint = np.block([[R, hat(back[:, :3, 3]) @ R], [zero, R]])  # X_i's step in X_j's frame
    return np.hstack([E[:, :3, 3], q[:, :3]]), -slope @ adjoint, slope


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
