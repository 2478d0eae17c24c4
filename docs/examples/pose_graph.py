"""Levenberg-Marquardt on a pose graph: a helix, or a file in g2o format.

A pose X = [R t; 0 1] is a node, a measurement of pose j in the frame of pose i an edge. The error
of an edge is that of g2o: translation and vector part of the quaternion of E = seen^-1 X_i^-1 X_j.
Measurements are relative, so the first pose is held, by block size 0; a prior would need a weight.
The start is that of `chordal.py`: odometry drifts too far with many loops.
"""

import argparse

import chordal
import g2o
import networkx as nx
import numpy as np
import poses
from poses import errors, moved

import graphsys as gs


def cost_and_slopes(X, i, j, seen, W):
    """Half the squared errors, weighted; the errors, and their slopes."""
    r, *slopes = errors(X, i, j, seen)
    return np.einsum("ea,eab,eb", r, W, r) / 2, r, slopes


def main(path=None):
    """Poses, cost (half the squared errors, weighted by their information), and steps taken."""
    X, (i, j), seen, W = g2o.read(path) if path else poses.helix()
    X, dim = chordal.start(X, i, j, seen), {u: 6 if u else 0 for u in range(len(X))}
    normal, damping = gs.System(nx.Graph(zip(i, j)), dim, nodelist=dim, symmetric=True), 0.0
    factor, (cost, r, slopes) = None, cost_and_slopes(X, i, j, seen, W)
    for steps in range(50):
        right, normal.values[:] = np.zeros((len(X), 6)), 0.0
        for u, v, r_e, W_e, J_u, J_v in zip(i, j, r, W, *slopes):
            for a, J in ((u, J_u), (v, J_v)):
                right[a] -= J.T @ W_e @ r_e
                normal[a, a] += (J.T @ W_e @ J)[: dim[a], : dim[a]]
            normal[u, v] += (J_u.T @ W_e @ J_v)[: dim[u], : dim[v]]
        for u in dim:
            normal[u, u] += damping * np.diag(np.diag(normal[u, u]))
        factor = factor.refactorize(normal.values) if factor else normal.factorize()
        step = factor.solve(right[1:].ravel()).reshape(-1, 6)
        trial = np.concatenate([X[:1], moved(X[1:], step)])
        trial_cost, *after = cost_and_slopes(trial, i, j, seen, W)
        if abs(step).max() < 1e-9:
            return trial, trial_cost, steps
        damping = damping / 10.0 if trial_cost <= cost * (1.0 + 1e-12) else 10.0 * damping + 1e-4
        if trial_cost <= cost * (1.0 + 1e-12):
            X, cost, (r, slopes) = trial, trial_cost, after
    raise ArithmeticError("no convergence from this start")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", help="pose graph in g2o format; a helix without")
    file = parser.parse_args().file
    found, cost, steps = main(file)
    print(f"{len(found)} poses, {steps} steps, cost {cost:.6f}")
    assert file or abs(cost - 144) < 3 * 12, "half of chi^2 for 6 x 48 degrees of freedom"
