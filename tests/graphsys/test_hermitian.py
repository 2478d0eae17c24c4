"""Complex Hermitian systems: L D L^H, real pivots, inertia, conjugates where transposes were."""

import pickle

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsys as gs
from graphsys.families import random_system
from graphsys.kernels.base.layout import ONE_TRIANGLE
from graphsys.numeric.fronts import Fronts
from graphsys.symbolic import analyze
from tests.graphsys.test_one_triangle import FAMILIES, indefinite, rounding
from tests.graphsys.test_redundancy import planar_four_bar

TYPES = [complex, pytest.param(np.complex64, marks=pytest.mark.slow)]
EPS = float(np.finfo(float).eps)


def made(name, dtype=complex, definite=True):
    graph, size = FAMILIES[name]
    # complex entries have variance 1 in each part: rows as large as twice as many real ones
    options = {"dtype": dtype, "symmetric": "hermitian", "dominance": 35.0}
    system = random_system(graph, size, **options)
    return system if definite else indefinite(system)


def turned(system, seed):
    """Right-hand sides with all phases, shape (N, 3)."""
    rng, n = np.random.default_rng(seed), system.shape[0]
    return (rng.normal(size=(n, 3)) + 1j * rng.normal(size=(n, 3))).astype(system.dtype)


def saddle(graph, size, seed=0, dtype=complex):
    """Hermitian system whose diagonal is zero at every third node."""
    system = random_system(graph, size, seed, dtype, "hermitian", dominance=0.0)
    for node in list(system.labels)[1::3]:
        shape = system[node, node].shape
        system[node, node] = np.zeros(shape)
    return system


# By hand.


def test_two_rows_by_hand():
    # [[2, i], [-i, 1]]: determinant 2 - 1 = 1, inverse [[1, -i], [i, 2]]
    system = gs.System(gs.chain(2), 1, dtype=complex, symmetric="hermitian")
    system[0, 0], system[1, 1], system[0, 1] = 2.0, 1.0, 1j
    assert system.to_dense().tolist() == [[2, 1j], [-1j, 1]]
    assert repr(system) == "System(2 nodes, 1 edges, 2 unknowns, complex128, Hermitian)"

    factor = system.factorize()
    assert np.abs(factor.solve([1.0, 1j]) - [2.0, 3j]).max() <= 8 * EPS
    assert np.abs(factor.solve([1.0, 1j], "H") - [2.0, 3j]).max() <= 8 * EPS
    assert np.abs(factor.solve([1.0, 1j], "T") - [0.0, 1j]).max() <= 8 * EPS
    assert factor.inertia() == (2, 0)
    sign, logarithm = factor.slogdet()
    assert sign == 1.0 and abs(logarithm) <= 8 * EPS
    inverse = factor.selected_inverse()
    assert np.abs(inverse[0, 1] - [[-1j]]).max() <= 8 * EPS
    assert np.abs(inverse[1, 0] - [[1j]]).max() <= 8 * EPS


def test_a_pair_without_diagonal_is_one_pivot():
    # [[0, -2 i], [2 i, 0]]: eigenvalues -2 and 2, determinant -4
    system = gs.System(nx.empty_graph(1), 2, dtype=complex, symmetric="hermitian")
    system[0, 0] = [[0.0, -2j], [2j, 0.0]]
    fronts = Fronts(system.analyze(), system.dtype)
    assert fronts.factorize(system.values) == 0 and fronts.inertia() == (1, 1)
    assert fronts.solve(np.array([2j, 4j]), 1, False).tolist() == [2.0, -1.0]
    assert fronts.solve(np.array([2j, 4j]), 1, True).tolist() == [-2.0, 1.0]
    assert fronts.slogdet() == (-1.0, pytest.approx(np.log(4.0)))


