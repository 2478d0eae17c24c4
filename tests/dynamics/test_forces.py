"""Springs, dampers, drag, controls, wrenches and soft joints, against what they do by hand."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dynamics as dy
from dynamics.zoo import damped_pendulum, double_pendulum, pendulum

X, Y, Z = np.eye(3)
WEIGHTLESS = (0.0, 0.0, 0.0)


def slider(h=0.01, gravity=WEIGHTLESS, mass=1.0, **options):
    """A body on a rail along x, and its first state."""
    mechanism = dy.Mechanism(gravity)
    body = mechanism.add_body(mass=mass, inertia=[0.1, 0.1, 0.1], name="b")
    mechanism.add_joint(dy.Prismatic(mechanism.world, body, X, name="rail", **options))
    model = mechanism.finalize(h, tolerance=1e-13)
    return model, model.initial_state()


def free(h=0.01, gravity=WEIGHTLESS, **options):
    """A body that nothing holds, and its first state."""
    mechanism = dy.Mechanism(gravity)
    mechanism.add_body(mass=2.0, inertia=[0.1, 0.2, 0.25], name="b", **options)
    model = mechanism.finalize(h, tolerance=1e-13)
    return model, model.initial_state()


# Springs


def test_a_spring_on_a_rail_swings_as_verlet_says():
    # x_k = rest + a cos(k phi), 2 sin(phi / 2) = omega h: exact for this method
    h, k, m = 0.05, 30.0, 2.0
    model, state = slider(h, mass=m, stiffness=k, rest=0.3)
    model.set_joint(state, "rail", 0.8)
    found = dy.simulate(model, state, 5.0).joint("rail")
    phi = 2.0 * np.arcsin(0.5 * h * np.sqrt(k / m))
    np.testing.assert_allclose(found, 0.3 + 0.5 * np.cos(phi * np.arange(101)), atol=1e-11)


def test_a_spring_between_points_of_no_length_swings_alike_in_every_direction():
    mechanism = dy.Mechanism(WEIGHTLESS)
    ball = mechanism.add_body(mass=2.0, inertia=[1.0] * 3, name="b", position=[0.5, -0.2, 0.4])
    mechanism.add_force(dy.Spring(mechanism.world, ball, stiffness=30.0, name="spring"))
    model = mechanism.finalize(0.05, tolerance=1e-13)
    x = dy.simulate(model, model.initial_state(), 5.0).body("b")[0]
    phi = 2.0 * np.arcsin(0.5 * 0.05 * np.sqrt(15.0))
    expected = np.cos(phi * np.arange(101))[:, None] * [0.5, -0.2, 0.4]
    np.testing.assert_allclose(x, expected, atol=1e-11)


def test_a_spring_at_no_distance_does_nothing():
    mechanism = dy.Mechanism(WEIGHTLESS)
    ball = mechanism.add_body(mass=2.0, inertia=[1.0] * 3, name="b")
    mechanism.add_force(dy.Spring(mechanism.world, ball, stiffness=30.0, damping=2.0))
    model = mechanism.finalize()
    final = dy.simulate(model, model.initial_state(), 0.1).final
    assert np.abs(final.pose[0, :3]).max() == 0.0


def test_a_torsion_spring_holds_a_body_where_its_torque_is_its_weight():
    # k (theta - rest) = m g l cos(theta), rod along x at 0, turning about -y sinks
    k, angle = 20.0, 0.4
    rest = angle - 9.81 * 0.5 * np.cos(angle) / k
    mechanism = dy.Mechanism()
    rod = mechanism.add_body(dy.Box(1.0, 0.1, 0.1, mass=1.0), name="rod")
    mechanism.add_joint(
        dy.Revolute(
            mechanism.world, rod, Y, child_point=-0.5 * X, stiffness=k, rest=rest, name="hinge"
        )
    )
    model = mechanism.finalize()
    state = model.initial_state()
    model.set_joint(state, "hinge", angle)
    np.testing.assert_allclose(dy.simulate(model, state, 1.0).joint("hinge"), angle, atol=1e-9)


@pytest.mark.parametrize("kind", ["Spherical", "Universal", "PlanarAxis", "Cylindrical"])
def test_springs_along_every_free_axis_are_those_of_a_potential(kind):
    # energy wavers with h^2 and does not drift; it is large against its wavering
    def ranges(h):
        mechanism = dy.Mechanism()
        a = mechanism.add_body(mass=1.0, inertia=[0.1, 0.12, 0.15], name="a")
        b = mechanism.add_body(mass=1.5, inertia=[0.2, 0.12, 0.15], name="b")
        n, across = [0.36, -0.48, 0.8], [0.8, 0.6, 0.0]
        arguments = {"Spherical": (), "Universal": (n, across)}.get(kind, (n,))
        count = {"Spherical": 3, "Universal": 2, "PlanarAxis": 3, "Cylindrical": 2}[kind]
        mechanism.add_joint(dy.Spherical(mechanism.world, a, child_point=[0, 0, 0.3], name="top"))
        mechanism.add_joint(
            getattr(dy, kind)(
                a,
                b,
                *arguments,
                parent_point=[0.1, 0.0, -0.3],
                child_point=[0.0, 0.2, 0.3],
                stiffness=20.0 + 5.0 * np.arange(count),
                rest=0.1 * np.arange(count),
                name="j",
            )
        )
        model = mechanism.finalize(h, tolerance=1e-12)
        state = model.initial_state()
        model.set_joint(state, "top", [0.4, 0.3, 0.2])
        model.set_joint(state, "j", 0.3 + 0.1 * np.arange(count), np.full(count, 0.5))
        return np.ptp(dy.simulate(model, state, 2.0).energy())

    assert ranges(0.005) < 0.3
    assert ranges(0.005) / ranges(0.0025) == pytest.approx(4.0, rel=0.05)


# Dampers


def test_a_damper_on_a_rail_slows_by_the_same_part_every_step():
    # m (u' - u) = -h c (u' + u) / 2
    h, c, m = 0.1, 3.0, 2.0
    model, state = slider(h, mass=m, damping=c)
    model.set_joint(state, "rail", 0.0, 1.0)
    x = dy.simulate(model, state, 2.0).joint("rail")
    part = (1.0 - 0.5 * h * c / m) / (1.0 + 0.5 * h * c / m)
    np.testing.assert_allclose(np.diff(x)[1:] / np.diff(x)[:-1], part, rtol=1e-10)


def test_a_damped_hinge_is_of_second_order():
    # 1-D pendulum: I = 1/3, k = g/2, d = 1/2 from 1.5 rad over 2 s
    def slope(t, y):
        return [y[1], 3.0 * (-0.5 * 9.81 * np.sin(y[0]) - 0.5 * y[1])]

    exact = solve_ivp(slope, (0, 2), [1.5, 0.0], method="DOP853", rtol=1e-12, atol=1e-13).y[0, -1]
    errors = []
    for n in (40, 80, 160, 320):
        model, state = damped_pendulum(timestep=2.0 / n, tolerance=1e-12, largest_turn=2.0)
        errors.append(abs(dy.simulate(model, state, 2.0).joint("hinge")[-1] - exact))
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert np.abs(orders - 2.0).max() < 0.03


def test_dampers_between_bodies_take_energy_all_the_time():
    model, state = pendulum(5, "spherical", angles=[1.0, 0.5, -0.5, 0.3, 0.2], damping=0.3)
    energy = dy.simulate(model, state, 10.0).energy()
    # the discrete energy wavers by h^2; over a tenth of a second losses are larger
    assert (np.diff(energy[::10])[:40] < 0.0).all()
    assert energy[-1] < energy[0] - 3.0


def test_a_damper_between_points_acts_along_their_line_alone():
    mechanism = dy.Mechanism(WEIGHTLESS)
    ball = mechanism.add_body(mass=1.0, inertia=[1.0] * 3, name="b", position=[1000.0, 0, 0])
    mechanism.add_force(dy.Spring(mechanism.world, ball, damping=2.0, name="dashpot"))
    model = mechanism.finalize(0.1)
    state = model.initial_state()
    model.set_body(state, "b", velocity=[1.0, 1.0, 0.0])
    final = model.velocities(dy.simulate(model, state, 1.0).final)[0]
    part = ((1.0 - 0.1) / (1.0 + 0.1)) ** 10
    np.testing.assert_allclose(final[:3], [part, 1.0, 0.0], atol=2e-3)  # the line turns 1e-3 rad


def test_a_body_with_drag_falls_at_last_with_its_weight_over_the_drag():
    model, state = free(0.1, gravity=(0, 0, -9.81), drag=4.0, spin_drag=0.5)
    model.set_body(state, "b", angular_velocity=[1.0, 2.0, 3.0])
    final = model.velocities(dy.simulate(model, state, 20.0).final)[0]
    np.testing.assert_allclose(final, [0, 0, -2.0 * 9.81 / 4.0, 0, 0, 0], atol=1e-12)


# Controls and wrenches


def test_a_constant_force_on_a_rail_makes_a_parabola():
    model, state = slider(0.1, mass=2.0, actuated=True)
    motion = dy.simulate(model, state, 2.0, controls=[3.0])
    np.testing.assert_allclose(motion.joint("rail"), 0.75 * motion.time**2, atol=1e-12)
    np.testing.assert_allclose(motion.joint_velocity("rail"), 1.5 * motion.time, atol=1e-12)


def test_controls_are_taken_by_name():
    mechanism = dy.Mechanism(WEIGHTLESS)
    body = mechanism.add_body(mass=1.0, inertia=[0.5] * 3, name="b")
    mechanism.add_joint(dy.Cylindrical(mechanism.world, body, Z, actuated=True, name="quill"))
    mechanism.add_force(
        dy.Spring(mechanism.world, body, parent_point=-Z, actuated=True, name="piston")
    )
    model = mechanism.finalize(0.1)
    state = model.initial_state()
    state, _ = model.step(state, {"quill": [2.0, 0.05], "piston": 1.0})
    np.testing.assert_allclose(model.joint(state, "quill")[1], [0.3, 0.01], rtol=1e-5)
    state, _ = model.step(model.initial_state(), [2.0, 0.05, 1.0])
    np.testing.assert_allclose(model.joint(state, "quill")[1], [0.3, 0.01], rtol=1e-5)
    with pytest.raises(dy.UnknownNameError, match="actuated are"):
        model.step(state, {"pump": 1.0})


def test_a_motor_turns_child_and_parent_against_each_other():
    mechanism = dy.Mechanism(WEIGHTLESS)
    a = mechanism.add_body(mass=1.0, inertia=[0.1, 0.2, 0.3], name="a")
    b = mechanism.add_body(mass=1.0, inertia=[0.2, 0.2, 0.1], name="b")
    mechanism.add_joint(dy.Revolute(a, b, Z, actuated=True, name="motor"))
    model = mechanism.finalize(0.01)
    motion = dy.simulate(model, model.initial_state(), 0.5, controls=[0.2])
    # -tau / J_a and tau / J_b, exact but for (h omega)^2 / 24
    for name, rate in (("a", -0.2 / 0.3), ("b", 0.2 / 0.1)):
        assert motion.body_velocity(name)[1][-1, 2] == pytest.approx(0.5 * rate, rel=1e-4)
    assert np.abs(motion.momentum()).max() < 1e-10


def test_wrenches_are_a_force_in_the_world_and_a_torque_in_the_body():
    model, state = free(0.01)
    model.set_body(state, "b", orientation=[np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])
    motion = dy.simulate(model, state, 1.0, wrenches=[4.0, 0.0, 0.0, 0.1, 0.0, 0.0])
    v, omega = motion.body_velocity("b")
    np.testing.assert_allclose(v[:, 0], 2.0 * motion.time, atol=1e-11)
    np.testing.assert_allclose(omega[:, 0], motion.time, rtol=1e-4)
    push = [4.0, 0.0, 0.0, 0.1, 0.0, 0.0]
    for wrenches in ({"b": push}, push):
        one, _ = model.step(state, wrenches=wrenches)
        np.testing.assert_allclose(one.data, motion.states[1], atol=1e-14)


def test_a_body_takes_its_part_of_gravity():
    model, state = free(0.1, gravity=(0, 0, -10.0), gravity_scale=-0.5)
    assert model.velocities(dy.simulate(model, state, 1.0).final)[0, 2] == pytest.approx(5.0)


# Soft joints, theory/compliance (5)


def soft(theta, damping=0.0, h=0.001, compliance=0.01):
    """A body of 1 kg, off its plane by 1 m, that a soft joint holds: omega = 10 rad/s."""
    mechanism = dy.Mechanism(WEIGHTLESS)
    body = mechanism.add_body(mass=1.0, inertia=[1.0] * 3, name="b")
    mechanism.add_joint(
        dy.PointOnPlane(
            mechanism.world,
            body,
            Z,
            compliance=compliance,
            theta=theta,
            constraint_damping=damping,
            name="plane",
        )
    )
    model = mechanism.finalize(h)
    state = model.initial_state()
    model.set_body(state, "b", position=[0.0, 0.0, 1.0])
    return model, state


def test_a_soft_joint_keeps_its_energy_with_theta_one_half():
    model, state = soft(0.5)
    energy = dy.simulate(model, state, 10.0).energy()
    assert np.abs(energy / energy[0] - 1.0).max() < 1e-11  # 1e4 steps of round-off, random


def test_a_soft_joint_loses_energy_with_theta_one_as_predicted():
    model, state = soft(1.0)
    energy = dy.simulate(model, state, 10.0).energy()
    assert energy[-1] / energy[0] == pytest.approx(np.exp(-0.001 * 100.0 * 10.0), rel=2e-3)


def test_damping_of_a_soft_constraint_is_that_of_its_recursion():
    # mu = -h (g+ / c + d (g+ - g) / h), v+ = v + mu, g+ = g + h v+
    h, c, d = 0.01, 0.01, 3.0
    model, state = soft(1.0, d, h, c)
    found = dy.simulate(model, state, 0.3).body("b")[0][:, 2]
    g, v = 1.0, 0.0
    for k in range(30):
        v = (v - h * g / c) / (1.0 + h * h / c + h * d)
        g += h * v
        assert found[k + 1] == pytest.approx(g, abs=1e-9)


@pytest.mark.parametrize(
    ("compliance", "loss", "width"), [(1e-3, 3.4, 0.026), (1e-4, 1.0, 0.023), (1e-6, 0.077, 0.040)]
)
def test_a_soft_double_pendulum_loses_or_keeps_what_it_should(compliance, loss, width):
    found = []
    for theta in (1.0, 0.5):
        model, state = double_pendulum(compliance=compliance, theta=theta)
        energy = dy.simulate(model, state, 15.0).energy()
        found.append(np.ptp(energy))
    assert found == pytest.approx([loss, width], rel=0.1)  # a maximum over 1500 steps


def test_a_joint_becomes_rigid_as_its_compliance_goes_to_zero():
    rigid, start = double_pendulum(tolerance=1e-12)
    exact = dy.simulate(rigid, start, 1.0).final.pose
    errors = []
    for compliance in (1e-6, 1e-7, 1e-8):
        model, state = double_pendulum(compliance=compliance, theta=1.0, tolerance=1e-12)
        errors.append(np.abs(dy.simulate(model, state, 1.0).final.pose - exact).max())
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 10.0, rtol=0.1)
