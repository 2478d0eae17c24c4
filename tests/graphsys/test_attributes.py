"""Blocks read from the attributes of a networkx graph."""

import networkx as nx
import pytest
import scipy.sparse as sp

from graphsys.system import System


def test_blocks_are_read_from_a_digraph():
    graph = nx.DiGraph()
    graph.add_node("a", dim=1, D=[[1.0]])
    graph.add_node("b", dim=2)
    graph.add_node("c", dim=7, D="not taken")
    graph.add_edge("b", "a", K=[[8.0], [9.0]])
    graph.add_edge("b", "c", K="not taken")

    system = System.from_attributes(graph, "dim", block="K", diagonal="D", nodelist=["a", "b"])

    assert system.to_dense().tolist() == [[1.0, 0.0, 0.0], [8.0, 0.0, 0.0], [9.0, 0.0, 0.0]]


@pytest.mark.parametrize("nodelist", [["a", "b"], ["b", "a"]])
@pytest.mark.parametrize("edge", [("a", "b"), ("b", "a")])
def test_an_undirected_edge_holds_the_block_from_the_earlier_node_to_the_later(nodelist, edge):
    graph = nx.Graph()
    graph.add_edge(*edge, block=[[1.0, 2.0], [3.0, 4.0]])

    system = System.from_attributes(graph, 2, nodelist=nodelist, symmetric=True)

    assert system[nodelist[0], nodelist[1]].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert system[nodelist[1], nodelist[0]].tolist() == [[1.0, 3.0], [2.0, 4.0]]


def test_an_undirected_graph_does_not_tell_unsymmetric_blocks():
    with pytest.raises(TypeError, match="give a DiGraph, or symmetric=True"):
        System.from_attributes(nx.path_graph(2), 1)


def test_attributes_that_nobody_carries_are_refused():
    graph = nx.DiGraph()
    graph.add_edge("a", "b", block=1.0)
    with pytest.raises(ValueError, match="no edge has an attribute 'K' and no node one 'D'"):
        System.from_attributes(graph, 1, block="K", diagonal="D")


def test_an_adjacency_has_no_attributes():
    with pytest.raises(TypeError, match="only networkx has attributes"):
        System.from_attributes(sp.csr_array((2, 2)), 1)


def test_an_empty_graph_has_empty_attributes():
    assert System.from_attributes(nx.DiGraph(), 1).shape == (0, 0)


# What is refused; a refusal leaves the system as it was.
