"""Compliance and damping of joints as symmetric positive semidefinite matrices."""

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve

import dynamics as dy
from dynamics import rotation
from dynamics.integrators.compliance import Mapping, effective_compliance, implicit_step
from dynamics.tables.recombination import recombined

from .test_control import accelerations
from .test_linearization import CLOSE, by_differences, error

C3 = np.array([[2.0, 0.8, -0.3], [0.8, 1.5, 0.4], [-0.3, 0.4, 1.0]]) * 1e-3
D3 = np.array([[3.0, -1.0, 0.5], [-1.0, 2.0, 0.7], [0.5, 0.7, 1.5]])


def random_matrix(rng, n, rank, scale=None):
    A = rng.normal(size=(n, rank)) * (np.ones(n) if scale is None else scale)[:, None]
    return A @ A.T


# Recombined rows


@pytest.mark.parametrize("n", [1, 2, 3, 6])
@pytest.mark.parametrize("units", [1.0, 1e-6])
def test_recombined_rows_have_a_diagonal_compliance_and_damping(n, units):
    rng = np.random.default_rng(n)
    scale = np.where(np.arange(n) % 2, 1.0, units)  # half of the rows in other units
    for rank in range(n + 1):
        C = random_matrix(rng, n, rank, scale)
        D = random_matrix(rng, n, max(1, n - 1), 1.0 / scale)
        found = recombined(C, D, n)
        T = np.eye(n) if found.rows is None else found.rows
        soft = found.compliance > 0.0
        assert soft.sum() == rank
        L, U = np.tril(found.factors, -1) + np.eye(n), np.triu(found.factors)
        size = np.linalg.norm(T * scale, axis=1)
        # rounding, times the condition of matrices that are random
        assert np.abs((L @ U - T) * scale / size[:, None]).max() < 1e-13
        assert (
            np.abs((T @ C @ T.T - np.diag(found.compliance)) / np.outer(size, size)).max() < 1e-11
        )
        back = np.linalg.inv(T)
        slow = (back.T @ D @ back * np.outer(size, size))[np.ix_(soft, soft)]
        wanted = np.diag(found.damping * size**2)[np.ix_(soft, soft)]
        assert np.abs(slow - wanted).max(initial=0.0) < 1e-10 * np.abs(slow).max(initial=1.0)


def test_rows_that_are_diagonal_already_stay_as_they_are():
    found = recombined(np.diag([1e-3, 0.0, 2e-3]), D3 * np.eye(3), 3)
    assert found.rows is None
    assert found.compliance.tolist() == [1e-3, 0.0, 2e-3]
    # damping between a rigid row and soft ones does nothing
    coupled = np.diag([1.0, 2.0, 3.0]) + np.array([[0, 0.5, 0], [0.5, 0, 0.1], [0, 0.1, 0]])
    assert recombined(np.diag([1e-3, 0.0, 2e-3]), coupled, 3).rows is None


# Oscillators


def ball(joint=dy.Spherical, gravity=0.0, h=0.01, m=2.0, **options):
    """A mass on a joint at its centre."""
    mechanism = dy.Mechanism(gravity=(0, 0, -gravity))
    body = mechanism.add_body(mass=m, inertia=[0.1, 0.2, 0.25], name="ball")
    mechanism.add_joint(joint(mechanism.world, body, name="joint", **options))
    return mechanism.finalize(h, tolerance=1e-14)


@pytest.mark.parametrize("scale", [1.0, 1e-6])  # h omega of 0.3, of 300
def test_a_mass_on_a_matrix_of_springs_vibrates_as_its_modes_do(scale):
    h, m, C = 0.01, 2.0, scale * C3
    model = ball(compliance=C, h=h, m=m)
    state = model.initial_state()
    x0 = scale * np.array([0.1, -0.2, 0.15])
    state.pose[0, :3] = x0
    motion = dy.simulate(model, state, 1.0)
    soft, Q = np.linalg.eigh(C)
    # the trapezoidal rule: cos(k angle), tan(angle / 2) = h omega / 2
    angle = 2.0 * np.arctan(0.5 * h / np.sqrt(m * soft))
    wanted = (np.cos(angle * np.arange(101)[:, None]) * (Q.T @ x0)) @ Q.T
    assert np.abs(motion.body("ball")[0] - wanted).max() < 1e-9 * scale
    energy = motion.energy()
    assert energy[0] == pytest.approx(0.5 * x0 @ np.linalg.solve(C, x0), rel=1e-12)
    assert np.abs(energy - energy[0]).max() < 1e-9 * energy[0]


