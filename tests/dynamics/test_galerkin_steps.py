"""How steps of orders 4 and 6 are solved: guesses, factors that serve again, users' functions."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import zoo
from dynamics.kernels import galerkin_guess

X, Y, Z = np.eye(3)
WIDE = 2.4  # rad: steps are never cut


def table_of(values):
    """Differences of the rows of values, and how many there are."""
    table = np.full((galerkin_guess.DIFFERENCES, values.shape[1]), np.nan)
    seen = 0
    for row in values:
        seen = galerkin_guess.remember(seen, row, np.zeros(row.size), table)
    return seen, table


@pytest.mark.parametrize("degree", [0, 1, 3, 6])
def test_guesses_go_on_with_polynomials(degree):
    # differences beyond the degree are nothing: the guess is exact, of integers exactly so
    t = np.arange(12.0)
    values = np.stack([t**degree, 2.0 - t**degree], axis=1)
    seen, table = table_of(values)
    guess = np.zeros(2)
    galerkin_guess.gone_on(0, 2, seen, table, guess)
    assert seen == galerkin_guess.DIFFERENCES
    assert guess.tolist() == [12.0**degree, 2.0 - 12.0**degree]


def test_guesses_do_not_go_on_with_what_shakes():
    # x = (-1)^k a: every difference doubles; the last value alone misses least
    seen, table = table_of(np.outer([1.0, -1.0] * 5, [1.0, 3.0]))
    guess = np.zeros(2)
    galerkin_guess.gone_on(0, 2, seen, table, guess)
    assert guess.tolist() == [-1.0, -3.0]


def test_factors_serve_again_in_smooth_motion():
    # contraction of factors one step old is the change of the matrix in it, some hundredths
    model, state = zoo.double_pendulum(timestep=0.002, order=4)
    motion = dy.simulate(model, state, 1.0)
    assert motion.info["factorizations"] < 0.5 * motion.info["steps"]
    assert motion.info["iterations"] < 2.5 * motion.info["steps"]
    for _ in range(500):  # a single step has its own factors and guesses
        state, info = model.step(state)
        assert info.factorizations >= 1
    # two solutions of each step within 1e-11, m/s and rad/s, which the motion makes ten times more
    assert np.abs(state.pose - motion.final.pose).max() < 500 * 1e-11 * 0.002 * 10


@pytest.mark.parametrize("order", [4, 6])
def test_impulses_of_loops_do_not_run_away(order):
    # redundant rows share impulses as round-off says: polynomials took them to 1e6 N in a second
    model, state = zoo.bricard(timestep=0.005, order=order)
    motion = dy.simulate(model, state, 4.0, every=10)
    forces = np.abs([model.state_of(row).multipliers for row in motion.states[1:]]).max(axis=1)
    assert motion.info["intervals"] == motion.info["steps"]
    # the linkage swings on: as much force in the last second as in all before
    assert forces[60:].max() < 1.5 * forces[:60].max()


@pytest.mark.parametrize("order", [4, 6])
def test_a_pivot_that_vanishes_does_not_stop_a_step(order):
    # two joints hold the same of the one body that was eliminated before them
    model, state = zoo.random_tree(9, 396, branch=2, loops=1, every_kind=True, order=order)
    motion = dy.simulate(model, state, 1.0, every=10)
    assert motion.info["intervals"] == 100
    assert motion.constraint_violation().max() < 1e-10
    assert np.ptp(motion.energy()) < 0.008  # J, of 20; order 2 leaves 0.083


def test_what_residuals_leave_open_is_made_up_for():
    # Newton's tolerance leaves up to 1e-6 a step; momenta stay to the square of what is left
    model, state = zoo.floating_chain(timestep=0.02, order=4, largest_turn=WIDE, tolerance=1e-6)
    momentum = dy.simulate(model, state, 20.0).momentum()
    assert np.abs(momentum[:, :3] - momentum[0, :3]).max() < 1e-11
    assert np.abs(momentum[:, 3:] - momentum[0, 3:]).max() < 1e-7


def pulled(order, steps, jacobian=None, potential=True):
    """A pendulum in a thick stream that swells, and in a potential; its last pose."""

    def stream(t, z, u):
        v = u[:3] - [np.sin(3.0 * t), 0.0, 0.2]
        return [*(-0.3 * (1.0 + v @ v) * v), 0.1 * np.sin(3.0 * t), 0.2, 0.0]

    def well(za, zb):
        return 20.0 * zb[2] ** 2, np.array([0.0] * 8 + [40.0 * zb[2], 0.0, 0.0, 0.0])

    m = dy.Mechanism()
    body = m.add_body(mass=2.0, inertia=[1.0, 2.0, 3.0], name="b")
    m.add_joint(dy.Spherical(m.world, body, child_point=0.5 * Z, name="ball"))
    m.add_force(dy.Wrench(body, stream, jacobian=jacobian))
    if potential:
        m.add_force(dy.Potential(body, well))
    model = m.finalize(1.0 / steps, order=order, largest_turn=WIDE, tolerance=1e-13)
    state = model.initial_state()
    model.set_joint(state, "ball", [1.0, 0.2, 0.0], [2.0, 0.0, 1.0])
    motion = dy.simulate(model, state, 1.0)
    return motion.final.pose[0], motion.info["iterations"]


@pytest.mark.parametrize(("order", "slack"), [(4, 0.1), (6, 0.3)])
def test_users_functions_keep_the_order(order, slack):
    exact, _ = pulled(6, 80)
    errors = [np.abs(pulled(order, n)[0] - exact).max() for n in (10, 20)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=slack)
    assert errors[1] < {4: 2e-6, 6: 1e-8}[order]


def test_slopes_of_a_wrench_spare_iterations():
    def slopes(t, z, u):
        v = u[:3] - [np.sin(3.0 * t), 0.0, 0.2]
        out = np.zeros((6, 6))
        out[:3, :3] = -0.3 * ((1.0 + v @ v) * np.eye(3) + 2.0 * np.outer(v, v))
        return out

    without, more = pulled(4, 20, potential=False)
    with_slopes, less = pulled(4, 20, slopes, potential=False)
    assert np.abs(without - with_slopes).max() < 1e-11  # the same equations
    assert less < 0.9 * more


def test_a_wrench_that_does_what_springs_do():
    # the same potential by a function and by a spring along z in the table of rows
    def well(za, zb):
        return 20.0 * zb[2] ** 2, np.array([0.0] * 8 + [40.0 * zb[2], 0.0, 0.0, 0.0])

    ends = []
    for own in (True, False):
        m = dy.Mechanism()
        body = m.add_body(mass=2.0, inertia=[1.0, 2.0, 3.0], name="b")
        m.add_joint(dy.Prismatic(m.world, body, Z, name="slide", spring=0.0 if own else 40.0))
        if own:
            m.add_force(dy.Potential(body, well))
        model = m.finalize(0.02, order=4)
        ends.append(dy.simulate(model, model.initial_state(), 1.0))
    assert np.abs(ends[0].final.pose - ends[1].final.pose).max() < 1e-10
    assert np.abs(ends[0].energy() - ends[1].energy()).max() < 1e-8


def test_what_a_function_raises_comes_through():
    def broken(t, z, u):
        if t > 0.055:
            raise KeyError("no wind")
        return np.zeros(6)

    m = dy.Mechanism()
    m.add_force(dy.Wrench(m.add_body(mass=1.0, inertia=[1.0, 1.0, 1.0], name="b"), broken))
    model = m.finalize(0.02, order=4)
    with pytest.raises(KeyError, match="no wind"):
        dy.simulate(model, model.initial_state(), 1.0)
