"""Solutions for right-hand sides that are zero before a supernode."""

import numpy as np
import pytest

import graphsys as gs
from graphsys import kernels
from graphsys.families import random_system
from graphsys.kernels.program import SUPERNODES


def factorized(system, order=None):
    """Symbolic factorization, arena, and workspace for three columns."""
    symbolic = system.analyze(order) if order else system.analyze()
    arena_size, held, work = kernels.work_sizes(symbolic.program, 3)
    arena = np.empty(arena_size)
    assert not kernels.factorize(
        symbolic.program, system.values, 1e-14, np.empty(held), arena, np.empty(3)
    )
    return symbolic, arena, np.empty(work)


@pytest.mark.parametrize("graph", [gs.chain(30), gs.random_tree(30, seed=2), gs.ladder(12)])
@pytest.mark.parametrize("size", [1, 3, 6, 9])
@pytest.mark.parametrize("count", [1, 3])
def test_what_comes_later_is_as_in_the_solution_of_all(graph, size, count):
    system = random_system(graph, size)
    symbolic, arena, work = factorized(system)
    nodes, matrix = list(graph), system.to_dense()
    place = {node: k for k, node in enumerate(symbolic.order)}
    for chosen in ([nodes[7], nodes[20]], [symbolic.order[-1]], [symbolic.order[0]]):
        b = np.zeros((size * len(nodes), count), order="F")
        for node in chosen:
            k = size * nodes.index(node)
            b[k : k + size] = np.random.default_rng(k).normal(size=(size, count))
        x = np.full(b.size, np.nan)
        first = kernels.first_supernode(symbolic.program, np.abs(b).sum(axis=1))
        kernels.solve_from(symbolic.program, first, arena, b.ravel("F"), count, work, x)

        earliest = min(place[node] for node in chosen)
        later = np.repeat([place[node] >= earliest for node in nodes], size)
        expected = np.linalg.solve(matrix, b)[later]
        # two solutions of well-conditioned systems of some hundred rows
        rounding = 1e3 * np.finfo(float).eps * np.linalg.cond(matrix) * np.abs(expected).max()
        assert np.abs(x.reshape(-1, count, order="F")[later] - expected).max() < rounding


def test_nothing_before_the_supernode_is_touched():
    system = random_system(gs.chain(4), 6)
    symbolic, arena, work = factorized(system, [0, 1, 2, 3])
    x, b = np.full(24, np.nan), np.zeros(24)
    b[18:] = 1.0
    first = kernels.first_supernode(symbolic.program, b)

    kernels.solve_from(symbolic.program, first, arena, b, 1, work, x)

    # 2 and 3 may share a supernode
    assert np.isnan(x[:12]).all() and np.isfinite(x[18:]).all()
    assert kernels.first_supernode(symbolic.program, np.zeros(24)) == symbolic.program[SUPERNODES]
