"""Block triangular form, and sparse LU factors of its blocks."""

import copy
import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import (
    block_diag,
    coo_array,
    csr_array,
    diags_array,
    eye_array,
    random_array,
    triu,
)

import graphsys as gs
from graphsys.analysis.block_triangular import block_triangular_form
from graphsys.analysis.partition import mirror
from graphsys.families import random_system
from graphsys.interop.sparse_linalg import SPARSE, FactorizedMatrix
from graphsys.kernels.program.sparse_lu import AFTER, LONG, PART_FIELDS, REST
from graphsys.kernels.single.dense_lu import factorize_dense
from graphsys.numeric import small_matrix
from graphsys.numeric.sparse_lu import SparseLUFactor

TYPES = [
    np.float64, np.float32, np.complex128, pytest.param(np.complex64, marks=pytest.mark.slow),
]  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def _analyzed():
    """All matrices are analyzed here: they would get factors for one matrix at first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small_matrix, "SMALL_ROWS", 0)
        patch.setattr(FactorizedMatrix, "_begin", FactorizedMatrix._analyze)
        yield


def shuffled(A, rng):
    """The matrix with its rows and columns in other orders."""
    n = A.shape[0]
    return csr_array(csr_array(A)[rng.permutation(n)][:, rng.permutation(n)])


def reducible(sizes, seed, dtype=float, density=0.3, links=3):
    """Matrix of irreducible diagonal blocks, each with entries in columns of blocks before it."""
    rng = np.random.default_rng(seed)
    blocks = []
    for m in sizes:
        ring = coo_array((np.ones(m), (np.arange(m), np.roll(np.arange(m), -1))), shape=(m, m))
        more = random_array((m, m), density=density, rng=rng, data_sampler=rng.normal)
        blocks.append(csr_array(ring + more + 3.0 * eye_array(m)))
    n, start = sum(sizes), np.concatenate([[0], np.cumsum(sizes)])
    row, column = [], []
    for k in range(1, len(sizes)):
        row += rng.integers(start[k], start[k + 1], links).tolist()
        column += rng.integers(0, start[k], links).tolist()
    below = coo_array((rng.normal(size=len(row)), (row, column)), shape=(n, n))
    A = csr_array(block_diag(blocks, format="csr") + below)
    if np.dtype(dtype).kind == "c":
        A = A * np.exp(1j * rng.uniform(0.0, 6.0, n))[:, None]
    return shuffled(csr_array(A.astype(dtype)), rng)


def test_a_triangle_is_n_blocks_without_fill():
    rng = np.random.default_rng(0)
    L = csr_array(np.tril(rng.uniform(1.0, 2.0, (30, 30))))
    factors = gs.splu(shuffled(L, rng))
    assert factors.diagonal_blocks == 30 and factors.nnz == L.nnz


def test_blocks_by_hand():
    # x0 and x3 hang together, x2 needs both, and x1 needs x2
    A = csr_array([[2.0, 0, 0, 1], [0, 4, 1, 0], [1, 0, 5, 1], [1, 0, 0, 3]])
    form = block_triangular_form(A)
    assert form.block.tolist() == [0, 2, 3, 4]
    assert form.column.tolist() == form.row.tolist() == [0, 3, 2, 1]
    x = gs.splu(A).solve([3.0, 5.0, 7.0, 4.0])
    assert x == pytest.approx([1.0, 1.0, 1.0, 1.0], abs=4e-16)


def test_forms_of_matrices_without_a_finer_one():
    assert block_triangular_form(csr_array(np.ones((3, 3)))).block.tolist() == [0, 3]
    assert block_triangular_form(csr_array(np.diag([1.0, 2.0]))).block.tolist() == [0, 1, 2]
    assert block_triangular_form(csr_array([[1.0, 1.0], [0.0, 0.0]])) is None  # no pivot in row 1


def test_the_order_of_rows_is_kept_on_request():
    A = csr_array(np.tril(np.ones((5, 5))))
    assert gs.splu(A, permc_spec="NATURAL").diagonal_blocks == 1


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.floats(0.5, 2.5))
def test_the_form_is_block_triangular_and_cannot_be_finer(seed, n, degree):
    rng = np.random.default_rng(seed)
    A = random_array((n, n), density=min(1.0, degree / n), rng=rng) + diags_array(np.ones(n))
    A = shuffled(A, rng)
    form = block_triangular_form(A)
    graph = nx.DiGraph()  # of columns, by a matching that networkx finds
    graph.add_nodes_from(range(n))
    pairs = nx.Graph()
    pairs.add_nodes_from(range(n))
    rows, columns = A.nonzero()
    pairs.add_edges_from(zip(rows.tolist(), (n + columns).tolist(), strict=True))
    matched = nx.bipartite.hopcroft_karp_matching(pairs, range(n))
    for i, j in zip(rows.tolist(), columns.tolist(), strict=True):
        graph.add_edge(matched[i] - n, j)
    parts = {frozenset(part) for part in nx.strongly_connected_components(graph)}
    blocks = [form.column[a:b] for a, b in zip(form.block[:-1], form.block[1:], strict=True)]
    assert {frozenset(block.tolist()) for block in blocks} == parts
    assert np.array_equal(np.sort(form.row), np.arange(n))
    dense, block_of = A.toarray()[form.row][:, form.column] != 0, np.zeros(n, int)
    for k, first in enumerate(form.block[1:-1]):
        block_of[first:] = k + 1
    assert not dense[block_of[:, None] < block_of].any()


def test_single_rows_come_in_few_runs():
    form = block_triangular_form(reducible([20, 1, 20, 20, 1, 1, 20, 1], seed=3))
    single = np.diff(form.block) == 1
    assert np.count_nonzero(single[1:] & ~single[:-1]) <= 4  # one after each large block at most


def lu_of(A, most=10**9, mirrored=None):
    """Sparse LU factors of a matrix, whatever they cost."""
    A = csr_array(A)
    factor = SparseLUFactor.of(A, block_triangular_form(A), most, mirrored=mirrored)
    return factor, factor._program.tables.part.reshape(-1, PART_FIELDS)


def assert_stable(A, factor, seed=0):
    """Solutions by A and its transpose have backward errors of threshold pivoting.

    Entries of U are at most 10 with columns scaled, and entries of L grow at most (1 + 10)^k in k
    eliminations; what random matrices show is a growth of far below 100. Rows and columns are
    compared in the scaling in which pivots are chosen.
    """
    n, eps = A.shape[0], np.finfo(A.dtype).eps
    row = 1.0 / np.abs(A).max(axis=1).toarray().ravel()
    scaled = diags_array(row) @ np.abs(A)
    column = 1.0 / scaled.max(axis=0).toarray().ravel()
    for trans, M in (("N", A), ("T", A.T)):
        left, right = (row, column) if trans == "N" else (column, row)
        size = (diags_array(left) @ np.abs(M) @ diags_array(right)).sum(axis=1).max()
        B = np.random.default_rng(seed).normal(size=(n, 11)) / left[:, None]
        X = factor.solve(B.astype(A.dtype), trans)  # eight and three columns side by side
        alone = factor.solve(B[:, 0].astype(A.dtype), trans)
        for x, b in zip((alone, *X.T), (B[:, 0], *B.T), strict=True):
            bound = size * np.abs(x / right).max() + np.abs(left * b).max()
            assert np.abs(left * (M @ x - b)).max() <= 100.0 * n * eps * bound


def test_an_arrow_takes_no_fill_in():
    A = eye_array(30, format="lil") * 2.0
    A[0, :] = A[:, 0] = 3.0  # of dominant ones a `Factor` is made
    A[0, 0] = 2.0
    factor, part = lu_of(A)
    assert part[0, REST] >= 29 - 24 and factor.nnz <= csr_array(A).nnz + 24**2
    assert gs.splu(csr_array(A)).nnz == factor.nnz


def test_pivots_are_no_small_entries():
    # By the pivots on the diagonal, L U = A would lose most digits of all other entries.
    A = csr_array([[1e-12, 1.0, 0.0], [1.0, 1e-12, 1.0], [1.0, 0.0, 1e-12]])
    x = np.array([1.0, 2.0, 3.0])
    assert gs.splu(A)._uses_lu and gs.splu(A).solve(A @ x) == pytest.approx(x, rel=1e-15)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("n", "degree", "rest", "long"),
    [
        (8, 2.0, False, False),
        (60, 1.5, False, False),
        (120, 4.0, True, False),
        (400, 6.0, True, True),
    ],
)
def test_irreducible_matrices_without_dominance(n, degree, rest, long, dtype):
    for seed in range(3):
        A = reducible([n], seed, dtype, density=degree / n)
        A = csr_array(A - 3.0 * diags_array(np.ones(n), dtype=dtype)).astype(dtype)
        factor, part = lu_of(A)
        assert (part[:, AFTER] > part[:, REST]).any() == rest
        assert part[:, LONG].any() == long
        assert_stable(A, factor, seed)


def operations_of(factor):
    return factor._program.tables.operation.size // 3


def symmetric(n, edges, dtype=float, seed=0):
    """Symmetric matrix of a random graph, its diagonal above the rest of each row."""
    rng, graph = np.random.default_rng(seed), nx.gnm_random_graph(n, edges, seed=seed)
    lower = coo_array((rng.uniform(0.5, 1.0, edges), np.array(graph.edges).T), shape=(n, n))
    A = lower + lower.T
    A = csr_array(A + diags_array(A.sum(axis=1) + 1.0)).astype(dtype)
    phases = np.exp(1j * rng.uniform(0.0, 6.0, n)) if np.dtype(dtype).kind == "c" else np.ones(n)
    A = csr_array(diags_array(phases) @ A @ diags_array(phases)).astype(dtype)
    A.data = (0.5 * (A.data + A.T.tocsr().data)).astype(dtype)  # rounding of phases
    return A


def test_a_symmetric_matrix_takes_the_operations_of_one_triangle():
    # a ring of four: its first two pivots update two diagonal entries and both or one between
    # them, the third one entry: 4 + 4 + 1 or 3 + 3 + 1
    A = csr_array(nx.to_scipy_sparse_array(nx.cycle_graph(4)) + 4.0 * eye_array(4))
    factor, _ = lu_of(A, mirrored=mirror(A))

    assert operations_of(lu_of(A)[0]) == 9 and operations_of(factor) == 7
    x = np.array([1.0, -2.0, 3.0, -4.0])
    assert factor.solve(A @ x) == pytest.approx(x, rel=1e-15)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("n", "edges", "rest"), [(30, 40, False), (150, 400, True)])
def test_factors_of_symmetric_matrices_are_those_of_any_other(n, edges, rest, dtype):
    for seed in range(3):
        A = symmetric(n, edges, dtype, seed)
        factor, part = lu_of(A, mirrored=mirror(A))
        other, _ = lu_of(A)
        assert (part[:, AFTER] > part[:, REST]).any() == rest
        assert operations_of(factor) < 0.75 * operations_of(other)
        assert factor.nnz == other.nnz
        assert_stable(A, factor, seed)
        B = A.copy()
        B.data = A.data * dtype(3.0)
        factor.refactorize(B.indptr, B.indices, B.data)
        assert factor.orders == 1
        assert_stable(B, factor, seed)


def test_values_that_are_not_symmetric_get_pivots_of_their_own():
    A = symmetric(60, 100)
    factor, _ = lu_of(A, mirrored=mirror(A))
    B = A.copy()
    B.data = A.data * np.random.default_rng(0).uniform(0.9, 1.1, A.nnz)
    factor.refactorize(B.indptr, B.indices, B.data)
    assert factor.orders == 2
    assert_stable(B, factor)
    factor.refactorize(A.indptr, A.indices, A.data)  # by all operations
    assert factor.orders == 2
    assert_stable(A, factor)


def test_symmetric_matrices_with_pivots_off_the_diagonal_take_all_operations():
    A = symmetric(40, 80).tolil()
    A.setdiag(0.0)
    A = csr_array(A + csr_array(eye_array(40) * 1e-9))
    factor, _ = lu_of(A, mirrored=mirror(A))
    assert factor._program.tables.mirrored.size == 0
    assert_stable(A, factor)


def test_splu_uses_the_symmetry_of_values():
    A = csr_array(nx.laplacian_matrix(nx.grid_2d_graph(12, 12)) + eye_array(144))
    factors = gs.splu(A)
    assert operations_of(factors._lu) < 0.6 * operations_of(lu_of(A)[0])
    assert_stable(A, factors)
    B = csr_array(A + 0.5 * triu(A, 1))
    factors.refactorize(B)
    assert_stable(B, factors)
    factors.refactorize(A)
    assert_stable(A, factors)


@given(st.integers(0, 2**32 - 1), st.integers(2, 50), st.floats(0.0, 4.0), st.booleans())
def test_random_matrices(seed, n, degree, reducible_too):
    rng = np.random.default_rng(seed)
    A = random_array((n, n), density=min(1.0, degree / n), rng=rng, data_sampler=rng.normal)
    A = csr_array(A + diags_array(rng.normal(size=n))) if reducible_too else A
    A = shuffled(A, rng)
    try:
        factors = gs.splu(A)
    except gs.SingularPivotError:
        assert np.linalg.cond(A.toarray()) > 1e12
        return
    assert_stable(A, factors)
    A.data *= rng.uniform(0.1, 10.0, A.nnz)
    try:
        factors.refactorize(A)
    except gs.SingularPivotError:
        assert np.linalg.cond(A.toarray()) > 1e12
        return
    assert_stable(A, factors)


def test_every_scale_of_rows_and_columns():
    rng = np.random.default_rng(0)
    for dtype, most in ((np.float64, 60), (np.float32, 8), (np.complex128, 60)):
        A = reducible([1, 40, 2, 9, 1], 1, dtype)
        row, column = 10.0 ** rng.uniform(-most, most, (2, 53))
        A = csr_array(diags_array(row) @ A @ diags_array(column)).astype(dtype)
        assert_stable(A, lu_of(A)[0])


def test_other_values_keep_the_pivots_while_these_are_good():
    A = reducible([30, 1, 12], 2)
    factor, _ = lu_of(A)
    for scale in (1.0, 1e-4, 30.0):
        B = A.copy()
        B.data = scale * A.data * np.random.default_rng(0).uniform(0.5, 2.0, A.nnz)
        factor.refactorize(B.indptr, B.indices, B.data)
        assert_stable(B, factor)
    assert factor.orders == 1


def test_pivots_are_chosen_anew_where_they_are_weak():
    for seed in range(5):
        A = reducible([30, 1, 12], seed)
        factor, _ = lu_of(A)
        B = A.copy()
        B.data = 10.0 ** np.random.default_rng(seed).uniform(-9.0, 0.0, A.nnz)
        factor.refactorize(B.indptr, B.indices, B.data)
        assert factor.orders == 2
        assert_stable(B, factor)
        C = A * 1e12  # larger than the values by which a pivot is judged
        factor.refactorize(C.indptr, C.indices, C.data)
        assert factor.orders == 3
        assert_stable(C, factor)


def test_factors_without_room_are_not_made(monkeypatch):
    A = reducible([1, 20, 3], 1)
    monkeypatch.setattr("graphsys.analysis.sparse_lu.MOST_NUMBERS", 40)
    factors, b = gs.splu(A), np.ones(24)
    assert factors._lu is None and factors.diagonal_blocks == 1
    assert np.abs(A @ factors.solve(b) - b).max() <= 1e-13


def test_solves_refine_where_factors_grew():
    n = 40  # x_i = b_i - g x_(i-1): L and U of the first values hold, those of the others grow
    A = diags_array([np.full(n - 1, 1.0), np.ones(n), np.full(n - 1, 0.1)], offsets=[-1, 0, 1])
    A = csr_array(A)
    factor, _ = lu_of(A)
    assert not factor.refines
    A[0, 1], A[1, 0], A[2, 1] = 30.0, 30.0, 30.0
    factor.refactorize(A.indptr, A.indices, A.data)
    b = np.random.default_rng(0).normal(size=(n, 2))
    for trans, M in (("N", A), ("T", A.T)):
        x = factor.solve(b, trans)
        assert (np.abs(M @ x - b) <= 1.5e-14 * (np.abs(M) @ np.abs(x) + np.abs(b))).all()
    assert factor.orders == 1 and factor.refines


def test_growth_where_the_scaling_has_no_entries_is_noticed():
    """Places without entries are scaled by up to 2^19 here: L grows to 60 there, and 2e7 in A."""
    rng = np.random.default_rng([5620, 667])
    n = int(rng.integers(2, 61))
    A = np.tril(-np.ones((n, n)), -1) * rng.uniform(0.5, 1.0) + np.eye(n)
    A[:, -1] = 1.0
    A = np.where(rng.random((n, n)) < rng.uniform(0.2, 1.0), A, 0.0)
    A += np.diag(np.where(np.diag(A) == 0.0, 1e-3, 0.0))
    A = csr_array(A[rng.permutation(n)])
    b = A @ rng.normal(size=n)
    factors = gs.splu(A)
    assert np.abs(factors._lu._program.factors).max() > 1e6 and factors._lu.refines
    x = factors.solve(b)
    assert (np.abs(A @ x - b) <= 1.5e-14 * (abs(A) @ np.abs(x) + np.abs(b))).all()


def test_growth_in_dense_rests_is_noticed():
    """Partial pivoting doubles the last column of such matrices in every step (Wilkinson)."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = 51
        A = np.tril(-np.ones((n, n)), -1) * rng.uniform(0.5, 1.0) + np.eye(n)
        A[:, -1] = 1.0
        A[rng.random((n, n)) > rng.uniform(0.5, 1.0)] = 0.0
        A += np.diag(np.where(np.diag(A) == 0.0, 1e-3, 0.0))
        A = A[rng.permutation(n)]
        if np.linalg.cond(A) > 1e12:
            continue
        row, column = rng.integers(-240, 240, (2, n))
        wide, x = np.ldexp(np.ldexp(A, row[:, None]), column), rng.integers(1, 9, n).astype(float)
        b = A @ x
        found = np.ldexp(gs.splu(csr_array(wide)).solve(np.ldexp(b, row)), column)
        size = np.abs(A).sum(axis=1).max() * np.abs(found).max() + np.abs(b).max()
        assert np.abs(A @ found - b).max() <= 1e4 * 2.0**-52 * size


