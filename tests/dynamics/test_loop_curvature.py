"""How much loops change velocities: by hand, backwards in time, and what is cut for it."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import zoo
from dynamics.kernels.base import layout, step_info
from dynamics.kernels.stepping import loop_curvature
from dynamics.tables import inputs
from tests.dynamics.kernel_calls import planar_place, rotation_energy

H = 0.01


def stepped(model, state):
    """Data behind one step that is not cut, and what `rotation_energy` says of it."""
    space, kernel, data = model.workspace, model.kernel, state.data.copy()
    info, n = np.zeros(step_info.INFO_SIZE), model.n_bodies
    space.kick(data[None], 0.5)
    control, wrench = inputs.controls_in_step(model, None), inputs.wrenches_of(model, None)
    bad = kernel.step(
        *space.step_tables, model.timestep, model.settings, control, wrench, data, space.work,
        space.step_solver, info, False, None,
    )  # fmt: skip
    space.kick(data[None], -0.5)
    assert (bad, info[step_info.INTERVALS]) == (0, 1)
    one, after = kernel.node_of(space.plan, space.work, 0)
    two, _ = kernel.node_of(space.plan, space.work, after)
    end, start = (two, one) if info[step_info.NODE_SIDE] == 1.0 else (one, two)
    u = data[(layout.POSE + layout.TWIST) * n :][: layout.TWIST * n]
    unknowns = layout.TWIST * n + model.n_rows
    solver = (*space.solver, np.empty(unknowns), np.empty(unknowns), np.empty(0))
    at = planar_place(space.plan)
    return data, rotation_energy(*space.step_tables, start, end, u, space.work, at, solver)


def backwards(model, data):
    """The state that goes back where data came from."""
    n = model.n_bodies
    data = data.copy()
    data[layout.POSE * n : (layout.POSE + 3 * layout.TWIST) * n] *= -1.0
    return model.state_of(data)


def test_a_parallelogram_turns_its_velocities_with_its_cranks():
    """Centres go round on circles, so that dv = h omega v, and nothing turns faster.

    The energy of what moves is (2 / 4 + 1) omega^2 / 2, of what turns 2 / 12 omega^2 / 2.
    """
    omega = 2.0
    model, state = zoo.four_bar(1.0, omega, (1.0, 1.0, 1.0, 1.0), timestep=H)

    _, found = stepped(model, state)

    # gravity changes omega by h g / 2 within the step, a hundredth of it or so
    assert found == pytest.approx((H * omega) ** 2 * 1.5 / (1.5 + 1.0 / 6.0), rel=0.05)
    assert stepped(*zoo.four_bar(1.0, 2 * omega, (1.0, 1.0, 1.0, 1.0), timestep=H))[1] == (
        pytest.approx(4.0 * found, rel=0.05)
    )


def test_trees_do_not_swerve():
    model, state = zoo.double_pendulum()
    assert stepped(model, state)[1] == 0.0


def test_rhombi_near_their_flat_positions_swerve_alike_backwards_in_time():
    """To what factors at a guess differ from those at the solution, some per cent.

    The change of velocities itself, projected at both ends, would be off by a third.
    """
    model, state = zoo.rhombic_chain(2, np.pi / 8 * 1.012, largest_turn=1.0, timestep=H)
    motion = dy.simulate(model, state, 8.4)
    pairs = []
    for k in range(815, 830):  # its links lie on one another at 8.23 s
        data, found = stepped(model, motion[k])
        pairs.append((found, stepped(model, backwards(model, data))[1]))
    there, back = np.array(pairs).T
    assert there.max() > loop_curvature.LARGEST_ROTATION_ENERGY
    np.testing.assert_allclose(back, there, rtol=0.1)
