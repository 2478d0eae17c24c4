"""One interval with contacts and limits: a primal-dual interior-point method (Mehrotra).

Each iteration factorizes the graph of bodies and joints once, with the leaves of the contacts
folded in, and solves twice: a predictor without barrier tells how far the barrier may fall.
"""

from graphsys.kernels import factorize, solve

from .contact import approach, gaps, rubs
from .interior_start import centre, effective_mass, first_barrier, forget, press
from .jit import inlined, kernel
from .layout import (
    ACTIVE_AT,
    BODIES,
    CONTACT_AT,
    CONTACT_FIELDS,
    CONTACT_WORK,
    CONTACTS,
    GAP_AT,
    GROUPS,
    ROWS,
    SECOND_AT,
    SLOT,
    TOLD,
    TWIST,
    W_AT,
    WRENCHES,
)
from .leaf import (
    add_leaves,
    clear_pairs,
    condense,
    errors,
    push_out,
    slide,
    steps_of,
)
from .matrix import assemble
from .motion import move
from .newton import EPS, NOT_CONVERGED, NOT_FINITE, SINGULAR, largest
from .residual import residual
from .rows import evaluate, roll
from .wrench import renew

MOST_ITERATIONS = 60
#: Iterations after which a warm start gives way to a cold one.
PATIENCE = 20
#: Part of the energy at contacts that a warm start begins from.
WARM = 0.1
USER_FAILED = -5
#: Starts of an interval, warm and cold, and again with contacts that were passed.
ATTEMPTS = 6
#: Momentum error over the largest impulse that ends an iteration which gains no more.
ROUNDING = 1e-7
#: Mean gamma s over the last barrier, below which there is no more to predict.
ARRIVED = 1.5
#: Part of the way to a bound that a step may go: nearer, the next step finds itself off centre.
CLOSEST = 0.999
#: Least gamma s behind an iteration, over the barrier.
CENTRED = 0.1


@kernel
def complementarity(plan, c, dc, part, contacts):
    """Mean of gamma s at c + part dc."""
    total, count = 0.0, 0
    for k in range(plan[CONTACTS]):
        if contacts[k * CONTACT_WORK + ACTIVE_AT] == 0.0 or rubs(plan, k):
            continue
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        slot = plan[at + SLOT]
        gamma = c[slot] + part * dc[slot]
        total += gamma * (c[slot + 1] + part * dc[slot + 1])
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
        contacts[k * CONTACT_WORK + SECOND_AT] = part * dc[slot] * dc[slot + 1]


@kernel
def recentre(plan, constant, kappa, c, contacts):
    """Keep gamma s from falling far below the barrier: the smaller of both is lifted."""
    for k in range(plan[CONTACTS]):
        w = k * CONTACT_WORK
        if contacts[w + ACTIVE_AT] == 0.0 or rubs(plan, k):
            continue
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        slot = plan[at + SLOT]
        low = CENTRED * kappa
        if c[slot] * c[slot + 1] < low:
            mass = effective_mass(plan, constant, at, contacts, w + W_AT)
            if mass * c[slot + 1] < c[slot]:
                c[slot + 1] = low / c[slot]
            else:
                c[slot] = low / c[slot + 1]


@kernel
def look_ahead(plan, constant, h, kappa, kick, node, x, c, trial, found, contacts, r):
    """Residuals at x and c: (joints' and bodies' velocity error, |g|, contacts' error, merit)."""
    n = plan[BODIES]
    pose, _, g, G, _ = node
    moved, matrix, g_next, G_next, _ = trial
    move(n, h, pose, x, moved, matrix)
    evaluate(plan, constant, 0, plan[GROUPS], moved, matrix, True, g_next, G_next)
    roll(plan, h, G, G_next, x, g_next)
    if gaps(plan, constant, h, x, trial, found, contacts) != 0:
        return 0.0, 0.0, 0.0, -1.0
    slide(plan, constant, kappa, x, c, contacts)
    if plan[WRENCHES] > 0:
        renew(plan, h, node, x, kick)
    residual(plan, constant, h, kick, G, g, x, g_next, r)
    push_out(plan, c, contacts, r)
    worst, merit = errors(plan, constant, h, kappa, x, c, contacts)
    speed, opened = 0.0, 0.0
    unknowns = TWIST * n + plan[ROWS]
    for i in range(unknowns):
        if i < TWIST * n:
            speed = max(speed, abs(r[i]))
        else:
            opened = max(opened, abs(r[i]) * h)
        merit += r[i] * r[i]
    return speed, opened, worst, merit