def test_inaccurate_factors_leave_the_solution_to_others(monkeypatch):
    A, b = reducible([1, 40, 2, 9, 1], 1), np.random.default_rng(1).normal(size=(53, 2))
    factors = gs.splu(A)
    assert factors.diagonal_blocks == 5 and factors._lu.solve(b) is not None
    factors._lu._program.factors[:] = 1.0  # and these are useless
    factors._lu.refines = True
    assert factors._lu.solve(b) is None and factors._lu.solve(b + 1j, "T") is None
    for trans, M in (("N", A), ("T", A.T)):
        assert np.abs(M @ factors.solve(b, trans) - b).max() <= 1e-12
    factors.refactorize(A)
    assert factors._lu.solve(b) is not None


def test_entries_of_many_magnitudes_have_small_errors_in_every_row():
    for seed in range(10):
        A = reducible([1, 40, 2, 9, 1], seed)
        A.data *= 10.0 ** np.random.default_rng(seed).uniform(-6.0, 6.0, A.nnz)
        factors, b = gs.splu(A), np.random.default_rng(seed).normal(size=53)
        for trans, M in (("N", A), ("T", A.T)):
            x = factors.solve(b, trans)
            assert (np.abs(M @ x - b) <= 1.5e-14 * (np.abs(M) @ np.abs(x) + np.abs(b))).all()


