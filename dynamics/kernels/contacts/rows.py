"""Rows of contacts: relative velocities of their nearest points, and how far they are apart."""

import math

from dynamics.kernels.base.jit import inlined, kernel, lazy
from dynamics.kernels.base.layout import (
    ACTIVE_AT,
    ARM_A_AT,
    ARM_B_AT,
    BLOCK,
    BLOCK_MASS_AT,
    BLOCKS,
    BODIES,
    BODY_SIZE,
    CONES,
    CONTACT_AT,
    CONTACT_CONSTANT_AT,
    CONTACT_FIELDS,
    CONTACT_KIND,
    CONTACT_LENGTH,
    CONTACT_PACE,
    CONTACT_SIZE,
    CONTACT_WORK,
    CONTACTS,
    DISTANCE_AT,
    ENERGY,
    FACETS,
    FALL,
    FRICTION,
    FRICTION_PART_AT,
    GAMMA,
    GAP_AT,
    GROUPS,
    JOINTS,
    LARGEST_INERTIA,
    LIMIT,
    LIMITED_ROW,
    MASS,
    MASS_AT,
    MUST_ACT,
    NEXT_AT,
    NORMAL_AT,
    OF_PLANE,
    OF_RATE,
    RESTITUTION,
    RESTITUTION_AT,
    ROTORS,
    SIGN,
    SLOPES,
    SLOT,
    SOFT_AT,
    SOFT_CONTACTS,
    SOFTNESS,
    SPEED_AT,
    T_AT,
    T_SIZE,
    TURNING_PACE,
    TWIST,
    W_AT,
    A,
    B,
)
from dynamics.kernels.base.quaternion import cross, dot, load3
from dynamics.kernels.base.six import nothing, products, total_of
from dynamics.kernels.contacts.geometry import (
    DRY_FRICTION,
    LIMITED,
    PLANE_RIM,
    PLANE_SPHERE,
    TINY,
    gap,
)
from dynamics.kernels.interval.matrix import stretch
from dynamics.kernels.rows.rows import turned_back, write
from dynamics.kernels.rows.stiff_forces import part_of

#: Accelerations of an interval that make no bounce, over the contact's unit.
FALLS = 3.0
#: Least effective mass, over the contact's unit: a body without mass between two hinges moves with
#: those that it joins, and a thousandth of theirs is what planes weigh. Without it, steps of a
#: driven humanoid fail.
LEAST_MASS = 1e-4


@kernel
def acting_contacts(plan, contacts):
    """Number of contacts in the list of those that act."""
    return int(contacts[CONTACT_WORK * plan[CONTACTS]])


@kernel
def acting_contact(plan, contacts, nth):
    """The nth of them."""
    return int(contacts[CONTACT_WORK * plan[CONTACTS] + 1 + nth])


@kernel
def start_list(plan, contacts):
    """Empty the list of contacts that act: most are far, and their numbers would fill caches."""
    contacts[CONTACT_WORK * plan[CONTACTS]] = 0.0


@kernel
def list_contact(plan, contacts, k):
    """Add a contact to the list."""
    at = CONTACT_WORK * plan[CONTACTS]
    contacts[at] += 1.0
    contacts[at + int(contacts[at])] = k


@kernel
def list_all(plan, contacts):
    """List all contacts."""
    start_list(plan, contacts)
    for k in range(plan[CONTACTS]):
        list_contact(plan, contacts, k)


@kernel
def list_acting(plan, contacts):
    """List the contacts whose ACTIVE is not 0."""
    start_list(plan, contacts)
    for k in range(plan[CONTACTS]):
        if contacts[k * CONTACT_WORK + ACTIVE_AT] != 0.0:
            list_contact(plan, contacts, k)


