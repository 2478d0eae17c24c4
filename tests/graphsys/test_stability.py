"""Factors are as good as those of a backward stable method, or nobody gets a result from them."""

import threading
import warnings
from unittest import mock

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import graphsys as gs
from graphsys.families import random_system
from graphsys.kernels.base.layout import GROWTH, ROWS, SHORT
from graphsys.kernels.base.widths import GROWN
from graphsys.kernels.blocks.growth import pivot_growth
from graphsys.kernels.single.refinement import FINE, GOOD
from graphsys.numeric.factorization import Factorization
from graphsys.numeric.residuals import Matrix
from graphsys.numeric.solver import Solver
from graphsys.numeric.stability import contraction

EPS = np.finfo(float).eps


def scalars(matrix, **options):
    """System of single rows; edges where the matrix has entries."""
    return gs.System.from_scipy(sp.csr_array(np.asarray(matrix, float)), 1, **options)


def test_tiny_pivots_that_started_tiny_are_not_trusted():
    # 1e-16 eliminated first makes 1e16 of 1e-16: the 1 of the right-hand side is lost
    system = scalars([[1e-16, 1.0], [1.0, 1e-16]])
    symbolic = system.analyze([0, 1])
    for factor in (system.factorize(), system.factorize(symbolic)):
        assert np.allclose(factor.solve([1.0, 1.0]), [1.0, 1.0], rtol=1e-15)
        assert np.allclose(factor.solve([1.0, 1.0], "T"), [1.0, 1.0], rtol=1e-15)
        assert np.isclose(factor.rcond(), 1.0)


def test_growth_of_a_pivot_by_hand():
    # 2 - 1 * (1 / 0.01) * 1 = -98: row 1 held 2 in the matrix and 98 as a pivot
    system = scalars([[0.01, 1.0], [1.0, 2.0]])
    factor = system.factorize(system.analyze([0, 1]), refine=False)
    assert factor.pivot_growth == pytest.approx(49.0) and not factor.refines
    values = system.values.copy()
    values[0] = 0.001  # 2 - 1000 = -998
    factor.refactorize(values)
    assert factor.pivot_growth == pytest.approx(499.0) and factor.pivot_growth > GROWN
    assert factor._factorization.info[GROWTH] == factor.pivot_growth  # of the kernel, beyond GROWN
    doubtful = system.factorize(system.analyze([0, 1])).refactorize(values)
    assert doubtful.refines and doubtful.solve([1.0, 1.0]) is not None
    assert doubtful.report.backward_error <= FINE * EPS


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 30])
def test_growth_is_the_largest_quotient_of_a_row(rows):
    program = np.zeros(1 + max(ROWS, SHORT), np.int64)
    program[ROWS] = rows

    def growth(largest, original):
        return pivot_growth(program, np.concatenate([largest, original, np.ones(rows)]))

    one = np.ones(rows)
    assert growth(GROWN * one, one) == 0.0  # none is beyond
    assert growth(np.zeros(rows), np.zeros(rows)) == 0.0
    for k in range(rows):
        grown = np.where(np.arange(rows) == k, 1000.0, 2.0)
        assert growth(grown, one) == 1000.0
        assert growth(grown, np.where(grown == 1000.0, 0.0, 1.0)) == np.inf
        assert growth(grown, np.where(grown == 1000.0, 1.0, np.inf)) == 1000.0
        if rows > 1:  # a row that is zero, and stays it
            zero = np.arange(rows) == (k + 1) % rows
            assert growth(np.where(zero, 0.0, grown), np.where(zero, 0.0, 1.0)) == 1000.0
    program[SHORT] = 1
    assert growth(one, one) == np.inf


@pytest.mark.parametrize("size", [5, 9])
def test_growth_is_the_same_whatever_nodes_are_scaled_by(size):
    # blocks of more than 4 rows are pivot blocks by themselves
    rng = np.random.default_rng(0)
    system = random_system(gs.net(3), size, dominance=2.0)
    order = list(system.graph.labels)
    growths = []
    for _ in range(3):
        factor = system.factorize(system.analyze(order), refine=False)
        growths.append(factor.pivot_growth)
        scales = 2.0 ** rng.integers(-2, 3, 9)
        for u in range(9):
            for v in [u, *gs.net(3).neighbors(u)]:
                system[u, v] = system[u, v] * scales[u] * scales[v]
    assert np.allclose(growths, growths[0], rtol=1e-6)


