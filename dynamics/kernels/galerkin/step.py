"""Galerkin-Lobatto steps of order 2 s: an interval with its predictor, its equations, its checks.

A state is that of `step`; of a body it keeps the velocities u at the end and u_prev at the start of
the last interval.
"""

import math

from dynamics.kernels.base.arguments import Inputs
from dynamics.kernels.base.jit import inlined, kernel, pointer
from dynamics.kernels.base.layout import ALL_ROWS, BODIES, GROUPS, POSE, ROWS, TWIST
from dynamics.kernels.base.quaternion import load3, multiply_matrix
from dynamics.kernels.base.settings import ENERGY_SHARE, LARGEST_TURN, TOLERANCE
from dynamics.kernels.base.status import ENERGY_GAINED, NOT_FINITE, SINGULAR, TURNED_TOO_FAR
from dynamics.kernels.base.step_info import (
    LENGTH,
    MIDDLE_WAIT,
    SPACING,
    STORED_STEPS,
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
from dynamics.kernels.galerkin.energy import energy_rises
from dynamics.kernels.galerkin.newton import (
    StageEquations,
    attempt,
    goal_of,
    schedule_middle,
)
from dynamics.kernels.galerkin.predictor import begin_guess, store_step
from dynamics.kernels.galerkin.residual import end_momentum
from dynamics.kernels.rows.poses import rotation_matrices
from dynamics.kernels.rows.rows import evaluate, turned_back
from dynamics.kernels.stepping.run import make_simulate
from dynamics.kernels.stepping.substeps import Arrays, make_step


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
    evaluate(plan, constant, 0, plan[GROUPS], pose, matrix, nodes.g, nodes.G)


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
def remember(plan, s, whole, guess, x, table, info):
    """Table of differences <- that with x, where steps are of one length."""
    if guess is None:
        if whole:
            store_step(plan, s, x, table, info)
            return
    info[STORED_STEPS] = 0.0


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


@inlined
def interval(
    # Tables:
    plan,
    constant,
    program,
    # In:
    settings,
    inputs,
    part,
    # In and out:
    motion,
    ends,
    # Work:
    work,
    solver,
    # Out:
    info,
):  # fmt: skip
    """One interval; iterations, or what went wrong, the motion then unchanged: see `Place`."""
    nodes, method = ends
    rule, p, done = method.rule, motion.p, SINGULAR
    s, time, h, whole, x = rule.s, part.time, part.length, part.count == 1, work.x
    control_at(inputs.control, rule.place, part.index, part.count, work.driven)
    inputs = Inputs(control=work.driven, wrench=inputs.wrench)
    equations = StageEquations(method=method, time=time, h=h, inputs=inputs, p=p, nodes=nodes)
    for _ in range(2):
        begin_guess(plan, constant, rule, h, whole, part.guess, info, work.table, motion, x)
        goal = goal_of(plan, constant, method, h, settings[TOLERANCE], nodes, info)
        done = attempt(plan, constant, program, goal, equations, work, solver, info)
        if done >= 0:
            schedule_middle(goal.rough, info)
            break
        if not goal.rough:
            break
        # the next try is without the middle (test_a_pivot_that_vanishes_does_not_stop_a_step)
        info[MIDDLE_WAIT] = 1.0
    if done < 0:
        return done
    if not part.last and largest_turn(plan[BODIES], s, nodes.turn) > settings[LARGEST_TURN]:
        return TURNED_TOO_FAR
    if end_momentum(plan, constant, rule, time, h, inputs, nodes, work.f, p) != 0:
        return NOT_FINITE
    if settings[ENERGY_SHARE] != 0.0 and energy_rises(
        plan, constant, settings, rule, inputs, part, nodes, p, work.f, info
    ):
        return ENERGY_GAINED
    make_up(plan, s, work.r, nodes, p)
    store_interval(plan, s, h, nodes, x, motion)
    remember(plan, s, whole, part.guess, x, work.table, info)
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
def work_of(x, table, driven, arrays):
    """Work arrays of an interval as kernels see them."""
    r, dx, kept, mu, f, L, C, K, E, W = arrays
    return StageWork(
        x=pointer(x, 0), table=pointer(table, 0), r=pointer(r, 0), dx=pointer(dx, 0),
        kept=pointer(kept, 0), mu=pointer(mu, 0), f=pointer(f, 0), driven=driven,
        L=L, C=C, K=K, E=E, W=W,
    )  # fmt: skip


@inlined
def arrays_of(plan, state, work, solver, info):
    """`Arrays` of a step, whose ends are all nodes of an interval and the `Method`."""
    (weights, slope, place), stages, blocks, arrays, x, saved, table, within, driven, others = work
    rule = Rule(
        s=weights.size - 1, weights=pointer(weights, 0), slope=pointer(slope, 0),
        place=pointer(place, 0),
    )  # fmt: skip
    stages = (pointer(stages[0], 0), pointer(stages[1], 0), pointer(stages[2], 0))
    values, magnitude, factors, workspace, status = solver[0]
    linear = StageSolver(
        values=values, magnitude=magnitude, factors=factors, workspace=workspace, status=status,
        rhs=within[0], solution=within[1], middle=solver[1],
    )  # fmt: skip
    method = Method(rule=rule, stages=stages, blocks=blocks, middle=others[1])
    return Arrays(
        ends=(pointers(arrays), method), work=work_of(x, table, driven, within), solver=linear,
        saved=saved, reached=saved[:0], fallback=others[0],
    )  # fmt: skip


@kernel
def load(plan, constant, state, ends):
    """`load_state` of the first of all nodes."""
    nodes, method = ends
    load_state(plan, constant, method.rule.s, state, nodes)


@inlined
def advance(plan, ends, info):
    """The same arrays with the next interval's start."""
    nodes, method = ends
    start_next(plan, method.rule.s, nodes)
    return ends


@inlined
def adapt(plan, constant, h, done, part, motion, ends, work, info):
    """Lengths of the last intervals: every step begins with one."""
    if done >= 0:
        rule = ends[1].rule
        end, before = rule.weights[rule.s], part.length if part.index > 0 else info[LENGTH]
        info[LENGTH], info[SPACING] = part.length, (1.0 - end) * part.length + end * before


step = make_step(arrays_of, load, interval, advance, adapt)
simulate = make_simulate(step)
