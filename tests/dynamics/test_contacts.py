"""Contacts in motion: the figures of the literature, laws of friction and impact, bad input."""

import math

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation

G, H = 9.81, 0.01


def single(
    own, position=(0, 0, 1), timestep=H, against=None, barrier=1e-8, form="second order", **options
):
    """Model of one body over the ground, or over what it is set against."""
    mechanism = dy.Mechanism()
    body = mechanism.add_body(own, name="body", position=position)
    mechanism.add_contact(body, against_shape=against, name="touch", **options)
    return mechanism.finalize(timestep, barrier=barrier, form=form)


def cube(side=0.5):
    return dy.Box(side, side, side, mass=1.0)


# Figures of the specification (maths B.4) and of Bruedigam et al. 2021, Fig. 7


@pytest.mark.parametrize("barrier", [1e-4, 1e-6, 1e-8])
def test_dropped_box_rests_the_barrier_over_its_force_off_the_ground(barrier):
    model = single(cube(), (0, 0, 0.65), barrier=barrier, friction=0.3)

    motion = dy.simulate(model, model.initial_state(), 2.0)
    gap = motion.contact("touch").gap.min(axis=1)

    # four corners bear a quarter of the weight each: 4.08e-5, 4.08e-7 and 4.08e-9 m
    assert gap.min() > 0.0
    assert gap[-1] == pytest.approx(4.0 * barrier / G, rel=1e-3)
    assert motion.contact("touch").normal_force[-1].sum() == pytest.approx(G, rel=1e-6)


def test_point_that_drops_never_passes_the_plane():
    # with unknowns of unit impulse the fraction to the boundary was once inverted: it went below
    for height in (0.0, 1e-9, 1e-3, 0.1, 0.4, 3.0):
        model = single(dy.Sphere(0.1, mass=1.0), (0, 0, height), shape=(0.0, 0.0, 0.0))
        motion = dy.simulate(model, model.initial_state(), 1.5)

        assert motion.body("body")[0][1:, 2].min() > 0.0


@pytest.mark.parametrize("degrees", [0.0, 30.0, 45.0, 200.0])
def test_box_slides_as_far_and_as_straight_in_every_direction(degrees):
    direction = math.radians(degrees)
    # the papers' form starts with a whole kick: first order; half a kick gives v^2 / (2 mu g)
    for timestep, form, distance in (
        (0.01, "first order", 0.66959),
        (0.005, "first order", 0.67458),
        (0.01, "second order", 0.67958),
        (0.005, "second order", 0.67958),
    ):
        model = single(cube(), (0, 0, 0.25 + 4e-9), timestep, form=form, friction=0.3)
        state = model.initial_state()
        model.set_body(
            state, "body", velocity=(2.0 * math.cos(direction), 2.0 * math.sin(direction), 0.0)
        )
        x, y, _ = dy.simulate(model, state, 1.0).body("body")[0][-1]

        # the last, partial step: mu g h^2 / 8
        assert math.hypot(x, y) == pytest.approx(distance, abs=4e-5)
        assert math.remainder(math.atan2(y, x) - direction, 2.0 * math.pi) == pytest.approx(
            0.0, abs=math.radians(1e-3)
        )


def test_sphere_that_slides_ends_up_rolling_at_five_sevenths():
    model = single(dy.Sphere(0.25, mass=1.0), (0, 0, 0.25 + 1e-9), friction=0.3)
    state = model.initial_state()
    model.set_body(state, "body", velocity=(2.0, 0.0, 0.0))

    motion = dy.simulate(model, state, 2.0)
    v, omega = motion.body_velocity("body")

    assert v[-1, 0] == pytest.approx(10.0 / 7.0, rel=5e-4)
    assert 0.25 * omega[-1, 1] == pytest.approx(v[-1, 0], rel=1e-4)


def tumble(seed):
    """A box thrown at the ground: its motion."""
    rng = np.random.default_rng(seed)
    model = single(dy.Box(0.5, 0.3, 0.2, mass=1.0), friction=0.4)
    state = model.initial_state()
    model.set_body(
        state, "body", orientation=rotation.random(rng), velocity=2.0 * rng.normal(size=3),
        angular_velocity=5.0 * rng.normal(size=3),
    )  # fmt: skip
    return dy.simulate(model, state, 4.8)


