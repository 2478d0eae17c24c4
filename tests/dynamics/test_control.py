"""Inverse dynamics against the step that it inverts, and controllers against their promises."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import dynamics as dy
from dynamics.kinematics.coordinates import free_velocities
from dynamics.kinematics.joint_space import JointSpace
from dynamics.kinematics.stiff_momenta import as_if_under

from .test_linearization import jointed

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def example(name):
    """What a script of docs/examples defines."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def accelerations(model, state, control):
    """Second derivatives of all joint coordinates, by steps of h and h/2 extrapolated to 0."""
    space = JointSpace(model)
    found = []
    for h in (2e-4, 1e-4):
        fine = model.mechanism.finalize(h, tolerance=1e-13)
        end, _ = fine.step(state, control)
        found.append((space.read(end)[1] - space.read(state)[1]) / h)
    return space, 2.0 * found[1] - found[0]


def placed(model, space, forces, controls):
    """Controls with these forces in their places."""
    for name, (first, count) in space.start.items():
        start, _ = model.tables.control_start[name]
        controls[start : start + count] = forces[first : first + count]
    return controls


@pytest.mark.parametrize(
    ("name", "options"),
    [("Revolute", {}), ("Cylindrical", {}), ("Universal", {}), ("Spherical", {}),
     ("Revolute", {"compliance": 1e-3, "constraint_damping": 3.0})],
)  # fmt: skip
def test_the_step_has_the_accelerations_that_inverse_dynamics_was_asked_for(name, options):
    model, state, _ = jointed(name, **options)
    space = JointSpace(model, ["joint"])
    wanted = np.linspace(-1.0, 2.0, space.size)

    forces = dy.inverse_dynamics(model, state, wanted)

    controls = placed(model, space, forces, np.zeros(model.n_controls))
    every, found = accelerations(model, state, controls)
    first, count = every.start["joint"]
    # second-order error: (1e-4)^2 over the fastest time squared, below 1e4 1/s^2 where compliant
    assert np.abs(found[first : first + count] - wanted).max() < (1e-2 if options else 1e-5)


def test_so_has_that_of_a_loop_driven_by_one_joint():
    model, state = dy.zoo.slider_crank(0.5, 2.0)

    torque = dy.inverse_dynamics(model, state, [3.0])

    space, found = accelerations(model, state, torque)
    assert abs(found[space.start["shaft"][0]] - 3.0) < 1e-5


def test_any_joint_of_a_loop_may_be_told_how_to_move():
    model, state = dy.zoo.slider_crank(0.5, 2.0)

    torque = dy.inverse_dynamics(model, state, {"guide": -1.5})

    space, found = accelerations(model, state, torque)
    assert abs(found[space.start["guide"][0]] + 1.5) < 1e-5


def test_a_pendulum_held_out_needs_the_torque_of_its_weight():
    model, state = dy.zoo.pendulum(1)  # along +x, turns about y: weight turns it by +m g l / 2

    torque = dy.inverse_dynamics(model, state, [0.0])

    assert abs(torque[0] + 9.81 * 0.5) < 1e-12


def test_forces_in_all_joints_of_a_loop_are_the_smallest():
    model, state = dy.zoo.four_bar(rate=0.0)
    crank = dy.inverse_dynamics(model, state, {"crank ground": 0.0}, ["crank ground"])

    every = dy.inverse_dynamics(model, state, {"crank ground": 0.0}, JointSpace(model).names)

    assert every.shape == (4,)
    assert np.linalg.norm(every) < np.linalg.norm(crank)
    # the same work in the one motion there is
    space = JointSpace(model)
    along = JointSpace(model, ["crank ground"]).slopes(state).along()
    work = every @ space.slopes(state).J @ along
    assert abs(work[0] - crank[0]) < 1e-10


def test_accelerations_out_of_reach_are_an_error():
    model, state = dy.zoo.cart_pole(0.3)

    with pytest.raises(ValueError, match="no forces in the joints .'rail'. give these"):
        dy.inverse_dynamics(model, state, {"rail": 0.0, "hinge": 0.0})


