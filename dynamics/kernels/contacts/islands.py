"""Islands: sets of bodies that joints, forces and contacts that act connect.

The equations of an interval fall apart into those of its islands, which share factorizations alone:
each island has a barrier, step lengths and a convergence test of its own. One that is *settled*
waits with its solution; one that is *lost* waits for another start. The others are *open*.

An island has the number of one of its bodies, in whose record its numbers are.
"""

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import (
    ACTIVE_AT,
    ARMATURE,
    BARRIER_AT,
    BEST,
    BODIES,
    BODY_AT,
    BODY_SIZE,
    CONTACT_AT,
    CONTACT_CONSTANT_AT,
    CONTACT_FIELDS,
    CONTACT_SIZE,
    CONTACT_WORK,
    CONTACTS,
    ENERGY,
    EQUATION,
    ERROR_BEFORE,
    FIRST_ROW,
    GROUP_AT,
    GROUP_FIELDS,
    IMPULSE,
    ISLAND,
    ISLAND_AT,
    ISLAND_SIZE,
    JOINTS,
    LOST,
    MOMENTUM_ERROR,
    N_ROWS,
    OPEN,
    OPENED,
    PACE,
    PHASE,
    ROTORS,
    ROW_CONSTANT_AT,
    ROW_SIZE,
    ROWS,
    STALLED,
    STEP_PART,
    SUMS,
    TWIST,
    UNITS_AT,
    A,
    B,
)
from dynamics.kernels.base.six import largest, most_of, nothing, products
from dynamics.kernels.contacts.rows import (
    acting_contact,
    acting_contacts,
    list_contact,
    start_list,
)

#: Rounding of an angle, 64 machine epsilons.
ROUNDINGS = 64.0 * 2.2e-16


@kernel
def record_of(plan, body):
    """Place of a body's record among the work arrays of contacts."""
    return (CONTACT_WORK + 1) * plan[CONTACTS] + 1 + SUMS + ISLAND_SIZE * body


@kernel
def island_of(plan, contacts, body):
    """Place of the record of a body's island."""
    return record_of(plan, int(contacts[record_of(plan, body) + ISLAND]))


@kernel
def contact_island(plan, contacts, k):
    """Place of the record of a contact's island."""
    return record_of(plan, int(contacts[k * CONTACT_WORK + ISLAND_AT]))


@kernel
def joint_island(plan, contacts, k):
    """Place of the record of a joint's island."""
    group = plan[GROUP_AT] + k * GROUP_FIELDS
    a, b = plan[group + A], plan[group + B]
    return island_of(plan, contacts, b if b < plan[BODIES] else a)


@kernel
def root_of(plan, contacts, body):
    """The body whose number stands for all that `unite` has put together with this one."""
    while int(contacts[record_of(plan, body) + ISLAND]) != body:
        body = int(contacts[record_of(plan, body) + ISLAND])
    return body


@kernel
def unite(plan, contacts, a, b):
    """Put two bodies into one island; the world is in none."""
    if a >= plan[BODIES] or b >= plan[BODIES]:
        return
    a, b = root_of(plan, contacts, a), root_of(plan, contacts, b)
    first, later = min(a, b), max(a, b)
    contacts[record_of(plan, later) + ISLAND] = first


@kernel
def open_all(plan, contacts):
    """Every body is open."""
    for body in range(plan[BODIES]):
        record = record_of(plan, body)
        contacts[record + ISLAND], contacts[record + PHASE] = body, OPEN


@kernel
def find_islands(plan, contacts):
    """Islands of the contacts that act now; one is open if any of its bodies was."""
    n, first = plan[BODIES], plan[BODY_AT] + plan[BODIES]
    for body in range(n):
        record, island = record_of(plan, body), island_of(plan, contacts, body)
        contacts[record + STEP_PART] = contacts[island + PHASE]
    for body in range(n):
        contacts[record_of(plan, body) + ISLAND] = plan[first + body]
    for k in range(plan[CONTACTS]):
        if contacts[k * CONTACT_WORK + ACTIVE_AT] != 0.0:
            at = plan[CONTACT_AT] + k * CONTACT_FIELDS
            unite(plan, contacts, plan[at + A], plan[at + B])
    for body in range(n):
        record = record_of(plan, body)
        contacts[record + ISLAND] = root_of(plan, contacts, body)
        phase, island = contacts[record + STEP_PART], island_of(plan, contacts, body)
        contacts[record + PHASE] = phase  # until the island has that of all its bodies
        if phase == OPEN:
            contacts[island + PHASE] = OPEN
    for k in range(plan[CONTACTS]):
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        a, b = plan[at + A], plan[at + B]
        body = b if b < n else a
        contacts[k * CONTACT_WORK + ISLAND_AT] = contacts[record_of(plan, body) + ISLAND]