def tumble_all(seeds):
    iterations, deepest = [], np.inf
    for seed in seeds:
        motion = tumble(seed)
        iterations.append(motion.info["iterations"] / motion.info["steps"])
        deepest = min(deepest, motion.contact("touch").gap.min())
    return np.mean(iterations), deepest


def test_tumbling_boxes_take_few_iterations_and_never_fail():
    mean, deepest = tumble_all(range(40))

    assert mean <= 3.0
    assert deepest > 0.0


@pytest.mark.slow
def test_ten_thousand_tumbling_boxes_never_fail():
    mean, deepest = tumble_all(range(10_000))

    assert mean <= 3.0
    assert deepest > 0.0


def spheres(n, degrees):
    """Chain of spheres on ball joints over flat ground, sloped by some degrees, sliding across."""
    mechanism = dy.Mechanism()
    angle, previous = math.radians(degrees), None
    turn = rotation.from_axis_angle((0, 1, 0), -angle)
    for i in range(n):
        at = (0.5 * i * math.cos(angle), 0.0, 1.25 + 0.5 * i * math.sin(angle))
        ball = mechanism.add_body(
            dy.Sphere(0.25, mass=1.0), name=f"s{i}", position=at, orientation=turn
        )
        mechanism.add_contact(ball, friction=0.5)
        if previous is not None:
            mechanism.add_joint(
                dy.Spherical(previous, ball, parent_point=(0.25, 0, 0), child_point=(-0.25, 0, 0))
            )
        previous = ball
    model = mechanism.finalize(H)
    state = model.initial_state()
    for i in range(n):
        model.set_body(state, f"s{i}", velocity=(0, 1, 0))
    return model, state


@pytest.mark.parametrize(
    ("n", "degrees"), [(1, 0), (5, 0), (20, 0), (100, 0), (1, 30), (5, 30), (20, 30), (44, 30)]
)
def test_chain_of_spheres_falls_without_passing_the_ground(n, degrees):
    model, state = spheres(n, degrees)

    motion = dy.simulate(model, state, 10.0 if n < 40 else 4.0)

    lowest = motion.states[:, 2 : 7 * n : 7].min() - 0.25
    assert lowest > 0.0
    assert motion.constraint_violation().max() < 1e-10


def test_operations_of_an_iteration_are_linear_in_contacts():
    counts = [spheres(n, 0)[0].symbolic.operations for n in (10, 20, 30, 60)]

    assert counts[1] - counts[0] == counts[2] - counts[1]
    assert counts[3] - counts[2] == 3 * (counts[2] - counts[1])


def test_contacts_with_the_ground_add_nothing_to_the_graph():
    mechanism = dy.Mechanism()
    for i in range(3):
        mechanism.add_body(cube(), name=i)
    before = mechanism.finalize(H).symbolic.operations
    for body in mechanism.bodies.values():
        mechanism.add_contact(body)

    assert mechanism.finalize(H).symbolic.operations == before


# Friction


@pytest.mark.parametrize("degrees", [-0.1, 0.1])
def test_box_on_an_incline_sticks_below_and_slides_above_the_friction_angle(degrees):
    angle = math.atan(0.5) + math.radians(degrees)
    normal = np.array([math.sin(angle), 0.0, math.cos(angle)])
    mechanism = dy.Mechanism()
    box = mechanism.add_body(
        cube(), name="box", position=0.25000001 * normal,
        orientation=rotation.from_axis_angle((0, 1, 0), angle),
    )  # fmt: skip
    mechanism.add_contact(box, against_shape=dy.HalfSpace(normal=normal), friction=0.5)
    model = mechanism.finalize(H)
    state = model.initial_state()

    moved = np.linalg.norm(dy.simulate(model, state, 5.0).final.pose[0, :3] - state.pose[0, :3])

    if degrees < 0.0:
        # the barrier lets it creep: head (eta0^2 - eta^2) = kappa eta0, |beta| = head eta / eta0
        head, part = 0.5 * G * math.cos(angle) * H / 4.0, math.tan(angle) / 0.5
        assert moved == pytest.approx(5.0 * 1e-8 / head / (1.0 / part - part), rel=0.01)
    else:
        # and speeds it up by about 4 kappa / (h eta) as it starts
        slope = G * (math.sin(angle) - 0.5 * math.cos(angle))
        assert moved == pytest.approx(0.5 * slope * 25.0, rel=0.02)


