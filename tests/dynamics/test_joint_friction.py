"""Dry friction of joints: a bound on the force along each free axis, which opposes motion."""

import math

import numpy as np
import pytest

import dynamics as dy

G, H, MASS = 9.81, 0.01, 2.0


def slider(friction=3.0, barrier=5e-9, order=2, **options):
    """A box that slides along x, free of gravity."""
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    box = mechanism.add_body(dy.Box(0.1, 0.1, 0.1, mass=MASS), name="box")
    mechanism.add_joint(
        dy.Prismatic(
            mechanism.world, box, (1, 0, 0), name="rail", friction=friction, actuated=True,
            **options,
        )
    )  # fmt: skip
    return mechanism.finalize(H, barrier=barrier, order=order)


def pendulum(barrier=5e-9, contact_tolerance=1e-9, **options):
    mechanism = dy.Mechanism()
    rod = mechanism.add_body(dy.Rod(1.0, radius=0.02, mass=MASS, axis=(1, 0, 0)), name="rod")
    mechanism.add_joint(
        dy.Revolute(
            mechanism.world, rod, (0, 1, 0), child_point=(-0.5, 0, 0), name="hinge", **options
        )
    )
    return mechanism.finalize(H, barrier=barrier, contact_tolerance=contact_tolerance)


@pytest.mark.parametrize("v", [0.5, -0.5])
def test_sliding_box_loses_speed_evenly_and_stops(v):
    model = slider()
    state = model.initial_state()
    model.set_joint(state, "rail", 0.0, v)

    motion = dy.simulate(model, state, 0.6)
    x, f = motion.joint("rail").ravel(), motion.friction("rail").ravel()

    # at F / m = 1.5 m/s^2, for 1/3 s; the barrier lowers F by kappa / (2 h F u), 1e-5 at the end
    slides = motion.time < 0.325
    path = v * motion.time - math.copysign(0.75, v) * motion.time**2
    np.testing.assert_allclose(x[slides], path[slides], atol=1e-6)
    np.testing.assert_allclose(f[slides][2:], -math.copysign(3.0, v), rtol=1e-4)
    # it stops within an interval: the last one is off by an eighth of h^2 F / m at most
    assert abs(x[-1]) == pytest.approx(0.5**2 / 3.0, abs=1.5 * H**2 / 8 + 1e-6)
    assert np.ptp(x[36:]) < 1e-9
    assert motion.energy()[-1] < 1e-15 and np.diff(motion.energy()).max() < 1e-12


@pytest.mark.parametrize("part", [0.5, -0.9, 0.99])
def test_box_sticks_below_the_bound_but_for_the_barrier(part):
    model = slider()

    motion = dy.simulate(model, model.initial_state(), 1.0, controls=[3.0 * part])

    # creep: kappa / (h F (1/r - r))
    r = abs(part)
    creep = model.barrier("rail") / (H * 3.0 * (1.0 / r - r))
    assert abs(motion.joint("rail")[-1]) == pytest.approx(creep, rel=0.02)
    assert motion.friction("rail")[-1, 0] == pytest.approx(-3.0 * part, rel=1e-3)
    assert motion.energy()[-1] < MASS * creep**2


@pytest.mark.parametrize("force", [4.0, -6.0])
def test_box_accelerates_with_what_is_beyond_the_bound(force):
    model = slider()

    motion = dy.simulate(model, model.initial_state(), 1.0, controls=[force])

    # (f - F) / m; the barrier gives back some 1e-5 where it starts
    a = math.copysign(abs(force) - 3.0, force) / MASS
    assert motion.joint("rail")[-1] == pytest.approx(0.5 * a, abs=2e-5)


@pytest.mark.parametrize(("degrees", "sticks"), [(19.9, True), (20.1, False)])
def test_slider_on_an_incline_sticks_below_its_angle(degrees, sticks):
    angle, bound = math.radians(degrees), MASS * G * math.sin(math.radians(20.0))
    mechanism = dy.Mechanism()
    box = mechanism.add_body(dy.Box(0.1, 0.1, 0.1, mass=MASS), name="box")
    axis = (math.cos(angle), 0, -math.sin(angle))
    mechanism.add_joint(dy.Prismatic(mechanism.world, box, axis, name="slope", friction=bound))
    model = mechanism.finalize(H)

    way = dy.simulate(model, model.initial_state(), 2.0).joint("slope")[-1]

    free = 0.5 * 2.0**2 * (G * math.sin(angle) - bound / MASS)
    assert way < 1e-4 if sticks else way == pytest.approx(free, rel=0.01)


def test_amplitude_falls_by_the_same_every_half_swing():
    k, bound = 20.0, 0.4
    model = slider(bound, stiffness=k)
    state = model.initial_state()
    model.set_joint(state, "rail", 0.5)

    x = dy.simulate(model, state, 14.0).joint("rail").ravel()
    turns = [i for i in range(1, len(x) - 1) if (x[i] - x[i - 1]) * (x[i + 1] - x[i]) < 0][:10]

    # 2 F / k a half swing; a peak lies up to h / 2 from a node: x (1 - cos(w h / 2)) = 6e-5
    fall = 0.5 - 2.0 * bound / k * np.arange(1, len(turns) + 1)
    np.testing.assert_allclose(np.abs(x[turns]), fall, atol=2e-4)
    assert len(turns) == 10
    assert abs(x[-1]) < bound / k  # where the spring is too weak for it


