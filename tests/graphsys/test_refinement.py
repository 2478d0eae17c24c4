"""Iterative refinement with the factors of another matrix, whose steps are known by hand."""

import numpy as np
import pytest

import graphsys as gs
from graphsys.kernels.single.refinement import _size, refined_work, solve_refined
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
            tables, symbolic.program, arena, values, b, EPS, 5, work, np.empty(3), x
        )
        return steps, error, x

    steps, error, x = solve(ONES)
    assert (steps, error) == (0, 0.0)
    assert (x == [1.0, 0.25, 2.0]).all()
    assert solve(np.ones(2))[0] == -1  # of another size
    with np.errstate(all="ignore"):
        assert solve(np.array([1.0, 1.0, 1.7e308]))[0] == -1  # which overflows
    assert solve(ONES, 3.0 * system.values)[0] == -1  # factors with which nothing converges


@pytest.mark.parametrize("rows", range(20))
def test_the_norm_sees_each_entry(rows):
    x = np.linspace(-0.5, 0.5, rows + 2)
    assert _size(x, 1, rows) == abs(x[1:-1]).max(initial=0.0)
    for k in range(rows):
        x[1 + k] = -3.0 - k
        assert _size(x, 1, rows) == 3.0 + k
