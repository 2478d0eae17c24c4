"""Scaling by powers of two commutes with every operation: solutions stay the same to the bit."""

import networkx as nx
import numpy as np
import pytest

import graphsys as gs
from graphsys.families import random_system

#: Exponents near the ends of the range, where neither b nor a reciprocal pivot leaves it.
EXPONENTS = {np.float64: 950, np.float32: 100, np.complex128: 480}


def exchanging(dims, dtype, seed=0):
    """Chain whose diagonal blocks need their rows exchanged."""
    system = random_system(gs.chain(6), dims, dtype=dtype, seed=seed)
    rng = np.random.default_rng(seed)
    for u in system.labels:
        system[u, u] = system[u, u][rng.permutation(dims)]
    return system


def test_two_rows_by_hand():
    # [4 1; 1 3] x = (1, 1): x = (2/11, 3/11)
    for dtype, scales in ((float, (1e160, 1e-160)), (np.float32, (1e25, 1e-25))):
        for scale in scales:
            block = np.array([[4.0, 1.0], [1.0, 3.0]]) * scale
            system = gs.System(gs.chain(1), 2, blocks={(0, 0): block}, dtype=dtype)
            x = system.solve(np.full(2, scale, dtype))
            assert x == pytest.approx([2 / 11, 3 / 11], rel=4 * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("sign", [1, -1])
def test_solutions_do_not_depend_on_the_scale(dtype, sign):
    scale = 2.0 ** (sign * EXPONENTS[dtype])
    rng = np.random.default_rng(0)
    for rows in [*range(1, 9), 9, 13, 16, 20]:
        for system in (random_system(gs.chain(6), rows, dtype=dtype), exchanging(rows, dtype)):
            b = rng.normal(size=system.shape[0]).astype(dtype)
            for refine in (False, None):
                x = system.factorize(refine=refine).solve(b)
                scaled = system.copy()
                scaled.values *= dtype(scale)
                factor = scaled.factorize(refine=refine)
                assert np.array_equal(factor.solve(b * dtype(scale)), x), (rows, refine)
                assert factor.pivot_ratio == system.factorize().pivot_ratio


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sign", [1, -1])
def test_solutions_of_batches_do_not_depend_on_the_scale(dtype, sign):
    scale = dtype(2.0 ** (sign * EXPONENTS[dtype]))
    for rows in (1, 2, 3, 6, 8):
        systems = [exchanging(rows, dtype, seed) for seed in range(3)]
        systems += [random_system(gs.chain(6), rows, dtype=dtype, seed=seed) for seed in range(6)]
        values = np.stack([system.values for system in systems])
        b = np.random.default_rng(0).normal(size=(9, systems[0].shape[0])).astype(dtype)
        symbolic = systems[-1].analyze()
        x = gs.Batch(symbolic, values).solve(b)
        scaled = gs.Batch(symbolic, values * scale)
        assert np.array_equal(scaled.solve(b * scale), x)
        assert not scaled.failures


LARGEST = np.finfo(float).max
#: Blocks with a pivot that has no reciprocal, right-hand sides and solutions: the second pivot of
#: the first is 3 LARGEST; what is subnormal has less than 53 bits.
BEYOND = [
    ([[1.0, LARGEST], [-2.0, LARGEST]], [1.0, 1.0], [0.0, 1.0 / LARGEST]),
    ([[1e-310, 0.0], [0.0, 1.0]], [1e-310, 2.0], [1.0, 2.0]),
    ([[1.0, 0.0], [0.0, 1e-310]], [3.0, 2e-310], [3.0, 2.0]),
]


@pytest.mark.parametrize("rows", [2, 6, 9, 12, 17])
@pytest.mark.parametrize(("corner", "right", "solution"), BEYOND)
def test_pivots_without_a_reciprocal_are_equilibrated_first(rows, corner, right, solution):
    for dtype in (float, complex):
        block, b, x = np.eye(rows, dtype=dtype), np.ones(rows), np.ones(rows)
        block[-2:, -2:], b[-2:], x[-2:] = corner, right, solution
        system = gs.System(gs.chain(1), rows, dtype=dtype, blocks={(0, 0): block})
        assert np.allclose(system.solve(b), x, rtol=1e-12, atol=1e-15)


def test_a_system_of_a_batch_with_such_a_pivot_goes_alone():
    corner, right, solution = BEYOND[0]
    for rows in (2, 6, 8):
        block, b, x = np.eye(rows), np.ones((2, rows)), np.ones((2, rows))
        block[-2:, -2:], b[1, -2:], x[1, -2:] = corner, right, solution
        system = gs.System(gs.chain(1), rows, blocks={(0, 0): np.eye(rows)})
        values = np.stack([np.eye(rows).ravel("F"), block.ravel("F")])
        batch = gs.Batch(system.analyze(), values)
        assert np.allclose(batch.solve(b), x, rtol=1e-12, atol=1e-15)
        assert batch.status.tolist() == ["batch", "alone"]


def test_a_solution_beyond_the_range_is_refused():
    system = gs.System(nx.empty_graph(2), 1, blocks={(0, 0): 1e-310, (1, 1): 1.0})
    with pytest.raises(OverflowError, match="the solution overflows"):
        system.solve([1.0, 1.0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exponent", [-60, 0, 60])
def test_redundant_constraints_at_any_scale_and_precision(dtype, exponent):
    # two bodies held together twice: x is equal, and the joints share their impulse
    scale = dtype(2.0**exponent)
    graph = nx.complete_bipartite_graph(2, 2)
    system = gs.System(graph, 1, dtype=dtype, symmetric=True)
    for body in (0, 1):
        system[body, body] = 2.0 * scale
        for joint in (2, 3):
            system[body, joint] = (1.0 - 2.0 * body) * scale
    factor = system.factorize(redundant=True)
    x = factor.solve(np.array([6.0, 2.0, 0.0, 0.0], dtype) * scale)

    assert x.dtype == dtype and factor.redundant in ({2: 1}, {3: 1})
    assert x == pytest.approx([2.0, 2.0, 1.0, 1.0], rel=64 * float(np.finfo(dtype).eps))


def test_redundant_constraints_beyond_the_range_name_their_node():
    # the pivots of the joint scale with 1e200 1e200 / 1e-200
    graph = nx.path_graph(["body", "joint"])
    blocks = {("body", "body"): 1e-200, ("body", "joint"): 1e200, ("joint", "body"): 1e200}
    system = gs.System(graph, 1, blocks=blocks)

    with pytest.raises(OverflowError, match="node 'joint'.* scale the matrix"):
        system.factorize(redundant=True)