@kernel
def interior_attempt(
    # Tables:
    plan,
    constant,
    program,
    # In:
    h,
    settings,
    kick,
    node,
    u_prev,
    # In and out:
    x,
    c,
    # Work:
    trial,
    r,
    dx,
    kept,
    dc,
    contacts,
    solver,
    # Out:
    info,
):  # fmt: skip
    """Solve one interval with contacts from the guess x, c; iterations, or what went wrong."""
    values, magnitude, arena, work, status = solver
    n = TWIST * plan[BODIES]
    unknowns = n + plan[ROWS]
    least = settings[2]
    tolerance = settings[3]
    found = info[8:24]
    closed = max(settings[0], 64.0 * EPS * largest(node[0], 0, node[0].size))
    every = info[6] > 0.0
    if approach(plan, constant, h, node, x, every, found, contacts) != 0:
        return USER_FAILED
    kappa = least
    speed, opened, worst, merit = look_ahead(
        plan, constant, h, kappa, kick, node, x, c, trial, found, contacts, r
    )
    if merit != -1.0:
        cold = info[7] > 0.0
        energy = first_barrier(plan, constant, h, cold, x, u_prev, c, contacts)
        kappa = max(least, energy if cold else WARM * energy)
        centre(plan, constant, h, kappa, x, c, contacts)
        speed, opened, worst, merit = look_ahead(
            plan, constant, h, kappa, kick, node, x, c, trial, found, contacts, r
        )
    best = 1e300
    for iteration in range(MOST_ITERATIONS):
        if merit == -1.0:
            return USER_FAILED
        if not merit < 1e300:
            return NOT_FINITE
        worst, _ = errors(plan, constant, h, least, x, c, contacts)
        info[0], info[1] = max(speed, worst), opened
        if worst <= tolerance and opened <= closed:
            if speed <= tolerance:
                return iteration
            # stiff contacts and large impulses: no better than rounding
            if iteration > 0 and speed > 0.1 * best and speed <= ROUNDING * largest(x, 0, unknowns):
                return iteration
            best = min(best, speed)
        if iteration == PATIENCE and info[7] == 0.0:
            return NOT_CONVERGED
        clear_pairs(plan, values)  # before: dampers may join the same bodies
        assemble(plan, constant, h, x, node[3], trial[3], values)
        for i in range(unknowns):
            kept[i] = r[i]
        correct(plan, 0.0, dc, contacts)
        condense(plan, constant, h, least, x, c, contacts, r)
        add_leaves(plan, contacts, values)
        if factorize(program, values, 1e-15, magnitude, arena, status) != 0:
            return SINGULAR
        info[2] += 1.0
        now = complementarity(plan, c, c, 0.0, contacts)
        target, second = least, 0.0
        if now > ARRIVED * least:  # how far a step without barrier would get says how far to go
            solve(program, arena, r, 1, work, dx)
            for i in range(unknowns):
                dx[i] = -dx[i]
            steps_of(plan, constant, h, dx, x, c, contacts, dc)
            part = longest(plan, c, dc, 1.0, contacts)
            then = complementarity(plan, c, dc, part, contacts)
            target, second = max(least, (max(then, 0.0) / now) ** 3 * now), 1.0
        for i in range(unknowns):
            r[i] = kept[i]
        correct(plan, second, dc, contacts)
        condense(plan, constant, h, target, x, c, contacts, r)
        solve(program, arena, r, 1, work, dx)
        for i in range(unknowns):
            dx[i] = -dx[i]
        steps_of(plan, constant, h, dx, x, c, contacts, dc)
        kappa = target
        part = longest(plan, c, dc, min(CLOSEST, max(0.95, 1.0 - kappa)), contacts)
        for i in range(unknowns):
            x[i] += part * dx[i]
        for i in range(c.size):
            c[i] += part * dc[i]
        recentre(plan, constant, kappa, c, contacts)
        speed, opened, worst, merit = look_ahead(
            plan, constant, h, kappa, kick, node, x, c, trial, found, contacts, r
        )
    return NOT_CONVERGED


@kernel
def missed(plan, constant, h, x, trial, found, contacts):
    """Whether a contact that was left out has been passed through."""
    wrong = False
    for k in range(plan[CONTACTS]):
        w = k * CONTACT_WORK
        if contacts[w + ACTIVE_AT] == 0.0:
            contacts[w + ACTIVE_AT] = 1.0
            gaps(plan, constant, h, x, trial, found, contacts)
            contacts[w + ACTIVE_AT] = 0.0
            if contacts[w + GAP_AT] < 0.0:
                contacts[w + ACTIVE_AT] = TOLD
                wrong = True
    return wrong


@inlined
def interior(
    plan, constant, program, h, settings, kick, node, x, u, u_prev, mu, c, trial, r, dx, kept, dc,
    contacts, solver, info,
):  # fmt: skip
    """`interior_attempt` warm, cold, then with every contact; iterations or what went wrong."""
    n = TWIST * plan[BODIES]
    done = NOT_CONVERGED
    info[6], info[7] = 0.0, 0.0
    press(plan, h, c)
    fresh = True
    for _ in range(ATTEMPTS):
        if fresh:
            for i in range(n):
                x[i] = u[i]
            for i in range(plan[ROWS]):
                x[n + i] = h * mu[i]
        done = interior_attempt(
            plan, constant, program, h, settings, kick, node, u_prev, x, c, trial, r, dx, kept,
            dc, contacts, solver, info,
        )  # fmt: skip
        if done == USER_FAILED:
            return done
        if done >= 0:
            if not missed(plan, constant, h, x, trial, info[8:24], contacts):
                return done
            fresh = False
        elif info[7] == 0.0:
            info[7] = 1.0
            fresh = True
        elif info[6] == 0.0:
            info[6] = 1.0
            fresh = True
        else:
            return done
        if fresh:  # nothing of the failed start is kept
            forget(plan, c)
    return NOT_CONVERGED
