"""Contacts of intervals whose lengths vary: impacts and friction that do not depend on a length.

See theory/error_control.
"""

from dynamics.kernels.base.jit import lazy, pointer
from dynamics.kernels.base.layout import (
    ACTIVE_AT,
    BLOCK,
    BLOCKS,
    BODIES,
    CONES,
    CONTACT_AT,
    CONTACT_CONSTANT_AT,
    CONTACT_FIELDS,
    CONTACT_SIZE,
    CONTACT_WORK,
    CONTACTS,
    FALL,
    GAP_AT,
    NEXT_AT,
    OF_PLANE,
    SLOPES,
    SLOT,
    SOFTNESS,
    SPEED_AT,
    TWIST,
    W_AT,
    A,
    B,
)
from dynamics.kernels.base.quaternion import multiply_matrix
from dynamics.kernels.contacts.geometry import TINY
from dynamics.kernels.contacts.islands import record_of
from dynamics.kernels.contacts.rows import (
    FALLS,
    acting_contact,
    acting_contacts,
    contact_rate,
    friction_rows,
    is_dry_friction,
    normal_row,
)
from dynamics.kernels.rows.poses import move
from dynamics.kernels.rows.rows import turned_back


@lazy("None")
def stop_impacts(plan, constant, h, u, contacts):
    """Plastic impacts <- those of velocities, N u = s, as Newton's law has it for e = 0.

    A gap that closes at the end of an interval would leave a part of the impact to the next one.
    """
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        at, w = plan[CONTACT_AT] + k * CONTACT_FIELDS, k * CONTACT_WORK
        c = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
        free = contacts[w + ACTIVE_AT] == 1.0 and contacts[w + SPEED_AT] == 0.0
        if free and plan[at + OF_PLANE] == 0 and constant[c + SOFTNESS] == 0.0:
            approaching = contact_rate(plan, at, contacts, w + W_AT, u)
            if contacts[w + GAP_AT] + h * approaching < 0.0:
                if approaching < -FALLS * h * constant[c + FALL]:
                    contacts[w + SPEED_AT] = TINY


@lazy("None")
def centre_friction(plan, constant, h, node, u, trial, found, contacts):
    """Rows T of active contacts <- those in the middle of the interval, at velocities u.

    T u = 0 at the start would leave a drift of order h, which differs where lengths vary. ``trial``
    is changed. See `friction_arms`.
    """
    move(plan[BODIES], 0.5 * h, node.pose, u, trial.pose, trial.matrix)
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        at, w = plan[CONTACT_AT] + k * CONTACT_FIELDS, k * CONTACT_WORK
        if contacts[w + ACTIVE_AT] == 0.0 or plan[at + BLOCKS] == 0 or is_dry_friction(plan, k):
            continue
        if not normal_row(plan, constant, k, trial, found, contacts, w + NEXT_AT)[1]:
            friction_rows(plan, k, trial, 0.0, found, contacts, w + W_AT)


@lazy("None")
def friction_arms(plan, constant, h, node, c, trial, found, contacts, p):
    """p <- p + (T - T_mid)^T beta of forces over h: impulses act where the interval starts.

    Their part in the velocities of the interval has an error of order h^2, as `centre_friction`
    left T_mid.
    """
    rows = pointer(contacts, record_of(plan, plan[BODIES]))  # of `delassus`
    for k in range(plan[CONTACTS]):
        at, w = plan[CONTACT_AT] + k * CONTACT_FIELDS, k * CONTACT_WORK
        if contacts[w + ACTIVE_AT] == 0.0 or plan[at + BLOCKS] == 0 or is_dry_friction(plan, k):
            continue
        if normal_row(plan, constant, k, node, found, rows, 0)[1]:
            continue
        friction_rows(plan, k, node, 0.0, found, rows, 0)
        for i in range(2 * plan[at + BLOCKS]):
            push = h * c[plan[at + SLOT] + CONES + BLOCK * (i >> 1) + (i & 1)]
            for side in range(2):
                body = plan[at + B] if side == 1 else plan[at + A]
                if body == plan[BODIES]:
                    continue
                to = SLOPES * (1 + i) + TWIST * side
                d = w + W_AT + to
                for j in range(3):
                    p[TWIST * body + j] += push * (rows[to + j] - contacts[d + j])
                left = (
                    push * (rows[to + 3] - contacts[d + 3]),
                    push * (rows[to + 4] - contacts[d + 4]),
                    push * (rows[to + 5] - contacts[d + 5]),
                )
                turn = turned_back(
                    trial.matrix, 9 * body, multiply_matrix(node.matrix, 9 * body, left)
                )
                for j in range(3):
                    p[TWIST * body + 3 + j] += turn[j]