@kernel
def tangents(n, sign):
    """Two unit vectors across n, smooth but at n_z = -sign (Duff et al. 2017)."""
    a = -1.0 / (sign + n[2])
    b = n[0] * n[1] * a
    return (1.0 + sign * n[0] * n[0] * a, sign * b, -sign * n[0]), (
        b,
        sign + n[1] * n[1] * a,
        -n[1],
    )


@kernel
def point_row(matrix, a, b, arm_a, arm_b, d, out, at):
    """Row of the relative velocity along d of two points: (-d, .., d, ..)."""
    ta = turned_back(matrix, 9 * a, cross(arm_a, d))
    tb = turned_back(matrix, 9 * b, cross(arm_b, d))
    write(out, at, d, (-ta[0], -ta[1], -ta[2]), tb)


@kernel
def turning_row(matrix, a, b, d, out, at):
    """Row of the relative angular velocity about d."""
    ta = turned_back(matrix, 9 * a, d)
    write(out, at, (0.0, 0.0, 0.0), (-ta[0], -ta[1], -ta[2]), turned_back(matrix, 9 * b, d))


@kernel
def limit_row(plan, constant, at, c, g, G, out, to):
    """Distance to a joint's limit, and its row."""
    row = plan[at + LIMITED_ROW]
    sign = constant[c + SIGN]
    for j in range(SLOPES):
        out[to + j] = sign * G[SLOPES * row + j]
    return sign * (g[row] - constant[c + LIMIT])


@kernel
def is_dry_friction(plan, k):
    """True for a contact that is dry friction of a row, which always presses with 1."""
    return plan[plan[CONTACT_AT] + k * CONTACT_FIELDS + CONTACT_KIND] == DRY_FRICTION


@kernel
def friction_of(constant, contacts, p, w, i):
    """Coefficient of a friction block, or bound of dry friction, that the interval has."""
    return constant[p + FRICTION + i] * contacts[w + FRICTION_PART_AT]


@kernel
def dry_friction_rows(plan, at, G, out, to):
    """Row of a joint's rate as the first of a friction block, N and the second 0."""
    row = plan[at + LIMITED_ROW]
    for j in range(SLOPES):
        out[to + j], out[to + SLOPES + j], out[to + 2 * SLOPES + j] = 0.0, G[SLOPES * row + j], 0.0


@kernel
def contact_rate(plan, at, W, to, u):
    """W u of one row of a contact."""
    a, b = plan[at + A], plan[at + B]
    sums = nothing()
    if a < plan[BODIES]:
        sums = products(sums, W, to, u, TWIST * a)
    if b < plan[BODIES]:
        sums = products(sums, W, to + TWIST, u, TWIST * b)
    return total_of(sums)


@kernel
def note_softness(plan, constant, h, node, contacts):
    """SOFT of listed contacts <- C / (h t), t the time for which compliant ones act: `part_of`.

    The impulse of a node is that of half an interval before and after it, as of `stiff_forces`.
    Effective masses of N <- those of the body and the spring in a row.
    """
    per_impulse = 1.0 / (h * part_of(plan, h, node.g))
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        w = k * CONTACT_WORK
        soft = per_impulse * constant[plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE + SOFTNESS]
        contacts[w + SOFT_AT] = soft
        if soft > 0.0 and contacts[w + SPEED_AT] == 0.0:
            contacts[w + MASS_AT] /= 1.0 + soft * contacts[w + MASS_AT]


@lazy("(float float)")
def start_of_soft(plan, constant, h, g, contacts, c, u, x):
    """Energy of compliant contacts at the start of an interval, and work of their forces there.

    The force is gamma + h N x / C, which the gap at the start makes, and the work that from the
    middle of the last interval to that of this one: between them velocities change from u to x.
    """
    energy, work, time = 0.0, 0.0, part_of(plan, h, g)
    for k in range(plan[CONTACTS] if plan[SOFT_CONTACTS] != 0 else 0):
        at, w = plan[CONTACT_AT] + k * CONTACT_FIELDS, k * CONTACT_WORK
        soft = constant[plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE + SOFTNESS]
        if soft == 0.0 or contacts[w + ACTIVE_AT] == 0.0:
            continue
        after = contact_rate(plan, at, contacts, w + W_AT, x)
        before = contact_rate(plan, at, contacts, w + W_AT, u)
        force = max(0.0, c[plan[at + SLOT] + GAMMA] + h * after / soft)
        energy += 0.5 * soft * force * force
        work += 0.5 * time * force * (before + after)
    return energy, work


