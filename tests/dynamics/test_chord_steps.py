"""Chord iterations of path Newton: contacts with the factors of the iteration before."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.kernels.base import layout
from dynamics.kernels.contacts.condensation import chord_steps, condense, sliding, steps_of

from .kernel_calls import with_list

H, BARRIER = 0.01, 5e-9


@pytest.mark.parametrize("gamma", [1e-6, 1e-2, 1.0])
@pytest.mark.parametrize("speed", [1e-9, 1e-3, 2.0])
def test_free_steps_on_the_path_are_those_of_new_factors(gamma, speed):
    mechanism = dy.Mechanism()
    ball = mechanism.add_body(dy.Sphere(0.25, mass=1.0), position=(0, 0, 0.3))
    mechanism.add_contact(ball, friction=0.5, torsional=0.01)
    model = mechanism.finalize(H)
    plan, constant = model.tables.plan, model.tables.constant
    kappa = BARRIER * constant[plan[layout.CONTACT_CONSTANT_AT] + layout.ENERGY]
    rng = np.random.default_rng(1)
    own = np.zeros(layout.CONTACT_WORK)
    own[: layout.GAP_AT] = rng.normal(size=layout.GAP_AT)
    own[layout.ACTIVE_AT], own[layout.MASS_AT : layout.MASS_AT + 4] = 1.0, 1.0
    own[layout.FRICTION_PART_AT] = 1.0
    s = kappa / gamma
    own[layout.GAP_AT] = H * (s + 1e-7)  # the speed at the gap is off by 1e-7
    u, c = rng.normal(size=6), np.zeros(plan[layout.SLOTS])
    c[0], c[1] = gamma, s
    p = plan[layout.CONTACT_CONSTANT_AT]
    for i in range(plan[plan[layout.CONTACT_AT] + layout.BLOCKS]):
        head = constant[p + layout.FRICTION + i] * gamma
        one, two = speed * np.array([0.6, 0.8 if i == 0 else 0.0])
        heat, _ = sliding(kappa / head, one, two)
        c[2 + 5 * i : 7 + 5 * i] = -head * one / heat, -head * two / heat, heat, one, two
    own, before = with_list(plan, own), np.zeros(6)
    condense(plan, constant, H, BARRIER, True, u, c, own, before)
    free = own[layout.FREE_AT : layout.FREE_AT + 5].copy()
    assert np.abs(free).max() > 0.0
    own[layout.FREE_AT : layout.FREE_AT + 5] = np.nan

    after = np.zeros(6)
    chord_steps(plan, constant, H, u, c, own, after)

    # what is left of gamma s - kappa and of the cone is rounding, over s or eta0
    rounding = 1e-12 * np.abs(own[layout.K_AT : layout.FREE_AT]).max()
    np.testing.assert_allclose(
        own[layout.FREE_AT : layout.FREE_AT + 5], free, rtol=1e-6, atol=rounding
    )
    np.testing.assert_allclose(after, before, rtol=1e-6, atol=10.0 * rounding)


def test_forces_change_with_the_rows_that_are_in_the_matrix():
    """Momenta stay balanced: d gamma = free - K N du with N of the factors, whatever N is now."""
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    mechanism.add_contact(mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="ball"), friction=0.0)
    model = mechanism.finalize(H)
    plan, constant = model.tables.plan, model.tables.constant
    rng = np.random.default_rng(2)
    own = np.zeros(layout.CONTACT_WORK)
    own[layout.W_AT : layout.W_AT + 12] = own[layout.NEXT_AT : layout.NEXT_AT + 12] = rng.normal(
        size=12
    )
    own[layout.ACTIVE_AT] = own[layout.MASS_AT] = 1.0
    c, u = np.zeros(plan[layout.SLOTS]), rng.normal(size=6)
    c[:2] = 2.0, 1e-3
    own = with_list(plan, own)
    condense(plan, constant, H, BARRIER, True, u, c, own, np.zeros(6))
    factored = own[layout.NEXT_AT : layout.NEXT_AT + 12].copy()
    own[layout.NEXT_AT : layout.NEXT_AT + 12] += 1e-3  # of another iterate
    chord_steps(plan, constant, H, u, c, own, np.zeros(6))

    du, dc = rng.normal(size=6), np.zeros_like(c)
    steps_of(plan, layout.FACTORED_AT, du, own, dc)
    normal = factored[6:] @ du  # the ball is the second body of the contact, the world the first
    assert own[layout.K_AT] > 0.0
    np.testing.assert_allclose(dc[0], own[layout.FREE_AT] - own[layout.K_AT] * normal, rtol=1e-14)
