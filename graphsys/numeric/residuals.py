"""Accuracy of solutions: residuals, norms, backward errors, iterative refinement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.kernels.base.widths import LANES
from graphsys.kernels.single.matrix import (
    absolute_sums,
    is_symmetric,
    raise_sizes,
    subtract_matrix_product,
)
from graphsys.kernels.single.refinement import (
    CANCELLED,
    FINE,
    FLOOR,
    REACHED,
    add_small,
    refine,
    refined_work,
    residual_error,
)
from graphsys.matrix import from_scipy
from graphsys.matrix.block import HERMITIAN, SYMMETRY_ULP
from graphsys.matrix.graph import BlockGraph

Array = NDArray[Any]
Ints = NDArray[np.int64]

#: Machine epsilon, of all types of numbers that there are.
EPS = {
    np.dtype(t): float(np.finfo(t).eps)
    for t in (np.float32, np.float64, np.complex64, np.complex128)
}
#: Multiples of it modulo 1 repeat nowhere.
GOLDEN = (5.0**0.5 - 1.0) / 2.0
#: Norms of a matrix that are not yet known.
UNKNOWN = (-1.0, -1.0)
#: Most steps of iterative refinement in one solve, and where all rows have to be good.
REFINEMENTS, STRICT_REFINEMENTS = 5, 2


@dataclass(slots=True, eq=False)
class Matrix:
    """A matrix to check solutions with.

    Attributes
    ----------
    graph : BlockGraph
    values : ndarray, shape (graph.nnz,)
    norms : list of float, length 2
        Maximum norms of A and of its transpose (the 1-norm of A); negative where not yet known.
    strict : bool
        Whether errors count in all rows, without `FLOOR`: unknowns differ by many magnitudes.
    lost : float
        Bound on errors of the inverse by its factors, see `Factorization.checked`; negative where
        not yet known.
    refinable : bool or None
        `Factorization.can_refine` of its factors; None where not yet known.
    hidden : bool or None
        `Factorization.hides_errors` of its factors; None where not yet known.
    """

    graph: BlockGraph
    values: Array
    norms: list[float] = field(default_factory=lambda: [*UNKNOWN])
    strict: bool = False
    lost: float = -1.0
    refinable: bool | None = None
    hidden: bool | None = None

    def replace(self, values: Array) -> None:
        """Hold a copy of other values.

        Parameters
        ----------
        values : ndarray, shape (graph.nnz,)
        """
        self.values[...] = values
        self.forget()

    def forget(self) -> None:
        """Forget what is known of the values: they are those of another matrix."""
        self.norms[:] = UNKNOWN
        self.lost, self.refinable, self.hidden = -1.0, None, None

    def sums(self, transposed: bool) -> Array:
        """Sums of |A| along its rows, or along its columns."""
        sums = np.empty(self.graph.rows, self.values.real.dtype)
        absolute_sums(*self.graph.tables(), self.values, transposed, sums)
        return sums

    def norm(self, transposed: bool) -> float:
        """Maximum norm of A, or of its transpose (the 1-norm of A); computed once."""
        if self.norms[transposed] < 0.0:
            self.norms[transposed] = float(self.sums(transposed).max(initial=0))
        return self.norms[transposed]

    def residual(self, b: Array, x: Array, count: int, transposed: bool) -> Array:
        """b - A x (or A^T x) for ``count`` columns, flat."""
        r = b.copy()
        rows = b.size // max(count, 1)
        for j in range(count):
            subtract_matrix_product(*self.graph.tables(), self.values, transposed, x, j * rows, r)
        return r

    def backward_error(self, r: Array, b: Array, x: Array, count: int, transposed: bool) -> float:
        """Largest ``|r| / (|A| |x| + |b|)`` of the columns, in the maximum norm."""
        if r.size == 0:
            return 0.0
        r, b, x = (np.abs(v.reshape(count, -1)).max(axis=1) for v in (r, b, x))
        return float(np.max(relative_residual(r, self.norm(transposed), x, b)))

    def sizes(self, x: Array, count: int, transposed: bool) -> Array:
        """|A| |x| (or |A^T| |x|) for ``count`` columns, flat."""
        rows = self.graph.rows
        sizes = np.zeros((count, 2 * rows))
        for j in range(count):
            raise_sizes(self.graph.tables(), self.values, transposed, x, j * rows, sizes[j])
        return np.ascontiguousarray(sizes[:, :rows]).ravel()

    def refine(
        self, program: Ints, arena: Array, b: Array, x: Array, count: int, transposed: bool
    ) -> tuple[int, float, float]:
        """Refine x in place until its backward error is at rounding level or stalls.

        Returns the steps taken, the backward error, and the backward error with rows that contain
        only rounding errors; infinity where a step overflows.
        """
        work, info = np.empty(refined_work(program, count), x.dtype), np.empty(3)
        failed = refine(
            self.graph.tables(), program, arena, self.values, EPS[x.dtype],
            *refinement_limits(x.dtype, self.strict), transposed, b, count, work, x, info,
        )  # fmt: skip
        steps, error, strict = info.tolist()
        return int(steps), np.inf if failed else error, np.inf if failed else strict

    def refine_with(
        self,
        solve: Callable[[Array, int, bool], Array],
        b: Array,
        x: Array,
        count: int,
        transposed: bool,
    ) -> tuple[int, float, float]:
        """`refine` by any ``solve(b, count, transposed)``."""
        r, error, strict = self.errors(b, x, count, transposed)
        steps, last, eps, first = 0, np.inf, EPS[x.dtype], strict
        while error > REACHED * eps and not strict <= FINE * eps and steps < REFINEMENTS:
            change = solve(r, count, transposed)
            if not np.isfinite(change).all():
                return steps, np.inf, np.inf
            if first < 1.0 and add_small(x, change, REACHED * eps ** (1.0 + CANCELLED) / first):
                return steps + 1, REACHED * eps, REACHED * eps
            size = float(np.abs(change).max(initial=0.0))
            new_r, new_error, new_strict = self.errors(b, x + change, count, transposed)
            converging = new_error <= error / 2.0 or size <= last / 2.0
            if not (new_error < error or (converging and new_error < np.inf)):
                break
            x += change
            r, error, strict = new_r, new_error, new_strict
            steps, last = steps + 1, size
            if not converging:
                break
        return steps, error, strict

    def errors(
        self, b: Array, x: Array, count: int, transposed: bool
    ) -> tuple[Array, float, float]:
        """b - A x, and the largest backward errors of its columns: see `residual_error`."""
        r, graph = np.empty_like(b), self.graph
        sizes = np.empty(2 * max(graph.rows, LANES), x.dtype)
        error, strict = residual_error(
            graph.tables(), int(graph.size.max(initial=0)), self.values, transposed, b, count, x,
            EPS[x.dtype], refinement_limits(x.dtype, self.strict)[0], np.inf, sizes, r,
        )  # fmt: skip
        return r, error, strict


def refinement_limits(dtype: np.dtype[Any], strict: bool) -> tuple[float, int]:
    """Floor of the backward error relative to the largest unknown, and most steps."""
    return (0.0, STRICT_REFINEMENTS) if strict else (EPS[dtype] ** FLOOR, REFINEMENTS)


def relative_residual(of_r: Array, norm: Any, of_x: Array, of_b: Array) -> Array:
    """``|r| / (|A| |x| + |b|)`` of norms; NaN, and never 0, where the norm of A overflows.

    Parameters
    ----------
    of_r, norm, of_x, of_b : ndarray or float
        Norms of the residual, the matrix, the solution and the right-hand side.
    """
    with np.errstate(over="ignore"):
        size = norm * of_x + of_b
    finite = np.isfinite(size)
    quotient = of_r / np.where(finite & (size > 0.0), size, 1.0)
    with np.errstate(all="ignore"):
        beyond = np.where(np.isfinite(norm), of_r / of_x / norm, np.nan)
    return np.where(of_r == 0.0, 0.0, np.where(finite, quotient, beyond))


def check_symmetric(graph: BlockGraph, values: Array, symmetric: bool | str = True) -> None:
    """Compare blocks to the last bit, else A x with A^T x or A^H x for one x without a pattern.

    Parameters
    ----------
    graph : BlockGraph
    values : ndarray, shape (graph.nnz,)
    symmetric : bool or str, optional
        Of the system.

    Raises
    ------
    ValueError
        If a block is not finite, or not the transpose of its counterpart up to rounding.
    """
    same = values.dtype.kind != "c" and is_symmetric(*graph.tables(), values)
    if same and np.isfinite(values).all():
        return
    matrix = Matrix(graph, values)
    zero, x = np.zeros((2, graph.rows), values.dtype)
    x[:] = 1.0 + np.arange(graph.rows) * GOLDEN % 1.0
    size = -Matrix(graph, np.abs(values)).residual(zero.real.copy(), x.real.copy(), 1, False)
    with np.errstate(all="ignore"):
        across = matrix.residual(zero, x, 1, True)
        gap = matrix.residual(zero, x, 1, False)
        gap -= across.conj() if symmetric == HERMITIAN else across  # x is real
        alike = np.abs(gap) <= SYMMETRY_ULP * EPS[values.dtype] * size
    if not alike.all():
        from_scipy.check_finite(graph, values)
        from_scipy.symmetric_values(graph, values, symmetric)


def joined_tables(graph: BlockGraph) -> NDArray[np.int64]:
    """`BlockGraph.tables` in one array, after the numbers of nodes and of neighbors."""
    joined = np.concatenate([[graph.size.size, graph.neighbor.size], *graph.tables()])
    joined.setflags(write=False)  # a kernel is compiled for each kind of array
    return joined
