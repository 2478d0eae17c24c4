"""Condensation of contacts: each is eliminated in closed form.

A contact has a normal pair (gamma, s) and friction blocks (beta, eta) in second-order cones, the
head of beta being the coefficient times gamma, theory/contacts (2), (3), and t the time that the
force of a compliant one acts, see `rows.note_softness`:

    phi(z_next)/h + C gamma / (h t) = s,  gamma s = kappa,
    eta = T u,  beta0 eta0 + beta . eta = kappa,  beta0 eta + eta0 beta = 0.

Given the bodies' velocities, its Newton block is solved by a division and one 2 x 2 inverse. It
adds W^T K W_next to their blocks, with W the rows (N, T). The graph stays that of bodies and
joints, and every contact costs the same.
"""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import (
    AB_AT,
    BA_AT,
    BARRIER_AT,
    BLOCK,
    BLOCKS,
    BODIES,
    BODY_AT,
    CONES,
    CONTACT_AT,
    CONTACT_CONSTANT_AT,
    CONTACT_ERROR,
    CONTACT_FIELDS,
    CONTACT_PACE,
    CONTACT_SIZE,
    CONTACT_WORK,
    CONTACTS,
    ENERGY,
    ERROR_AT,
    ETA,
    ETA0,
    FACETS,
    FACTORED_AT,
    FREE_AT,
    FREE_BLOCKS_AT,
    GAP_AT,
    K_AT,
    K_BLOCK,
    K_BLOCKS_AT,
    K_SPEED,
    MASS_AT,
    NEXT_AT,
    SLACK,
    SLOPES,
    SLOT,
    SOFT_AT,
    SPEED_AT,
    STEP_PART,
    T_AT,
    T_SIZE,
    TURNING_PACE,
    TWIST,
    UNDECIDED_AT,
    W_AT,
    A,
    B,
)
from dynamics.kernels.base.six import load_six, nothing, plus, plus_multiple, put
from dynamics.kernels.contacts.islands import contact_island
from dynamics.kernels.contacts.linear_cone import polygon_law
from dynamics.kernels.contacts.rows import (
    acting_contact,
    acting_contacts,
    contact_rate,
    friction_of,
    is_dry_friction,
)
from dynamics.kernels.interval.matrix import add_outer

#: Friction blocks of a contact at most: sliding, torsional, rolling.
MOST_BLOCKS = 3
#: Largest stiffness of a contact over its effective mass. Pivots of its bodies lose all digits
#: beyond: at 1e13, a driven ant takes 11 times the factorizations.
STIFFEST = 1e11


@kernel
def normal_error(plan, h, k, u, c, contacts):
    """phi(z_next)/h + C gamma/(h t) - s, or N u + e N u_before - s at an impact."""
    at = plan[CONTACT_AT] + k * CONTACT_FIELDS
    w, slot = k * CONTACT_WORK, plan[at + SLOT]
    if contacts[w + SPEED_AT] != 0.0:
        return (
            contact_rate(plan, at, contacts, w + W_AT, u) + contacts[w + SPEED_AT] - c[slot + SLACK]
        )
    return contacts[w + GAP_AT] / h - c[slot + SLACK] + contacts[w + SOFT_AT] * c[slot]


@kernel
def softness(contacts, w):
    """C / (h t) of a contact, see `note_softness`; 0 where it is held by a speed."""
    return 0.0 if contacts[w + SPEED_AT] != 0.0 else contacts[w + SOFT_AT]


@kernel
def note_error(plan, h, k, u, c, contacts):
    """`softness` and `normal_error` of a contact; ERROR <- the latter."""
    w = k * CONTACT_WORK
    e = normal_error(plan, h, k, u, c, contacts)
    contacts[w + ERROR_AT] = e
    return softness(contacts, w), e


@kernel
def take_step_of(plan, k, dc, contacts, c):
    """c <- c + part dc of one contact, with the part of its island."""
    at = plan[CONTACT_AT] + k * CONTACT_FIELDS
    part = contacts[contact_island(plan, contacts, k) + STEP_PART]
    slot = plan[at + SLOT]
    for j in range(slot, slot + numbers_of(plan, at)):
        c[j] += part * dc[j]


@kernel
def take_step(plan, dc, contacts, c):
    """`take_step_of` of the contacts that act."""
    for nth in range(acting_contacts(plan, contacts)):
        take_step_of(plan, acting_contact(plan, contacts, nth), dc, contacts, c)