@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_compliance_and_damping_that_do_not_commute_follow_their_recursion(theta):
    # theory/step (3), (4) with matrices in place of numbers
    h, m = 0.01, 2.0
    assert np.abs(C3 @ D3 - D3 @ C3).max() > 1e-4
    model = ball(compliance=C3, constraint_damping=D3, theta=theta, h=h, m=m)
    state = model.initial_state()
    x, p = np.array([0.1, -0.2, 0.15]), np.zeros(3)
    state.pose[0, :3] = x
    motion = dy.simulate(model, state, 1.0)
    late = theta * np.eye(3) + C3 @ D3 / h
    for k in range(1, 101):
        # m v = p + theta h lam, late (x + h v) + (1 - late) x + C lam = 0
        A = np.block([[m * np.eye(3), -theta * h * np.eye(3)], [h * late, C3]])
        v, lam = np.linalg.solve(A, np.r_[p, -x]).reshape(2, 3)
        x, p = x + h * v, m * v + (1.0 - theta) * h * lam
        assert motion.body("ball")[0][k] == pytest.approx(x, abs=1e-12)
        assert motion.reaction("joint")[k] == pytest.approx(lam, abs=1e-8)
    energy = motion.energy()
    assert energy[-1] < 0.5 * energy[0]


def test_a_weight_hangs_where_its_compliance_says_and_the_reaction_is_the_weight():
    model = ball(compliance=C3, gravity=10.0)
    state = model.initial_state()
    sag = C3 @ [0.0, 0.0, -20.0]
    state.pose[0, :3] = sag
    assert model.constraint_violation(state) == pytest.approx(sag, abs=1e-15)
    motion = dy.simulate(model, state, 0.5)
    assert np.abs(motion.body("ball")[0] - sag).max() < 1e-12
    assert motion.reaction("joint")[1:] == pytest.approx(np.tile([0, 0, 20.0], (50, 1)), abs=1e-8)


def test_a_singular_compliance_holds_its_null_space():
    free = np.array([1.0, 2.0, -1.0]) / np.sqrt(6.0)
    model = ball(compliance=1e-3 * np.outer(free, free), gravity=9.81)
    motion = dy.simulate(model, model.initial_state(), 1.0)
    x = motion.body("ball")[0]
    assert np.abs(x - np.outer(x @ free, free)).max() < 1e-13
    # a vibration about its sag: m g . free c (1 - cos)
    sag = 1e-3 * 2.0 * 9.81 * (1.0 / np.sqrt(6.0))
    angle = 2.0 * np.arctan(0.5 * 0.01 / np.sqrt(2.0 * 1e-3)) * np.arange(101)
    assert x @ free == pytest.approx(sag * (1.0 - np.cos(angle)), abs=1e-10)
    assert np.abs(motion.energy() - motion.energy()[0]).max() < 1e-10


