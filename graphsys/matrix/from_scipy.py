"""Scalar entries and blocks: a scipy matrix cut into blocks, and the way back."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsys.kernels.analysis.graph import (
    block_entries,
    group_rows,
    list_neighbors,
    pair_nodes,
    place_columns,
    place_rows,
)
from graphsys.kernels.single.matrix import transpose_blocks
from graphsys.matrix.block import HERMITIAN, SYMMETRY_ULP, as_dtype, asymmetry
from graphsys.matrix.graph import BlockGraph, block_sizes, from_pairs
from graphsys.matrix.scipy_tables import checked

__all__ = [
    "LARGEST_FOUND_BLOCK",
    "Entries",
    "SquareBlocks",
    "canonical",
    "check_finite",
    "coordinates",
    "cut",
    "entries_at",
    "entries_of_blocks",
    "equal_rows",
    "find_blocks",
    "find_equal",
    "neighbor_lists",
    "offsets",
    "similar_rows",
    "square_blocks",
    "symmetric_values",
    "to_scipy",
    "transposed",
]

Int = NDArray[np.int64]

#: Formats of sparse matrices in scipy.
FORMATS = "csr", "csc", "coo", "bsr", "dia", "dok", "lil"
#: Most rows of a block that is found. Up to 8 stay in registers: interior-point systems of stages
#: of 16 and 40 unknowns take 0.6 to 0.8 of the time of those of 32 rows, bands of 40 diagonals 0.7.
LARGEST_FOUND_BLOCK = 8
#: Zeros that blocks of similar rows may have. Interior-point matrices of optimal control have
#: 0.37 to 0.43, and take 0.2 to 0.8 of the time of scalars (`benchmarks.interior_point`). Cliques
#: with links of their own would have 0.9 (tests/graphsys/test_from_scipy.py).
MOST_ZEROS = 0.5
#: Groups per row of similar rows: with more, single rows have loops of their own. 494_bus would
#: take 1.6 times as long.
MOST_GROUPS = 0.8


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Places of the entries of one scipy pattern in `values`.

    Attributes
    ----------
    start : ndarray of int, shape (N + 1,)
        `indptr` of the matrix in canonical CSR.
    column : ndarray of int, shape (e,)
        `indices` of the matrix in canonical CSR.
    at : ndarray of int, shape (e,)
        Place in `values` of each entry.
    """

    start: Int
    column: Int
    at: Int

    def fit(self, rows: Any) -> bool:
        """True if a canonical CSR array has this pattern."""
        return np.array_equal(rows.indptr, self.start) and np.array_equal(rows.indices, self.column)


@dataclass(frozen=True, slots=True, eq=False)
class SquareBlocks:
    """Blocks of a BSR matrix, which become those of a system without a list of entries.

    Attributes
    ----------
    start, j : ndarray of int, shape (n + 1,) and (m,)
        `indptr` and `indices`, in no order within a row, repeats allowed; copies.
    numbers : ndarray, shape (m, s, s)
        Those of the matrix itself.
    """

    start: Int
    j: Int
    numbers: NDArray[Any]

    @property
    def i(self) -> Int:
        """Node of the row of each block, shape (m,)."""
        return np.repeat(np.arange(self.start.size - 1), np.diff(self.start))

    def graph(self, labels: Iterable[Hashable] | None) -> BlockGraph:
        """Graph with a node for each row of blocks."""
        n = self.start.size - 1
        names: Sequence[Hashable] = range(n) if labels is None else tuple(labels)
        _check_labels(names, n)
        size = block_sizes(np.full(n, self.numbers.shape[1]), names)
        return from_pairs(names, size, self.i, self.j)


