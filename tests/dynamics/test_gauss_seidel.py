"""Contacts that change their minds in turns are settled apart, and steps that go astray are cut."""

import math

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.kernels.base import layout
from dynamics.kernels.contacts.gauss_seidel import sweep
from dynamics.kernels.contacts.single_contact import contact_alone
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


def test_undecided_contact_alone_settles_on_its_law():
    mechanism = dy.Mechanism()
    ball = mechanism.add_body(dy.Sphere(0.25, mass=2.0), name="ball", position=(0, 0, 0.25))
    mechanism.add_contact(ball, friction=0.5)
    plan, constant = mechanism.finalize(H).tables.plan, mechanism.finalize(H).tables.constant
    contacts, c, barrier = np.zeros(layout.CONTACT_WORK), np.array([1.0, 1, 0, 0, 1, 0, 0]), 5e-9
    kappa = barrier * constant[plan[layout.CONTACT_CONSTANT_AT] + layout.ENERGY]
    contacts[layout.ACTIVE_AT], contacts[layout.UNDECIDED_AT] = 1.0, 1.0
    contacts[layout.FRICTION_PART_AT] = 1.0
    contacts = with_list(plan, contacts)
    D = np.diag([0.5, 1.75, 1.75])  # 1/m, and (1 + 5/2)/m at the surface
    start = np.array([-3.0, 4.0, 0.0])
    v = start + D @ [1.0, 0.0, 0.0]
    for _ in range(3):
        changed, most = sweep(plan, constant, H, barrier, 3, contacts, D.ravel(), v, c)

    assert changed < 1e-12
    np.testing.assert_allclose(v, start + D @ [c[0], c[2], c[3]], atol=1e-14)
    assert c[0] * v[0] == pytest.approx(kappa, rel=1e-6)
    assert c[0] == pytest.approx(6.0, abs=1e-6)  # ends 3 m/s of 2 kg
    # sticking would take 4 / 1.75 = 2.29 N s, less than 0.5 times 6
    assert c[2] == pytest.approx(-4.0 / 1.75, abs=1e-6)
    assert abs(v[1]) < 1e-6 and most == c[0]


def test_contact_alone_fulfils_its_laws_whatever_the_tangents_do_to_the_normal():
    kappa, friction, rng = 1e-8, 0.5, np.random.default_rng(3)
    for _ in range(300):
        root = rng.normal(size=(3, 3)) * 10.0 ** rng.uniform(-1.5, 0.5, 3)
        D = root @ root.T + 1e-4 * np.eye(3)  # held in some directions, as by joints
        w = rng.normal(size=3) * 10.0 ** rng.uniform(-3, 1)

        gamma, x, y, t = contact_alone(
            friction, kappa, 0.0, D.T.ravel(), 0, 3, tuple(w), 10.0 ** rng.uniform(-6, 1), 1.0
        )

        impulse, head = np.array([gamma, x, y]), friction * gamma
        v = w + D @ impulse
        # iterations end where the next change is 1e-12 of the impulse
        rounding = 1e-11 * (np.abs(w) + np.abs(D) @ np.abs(impulse)).max()
        assert gamma > 0.0
        assert v[0] == pytest.approx(kappa / gamma, rel=1e-9, abs=rounding)
        np.testing.assert_allclose(v[1:], [-t * x, -t * y], rtol=1e-9, atol=rounding)
        drowned = 1e-11 * t * head**2  # of the difference, by the same
        assert t * (head**2 - x * x - y * y) == pytest.approx(kappa, rel=1e-6, abs=drowned)
        assert math.hypot(x, y) < head


def test_sweeps_settle_at_once_what_a_joint_holds_along_the_ground():
    mechanism = dy.Mechanism()
    ball = mechanism.add_body(dy.Sphere(0.25, mass=2.0), name="ball", position=(0, 0, 0.25))
    mechanism.add_contact(ball, friction=0.5)
    model = mechanism.finalize(H)
    contacts = np.zeros(layout.CONTACT_WORK)
    contacts[layout.ACTIVE_AT], contacts[layout.UNDECIDED_AT] = 1.0, 1.0
    contacts = with_list(model.tables.plan, contacts)
    D = np.array([[0.4, 0.2, 0.0], [0.2, 1.0, -0.3], [0.0, -0.3, 2.0]])
    D[1] *= 1e-2  # a thousandth of what the other direction gives
    D[:, 1] *= 1e-2
    c, v = np.array([1.0, 1, 0, 0, 1, 0, 0]), np.array([-1.0, 1e-5, 0.3]) + D[:, 0]

    sweep(model.tables.plan, model.tables.constant, H, 5e-9, 3, contacts, D.T.ravel(), v, c)
    changed, most = sweep(
        model.tables.plan, model.tables.constant, H, 5e-9, 3, contacts, D.T.ravel(), v, c
    )

    assert changed < 1e-6 * most


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
