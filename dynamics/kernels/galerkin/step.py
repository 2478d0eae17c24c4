"""Galerkin-Lobatto steps of order 2 s: intervals put together, halved where hard, recorded.

A state is that of `step`; of a body it keeps the velocities u at the end and u_prev at the start of
the last interval.
"""

import math

from dynamics.kernels.base.arguments import Inputs, Place, motion_of
from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.base.layout import ALL_ROWS, BODIES, GROUPS, POSE, ROWS, TWIST
from dynamics.kernels.base.quaternion import load3, multiply_matrix
from dynamics.kernels.base.settings import LARGEST_TURN, TOLERANCE
from dynamics.kernels.base.status import NOT_FINITE, SINGULAR, TURNED_TOO_FAR
from dynamics.kernels.base.step_info import (
    FACTORIZATIONS,
    INTERVALS,
    ITERATIONS,
    MIDDLE_PAUSE,
    MIDDLE_WAIT,
    STATUS,
    STORED_STEPS,
    TIME,
)
from dynamics.kernels.galerkin.arguments import (
    Method,
    Nodes,
    Rule,
    StageSolver,
    StageWork,
    nodes_of_tuple,
)
from dynamics.kernels.galerkin.body import node
from dynamics.kernels.galerkin.newton import attempt
from dynamics.kernels.galerkin.predictor import FEWEST, predict, predict_from_ends, store_step
from dynamics.kernels.galerkin.residual import end_momentum
from dynamics.kernels.rows.poses import rotation_matrices
from dynamics.kernels.rows.rows import evaluate, turned_back
from dynamics.kernels.stepping.cuts import DEPTH
from dynamics.kernels.stepping.run import copy, make_simulate


@kernel
def load_state(plan, constant, s, state, nodes):
    """First node <- the state's pose and its rows with slopes; the world's pose in all."""
    nodes = nodes_of_tuple(nodes)
    pose, matrix, turn = nodes.pose, nodes.matrix, nodes.turn
    n = plan[BODIES]
    for i in range(POSE * n):
        pose[i] = state[i]
    for i in range(n):
        at = 4 * (s + 1) * i
        turn[at], turn[at + 1], turn[at + 2], turn[at + 3] = 1.0, 0.0, 0.0, 0.0
    for a in range(s + 1):
        world, at = POSE * ((n + 1) * a + n), 9 * ((n + 1) * a + n)
        for i in range(POSE):
            pose[world + i] = 1.0 if i == 3 else 0.0
        for j in range(9):
            matrix[at + j] = 1.0 if j % 4 == 0 else 0.0
    rotation_matrices(n, pose, matrix)
    evaluate(plan, constant, 0, plan[GROUPS], pose, matrix, True, nodes.g, nodes.G)


@kernel
def start_next(plan, s, nodes):
    """First node <- the last one."""
    first, last = node(plan, nodes, 0), node(plan, nodes, s)
    n, rows = plan[BODIES], plan[ALL_ROWS]
    for i in range(POSE * n):
        first.pose[i] = last.pose[i]
    for i in range(9 * n):
        first.matrix[i] = last.matrix[i]
    for i in range(rows):
        first.g[i] = last.g[i]
    for i in range(12 * rows):
        first.G[i] = last.G[i]


@kernel
def store_interval(plan, s, h, nodes, x, motion):
    """Velocities and mean forces sum mu^b / h of a solved interval, for `predict_from_ends`."""
    u, u_prev, mu = motion.u, motion.u_prev, motion.mu
    n, rows, rate = TWIST * plan[BODIES], plan[ROWS], 1.0 / h
    first, end = node(plan, nodes, 0), node(plan, nodes, s)
    for i in range(n):
        u_prev[i] = first.speed[i]
        u[i] = end.speed[i]
    for i in range(rows):
        total = 0.0
        for b in range(s):
            total += x[b * (n + rows) + n + i]
        mu[i] = rate * total


@kernel
def make_up(plan, s, r, nodes, p):
    """p <- p - r^0 - ... - r^{s-1}: what residuals leave open, so that momenta do not drift."""
    end = node(plan, nodes, s).matrix
    for b in range(s):
        matrix = node(plan, nodes, b).matrix
        first = b * (TWIST * plan[BODIES] + plan[ROWS])
        for i in range(plan[BODIES]):
            t = TWIST * i
            turn = multiply_matrix(matrix, 9 * i, load3(r, first + t + 3))
            turn = turned_back(end, 9 * i, turn)
            for j in range(3):
                p[t + j] -= r[first + t + j]
                p[t + 3 + j] -= turn[j]


@kernel
def largest_turn(n, s, turn):
    """max |phi^a| over bodies and nodes."""
    most = 0.0
    for at in range(0, 4 * n * (s + 1), 4):
        x, y, z = turn[at + 1], turn[at + 2], turn[at + 3]
        most = max(most, x * x + y * y + z * z)
    return math.sqrt(most)


