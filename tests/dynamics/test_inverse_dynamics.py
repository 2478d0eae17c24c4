"""Inverse dynamics of joints with dry friction and limits, as robots from files have."""

import re

import numpy as np
import pytest

import dynamics as dy
from dynamics.kinematics.joint_space import JointSpace


def acceleration(model, state, control, name):
    """Of a joint between two nodes, so that friction acts on both sides; extrapolated to h = 0."""
    space = JointSpace(model, [name])
    found = []
    for h in (2e-4, 1e-4):
        fine = model.mechanism.finalize(h, tolerance=1e-13)
        one = fine.step(state, control)[0]
        two = fine.step(one, control)[0]
        found.append((space.read(two)[1] - space.read(one)[1]) / h)
    return 2.0 * found[1] - found[0]


def slider(**options):
    """3 kg on a level rail."""
    mechanism = dy.Mechanism()
    box = mechanism.add_body(dy.Box(0.1, 0.1, 0.1, mass=3.0), name="box")
    rail = dy.Prismatic(mechanism.world, box, (1, 0, 0), name="rail", actuated=True, **options)
    mechanism.add_joint(rail)
    return mechanism.finalize(0.01)


def test_one_number_is_the_acceleration_of_all_coordinates():
    model = slider()
    state = model.initial_state()
    assert dy.inverse_dynamics(model, state, 2.0) == pytest.approx([6.0])
    assert dy.inverse_dynamics(model, state, 0) == pytest.approx([0.0])