@kernel
def is_open(plan, contacts, body):
    """True for the world and bodies of open islands."""
    if body >= plan[BODIES]:
        return True
    return contacts[island_of(plan, contacts, body) + PHASE] == OPEN


@kernel
def list_between_open(plan, contacts):
    """List the contacts whose bodies are open, whether they act or not."""
    start_list(plan, contacts)
    for k in range(plan[CONTACTS]):
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        if is_open(plan, contacts, plan[at + A]) and is_open(plan, contacts, plan[at + B]):
            list_contact(plan, contacts, k)


@kernel
def keep_open(plan, contacts):
    """Keep in the list of contacts those that act in open islands."""
    listed = acting_contacts(plan, contacts)
    start_list(plan, contacts)
    for nth in range(listed):
        k = acting_contact(plan, contacts, nth)
        if contacts[k * CONTACT_WORK + ACTIVE_AT] != 0.0:
            if contacts[contact_island(plan, contacts, k) + PHASE] == OPEN:
                list_contact(plan, contacts, k)


@kernel
def count(plan, contacts, phase):
    """Number of islands in a phase."""
    found = 0
    for body in range(plan[BODIES]):
        record = record_of(plan, body)
        if int(contacts[record + ISLAND]) == body and contacts[record + PHASE] == phase:
            found += 1
    return found


@kernel
def measure(plan, constant, h, r, contacts):
    """Largest error of momenta and largest |g|, over units, of each open island; of all of them."""
    n, units, most = plan[BODIES], plan[UNITS_AT] + 1, 0.0
    for body in range(n):
        record = record_of(plan, body)
        if contacts[record + PHASE] == OPEN:
            contacts[record + MOMENTUM_ERROR], contacts[record + OPENED] = 0.0, 0.0
    for body in range(n):
        island = island_of(plan, contacts, body)
        if contacts[island + PHASE] != OPEN:
            continue
        sums = products(nothing(), constant, body * BODY_SIZE + IMPULSE, r, TWIST * body)
        error = most_of(largest(nothing(), sums))
        most = max(most, error)
        contacts[island + MOMENTUM_ERROR] = max(contacts[island + MOMENTUM_ERROR], error)
    for k in range(plan[JOINTS]):
        island = joint_island(plan, contacts, k)
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        first, opened = plan[group + EQUATION], 0.0
        for row in range(first, first + plan[group + N_ROWS]):
            opened = max(opened, constant[units + row] * abs(r[TWIST * n + row]))
        contacts[island + OPENED] = max(contacts[island + OPENED], h * opened)
    return most


@kernel
def start_attempt(plan, contacts):
    """No errors yet, and steps that go all their way."""
    forget_errors(plan, contacts)
    for body in range(plan[BODIES]):
        record = record_of(plan, body)
        contacts[record + STEP_PART], contacts[record + BEST] = 1.0, 1e300
        contacts[record + STALLED] = 0.0


@kernel
def forget_errors(plan, contacts):
    """Errors of the iteration before <- infinite."""
    for body in range(plan[BODIES]):
        contacts[record_of(plan, body) + ERROR_BEFORE] = 1e300


@kernel
def lose_wrong(plan, contacts, r):
    """Open islands with a residual that is no number are lost; whether there are any."""
    n, found = plan[BODIES], False
    for body in range(n):
        island = island_of(plan, contacts, body)
        for j in range(TWIST * body, TWIST * (body + 1)):
            if not abs(r[j]) < 1e150 and contacts[island + PHASE] == OPEN:
                contacts[island + PHASE], found = LOST, True
    for k in range(plan[JOINTS]):
        island = joint_island(plan, contacts, k)
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        first = TWIST * n + plan[group + EQUATION]
        for j in range(first, first + plan[group + N_ROWS]):
            if not abs(r[j]) < 1e150 and contacts[island + PHASE] == OPEN:
                contacts[island + PHASE], found = LOST, True
    return found


@kernel
def largest_impulse(plan, constant, island, x, contacts):
    """Largest momentum of a body or impulse of a joint of an island, over its unit."""
    n, most = plan[BODIES], 0.0
    for body in range(n):
        if island_of(plan, contacts, body) == island:
            sums = products(nothing(), constant, body * BODY_SIZE + PACE, x, TWIST * body)
            most = max(most, most_of(largest(nothing(), sums)))
    units = plan[UNITS_AT] + 1 + plan[ROWS]
    for k in range(plan[JOINTS]):
        if joint_island(plan, contacts, k) == island:
            group = plan[GROUP_AT] + k * GROUP_FIELDS
            first = plan[group + EQUATION]
            for row in range(first, first + plan[group + N_ROWS]):
                most = max(most, constant[units + row] * abs(x[TWIST * n + row]))
    return most


