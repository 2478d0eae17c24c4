"""The step itself: order of convergence, what it keeps, and the condition of its equations.

The figures are those of a prototype in numpy against DOP853 at 1e-13 (docs/theory/step.md).
"""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.kernels.base import layout
from dynamics.kernels.interval.matrix import assemble
from dynamics.kernels.stepping import step
from dynamics.zoo import double_pendulum, floating_chain, free_top, heavy_top, spherical_pendulum
from tests.dynamics.kernel_calls import evaluate_residual

#: Angles and rates of the double pendulum at 1 s.
DOUBLE = np.array([-0.4564963985, -1.6545807909, -1.2905052807, -2.7994980243])


def orders(errors):
    """Orders of convergence of errors under halved steps."""
    return np.log2(np.divide(errors[:-1], errors[1:]))


def double_error(steps, start="legendre", **options):
    """Errors of the angles and of the rates at 1 s."""
    model, state = double_pendulum(timestep=1.0 / steps, tolerance=1e-12, **options)
    final = dy.simulate(model, state, 1.0, start=start).final
    (a, b), (da, db) = (
        np.ravel([model.joint(final, ("joint", i))[k] for i in range(2)]) for k in range(2)
    )
    error = np.abs(np.array([a, a + b, da, da + db]) - DOUBLE)
    return error[:2].sum(), error[2:].sum()


# Orders


def test_the_half_kick_form_is_of_second_order():
    errors = np.array([double_error(steps) for steps in (100, 200, 400)])
    np.testing.assert_allclose(errors[:, 0], [9.11e-4, 2.28e-4, 5.69e-5], rtol=2e-3)
    np.testing.assert_allclose(errors[:, 1], [1.20e-2, 3.00e-3, 7.49e-4], rtol=2e-3)
    assert np.abs(orders(errors) - 2.0).max() < 0.005


def test_the_form_of_the_papers_is_of_first_order():
    errors = np.array([double_error(n, form="first order")[0] for n in (100, 200, 400)])
    np.testing.assert_allclose(errors, [1.83e-2, 8.97e-3, 4.44e-3], rtol=3e-3)
    assert np.abs(orders(errors) - 1.02).max() < 0.02


def test_both_forms_move_alike_from_the_same_discrete_start():
    model, state = double_pendulum()
    papers, _ = double_pendulum(form="first order")
    same = state.copy()
    papers.workspace.kick(same.data[None], -0.5)
    one, other = dy.simulate(model, state, 1.0), dy.simulate(papers, same, 1.0)
    for i in range(2):
        for mine, theirs in zip(one.body(("link", i)), other.body(("link", i))):
            np.testing.assert_allclose(mine, theirs, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "time", "expected", "steps", "errors"),
    [
        (
            spherical_pendulum,
            1.0,
            (0.0605417601, -0.2777293441, 0.3206855284, 0.9035274753),
            (100, 200, 400),
            (2.96e-4, 7.40e-5, 1.85e-5),
        ),
        (
            heavy_top,
            1.0,
            (0.19790260617, -0.3807888003, -0.90318691892, -0.0093721671795),
            (50, 100, 200),
            (6.3e-2, 1.5e-2, 3.8e-3),
        ),
        (
            free_top,
            2.0,
            (-0.4182330224, 0.0069508807, 0.9082879126, 0.0067743631),
            (50, 100, 200, 400),
            (1.95e-3, 4.86e-4, 1.22e-4, 3.04e-5),
        ),
    ],
)
def test_tops_turn_to_second_order(make, time, expected, steps, errors):
    found = []
    for n in steps:
        model, state = make(timestep=time / n, tolerance=1e-12, largest_turn=2.0)
        q = dy.simulate(model, state, time).body("top")[1][-1]
        found.append(min(np.abs(q - expected).max(), np.abs(q + expected).max()))
    np.testing.assert_allclose(found, errors, rtol=4e-2)  # two digits are given, or three
    assert np.abs(orders(found) - 2.0).max() < 0.08
    assert abs(orders(found)[-1] - 2.0) < 0.03


# What is kept over long times


def test_energy_of_the_double_pendulum_stays_in_its_band_for_a_hundred_thousand_steps():
    model, state = double_pendulum()
    motion = dy.simulate(model, state, 1000.0)
    energy = motion.energy()
    # the figures' [-9.774, -9.723], half a digit around: the motion is chaotic
    assert -9.7745 < energy.min() and energy.max() < -9.7225
    slope = np.polyfit(motion.time, energy, 1)[0]
    assert abs(slope) * 1000.0 < 2e-3
    assert motion.constraint_violation().max() <= 1e-10  # the tolerance
    norms = np.concatenate([motion.body(("link", i))[1] for i in range(2)])
    assert np.abs(np.linalg.norm(norms, axis=1) - 1.0).max() < 4e-16
    assert motion.info["intervals"] == motion.info["steps"] == 100_000
    assert motion.info["iterations"] < 3.0 * motion.info["steps"]


