"""Linearized friction cones: what they do to directions and distances, and to nothing else."""

import math

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation

from .grounds import G, H, cube, single

FRICTION, SPEED = 0.3, 2.0
#: Way of a box that slides: v^2 / (2 mu g).
WAY = SPEED**2 / (2 * FRICTION * G)


def slid(cone, degrees):
    """Way of a box thrown along level ground in some direction, shape (2,)."""
    model = single(cube(), (0, 0, 0.25 + 4e-9), friction=FRICTION, cone=cone)
    state, direction = model.initial_state(), math.radians(degrees)
    velocity = (SPEED * math.cos(direction), SPEED * math.sin(direction), 0.0)
    model.set_body(state, "body", velocity=velocity)
    motion = dy.simulate(model, state, 1.5)

    assert motion.contact("touch").gap.min() > 0.0
    return motion.body("body")[0][-1, :2]


def way_by_hand(m, degrees):
    """The same in closed form, friction being the direction that takes most power.

    First it acts along the direction nearest to the velocity, which turns until the next one takes
    as much; then along both, so that they hold the velocity between them.
    """
    angle, theta = 2.0 * math.pi / m, math.radians(degrees)
    v = SPEED * np.array([math.cos(theta), math.sin(theta)])
    near = round(theta / angle)
    far = near + 1 if theta > near * angle else near - 1
    one, two = (np.array([math.cos(i * angle), math.sin(i * angle)]) for i in (near, far))
    t = (v @ one - v @ two) / (FRICTION * G * (1.0 - one @ two))
    x = v * t - 0.5 * FRICTION * G * t**2 * one
    rest = np.linalg.norm(v - FRICTION * G * t * one)
    between = (one + two) / np.linalg.norm(one + two)
    return x + between * rest**2 / (2.0 * FRICTION * G * math.cos(0.5 * angle))


def test_along_a_direction_a_box_slides_as_far_as_in_the_round_cone():
    # the last, partial step: mu g h^2 / 8
    np.testing.assert_allclose(slid(4, 0.0), (WAY, 0.0), atol=4e-5)
    np.testing.assert_allclose(slid(8, 90.0), (0.0, WAY), atol=4e-5)


def test_between_two_directions_friction_is_less_by_the_cosine():
    np.testing.assert_allclose(
        slid(4, 45.0), np.full(2, math.sqrt(0.5) * WAY / math.cos(math.pi / 4)), atol=6e-5
    )


@pytest.mark.parametrize("cone", [4, 6, 8, 16])
@pytest.mark.parametrize("degrees", [10.0, 30.0, 80.0, 200.0])
def test_way_in_every_direction_is_that_of_most_dissipation(cone, degrees):
    # two partial steps, where friction turns and at the end, of mu g h^2 / 8 each
    np.testing.assert_allclose(slid(cone, degrees), way_by_hand(cone, degrees), atol=8e-5)


def test_more_directions_come_as_near_to_the_round_cone_as_their_angle_says():
    worst = []
    for m in (4, 8, 16, 32):
        ways = [(slid(m, degrees), math.radians(degrees)) for degrees in (3.0, 17.0, 33.0)]
        for way, _ in ways:
            assert 1.0 - 1e-4 <= np.linalg.norm(way) / WAY <= 1.0 / math.cos(math.pi / m) + 1e-4
        turned = [abs(math.atan2(y, x) - theta) for (x, y), theta in ways]
        assert max(turned) <= math.pi / m
        worst.append(max(turned))
    assert worst[3] < worst[2] < worst[1] < worst[0]