def square_blocks(matrix: Any) -> SquareBlocks | None:
    """Blocks of a square BSR matrix with square blocks, None for others.

    Raises
    ------
    TypeError, ValueError
        If the dtype is not supported, or an index is out of range.
    """
    if getattr(matrix, "format", "") != "bsr" or matrix.shape[0] != matrix.shape[1]:
        return None
    numbers = checked(matrix, "A").data
    count = int(matrix.indptr[-1])
    if numbers.shape[1] != numbers.shape[2] or count == 0:
        return None
    start, j = matrix.indptr.astype(np.int64), matrix.indices[:count].astype(np.int64)
    return SquareBlocks(start, j, numbers[:count].astype(as_dtype(numbers.dtype), copy=False))


def canonical(matrix: Any) -> Any:
    """Square CSR array with sorted columns and duplicates summed; `matrix` is left as it is.

    Parameters
    ----------
    matrix : scipy sparse matrix or array, shape (N, N)

    Returns
    -------
    scipy.sparse.csr_array, shape (N, N)
        Of float64, float32, complex128 or complex64. It may share its arrays with `matrix`.

    Raises
    ------
    TypeError
        If `matrix` is not of scipy.sparse, or its dtype is not supported.
    ValueError
        If it is not square, an index is out of range, or an entry is not finite.
    """
    if not sp.issparse(matrix):
        raise TypeError(
            f"A is a {type(matrix).__name__}; give a scipy sparse matrix "
            "(scipy.sparse.csr_array(dense) makes one)"
        )
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"A has shape {matrix.shape}, it must be square")
    dtype = as_dtype(matrix.dtype)
    if not matrix.dtype.isnative:  # scipy makes no matrices of these
        matrix = matrix.astype(dtype)
    rows = checked(matrix, "A").tocsr()
    if rows is matrix or not isinstance(rows, sp.csr_array):
        # A new shell, for scipy sorts and sums in place and keeps its findings on the object.
        rows = sp.csr_array((rows.data, rows.indices, rows.indptr), shape=matrix.shape)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    finite = np.isfinite(rows.data)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        r = np.searchsorted(rows.indptr, bad[0], side="right") - 1
        raise ValueError(
            f"A[{r}, {rows.indices[bad[0]]}] is {rows.data[bad[0]]}: every entry must be finite"
        )
    return rows.astype(dtype, copy=False)


def both_triangles(rows: Any, symmetric: bool | str) -> Any:
    """Symmetric or Hermitian matrix of which `rows` may have one triangle alone.

    Parameters
    ----------
    rows : scipy.sparse.csr_array, shape (N, N)
        Canonical.
    symmetric : bool or "hermitian"
        Symmetry of the system; with False `rows` are all.

    Returns
    -------
    scipy.sparse.csr_array, shape (N, N)
        Canonical; `rows` if both triangles have entries, or none.
    """
    filled = np.flatnonzero(np.diff(rows.indptr)) if symmetric else np.empty(0, np.int64)
    below = (rows.indices[rows.indptr[filled]] < filled).any()
    above = (rows.indices[rows.indptr[filled + 1] - 1] > filled).any()
    if below == above:
        return rows
    strict = sp.tril(rows, -1) if below else sp.triu(rows, 1)
    return canonical(rows + (strict.conj() if symmetric == HERMITIAN else strict).T)


def neighbor_lists(rows: Any) -> tuple[Int, Int]:
    """Neighbors of each row in the symmetrized pattern, ascending: their start, and all of them.

    Parameters
    ----------
    rows : scipy.sparse.csr_array, shape (N, N)

    Returns
    -------
    start : ndarray of int, shape (N + 1,)
    neighbor : ndarray of int, shape (start[N],)
    """
    n_rows = rows.shape[0]
    ends = np.stack([np.repeat(np.arange(n_rows), np.diff(rows.indptr)), rows.indices])
    start, neighbor = np.empty(n_rows + 1, np.int64), np.empty(2 * rows.nnz, np.int64)
    place, bucket = np.empty((2, n_rows), np.int64), np.empty(2 * rows.nnz, np.int64)
    count = list_neighbors(ends, place, bucket, start, neighbor)
    return start, neighbor[:count]


