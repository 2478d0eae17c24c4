"""Solutions of random matrices of any scale by every door: right, or refused with a reason.

Matrices of 1 to 60 rows are scaled by powers of two up to 2^480 = 3e144, row by row and column by
column. A solution is right if its backward error is small in the matrix before that, row by row or
in norms, or its error is that of its condition number. Wrong ones must come with a warning, unless
LAPACK's is wrong too, or the matrix is singular to working precision. Matrices whose condition
number is below 1e12 must not be refused; 1e10 for those of low rank, which may have a row of
rounding errors alone.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import graphsys as gs

EPS = np.finfo(float).eps
SCALES = (0, 20, 240, 480)


def some(rng, rows, columns, density):
    return np.where(
        rng.random((rows, columns)) < density, rng.standard_normal((rows, columns)), 0.0
    )


def general(rng):
    n = int(rng.integers(1, 61))
    A = some(rng, n, n, min(1.0, rng.choice([1.5, 3.0, 6.0, 20.0]) / n))
    kind = rng.integers(3)
    if kind == 0:
        return A + np.diag(rng.standard_normal(n) * 10.0 ** rng.uniform(-8.0, 0.0, n))
    if kind == 1:
        return A + np.eye(n)[rng.permutation(n)] * rng.choice([1.0, 5.0, 0.1])
    return A * 10.0 ** rng.integers(-8, 3, A.shape) + np.diag(rng.integers(0, 2, n))


def reducible(rng):
    A = general(rng)
    part = np.sort(rng.integers(0, max(1, len(A) // rng.integers(1, 5) + 1), len(A)))
    A = np.where(part[:, None] <= part, A, 0.0)
    A += np.diag(np.where(np.diag(A) == 0.0, rng.standard_normal(len(A)), 0.0))
    return A[rng.permutation(len(A))][:, rng.permutation(len(A))]


def saddle(rng):
    n = int(rng.integers(1, 41))
    m = int(rng.integers(0, min(n, 20) + 1))
    H = some(rng, n, n, min(1.0, 3.0 / n))
    H = (H @ H.T if rng.integers(2) else H + H.T) + np.diag(rng.choice([0.0, 1e-8, 1e-3, 1.0], n))
    B = some(rng, m, n, 3.0 / n)
    B[np.arange(m), rng.integers(0, n, m)] += 1.0
    if m > 1 and rng.integers(6) == 0:
        B[0] = B[1]  # a constraint that is given twice
    return np.block([[H, B.T], [B, -np.diag(rng.choice([0.0, 0.0, 1e-8, 1e-4], m))]])


def of_low_rank(rng):
    n = int(rng.integers(1, 61))
    rank = int(rng.integers(max(1, n - 3), n + 1))
    A = some(rng, n, rank, min(1.0, 3.0 / n)) @ some(rng, rank, n, min(1.0, 3.0 / n))
    return A + rng.choice([0.0, 1e-14, 1e-10, 1e-6]) * np.diag(rng.standard_normal(n))


def symmetric(rng):
    A = general(rng)
    return A + A.T


def definite(rng):
    A = general(rng)
    A = A @ A.T + np.eye(len(A)) * rng.choice([1e-10, 1e-4, 1.0])
    return 0.5 * (A + A.T)


def growing(rng):
    """Of the kind whose last column doubles in every step of partial pivoting."""
    n = int(rng.integers(2, 61))
    A = np.tril(-np.ones((n, n)), -1) * rng.uniform(0.5, 1.0) + np.eye(n)
    A[:, -1] = 1.0
    A = np.where(rng.random((n, n)) < rng.uniform(0.2, 1.0), A, 0.0)
    A += np.diag(np.where(np.diag(A) == 0.0, 1e-3, 0.0))
    return A[rng.permutation(n)]


FAMILIES = (general, reducible, saddle, of_low_rank, symmetric, definite, growing)


def batch(A, b):
    system = gs.System.from_scipy(A)
    many = gs.Batch(system.analyze(), np.tile(system.values, (3, 1)))
    x = many.solve(np.tile(b, (3, 1)))
    if many.failures:
        raise many.failures[1]
    return x[1]


def analyzed(A, b):
    factors = gs.splu(A)  # with factors for one matrix at first
    factors._for_repeats()
    return factors.solve(b)


def refactorized(A, b):
    """Solution after pivots were chosen by other numbers."""
    other = A.copy()
    other.data = np.random.default_rng(A.nnz).standard_normal(A.nnz)
    try:
        factors = gs.splu(other)
    except gs.SingularPivotError:
        return analyzed(A, b)
    factors.refactorize(A)
    return factors.solve(b)


DOORS = {
    "spsolve": gs.spsolve,
    "splu": lambda A, b: gs.splu(A).solve(b),
    "analyzed": analyzed,
    "refactorized": refactorized,
    "transposed": lambda A, b: gs.splu(sp.csc_array(A.T)).solve(b, "T"),
    "system": lambda A, b: gs.System.from_scipy(A).factorize().solve(b),
    "batch": batch,
    "symmetric": lambda A, b: gs.System.from_scipy(A, symmetric=True).factorize().solve(b),
    "cholesky": lambda A, b: gs.cholesky(A)(b),
}


def equilibrated_condition(A):
    for _ in range(8):
        for axis in (0, 1):
            largest = np.abs(A).max(axis=axis, keepdims=True)
            A = A / np.sqrt(np.where(largest > 0.0, largest, 1.0))
    size = np.linalg.svd(A, compute_uv=False)
    return size[0] / size[-1] if size[-1] > 0.0 else np.inf


def is_right(A, b, x, wanted, condition):
    if not np.isfinite(x).all():
        return False
    r, size = np.abs(b - A @ x), np.abs(A) @ np.abs(x) + np.abs(b)
    by_row = (r / np.where(size > 0.0, size, 1.0)).max()
    norm = np.abs(A).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
    error = np.abs(x - wanted).max() <= 1e3 * len(b) * EPS * condition * np.abs(wanted).max()
    return bool(error or min(by_row, r.max() / norm if norm else 0.0) <= 1e4 * len(b) * EPS)


def lapack(A, b, column):
    with np.errstate(all="ignore"):
        try:
            return np.ldexp(np.linalg.solve(A, b), column)
        except np.linalg.LinAlgError:
            return np.full(b.shape, np.nan)


def faults(family, seed):
    """Doors that give a wrong solution without a word, or refuse a matrix without need."""
    rng = np.random.default_rng([seed, FAMILIES.index(family)])
    A = family(rng)
    n, alike = len(A), np.array_equal(A, A.T)
    most = int(rng.choice(SCALES))
    row, column = rng.integers(-most, most + 1, (2, n))
    if alike:
        column = row
    wanted = rng.integers(-5, 6, n).astype(float)
    b, condition = A @ wanted, equilibrated_condition(A)
    wide, right = sp.csr_array(np.ldexp(np.ldexp(A, row[:, None]), column)), np.ldexp(b, row)
    found = []
    for door, solve in DOORS.items():
        if door == "symmetric" and not alike or door == "cholesky" and family is not definite:
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                x = np.ldexp(solve(wide, right), column)
            except (gs.SingularPivotError, gs.NotPositiveDefiniteError):
                if condition < (1e10 if family is of_low_rank else 1e12):
                    found.append((door, seed, f"refused, condition {condition:.0e}"))
                continue
        assert all(issubclass(one.category, gs.InaccurateSolutionWarning) for one in caught)
        if caught or condition * EPS > 1.0 or is_right(A, b, x, wanted, condition):
            continue
        if is_right(A, b, lapack(wide.toarray(), right, column), wanted, condition):
            found.append((door, seed, f"wrong, condition {condition:.0e}, scale 2^{most}"))
    return found


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "seeds", [range(12), pytest.param(range(12, 1000), marks=pytest.mark.slow)]
)
def test_no_door_is_silently_wrong_or_refuses_without_need(family, seeds):
    assert sum((faults(family, seed) for seed in seeds), []) == []


# Complex Hermitian matrices.


def scaled(A, exponents):
    return np.ldexp(A.real, exponents) + 1j * np.ldexp(A.imag, exponents)


def hermitian(rng, family):
    """The real part is of the family; for definite ones and those of low rank, B D B^H besides."""
    if family is of_low_rank or family is definite:
        n = int(rng.integers(1, 61))
        rank = n if family is definite else int(rng.integers(max(1, n - 3), n + 1))
        B, C = (some(rng, n, rank, min(1.0, 3.0 / n)) for _ in range(2))
        signs = np.ones(n) if family is definite else rng.choice([-1.0, 1.0], rank)
        shift = [1e-10, 1e-4, 1.0] if family is definite else [0.0, 1e-14, 1e-10, 1e-6]
        A = (B + 1j * C) * signs @ (B + 1j * C).conj().T + np.eye(n) * rng.choice(shift)
    else:
        A = family(rng).astype(complex)
        across = np.triu(some(rng, len(A), len(A), min(1.0, 3.0 / len(A))), 1)
        if family is saddle:
            across = across * (A != 0.0)
        A += 1j * (across - across.T)
    return (A + A.conj().T) / 2.0


def hermitian_faults(family, seed):
    """As `faults`, for solutions and inertias of Hermitian matrices."""
    rng = np.random.default_rng([seed, 7])
    A = hermitian(rng, family)
    n, most = len(A), int(rng.choice(SCALES))
    row = rng.integers(-most, most + 1, n)
    wanted = rng.integers(-5, 6, n) + 1j * rng.integers(-5, 6, n)
    b, condition = A @ wanted, equilibrated_condition(A)
    wide, right = sp.csr_array(scaled(scaled(A, row[:, None]), row)), scaled(b, row)
    found = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            factor = gs.System.from_scipy(wide, symmetric="hermitian").factorize()
            x = scaled(factor.solve(right), row)
            if family is definite:
                other = scaled(gs.cholesky(wide)(right), row)
                if not caught and not is_right(A, b, other, wanted, condition):
                    found.append(("cholesky", seed, f"wrong, condition {condition:.0e}"))
            if condition < 1e9:
                signs = np.sign(np.linalg.eigvalsh(equilibrated(A)))
                if factor.inertia() != ((signs > 0).sum(), (signs < 0).sum()):
                    found.append(("inertia", seed, f"wrong, condition {condition:.0e}"))
        except (gs.SingularPivotError, gs.NotPositiveDefiniteError):
            if condition < (1e10 if family is of_low_rank else 1e12):
                found.append(("hermitian", seed, f"refused, condition {condition:.0e}"))
            return found
    if caught or condition * EPS > 1.0 or is_right(A, b, x, wanted, condition):
        return found
    with np.errstate(all="ignore"):
        try:
            theirs = scaled(np.linalg.solve(wide.toarray(), right), row)
        except np.linalg.LinAlgError:
            return found
    if is_right(A, b, theirs, wanted, condition):
        found.append(("hermitian", seed, f"wrong, condition {condition:.0e}, scale 2^{most}"))
    return found


def equilibrated(A):
    """D A D with rows about as large: the signs of its eigenvalues are those of A."""
    for _ in range(8):
        scale = np.sqrt(np.abs(A).max(axis=1))
        scale[scale == 0.0] = 1.0
        A = A / np.outer(scale, scale) ** 0.5
    return A


@pytest.mark.parametrize("family", (saddle, of_low_rank, symmetric, definite))
@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 600), marks=pytest.mark.slow)])
def test_hermitian_matrices_are_solved_or_refused_with_reason(family, seeds):
    assert sum((hermitian_faults(family, seed) for seed in seeds), []) == []