# Families against dense ones.


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("definite", [True, False])
@pytest.mark.parametrize("dtype", TYPES)
def test_all_results_equal_dense_ones(name, dtype, definite):
    system = made(name, dtype, definite)
    A, factor, b = system.to_dense().astype(complex), system.factorize(), turned(system, 1)
    assert factor.symbolic.program[ONE_TRIANGLE] > 0
    bound = rounding(A, dtype)
    for trans, B in (("N", A), ("T", A.T), ("H", A)):
        x = np.linalg.solve(B, b)
        for columns in (0, slice(3)):
            found = factor.solve(b[:, columns], trans)
            assert np.abs(found - x[:, columns]).max() <= bound * np.abs(x).max()

    eigenvalues, inverse = np.linalg.eigvalsh(A), np.linalg.inv(A)
    assert factor.inertia() == ((eigenvalues > 0).sum(), (eigenvalues < 0).sum())
    sign, logarithm = factor.slogdet()
    assert sign == np.prod(np.sign(eigenvalues))
    assert abs(logarithm - np.linalg.slogdet(A)[1]) <= bound * (1.0 + abs(logarithm))
    pattern, selected = system.to_scipy() != 0, factor.selected_inverse().to_scipy().toarray()
    error = np.abs(selected - inverse)[pattern.toarray()]
    assert error.max() <= bound * np.abs(inverse).max()
    assert np.array_equal(selected, selected.conj().T)


