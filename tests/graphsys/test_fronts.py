"""Multifrontal factors: exchanges between blocks, delayed pivots, and what is read from them."""

import copy
import pickle

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

import graphsys as gs
from graphsys.families import random_system
from graphsys.kernels.base.widths import KEPT, LANES
from graphsys.kernels.blocks import blocks
from graphsys.kernels.frontal.front import (
    LARGEST,
    LEAST,
    PANEL,
    factorize_front,
    leading_dimension,
    room,
)
from graphsys.kernels.frontal.multifrontal import SOURCE_BITS
from graphsys.kernels.frontal.pivots import count_signs
from graphsys.numeric.factorization import Factorization
from graphsys.numeric.fronts import (
    MANY_DELAYED,
    REFINED_THRESHOLDS,
    THRESHOLD,
    WEAK_THRESHOLDS,
    Fronts,
)

TYPES = [
    np.float64, np.float32, np.complex128, pytest.param(np.complex64, marks=pytest.mark.slow),
]  # fmt: skip


def weak_system(seed, symmetric=False, dtype=np.float64):
    """Random blocks on a random graph; a third of the diagonal blocks is zero or next to it."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 16))
    graph = nx.gnm_random_graph(count, int(rng.integers(count - 1, 3 * count)), seed=seed)
    system = gs.System(
        graph, {i: int(rng.integers(1, 5)) for i in graph}, dtype=dtype, symmetric=symmetric
    )

    def block(u, v):
        found = rng.standard_normal((system[u, u].shape[0], system[v, v].shape[0]))
        if np.dtype(dtype).kind == "c":
            found = found + 1j * rng.standard_normal(found.shape)
        return found

    for u in graph:
        found = rng.choice([1.0, 1.0, 1e-9, 0.0]) * block(u, u)
        system[u, u] = found + found.T if symmetric else found
    for u, v in graph.edges:
        system[u, v] = block(u, v)
        if not symmetric:
            system[v, u] = block(v, u)
    return system


def fronts_of(system):
    """Fronts of a system in an order that knows nothing of its values."""
    symbolic = system.analyze(zero_diagonal=()).in_postorder
    fronts = Fronts(symbolic, system.dtype)
    failed = fronts.factorize(system.values)
    return fronts, failed


def regular(system, most=1e8):
    """Dense matrix of a system, in double precision; None where its condition is above ``most``."""
    kind = np.complex128 if system.dtype.kind == "c" else np.float64
    matrix = system.to_dense().astype(kind)
    return matrix if np.linalg.cond(matrix) < most else None


def test_a_pivot_that_is_zero_goes_to_the_parent():
    # a has no pivot of its own; the front of b and c, which are one supernode, gets its row
    graph = nx.path_graph(["a", "b", "c"])
    system = gs.System(graph, 1, blocks={("b", "b"): 4.0, ("c", "c"): 1.0})
    system["a", "b"], system["b", "a"] = 2.0, 3.0
    symbolic = system.analyze(["a", "c", "b"])
    fronts = Fronts(symbolic, system.dtype)
    assert fronts.factorize(system.values) == 0

    # rows, pivots and the places of factors and of names: 4 of a's rows and columns, and its pivot
    assert fronts.delayed == 1 and fronts.table.tolist() == [[2, 0, 0, 0], [3, 3, 0, 5]]
    # 2 x_b = 2, 3 x_a + 4 x_b = 7 and x_c = 5
    assert fronts.solve(np.array([2.0, 7.0, 5.0]), 1, False).tolist() == [1.0, 1.0, 5.0]
    sign, logarithm = fronts.slogdet()
    assert sign == -1.0 and logarithm == pytest.approx(np.log(6.0))


def test_a_symmetric_pair_without_diagonal_is_one_pivot():
    # in one front: [[0, 2], [2, 0]] has no pivot of 1 x 1, and the eigenvalues -2 and 2
    system = gs.System(nx.empty_graph(1), 2, symmetric=True)
    system[0, 0] = [[0.0, 2.0], [2.0, 0.0]]
    fronts, failed = fronts_of(system)

    assert failed == 0 and fronts.delayed == 0 and fronts.inertia() == (1, 1)
    assert fronts.solve(np.array([2.0, 4.0]), 1, False).tolist() == [2.0, 1.0]
    assert fronts.slogdet() == (-1.0, pytest.approx(np.log(4.0)))


def front(matrix, f, threshold, symmetric, weak=None):
    """Pivots of a front, what is left of it, the names of its rows, 2 x 2 ones, ``info``."""
    m = len(matrix)
    a, ld = np.full(room(m), np.nan), leading_dimension(m, symmetric)
    whole = a[: m * ld].reshape(m, ld).T
    whole[:m], whole[m:] = matrix, 0.0
    if symmetric:
        whole[np.triu_indices(m, 1)] = np.nan  # only the lower part
    ids, double, info = np.tile(np.arange(m), 2), np.zeros(m, np.int64), np.array([1.0, 0.0])
    weak = threshold if weak is None else weak
    pivots = factorize_front(a, m, ld, f, threshold, weak, symmetric, ids, double, info)
    return pivots, whole[:m], ids, double[:pivots], info


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_pivot_is_relative_to_its_column_by_hand(symmetric):
    # 1 under 4: a quarter of its column; L = 4, and 20 - 4 * 4 = 4 is left
    matrix = [[1.0, 4.0], [4.0, 20.0]]
    pivots, a, ids, double, (least, _) = front(matrix, 1, 0.1, symmetric)
    assert (pivots, least, a[1, 0], a[1, 1]) == (1, 0.25, 4.0, 4.0)
    assert ids.tolist() == [0, 1, 0, 1] and not double.any()
    assert front(matrix, 1, 0.3, symmetric)[0] == 0
    # 3 below is one of the fully summed, so its row is exchanged, or both are a pair
    pivots, a, ids, double, (least, _) = front(
        [[1.0, 3.0, 6], [3.0, 0.0, 0], [6, 0, 0]], 2, 0.4, symmetric
    )
    if symmetric:
        # alone, column 0 fails and goes behind column 1. Of [[0, 3], [3, 1]], the inverse is
        # [[-1/9, 1/3], [1/3, 0]]: L = (0, 6) times it, D stands in the first columns
        assert (pivots, double.tolist()) == (2, [1, 0]) and least == pytest.approx(0.5)
        assert ids[:3].tolist() == [1, 0, 2] and a[2, :2] == pytest.approx([2.0, 0.0])
    else:
        assert pivots == 2 and ids[:3].tolist() == [1, 0, 2] and least == 0.5
        assert a[1:, 0].tolist() == [1 / 3, 2.0]


def test_weak_pivots_are_taken_after_good_ones_and_their_growth_is_known():
    # 0.01 under 1 is weak, until 4 under 1 is done: column 1 comes first
    matrix = [[0.01, 0.0, 1.0], [0.0, 4.0, 1.0], [1.0, 1.0, 0.0]]
    pivots, a, ids, double, info = front(matrix, 2, 0.1, True, weak=0.01)
    assert (pivots, ids.tolist()) == (2, [1, 0, 2, 1, 0, 2]) and not double.any()
    assert info[LEAST] == 0.01 and info[LARGEST] == pytest.approx(100.0)  # 1 * 1 / 0.01
    assert a[2, 2] == pytest.approx(-100.25)
    assert front(matrix, 2, 0.1, True)[0] == 1
    assert front(matrix, 2, 0.1, True, weak=0.02)[0] == 1


def test_the_growth_of_a_pair_is_that_of_its_products():
    # D = [[0, 1], [1, 0]] above (5, 3), in the order 1, 0: l d l^T = 2 * 3 * 5, of two terms of 15
    matrix = [[0.0, 1.0, 3.0], [1.0, 0.0, 5.0], [3.0, 5.0, 0.0]]
    pivots, a, _, double, info = front(matrix, 2, 0.1, True)
    assert (pivots, double.tolist(), info[LARGEST]) == (2, [1, 0], 30.0)
    assert a[2].tolist() == [3.0, 5.0, -30.0]


@njit
def compiled_pivots(a, ld, m, f, first, last, threshold, info):
    return blocks.leading_pivots(a, 3, ld, m, f, 0, first, last, threshold, info, False)


def signs_of(m, lower, d):
    """Signs and least relative pivot of one front: columns of L, and pairs (D[k,k], D[k+1,k])."""
    fronts, names = np.array([m, len(d), 0, 0]), np.tile(np.arange(m), 2)
    factors, signs = np.concatenate([np.ravel(lower), np.ravel(d)]), np.empty(3)
    count_signs(fronts, names, factors, np.empty(m), signs)
    return signs.tolist()


def test_a_pivot_is_relative_to_the_terms_of_its_sum_by_hand():
    # [[4, 2], [2, 1.25]]: 0.25 is left of 1.25, of which 1 is L D L^T
    assert signs_of(2, [[1.0, 0.5], [0.0, 1.0]], [[4.0, 0.0], [0.25, 0.0]]) == [2, 0, 0.2]
    # a pair [[1, 2], [2, 4.5]] has determinant 0.5, and 8 more in |D|, nearly: 4.5 + 4.5, 2 2 2.12
    lower, d = [[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [4.5, 0.0]]
    positive, negative, least = signs_of(2, lower, d)
    assert (positive, negative) == (2, 0)
    assert least == pytest.approx(0.5 / (2 * 4.5 + 4 * np.sqrt(4.5)))
    # a pair without diagonal, then 3 = 7 - 4: |L| |D| |L^T| is 3 + 2 1 2 1
    lower = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]
    assert signs_of(3, lower, [[0.0, 2.0], [0.0, 0.0], [3.0, 0.0]]) == [2, 1, 3.0 / 7.0]


@pytest.mark.parametrize("seed", range(5))
def test_relative_pivots_do_not_depend_on_the_units_of_rows(seed):
    rng = np.random.default_rng(seed)
    lower = np.eye(6) + np.tril(rng.normal(size=(6, 6)), -1)
    lower[1, 0] = lower[4, 3] = 0.0
    d = np.column_stack([rng.normal(size=6), np.zeros(6)])
    d[[0, 3], 1] = rng.normal(size=2)
    unit = 2.0 ** rng.integers(-30, 30, 6)
    scaled = unit[:, None] * lower / unit
    given = np.column_stack([unit**2, unit * np.append(unit[1:], 0.0)]) * d
    assert signs_of(6, scaled.T, given) == pytest.approx(signs_of(6, lower.T, d), rel=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("m", [1, 2, 7, 8, 9, 15, 16, 17, 30])
def test_pivots_in_registers_are_those_of_plain_loops(m, dtype):
    rng = np.random.default_rng(m)
    for f, first, weak in [(m, 0, m), (max(1, m // 2), 0, m), (m, m // 3, m), (m, 0, m // 2)]:
        ld, info = leading_dimension(m, True), np.array([1.0, 0.0])
        whole = np.zeros((m, ld), dtype)  # by columns
        whole[:, :m] = rng.standard_normal((m, m)) + 3 * np.sqrt(m) * np.eye(m)
        if weak < m:
            whole[weak, weak] = 0.0 if weak == 0 else np.nan  # neither is a pivot
        a = np.full(3 + room(m), np.nan, dtype)
        a[3 : 3 + m * ld] = whole.ravel()
        twin, twins = a.copy(), info.copy()
        found = compiled_pivots(a, ld, m, f, first, f, 0.01, info)

        assert found == blocks._pivots_loop(twin, 3, ld, m, f, 0, first, f, 0.01, twins, False)
        assert found == min(f, weak) - first
        eps = m * np.finfo(dtype).eps
        np.testing.assert_allclose(info, twins, rtol=16 * eps)
        last = m if ld <= KEPT * LANES else f
        kept, others = (np.tril(x[3 : 3 + m * ld].reshape(m, ld)[:, :m].T) for x in (a, twin))
        np.testing.assert_allclose(kept[:, :last], others[:, :last], atol=64 * m * eps)


@pytest.mark.parametrize("m", [20, PANEL, PANEL + 9, 2 * PANEL + 5])
def test_panels_of_good_pivots_end_wherever_one_is_too_small(m):
    # rows 0 ... f of a front; the diagonal entry ``small`` fills in, but not enough for a pivot
    rng = np.random.default_rng(m)
    for f in (m, m - 3):
        for small in (0, 3, 8, f // 2, f - 1):
            matrix = rng.standard_normal((m, m))
            matrix = matrix + matrix.T + 4 * m * np.eye(m)
            lower = np.linalg.cholesky(matrix)[small, :small]
            matrix[small, small] = lower @ lower + 1e-3
            pivots, a, ids, double, (least, _) = front(matrix, f, THRESHOLD, True)
            assert pivots >= f - 1 and least >= THRESHOLD
            L, D = np.eye(m), np.zeros((m, m))
            L[:, :pivots] += np.tril(a[:, :pivots], -1)
            D[pivots:, pivots:] = np.tril(a[pivots:, pivots:])
            for k in range(pivots):
                D[k, k] = a[k, k]
                if double[k]:
                    D[k + 1, k], L[k + 1, k] = a[k + 1, k], 0.0
            D += np.tril(D, -1).T
            rounding = m / THRESHOLD * np.finfo(float).eps * np.abs(matrix).max()
            order = ids[:m]
            assert np.abs(L @ D @ L.T - matrix[np.ix_(order, order)]).max() <= rounding


@given(st.lists(st.floats(-0.99, 0.99), min_size=6, max_size=6), st.integers(0, 3))
def test_a_pair_is_a_pivot_where_the_bound_of_duff_and_reid_allows_it(numbers, decade):
    # neither diagonal entry is one alone; |D^-1| (r1, r2) <= 1 / u, r the largest entries beside D
    u = 0.1
    one, two = 0.1 * np.array(numbers[:2])
    beside = np.array(numbers[2:]).reshape(2, 2) * 10.0**decade
    matrix = np.block([[np.array([[one, 1.0], [1.0, two]]), beside.T], [beside, np.eye(2)]])
    largest = np.abs(np.linalg.inv(matrix[:2, :2])) @ np.abs(beside).max(axis=0)
    pivots, a, ids, double, (least, _) = front(matrix, 2, u, True)
    if abs(u * largest.max() - 1.0) < 1e-9:
        return  # rounding decides
    assert pivots == (2 if u * largest.max() < 1.0 else 0)
    if pivots:
        assert double.tolist() == [1, 0] and least >= u
        lower = beside @ np.linalg.inv(matrix[:2, :2])
        names = ids[:2]  # the second comes first where the first has been tried alone
        np.testing.assert_allclose(a[2:, :2], lower[:, names], atol=1e-12)
        left = np.tril(np.eye(2) - lower @ beside.T)
        np.testing.assert_allclose(np.tril(a[2:, 2:]), left, atol=1e-10)


@pytest.mark.parametrize("n", [3, PANEL, PANEL + 1, 2 * PANEL + 5])
@pytest.mark.parametrize("symmetric", [False, True])
def test_a_row_of_zeros_has_no_pivot_wherever_it_is(symmetric, n):
    rng = np.random.default_rng(n)
    matrix = rng.standard_normal((n, n))
    matrix += matrix.T
    for place in (0, n // 2, n - 1):
        singular = matrix.copy()
        singular[place], singular[:, place] = 0.0, 0.0
        pivots, _, ids, _, (least, _) = front(singular, n, THRESHOLD, symmetric)
        assert pivots == n - 1 and least > 0.0
        assert ids[n - 1] == place or not symmetric
        assert ids[2 * n - 1] == place


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("symmetric", [False, True])
def test_solutions_have_the_backward_error_of_partial_pivoting(symmetric, dtype):
    eps, delayed = np.finfo(dtype).eps, 0
    for seed in range(40):
        system = weak_system(seed, symmetric, dtype)
        matrix = regular(system, 1e-2 / eps)
        if matrix is None:
            continue
        fronts, failed = fronts_of(system)
        assert failed == 0
        delayed += fronts.delayed
        b = np.random.default_rng(seed).standard_normal((matrix.shape[0], 2))
        for transposed, dense in ((False, matrix), (True, matrix.T)):
            flat = b.astype(dtype).ravel(order="F")
            x = fronts.solve(flat, 2, transposed).reshape(b.shape, order="F")
            size = np.abs(dense).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
            # growth of threshold pivoting: each entry of L is at most 1 / THRESHOLD
            assert np.abs(dense @ x - b).max() <= matrix.shape[0] / THRESHOLD * eps * size
    assert delayed > 0


@pytest.mark.parametrize("symmetric", [False, True])
def test_determinant_inertia_and_inverse_are_those_of_the_dense_matrix(symmetric):
    for seed in range(60):
        system = weak_system(seed, symmetric)
        if (matrix := regular(system)) is None:
            continue
        fronts, _ = fronts_of(system)
        bound = matrix.shape[0] / THRESHOLD * np.finfo(float).eps * np.linalg.cond(matrix)
        sign, logarithm = np.linalg.slogdet(matrix)
        assert fronts.slogdet()[0] == sign
        assert abs(fronts.slogdet()[1] - logarithm) <= matrix.shape[0] * bound
        if symmetric:
            eigenvalues = np.linalg.eigvalsh(matrix)
            assert fronts.inertia() == ((eigenvalues > 0).sum(), (eigenvalues < 0).sum())
        inverse = np.linalg.inv(matrix)
        found = gs.SelectedInverse(system.graph, fronts.selected_inverse()).to_scipy().toarray()
        kept = found != 0.0
        assert np.abs(found - inverse)[kept].max() <= bound * np.abs(inverse).max()


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("dtype", [np.complex128, np.float32])
def test_inverses_of_other_numbers_are_those_of_the_dense_matrix(dtype, symmetric):
    for seed in range(60, 75):
        system = weak_system(seed, symmetric, dtype)
        if (matrix := regular(system, 1e4)) is None:
            continue
        fronts, _ = fronts_of(system)
        bound = matrix.shape[0] / THRESHOLD * np.finfo(dtype).eps * np.linalg.cond(matrix)
        inverse = np.linalg.inv(matrix)
        found = gs.SelectedInverse(system.graph, fronts.selected_inverse()).to_scipy().toarray()
        kept = found != 0.0
        assert np.abs(found - inverse)[kept].max() <= bound * np.abs(inverse).max()


def test_inverse_of_many_fronts_on_the_stack():
    # two trees of fronts, with several children each; diagonals of zero are delayed
    graph = nx.disjoint_union(gs.net(8), gs.net(4))
    system = gs.System(graph, 2, symmetric=True)
    rng = np.random.default_rng(0)
    for u, v in graph.edges:
        system[u, v] = rng.standard_normal((2, 2))
    matrix = regular(system, 1e6)
    assert matrix is not None
    fronts, failed = fronts_of(system)
    assert not failed and fronts.delayed > 0 and len(fronts.table) > 10
    inverse = np.linalg.inv(matrix)
    found = gs.SelectedInverse(system.graph, fronts.selected_inverse()).to_scipy().toarray()
    kept = found != 0.0
    bound = matrix.shape[0] / THRESHOLD * np.finfo(float).eps * np.linalg.cond(matrix)
    assert np.abs(found - inverse)[kept].max() <= bound * np.abs(inverse).max()


@given(seed=st.integers(0, 10**6), symmetric=st.booleans())
def test_every_regular_system_is_factorized_and_every_entry_of_l_is_bounded(seed, symmetric):
    system = weak_system(seed, symmetric)
    if regular(system) is None:
        return
    fronts, failed = fronts_of(system)
    assert failed == 0 and fronts.least >= THRESHOLD
    for m, e, at, _ in fronts.table.tolist():
        lower = fronts.arrays["factors"][at : at + m * e].reshape(e, m).T
        below = np.abs(np.tril(lower, -1))
        assert below.max(initial=0.0) <= 1.0 / THRESHOLD * (1.0 + 1e-12)


def test_wide_fronts_are_factorized_in_panels_with_failed_columns_tried_again():
    # 100 fully summed rows, more than two panels; half of the diagonal is zero
    rng = np.random.default_rng(0)
    for symmetric in (False, True):
        matrix = rng.standard_normal((100, 100))
        matrix = matrix + matrix.T if symmetric else matrix
        matrix[np.arange(0, 100, 2), np.arange(0, 100, 2)] = 0.0
        system = gs.System(nx.empty_graph(1), 100, symmetric=symmetric)
        system[0, 0] = matrix
        fronts, failed = fronts_of(system)
        b = rng.standard_normal(100)
        x = fronts.solve(b, 1, False)
        assert failed == 0
        assert np.abs(matrix @ x - b).max() <= 1e-12 * np.abs(matrix).sum(axis=1).max()


def test_a_singular_matrix_names_the_row_without_a_pivot():
    # the second row of node 1, wherever that is eliminated
    system = gs.System(nx.path_graph(3), 2)
    for i in range(3):
        system[i, i] = np.eye(2)
    system[1, 1] = [[1.0, 0.0], [0.0, 0.0]]
    for order in ([0, 1, 2], [1, 0, 2], [2, 0, 1]):
        symbolic = system.analyze(order)
        fronts = Fronts(symbolic, system.dtype)
        failed = fronts.factorize(system.values)
        assert failed == 1 + 2 * order.index(1) + 1
    system = gs.System(nx.empty_graph(1), 1)  # of one row, which is 0
    assert fronts_of(system)[1] == 1


@pytest.mark.parametrize("symmetric", [False, True])
def test_without_delayed_pivots_the_first_arrays_are_filled_to_their_ends(symmetric):
    fronts, failed = fronts_of(random_system(gs.net(4), 2, symmetric=symmetric))
    assert failed == 0 and fronts.delayed == 0
    m, e, factors, names = fronts.table[-1]
    assert fronts.arrays["factors"].size == factors + e * (m + 2 if symmetric else 2 * m - e)
    assert fronts.arrays["names"].size == names + 2 * m + e
    assert fronts.arrays["front"].size == room(fronts.table[:, 0].max())


def test_work_arrays_grow_where_pivots_are_delayed_to_the_root():
    # a long chain without any pivot but those between neighbours: 2 x 2 pivots across fronts
    system = gs.System(gs.chain(200), 3)
    for u, v in nx.path_graph(200).edges:
        system[u, v] = system[v, u] = np.diag([1.0, 2.0, 3.0])
    fronts, failed = fronts_of(system)
    assert failed == 0 and fronts.delayed > 0
    b = np.arange(600.0)
    assert system.to_scipy() @ fronts.solve(b, 1, False) == pytest.approx(b)


def test_barrier_systems_of_optimal_control_keep_their_digits_and_inertia():
    # min z^T H z with dynamics as constraints: H from 1e-10 to 1e10, as in late iterations
    stages, states, width = 60, 4, 6
    rng = np.random.default_rng(1)
    n, m = stages * width, stages * states
    rows = [("z", k) for k in range(stages)], [("c", k) for k in range(stages)]
    graph = nx.Graph(zip(*rows))
    graph.add_edges_from((("c", k), ("z", k - 1)) for k in range(1, stages))
    system = gs.System(graph, {u: width if u[0] == "z" else states for u in graph}, symmetric=True)
    for k in range(stages):
        system[("z", k), ("z", k)] = np.diag(10.0 ** rng.uniform(-10, 10, width))
        system[("c", k), ("z", k)] = np.hstack([rng.standard_normal((4, 2)), -np.eye(4)])
        if k:
            moved = np.hstack([np.zeros((4, 2)), 0.5 * rng.standard_normal((4, 4))])
            system[("c", k), ("z", k - 1)] = moved
    factor = system.factorize()
    matrix = system.to_scipy()
    b = matrix @ rng.standard_normal(n + m)
    x = factor.solve(b)

    size = abs(matrix) @ np.abs(x) + np.abs(b)
    assert (np.abs(matrix @ x - b) / size).max() <= 1e-14
    assert factor.report.refinements <= 2 and factor.inertia() == (n, m)

    found = factor._factorization  # pivots stay in the order of the analysis, but for a few
    assert found.fronts is not None and found.scaling is None
    assert found.fronts.thresholds in REFINED_THRESHOLDS
    for seed in range(3):  # other barriers
        rng = np.random.default_rng(seed)
        for k in range(stages):
            system[("z", k), ("z", k)] = np.diag(10.0 ** rng.uniform(-10, 10, width))
        matrix = system.to_scipy()
        x = factor.refactorize(system.values).solve(b)
        size = abs(matrix) @ np.abs(x) + np.abs(b)
        assert (np.abs(matrix @ x - b) / size).max() <= 1e-14
        assert factor.inertia() == (n, m)


def control_system(seed, stages, states, controls, low, high):
    """Scalar KKT matrix of a chain, its Hessian a diagonal of two clusters of sizes."""
    rng = np.random.default_rng(seed)
    width = states + controls
    n = stages * width + states
    large = rng.random(n) < 0.5
    hessian = 10.0 ** np.where(large, rng.uniform(high - 1, high, n), rng.uniform(low, low + 1, n))
    dynamics = sp.lil_array(((stages + 1) * states, n))
    dynamics[:states, :states] = np.eye(states)
    for k in range(stages):
        rows, columns = slice((k + 1) * states, (k + 2) * states), k * width
        moved = np.eye(states) + 0.1 * rng.normal(size=(states, states))
        driven = 0.1 * rng.normal(size=(states, controls))
        dynamics[rows, columns : columns + width] = -np.hstack([moved, driven])
        dynamics[rows, columns + width : columns + width + states] = np.eye(states)
    return sp.block_array([[sp.diags_array(hessian), dynamics.T], [dynamics, None]]).tocsc()


@pytest.mark.parametrize("seed", range(4))
def test_diagonals_of_two_clusters_need_two_refinements_at_most(seed):
    matrix = control_system(seed, 30, 3, 2, -4, 10)
    factor = gs.System.from_scipy(matrix, symmetric=True).factorize()
    for b in np.random.default_rng(seed).standard_normal((3, matrix.shape[0])):
        x = factor.solve(b)
        size = abs(matrix) @ np.abs(x) + np.abs(b)
        assert (np.abs(matrix @ x - b) / size).max() <= 1e-14
        assert factor.report.refinements <= 2


def test_doubtful_factors_of_wide_supernodes_of_scalars_become_fronts():
    # 12 states and 4 controls; 2 and 1 have supernodes of few rows, which stay
    for states, controls, fronts in ((12, 4, True), (2, 1, False)):
        width = states + controls
        stage = [sp.coo_array(np.full((width, width), 0.01))] * 20
        rest = sp.coo_array((22 * states, 22 * states))  # the last states and all multipliers
        matrix = control_system(0, 20, states, controls, 0, 1) + sp.block_diag([*stage, rest])
        system = gs.System.from_scipy(matrix, 1, symmetric=True)
        factor = system.factorize()
        found = factor._factorization
        assert (found.fronts is not None) == fronts and found.scaling is None
        inertia = matrix.shape[0] - 21 * states, 21 * states
        assert factor.inertia() == inertia
        b = np.random.default_rng(0).standard_normal(matrix.shape[0])
        for _ in range(2):
            x = factor.refactorize(system.values).solve(b)
            size = abs(matrix) @ np.abs(x) + np.abs(b)
            assert (np.abs(matrix @ x - b) / size).max() <= 1e-14


def test_entries_of_a_front_are_listed_by_runs():
    # 0 has the neighbours 1 ... 6, after its diagonal; 1 has 0 between its diagonal and 2 ... 6
    graph = nx.complete_bipartite_graph(2, 5)
    graph.add_edge(0, 1)
    system = gs.System(graph, 1, symmetric=True)
    rng = np.random.default_rng(0)
    for u in graph:
        system[u, u] = 9.0
    for u, v in graph.edges:
        system[u, v] = rng.standard_normal()
    symbolic = system.analyze(range(7)).for_fronts
    fronts = Fronts(symbolic, system.dtype)
    start, source, _ = fronts.listed
    lengths = (source >> SOURCE_BITS).tolist()
    assert sum(lengths) == 7 + 11 and start[-1] == len(lengths)
    assert sorted(lengths)[-2:] == [5, 7]
    assert fronts.factorize(system.values) == 0
    b = rng.standard_normal(7)
    expected = np.linalg.solve(system.to_dense(), b)
    assert fronts.solve(b, 1, False) == pytest.approx(expected, rel=1e-13)


def test_nodes_are_ordered_where_their_pivots_were_if_many_are_delayed():
    # a zero Hessian: each state gets its pivot from a constraint, whatever the order says
    n = 40
    graph = nx.Graph((("x", k), ("c", k)) for k in range(n))
    graph.add_edges_from((("c", k), ("x", k + 1)) for k in range(n - 1))
    system = gs.System(graph, 1, symmetric=True)
    for k in range(n):
        system[("x", k), ("x", k)] = 1e-9
        system[("c", k), ("x", k)] = 1.0
        if k < n - 1:
            system[("c", k), ("x", k + 1)] = -0.5
    symbolic = system.analyze([("x", k) for k in range(n)] + [("c", k) for k in range(n)])
    before = Factorization(symbolic, np.dtype(float), refine_below=1.0)
    found, *_ = before.stable(system.values, refines=True)

    fronts = Fronts(symbolic.in_postorder, np.dtype(float), None, WEAK_THRESHOLDS)
    assert fronts.factorize(system.values) == 0 and fronts.delayed > MANY_DELAYED * 2 * n
    assert found.fronts is not None and found.fronts.delayed <= MANY_DELAYED * 2 * n
    assert list(found.symbolic.order) != list(symbolic.order)
    b = np.arange(2.0 * n)
    x = found.fronts.solve(b, 1, False)
    assert x == pytest.approx(np.linalg.solve(system.to_scipy().toarray(), b), rel=1e-9)
    assert found.fronts.inertia() == (n, n)


@pytest.mark.parametrize("size", [0, 1])
def test_nodes_without_rows_are_in_the_order_too(size):
    # the same with nodes of size 0 at both ends, whose labels come first and last
    sizes = {"first": 0, "a": 1, "b": size, "c": 1, "last": 0}
    graph = nx.path_graph(list(sizes))
    graph.add_edge("a", "c")
    system = gs.System(graph, sizes, symmetric=True)
    system["a", "c"] = 1.0
    if size:
        system["b", "b"] = 2.0
    symbolic = system.analyze(list(sizes))
    fronts = Fronts(symbolic.in_postorder, np.dtype(float), None, WEAK_THRESHOLDS)
    assert fronts.factorize(system.values) == 0
    assert sorted(fronts.order()) == sorted(sizes)
    rows = [label for label in fronts.order() if sizes[label]]
    assert rows.index("a") + 1 == rows.index("c") or rows.index("c") + 1 == rows.index("a")
    assert symbolic.in_order(fronts.order()).order == fronts.order()


@pytest.mark.parametrize("dtype", [float, complex])
def test_an_infinite_pivot_is_refused(dtype):
    # 1 / inf = 0: nothing that is computed afterwards is infinite
    system = gs.System(gs.chain(4), 1, dtype=dtype, symmetric=True)
    for k in range(4):
        system[k, k] = 0.25
        if k < 3:
            system[k, k + 1] = 1.0
    symbolic = system.analyze(range(4))
    fronts = Fronts(symbolic.in_postorder, np.dtype(dtype), None, WEAK_THRESHOLDS)
    for at in system.graph.diagonal_at:
        for bad in (np.inf, -np.inf, np.nan):
            values = system.values.copy()
            values[at] = bad
            assert fronts.factorize(values) > 0
        assert fronts.factorize(system.values) == 0


def test_weak_pivots_of_rows_of_other_scales_do_not_hide_errors():
    # [[0, 1, 1], [1, 1, 0], [1, 0, 2]] with rows and columns scaled by powers of two far apart
    A = np.array([[1e-3, 1.0, 1.0], [1.0, 1.0, 0.0], [1.0, 0.0, 2.0]])
    for seed in range(40):
        scale = np.random.default_rng(seed).integers(-240, 241, 3)
        wide = sp.csr_array(np.ldexp(np.ldexp(A, scale[:, None]), scale))
        b = np.ldexp(A @ [1.0, -2.0, 3.0], scale)
        x = gs.System.from_scipy(wide, symmetric=True).factorize().solve(b)
        assert np.ldexp(x, scale) == pytest.approx([1.0, -2.0, 3.0], rel=1e-14)


def test_factors_with_delayed_pivots_serve_every_function_of_a_factor():
    system = weak_system(7)
    matrix = regular(system)
    assert matrix is not None
    found, *_ = Factorization(system.analyze(), system.dtype).stable(system.values, delays=True)
    assert found.fronts is not None and found.scaling is not None
    factor = system.factorize()
    factor._factorization = found
    factor._use(system.values)
    b = np.random.default_rng(0).standard_normal((matrix.shape[0], 3))
    for trans, dense in (("N", matrix), ("T", matrix.T), ("H", matrix.T)):
        assert dense @ factor.solve(b, trans) == pytest.approx(b)
    assert factor.slogdet() == pytest.approx(np.linalg.slogdet(matrix))
    inverse = np.linalg.inv(matrix)
    label = next(iter(system.labels))
    at = system.graph.row_start[system.graph.node(label)]
    first = factor.selected_inverse()[label, label]
    size = first.shape[0]
    assert first == pytest.approx(inverse[at : at + size, at : at + size])
    assert 0.0 < factor.rcond() < 1.0 and factor.nbytes > 0
    assert factor.refactorize(2.0 * system.values).solve(b) == pytest.approx(
        np.linalg.solve(2.0 * matrix, b)
    )


def test_a_factor_with_delayed_pivots_survives_pickling_and_says_what_it_did():
    system = weak_system(7)
    factor = system.factorize()
    assert factor.delayed_pivots > 0
    assert "pivots delayed to a later" in gs.explain(factor)
    b = np.ones(system.shape[0])
    for other in (pickle.loads(pickle.dumps(factor)), copy.deepcopy(factor)):
        assert np.array_equal(other.solve(b), factor.solve(b))
        assert other.refactorize(system.values).delayed_pivots == factor.delayed_pivots
