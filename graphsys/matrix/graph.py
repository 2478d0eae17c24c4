"""BlockGraph: nodes with block sizes and edges as tables; labels to indices and back."""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsys.errors import UnknownEdgeError, UnknownNodeError
from graphsys.kernels.analysis.graph import lay_blocks, list_neighbors
from graphsys.kernels.single.assembly import find_blocks
from graphsys.matrix.checksums import check, checksum
from graphsys.matrix.numbering import Numbering
from graphsys.matrix.scipy_tables import checked

__all__ = ["BlockGraph", "block_graph", "block_sizes", "from_pairs", "graph_of_edges"]

Int = NDArray[np.int64]

LARGEST_SIZE = 2**31 - 1  # so that the offset of any entry of a block fits in int64
MOST_ENTRIES = 2.0**62  # of all blocks, for the same reason


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BlockGraph:
    """Graph of a block-sparse matrix: n nodes, m edges, N scalar rows.

    The blocks lie in one flat array `values`: for each node i ascending its diagonal block,
    then its blocks (i, j) for its neighbors j ascending; each block is column-major.

    Attributes
    ----------
    labels : tuple of hashable, length n
        Label of each node.
    index : mapping
        Index of each label.
    size : ndarray of int, shape (n,)
        Block size of each node, 0 or more.
    row_start : ndarray of int, shape (n + 1,)
        Scalar rows of node i are ``row_start[i]:row_start[i + 1]``; ``row_start[n]`` is N.
    neighbor_start : ndarray of int, shape (n + 1,)
        Neighbors of node i are ``neighbor[neighbor_start[i]:neighbor_start[i + 1]]``.
    neighbor : ndarray of int, shape (2 m,)
        Nodes that share an edge with node i, ascending within a node, i itself left out.
    diagonal_at : ndarray of int, shape (n,)
        Place in `values` of block (i, i).
    block_at : ndarray of int, shape (2 m,)
        Place in `values` of block ``(i, neighbor[p])``.
    nnz : int
        Length of `values`.
    rows : int
        N.
    """

    labels: tuple[Hashable, ...]
    index: Mapping[Hashable, int]
    size: Int
    row_start: Int
    neighbor_start: Int
    neighbor: Int
    diagonal_at: Int
    block_at: Int
    nnz: int
    rows: int

    def node(self, label: Hashable) -> int:
        """Index of a node.

        Parameters
        ----------
        label : hashable

        Returns
        -------
        int

        Raises
        ------
        UnknownNodeError
            If no node is called so.
        """
        try:
            return self.index[label]
        except (KeyError, TypeError):  # TypeError: an unhashable label
            raise UnknownNodeError(f"{label!r} is not a node of the graph") from None

    def nodes(self, labels: Iterable[Hashable]) -> list[int]:
        """Numbers of nodes by label; TypeError for one label that is no list of others."""
        try:
            return [self.node(label) for label in labels]
        except (UnknownNodeError, TypeError):
            if isinstance(labels, Hashable) and labels in self.index:
                raise TypeError(f"{labels!r} is one node: give a list, [{labels!r}]") from None
            raise

    def edge_at(self, i: int, j: int) -> int:
        """Place in `values` of block (i, j).

        Parameters
        ----------
        i, j : int
            Nodes by index; i == j is the diagonal block.

        Returns
        -------
        int

        Raises
        ------
        UnknownEdgeError
            If nodes i and j share no edge.
        """
        if i == j:
            return int(self.diagonal_at[i])
        end = int(self.neighbor_start[i + 1])
        p = bisect_left(self.neighbor, j, int(self.neighbor_start[i]), end)
        if p == end or self.neighbor[p] != j:
            raise UnknownEdgeError(
                f"no edge joins {self.labels[i]!r} and {self.labels[j]!r}, "
                "so the system has no block there"
            )
        return int(self.block_at[p])

    def blocks_at(self, i: Int, j: Int) -> Int:
        """Places in `values` of many blocks (i, j).

        Parameters
        ----------
        i, j : ndarray of int, shape (k,)
            Nodes by index.

        Returns
        -------
        ndarray of int, shape (k,)
            -1 where nodes share no edge.
        """
        at = np.empty(i.shape, np.int64)
        find_blocks(
            np.ascontiguousarray(i), np.ascontiguousarray(j), self.neighbor_start, self.neighbor,
            self.diagonal_at, self.block_at, at,
        )  # fmt: skip
        return at

    def pairs(self) -> tuple[Int, Int]:
        """Nodes (i, j) of each block, in the order in which blocks lie in `values`.

        Returns
        -------
        i, j : ndarray of int, shape (n + 2 m,)
        """
        i = np.repeat(np.arange(len(self.labels)), np.diff(self.neighbor_start) + 1)
        j = np.insert(self.neighbor, self.neighbor_start[:-1], np.arange(len(self.labels)))
        return i, j

    def most_entries(self) -> int:
        """Largest number of entries of a row, or of a column."""
        ends = np.concatenate([[0], np.cumsum(self.size[self.neighbor])])
        start = self.neighbor_start
        return int(np.max(self.size + ends[start[1:]] - ends[start[:-1]], initial=0))

    def tables(self) -> tuple[Int, ...]:
        """Arrays that the kernels of `graphsys.kernels.single.matrix` start with."""
        return (
            self.size,
            self.row_start,
            self.neighbor_start,
            self.neighbor,
            self.diagonal_at,
            self.block_at,
        )

    def lies_like(self, other: BlockGraph) -> bool:
        """True if another graph lays its blocks out alike, under the same labels."""
        tables = ("size", "neighbor_start", "neighbor")
        return self is other or (
            self.labels == other.labels
            and all(np.array_equal(getattr(self, t), getattr(other, t)) for t in tables)
        )

    def __repr__(self) -> str:
        return (
            f"BlockGraph({len(self.labels)} nodes, {self.neighbor.size // 2} edges, "
            f"{self.rows} unknowns)"
        )

    # Immutable: a copy is itself. Pickled as its defining tables: arrays come back read-only.
    def __copy__(self) -> BlockGraph:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> BlockGraph:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        numbered = isinstance(self.index, Numbering)
        labels = range(len(self.labels)) if numbered else self.labels
        tables = labels, self.size, self.neighbor_start, self.neighbor
        return _from_neighbors, (*tables, checksum(tables))


