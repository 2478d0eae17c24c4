"""Factors of one matrix: pivots that are chosen while it is eliminated, and when others follow."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array, diags_array, eye_array, random_array

import graphsys as gs
from graphsys.analysis.sparse_lu import LARGEST
from graphsys.interop.sparse_linalg import MOST_SOLVES
from graphsys.kernels.analysis.strong_blocks import WORK_ROWS, find_blocks
from graphsys.kernels.program.sparse_lu import AFTER, FIRST, PART_FIELDS, REST
from graphsys.numeric import one_pass_lu
from graphsys.numeric.one_pass_lu import EXPENSIVE, REFUSED, OnePassLU
from graphsys.numeric.sparse_lu import GOOD as GOOD_ERROR
from graphsys.numeric.sparse_lu import SparseLUFactor
from tests.graphsys.test_block_triangular import TYPES, assert_stable, reducible, shuffled

EPS = np.finfo(float).eps
FORMS = ["csr", "csc"]


def backward_error(A, x, b):
    return np.max(np.abs(A @ x - b) / (abs(A) @ np.abs(x) + np.abs(b)))


def band(n, width, seed=0):
    """Matrix of some diagonals, its rows dominated by the one in the middle."""
    rng = np.random.default_rng(seed)
    places = range(-width, width + 1)
    A = diags_array([rng.uniform(0.1, 1.0, n - abs(k)) for k in places], offsets=places)
    return csc_array(A + 3.0 * width * eye_array(n))


def grid(m):
    return csc_array(nx.laplacian_matrix(nx.grid_2d_graph(m, m)) + eye_array(m * m), dtype=float)


def parts_of(factor):
    n, count = factor.rows[0].size - 1, factor.info[0]
    return factor.tables[2 * n : 2 * n + PART_FIELDS * count].reshape(-1, PART_FIELDS)


@pytest.mark.parametrize("form", FORMS)
def test_two_rows_by_hand(form):
    # [4 1; 2 3]: x = [1, 2] of [6, 8], and of the transpose, [4 2; 1 3], [1, 1] of [6, 4]
    factor = OnePassLU.of(csr_array([[4.0, 1.0], [2.0, 3.0]]).asformat(form))
    assert factor.solve(np.array([6.0, 8.0])).tolist() == [1.0, 2.0]
    assert factor.solve(np.array([6.0, 4.0]), "T").tolist() == [1.0, 1.0]
    assert factor.nnz == 4 and factor.diagonal_blocks == 1 and not factor.refines


@pytest.mark.parametrize("form", FORMS)
def test_blocks_by_hand(form):
    # x0 and x3 hang together, x2 needs both, and x1 needs x2: the block of two rows is dense
    A = csr_array([[2.0, 0, 0, 1], [0, 4, 1, 0], [1, 0, 5, 1], [1, 0, 0, 3]])
    factor = OnePassLU.of(A.asformat(form))
    assert factor.diagonal_blocks == 3 and factor.nnz == A.nnz
    assert parts_of(factor)[:, [FIRST, REST, AFTER]].tolist() == [[0, 2, 2]]
    assert factor.solve(A @ np.ones(4)) == pytest.approx(np.ones(4), rel=4.0 * EPS)


def test_a_band_of_three_diagonals_takes_no_fill_in():
    A = band(100, 1)
    assert OnePassLU.of(A).nnz == A.nnz == 298


def test_a_triangle_is_n_blocks_without_fill():
    rng = np.random.default_rng(0)
    L = csr_array(np.tril(rng.uniform(1.0, 2.0, (30, 30))))
    factor = OnePassLU.of(shuffled(L, rng))
    assert factor.diagonal_blocks == 30 and factor.nnz == L.nnz


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.floats(0.0, 3.0))
def test_blocks_are_strongly_connected_and_come_after_those_they_need(seed, n, degree):
    rng = np.random.default_rng(seed)
    A = csr_array(random_array((n, n), density=min(1.0, degree / n), rng=rng) + eye_array(n))
    row_of, block_of = rng.permutation(n), np.empty(n, np.int64)  # any pairs of rows and columns
    tables = A.indptr.astype(np.int64), A.indices.astype(np.int64)
    count = find_blocks(*tables, row_of, np.empty((WORK_ROWS, n), np.int64), block_of)
    graph, (row, column) = nx.DiGraph(), A.nonzero()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(zip(row.tolist(), row_of[column].tolist(), strict=True))
    parts = {frozenset(part) for part in nx.strongly_connected_components(graph)}
    assert {frozenset(np.flatnonzero(block_of == k).tolist()) for k in range(count)} == parts
    assert (block_of[row] >= block_of[row_of[column]]).all()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize(
    ("sizes", "density"),
    [([7], 0.3), ([1, 30, 1, 2, 12, 1], 0.1), ([150], 0.02), ([80, 1, 1, 90], 0.4), ([120], 1.0)],
)
def test_irreducible_blocks_without_dominance(sizes, density, dtype, form):
    for seed in range(3):
        A = reducible(sizes, seed, dtype, density)
        A = csr_array(A - 3.0 * A.multiply(eye_array(sum(sizes)))).astype(dtype)
        factor = OnePassLU.of(A.asformat(form))
        assert isinstance(factor, OnePassLU) and factor.diagonal_blocks == len(sizes)
        assert_stable(A, factor, seed)


@pytest.mark.parametrize("dtype", TYPES)
def test_splu_of_any_type_solves_by_it(dtype):
    A = reducible([1, 60, 20, 1], 0, dtype, density=0.1)
    factors, b = gs.splu(A), np.arange(82.0)
    assert factors._one_pass is not None and factors.diagonal_blocks == 4
    assert factors.dtype == dtype == factors.solve(b).dtype
    for trans, M in (("N", A), ("T", A.T), ("H", A.conj().T)):
        x, eps = factors.solve(b, trans), np.finfo(dtype).eps
        # rounding of the solution to its type, and factors in double precision
        assert backward_error(M.astype(complex), x.astype(complex), b) <= 1e-13 + 2.0 * eps


def test_rows_of_few_columns_stay_right_in_single_precision():
    # rows and columns span 2^+-40: by factors of 24 bits small rows would lose all digits
    rng = np.random.default_rng(0)
    A = reducible([100], 1, density=0.05)
    scale = np.ldexp(1.0, rng.integers(-40, 41, 100))
    A = csr_array(diags_array(scale) @ A @ diags_array(scale)).astype(np.float32)
    b = np.asarray(A.astype(float) @ (rng.standard_normal(100) / scale), np.float32)
    x = gs.splu(A).solve(b)
    assert x.dtype == np.float32
    assert backward_error(A.astype(float), x.astype(float), b) <= 2.0 * np.finfo(np.float32).eps


def test_powers_of_two_times_rows_and_columns_change_no_digit():
    A, rng = reducible([40, 1, 30], 2), np.random.default_rng(2)
    row, column = np.ldexp(1.0, rng.integers(-90, 91, (2, 71)))
    B = csr_array(diags_array(row) @ A @ diags_array(column))
    b = rng.standard_normal(71)
    x, y = OnePassLU.of(A).solve(b), OnePassLU.of(B).solve(row * b)
    assert backward_error(A, column * y, b) <= 2.0 * max(LARGEST) * EPS
    assert column * y == pytest.approx(x, rel=1e-9)


def test_a_third_of_all_entries_makes_a_dense_rest_at_once():
    rng = np.random.default_rng(0)
    A = random_array((300, 300), density=0.3, rng=rng, data_sampler=rng.standard_normal)
    factor = OnePassLU.of(csr_array(A))
    assert parts_of(factor)[:, [FIRST, REST, AFTER]].tolist() == [[0, 0, 300]]
    assert_stable(csr_array(A), factor)


def test_lists_that_are_too_short_become_longer(monkeypatch):
    A = reducible([200], 5, density=0.02)
    usual = OnePassLU.of(A)
    monkeypatch.setattr(one_pass_lu, "_kept", [])
    monkeypatch.setattr(one_pass_lu, "ROOM_AT_FIRST", 1)
    lengths, longer = [], one_pass_lu.longer
    monkeypatch.setattr(one_pass_lu, "longer", lambda a: lengths.append(a.shape[1]) or longer(a))
    other = OnePassLU.of(A)
    assert len(lengths) >= 4  # twice, for indices and numbers
    assert np.array_equal(usual.factors, other.factors)
    assert np.array_equal(usual.tables, other.tables)


def test_lists_of_earlier_matrices_serve_later_ones():
    A, B = reducible([90], 1), reducible([30, 1, 20], 2)
    alone = OnePassLU.of(B)
    OnePassLU.of(A)
    after = OnePassLU.of(B)
    assert np.array_equal(alone.factors, after.factors)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda k: OnePassLU.of(A if k % 2 else B), range(40)))
    assert all(np.array_equal(one.factors, alone.factors) for one in found[::2])


@pytest.mark.parametrize(
    "A",
    [
        csr_array([[1.0, 2.0], [2.0, 4.0]]),  # singular
        csr_array([[1.0, 1.0], [1.0, 1.0 + 2.0**-30]]),  # nearly
        csr_array([[1.0, 1.0], [0.0, 0.0]]),
        csr_array([[1.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]),  # by structure
        csr_array((2, 2)),
        csr_array((0, 0)),
        csr_array([[1.0, np.inf], [0.0, 1.0]]),
        csr_array([[1.0, np.nan], [0.0, 1.0]]),
        csr_array(np.diag([1.0, 1e-150])),  # scales that leave the range of numbers
        csr_array([[1.0, 1.0j], [1.0j, -1.0]]),
        eye_array(2, dtype=int, format="csr"),
        eye_array(2, format="coo"),
    ],
)
def test_other_matrices_are_left_to_an_analysis(A):
    assert OnePassLU.of(A) == REFUSED


@pytest.mark.parametrize("kind", [csr_array, csc_array])
def test_tables_that_are_not_sound_are_left_to_an_analysis(kind):
    def of(index, start, count=2):
        A = kind((2, 2))
        A.data, A.indices, A.indptr = np.ones(count), np.array(index), np.array(start)
        return OnePassLU.of(A)

    assert isinstance(of([0, 1], [0, 1, 2]), OnePassLU)
    assert isinstance(of([1, 0, 0], [0, 2, 3], 3), OnePassLU)  # in no order
    for index, start, count in (
        ([0, 2], [0, 1, 2], 2), ([0, -1], [0, 1, 2], 2), ([0, 1], [0, 3, 2], 2),
        ([0, 1], [0, 1, 3], 2), ([0, 1], [1, 1, 2], 2), ([0, 1], [0, 1], 2),
        ([0, 1], [0, 1, 2], 1), ([0, 0], [0, 2, 2], 2),
    ):  # fmt: skip
        assert of(index, start, count) == REFUSED


def test_repeated_and_stored_zero_entries_count_as_their_sums():
    A = csr_array(([1.0, 1.0, 4.0, 0.0], [0, 0, 1, 0], [0, 2, 4]), shape=(2, 2))
    assert gs.splu(A).solve([2.0, 4.0]).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("m", [40, 60])
def test_meshes_are_expensive_and_solved_by_a_factor(m):
    A, b = grid(m), np.ones(m * m)
    assert OnePassLU.of(A) == EXPENSIVE
    factors = gs.splu(A)
    assert factors._one_pass is None and factors._blocks is not None
    assert np.abs(A @ factors.solve(b) - b).max() <= 1e-12
    factors.refactorize(2.0 * A)
    assert factors._blocks.system.symmetric and not factors._once
    assert np.abs(2.0 * A @ factors.solve(b) - b).max() <= 1e-12


def test_errors_of_singular_matrices_name_their_rows():
    A = band(300, 1).tolil()
    A[7, :] = 2.0 * A[8, :]
    with pytest.raises(gs.SingularPivotError, match="singular to working precision"):
        gs.splu(csc_array(A))
    A[7, :] = 0.0
    with pytest.raises(gs.SingularPivotError, match="no pivot is left for row 7;"):
        gs.splu(csc_array(A))


@pytest.mark.parametrize("form", FORMS)
def test_the_matrix_is_a_copy_and_an_analysis_follows_when_it_repeats(form):
    A = reducible([1, 50, 40], 1).asformat(form)
    given, b = A.copy(), np.arange(91.0)
    factors = gs.splu(given)
    given.data[:] = np.nan
    for one in (factors, copy.deepcopy(factors), pickle.loads(pickle.dumps(factors))):
        assert one._one_pass is not None and one.nnz == factors.nnz
        assert np.array_equal(one.solve(b), factors.solve(b))
        assert np.isclose(one.factor.slogdet()[1], np.linalg.slogdet(A.toarray())[1])
        assert np.array_equal(one.system.toarray(), A.toarray())
        assert one._one_pass is not None
    factors = copy.deepcopy(factors)
    for scale in (1.0, 3.0):
        factors.refactorize(scale * A)
        assert factors._one_pass is None and factors._lu.orders == 1
        assert backward_error(scale * A, factors.solve(b), b) <= 2.0 * max(LARGEST) * EPS


def test_many_right_hand_sides_are_worth_nodes_of_similar_rows():
    similar, other = gs.splu(band(500, 5)), gs.splu(band(500, 1))
    for _ in range(MOST_SOLVES):
        similar.solve(np.ones(500)), other.solve(np.ones(500))
    assert similar._one_pass is not None and other._one_pass is not None
    for factors, width in ((similar, 5), (other, 1)):
        x = factors.solve(np.ones((500, 3)))
        assert np.abs(band(500, width) @ x - 1.0).max() <= 1e-13
    assert similar._one_pass is None and similar._blocks is not None
    assert other._one_pass is not None


@pytest.mark.parametrize("trans", ["N", "T"])
@pytest.mark.parametrize("columns", [2, 8, 19])
def test_columns_are_refined_side_by_side_as_one_by_one(trans, columns):
    # Entries of 1e-8 next to others of 1: factors are doubtful.
    rng = np.random.default_rng(columns)
    A = reducible([1, 70, 2, 30, 1], 3, density=0.1)
    A.data *= 10.0 ** rng.integers(-8, 1, A.nnz)
    factor, B = OnePassLU.of(A), rng.standard_normal((104, columns))
    assert factor.refines
    X = factor.solve(B, trans)
    M = A if trans == "N" else csr_array(A.T)
    for x, b in zip(X.T, B.T, strict=True):
        tolerated = (GOOD_ERROR + 2.0 * (104 + 2)) * EPS  # and rounding of these sums
        assert backward_error(M, x, b) <= tolerated
        assert x == pytest.approx(factor.solve(b, trans), rel=1e-6)


def test_columns_that_stay_inaccurate_or_are_not_finite_are_refused():
    A = csr_array(np.diag([1e-100, 1.0]) + np.array([[0.0, 1e-105], [1e-5, 0.0]]))
    factor = OnePassLU.of(A)
    factor.refines = True
    assert factor.solve(np.array([[1e250, 1.0], [1.0, 1.0]])) is None
    assert factor.solve(np.array([[1e-100, 1.0], [1.0, 1.0]])) is not None
    wrong = OnePassLU.of(band(30, 2))
    wrong.refines = True
    wrong.factors *= 3.0  # refinement cannot converge
    assert wrong.solve(np.ones((30, 3))) is None


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "graph",
    [
        nx.path_graph(400),
        nx.grid_2d_graph(20, 20),
        nx.random_labeled_tree(300, seed=1),
        nx.disjoint_union(nx.barabasi_albert_graph(200, 2, seed=1), nx.cycle_graph(100)),
        nx.empty_graph(300),
    ],
)
def test_one_solution_takes_no_tables_for_repeats(graph, dtype, monkeypatch):
    def search(*arguments):
        raise AssertionError("tables for repeats")

    monkeypatch.setattr(SparseLUFactor, "of", search)
    n, rng = len(graph), np.random.default_rng(0)
    A = csr_array(nx.to_scipy_sparse_array(graph, dtype=float)).astype(dtype)
    A.data *= rng.uniform(0.5, 1.0, A.nnz)  # the pattern alone is symmetric
    A.data *= np.exp(1j * rng.uniform(0.0, 6.0, A.nnz)) if A.dtype.kind == "c" else 1
    A = csr_array(A + diags_array(abs(A).sum(axis=1) + 1.0)).astype(dtype)
    b = np.random.default_rng(1).normal(size=n).astype(dtype)
    x = gs.spsolve(A, b)
    # Rows are dominated by the diagonal: no entry grows in an elimination.
    assert np.abs(A @ x - b).max() <= 30.0 * n * np.finfo(dtype).eps * np.abs(b).max()


@pytest.mark.parametrize("form", FORMS)
def test_a_matrix_with_most_entries_is_one_dense_block(form):
    rng = np.random.default_rng(3)
    A = csr_array(np.where(rng.random((70, 70)) < 0.7, rng.standard_normal((70, 70)), 0.0))
    factor = OnePassLU.of(A.asformat(form))
    assert parts_of(factor)[:, [FIRST, REST, AFTER]].tolist() == [[0, 0, 70]]
    assert (
        factor.diagonal_blocks == 1 and factor.nnz == 70 * 70 + 70
    )  # and pivots, which are not read
    assert_stable(A, factor)
    full = csr_array(np.ones((300, 300)) + np.diag(np.arange(1.0, 301.0)))
    assert gs.splu(full)._one_pass is not None  # though all rows are similar
    singular = csr_array(np.ones((70, 70)))
    assert OnePassLU.of(singular) == REFUSED
    with pytest.raises(gs.SingularPivotError):
        gs.splu(singular)
