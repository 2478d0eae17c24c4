"""Pivot blocks that are nearly singular, as stiff couplings make them: residuals stay small."""

import networkx as nx
import numpy as np
import pytest

import graphsys as gs
from graphsys.kernels.blocks.weak import WEAK
from graphsys.kernels.single.refinement import FINE

EPS = np.finfo(float).eps
GRAPHS = {
    "chain": nx.path_graph(12),
    "net": nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 3)),
    "complete": nx.complete_graph(5),
}


def stiff(graph, stiffness, symmetric, size, seed):
    """Light masses with stiff springs along the edges: K u v^T, with v = u where symmetric."""
    rng, n = np.random.default_rng(seed), len(graph)
    A = np.diag(rng.uniform(0.5, 2.0, size * n))
    for a, b in graph.edges:
        u = np.zeros(size * n)
        for end in (a, b):
            u[size * end : size * (end + 1)] = rng.normal(size=size)
        v = u if symmetric else u * rng.uniform(0.9, 1.1, u.size)
        A += stiffness * np.outer(u, v)
    return A


def system_of(graph, A, symmetric, size):
    system = gs.System(graph, size, symmetric=symmetric)
    for i in graph:
        system[i, i] = A[size * i : size * (i + 1), size * i : size * (i + 1)]
    for a, b in graph.edges:
        for i, j in ((a, b),) if symmetric else ((a, b), (b, a)):
            system[i, j] = A[size * i : size * (i + 1), size * j : size * (j + 1)]
    return system


def test_two_bodies_and_a_stiff_contact_by_hand():
    # D = 1 + K, U = -K in the direction that the contact holds: W = -K / (1 + K), and what is left
    # for the second body is 1 + K - K^2 / (1 + K) = 1 + K / (1 + K)
    K, turn = 1e6, np.linalg.qr(np.random.default_rng(3).normal(size=(6, 6)))[0]
    n = turn[0]
    blocks = np.eye(6) + K * np.outer(n, n), -K * np.outer(n, n)
    system = gs.System(nx.path_graph(2), 6)
    system[0, 0] = system[1, 1] = blocks[0]
    system[0, 1] = system[1, 0] = blocks[1]
    b = np.concatenate([n, np.zeros(6)])

    x = system.factorize(refine=False).solve(b)

    # along n: (1 + K) x - K y = 1 and (1 + K) y = K x
    y = K / (1.0 + 2.0 * K)
    expected = np.concatenate([(1.0 + K) / (1.0 + 2.0 * K) * n, y * n])
    # what is left of the second body, 2 in this direction, is the difference of numbers of size K:
    # some dozen roundings of 1e6 eps = 2e-10 each; by the inverse alone it was K^2 eps = 2e-4
    np.testing.assert_allclose(x, expected, atol=1e-8)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("size", [5, 6, 8])
def test_residuals_do_not_grow_with_the_stiffness(name, symmetric, size):
    graph = GRAPHS[name]
    for seed in range(3):
        # stiff enough for weak blocks, not for the other elimination of hopeless ones
        A = stiff(graph, 30.0 / WEAK, symmetric, size, seed)
        b = np.random.default_rng(seed).normal(size=len(A))
        factor = system_of(graph, A, symmetric, size).factorize(refine=False)

        x = factor.solve(b)

        assert factor.pivot_ratio < WEAK
        error = np.abs(A @ x - b).max()
        scale = np.abs(A).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
        # each entry is the sum of some hundred products, each with a rounding of eps; W by the
        # inverse alone would leave eps over the ratio of the pivots, 1e-12 to 1e-10
        assert error <= 200 * EPS * scale


def test_the_rule_that_does_not_depend_on_units_finds_the_same_blocks():
    # another unit for the last three rows of each node: pivots change relative to their rows,
    # D_kk X_kk does not
    graph, unit = GRAPHS["chain"], np.tile([1.0] * 3 + [2.0**-3] * 3, len(GRAPHS["chain"]))
    A = stiff(graph, 30.0 / WEAK, True, 6, 0)
    b = np.random.default_rng(0).normal(size=len(A))
    error = {}
    for weak in (False, True):
        system = system_of(graph, A * np.outer(unit, unit), False, 6)
        factor = system.factorize(system.analyze().refining(weak), refine=False)

        x = unit * factor.solve(unit * b)

        scale = np.abs(A).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
        error[weak] = np.abs(A @ x - b).max() / scale
    assert error[True] <= 200 * EPS < 1e-12 < error[False]


def test_refined_solutions_need_no_more_than_one_step():
    graph = GRAPHS["chain"]
    A = stiff(graph, 30.0 / WEAK, True, 6, 0)
    b = np.ones(len(A))

    x, report = system_of(graph, A, True, 6).factorize().solve(b, report=True)

    assert report.backward_error <= FINE * EPS
    np.testing.assert_allclose(A @ x, b, atol=1e-9)
