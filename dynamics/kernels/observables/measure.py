"""Observables of many states: coordinates and rates of joints, velocities, energies."""

from dynamics.kernels.base.arguments import Node
from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.base.layout import (
    ADDED,
    AJ_AT,
    BJ_AT,
    BODIES,
    BODY_SIZE,
    COMPLIANCE,
    CONTACTS,
    DIAGONAL_AT,
    EQUATION,
    FIRST_ROW,
    GAIN,
    GRAVITY,
    GROUP_AT,
    GROUP_FIELDS,
    GROUPS,
    IMPLICIT_STIFFNESS,
    INERTIA,
    JA_AT,
    JB_AT,
    JOINTS,
    MASS,
    MEASURES,
    N_ROWS,
    POSE,
    PULL,
    REGULARIZATION,
    ROTORS,
    ROW_CONSTANT_AT,
    ROW_SIZE,
    ROWS,
    SLOTS,
    STIFF_NUMBERS,
    STIFFNESS,
    TWIST,
    A,
    B,
)
from dynamics.kernels.base.quaternion import dot, load3, multiply_matrix, rotate
from dynamics.kernels.interval.matrix import bodies, force_slopes
from dynamics.kernels.observables.contacts import (
    ROUNDS,
    WEAKER,
    add_held_rows,
    add_sliding_rows,
    direct_sliding,
    find_closed,
    hold_more,
    subtract_held_rows,
    subtract_sliding_rows,
    weaken_holds,
)
from dynamics.kernels.observables.stiff_forces import (
    add_stiff_slopes,
    add_stored_forces,
    subtract_stiff_slopes,
)
from dynamics.kernels.rows.added_mass import add_blocks, add_momenta, add_total, added_energy
from dynamics.kernels.rows.forces import conservative, inner
from dynamics.kernels.rows.poses import rotation_matrices
from dynamics.kernels.rows.rotor import add_spin
from dynamics.kernels.rows.rows import evaluate
from graphsys.kernels import factorize, solve

#: Last refinement of velocities over their size: those of links without mass in a chain that a
#: contact holds were 1e4 times too large (tests/dynamics/test_massless.py).
DIGITS = 1e-6


@kernel
def placed(n, state, pose, matrix):
    """Pose of all bodies and the world, and their rotation matrices."""
    for i in range(POSE * n):
        pose[i] = state[i]
    for i in range(POSE):
        pose[POSE * n + i] = 0.0
    pose[POSE * n + 3] = 1.0
    rotation_matrices(n, pose, matrix)


@kernel
def rows_and_rates(plan, first, last, twist, g, G, out):
    """out <- values g and rates G V of the rows of groups ``first`` to ``last``."""
    n = plan[BODIES]
    start = plan[plan[GROUP_AT] + first * GROUP_FIELDS + FIRST_ROW] if last > first else 0
    for group in range(first, last):
        at = plan[GROUP_AT] + group * GROUP_FIELDS
        a, b, row = plan[at + A], plan[at + B], plan[at + FIRST_ROW]
        place = plan[at + EQUATION] - start
        for i in range(row, row + plan[at + N_ROWS]):
            rate = 0.0
            if a < n:
                rate += inner(G, 12 * i, twist, TWIST * a)
            if b < n:
                rate += inner(G, 12 * i + 6, twist, TWIST * b)
            if plan[at + EQUATION] == row:
                out[place + i - row, 0] = g[i]
                out[place + i - row, 1] = rate
            else:
                out[place + i - row, 1] += rate


@kernel
def measure(plan, constant, first, last, states, twists, pose, matrix, g, G, out):
    """out[k] <- rows of groups ``first`` to ``last`` at each state: values, and rates G V."""
    plan, constant = pointer(plan, 0), pointer(constant, 0)
    pose, matrix, g, G = pointer(pose, 0), pointer(matrix, 0), pointer(g, 0), pointer(G, 0)
    n = plan[BODIES]
    for k in range(states.shape[0]):
        placed(n, states[k], pose, matrix)
        evaluate(plan, constant, first, last, pose, matrix, g, G)
        rows_and_rates(plan, first, last, pointer(twists[k], 0), g, G, out[k])


