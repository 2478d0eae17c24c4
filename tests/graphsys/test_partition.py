"""Nodes that `gs.splu` finds in scalar matrices: partitions by hand, and solves against dense."""

import copy
import pickle

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import graphsys as gs
from graphsys.analysis import partition as module
from graphsys.analysis.partition import find_partition, mirror
from graphsys.analysis.supervariables import FEWEST_NODES
from graphsys.interop.sparse_linalg import FactorizedMatrix
from graphsys.matrix.from_scipy import canonical
from graphsys.numeric import small_matrix

EPS = np.finfo(float).eps


@pytest.fixture(autouse=True, scope="module")
def _analyzed():
    """All matrices are analyzed here: they would get factors for one matrix at first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small_matrix, "SMALL_ROWS", 0)
        patch.setattr(FactorizedMatrix, "_begin", FactorizedMatrix._analyze)
        yield


def found(A):
    rows = canonical(A)
    return find_partition(rows, mirror(rows))


def scattered(count, unknowns, rng, symmetric, dominant=True):
    """Matrix of a tree of nodes with several unknowns, which come by kind: first all first ones."""
    base = nx.to_scipy_sparse_array(nx.random_labeled_tree(count, seed=int(rng.integers(2**31))))
    A = sp.kron(np.ones((unknowns, unknowns)), base + sp.eye_array(count)).tocsr()
    A.data = rng.standard_normal(A.nnz)
    A = A + A.T if symmetric else A
    return sp.csr_array(A + 4.0 * unknowns * count * sp.eye_array(A.shape[0]) * dominant)


def stages(rng, count=30, states=6, controls=2, symmetric=True):
    """Interior-point matrix of optimal control; its multipliers have a diagonal of zeros."""
    width = states + controls
    blocks = [np.diag(10.0 ** rng.uniform(-3, 3, width)) + 0.1 for _ in range(count)]
    H = sp.block_diag([sp.coo_array(block) for block in blocks])
    blocks = [rng.standard_normal((states, width)) for _ in range(count)]
    G = sp.block_diag([sp.coo_array(block) for block in blocks])
    last = np.hstack([np.eye(states), np.zeros((states, controls))])
    G = G - sp.kron(sp.eye_array(count, k=1), last)
    across = G.T if symmetric else (G * 2.0).T
    return sp.csr_array(sp.block_array([[H, across], [G, None]]))


def backward_error(A, x, b):
    return np.max(np.abs(A @ x - b) / (abs(A) @ np.abs(x) + np.abs(b)))


@pytest.fixture
def any_size(monkeypatch):
    monkeypatch.setattr(module, "FEWEST_NODES", 0)
    monkeypatch.setattr(module, "FEWEST_NEIGHBORS", 0)
    monkeypatch.setattr("graphsys.analysis.supervariables.FEWEST_NODES", 0)
    monkeypatch.setattr("graphsys.analysis.supervariables.FEWEST_NEIGHBORS", 0)


def test_angles_and_voltages_of_a_path_of_buses(any_size):
    # angles of buses 0, 1, 2, then voltages of buses 0 and 2: bus 1 is a generator
    bus = np.array([0, 1, 2, 0, 2])
    A = sp.csr_array((np.abs(bus[:, None] - bus[None, :]) <= 1).astype(float))

    partition = found(A)

    assert partition.order.tolist() == [0, 3, 1, 2, 4]
    assert partition.size.tolist() == [2, 1, 2]


def test_rows_that_follow_each_other_keep_their_order():
    partition = found(stages(np.random.default_rng(0)))

    assert partition.order is None
    assert partition.size.tolist() == [8] * 30 + [6] * 30


def test_grids_circuits_and_small_matrices_have_no_nodes():
    grid = nx.to_scipy_sparse_array(nx.grid_2d_graph(20, 20)) + sp.eye_array(400)
    tree = nx.to_scipy_sparse_array(nx.barabasi_albert_graph(400, 2, seed=0)) + sp.eye_array(400)
    small = scattered(FEWEST_NODES // 2 - 1, 2, np.random.default_rng(0), False)
    for A in (grid, tree, small):
        assert found(sp.csr_array(A)) is None


def test_entries_across_the_diagonal_by_hand():
    A = sp.csr_array(np.array([[1.0, 2.0, 0.0], [3.0, 0.0, 4.0], [0.0, 5.0, 6.0]]))
    # entries by rows: (0, 0), (0, 1), (1, 0), (1, 2), (2, 1), (2, 2)
    assert mirror(A).tolist() == [0, 2, 1, 4, 3, 5]
    A = sp.csr_array(np.array([[1.0, 2.0, 0.0], [3.0, 0.0, 4.0], [7.0, 5.0, 6.0]]))
    assert mirror(A) is None and mirror(sp.csr_array(A.T)) is None


@given(st.integers(0, 2**32 - 1))
def test_entries_across_the_diagonal_are_those_of_the_transpose(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    pattern = rng.random((n, n)) < 0.4
    if rng.random() < 0.7:
        pattern |= pattern.T
    A = sp.csr_array(pattern.astype(float))
    A.data = np.arange(1.0, A.nnz + 1)
    across = mirror(A)

    assert (across is not None) == (pattern == pattern.T).all()
    if across is not None:
        turned = sp.csr_array((A.data[across], A.indices, A.indptr), A.shape)
        assert (turned.toarray() == A.toarray().T).all()


@given(st.integers(0, 2**32 - 1))
def test_partitions_are_of_all_rows_and_keep_similar_rows_together(seed):
    rng = np.random.default_rng(seed)
    unknowns = int(rng.integers(2, 5))
    count = FEWEST_NODES // unknowns + int(rng.integers(1, 30))
    A = scattered(count, unknowns, rng, True)
    shuffle = rng.permutation(A.shape[0])
    partition = found(sp.csr_array(A[shuffle][:, shuffle]))

    assert partition.size.sum() == A.shape[0]
    assert np.sort(partition.order).tolist() == list(range(A.shape[0]))
    node = np.repeat(np.arange(partition.size.size), partition.size)
    owner = shuffle[partition.order] % count
    for k in np.unique(owner[node == 0]):  # all unknowns of a point are in one node, up to 8 rows
        assert np.unique(node[owner == k]).size == 1


KINDS = [np.float64, np.float32, np.complex128, np.complex64]


@given(
    st.integers(0, 2**32 - 1),
    st.booleans(),
    st.sampled_from(KINDS),
    st.sampled_from(["csr", "csc"]),
)
def test_solutions_with_scattered_unknowns_are_those_of_dense_algebra(seed, symmetric, kind, form):
    rng = np.random.default_rng(seed)
    unknowns = int(rng.integers(2, 5))
    A = scattered(FEWEST_NODES // unknowns + 3, unknowns, rng, symmetric).astype(kind)
    if A.dtype.kind == "c":
        A.data = A.data * np.exp(0.3j * rng.standard_normal(A.nnz)).astype(kind)
    A, n = A.asformat(form), A.shape[0]
    b = rng.standard_normal((n, 3)).astype(kind)
    factors = gs.splu(A)
    tolerance = 64 * np.finfo(kind).eps  # the matrix is dominant: no growth, a condition below 2

    assert factors._blocks is not None and factors._blocks.order is not None
    assert factors._blocks.system.symmetric == (symmetric and A.dtype.kind == "f")
    for trans, M in (("N", A), ("T", A.T), ("H", A.conj().T)):
        x = factors.solve(b, trans)
        assert x.dtype == kind
        assert np.abs(x - np.linalg.solve(M.toarray(), b)).max() <= tolerance * np.abs(x).max()
        assert np.array_equal(factors.solve(b[:, 0], trans).shape, (n,))
    other = A.copy()
    other.data = (other.data * 2.0).astype(kind)
    factors.refactorize(other)
    assert np.abs(factors.solve(b) - np.linalg.solve(other.toarray(), b)).max() <= tolerance
    sign, logarithm = factors.factor.slogdet()
    wanted = np.linalg.slogdet(other.toarray())
    assert abs(logarithm - wanted[1]) <= n * tolerance * abs(wanted[1])
    assert abs(sign - wanted[0]) <= n * tolerance
    assert np.abs(factors.factor.solve(b) - factors.solve(b)).max() <= tolerance
    assert np.array_equal(factors.system.to_dense(), other.toarray())
    assert np.abs(gs.spsolve(A, b) - np.linalg.solve(A.toarray(), b)).max() <= tolerance


@given(st.integers(0, 2**32 - 1))
def test_solutions_with_stages_are_stable(seed):
    rng = np.random.default_rng(seed)
    A, other = stages(rng), stages(rng)
    factors, b = gs.splu(A), rng.standard_normal(A.shape[0])

    assert factors._blocks is not None and factors._blocks.system.symmetric
    for M in (A, other, A):
        factors.refactorize(M)
        assert backward_error(M, factors.solve(b), b) <= 1e-14
        assert backward_error(M, factors.solve(b, "T"), b) <= 1e-14
    assert backward_error(A, gs.spsolve(A, b), b) <= 1e-14


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_matrices_that_are_symmetric_no_more_are_solved_too(form):
    rng = np.random.default_rng(1)
    for make in (
        lambda symmetric: stages(rng, symmetric=symmetric),
        lambda symmetric: scattered(80, 3, rng, symmetric),
    ):
        A = make(True).asformat(form)
        B = A.copy()
        B.data = A.data * rng.uniform(1.0, 1.1, A.nnz)
        factors, b = gs.splu(A), rng.standard_normal(A.shape[0])
        assert factors._blocks.system.symmetric
        for M in (B, 2.0 * B, A, 3.0 * B):
            factors.refactorize(M)
            for trans, T in (("N", M), ("T", M.T)):
                assert backward_error(T, factors.solve(b, trans), b) <= 1e-13
        assert factors._blocks is None or not factors._blocks.system.symmetric


@pytest.mark.parametrize("symmetric", [False, True])
def test_other_patterns_and_numbers_are_refused_and_leave_the_factors(symmetric):
    rng = np.random.default_rng(2)
    A = scattered(80, 3, rng, symmetric)
    factors, b = gs.splu(A), rng.standard_normal(240)
    x = factors.solve(b)
    empty = np.argwhere(A.toarray() == 0.0)[0]
    more = A.tolil()
    more[tuple(empty)] = 1.0
    bad = A.copy()
    bad.data[7] = np.nan
    i, j = empty
    for other, sentence in (
        (more, rf"A\[{i}, {j}\] lies outside the pattern of the first matrix"),
        (bad, "is nan: every entry must be finite"),
        (A[:-1, :-1], "has shape"),
    ):
        with pytest.raises(ValueError, match=sentence):
            factors.refactorize(other)
        assert np.array_equal(factors.solve(b), x)
    fewer = sp.coo_array(sp.diags_array(A.diagonal()))  # in a third format, without most entries
    factors.refactorize(fewer)
    assert factors.solve(b) == pytest.approx(b / A.diagonal(), rel=4 * EPS)
    assert np.array_equal(factors.system.to_dense(), fewer.toarray())
    factors.refactorize(A)
    assert factors.solve(b) == pytest.approx(x, rel=1e-12)
    with pytest.raises(ValueError, match=r"\(240,\)"):
        factors.solve(np.ones(239))


@pytest.mark.parametrize("symmetric", [False, True])
def test_singular_matrices_are_named_by_the_rows_of_the_user(symmetric):
    rng = np.random.default_rng(3)
    A = scattered(80, 3, rng, symmetric)
    dense = A.toarray()
    dense[85], dense[:, 85] = 0.0, 0.0  # the second unknown of node 5
    lost = sp.csr_array((dense[np.repeat(range(240), np.diff(A.indptr)), A.indices], A.indices,
                         A.indptr), A.shape)  # fmt: skip
    for call in (gs.splu, lambda M: gs.spsolve(M, np.ones(240)), gs.factorized):
        with pytest.raises(gs.SingularPivotError, match="no pivot is left for row 85;") as caught:
            call(lost)
        assert caught.value.node == 85
    # rows 5, 85 and 165, the unknowns of node 5, have no other entries, and two of them are equal
    mine, dense = [5, 85, 165], A.toarray()
    dense[mine], dense[:, mine] = 0.0, 0.0
    dense[np.ix_(mine, mine)] = 1.0 + np.diag([0.0, 0.0, 3.0])
    factors, lost = gs.splu(A), sp.csr_array(dense)
    with pytest.raises(gs.SingularPivotError, match="singular to working precision at"):
        gs.splu(lost)
    with pytest.raises(gs.SingularPivotError, match="at one of the rows 5, 85, 165:") as caught:
        factors.refactorize(lost)
    assert caught.value.node == 5
    with pytest.raises(ValueError, match="failed"):
        factors.solve(np.ones(240))
    factors.refactorize(A)  # and goes on
    assert backward_error(A, factors.solve(np.ones(240)), np.ones(240)) <= 1e-14


def test_a_singular_matrix_that_is_symmetric_no_more_is_refused():
    rng = np.random.default_rng(4)
    A = scattered(80, 3, rng, True)
    factors, b = gs.splu(A), np.ones(240)
    lost = A.copy()
    lost.data[lost.indptr[85] : lost.indptr[86]] = 0.0  # a row, not its column
    with pytest.raises(gs.SingularPivotError, match="no pivot is left for row 85;"):
        factors.refactorize(lost)
    with pytest.raises(ValueError, match="failed"):
        factors.solve(b)
    factors.refactorize(2.0 * A)
    assert backward_error(2.0 * A, factors.solve(b), b) <= 1e-14


def test_a_structurally_singular_pattern_with_nodes_is_refused():
    A = scattered(80, 3, np.random.default_rng(5), False)
    keep = np.repeat(np.arange(240), np.diff(A.indptr)) != 85
    row = np.repeat(np.arange(240), np.diff(A.indptr))[keep]
    lost = sp.csr_array(sp.coo_array((A.data[keep], (row, A.indices[keep])), shape=A.shape))
    with pytest.raises(gs.SingularPivotError, match="no pivot is left for row 85;"):
        gs.splu(lost)


@pytest.mark.parametrize("symmetric", [False, True])
def test_copies_and_pickles_have_factors_of_their_own(symmetric):
    A = scattered(80, 3, np.random.default_rng(6), symmetric)
    factors, b = gs.splu(A), np.arange(240.0)
    factors.refactorize(A)
    x = factors.solve(b)
    for other in (copy.copy(factors), copy.deepcopy(factors), pickle.loads(pickle.dumps(factors))):
        assert np.array_equal(other.solve(b), x)
        other.refactorize(2.0 * A)
        assert other.solve(b) == pytest.approx(x / 2.0, rel=1e-13)
        assert np.array_equal(factors.solve(b), x)
        assert other.nnz == factors.nnz and other.diagonal_blocks == 1


def test_unsymmetric_stages_with_weak_pivots_keep_sparse_factors():
    # Static pivots of blocks fail, and unsymmetric fronts that delay them take much longer.
    rng = np.random.default_rng(7)
    A = stages(rng, 60, symmetric=False)
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    scale = 10.0 ** rng.uniform(-6, 6, A.shape[0])
    A.data = A.data * scale[row]
    factors, b = gs.splu(A), rng.standard_normal(A.shape[0])

    assert found(A) is not None and factors._uses_lu
    for M in (A, 2.0 * A):
        factors.refactorize(M)
        assert backward_error(M, factors.solve(b), b) <= 1e-13


def test_solutions_in_the_natural_order_use_no_partition():
    A = scattered(80, 3, np.random.default_rng(8), True)
    factors, b = FactorizedMatrix(A, "NATURAL"), np.ones(240)

    assert factors._blocks.is_plain and factors.factor is factors._blocks.factor
    assert factors.factor.symbolic.ordering == "given"
    assert backward_error(A, factors.solve(b), b) <= 1e-14


def test_meshes_with_symmetric_values_have_symmetric_factors():
    grid = sp.csr_array(nx.laplacian_matrix(nx.grid_2d_graph(30, 30)) + sp.eye_array(900))
    factors, b = gs.splu(grid), np.random.default_rng(0).standard_normal(900)

    assert factors._blocks.system.symmetric and factors._blocks.order is None
    assert not factors.factor.symbolic.symmetric  # that of users takes any matrix of the pattern
    for trans in "NTH":
        assert backward_error(grid, factors.solve(b, trans), b) <= 1e-15
    other = grid.copy()
    other.data = grid.data * np.random.default_rng(1).uniform(0.9, 1.1, grid.nnz)
    factors.refactorize(other)
    assert not factors._blocks.system.symmetric
    assert backward_error(other, factors.solve(b), b) <= 1e-15