def test_a_positive_definite_matrix_does_not_grow():
    rng = np.random.default_rng(1)
    for symmetric in (False, True):
        system = gs.System(gs.ladder(20), 3, symmetric=symmetric)
        for u, v in gs.ladder(20).edges:
            root = rng.normal(size=(3, 3))
            product = root @ root.T
            system[u, u], system[v, v] = system[u, u] + product, system[v, v] + product
            system[u, v] = -product
            if not symmetric:
                system[v, u] = -product
        for u in range(40):
            system[u, u] = system[u, u] + 1e-3 * np.eye(3)
        assert system.factorize().pivot_growth < 2.0


@pytest.mark.parametrize("ground", [0.03, 1e-6])
def test_factors_of_dominant_matrices_are_trusted_with_half_of_their_digits(ground):
    # a star whose hub is grounded: det = ground times all other conductances, and the resistance
    # from the ground to leaf k is 1 / ground + 1 / c_k
    c = np.random.default_rng(0).uniform(0.5, 2.0, 12)
    system = gs.System(nx.star_graph(12), 1, symmetric=True)
    system[0, 0] = c.sum() + ground
    system.set(range(1, 13), range(1, 13), c)
    system.set([0] * 12, range(1, 13), -c)
    ratio = ground / (c.sum() + ground)  # the hub's pivot is `ground`
    factor = system.factorize(system.analyze(order := [*range(1, 13), 0]))

    with mock.patch("graphsys.numeric.stability.instability") as measured:
        _, logarithm = factor.slogdet()
        inverse = factor.selected_inverse().diagonal()
    assert not measured.called and factor.pivot_ratio == pytest.approx(ratio, rel=1e-6)
    assert factor.refines and factor.symbolic.order == tuple(order)
    slack = 12 * np.finfo(float).eps / ratio  # 12 roundings relative to the hub's diagonal
    assert logarithm == pytest.approx(np.log(ground) + np.log(c).sum(), abs=slack)
    exact = np.r_[1.0 / ground, 1.0 / ground + 1.0 / c]
    assert np.abs(inverse / exact - 1.0).max() < slack


@pytest.mark.parametrize("epsilon", [0.0, 1e-8, 1e-10, 1e-12, 1e-14, 1e-16])
def test_a_grounded_chain_of_bodies_and_joints_is_solved_for_every_compliance(epsilon):
    rng = np.random.default_rng(1)
    graph = nx.path_graph(6)
    sizes = {node: 6 if node % 2 else 3 for node in graph}
    system = gs.System(graph, sizes, symmetric=True)
    for node, size in sizes.items():
        root = rng.normal(size=(size, size))
        system[node, node] = root @ root.T + np.eye(6) if node % 2 else -epsilon * np.eye(3)
    for u, v in graph.edges:
        system[u, v] = rng.normal(size=(sizes[u], sizes[v]))
    factor, dense = system.factorize(), system.to_dense()
    condition, b = np.linalg.cond(dense), np.ones(27)
    exact = np.linalg.inv(dense)

    assert np.linalg.norm(factor.solve(b) - exact @ b) <= 100 * EPS * condition * np.linalg.norm(b)
    inverse = factor.selected_inverse().to_scipy().toarray()
    error = np.where(inverse == 0.0, 0.0, inverse - exact)
    assert np.abs(error).max() <= 100 * EPS * condition * np.abs(exact).max()
    assert factor.slogdet()[0] == np.linalg.slogdet(dense)[0]
    assert factor.inertia() == (18, 9)


