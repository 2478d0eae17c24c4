"""Unit dual quaternions: poses by hand, against 4 x 4 matrices, and the laws of the group."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

from dynamics import rotation
from dynamics.integrators.dual_quaternion.poses import DualQuaternion

EPS = np.finfo(float).eps
ORIGIN = np.zeros(3)
HALF = np.sqrt(0.5)

numbers = st.floats(-2.0, 2.0)
vectors = st.tuples(numbers, numbers, numbers).map(np.array)
twists = st.tuples(vectors, vectors).map(np.concatenate)
quaternions = st.tuples(*[numbers] * 4).map(np.array).filter(lambda q: abs(q).max() > 1e-3)
poses = st.builds(DualQuaternion.from_position, vectors, quaternions)
# Numbers up to 10 in sums of some 30 products.
CLOSE = 1e3 * EPS


def apart(a, b):
    """Largest difference of two poses' parts, where p and -p are the same."""
    p, q = np.concatenate([a.real, a.dual]), np.concatenate([b.real, b.dual])
    return min(abs(p - q).max(), abs(p + q).max())


def hat(twist):
    """4 x 4 matrix of a twist: its exponential is the homogeneous matrix of a pose."""
    x, y, z = twist[:3]
    matrix = np.zeros((4, 4))
    matrix[:3, :3] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
    matrix[:3, 3] = twist[3:]
    return matrix


def test_parts_are_the_quaternion_and_half_the_position_times_it():
    # (1, 2, 0) times [c, 0, 0, c]: scalar 0, vector c (1, 2, 0) + c (1, 2, 0) x z = c (3, 1, 0)
    corner = DualQuaternion.from_position((1, 2, 0), (HALF, 0, 0, HALF))

    assert corner.real == pytest.approx([HALF, 0, 0, HALF], abs=EPS)
    assert corner.dual == pytest.approx([0, 1.5 * HALF, 0.5 * HALF, 0], abs=2 * EPS)
    assert corner.transform_point((3, 0, 0)) == pytest.approx([1, 5, 0], abs=8 * EPS)
    ahead = corner @ DualQuaternion.from_position((3, 0, 0))
    assert ahead.to_position()[0] == pytest.approx([1, 5, 0], abs=8 * EPS)


def test_a_quarter_turn_about_a_line_beside_the_origin_by_hand():
    # about the vertical through (1, 0, 0), rising by 2: the origin goes to (1, -1, 2)
    pose = DualQuaternion.from_screw((0, 0, 3), np.pi / 2, 2.0, point=(1, 0, 7))

    assert pose.to_position()[0] == pytest.approx([1, -1, 2], abs=8 * EPS)
    screw = pose.to_screw()
    assert screw.direction == pytest.approx([0, 0, 1], abs=4 * EPS)
    assert screw.point == pytest.approx([1, 0, 0], abs=8 * EPS)
    assert (screw.angle, screw.translation) == pytest.approx((np.pi / 2, 2.0), rel=4 * EPS)
    assert screw.pitch == pytest.approx(4 / np.pi, rel=8 * EPS)


def test_a_pure_translation_and_rest_are_screws_without_a_turn():
    slid = DualQuaternion.from_position((0, -3, 0)).to_screw()
    assert np.array_equal(slid.direction, [0, -1, 0])
    assert (slid.angle, slid.translation, slid.pitch) == (0.0, 3.0, np.inf)

    still = DualQuaternion.identity().to_screw()
    assert np.array_equal(still.direction, [0, 0, 1])
    assert (still.angle, still.translation) == (0.0, 0.0)


def test_twist_and_wrench_by_hand():
    # a body at (2, 0, 0) that spins about its own vertical: at the world's origin it would sweep -y
    moved = DualQuaternion.from_position((2, 0, 0))

    assert np.array_equal(moved.transform_twist([0, 0, 1, 0, 0, 0]), [0, 0, 1, 0, -2, 0])
    assert np.array_equal(moved.transform_wrench([0, 0, 0, 0, 5, 0]), [0, 0, 10, 0, 5, 0])


@given(poses, poses)
def test_composition_is_that_of_homogeneous_matrices(a, b):
    assert (a @ b).to_matrix() == pytest.approx(a.to_matrix() @ b.to_matrix(), abs=CLOSE)


@given(poses, poses, poses)
def test_poses_are_a_group(a, b, c):
    one = DualQuaternion.identity()

    assert apart((a @ b) @ c, a @ (b @ c)) <= CLOSE
    assert apart(a @ one, a) <= CLOSE
    assert apart(a @ a.conjugate(), one) <= CLOSE
    assert apart((a @ b).conjugate(), b.conjugate() @ a.conjugate()) <= CLOSE


@given(poses)
def test_a_pose_is_a_unit_and_gives_its_position_back(a):
    position, q = a.to_position()

    assert a.real @ a.real == pytest.approx(1.0, abs=4 * EPS)
    assert a.real @ a.dual == pytest.approx(0.0, abs=CLOSE)
    assert apart(DualQuaternion.from_position(position, q), a) <= CLOSE
    mirrored, same = a.dual_conjugate().to_position()
    assert mirrored == pytest.approx(-position, abs=CLOSE)
    assert same == pytest.approx(q, abs=4 * EPS)  # normalized again


@given(poses, vectors)
def test_a_point_is_moved_as_by_the_matrix_and_by_the_paper(a, point):
    moved = a.transform_point(point)

    assert moved == pytest.approx((a.to_matrix() @ [*point, 1.0])[:3], abs=CLOSE)
    shifted = a @ DualQuaternion(np.eye(4)[0], np.concatenate([[0.0], point / 2]))  # (2.5)
    assert moved == pytest.approx(shifted.to_position()[0], abs=CLOSE)


