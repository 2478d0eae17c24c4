"""One interval with contacts and limits: a primal-dual interior-point method (Mehrotra).

Each iteration factorizes the graph of bodies and joints once, with the condensed contacts, and
solves twice: a predictor step without barrier determines how far the barrier may fall. It
starts cold, where `path_newton` has not arrived.
"""

from dynamics.kernels.base.jit import inlined, kernel, pointer
from dynamics.kernels.base.layout import (
    ACTIVE_AT,
    BODIES,
    BOUNCED,
    CONTACT_AT,
    CONTACT_CONSTANT_AT,
    CONTACT_FIELDS,
    CONTACT_SIZE,
    CONTACT_WORK,
    CONTACTS,
    ENERGY,
    GAP_AT,
    LEFT_OUT,
    MASS_AT,
    MUST_ACT,
    OF_RATE,
    RESTITUTION,
    ROWS,
    SECOND_AT,
    SLACK,
    SLOT,
    SLOTS,
    SPEED_AT,
    TWIST,
)
from dynamics.kernels.base.settings import BARRIER
from dynamics.kernels.base.status import NOT_CONVERGED, NOT_FINITE, SINGULAR, USER_FAILED
from dynamics.kernels.base.step_info import COLD_START, EVERY_CONTACT, FACTORIZATIONS, NEAREST
from dynamics.kernels.contacts.central_path import slide
from dynamics.kernels.contacts.condensation import add_contacts, clear_pairs, condense, steps_of
from dynamics.kernels.contacts.interior_residual import (
    converged,
    evaluate_end_and_gaps,
    place_on_path,
    weigh,
)
from dynamics.kernels.contacts.interior_start import clear_contacts, set_dry_friction
from dynamics.kernels.contacts.path_newton import path_attempt
from dynamics.kernels.contacts.rows import gaps, is_dry_friction
from dynamics.kernels.interval.matrix import assemble
from graphsys.kernels import factorize, solve

MOST_ITERATIONS = 30
#: Starts of an interval, warm and cold, and again with contacts that were passed.
ATTEMPTS = 6
#: Mean gamma s over the last barrier, below which there is no more to predict.
ARRIVED = 1.5
#: Part of the way to a bound that a step may go: nearer, the next step finds itself off centre.
CLOSEST = 0.999
#: Least gamma s after an iteration, over the barrier.
CENTRED = 0.1


@kernel
def complementarity(plan, constant, c, dc, part, contacts):
    """Mean of gamma s, over units of energy, at c + part dc."""
    total, count = 0.0, 0
    for k in range(plan[CONTACTS]):
        if contacts[k * CONTACT_WORK + ACTIVE_AT] == 0.0 or is_dry_friction(plan, k):
            continue
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        slot = plan[at + SLOT]
        gamma = c[slot] + part * dc[slot]
        unit = constant[plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE + ENERGY]
        total += gamma * (c[slot + SLACK] + part * dc[slot + SLACK]) / unit
        count += 1
    return total / max(1, count)


@kernel
def longest(plan, c, dc, keep, contacts):
    """Largest step at most 1 that keeps the part ``1 - keep`` of the way to every bound."""
    part = 1.0
    for k in range(plan[CONTACTS]):
        if contacts[k * CONTACT_WORK + ACTIVE_AT] == 0.0:
            continue
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        slot = plan[at + SLOT]
        for j in range(2):
            if dc[slot + j] < 0.0:
                part = min(part, -keep * c[slot + j] / dc[slot + j])
    return part


@kernel
def correct(plan, part, dc, contacts):
    """Second order of gamma s along the step dc, for the next `condense` (Mehrotra 1992)."""
    for k in range(plan[CONTACTS]):
        slot = plan[plan[CONTACT_AT] + k * CONTACT_FIELDS + SLOT]
        second = part * dc[slot] * dc[slot + SLACK] if part != 0.0 else 0.0  # dc may be infinite
        contacts[k * CONTACT_WORK + SECOND_AT] = second


