"""Contacts in the derivative of an interval, condensed for many right-hand sides.

At the converged barrier the equations theory/contacts (1) to (5) are smooth. Along a direction its
residuals change by those of `contact_changes`. The condensation is that of
`contacts.condensation`, so one factorization serves all directions.
"""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import (
    ACTIVE_AT,
    BLOCK,
    BLOCKS,
    BODIES,
    CONES,
    CONTACT_AT,
    CONTACT_CONSTANT_AT,
    CONTACT_FIELDS,
    CONTACT_KIND,
    CONTACT_LENGTH,
    CONTACT_SIZE,
    CONTACT_WORK,
    CONTACTS,
    ETA,
    ETA0,
    FACETS,
    FIRST_ROW,
    FRICTION,
    GROUP_AT,
    GROUP_FIELDS,
    JOINTS,
    LIMITED_ROW,
    N_ROWS,
    NEXT_AT,
    NORMAL_AT,
    POSE,
    RESTITUTION,
    ROWS,
    SIGN,
    SLACK,
    SLOPES,
    SLOT,
    SLOTS,
    SPEED_AT,
    T_AT,
    T_SIZE,
    TWIST,
    W_AT,
    A,
    B,
)
from dynamics.kernels.contacts.condensation import (
    cone_errors,
    friction_law,
    normal_error,
    softness,
    subtract_row,
)
from dynamics.kernels.contacts.geometry import LIMITED
from dynamics.kernels.contacts.linear_cone import polygon_law
from dynamics.kernels.contacts.rows import contact_rate, friction_rows, is_dry_friction, normal_row
from dynamics.kernels.rows.curvature import STEP, hessian, nudge
from dynamics.kernels.rows.poses import rotation_matrix

#: Numbers of W of a contact, and rows of `bends`: W u, then N u_before.
W_SIZE, BENDS = NEXT_AT - W_AT, 8


@kernel
def by_limit(plan, constant, k, node, work, H, out):
    """out[84 j + i] <- d N_i / d z_j of a limit, or d T_i / d z_j of dry friction of a row."""
    at = plan[CONTACT_AT] + k * CONTACT_FIELDS
    row, group = plan[at + LIMITED_ROW], plan[JOINTS]
    while True:
        first = plan[GROUP_AT] + group * GROUP_FIELDS
        if row < plan[first + FIRST_ROW] + plan[first + N_ROWS]:
            break
        group += 1
    hessian(plan, constant, group, row, node.pose, node.matrix, work, H)
    sign = constant[plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE + SIGN]
    for j in range(12):
        for i in range(12):
            if is_dry_friction(plan, k):
                out[W_SIZE * j + i], out[W_SIZE * j + 2 * SLOPES + i] = 0.0, 0.0
                out[W_SIZE * j + SLOPES + i] = H[SLOPES * j + i]
            else:
                out[W_SIZE * j + i] = sign * H[SLOPES * j + i]


@kernel
def row_slopes(plan, constant, k, node, found, kept, row, work, H, out):
    """out[84 j + i] <- d W_i / d z_j, z = (x_a, theta_a, x_b, theta_b), W's rows one after another.

    By central differences of the rows, but for limits. The node is as it was afterwards.
    """
    at = plan[CONTACT_AT] + k * CONTACT_FIELDS
    if plan[at + CONTACT_KIND] == LIMITED or is_dry_friction(plan, k):
        by_limit(plan, constant, k, node, work, H, out)
        return
    pose, matrix = node.pose, node.matrix
    normal_row(plan, constant, k, node, found, row, 0)
    sign = math.copysign(1.0, found[NORMAL_AT + 2])  # of all normals, so that no tangent jumps
    size = SLOPES * (1 + 2 * plan[at + BLOCKS])
    for j in range(12):
        body = plan[at + A] if j < 6 else plan[at + B]
        if body == plan[BODIES]:
            for i in range(size):
                out[W_SIZE * j + i] = 0.0
            continue
        step = STEP
        if j % 6 < 3:
            step *= constant[plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE + CONTACT_LENGTH]
        for i in range(POSE):
            kept[i] = pose[POSE * body + i]
        for side in (1.0, -1.0):
            nudge(pose, POSE * body, j % 6, side * step)
            rotation_matrix(pose, POSE * body + 3, matrix, 9 * body)
            normal_row(plan, constant, k, node, found, row, 0)
            friction_rows(plan, k, node, sign, found, row, 0)
            for i in range(size):
                if side > 0.0:
                    out[W_SIZE * j + i] = row[i]
                else:
                    out[W_SIZE * j + i] = (out[W_SIZE * j + i] - row[i]) / (2.0 * step)
            for i in range(POSE):
                pose[POSE * body + i] = kept[i]
        rotation_matrix(pose, POSE * body + 3, matrix, 9 * body)


