"""Holonomic constraints of the minimal-coordinate integrator (section 3.3), and what it refuses."""

import numpy as np
import pytest
from scipy.optimize import brentq

from dynamics.errors import ConvergenceError, InconsistentStateError, UnknownNameError
from dynamics.integrators.tree.description import Tree
from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.integrators.tree.linearization import evaluate, linearize
from dynamics.integrators.tree.twists import prismatic, revolute, screw
from dynamics.tables.lobatto import lobatto

from .trees import GRAVITY, differences, pendulum, point_mass

LENGTHS = (0.4, 1.0, 0.8)  # crank, coupler, rocker; the ground is 1 m


def four_bar(axes=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))):
    """Three rods in the plane; the last one's end is pinned to the ground."""
    tree = Tree(gravity=(0.0, -GRAVITY, 0.0))
    for i, length in enumerate(LENGTHS):
        J = np.array([0.02, 1 / 12, 1 / 12]) * length**3
        tree.add_body(i, length, J, center=[length / 2, 0.0, 0.0])
        place = [LENGTHS[i - 1], 0.0, 0.0] if i else [0.0, 0.0, 0.0]
        tree.add_joint(i - 1 if i else "world", i, revolute([0.0, 0.0, 1.0]), position=place)
    tree.add_pin("loop", 2, point_a=[0.8, 0.0, 0.0], point_b=[1.0, 0.0, 0.0], axes=axes)
    return tree


def closed(crank=1.0, rate=2.0):
    """Coordinates and rates of the four-bar, by the triangle of coupler, rocker and diagonal."""
    a, b, c = LENGTHS
    end = a * np.array([np.cos(crank), np.sin(crank)])

    def gap(angle):
        return np.linalg.norm(end + b * np.array([np.cos(angle), np.sin(angle)]) - [1, 0]) - c

    coupler = brentq(gap, 0.0, 1.5, xtol=1e-15)
    x, y = end + b * np.array([np.cos(coupler), np.sin(coupler)])
    rocker = np.arctan2(-y, 1.0 - x)
    q = np.array([crank, coupler - crank, rocker - coupler])
    # Rates of the absolute angles from sum of l_i rate_i e_i' = 0
    normals = np.array([[-np.sin(t), np.cos(t)] for t in (crank, coupler, rocker)])
    rates = np.linalg.solve((normals[1:] * [[b], [c]]).T, -a * rate * normals[0])
    absolute = np.array([rate, *rates])
    return q, np.diff(absolute, prepend=0.0)


@pytest.mark.parametrize(
    ("s", "N", "largest", "bounds"),
    [(1, 80, 2.5e-2, (1.9, 2.1)), (2, 40, 5e-4, (3.8, 4.2)), (3, 40, 6e-6, (5.7, 6.3))],
)
def test_the_closed_four_bar_keeps_its_loop_and_the_orders_2_4_and_6(s, N, largest, bounds):
    q, speed = closed()
    errors = []
    for steps in (N, 2 * N):
        integrator = TreeIntegrator(four_bar(), 1.0 / steps, s)
        run = integrator.simulate(q, speed, steps)
        errors.append(abs(run.q[-1, 0] + 2.8504425850))  # minimal-coordinate ODE, DOP853
        for place, rate in zip(run.q, run.velocity):
            integrator.check(place, rate)
        absolute = run.q.cumsum(axis=1)
        ends = (np.cos(absolute) @ LENGTHS) - 1.0, np.sin(absolute) @ LENGTHS
        assert np.abs(ends).max() <= 1e-13
        assert run.iterations.mean() <= 4.0

    assert errors[0] <= largest
    assert bounds[0] <= np.log2(errors[0] / errors[1]) <= bounds[1]


def test_a_pinned_slider_by_hand():
    # A mass that slides along z and is held there: lambda carries its weight, m g h over a step
    tree = Tree(gravity=(0.0, 0.0, -GRAVITY))
    tree.add_body("mass", 2.0)
    tree.add_joint("world", "mass", prismatic([0.0, 0.0, 1.0]))
    tree.add_pin("stop", "mass", point_b=[0.0, 0.0, 0.3], axes=[0.0, 0.0, 1.0])
    integrator = TreeIntegrator(tree, 0.1, "simpson")

    run = integrator.simulate([0.3], [0.0], 3)

    assert np.abs(run.q - 0.3).max() <= 1e-15
    weight = 2.0 * GRAVITY * 0.1
    # The momentum is not projected: the end node's part of the weight, w^2 = 1/6, is in it
    inner = np.array([1 / 6, 4 / 6]) * weight
    assert run.multipliers[0, :, 0] == pytest.approx(inner, rel=1e-12)
    assert run.multipliers[1, :, 0] == pytest.approx(inner + [weight / 6, 0.0], rel=1e-12)
    assert run.velocity == pytest.approx(np.zeros((4, 1)), abs=1e-13)