@kernel
def control_at(control, place, part, parts, driven):
    """driven[a] <- controls at node a of a part of a step, constant or the polynomial given."""
    nodes, n = driven.shape
    for a in range(nodes if n > 0 else 0):
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
    # Tables:
    plan,
    constant,
    programs,
    method,
    # In:
    settings,
    inputs,
    part,
    # In and out:
    motion,
    nodes,
    # Work:
    work,
    solver,
    # Out:
    info,
):  # fmt: skip
    """One interval; iterations, or what went wrong, the motion then unchanged: see `Place`."""
    rule, done = method.rule, SINGULAR
    time, h, whole, p = part.time, part.length, part.whole, motion.p
    s, x, table = rule.s, work.x, work.table
    for order in (programs[0], programs[0], programs[1]):
        if order.size == 0:
            break
        if whole and info[STORED_STEPS] >= FEWEST:
            predict(plan, constant, s, info, table, x)
        else:
            predict_from_ends(plan, rule, h, 1.0 if whole else 0.0, motion, x)
        done = attempt(
            plan, constant, order, method, settings[TOLERANCE], inputs, part, p, nodes, work,
            solver, info,
        )  # fmt: skip
        if done >= 0:
            break
        info[MIDDLE_WAIT] = max(1.0, info[MIDDLE_WAIT])  # the next try is without the middle
    if done < 0:
        return done
    if end_momentum(plan, constant, rule, time, h, inputs, nodes, work.f, p) != 0:
        return NOT_FINITE
    make_up(plan, s, work.r, nodes, p)
    store_interval(plan, s, h, nodes, x, motion)
    if whole:
        store_step(plan, s, x, table, info)
    else:
        info[STORED_STEPS] = 0.0
    return done


@kernel
def pointers(arrays):
    """The same arrays as kernels see them."""
    nodes = nodes_of_tuple(arrays)
    return Nodes(
        pose=pointer(nodes.pose, 0), matrix=pointer(nodes.matrix, 0), g=pointer(nodes.g, 0),
        G=pointer(nodes.G, 0), speed=pointer(nodes.speed, 0), spin=pointer(nodes.spin, 0),
        turn=pointer(nodes.turn, 0), sigma=pointer(nodes.sigma, 0),
    )  # fmt: skip


@kernel
def work_of(x, table, arrays):
    """Work arrays of an interval as kernels see them."""
    r, dx, kept, mu, f, L, C, K, E, W = arrays
    return StageWork(
        x=pointer(x, 0), table=pointer(table, 0), r=pointer(r, 0), dx=pointer(dx, 0),
        kept=pointer(kept, 0), mu=pointer(mu, 0), f=pointer(f, 0), L=L, C=C, K=K, E=E, W=W,
    )  # fmt: skip


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

    ``ready`` says that the workspace holds the node of the state. ``work`` holds the rule too.
    ``control`` has one row, or one for each node, one after another.
    """
    (weights, slope, place), stages, blocks, arrays, x, saved, table, within, driven, others = work
    s, n = weights.size - 1, plan[BODIES]
    rule = Rule(
        s=s, weights=pointer(weights, 0), slope=pointer(slope, 0), place=pointer(place, 0)
    )  # fmt: skip
    stages = (pointer(stages[0], 0), pointer(stages[1], 0), pointer(stages[2], 0))
    programs = (program, others[0])
    method = Method(rule=rule, stages=stages, blocks=blocks, middle=others[1])
    values, magnitude, factors, workspace, status = solver[0]
    linear = StageSolver(
        values=values, magnitude=magnitude, factors=factors, workspace=workspace, status=status,
        rhs=within[0], solution=within[1], middle=solver[1],
    )  # fmt: skip
    nodes, scratch = pointers(arrays), work_of(x, table, within)
    inputs = Inputs(control=driven, wrench=wrench)
    motion = motion_of(plan, state)
    plan, constant, info = pointer(plan, 0), pointer(constant, 0), pointer(info, 0)
    if not ready:
        load_state(plan, constant, s, state, nodes)
        info[STORED_STEPS], info[MIDDLE_WAIT], info[MIDDLE_PAUSE] = 0.0, 0.0, 0.0
    copy(state, saved)
    info[ITERATIONS], info[INTERVALS], info[FACTORIZATIONS] = 0.0, 0.0, 0.0
    done = 0
    for level in range(DEPTH + 1):
        count = 1 << level
        part = h / count
        for k in range(count):
            control_at(control, place, k, count, driven)
            location = Place(
                time=info[TIME] + k * part, length=part, whole=level == 0, last=level == DEPTH,
                moving=ready or k > 0,
            )  # fmt: skip
            done = interval(
                plan, constant, programs, method, settings, inputs, location, motion, nodes,
                scratch, linear, info,
            )  # fmt: skip
            if done >= 0:
                info[ITERATIONS] += done
                if not location.last and largest_turn(n, s, nodes.turn) > settings[LARGEST_TURN]:
                    done = TURNED_TOO_FAR
            if done < 0:
                break
            info[INTERVALS] += 1.0
            start_next(plan, s, nodes)
        if done >= 0:
            break
        copy(saved, state)
        load_state(plan, constant, s, state, nodes)
    info[STATUS] = min(done, 0)
    if done >= 0:
        for i in range(POSE * n):
            state[i] = nodes.pose[i]
    return min(done, 0)


simulate = make_simulate(step)
