"""Interior-point systems of optimal control: a node for each stage and one for its multipliers."""

import networkx as nx
import numpy as np
import pytest

import graphsys as gs
from graphsys import families
from graphsys.kernels.base.layout import NODES
from graphsys.kernels.single.refinement import CANCELLED, FINE, REACHED, add_small
from graphsys.numeric.factorization import Factorization
from graphsys.numeric.residuals import Matrix

EPS = float(np.finfo(float).eps)


def stages(states, controls, count, seed, exponents=(-10, 10)):
    """KKT system of linear dynamics whose controls have barriers, without a cost at the end."""
    rng = np.random.default_rng(seed)
    graph = nx.Graph()
    for k in range(count):
        graph.add_edge(("z", k), ("c", k))
        graph.add_edge(("c", k), ("z", k + 1))
    size = {("z", k): states + controls for k in range(1, count)}
    size |= {("z", 0): controls, ("z", count): states} | {("c", k): states for k in range(count)}
    system = gs.System(graph, size, symmetric=True)
    A = np.eye(states) + 0.02 * rng.standard_normal((states, states))
    B = 0.02 * rng.standard_normal((states, controls))
    for k in range(count):
        barrier = 10.0 ** rng.uniform(*exponents, controls)
        cost = np.diag(np.append(np.full(states, 2.0), 0.2 + barrier))
        cost[:states, :states] += 0.5 * np.cos(np.arange(states) - np.arange(states)[:, None])
        system[("z", k), ("z", k)] = cost if k else cost[states:, states:]
        system[("c", k), ("z", k)] = np.hstack([A, B]) if k else B
        system[("c", k), ("z", k + 1)] = -np.eye(states, size[("z", k + 1)])
    return system


def backward_error(matrix, x, b):
    """Largest ``|A x - b| / (|A| |x| + |b|)`` of any row."""
    return (np.abs(matrix @ x - b) / (abs(matrix) @ np.abs(x) + np.abs(b))).max()


@pytest.mark.parametrize(("states", "controls"), [(3, 1), (6, 2), (12, 4), (27, 13)])
def test_late_systems_have_static_factors_good_in_all_rows_and_the_exact_inertia(states, controls):
    system = stages(states, controls, 20, seed=0)
    n, m = 20 * (states + controls), 20 * states
    factor, rng = system.factorize(), np.random.default_rng(1)
    found = factor._factorization
    assert found.fronts is None and found.strict == found.is_wild(system.values)
    assert found.strict or states > 3
    for seed in range(5):  # other barriers
        system = stages(states, controls, 20, seed)
        matrix = system.to_scipy()
        for solve in (
            lambda b, values=system.values: factor.refactorize(values).solve(b),
            lambda b, values=system.values: factor.refactorize_and_solve(values, b),
        ):
            b = rng.standard_normal(n + m)
            x = solve(b)
            assert backward_error(matrix, x, b) <= 1e-14
            assert factor.report.refinements <= 2
    assert factor._factorization.fronts is None
    assert factor.inertia() == (n, m)


@pytest.mark.parametrize("seed", range(5))
def test_strict_factors_solve_all_rows_or_give_way_to_others(seed):
    # without a cost at the end the last multipliers are zero, of which rounding errors remain
    system = stages(5, 3, 30, seed, exponents=(-10, 14))
    factor, matrix = system.factorize(), system.to_scipy()
    assert factor._factorization.strict
    b = np.zeros(factor.shape[0])
    for k in range(30):
        at = system.graph.row_start[system.graph.index["c", k]]
        b[at : at + 5] = np.random.default_rng(k).standard_normal(5)
    x = factor.solve(b)
    assert np.abs(matrix @ x - b).max() <= 1e-13 * np.abs(x).max()
    size = abs(matrix) @ np.abs(x) + np.abs(b)
    assert not factor._factorization.strict or (np.abs(matrix @ x - b) <= 1e-14 * size).all()


