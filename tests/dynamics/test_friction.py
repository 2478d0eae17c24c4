"""Friction: angle, cone, torsional and rolling, none."""

import math

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.kernels.contacts.central_path import cone_path

from .grounds import G, H, cube, single


@pytest.mark.parametrize("degrees", [-0.1, 0.1])
def test_box_on_an_incline_sticks_below_and_slides_above_the_friction_angle(degrees):
    angle = math.atan(0.5) + math.radians(degrees)
    normal = np.array([math.sin(angle), 0.0, math.cos(angle)])
    mechanism = dy.Mechanism()
    box = mechanism.add_body(
        cube(), name="box", position=0.25000001 * normal,
        orientation=rotation.from_axis_angle((0, 1, 0), angle),
    )  # fmt: skip
    ground = dy.HalfSpace(normal=normal)
    mechanism.add_contact(box, against_shape=ground, friction=0.5, name="touch")
    model = mechanism.finalize(H)
    state = model.initial_state()

    moved = np.linalg.norm(dy.simulate(model, state, 5.0).final.pose[0, :3] - state.pose[0, :3])

    if degrees < 0.0:
        # the barrier lets it creep: head (eta0^2 - eta^2) = kappa eta0, |beta| = head eta / eta0
        head, part = 0.5 * G * math.cos(angle) * H / 4.0, math.tan(angle) / 0.5
        creep = model.barrier("touch") / head / (1.0 / part - part)
        assert moved == pytest.approx(5.0 * creep, rel=0.01)
    else:
        # and speeds it up by about 4 kappa / (h eta) as it starts
        slope = G * (math.sin(angle) - 0.5 * math.cos(angle))
        assert moved == pytest.approx(0.5 * slope * 25.0, rel=0.02)


def test_friction_force_stays_in_its_cone_and_balances_the_slope():
    angle = math.atan(0.3)
    normal = np.array([0.0, -math.sin(angle), math.cos(angle)])
    model = single(
        dy.Box(0.5, 0.5, 0.5, mass=2.0), 0.3 * normal, against=dy.HalfSpace(normal=normal),
        friction=0.5,
    )  # fmt: skip
    state = model.initial_state()
    model.set_body(state, "body", orientation=rotation.from_axis_angle((1, 0, 0), angle))

    touch = dy.simulate(model, state, 3.0).contact("touch")
    total = touch.normal_force[-1] @ touch.normal[-1] + touch.friction_force[-1].sum(axis=0)

    np.testing.assert_allclose(total, (0, 0, 2.0 * G), atol=1e-6)
    size = np.linalg.norm(touch.friction_force, axis=2)
    assert (size <= 0.5 * touch.normal_force).all()


def spin_or_roll(friction, omega, velocity=(0, 0, 0)):
    model = single(dy.Sphere(0.25, mass=1.0), (0, 0, 0.25 + 1e-9), friction=0.5, **friction)
    state = model.initial_state()
    model.set_body(state, "body", velocity=velocity, angular_velocity=omega)
    return dy.simulate(model, state, 2.0)


def test_torsional_friction_stops_a_spinning_sphere_in_time():
    motion = spin_or_roll({"torsional": 0.01}, (0, 0, 4.0))
    spin = motion.body_velocity("body")[1][:, 2]

    # J w = torsional m g t, J = 0.4 m r^2
    stop = 0.4 * 0.25**2 * 4.0 / (0.01 * G)
    # at a node it is the velocity before that node's impulse: half a step's behind
    before = (motion.time > 0.0) & (motion.time < stop - H)
    wanted = 4.0 * (1 - (motion.time[before] - 0.5 * H) / stop)
    np.testing.assert_allclose(spin[before], wanted, atol=1e-4)
    assert np.abs(spin[motion.time > stop + 2 * H]).max() < 2e-3


def test_rolling_friction_stops_a_rolling_sphere_in_time():
    motion = spin_or_roll({"rolling": 0.01}, (0, 2.0, 0), (0.5, 0, 0))
    spin = motion.body_velocity("body")[1][:, 1]

    # about the point of contact: 7/5 m r^2 w = rolling m g t
    stop = 1.4 * 0.25**2 * 2.0 / (0.01 * G)
    before = motion.time < stop - H
    assert stop < 1.9
    np.testing.assert_allclose(spin[before], 2.0 * (1 - motion.time[before] / stop), atol=2e-2)
    assert np.abs(spin[motion.time > stop + 4 * H]).max() < 2e-3