def test_what_refinement_does_not_mend_is_right_after_a_change_of_values():
    # the analysis sees good pivots, the values that follow have bad ones
    system = scalars(np.eye(3) + 0.1 * np.ones((3, 3)))
    factor = system.factorize()
    bad = np.array([[1e-14, 1.0, 0.5], [1.0, 1e-14, 1.0], [0.5, 1.0, 1e-13]])
    system = scalars(bad)
    factor.refactorize(system.values)
    exact = np.linalg.inv(bad)
    assert np.allclose(factor.selected_inverse().to_scipy().toarray(), exact, rtol=1e-12)
    assert np.allclose(factor.slogdet()[1], np.linalg.slogdet(bad)[1], rtol=1e-12)
    assert np.allclose(factor.solve([1.0, 2.0, 3.0]), exact @ [1.0, 2.0, 3.0], rtol=1e-12)


@pytest.mark.parametrize("both", [False, True])
def test_factors_with_which_refinement_stalls_are_replaced_until_it_does_not(both):
    """A last pivot of some roundings: equilibrated factors may still be those that stall."""
    rng, i, j = np.random.default_rng(0), [0, 0, 0, 2, 2], [2, 3, 4, 3, 4]
    system = gs.System.from_edges(i, j, np.ones(5, int))
    places = np.concatenate([np.arange(5), i, j]), np.concatenate([np.arange(5), j, i])
    eps = np.finfo(float).eps
    for _ in range(60):
        factor = None
        for pivot in (1.0, eps * rng.uniform(1.0, 10.0)):
            A, b = np.zeros((5, 5)), rng.normal(size=5)
            A[places] = rng.normal(size=15)
            A[4, 4] = pivot
            system.set(*places, A[places].reshape(-1, 1, 1))
            factor = system.factorize() if factor is None else factor
            if both:
                x = factor.refactorize_and_solve(system.values, b)
            else:
                x = factor.refactorize(system.values).solve(b)
            error = np.abs(A @ x - b) / (np.abs(A) @ np.abs(x) + np.abs(b))
            assert error.max() <= GOOD * eps


@pytest.mark.parametrize("once", [False, True])
def test_systems_of_a_batch_are_trusted_by_the_same_rules(once):
    good, bad = [[2.0, 1.0], [1.0, 2.0]], [[1e-16, 1.0], [1.0, 1e-16]]
    system = scalars(good)
    values = np.array([scalars(m).values for m in (good, bad) * 5])
    b = np.ones((10, 2))
    batch = gs.Batch(system.analyze([0, 1]))
    x = batch.solve_once(values, b) if once else batch.refactorize(values).solve(b)
    assert np.allclose(x[::2], 1 / 3, rtol=1e-15) and np.allclose(x[1::2], 1.0, rtol=1e-15)


def test_a_conjugate_transpose_in_a_batch_is_conjugated():
    system = random_system(gs.chain(4), 2, dtype=complex)
    values = np.array([system.values, 2j * system.values])
    batch = gs.Batch(system.analyze(), values)
    b = np.ones((2, 8)) + 1j * np.arange(8)
    dense = system.to_dense()
    for i, matrix in enumerate((dense, 2j * dense)):
        exact = np.linalg.solve(matrix.conj().T, b[i])
        assert np.allclose(batch.solve(b, "H")[i], exact, rtol=1e-12)


def test_refinement_uses_the_values_of_the_last_factorization():
    system = random_system(gs.chain(5), 2)
    factor, b = system.factorize(refine=True), np.ones(10)
    for scale in (1.0, 3.0, 0.5):
        values = scale * system.values
        x = factor.refactorize(values).solve(b)
        assert factor.report.backward_error <= FINE * EPS
        assert np.allclose(scale * system.to_dense() @ x, b, rtol=0, atol=1e-13)
        # without refinement too: what checks a solution is the matrix that was factorized
        plain = system.factorize().refactorize(values)
        assert np.abs(plain.residual(plain.solve(b), b)).max() <= 1e-13


def test_rows_without_a_pivot_are_named():
    matrix = np.random.default_rng(0).normal(size=(9, 9))
    matrix[4] = matrix[:, 4] = 0.0
    for dims in (1, 3, None):
        system = gs.System.from_scipy(sp.csr_array(matrix), dims)
        with pytest.raises(gs.SingularPivotError, match="no pivot is left for 1 of its 9 rows"):
            system.factorize()


