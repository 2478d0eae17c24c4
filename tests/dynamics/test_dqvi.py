"""Dual-quaternion variational integrator: by hand, against a differential equation, its laws.

The body of the figures is that of docs/theory/dual_quaternion.md: a heavy body with added mass,
seen from a reference point beside its centre of mass, on a spring.
"""

import pickle
import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from dynamics import rotation
from dynamics.errors import ConvergenceError, InconsistentStateError
from dynamics.integrators.rigid_body import RigidBody
from dynamics.integrators.rigid_body_forces import (
    AnchoredSpring,
    BodyWrench,
    Drag,
    Pivot,
    WorldForce,
    skew,
    spatial_inertia,
)
from dynamics.kernels import dual_quaternion as kernels

EPS = np.finfo(float).eps
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"

MASS, CENTER, MOMENTS = 2.0, np.array([0.1, -0.2, 0.4]), np.diag([0.3, 0.4, 0.2])
A = np.random.default_rng(1).normal(size=(6, 6))
BARE = spatial_inertia(MASS, MOMENTS, CENTER)
FULL = BARE + 0.2 * A @ A.T
WEIGHT = WorldForce((0, 0, -9.81 * MASS), CENTER)
SPRING = AnchoredSpring(30.0, (0.2, 0.1, 0.3), (0, 0, 1))
DRAG = Drag(
    np.diag([0.5, 0.3, 0.4, 1.0, 2.0, 1.5]) + 0.1 * skew([1, 2, 3]).repeat(2, 0).repeat(2, 1)
)
START = {"angular_velocity": (1, 2, -1.5), "velocity": (0.3, -0.2, 0.5)}

# Of the design's prototype at T = 1 s, ten digits.
POSE = [
    *(0.2646629922, 0.8031752125, -0.484453319, -0.2239822768),
    *(0.0775861213, 0.1848573764, 0.4234880554),
]
TOP = [0.055153234, -0.0612856503, -0.8431066495, -0.5313881514]
TOP_RATE = [2.4233770651, 1.7341518512, 5.6482096256]


def bent(time, position, orientation, twist):
    """A wrench that depends on everything: quadratic drag, a thruster that swings, a field."""
    return np.concatenate(
        [
            -0.3 * abs(twist[:3]) * twist[:3] + [0, 0, np.sin(3 * time)],
            -0.5 * abs(twist[3:]) * twist[3:]
            + rotation.rotate(rotation.conjugate(orientation), [np.cos(position[2]), 0, 0]),
        ]
    )


def figure_body():
    return RigidBody(FULL, [WEIGHT, SPRING])


def heavy_top():
    return RigidBody(BARE + 0.1 * A @ A.T, [WEIGHT], pivot=Pivot((-0.2, 0.1, -0.3)))


def top_state(top):
    return top.state(orientation=(0.8, 0.5, 0.2, -0.1), angular_velocity=(1, -0.5, 6))


def exact(body, state, seconds):
    """Position, orientation and twist by Kirchhoff's equations and DOP853."""
    M, n = body.inertia, 6 if body.pivot is None else 9
    G = np.zeros((0, 6)) if n == 6 else np.hstack([-skew(body.pivot.point), np.eye(3)])
    KKT = np.block([[M, -G.T], [G, np.zeros((n - 6, n - 6))]])

    def rate(t, y):
        place, q, chi = y[:3], y[3:7], y[7:]
        p, turn = M @ chi, rotation.rotate
        push = np.concatenate(
            [
                np.cross(p[:3], chi[:3]) + np.cross(p[3:], chi[3:]),
                np.cross(p[3:], chi[:3]),
                np.zeros(n - 6),
            ]
        )
        for force in body.forces:
            if isinstance(force, Drag):
                push[:6] -= force.matrix @ chi
                continue
            if isinstance(force, BodyWrench):
                push[:6] += [*force.torque, *force.force]
                continue
            world = getattr(force, "force", None)
            if world is None:
                reach = force.anchor - place - turn(q, force.point)
                world = force.stiffness * (1 - force.length / np.linalg.norm(reach)) * reach
            f = turn(rotation.conjugate(q), world)
            push[:6] += [*np.cross(force.point, f), *f]
        if body.external is not None:
            push[:6] += body.external(t, place, q, chi)
        q_rate = 0.5 * rotation.multiply(q, [0.0, *chi[:3]])
        return np.concatenate([turn(q, chi[3:]), q_rate, np.linalg.solve(KKT, push)[:6]])

    y = np.concatenate([state.position, state.orientation, state.twist])
    found = solve_ivp(rate, (state.time, seconds), y, method="DOP853", rtol=1e-13, atol=1e-13)
    return found.y[:, -1]


