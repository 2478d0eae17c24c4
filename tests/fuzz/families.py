"""Families of random systems: a seed gives a case, the same one every time."""

from __future__ import annotations

import zlib

import networkx as nx
import numpy as np

from tests.fuzz.cases import Case, bounded, make_case, pattern, row_ranges

#: Bound on the plain condition numbers of the families that promise one.
WELL_CONDITIONED = 1e8


def scaled_diagonals(seed: int, rng) -> Case:
    """2 to 8 nodes of 1 to 3 rows; most diagonal blocks are scaled by 1e-4 to 1e-16."""
    graph = _connected(rng, int(rng.integers(2, 9)), rng.uniform(0.0, 1.0))
    sizes = {node: int(rng.integers(1, 4)) for node in graph}
    ranges, inside = row_ranges(sizes), pattern(graph, sizes)
    symmetric = bool(rng.random() < 0.25)

    def draw():
        matrix = np.where(inside, rng.normal(size=inside.shape), 0.0)
        if symmetric:
            matrix = np.triu(matrix) + np.triu(matrix, 1).T
        for node in graph:
            if rng.random() < 0.6:
                matrix[np.ix_(ranges[node], ranges[node])] *= 10.0 ** rng.uniform(-16.0, -4.0)
        return matrix

    matrices = (bounded(draw, WELL_CONDITIONED) for _ in range(2))
    return make_case("scaled_diagonals", seed, rng, graph, sizes, *matrices, symmetric)


def saddles(seed: int, rng) -> Case:
    """Bodies and joints on one loop, or a grounded chain of three; joints hold 0 to -1e-8."""
    count = int(rng.integers(2, 6))
    grounded = bool(rng.random() < 0.2)
    graph = nx.Graph()
    if grounded:
        count = 3
        pairs = [(i, j) for i in range(3) for j in (i - 1, i) if j >= 0]
    else:
        pairs = [(i, j) for i in range(count) for j in (i, (i + 1) % count)]
    graph.add_nodes_from(f"body {i}" for i in range(count))
    graph.add_nodes_from(f"joint {i}" for i in range(count))
    graph.add_edges_from((f"joint {i}", f"body {j}") for i, j in pairs)
    body, joint = int(rng.integers(1, 7)), int(rng.integers(1, 6))
    joint = min(joint, body)
    sizes = {node: body if node.startswith("body") else joint for node in graph}
    ranges = row_ranges(sizes)
    diagonal = float(rng.choice([1e-8, 1e-8, 1e-8, 0.0, 1e-12, 1e-14, 1e-16]))
    symmetric = bool(rng.random() < 0.5)
    total = sum(sizes.values())

    def draw():
        matrix = np.zeros((total, total))
        for node in graph:
            rows = ranges[node]
            if node.startswith("body"):
                root = rng.normal(size=(body, body))
                matrix[np.ix_(rows, rows)] = root @ root.T + np.eye(body)
            else:
                matrix[rows, rows] = -diagonal
        for i, j in pairs:
            rows, columns = ranges[f"joint {i}"], ranges[f"body {j}"]
            jacobian = rng.normal(size=(joint, body))
            matrix[np.ix_(rows, columns)] = jacobian
            other = jacobian if symmetric else rng.normal(size=(joint, body))
            matrix[np.ix_(columns, rows)] = other.T
        return (matrix + matrix.T) / 2 if symmetric else matrix

    matrices = (bounded(draw, WELL_CONDITIONED) for _ in range(2))
    return make_case("saddles", seed, rng, graph, sizes, *matrices, symmetric)


def _connected(rng, count, density):
    """Random connected graph: a random recursive tree and a part of the other edges."""
    graph = nx.Graph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from((int(rng.integers(0, i)), i) for i in range(1, count))
    more = rng.random((count, count)) < density * 2.0 / max(count, 1)
    graph.add_edges_from((int(i), int(j)) for i, j in np.argwhere(np.triu(more, 1)))
    return graph


FAMILIES = {function.__name__: function for function in (scaled_diagonals, saddles)}


def draw(family: str, seed: int) -> Case:
    """Case of a family."""
    rng = np.random.default_rng([zlib.crc32(family.encode()), seed])
    return FAMILIES[family](seed, rng)
