"""Mass, volume and inertia of shapes: formulas by hand, integrals, and sums over parts."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamics import rotation
from dynamics.parts.shapes import Box, Capsule, Compound, Cylinder, Ellipsoid, Rod, Sphere, spread

EPS = np.finfo(float).eps
ORIGIN = (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("shape", "volume", "moments"),
    [
        (Box(1, 2, 3, mass=12), 6, [4 + 9, 1 + 9, 1 + 4]),
        (Sphere(2, mass=5), 32 / 3 * np.pi, [8, 8, 8]),
        (Ellipsoid(1, 2, 3, mass=5), 8 * np.pi, [4 + 9, 1 + 9, 1 + 4]),
        (Cylinder(2, 6, mass=1), 24 * np.pi, [4, 4, 2]),
        (Rod(6, mass=2), 0, [6, 6, 0]),
        (Rod(6, 2, mass=1), 24 * np.pi, [4, 4, 2]),
        # a cylinder of 4 kg (1, 1, 1/2 each kg for r = 1, l = 3) and a ball of 4/9 of that
        (
            Capsule(1, 3, mass=13),
            13 / 3 * np.pi,
            [9 * 1 + 4 * (0.4 + 9 / 4 + 9 / 8)] * 2 + [9 / 2 + 4 * 0.4],
        ),
    ],
)
def test_moments_are_those_of_the_textbook(shape, volume, moments):
    assert shape.volume == pytest.approx(volume, rel=4 * EPS)
    assert shape.inertia == pytest.approx(np.diag(moments), rel=8 * EPS, abs=0)
    assert np.array_equal(shape.center_of_mass, ORIGIN)


def test_the_capsule_is_the_integral_over_its_slices():
    r, length = 0.3, 0.5
    # Slices are discs: polynomials of z of degree 4 at most on each piece, so 3 points are exact.
    points, weights = np.polynomial.legendre.leggauss(3)
    volume = along = across = 0.0
    ends = np.array([-length / 2 - r, -length / 2, length / 2, length / 2 + r])
    for a, b in zip(ends, ends[1:]):
        z, dz = (a + b) / 2 + (b - a) / 2 * points, (b - a) / 2 * weights
        disc = r**2 - np.maximum(abs(z) - length / 2, 0.0) ** 2  # squared radius
        volume += np.pi * disc @ dz
        along += np.pi * (disc**2 / 2) @ dz
        across += np.pi * (disc**2 / 4 + disc * z**2) @ dz

    capsule = Capsule(r, length, density=1.0)

    assert capsule.mass == pytest.approx(volume, rel=32 * EPS)
    assert np.diag(capsule.inertia) == pytest.approx([across, across, along], rel=32 * EPS)


@pytest.mark.parametrize(
    ("shape", "sizes"), [(Box, (1, 2, 3)), (Sphere, (2,)), (Capsule, (1, 3)), (Rod, (3, 0.1))]
)
def test_density_fills_the_volume(shape, sizes):
    by_density = shape(*sizes, density=700.0)
    by_mass = shape(*sizes, mass=700.0 * by_density.volume)

    assert by_density.mass == by_mass.mass
    assert np.array_equal(by_density.inertia, by_mass.inertia)


def test_a_long_capsule_or_cylinder_comes_close_to_the_thin_rod():
    rod = Rod(1.0, mass=3.0).inertia

    # their moments differ by the order of the radius over the length
    assert Capsule(1e-9, 1.0, mass=3.0).inertia == pytest.approx(rod, abs=1e-8)
    assert Cylinder(1e-9, 1.0, mass=3.0).inertia == pytest.approx(rod, abs=1e-8)


@pytest.mark.parametrize("shape", [Cylinder, Capsule])
def test_the_axis_may_be_any_direction(shape):
    upright = np.diag(shape(0.2, 1.0, mass=2.0).inertia)

    lying = shape(0.2, 1.0, mass=2.0, axis=(-3, 0, 0))
    assert np.array_equal(lying.axis, [-1, 0, 0])
    assert np.diag(lying.inertia) == pytest.approx(upright[[2, 0, 1]], rel=8 * EPS)

    n = np.array([1.0, 2.0, 2.0]) / 3.0
    tilted = shape(0.2, 1.0, mass=2.0, axis=3 * n)
    assert tilted.inertia @ n == pytest.approx(upright[2] * n, rel=32 * EPS)
    assert np.linalg.eigvalsh(tilted.inertia) == pytest.approx(np.sort(upright), rel=32 * EPS)


def test_two_halves_make_the_whole():
    half = Box(1, 2, 1.5, mass=6)
    both = Compound([(half, (5, 0, 0.75)), (half, (5, 0, -0.75))])
    whole = Box(1, 2, 3, mass=12)

    assert both.mass == 12
    assert both.volume == whole.volume
    assert np.array_equal(both.center_of_mass, [5, 0, 0])
    assert both.inertia == pytest.approx(whole.inertia, rel=16 * EPS, abs=0)
    assert np.array_equal(both.centered().center_of_mass, ORIGIN)


def test_a_dumbbell_by_hand():
    # balls of 1 kg and 3 kg, 4 m apart: 3 m and 1 m from their centre of mass
    ball = 0.4 * 0.01
    light, heavy = Sphere(0.1, mass=1), Sphere(0.1, mass=3)
    dumbbell = Compound([(light, (0, 0, 0)), (heavy, (0, 4, 0))])

    assert np.array_equal(dumbbell.center_of_mass, [0, 3, 0])
    across = 4 * ball + 1 * 9 + 3 * 1
    assert dumbbell.inertia == pytest.approx(np.diag([across, 4 * ball, across]), rel=8 * EPS)


def test_a_part_is_turned_by_its_orientation():
    quarter = rotation.from_axis_angle([0, 1, 0], np.pi / 2)

    turned = Compound([(Box(1, 2, 3, mass=12), ORIGIN, quarter)])

    assert turned.inertia == pytest.approx(np.diag([5, 10, 13]), abs=16 * EPS * 13)
    assert not turned.parts[0].orientation.flags.writeable


numbers = st.floats(-2.0, 2.0)
places = st.tuples(numbers, numbers, numbers)
turns = st.tuples(numbers, numbers, numbers, numbers).filter(lambda q: max(map(abs, q)) > 1e-3)


@given(places, turns, places, turns)
def test_moments_of_a_compound_move_and_turn_with_it(a, p, b, q):
    shapes = [(Box(0.1, 0.2, 0.3, mass=2), a, p), (Capsule(0.1, 0.4, mass=1), b)]
    still = Compound(shapes)

    moved = Compound([(still, (1, 2, 3), q)])  # a compound within a compound

    R = rotation.to_matrix(q)
    # distances up to 2 sqrt(3) + sqrt(14), masses of 3 kg: some 1e2 times machine epsilon
    assert moved.mass == 3
    center = R @ still.center_of_mass + [1, 2, 3]
    assert moved.center_of_mass == pytest.approx(center, abs=1e2 * EPS)
    assert moved.inertia == pytest.approx(R @ still.inertia @ R.T, abs=1e3 * EPS)
    principal = np.linalg.eigvalsh(moved.inertia)
    assert principal[0] > 0
    assert principal[2] <= principal[0] + principal[1] + 1e3 * EPS  # as of any body


def test_a_shape_is_frozen_and_can_be_sent_to_another_process():
    box = Box(1, 2, 3, mass=12)

    with pytest.raises(AttributeError):
        box.mass = 5.0
    with pytest.raises(ValueError, match="read-only"):
        box.inertia[0, 0] = 1.0
    again = pickle.loads(pickle.dumps(box))
    assert (again.x, again.mass) == (1.0, 12.0)
    assert np.array_equal(again.inertia, box.inertia)
    assert repr(box) == "Box(mass=12.0, x=1.0, y=2.0, z=3.0)"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: Box(1, 0, 1, mass=1),
            ValueError,
            "y of Box must be positive, 1e-100 to .*, not 0",
        ),
        (lambda: Box(1, 1, -1, mass=1), ValueError, "z of Box must be positive"),
        (lambda: Box(np.nan, 1, 1, mass=1), ValueError, "x of Box must be finite"),
        (lambda: Box("a", 1, 1, mass=1), TypeError, "x of Box must hold real numbers"),
        (lambda: Sphere(np.inf, mass=1), ValueError, "radius of Sphere must be finite"),
        (lambda: Sphere([1, 2], mass=1), ValueError, "radius of Sphere has shape"),
        (lambda: Sphere(1), ValueError, "Sphere needs mass= or density="),
        (lambda: Sphere(1, mass=1, density=1), ValueError, "one of the two"),
        (lambda: Sphere(1, mass=0), ValueError, "mass of Sphere must be positive"),
        (lambda: Sphere(1, mass=np.nan), ValueError, "mass of Sphere must be finite"),
        (lambda: Sphere(1, density=-1), ValueError, "density of Sphere must be positive"),
        (lambda: Sphere(1e200, mass=1), ValueError, "radius of Sphere must be"),
        (lambda: Cylinder(0, 1, mass=1), ValueError, "radius of Cylinder"),
        (lambda: Cylinder(1, 1, mass=1, axis=ORIGIN), ValueError, "axis of Cylinder must not be"),
        (lambda: Capsule(1, 0, mass=1), ValueError, "length of Capsule"),
        (lambda: Capsule(1, 1, mass=1, axis=np.eye(3)), ValueError, "axis of Capsule has shape"),
        (lambda: Rod(1, -1, mass=1), ValueError, "radius of Rod"),
        (lambda: Rod(1, density=1000), ValueError, "thin Rod has no volume"),
        (lambda: Compound([]), ValueError, "at least one part"),
        (lambda: Compound([Sphere(1, mass=1)]), TypeError, "part 0 of Compound must be"),
        (lambda: Compound([(Sphere(1, mass=1), (0, 0))]), ValueError, "position of part 0"),
        (
            lambda: Compound([(Sphere(1, mass=1), ORIGIN, (0, 0, 0, 0))]),
            ValueError,
            "must not be zero",
        ),
    ],
)
def test_what_is_no_shape_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "half", [(1, 1, 1), (1.2, 1, 1), (1.5, 1, 0.8), (3, 1, 1), (1, 1, 0.2), (2e-3, 1e-3, 5e-4)]
)
def test_balls_of_an_ellipsoid_lie_in_it_and_reach_nearly_as_far(half):
    # along a unit normal n it reaches |(a n_x, b n_y, c n_z)|
    centers, radius = Ellipsoid(*half, mass=1.0).balls()
    normals = spread(12)
    far = np.linalg.norm(normals * half, axis=1)
    reach = (centers @ normals.T).max(axis=0) + radius

    assert (reach <= far * (1 + 1e-12)).all()
    assert (reach >= far * (1 - 0.042)).all()  # `Ellipsoid` promises 4 %
    for axis, most in zip(np.eye(3), half):
        assert (centers @ axis).max() + radius == pytest.approx(most)
    if len({*half}) == 1:
        assert len(centers) == 1