def block_graph(
    graph: Any, dims: Any = None, *, nodelist: Iterable[Hashable] | None = None
) -> BlockGraph:
    """Tables of a graph whose nodes have block sizes.

    Parameters
    ----------
    graph : networkx.Graph, networkx.DiGraph, scipy sparse matrix or array, or BlockGraph
        Edges. Only the pattern counts: a `DiGraph` or an unsymmetric adjacency joins u and v
        where it has either direction, and the diagonal of an adjacency is ignored, for every
        node has a diagonal block. A BlockGraph is returned as it is.
    dims : int, sequence of int, mapping of label to int, or str
        Block sizes: one for all, in the order of the nodes, by label, or the name of the node
        attribute that holds them. None only with a BlockGraph.
    nodelist : iterable of hashable, optional
        With networkx the nodes to take and their order, as `networkx.to_scipy_sparse_array`
        has it; with an adjacency the labels of its rows, 0, 1, ... by default.

    Returns
    -------
    BlockGraph

    Raises
    ------
    TypeError
        If `graph` is none of these or a multigraph, or a size is not an integer.
    ValueError
        If a node has an edge to itself, is named twice, has no size or a negative one.
    UnknownNodeError
        If `nodelist` or `dims` names no node of the graph.
    """
    if isinstance(graph, BlockGraph):
        if dims is not None or nodelist is not None:
            raise TypeError(
                "a BlockGraph has its block sizes and order: leave out dims and nodelist"
            )
        return graph
    if dims is None:
        text = "dims is missing: give block sizes as int, sequence, mapping or attribute"
        if sp.issparse(graph):
            text += "; gs.System.from_scipy(A) takes the numbers of a matrix"
        raise TypeError(text)
    if isinstance(graph, nx.Graph):
        return _from_networkx(graph, dims, nodelist)
    if sp.issparse(graph):
        return _from_adjacency(graph, dims, nodelist)
    raise TypeError(
        f"graph is a {type(graph).__name__}; give a networkx.Graph or a scipy sparse adjacency "
        "(scipy.sparse.csr_array(dense) makes one)"
    )