def numbers(state):
    return np.concatenate([state.position, state.orientation, state.twist])


def orders(errors):
    """Slopes between errors at timesteps halved each time."""
    return np.log2(np.array(errors[:-1]) / np.array(errors[1:]))


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


# Laws


def test_a_free_body_keeps_its_momentum_and_its_energy_has_no_drift():
    body = RigidBody(FULL)

    swum = body.simulate(body.state(**START), 0.02, 20_000)

    P, E = swum.momentum(), swum.energy()
    away = np.linalg.norm(swum.position, axis=1).max()
    steps = len(swum.time)
    assert away > 400
    # Rounding of each step adds up, at worst all one way; an angular one by the lever arm.
    scale = abs(FULL @ swum.twist[0]).max()
    assert abs(P - P[0])[:, 3:].max() <= steps * EPS * scale
    assert abs(P - P[0])[:, :3].max() <= steps * EPS * scale * away
    assert E[0] == pytest.approx(4.29, abs=0.005)
    assert abs(E - E[0]).max() <= 2.0e-3
    assert abs(E[:10_000].mean() - E[10_000:].mean()) <= 1e-4


@given(
    st.lists(st.floats(-1, 1), min_size=36, max_size=36),
    st.lists(st.floats(-2, 2), min_size=6, max_size=6),
    st.booleans(),
)
def test_any_free_body_keeps_its_momentum_and_any_held_one_its_pivot(entries, twist, held):
    root = np.reshape(entries, (6, 6))
    pivot = Pivot((0.3, -0.5, 0.2), (1, 2, 3)) if held else None
    body = RigidBody(root @ root.T + np.eye(6), pivot=pivot)
    velocity = None if held else twist[3:]

    run = body.simulate(body.state(angular_velocity=twist[:3], velocity=velocity), 0.05, 20)

    P = run.momentum((1, 2, 3))
    kept = np.s_[:, :3] if held else np.s_[:]  # the pivot's force has no moment about itself
    # Momenta up to 40, arms up to 6, some 100 products in each of 20 steps
    assert abs(P - P[0])[kept].max() <= 20 * 100 * EPS * 6 * 40
    if held:
        gap = run.position + rotation.rotate(run.orientation, pivot.point) - pivot.anchor
        assert abs(gap).max() <= 16 * EPS


def test_energy_on_the_spring_stays_in_its_band():
    body = figure_body()

    E = body.simulate(body.state(**START), 0.01, 20_000).energy()

    assert E[0] == pytest.approx(20.24, abs=0.01)
    assert (E - E[0]).min() == pytest.approx(-1.5e-2, rel=0.05)
    assert (E - E[0]).max() <= 4.5e-3
    assert abs(E[:10_000].mean() - E[10_000:].mean()) <= 1e-4


def test_the_top_keeps_its_pivot_its_vertical_momentum_and_its_energy_band():
    top = heavy_top()

    spun = top.simulate(top_state(top), 0.01, 10_000)

    E, P = spun.energy(), spun.momentum(about=top.pivot.anchor)
    held = spun.position + rotation.rotate(spun.orientation, top.pivot.point) - top.pivot.anchor
    assert E[0] == pytest.approx(8.2167, abs=1e-4)
    assert (E - E[0]).min() == pytest.approx(-4.5e-3, rel=0.02)
    assert (E - E[0]).max() == pytest.approx(1.4e-3, rel=0.05)
    assert abs(P[:, 2] - P[0, 2]).max() <= len(E) * EPS * abs(P[0]).max()
    assert abs(held).max() <= 8 * EPS  # not adding up: each step aims at the anchor
    slip = spun.twist[:, 3:] + np.cross(spun.twist[:, :3], top.pivot.point)
    assert abs(slip).max() <= 64 * EPS * abs(spun.twist).max()
    assert spun.iterations.mean() <= 3.1


