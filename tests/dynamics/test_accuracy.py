"""The suggested time step keeps what it promises, and is not much shorter than it must be."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import zoo
from dynamics.studies import accuracy


def largest_error(order, steps, seconds):
    """Of a position or an orientation at the nodes, from order 6 with four times the steps."""
    runs = []
    for p, n in ((order, steps), (6, 4 * steps)):
        model, state = zoo.four_bar(
            timestep=seconds / n, order=p, tolerance=1e-13, largest_turn=2.4
        )
        states = dy.simulate(model, state, seconds, every=n // steps).states
        runs.append(states[:, : 7 * model.n_bodies].reshape(-1, model.n_bodies, 7))
    apart = np.abs(runs[0] - runs[1])
    turned = 2.0 * np.linalg.norm(apart[..., 3:], axis=-1)
    return max(np.linalg.norm(apart[..., :3], axis=-1).max(), turned.max())


@pytest.mark.parametrize("order, tolerance", [(2, 1e-3), (4, 1e-6), (6, 1e-8)])
def test_the_step_suggested_keeps_the_tolerance(order, tolerance):
    model, state = zoo.four_bar(order=order, tolerance=1e-13, largest_turn=2.4)
    timestep = dy.suggest_timestep(model, state, tolerance, 0.8)
    steps = 0.8 / timestep
    assert steps == pytest.approx(round(steps), rel=1e-12)
    # the estimate is one of the order alone: terms behind it are some tenths of it
    assert largest_error(order, round(steps), 0.8) < 1.3 * tolerance
    # the search aims at 0.7 of the tolerance and takes at most a tenth more steps than it must
    assert largest_error(order, round(0.6 * steps), 0.8) > tolerance


def test_a_run_within_a_tolerance_keeps_it():
    model, state = zoo.four_bar(order=4, tolerance=1e-13, largest_turn=2.4)
    motion = dy.simulate_within(model, state, 0.8, 1e-6)
    assert motion.model.timestep == dy.suggest_timestep(model, state, 1e-6, 0.8)
    assert motion.time[-1] == pytest.approx(0.8, rel=1e-12)
    fine, _ = zoo.four_bar(timestep=0.8 / 640, order=6, tolerance=1e-13, largest_turn=2.4)
    apart = np.abs(motion.final.pose - dy.simulate(fine, state, 0.8).final.pose)
    assert apart[:, :3].max() < 1e-6
    assert 2.0 * apart[:, 3:].max() < 1e-6  # of a quaternion half the angle


def test_steps_that_are_not_solved_are_halved_like_those_that_are_inaccurate(monkeypatch):
    model, state = zoo.four_bar(order=4, tolerance=1e-13, largest_turn=2.4)
    suggested, tried = dy.suggest_timestep(model, state, 1e-6, 0.8), []
    difference = accuracy._difference

    def hard(model, state, seconds, n, *rest):
        tried.append(n)
        if n < 30:
            raise dy.ConvergenceError("as if steps of more than 27 ms were not solved")
        return difference(model, state, seconds, n, *rest)

    monkeypatch.setattr(accuracy, "_difference", hard)
    coarse = zoo.four_bar(order=4, tolerance=1e-13, largest_turn=2.4, timestep=0.1)[0]
    found = dy.suggest_timestep(coarse, state, 1e-6, 0.8)

    assert tried[0] < 30 < tried[-1]
    assert found == pytest.approx(suggested, rel=0.1)  # at most a tenth more steps than it must


def test_what_no_step_can_keep_is_said():
    model, state = zoo.double_pendulum(tolerance=1e-3)
    with pytest.raises(ValueError, match="no time step found"):
        dy.suggest_timestep(model, state, 1e-14, 0.02)
    with pytest.raises(ValueError, match="tolerance is 0"):
        dy.suggest_timestep(model, state, 0.0, 1.0)
    with pytest.raises(ValueError, match="seconds is nan"):
        dy.suggest_timestep(model, state, 1e-3, float("nan"))
