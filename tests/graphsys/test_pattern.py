"""`gs.Pattern`: solves for entries in triplets, as JAX, PyTorch and PyTensor have them."""

import pickle
import threading

import numpy as np
import pytest
import scipy.sparse as sp

import graphsys as gs
from graphsys.interop import pattern as module
from graphsys.interop.pattern import check

EPS = np.finfo(float).eps


def example(seed=0, n=20):
    """Pattern with repeated entries and without symmetry, its entries, and the dense matrix."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([np.arange(n), rng.integers(0, n, 3 * n), [0, 0]])
    columns = np.concatenate([np.arange(n), rng.integers(0, n, 3 * n), [n - 1, n - 1]])
    data = rng.normal(size=rows.size)
    data[:n] += 12.0
    return gs.Pattern(rows, columns, n), data, dense(rows, columns, data, n)


def dense(rows, columns, data, n):
    A = np.zeros((n, n), data.dtype)
    np.add.at(A, (rows, columns), data)
    return A


def bound(A, x):
    return 100.0 * EPS * np.linalg.cond(A) * np.abs(x).max()


def test_a_singular_matrix_is_named_by_its_rows():
    # rows 0 and 1 are one node: they have the same neighbours, themselves included
    pattern = gs.Pattern([0, 0, 1, 1, 2], [0, 1, 0, 1, 2])

    with pytest.raises(gs.SingularPivotError, match=r"at row 1 .*of its 3 rows, row 1;") as caught:
        pattern.solve([1.0, 1.0, 0.0, 0.0, 1.0], np.ones(3))
    assert caught.value.node == 1
    with pytest.raises(
        gs.SingularPivotError, match=r"at row 0 .*entries are zero, rows 0, 1, 2\)$"
    ):
        pattern.solve(np.zeros(5), np.ones(3))


def test_three_entries_by_hand():
    # [2 2; 0 4] x = (4, 4), and its transpose [2 0; 2 4] x = (4, 4)
    pattern = gs.Pattern([0, 1, 0], [0, 1, 1])
    assert pattern.solve([2.0, 4.0, 2.0], [4.0, 4.0]).tolist() == [1.0, 1.0]
    assert pattern.solve([2.0, 4.0, 2.0], [4.0, 4.0], "T").tolist() == [2.0, 0.0]


@pytest.mark.parametrize("trans", ["N", "T"])
@pytest.mark.parametrize("shape", [(20,), (20, 3)])
def test_one_matrix_after_another(trans, shape):
    pattern, data, A = example()
    b = np.random.default_rng(1).normal(size=shape)
    for scale in (1.0, 2.0, 2.0, 3.0, 1.0):
        M = scale * (A if trans == "N" else A.T)
        x = pattern.solve(scale * data, b, trans)
        assert np.abs(x - np.linalg.solve(M, b)).max() <= bound(A, x)


@pytest.mark.parametrize("shape", [(9, 20), (9, 20, 3)])
def test_many_matrices_whether_they_repeat_or_not(shape):
    pattern, data, _ = example()
    rng = np.random.default_rng(2)
    b = rng.normal(size=shape)
    first, second = data * rng.uniform(0.9, 1.1, (2, 9, 1))
    for many, trans in [(first, "N"), (second, "N"), (second, "T"), (first, "N"), (first, "N"),
                        (second, "T"), (first[:3], "N"), (second, "N")]:  # fmt: skip
        x = pattern.solve(many, b[: len(many)], trans)
        for i, entries in enumerate(many):
            A = dense(pattern.rows, pattern.columns, entries, 20)
            wanted = np.linalg.solve(A if trans == "N" else A.T, b[i])
            assert np.abs(x[i] - wanted).max() <= bound(A, wanted)


def test_factors_of_the_same_entries_are_used_again():
    pattern, data, _ = example()
    b = np.ones(20)
    pattern.solve(data, b)
    kept = pattern._free[np.dtype(float), True][0]
    x = pattern.solve(data.copy(), b, "T")
    assert kept.are_of(data)
    kept.factors.refactorize(2.0 * kept.factors._matrix().values)  # solves use these from now on
    assert np.array_equal(pattern.solve(data, b, "T"), x / 2.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_types(dtype):
    pattern, data, _ = example()
    data = data.astype(dtype) * (1.0 + (0.5j if dtype == np.complex128 else 0.0))
    b = np.ones((2, 20), dtype)
    A = dense(pattern.rows, pattern.columns, data, 20)
    eps = np.finfo(dtype).eps / EPS
    for trans, M in (("N", A), ("T", A.T)):
        wanted = np.linalg.solve(M, b[0])
        x = pattern.solve(data, b[0], trans)
        many = pattern.solve(np.stack([data, data]), b, trans)
        assert x.dtype == many.dtype == dtype
        for found in (x, *many):
            assert np.abs(found - wanted).max() <= bound(A, wanted) * eps


def test_singular_matrices_are_named_or_not_a_number():
    pattern, data, A = example()
    b = np.ones(20)
    zero = data.copy()
    zero[(pattern.rows == 7)] = 0.0
    with pytest.raises(gs.SingularPivotError, match=r"matrix is singular at row \d+") as caught:
        pattern.solve(zero, b)
    assert "redundant=True" not in str(caught.value)  # no option of a pattern
    assert np.isnan(pattern.solve(zero, b, singular="nan")).all()
    wanted = np.linalg.solve(A, b)
    assert np.abs(pattern.solve(data, b) - wanted).max() <= bound(A, wanted)
    many = np.stack([data, zero, data])
    with pytest.raises(gs.SingularPivotError, match="matrix 1 of 3: the matrix is singular"):
        pattern.solve(many, np.ones((3, 20)))
    x = pattern.solve(many, np.ones((3, 20)), singular="nan")
    assert np.isnan(x[1]).all() and np.abs(x[[0, 2]] - wanted).max() <= bound(A, wanted)


def test_what_is_not_finite_gives_nan():
    pattern, data, A = example()
    b = np.ones((20, 2))
    bad = data.copy()
    bad[3] = np.nan
    assert np.isnan(pattern.solve(bad, b)).all()  # before the first analysis, too
    wanted = np.linalg.solve(A, b)
    assert np.abs(pattern.solve(data, b) - wanted).max() <= bound(A, wanted)
    b[5, 1] = np.inf
    x = pattern.solve(data, b)
    assert np.isnan(x[:, 1]).all() and np.abs(x[:, 0] - wanted[:, 0]).max() <= bound(A, wanted)
    x = pattern.solve(np.stack([data, bad]), np.ones((2, 20)))
    assert np.isnan(x[1]).all() and np.isfinite(x[0]).all()
    assert np.isnan(pattern.solve(data, np.full(20, np.nan))).all()


def test_solutions_that_overflow_are_an_error():
    pattern = gs.Pattern([0], [0])
    with pytest.raises(OverflowError):
        pattern.solve([1e-300], [1e300])
    assert np.isnan(pattern.solve([1e-300], [1e300], singular="nan")).all()


def test_entries_of_a_scipy_matrix():
    A = sp.random_array((15, 15), density=0.2, rng=np.random.default_rng(0)) + 4.0 * sp.eye_array(
        15
    )
    for kind in (sp.csr_array(A), sp.csc_array(A), sp.coo_array(A), sp.csr_matrix(A)):
        pattern = gs.Pattern.from_scipy(kind)
        x = pattern.solve(kind.data, np.ones(15))
        assert np.abs(A @ x - 1.0).max() <= 1e-12


def test_pickles_and_repr():
    pattern, data, _ = example()
    other = pickle.loads(pickle.dumps(pattern))
    assert np.array_equal(other.solve(data, np.ones(20)), pattern.solve(data, np.ones(20)))
    assert repr(pattern) == f"Pattern(20 rows, {data.size} entries)"


@pytest.mark.parametrize("seed", range(4))
def test_log_determinants_and_their_gradients(seed):
    pattern, data, A = example(seed)
    sign, wanted = np.linalg.slogdet(A)
    if sign < 0.0:
        assert np.isnan(pattern.logdet(data))
        data = np.where(pattern.rows == 0, -data, data)
        A = dense(pattern.rows, pattern.columns, data, 20)
    pattern.solve(data, np.ones(20))
    assert abs(pattern.logdet(data) - wanted) <= bound(A, 1.0)
    inverse = np.linalg.inv(A)
    gradient = pattern.logdet_gradient(data)
    assert np.abs(gradient - inverse.T[pattern.rows, pattern.columns]).max() <= bound(A, inverse)


def test_log_determinants_of_singular_matrices():
    pattern = gs.Pattern([0, 1], [0, 1])
    assert pattern.logdet([0.0, 1.0]) == -np.inf
    assert np.isnan(pattern.logdet_gradient([0.0, 1.0])).all()
    assert np.isnan(pattern.logdet([np.nan, 1.0]))
    assert np.isnan(pattern.logdet_gradient([np.nan, 1.0])).all()
    assert pattern.logdet([1.0, 1.0]) == 0.0
    with pytest.raises(ValueError, match=r"data has shape \(1,\)"):
        pattern.logdet([1.0])
    with pytest.raises(TypeError, match="complex128"):
        pattern.logdet([1.0j, 1.0])


def test_no_matrices_no_rows_and_no_entries():
    pattern, _, _ = example()
    assert pattern.solve(np.empty((0, pattern.nz)), np.empty((0, 20, 2))).shape == (0, 20, 2)
    assert gs.Pattern([], []).solve([], []).shape == (0,)
    assert gs.Pattern([], []).logdet([]) == 0.0
    with pytest.raises(gs.SingularPivotError):
        gs.Pattern([], [], 2).solve([], [1.0, 1.0])


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (
            lambda: gs.Pattern(sp.eye_array(2)),
            TypeError,
            r"from_scipy\(A\) for a matrix",
        ),
        (lambda: gs.Pattern([0.5], [0]), TypeError, "rows must be a vector of integers"),
        (lambda: gs.Pattern([0], [[0]]), TypeError, "columns must be a vector of integers"),
        (lambda: gs.Pattern([0, 1], [0]), ValueError, "2 rows and 1 columns"),
        (lambda: gs.Pattern([-1], [0]), ValueError, "negative position -1"),
        (lambda: gs.Pattern([2], [0], 2), ValueError, "position 2 is outside of a matrix of 2"),
        (lambda: gs.Pattern([0], [0], 1.5), TypeError, "n is 1.5, it must be a whole number"),
        (lambda: gs.Pattern.from_scipy(np.eye(2)), TypeError, r"scipy sparse .*gs.Pattern\(rows"),
        (lambda: gs.Pattern.from_scipy(sp.csr_array((2, 3))), ValueError, "must be square"),
    ],
)
def test_positions_without_a_meaning_are_refused(make, kind, words):
    with pytest.raises(kind, match=words):
        make()


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "words"),
    [
        (([1.0], [1.0, 1.0]), {}, ValueError, r"data has shape \(1,\), it must be \(2,\)"),
        (([1.0, 1.0], [1.0]), {}, ValueError, r"b has shape \(1,\), it must be \(2,\) or"),
        (([[1.0, 1.0]], [1.0, 1.0]), {}, ValueError, r"it must be \(1, 2\) or \(1, 2, k\)"),
        (([1.0, 1.0], [1.0, 1.0], "H"), {}, ValueError, "trans is 'H'"),
        (([1.0, 1.0], [1.0, 1.0]), {"singular": "zero"}, ValueError, "singular is 'zero'"),
        ((["a", "b"], [1.0, 1.0]), {}, TypeError, "data is not an array of numbers"),
        (([1.0, 1.0], None), {}, TypeError, "b is not an array of numbers but of type NoneType"),
        ((sp.eye_array(2), [1.0, 1.0]), {}, TypeError, r"give its entries, A.tocoo\(\).data"),
    ],
)
def test_arguments_without_a_meaning_are_refused(arguments, options, kind, words):
    with pytest.raises(kind, match=words):
        gs.Pattern([0, 1], [0, 1]).solve(*arguments, **options)


def test_determinants_of_complex_entries_are_refused_with_a_way_out():
    pattern = gs.Pattern([0, 1], [0, 1])
    for function in (pattern.logdet, pattern.logdet_gradient):
        with pytest.raises(TypeError, match=r"complex128: .* use gs.splu\(A\).factor.slogdet\(\)"):
            function([1.0j, 1.0])


@pytest.mark.parametrize("pattern", [np.eye(2), sp.csr_array(np.eye(2)), ([0, 1], [0, 1])])
def test_other_objects_than_patterns_are_named(pattern):
    with pytest.raises(TypeError, match=f"pattern is a {type(pattern).__name__}; make one"):
        check(pattern)


def grid(m, kappa, seed=0):
    """Pattern of K^2, K = kappa^2 I + Laplacian of a grid, its entries and the dense matrix."""
    one = sp.diags_array([-np.ones(m - 1), np.full(m, 2.0), -np.ones(m - 1)], offsets=[-1, 0, 1])
    eye = sp.eye_array(m)
    K = kappa**2 * sp.eye_array(m * m) + sp.kron(one, eye) + sp.kron(eye, one)
    Q = sp.coo_array(sp.csr_array(K @ K))
    order = np.random.default_rng(seed).permutation(Q.nnz)
    rows, columns, data = Q.row[order], Q.col[order], Q.data[order]
    return gs.Pattern(rows, columns, positive_definite=True), data, Q.toarray()


def test_positive_definite_two_rows_by_hand():
    # [2 1; 1 2]: determinant 3, inverse [2 -1; -1 2] / 3
    pattern = gs.Pattern([0, 0, 1, 1], [0, 1, 0, 1], positive_definite=True)
    data = [2.0, 1.0, 1.0, 2.0]
    assert abs(pattern.logdet(data) - np.log(3.0)) <= 4 * EPS
    wanted = np.array([2.0, -1.0, -1.0, 2.0]) / 3.0
    assert np.abs(pattern.logdet_gradient(data) - wanted).max() <= 4 * EPS
    assert np.abs(pattern.solve(data, [3.0, 3.0]) - 1.0).max() <= 4 * EPS


@pytest.mark.parametrize("kappa", [1.0, 0.1, 1e-2, 1e-4])
def test_positive_definite_matrices_are_those_of_dense_ones(kappa):
    pattern, data, A = grid(12, kappa)
    for scale in (1.0, 0.5, 2.0):
        L = np.linalg.cholesky(scale * A)
        wanted = 2.0 * np.log(np.diag(L)).sum()
        assert abs(pattern.logdet(scale * data) - wanted) <= bound(A, 1.0)
        inverse = np.linalg.inv(scale * A)[pattern.rows, pattern.columns]
        assert np.abs(pattern.logdet_gradient(scale * data) - inverse).max() <= bound(A, inverse)
        b = np.random.default_rng(3).normal(size=pattern.n)
        x = pattern.solve(scale * data, b)
        assert np.abs(x - np.linalg.solve(scale * A, b)).max() <= bound(A, x)
        many = pattern.solve(scale * np.stack([data, 2.0 * data]), np.stack([b, b]), "T")
        assert np.abs(many - [x, 0.5 * x]).max() <= bound(A, x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matrices_that_are_not_positive_definite_have_no_log_determinant(dtype):
    pattern, data, A = grid(5, 1.0)
    data = data.astype(dtype)
    shift = np.where(pattern.rows == pattern.columns, 1.0, 0.0).astype(dtype)
    low = np.linalg.eigvalsh(A)[:2]
    for bad in (data - shift * dtype(low.mean()), -data):  # one negative eigenvalue; 25 of them
        assert np.isnan(pattern.logdet(bad))
        assert np.isnan(pattern.logdet_gradient(bad)).all()
    assert pattern.logdet(0.0 * data) == -np.inf
    assert np.isnan(pattern.logdet_gradient(0.0 * data)).all()
    assert np.isfinite(pattern.logdet(data))
    two = gs.Pattern([0, 1], [0, 1], positive_definite=True)
    assert np.isnan(two.logdet([-1.0, -1.0]))  # though its determinant is 1


def test_positive_definite_patterns_need_both_triangles():
    with pytest.raises(ValueError, match=r"\(0, 1\) is a position, \(1, 0\) is not"):
        gs.Pattern([0, 0, 1], [0, 1, 1], positive_definite=True)
    pattern = gs.Pattern([0, 0, 1, 1], [0, 1, 0, 1], positive_definite=True)
    with pytest.raises(ValueError, match="symmetric"):
        pattern.solve([2.0, 1.0, -1.0, 2.0], [1.0, 1.0])
    other = pickle.loads(pickle.dumps(pattern))
    assert other.positive_definite and other.logdet([2.0, 1.0, 1.0, 2.0]) > 0.0
    A = sp.eye_array(2).tocsr()
    assert gs.Pattern.from_scipy(A, positive_definite=True).positive_definite


def test_threads_have_factors_of_their_own():
    pattern, data, A = grid(12, 1.0)
    b = np.ones(pattern.n)
    x = np.linalg.solve(A, b)
    wrong = []

    def work(scale):
        for _ in range(30):
            found = pattern.solve(scale * data, b) * scale
            log = pattern.logdet(scale * data) - pattern.n * np.log(scale)
            if np.abs(found - x).max() > bound(A, x) or abs(log - wanted) > 2 * bound(A, 1.0):
                wrong.append(scale)

    wanted = pattern.logdet(data)
    threads = [threading.Thread(target=work, args=(1.0 + i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and 1 <= len(pattern._free[np.dtype(float), True]) <= 4


def test_calls_in_turns_use_the_factors_of_their_entries_again():
    pattern, data, _ = example()
    one, other = pattern._take(data, True), pattern._take(data, True)  # two calls at a time
    pattern._factor(one, data)
    pattern._factor(other, 2.0 * data)
    pattern._give(one, data, True)
    pattern._give(other, data, True)
    for scale, kept in ((1.0, one), (2.0, other), (2.0, other), (1.0, one)):
        pattern.solve(scale * data, np.ones(20), "T")
        assert pattern._free[data.dtype, True][-1] is kept and kept.are_of(scale * data)
    pattern.solve(3.0 * data, np.ones(20))  # takes those used the longest time ago
    assert pattern._free[data.dtype, True][-1] is other


def test_many_large_matrices_are_solved_some_at_a_time(monkeypatch):
    monkeypatch.setattr(module, "PART_BYTES", 8 * example()[1].nbytes)
    pattern, data, A = example()
    scales, b = np.linspace(1.0, 3.0, 21)[:, None], np.ones((21, 20))
    many = scales * data
    for trans in ("N", "T", "N", "N"):
        x = np.linalg.solve(A if trans == "N" else A.T, b[0]) / scales
        assert np.abs(pattern.solve(many, b, trans) - x).max() <= bound(A, x)
    parts = pattern._free[np.dtype(float), False][0].parts
    assert [len(part.data) for part in parts] == [8, 8, 5]
    many[17, pattern.rows == 7] = 0.0
    with pytest.raises(gs.SingularPivotError, match="matrix 17 of 21"):
        pattern.solve(many, b)
    x = pattern.solve(many, b, singular="nan")
    assert np.flatnonzero(np.isnan(x).any(axis=1)).tolist() == [17]
    few = pattern.solve(many[:9], b[:9])
    assert np.array_equal(few, x[:9])
