"""Discrete action of a tree over all steps: its derivatives by the control points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.integrators.tree.workspace import loads
from dynamics.kernels.tree import action as kernels
from dynamics.kernels.tree import layout

__all__ = ["Action"]

Float = NDArray[np.float64]
Int = NDArray[np.int64]


class Action:
    """Sum of the discrete Lagrangians of N steps, with springs and dampers.

    Parameters
    ----------
    integrator : TreeIntegrator
        Without constraints and drag.
    steps : int
        N.

    Attributes
    ----------
    related : tuple of ndarray of int
        Pairs of joints of which one moves the other: all other second derivatives are zero.
    """

    def __init__(self, integrator: TreeIntegrator, steps: int) -> None:
        n, nodes = len(integrator.joints), integrator.degree + 1
        self.shape = (steps, nodes, n)
        self._tables = (
            integrator.tables.tree, tuple(integrator.rule), integrator.tables.pins,
            loads(integrator, None, None, "world", 1), integrator.timestep, steps,
        )  # fmt: skip
        self._zero, self._row = np.zeros(n), np.zeros(nodes * n)
        self._work = (
            np.zeros(n * nodes * layout.RECORD), np.empty(78 * n), np.empty(4 * nodes * n * n),
            np.empty(n * n), np.empty(n * kernels.SLOPES),
        )  # fmt: skip
        self.related = _related(integrator.tables.tree[0])

    def rows(self, q: Float) -> Float:
        """dL_d/dq^b_i, (N, s + 1, n)."""
        out = np.empty(self.shape)
        kernels.action_rows(*self._tables, _flat(q), self._zero, self._work, out.reshape(-1))
        return out

    def jacobians(self, q: Float) -> Float:
        """Their derivatives by q^g_j of the pairs (i, j) of `related`, (pairs, N, b, g)."""
        out = np.empty((*self.shape, *self.shape[1:]))
        kernels.action_jacobians(
            *self._tables, _flat(q), self._zero, self._work, self._row, out.reshape(-1)
        )
        i, j = self.related
        return out[:, :, i, :, j]

    def hessians(self, q: Float, direction: Float) -> Float:
        """Second derivatives of direction . rows, (pairs, N, b, g)."""
        out = np.empty((*self.shape, *self.shape[1:]))
        kernels.action_hessians(
            *self._tables, _flat(q), self._zero, _flat(direction), self._work, self._row,
            out.reshape(-1),
        )  # fmt: skip
        i, j = self.related
        return out[:, :, i, :, j]


def _flat(x: Float) -> Float:
    """One row of numbers."""
    return np.ascontiguousarray(x).reshape(-1)


def _related(parent: Int) -> tuple[Int, Int]:
    """Pairs of joints of which one moves the other."""
    related = np.eye(parent.size, dtype=bool)
    for i in range(parent.size):
        j = int(parent[i])
        while j >= 0:
            related[i, j] = related[j, i] = True
            j = int(parent[j])
    first, second = np.nonzero(related)
    return first, second
