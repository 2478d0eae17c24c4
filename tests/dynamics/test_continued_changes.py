"""First guess of velocities with contacts: changes go on if those before explain them."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.kernels.interval.predictor import part_of_change

BODIES = 3


@pytest.fixture(scope="module")
def tables():
    mechanism = dy.Mechanism()
    for k in range(BODIES):
        mechanism.add_body(dy.Sphere(0.1, mass=1.0 + k), name=k)
    return mechanism.finalize(0.01).tables


def part_after(tables, *velocities):
    """Part of the last change of three velocities that is to follow; the last one comes first."""
    u, *past = (np.array(one) for one in velocities)
    return part_of_change(tables.plan, tables.constant, u, (*past, np.zeros_like(u)))


def draw(seed):
    return np.random.default_rng(seed).normal(size=(2, 6 * BODIES))


@pytest.mark.parametrize("part", [0.25, 0.5, 1.0])
def test_changes_that_decay_by_a_factor_go_on(tables, part):
    start, change = draw(0)
    prev, now = start + change, start + change + part * change

    # velocities of at most 10, changes of about 1: errors of 1e-15 each
    assert part_after(tables, now, prev, start) == pytest.approx(part, abs=1e-13)


@pytest.mark.parametrize("part", [-1.0, 0.0])
def test_changes_that_turn_round_do_not_go_on(tables, part):
    start, change = draw(1)
    prev, now = start + change, start + change + part * change
    assert part_after(tables, now, prev, start) == 0.0


def test_an_impact_does_not_go_on(tables):
    start, change = draw(2)
    prev = start + 1e-3 * change
    now = prev.copy()
    now[2] += 1.0  # a jump that the change before does not explain
    assert part_after(tables, now, prev, start) == 0.0


def test_changes_that_grow_go_on_as_they_were(tables):
    # with a part of 1, (3 - 1)^2 of 3^2 are not explained, and (1.5 - 1)^2 of 1.5^2
    start, change = draw(3)
    prev = start + change
    assert part_after(tables, start + 4.0 * change, prev, start) == 0.0
    assert part_after(tables, start + 2.5 * change, prev, start) == 1.0


def test_bodies_at_rest_stay(tables):
    start, _ = draw(4)
    assert part_after(tables, start, start, start) == 0.0


def test_a_bounce_is_that_of_the_last_velocity_and_not_of_the_guess():
    # Newton's law, (2) of theory/contacts: N u = -e N u_before, while the guess falls by g h more
    mechanism, e = dy.Mechanism(), 0.5
    ball = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="ball", position=(0.0, 0.0, 0.6))
    mechanism.add_contact(ball, restitution=e)
    model = mechanism.finalize(0.01)
    state, before = model.initial_state(), 0.0
    for _ in range(60):
        state, info = model.step(state)
        now = float(state.interval_velocity[0, 2])
        if now > 0.0:
            break
        before = now
    assert info.intervals == 1
    assert before < -2.0  # from 0.5 m
    assert now == pytest.approx(-e * before, abs=1e-6)  # slack: barrier 5e-9 over the momentum
