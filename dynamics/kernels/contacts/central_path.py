"""Every contact on its central path: how an iterate of `path_newton` is made.

A Newton step leaves gamma and the normal speed, beta and T u. Each pair is replaced by the point
of the central path at which gamma - m s, or beta - m eta, is the same, with m the effective mass:
whether a contact opens or closes, sticks or slides, is decided anew in every iteration, and nothing
stops on the way (Robinson's normal map of the contact laws, smoothed by the barrier).
"""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import (
    BARRIER_AT,
    BLOCK,
    BLOCK_MASS_AT,
    BLOCKS,
    CONES,
    CONTACT_AT,
    CONTACT_CONSTANT_AT,
    CONTACT_FIELDS,
    CONTACT_SIZE,
    CONTACT_WORK,
    ENERGY,
    ETA,
    ETA0,
    FACETS,
    MASS_AT,
    SLACK,
    SLOPES,
    SLOT,
    T_AT,
    T_SIZE,
)
from dynamics.kernels.contacts.condensation import normal_error, sliding
from dynamics.kernels.contacts.linear_cone import on_path, polygon_path
from dynamics.kernels.contacts.rows import (
    acting_contact,
    acting_contacts,
    contact_rate,
    friction_of,
    is_dry_friction,
)


@kernel
def cone_path(head, ratio, mass, z0, z1):
    """(beta, eta0, eta) of the central path with beta - mass eta = z, ratio = kappa / head."""
    size = math.sqrt(z0 * z0 + z1 * z1)
    if size == 0.0:
        return 0.0, 0.0, ratio, 0.0, 0.0
    # speed t with head t / eta0(t) + mass t = size, concave: Newton's method from where beta alone
    # would lead, after the first step from below; d(t / eta0) / dt = ratio / (eta0^2 + t^2)
    least = max((size - head) / mass, size / (head / ratio + mass))
    room = head * head - size * size
    t = max(least, ratio * size * head / room) if room > 0.0 else least
    for _ in range(50):
        heat, _ = sliding(ratio, t, 0.0)
        both = heat * heat + t * t
        lack = (size - mass * t) * heat - head * t
        step = lack * both / (heat * (head * ratio + mass * both))
        t = max(least, t + step)
        if abs(step) <= 1e-6 * t:  # the next would be its square
            break
    heat, _ = sliding(ratio, t, 0.0)
    x, y = -t * z0 / size, -t * z1 / size
    return -head * x / heat, -head * y / heat, heat, x, y


@kernel
def follow(plan, constant, h, least, u, c, contacts):
    """Every contact <- the point of its central path that its forces and velocities lead to."""
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        w = k * CONTACT_WORK
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        p = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
        slot = plan[at + SLOT]
        kappa = max(least * constant[p + ENERGY], contacts[w + BARRIER_AT])
        if not is_dry_friction(plan, k):
            speed = normal_error(plan, h, k, u, c, contacts) + c[slot + SLACK]
            mass = contacts[w + MASS_AT]
            c[slot] = on_path(mass * kappa, c[slot] - mass * speed)
            c[slot + SLACK] = kappa / c[slot]
        for i in range(plan[at + BLOCKS]):
            q = slot + CONES + BLOCK * i
            to = w + T_AT + T_SIZE * i
            x, y = (
                contact_rate(plan, at, contacts, to, u),
                contact_rate(plan, at, contacts, to + SLOPES, u),
            )
            mass = contacts[w + BLOCK_MASS_AT + i]
            head = friction_of(constant, contacts, p, w, i) * c[slot]
            z0, z1 = c[q] - mass * x, c[q + 1] - mass * y
            if i == 0 and plan[at + FACETS] > 0:
                tail = slot + CONES + BLOCK * plan[at + BLOCKS]
                polygon_path(plan[at + FACETS], head, kappa, mass, z0, z1, c, q, tail)
            else:
                c[q], c[q + 1], c[q + ETA0], c[q + ETA], c[q + ETA + 1] = cone_path(
                    head, kappa / head, mass, z0, z1
                )


@kernel
def slide(plan, constant, kappa, k, u, c, contacts):
    """`follow` of one contact for `interior_point`: eta <- T u, eta0 on the path.

    Linearized cones as there.
    """
    w, at = k * CONTACT_WORK, plan[CONTACT_AT] + k * CONTACT_FIELDS
    p, slot = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE, plan[at + SLOT]
    for i in range(plan[at + BLOCKS]):
        q = slot + CONES + BLOCK * i
        to = w + T_AT + T_SIZE * i
        x, y = (
            contact_rate(plan, at, contacts, to, u),
            contact_rate(plan, at, contacts, to + SLOPES, u),
        )
        head = friction_of(constant, contacts, p, w, i) * c[slot]
        if i == 0 and plan[at + FACETS] > 0:
            mass = contacts[w + BLOCK_MASS_AT + i]
            z0, z1 = c[q] - mass * x, c[q + 1] - mass * y
            tail = slot + CONES + BLOCK * plan[at + BLOCKS]
            polygon_path(plan[at + FACETS], head, kappa, mass, z0, z1, c, q, tail)
        else:
            heat, _ = sliding(kappa / head, x, y)
            c[q + ETA0], c[q + ETA], c[q + ETA + 1] = heat, x, y