def test_much_fill_in_of_patterns_without_symmetry_stays():
    rng = np.random.default_rng(0)
    n = 700  # some 40 operations per entry
    A = csr_array(random_array((n, n), density=4 / n, rng=rng) + 4.0 * eye_array(n))
    factors = gs.splu(A)
    assert factors._lu is not None
    assert SparseLUFactor.of(A, block_triangular_form(A), SPARSE * A.nnz) is None
    assert np.abs(A @ factors.solve(np.ones(n)) - 1.0).max() <= 1e-12
    symmetric = csr_array(A + A.T)
    assert gs.splu(symmetric)._lu is None
    symmetric.data[:100] = 0.0  # and nearly so
    symmetric.eliminate_zeros()
    symmetric = csr_array(symmetric + 8.0 * eye_array(n))
    assert gs.splu(symmetric)._lu is None


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_factors_of_meshes_take_matrices_of_the_pattern_as_they_are(kind, monkeypatch):
    grid = csr_array(nx.laplacian_matrix(nx.grid_2d_graph(30, 30)) + eye_array(900))
    factors, b = gs.splu(grid), np.ones(900)
    assert factors._lu is None
    with monkeypatch.context() as patch:
        patch.setattr(gs.System, "set_from_scipy", None)
        for scale in (2.0, 3.0):
            A = (scale * grid).asformat(kind)
            factors.refactorize(A)
            assert np.abs(A @ factors.solve(b) - b).max() <= 1e-13
    A.data[5] = np.nan
    with pytest.raises(ValueError, match="A.* is nan"):
        factors.refactorize(A)
    assert np.abs(3.0 * grid @ factors.solve(b) - b).max() <= 1e-13
    factors.refactorize(4 * eye_array(900, dtype=int, format=kind))
    assert np.abs(factors.solve(b) - 0.25).max() <= 1e-15


