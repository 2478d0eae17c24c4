"""`gs.cholesky` compared with dense factors, and with scikit-sparse where it is installed."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsys as gs
from graphsys.interop import cholesky as cholesky_module
from graphsys.interop.cholesky_root import IndefiniteError

EPS = np.finfo(float).eps


def grid(n, shift=0.1):
    """Laplacian of an n x n grid plus a shift, as of a Gauss-Markov field."""
    line = sp.diags_array([-np.ones(n - 1), 2.0 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    one = sp.eye_array(n)
    return sp.csc_array(sp.kron(line, one) + sp.kron(one, line) + shift * sp.eye_array(n * n))


def blocks(n):
    """The same with blocks of 2 x 2, which are one node each."""
    return sp.csc_array(sp.kron(grid(n), np.array([[3.0, 1.0], [1.0, 2.0]])))


def random_matrix(seed, n=30):
    """Positive definite matrix of a random sparse graph."""
    rng = np.random.default_rng(seed)
    half = sp.random_array((n, n), density=0.05, rng=rng)
    return sp.csc_array(half @ half.T + sp.diags_array(rng.uniform(0.1, 1.0, n)))


def scaled(seed):
    """A grid with rows and columns scaled by powers of two."""
    exponent = np.random.default_rng(seed).integers(-200, 200, 25)
    scale = sp.diags_array(np.ldexp(1.0, exponent))
    return sp.csc_array(scale @ grid(5) @ scale)


FAMILIES = {
    "chain": sp.csc_array(grid(6)[:6, :6]),
    "grid": grid(7),
    "blocks": blocks(4),
    "random": random_matrix(3),
    "dense": sp.csc_array(np.eye(5) + 1.0),
    "scaled": scaled(1),
    "diagonal": sp.csc_array(np.diag([4.0, 9.0])),
    "empty": sp.csc_array((0, 0)),
}


def bound(A, x):
    """Bound of the relative error of backward stable solutions with A in the scale of its rows."""
    A = A.toarray()
    root = 1.0 / np.sqrt(np.diag(A))
    condition = np.linalg.cond(root[:, None] * A * root) if A.size else 1.0
    return 100.0 * EPS * max(1, len(A)) * condition * np.abs(x).max(initial=0.0)


def columns(A, k=None):
    n = A.shape[0]
    return np.random.default_rng(0).normal(size=n if k is None else (n, k))


class Units:
    """A generator whose normal numbers are the columns of the identity."""

    def standard_normal(self, shape):
        return np.eye(*shape)


def test_two_rows_by_hand():
    # [4 2; 2 5] = L L^T with L = [2 0; 1 2], and L D L^T with L = [1 0; 1/2 1], D = diag(4, 4)
    factor = gs.cholesky(
        sp.csc_array(np.array([[4.0, 2.0], [2.0, 5.0]])), ordering_method="natural"
    )

    assert factor.P().tolist() == [0, 1]
    assert factor.L().toarray().tolist() == [[2.0, 0.0], [1.0, 2.0]]
    L, D = factor.L_D()
    assert L.toarray().tolist() == [[1.0, 0.0], [0.5, 1.0]] and D.diagonal().tolist() == [4.0, 4.0]
    assert factor.LD().toarray().tolist() == [[4.0, 0.0], [0.5, 4.0]]
    assert factor.solve_L([2.0, 5.0]).tolist() == [2.0, 4.0]
    assert factor.solve_L([2.0, 5.0], use_LDLt_decomposition=False).tolist() == [1.0, 2.0]
    assert factor.solve_Lt([2.0, 4.0]).tolist() == [0.0, 4.0]
    assert factor.solve_D([4.0, 8.0]).tolist() == [1.0, 2.0]
    assert factor([8.0, 12.0]).tolist() == [1.0, 2.0]
    assert abs(factor.logdet() - np.log(16.0)) <= 4 * EPS and abs(factor.det() - 16.0) <= 64 * EPS
    assert np.abs(factor.variances() - [5 / 16, 4 / 16]).max() <= 4 * EPS


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("ordering", ["default", "natural"])
def test_factors_are_those_of_numpy_in_the_same_order(family, ordering):
    A = FAMILIES[family]
    factor = gs.cholesky(A, ordering_method=ordering)
    P, L = factor.P(), factor.L().toarray()
    assert sorted(P.tolist()) == list(range(A.shape[0]))
    dense = A.toarray()[P][:, P]
    size = np.sqrt(np.diag(dense))
    assert np.abs((L - np.linalg.cholesky(dense)) / size[:, None]).max(initial=0.0) <= bound(A, 1.0)
    unit, D = factor.L_D()
    assert (unit.diagonal() == 1.0).all() and (factor.D() == D.diagonal()).all()
    back = (unit @ D @ unit.T).toarray() / np.outer(size, size)
    assert np.abs(back - dense / np.outer(size, size)).max(initial=0.0) <= bound(A, 1.0)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("k", [None, 3])
def test_every_solve_is_that_of_its_matrix(family, k):
    A = FAMILIES[family]
    factor, b = gs.cholesky(A), columns(A, k)
    L = factor.L().toarray()
    unit, D = (part.toarray() for part in factor.L_D())
    pairs = [
        (factor.solve_L(b), unit),
        (factor.solve_L(b, use_LDLt_decomposition=False), L),
        (factor.solve_Lt(b), unit.T),
        (factor.solve_Lt(b, use_LDLt_decomposition=False), L.T),
        (factor.solve_LD(b), unit @ D),
        (factor.solve_DLt(b), D @ unit.T),
        (factor.solve_LDLt(b), L @ L.T),
        (factor.solve_D(b), D),
        (factor.apply_Pt(factor.solve_LDLt(factor.apply_P(b))), A.toarray()),
        (factor.solve_A(b), A.toarray()),
        (factor(b), A.toarray()),
    ]
    for x, matrix in pairs:
        assert x.shape == b.shape
        size = np.abs(matrix) @ np.abs(x) + np.abs(b)
        assert (np.abs(matrix @ x - b) <= bound(A, 1.0) * size + 1e-300).all()


@given(st.integers(0, 2**32 - 1))
def test_random_matrices(seed):
    A = random_matrix(seed)
    factor = gs.cholesky(A)
    P, dense = factor.P(), A.toarray()
    assert np.abs(factor.L().toarray() - np.linalg.cholesky(dense[P][:, P])).max() <= bound(A, 1.0)
    assert abs(factor.logdet() - np.linalg.slogdet(dense)[1]) <= bound(A, 1.0)
    inverse = np.linalg.inv(dense)
    assert np.abs(factor.variances() - np.diag(inverse)).max() <= bound(A, inverse)
    assert np.abs(factor.inv().toarray() - inverse).max() <= bound(A, inverse)


@pytest.mark.parametrize("family", ["grid", "blocks", "random"])
def test_covariance_of_samples_is_the_inverse(family):
    A = FAMILIES[family]
    n = A.shape[0]
    x = gs.cholesky(A).sample(Units(), n)  # of the unit vectors z: x^T x is then exact
    inverse = np.linalg.inv(A.toarray())
    assert np.abs(x.T @ x - inverse).max() <= bound(A, inverse)


def test_a_number_seeds_samples():
    factor = gs.cholesky(grid(3))
    assert np.array_equal(factor.sample(3), factor.sample(np.random.default_rng(3)))


def test_samples_have_a_row_each():
    factor, rng = gs.cholesky(grid(3)), np.random.default_rng(0)
    assert factor.sample(rng).shape == (9,) and factor.sample(rng, 4).shape == (4, 9)


@pytest.mark.parametrize("family", ["grid", "blocks", "random"])
def test_inverse_at_any_pattern(family):
    A = FAMILIES[family]
    factor, inverse = gs.cholesky(A), np.linalg.inv(A.toarray())
    n = A.shape[0]
    for pattern in (A, sp.random_array((n, n), density=0.2, rng=np.random.default_rng(2)),
                    sp.csr_array((n, n)), sp.csr_array(np.ones((n, n)))):  # fmt: skip
        found = factor.inverse_at(pattern)
        there = sp.csr_array(pattern)
        assert found.nnz == there.nnz
        there.data[:] = 1.0
        wanted = there.toarray() * inverse
        assert np.abs(found.toarray() - wanted).max() <= bound(A, inverse)


@pytest.mark.parametrize("family", ["grid", "blocks", "random"])
def test_variances_of_functionals(family):
    A = FAMILIES[family]
    n = A.shape[0]
    factor, inverse = gs.cholesky(A), np.linalg.inv(A.toarray())
    edges = sp.triu(A, 1).tocoo()
    rows = np.arange(edges.nnz)
    ends = sp.coo_array(
        (
            np.tile([1.0, -1.0], edges.nnz),
            (np.repeat(rows, 2), np.column_stack(edges.coords).ravel()),
        ),
        shape=(edges.nnz, n),
    )  # differences along edges, by the selected inverse alone
    wide = sp.random_array((9, n), density=0.5, rng=np.random.default_rng(4))
    for C in (ends, wide, sp.vstack([ends, wide]), np.ones((1, n)), sp.csr_array((2, n))):
        dense = C if isinstance(C, np.ndarray) else C.toarray()
        wanted = np.diag(dense @ inverse @ dense.T)
        assert np.abs(factor.variances(C) - wanted).max() <= bound(A, inverse) * n
    assert np.abs(factor.variances() - np.diag(inverse)).max() <= bound(A, inverse)


def test_gradient_of_logdet_is_that_of_differences():
    A = blocks(3)
    rng = np.random.default_rng(5)
    change = A.copy()
    change.data[:] = rng.normal(size=A.nnz)
    change = change + change.T
    factor = gs.cholesky(A)
    h = 1e-4
    up, down = (factor.cholesky(A + s * h * change).logdet() for s in (1.0, -1.0))
    slope = (factor.logdet_gradient() * change).sum()
    # Error of the difference: h^2 / 6 of the third derivative 2 tr((A^-1 dA)^3), and rounding.
    S = np.linalg.solve(A.toarray(), change.toarray())
    third = 2.0 * np.abs(np.linalg.eigvals(S)) ** 3
    assert abs((up - down) / (2 * h) - slope) <= h * h * third.sum() / 3 + 1e3 * EPS / h


def test_other_values_on_the_same_pattern():
    A = grid(6)
    factor = gs.cholesky(A)
    symbolic = factor.factor.symbolic
    b = columns(A)
    factor.cholesky_inplace(2.0 * A)
    assert np.abs(2.0 * (A @ factor(b)) - b).max() <= 1e-12
    assert np.abs(factor.variances() - np.diag(np.linalg.inv(2.0 * A.toarray()))).max() <= 1e-14
    factor.cholesky_inplace(A, beta=3.0)
    assert abs(factor.logdet() - np.linalg.slogdet(A.toarray() + 3.0 * np.eye(36))[1]) <= 1e-12
    other = factor.cholesky(A)
    assert other.factor.symbolic is symbolic and factor.factor.symbolic is symbolic
    assert abs(other.logdet() - np.linalg.slogdet(A.toarray())[1]) <= 1e-12
    assert factor.logdet() > other.logdet()


def _kinds(A):
    """One matrix in many forms."""
    both = sp.csc_array(A)
    zeros = sp.csr_array(A)  # stored, in the upper triangle: one triangle all the same
    zeros.data[zeros.indices > np.repeat(np.arange(A.shape[0]), np.diff(zeros.indptr))] = 0.0
    unsorted = sp.csc_array((A.data[::-1], A.indices[::-1], A.indptr), A.shape)  # of 1, 2, 1 ...
    unsorted.data = A.data.copy()
    unsorted.indices = A.indices.copy()
    unsorted.indices[:2], unsorted.data[:2] = A.indices[1::-1], A.data[1::-1]
    return {
        "csc": both, "csr": both.tocsr(), "lower": sp.tril(A, format="csc"),
        "upper": sp.triu(A, format="csr"), "zeros": zeros, "unsorted": unsorted,
        "coo": A.tocoo(), "matrix": sp.csc_matrix(A),
    }  # fmt: skip


@pytest.mark.parametrize("kind", list(_kinds(grid(3))))
def test_matrices_of_the_last_pattern_are_taken_as_they_are(kind):
    A, n = grid(3), 9
    shifted = sp.csc_array(A + sp.diags_array(np.arange(1.0, n + 1.0)))
    first, second = _kinds(A)[kind], _kinds(shifted)[kind]
    factor = gs.cholesky(first)
    for _ in range(2):  # the second time the places are known
        for M, dense in ((first, A.toarray()), (second, shifted.toarray())):
            factor.cholesky_inplace(M, beta=0.5)
            P, dense = factor.P(), dense + 0.5 * np.eye(n)
            wanted = np.linalg.cholesky(dense[P][:, P])
            assert np.abs(factor.L().toarray() - wanted).max() <= 1e-14
    wrong = second.copy()
    wrong.data[2] = np.nan
    other = sp.csc_array(np.eye(n) + np.eye(n, k=n - 1) + np.eye(n, k=1 - n))
    for M, kind_of_error in ((wrong, ValueError), (other, ValueError), (1j * second, TypeError)):
        with pytest.raises(kind_of_error):
            factor.cholesky_inplace(M)
        assert np.abs(factor.L().toarray() - wanted).max() <= 1e-14
    if kind in ("csc", "csr"):
        wrong = second.copy()
        wrong.data[1] += 0.25
        with pytest.raises(ValueError, match="not the transpose|symmetric"):
            factor.cholesky_inplace(wrong)
    factor.cholesky_inplace(sp.csc_array(4 * np.eye(n, dtype=int)), beta=5.0)
    assert np.abs(factor.L().toarray() - 3.0 * np.eye(n)).max() <= 1e-15


def test_updates_and_downdates():
    A = grid(6)
    factor = gs.cholesky(A)
    first = factor.L().toarray()
    c = np.zeros(36)
    c[[0, 1]] = 0.5, -0.25  # an edge of the grid
    factor.update_inplace(c)
    assert factor.factor.refactorized < factor.factor.symbolic.super_start.size - 1
    P, dense = factor.P(), A.toarray() + np.outer(c, c)
    assert np.abs(factor.L().toarray() - np.linalg.cholesky(dense[P][:, P])).max() <= 1e-13
    factor.update_inplace(sp.csc_array(c[:, None]), subtract=True)
    assert np.abs(factor.L().toarray() - first).max() <= 1e-13
    with pytest.raises(ValueError, match="outside the blocks of A"):
        factor.update_inplace(np.ones(36))
    with pytest.raises(ValueError, match="C has 4 rows"):
        factor.update_inplace(np.ones(4))
    with pytest.raises(ValueError, match="C has an entry that is not finite"):
        factor.update_inplace(np.where(c, np.inf, 0.0))
    assert np.abs(factor.L().toarray() - first).max() <= 1e-13
    with pytest.raises(gs.NotPositiveDefiniteError):
        factor.update_inplace(10.0 * c, subtract=True)
    assert np.abs(factor.L().toarray() - first).max() <= 1e-13  # as before
    with pytest.raises(gs.NotPositiveDefiniteError):
        factor.cholesky_inplace(-1.0 * A)
    with pytest.raises(ValueError, match="was not positive definite"):
        factor(np.ones(36))
    factor.cholesky_inplace(A)
    assert np.abs(factor.L().toarray() - first).max() <= 1e-13


@pytest.mark.parametrize("family", ["grid", "blocks", "dense"])
def test_updates_by_many_columns(family):
    A, rng = FAMILIES[family], np.random.default_rng(0)
    i, j = sp.triu(A, 1).coords
    e = rng.integers(0, i.size, 4)  # edges, the ends of one column each; one entry is given twice
    rows = np.concatenate([i[e], j[e], i[e[:1]]])
    columns = np.concatenate([np.arange(4), np.arange(4), [0]])
    C = sp.coo_array((rng.normal(size=9), (rows, columns)), shape=(A.shape[0], 4))
    factor = gs.cholesky(A)
    factor.update_inplace(C)
    dense, P = A.toarray() + (C @ C.T).toarray(), factor.P()
    wanted = np.linalg.cholesky(dense[P][:, P])
    assert np.abs(factor.L().toarray() - wanted).max() <= bound(A, wanted)
    factor.update_inplace(C, subtract=True)
    wanted = np.linalg.cholesky(A.toarray()[P][:, P])
    assert np.abs(factor.L().toarray() - wanted).max() <= bound(A, wanted)


def test_one_triangle_stands_for_both():
    A, b = grid(4), columns(grid(4))
    x = gs.cholesky(A)(b)
    for triangle in (sp.tril(A), sp.triu(A), A.tocsr(), A.tocoo(), sp.csc_matrix(A)):
        assert np.array_equal(gs.cholesky(triangle)(b), x)


def test_normal_equations():
    rng = np.random.default_rng(0)
    J = sp.random_array((12, 30), density=0.2, rng=rng).tocsc()
    dense = J.toarray() @ J.toarray().T + 0.5 * np.eye(12)
    factor = gs.cholesky_AAt(J, 0.5)
    assert abs(factor.logdet() - np.linalg.slogdet(dense)[1]) <= 1e-12
    factor.cholesky_AAt_inplace(2.0 * J, 2.0)
    assert abs(factor.logdet() - np.linalg.slogdet(4.0 * dense)[1]) <= 1e-12


def test_single_precision_stays():
    factor = gs.cholesky(grid(4).astype(np.float32))
    assert factor.L().dtype == factor(np.ones(16)).dtype == factor.solve_L(np.ones(16)).dtype
    assert factor.L().dtype == np.float32
    back = (factor.L() @ factor.L().T).toarray()
    P = factor.P()
    assert np.abs(back - grid(4).toarray()[P][:, P]).max() <= 1e2 * np.finfo(np.float32).eps


def test_sparse_right_hand_sides_come_back_sparse():
    A = grid(3)
    b = np.eye(9)[:, :2]
    factor = gs.cholesky(A)
    assert np.abs((A @ factor(sp.coo_array(b))).toarray() - b).max() <= 1e-14
    for name in (
        "solve_A", "solve_LDLt", "solve_L", "solve_Lt", "solve_LD", "solve_DLt", "solve_D",
        "apply_P", "apply_Pt",
    ):  # fmt: skip
        solve = getattr(factor, name)
        x = solve(b=sp.csc_array(b))
        assert isinstance(x, sp.csc_array) and np.array_equal(x.toarray(), solve(b))
    x = factor.solve_L(sp.csr_array(b), use_LDLt_decomposition=False)
    assert np.array_equal(x.toarray(), factor.solve_L(b, False))


def test_sparse_results_are_matrices_where_the_user_has_matrices():
    """Code for matrices multiplies them by ``*``, which is the product by entries of arrays."""
    A, b = grid(3), np.eye(9)[:, :2]
    for user, kinds in (
        (A, (sp.csc_array, sp.csr_array)),
        (sp.coo_matrix(A), (sp.csc_matrix, sp.csr_matrix)),
    ):
        for factor in (gs.cholesky(user), gs.cholesky(user).cholesky(A)):
            found = factor.L(), factor.LD(), *factor.L_D(), factor.inv(), factor(sp.coo_array(b))
            assert all(isinstance(one, kinds[0]) for one in found)
            by_rows = factor.inverse_at(A), factor.logdet_gradient()
            assert all(isinstance(one, kinds[1]) for one in by_rows)
    L, P = factor.L(), factor.P()
    assert abs(L * L.T - A[P][:, P]).max() <= 1e-14


def test_copies_and_pickles():
    factor, b = gs.cholesky(grid(4)), columns(grid(4))
    for other in (copy.deepcopy(factor), pickle.loads(pickle.dumps(factor))):
        assert np.array_equal(other(b), factor(b)) and other.logdet() == factor.logdet()
        assert np.array_equal(other.solve_L(b), factor.solve_L(b))
    assert repr(factor) == "CholeskyFactor(16 unknowns, float64)"
    x = factor.solve(b)  # another name of solve_A
    for other in (copy.copy(factor), factor.copy()):
        other.cholesky_inplace(2.0 * grid(4))
        assert np.array_equal(factor(b), x) and np.abs(2.0 * other(b) - x).max() <= 1e-14


def test_indefinite_matrices_are_refused_with_a_row():
    A = np.diag([1.0, 2.0, -3.0, 4.0])
    with pytest.raises(gs.NotPositiveDefiniteError, match="1 of its 4 .* at row 2") as caught:
        gs.cholesky(sp.csc_array(A))
    assert caught.value.row == 2
    assert pickle.loads(pickle.dumps(caught.value)).row == 2
    with pytest.raises(gs.NotPositiveDefiniteError, match="singular") as caught:
        gs.cholesky(sp.csc_array(np.ones((3, 3))))
    assert "redundant=True" not in str(caught.value)  # no option of cholesky
    with pytest.raises(gs.NotPositiveDefiniteError):
        gs.cholesky(grid(5, shift=-1.0))
    factor = gs.cholesky(grid(5))
    with pytest.raises(gs.NotPositiveDefiniteError):
        factor.cholesky(-1.0 * grid(5))
    assert issubclass(gs.NotPositiveDefiniteError, np.linalg.LinAlgError)


def test_a_definite_matrix_whose_factor_is_lost_is_not_called_indefinite(monkeypatch):
    def lost(*arguments, **options):
        raise IndefiniteError(3)

    monkeypatch.setattr(cholesky_module, "Root", lost)
    with pytest.raises(gs.NotPositiveDefiniteError, match="is positive definite, but .* row 3"):
        gs.cholesky(grid(3))


@pytest.mark.parametrize("seed", range(20))
def test_nearly_singular_matrices_have_the_factor_of_cholesky(seed):
    # Rows nearly alike in blocks: inverses of pivot blocks lose 5 to 10 digits of their root.
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 40))
    half = rng.standard_normal((n, n // 2 + 1)) * (rng.random((n, n // 2 + 1)) < 0.5)
    A = half @ half.T
    A += np.eye(n) * np.diag(A).max() * 10.0 ** -rng.uniform(8.0, 11.5)
    exponent = rng.integers(-60, 61, n)
    factor = gs.cholesky(sp.csc_array(np.ldexp(np.ldexp(A, exponent[:, None]), exponent)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.InaccurateSolutionWarning)
        L, P = factor.L().toarray(), factor.P()
        unit, D = factor.L_D()
        logdet, y = factor.logdet(), factor.solve_L(L @ np.ones(n), False)
    L = np.ldexp(L, -exponent[P][:, None])
    size = np.sqrt(np.diag(A))[P]
    error = np.abs(L @ L.T - A[P][:, P]) / np.outer(size, size)
    # Rounding errors of n products each, over the pivot ratio from which on rows are taken alone.
    assert error.max() <= 4.0 * n * EPS / cholesky_module.WEAK
    assert (np.tril(L) == L).all() and (np.diag(L) > 0.0).all()
    assert np.abs(D.diagonal() - factor.D()).max() == 0.0 and (unit.diagonal() == 1.0).all()
    assert np.isclose(logdet, 2.0 * (np.log(np.diag(L)).sum() + exponent.sum() * np.log(2.0)))
    back = np.abs(L @ y - L.sum(axis=1)) / (np.abs(L) @ np.abs(y) + np.abs(L).sum(axis=1))
    assert back.max() <= 4.0 * n * EPS / cholesky_module.WEAK


def test_a_matrix_that_follows_and_is_singular_is_named_and_the_factor_mended():
    # [[2, 1, 0], [1, 2, 0], [0, 0, 0]] has no pivot in its last row
    regular = sp.csc_array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    singular = regular.copy()
    singular.data[-1] = 0.0
    factor = gs.cholesky(regular)
    for call in (factor.cholesky, factor.cholesky_inplace):
        with pytest.raises(gs.NotPositiveDefiniteError, match="singular .* at row 2") as caught:
            call(singular)
        assert caught.value.row == 2
    with pytest.raises(ValueError, match="was not positive definite, so there is no factor"):
        factor.logdet()
    factor.cholesky_inplace(singular, beta=1.0)
    # 3 * 3 - 1 = 8, times 1
    assert factor.slogdet() == (1.0, pytest.approx(np.log(8.0)))
    assert factor.cholesky(regular).slogdet() == (1.0, pytest.approx(np.log(9.0)))


@pytest.mark.parametrize(
    ("A", "options", "kind", "words"),
    [
        (
            np.eye(2),
            {},
            TypeError,
            r"must be a scipy sparse matrix, not ndarray: use scipy.sparse.csc_array\(A\)",
        ),
        (1j * sp.eye_array(2), {}, ValueError, "not Hermitian"),
        (sp.csc_array((2, 3)), {}, ValueError, r"square, its shape is \(2, 3\)"),
        (sp.csc_array(np.array([[4.0, 1.0], [2.0, 4.0]])), {}, ValueError, "symmetric|transpose"),
        (sp.eye_array(2), {"ordering_method": "rcm"}, ValueError, "'rcm' is unknown; use one of"),
        (sp.eye_array(2), {"ordering_method": []}, ValueError, "is unknown; use one of"),
        (sp.csc_array(np.diag([1.0, np.nan])), {}, ValueError, "finite"),
    ],
)
def test_matrices_without_a_meaning_are_refused(A, options, kind, words):
    with pytest.raises(kind, match=words):
        gs.cholesky(A, **options)


def test_right_hand_sides_and_patterns_of_another_size_are_refused():
    factor = gs.cholesky(grid(3))
    with pytest.raises(ValueError, match=r"b has shape \(4,\)"):
        factor.solve_L(np.ones(4))
    with pytest.raises(ValueError, match="b is not finite"):
        factor.solve_Lt(np.full(9, np.nan))
    with pytest.raises(ValueError, match="shape"):
        factor(np.ones(4))
    with pytest.raises(ValueError, match=r"sparse matrix of shape \(9, 9\)"):
        factor.inverse_at(np.eye(9))
    with pytest.raises(ValueError, match=r"C has shape \(4, 4\), it must be \(M, 9\)"):
        factor.variances(sp.eye_array(4))
    with pytest.raises(ValueError, match=r"C has shape \(9,\)"):
        factor.variances(np.ones(9))
    for wrong in (None, ["a"] * 9, np.ones((9, 1, 1))):
        with pytest.raises(TypeError, match="C must be a matrix or vector of numbers"):
            factor.update_inplace(wrong)
    with pytest.raises(ValueError):
        factor.cholesky_inplace(sp.csc_array(np.eye(9) + 1.0))
    with pytest.raises(
        TypeError, match=r"A is complex, the first matrix was float64: call gs.chol"
    ):
        factor.cholesky_inplace(grid(3) * (1.0 + 0.0j))
    assert factor(np.ones(9)).shape == (9,)


@pytest.mark.parametrize("family", ["chain", "grid", "blocks", "random", "dense"])
def test_the_names_and_results_of_scikit_sparse(family):
    cholmod = pytest.importorskip("sksparse.cholmod")
    A = FAMILIES[family]
    ours = gs.cholesky(A, ordering_method="natural")
    theirs = cholmod.cholesky(A, ordering_method="natural", mode="simplicial")
    tolerance = bound(A, 1.0)
    b = columns(A, 2)
    assert np.abs(ours(b) - theirs(b)).max() <= bound(A, theirs(b))
    for name in ("logdet", "det"):
        wanted = getattr(theirs, name)()
        assert abs(getattr(ours, name)() - wanted) <= tolerance * max(1.0, abs(wanted))
    order = np.argsort(ours.P())  # both eliminate without other fill-in, maybe in another order
    if np.array_equal(ours.P(), theirs.P()):
        for name in ("L", "LD"):
            difference = getattr(ours, name)() - getattr(theirs, name)()
            assert np.abs(difference.toarray()).max() <= tolerance
        for name in ("solve_L", "solve_Lt", "solve_D", "solve_LD", "solve_DLt", "solve_LDLt"):
            wanted = getattr(theirs, name)(b)
            assert np.abs(getattr(ours, name)(b) - wanted).max() <= bound(A, wanted)
    assert np.array_equal(ours.apply_P(b)[order], b)
    with pytest.raises(cholmod.CholmodNotPositiveDefiniteError):
        cholmod.cholesky(-1.0 * A, mode="supernodal")(b)
    with pytest.raises(gs.NotPositiveDefiniteError):
        ours.cholesky_inplace(-1.0 * A)


def test_variances_of_a_smooth_field_come_from_the_factors_that_are_there():
    # Q = (k^2 I + G)^2 of a Matern field: its pivots are small, but it is positive definite
    n = 12
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    G = sp.kron(line, sp.eye_array(n)) + sp.kron(sp.eye_array(n), line)
    for k in (1.0, 0.1):
        B = k * k * sp.eye_array(n * n) + G
        Q = sp.csc_array(B @ B)
        factor = gs.cholesky(Q)
        static = factor.factor._factorization
        exact, condition = np.linalg.inv(Q.toarray()), np.linalg.cond(Q.toarray())
        error = np.abs(factor.variances() - np.diag(exact)).max()
        assert error <= n * n * np.finfo(float).eps * condition * np.abs(exact).max()
        assert static.fronts is None and factor.factor._factorization is static


def second_differences(n, weight):
    """Precision of a smoothing spline on n equal steps: I + weight D^T D, of bandwidth 2."""
    D = sp.diags_array([np.ones(n - 2), np.full(n - 2, -2.0), np.ones(n - 2)], offsets=[0, 1, 2],
                       shape=(n - 2, n))  # fmt: skip
    return sp.csc_array(sp.eye_array(n) + weight * D.T @ D)


def banded_logdet(A):
    """Logarithm of the determinant of bandwidth 2 in extended precision."""
    d, e, f = (A.diagonal(k).astype(np.longdouble) for k in (0, 1, 2))
    for k in range(d.size - 1):
        d[k + 1] -= e[k] ** 2 / d[k]
        if k < d.size - 2:
            e[k + 1] -= e[k] * f[k] / d[k]
            d[k + 2] -= f[k] ** 2 / d[k]
    return float(np.log(d).sum())


@pytest.mark.parametrize("weight", [100.0, 1600.0, 1e7])
def test_smoothing_splines_are_factorized_again_without_measuring_errors(weight, monkeypatch):
    # their pivots fall below 0.125 of their rows, which is no loss where all are positive
    n = 300
    factor = gs.cholesky(second_differences(n, weight))

    def measure(*_, **__):
        raise AssertionError("errors were measured")

    for name in ("can_refine", "stable", "checked", "instability"):
        monkeypatch.setattr(cholesky_module.Factorization, name, measure)
    A = second_differences(n, 0.5 * weight)
    factor.cholesky_inplace(A)
    assert factor.factor.pivot_ratio < 0.125
    # backward error of Cholesky's method, (bandwidth + 2) eps (Higham 2002, thm. 10.3), times the
    # condition number, below 1 + 16 weight, for each of n logarithms
    bound = 4 * EPS * (1.0 + 16.0 * weight) * n
    assert abs(factor.logdet() - banded_logdet(A)) <= bound
    L, P = factor.L(), factor.P()
    assert abs(L @ L.T - A[P][:, P]).max() <= 2.0**8 * EPS * abs(A).max()
    assert factor.sample(0).shape == (n,)


def test_factors_of_one_pattern_are_found_from_its_places_once(monkeypatch):
    first, full = gs.cholesky(grid(4)), cholesky_module._full
    converted = []
    monkeypatch.setattr(
        cholesky_module, "_full", lambda A, beta: converted.append(beta) or full(A, beta)
    )
    for beta in (1.0, 2.0, 3.0):
        found = first.cholesky(grid(4), beta)
        assert found.logdet() == pytest.approx(gs.cholesky(grid(4, 0.1 + beta)).logdet())
        assert found.cholesky(grid(4)).logdet() == pytest.approx(first.logdet())
    assert converted == [1.0, 0.0, 0.0, 0.0]  # of the first one alone, and the new ones


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("order", ["natural", "default"])
def test_the_order_of_rows_stays_whatever_other_factors_are_asked_for(dtype, order):
    # variances of badly scaled matrices come from delayed pivots, in an order of their own
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(5, 30))
        B = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if dtype is complex else 0.0)
        B[rng.random((n, n)) > 3.0 / n] = 0.0
        scale = np.ldexp(1.0, rng.integers(-20, 5, n))
        A = (B @ B.conj().T + np.eye(n)) * np.outer(scale, scale)
        A[np.arange(n), np.arange(n)] = A.diagonal().real
        factor = gs.cholesky(sp.csc_array((A + A.conj().T) / 2), ordering_method=order)
        P = factor.P()
        factor.variances()
        factor.L()
        c = np.zeros(n)
        c[0] = scale[0]
        for subtract in (False, True):
            factor.update_inplace(c, subtract=subtract)
            assert factor.P().tolist() == P.tolist()
        L = (factor.L() @ factor.L().conj().T).toarray()
        assert np.abs((L - A[P][:, P]) / np.outer(scale[P], scale[P])).max() <= 1e-12 * n


def test_updates_that_leave_the_range_of_numbers_leave_the_factor():
    A = sp.csc_array(np.diag([1e308, 2.0]))
    factor = gs.cholesky(A)
    for c in (np.array([0.0, 1e200]), np.array([1e154, 0.0])):  # products, and sums
        with pytest.raises(ValueError, match="overflows|finite"):
            factor.update_inplace(c)
        assert factor(np.array([0.0, 1.0])).tolist() == [0.0, 0.5]
        assert factor.D() == pytest.approx([1e308, 2.0])


def test_numbers_of_another_kind_are_refused():
    A = grid(3)
    factor = gs.cholesky(A)
    for call in (
        lambda: gs.cholesky(A, beta=1j),
        lambda: gs.cholesky(A, beta=[1.0]),
        lambda: gs.cholesky(A, beta="1"),
        lambda: factor.cholesky_inplace(A, beta=1j),
        lambda: factor.variances(1j * sp.eye_array(9)),
        lambda: gs.cholesky_AAt(np.eye(3)),
    ):
        with pytest.raises(TypeError, match="beta is|C is complex|must be a scipy sparse"):
            call()
    assert factor.D().min() > 0.0


def test_the_diagonal_of_complex_factors_is_one_exactly():
    rng = np.random.default_rng(0)
    B = rng.normal(size=(6, 6)) + 1j * rng.normal(size=(6, 6))
    L, D = gs.cholesky(sp.csc_array(B @ B.conj().T + np.eye(6))).L_D()
    assert L.diagonal().tolist() == [1.0] * 6
