"""Passes over the contacts in an iteration of the interior-point method, as few as there can be.

The numbers of the contacts of a large heap do not fit into the fast caches, so a pass costs mostly
what it loads.
"""

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import (
    AIM,
    BODIES,
    BODY_AT,
    BODY_SIZE,
    CONTACT_AT,
    CONTACT_CONSTANT_AT,
    CONTACT_FIELDS,
    CONTACT_SIZE,
    CONTACT_WORK,
    CORRECTED,
    COUNT,
    ENERGY,
    FIRST_MEAN,
    INERTIA,
    MASS,
    MASS_AT,
    MEAN,
    NEXT_AT,
    OF_PLANE,
    PLANE_DAMPING,
    PREDICTED,
    QUADRATIC,
    SLACK,
    SLOT,
    STEP_PART,
    A,
)
from dynamics.kernels.contacts.central_path import slide
from dynamics.kernels.contacts.condensation import (
    condense_contact,
    normal_step,
    step_of,
    take_step_of,
)
from dynamics.kernels.contacts.islands import contact_island, record_of
from dynamics.kernels.contacts.rows import acting_contact, acting_contacts, is_dry_friction

#: Mean gamma s over the last barrier, below which there is no more to predict. If all iterations
#: predict, heaps of 200 shapes take 2 times the factorizations.
ARRIVED = 1.5
#: Part of the way to a bound that a step may go. At 0.99, heaps of 5 and 200 shapes take 1.04 and
#: 1.13 times the factorizations.
CLOSEST = 0.95
#: Least gamma s after an iteration, over the barrier. Without it, dominoes take 2.6 times the
#: factorizations, heaps of 20 shapes 1.16 times.
CENTRED = 0.1
#: Levenberg-Marquardt damping of planes between bodies, over their own mass and inertia: its first
#: value, the power of the mean gamma s with which it falls, and that mean over the last barrier
#: below which there is none. Without it, heaps of 200 shapes take 1.6 times the factorizations.
FIRST_DAMPING, POWER, UNDAMPED = 100.0, 0.7, 30.0


@kernel
def unit_of(plan, constant, k):
    """Unit of energy of a contact."""
    return constant[plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE + ENERGY]


@kernel
def slot_of(plan, k):
    """First of the numbers of a contact."""
    return plan[plan[CONTACT_AT] + k * CONTACT_FIELDS + SLOT]


@kernel
def shorten(island, slot, most, c, dc, contacts):
    """Part of an island's step <- at most a part ``most`` of the way to the bounds of a contact."""
    for j in range(slot, slot + 2):
        if dc[j] < 0.0:
            part = -most * c[j] / dc[j]
            contacts[island + STEP_PART] = min(contacts[island + STEP_PART], part)


@kernel
def condense_without_barrier(plan, constant, h, least, first, u, c, contacts, r):
    """`condense` at the last barrier; mean gamma s, over units of energy, of islands; the largest.

    ``least`` is the last barrier, over the unit of energy. Islands get their damping, too, which
    begins with the ``first`` iteration.
    """
    for body in range(plan[BODIES]):
        record = record_of(plan, body)
        contacts[record + MEAN], contacts[record + COUNT] = 0.0, 0.0
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        unit = unit_of(plan, constant, k)
        if not is_dry_friction(plan, k):
            slot, island = slot_of(plan, k), contact_island(plan, contacts, k)
            contacts[island + MEAN] += c[slot] * c[slot + SLACK] / unit
            contacts[island + COUNT] += 1.0
        condense_contact(plan, constant, h, least * unit, 0.0, False, k, u, c, contacts, r)
    most = 0.0
    for body in range(plan[BODIES]):
        record = record_of(plan, body)
        mean = contacts[record + MEAN] / max(1.0, contacts[record + COUNT])
        if first:
            contacts[record + FIRST_MEAN] = mean
        contacts[record + MEAN], contacts[record + PLANE_DAMPING] = mean, 0.0
        if mean > UNDAMPED * least:
            part = min(1.0, mean / contacts[record + FIRST_MEAN])
            contacts[record + PLANE_DAMPING] = FIRST_DAMPING * part**POWER
        most = max(most, mean)
    return most