def equal_rows(start: Int, neighbor: Int, order: Int) -> Int:
    """Sizes of the groups of rows that have each other, and all neighbors in common.

    They have at most `LARGEST_FOUND_BLOCK` rows, which follow each other in an order of all rows.

    Parameters
    ----------
    start, neighbor : ndarray of int
        From `neighbor_lists`.
    order : ndarray of int, shape (N,)

    Returns
    -------
    ndarray of int, shape (n,)
        Sizes that sum up to N.

    References
    ----------
    .. [1] C. Ashcraft, Compressed graphs and the minimum degree algorithm, SIAM J. Sci. Comput.
       16(6), 1995: indistinguishable nodes, here only where they follow each other.
    """
    return _groups(start, neighbor, order, True)


def similar_rows(start: Int, neighbor: Int, order: Int) -> tuple[Int, float]:
    """Sizes of groups of rows with most neighbors in common, and entries of their blocks.

    Such are the unknowns of one stage of an optimal control problem, or its multipliers, which have
    no entries among themselves. Where these groups are few, or their blocks have more than
    `MOST_ZEROS` of zeros, they are those of `equal_rows`.

    Parameters
    ----------
    start, neighbor, order : ndarray of int
        As for `equal_rows`; rows may be among their own neighbors.

    Returns
    -------
    size : ndarray of int, shape (n,)
    entries : float
    """
    size, n_rows = _groups(start, neighbor, order, False), order.size
    if size.size <= MOST_GROUPS * n_rows:
        work = np.empty(n_rows, np.int64), np.full(size.size, -1)
        entries = block_entries(start, neighbor, order, size, *work)
        if (1.0 - MOST_ZEROS) * entries <= neighbor.size + n_rows:
            return size, entries
    return equal_rows(start, neighbor, order), float(neighbor.size + n_rows)


def _groups(start: Int, neighbor: Int, order: Int, equal: bool) -> Int:
    """Sizes of the groups of `equal_rows`, or of those that are only similar."""
    size, mark = np.empty_like(order), np.full(order.size, -1)
    count = group_rows(start, neighbor, order, LARGEST_FOUND_BLOCK, equal, mark, size)
    return size[:count].copy()


def find_blocks(rows: Any) -> Int:
    """Block sizes that consecutive rows with similar patterns suggest: `similar_rows`.

    Parameters
    ----------
    rows : scipy.sparse.csr_array, shape (N, N)

    Returns
    -------
    ndarray of int, shape (n,)
        Sizes that sum up to N.
    """
    return similar_rows(*neighbor_lists(rows), np.arange(rows.shape[0]))[0]


def find_equal(rows: Any) -> Int:
    """Block sizes by `equal_rows` alone: no block has more zeros than the symmetrized pattern."""
    return equal_rows(*neighbor_lists(rows), np.arange(rows.shape[0]))


