"""Maximum matchings of rows with columns, beside those of networkx."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array, eye_array

import graphsys as gs
from graphsys.analysis.matching import maximum_matching, structural_rank


def checked(pattern):
    """Number of pairs, which are entries of the pattern and share no row or column."""
    column_of, row_of = maximum_matching(pattern)
    rows = np.flatnonzero(column_of >= 0)
    dense = pattern.toarray() != 0
    assert dense[rows, column_of[rows]].all()
    assert np.array_equal(row_of[column_of[rows]], rows)
    assert np.count_nonzero(row_of >= 0) == rows.size
    return rows.size


@pytest.mark.parametrize(
    ("matrix", "rank"),
    [
        (np.zeros((0, 0)), 0),
        (np.zeros((3, 3)), 0),
        (np.eye(4), 4),
        ([[0, 1], [1, 0]], 2),
        ([[1, 1], [0, 0]], 1),
        ([[1, 1, 0], [1, 0, 0], [0, 1, 1]], 3),
        ([[1, 0, 0], [1, 0, 0], [1, 1, 1]], 2),
        ([[0, 1, 1], [1, 0, 0], [1, 0, 0]], 2),
    ],
)
def test_matchings_by_hand(matrix, rank):
    assert checked(csr_array(np.asarray(matrix, float))) == rank


def test_the_diagonal_is_matched_where_it_has_no_gap():
    pattern = csr_array(np.ones((5, 5)))
    assert np.array_equal(maximum_matching(pattern)[0], np.arange(5))


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.floats(0.2, 4.0))
def test_matchings_are_as_large_as_those_of_networkx(seed, n, degree):
    rng = np.random.default_rng(seed)
    entries = int(degree * n)
    row, column = rng.integers(n, size=(2, entries))
    pattern = coo_array((np.ones(entries), (row, column)), shape=(n, n)).tocsr()
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(zip(row.tolist(), (n + column).tolist(), strict=True))
    wanted = nx.bipartite.hopcroft_karp_matching(graph, range(n))
    assert checked(pattern) == structural_rank(pattern) == len(wanted) // 2


def layers(count):
    """Pattern of pairs of rows, each on the columns of its own pair and the next; one row lacks.

    Searches from the row without a column meet every pair twice from each row of the pair before:
    2^count paths.
    """
    n = 2 * count + 1
    row, column = [n - 1, n - 1], [0, 1]
    for k in range(count):
        for i in (2 * k, 2 * k + 1):
            row.append(i)
            column.append(i)
            for j in (2 * k + 2, 2 * k + 3):
                if k + 1 < count:
                    row.append(i)
                    column.append(j)
    return coo_array((np.ones(len(row)), (row, column)), shape=(n, n)).tocsr()


def test_dead_ends_are_searched_once():
    # exponential in scipy's `maximum_bipartite_matching`: 2^500 paths
    assert checked(layers(500)) == 1000


def test_a_structurally_singular_matrix_of_layers_is_refused():
    pattern = layers(60)
    with pytest.raises(gs.SingularPivotError, match="structurally singular: no pivot .* 1 of its"):
        gs.System.from_scipy(pattern + 0.0 * eye_array(pattern.shape[0]), 1).factorize()


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_system_without_values_says_how_to_set_them(symmetric):
    with pytest.raises(
        gs.SingularPivotError, match="singular: all entries are zero, .*; set blocks first"
    ):
        gs.System(gs.chain(3), 2, symmetric=symmetric).factorize()