@kernel
def recentre(plan, constant, barrier, c, contacts):
    """Keep gamma s from falling far below the barrier: the smaller of both is lifted."""
    for k in range(plan[CONTACTS]):
        w = k * CONTACT_WORK
        if contacts[w + ACTIVE_AT] == 0.0 or is_dry_friction(plan, k):
            continue
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        slot = plan[at + SLOT]
        p = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
        low = CENTRED * barrier * constant[p + ENERGY]
        if c[slot] * c[slot + SLACK] < low:
            if contacts[w + MASS_AT] * c[slot + SLACK] < c[slot]:
                c[slot + SLACK] = low / c[slot]
            else:
                c[slot] = low / c[slot + SLACK]


@kernel
def interior_attempt(
    # Tables:
    plan,
    constant,
    program,
    # In:
    h,
    settings,
    node,
    # In and out:
    motion,
    trial,
    work,
    # Work:
    solver,
    # Out:
    info,
):  # fmt: skip
    """Solve one interval with contacts from the guess x, c; iterations, or what went wrong."""
    x, r, dx, kept, c, dc = work.x, work.r, work.dx, work.kept, motion.c, work.dc
    contacts, values = work.contacts, pointer(solver.values, 0)
    unknowns = TWIST * plan[BODIES] + plan[ROWS]
    least, found = settings[BARRIER], pointer(info, NEAREST)
    every = info[EVERY_CONTACT] > 0.0
    kappa = place_on_path(plan, constant, h, least, True, every, node, motion, trial, work, found)
    if kappa < 0.0:
        return USER_FAILED
    before = 1e300
    for iteration in range(MOST_ITERATIONS):
        speed, opened, merit = weigh(plan, constant, h, node, c, trial, work)
        if not merit < 1e300:
            return NOT_FINITE
        if converged(plan, constant, h, settings, speed, opened, before, node, c, work, info):
            return iteration
        before = speed
        clear_pairs(plan, values)  # before: dampers may join the same bodies
        assemble(plan, constant, h, x, node.g, node.G, trial.G, values)
        for i in range(unknowns):
            kept[i] = r[i]
        correct(plan, 0.0, dc, contacts)
        condense(plan, constant, h, least, False, x, c, contacts, r)
        add_contacts(plan, contacts, values)
        failed = factorize(
            program, solver.values, 1e-15, solver.magnitude, solver.factors, solver.status
        )
        if failed != 0:
            return SINGULAR
        info[FACTORIZATIONS] += 1.0
        now = complementarity(plan, constant, c, c, 0.0, contacts)
        target, second = least, 0.0
        if now > ARRIVED * least:  # how far a step without barrier would get says how far to go
            solve(program, solver.factors, solver.rhs, 1, solver.workspace, solver.solution)
            for i in range(unknowns):
                dx[i] = -dx[i]
            steps_of(plan, constant, h, dx, x, c, contacts, dc)
            part = longest(plan, c, dc, 1.0, contacts)
            then = complementarity(plan, constant, c, dc, part, contacts)
            target, second = max(least, (max(then, 0.0) / now) ** 3 * now), 1.0
        for i in range(unknowns):
            r[i] = kept[i]
        correct(plan, second, dc, contacts)
        condense(plan, constant, h, target, False, x, c, contacts, r)
        solve(program, solver.factors, solver.rhs, 1, solver.workspace, solver.solution)
        for i in range(unknowns):
            dx[i] = -dx[i]
        steps_of(plan, constant, h, dx, x, c, contacts, dc)
        part = longest(plan, c, dc, min(CLOSEST, max(0.95, 1.0 - target)), contacts)
        for i in range(unknowns):
            x[i] += part * dx[i]
        for i in range(plan[SLOTS]):
            c[i] += part * dc[i]
        recentre(plan, constant, target, c, contacts)
        if evaluate_end_and_gaps(plan, constant, h, node, x, trial, found, contacts) != 0:
            return USER_FAILED
        slide(plan, constant, target, x, c, contacts)
    return NOT_CONVERGED