@kernel
def damp_planes(plan, constant, contacts, values):
    """values <- values + damping of planes between bodies, on their diagonal.

    They weigh so little that an undamped step turns them away from where gaps are linear. Solutions
    are the same: the residual has no such term.
    """
    before = -1
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        plane, damping = plan[at + A], contacts[contact_island(plan, contacts, k) + PLANE_DAMPING]
        if plan[at + OF_PLANE] == 0 or plane == before or damping == 0.0:
            continue
        before = plane  # the contacts of a plane follow each other
        to, c = plan[plan[BODY_AT] + plane], plane * BODY_SIZE
        for j in range(3):
            values[to + 7 * j] += damping * constant[c + MASS]
            values[to + 21 + 7 * j] += damping * constant[c + INERTIA + 4 * j]


@kernel
def predict(plan, constant, du, c, contacts, dc):
    """Step of gamma and s without barrier; mean gamma s of islands as far as bounds let it go.

    A part p of it leads to gamma s + p (gamma ds + s dgamma) + p^2 dgamma ds.
    """
    for body in range(plan[BODIES]):
        record = record_of(plan, body)
        contacts[record + STEP_PART] = 1.0
        contacts[record + PREDICTED], contacts[record + QUADRATIC] = 0.0, 0.0
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        normal_step(plan, k, NEXT_AT, du, contacts, dc)
        slot, island = slot_of(plan, k), contact_island(plan, contacts, k)
        shorten(island, slot, 1.0, c, dc, contacts)
        if not is_dry_friction(plan, k):
            dgamma, ds, unit = dc[slot], dc[slot + SLACK], unit_of(plan, constant, k)
            contacts[island + PREDICTED] += (c[slot] * ds + c[slot + SLACK] * dgamma) / unit
            contacts[island + QUADRATIC] += dgamma * ds / unit
    for body in range(plan[BODIES]):
        record = record_of(plan, body)
        part = contacts[record + STEP_PART] / max(1.0, contacts[record + COUNT])
        change = contacts[record + PREDICTED]
        change += contacts[record + STEP_PART] * contacts[record + QUADRATIC]
        contacts[record + PREDICTED] = contacts[record + MEAN] + part * change


@kernel
def choose_barriers(plan, least, contacts):
    """Next barrier of each island from the mean gamma s that a step without barrier leads to."""
    for body in range(plan[BODIES]):
        record = record_of(plan, body)
        now, then = contacts[record + MEAN], contacts[record + PREDICTED]
        if now > ARRIVED * least:
            contacts[record + AIM] = max(least, (max(then, 0.0) / now) ** 3 * now)
            contacts[record + CORRECTED] = 1.0
        else:
            contacts[record + AIM], contacts[record + CORRECTED] = least, 0.0


@kernel
def condense_aimed(plan, constant, h, least, dc, u, c, contacts, r):
    """`condense` at the barriers of islands, with the second order of gamma s along the step dc.

    See Mehrotra, SIAM J. Optim. 2, 1992: islands that are aimed at the last barrier have none.
    Without it, heaps take 1.12 to 1.19 times the factorizations.
    """
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        slot, island, second = slot_of(plan, k), contact_island(plan, contacts, k), 0.0
        if contacts[island + CORRECTED] != 0.0:
            second = dc[slot] * dc[slot + SLACK]
        kappa = max(least, contacts[island + AIM]) * unit_of(plan, constant, k)
        condense_contact(plan, constant, h, kappa, second, False, k, u, c, contacts, r)


@kernel
def bounded_steps(plan, du, c, contacts, dc):
    """Step of contacts; the part of each island's that bounds let it go, at most 1."""
    for body in range(plan[BODIES]):
        contacts[record_of(plan, body) + STEP_PART] = 1.0
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        step_of(plan, k, NEXT_AT, du, contacts, dc)
        shorten(contact_island(plan, contacts, k), slot_of(plan, k), CLOSEST, c, dc, contacts)


@kernel
def recentre(kappa, mass, slot, c):
    """Keep gamma s from falling far below the barrier: the smaller of both is lifted."""
    low = CENTRED * kappa
    if c[slot] * c[slot + SLACK] < low:
        if mass * c[slot + SLACK] < c[slot]:
            c[slot + SLACK] = low / c[slot]
        else:
            c[slot] = low / c[slot + SLACK]


@kernel
def advance(plan, constant, least, dc, u, contacts, c):
    """c <- c + part dc, then `recentre` and `slide` at the velocities after the step."""
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        take_step_of(plan, k, dc, contacts, c)
        unit, aim = unit_of(plan, constant, k), contacts[contact_island(plan, contacts, k) + AIM]
        if not is_dry_friction(plan, k):
            recentre(aim * unit, contacts[k * CONTACT_WORK + MASS_AT], slot_of(plan, k), c)
        slide(plan, constant, max(least, aim) * unit, k, u, c, contacts)