def test_pd_moves_a_cart_as_a_spring_and_damper_do_and_saturates():
    model, state = dy.zoo.cart_pole(np.pi)  # the pole hangs at rest
    model.set_joint(state, "rail", 0.2)
    feedback = dy.ProportionalDerivative(model, 40.0, 6.0, [0.1], most=3.0)

    assert feedback(state, 0.0) == pytest.approx([-3.0])
    model.set_joint(state, "rail", 0.12, 0.05)
    assert feedback(state, 0.0) == pytest.approx([-40.0 * 0.02 - 6.0 * 0.05])
    end = dy.simulate(model, state, 30.0, controller=feedback).final
    assert abs(model.joint(end, "rail")[0][0] - 0.1) < 1e-3


def test_pd_follows_a_target_that_moves():
    model, state = dy.zoo.slider_crank(0.5, 2.0, timestep=0.001)
    feedback = dy.ProportionalDerivative(
        model, 2000.0, 40.0, lambda time: ([0.5 + 2.0 * time], [2.0])
    )

    motion = dy.simulate(model, state, 1.0, controller=feedback)

    # what is left is torque over stiffness: some 20 N m over 2000 N m
    assert np.abs(motion.joint("shaft") - 0.5 - 2.0 * motion.time).max() < 2e-2


def test_computed_torque_tracks_a_loop_to_first_order_in_the_step():
    errors = []
    for h in (0.01, 0.005):
        model, state = dy.zoo.slider_crank(0.5, 1.0, timestep=h)

        def target(time):
            return [0.5 + np.sin(time)], [np.cos(time)], [-np.sin(time)]

        feedback = dy.ComputedTorque(model, target, stiffness=100.0, damping=20.0)
        motion = dy.simulate(model, state, 2.0, controller=feedback)
        errors.append(np.abs(motion.joint("shaft") - 0.5 - np.sin(motion.time)).max())

    assert errors[0] < 1e-3  # torques are held over a step: h / 2 late
    assert 1.8 < errors[0] / errors[1] < 2.2


def test_what_the_regulator_promises_to_pay_is_paid():
    model, upright = dy.zoo.cart_pole(0.0, tolerance=1e-13)
    Q, R = np.diag([1.0, 2.0, 0.5, 0.3]), np.array([[0.2]])
    feedback = dy.lqr(model, upright, Q, R)
    state = upright.copy()
    model.set_joint(state, "hinge", 1e-4)
    space = JointSpace(model)
    x = np.concatenate(space.read(state))

    motion = dy.simulate(model, state, 30.0, controller=feedback)

    paid = 0.0
    for k in range(len(motion) - 1):
        y = np.concatenate(space.read(motion[k]))
        u = feedback(motion[k], 0.0)
        paid += y @ Q @ y + u @ R @ u
    # cubic terms of the motion: (1e-4)^2 of the quadratic ones, times gains of some 50
    assert abs(paid / (x @ feedback.cost @ x) - 1.0) < 1e-5


def test_a_loop_is_regulated_in_all_its_coordinates():
    model, state = dy.zoo.slider_crank(0.5, 0.0)
    feedback = dy.lqr(model, state, 1.0, 0.01)
    assert feedback.gain.shape == (1, 8)
    assert np.abs(np.linalg.eigvals(feedback.closed_loop)).max() < 1.0
    moved = model.assemble(state, {"shaft": 0.7})

    end = dy.simulate(model, moved, 20.0, controller=feedback).final

    assert abs(model.joint(end, "shaft")[0][0] - 0.5) < 1e-4


def served(stiffness, springs=0.0):
    """Two hanging rods with servos, whose controls are targets, and a spring of the first."""
    mechanism = dy.Mechanism()
    servo = dy.PositionServo(stiffness, 3.0)
    upper, lower = (
        mechanism.add_body(dy.Box(0.1, 0.1, 1.0, mass=1.0), name=name, position=(0, 0, -i))
        for i, name in enumerate(("upper", "lower"))
    )
    hinge = dict(axis=(0, 1, 0), child_point=(0, 0, 0.5), servo=servo)
    mechanism.add_joint(dy.Revolute(mechanism.world, upper, name="a", stiffness=springs, **hinge))
    mechanism.add_joint(dy.Revolute(upper, lower, name="b", parent_point=(0, 0, -0.5), **hinge))
    return mechanism.finalize(0.01)


