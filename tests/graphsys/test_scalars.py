"""Graphs whose nodes are single rows: loops of their own for the program of small nodes."""

import networkx as nx
import numpy as np
import pytest

import graphsys as gs
from graphsys import kernels
from graphsys.families import random_system
from graphsys.kernels.base.jit import kernel
from graphsys.kernels.base.layout import (
    ARENA_SIZE,
    FIRST,
    LOWER,
    NODAL_AT,
    PIVOTS,
    ROWS,
    SCALARS,
    STARTS_AT,
)
from graphsys.kernels.single.scalar_ldu import factorize_scalars, solve_scalars
from tests.graphsys.test_factor import backward_error, right_hand_side

GRAPHS = {
    "one": gs.chain(1),
    "apart": nx.empty_graph(3),
    "chain": gs.chain(40),
    "tree": gs.random_tree(40, seed=5),
    "star": nx.star_graph(9),
    "filled": nx.disjoint_union(gs.chain(12), nx.empty_graph(20)),
}
#: Nodes in the middle first: each has two neighbours, and fills in between them.
ORDERS = {"filled": [5, 2, 8, 9, *(i for i in range(32) if i not in (5, 2, 8, 9))]}


@kernel
def scalars(program, values, tolerance, magnitude, arena, info):
    return factorize_scalars(program, values, tolerance, magnitude, arena, info, None)


def arrays(symbolic, dtype=float):
    arena, magnitude, _ = kernels.work_sizes(symbolic.program, 1)
    return np.zeros(magnitude, dtype), np.zeros(arena, dtype), np.zeros(3)


def test_a_chain_of_three_by_hand():
    # 2 1 .      a: d = 2, L = 1, W = 1/2; b: d = 5 - 1/2 = 9/2, L = 3, W = 2/9;
    # 1 5 1      c: d = 4 - 3 * 2/9 = 10/3
    # . 3 4
    system = gs.System(nx.path_graph(["a", "b", "c"]), 1)
    for (u, v), entry in {
        "aa": 2.0, "bb": 5.0, "cc": 4.0, "ab": 1.0, "ba": 1.0, "bc": 1.0, "cb": 3.0,
    }.items():  # fmt: skip
        system[u, v] = [[entry]]
    symbolic = system.analyze(["a", "b", "c"])
    magnitude, arena, info = arrays(symbolic)

    assert scalars(symbolic.program, system.values, 1e-14, magnitude, arena, info) == 0
    panels = [1 / 2, 1.0, 2 / 9, 3.0, 3 / 10, 1 / 2, 2 / 9]
    assert arena[:7] == pytest.approx(panels, rel=1e-15)
    assert info.tolist() == pytest.approx([(10 / 3) / 4, 2.0, 0.0])  # c held 4, 10/3 is left
    x = np.zeros(4)
    out = np.zeros(3)
    assert solve_scalars(symbolic.program, arena, np.array([3.0, 7.0, 7.0]), x, out) == 0
    assert out == pytest.approx([1.0, 1.0, 1.0], rel=1e-15)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_factors_are_those_of_panels(name, symmetric, dtype):
    system = random_system(GRAPHS[name], 1, symmetric=symmetric, dtype=dtype)
    symbolic = system.analyze(ORDERS.get(name, "auto"))
    assert symbolic.program[NODAL_AT] != 0 and symbolic.fill.any() == (name == "filled")
    expected, found, called = (arrays(symbolic, dtype) for _ in range(3))
    program, panels, values = symbolic.program, symbolic.supernodal_program, system.values

    assert kernels.factorize(panels, values, 1e-6, *expected) == 0
    assert kernels.factorize(program, values, 1e-6, *called) == 0
    assert scalars(program, values, 1e-6, *found) == 0
    rows, size = int(program[ROWS]), int(program[ARENA_SIZE])
    for made in (expected, found, called):
        made[1][size:] = 0.0  # the workspace
    for made in (found, called):
        original = made[0][rows : 2 * rows]  # infinity where nothing updates a row
        original[np.isinf(original)] = expected[0][rows : 2 * rows][np.isinf(original)]
        for one, other in zip(expected, made, strict=True):
            # each entry is a sum of at most 9 products, rounded in another order or not at all
            assert np.allclose(one, other, rtol=32 * np.finfo(dtype).eps, atol=0.0)
    k, begin = np.arange(rows), symbolic.front_start[:-1]
    starts = symbolic.panels[symbolic.panels[STARTS_AT] :][:rows]
    for field, places in ((PIVOTS, k * 0 + 1), (FIRST, k), (LOWER, k + begin)):
        assert symbolic.panels[starts + field].tolist() == places.tolist()


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_solutions_are_those_of_the_dense_matrix(name, symmetric, dtype):
    system = random_system(GRAPHS[name], 1, symmetric=symmetric, dtype=dtype)
    factor = system.factorize(system.analyze(ORDERS.get(name, "auto")))
    b = right_hand_side(system)

    x = factor.refactorize_and_solve(system.values, b)
    assert x.dtype == dtype and backward_error(system.to_dense(), x, b) < 8 * np.finfo(dtype).eps
    assert np.array_equal(factor.refactorize(system.values).solve(b), x)
    assert factor.pivot_ratio <= 1.0 and factor.report.backward_error is None


