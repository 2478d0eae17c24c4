"""Certificates of solutions: backward error, condition estimate and forward bound."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsys as gs
from graphsys.families import body_joint_tree, random_saddle_system, random_system

EPS = np.finfo(float).eps


def exact_condition(A, b, x):
    size = np.abs(A) @ np.abs(x) + np.abs(b)
    return (np.abs(np.linalg.inv(A)) @ size).max() / np.abs(x).max()


def integer_system(graph, dims, seed, dtype=float):
    """A system whose solution of whole numbers is known, as its right-hand side has no rounding."""
    rng = np.random.default_rng(seed)
    system = random_system(graph, dims, seed=seed, dtype=dtype)
    whole = np.rint(system.values.real * 64) + 0.0
    if np.dtype(dtype).kind == "c":
        whole = whole + 1j * np.rint(system.values.imag * 64)
    system.values[...] = whole
    x = rng.integers(-50, 51, system.shape[0]).astype(dtype)
    return system, x, system.to_dense() @ x


def test_by_hand():
    # x = (1, 1/2); |A| |x| + |b| = (2, 4); |A^-1| that = (2, 1)
    system = gs.System(gs.chain(2), 1, blocks={(0, 0): 1.0, (1, 1): 4.0})
    x, found = system.factorize().solve([1.0, 2.0], report=True)

    assert x.tolist() == [1.0, 0.5]
    assert found.backward_error == 0.0
    assert found.condition == 2.0
    assert found.forward_error == 2.0 * 3 * EPS  # rows of two places, one of them zero


@settings(max_examples=30)
@given(seed=st.integers(0, 2**31), n=st.integers(2, 12), dims=st.integers(1, 7))
def test_the_estimate_is_a_bound_from_below_and_close(seed, n, dims):
    system, x, b = integer_system(gs.ladder(n), dims, seed)
    for trans in "NT":
        right = b if trans == "N" else system.to_dense().T @ x
        solution, found = system.factorize().solve(right, trans, report=True)
        A = system.to_dense() if trans == "N" else system.to_dense().T
        exact = exact_condition(A, right, solution)
        assert found.condition <= exact * (1.0 + 1e4 * EPS * exact)
        assert found.condition >= exact / 10.0
        error = np.abs(solution - x).max() / np.abs(x).max()
        assert error <= 10.0 * found.forward_error


def kahan(n, angle):
    """Upper triangular, and nearly singular without a small pivot."""
    c, s = np.cos(angle), np.sin(angle)
    return np.diag(s ** np.arange(n)) @ (np.eye(n) - c * np.triu(np.ones((n, n)), 1))


def hard_matrices(rng, n):
    """Matrices of known traps of condition estimators, condition numbers up to 1e10."""
    normal = rng.standard_normal((n, n))
    u, _ = np.linalg.qr(normal)
    v, _ = np.linalg.qr(rng.standard_normal((n, n)))
    small = 10.0 ** -rng.uniform(1, 10)
    scales = np.exp(rng.uniform(-8, 8, n))
    ones = np.ones(n - 1)
    second = 2.0 * np.eye(n) - np.diag(ones, 1) - np.diag(ones, -1)
    yield normal
    yield scales[:, None] * normal
    yield normal * scales
    yield kahan(n, rng.uniform(0.6, 1.4))
    yield u * np.geomspace(1.0, small, n) @ v
    yield u * np.append(np.ones(n - 1), small) @ v
    yield second + 1e-6 * np.eye(n)
    yield second + rng.uniform(0.0, 1.0) * (np.diag(ones, 1) - np.diag(ones, -1))
    yield np.eye(n) - np.tril(rng.uniform(-1.0, 1.0, (n, n)), -1)
    yield normal * (abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 1)


def estimates(seeds):
    """Exact condition over its estimate, of hard matrices and of systems on graphs."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 40))
        systems = [gs.System(gs.chain(1), n, blocks={(0, 0): A}) for A in hard_matrices(rng, n)]
        dims = int(rng.integers(1, 7))
        graphs = gs.chain(n), gs.ladder(n), gs.net(5)
        systems += [random_system(graph, dims, seed=seed) for graph in graphs]
        systems.append(random_saddle_system(body_joint_tree(n // 2), seed=seed))
        for system in systems:
            A = system.to_dense()
            x = rng.standard_normal(len(A))
            b = A @ x if seed % 2 else x
            found, certificate = system.factorize().solve(b, report=True)
            exact = exact_condition(A, b, found)
            if exact < 1e12:
                yield exact / certificate.condition


def test_estimates_are_as_close_as_those_of_lapack():
    ratios = np.array([*estimates(range(12))])

    # N. J. Higham (ACM TOMS 14, 1988): almost always within 3, hardly ever beyond 10
    assert ratios.max() <= 10.0
    assert np.mean(ratios <= 3.0) >= 0.98
    assert np.median(ratios) <= 1.1


@pytest.mark.slow
def test_many_estimates_are_as_close_as_those_of_lapack():
    ratios = np.array([*estimates(range(1000, 1200))])

    assert np.mean(ratios <= 10.0) >= 0.999
    assert np.mean(ratios <= 3.0) >= 0.99


def test_nearly_singular_systems_show_how_many_digits_are_left():
    system = gs.System(gs.chain(2), 1)
    for tiny in (1e-4, 1e-8, 1e-12):
        system[0, 0], system[0, 1], system[1, 0], system[1, 1] = 1.0, 1.0, 1.0, 1.0 + tiny
        _, found = system.factorize().solve([1.0, 2.0], report=True)
        assert found.condition == pytest.approx(4.0 / tiny, rel=0.5)
        assert EPS / tiny < found.forward_error < 100.0 * EPS / tiny


def test_all_right_hand_sides_that_solve_takes():
    system, x, b = integer_system(gs.net(4), 3, 0, complex)
    factor = system.factorize()
    _, found = factor.solve(b, report=True)
    _, adjoint = factor.solve(system.to_dense().conj().T @ x, "H", report=True)
    assert found.backward_error < 10 * EPS and adjoint.backward_error < 10 * EPS

    system, x, b = integer_system(gs.net(4), 3, 0)
    factor = system.factorize()
    _, found = factor.solve(b, report=True)
    labels = dict(zip(system.graph.labels, b.reshape(-1, 3), strict=True))
    by_label, same = factor.solve(labels, report=True)
    assert set(by_label) == set(labels) and same == found
    out = np.empty_like(b)
    again, same = factor.solve(b, out=out, report=True)
    assert again is out and same == found
    _, worst = factor.solve(np.column_stack([b, np.ones_like(b), 1j * b]), report=True)
    _, other = factor.solve(np.ones_like(b), report=True)
    assert worst.condition == pytest.approx(max(found.condition, other.condition), rel=1e-12)
    _, nothing = factor.solve(np.zeros_like(b), report=True)
    assert (nothing.backward_error, nothing.forward_error) == (0.0, 0.0)
    _, nothing = factor.solve(np.zeros((b.size, 0)), report=True)
    assert nothing.condition == 1.0


def test_single_precision_is_certified_in_single_precision():
    system = random_system(gs.net(5), 2, seed=1, dtype=np.float32)
    _, found = system.factorize().solve(np.ones(system.shape[0]), report=True)
    assert 1e-8 < found.forward_error < 1e-3


def test_redundant_rows_have_no_bound():
    blocks = {("body", "body"): np.eye(2), ("body", "joint"): np.ones((2, 2)),
              ("joint", "body"): np.ones((2, 2))}  # fmt: skip
    system = gs.System(nx.Graph([("body", "joint")]), 2, blocks=blocks)
    x, found = system.factorize(redundant=True).solve([1.0, 1.0, 2.0, 2.0], report=True)

    assert np.allclose(x[:2], 1.0)
    assert found.condition == found.forward_error == np.inf
    assert found.backward_error < 1e-12


def test_a_regular_system_that_may_be_redundant_has_a_bound():
    # node 3 holds node 2, so that vectors of the estimate leave rounding errors there
    A = np.array([[1.0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 1], [0, 0, 1, 0]])
    system = gs.System(gs.chain(4), 1, symmetric=True)
    for u, v in zip(*np.nonzero(np.triu(A))):
        system[u, v] = A[u, v]
    x, found = system.factorize(redundant=True).solve([-1.0, -2, 3, 0], report=True)

    assert np.abs(x - [-2, 1, 0, 2]).max() / 2 <= found.forward_error < np.inf
    exact = exact_condition(A, A @ x, x)
    assert exact / 3 <= found.condition <= exact * 1.001


def test_the_solution_may_take_the_place_of_the_right_hand_side():
    system, x, b = integer_system(gs.ladder(4), 2, seed=0)
    factor = system.factorize()
    _, expected = factor.solve(b, report=True)
    same, found = factor.solve(b, out=b, report=True)

    assert same is b and found == expected
    assert np.abs(b - x).max() <= found.forward_error * np.abs(x).max()


def test_a_norm_that_overflows_has_no_bound():
    system = gs.System(gs.chain(2), 1, blocks={(0, 0): 1e-300, (1, 1): 1.0})
    _, found = system.factorize().solve([1e-300, 1e300], report=True)
    assert found.forward_error >= EPS


@pytest.mark.parametrize("refine", [None, True])
def test_bounds_are_infinite_where_sizes_overflow(refine):
    # |A| |x| is 2^1024, and b is in range
    blocks = {(0, 0): 1.0, (1, 0): 2.0**1023, (1, 1): -(2.0**1023)}
    system = gs.System(gs.chain(2), 1, blocks=blocks)
    with np.errstate(all="ignore"):  # of kernels in plain Python
        x, found = system.factorize(refine=refine).solve([1.0, 0.0], report=True)

    assert x.tolist() == [1.0, 1.0]
    assert found.condition == found.forward_error == np.inf


@pytest.mark.parametrize("refine", [None, True])
def test_conditions_are_finite_where_entries_of_the_inverse_overflow(refine):
    # x = (2^-40, 2^20), |A| |x| + |b| = (2^-1019, 2^-959), and A^-1 = (2^980, 0; 2^1040, 2^980)
    blocks = {(0, 0): 2.0**-980, (1, 0): -(2.0**-920), (1, 1): 2.0**-980}
    system = gs.System(gs.chain(2), 1, blocks=blocks)
    x, found = system.factorize(refine=refine).solve([2.0**-1020, 0.0], report=True)

    assert x.tolist() == [2.0**-40, 2.0**20]
    assert found.condition == pytest.approx(4.0)


def test_rows_that_are_multiples_of_each_other_do_not_cancel():
    # the inverse has (4, -2; -2, 1) / (5 delta) for the two constraints, whose sizes are 2 and 4
    for delta in (1e-8, 1e-12):
        for between in range(12):  # nodes whose places lie between the two
            labels = ["x", "c", *range(between), "2c"]
            graph = nx.Graph([("x", "c"), ("x", "2c")])
            graph.add_nodes_from(range(between))
            system = gs.System(graph, 1, nodelist=labels, symmetric=True)
            for node in ("x", *range(between)):
                system[node, node] = 1.0
            system["x", "c"], system["x", "2c"] = 1.0, 2.0
            system["c", "c"] = system["2c", "2c"] = -delta
            b = system.to_dense()[:, 0]
            x, found = system.factorize().solve(b, report=True)
            exact = exact_condition(system.to_dense(), b, x)
            assert exact / 25.0 <= found.condition <= 1.01 * exact
