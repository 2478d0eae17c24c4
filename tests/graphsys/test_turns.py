"""Branches of an elimination tree take turns, so that neighbours in the order are independent."""

import numpy as np
import pytest

import graphsys as gs
from graphsys.kernels.program.nodal import by_turns


def turns(parent, size):
    *work, order = np.empty((3, len(parent)), np.int64)
    done, top = np.empty(len(parent), np.bool_), np.empty(max(size) + 1, np.int64)
    by_turns(np.array(parent), np.array(size), *work, done, top, order)
    return order.tolist()


def test_branches_take_turns():
    # two branches 0-1-2 and 3-4-5 of a root 6, then the same with nodes of other sizes
    parent = [1, 2, 6, 4, 5, 6, -1]

    assert turns(parent, [6] * 7) == [0, 3, 1, 4, 2, 5, 6]
    assert turns(parent, [6, 5, 6, 6, 5, 6, 6]) == [0, 3, 1, 4, 2, 5, 6]
    assert turns(parent, [6, 5, 6, 1, 2, 3, 6]) == [0, 1, 2, 3, 4, 5, 6]
    assert turns([1, 2, -1], [6] * 3) == [0, 1, 2]
    assert turns([-1, -1], [6, 6]) == [0, 1]


@pytest.mark.parametrize("seed", range(20))
def test_turns_keep_children_first_and_bring_independent_nodes_together(seed):
    rng = np.random.default_rng(seed)
    symbolic = gs.System(gs.random_tree(200, seed=seed), rng.integers(5, 7, 200).tolist()).analyze()
    parent, size = symbolic.parent, symbolic.graph.size[symbolic.step_node]

    assert (parent[:-1] > np.arange(199)).all()
    assert parent[-1] == -1
    assert sorted(symbolic.step_node) == list(range(200))
    apart = parent[:-1] != np.arange(1, 200)
    alike = size[:-1] == size[1:]
    assert np.count_nonzero(apart & alike) >= 80  # of 100 at most, disjoint ones
