"""complex64: results of its own type, to its own precision, as of the other types."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import graphsys as gs
from graphsys.families import random_system

EPS = float(np.finfo(np.complex64).eps)


def test_two_rows_by_hand():
    # (1 + i) x = 2 i, x = 1 + i; (2 i) y + x = 3 + i, y = -i
    graph, blocks = gs.chain(2), {(0, 0): 1 + 1j, (1, 1): 2j, (1, 0): 1.0}
    system = gs.System(graph, 1, dtype=np.complex64, blocks=blocks)
    x = system.solve([2j, 3 + 1j])
    assert x.dtype == np.complex64 and np.abs(x - [1 + 1j, -1j]).max() <= 4 * EPS
    assert repr(system) == "System(2 nodes, 1 edges, 2 unknowns, complex64)"


@pytest.mark.parametrize(("graph", "size"), [(gs.chain(7), 2), (gs.net(5), 3), (gs.net(4), 12)])
@pytest.mark.parametrize("symmetric", [False, True])
def test_solutions_are_of_this_type_and_precision(graph, size, symmetric):
    system = random_system(
        graph, size, dtype=np.complex64, symmetric=symmetric, dominance=25.0
    )  # fmt: skip
    A, factor = system.to_dense().astype(complex), system.factorize()
    b = np.random.default_rng(0).normal(size=(len(A), 3)).astype(np.complex64)
    # Higham 2002, theorem 9.4, with growth of 2 at most in a diagonally dominant matrix
    bound = 8 * len(A) * EPS * np.linalg.cond(A)
    for trans, B in (("N", A), ("T", A.T), ("H", A.conj().T)):
        x, found = np.linalg.solve(B, b), factor.solve(b, trans)
        assert found.dtype == np.complex64
        assert np.abs(found - x).max() <= bound * np.abs(x).max()
    sign, logarithm = factor.slogdet()
    assert abs(sign - np.linalg.slogdet(A)[0]) <= bound
    assert abs(logarithm - np.linalg.slogdet(A)[1]) <= bound * len(A)


def test_doubtful_factors_refine_and_pivots_are_delayed():
    rng = np.random.default_rng(1)
    system = random_system(gs.net(5), 2, dtype=np.complex64, dominance=0.0)
    A = system.to_dense().astype(complex)
    factor, b = system.factorize(refine=True), rng.normal(size=len(A)).astype(np.complex64)
    x, found = factor.solve(b, report=True)
    assert x.dtype == np.complex64 and found.backward_error <= 32 * EPS
    assert found.forward_error >= np.abs(x - np.linalg.solve(A, b)).max() / np.abs(x).max()
    inverse = factor.selected_inverse()
    assert inverse.values.dtype == np.complex64
    exact = np.linalg.inv(A)
    # 25 nodes of 2 rows; errors grow with the condition number
    bound = 8 * len(A) * EPS * np.linalg.cond(A) * np.abs(exact).max()
    assert np.abs(inverse[0, 0] - exact[:2, :2]).max() <= bound


@pytest.mark.parametrize("n", [4, 300])
def test_functions_of_scipy_keep_the_type(n):
    rng = np.random.default_rng(n)
    A = sp.random_array((n, n), density=min(1.0, 4 / n), rng=rng).tocsc() + 4 * sp.eye_array(n)
    A = (A * (1 + 0.5j)).astype(np.complex64).tocsc()
    b = rng.normal(size=n)
    for right in (b, b.astype(np.float32), b.astype(np.complex64), 1j * b):
        ours, theirs = gs.spsolve(A, right), sla.spsolve(A, right)
        assert ours.dtype == theirs.dtype
        assert np.abs(ours - theirs).max() <= 100 * EPS * np.abs(theirs).max()
    factors = gs.splu(A)
    x = factors.solve(b.astype(np.complex64))
    assert factors.dtype == x.dtype == sla.splu(A).solve(b.astype(np.complex64)).dtype
    factors.refactorize(2 * A)
    again = factors.solve(b.astype(np.complex64), "H")
    assert again.dtype == np.complex64
    assert np.abs(2 * A.conj().T @ again - b).max() <= 100 * EPS * np.abs(b).max()


def test_patterns_of_many_matrices():
    pattern = gs.Pattern([0, 1, 1], [0, 0, 1])
    data = np.array([[1 + 1j, 1, 2j], [2, 0, 4]], np.complex64)
    x = pattern.solve(data, np.array([[2j, 3 + 1j], [2, 4]], np.complex64))
    assert x.dtype == np.complex64 and np.allclose(x, [[1 + 1j, -1j], [1, 1]], atol=4 * EPS)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize(
    "graph", [gs.chain(30), nx.random_labeled_tree(40, seed=1), nx.circular_ladder_graph(12)]
)
def test_graphs_of_single_rows_keep_their_first_factors(graph, dtype):
    """Real numbers have another program for these graphs (`scalar_ldu`)."""
    system = random_system(graph, 1, seed=3, dtype=np.complex128)
    system = gs.System.from_scipy(system.to_scipy().astype(dtype))
    factor, A = system.factorize(), system.to_dense()
    rng = np.random.default_rng(0)
    near = 50.0 * np.finfo(dtype).eps * np.linalg.cond(A)
    for trans, matrix in (("N", A), ("T", A.T), ("H", A.conj().T)):
        for shape in ((len(A),), (len(A), 3)):
            b = rng.normal(size=shape).astype(dtype)
            wanted = np.linalg.solve(matrix, b)
            assert np.abs(factor.solve(b, trans) - wanted).max() <= near * np.abs(wanted).max()
            assert not factor.refines and factor.report.backward_error is None
        x, found = factor.solve(b[:, 0], trans, report=True)
        size = np.abs(matrix) @ np.abs(x) + np.abs(b[:, 0])
        exact = (np.abs(np.linalg.inv(matrix)) @ size).max() / np.abs(x).max()
        assert exact / 10.0 <= found.condition <= 1.01 * exact
        assert not factor.refines
