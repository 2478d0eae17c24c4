"""Derivatives of joint coordinates along a motion, as system identification needs them."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.studies.variation import carried

NUMBERS = [("upper", "mass"), ("elbow", "damping"), ("lower", "mass")]


def arm():
    """A ball joint and a hinge, with springs and dampers."""
    mech = dy.Mechanism()
    upper, lower = (
        mech.add_body(dy.Box(0.1, 0.15, 0.5, mass=1.0), name=name) for name in ("upper", "lower")
    )
    top, end = (0, 0, 0.25), (0, 0, -0.25)
    shoulder = {"stiffness": 0.7, "damping": 0.05, "child_point": top, "name": "shoulder"}
    mech.add_joint(dy.Cylindrical(mech.world, upper, (0, 1, 0), **shoulder))
    elbow = {"damping": 0.05, "parent_point": end, "child_point": top, "name": "elbow"}
    mech.add_joint(dy.Revolute(upper, lower, (1, 0, 0), **elbow))
    model = mech.finalize(0.005)
    state = model.initial_state()
    model.set_joint(state, "shoulder", [0.1, 0.6])
    model.set_joint(state, "elbow", 0.8)
    return model, state


def test_joint_sensitivities_are_those_of_differences():
    model, state = arm()
    found = dy.sensitivity(model, state, 0.5, NUMBERS)
    assert repr(found) == f"Sensitivity(3 parameters and directions, {found.motion!r})"
    for name, shape in (("shoulder", (101, 2, 3)), ("elbow", (101, 3))):
        slopes = found.joint(name)
        assert slopes.shape == shape
        for k, (part, what) in enumerate(NUMBERS):
            number = 0.05 if what == "damping" else 1.0
            up, down = (
                motion_of(model, state, {part: {what: number * factor}}).joint(name)
                for factor in (1.0001, 0.9999)
            )
            wanted = (up - down) / (2e-4 * number)
            # differences: 1e-8 of the curvature, and Newton's tolerance over the change
            np.testing.assert_allclose(
                slopes[..., k], wanted, atol=1e-6 * np.abs(wanted).max() + 1e-7
            )


def motion_of(model, state, parameters):
    """Motion under other numbers, which starts with the same velocities."""
    other = dy.variant(model, parameters)
    return dy.simulate(other, carried(model, state, other), 0.5)


def test_what_is_no_parameter_is_refused():
    model, state = arm()
    for wrong in ({"elbow": "damping"}, ("elbow", "damping")):
        with pytest.raises(TypeError, match=r"'elbow' is not a parameter: give a list of pairs"):
            dy.sensitivity(model, state, 0.1, wrong)
    with pytest.raises(ValueError, match="nothing to differentiate by: give parameters or start"):
        dy.sensitivity(model, state, 0.1)
    found = dy.sensitivity(model, state, 0.1, NUMBERS[:1])
    with pytest.raises(dy.UnknownNameError, match="there is no joint 'wrist' with coordinates"):
        found.joint("wrist")


@pytest.mark.parametrize("part", ["upper", "lower"])
def test_a_mass_that_changes_within_a_motion_keeps_its_velocities(part):
    """Momenta at a node lack half an interval of the joints' impulses, which the old mass set."""
    model, state = arm()
    state = dy.simulate(model, state, 0.1).final
    other = dy.variant(model, {part: {"mass": 1.5}})
    moved = carried(model, state, other)
    before, after = (one.velocities(x) for one, x in ((model, state), (other, moved)))
    np.testing.assert_allclose(after, before, atol=1e-10)  # to the solver's rounding

    found = dy.sensitivity(model, state, 0.03, [(part, "mass")]).joint("elbow")[:, 0]
    up, down = (
        dy.simulate(one, carried(model, state, one), 0.03).joint("elbow")
        for one in (dy.variant(model, {part: {"mass": 1.0 + e}}) for e in (1e-4, -1e-4))
    )
    wanted = (up - down) / 2e-4
    # differences: 1e-8 of the curvature, and Newton's tolerance of 5e-12 over the change
    np.testing.assert_allclose(found, wanted, atol=1e-6 * np.abs(wanted).max() + 1e-7)
