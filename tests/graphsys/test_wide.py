"""Wide supernodes: many pivot blocks in one panel, products of many terms, tiles of all shapes."""

import itertools

import networkx as nx
import numpy as np
import pytest

import graphsys as gs
from graphsys.families import random_system
from graphsys.kernels.base.layout import STARTS_AT, SUPERNODES

TYPES = [
    np.float64, np.float32, np.complex128, pytest.param(np.complex64, marks=pytest.mark.slow),
]  # fmt: skip


def stencil(n):
    """Cubic grid, every node joined to the up to 26 around it."""
    graph = nx.Graph()
    steps = [d for d in itertools.product((-1, 0, 1), repeat=3) if d > (0, 0, 0)]
    for p in itertools.product(range(n), repeat=3):
        nodes = [(p, tuple(a + b for a, b in zip(p, d, strict=True))) for d in steps]
        graph.add_edges_from((p, q) for _, q in nodes if all(0 <= c < n for c in q))
    return graph


FAMILIES = {
    "crystal, scalars": (gs.crystal(8), 1, 15.0),
    "stencil, three unknowns": (stencil(5), 3, 20.0),
    "crystal, six unknowns": (gs.crystal(4), 6, 20.0),
    "net, five unknowns": (gs.net(12), 5, 15.0),
    "complete graph, seven unknowns": (nx.complete_graph(20), 7, 30.0),
}


def made(family, dtype=np.float64, symmetric=False, seed=0):
    graph, size, dominance = FAMILIES[family]
    return random_system(
        graph, size, seed=seed, dtype=dtype, symmetric=symmetric, dominance=dominance
    )


def widths(symbolic):
    """Pivot rows of all supernodes."""
    program = symbolic.program
    starts = program[program[STARTS_AT] : program[STARTS_AT] + program[SUPERNODES]]
    return program[starts]


def rows(graph, i):
    """Rows of one node."""
    return np.arange(graph.row_start[i], graph.row_start[i] + graph.size[i])


def error_bound(A, dtype):
    # Gaussian elimination of a diagonally dominant matrix grows at most twofold: the error of x is
    # below 8 n eps cond(A) |x| (Higham 2002, theorem 9.4), in practice far below
    eps = np.finfo(dtype).eps
    return 8 * len(A) * float(eps) * np.linalg.cond(A)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_solutions_equal_dense_ones(family, dtype, symmetric):
    system = made(family, dtype, symmetric)
    A = system.to_dense()
    B = np.random.default_rng(1).normal(size=(len(A), 3)).astype(dtype)
    symbolic = system.analyze()
    factor = system.factorize(symbolic)

    assert widths(symbolic).max() >= 24  # three pivot blocks in a panel, and more
    for trans, matrix in (("N", A), ("T", A.T)):
        X = np.linalg.solve(matrix, B)
        bound = error_bound(A, dtype) * np.abs(X).max()
        assert np.abs(factor.solve(B, trans=trans) - X).max() <= bound
        assert np.abs(factor.solve(B[:, 0], trans=trans) - X[:, 0]).max() <= bound


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("symmetric", [False, True])
def test_parts_and_threads_leave_the_same_factors(family, symmetric, monkeypatch):
    monkeypatch.setattr("graphsys.numeric.threads.WORTH_IT", 0.0)
    system, other = made(family, symmetric=symmetric), made(family, symmetric=symmetric, seed=1)
    symbolic = system.analyze()
    nodes = [system.labels[0], system.labels[len(system.labels) // 2]]
    changed = system.copy()
    for node in nodes:
        changed[node, node] = other[node, node]
    b = np.ones(system.shape[0])
    whole = gs.Factor(symbolic, changed.values).solve(b)
    part = gs.Factor(symbolic, system.values).refactorize(changed.values, changed=nodes)

    assert np.array_equal(part.solve(b), whole)
    assert np.array_equal(gs.Factor(symbolic, changed.values, threads=2).solve(b), whole)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("symmetric", [False, True])
def test_blocks_of_the_inverse_and_schur_complements_equal_dense_ones(family, symmetric):
    system = made(family, symmetric=symmetric)
    A, graph = system.to_dense(), system.graph
    inverse, bound = np.linalg.inv(A), error_bound(A, np.float64)
    selected = system.factorize().selected_inverse()
    for i, j in zip(*graph.pairs(), strict=True):
        expected = inverse[rows(graph, i)][:, rows(graph, j)]
        found = selected[graph.labels[i], graph.labels[j]]
        assert np.abs(found - expected).max() <= bound * np.abs(inverse).max()

    kept = [0, len(graph.labels) // 2, len(graph.labels) - 1]
    at = np.concatenate([rows(graph, i) for i in kept])
    schur = gs.condense(system, [graph.labels[i] for i in kept]).schur()
    expected = np.linalg.inv(inverse[np.ix_(at, at)])
    assert np.abs(schur - expected).max() <= 2 * bound * np.abs(expected).max()