def test_a_gear_couples_two_wheels_by_hand():
    # I_1 a + I_2 a / r^2 = torque with q_1 = r q_2
    tree = Tree(gravity=(0.0, 0.0, 0.0))
    for label, inertia in (("one", 2.0), ("two", 0.5)):
        tree.add_body(label, inertia=[0.0, 0.0, inertia])
        tree.add_joint("world", label, revolute([0.0, 0.0, 1.0]))
    tree.add_coupling("gear", {"one": 1.0, "two": -3.0})
    integrator = TreeIntegrator(tree, 0.1, 1, actuated=["one"])

    run = integrator.simulate([0.0, 0.0], [0.0, 0.0], 10, [4.0])

    rate = 4.0 / (2.0 + 0.5 / 9.0)
    assert run.velocity[-1] == pytest.approx([rate, rate / 3.0], rel=1e-12)
    assert run.q[-1] == pytest.approx([0.5 * rate, rate / 6.0], rel=1e-12)


@pytest.mark.parametrize("s", [1, 2])
def test_the_linearization_with_constraints_is_that_of_differences(s):
    q, speed = closed()
    integrator = TreeIntegrator(four_bar(), 0.02, s)
    p = integrator.momentum(q, speed)
    forces = np.array([0.5, 0.0, -0.3])

    found = linearize(integrator, q[None], p[None], forces)

    # The end follows p and the forces; q at the start must stay on the constraint, p need not
    by_p = differences(lambda x: np.concatenate(integrator.step(q, x, forces)), p)
    assert np.abs(found.A[0][:, 3:] - by_p).max() <= 1e-7 * np.abs(by_p).max()
    by_u = differences(lambda u: np.concatenate(integrator.step(q, p, u)), forces)
    assert np.abs(found.B[0].sum(axis=0) - by_u).max() <= 1e-7 * np.abs(by_p).max()
    by_q = differences(lambda x: np.concatenate(integrator.step(x, p, forces)), q)
    assert np.abs(found.A[0][:, :3] - by_q).max() <= 1e-7 * np.abs(by_q).max()

    def multipliers(x):
        return linearize(integrator, q[None], x[None], forces).multipliers[0]

    by_p = differences(multipliers, p)
    assert np.abs(found.multipliers_by_state[0][..., 3:] - by_p).max() <= 1e-6 * np.abs(by_p).max()


# What is refused


def test_a_loop_is_refused_by_its_labels():
    tree = pendulum(3)

    with pytest.raises(ValueError, match=r"joint of 0 on 2 closes a loop: 0 hangs on 'world'"):
        tree.add_joint(2, 0, revolute([1.0, 0.0, 0.0]))
    with pytest.raises(ValueError, match=r"joint of 2 on 0 closes a loop: 2 hangs on 1 already"):
        tree.add_joint(0, 2, revolute([1.0, 0.0, 0.0]))


def test_two_bodies_that_hang_on_each_other_are_a_loop():
    tree = Tree()
    tree.add_body("a", 1.0)
    tree.add_body("b", 1.0)
    tree.add_joint("a", "b", prismatic([1.0, 0.0, 0.0]))

    with pytest.raises(ValueError, match=r"joint of 'a' on 'b' closes a loop"):
        tree.add_joint("b", "a", prismatic([1.0, 0.0, 0.0]))
    with pytest.raises(ValueError, match="body 'a' has no joint"):
        TreeIntegrator(tree, 0.1)


def test_labels_that_do_not_exist_are_named():
    tree = pendulum(2)

    with pytest.raises(UnknownNameError, match="there is no body 'arm'"):
        tree.add_joint("arm", 1, revolute([1.0, 0.0, 0.0]))
    with pytest.raises(UnknownNameError, match="there is no body 7"):
        tree.add_pin("loop", 7)
    with pytest.raises(UnknownNameError, match="there is no joint 9"):
        tree.add_coupling("gear", {0: 1.0, 9: 2.0})
    with pytest.raises(UnknownNameError, match="there is no joint 5"):
        TreeIntegrator(tree, 0.1, actuated=[5])
    run = TreeIntegrator(tree, 0.1).simulate([0.1, 0.2], [0, 0], 1)
    with pytest.raises(UnknownNameError, match="there is no joint 'x'"):
        run.joint("x")
    q, velocity = run.joint(1)
    assert (q[0], *velocity) == (0.2, *run.velocity[:, 1])
    with pytest.raises(UnknownNameError, match="there is no joint 'x' in this tree"):
        TreeIntegrator(tree, 0.1).index("x")
    with pytest.raises(ValueError, match="there is a body 1 already"):
        tree.add_body(1, 1.0)


