"""Composed mappings and compliant multipliers (the note on compliance), and soft joints beside."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.integrators.compliance import Mapping, effective_compliance, implicit_step

X, Y, Z = np.eye(3)


def differences(f, x, d=1e-6):
    return np.stack([(f(x + d * e) - f(x - d * e)) / (2 * d) for e in np.eye(x.size)], axis=-1)


def links(n):
    """Angles of n rods of 1 m, each in the world, to their ends: x and z after one another."""
    sums = np.kron(np.tril(np.ones((n, n))), np.eye(2))

    def value(q):
        return sums @ np.column_stack([np.sin(q), -np.cos(q)]).ravel()

    def slopes(q, sine, cosine):
        rows = np.zeros((2 * n, n))
        rows[::2][range(n), range(n)], rows[1::2][range(n), range(n)] = sine, cosine
        return sums @ rows

    return Mapping(
        value,
        lambda q: slopes(q, np.cos(q), np.sin(q)),
        lambda q, f: np.diag(f @ slopes(q, -np.sin(q), np.cos(q))),
    )


def distances(anchor, length):
    """Distance of the last point of a row of points of a plane from an anchor, less a length."""

    def gap(x):
        return x[-2:] - anchor

    def jacobian(x):
        J = np.zeros((1, x.size))
        J[0, -2:] = gap(x) / np.linalg.norm(gap(x))
        return J

    def stiffness(x, f):
        G, u, r = np.zeros((x.size, x.size)), jacobian(x)[0, -2:], np.linalg.norm(gap(x))
        G[-2:, -2:] = f[0] / r * (np.eye(2) - np.outer(u, u))
        return G

    return Mapping(lambda x: np.array([np.linalg.norm(gap(x)) - length]), jacobian, stiffness)


cubed = Mapping(
    lambda f: f + 0.1 * f**3,
    lambda f: np.diag(1.0 + 0.3 * f**2),
    lambda f, lam: np.diag(0.6 * f * lam),
)


@pytest.mark.parametrize("chain", ["links", "distance of links", "cubed distance of links"])
def test_stiffness_of_composed_mappings_is_the_derivative_of_the_pulled_force(chain):
    f = links(3)
    if "distance" in chain:
        f = distances(np.array([2.0, 1.0]), 0.7) @ f
    if "cubed" in chain:
        f = cubed @ f
    q = np.array([0.3, -0.8, 1.4])
    lam = np.linspace(1.0, 2.0, f.value(q).size)
    # central differences at 1e-6 of functions and slopes of some units
    assert np.abs(f.jacobian(q) - differences(f.value, q)).max() < 1e-8
    G = f.stiffness(q, lam)
    assert np.abs(G - differences(lambda x: f.jacobian(x).T @ lam, q)).max() < 1e-8
    assert np.array_equal(G, G.T) or np.abs(G - G.T).max() < 1e-14
    assert np.abs(G).max() > 0.1


def test_composition_does_not_ask_for_the_order_of_brackets():
    a, b, c = cubed, distances(np.array([2.0, 1.0]), 0.7), links(3)
    q, lam = np.array([0.3, -0.8, 1.4]), np.array([1.7])
    left, right = ((a @ b) @ c).stiffness(q, lam), (a @ (b @ c)).stiffness(q, lam)
    assert np.abs(left - right).max() < 1e-13


@pytest.mark.parametrize("seed", range(5))
def test_effective_compliance_is_symmetric_positive_semidefinite_and_has_a_rigid_limit(seed):
    rng = np.random.default_rng(seed)
    c, d = 10.0 ** rng.uniform(-12, 3, 8), 10.0 ** rng.uniform(-6, 6, 8)
    c[:3], d[3:5] = 0.0, 0.0
    W, scale = effective_compliance(c, d, 0.01)
    assert np.array_equal(W, W.T)
    assert np.linalg.eigvalsh(W).min() >= 0.0
    assert np.array_equal(np.diag(W)[:3], np.zeros(3))  # rigid, with any damping
    assert np.diag(W)[3:5] == pytest.approx(c[3:5] / 0.01**2)
    assert np.isfinite(scale).all()
    # below stiffnesses of 1/C the row is that of the spring and damper h^2 K + h D, inverted
    assert np.diag(W)[5:] == pytest.approx(1.0 / (0.01**2 / c[5:] + 0.01 * d[5:]))


def test_an_oscillator_by_hand_decays_as_implicit_euler_says():
    # v+ = v - h (k q+ + d v+) / m, q+ = q + h v+
    identity = Mapping(lambda q: q, lambda q: np.eye(1), lambda q, lam: np.zeros((1, 1)))
    h, k, d, m = 0.01, 50.0, 0.7, 2.0
    q, v = np.array([1.0]), np.array([0.0])
    x, u = 1.0, 0.0
    for _ in range(20):
        q, v, lam = implicit_step(
            [[m]], identity, q, v, h, compliance=1 / k, damping=d, iterations=1
        )
        u = (u - h * k / m * x) / (1.0 + h * h * k / m + h * d / m)
        x += h * u
        assert (q[0], v[0]) == pytest.approx((x, u), abs=1e-13)
        assert lam[0] == pytest.approx(-k * x - d * u, abs=1e-11)


def swing(h, compliance, steps, iterations=50):
    """A point of 1 kg on a spring, or a rod, of 1 m, released level: places after each step."""
    rod = distances(np.zeros(2), 1.0)
    q, v, lam, found = np.array([1.0, 0.0]), np.zeros(2), 0.0, []
    for _ in range(steps):
        q, v, lam = implicit_step(
            np.eye(2), rod, q, v, h, compliance=compliance, force=[0.0, -9.81], multipliers=lam,
            iterations=iterations,
        )  # fmt: skip
        found.append(q)
    return np.array(found)


def test_the_limit_of_stiff_springs_is_the_constraint_with_the_same_equations():
    rigid = swing(0.01, 0.0, 30)
    # the fall of 0.3 s; constraints hold to what the last correction of 1e-12 m/s leaves
    assert np.abs(np.linalg.norm(rigid, axis=1) - 1.0).max() < 1e-12
    gaps = [np.abs(swing(0.01, c, 30) - rigid).max() for c in (1e-5, 1e-6, 1e-7)]
    np.testing.assert_allclose(np.divide(gaps[:-1], gaps[1:]), 10.0, rtol=0.05)


def test_steps_are_of_first_order_and_one_iteration_keeps_it():
    for iterations in (1, 50):
        ends = [swing(0.3 / n, 1e-2, n, iterations)[-1] for n in (75, 150, 300)]
        first, second = np.abs(np.diff(ends, axis=0)).max(axis=1)
        assert first / second == pytest.approx(2.0, rel=0.1)


def test_what_is_no_compliance_is_refused():
    with pytest.raises(ValueError, match="compliance is"):
        effective_compliance([-1.0], 0.0, 0.01)
    with pytest.raises(ValueError, match="damping is"):
        effective_compliance([0.0], [np.inf], 0.01)
    with pytest.raises(dy.ConvergenceError, match="take a smaller timestep"):
        implicit_step(
            np.eye(2), distances(np.zeros(2), 1.0), [1.0, 0.0], [0.0, 500.0], 1.0,
            force=[0.0, -9.81], iterations=2,
        )  # fmt: skip


@pytest.mark.parametrize("theta", [0.5, 1.0])
@pytest.mark.parametrize(("w", "h"), [(10.0, 0.001), (1000.0, 0.01)])
def test_a_compliant_distance_is_an_implicit_spring_that_no_stiffness_upsets(theta, w, h):
    # v = p + theta mu, mu = -h w^2 (theta x_next + (1 - theta) x), p_next = v + (1 - theta) mu
    m = dy.Mechanism((0.0, 0.0, 0.0))
    ball = m.add_body(mass=1.0, inertia=[0.1] * 3, name="ball")
    spring = dy.Distance(m.world, ball, 1.0, compliance=1.0 / w**2, theta=theta, name="spring")
    m.add_joint(spring)
    model = m.finalize(h, tolerance=1e-13)
    state = model.initial_state()
    model.set_body(state, "ball", position=[0.0, 0.0, 1.1])
    found = dy.simulate(model, state, 40 * h).body("ball")[0][:, 2] - 1.0
    x, p = 0.1, 0.0
    for k in range(40):
        v = (p - theta * h * w**2 * x) / (1.0 + (theta * h * w) ** 2)
        mu = -h * w**2 * (x + theta * h * v)
        x, p = x + h * v, v + (1.0 - theta) * mu
        assert found[k + 1] == pytest.approx(x, abs=1e-11)
    assert np.abs(found).max() <= 0.1 * (1.0 + 1e-9)
