"""Branches of long chains by turns: the same tree, fronts and operations in another order."""

import networkx as nx
import numpy as np
import pytest

import graphsys as gs
from graphsys import symbolic as symbolics
from graphsys.analysis import elimination
from graphsys.families import random_system
from graphsys.kernels.analysis.branches import alternate, is_postorder
from graphsys.kernels.base.layout import SCALARS


def turns_of(parent):
    parent = np.array(parent)
    turns = np.empty(parent.size, np.int64)
    return alternate(parent, turns), turns.tolist()


def in_postorder(parent):
    return bool(is_postorder(np.array(parent, np.int64), *np.empty((2, len(parent)), np.int64)))


def test_two_branches_by_turns_until_one_ends():
    # 0-1-2-6, 3-4-5-6, 6-7; then a branch of one node, and two trees
    assert turns_of([1, 2, 6, 4, 5, 6, 7, -1]) == (1, [0, 3, 1, 4, 2, 5, 6, 7])
    assert turns_of([4, 2, 3, 4, -1]) == (1, [0, 1, 2, 3, 4])
    assert turns_of([1, 2, -1, 4, -1]) == (1, [0, 3, 1, 4, 2])


def test_trees_with_one_leaf_or_three_stay():
    assert turns_of([1, 2, 3, -1])[0] == 0
    assert turns_of([3, 3, 3, -1])[0] == 0
    assert turns_of([])[0] == 0


def test_postorders_are_told_from_other_orders():
    assert in_postorder([1, 2, 6, 4, 5, 6, 7, -1])
    assert in_postorder([-1, -1, 3, -1]) and in_postorder([])
    assert not in_postorder([2, 3, 4, 5, 6, 6, 7, -1])  # by turns
    assert not in_postorder([3, 4, 3, 4, -1])  # 3 follows its child 2, but 1 is no part of it


@pytest.mark.parametrize("block", [2, 3, 6])
@pytest.mark.parametrize("symmetric", [False, True])
def test_chains_by_turns_have_the_same_elimination(block, symmetric, monkeypatch):
    system = random_system(gs.chain(61), block, symmetric=symmetric, seed=1)
    found = system.analyze()
    x = np.random.default_rng(0).standard_normal(system.shape[0])
    b = system @ x
    np.testing.assert_allclose(system.factorize(found).solve(b), x, rtol=1e-10)
    monkeypatch.setattr(elimination, "BRANCH_NODES", 62)
    plain = system.analyze()

    assert found.order[:4] == (0, 60, 1, 59) and plain.order[:4] == (0, 1, 2, 3)
    assert set(found.order) == set(plain.order)
    assert found.operations == plain.operations and found.n_fill == 0
    parents = [
        {s.order[k]: s.order[p] if p >= 0 else None for k, p in enumerate(s.parent.tolist())}
        for s in (found, plain)
    ]
    assert parents[0] == parents[1]
    assert found.in_postorder.order == plain.order and plain.in_postorder is plain
    assert found.in_postorder.ordering == found.ordering


def test_orders_as_given_and_short_or_branched_trees_stay():
    system = gs.System(gs.chain(80), 1)
    assert system.analyze(list(range(80))).order == tuple(range(80))
    for graph in (gs.chain(20), gs.random_tree(80, seed=0), nx.star_graph(80), gs.ladder(40)):
        symbolic = gs.System(graph, 2).analyze()
        assert symbolic.in_postorder is symbolic


@pytest.mark.parametrize("installed", [True, False])
def test_delayed_pivots_of_a_chain_by_turns(installed, monkeypatch):
    # analyzed with regular diagonal blocks, which then vanish: each pivot needs the next node
    if not installed:
        monkeypatch.setattr(symbolics, "find_spec", lambda name: None)
    system = random_system(gs.chain(70), 2, seed=0)
    factor = system.factorize()
    assert factor.symbolic.order[:2] == (0, 69)
    for k in range(70):
        system[k, k] = np.zeros((2, 2))
    for k in range(69):
        system[k, k + 1] = system[k + 1, k] = (1.0 if k % 2 == 0 else 0.1) * np.eye(2)
    factor.refactorize(system.values)

    b = np.random.default_rng(0).standard_normal(140)
    x = factor.solve(b)
    assert factor.delayed_pivots > 0
    np.testing.assert_allclose(system @ x, b, atol=1e-13 * np.abs(x).max())
    ordered = factor.symbolic.for_delayed_pivots
    assert ordered.in_postorder is ordered


def test_batches_take_the_postorder():
    # in lanes, branches by turns take longer
    system = random_system(gs.chain(60), 3, seed=0)
    batch = gs.Batch(system.analyze(), np.tile(system.values, (9, 1)))
    b = np.random.default_rng(0).standard_normal((9, 180))
    expected = [system.factorize().solve(one) for one in b]
    np.testing.assert_allclose(batch.solve(b), expected, rtol=1e-10, atol=1e-12)
    assert batch.symbolic.order[:2] == (0, 59)
    assert batch._engine.symbolic is batch.symbolic.in_postorder


def test_single_rows_come_by_their_depth_in_the_tree():
    # the deepest first, and those with as many neighbours together; batches take a postorder
    for graph in (
        gs.chain(61),
        gs.random_tree(80, seed=0),
        nx.barabasi_albert_graph(60, 2, seed=1),
    ):
        system = random_system(graph, 1, seed=1)
        symbolic = system.analyze()
        assert symbolic.program[SCALARS] == 1
        parent, depth = symbolic.parent.tolist(), [0] * len(symbolic.parent)
        for k in reversed(range(len(parent))):
            depth[k] = depth[parent[k]] + 1 if parent[k] >= 0 else 0
        keys = [(-d, c) for d, c in zip(depth, np.diff(symbolic.front_start), strict=True)]
        assert keys == sorted(keys)

        plain = symbolic.in_postorder
        assert in_postorder(plain.parent) and plain.order != symbolic.order
        assert plain.operations == symbolic.operations and plain.n_fill == symbolic.n_fill
        x = np.random.default_rng(0).standard_normal(system.shape[0])
        for one in (symbolic, plain):
            np.testing.assert_allclose(system.factorize(one).solve(system @ x), x, rtol=1e-10)
    short = gs.System(gs.random_tree(40, seed=0), 1).analyze()
    assert short.in_postorder is short
