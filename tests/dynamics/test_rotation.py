"""Quaternions, scalar first: by hand, against matrices, and what is refused."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.linalg import expm

from dynamics import rotation

EPS = np.finfo(float).eps
X, Y, Z = np.eye(3)

entries = st.floats(-1.0, 1.0)
vectors = st.tuples(entries, entries, entries).map(np.array)
quaternions = (
    st.tuples(entries, entries, entries, entries)
    .map(np.array)
    .filter(lambda q: np.linalg.norm(q) > 1e-3)
)


def test_a_quarter_turn_about_z_takes_x_to_y():
    q = rotation.from_axis_angle([0, 0, 5], np.pi / 2)

    assert q == pytest.approx([np.sqrt(0.5), 0, 0, np.sqrt(0.5)], abs=EPS)
    assert rotation.rotate(q, X) == pytest.approx(Y, abs=2 * EPS)
    assert rotation.to_matrix(q) == pytest.approx(np.stack([Y, -X, Z], axis=1), abs=2 * EPS)


def test_i_times_j_is_k():
    i, j, k = np.eye(4)[1:]

    assert np.array_equal(rotation.multiply(i, j), k)
    assert np.array_equal(rotation.multiply(j, i), -k)
    assert np.array_equal(rotation.multiply(i, i), [-1, 0, 0, 0])
    assert np.array_equal(rotation.conjugate([1, 2, 3, 4]), [1, -2, -3, -4])


def test_rpy_turns_about_the_fixed_axes_x_then_y_then_z():
    # x goes to z by the pitch of -90 degrees and stays there; y is turned by the yaw to -x
    q = rotation.from_rpy([0.0, -np.pi / 2, np.pi / 2])

    assert rotation.rotate(q, X) == pytest.approx(Z, abs=4 * EPS)
    assert rotation.rotate(q, Y) == pytest.approx(-X, abs=4 * EPS)

    a, b, c = 0.3, -0.7, 1.9
    turns = [rotation.from_axis_angle(n, angle) for n, angle in zip((Z, Y, X), (c, b, a))]
    product = rotation.multiply(rotation.multiply(turns[0], turns[1]), turns[2])
    assert rotation.from_rpy([a, b, c]) == pytest.approx(product, abs=4 * EPS)


@given(quaternions)
def test_matrix_rpy_and_rotation_vector_give_the_rotation_back(q):
    unit = rotation.normalized(q)

    for there, back in (
        (rotation.to_matrix, rotation.from_matrix),
        (rotation.to_rpy, rotation.from_rpy),
        (rotation.to_rotation_vector, rotation.from_rotation_vector),
    ):
        again = back(there(q))
        assert abs(abs(again @ unit) - 1.0) <= 8 * EPS


@pytest.mark.parametrize("off", [0.0, 1e-16, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-3])
def test_rpy_near_a_pitch_of_90_degrees_give_the_rotation_back(off):
    rng = np.random.default_rng(0)
    angles = rng.uniform(-3, 3, (200, 3))
    angles[:, 1] = rng.choice([-1, 1], 200) * (np.pi / 2 - off * rng.uniform(-1, 1, 200))
    R = rotation.to_matrix(rotation.from_rpy(angles))
    again = rotation.to_rpy(rotation.from_rpy(angles))

    np.testing.assert_allclose(rotation.to_matrix(rotation.from_rpy(again)), R, atol=16 * EPS)
    assert (np.abs(again[:, 1]) <= np.pi / 2).all()
    if off == 0.0:
        assert not again[:, 2].any()


@given(vectors)
def test_the_exponential_is_that_of_the_skew_matrix(v):
    skew = np.cross(v, np.eye(3)).T  # its columns are v x e_i

    matrix = rotation.to_matrix(rotation.from_rotation_vector(v))
    assert matrix == pytest.approx(expm(skew), abs=16 * EPS)


@given(quaternions, quaternions, vectors)
def test_the_product_is_one_rotation_after_the_other(p, q, a):
    both = rotation.rotate(rotation.multiply(p, q), a)

    assert both == pytest.approx(rotation.rotate(p, rotation.rotate(q, a)), abs=32 * EPS)
    assert both == pytest.approx(rotation.to_matrix(p) @ rotation.to_matrix(q) @ a, abs=32 * EPS)


@given(quaternions, vectors)
def test_the_conjugate_turns_back(q, a):
    assert rotation.rotate(rotation.conjugate(q), rotation.rotate(q, a)) == pytest.approx(
        a, abs=16 * EPS
    )


@given(vectors, vectors)
def test_align_turns_one_direction_into_the_other_the_short_way(a, b):
    assume(np.linalg.norm(a) > 1e-3 and np.linalg.norm(b) > 1e-3)
    u, v = a / np.linalg.norm(a), b / np.linalg.norm(b)

    for target in (v, u, -u, -u + 1e-9 * v, u + 1e-9 * v):
        target = target / np.linalg.norm(target)
        q = rotation.align(a, target)
        assert rotation.rotate(q, u) == pytest.approx(target, abs=16 * EPS)
        assert 2 * q[0] ** 2 - 1 == pytest.approx(u @ target, abs=16 * EPS)  # cosine of the angle


def test_an_array_of_rotations_is_turned_one_by_one():
    rng = np.random.default_rng(0)
    q, a = rotation.random(rng, (2, 3)), rng.standard_normal((2, 3, 3))

    for there, back in (
        (rotation.to_matrix, rotation.from_matrix),
        (rotation.to_rpy, rotation.from_rpy),
        (rotation.to_rotation_vector, rotation.from_rotation_vector),
    ):
        every = there(q)
        assert np.array_equal(every[1, 2], there(q[1, 2]))
        again = back(every)
        assert again.shape == (2, 3, 4)
        assert abs(np.einsum("...i,...i", again, q)) == pytest.approx(np.ones((2, 3)))
    assert rotation.rotate(q, a)[1, 0] == pytest.approx(rotation.rotate(q[1, 0], a[1, 0]))
    turns = rotation.from_axis_angle(a, np.ones(3))
    assert turns[0, 1] == pytest.approx(rotation.from_axis_angle(a[0, 1], 1.0))


def test_random_rotations_have_no_direction_of_their_own():
    q = rotation.random(np.random.default_rng(1), 10_000)

    # E[q q^T] = I / 4; the mean of n products of variance below 1/8 is off by 5 sigma at most.
    assert abs(q.T @ q / len(q) - np.eye(4) / 4).max() <= 5 * np.sqrt(1 / 8 / len(q))
    assert np.linalg.norm(q, axis=1) == pytest.approx(np.ones(len(q)), abs=2 * EPS)
    assert rotation.random(np.random.default_rng(1)).shape == (4,)


def test_lengths_that_squares_cannot_hold_are_normalized():
    assert rotation.normalized([0, 3e-200, 0, 4e-200]) == pytest.approx([0, 0.6, 0, 0.8])
    assert rotation.normalized([0, 3e200, 0, 4e200]) == pytest.approx([0, 0.6, 0, 0.8])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: rotation.normalized([0, 0, 0, 0]), ValueError, "must not be zero"),
        (lambda: rotation.normalized([1, 0, 0, np.nan]), ValueError, "must be finite"),
        (
            lambda: rotation.normalized([1, 0, 0]),
            ValueError,
            r"shape \(3,\), it must be \(\.\.\., 4",
        ),
        (lambda: rotation.normalized(1.0), ValueError, "it must be"),
        (lambda: rotation.normalized([1j, 0, 0, 0]), TypeError, "real numbers"),
        (lambda: rotation.normalized("q"), TypeError, "real numbers"),
        (lambda: rotation.normalized([[1, 0], [1]]), ValueError, "no array"),
        (lambda: rotation.from_axis_angle([0, 0, 0], 1.0), ValueError, "axis must not be zero"),
        (lambda: rotation.from_axis_angle(X, np.inf), ValueError, "angle must be finite"),
        (lambda: rotation.from_matrix(2 * np.eye(3)), ValueError, "must be orthogonal"),
        (lambda: rotation.from_matrix(-np.eye(3)), ValueError, "is a reflection"),
        (lambda: rotation.rotate([1, 0, 0, 0], [1, 2]), ValueError, "a vector has shape"),
        (lambda: rotation.align(X, 0 * X), ValueError, "a direction must not be zero"),
        (lambda: rotation.align([X, Y], X), ValueError, "a direction has shape"),
    ],
)
def test_what_is_no_rotation_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_what_the_user_gave_is_left_as_it_is():
    q = np.array([2.0, 0.0, 0.0, 0.0])

    rotation.normalized(q)[0] = 5.0
    rotation.as_numbers(q, (4,), "q")[0] = 7.0

    assert q[0] == 2.0


@pytest.mark.parametrize("scale", [1.0, 1e-60, 1e60, 1e-200, 1e200])
def test_one_rotation_is_that_of_a_stack_of_them(scale):
    rng = np.random.default_rng(0)
    q, a = scale * rng.standard_normal((20, 4)), rng.standard_normal((20, 3))
    p = rng.standard_normal((20, 4))
    for one, every in (
        (rotation.normalized, (q,)),
        (rotation.rotate, (q, a)),
        (rotation.multiply, (p, q)),
        (rotation.conjugate, (q,)),
        (rotation.from_rotation_vector, (a * min(scale, 1.0),)),
    ):
        alone = np.array([one(*row) for row in zip(*every)])
        stacked = one(*every)
        # sums of at most four products of numbers whose sizes are those of the result
        np.testing.assert_allclose(alone, stacked, rtol=0, atol=16 * EPS * abs(stacked).max())


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_rotation_of_numbers_that_are_none_is_refused(bad):
    q, a = np.array([1.0, bad, 0.0, 0.0]), np.array([0.0, bad, 1.0])
    both = np.array([1.0, np.inf, -np.inf, 0.0])
    for call in (
        lambda: rotation.normalized(q),
        lambda: rotation.normalized(both),
        lambda: rotation.rotate(q, np.ones(3)),
        lambda: rotation.rotate(np.eye(4)[0], a),
        lambda: rotation.multiply(q, np.eye(4)[0]),
        lambda: rotation.conjugate(q),
        lambda: rotation.from_rotation_vector(a),
        lambda: rotation.normalized(np.zeros(4)),
    ):
        with pytest.raises(ValueError, match="finite|zero"):
            call()
