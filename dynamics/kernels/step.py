"""Steps: intervals put together, halved where the equations are hard, recorded."""

import math

from .added_mass import add_momenta
from .callback import call_three
from .forces import conservative, damp, drive, push
from .interior_point import interior
from .jit import inlined, kernel
from .layout import (
    ACTIVE_AT,
    ALL_ROWS,
    BLOCK,
    BLOCKS,
    BODIES,
    BODY_SIZE,
    CONTACT_AT,
    CONTACT_FIELDS,
    CONTACT_WORK,
    CONTACTS,
    FALLBACK_AT,
    FALLBACK_SIZE,
    GROUPS,
    INERTIA,
    MASS,
    POSE,
    ROWS,
    SLOT,
    SLOTS,
    TWIST,
    WRENCH_SIZE,
    WRENCHES,
)
from .motion import rotation_matrices
from .newton import NOT_FINITE, attempt
from .quaternion import cross, load3, multiply_matrix
from .rows import evaluate
from .wrench import push_users

#: A step is cut into up to 2^DEPTH intervals.
DEPTH = 10

# info of a step
WORST, OPENED, FACTORIZATIONS, ITERATIONS, INTERVALS, STATUS = 0, 1, 2, 3, 4, 5
TIME = 24  # at the start of the step; 6 to 23 are scratch of contacts
INFO_SIZE = 25


@kernel
def node_of(plan, work, at):
    """(pose, matrix, g, G, f) of a node, in the workspace from place ``at``; the place after."""
    n, rows = plan[BODIES], plan[ALL_ROWS]
    a = at + POSE * (n + 1)
    b = a + 9 * (n + 1)
    c = b + rows
    d = c + 12 * rows
    e = d + TWIST * n
    if plan[WRENCHES] > 0:
        e += 1 + WRENCH_SIZE * plan[WRENCHES]
    return (work[at:a], work[a:b], work[b:c], work[c:d], work[d:e]), e


@kernel
def look(plan, constant, node):
    """Rotation matrices, all rows with slopes, and conservative forces at the node's pose."""
    pose, matrix, g, G, f = node
    evaluate(plan, constant, 0, plan[GROUPS], pose, matrix, True, g, G)
    conservative(plan, constant, G, g, f)


@kernel
def start(plan, constant, state, node, trial):
    """Node <- the state's pose, and what belongs to it; the world's pose in both."""
    n = plan[BODIES]
    pose, moved = node[0], trial[0]
    for i in range(POSE * n):
        pose[i] = state[i]
        moved[i] = state[i]
    for i in range(POSE * n, POSE * (n + 1)):
        pose[i] = 0.0
        moved[i] = 0.0
    pose[POSE * n + 3], moved[POSE * n + 3] = 1.0, 1.0
    rotation_matrices(n, pose, node[1])
    rotation_matrices(n, moved, trial[1])
    look(plan, constant, node)


@kernel
def end_momentum(plan, constant, h, control, wrench, node, x, p):
    """p <- momentum at the end of an interval, theory/step (6): M v, pi^+, later halves.

    0, or 1 where a user's function fails.
    """
    n = plan[BODIES]
    G, f = node[3], node[4]
    for i in range(n):
        c, t = i * BODY_SIZE, TWIST * i
        for j in range(3):
            p[t + j] = constant[c + MASS] * x[t + j]
        omega = load3(x, t + 3)
        phi = (0.5 * h * omega[0], 0.5 * h * omega[1], 0.5 * h * omega[2])
        s = math.sqrt(1.0 - phi[0] * phi[0] - phi[1] * phi[1] - phi[2] * phi[2])
        spin = multiply_matrix(constant, c + INERTIA, omega)
        turn = cross(phi, spin)
        for j in range(3):
            p[t + 3 + j] = s * spin[j] - turn[j]
    for i in range(TWIST * n):
        p[i] += 0.5 * h * f[i]
    add_momenta(plan, constant, h, -1.0, 1.0, G, x, p)
    damp(plan, constant, -0.5 * h, G, x, p)
    push(plan, constant, True, G, x[TWIST * n :], 1.0, p)
    drive(plan, constant, 0.5 * h, G, control, wrench, p)
    return push_users(plan, 0.5 * h, node, x, p)


@kernel
def impulses(plan, scale, contacts, c):
    """Contact forces <- scale times them: impulses from forces and back; 0 where none acts."""
    for k in range(plan[CONTACTS]):
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        slot = plan[at + SLOT]
        part = 0.0 if contacts[k * CONTACT_WORK + ACTIVE_AT] == 0.0 else scale
        c[slot] *= part
        for i in range(plan[at + BLOCKS]):
            c[slot + 2 + BLOCK * i] *= part
            c[slot + 3 + BLOCK * i] *= part


