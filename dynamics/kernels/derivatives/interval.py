"""Derivative of one interval (z, p) -> (z', p') along many directions, at its solution.

From r(x; z, p, c) = 0, ``K dx = -dr`` with the matrix of the last Newton step, one factorization
for all columns. Directions are columns: ``dz[6 n]`` (x, theta), ``dp[6 n]``, ``dc[c]``, and
``dbefore[6 n]`` of the velocities before, which impacts look at. Contacts: see
`derivatives.contacts`.
"""

import math

from dynamics.kernels.base.arguments import Inputs, node_of_tuple
from dynamics.kernels.base.copying import clear
from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.base.layout import (
    ACTIVE_AT,
    ADDED,
    ALL_ROWS,
    BODIES,
    COMPLIANCE,
    CONTACT_AT,
    CONTACT_CONSTANT_AT,
    CONTACT_FIELDS,
    CONTACT_SIZE,
    CONTACT_WORK,
    CONTACTS,
    EQUATION,
    FIRST_ROW,
    FRICTION_PART_AT,
    GROUP_AT,
    GROUP_FIELDS,
    HOLDING,
    JOINTS,
    N_ROWS,
    NEXT,
    RESTITUTION,
    RESTITUTION_AT,
    ROTORS,
    ROW_CONSTANT_AT,
    ROW_SIZE,
    ROWS,
    SLACK,
    SLOPES,
    SLOT,
    SLOTS,
    SPEED_AT,
    STIFF_NUMBERS,
    TWIST,
    W_AT,
    WRENCHES,
    A,
    B,
)
from dynamics.kernels.contacts.condensation import add_contacts, condense, push_out
from dynamics.kernels.contacts.rows import (
    contact_rate,
    contact_rows,
    gaps,
    list_acting,
    list_all,
    note_softness,
)
from dynamics.kernels.derivatives.arguments import (
    Columns,
    ContactWork,
    Curvature,
    Directions,
    Factors,
    Solution,
)
from dynamics.kernels.derivatives.contacts import contact_changes, contact_errors, take_out
from dynamics.kernels.derivatives.interval_parts import (
    add_changes_across,
    add_pair_changes,
    add_row_change,
    carry,
    end_changes,
    held_changes,
    impulse_changes,
    row_changes,
    solve_refined,
)
from dynamics.kernels.derivatives.rotors import spin_changes
from dynamics.kernels.derivatives.wrenches import add_own, add_wrenches, solve_crossed
from dynamics.kernels.interval.matrix import assemble
from dynamics.kernels.interval.residual import residual
from dynamics.kernels.rows.added_mass import add_changes
from dynamics.kernels.rows.curvature import hessian
from dynamics.kernels.rows.forces import drive
from dynamics.kernels.rows.poses import move
from dynamics.kernels.rows.rows import roll
from dynamics.kernels.rows.stiff_forces import aim, first_part, mark_cuts
from dynamics.kernels.stepping.step import end_momentum, evaluate_node, load_state
from graphsys.kernels import factorize

#: Part of a bounce that its law may miss at a solution, where a number of the model may be changed.
BOUNCES = 0.5


@kernel
def touching(plan, constant, h, solution, node, trial, found, spare, contacts):
    """Rows and stiffness of the contacts at a solution; those that push act. 0, or 1 if it fails.

    ``spare`` takes the right-hand side that `condense` writes.
    """
    x, c = solution.x, solution.c
    for k in range(plan[CONTACTS]):
        contacts[k * CONTACT_WORK + RESTITUTION_AT] = 1.0
        contacts[k * CONTACT_WORK + FRICTION_PART_AT] = 1.0
    list_all(plan, contacts)
    if contact_rows(plan, constant, h, node, solution.before, math.inf, found, contacts) != 0:
        return 1
    note_softness(plan, constant, h, node, contacts)
    for k in range(plan[CONTACTS]):
        at, w = plan[CONTACT_AT] + k * CONTACT_FIELDS, k * CONTACT_WORK
        slot, speed = plan[at + SLOT], contacts[w + SPEED_AT]
        contacts[w + ACTIVE_AT] = 1.0 if c[slot] > 0.0 else 0.0
        if constant[plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE + RESTITUTION] > 0.0:
            missed = contact_rate(plan, at, contacts, w + W_AT, x) + speed - c[slot + SLACK]
            if abs(missed) > BOUNCES * abs(speed):  # it was held by its gap: see `interior_point`
                contacts[w + SPEED_AT] = 0.0
    list_acting(plan, contacts)
    if gaps(plan, constant, h, x, trial, found, contacts) != 0:
        return 1
    condense(plan, constant, h, 0.0, True, x, c, contacts, spare)
    return 0