@kernel
def energies(plan, constant, first, last, states, twists, pose, matrix, g, G, out):
    """out[k] <- kinetic, gravitational and spring energy; springs in groups ``first`` to ``last``.

    Compliant constraints store energy too: their multipliers' squares, C lambda^2 / 2.
    """
    plan, constant = pointer(plan, 0), pointer(constant, 0)
    pose, matrix, g, G = pointer(pose, 0), pointer(matrix, 0), pointer(g, 0), pointer(G, 0)
    n = plan[BODIES]
    for k in range(states.shape[0]):
        placed(n, states[k], pose, matrix)
        evaluate(plan, constant, first, last, pose, matrix, g, G)
        kinetic = height = stored = 0.0
        if plan[ADDED] > 0:
            kinetic += added_energy(plan, constant, states[k], twists[k])
        if plan[ROTORS] > 0:
            kinetic += 0.5 * add_spin(plan, constant, 0.0, G, twists[k], twists[k])
        for i in range(n):
            c = i * BODY_SIZE
            v, w = load3(twists[k], TWIST * i), load3(twists[k], TWIST * i + 3)
            kinetic += 0.5 * constant[c + MASS] * dot(v, v)
            kinetic += 0.5 * dot(w, multiply_matrix(constant, c + INERTIA, w))
            height -= constant[c + MASS] * dot(load3(constant, c + GRAVITY), load3(pose, POSE * i))
        for group in range(first, last):
            at = plan[GROUP_AT] + group * GROUP_FIELDS
            row = plan[at + FIRST_ROW]
            for i in range(row, row + plan[at + N_ROWS]):
                c = plan[ROW_CONSTANT_AT] + i * ROW_SIZE
                if group >= plan[JOINTS]:
                    hard = constant[c + STIFFNESS]
                    if constant[c + GAIN] == 0.0:  # servos store nothing
                        hard += constant[c + IMPLICIT_STIFFNESS]
                    stored += (0.5 * hard * g[i] + constant[c + PULL]) * g[i]
                elif constant[c + COMPLIANCE] > 0.0:
                    stored += 0.5 * g[i] * g[i] / constant[c + COMPLIANCE]
        out[k, 0], out[k, 1], out[k, 2] = kinetic, height, stored


@kernel
def momenta(plan, constant, states, twists, out):
    """out[k] <- linear momentum, and angular momentum about the world's origin."""
    n = plan[BODIES]
    for k in range(states.shape[0]):
        for j in range(6):
            out[k, j] = 0.0
        if plan[ADDED] > 0:
            add_total(plan, constant, states[k], twists[k], out[k])
        for i in range(n):
            c, p = i * BODY_SIZE, POSE * i
            x = load3(states[k], p)
            v, w = load3(twists[k], TWIST * i), load3(twists[k], TWIST * i + 3)
            q = (states[k, p + 3], states[k, p + 4], states[k, p + 5], states[k, p + 6])
            spin = rotate(q, multiply_matrix(constant, c + INERTIA, w))
            m = constant[c + MASS]
            for j in range(3):
                out[k, j] += m * v[j]
                y, z = (j + 1) % 3, (j + 2) % 3
                out[k, 3 + j] += spin[j] + m * (x[y] * v[z] - x[z] * v[y])


@kernel
def kick(plan, constant, scale, states, pose, matrix, g, G, f):
    """p <- p + scale f(z) in each state, f the conservative forces."""
    plan, constant = pointer(plan, 0), pointer(constant, 0)
    pose, matrix, g, G = pointer(pose, 0), pointer(matrix, 0), pointer(g, 0), pointer(G, 0)
    f = pointer(f, 0)
    n = plan[BODIES]
    for k in range(states.shape[0]):
        placed(n, states[k], pose, matrix)
        evaluate(plan, constant, plan[JOINTS], plan[GROUPS], pose, matrix, g, G)
        conservative(plan, constant, G, g, f)
        for i in range(TWIST * n):
            states[k, POSE * n + i] += scale * f[i]


