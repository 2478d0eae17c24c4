"""How far bodies turn in an interval, by hand."""

import numpy as np
import pytest

from dynamics import rotation
from dynamics.kernels.base.layout import BODIES, BODY_SIZE, CONTACTS, INERTIA, MASS, POSE, TWIST
from dynamics.kernels.rows.poses import ALONE, MOST_TURN, move, turns, turns_too_far

H = 0.01


@pytest.mark.parametrize("body", [0, 1])
def test_the_largest_turn_is_that_of_any_body_about_any_axis(body):
    u = np.full((2, TWIST), 0.1)
    assert turns(2, H, u.ravel()) == pytest.approx(0.5 * H * np.sqrt(0.03))
    u[body, 3:] = [2.0, -3.0, 6.0]
    assert turns(2, H, u.ravel()) == pytest.approx(0.5 * H * 7.0)
    assert turns(0, H, u.ravel()) == 0.0


@pytest.mark.parametrize("omega", [[300.0, 0.0, 0.0], [20.0, -30.0, 60.0], [200.0, -300.0, 600.0]])
def test_a_turn_is_cut_at_the_most_and_about_the_same_axis(omega):
    pose, u = np.zeros((2, POSE)), np.zeros((2, TWIST))
    pose[0, 3] = 1.0
    pose[1] = [1.0, 2.0, 3.0, *rotation.from_axis_angle(np.array([0.6, 0.0, 0.8]), 0.4)]
    u[1] = [10.0, 20.0, -30.0, *omega]
    moved, matrix = np.zeros((3, POSE)), np.zeros((3, 9))
    before = u.copy()

    move(2, H, pose.ravel(), u.ravel(), moved.ravel(), matrix.ravel())

    phi = 0.5 * H * np.array(omega)
    phi *= min(1.0, MOST_TURN / np.linalg.norm(phi))
    turn = np.array([np.sqrt(1.0 - phi @ phi), *phi])
    assert moved[1, :3] == pytest.approx([1.1, 2.2, 2.7])
    assert moved[1, 3:] == pytest.approx(rotation.multiply(pose[1, 3:], turn))
    assert moved[0] == pytest.approx(pose[0])
    assert matrix[1].reshape(3, 3) == pytest.approx(rotation.to_matrix(moved[1, 3:]))
    assert u[1, 3:] == pytest.approx(phi / (0.5 * H))
    assert (u[:, :3] == before[:, :3]).all() and (u[0] == before[0]).all()


def too_far(omega, limit, contacts=1, velocity=(1.0, -2.0, 3.0)):
    """Of two bodies, the first at rest but for a velocity, by `turns_too_far`; and the mean."""
    plan, constant = np.zeros(1 + max(BODIES, CONTACTS), np.int64), np.zeros(2 * BODY_SIZE)
    plan[BODIES], plan[CONTACTS] = 2, contacts
    inertia = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.0]])
    masses = 3.0, 0.5
    for k, mass in enumerate(masses):
        constant[k * BODY_SIZE + MASS] = mass
        constant[k * BODY_SIZE + INERTIA :][:9] = (k + 1.0) * inertia.ravel()
    u = np.zeros((2, TWIST))
    u[0, :3], u[1, :3], u[1, 3:] = velocity, [0.5, 0.5, 0.0], omega
    energy = np.array([
        masses[0] * u[0, :3] @ u[0, :3],
        masses[1] * u[1, :3] @ u[1, :3] + u[1, 3:] @ (2.0 * inertia) @ u[1, 3:],
    ])  # fmt: skip
    square = np.array([0.0, 0.25 * H**2 * u[1, 3:] @ u[1, 3:]])
    mean = np.sqrt(energy @ square / energy.sum())
    return turns_too_far(plan, constant, H, u.ravel(), limit), mean


OMEGA = np.array([10.0, -15.0, 30.0])  # |phi| = 0.175


def test_without_contacts_no_body_may_turn_farther():
    assert too_far(OMEGA, 0.17, contacts=0)[0] and not too_far(OMEGA, 0.18, contacts=0)[0]


@pytest.mark.parametrize("velocity", [(1.0, -2.0, 3.0), (30.0, 40.0, 120.0)])
def test_with_contacts_the_mean_by_kinetic_energy_counts(velocity):
    mean = too_far(OMEGA, 1.0, velocity=velocity)[1]
    assert mean < 0.175
    assert too_far(OMEGA, 0.999 * mean, velocity=velocity)[0]
    assert not too_far(OMEGA, 1.001 * mean, velocity=velocity)[0]


def test_with_contacts_none_turns_farther_than_alone():
    far = OMEGA * ALONE / 0.174
    assert too_far(far, 0.1, velocity=(1e6, 0.0, 0.0))[0]
    assert not too_far(far, 2.0, velocity=(1e6, 0.0, 0.0))[0]