def test_accelerations_of_another_number_are_refused_with_the_joints():
    model, state = dy.zoo.double_pendulum()
    names = re.escape(str([name for name in model.mechanism.joints]))
    with pytest.raises(ValueError, match=rf"accelerations of {names} has shape \(3,\).*\(2,\)"):
        dy.inverse_dynamics(model, state, [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("rate", "wanted", "friction"),
    [(0.5, 2.0, 4.0), (-0.5, 2.0, -4.0), (0.0, 2.0, 4.0), (0.0, -2.0, -4.0), (0.0, 0.0, 0.0)],
)
def test_a_motor_overcomes_dry_friction_along_the_rate_or_the_start(rate, wanted, friction):
    model = slider(friction=4.0)
    state = model.initial_state()
    model.set_joint(state, "rail", 0.1, rate)

    force = dy.inverse_dynamics(model, state, [wanted])

    assert force == pytest.approx([3.0 * wanted + friction], rel=1e-14, abs=1e-14)


def arm():
    """Two links with friction; the elbow turns freely."""
    mechanism = dy.Mechanism()
    rod = dy.Rod(1.0, radius=0.02, mass=2.0, axis=(1, 0, 0))
    upper, lower = (mechanism.add_body(rod, name=name) for name in ("upper", "lower"))
    ends = {"child_point": (-0.5, 0, 0), "friction": 0.7}
    hip = dy.Revolute(mechanism.world, upper, (0, 1, 0), name="hip", actuated=True, **ends)
    mechanism.add_joint(hip)
    knee = dy.Revolute(upper, lower, (0, 1, 0), name="knee", parent_point=(0.5, 0, 0), **ends)
    mechanism.add_joint(knee)
    return mechanism.finalize(0.01)


def test_the_step_with_friction_has_the_acceleration_that_was_asked_for():
    model = arm()
    state = model.initial_state()
    model.set_joint(state, "hip", 0.3, 1.5)
    model.set_joint(state, "knee", 0.4, -2.0)

    torque = dy.inverse_dynamics(model, state, [3.0])

    # The barrier kappa lacks kappa / (h v) of the friction, at h = 2e-4 s and 1.5 rad/s, over an
    # inertia of 0.3 kg m^2; the extrapolation makes three times that.
    off = 3.0 * model.barrier("hip") / (2e-4 * 1.5) / 0.3
    assert off < 2e-3
    assert acceleration(model, state, torque, "hip") == pytest.approx([3.0], abs=off)


def test_a_joint_that_friction_may_hold_is_named():
    model = arm()
    state = model.initial_state()
    model.set_joint(state, "hip", 0.3, 1.5)

    with pytest.raises(ValueError, match="joint 'knee' is at rest with dry friction"):
        dy.inverse_dynamics(model, state, [3.0])
    held = dy.inverse_dynamics(model, state, {"hip": 3.0, "knee": 0.0}, ["hip", "knee"])
    assert held.shape == (2,)


@pytest.mark.parametrize("what", ["limits", "velocity_limits"])
def test_joints_at_limits_are_held_without_them(what):
    model, free = slider(**{what: [(-0.2, 0.3)]}), slider()
    state = model.initial_state()
    alone = dy.inverse_dynamics(free, free.initial_state(), [2.0])
    for part in (0.5, 1.0):
        place = {"limits": (0.3 * part, 0.0), "velocity_limits": (0.0, 0.3 * part)}[what]
        model.set_joint(state, "rail", *place)
        assert dy.inverse_dynamics(model, state, [2.0]) == pytest.approx(alone)


def test_an_arm_at_its_limit_is_held_there():
    mechanism = dy.Mechanism()
    rod = mechanism.add_body(dy.Box(0.1, 0.1, 1.0, mass=2.0), name="rod")
    hinge = dy.Revolute(mechanism.world, rod, (0, 1, 0), child_point=(0, 0, 0.5), name="hinge",
                        limits=(-1.0, 0.5), actuated=True)  # fmt: skip
    mechanism.add_joint(hinge)
    model = mechanism.finalize(0.005)
    state = model.initial_state()
    model.set_joint(state, "hinge", 0.5)

    torque = dy.inverse_dynamics(model, state, 0.0)

    assert torque == pytest.approx([2.0 * 9.81 * 0.5 * np.sin(0.5)])
    motion = dy.simulate(model, state, 0.2, controls=torque)
    assert abs(motion.joint("hinge") - 0.5).max() < 1e-3


def test_a_taut_rope_is_refused_by_name():
    mechanism = dy.Mechanism()
    ball = mechanism.add_body(dy.Sphere(0.1, mass=3.0), name="ball")
    mechanism.add_joint(dy.Prismatic(mechanism.world, ball, (0, 0, 1), name="lift", actuated=True))
    mechanism.add_force(dy.Rope(mechanism.world, ball, 1.0, name="rope"))
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    model.set_joint(state, "lift", -0.5)

    assert dy.inverse_dynamics(model, state, [0.0]) == pytest.approx([3.0 * 9.81])
    model.set_joint(state, "lift", -1.0)
    with pytest.raises(NotImplementedError, match="'rope' touches or is taut"):
        dy.inverse_dynamics(model, state, [0.0])


def test_contacts_count_only_where_they_touch():
    mechanism = dy.Mechanism()
    ball = mechanism.add_body(dy.Sphere(0.1, mass=3.0), name="ball")
    mechanism.add_contact(ball, name="floor")
    lift = dy.Prismatic(mechanism.world, ball, (0, 0, 1), name="lift", actuated=True)
    mechanism.add_joint(lift)
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    model.set_joint(state, "lift", 0.2)

    assert dy.inverse_dynamics(model, state, [1.0]) == pytest.approx([3.0 * (9.81 + 1.0)])
    model.set_joint(state, "lift", 0.1)
    with pytest.raises(NotImplementedError, match="'floor' touches"):
        dy.inverse_dynamics(model, state, [1.0])


def two_links(friction):
    mechanism = dy.Mechanism()
    rod = dy.Rod(1.0, radius=0.02, mass=2.0, axis=(1, 0, 0))
    parent, point = mechanism.world, (0, 0, 0)
    for name in ("upper", "lower"):
        link = mechanism.add_body(rod, name=name)
        mechanism.add_joint(
            dy.Revolute(
                parent,
                link,
                (0, 1, 0),
                name=f"{name} hinge",
                parent_point=point,
                child_point=(-0.5, 0, 0),
                actuated=True,
                friction=friction,
                limits=[(-2, 2)],
                velocity_limits=[(-9, 9)],
            )  # fmt: skip
        )
        parent, point = link, (0.5, 0, 0)
    return mechanism.finalize(0.002)


def test_computed_torque_moves_an_arm_with_friction_and_limits_along_its_path():
    model, smooth = two_links(0.5), two_links(0.0)
    size = np.array([0.5, -0.8])

    def path(t):
        return size * np.sin(2 * t), 2 * size * np.cos(2 * t), -4 * size * np.sin(2 * t)

    def error(feedback):
        state = model.initial_state()
        for name, rate in zip(("upper hinge", "lower hinge"), 2 * size):
            model.set_joint(state, name, 0.0, rate)
        motion = dy.simulate(model, state, 2.0, controller=feedback)
        found = JointSpace(model).observed(motion.states)[:, 0]
        return np.abs(found - np.array([path(t)[0] for t in motion.time])).max()

    knowing, ignorant = (
        error(dy.ComputedTorque(one, path, 400.0, 40.0)) for one in (model, smooth)
    )

    # Where a rate passes 0 the friction is wrong by 2 x 0.5 N m for at most one interval of 2 ms:
    # over the least eigenvalue of the inertia, 0.1 kg m^2, that is 0.02 rad/s, which a double root
    # of 20 1/s lets grow to 0.02 / (20 e); controls are late by half an interval, 40 N m/s at most.
    assert knowing < 0.02 / (20 * np.e) + 40 * 0.001 / 0.1 / 400
    assert ignorant > 0.5 / (2 * 2 / 3 + 2 + 2) / 400  # the whole of it over the largest inertia
    assert knowing < ignorant / 3


@pytest.mark.parametrize("seed", range(12))
def test_forces_of_joints_that_a_gear_couples_are_the_smallest(seed):
    # q_three = q_one / 2: forces (1, -2) in the two do nothing, so that the smallest are as (2, 1)
    rng = np.random.default_rng(seed)
    mechanism = dy.Mechanism()
    a, b, c = (
        mechanism.add_body(mass=mass, inertia=[0.1, 0.2, 0.15], name=name)
        for name, mass in zip("abc", rng.uniform(0.5, 2.0, 3))
    )
    points = [
        {"parent_point": rng.uniform(-0.3, 0.3, 3), "child_point": rng.uniform(-0.3, 0.3, 3)}
        for _ in range(3)
    ]
    mechanism.add_joint(dy.Revolute(mechanism.world, a, (0, 1, 0), name="one", **points[0]))
    mechanism.add_joint(dy.Spherical(a, b, name="two", **points[1]))
    mechanism.add_joint(dy.Prismatic(b, c, (1, 0, 0), name="three", **points[2]))
    mechanism.add_coupling("one", "three", 0.5)
    model = mechanism.finalize()
    state = model.initial_state()
    model.set_joint(state, "two", rng.uniform(-0.5, 0.5, 3))
    wanted = np.array([1.0, 0.2, 0.3, -0.4, 0.5]) * (1.0 + 1e-9 * rng.normal(size=5))

    found = dy.inverse_dynamics(model, model.assemble(state), wanted)

    assert found[0] == pytest.approx(2.0 * found[4], abs=1e-10)
    assert np.abs(found).max() < 40.0  # weights of up to 2 kg each, at 0.9 m at most: 35 N m
