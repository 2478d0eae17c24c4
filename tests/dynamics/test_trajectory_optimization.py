"""Contact-implicit plans: derivatives against differences, contacts by hand, replay, refusals."""

import numpy as np
import pytest
from scipy.sparse import csc_array

import graphsys as gs
from dynamics.errors import ConvergenceError, UnknownNameError
from dynamics.integrators.tree.description import Tree
from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.integrators.tree.linearization import evaluate
from dynamics.integrators.tree.twists import prismatic, revolute
from dynamics.trajectory_optimization import Contact, Ground, ipopt, optimize
from dynamics.trajectory_optimization.action import Action
from dynamics.trajectory_optimization.points import Points
from dynamics.trajectory_optimization.transcription import Task, Transcription

from .trees import random_tree

needs_ipopt = pytest.mark.skipif(ipopt.casadi is None, reason="casadi is not installed")


def slider(masses=(2.0,)):
    """A mass that slides along x and z; no motors."""
    tree = Tree()
    tree.add_body("rail")
    tree.add_joint("world", "rail", prismatic([1.0, 0.0, 0.0]))
    tree.add_body("mass", sum(masses))
    tree.add_joint("rail", "mass", prismatic([0.0, 0.0, 1.0]))
    return tree


def hopper():
    """A body on a telescopic leg with a hip, in the plane."""
    tree = Tree()
    tree.add_body("rail")
    tree.add_joint("world", "rail", prismatic([1.0, 0.0, 0.0]))
    tree.add_body("body", 4.0, [0.1, 0.1, 0.1])
    tree.add_joint("rail", "body", prismatic([0.0, 0.0, 1.0]))
    tree.add_body("leg", 0.5, [0.01, 0.01, 0.01])
    tree.add_joint("body", "leg", revolute([0.0, 1.0, 0.0]))
    tree.add_body("foot", 0.5, [0.01, 0.01, 0.01])
    tree.add_joint("leg", "foot", prismatic([0.0, 0.0, -1.0]))
    return tree


def hills():
    ground = Ground()
    ground.add_block(0.1, width=0.3, height=0.2, edge=0.2)
    ground.add_block(-0.4, width=0.2, height=-0.1, edge=0.1)
    return ground


def dense(entries, values):
    return csc_array((values, entries.rows, entries.starts), shape=entries.shape).toarray()


def transcription(planar, quadrature, ground):
    tree = random_tree(6, seed=1, branch=2, stiffness=1.0, damping=0.3)
    made = TreeIntegrator(tree, 0.1, quadrature, actuated=[1, 3])
    contacts = [
        Contact(5, [0.1, 0.0, -0.3]),
        Contact(4, [0.2, 0.1, 0.2], 0.5),
        Contact(3, [0.2, 0.1, 0.2], 0.5, sticking=True),
    ]
    task = Task(
        made, 2, contacts, ground, ground, [(3, [0.0, 0.0, 0.1])],
        [(5, [0.1, 0.2, 0.3], [0.0, 0.0, 0.0])], planar, (np.ones(6), np.zeros(6)),
        np.array([3.0, 2.0]), 1.5, 0.1,
    )  # fmt: skip
    return Transcription(task, 7.0)


@pytest.mark.parametrize(("planar", "quadrature"), [(True, "simpson"), (False, "trapezoidal")])
def test_first_and_second_derivatives_are_those_of_differences(planar, quadrature):
    made = transcription(planar, quadrature, hills())
    rng = np.random.default_rng(0)
    z, y = rng.uniform(-0.3, 0.3, made.size), rng.normal(size=made.height)
    e = 1e-6

    def difference(function, step):
        return (function(z + e * step) - function(z - e * step)) / (2.0 * e)

    def slope(x):
        return 1.3 * made.gradient(x) + dense(made.jacobian_entries, made.jacobian(x)).T @ y

    jacobian = dense(made.jacobian_entries, made.jacobian(z))
    upper = dense(made.hessian_entries, made.hessian(z, 1.3, y))
    hessian = upper + np.triu(upper, 1).T
    for step in rng.normal(size=(12, made.size)):
        # rounding of some 1e-13 over e; third derivatives of some 1e4 in sums of 1e2, times e^2
        assert difference(made.objective, step) == pytest.approx(made.gradient(z) @ step, abs=1e-6)
        assert difference(made.constraints, step) == pytest.approx(jacobian @ step, abs=1e-5)
        assert difference(slope, step) == pytest.approx(hessian @ step, abs=1e-5)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_third_derivatives_of_the_action_are_the_slopes_of_algorithms_2_and_3(degree):
    made = TreeIntegrator(random_tree(5, seed=2, stiffness=0.7), 0.1, degree)
    action = Action(made, 2)
    rng = np.random.default_rng(0)
    q, direction = rng.normal(size=(2, 2 * degree + 1, 5))
    e = 1e-5
    after, before = (action.jacobians(q + d * direction) for d in (e, -e))
    found = action.hessians(q, direction)

    scale = np.abs(found).max()
    assert (after - before) / (2.0 * e) == pytest.approx(found, abs=1e-7 * scale)
    # symmetric: entry (i, b), (j, g) is entry (j, g), (i, b)
    pairs = [tuple(pair) for pair in np.transpose(action.related)]
    mirrored = [pairs.index((j, i)) for i, j in pairs]
    assert np.swapaxes(found[mirrored], 2, 3) == pytest.approx(found, abs=1e-12 * scale)


