"""Engines of a batch: eight systems side by side in vector lanes, or one after another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphsys.errors import SingularPivotError
from graphsys.kernels import work_sizes
from graphsys.kernels.base.layout import SHORT, WIDEST, is_nodal
from graphsys.kernels.batch import groups as compiled
from graphsys.kernels.batch.ldu import factorize_groups, schedule
from graphsys.kernels.batch.nodal_ldu import node_room, solve_nodes
from graphsys.kernels.batch.scalar_ldu import (
    factorize_scalar_groups,
    solve_scalar_groups,
    solve_scalars_once,
)
from graphsys.kernels.batch.substitution import panel_room
from graphsys.kernels.single.refinement import FINE, GOOD, REACHED, refined_work
from graphsys.matrix.vectors import aligned
from graphsys.numeric.factorization import SINGULAR_RATIO
from graphsys.numeric.residuals import REFINEMENTS, Matrix, joined_tables
from graphsys.numeric.scalar_lanes import (
    ScalarArrays,
    ScalarTables,
    has_scalar_table,
)
from graphsys.numeric.solver import Solver
from graphsys.numeric.threads import share
from graphsys.symbolic import Symbolic

Array = NDArray[Any]

#: Systems side by side, one in each lane of a vector.
LANES = 8
#: Most bytes of the factors of so many systems. Chains of 1,000 nodes of 6 (7 MB) take 0.93 of the
#: time of one after another, nets of 100 nodes of 6 (3 MB) a half, chains of 2,000 1.2 times.
LANES_BYTES = 2**23
#: Bytes of the factors of so many systems of single rows that stay in the second cache: chains of
#: 20,000 rows, 4 MB, take 1.1 times as long by their depth, shorter ones 0.7 to 0.9 of the time.
CACHE_BYTES = 2**21
#: The same for single rows, which are read in order: 256 chains of 100,000 rows take a third of the
#: time of one after another, circuits of 10,000 rows a fifth. It bounds the workspace.
SCALAR_BYTES = 2**27
#: Largest pivot block that is inverted in the lanes.
LANES_ROWS = 8
#: What may go wrong with one system; the others are solved all the same.
FAILURES = (SingularPivotError, ValueError, OverflowError)


def engine_for(symbolic: Symbolic, count: int, dtype: np.dtype[Any]) -> Engine:
    """The faster engine: lanes for small blocks and factors that stay in the second cache.

    Lanes fill the processor by themselves. Branches by turns would take up to 1.5 times as long:
    chains of 200 nodes with blocks of 3, 100 with blocks of 4.
    """
    if not lanes_fit(symbolic, dtype):
        return Each(symbolic, count, dtype)
    symbolic = order_of_lanes(symbolic, dtype)
    lanes = ScalarLanes if has_scalar_table(symbolic.program) else Lanes
    return lanes(symbolic, count, dtype)


def order_of_lanes(symbolic: Symbolic, dtype: np.dtype[Any]) -> Symbolic:
    """Postorder, unless factors of single rows by their depth stay in the second cache.

    That would save nothing there, but the analysis of another order. Beyond, planar networks of
    20,000 rows and chains of 100,000 by their depth take 1.3 times as long.
    """
    small = LANES * symbolic.arena_size * dtype.itemsize <= CACHE_BYTES
    return symbolic if small and has_scalar_table(symbolic.program) else symbolic.in_postorder


def lanes_fit(symbolic: Symbolic, dtype: np.dtype[Any]) -> bool:
    """True if eight systems side by side are faster than one after another."""
    most = SCALAR_BYTES if has_scalar_table(symbolic.program) else LANES_BYTES
    fits = LANES * symbolic.arena_size * dtype.itemsize <= most
    return bool(fits and symbolic.program[WIDEST] <= LANES_ROWS and dtype.kind == "f")


class Engine(ABC):
    """Factors of many systems.

    Attributes
    ----------
    symbolic : Symbolic
    count : int
        Systems.
    dtype : dtype
    tolerance : float
        Pivot ratio below which a pivot is singular.
    largest_error : float
        Backward error up to which a refined solution is good.
    pivot_ratio, growth : ndarray, shape (count,) or longer
        Smallest pivot ratio of each system, and the growth of its pivot blocks where that is a
        reason to check solutions.
    """

    largest_error: float
    pivot_ratio: Array
    growth: Array

    def __init__(self, symbolic: Symbolic, count: int, dtype: np.dtype[Any]) -> None:
        self.symbolic, self.count, self.dtype = symbolic, count, dtype
        self.tolerance = SINGULAR_RATIO * float(np.finfo(dtype).eps)

    def trusted(self) -> NDArray[np.bool_]:
        """Systems without a singular pivot, shape (count,)."""
        return np.asarray(self.pivot_ratio[: self.count] > self.tolerance)

    def doubtful(self, below: float) -> NDArray[np.bool_]:
        """Systems with a pivot ratio below a bound, or whose pivot blocks grew, shape (count,)."""
        grown = self.growth[: self.count] > 0.0
        return np.asarray((self.pivot_ratio[: self.count] < below) | (grown & (below > 0.0)))

    @abstractmethod
    def factorize(self, values: Array, threads: int) -> None:
        """Factors of all systems."""

    @abstractmethod
    def solve(
        self, values: Array, b: Array, trans: str, below: float, threads: int
    ) -> tuple[Array, Array]:
        """Solutions and backward errors; refined where the pivot ratio is below a bound."""


class GroupArrays(NamedTuple):
    """Work arrays of a thread of `Lanes`.

    Attributes
    ----------
    columns : int
        Right-hand sides.
    magnitude, x, arena : ndarray
        For one group of systems.
    """

    columns: int
    magnitude: Array
    x: Array
    arena: Array


class Lanes(Engine):
    """Eight systems at a time in the lanes of vectors."""

    def __init__(self, symbolic: Symbolic, count: int, dtype: np.dtype[Any]) -> None:
        super().__init__(symbolic, count, dtype)
        self.largest_error = GOOD * float(np.finfo(dtype).eps)
        self.padded = max(count, LANES)  # a group of less than eight has the last system again
        self.groups = -(-count // LANES)
        self.nodal = is_nodal(symbolic.program, dtype)
        self.rows = symbolic.graph.rows
        self.room = panel_room(symbolic.program)
        self.pivot_ratio, self.growth = np.ones((2, self.padded), dtype)
        self.arena = np.zeros(0, dtype)
        self.idle: list[GroupArrays] = []

    def sure(self, below: float) -> bool:
        """True if no system of the last `solve_once` has a doubtful pivot, or a ratio below."""
        return bool(self.trusted().all() and not self.doubtful(below).any())

    @cached_property
    def tables_of_groups(self) -> tuple[Array, Array]:
        """Program and schedule of `factorize_groups`."""
        program = self.symbolic.supernodal_program
        return program, schedule(program)

    def _arrays(self, columns: int) -> GroupArrays:
        """One that no thread uses, for so many right-hand sides; 0 where factors are kept."""
        try:
            own = self.idle.pop()
            if own.columns == columns:
                return own
        except IndexError:
            pass
        size = self.symbolic.arena_size
        if self.nodal:
            size += node_room(self.symbolic.program)
        return GroupArrays(
            columns,
            aligned(LANES * 2 * self.rows, self.dtype),
            aligned(LANES * (self.rows + self.room) * columns, self.dtype),
            aligned(LANES * size if columns > 0 else 0, self.dtype),
        )

    def _pad(self, array: Array) -> Array:
        missing = self.padded - self.count
        if missing:
            array = np.concatenate([array, *[array[-1:]] * missing])
        return array.reshape(-1)

    def factorize(self, values: Array, threads: int) -> None:
        """Factors of all systems."""
        if self.arena.size == 0:
            self.arena = aligned(LANES * self.groups * self.symbolic.arena_size, self.dtype)
        self._factorize(values, threads, None, 0)

    def solve_once(self, values: Array, b: Array, threads: int) -> Array:
        """Solutions, unrefined; the factors are not kept."""
        columns = b.shape[2] if b.ndim == 3 else 1
        if columns == 0:  # their pivots are checked all the same
            self._factorize(values, threads, self._pad(np.zeros(b.shape[:2], b.dtype)), 1)
            return np.empty_like(b)
        out = self._factorize(values, threads, self._pad(b), columns)
        return out[: b.size].reshape(b.shape)

    def solve_each(
        self, values: Array, b: Array, below: float, threads: int
    ) -> tuple[Array, Array]:
        """Solutions one by one, those with pivot ratios below a bound refined, and their errors.

        Factors are not kept. An error is infinite where a solution is not good, NaN where no
        pivot is doubtful.
        """
        program, joined = self.symbolic.program, joined_tables(self.symbolic.graph)
        flat, right, eps = values.ravel(), b.ravel(), float(np.finfo(self.dtype).eps)
        out, error = np.empty_like(right), np.empty(self.count)
        length, magnitudes, _ = work_sizes(program, 1)

        def work(first: int, last: int) -> None:
            magnitude, arena, place = (
                np.empty(size, self.dtype)
                for size in (magnitudes, length, refined_work(program, 1))
            )
            compiled.refine_each(
                joined, program, flat, self.count, first, last, self.tolerance, below, right,
                eps, REFINEMENTS, magnitude, place, arena, np.zeros(3),
                self.pivot_ratio, self.growth, error, out,
            )  # fmt: skip

        share(threads, self.count, work)
        return out.reshape(b.shape), error

    def _factorize(self, values: Array, threads: int, b: Array | None, columns: int) -> Array:
        flat, nothing = self._pad(values), np.empty(0, self.dtype)
        out = nothing if b is None else np.empty_like(b)

        def work(first: int, last: int) -> None:
            own = self._arrays(columns)
            if b is not None and self.nodal:
                solve_nodes(
                    self.symbolic.program, flat, self.padded, first, last, b, columns,
                    own.magnitude, own.x, own.arena, self.pivot_ratio, self.growth, out,
                )  # fmt: skip
            else:
                factorize_groups(
                    *self.tables_of_groups, flat, self.padded, first, last,
                    nothing if b is None else b, columns, own.magnitude, own.x,
                    self.arena if b is None else own.arena, self.pivot_ratio, self.growth, out,
                )  # fmt: skip
            self.idle.append(own)

        share(threads, self.groups, work)
        return out

    def solve(
        self, values: Array, b: Array, trans: str, below: float, threads: int
    ) -> tuple[Array, Array]:
        """Solutions and backward errors."""
        columns = b.shape[2] if b.ndim == 3 else 1
        every = np.arange(self.groups)
        x = self._substitute(self._pad(b), columns, trans != "N", every, threads)
        x = x[: b.size].reshape(b.shape)
        error = np.full(self.count, np.nan)
        some = np.flatnonzero(self.trusted() & self.doubtful(below))
        if some.size:
            with np.errstate(all="ignore"):  # a solution that is not finite has an infinite error
                x[some], error[some] = self._refined(values, b, x, trans != "N", some, threads)
        return x, error

    def _substitute(
        self, b: Array, columns: int, transposed: bool, groups: Array, threads: int
    ) -> Array:
        out = np.empty_like(b)

        def work(first: int, last: int) -> None:
            compiled.solve_groups(
                self.symbolic.program, self.arena, self.padded, groups, first, last, transposed,
                b, columns, aligned(LANES * (self.rows + self.room) * columns, self.dtype), out,
            )  # fmt: skip

        share(threads, groups.size, work)
        return out

    def _refined(
        self, values: Array, b: Array, x: Array, transposed: bool, some: Array, threads: int
    ) -> tuple[Array, Array]:
        """Solutions of some systems, refined until the backward error is at rounding or stalls."""
        graph, columns = self.symbolic.graph, b.shape[2] if b.ndim == 3 else 1
        right, known = self._by_columns(b[some]), self._by_columns(x[some])
        eps = float(np.finfo(self.dtype).eps)
        sizes = np.empty(2 * max(self.rows, LANES), self.dtype)
        errors = np.empty((2, some.size * columns))

        def check(x: Array) -> tuple[Array, Array, Array]:
            r = np.empty_like(right)
            compiled.backward_errors(
                graph.tables(), self.symbolic.program, values.ravel(), graph.nnz, some, transposed,
                right.ravel(), x.ravel(), eps, sizes, r.reshape(-1), errors,
            )  # fmt: skip
            error, strict = errors.reshape(2, some.size, columns).copy()
            return r, error, strict

        residual, error, strict = check(known)
        active = (error > REACHED * eps) & ~(strict <= FINE * eps)
        last = np.full(error.shape, np.inf)
        for _ in range(REFINEMENTS):
            if not active.any():
                break
            full = np.zeros((self.padded, *b.shape[1:]), self.dtype)
            full[some] = self._by_rows(residual, b)
            groups = np.unique(some[active.any(axis=1)] // LANES)
            step = self._substitute(full.ravel(), columns, transposed, groups, threads)
            change = self._by_columns(step.reshape(full.shape)[some])
            trial, correction = known + change, np.abs(change).max(axis=2, initial=0.0)
            following, new, stricter = check(trial)
            converging = (new <= error / 2.0) | (correction <= last / 2.0)  # see `refine`
            better = active & ((new < error) | (converging & (new < np.inf)))
            active &= converging & better & (new > REACHED * eps) & ~(stricter <= FINE * eps)
            known[better], residual[better] = trial[better], following[better]
            error[better], strict[better], last = new[better], stricter[better], correction
        error[~(strict <= GOOD * eps)] = np.inf  # errors of small unknowns may be invisible
        return self._by_rows(known, b), error.max(axis=1, initial=0.0)

    def _by_columns(self, x: Array) -> Array:
        """Array of shape (systems, k, N)."""
        return np.ascontiguousarray(x.swapaxes(1, 2) if x.ndim == 3 else x[:, None, :])

    def _by_rows(self, x: Array, b: Array) -> Array:
        return x.swapaxes(1, 2) if b.ndim == 3 else x[:, 0]


class ScalarLanes(Lanes):
    """Single rows of eight systems at a time, factorized node by node in place of the matrix."""

    def __init__(self, symbolic: Symbolic, count: int, dtype: np.dtype[Any]) -> None:
        super().__init__(symbolic, count, dtype)
        self.tables = ScalarTables.of(symbolic.program, symbolic.graph.nnz)
        self.padded = count  # the kernels read the last system again
        self.pivot_ratio, self.growth = np.ones((2, count), dtype)
        self.short = bool(symbolic.program[SHORT] > 0)
        self.spare: list[ScalarArrays] = []

    def factorize(self, values: Array, threads: int) -> None:
        """Factors of all systems."""
        if self.arena.size == 0:
            self.arena = aligned(LANES * self.groups * self.tables.vectors, self.dtype)
        tables, flat = self.tables, values.ravel()

        def work(first: int, last: int) -> None:
            with tables.arrays(self.spare, self.dtype, 1) as own:
                factorize_scalar_groups(
                    tables.table, tables.place, flat, self.count, first, last, self.short,
                    own.magnitude, own.state, self.arena, self.pivot_ratio, self.growth,
                )  # fmt: skip

        share(threads, self.groups, work)

    def solve_once(self, values: Array, b: Array, threads: int) -> Array:
        """Solutions, unrefined; the factors are not kept."""
        columns = b.shape[2] if b.ndim == 3 else 1
        if columns == 0:  # their pivots are checked all the same
            self.solve_once(values, np.zeros(b.shape[:2], b.dtype), threads)
            return np.empty_like(b)
        tables, flat, right, out = self.tables, values.ravel(), b.ravel(), np.empty_like(b)
        row = tables.vectors_of(columns)

        def work(first: int, last: int) -> None:
            with tables.arrays(self.spare, self.dtype, columns) as own:
                solve_scalars_once(
                    tables.table, tables.place, row, flat, self.count, first, last, self.short,
                    right, own.magnitude, own.x, own.v, own.state, self.pivot_ratio, self.growth,
                    out.reshape(-1),
                )  # fmt: skip

        share(threads, self.groups, work)
        return out

    def _substitute(
        self, b: Array, columns: int, transposed: bool, groups: Array, threads: int
    ) -> Array:
        tables, row, out = self.tables, self.tables.vectors_of(columns), np.zeros_like(b)

        def work(first: int, last: int) -> None:
            with tables.arrays(self.spare, self.dtype, columns) as own:
                solve_scalar_groups(
                    tables.table, row, self.arena, self.count, groups, first, last, transposed,
                    b, own.x, own.state, out,
                )  # fmt: skip

        share(threads, groups.size, work)
        return out


class Each(Engine):
    """One system after another, in compiled code."""

    def __init__(self, symbolic: Symbolic, count: int, dtype: np.dtype[Any]) -> None:
        super().__init__(symbolic, count, dtype)
        self.largest_error = float(np.finfo(dtype).max)  # whatever `Solver` accepts
        self.pivot_ratio, self.growth, self.weakest = np.ones((3, count))
        self.arena = np.empty(count * symbolic.arena_size, dtype)
        self.program = symbolic.program_for(dtype)

    def factorize(self, values: Array, threads: int) -> None:
        """Factors of all systems."""
        program = self.program
        flat = values.ravel()
        real = np.zeros(0, self.dtype).real.dtype

        def work(first: int, last: int) -> None:
            compiled.factorize_each(
                program, flat, self.count, first, last, self.tolerance,
                np.empty(work_sizes(program, 1)[1], real), np.zeros(3),
                self.arena, self.pivot_ratio, self.growth, self.weakest,
            )  # fmt: skip

        share(threads, self.count, work)

    def solve(
        self, values: Array, b: Array, trans: str, below: float, threads: int
    ) -> tuple[Array, Array]:
        """Solutions and backward errors."""
        program, conjugate = self.program, trans == "H" and self.dtype.kind == "c"
        columns = b.shape[2] if b.ndim == 3 else 1
        right = (b.swapaxes(1, 2) if b.ndim == 3 else b).ravel()
        right = right.conj() if conjugate else right
        out, error = np.empty_like(right), np.full(self.count, np.nan)

        def work(first: int, last: int) -> None:
            x = np.empty(work_sizes(program, columns)[2], self.dtype)
            compiled.solve_each(
                program, self.arena, first, last, trans != "N", right, columns, x, out
            )

        share(threads, self.count, work)
        out = out.conj() if conjugate else out
        shaped = out.reshape(b.swapaxes(1, 2).shape).swapaxes(1, 2) if b.ndim == 3 else out
        x = np.ascontiguousarray(shaped).reshape(b.shape)
        for i in np.flatnonzero(self.trusted() & self.doubtful(below)).tolist():
            x[i], error[i] = self._refined(i, values[i], b[i], trans)
        return x, error

    def _refined(self, i: int, values: Array, b: Array, trans: str) -> tuple[Any, float]:
        """Refined solutions of one system; an infinite error where that is not possible."""
        size, matrix = self.symbolic.arena_size, Matrix(self.symbolic.graph, values)
        arena = self.arena[i * size : (i + 1) * size]
        ratio, weakest = float(self.pivot_ratio[i]), int(self.weakest[i])
        try:
            solver = Solver(self.symbolic, arena, matrix, ratio, weakest, None)
            x, report = solver.columns(b, trans)
        except FAILURES:
            return np.nan, np.inf
        good = GOOD * float(np.finfo(self.dtype).eps)
        if not (report.componentwise_error or 0.0) <= good:
            return x, np.inf  # another order may do better
        return x, report.backward_error or 0.0
