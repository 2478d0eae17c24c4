"""The printed start: x_1 = x_0 + h v_0 by hand, its order, its records, and what it refuses."""

import numpy as np
import pytest

import dynamics as dy
from tests.dynamics.test_step import double_error, orders

H, G = 0.01, 9.81


def falling(form="first order"):
    mechanism = dy.Mechanism(gravity=(0, 0, -G))
    mechanism.add_body(dy.Box(0.1, 0.2, 0.3, mass=2.0), name="box")
    model = mechanism.finalize(H, form=form)
    state = model.initial_state()
    model.set_body(state, "box", velocity=(1, 2, 3), angular_velocity=(4, -5, 6))
    return model, state


def pendulum():
    """A rod of 1 m and 1 kg that hangs from a hinge about y, and its moment of inertia there."""
    mechanism = dy.Mechanism(gravity=(0, 0, -G))
    rod = mechanism.add_body(dy.Box(0.1, 0.1, 1.0, mass=1.0), name="rod")
    hinge = dy.Revolute(mechanism.world, rod, name="hinge", axis=(0, 1, 0), child_point=(0, 0, 0.5))
    mechanism.add_joint(hinge)
    return mechanism.finalize(H, form="first order", tolerance=1e-13)


def test_a_free_fall_is_the_symplectic_euler_method_that_the_paper_prints():
    # x_1 = x_0 + h v_0, then v_k = v_k-1 - h g and x_k+1 = x_k + h v_k
    model, state = falling()
    x, _ = dy.simulate(model, state, 5 * H, start="discrete").body("box")

    k = np.arange(6)
    height = 3 * k * H - G * H**2 * k * (k - 1) / 2
    np.testing.assert_allclose(x, np.column_stack([k * H, 2 * k * H, height]), atol=1e-14)


def test_the_first_turn_is_the_quaternion_of_the_given_angular_velocity():
    model, state = falling()
    _, q = dy.simulate(model, state, H, start="discrete").body("box")

    phi = 0.5 * H * np.array([4.0, -5.0, 6.0])
    np.testing.assert_allclose(q[1], [np.sqrt(1 - phi @ phi), *phi], atol=1e-15)


def test_the_legendre_start_takes_the_kick_of_the_first_node_and_the_printed_one_does_not():
    model, state = falling()
    printed = dy.simulate(model, state, H, start="discrete").body("box")[0]
    legendre = dy.simulate(model, state, H).body("box")[0]

    np.testing.assert_allclose(printed[1] - legendre[1], [0, 0, G * H**2], atol=1e-15)


def test_a_pendulum_at_rest_stays_for_one_interval_and_then_falls_by_its_torque():
    # z_1 = z_0 where v_0 = 0. Then the hinge leaves one freedom: z_2 is turned by the angle a
    # about it, of which (h/2) omega is the sine of the half. With pi^-(omega) about y equal to
    # J omega cos(a / 2), projecting the equations on the freedom at z_1, G(z_1) V = 0, gives
    # (m v + h m g e_z) . t + J omega cos(a / 2) = 0 with t = dx / d angle.
    model, angle = pendulum(), 1.0
    state = model.initial_state()
    model.set_joint(state, "hinge", angle)
    motion = dy.simulate(model, state, 2 * H, start="discrete")
    x, q = motion.body("rod")
    np.testing.assert_array_equal(x[1], x[0])
    np.testing.assert_array_equal(q[1], q[0])

    def centre(a):
        return 0.5 * np.array([-np.sin(a), 0.0, -np.cos(a)])

    inertia = model.mechanism.bodies["rod"].inertia[1, 1]

    def torque_left(turn):
        v = (centre(angle + turn) - centre(angle)) / H
        tangent = 0.5 * np.array([-np.cos(angle), 0.0, np.sin(angle)])
        omega = 2 * np.sin(turn / 2) / H
        weight = H * G * np.array([0.0, 0.0, 1.0])
        return (v + weight) @ tangent + inertia * omega * np.cos(turn / 2)

    low, high = -0.1, 0.1
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if torque_left(middle) < 0 else (low, middle)
    np.testing.assert_allclose(motion.joint("hinge"), [1, 1, 1 + low], atol=1e-12)


def test_a_moving_pendulum_leaves_its_circle_by_the_square_of_the_step_for_one_node():
    # x_1 = x_0 + h v_0 and q_1 turned by 2 asin(h omega / 2): the pin opens by some (h omega)^2 / 4
    model = pendulum()
    state = model.initial_state()
    model.set_joint(state, "hinge", 0.3, velocity=2.0)
    motion = dy.simulate(model, state, 3 * H, start="discrete")
    x, _ = motion.body("rod")
    v = model.velocities(state)[0, :3]
    np.testing.assert_allclose(x[1], x[0] + H * v, rtol=0, atol=1e-16)
    gaps = np.abs([model.constraint_violation(motion[k]) for k in range(4)]).max(axis=1)

    assert 0.2 * (2 * H) ** 2 < gaps[1] < 0.3 * (2 * H) ** 2
    assert max(gaps[0], gaps[2], gaps[3]) < 1e-12


def test_the_printed_start_is_of_first_order_with_the_errors_of_the_prototype():
    errors = [double_error(n, form="first order", start="discrete")[0] for n in (100, 200, 400)]

    np.testing.assert_allclose(errors, [1.68e-2, 8.60e-3, 4.35e-3], rtol=3e-3)
    assert np.abs(orders(np.array(errors)) - 0.98).max() < 0.02


def test_records_controls_and_time_do_not_depend_on_the_start():
    model, state = falling()
    state.time = 2.0
    wrenches = np.zeros((9, 6))
    wrenches[:, 0] = np.arange(9)
    whole = dy.simulate(model, state, 9 * H, start="discrete", wrenches=wrenches)
    third = dy.simulate(model, state, 9 * H, start="discrete", wrenches=wrenches, every=3)

    np.testing.assert_array_equal(third.states, whole.states[::3])
    np.testing.assert_allclose(third.time, 2.0 + 3 * H * np.arange(4))
    # a wrench acts half at each end of its interval: v_1 = v_0 + h (w_0 + w_1) / (2 m)
    v, _ = whole.body_velocity("box")
    np.testing.assert_allclose(v[:4, 0], [1, 1, 1 + H * 0.25, 1 + H * 1.0], atol=1e-13)


def test_the_motion_goes_on_as_uncut_from_any_later_node():
    model, state = falling()
    whole = dy.simulate(model, state, 8 * H, start="discrete")
    part = dy.simulate(model, state, 3 * H, start="discrete")
    rest = dy.simulate(model, part.final, 5 * H)

    np.testing.assert_array_equal(rest.states[-1], whole.states[-1])


def test_a_start_that_makes_no_sense_is_refused_with_a_reason():
    model, state = falling()
    with pytest.raises(ValueError, match="start 'printed' is unknown"):
        dy.simulate(model, state, H, start="printed")
    with pytest.raises(ValueError, match='needs form="first order"'):
        dy.simulate(*falling("second order"), H, start="discrete")
    model.set_body(state, "box", angular_velocity=(0, 201, 0))
    with pytest.raises(ValueError, match="body 'box' turns by h omega = 2.01 in the first"):
        dy.simulate(model, state, H, start="discrete")