def test_heights_of_the_ground_and_their_slopes():
    ground, x, e = hills(), np.linspace(-0.8, 0.6, 15), 1e-5
    here, after, before = (np.array(ground.height(x + d)) for d in (0.0, e, -e))

    assert (after - before)[:3] / (2.0 * e) == pytest.approx(here[1:], abs=1e-5)
    assert ground.height(np.array(0.1))[0] == pytest.approx(0.2 * np.tanh(0.75), abs=1e-2)
    axes, slopes, curves = ground.directions(ground.height(x))
    after, before = (ground.directions(ground.height(x + d)) for d in (e, -e))
    assert (after[0] - before[0]) / (2.0 * e) == pytest.approx(slopes, abs=1e-5)
    assert (after[1] - before[1]) / (2.0 * e) == pytest.approx(curves, abs=1e-4)
    assert axes @ np.swapaxes(axes, 1, 2) == pytest.approx(np.tile(np.eye(3), (15, 1, 1)))


def test_a_block_must_have_a_width_and_an_edge():
    with pytest.raises(ValueError, match="block at 1.0: width 0 and edge"):
        Ground().add_block(1.0, width=0, height=0.1, edge=0.1)


@needs_ipopt
@pytest.mark.parametrize("penalty", [10.0, 1e-4])  # the second needs several rounds
def test_a_mass_falls_slides_and_sticks_as_by_hand(penalty):
    # By hand, with h = 0.1 and g = 9.81: z_k = 0.3 - g h^2 k^2 / 2 for k <= 2, and the next step
    # would end beneath the floor. The impulse at k = 2 brings z_3 = 0, that at k = 3 the speed
    # z_4 - z_3 = 0, and then the weight is borne. m z'' h: n_2 = 1 - (z_1 - 2 z_2) / (g h^2) ...
    h, g, v = 0.1, 9.81, 4.0
    made = TreeIntegrator(slider(), h, "trapezoidal", actuated=[])
    found = optimize(
        made, [0.0, 0.3], [np.nan, np.nan], 8, contacts=[Contact("mass", [0, 0, 0], 0.5)],
        start_velocity=[v, 0.0], stop=False, planar=True, penalty=penalty,
    )  # fmt: skip
    z = 0.3 - 0.5 * g * h * h * np.arange(3.0) ** 2
    normal = np.zeros(8)
    normal[2] = 1.0 + (z[1] - 2.0 * z[2]) / (g * h * h)
    normal[3] = 1.0 + z[2] / (g * h * h)
    normal[4:] = 1.0
    # Friction is 0.5 of that until the mass stands: v falls by 0.5 g h n
    speed = v - np.cumsum(0.5 * g * h * normal)
    speed[speed < 0.0] = 0.0

    assert found.q[:3, 1] == pytest.approx(z, abs=1e-5)
    assert found.q[3:, 1] == pytest.approx(0.0, abs=1e-5)
    assert found.contact_forces[:, 0, 2] == pytest.approx(2.0 * g * normal, abs=1e-2)
    assert np.diff(found.q[:, 0]) / h == pytest.approx(speed, abs=1e-3)
    assert found.complementarity <= 1e-5
    assert found.gaps[:, 0] == pytest.approx(found.q[:, 1])


