"""Derivatives of steps and motions with contacts and limits, against differences of them."""

import math
import runpy
from pathlib import Path

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.kinematics.coordinates import free_velocities
from dynamics.kinematics.momenta import momenta

from .test_linearization import differences, error

H, KAPPA = 0.01, 1e-4
#: Gaps at rest are some 1e-4 m (KAPPA over forces of 1 N to 10 N) and derivatives change over that
#: length: differences over 1e-5 m to the sixth order are off by (1e-5 / 1e-4)^6 = 1e-6 at most. The
#: steps are solved to 1e-12 units, which are about 1 J and 1 m/s: complementarities to 1e-8.
STEP, CLOSE = 1e-5, 1e-6


def model_of(mechanism, **options):
    """Model with a barrier of KAPPA at the contact of the least unit of energy."""
    energy = min(unit.energy for unit in mechanism.finalize(H).tables.units.values())
    return mechanism.finalize(H, barrier=KAPPA / energy, contact_tolerance=1e-12, **options)


def single(shape, height, settings=None, **options):
    """One body over the ground."""
    mechanism = dy.Mechanism()
    body = mechanism.add_body(shape, name="body", position=(0, 0, height))
    mechanism.add_contact(body, name="floor", **options)
    model = model_of(mechanism, **(settings or {}))
    return model, model.initial_state()


BOX, BALL = dy.Box(0.5, 0.4, 0.3, mass=1.0), dy.Sphere(0.25, mass=1.0)


def run(model, state, steps, control=None):
    for _ in range(steps):
        state, _ = model.step(state, control)
    return state


def until(model, state, what):
    """The last state before ``what`` is true of the next."""
    for _ in range(300):
        after, _ = model.step(state)
        if what(after):
            return state
        state = after
    raise AssertionError("it never happens")


def falling_box():
    model, state = single(BOX, 0.4, friction=0.3)
    return model, state


def resting_box():
    model, state = single(BOX, 0.1501, friction=0.3)
    return model, run(model, state, 40)


def sliding_box():
    model, state = single(BOX, 0.1501, friction=0.3)
    model.set_body(state, "body", velocity=(2, 1, 0), angular_velocity=(0, 0, 1))
    return model, run(model, state, 10)


def box_on_a_corner():
    model, state = single(BOX, 0.6, friction=0.4)
    model.set_body(
        state, "body", orientation=rotation.from_rotation_vector([0.5, 0.4, 0.1]),
        velocity=(1, 0, -2), angular_velocity=(1, 2, 3),
    )  # fmt: skip
    return model, until(model, state, lambda s: s.contacts[::7].max() > 1.0)


def sticking_box():
    mechanism = dy.Mechanism(gravity=(3.0, 0.5, -9.0))
    body = mechanism.add_body(BOX, name="body", position=(0, 0, 0.1501))
    mechanism.add_contact(body, name="floor", friction=0.5)
    model = model_of(mechanism)
    return model, run(model, model.initial_state(), 40)


def sliding_in_a_linearized_cone():
    model, state = single(BOX, 0.1501, friction=0.3, cone=8)
    model.set_body(state, "body", velocity=(2, 1, 0), angular_velocity=(0, 0, 1))
    return model, run(model, state, 10)


def sticking_in_a_linearized_cone():
    mechanism = dy.Mechanism(gravity=(3.0, 0.5, -9.0))
    body = mechanism.add_body(BOX, name="body", position=(0, 0, 0.1501))
    mechanism.add_contact(body, name="floor", friction=0.5, cone=6)
    model = model_of(mechanism)
    return model, run(model, model.initial_state(), 40)


def rolling_ball():
    model, state = single(BALL, 0.2501, friction=0.3)
    model.set_body(state, "body", velocity=(2, 0, 0))
    return model, run(model, state, 70)


def ball_that_turns_and_rubs():
    model, state = single(BALL, 0.2501, friction=0.3, torsional=0.01, rolling=0.01)
    model.set_body(state, "body", velocity=(1, 0, 0), angular_velocity=(0, 3, 2))
    return model, run(model, state, 5)


