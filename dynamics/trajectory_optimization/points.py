"""Points of a tree's bodies at all control points: positions and three derivatives by q."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.kernels.tree import layout
from dynamics.kernels.tree import motion as tree_motion
from dynamics.trajectory_optimization.ground import Ground

__all__ = ["Points", "Track", "moved"]

Float = NDArray[np.float64]
Int = NDArray[np.int64]


class Track(NamedTuple):
    """A point at K control points, along its chain of m joints, and the ground beneath it.

    Attributes
    ----------
    x : ndarray of float, shape (K, 3)
        Position.
    s : ndarray of float, shape (K, m, 3)
        Axes of the hinges, zero for sliders.
    J : ndarray of float, shape (K, m, 3)
        dx/dq.
    H : ndarray of float, shape (K, m, m, 3)
        d2x/dq2.
    height : ndarray of float, shape (K, 4)
        Of the ground, and its three derivatives by x.
    axes, turns, curves : ndarray of float, shape (K, 3, 3)
        Normal and tangents of the ground in rows, and their two derivatives by x.
    """

    x: Float
    s: Float
    J: Float
    H: Float
    height: Float
    axes: Float
    turns: Float
    curves: Float

    def part(self, which: slice) -> Track:
        """Some of the control points."""
        return Track(*(array[which] for array in self))

    def third(self, direction: Float, force: Float) -> Float:
        """sum_i direction_i force . d3x/dq_i dq_j dq_k, (K, m, m).

        With i, j, k in the order of the chain, d3x is s_i x H_jk: the sum over i splits at j.
        """
        P = np.cross(force[:, None, :], self.s)
        before = np.cumsum(direction[:, :, None] * P, axis=1)
        weighted = direction[:, :, None, None] * self.H
        after = weighted.sum(axis=1)[:, None] - np.cumsum(weighted, axis=1)
        W = np.einsum("kjx,kjlx->kjl", before, self.H) + np.einsum("kjx,kjlx->kjl", P, after)
        found: Float = np.triu(W) + np.swapaxes(np.triu(W, 1), 1, 2)
        return found


def moved(integrator: TreeIntegrator, q: Float) -> Float:
    """Records of all bodies at K configurations, (K, n, RECORD)."""
    count, n = q.shape
    records = np.empty((count, n, layout.RECORD))
    flat = np.ascontiguousarray(q).reshape(-1)
    tree_motion.move_at_all(integrator.tables.tree, flat, np.zeros(n), records.reshape(-1))
    return records


class Points:
    """Points that are fixed in bodies of a tree, each with a ground of its own.

    Parameters
    ----------
    integrator : TreeIntegrator
        Of the tree.
    places : sequence of (hashable, array_like)
        Body and point in its frame, m.
    grounds : sequence of Ground
        Beneath each point.

    Attributes
    ----------
    chains : list of ndarray of int
        Joints that move each point, from the root on.
    """

    def __init__(
        self,
        integrator: TreeIntegrator,
        places: Sequence[tuple[Hashable, ArrayLike]],
        grounds: Sequence[Ground],
    ) -> None:
        self.integrator, self.grounds = integrator, grounds
        self.body = [integrator.index(label) for label, _ in places]
        self.local = np.array([point for _, point in places], float).reshape(-1, 3)
        parent = integrator.tables.tree[0]
        self.chains: list[Int] = []
        for i in self.body:
            chain = []
            while i >= 0:
                chain.append(i)
                i = int(parent[i])
            self.chains.append(np.array(chain[::-1], np.int64))

    def positions(self, records: Float) -> Float:
        """World positions, (K, points, 3)."""
        bodies = records[:, self.body]
        turn = bodies[..., layout.ROTATION : layout.ROTATION + 9].reshape(*bodies.shape[:2], 3, 3)
        origin = bodies[..., layout.ORIGIN : layout.ORIGIN + 3]
        found: Float = origin + np.einsum("kcij,cj->kci", turn, self.local)
        return found

    def heights(self, q: Float) -> Float:
        """Heights above the grounds, (K, points)."""
        x = self.positions(moved(self.integrator, q))
        found = [x[:, c, 2] - ground.height(x[:, c, 0])[0] for c, ground in enumerate(self.grounds)]
        return np.array(found).reshape(len(self.grounds), len(q)).T

    def tracks(self, q: Float) -> list[Track]:
        """All points at K configurations: dx/dq_i = s_i x x + n_i, d2x/dq_i dq_j = s_i x dx/dq_j.

        The latter holds for i above j.
        """
        records, found = moved(self.integrator, q), []
        x = self.positions(records)
        for c, (chain, ground) in enumerate(zip(self.chains, self.grounds)):
            axes = records[:, chain, layout.AXIS : layout.AXIS + 6]
            s = axes[..., :3]
            J = np.cross(s, x[:, c, None, :]) + axes[..., 3:]
            H = np.cross(s[:, :, None, :], J[:, None, :, :])
            above = np.tri(chain.size, dtype=bool).T[None, :, :, None]
            H = np.where(above, H, np.swapaxes(H, 1, 2))
            height = ground.height(x[:, c, 0])
            found.append(Track(x[:, c], s, J, H, np.stack(height, 1), *ground.directions(height)))
        return found