@pytest.mark.parametrize(("stiffness", "springs"), [(40.0, 0.0), (4e3, 0.0), (40.0, 4e3)])
def test_servos_under_linear_feedback_move_as_it_predicts(stiffness, springs):
    """Deviations of 1e-5 are multiplied by A - B K in each step, to their squares."""
    model = served(stiffness, springs)
    feedback = dy.lqr(model, model.initial_state(), 1.0, 0.1, [0.0, 0.0])
    state = model.initial_state()
    model.set_joint(state, "a", 1e-5, 1e-4)
    model.set_joint(state, "b", 2e-5, -2e-4)
    state, _ = model.step(state, feedback(state, 0.0))  # stiff forces push half as long here
    x = deviation(feedback, state)
    for _ in range(5):
        state, _ = model.step(state, feedback(state, 0.0))
        x = feedback.closed_loop @ x
        np.testing.assert_allclose(deviation(feedback, state), x, atol=1e-9)
        assert np.abs(x).max() > 1e-6


def deviation(feedback, state):
    """Coordinates and rates without what the last targets left, about those at rest, 0."""
    return np.concatenate(
        feedback.space.read(as_if_under(feedback.space.model, state, np.zeros(2)))
    )


@pytest.mark.parametrize("options", [{}, {"compliance": 1e-4}, {"compliance": 1e-3}])
@pytest.mark.parametrize("found", [False, True])
def test_a_leg_on_the_floor_moves_as_its_linear_feedback_predicts(options, found):
    """Rates are those before the impulses of contacts, as `linearize` has them."""
    mechanism = dy.Mechanism()
    hip = mechanism.add_body(dy.Box(0.3, 0.3, 0.3, mass=2.0), name="hip", position=(0, 0, 0.8))
    foot = mechanism.add_body(dy.Sphere(0.1, mass=0.5), name="foot", position=(0, 0, 0.1))
    mechanism.add_joint(
        dy.Prismatic(mechanism.world, hip, axis=(0, 0, 1), parent_point=(0, 0, 0.8), name="up")
    )
    mechanism.add_joint(
        dy.Prismatic(
            hip, foot, axis=(0, 0, 1), parent_point=(0, 0, -0.7), name="leg", actuated=True
        )
    )
    if found:
        mechanism.add_obstacle(dy.HalfSpace(), name="floor")
        mechanism.collide(friction=0.5, **options)
    else:
        mechanism.add_contact(foot, name="floor", friction=0.5, **options)
    model, weight = mechanism.finalize(0.01), -2.0 * 9.81
    pd = dy.ProportionalDerivative(model, 400.0, 60.0)
    rest = dy.simulate(
        model, model.initial_state(), 6.0, controller=lambda s, t: pd(s, t) + weight
    ).final
    hold = pd(rest, 0.0) + weight
    feedback = dy.lqr(model, rest, 1.0, 0.1, hold)
    home = model.step(rest, hold)[0]

    def of(state):
        return np.concatenate(feedback.space.measured(
            state.data[None], free_velocities(model, state)[None]
        )[0])  # fmt: skip

    state = model.step(model.step(home, hold + 0.01)[0], hold - 0.005)[0]
    x = of(state) - of(home)
    for _ in range(5):
        state, _ = model.step(state, feedback(state, 0.0))
        x = feedback.closed_loop @ x
        # it moves on from home by up to 2e-9 a step; x is some 2e-5
        np.testing.assert_allclose(of(state) - of(home), x, atol=2e-8)
    assert np.abs(x).max() > 1e-5