def bouncing_ball():
    model, state = single(BALL, 0.4, friction=0.3, restitution=0.6)
    model.set_body(state, "body", velocity=(2, 0, 0), angular_velocity=(1, 2, 3))
    state = until(model, state, lambda s: s.contacts[0] > 1.0)
    return model, state


def soft_ball_above():
    model, state = single(BALL, 0.2501, friction=0.3, compliance=1e-4)
    model.set_body(state, "body", velocity=(1, 0, 0))
    return model, state


def soft_ball():
    model, state = soft_ball_above()
    return model, run(model, state, 5)


def balls_that_meet():
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    one = mechanism.add_body(BALL, name="one")
    two = mechanism.add_body(dy.Box(0.3, 0.4, 0.5, mass=2.0), name="two", position=(0.6, 0.1, 0.1))
    mechanism.add_contact(one, two, name="touch", friction=0.3)
    mechanism.add_force(dy.Spring(one, two, stiffness=5.0, damping=0.4, name="tie"))
    model = model_of(mechanism)
    state = model.initial_state()
    model.set_body(state, "one", velocity=(2, 0, 0), angular_velocity=(0, 5, 1))
    return model, until(model, state, lambda s: s.contacts[0] > 1.0)


def capsules_that_meet():
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    one = mechanism.add_body(dy.Capsule(0.1, 0.5, mass=1.0, axis=(1, 0, 0)), name="one")
    two = mechanism.add_body(
        dy.Capsule(0.1, 0.5, mass=1.0, axis=(0, 1, 0)), name="two", position=(0.1, 0.05, 0.3)
    )
    mechanism.add_contact(one, two, name="touch", friction=0.3)
    model = model_of(mechanism)
    state = model.initial_state()
    model.set_body(state, "one", velocity=(0.5, 0, 2), angular_velocity=(0, 1, 1))
    return model, until(model, state, lambda s: s.contacts[0] > 1.0)


def rolling_cylinder():
    model, state = single(dy.Cylinder(0.2, 0.5, mass=1.0, axis=(0, 1, 0)), 0.2001, friction=0.3)
    model.set_body(state, "body", velocity=(1, 0, 0), angular_velocity=(0, 3, 0))
    return model, run(model, state, 10)


def joint_at_its_limit():
    mechanism = dy.Mechanism()
    rod = mechanism.add_body(dy.Rod(1.0, radius=0.02, mass=2.0, axis=(1, 0, 0)), name="rod")
    more = mechanism.add_body(dy.Rod(0.5, radius=0.02, mass=1.0, axis=(1, 0, 0)), name="more")
    mechanism.add_joint(
        dy.Revolute(
            mechanism.world, rod, (0, 1, 0), child_point=(-0.5, 0, 0), limits=[(-1.0, 0.3)],
            actuated=True, name="hinge",
        )
    )  # fmt: skip
    mechanism.add_joint(
        dy.Spherical(rod, more, parent_point=(0.5, 0, 0), child_point=(-0.25, 0, 0), name="ball")
    )
    model = model_of(mechanism, tolerance=1e-12)
    return model, run(model, model.initial_state(), 60, [0.3])


def taut_rope():
    mechanism = dy.Mechanism()
    ball = mechanism.add_body(dy.Sphere(0.1, mass=2.0), name="ball", position=(0.3, 0.1, 0.0))
    mechanism.add_force(dy.Rope(mechanism.world, ball, 0.5, child_point=(0, 0, 0.1), name="rope"))
    model = model_of(mechanism)
    state = until(model, model.initial_state(), lambda s: s.contacts[0] > 1.0)
    return model, run(model, state, 3)


def spring_at_its_limit():
    mechanism = dy.Mechanism()
    ball = mechanism.add_body(dy.Sphere(0.1, mass=2.0), name="ball", position=(0.3, 0.1, 0.0))
    mechanism.add_force(
        dy.Spring(
            mechanism.world, ball, stiffness=20.0, damping=0.5, length=0.2, limits=(0.1, 0.4),
            limit_compliance=1e-5, name="band",
        )
    )  # fmt: skip
    model = model_of(mechanism)
    state = until(model, model.initial_state(), lambda s: s.contacts[::2].max() > 5.0)
    return model, state