def test_much_fill_in_is_for_dense_panels():
    n = 40
    line = diags_array([-np.ones(n - 1), 0.9 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    grid = csr_array(nx.laplacian_matrix(nx.grid_2d_graph(n, n)) + eye_array(n * n))
    assert not gs.splu(grid)._uses_lu and gs.splu(line)._uses_lu
    large = csr_array(nx.laplacian_matrix(nx.grid_2d_graph(80, 80)) + eye_array(6400))
    assert large.nnz > 20_000 and gs.splu(large)._lu is None  # not even tried
    factor, _ = lu_of(grid)
    assert SparseLUFactor.of(grid, block_triangular_form(grid), 1000) is None
    assert_stable(grid, factor)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 9, 30, 41])
@pytest.mark.parametrize("dtype", TYPES)
def test_dense_factors_are_those_of_partial_pivoting(n, dtype):
    A = np.random.default_rng(n).normal(size=(n, n)).astype(dtype)
    a, name = np.concatenate([np.zeros(3), A.T.ravel()]).astype(dtype), np.zeros(n, np.int64)
    assert factorize_dense(a, 3, n, name) == n
    f = a[3:].reshape(n, n).T
    L, U = np.tril(f, -1) + np.eye(n), np.triu(f)
    assert np.abs(np.tril(L, -1)).max(initial=0.0) <= 1.0 + 4.0 * np.finfo(dtype).eps
    # |L U - P A| <= n eps |L| |U| (Higham 2002, theorem 9.3); complex products err twice as much
    bound = 4.0 * n * np.finfo(dtype).eps * (np.abs(L) @ np.abs(U))
    assert (np.abs(L @ U - A[name]) <= bound).all()
    a[:] = 0.0
    assert factorize_dense(a, 3, n, name) == 0


