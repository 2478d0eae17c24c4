"""Operations of an elimination do not depend on the order in which nodes and edges come."""

from itertools import product

import networkx as nx
import numpy as np
import pytest

import graphsys as gs
from graphsys.matrix.graph import block_graph
from graphsys.symbolic import analyze

RELABELLINGS = 12


def relabelled(graph, seed):
    """The same graph, its nodes and edges added in a random order."""
    rng = np.random.default_rng(seed)
    nodes, edges = list(graph), list(graph.edges)
    other = nx.Graph()
    other.add_nodes_from(nodes[k] for k in rng.permutation(len(nodes)))
    other.add_edges_from(edges[k] for k in rng.permutation(len(edges)))
    return other


def operations(graph, ordering="auto", zero_diagonal=None):
    return [
        analyze(block_graph(relabelled(graph, seed), 6), ordering, zero_diagonal=zero_diagonal)
        .operations
        for seed in range(RELABELLINGS)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "graph",
    [gs.ladder(30), *(gs.net(n) for n in (10, 13, 16, 20)), *map(gs.crystal, (5, 6, 8))],
    ids=lambda graph: graph.name or str(graph.number_of_nodes()),
)
def test_the_worst_relabelling_costs_at_most_a_tenth_more(graph):
    for ordering in ("auto", "amd"):
        counts = operations(graph, ordering)
        assert max(counts) <= 1.1 * min(counts)


def test_numberings_of_a_lattice_are_all_alike():
    # from a corner on, levels and the places of earlier neighbours tell all nodes apart
    for graph, ordering in product((gs.net(12), gs.crystal(4)), ("amd", "nd")):
        assert len(set(operations(graph, ordering))) == 1
