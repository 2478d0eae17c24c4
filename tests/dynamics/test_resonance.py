"""How fast joints' forces make bodies shake: by hand, and what steps make of it."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.kernels.base import layout, step_info
from dynamics.kernels.base.step_info import INFO_SIZE
from dynamics.kernels.stepping import resonance
from dynamics.zoo import pendulum
from tests.dynamics.kernel_calls import choose_halvings, squared_frequency

H = 0.01


def hanging(n, forces):
    """Arguments of `resonance.squared_frequency` for n rods of 1 m and 1 kg that hang and vibrate.

    ``forces`` are the tensions of the joints, the topmost first.
    """
    model, state = pendulum(n, angles=[np.pi / 2] + [0.0] * (n - 1), timestep=H)
    space = model.workspace
    node, _ = model.kernel.node_of(space.plan, space.work, 0)
    model.kernel.load_state(
        space.plan,
        space.constant,
        state.data,
        node,
        model.kernel.node_of(space.plan, space.work, 0)[0],
    )
    multipliers = np.zeros(model.n_rows)
    multipliers[2::5] = forces  # the world's z axis, on the lower of two rods
    u = np.zeros(6 * n)
    u[4::6] = (-1.0) ** np.arange(n)
    return model, node, multipliers, u


def test_rods_between_taut_joints_turn_to_and_fro_by_hand():
    """A rod of length l, pulled by T at both ends, turns back by T l: omega^2 = T l / (m l^2 / 12).

    The square box's own inertia is (1 + 0.1^2) / 12. The last rod hangs on one end only.
    """
    model, node, multipliers, u = hanging(3, [30.0, 20.0, 10.0])
    plan, constant = model.workspace.plan, model.workspace.constant
    still = (np.zeros(18), np.zeros(18))

    found = squared_frequency(plan, constant, H, node, multipliers, u, still)

    stiffness = 0.5 * (30.0 + 20.0) + 0.5 * (20.0 + 10.0) + 0.5 * 10.0
    assert found == pytest.approx(H**2 * stiffness / (3.0 * 1.01 / 12.0), rel=1e-12)
    back = squared_frequency(plan, constant, H, node, -multipliers, u, still)
    assert back == pytest.approx(-found)


@pytest.mark.parametrize(
    ("rate", "level", "failed", "begins"),
    [
        (0.9, 0, False, 0),
        (1.1, 0, False, 1),
        (0.4, 0, True, 0),
        (0.6, 0, True, 1),
        (0.9, 1, False, 1),  # of halves: 3.6 of whole steps
        (0.2, 1, False, 1),
        (0.1, 1, False, 0),
        (1.1, resonance.MOST, False, resonance.MOST),
    ],
)
def test_steps_begin_with_halves_while_these_shake(rate, level, failed, begins):
    model, node, multipliers, u = hanging(3, [1.0, 1.0, 1.0])
    plan, constant = model.workspace.plan, model.workspace.constant
    still, info = (np.zeros(18), np.zeros(18)), np.zeros(INFO_SIZE)
    info[step_info.EQUAL_LENGTHS], info[step_info.CONTRACTION], info[step_info.STEP_HALVINGS] = (
        3.0,
        1.0,
        level,
    )
    length = H / 2**level
    multipliers *= rate / squared_frequency(plan, constant, length, node, multipliers, u, still)

    choose_halvings(plan, constant, H, failed, node, multipliers, u, still, info)

    assert info[step_info.STEP_HALVINGS] == begins


def test_taut_chains_move_as_with_half_the_step():
    """The fastest vibrations of 200 hanging hinges have h omega = 1.5, and more as they swing.

    Whole steps shake there without end: the rods turn a third faster in the first second already,
    and ever more, where halves of the step, which are what is taken, agree.
    """
    n, angles = 200, np.zeros(200)
    angles[:2] = np.pi / 2, 0.3

    def speed(timestep):
        model, state = pendulum(n, angles=angles, timestep=timestep)
        motion = dy.simulate(model, state, 4.0, every=round(0.04 / timestep))
        first = (layout.POSE + layout.TWIST) * n
        turns = motion.states[50:, first : first + layout.TWIST * n].reshape(-1, n, 6)[:, :, 4]
        return np.sqrt(np.mean(turns**2))

    whole, half = speed(H), speed(H / 2)

    assert whole == pytest.approx(half, rel=0.05)
