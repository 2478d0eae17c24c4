"""Interior-point method: what a step without barrier predicts, how far bounds let a step go."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.kernels.base import layout
from dynamics.kernels.contacts import interior_passes, islands

from .kernel_calls import with_list


def two_islands(rng):
    """Two boxes on the ground, each an island of its own, with numbers of their contacts."""
    mech = dy.Mechanism()
    for k in range(2):
        box = mech.add_body(dy.Box(0.3, 0.2, 0.1, mass=1.0 + k), position=(k, 0, 0.2))
        mech.add_contact(box, friction=0.0)
    plan, constant = mech.finalize(0.01).tables.plan, mech.finalize(0.01).tables.constant
    m = int(plan[layout.CONTACTS])
    contacts = np.zeros((m, layout.CONTACT_WORK))
    contacts[:, : layout.GAP_AT] = rng.normal(size=(m, layout.GAP_AT))
    contacts[:, layout.ACTIVE_AT] = contacts[:, layout.MASS_AT] = 1.0
    contacts[:, layout.GAP_AT] = rng.uniform(size=m)
    work = with_list(plan, contacts.ravel())
    islands.find_islands(plan, work)
    return plan, constant, work, rng.uniform(0.1, 1.0, int(plan[layout.SLOTS]))


def test_a_part_of_a_step_without_barrier_leads_to_the_predicted_mean():
    rng = np.random.default_rng(1)
    plan, constant, work, c = two_islands(rng)
    u, du, dc = rng.normal(size=12), rng.normal(size=12), np.zeros_like(c)
    r, h, least = np.zeros(12), 0.01, 1e-9
    most = interior_passes.condense_without_barrier(plan, constant, h, least, True, u, c, work, r)
    interior_passes.predict(plan, constant, du, c, work, dc)

    m = int(plan[layout.CONTACTS])
    unit = constant[
        plan[layout.CONTACT_CONSTANT_AT] + layout.CONTACT_SIZE * np.arange(m) + layout.ENERGY
    ]
    pairs, steps, means = c.reshape(m, 2), dc.reshape(m, 2), []
    for body in range(2):
        at = islands.record_of(plan, body)
        own = np.arange(m) // (m // 2) == body
        falls = steps[own] < 0.0
        part = min(1.0, (-pairs[own][falls] / steps[own][falls]).min())
        assert 0.0 < part < 1.0
        assert work[at + layout.STEP_PART] == pytest.approx(part, rel=1e-14)
        for place, pair in (
            (layout.MEAN, pairs[own]),
            (layout.PREDICTED, pairs[own] + part * steps[own]),
        ):
            expected = (pair.prod(axis=1) / unit[own]).mean()
            assert work[at + place] == pytest.approx(expected, rel=1e-12)
        means.append(work[at + layout.MEAN])
    assert most == max(means)


def test_steps_stop_short_of_the_nearest_bound_of_each_island():
    rng = np.random.default_rng(2)
    plan, constant, work, c = two_islands(rng)
    u, du, dc = rng.normal(size=12), rng.normal(size=12), np.zeros_like(c)
    interior_passes.condense_without_barrier(
        plan, constant, 0.01, 1e-9, True, u, c, work, np.zeros(12)
    )
    for body, aim in ((0, 1.0), (1, 0.02)):
        work[islands.record_of(plan, body) + layout.AIM] = aim
    interior_passes.bounded_steps(plan, du, c, work, dc)
    before = c.copy()
    interior_passes.advance(plan, constant, 1e-9, dc, u, work, c)

    slots, first = len(c) // 2, plan[layout.CONTACT_CONSTANT_AT] + layout.ENERGY
    for body in range(2):
        part = work[islands.record_of(plan, body) + layout.STEP_PART]
        own = slice(body * slots, (body + 1) * slots)
        reached = before[own] + part * dc[own]
        assert (reached / before[own]).min() == pytest.approx(1.0 - interior_passes.CLOSEST)
        low = interior_passes.CENTRED * work[islands.record_of(plan, body) + layout.AIM]
        unit = constant[first + layout.CONTACT_SIZE * (body * slots // 2)]
        products = c[own].reshape(-1, 2).prod(axis=1)
        assert (products >= low * unit * (1.0 - 1e-12)).all()


def test_planes_are_damped_until_the_barrier_has_fallen():
    mech = dy.Mechanism()
    low = mech.add_body(dy.Box(0.3, 0.2, 0.1, mass=2.0))
    high = mech.add_body(dy.Box(0.2, 0.2, 0.2, mass=1.0), position=(0, 0, 0.2))
    mech.add_contact(low, high, friction=0.0, name="pair")
    model = mech.finalize(0.01)
    plan, constant = model.tables.plan, model.tables.constant
    m, plane = int(plan[layout.CONTACTS]), model.tables.body_index["pair plane"]
    contacts = np.zeros((m, layout.CONTACT_WORK))
    contacts[:, layout.ACTIVE_AT] = contacts[:, layout.MASS_AT] = 1.0
    work = with_list(plan, contacts.ravel())
    islands.find_islands(plan, work)
    at = islands.record_of(plan, int(work[islands.record_of(plan, plane) + layout.ISLAND]))
    c, u, least = np.ones(int(plan[layout.SLOTS])), np.zeros(18), 1e-9
    c[1::2] = constant[plan[layout.CONTACT_CONSTANT_AT] + layout.ENERGY]  # mean gamma s 1
    place = plan[plan[layout.BODY_AT] + plane]
    own = constant[plane * layout.BODY_SIZE :][: layout.BODY_SIZE]
    inertia = own[layout.INERTIA : layout.INERTIA + 9].reshape(3, 3)
    expected = np.append(np.full(3, own[layout.MASS]), inertia.diagonal())

    for mean, part in ((1.0, 1.0), (1e-3, 1e-3**interior_passes.POWER), (2e-8, 0.0), (5.0, 1.0)):
        c[::2] = mean
        interior_passes.condense_without_barrier(
            plan, constant, 0.01, least, mean == 1.0, u, c, work, np.zeros(18)
        )
        assert work[at + layout.MEAN] == pytest.approx(mean, rel=1e-12)
        values = np.zeros(36 * len(model.bodies) ** 2)  # room for every block
        interior_passes.damp_planes(plan, constant, work, values)
        block = values[place : place + 36].reshape(6, 6)
        damping = interior_passes.FIRST_DAMPING * part
        np.testing.assert_allclose(block.diagonal(), damping * expected, rtol=1e-9)
        assert np.count_nonzero(values) == (6 if damping else 0)
