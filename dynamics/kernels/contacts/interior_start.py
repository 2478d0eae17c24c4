"""Start of the interior-point method: contacts on their central path, the first barrier."""

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import (
    AIM,
    BARRIER_AT,
    BLOCK,
    BLOCK_MASS_AT,
    BLOCKS,
    BODIES,
    CONES,
    CONTACT_AT,
    CONTACT_CONSTANT_AT,
    CONTACT_FIELDS,
    CONTACT_SIZE,
    CONTACT_WORK,
    CONTACTS,
    ENERGY,
    ETA,
    ETA0,
    FACETS,
    LOST,
    MASS_AT,
    PHASE,
    SLACK,
    SLOPES,
    SLOT,
    T_AT,
    T_SIZE,
    W_AT,
)
from dynamics.kernels.contacts.central_path import cone_path
from dynamics.kernels.contacts.condensation import normal_error, numbers_of, sliding
from dynamics.kernels.contacts.islands import aim, contact_island, record_of
from dynamics.kernels.contacts.linear_cone import on_path, polygon_centre
from dynamics.kernels.contacts.rows import (
    acting_contact,
    acting_contacts,
    contact_rate,
    friction_of,
    is_dry_friction,
)

#: Part of the energy at a contact that a warm start begins from. From all of it, a driven half
#: cheetah takes 1.36 times the factorizations, 20 shapes at rest 1.22 times.
WARM = 0.001


@kernel
def expected(plan, constant, h, k, u, c, contacts):
    """(gap velocity if the force stays as it was, effective mass) of a contact at the guess."""
    at = plan[CONTACT_AT] + k * CONTACT_FIELDS
    speed = normal_error(plan, h, k, u, c, contacts) + c[plan[at + SLOT] + 1]
    return speed, contacts[k * CONTACT_WORK + MASS_AT]


@kernel
def first_barriers(plan, constant, h, cold, x, u_prev, c, contacts):
    """Own barriers of contacts <- the energy that is likely to change there.

    A warm start expects impacts where gaps would close, and elsewhere velocities to change as they
    did before; a cold one, that all motion at contacts ends, and takes the largest of each island.
    """
    for body in range(plan[BODIES]):
        contacts[record_of(plan, body) + AIM] = 0.0
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        w = k * CONTACT_WORK
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        rubbing = is_dry_friction(plan, k)
        mass = contacts[w + BLOCK_MASS_AT] if rubbing else contacts[w + MASS_AT]
        speed = c[plan[at + SLOT]] / mass if cold and not rubbing else 0.0
        for i in range(1 + 2 * plan[at + BLOCKS]):
            now = contact_rate(plan, at, contacts, w + W_AT + SLOPES * i, x)
            if not cold:
                now -= contact_rate(plan, at, contacts, w + W_AT + SLOPES * i, u_prev)
            speed = max(speed, abs(now))
        if not (cold or rubbing):  # test_a_height_after_an_impact_is_passed_when_newtons_law_says
            ahead, _ = expected(plan, constant, h, k, x, c, contacts)
            speed = max(speed, -ahead)
        contacts[w + BARRIER_AT] = mass * speed * speed
        p = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
        island, energy = contact_island(plan, contacts, k), mass * speed * speed
        contacts[island + AIM] = max(contacts[island + AIM], energy / constant[p + ENERGY])
    if cold:
        aim(plan, constant, AIM, contacts)


@kernel
def lower(plan, part, contacts):
    """Own barriers of contacts <- a part of them."""
    for nth in range(acting_contacts(plan, contacts)):
        contacts[acting_contact(plan, contacts, nth) * CONTACT_WORK + BARRIER_AT] *= part


@kernel
def centre(plan, constant, h, least, cold, u, c, contacts):
    """Numbers of every contact on its own central path: as if no other body felt its force.

    A warm start keeps what friction was, unless the guess says otherwise: barriers change from
    interval to interval. By the velocities alone, a humanoid that lies takes 2.1 times the
    factorizations, dominoes 1.7 times, a half cheetah at rest 1.26 times.
    """
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        w = k * CONTACT_WORK
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        p = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
        slot = plan[at + SLOT]
        kappa = max(least * constant[p + ENERGY], contacts[w + BARRIER_AT])
        if is_dry_friction(plan, k):
            c[slot + SLACK] = 1.0
        else:
            speed, mass = expected(plan, constant, h, k, u, c, contacts)
            # s = speed + (gamma - before) / mass, gamma s = kappa
            c[slot] = on_path(mass * kappa, c[slot] - mass * speed)
            c[slot + SLACK] = kappa / c[slot]
        for i in range(plan[at + BLOCKS]):
            q = slot + CONES + BLOCK * i
            head = friction_of(constant, contacts, p, w, i) * c[slot]
            one = contact_rate(plan, at, contacts, w + T_AT + T_SIZE * i, u)
            two = contact_rate(plan, at, contacts, w + T_AT + T_SIZE * i + SLOPES, u)
            if i == 0 and plan[at + FACETS] > 0:
                tail = slot + CONES + BLOCK * plan[at + BLOCKS]
                polygon_centre(plan[at + FACETS], head, kappa, one, two, c, q, tail)
                continue
            if not cold:
                mass = contacts[w + BLOCK_MASS_AT + i]
                c[q], c[q + 1], c[q + ETA0], c[q + ETA], c[q + ETA + 1] = cone_path(
                    head, kappa / head, mass, c[q] - mass * one, c[q + 1] - mass * two
                )
                continue
            heat, _ = sliding(kappa / head, one, two)
            c[q], c[q + 1] = -head * one / heat, -head * two / heat
            c[q + ETA0], c[q + ETA], c[q + ETA + 1] = heat, one, two


@kernel
def set_dry_friction(plan, h, spacing, c):
    """Gamma of dry friction: the interval, and half of it at the first node of a motion.

    Where lengths vary, ``spacing`` is half of the last interval and of this one; 0 elsewhere.
    """
    for k in range(plan[CONTACTS]):
        slot = plan[plan[CONTACT_AT] + k * CONTACT_FIELDS + SLOT]
        if is_dry_friction(plan, k):
            c[slot] = h if c[slot] > 0.0 else 0.5 * h
            if spacing > 0.0:
                c[slot] = spacing


@kernel
def clear_lost(plan, contacts, c):
    """C <- 0 of contacts in islands that are lost, but for what presses on dry friction."""
    for k in range(plan[CONTACTS]):
        if contacts[contact_island(plan, contacts, k) + PHASE] == LOST:
            at = plan[CONTACT_AT] + k * CONTACT_FIELDS
            slot = plan[at + SLOT]
            for j in range(1 if is_dry_friction(plan, k) else 0, numbers_of(plan, at)):
                c[slot + j] = 0.0
