"""Velocity limits of joints: one-sided constraints on rates, by the machinery of contacts."""

import math

import numpy as np
import pytest

import dynamics as dy
from dynamics.kinematics.coordinates import free_velocities
from dynamics.kinematics.momenta import momenta

from .test_contact_gradients import CLOSE, model_of, moved, read, run, slope_errors
from .test_linearization import differences, error

G, H = 9.81, 0.01


def lift(mass=3.0, **options):
    """A box that slides up and down on the world."""
    mechanism = dy.Mechanism()
    box = mechanism.add_body(dy.Box(0.1, 0.1, 0.1, mass=mass), name="box")
    mechanism.add_joint(
        dy.Prismatic(mechanism.world, box, (0, 0, 1), name="lift", actuated=True, **options)
    )
    return mechanism.finalize(H)


def speeds(motion, name):
    """Velocities of the intervals."""
    return np.diff(motion.joint(name).reshape(len(motion))) / H


def test_falling_box_goes_on_at_the_velocity_limit():
    model = lift(velocity_limits=[(-0.5, 2.0)])

    motion = dy.simulate(model, model.initial_state(), 1.0)
    v = speeds(motion, "lift")

    # u_k = -(k + 1/2) g h until 0.5 m/s, after 5 intervals; then barrier / (h m g) above the limit
    np.testing.assert_allclose(v[:5], -G * H * (np.arange(5) + 0.5), atol=1e-6)
    assert v.min() > -0.5
    left = model.barrier("lift") / (H * 3.0 * G)
    assert v[-1] + 0.5 == pytest.approx(left, rel=1e-3)
    touch = motion.contact("lift")
    assert touch.normal_force[-1, 0] == pytest.approx(3.0 * G, rel=1e-6)
    assert touch.gap[-1, 0] == pytest.approx(left, rel=1e-3)


def test_reported_velocities_are_those_that_the_limit_allows():
    # momenta at the end of an interval hold half of its weight, which the limit takes up
    model = lift(velocity_limits=[(-0.5, 2.0)])
    motion = dy.simulate(model, model.initial_state(), 1.0)
    left = model.barrier("lift") / (H * 3.0 * G)
    assert motion.joint_velocity("lift")[-90:] == pytest.approx(-0.5, abs=2.0 * left)
    assert model.joint(motion.final, "lift")[1] == pytest.approx(-0.5, abs=2.0 * left)


def test_with_error_control_a_velocity_limit_is_no_series_of_impacts():
    model = lift(velocity_limits=[(-0.5, 2.0)])
    motion = dy.simulate(model, model.initial_state(), 1.0, accuracy=1e-4)
    assert motion.info["unresolved_impacts"] == 0
    # falls freely for 0.5 / g seconds, then at 0.5 m/s
    fallen = 0.5 * (1.0 - 0.5 / G) + 0.5 * 0.5**2 / G
    assert motion.joint("lift")[-1] == pytest.approx(-fallen, abs=1e-4)
    (event,) = motion.events
    assert event.name == "lift" and event.kind == "closes"


def test_rods_of_which_one_is_held_at_its_rate_reach_the_accuracy():
    mechanism, last = dy.Mechanism(), None
    for k in range(2):
        rod = mechanism.add_body(dy.Box(0.1, 0.1, 0.4, mass=1.0), name=k)
        mechanism.add_joint(
            dy.Revolute(
                last or mechanism.world, rod, (0, 1, 0), child_point=(0, 0, 0.2),
                parent_point=(0, 0, -0.2 if last else 0.0), name=f"hinge {k}",
                velocity_limits=[(-0.5, 0.5)] if last else None,
            )
        )  # fmt: skip
        last = rod
    model = mechanism.finalize(H)
    state = model.initial_state()
    model.set_joint(state, "hinge 0", 1.0)
    motion, exact = (dy.simulate(model, state, 0.3, accuracy=one) for one in (1e-5, 1e-7))
    # the error may be the accuracy times the time, and 0.1 s of it for each event
    assert motion.joint("hinge 1")[-1] == pytest.approx(exact.joint("hinge 1")[-1], abs=5e-6)
    assert [event.kind for event in motion.events] == ["closes", "opens"]


def test_upper_velocity_limit_holds_against_a_drive():
    model = lift(velocity_limits=[(-math.inf, 0.8)])

    motion = dy.simulate(model, model.initial_state(), 1.0, controls=[100.0])

    assert speeds(motion, "lift").max() < 0.8
    assert motion.contact("lift").normal_force[-1, 0] == pytest.approx(100.0 - 3.0 * G, rel=1e-6)


def test_ratchet_never_turns_back():
    mechanism = dy.Mechanism()
    rod = mechanism.add_body(dy.Rod(1.0, radius=0.02, mass=2.0, axis=(1, 0, 0)), name="rod")
    mechanism.add_joint(
        dy.Revolute(
            mechanism.world, rod, (0, 1, 0), child_point=(-0.5, 0, 0),
            velocity_limits=[(0.0, math.inf)], name="hinge",
        )
    )  # fmt: skip
    model = mechanism.finalize(H)

    angle = dy.simulate(model, model.initial_state(), 3.0).joint("hinge")

    # it swings past the lowest point up to where it would turn, and stays there
    assert np.diff(angle, axis=0).min() > 0.0
    assert angle[-1] == pytest.approx(math.pi, abs=0.02)


