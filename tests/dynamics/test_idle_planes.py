"""Planes that are not pressed from both sides are laid anew before a step."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.kernels.base import layout, step_info
from dynamics.kernels.collisions import planes
from dynamics.kinematics.near_run import NearRun

H = 0.01


def shapes(mechanism, gap):
    low = mechanism.add_body(dy.Box(0.4, 0.4, 0.2, mass=5.0), name="low", position=(0, 0, 0.1001))
    at = (0, 0, 0.3001 + gap)
    return low, mechanism.add_body(dy.Box(0.2, 0.2, 0.2, mass=1.0), name="high", position=at)


def two_boxes(gap):
    """A light box above a heavy one that stands on a floor, and the motion's first near model."""
    mechanism = dy.Mechanism()
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    shapes(mechanism, gap)
    mechanism.collide()
    model = mechanism.finalize(H)
    return model, model.initial_state()


def lay(run, state):
    """`planes.lay_idle` in the near model of a run; whether it laid any, and the info."""
    near, info = run.near, np.zeros(step_info.INFO_SIZE)
    count = len(near.placing[0])
    laid = planes.lay_idle(
        near.model.tables.plan, near.model.tables.constant, run.models.shapes.solids, near.placing,
        H, run.models.model.n_bodies, np.zeros(count, np.int64), np.zeros(5), state.data, info,
    )  # fmt: skip
    return laid, info


def numbers_of_plane(near, state):
    (plane,), *_ = near.placing
    arrays = state.pose, state.momentum, state.interval_velocity, state.interval_velocity_before
    return np.concatenate([of[plane] for of in arrays])


def test_a_plane_that_went_astray_is_laid_as_in_the_beginning():
    model, start = two_boxes(0.01)
    with NearRun(model.near, start, 1, (0, np.zeros((1, 0)), np.zeros((1, 0)))) as run:
        state = run.state.copy()
        wanted = numbers_of_plane(run.near, state)
        (plane,), *_ = run.near.placing
        turn = rotation.from_axis_angle((1, 0, 0), 0.02)
        state.pose[plane, :3] += (0.05, 0.02, 0.002)
        state.pose[plane, 3:] = rotation.multiply(turn, state.pose[plane, 3:])
        state.interval_velocity[plane] = [1.0, 0, 0, 0, 2.0, 0]

        laid, info = lay(run, state)

        found = numbers_of_plane(run.near, state)
        # the momentum at the start of a motion has no fall of half a step before it
        np.testing.assert_allclose(found[:7], wanted[:7], rtol=0.0, atol=1e-14)
        np.testing.assert_allclose(found[13:], 0.0, rtol=0.0, atol=1e-14)
        body = run.near.model.bodies[plane]
        kinetic = 0.5 * (body.mass + 4.0 * body.inertia[1, 1])
        assert laid and info[step_info.HELD] == pytest.approx(-kinetic, rel=1e-12)


def test_a_plane_between_bodies_that_rest_stays():
    model, start = two_boxes(1e-4)
    state = dy.simulate(model, start, 0.5).final
    with NearRun(model.near, state, 1, (0, np.zeros((1, 0)), np.zeros((1, 0)))) as run:
        kept = run.state.data.copy()

        laid, info = lay(run, run.state)

        assert not laid and not info.any()
        np.testing.assert_array_equal(run.state.data, kept)


def test_faces_that_almost_touch_are_found_apart_whatever_their_tilt():
    """By 1e-8 of 0.2 m: a normal that were off by its square root would make them overlap."""
    model, start = two_boxes(1e-8)
    rng, found = np.random.default_rng(0), np.zeros(5)
    with NearRun(model.near, start, 1, (0, np.zeros((1, 0)), np.zeros((1, 0)))) as run:
        solids, placing, n = run.models.shapes.solids, run.near.placing, model.n_bodies
        for _ in range(50):
            state = run.state.copy()
            for body in range(2):  # corners move by 1e-11
                state.pose[body, 4:] = 1e-10 * rng.uniform(-1.0, 1.0, 3)
            assert planes.separate_contacts(solids, placing, 0, n, state.data, found)
            assert found[4] - found[3] == pytest.approx(1e-8, abs=1e-10)


def test_a_plane_that_one_body_pushes_is_laid_anew():
    """Its contacts with the other one are open: no force passes."""
    model, start = two_boxes(1e-4)
    state = dy.simulate(model, start, 0.5).final
    with NearRun(model.near, state, 1, (0, np.zeros((1, 0)), np.zeros((1, 0)))) as run:
        plan, near = run.near.model.tables.plan, run.near
        (plane,), (owner,), *_ = near.placing
        c = run.state.contacts
        for k in range(int(plan[layout.CONTACTS])):
            at = plan[layout.CONTACT_AT] + k * layout.CONTACT_FIELDS
            ends = {int(plan[at + layout.A]), int(plan[at + layout.B])}
            if plane in ends and owner not in ends:
                c[plan[at + layout.SLOT]] = 1e-9
                c[plan[at + layout.SLOT] + layout.SLACK] = 1.0

        laid, _ = lay(run, run.state)

        assert laid


def test_a_box_falls_onto_another_as_with_the_pair_declared():
    """The plane has no part in it until both are there."""
    found = two_boxes(0.05)
    model = dy.Mechanism()
    model.add_obstacle(dy.HalfSpace(), name="floor")
    low, high = shapes(model, 0.05)
    model.add_contact(low, name="one")
    model.add_contact(high, name="two")
    model.add_contact(high, low, name="touch")
    declared = model.finalize(H)

    motion = dy.simulate(*found, 1.0)
    wanted = dy.simulate(declared, declared.initial_state(), 1.0)

    for name in ("low", "high"):
        np.testing.assert_allclose(
            motion.body(name)[0], wanted.body(name)[0], rtol=0.0, atol=2e-4
        )  # fmt: skip


@pytest.mark.parametrize(("gap", "room"), [(1e-4, False), (5e-3, True)])
def test_a_plane_between_cylinders_has_room_for_their_prisms(gap, room):
    """Contacts of two cylinders see prisms of 24 sides, 0.9 mm wider than this radius."""
    mechanism = dy.Mechanism()
    for k in range(2):
        x = (0.0, 0.0, 0.1 + (0.2 + 0.01) * k)
        lying = rotation.from_axis_angle((0, 1, 0), np.pi / 2)
        mechanism.add_body(
            dy.Cylinder(0.1, 0.3, mass=1.0), name=k, position=x, orientation=lying
        )  # fmt: skip
    mechanism.collide()
    model = mechanism.finalize(H)
    with NearRun(
        model.near, model.initial_state(), 1, (0, np.zeros((1, 0)), np.zeros((1, 0)))
    ) as run:
        state = run.state.copy()
        state.pose[1, 2] = 0.1 + 0.2 + gap
        kept = state.data.copy()

        laid, _ = lay(run, state)

        assert laid == room
        if room:
            motion = dy.Trajectory(run.near.model, np.zeros(1), state.data[None])
            assert min(motion.contact(name).gap.min() for name in motion.contacts) > 0.0
        else:
            np.testing.assert_array_equal(state.data, kept)