def test_the_motion_does_not_depend_on_the_reference_point():
    # Psi' = Psi + Phi x c is linear as v' = v + omega x c is, so the discrete action is the same
    c = np.array([0.5, -0.3, 0.2])
    here = RigidBody(BARE, [WEIGHT, SPRING])
    shifted = [
        WorldForce(WEIGHT.force, CENTER - c),
        AnchoredSpring(30.0, SPRING.point - c, SPRING.anchor),
    ]
    there = RigidBody(spatial_inertia(MASS, MOMENTS, CENTER - c), shifted)
    a = here.state(**START)
    b = there.state(
        c, angular_velocity=a.twist[:3], velocity=a.twist[3:] + np.cross(a.twist[:3], c)
    )

    p, q = here.simulate(a, 0.02, 100), there.simulate(b, 0.02, 100)

    # A hundred steps of rounding, on a motion that is not chaotic.
    assert q.orientation == pytest.approx(p.orientation, abs=1e4 * EPS)
    assert q.position - rotation.rotate(q.orientation, c) == pytest.approx(
        p.position, abs=1e4 * EPS
    )
    assert q.energy() == pytest.approx(p.energy(), abs=1e5 * EPS)


@pytest.mark.parametrize("body", [figure_body(), heavy_top()], ids=["spring", "top"])
def test_the_motion_runs_back_when_its_twist_is_turned_round(body):
    state = body.state(**START) if body.pivot is None else top_state(body)
    last = body.simulate(state, 0.02, 200).state()

    back = body.state(
        last.position, last.orientation, angular_velocity=-last.twist[:3], velocity=-last.twist[3:]
    )
    first = body.simulate(back, 0.02, 200).state()

    assert first.orientation == pytest.approx(state.orientation, abs=1e5 * EPS)
    assert first.position == pytest.approx(state.position, abs=1e5 * EPS)
    assert -first.twist == pytest.approx(state.twist, abs=1e6 * EPS)


def test_a_function_does_what_built_in_forces_do():
    def push(time, position, orientation, twist):
        force = rotation.rotate(rotation.conjugate(orientation), WEIGHT.force)
        return np.concatenate([np.cross(CENTER, force), force]) - DRAG.matrix @ twist

    built_in, own = RigidBody(FULL, [WEIGHT, DRAG]), RigidBody(FULL, external=push)
    state = built_in.state(**START)

    p, q = built_in.simulate(state, 0.01, 50), own.simulate(state, 0.01, 50)

    # The repetition stops at a relative change of 1e-13 in each of 50 steps.
    assert q.position == pytest.approx(p.position, abs=50 * 1e-12)
    assert q.twist == pytest.approx(p.twist, abs=50 * 1e-12 * abs(p.twist).max())


def test_steps_in_a_row_are_one_run():
    body = figure_body()
    state = body.state(**START, time=5.0)

    for _ in range(20):
        state = body.step(state, 0.01)

    whole = body.simulate(body.state(**START, time=5.0), 0.01, 20).state()
    assert state.time == pytest.approx(5.2, abs=1e-12)
    assert numbers(state) == pytest.approx(numbers(whole), abs=1e4 * EPS)  # M^-1 M in between


