"""The order of nodes inside supernodes: what others update is contiguous, fill-in no more."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphsys as gs
from graphsys.kernels.analysis.arrangement import arrange, count_parts
from graphsys.matrix.graph import block_graph
from graphsys.symbolic import analyze


def arranged(sets, width, fixed=()):
    """Order of one supernode of nodes 0 to width - 1 that is updated on some sets of them."""
    n = len(sets) + width
    super_start = np.array([*range(len(sets) + 1), n])
    super_of = np.repeat(np.arange(len(sets) + 1), np.diff(super_start))
    fronts = [np.array(sorted(s)) + len(sets) for s in sets] + [np.zeros(0, int)] * width
    start = np.concatenate([[0], np.cumsum([f.size for f in fronts])])
    tables = super_start, super_of, start, np.concatenate(fronts).astype(np.int64)
    order, parts = np.empty(n, np.int64), np.empty((4, count_parts(*tables)), np.int64)
    stays = np.zeros(n, bool)
    stays[np.array(fixed, int) + len(sets)] = True
    work = np.empty((3, n + 1), np.int64), np.empty(n, bool), np.empty(n, bool)
    arrange(*tables, stays, parts, *work, order)
    assert order[: len(sets)].tolist() == list(range(len(sets)))
    return (order[len(sets) :] - len(sets)).tolist()


def runs(order, chosen):
    inside = np.isin(order, list(chosen))
    return int(np.count_nonzero(np.diff(inside.astype(int), prepend=0) == 1))


def test_a_set_becomes_contiguous():
    order = arranged([{0, 2, 4}], 6)
    assert sorted(order) == list(range(6))
    assert runs(order, {0, 2, 4}) == 1


def test_sets_that_overlap_are_both_contiguous():
    order = arranged([{0, 2, 4, 6}, {4, 6, 1}], 8)
    assert runs(order, {0, 2, 4, 6}) == runs(order, {4, 6, 1}) == 1


def test_supernodes_with_a_fixed_node_stay():
    assert arranged([{0, 2, 4}], 6, fixed=[3]) == list(range(6))


@given(st.lists(st.sets(st.integers(0, 9), min_size=2), min_size=1, max_size=6))
def test_any_sets_give_a_permutation_and_a_largest_is_contiguous(sets):
    order = arranged(sets, 10)
    assert sorted(order) == list(range(10))
    most = max(map(len, sets))
    assert min(runs(order, chosen) for chosen in sets if len(chosen) == most) == 1


@pytest.mark.parametrize("graph", [gs.net(60), gs.crystal(12)], ids=["net", "crystal"])
def test_dissected_lattices_have_few_runs(graph, monkeypatch):
    def runs_of_fronts(symbolic):
        last = symbolic.super_start[1:] - 1
        fronts = zip(symbolic.front_start[last], symbolic.front_start[last + 1], strict=True)
        return sum(np.count_nonzero(np.diff(symbolic.front[a:b]) != 1) for a, b in fronts)

    found = analyze(block_graph(graph, 1), "nd")
    with monkeypatch.context() as patched:
        patched.setattr("graphsys.analysis.elimination.Elimination.arranged", lambda self: self)
        plain = analyze(block_graph(graph, 1), "nd")
    assert runs_of_fronts(found) < 0.8 * runs_of_fronts(plain)
    assert found.operations <= plain.operations


def test_dissected_saddle_points_are_solved():
    # constraints wait for their neighbours: supernodes with one of them stay as they are
    rng = np.random.default_rng(0)
    graph = gs.net(12)
    system = gs.System(graph, 2)
    for node in graph:
        system[node, node] = np.eye(2) * (node % 3 > 0)
    for u, v in graph.edges:
        system[u, v], system[v, u] = rng.normal(size=(2, 2, 2))
    x = rng.normal(size=system.shape[0])
    found = system.factorize(system.analyze("nd")).solve(system @ x)
    np.testing.assert_allclose(found, x, atol=1e-8)