@pytest.mark.parametrize(
    "make", [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))]
)
def test_copies_have_factors_of_their_own(make):
    A, b = reducible([1, 30, 3, 1], 1), np.ones(35)
    factors = gs.splu(A)
    x, other = factors.solve(b), make(factors)
    factors.refactorize(2.0 * A)
    assert np.array_equal(other.solve(b), x)
    other.refactorize(4.0 * A)
    assert factors.solve(b) == pytest.approx(0.5 * x) and other.solve(b) == pytest.approx(0.25 * x)


def test_every_kind_of_matrix_is_taken_again():
    A, b = reducible([1, 20, 3, 1], 1), np.ones(25)
    factors = gs.splu(A)
    x, kinds = factors.solve(b), [A, A.tocsc(), A.tocoo(), A.astype(np.float32)]
    wide = csr_array((A.data, A.indices.astype(np.int64), A.indptr.astype(np.int64)))
    backward = A[:, ::-1].tocsr()
    backward.indices = 24 - backward.indices  # not sorted
    backward.has_sorted_indices = False
    fixed = A.copy()
    fixed.data.flags.writeable = fixed.indices.flags.writeable = False
    for other in [*kinds, wide, backward, fixed]:
        factors.refactorize(other)
        assert factors.solve(b) == pytest.approx(x, rel=1e-5 if other is kinds[3] else 1e-12)
    assert gs.splu(fixed).solve(b) == pytest.approx(x)


