"""Steps of the minimal-coordinate integrator: by hand, then references, orders, laws."""

import numpy as np
import pytest

from dynamics.integrators.tree.description import Tree
from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.integrators.tree.linearization import evaluate
from dynamics.integrators.tree.twists import prismatic, revolute
from dynamics.tables.lobatto import lobatto

from .trees import GRAVITY, Lagrangian, differences, pendulum, point_mass, random_tree

EPS = np.finfo(float).eps


def test_simpsons_rule_is_that_of_the_paper():
    rule = lobatto(2)

    assert rule.weights == pytest.approx([1 / 6, 4 / 6, 1 / 6], abs=EPS)
    assert rule.slope == pytest.approx([-3, 4, -1, -1, 0, 1, 1, -4, 3], abs=8 * EPS)


@pytest.mark.parametrize("s", range(1, 13))
def test_lobattos_rule_integrates_and_differentiates_polynomials(s):
    rule = lobatto(s)
    slope = rule.slope.reshape(s + 1, s + 1)
    largest = np.abs(slope).sum(axis=1).max()
    for degree in range(2 * s):
        assert rule.weights @ rule.place**degree == pytest.approx(1 / (degree + 1), abs=16 * EPS)
    for degree in range(1, s + 1):
        exact = degree * rule.place ** (degree - 1)
        assert np.abs(slope @ rule.place**degree - exact).max() <= 32 * EPS * largest


def test_a_pendulum_by_hand_is_stoermer_verlet():
    # r^0 = p - (h/2) m g l sin q^0 - m l^2 (q^1 - q^0)/h
    # p' = m l^2 (q^1 - q^0)/h - (h/2) m g l sin q^1
    m, length, h, q, p = 2.0, 0.5, 0.1, 0.9, 0.3
    torque = -m * GRAVITY * length
    q_next = q + h * (p + 0.5 * h * torque * np.sin(q)) / (m * length**2)
    p_next = m * length**2 * (q_next - q) / h + 0.5 * h * torque * np.sin(q_next)

    found = TreeIntegrator(point_mass(m, length), h, "trapezoidal").step([q], [p])

    assert found[0] == pytest.approx([q_next], rel=8 * EPS)
    assert found[1] == pytest.approx([p_next], rel=16 * EPS)


def test_an_oscillator_by_hand_with_simpsons_rule():
    # L_d = h/6 (L^0 + 4 L^1 + L^2), L = v^2/2 - k q^2/2, force u: two linear equations by hand
    k, h, q0, p0, u = 3.0, 0.2, 0.7, -0.4, 0.6
    tree = Tree(gravity=(0.0, 0.0, 0.0))
    tree.add_body("cart", 1.0)
    tree.add_joint("world", "cart", prismatic([1.0, 0.0, 0.0]), stiffness=k)
    v = np.array([[-3, 4, -1], [-1, 0, 1], [1, -4, 3]]) / h
    w = np.array([1, 4, 1]) * h / 6
    rows = v.T @ np.diag(w) @ v - k * np.diag(w)  # dL_d/dq = rows @ q
    q1, q2 = np.linalg.solve(rows[:2, 1:], -np.array([p0, 0.0]) - w[:2] * u - rows[:2, 0] * q0)
    p2 = rows[2] @ [q0, q1, q2] + w[2] * u

    found = TreeIntegrator(tree, h, "simpson").step([q0], [p0], [u])

    assert found[0] == pytest.approx([q2], rel=64 * EPS)
    assert found[1] == pytest.approx([p2], rel=64 * EPS)


@pytest.mark.parametrize("s", [1, 2, 3])
def test_algorithm_1_is_the_gradient_of_the_discrete_lagrangian(s):
    n, h, rng = 6, 0.1, np.random.default_rng(s)
    tree = random_tree(n, seed=s, stiffness=0.7)
    integrator = TreeIntegrator(tree, h, s)
    q, p = 0.4 * rng.normal(size=(s + 1, n)), rng.normal(size=n)

    residual, p_next = evaluate(integrator, q, p)

    lagrangian = Lagrangian(tree)
    slope = differences(lambda x: lagrangian.discrete(integrator.rule, h, x), q)
    slope[0] += p
    # h^2 of truncation and eps / h of rounding, beside terms of size |p| + M |dq| / h
    scale = np.abs(slope).max()
    assert np.abs(np.vstack([residual, p_next]) - slope).max() <= 1e-8 * scale


