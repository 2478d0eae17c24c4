"""Names of other programs: each raises AttributeError with the way here, and the way exists."""

import copy
import pickle
import re

import pytest

import dynamics as dy
from dynamics import elsewhere

WORDS = r"\b(dynamics|model|state|motion|kinematics|space|mechanism)\.(\w+)"


@pytest.fixture(scope="module")
def things():
    """An object of each kind, by the word that hints have for it."""
    model, state = dy.zoo.cart_pole()
    return {
        "dynamics": (dy, elsewhere.MODULE),
        "model": (model, elsewhere.MODEL),
        "state": (state, elsewhere.STATE),
        "motion": (dy.simulate(model, state, model.timestep), elsewhere.TRAJECTORY),
        "kinematics": (dy.Kinematics(model), elsewhere.KINEMATICS),
        "mechanism": (model.mechanism, elsewhere.MECHANISM),
        "space": (dy.JointSpace(model), elsewhere.JOINT_SPACE),
    }


def test_each_name_is_absent_and_its_error_says_what_to_use(things):
    for thing, ways in things.values():
        for name, way in ways.items():
            assert not hasattr(thing, name) and name not in dir(thing), name
            with pytest.raises(
                AttributeError, match=re.escape(f"no attribute {name!r}; use {way}")
            ):
                getattr(thing, name)


def test_all_that_hints_say_exists(things):
    for _, ways in things.values():
        for way in ways.values():
            found = re.findall(WORDS, way)
            assert found or "=" in way, way  # or an option
            for word, name in found:
                assert hasattr(things[word][0], name), way


def test_other_names_have_the_usual_error_and_objects_are_copied_as_before(things):
    model, state = things["model"][0], things["state"][0]
    with pytest.raises(AttributeError, match="^'Model' object has no attribute 'ask'$"):
        model.ask  # noqa: B018
    with pytest.raises(AttributeError):
        state.ctrl = 1.0
    for again in (copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert (again.data == state.data).all()
