"""Matching of the largest product of entries, and the scaling by its dual variables."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from graphsys.analysis.matching import structural_rank
from graphsys.kernels.analysis.product_matching import WORK_ROWS, match_products


def match(matrix):
    """What `match_products` returns, the column of each row, u and v."""
    pattern, n = sp.csr_array(matrix), len(matrix)
    row_of, column_of = np.empty((2, n), np.int64)
    u, v = np.empty((2, n))
    failed = match_products(
        pattern.indptr.astype(np.int64), pattern.indices.astype(np.int64),
        np.log2(np.abs(pattern.data)), np.empty(WORK_ROWS * n, np.int64),
        np.empty(n), row_of, column_of, u, v,
    )  # fmt: skip
    return failed, column_of, u, v


def test_the_larger_product_wins_by_hand():
    # 8 x 4 exceeds 1 x 16, though 16 is the largest entry
    failed, column_of, u, v = match(np.array([[1.0, 8.0], [4.0, 16.0]]))
    assert failed == 0 and column_of.tolist() == [1, 0]
    scaled = np.array([[1.0, 8.0], [4.0, 16.0]]) * np.exp2(u)[:, None] * np.exp2(v)
    np.testing.assert_allclose(scaled[[0, 1], [1, 0]], 1.0)
    assert (scaled <= 1.0 + 1e-12).all()


def test_a_row_without_a_column_is_named_and_one_of_zeros_needs_none():
    assert match(np.array([[1.0, 0.0], [1.0, 0.0]]))[0] in (1, 2)
    assert match(np.array([[1.0, 0.0], [0.0, 0.0]]))[:1] == (0,)


@given(st.integers(0, 2**32 - 1), st.integers(1, 25), st.floats(0.05, 1.0))
@settings(max_examples=80, deadline=None)
def test_products_are_those_of_an_assignment_and_duals_scale_all_entries(seed, n, density):
    rng = np.random.default_rng(seed)
    matrix = np.where(rng.random((n, n)) < density, 10.0 ** rng.uniform(-8, 8, (n, n)), 0.0)
    i, j = np.nonzero(matrix)
    failed, column_of, u, v = match(matrix)
    whole = structural_rank(sp.csr_array(matrix)) == np.unique(i).size
    assert (failed == 0) == whole
    if failed:
        return
    left = np.log2(matrix[i, j]) + u[i] + v[j]
    assert left.max(initial=-1.0) <= 1e-9  # sums of some tens of logarithms below 27
    rows = np.unique(i)
    matched = np.log2(matrix[rows, column_of[rows]])
    np.testing.assert_allclose(matched + u[rows] + v[column_of[rows]], 0.0, atol=1e-9)
    if rows.size == n:
        cost = np.full((n, n), 1e6)
        cost[i, j] = -np.log2(matrix[i, j])
        best = cost[linear_sum_assignment(cost)].sum()
        np.testing.assert_allclose(-matched.sum(), best, atol=1e-6)