@needs_ipopt
def test_a_cart_takes_the_force_of_the_closed_form():
    # m x'' = u, x: 0 -> 1 in 1 s from rest to rest: cost 12 m^2, u = 6 m (1 - 2 t)
    tree = Tree(gravity=(0.0, 0.0, 0.0))
    tree.add_body("cart", 2.0)
    tree.add_joint("world", "cart", prismatic([1.0, 0.0, 0.0]))
    made = TreeIntegrator(tree, 0.1, "simpson")
    found = optimize(made, [0.0], [1.0], 10, speed_weight=0.0, options={"tol": 1e-9})

    assert found.cost == pytest.approx(48.0, rel=1e-4)
    assert found.q[:, 0] == pytest.approx(found.time**2 * (3.0 - 2.0 * found.time), abs=1e-5)
    assert found.forces[::2, 0] == pytest.approx(12.0 * (1.0 - 2.0 * found.time[::2]), abs=0.1)


@needs_ipopt
def test_a_hopper_gets_ahead_and_its_plan_replays():
    made = TreeIntegrator(hopper(), 0.1, "simpson", actuated=["leg", "foot"])
    contacts = [Contact("foot", [0.0, 0.0, 0.0])]
    start, goal = np.array([0.0, 0.5, 0.0, 0.5]), np.array([0.3, 0.5, 0.0, 0.5])
    found = optimize(
        made, start, goal, 6, contacts=contacts, planar=True, most_force=[60.0, 200.0],
        least_q=[-1.0, 0.1, -1.0, 0.2], most_q=[2.0, 2.0, 1.0, 0.6], most_iterations=2000,
    )  # fmt: skip
    motors, wrenches = found.nodes(found.forces, 2), found.wrenches(made, contacts)

    assert found.q[0] == pytest.approx(start) and found.q[-1] == pytest.approx(goal)
    assert (np.abs(found.forces) <= [60.0 + 1e-6, 200.0 + 1e-6]).all()
    assert found.gaps.min() >= -1e-6
    normal, friction = found.contact_forces[:, 0, 2], found.contact_forces[:, 0, 0]
    assert normal.min() >= -1e-4 and (np.abs(friction) <= 0.8 * normal + 1e-3).all()
    assert np.abs(normal * found.gaps[1:, 0]).max() <= 1e-5 * 5.0 * 9.81 + 1e-6
    # The equations of motion hold in each step, with the momenta that the steps hand on
    p = made.momentum(start, np.zeros(4))
    for k in range(6):
        nodes = found.q[2 * k : 2 * k + 3]
        rest, p = evaluate(made, nodes, p, motors[k], wrenches[k])
        assert np.abs(rest).max() < 1e-5
    assert np.abs(p).max() < 1e-5


@needs_ipopt
def test_a_point_reaches_its_place_while_a_foot_sticks():
    # An arm of two links on a foot that cannot move: the foot bears the weight in its cone
    tree = Tree()
    tree.add_body("foot", 5.0, [0.1, 0.1, 0.1])
    tree.add_joint("world", "foot", prismatic([0.0, 0.0, 1.0]))
    for above, name, place in (("foot", "upper", 0.0), ("upper", "lower", 0.3)):
        tree.add_body(name, 1.0, [0.01, 0.01, 0.001], center=[0.0, 0.0, 0.15])
        hinge = revolute([0.0, 1.0, 0.0])
        tree.add_joint(above, name, hinge, position=[0.0, 0.0, place])
    made = TreeIntegrator(tree, 0.1, "simpson", actuated=["upper", "lower"])
    foot, place = Contact("foot", [0.0, 0.0, 0.0], sticking=True), [0.3, 0.0, 0.4]
    found = optimize(
        made, [0.0, 0.2, 0.3], [0.0, np.nan, np.nan], 4, contacts=[foot], planar=True,
        reach=[("lower", [0.0, 0.0, 0.3], place)], least_q=[0.0, -3.0, -3.0],
        most_q=[0.0, 3.0, 3.0], clear=[("lower", [0.0, 0.0, 0.3])],
    )  # fmt: skip
    tip = Points(made, [("lower", [0.0, 0.0, 0.3])], [Ground()])

    assert tip.tracks(found.q)[0].x[-1] == pytest.approx(place, abs=1e-6)
    assert found.contact_forces[:, 0, 2].min() > 0.0


