"""Matrices from collections: every cut into blocks gives small backward errors.

They lie in the folder that GRAPHSYS_DATA names, or else in ../shared/data; without it these tests
are skipped.
"""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

import graphsys as gs

DATA = Path(os.environ.get("GRAPHSYS_DATA", Path(__file__).parents[3] / "shared" / "data"))
FOLDER = DATA / "matrices"
EPS = np.finfo(float).eps

#: Largest backward error allowed; that of the KKT matrix is that of saddle-point systems.
BACKWARD_ERROR = {
    "494_bus": 1e-14,
    "bcsstk01": 1e-14,
    "bcspwr06": 1e-14,
    "jagmesh7": 1e-14,
    "arrow": 1e-14,
    "tumorAntiAngiogenesis_2": 1e-12,
}
DIMS = [None, 1, 2, 3, 5, 6]  # None: blocks are found from the pattern
CASES = [
    pytest.param(name, d, symmetric, id=f"{name}-{d}-{'LDLT' if symmetric else 'LDU'}")
    for name in BACKWARD_ERROR
    for d in DIMS
    for symmetric in (False, True)
    if not (name == "arrow" and symmetric)
]

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="no folder of matrices is there")


def triplets(path):
    """Symmetric matrix of which a text file holds one triangle as lines `i j value`."""
    i, j, value = np.loadtxt(path, unpack=True)
    lower = sp.coo_array((value, (i.astype(int), j.astype(int)))).tocsr()
    return lower + sp.tril(lower, -1).T


def dominant(pattern, symmetric):
    """Random values on a symmetric pattern, each diagonal entry above the rest of its row."""
    rng = np.random.default_rng(0)
    A = sp.csr_array(pattern, dtype=float)
    A.data = rng.uniform(-1.0, 1.0, A.nnz)
    if symmetric:
        A = sp.tril(A, -1) + sp.tril(A, -1).T
    A = A - sp.diags_array(A.diagonal())
    return (A + sp.diags_array(abs(A).sum(axis=1) + 1.0)).tocsr()


@cache
def matrix(name, symmetric):
    """The matrix and its condition number in the maximum norm."""
    if name == "bcsstk01":
        A = triplets(FOLDER / "bcsstk01.triplet")
    else:
        A = sp.csr_array(scipy.io.mmread(FOLDER / f"{name}.mtx", spmatrix=False), dtype=float)
    if name in ("bcspwr06", "jagmesh7"):
        A = dominant(A, symmetric)
    return A, np.linalg.cond(A.toarray(), np.inf)


def norm(A):
    return abs(A).sum(axis=1).max()


def backward_error(A, x, b):
    return abs(A @ x - b).max() / (norm(A) * abs(x).max() + abs(b).max())


def cut(n, d):
    """Sizes d, and what is left over."""
    return d if d in (None, 1) else [d] * (n // d) + [n % d] * (n % d > 0)


@pytest.mark.parametrize(("name", "d", "symmetric"), CASES)
def test_the_backward_error_is_small_and_the_solution_that_of_scipy(name, d, symmetric):
    A, condition = matrix(name, symmetric)
    b = np.random.default_rng(1).standard_normal(A.shape[0])

    x = gs.System.from_scipy(A, cut(A.shape[0], d), symmetric=symmetric).solve(b)

    error = backward_error(A, x, b)
    assert error <= BACKWARD_ERROR[name]
    # Each solution is off by at most 2 cond error / (1 - cond error) (Higham 2002, th. 7.2).
    reference = spsolve(A.tocsc(), b)
    off = [condition * (e + EPS) for e in (error, backward_error(A, reference, b))]
    assert max(off) < 0.1
    assert abs(x - reference).max() <= sum(2 * e / (1 - e) for e in off) * abs(reference).max()


# By single rows the factors of the KKT matrix lose the digits that the sign of a pivot needs.
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("name", ["494_bus", "bcsstk01", "tumorAntiAngiogenesis_2"])
def test_the_inertia_is_that_of_the_eigenvalues(name, d):
    A, _ = matrix(name, True)
    eigenvalues = scipy.linalg.eigvalsh(A.toarray())

    factor = gs.System.from_scipy(A, cut(A.shape[0], d), symmetric=True).factorize()

    assert factor.inertia() == ((eigenvalues > 0).sum(), (eigenvalues < 0).sum())


def test_the_kkt_matrix_has_a_zero_diagonal_at_every_constraint():
    A, _ = matrix("tumorAntiAngiogenesis_2", True)

    assert A.shape == (305, 305)
    assert np.count_nonzero(A.diagonal() == 0) == 122
