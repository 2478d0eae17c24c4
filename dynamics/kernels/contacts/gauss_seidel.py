"""Gauss-Seidel method on the Delassus operator, for contacts that path Newton does not decide.

All else is linear. With A the matrix of bodies, joints and decided contacts, and W the rows of the
undecided ones, velocities at these are v + D lambda with D = W_next A^-1 W^T. The method visits one
undecided contact after another and puts it on the point of its central path that the forces of the
others lead to (Jean 1999; Jourdan, Alart, Jean 1998). It converges where Newton's method cycles,
but slowly, so it only decides which contacts close and which slide.
"""

from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.base.layout import (
    BLOCK,
    BLOCKS,
    BODIES,
    BODY_SIZE,
    COLUMNS,
    CONES,
    CONTACT_AT,
    CONTACT_CONSTANT_AT,
    CONTACT_FIELDS,
    CONTACT_PACE,
    CONTACT_SIZE,
    CONTACT_WORK,
    ENERGY,
    ETA,
    ETA0,
    FACETS,
    GAUSS_SEIDEL_ROWS,
    IMPULSE,
    NEXT_AT,
    OF_PLANE,
    ROWS,
    SLACK,
    SLOPES,
    SLOT,
    SLOTS,
    T_AT,
    T_SIZE,
    TWIST,
    UNDECIDED_AT,
    W_AT,
    A,
    B,
)
from dynamics.kernels.contacts.central_path import cone_path
from dynamics.kernels.contacts.condensation import normal_error, softness, subtract_row
from dynamics.kernels.contacts.islands import record_of
from dynamics.kernels.contacts.linear_cone import on_path, polygon_path
from dynamics.kernels.contacts.rows import (
    acting_contact,
    acting_contacts,
    contact_rate,
    friction_of,
    is_dry_friction,
)
from dynamics.kernels.contacts.single_contact import contact_alone
from graphsys.kernels import clear_side_by_side, row_places, solve, solve_side_by_side

#: Error of a contact, or of the momenta of its bodies, over the tolerance, that is undecided.
#: Without this method, a driven humanoid takes 1.3, a chain of 100 spheres 1.4 times the
#: factorizations.
OPEN = 3e5
#: Rounds of all undecided contacts, and the change of impulses, over the largest, that ends them:
#: at 1e-3, a driven humanoid takes 1.4 times the factorizations.
SWEEPS = 30
CONVERGED = 1e-5
#: Part of `OPEN` above which contacts join if the iterate after the method is still open. Without
#: that use, a chain of 100 spheres from a slope takes 1.13 times the factorizations.
AGAIN = 1e-2


@kernel
def undecided(plan, constant, h, tolerance, part, x, c, r, contacts):
    """Mark contacts whose error is above a ``part`` of `OPEN`; their rows, 0 for none or too many.

    None are marked if no error is above `OPEN`, or if planes between bodies take part.
    """
    n, rows, most = plan[BODIES], 0, 0.0
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        w = k * CONTACT_WORK
        contacts[w + UNDECIDED_AT] = 0.0
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        # it creeps where a light plane passes on what presses on it: 1.14 times the factorizations
        if plan[at + OF_PLANE] != 0:
            decide_all(plan, contacts)
            return 0
        pace = constant[plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE + CONTACT_PACE]
        error = pace * abs(normal_error(plan, h, k, x, c, contacts))
        for body in (plan[at + A], plan[at + B]):
            if body < n:
                units = body * BODY_SIZE + IMPULSE
                for j in range(TWIST):
                    error = max(error, constant[units + j] * abs(r[TWIST * body + j]))
        most = max(most, error)
        if error > part * OPEN * tolerance:
            contacts[w + UNDECIDED_AT] = 1.0
            rows += 1 + 2 * plan[at + BLOCKS]
    if rows > GAUSS_SEIDEL_ROWS or most <= OPEN * tolerance:
        decide_all(plan, contacts)
        return 0
    return rows


@kernel
def decide_all(plan, contacts):
    """No contact is undecided."""
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        contacts[k * CONTACT_WORK + UNDECIDED_AT] = 0.0


@kernel
def velocities_of(plan, contacts, dx, out):
    """Out <- W_next dx of the undecided contacts."""
    i = 0
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        w = k * CONTACT_WORK
        if contacts[w + UNDECIDED_AT] == 0.0:
            continue
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        out[i] = contact_rate(plan, at, contacts, w + NEXT_AT, dx)
        for j in range(1, 1 + 2 * plan[at + BLOCKS]):
            out[i + j] = contact_rate(plan, at, contacts, w + W_AT + SLOPES * j, dx)
        i += 1 + 2 * plan[at + BLOCKS]


@kernel
def put_column(plan, at, W, to, place, column, x):
    """Column of x <- W^T, one row."""
    n, a, b = plan[BODIES], plan[at + A], plan[at + B]
    for j in range(TWIST):
        if a < n:
            x[COLUMNS * int(place[TWIST * a + j]) + column] = W[to + j]
        if b < n:
            x[COLUMNS * int(place[TWIST * b + j]) + column] = W[to + TWIST + j]