@kernel
def push_out(plan, c, contacts, r):
    """r <- r - W^T (gamma, beta)."""
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        w = k * CONTACT_WORK
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        slot = plan[at + SLOT]
        if plan[at + BLOCKS] == 0:
            subtract_row(plan, plan[BODIES], at, contacts, w + W_AT, c[slot], r)
        for i in range(plan[at + BLOCKS]):
            q = slot + CONES + BLOCK * i
            subtract_block(plan, at, contacts, w, i, c[slot], c[q], c[q + 1], r)


@kernel
def subtract_row(plan, n, at, W, to, part, r):
    """r <- r - part W^T, one row."""
    a, b = plan[at + A], plan[at + B]
    if a < n:
        put(r, TWIST * a, plus(load_six(r, TWIST * a), -part, W, to))
    if b < n:
        put(r, TWIST * b, plus(load_six(r, TWIST * b), -part, W, to + TWIST))


@kernel
def subtract_block(plan, at, W, w, i, normal, one, two, r):
    """r <- r - W^T (one, two) of both rows of a friction block; of N, too, with the first."""
    n, a, b = plan[BODIES], plan[at + A], plan[at + B]
    to = w + T_AT + T_SIZE * i
    first = normal if i == 0 else 0.0
    for side in range(0 if a < n else 1, 2 if b < n else 1):
        body, row = (b, to + TWIST) if side == 1 else (a, to)
        sums = plus(load_six(r, TWIST * body), -first, W, row - SLOPES)
        sums = plus(sums, -one, W, row)
        put(r, TWIST * body, plus(sums, -two, W, row + SLOPES))


@kernel
def find_errors(plan, constant, h, barrier, u, c, contacts):
    """Largest residual of contacts at a barrier, over units of speed and energy, of each island.

    Those of islands whose momenta are not there yet stay -1.
    """
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        w, island = k * CONTACT_WORK, contact_island(plan, contacts, k)
        most = contacts[island + CONTACT_ERROR]
        if most < 0.0:
            continue
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        p = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
        slot = plan[at + SLOT]
        kappa, pace = barrier * constant[p + ENERGY], constant[p + CONTACT_PACE]
        e = normal_error(plan, h, k, u, c, contacts)
        f = (
            0.0
            if is_dry_friction(plan, k)
            else c[slot] * c[slot + SLACK] / constant[p + ENERGY] - barrier
        )
        most = max(most, max(pace * abs(e), abs(f)))
        for i in range(plan[at + BLOCKS]):
            q = slot + CONES + BLOCK * i
            head = friction_of(constant, contacts, p, w, i) * c[slot]
            to = w + T_AT + T_SIZE * i
            x, y = (
                contact_rate(plan, at, contacts, to, u),
                contact_rate(plan, at, contacts, to + SLOPES, u),
            )
            if i == 0 and plan[at + FACETS] > 0:
                error = max(abs(x - c[q + ETA]), abs(y - c[q + ETA + 1]))
                most = max(most, pace * error)
                continue
            if i > 0:
                pace = constant[p + TURNING_PACE]
            heat, _ = sliding(kappa / head, x, y)
            scale = 1.0 / (heat + head)
            e, f = scale * (head * x + heat * c[q]), scale * (head * y + heat * c[q + 1])
            most = max(most, pace * max(abs(e), abs(f)))
        contacts[island + CONTACT_ERROR] = most


@kernel
def sliding(ratio, x, y):
    """eta0 of the central path at eta = (x, y), eta0^2 - |eta|^2 = ratio eta0; 2 eta0 - ratio."""
    root = math.sqrt(ratio * ratio + 4.0 * (x * x + y * y))
    return 0.5 * (ratio + root), root


@kernel
def friction_law(head, c, q, r6, r7, r8, e3, e4):
    """beta step = free + by_head d(head) + by_speed d(T u): the solved block of one cone.

    Gives (free (2), by_head (2), by_speed (2 x 2, row-major)).
    """
    b0, b1, heat = c[q], c[q + 1], c[q + ETA0]
    x, y = c[q + ETA], c[q + ETA + 1]
    # A = eta0 I - beta eta^T / head
    a00, a01 = heat - b0 * x / head, -b0 * y / head
    a10, a11 = -b1 * x / head, heat - b1 * y / head
    scale = 1.0 / (a00 * a11 - a01 * a10)
    ratio = heat / head
    # speed block: -head I + beta beta^T / head, on d eta = d(T u) - e
    s00, s01, s11 = -head + b0 * b0 / head, b0 * b1 / head, -head + b1 * b1 / head
    f0 = -r7 + b0 * r6 / head - s00 * e3 - s01 * e4
    f1 = -r8 + b1 * r6 / head - s01 * e3 - s11 * e4
    h0, h1 = -x + b0 * ratio, -y + b1 * ratio
    return (
        scale * (a11 * f0 - a01 * f1),
        scale * (a00 * f1 - a10 * f0),
        scale * (a11 * h0 - a01 * h1),
        scale * (a00 * h1 - a10 * h0),
        scale * (a11 * s00 - a01 * s01),
        scale * (a11 * s01 - a01 * s11),
        scale * (a00 * s01 - a10 * s00),
        scale * (a00 * s11 - a10 * s01),
    )