def test_pivot_blocks_of_wide_nodes_have_eight_rows_where_no_rows_need_exchange():
    system = stages(12, 4, 10, seed=0)
    symbolic = system.analyze()
    assert symbolic.widest == 8
    assert symbolic.precedence.cut.all()

    # rows 0 and 8 of a stage get their pivots from each other: its block stays whole
    block = np.diag(np.ones(16))
    block[0, 0] = block[8, 8] = 0.0
    block[0, 8] = block[8, 0] = 1.0
    system[("z", 5), ("z", 5)] = block
    symbolic = system.analyze()
    cut = symbolic.precedence.cut
    assert symbolic.widest == 16
    assert np.flatnonzero(~cut).tolist() == [system.graph.index["z", 5]]
    b = np.random.default_rng(0).standard_normal(system.graph.rows)
    matrix = system.to_scipy()
    assert backward_error(matrix, system.factorize().solve(b), b) <= 1e-14


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_without_empty_nodes_wide_definite_blocks_are_cut(sign):
    graph, rng = gs.chain(4), np.random.default_rng(0)
    system = gs.System(graph, [20, 20, 16, 20], symmetric=True)
    for u in graph:
        size = system.graph.size[u]
        block = rng.standard_normal((size, size))
        system[u, u] = sign * (block @ block.T + np.eye(size))
    for u, v in graph.edges:
        system[u, v] = 0.1 * rng.standard_normal(system[u, v].shape)
    system[3, 3] -= sign * 5.0 * np.diag(np.arange(20.0))  # indefinite
    symbolic = system.analyze()
    assert symbolic.precedence.cut.tolist() == [True, True, False, False]
    dense, b = system.to_dense(), rng.standard_normal(76)
    factor = system.factorize()
    assert factor.solve(b) == pytest.approx(np.linalg.solve(dense, b), rel=1e-10)
    assert factor.slogdet() == pytest.approx(np.linalg.slogdet(dense))
    inverse = np.linalg.inv(dense)
    assert factor.selected_inverse()[1, 2] == pytest.approx(inverse[20:40, 40:56], abs=1e-12)


def test_blocks_of_other_systems_stay_whole():
    system = families.random_system(gs.chain(5), 20, seed=0)
    assert system.analyze().precedence.cut.size == 0
    assert system.analyze().widest == 20


@pytest.mark.parametrize(("body", "joint", "nodal"), [(4, 3, True), (3, 2, True), (3, 1, False)])
def test_symmetric_saddle_points_use_the_nodal_program_if_nodes_have_several_rows(
    body, joint, nodal
):
    graph = families.body_joint_chain(20)
    system = gs.System(graph, {u: body if u[0] == "body" else joint for u in graph}, symmetric=True)
    rng = np.random.default_rng(0)
    for u, v in graph.edges:
        u, v = (u, v) if u[0] == "joint" else (v, u)
        system[u, v] = rng.standard_normal((joint, body))
        system[v, v] = np.eye(body)
    symbolic = system.analyze()
    assert symbolic.program[NODES] == (len(graph) if nodal else 0)


def test_a_correction_is_added_if_it_is_small_in_every_unknown():
    x = np.array([1.0, -2.0, 0.0])
    assert add_small(x, np.array([1e-12, 1e-12, 0.0]), 1e-11)
    assert x.tolist() == [1.0 + 1e-12, -2.0 + 1e-12, 0.0]
    for change in ([0.0, 3e-11, 0.0], [0.0, 0.0, 1e-300], [np.nan, 0.0, 0.0]):
        before = x.copy()
        assert not add_small(x, np.array(change), 1e-11)
        assert (x == before).all()


def test_small_corrections_need_no_second_residual_and_leave_rounding_errors():
    system = stages(6, 2, 40, seed=3, exponents=(-3, 3))
    factor, matrix = system.factorize(), system.to_scipy()
    skipped = 0
    for seed in range(40):
        b = np.random.default_rng(seed).standard_normal(factor.shape[0])
        x = factor.solve(b)
        if factor.report.refinements and factor.report.backward_error == REACHED * EPS:
            skipped += 1
            assert backward_error(matrix, x, b) <= 2 * REACHED * EPS
    assert skipped > 0