@kernel
def rates(W, at, x, p, out, fresh):
    """Out <- W x of half a row and eight columns that lie side by side, added where not fresh."""
    a, b, c, d, e, f = W[at], W[at + 1], W[at + 2], W[at + 3], W[at + 4], W[at + 5]
    for j in range(COLUMNS):
        moving = a * x[p + j] + b * x[p + COLUMNS + j] + c * x[p + 2 * COLUMNS + j]
        turning = d * x[p + 3 * COLUMNS + j] + e * x[p + 4 * COLUMNS + j]
        total = moving + turning + f * x[p + 5 * COLUMNS + j]
        out[j] = total if fresh else out[j] + total


@kernel
def columns_of(plan, contacts, x, place, rows, count, eight, D):
    """The first columns of D <- W_next x of the undecided contacts."""
    n, i = plan[BODIES], 0
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        w = k * CONTACT_WORK
        if contacts[w + UNDECIDED_AT] == 0.0:
            continue
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        a, b = plan[at + A], plan[at + B]
        for j in range(1 + 2 * plan[at + BLOCKS]):
            row = w + (NEXT_AT if j == 0 else W_AT + SLOPES * j)
            if a < n:
                rates(contacts, row, x, COLUMNS * int(place[TWIST * a]), eight, True)
            if b < n:
                rates(contacts, row + TWIST, x, COLUMNS * int(place[TWIST * b]), eight, a == n)
            for column in range(count):
                D[column * rows + i] = eight[column]
            i += 1


@kernel
def responses(plan, program, solver, rows, contacts, D):
    """D <- W_next A^-1 W^T by columns, with the factors of A.

    Column by column, chains of 100 and 200 spheres from a slope take 1.1 and 1.16 times as long.
    """
    columns, size = solver.columns, solver.rhs.size
    x, place = columns[: COLUMNS * size], columns[COLUMNS * size : (COLUMNS + 1) * size]
    supernode = columns[(COLUMNS + 1) * size : (COLUMNS + 2) * size]
    eight = columns[(COLUMNS + 2) * size :]
    row_places(program, place, supernode)
    last = size  # where the first of their bodies is eliminated
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        if contacts[k * CONTACT_WORK + UNDECIDED_AT] != 0.0:
            last = first_of(plan, k, supernode, last)
    column, first = 0, size
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        w = k * CONTACT_WORK
        if contacts[w + UNDECIDED_AT] == 0.0:
            continue
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        for j in range(1 + 2 * plan[at + BLOCKS]):
            count = column % COLUMNS
            if count == 0:
                clear_side_by_side(program, last, x)
                first = size
            put_column(plan, at, contacts, w + W_AT + SLOPES * j, place, count, x)
            first = first_of(plan, k, supernode, first)
            column += 1
            if count == COLUMNS - 1 or column == rows:
                solve_side_by_side(program, first, last, solver.factors, solver.workspace, x)
                done = pointer(D, (column - 1 - count) * rows)
                columns_of(plan, contacts, x, place, rows, count + 1, eight, done)


@kernel
def first_of(plan, k, supernode, first):
    """First supernode of both bodies of a contact, or ``first`` where that is earlier."""
    at = plan[CONTACT_AT] + k * CONTACT_FIELDS
    for body in (plan[at + A], plan[at + B]):
        if body < plan[BODIES]:
            first = min(first, int(supernode[TWIST * body]))
    return first


@kernel
def add_impulse(rows, column, change, D, v):
    """v <- v + D change, of one column."""
    for j in range(rows):
        v[j] += D[column * rows + j] * change


@kernel
def solve_pair(plan, at, constant, k, h, kappa, i, rows, contacts, D, v, c):
    """Gamma and sliding friction of one contact by `single_contact`; the largest change, gamma."""
    p, slot = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE, plan[at + SLOT]
    q, here, work = slot + CONES, i * rows + i, k * CONTACT_WORK
    friction = friction_of(constant, contacts, p, work, 0)
    soft = softness(contacts, work)
    if D[here] + soft <= 0.0:  # others answer as if they could pull
        return 0.0, c[slot]
    g, b0, b1 = c[slot], c[q], c[q + 1]
    w = (
        v[i] - (D[here] * g + D[here + rows] * b0 + D[here + 2 * rows] * b1),
        v[i + 1] - (D[here + 1] * g + D[here + rows + 1] * b0 + D[here + 2 * rows + 1] * b1),
        v[i + 2] - (D[here + 2] * g + D[here + rows + 2] * b0 + D[here + 2 * rows + 2] * b1),
    )
    gamma, x, y, t = contact_alone(
        friction, kappa, soft, D, here, rows, w, g, c[q + ETA0] / (friction * g)
    )
    if not gamma > 0.0:
        return 0.0, g
    c[slot], c[slot + SLACK] = gamma, kappa / gamma
    c[q], c[q + 1] = x, y
    c[q + ETA0], c[q + ETA], c[q + ETA + 1] = t * friction * gamma, -t * x, -t * y
    add_impulse(rows, i, gamma - g, D, v)
    add_impulse(rows, i + 1, x - b0, D, v)
    add_impulse(rows, i + 2, y - b1, D, v)
    return max(abs(gamma - g), max(abs(x - b0), abs(y - b1))), gamma


