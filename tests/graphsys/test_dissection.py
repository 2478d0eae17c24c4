"""Nested dissection by level sets: separators by hand, their laws, and the operations they need."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphsys as gs
from graphsys.kernels.analysis.dissection import (
    CUT,
    DISSECTION_ROWS,
    LEAF,
    LEAST,
    LEFT,
    NONE,
    RIGHT,
    _level_cut,
    _refine,
    _score,
    _separate,
    dissect,
)
from graphsys.matrix.graph import block_graph


def lists(graph, size=1):
    """Adjacency lists and rows of a graph on 0, 1, 2 and so on."""
    graph = block_graph(graph, size)
    return graph.neighbor_start, graph.neighbor, graph.size.copy()


def work(n):
    return np.empty((DISSECTION_ROWS, n + 2), np.int64)


def dissected(graph, size=1):
    start, neighbor, weight = lists(graph, size)
    n, order = weight.size, np.empty(weight.size, np.int64)
    before = np.arange(n)
    dissect(start, neighbor, weight, before, work(n), np.empty_like(neighbor), np.empty(n), order)
    return order


def separated(graph, size=1):
    """Score of a connected graph's separator, and the side of each node."""
    start, neighbor, weight = lists(graph, size)
    n, side = weight.size, np.empty(weight.size, np.int64)
    return _separate(start, neighbor, weight, n, work(n), np.empty(n), side), side


def rows_of(weight, side):
    return [int(weight[side == which].sum()) for which in (LEFT, RIGHT, CUT)]


def test_a_path_is_cut_in_its_middle():
    n = LEAF + 1
    score, side = separated(nx.path_graph(n))
    assert score == 1.0 and np.flatnonzero(side == CUT).tolist() == [n // 2]

    # both halves have at most LEAF nodes; the search ends at node 0, so the other half is left
    half = list(range(n // 2))
    assert dissected(nx.path_graph(n)).tolist() == [*range(n // 2 + 1, n), *half, n // 2]
    assert dissected(nx.path_graph(LEAF)).tolist() == list(range(LEAF))


def test_heavy_nodes_are_no_separators():
    # the node in the middle has 3 of 11 rows; a neighbour has 1, between sides of 3 and 7 rows
    score, side = separated(nx.path_graph(9), [1, 1, 1, 1, 3, 1, 1, 1, 1])
    assert score == pytest.approx(1 + (4 / 11) ** 2)
    assert np.flatnonzero(side == CUT).tolist() in ([3], [5])


def test_a_cube_is_cut_along_its_diagonal():
    # x + y + z = 14 has 75 nodes of a grid of 10 x 10 x 10, a plane across it 100
    score, side = separated(gs.crystal(10))
    left, right, cut = rows_of(np.ones(1000, np.int64), side)
    assert cut == 75
    assert score == pytest.approx(_score(left, right, 1000))


@pytest.mark.parametrize("graph", [nx.complete_graph(100), nx.star_graph(99)])
def test_cliques_and_stars_keep_their_order(graph):
    assert separated(graph)[0] == NONE
    assert dissected(graph).tolist() == list(range(100))


@given(st.integers(0, 2**32 - 1))
def test_separators_separate_and_refining_never_makes_them_worse(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 90))
    graph = nx.gnm_random_graph(n, int(rng.integers(n, 4 * n)), seed=seed)
    if rng.random() < 0.5:
        graph = nx.random_geometric_graph(n, 0.25, seed=seed)
    part = max(nx.connected_components(graph), key=len)
    graph = nx.convert_node_labels_to_integers(graph.subgraph(part))
    if len(graph) == 1:
        graph = nx.path_graph(2)
    start, neighbor, weight = lists(graph, rng.integers(1, 7, len(graph)).tolist())
    n, total = weight.size, int(weight.sum())
    levels = np.zeros(n, np.int64)
    for i, level in nx.single_source_shortest_path_length(graph, 0).items():
        levels[i] = level
    side, rows, top = np.empty(n, np.int64), work(n), int(levels.max())
    before = _level_cut(start, neighbor, weight, n, levels, top, rows[0], rows[1], side)

    def check(score, side):
        left, right, cut = rows_of(weight, side)
        assert left + right + cut == total and min(left, right) >= LEAST * total
        assert score == _score(left, right, total)
        for i, j in graph.edges:
            assert {int(side[i]), int(side[j])} != {LEFT, RIGHT}

    if before != NONE:
        check(before, side)
        for t in range(1, top + 1):
            left, cut = weight[levels < t].sum(), weight[levels == t].sum()
            if min(left, total - left - cut) >= LEAST * total:
                assert before <= _score(left, total - left - cut, total)
        after = _refine(start, neighbor, weight, n, rows, side)
        assert after <= before
        check(after, side)
    score = _separate(start, neighbor, weight, n, rows, np.empty(n), side)
    if score != NONE:
        check(score, side)


@given(st.integers(0, 2**32 - 1))
def test_orders_are_permutations_of_any_graph(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 400))
    graph = nx.gnm_random_graph(n, int(rng.integers(0, 2 * n)), seed=seed)
    size = rng.integers(0, 3, n).tolist()

    assert sorted(dissected(graph, size).tolist()) == list(range(n))


def test_many_components_are_found_in_one_pass():
    # 2,000 triangles: each further pass over what is left would take a thousand times as long
    graph = nx.disjoint_union_all([nx.complete_graph(3)] * 2000)
    assert dissected(graph).tolist() == list(range(6000))


def test_what_has_no_separator_is_in_the_order_of_minimum_degree():
    # hubs of a power law: level sets of the whole are thicker than a fifth of it
    graph = nx.barabasi_albert_graph(1000, 3, seed=0)
    found = gs.System(graph, 1).analyze("nd", effort=0.0)
    assert found.operations < 4.0 * gs.System(graph, 1).analyze("amd").operations


@pytest.mark.parametrize(
    ("graph", "most"),
    [(gs.net(80), 0.8), (gs.crystal(14), 0.6), (nx.hexagonal_lattice_graph(30, 30), 0.9)],
    ids=["net", "crystal", "hexagons"],
)
def test_grids_need_fewer_operations_than_by_minimum_degree(graph, most):
    # measured 0.76, 0.56, 0.84
    system = gs.System(graph, 1)
    found = system.analyze("nd", effort=0.0)
    assert found.operations < most * system.analyze("amd").operations
    assert system.analyze(effort=100.0).operations <= found.operations


def test_work_grows_as_fill_in_of_nested_dissection():
    # George (1973): 31/4 n^2 log2 n entries of L at most for n x n nodes, here by level sets
    for n in (32, 64, 128):
        found = gs.System(gs.net(n), 1).analyze("nd", effort=0.0)
        assert found.front_start[-1] < 31 / 4 * n**2 * np.log2(n)


def test_dissections_are_solved():
    rng = np.random.default_rng(0)
    system = gs.families.random_system(gs.net(24), 2)
    x = rng.normal(size=system.shape[0])
    found = system.factorize(system.analyze("nd")).solve(system @ x)
    np.testing.assert_allclose(found, x, rtol=1e-9, atol=1e-9)