GRAPHS = [gs.chain(9), gs.net(5), gs.ladder(5), nx.complete_graph(7)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("size", [1, 2, 5, 13])
def test_delayed_pivots_equal_dense_solutions(graph, size, dtype):
    # 40 and more pivots in one front are factorized in panels, others column by column
    system = saddle(graph, size, dtype=dtype)
    A, b = system.to_dense().astype(complex), turned(system, 2)
    condition, eigenvalues = np.linalg.cond(A), np.linalg.eigvalsh(A)
    eps = float(np.finfo(dtype).eps)
    assert condition < 1e5
    fronts = Fronts(system.analyze(zero_diagonal=()).in_postorder, system.dtype)
    assert fronts.factorize(system.values) == 0
    # growth of entries is bounded by 10 times for each pivot, and a few times in all in fact
    bound = 100 * len(A) * eps * condition
    for transposed, B in ((False, A), (True, A.T)):
        x = np.linalg.solve(B, b)
        found = fronts.solve(b.ravel(order="F"), 3, transposed).reshape(b.shape, order="F")
        assert np.abs(found - x).max() <= bound * np.abs(x).max()
    assert fronts.inertia() == ((eigenvalues > 0).sum(), (eigenvalues < 0).sum())
    assert abs(fronts.slogdet()[0] - np.prod(np.sign(eigenvalues))) <= bound

    factor = system.factorize()  # by whatever method
    x = factor.solve(b)
    assert np.abs(x - np.linalg.solve(A, b)).max() <= bound * np.abs(x).max()
    assert factor.inertia() == fronts.inertia()
    if dtype is not complex:  # warns of lost digits
        return
    inverse = factor.selected_inverse().to_scipy().toarray()
    exact = np.where(inverse != 0, np.linalg.inv(A), 0)
    assert np.abs(inverse - exact).max() <= bound * np.abs(exact).max()


def test_real_numbers_make_a_symmetric_system():
    system = random_system(gs.net(4), 3, symmetric="hermitian")
    assert system.symmetric is True and np.array_equal(system.to_dense(), system.to_dense().T)
    symbolic = analyze(system.graph, symmetric="hermitian", values=system.values)
    factor = system.factorize(symbolic)
    b = np.random.default_rng(0).normal(size=system.shape[0])
    assert np.abs(system @ factor.solve(b) - b).max() <= 1e-12 and factor.inertia()[1] == 0


# What a symmetric system offers.


def test_certificates_refinement_and_updates():
    system, rng = made("net, mixed", definite=False), np.random.default_rng(4)
    A, b = system.to_dense(), turned(system, 3)
    factor = system.factorize(refine=True)
    for trans, B in (("N", A), ("T", A.T), ("H", A)):
        x, found = factor.solve(b, trans, report=True)
        error = np.abs(x - np.linalg.solve(B, b)).max() / np.abs(x).max()
        assert factor.refines and found.backward_error <= 1e-14
        assert error <= found.forward_error <= 1e-9
    assert factor.rcond() >= 0.1 / (np.linalg.cond(A) * len(A))

    node = system.labels[3]
    other = system.copy()
    other[node, node] = np.asarray(system[node, node]) * rng.uniform(1.1, 2.0)
    factor.refactorize(other.values, changed=[node])
    full = gs.Factor(factor.symbolic, other.values)
    assert np.abs(factor.solve(b) - full.solve(b)).max() <= 1e-12
    again = pickle.loads(pickle.dumps(factor))
    assert np.array_equal(again.solve(b), factor.solve(b)) and again.inertia() == factor.inertia()


@pytest.mark.parametrize("count", [1, 5, 13])
def test_batches_equal_dense_solutions(count):
    system = made("net, mixed")
    A, rng = system.to_dense(), np.random.default_rng(5)
    scale, b = rng.uniform(0.5, 2.0, (count, 1)), turned(system, 6)
    batch = gs.Batch(system.analyze())
    batch.refactorize(scale * system.values)
    for trans, B in (("N", A), ("T", A.T), ("H", A)):
        x = np.linalg.solve(B, b) / scale[:, :, None]
        found = batch.solve(np.broadcast_to(b, (count, *b.shape)), trans=trans)
        assert np.abs(found - x).max() <= rounding(A, float) * np.abs(x).max()


def test_schur_complements_equal_dense_ones():
    for system in (made("crystal, six"), saddle(gs.net(5), 2)):
        A = system.to_dense()
        kept = list(system.labels)[::4]
        condensed = gs.condense(system, kept)
        rows = condensed.rows
        rest = np.setdiff1d(np.arange(len(A)), rows)
        S = A[np.ix_(rows, rows)]
        S = S - A[np.ix_(rows, rest)] @ np.linalg.solve(
            A[np.ix_(rest, rest)], A[np.ix_(rest, rows)]
        )
        bound = rounding(A[np.ix_(rest, rest)], float) * np.abs(A).max() ** 2
        found = condensed.schur()
        assert np.abs(found - S).max() <= bound and np.array_equal(found, found.conj().T)
        b = turned(system, 7)[:, 0]
        x = condensed.expand(np.linalg.solve(S, condensed.reduce(b)), b)
        assert np.abs(A @ x - b).max() <= 1e3 * bound


def test_redundant_constraints_have_bounded_multipliers():
    real = planar_four_bar(symmetric=True)
    system = gs.System(real.graph, dtype=complex, symmetric="hermitian")
    # a unitary change of variables: A <- U^H A U, U diagonal
    phase = np.exp(1j * np.arange(real.shape[0]))
    A = phase.conj()[:, None] * real.to_dense() * phase
    system.set_from_scipy(sp.csr_array(A))
    b = phase.conj() * (real @ np.ones(real.shape[0]))
    factor = system.factorize(redundant=True)
    x = factor.solve(b)
    assert sum(factor.redundant.values()) == 3
    assert np.abs(A @ x - b).max() <= 1e-11 and np.abs(x).max() <= 10.0


def test_transposes_and_reports():
    system = made("net, mixed")
    A = system.to_dense()
    assert np.array_equal(system.T.to_dense(), A.T) and np.array_equal(system.H.to_dense(), A)
    assert system.T.symmetric == system.H.symmetric == "hermitian"
    general = random_system(gs.chain(3), 2, dtype=complex)
    assert np.array_equal(general.H.to_dense(), general.to_dense().conj().T)
    assert "dense LDL^H takes" in str(gs.explain(system))


# Laws.


@given(st.integers(1, 6), st.integers(0, 50))
def test_inertia_is_kept_by_congruence(n, seed):
    # Sylvester's law: A and U^H A U have the same signs of eigenvalues
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], n)
    U = rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n)) + 6.0 * np.eye(n)
    A = U.conj().T @ (signs[:, None] * U)
    system = gs.System.from_scipy(sp.csr_array(A), 1, symmetric="hermitian")
    assert system.factorize().inertia() == ((signs > 0).sum(), (signs < 0).sum())


def test_quadratic_forms_are_real():
    system = made("crystal, scalars")
    b = turned(system, 8)[:, 0]
    energy = b.conj() @ system.solve(b)
    assert abs(energy.imag) <= 1e-14 * energy.real * len(b)


# Assembly.


