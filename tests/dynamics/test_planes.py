"""Convex bodies that touch a plane between them: rest, impact, balance, friction, gradients."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import dynamics as dy
from dynamics import rotation
from dynamics.kinematics.plane_placement import apart
from dynamics.parts.separating_planes import GRIP, LIGHT

G, H = 9.81, 0.01
SIGNS = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T


def corners(x, y, z):
    return 0.5 * SIGNS * (x, y, z)


def in_world(motion, name, points):
    x, q = motion.body(name)
    return x[:, None] + rotation.rotate(q[:, None], points)


def distance(first, other):
    """Of two hulls, at least: that of the origin from the faces of their differences."""
    cloud = (other[:, None] - first).reshape(-1, 3)
    return ConvexHull(cloud).equations[:, 3].max()


def fixed(mechanism, size):
    """A box that stays where it is, its upper face at z = 0."""
    base = mechanism.add_body(dy.Box(*size, mass=1e3), name="base")
    down = (0, 0, -0.5 * size[2])
    mechanism.add_joint(dy.Fixed(mechanism.world, base, parent_point=down, name="held"))
    return base


def on_base(size=(1, 1, 1), own=(0.5, 0.5, 0.5), at=(0, 0, 0.25), friction=0.3, **options):
    mechanism = dy.Mechanism()
    base = fixed(mechanism, size)
    box = mechanism.add_body(dy.Box(*own, mass=1.0), name="box", position=at)
    mechanism.add_contact(box, base, name="touch", friction=friction, **options)
    return mechanism.finalize(H)


def test_box_rests_on_a_box_at_the_gaps_of_the_barrier():
    # four corners of each, one above the other, press on the plane with m g / 4 and a plane's more
    model = on_base(size=(0.5, 0.5, 0.5), at=(0, 0, 0.3))

    motion = dy.simulate(model, model.initial_state(), 1.0)

    each = 0.25 * G
    kappa = model.barrier("touch")
    wanted = kappa / each + kappa / (each * (1.0 + LIGHT))
    assert motion.body("box")[0][-1, 2] - 0.25 == pytest.approx(wanted, rel=1e-3)
    touch = motion.contact("touch")
    np.testing.assert_allclose(np.sort(touch.gap[-1])[:4], kappa / each, rtol=1e-3)
    assert touch.normal_force[-1].sum() == pytest.approx(G, rel=1e-6)
    assert (motion.states[:, 9] >= 0.25).all()


def test_crossed_edges_come_to_rest_one_on_the_other():
    # cubes of side 0.3 on their edges, along x and along y: 0.15 sqrt(2) from centre to edge each
    mechanism = dy.Mechanism()
    eighth, half = rotation.from_axis_angle((1, 0, 0), np.pi / 4), 0.15 * np.sqrt(2)
    base = mechanism.add_body(dy.Box(1.0, 0.3, 0.3, mass=1.0), name="base")
    mechanism.add_joint(dy.Fixed(mechanism.world, base, orientation=eighth, name="held"))
    across = rotation.from_axis_angle((0, 1, 0), np.pi / 4)
    box = mechanism.add_body(
        dy.Box(0.3, 1.0, 0.3, mass=1.0), name="box", position=(0, 0, 0.6), orientation=across
    )
    mechanism.add_contact(box, base, name="touch")
    model = mechanism.finalize(H)

    motion = dy.simulate(model, model.initial_state(), 1.0)

    x = motion.body("box")[0]
    # two ends of each edge bear m g / 2
    assert x[-1, 2] - 2 * half == pytest.approx(4.0 * model.barrier("touch") / G, rel=5e-3)
    # falls for sqrt(2 (0.6 - 2 half) / g) = 0.189 s, then stays; pushes the plane, a thousandth of
    # its mass, before it at the end: 1e-3 (1.9 m/s) (0.02 s)
    fall = np.sqrt(2 * (0.6 - 2 * half) / G)
    before = motion.time < fall - H
    np.testing.assert_allclose(x[before, 2], 0.6 - 0.5 * G * motion.time[before] ** 2, atol=4e-5)
    np.testing.assert_allclose(x[motion.time > fall + H, 2], 2 * half, atol=1e-6)


@pytest.mark.parametrize(("over", "stays"), [(0.49, True), (0.51, False)])
def test_box_over_the_edge_stays_while_its_centre_is_supported(over, stays):
    model = on_base(at=(over, 0, 0.2501))

    motion = dy.simulate(model, model.initial_state(), 1.0)

    dropped = 0.25 - motion.body("box")[0][-1, 2]
    assert abs(dropped) < 1e-6 if stays else dropped > 0.1


def test_box_falls_on_its_corner_as_on_the_ground():
    def fallen(mechanism, box, **options):
        mechanism.add_contact(box, friction=0.3, name="touch", **options)
        model = mechanism.finalize(H)
        state = model.initial_state()
        turn = rotation.from_rotation_vector([0.5, 0.4, 0.1])
        model.set_body(state, "box", orientation=turn, velocity=(1, 0, 0))
        return dy.simulate(model, state, 0.6)

    def box_of(mechanism):
        return mechanism.add_body(dy.Box(0.5, 0.3, 0.2, mass=1.0), name="box", position=(0, 0, 0.6))

    ground = dy.Mechanism()
    wanted = fallen(ground, box_of(ground))
    table = dy.Mechanism()
    base = fixed(table, (4, 4, 1))
    found = fallen(table, box_of(table), against=base)

    # through two impacts; the plane's mass and inertia are a thousandth of the box's
    for mine, theirs in zip(found.body("box"), wanted.body("box")):
        np.testing.assert_allclose(mine, theirs, atol=10 * LIGHT)
    assert wanted.contact("touch").normal_force.max() > 100.0


@pytest.mark.parametrize("degrees", [0, 20, 45])
def test_sliding_box_stops_where_friction_stops_it(degrees):
    model = on_base(size=(20, 20, 1), at=(0, 0, 0.25 + 4e-9))
    state = model.initial_state()
    way = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees)), 0.0])
    model.set_body(state, "box", velocity=2.0 * way)

    x = dy.simulate(model, state, 1.0).body("box")[0][-1]

    # v^2 / (2 mu g); the last, partial step counts for h v / 2 in it at most
    assert x @ way == pytest.approx(2.0**2 / (2 * 0.3 * G), abs=1e-4)
    assert np.linalg.norm(x - x @ way * way - [0, 0, x[2]]) < 1e-6


@pytest.mark.parametrize("side", [0.2, 1.0])
def test_spin_is_braked_by_the_smaller_face(side):
    # corners of the base's face bear m g / 4 each, however large the slab on it is
    mechanism = dy.Mechanism()
    base = fixed(mechanism, (0.2, 0.2, 0.2))
    slab = mechanism.add_body(
        mass=1.0, inertia=[0.02] * 3, name="slab", position=(0, 0, 0.05 + 4e-9)
    )
    shape = dy.Box(side, side, 0.1, mass=1.0)
    mechanism.add_contact(slab, base, shape=shape, friction=0.3, name="touch")
    model = mechanism.finalize(H)
    state = model.initial_state()
    model.set_body(state, "slab", angular_velocity=(0, 0, 5))

    motion = dy.simulate(model, state, 0.12)

    spin = motion.twists.reshape(len(motion), -1, 6)[:, 1, 5]
    brake = 0.3 * G * 0.1 * np.sqrt(2) / 0.02
    # the plane's inertia and damper take a thousandth each; a sliding node's velocity is that of
    # half an interval before, and the first step, in which the plane is pressed on, may have two
    assert (spin[2] - spin[12]) / (10 * H) == pytest.approx(brake, rel=5e-3)


def test_stack_of_boxes_each_turned_by_30_degrees_stays():
    mechanism, before = dy.Mechanism(), None
    for k in range(5):
        q = rotation.from_axis_angle((0, 0, 1), np.radians(30 * k))
        box = mechanism.add_body(
            dy.Box(0.5, 0.5, 0.5, mass=1.0), name=k, position=(0, 0, 0.25 + 0.5 * k), orientation=q
        )
        mechanism.add_contact(box, *(() if before is None else (before,)), name=f"under {k}")
        before = box
    model = mechanism.finalize(H)

    motion = dy.simulate(model, model.initial_state(), 10.0)

    for k in range(5):
        x, q = motion.body(k)
        np.testing.assert_allclose(x - x[0], 0.0, atol=1e-6)
        np.testing.assert_allclose(q - q[0], 0.0, atol=1e-6)
    assert motion.info["iterations"] < 100  # what rests costs nothing


def shape(kind, rng):
    """Shape of a body, what it touches with, and points of the latter's hull."""
    if kind == "box":
        size = rng.uniform(0.1, 0.5, 3)
        own = dy.Box(*size, mass=rng.uniform(0.5, 2.0))
        return own, own, corners(*size)
    points = 0.2 * rng.normal(size=(rng.integers(5, 20), 3))
    return dy.Sphere(0.25, mass=rng.uniform(0.5, 2.0)), points, points


