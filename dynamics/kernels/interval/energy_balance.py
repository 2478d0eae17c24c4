"""Energy balance of a motion: what it holds, less what controls and users' forces put in.

In an interval with velocities V a motion holds

    T(V) - (work of gravity until its middle) + sum of U,

    U = k g g_next / 2                          of a spring with half kicks, g its length
    U = k (g^2 + g_next^2) / 4                  of a stiff one, whose force is that of g_next
    U = k (theta g_next + (1 - theta) g)^2 / 2  of a compliant joint
    U = (gamma_prev^2 + gamma^2) / (4 k)        of a compliant contact.

Half kicks of gravity and of linear springs keep it exactly (the energy at nodes goes up and down by
(h omega)^2 / 2 of T), and implicit forces let it fall, because their potential is convex. Dampers,
friction and impacts only lose. So the balance never rises by more than the error of the method. Its
rise over its least value is bounded here, over any number of intervals.
"""

import math

from dynamics.kernels.base.intervals import keeps_intervals
from dynamics.kernels.base.jit import kernel, lazy, natural, pointer
from dynamics.kernels.base.lanes import some, where
from dynamics.kernels.base.layout import (
    ADDED,
    BODIES,
    BODY_SIZE,
    COMPLIANCE,
    CONTACT_AT,
    CONTACT_CONSTANT_AT,
    CONTACT_FIELDS,
    CONTACT_SIZE,
    CONTACTS,
    CONTROLS,
    FIRST_ROW,
    GAIN,
    GAMMA,
    GRAVITY,
    GROUP_AT,
    GROUP_FIELDS,
    GROUPS,
    IMPLICIT_STIFFNESS,
    INERTIA,
    JOINTS,
    MASS,
    N_ROWS,
    PACE,
    PULL,
    ROTORS,
    ROW_CONSTANT_AT,
    ROW_SIZE,
    SLOT,
    SOFT,
    SOFT_CONTACTS,
    SOFTNESS,
    STIFF_NUMBERS,
    STIFFNESS,
    THETA,
    TWIST,
    WRENCH_AT,
    WRENCH_FIELDS,
    WRENCH_SIZE,
    WRENCHES,
    A,
    B,
)
from dynamics.kernels.base.quaternion import dot, load3, multiply_matrix
from dynamics.kernels.base.settings import BARRIER, ENERGY_SHARE
from dynamics.kernels.base.step_info import (
    BALANCE,
    HELD,
    HELD_LENGTH,
    KINETIC,
    LARGEST_RISE,
    LEAST_BALANCE,
    MOST_KINETIC,
    RAISED,
    UNEXPLAINED_INTERVALS,
)
from dynamics.kernels.interval.energy_audit import constraint_impulses, work_of
from dynamics.kernels.rows.added_mass import add_momenta
from dynamics.kernels.rows.forces import drive, inner
from dynamics.kernels.rows.rotor import add_spin
from dynamics.kernels.rows.servo_kicks import add_servo_kicks
from dynamics.kernels.rows.stiff_forces import part_of, stiff_force

#: Rise that is no gain, over the sum of m v^2 in units of all bodies: a lift by this part of their
#: length. Newton's tolerance makes 5e-12 of it a step, which a million steps may add up.
UNSEEN = 1e-5
#: Change of a row in an interval from which on it is an angle that went back by full turns, rad:
#: bodies turn by less (or a length, whose change the rate gives as well).
TURN_BACK = 2.0


@kernel
def kinetic(plan, constant, h, G, u, spare):
    """T of velocities, of bodies and rotors, and the power of gravity."""
    n, twice, power = plan[BODIES], 0.0, 0.0
    for i in range(n):
        c, t = i * BODY_SIZE, natural(TWIST * i)
        v, omega = load3(u, t), load3(u, t + 3)
        twice += constant[c + MASS] * dot(v, v)
        twice += dot(omega, multiply_matrix(constant, c + INERTIA, omega))
        power += constant[c + MASS] * dot(load3(constant, c + GRAVITY), v)
    if plan[ROTORS] > 0:
        twice += add_spin(plan, constant, 0.0, G, u, spare)
    if plan[ADDED] > 0:
        for i in range(TWIST * n):
            spare[i] = 0.0
        add_momenta(plan, constant, h, 1.0, 1.0, G, u, spare)
        for i in range(TWIST * n):
            twice += u[i] * spare[i]
    return 0.5 * twice, power


