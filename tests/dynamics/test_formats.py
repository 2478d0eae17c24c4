"""One random mechanism as URDF, SDF and USD moves as the one that is made by hand."""

import importlib.util

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation

from . import robots, sdf, usd
from .format_families import Family

#: Sums of some ten products, and a motion of 50 steps that spreads them a hundredfold.
ROUNDING = 1e-11
#: Of quaternions in single precision, along chains of five bodies.
SINGLE = 2e-6


def moved(mechanism, family, backwards=()):
    """Poses of all bodies at joint coordinates, and after 0.1 s of motion: shape (2, n, 12)."""
    model = mechanism.finalize(timestep=2e-3)
    rng, state = np.random.default_rng(1), model.initial_state()
    for one in family.joints:
        if one.kind in ("revolute", "prismatic"):
            sense = -1.0 if one.name in backwards else 1.0
            q, rate = sense * rng.uniform(-0.1, 0.1), sense * rng.uniform(-1.0, 1.0)
            model.set_joint(state, one.name, q, rate)
    found = []
    for pose in (state.pose, dy.simulate(model, state, 0.1).final.pose):
        rows = [pose[model.body_number(one.name)] for one in family.bodies]
        found.append([[*x[:3], *rotation.to_matrix(x[3:]).ravel()] for x in rows])
    return np.array(found)


@pytest.mark.parametrize("seed", range(12))
def test_one_mechanism_in_all_formats_moves_the_same(tmp_path, seed):
    family = Family(seed)
    hand = family.by_hand()
    expected = moved(hand, family)

    text, frames = family.as_urdf()
    place = {} if family.is_fixed else vars_of(family.bodies[0].place)
    as_urdf = moved(robots.load(tmp_path, text, **place), family)
    for k, one in enumerate(family.bodies):  # along the axes of the same link
        R = as_urdf[:, k, 3:].reshape(2, 3, 3)
        back = rotation.to_matrix(frames[one.name].orientation).T
        as_urdf[:, k, 3:] = (R @ back).reshape(2, 9)
    np.testing.assert_allclose(as_urdf, expected, atol=ROUNDING)

    mech = sdf.load(tmp_path, family.as_sdf())
    np.testing.assert_allclose(moved(mech, family), expected, atol=ROUNDING)
    if importlib.util.find_spec("pxr") is None:
        return
    mech = usd.load(tmp_path, family.as_usd())
    backwards = {one.name for one in family.joints if one.swapped}
    np.testing.assert_allclose(moved(mech, family, backwards), expected, atol=SINGLE)
    for one in family.joints:
        limits, theirs = hand.joints[one.name].limits, mech.joints[one.name].limits
        assert (limits is None) == (theirs is None)
        if limits is not None:
            meant = -limits[:, ::-1] if one.swapped else limits
            np.testing.assert_allclose(theirs, meant, rtol=1e-6)


def vars_of(pose):
    """Options of `dynamics.load` for a place."""
    return {"position": pose.position, "orientation": pose.orientation}
