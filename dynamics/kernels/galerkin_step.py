"""Galerkin-Lobatto steps of order 2 s: intervals put together, halved where hard, recorded.

A state is that of `step`; of a body it keeps the velocities u at the end and u_prev at the start of
the last interval.
"""

import math

from .callback import call_three
from .galerkin_guess import FEWEST, SEEN, from_ends, go_on_in_loops, gone_on, remember
from .galerkin_newton import HELD, PAUSE, WAIT, attempt
from .galerkin_residual import end_momentum
from .jit import kernel
from .layout import (
    BODIES,
    EQUATION,
    FIRST_ROW,
    GROUP_AT,
    GROUP_FIELDS,
    GROUPS,
    JOINTS,
    N_ROWS,
    POSE,
    ROWS,
    TWIST,
)
from .motion import rotation_matrices
from .newton import FACTORIZATIONS, NOT_FINITE, SINGULAR
from .quaternion import load3, multiply_matrix
from .rows import evaluate, turned_back
from .step import DEPTH, INTERVALS, ITERATIONS, STATUS, TIME, copy, note


@kernel
def start(plan, constant, state, nodes):
    """First node <- the state's pose and its rows with slopes; the world's pose in all."""
    pose, matrix, g, G, speed, spin, turn, sigma = nodes
    n = plan[BODIES]
    for i in range(POSE * n):
        pose[0, i] = state[i]
    for i in range(n):
        turn[0, 4 * i] = 1.0
        for j in range(1, 4):
            turn[0, 4 * i + j] = 0.0
    for a in range(pose.shape[0]):
        for i in range(POSE * n, POSE * (n + 1)):
            pose[a, i] = 0.0
        pose[a, POSE * n + 3] = 1.0
        for j in range(9):
            matrix[a, 9 * n + j] = 1.0 if j % 4 == 0 else 0.0
    rotation_matrices(n, pose[0], matrix[0])
    evaluate(plan, constant, 0, plan[GROUPS], pose[0], matrix[0], n > 0, g[0], G[0])


@kernel
def move_on(plan, nodes):
    """First node <- the last one."""
    pose, matrix, g, G, speed, spin, turn, sigma = nodes
    s = pose.shape[0] - 1
    copy(pose[s], pose[0])
    copy(matrix[s], matrix[0])
    copy(g[s], g[0])
    copy(G[s], G[0])


@kernel
def keep(plan, s, h, speed, x, last):
    """What `from_ends` needs of an interval solved: velocities, and mean forces sum mu^b / h."""
    u, u_prev, mu = last
    for i in range(u.size):
        u_prev[i] = speed[0, i]
        u[i] = speed[s, i]
    at = TWIST * s * plan[BODIES]
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        first, rows = plan[group + FIRST_ROW], plan[group + N_ROWS]
        if plan[group + EQUATION] != first:
            break
        for i in range(rows):
            total = 0.0
            for b in range(s):
                total += x[at + s * first + b * rows + i]
            mu[first + i] = total / h


@kernel
def make_up(plan, s, r, matrix, p):
    """p <- p - r^0 - ... - r^{s-1}: what residuals leave open, so that momenta do not drift."""
    for i in range(plan[BODIES]):
        t = TWIST * i
        for b in range(s):
            at = TWIST * (s * i + b)
            turn = multiply_matrix(matrix[b], 9 * i, load3(r, at + 3))
            turn = turned_back(matrix[s], 9 * i, turn)
            for j in range(3):
                p[t + j] -= r[at + j]
                p[t + 3 + j] -= turn[j]


@kernel
def largest_turn(n, turn):
    """max |phi^a| over bodies and nodes."""
    most = 0.0
    for a in range(1, turn.shape[0]):
        for i in range(n):
            x, y, z = turn[a, 4 * i + 1], turn[a, 4 * i + 2], turn[a, 4 * i + 3]
            most = max(most, x * x + y * y + z * z)
    return math.sqrt(most)


