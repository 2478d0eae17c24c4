"""Parts that kernels are made of: pointers, sums of six, unit quaternions, work of impulses."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.integrators import spatial_inertia
from dynamics.kernels.base import layout
from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.base.quaternion import renormalized, rotate, rotate_back
from dynamics.kernels.base.settings import ENERGY_SHARE
from dynamics.kernels.base.six import add, add_multiples, inner_product, nothing, plus, put_multiple
from dynamics.kernels.interval.energy_audit import open_by, rounding_work, work_of_residual
from dynamics.kernels.rows import rows as kinds
from dynamics.parts.joints import POINTS

from .kernel_calls import impulse_work


@kernel
def shifted(x, first, second):
    """Numbers of x behind two shifts, the first of which is written."""
    y = pointer(pointer(x, first), second)
    y[0] = 7.0
    return y[1]


@kernel
def weighted(weights, rows, count, r, to):
    """r[to:to + 6] <- r[to:to + 6] + weights times rows, six numbers each."""
    sums = nothing()
    for i in range(count):
        sums = plus(sums, weights[i], rows, 6 * i)
    add(r, to, sums)


def test_a_pointer_is_what_follows_in_the_array():
    x = np.arange(6.0)

    assert shifted(x, 1, 2) == 4.0
    assert x.tolist() == [0.0, 1.0, 2.0, 7.0, 4.0, 5.0]


def test_sums_of_six_are_those_of_arrays_and_touch_nothing_else():
    rng = np.random.default_rng(0)
    rows, weights, r = rng.normal(size=(5, 6)), rng.normal(size=5), rng.normal(size=9)
    expected = r.copy()
    expected[2:8] += weights @ rows

    weighted(weights, rows.ravel(), 5, r, 2)

    # five products and six sums a number, each right to eps / 2
    np.testing.assert_allclose(r, expected, rtol=0.0, atol=11 * 2.2e-16 * 10.0)
    assert (r[[0, 1, 8]] == expected[[0, 1, 8]]).all()


@pytest.mark.parametrize("n", [0, 1, 5, 6, 7, 12, 20])
def test_products_and_largest_numbers_are_those_of_arrays_whatever_their_length(n):
    x, y = np.random.default_rng(n).normal(size=(2, n + 4))

    # n products and sums, each right to eps / 2 of the sum of sizes
    room = n * 2.2e-16 * np.abs(x[1 : n + 1]) @ np.abs(y[3 : n + 3])
    assert abs(inner_product(n, x, 1, y, 3) - x[1 : n + 1] @ y[3 : n + 3]) <= room


@pytest.mark.parametrize("n", [0, 1, 6, 13])
def test_multiples_of_arrays_touch_nothing_else(n):
    x, y = np.random.default_rng(n).normal(size=(2, 20))
    wanted, summed = y.copy(), y.copy()
    wanted[3 : n + 3] = -x[1 : n + 1]
    summed[:n] += 0.5 * x[:n]

    out = y.copy()
    put_multiple(n, -1.0, x, 1, out, 3)
    np.testing.assert_array_equal(out, wanted)
    out = x.copy()
    put_multiple(n, -1.0, out, 0, out, 0)  # in place
    np.testing.assert_array_equal(out, np.concatenate([-x[:n], x[n:]]))
    out = y.copy()
    add_multiples(n, 0.5, x, out)
    np.testing.assert_array_equal(out, summed)  # half of a number is exact


@pytest.mark.parametrize("length", [1.0, 1.0 + 1e-9, 1.0 - 3e-9, 1.0 + 1e-6, 0.5, 2.0, 40.0])
def test_a_quaternion_becomes_unit_whatever_its_length(length):
    q = length * np.array([0.1, -0.7, 0.5, 0.5])  # of length 1

    unit = np.array(renormalized(tuple(q)))

    # below NEARLY what is left is 3/8 of the square of |q|^2 - 1: at most 4e-17
    assert abs(np.linalg.norm(unit) - 1.0) < 4e-16
    np.testing.assert_allclose(unit, q / length, rtol=0.0, atol=4e-16)


def test_a_vector_is_turned_into_the_world_and_back():
    rng = np.random.default_rng(0)
    q, a = rotation.random(rng), rng.normal(size=3)

    turned = np.array(rotate(tuple(q), tuple(a)))
    np.testing.assert_allclose(turned, rotation.rotate(q, a), atol=1e-14)
    np.testing.assert_allclose(rotate_back(tuple(q), tuple(turned)), a, atol=1e-14)


def test_rows_of_points_are_three_along_the_axes_and_the_first_of_their_joint():
    # what `rows.pin` relies on
    mech = dy.Mechanism()
    make = [
        dy.Revolute, dy.Spherical, dy.Fixed, dy.Universal, dy.Prismatic, dy.ConstantVelocity,
    ]  # fmt: skip
    parent = mech.world
    for i, joint in enumerate(make):
        child = mech.add_body(dy.Box(1.0, 0.2, 0.1, mass=1.0), name=f"body {i}")
        axes = {"Universal": [[1, 0, 0], [0, 1, 0]], "Spherical": [], "Fixed": []}
        mech.add_joint(joint(parent, child, *axes.get(joint.__name__, [[0, 1, 0]])))
        parent = child
    tables = mech.finalize(timestep=0.01).tables
    plan, constant = tables.plan, tables.constant

    seen = 0
    for k in range(plan[layout.MEASURES]):
        group = plan[plan[layout.GROUP_AT] + k * layout.GROUP_FIELDS :]
        first, count = group[layout.FIRST_ROW], group[layout.N_ROWS]
        places = (
            plan[layout.ROW_AT] + layout.ROW_FIELDS * np.arange(first, first + count) + layout.KIND
        )
        points = np.flatnonzero(plan[places] == kinds.POINT)
        assert points.tolist() in ([], [0, 1, 2])
        for i in points:
            c = constant[plan[layout.ROW_CONSTANT_AT] + (first + i) * layout.ROW_SIZE :]
            assert c[layout.AXIS : layout.AXIS + 3].tolist() == np.eye(3)[i].tolist()
            assert c[layout.REST] == 0.0
        seen += points.size == 3
    assert seen == 5
    assert [row.kind for row in POINTS] == [kinds.POINT] * 3


def held_by_springs_alone():
    """No rigid joint: compliant ones, stiff and soft springs, dampers, added mass."""
    mech = dy.Mechanism()
    X, Y, Z = np.eye(3)
    one = mech.add_body(mass=1.0, inertia=[0.2, 0.3, 0.4], name="one")
    two = mech.add_body(mass=2.0, inertia=[0.2, 0.3, 0.4], drag=0.5, spin_drag=0.1, name="two")
    three = mech.add_body(mass=3.0, inertia=[0.2, 0.3, 0.4], name="three")
    water = np.diag([0.1, 0.2, 0.3, 1.0, 2.0, 3.0])
    inertia = spatial_inertia(2.0, np.diag([0.2, 0.3, 0.4])) + water
    swims = mech.add_body(mass=2.0, inertia=inertia, name="swims")
    mech.add_joint(
        dy.Revolute(
            mech.world, one, Y, child_point=0.5 * Z, compliance=1e-3, constraint_damping=5.0,
            theta=0.7, armature=0.3, stiffness=1e5, damping=100.0,
        )
    )  # fmt: skip
    ends = {"parent_point": -0.5 * Z, "child_point": 0.5 * Z}
    mech.add_joint(dy.Spherical(one, two, compliance=1e-3, **ends))
    mech.add_force(dy.Spring(two, three, 30.0, 3.0, 0.5, parent_point=0.1 * Y))
    mech.add_force(dy.Spring(swims, mech.world, 30.0, 0.0, 0.3))
    return mech.finalize(0.02, energy_audit="warn")


def test_what_is_not_rigid_is_known_to_the_energy_audit_to_rounding():
    model = held_by_springs_alone()
    model.settings[ENERGY_SHARE] *= 1e-12  # the audit looks at every interval
    rng = np.random.default_rng(0)
    for _ in range(4):
        places, velocities, spins = rng.normal(size=(3, 4, 3))
        for forth in (1.0, -1.0):  # work that is lost one way is given the other way
            state = model.initial_state()
            for k, name in enumerate(model.mechanism.bodies):
                place = 0.02 * places[k] - [0.0, 0.0, 0.5 + k]
                moves = {"velocity": velocities[k], "angular_velocity": spins[k]}
                moves = {what: forth * numbers for what, numbers in moves.items()}
                model.set_body(state, name, position=place, **moves)
            for _ in range(2):
                state, info = model.step(state)
                # impulses of 1e3 N times 0.02 s, times Newton's tolerance, at some m/s
                assert 0.0 <= info.unexplained_energy < 1e-9


def test_joints_are_open_by_their_rigid_rows_that_hold_positions():
    mech = dy.Mechanism()
    X, Y, Z = np.eye(3)
    ball = mech.add_body(dy.Sphere(0.25, mass=1.0), position=0.25 * Z, name="ball")
    mech.add_joint(dy.Rolling(mech.world, ball, Z, 0.25, name="contact"))
    arms = [mech.add_body(dy.Box(1.0, 0.2, 0.1, mass=1.0), name=f"arm {i}") for i in range(3)]
    hinges = [
        mech.add_joint(dy.Revolute(mech.world, arm, Y, child_point=0.5 * X, compliance=compliance))
        for arm, compliance in zip(arms, [0.0, 1e-3, 0.0])
    ]
    mech.add_coupling(hinges[0], hinges[2], ratio=2.0)
    model = mech.finalize(timestep=0.01)
    plan, constant = model.tables.plan, model.tables.constant

    def opened_by(row):
        g = np.zeros(plan[layout.ALL_ROWS])
        g[row] = -2.0
        return open_by(plan, constant, g) / 2.0

    found = [opened_by(row) for row in range(plan[layout.ROWS] + 1)]
    ball, arm = constant[layout.EXTENT], constant[layout.BODY_SIZE + layout.EXTENT]
    hinge = [arm, arm, arm, 1.0, 1.0]
    # the ball's height and its rolling, the hinges, the gear by the first of its halves
    assert found == pytest.approx([ball, 0.0, 0.0, *hinge, *[0.0] * 5, *hinge, 1.0, 0.0])


def test_work_that_rounding_may_do_by_hand():
    # one body: an error of velocities of tol v and tol v / l, and joints that are open by 1e-6 l
    mech = dy.Mechanism()
    body = mech.add_body(dy.Box(1.0, 0.2, 0.1, mass=3.0), name="body")
    mech.add_joint(dy.Revolute(mech.world, body, np.eye(3)[1], child_point=0.5 * np.eye(3)[0]))
    mech.add_contact(body)
    model = mech.finalize(timestep=0.01)
    plan, constant = model.tables.plan, model.tables.constant
    length, speed = 1.0 / constant[[layout.EXTENT, layout.PACE]]
    energy = constant[plan[layout.CONTACT_CONSTANT_AT] + layout.ENERGY]
    tolerance, h, opened = 1e-8, 0.02, 1e-6
    r, mu = np.array([3.0, 0.0, -4.0, 0.0, 5.0, 0.0]), np.array([7.0, 0.0, 0.0, 0.0, -2.0])

    def work(x, r, mu, barrier=0.0):
        return rounding_work(plan, constant, h, tolerance, barrier, opened, np.array(x), mu, r)

    resting, none = np.zeros(6), np.zeros(6)
    linear, angular = 1e-8 * speed + 1e-6 * length / h, 1e-8 * speed / length + 1e-6 / h
    assert work(resting, r, none) == pytest.approx(7.0 * linear + 5.0 * angular)
    assert work(resting, none, mu) == pytest.approx(7.0 * linear + 2.0 * angular)
    # tolerances are relative to velocities above the unit: ten times it, and a turn of thirty
    for x in ([10.0 * speed, 0, 0, 0, 0, 0], [0, 0, 0, 0, -10.0 * speed / length, 0]):
        linear = 1e-7 * speed + 1e-6 * length / h
        assert work(x, np.array([3.0, 0, 0, 0, 0, 0]), none) == pytest.approx(3.0 * linear)
    contacts = plan[layout.CONTACTS]
    assert work(resting, none, none, 1e-9) == pytest.approx(contacts * 1e-9 * energy)


def test_work_of_a_residual_by_hand():
    # impulses m v and J v / l, the units of a residual, at the mean of both velocities
    mech = dy.Mechanism()
    mech.add_body(mass=3.0, inertia=[0.5, 0.4, 0.3], name="body")
    constant, plan = (model := mech.finalize(timestep=0.01)).tables.constant, model.tables.plan
    length, speed = 1.0 / constant[[layout.EXTENT, layout.PACE]]
    u, x = np.array([1.0, 0, 0, 0, 0, -2.0]), np.array([2.0, 0, 0, 0, 0, -4.0])
    found = work_of_residual(plan, constant, u, x)
    assert found == pytest.approx(1.5 * 3.0 * speed + 3.0 * 0.5 * speed / length)


def test_work_of_impulses_is_that_of_the_mean_velocity():
    rng = np.random.default_rng(0)
    u, x, r = rng.normal(size=(3, 12))
    assert impulse_work(np.array([2]), u, x, r) == pytest.approx(0.5 * (u + x) @ r)
