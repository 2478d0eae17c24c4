"""Trajectories and steps report the intervals that they took, where nobody overlooks them."""

import numpy as np
import pytest

import dynamics as dy


def spinning(rate):
    """A rotor without gravity: a step turns it by ``0.01 rate`` rad."""
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    rotor = mechanism.add_body(dy.Box(0.1, 0.2, 0.3, mass=1.0), name="rotor")
    mechanism.add_joint(dy.Revolute(mechanism.world, rotor, (0, 0, 1), name="pin"))
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    model.set_joint(state, "pin", 0.0, rate)
    return model, state


@pytest.mark.parametrize(("rate", "intervals"), [(10.0, 1), (25.0, 2), (60.0, 4)])
def test_a_trajectory_says_how_many_intervals_its_steps_took(rate, intervals):
    # at most 0.17 rad an interval: 0.1, 0.25 and 0.6 rad take 1, 2 and 4
    model, state = spinning(rate)

    motion = dy.simulate(model, state, 0.5)
    _, info = model.step(state)

    assert motion.info["intervals_per_step"] == intervals == info.intervals
    # an interval of h turns by arcsin(h omega), theory/step (1) and (2)
    angle = 50 * intervals * np.arcsin(0.01 * rate / intervals)
    assert np.isclose(motion.joint("pin")[-1], angle, rtol=1e-9)
    words = "1 interval per step" if intervals == 1 else (
        f"{intervals} intervals per step (at most {intervals})"
    )  # fmt: skip
    assert repr(motion) == (f"Trajectory(51 states, 0 s to 0.5 s, 50 steps of 0.01 s, {words})")
    assert f"intervals={intervals}" in repr(info)


def test_a_trajectory_without_a_run_has_no_intervals_to_tell(tmp_path):
    model, state = spinning(1.0)
    motion = dy.simulate(model, state, 0.0)
    motion.save(tmp_path / "motion.npz")

    for one in (motion, dy.simulate(model, state, 0.0).load(tmp_path / "motion.npz", model)):
        assert repr(one) == "Trajectory(1 states, 0 s to 0 s)"