def test_an_anisotropic_joint_turns_with_its_parent():
    # diagonal in the frame of a parent that is turned, a matrix where it is not
    turn = rotation.normalized(np.array([0.8, 0.3, -0.4, 0.2]))
    R = rotation.to_matrix(turn)
    ends = []
    for frame in (turn, np.array([1.0, 0, 0, 0])):
        mechanism = dy.Mechanism(gravity=(1.0, 2.0, -9.81))
        base = mechanism.add_body(mass=1.0, inertia=[1, 1, 1], name="base")
        mechanism.add_joint(dy.Fixed(mechanism.world, base, orientation=frame, name="weld"))
        body = mechanism.add_body(mass=2.0, inertia=[0.1, 0.2, 0.25], name="ball")
        C = np.diag([1e-3, 4e-3, 0.0])
        if frame is not turn:
            C = R @ C @ R.T
        mechanism.add_joint(
            dy.Spherical(base, body, name="joint", compliance=C, constraint_damping=3.0,
                         child_point=(0.1, 0.2, 0.3))
        )  # fmt: skip
        model = mechanism.finalize(0.01, tolerance=1e-13)
        state = model.initial_state()
        state.pose[model.body_number("ball")] = [-0.1, -0.2, -0.3, 1.0, 0.0, 0.0, 0.0]
        ends.append(np.hstack(dy.simulate(model, state, 0.5).body("ball")))
    assert np.ptp(ends[0], axis=0).max() > 0.3
    assert np.abs(ends[0] - ends[1]).max() < 1e-10  # 50 steps, solved to 1e-13


@pytest.mark.parametrize("damping", [np.zeros((3, 3)), D3])
def test_a_matrix_is_a_linear_mapping_of_the_constraints(damping):
    # rows A g with a diagonal compliance, by a function of the user, between two bodies that turn
    A = np.array([[1.0, 0.5, 0.2], [0.0, 1.0, -0.7], [0.3, 0.0, 1.0]])
    c = np.array([1e-3, 2e-3, 5e-4])
    inverse = np.linalg.inv(A)
    points = np.array([[0.3, -0.1, 0.2], [-0.2, 0.4, 0.1]])

    def mapped(pose_a, pose_b):
        Qa, Qb = (rotation.to_matrix(pose[3:]) for pose in (pose_a, pose_b))
        r = pose_b[:3] + Qb @ points[1] - pose_a[:3]
        d = Qa.T @ r
        G = np.hstack([-Qa.T, skew(d), Qa.T, -Qa.T @ Qb @ skew(points[1])])
        return A @ (d - points[0]), A @ G

    motions = []
    for users in (True, False):
        mechanism = dy.Mechanism()
        one, two = (
            mechanism.add_body(mass=m, inertia=[0.1, 0.2, 0.25], name=n, position=x)
            for n, m, x in (("one", 1.0, (0, 0, 0)), ("two", 2.0, (0.5, -0.5, 0.1)))
        )
        soft, slow = (c, inverse.T @ damping @ inverse) if users else (
            inverse @ np.diag(c) @ inverse.T, damping,
        )  # fmt: skip
        options = {"name": "joint", "compliance": soft, "constraint_damping": slow}
        if users:
            joint = dy.Custom(one, two, mapped, 3, **options)
        else:
            ends = {"parent_point": points[0], "child_point": points[1]}
            joint = dy.Spherical(one, two, **ends, **options)
        mechanism.add_joint(joint)
        model = mechanism.finalize(0.01, tolerance=1e-13)
        state = model.initial_state()
        model.set_body(state, "one", angular_velocity=(1.0, 2.0, -1.0), velocity=(0.1, 0, 0.3))
        motions.append(dy.simulate(model, state, 0.5))
    mine, theirs = motions
    assert np.abs(mine.states[:, :14] - theirs.states[:, :14]).max() < 1e-9
    assert mine.reaction("joint") @ A == pytest.approx(theirs.reaction("joint"), abs=1e-6)
    assert mine.energy() == pytest.approx(theirs.energy(), abs=1e-8)
    momentum = theirs.momentum()
    assert np.abs(momentum - momentum[0]).max() < 5 * 10 * 0.01 * 9.81 * 3.0  # gravity alone


def skew(a):
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


# Laws