def block_sizes(
    dims: Any,
    labels: Sequence[Hashable],
    attributes: Mapping[Hashable, Mapping[str, Any]] | None = None,
) -> Int:
    """Block size of each node from the forms of `dims` that `block_graph` takes.

    Parameters
    ----------
    dims : int, sequence of int, mapping of label to int, or str
    labels : sequence of hashable, length n
    attributes : mapping of label to mapping, optional
        Attributes of every node of the user's graph, of which `labels` may be a part.

    Returns
    -------
    ndarray of int, shape (n,)
    """
    n = len(labels)
    if isinstance(dims, str):
        if attributes is None:
            raise TypeError(f"dims={dims!r} names a node attribute: only a networkx graph has any")
        given = [attributes[label].get(dims, _MISSING) for label in labels]
        whose = f"node attribute {dims!r}"
    elif isinstance(dims, Mapping):
        known = labels if attributes is None else attributes
        for label in dims.keys() - set(known):
            raise UnknownNodeError(f"dims names {label!r}, which is not a node of the graph")
        given = [dims.get(label, _MISSING) for label in labels]
        whose = "dims"
    elif isinstance(dims, (int, float, np.generic)):
        return np.full(n, _size(dims, "dims"), dtype=np.int64)
    elif not hasattr(dims, "__getitem__"):
        raise TypeError(f"dims is a {type(dims).__name__}, which has no order: give a sequence")
    else:
        given = dims.tolist() if isinstance(dims, np.ndarray) else list(dims)
        whose = "dims"
        if len(given) != n:
            raise ValueError(f"dims has {len(given)} block sizes for {n} nodes")
        whole = isinstance(dims, np.ndarray) and dims.dtype.kind in "iu" and dims.ndim == 1
        if whole and n > 0 and 0 <= dims.min() <= dims.max() <= LARGEST_SIZE:
            return np.array(dims, np.int64)
    size = np.empty(n, dtype=np.int64)
    for i, (label, value) in enumerate(zip(labels, given, strict=True)):
        if value is _MISSING:
            raise ValueError(f"{whose} has no block size for node {label!r}")
        # One comparison accepts the usual case; words are made only for the others.
        usual = type(value) is int and 0 <= value <= LARGEST_SIZE
        size[i] = value if usual else _size(value, f"{whose} of node {label!r}")
    return size


def graph_of_edges(
    i: Any, j: Any, dims: Any, labels: Iterable[Hashable] | None = None
) -> BlockGraph:
    """Graph whose edges are pairs of nodes by number; see `System.from_edges`."""
    ends = [np.asarray(i), np.asarray(j)]
    if labels is None and np.ndim(dims) != 1:
        raise ValueError("the number of nodes is missing: give labels, or a list as dims")
    names = range(len(dims)) if labels is None else tuple(labels)
    if ends[0].ndim != 1 or ends[0].shape != ends[1].shape:
        raise ValueError(f"i and j have shapes {ends[0].shape} and {ends[1].shape}, not one (k,)")
    for name, numbers in zip("ij", ends):
        if numbers.size and numbers.dtype.kind not in "iu":
            raise TypeError(f"{name} must hold numbers of nodes, not {numbers.dtype}")
        if numbers.size and not (numbers.min() >= 0 and numbers.max() < len(names)):
            raise ValueError(f"{name} names nodes outside 0 to {len(names) - 1}")
    one, other = (numbers.astype(np.int64, copy=False) for numbers in ends)
    return from_pairs(names, block_sizes(dims, names), one, other)


def from_pairs(labels: Sequence[Hashable], size: Int, i: Int, j: Int) -> BlockGraph:
    """Graph with an edge between i[p] and j[p] for each p: any order, repeats and i == j allowed.

    Parameters
    ----------
    labels : tuple of hashable, length n, or range(n)
    size : ndarray of int, shape (n,)
    i, j : ndarray of int, shape (k,)
        Nodes by index; a pair with i == j adds nothing.
    """
    n = len(labels)
    ends = np.empty((2, i.size), np.int64)
    ends[0], ends[1] = i, j
    start, neighbor, bucket = np.empty(n + 1, np.int64), *np.empty((2, 2 * i.size), np.int64)
    count = list_neighbors(ends, np.empty((2, n), np.int64), bucket, start, neighbor)
    return _from_neighbors(labels, size, start, neighbor[:count])


def distinct(numbers: Int) -> Int:
    """Sorted numbers, each once: in a third of the time of `numpy.unique`."""
    numbers = np.sort(numbers)
    first = np.ones(numbers.size, np.bool_)
    first[1:] = numbers[1:] != numbers[:-1]
    return numbers[first]