def soft_ball_pressed(steps, **settings):
    mechanism = dy.Mechanism()
    body = mechanism.add_body(BALL, name="body", position=(0, 0, 0.25 - 2e-3))
    mechanism.add_contact(body, name="floor", friction=0.3, compliance=1e-3)
    model = model_of(mechanism, **settings)
    state = model.initial_state()
    model.set_body(state, "body", velocity=(1.0, 0.2, -0.3), angular_velocity=(14, 2, 3))
    return model, run(model, state, steps)


def soft_ball_in_its_first_interval():
    return soft_ball_pressed(0)


def soft_ball_in_cut_steps():
    return soft_ball_pressed(2, largest_turn=0.05)


SCENES = [
    falling_box, resting_box, sliding_box, sticking_box, box_on_a_corner, rolling_ball,
    ball_that_turns_and_rubs, bouncing_ball, soft_ball, balls_that_meet, capsules_that_meet,
    rolling_cylinder, joint_at_its_limit, taut_rope, spring_at_its_limit,
    sliding_in_a_linearized_cone, sticking_in_a_linearized_cone,
    soft_ball_in_its_first_interval, soft_ball_in_cut_steps,
]  # fmt: skip


def moved(model, state, change):
    """A state with small changes in the maximal coordinates of `linearize`."""
    d = change.reshape(-1, 12)
    after = state.copy()
    V = free_velocities(model, state).reshape(-1, 6)
    after.pose[:, :3] += d[:, :3]
    turn = rotation.from_rotation_vector(d[:, 3:6])
    after.pose[:, 3:] = rotation.multiply(after.pose[:, 3:], turn)
    twist = (V + d[:, 6:]).reshape(1, -1)
    after.momentum[:] = momenta(model.tables, after.pose, twist).reshape(-1, 6)
    after.interval_velocity += d[:, 6:]
    return after


def read(model, state, reference):
    """Change of poses from a reference, and velocities."""
    turn = rotation.multiply(rotation.conjugate(reference.pose[:, 3:]), state.pose[:, 3:])
    V = free_velocities(model, state).reshape(-1, 6)
    way = state.pose[:, :3] - reference.pose[:, :3]
    return np.hstack([way, rotation.to_rotation_vector(turn), V]).ravel()


def slope_errors(model, state, bears=0.5):
    """Errors of A and B of a step in which something bears more than a force."""
    control = np.full(model.n_controls, 0.3)
    k = 12 * model.n_bodies

    A, B = dy.linearize(model, state, control)

    after, _ = model.step(moved(model, state, np.zeros(k)), control)
    assert after.contacts.max() > bears
    wanted = differences(
        lambda d: read(model, model.step(moved(model, state, d[:k]), control + d[k:])[0], after),
        k + model.n_controls, STEP,
    )  # fmt: skip
    return error(A, wanted[:, :k]), error(B, wanted[:, k:])


@pytest.mark.parametrize("scene", SCENES)
def test_a_step_with_contacts_is_linearized_exactly(scene):
    errors = slope_errors(*scene(), bears=-1.0 if scene is falling_box else 0.5)

    assert max(errors) < CLOSE


def less_friction(scene, monkeypatch, part):
    """A scene whose steps are solved with a part of their friction alone."""
    with monkeypatch.context() as patch:
        patch.setattr("dynamics.model.SOFTER", ((1.0, part),))
        return scene()


