"""Newton direction and linearization of the minimal-coordinate integrator, and their cost."""

import os
import subprocess
import sys

import numpy as np
import pytest

from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.integrators.tree.linearization import (
    evaluate,
    gravity_hessian,
    jacobian,
    kinetic_hessians,
    linearize,
    newton_direction,
)

from .trees import Lagrangian, differences, pendulum, random_tree

DISSIPATION = {"damping": 0.4, "drag": 0.3, "drag_area": 0.2, "stiffness": 0.7}
CASES = [(s, branch, frame) for s in (1, 2, 3) for branch in (1, 3) for frame in ("world", "body")]
# Central differences with e = 1e-5 of functions of size 1: e^2 of truncation, eps / e of rounding,
# both about 1e-10, and derivatives that are 1e2 times the function.
CLOSE = 1e-7


def case(s, branch, n=7):
    """An integrator, control points, momentum, forces and wrenches."""
    rng = np.random.default_rng(10 * s + branch)
    tree = random_tree(n, seed=s, branch=branch, **DISSIPATION)
    q = 0.3 * rng.normal(size=(s + 1, n))
    return (
        TreeIntegrator(tree, 0.1, s), q, rng.normal(size=n), rng.normal(size=n),
        rng.normal(size=(n, 6)),
    )  # fmt: skip


@pytest.mark.parametrize(("s", "branch", "frame"), CASES)
def test_the_newton_direction_solves_with_the_jacobian_of_differences(s, branch, frame):
    integrator, q, p, forces, wrenches = case(s, branch)
    n = p.size

    def residual(moved):
        nodes = np.vstack([q[:1], moved])
        return evaluate(integrator, nodes, p, forces, wrenches, frame=frame)[0]

    found = newton_direction(integrator, q, p, forces, wrenches, frame=frame)

    J = differences(residual, q[1:]).reshape(s * n, s * n)
    expected = -np.linalg.solve(J, residual(q[1:]).ravel()).reshape(s, n)
    assert np.abs(found - expected).max() <= CLOSE * np.abs(expected).max()


@pytest.mark.parametrize(("s", "branch", "frame"), CASES)
def test_algorithms_2_and_3_give_the_jacobian_of_differences_and_of_b1(s, branch, frame):
    integrator, q, p, forces, wrenches = case(s, branch)
    n = p.size

    def both(nodes):
        return np.vstack(evaluate(integrator, nodes, p, forces, wrenches, frame=frame))

    found = jacobian(integrator, q, p, forces, wrenches, frame=frame)

    assert np.abs(found - differences(both, q)).max() <= CLOSE * np.abs(found).max()
    J = found[:s, :, 1:].reshape(s * n, s * n)
    direction = newton_direction(integrator, q, p, forces, wrenches, frame=frame)
    expected = -np.linalg.solve(J, both(q)[:s].ravel())
    bound = 64 * np.finfo(float).eps * np.linalg.cond(J)
    assert np.abs(direction.ravel() - expected).max() <= bound * np.abs(expected).max()


def test_algorithm_2_gives_the_second_derivatives_of_the_kinetic_energy():
    n, rng = 6, np.random.default_rng(1)
    tree = random_tree(n, seed=6)
    integrator = TreeIntegrator(tree, 0.1)
    q, speed = 0.5 * rng.normal(size=n), rng.normal(size=n)

    by_speeds, mixed, by_places = kinetic_hessians(integrator, q, speed)

    # K is the Lagrangian less that of rest; it is differentiated once by hand, by the momenta
    lagrangian = Lagrangian(tree)
    assert np.abs(by_speeds @ speed - integrator.momentum(q, speed)).max() <= 1e-12 * 100
    by_place = differences(lambda x: integrator.momentum(x, speed), q)  # dp_i/dq_j
    assert np.abs(mixed.T - by_place).max() <= CLOSE * np.abs(by_place).max()

    def slope(x):
        return differences(lambda y: lagrangian(y, speed) - lagrangian(y, 0 * speed), x, 1e-4)

    second = differences(slope, q, 1e-4)
    assert np.abs(by_places - second).max() <= 1e-5 * np.abs(second).max()


def test_algorithm_3_gives_the_second_derivative_of_the_weight():
    n, rng = 6, np.random.default_rng(1)
    integrator = TreeIntegrator(random_tree(n, seed=6), 0.1)
    q = 0.5 * rng.normal(size=n)

    found = gravity_hessian(integrator, q)

    def slope(x):
        return differences(lambda y: integrator.energy(y, np.zeros(n)), x, 1e-4)

    second = differences(slope, q, 1e-4)
    assert np.abs(found - second).max() <= 1e-5 * np.abs(second).max()


@pytest.mark.parametrize("s", [1, 2, 3])
def test_the_linearization_of_a_step_is_that_of_differences(s):
    integrator, q, _, _, _ = case(s, 3)
    n, rng = q.shape[1], np.random.default_rng(s)
    x = np.concatenate([q[0], integrator.momentum(q[0], rng.normal(size=n))])
    forces = rng.normal(size=(s + 1, n))

    found = linearize(integrator, x[None, :n], x[None, n:], forces[None])

    A = differences(lambda y: np.concatenate(integrator.step(y[:n], y[n:], forces)), x)
    B = differences(lambda u: np.concatenate(integrator.step(x[:n], x[n:], u)), forces)
    assert np.abs(found.A[0] - A).max() <= CLOSE * np.abs(A).max()
    assert np.abs(found.B[0] - B.transpose(1, 0, 2)).max() <= CLOSE * np.abs(A).max()
    q_next, p_next = integrator.step(x[:n], x[n:], forces)
    assert found.q[0] == pytest.approx(q_next, abs=1e-12)
    assert found.p[0] == pytest.approx(p_next, abs=1e-11)


