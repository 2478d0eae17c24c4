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
from dynamics.kernels.collisions import watch as watching
from dynamics.parts.bodies import WORLD
from dynamics.parts.collisions import Candidates, Solid
from dynamics.parts.separating_planes import SIDES

__all__ = ["Search", "ShapeTables", "Watch", "shape_tables"]

Float = NDArray[np.float64]
Ints = NDArray[np.int64]
#: `NearModel.placing` without planes.
NO_PLANES = (
    np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 2), np.int64),
    np.zeros((0, 2)),
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class ShapeTables:
    """S shapes of n bodies, with k points in all.

    Attributes
    ----------
    bounds : Shapes
        See `dynamics.kernels.collisions.broad_phase`.
    cores : ndarray of float, shape (S, CORE_SIZE)
        See `dynamics.kernels.collisions.gjk`.
    points : ndarray of float, shape (k, 3)
        Of the shapes' hulls, in the frames of their bodies, m.
    starts : ndarray of int, shape (S + 1,)
        Points of a shape.
    """

    bounds: broad_phase.Shapes
    cores: Float
    points: Float
    starts: Ints

    @property
    def solids(self) -> tuple[Any, ...]:
        """Tables of `gjk.separate`."""
        return self.points, self.starts, self.cores, self.bounds.shapes

    def margins(self, pairs: Ints) -> Float:
        """By how much prisms, which contacts of two rounded shapes see, are larger than these.

        Parameters
        ----------
        pairs : ndarray of int, shape (k, 2)
            Of shapes.

        Returns
        -------
        ndarray of float, shape (k, 2)
            m.
        """
        rim, radius = self.cores[pairs, gjk.RIM], self.cores[pairs, gjk.ROUND]
        rounded = ((rim > 0.0) | (radius > 0.0)).all(axis=1)
        wider: Float = rim * (rounded[:, None] * (1.0 / np.cos(np.pi / SIDES) - 1.0))
        return wider

    def grid(self) -> broad_phase.Grid:
        """Work of a search for near pairs."""
        count, pairs = len(self.bounds.shapes), len(self.bounds.pairs)
        return broad_phase.Grid(
            placed=np.zeros((count, broad_phase.PLACED_SIZE)),
            cells=np.zeros((count, broad_phase.CELL_FIELDS), np.int64),
            first=np.zeros(4 << count.bit_length(), np.int64),
            following=np.zeros(count, np.int64),
            largest=np.zeros(broad_phase.LEVELS),
            found=np.zeros(pairs, np.int64),
            counts=np.zeros(broad_phase.COUNTS, np.int64),
        )


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
    every = np.concatenate(points) if points else np.zeros((0, 3))
    open_pairs = shapes[candidates.pairs, broad_phase.HALF_SPACE].any(axis=1)
    bounds = broad_phase.Shapes(
        shapes, sizes, candidates.pairs, *_partners(candidates.pairs, ~open_pairs, count),
        np.flatnonzero(open_pairs), reach, extent,
    )  # fmt: skip
    return ShapeTables(bounds, cores, np.ascontiguousarray(every), starts)


def _partners(pairs: Ints, convex: NDArray[np.bool_], count: int) -> tuple[Ints, Ints, Ints]:
    """Starts, partners and numbers of the pairs of convex shapes: see `broad_phase.Shapes`."""
    number = np.flatnonzero(convex)
    one, two = np.sort(pairs[number], axis=1).T
    order = np.lexsort((two, one))
    return np.searchsorted(one[order], np.arange(count + 1)), two[order], number[order]


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


class Search:
    """Search for near pairs in a run, from time to time: all arrays of its watch but one.

    Parameters
    ----------
    shapes : ShapeTables
    """

    def __init__(self, shapes: ShapeTables) -> None:
        self.reach, self.grid = shapes.bounds.reach, shapes.grid()
        n = len(self.reach)
        self.start, self.allowance, self.ways = np.zeros(layout.POSE * n), np.zeros(n), np.zeros(n)
        self.flags = np.zeros(watching.FLAGS_SIZE, np.int64)
        self.near = np.zeros(len(shapes.bounds.pairs), np.int64)
        self.parts = np.zeros(2)
        self.rule = self.parts, tuple(shapes.bounds), tuple(self.grid)
        self.solids, self._before = shapes.solids, np.empty(0)

    def begin(self, steps: float, part: float, watch: Watch | None, numbers: Ints) -> None:
        """Go on from a watch.

        Parameters
        ----------
        steps, part : float
            Of allowances: see `dynamics.kernels.collisions.broad_phase.give_allowances`.
        watch : Watch, optional
        numbers : ndarray of int, shape (k,)
            Pairs that are near.
        """
        self.parts[:] = steps, part
        self.ways[:], self.flags[:] = 0.0, 0
        self.near[: len(numbers)] = numbers
        self.flags[watching.COUNT] = len(numbers)
        if watch is not None:
            self.start[:], self.allowance[:] = watch.start, watch.allowance

    @property
    def watch(self) -> Watch:
        """Copy of where the near pairs were found."""
        return Watch(self.start.copy(), self.allowance.copy())

    @property
    def pairs(self) -> tuple[int, ...]:
        """Near pairs, ascending."""
        return tuple(self.near[: self.flags[watching.COUNT]].tolist())

    def arrays(
        self,
        state: int = 0,
        given: tuple[int, int] = (0, 0),
        info: int = 0,
        placing: Any = NO_PLANES,
    ) -> Any:
        """Tuple for `dynamics.kernels.collisions.watch`, which keeps so many numbers of each.

        ``given`` is that of the `Workspace`.
        """
        size = state + given[1] - given[0] + info
        if size > self._before.size:  # new memory would cost a page fault each 4 kB
            self._before = np.empty(2 * size)
        self.flags[watching.GIVEN_AT] = given[0]
        before = [self._before[:state], self._before[state : size - info],
                  self._before[size - info : size]]  # fmt: skip
        planes = self.solids, placing, np.zeros(len(placing[0]), np.int64), np.empty(5)
        return (
            self.start, self.reach, self.allowance, self.ways, self.flags, self.near, *before,
            self.rule, planes,
        )  # fmt: skip