def box_that_creeps():
    """A joint whose dry friction its spring overcomes, and a box that slides on the ground."""
    mechanism = dy.Mechanism()
    box = mechanism.add_body(BOX, name="body", position=(0, 0, 0.151))
    mechanism.add_contact(box, name="floor", friction=0.4)
    wheel = mechanism.add_body(mass=1.0, inertia=0.1 * np.eye(3), name="wheel")
    axle = {"axis": (0, 1, 0), "friction": 0.3, "stiffness": 4.0, "name": "axle"}
    mechanism.add_joint(dy.Revolute(mechanism.world, wheel, **axle))
    model = model_of(mechanism)
    state = model.initial_state()
    model.set_body(state, "body", velocity=(1.5, 0.4, 0.0))
    model.set_joint(state, "axle", 0.3)
    return model, run(model, state, 10)


@pytest.mark.parametrize("scene", [sliding_box, rolling_ball, box_that_creeps])
def test_a_step_with_less_friction_is_differentiated_with_that(scene, monkeypatch):
    model, state = less_friction(scene, monkeypatch, 0.4)
    assert model.step(state)[1].friction == 0.4

    assert max(slope_errors(model, state)) < CLOSE


def test_a_motion_with_less_friction_is_differentiated_by_its_coefficient(monkeypatch):
    """A box that slides is braked by a part of mu g: its way changes by -part g t^2 / 2."""

    def scene():
        mechanism = dy.Mechanism()
        box = mechanism.add_body(BOX, name="body", position=(0, 0, 0.15 + 1e-8))
        mechanism.add_contact(box, name="floor", friction=0.3)
        model = mechanism.finalize(H)
        state = model.initial_state()
        model.set_body(state, "body", velocity=(2.0, 0.0, 0.0))
        return model, state

    model, state = less_friction(scene, monkeypatch, 0.5)

    with pytest.warns(RuntimeWarning, match="less friction"):
        found = dy.sensitivity(model, state, 0.4, [("floor", "friction")])

    assert found.poses[-1, 0, 0, 0] == pytest.approx(-0.5 * 9.81 * 0.4**2 / 2.0, rel=1e-3)


def test_a_step_that_is_cut_into_intervals_is_differentiated_through_them():
    model, state = single(BOX, 0.4, {"largest_turn": 0.05}, friction=0.4)
    model.set_body(state, "body", velocity=(1, 0, -4), angular_velocity=(14, 9, 3))
    state = until(model, state, lambda s: s.contacts[::7].max() > 1.0)
    after, info = model.step(moved(model, state, np.zeros(12)))
    assert info.intervals > 1

    A, _ = dy.linearize(model, state)

    wanted = differences(
        lambda d: read(model, model.step(moved(model, state, d))[0], after), 12, STEP
    )
    assert error(A, wanted) < CLOSE


@pytest.mark.parametrize(("seed", "steps"), [(14, 6), (17, 4), (32, 15)])
def test_a_step_in_intervals_of_several_lengths_is_differentiated_through_them(seed, steps):
    rng = np.random.default_rng(seed)
    model, state = single(BOX, 0.4, {"largest_turn": 0.1}, friction=0.4)
    velocity, spin = 2.0 * rng.normal(size=3), 10.0 * rng.normal(size=3)
    model.set_body(state, "body", velocity=velocity, angular_velocity=spin)
    state = moved(model, run(model, state, steps), np.zeros(12))
    after, info = model.step(state)
    assert info.intervals == 3  # a half and two quarters, of which one holds an impact

    A, _ = dy.linearize(model, state)

    wanted = differences(
        lambda d: read(model, model.step(moved(model, state, d))[0], after), 12, STEP / 4
    )
    assert error(A, wanted) < CLOSE


