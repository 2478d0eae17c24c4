"""Where was the robot? Levenberg-Marquardt on a pose graph: a helix, or a file in g2o format.

A pose X = [R t; 0 1] is a node, what pose i saw of pose j an edge. Its error is what that lacks of
X_i^-1 X_j: in g2o the translation and the quaternion's vector part of E = seen^-1 X_i^-1 X_j.
The first pose is held, by block size 0: all that is seen is relative, and to tie it down by a prior
would need a weight. Chordal relaxation is the start: rotations as free matrices, made orthogonal,
and places between them (Carlone et al. 2015). Odometry drifts too far on graphs with many loops.
"""

import sys

import g2o
import networkx as nx
import numpy as np
from scipy.spatial.transform import Rotation

import graphsys as gs


def hat(a):
    """Matrices of the products a x b, shape (m, 3, 3)."""
    return np.cross(np.eye(3), a[:, None])


def errors(X, i, j, seen):
    """Errors, shape (m, 6), and slopes in the steps `g2o.moved` of X_i and X_j, (m, 6, 6)."""
    back = np.linalg.inv(X[j]) @ X[i]
    R, E = back[:, :3, :3], np.linalg.inv(back @ seen)
    q = Rotation.from_matrix(E[:, :3, :3]).as_quat(canonical=True)
    zero, half = np.zeros_like(R), (q[:, 3:, None] * np.eye(3) + hat(q[:, :3])) / 2
    slope = np.block([[E[:, :3, :3], zero], [zero, half]])  # of E exp(step)
    adjoint = np.block([[R, hat(back[:, :3, 3]) @ R], [zero, R]])  # X_i's step in X_j's frame
    return np.hstack([E[:, :3, 3], q[:, :3]]), -slope @ adjoint, slope


def linear(i, j, turn, seen, held):
    """Y that minimize the sum of |Y_j - turn^T Y_i - seen|^2, shape (n, 3, k), Y_0 being held."""
    dim = {u: 3 if u else 0 for u in range(max(i.max(), j.max()) + 1)}
    normal = gs.System(nx.Graph(zip(i, j)), dim, nodelist=dim, symmetric=True)
    right = np.zeros((len(dim), *held.shape))
    np.subtract.at(right, i, turn @ seen)
    np.add.at(right, j, seen)
    for u, v, S in zip(i, j, turn):
        for a in (u, v):
            normal[a, a] += np.eye(dim[a])
        if u and v:
            normal[u, v] -= S
        else:  # what is held goes to the right
            right[u or v] += S @ held if u else S.T @ held
    return np.concatenate(
        [held[None], normal.solve(right[1:].reshape(-1, held.shape[1])).reshape(-1, *held.shape)]
    )


def chordal(X, i, j, seen):
    """Poses by two linear problems: rotations, then places."""
    free = linear(i, j, seen[:, :3, :3], np.zeros((len(i), 3, 3)), X[0, :3, :3].T)
    R = Rotation.from_matrix(free.transpose(0, 2, 1))
    steps = R[i].apply(seen[:, :3, 3])[:, :, None]
    there = linear(i, j, np.tile(np.eye(3), (len(i), 1, 1)), steps, X[0, :3, 3:])
    return np.concatenate([X[:1], g2o.pose(there[1:, :, 0], R[1:])])


def main(path=None):
    """Poses, cost (half the squared errors, weighted by their information), and steps taken."""
    X, (i, j), seen, W = g2o.read(path) if path else g2o.helix()
    X = chordal(X, i, j, seen)
    dim = {u: 6 if u else 0 for u in range(len(X))}
    normal, factor = gs.System(nx.Graph(zip(i, j)), dim, nodelist=dim, symmetric=True), None
    r, *slopes = errors(X, i, j, seen)
    cost, damping = np.einsum("ea,eab,eb", r, W, r) / 2, 0.0
    for steps in range(50):
        right, normal.values[:] = np.zeros((len(X), 6)), 0.0
        for u, v, r_e, W_e, J_u, J_v in zip(i, j, r, W, *slopes):
            for a, J in ((u, J_u), (v, J_v)):
                right[a] -= J.T @ W_e @ r_e
                normal[a, a] += (J.T @ W_e @ J)[: dim[a], : dim[a]]
            normal[u, v] += (J_u.T @ W_e @ J_v)[: dim[u], : dim[v]]
        for u in range(1, len(X)):
            normal[u, u] += damping * np.diag(np.diag(normal[u, u]))
        factor = factor.refactorize(normal.values) if factor else normal.factorize()
        step = factor.solve(right[1:].ravel()).reshape(-1, 6)
        trial = np.concatenate([X[:1], g2o.moved(X[1:], step)])
        r_trial, *slopes_trial = errors(trial, i, j, seen)
        cost_trial = np.einsum("ea,eab,eb", r_trial, W, r_trial) / 2
        if abs(step).max() < 1e-9:
            return trial, cost_trial, steps
        if cost_trial <= cost * (1.0 + 1e-12):
            X, r, slopes, cost, damping = trial, r_trial, slopes_trial, cost_trial, damping / 10.0
        else:
            damping = max(10.0 * damping, 1e-4)
    raise ArithmeticError("no convergence from this start")


if __name__ == "__main__":
    poses, cost, steps = main(*sys.argv[1:2])
    print(f"{len(poses)} poses, {steps} steps, cost {cost:.6f}")
    assert sys.argv[1:] or abs(cost - 144) < 3 * 12, "half of chi^2 for 6 x 48 degrees of freedom"