# What is refused


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (
            spatial_inertia(1.0, np.diag([1, 1, 0])),
            r"not positive definite: its entry \(2, 2\) is 0",
        ),
        (spatial_inertia(1.0, np.zeros((3, 3)), (1, 1, 1)), "the inertia is singular"),
        (BARE - 0.9 * np.diag(np.diag(BARE)), "the inertia is indefinite"),
        (BARE + np.eye(6, k=2), r"not symmetric: entry \(\d, \d\) is"),
        (np.diag([1, 1, 1, 1, 1, np.nan]), "must be finite"),
        (np.eye(3), r"shape \(3, 3\), it must be \(6, 6\)"),
    ],
)
def test_an_inertia_that_is_none_is_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        RigidBody(matrix)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: RigidBody(FULL, [9.81]), TypeError, "force 0 must be WorldForce, "),
        (lambda: RigidBody(FULL, pivot=(0, 0, 0)), TypeError, "pivot must be a Pivot"),
        (lambda: RigidBody(FULL, external=3), TypeError, "external must be a function"),
        (lambda: WorldForce((0, 0)), ValueError, "force of WorldForce has shape"),
        (lambda: BodyWrench((0, 0, np.nan)), ValueError, "torque of BodyWrench must be finite"),
        (lambda: AnchoredSpring(-1, (0, 0, 0), (0, 0, 0)), ValueError, "stiffness of the spring"),
        (lambda: Drag(-np.eye(6)), ValueError, "drives some motion"),
        (lambda: Pivot((0, 0, np.inf)), ValueError, "point of Pivot must be finite"),
        (lambda: spatial_inertia(0, np.eye(3)), ValueError, "mass must be positive"),
        (lambda: figure_body().state(orientation=(0, 0, 0, 0)), ValueError, "must not be zero"),
        (
            lambda: figure_body().state(velocity=(np.nan, 0, 0)),
            ValueError,
            "velocity must be finite",
        ),
        (lambda: heavy_top().state((1, 0, 0)), InconsistentStateError, "m from its anchor; leave"),
        (lambda: heavy_top().state(velocity=(0, 0, 1)), InconsistentStateError, "moves at 1 m/s"),
    ],
)
def test_what_is_no_body_force_or_state_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(("h", "steps"), [(0.0, 1), (-0.1, 1), (0.1, -1), (np.nan, 1)])
def test_a_timestep_that_is_none_is_refused(h, steps):
    body = figure_body()

    with pytest.raises(ValueError, match="timestep"):
        body.simulate(body.state(), h, steps)


@pytest.mark.parametrize("turn", [1.01, 1.9, 2.5, 3.5, 40.0])
def test_a_step_that_turns_too_far_is_refused_and_the_state_kept(turn):
    ball = RigidBody(spatial_inertia(1.0, 0.1 * np.eye(3)))
    state = ball.state(angular_velocity=(turn / 0.1, 0, 0), time=2.0)

    with pytest.raises(ConvergenceError, match="take a smaller timestep") as failure:
        ball.simulate(state, 0.1, 3)

    assert failure.value.step == 0
    assert f"turns by {turn:.3g} rad" in str(failure.value)
    assert np.array_equal(state.twist, [turn / 0.1, 0, 0, 0, 0, 0])
    assert ball.step(state, 0.05 / turn).time > 2.0


def test_a_body_that_is_spun_up_fails_at_the_step_where_it_turns_too_far():
    # 1 N m on 0.1 kg m^2: 10 rad/s^2, and h omega is 1 at t = 1 s
    ball = RigidBody(spatial_inertia(1.0, 0.1 * np.eye(3)), [BodyWrench((0, 0, 1.0))])

    with pytest.raises(ConvergenceError, match="take a smaller timestep") as failure:
        ball.simulate(ball.state(), 0.1, 20)

    assert failure.value.step in (9, 10)
    assert pickle.loads(pickle.dumps(failure.value)).step == failure.value.step


def test_a_motion_that_is_not_finite_is_refused():
    body = RigidBody(FULL, [WorldForce((1e300, 0, 0))])

    ignored = np.errstate(over="ignore", invalid="ignore")  # kernels may run as plain Python
    with ignored, pytest.raises(ConvergenceError, match="is not finite"):
        body.simulate(body.state(), 1e10, 3)


@pytest.mark.parametrize(
    ("wrench", "error", "message"),
    [
        (lambda *_: np.full(6, np.nan), ValueError, "external at t = 1 s must be finite"),
        (lambda *_: np.zeros(3), ValueError, r"external at t = 1 s has shape \(3,\)"),
        (lambda *node: -1e4 * node[3], ConvergenceError, "depends on the twist so strongly"),
        (lambda *_: 1 / 0, ZeroDivisionError, "division"),
    ],
)
def test_a_function_that_gives_no_wrench_is_refused(wrench, error, message):
    body = RigidBody(FULL, external=wrench)

    with pytest.raises(error, match=message):
        body.simulate(body.state(velocity=(1e-6, 0, 0), time=1.0), 0.1, 2)


# Examples


@pytest.mark.parametrize("name", ["heavy_top", "underwater_vehicle"])
def test_the_example_runs_and_asserts_its_number(name, capsys):
    path = EXAMPLES / f"{name}.py"

    runpy.run_path(str(path), run_name="__main__")

    assert capsys.readouterr().out
    assert "\n    assert " in path.read_text()