def released(seed):
    """Three bodies with dry friction, off the rest of stiff springs, which cut the first step."""
    rng = np.random.default_rng(seed)
    mechanism = dy.Mechanism()
    a, b, c = (
        mechanism.add_body(dy.Box(*sides, mass=mass), name=name)
        for name, mass, sides in (
            ("a", 1.0, (0.4, 0.2, 0.1)), ("b", 0.5, (0.3, 0.1, 0.2)), ("c", 0.3, (0.2, 0.1, 0.1))
        )
    )  # fmt: skip
    hinge = dy.Revolute(
        mechanism.world, a, (0, 1, 0), child_point=(0.2, 0.1, 0), friction=0.3, name="one"
    )
    points = {"parent_point": (-0.2, 0, 0), "child_point": (0.1, 0.05, 0.1)}
    cross = dy.Universal(a, b, (1, 0, 0), (0, 1, 0), stiffness=3e4, name="two", **points)
    ball = dy.Spherical(b, c, stiffness=rng.choice([3e4, 1e3]), name="three", **points)
    for joint in (hinge, cross, ball):
        mechanism.add_joint(joint)
    model = mechanism.finalize(H, barrier=1e-4, contact_tolerance=1e-12, tolerance=1e-13)
    state = model.initial_state()
    for name, size, most in (("one", 1, 1.0), ("two", 2, 0.3), ("three", 3, 0.3)):
        model.set_joint(state, name, rng.uniform(-most, most, size), rng.normal(size=size))
    return model, state


@pytest.mark.parametrize("seed", [6, 24, 36, 48, 54])
def test_intervals_that_the_history_of_a_step_cuts_are_those_of_its_slopes(seed):
    # a half of these steps alone would be cut otherwise, as its energy is counted from its start
    model, state = released(seed)
    after, info = model.step(moved(model, state, np.zeros(36)))
    assert info.intervals > 1

    A, _ = dy.linearize(model, state)

    # the intervals are others 1e-5 away
    wanted = differences(
        lambda d: read(model, model.step(moved(model, state, d))[0], after), 36, STEP / 10
    )
    assert error(A, wanted) < CLOSE


#: A scene, its time, and numbers: the box falls on its edges, slides and stays.
MOTIONS = [
    (box_on_a_corner, 0.2, [("floor", "friction"), ("body", "mass")]),
    (sliding_box, 0.3, [("floor", "friction")]),
    (sliding_in_a_linearized_cone, 0.3, [("floor", "friction")]),
    (bouncing_ball, 0.3, [("floor", "restitution"), ("floor", "friction"), ("body", "mass")]),
    (ball_that_turns_and_rubs, 0.2, [("floor", "torsional"), ("floor", "rolling")]),
    (soft_ball_above, 0.2, [("floor", "compliance"), ("body", "mass")]),
    (balls_that_meet, 0.2, [("one", "mass"), ("tie", "stiffness"), ("touch", "friction")]),
    (spring_at_its_limit, 0.2, [("band", "damping"), ("band", "length"), ("ball", "mass")]),
]


@pytest.mark.parametrize(("scene", "seconds", "parameters"), MOTIONS)
def test_a_motion_is_differentiated_by_numbers_of_its_model(scene, seconds, parameters):
    model, state = scene()
    state = moved(model, state, np.zeros(12 * model.n_bodies))
    twist = free_velocities(model, state)

    found = dy.sensitivity(model, state, seconds, parameters)

    last = found.motion.final
    size = found.velocities.shape[0]
    columns = np.concatenate([found.poses[-1], found.velocities], axis=1).reshape(12 * size, -1)
    for (name, what), column in zip(parameters, columns.T):
        things = (model.mechanism.bodies, model.mechanism.contacts, model.mechanism.springs)
        value = next(getattr(one[name], what) for one in things if name in one)

        def ended(change, name=name, what=what, value=value):
            other = dy.variant(model, {name: {what: value * (1.0 + change[0])}})
            first = state.copy()
            p = momenta(other.tables, state.pose, twist[None])
            first.momentum[:] = p.reshape(-1, 6)
            return read(other, dy.simulate(other, first, seconds).final, last)

        # numbers change by 3e-5 of them, the motion by the like: see STEP
        wanted = differences(ended, 1, 1e-5)[:, 0] / value
        assert error(column, wanted) < 10 * CLOSE


def test_a_motion_is_differentiated_by_its_start():
    model, state = sliding_box()
    state = moved(model, state, np.zeros(12))
    start = np.random.default_rng(0).normal(size=(12, 2))

    found = dy.sensitivity(model, state, 0.1, start=start)

    product = start
    for k in range(10):
        product = dy.linearize(model, found.motion[k])[0] @ product
    last = np.concatenate([found.poses[-1], found.velocities], axis=1).reshape(12, 2)
    # the same factorizations, but for momenta up to round-off
    assert error(last, product) < 1e-10
    assert found.poses.shape == (11, 1, 6, 2)


