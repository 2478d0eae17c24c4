"""Rows of contacts: gap, slip, friction cone and complementarity.

An impulse at a control point keeps the gap at the next one, and the slip is the way between the two
along the tangents at the first, over the time. With 0 <= a, b for each pair (a, b):

    gap = z - f(x),  slip_a = speed + t_a . dx / dt,  spare = friction normal - sum sides,
    normal gap + sides . slip + speed spare <= slack.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics.trajectory_optimization.entries import Entries
from dynamics.trajectory_optimization.motion_rows import sign
from dynamics.trajectory_optimization.points import Track
from dynamics.trajectory_optimization.variables import Grid, Rows, Variables

__all__ = ["ContactRows", "add_height_hessian", "add_height_slopes", "height"]

Float = NDArray[np.float64]
Int = NDArray[np.int64]


def height(track: Track) -> Float:
    """z - f(x) from the second control point on, (J,)."""
    return track.x[1:, 2] - track.height[1:, 0]


def add_height_slopes(track: Track, rows: Int, columns: Int, out: Entries) -> None:
    """Slopes of `height`."""
    here = track.part(slice(1, None))
    values = here.J[..., 2] - here.height[:, 1, None] * here.J[..., 0]
    out.add(rows[:, None], columns[1:], values)


def add_height_hessian(track: Track, y: Float, columns: Int, out: Entries) -> None:
    """Second derivatives of y . `height`."""
    here = track.part(slice(1, None))
    first, steep, curve = here.J[..., 0], here.height[:, 1], here.height[:, 2]
    values = here.H[..., 2] - steep[:, None, None] * here.H[..., 0]
    values -= curve[:, None, None] * first[:, :, None] * first[:, None, :]
    later = columns[1:]
    out.add(later[:, :, None], later[:, None, :], y[:, None, None] * values)


class ContactRows:
    """Rows of contact c, the k-th that does not stick.

    Parameters
    ----------
    grid : Grid
        Control points.
    c, k : int
        Numbers of the contact.
    chain : ndarray of int
        Joints that move it.
    """

    def __init__(self, grid: Grid, c: int, k: int, chain: Int) -> None:
        self.grid, self.c, self.k, self.chain = grid, c, k, chain

    def set_values(self, at: Variables, rows: Rows, z: Float, track: Track, found: Float) -> None:
        """Values of the rows, into ``found``."""
        c, k = self.c, self.k
        gap, speed, slip = z[at.gap[:, c]], z[at.speed[:, c]], z[at.slip[:, c]]
        found[rows.gap[:, k]] = height(track) - gap
        rates = np.einsum("kai,ki->ka", track.axes[:-1], np.diff(track.x, axis=0))
        rates /= self.grid.interval[:, None]
        for a in range(self.grid.sides):
            found[rows.slip[:, k, a]] = speed + sign(a) * rates[:, 1 + a // 2] - slip[:, a]
        products = z[at.normal[:, c]] * gap + speed * z[at.spare[:, c]]
        products += (z[at.sides[:, c]] * slip).sum(axis=1)
        found[rows.pairs[:, k]] = products - z[at.slack[:, c]]

    def add_jacobian(self, at: Variables, rows: Rows, z: Float, track: Track, out: Entries) -> None:
        """Slopes of the rows."""
        c, k, dt = self.c, self.k, self.grid.interval[:, None]
        columns = at.q[:, self.chain]
        add_height_slopes(track, rows.gap[:, k], columns, out)
        out.add(rows.gap[:, k], at.gap[:, c], -1.0)
        here, later = track.part(slice(0, -1)), track.J[1:]
        delta = np.diff(track.x, axis=0)
        for a in range(self.grid.sides):
            places = rows.slip[:, k, a]
            t, turn = here.axes[:, 1 + a // 2], here.turns[:, 1 + a // 2]
            now = (turn * delta).sum(axis=1)[:, None] * here.J[..., 0]
            now -= np.einsum("kix,kx->ki", here.J, t)
            out.add(places[:, None], columns[:-1], sign(a) * now / dt)
            then = np.einsum("kix,kx->ki", later, t)
            out.add(places[:, None], columns[1:], sign(a) * then / dt)
            out.add(places, at.speed[:, c], 1.0)
            out.add(places, at.slip[:, c, a], -1.0)
        places = rows.pairs[:, k]
        for first, second in ((at.normal, at.gap), (at.speed, at.spare)):
            out.add(places, first[:, c], z[second[:, c]])
            out.add(places, second[:, c], z[first[:, c]])
        out.add(places[:, None], at.sides[:, c], z[at.slip[:, c]])
        out.add(places[:, None], at.slip[:, c], z[at.sides[:, c]])
        out.add(places, at.slack[:, c], -1.0)

    def add_hessian(self, at: Variables, rows: Rows, track: Track, y: Float, out: Entries) -> None:
        """Second derivatives of y . rows."""
        c, k = self.c, self.k
        columns = at.q[:, self.chain]
        add_height_hessian(track, y[rows.gap[:, k]], columns, out)
        here, then = track.part(slice(0, -1)), track.part(slice(1, None))
        now, later = columns[:-1], columns[1:]
        delta, first = np.diff(track.x, axis=0), here.J[..., 0]
        for axis in range(1, 1 + self.grid.sides // 2):
            sides = y[rows.slip[:, k, 2 * axis - 2 : 2 * axis]]
            scale = ((sides[:, 0] - sides[:, 1]) / self.grid.interval)[:, None, None]
            t, turn, curve = (one[:, axis] for one in (here.axes, here.turns, here.curves))
            by_x = -t
            by_x[:, 0] += (turn * delta).sum(axis=1)
            turned = np.einsum("kix,kx->ki", here.J, turn)
            mixed = first[:, :, None] * turned[:, None, :]
            block = np.einsum("kijx,kx->kij", here.H, by_x) - mixed - np.swapaxes(mixed, 1, 2)
            bent = (curve * delta).sum(axis=1)[:, None, None]
            block += bent * first[:, :, None] * first[:, None, :]
            out.add(now[:, :, None], now[:, None, :], scale * block)
            block = np.einsum("kijx,kx->kij", then.H, t)
            out.add(later[:, :, None], later[:, None, :], scale * block)
            block = first[:, :, None] * np.einsum("kix,kx->ki", then.J, turn)[:, None, :]
            out.both(now[:, :, None], later[:, None, :], scale * block)
        pair = y[rows.pairs[:, k]]
        out.both(at.normal[:, c], at.gap[:, c], pair)
        out.both(at.speed[:, c], at.spare[:, c], pair)
        out.both(at.sides[:, c], at.slip[:, c], pair[:, None])
