"""Steps of order 2: an interval with its predictor, its equations, its checks."""

import math

import numpy as np
from numpy.typing import NDArray

from dynamics.kernels.base.arguments import (
    Node,
    Solver,
    Work,
    motion_of,
    node_of_tuple,
)
from dynamics.kernels.base.copying import copy_numbers
from dynamics.kernels.base.intervals import keeps_intervals
from dynamics.kernels.base.jit import inlined, kernel, lazy, pointer
from dynamics.kernels.base.lanes import some, where
from dynamics.kernels.base.layout import (
    ADDED,
    ALL_ROWS,
    BODIES,
    BODY_SIZE,
    CONTACTS,
    FALLBACK_AT,
    FALLBACK_SIZE,
    FIRST_ROW,
    GROUP_AT,
    GROUP_FIELDS,
    GROUPS,
    INERTIA,
    JOINTS,
    MASS,
    N_ROWS,
    POSE,
    ROTORS,
    ROWS,
    SLOTS,
    SOFT_CONTACTS,
    STIFF_NUMBERS,
    STORED,
    TWIST,
    WRENCH_SIZE,
    WRENCHES,
)
from dynamics.kernels.base.quaternion import cross, load3, multiply_matrix
from dynamics.kernels.base.settings import ENERGY_SHARE, LARGEST_TURN, TOLERANCE
from dynamics.kernels.base.six import add_multiples, put_multiple
from dynamics.kernels.base.status import ENERGY_GAINED, NOT_FINITE, PASSED_THROUGH, TURNED_TOO_FAR
from dynamics.kernels.base.step_info import (
    KINETIC,
    LARGEST_WORK,
    LAST_LENGTH,
    LENGTH,
    NODE_SIDE,
    RESTITUTION_PART,
    SPACING,
    UNEXPLAINED_INTERVALS,
    VELOCITY_ERROR,
    VIOLATION,
)
from dynamics.kernels.contacts.rows import bounced, groups_at_end, start_of_soft
from dynamics.kernels.interval.energy_audit import barrier_energy, constraint_work
from dynamics.kernels.interval.energy_balance import (
    barrier_of,
    energy_rises,
    held_by_contacts,
    kinetic,
)
from dynamics.kernels.interval.planar import planar_of
from dynamics.kernels.interval.predictor import advance_history, predict
from dynamics.kernels.rows.added_mass import add_momenta
from dynamics.kernels.rows.forces import conservative, damp, drive, push
from dynamics.kernels.rows.poses import rotation_matrices, turns, turns_too_far
from dynamics.kernels.rows.rotor import add_rotors
from dynamics.kernels.rows.rows import evaluate, held_velocity, turned_back
from dynamics.kernels.rows.servo_kicks import add_servo_kicks
from dynamics.kernels.rows.stiff_forces import aim, first_part, store_forces
from dynamics.kernels.rows.wrench import add_user_impulses
from dynamics.kernels.stepping.loop_curvature import (
    CHECKED_TURN,
    LARGEST_ROTATION_ENERGY,
    rotation_energy,
)
from dynamics.kernels.stepping.resonance import choose_halvings
from dynamics.kernels.stepping.run import make_simulate
from dynamics.kernels.stepping.solve_interval import solve_interval
from dynamics.kernels.stepping.substeps import Arrays, make_step

#: Turn of the predictor over the limit above which an interval is not attempted if the last one
#: turned too far. Nearer to the limit the solution decides, which is symmetric in time. Attempts
#: take 1.4 times as long for a random tree of 40 bodies.
SURELY = 1.5
#: Part of restitution that is taken off where contacts that bounce give energy.
LESS = 0.25


def node_of(
    plan: NDArray[np.int64], work: NDArray[np.float64], at: int
) -> tuple[Node, int]:  # fmt: skip
    """A node in the workspace from place ``at``, and the place after it.

    Plain Python for callers outside: kernels, which count no references, can hand out no arrays.
    """
    n, rows = plan[BODIES], plan[ALL_ROWS]
    a = at + POSE * (n + 1)
    b = a + 9 * (n + 1)
    c = b + 3 * rows + 1
    d = c + 12 * rows
    e = d + TWIST * n
    if plan[WRENCHES] > 0:
        e += 1 + WRENCH_SIZE * plan[WRENCHES]
    return Node(work[at:a], work[a:b], work[b:c], work[c:d], work[d:e]), e