def tumbling(seed, friction):
    """Two polyhedra, pulled together by a spring."""
    rng = np.random.default_rng(seed)
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    (one, a_shape, a_points), (two, b_shape, b_points) = (
        shape(rng.choice(["box", "hull"]), rng) for _ in range(2)
    )
    a = mechanism.add_body(one, name="a", position=(0, 0, 0), orientation=rotation.random(rng))
    b = mechanism.add_body(two, name="b", position=(1.6, 0, 0), orientation=rotation.random(rng))
    mechanism.add_contact(
        b, a, shape=b_shape, against_shape=a_shape, friction=friction, name="touch"
    )
    mechanism.add_force(dy.Spring(a, b, stiffness=20.0, length=0.0, name="pull"))
    model = mechanism.finalize(H)
    state = model.initial_state()
    for name in ("a", "b"):
        model.set_body(
            state, name, velocity=0.5 * rng.normal(size=3), angular_velocity=3 * rng.normal(size=3)
        )
    return model, state, a_points, b_points


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_tumbling_polyhedra_never_overlap(friction):
    touched = 0
    for seed in range(10):
        model, state, a_points, b_points = tumbling(seed, friction)

        motion = dy.simulate(model, state, 2.0)

        one, two = in_world(motion, "a", a_points), in_world(motion, "b", b_points)
        gaps = [distance(first, other) for first, other in zip(one, two)]
        assert min(gaps) > 0.0
        touched += min(gaps) < 1e-6
        # impulses of both sides are equal, up to the tolerance of a step (1e-9 N s)
        total = motion.states[:, 21:39].reshape(len(motion), 3, 6)[:, :, :3].sum(axis=1)
        np.testing.assert_allclose(total - total[0], 0.0, atol=1e-4)
        touch = motion.contact("touch")
        size = np.linalg.norm(touch.friction_force, axis=-1)
        assert (size <= GRIP * friction * touch.normal_force + 1e-9 / H).all()
        # measured energy wavers by E (h omega)^2 / 12, the difference of sines and angles
        energy, omega = motion.energy(), motion.twists.reshape(len(motion), 3, 6)[:, :2, 3:]
        waver = (H * np.linalg.norm(omega, axis=-1).max()) ** 2 / 12
        assert energy.max() <= energy[0] * (1 + waver)
    assert touched >= 9