@kernel
def cone_errors(head, c, q, kappa):
    """Residuals of a cone."""
    r6 = head * c[q + ETA0] + c[q] * c[q + ETA] + c[q + 1] * c[q + ETA + 1] - kappa
    r7 = head * c[q + ETA] + c[q + ETA0] * c[q]
    r8 = head * c[q + ETA + 1] + c[q + ETA0] * c[q + 1]
    return r6, r7, r8


@kernel
def sliding_law(head, target, b0, b1, heat, x, y):
    """As `friction_law`, with eta and eta0 on the central path whatever beta is.

    Steps then turn and reverse a sliding velocity freely, which a cone for it would stop.
    """
    scale = -1.0 / heat
    rest = (x * x + y * y) * scale
    root, ratio = heat - rest, heat + rest
    r0, r1 = head * x + heat * b0, head * y + heat * b1
    squared = b0 * b0 + b1 * b1
    # outside of its cone the slope would be indefinite: 2 to 15 times the factorizations of heaps
    if squared > head * head:
        part = head / math.sqrt(squared)
        b0, b1 = b0 * part, b1 * part
    over_root, over_head = 1.0 / root, 1.0 / head
    less = heat * ratio * over_root * over_head
    more = heat * over_root * (target * over_head - ratio)
    x2, y2 = 2.0 * x * over_root, 2.0 * y * over_root
    return (
        scale * (r0 + b0 * more),
        scale * (r1 + b1 * more),
        scale * (x - b0 * less),
        scale * (y - b1 * less),
        scale * (head + b0 * x2),
        scale * b0 * y2,
        scale * b1 * x2,
        scale * (head + b1 * y2),
    )


@kernel
def condense(plan, constant, h, kappa, on_path, u, c, contacts, r):
    """K and the free steps of every contact at a barrier or its own; r <- r - W^T (free steps).

    ``kappa`` is over units of energy. Friction by `friction_law` where contacts are ``on_path``,
    else by `sliding_law`.
    """
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        unit = constant[plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE + ENERGY]
        barrier = max(kappa * unit, contacts[k * CONTACT_WORK + BARRIER_AT])
        condense_contact(plan, constant, h, barrier, 0.0, on_path, k, u, c, contacts, r)


@kernel
def condense_contact(plan, constant, h, kappa, second, on_path, k, u, c, contacts, r):
    """`condense` of one contact at a barrier, given the second order of gamma s."""
    w = k * CONTACT_WORK
    at = plan[CONTACT_AT] + k * CONTACT_FIELDS
    p = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
    slot, blocks = plan[at + SLOT], plan[at + BLOCKS]
    if contacts[w + UNDECIDED_AT] != 0.0:
        for j in range(K_AT, FREE_BLOCKS_AT + 2 * MOST_BLOCKS):
            contacts[w + j] = 0.0
        return
    gamma, s = c[slot], c[slot + SLACK]
    soft, e = note_error(plan, h, k, u, c, contacts)
    # s dgamma + gamma (N du + soft dgamma + e) = kappa - gamma s
    stiff, free = 0.0, 0.0
    if not is_dry_friction(plan, k):
        reach = 1.0 / max(s + soft * gamma, gamma / (STIFFEST * contacts[w + MASS_AT]))
        stiff = gamma * reach
        free = (kappa - second - gamma * s - gamma * e) * reach
    contacts[w + K_AT] = stiff
    contacts[w + FREE_AT] = free
    if on_path:
        for j in range(SLOPES):
            contacts[w + FACTORED_AT + j] = contacts[w + NEXT_AT + j]
    if blocks == 0:
        subtract_row(plan, plan[BODIES], at, contacts, w + W_AT, free, r)
    for i in range(blocks):
        q = slot + CONES + BLOCK * i
        friction = friction_of(constant, contacts, p, w, i)
        to = w + T_AT + T_SIZE * i
        head = friction * gamma
        facets = plan[at + FACETS] if i == 0 else 0
        x, y = c[q + ETA], c[q + ETA + 1]
        if on_path or facets > 0:
            x = contact_rate(plan, at, contacts, to, u)
            y = contact_rate(plan, at, contacts, to + SLOPES, u)
        if facets > 0:
            tail = slot + CONES + BLOCK * blocks
            law = polygon_law(facets, head, kappa, x, y, c, q, tail)
        elif on_path:
            r6, r7, r8 = cone_errors(head, c, q, kappa)
            law = friction_law(head, c, q, r6, r7, r8, c[q + ETA] - x, c[q + ETA + 1] - y)
        else:
            law = sliding_law(head, kappa, c[q], c[q + 1], c[q + ETA0], x, y)
        place = w + K_BLOCKS_AT + K_BLOCK * i
        # beta = free0 + by_head m (free - stiff N du) + by_speed T du
        contacts[place] = -friction * law[2] * stiff
        contacts[place + 1] = -friction * law[3] * stiff
        for j in range(4):
            contacts[place + K_SPEED + j] = law[4 + j]
        f0 = law[0] + friction * law[2] * free
        f1 = law[1] + friction * law[3] * free
        contacts[w + FREE_BLOCKS_AT + 2 * i] = f0
        contacts[w + FREE_BLOCKS_AT + 2 * i + 1] = f1
        subtract_block(plan, at, contacts, w, i, free, f0, f1, r)