def test_a_thread_that_refactorizes_is_not_disturbed():
    A, b = reducible([1, 20, 3], 1), np.ones(24)
    factors = gs.splu(A)
    x, flag = factors.solve(b), factors._lu._program.frame
    flag = flag[-1] if isinstance(flag, tuple) else flag
    flag[-1] = 1  # as if another thread were at work
    with pytest.raises(RuntimeError, match="another thread is refactorizing"):
        factors.refactorize(2.0 * A)
    flag[-1] = 0
    assert np.array_equal(factors.solve(b), x)


SIZES = [[1] * 40, [1, 5, 2, 16, 1, 1, 3], [30], [1, 30, 1, 20, 17, 2, 1, 40, 1]]


@pytest.mark.parametrize("sizes", [SIZES[0], SIZES[1], SIZES[3]])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("trans", ["N", "T", "H"])
def test_solves_are_backward_stable(sizes, dtype, trans):
    eps = np.finfo(dtype).eps
    for seed in range(4):
        A = reducible(sizes, seed, dtype)
        factors = gs.splu(A)
        assert factors.diagonal_blocks == len(sizes)
        dense = A.toarray()
        M = {"N": dense, "T": dense.T, "H": dense.conj().T}[trans]
        rng = np.random.default_rng(seed)
        for shape in ((A.shape[0],), (A.shape[0], 3)):
            b = rng.normal(size=shape).astype(dtype)
            x = factors.solve(b, trans)
            assert x.shape == shape and x.dtype == dtype
            # LU of the blocks, substitution in the rest: rows of the largest block times its growth
            bound = 30.0 * max(sizes) * eps * (np.abs(M).sum(1).max() * np.abs(x).max() + 1.0)
            assert np.abs(M @ x - b).max() <= bound


@pytest.mark.parametrize("trans", ["N", "T"])
def test_columns_of_any_number_and_layout_are_solved_as_if_alone(trans):
    A = reducible([1, 30, 3, 1, 12], 3)
    dense = A.toarray() if trans == "N" else A.toarray().T
    factor, _ = lu_of(A)
    assert not factor.refines
    for columns in (0, 1, 2, 7, 8, 9, 16, 17):
        B = np.random.default_rng(columns).normal(size=(A.shape[0], columns))
        expected = np.column_stack([*(factor.solve(b, trans) for b in B.T), np.zeros((len(B), 0))])
        # Both are backward stable; they differ by the order of a few roundings at most.
        bound = 1e3 * np.finfo(float).eps * np.linalg.cond(dense) * np.abs(expected).max(initial=1)
        for layout in (B, np.asfortranarray(B), np.repeat(B, 2, axis=1)[:, ::2]):
            found = factor.solve(layout, trans)
            assert found.shape == B.shape and np.abs(found - expected).max(initial=0) <= bound


