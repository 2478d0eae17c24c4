"""Contacts on their Delassus operator, and steps that go astray are cut."""

import math

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.kernels.base import layout
from dynamics.kernels.contacts.delassus_newton import delassus_newton, eliminate
from tests.dynamics.kernel_calls import responses, with_list
from tests.dynamics.test_step import dense

H = 0.01


def chain(n, degrees=30.0, **settings):
    """Spheres on ball joints above the ground, sliding across."""
    mechanism, previous, slope = dy.Mechanism(), None, math.radians(degrees)
    for i in range(n):
        ball = mechanism.add_body(
            dy.Sphere(0.25, mass=1.0), name=i,
            position=(0.5 * i * math.cos(slope), 0.0, 0.26 + 0.5 * i * math.sin(slope)),
            orientation=rotation.from_axis_angle((0, 1, 0), -slope),
        )  # fmt: skip
        mechanism.add_contact(ball, friction=0.5)
        if previous is not None:
            mechanism.add_joint(
                dy.Spherical(previous, ball, parent_point=(0.25, 0, 0), child_point=(-0.25, 0, 0))
            )
        previous = ball
    model = mechanism.finalize(H, **settings)
    state = model.initial_state()
    for name in mechanism.bodies:
        model.set_body(state, name, velocity=(0, 1, 0))
    return model, state


def test_a_chain_that_whips_down_a_slope_stays_above_it():
    model, state = chain(44)

    motion = dy.simulate(model, state, 5.0)

    gaps = [motion.contact(name).gap.min() for name in motion.contacts]
    assert min(gaps) > 0.0


def test_responses_are_those_of_the_dense_matrix():
    model, state = chain(8)
    model.step(state)  # leaves a matrix, and its factors
    plan, space = model.tables.plan, model.workspace
    size = 6 * 8 + 3 * 7
    rng = np.random.default_rng(0)
    contacts, chosen = rng.normal(size=8 * layout.CONTACT_WORK), [1, 3, 4, 7]
    contacts[layout.UNDECIDED_AT :: layout.CONTACT_WORK] = [k in chosen for k in range(8)]
    contacts[layout.ACTIVE_AT :: layout.CONTACT_WORK] = 1.0
    contacts = with_list(plan, contacts)
    rhs, solution, columns = np.zeros(size), np.zeros(size), np.zeros(2 * layout.COLUMNS * size)
    D = np.zeros(12 * 12)  # more than one lot of columns
    responses(plan, space.program, (*space.solver, rhs, solution, columns), 12, contacts, D)

    left, right = np.zeros((2, 12, size))
    for i, k in enumerate(chosen):
        own = contacts[k * layout.CONTACT_WORK :]
        b = plan[plan[layout.CONTACT_AT] + k * layout.CONTACT_FIELDS + layout.B]
        assert b == k
        for j in range(3):
            right[3 * i + j, 6 * b : 6 * b + 6] = own[layout.W_AT + 12 * j + 6 :][:6]
            left[3 * i + j, 6 * b : 6 * b + 6] = own[layout.W_AT + 12 * j + 6 :][:6]
        left[3 * i, 6 * b : 6 * b + 6] = own[layout.NEXT_AT + 6 :][:6]
    matrix = dense(model)
    expected = left @ np.linalg.solve(matrix, right.T)
    rounding = 1e3 * np.finfo(float).eps * np.linalg.cond(matrix) * np.abs(expected).max()
    np.testing.assert_allclose(D.reshape(12, 12).T, expected, rtol=0.0, atol=rounding)


def undecided(count):
    """Tables of balls on a ground, work arrays with all contacts undecided, and kappa."""
    mechanism = dy.Mechanism()
    for i in range(count):
        ball = mechanism.add_body(dy.Sphere(0.25, mass=2.0), name=i, position=(i, 0, 0.25))
        mechanism.add_contact(ball, friction=0.5)
    tables = mechanism.finalize(H).tables
    plan, constant, barrier = tables.plan, tables.constant, 5e-9
    contacts = np.zeros(count * layout.CONTACT_WORK)
    for at in (layout.ACTIVE_AT, layout.UNDECIDED_AT, layout.FRICTION_PART_AT):
        contacts[at :: layout.CONTACT_WORK] = 1.0
    kappa = barrier * constant[plan[layout.CONTACT_CONSTANT_AT] + layout.ENERGY]
    return plan, constant, barrier, with_list(plan, contacts), kappa


def solved(count, D, start):
    """Impulses (count, 3), their velocities (count, 3) and kappa by `delassus_newton`."""
    plan, constant, barrier, contacts, kappa = undecided(count)
    rows = 3 * count
    c = np.tile([1.0, 1, 0, 0, 1, 0, 0], count)  # gamma, s, beta, eta0, eta
    v = np.zeros(2 * rows + rows * rows)
    v[:rows] = start + D @ np.tile([1.0, 0, 0], count)
    delassus_newton(plan, constant, barrier, rows, contacts, D.T.ravel(), v, c)
    return c.reshape(count, 7)[:, [0, 2, 3]], v[:rows].reshape(count, 3), kappa