def label_numbers(labels: Sequence[Hashable]) -> dict[Hashable, int]:
    """Number of each label; TypeError for one that is not hashable."""
    try:
        return dict(zip(labels, range(len(labels)), strict=True))
    except TypeError:
        bad = next(label for label in labels if not _is_hashable(label))
        raise TypeError(
            f"{bad!r} cannot name a node: give numbers, strings, tuples or other hashable labels"
        ) from None


def _is_hashable(label: Any) -> bool:
    try:
        hash(label)
    except TypeError:
        return False
    return True


def _from_neighbors(
    labels: Sequence[Hashable], size: Int, neighbor_start: Int, neighbor: Int, stored: int = -1
) -> BlockGraph:
    if stored != -1:
        check("BlockGraph", stored, (labels, size, neighbor_start, neighbor))
    n = len(labels)
    index: Mapping[Hashable, int] = (
        Numbering(n) if isinstance(labels, range) else label_numbers(labels)
    )
    if len(index) < n:
        twice = next(label for i, label in enumerate(labels) if index[label] != i)
        raise ValueError(f"node {twice!r} is named twice")
    size, neighbor_start, neighbor = map(_frozen, (size, neighbor_start, neighbor))
    row_start, diagonal_at = np.empty(n + 1, np.int64), np.empty(n, np.int64)
    block_at = np.empty(neighbor.size, np.int64)
    nnz = lay_blocks(size, neighbor_start, neighbor, MOST_ENTRIES, row_start, diagonal_at, block_at)
    if nnz < 0:
        raise ValueError("the blocks have more than 2**62 entries in all: dims are too large")
    for table in (row_start, diagonal_at, block_at):
        table.setflags(write=False)
    return BlockGraph(
        tuple(labels), index, size, row_start, neighbor_start, neighbor, diagonal_at, block_at,
        nnz, row_start.item(n),
    )  # fmt: skip


def _from_networkx(graph: Any, dims: Any, nodelist: Iterable[Hashable] | None) -> BlockGraph:
    if graph.is_multigraph():
        raise TypeError(
            f"graph is a {type(graph).__name__}: a block belongs to one edge, so merge parallel "
            "edges first (networkx.Graph(graph))"
        )
    labels = tuple(graph if nodelist is None else nodelist)
    for label in labels if nodelist is not None else ():
        if label not in graph:
            raise UnknownNodeError(f"nodelist names {label!r}, which is not a node of the graph")
    index = {label: i for i, label in enumerate(labels)}
    ends = np.array(
        [index.get(label, -1) for label in chain.from_iterable(graph.edges())], dtype=np.int64
    ).reshape(-1, 2)
    i, j = ends[(ends >= 0).all(axis=1)].T
    if (i == j).any():
        looped = labels[int(i[i == j][0])]
        raise ValueError(
            f"node {looped!r} has an edge to itself: remove it, every node has a diagonal block"
        )
    return from_pairs(labels, block_sizes(dims, labels, graph.nodes), i, j)


def _from_adjacency(adjacency: Any, dims: Any, nodelist: Iterable[Hashable] | None) -> BlockGraph:
    if adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
        raise ValueError(f"the adjacency has shape {adjacency.shape}, it must be square")
    labels = range(adjacency.shape[0]) if nodelist is None else tuple(nodelist)
    if len(labels) != (n := adjacency.shape[0]):
        raise ValueError(f"nodelist has {len(labels)} labels for {n} rows of the adjacency")
    entries = checked(adjacency, "the adjacency").tocoo()
    i, j = entries.row.astype(np.int64), entries.col.astype(np.int64)
    return from_pairs(labels, block_sizes(dims, labels), i, j)


_MISSING = object()


def _size(value: Any, whose: str) -> int:
    """`value` as a block size, checked."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        size = operator.index(value)
    except TypeError:
        raise TypeError(f"{whose} is {value!r}: a block size is an integer") from None
    if not 0 <= size <= LARGEST_SIZE:
        raise ValueError(f"{whose} is {size}: a block size is from 0 to {LARGEST_SIZE}")
    return size


def _frozen(array: Int) -> Int:
    """Copy as a read-only array."""
    array = np.array(array, dtype=np.int64)
    array.setflags(write=False)
    return array
