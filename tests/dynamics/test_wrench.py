"""Forces by functions of the user: by hand, of second order, equal and opposite, refused."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.zoo import double_pendulum

X, Y, Z = np.eye(3)


def ball(wrench, gravity=(0.0, 0.0, 0.0), **options):
    mechanism = dy.Mechanism(gravity=gravity)
    body = mechanism.add_body(mass=2.0, inertia=[1.0, 2.0, 3.0], name="ball")
    mechanism.add_force(dy.Wrench(body, wrench, name="push", **options))
    return mechanism


def test_a_constant_force_makes_a_parabola():
    # x = (1/2) (F/m) t^2 at every node, whatever the step; the turn about z likewise, J = 3
    model = ball(lambda t, z, u: [4.0, 0.0, 0.0, 0.0, 0.0, 0.3]).finalize(0.1)
    motion = dy.simulate(model, model.initial_state(), 1.0)
    position, orientation = motion.body("ball")
    np.testing.assert_allclose(position[:, 0], motion.time**2, atol=1e-14)
    angle = 2.0 * np.arctan2(orientation[:, 3], orientation[:, 0])
    # a step turns by 2 arcsin(h omega / 2): third order in h omega <= 0.01
    np.testing.assert_allclose(angle, 0.05 * motion.time**2, atol=1e-6)


def test_the_time_is_that_of_the_nodes():
    times = []

    def wrench(t, pose, twist):
        times.append(t)
        return np.zeros(6)

    model = ball(wrench).finalize(0.25)
    state = model.initial_state()
    state.time = 3.0
    state, _ = model.step(state)
    assert set(times) == {3.0, 3.25}
    dy.simulate(model, state, 0.5)
    assert set(times) == {3.0, 3.25, 3.5, 3.75}


def test_friction_of_air_is_of_second_order():
    # m v' = -c v |v| and gravity: v = -v_end tanh(g t / v_end), x its integral
    c, g, mass = 3.0, 9.81, 2.0

    def drag(t, pose, twist):
        return [*(-c * np.linalg.norm(twist[:3]) * twist[:3]), 0.0, 0.0, 0.0]

    def slope(t, pose, twist):
        v = twist[:3]
        speed = max(np.linalg.norm(v), 1e-300)
        out = np.zeros((6, 6))
        out[:3, :3] = -c * (speed * np.eye(3) + np.outer(v, v) / speed)
        return out

    end = np.sqrt(mass * g / c)
    exact = -(end**2) / g * np.log(np.cosh(g / end))
    errors, iterations = [], []
    for jacobian in (None, slope):
        for h in (0.02, 0.01, 0.005):
            model = ball(drag, (0.0, 0.0, -g), jacobian=jacobian).finalize(h)
            motion = dy.simulate(model, model.initial_state(), 1.0)
            errors.append(motion.body("ball")[0][-1, 2] - exact)
            iterations.append(motion.info["iterations"])
    orders = np.log2(np.array(errors[:2]) / np.array(errors[1:3]))
    np.testing.assert_allclose(orders, 2.0, atol=0.05)
    np.testing.assert_allclose(errors[3:], errors[:3], atol=1e-9)  # the same equations
    assert sum(iterations[3:]) < sum(iterations[:3])


def test_what_a_spring_does_a_wrench_does_too():
    # a spring of 30 N/m and a damper between two points, by hand and by the table of rows
    def motion(by_hand):
        mechanism = dy.Mechanism()
        bodies = [
            mechanism.add_body(
                dy.Box(0.3, 0.2, 0.1, mass=1.0 + i), name=i, position=[0.7 * i, 0, 0]
            )
            for i in range(2)
        ]
        points = np.array([[0.1, 0.05, 0.0], [-0.1, 0.0, 0.05]])

        def pull(t, za, zb, ua, ub):
            arms = [rotation.rotate(z[3:], p) for z, p in zip((za, zb), points)]
            gap = zb[:3] + arms[1] - za[:3] - arms[0]
            length = np.linalg.norm(gap)
            speeds = [
                u[:3] + rotation.rotate(z[3:], np.cross(u[3:], p))
                for z, u, p in zip((za, zb), (ua, ub), points)
            ]
            rate = gap @ (speeds[1] - speeds[0]) / length
            force = -(30.0 * (length - 0.5) + 2.0 * rate) * gap / length
            torque = np.cross(points[1], rotation.rotate(rotation.conjugate(zb[3:]), force))
            return [*force, *torque]

        if by_hand:
            mechanism.add_force(dy.Wrench(bodies[1], pull, parent=bodies[0]))
        else:
            ends = {"parent_point": points[0], "child_point": points[1]}
            mechanism.add_force(dy.Spring(*bodies, 30.0, 2.0, 0.5, **ends))
        model = mechanism.finalize(0.01)
        return dy.simulate(model, model.initial_state(), 1.0)

    one, other = motion(True), motion(False)
    # both solve to 1e-10 in 100 steps
    np.testing.assert_allclose(one.states[:, :14], other.states[:, :14], atol=1e-8)
    momentum = one.momentum()
    fall = np.outer(one.time, [0.0, 0.0, -9.81 * 3.0])
    np.testing.assert_allclose(momentum[:, :3], fall, atol=1e-9)


def test_a_potential_of_ones_own_keeps_the_energy():
    # V = m g z as a function, instead of gravity: the same motion and the same energy
    def height(za, zb):
        return 9.81 * zb[2], np.array([0, 0, 0, 0, 0, 0, 0, 0, 9.81, 0, 0, 0])

    model, state = double_pendulum()
    mechanism = dy.Mechanism(gravity=np.zeros(3))
    mechanism.bodies, mechanism.joints = model.mechanism.bodies, model.mechanism.joints
    for body in mechanism.bodies.values():
        assert body.mass == 1.0
        mechanism.add_force(dy.Potential(body, height))
    own = mechanism.finalize(model.timestep)
    one = dy.simulate(own, own.state_of(state.data.copy()), 2.0)
    other = dy.simulate(model, state, 2.0)
    np.testing.assert_allclose(one.states[:, :14], other.states[:, :14], atol=1e-8)
    np.testing.assert_allclose(one.energy(), other.energy(), atol=1e-7)


def test_a_ball_bounces_under_a_wrench_as_under_gravity():
    heights = []
    for own in (False, True):
        mechanism = dy.Mechanism(gravity=(0.0, 0.0, 0.0 if own else -9.81))
        body = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="b", position=[0.0, 0.0, 0.5])
        mechanism.add_contact(body)
        if own:
            mechanism.add_force(dy.Wrench(body, lambda t, z, u: [0, 0, -9.81, 0, 0, 0]))
        model = mechanism.finalize(0.01)
        heights.append(dy.simulate(model, model.initial_state(), 0.6).body("b")[0][:, 2])
    np.testing.assert_allclose(*heights, atol=1e-6)


@pytest.mark.parametrize(
    ("wrench", "message"),
    [
        (lambda t, z, u: np.full(6, np.nan), "wrench 'push' gave values that are not finite"),
        (lambda t, z, u: np.zeros(3), r"wrench 'push' has shape \(3,\)"),
        (lambda t, z, u: 1 / 0, "division by zero"),
    ],
)
def test_what_is_no_wrench_ends_the_step(wrench, message):
    model = ball(wrench).finalize()
    state = model.initial_state()
    before = state.data.copy()
    with pytest.raises((ValueError, ZeroDivisionError), match=message):
        model.step(state)
    np.testing.assert_array_equal(state.data, before)


def test_bad_forces_are_refused():
    mechanism = dy.Mechanism()
    body = mechanism.add_body(dy.Box(1.0, 1.0, 1.0, mass=1.0), name="b")
    with pytest.raises(TypeError, match="wrench 'w' needs a function"):
        dy.Wrench(body, 3.0, name="w")
    with pytest.raises(ValueError, match="acts on the world"):
        dy.Wrench(mechanism.world, np.zeros, parent=body)
    with pytest.raises(ValueError, match="joins 'b' with itself"):
        dy.Potential(body, np.zeros, parent=body)
    mechanism.add_force(dy.Wrench(body, lambda t, z, u: np.zeros(6), name="w"))
    with pytest.raises(ValueError, match="which may lose energy; compositions"):
        dy.compose(mechanism.finalize(), "suzuki4")