def test_friction_force_stays_in_its_cone_and_balances_the_slope():
    angle = math.atan(0.3)
    normal = np.array([0.0, -math.sin(angle), math.cos(angle)])
    model = single(
        dy.Box(0.5, 0.5, 0.5, mass=2.0), 0.3 * normal, against=dy.HalfSpace(normal=normal),
        friction=0.5,
    )  # fmt: skip
    state = model.initial_state()
    model.set_body(state, "body", orientation=rotation.from_axis_angle((1, 0, 0), angle))

    touch = dy.simulate(model, state, 3.0).contact("touch")
    total = touch.normal_force[-1] @ touch.normal[-1] + touch.friction_force[-1].sum(axis=0)

    np.testing.assert_allclose(total, (0, 0, 2.0 * G), atol=1e-6)
    size = np.linalg.norm(touch.friction_force, axis=2)
    assert (size <= 0.5 * touch.normal_force).all()


def spin_or_roll(friction, omega, velocity=(0, 0, 0)):
    model = single(dy.Sphere(0.25, mass=1.0), (0, 0, 0.25 + 1e-9), friction=0.5, **friction)
    state = model.initial_state()
    model.set_body(state, "body", velocity=velocity, angular_velocity=omega)
    return dy.simulate(model, state, 2.0)


def test_torsional_friction_stops_a_spinning_sphere_in_time():
    motion = spin_or_roll({"torsional": 0.01}, (0, 0, 4.0))
    spin = motion.body_velocity("body")[1][:, 2]

    # J w = torsional m g t, J = 0.4 m r^2
    stop = 0.4 * 0.25**2 * 4.0 / (0.01 * G)
    # at a node it is the velocity before that node's impulse: half a step's behind
    before = (motion.time > 0.0) & (motion.time < stop - H)
    wanted = 4.0 * (1 - (motion.time[before] - 0.5 * H) / stop)
    np.testing.assert_allclose(spin[before], wanted, atol=1e-4)
    assert np.abs(spin[motion.time > stop + 2 * H]).max() < 2e-3


def test_rolling_friction_stops_a_rolling_sphere_in_time():
    motion = spin_or_roll({"rolling": 0.01}, (0, 2.0, 0), (0.5, 0, 0))
    spin = motion.body_velocity("body")[1][:, 1]

    # about the point of contact: 7/5 m r^2 w = rolling m g t
    stop = 1.4 * 0.25**2 * 2.0 / (0.01 * G)
    before = motion.time < stop - H
    assert stop < 1.9
    np.testing.assert_allclose(spin[before], 2.0 * (1 - motion.time[before] / stop), atol=2e-2)
    assert np.abs(spin[motion.time > stop + 4 * H]).max() < 2e-3


def test_without_friction_nothing_slows_a_sliding_box():
    model = single(cube(), (0, 0, 0.25 + 4e-9), friction=0.0)
    state = model.initial_state()
    model.set_body(state, "body", velocity=(1.5, -0.5, 0.0))

    v, _ = dy.simulate(model, state, 2.0).body_velocity("body")

    np.testing.assert_allclose(v[:, :2], [[1.5, -0.5]] * len(v), atol=1e-12)


# Impacts


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_ball_comes_back_with_its_part_of_the_velocity(restitution):
    model = single(dy.Sphere(0.1, mass=1.0), (0, 0, 1.1), 1e-3, restitution=restitution)

    v = dy.simulate(model, model.initial_state(), 0.8).body_velocity("body")[0][:, 2]
    fall = np.argmin(v)

    # within a step of the impact
    assert v[fall] == pytest.approx(-math.sqrt(2.0 * G), abs=2e-2)
    assert v[fall + 2 :].max() == pytest.approx(-restitution * v[fall], abs=3e-2)


