"""Families without a structure of their own: random systems of all kinds, and worked examples."""

from __future__ import annotations

import networkx as nx
import numpy as np

from tests.fuzz.cases import Case, connected, make_case, pattern, row_ranges

#: Rows up to which random nodes are added: dense references stay cheap.
MOST_ROWS = 250
#: Exponents of two that rows and columns are scaled by: entries stay between 1e-271 and 1e271 in
#: double precision, and vectors in the scaling of the matrix do.
SPREAD = {np.float32: (0, 0, 10, 30), np.float64: (0, 0, 30, 450), np.complex128: (0, 0, 30, 450)}
#: Exponents of two that whole matrices are scaled by, 1e300 and 1e30.
GLOBAL = {np.float32: 100, np.float64: 997, np.complex128: 997}


def general(seed: int, rng) -> Case:
    """Any graph, sizes of 0 to 20, three types, any scale, singular parts."""
    graph = _graph(rng)
    largest = int(rng.choice([1, 3, 8, 20]))
    sizes = {node: int(rng.integers(rng.integers(0, 2), largest + 1)) for node in graph}
    rows = 0
    for node in sizes:
        sizes[node] = min(sizes[node], MOST_ROWS - rows)
        rows += sizes[node]
    dtype = [np.float64, np.float64, np.float32, np.complex128][rng.integers(4)]
    symmetric = bool(rng.random() < 0.3)
    inside, ranges = pattern(graph, sizes), row_ranges(sizes)
    dominance = float(rng.choice([0.0, 0.0, 1.0, 10.0])) * np.sqrt(rows)
    changes = [change for change in CHANGES if rng.random() < 0.15]
    spread = int(rng.choice(SPREAD[dtype]))
    left, right = rng.integers(-spread, spread + 1, (2, rows))
    if symmetric:
        right = left
    whole = GLOBAL[dtype] * int(rng.choice([-1, 0, 0, 0, 0, 1])) if spread == 0 else 0
    chosen = {node: rng.random() < 0.3 for node in sizes}

    def draw():
        matrix = rng.normal(size=inside.shape)
        if dtype is np.complex128:
            matrix = matrix + 1j * rng.normal(size=inside.shape)
        matrix = np.where(inside, matrix, 0.0) + dominance * np.eye(rows)
        for change in changes:
            for node, mine in ranges.items():
                if chosen[node] and mine.size:
                    change(matrix, mine, rng)
        if symmetric:
            matrix = np.triu(matrix) + np.triu(matrix, 1).T
        with np.errstate(under="ignore"):
            factor = np.ldexp(1.0, left[:, None] + right + whole)
            return (matrix * factor).astype(dtype)

    return make_case("general", seed, rng, graph, sizes, draw(), draw(), symmetric)


def apart(seed: int, rng) -> Case:
    """Matrices of two kinds on one graph: what factors of one chose need not suit the other."""
    graph = connected(rng, int(rng.integers(2, 13)), rng.uniform(0.0, 1.0))
    low, largest = int(rng.integers(0, 2)), int(rng.choice([1, 2, 3, 6]))
    sizes = {node: int(rng.integers(low, largest + 1)) for node in graph}
    inside, ranges, rows = pattern(graph, sizes), row_ranges(sizes), sum(sizes.values())
    dtype = [np.float64, np.float64, np.float32, np.complex128][rng.integers(4)]
    symmetric = bool(rng.random() < 0.5)

    def draw():
        matrix = rng.normal(size=inside.shape)
        if dtype is np.complex128:
            matrix = matrix + 1j * rng.normal(size=inside.shape)
        matrix = np.where(inside, matrix, 0.0)
        matrix += rng.choice([0.0, 0.0, 10.0]) * np.eye(rows)
        change = (None, *CHANGES, _least_block)[rng.integers(len(CHANGES) + 2)]
        for mine in ranges.values():
            if change is not None and rng.random() < 0.3 and mine.size:
                change(matrix, mine, rng)
        if symmetric:
            matrix = np.triu(matrix) + np.triu(matrix, 1).T
        spread = int(rng.choice([0, 0, SPREAD[dtype][3]]))
        left, right = rng.integers(-spread, spread + 1, (2, rows))
        with np.errstate(under="ignore"):
            factor = np.ldexp(1.0, left[:, None] + (left if symmetric else right))
            return (matrix * factor).astype(dtype)

    return make_case("apart", seed, rng, graph, sizes, draw(), draw(), symmetric)