def test_hull_against_a_ball_as_a_box_against_a_ball():
    # the one touches a plane, the other by the distance of a box from a point
    def motion(shape):
        mechanism = dy.Mechanism()
        base = fixed(mechanism, (1, 1, 1))
        ball = mechanism.add_body(dy.Sphere(0.2, mass=1.0), name="ball", position=(0.3, 0, 0.4))
        mechanism.add_contact(ball, base, against_shape=shape, friction=0.3, name="touch")
        model = mechanism.finalize(H)
        state = model.initial_state()
        model.set_body(state, "ball", velocity=(1.0, 0.2, 0.0))
        return dy.simulate(model, state, 0.8)

    found, wanted = motion(corners(1, 1, 1)), motion(None)

    # it lands, rolls over the edge and falls; in the turn the plane has a hundredth of its inertia
    x, y = found.body("ball")[0], wanted.body("ball")[0]
    over = y[:, 0] < 0.5
    assert 15 < over.sum() < len(y) - 10
    np.testing.assert_allclose(x[over], y[over], atol=2e-3)
    np.testing.assert_allclose(x, y, atol=2e-2)


def test_world_may_have_a_shape():
    mechanism = dy.Mechanism()
    box = mechanism.add_body(dy.Box(0.2, 0.2, 0.2, mass=1.0), name="box", position=(0.1, 0, 0.7))
    mechanism.add_contact(box, against_shape=corners(1, 1, 1), name="touch")
    model = mechanism.finalize(H)

    motion = dy.simulate(model, model.initial_state(), 1.0)

    assert 0.0 < motion.body("box")[0][-1, 2] - 0.6 < 1e-6