place = kernel(node_of)


@kernel
def pointers(node):
    """The same node as kernels see it."""
    return Node(
        pointer(node.pose, 0),
        pointer(node.matrix, 0),
        pointer(node.g, 0),
        pointer(node.G, 0),
        pointer(node.f, 0),
    )


@kernel
def evaluate_node(plan, constant, node):
    """Rotation matrices, all rows with slopes, and conservative forces at the node's pose."""
    evaluate(plan, constant, 0, plan[GROUPS], node.pose, node.matrix, node.g, node.G)
    conservative(plan, constant, node.G, node.g, node.f)


@kernel
def complete_node(plan, constant, node, known):
    """`evaluate_node`, where the rows of so many groups are there."""
    pose, matrix, g, G = node.pose, node.matrix, node.g, node.G
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        if held_velocity(plan, plan[group + FIRST_ROW] + plan[group + N_ROWS] - 1):
            evaluate(plan, constant, k, k + 1, pose, matrix, g, G)  # what `roll` wrote over
    evaluate(plan, constant, known, plan[GROUPS], pose, matrix, g, G)
    conservative(plan, constant, G, g, node.f)


@kernel
def load_state(plan, constant, state, node, trial):
    """Node <- the state's pose, and what belongs to it; the world's pose in both."""
    n = plan[BODIES]
    node, trial = node_of_tuple(node), node_of_tuple(trial)
    pose, moved = node.pose, trial.pose
    for i in range(POSE * n):
        pose[i] = state[i]
        moved[i] = state[i]
    for i in range(POSE * n, POSE * (n + 1)):
        pose[i] = 0.0
        moved[i] = 0.0
    pose[POSE * n + 3], moved[POSE * n + 3] = 1.0, 1.0
    rotation_matrices(n, pose, node.matrix)
    rotation_matrices(n, moved, trial.matrix)
    evaluate_node(plan, constant, node)


@kernel
def end_momentum(plan, constant, h, inputs, start, node, x, p):
    """p <- momentum at the end of an interval, theory/step (6), (12): M v, pi^+, later halves.

    0, or 1 where a user's function fails.
    """
    n = plan[BODIES]
    G, f = node.G, node.f
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
    add_multiples(TWIST * n, 0.5 * h, f, p)
    if plan[ADDED] > 0:
        add_momenta(plan, constant, h, -1.0, 1.0, G, x, p)
    damp(plan, constant, 0.0, -h, G, x, p)
    if plan[ROTORS] > 0:
        add_rotors(plan, constant, h, start.g, node.g, G, p)
        if plan[STIFF_NUMBERS] == 0:
            add_servo_kicks(plan, constant, 0.5 * h, start.g, node.g, G, x, p)
    push(plan, constant, True, G, pointer(x, TWIST * n), 1.0, p)
    drive(plan, constant, 0.5 * h, G, inputs.control, inputs.wrench, p)
    return add_user_impulses(plan, 0.5 * h, node.pose, f, x, p) if plan[WRENCHES] > 0 else 0


@kernel
def make_up(n, node, trial, r, p):
    """p <- p - r: what the residual left open is made up for, so that momenta do not drift."""
    for i in range(n):
        t = TWIST * i
        turn = turned_back(
            trial.matrix, 9 * i, multiply_matrix(node.matrix, 9 * i, load3(r, t + 3))
        )
        for j in range(3):
            p[t + j] -= r[t + j]
            p[t + 3 + j] -= turn[j]


