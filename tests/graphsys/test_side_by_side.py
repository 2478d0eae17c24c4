"""Eight right-hand sides of one system side by side, in elimination order."""

import numpy as np
import pytest

import graphsys as gs
from graphsys import kernels
from graphsys.families import random_system
from graphsys.kernels.base.jit import kernel
from graphsys.kernels.base.layout import SUPERNODES
from graphsys.kernels.single.multiple_rhs import assign_rows, subtract_rows


@kernel
def subtract(c, a, lda, b, m, k):
    subtract_rows(c, 0, a, 1, lda, b, 0, m, k)


@kernel
def assign(c, a, lda, b, m, k):
    assign_rows(c, 0, a, 1, lda, b, 0, m, k)


def factorized(system, order=None):
    """Symbolic factorization and arena."""
    symbolic = system.analyze(order) if order else system.analyze()
    arena_size, held, _ = kernels.work_sizes(symbolic.program, 8)
    arena = np.empty(arena_size)
    assert not kernels.factorize(
        symbolic.program, system.values, 1e-14, np.empty(held), arena, np.empty(3)
    )
    return symbolic, arena


def places_of(program, rows):
    place, supernode = np.empty((2, rows))
    kernels.row_places(program, place, supernode)
    return place.astype(int), supernode.astype(int)


@pytest.mark.parametrize("graph", [gs.chain(30), gs.random_tree(30, seed=2), gs.ladder(12)])
@pytest.mark.parametrize("size", [1, 3, 6, 9, 17])
def test_columns_are_those_of_the_dense_solution_from_where_they_are_asked_for(graph, size):
    system = random_system(graph, size)
    symbolic, arena = factorized(system)
    nodes, rows = list(graph), size * len(graph)
    place, supernode = places_of(symbolic.program, rows)
    assert sorted(place) == list(range(rows))
    for chosen in ([nodes[7], nodes[20]], [symbolic.order[-1]], [symbolic.order[0]]):
        b = np.zeros((rows, 8))
        for node in chosen:
            k = size * nodes.index(node)
            b[k : k + size] = np.random.default_rng(k).normal(size=(size, 8))
        held = supernode[np.abs(b).sum(axis=1) > 0.0]
        first, last = held.min(), min(held.min(), supernode[size * nodes.index(nodes[3])])
        x = np.full(8 * rows, np.nan)
        kernels.clear_side_by_side(symbolic.program, last, x)
        for row in np.flatnonzero(np.abs(b).sum(axis=1)):
            x.reshape(rows, 8)[place[row]] = b[row]
        kernels.solve_side_by_side(symbolic.program, first, last, arena, np.empty(8 * rows), x)

        dense = system.to_dense()
        expected = np.linalg.solve(dense, b)
        asked = supernode >= last
        # two solutions of well-conditioned systems of some hundred rows
        rounding = 1e3 * np.finfo(float).eps * np.linalg.cond(dense) * np.abs(expected).max()
        assert np.abs(x.reshape(rows, 8)[place] - expected)[asked].max() < rounding
        assert np.isnan(x.reshape(rows, 8)[place][~asked]).all()


def test_a_system_of_two_rows_by_hand():
    system = random_system(gs.chain(2), 1)
    symbolic, arena = factorized(system, [0, 1])
    b = np.arange(16.0).reshape(2, 8)
    x = b.ravel().copy()

    kernels.solve_side_by_side(symbolic.program, 0, 0, arena, np.empty(16), x)

    (a, b01), (b10, d) = system.to_dense()
    inverse = np.array([[d, -b01], [-b10, a]]) / (a * d - b01 * b10)
    np.testing.assert_allclose(x.reshape(2, 8), inverse @ b, rtol=1e-12)
    assert symbolic.program[SUPERNODES] >= 1


@pytest.mark.parametrize("m", [1, 3, 8, 11])
@pytest.mark.parametrize("k", [0, 1, 6])
def test_products_of_a_matrix_and_rows_of_eight(m, k):
    rng = np.random.default_rng(m + 20 * k)
    a, b, c = rng.normal(size=(m + 2, k)), rng.normal(size=(k, 8)), rng.normal(size=(m, 8))
    out = c.ravel().copy()
    flat = np.append(a.ravel("F"), 0.0)

    subtract(out, flat, m + 2, np.append(b.ravel(), 0.0), m, k)
    np.testing.assert_allclose(out.reshape(m, 8), c - a[1 : m + 1] @ b, atol=1e-14)

    assign(out, flat, m + 2, np.append(b.ravel(), 0.0), m, k)
    np.testing.assert_allclose(out.reshape(m, 8), a[1 : m + 1] @ b, atol=1e-14)
