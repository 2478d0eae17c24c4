"""Factorizing again only what a change reaches: by hand, equal to all, counts, refusals."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphsys as gs
from graphsys.families import body_joint_tree, random_saddle_system, random_system
from graphsys.kernels.base.layout import NODAL_AT
from tests.graphsys.test_factor import SLOW_TYPES


def changed_system(system, nodes, edges, seed=1):
    """A system with other blocks on some nodes and edges."""
    other, rng = system.copy(), np.random.default_rng(seed)
    both = [(a, b) for u, v in edges for a, b in ((u, v), (v, u))]
    for u, v in [(a, a) for a in nodes] + both:
        block = rng.normal(size=other[u, v].shape)
        if system.symmetric and u == v:
            block = block + block.T
        other[u, v] += block.astype(system.dtype)
    return other


def ends(edges):
    return [node for edge in edges for node in edge]


def assert_equals_a_full_one(system, other, changed, symbolic=None):
    """All that a factor tells; to the bit where the supernodal engine made both."""
    factor = system.factorize(symbolic)
    assert factor.refactorize(other.values, changed=changed) is factor
    full = gs.Factor(factor.symbolic, other.values)
    b = np.random.default_rng(0).normal(size=system.shape[0]).astype(system.dtype)
    x, y = factor.solve(b), full.solve(b)
    if factor.symbolic.program[NODAL_AT] == 0:
        assert np.array_equal(x, y)
        assert np.float32(factor.pivot_ratio) == np.float32(full.pivot_ratio)
        assert factor._factorization.weakest == full._factorization.weakest
    matrix = other.to_dense()
    bound = 10 * np.finfo(system.dtype).eps * (np.linalg.cond(matrix, np.inf) if b.size else 1)
    assert np.abs(x - y).max(initial=0) <= bound * np.abs(y).max(initial=0)
    assert factor.pivot_ratio == pytest.approx(full.pivot_ratio, rel=float(bound))
    return factor


def test_two_nodes_by_hand():
    # 0 is eliminated first: D_1 = a_11 - a_10 a_01 / a_00
    # (so large that they are no single supernode)
    system = gs.System(gs.chain(2), 30)
    for u, v, value in ((0, 0, 2), (0, 1, 1), (1, 0, 1), (1, 1, 3)):
        system[u, v] = value * np.eye(30)
    factor = system.factorize(system.analyze([0, 1]))
    assert factor.slogdet()[1] == pytest.approx(30 * np.log(5)) and factor.refactorized == 2
    system[1, 1] = 4 * np.eye(30)
    factor.refactorize(system.values, changed=[1])
    assert factor.slogdet()[1] == pytest.approx(30 * np.log(7)) and factor.refactorized == 1
    system[0, 0] = 3 * np.eye(30)
    factor.refactorize(system.values, changed=[0])
    assert factor.slogdet()[1] == pytest.approx(30 * np.log(11)) and factor.refactorized == 2


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("dtype", SLOW_TYPES)
@pytest.mark.parametrize("dims", [1, 3, 6, 11])
def test_families_equal_a_full_factorization(dims, dtype, symmetric):
    rng = np.random.default_rng(dims)
    for graph in (gs.chain(9), gs.ladder(6), gs.net(6), gs.crystal(3), gs.random_tree(20)):
        options = {"dtype": dtype, "symmetric": symmetric, "dominance": 20 + 4 * dims**0.5}
        system = random_system(graph, dims, **options)
        edges = rng.permutation(list(graph.edges))[:2].tolist()
        nodes = rng.permutation(len(graph))[:2].tolist()
        other = changed_system(system, nodes, edges)
        assert_equals_a_full_one(system, other, nodes + ends(edges))


@given(data=st.data())
def test_any_change_of_any_graph_equals_a_full_factorization(data):
    n = data.draw(st.integers(1, 12))
    graph = nx.gnm_random_graph(n, data.draw(st.integers(0, 2 * n)), seed=data.draw(st.integers(0)))
    size = data.draw(st.lists(st.integers(0, 12), min_size=n, max_size=n))
    symmetric = data.draw(st.booleans())
    seed = data.draw(st.integers(0, 99))
    system = random_system(graph, size, seed=seed, dominance=60.0, symmetric=symmetric)
    nodes = data.draw(st.lists(st.sampled_from(sorted(graph)), unique=True))
    edges = []
    if graph.edges:
        edges = data.draw(st.lists(st.sampled_from(sorted(graph.edges)), unique=True, max_size=4))
    symbolic = system.analyze(data.draw(st.sampled_from(["auto", "dfs", "amd", "nd"])))
    other = changed_system(system, nodes, edges, seed)

    assert_equals_a_full_one(system, other, nodes + ends(edges), symbolic)


def test_many_changes_in_a_row_leave_no_trace():
    system, rng = random_system(gs.net(6), 9, dominance=40.0), np.random.default_rng(0)
    factor = system.factorize()
    for step in range(30):
        nodes = rng.permutation(36)[:2].tolist()
        edge = list(gs.net(6).edges)[rng.integers(60)]
        system = changed_system(system, nodes, [edge], step)
        factor.refactorize(system.values, changed=[*nodes, *edge])
    full = gs.Factor(factor.symbolic, system.values)
    b = np.ones(324)

    assert np.array_equal(factor.solve(b), full.solve(b))
    assert factor.pivot_ratio == full.pivot_ratio


def test_zero_diagonal_blocks_do_not_matter():
    system = random_saddle_system(body_joint_tree(15))
    bodies = [u for u in system.labels if u[0] == "body"]
    for body in bodies:
        other = system.copy()
        other[body, body] *= 1.5
        assert_equals_a_full_one(system, other, [body])


def test_only_the_path_to_the_root_is_computed():
    # a chain in its natural order, of blocks too large to share a supernode
    system = random_system(gs.chain(30), 50, dominance=60.0)
    symbolic = system.analyze(range(30))
    for node in (29, 20, 0):
        other = changed_system(system, [node], [])
        factor = assert_equals_a_full_one(system, other, [node], symbolic)
        assert factor.refactorized == 30 - node
    assert factor.refactorize(system.values, changed=[]).refactorized == 0


def test_a_leaf_of_a_net_reaches_few_supernodes():
    # paths of a nested dissection: one separator a level, n_super in all
    system = random_system(gs.net(20), 6, dominance=30.0)
    factor = system.factorize(system.analyze("nd"))
    total, first = factor.refactorized, factor.symbolic.order[0]
    factor.refactorize(changed_system(system, [first], []).values, changed=[first])

    assert factor.refactorized <= total / 4


def test_a_smaller_pivot_elsewhere_is_not_forgotten():
    # the ratio is that of node 0, out of reach of the change of node 2: they are not connected
    graph = nx.Graph([(0, 1), (2, 3)])
    system = random_system(graph, 9, dominance=30.0)
    system[1, 1] = system[1, 0] @ np.linalg.solve(system[0, 0], system[0, 1]) + 1e-3 * np.eye(9)
    factor = system.factorize(system.analyze([0, 1, 2, 3]))
    before = factor.pivot_ratio
    other = changed_system(system, [2], [])
    factor.refactorize(other.values, changed=[2])
    assert factor.pivot_ratio == before < 0.125
    other[1, 1] += 30 * np.eye(9)
    factor.refactorize(other.values, changed=[1])
    assert factor.pivot_ratio == gs.Factor(factor.symbolic, other.values).pivot_ratio > 0.125


def test_failure_is_as_in_a_full_factorization():
    system = random_system(nx.path_graph(["a", "b", "c"]), 9, dominance=30.0)
    factor = system.factorize()
    other = system.copy()
    for u, v in (("b", "b"), ("b", "a"), ("a", "b"), ("b", "c"), ("c", "b")):
        other[u, v] = np.zeros((9, 9))
    with pytest.raises(gs.SingularPivotError, match="'b'"):
        factor.refactorize(other.values, changed=["a", "b", "c"])
    with pytest.raises(ValueError, match="last refactorize failed"):
        factor.solve(np.zeros(27))
    # nothing is left to reuse: all is computed
    factor.refactorize(system.values, changed=["a"])
    b = np.ones(27)
    assert factor.solve(b) == pytest.approx(system.factorize().solve(b), rel=1e-13)
    other = system.copy()
    other.values[other.graph.diagonal_at[1]] = np.nan
    with pytest.raises(ValueError, match="'b'"):
        factor.refactorize(other.values, changed=["b"])


def test_a_pivot_that_becomes_singular_is_delayed():
    system = random_system(gs.chain(3), 9, dominance=30.0)
    factor = system.factorize()
    first = factor.symbolic.order[0]
    other = system.copy()
    other[first, first] = np.zeros((9, 9))
    factor.refactorize(other.values, changed=[first])
    b = np.ones(27)

    assert factor.delayed_pivots > 0
    assert factor.backward_error(factor.solve(b), b) < 1e-14


@pytest.mark.parametrize("graph", [gs.chain(6), gs.ladder(4)])
def test_fronts_are_those_of_the_changed_matrix(graph):
    """Wide nodes of weak pivots are factorized as fronts; two eigenvalues change their signs."""
    first, *_, last = graph
    for seed in range(4):
        system = random_system(graph, 20, seed=seed, symmetric=True, dominance=0.0)
        other = system.copy()
        other[first, first] += 30 * np.eye(20)
        other[last, last] -= 30 * np.eye(20)
        factor = system.factorize()
        assert factor._factorization.fronts is not None
        factor.refactorize(other.values, changed=[first, last])
        eigenvalues = np.linalg.eigvalsh(other.to_dense())
        assert factor.inertia() == ((eigenvalues > 0).sum(), (eigenvalues < 0).sum())
        x = factor.solve(other @ np.ones(other.shape[0]))
        assert factor.report.refinements <= 2
        assert np.abs(x - 1).max() <= 1e-11  # condition numbers are below 1e4


def test_labels_are_checked_before_anything_is_lost():
    system = random_system(gs.chain(3), 2)
    factor = system.factorize()
    with pytest.raises(gs.UnknownNodeError, match="7"):
        factor.refactorize(system.values, changed=[7])
    assert np.isfinite(factor.solve(np.ones(6))).all()


def test_one_label_is_not_taken_for_a_list_of_nodes():
    # a tuple and a string are sequences, and labels of these graphs
    grid = nx.grid_2d_graph(2, 2)
    rooms = nx.path_graph(["hall", "bath"])
    for graph, label in ((grid, (0, 1)), (rooms, "hall"), (nx.path_graph(2), 1)):
        system = gs.System(graph, 1)
        for u in graph:
            system[u, u] = 2.0
        factor = system.factorize()
        with pytest.raises(TypeError, match="is one node: give a list") as caught:
            factor.refactorize(system.values, changed=label)
        assert repr(label) in str(caught.value)
        with pytest.raises(TypeError, match="is one node: give a list"):
            gs.condense(system, label)
        assert gs.condense(system, [label]).schur().tolist() == [[2.0]]
    with pytest.raises(gs.UnknownNodeError, match="'h' is not a node"):
        gs.condense(system, "hut")
