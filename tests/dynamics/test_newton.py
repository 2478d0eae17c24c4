"""What Newton's method starts from and how it goes on with old factors: by hand, then as laws."""

import numpy as np
import pytest

from dynamics.kernels.base import step_info
from dynamics.kernels.base.layout import STORED
from dynamics.kernels.base.step_info import INFO_SIZE
from dynamics.kernels.interval import broyden, predictor

RNG = np.random.default_rng(5)


def linear_errors(wrong, start, iterations, jump=False):
    """Errors |x - 0| of x <- x - d on r(x) = A x, where the factors are those of the identity."""
    n = start.size
    x, held, stored, errors = start.copy(), np.zeros(STORED * n), 0, []
    for k in range(iterations):
        dx = (np.eye(n) + wrong) @ x
        if jump or k == 0:
            stored = 0
        stored = broyden.accelerate(n, n, n, stored, held, dx)
        x -= dx
        errors.append(np.abs(x).max())
    return errors


def test_one_direction_of_error_is_gone_after_two_changes():
    """Along one eigenvector the secant is exact: 1 -> 0.1 -> 0, and without it 0.1, 0.01, 0.001."""
    wrong = np.zeros((3, 3))
    wrong[0, 0] = 0.1
    start = np.array([1.0, 0.0, 0.0])
    assert linear_errors(wrong, start, 2)[1] < 1e-15
    np.testing.assert_allclose(linear_errors(wrong, start, 3, True), [0.1, 0.01, 0.001])


def test_broyden_is_the_inverse_update_written_out():
    """Beside the textbook's update of a dense matrix, B <- B + (y - B s) s^T / s^T s."""
    n = 4
    A = np.eye(n) + 0.15 * RNG.normal(size=(n, n))
    B, held, stored = np.eye(n), np.zeros(STORED * n), 0
    x = RNG.normal(size=n)
    y = x.copy()
    for _ in range(STORED - 1):
        dx = A @ x
        stored = broyden.accelerate(n, n, n, stored, held, dx)
        s = -np.linalg.solve(B, A @ y)
        np.testing.assert_allclose(dx, -s, rtol=1e-10, atol=1e-14)
        x, y = x - dx, y + s
        B += np.outer(A @ s - B @ s, s) / (s @ s)
    assert stored == STORED - 1
    assert broyden.accelerate(n, n, n, stored, held, A @ x) == 1  # full: it begins anew


def gone_on(velocities, contraction):
    """The guess behind five velocities, the newest last, of intervals of one length."""
    info, n = np.zeros(INFO_SIZE), velocities.shape[1]
    info[step_info.LAST_LENGTH], info[step_info.EQUAL_LENGTHS] = 0.01, 4.0
    info[step_info.CONTRACTION] = contraction
    newest, *past = (v.copy() for v in velocities[-2::-1])
    predictor.advance_history(n, 0.01, info, velocities[-1].copy(), newest, tuple(past))
    np.testing.assert_array_equal([newest, *past], velocities[:0:-1])
    x = np.empty(n)
    predictor.predict(n, True, 0.01, info, newest, tuple(past), x)
    return x


@pytest.mark.parametrize("contraction", [0.0, 0.01, 0.5])
def test_a_parabola_goes_on(contraction):
    """0, 1, 4, 9, 16 is followed by 25, though a single number tells too few parts."""
    one = np.eye(6)[2]
    found = gone_on(np.arange(5.0)[:, None] ** 2 * one, contraction)
    np.testing.assert_allclose(found, 25.0 * one)


def test_shaking_goes_on_only_where_newton_is_fast():
    """Sums of four exponentials obey a recursion of four terms; a bend alone cannot follow them."""
    roots, amplitudes = np.array([0.9, 0.5, -0.4, -0.8]), RNG.normal(size=(4, 30))
    velocities = (roots ** np.arange(6.0)[:, None]) @ amplitudes
    wrong = [np.abs(gone_on(velocities[:5], c) - velocities[5]).max() for c in (0.01, 0.5)]
    assert wrong[0] < 1e3 * predictor.RIDGE  # the ridge over the least eigenvalue of the fit, 1e-3
    assert wrong[1] > 0.1


def test_intervals_of_other_lengths_are_gone_on_in_a_line():
    info = np.zeros(INFO_SIZE)
    u, *past = np.array([[3.0], [2.0], [0.0], [9.0]])
    info[step_info.LAST_LENGTH], info[step_info.EQUAL_LENGTHS] = (
        0.01,
        step_info.DIFFERENCE_WEIGHTS_SIZE + 1.0,
    )
    x = np.empty(1)
    predictor.predict(1, True, 0.02, info, u, tuple(past), x)
    assert x[0] == 4.0
    predictor.predict(1, False, 0.02, info, u, tuple(past), x)
    assert x[0] == 3.0
