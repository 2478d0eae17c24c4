"""LU factors in panels of eight rows: equations of planar trees."""

import networkx as nx
import numpy as np
import pytest

import dynamics as dy
import graphsys as gs
from dynamics.kernels.base import layout
from dynamics.kernels.interval.panels import factorize_panels, solve_panels
from dynamics.tables.model_tables import planar_part
from dynamics.tables.panels import panel_tables

EPS = np.finfo(float).eps


def tree_system(sizes, edges):
    """System of a tree, its symbolic factorization, and the row and column of each entry."""
    nodes = np.array(edges, np.int64).reshape(-1, 2)
    system = gs.System.from_edges(nodes[:, 0], nodes[:, 1], np.array(sizes))
    symbolic = system.analyze()
    first = np.concatenate([[0], np.cumsum(sizes)])
    i, j = np.stack(symbolic.graph.pairs())
    ends = [
        (first[a] + row, first[b] + column)
        for a, b in zip(i.tolist(), j.tolist())
        for column in range(sizes[b])
        for row in range(sizes[a])
    ]
    return symbolic, np.array(ends).T


def tables_of(symbolic, ends):
    """Groups, places, unknowns in the order of pivots, and records."""
    n = int(np.sum(symbolic.graph.size))
    groups, tables = panel_tables(symbolic, ends, np.arange(n))
    e = ends.shape[1]
    return groups, tables[:e].copy(), tables[e : e + n], tables[e + n :].copy()


def solved(symbolic, ends, matrix, b):
    """Status and solution by panels."""
    groups, targets, order, records = tables_of(symbolic, ends)
    panels = np.full(2 * groups * layout.PANEL, np.nan)
    values, places = matrix[tuple(ends)].copy(), np.arange(ends.shape[1])
    failed = factorize_panels(groups, places.size, records, places, targets, values, panels)
    y, x = np.append(b[order], 0.0), np.empty_like(b)
    solve_panels(groups, records, panels, y)
    x[order] = y[:-1]
    return failed, x


def dominant(ends, n, rng):
    """Random matrix with these entries, whose diagonal is the largest part of each row."""
    matrix = np.zeros((n, n))
    matrix[tuple(ends)] = rng.normal(size=ends.shape[1])
    matrix[np.arange(n), np.arange(n)] = 1.0 + np.abs(matrix).sum(axis=1)
    return matrix


def test_two_scalars_by_hand():
    # [[2, 1], [4, 5]] x = [3, 9]: L = [[1, 0], [2, 1]], U = [[2, 1], [0, 3]], x = [1, 1]
    symbolic, ends = tree_system([1, 1], [(0, 1)])
    matrix = np.array([[2.0, 1.0], [4.0, 5.0]])
    order = symbolic.step_node

    failed, x = solved(symbolic, ends, matrix[np.ix_(order, order)], np.array([3.0, 9.0])[order])

    assert failed == 0
    np.testing.assert_array_equal(x, [1.0, 1.0])


@pytest.mark.parametrize("seed", range(20))
def test_random_trees_are_solved_as_by_lapack(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    sizes = rng.integers(1, 5, n).tolist()  # a leaf and its parent fit into a panel
    edges = [(k, int(rng.integers(k))) for k in range(1, n)]
    symbolic, ends = tree_system(sizes, edges)
    matrix = dominant(ends, sum(sizes), rng)
    b = rng.normal(size=sum(sizes))

    failed, x = solved(symbolic, ends, matrix, b)

    # rows of dominant matrices bound the growth by 2 and each multiplier by 1 (Higham 2002, 9.9)
    exact = np.linalg.solve(matrix, b)
    bound = 100.0 * sum(sizes) * EPS * np.linalg.cond(matrix, np.inf) * np.abs(exact).max()
    assert failed == 0
    assert np.abs(x - exact).max() <= bound


def test_each_entry_has_a_place_of_its_own_in_the_panel_of_its_first_pivot():
    sizes = [3, 2, 3, 2, 3]
    symbolic, ends = tree_system(sizes, [(k, k + 1) for k in range(4)])
    groups, targets, order, records = tables_of(symbolic, ends)

    assert sorted(order.tolist()) == list(range(13))
    assert np.unique(targets).size == targets.size
    group_of = np.empty(13, np.int64)
    at = 0
    for g in range(groups):
        pivots = records[g * layout.PANEL_GROUP + layout.GROUP_PIVOTS]
        group_of[order[at : at + pivots]] = g
        at += pivots
    np.testing.assert_array_equal(targets // layout.PANEL, group_of[ends].min(axis=0))


def test_a_pivot_of_zero_is_reported():
    symbolic, ends = tree_system([1, 1], [(0, 1)])
    failed, _ = solved(symbolic, ends, np.array([[0.0, 1.0], [1.0, 0.0]]), np.ones(2))
    assert failed != 0


def test_a_front_of_more_than_eight_rows_has_no_panels():
    symbolic, ends = tree_system([5, 4], [(0, 1)])
    assert panel_tables(symbolic, ends, np.arange(9))[0] == 0
    symbolic, ends = tree_system([3] * 4, nx.complete_graph(4).edges)
    assert panel_tables(symbolic, ends, np.arange(12))[0] == 0


def groups_of(model):
    """Groups of pivots of a planar model."""
    part = planar_part(model.tables.plan)
    assert part.size > 0
    return int(part[layout.PANEL_GROUPS])


def test_trees_have_a_panel_per_body_and_loops_have_none():
    double_pendulum, _ = dy.zoo.double_pendulum()
    four_bar, _ = dy.zoo.four_bar()

    assert groups_of(double_pendulum) == 2
    assert groups_of(four_bar) == 0
