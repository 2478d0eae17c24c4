"""Dual-quaternion integrator: by hand, its Jacobian, its order against a differential equation."""

import numpy as np
import pytest

from dynamics import rotation
from dynamics.errors import ConvergenceError
from dynamics.integrators.dual_quaternion.forces import (
    AnchoredSpring,
    BodyWrench,
    Pivot,
    WorldForce,
    spatial_inertia,
)
from dynamics.integrators.dual_quaternion.rigid_body import RigidBody
from dynamics.kernels.dual_quaternion import equations as kernels
from dynamics.parts.spatial_inertia import skew

from .bodies import (
    DRAG,
    EPS,
    FULL,
    MASS,
    MOMENTS,
    POSE,
    SPRING,
    START,
    TOP,
    TOP_RATE,
    WEIGHT,
    bent,
    exact,
    figure_body,
    heavy_top,
    numbers,
    orders,
    top_state,
)

# By hand


def test_a_thrown_body_falls_by_galilei_at_any_timestep():
    # Without a turn the half kicks are exact for a constant force; the pose adds h M^-1 p
    ball = RigidBody(spatial_inertia(2.0, 4 * np.eye(3)), [WorldForce((0, 0, -2 * 9.81))])

    thrown = ball.simulate(ball.state(velocity=(1, 0, 5)), 0.1, 20)

    t = thrown.time
    fall = np.stack([t, 0 * t, 5 * t - 9.81 / 2 * t**2], axis=1)
    assert thrown.position == pytest.approx(fall, abs=64 * EPS * 20)
    assert thrown.twist[:, 5] == pytest.approx(5 - 9.81 * t, abs=64 * EPS * 20)
    assert thrown.iterations.max() == 1


@pytest.mark.parametrize("turn", [0.01, 0.5, 0.99])
def test_a_ball_turns_by_the_arc_sine_of_a_steps_angle(turn):
    # B.1 of a ball: s J Phi = (h/2) J omega, that is sin(theta) = h omega
    ball = RigidBody(spatial_inertia(1.0, 0.1 * np.eye(3)))
    state = ball.state(angular_velocity=(0, 0, turn / 0.1))

    after = ball.step(state, 0.1)

    angle = rotation.to_rotation_vector(after.orientation)
    # cos(theta) is left of the slope: rounding grows by 1 / cos(theta), 7 at 0.99
    assert angle == pytest.approx([0, 0, np.arcsin(turn)], abs=64 * EPS)
    assert after.twist == pytest.approx(state.twist, abs=64 * EPS * turn / 0.1)


@pytest.mark.parametrize("travel", [0.01, 0.3, 0.9])
def test_a_ball_that_travels_along_its_axis_turns_too_fast_by_the_paper(travel):
    # Phi and Psi along z: A = phi (s J - m psi^2 / s), B = s m psi; t^2 is no part of the kinetic
    # energy, so that m psi^2, with psi = h v / 2, is missing in J. Here J = m = 1, h = 2.
    ball = RigidBody(spatial_inertia(1.0, np.eye(3)))
    omega = 1e-3

    after = ball.step(ball.state(angular_velocity=(0, 0, omega), velocity=(0, 0, travel)), 2.0)

    phi = rotation.to_rotation_vector(after.orientation)[2] / 2
    assert phi == pytest.approx(omega / (1 - travel**2), rel=1e-3)  # up to squares of phi
    assert after.position[2] == pytest.approx(2 * travel, rel=1e-3)


def test_a_ball_that_travels_by_twice_its_radius_of_gyration_is_refused():
    ball = RigidBody(spatial_inertia(1.0, np.eye(3)))

    with pytest.raises(ConvergenceError, match=r"travels 2\.02 m; .* take a smaller timestep"):
        ball.step(ball.state(angular_velocity=(0, 0, 1e-3), velocity=(0, 0, 1.01)), 2.0)


def test_inertia_about_another_point_is_that_of_the_paper():
    # 3 kg at the tip of a rod of 2 m: J = m r^2 across it
    M = spatial_inertia(3.0, np.zeros((3, 3)), (2, 0, 0))

    assert np.array_equal(np.diag(M), [0, 12, 12, 3, 3, 3])
    assert (M[1, 5], M[5, 1], M[2, 4], M[4, 2]) == (-6, -6, 6, 6)
    chi = np.array([0, 0, 1, 0, 0, 0.5])  # the tip moves at (0, 2, 0.5)
    assert chi @ M @ chi / 2 == 1.5 * (4 + 0.25)