@given(twists)
def test_exp_is_that_of_the_matrix(twist):
    assert DualQuaternion.exp(twist).to_matrix() == pytest.approx(expm(hat(twist)), abs=CLOSE)


@pytest.mark.parametrize("x", [0.0, 1e-200, 1e-9, 1e-4, 0.3, 0.999, 1.001, 3.0])
def test_exp_and_log_are_exact_at_any_angle(x):
    # both sides of the series' border at an angle of 1 rad
    twist = np.array([x * 2 / 3, -x / 3, x * 2 / 3, 0.5, 1.0, -0.25])

    pose = DualQuaternion.exp(twist)

    assert pose.to_matrix() == pytest.approx(expm(hat(twist)), abs=16 * EPS)
    assert pose.log() == pytest.approx(twist, abs=32 * EPS)


@given(poses)
def test_log_is_the_shortest_way_and_exp_leads_back(a):
    twist = a.log()

    assert np.linalg.norm(twist[:3]) <= np.pi + 4 * EPS
    # dividing by sin(x)/x >= 2/pi magnifies rounding little
    assert apart(DualQuaternion.exp(twist), a) <= CLOSE
    if a.real[0] != 0.0:  # half a turn is as far one way as the other
        assert DualQuaternion(-a.real, -a.dual).log() == pytest.approx(twist, abs=CLOSE)


@given(poses)
def test_a_pose_is_the_screw_motion_it_tells(a):
    screw = a.to_screw()
    # The point of the axis is the position over the angle, so small angles lose it.
    if screw.angle > 1e-3:
        again = DualQuaternion.from_screw(
            screw.direction, screw.angle, screw.translation, screw.point
        )
        assert apart(again, a) <= 1e3 * CLOSE
        assert screw.direction @ screw.point == pytest.approx(0.0, abs=1e3 * CLOSE)
        fixed = a.transform_point(screw.point) - screw.point
        assert fixed == pytest.approx(screw.translation * screw.direction, abs=1e3 * CLOSE)


@given(poses, twists, twists)
def test_a_twist_is_the_rate_of_the_pose_and_power_is_the_same_in_both_frames(a, twist, wrench):
    # chi_W = 2 p' conj(p), with the difference of p exp(+-h chi_B): 1e-5^2 of truncation times
    # cubes of the twist, eps / 1e-5 of rounding
    h = 1e-5
    after, before = (a @ DualQuaternion.exp(s * h * twist) for s in (1, -1))
    rate = (after.to_matrix() - before.to_matrix()) / (2 * h)

    spatial = a.transform_twist(twist)

    assert rate @ np.linalg.inv(a.to_matrix()) == pytest.approx(hat(spatial), abs=1e-7)
    assert spatial @ a.transform_wrench(wrench) == pytest.approx(twist @ wrench, abs=CLOSE)


@given(poses, poses, st.floats(0.0, 1.0))
def test_interpolation_is_one_screw_motion_from_pose_to_pose(a, b, share):
    between = a.interpolate(b, share)

    assert apart(a.interpolate(b, 0.0), a) <= CLOSE
    assert apart(a.interpolate(b, 1.0), b) <= CLOSE
    whole, part = (a.conjugate() @ b).log(), (a.conjugate() @ between).log()
    assert part == pytest.approx(share * whole, abs=CLOSE)


@given(poses, poses, poses)
def test_interpolation_does_not_ask_which_frame_is_the_world(a, b, world):
    there = (world @ a).interpolate(world @ b, 0.3)

    # Near half a turn the short way may flip by rounding.
    if np.linalg.norm((a.conjugate() @ b).log()[:3]) < 3.1:
        assert apart(there, world @ a.interpolate(b, 0.3)) <= 4 * CLOSE


def test_parts_are_scaled_to_a_unit_and_frozen():
    pose = DualQuaternion([2, 0, 0, 0], [5, 2, 0, 0])

    assert np.array_equal(pose.real, [1, 0, 0, 0])
    assert np.array_equal(pose.dual, [0, 1, 0, 0])
    with pytest.raises(ValueError, match="read-only"):
        pose.real[0] = 3.0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: DualQuaternion([0, 0, 0, 0], [0, 0, 0, 0]), ValueError, "must not be zero"),
        (lambda: DualQuaternion([1, 0, 0, 0], [0, np.nan, 0, 0]), ValueError, "dual part must be"),
        (lambda: DualQuaternion([1, 0, 0], [0, 0, 0, 0]), ValueError, "real part has shape"),
        (lambda: DualQuaternion.from_position((0, 0)), ValueError, "position has shape"),
        (lambda: DualQuaternion.from_position(ORIGIN, np.zeros(4)), ValueError, "not be zero"),
        (lambda: DualQuaternion.exp(np.full(6, np.inf)), ValueError, "twist must be finite"),
        (lambda: DualQuaternion.from_screw(ORIGIN, 1.0), ValueError, "must not be zero"),
        (lambda: DualQuaternion.from_screw((0, 0, 1), np.nan), ValueError, "must be finite"),
        (lambda: DualQuaternion.identity() @ 3, TypeError, "unsupported operand"),
        (
            lambda: DualQuaternion.identity().interpolate(DualQuaternion.identity(), np.nan),
            ValueError,
            "fraction must be finite",
        ),
    ],
)
def test_what_is_no_pose_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_position_and_orientation_are_those_of_rotation():
    q = rotation.from_rpy([0.1, -0.4, 2.0])
    pose = DualQuaternion.from_position((1, -2, 0.5), 3 * q)

    assert pose.real == pytest.approx(q, abs=4 * EPS)
    assert pose.transform_point((0.3, 0.2, 0.1)) == pytest.approx(
        rotation.rotate(q, (0.3, 0.2, 0.1)) + [1, -2, 0.5], abs=8 * EPS
    )