# Figures of the literature study: a double pendulum by DOP853 at rtol 1e-13
ANGLES = np.array([-0.4564963985, -1.6545807909])
RATES = np.array([-1.2905052807, -2.7994980243])


@pytest.mark.parametrize(
    ("s", "steps", "largest", "bounds"),
    [(1, 100, 4e-4, (1.97, 2.03)), (2, 40, 2e-5, (3.9, 4.1)), (3, 20, 1e-5, (5.7, 7.0))],
)
def test_the_double_pendulum_converges_to_its_reference(s, steps, largest, bounds):
    errors = []
    for N in (steps, 2 * steps):
        integrator = TreeIntegrator(pendulum(2), 1.0 / N, s)
        run = integrator.simulate([1.2, 0.4 - 1.2], [0.5, -0.7 - 0.5], N)
        errors.append(np.abs(run.q[-1].cumsum() - ANGLES).sum())
        assert np.abs(run.velocity[-1].cumsum() - RATES).sum() <= 40 * errors[-1] + 1e-9
        assert run.iterations.mean() <= 4.0

    assert errors[0] <= largest
    assert bounds[0] <= np.log2(errors[0] / errors[1]) <= bounds[1]


@pytest.mark.parametrize("options", [{}, {"damping": 0.4, "drag": 0.3, "stiffness": 0.7}])
def test_orders_are_2_4_and_6_with_and_without_dissipation(options):
    n, T, rng = 4, 0.5, np.random.default_rng(5)
    tree = random_tree(n, seed=3, **options)
    q, speed = 0.5 * rng.normal(size=n), rng.normal(size=n)
    wrenches = rng.normal(size=(n, 6))

    def end(s, N):
        run = TreeIntegrator(tree, T / N, s).simulate(q, speed, N, wrenches=wrenches)
        return np.concatenate([run.q[-1], run.velocity[-1]])

    best = end(4, 40)
    for s, N, bounds in [(1, 80, (1.97, 2.03)), (2, 40, (3.95, 4.05)), (3, 5, (5.8, 6.2))]:
        coarse, fine = (np.abs(end(s, k) - best).max() for k in (N, 2 * N))
        assert bounds[0] <= np.log2(coarse / fine) <= bounds[1]


def test_time_varying_forces_at_the_nodes_keep_order_4():
    # x'' = cos(3 t): x = (1 - cos 3 t) / 9 on a free mass
    tree = Tree(gravity=(0.0, 0.0, 0.0))
    tree.add_body("cart", 1.0)
    tree.add_joint("world", "cart", prismatic([1.0, 0.0, 0.0]), damping=0.3)
    ends = []
    for N in (10, 20, 640):
        integrator = TreeIntegrator(tree, 1.0 / N, "simpson")
        time = (np.arange(N)[:, None] + integrator.rule.place) / N
        ends.append(integrator.simulate([0.0], [0.0], N, np.cos(3 * time)[..., None]).q[-1, 0])

    assert 3.9 <= np.log2((ends[0] - ends[2]) / (ends[1] - ends[2])) <= 4.1


@pytest.mark.parametrize(("s", "largest"), [(1, 6e-2), (2, 1e-4)])
def test_energy_stays_within_a_band_over_1e4_steps(s, largest):
    integrator = TreeIntegrator(pendulum(2), 0.01, s)

    run = integrator.simulate([1.2, -0.8], [0.5, -1.2], 10_000)

    energy = integrator.energy(run.q, run.velocity)
    assert np.ptp(energy) <= largest
    halves = energy[:5000].mean() - energy[5000:].mean()
    assert abs(halves) <= 0.05 * largest


def test_a_floating_chain_keeps_its_linear_and_angular_momentum():
    rng = np.random.default_rng(2)
    tree = Tree(gravity=(0.0, 0.0, 0.0))
    for i in range(3):
        tree.add_body(i, 1.0 + i, [0.1, 0.2, 0.15])
    tree.add_floating_joint(0)
    tree.add_joint(0, 1, revolute([1.0, 0.0, 0.0], [0.0, 0.0, 0.4]), position=[0.0, 0.1, 0.5])
    tree.add_joint(1, 2, revolute([0.0, 1.0, 0.0], [0.0, 0.2, 0.4]), position=[0.3, 0.0, 0.5])
    integrator = TreeIntegrator(tree, 0.02, "simpson")
    speed = 0.5 * rng.normal(size=8)

    run = integrator.simulate(np.zeros(8), speed, 200)

    # p of the sliders is the linear momentum: it has no potential and no kinetic dependence on x
    assert np.abs(run.p[:, :3] - run.p[0, :3]).max() <= 200 * 64 * EPS * np.abs(run.p).max()
    # the yaw is a rotation about the world's z through a point that moves: L_z = p_yaw + (x P)_z
    about_z = run.p[:, 3] + run.q[:, 0] * run.p[:, 1] - run.q[:, 1] * run.p[:, 0]
    assert np.ptp(about_z) <= 200 * 64 * EPS * np.abs(run.p).max() * 3