# The Jacobian


def momenta(table, z):
    out, zeta = np.zeros(6), np.zeros(6)
    kernels.momentum(table, z, 0, 1.0, zeta, 0, out, 0)
    return out


def jacobian(table, z):
    matrix, zeta = np.zeros(36), np.zeros(6)
    kernels.product6(table, kernels.M, z, 0, zeta, 0)
    kernels.jacobian(table, z, 0, zeta, 0, matrix, 0, 6)
    return matrix.reshape(6, 6)


def printed(M, z):
    """(5.2) to (5.5) as they stand in the paper."""
    phi, psi = np.split(z, 2)
    (M11, M12), (M21, M22) = (np.hsplit(rows, 2) for rows in np.vsplit(M, 2))
    s = np.sqrt(1 - phi @ phi)
    t, eye = -phi @ psi / s, np.eye(3)
    za, zb = M11 @ phi + M12 @ psi, M21 @ phi + M22 @ psi
    turned = s * eye + skew(phi)
    a_phi = np.outer(zb, np.cross(phi, np.cross(phi, psi)) - psi) / s**3
    a_phi += (t * eye + skew(psi)) @ M21 - np.outer(za, phi) / s - skew(za) + turned @ M11
    a_psi = -np.outer(zb, phi) / s - skew(M21 @ phi) + t * M22 + turned @ M12
    b_phi = -np.outer(zb, phi) / s - skew(zb) + turned @ M21
    return np.block([[a_phi, a_psi], [b_phi, turned @ M22]])


def corrected(M, z):
    """The same with the two errata of docs/theory/dual_quaternion.md."""
    phi, psi = np.split(z, 2)
    M21, M22 = np.hsplit(M[3:], 2)
    s, zb = np.sqrt(1 - phi @ phi), M21 @ phi + M22 @ psi
    right = printed(M, z)
    right[:3, :3] -= 2 * np.outer(zb, np.cross(phi, np.cross(phi, psi))) / s**3
    right[:3, 3:] += skew(psi) @ M22 - skew(M22 @ psi)
    return right


def differences(table, z):
    """Central differences at h = 1e-4 and h = 5e-5, extrapolated: h^4 and eps / h are 1e-11."""

    def slope(h):
        return np.stack(
            [(momenta(table, z + h * e) - momenta(table, z - h * e)) / (2 * h) for e in np.eye(6)],
            axis=1,
        )

    return (4 * slope(5e-5) - slope(1e-4)) / 3


@pytest.mark.parametrize("seed", range(4))
def test_the_jacobian_is_that_of_differences_and_of_the_corrected_formulas(seed):
    z = np.random.default_rng(seed).uniform(-0.4, 0.4, 6)
    table = RigidBody(FULL).table

    found = jacobian(table, z)

    assert found == pytest.approx(differences(table, z), abs=1e-9)
    assert found == pytest.approx(corrected(FULL, z), abs=1e3 * EPS)


def test_the_printed_jacobian_is_wrong_even_about_the_centre_of_mass():
    z = np.array([0.1, -0.2, 0.15, 0.05, 0.1, -0.1])
    centered = spatial_inertia(MASS, MOMENTS)

    for M, block in ((FULL, np.s_[:3, 3:]), (FULL, np.s_[:3, :3]), (centered, np.s_[:3, :3])):
        wrong = printed(M, z) - jacobian(RigidBody(M).table, z)
        assert abs(wrong[block]).max() > 1e-3
        assert wrong[3:] == pytest.approx(np.zeros((3, 6)), abs=1e3 * EPS)  # (5.4), (5.5) are right


def test_newtons_method_needs_the_corrected_jacobian():
    z = np.array([0.1, -0.2, 0.15, 0.3, 0.5, -0.4])
    table = RigidBody(FULL).table
    goal = momenta(table, z)

    def left(slope, steps):
        found = 1.2 * z
        for _ in range(steps):
            found = found - np.linalg.solve(slope(FULL, found), momenta(table, found) - goal)
            if not np.linalg.norm(found[:3]) < 1:
                return np.inf
        return abs(found - z).max()

    assert left(corrected, 6) <= 1e3 * EPS
    assert left(printed, 11) > 1e-6