@kernel
def projection_matrix(plan, constant, zero, G, size, values):
    """[[M, -G^T], [G, eps]]; compliant rows hold nothing and become 1."""
    n = plan[BODIES]
    for i in range(size):
        values[i] = 0.0
    bodies(plan, constant, 0.0, 0.0, zero, values)
    if plan[ADDED] > 0:
        add_blocks(plan, constant, 0.0, G, zero, values)
    if plan[ROTORS] > 0:
        force_slopes(plan, constant, 0.0, 0.0, zero, zero, G, G, values)
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        rows, first = plan[group + N_ROWS], plan[group + FIRST_ROW]
        for i in range(rows):
            c = plan[ROW_CONSTANT_AT] + (first + i) * ROW_SIZE
            place, soft = 12 * (first + i), constant[c + COMPLIANCE] > 0.0
            if plan[group + EQUATION] == first:
                to = plan[group + DIAGONAL_AT] + i * (rows + 1)
                values[to] = 1.0 if soft else constant[c + REGULARIZATION]
            if soft:
                continue
            for j in range(6):
                if plan[group + A] < n:
                    values[plan[group + AJ_AT] + 6 * i + j] -= G[place + j]
                    values[plan[group + JA_AT] + rows * j + i] += G[place + j]
                if plan[group + B] < n:
                    values[plan[group + BJ_AT] + 6 * i + j] -= G[place + 6 + j]
                    values[plan[group + JB_AT] + rows * j + i] += G[place + 6 + j]


@kernel
def mobility(plan, constant, x, G, r):
    """r <- r - [[M, -G^T], [G, 0]] x, for the rigid rows."""
    n = plan[BODIES]
    for i in range(n):
        c, t = i * BODY_SIZE, TWIST * i
        spin = multiply_matrix(constant, c + INERTIA, load3(x, t + 3))
        for j in range(3):
            r[t + j] -= constant[c + MASS] * x[t + j]
            r[t + 3 + j] -= spin[j]
    if plan[ADDED] > 0:
        add_momenta(plan, constant, 0.0, 1.0, -1.0, G, x, r)
    if plan[ROTORS] > 0:
        add_spin(plan, constant, -1.0, G, x, r)
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        a, b = plan[group + A], plan[group + B]
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            at = TWIST * n + plan[group + EQUATION] + row - plan[group + FIRST_ROW]
            mu = x[at]
            if constant[plan[ROW_CONSTANT_AT] + row * ROW_SIZE + COMPLIANCE] > 0.0:
                if plan[group + EQUATION] == plan[group + FIRST_ROW]:
                    r[at] -= mu
                continue
            if a < n:
                r[at] -= inner(G, 12 * row, x, TWIST * a)
                for j in range(6):
                    r[TWIST * a + j] += mu * G[12 * row + j]
            if b < n:
                r[at] -= inner(G, 12 * row + 6, x, TWIST * b)
                for j in range(6):
                    r[TWIST * b + j] += mu * G[12 * row + 6 + j]