@kernel
def interval_slopes(
    # Tables:
    plan,
    constant,
    program,
    # In:
    h,
    control,
    solution,
    nodes,
    directions,
    given,
    wrenches,
    # Work:
    work,
    # Out:
    results,
):  # fmt: skip
    """Results (dz', dp') of every column from ``directions``; 0, or what went wrong.

    ``nodes`` are both ends (see `Node`); ``solution``, ``directions`` and ``given`` the fields of
    `Solution`, `Directions` and `Given`. ``work`` holds the work arrays of `Curvature` (``along``
    and ``pair`` first in the first one), of `ContactWork` and of contacts, `Columns` and `Factors`.
    ``wrenches`` are the slopes of users' functions at both ends, see `derivatives.wrenches`. dp'
    has its columns one after another.
    """
    node, trial = node_of_tuple(nodes[0]), node_of_tuple(nodes[1])
    dz_next, dp_next = results
    x, before, c = solution
    solution = Solution(x=x, before=before, c=c)
    dz, dp, dbefore, dc = directions
    directions = Directions(dz=dz, dp=dp, dbefore=dbefore, dc=dc)
    r, changes, more = given
    bending, H, (slopes, push, bends, row, pose, nearest), contacts, (b, d, dx), solver = work
    curvature = Curvature(work=bending[156:], H=H, along=bending[:12], pair=bending[12:156])
    touch = ContactWork(
        slopes=slopes, push=push, bends=bends, row=row, pose=pose, nearest=nearest
    )  # fmt: skip
    right = Columns(b=b, d=d, dx=dx)
    values, magnitude, factors, workspace, status = solver
    solver = Factors(
        values=values, magnitude=magnitude, factors=factors, workspace=workspace, status=status
    )  # fmt: skip
    n, columns, slots = plan[BODIES], dz.shape[0], plan[SLOTS]
    m = TWIST * n
    unknowns = m + plan[ROWS]
    if plan[ROTORS] > 0:
        aim(plan, constant, control, node.g)
        mark_cuts(plan, constant, h, node.g, trial.g)
    clear(values)
    assemble(plan, constant, h, x, node.g, node.G, trial.G, values)
    add_own(plan, -0.5 * h, wrenches[0], values)
    if plan[CONTACTS] > 0:
        if touching(plan, constant, h, solution, node, trial, nearest, d, contacts) != 0:
            return 3
        add_contacts(plan, contacts, values)
    for i in range(unknowns):
        d[i] = 0.0
    for col in range(columns):
        at = col * unknowns
        for i in range(unknowns):
            b[at + i] = -r[at + i]
        for i in range(m):
            b[at + i] += dp[col, i]
        carry(n, h, x, d, 0, dz[col], dz_next[col])
        row_changes(plan, constant, h, node.G, trial.G, dz[col], dz_next[col], b, at)
        if plan[ADDED] > 0:
            add_changes(plan, constant, h, 1.0, -1.0, node.G, x, d, 0, dz[col], b, at)
        add_wrenches(plan, 0.5 * h, wrenches[0], 0, dz[col], 0, b, at)
    held_changes(plan, constant, h, x, node, trial, dz, dz_next, curvature, values, b)
    if factorize(program, values, 1e-15, magnitude, factors, status) != 0:
        return 1
    impulse_changes(plan, constant, h, False, control, node, x, dz, dc, curvature, b, unknowns)
    spin_changes(
        plan, constant, h, node, trial, False, dz, dz_next, dc, curvature, b, unknowns
    )  # fmt: skip
    if plan[CONTACTS] > 0:
        contact_changes(
            plan, constant, h, solution, (node, trial), contacts, directions, dz_next, curvature,
            touch, changes, b,
        )  # fmt: skip
        for col in range(columns):
            at = col * unknowns
            take_out(
                plan, constant, c, contacts, changes[col * slots : col * slots + slots],
                b[at : at + unknowns],
            )  # fmt: skip
    if solve_refined(plan, constant, program, False, columns, solver, right) != 0:
        return 2
    if plan[WRENCHES] > 0:
        bad = solve_crossed(
            plan, constant, program, 0.5 * h, wrenches[0], columns, solver, right, r
        )  # fmt: skip
        if bad != 0:
            return 4
    for col in range(columns):
        at = col * unknowns
        carry(n, h, x, dx, at, dz[col], dz_next[col])
        ends = dp_next[col * m : col * m + m]
        for i in range(m):
            ends[i] = more[col * m + i]
        end_changes(plan, constant, h, trial.G, x, dx, at, ends)
        if plan[ADDED] > 0:
            add_changes(plan, constant, h, -1.0, 1.0, trial.G, x, dx, at, dz_next[col], ends, 0)
        add_wrenches(plan, 0.5 * h, wrenches[1], 0, dz_next[col], 0, ends, 0)
        add_wrenches(plan, 0.5 * h, wrenches[1], 12, dx, at, ends, 0)
    impulse_changes(plan, constant, h, True, control, trial, x, dz_next, dc, curvature, dp_next, m)
    spin_changes(plan, constant, h, node, trial, True, dz, dz_next, dc, curvature, dp_next, m)
    return 0