@pytest.mark.parametrize(("degrees", "part", "idle"), [(0.0, 1.0, 4), (45.0, math.sqrt(0.5), 3)])
@pytest.mark.parametrize("off", [-0.1, 1.0])
def test_box_sticks_below_and_slides_above_the_angle_of_its_direction(degrees, part, idle, off):
    # four directions: an edge of the cone downhill, or the middle of one of its sides
    angle = math.atan(0.5 * part) + math.radians(off)
    across = (math.cos(math.radians(degrees)), math.sin(math.radians(degrees)))
    normal = np.array([math.sin(angle) * across[0], math.sin(angle) * across[1], math.cos(angle)])
    mechanism = dy.Mechanism()
    box = mechanism.add_body(
        cube(), name="box", position=0.25000001 * normal,
        orientation=rotation.from_axis_angle((-across[1], across[0], 0), angle),
    )  # fmt: skip
    ground = dy.HalfSpace(normal)
    mechanism.add_contact(box, against_shape=ground, friction=0.5, cone=4, name="touch")
    model = mechanism.finalize(H)
    state = model.initial_state()

    moved = np.linalg.norm(dy.simulate(model, state, 5.0).final.pose[0, :3] - state.pose[0, :3])

    slope = G * (math.sin(angle) - 0.5 * part * math.cos(angle))
    if off < 0.0:  # it creeps: what each corner leaves of its cone is kappa / psi of all that idle
        creep = idle * model.barrier("touch") / (H * -slope / 4.0)
        assert moved == pytest.approx(5.0 * creep, rel=0.05)
    else:
        assert moved == pytest.approx(0.5 * slope * 25.0, rel=2e-3)


def test_directions_lie_across_the_normal_whatever_that_is():
    # a wall, and gravity into it: the same as on level ground
    mechanism = dy.Mechanism(gravity=(G, 0, 0))
    box = mechanism.add_body(cube(), name="box", position=(-0.25 - 4e-9, 0, 0))
    mechanism.add_contact(
        box, against_shape=dy.HalfSpace(normal=(-1, 0, 0)), friction=FRICTION, cone=4
    )
    model = mechanism.finalize(H)
    state = model.initial_state()
    model.set_body(state, "box", velocity=(0, SPEED, 0))

    way = dy.simulate(model, state, 1.5).body("box")[0][-1]

    np.testing.assert_allclose(way[1:], (WAY, 0.0), atol=4e-5)


def test_force_lies_in_the_hull_of_the_directions():
    model = single(cube(), (0, 0, 0.25 + 4e-9), friction=FRICTION, cone=6)
    state = model.initial_state()
    model.set_body(state, "body", velocity=(1.0, 0.3, 0.0), angular_velocity=(0, 0, 3))
    touch = dy.simulate(model, state, 0.5).contact("touch")

    ways = (2 * np.arange(6) + 1) * math.pi / 6  # across the sides of a hexagon
    across = np.column_stack([np.cos(ways), np.sin(ways)])
    most = (touch.friction_force[..., :2] @ across.T).max(axis=2)
    limit = FRICTION * touch.normal_force * math.cos(math.pi / 6)

    assert (most <= limit + 1e-9).all()
    assert (most[1:20] > 0.99 * limit[1:20])[touch.normal_force[1:20] > 0.1].all()


def test_torsional_and_rolling_friction_stay_as_they_are():
    def motion(cone):
        options = {"friction": 0.5, "torsional": 0.01, "rolling": 0.01, "cone": cone}
        model = single(dy.Sphere(0.25, mass=1.0), (0, 0, 0.25 + 1e-9), **options)
        state = model.initial_state()
        model.set_body(state, "body", velocity=(0.5, 0, 0), angular_velocity=(0, 2.0, 3.0))
        return dy.simulate(model, state, 1.0).body_velocity("body")[1]

    # it rolls, so that sliding friction sticks: off by the creep of the barrier
    np.testing.assert_allclose(motion(8), motion("round"), atol=1e-3)


def test_tumbling_boxes_take_few_iterations():
    iterations = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        model = single(dy.Box(0.5, 0.3, 0.2, mass=1.0), friction=0.4, cone=8)
        state = model.initial_state()
        model.set_body(
            state, "body", orientation=rotation.random(rng), velocity=2.0 * rng.normal(size=3),
            angular_velocity=5.0 * rng.normal(size=3),
        )  # fmt: skip
        motion = dy.simulate(model, state, 3.0)
        iterations.append(motion.info["iterations"] / motion.info["steps"])
        assert motion.contact("touch").gap.min() > 0.0
        assert np.diff(motion.energy()).max() < 1e-2  # half a step's fall: m (g h)^2
    assert np.mean(iterations) <= 3.0


@pytest.mark.parametrize("cone", [0, 2, 3, 7, -4, 8.0, True, "square", None])
def test_cones_that_make_no_sense_are_refused(cone):
    with pytest.raises(ValueError, match=r"cone of contact 'touch' is .*even number of directions"):
        single(cube(), cone=cone)
