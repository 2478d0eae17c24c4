"""Bodies of any two shapes never overlap, in any order of the arguments, wherever a shape sits."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

import dynamics as dy
from dynamics import rotation
from dynamics.kernels.contacts.geometry import ROUND
from dynamics.parts.geometry import Geometry, Mesh

SIGNS = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
AT, TURN = np.array([0.05, -0.1, 0.08]), rotation.from_axis_angle((1, 2, 3), 0.7)
TILT = rotation.from_axis_angle((0.3, 1, 0.2), 0.4)
STONE = np.array(
    [(0.1, 0, 0), (-0.1, 0.02, 0), (0, 0.1, 0.03), (0, -0.1, 0), (0, 0, 0.12), (0.01, 0, -0.1)]
)
BOX, BALL = dy.Box(0.2, 0.16, 0.12, mass=1.0), dy.Sphere(0.1, mass=1.0)
PILL = dy.Capsule(0.05, 0.2, mass=1.0)


def ball(radius, count=100):
    """Points of a sphere, on a spiral."""
    k = np.arange(count)
    z, angle = 1 - (2 * k + 1) / count, k * np.pi * (3 - np.sqrt(5))
    ring = np.sqrt(1 - z * z)
    return radius * np.stack([ring * np.cos(angle), ring * np.sin(angle), z], 1)


def rims(radius, length):
    angle = np.linspace(0, 2 * np.pi, 32, endpoint=False)
    ring = np.stack([radius * np.cos(angle), radius * np.sin(angle), 0 * angle], 1)
    return np.concatenate([ring + (0, 0, length / 2), ring - (0, 0, length / 2)])


def turned(q, points):
    return rotation.rotate(np.broadcast_to(q, (len(points), 4)), points)


#: Shape of the body, what touches where it is not that, and points whose hull lies in the shape.
SIMPLE = {
    "sphere": (BALL, None, ball(0.1)),
    "capsule": (PILL, None, np.concatenate([ball(0.05) + (0, 0, 0.1), ball(0.05) - (0, 0, 0.1)])),
    "box": (BOX, None, 0.5 * SIGNS * (0.2, 0.16, 0.12)),
    "cylinder": (dy.Cylinder(0.08, 0.2, mass=1.0), None, rims(0.08, 0.2)),
    "hull": (BOX, STONE, STONE),
    "mesh": (
        BOX,
        Geometry(
            Mesh("", "", np.ones(3), STONE, ConvexHull(STONE).simplices),
            np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]),
        ),
        STONE,
    ),
}  # fmt: skip


def of(kind, moved):
    """An entry of `SIMPLE`, moved and turned in its body: a compound, but of points and meshes."""
    shape, own, points = SIMPLE[kind]
    if not moved:
        return shape, own, points
    points = AT + turned(TURN, points)
    if kind == "hull":
        return shape, points, points
    if kind == "mesh":
        return shape, Geometry(own.shape, AT, TURN), points
    return shape, dy.Compound([(shape, AT, TURN)]), points


def margin(one, other):
    """Of a plane between hulls of points, each shrunk by 2 %; 0 where there is none."""
    one, other = (x.mean(axis=0) + 0.98 * (x - x.mean(axis=0)) for x in (one, other))
    (a, b), e = (len(one), len(other)), np.ones((1, 2))
    rows = np.block(
        [[one, np.ones((a, 1)) * (-e * (1, -1))], [-other, np.ones((b, 1)) * e]]
    )  # n . x - d + t <= 0 for the one, d - n . x + t <= 0 for the other
    free = [(-1, 1)] * 3 + [(None, None)] * 2
    return linprog([0, 0, 0, 0, -1], rows, np.zeros(a + b), bounds=free).x[4]


def parts_in_world(motion, name, k, parts):
    x, q = motion.body(name)
    return [x[k] + turned(q[k], part) for part in parts]


def meet(one, two, first, speed=0.5, seconds=0.4):
    """Two free bodies that meet at a speed, one turned; motion. ``first`` is named first."""
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    (shape, own, points), (other_shape, other, other_points) = one, two
    above = turned(TILT, other_points)
    at = points.mean(axis=0) - above.mean(axis=0)
    at[2] = points[:, 2].max() - above[:, 2].min() + 0.05
    a = mechanism.add_body(shape, name="a", position=(0, 0, 0))
    b = mechanism.add_body(other_shape, name="b", position=at, orientation=TILT)
    pair, shapes = ((a, b), (own, other)) if first else ((b, a), (other, own))
    mechanism.add_contact(*pair, shape=shapes[0], against_shape=shapes[1], friction=0.3, name="t")
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    model.set_body(state, "b", velocity=(0, 0, -speed))
    return dy.simulate(model, state, seconds)


def check(motion, parts, others, speed=0.5, every=8, loss=2e-3):
    for k in range(0, len(motion), every):
        for one in parts_in_world(motion, "a", k, parts):
            for other in parts_in_world(motion, "b", k, others):
                assert margin(one, other) > 0.0
    assert motion.body_velocity("a")[0][-1, 2] < -2e-3 * speed  # they did meet
    kinetic = motion.energies()["kinetic"]
    assert kinetic.max() < 1.1 * kinetic[0]  # an interval's tenth, where none is lost before
    momentum = motion.momentum()
    # by friction over a gap (docs/theory/contacts.md) and the tie of a plane of a thousandth
    np.testing.assert_allclose(
        momentum, momentum[[0]] * np.ones((len(motion), 1)), atol=loss * speed
    )


@pytest.mark.parametrize(("one", "two"), list(combinations_with_replacement(SIMPLE, 2)))
def test_two_bodies_never_overlap_and_keep_their_momentum(one, two):
    for moved in ((False, True), (True, False)):
        pair = of(one, moved[0]), of(two, moved[1])
        for first in (True, False):
            check(meet(*pair, first), [pair[0][2]], [pair[1][2]])


@pytest.mark.slow
@pytest.mark.parametrize("speed", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("one", SIMPLE)
def test_no_pair_of_shapes_passes_at_any_speed(one, speed):
    # 0.05 m apart, so that the first step at 100 m/s ends 0.95 m beyond
    for two, low, high, first in product(SIMPLE, *[(False, True)] * 3):
        pair = of(one, low), of(two, high)
        motion = meet(*pair, first, speed, 0.2)
        check(motion, [pair[0][2]], [pair[1][2]], speed, every=2, loss=5e-3)
        struck = motion.body_velocity("a")[0][-1, 2]
        assert struck < -0.02 * speed  # what passes through leaves nothing


def test_parts_of_compounds_touch_each_in_its_own_way():
    # a capsule and a sphere each: of every pair the other may have to be the first
    low, high = np.array([0.0, 0.0, -0.1]), np.array([0.0, 0.0, 0.12])
    pills = dy.Compound([(PILL, low, TURN), (dy.Compound([(BALL, AT)]), high - AT)]).centered()
    boxes = dy.Compound([(BALL, low, TURN), (BOX, high, TILT)]).centered()
    points = {id(shape): SIMPLE[kind][2] for shape, kind in
              ((PILL, "capsule"), (BALL, "sphere"), (BOX, "box"))}  # fmt: skip

    def whole(shape):
        parts = []
        for part in shape.parts:
            inside = whole(part.shape)[1] if isinstance(part.shape, dy.Compound) else [
                points[id(part.shape)]
            ]  # fmt: skip
            parts += [part.position + turned(part.orientation, one) for one in inside]
        return (shape, None, np.concatenate(parts)), parts

    simple = (BALL, None, points[id(BALL)]), [points[id(BALL)]]
    for one, two in ((pills, pills), (pills, BALL), (boxes, BALL)):
        pair = whole(one), simple if two is BALL else whole(two)
        for low, high in (pair, pair[::-1]):
            for first in (True, False):
                check(meet(low[0], high[0], first), low[1], high[1])


@pytest.mark.parametrize("kind", SIMPLE)
@pytest.mark.parametrize("ground", ["half-space", "moved box"])
def test_bodies_stay_above_the_ground(kind, ground):
    shape, own, points = of(kind, True)
    slope = rotation.from_axis_angle((0, 1, 0), 0.1)
    if ground == "half-space":
        normal, low = rotation.rotate(slope, np.array([0.0, 0.0, 1.0])), np.array([0.0, 0.0, 0.4])
        against, corners = dy.HalfSpace(normal, low), None
    else:
        block = dy.Box(2.0, 2.0, 0.5, mass=1.0)
        against = dy.Compound([(block, (0, 0, 0.15), slope)])
        corners = np.array([0, 0, 0.15]) + turned(slope, SIGNS * (1.0, 1.0, 0.25))
    mechanism = dy.Mechanism()
    body = mechanism.add_body(shape, name="b", position=(0, 0, 0.8), orientation=TILT)
    mechanism.add_contact(body, mechanism.world, shape=own, against_shape=against, name="t")
    model = mechanism.finalize(0.01)

    motion = dy.simulate(model, model.initial_state(), 1.0)

    (x, q) = motion.body("b")
    for k in range(0, 101, 10):
        here = x[k] + turned(q[k], points)
        if corners is None:
            assert ((here - low) @ normal).min() > -ROUND * 0.08 - 1e-6  # a rim is rounded
        else:
            assert margin(corners, here) > 0.0
    assert x[-1, 2] < 0.75


def test_contacts_of_two_shapes_without_thickness_are_refused():
    # their distance is never negative: they would pass through each other
    thin = dy.Rod(0.5, mass=1.0)
    for one, two in ((thin, thin), (thin, np.zeros(3)), (np.zeros(3), np.zeros(3))):
        mechanism = dy.Mechanism()
        a = mechanism.add_body(BOX, name="a")
        b = mechanism.add_body(BOX, name="b")
        with pytest.raises(ValueError, match="'t'.* no thickness.*radius"):
            mechanism.add_contact(a, b, shape=one, against_shape=two, name="t")