def test_numbers_that_make_no_sense_are_refused():
    tree = Tree()
    with pytest.raises(ValueError, match="inertia of body 'a' is not positive semidefinite"):
        tree.add_body("a", 1.0, [1.0, -1.0, 1.0])
    with pytest.raises(ValueError, match="spatial_inertia of body 'a' is not symmetric"):
        tree.add_body("a", spatial_inertia=np.triu(np.ones((6, 6))))
    with pytest.raises(ValueError, match="mass of body 'a'"):
        tree.add_body("a", -1.0)
    with pytest.raises(ValueError, match="inertia of body 'a' must be a finite 3 x 3 matrix"):
        tree.add_body("a", 1.0, np.eye(2))
    with pytest.raises(ValueError, match="has inertia and spatial_inertia: give one of them"):
        tree.add_body("a", 1.0, np.eye(3), spatial_inertia=np.eye(6))
    with pytest.raises(ValueError, match="center of body 'a' must be 3 finite numbers"):
        tree.add_body("a", 1.0, center=[0.0, np.nan, 0.0])
    with pytest.raises(ValueError, match="drag_area of body 'a' is -1.0: it must be 0 or more"):
        tree.add_body("a", 1.0, drag_area=-1.0)
    with pytest.raises(ValueError, match="axis is zero"):
        revolute([0.0, 0.0, 0.0])
    tree.add_body("a", 1.0)
    with pytest.raises(ValueError, match="the world cannot be a child, exchange the two"):
        tree.add_joint("a", "world", prismatic([1.0, 0.0, 0.0]))
    with pytest.raises(ValueError, match="twist must be 6 finite numbers, as from revolute"):
        tree.add_joint("world", "a", [1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="constraint 'pin': a must be a body, and another one"):
        tree.add_pin("pin", "a", "a")
    with pytest.raises(ValueError, match="twist has length 2"):
        tree.add_joint("world", "a", [2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="damping is -1"):
        tree.add_joint("world", "a", prismatic([1.0, 0.0, 0.0]), damping=-1.0)
    with pytest.raises(ValueError, match="unit quaternion"):
        tree.add_joint("world", "a", screw([1.0, 0.0, 0.0], 0.1), orientation=[1.0, 1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="no Lobatto rule of degree 13"):
        lobatto(13)
    for options, match in [
        ({"timestep": 0.0}, "timestep is 0"),
        ({"timestep": 0.1, "quadrature": "gauss"}, "quadrature 'gauss'"),
        ({"timestep": 0.1, "method": "bfgs"}, "method 'bfgs'"),
        ({"timestep": 0.1, "actuated": [0, 0]}, "actuated names a joint twice"),
    ]:
        with pytest.raises(ValueError, match=match):
            TreeIntegrator(pendulum(1), **options)
    for ratios in ({}, {0: 0.0}, {0: 1.0, 1: 1.0, 2: 1.0}):
        with pytest.raises(ValueError, match="'gear' needs ratios of one or two joints"):
            pendulum(3).add_coupling("gear", ratios)


def test_forces_shorter_than_the_horizon_are_refused():
    integrator = TreeIntegrator(pendulum(2), 0.1)
    with pytest.raises(ValueError, match="forces are shorter than the horizon: 3 steps are given"):
        integrator.simulate([0, 0], [0, 0], 5, np.zeros((3, 2)))
    with pytest.raises(ValueError, match="wrenches are shorter than the horizon"):
        integrator.simulate([0, 0], [0, 0], 5, wrenches=np.zeros((4, 3, 2, 6)))
    with pytest.raises(ValueError, match="forces are longer than the horizon"):
        integrator.simulate([0, 0], [0, 0], 5, np.zeros((6, 2)))
    with pytest.raises(ValueError, match=r"forces have shape \(5, 3\)"):
        integrator.simulate([0, 0], [0, 0], 5, np.zeros((5, 3)))
    with pytest.raises(ValueError, match="forces are not finite"):
        integrator.simulate([0, 0], [0, 0], 5, [np.nan, 0.0])
    with pytest.raises(ValueError, match="q has shape"):
        integrator.simulate([0.0], [0, 0], 5)
    with pytest.raises(ValueError, match="velocity of joint 1 is not finite"):
        integrator.simulate([0.0, 0.0], [0, np.inf], 5)
    with pytest.raises(ValueError, match="frame 'joint'"):
        integrator.simulate([0, 0], [0, 0], 1, wrenches=np.zeros((2, 6)), frame="joint")
    with pytest.raises(ValueError, match="steps is -1: it must be 0 or more"):
        integrator.simulate([0, 0], [0, 0], -1)
    with pytest.raises(ValueError, match=r"q \(1, 3\) and p \(1, 2\) must have the shape \(N, 2\)"):
        linearize(integrator, np.zeros((1, 3)), np.zeros((1, 2)))
    with pytest.raises(ValueError, match=r"q has shape \(2, 2\), the step's is \(3, 2\)"):
        evaluate(integrator, np.zeros((2, 2)), np.zeros(2))


def test_a_start_off_the_constraints_is_refused_by_label():
    q, speed = closed()
    integrator = TreeIntegrator(four_bar(), 0.01)

    with pytest.raises(InconsistentStateError, match="'loop' is violated by"):
        integrator.simulate(q + [0.0, 0.01, 0.0], speed, 1)
    with pytest.raises(InconsistentStateError, match="'loop' changes at a rate"):
        integrator.simulate(q, speed + [0.0, 0.1, 0.0], 1)


def test_redundant_constraints_are_named():
    q, speed = closed()
    integrator = TreeIntegrator(four_bar(axes=np.eye(3)), 0.01)

    with pytest.raises(ValueError, match="constraints 'loop' are redundant"):
        integrator.velocity(q, integrator.momentum(q, speed))
    with pytest.raises(ConvergenceError, match="constraints 'loop' are redundant"):
        integrator.simulate(q, speed, 1)


def test_a_joint_that_moves_no_mass_is_named():
    tree = pendulum(2)
    tree.add_body("empty")
    tree.add_joint(1, "empty", revolute([1.0, 0.0, 0.0]))
    integrator = TreeIntegrator(tree, 0.1)

    with pytest.raises(ValueError, match="joint 'empty' moves no mass"):
        integrator.velocity(np.zeros(3), np.zeros(3))


def test_a_step_that_is_not_solved_says_which_and_keeps_the_state():
    integrator = TreeIntegrator(point_mass(1.0, 1.0), 1.0, most_iterations=2, line_search=False)
    q, p = np.array([1.0]), np.array([30.0])

    with pytest.raises(ConvergenceError, match="step 0 was not solved, residual .* 'bob'") as error:
        integrator.step(q, p)

    assert error.value.step == 0
    assert error.value.residual > 0.0
    assert error.value.name == "bob"
    assert (q, p) == ([1.0], [30.0])


def test_what_does_not_converge_or_is_not_finite_says_what_to_change():
    options = {"most_iterations": 2, "line_search": False, "method": "quasi-newton"}
    integrator = TreeIntegrator(point_mass(1.0, 1.0), 1.0, **options)
    with pytest.raises(ConvergenceError, match='smaller timestep or method="newton"; the state'):
        integrator.step(np.array([1.0]), np.array([30.0]))
    with pytest.raises(ConvergenceError, match="step 0 was not solved"):
        linearize(integrator, [[1.0]], [[30.0]])
    huge = TreeIntegrator(point_mass(1.0, 1.0), 1.0)
    with np.errstate(all="ignore"), pytest.raises(ConvergenceError, match="no longer finite"):
        huge.step(np.array([1.0]), np.array([1.0]), [1e308])


def test_drag_as_a_matrix_is_that_of_a_number_about_the_same_centre():
    # -c v at the centre of mass z: the wrench -c [z^ z^T, z^; -z^, 1] twist at the origin
    c, z = 0.7, np.array([[0.0, 0.5, 0.0], [-0.5, 0.0, 0.0], [0.0, 0.0, 0.0]])  # (0, 0, -0.5)^
    matrix = c * np.block([[-z @ z, z], [-z, np.eye(3)]])
    runs = []
    for drag in (c, matrix):
        tree = Tree(gravity=(0.0, 0.0, -GRAVITY))
        tree.add_body("rod", 1.0, [0.1, 0.1, 0.01], center=[0.0, 0.0, -0.5], drag=drag)
        tree.add_joint("world", "rod", revolute([1.0, 0.0, 0.0]))
        runs.append(TreeIntegrator(tree, 0.01).simulate([1.0], [0.0], 20).q)

    np.testing.assert_array_equal(*runs)
    assert np.ptp(runs[0]) > 0.01