@kernel
def find_passed(plan, constant, h, x, trial, found, contacts):
    """Find contacts that were left out or bounced and are passed; their gaps are held from now on.

    A bounce holds the velocity of a point; a rim that turns has another nearest point at the end.
    """
    for k in range(plan[CONTACTS]):
        w = k * CONTACT_WORK
        held = constant[plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE + OF_RATE] != 0.0
        if contacts[w + ACTIVE_AT] == 0.0:
            contacts[w + ACTIVE_AT] = LEFT_OUT
        elif contacts[w + SPEED_AT] != 0.0 and not held and not is_dry_friction(plan, k):
            contacts[w + ACTIVE_AT], contacts[w + SPEED_AT] = BOUNCED, 0.0
    gaps(plan, constant, h, x, trial, found, contacts)
    wrong = False
    for k in range(plan[CONTACTS]):
        w = k * CONTACT_WORK
        if contacts[w + ACTIVE_AT] < 0.0:
            if contacts[w + GAP_AT] < 0.0:
                contacts[w + ACTIVE_AT], wrong = MUST_ACT, True
            else:
                contacts[w + ACTIVE_AT] = 0.0 if contacts[w + ACTIVE_AT] == LEFT_OUT else 1.0
    return wrong


@kernel
def left_out(plan, contacts):
    """Tell if any contact is left out."""
    for k in range(plan[CONTACTS]):
        if contacts[k * CONTACT_WORK + ACTIVE_AT] == 0.0:
            return True
    return False


@kernel
def release_bounces(plan, constant, contacts):
    """Hold the gaps of all contacts that bounced; report if there were any.

    Where a joint guides a body into the ground, friction can leave Newton's law without solution.
    """
    bounced = False
    for k in range(plan[CONTACTS]):
        w = k * CONTACT_WORK
        bounces = constant[plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE + RESTITUTION] > 0.0
        if bounces and contacts[w + SPEED_AT] != 0.0:
            contacts[w + ACTIVE_AT], bounced = MUST_ACT, True
    return bounced


@inlined
def interior(
    # Tables:
    plan,
    constant,
    program,
    # In:
    h,
    settings,
    node,
    # In and out:
    motion,
    trial,
    work,
    # Work:
    solver,
    # Out:
    info,
):  # fmt: skip
    """`path_attempt`, `interior_attempt`, then with every contact; iterations or what is wrong."""
    x, n = work.x, TWIST * plan[BODIES]
    done = NOT_CONVERGED
    info[EVERY_CONTACT], info[COLD_START] = 0.0, 0.0
    set_dry_friction(plan, h, motion.c)
    fresh = True
    for _ in range(ATTEMPTS):
        if fresh:
            for i in range(n):
                x[i] = motion.u[i]
            for i in range(plan[ROWS]):
                x[n + i] = h * motion.mu[i]
        warm = info[COLD_START] == 0.0
        if warm:
            correct(plan, 0.0, work.dc, work.contacts)
            done = path_attempt(
                plan, constant, program, h, settings, node, motion, trial, work, solver, info
            )
        else:
            done = interior_attempt(
                plan, constant, program, h, settings, node, motion, trial, work, solver, info
            )
        if done == USER_FAILED:
            return done
        if done >= 0:
            if not find_passed(plan, constant, h, x, trial, pointer(info, NEAREST), work.contacts):
                return done
            fresh = False
        elif warm:
            info[COLD_START] = 1.0
            fresh = True
        elif info[EVERY_CONTACT] == 0.0 and left_out(plan, work.contacts):
            info[EVERY_CONTACT] = 1.0
            fresh = True
        elif release_bounces(plan, constant, work.contacts):
            fresh = True
        else:
            return done
        if fresh:  # nothing of the failed start is kept
            clear_contacts(plan, motion.c)
    return NOT_CONVERGED
