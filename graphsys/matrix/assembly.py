"""Assembly of many blocks at once: nodes as arrays of labels, blocks as one array."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.errors import UnknownEdgeError
from graphsys.kernels.single.assembly import blocks_fit, put_blocks
from graphsys.matrix.block import HERMITIAN, SYMMETRY_ULP, as_numbers, asymmetry, mirrored
from graphsys.matrix.graph import BlockGraph, block_sizes, from_pairs, label_numbers
from graphsys.matrix.numbering import Numbering

__all__ = ["Chosen", "graph_of_blocks"]

Array = NDArray[Any]
Int = NDArray[np.int64]


class Chosen:
    """Blocks (u, v) of a graph, all of one shape (r, c).

    Parameters
    ----------
    graph : BlockGraph
    i, j : ndarray of int, shape (m,)
        Nodes u and v by index.

    Attributes
    ----------
    at : ndarray of int, shape (m,)
        Place of each block's first entry in `values`.
    shape : tuple of int
        (r, c).
    """

    def __init__(self, graph: BlockGraph, i: Int, j: Int) -> None:
        self.graph, self.i, self.j = graph, i, j
        if i.size != j.size:
            raise ValueError(
                f"rows has {i.size} nodes and cols has {j.size}: blocks need one of each"
            )
        self.at = graph.blocks_at(self.i, self.j)
        if self.at.min(initial=0) < 0:
            u, v = self._labels(int(self.at.argmin()))
            raise UnknownEdgeError(
                f"no edge joins {u!r} and {v!r}, so the system has no block there"
            )
        sizes = graph.size[self.i], graph.size[self.j]
        self.shape = tuple(int(size[0]) if size.size else 0 for size in sizes)
        odd = np.flatnonzero((sizes[0] != self.shape[0]) | (sizes[1] != self.shape[1]))
        if odd.size:
            k = int(odd[0])
            (u, v), (a, b) = self._labels(k), self._labels(0)
            raise ValueError(
                f"block ({u!r}, {v!r}) is {sizes[0][k]} x {sizes[1][k]} and block ({a!r}, {b!r}) "
                f"is {self.shape[0]} x {self.shape[1]}: give blocks of one shape at a time"
            )

    @classmethod
    def named(cls, graph: BlockGraph, rows: Any, columns: Any) -> Chosen:
        """Blocks by the labels of their nodes, in arrays or sequences."""
        return cls(graph, indices(graph, rows), indices(graph, columns))

    def _labels(self, k: int) -> tuple[Hashable, Hashable]:
        return self.graph.labels[self.i[k]], self.graph.labels[self.j[k]]

    def places(self) -> Int:
        """Places of all entries in `values`, shape (m, r, c)."""
        r, c = self.shape
        return self.at[:, None, None] + np.arange(r)[:, None] + r * np.arange(c)

    def put(self, blocks: Any, values: Array, symmetric: bool | str, adding: bool) -> None:
        """Add blocks of shape (m, r, c) to ``values``, or set them; one of (r, c) stands for all.

        Raises
        ------
        TypeError, ValueError
            For other numbers, and for diagonal blocks of a symmetric system that are not symmetric.
        """
        numbers = as_numbers(blocks, values.dtype, "blocks")
        wanted = (self.i.size, *self.shape)
        if self.i.size == 0 and numbers.shape[:1] == (0,):
            return
        if self.shape == (1, 1) and numbers.shape in (wanted[:1], ()):  # scalars
            numbers = numbers.reshape(-1, 1, 1) if numbers.ndim else numbers.reshape(1, 1)
        if numbers.shape not in (wanted, self.shape):
            raise ValueError(f"blocks has shape {numbers.shape}, it must be {wanted}")
        slack = SYMMETRY_ULP * float(np.finfo(values.dtype).eps)
        step = 0 if numbers.ndim == 2 else self.shape[0] * self.shape[1]
        flat = np.require(numbers, requirements=["C", "A", "W"]).reshape(-1)
        kind = bool(symmetric), symmetric == HERMITIAN
        if not blocks_fit(self.i, self.j, *self.shape, step, flat, *kind, slack):
            raise self._refusal(np.broadcast_to(numbers, wanted), symmetric)
        across = self.graph.blocks_at(self.j, self.i) if symmetric else self.at
        put_blocks(self.i, self.j, self.at, across, *self.shape, step, flat, *kind, adding, values)

    def _refusal(self, numbers: Array, symmetric: bool | str) -> ValueError:
        """Error for blocks that `blocks_fit` refused."""
        if not np.isfinite(numbers).all():
            bad = int(np.flatnonzero(~np.isfinite(numbers).all(axis=(1, 2)))[0])
            u, v = self._labels(bad)
            return ValueError(f"block ({u!r}, {v!r}) has an entry that is not finite")
        diagonal = np.flatnonzero(self.i == self.j)
        own = numbers[diagonal]
        gap = np.abs(own - mirrored(own, symmetric)).max(axis=(1, 2))
        with np.errstate(invalid="ignore"):  # a block of zeros
            k = int(np.nanargmax(gap / np.abs(own).max(axis=(1, 2))))
        return asymmetry(*self._labels(int(diagonal[k])), float(gap[k]), symmetric)


def indices(graph: BlockGraph, nodes: Any) -> Int:
    """Indices of nodes by label; an array is taken as its entries."""
    if (found := _looked_up(graph, nodes)) is not None:
        return found
    labels = _listed(nodes)
    try:
        return np.fromiter(map(graph.index.__getitem__, labels), np.int64, len(labels))
    except (KeyError, TypeError):
        return np.array([graph.node(label) for label in labels], np.int64)


def _looked_up(graph: BlockGraph, nodes: Any) -> Int | None:
    """Indices of whole numbers that are labels, by a table; None for others.

    Numbers from 0 on are their own indices. For other labels, arrays of at least as many numbers as
    there are nodes are looked up, where labels are whole numbers that are not far apart. It saves
    half of the time of `System.add` with blocks of 3 x 3.
    """
    numbered = isinstance(graph.index, Numbering)
    if numbered and isinstance(nodes, (list, range)) and set(map(type, nodes)) == {int}:
        nodes = np.asarray(nodes)
    if not isinstance(nodes, np.ndarray) or nodes.dtype.kind not in "iu" or nodes.ndim != 1:
        return None
    labels: tuple[Any, ...] = graph.labels
    n = len(labels)
    if numbered:
        inside = nodes.size == 0 or 0 <= nodes.min() <= nodes.max() < n
        return nodes.astype(np.int64) if inside else None
    if nodes.size < n or set(map(type, labels)) != {int}:
        return None
    least, most = min(labels), max(labels)
    if most - least > 4 * n or max(abs(least), abs(most)) >= 2**62:
        return None
    if not least <= int(nodes.min()) <= int(nodes.max()) <= most:
        return None
    table = np.full(most - least + 1, -1)
    table[np.array(labels, np.int64) - least] = np.arange(n)
    found: Int = table[nodes.astype(np.int64) - least]
    return found if found.min() >= 0 else None


def _listed(nodes: Any) -> list[Any]:
    """Labels of nodes as a list.

    Raises
    ------
    TypeError
        For one label alone.
    ValueError
        For an array that is not one-dimensional.
    """
    if isinstance(nodes, np.ndarray):
        if nodes.ndim != 1:
            raise ValueError(f"labels of nodes have shape {nodes.shape}, it must be (m,)")
        labels: list[Any] = nodes.tolist()
        return labels
    try:
        return list(nodes)
    except TypeError:
        raise TypeError(f"labels of nodes are {nodes!r}: give a sequence, [{nodes!r}]") from None


def graph_of_blocks(
    rows: Any, columns: Any, size: int, dims: Any, labels: Iterable[Hashable] | None
) -> tuple[BlockGraph, Int, Int]:
    """Graph with an edge for each pair of nodes, and the pairs by index.

    Labels are by default sorted if they are whole numbers, else as they come.
    """
    names: tuple[Hashable, ...]
    if labels is None and (counted := _numbered(rows, columns)) is not None:
        names, i, j = counted
    else:
        ends = [_listed(nodes) for nodes in (rows, columns)]
        if len(ends[0]) != len(ends[1]):
            raise ValueError(f"rows has {len(ends[0])} nodes and cols has {len(ends[1])}")
        if labels is None:
            found = dict.fromkeys([*ends[0], *ends[1]])
            whole = all(type(label) is int for label in found)
            labels = sorted(found) if whole else found
        names = tuple(labels)
        index = label_numbers(names)
        try:
            i, j = (np.array([index[label] for label in end], np.int64) for end in ends)
        except KeyError as error:
            raise ValueError(f"labels does not name node {error.args[0]!r}") from None
    graph = from_pairs(names, block_sizes(size if dims is None else dims, names), i, j)
    return graph, i, j


def _numbered(rows: Any, columns: Any) -> tuple[tuple[int, ...], Int, Int] | None:
    """Sorted labels of two arrays of whole numbers, and the indices of these; None for others.

    Numbers far apart are others, too.
    """
    for nodes in (rows, columns):
        if not isinstance(nodes, np.ndarray) or nodes.dtype.kind not in "iu" or nodes.ndim != 1:
            return None
    if rows.size != columns.size or rows.size == 0:
        return None
    least = min(int(rows.min()), int(columns.min()))
    most = max(int(rows.max()), int(columns.max()))
    if most - least > 8 * rows.size or max(abs(least), abs(most)) >= 2**62:
        return None
    i, j = rows.astype(np.int64) - least, columns.astype(np.int64) - least
    named = np.zeros(most - least + 1, np.bool_)
    named[i] = named[j] = True
    number = np.cumsum(named) - 1
    return tuple((np.flatnonzero(named) + least).tolist()), number[i], number[j]