@kernel
def mobility(constant, body, W, to):
    """N M^-1 N^T of one body's part of a row, its inertia taken as the largest of the body."""
    c, moving, turning = body * BODY_SIZE, 0.0, 0.0
    for j in range(3):
        moving += W[to + j] ** 2
        turning += W[to + 3 + j] ** 2
    return moving / constant[c + MASS] + turning / constant[c + LARGEST_INERTIA]


@kernel
def effective_mass(plan, constant, at, W, to):
    """1 / (N M^-1 N^T) of one row."""
    n, total = plan[BODIES], 0.0
    for side in range(2):
        body = plan[at + B] if side == 1 else plan[at + A]
        if body < n:
            total += mobility(constant, body, W, to + TWIST * side)
    return 1.0 / total


@kernel
def weigh_planes(plan, constant, contacts):
    """Effective masses of contacts with planes <- those of the body: a plane weighs little."""
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        at, w = plan[CONTACT_AT] + k * CONTACT_FIELDS, k * CONTACT_WORK
        b = plan[at + B]
        if plan[at + OF_PLANE] == 0 or b == plan[BODIES]:
            continue
        contacts[w + MASS_AT] = 1.0 / mobility(constant, b, contacts, w + W_AT + TWIST)
        for i in range(plan[at + BLOCKS]):
            mass = 1.0 / mobility(constant, b, contacts, w + T_AT + T_SIZE * i + TWIST)
            contacts[w + BLOCK_MASS_AT + i] = mass


@kernel
def normal_row(plan, constant, k, node, found, out, to):
    """out[to:] <- row N of a contact at a node; (its gap, whether a user's function failed)."""
    at = plan[CONTACT_AT] + k * CONTACT_FIELDS
    c = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
    if plan[at + CONTACT_KIND] == LIMITED:
        return limit_row(plan, constant, at, c, node.g, node.G, out, to), False
    if plan[at + CONTACT_KIND] == DRY_FRICTION:
        dry_friction_rows(plan, at, node.G, out, to)
        return 0.0, False
    if gap(plan, constant, at, c, node.pose, node.matrix, found) != 0:
        return 0.0, True
    arm_a, arm_b, normal = load3(found, ARM_A_AT), load3(found, ARM_B_AT), load3(found, NORMAL_AT)
    point_row(node.matrix, plan[at + A], plan[at + B], arm_a, arm_b, normal, out, to)
    return found[DISTANCE_AT], False


@kernel
def friction_rows(plan, k, node, sign, found, out, to):
    """out[to + SLOPES:] <- rows T of a contact, after `normal_row`, which left ``found``.

    ``sign`` is that of the normal's z; where it is given as 0, it is looked up.
    """
    matrix = node.matrix
    at = plan[CONTACT_AT] + k * CONTACT_FIELDS
    a, b, blocks = plan[at + A], plan[at + B], plan[at + BLOCKS]
    if blocks == 0 or plan[at + CONTACT_KIND] == DRY_FRICTION:
        return
    normal, arm_a, arm_b = load3(found, NORMAL_AT), load3(found, ARM_A_AT), load3(found, ARM_B_AT)
    one, two = tangents(normal, math.copysign(1.0, normal[2]) if sign == 0.0 else sign)
    point_row(matrix, a, b, arm_a, arm_b, one, out, to + SLOPES)
    point_row(matrix, a, b, arm_a, arm_b, two, out, to + T_SIZE)
    if blocks > 1:
        turning_row(matrix, a, b, normal, out, to + T_SIZE + SLOPES)
        for j in range(SLOPES):
            out[to + 2 * T_SIZE + j] = 0.0
    if blocks > 2:
        turning_row(matrix, a, b, one, out, to + 2 * T_SIZE + SLOPES)
        turning_row(matrix, a, b, two, out, to + 3 * T_SIZE)