@lazy("int")
def energy_gained(plan, contacts, info):
    """The status; if a contact bounced, the step is tried again with less restitution.

    With friction, Newton's law of restitution may give energy (Stronge, Proc. R. Soc. A 431, 1990),
    in an interval of any length.
    """
    if plan[CONTACTS] > 0 and info[RESTITUTION_PART] > 0.0 and bounced(plan, contacts):
        info[RESTITUTION_PART] -= LESS
    return ENERGY_GAINED


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
    """One interval; iterations, or what went wrong. ``ends`` are the nodes of both its ends.

    The motion is changed only if it succeeds. ``part`` is its `Place` in the step.
    """
    (node, trial), h = ends, part.length
    if plan[WRENCHES] > 0:
        at = TWIST * plan[BODIES]
        node.f[at], trial.f[at] = part.time, part.end
    x, r, dx, kick = work.x, work.r, work.dx, work.kick
    u, last, contacts = motion.u, part.last, plan[CONTACTS] > 0
    n, turn = TWIST * plan[BODIES], settings[LARGEST_TURN]
    if not contacts:  # with contacts the guess is the last velocity: `interior`
        predict(n, part.count == 1, h, info, u, work.past, x)
    fast = not last and turns_too_far(plan, constant, h, u, turn)
    # with contacts it hardly will turn less: attempts take 1.15 times as long for heaps of 5 shapes
    if fast and (contacts or turns(plan[BODIES], h, x) > SURELY * turn):
        return TURNED_TOO_FAR
    copy_numbers(motion.p, 0, kick, 0, n)
    add_multiples(n, 0.5 * h, node.f, kick)
    for i in range(n, 2 * n if plan[WRENCHES] > 0 else n):
        kick[i] = 0.0
    if not contacts:
        put_multiple(plan[ROWS], h, motion.mu, 0, x, n)
    drive(plan, constant, 0.5 * h, node.G, inputs.control, inputs.wrench, kick)
    if plan[STIFF_NUMBERS] > 0:
        node.g[3 * plan[ALL_ROWS]] = first_part(motion.stiff, h)
    if plan[ROTORS] > 0:
        aim(plan, constant, inputs.control, node.g)
    held = held_by_contacts(plan, constant, motion.c) if contacts else 0.0
    done = solve_interval(
        plan, constant, program, settings, part, node, motion, trial, work, solver,
        solver.columns, info,
    )  # fmt: skip
    if done < 0:
        return done
    if not last and turns_too_far(plan, constant, h, x, turn):
        return TURNED_TOO_FAR
    explained = 0.0
    if contacts and plan[SOFT_CONTACTS] != 0:
        energy, explained = start_of_soft(plan, constant, h, node.g, work.contacts, motion.c, u, x)
        held = held if part.moving else energy
    known = (0.0, 0.0, held)
    if settings[ENERGY_SHARE] != 0.0:
        share, before = abs(settings[ENERGY_SHARE]), info[KINETIC]
        after, power = kinetic(plan, constant, h, node.G, x, dx)
        if not part.moving:
            before, _ = kinetic(plan, constant, h, node.G, u, dx)
        known = (after, power, held)
        change, bound = after - before, share * (after + before)
        if contacts:  # what barriers explain is no gain, and what contacts take is none
            judged = change > bound and change > bound + barrier_energy(
                plan, constant, barrier_of(settings, info)
            )
        else:
            judged = abs(change) > bound
        if some(judged):
            residual = (info[VELOCITY_ERROR], info[VIOLATION])
            given_work, error = constraint_work(
                plan, constant, h, settings[TOLERANCE], barrier_of(settings, info), residual, node,
                trial, u, work, part.moving,
            )  # fmt: skip
            given_work -= explained  # by what compliant contacts give back
            much = share * (after + before) + error
            given, taken = min(given_work, after - before), min(-given_work, before - after)
            if given > much and not (last and settings[ENERGY_SHARE] < 0.0):
                return energy_gained(plan, work.contacts, info)
            if taken > much and part.moving and not contacts and not last:
                return ENERGY_GAINED  # backwards in time it is given
            info[LARGEST_WORK] = max(info[LARGEST_WORK], where(judged, given, 0.0))
            if given > much:
                info[UNEXPLAINED_INTERVALS] += 1.0
    complete_node(plan, constant, trial, groups_at_end(plan) if contacts else plan[JOINTS])
    if end_momentum(plan, constant, h, inputs, node, trial, x, motion.p) != 0:
        return NOT_FINITE
    if settings[ENERGY_SHARE] != 0.0 and energy_rises(
        plan, constant, settings, inputs, part, known, ends, motion, work, info
    ):
        return energy_gained(plan, work.contacts, info)
    if not contacts:
        make_up(plan[BODIES], node, trial, r, motion.p)
        if not last and some(turns(plan[BODIES], h, x) > CHECKED_TURN * turn):
            if (
                rotation_energy(plan, constant, program, node, trial, x, solver)
                > LARGEST_ROTATION_ENERGY
            ):
                return TURNED_TOO_FAR
    if plan[STIFF_NUMBERS] > 0:
        store_forces(plan, constant, h, node.g, trial.g, motion.stiff)
    advance_history(n, -h if contacts else h, info, x, u, work.past)
    put_multiple(plan[ROWS], 1.0 / h, x, n, motion.mu, 0)
    return done