@pytest.mark.parametrize("stiffness", [40.0, 4e3])
def test_chained_slopes_are_those_of_a_motion(stiffness):
    """Of the coordinates after two steps by the targets of the first; they are nearly linear."""
    model, target = served(stiffness), np.array([0.1, -0.2])
    state = dy.simulate(model, model.initial_state(), 0.2, controls=target).final

    def after(change):
        end = model.step(model.step(state, target + change)[0], target)[0]
        return np.array([model.joint(end, name)[0][0] for name in ("a", "b")])

    (_, B), (A, _) = (
        dy.linearize(model, one, target, coordinates="joint", chained=True)
        for one in (state, model.step(state, target)[0])
    )
    found = [(after(e) - after(-e)) / 2e-4 for e in 1e-4 * np.eye(2)]
    # differences: (1e-4)^2 of second slopes, and Newton's tolerance of 5e-12 h over 1e-4
    np.testing.assert_allclose((A @ B)[:2], np.transpose(found), rtol=1e-6, atol=1e-8)


def test_a_body_that_turns_freely_is_regulated_by_rotation_vectors():
    mechanism = dy.Mechanism(gravity=(0.0, 0.0, 0.0))
    body = mechanism.add_body(mass=1.0, inertia=[0.1, 0.2, 0.25], name="body")
    mechanism.add_joint(dy.Floating(mechanism.world, body, name="free", actuated=True))
    model = mechanism.finalize()
    goal = model.initial_state()
    model.set_joint(goal, "free", [0.1, 0.2, 0.3, 0.5, -1.0, 2.0])
    feedback = dy.lqr(model, goal, 1.0, 0.1)
    state = model.initial_state()
    model.set_joint(state, "free", [0.0, 0.0, 0.0, 0.2, -1.5, 1.5])

    end = dy.simulate(model, state, 20.0, controller=feedback).final

    assert np.abs(model.joint(end, "free")[0] - [0.1, 0.2, 0.3, 0.5, -1.0, 2.0]).max() < 1e-5


def test_the_regulator_refuses_what_does_not_stay_and_what_no_control_holds():
    model, state = dy.zoo.cart_pole(0.3)
    with pytest.raises(ValueError, match="the state does not stay"):
        dy.lqr(model, state, 1.0, 1.0)
    mechanism = dy.Mechanism(gravity=(0.0, 0.0, 0.0))
    for name in "ab":
        body = mechanism.add_body(mass=1.0, inertia=[0.1, 0.1, 0.1], name=name)
        mechanism.add_joint(
            dy.Prismatic(
                mechanism.world, body, [1, 0, 0], actuated=name == "a", name=f"rail {name}"
            )
        )
    model = mechanism.finalize()
    with pytest.raises(ValueError, match="cannot be stabilized by its 1 controls"):
        dy.lqr(model, model.initial_state(), 1.0, 1.0)
    with pytest.raises(ValueError, match="joint 'rail b' is not actuated"):
        dy.ProportionalDerivative(model, 1.0, 1.0, joints=["rail b"])


@pytest.mark.parametrize(
    ("Q", "R", "sentence"),
    [
        (np.eye(3), 1.0, r"Q must be finite, of shape \(4, 4\), \(4,\) or a number"),
        ([1.0, 2.0], 1.0, r"Q must be finite, of shape \(4, 4\), \(4,\) or a number"),
        (np.triu(np.ones((4, 4))), 1.0, "Q is not symmetric"),
        (1.0, np.nan, r"R must be finite, of shape \(1, 1\)"),
        ({"rail": 1.0}, 1.0, r"Q must be.*in the order \['rail', 'hinge', 'their rates'\]"),
    ],
)
def test_costs_that_are_none_are_refused(Q, R, sentence):
    model, state = dy.zoo.cart_pole(0.0)
    with pytest.raises(ValueError, match=sentence):
        dy.lqr(model, state, Q, R)


def test_a_control_that_holds_the_state_may_be_given():
    model, state = dy.zoo.cart_pole(0.0)

    gains = [dy.lqr(model, state, 1.0, 1.0, **more).gain for more in ({}, {"control": [0.0]})]

    # inverse dynamics finds the same control, 0, to rounding
    np.testing.assert_allclose(*gains, rtol=1e-9)