def jointed(make, compliance, damping=0.0, h=0.01, gravity=True, **options):
    """Two bodies on a ball joint and a soft one, moving."""
    mechanism = dy.Mechanism(**({} if gravity else {"gravity": (0, 0, 0)}))
    a = mechanism.add_body(mass=1.0, inertia=[0.1, 0.2, 0.25], name="a")
    b = mechanism.add_body(mass=2.0, inertia=[0.3, 0.2, 0.25], name="b")
    if gravity:
        mechanism.add_joint(
            dy.Spherical(mechanism.world, a, child_point=(0.1, 0.2, 0.5), name="pivot",
                         actuated=True)
        )  # fmt: skip
    mechanism.add_joint(
        make(a, b, parent_point=[0.3, -0.1, 0.2], child_point=[-0.2, 0.4, 0.1], name="joint",
             compliance=compliance, constraint_damping=damping, **options)
    )  # fmt: skip
    model = mechanism.finalize(h, tolerance=1e-13)
    state, rng = model.initial_state(), np.random.default_rng(1)
    for body in "ab":
        model.set_body(
            state, body, velocity=rng.normal(size=3), angular_velocity=rng.normal(size=3)
        )
    return model, state  # `assemble` would stop the soft rows, too


def revolute(a, b, **options):
    return dy.Revolute(a, b, (0.6, 0.0, 0.8), **options)


JOINTS = {"ball": (dy.Spherical, 3), "weld": (dy.Fixed, 6), "hinge": (revolute, 5)}


@pytest.mark.parametrize("what", JOINTS)
@pytest.mark.parametrize("rank", [2, None])
def test_a_step_has_the_derivatives_of_differences(what, rank):
    make, n = JOINTS[what]
    rng = np.random.default_rng(n)
    C = 1e-3 * random_matrix(rng, n, n if rank is None else rank)
    model, state = jointed(make, C, random_matrix(rng, n, n))
    for _ in range(2):
        state, _ = model.step(state)
    A, B = dy.linearize(model, state, np.full(3, 0.2))
    wanted = by_differences(model, state, np.full(3, 0.2))
    assert error(A, wanted[0]) < CLOSE
    assert error(B, wanted[1]) < CLOSE


@pytest.mark.parametrize("what", JOINTS)
def test_energy_and_momentum_are_kept_and_a_damper_takes_energy(what):
    make, n = JOINTS[what]
    rng = np.random.default_rng(n)
    C, D = 1e-2 * random_matrix(rng, n, n - 1), 3.0 * random_matrix(rng, n, n)
    spans = []
    for h in (0.01, 0.005):
        model, state = jointed(make, C, h=h, gravity=False)
        motion = dy.simulate(model, state, 2.0)
        momentum, energy = motion.momentum(), motion.energy()
        assert np.abs(momentum - momentum[0]).max() < 1e-10
        spans.append(np.ptp(energy))
    assert spans[1] < 0.35 * spans[0] and spans[0] < 0.05 * energy[0]  # second order
    damped, state = jointed(make, C, D, gravity=False)
    motion = dy.simulate(damped, state, 2.0)
    assert motion.energy()[-1] < 0.98 * energy[0]
    assert motion.info["accumulated_energy"] < 1e-2 * energy[0]


def test_steps_are_of_second_order():
    ends = []
    for steps in (20, 40, 80):
        model, state = jointed(dy.Fixed, 1e-2 * random_matrix(np.random.default_rng(0), 6, 5),
                               h=0.2 / steps)  # fmt: skip
        ends.append(dy.simulate(model, state, 0.2).states[-1, :14])
    one, two = (np.abs(ends[k] - ends[k + 1]).max() for k in (0, 1))
    assert np.log2(one / two) == pytest.approx(2.0, abs=0.2)


def test_inverse_dynamics_and_sensors_know_it():
    model, state = jointed(revolute, 1e-3 * random_matrix(np.random.default_rng(2), 5, 5) +
                           1e-3 * np.eye(5), actuated=True)  # fmt: skip
    space, free = accelerations(model, state, np.array([0.1, 0.2, -0.3, 0.4]))
    force = dy.inverse_dynamics(model, state, free)
    assert force == pytest.approx([0.1, 0.2, -0.3, 0.4], abs=1e-2)

    mechanism = dy.Mechanism(gravity=(0, 0, -10.0))
    body = mechanism.add_body(mass=2.0, inertia=[0.1, 0.2, 0.25], name="ball")
    C = random_matrix(np.random.default_rng(3), 6, 6) * 1e-6
    mechanism.add_joint(dy.Fixed(mechanism.world, body, name="joint", compliance=C))
    mechanism.add_sensor(dy.ForceTorque("joint", name="load"))
    model = mechanism.finalize(0.01)
    sensors = dy.Sensors(model)
    state = model.initial_state()
    state.pose[0, :3] = (C @ [0, 0, -20.0, 0, 0, 0])[:3]
    half = 0.5 * (C @ [0, 0, -20.0, 0, 0, 0])[3:]
    state.pose[0, 3:] = [np.sqrt(1.0 - half @ half), *half]
    motion = dy.simulate(model, state, 0.1)
    tilt = 2.0 * np.linalg.norm(half)  # of the sensor's frame, which turns with the body
    for reading in sensors.history(motion)["load"][1:]:
        assert reading[:3] == pytest.approx([0, 0, 20.0], abs=20.0 * tilt)
        assert np.abs(reading[3:]).max() < 1e-9