@kernel
def projection_slopes(
    # Tables:
    plan,
    constant,
    program,
    # In:
    solution,
    dz,
    dp,
    more,
    # Work:
    solver,
    work,
    # Out:
    dV,
):  # fmt: skip
    """dV of every column from M V = p + G^T nu, G V = 0, x = (V, nu), after `measure.project`.

    ``solution`` is (x, pose, matrix, G), ``more`` is -dM V by columns; ``solver`` and ``work`` are
    as in `interval_slopes`, the latter without contacts.
    """
    x, pose, matrix, G = solution
    values, magnitude, factors, workspace, status = solver
    solver = Factors(
        values=values, magnitude=magnitude, factors=factors, workspace=workspace, status=status
    )  # fmt: skip
    bending, H, (b, d, dx) = work
    right = Columns(b=b, d=d, dx=dx)
    n, columns = plan[BODIES], dz.shape[0]
    m = TWIST * n
    unknowns = m + plan[ROWS]
    for col in range(columns):
        for i in range(unknowns):
            b[col * unknowns + i] = dp[col, i] + more[col, i] if i < m else 0.0
    along, pair, scratch = bending[:12], bending[12:156], bending[156:]
    curvature = Curvature(work=scratch, H=H, along=along, pair=pair)
    for c in range(12):
        along[c] = 0.0
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        i, j = plan[group + A], plan[group + B]
        for c in range(144):
            pair[c] = 0.0
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            if constant[plan[ROW_CONSTANT_AT] + row * ROW_SIZE + COMPLIANCE] > 0.0:
                continue
            mine = m + plan[group + EQUATION] + row - plan[group + FIRST_ROW]
            hessian(plan, constant, k, row, pose, matrix, scratch, H)
            add_row_change(H, G, SLOPES * row, x[mine], along, pair)
            for c in range(12):
                other, bend = i if c < 6 else j, 0.0  # V^T H
                if other == n:
                    continue
                for e in range(12):
                    body = i if e < 6 else j
                    if body < n:
                        bend += H[12 * c + e] * x[TWIST * body + e % 6]
                for col in range(columns):
                    b[col * unknowns + mine] -= bend * dz[col, TWIST * other + c % 6]
            if plan[group + NEXT] != k:
                add_changes_across(
                    plan, constant, k, row, mine, x[mine], x, pose, curvature, dz, unknowns, b
                )  # fmt: skip
        add_pair_changes(i, j, n, pair, dz, b, unknowns)
    if solve_refined(plan, constant, program, True, columns, solver, right) != 0:
        return 2
    for col in range(columns):
        for i in range(m):
            dV[col, i] = dx[col * unknowns + i]
    return 0


@kernel
def part_given(plan, h, state, g):
    """Part of h for which stiff forces act in the interval from a state: see `stiff_forces`."""
    if plan[STIFF_NUMBERS] > 0:
        stiff = pointer(state, state.size - plan[STIFF_NUMBERS])
        g[3 * plan[ALL_ROWS]] = first_part(stiff, h)


@kernel
def residuals(
    # Tables:
    plan,
    constant,
    # In:
    h,
    inputs,
    state,
    p,
    solution,
    # Work:
    nodes,
    kick,
    found,
    contacts,
    # Out:
    out,
):  # fmt: skip
    """Residuals of an interval at a solution, of its contacts, and momenta at its end; a status.

    They change with a number of the model while the solution is held. ``inputs``, ``solution`` and
    ``out`` are the fields of `Inputs`, `Solution` and `Given`.
    """
    control, wrench = inputs
    x, before, c = solution
    r, errors, end = out
    solution = Solution(x=x, before=before, c=c)
    n = plan[BODIES]
    node, trial = node_of_tuple(nodes[0]), node_of_tuple(nodes[1])
    load_state(plan, constant, state, node, trial)
    for i in range(TWIST * n):
        kick[i] = p[i] + 0.5 * h * node.f[i]
    drive(plan, constant, 0.5 * h, node.G, control, wrench, kick)
    part_given(plan, h, state, node.g)
    if plan[ROTORS] > 0:
        aim(plan, constant, control, node.g)
    move(n, h, node.pose, x, trial.pose, trial.matrix)
    evaluate_node(plan, constant, trial)
    if plan[HOLDING] > 0:
        roll(plan, h, node.G, trial.G, x, trial.g)
    residual(plan, constant, h, kick, node.G, node.g, x, trial.g, r)
    if plan[CONTACTS] > 0:
        if touching(plan, constant, h, solution, node, trial, found, end, contacts) != 0:
            return 1
        push_out(plan, c, contacts, r)
        contact_errors(plan, constant, h, x, c, contacts, errors)
    end_momentum(plan, constant, h, Inputs(control, wrench), node, trial, x, end)
    return 0