@kernel
def sweep(plan, constant, h, barrier, rows, contacts, D, v, c):
    """One round over the undecided contacts; the largest change of an impulse, the largest one.

    The barrier is over the unit of energy.
    """
    i, changed, most = 0, 0.0, 0.0
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        w = k * CONTACT_WORK
        if contacts[w + UNDECIDED_AT] == 0.0:
            continue
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        p = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
        slot, kappa = plan[at + SLOT], barrier * constant[p + ENERGY]
        round_cone = (
            plan[at + BLOCKS] > 0 and plan[at + FACETS] == 0 and not is_dry_friction(plan, k)
        )
        if round_cone:
            change, gamma = solve_pair(plan, at, constant, k, h, kappa, i, rows, contacts, D, v, c)
            changed, most = max(changed, change), max(most, gamma)
        elif not is_dry_friction(plan, k):
            soft = softness(contacts, w)
            mass, before = 1.0 / (D[i * rows + i] + soft), c[slot]
            speed = v[i] + soft * before
            c[slot] = on_path(mass * kappa, before - mass * speed)
            c[slot + SLACK] = kappa / c[slot]
            add_impulse(rows, i, c[slot] - before, D, v)
            changed = max(changed, abs(c[slot] - before))
            most = max(most, c[slot])
        for block in range(1 if round_cone else 0, plan[at + BLOCKS]):
            q, one = slot + CONES + BLOCK * block, i + 1 + 2 * block
            two = one + 1
            mass = 1.0 / max(D[one * rows + one], D[two * rows + two])
            head, b0, b1 = friction_of(constant, contacts, p, w, block) * c[slot], c[q], c[q + 1]
            z0, z1 = b0 - mass * v[one], b1 - mass * v[two]
            if block == 0 and plan[at + FACETS] > 0:
                tail = slot + CONES + BLOCK * plan[at + BLOCKS]
                polygon_path(plan[at + FACETS], head, kappa, mass, z0, z1, c, q, tail)
            else:
                c[q], c[q + 1], c[q + ETA0], c[q + ETA], c[q + ETA + 1] = cone_path(
                    head, kappa / head, mass, z0, z1
                )
            add_impulse(rows, one, c[q] - b0, D, v)
            add_impulse(rows, two, c[q + 1] - b1, D, v)
            changed = max(changed, max(abs(c[q] - b0), abs(c[q + 1] - b1)))
            most = max(most, head)
        i += 1 + 2 * plan[at + BLOCKS]
    return changed, most


@kernel
def gauss_seidel(plan, constant, program, h, barrier, rows, work, solver, c):
    """c of the undecided contacts <- the solution of the method, dx <- the velocities that follow.

    After `condense` and a factorization without them; ``work.dc`` is a workspace.
    """
    x, r, dx, dc, contacts = work.x, work.r, work.dx, work.dc, work.contacts
    n, unknowns = plan[BODIES], TWIST * plan[BODIES] + plan[ROWS]
    D = pointer(contacts, record_of(plan, n))
    v = pointer(D, rows * rows)
    responses(plan, program, solver, rows, contacts, D)
    solve(program, solver.factors, solver.rhs, 1, solver.workspace, solver.solution)
    velocities_of(plan, contacts, dx, v)
    for i in range(rows):
        v[i] = -v[i]
    i = 0
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        w = k * CONTACT_WORK
        if contacts[w + UNDECIDED_AT] == 0.0:
            continue
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        slot = plan[at + SLOT]
        soft = softness(contacts, w)
        v[i] += normal_error(plan, h, k, x, c, contacts) + c[slot + SLACK] - soft * c[slot]
        for j in range(1, 1 + 2 * plan[at + BLOCKS]):
            v[i + j] += contact_rate(plan, at, contacts, w + W_AT + SLOPES * j, x)
        i += 1 + 2 * plan[at + BLOCKS]
    for j in range(plan[SLOTS]):
        dc[j] = c[j]
    for _ in range(SWEEPS):
        changed, most = sweep(plan, constant, h, barrier, rows, contacts, D, v, c)
        if not changed > CONVERGED * most:
            break
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        w = k * CONTACT_WORK
        if contacts[w + UNDECIDED_AT] == 0.0:
            continue
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        slot = plan[at + SLOT]
        subtract_row(plan, n, at, contacts, w + W_AT, c[slot] - dc[slot], r)
        for block in range(plan[at + BLOCKS]):
            q, to = slot + CONES + BLOCK * block, w + T_AT + T_SIZE * block
            subtract_row(plan, n, at, contacts, to, c[q] - dc[q], r)
            subtract_row(plan, n, at, contacts, to + SLOPES, c[q + 1] - dc[q + 1], r)
    solve(program, solver.factors, solver.rhs, 1, solver.workspace, solver.solution)
    for i in range(unknowns):
        dx[i] = -dx[i]
