"""Shapes that may touch as arrays for the broad phase, and how far a run may go with its pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.kernels.base import layout
from dynamics.kernels.collisions import broad_phase, gjk
from dynamics.parts.bodies import WORLD
from dynamics.parts.collisions import Candidates, Solid

__all__ = ["ShapeTables", "Watch", "given_of", "shape_tables"]

Float = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class ShapeTables:
    """S shapes of n bodies, with k points in all; P pairs that may touch.

    Attributes
    ----------
    shapes : ndarray of int, shape (S, SHAPE_FIELDS)
        See `dynamics.kernels.collisions.broad_phase`.
    sizes : ndarray of float, shape (S, SHAPE_SIZE)
        See there.
    cores : ndarray of float, shape (S, CORE_SIZE)
        See `dynamics.kernels.collisions.gjk`.
    points : ndarray of float, shape (k, 3)
        Of the shapes' hulls, in the frames of their bodies, m.
    starts : ndarray of int, shape (S + 1,)
        Points of a shape.
    pairs : ndarray of int, shape (P, 2)
    reach : ndarray of float, shape (n,)
        By how much a turn by 1 rad moves the farthest point of a body's shapes, m; 0 for spheres
        about the centre of mass.
    extent : ndarray of float, shape (n,)
        Least half size of a body's shapes, m; 0 for bodies without shapes.
    """

    shapes: Ints
    sizes: Float
    cores: Float
    points: Float
    starts: Ints
    pairs: Ints
    reach: Float
    extent: Float


def shape_tables(candidates: Candidates, body_index: Mapping[Any, int]) -> ShapeTables:
    """Arrays of all shapes that may touch.

    Parameters
    ----------
    candidates : Candidates
    body_index : mapping

    Returns
    -------
    ShapeTables
    """
    n, count = len(body_index), len(candidates.solids)
    shapes = np.zeros((count, broad_phase.SHAPE_FIELDS), np.int64)
    sizes = np.zeros((count, broad_phase.SHAPE_SIZE))
    cores = np.zeros((count, gjk.CORE_SIZE))
    points: list[Float] = []
    starts = np.zeros(count + 1, np.int64)
    reach, extent = np.zeros(n), np.full(n, np.inf)
    for s, solid in enumerate(candidates.solids):
        body = n if solid.end is WORLD else body_index[solid.end.name]
        shapes[s] = body, solid.core is None
        starts[s + 1] = starts[s]
        if solid.core is None:
            sizes[s, broad_phase.CENTRE : broad_phase.CENTRE + 3] = solid.shape.point
            sizes[s, broad_phase.HALF : broad_phase.HALF + 3] = solid.shape.normal
            continue
        centre, half, turn, radius = _bounds(solid)
        sizes[s] = [*centre, *half, *turn, radius]
        core = solid.core
        cores[s] = [*core.axis, core.rim, core.radius]
        points.append(core.points)
        starts[s + 1] += len(core.points)
        if body < n:
            far = float(np.linalg.norm(centre))
            ball = len(core.points) == 1 and core.rim == 0.0
            reach[body] = max(reach[body], far if ball else far + radius)
            extent[body] = min(extent[body], float(half.min()) or radius)
    extent[np.isinf(extent)] = 0.0
    every = np.concatenate(points) if points else np.zeros((0, 3))
    return ShapeTables(
        shapes, sizes, cores, np.ascontiguousarray(every), starts, candidates.pairs, reach, extent
    )


def _bounds(solid: Solid) -> tuple[Float, Float, Float, float]:
    """Centre, half sizes and orientation of a box around a shape, and radius of its sphere."""
    core = solid.core
    assert core is not None
    turn = _axes_of(solid)
    R = rotation.to_matrix(turn)  # columns are the axes of the box
    local, axis = core.points @ R, core.axis @ R
    more = core.radius + core.rim * np.sqrt(np.maximum(0.0, 1.0 - axis**2))
    low, high = local.min(axis=0) - more, local.max(axis=0) + more
    centre = R @ (0.5 * (low + high))
    arms = core.points - centre
    along = arms @ core.axis
    across = np.linalg.norm(arms - along[:, None] * core.axis, axis=1) + core.rim
    radius = float(np.hypot(along, across).max()) + core.radius
    return centre, 0.5 * (high - low), turn, radius


def _axes_of(solid: Solid) -> Float:
    """Axes along which a shape is bounded: those of a box, z along an axis of symmetry."""
    core, shape, turn = solid.core, solid.shape, np.array([1.0, 0.0, 0.0, 0.0])
    assert core is not None
    while hasattr(shape, "parts"):
        turn = rotation.multiply(turn, shape.parts[0].orientation)
        shape = shape.parts[0].shape
    if len(core.points) == 2:
        way = core.points[1] - core.points[0]
        return rotation.align(np.array([0.0, 0.0, 1.0]), way)
    return turn


@dataclass(frozen=True, slots=True, eq=False)
class Watch:
    """Where the near pairs of a run were found, and how far the n bodies may travel from there.

    Attributes
    ----------
    start : ndarray of float, shape (7 n,)
        Poses of the bodies.
    allowance : ndarray of float, shape (n,)
        Distance that each of them may travel, m.
    """

    start: Float
    allowance: Float

    def arrays(self, reach: Float, state: Float, work: Float, info: Float) -> tuple[Any, ...]:
        """Tuple for `dynamics.kernels.collisions.watch`."""
        before = np.empty(state.size), np.empty(work.size), np.empty(info.size)
        ways, flags = np.zeros(reach.size), np.zeros(2, np.int64)
        return (self.start, reach, self.allowance, ways, flags, *before)


def given_of(plan: Ints, work: Float) -> Float:
    """Users' impulses of the last interval in the workspace of a step of order 2.

    Parameters
    ----------
    plan : ndarray of int
    work : ndarray of float

    Returns
    -------
    ndarray of float, shape (6 n,)
    """
    n, rows, every = (int(plan[i]) for i in (layout.BODIES, layout.ROWS, layout.ALL_ROWS))
    m = layout.TWIST * n
    at = 2 * layout.node_size(n, every, int(plan[layout.WRENCHES]))
    at += (3 + layout.STORED) * (m + rows) + 4 * m
    return work[at : at + m]
