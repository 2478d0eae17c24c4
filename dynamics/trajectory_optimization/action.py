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


class Action:
    """Sum of the discrete Lagrangians of N steps, with springs and dampers.

    Parameters
    ----------
    integrator : TreeIntegrator
    steps : int
        N.
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

    def rows(self, q: Float) -> Float:
        """dL_d/dq^b_i, (N, s + 1, n)."""
        out = np.empty(self.shape)
        flat = np.ascontiguousarray(q).reshape(-1)
        kernels.action_rows(*self._tables, flat, self._zero, self._work, out.reshape(-1))
        return out

    def jacobians(self, q: Float) -> Float:
        """Their derivatives by q^g_j, (N, s + 1, n, s + 1, n)."""
        out = np.empty((*self.shape, *self.shape[1:]))
        flat = np.ascontiguousarray(q).reshape(-1)
        kernels.action_jacobians(
            *self._tables, flat, self._zero, self._work, self._row, out.reshape(-1)
        )
        return out

    def hessians(self, q: Float, direction: Float) -> Float:
        """Second derivatives of direction . rows, (N, s + 1, n, s + 1, n)."""
        out = np.empty((*self.shape, *self.shape[1:]))
        flat, along = (np.ascontiguousarray(x).reshape(-1) for x in (q, direction))
        kernels.action_hessians(
            *self._tables, flat, self._zero, along, self._work, self._row, out.reshape(-1)
        )
        return out