def test_what_drives_a_servo_is_a_target_and_no_force():
    mechanism = dy.Mechanism()
    body = mechanism.add_body(mass=1.0, inertia=[0.1, 0.1, 0.1], name="body")
    servo = dy.PositionServo(10.0, 1.0)
    mechanism.add_joint(dy.Revolute(mechanism.world, body, [1, 0, 0], servo=servo, name="hinge"))
    model = mechanism.finalize()

    with pytest.raises(ValueError, match="joint 'hinge' has a servo: its control is a target"):
        dy.ProportionalDerivative(model, 1.0, 1.0, joints=["hinge"])
    with pytest.raises(ValueError, match="there is no joint to drive: make one with actuated=True"):
        dy.ProportionalDerivative(model, 1.0, 1.0)
    with pytest.raises(NotImplementedError, match="'hinge' has a servo.*'hinge': 'motor'"):
        dy.inverse_dynamics(model, model.initial_state(), [0.0])


def test_gains_are_not_checked_where_the_mechanism_has_no_first_state():
    # the pin is 3 m off: joints are told where they are later, by `assemble`
    mechanism = dy.Mechanism()
    body = mechanism.add_body(mass=1.0, inertia=[0.1, 0.1, 0.1], name="body")
    mechanism.add_joint(dy.Revolute(mechanism.world, body, [1, 0, 0], actuated=True, name="hinge"))
    mechanism.add_joint(dy.Spherical(mechanism.world, body, parent_point=[0, 0, 3.0], name="pin"))
    model = mechanism.finalize()

    with pytest.raises(dy.InconsistentStateError):
        model.initial_state()
    assert dy.ProportionalDerivative(model, 1e9, 1e9).stiffness.tolist() == [1e9]


def test_the_published_gains_of_the_cart_pole_are_found():
    script = example("cart_pole_lqr")

    gain, motion = script["main"]()

    # published to three digits
    assert np.abs(gain - script["PUBLISHED"]).max() < 0.006
    assert abs(motion.joint("hinge")[-1]) < 1e-3


def test_the_elbow_alone_holds_a_double_pendulum_up():
    feedback, motion = example("double_pendulum_lqr")["main"]()

    assert np.abs(np.linalg.eigvals(feedback.closed_loop)).max() < 1.0
    assert abs(motion.joint("shoulder")[-1]) < 1e-6


def test_targets_and_gains_by_name_are_those_in_turn():
    model, state = named_arm()
    by_name = {"ball": [0.1, -0.2, 0.3], "hinge": 0.4}
    turn = dy.ProportionalDerivative(
        model, 5.0, [0.3, 0.5, 0.5, 0.5], [0.4, 0.1, -0.2, 0.3], joints=["hinge", "ball"]
    )
    named = dy.ProportionalDerivative(model, 5.0, {"hinge": 0.3, "ball": [0.5] * 3}, by_name)
    moving = dy.ProportionalDerivative(
        model, 5.0, {"hinge": 0.3, "ball": [0.5] * 3}, lambda time: (by_name, 0.0)
    )
    wanted = dy.simulate(model, state, 0.2, controller=turn)
    for one in (named, moving):
        assert np.array_equal(dy.simulate(model, state, 0.2, controller=one).states, wanted.states)

    torques = dy.ComputedTorque(model, lambda time: (by_name, 0.0, 0.0), 9.0, 6.0)
    listed = dy.ComputedTorque(model, lambda time: ([0.1, -0.2, 0.3, 0.4], 0.0, 0.0), 9.0, 6.0)
    assert np.array_equal(torques(state, 0.0), listed(state, 0.0))


@pytest.mark.parametrize(
    ("target", "error", "sentence"),
    [
        ({"hinge": 0.1}, dy.UnknownNameError, r"target is of \['hinge'\].*\['ball', 'hinge'\]"),
        ({"hinge": 0.1, "bal": 0.0}, dy.UnknownNameError, "must be of each joint that is driven"),
        ({"hinge": [0.1, 0.2], "ball": [0.0] * 3}, ValueError, "target of joint 'hinge' has shape"),
        ({"hinge": 0.1, "ball": "up"}, TypeError, "target of joint 'ball' must hold real"),
        ([0.1, 0.2], ValueError, r"target has shape \(2,\), it must be \(4,\)"),
    ],
)
def test_targets_that_fit_no_joint_are_refused(target, error, sentence):
    model, _ = named_arm()
    with pytest.raises(error, match=sentence):
        dy.ProportionalDerivative(model, 1.0, 0.1, target)


