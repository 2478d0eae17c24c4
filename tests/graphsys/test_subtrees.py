"""Subtrees of an elimination in a better order: fewer operations, the same fronts above them."""

import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphsys as gs
from graphsys.analysis.elimination import Elimination
from graphsys.analysis.ordering import adjacency
from graphsys.analysis.pivot_supply import find_precedence
from graphsys.kernels.analysis.minimum_degree import WORK_ROWS
from graphsys.kernels.analysis.subtrees import SUBTREE_ROWS, order_subtrees
from graphsys.matrix.graph import block_graph


def elimination(graph, size, order, n_last=0, demand=None):
    graph = block_graph(graph, size)
    n = graph.size.size
    demand = np.zeros(n, np.int64) if demand is None else demand
    precedence = find_precedence(graph, demand, frozenset())
    edges = adjacency(graph, precedence)
    return Elimination.of(graph, edges, precedence, False, n_last, "given", np.array(order))


def subtrees_of(found, most):
    """Order of a kernel's call, and how many subtrees it changed."""
    n = found.step_node.size
    order = np.empty(n, np.int64)
    changed = order_subtrees(
        *found.edges, found.graph.size, found.step_node, found.position, found.parent,
        found.below, most, found.n_last, np.empty((SUBTREE_ROWS, n + 1), np.int64),
        np.empty((WORK_ROWS, n), np.int64), np.empty(int(found.graph.size.sum()) + 1, np.int64),
        np.empty(5 * found.edges[1].size, np.int64), order,
    )  # fmt: skip
    return order, changed


def test_a_chain_is_eliminated_towards_its_halo():
    # 5-0-1-2-3-4, from the middle: nodes 2, 1, 3, 0 update two others, 4 updates 5 alone
    found = elimination(nx.Graph([(5, 0), (0, 1), (1, 2), (2, 3), (3, 4)]), 1, [3, 2, 4, 1, 5, 0])
    assert found.graph.labels == (5, 0, 1, 2, 3, 4)
    assert found.operations == 4 * (2 + 4 + 8) + (2 + 2 + 2) + 2

    order, changed = subtrees_of(found, 5)
    better = elimination(nx.Graph([(5, 0), (0, 1), (1, 2), (2, 3), (3, 4)]), 1, order)
    assert changed == 1
    assert order.tolist() == [5, 4, 3, 2, 1, 0]
    assert better.operations == 5 * (2 + 2 + 2) + 2


def test_subtrees_above_the_size_and_tiny_ones_stay():
    graph = nx.path_graph(12)
    found = elimination(graph, 2, [5, 4, 6, 3, 7, 2, 8, 1, 9, 0, 10, 11])
    for most in (4, 1):
        order, changed = subtrees_of(found, most)
        assert changed == 0 and order.tolist() == found.step_node.tolist()
    assert subtrees_of(found, 12)[1] == 1


@given(st.integers(0, 2**32 - 1))
def test_orders_stay_permutations_of_each_subtree_with_no_more_operations(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    graph = nx.gnm_random_graph(n, int(rng.integers(0, 3 * n)), seed=seed % 1000)
    n_last = int(rng.integers(0, 3)) if n > 3 else 0
    found = elimination(graph, rng.integers(1, 7, n).tolist(), rng.permutation(n), n_last)
    most = int(rng.integers(5, 45))

    order, _ = subtrees_of(found, most)
    better = found._of_order(order)
    assert sorted(order.tolist()) == list(range(n))
    assert better.operations <= found.operations
    kept = found.step_node[n - n_last :]
    assert better.step_node[n - n_last :].tolist() == kept.tolist()

    def largest(elimination):
        """Nodes of the largest subtrees that may change."""
        count = np.ones(n, int)
        for k in range(n):
            if elimination.parent[k] >= 0:
                count[elimination.parent[k]] += count[k]
        above = [count[p] if 0 <= p < n - n_last else n + 1 for p in elimination.parent]
        return {
            frozenset(elimination.step_node[k + 1 - count[k] : k + 1].tolist())
            for k in range(n - n_last)
            if count[k] <= most < above[k]
        }

    if most < n:  # what is above the subtrees has not changed
        outside = set(range(n)) - set().union(*largest(found), set())
        assert outside == set(range(n)) - set().union(*largest(better), set())


def test_nodes_that_wait_for_others_keep_their_order():
    demand = np.zeros(12, np.int64)
    demand[3] = 1
    found = elimination(nx.path_graph(12), 1, range(12), demand=demand)
    assert found.precedence.release.size
    assert found.with_better_subtrees() is found


@pytest.mark.parametrize(
    "graph",
    [gs.net(24), gs.crystal(7), nx.random_geometric_graph(700, 0.06, seed=1)],
    ids=["net", "crystal", "geometric"],
)
def test_dissected_graphs_need_fewer_operations(graph, monkeypatch):
    found = gs.System(graph, 3).analyze("nd")
    monkeypatch.setattr("graphsys.analysis.elimination.SUBTREE_NODES", 0)
    plain = gs.System(graph, 3).analyze("nd")

    assert sorted(found.order) == sorted(plain.order)
    assert found.operations < 0.99 * plain.operations
    assert found.candidates == {"nd": found.operations}


@pytest.mark.parametrize("graph", [gs.net(24), gs.crystal(8)], ids=["net", "crystal"])
def test_separators_have_few_rows(graph):
    size = np.random.default_rng(0).choice([2, 9], len(graph)).tolist()
    by_nodes = gs.System(graph, size).analyze(gs.System(graph, 6).analyze("nd").order)

    assert gs.System(graph, size).analyze("nd").operations < 0.8 * by_nodes.operations


@pytest.mark.skipif(
    not hasattr(order_subtrees, "codes"), reason="kernels are compiled by numba, or not at all"
)
def test_a_dissection_runs_stored_machine_code_without_numba():
    # numba takes 0.3 s to import; code that calls its helper functions, as for reshape, needs it
    code = """
import sys, networkx as nx
import graphsys as gs
gs.System(nx.grid_2d_graph(20, 20), 1).analyze("nd")
print("numba" in sys.modules)
"""
    for _ in range(2):  # the first one may have to compile
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
        )
    assert done.stdout.strip() == "False"