@inlined
def arrays_of(plan, state, work, solver, info):
    """`Arrays` of a step: nodes of both ends and what an interval works with."""
    n, rows = plan[BODIES], plan[ROWS]
    m, N = TWIST * n, TWIST * n + rows
    one, at = place(plan, work, 0)
    two, at = place(plan, work, at)
    node, trial = pointers(one), pointers(two)
    if info[NODE_SIDE] == 1.0:
        node, trial = trial, node
    x, kept = pointer(work, at), pointer(work, at + 3 * N)
    rhs, solution = work[at + N : at + 2 * N], work[at + 2 * N : at + 3 * N]
    at += (3 + STORED) * N
    kick = pointer(work, at)
    past = (motion_of(plan, state).u_prev, pointer(work, at + 2 * m), pointer(work, at + 3 * m))
    given = pointer(work, at + 4 * m)
    at += 6 * m
    saved = work[at : at + state.size]
    at += state.size
    reached = work[at : at + state.size]
    at += reached.size
    planar, at = planar_of(plan, work, at)
    values, magnitude, factors, workspace, status, columns, schedule = solver[:7]
    linear = Solver(
        values=values, magnitude=magnitude, factors=factors, workspace=workspace, status=status,
        rhs=rhs, solution=solution, columns=columns, matrix=solver[7:], planar=planar,
        schedule=schedule,
    )  # fmt: skip
    scratch = Work(
        x=x, r=pointer(rhs, 0), dx=pointer(solution, 0), kept=kept, kick=kick, given=given,
        past=past,
        dc=pointer(work, at), kept_c=pointer(work, at + plan[SLOTS]),
        contacts=pointer(work, at + 2 * plan[SLOTS]),
    )  # fmt: skip
    fallback = plan[plan[FALLBACK_AT] : plan[FALLBACK_AT] + plan[FALLBACK_SIZE]]
    return Arrays(
        ends=(node, trial), work=scratch, solver=linear, saved=saved, reached=reached,
        fallback=fallback,
    )  # fmt: skip


@kernel
def load(plan, constant, state, ends):
    """`load_state` of the first of both ends."""
    load_state(plan, constant, state, ends[0], ends[1])


@inlined
def advance(plan, ends, info):
    """Ends of the next interval."""
    info[NODE_SIDE] = 1.0 - info[NODE_SIDE]
    return ends[1], ends[0]


@inlined
def adapt(plan, constant, h, done, part, motion, ends, work, info):
    """Halvings of the next step, or of this one after its interval at ``part`` failed.

    It follows every interval where `keeps_intervals`; the one before may be of another length then.
    """
    failed, n = done < 0, TWIST * plan[BODIES]
    for i in range(0 if failed else n):
        work.given[i] = work.given[n + i]
    if not failed:
        before = part.length if part.index > 0 and not keeps_intervals(plan) else info[LENGTH]
        info[LENGTH], info[SPACING] = part.length, 0.5 * (before + part.length)
    if not failed or (
        done != TURNED_TOO_FAR
        and done != PASSED_THROUGH
        and part.index == 0
        and info[LAST_LENGTH] == part.length
    ):
        choose_halvings(plan, constant, h, failed, ends[0], motion, work.past, info)
    if failed and part.index > 0:
        info[LAST_LENGTH] = 0.0


step = make_step(arrays_of, load, interval, advance, adapt)
simulate = make_simulate(step)