def test_a_constraint_given_twice_is_a_singular_pivot():
    """Solutions by factors that divide by 1e-33 overflow in the residual that judges them."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        H, B = rng.standard_normal((3, 3)), np.tile(rng.standard_normal((1, 3)), (2, 1))
        A = sp.csr_array(np.block([[H + H.T, B.T], [B, np.zeros((2, 2))]]))
        with pytest.raises(gs.SingularPivotError):
            gs.System.from_scipy(A, symmetric=True).factorize()


@pytest.mark.parametrize("dtype", [float, complex])
def test_rows_that_are_dependent_to_rounding_are_refused(dtype):
    # Which sentence comes depends on rounding: no pivot is left, or one that is only rounding.
    # One of some hundred is luckily above that: its solution has a small residual, and is huge.
    said, eps = [], np.finfo(float).eps
    for seed in range(20):
        matrix = np.random.default_rng(seed).normal(size=(20, 20)).astype(dtype)
        matrix[-1] = matrix[:-1].sum(axis=0) * (1.0 if dtype is float else 1j)
        system = gs.System.from_scipy(sp.csr_array(matrix), 4)
        try:
            x = system.factorize().solve(np.ones(20))
        except gs.SingularPivotError as error:
            said.append(str(error))
            continue
        error = np.abs(matrix @ x - 1.0) / (np.abs(matrix) @ np.abs(x) + 1.0)
        assert error.max() <= GOOD * eps
        assert np.abs(x).max() > eps**-0.75
    assert len(said) >= 15
    assert all("is singular" in sentence for sentence in said)
    worked = [s for s in said if s.startswith("the matrix is singular to working precision")]
    assert worked and all("add to its diagonal block" in s for s in worked)


@pytest.mark.parametrize("refine", [None, False])
def test_stability_is_measured_once_per_matrix(refine):
    system = random_system(gs.net(12), 2, dominance=0.0)  # pivots are doubtful
    factor = system.factorize(refine=refine)
    b = np.ones(system.shape[0])
    expected = np.linalg.slogdet(system.to_scipy().toarray())
    with mock.patch.object(
        Factorization, "checked", autospec=True, side_effect=Factorization.checked
    ) as checked:
        for calls, scale in ((1, 1.0), (2, 2.0), (3, 3.0)):
            factor.refactorize_and_solve(scale * system.values, b)
            for _ in range(2):
                sign, logarithm = factor.slogdet()
                factor.selected_inverse()
            assert checked.call_count == calls
            assert sign == expected[0]
            shift = system.shape[0] * np.log(scale)
            assert logarithm == pytest.approx(expected[1] + shift, rel=1e-9)


def test_two_threads_that_refactorize_one_factor_are_refused_or_take_turns():
    system = random_system(gs.net(40), 6)
    factor, b = system.factorize(), np.ones(system.shape[0])
    values = [system.values, 2.0 * system.values]
    expected = [factor.refactorize(v).solve(b) for v in values]
    refused, start = [], threading.Barrier(2)

    def work(k):
        start.wait()
        for _ in range(5):
            try:
                factor.refactorize(values[k])
            except RuntimeError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    x = factor.solve(b)
    assert any(np.allclose(x, e, rtol=1e-12) for e in expected)
    assert all("another thread is refactorizing" in message for message in refused)


def test_threads_that_solve_while_factors_are_replaced_get_right_solutions():
    # the matrix after the analysis has pivots that no refinement mends: the first solve reorders
    graph = nx.disjoint_union_all([nx.path_graph(2)] * 50)
    good, bad = gs.System(graph, 1), gs.System(graph, 1)
    for u in graph:
        good[u, u], bad[u, u] = 2.0, 1e-16
    for u, v in graph.edges:
        for system in (good, bad):
            system[u, v] = system[v, u] = 1.0
    for _ in range(10):
        factor, start = good.factorize().refactorize(bad.values), threading.Barrier(4)
        found = [None] * 4

        def work(k, factor=factor, start=start, found=found):
            start.wait()
            try:
                found[k] = factor.solve(np.full(100, k + 1.0))
            except Exception as error:
                found[k] = error

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for k, x in enumerate(found):
            assert isinstance(x, np.ndarray) and np.allclose(x, k + 1.0, rtol=1e-14), x


def test_a_singular_matrix_leaves_the_order_as_it_was():
    system = random_system(gs.chain(6), 2)
    factor, b = system.factorize(), np.ones(12)
    expected, program = factor.solve(b), factor.symbolic.program
    singular = system.copy()
    singular[3, 3] = np.ones((2, 2))
    singular[3, 2] = singular[2, 3] = singular[3, 4] = singular[4, 3] = np.zeros((2, 2))
    with pytest.raises(gs.SingularPivotError):
        factor.refactorize(singular.values)
    assert factor.symbolic.program is program
    assert np.array_equal(factor.refactorize(system.values).solve(b), expected)


def test_no_determinant_is_read_off_regularized_factors():
    # rows 1 and 2 say the same; the regularized matrix has a determinant, this one has none
    matrix = [[2.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    factor = scalars(matrix, symmetric=True).factorize(redundant=True)
    for measure in (factor.slogdet, factor.inertia, factor.selected_inverse):
        with pytest.raises(gs.SingularPivotError):
            measure()
    assert factor.redundant and factor.solve([1.0, 0.0, 0.0]) is not None
    regular = scalars([[2.0, 1.0], [1.0, 0.0]], symmetric=True).factorize(redundant=True)
    assert regular.inertia() == (1, 1) and np.isclose(regular.slogdet()[1], 0.0, atol=1e-12)


@pytest.mark.parametrize("ordering", ["amd", [0]])
def test_factors_that_lose_digits_with_all_pivots_are_refused_with_the_way_out(ordering):
    # as if measured: no factors of a matrix so small are that bad
    system = gs.System.from_scipy(sp.csr_array([[1.0, 1.0], [1.0, 1.0 + 1e-6]]), 2)
    system.analyze(ordering)
    factor = system.factorize()
    with mock.patch("graphsys.numeric.stability.instability", return_value=(1e-3, 10.0)):
        with pytest.raises(
            gs.SingularPivotError, match="delayed pivots: .*redundant=True"
        ) as caught:
            factor.selected_inverse()
    assert caught.value.node == 0
    with pytest.raises(ValueError, match="no factors"):
        factor.solve([1.0, 2.0])


def welded_ladder(windows, delta, symmetric):
    """KKT system of a ladder whose neighbours are welded: three redundant rows in every loop.

    Joints carry ``-delta I``, so that the system is quasi-definite, of condition about 1 / delta.
    """
    rng = np.random.default_rng(windows)
    ladder, graph = nx.ladder_graph(windows + 1), nx.Graph()
    for joint in ladder.edges:
        graph.add_edges_from((joint, body) for body in joint)
    system = gs.System(graph, 3, symmetric=symmetric)
    for body in ladder.nodes:
        system[body, body] = np.diag(rng.uniform(0.5, 2.0, 3))
    for joint in ladder.edges:
        rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        for body, block in zip(joint, (rotation, -rotation), strict=True):
            system[joint, body] = block
            if not symmetric:
                system[body, joint] = block.T
        system[joint, joint] = -delta * np.eye(3)
    return system, (3 * ladder.number_of_nodes(), 3 * ladder.number_of_edges())


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("delta", [1e-6, 1e-9, 1e-12])
def test_redundant_rows_with_a_tiny_diagonal_need_no_second_order(delta, symmetric):
    # interior-point systems are like this: refinement mends what pivot blocks lose that are close
    # to singular ones; sharing pivots made blocks of 750 of the 753 rows
    system, inertia = welded_ladder(50, delta, symmetric)
    symbolic = system.analyze()
    b = np.random.default_rng(0).normal(size=system.shape[0])
    with mock.patch.object(Factorization, "stable", side_effect=AssertionError):
        factor = system.factorize(symbolic)
        x = factor.solve(b)
        if symmetric:
            assert factor.inertia() == inertia
    assert factor.symbolic is symbolic
    matrix = system.to_scipy()
    left, size = np.abs(b - matrix @ x), abs(matrix) @ np.abs(x) + np.abs(b)
    row = int(np.diff(matrix.indptr).max())  # rounding of a row's residual: its entries, and b
    assert np.max(left / size) <= (FINE + row + 2) * EPS


def control_chain(stages, states, controls, spread, seed):
    """KKT system of optimal control, its Hessian diagonals 10**-spread to 10**spread."""
    rng = np.random.default_rng(seed)
    graph, size = nx.Graph(), {}
    for k in range(stages):
        size["z", k], size["c", k] = states + controls, states
        graph.add_edge(("z", k), ("c", k))
        if k:
            graph.add_edge(("z", k - 1), ("c", k))
    system = gs.System(graph, size, symmetric=True)
    step = rng.normal(size=(states, states + controls)) / 10 + np.eye(states, states + controls)
    for k in range(stages):
        system[("z", k), ("z", k)] = np.diag(
            10.0 ** rng.uniform(-spread, spread, states + controls)
        )
        system[("c", k), ("z", k)] = -np.eye(states, states + controls)
        if k:
            system[("c", k), ("z", k - 1)] = step
    return system, (stages * (states + controls), stages * states)


@pytest.mark.parametrize("spread", [2, 6, 10])
@pytest.mark.parametrize("dims", [(12, 4, 2), (6, 12, 4)])
@pytest.mark.parametrize("seed", range(3))
def test_late_interior_point_systems_are_solved_to_rounding(spread, dims, seed):
    system, inertia = control_chain(*dims, spread, seed)
    b = np.random.default_rng(seed).normal(size=system.shape[0])
    factor = system.factorize()
    x, matrix = factor.solve(b), system.to_scipy()
    left, size = np.abs(b - matrix @ x), abs(matrix) @ np.abs(x) + np.abs(b)
    assert np.max(left / size) <= GOOD * EPS  # what solves promise without a warning
    with warnings.catch_warnings():  # of the digits of the determinant: signs are whole numbers
        warnings.simplefilter("ignore", gs.InaccurateSolutionWarning)
        assert factor.inertia() == inertia


def two_scales(seed):
    """The same as a matrix of scalars, its Hessian diagonals near 1e-10 or near 1e10."""
    rng = np.random.default_rng(seed)
    stages, states, controls = rng.integers((5, 1, 1), (40, 6, 4)).tolist()
    width = states + controls
    n = stages * width + states
    weights = np.where(rng.random(n) < 0.5, rng.uniform(-10, -9, n), rng.uniform(9, 10, n))
    C = np.zeros((states * (stages + 1), n))
    C[:states, :states] = np.eye(states)
    for k in range(stages):
        rows, at = slice(states * (k + 1), states * (k + 2)), width * k
        C[rows, at : at + width] = -0.1 * rng.standard_normal((states, width))
        C[rows, at : at + states] -= np.eye(states)
        C[rows, at + width : at + width + states] = np.eye(states)
    K = sp.csr_array(sp.block_array([[sp.diags_array(10.0**weights), C.T], [C, None]]))
    return K, K @ (10.0 ** rng.uniform(-5, 5, K.shape[0]))


@pytest.mark.parametrize("symmetric", [True, False])
def test_small_rows_of_late_interior_point_systems_have_small_errors_too(symmetric):
    for seed in range(25):
        K, b = two_scales(seed)
        x = gs.System.from_scipy(K, symmetric=symmetric).factorize().solve(b)
        error = np.abs(b - K @ x) / (abs(K) @ np.abs(x) + np.abs(b))
        row = int(np.diff(K.indptr).max())
        assert error.max() <= (FINE + row + 2) * EPS


def test_contraction_of_refinement_by_hand():
    # factors of A + e e_0 e_0': I - A C has the eigenvalue e / (2 + e), and no other than 0
    system = scalars(np.diag([2.0, 4.0]))
    found = Factorization(system.analyze([0, 1]), np.dtype(float))
    for change in (0.0, 0.5, 2.0):
        found.factorize(np.array([2.0 + change, 4.0]))
        factor, _ = contraction(Matrix(system.graph, system.values), found._probe, True)
        assert np.isclose(factor, change / (2.0 + change), rtol=4 * EPS)


def test_factors_with_which_refinement_cannot_contract():
    # 1e-16 as the first pivot, in an order for other values: the 1e-16 of row 1 is lost
    symbolic = scalars([[2.0, 1.0], [1.0, 2.0]]).analyze([0, 1])
    system = scalars([[1e-16, 1.0], [1.0, 1e-16]])
    found = Factorization(symbolic, np.dtype(float))
    assert not found._eliminate(system.values)
    assert contraction(Matrix(system.graph, system.values), found._probe, True)[0] >= 0.5
    assert not found.can_refine(system.values)


@pytest.mark.parametrize("size", [3, 12, 40])
def test_inverses_of_a_resisting_matrix_solve_as_well_as_substitution(size):
    # one block of condition 1e12, columns of the inverse X by substitution with L and U:
    # |A X - I| <= c n eps |A| |X| (Higham 2002, sec. 14.3); U^-1 L^-1 exceeds that by 1e5
    rng = np.random.default_rng(size)
    u, v = (np.linalg.qr(rng.normal(size=(size, size)))[0] for _ in "uv")
    matrix = u * np.logspace(0, -12, size) @ v.T
    system = gs.System(nx.empty_graph(1), size)
    system[0, 0] = matrix
    numeric, *_ = Factorization(system.analyze(), np.dtype(float)).stable(system.values)
    scaled = numeric.scaling.matrix(system.values).reshape(size, size, order="F")
    solver = Solver(numeric.symbolic, numeric.arena, None, 1.0, 0, None)
    x = solver.substitute(np.eye(size).ravel(), size, False).reshape(size, size, order="F")
    error = np.abs(scaled @ x - np.eye(size)).max()
    assert error <= 10 * size * EPS * np.abs(scaled).max() * np.abs(x).max()


def test_digits_that_no_order_brings_back_are_told_or_the_solution_refused():
    # as if measured: another order mends every matrix that refinement does not
    system = scalars([[2.0, 1.0], [1.0, 3.0]])
    system.values *= [1.0, 1e-300, 1e300, 1.0]  # equilibrated, refined, by the long way
    for error, normwise, sentence in (
        (1e-10, 1e-10, "backward error 1.0e-10 after 2 refinements: the factors lost digits"),
        (1e-6, 1e-12, r"1.0e-06 \(1.0e-12 in the maximum norm\) after 2 refinements"),
    ):
        factor = system.factorize(refine=True)
        with (
            mock.patch.object(Matrix, "refine", return_value=(2, error, error)),
            mock.patch.object(Matrix, "backward_error", return_value=normwise),
            pytest.warns(gs.InaccurateSolutionWarning, match=sentence),
        ):
            factor.solve([1.0, 1.0])
    with (
        mock.patch.object(Matrix, "refine", return_value=(2, 1e-3, 1e-3)),
        mock.patch.object(Matrix, "backward_error", return_value=1e-3),
        pytest.raises(gs.SingularPivotError, match="the backward error stays at 1.0e-03") as caught,
    ):
        factor.solve([1.0, 1.0])
    assert caught.value.node in (0, 1)


def test_factors_are_doubtful_where_neighbours_have_no_pivot_left():
    # the hub's one pivot goes to one leaf, and what it leaves of the other cancels
    system = gs.System(nx.star_graph(2), 1)
    for node, value in enumerate((1.0, 1e-9, 1e-9)):
        system[node, node] = value
    for leaf, value in ((1, 2.0), (2, 3.0)):
        system[0, leaf], system[leaf, 0] = value, 1.0
    factor = system.factorize()
    assert factor.symbolic.precedence.short.size == 1 and factor.pivot_growth < 64.0
    assert factor._factorization.doubtful
    batch = gs.Batch(system.analyze(), np.tile(system.values, (3, 1)))
    b = np.array([1.0, 2.0, 3.0])
    exact = np.linalg.solve(system.to_dense(), b)
    for x in (factor.solve(b), *batch.solve(np.tile(b, (3, 1)))):
        np.testing.assert_allclose(x, exact, rtol=1e-6)
