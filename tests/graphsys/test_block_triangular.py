"""Block triangular form: what it is, and solves with it."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import block_diag, coo_array, csr_array, diags_array, eye_array, random_array

import graphsys as gs
from graphsys.analysis.block_triangular import DENSE, block_triangular_form


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
    assert form.run.tolist() == [0, 3]
    x = gs.splu(A).solve([3.0, 5.0, 7.0, 4.0])
    assert x == pytest.approx([1.0, 1.0, 1.0, 1.0], abs=4e-16)


@pytest.mark.parametrize(
    "matrix",
    [
        np.ones((3, 3)),  # irreducible
        np.diag([1.0, 2.0, 3.0]),  # nothing outside the blocks
        [[1.0, 1.0], [0.0, 0.0]],  # structurally singular
    ],
)
def test_no_form_where_it_changes_nothing(matrix):
    assert block_triangular_form(csr_array(np.asarray(matrix))) is None


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
    if form is None:
        components = {frozenset(part) for part in nx.weakly_connected_components(graph)}
        assert parts == components
        return
    blocks = [form.column[a:b] for a, b in zip(form.block[:-1], form.block[1:], strict=True)]
    assert {frozenset(block.tolist()) for block in blocks} == parts
    assert np.array_equal(np.sort(form.row), np.arange(n))
    dense, block_of = A.toarray()[form.row][:, form.column] != 0, np.zeros(n, int)
    for k, first in enumerate(form.block[1:-1]):
        block_of[first:] = k + 1
    assert not dense[block_of[:, None] < block_of].any()


def test_large_blocks_of_a_run_do_not_need_each_other():
    m = DENSE + 4
    A = reducible([m, 1, m, m, 2, 3, m, 1, m], seed=3)
    form = block_triangular_form(A)
    size, before = np.diff(form.block), A[form.row][:, form.column].toarray() != 0
    for first, after in zip(form.run[:-1], form.run[1:], strict=True):
        small = size[first:after] <= DENSE
        assert small.all() or not small.any()
        if not small.any():
            for k in range(first, after):
                inside = before[form.block[k] : form.block[k + 1], form.block[first] :]
                assert not inside[:, : form.block[k] - form.block[first]].any()


SIZES = [[1] * 40, [1, 5, 2, 16, 1, 1, 3], [30], [1, 30, 1, 20, 17, 2, 1, 40, 1]]


@pytest.mark.parametrize("sizes", [SIZES[0], SIZES[1], SIZES[3]])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
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


def test_what_does_not_fit_is_refused_and_leaves_the_factors():
    A = csr_array(np.tril(np.ones((4, 4))))
    factors = gs.splu(A)
    with pytest.raises(ValueError, match=r"A\[0, 3\] lies outside the pattern"):
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
