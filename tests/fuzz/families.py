"""Families of random systems with a structure, and the list of all: a seed gives a case.

The corpus holds seeds: a generator that draws otherwise changes what they mean.
"""

from __future__ import annotations

import zlib

import networkx as nx
import numpy as np

from tests.fuzz.cases import Case, bounded, connected, make_case, pattern, row_ranges
from tests.fuzz.general import apart, general, worked

#: Bound on the plain condition numbers of the families that promise one.
WELL_CONDITIONED = 1e8


def scaled_diagonals(seed: int, rng) -> Case:
    """2 to 8 nodes of 1 to 3 rows; most diagonal blocks are scaled by 1e-4 to 1e-16."""
    graph = connected(rng, int(rng.integers(2, 9)), rng.uniform(0.0, 1.0))
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


def redundant(seed: int, rng) -> Case:
    """Bodies on a ring of joints whose last rows repeat others: singular, often consistent."""
    count, body = int(rng.integers(2, 5)), int(rng.integers(3, 7))
    joint = int(rng.integers(1, 3))
    graph = nx.Graph()
    graph.add_nodes_from(f"body {i}" for i in range(count))
    graph.add_nodes_from(f"joint {i}" for i in range(count))
    sizes = {f"body {i}": body for i in range(count)} | {
        f"joint {i}": joint + (i == 0) for i in range(count)
    }
    ranges, total = row_ranges(sizes), sum(sizes.values())

    def draw():
        matrix = np.zeros((total, total))
        for i in range(count):
            rows = ranges[f"body {i}"]
            root = rng.normal(size=(body, body))
            matrix[np.ix_(rows, rows)] = root @ root.T + np.eye(body)
            rows = ranges[f"joint {i}"]
            for j in {i, (i + 1) % count}:
                columns = ranges[f"body {j}"]
                jacobian = rng.normal(size=(joint + (i == 0), body))
                if i == 0:
                    jacobian[-1] = 2.0 * jacobian[0]
                matrix[np.ix_(rows, columns)] = jacobian
                matrix[np.ix_(columns, rows)] = jacobian.T
        return matrix

    graph.add_edges_from(
        (f"joint {i}", f"body {j}") for i in range(count) for j in {i, (i + 1) % count}
    )
    symmetric = bool(rng.random() < 0.5)
    return make_case("redundant", seed, rng, graph, sizes, _even(draw()), _even(draw()), symmetric)


def barriers(seed: int, rng) -> Case:
    """Interior-point KKT matrices of optimal control: barriers of 1e-8 to 1e8, banded."""
    stages = int(rng.integers(25, 151))
    state, rows = int(rng.integers(1, 4)), 1
    rows = int(rng.integers(1, state + 1))
    graph = nx.Graph()
    for k in range(stages):
        graph.add_edge(("x", k), ("lam", k))
        if k:
            graph.add_edge(("lam", k), ("x", k - 1))
    sizes = {node: state if node[0] == "x" else rows for node in graph}
    ranges, total = row_ranges(sizes), sum(sizes.values())
    diagonal = float(rng.choice([0.0, 1e-8]))

    def draw():
        matrix = np.zeros((total, total))
        for kind, k in graph:
            mine = ranges[kind, k]
            if kind == "lam":
                matrix[mine, mine] = -diagonal
                continue
            root = rng.normal(size=(state, state)) * 1e-4
            hessian = root @ root.T + np.diag(10.0 ** rng.uniform(-8.0, 8.0, state))
            matrix[np.ix_(mine, mine)] = hessian
        for u, v in graph.edges:
            u, v = (u, v) if u[0] == "lam" else (v, u)
            jacobian = rng.normal(size=(rows, state))
            matrix[np.ix_(ranges[u], ranges[v])] = jacobian
            matrix[np.ix_(ranges[v], ranges[u])] = jacobian.T
        return _even(matrix)

    symmetric = bool(rng.random() < 0.7)
    return make_case("barriers", seed, rng, graph, sizes, draw(), draw(), symmetric)


def definite(seed: int, rng) -> Case:
    """Symmetric positive definite systems, some scaled by powers of two from both sides."""
    graph = connected(rng, int(rng.integers(1, 25)), rng.uniform(0.0, 0.5))
    sizes = {node: int(rng.integers(1, 7)) for node in graph}
    ranges, total = row_ranges(sizes), sum(sizes.values())
    dtype = rng.choice([np.float64, np.float64, np.float32])
    spread = int(rng.choice([0, 30, 400])) if dtype == np.float64 else int(rng.choice([0, 15]))
    shift = 10.0 ** rng.uniform(-12.0 if dtype == np.float64 else -4.0, 1.0)
    scaling = rng.integers(-spread, spread + 1, total)

    def draw():
        matrix = np.eye(total) * shift
        for u, v in [*graph.edges, *((u, u) for u in graph)]:
            rows = np.union1d(ranges[u], ranges[v])
            residual = rng.normal(size=(int(rng.integers(1, 4)), rows.size))
            matrix[np.ix_(rows, rows)] += residual.T @ residual
        return _even(np.ldexp(matrix, scaling[:, None] + scaling)).astype(dtype)

    symmetric = bool(rng.random() < 0.7)
    return make_case("definite", seed, rng, graph, sizes, draw(), draw(), symmetric)


def circulations(seed: int, rng) -> Case:
    """A directed cycle of large couplings, against them small ones or none."""
    count = int(rng.integers(3, 13))
    graph = nx.relabel_nodes(
        nx.cycle_graph(count), dict(enumerate(rng.permutation(count).tolist()))
    )
    cycle = list(graph)
    pairs = list(zip(cycle, [*cycle[1:], cycle[0]]))
    for u, v in rng.choice(cycle, (int(rng.integers(0, 3)), 2)).tolist():
        if u != v:
            graph.add_edge(u, v)
    size = int(rng.integers(1, 5))
    sizes = dict.fromkeys(graph, size)
    ranges, inside = row_ranges(sizes), pattern(graph, sizes)
    weight = 10.0 ** rng.uniform(1.0, 8.0)
    against = float(rng.choice([0.0, 1.0, 1e-8]))

    def draw():
        matrix = np.where(inside, rng.normal(size=inside.shape), 0.0)
        for u, v in pairs:
            matrix[np.ix_(ranges[u], ranges[v])] *= weight
            matrix[np.ix_(ranges[v], ranges[u])] *= against
        return matrix

    return make_case("circulations", seed, rng, graph, sizes, draw(), draw())


def _even(matrix):
    """Symmetric part of a matrix that is symmetric but for rounding, without overflow."""
    return np.triu(matrix) + np.triu(matrix, 1).T


FAMILIES = {
    function.__name__: function
    for function in (
        worked,
        scaled_diagonals,
        saddles,
        redundant,
        barriers,
        general,
        definite,
        circulations,
        apart,
    )
}


def draw(family: str, seed: int) -> Case:
    """Case of a family."""
    rng = np.random.default_rng([zlib.crc32(family.encode()), seed])
    return FAMILIES[family](seed, rng)