@kernel
def is_of_half_space(plan, at):
    """Whether a contact is one with a half-space or with a plane between bodies.

    Heaps have many that are far, whose rows are not stored: 0.88 of the time of 200 shapes at rest.
    """
    kind = plan[at + CONTACT_KIND]
    return kind == PLANE_SPHERE or kind == PLANE_RIM


@kernel
def contact_rows(
    # Tables:
    plan,
    constant,
    # In:
    h,
    node,
    u,
    reach,
    # Work:
    found,
    # Out:
    contacts,
):  # fmt: skip
    """Rows N of listed contacts at the node, all of those that can act; 0, or 1 + a failure.

    A contact acts if its bodies can close its gap in the interval: at their speeds, whatever their
    directions, and its unit of acceleration; or within ``reach``, over its unit of length.
    """
    n, scratch = plan[BODIES], CONTACT_WORK * plan[CONTACTS] + 1 + plan[CONTACTS]
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        c = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
        w = k * CONTACT_WORK
        a, b, flat = plan[at + A], plan[at + B], is_of_half_space(plan, at)
        row = scratch if flat else w + W_AT
        distance, failed = normal_row(plan, constant, k, node, found, contacts, row)
        if failed:
            return 1 + k
        speed = 0.0
        for j in range(6):
            if a < n:
                speed += abs(contacts[row + j] * u[TWIST * a + j])
            if b < n:
                speed += abs(contacts[row + TWIST + j] * u[TWIST * b + j])
        way = h * (speed + h * constant[c + FALL])
        near = distance < way + reach * constant[c + CONTACT_LENGTH]
        contacts[w + GAP_AT], contacts[w + SPEED_AT] = distance, 0.0
        if flat:
            if not near and contacts[w + ACTIVE_AT] < MUST_ACT:
                contacts[w + ACTIVE_AT] = 0.0
                continue
            for j in range(SLOPES):
                contacts[w + W_AT + j] = contacts[row + j]
        approaching = contact_rate(plan, at, contacts, w + W_AT, u)
        bounces = constant[c + RESTITUTION] > 0.0 and contacts[w + ACTIVE_AT] != MUST_ACT
        if bounces and distance + h * approaching < 0.0:
            # Newton's law, where it is more than what gravity gives in some steps
            if approaching < -FALLS * h * constant[c + FALL]:
                part = abs(contacts[w + RESTITUTION_AT])
                contacts[w + SPEED_AT] = part * constant[c + RESTITUTION] * approaching
                contacts[w + RESTITUTION_AT] = -part
        if constant[c + OF_RATE] != 0.0:  # s = sign (G u - limit), in every interval
            bound = -constant[c + SIGN] * constant[c + LIMIT]
            contacts[w + SPEED_AT] = bound if bound != 0.0 else TINY
            near = True
        if is_dry_friction(plan, k):  # s = 1
            contacts[w + SPEED_AT], near = 1.0, True
        if contacts[w + ACTIVE_AT] < MUST_ACT:
            contacts[w + ACTIVE_AT] = 1.0 if near else 0.0
        if contacts[w + ACTIVE_AT] != 0.0:
            friction_rows(plan, k, node, 0.0, found, contacts, w + W_AT)
            least = LEAST_MASS * constant[c + ENERGY]
            linear, turning = constant[c + CONTACT_PACE] ** 2, constant[c + TURNING_PACE] ** 2
            if not is_dry_friction(plan, k):
                mass = effective_mass(plan, constant, at, contacts, w + W_AT)
                contacts[w + MASS_AT] = max(mass, least * linear)
            for i in range(plan[at + BLOCKS]):
                mass = effective_mass(plan, constant, at, contacts, w + T_AT + T_SIZE * i)
                mass = max(mass, least * (linear if i == 0 else turning))
                contacts[w + BLOCK_MASS_AT + i] = mass
    return 0