def test_velocity_of_a_body_at_rest_on_the_ground_is_zero():
    model = single(cube(), (0, 0, 0.3), friction=0.3)

    v, omega = dy.simulate(model, model.initial_state(), 1.0).body_velocity("body")

    # what holds it has 1e7 times the mass; half a step's fall is 0.05 m/s
    assert np.abs(v[-20:]).max() < 1e-7
    assert np.abs(omega[-20:]).max() < 1e-6


def passive(seed):
    """Bodies fall on a random slope, without rebound: worst rise of energy, over its bound."""
    rng = np.random.default_rng(seed)
    mechanism = dy.Mechanism()
    normal = np.array([*(0.3 * rng.normal(size=2)), 1.0])
    above = np.array([0.0, 0.0, 1.5 * np.linalg.norm(normal)])
    for i in range(rng.integers(1, 4)):
        size = rng.uniform(0.2, 0.6, size=3)
        shape = dy.Sphere(size[0], mass=1.0) if rng.random() < 0.5 else dy.Box(*size, mass=1.0)
        body = mechanism.add_body(
            shape, name=i, position=above - i * np.array([-1.0, 0.0, normal[0]])
        )
        mechanism.add_contact(
            body, against_shape=dy.HalfSpace(normal=normal), friction=rng.choice([0.0, 0.3, 0.8])
        )
    model = mechanism.finalize(H)
    state = model.initial_state()
    for i in mechanism.bodies:
        model.set_body(
            state, i, orientation=rotation.random(rng), velocity=rng.normal(size=3),
            angular_velocity=2.0 * rng.normal(size=3),
        )  # fmt: skip
    motion = dy.simulate(model, state, 2.0)
    turn = H * np.linalg.norm(motion.twists.reshape(len(motion), -1, 6)[:, :, 3:], axis=2).max()
    own = turn**2 / 12.0 * motion.energies()["kinetic"].max()
    return np.diff(motion.energy()).max() / ((H * G) ** 2 * mechanism.mass + own)


def test_energy_of_passive_scenes_never_grows_beyond_half_a_step_of_gravity():
    # a body that lands or lifts off is off by half a step's fall, and an interval's velocity is
    # 2 sin(angle / 2) / h, which is off by angle^2 / 24
    assert max(passive(seed) for seed in range(60)) < 1.0


@pytest.mark.slow
def test_energy_of_a_thousand_passive_scenes_never_grows():
    assert max(passive(seed) for seed in range(1000)) < 1.0


def test_stack_of_ten_boxes_stands():
    mechanism = dy.Mechanism()
    previous = mechanism.world
    for i in range(10):
        box = mechanism.add_body(cube(), name=i, position=(0, 0, 0.25 + 0.5 * i + 1e-6 * (i + 1)))
        top = dy.HalfSpace(point=(0, 0, 0.25)) if i else None
        mechanism.add_contact(box, previous, against_shape=top, friction=0.5)
        previous = box
    model = mechanism.finalize(H)
    state = model.initial_state()

    after = dy.simulate(model, state, 10.0).final

    # each sinks onto the one below, and stays
    assert np.abs(after.pose[:, :2]).max() < 1e-6
    assert (after.pose[:, 2] - state.pose[:, 2]).min() > -1.1e-5
    assert np.abs(after.pose[:, 4:]).max() < 1e-6


# A user's own distance


def bowl(pose_a, pose_b):
    """A ball of 0.1 m within a sphere of 1 m."""
    out = pose_b[:3]
    far = np.linalg.norm(out)
    normal = -out / far if far > 0.0 else np.array([0.0, 0.0, 1.0])
    return 1.0 - far - 0.1, normal, out - 0.1 * normal