def test_undecided_contact_alone_settles_on_its_law():
    D = np.diag([0.5, 1.75, 1.75])  # 1/m, and (1 + 5/2)/m at the surface
    start = np.array([-3.0, 4.0, 0.0])

    impulse, v, kappa = solved(1, D, start)

    np.testing.assert_allclose(v[0], start + D @ impulse[0], atol=1e-14)
    assert impulse[0, 0] * v[0, 0] == pytest.approx(kappa, rel=1e-6)
    assert impulse[0, 0] == pytest.approx(6.0, abs=1e-6)  # ends 3 m/s of 2 kg
    # sticking would take 4 / 1.75 = 2.29 N s, less than 0.5 times 6
    assert impulse[0, 1] == pytest.approx(-4.0 / 1.75, abs=1e-6)
    assert abs(v[0, 1]) < 1e-6


@pytest.mark.parametrize("count", [1, 2, 8])
def test_contacts_that_share_bodies_fulfil_the_laws(count):
    """Of the operator of random bodies: velocities at gaps and of sliding, forces in cones."""
    rng, found = np.random.default_rng(count), 0
    for _ in range(60):
        root = rng.normal(size=(3 * count, 3 * count)) / math.sqrt(3 * count)
        D = root @ root.T + 0.5 * np.eye(3 * count)
        start = rng.normal(size=3 * count)

        impulse, v, kappa = solved(count, D, start)

        rounding = 1e-13 * (np.abs(start) + np.abs(D) @ np.abs(impulse.ravel())).max()
        np.testing.assert_allclose(v.ravel(), start + D @ impulse.ravel(), rtol=0, atol=rounding)
        gamma, beta, slip = impulse[:, 0], impulse[:, 1:], v[:, 1:]
        assert np.all(gamma > 0.0) and np.all(np.linalg.norm(beta, axis=1) < 0.5 * gamma)
        # eta0 of the path, theory/contacts (3): friction opposes sliding, whatever is left of it
        ratio = kappa / (0.5 * gamma)
        eta0 = 0.5 * (ratio + np.sqrt(ratio**2 + 4.0 * (slip**2).sum(axis=1)))
        law = np.abs(eta0[:, None] * beta + 0.5 * gamma[:, None] * slip).max(axis=1) / eta0
        found += np.all(np.abs(gamma * v[:, 0] - kappa) < 1e-6 * gamma) and np.all(law < 1e-6)
    assert found >= 57


def test_elimination_exchanges_rows():
    # [[0 2] [1 1]] (1, 3) = (6, 4); of a singular matrix nothing is given
    M, f = np.array([0.0, 1.0, 2.0, 1.0]), np.array([6.0, 4.0])
    assert eliminate(2, M, f)
    np.testing.assert_allclose(f, [1.0, 3.0], rtol=1e-15)
    assert not eliminate(2, np.array([1.0, 2.0, 2.0, 4.0]), f)


def test_steps_with_contacts_are_halved_until_no_interval_turns_too_far():
    mechanism = dy.Mechanism()
    ball = mechanism.add_body(dy.Sphere(0.25, mass=1.0), name="ball", position=(0, 0, 5))
    mechanism.add_contact(ball)
    model = mechanism.finalize(H, largest_turn=0.1)
    for turn, intervals in ((0.09, 1), (0.15, 2), (0.25, 4), (0.35, 4), (0.55, 8)):
        state = model.initial_state()
        model.set_body(state, "ball", angular_velocity=(turn / H, 0, 0))

        assert model.step(state)[1].intervals == intervals


@pytest.mark.parametrize(("start", "intervals"), [(0.0, 5), (-1.0, 12)])
def test_intervals_grow_again_after_the_event_that_cut_them(start, intervals):
    """A bar that would turn by 2 rad in a step stops at a limit, after 0.1 or 1.1 rad.

    Sixteenths of the step turn it by 0.125 rad, so the first or the ninth of them has the stop.
    After two or ten of them longer intervals follow: 1/8 + 1/4 + 1/2, or 1/8 + 1/4.
    """
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    bar = mechanism.add_body(dy.Box(0.1, 0.1, 1.0, mass=1.0), name="bar")
    mechanism.add_joint(
        dy.Revolute(mechanism.world, bar, (0, 1, 0), name="hinge", limits=(-2.0, 0.1))
    )
    model = mechanism.finalize(H, largest_turn=0.14)
    state = model.initial_state()
    model.set_joint(state, "hinge", start, 2.0 / H)

    after, info = model.step(state)
    assert info.intervals == intervals
    assert 0.1 - 1e-4 < model.joint(after, "hinge")[0] < 0.1


@pytest.mark.parametrize(
    ("contact", "speed", "spin", "intervals"),
    [
        # a step turns a ball by the arc sine of 0.4, |phi| = 0.2043, and J u^2 = 41.7 J: the mean
        # |phi| is 0.2043 sqrt(41.7 / (41.7 + v^2)), the limit of 0.17 rad 0.0849 where v = 14.1
        (True, 12.0, 40.0, 2),
        (True, 15.0, 40.0, 1),
        (True, 1e3, 56.0, 1),
        (True, 1e3, 57.0, 2),  # no body by more than 0.6 rad, the arc sine of 0.565
        (False, 1e3, 40.0, 4),  # each counts where there are no contacts
    ],
)
def test_bodies_with_contacts_turn_by_their_energies(contact, speed, spin, intervals):
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    for name in ("flies", "turns"):
        ball = mechanism.add_body(dy.Sphere(0.25, mass=1.0), name=name, position=(0, 0, 5))
        if contact:
            mechanism.add_contact(ball)
    model = mechanism.finalize(H)
    state = model.initial_state()
    model.set_body(state, "flies", velocity=(speed, 0, 0))
    model.set_body(state, "turns", angular_velocity=(spin, 0, 0))

    assert model.step(state)[1].intervals == intervals
