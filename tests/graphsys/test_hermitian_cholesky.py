"""`gs.cholesky` of complex Hermitian matrices, compared with dense factors."""

import numpy as np
import pytest
import scipy.linalg as sla
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsys as gs
from tests.graphsys.test_cholesky import FAMILIES, bound, grid

EPS = float(np.finfo(float).eps)


def turned(A, seed=0):
    """U A U^H with U diagonal and unitary: Hermitian, with the eigenvalues of A."""
    phase = sp.diags_array(np.exp(1j * np.random.default_rng(seed).uniform(0, 6, A.shape[0])))
    B = sp.csc_array(phase @ A @ phase.conj())
    return (B + B.conj().T) / 2.0  # Hermitian to the last bit


def columns(n, k=None, seed=0):
    rng = np.random.default_rng(seed)
    shape = (n,) if k is None else (n, k)
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def test_two_rows_by_hand():
    # [[4, 2 i], [-2 i, 2]] = L L^H with L = [[2, 0], [-i, 1]], determinant 4
    A = sp.csc_array(np.array([[4, 2j], [-2j, 2]]))
    factor = gs.cholesky(A, ordering_method="natural")
    assert factor.P().tolist() == [0, 1]
    assert np.abs(factor.L().toarray() - [[2, 0], [-1j, 1]]).max() <= 8 * EPS
    assert np.abs(factor.D() - [4, 1]).max() <= 16 * EPS and factor.D().dtype == float
    assert np.abs(factor([4 + 2j, 2 - 2j]) - [1, 1]).max() <= 8 * EPS
    assert factor.logdet() == pytest.approx(np.log(4.0), rel=8 * EPS)
    assert np.abs(factor.inv().toarray() - np.array([[2, -2j], [2j, 4]]) / 4).max() <= 8 * EPS


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("ordering", ["default", "natural"])
def test_factors_are_those_of_numpy_in_the_same_order(family, ordering):
    A = turned(FAMILIES[family])
    factor = gs.cholesky(A, ordering_method=ordering)
    L, order, dense = factor.L(), factor.P(), A.toarray()
    wanted = np.linalg.cholesky(dense[np.ix_(order, order)])
    tolerance = bound(abs(A), np.ones(A.shape[0]))
    scale = np.sqrt(dense.diagonal().real)[order]
    assert np.abs((L.toarray() - wanted) / scale[:, None]).max(initial=0) <= tolerance
    assert np.array_equal(L.diagonal().imag, np.zeros(A.shape[0]))
    unit, D = factor.L_D()
    product = unit @ D @ unit.conj().T - A[order][:, order]
    assert np.abs(product.toarray() / np.outer(scale, scale)).max(initial=0) <= tolerance


@pytest.mark.parametrize("family", ["grid", "blocks", "random", "dense"])
@pytest.mark.parametrize("k", [None, 1, 3])
def test_every_solve_is_that_of_its_matrix(family, k):
    A = turned(FAMILIES[family])
    factor, b = gs.cholesky(A), columns(A.shape[0], k)
    L, (unit, D) = factor.L().toarray(), (part.toarray() for part in factor.L_D())
    for solve, matrix in (
        (factor, A.toarray()),
        (factor.solve_A, A.toarray()),
        (factor.solve_LDLt, L @ L.conj().T),
        (lambda b: factor.solve_L(b, False), L),
        (lambda b: factor.solve_Lt(b, False), L.conj().T),
        (factor.solve_L, unit),
        (factor.solve_Lt, unit.conj().T),
        (factor.solve_LD, unit @ D),
        (factor.solve_DLt, D @ unit.conj().T),
        (factor.solve_D, D),
    ):
        x = solve(b)
        assert np.abs(matrix @ x - b).max() <= 1e-12 * np.linalg.cond(matrix)
    assert np.array_equal(factor.apply_Pt(factor.apply_P(b)), b)


@given(st.integers(0, 200))
def test_random_matrices(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    half = rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))
    half[rng.uniform(size=(n, n)) < 0.6] = 0.0
    A = half @ half.conj().T + np.eye(n)
    factor = gs.cholesky(sp.csc_array(A))
    L, order = factor.L().toarray(), factor.P()
    assert np.abs(L @ L.conj().T - A[np.ix_(order, order)]).max() <= 1e-12 * np.abs(A).max()
    assert factor.logdet() == pytest.approx(np.linalg.slogdet(A)[1], abs=1e-11)


def test_covariances():
    A = turned(grid(5))
    factor, inverse = gs.cholesky(A), np.linalg.inv(A.toarray())
    n, rng = A.shape[0], np.random.default_rng(2)
    assert np.abs(factor.variances() - inverse.diagonal().real).max() <= 1e-13
    C = sp.random_array((6, n), density=0.2, rng=rng) * (1 + 2j)
    wanted = (C @ inverse @ C.conj().T.toarray()).diagonal().real
    found = factor.variances(C)
    assert found.dtype == float and np.abs(found - wanted).max() <= 1e-12
    pattern = sp.random_array((n, n), density=0.2, rng=rng)
    entries = factor.inverse_at(pattern).tocoo()
    row, column = entries.coords
    assert np.abs(entries.data - inverse[row, column]).max() <= 1e-13
    # columns of P^T L^-H: those of samples, whose covariance is A^-1
    roots = factor.apply_Pt(factor.solve_Lt(np.eye(n), False))
    assert np.abs(roots @ roots.conj().T - inverse).max() <= 1e-13
    x, many = factor.sample(3), factor.sample(3, 4)
    assert x.dtype == complex and x.shape == (n,) and many.shape == (4, n)
    z = factor.solve_Lt(np.eye(n), False)  # standard normal numbers that the seed gives
    wanted = np.random.default_rng(3).standard_normal((2, n)).T @ [1.0, 1j] / 2.0**0.5
    assert np.abs(x - factor.apply_Pt(z @ wanted)).max() <= 1e-12