def test_only_actuated_joints_have_columns():
    tree = pendulum(3)
    every, one = TreeIntegrator(tree, 0.1), TreeIntegrator(tree, 0.1, actuated=[2])
    q, p = np.array([[0.3, 0.2, -0.4]]), np.zeros((1, 3))

    all_columns, column = linearize(every, q, p, [0.0, 0.0, 2.0]), linearize(one, q, p, [2.0])

    assert column.B.shape == (1, 3, 6, 1)
    assert np.array_equal(column.B, all_columns.B[..., 2:])


@pytest.mark.parametrize("s", [1, 2, 3])
def test_a_step_is_symplectic_without_dissipation(s):
    n, rng = 6, np.random.default_rng(s)
    integrator = TreeIntegrator(random_tree(n, seed=s, stiffness=0.5), 0.05, s)
    q = 0.3 * rng.normal(size=n)
    A = linearize(integrator, q[None], integrator.momentum(q, rng.normal(size=n))[None]).A[0]
    form = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])

    # Errors of q' of the tolerance, 1e-12, times second derivatives
    assert np.abs(A.T @ form @ A - form).max() <= 1e-10 * np.abs(A).max() ** 2


@pytest.mark.parametrize("s", [1, 2])
def test_the_quasi_newton_method_reaches_the_same_step(s):
    q, speed = np.array([0.4, -0.3, 0.2, 0.1]), np.array([1.0, -1.0, 0.5, 0.0])
    runs = [
        TreeIntegrator(pendulum(4), 0.005, s, method=method).simulate(q, speed, 20)
        for method in ("newton", "quasi-newton")
    ]

    assert np.abs(runs[0].q - runs[1].q).max() <= 20 * 1e-11
    assert runs[0].iterations.max() <= 4
    assert runs[1].iterations.mean() > runs[0].iterations.mean()


COUNT = """
import sys
import numpy as np
from dynamics.kernels.tree import action, linearize as tree_linearize, step as tree_step
from dynamics.integrators.tree.integrator import TreeIntegrator
from tests.dynamics.trees import pendulum

class Number(float):
    count = 0

def counted(name):
    plain = getattr(float, name)
    def operation(*x):
        Number.count += 1
        return Number(plain(*x))
    return operation

for name in ("add", "sub", "mul", "truediv"):
    for side in ("", "r"):
        setattr(Number, f"__{side}{name}__", counted(f"__{side}{name}__"))

def objects(array):
    return np.array([Number(x) for x in array], object) if array.dtype == float else array

def count(f):
    Number.count = 0
    f()
    return Number.count

s = 2
for n in map(int, sys.argv[1:]):
    I = TreeIntegrator(pendulum(n), 0.1, s)
    tree, pins = (tuple(map(objects, x)) for x in (I.tables.tree, I.tables.pins))
    rule, work = tuple(map(objects, I.rule)), tuple(map(objects, I.work.arrays))
    q = objects(np.linspace(0.1, 0.2, (s + 1) * n))
    p, r, step = (objects(np.full(k * n, 0.3)) for k in (1, s + 1, s))
    loads = objects(np.zeros(n)), objects(np.zeros(0)), np.zeros(5, np.int64)
    h, none = Number(0.1), objects(np.zeros(0))
    def residual():
        tree_step.residual(tree, rule, pins, loads, h, 0, q, p, none, work[0], r)
    def factorize():
        tree_step.factorize_step(tree, rule, pins, loads, False, h, 0, none, work)
    def solve():
        tree_step.newton_direction(tree, rule, False, h, *work[:3], r, work[3], step)
    def stages():
        tree_linearize.stage_hessians(
            tree, rule, pins, loads, h, 0, none, work[0], objects(np.zeros(78 * n)),
            objects(np.zeros(4 * (s + 1) * n * n)))
    def third():
        sizes = n * action.SLOPES, 4 * (s + 1) * n * n, n * n, ((s + 1) * n) ** 2
        action.action_slopes(
            tree, rule, h, work[0], q, *(objects(np.zeros(size)) for size in sizes))
    print(*map(count, (residual, factorize, solve, stages, third)))
"""


def operations(*links):
    """Floating-point operations on chains: one array for each kernel, over the links."""
    run = subprocess.run(
        [sys.executable, "-c", COUNT, *map(str, links)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return np.array([line.split() for line in run.stdout.splitlines()], int).T


def test_evaluation_and_newton_direction_take_o_n_and_linearization_o_n2_operations():
    residual, factor, solution, *second = operations(2, 4, 6, 8)

    for counts in (residual, factor, solution):
        assert np.all(np.diff(counts) > 0)
        assert np.all(np.diff(counts, 2) == 0)  # every link costs the same
    for counts in second:  # Algorithms 2 and 3, and their slopes
        assert np.all(np.diff(counts, 2) > 0)
        assert np.all(np.diff(counts, 3) == 0)
