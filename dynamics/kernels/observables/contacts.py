"""Contacts of states: gaps, normals and rows N; momenta on closed contacts, N V >= 0 and T V = 0.

An interval ends before the impulses of the contacts at its end, so that the momentum of a body at
rest on the ground is that of half a step's fall. Its velocity is the nearest one (in energy) that
closed contacts allow: rows that would close further are held, and those of friction that sticks,
by stiff terms in the projection's matrix. Being a projection it never adds energy.

A compliant contact holds nothing: its force gamma acts for the half interval that is left, as that
of a stiff spring of stiffness 1 / C does in `observables.stiff_forces`.
"""

import math

from dynamics.kernels.base.jit import kernel, lazy
from dynamics.kernels.base.layout import (
    ACTIVE_AT,
    ARM_A_AT,
    ARM_B_AT,
    BLOCK,
    BLOCKS,
    BODIES,
    CONES,
    CONTACT_AT,
    CONTACT_CONSTANT_AT,
    CONTACT_FIELDS,
    CONTACT_KIND,
    CONTACT_PACE,
    CONTACT_SIZE,
    CONTACT_WORK,
    CONTACTS,
    DISTANCE_AT,
    ETA,
    FACETS,
    FREE_AT,
    FREE_BLOCKS_AT,
    FRICTION,
    GROUPS,
    K_AT,
    NORMAL_AT,
    OF_RATE,
    POSE,
    ROWS,
    SLACK,
    SLOPES,
    SLOT,
    SLOTS,
    SOFT_AT,
    SOFTNESS,
    SPEED_AT,
    STIFF_NUMBERS,
    T_AT,
    T_SIZE,
    TWIST,
    W_AT,
    A,
    B,
)
from dynamics.kernels.base.quaternion import load3
from dynamics.kernels.base.step_info import NEAREST_SIZE
from dynamics.kernels.contacts.condensation import add_contact_row, subtract_row
from dynamics.kernels.contacts.geometry import DRY_FRICTION, LIMITED, gap
from dynamics.kernels.contacts.linear_cone import strength
from dynamics.kernels.contacts.rows import (
    contact_rate,
    contact_rows,
    effective_mass,
    is_dry_friction,
    limit_row,
    list_all,
    point_row,
)
from dynamics.kernels.rows.poses import rotation_matrices
from dynamics.kernels.rows.rows import evaluate

#: Numbers of a contact that `nearest_points` gives: gap, normal, both arms, row N.
NEAREST_AND_ROW = NEAREST_SIZE + SLOPES
#: Stiffness of what holds a row, over its effective mass.
HELD = 1e7
#: How often rows may be held less stiffly, where links without mass leave pivots no digits.
WEAKER = 2
#: Speed, over its unit, below which what closes a gap is rounding.
CLOSING = 1e-9
#: Distance within which contacts act, over the unit of length.
CLOSE = 1e-9
#: Rounds that look for rows to hold.
ROUNDS = 8


@kernel
def nearest_points(plan, constant, states, pose, matrix, g, G, out):
    """out[k] <- (gap, normal, arms, N) of every contact at each state; 0 or 1 + k that failed."""
    n = plan[BODIES]
    for i in range(POSE):
        pose[POSE * n + i] = 0.0
    pose[POSE * n + 3] = 1.0
    for k in range(states.shape[0]):
        for i in range(POSE * n):
            pose[i] = states[k, i]
        rotation_matrices(n, pose, matrix)
        evaluate(plan, constant, 0, plan[GROUPS], pose, matrix, g, G)
        for i in range(plan[CONTACTS]):
            at = plan[CONTACT_AT] + i * CONTACT_FIELDS
            c = plan[CONTACT_CONSTANT_AT] + i * CONTACT_SIZE
            row = out[k, i]
            if plan[at + CONTACT_KIND] == DRY_FRICTION:
                row[DISTANCE_AT] = math.inf
                for j in range(NORMAL_AT, NEAREST_AND_ROW):
                    row[j] = 0.0
                continue
            if plan[at + CONTACT_KIND] == LIMITED:
                row[DISTANCE_AT] = limit_row(plan, constant, at, c, g, G, row, NEAREST_SIZE)
                if constant[c + OF_RATE] != 0.0:  # poses say nothing of it
                    row[DISTANCE_AT] = math.inf
                for j in range(NORMAL_AT, NEAREST_SIZE):
                    row[j] = 0.0
                continue
            if gap(plan, constant, at, c, pose, matrix, row) != 0:
                return 1 + k
            arm_a, arm_b = load3(row, ARM_A_AT), load3(row, ARM_B_AT)
            normal = load3(row, NORMAL_AT)
            point_row(
                matrix, plan[at + A], plan[at + B], arm_a, arm_b, normal, row, NEAREST_SIZE
            )  # fmt: skip
    return 0