@kernel
def two_ends(plan, at, u, e):
    """Entry e of (u_a, u_b), 0 for the world."""
    body = plan[at + A] if e < 6 else plan[at + B]
    return u[TWIST * body + e % 6] if body < plan[BODIES] else 0.0


@kernel
def contracted(plan, at, slot, solution, turned, push, bends):
    """push[12 j + i] <- d (W^T lambda)_i / d z_j; bends[8 j + row] <- d (W u)_row / d z_j.

    The last of the bends is that of N u_before.
    """
    x, before, c = solution.x, solution.before, solution.c
    blocks = plan[at + BLOCKS]
    for j in range(12):
        for i in range(12):
            total = c[slot] * turned[W_SIZE * j + i]
            for k in range(2 * blocks):
                force = c[slot + CONES + BLOCK * (k // 2) + k % 2]
                total += force * turned[W_SIZE * j + SLOPES * (k + 1) + i]
            push[SLOPES * j + i] = total
        for row in range(BENDS):
            bends[BENDS * j + row] = 0.0
        for e in range(12):
            one, two = two_ends(plan, at, x, e), two_ends(plan, at, before, e)
            for row in range(1 + 2 * blocks):
                bends[BENDS * j + row] += turned[W_SIZE * j + SLOPES * row + e] * one
            bends[BENDS * j + BENDS - 1] += turned[W_SIZE * j + e] * two


@kernel
def contact_errors(plan, constant, h, x, c, contacts, out):
    """out[slot] <- residuals of every contact, in the places of its numbers; 0 for gamma s."""
    for k in range(plan[CONTACTS]):
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        p = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
        w, slot = k * CONTACT_WORK, plan[at + SLOT]
        out[slot], out[slot + SLACK] = 0.0, 0.0
        active = contacts[w + ACTIVE_AT] != 0.0
        if active:
            out[slot] = normal_error(plan, h, k, x, c, contacts)
        for i in range(plan[at + BLOCKS]):
            q, to = slot + CONES + BLOCK * i, w + T_AT + T_SIZE * i
            for j in range(BLOCK):
                out[q + j] = 0.0
            if active:
                out[q] = c[q + ETA] - contact_rate(plan, at, contacts, to, x)
                out[q + 1] = c[q + ETA + 1] - contact_rate(plan, at, contacts, to + SLOPES, x)
                head = constant[p + FRICTION + i] * c[slot]
                if i == 0 and plan[at + FACETS] > 0:
                    out[q + ETA0] = head  # less the sum of b_i and s, which stay
                else:
                    out[q + ETA0], out[q + ETA], out[q + ETA + 1] = cone_errors(head, c, q, 0.0)


@kernel
def contact_changes(
    # Tables:
    plan,
    constant,
    # In:
    h,
    solution,
    nodes,
    contacts,
    directions,
    carried,
    # Work:
    curvature,
    touch,
    # Out:
    changes,
    b,
):  # fmt: skip
    """Changes <- + of every contact's residuals along directions, x fixed; b <- b + d(W^T) lambda.

    ``carried`` are the directions at the interval's end. Impacts depend on the velocities before.
    """
    node, trial = nodes
    n, dz, dbefore = plan[BODIES], directions.dz, directions.dbefore
    unknowns, columns = TWIST * n + plan[ROWS], dz.shape[0]
    turned, push, bends, row = touch.slopes, touch.push, touch.bends, touch.row
    work, H = curvature.work, curvature.H
    for k in range(plan[CONTACTS]):
        w = k * CONTACT_WORK
        if contacts[w + ACTIVE_AT] == 0.0:
            continue
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        bounce = constant[plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE + RESTITUTION]
        impact = contacts[w + SPEED_AT] != 0.0
        row_slopes(plan, constant, k, node, touch.nearest, touch.pose, row, work, H, turned)
        contracted(plan, at, plan[at + SLOT], solution, turned, push, bends)
        normal_row(plan, constant, k, trial, touch.nearest, row, 0)
        for col in range(columns):
            to = col * plan[SLOTS] + plan[at + SLOT]
            if impact:
                changes[to] += bounce * contact_rate(plan, at, contacts, w + W_AT, dbefore[col])
            else:
                changes[to] += contact_rate(plan, at, row, 0, carried[col]) / h
            for j in range(12):
                body = plan[at + A] if j < 6 else plan[at + B]
                if body == n:
                    continue
                way = dz[col, TWIST * body + j % 6]
                if way == 0.0:
                    continue
                for i in range(12):
                    body = plan[at + A] if i < 6 else plan[at + B]
                    if body < n:
                        b[col * unknowns + TWIST * body + i % 6] += push[SLOPES * j + i] * way
                if impact:
                    bend = bends[BENDS * j] + bounce * bends[BENDS * j + BENDS - 1]
                    changes[to] += bend * way
                for i in range(plan[at + BLOCKS]):
                    q = to + CONES + BLOCK * i
                    changes[q] -= bends[BENDS * j + 1 + 2 * i] * way
                    changes[q + 1] -= bends[BENDS * j + 2 + 2 * i] * way


@kernel
def take_out(plan, constant, c, contacts, changes, b):
    """b <- b + W^T (forces that the changes of the contacts' residuals give by themselves)."""
    n = plan[BODIES]
    for k in range(plan[CONTACTS]):
        w = k * CONTACT_WORK
        if contacts[w + ACTIVE_AT] == 0.0:
            continue
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        p = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
        slot = plan[at + SLOT]
        free = -c[slot] * changes[slot] / (c[slot + SLACK] + softness(contacts, w) * c[slot])
        subtract_row(plan, n, at, contacts, w + W_AT, -free, b)
        for i in range(plan[at + BLOCKS]):
            q, to = slot + CONES + BLOCK * i, w + T_AT + T_SIZE * i
            friction = constant[p + FRICTION + i]
            head = friction * c[slot]
            if i == 0 and plan[at + FACETS] > 0:
                tail = slot + CONES + BLOCK * plan[at + BLOCKS]
                law = polygon_law(plan[at + FACETS], head, 0.0, 0.0, 0.0, c, q, tail)
                more, e0, e1 = changes[q + ETA0], changes[q], changes[q + 1]
                f0 = law[2] * more - law[4] * e0 - law[5] * e1
                f1 = law[3] * more - law[6] * e0 - law[7] * e1
            else:
                law = friction_law(
                    head, c, q, changes[q + ETA0], changes[q + ETA], changes[q + ETA + 1],
                    changes[q], changes[q + 1],
                )  # fmt: skip
                f0, f1 = law[0], law[1]
            subtract_row(plan, n, at, contacts, to, -f0 - friction * law[2] * free, b)
            subtract_row(plan, n, at, contacts, to + SLOPES, -f1 - friction * law[3] * free, b)