@kernel
def chord_steps(plan, constant, h, u, c, contacts, r):
    """Free steps of every contact block by the stored K; r <- r - W^T (free steps).

    On the central path only speeds have an error e: gap and s, T u and eta. Free steps are K e.
    """
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        w = k * CONTACT_WORK
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        slot = plan[at + SLOT]
        _, e = note_error(plan, h, k, u, c, contacts)
        normal = -contacts[w + K_AT] * e
        contacts[w + FREE_AT] = normal
        if plan[at + BLOCKS] == 0:
            subtract_row(plan, plan[BODIES], at, contacts, w + W_AT, normal, r)
        for i in range(plan[at + BLOCKS]):
            q, to = slot + CONES + BLOCK * i, w + T_AT + T_SIZE * i
            one = contact_rate(plan, at, contacts, to, u) - c[q + ETA]
            two = contact_rate(plan, at, contacts, to + SLOPES, u) - c[q + ETA + 1]
            place, free = w + K_BLOCKS_AT + K_BLOCK * i, w + FREE_BLOCKS_AT + 2 * i
            speed = place + K_SPEED
            f0 = contacts[place] * e + contacts[speed] * one + contacts[speed + 1] * two
            f1 = contacts[place + 1] * e + contacts[speed + 2] * one + contacts[speed + 3] * two
            contacts[free], contacts[free + 1] = f0, f1
            subtract_block(plan, at, contacts, w, i, normal, f0, f1, r)


@kernel
def add_contact_row(plan, n, at, scale, contacts, left, right, values):
    """values <- values + scale W_left^T W_right on the blocks of both bodies."""
    if scale == 0.0:
        return
    a, b = plan[at + A], plan[at + B]
    if a < n:
        add_outer(values, plan[plan[BODY_AT] + a], scale, contacts, left, right)
    if b < n:
        add_outer(values, plan[plan[BODY_AT] + b], scale, contacts, left + TWIST, right + TWIST)
        if a < n:
            add_outer(values, plan[at + AB_AT], scale, contacts, left, right + TWIST)
            add_outer(values, plan[at + BA_AT], scale, contacts, left + TWIST, right)


@kernel
def add_three(values, at, W, left, right):
    """`add_outer` of three rows at left and at right, each SLOPES after the one before."""
    one, two = load_six(W, left), load_six(W, left + SLOPES)
    three = load_six(W, left + 2 * SLOPES)
    for j in range(6):
        column = plus_multiple(load_six(values, at + 6 * j), W[right + j], one)
        column = plus_multiple(column, W[right + SLOPES + j], two)
        put(values, at + 6 * j, plus_multiple(column, W[right + 2 * SLOPES + j], three))


@kernel
def clear_pairs(plan, values):
    """values <- 0 in blocks between bodies of contacts, which `assemble` leaves as they are."""
    n, before = plan[BODIES], -1
    for k in range(plan[CONTACTS]):
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        place = plan[at + AB_AT]
        if plan[at + A] == n or plan[at + B] == n or place == before:
            continue
        before = place  # the contacts of a plane follow each other
        for j in range(0, 36, 6):
            put(values, place + j, nothing())
            put(values, plan[at + BA_AT] + j, nothing())


