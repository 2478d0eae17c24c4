"""Selected inverse: by hand, against dense for all types, operation counts, refusals."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsys as gs
from graphsys.families import body_joint_tree, random_saddle_system, random_system
from graphsys.kernels.single import selected_inverse as kernels
from tests.graphsys.work import block_operations

TYPES = [
    np.float64, np.float32, np.complex128, pytest.param(np.complex64, marks=pytest.mark.slow),
]  # fmt: skip
GRAPHS = (
    gs.chain(7),
    gs.random_tree(12),
    gs.ladder(5),
    gs.net(4),
    gs.crystal(3),
    nx.complete_graph(6),
    nx.star_graph(9),
    nx.empty_graph(3),
)


def dominant(graph, dims, **options):
    """A system whose diagonal is about twice as large as the spectral radius of the rest."""
    degree = max(degree for _, degree in graph.degree) + 1
    return random_system(graph, dims, dominance=10 + 2 * (degree * np.max(dims)) ** 0.5, **options)


def assert_equals_dense(system, inverse):
    """Each block within the forward error of an elimination: condition number times rounding."""
    matrix = system.to_dense()
    if not matrix.size:
        return
    dense = np.linalg.inv(matrix.astype(np.result_type(matrix, float)))
    bound = 10 * np.linalg.cond(matrix, np.inf) * np.finfo(system.dtype).eps
    rows = system.graph.row_start
    for u, v in [(u, u) for u in system.labels] + list(edges(system.graph)):
        i, j = system.graph.index[u], system.graph.index[v]
        block = dense[rows[i] : rows[i + 1], rows[j] : rows[j + 1]]
        assert inverse[u, v].shape == block.shape and inverse[u, v].dtype == system.dtype
        assert np.abs(inverse[u, v] - block).max(initial=0) <= bound * np.abs(dense).max()


def edges(graph):
    i, j = graph.pairs()
    return [(graph.labels[a], graph.labels[b]) for a, b in zip(i, j, strict=True) if a != b]


def test_two_nodes_by_hand():
    # [2 1; 1 3]^-1 = [3 -1; -1 2] / 5
    system = gs.System(nx.path_graph(["u", "v"]), 1, blocks={("u", "u"): 2, ("v", "v"): 3})
    system["u", "v"] = system["v", "u"] = 1
    inverse = system.factorize().selected_inverse()

    assert inverse["u", "u"] == pytest.approx(3 / 5)
    assert inverse["v", "v"] == pytest.approx(2 / 5)
    assert inverse["u", "v"] == inverse["v", "u"] == pytest.approx(-1 / 5)
    assert inverse.diagonal() == pytest.approx([0.6, 0.4])


def test_the_ends_of_a_chain_know_the_whole_chain_but_not_each_other():
    # tridiag(-1, 2, -1) of size 3 has the inverse [3 2 1; 2 4 2; 1 2 3] / 4
    system = gs.System(gs.chain(3), 1, symmetric=True)
    for k in range(3):
        system[k, k] = 2
    system[0, 1] = system[1, 2] = -1
    inverse = system.factorize().selected_inverse()

    assert inverse.diagonal() == pytest.approx([0.75, 1.0, 0.75])
    expected = [[0.75, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 0.75]]
    assert inverse.to_scipy().toarray() == pytest.approx(np.array(expected))
    with pytest.raises(gs.UnknownEdgeError):
        inverse[0, 2]


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("dims", [1, 2, 3, 6, 8, 9, 20])
def test_families_equal_dense(dims, dtype, symmetric):
    for graph in GRAPHS:
        system = dominant(graph, dims, dtype=dtype, symmetric=symmetric)
        assert_equals_dense(system, system.factorize().selected_inverse())


@given(data=st.data())
def test_any_graph_with_any_sizes_equals_dense(data):
    n = data.draw(st.integers(1, 12))
    graph = nx.gnm_random_graph(n, data.draw(st.integers(0, 2 * n)), seed=data.draw(st.integers(0)))
    size = data.draw(st.lists(st.integers(0, 12), min_size=n, max_size=n))
    symmetric = data.draw(st.booleans())
    system = dominant(graph, size, seed=data.draw(st.integers(0, 99)), symmetric=symmetric)
    symbolic = system.analyze(data.draw(st.sampled_from(["auto", "dfs", "amd", "nd"])))

    assert_equals_dense(system, system.factorize(symbolic).selected_inverse())


@pytest.mark.parametrize("bodies", [2, 7, 20])
def test_zero_diagonal_blocks_do_not_matter(bodies):
    system = random_saddle_system(body_joint_tree(bodies))
    assert_equals_dense(system, system.factorize().selected_inverse())


def test_of_a_symmetric_system_it_is_exactly_symmetric():
    system = dominant(gs.net(5), 4, symmetric=True)
    inverse = system.factorize().selected_inverse().to_scipy().toarray()

    assert np.array_equal(inverse, inverse.T)


def test_it_is_the_covariance_of_samples_with_that_precision():
    # the samples' own covariance is off by about variance * sqrt(2 / samples)
    system = dominant(gs.ladder(3), 2, symmetric=True)
    factor = system.factorize()
    samples = 20_000
    noise = np.random.default_rng(0).normal(size=(system.shape[0], samples))
    x = np.linalg.solve(np.linalg.cholesky(system.to_dense()).T, noise)
    found = factor.selected_inverse().diagonal()

    assert np.all(np.abs((x**2).mean(axis=1) / found - 1) < 6 * (2 / samples) ** 0.5)


@pytest.mark.parametrize("n", [30, 300])
def test_small_pivots_of_a_dominant_matrix_are_not_delayed(n):
    # A path of unit conductances, grounded at its end: the inverse is n - max(i, j), condition n^2.
    line = np.full(n - 1, -1.0)
    diagonal = np.r_[1.0, np.full(n - 1, 2.0)]
    A = sp.diags_array([line, diagonal, line], offsets=[-1, 0, 1], format="csr")
    system = gs.System.from_scipy(A, 1, symmetric=True)
    factor = system.factorize(system.analyze(range(n - 1, -1, -1)))
    assert factor.pivot_ratio < 0.125  # doubtful
    inverse = factor.selected_inverse()
    assert factor._factorization.fronts is None
    for k in range(n):
        assert abs(inverse[k, k].item() - (n - k)) <= 10.0 * np.finfo(float).eps * n**2
    assert factor.slogdet()[1] == pytest.approx(0.0, abs=1e-11)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("graph", [gs.net(7), gs.crystal(3), nx.complete_graph(9)])
def test_it_takes_twice_the_operations_of_the_factorization(monkeypatch, graph, symmetric):
    # For d rows and s later 4 d s (s + d) relative to 2 d s (s + d) + 2 d^3; of a symmetric matrix
    # 2 d s (s + 2 d) relative to d s (s + 2 d) and more. A tenth more for zeros in supernodes.
    system = dominant(graph, 6, symmetric=symmetric)
    factor = system.factorize(system.analyze("amd"))
    program, arena = factor.symbolic.supernodal_program, factor._factorization.arena
    work = np.empty(kernels.selected_work_size(program))
    inverse = np.empty_like(arena)
    arguments = (program, arena, work, inverse)
    count = block_operations(monkeypatch, [kernels], kernels.invert_selected, *arguments)

    assert count <= 1.1 * 2 * factor.symbolic.operations


def test_on_chains_it_takes_operations_in_proportion_to_the_nodes(monkeypatch):
    counts = []
    for n in (40, 80, 160):
        factor = dominant(gs.chain(n), 3).factorize()
        program, arena = factor.symbolic.supernodal_program, factor._factorization.arena
        work = np.empty(kernels.selected_work_size(program))
        inverse = np.empty_like(arena)
        arguments = (program, arena, work, inverse)
        counts.append(block_operations(monkeypatch, [kernels], kernels.invert_selected, *arguments))

    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_and_columns_scaled_apart_scale_the_inverse_the_other_way(dtype):
    # (R A C)^-1 = C^-1 A^-1 R^-1; exponents so far apart are equilibrated first
    system = dominant(gs.ladder(4), 2, dtype=dtype)
    matrix = system.to_dense()
    rng = np.random.default_rng(4)
    widest = {np.float64: 60, np.float32: 30}[dtype]
    row, column = 2.0 ** rng.integers(-widest, widest + 1, (2, system.shape[0])).astype(float)
    scaled = system.copy()
    for u, v in [(u, u) for u in system.labels] + list(edges(system.graph)):
        i, j = 2 * system.graph.index[u], 2 * system.graph.index[v]
        scaled[u, v] = system[u, v] * row[i : i + 2, None] * column[j : j + 2]
    factor = scaled.factorize()
    found = factor.selected_inverse().to_scipy().toarray().astype(float)

    assert factor._factorization.scaling is not None
    inverse = np.linalg.inv(matrix.astype(float))
    rounding = matrix.shape[0] * np.finfo(dtype).eps
    bound = rounding * np.linalg.cond(matrix, np.inf) * np.abs(inverse).max()
    kept = found != 0.0
    assert kept.sum() == system.values.size
    assert np.abs((found * column[:, None] * row - inverse)[kept]).max() <= bound


def test_labels_are_checked_and_blocks_are_read_only():
    inverse = dominant(nx.path_graph(["a", "b", "c"]), 2).factorize().selected_inverse()
    with pytest.raises(gs.UnknownNodeError, match="'d'"):
        inverse["a", "d"]
    with pytest.raises(gs.UnknownEdgeError, match="'a' and 'c'.*unit vectors"):
        inverse["a", "c"]
    with pytest.raises(TypeError, match="two labels"):
        inverse["a"]
    with pytest.raises(ValueError, match="read-only"):
        inverse["a", "b"][0, 0] = 1.0
    assert repr(inverse) == "SelectedInverse(3 nodes, 2 edges)"


def test_a_failed_factor_has_none():
    system = dominant(gs.chain(4), 2)
    factor = system.factorize()
    with pytest.raises(gs.SingularPivotError):
        factor.refactorize(np.zeros_like(system.values))
    with pytest.raises(ValueError, match="last refactorize failed"):
        factor.selected_inverse()


@pytest.mark.parametrize("exponent", [-60, -300])
def test_the_inverse_is_exact_in_the_units_of_the_matrix(exponent):
    # the largest products of entries have many scalings; the one halfway between 1 and t makes
    # entries (0, 3) and (3, 3) of the inverse, 1/2 and 0, differ by 1/t
    t = 2.0**exponent
    matrix = [[0, 1, 0, 2], [1, 3 * t, 1, 0], [0, 1, 0, 0], [2, 0, 0, t]]
    blocks = {(u, v): matrix[u][v] for u, v in np.ndindex(4, 4) if matrix[u][v] != 0}
    graph = nx.Graph([(0, 1), (0, 3), (1, 2)])
    inverse = gs.System(graph, 1, blocks=blocks, symmetric=True).factorize().selected_inverse()
    exact = [[-t / 4, 0, t / 4, 0.5], [0, 0, 1, 0], [t / 4, 1, -3.25 * t, -0.5], [0.5, 0, -0.5, 0]]
    for u in graph:
        assert inverse[u, u] == pytest.approx(exact[u][u], abs=1e-15)
        for v in graph[u]:
            assert inverse[u, v] == pytest.approx(exact[u][v], abs=1e-15)