def test_what_makes_no_sense_is_refused_by_name():
    made = TreeIntegrator(hopper(), 0.1, actuated=["leg", "foot"])
    start, goal = [0.0, 0.5, 0.0, 0.5], [0.3, 0.5, 0.0, 0.5]
    foot = [Contact("foot", [0.0, 0.0, 0.0])]
    with pytest.raises(ValueError, match="point of body 'foot' starts 0.1 m beneath the ground"):
        optimize(made, [0.0, 0.4, 0.0, 0.5], goal, 4, contacts=foot)
    with pytest.raises(ValueError, match="start of joint 'body' is 0.5, beyond its limits 0.6 to"):
        optimize(made, start, goal, 4, least_q=[-1.0, 0.6, -1.0, 0.0])
    with pytest.raises(ValueError, match="goal of joint 'rail' is 0.3, beyond"):
        optimize(made, start, goal, 4, most_q=[0.2, 1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="limits of joint 'leg' are empty"):
        optimize(made, start, goal, 4, least_q=[-1, 0, 1, 0], most_q=[2, 2, 0, 2])
    with pytest.raises(ValueError, match="steps is 0"):
        optimize(made, start, goal, 0)
    with pytest.raises(ValueError, match=r"goal has shape \(3,\)"):
        optimize(made, start, goal[:3], 4)
    with pytest.raises(ValueError, match=r"start has shape \(4,\), it must be \(4,\) and finite"):
        optimize(made, [np.nan, 0.5, 0.0, 0.5], goal, 4)
    with pytest.raises(ValueError, match=r"q_guess has shape \(3, 4\), this plan's is \(9, 4\)"):
        optimize(made, start, goal, 4, q_guess=np.zeros((3, 4)))
    with pytest.raises(UnknownNameError, match="no joint 'hand'"):
        optimize(made, start, goal, 4, contacts=[Contact("hand", [0, 0, 0])])


def test_constraints_and_drag_are_refused():
    pinned, dragged = hopper(), Tree()
    pinned.add_pin("pin", "foot", axes=[[1.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match="constraints .'pin'.: contacts replace pins"):
        optimize(TreeIntegrator(pinned, 0.1), np.zeros(4), np.zeros(4), 2)
    dragged.add_body("ball", 1.0, drag=0.1)
    dragged.add_joint("world", "ball", prismatic([0.0, 0.0, 1.0]))
    with pytest.raises(ValueError, match="body 'ball' has drag"):
        optimize(TreeIntegrator(dragged, 0.1), [0.0], [0.0], 2)


@needs_ipopt
def test_a_plan_that_cannot_be_names_the_row_that_is_violated_most():
    # A mass without motors, 0.3 m above the floor, cannot stay in the air
    made = TreeIntegrator(slider(), 0.1, "trapezoidal", actuated=[])
    contacts = [Contact("mass", [0.0, 0.0, 0.0])]
    with pytest.raises(ConvergenceError, match="no motion was found.*complementarity of the con"):
        optimize(made, [0.0, 0.3], [0.0, 0.3], 4, contacts=contacts, planar=True)
    with pytest.raises(ConvergenceError, match="motion of joint 'mass' at"):
        optimize(made, [0.0, 0.3], [0.0, 0.3], 4, planar=True)


@needs_ipopt
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_exception_in_a_function_passes_through_ipopt(error, monkeypatch):
    def hessian(*arguments):
        raise error

    monkeypatch.setattr(Transcription, "hessian", hessian)
    made = TreeIntegrator(slider(), 0.1, "trapezoidal", actuated=[])
    with pytest.raises(error):
        optimize(made, [0.0, 0.3], [np.nan, np.nan], 4, planar=True)


def test_ipopt_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(ipopt, "casadi", None)
    made = TreeIntegrator(slider(), 0.1, "trapezoidal", actuated=[])
    with pytest.raises(gs.MissingExtraError, match=r"graphsys\[trajectories\]"):
        optimize(made, [0.0, 0.3], [0.0, 0.3], 4)


@needs_ipopt
@pytest.mark.parametrize("words", [("contact", "gap"), ("contact", "cone"), ("joint", "motion")])
def test_every_row_has_a_name(words):
    from dynamics.trajectory_optimization.checks import row_label

    made = transcription(True, "simpson", Ground())
    names = {row_label(made, row) for row in range(made.height)}

    assert len(names) <= made.height
    assert any(all(word in name for word in words) for name in names)
