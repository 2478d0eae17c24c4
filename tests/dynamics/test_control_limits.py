"""Limits of controls: what a motor cannot give is cut, wherever the command comes from."""

import math

import numpy as np
import pytest

import dynamics as dy

G, H, MASS = 9.81, 0.01, 2.0


def slider(order=2, **options):
    """A box that slides along x, free of gravity."""
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    box = mechanism.add_body(dy.Box(0.1, 0.1, 0.1, mass=MASS), name="box")
    mechanism.add_joint(
        dy.Prismatic(mechanism.world, box, (1, 0, 0), name="rail", actuated=True, **options)
    )
    return mechanism.finalize(H, order=order)


@pytest.mark.parametrize("order", [2, 4, 6])
@pytest.mark.parametrize(("control", "given"), [(10.0, 3.0), (-10.0, -1.0), (2.0, 2.0)])
def test_box_accelerates_with_what_its_motor_gives(order, control, given):
    model = slider(order, control_limits=[(-1.0, 3.0)])

    motion = dy.simulate(model, model.initial_state(), 1.0, controls=[control])

    # x = f t^2 / 2 m is a quadratic, which every order integrates to round-off
    x = given * motion.time**2 / (2.0 * MASS)
    np.testing.assert_allclose(motion.joint("rail").ravel(), x, atol=1e-12)
    np.testing.assert_array_equal(motion.controls, [[control]])  # the command stays what it was


def test_command_of_a_controller_is_cut():
    model = slider(control_limits=[(-1.0, 3.0)])

    motion = dy.simulate(model, model.initial_state(), 1.0, controller=lambda state, time: [1e3])

    assert motion.joint("rail").ravel()[-1] == pytest.approx(3.0 / (2.0 * MASS), abs=1e-12)


def test_limits_act_along_each_axis_by_itself():
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    ball = mechanism.add_body(dy.Sphere(0.5, mass=MASS), name="ball")
    mechanism.add_joint(
        dy.FixedOrientation(
            mechanism.world, ball, name="gantry", actuated=True,
            control_limits=[(-1, 1), (-math.inf, 2), (-math.inf, math.inf)],
        )
    )  # fmt: skip
    model = mechanism.finalize(H)

    motion = dy.simulate(model, model.initial_state(), 1.0, controls=[-5.0, 5.0, 5.0])

    expected = np.array([-1.0, 2.0, 5.0]) / (2.0 * MASS)
    np.testing.assert_allclose(motion.joint("gantry")[-1], expected, atol=1e-12)


def test_winch_gives_no_more_than_its_limit():
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    ball = mechanism.add_body(dy.Sphere(0.1, mass=MASS), name="ball", position=(1, 0, 0))
    mechanism.add_force(
        dy.Spring(
            mechanism.world, ball, name="winch", actuated=True, control_limits=(-math.inf, 0.5)
        )
    )
    model = mechanism.finalize(H)

    motion = dy.simulate(model, model.initial_state(), 1.0, controls=[4.0])

    assert motion.body("ball")[0][-1, 0] == pytest.approx(1.0 + 0.5 / (2.0 * MASS), abs=1e-12)


@pytest.mark.parametrize("order", [4, 6])
def test_steps_of_higher_order_keep_theirs_with_a_motor_at_its_limit(order):
    def end(steps):
        mechanism = dy.Mechanism()
        rod = mechanism.add_body(dy.Rod(1.0, radius=0.02, mass=MASS, axis=(1, 0, 0)), name="rod")
        mechanism.add_joint(
            dy.Revolute(
                mechanism.world, rod, (0, 1, 0), child_point=(-0.5, 0, 0), name="hinge",
                actuated=True, control_limits=[(-4.0, 4.0)],
            )
        )  # fmt: skip
        options = {"order": order, "largest_turn": 10.0, "energy_audit": "off"}  # coarse steps
        model = mechanism.finalize(1.0 / steps, **options)
        return dy.simulate(model, model.initial_state(), 1.0, controls=[-50.0]).joint("hinge")[-1]

    coarse, middle, fine = (end(steps) for steps in (5, 10, 20))

    # errors are those of the middle and coarse run but for 2^-order
    assert math.log2(abs((coarse - middle) / (middle - fine)).item()) > order - 0.5


@pytest.mark.parametrize("control", [0.4, -0.4, 7.0, -7.0])
def test_slope_of_a_step_is_none_where_the_command_is_cut(control):
    mechanism = dy.Mechanism()
    rod = mechanism.add_body(dy.Rod(1.0, radius=0.02, mass=MASS, axis=(1, 0, 0)), name="rod")
    mechanism.add_joint(
        dy.Revolute(
            mechanism.world, rod, (0, 1, 0), child_point=(-0.5, 0, 0), name="hinge",
            actuated=True, control_limits=[(-1.0, 2.0)],
        )
    )  # fmt: skip
    model = mechanism.finalize(H)
    state = model.initial_state()
    model.set_joint(state, "hinge", 0.3, 0.7)

    def after(angle, rate, force):
        moved = state.copy()
        model.set_joint(moved, "hinge", 0.3 + angle, 0.7 + rate)
        end, _ = model.step(moved, [control + force])
        return np.concatenate(model.joint(end, "hinge"))

    A, B = dy.linearize(model, state, [control], coordinates="joint")

    eps = 1e-4  # central differences: eps^2, and 1e-10 of the solver over eps
    found = np.column_stack([(after(*way) - after(*-way)) / (2 * eps) for way in eps * np.eye(3)])
    np.testing.assert_allclose(np.hstack([A, B]), found, atol=1e-5)
    assert (B == 0.0).all() == (abs(control) > 2.0)


@pytest.mark.parametrize("limits", [[(1.0, 0.0)], [(0.0, math.nan)], [(0.0, 1.0)] * 2])
def test_limits_out_of_order_are_refused(limits):
    with pytest.raises(ValueError, match="control_limits of joint 'rail' must be 1 pair "):
        slider(control_limits=limits)


def test_limits_of_what_has_no_controls_are_refused():
    mechanism = dy.Mechanism()
    box = mechanism.add_body(dy.Box(0.1, 0.1, 0.1, mass=MASS), name="box")
    with pytest.raises(ValueError, match="'rail' has control_limits but no controls"):
        dy.Prismatic(mechanism.world, box, (1, 0, 0), name="rail", control_limits=[(-1, 1)])
    for options in ({}, {"actuated": True, "limits": None}):
        with pytest.raises(ValueError, match="control_limits of spring 'winch' must be"):
            dy.Spring(mechanism.world, box, name="winch", control_limits=(2.0, math.nan), **options)


def test_a_command_that_is_no_number_is_not_taken_for_a_limit():
    model = slider(control_limits=[(-1.0, 3.0)])

    with pytest.raises((ValueError, dy.ConvergenceError)):
        dy.simulate(model, model.initial_state(), 0.1, controller=lambda state, time: [math.nan])