def test_stopping_way_of_a_box_changes_with_friction_as_the_formula_says():
    mechanism = dy.Mechanism()
    box = mechanism.add_body(BOX, name="body", position=(0, 0, 0.15 + 1e-8))
    mechanism.add_contact(box, name="floor", friction=0.3)
    model = mechanism.finalize(H)
    state = model.initial_state()
    model.set_body(state, "body", velocity=(2.0, 0.0, 0.0))

    found = dy.sensitivity(model, state, 0.4, [("floor", "friction")])

    # x = v t - mu g t^2 / 2 while it slides; heights of nodes with and without the last half kick
    assert found.poses[-1, 0, 0, 0] == pytest.approx(-9.81 * 0.4**2 / 2.0, rel=1e-3)


def test_a_larger_barrier_smooths_and_none_makes_it_infinite():
    for kappa in (1e-2, 1e-4, 1e-8):
        mechanism = dy.Mechanism()
        ball = mechanism.add_body(BALL, name="ball", position=(0, 0, 0.3))
        mechanism.add_contact(ball, name="floor")
        model = mechanism.finalize(H, barrier=kappa)
        state = run(model, model.initial_state(), 300)
        A, _ = dy.linearize(model, state)
        # gap' = gap (kappa + gap gamma h / m ...): a velocity ends at the floor
        assert np.isfinite(A).all()
        fall = A[2, 8]
        mass, gamma = 1.0, 9.81 * H
        s = model.barrier("floor") / gamma
        # N du + s dgamma / gamma = 0, m du = p + dgamma: du = p / (m + gamma / s)
        assert fall == pytest.approx(H * mass / (mass + gamma / s), rel=2e-3)


def test_parameters_that_are_none_are_refused_by_name():
    model, state = sliding_box()

    with pytest.raises(dy.UnknownNameError, match="no body, joint, spring or contact 'wall'"):
        dy.sensitivity(model, state, 0.1, [("wall", "friction")])
    with pytest.raises(dy.UnknownNameError, match="no number 'colour'"):
        dy.sensitivity(model, state, 0.1, [("body", "colour")])
    with pytest.raises(ValueError, match="'restitution' of 'floor' is 0"):
        dy.sensitivity(model, state, 0.1, [("floor", "restitution")])
    with pytest.raises(ValueError, match="9 numbers"):
        dy.sensitivity(model, state, 0.1, [("body", "inertia")])
    with pytest.raises(ValueError, match="start"):
        dy.sensitivity(model, state, 0.1, start=np.ones((11, 1)))


def test_variants_change_friction_and_refuse_other_equations():
    model, state = sliding_box()

    rough = dy.variant(model, {"floor": {"friction": 0.6}})

    # v' = -mu g in each step that slides
    for one, mu in ((model, 0.3), (rough, 0.6)):
        before, after = state, one.step(state)[0]
        v = [np.hypot(*s.momentum[0, :2]) for s in (before, after)]
        assert v[0] - v[1] == pytest.approx(mu * 9.81 * H, rel=2e-2)
    with pytest.raises(ValueError, match="cannot become 0"):
        dy.variant(model, {"floor": {"friction": 0.0}})
    with pytest.raises(ValueError, match="must not be negative"):
        dy.variant(model, {"floor": {"friction": -1.0}})
    with pytest.raises(ValueError, match="cannot become 0.1"):
        dy.variant(model, {"floor": {"rolling": 0.1}})
    assert math.isclose(model.mechanism.contacts["floor"].friction, 0.3)


@pytest.mark.slow
def test_the_predictive_control_of_the_documentation_reaches_its_goal(capsys):
    example = Path(__file__).parents[2] / "docs/examples/push_mpc.py"
    runpy.run_path(str(example), run_name="__main__")
    assert "the goal is 0.6 m" in capsys.readouterr().out
