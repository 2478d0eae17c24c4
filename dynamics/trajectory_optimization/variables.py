"""Variables and rows of the nonlinear program: their places, and the control points in time.

Forces are in units of the weight W of the tree, those of the motors in units of their bounds.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.kernels.tree import layout

__all__ = ["Contact", "Grid", "Rows", "Variables", "grid", "number_rows", "number_variables"]

Float = NDArray[np.float64]
Int = NDArray[np.int64]


@dataclass(frozen=True)
class Contact:
    """Point of a body that may touch the ground.

    Attributes
    ----------
    body : hashable
        Label of the body.
    point : array_like, shape (3,)
        In the body's frame, m.
    friction : float
        Coefficient of friction; the cone is linearized with four sides (two in the plane).
    sticking : bool
        Whether the point is in contact all the time, for example fixed by limits of joints: its
        force stays in the cone, gap and slip are ignored.
    """

    body: Hashable
    point: ArrayLike
    friction: float = 0.8
    sticking: bool = False


class Grid(NamedTuple):
    """Control points of N steps, numbered through: the last of a step is the first of the next.

    Attributes
    ----------
    n, points, sides : int
        Joints, J = s N, and sides of a friction cone.
    node : ndarray of int, shape (N, s + 1)
        Control points of each step.
    time, tau : ndarray of float, shape (J + 1,)
        Times, s, and quadrature weights, s.
    interval : ndarray of float, shape (J,)
        Between control points, s.
    weight : float
        W, N.
    """

    n: int
    points: int
    sides: int
    node: Int
    time: Float
    tau: Float
    interval: Float
    weight: float


class Variables(NamedTuple):
    """Places of the variables: J + 1 control points, C contacts, d sides of the cone."""

    q: Int  # (J + 1, n)
    u: Int  # (J + 1, n_u), in units of their bounds
    normal: Int  # (J, C), in weights
    sides: Int  # (J, C, d), in weights
    speed: Int  # (J, C), of sliding, m / s
    gap: Int  # (J, C), at the next control point, m
    slip: Int  # (J, C, d): how much faster a side could slide, m / s
    spare: Int  # (J, C), of the cone, in weights
    slack: Int  # (J, C), of complementarity


class Rows(NamedTuple):
    """Places of the rows: F contacts that do not stick."""

    motion: Int  # (J + 1, n), in weights
    gap: Int  # (J, F), m
    slip: Int  # (J, F, d), m / s
    cone: Int  # (J, C), in weights
    pairs: Int  # (J, F): sums of complementary products less their slack, at most 0
    clear: Int  # (J, points): heights above obstacles, at least 0, m
    reach: Int  # (places, 3), m


def grid(integrator: TreeIntegrator, steps: int, planar: bool) -> Grid:
    """Control points of some steps."""
    n, s, h = len(integrator.joints), integrator.degree, integrator.timestep
    node = s * np.arange(steps)[:, None] + np.arange(s + 1)
    tau = np.zeros(s * steps + 1)
    for points in node:
        tau[points] += h * integrator.rule.weights
    starts = h * np.arange(steps)[:, None] + h * integrator.rule.place[:-1]
    time = np.append(starts.ravel(), h * steps)
    mass = integrator.tables.tree[1].reshape(n, -1)[:, layout.MASS].sum()
    weight = mass * (float(np.linalg.norm(integrator.tables.tree[2])) or 1.0)
    return Grid(n, s * steps, 2 if planar else 4, node, time, tau, np.diff(time), float(weight))


def number_variables(points: Grid, forces: int, contacts: int) -> tuple[Variables, int]:
    """Places of the variables and their number."""
    J, n, d, C = points.points, points.n, points.sides, contacts
    one, sides = (J, C), (J, C, d)
    shapes = [(J + 1, n), (J + 1, forces), one, sides, one, one, sides, one, one]
    arrays, size = _numbered(shapes)
    return Variables(*arrays), size


def number_rows(points: Grid, contacts: int, free: int, clear: int, reach: int) -> tuple[Rows, int]:
    """Places of the rows and their number."""
    J, n, d = points.points, points.n, points.sides
    shapes = [
        (J + 1, n), (J, free), (J, free, d), (J, contacts), (J, free), (J, clear), (reach, 3),
    ]  # fmt: skip
    arrays, size = _numbered(shapes)
    return Rows(*arrays), size


def _numbered(shapes: Sequence[tuple[int, ...]]) -> tuple[list[Int], int]:
    """Consecutive numbers in arrays of some shapes, and how many."""
    starts = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])
    found = [
        np.arange(first, last).reshape(shape)
        for first, last, shape in zip(starts[:-1], starts[1:], shapes)
    ]
    return found, int(starts[-1])