def test_a_target_over_time_is_a_tuple_and_not_taken_for_one():
    """Three numbers for three joints are no coordinate, rate and acceleration of all of them."""
    mechanism = dy.Mechanism()
    for name in "abc":
        body = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name=name)
        rail = dy.Prismatic(mechanism.world, body, (1, 0, 0), name=f"rail {name}", actuated=True)
        mechanism.add_joint(rail)
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    for three in (np.array([0.1, 0.2, 0.3]), [0.1, 0.2, 0.3], {"rail a": 0.1}, 0.1):
        torque = dy.ComputedTorque(model, lambda time, three=three: three, 9.0, 6.0)
        with pytest.raises(ValueError, match="must be a tuple: coordinates, rates, accelerations"):
            torque(state, 0.0)
    pair = dy.ProportionalDerivative(model, 9.0, 6.0, lambda time: [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="must be a tuple: coordinates, rates, each"):
        pair(state, 0.0)

    goal = [0.1, 0.2, 0.3]
    wanted = [0.9, 1.8, 2.7]  # 1 kg each: f = kp e
    over_time = dy.ComputedTorque(model, lambda time: np.array([goal, 3 * [0.0], 3 * [0.0]]), 9, 6)
    for torque in (over_time, dy.ComputedTorque(model, goal, 9.0, 6.0)):
        np.testing.assert_allclose(torque(state, 0.0), wanted, rtol=1e-12)


def test_controllers_and_spaces_say_in_short_what_they_are():
    model, state = dy.zoo.cart_pole(0.0)
    space = "JointSpace(2 coordinates of 2 joints)"
    assert repr(dy.JointSpace(model)) == space
    assert repr(dy.lqr(model, state, 1.0, 1.0)) == f"LinearQuadratic(1 controls, {space})"
    assert repr(dy.Kinematics(model)) == "Kinematics(2 bodies, 2 columns)"
    damper = dy.ProportionalDerivative(model, 0.0, 1.0)
    assert repr(damper) == "ProportionalDerivative(JointSpace(1 coordinates of 1 joints))"


def named_arm():
    """A body on a ball joint and another on a hinge, with motors."""
    mechanism = dy.Mechanism()
    first = mechanism.add_body(dy.Box(0.4, 0.4, 0.4, mass=2.0), name="first")
    second = mechanism.add_body(dy.Box(0.4, 0.4, 0.4, mass=2.0), name="second")
    mechanism.add_joint(dy.Spherical(mechanism.world, first, name="ball", actuated=True))
    mechanism.add_joint(
        dy.Revolute(first, second, (1, 0, 0), parent_point=(0.5, 0, 0), name="hinge", actuated=True)
    )
    model = mechanism.finalize(0.01)
    return model, model.initial_state()


def test_one_joint_may_be_named_without_a_list():
    model, state = named_arm()
    assert dy.JointSpace(model, "hinge").names == ("hinge",)
    hinge = dy.ProportionalDerivative(model, 5.0, 0.5, 0.3, joints="hinge")
    assert hinge(state, 0.0) == pytest.approx([0.0, 0.0, 0.0, 1.5])


def test_a_regulator_of_a_mechanism_without_controls_is_refused():
    model, state = dy.zoo.double_pendulum()
    with pytest.raises(ValueError, match="there is no joint to drive"):
        dy.lqr(model, state, 1.0, 1.0)


def test_coordinates_of_another_kind_are_refused():
    model, state = named_arm()
    with pytest.raises(ValueError, match='coordinates is .joints., and must be "maximal", "joint"'):
        dy.linearize(model, state, coordinates="joints")