def test_hinge_holds_a_rod_up_to_its_torque():
    # level, the rod needs m g l / 2 = 9.81 N m
    for bound, holds in ((9.9, True), (9.7, False)):
        model = pendulum(friction=bound)
        angle = dy.simulate(model, model.initial_state(), 1.0).joint("hinge")[-1]
        assert (abs(angle) < 1e-4) == holds


def test_each_axis_has_its_own_bound():
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    ball = mechanism.add_body(dy.Sphere(0.5, mass=MASS), name="ball")
    mechanism.add_joint(
        dy.FixedOrientation(
            mechanism.world, ball, name="gantry", friction=[1.0, 0.0, 3.0], actuated=True
        )
    )
    model = mechanism.finalize(H)

    motion = dy.simulate(model, model.initial_state(), 1.0, controls=[2.0, 2.0, 2.0])

    np.testing.assert_allclose(motion.joint("gantry")[-1], [0.25, 0.5, 0.0], atol=2e-5)
    np.testing.assert_allclose(motion.friction("gantry")[-1], [-1.0, 0.0, -2.0], atol=1e-4)
    assert motion.contacts == []


def test_friction_between_bodies_changes_no_momentum():
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    a = mechanism.add_body(dy.Box(0.5, 0.1, 0.1, mass=MASS), name="a")
    b = mechanism.add_body(dy.Box(0.5, 0.1, 0.1, mass=1.0), name="b", position=(0.5, 0, 0))
    mechanism.add_joint(
        dy.Revolute(
            a, b, (0, 0, 1), parent_point=(0.25, 0, 0), child_point=(-0.25, 0, 0), name="hinge",
            friction=0.05, limits=[(-2.0, 2.0)],
        )
    )  # fmt: skip
    model = mechanism.finalize(H)
    state = model.initial_state()
    model.set_body(state, "a", angular_velocity=(0, 0, 1.0))
    model.set_joint(state, "hinge", 0.0, 2.0)

    motion = dy.simulate(model, state, 2.0)

    np.testing.assert_allclose(motion.momentum() - motion.momentum()[0], 0.0, atol=1e-9)
    # it has stopped to turn, but for the creep at that part of the bound
    r = np.abs(motion.friction("hinge")[150:]).max() / 0.05
    creep = model.barrier("hinge") / (H * 0.05 * (1.0 / r - r))
    assert np.ptp(motion.joint("hinge")[150:]) < 1.01 * 50 * H * creep
    assert motion.contacts == ["hinge"]


@pytest.mark.parametrize(
    ("angle", "rate", "steps"), [(0.3, 2.0, 1), (1.2, 0.0, 20), (0.3, -1.0, 5)]
)
def test_slopes_of_steps_with_friction_are_those_of_differences(angle, rate, steps):
    # kappa = 1e-4: slopes change over speeds of kappa / (h F) = 2e-3
    # differences over e = 5e-3 N m of positions of 1e-7 m need solutions beyond the usual tolerance
    model = pendulum(barrier=1e-4, contact_tolerance=1e-12, friction=5.0, actuated=True)
    state = model.initial_state()
    model.set_joint(state, "hinge", angle, rate)
    for _ in range(steps):
        state, _ = model.step(state, [0.1])

    A, B = dy.linearize(model, state, [0.1])
    base, _ = model.step(state, [0.1])

    def after(force):
        return model.step(state, [0.1 + force])[0].pose[0, :3]

    # by the control: central differences to the fourth order, over 1e-3 of the bound
    e = 5e-3
    slope = (8 * (after(e) - after(-e)) - (after(2 * e) - after(-2 * e))) / (12 * e)
    np.testing.assert_allclose(B[:3, 0], slope, atol=1e-4 * abs(slope).max())
    assert abs(slope).max() > 0.0 and np.isfinite(A).all() and base.pose.shape == (1, 7)


def test_stopping_way_changes_with_friction_as_the_formula_says():
    model = slider()
    state = model.initial_state()
    model.set_joint(state, "rail", 0.0, 0.5)

    found = dy.sensitivity(model, state, 0.3, [("rail", "friction")])

    # x = v t - F t^2 / 2 m while it slides
    assert found.poses[-1, 0, 0, 0] == pytest.approx(-(0.3**2) / (2.0 * MASS), rel=1e-4)


@pytest.mark.parametrize(
    ("friction", "message"),
    [(-1.0, "friction of joint 'rail' is negative"), (math.nan, "friction of joint 'rail' must")],
)
def test_friction_that_makes_no_sense_is_refused(friction, message):
    with pytest.raises(ValueError, match=message):
        slider(friction)


@pytest.mark.parametrize("order", [4, 6])
def test_friction_needs_order_two(order):
    with pytest.raises(ValueError, match="friction of joint 'rail' needs order=2"):
        slider(order=order)


def test_other_equations_are_refused_of_a_variant_and_other_bounds_taken():
    model = slider()
    assert dy.variant(model, {"rail": {"friction": 2.0}}).mechanism.joints["rail"].friction == 2.0
    with pytest.raises(ValueError, match="cannot become"):
        dy.variant(model, {"rail": {"friction": 0.0}})
    with pytest.raises(ValueError, match="negative"):
        dy.variant(model, {"rail": {"friction": -1.0}})


def test_what_has_no_friction_is_named():
    model = slider()
    motion = dy.simulate(model, model.initial_state(), 0.01)
    with pytest.raises(dy.UnknownNameError, match="no joint 'box' with friction"):
        motion.friction("box")