def test_steps_alone_are_those_of_a_run_and_planes_follow_what_is_placed_anew():
    model = on_base(at=(0.1, 0.2, 0.3))
    state = model.initial_state()
    model.set_body(state, "box", position=(1.2, 0, -0.5))  # beside the base
    contact = model.mechanism.contacts["touch"]
    assert apart(model, state, contact).distance == pytest.approx(1.2 - 0.5 - 0.25)

    motion = dy.simulate(model, state, 0.2)
    for k in range(20):
        state, _ = model.step(state)
        assert np.array_equal(state.data, motion[k + 1].data)

    assert (motion.contact("touch").gap > 0.0).all()


def test_start_in_penetration_is_refused_with_its_depth_and_separated():
    model = on_base(size=(0.5, 0.5, 0.5), at=(0.1, 0, 0.2))
    state = model.initial_state()

    with pytest.raises(dy.InconsistentStateError, match="'touch' overlaps by 5.00e-02 m"):
        dy.simulate(model, state, 0.1)

    free = dy.separate(model, state)
    assert apart(model, free, model.mechanism.contacts["touch"]).distance > 0.0
    assert free.pose[1, 2] == pytest.approx(0.25, abs=1e-6)
    dy.simulate(model, free, 0.1)


def test_compliance_is_that_of_a_corner():
    # C m g / 4 deep, in two halves, one on each side of the plane
    model = on_base(size=(0.5, 0.5, 0.5), at=(0, 0, 0.25), compliance=1e-4)

    motion = dy.simulate(model, model.initial_state(), 3.0)

    assert 0.25 - motion.body("box")[0][-1, 2] == pytest.approx(1e-4 * G / 4, rel=2e-3)


def test_round_shapes_rest_on_cylinders():
    # a can on a can and a ball on it: both are prisms, whose ends are flat
    mechanism, can = dy.Mechanism(), dy.Cylinder(0.2, 0.3, mass=1.0)
    low = mechanism.add_body(can, name="low", position=(0, 0, 0.15))
    high = mechanism.add_body(can, name="high", position=(0.05, 0, 0.46))
    ball = mechanism.add_body(dy.Sphere(0.1, mass=0.5), name="ball", position=(0.04, 0, 0.72))
    mechanism.add_contact(low, name="floor")
    mechanism.add_contact(high, low, name="cans")
    mechanism.add_contact(ball, high, name="top", rolling=0.01)
    model = mechanism.finalize(H)

    motion = dy.simulate(model, model.initial_state(), 1.5)

    for name, height in (("low", 0.15), ("high", 0.45), ("ball", 0.7)):
        assert motion.body(name)[0][-1, 2] == pytest.approx(height, abs=1e-6)
    contact = mechanism.contacts["cans"]
    assert len(contact.touches) == 2 * 2 * 24


def test_a_can_rolls_down_a_slope_of_a_box():
    # a solid cylinder: a = 2/3 g sin(angle) where friction holds it
    angle = 0.2
    mechanism = dy.Mechanism()
    q = rotation.from_axis_angle((0, 1, 0), angle)
    base = mechanism.add_body(dy.Box(8, 2, 1, mass=1e3), name="base")
    down = rotation.rotate(q, np.array([0, 0, -0.5]))
    mechanism.add_joint(
        dy.Fixed(mechanism.world, base, parent_point=down, orientation=q, name="held")
    )
    start = rotation.rotate(q, np.array([0, 0, 0.1 + 1e-6]))
    can = dy.Cylinder(0.1, 0.4, mass=1.0, axis=(0, 1, 0))
    rolling = mechanism.add_body(can, name="can", position=start, orientation=q)
    mechanism.add_contact(rolling, base, friction=0.5, name="touch")
    model = mechanism.finalize(H)

    x = dy.simulate(model, model.initial_state(), 1.0).body("can")[0][-1] - start

    way = rotation.rotate(q, np.array([1.0, 0, 0]))
    # what ties the plane to the can holds it up: damper and spring (separating_planes), by
    # LIGHT FADING t / 3 + SLOW SPIN_FADING t / 9 + LIGHT NEAR^2 t^2 / 12, a half percent in all
    assert x @ way == pytest.approx(0.5 * 2 / 3 * G * np.sin(angle), rel=1e-2)
