"""Gaps of every pair of shapes: against brute force, and their slopes against differences."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.kernels.contacts import geometry as contact_geometry
from dynamics.kinematics.plane_placement import look_at
from dynamics.parts.geometry import Geometry

from .grounds import single

BOX, SPHERE = dy.Box(0.6, 0.4, 0.5, mass=1.0), dy.Sphere(0.3, mass=1.0)
CAPSULE = dy.Capsule(0.15, 0.7, mass=1.0)
ROD = dy.Rod(0.8, radius=0.05, mass=1.0)
CYLINDER = dy.Cylinder(0.25, 0.6, mass=1.0)
COMPOUND = dy.Compound(
    [
        (dy.Sphere(0.2, mass=1.0), (0.5, 0.0, 0.0)),
        (CAPSULE, (-0.4, 0.1, 0.0), (0.8, 0.6, 0.0, 0.0)),
    ]
)
TILTED = dy.HalfSpace(normal=(0.3, -0.2, 1.0), point=(0.1, 0.2, -0.3))
PAIRS = {
    "plane and sphere": (TILTED, SPHERE),
    "plane and box": (TILTED, BOX),
    "plane and capsule": (TILTED, CAPSULE),
    "plane and rod": (TILTED, ROD),
    "plane and cylinder": (TILTED, CYLINDER),
    "plane and compound": (TILTED, COMPOUND),
    "plane and point": (TILTED, np.array([0.1, 0.2, 0.3])),
    "spheres": (SPHERE, SPHERE),
    "capsule and sphere": (CAPSULE, SPHERE),
    "capsule and rod": (CAPSULE, ROD),
    "box and sphere": (BOX, SPHERE),
    "box and point": (BOX, np.array([0.1, 0.2, 0.3])),
}


def pair(first, second):
    """Model of two free bodies with these shapes."""
    mechanism = dy.Mechanism()
    a = mechanism.add_body(SPHERE, name="a")
    b = mechanism.add_body(SPHERE, name="b")
    mechanism.add_contact(b, a, shape=second, against_shape=first, name="touch")
    return mechanism.finalize(0.01)


def placed(model, rng, apart=1.6):
    state = model.initial_state()
    way = rng.normal(size=3)
    way *= apart / np.linalg.norm(way)
    for name, position in (("a", rng.normal(size=3)), ("b", np.zeros(3))):
        model.set_body(state, name, position=position, orientation=rotation.random(rng))
    state.pose[1, :3] = state.pose[0, :3] + way
    return state


def surface(shape, rng, count):
    """Points of a shape's surface or, of a capsule, its axis, and what is left to the surface."""
    if isinstance(shape, np.ndarray):
        return shape[None], 0.0
    if isinstance(shape, dy.Sphere):
        return np.zeros((1, 3)), shape.radius
    if isinstance(shape, (dy.Capsule, dy.Rod)):
        return np.linspace(-0.5, 0.5, count)[:, None] * shape.length * shape.axis, shape.radius
    if isinstance(shape, dy.Cylinder):
        angle = np.linspace(0.0, 2.0 * np.pi, count)
        ring = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], 1) * shape.radius
        end = np.array([0.0, 0.0, 0.5 * shape.length])
        return np.concatenate([ring + end, ring - end]), 0.0
    half = 0.5 * np.array([shape.x, shape.y, shape.z])
    k = round(count ** (1 / 3))
    line = np.linspace(-1.0, 1.0, k)
    return np.stack(np.meshgrid(line, line, line), -1).reshape(-1, 3) * half, 0.0


def thinner_at_ends(first, second):
    """By how much the distance of two segments is more at their ends, relative to their middles."""
    if not (isinstance(first, dy.Capsule) and isinstance(second, dy.Rod)):
        return 0.0
    # sqrt(d^2 + ROUND r^2 / 2) - d, and d is at least r
    return 0.25 * contact_geometry.ROUND * (first.radius + second.radius)


