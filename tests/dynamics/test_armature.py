"""Rotors on the axes of joints: inertia that is no body's."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dynamics as dy
from dynamics.kinematics.joint_space import JointSpace
from dynamics.studies.variation import carried

from .robots import mass_matrix
from .test_linearization import by_differences, error

G, MASS, ROTOR = 9.81, 2.0, 0.3
LENGTH = 0.25


def hinged(armature=ROTOR, timestep=0.01, gravity=(0, 0, -G), **options):
    """A box that hangs from its upper end."""
    mechanism = dy.Mechanism(gravity=gravity)
    box = mechanism.add_body(dy.Box(0.1, 0.1, 2 * LENGTH, mass=MASS), name="box")
    mechanism.add_joint(
        dy.Revolute(
            mechanism.world, box, (0, 1, 0), child_point=(0, 0, LENGTH), name="hinge",
            armature=armature, **options,
        )
    )  # fmt: skip
    return mechanism.finalize(timestep)


def arm(timestep=0.01, damping=0.1, **options):
    """Two hinges and a slide with rotors, a damper and a spring, all off the axes of the others."""
    mechanism = dy.Mechanism()
    a, b, c = (
        mechanism.add_body(dy.Box(0.1, 0.15, z, mass=m), name=name)
        for name, z, m in (("a", 0.5, 2.0), ("b", 0.4, 1.0), ("c", 0.3, 0.5))
    )
    mechanism.add_joint(
        dy.Revolute(
            mechanism.world, a, (0, 0.6, 0.8), child_point=(0, 0.02, 0.25), name="j",
            armature=0.2, actuated=True,
        )
    )  # fmt: skip
    mechanism.add_joint(
        dy.Revolute(
            a, b, (1, 0, 0), parent_point=(0, 0, -0.25), child_point=(0.1, 0, 0.2), name="k",
            armature=0.1, damping=damping, actuated=True,
        )
    )  # fmt: skip
    mechanism.add_joint(
        dy.Prismatic(
            b, c, (0.8, 0.6, 0), parent_point=(0, 0, -0.2), child_point=(0, 0, 0.15), name="s",
            armature=0.4, stiffness=20.0, actuated=True,
        )
    )  # fmt: skip
    model = mechanism.finalize(timestep, **options)
    state = model.initial_state()
    for name, q, rate in (("j", 0.4, 1.0), ("k", 0.7, -1.0), ("s", 0.1, 0.5)):
        model.set_joint(state, name, q, rate)
    return model, state


def test_a_slide_falls_slower_by_the_rotor_s_share_exactly():
    mechanism = dy.Mechanism()
    box = mechanism.add_body(dy.Box(0.1, 0.1, 0.1, mass=MASS), name="box")
    mechanism.add_joint(dy.Prismatic(mechanism.world, box, (0, 0, 1), name="rail", armature=ROTOR))
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    model.set_joint(state, "rail", 0.0, 0.7)

    motion = dy.simulate(model, state, 0.5)

    # a constant acceleration is solved exactly: velocities to 1e-10 of the largest, 50 steps
    t, fall = motion.time, G * MASS / (MASS + ROTOR)
    np.testing.assert_allclose(motion.joint("rail").ravel(), 0.7 * t - 0.5 * fall * t**2, atol=1e-9)
    np.testing.assert_allclose(motion.energy(), 0.5 * (MASS + ROTOR) * 0.7**2, atol=1e-8)


def test_a_pendulum_swings_as_its_equation_says_to_second_order():
    inertia = MASS / 12 * (0.1**2 + 4 * LENGTH**2) + MASS * LENGTH**2 + ROTOR
    exact = solve_ivp(
        lambda t, y: [y[1], -MASS * G * LENGTH * np.sin(y[0]) / inertia], (0, 2), [1.0, 0.5],
        rtol=1e-11, atol=1e-12,
    ).y[:, -1]  # fmt: skip
    errors = []
    for h in (0.02, 0.01, 0.005):
        model = hinged(timestep=h)
        state = model.initial_state()
        model.set_joint(state, "hinge", 1.0, 0.5)
        end = dy.simulate(model, state, 2.0).final
        errors.append(np.abs(np.concatenate(model.joint(end, "hinge")) - exact).max())

    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2.0, atol=0.05)


def test_turns_are_counted_across_half_a_turn():
    model = hinged(gravity=(0, 0, 0))
    state = model.initial_state()
    model.set_joint(state, "hinge", 3.0, 4.0)

    motion = dy.simulate(model, state, 2.0)

    np.testing.assert_allclose(motion.joint_velocity("hinge").ravel(), 4.0, atol=1e-8)
    assert np.ptp(motion.energy()) < 1e-8 * motion.energy()[0]


def test_energy_and_momenta_know_the_rotor():
    model = hinged()
    state = model.initial_state()
    model.set_joint(state, "hinge", 0.0, 2.0)
    still = hinged(armature=0.0)
    other = still.initial_state()
    still.set_joint(other, "hinge", 0.0, 2.0)

    assert model.energy(state) - still.energy(other) == pytest.approx(0.5 * ROTOR * 4.0, rel=1e-12)
    # generalized momentum of the body: M V + a q' G^T
    np.testing.assert_allclose((state.momentum - other.momentum)[0], [0, 0, 0, 0, ROTOR * 2, 0])


def test_free_bodies_keep_their_momenta_and_energy():
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    a, b = (
        mechanism.add_body(dy.Box(0.1, 0.2, z, mass=1.0), name=name)
        for name, z in (("a", 0.5), ("b", 0.3))
    )
    ends = {"parent_point": (0, 0, -0.25), "child_point": (0, 0.1, 0.15)}
    mechanism.add_joint(dy.Revolute(a, b, (0.6, 0.8, 0), name="hinge", armature=0.05, **ends))
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    model.set_body(state, "a", velocity=(0.1, 0.2, -0.1), angular_velocity=(0.5, 1.0, -1.5))
    state = model.assemble(state, velocities={"hinge": 3.0})

    motion = dy.simulate(model, state, 3.0)

    momentum = motion.momentum()
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (len(momentum), 1)), atol=1e-9)
    assert model.joint(motion[0], "hinge")[1] == pytest.approx(3.0, abs=1e-9)
    # second order: about (h omega)^2 / 12 of what moves to and fro, omega some 4 rad/s
    assert np.ptp(motion.energy()) < (0.01 * 4.0) ** 2 * motion.energy()[0]


def test_a_step_is_undone_by_the_step_of_the_reversed_state():
    model, state = arm(damping=0.0)
    end, _ = model.step(state)
    back = end.copy()
    for part in (back.momentum, back.interval_velocity, back.interval_velocity_before):
        part *= -1.0
    again, _ = model.step(back)

    # two solutions to 1e-10 of velocities of 1 rad/s, over 0.01 s
    np.testing.assert_allclose(again.pose, state.pose, atol=1e-11)


def test_setting_one_joint_leaves_the_rates_of_the_others():
    model, state = arm()
    model.set_joint(state, "k", -0.3, 2.0)

    found = [float(model.joint(state, name)[1][0]) for name in "jks"]
    np.testing.assert_allclose(found, [1.0, 2.0, 0.5], atol=1e-9)


def test_linearized_steps_are_those_of_differences():
    model, state = arm()
    control = np.array([0.3, -0.2, 0.1])
    state = dy.simulate(model, state, 0.05).final

    found = dy.linearize(model, state, control)
    wanted = by_differences(model, state, control)

    for one, other in zip(found, wanted):
        assert error(one, other) < 1e-6


def test_the_motion_is_differentiated_by_the_rotor():
    model, state = arm()
    found = dy.sensitivity(model, state, 0.1, parameters=[("k", "armature")])

    def end(armature):
        other = dy.variant(model, {"k": {"armature": armature}})
        return dy.simulate(other, carried(model, state, other), 0.1).final.pose[:, :3]

    wanted = (end(0.1 + 1e-5) - end(0.1 - 1e-5)) / 2e-5
    # second order of differences, 1e-10, and rounding, 1e-13 / 1e-5
    np.testing.assert_allclose(found.poses[-1, :, :3, 0], wanted, atol=1e-7)


def test_inverse_dynamics_gives_the_acceleration_that_is_asked():
    model, state = arm(timestep=1e-4)
    asked = np.array([0.7, -1.1, 0.4])

    after, _ = model.step(state, dy.inverse_dynamics(model, state, asked))

    gained = [model.joint(after, name)[1][0] - model.joint(state, name)[1][0] for name in "jks"]
    # by h / 2 of how accelerations change in time, some 50 rad/s^3
    np.testing.assert_allclose(np.array(gained) / 1e-4, asked, atol=5e-3)


def test_joint_space_inertia_holds_the_rotors_on_its_diagonal():
    (model, state), bare = arm(), arm()[0]
    bare = dy.variant(bare, {name: {"armature": 0.0} for name in "jks"})
    J = JointSpace(model).slopes(state).along()

    more = J.T @ (mass_matrix(model, state) - mass_matrix(bare, state)) @ J
    np.testing.assert_allclose(more, np.diag([0.2, 0.1, 0.4]), atol=1e-12)


def test_limits_and_contacts_stop_rotors_without_gain_of_energy():
    model = hinged(limits=(-0.4, 0.2), friction=0.05)
    state = model.initial_state()
    model.set_joint(state, "hinge", 0.0, 3.0)

    motion = dy.simulate(model, state, 3.0)

    q = motion.joint("hinge").ravel()
    assert q.max() <= 0.2 and q.min() >= -0.4
    # momenta balance to the contacts' tolerance, 1e-9 N s at some 3 rad/s, in 300 steps; a step
    # of the second order itself moves energy by (h omega)^2 / 12 of what swings, omega^2 = 11
    swing = MASS * G * LENGTH * 0.4**2 / 2
    assert np.diff(motion.energy()).max() < 11 * 0.01**2 / 12 * swing + 1e-6


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"armature": -0.1}, "armature of joint 'hinge' is negative"),
        ({"armature": np.nan}, "armature of joint 'hinge' must be one finite number"),
        ({"armature": [0.1, 0.2]}, "armature of joint 'hinge' must be one finite number"),
    ],
)
def test_what_is_no_inertia_is_refused(options, match):
    with pytest.raises(ValueError, match=match):
        hinged(**options)


def test_joints_that_turn_freely_and_higher_orders_are_refused():
    mechanism = dy.Mechanism()
    ball = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="ball")
    with pytest.raises(ValueError, match="'world-ball' has armature but turns freely"):
        dy.Spherical(mechanism.world, ball, armature=0.1)
    with pytest.raises(ValueError, match="armature of joint 'j' needs order=2"):
        arm(order=4)
    model, _ = arm()
    with pytest.raises(ValueError, match="armature of joint 'j' is negative"):
        dy.variant(model, {"j": {"armature": -1.0}})