def carried(system, rng):
    """Loads that multipliers carry: nothing moves."""
    empty = np.repeat([u[0] in ("c", "joint") for u in system.graph.labels], system.graph.size)
    return system.to_scipy() @ (rng.standard_normal(empty.size) * empty)


@pytest.mark.parametrize("seed", range(4))
def test_small_corrections_leave_rounding_errors_and_others_need_a_residual(seed):
    # the largest part by which an unknown changes, times the error before: `refine`
    rng, passed, failed = np.random.default_rng(seed), 0, 0
    graphs = families.body_joint_chain(30), families.body_joint_tree(60)
    systems = [families.random_saddle_system(graph, seed=seed) for graph in graphs]
    systems += [stages(*sizes, 40, seed, exponents=(-10, 10)) for sizes in ((3, 1), (6, 2), (9, 4))]
    for system in systems:
        found = Factorization(system.analyze(), system.dtype, refine_below=0.125)
        assert found.factorize(system.values) is found
        matrix = Matrix(system.graph, system.values)
        loads = [rng.standard_normal(system.graph.rows) for _ in range(20)]
        for b in [*loads, *(carried(system, rng) for _ in range(20))]:
            x = found.fast_solve(b)
            r, _, before = matrix.errors(b, x, 1, False)
            if before <= FINE * EPS:
                continue
            change = found.fast_solve(r)
            part = np.abs(change / (x + change)).max()
            error = matrix.errors(b, x + change, 1, False)[2]
            if part * before <= REACHED * EPS ** (1.0 + CANCELLED):
                passed += 1
                assert error <= REACHED * EPS
            else:
                failed += error > 1e-14
    assert passed > 10 and failed > 10


@pytest.mark.parametrize("with_kernel", [True, False])
@pytest.mark.parametrize("scale", [1.1, 1.01, 0.9])
def test_slow_refinement_is_measured_to_its_end(with_kernel, scale):
    # factors of another matrix, `scale` A: the error of x falls to 1 - 1 / scale with each step
    system = families.random_system(gs.chain(4), 2, seed=0)
    found = Factorization(system.analyze(), system.dtype, refine_below=0.125)
    assert found.factorize(scale * system.values) is found
    matrix = Matrix(system.graph, system.values)
    b = np.arange(1.0, 9.0)
    x = found.fast_solve(b)
    if with_kernel:
        _, error, _ = matrix.refine(found.program, found.arena, b, x, 1, False)
    else:
        _, error, _ = matrix.refine_with(lambda r, *_: found.fast_solve(r), b, x, 1, False)

    # two measurements of rounding errors in rows of 7 terms differ by 8 / 2 machine epsilons
    assert matrix.errors(b, x, 1, False)[1] <= error + 4 * EPS


def test_inertia_measures_doubtful_factors_once_per_matrix(monkeypatch):
    # the first block has pivots of 1e-3, by which its neighbour grows a thousandfold
    system = gs.System(gs.chain(2), 2, symmetric=True)
    system[0, 0] = [[1e-3, 1.0], [1.0, 0.0]]
    system[1, 1] = np.diag([1e-3, 1e-3])
    system[0, 1] = np.eye(2)
    other = system.copy()
    other[1, 1] = np.diag([1e-3, -2.0])
    factor, measured, real = system.factorize(), [], Factorization.can_refine

    def measure(self, values):
        measured.append(values.copy())
        return real(self, values)

    monkeypatch.setattr(Factorization, "can_refine", measure)
    for one in (system, other, system):
        factor.refactorize(one.values)
        signs = np.sign(np.linalg.eigvalsh(one.to_dense()))
        assert factor._factorization.doubtful
        for _ in range(3):
            assert factor.inertia() == ((signs > 0).sum(), (signs < 0).sum())
        assert len(measured) == 1 and measured.pop().tolist() == one.values.tolist()