@kernel
def add_contacts(plan, contacts, values):
    """values <- values + W^T K W_next of every contact; K as `condense` left it."""
    n, row = plan[BODIES], CONTACT_WORK * plan[CONTACTS] + 1 + plan[CONTACTS]
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        w = k * CONTACT_WORK
        a, b = plan[at + A], plan[at + B]
        stiff, next_at = contacts[w + K_AT], w + NEXT_AT
        if plan[at + BLOCKS] == 0:
            add_contact_row(plan, n, at, stiff, contacts, w + W_AT, next_at, values)
        for i in range(plan[at + BLOCKS]):
            one, place = w + T_AT + T_SIZE * i, w + K_BLOCKS_AT + K_BLOCK * i
            # -(K_jN N_next + K_j1 T_1 + K_j2 T_2) for T_j, N with the first
            first = stiff if i == 0 else 0.0
            for e in range(0 if a < n else TWIST, SLOPES if b < n else TWIST, TWIST):
                normal = load_six(contacts, next_at + e)
                x, y = load_six(contacts, one + e), load_six(contacts, one + SLOPES + e)
                put(contacts, row + e, plus_multiple(nothing(), first, normal))
                for j in range(2):
                    speed = place + K_SPEED + 2 * j
                    sums = plus_multiple(nothing(), -contacts[place + j], normal)
                    sums = plus_multiple(sums, -contacts[speed], x)
                    sums = plus_multiple(sums, -contacts[speed + 1], y)
                    put(contacts, row + SLOPES * (1 + j) + e, sums)
            left = one - SLOPES
            if a < n:
                add_three(values, plan[plan[BODY_AT] + a], contacts, left, row)
            if b < n:
                add_three(values, plan[plan[BODY_AT] + b], contacts, left + TWIST, row + TWIST)
                if a < n:
                    add_three(values, plan[at + AB_AT], contacts, left, row + TWIST)
                    add_three(values, plan[at + BA_AT], contacts, left + TWIST, row)


@kernel
def numbers_of(plan, at):
    """Numbers of a contact in a state: `layout.slots_of`."""
    facets = plan[at + FACETS]
    return CONES + BLOCK * plan[at + BLOCKS] + (facets + 1 if facets > 0 else 0)


@kernel
def normal_step(plan, k, rows, du, contacts, dc):
    """Step of gamma and s of a contact, given that of the velocities; the change of N u.

    After `condense` or `chord_steps`. ``rows`` is the place of the rows N that the velocities were
    found with.
    """
    w, at = k * CONTACT_WORK, plan[CONTACT_AT] + k * CONTACT_FIELDS
    slot = plan[at + SLOT]
    normal = contact_rate(plan, at, contacts, w + rows, du)
    dgamma = contacts[w + FREE_AT] - contacts[w + K_AT] * normal
    dc[slot] = dgamma
    dc[slot + SLACK] = contacts[w + ERROR_AT] + normal + softness(contacts, w) * dgamma
    return normal


@kernel
def step_of(plan, k, rows, du, contacts, dc):
    """Step of the numbers of a contact, given that of the velocities: `normal_step`."""
    w, at = k * CONTACT_WORK, plan[CONTACT_AT] + k * CONTACT_FIELDS
    slot = plan[at + SLOT]
    normal = normal_step(plan, k, rows, du, contacts, dc)
    for j in range(CONES + BLOCK * plan[at + BLOCKS], numbers_of(plan, at)):
        dc[slot + j] = 0.0
    for i in range(plan[at + BLOCKS]):
        q, to = slot + CONES + BLOCK * i, w + T_AT + T_SIZE * i
        place, free = w + K_BLOCKS_AT + K_BLOCK * i, w + FREE_BLOCKS_AT + 2 * i
        speed = place + K_SPEED
        one = contact_rate(plan, at, contacts, to, du)
        two = contact_rate(plan, at, contacts, to + SLOPES, du)
        dc[q + ETA0], dc[q + ETA], dc[q + ETA + 1] = 0.0, 0.0, 0.0  # by `central_path`
        f0 = contacts[free] + contacts[place] * normal
        f1 = contacts[free + 1] + contacts[place + 1] * normal
        dc[q] = f0 + contacts[speed] * one + contacts[speed + 1] * two
        dc[q + 1] = f1 + contacts[speed + 2] * one + contacts[speed + 3] * two


@kernel
def steps_of(plan, rows, du, contacts, dc):
    """`step_of` of the contacts that act."""
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        step_of(plan, k, rows, du, contacts, dc)