def test_columns_that_overflow_are_no_solution():
    factor, _ = lu_of(csr_array([[1e-300, 1.0], [0.0, 1.0]]))
    B = np.ones((2, 3))
    assert np.isfinite(factor.solve(np.array([[1.0, 2.0], [1.0, 2.0]]))).all()
    B[0, 2] = 1e10
    assert factor.solve(B) is None


def test_real_factors_solve_complex_right_hand_sides():
    A = reducible([1, 20, 3], 0)
    b = np.random.default_rng(0).normal(size=24) + 1j
    x = gs.splu(A).solve(b)
    assert np.abs(A @ x - b).max() <= 1e-12 * np.abs(x).max()


def test_powers_of_two_times_rows_change_no_digit():
    A = reducible([1, 16, 3, 9, 1, 2], 5)
    b = np.random.default_rng(1).normal(size=32)
    scale = 2.0 ** np.random.default_rng(2).integers(-300, 300, 32)
    x = gs.splu(A).solve(b)
    assert np.array_equal(gs.splu(csr_array(diags_array(scale) @ A)).solve(scale * b), x)


def test_rows_are_exchanged_within_a_block():
    A = csr_array([[1e-20, 1.0, 0], [1.0, 1e-20, 0], [1.0, 1.0, 2.0]])
    assert gs.splu(A).diagonal_blocks == 2
    assert gs.splu(A).solve([1.0, 1.0, 4.0]) == pytest.approx([1.0, 1.0, 1.0], rel=1e-15)


def test_refactorize_takes_other_numbers_and_lacking_entries():
    A = reducible([1, 20, 3, 1], 1)
    factors, b = gs.splu(A), np.ones(25)
    first = factors.solve(b)
    B = A.copy()
    B.data = B.data * np.random.default_rng(0).uniform(0.9, 1.1, B.nnz)
    factors.refactorize(B)
    assert np.abs(B @ factors.solve(b) - 1.0).max() <= 1e-12
    assert np.abs(B @ factors.factor.solve(b) - 1.0).max() <= 1e-12  # the whole matrix
    only_diagonal = csr_array(A.multiply(eye_array(25)))
    if only_diagonal.nnz == 25:
        factors.refactorize(only_diagonal)
        assert factors.solve(b) == pytest.approx(1.0 / only_diagonal.diagonal(), rel=1e-15)
    factors.refactorize(A)
    assert np.array_equal(factors.solve(b), first)
    assert np.abs(A @ factors.factor.solve(b) - 1.0).max() <= 1e-12


def test_later_changes_of_the_users_matrix_change_nothing():
    A = csr_array(np.tril(np.ones((4, 4))))
    factors = gs.splu(A)
    A.data[:] = 7.0
    assert factors.solve(np.ones(4)).tolist() == [1.0, 0.0, 0.0, 0.0]
    assert factors.factor.solve(np.ones(4)) == pytest.approx([1.0, 0.0, 0.0, 0.0], abs=1e-15)


def test_a_stored_zero_keeps_a_place_for_a_later_number():
    rows, columns = np.nonzero(np.tril(np.ones((4, 4))))
    first = csr_array((np.append(np.ones(10), 0.0), (np.append(rows, 0), np.append(columns, 3))))
    factors = gs.splu(first)
    later = first.copy()
    later[0, 3] = 0.5
    factors.refactorize(later)
    b = later @ np.arange(4.0)
    assert factors.solve(b) == pytest.approx(np.arange(4.0), abs=1e-14)


def test_what_does_not_fit_is_refused_and_leaves_the_factors():
    A = csr_array(np.tril(np.ones((4, 4))))
    factors = gs.splu(A)
    with pytest.raises(ValueError, match=r"A\[0, 3\] lies outside the pattern.*may be 0"):
        factors.refactorize(csr_array(([1.0, 1.0], ([1, 0], [0, 3])), shape=(4, 4)))
    with pytest.raises(ValueError, match=r"shape \(3, 3\), the first matrix has \(4, 4\)"):
        factors.refactorize(csr_array(np.eye(3)))
    with pytest.raises(ValueError, match="must be finite"):
        factors.refactorize(A * np.nan)
    with pytest.raises(ValueError, match=r"b has shape \(3,\), it must be \(4,\) or \(4, k\)"):
        factors.solve(np.ones(3))
    with pytest.raises(ValueError, match="b is not finite at row 2"):
        factors.solve([0.0, 0.0, np.inf, 0.0])
    with pytest.raises(ValueError, match="trans is 'X'"):
        factors.solve(np.ones(4), "X")
    with pytest.raises(TypeError):
        factors.refactorize(A * 1j)
    assert factors.solve(np.ones(4)).tolist() == [1.0, 0.0, 0.0, 0.0]


