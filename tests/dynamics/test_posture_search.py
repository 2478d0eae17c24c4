"""Loops that close in a mirrored branch are put right, where joints have limits."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.errors import InconsistentStateError

CRANK, COUPLER, ROCKER, GROUND = 0.8, 1.9, 1.2, 2.0


def four_bar(limits, floating=False):
    """Hinges a, b, c, d about y in turn; the limits are those of c, between coupler and rocker."""
    mech = dy.Mechanism(gravity=(0, 0, 0) if floating else (0, 0, -9.81))
    base, left = mech.world, 0.0
    if floating:
        base = mech.add_body(dy.Box(2.0, 0.2, 0.2, mass=5.0), name="base", position=(1, 0, 0))
        left = -1.0
    sizes = (("crank", CRANK), ("coupler", COUPLER), ("rocker", ROCKER))
    one, two, three = (mech.add_body(dy.Box(0.05, 0.05, s, mass=1.0), name=n) for n, s in sizes)
    for name, parent, child, at, to, more in (
        ("a", base, one, (left, 0, 0), -CRANK / 2, {}),
        ("b", one, two, (0, 0, CRANK / 2), -COUPLER / 2, {}),
        ("c", two, three, (0, 0, COUPLER / 2), ROCKER / 2, {"limits": limits}),
        ("d", base, three, (left + GROUND, 0, 0), -ROCKER / 2, {}),
    ):
        mech.add_joint(
            dy.Revolute(
                parent, child, name=name, axis=(0, 1, 0), parent_point=at, child_point=(0, 0, to),
                **more,
            )
        )  # fmt: skip
    return mech.finalize(0.01)


def fold(angle):
    """Size of coordinate c of a crank at an angle from the vertical, by the law of cosines."""
    across = np.hypot(GROUND - CRANK * np.sin(angle), CRANK * np.cos(angle))
    return np.arccos((COUPLER**2 + ROCKER**2 - across**2) / (2 * COUPLER * ROCKER))


def angle(model, state, name):
    return float(model.joint(state, name)[0].item())


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_mirrored_branch_is_put_right(floating, sign):
    limits = tuple(sorted((0.2 * sign, 3.1 * sign)))
    model = four_bar(limits, floating)
    state = model.initial_state()
    assert limits[0] <= angle(model, state, "c") <= limits[1]
    assert np.abs(model.constraint_violation(state)).max() < 1e-10
    dy.simulate(model, state, 0.1)  # does not refuse it

    before = state.data.copy()
    posed = model.assemble(state, {"a": 0.6})
    assert np.array_equal(state.data, before)
    assert angle(model, posed, "a") == pytest.approx(0.6, abs=1e-9)
    assert angle(model, posed, "c") == pytest.approx(sign * fold(0.6), abs=1e-9)


@pytest.mark.parametrize("floating", [False, True])
def test_assembling_from_the_wrong_branch_changes_over(floating):
    free, bound = four_bar((-3.1, 3.1), floating), four_bar((0.2, 3.1), floating)
    wrong = free.assemble(free.assemble(free.initial_state(), {"c": -1.5}), {"a": 0.6})
    assert angle(free, wrong, "c") == pytest.approx(-fold(0.6), abs=1e-9)

    put = bound.assemble(bound.state_of(wrong.data.copy()), {"a": 0.6})
    assert angle(bound, put, "c") == pytest.approx(fold(0.6), abs=1e-9)
    apart = dy.separate(bound, bound.state_of(wrong.data.copy()))
    assert angle(bound, apart, "c") >= 0.2 - 1e-9


def test_joints_that_are_given_may_be_beyond_and_others_are_named():
    model = four_bar((0.2, 3.1))
    posed = model.assemble(model.initial_state(), {"c": -1.5})
    assert angle(model, posed, "c") == pytest.approx(-1.5, abs=1e-9)

    never = four_bar((3.0, 3.1))  # the rocker would reach 3.1 m
    state = never.initial_state()
    assert np.abs(never.constraint_violation(state)).max() < 1e-10
    with pytest.raises(InconsistentStateError, match="'c' is .* beyond its limit"):
        dy.simulate(never, state, 0.1)
    with pytest.raises(InconsistentStateError, match="cannot be"):
        dy.separate(never, state)


def test_loops_that_close_at_0_alone_start_there():
    """Clipped to its limits the slide opens a loop that does not move: 0 is closed, and refused."""
    mech = dy.Mechanism()
    one = mech.add_body(dy.Box(0.1, 0.1, 0.1, mass=1.0), name="one")
    mech.add_joint(dy.Prismatic(mech.world, one, (0, 0, 1), name="up", limits=(0.5, 1.0)))
    mech.add_joint(dy.Fixed(mech.world, one, name="hold"))
    model = mech.finalize(0.01)

    state = model.initial_state()

    assert angle(model, state, "up") == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(InconsistentStateError, match="'up' is 5.00e-01 beyond its limit"):
        dy.simulate(model, state, 0.1)