def test_energy_in_the_form_of_the_papers_stays_in_a_wider_band():
    model, state = double_pendulum(form="first order")
    motion = dy.simulate(model, state, 1000.0)
    energy = motion.energy()
    assert 0.2 < np.ptp(energy) < 0.4
    assert abs(np.polyfit(motion.time, energy, 1)[0]) * 1000.0 < 2e-3


def test_a_spherical_pendulum_keeps_its_vertical_angular_momentum():
    model, state = spherical_pendulum(tolerance=1e-12)
    motion = dy.simulate(model, state, 1000.0)
    energy = motion.energy()
    assert -2.5935 < energy.min() and energy.max() < -2.5925
    vertical = motion.momentum()[:, 5]
    # each of 1e5 steps may leave the tolerance in the balance of momentum
    assert np.abs(vertical - vertical[0]).max() < 1e-9


def test_a_free_top_keeps_its_angular_momentum_and_its_energy_to_round_off():
    model, state = free_top(timestep=0.05, tolerance=1e-14, largest_turn=2.0)
    motion = dy.simulate(model, state, 5000.0)
    momentum, energy = motion.momentum(), motion.energy()
    # random walk of round-off 1e-16 |L| over 1e5 steps, with room
    assert np.abs(momentum - momentum[0]).max() < 1e-10
    assert np.abs(energy - energy[0]).max() < 1e-9


def test_a_floating_chain_keeps_its_momentum():
    model, state = floating_chain(timestep=0.02, tolerance=1e-13)
    momentum = dy.simulate(model, state, 400.0).momentum()
    assert np.abs(momentum[:, :3] - momentum[0, :3]).max() < 1e-10
    assert np.abs(momentum[:, 3:] - momentum[0, 3:]).max() < 1e-9


def test_what_newton_leaves_open_does_not_add_up():
    # each step makes up for the impulse that the last one was short of: what is left is of second
    # order in the tolerance, 1e-10 a step for 2000 steps (3e-6 without)
    model, state = floating_chain(timestep=0.02, tolerance=1e-5)
    momentum = dy.simulate(model, state, 40.0).momentum()
    assert np.abs(momentum - momentum[0]).max() < 2e-7


def test_a_step_back_undoes_a_step():
    # the method is its own adjoint: turn all velocities round and the motion runs back
    model, state = double_pendulum(tolerance=1e-13)
    there = dy.simulate(model, state, 1.0).final
    there.momentum[:] *= -1.0
    there.interval_velocity[:] *= -1.0
    there.interval_velocity_before[:] = there.interval_velocity
    back = dy.simulate(model, there, 1.0).final
    np.testing.assert_allclose(back.pose, state.pose, atol=1e-10)


def test_steps_one_by_one_are_those_of_a_run():
    for form in ("second order", "first order"):
        model, state = double_pendulum(form=form, tolerance=1e-13)
        motion = dy.simulate(model, state, 0.2)
        for k in range(20):
            # a run guesses from one interval more: multipliers by tolerance / h^2 apart, and room
            np.testing.assert_allclose(state.data, motion.states[k], rtol=0.0, atol=1e-8)
            np.testing.assert_allclose(state.pose, motion[k].pose, rtol=0.0, atol=1e-12)
            state, info = model.step(state)
        assert (info.status, info.intervals) == (0, 1)


# The equations of a step


def everything():
    """Every kind of row at once, with dampers, drag, soft constraints and a control."""
    mechanism = dy.Mechanism()
    inertia = [[0.2, 0.01, 0.02], [0.01, 0.25, 0.0], [0.02, 0.0, 0.3]]
    a, b, c, d = (
        mechanism.add_body(mass=1.0 + i, inertia=inertia, name=i, drag=0.1, spin_drag=0.2)
        for i in range(4)
    )
    n, across = [0.36, -0.48, 0.8], [0.8, 0.6, 0.0]
    ends = {"parent_point": [0.1, 0.2, 0.3], "child_point": [-0.3, 0.1, 0.2]}
    soft = {"compliance": 1e-3, "constraint_damping": 2.0, "theta": 0.7}
    world = mechanism.world
    mechanism.add_joint(dy.Universal(world, a, n, across, damping=0.3, name="universal", **ends))
    mechanism.add_joint(dy.Cylindrical(a, b, n, damping=[0.2, 0.4], name="cylinder", **ends))
    mechanism.add_joint(dy.Helical(b, c, n, 0.3, name="helix", **ends, **soft))
    mechanism.add_joint(dy.ConstantVelocity(c, d, n, name="bends", **ends))
    mechanism.add_joint(dy.Distance(world, d, 1.0, name="rod", **ends))
    mechanism.add_force(dy.Spring(a, d, stiffness=3.0, damping=0.5, length=0.4, name="spring"))
    mechanism.add_force(dy.Spring(world, c, damping=0.7, name="dashpot"))
    return mechanism.finalize()