def test_singular_blocks_are_refused_and_later_matrices_are_not():
    A = csr_array([[1.0, 1, 0], [1, 1, 0], [1, 1, 1]])
    with pytest.raises(gs.SingularPivotError):
        gs.splu(A)
    B = csr_array([[1.0, 1, 0], [1, 2, 0], [1, 1, 1]])
    factors = gs.splu(B)
    with pytest.raises(gs.SingularPivotError):
        factors.refactorize(A)
    with pytest.raises(gs.SingularPivotError):
        factors.solve(np.ones(3))
    factors.refactorize(B)
    assert factors.diagonal_blocks == 2
    assert factors.solve([2.0, 3.0, 3.0]) == pytest.approx([1.0, 1.0, 1.0])
    with pytest.raises(gs.SingularPivotError):
        gs.splu(csr_array(np.array([[0.0, 0], [1, 1]]) + 0.0 * np.eye(2)))


def test_solutions_that_overflow_are_refused():
    factors = gs.splu(csr_array([[1e-300, 0.0], [1.0, 1.0]]))
    with pytest.raises(OverflowError, match="the solution overflows"):
        factors.solve([1e300, 1.0])


def test_a_bidiagonal_matrix_of_many_rows():
    n = 100_000
    A = diags_array([np.full(n - 1, -1.0), np.full(n, 2.0)], offsets=[-1, 0]).tocsc()
    factors = gs.splu(A)
    assert factors.diagonal_blocks == n and factors.nnz == A.nnz
    assert factors.solve(np.ones(n)) == pytest.approx(1.0, rel=0.5)
    assert np.abs(A @ factors.solve(np.ones(n)) - 1.0).max() <= 4e-16


def test_complex_pivots_that_vanish_are_refused_or_replaced():
    A = csr_array(np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 5.0]]) * (1.0 + 1.0j))
    factors = gs.splu(A)
    assert factors._uses_lu
    singular = A.copy()
    singular.data = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0]) * (1.0 + 1.0j)
    with pytest.raises(gs.SingularPivotError):
        factors.refactorize(singular)
    other = A.copy()  # regular, but without the first pivots
    other.data = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 2.0, 1.0]) * (1.0 + 1.0j)
    other[2, 2] = 3.0j
    factors.refactorize(other)
    assert np.allclose(other @ factors.solve(np.ones(3)), 1.0)
    alone = gs.splu(csr_array(np.diag([1j, 2j])))
    with pytest.raises(gs.SingularPivotError):
        alone.refactorize(csr_array((np.array([0j, 1j]), ([0, 1], [0, 1])), shape=(2, 2)))
    alone.refactorize(csr_array(np.diag([2j, 4j])))
    assert np.allclose(alone.solve(np.ones(2)), [-0.5j, -0.25j])


@pytest.mark.parametrize(
    "size, weak, sparse", [(1, False, True), (2, False, False), (2, True, True), (3, False, False)]
)
def test_large_networks_with_few_loops_get_sparse_factors(size, weak, sparse, monkeypatch):
    monkeypatch.setattr("graphsys.interop.sparse_linalg.MESH", 1000)
    system = random_system(gs.ladder(200), size)
    if weak:  # pivots of 1e-3: solves with a `Factor` would refine
        nearly_singular = np.array([[1.0, 1.0], [1.0, 1.001]])
        system.set(list(system.labels), list(system.labels), nearly_singular)
    A = system.to_scipy()
    factors, b = gs.splu(A), np.random.default_rng(0).normal(size=A.shape[0])

    assert factors._uses_lu == sparse
    for B in (A, 2.0 * A):
        factors.refactorize(B)
        x = factors.solve(b)
        assert np.all(np.abs(B @ x - b) <= 1e-13 * (abs(B) @ np.abs(x) + np.abs(b)))
    assert factors.factor.solve(b) == pytest.approx(x, rel=1e-6)
    assert gs.spsolve(A, b) == pytest.approx(2.0 * x, rel=1e-6)