@inlined
def groups_at_end(plan):
    """Number of groups with rows that an interval's equations have at its end, or limits have."""
    for k in range(plan[CONTACTS]):
        if plan[plan[CONTACT_AT] + k * CONTACT_FIELDS + CONTACT_KIND] == LIMITED:
            return plan[GROUPS]
    return plan[JOINTS] + plan[ROTORS]


@kernel
def bounced(plan, contacts):
    """Whether Newton's law of restitution was tried at any contact in an interval."""
    for k in range(plan[CONTACTS]):
        if contacts[k * CONTACT_WORK + RESTITUTION_AT] < 0.0:
            return True
    return False


@kernel
def turn(E, W, at):
    """W[at:at + 3] <- W[at:at + 3] E, given by columns."""
    slopes = load3(W, at)
    W[at], W[at + 1], W[at + 2] = dot(slopes, E[0]), dot(slopes, E[1]), dot(slopes, E[2])


@kernel
def gaps(plan, constant, h, u, trial, found, contacts):
    """Gap and row N of listed contacts at the end, stretched to velocities: `contact_rows`."""
    n, E = plan[BODIES], stretch(h, u, 0)
    one, two, E_one, E_two = 0, 0, E, E  # most contacts have the bodies of the one before
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        w = k * CONTACT_WORK
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        c = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
        a, b = plan[at + A], plan[at + B]
        if contacts[w + SPEED_AT] != 0.0:  # an impact: the row at the start, on velocities
            for j in range(SLOPES):
                contacts[w + NEXT_AT + j] = contacts[w + W_AT + j]
            continue
        if plan[at + CONTACT_KIND] == LIMITED:
            distance = limit_row(plan, constant, at, c, trial.g, trial.G, contacts, w + NEXT_AT)
        else:
            if gap(plan, constant, at, c, trial.pose, trial.matrix, found) != 0:
                return 1 + k
            distance = found[DISTANCE_AT]
            arm_a, arm_b = load3(found, ARM_A_AT), load3(found, ARM_B_AT)
            normal = load3(found, NORMAL_AT)
            point_row(trial.matrix, a, b, arm_a, arm_b, normal, contacts, w + NEXT_AT)
        contacts[w + GAP_AT] = distance
        if a < n:
            if a != one:
                one, E_one = a, stretch(h, u, TWIST * a)
            turn(E_one, contacts, w + NEXT_AT + 3)
        if b < n:
            if b != two:
                two, E_two = b, stretch(h, u, TWIST * b)
            turn(E_two, contacts, w + NEXT_AT + TWIST + 3)
    return 0


@kernel
def impulses(plan, constant, scale, soft_scale, contacts, c):
    """Contact forces <- scale times them: impulses from forces and back; 0 where none acts.

    ``soft_scale`` is that of compliant contacts, whose impulses act for another time.
    """
    for k in range(plan[CONTACTS]):
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        slot, part = plan[at + SLOT], scale
        if constant[plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE + SOFTNESS] > 0.0:
            part = soft_scale
        if contacts[k * CONTACT_WORK + ACTIVE_AT] == 0.0:
            part = 0.0
        c[slot] *= part
        for i in range(plan[at + BLOCKS]):
            c[slot + CONES + BLOCK * i] *= part
            c[slot + CONES + BLOCK * i + 1] *= part
        if plan[at + FACETS] > 0:
            tail = slot + CONES + BLOCK * plan[at + BLOCKS]
            for i in range(plan[at + FACETS] + 1):
                c[tail + i] *= part