@lazy("int")
def find_closed(plan, constant, h, every, node, found, state, contacts):
    """Rows of all contacts at the node, ACTIVE where the last interval closed them; a status.

    A contact is closed where its impulse is more than its velocity, and sticks where what is left
    of the cone is: strict complementarity, in impulses.
    """
    u = state[(POSE + TWIST) * plan[BODIES] : (POSE + 2 * TWIST) * plan[BODIES]]
    list_all(plan, contacts)
    reach = math.inf if every else CLOSE
    if contact_rows(plan, constant, h, node, u, reach, found, contacts) != 0:
        return 1
    first = (POSE + 3 * TWIST) * plan[BODIES] + plan[ROWS]
    length = state[first + plan[SLOTS]] if plan[STIFF_NUMBERS] > 0 else 0.0
    for k in range(plan[CONTACTS]):
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        w, slot = k * CONTACT_WORK, first + plan[at + SLOT]
        c = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
        rubbing, shut = is_dry_friction(plan, k), False
        if constant[c + OF_RATE] == 0.0:
            contacts[w + SPEED_AT] = 0.0  # only limits of rates hold another speed
        contacts[w + FREE_AT] = 0.0
        if rubbing:  # what it can take of an interval's half
            shut = state[slot] > 0.0
            contacts[w + FREE_AT] = 0.5 * h * constant[c + FRICTION]
        elif contacts[w + ACTIVE_AT] != 0.0:
            mass = effective_mass(plan, constant, at, contacts, w + W_AT)
            shut = h * state[slot] > mass * state[slot + SLACK]
        contacts[w + ACTIVE_AT] = 1.0 if shut else 0.0
        contacts[w + SOFT_AT] = 0.0
        for i in range(1 + 2 * plan[at + BLOCKS]):
            contacts[w + K_AT + i] = 0.0
        if not shut:
            continue
        if constant[c + SOFTNESS] > 0.0:  # the impulse that is left, and its slope
            slope = 0.25 * length * length / constant[c + SOFTNESS]
            contacts[w + SOFT_AT] = 0.5 * length * state[slot]
            contacts[w + K_AT] = min(slope, HELD * mass)
        for i in range(plan[at + BLOCKS]):
            q = slot + CONES + BLOCK * i
            spare = constant[c + FRICTION + i] * state[slot]
            spare -= strength(plan[at + FACETS] if i == 0 else 0, state[q], state[q + 1])
            for j in range(1 + 2 * i, 3 + 2 * i):
                if (i == 1 or rubbing) and j == 2 * i + 2:  # turning and rubbing have one row
                    continue
                mass = effective_mass(plan, constant, at, contacts, w + W_AT + SLOPES * j)
                if h * spare > mass * (state[q + ETA] ** 2 + state[q + ETA + 1] ** 2) ** 0.5:
                    contacts[w + K_AT + j] = HELD * mass
    return 0


@lazy("int")
def hold_more(plan, constant, x, contacts):
    """Hold the normals of closed contacts with N V < 0, let go those that pull; how many changed.

    Where the normals stay, friction beyond its cone is let go.
    """
    changed = 0
    for k in range(plan[CONTACTS]):
        w = k * CONTACT_WORK
        soft = constant[plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE + SOFTNESS] > 0.0
        if contacts[w + ACTIVE_AT] == 0.0 or soft:
            continue
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        speed = contacts[w + SPEED_AT] + contact_rate(plan, at, contacts, w + W_AT, x)
        pace = constant[plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE + CONTACT_PACE]
        if contacts[w + K_AT] == 0.0 and pace * speed < -CLOSING:
            mass = effective_mass(plan, constant, at, contacts, w + W_AT)
            contacts[w + K_AT] = HELD * mass
            changed += 1
        elif contacts[w + K_AT] > 0.0 and speed > 0.0:
            contacts[w + K_AT] = 0.0
            changed += 1
    if changed > 0:
        return changed
    for k in range(plan[CONTACTS]):
        w = k * CONTACT_WORK
        if contacts[w + ACTIVE_AT] == 0.0:
            continue
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        c = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
        push = contacts[w + SOFT_AT]
        push -= contacts[w + K_AT] * contact_rate(plan, at, contacts, w + W_AT, x)
        for i in range(plan[at + BLOCKS]):
            one = w + K_AT + 1 + 2 * i
            two = one + 1
            row = w + T_AT + T_SIZE * i
            along = contacts[one] * contact_rate(plan, at, contacts, row, x)
            across = contacts[two] * contact_rate(plan, at, contacts, row + SLOPES, x)
            most = constant[c + FRICTION + i] * max(push, 0.0) + contacts[w + FREE_AT]
            if strength(plan[at + FACETS] if i == 0 else 0, along, across) > most:
                contacts[one], contacts[two] = 0.0, 0.0
                changed += 1
    return changed