def cut(rows: Any, dims: Any, labels: Iterable[Hashable] | None) -> BlockGraph:
    """Graph of a matrix cut into blocks.

    Parameters
    ----------
    rows : scipy.sparse.csr_array, shape (N, N)
        Canonical. Its stored entries count, zeros among them too.
    dims : int, sequence of int, mapping of label to int, or None
        Block sizes, which sum up to N; None for `find_blocks`, or 1 if there are N labels.
    labels : iterable of hashable, optional
        Names of the nodes; 0, 1, ... by default.

    Raises
    ------
    ValueError
        If the block sizes do not sum up to N, or there are more or fewer labels than blocks.
    """
    n_rows = rows.shape[0]
    names: Sequence[Hashable] | None = None if labels is None else tuple(labels)
    if isinstance(dims, np.ndarray) and dims.ndim == 0:
        dims = dims.item()
    given = hasattr(dims, "__len__")
    if dims is None:  # a label for each row names single rows
        single = names is not None and len(names) == n_rows
        dims = np.ones(n_rows, np.int64) if single else find_blocks(rows)
    elif isinstance(dims, (int, np.integer)) and not isinstance(dims, bool) and dims > 0:
        if n_rows % dims:
            raise ValueError(f"dims={dims} does not divide the {n_rows} rows of A")
        dims = np.full(n_rows // dims, dims)
    elif names is None and not hasattr(dims, "__len__"):
        block_sizes(dims, ())  # refuses what is not a block size at all
        raise ValueError(f"dims={dims} does not divide the {n_rows} rows of A")
    if names is None:
        names = range(len(dims))
    elif not given and hasattr(dims, "__len__"):
        _check_labels(names, len(dims))
    size = block_sizes(dims, names)
    if size.sum() != n_rows:
        raise ValueError(f"dims sum up to {size.sum()}, A has {n_rows} rows")
    node, start, column = _tables(size, rows)
    ends = np.empty((2, column.size), np.int64)
    count = pair_nodes(node, start, column, np.full(size.size, -1), ends)
    return from_pairs(names, size, ends[0, :count], ends[1, :count])


def entries_at(graph: BlockGraph, rows: Any) -> Entries:
    """Places in `values` of the entries of a canonical CSR array of shape (N, N).

    Raises
    ------
    ValueError
        If an entry lies in a block that the graph does not have.
    """
    node, start, column = _tables(graph.size, rows)
    at = np.empty(column.size, np.int64)
    e = place_rows(node, start, column, *graph.tables(), at)
    if e >= 0:
        r, c = int(np.searchsorted(start, e, side="right")) - 1, int(column[e])
        raise ValueError(
            f"A[{r}, {c}] lies outside the blocks of the system: no edge "
            f"joins {graph.labels[node[r]]!r} and {graph.labels[node[c]]!r}; begin anew with A, or "
            "with a graph that has this edge (a first matrix with an entry there, which may be 0)"
        )
    entries = Entries(start=start, column=column, at=at)
    for array in (entries.start, entries.column, entries.at):
        array.setflags(write=False)
    return entries


def entries_of_blocks(graph: BlockGraph, start: Int, j: Int) -> Entries:
    """Places in `values` of the entries of `SquareBlocks` in canonical CSR."""
    side = int(graph.size[0])
    there = np.ones((j.size, side, side), np.int8)
    rows = sp.bsr_array((there, j, start), shape=(graph.rows, graph.rows)).tocsr()
    rows.sum_duplicates()
    return entries_at(graph, rows)


def coordinates(graph: BlockGraph) -> tuple[Int, Int]:
    """Scalar row and column of each place in `values`.

    Returns
    -------
    row, column : ndarray of int, shape (nnz,)
    """
    i, j = graph.pairs()
    # The columns of all blocks in turn, each `height` entries long.
    height = np.repeat(graph.size[i], graph.size[j])
    block_column = _ranges(graph.row_start[j], graph.size[j])
    block_row = np.repeat(graph.row_start[i], graph.size[j])
    return _ranges(block_row, height), np.repeat(block_column, height)


def offsets(graph: BlockGraph) -> Any:
    """CSR array, shape (N, N), sorted, whose entries are their own places in `values`."""
    kind = np.int32 if graph.nnz < 2**31 else np.int64  # as scipy chooses
    start, column, at = (np.empty(n, np.int64) for n in (graph.rows + 1, graph.nnz, graph.nnz))
    place_columns(*graph.tables(), start, column, at)
    tables = at, column.astype(kind), start.astype(kind)
    return sp.csr_array(tables, shape=(graph.rows, graph.rows))


def to_scipy(graph: BlockGraph, values: NDArray[Any], pattern: Any, format: str) -> Any:
    """Scipy sparse array, shape (N, N), in any format of scipy.

    Parameters
    ----------
    graph : BlockGraph
    values : ndarray, shape (nnz,)
    pattern : scipy.sparse.csr_array, shape (N, N)
        The `offsets` of `graph`.
    format : str

    Raises
    ------
    ValueError
        If scipy has no such format.
    """
    if format not in FORMATS:
        raise ValueError(f"format {format!r} is unknown; use one of {', '.join(FORMATS)}")
    arrays = (values[pattern.data], pattern.indices.copy(), pattern.indptr.copy())
    rows = sp.csr_array(arrays, shape=pattern.shape)
    size = graph.size.tolist()
    if format == "bsr" and size and size[0] > 0 and size.count(size[0]) == len(size):
        return rows.tobsr(blocksize=(size[0], size[0]))
    return rows.asformat(format)


def check_finite(graph: BlockGraph, values: NDArray[Any]) -> None:
    """ValueError that names the block where `values`, shape (nnz,), has an inf or a nan."""
    finite = np.isfinite(values)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        i, j = graph.pairs()
        end = np.cumsum(graph.size[i] * graph.size[j])
        block = int(np.searchsorted(end, bad[0], side="right"))
        u, v = graph.labels[i[block]], graph.labels[j[block]]
        raise ValueError(
            f"values[{bad[0]}], of block ({u!r}, {v!r}), is {values[bad[0]]}: "
            "every entry must be finite"
        )


def transposed(graph: BlockGraph, values: NDArray[Any]) -> NDArray[Any]:
    """Transpose of a matrix, in the layout of the graph, shape (nnz,)."""
    found = np.empty_like(values)
    size, _, *tables = graph.tables()
    transpose_blocks(size, *tables, values, np.empty_like(size), found)
    return found


def symmetric_values(
    graph: BlockGraph, values: NDArray[Any], symmetric: bool | str = True
) -> NDArray[Any]:
    """Mean of a matrix and its transpose, or conjugate transpose, equal up to rounding.

    Parameters
    ----------
    graph : BlockGraph
    values : ndarray of float or complex, shape (nnz,)
    symmetric : bool or str, optional
        Of the system.

    Returns
    -------
    ndarray, shape (nnz,)
        `values` itself where it is symmetric to the last bit.

    Raises
    ------
    ValueError
        If they differ by more than rounding, measured against the largest entry of a block.
    """
    mirrored = transposed(graph, values)
    if symmetric == HERMITIAN:
        np.conjugate(mirrored, out=mirrored)
    gap = np.abs(values - mirrored)
    if not gap.any():
        return values
    i, j = graph.pairs()
    length = graph.size[i] * graph.size[j]
    filled = length > 0
    i, j, length = i[filled], j[filled], length[filled]
    scale = np.maximum.reduceat(np.abs(values), np.cumsum(length) - length)
    allowed = SYMMETRY_ULP * np.finfo(values.dtype).eps * np.repeat(scale, length)
    excess = gap - allowed
    if excess.max() > 0.0:
        worst = np.repeat(np.arange(length.size), length)[excess.argmax()]
        u, v = (graph.labels[node] for node in sorted((i[worst], j[worst])))
        raise asymmetry(u, v, gap[excess.argmax()], symmetric)
    return values / 2 + mirrored / 2


def _check_labels(names: Sequence[Hashable], n: int) -> None:
    """ValueError where there are more or fewer names than blocks."""
    if len(names) != n:
        raise ValueError(f"labels has {len(names)} names, A has {n} blocks on its diagonal")


def _tables(size: Int, rows: Any) -> tuple[Int, Int, Int]:
    """Node of each row, and copies of `indptr` and `indices`: they may be the caller's."""
    node = np.repeat(np.arange(size.size), size)
    return node, rows.indptr.astype(np.int64), rows.indices.astype(np.int64)


def _ranges(start: Int, length: Int) -> Int:
    """start[0], start[0] + 1, ... (length[0] of them), start[1], ..."""
    end = np.cumsum(length)
    total = int(end[-1]) if end.size else 0
    return np.repeat(start - end + length, length) + np.arange(total)
