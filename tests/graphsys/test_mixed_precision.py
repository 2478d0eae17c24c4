"""Mixed precision: factors in single precision, solutions in double precision."""

import pickle

import numpy as np
import pytest

import graphsys as gs
from graphsys.families import random_system
from graphsys.kernels.single.refinement import GOOD

EPS = np.finfo(float).eps


def test_one_equation_by_hand():
    system = gs.System(gs.chain(1), 1, blocks={(0, 0): 3.0})
    factor = system.factorize(precision="mixed")
    x = factor.solve([1.0])
    assert abs(3.0 * x[0] - 1.0) <= 2.0 * GOOD * EPS  # 3e-8 in float32
    assert factor.report.refinements >= 1


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("graph", [gs.chain(30), gs.net(6), gs.crystal(3)], ids=str)
def test_solutions_have_the_backward_error_of_double_precision(graph, symmetric):
    system = random_system(graph, 4, seed=1, symmetric=symmetric)
    factor = system.factorize(precision="mixed")
    b = np.random.default_rng(0).normal(size=(system.shape[0], 3))
    A = system.to_dense()
    for trans, matrix in (("N", A), ("T", A.T)):
        x = factor.solve(b, trans)
        size = np.abs(matrix) @ np.abs(x) + np.abs(b)
        assert (np.abs(matrix @ x - b) / size).max() <= (GOOD + len(A)) * EPS
    assert factor.nbytes == system.factorize().nbytes // 2


def test_another_matrix_and_changed_nodes():
    system = random_system(gs.net(5), 3, seed=2)
    factor = system.factorize(precision="mixed")
    b = np.ones(system.shape[0])
    system[0, 0] = 50.0 * np.eye(3)
    for changed in (None, [0]):
        factor.refactorize(system.values, changed=changed)
        np.testing.assert_allclose(system @ factor.solve(b), b, atol=1e-12)


def nearly_singular(small):
    return gs.System(gs.chain(2), 1, blocks={
        (0, 0): 1.0, (0, 1): 1.0, (1, 0): 1.0, (1, 1): 1.0 + small,
    })  # fmt: skip


def test_what_single_precision_cannot_resolve_is_factorized_in_double_precision():
    system = nearly_singular(2.0**-30)  # singular in float32
    symbolic = system.analyze()
    b = np.array([1.0, 1.0 + 2.0**-30])
    for _ in range(2):  # the analysis remembers
        factor = system.factorize(symbolic, precision="mixed")
        np.testing.assert_array_equal(factor.solve(b), [0.0, 1.0])
        assert factor.nbytes == system.factorize().nbytes
    system[0, 1] = 0.0
    factor.refactorize(system.values)
    np.testing.assert_allclose(system @ factor.solve(b), b, rtol=4 * EPS)


def test_refinement_that_stalls_goes_on_in_double_precision():
    # A condition number beyond 1 / eps of float32, which the pivots do not show.
    n = 12
    hilbert = 1.0 / (np.arange(n)[:, None] + np.arange(n) + 1.0) + 1e-6 * np.eye(n)
    system = gs.System(gs.chain(1), n, blocks={(0, 0): hilbert})
    b = hilbert @ np.ones(n)
    x = system.factorize(precision="mixed").solve(b)
    size = np.abs(hilbert) @ np.abs(x) + np.abs(b)
    assert (np.abs(hilbert @ x - b) / size).max() <= (GOOD + n) * EPS


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
def test_numbers_beyond_the_range_of_single_precision(scale):
    system = random_system(gs.ladder(4), 2, seed=3)
    b = np.ones(system.shape[0])
    x = system.factorize(precision="mixed").solve(b)
    np.testing.assert_allclose(system.factorize(precision="mixed").solve(scale * b), scale * x)
    system.values *= scale
    np.testing.assert_allclose(system.factorize(precision="mixed").solve(b), x / scale)


def test_what_no_solve_refines_is_computed_in_double_precision():
    system = random_system(gs.net(4), 2, seed=4, symmetric=True)
    mixed, double = system.factorize(precision="mixed"), system.factorize()
    np.testing.assert_allclose(mixed.slogdet(), double.slogdet(), rtol=1e-13)
    np.testing.assert_allclose(
        mixed.selected_inverse().values, double.selected_inverse().values, atol=1e-13
    )
    assert mixed.inertia() == double.inertia()
    b = np.ones(system.shape[0])
    np.testing.assert_allclose(mixed.solve(b), double.solve(b), rtol=1e-12)


def test_copies_solve_to_the_same_bits():
    system = random_system(gs.net(4), 3, seed=5)
    factor, b = system.factorize(precision="mixed"), np.ones(48)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(factor)).solve(b), factor.solve(b))


def test_rejections():
    system = random_system(gs.chain(3), 2, seed=6)
    with pytest.raises(ValueError, match='precision is "double" or "mixed", not \'half\''):
        system.factorize(precision="half")
    with pytest.raises(ValueError, match="needs precision"):
        system.factorize(precision="mixed", redundant=True)
    for dtype in (np.float32, complex):
        with pytest.raises(ValueError, match="is one of float64 systems"):
            random_system(gs.chain(3), 2, seed=6, dtype=dtype).factorize(precision="mixed")
    b = np.ones(6)
    b[2] = np.nan
    with pytest.raises(ValueError, match="b is not finite at node 1"):
        system.factorize(precision="mixed").solve(b)
    with pytest.raises(gs.SingularPivotError):
        nearly_singular(0.0).factorize(precision="mixed")