def points(shape, pose, rng, count):
    """Where `surface` lies in the world; of a compound, one pair a part."""
    if isinstance(shape, dy.Compound):
        parts = []
        for part in shape.parts:
            inner, radius = surface(part.shape, rng, count)
            moved = part.position + rotation.rotate(part.orientation, inner)
            parts.append((pose[:3] + rotation.rotate(pose[3:], moved), radius))
        return parts
    inner, radius = surface(shape, rng, count)
    return [(pose[:3] + rotation.rotate(pose[3:], inner), radius)]


@pytest.mark.parametrize("name", PAIRS)
def test_smallest_gap_is_that_of_brute_force(name):
    first, second = PAIRS[name]
    model = pair(first, second)
    rng = np.random.default_rng(3)
    for _ in range(10):
        state = placed(model, rng)
        found = look_at(model, state.data[None])[0]
        near = np.inf
        ends = points(second, state.pose[1], rng, 2000)
        for p, radius in ends:
            if isinstance(first, dy.HalfSpace):
                normal = rotation.rotate(state.pose[0, 3:], first.normal)
                origin = state.pose[0, :3] + rotation.rotate(state.pose[0, 3:], first.point)
                near = min(near, ((p - origin) @ normal).min() - radius)
                continue
            for q, other in points(first, state.pose[0], rng, 2000):
                apart = min(np.linalg.norm(q - one, axis=1).min() for one in p[::20])
                near = min(near, apart - radius - other)

        # brute force looks at a grid: 2000 points an axis, 12 an edge of the box, 100 of the other
        coarse = 0.03 if name.startswith("box") else 5e-3 if name.startswith("capsule") else 1e-5
        thinner = 1e-12
        if isinstance(second, dy.Cylinder):  # whose rims are rounded
            thinner = contact_geometry.ROUND * second.radius
        if name == "capsule and rod":
            thinner = thinner_at_ends(first, second)
        assert near - coarse <= found[:, 0].min() <= near + thinner


