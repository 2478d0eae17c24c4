"""Limits of joints, ropes and bands: one-sided constraints by the machinery of contacts."""

import math

import numpy as np
import pytest

import dynamics as dy

G, H = 9.81, 0.01


def pendulum(limits, stiffness=0.0, rest=0.0, mass=2.0, **options):
    """A rod of 1 m that hangs on the world by one end, turning about y; 0 is level, towards x."""
    mechanism = dy.Mechanism()
    rod = mechanism.add_body(dy.Rod(1.0, radius=0.02, mass=mass, axis=(1, 0, 0)), name="rod")
    mechanism.add_joint(
        dy.Revolute(
            mechanism.world, rod, (0, 1, 0), child_point=(-0.5, 0, 0), limits=limits,
            stiffness=stiffness, rest=rest, name="hinge", **options,
        )
    )  # fmt: skip
    return mechanism.finalize(H)


@pytest.mark.parametrize(("low", "high"), [(-1.0, 0.6), (-0.3, 0.0), (-math.inf, 0.5)])
def test_joint_comes_to_rest_at_its_limit_and_never_passes(low, high):
    model = pendulum([(low, high)])

    motion = dy.simulate(model, model.initial_state(), 3.0)
    angle = motion.joint("hinge")

    # gravity turns it towards +; the limit bears m g cos(high) / 2, barrier / torque off
    torque = 2.0 * G * 0.5 * math.cos(high)
    assert angle[1:].max() < high
    # rates are solved to 1e-9 of sqrt(G / 0.577 m) = 4.1 rad/s, angles to that times H
    wanted = pytest.approx(model.barrier("hinge") / torque, rel=1e-3, abs=4.1e-9 * H)
    assert high - angle[-1] == wanted
    assert motion.contact("hinge").normal_force[-1, -1] == pytest.approx(torque, rel=1e-6)


def test_lower_limit_holds_from_the_other_side():
    model = pendulum([(-0.4, 3.0)], actuated=True)

    motion = dy.simulate(model, model.initial_state(), 3.0, controls=[-50.0])
    angle = motion.joint("hinge")

    assert -0.4 < angle.min() < -0.4 + 1e-7


def test_limit_is_a_coordinate_wherever_the_spring_rests():
    # the spring pulls to 1 rad, the limit stands at 0.5
    model = pendulum([(-1.0, 0.5)], stiffness=40.0, rest=1.0)

    angle = dy.simulate(model, model.initial_state(), 3.0).joint("hinge")

    assert 0.5 - 1e-7 < angle[-1] < 0.5


def test_prismatic_limit_bears_the_weight():
    mechanism = dy.Mechanism()
    box = mechanism.add_body(dy.Box(0.1, 0.1, 0.1, mass=3.0), name="box")
    mechanism.add_joint(
        dy.Prismatic(mechanism.world, box, (0, 0, 1), limits=[(-0.2, 0.3)], name="lift")
    )
    model = mechanism.finalize(H)

    motion = dy.simulate(model, model.initial_state(), 2.0)

    assert motion.joint("lift").min() > -0.2
    assert motion.contact("lift").normal_force[-1, 0] == pytest.approx(3.0 * G, rel=1e-6)
    kappa = model.barrier("lift")
    assert motion.contact("lift").gap[-1, 0] == pytest.approx(kappa / (3.0 * G), rel=1e-3)


def ball_on_rope(length=1.0, compliance=0.0, **options):
    mechanism = dy.Mechanism()
    ball = mechanism.add_body(dy.Sphere(0.1, mass=2.0), name="ball", position=(0.3, 0.0, 0.0))
    mechanism.add_force(
        dy.Rope(mechanism.world, ball, length, compliance=compliance, name="rope", **options)
    )
    return mechanism.finalize(H)