def test_blocks_set_their_conjugate_transposes():
    graph = nx.path_graph(["a", "b"])
    system = gs.System(graph, [1, 2], dtype=complex, symmetric="hermitian")
    system["b", "a"] = [[1j], [2.0]]
    system["a", "b"] += [[10.0, 10j]]
    system["b", "b"] = [[3.0, 4j], [-4j, 5.0]]
    wanted = [[0, 10 - 1j, 2 + 10j], [10 + 1j, 3, 4j], [2 - 10j, -4j, 5]]
    assert system.to_dense().tolist() == wanted

    other = gs.System(graph, [1, 2], dtype=complex, symmetric="hermitian")
    other.set(["a"], ["b"], [[[10 - 1j, 2 + 10j]]])
    other.add(["b"], ["b"], [[[3.0, 4j], [-4j, 5.0]]])
    assert np.array_equal(other.to_dense(), system.to_dense())
    other.add(["b"], ["a"], [[[1j], [1.0]]])
    assert other["a", "b"].tolist() == [[10 - 2j, 3 + 10j]]


def test_rounding_is_averaged_away():
    system = gs.System(nx.path_graph(2), [2, 1], dtype=complex, symmetric="hermitian")
    system[0, 0] = [[5.0 + 4j * EPS, 1j], [-1j * (1 + EPS), 5.0]]
    block = np.asarray(system[0, 0])
    assert np.array_equal(block, block.conj().T)
    values = system.values.copy()
    values[0] += 4j * EPS
    system.values = values
    assert system[0, 0][0, 0].imag == 0.0


# Refusals.


def test_what_is_not_hermitian_is_refused():
    graph = nx.path_graph(["a", "b"])
    system = gs.System(graph, 2, dtype=complex, symmetric="hermitian")
    with pytest.raises(ValueError, match=r"node 'a' is not Hermitian.*differ by 2,.*is Hermitian"):
        system["a", "a"] = [[1.0 + 1j, 0.0], [0.0, 1.0]]  # an imaginary part of the diagonal
    with pytest.raises(ValueError, match="node 'a' is not Hermitian"):
        system["a", "a"] = [[1.0, 1j], [1j, 1.0]]  # symmetric
    with pytest.raises(ValueError, match="node 'b' is not Hermitian"):
        system.add(["b"], ["b"], [[[1.0, 1j], [1j, 1.0]]])
    values = np.zeros(system.graph.nnz, complex)
    values[system.places(["a"], ["b"])] = 1j
    with pytest.raises(ValueError, match=r"\('a', 'b'\) is not the conjugate transpose of block"):
        system.values = values
    assert not system.values.any()
    both = {("a", "b"): 1j * np.eye(2), ("b", "a"): 1j * np.eye(2)}
    with pytest.raises(ValueError, match="not the conjugate transpose"):
        gs.System(graph, 2, dtype=complex, symmetric="hermitian", blocks=both)
    with pytest.raises(ValueError, match="not the conjugate transpose"):
        gs.System.from_scipy(sp.csr_array([[1, 1j], [1j, 1]]), 1, symmetric="hermitian")


def test_factors_of_values_that_are_not_hermitian_are_refused():
    system = made("net, mixed")
    symbolic = system.analyze()
    values = system.values.copy()
    values[system.places([1], [1])[0, 0, 0]] += 1j
    with pytest.raises(ValueError, match="node 1 is not Hermitian"):
        gs.Factor(symbolic, values)
    symmetric = random_system(*FAMILIES["net, mixed"], dtype=complex, symmetric=True)
    with pytest.raises(ValueError, match="not Hermitian|conjugate transpose"):
        gs.Factor(symbolic, symmetric.values)
    with pytest.raises(ValueError, match="is not of this system"):
        symmetric.factorize(symbolic)
    with pytest.raises(ValueError, match="symmetric='hermitian'"):
        symmetric.factorize().inertia()


@pytest.mark.parametrize("word", ["Hermitian", "yes"])
def test_other_words_are_refused(word):
    with pytest.raises(ValueError, match="use True, False or 'hermitian'"):
        gs.System(gs.chain(2), 1, dtype=complex, symmetric=word)
    with pytest.raises(ValueError, match="use True, False or 'hermitian'"):
        analyze(gs.System(gs.chain(2), 1).graph, symmetric=word)


def test_singular_matrices_are_refused():
    system = gs.System(gs.chain(2), 1, dtype=complex, symmetric="hermitian")
    system[0, 0], system[1, 1], system[0, 1] = 1.0, 1.0, 1j
    with pytest.raises(gs.SingularPivotError, match="singular"):
        system.factorize()