@lazy("None")
def weaken_holds(plan, contacts):
    """A hundredth of the stiffness of all rows that are held."""
    for k in range(plan[CONTACTS]):
        w = k * CONTACT_WORK
        if contacts[w + ACTIVE_AT] == 0.0:
            continue
        for i in range(1 + 2 * plan[plan[CONTACT_AT] + k * CONTACT_FIELDS + BLOCKS]):
            if i > 0 or contacts[w + SOFT_AT] == 0.0:
                contacts[w + K_AT + i] *= 0.01


@lazy("None")
def direct_sliding(plan, constant, state, contacts):
    """Friction over the push of a contact, along both rows of each block that slides; else 0."""
    first = (POSE + 3 * TWIST) * plan[BODIES] + plan[ROWS]
    for k in range(plan[CONTACTS]):
        at, w = plan[CONTACT_AT] + k * CONTACT_FIELDS, k * CONTACT_WORK
        if contacts[w + ACTIVE_AT] == 0.0:
            continue
        c = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
        for i in range(plan[at + BLOCKS]):
            q, one = first + plan[at + SLOT] + CONES + BLOCK * i, w + K_AT + 1 + 2 * i
            size = strength(plan[at + FACETS] if i == 0 else 0, state[q], state[q + 1])
            part = 0.0
            if contacts[one] == 0.0 and contacts[one + 1] == 0.0 and size > 0.0:
                part = (1.0 if is_dry_friction(plan, k) else constant[c + FRICTION + i]) / size
            for j in range(2):
                contacts[w + FREE_BLOCKS_AT + 2 * i + j] = part * state[q + j]


@lazy("None")
def add_sliding_rows(plan, contacts, values):
    """values <- values + K T^T N over the rows that slide, whose friction follows the push."""
    for k in range(plan[CONTACTS]):
        at, w = plan[CONTACT_AT] + k * CONTACT_FIELDS, k * CONTACT_WORK
        if contacts[w + ACTIVE_AT] == 0.0:
            continue
        for i in range(2 * plan[at + BLOCKS]):
            part = contacts[w + K_AT] * contacts[w + FREE_BLOCKS_AT + i]
            row = w + T_AT + SLOPES * i
            add_contact_row(plan, plan[BODIES], at, part, contacts, row, w + W_AT, values)


@lazy("None")
def subtract_sliding_rows(plan, x, contacts, r):
    """r <- r - K T^T N x, and the half of dry friction that momenta lack."""
    for k in range(plan[CONTACTS]):
        at, w = plan[CONTACT_AT] + k * CONTACT_FIELDS, k * CONTACT_WORK
        if contacts[w + ACTIVE_AT] == 0.0:
            continue
        push = contacts[w + FREE_AT] + contacts[w + SOFT_AT]
        push -= contacts[w + K_AT] * contact_rate(plan, at, contacts, w + W_AT, x)
        for i in range(2 * plan[at + BLOCKS]):
            part = -push * contacts[w + FREE_BLOCKS_AT + i]
            subtract_row(plan, plan[BODIES], at, contacts, w + T_AT + SLOPES * i, part, r)


@lazy("None")
def add_held_rows(plan, contacts, values):
    """values <- values + sum K w w^T over the rows that are held."""
    n = plan[BODIES]
    for k in range(plan[CONTACTS]):
        at, w = plan[CONTACT_AT] + k * CONTACT_FIELDS, k * CONTACT_WORK
        if contacts[w + ACTIVE_AT] == 0.0:
            continue
        for i in range(1 + 2 * plan[at + BLOCKS]):
            row = w + W_AT + SLOPES * i
            add_contact_row(plan, n, at, contacts[w + K_AT + i], contacts, row, row, values)


@lazy("None")
def subtract_held_rows(plan, x, contacts, r):
    """r <- r - sum K w w^T x, and the impulses that compliant contacts have left."""
    n = plan[BODIES]
    for k in range(plan[CONTACTS]):
        at, w = plan[CONTACT_AT] + k * CONTACT_FIELDS, k * CONTACT_WORK
        if contacts[w + ACTIVE_AT] == 0.0:
            continue
        for i in range(1 + 2 * plan[at + BLOCKS]):
            row = w + W_AT + SLOPES * i
            part = contacts[w + K_AT + i] * contact_rate(plan, at, contacts, row, x)
            if i == 0:
                part += contacts[w + K_AT] * contacts[w + SPEED_AT] - contacts[w + SOFT_AT]
            subtract_row(plan, n, at, contacts, row, part, r)
