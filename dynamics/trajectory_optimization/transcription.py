"""Contact-implicit transcription: variables, rows, and their exact first and second derivatives.

Times are the J + 1 = s N + 1 control points of N steps. Forces are in units of the weight W, rows
of the discrete Euler-Lagrange equations in units of W times the quadrature weight tau of a point.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.kernels.tree import layout
from dynamics.trajectory_optimization.action import Action
from dynamics.trajectory_optimization.entries import Entries
from dynamics.trajectory_optimization.ground import Ground
from dynamics.trajectory_optimization.points import Points, moved

__all__ = ["Contact", "Transcription"]

Float = NDArray[np.float64]
Int = NDArray[np.int64]


@dataclass(frozen=True)
class Contact:
    """Point of a body that may touch the ground.

    Attributes
    ----------
    body : hashable
        Label.
    point : array_like, shape (3,)
        In the body's frame, m.
    friction : float
        Coefficient of the cone, linearized to four sides (two in the plane).
    sticking : bool
        Whether it is held all the time by joints: the force keeps in its cone, and nothing else.
    """

    body: Hashable
    point: ArrayLike
    friction: float = 0.8
    sticking: bool = False


class Variables(NamedTuple):
    """Places of the variables, J + 1 control points, C contacts, d sides of the cone."""

    q: Int  # (J + 1, n)
    u: Int  # (J + 1, n_u), in units of `force_unit`
    normal: Int  # (J, C), in weights
    sides: Int  # (J, C, d), in weights
    speed: Int  # (J, C), of sliding, m / s
    gap: Int  # (J, C), one point of time later, m
    slip: Int  # (J, C, d), m / s
    spare: Int  # (J, C), of the cone, in weights
    slack: Int  # (J, C), of complementarity


def _numbered(shapes: Sequence[tuple[int, ...]], start: int = 0) -> tuple[list[Int], int]:
    """Consecutive numbers in arrays of some shapes."""
    found = []
    for shape in shapes:
        size = int(np.prod(shape))
        found.append(np.arange(start, start + size).reshape(shape))
        start += size
    return found, start


class _Chain(NamedTuple):
    """A point at all control points, along its chain of joints, and the ground beneath it.

    Position, axes, dx/dq and d2x/dq2; height of the ground and its slopes; its axes and theirs.
    """

    x: Float
    s: Float
    J: Float
    H: Float
    height: Float
    axes: Float
    turns: Float
    curves: Float

    def part(self, which: slice) -> _Chain:
        """Some of the control points."""
        return _Chain(*(array[which] for array in self))


@dataclass
class Transcription:
    """Nonlinear program of a tree's motion with contacts.

    Attributes
    ----------
    integrator : TreeIntegrator
    steps : int
        N.
    contacts : sequence of Contact
    ground : Ground
        Beneath the contacts.
    obstacles : Ground
        Beneath the points of `clear`.
    clear : sequence of (hashable, array_like)
        Bodies and points in their frames that stay above the obstacles.
    reach : sequence of (hashable, array_like, array_like)
        Points of bodies and their places in the world at the end.
    planar : bool
        Whether all moves in the plane of x and z.
    momentum : ndarray of float, shape (n,)
        At the start.
    last_momentum : ndarray of float, shape (n,)
        At the end; its rows are the last of the motion.
    force_unit : ndarray of float, shape (n_u,)
        N m or N.
    effort, speed_weight, penalty : float
        Weights of the integrals of |u / W|^2 and |dq/dt|^2, and of the slacks.
    """

    integrator: TreeIntegrator
    steps: int
    contacts: Sequence[Contact]
    ground: Ground
    obstacles: Ground
    clear: Sequence[tuple[Hashable, ArrayLike]]
    reach: Sequence[tuple[Hashable, ArrayLike, ArrayLike]]
    planar: bool
    momentum: Float
    last_momentum: Float
    force_unit: Float
    effort: float = 1.0
    speed_weight: float = 1e-3
    penalty: float = 10.0
    weight: float = field(init=False)

    def __post_init__(self) -> None:
        """Number variables and rows and fix the patterns."""
        made = self.integrator
        n, s, N = len(made.joints), made.degree, self.steps
        J, C, d = s * N, len(self.contacts), 2 if self.planar else 4
        self.n, self.points, self.sides = n, J, d
        g = float(np.linalg.norm(made.tables.tree[2]))
        mass = made.tables.tree[1].reshape(n, -1)[:, layout.MASS].sum()
        self.weight = mass * (g or 1.0)
        w, place, h = made.rule.weights, made.rule.place, made.timestep
        self.tau = np.zeros(J + 1)
        self.node = s * np.arange(N)[:, None] + np.arange(s + 1)
        for nodes in self.node:
            self.tau[nodes] += h * w
        self.time = np.append((h * (np.arange(N)[:, None] + place[:-1])).ravel(), h * N)
        self.interval = np.diff(self.time)
        shapes = [(J + 1, n), (J + 1, made.columns.size), (J, C), (J, C, d), (J, C), (J, C),
                  (J, C, d), (J, C), (J, C)]  # fmt: skip
        arrays, self.size = _numbered(shapes)
        self.at = Variables(*arrays)
        self.free = np.array([k for k, one in enumerate(self.contacts) if not one.sticking], int)
        F = self.free.size
        arrays, self.rows = _numbered([(J + 1, n), (J, F), (J, F, d), (J, C), (J, F),
                                       (J, len(self.clear)), (len(self.reach), 3)])  # fmt: skip
        self.motion_rows, self.gap_rows, self.slip_rows, self.cone_rows = arrays[:4]
        self.pair_rows, self.clear_rows, self.reach_rows = arrays[4:]
        self.friction = np.array([one.friction for one in self.contacts], float)
        places = [(one.body, one.point) for one in self.contacts]
        places += [*self.clear, *((body, point) for body, point, _ in self.reach)]
        self.bodies = Points(made, places)
        self.grounds = [self.ground] * C + [self.obstacles] * (len(places) - C)
        self.action = Action(made, N)
        self.related = self._relations()
        self._seen = np.empty(0)
        self._chains: list[_Chain] = []
        rng = np.random.default_rng(0)
        trial = rng.uniform(0.1, 0.2, self.size)
        self.jacobian_entries, self.hessian_entries = Entries(), Entries(upper=True)
        self._add_jacobian(trial)
        self._add_hessian(trial, 1.0, np.ones(self.rows))
        self.jacobian_entries.close((self.rows, self.size))
        self.hessian_entries.close((self.size, self.size))

    def _relations(self) -> tuple[Int, Int]:
        """Pairs of joints of which one moves the other."""
        parent = self.integrator.tables.tree[0]
        related = np.eye(self.n, dtype=bool)
        for i in range(self.n):
            j = int(parent[i])
            while j >= 0:
                related[i, j] = related[j, i] = True
                j = int(parent[j])
        first, second = np.nonzero(related)
        return first, second

    def _update(self, z: Float) -> None:
        """Kinematics of the points, once for each z."""
        if self._seen.size and np.array_equal(z[self.at.q], self._seen):
            return
        q = z[self.at.q]
        records = moved(self.integrator, q)
        x = self.bodies.positions(records)
        self._chains = []
        for c in range(x.shape[1]):
            s, slope = self.bodies.first(records, c, x[:, c])
            second = self.bodies.second(s, slope)
            height = self.grounds[c].height(x[:, c, 0])
            surface = self.grounds[c].directions(height)
            self._chains.append(_Chain(x[:, c], s, slope, second, np.stack(height, 1), *surface))
        self._seen = q.copy()

    def _force(self, z: Float, c: int) -> Float:
        """Coefficients of normal and tangents, (J, 3)."""
        sides = z[self.at.sides[:, c]]
        found = np.zeros((self.points, 3))
        found[:, 0] = z[self.at.normal[:, c]]
        found[:, 1] = sides[:, 0] - sides[:, 1]
        if not self.planar:
            found[:, 2] = sides[:, 2] - sides[:, 3]
        return found

    def forces(self, z: Float) -> Float:
        """Contact forces in the world's frame, N, (J, C, 3)."""
        self._update(z)
        found = np.empty((self.points, len(self.contacts), 3))
        for c in range(len(self.contacts)):
            axes = self._chains[c].axes[:-1]
            found[:, c] = np.einsum("ka,kai->ki", self._force(z, c), axes)
        return self.weight * found

    def objective(self, z: Float) -> float:
        """Effort, speed and slacks."""
        u = z[self.at.u] * (self.force_unit / self.weight)
        rate = np.diff(z[self.at.q], axis=0)
        cost = self.effort * float(self.tau @ (u * u).sum(axis=1))
        cost += self.speed_weight * float(((rate * rate).sum(axis=1) / self.interval).sum())
        return cost + self.penalty * float(z[self.at.slack].sum())

    def gradient(self, z: Float) -> Float:
        """Gradient of the objective, (size,)."""
        found = np.zeros(self.size)
        scale = (self.force_unit / self.weight) ** 2
        found[self.at.u] = 2.0 * self.effort * self.tau[:, None] * scale * z[self.at.u]
        rate = 2.0 * self.speed_weight * np.diff(z[self.at.q], axis=0) / self.interval[:, None]
        found[self.at.q[1:]] += rate
        found[self.at.q[:-1]] -= rate
        found[self.at.slack] = self.penalty
        return found

    def constraints(self, z: Float) -> Float:
        """Values of all rows, (rows,)."""
        self._update(z)
        at, made, J = self.at, self.integrator, self.points
        found = np.zeros(self.rows)
        motion = np.zeros((J + 1, self.n))
        for nodes, r in zip(self.node, self.action.rows(z[at.q])):
            motion[nodes] += r
        motion[0] += self.momentum
        motion /= self.weight * self.tau[:, None]
        motion[:, made.columns] += z[at.u] * (self.force_unit / self.weight)
        for c, contact in enumerate(self.contacts):
            here = self._chains[c].part(slice(0, -1))
            f = np.einsum("ka,kai->ki", self._force(z, c), here.axes)
            motion[:-1, self.bodies.chains[c]] += np.einsum("kmi,ki->km", here.J, f)
            sides = z[at.sides[:, c]].sum(axis=1)
            normal = z[at.normal[:, c]]
            found[self.cone_rows[:, c]] = contact.friction * normal - sides - z[at.spare[:, c]]
        motion[-1] -= self.last_momentum / (self.weight * self.tau[-1])
        found[self.motion_rows] = motion
        for k, c in enumerate(self.free):
            x, height, axes = (getattr(self._chains[c], one) for one in ("x", "height", "axes"))
            gap, speed, slip = z[at.gap[:, c]], z[at.speed[:, c]], z[at.slip[:, c]]
            found[self.gap_rows[:, k]] = x[1:, 2] - height[1:, 0] - gap
            rates = np.einsum("kai,ki->ka", axes[:-1], np.diff(x, axis=0)) / self.interval[:, None]
            for a in range(self.sides):
                sign = 1.0 - 2.0 * (a % 2)
                sliding = speed + sign * rates[:, 1 + a // 2]
                found[self.slip_rows[:, k, a]] = sliding - slip[:, a]
            products = z[at.normal[:, c]] * gap + speed * z[at.spare[:, c]]
            products += (z[at.sides[:, c]] * slip).sum(axis=1)
            found[self.pair_rows[:, k]] = products - z[at.slack[:, c]]
        for k in range(len(self.clear)):
            one = self._chains[len(self.contacts) + k].part(slice(1, None))
            found[self.clear_rows[:, k]] = one.x[:, 2] - one.height[:, 0]
        for k, (_, _, place) in enumerate(self.reach):
            x = self._chains[len(self.contacts) + len(self.clear) + k].x[-1]
            found[self.reach_rows[k]] = x - np.asarray(place, float)
        return found

    def jacobian(self, z: Float) -> Float:
        """Values of the Jacobian in the order of `jacobian_entries`."""
        self._add_jacobian(z)
        return self.jacobian_entries.take()

    def _add_jacobian(self, z: Float) -> None:
        """Blocks of the Jacobian."""
        self._update(z)
        at, made, J, out = self.at, self.integrator, self.points, self.jacobian_entries
        scale = 1.0 / (self.weight * self.tau)
        i, j = self.related
        blocks = self.action.jacobians(z[at.q])[:, :, i, :, j]  # (pairs, N, b, g)
        blocks = blocks * scale[self.node][:, :, None]
        rows = np.moveaxis(self.motion_rows[self.node][..., i], 2, 0)
        columns = np.moveaxis(at.q[self.node][..., j], 2, 0)
        out.add(rows[..., None], columns[:, :, None, :], blocks)
        out.add(self.motion_rows[:, made.columns], at.u, self.force_unit / self.weight)
        for c, one in enumerate(self.contacts):
            _, _, slope, bend, _, axes, turns, _ = self._chains[c].part(slice(0, -1))
            chain = self.bodies.chains[c]
            rows = self.motion_rows[:J, chain]
            f = self._force(z, c)
            force, rate = np.einsum("ka,kai->ki", f, axes), np.einsum("ka,kai->ki", f, turns)
            block = np.einsum("kijx,kx->kij", bend, force)
            block += np.einsum("kix,kx->ki", slope, rate)[:, :, None] * slope[:, None, :, 0]
            out.add(rows[:, :, None], at.q[:-1, chain][:, None, :], block)
            along = np.einsum("kix,kax->kia", slope, axes)
            out.add(rows, at.normal[:, c][:, None], along[..., 0])
            for a in range(self.sides):
                sign = 1.0 - 2.0 * (a % 2)
                out.add(rows, at.sides[:, c, a][:, None], sign * along[..., 1 + a // 2])
            out.add(self.cone_rows[:, c], at.normal[:, c], one.friction)
            out.add(self.cone_rows[:, c][:, None], at.sides[:, c], -1.0)
            out.add(self.cone_rows[:, c], at.spare[:, c], -1.0)
        for k, c in enumerate(self.free):
            self._add_pair_rows(z, k, int(c))
        for k in range(len(self.clear)):
            self._add_height_rows(len(self.contacts) + k, self.clear_rows[:, k])
        for k in range(len(self.reach)):
            c = len(self.contacts) + len(self.clear) + k
            chain = self.bodies.chains[c]
            out.add(self.reach_rows[k][:, None], at.q[-1, chain], self._chains[c].J[-1].T)

    def _add_height_rows(self, c: int, rows: Int) -> None:
        """Slopes of z - f(x) of a point from the second control point on."""
        _, _, slope, _, height, *_ = self._chains[c].part(slice(1, None))
        values = slope[..., 2] - height[:, 1, None] * slope[..., 0]
        self.jacobian_entries.add(rows[:, None], self.at.q[1:, self.bodies.chains[c]], values)

    def _add_pair_rows(self, z: Float, k: int, c: int) -> None:
        """Rows of the gap, the slip and the complementarity of a contact."""
        at, out, dt = self.at, self.jacobian_entries, self.interval[:, None]
        x, _, slope, *_ = self._chains[c]
        _, _, _, _, _, axes, turns, _ = self._chains[c].part(slice(0, -1))
        chain = self.bodies.chains[c]
        self._add_height_rows(c, self.gap_rows[:, k])
        out.add(self.gap_rows[:, k], at.gap[:, c], -1.0)
        delta = np.diff(x, axis=0)
        for a in range(self.sides):
            sign, rows = 1.0 - 2.0 * (a % 2), self.slip_rows[:, k, a]
            t, turn = axes[:, 1 + a // 2], turns[:, 1 + a // 2]
            now = -np.einsum("kix,kx->ki", slope[:-1], t)
            now += (turn * delta).sum(axis=1)[:, None] * slope[:-1, :, 0]
            out.add(rows[:, None], at.q[:-1, chain], sign * now / dt)
            later = np.einsum("kix,kx->ki", slope[1:], t)
            out.add(rows[:, None], at.q[1:, chain], sign * later / dt)
            out.add(rows, at.speed[:, c], 1.0)
            out.add(rows, at.slip[:, c, a], -1.0)
        rows = self.pair_rows[:, k]
        out.add(rows, at.normal[:, c], z[at.gap[:, c]])
        out.add(rows, at.gap[:, c], z[at.normal[:, c]])
        out.add(rows, at.speed[:, c], z[at.spare[:, c]])
        out.add(rows, at.spare[:, c], z[at.speed[:, c]])
        out.add(rows[:, None], at.sides[:, c], z[at.slip[:, c]])
        out.add(rows[:, None], at.slip[:, c], z[at.sides[:, c]])
        out.add(rows, at.slack[:, c], -1.0)

    def hessian(self, z: Float, factor: float, multipliers: Float) -> Float:
        """Upper triangle of the Hessian of factor objective + multipliers . constraints."""
        self._add_hessian(z, factor, multipliers)
        return self.hessian_entries.take()

    def _add_hessian(self, z: Float, factor: float, y: Float) -> None:
        """Blocks of the Hessian."""
        self._update(z)
        at, out = self.at, self.hessian_entries
        scale = (self.force_unit / self.weight) ** 2
        out.add(at.u, at.u, 2.0 * factor * self.effort * self.tau[:, None] * scale)
        rate = 2.0 * factor * self.speed_weight / self.interval[:, None]
        out.add(at.q[1:], at.q[1:], rate)
        out.add(at.q[:-1], at.q[:-1], rate)
        out.both(at.q[1:], at.q[:-1], -rate)
        # Rows of motion: third derivatives of the action along the multipliers
        direction = y[self.motion_rows] / (self.weight * self.tau[:, None])
        i, j = self.related
        blocks = self.action.hessians(z[at.q], direction)[:, :, i, :, j]
        first, second = (np.moveaxis(at.q[self.node][..., k], 2, 0) for k in (i, j))
        out.add(first[..., None], second[:, :, None, :], blocks)
        for c in range(len(self.contacts)):
            self._add_force_hessian(z, y, c)
        for k, c in enumerate(self.free):
            self._add_pair_hessian(y, k, int(c))
        for k in range(len(self.clear)):
            self._add_height_hessian(len(self.contacts) + k, y[self.clear_rows[:, k]])
        for k in range(len(self.reach)):
            c = len(self.contacts) + len(self.clear) + k
            chain = self.bodies.chains[c]
            values = self._chains[c].H[-1] @ y[self.reach_rows[k]]
            out.add(at.q[-1, chain][:, None], at.q[-1, chain], values)

    def _add_force_hessian(self, z: Float, y: Float, c: int) -> None:
        """Second derivatives of v . F(x) with v = dx/dq y."""
        at, out = self.at, self.hessian_entries
        _, s, slope, bend, _, axes, turns, curves = self._chains[c].part(slice(0, -1))
        chain = self.bodies.chains[c]
        along = y[self.motion_rows[: self.points, chain]]
        f = self._force(z, c)
        force, rate, curve = (np.einsum("ka,kai->ki", f, one) for one in (axes, turns, curves))
        v = np.einsum("kix,ki->kx", slope, along)
        dv = np.einsum("kijx,ki->kjx", bend, along)
        first = slope[..., 0]
        block = (curve * v).sum(axis=1)[:, None, None] * first[:, :, None] * first[:, None, :]
        mixed = first[:, :, None] * np.einsum("kjx,kx->kj", dv, rate)[:, None, :]
        block += mixed + np.swapaxes(mixed, 1, 2)
        block += (rate * v).sum(axis=1)[:, None, None] * bend[..., 0]
        block += self.bodies.third(s, bend, along, force)
        columns = at.q[:-1, chain]
        out.add(columns[:, :, None], columns[:, None, :], block)
        # dF/df_a = axis a
        mixed = np.einsum("kjx,kax->kja", dv, axes)
        mixed += first[:, :, None] * np.einsum("kax,kx->ka", turns, v)[:, None, :]
        out.both(columns, at.normal[:, c][:, None], mixed[..., 0])
        for a in range(self.sides):
            sign = 1.0 - 2.0 * (a % 2)
            out.both(columns, at.sides[:, c, a][:, None], sign * mixed[..., 1 + a // 2])

    def _add_height_hessian(self, c: int, y: Float) -> None:
        """Second derivatives of z - f(x)."""
        _, _, slope, bend, height, *_ = self._chains[c].part(slice(1, None))
        first, steep, curve = slope[..., 0], height[:, 1], height[:, 2]
        values = bend[..., 2] - steep[:, None, None] * bend[..., 0]
        values -= curve[:, None, None] * first[:, :, None] * first[:, None, :]
        columns = self.at.q[1:, self.bodies.chains[c]]
        values = y[:, None, None] * values
        self.hessian_entries.add(columns[:, :, None], columns[:, None, :], values)

    def _add_pair_hessian(self, y: Float, k: int, c: int) -> None:
        """Second derivatives of gap, slip and complementarity of a contact."""
        at, out = self.at, self.hessian_entries
        self._add_height_hessian(c, y[self.gap_rows[:, k]])
        x, _, slope, bend, *_ = self._chains[c]
        _, _, _, _, _, axes, turns, curves = self._chains[c].part(slice(0, -1))
        chain = self.bodies.chains[c]
        now, later = at.q[:-1, chain], at.q[1:, chain]
        delta = np.diff(x, axis=0)
        first = slope[:-1, :, 0]
        for axis in range(1, 1 + self.sides // 2):
            rows = self.slip_rows[:, k, 2 * axis - 2 : 2 * axis]
            scale = (y[rows[:, 0]] - y[rows[:, 1]]) / self.interval
            t, turn, curve = axes[:, axis], turns[:, axis], curves[:, axis]
            by_x = -t
            by_x[:, 0] += (turn * delta).sum(axis=1)
            turned = np.einsum("kix,kx->ki", slope[:-1], turn)
            mixed = first[:, :, None] * turned[:, None, :]
            block = np.einsum("kijx,kx->kij", bend[:-1], by_x) - mixed - np.swapaxes(mixed, 1, 2)
            bent = (curve * delta).sum(axis=1)[:, None, None]
            block += bent * first[:, :, None] * first[:, None, :]
            scale = scale[:, None, None]
            out.add(now[:, :, None], now[:, None, :], scale * block)
            block = np.einsum("kijx,kx->kij", bend[1:], t)
            out.add(later[:, :, None], later[:, None, :], scale * block)
            block = first[:, :, None] * np.einsum("kix,kx->ki", slope[1:], turn)[:, None, :]
            out.both(now[:, :, None], later[:, None, :], scale * block)
        pair = y[self.pair_rows[:, k]]
        out.both(at.normal[:, c], at.gap[:, c], pair)
        out.both(at.speed[:, c], at.spare[:, c], pair)
        out.both(at.sides[:, c], at.slip[:, c], pair[:, None])