def test_gradient_of_logdet_is_that_of_differences():
    A = turned(grid(4))
    factor = gs.cholesky(A)
    change = A.copy()
    change.data = columns(A.nnz, seed=5)
    change = sp.csc_array(change + change.conj().T)
    predicted = factor.logdet_gradient().conj().multiply(change).sum()
    # central differences, O(step^2) of terms of size 1
    step = 1e-5
    ends = [gs.cholesky(sp.csc_array(A + t * change)).logdet() for t in (-step, step)]
    assert predicted == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-7)


def test_other_values_on_the_same_pattern():
    A = turned(grid(6))
    factor, b = gs.cholesky(A), columns(36)
    for kind in (sp.csc_array, sp.csr_array):
        for scale in (2.0, 3.0):  # the second is taken as it is
            M = kind(scale * A)
            M.sum_duplicates()  # and sorted: other formats take the slower path
            factor.cholesky_inplace(M, 0.5)
            assert factor._entries.load(M, 0.5, factor.system)
            assert np.abs(scale * (A @ factor(b)) + 0.5 * factor(b) - b).max() <= 1e-12
    lower = sp.csc_array(sp.tril(A))
    lower.sum_duplicates()
    for scale in (2.0, 3.0):
        factor.cholesky_inplace(scale * lower)
        assert np.abs(scale * (A @ factor(b)) - b).max() <= 1e-12
    other = factor.cholesky(4.0 * A)
    assert np.abs(4.0 * (A @ other(b)) - b).max() <= 1e-12
    with pytest.raises(ValueError, match="not Hermitian"):
        lower.setdiag(4.0 + 1j)
        factor.cholesky_inplace(lower)
    wrong = A.copy()
    wrong.data *= 1j
    with pytest.raises(ValueError, match="Hermitian"):
        factor.cholesky_inplace(wrong)
    assert np.abs(3.0 * (A @ factor(b)) - b).max() <= 1e-12  # kept


def test_updates_and_downdates():
    A, b = turned(grid(5)), columns(25)
    factor = gs.cholesky(A)
    C = sp.csc_array(([1 + 1j, 2j, 0.5 - 1j], ([3, 4, 7], [0, 0, 1])), shape=(25, 2))
    factor.update_inplace(C)
    changed = A + C @ C.conj().T
    assert np.abs(changed @ factor(b) - b).max() <= 1e-12
    factor.update_inplace(C, subtract=True)
    assert np.abs(A @ factor(b) - b).max() <= 1e-12


def test_one_triangle_stands_for_both_and_normal_equations():
    A, b = turned(grid(4)), columns(16)
    for part in (sp.tril(A), sp.triu(A)):
        assert np.abs(A @ gs.cholesky(sp.csc_array(part))(b) - b).max() <= 1e-12
    half = sp.csc_array(columns(16, 20, 7) * (columns(16, 20, 8).real > 0.3))
    factor = gs.cholesky_AAt(half, 2.0)
    product = half @ half.conj().T + 2.0 * sp.eye_array(16)
    assert np.abs(product @ factor(b) - b).max() <= 1e-12
    factor.cholesky_AAt_inplace(2.0 * half, 1.0)
    product = 4.0 * half @ half.conj().T + sp.eye_array(16)
    assert np.abs(product @ factor(b) - b).max() <= 1e-12


def test_single_precision_stays():
    A = turned(grid(5)).astype(np.complex64)
    factor = gs.cholesky(A)
    b = columns(25).astype(np.complex64)
    eps = float(np.finfo(np.float32).eps)
    for x in (factor(b), factor.solve_L(b), factor.L().data):
        assert x.dtype == np.complex64
    assert np.abs(A @ factor(b) - b).max() <= 1e3 * eps


def test_badly_conditioned_matrices_have_the_factor_of_cholesky():
    # Hilbert's matrix of 7 rows, condition 5e8, turned
    A = turned(sp.csc_array(sla.hilbert(7)))
    factor = gs.cholesky(A)
    L, order = factor.L().toarray(), factor.P()
    assert np.abs(L @ L.conj().T - A.toarray()[np.ix_(order, order)]).max() <= 8 * 7 * EPS


def test_what_is_not_positive_definite_is_refused():
    A = turned(grid(4))
    with pytest.raises(gs.NotPositiveDefiniteError, match=r"eigenvalues.*symmetric='hermitian'"):
        gs.cholesky(sp.csc_array(A - 3.0 * sp.eye_array(16)))
    with pytest.raises(gs.NotPositiveDefiniteError, match="singular"):
        gs.cholesky(sp.csc_array(np.array([[1, 1j], [-1j, 1]])))
    with pytest.raises(ValueError, match="not Hermitian"):
        gs.cholesky(sp.csc_array(np.array([[4, 1j], [1j, 4]])))  # symmetric
    with pytest.raises(TypeError, match="beta is 1j: give a real number"):
        gs.cholesky(A, beta=1j)
