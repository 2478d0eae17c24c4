"""Heaps: where many contacts act between bodies, their barrier is larger from the start."""

import types

import numpy as np
import pytest

import dynamics as dy
from dynamics.kernels.base.settings import BARRIER, HEAP_BARRIER, SETTINGS_SIZE
from dynamics.kernels.contacts.interior_point import HEAP
from dynamics.kernels.error_control.step import choose_settings
from dynamics.model import IN_HEAPS
from tests.dynamics.test_collide import SHAPES, heap

SIDE, FRICTION = 0.2, 0.5
#: Corners of two cubes that touch their plane: four of the lower one, four of the upper one.
CORNERS = 8


def pairs_of_cubes(many, **options):
    """Pairs of cubes in a row, one cube 1e-6 m over the other."""
    mechanism = dy.Mechanism()
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    cube = dy.Box(SIDE, SIDE, SIDE, mass=1.0)
    for i in range(many):
        for level in range(2):
            at = (1.5 * SIDE * i, 0.0, (0.5 + level) * SIDE + (1 + level) * 1e-6)
            mechanism.add_body(cube, name=f"{i} {level}", position=at)
    mechanism.collide(friction=FRICTION)
    model = mechanism.finalize(0.01, **options)
    return model, model.initial_state()


@pytest.mark.parametrize(
    ("many", "over"), [(HEAP // CORNERS - 1, 1.0), (HEAP // CORNERS, IN_HEAPS)]
)
def test_the_barrier_is_larger_from_so_many_contacts_on(many, over):
    model, state = pairs_of_cubes(many)
    state, info = model.step(state)
    assert info.softening == 1.0  # no contact had a force before
    for _ in range(60):
        state, info = model.step(state)
    assert info.softening == pytest.approx(over, rel=1e-12)
    motion = dy.simulate(model, state, 0.01)
    weight = 9.81 / 4.0  # of a cube on one corner, N
    for pair in (("0 0", "0 1"), (f"{many - 1} 0", f"{many - 1} 1")):
        kappa = over * model.barrier("|".join(pair))
        z = [motion.body(name)[0][-1, 2] for name in pair]
        assert z[1] - z[0] - SIDE == pytest.approx(2.0 * kappa / weight, rel=0.01)


@pytest.fixture(scope="module")
def steps():
    """Single steps of a heap that falls, from the first with a larger barrier on."""
    model, state = heap(60, SHAPES, seed=1, side=4, friction=FRICTION)
    state, found = dy.separate(model, state), []
    for _ in range(90):
        start, (state, info) = state, model.step(state)
        if info.softening > 1.0:
            found.append((start, info, dy.simulate(model, start, 0.01)))
        if len(found) == 10:
            break
    return found


def test_steps_of_a_fall_report_it(steps):
    assert len(steps) == 10
    for _, info, motion in steps:
        assert info.softening >= IN_HEAPS * (1.0 - 1e-12)
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


def test_slopes_are_those_of_a_pair_alone_with_that_barrier():
    slopes = []
    for many, options in ((HEAP // CORNERS, {}), (1, {"barrier": IN_HEAPS * 5e-9})):
        model, state = pairs_of_cubes(many, **options)
        for _ in range(60):
            state, _ = model.step(state)
        slopes.append(dy.linearize(model, state)[0])
    n = len(slopes[1])
    np.testing.assert_allclose(slopes[0][:n, :n], slopes[1], atol=1e-6 * np.abs(slopes[1]).max())


def test_intervals_of_an_accuracy_have_one_barrier():
    model, _ = heap(1)
    own = types.SimpleNamespace(settings=np.zeros(SETTINGS_SIZE), goal=np.full(4, 1e-12))
    choose_settings.py_func(model.settings, 0, 0.5, own)
    assert 0.0 < own.settings[BARRIER] < model.settings[BARRIER]
    assert own.settings[HEAP_BARRIER] == own.settings[BARRIER]