@kernel
def project_one(
    # Tables:
    plan,
    constant,
    program,
    # In:
    h,
    sliding,
    state,
    # Work:
    node,
    unknowns,
    contacts,
    solver,
):  # fmt: skip
    """V of one state by theory/step (11): M V = p + G^T nu, G V = 0, in the unknowns; a status.

    Two refinements take out the regularization of redundant rows; closed contacts are held, see
    `observables.contacts`. Forces of stiff springs, dampers and servos act as in
    `observables.stiff_forces`. If ``sliding``, friction that slides acts for half an interval more,
    as it does in the next one.
    """
    blocks, magnitude, factors, workspace, status = solver
    pose, matrix, g, G = node
    x, r, dx = unknowns
    rhs, solution, values = r, dx, pointer(blocks, 0)
    x, r, dx = pointer(x, 0), pointer(r, 0), pointer(dx, 0)
    n, rows = plan[BODIES], plan[ROWS]
    m = TWIST * n
    touching = plan[CONTACTS] > 0
    more = touching or plan[ADDED] > 0 or plan[STIFF_NUMBERS] > 0
    last = plan[GROUPS] if more else plan[JOINTS] + plan[ROTORS]
    stiff = pointer(state, POSE * n + 3 * m + rows + plan[SLOTS])
    pushed = plan[STIFF_NUMBERS] > 0 and stiff[0] > 0.0
    placed(n, state, pose, matrix)
    evaluate(plan, constant, 0, last, pose, matrix, g, G)
    if touching:
        at = Node(pose, matrix, g, G, r)
        if find_closed(plan, constant, h, touching, at, dx, state, contacts) != 0:
            return 1
    weaker = 0
    for turn in range(ROUNDS):
        for i in range(m + rows):
            x[i] = 0.0
        projection_matrix(plan, constant, x, G, blocks.size, values)
        if pushed:
            add_stiff_slopes(plan, constant, stiff, G, values)
        if touching:
            add_held_rows(plan, contacts, values)
        if sliding and touching:
            direct_sliding(plan, constant, state, contacts)
            add_sliding_rows(plan, contacts, values)
        if factorize(program, blocks, 1e-15, magnitude, factors, status) != 0:
            weaker += 1
            if not touching or weaker > WEAKER or turn + 1 == ROUNDS:
                return 1
            weaken_holds(plan, contacts)
            continue
        for _ in range(3):
            for i in range(m):
                r[i] = state[POSE * n + i]
            for i in range(rows):
                r[m + i] = 0.0
            if pushed:
                add_stored_forces(plan, stiff, G, r)
                subtract_stiff_slopes(plan, constant, stiff, G, x, r)
            mobility(plan, constant, x, G, r)
            if touching:
                subtract_held_rows(plan, x, contacts, r)
            if sliding and touching:
                subtract_sliding_rows(plan, x, contacts, r)
            solve(program, factors, rhs, 1, workspace, solution)
            for i in range(m + rows):
                x[i] += dx[i]
        if touching and weaker < WEAKER and turn + 1 < ROUNDS:
            size, moved = 0.0, 0.0
            for i in range(m):
                size, moved = max(size, abs(x[i])), max(moved, abs(dx[i]))
            if not moved <= DIGITS * size:  # the refinement does not converge
                weaker += 1
                weaken_holds(plan, contacts)
                continue
        if not touching or hold_more(plan, constant, x, contacts) == 0:
            break
    return 0


@kernel
def project(
    # Tables:
    plan,
    constant,
    program,
    # In:
    h,
    sliding,
    states,
    # Work:
    node,
    unknowns,
    contacts,
    solver,
    # Out:
    twists,
):  # fmt: skip
    """twists[k] <- V of each state, see `project_one`; 0, or 1 + k of the state that failed."""
    pose, matrix, g, G = node
    plan, constant = pointer(plan, 0), pointer(constant, 0)
    node = pointer(pose, 0), pointer(matrix, 0), pointer(g, 0), pointer(G, 0)
    x, contacts = unknowns[0], pointer(contacts, 0)
    for k in range(states.shape[0]):
        failed = project_one(
            plan, constant, program, h, sliding, states[k], node, unknowns, contacts, solver
        )  # fmt: skip
        if failed != 0:
            return 1 + k
        for i in range(TWIST * plan[BODIES]):
            twists[k, i] = x[i]
    return 0


@kernel
def coordinates(plan, constant, places, node, x, measured, out):
    """out <- coordinates and their rates at a node with velocities x, see `observe`."""
    pose, matrix, g, G = node
    first, last = plan[GROUPS], plan[MEASURES]
    evaluate(plan, constant, first, last, pose, matrix, g, G)
    rows_and_rates(plan, first, last, x, g, G, measured)
    for side in range(2):
        for i in range(places.shape[1]):
            out[side, i] = measured[places[side, i], side]


@kernel
def observe(
    # Tables:
    plan,
    constant,
    program,
    places,
    # In:
    h,
    states,
    # Work:
    node,
    unknowns,
    contacts,
    solver,
    measured,
    # Out:
    out,
):  # fmt: skip
    """out[k] <- coordinates and their rates at each state, V by `project_one`; its status.

    ``places`` are two rows of all `measured` ones for each coordinate: its value's and its rate's.
    """
    pose, matrix, g, G = node
    plan, constant = pointer(plan, 0), pointer(constant, 0)
    node = pointer(pose, 0), pointer(matrix, 0), pointer(g, 0), pointer(G, 0)
    x, contacts = pointer(unknowns[0], 0), pointer(contacts, 0)
    for k in range(states.shape[0]):
        failed = project_one(
            plan, constant, program, h, False, states[k], node, unknowns, contacts, solver
        )  # fmt: skip
        if failed != 0:
            return 1 + k
        coordinates(plan, constant, places, node, x, measured, out[k])
    return 0