def test_limits_of_spherical_joints_bound_each_rate():
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    ball = mechanism.add_body(dy.Sphere(0.5, mass=2.0), name="ball")
    mechanism.add_joint(
        dy.Spherical(
            mechanism.world, ball, name="socket", velocity_limits=[(-1, 1), (-2, 2), (-3, 3)]
        )
    )
    model = mechanism.finalize(H)
    state = model.initial_state()
    model.set_body(state, "ball", angular_velocity=(1.5, -1.0, 0.0))

    _, omega = dy.simulate(model, state, 0.1).body_velocity("ball")

    # an even ball, J = 0.2 kg m^2: the rate beyond its limit is lost, the others stay; the barrier
    # pushes off what nothing presses on, by J ds = kappa / s a step
    assert 0.0 < 1.0 - omega[-1, 0] < math.sqrt(2.0 * 11 * model.barrier("socket") / 0.2)
    np.testing.assert_allclose(omega[-1, 1:], (-1.0, 0.0), atol=1e-5)


@pytest.mark.parametrize("limits", [[(1.0, 0.0)], [(0.0, math.nan)], [(0.0, 1.0)] * 2])
def test_velocity_limits_out_of_order_are_refused(limits):
    with pytest.raises(ValueError, match="velocity_limits of joint 'lift' must be 1 pair "):
        lift(velocity_limits=limits)


def test_velocity_limits_that_exclude_the_limits_do_not_converge():
    # it has to rise by 0.1 m/s and may not pass 5 mm
    model = lift(limits=[(-1.0, 0.005)], velocity_limits=[(0.1, 1.0)])

    with pytest.raises(dy.ConvergenceError):
        dy.simulate(model, model.initial_state(), 0.2)


def test_velocity_limits_need_order_two():
    mechanism = lift(velocity_limits=[(-1.0, 1.0)]).mechanism

    with pytest.raises(ValueError, match="limits of joint 'lift' need order=2"):
        mechanism.finalize(H, order=4)


def held_lift():
    mechanism = lift(velocity_limits=[(-0.5, 2.0)]).mechanism
    model = model_of(mechanism, tolerance=1e-12)
    return model, run(model, model.initial_state(), 30, [0.3])


def held_arm(least=-math.inf, most=1.0):
    """A rod on a hinge, and one on a ball joint behind it, all rates limited."""
    mechanism = dy.Mechanism()
    rod = mechanism.add_body(dy.Rod(1.0, radius=0.02, mass=2.0, axis=(1, 0, 0)), name="rod")
    more = mechanism.add_body(dy.Rod(0.5, radius=0.02, mass=1.0, axis=(1, 0, 0)), name="more")
    mechanism.add_joint(
        dy.Revolute(
            mechanism.world, rod, (0, 1, 0), child_point=(-0.5, 0, 0), actuated=True, name="hinge",
            velocity_limits=[(least, most)],
        )
    )  # fmt: skip
    mechanism.add_joint(
        dy.Spherical(
            rod, more, parent_point=(0.5, 0, 0), child_point=(-0.25, 0, 0), name="ball",
            velocity_limits=[(-0.5, 0.5), (-0.6, 0.6), (-0.7, 0.7)],
        )
    )  # fmt: skip
    model = model_of(mechanism, tolerance=1e-12)
    return model, run(model, model.initial_state(), 25, [0.3])


def stopped_arm():
    """Held by a limit of 0."""
    return held_arm(most=0.0)


@pytest.mark.parametrize("scene", [held_lift, held_arm, stopped_arm])
def test_a_step_at_a_velocity_limit_is_linearized_exactly(scene):
    # the bound of `test_contact_gradients`: a speed left of kappa / (h F) = 3e-4 m/s at the least
    assert max(slope_errors(*scene())) < CLOSE


def test_a_motion_onto_a_velocity_limit_is_differentiated_by_a_mass():
    model, _ = held_arm()
    state = moved(model, model.initial_state(), np.zeros(24))
    twist = free_velocities(model, state)

    found = dy.sensitivity(model, state, 0.2, [("rod", "mass")])

    def ended(change):
        other = dy.variant(model, {"rod": {"mass": 2.0 * (1.0 + change[0])}})
        first = state.copy()
        first.momentum[:] = momenta(other.tables, state.pose, twist[None]).reshape(-1, 6)
        return read(other, dy.simulate(other, first, 0.2).final, found.motion.final)

    column = np.concatenate([found.poses[-1], found.velocities], axis=1).reshape(24)
    assert found.motion.contact("hinge").normal_force[-1, 0] > 1.0
    assert error(column, differences(ended, 1, 1e-4)[:, 0] / 2.0) < 10 * CLOSE
