"""Elimination orders of random graphs: permutations that respect who waits and who is joined."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphsys as gs
from graphsys.analysis.ordering import adjacency, order_by_name
from graphsys.analysis.pivot_supply import find_precedence
from graphsys.matrix.graph import block_graph

NAMES = "dfs", "amd", "nd"


def needs(seed):
    """Graph, missing rows, nodes that wait for all neighbours: all at random."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    graph = nx.gnm_random_graph(n, int(rng.integers(0, 3 * n)), seed=seed)
    size = rng.integers(0, 4, n)
    demand = np.where(rng.random(n) < rng.random(), rng.integers(0, 4, n), 0)
    after_all = np.flatnonzero((rng.random(n) < 0.4 * rng.random()) & (size > 0))
    graph = block_graph(graph, size.tolist())
    return graph, np.minimum(demand, size), frozenset(after_all.tolist())


def check_orders(graph, *needs):
    edges = adjacency(graph, find_precedence(graph, *needs))
    n = graph.size.size
    group = np.arange(n) if edges.members is None else edges.members
    supplier = np.repeat(np.arange(edges.weight.size), np.diff(edges.release_start))
    for name in NAMES:
        order = order_by_name(name, edges, np.zeros(0, np.int64))
        assert sorted(order.tolist()) == list(range(n))
        first, last = np.full(edges.weight.size, n), np.full(edges.weight.size, -1)
        np.minimum.at(first, group[order], np.arange(n))
        np.maximum.at(last, group[order], np.arange(n))
        assert (last[supplier] < first[edges.release]).all()  # after all suppliers
        assert (last - first + 1 == np.bincount(group)).all()  # groups stay together


@given(st.integers(0, 2**32 - 1))
def test_orders_are_permutations_that_respect_who_waits(seed):
    check_orders(*needs(seed))


def test_pairs_of_empty_nodes_that_wait_for_each_other():
    # 0-1-2-3 on a ring, all empty: two pairs share a pivot block each, 0 and 2 wait for neighbours
    graph = block_graph(nx.cycle_graph(4), 1)
    demand = np.ones(4, np.int64)

    check_orders(graph, demand, frozenset({0, 2}))
    precedence = find_precedence(graph, demand, frozenset({0, 2}))
    assert len(precedence.joined) == 2 and not precedence.waits.any()


@pytest.mark.parametrize("seed", range(40))
def test_nobody_waits_in_a_circle(seed):
    graph, *rest = needs(seed)
    edges = adjacency(graph, find_precedence(graph, *rest))
    waits = nx.DiGraph()
    suppliers = np.repeat(np.arange(edges.weight.size), np.diff(edges.release_start))
    waits.add_edges_from(zip(suppliers.tolist(), edges.release.tolist(), strict=True))

    assert nx.is_directed_acyclic_graph(waits)


def wheel_of_chain(n, hub):
    """A chain of n nodes, and a hub that is joined to all of them."""
    graph = nx.path_graph(n)
    graph.add_edges_from((hub, k) for k in range(n))
    return graph


def test_a_node_of_many_neighbours_comes_last_and_costs_no_fill():
    for n in (80, 400):  # below and above 10 sqrt(n + 1)
        symbolic = gs.System(wheel_of_chain(n, "hub"), 1).analyze(ordering="amd")
        assert symbolic.n_fill == 0
    assert symbolic.order[-1] == "hub"


def test_a_hub_that_waits_for_a_pivot_or_gives_one_solves_as_dense():
    n, rng = 200, np.random.default_rng(0)
    graph = wheel_of_chain(n, "hub")
    for pinned in (0.0, 4.0 * n):
        system = gs.System(graph, 1)
        for u, v in graph.edges:
            system[u, v], system[v, u] = rng.uniform(-1.0, 1.0, 2)
        for k in range(1, n):
            system[k, k] = 4.0
        system["hub", "hub"] = pinned  # node 0 needs the pivot of a neighbour
        A, b = system.toarray(), rng.standard_normal(n + 1)
        x = system.factorize(system.analyze(ordering="amd")).solve(b)
        assert np.abs(A @ x - b).max() < 1e-11 * np.abs(A).max() * np.abs(x).max()


def test_two_interleaved_cliques_stay_apart():
    # all nodes have more than 10 sqrt(n) neighbours: none is set aside
    n = 500
    graph = nx.Graph([(i, j) for i in range(n) for j in range(i + 2, n, 2)])
    assert gs.System(graph, 1).analyze(ordering="amd").n_fill == 0