def test_quadratic_drag_takes_a_falling_body_to_its_terminal_velocity():
    tree = Tree(gravity=(0.0, 0.0, -GRAVITY))
    tree.add_body("ball", 2.0, drag_area=0.5)
    tree.add_joint("world", "ball", prismatic([0.0, 0.0, 1.0]))
    final = np.sqrt(2.0 * GRAVITY / 0.5)
    ends = []
    for N in (20, 40):
        run = TreeIntegrator(tree, 1.0 / N).simulate([0.0], [0.0], N)
        ends.append(run.velocity[-1, 0] + final * np.tanh(GRAVITY / final))

    assert abs(ends[0]) <= 1e-4 * final
    assert 3.9 <= np.log2(ends[0] / ends[1]) <= 4.1


def test_velocity_and_momentum_are_inverse_and_momentum_is_that_of_the_lagrangian():
    n, rng = 6, np.random.default_rng(0)
    tree = random_tree(n, seed=4)
    integrator = TreeIntegrator(tree, 0.1)
    q, speed = rng.normal(size=n), rng.normal(size=n)

    p = integrator.momentum(q, speed)

    lagrangian = Lagrangian(tree)
    expected = differences(lambda v: lagrangian(q, v), speed)
    assert p == pytest.approx(expected, abs=1e-8 * np.abs(p).max())
    assert integrator.velocity(q, p) == pytest.approx(speed, rel=1e-10)


def test_full_inertia_about_any_point_gives_the_same_motion():
    # The same rod with its frame at one end: its spatial inertia holds the offset
    end = Tree(gravity=(0.0, 0.0, -GRAVITY))
    offset = np.array([0.0, 0.0, -0.5])
    hat = np.array([[0, 0.5, 0], [-0.5, 0, 0], [0, 0, 0.0]])
    J = np.diag([1 / 12, 1 / 12, 0.01])
    full = np.block([[J - hat @ hat, hat], [-hat, np.eye(3)]])
    end.add_body(0, 1.0, center=offset, spatial_inertia=full)
    end.add_joint("world", 0, revolute([1.0, 0.0, 0.0]))

    runs = [TreeIntegrator(t, 0.05).simulate([1.0], [0.3], 20) for t in (end, pendulum(1))]

    assert np.abs(runs[0].q - runs[1].q).max() <= 20 * 1e-12


def test_step_and_simulate_agree_and_leave_what_is_given():
    integrator = TreeIntegrator(pendulum(3), 0.02)
    q, speed = np.array([0.3, -0.2, 0.5]), np.array([1.0, 0.0, -1.0])
    forces = np.random.default_rng(0).normal(size=(5, 3))
    run = integrator.simulate(q, speed, 5, forces)

    state = (q, integrator.momentum(q, speed))
    for k in range(5):
        state = integrator.step(*state, forces[k])

    assert np.array_equal(q, [0.3, -0.2, 0.5])
    assert state[0] == pytest.approx(run.q[-1], rel=1e-11)
    assert state[1] == pytest.approx(run.p[-1], rel=1e-11)


def test_a_follower_wrench_turns_with_its_body():
    # A torque about the axis is the same in both frames; a force along the rod turns with it
    tree = pendulum(1)
    integrator = TreeIntegrator(tree, 0.05)
    torque = [[2.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    runs = [
        integrator.simulate([0.4], [0.0], 10, wrenches=torque, frame=f) for f in ("world", "body")
    ]
    pull = [[0.0, 0.0, 0.0, 0.0, 0.0, -5.0]]
    down, along = (
        integrator.simulate([0.4], [0.0], 10, wrenches=pull, frame=f) for f in ("world", "body")
    )
    free = integrator.simulate([0.4], [0.0], 10)

    assert runs[0].q == pytest.approx(runs[1].q, rel=1e-12)
    assert along.q == pytest.approx(free.q, rel=1e-12)  # it passes through the hinge
    assert down.q[-1, 0] < free.q[-1, 0] - 1e-3
