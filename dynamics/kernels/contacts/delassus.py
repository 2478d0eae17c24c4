"""Contacts that path Newton has not solved yet, on their Delassus operator.

Where contacts slide, stick and open in turns, few are concerned: those of some bodies whose momenta
are far from balance while all others are solved. All else is linear. With A the matrix of bodies,
joints and the other contacts, and W the rows of these, velocities there are v + D lambda with
D = W_next A^-1 W^T, and `delassus_newton` solves for lambda at no cost for the rest of the graph.
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
    CONTACT_FIELDS,
    CONTACT_WORK,
    DELASSUS_ROWS,
    IMPULSE,
    NEXT_AT,
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
from dynamics.kernels.base.six import largest, most_of, nothing, products
from dynamics.kernels.contacts.condensation import normal_error, softness, subtract_row
from dynamics.kernels.contacts.delassus_newton import delassus_newton
from dynamics.kernels.contacts.islands import record_of
from dynamics.kernels.contacts.rows import (
    acting_contact,
    acting_contacts,
    contact_rate,
)
from graphsys.kernels import clear_side_by_side, row_places, solve, solve_side_by_side

#: Part of the largest error of momenta above which the contacts of a body are undecided; the least
#: such error, over the tolerance; and the largest from which on no contact is.
PART, LEAST, NEARLY = 0.01, 1e2, 1e3


@kernel
def unbalanced(plan, constant, at, r):
    """Largest error of the momenta of a contact's bodies, over units."""
    error = 0.0
    for side in range(2):
        body = plan[at + B] if side == 1 else plan[at + A]
        if body < plan[BODIES]:
            sums = products(nothing(), constant, body * BODY_SIZE + IMPULSE, r, TWIST * body)
            error = max(error, most_of(largest(nothing(), sums)))
    return error


@kernel
def undecided(plan, constant, tolerance, r, contacts):
    """Mark contacts of bodies that are far from balance; their rows, 0 for none or too many.

    More rows than bodies cost more than iterations for all: five shapes take 1.3 times as long.
    """
    worst, rows = 0.0, 0
    for nth in range(acting_contacts(plan, contacts)):
        at = plan[CONTACT_AT] + acting_contact(plan, contacts, nth) * CONTACT_FIELDS
        worst = max(worst, unbalanced(plan, constant, at, r))
    if worst <= NEARLY * tolerance:
        return 0
    limit = max(PART * worst, LEAST * tolerance)
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        if unbalanced(plan, constant, at, r) > limit:
            contacts[k * CONTACT_WORK + UNDECIDED_AT] = 1.0
            rows += 1 + 2 * plan[at + BLOCKS]
    if rows > min(DELASSUS_ROWS, plan[BODIES]):
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
def solve_undecided(plan, constant, program, h, barrier, rows, work, solver, c):
    """c of the undecided contacts <- their solution, dx <- the velocities that follow.

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
    delassus_newton(plan, constant, barrier, rows, contacts, D, v, c)
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