def test_what_is_wrong_is_said_and_the_factor_recovers():
    system = random_system(gs.chain(30), 1)
    factor, b = system.factorize(), right_hand_side(system)
    x = factor.refactorize_and_solve(system.values, b)
    for bad, error in ((0.0, gs.SingularPivotError), (np.nan, ValueError), (np.inf, ValueError)):
        values = system.values.copy()
        values[:] = bad
        for call in (
            lambda v=values: factor.refactorize(v),
            lambda v=values: factor.refactorize_and_solve(v, b),
        ):
            with pytest.raises(error):
                call()
        y = factor.refactorize_and_solve(system.values, b)  # in another order, perhaps
        assert y == pytest.approx(x, rel=1e-12)
    with pytest.raises(ValueError, match="b is not finite at node 7"):
        factor.refactorize_and_solve(system.values, np.where(np.arange(30) == 7, np.inf, b))
    with pytest.raises(OverflowError, match="scale"):
        factor.refactorize_and_solve(1e-300 * system.values, 1e300 * b)


def test_a_pivot_that_cancels_is_singular_and_one_that_nearly_does_is_refined():
    system = gs.System(gs.chain(2), 1)
    system[0, 1] = system[1, 0] = system[0, 0] = [[1.0]]
    b = np.array([1.0, 2.0])
    for left, refined in ((0.5, False), (1e-3, True)):
        system[1, 1] = [[1.0 + left]]
        factor = system.factorize()
        assert factor.pivot_ratio == pytest.approx(left / (1.0 + left), rel=1e-12)
        assert backward_error(system.to_dense(), factor.solve(b), b) < 1e-16
        assert (factor.report.backward_error is not None) == refined
    system[1, 1] = [[1.0]]
    with pytest.raises(gs.SingularPivotError):
        system.factorize()


def test_zero_diagonals_and_larger_nodes_are_left_to_others():
    for size, diagonal, scalar in ((1, 5.0, True), (2, 5.0, False), (1, 0.0, False)):
        system = random_system(gs.chain(6), size)
        system[5, 5] = diagonal * np.eye(size)
        factor, b = system.factorize(), right_hand_side(system)
        assert (kernel_of(factor) == "scalar_factors") == scalar
        assert backward_error(system.to_dense(), factor.solve(b), b) < 1e-14


def kernel_of(factor):
    """Name of what a factorization calls."""
    function = factor._factorization.fast_factorize
    held = zip(function.__code__.co_freevars, function.__closure__, strict=True)
    return dict(held)["kernel"].cell_contents.__name__