def test_a_soft_joint_on_a_loop_closes_it():
    mechanism = dy.Mechanism(gravity=(0, 0, -9.81))
    rods = []
    for k, (x, z) in enumerate(((0.0, -0.5), (0.5, -1.0), (1.0, -0.5))):
        turn = (1.0, 0, 0, 0) if k != 1 else (np.sqrt(0.5), 0, np.sqrt(0.5), 0)
        rods.append(
            mechanism.add_body(mass=1.0, inertia=[0.1, 0.1, 0.01], name=f"rod {k}",
                               position=(x, 0, z), orientation=turn)
        )  # fmt: skip
    y, up, down = (0, 1, 0), (0, 0, 0.5), (0, 0, -0.5)
    hinge = {"name": "first", "child_point": up}
    mechanism.add_joint(dy.Revolute(mechanism.world, rods[0], y, **hinge))
    turn = (np.sqrt(0.5), 0, np.sqrt(0.5), 0)
    C = np.zeros((5, 5))
    C[:2, :2] = 1e-5 * np.array([[2.0, 0.5], [0.5, 1.0]])
    C[3:, 3:] = 1e-4 * np.array([[1.0, 0.3], [0.3, 1.0]])
    mechanism.add_joint(dy.Revolute(rods[0], rods[1], y, parent_point=down, child_point=down,
                                    orientation=turn, compliance=C, name="soft"))  # fmt: skip
    back = rotation.conjugate(np.array(turn))
    mechanism.add_joint(dy.Revolute(rods[1], rods[2], y, parent_point=up, child_point=down,
                                    orientation=back, name="third"))  # fmt: skip
    mechanism.add_joint(dy.Revolute(mechanism.world, rods[2], y, parent_point=(1, 0, 0),
                                    child_point=up, name="fourth"))  # fmt: skip
    model = mechanism.finalize(0.005)
    state = model.initial_state()
    model.set_body(state, "rod 0", angular_velocity=(0, 1.0, 0))
    motion = dy.simulate(model, model.assemble(state), 1.0)
    energy = motion.energy()
    assert np.abs(energy - energy[0]).max() < 0.02 * np.ptp(motion.energies()["kinetic"])


# Orders 4 and 6


@pytest.mark.parametrize("order", [4, 6])
def test_a_compliant_distance_is_the_spring_at_higher_orders(order):
    motions = []
    for soft in (True, False):
        mechanism = dy.Mechanism()
        a = mechanism.add_body(mass=1.0, inertia=[0.1, 0.2, 0.25], name="a")
        mechanism.add_joint(dy.Revolute(mechanism.world, a, (0, 1, 0), child_point=(0, 0, 0.5)))
        b = mechanism.add_body(mass=2.0, inertia=[0.1, 0.2, 0.25], name="b", position=(0, 0, -2.0))
        ends = {"parent_point": (0, 0.1, -0.5), "child_point": (0.2, 0, 0.3), "name": "rod"}
        if soft:
            mechanism.add_joint(
                dy.Distance(a, b, 0.8, compliance=1e-3, constraint_damping=0.5, **ends)
            )
        else:
            mechanism.add_force(dy.Spring(a, b, 1000.0, 0.5, 0.8, **ends))
        model = mechanism.finalize(0.01, order=order, tolerance=1e-13)
        state = model.initial_state()
        state.pose[model.body_number("b")] = [0.1, 0.2, -1.7, 1.0, 0.0, 0.0, 0.0]
        motions.append(dy.simulate(model, state, 0.5))
    mine, theirs = motions
    assert np.abs(mine.states[:, :14] - theirs.states[:, :14]).max() < 1e-10
    assert mine.energy() == pytest.approx(theirs.energy(), abs=1e-9)
    with pytest.raises(ValueError, match="'rod' is compliant, which is a spring at order 4 and 6"):
        mine.reaction("rod")