def firm():
    """Joints of three to six rows, none of them soft."""
    mechanism = dy.Mechanism()
    inertia = [[0.2, 0.01, 0.02], [0.01, 0.25, 0.0], [0.02, 0.0, 0.3]]
    a, b, c, d = (mechanism.add_body(mass=1.0 + i, inertia=inertia, name=i) for i in range(4))
    n, across = [0.36, -0.48, 0.8], [0.8, 0.6, 0.0]
    ends = {"parent_point": [0.1, 0.2, 0.3], "child_point": [-0.3, 0.1, 0.2]}
    turned = [0.8, 0.36, -0.48, 0.0]
    mechanism.add_joint(dy.Revolute(mechanism.world, a, n, name="hinge", **ends))
    mechanism.add_joint(dy.Spherical(a, b, name="ball", **ends))
    mechanism.add_joint(dy.Fixed(b, c, orientation=turned, name="weld", **ends))
    mechanism.add_joint(dy.Universal(c, d, n, across, name="universal", **ends))
    return mechanism.finalize()


def dense(model):
    """The matrix of the last Newton step."""
    graph, values = model.symbolic.graph, model.workspace.solver[0]
    sizes = [6] * model.n_bodies + list(np.diff(model.tables.row_start))
    start = np.concatenate([[0], np.cumsum(sizes)])
    out = np.zeros((start[-1], start[-1]))
    for i, n in enumerate(sizes):
        for j, m in enumerate(sizes):
            at = graph.diagonal_at[i] if i == j else None
            if at is None:
                try:
                    at = graph.edge_at(i, j)
                except (KeyError, ValueError, IndexError):
                    continue
            if at is None or at < 0:
                continue
            block = values[at : at + n * m].reshape(m, n).T  # by columns
            out[start[i] : start[i + 1], start[j] : start[j + 1]] = block
    return out


@pytest.mark.parametrize("make", [everything, firm])
def test_the_matrix_of_a_step_is_the_derivative_of_its_residual(make):
    model, eps, h = make(), 1e-6, 0.1
    rng = np.random.default_rng(0)
    state = model.initial_state()
    state.pose[:, :3] += 0.1 * rng.normal(size=(4, 3))
    state.pose[:, 3:] = rotation.random(rng, 4)
    plan, constant = model.tables.plan, model.tables.constant
    node, at = step.node_of(plan, model.workspace.work, 0)
    trial, _ = step.node_of(plan, model.workspace.work, at)
    step.load_state(plan, constant, state.data, node, trial)
    unknowns = 24 + model.n_rows
    x, kick = rng.normal(size=unknowns), rng.normal(size=24)

    def residual(x):
        r = np.empty(unknowns)
        evaluate_residual(plan, constant, h, kick, node, x.copy(), trial, r)
        return r

    slopes = np.transpose(
        [residual(x + eps * e) - residual(x - eps * e) for e in np.eye(unknowns)]
    ) / (2.0 * eps)
    residual(x)
    assemble(plan, constant, h, x, node.g, node.G, trial.G, model.workspace.solver[0])
    matrix = dense(model)
    matrix[24:, 24:] -= np.diag(regularization(model))  # which is in the matrix only
    np.testing.assert_allclose(matrix, slopes, atol=1e-7 * np.abs(slopes).max())


def regularization(model):
    """What stands on the diagonal of rows on loops."""
    plan = model.tables.plan
    at = plan[layout.ROW_CONSTANT_AT] + layout.ROW_SIZE * np.arange(model.n_rows)
    return model.tables.constant[at + layout.REGULARIZATION]


def test_the_condition_number_of_a_step_does_not_grow_as_the_step_shrinks():
    for h in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5):
        model, state = double_pendulum(timestep=h, largest_turn=2.0)
        model.step(state)
        assert np.linalg.cond(dense(model)) < 100.0


def test_rows_of_pins_and_held_axes_are_those_of_the_general_path():
    model = firm()
    rng = np.random.default_rng(1)
    state = model.initial_state()
    state.pose[:, :3] += 0.1 * rng.normal(size=(4, 3))
    state.pose[:, 3:] = rotation.random(rng, 4)
    plan, constant = model.tables.plan.copy(), model.tables.constant
    at = plan[layout.GROUP_AT] + layout.GROUP_FIELDS * np.arange(plan[layout.JOINTS])
    assert plan[at + layout.PINNED].tolist() == [1, 1, 1, 0]

    found = []
    for pinned in (plan[at + layout.PINNED], 0):
        plan[at + layout.PINNED] = pinned
        node, next_at = step.node_of(plan, model.workspace.work, 0)
        trial, _ = step.node_of(plan, model.workspace.work, next_at)
        step.load_state(plan, constant, state.data, node, trial)
        found.append(np.concatenate([node.g[: plan[layout.ALL_ROWS]], node.G]))
        node.g[:], node.G[:] = np.nan, np.nan

    np.testing.assert_array_equal(found[0], found[1])
