"""Leaves of contacts with the factors of the last iteration, where little is left to do.

On the central path only speeds are off: gap and s, T u and eta. So free steps are K times these,
with K as it is, and an iteration takes neither a new matrix nor new factors.
"""

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import (
    ACTIVE_AT,
    BLOCK,
    BLOCKS,
    BODIES,
    CONTACT_AT,
    CONTACT_FIELDS,
    CONTACT_WORK,
    CONTACTS,
    FREE_AT,
    K_AT,
    SLOT,
    W_AT,
)
from dynamics.kernels.contacts.condensation import normal_error, take
from dynamics.kernels.contacts.rows import rate


@kernel
def resume(plan, constant, h, u, c, contacts, r):
    """Free steps of every leaf by the K that `condense` left; r <- r - W^T (free steps)."""
    n = plan[BODIES]
    for k in range(plan[CONTACTS]):
        w = k * CONTACT_WORK
        if contacts[w + ACTIVE_AT] == 0.0:
            continue
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        slot = plan[at + SLOT]
        e = normal_error(plan, constant, h, k, u, c, contacts)
        contacts[w + FREE_AT] = -contacts[w + K_AT] * e
        take(plan, n, at, contacts, w + W_AT, contacts[w + FREE_AT], r)
        for i in range(plan[at + BLOCKS]):
            q, to = slot + 2 + BLOCK * i, w + W_AT + 12 + 24 * i
            one = rate(plan, at, contacts, to, u) - c[q + 3]
            two = rate(plan, at, contacts, to + 12, u) - c[q + 4]
            for j in range(2):
                place = w + K_AT + 1 + 6 * i
                free = contacts[place + j] * e
                place += 2 + 2 * j
                free += contacts[place] * one + contacts[place + 1] * two
                contacts[w + FREE_AT + 1 + 2 * i + j] = free
                take(plan, n, at, contacts, to + 12 * j, free, r)
