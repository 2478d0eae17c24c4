"""Friction that does not settle: the barrier of contacts rises within an interval."""

import types

import numpy as np
import pytest

import dynamics as dy
from dynamics.kernels.base.settings import BARRIER, HIGHEST_BARRIER, SETTINGS_SIZE
from dynamics.kernels.error_control.step import choose_settings
from dynamics.model import HIGHER, SOFTER
from tests.dynamics.test_collide import SHAPES, heap

FRICTION = 0.5


@pytest.fixture(scope="module")
def steps():
    """Motions of a step each in which the barrier was raised, of five heaps that fall."""
    found = []
    for seed in range(5):
        model, state = heap(20, SHAPES, seed=seed, side=3, friction=FRICTION)
        for _ in range(100):
            start, (state, info) = state, model.step(state)
            if info.softening > 1.0:
                found.append((start, info, dy.simulate(model, start, 0.01)))
    return found


def test_steps_of_heaps_raise_it_and_report_it(steps):
    """By tens, from that of any set that the step is tried with."""
    raised = [factor * by for factor, _ in SOFTER for by in (1.0, 10.0, HIGHER)]
    assert steps
    for _, info, motion in steps:
        assert min(abs(np.log(info.softening / np.array(raised)))) < 1e-9
        assert motion.info["softened"] == 1


def test_nothing_overlaps_then_and_forces_are_in_their_cones(steps):
    """A settled friction force may be out of its cone by what `interior_residual.cycles` allows."""
    allowed = 1e-6 * 9.81  # of a body's weight
    for _, _, motion in steps:
        for name in motion.near_pairs:
            contact = motion.contact(name)
            assert contact.gap[-1].min() > 0.0
            if "floor" in str(name):
                most = FRICTION * contact.normal_force[-1]
                assert np.all(np.linalg.norm(contact.friction_force[-1], axis=-1) <= most + allowed)


def test_slopes_of_such_steps_are_numbers(steps):
    for start, _, motion in steps[:2]:
        A = dy.linearize(motion.model, start)[0]
        assert np.isfinite(A).all()


def test_pairs_of_intervals_of_an_accuracy_may_not_raise_it():
    model, _ = heap(1)
    own = types.SimpleNamespace(settings=np.zeros(SETTINGS_SIZE), goal=np.full(4, 1e-12))
    choose_settings.py_func(model.settings, 0, 0.5, own)
    assert 0.0 < own.settings[BARRIER] < model.settings[BARRIER]
    assert own.settings[HIGHEST_BARRIER] == own.settings[BARRIER]