def test_ball_stays_in_a_bowl_of_a_users_distance():
    model = single(dy.Sphere(0.1, mass=1.0), (0.5, 0, 0), distance=bowl, friction=0.3)

    motion = dy.simulate(model, model.initial_state(), 6.0)
    x = motion.body("body")[0]

    assert np.linalg.norm(x, axis=1).max() < 0.9
    assert x[:, 2].min() == pytest.approx(-0.9, abs=1e-3)
    assert motion.contact("touch").gap.min() > 0.0


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ((math.nan, (0, 0, 1), (0, 0, 0)), "distance of contact 'touch' gave values"),
        ((0.1, (0, 0, 2), (0, 0, 0)), "gave a normal that is no unit vector"),
        ((0.1, (0, 1), (0, 0, 0)), r"gave no normal and point of shape \(3,\)"),
    ],
)
def test_distance_that_makes_no_sense_is_named(given, match):
    model = single(dy.Sphere(0.1, mass=1.0), distance=lambda a, b: given)

    with pytest.raises(ValueError, match=match):
        dy.simulate(model, model.initial_state(), 0.1)


def test_error_of_a_users_distance_comes_through_in_mid_motion():
    def brittle(pose_a, pose_b):
        if pose_b[2] < 0.5:
            raise ZeroDivisionError("mine")
        return pose_b[2], np.array([0.0, 0.0, 1.0]), pose_b[:3]

    model = single(dy.Sphere(0.1, mass=1.0), distance=brittle)
    with pytest.raises(ZeroDivisionError, match="mine"):
        dy.simulate(model, model.initial_state(), 1.0)


# Bad input


def test_start_in_penetration_is_refused_with_name_and_depth():
    model = single(cube(), (0, 0, 0.2))
    state = model.initial_state()

    with pytest.raises(dy.InconsistentStateError, match="'touch' overlaps by 5.00e-02 m"):
        dy.simulate(model, state, 1.0)

    apart = dy.separate(model, state)
    assert apart.pose[0, 2] == pytest.approx(0.25, abs=1e-8)
    dy.simulate(model, apart, 0.1)


def test_separated_bodies_move_by_their_masses():
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    a = mechanism.add_body(dy.Sphere(0.5, mass=1.0), name="a", position=(0, 0, 0))
    b = mechanism.add_body(dy.Sphere(0.5, mass=3.0), name="b", position=(0.8, 0, 0))
    mechanism.add_contact(b, a)
    model = mechanism.finalize(H)

    after = dy.separate(model, model.initial_state())

    np.testing.assert_allclose(after.pose[:, 0], [-0.15, 0.85], atol=1e-8)


@pytest.mark.parametrize("what", ["friction", "torsional", "rolling", "restitution", "compliance"])
@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
def test_coefficients_that_make_no_sense_are_refused(what, value):
    with pytest.raises(ValueError, match=f"{what} of contact 'touch' is"):
        single(cube(), **{what: value})


def test_more_misuse_is_named():
    mechanism = dy.Mechanism()
    a, b = mechanism.add_body(cube(), name="a"), mechanism.add_body(cube(), name="b")
    mechanism.add_joint(dy.Fixed(a, b, parent_point=(0.5, 0, 0), name="weld"))
    for options, match in (
        ({"restitution": 1.5}, "more than 1 makes energy"),
        ({"friction": 0.0, "rolling": 0.1}, "resists turning but not sliding"),
    ):
        with pytest.raises(ValueError, match=match):
            mechanism.add_contact(a, **options)
    with pytest.raises(ValueError, match="'x' is of bodies that joint 'weld' holds rigidly"):
        mechanism.add_contact(a, b, name="x", shape=(0, 0, 0))
    with pytest.raises(ValueError, match="is of 'a' with itself"):
        mechanism.add_contact(a, a)
    with pytest.raises(ValueError, match="normal of a half-space is zero"):
        dy.HalfSpace(normal=(0, 0, 0))
    bare = mechanism.add_body(mass=1.0, inertia=np.eye(3), name="bare")
    with pytest.raises(ValueError, match="body 'bare' has no shape"):
        mechanism.add_contact(bare)


def test_contact_of_an_unknown_name_lists_those_there_are():
    model = single(cube())
    motion = dy.simulate(model, model.initial_state(), 0.1)

    assert motion.contacts == ["touch"]
    with pytest.raises(dy.UnknownNameError, match=r"no contact 'other'; there are \['touch'\]"):
        motion.contact("other")