@inlined
def interval(
    plan, constant, program, h, settings, control, wrench, p, u, u_prev, mu, c, guess, node, trial,
    scratch, solver, info,
):  # fmt: skip
    """One interval of length h; iterations, or what went wrong. Node and trial hold both ends.

    p, u, u_prev and mu are changed only when it succeeds.
    """
    x, r, dx, kept, kick, dc, contacts = scratch
    n = TWIST * plan[BODIES]
    for i in range(n):
        x[i] = u[i] + guess * (u[i] - u_prev[i])
        kick[i] = p[i] + 0.5 * h * node[4][i]
        kick[n + i] = 0.0
    for i in range(plan[ROWS]):
        x[n + i] = h * mu[i]
    drive(plan, constant, 0.5 * h, node[3], control, wrench, kick)
    if plan[CONTACTS] == 0:
        done = attempt(
            plan, constant, program, h, settings[0], kick, node, x, trial, r, dx, kept, solver,
            info,
        )  # fmt: skip
    else:
        for k in range(plan[CONTACTS]):
            contacts[k * CONTACT_WORK + ACTIVE_AT] = 1.0
        impulses(plan, h, contacts, c)
        done = interior(
            plan, constant, program, h, settings, kick, node, x, u, u_prev, mu, c, trial, r, dx,
            kept, dc, contacts, solver, info,
        )  # fmt: skip
        impulses(plan, 1.0 / h, contacts, c)
    if done < 0:
        return done
    look(plan, constant, trial)
    if end_momentum(plan, constant, h, control, wrench, trial, x, p) != 0:
        return NOT_FINITE
    for i in range(n):
        u_prev[i] = u[i]
        u[i] = x[i]
    for i in range(plan[ROWS]):
        mu[i] = x[n + i] / h
    return done


@kernel
def copy(source, target):
    """target <- source."""
    for i in range(source.size):
        target[i] = source[i]


@kernel
def step(
    # Tables:
    plan,
    constant,
    program,
    # In:
    h,
    settings,
    control,
    wrench,
    # In and out:
    state,
    # Work:
    work,
    solver,
    # Out:
    info,
    # In:
    ready,
):  # fmt: skip
    """State <- state after one step; 0 or what went wrong, the state then as it was.

    ``settings`` are the tolerance, the largest |phi| of an interval, and the barrier and tolerance
    of contacts. ``ready`` says that the workspace holds the node of the state.
    """
    n, rows = plan[BODIES], plan[ROWS]
    m, N = TWIST * n, TWIST * n + rows
    node, at = node_of(plan, work, 0)
    trial, at = node_of(plan, work, at)
    x, r, dx, kept = (
        work[at : at + N],
        work[at + N : at + 2 * N],
        work[at + 2 * N : at + 3 * N],
        work[at + 3 * N : at + 4 * N],
    )
    at += 4 * N
    kick = work[at : at + 2 * m]
    at += 2 * m
    saved = work[at : at + state.size]
    at += state.size
    slots = plan[SLOTS]
    dc, contacts = work[at : at + slots], work[at + slots :]
    scratch = (x, r, dx, kept, kick, dc, contacts)
    p = state[POSE * n : POSE * n + m]
    u = state[POSE * n + m : POSE * n + 2 * m]
    u_prev = state[POSE * n + 2 * m : POSE * n + 3 * m]
    mu = state[POSE * n + 3 * m : POSE * n + 3 * m + rows]
    c = state[POSE * n + 3 * m + rows :]
    if not ready:
        start(plan, constant, state, node, trial)
    fallback = plan[plan[FALLBACK_AT] : plan[FALLBACK_AT] + plan[FALLBACK_SIZE]]
    copy(state, saved)
    info[ITERATIONS], info[INTERVALS], info[FACTORIZATIONS] = 0.0, 0.0, 0.0
    done = 0
    for level in range(DEPTH + 1):
        count = 1 << level
        part = h / count
        for i in range(count):
            if plan[WRENCHES] > 0:
                node[4][m], trial[4][m] = info[TIME] + i * part, info[TIME] + (i + 1) * part
            for order in (program, fallback):
                done = interval(
                    plan, constant, order, part, settings, control, wrench, p, u, u_prev, mu, c,
                    1.0 if level == 0 else 0.0, node, trial, scratch, solver, info,
                )  # fmt: skip
                if done >= 0 or fallback.size == 0:
                    break
            if done >= 0:
                info[ITERATIONS] += done
                turn = 0.0
                for k in range(n):
                    w = load3(u, TWIST * k + 3)
                    turn = max(turn, w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
                if 0.5 * part * math.sqrt(turn) > settings[1] and level < DEPTH:
                    done = -4
            if done < 0:
                break
            info[INTERVALS] += 1.0
            for k in range(5):
                copy(trial[k], node[k])
        if done >= 0:
            break
        copy(saved, state)
        start(plan, constant, state, node, trial)
    info[STATUS] = min(done, 0)
    if done >= 0:
        for i in range(POSE * n):
            state[i] = node[0][i]
    return min(done, 0)


@kernel
def simulate(
    # Tables:
    plan,
    constant,
    program,
    # In:
    h,
    settings,
    steps,
    every,
    controller,
    controls,
    wrenches,
    # In and out:
    state,
    # Work:
    work,
    solver,
    # Out:
    record,
    info,
    totals,
):  # fmt: skip
    """Run ``steps`` steps, record the state behind every ``every``; steps done.

    Row k of ``controls`` and ``wrenches`` is that of step k, the last row that of all later ones.
    ``controller(time, state, control)`` changes row 0 where its address is not 0.
    """
    time = totals[0:1]
    for k in range(steps):
        row = min(k, controls.shape[0] - 1)
        if controller != 0:
            row = 0
            if call_three(controller, time, 0, state, 0, controls, 0) != 0:
                return k
        info[TIME] = time[0]
        bad = step(
            plan, constant, program, h, settings, controls[row],
            wrenches[min(k, wrenches.shape[0] - 1)], state, work, solver, info, k > 0,
        )  # fmt: skip
        if bad != 0:
            return k
        time[0] += h
        totals[1] += info[ITERATIONS]
        totals[2] += info[INTERVALS]
        totals[3] = max(totals[3], info[ITERATIONS])
        totals[4] = max(totals[4], info[INTERVALS])
        totals[5] += info[FACTORIZATIONS]
        if (k + 1) % every == 0:
            copy(state, record[(k + 1) // every - 1])
    return steps