@pytest.mark.parametrize("what", ["ball", "weld", "hinge", "in part"])
def test_compliant_joints_keep_the_orders_of_soft_springs(what):
    make, n = JOINTS.get(what, JOINTS["weld"])
    rng = np.random.default_rng(n)
    C = 2e-2 * (random_matrix(rng, n, n) + 0.3 * np.eye(n))
    if what == "in part":
        C = np.diag([0.0, 2e-2, 0.0, 1e-2, 0.0, 3e-2])
    D = 0.1 * random_matrix(rng, n, 2)

    def end(order, steps):
        model, state = jointed(make, C, D, h=0.2 / steps)
        if order > 2:
            fine = model.mechanism.finalize(0.2 / steps, order=order, tolerance=1e-13)
            other = fine.initial_state()
            for name in "ab":
                at = model.body_number(name)
                other.pose[at], other.momentum[at] = state.pose[at], state.momentum[at]
            model, state = fine, other
        return dy.simulate(model, state, 0.2).states[-1, :14]

    exact = end(6, 40)
    for order in (4, 6):
        one, two = (np.abs(end(order, steps) - exact).max() for steps in (5, 10))
        assert np.log2(one / two) == pytest.approx(order, abs=0.5)
    # both are of the same motion: order 2 comes near by its square
    one, two = (np.abs(end(2, steps) - exact).max() for steps in (40, 80))
    assert np.log2(one / two) == pytest.approx(2.0, abs=0.3)


def test_the_energy_of_compliant_joints_stays_at_higher_orders():
    C = 1e-2 * (random_matrix(np.random.default_rng(0), 6, 6) + 0.3 * np.eye(6))
    model, state = jointed(dy.Fixed, C, gravity=False)
    fine = model.mechanism.finalize(0.01, order=4)
    other = fine.initial_state()
    other.pose[:], other.momentum[:] = state.pose, state.momentum
    motion = dy.simulate(fine, other, 2.0)
    energy, momentum = motion.energy(), motion.momentum()
    assert np.ptp(energy) < 1e-5 * energy[0]
    assert np.abs(momentum - momentum[0]).max() < 1e-10


# What is refused


@pytest.mark.parametrize("what", ["compliance", "constraint_damping"])
@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (np.eye(4), r"has shape \(4, 4\); give one number, or shape \(3,\) or \(3, 3\)"),
        (np.zeros(2), r"has shape \(2,\)"),
        ([[1.0, 0.5, 0], [0.4, 1.0, 0], [0, 0, 1.0]], "must be symmetric"),
        ([[1.0, 2.0, 0], [2.0, 1.0, 0], [0, 0, 1.0]], "is not positive semidefinite"),
        ([[0.0, 1.0, 0], [1.0, 2.0, 0], [0, 0, 1.0]], "is not positive semidefinite"),
        ([1.0, -1.0, 0.0], "must not be negative"),
        (np.full((3, 3), np.nan), "must be finite"),
        ([np.inf, 0.0, 0.0], "must be finite"),
    ],
)
def test_what_is_no_compliance_is_refused(what, value, sentence):
    mechanism = dy.Mechanism()
    body = mechanism.add_body(mass=1.0, inertia=[1, 1, 1], name="body")
    with pytest.raises(ValueError, match=f"{what} of joint 'j' {sentence}"):
        dy.Spherical(mechanism.world, body, name="j", **{what: value})