def test_slack_rope_bears_nothing_and_a_taut_one_the_weight():
    model = ball_on_rope()
    state = model.initial_state()
    model.set_body(state, "ball", position=(0, 0, -0.5))

    motion = dy.simulate(model, state, 3.0)
    x = motion.body("ball")[0]
    rope = motion.contact("rope")

    # it falls freely for sqrt(2 0.5 / g) = 0.319 s
    free = motion.time < 0.31
    np.testing.assert_allclose(x[free, 2], -0.5 - 0.5 * G * motion.time[free] ** 2, atol=1e-6)
    assert rope.normal_force[free].max() < 1e-5
    assert np.linalg.norm(x, axis=1).max() < 1.0
    assert rope.normal_force[-1, 0] == pytest.approx(2.0 * G, rel=1e-6)
    assert rope.gap[-1, 0] == pytest.approx(model.barrier("rope") / (2.0 * G), rel=1e-3)


def test_ball_on_a_taut_rope_swings_as_a_pendulum():
    model = ball_on_rope(0.3 + 1e-9)

    motion = dy.simulate(model, model.initial_state(), 0.6)
    low = motion.body("ball")[0][:, 2].min()

    # from level: the rope stays taut, and passes its lowest point at sqrt(2 g / l), at most half a
    # step from a node
    turn = 0.5 * 0.01 * np.sqrt(2.0 * G / 0.3)
    assert -0.3 <= low <= -0.3 * np.cos(turn)


def test_elastic_band_stretches_by_its_compliance():
    model = ball_on_rope(1.0, compliance=1e-2)
    state = model.initial_state()
    model.set_body(state, "ball", position=(0, 0, -1.0))

    motion = dy.simulate(model, state, 60.0, every=10)
    z = motion.body("ball")[0][:, 2]

    # implicit, so that it comes to rest: C m g below the slack length
    stretched = -1.0 - 1e-2 * 2.0 * G
    assert z[-1] == pytest.approx(stretched, abs=1e-6)

    # what gives way may be beyond its limit at a start, too
    again = dy.simulate(model, model.state_of(motion.final.data.copy(), 0.0), 0.1)
    assert again.final.pose[0, 2] == pytest.approx(stretched, abs=1e-6)


def test_spring_with_limits_keeps_two_points_between_them():
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    a = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="a")
    b = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="b", position=(0.7, 0, 0))
    mechanism.add_force(dy.Spring(a, b, limits=(0.5, 1.0), name="link"))
    model = mechanism.finalize(H)
    state = model.initial_state()
    model.set_body(state, "b", velocity=(-1.0, 0.2, 0.0))

    motion = dy.simulate(model, state, 5.0)
    apart = np.linalg.norm(motion.body("a")[0] - motion.body("b")[0], axis=1)

    assert apart.min() > 0.5 and apart.max() < 1.0
    np.testing.assert_allclose(motion.momentum()[:, :3], [[-1.0, 0.2, 0.0]] * 501, atol=1e-9)


@pytest.mark.parametrize("limits", [[(1.0, 0.0)], [(0.0, math.nan)], [(0.0, 1.0)] * 2])
def test_limits_out_of_order_are_refused(limits):
    with pytest.raises(ValueError, match="limits of joint 'hinge' must be 1 pair "):
        pendulum(limits)


@pytest.mark.parametrize("limits", [(1.0, 0.5), (0.0, -1.0), (math.nan, 1.0)])
def test_limits_of_a_distance_out_of_order_are_refused(limits):
    mechanism = dy.Mechanism()
    ball = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="ball")

    with pytest.raises(ValueError, match="limits of spring 'tie' must be"):
        dy.Spring(mechanism.world, ball, limits=limits, name="tie")


def test_start_beyond_a_limit_is_refused_by_name():
    model = pendulum([(-0.2, 0.2)])
    state = model.initial_state()
    model.set_joint(state, "hinge", 0.5)

    with pytest.raises(dy.InconsistentStateError, match="'hinge' is 3.00e-01 beyond its limit"):
        dy.simulate(model, state, 1.0)

    within = dy.separate(model, state)
    assert model.joint(within, "hinge")[0][0] == pytest.approx(0.2, abs=1e-8)
    dy.simulate(model, within, 0.1)


