"""Planes between convex bodies in what is made of models: slopes, rollouts, files, piles."""

import pickle

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.kinematics.plane_placement import apart

from .test_contact_gradients import CLOSE, model_of, run, slope_errors

H = 0.01


def boxes(turn=(1, 0, 0, 0), height=0.1502):
    """A light box over the middle of a fixed one; it rests some 2e-4 m above it."""
    mechanism = dy.Mechanism()
    base = mechanism.add_body(dy.Box(1, 1, 1, mass=5.0), name="base")
    mechanism.add_joint(dy.Fixed(mechanism.world, base, parent_point=(0, 0, -0.5), name="held"))
    box = mechanism.add_body(
        dy.Box(0.5, 0.4, 0.3, mass=0.2), name="box", position=(0, 0, height), orientation=turn
    )
    mechanism.add_contact(box, base, name="touch", friction=0.3)
    model = model_of(mechanism)
    return model, model.initial_state()


def resting():
    model, state = boxes()
    return model, run(model, state, 40)


def sliding():
    model, state = boxes()
    model.set_body(state, "box", velocity=(2, 1, 0), angular_velocity=(0, 0, 1))
    return model, run(model, state, 10)


def on_an_edge():
    model, state = boxes(rotation.from_axis_angle((0, 1, 0), 0.5), 0.28)
    return model, run(model, state, 12)


@pytest.mark.parametrize("scene", [resting, sliding, on_an_edge])
def test_a_step_with_a_plane_is_linearized_exactly(scene):
    assert max(slope_errors(*scene(), bears=0.1)) < CLOSE


def test_a_motion_is_differentiated_by_friction_and_mass():
    model, state = sliding()

    slopes = dy.sensitivity(model, state, 0.2, [("touch", "friction"), ("box", "mass")])

    part = 1e-4
    for k, (name, what, value) in enumerate((("touch", "friction", 0.3), ("box", "mass", 0.2))):
        ends = []
        for sign in (1, -1):
            other = dy.variant(model, {name: {what: value * (1 + sign * part)}})
            start = state.copy()
            start.momentum[1] *= other.bodies[1].mass / model.bodies[1].mass
            ends.append(dy.simulate(other, start, 0.2).body("box")[0][-1])
        wanted = (ends[0] - ends[1]) / (2 * part * value)
        scale = np.abs(slopes.poses[-1, 1, :3]).max()
        np.testing.assert_allclose(slopes.poses[-1, 1, :3, k], wanted, atol=1e-4 * scale)


def test_rollouts_and_pickled_models_have_planes():
    model, state = boxes()
    jobs = [dy.Job(state, 0.5, parameters={"touch": {"friction": mu}}) for mu in (0.1, 0.5)]

    one = dy.rollouts(model, jobs, threads=1)
    two = dy.rollouts(pickle.loads(pickle.dumps(model)), jobs, threads=2)

    for first, second in zip(one, two):
        assert first.ok
        assert np.array_equal(first.trajectory.states, second.trajectory.states)


def test_joint_coordinates_reach_planes_through_their_ties():
    mechanism = dy.Mechanism()
    base = mechanism.add_body(dy.Box(1, 1, 0.2, mass=5.0), name="base")
    mechanism.add_joint(dy.Fixed(mechanism.world, base, parent_point=(0, 0, -0.1), name="held"))
    arm = mechanism.add_body(dy.Box(0.1, 0.1, 0.4, mass=0.5), name="arm")
    hinge = dy.Revolute(
        base, arm, axis=(0, 1, 0), parent_point=(0, 0, 0.7), child_point=(0, 0, 0.2), name="hinge"
    )
    mechanism.add_joint(hinge)
    mechanism.add_contact(arm, base, name="touch")
    model = mechanism.finalize(H)
    state = model.initial_state()

    model.set_joint(state, "hinge", 0.5)
    A, _ = dy.linearize(model, state, coordinates="joint")

    # the hinge's angle and the six of the tie, and their rates
    assert A.shape == (14, 14) and np.isfinite(A).all()
    assert (dy.simulate(model, state, 0.5).contact("touch").gap > 0.0).all()


def test_planes_are_not_written_to_files(tmp_path):
    model, _ = boxes()
    mechanism = model.mechanism.copy()
    del mechanism.joints["held"]
    mechanism.add_joint(
        dy.Revolute(mechanism.bodies["base"], mechanism.bodies["box"], axis=(0, 0, 1), name="spin")
    )

    with pytest.warns(dy.io.UnsupportedElementWarning, match="contacts"):
        dy.save_urdf(mechanism, tmp_path / "robot.urdf")

    assert "plane" not in (tmp_path / "robot.urdf").read_text()
    assert list(dy.load(tmp_path / "robot.urdf", base="floating").bodies) == ["base", "box"]


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))]
)
def test_a_pile_of_boxes_comes_to_rest_and_nothing_overlaps(seed):
    rng = np.random.default_rng(seed)
    mechanism, below = dy.Mechanism(), []
    for k in range(5):
        box = mechanism.add_body(
            dy.Box(*rng.uniform(0.2, 0.4, 3), mass=1.0), name=k, orientation=rotation.random(rng),
            position=(*rng.uniform(-0.15, 0.15, 2), 0.5 + 0.75 * k),
        )  # fmt: skip
        mechanism.add_contact(box)
        for other in below:
            mechanism.add_contact(box, other)
        below.append(box)
    model = mechanism.finalize(H)

    motion = dy.simulate(model, model.initial_state(), 5.0)

    for contact in mechanism.contacts.values():
        if contact.plane is not None:
            gaps = [apart(model, motion[k], contact).distance for k in range(0, 501, 10)]
            assert min(gaps) > 0.0
    assert all(np.abs(motion.body_velocity(k)[0][-1]).max() < 0.01 for k in range(5))