def test_rolling_and_higher_orders_refuse_what_they_cannot_take():
    mechanism = dy.Mechanism()
    body = mechanism.add_body(mass=1.0, inertia=[1, 1, 1], name="body")
    with pytest.raises(ValueError, match="holds velocities, which cannot be compliant"):
        dy.Rolling(mechanism.world, body, (0, 0, 1), 0.1, compliance=1e-3 * np.eye(3))

    def refused(joint, sentence):
        one = mechanism.copy()
        one.add_joint(joint)
        with pytest.raises(ValueError, match=sentence):
            one.finalize(0.01, order=4)

    ends, free = (mechanism.world, body), np.array([1.0, 2.0, -1.0])
    refused(
        dy.Spherical(*ends, name="j", compliance=1e-6),
        r"compliance of joint 'j' is too stiff for order=4 .* take a timestep below 0.002 s",
    )
    refused(
        dy.Spherical(*ends, name="j", compliance=1e-3 * np.outer(free, free)),
        "compliance of joint 'j' is singular other than by rows that are 0, which needs order=2",
    )
    refused(dy.Spherical(*ends, name="j", compliance=1e-2, theta=1.0), "theta=1.0, which needs")
    refused(
        dy.Custom(*ends, lambda a, b: ([0.0], np.zeros((1, 12))), name="j", compliance=1e-2),
        "'j' is compliant and of a function, which needs order=2; make it a dynamics.Potential",
    )


def test_a_joint_keeps_the_matrix_it_was_given():
    mechanism = dy.Mechanism()
    body = mechanism.add_body(mass=1.0, inertia=[1, 1, 1], name="body")
    joint = dy.Spherical(mechanism.world, body, compliance=C3)
    assert (joint.compliance == C3).all() and joint.soft
    with pytest.raises(ValueError, match="read-only"):
        joint.compliance[0, 0] = 1.0
    assert not dy.Spherical(mechanism.world, body, compliance=np.zeros((3, 3))).soft
    assert dy.Spherical(mechanism.world, body, compliance=1e-3).compliance == 1e-3


# The note's own step


def test_effective_compliance_of_matrices_is_symmetric_and_semidefinite():
    rng = np.random.default_rng(0)
    for rank in range(4):
        C, D = random_matrix(rng, 3, rank), random_matrix(rng, 3, 2)
        W, scale = effective_compliance(C, D, 0.1)
        assert np.abs(W - W.T).max() < 1e-13 * max(1.0, np.abs(W).max())
        assert np.linalg.eigvalsh(W)[0] > -1e-12 * max(1.0, np.abs(W).max())
        assert scale @ (0.1 * C @ D + 0.01 * np.eye(3)) == pytest.approx(np.eye(3), abs=1e-11)
    # K = C^-1 where there is one: (h D + h^2 K)^-1
    K = np.linalg.inv(C3)
    W, _ = effective_compliance(C3, D3, 0.1)
    assert W == pytest.approx(np.linalg.inv(0.1 * D3 + 0.01 * K), rel=1e-12)


def test_an_implicit_step_with_matrices_is_that_of_the_stiffness():
    h, M, v = 0.1, np.diag([1.0, 2.0, 3.0]), np.array([0.3, -0.2, 0.1])
    q = np.array([0.01, 0.02, -0.01])
    identity = Mapping(lambda x: x, lambda x: np.eye(3), lambda x, lam: np.zeros((3, 3)))
    after, speed, force = implicit_step(M, identity, q, v, h, compliance=C3, damping=D3)
    K = np.linalg.inv(C3)
    wanted = cho_solve(cho_factor(M + h * D3 + h**2 * K), M @ v - h * K @ q)
    assert speed == pytest.approx(wanted, rel=1e-12)
    assert after == pytest.approx(q + h * wanted, rel=1e-12)
    assert force == pytest.approx(-K @ after - D3 @ wanted, rel=1e-10)
    with pytest.raises(ValueError, match="compliance must be symmetric"):
        effective_compliance([[1.0, 0.2], [0.1, 1.0]], 0.0, h)
    with pytest.raises(ValueError, match="damping is not positive semidefinite"):
        effective_compliance(np.eye(2), [[1.0, 2.0], [2.0, 1.0]], h)
