"""How steps of orders 4 and 6 are solved: guesses, factors that serve again, users' functions."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import zoo
from dynamics.kernels.base import layout
from dynamics.kernels.base.step_info import INFO_SIZE, STORED_STEPS
from dynamics.kernels.galerkin import middle as galerkin_middle
from dynamics.kernels.galerkin import predictor as galerkin_guess
from dynamics.kernels.galerkin import step as galerkin_step
from dynamics.tables import galerkin
from tests.dynamics.kernel_calls import factorize_middle

X, Y, Z = np.eye(3)
WIDE = 2.4  # rad: steps are never cut


def gone_on(values):
    """What rows of values go on with: the velocities of a free body, two stages of six a row."""
    model = dy.Mechanism()
    model.add_body(mass=1.0, inertia=[1.0, 1.0, 1.0])
    tables = model.finalize(0.01).tables
    table, info, guess = np.zeros(8 * 12), np.zeros(INFO_SIZE), np.zeros(12)
    for row in values:
        galerkin_guess.store_step(tables.plan, 2, row, table, info)
    assert info[STORED_STEPS] == min(len(values), galerkin_guess.DIFFERENCES)
    galerkin_guess.predict(tables.plan, tables.constant, 2, info, table, guess)
    return guess


SHAPE = np.arange(1.0, 13.0)


@pytest.mark.parametrize("degree", [0, 1, 3, 6])
def test_guesses_go_on_with_polynomials(degree):
    # differences beyond the degree are nothing: the guess is exact, of integers exactly so
    t = np.arange(12.0)
    guess = gone_on(np.outer(t**degree, SHAPE))
    assert guess.tolist() == (12.0**degree * SHAPE).tolist()


@pytest.mark.parametrize("steps", [6, 12])
def test_guesses_of_short_runs_go_on_with_a_parabola(steps):
    # two differences do from the fourth step on
    t = np.arange(float(steps))
    guess = gone_on(np.outer(t**2, SHAPE))
    assert guess.tolist() == (steps**2 * SHAPE).tolist()


def test_guesses_go_on_with_what_swings():
    # a swing of 0.7 rad a step has but two differences that tell from those before: the parts of
    # the last two make up for all higher ones, but for the ridge, 1e-8, of the last difference
    angle = 0.7 * np.arange(30.0)
    motion = np.outer(np.cos(angle), SHAPE) + np.outer(np.sin(angle), SHAPE[::-1])
    last = np.abs(np.diff(motion, 7, axis=0)[-1]).max()
    assert np.abs(gone_on(motion[:-1]) - motion[-1]).max() < 1e-7 * last


def test_guesses_do_not_go_on_with_what_shakes():
    # values without rhyme: every difference is larger than the one before, and the last value
    # alone misses least
    values = np.random.default_rng(1).normal(size=(40, 12))
    assert gone_on(values).tolist() == values[-1].tolist()


@pytest.mark.parametrize("order", [4, 6])
def test_single_steps_are_those_of_a_run(order):
    model, state = zoo.double_pendulum(timestep=0.002, order=order)
    motion = dy.simulate(model, state, 1.0)
    for _ in range(500):  # a single step has its own guess
        state, info = model.step(state)
        assert info.factorizations >= 1
    # two solutions of each step within 1e-11, m/s and rad/s, which the motion makes ten times more
    assert np.abs(state.pose - motion.final.pose).max() < 500 * 1e-11 * 0.002 * 10


def slopes_of(model, G):
    """Slopes of all constraints in the velocities of all bodies, from rows of twelve."""
    plan, n = model.tables.plan, model.n_bodies
    dense = np.zeros((model.n_rows, layout.TWIST * (n + 1)))
    for k in range(plan[layout.JOINTS]):
        group = plan[plan[layout.GROUP_AT] + k * layout.GROUP_FIELDS :]
        for row in range(group[layout.FIRST_ROW], group[layout.FIRST_ROW] + group[layout.N_ROWS]):
            for end, body in enumerate((group[layout.A], group[layout.B])):
                t = layout.TWIST * body
                dense[row, t : t + layout.TWIST] = G[12 * row + 6 * end : 12 * row + 6 * end + 6]
    return dense[:, : layout.TWIST * n]


@pytest.mark.parametrize("s", [1, 2, 3])
def test_stages_that_share_a_matrix_are_solved_with_it(s):
    # where G and M are the same at all stages, [K (x) M, -1 (x) G^T; 1 (x) G, 0] is the matrix of a
    # step: `solve_middle` leaves nothing of the residual but round-off, 1e-12 at conditions of 1e4
    model, state = zoo.pendulum(3, angles=[0.3, -0.2, 0.4], timestep=0.01)
    stages = galerkin.Stages(model.tables, 2 * s)
    plan, constant, _ = stages.tables
    arrays, (inertia, inverse, theta), _, nodes, x, *_ = stages.work()
    galerkin_step.load_state(plan, constant, s, state.data, nodes)
    for k in (0, 1, 2, 3):  # poses, rotations, rows and slopes of the first node at all of them
        each = nodes[k].reshape(s + 1, -1)
        each[:] = each[0]
    solver, r = stages.solver()[1], np.random.default_rng(0).normal(size=x.size)
    dx, f = np.zeros(x.size), np.zeros(18)
    program = model.tables.symbolic.program
    failed = factorize_middle(plan, constant, program, s, 0.01, x, nodes, f, solver)
    assert failed == 0
    galerkin_middle.solve_middle(plan, program, s, (inertia, inverse, theta), r, solver, dx)
    G = slopes_of(model, nodes[3])
    mass = np.zeros((18, 18))
    for i, body in enumerate(model.bodies):
        t = 6 * i
        mass[t : t + 3, t : t + 3] = body.mass * np.eye(3)
        mass[t + 3 : t + 6, t + 3 : t + 6] = body.inertia
    y, mu = np.split(dx.reshape(s, -1), [18], axis=1)
    K = inertia.reshape(s, s)
    left = np.hstack([K @ y @ mass - mu @ G, y @ G.T])
    assert np.abs(left.ravel() - r).max() < 1e-10


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
    def motion_of(order):
        model, state = zoo.random_tree(9, 396, branch=2, loops=1, every_kind=True, order=order)
        return dy.simulate(model, state, 1.0)

    motion, rough = motion_of(order), motion_of(2)
    assert motion.info["intervals"] == 100
    assert motion.constraint_violation().max() < 1e-10
    assert np.ptp(motion.energy()) < 0.2 * np.ptp(rough.energy())


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
        m.add_joint(dy.Prismatic(m.world, body, Z, name="slide", stiffness=0.0 if own else 40.0))
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
