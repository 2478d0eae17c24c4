"""Rows of motion: discrete Euler-Lagrange equations with motors and contact forces.

A row is divided by W tau, so that forces count in weights:
(D L_d + [first] p - [last] p_end) / (W tau) + u + sum (dx/dq)^T F(x), F = f_a axis_a(x).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynamics.trajectory_optimization.action import Action
from dynamics.trajectory_optimization.entries import Entries
from dynamics.trajectory_optimization.points import Track
from dynamics.trajectory_optimization.variables import Grid, Rows, Variables

__all__ = ["MotionRows", "coefficients", "sign"]

Float = NDArray[np.float64]
Int = NDArray[np.int64]


def sign(side: int) -> float:
    """1 or -1: sides of a cone are the tangent along x, its opposite, that along y, ..."""
    return 1.0 - 2.0 * (side % 2)


def coefficients(at: Variables, z: Float, c: int) -> Float:
    """Force of contact c along normal and tangents, in weights, (J, 3)."""
    sides = z[at.sides[:, c]]
    found = np.zeros((len(sides), 3))
    found[:, 0] = z[at.normal[:, c]]
    tangents = sides[:, ::2] - sides[:, 1::2]
    found[:, 1 : 1 + tangents.shape[1]] = tangents
    return found


class MotionRows:
    """Equations of motion at all control points.

    Parameters
    ----------
    grid : Grid
        Control points.
    action : Action
        Discrete action.
    columns : ndarray of int
        Joints with motors.
    unit : ndarray of float
        Of the motors' forces, in weights.
    ends : tuple of ndarray of float
        Momenta at the start and at the end.
    chains : sequence of ndarray of int
        Joints that move each contact.
    """

    def __init__(
        self,
        grid: Grid,
        action: Action,
        columns: Int,
        unit: Float,
        ends: tuple[Float, Float],
        chains: Sequence[Int],
    ) -> None:
        self.grid, self.action, self.columns, self.unit = grid, action, columns, unit
        self.ends, self.chains = ends, chains
        self.scale = 1.0 / (grid.weight * grid.tau)

    def values(self, at: Variables, z: Float, tracks: Sequence[Track]) -> Float:
        """Values of the rows, (J + 1, n)."""
        found = np.zeros((self.grid.points + 1, self.grid.n))
        for nodes, r in zip(self.grid.node, self.action.rows(z[at.q])):
            found[nodes] += r
        found[0] += self.ends[0]
        found[-1] -= self.ends[1]
        found *= self.scale[:, None]
        found[:, self.columns] += z[at.u] * self.unit
        for c, chain in enumerate(self.chains):
            here = tracks[c].part(slice(0, -1))
            force = np.einsum("ka,kai->ki", coefficients(at, z, c), here.axes)
            found[:-1, chain] += np.einsum("kmi,ki->km", here.J, force)
        return found

    def _blocks(self, numbers: Int) -> tuple[Int, Int]:
        """Numbers of the control points of each step at the first and second joint of all pairs."""
        first, second = self.action.related
        each = numbers[self.grid.node]
        return np.moveaxis(each[..., first], 2, 0), np.moveaxis(each[..., second], 2, 0)

    def add_jacobian(
        self, at: Variables, rows: Rows, z: Float, tracks: Sequence[Track], out: Entries
    ) -> None:
        """Slopes of the rows."""
        blocks = self.action.jacobians(z[at.q]) * self.scale[self.grid.node][:, :, None]
        first, second = self._blocks(rows.motion)[0], self._blocks(at.q)[1]
        out.add(first[..., None], second[:, :, None, :], blocks)
        out.add(rows.motion[:, self.columns], at.u, self.unit)
        for c, chain in enumerate(self.chains):
            here = tracks[c].part(slice(0, -1))
            f = coefficients(at, z, c)
            force, rate = (np.einsum("ka,kai->ki", f, one) for one in (here.axes, here.turns))
            block = np.einsum("kijx,kx->kij", here.H, force)
            turned = np.einsum("kix,kx->ki", here.J, rate)
            block += turned[:, :, None] * here.J[:, None, :, 0]
            places = rows.motion[:-1, chain]
            out.add(places[:, :, None], at.q[:-1, chain][:, None, :], block)
            along = np.einsum("kix,kax->kia", here.J, here.axes)
            out.add(places, at.normal[:, c][:, None], along[..., 0])
            for a in range(self.grid.sides):
                out.add(places, at.sides[:, c, a][:, None], sign(a) * along[..., 1 + a // 2])

    def add_hessian(
        self, at: Variables, z: Float, tracks: Sequence[Track], y: Float, out: Entries
    ) -> None:
        """Second derivatives of y . rows, of y of shape (J + 1, n)."""
        blocks = self.action.hessians(z[at.q], y * self.scale[:, None])
        first, second = self._blocks(at.q)
        out.add(first[..., None], second[:, :, None, :], blocks)
        for c, chain in enumerate(self.chains):
            self._add_force_hessian(at, z, tracks[c].part(slice(0, -1)), y[:-1, chain], c, out)

    def _add_force_hessian(
        self, at: Variables, z: Float, here: Track, y: Float, c: int, out: Entries
    ) -> None:
        """Second derivatives of v . F(x) with v = dx/dq y."""
        f = coefficients(at, z, c)
        surface = (here.axes, here.turns, here.curves)
        force, rate, curve = (np.einsum("ka,kai->ki", f, one) for one in surface)
        v = np.einsum("kix,ki->kx", here.J, y)
        dv = np.einsum("kijx,ki->kjx", here.H, y)
        first = here.J[..., 0]
        block = (curve * v).sum(axis=1)[:, None, None] * first[:, :, None] * first[:, None, :]
        mixed = first[:, :, None] * np.einsum("kjx,kx->kj", dv, rate)[:, None, :]
        block += mixed + np.swapaxes(mixed, 1, 2)
        block += (rate * v).sum(axis=1)[:, None, None] * here.H[..., 0]
        block += here.third(y, force)
        columns = at.q[:-1, self.chains[c]]
        out.add(columns[:, :, None], columns[:, None, :], block)
        # dF/df_a = axis_a
        mixed = np.einsum("kjx,kax->kja", dv, here.axes)
        mixed += first[:, :, None] * np.einsum("kax,kx->ka", here.turns, v)[:, None, :]
        out.both(columns, at.normal[:, c][:, None], mixed[..., 0])
        for a in range(self.grid.sides):
            out.both(columns, at.sides[:, c, a][:, None], sign(a) * mixed[..., 1 + a // 2])
