"""How good a solution is: residuals, norms, backward errors; and the pivots of a factorization."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.graph import BlockGraph
from graphsys.kernels.matrix import absolute_sums, subtract_matrix_product
from graphsys.kernels.solve import pivot_blocks

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Norms:
    """Largest absolute row sum and column sum of a matrix."""

    rows: float
    columns: float


def norms(graph: BlockGraph, values: Array) -> Norms:
    """Maximum norm and 1-norm.

    Parameters
    ----------
    graph : BlockGraph
    values : ndarray, shape (graph.nnz,)

    Returns
    -------
    Norms
    """
    of_rows, of_columns = np.zeros((2, int(graph.row_start[-1])), values.real.dtype)
    absolute_sums(*_tables(graph), values, of_rows, of_columns)
    return Norms(float(of_rows.max(initial=0.0)), float(of_columns.max(initial=0.0)))


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix to check solutions with: its graph, blocks and norms."""

    graph: BlockGraph
    values: Array
    norms: Norms

    def residual(self, b: Array, x: Array, count: int, transposed: bool) -> Array:
        """b - A x (or A^T x) for ``count`` columns, flat."""
        r = b.copy()
        rows = b.size // max(count, 1)
        for j in range(count):
            subtract_matrix_product(*_tables(self.graph), self.values, transposed, x, j * rows, r)
        return r

    def backward_error(self, r: Array, b: Array, x: Array, count: int, transposed: bool) -> float:
        """Largest ``|r| / (|A| |x| + |b|)`` of the columns, in the maximum norm."""
        if r.size == 0:
            return 0.0
        r, b, x = (np.abs(v.reshape(count, -1)).max(axis=1) for v in (r, b, x))
        norm = self.norms.columns if transposed else self.norms.rows
        size = norm * x + b
        return float(np.max(np.where(r == 0.0, 0.0, r / np.where(size == 0.0, 1.0, size))))


def pivot_inverses(program: NDArray[np.int64], arena: Array) -> Iterator[Array]:
    """Inverses of all pivot blocks, those of one size w together.

    Parameters
    ----------
    program : ndarray of int
    arena : ndarray
        Factors.

    Yields
    ------
    ndarray, shape (count, w, w)
    """
    at, ld, w = pivot_blocks(program)
    for size in np.unique(w):
        chosen = w == size
        steps = np.arange(size)
        places = (
            at[chosen, None, None]
            + steps[None, :, None]
            + steps[None, None, :] * ld[chosen, None, None]
        )
        yield arena[places]


def check_finite(graph: BlockGraph, values: Array) -> None:
    """ValueError that names the first block with an entry that is not finite.

    Parameters
    ----------
    graph : BlockGraph
    values : ndarray, shape (graph.nnz,)
    """
    from graphsys import cutting

    cutting.check_finite(graph, values)


def _tables(graph: BlockGraph) -> tuple[NDArray[np.int64], ...]:
    return (
        graph.size,
        graph.row_start,
        graph.neighbor_start,
        graph.neighbor,
        graph.diagonal_at,
        graph.block_at,
    )
