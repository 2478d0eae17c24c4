"""Families of graphs and systems: numbering, counts, determinism, and what is refused."""

import networkx as nx
import numpy as np
import pytest

from graphsys.families import (
    body_joint_chain,
    body_joint_tree,
    chain,
    crystal,
    grounded_loop,
    ladder,
    net,
    random_graph,
    random_saddle_system,
    random_system,
    random_tree,
)


def edges(graph):
    return sorted(tuple(sorted(edge)) for edge in graph.edges)


def test_small_families_by_hand():
    assert edges(chain(3)) == [(0, 1), (1, 2)]
    assert edges(ladder(2)) == [(0, 1), (0, 2), (1, 3), (2, 3)]
    assert edges(net(2)) == [(0, 1), (0, 2), (1, 3), (2, 3)]
    assert edges(crystal(2)) == [
        *[(0, 1), (0, 2), (0, 4), (1, 3), (1, 5), (2, 3)],
        *[(2, 6), (3, 7), (4, 5), (4, 6), (5, 7), (6, 7)],
    ]


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize(
    ("family", "twin"),
    [
        (chain, nx.path_graph),
        (ladder, nx.ladder_graph),
        (net, lambda m: nx.grid_graph((m, m))),
        (crystal, lambda m: nx.grid_graph((m, m, m))),
    ],
)
def test_families_are_those_of_networkx_numbered_in_turn(family, twin, n):
    graph, other = family(n), twin(n)

    assert list(graph) == list(range(len(other)))
    assert all(type(node) is int for node in graph)
    if family in (net, crystal):  # networkx numbers them alike
        numbers = {node: i for i, node in enumerate(sorted(other))}
        other = nx.relabel_nodes(other, numbers)
        assert edges(graph) == edges(other)
    assert nx.faster_could_be_isomorphic(graph, other)


@pytest.mark.parametrize("n", [1, 2, 40])
def test_random_trees_are_recursive_trees(n):
    for seed in range(5):
        tree = random_tree(n, seed)
        assert nx.is_tree(tree)
        assert list(tree) == list(range(n))
        assert all(sum(j < i for j in tree[i]) == 1 for i in range(1, n))


@pytest.mark.parametrize(
    ("n", "degree", "m"),
    [(1, 0, 0), (2, 1, 1), (10, 0, 9), (10, 3, 15), (10, 9, 45), (100, 4.5, 225), (60, 59, 1770)],
)
def test_random_graphs_are_connected_and_have_the_degree(n, degree, m):
    for seed in range(3):
        graph = random_graph(n, degree, seed)
        assert nx.is_connected(graph)
        assert graph.number_of_edges() == m
        assert nx.number_of_selfloops(graph) == 0
        assert list(graph) == list(range(n))


def test_the_same_seed_gives_the_same_and_another_another():
    for family in (random_tree, lambda n, s: random_graph(n, 4, s), body_joint_tree):
        assert edges(family(30, 1)) == edges(family(30, 1))
        assert edges(family(30, 1)) != edges(family(30, 2))
    one, same, other = (random_system(chain(5), 2, seed=s).values for s in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_joint_0_is_a_leaf_and_ties_body_0_to_the_world():
    graph = body_joint_chain(3)

    assert list(graph.nodes(data="dim")) == [
        (("joint", 0), 5),
        (("body", 0), 6),
        (("joint", 1), 5),
        (("body", 1), 6),
        (("joint", 2), 5),
        (("body", 2), 6),
    ]
    assert edges(graph) == [
        (("body", 0), ("joint", 0)),
        (("body", 0), ("joint", 1)),
        (("body", 1), ("joint", 1)),
        (("body", 1), ("joint", 2)),
        (("body", 2), ("joint", 2)),
    ]


@pytest.mark.parametrize("n", [1, 2, 20])
def test_mechanism_trees_have_a_joint_for_each_body(n):
    graph = body_joint_tree(n, seed=3)

    assert nx.is_tree(graph)
    assert len(graph) == 2 * n
    assert graph.degree["joint", 0] == 1
    assert all(graph.degree["joint", i] == 2 for i in range(1, n))


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_grounded_loop_has_a_joint_more_than_bodies_and_two_on_the_ground(n):
    graph = grounded_loop(n)

    assert nx.is_tree(graph)
    assert len(graph) == 2 * n + 1
    assert [graph.degree["joint", i] for i in range(n + 1)] == [1, *[2] * (n - 1), 1]
    assert {dim for (kind, _), dim in graph.nodes(data="dim") if kind == "joint"} == {3}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("symmetric", [False, True])
def test_random_systems_are_normal_with_a_dominant_diagonal(dtype, symmetric):
    dims = [i % 5 for i in range(36)]
    with_diagonal = random_system(net(6), dims, 4, dtype, symmetric)
    without = random_system(net(6), dims, 4, dtype, symmetric, dominance=0.0)

    assert with_diagonal.dtype == dtype
    assert with_diagonal.symmetric == symmetric
    added = with_diagonal.to_dense() - without.to_dense()
    # Adding 10 rounds to half an ulp of a number below 16.
    assert np.abs(added - 10.0 * np.eye(len(added))).max() <= 8 * np.finfo(dtype).eps
    # The mean of k standard normal numbers has standard deviation k**-0.5.
    k = without.graph.nnz
    assert abs(without.values.mean()) <= 6 / np.sqrt(k / 2)
    assert abs(without.values.real.std() - 1.0) <= 6 / np.sqrt(k)


@pytest.mark.parametrize("graph", [body_joint_chain(4), body_joint_tree(6), grounded_loop(3)])
def test_saddle_systems_have_zero_joints_and_are_regular(graph):
    system = random_saddle_system(graph, seed=2)

    for u in graph:
        if u[0] == "joint":
            assert not system[u, u].any()
        else:
            assert np.abs(np.diag(system[u, u]) - 10.0).max() < 6.0
    for u, v in graph.edges:
        assert system[u, v].all()
        assert not np.array_equal(system[u, v], system[v, u].T)
    assert np.linalg.matrix_rank(system.to_dense()) == system.shape[0]


@pytest.mark.parametrize(
    "family",
    [
        *(chain, ladder, net, crystal, random_tree),
        *(body_joint_chain, body_joint_tree, grounded_loop),
        lambda n: random_graph(n, 0),
    ],
)
@pytest.mark.parametrize(
    ("size", "error", "sentence"),
    [
        (0, ValueError, "is 0, it must be 1 or more"),
        (-3, ValueError, "is -3, it must be 1 or more"),
        (True, TypeError, "it must be an integer"),
        (2.0, TypeError, "integer"),
    ],
)
def test_a_bad_size_is_refused(family, size, error, sentence):
    with pytest.raises(error, match=sentence):
        family(size)


@pytest.mark.parametrize("degree", [-1, 4.5])
def test_a_degree_that_no_graph_has_is_refused(degree):
    with pytest.raises(ValueError, match="mean degree of 5 nodes is from 0 to 4"):
        random_graph(5, degree)


def test_many_nodes_are_quick_to_fill():
    # 100 000 nodes: a loop over blocks in Python would take the tests' patience.
    system = random_system(chain(100_000), 2, seed=1)

    assert system.values.size == 4 * (100_000 + 2 * 99_999)
    assert (system @ np.zeros(200_000)).sum() == 0.0
