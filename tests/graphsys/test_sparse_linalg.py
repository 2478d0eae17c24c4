"""`gs.spsolve`, `gs.splu` and `gs.factorized` beside those of scipy."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import (
    block_array,
    coo_array,
    csc_array,
    csr_array,
    csr_matrix,
    dia_array,
    diags_array,
    eye_array,
    kron,
    random_array,
)
from scipy.sparse import linalg as sla

import graphsys as gs
from graphsys.analysis.sparse_lu import LARGEST
from graphsys.interop.sparse_linalg import AT_ONCE, FactorizedMatrix


def matrix(n=40, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    A = random_array((n, n), density=0.1, rng=rng, dtype=float).tocsc() + 3.0 * csc_array(np.eye(n))
    if np.dtype(dtype).kind == "c":
        A = A * (1.0 + 0.5j)
    return csc_array(A.astype(dtype))


def rounding(A, x):
    """Bound of the difference of two stable solutions, of which one may have grown factors."""
    return 2.0 * max(LARGEST) * np.finfo(float).eps * np.linalg.cond(A.toarray()) * np.abs(x).max()


SHAPES = [(40,), (40, 1), (40, 3)]


@pytest.mark.parametrize("dtype", [float, complex])
def test_factors_are_a_linear_operator_of_iterative_methods(dtype):
    A = matrix(dtype=dtype)
    A = csc_array(A + A.conj().T)  # 6 on the diagonal: positive definite, or shifted so
    operator = gs.splu(A).as_linear_operator()
    b = np.random.default_rng(1).normal(size=(40, 2)).astype(dtype)

    assert operator.shape == A.shape and operator.dtype == A.dtype
    x = np.linalg.solve(A.toarray(), b)
    assert np.abs(operator @ b - x).max() <= rounding(A, x)
    adjoint = np.linalg.solve(A.toarray().conj().T, b)
    assert np.abs(operator.H @ b - adjoint).max() <= rounding(A, adjoint)
    steps = []
    x, failed = sla.gmres(A, b[:, 0], M=operator, rtol=1e-12, callback=steps.append,
                          callback_type="pr_norm")  # fmt: skip
    assert failed == 0 and len(steps) <= 2

    least = sla.eigsh(A, 1, sigma=0.0, OPinv=operator, return_eigenvectors=False)
    every = np.linalg.eigvalsh(A.toarray())
    assert abs(least[0] - every[abs(every).argmin()]) < 1e-10


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtypes", [(float, float), (float, complex), (complex, float), (int, int)])
def test_spsolve_gives_what_scipy_gives(shape, dtypes):
    A = csc_array((10 * matrix().toarray()).round().astype(dtypes[0]))
    b = (5.0 * np.random.default_rng(1).normal(size=shape)).round().astype(dtypes[1])
    x, wanted = gs.spsolve(A, b), sla.spsolve(A, b)
    assert x.shape == wanted.shape and x.dtype == wanted.dtype
    assert np.abs(x - wanted).max() <= rounding(A, wanted)


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")  # of scipy
@pytest.mark.parametrize("kind", [csc_array, csr_array, csr_matrix, coo_array, dia_array])
@pytest.mark.parametrize("columns", [4, AT_ONCE + 3])
@pytest.mark.parametrize("dtypes", [(float, float), (np.float32, complex), (int, bool)])
def test_sparse_right_hand_sides_come_back_sparse(kind, columns, dtypes):
    A = kind(csc_array((10 * matrix().toarray()).round().astype(dtypes[0])))
    b = random_array((40, columns), density=0.1, rng=np.random.default_rng(5), dtype=float)
    b = kind(b.astype(dtypes[1]))
    x, wanted = gs.spsolve(A, b), sla.spsolve(A, b)
    assert type(x) is type(wanted) and x.dtype == wanted.dtype and x.shape == (40, columns)
    assert np.allclose((A @ x).toarray(), b.toarray(), atol=1e-13)
    column = gs.spsolve(csc_array(A), csc_array(b)[:, [0]])
    wanted = sla.spsolve(csc_array(A), csc_array(b)[:, [0]])
    assert column.shape == wanted.shape and np.allclose(column, wanted)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of numpy.matrix
def test_what_scipy_takes_and_refuses_otherwise():
    A, b = matrix(), np.arange(1.0, 41.0)
    factors, theirs = gs.splu(A), sla.splu(A)
    wanted = theirs.solve(b)
    # types that scipy refuses to cast, or to take
    for other in (b.tolist(), b.astype(int), b.astype(np.float32), b * (1.0 + 0.0j)):
        assert factors.solve(other) == pytest.approx(wanted, rel=1e-10)
        if not isinstance(other, np.ndarray) or other.dtype.kind == "c":
            with pytest.raises(TypeError):
                theirs.solve(other)
    # logical numbers as scipy
    assert np.allclose(factors.solve(b > 20.0), theirs.solve(b > 20.0))
    # an array where scipy has a numpy.matrix
    column = factors.solve(np.asmatrix(b).T)
    assert type(column) is np.ndarray and column.shape == (40, 1)
    # factors of whole and logical numbers in double precision; scipy's are in single
    for dtype in (bool, np.int8, np.int64):
        whole = csc_array(np.eye(40).astype(dtype))
        assert gs.splu(whole).dtype == float == gs.splu(whole).solve(b).dtype
    for trouble in (csc_array(np.eye(40)), csr_array(np.eye(40)), coo_array(b)):
        with pytest.raises(TypeError, match=r"toarray\(\)"):
            factors.solve(trouble)
        with pytest.raises(TypeError):
            theirs.solve(trouble)


def test_options_of_superlu_change_no_solution():
    A, b = matrix(), np.ones(40)
    wanted = gs.spsolve(A, b)
    for arguments in ({"diag_pivot_thresh": 0.0}, {"relax": 1, "panel_size": 4},
                      {"options": {"SymmetricMode": True, "ColPerm": "NATURAL"}}):  # fmt: skip
        assert np.array_equal(gs.splu(A, **arguments).solve(b), wanted)
        assert np.allclose(sla.splu(A, **arguments).solve(b), wanted)
    for spec in ("NATURAL", "COLAMD", "MMD_ATA", "MMD_AT_PLUS_A", None):
        for use in (True, False):
            assert np.allclose(gs.spsolve(A, b, spec, use_umfpack=use), wanted)


def test_systems_of_no_rows_have_solutions_of_no_rows():
    A = csc_array((0, 0))
    for b in (np.zeros(0), np.zeros((0, 3))):
        assert gs.spsolve(A, b).shape == gs.splu(A).solve(b).shape == b.shape


def test_single_precision_stays():
    A, b = matrix(dtype=np.float32), np.ones(40, np.float32)
    assert gs.spsolve(A, b).dtype == sla.spsolve(A, b).dtype == np.float32
    assert gs.spsolve(A, b.astype(float)).dtype == float


@given(st.integers(0, 2**32 - 1), st.sampled_from("NTH"), st.sampled_from([float, complex]))
def test_splu_solves_with_a_matrix_its_transpose_and_adjoint(seed, trans, dtype):
    A = matrix(20, seed, dtype)
    b = np.random.default_rng(seed).normal(size=(20, 2)).astype(dtype)
    ours, theirs = gs.splu(A), sla.splu(A)
    assert ours.shape == theirs.shape
    wanted = theirs.solve(b, trans)
    assert np.abs(ours.solve(b, trans) - wanted).max() <= rounding(A, wanted)


def test_factorized_is_a_function_of_b():
    A = matrix()
    solve = gs.factorized(A)
    b = np.arange(40.0)
    assert np.allclose(solve(b), sla.factorized(A)(b))
    assert solve(np.eye(40)).shape == (40, 40)


def test_the_natural_order_has_more_fill():
    A = matrix()
    factors = gs.splu(A, permc_spec="NATURAL")
    assert factors.nnz >= gs.splu(A).nnz > 40
    assert np.allclose(A @ factors.solve(np.ones(40)), 1.0)


def test_another_matrix_of_the_same_pattern_is_factorized_again():
    A = matrix()
    factors = gs.splu(A)
    factors.refactorize(2.0 * A)
    assert np.allclose(2.0 * A @ factors.solve(np.ones(40)), 1.0)
    with pytest.raises(ValueError, match="shape"):
        factors.refactorize(matrix(41))
    assert np.allclose(2.0 * A @ factors.solve(np.ones(40)), 1.0)


@pytest.mark.parametrize("rows_too", [False, True])
def test_csc_matrices_of_the_same_pattern_are_taken_as_they_are(rows_too, monkeypatch):
    A, b = matrix(), np.ones(40)
    factors = gs.splu(A)
    factors.refactorize(A)
    assert factors._lu is not None
    monkeypatch.setattr(FactorizedMatrix, "_entries", None)
    for scale in (2.0, 3.0):
        factors.refactorize(csr_array(scale * A) if rows_too else scale * A)
        assert np.allclose(scale * A @ factors.solve(b), 1.0)
    monkeypatch.undo()
    other = csc_array(np.diag(A.diagonal()))  # fewer entries
    factors.refactorize(other)
    assert np.allclose(other @ factors.solve(b), 1.0)
    A.data[3] = np.nan
    with pytest.raises(ValueError, match="A.* is nan"):
        factors.refactorize(A)
    assert np.allclose(other @ factors.solve(b), 1.0)


def test_matrices_of_logical_and_single_complex_numbers():
    A = csc_array(np.eye(3)) * (2.0 + 1.0j)
    x = gs.splu(A.astype(np.complex64)).solve(np.ones(3))
    assert x.dtype == np.complex64 and np.allclose(x, 0.4 - 0.2j)
    for kind in (np.float32, np.complex64):
        x = gs.spsolve(A.astype(np.complex64), np.ones(3, kind))
        assert x.dtype == sla.spsolve(A.astype(np.complex64), np.ones(3, kind)).dtype
    assert gs.splu(csc_array(np.eye(3, dtype=bool))).solve([1.0, 2.0, 3.0]).tolist() == [1, 2, 3]


def _chain(n, diagonal, size=1, seed=0):
    """Chain of n random blocks whose diagonal entries have a given size."""
    rng = np.random.default_rng(seed)
    pattern = kron(
        diags_array(3 * [np.ones(n)], offsets=[-1, 0, 1], shape=(n, n)), np.ones(2 * (size,))
    )
    A = csr_array(pattern)
    A.data = rng.uniform(-1.0, 1.0, A.nnz)
    A.setdiag(diagonal * rng.choice([-1.0, 1.0], n * size))
    return A


@pytest.mark.parametrize(
    "A,by_nodes",
    [
        (_chain(300, 3.0), True),  # a chain of single rows
        (_chain(300, 1e-3), False),  # whose pivots are weak: solves would refine
        (_chain(20, 9.0, size=3), True),  # blocks of matrices with few rows
        (_chain(10, 9.0, size=6), True),
    ],
)
def test_repeated_factors_of_chains_are_those_of_their_nodes(A, by_nodes):
    factors, b = gs.splu(A), np.arange(1.0, A.shape[0] + 1)
    for scale in (2.0, -3.0):
        factors.refactorize(scale * A)
        x = factors.solve(b)
        size = abs(scale * A) @ np.abs(x) + np.abs(b)
        assert (np.abs(scale * A @ x - b) <= 32 * np.finfo(float).eps * size).all()
    assert (factors._blocks is not None) == by_nodes


@pytest.mark.parametrize("n", [3, 300])
@pytest.mark.parametrize("kind", [np.asarray, csc_array, csr_array])
def test_matrices_that_splu_takes_are_refactorized(kind, n):
    # x_i + x_i+1 = b_i, of logical numbers and of others, dense and sparse
    first = np.eye(n, dtype=bool) | np.eye(n, k=1, dtype=bool)
    factors = gs.splu(kind(first))
    for matrix in (first, 2 * first.astype(np.int8), 4.0 * first):
        factors.refactorize(kind(matrix))
        assert factors.solve(matrix @ np.ones(n)).tolist() == [1.0] * n


def test_singular_matrices_are_refused_by_their_rows():
    # rows 2 to 4 and 5 to 7 are one node each: nodes have other numbers than rows
    A = np.zeros((9, 9))
    A[:2, :2], A[2:5, 2:5], A[5:8, 5:8], A[8, 8] = np.eye(2), np.eye(3) + 1.0, 1.0, 1.0
    for spec in ("COLAMD", "NATURAL"):
        with pytest.raises(gs.SingularPivotError, match="one of the rows 5 to 7") as caught:
            gs.splu(csc_array(A), spec)
        assert caught.value.node == 5
        A[8, 8] = 0.0
        with pytest.raises(gs.SingularPivotError, match="no pivot is left for row 8;") as caught:
            gs.splu(csc_array(A), spec)
        assert caught.value.node == 8
        A[8, 8] = 1.0
        factors = gs.splu(csc_array(np.eye(9)), spec)
        with pytest.raises(gs.SingularPivotError, match="rows 0, 1, 2, 3, 4 and 4 more"):
            factors.refactorize(csc_array((9, 9)))
    path = csc_array(np.array([[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]]))
    with pytest.raises(gs.SingularPivotError, match=r"singular to working precision at row \d"):
        gs.splu(path)


def test_the_error_of_a_singular_matrix_names_columns_and_the_way_out():
    # row 0 is empty, and so is column 2; rows 0, 1 of the other one are equal
    A = csc_array(np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 0.0], [3.0, 4.0, 0.0]]))
    with pytest.raises(gs.SingularPivotError, match="row 0; none is left for column 2 either: add"):
        gs.splu(A)
    with pytest.raises(gs.SingularPivotError, match="add to its diagonal, or remove rows"):
        gs.splu(csc_array(np.ones((2, 2))))


def test_attributes_of_superlu_without_a_meaning_are_named():
    factors = gs.splu(matrix())
    assert repr(factors) == "FactorizedMatrix(40 rows, float64)"
    for name in ("L", "U", "perm_r", "perm_c"):
        assert hasattr(sla.splu(matrix()), name) and not hasattr(factors, name)
        with pytest.raises(AttributeError, match="stored as inverses; the determinant is factor"):
            getattr(factors, name)
    for name, way in {
        "slogdet": r"use factor.slogdet\(\)", "rcond": r"use factor.rcond\(\)",
        "update": r"use refactorize\(A\)", "inertia": "symmetric=True", "inv": "selected_inverse",
    }.items():  # fmt: skip
        with pytest.raises(AttributeError, match=f"there is no '{name}': .*{way}"):
            getattr(factors, name)
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        factors.other  # noqa: B018
    with pytest.raises(ValueError, match=r"takes a matrix of shape \(40, 40\), not its data"):
        factors.refactorize(matrix().data)


def test_dense_matrices_are_taken_too():
    assert np.allclose(gs.spsolve([[2.0, 1.0], [0.0, 4.0]], [4.0, 8.0]), [1.0, 2.0])


@pytest.mark.parametrize(
    ("A", "b", "error", "sentence"),
    [
        (csc_array(np.ones((2, 3))), np.ones(2), ValueError, "must be square"),
        (csc_array(np.ones((2, 3))), np.ones(3), ValueError, "must be square"),
        (gs.System(gs.chain(2), 1), np.ones(2), TypeError, r"A is a System: call its solve\(b\)"),
        (None, np.ones(2), TypeError, "A is a NoneType, no matrix of numbers"),
        ([[1.0, 2.0], [3.0]], np.ones(2), TypeError, "A is a list, no matrix of numbers"),
        (np.ones((2, 2, 1)), np.ones(2), ValueError, r"must be square, its shape is \(2, 2, 1\)"),
        (sla.aslinearoperator(np.eye(2)), np.ones(2), TypeError, "A is a MatrixLinearOperator"),
        (csc_array(np.eye(3)), np.ones(2), ValueError, r"b has shape \(2,\)"),
        (csc_array(np.eye(3)), np.ones((1, 3, 1)), ValueError, "b has shape"),
        (csc_array(np.eye(2)), np.array(["a", "b"]), TypeError, "b is not an array of numbers"),
        (csc_array(np.eye(2)), np.array([1.0, np.nan]), ValueError, "finite|nan"),
        (csc_array(np.diag([1.0, 0.0])), np.ones(2), np.linalg.LinAlgError, "singular"),
        (csc_array(np.diag([1.0, np.inf])), np.ones(2), ValueError, "finite"),
    ],
)
def test_bad_input_is_refused(A, b, error, sentence):
    with pytest.raises(error, match=sentence):
        gs.spsolve(A, b)


@pytest.mark.parametrize(
    ("b", "kind"),
    [
        (csc_array(np.ones((3, 1))), r"csc_array: give its toarray\(\)"),
        (None, "NoneType"),
        (np.ones(3, object), "object"),
    ],
)
def test_right_hand_sides_that_are_no_numbers_are_named(b, kind):
    for factor in (gs.splu(csc_array(np.eye(3))), gs.splu(csc_array(np.eye(3))).factor):
        with pytest.raises(TypeError, match=f"b is not an array of numbers but of type {kind}"):
            factor.solve(b)


def test_dense_matrices_of_half_precision_are_taken():
    A = np.array([[4.0, 1.0], [2.0, 3.0]], np.float16)
    assert gs.spsolve(A, np.array([6.0, 8.0])) == pytest.approx([1.0, 2.0], rel=1e-15)


def test_unknown_orders_are_refused():
    with pytest.raises(ValueError, match="permc_spec 'AMD' is unknown; use 'COLAMD', "):
        gs.splu(matrix(), permc_spec="AMD")
    with pytest.raises(TypeError, match=r"permc_spec is a ndarray, not a string; splu\(A\).solve"):
        gs.splu(matrix(), np.ones(matrix().shape[0]))


@pytest.mark.parametrize("n", [30, 300])  # a small matrix; sparse LU
@pytest.mark.parametrize("order", [None, "NATURAL"])
def test_complex_numbers_after_real_ones_are_refused_with_a_way_out(n, order):
    A = matrix(n)
    factors, x = gs.splu(A, order), gs.spsolve(A, np.ones(n))
    for form in ("csr", "csc", "coo"):
        with pytest.raises(
            TypeError, match=r"A is complex, the first matrix was float64: call splu"
        ):
            factors.refactorize((A * (1.0 + 1.0j)).asformat(form))
        assert np.abs(factors.solve(np.ones(n)) - x).max() <= 1e3 * rounding(A, x)


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_matrices_that_follow_on_the_pattern_of_a_mesh(form):
    # Dense factors, for rows in their own order: entries go to their blocks in one call.
    A = csr_array(matrix(30)).asformat(form)
    factors = FactorizedMatrix(A, "NATURAL")
    other, b = A.copy(), np.arange(30.0)
    other.data = other.data * np.linspace(1.0, 2.0, other.nnz)
    wanted = sla.spsolve(other, b)
    for one in (factors, pickle.loads(pickle.dumps(factors)), copy.deepcopy(factors)):
        for after in (other, other, other.astype(np.float32).astype(float)):
            one.refactorize(after)
            assert np.abs(after @ one.solve(b) - b).max() <= 1e3 * rounding(A, wanted)
        one.system.values[:] = np.nan  # spoiled by hand, and mended by the next matrix
        one.refactorize(other)
        assert np.abs(one.solve(b) - wanted).max() <= 1e3 * rounding(A, wanted)
        bad = other.copy()
        bad.data[5] = np.inf
        with pytest.raises(ValueError, match="must be finite"):
            one.refactorize(bad)
        assert np.abs(one.solve(b) - wanted).max() <= 1e3 * rounding(A, wanted)
        more = csr_array(other + csr_array(([1.0], ([0], [29])), shape=(30, 30))).asformat(form)
        if more.nnz > other.nnz:
            with pytest.raises(ValueError, match="outside"):
                one.refactorize(more)
    assert (
        np.abs(A @ FactorizedMatrix(A, "NATURAL").solve(b) - b).max() <= rounding(A, wanted) * 1e3
    )


def test_a_solution_beyond_complex64_is_refused():
    A = csr_array(np.array([[1e-30, 0.0], [0.0, 1.0]], np.complex64))
    with pytest.raises(OverflowError, match="overflows"):
        gs.spsolve(A, np.array([1e20, 1.0], np.complex64))
    x = gs.spsolve(A, np.array([1.0, 1.0], np.complex64))
    assert x.dtype == np.complex64 and np.abs(x / [1e30, 1.0] - 1.0).max() <= 1e-6


def test_a_row_that_all_pivots_change_is_left_to_other_factors():
    n = 4000  # each pivot would read the row: n^2 entries, three times those allowed
    A = diags_array([-1.0, 4.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)).tolil()
    A[0, 1:] = A[1:, 0] = -0.5
    A[0, 0] = n
    A = csc_array(A)
    lu, b = gs.splu(A), np.random.default_rng(0).normal(size=n)
    assert lu._lu is None
    assert np.abs(A @ lu.solve(b) - b).max() < 1e-13 * n


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("n", [10, 60])
def test_a_first_matrix_that_single_precision_refuses_stands_for_its_pattern(dtype, n):
    # the first factors are in double precision, those after refactorize are not: 1e6 is too much
    rng = np.random.default_rng(n)
    first, second = np.zeros((2, n, n))
    for k in range(0, n, 10):
        rows = slice(k, k + 10)
        left, right = (np.linalg.qr(rng.normal(size=(10, 10)))[0] for _ in range(2))
        first[rows, rows] = left * np.logspace(0.0, -6.5, 10) @ right
        second[rows, rows] = left @ right
    first, second = (csr_array(one.astype(dtype)) for one in (first, second))
    b = np.ones(n, dtype)
    factors = gs.splu(first)
    with pytest.raises(gs.SingularPivotError):
        factors.refactorize(first)
    with pytest.raises((gs.SingularPivotError, ValueError)):
        factors.solve(b)
    for matrix in (second, csc_array(second), second.tocoo()):
        factors.refactorize(matrix)
        assert np.abs(second @ factors.solve(b) - b).max() <= 1e-4
        assert np.abs(second.T @ factors.solve(b, "T") - b).max() <= 1e-4
    factors = gs.splu(first)
    x = factors.solve(b)
    with pytest.raises(ValueError, match="has shape"):
        factors.refactorize(np.ones((n - 1, n - 1)))
    assert factors.solve(b) == pytest.approx(x)  # the factors are kept


def test_least_squares_by_the_augmented_system():
    # what the hint of `gs.lsqr` says; its condition is at most about that of A squared
    A = csc_array(np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 3.0], [1.0, -1.0]]))
    b = np.array([1.0, 2.0, 3.0, 4.0])
    K = block_array([[eye_array(4), A], [A.T, None]]).tocsc()
    x = gs.spsolve(K, np.append(b, np.zeros(2)))[4:]
    assert x == pytest.approx(np.linalg.lstsq(A.toarray(), b)[0], abs=1e-13)