def _zero_block(matrix, rows, rng):
    matrix[np.ix_(rows, rows)] = 0.0


def _tiny_block(matrix, rows, rng):
    matrix[np.ix_(rows, rows)] *= 1e-20


def _nearly_singular_block(matrix, rows, rng):
    matrix[np.ix_(rows, rows)] = np.outer(rng.normal(size=rows.size), rng.normal(size=rows.size))
    matrix[rows, rows] += 1e-10


def _tiny_couplings(matrix, rows, rng):
    others = np.setdiff1d(np.arange(len(matrix)), rows)
    matrix[np.ix_(rows, others)] *= 1e-18


def _least_block(matrix, rows, rng):
    matrix[np.ix_(rows, rows)] *= 1e-30


def _empty_row(matrix, rows, rng):
    if rng.random() < 0.3:
        matrix[rows[0]] = matrix[:, rows[0]] = 0.0


CHANGES = _zero_block, _tiny_block, _nearly_singular_block, _tiny_couplings, _empty_row


def _graph(rng):
    count = int(61 * rng.random() ** 2)
    kind = rng.choice(["tree", "loop", "complete", "random", "parts", "isolated"])
    if kind == "tree":
        graph = connected(rng, count, 0.0)
    elif kind == "loop" and count > 2:
        graph = nx.cycle_graph(count)
    elif kind == "complete":
        graph = nx.complete_graph(min(count, 12))
    elif kind == "random":
        graph = connected(rng, count, rng.uniform(0.0, 2.0))
    elif kind == "parts":
        half = connected(rng, count // 2, 0.5)
        graph = nx.disjoint_union(half, connected(rng, count - count // 2, 0.0))
    else:
        graph = nx.empty_graph(count)
    names = rng.permutation(len(graph)).tolist()
    if rng.random() < 0.5:
        names = [f"node {i}" for i in names]
    return nx.relabel_nodes(graph, dict(zip(list(graph), names)))


#: Matrices worked by hand: block sizes, matrix, values at another time.
WORKED = [
    ([1, 1], [[1e-16, 1.0], [1.0, 1e-16]]),  # x = (1, 1) for b = (1, 1)
    ([1, 1], [[0.0, 1.0], [1.0, 0.0]]),
    ([1, 1], [[1e-9, 1.0], [1.0, 1e-9]]),
    ([1, 1, 1], [[1e-16, 1.0, 0.0], [1.0, 1e-16, 1.0], [0.0, 1.0, 1.0]]),
    ([2], [[1e-16, 1.0], [1.0, 1e-16]]),
    ([1], [[1e-300]]),
    ([1], [[1e300]]),
    ([1], [[0.0]]),
    ([0], np.zeros((0, 0))),
    ([], np.zeros((0, 0))),
    ([1, 0, 1], [[1.0, 2.0], [3.0, 4.0]]),
    ([1, 1], [[1.0, 1e200], [1e200, 1.0]]),
    ([1, 1], [[1.0, 1e-200], [1e200, 2.0]]),
    ([1, 1], [[1.0, 1.0], [1.0, 1.0]]),
    ([1, 1], [[1.0, 1.0], [1.0, 1.0 + 1e-15]]),
    ([1, 1], [[1.0, 0.0], [0.0, 0.0]]),
    ([2, 1], [[1e-10, 1.0, 1.0], [1.0, 1e-10, 1.0], [1.0, 1.0, 0.0]]),
    ([1, 1, 1], [[1e-20, 1.0, 1.0], [1.0, 1e-20, 1.0], [1.0, 1.0, 1e-20]]),
]


def worked(seed: int, rng) -> Case:
    """A small matrix worked by hand; its values at another time are twice as large."""
    sizes, matrix = WORKED[seed % len(WORKED)]
    matrix = np.array(matrix, float)
    symmetric = bool(seed // len(WORKED) % 2) and np.array_equal(matrix, matrix.T)
    graph = nx.complete_graph(len(sizes))
    return make_case(
        "worked", seed, rng, graph, dict(enumerate(sizes)), matrix, 2.0 * matrix, symmetric
    )
