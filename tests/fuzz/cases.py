"""Case: one random system and what is asked of it, the same for the same family and seed."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]

#: Draws until a system meets the bound of its family on the condition number.
MOST_DRAWS = 200


@dataclass(frozen=True, eq=False)
class Case:
    """One random system.

    Attributes
    ----------
    family : str
    seed : int
    graph : networkx.Graph
    sizes : dict of label to int
    matrices : tuple of ndarray, shape (N, N)
        The matrix; other values on the same graph; the matrix with the blocks among `changed`
        taken from the other values.
    symmetric : bool
        Whether all of them equal their transposes.
    changed : tuple of labels
    kept : tuple of labels
        Nodes to condense onto.
    order : tuple of labels
        An elimination order.
    """

    family: str
    seed: int
    graph: nx.Graph
    sizes: dict[Hashable, int]
    matrices: tuple[Array, ...]
    symmetric: bool
    changed: tuple[Hashable, ...]
    kept: tuple[Hashable, ...]
    order: tuple[Hashable, ...]

    @property
    def dtype(self) -> np.dtype:
        """Type of the matrices."""
        return self.matrices[0].dtype

    def rows(self, label: Hashable) -> NDArray[np.int64]:
        """Rows of a node."""
        return row_ranges(self.sizes)[label]

    def __str__(self) -> str:
        kind = "symmetric " * self.symmetric
        return (
            f"{self.family} {self.seed}: {len(self.graph)} nodes, {self.graph.number_of_edges()} "
            f"edges, {self.matrices[0].shape[0]} unknowns, {kind}{self.dtype}"
        )


def row_ranges(sizes: dict[Hashable, int]) -> dict[Hashable, NDArray[np.int64]]:
    """Rows of each node."""
    ends = np.cumsum([0, *sizes.values()])
    return {label: np.arange(a, b) for label, a, b in zip(sizes, ends, ends[1:])}


def make_case(family, seed, rng, graph, sizes, matrix, other, symmetric=False):
    """Case of two matrices on a graph, the rest drawn at random."""
    nodes = list(graph)
    count = len(nodes)
    changed = _some(rng, nodes, max(1, count // 4))
    matrices = matrix, other, _mixed(matrix, other, sizes, changed)
    kept = _some(rng, nodes, max(1, count // 3))
    order = tuple(nodes[i] for i in rng.permutation(count))
    return Case(family, seed, graph, sizes, matrices, symmetric, changed, kept, order)


def _some(rng, nodes, most):
    if not nodes:
        return ()
    chosen = rng.choice(len(nodes), rng.integers(1, most + 1), replace=False)
    return tuple(nodes[i] for i in chosen)


def _mixed(matrix, other, sizes, changed):
    ranges = row_ranges(sizes)
    rows = np.concatenate([np.zeros(0, np.int64), *(ranges[u] for u in changed)])
    mixed = matrix.copy()
    mixed[np.ix_(rows, rows)] = other[np.ix_(rows, rows)]
    return mixed


def pattern(graph, sizes):
    """Boolean array, shape (N, N): entries inside the blocks of a graph."""
    index = {label: i for i, label in enumerate(sizes)}
    joined = np.eye(len(index), dtype=bool)
    for u, v in graph.edges:
        joined[index[u], index[v]] = joined[index[v], index[u]] = True
    count = list(sizes.values())
    return np.repeat(np.repeat(joined, count, axis=0), count, axis=1)


def connected(rng, count, density):
    """Random connected graph: a random recursive tree and a part of the other edges."""
    graph = nx.Graph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from((int(rng.integers(0, i)), i) for i in range(1, count))
    more = rng.random((count, count)) < density * 2.0 / max(count, 1)
    graph.add_edges_from((int(i), int(j)) for i, j in np.argwhere(np.triu(more, 1)))
    return graph


def bounded(draw, most):
    """First matrix drawn whose condition number is below a bound."""
    for _ in range(MOST_DRAWS):
        matrix = draw()
        if matrix.size == 0 or np.linalg.cond(matrix) < most:
            return matrix
    return matrix
