"""Supervariables: nodes with the same neighbours, wherever they stand, are ordered as one."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsys as gs
from graphsys.analysis import supervariables as module
from graphsys.analysis.supervariables import quotient, supervariables
from graphsys.matrix.graph import block_graph, graph_of_edges
from graphsys.symbolic import analyze


def scattered(graph, unknowns, rng, order=None):
    """Block graph of scalar nodes, some for each node of a graph, and which node each is of."""
    whole = np.arange(graph.number_of_nodes() * unknowns) // unknowns
    order = rng.permutation(whole.size) if order is None else order
    owner = whole[order]
    of = [np.flatnonzero(owner == node) for node in range(graph.number_of_nodes())]
    pairs = [(i, j) for a in of for i in a for j in a if i < j]
    pairs += [(i, j) for a, b in graph.edges for i in of[a] for j in of[b]]
    i, j = np.array(pairs, np.int64).T
    return graph_of_edges(i, j, [1] * owner.size), owner


@pytest.fixture
def any_size(monkeypatch):
    monkeypatch.setattr(module, "FEWEST_NODES", 0)
    monkeypatch.setattr(module, "FEWEST_NEIGHBORS", 0)


def test_two_unknowns_at_each_node_of_a_path(any_size):
    # nodes 0, 1, 2 of a path; their first unknowns come before all second ones
    graph, owner = scattered(nx.path_graph(3), 2, None, np.array([0, 2, 4, 1, 3, 5]))
    members = supervariables(graph)

    assert members.tolist() == owner.tolist() == [0, 1, 2, 0, 1, 2]
    small = quotient(graph, members)
    assert small.size.tolist() == [2, 2, 2]
    assert [
        small.neighbor[a:b].tolist() for a, b in zip(small.neighbor_start, small.neighbor_start[1:])
    ] == [[1], [0, 2], [1]]


def test_nodes_with_neighbours_of_their_own_stay_alone(any_size):
    assert supervariables(block_graph(nx.path_graph(5), 2)) is None
    assert supervariables(block_graph(nx.cycle_graph(4), 1)) is None


@given(st.integers(0, 2**32 - 1))
def test_members_have_the_same_closed_neighbourhoods(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    base = nx.gnm_random_graph(n, int(rng.integers(0, 2 * n)), seed=seed)
    graph, _ = scattered(base, int(rng.integers(2, 4)), rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEWEST_NODES", 0)
        patch.setattr(module, "FEWEST_NEIGHBORS", 0)
        members = supervariables(graph)
    start, neighbor = graph.neighbor_start, graph.neighbor
    closed = [
        frozenset([i, *neighbor[start[i] : start[i + 1]].tolist()]) for i in range(graph.size.size)
    ]

    same = members[:, None] == members[None, :]
    equal = np.array([[a == b for b in closed] for a in closed])
    assert (same == equal).all()
    small = quotient(graph, members)
    assert small.size.sum() == graph.rows
    edges = {(members[i], members[j]) for i in range(members.size) for j in closed[i]}
    found = {
        (i, j)
        for i in range(small.size.size)
        for j in small.neighbor[small.neighbor_start[i] : small.neighbor_start[i + 1]]
    }
    assert found == {(i, j) for i, j in edges if i != j}


@pytest.mark.parametrize("symmetric", [False, True])
def test_order_does_not_depend_on_where_unknowns_stand(symmetric):
    base = gs.crystal(6)
    by_node, _ = scattered(base, 3, None, np.arange(3 * len(base)))
    by_kind, owner = scattered(base, 3, None, np.arange(3 * len(base)).reshape(-1, 3).T.ravel())
    one, other = (analyze(g, symmetric=symmetric) for g in (by_node, by_kind))

    assert one.operations == other.operations
    blocks = owner[np.array(other.order)].reshape(-1, 3)
    assert (blocks == blocks[:, :1]).all()  # the unknowns of a node follow each other
    assert other.candidates[other.ordering] == other.operations


@pytest.mark.parametrize("symmetric", [False, True])
def test_solution_with_unknowns_by_kind(symmetric):
    base, rng = nx.to_scipy_sparse_array(gs.crystal(5)), np.random.default_rng(0)
    A = sp.kron(np.ones((3, 3)), base + sp.eye_array(base.shape[0])).tocsr()
    A.data = rng.standard_normal(A.nnz)
    A = (A + A.T) if symmetric else A
    A = sp.csr_array(A + 90.0 * sp.eye_array(A.shape[0]))
    b = rng.standard_normal(A.shape[0])
    system = gs.System.from_scipy(A, symmetric=symmetric)
    x = system.factorize().solve(b)

    eps = np.finfo(float).eps
    error = np.abs(A @ x - b) / (abs(A) @ np.abs(x) + np.abs(b))
    assert error.max() <= 8 * 90 * eps  # 90 entries in the longest row


def test_nodes_that_wait_are_ordered_one_by_one():
    # zero diagonals: the multipliers of two constraints have the same neighbours, and wait for them
    n = 120
    one = np.array([[2.0, 1, 1, 2], [1, 2, 2, 1], [1, 2, 0, 0], [2, 1, 0, 0]])
    K = sp.kron(sp.eye_array(n), one)
    system = gs.System.from_scipy(K.tocsr(), 1, symmetric=True)
    x = system.factorize().solve(np.ones(4 * n))

    assert np.allclose(K @ x, 1.0, atol=1e-13)