def test_initial_state_lies_within_the_limits():
    model = pendulum([(0.3, 0.9)])

    assert model.joint(model.initial_state(), "hinge")[0][0] == pytest.approx(0.3)


def test_limits_that_exclude_each_other_say_so():
    mechanism = dy.Mechanism()
    box = mechanism.add_body(dy.Box(0.1, 0.1, 0.1, mass=3.0), name="box")
    mechanism.add_joint(
        dy.Prismatic(mechanism.world, box, (0, 0, 1), limits=[(0.5, 0.8)], name="lift")
    )
    mechanism.add_force(dy.Rope(mechanism.world, box, 0.2, name="rope"))
    model = mechanism.finalize(H)
    state = model.initial_state()

    with pytest.raises(dy.InconsistentStateError, match="'rope' is 3.00e-01 beyond its limit"):
        dy.simulate(model, state, 0.1)
    with pytest.raises(dy.InconsistentStateError, match="cannot be moved apart together with all"):
        dy.separate(model, state)


@pytest.mark.parametrize("mass", [1e-3, 1e-6, 1e-10])
def test_limits_of_a_body_almost_without_mass_are_reached_as_those_of_any_other(mass):
    # several hinges between two bodies of a robot file: what is between weighs nothing
    mechanism = dy.Mechanism()
    rod = mechanism.add_body(dy.Box(0.1, 0.1, 0.6, mass=2.0), name="rod", position=(0, 0, -0.3))
    between = mechanism.add_body(None, name="between", mass=mass, inertia=np.full(3, 1e-2 * mass))
    mechanism.add_joint(
        dy.Revolute(mechanism.world, between, (0, 1, 0), name="swing", limits=(-0.2, 0.2))
    )
    mechanism.add_joint(
        dy.Revolute(between, rod, (1, 0, 0), child_point=(0, 0, 0.3), name="tilt",
                    limits=(-0.3, 0.3))
    )  # fmt: skip
    model = mechanism.finalize(0.01)
    state, reached, factorizations = model.initial_state(), 0, 0
    for k in range(120):
        push = [12.0 * np.sin(0.11 * k), 9.0 * np.cos(0.07 * k), 0, 0, 0, 0]
        state, info = model.step(state, wrenches={"rod": push})
        factorizations += info.factorizations
        angles = [float(model.joint(state, name)[0][0]) for name in ("swing", "tilt")]
        assert abs(angles[0]) < 0.2 + 1e-9 and abs(angles[1]) < 0.3 + 1e-9
        reached += abs(angles[0]) > 0.2 - 1e-6 or abs(angles[1]) > 0.3 - 1e-6
    assert reached > 10
    assert factorizations < 10 * 120


@pytest.mark.parametrize("timestep", [5e-4, 1e-5])
def test_heavy_rotors_rest_at_limits_in_short_steps(timestep):
    """Rounding of angles over the timestep, times the rotors' inertia, is what momenta can be."""
    mechanism = dy.Mechanism()
    parent = mechanism.world
    for k in range(3):
        bar = mechanism.add_body(dy.Box(0.02, 0.02, 0.1, mass=0.01), name=f"bar {k}")
        ends = {"parent_point": (0, 0, 0.05 if k else 0.0), "child_point": (0, 0, -0.05)}
        mechanism.add_joint(
            dy.Revolute(
                parent, bar, (0, 1, 0), **ends, name=f"hinge {k}", armature=4.0,
                limits=(0.3, 2.0),
            )
        )  # fmt: skip
        parent = bar
    model = mechanism.finalize(timestep)
    state = model.initial_state()
    for k in range(3):
        model.set_joint(state, f"hinge {k}", 2.0)

    after = dy.simulate(model, state, 50 * timestep).final

    for k in range(3):
        assert abs(model.joint(after, f"hinge {k}")[0] - 2.0) < 1e-5