@kernel
def rotors_rounding(plan, constant, h, island, g, contacts):
    """Error of momenta of an island by rounding: a rotor's is that of a difference of angles."""
    most = 0.0
    for k in range(plan[JOINTS], plan[JOINTS] + plan[ROTORS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            rotor = constant[plan[ROW_CONSTANT_AT] + row * ROW_SIZE + ARMATURE]
            for side in range(2 if rotor != 0.0 else 0):
                body = plan[group + A + side]
                if body < plan[BODIES] and island_of(plan, contacts, body) == island:
                    for j in range(body * BODY_SIZE + IMPULSE, body * BODY_SIZE + IMPULSE + TWIST):
                        most = max(most, constant[j] * rotor * (1.0 + abs(g[row])))
    return ROUNDINGS * most / h


@kernel
def lose_above(plan, error, contacts):
    """Open islands whose error of momenta is larger are lost, at 0 all; whether there are any."""
    found = False
    for body in range(plan[BODIES]):
        record = record_of(plan, body)
        if contacts[record + PHASE] == OPEN and int(contacts[record + ISLAND]) == body:
            if error == 0.0 or contacts[record + MOMENTUM_ERROR] > error:
                contacts[record + PHASE], found = LOST, True
    return found


@kernel
def hold(plan, contacts, r):
    """r <- 0 but for open islands, whose next step it then is alone."""
    for body in range(plan[BODIES]):
        if contacts[island_of(plan, contacts, body) + PHASE] != OPEN:
            for j in range(TWIST * body, TWIST * (body + 1)):
                r[j] = 0.0
    for k in range(plan[JOINTS]):
        if contacts[joint_island(plan, contacts, k) + PHASE] != OPEN:
            group = plan[GROUP_AT] + k * GROUP_FIELDS
            first = TWIST * plan[BODIES] + plan[group + EQUATION]
            for j in range(first, first + plan[group + N_ROWS]):
                r[j] = 0.0


@kernel
def drop_lost(plan, h, u, mu, x, contacts):
    """x of islands that are lost <- the guess: velocities and multipliers of the last interval."""
    for body in range(plan[BODIES]):
        if contacts[island_of(plan, contacts, body) + PHASE] == LOST:
            for j in range(TWIST * body, TWIST * (body + 1)):
                x[j] = u[j]
    for k in range(plan[JOINTS]):
        if contacts[joint_island(plan, contacts, k) + PHASE] == LOST:
            group = plan[GROUP_AT] + k * GROUP_FIELDS
            first = plan[group + EQUATION]
            for row in range(first, first + plan[group + N_ROWS]):
                x[TWIST * plan[BODIES] + row] = h * mu[row]


@kernel
def open_lost(plan, contacts):
    """Islands that are lost are open again."""
    for body in range(plan[BODIES]):
        record = record_of(plan, body)
        if contacts[record + PHASE] == LOST:
            contacts[record + PHASE] = OPEN


@kernel
def take_parts(plan, dx, x, contacts):
    """x <- x + part dx, with the part of each island."""
    n = plan[BODIES]
    for body in range(n):
        part = contacts[island_of(plan, contacts, body) + STEP_PART]
        for j in range(TWIST * body, TWIST * (body + 1)):
            x[j] += part * dx[j]
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        if plan[group + EQUATION] != plan[group + FIRST_ROW]:
            continue
        part = contacts[joint_island(plan, contacts, k) + STEP_PART]
        first = TWIST * n + plan[group + EQUATION]
        for j in range(first, first + plan[group + N_ROWS]):
            x[j] += part * dx[j]


@kernel
def aim(plan, constant, place, contacts):
    """Own barriers of contacts <- those of their islands, from that place in the records."""
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        unit = constant[plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE + ENERGY]
        barrier = contacts[contact_island(plan, contacts, k) + place]
        contacts[k * CONTACT_WORK + BARRIER_AT] = barrier * unit


@kernel
def enter(plan, contacts, k, phase):
    """The islands of both bodies of a contact enter a phase."""
    at = plan[CONTACT_AT] + k * CONTACT_FIELDS
    for body in (plan[at + A], plan[at + B]):
        if body < plan[BODIES]:
            contacts[island_of(plan, contacts, body) + PHASE] = phase


@kernel
def touches_lost(plan, contacts, k):
    """True if one of the bodies of a contact is in an island that is lost."""
    at = plan[CONTACT_AT] + k * CONTACT_FIELDS
    for body in (plan[at + A], plan[at + B]):
        if body < plan[BODIES]:
            if contacts[island_of(plan, contacts, body) + PHASE] == LOST:
                return True
    return False
