"""Iterative refinement with the factors of another matrix, whose steps are known by hand."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import graphsys as gs
from graphsys.families import body_joint_chain
from graphsys.kernels.single.refinement import (
    FINE,
    FLOOR,
    REACHED,
    maximum_norm,
    refined_work,
    residual_error,
    solve_refined,
)
from graphsys.numeric.residuals import Matrix, joined_tables

EPS = np.finfo(float).eps
ONES = np.ones(3)


def diagonal(*entries):
    """A system of three nodes without neighbours."""
    system = gs.System(gs.chain(3), 1)
    for node, entry in enumerate(entries):
        system[node, node] = entry
    return system


def refined(times):
    """Steps, errors and x of A = I, from the solution with factors of ``times`` I."""
    factor = diagonal(*3 * [times]).factorize(refine=False)
    x = ONES / times
    program, arena = factor.symbolic.program, factor._solver.arena
    matrix = Matrix(factor.graph, diagonal(1.0, 1.0, 1.0).values)
    return *matrix.refine(program, arena, ONES, x, 1, False), x


def test_factors_of_the_matrix_need_no_step():
    assert refined(1.0) == (0, 0.0, 0.0, pytest.approx(ONES))


def test_errors_that_fall_fast_fall_to_rounding():
    steps, error, strict, x = refined(0.9999)  # errors of x: 1e-4, 1e-8, 1e-12, 1e-16
    assert steps in (3, 4)  # 4 where that of rounding is seen
    assert error == strict <= 4.0 * EPS
    assert abs(x - 1.0).max() <= 9.0 * EPS


def test_errors_that_fall_slower_than_by_half_are_left():
    # x = 0.4, 0.64, 0.784: the second step gains, but less than half, so that there is no third
    steps, error, _, x = refined(2.5)
    assert (steps, x) == (2, pytest.approx(0.784 * ONES))
    assert error == pytest.approx(0.216 / 1.784)


def test_errors_that_stay_are_left():
    # x = 2, 0, 2, 0: errors are 1/3, 1, 1/3, 1, and all corrections 2
    steps, error, _, x = refined(0.5)
    assert (steps, error) == (2, 1.0 / 3.0)
    assert (x == 2.0).all()


def test_compiled_code_refines_or_says_that_it_cannot():
    system = diagonal(1.0, 4.0, 0.5)
    graph, symbolic = system.graph, system.analyze()
    arena, tables = system.factorize(refine=False)._solver.arena, joined_tables(graph)

    def solve(b, values=system.values):
        x, work = np.empty(3), np.empty(refined_work(symbolic.program, 1))
        steps, error = solve_refined(
            tables, symbolic.program, arena, values, b, EPS, EPS**FLOOR, 5, work, np.empty(3), x
        )
        return steps, error, x

    steps, error, x = solve(ONES)
    assert (steps, error) == (0, 0.0)
    assert (x == [1.0, 0.25, 2.0]).all()
    assert solve(np.ones(2))[0] == -1  # of another size
    with np.errstate(all="ignore"):
        assert solve(np.array([1.0, 1.0, 1.7e308]))[0] == -1  # which overflows
    assert solve(ONES, 3.0 * system.values)[0] == -1  # factors with which nothing converges


@pytest.mark.parametrize("at_once", [False, True])
def test_solutions_of_a_mechanism_are_kept_where_they_are_fine_and_refined_where_it_rests(at_once):
    # mass matrices 10 I and orthonormal rows of joints: pivots as good as they can be, and yet
    # errors of velocities are relative to the forces of the joints
    graph, rng = body_joint_chain(10), np.random.default_rng(0)
    system = gs.System(graph, "dim")
    for node in graph:
        if node[0] == "body":
            system[node, node] = 10.0 * np.eye(6)
    for ends in graph.edges:
        joint, body = sorted(ends, reverse=True)
        rows = np.linalg.qr(rng.normal(size=(6, 6)))[0][:5]
        system[joint, body], system[body, joint] = rows, rows.T
    matrix = system.to_dense()
    of_joint = np.repeat([kind == "joint" for kind, _ in system.labels], system.graph.size)
    factor = system.factorize()

    def solved(b):
        x = factor.refactorize_and_solve(system.values, b) if at_once else factor.solve(b)
        assert factor.refines
        return x, np.abs(matrix @ x - b)

    for _ in range(5):
        b = rng.normal(size=matrix.shape[0])
        x, rest = solved(b)
        # 18 entries in a row, and as many roundings of the residual here and in the kernel
        assert (rest <= (FINE + 19) * EPS * (abs(matrix) @ abs(x) + abs(b))).all()
        assert factor.report.refinements == 0
    forces = np.where(of_joint, rng.normal(size=of_joint.size), 0.0)
    x, rest = solved(matrix @ forces)
    assert factor.report.refinements > 0
    floor = EPS**FLOOR * abs(x).max() * abs(matrix).sum(axis=1)
    assert (rest <= (REACHED + 19) * EPS * np.maximum(abs(matrix) @ abs(x), floor))[of_joint].all()


@pytest.mark.parametrize("rows", range(20))
def test_the_norm_sees_each_entry(rows):
    x = np.linspace(-0.5, 0.5, rows + 2)
    assert maximum_norm(x, 1, rows) == abs(x[1:-1]).max(initial=0.0)
    for k in range(rows):
        x[1 + k] = -3.0 - k
        assert maximum_norm(x, 1, rows) == 3.0 + k


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("dims", [[1, 9, 1, 0, 2, 17], [12, 1, 10, 1, 1, 3]])
def test_residual_and_backward_error_of_nodes_of_mixed_sizes(kind, dims):
    rng = np.random.default_rng(3)
    system = gs.System(nx.gnm_random_graph(6, 9, seed=2), dims, dtype=kind)

    def numbers(*shape):
        values = rng.standard_normal(shape)
        if np.dtype(kind).kind == "c":
            values = values + 1j * rng.standard_normal(shape)
        return values.astype(kind)

    system.values[...] = numbers(system.values.size)
    A, eps = system.to_scipy().toarray(), float(np.finfo(kind).eps)
    x, b = numbers(2, A.shape[0]), numbers(2, A.shape[0])
    b[1] = A @ x[1]  # to rounding: no floor is needed
    for transposed, matrix in ((False, A), (True, A.T)):
        r = np.empty_like(b)
        sizes = np.empty(2 * max(A.shape[0], 8), kind)
        error, strict = residual_error(
            system.graph.tables(), max(dims), system.values, transposed, b.ravel(), 2, x.ravel(),
            eps, eps**FLOOR, np.inf, sizes, r.ravel(),
        )  # fmt: skip
        wanted = b - x @ matrix.T
        size = np.abs(x) @ np.abs(matrix).T + np.abs(b)
        floor = eps**FLOOR * np.abs(matrix).sum(axis=1) * np.abs(x).max(axis=1, keepdims=True)
        assert np.abs(r - wanted).max() <= 64 * eps * size.max()
        assert strict == pytest.approx((np.abs(r) / size).max(), rel=64 * eps)
        assert error == pytest.approx((np.abs(r) / np.maximum(size, floor)).max(), rel=64 * eps)


def test_unknowns_below_the_noise_of_others_are_refined_by_hand():
    # x_1 = 2^-180 / (3 2^150), 2^480 times smaller than x_2, and no scaling of rows and columns
    # makes all entries and unknowns about 1
    A = np.array([[0.0, 3.0 * 2.0**150, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 3.0 * 2.0**-240]])
    A[1, :2] *= 2.0**90
    A[1, 2] = A[2, 1] = -(2.0**-120)
    b = np.ldexp(1.0, [-180, -90, -90])
    system = gs.System.from_scipy(sp.csr_array(A), 1)

    x = system.solve(b)

    assert x[1] == pytest.approx(2.0**-330 / 3.0, rel=1e-15)
    assert x[2] == pytest.approx(2.0**150 / 3.0, rel=1e-15)
    across = system.T.factorize().solve(b, "T")
    assert across == pytest.approx(x, rel=1e-14, abs=0.0)


@pytest.mark.parametrize("seed", range(120))
def test_rows_of_triangular_matrices_in_any_order_have_small_errors(seed):
    # so have those of a substitution in the right order, whatever the scales are; unknowns differ
    # by up to 2^600 here
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 20))
    A = np.triu(np.where(rng.random((n, n)) < 3.0 / n, rng.normal(size=(n, n)), 0.0), 1)
    A += np.diag(rng.choice([-1.0, 0.1, 1.0, 10.0], n))
    A = A[rng.permutation(n)][:, rng.permutation(n)]
    row, column = rng.integers(-240, 241, (2, n))
    A, b = np.ldexp(np.ldexp(A, row[:, None]), column), np.ldexp(rng.normal(size=n), row)
    b = np.ldexp(b, rng.integers(-100, 101, n))
    factor = gs.System.from_scipy(sp.csr_array(A)).factorize(refine=True)

    for matrix, trans in ((A, "N"), (A.T, "T")):
        x = factor.solve(b, trans)
        size = np.abs(matrix) @ np.abs(x) + np.abs(b)
        assert (np.abs(b - matrix @ x) <= 2.0 * FINE * EPS * size).all(), trans


def test_entries_that_underflow_in_a_scaling_count_where_all_others_are_zero():
    # with rows and columns scaled by 2^+-400, the entry 2^-400 is 2^-1200 of all others of 1; the
    # second node has a weak diagonal, which makes factors doubtful
    A = np.zeros((5, 5))
    A[:3, :3] = [[1.0, 0.0, 0.0], [1.0, 2.0**-800, 0.0], [2.0**-400, 1.0, 1.0]]
    A[3:, 3:] = [[1e-3, 1.0], [1.0, 1e-3]]
    factor = gs.System.from_scipy(sp.csr_array(A), 1).factorize()

    # x_0 = 1, x_1 = 0 and x_2 = -2^-400; of the transpose x_2 = 1, x_1 = 0 and x_0 = -2^-400
    assert factor.solve([1.0, 1.0, 0.0, 0.0, 0.0]).tolist() == [1.0, 0.0, -(2.0**-400), 0.0, 0.0]
    across = [-(2.0**-400), 0.0, 1.0, 0.0, 0.0]
    assert factor.solve([0.0, 1.0, 1.0, 0.0, 0.0], "T").tolist() == across
    assert factor.solve(np.outer([0.0, 1.0, 1.0, 0.0, 0.0], [1.0, 2.0]), "H")[:, 1].tolist() == [
        2.0 * x for x in across
    ]
