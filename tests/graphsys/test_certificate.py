"""Certificates of solutions: backward error, condition estimate and forward bound."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphsys as gs
from graphsys.families import random_system

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


def test_a_norm_that_overflows_has_no_bound():
    system = gs.System(gs.chain(2), 1, blocks={(0, 0): 1e-300, (1, 1): 1.0})
    _, found = system.factorize().solve([1e-300, 1e300], report=True)
    assert found.forward_error >= EPS