def test_without_friction_nothing_slows_a_sliding_box():
    model = single(cube(), (0, 0, 0.25 + 4e-9), friction=0.0)
    state = model.initial_state()
    model.set_body(state, "body", velocity=(1.5, -0.5, 0.0))

    v, _ = dy.simulate(model, state, 2.0).body_velocity("body")

    np.testing.assert_allclose(v[:, :2], [[1.5, -0.5]] * len(v), atol=1e-12)


def test_points_of_the_central_path_of_a_cone():
    """From what sticks deep inside to what slides, and close to where both meet."""
    rng = np.random.default_rng(0)
    for head, kappa, mass in 10.0 ** rng.uniform((-8, -8, -3), (2, 0, 2), (2000, 3)):
        size = head * (1.0 + rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-12, 0))
        if rng.random() < 0.5:
            size = 10.0 ** rng.uniform(-12, 3)
        z = size * np.array([0.6, -0.8])

        b0, b1, heat, x, y = cone_path(head, kappa / head, mass, *z)

        beta, eta = np.array([b0, b1]), np.array([x, y])
        speed = np.linalg.norm(eta)
        # Newton's method ends with a step of 1e-6, whose square is left
        assert np.linalg.norm(beta - mass * eta - z) <= 1e-11 * size
        # rounding of eta0 - |eta|, and of (eta0 - |eta|) (eta0 + |eta|)
        assert heat * heat - speed * speed == pytest.approx(
            kappa / head * heat, rel=1e-12, abs=1e-14 * heat * heat
        )
        assert heat * beta == pytest.approx(-head * eta, rel=1e-12, abs=1e-14 * heat * size)


@pytest.mark.parametrize("friction", [1e3, 1e14])
def test_coefficients_as_large_as_files_write_them_stick(friction):
    """Gazebo's files mean "does not slide" by 1e14; beyond 1000 it is no more than that."""
    mechanism = dy.Mechanism()
    shape = dy.Sphere(0.1, mass=1.0)
    ball = mechanism.add_body(shape, name="ball", position=(0, 0, 0.1))
    mechanism.add_contact(ball, friction=friction)
    model = mechanism.finalize(H)
    state = model.initial_state()
    model.set_body(state, "ball", velocity=(1, 0, 0))

    after = dy.simulate(model, state, 1.0).final

    # it rolls from the first step on: m v r = (m r^2 + J) omega about the ground, J = 2/5 m r^2
    assert after.pose[0, 0] == pytest.approx(1.0 / 1.4, abs=H)


#: What the barrier takes off the friction of a box: barrier / (friction force * way of a step),
#: 5e-9 J / (1.2 N * 1e-3 m) at each corner, and more in the first steps.
SMOOTH = 1e-3


def sliding_box():
    """A box of 1 m/s on a floor with a coefficient of friction of 0.5."""
    mech = dy.Mechanism()
    box = mech.add_body(dy.Box(0.2, 0.2, 0.2, mass=1.0), name="box", position=(0, 0, 0.1))
    mech.add_contact(box, shape=box.shape, friction=0.5, name="floor")
    model = mech.finalize(1e-3)
    state = model.initial_state()
    model.set_body(state, "box", velocity=(1.0, 0.0, 0.0))
    return model, state


def braking(motion):
    """Acceleration of the box between its second and last record."""
    speeds = motion.body_velocity("box")[0][:, 0]
    return (speeds[-1] - speeds[1]) / (motion.time[-1] - motion.time[1])


@pytest.mark.parametrize("part", [0.3, 0.7])
def test_a_part_of_the_friction_brakes_by_that_part(monkeypatch, part):
    monkeypatch.setattr("dynamics.model.SOFTER", ((1.0, part),))
    model, state = sliding_box()
    with pytest.warns(RuntimeWarning, match="100 of 100 steps were solved with less friction"):
        motion = dy.simulate(model, state, 0.1)
    assert braking(motion) == pytest.approx(-part * 0.5 * 9.81, rel=SMOOTH)
    assert model.step(motion.final)[1].friction == part


def test_steps_with_less_friction_are_counted_and_warned_of(monkeypatch):
    """Nothing is solved with a friction that is no number."""
    monkeypatch.setattr("dynamics.model.SOFTER", ((1.0, np.nan), (2.0, 0.7)))
    model, state = sliding_box()
    with pytest.warns(RuntimeWarning, match="10 of 10 steps were solved with less friction"):
        motion = dy.simulate(model, state, 0.01)
    assert motion.info["softened"] == motion.info["less_friction"] == 10
    assert braking(motion) == pytest.approx(-0.7 * 0.5 * 9.81, rel=SMOOTH)
    info = model.step(motion.final)[1]
    assert (info.softening, info.friction) == (2.0, 0.7)
