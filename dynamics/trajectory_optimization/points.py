"""Points of a tree's bodies at many configurations: positions and three derivatives by q."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.kernels.tree import layout
from dynamics.kernels.tree import motion as tree_motion

__all__ = ["Points", "moved"]

Float = NDArray[np.float64]
Int = NDArray[np.int64]


def moved(integrator: TreeIntegrator, q: Float) -> Float:
    """Records of all bodies at each configuration, (nodes, n, RECORD)."""
    nodes, n = q.shape
    records = np.empty((nodes, n, layout.RECORD))
    flat = np.ascontiguousarray(q).reshape(-1)
    tree_motion.move_at_all(integrator.tables.tree, flat, np.zeros(n), records.reshape(-1))
    return records


class Points:
    """Points that are fixed in bodies of a tree.

    Parameters
    ----------
    integrator : TreeIntegrator
    places : sequence of (hashable, array_like)
        Body and point in its frame, m.

    Attributes
    ----------
    chains : list of ndarray of int
        Joints that move each point, from the root on.
    """

    def __init__(
        self, integrator: TreeIntegrator, places: Sequence[tuple[Hashable, ArrayLike]]
    ) -> None:
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
        """World positions, (nodes, points, 3)."""
        bodies = records[:, self.body]
        turn = bodies[..., layout.ROTATION : layout.ROTATION + 9].reshape(*bodies.shape[:2], 3, 3)
        origin = bodies[..., layout.ORIGIN : layout.ORIGIN + 3]
        return origin + np.einsum("kcij,cj->kci", turn, self.local)

    def first(self, records: Float, c: int, x: Float) -> tuple[Float, Float]:
        """Axes s and dx/dq = s x x + n along the chain of point c, (nodes, m, 3) each."""
        axes = records[:, self.chains[c], layout.AXIS : layout.AXIS + 6]
        s = axes[..., :3]
        return s, np.cross(s, x[:, None, :]) + axes[..., 3:]

    def second(self, s: Float, J: Float) -> Float:
        """d2x/dq_i dq_j = s_i x dx/dq_j for i above j, (nodes, m, m, 3)."""
        H = np.cross(s[:, :, None, :], J[:, None, :, :])
        m = s.shape[1]
        above = np.tri(m, dtype=bool).T[None, :, :, None]
        return np.where(above, H, np.swapaxes(H, 1, 2))

    def third(self, s: Float, H: Float, direction: Float, force: Float) -> Float:
        """sum_i direction_i force . d3x/dq_i dq_j dq_k, (nodes, m, m).

        With i, j, k in the order of the chain, d3x is s_i x H_jk: the sum over i splits at j.
        """
        P = np.cross(force[:, None, :], s)
        before = np.cumsum(direction[:, :, None] * P, axis=1)
        weighted = direction[:, :, None, None] * H
        after = weighted.sum(axis=1)[:, None] - np.cumsum(weighted, axis=1)
        W = np.einsum("kjx,kjlx->kjl", before, H) + np.einsum("kjx,kjlx->kjl", P, after)
        upper = np.triu(W)
        found: Float = upper + np.swapaxes(np.triu(W, 1), 1, 2)
        return found
