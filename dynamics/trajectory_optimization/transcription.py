"""Contact-implicit transcription: objective and rows, their exact first and second derivatives."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.trajectory_optimization.action import Action
from dynamics.trajectory_optimization.contact_rows import (
    ContactRows,
    add_height_hessian,
    add_height_slopes,
    height,
)
from dynamics.trajectory_optimization.entries import Entries
from dynamics.trajectory_optimization.ground import Ground
from dynamics.trajectory_optimization.motion_rows import MotionRows, coefficients
from dynamics.trajectory_optimization.points import Points, Track
from dynamics.trajectory_optimization.variables import (
    Contact,
    grid,
    number_rows,
    number_variables,
)

__all__ = ["Task", "Transcription"]

Float = NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """What is to be planned.

    Attributes
    ----------
    integrator : TreeIntegrator
        Of the tree.
    steps : int
        N.
    contacts : sequence of Contact
        Points that may touch the ground.
    ground, obstacles : Ground
        Beneath the contacts, and beneath the points of `clear`.
    clear : sequence of (hashable, array_like)
        Bodies and points in their frames that stay above the obstacles.
    reach : sequence of (hashable, array_like, array_like)
        Bodies, points in their frames, and their places in the world at the end.
    planar : bool
        Whether all moves in the plane of x and z.
    momenta : tuple of ndarray of float
        At the start and at the end, (n,) each.
    force_unit : ndarray of float, shape (n_u,)
        N m or N.
    effort, speed_weight : float
        Weights of the integrals of |u / W|^2 and of |dq/dt|^2.
    """

    integrator: TreeIntegrator
    steps: int
    contacts: Sequence[Contact]
    ground: Ground
    obstacles: Ground
    clear: Sequence[tuple[Hashable, ArrayLike]]
    reach: Sequence[tuple[Hashable, ArrayLike, ArrayLike]]
    planar: bool
    momenta: tuple[Float, Float]
    force_unit: Float
    effort: float = 1.0
    speed_weight: float = 1e-3


class Transcription:
    """Nonlinear program of a task.

    Parameters
    ----------
    task : Task
        What is to be planned.
    penalty : float
        Of each slack.

    Attributes
    ----------
    grid, at, rows : Grid, Variables, Rows
        Control points, places of variables and of rows.
    size, height : int
        Numbers of variables and of rows.
    jacobian_entries, hessian_entries : Entries
        Patterns, of the Hessian the upper triangle.
    """

    def __init__(self, task: Task, penalty: float = 10.0) -> None:
        made, C = task.integrator, len(task.contacts)
        self.task, self.penalty = task, penalty
        self.grid = grid(made, task.steps, task.planar)
        self.at, self.size = number_variables(self.grid, made.columns.size, C)
        self.free = [c for c, one in enumerate(task.contacts) if not one.sticking]
        self.rows, self.height = number_rows(
            self.grid, C, len(self.free), len(task.clear), len(task.reach)
        )
        places = [(one.body, one.point) for one in task.contacts]
        places += [*task.clear, *((body, point) for body, point, _ in task.reach)]
        grounds = [task.ground] * C + [task.obstacles] * (len(places) - C)
        self.points = Points(made, places, grounds)
        self.unit = task.force_unit / self.grid.weight
        self.motion = MotionRows(
            self.grid, Action(made, task.steps), made.columns, self.unit, task.momenta,
            self.points.chains[:C],
        )  # fmt: skip
        self.contacts = [
            ContactRows(self.grid, c, k, self.points.chains[c]) for k, c in enumerate(self.free)
        ]
        self.friction = np.array([one.friction for one in task.contacts], float)
        self._seen, self._tracks = np.empty(0), list[Track]()
        self.jacobian_entries, self.hessian_entries = Entries(), Entries(upper=True)
        trial = np.full(self.size, 0.1)
        self._add_jacobian(trial)
        self._add_hessian(trial, 1.0, np.ones(self.height))
        self.jacobian_entries.close((self.height, self.size))
        self.hessian_entries.close((self.size, self.size))

    def tracks(self, z: Float) -> list[Track]:
        """Kinematics of the points, once for each q."""
        q = z[self.at.q]
        if not np.array_equal(q, self._seen):
            self._seen, self._tracks = q, self.points.tracks(q)
        return self._tracks

    def forces(self, z: Float) -> Float:
        """Contact forces in the world's frame, N, (J, C, 3)."""
        tracks, C = self.tracks(z), len(self.task.contacts)
        found = np.empty((self.grid.points, C, 3))
        for c in range(C):
            f = coefficients(self.at, z, c)
            found[:, c] = np.einsum("ka,kai->ki", f, tracks[c].axes[:-1])
        return self.grid.weight * found

    def objective(self, z: Float) -> float:
        """Effort, speed and slacks."""
        u, rate = z[self.at.u] * self.unit, np.diff(z[self.at.q], axis=0)
        effort = self.grid.tau @ (u * u).sum(axis=1)
        speed = ((rate * rate).sum(axis=1) / self.grid.interval).sum()
        slack = z[self.at.slack].sum()
        weights = self.task.effort, self.task.speed_weight, self.penalty
        return float(np.dot(weights, (effort, speed, slack)))

    def gradient(self, z: Float) -> Float:
        """Gradient of the objective, (size,)."""
        found, at = np.zeros(self.size), self.at
        found[at.u] = 2.0 * self.task.effort * self.grid.tau[:, None] * self.unit**2 * z[at.u]
        rate = np.diff(z[at.q], axis=0) / self.grid.interval[:, None]
        found[at.q[1:]] += 2.0 * self.task.speed_weight * rate
        found[at.q[:-1]] -= 2.0 * self.task.speed_weight * rate
        found[at.slack] = self.penalty
        return found

    def constraints(self, z: Float) -> Float:
        """Values of all rows, (height,)."""
        tracks, at, rows, C = self.tracks(z), self.at, self.rows, len(self.task.contacts)
        found = np.zeros(self.height)
        found[rows.motion] = self.motion.values(at, z, tracks)
        sides = z[at.sides].sum(axis=2)
        found[rows.cone] = self.friction * z[at.normal] - sides - z[at.spare]
        for one in self.contacts:
            one.set_values(at, rows, z, tracks[one.c], found)
        for k in range(len(self.task.clear)):
            found[rows.clear[:, k]] = height(tracks[C + k])
        for k, (_, _, place) in enumerate(self.task.reach):
            x = tracks[C + len(self.task.clear) + k].x[-1]
            found[rows.reach[k]] = x - np.asarray(place, float)
        return found

    def jacobian(self, z: Float) -> Float:
        """Values of the Jacobian in the order of `jacobian_entries`."""
        self._add_jacobian(z)
        return self.jacobian_entries.take()

    def hessian(self, z: Float, factor: float, y: Float) -> Float:
        """Hessian of factor objective + y . constraints in the order of `hessian_entries`."""
        self._add_hessian(z, factor, y)
        return self.hessian_entries.take()

    def _add_jacobian(self, z: Float) -> None:
        """Blocks of the Jacobian."""
        tracks, at, rows, out = self.tracks(z), self.at, self.rows, self.jacobian_entries
        C = len(self.task.contacts)
        self.motion.add_jacobian(at, rows, z, tracks, out)
        out.add(rows.cone, at.normal, self.friction)
        out.add(rows.cone[..., None], at.sides, -1.0)
        out.add(rows.cone, at.spare, -1.0)
        for one in self.contacts:
            one.add_jacobian(at, rows, z, tracks[one.c], out)
        for k, c in enumerate(range(C, C + len(self.task.clear))):
            add_height_slopes(tracks[c], rows.clear[:, k], at.q[:, self.points.chains[c]], out)
        for k, c in enumerate(range(C + len(self.task.clear), len(tracks))):
            columns = at.q[-1, self.points.chains[c]]
            out.add(rows.reach[k][:, None], columns, tracks[c].J[-1].T)

    def _add_hessian(self, z: Float, factor: float, y: Float) -> None:
        """Blocks of the Hessian."""
        tracks, at, rows, out = self.tracks(z), self.at, self.rows, self.hessian_entries
        C = len(self.task.contacts)
        effort = 2.0 * factor * self.task.effort * self.grid.tau[:, None]
        out.add(at.u, at.u, effort * self.unit**2)
        rate = 2.0 * factor * self.task.speed_weight / self.grid.interval[:, None]
        out.add(at.q[1:], at.q[1:], rate)
        out.add(at.q[:-1], at.q[:-1], rate)
        out.both(at.q[1:], at.q[:-1], -rate)
        self.motion.add_hessian(at, z, tracks, y[rows.motion], out)
        for one in self.contacts:
            one.add_hessian(at, rows, tracks[one.c], y, out)
        for k, c in enumerate(range(C, C + len(self.task.clear))):
            columns = at.q[:, self.points.chains[c]]
            add_height_hessian(tracks[c], y[rows.clear[:, k]], columns, out)
        for k, c in enumerate(range(C + len(self.task.clear), len(tracks))):
            columns = at.q[-1, self.points.chains[c]]
            out.add(columns[:, None], columns, tracks[c].H[-1] @ y[rows.reach[k]])
