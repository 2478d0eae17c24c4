"""Gradient of a solve: by hand, against differences of random changes, conventions, refusals."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphsys as gs
from graphsys.families import random_system
from graphsys.matrix.block import mirrored


def test_one_unknown_by_hand():
    # x = b / a, f = 3 x: df/da = -3 b / a^2, df/db = 3 / a
    factor = gs.System(gs.chain(1), 1, blocks={(0, 0): 2.0}).factorize()
    x = factor.solve([10.0])
    of_values, of_b = factor.solve_gradient(x, [3.0])

    assert of_values == pytest.approx([-7.5])
    assert of_b == pytest.approx([1.5])


def test_two_nodes_by_hand():
    # A = I: lam = g, so that block (u, v) is -g_u x_v
    system = gs.System(nx.path_graph(["u", "v"]), 1, blocks={("u", "u"): 1, ("v", "v"): 1})
    factor = system.factorize()
    of_values, of_b = factor.solve_gradient({"u": [2.0], "v": [3.0]}, {"u": [5.0], "v": [7.0]})

    assert {u: v.tolist() for u, v in of_b.items()} == {"u": [5.0], "v": [7.0]}
    system.values = of_values
    assert [system[p].item() for p in ("uu", "uv", "vu", "vv") for p in [tuple(p)]] == [
        -10, -15, -14, -21,
    ]  # fmt: skip


def numbers(rng, shape, dtype):
    real = rng.normal(size=shape)
    return (real + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else real).astype(
        dtype
    )


def symmetric_change(system, rng):
    """Random values of the system's graph, symmetric where the system is."""
    other = system.copy()
    other.values = np.zeros_like(system.values)
    i, j = system.graph.pairs()
    for u, v in zip(i, j, strict=True):
        block = numbers(rng, other[u, v].shape, system.dtype)
        if system.symmetric and u == v:
            block = block + mirrored(block, system.symmetric)
        other[u, v] = block
    return other.values.copy()


def predicted_and_found(system, columns, seed, kind=None):
    """Change of f = Re(sum(conj(c) x)) + |x|^2 / 2 along a line: from the gradient, and measured.

    The measured one is Richardson's extrapolation of central differences, O(step^4).
    """
    rng = np.random.default_rng(seed)
    kind = system.dtype if kind is None else kind
    shape = system.shape[0] if columns is None else (system.shape[0], columns)
    b, db, c = (numbers(rng, shape, kind) for _ in range(3))
    dvalues = symmetric_change(system, rng)
    factor = system.factorize()
    symbolic, values = factor.symbolic, system.values

    def f(t):
        x = gs.Factor(symbolic, values + t * dvalues).solve(b + t * db)
        return np.sum(c.conj() * x).real + np.sum(np.abs(x) ** 2) / 2

    step = 1e-2 / np.abs(dvalues).max(initial=1.0)
    coarse, fine = ((f(h) - f(-h)) / (2 * h) for h in (2 * step, step))
    x = factor.solve(b)
    of_values, of_b = factor.solve_gradient(x, c + x)
    assert of_values.shape == values.shape and of_values.dtype == system.dtype
    assert of_b.shape == b.shape
    predicted = np.sum(of_values.conj() * dvalues).real + np.sum(of_b.conj() * db).real
    return predicted, (4 * fine - coarse) / 3


@pytest.mark.parametrize("columns", [None, 1, 3])
@pytest.mark.parametrize("symmetric", [False, True, "hermitian"])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("dims", [1, 3, 6, 9])
def test_families_equal_differences(dims, dtype, symmetric, columns):
    # step^4 is 1e-8, of terms that fall by |A^-1 dA| < 1/2 each; rounding adds 1e-16 / step
    for graph in (gs.chain(4), gs.ladder(3), gs.net(3), nx.complete_graph(4)):
        dominance = 20 + 4 * (4 * dims) ** 0.5
        system = random_system(graph, dims, dtype=dtype, symmetric=symmetric, dominance=dominance)
        predicted, found = predicted_and_found(system, columns, dims)
        assert predicted == pytest.approx(found, rel=1e-7, abs=1e-8)


@given(data=st.data())
def test_any_graph_with_any_sizes_equals_differences(data):
    n = data.draw(st.integers(1, 8))
    graph = nx.gnm_random_graph(n, data.draw(st.integers(0, 2 * n)), seed=data.draw(st.integers(0)))
    size = data.draw(st.lists(st.integers(0, 7), min_size=n, max_size=n))
    seed = data.draw(st.integers(0, 99))
    system = random_system(
        graph, size, seed=seed, dominance=50.0, symmetric=data.draw(st.booleans())
    )
    columns = data.draw(st.sampled_from([None, 0, 1, 2]))
    predicted, found = predicted_and_found(system, columns, seed)

    assert predicted == pytest.approx(found, rel=1e-7, abs=1e-8)


def test_complex_vectors_of_a_real_matrix_leave_a_real_gradient():
    system = random_system(gs.ladder(3), 3, dominance=20.0)
    predicted, found = predicted_and_found(system, 2, 0, complex)

    assert predicted == pytest.approx(found, rel=1e-7)


def test_the_pair_that_one_assignment_sets_counts_twice():
    system = random_system(gs.chain(3), 2, symmetric=True, dominance=20.0)
    factor, step = system.factorize(), 1e-4
    b = np.arange(6.0)
    x = factor.solve(b)
    of_values, _ = factor.solve_gradient(x, x)  # f = |x|^2 / 2
    gradient = system.copy()
    gradient.values = of_values
    change = np.array([[1.0, 2.0], [-1.0, 0.5]])

    def f(t):
        other = system.copy()
        other[0, 1] += t * change
        return np.sum(other.solve(b) ** 2) / 2

    found = (f(step) - f(-step)) / (2 * step)
    assert 2 * np.sum(gradient[0, 1] * change) == pytest.approx(found, rel=1e-6)


def test_a_step_against_it_lowers_the_function():
    system = random_system(gs.net(3), 2, dominance=20.0)
    b = np.ones(18)
    factor = system.factorize()
    x = factor.solve(b)
    of_values, _ = factor.solve_gradient(x, x)
    factor.refactorize(system.values - of_values)

    assert np.sum(factor.solve(b) ** 2) < np.sum(x**2)


def test_single_precision_stays_single():
    system = random_system(gs.net(3), 3, dtype=np.float32)
    factor = system.factorize()
    x = factor.solve(np.ones(27, np.float32))
    of_values, of_b = factor.solve_gradient(x, x)
    exact = random_system(gs.net(3), 3, dtype=np.float32).to_dense().astype(float)
    lam = np.linalg.solve(exact.T, np.linalg.solve(exact, np.ones(27)))

    assert of_values.dtype == of_b.dtype == np.float32
    bound = 10 * np.linalg.cond(exact, np.inf) * np.finfo(np.float32).eps
    assert np.abs(of_b - lam).max() < bound * np.abs(lam).max()


def test_vectors_are_checked():
    factor = random_system(nx.path_graph(["a", "b"]), 2).factorize()
    with pytest.raises(ValueError, match=r"x has shape \(4, 2\), g \(4,\)"):
        factor.solve_gradient(np.zeros((4, 2)), np.zeros(4))
    with pytest.raises(ValueError, match=r"shape \(5,\)"):
        factor.solve_gradient(np.zeros(5), np.zeros(4))
    with pytest.raises(ValueError, match=r"shape \(5,\)"):
        factor.solve_gradient(np.zeros(4), np.zeros(5))
    with pytest.raises(TypeError, match="x is not an array of numbers"):
        factor.solve_gradient(["?"] * 4, np.zeros(4))
