"""Chordal relaxation of a pose graph: a start for `pose_graph.py` by two linear problems.

Rotations come first, as free 3 x 3 matrices that are made orthogonal, then the places between them
(Carlone et al. 2015). Pose 0 is held, by block size 0.
"""

import networkx as nx
import numpy as np
from poses import pose
from scipy.spatial.transform import Rotation

import graphsys as gs


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


def start(X, i, j, seen):
    """Poses by two linear problems: rotations, then places."""
    free = linear(i, j, seen[:, :3, :3], np.zeros((len(i), 3, 3)), X[0, :3, :3].T)
    R = Rotation.from_matrix(free.transpose(0, 2, 1))
    steps = R[i].apply(seen[:, :3, 3])[:, :, None]
    there = linear(i, j, np.tile(np.eye(3), (len(i), 1, 1)), steps, X[0, :3, 3:])
    return np.concatenate([X[:1], pose(there[1:, :, 0], R[1:])])