@kernel
def rate_of(plan, group, row, G, u):
    """G u of a row of a group."""
    n, a, b, rate = plan[BODIES], plan[group + A], plan[group + B], 0.0
    if a < n:
        rate += inner(G, 12 * row, u, TWIST * a)
    if b < n:
        rate += inner(G, 12 * row + 6, u, TWIST * b)
    return rate


@lazy("float")
def held_by_rows(plan, constant, h, start, end, u):
    """Energy of springs, of users' potentials and of compliant joints in an interval."""
    total = 0.0
    for k in range(plan[JOINTS], plan[GROUPS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            c = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
            g, g_next, pull = start.g[row], end.g[row], constant[c + PULL]
            moved = g_next - g
            if some(abs(moved) > TURN_BACK):
                way = h * rate_of(plan, group, row, start.G, u)
                moved = where(abs(moved) > TURN_BACK, way, moved)
            # k g g_next / 2
            total += 0.25 * constant[c + STIFFNESS] * (g * g + g_next * g_next - moved * moved)
            if constant[c + GAIN] == 0.0:  # servos hold nothing
                total += 0.25 * constant[c + IMPLICIT_STIFFNESS] * (g * g + g_next * g_next)
            if pull != 0.0:
                bend = rate_of(plan, group, row, end.G, u) - rate_of(plan, group, row, start.G, u)
                total += pull * (0.5 * (g + g_next) - 0.25 * h * bend)
    for k in range(plan[JOINTS] if plan[SOFT] > 0 else 0):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            c = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
            if constant[c + COMPLIANCE] > 0.0:
                g = start.g[row] + constant[c + THETA] * (end.g[row] - start.g[row])
                total += 0.5 * g * g / constant[c + COMPLIANCE]
    return total


@lazy("float")
def held_by_contacts(plan, constant, c):
    """Energy of compliant contacts with the forces gamma."""
    twice = 0.0
    for k in range(plan[CONTACTS] if plan[SOFT_CONTACTS] != 0 else 0):
        soft = constant[plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE + SOFTNESS]
        gamma = c[plan[plan[CONTACT_AT] + k * CONTACT_FIELDS + SLOT] + GAMMA]
        twice += soft * gamma * gamma
    return 0.5 * twice


@kernel
def add_given(plan, constant, h, inputs, node, p):
    """p <- p + h (wrenches + G^T control + wrenches of users' functions), as a node holds these."""
    drive(plan, constant, h, node.G, inputs.control, inputs.wrench, p)
    for k in range(plan[WRENCHES]):
        at, out = plan[WRENCH_AT] + k * WRENCH_FIELDS, TWIST * plan[BODIES] + 1 + k * WRENCH_SIZE
        for side in range(2):
            body = plan[at + B] if side == 0 else plan[at + A]
            for i in range(TWIST if body < plan[BODIES] else 0):
                p[TWIST * body + i] += h * node.f[out + TWIST * side + i]


@lazy("float")
def put_in(plan, constant, h, inputs, part, start, end, u_prev, work):
    """Work of controls, servos, given wrenches and users' functions at the start of an interval.

    Half of their impulse is that of the interval before, which ``work.given`` keeps: at the start
    of the step, and of the interval. Error control has no others at the start of a step.
    """
    n, u, given, total = TWIST * plan[BODIES], work.x, work.given, 0.0
    controlled = part.guess is not None
    first = not controlled and (part.index == 0 or keeps_intervals(plan))
    before = given if first else pointer(given, n)
    push, later = work.dx, pointer(given, n)
    for i in range(n):
        push[i] = before[i]
        later[i] = 0.0
    kicks = plan[ROTORS] > 0 and plan[STIFF_NUMBERS] == 0
    add_given(plan, constant, 0.5 * h, inputs, start, push)
    if kicks:
        add_servo_kicks(plan, constant, 0.5 * h, start.g, start.g, start.G, u, push)
    for i in range(n):
        total += 0.5 * (u_prev[i] + u[i]) * push[i]
    add_given(plan, constant, 0.5 * h, inputs, end, later)
    if kicks:
        add_servo_kicks(plan, constant, 0.5 * h, start.g, end.g, end.G, u, later)
    for k in range(plan[JOINTS], plan[JOINTS] + (plan[ROTORS] if plan[STIFF_NUMBERS] > 0 else 0)):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            if constant[plan[ROW_CONSTANT_AT] + row * ROW_SIZE + GAIN] != 0.0:
                force, _ = stiff_force(plan, constant, h, row, start.g, end.g)
                rate = rate_of(plan, group, row, start.G, u_prev)
                rate += rate_of(plan, group, row, start.G, u)
                total += 0.5 * part_of(plan, h, start.g) * force * rate
    return total


@kernel
def barrier_of(settings, info):
    """Barrier that an interval took, over units of energy."""
    return settings[BARRIER] * max(1.0, info[RAISED])


@kernel
def unseen(plan, constant, barrier):
    """Rise of the balance that rounding and the barriers of contacts explain."""
    total = 0.0
    for i in range(plan[BODIES]):
        c = i * BODY_SIZE
        total += constant[c + MASS] / (constant[c + PACE] * constant[c + PACE])
    return UNSEEN * max(1.0, barrier / 5e-9) * total


@kernel
def rises(plan, constant, settings, part, kinetic, arrived, leaving, work, info):
    """Whether the balance rises beyond a share of the largest kinetic energy since it was least.

    It moves on if not. ``arrived`` is what is held less what was put in, ``leaving`` what the next
    interval starts with, ``work`` the most that counts as a change.
    """
    info[KINETIC], info[HELD_LENGTH] = kinetic, part.length
    if not part.moving:
        info[BALANCE], info[LEAST_BALANCE], info[MOST_KINETIC] = 0.0, 0.0, kinetic
        info[HELD] = leaving
        return False
    change, most = min(arrived - info[HELD], work), max(info[MOST_KINETIC], kinetic)
    balance = info[BALANCE] + change
    rise = balance - info[LEAST_BALANCE]
    info[LARGEST_RISE] = max(info[LARGEST_RISE], rise)
    bound = abs(settings[ENERGY_SHARE]) * most
    if some((change > 0.0) & (rise > bound)):
        explained = unseen(plan, constant, barrier_of(settings, info))
        if (change > 0.0) & (rise > bound + explained):
            if settings[ENERGY_SHARE] > 0.0 or not part.last:
                return True
            info[UNEXPLAINED_INTERVALS] += 1.0
            rise = 0.0  # warned of: the next rise counts from here
    info[LEAST_BALANCE] = where(rise <= 0.0, balance, info[LEAST_BALANCE])
    most = where(rise <= 0.0, kinetic, most)
    info[BALANCE], info[MOST_KINETIC], info[HELD] = balance, most, leaving
    return False


@kernel
def energy_rises(plan, constant, settings, inputs, part, known, ends, motion, work, info):
    """`rises` of an interval of order 2; ``known``: T, power of gravity, what contacts held."""
    (start, end), (now, power, held), h, x = ends, known, part.length, work.x
    stored = 0.0
    if plan[GROUPS] > plan[JOINTS] or plan[SOFT] > 0:
        stored = held_by_rows(plan, constant, h, start, end, x)
    held = now + stored + 0.5 * held
    if plan[CONTACTS] > 0:
        held += 0.5 * held_by_contacts(plan, constant, motion.c)
    given, pushed = 0.0, plan[CONTROLS] + plan[WRENCHES] + inputs.wrench.size > 0
    if pushed or plan[STIFF_NUMBERS] > 0:
        given = put_in(plan, constant, h, inputs, part, start, end, motion.u, work)
    work_done, half = math.inf, 0.5 * h * power
    if part.moving and info[HELD_LENGTH] != h:
        constraint_impulses(plan, constant, h, start, end, work)
        work_done = work_of(plan, motion.u, work)
    return rises(
        plan, constant, settings, part, now, held - half - given, held + half, work_done, info
    )
