"""Bodies do not go through each other between nodes, however fast they are."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation

H = 0.01
BALL = dy.Sphere(0.03, mass=0.1)
HALF = rotation.from_axis_angle((1, 0, 0), np.pi / 2)


def throw(shape, against, speed, *, at=(0.0, 0.0, 0.0), orientation=(1, 0, 0, 0), **options):
    """A body thrown along x at a body of the same mass that is free, or at a shape of the world."""
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    one = mechanism.add_body(shape, name="one", position=(-0.333, 0, 0))
    other = mechanism.world
    if not isinstance(against, dy.Compound):
        other = mechanism.add_body(against, name="other", position=at, orientation=orientation)
        against = None
    mechanism.add_contact(one, other, against_shape=against, name="c", friction=0.0, **options)
    model = mechanism.finalize(H)
    state = model.initial_state()
    model.set_body(state, "one", velocity=(speed, 0, 0))
    return dy.simulate(model, state, max(10 * H, H * round(2 / speed / H)))


@pytest.mark.parametrize("speed", [1.0, 10.0, 37.0, 200.0])
def test_a_ball_stays_before_a_wall_of_a_centimetre(speed):
    wall = dy.Compound([(dy.Box(0.01, 1.0, 1.0, mass=1.0), (0.005, 0, 0))])

    motion = throw(BALL, wall, speed)

    assert motion.body("one")[0][:, 0].max() < -0.03
    assert motion.body("one")[0][-1, 0] > -0.05  # it is there


@pytest.mark.parametrize("speed", [20.0, 200.0])
def test_balls_head_on_share_their_momentum(speed):
    motion = throw(BALL, BALL, speed)

    v = [motion.body_velocity(name)[0][-1, 0] for name in ("one", "other")]
    np.testing.assert_allclose(v, 0.5 * speed, rtol=1e-4)
    gap = motion.body("other")[0][:, 0] - motion.body("one")[0][:, 0] - 0.06
    assert gap.min() > 0.0


def test_balls_that_bounce_exchange_their_velocities():
    motion = throw(BALL, BALL, 100.0, restitution=1.0)

    v = [motion.body_velocity(name)[0][-1, 0] for name in ("one", "other")]
    np.testing.assert_allclose(v, [0.0, 100.0], atol=1e-6)


def test_crossed_capsules_do_not_cut_through_each_other():
    pill = dy.Capsule(0.02, 0.4, mass=0.1)

    motion = throw(pill, pill, 50.0, orientation=HALF)

    v = [motion.body_velocity(name)[0][-1, 0] for name in ("one", "other")]
    np.testing.assert_allclose(v, 25.0, rtol=1e-4)


@pytest.mark.parametrize("speed", [10.0, 100.0])
@pytest.mark.parametrize(
    "shape", [dy.Box(0.05, 0.05, 0.05, mass=0.1), dy.Capsule(0.02, 0.1, mass=0.1)]
)
def test_shapes_with_a_plane_between_do_not_pass_either(shape, speed):
    wall = dy.Compound([(dy.Box(0.01, 1.0, 1.0, mass=1.0), (0.005, 0, 0))])

    motion = throw(shape, wall, speed)

    assert motion.body("one")[0][:, 0].max() < -0.019


def test_what_flies_by_is_neither_touched_nor_cut():
    motion = throw(BALL, BALL, 100.0, at=(0, 0.061, 0))

    np.testing.assert_allclose(motion.body_velocity("other")[0][-1], 0.0, atol=1e-4)
    assert motion.info["most_intervals"] == 1
