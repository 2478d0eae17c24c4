"""Where was the robot? Gauss-Newton on a 3-D pose graph: a helix, or a file in g2o format.

A pose X = [R t; 0 1] is a node, what pose i saw of pose j an edge. Its error is what that lacks of
X_i^-1 X_j: in g2o the translation and the quaternion's vector part of E = seen^-1 X_i^-1 X_j.
The first pose is held, by block size 0: all that is seen is relative, and to tie it down by a prior
would need a weight. The file's own poses are the start; from odometry this mostly converges.
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


def main(path=None):
    """Poses, cost (half the squared errors, weighted by their information), and steps taken."""
    X, (i, j), seen, W = g2o.read(path) if path else g2o.helix()
    dim = {u: 6 if u else 0 for u in range(len(X))}
    normal, factor = gs.System(nx.Graph(zip(i, j)), dim, nodelist=dim, symmetric=True), None
    for steps in range(50):
        r, *slopes = errors(X, i, j, seen)
        right, normal.values[:] = np.zeros((len(X), 6)), 0.0
        for u, v, r_e, W_e, J_u, J_v in zip(i, j, r, W, *slopes):
            for a, J in ((u, J_u), (v, J_v)):
                right[a] -= J.T @ W_e @ r_e
                normal[a, a] += (J.T @ W_e @ J)[: dim[a], : dim[a]]
            normal[u, v] += (J_u.T @ W_e @ J_v)[: dim[u], : dim[v]]
        factor = factor.refactorize(normal.values) if factor else normal.factorize()
        step = factor.solve(right[1:].ravel()).reshape(-1, 6)
        X[1:] = g2o.moved(X[1:], step)
        if abs(step).max() < 1e-9:
            return X, np.einsum("ea,eab,eb", r, W, r) / 2, steps
    raise ArithmeticError("no convergence from this start")


if __name__ == "__main__":
    poses, cost, steps = main(*sys.argv[1:2])
    print(f"{len(poses)} poses, {steps} Gauss-Newton steps, cost {cost:.6f}")
    assert sys.argv[1:] or abs(cost - 144) < 3 * 12, "half of chi^2 for 6 x 48 degrees of freedom"
