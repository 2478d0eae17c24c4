"""Bodies with an inertia of 6 x 6 in mechanisms: the dual-quaternion integrator as a body type."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.integrators import Pivot, RigidBody, WorldForce, spatial_inertia
from dynamics.kernels.base import layout
from dynamics.kernels.interval.matrix import assemble
from dynamics.kernels.stepping import step as stepping
from tests.dynamics.kernel_calls import evaluate_residual

X, Y, Z = np.eye(3)
J = np.diag([0.3, 0.4, 0.2])
R = np.array([0.1, -0.2, 0.4])
WATER = 0.2 * (lambda a: a @ a.T)(np.random.default_rng(1).normal(size=(6, 6)))
FULL = spatial_inertia(2.0, J, R) + WATER
TURNED = rotation.normalized(np.array([0.8, 0.5, 0.2, -0.1]))


def single(inertia, h, center=R, gravity=(0.0, 0.0, -9.81), joint=None, order=2, **start):
    mechanism = dy.Mechanism(gravity=gravity)
    body = mechanism.add_body(mass=2.0, inertia=inertia, name="b", center_of_mass=center)
    if joint is not None:
        mechanism.add_joint(joint(mechanism.world, body))
    model = mechanism.finalize(h, order=order, tolerance=1e-12)
    state = model.initial_state()
    model.set_body(state, "b", **start)
    return model, state


START = {
    "position": [0.3, -0.2, 0.5],
    "orientation": TURNED,
    "velocity": [0.3, -0.2, 0.5],
    "angular_velocity": [1.0, 2.0, -1.5],
}


def test_the_matrix_of_a_step_is_the_slope_of_its_residual():
    model, state = single(FULL, 0.1, **START)
    plan, constant = model.tables.plan, model.tables.constant
    work = np.zeros(2 * layout.node_size(1, int(plan[layout.ALL_ROWS])))
    node, behind = stepping.node_of(plan, work, 0)
    trial, _ = stepping.node_of(plan, work, behind)
    stepping.load_state(plan, constant, state.data, node, trial)
    x, kick, values = state.interval_velocity[0].copy(), np.zeros(12), np.zeros(36)
    assemble(plan, constant, 0.1, x, node.g, node.G, trial.G, values)
    slopes = np.empty((6, 6))
    for i, step in enumerate(1e-5 * np.eye(6)):
        r = np.zeros((2, 6))
        evaluate_residual(plan, constant, 0.1, kick, node, x + step, trial, r[0])
        evaluate_residual(plan, constant, 0.1, kick, node, x - step, trial, r[1])
        slopes[:, i] = (r[0] - r[1]) / 2e-5
    np.testing.assert_allclose(values.reshape(6, 6).T, slopes, atol=1e-8)


@pytest.mark.parametrize("pivot", [False, True])
def test_it_moves_as_the_integrator_that_stands_alone(pivot):
    # the same discrete equations: the two differ by round-off and Newton's tolerance alone
    h, point = 0.01, np.array([-0.2, 0.1, -0.3])
    weight = WorldForce((0.0, 0.0, -2.0 * 9.81), R)
    alone = RigidBody(FULL, forces=[weight], pivot=Pivot(point, np.zeros(3)) if pivot else None)
    omega = np.array(START["angular_velocity"])
    if pivot:
        start = alone.state(orientation=TURNED, angular_velocity=omega)
        model, state = single(
            FULL, h, joint=lambda w, b: dy.Spherical(w, b, child_point=point),
            position=start.position,
            orientation=TURNED, velocity=rotation.rotate(TURNED, start.twist[3:]),
            angular_velocity=omega,
        )  # fmt: skip
    else:
        model, state = single(FULL, h, **START)
        start = alone.state(
            position=START["position"],
            orientation=TURNED,
            velocity=rotation.rotate(rotation.conjugate(TURNED), np.array(START["velocity"])),
            angular_velocity=omega,
        )
    one = dy.simulate(model, state, 1.0)
    other = alone.simulate(start, h, 100)
    position, orientation = one.body("b")
    np.testing.assert_allclose(position, other.position, atol=1e-9)
    np.testing.assert_allclose(orientation, other.orientation, atol=1e-9)
    speeds = np.concatenate([other.twist[-1, 3:], other.twist[-1, :3]])
    speeds[:3] = rotation.rotate(orientation[-1], speeds[:3])
    np.testing.assert_allclose(one.twists[-1], speeds, atol=1e-8)


def test_the_reference_point_does_not_matter():
    # a change of reference point is linear in (Phi, Psi): the very same discrete motion
    about_center = single(
        spatial_inertia(2.0, J), 0.02, np.zeros(3), **START
    )  # START is that of the centre of mass
    turn = rotation.rotate(TURNED, R)
    swing = rotation.rotate(TURNED, np.cross(START["angular_velocity"], R))
    off = START | {
        "position": START["position"] - turn, "velocity": START["velocity"] - swing
    }  # fmt: skip
    off_center = single(spatial_inertia(2.0, J, R), 0.02, **off)
    one, other = (dy.simulate(model, state, 2.0) for model, state in (about_center, off_center))
    (x, q), (origin, p) = one.body("b"), other.body("b")
    np.testing.assert_allclose(p, q, atol=1e-9)
    np.testing.assert_allclose(origin + rotation.rotate(p, R), x, atol=1e-9)
    np.testing.assert_allclose(one.energy(), other.energy(), atol=1e-8)
    np.testing.assert_allclose(one.momentum(), other.momentum(), atol=1e-8)


def pendulum(six, h, axis):
    mechanism = dy.Mechanism()
    inertia = np.diag([0.1, 0.3, 0.25])
    parent, point = mechanism.world, np.zeros(3)
    for i in range(2):
        M = spatial_inertia(1.5, inertia) if six else inertia
        link = mechanism.add_body(mass=1.5, inertia=M, name=i)
        ends = {"parent_point": point, "child_point": [-0.5, 0.0, 0.0], "name": ("joint", i)}
        if axis is None:
            mechanism.add_joint(dy.Spherical(parent, link, **ends))
        else:
            mechanism.add_joint(dy.Revolute(parent, link, axis, **ends))
        parent, point = link, np.array([0.5, 0.0, 0.0])
    model = mechanism.finalize(h, tolerance=1e-12)
    state = model.initial_state()
    if axis is None:
        model.set_joint(state, ("joint", 0), [0.3, -0.2, 0.4], [2.0, 1.0, -1.0])
    return dy.simulate(model, state, 1.0)


def test_block_diagonal_inertia_is_a_rigid_body():
    # in the plane, v across omega, the discrete energies are the same; in space to second order
    one, other = pendulum(True, 0.01, Y), pendulum(False, 0.01, Y)
    np.testing.assert_allclose(one.states[:, :14], other.states[:, :14], atol=1e-8)
    np.testing.assert_allclose(one.energy(), other.energy(), atol=1e-8)
    gaps = []
    for h in (0.02, 0.01, 0.005):
        one, other = pendulum(True, h, None), pendulum(False, h, None)
        gaps.append(np.abs(one.states[-1, :14] - other.states[-1, :14]).max())
    np.testing.assert_allclose(np.log2(np.array(gaps[:2]) / np.array(gaps[1:])), 2.0, atol=0.2)


def test_momentum_is_kept_and_energy_does_not_drift():
    model, state = single(FULL, 0.02, gravity=np.zeros(3), **START)
    motion = dy.simulate(model, state, 400.0, every=10)
    momentum = motion.momentum()
    reach = np.abs(motion.body("b")[0]).max()
    left = 20000 * 1e-12  # of every step, by Newton's tolerance, kg and m/s being of order 1
    assert np.abs(momentum[:, :3] - momentum[0, :3]).max() < left
    assert np.abs(momentum[:, 3:] - momentum[0, 3:]).max() < left * reach
    energy = motion.energy()
    half = len(energy) // 2
    assert np.ptp(energy) < 0.01 * energy[0]  # (h omega)^2 is 3e-3
    # Drift would leave the band of the first half.
    assert np.ptp(energy) < 1.5 * np.ptp(energy[:half])


def linkage(h, order=2):
    """A four-bar: crank .4, coupler 1, rocker .8, ground 1; water is carried along by two bars."""
    mechanism = dy.Mechanism()
    lengths, links = (0.4, 1.0, 0.8), []
    for i, length in enumerate(lengths):
        inertia = np.diag([0.02, length**2 / 12, length**2 / 12]) * length
        if i < 2:
            inertia = spatial_inertia(length, inertia) + 0.2 * (WATER + np.diag([0, 0, 0, 1, 5, 3]))
        links.append(mechanism.add_body(mass=length, inertia=inertia, name=i))
    ends = (
        (mechanism.world, links[0], [0.0, 0.0, 0.0], [-0.2, 0.0, 0.0]),
        (links[0], links[1], [0.2, 0.0, 0.0], [-0.5, 0.0, 0.0]),
        (links[1], links[2], [0.5, 0.0, 0.0], [-0.4, 0.0, 0.0]),
        (mechanism.world, links[2], [1.0, 0.0, 0.0], [0.4, 0.0, 0.0]),
    )
    for k, (parent, child, a, b) in enumerate(ends):
        mechanism.add_joint(
            dy.Revolute(parent, child, Y, parent_point=a, child_point=b, name=("j", k))
        )
    model = mechanism.finalize(h, order=order)
    state = model.initial_state()
    return model, model.assemble(state, {("j", 0): -1.0}, {("j", 0): 2.0})


def test_a_closed_loop_of_them_moves_to_second_order():
    ranges, angles = [], []
    for h in (0.01, 0.005, 0.0025, 0.00125):
        model, state = linkage(h)
        motion = dy.simulate(model, state, 1.0)
        assert motion.constraint_violation().max() <= 1e-10
        ranges.append(np.ptp(motion.energy()))
        angles.append(motion.joint(("j", 0))[-1])
    changes = np.abs(np.diff(angles))
    np.testing.assert_allclose(np.log2(changes[:-1] / changes[1:]), 2.0, atol=0.15)
    np.testing.assert_allclose(np.log2(np.array(ranges[:-1]) / ranges[1:]), 2.0, atol=0.3)


# Orders 4 and 6


@pytest.mark.parametrize("order", [4, 6])
def test_a_pivoted_body_moves_with_the_order(order):
    # against the integrator that stands alone, of order 2, extrapolated from two step lengths
    point = np.array([-0.2, 0.1, -0.3])
    omega = np.array(START["angular_velocity"])

    def end(order, steps):
        model, state = single(
            FULL, 0.2 / steps, order=order,
            joint=lambda w, b: dy.Spherical(w, b, child_point=point),
            orientation=TURNED, position=rotation.rotate(TURNED, -point),
            velocity=rotation.rotate(TURNED, np.cross(omega, -point)), angular_velocity=omega,
        )  # fmt: skip
        motion = dy.simulate(model, state, 0.2)
        assert np.abs(motion.constraint_violation()).max() < 1e-11
        return motion.states[-1, :7]

    exact = end(6, 32)
    one, two = (np.abs(end(order, steps) - exact).max() for steps in (4, 8))
    assert np.log2(one / two) == pytest.approx(order, abs=0.4)
    one, two = (np.abs(end(2, steps) - exact).max() for steps in (64, 128))
    assert np.log2(one / two) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("order", [4, 6])
def test_a_free_body_keeps_momentum_and_energy_at_higher_orders(order):
    model, state = single(FULL, 0.02, gravity=np.zeros(3), order=order, **START)
    motion = dy.simulate(model, state, 100.0, every=10)
    momentum, energy = motion.momentum(), motion.energy()
    left = 5000 * 1e-12  # of every step, by Newton's tolerance
    reach = np.abs(motion.body("b")[0]).max()
    assert np.abs(momentum[:, :3] - momentum[0, :3]).max() < left
    assert np.abs(momentum[:, 3:] - momentum[0, 3:]).max() < left * reach
    # (h omega)^order with h omega of 0.06, and no drift beyond the first half's band
    assert np.ptp(energy) < {4: 2e-5, 6: 1e-7}[order] * energy[0]
    assert np.ptp(energy) < 1.5 * np.ptp(energy[: len(energy) // 2]) + 1e-10
    assert motion.info["accumulated_energy"] < 1e-3 * energy[0]


@pytest.mark.parametrize("order", [4, 6])
def test_a_block_diagonal_inertia_is_a_rigid_body_at_higher_orders(order):
    ends = []
    for inertia in (spatial_inertia(2.0, J), J):
        mechanism = dy.Mechanism()
        body = mechanism.add_body(mass=2.0, inertia=inertia, name="b", drag=0.3)
        mechanism.add_joint(dy.Revolute(mechanism.world, body, Y, child_point=(0, 0.1, 0.5)))
        model = mechanism.finalize(0.02, order=order, tolerance=1e-13)
        state = model.initial_state()
        model.set_joint(state, "world-b", 0.4, 2.0)
        ends.append(dy.simulate(model, state, 1.0).states[:, :7])
    assert np.abs(ends[0] - ends[1]).max() < 1e-11


def test_a_closed_loop_of_them_moves_to_fourth_order():
    angles = []
    for h in (0.01, 0.005, 0.0025):
        model, state = linkage(h, order=4)
        motion = dy.simulate(model, state, 1.0)
        assert motion.constraint_violation().max() <= 1e-10
        angles.append(motion.joint(("j", 0))[-1])
    one, two = np.abs(np.diff(angles))
    assert np.log2(one / two) == pytest.approx(4.0, abs=0.5)


def test_a_drowned_ball_bounces():
    # the ground stops the water as well: a ball with added mass 1 falls with g / 2 in m = 1
    mechanism = dy.Mechanism()
    inertia = spatial_inertia(1.0, 0.004 * np.eye(3)) + np.diag([0, 0, 0, 1.0, 1.0, 1.0])
    ball = mechanism.add_body(
        dy.Sphere(0.1, mass=1.0), inertia=inertia, name="b", position=[0, 0, 0.5]
    )
    mechanism.add_contact(ball, restitution=1.0)
    model = mechanism.finalize(0.01)
    motion = dy.simulate(model, model.initial_state(), 2.0)
    height = motion.body("b")[0][:, 2]
    fall = motion.time < 0.39  # sqrt(2 * 0.4 / 4.905) = 0.404 s
    np.testing.assert_allclose(height[fall], 0.5 - 0.5 * 4.905 * motion.time[fall] ** 2, atol=1e-9)
    assert height.min() > 0.1 - 1e-6
    assert height[motion.time > 0.6].max() > 0.4


@pytest.mark.parametrize(
    ("inertia", "message"),
    [
        (FULL + np.triu(np.ones((6, 6)), 1), "inertia of body 'b'.*symmetric"),
        (FULL - 10.0 * np.eye(6), "inertia of body 'b'.*positive"),
        (np.full((6, 6), np.nan), "inertia of body 'b'.*finite"),
        (spatial_inertia(1.0, np.zeros((3, 3)), (1, 1, 1)), "inertia of body 'b'.*is singular"),
    ],
)
def test_an_inertia_that_no_body_has_is_refused(inertia, message):
    with pytest.raises(ValueError, match=message):
        dy.Mechanism().add_body(mass=2.0, inertia=inertia, name="b")


def test_what_knows_rigid_bodies_only_says_so():
    with pytest.raises(ValueError, match="unless its inertia is 6 x 6"):
        dy.Mechanism().add_body(mass=2.0, inertia=J, center_of_mass=R)
    model, state = single(FULL, 0.01)
    with pytest.raises(ValueError, match="one matrix of 6 x 6"):
        dy.variant(model, {"b": {"mass": 3.0}})
