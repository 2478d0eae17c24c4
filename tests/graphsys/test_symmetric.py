"""Symmetric systems: pairs of blocks set together, what is averaged, what is refused."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from graphsys.system import System
from tests.graphsys.test_system import systems


@given(systems(symmetric=True))
def test_a_symmetric_system_equals_its_transpose(system):
    assert np.array_equal(system.to_dense(), system.to_dense().T)


def test_setting_a_block_of_a_symmetric_system_sets_its_transpose():
    system = System(nx.path_graph(["a", "b"]), [1, 2], symmetric=True)
    system["b", "a"] = [[1.0], [2.0]]
    system["a", "b"] += [[10.0, 10.0]]
    system["b", "b"] = [[3.0, 4.0], [4.0, 5.0]]

    assert system.to_dense().tolist() == [[0.0, 11.0, 12.0], [11.0, 3.0, 4.0], [12.0, 4.0, 5.0]]
    assert repr(system) == "System(2 nodes, 1 edges, 3 unknowns, float64, symmetric)"


def test_rounding_asymmetry_is_averaged_away():
    a = 1.0 + np.finfo(float).eps
    system = System(nx.path_graph(2), [2, 1], symmetric=True)
    system[0, 0] = [[5.0, 1.0], [a, 5.0]]
    assert system[0, 0][0, 1] == system[0, 0][1, 0]

    values = system.values.copy()
    values[1] = a
    system.values = values
    assert system[0, 0][0, 1] == system[0, 0][1, 0]


def test_an_asymmetric_diagonal_block_is_refused():
    system = System(nx.path_graph(["a", "b"]), 2, symmetric=True)
    with pytest.raises(ValueError, match=r"block of node 'a' is not symmetric.*differ by 0\.5"):
        system["a", "a"] = [[1.0, 1.5], [1.0, 1.0]]
    assert not system.values.any()


def test_asymmetric_values_are_refused_against_the_size_of_their_block():
    system = System(nx.path_graph(["a", "b"]), [1, 2], symmetric=True)
    system.values = [1e20, 1.0, 2.0, 3.0, 4.0, 4.0, 5.0, 1.0, 2.0]
    before = system.values.copy()
    with pytest.raises(ValueError, match=r"block \('a', 'b'\) is not the transpose.*by 0\.001"):
        system.values = [1e20, 1.0, 2.001, 3.0, 4.0, 4.0, 5.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="block of node 'b' is not symmetric"):
        system.values = [1e20, 1.0, 2.0, 3.0, 4.0, 5.0, 5.0, 1.0, 2.0]
    assert np.array_equal(system.values, before)


def test_a_block_given_both_ways_must_agree_with_itself():
    graph = nx.path_graph(["a", "b"])
    both = {("a", "b"): [[1.0, 2.0]], ("b", "a"): [[1.0], [2.0]]}
    assert System(graph, [1, 2], symmetric=True, blocks=both)["a", "b"].tolist() == [[1.0, 2.0]]

    both["b", "a"] = [[1.0], [3.0]]
    with pytest.raises(ValueError, match=r"block \('a', 'b'\) is not the transpose of block"):
        System(graph, [1, 2], symmetric=True, blocks=both)


# Attributes of a networkx graph.