@pytest.mark.parametrize("name", PAIRS)
def test_slope_of_a_gap_is_that_of_differences(name):
    model = pair(*PAIRS[name])
    rng = np.random.default_rng(4)
    eps = 1e-6
    for _ in range(5):
        state = placed(model, rng)
        found = look_at(model, state.data[None])[0]
        slope = np.zeros((len(found), 12))
        for j in range(12):
            moved = []
            for sign in (1.0, -1.0):
                near = state.copy()
                step = np.zeros(3)
                step[j % 3] = sign * eps
                if j % 6 < 3:
                    near.pose[j // 6, :3] += step
                else:
                    turn = rotation.from_rotation_vector(step)
                    near.pose[j // 6, 3:] = rotation.multiply(near.pose[j // 6, 3:], turn)
                moved.append(look_at(model, near.data[None])[0, :, 0])
            slope[:, j] = (moved[0] - moved[1]) / (2.0 * eps)

        # rounding of gaps over the difference, and its square
        longest = np.linalg.norm(slope, axis=1).max()
        same = longest * thinner_at_ends(*PAIRS[name]) / found[:, 0].min()
        np.testing.assert_allclose(found[:, 10:], slope, atol=1e-9 + same)


@pytest.mark.parametrize("name", PAIRS)
def test_arms_end_a_gap_apart_along_a_unit_normal(name):
    model = pair(*PAIRS[name])
    state = placed(model, np.random.default_rng(5))
    found = look_at(model, state.data[None])[0]
    a, b = state.pose[:, :3]

    np.testing.assert_allclose(np.linalg.norm(found[:, 1:4], axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(
        b + found[:, 7:10] - a - found[:, 4:7],
        found[:, :1] * found[:, 1:4],
        atol=1e-12 + thinner_at_ends(*PAIRS[name]),
    )


def test_point_within_a_box_is_as_deep_as_the_nearest_face():
    model = pair(BOX, np.zeros(3))
    state = model.initial_state()
    for at, depth, normal in (
        ((0.25, 0.0, 0.0), 0.05, (1, 0, 0)),
        ((0.0, -0.18, 0.1), 0.02, (0, -1, 0)),
        ((0.0, 0.0, -0.2), 0.05, (0, 0, -1)),
    ):
        model.set_body(state, "b", position=at)
        found = look_at(model, state.data[None])[0, 0]

        assert found[0] == pytest.approx(-depth)
        np.testing.assert_allclose(found[1:4], normal, atol=1e-15)


def test_capsules_side_by_side_touch_between_their_middles():
    model = pair(CAPSULE, CAPSULE)
    state = model.initial_state()
    model.set_body(state, "b", position=(0.5, 0.0, 0.0))

    found = look_at(model, state.data[None])[0, 0]

    assert found[0] == pytest.approx(0.2)
    np.testing.assert_allclose(found[1:4], (1, 0, 0), atol=1e-15)


@pytest.mark.parametrize("tilt", [-0.3, -1e-2, -1e-3, -1e-4, -1e-5, 0.0, 1e-5, 1e-4, 1e-2, 1.0])
def test_nearest_points_of_capsules_move_with_a_tilt_and_do_not_jump(tilt):
    # one tilts about its middle, D from the other: D L tilt pulls to an end, ROUND D^2 back
    D, L = 0.1, 0.2
    way = 0.5 * L * np.array([np.cos(tilt), 0.0, np.sin(tilt)])
    ends = [np.array([x, 0.0, 0.0]) for x in (-0.5 * L, 0.5 * L)]
    others = [np.array([0.0, 0.0, D]) - way, np.array([0.0, 0.0, D]) + way]

    s, t, more = contact_geometry.nearest_of_segments(*map(tuple, ends + others), D)

    between = ends[0] + s * (ends[1] - ends[0]) - others[0] - t * (others[1] - others[0])
    pull = L * abs(tilt) / (contact_geometry.ROUND * D)
    assert abs(t - 0.5) <= min(0.5, 1.01 * pull + 1e-12)
    assert abs(tilt) > 1e-5 or abs(t - 0.5) < 0.05
    assert more == pytest.approx(
        contact_geometry.ROUND * D**2 * ((s - 0.5) ** 2 + (t - 0.5) ** 2), abs=1e-18
    )
    least = D - 0.5 * L * np.sin(abs(tilt))
    found = np.sqrt(between @ between + more)
    assert least - 1e-15 <= found <= least + 0.25 * contact_geometry.ROUND * D**2 / least


def test_pairs_that_are_not_offered_say_what_is():
    mechanism = dy.Mechanism()
    a, b = mechanism.add_body(BOX, name="a"), mechanism.add_body(COMPOUND.centered(), name="b")

    with pytest.raises(ValueError, match="Compound with Box is not offered, as .* for each of its"):
        mechanism.add_contact(b, a)


@pytest.mark.parametrize("offset", [0.0, 0.2])
def test_a_geometry_of_a_file_touches_where_it_sits_on_its_body(offset):
    look = Geometry(dy.Sphere(0.1, mass=1.0), np.array([0.0, 0.0, -offset]), np.eye(4)[0])
    model = single(dy.Sphere(0.05, mass=1.0), (0, 0, 1.0), shape=look)
    motion = dy.simulate(model, model.initial_state(), 0.0)

    assert motion.contact("touch").gap == pytest.approx(1.0 - 0.1 - offset, abs=1e-15)


def test_hull_of_points_moves_as_the_box_whose_corners_they_are():
    # Qhull leaves out what lies inside and on sides
    box = dy.Box(0.5, 0.3, 0.2, mass=1.0)
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    corners = 0.5 * signs * (0.5, 0.3, 0.2)
    more = np.vstack([0.9 * corners, corners, 0.5 * (corners[:4] + corners[4:]), np.zeros((1, 3))])

    def fallen(**options):
        model = single(box, friction=0.4, **options)
        state = model.initial_state()
        turn = rotation.from_rotation_vector([0.5, 0.4, 0.1])
        model.set_body(state, "body", orientation=turn, velocity=(1, 0, 0))
        return dy.simulate(model, state, 1.5)

    hull, wanted = fallen(shape=more), fallen()

    assert hull.contact("touch").gap.shape == wanted.contact("touch").gap.shape
    np.testing.assert_allclose(hull.body("body")[0], wanted.body("body")[0], atol=1e-9)


def test_flat_points_all_count_against_half_spaces():
    plate = np.array([(0.1, 0.1, 0), (-0.1, 0.1, 0), (-0.1, -0.1, 0), (0.1, -0.1, 0), (0, 0, 0)])
    model = single(dy.Sphere(0.05, mass=1.0), (0, 0, 0.1), shape=plate)

    motion = dy.simulate(model, model.initial_state(), 1.0)

    assert motion.contact("touch").gap.shape[1] == 5
    assert 0.0 < motion.body("body")[0][-1, 2] < 1e-6
    mechanism = dy.Mechanism()
    one = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="one")
    two = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="two", position=(1, 0, 0))
    with pytest.raises(ValueError, match=r"points of contact 'two\|one' lie in a plane"):
        mechanism.add_contact(one, two, shape=plate)
    with pytest.raises(ValueError, match=r"points of contact 'x' have shape \(2, 2\)"):
        mechanism.add_contact(one, name="x", shape=[(0, 0), (1, 1)])
    with pytest.raises(ValueError, match="give finite numbers"):
        mechanism.add_contact(one, name="x", shape=[(0, 0, np.nan)])


@pytest.mark.parametrize("tilt", [0.0, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 0.5 * np.pi])
def test_a_cylinder_reaches_as_far_as_its_rim_and_never_farther(tilt):
    # r sin of the tilt, less at most ROUND r; exactly so where it stands and where it rolls
    up, axis = np.array([0.0, 0.0, 1.0]), np.array([np.sin(tilt), 0.0, np.cos(tilt)])

    reach, arm = contact_geometry.rim(tuple(axis), tuple(up), 0.2)

    short = 0.2 * np.sin(tilt) - reach
    assert -1e-16 <= short <= 0.2 * contact_geometry.ROUND
    if tilt in (0.0, 0.5 * np.pi):
        assert abs(short) < 1e-16
        np.testing.assert_allclose(arm, -0.2 * np.sin(tilt) * up, atol=1e-16)


@pytest.mark.parametrize("tilt", [3e-6, 1e-4, 1e-3, 1e-2, 0.3, 1.5])
def test_the_arm_of_a_rim_is_the_slope_of_its_reach(tilt):
    # turning about y by d moves the gap by -d arm_x; differences by 1e-3 of the tilt: 1e-6
    def at(angle):
        axis = (np.sin(angle), 0.0, np.cos(angle))
        return contact_geometry.rim(axis, (0.0, 0.0, 1.0), 0.2)

    step = 1e-3 * tilt
    slope = (at(tilt + step)[0] - at(tilt - step)[0]) / (2.0 * step)
    assert abs(at(tilt)[1][0] - slope) < 2e-6 * max(abs(slope), 1e-3)


def test_a_cylinder_that_stands_stays():
    # its four points and the rim share the weight, whatever the direction of a tilt of 1e-9
    mechanism = dy.Mechanism()
    body = mechanism.add_body(dy.Cylinder(0.15, 0.2, mass=2.0), name="tin")
    mechanism.add_contact(body, friction=0.3, name="floor")
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    model.set_body(
        state, "tin", position=[0.0, 0.0, 0.3], angular_velocity=[1.0, 2.0, 3.0],
        orientation=rotation.from_rotation_vector([0.3, 0.1, 0.0]),
    )  # fmt: skip

    motion = dy.simulate(model, state, 5.0)

    assert motion.contact("floor").gap.min() > 0.0
    assert motion.info["softened"] == 0
    assert np.abs(model.velocities(motion.final)).max() < 1e-6