@kernel
def control_at(control, place, part, parts, driven):
    """driven[a] <- controls at node a of a part of a step, constant or the polynomial given."""
    nodes, n = driven.shape
    for a in range(nodes):
        t = (part + place[a]) / parts
        for j in range(n):
            driven[a, j] = control[j]
        if control.size == n:
            continue
        for j in range(n):
            driven[a, j] = 0.0
        for b in range(nodes):
            weight = 1.0
            for c in range(nodes):
                if c != b:
                    weight *= (t - place[c]) / (place[b] - place[c])
            for j in range(n):
                driven[a, j] += weight * control[n * b + j]


@kernel
def interval(
    plan, constant, program, fallback, rule, time, h, settings, control, wrench, p, last, whole,
    nodes, x, table, scratch, solver, info,
):  # fmt: skip
    """One interval of length h; iterations, or what went wrong: p and ``last`` then unchanged."""
    pose, matrix, g, G, speed, spin, turn, sigma = nodes
    s, late = rule[0].size - 1, False  # whether the second order of elimination was needed
    done = 0
    for order in (program, fallback):
        if whole and info[SEEN] >= FEWEST:
            n = TWIST * s * plan[BODIES]
            gone_on(0, n, int(info[SEEN]), table, x)
            gone_on(n, x.size, int(info[SEEN]), table, x)
            go_on_in_loops(plan, constant, s, table, x)
        else:
            from_ends(plan, rule, h, 1.0 if whole else 0.0, last, x)
        done = attempt(
            plan, constant, order, rule, time, h, settings[0], control, wrench, p, x, nodes,
            scratch, solver, info,
        )  # fmt: skip
        if done != SINGULAR or fallback.size == 0:
            break
        late = True
    if done < 0:
        return done
    if late:
        info[HELD] = 0.0  # factors of the other order
    if end_momentum(plan, constant, rule, time, h, control, wrench, nodes, scratch[4], p) != 0:
        return NOT_FINITE
    make_up(plan, s, scratch[0], matrix, p)
    keep(plan, s, h, speed, x, last)
    info[SEEN] = remember(int(info[SEEN]), x, scratch[1], table) if whole else 0
    return done


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

    ``settings`` are the tolerance and the largest |phi| of an interval; ``ready`` says that the
    workspace holds the node of the state. ``work`` holds the rule too. ``control`` has one row, or
    one for each node, one behind the other.
    """
    rule, nodes, x, saved, table, scratch, driven, fallback = work
    n, rows = plan[BODIES], plan[ROWS]
    m = TWIST * n
    at = POSE * n
    p = state[at : at + m]
    held = at + 3 * m + rows
    last = state[at + m : at + 2 * m], state[at + 2 * m : at + 3 * m], state[at + 3 * m : held]
    if not ready:
        start(plan, constant, state, nodes)
        info[SEEN], info[HELD], info[WAIT], info[PAUSE] = 0.0, 0.0, 0.0, 0.0
    copy(state, saved)
    info[ITERATIONS], info[INTERVALS], info[FACTORIZATIONS] = 0.0, 0.0, 0.0
    done = 0
    for level in range(DEPTH + 1):
        count = 1 << level
        part = h / count
        for k in range(count):
            control_at(control, rule[2], k, count, driven)
            done = interval(
                plan, constant, program, fallback, rule, info[TIME] + k * part, part, settings,
                driven, wrench, p, last, level == 0, nodes, x, table, scratch, solver, info,
            )  # fmt: skip
            if done >= 0:
                info[ITERATIONS] += done
                if largest_turn(n, nodes[6]) > settings[1] and level < DEPTH:
                    done = -4
            if done < 0:
                break
            info[INTERVALS] += 1.0
            move_on(plan, nodes)
        if done >= 0:
            break
        copy(saved, state)
        start(plan, constant, state, nodes)
    info[STATUS] = min(done, 0)
    if done >= 0:
        for i in range(POSE * n):
            state[i] = nodes[0][0, i]
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
    """Run ``steps`` steps, record the state behind every ``every``; steps done (see `step`)."""
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
        note(k, every, h, info, state, totals, record)
    return steps