# Order and reference poses


@pytest.mark.parametrize(
    "body",
    [
        figure_body(),
        RigidBody(FULL, [WEIGHT, SPRING, DRAG, BodyWrench((0.1, 0.2, -0.3), (1, 2, 0.5))]),
        RigidBody(FULL, [WEIGHT, AnchoredSpring(30.0, (0.2, 0.1, 0.3), (0, 0, 2), length=1.0)]),
        RigidBody(FULL, [WEIGHT], external=bent),
        RigidBody(FULL, [WEIGHT, DRAG], pivot=Pivot((-0.2, 0.1, -0.3), (1, 2, 3)), external=bent),
    ],
    ids=["figure", "drag and thruster", "spring with a length", "external", "pivot"],
)
def test_pose_and_twist_converge_to_second_order(body):
    if body.pivot is None:
        state = body.state(**START)
    else:
        state = body.state(angular_velocity=(1, 2, -1.5))
    right = exact(body, state, 1.0)

    errors = [abs(numbers(body.simulate(state, 1 / n, n).state()) - right) for n in (100, 200, 400)]

    for part in (np.s_[:7], np.s_[7:]):
        slopes = orders([error[part].max() for error in errors])
        assert slopes == pytest.approx([2.0, 2.0], abs=0.03)


def test_the_figure_body_reaches_the_reference_pose_at_the_errors_of_the_design():
    body = figure_body()
    state = body.state(**START)
    right = exact(body, state, 1.0)

    assert right[[3, 4, 5, 6, 0, 1, 2]] == pytest.approx(POSE, abs=1e-9)
    for n, pose, twist in ((50, 2.86e-3, 1.55e-2), (100, 7.13e-4, 3.88e-3), (200, 1.78e-4, 9.7e-4)):
        found = body.simulate(state, 1 / n, n)
        error = abs(numbers(found.state()) - right)
        assert error[:7].max() == pytest.approx(pose, rel=5e-3)
        assert error[7:].max() == pytest.approx(twist, rel=5e-3)
        assert found.iterations.max() <= 4


def test_the_top_reaches_the_reference_pose_at_the_errors_of_the_design():
    top = heavy_top()
    state = top_state(top)
    right = exact(top, state, 1.0)

    assert right[3:7] == pytest.approx(TOP, abs=1e-9)
    assert right[7:10] == pytest.approx(TOP_RATE, abs=1e-8)
    for n, error in ((50, 6.16e-3), (100, 1.53e-3), (200, 3.83e-4)):
        found = top.simulate(state, 1 / n, n).orientation[-1]
        assert abs(found - right[3:7]).max() == pytest.approx(error, rel=5e-3)


def test_the_printed_velocity_and_a_start_without_half_an_impulse_are_first_order():
    body = figure_body()
    state = body.state(**START)
    right = exact(body, state, 1.0)

    velocity, pose = [], []
    for n in (50, 100, 200):
        h = 1 / n
        last = body.simulate(state, h, n).state()
        wrench, work = np.zeros(6), (body.table, 1, 1)
        kernels.node_wrench(*work, tuple(last.position), tuple(last.orientation), wrench, 0)
        # (4.40): the momentum behind the node's whole impulse instead of half of it
        late = last.twist + body.mobility @ (h / 2 * wrench)
        velocity.append(abs(late - right[7:]).max())
        kernels.node_wrench(*work, tuple(state.position), tuple(state.orientation), wrench, 0)
        kicked = state.twist - body.mobility @ (h / 2 * wrench)  # undoes the half kick
        shoved = body.state(angular_velocity=kicked[:3], velocity=kicked[3:])
        pose.append(abs(numbers(body.simulate(shoved, h, n).state()) - right)[:7].max())

    assert velocity == pytest.approx([4.2e-2, 2.2e-2, 1.2e-2], rel=0.05)
    assert orders(velocity) == pytest.approx([1.0, 1.0], abs=0.15)
    assert orders(pose) == pytest.approx([1.0, 1.0], abs=0.15)
    assert pose[2] == pytest.approx(1.0e-2, rel=0.05)