def test_graphs_whose_supernodes_would_be_narrow_have_none():
    # Supernodes of a circuit have less than four rows on average; those of a ladder more, and grids
    # have many updates per node.
    circuit = nx.barabasi_albert_graph(200, 1, seed=1)
    circuit.add_edges_from(nx.gnm_random_graph(200, 10, seed=2).edges)
    for graph, nodal in ((circuit, True), (nx.ladder_graph(50), False), (nx.grid_graph([9, 9]), 0)):
        system = random_system(graph, 1)
        assert (system.analyze().program[NODAL_AT] != 0) == nodal
        b = right_hand_side(system, 3)
        x = system.factorize().solve(b)
        assert backward_error(system.to_scipy().toarray(), x, b) <= 1e-14


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("count", [1, 3, 8, 11, 16])
def test_several_columns_and_the_transposed_matrix(name, symmetric, count):
    system = random_system(GRAPHS[name], 1, symmetric=symmetric)
    factor, A = system.factorize(system.analyze(ORDERS.get(name, "auto"))), system.to_dense()
    assert factor.symbolic.program[SCALARS] == 1
    b = np.random.default_rng(count).normal(size=(A.shape[0], count))
    for trans, of in (("N", A), ("T", A.T)):
        x = factor.solve(b, trans=trans)
        for column in range(count):
            assert backward_error(of, x[:, column], b[:, column]) < 8 * np.finfo(float).eps
        one = factor.solve(b[:, 0], trans=trans)
        assert np.allclose(one, x[:, 0], rtol=1e-12, atol=0.0)


def test_columns_that_overflow_are_refused():
    system = random_system(gs.chain(30), 1)
    factor = system.factorize()
    b = np.ones((30, 9))
    b[:, 3] = 1e300
    factor.refactorize(1e-300 * system.values)
    with pytest.raises(OverflowError, match="scale"):
        factor.solve(b)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_selected_inverse_is_that_of_the_dense_matrix(name, symmetric, dtype):
    system = random_system(GRAPHS[name], 1, symmetric=symmetric, dtype=dtype)
    factor = system.factorize(system.analyze(ORDERS.get(name, "auto")))
    assert factor.symbolic.program[SCALARS] == 1
    dense = np.linalg.inv(system.to_dense().astype(float))
    i, j = system.graph.pairs()
    # an inverse of rows and columns that are at most 2 in the sum norm, by sums of at most 9 terms
    found, most = factor.selected_inverse().values, 64 * np.finfo(dtype).eps
    np.testing.assert_allclose(found, dense[i, j], rtol=0.0, atol=most * np.abs(dense).max())


@pytest.mark.parametrize("symmetric", [False, True])
def test_selected_inverse_by_hand(symmetric):
    # tridiagonal with 2 and -1: inverse min(i, j) (4 - max(i, j)) / 4
    system = gs.System(gs.chain(3), 1, symmetric=symmetric)
    for k in range(3):
        system[k, k] = 2.0
    for i, j in ((0, 1), (1, 0), (1, 2), (2, 1)):
        system[i, j] = -1.0
    inverse = system.factorize(system.analyze([0, 1, 2])).selected_inverse()
    expected = np.array([[0.75, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 0.75]])
    np.testing.assert_allclose(inverse.to_scipy().toarray(), expected, rtol=1e-15)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("symmetric", [False, True])
def test_a_change_leaves_the_same_factors_as_a_new_factorization(name, symmetric):
    system = random_system(GRAPHS[name], 1, symmetric=symmetric)
    symbolic, rng = system.analyze(ORDERS.get(name, "auto")), np.random.default_rng(1)
    factor, size = system.factorize(symbolic), symbolic.program[ARENA_SIZE]
    for count in (1, 2, 5):
        changed = [system.labels[i] for i in rng.integers(0, len(system.labels), count)]
        for u in changed:
            system[u, u] = system[u, u] * (1.0 + rng.random())
        factor.refactorize(system.values, changed=changed)
        found, whole = factor._factorization, system.factorize(symbolic)._factorization
        assert found.factorized <= len(system.labels) == whole.factorized
        # the same operations, whose products may be added without rounding first
        np.testing.assert_allclose(found.arena[:size], whole.arena[:size], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(found.magnitude, whole.magnitude, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(found.info, whole.info, rtol=1e-12, atol=1e-15)
        b = right_hand_side(system)
        assert backward_error(system.to_dense(), factor.solve(b), b) < 1e-15
