"""Dense factors of small sparse matrices: right or left to an analysis, and never in the way."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array, eye_array, random_array

import graphsys as gs
from graphsys.analysis.sparse_lu import LARGEST
from graphsys.numeric.small_matrix import MOST_SOLVES, SMALL_ROWS, SmallFactor

EPS = np.finfo(float).eps
FORMS = ["csr", "csc"]


def matrix(n, seed=0, form="csr"):
    rng = np.random.default_rng(seed)
    A = random_array((n, n), density=min(1.0, 4.0 / n), rng=rng, data_sampler=rng.standard_normal)
    return csr_array(A + csr_array(np.eye(n)[rng.permutation(n)] * 3.0)).asformat(form)


def backward_error(A, x, b):
    return np.max(np.abs(A @ x - b) / (abs(A) @ np.abs(x) + np.abs(b)))


@pytest.mark.parametrize("form", FORMS)
def test_two_rows_by_hand(form):
    # [2 1; 4 3] x = [5, 13]: x = [1, 3]
    factor = SmallFactor.of(csr_array([[2.0, 1.0], [4.0, 3.0]]).asformat(form))
    assert np.abs(factor.solve(np.array([5.0, 13.0])) - [1.0, 3.0]).max() <= 16.0 * EPS


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 30, SMALL_ROWS])
@pytest.mark.parametrize("exponent", [0, 30, 300])
def test_solutions_of_scaled_matrices_have_small_errors_in_every_row(form, n, exponent):
    rng = np.random.default_rng(n)
    row, column = rng.integers(-exponent, exponent + 1, (2, n))
    A = matrix(n, n)
    wide = A.tocoo()
    data = np.ldexp(wide.data, row[wide.row] + column[wide.col])
    wide = csr_array(coo_array((data, (wide.row, wide.col)), shape=A.shape)).asformat(form)
    b = rng.standard_normal(n)
    factors = gs.splu(wide)
    x = np.ldexp(factors.solve(np.ldexp(b, row)), column)
    assert factors._small is not None or exponent
    bound = 64.0 if factors._small is not None else 2.0 * max(LARGEST)
    assert backward_error(A, x, b) <= bound * EPS
    assert np.allclose(x, np.linalg.solve(A.toarray(), b))


@pytest.mark.parametrize("form", FORMS)
def test_a_complex_matrix_is_twice_as_many_real_rows_by_hand(form):
    # [1 + 2j, 3; 0, -1j] x = [4 + 2j, 2]: x = [1 - 2j - (4 - 4j) / 5 ..., 2j], solved from below
    A = csr_array([[1.0 + 2.0j, 3.0], [0.0, -1.0j]]).asformat(form)
    factor = SmallFactor.of(A)
    start, index, data = factor._tables[:3]
    kind = csr_array if form == "csr" else csc_array
    parts = [[1.0, 3.0, -2.0, 0.0], [0.0, 0.0, 0.0, 1.0],
             [2.0, 0.0, 1.0, 3.0], [0.0, -1.0, 0.0, 0.0]]  # fmt: skip
    assert np.array_equal(kind((data, index, start), shape=(4, 4)).toarray(), parts)
    x = factor.solve(np.array([4.0 + 2.0j, 2.0]))
    assert np.abs(x - [(4.0 - 4.0j) / (1.0 + 2.0j), 2.0j]).max() <= 16.0 * EPS


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.complex64])
@pytest.mark.parametrize("n", [1, 2, 7, 30, SMALL_ROWS // 2])
def test_matrices_of_other_types_have_solutions_of_their_type(form, dtype, n):
    rng, eps = np.random.default_rng(n), np.finfo(dtype).eps
    A = matrix(n, n, form)
    if np.dtype(dtype).kind == "c":
        A.data = A.data * np.exp(1j * rng.uniform(0.0, 6.0, A.nnz))
    A, b = A.astype(dtype), rng.standard_normal((n, 3))
    factors = gs.splu(A)
    for rhs in (b, b[:, 0].astype(dtype), b[:, ::2].astype(np.float32), np.arange(1, n + 1)):
        x = factors.solve(rhs)
        assert x.dtype == dtype and x.shape == rhs.shape
        for column, given in zip(np.atleast_2d(x.T), np.atleast_2d(rhs.T), strict=True):
            # rounding of the solution to its type, and of |A| |x| + |b| in it
            assert backward_error(A.astype(complex), column, given) <= 64.0 * EPS + 2.0 * eps
    assert factors._small is not None and gs.spsolve(A, b.astype(dtype)).dtype == dtype
    for one in (copy.deepcopy(factors), pickle.loads(pickle.dumps(factors))):
        assert np.array_equal(one.solve(b), factors.solve(b))
    rhs = b[:, 0] * (1.0 + 1.0j) if np.dtype(dtype).kind == "c" else b[:, 0]
    for trans, M in (("T", A.T), ("H", A.conj().T)):
        assert (
            backward_error(csr_array(M), factors.solve(rhs, trans), rhs) < 2.0 * max(LARGEST) * eps
        )
    factors.refactorize(2.0 * A)
    assert factors.dtype == dtype and np.allclose(2.0 * A @ factors.solve(b), b, atol=1e3 * n * eps)


def test_integers_are_real_numbers():
    factors = gs.splu(csr_array([[2, 1], [4, 3]]))
    assert factors.dtype == float and factors._small is not None
    assert np.allclose(factors.solve([5, 13]), [1.0, 3.0]) and factors._small is not None


@pytest.mark.parametrize("form", FORMS)
def test_the_matrix_is_a_copy_and_an_analysis_follows_when_it_is_needed(form):
    A = matrix(20, 1, form)
    given, b = A.copy(), np.arange(20.0)
    factors = gs.splu(given)
    given.data[:] = np.nan
    for one in (factors, copy.deepcopy(factors), pickle.loads(pickle.dumps(factors))):
        assert one._small is not None
        assert one.shape == (20, 20) and one.dtype == float
        assert backward_error(A, one.solve(b), b) <= 64.0 * EPS
        assert one._small is not None
        assert backward_error(csr_array(A.T), one.solve(b, "T"), b) <= 64.0 * EPS
        assert one._small is None and one.nnz >= A.nnz and one.diagonal_blocks >= 1
        one.refactorize(2.0 * A)
        assert backward_error(2.0 * A, one.solve(b), b) <= 64.0 * EPS
    assert np.isclose(gs.splu(A).factor.slogdet()[1], np.linalg.slogdet(A.toarray())[1])
    assert np.array_equal(gs.splu(A).system.toarray(), A.toarray())


def test_right_hand_sides_of_all_kinds():
    A, b = matrix(12, 2), np.random.default_rng(0).standard_normal((12, 6))
    for rhs in (
        b,
        b[:, ::2],
        b[:, 0],
        np.ones(24)[::2],
        list(b[:, 0]),
        b[:, 0] * 1j,
        np.arange(12),
    ):
        x = gs.splu(A).solve(rhs)
        assert x.shape == np.shape(rhs) and np.allclose(A @ x, rhs)
    factors = gs.splu(A)
    assert np.allclose(A @ factors.solve(b[:, ::2]), b[:, ::2]) and factors._small is not None
    assert factors.solve(b[:, :0]).shape == (12, 0)
    for wrong in (np.ones(11), np.full(12, np.nan), np.ones((3, 12))):
        with pytest.raises(ValueError):
            factors.solve(wrong)
    with pytest.raises(ValueError, match="trans"):
        factors.solve(b, "X")


@pytest.mark.parametrize(
    "A",
    [
        csr_array([[1.0, 2.0], [2.0, 4.0]]),  # singular
        csr_array([[1.0, 1.0], [1.0, 1.0 + 2.0**-30]]),  # nearly
        csr_array([[1.0, 1e-9], [1.0, 1.0]]),  # entries far apart
        csr_array((2, 2)),
        csr_array((0, 0)),
        csr_array(np.array([[1.0, 5e-324], [0.0, 5e-324]])),  # reciprocals leave the range
        eye_array(SMALL_ROWS + 1, format="csr"),
        eye_array(SMALL_ROWS // 2 + 1, dtype=complex, format="csr"),
        eye_array(2, dtype=int, format="csr"),
        csr_array([[1.0, 1e-9j], [1.0, 1.0]]),
        csr_array([[1.0, 1.0j], [1.0j, -1.0]]),  # singular
        coo_array(np.eye(2)),
    ],
)
def test_other_matrices_are_left_to_an_analysis(A):
    assert SmallFactor.of(A) is None


@pytest.mark.parametrize("kind", [csr_array, csc_array])
def test_tables_that_are_not_sound_or_not_sorted_are_left_to_an_analysis(kind):
    def of(data, index, start):
        A = kind((2, 2))
        A.data, A.indices, A.indptr = (np.array(v) for v in (data, index, start))
        return A

    good = of([2.0, 3.0], [0, 1], [0, 1, 2])
    assert SmallFactor.of(good) is not None and SmallFactor.of(good * 1j) is not None
    for index, start in (
        ([0, 2], [0, 1, 2]), ([0, -1], [0, 1, 2]), ([0, 1], [0, 3, 2]), ([0, 1], [0, 1, 3]),
        ([0, 1], [1, 1, 2]), ([1, 0], [0, 2, 2]), ([0, 1], [0, 1]), ([0, 0], [0, 2, 2]),
    ):  # fmt: skip
        for numbers in ([2.0, 3.0], [2.0j, 3.0]):
            assert SmallFactor.of(of(numbers, index, start)) is None
    for numbers in ([2.0, np.inf], [2.0, 1j * np.nan], [2.0j]):
        assert SmallFactor.of(of(numbers, [0, 1], [0, 1, 2])) is None
    twice = csr_array(([1.0, 1.0, 2.0], ([0, 0, 1], [0, 0, 1])), shape=(2, 2))
    assert gs.spsolve(twice, np.array([2.0, 2.0])).tolist() == [1.0, 1.0]


def test_solutions_out_of_range_are_those_of_an_analysis():
    factors = gs.splu(csr_array(np.diag([1e-200, 1.0])))
    with pytest.raises(OverflowError), np.errstate(over="ignore"):
        factors.solve(np.array([1e200, 1.0]))
    assert factors.solve(np.array([1e-200, 1.0])).tolist() == [1.0, 1.0]
    for dtype in (np.float32, np.complex64):
        factors = gs.splu(csr_array(np.diag([1e-30, 1.0])).astype(dtype))
        with pytest.raises(OverflowError), np.errstate(over="ignore"):
            factors.solve(np.array([1e30, 1.0]))


@pytest.mark.parametrize("seed", range(5))
def test_threads_may_ask_for_the_analysis_at_once(seed):
    A, b = matrix(60, seed), np.random.default_rng(seed).normal(size=60)
    factors = gs.splu(A)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: factors.solve(b, "T"), range(16)))

    assert all(np.array_equal(x, found[0]) for x in found)  # those of one analysis
    assert backward_error(A.T, found[0], b) < 2.0 * max(LARGEST) * EPS


def test_an_analysis_that_fails_leaves_the_factors_before_it(monkeypatch):
    A, b = matrix(20), np.ones(20)
    factors = gs.splu(A)
    before = factors.solve(b)

    def fail(self, _):
        self._lu = "half"
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(type(factors), "_begin", fail)
        with pytest.raises(MemoryError):
            factors.solve(b, "T")
    assert np.array_equal(factors.solve(b), before) and "_lu" not in vars(factors)
    assert np.allclose(A.T @ factors.solve(b, "T"), b)  # by sparse factors of one pass
    before = factors.solve(b)
    with monkeypatch.context() as patch:
        patch.setattr(type(factors), "_analyze", fail)
        with pytest.raises(MemoryError):
            factors.refactorize(A)
    assert np.array_equal(factors.solve(b), before) and factors._lu is None


@pytest.mark.parametrize("columns", [1, 7])
def test_many_right_hand_sides_are_worth_an_analysis(columns):
    A, rng = matrix(30, 4), np.random.default_rng(4)
    factors = gs.splu(A)
    for solves in range(1, MOST_SOLVES // columns + 2):
        B = rng.standard_normal((30, columns))
        X = factors.solve(B)
        assert (factors._small is None) == (solves * columns > MOST_SOLVES)
        for x, b in zip(X.T, B.T, strict=True):
            assert backward_error(A, x, b) <= 64.0 * EPS
