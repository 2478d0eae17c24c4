"""Matrix of one Newton step of Galerkin-Lobatto steps, written to its places in the values.

Unknown stages g = 1..s are columns, equations b = 0..s-1 rows; a body is s nodes of 6 of the graph,
a joint s nodes of its rows, node b with the equations of b and the unknowns of b + 1 (impulses of
b). ``blocks`` are places: ``bodies[(s i + b) s + g - 1]`` of body i,
``pairs[2 k:2 k + 2]`` where those (a, b) and (b, a) of group k start in the same order within
``coupled``, -1 for none, ``joints`` four for each joint, end and stage: see
`dynamics.tables.galerkin`.
"""

from dynamics.kernels.base.jit import kernel, natural
from dynamics.kernels.base.layout import (
    ADDED,
    BODIES,
    BODY_SIZE,
    CONTROL,
    DAMPING,
    DRAG,
    EQUATION,
    FIRST_ROW,
    GROUP_AT,
    GROUP_FIELDS,
    GROUPS,
    JOINTS,
    N_ROWS,
    REGULARIZATION,
    ROW_AT,
    ROW_CONSTANT_AT,
    ROW_FIELDS,
    ROW_SIZE,
    ROWS,
    SPIN_DRAG,
    STIFFNESS,
    TWIST,
    WRENCH_AT,
    WRENCH_FIELDS,
    WRENCH_SIZE,
    WRENCHES,
    A,
    B,
)
from dynamics.kernels.base.quaternion import load3
from dynamics.kernels.galerkin.added_mass import add_node_blocks
from dynamics.kernels.galerkin.body import node
from dynamics.kernels.galerkin.inertia import (
    half_turn,
    hanging,
    masses,
    rotation_blocks,
    spun_back,
    stretches,
)
from dynamics.kernels.galerkin.residual import acting
from dynamics.kernels.galerkin.stiffness import stiffness
from dynamics.kernels.interval.matrix import stretched
from dynamics.kernels.rows.forces import bounded
from dynamics.kernels.rows.rows import turned_back


@kernel
def gather(plan, b, x, mu):
    """mu <- mu^b of all joints' rows, from the unknowns."""
    n = TWIST * plan[BODIES]
    at = b * (n + plan[ROWS]) + n
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        first, equation = plan[group + FIRST_ROW], plan[group + EQUATION]
        for i in range(plan[group + N_ROWS]):
            mu[first + i] = x[at + equation + i]


@kernel
def drags(constant, c, rule, h, n, i, places, at, E, W, values):
    """Blocks <- + h w^b (D b^bg, D_s V^bg E^g) of a body's drag."""
    s, weights, slope, _ = rule
    linear, angular = constant[c + DRAG], constant[c + SPIN_DRAG]
    if linear == 0.0 and angular == 0.0:
        return
    for b in range(s):
        for g in range(1, s + 1):
            place, to = b * (s + 1) + g, places[at + s * b + g - 1]
            for j in range(3):
                values[to + 7 * j] += h * weights[b] * linear * slope[place]
                spin = load3(W, 3 * (3 * b + j) * (s + 1) + 3 * g)
                row = turned_back(E, 9 * (n * (g - 1) + i), spin)
                for k in range(3):
                    values[to + 21 + j + 6 * k] += h * weights[b] * angular * row[k]


@kernel
def add_pull(values, to, scale, G, left, right, straight, W, at, ld, E, stretch):
    """6 x 6 at ``to`` <- + scale G_left^T (straight G_right_T, G_right_R W E)."""
    arm = turned_back(E, stretch, spun_back(W, at, ld, load3(G, right + 3)))
    for k in range(6):
        part = scale * (straight * G[right + k] if k < 3 else arm[k - 3])
        for j in range(6):
            values[to + j + 6 * k] += part * G[left + j]


@kernel
def starts_of(plan, pairs, s, k):
    """First places of the blocks (a, a), (a, b), (b, a), (b, b) of a group, -1 for none."""
    n, group = plan[BODIES], plan[GROUP_AT] + k * GROUP_FIELDS
    a, b = plan[group + A], plan[group + B]
    aa = a * s * s if a < n else -1
    bb = b * s * s if b < n else -1
    return aa, pairs[2 * k], pairs[2 * k + 1], bb


@kernel
def damper(plan, nodes, row, ends, starts, places, rule, h, damping, E, W, values):
    """Blocks of one damper: + h w^b c G_i^T G_j (b^bg, V_j^bg E^g) for both its ends i and j."""
    s, weights, slope, _ = rule
    n = plan[BODIES]
    for i in range(2):
        for j in range(2):
            start = starts[2 * i + j]
            if start < 0:
                continue
            for b in range(s):
                G = node(plan, nodes, b).G
                for g in range(1, s + 1):
                    ld = 3 * (s + 1)
                    add_pull(
                        values, places[start + s * b + g - 1], h * weights[b] * damping, G,
                        12 * row + 6 * i, 12 * row + 6 * j, slope[b * (s + 1) + g], W[ends[j]],
                        3 * (b * ld + g), ld, E, 9 * (n * (g - 1) + ends[j]),
                    )  # fmt: skip


@kernel
def springs(G, row, blocks, turns, scale, values):
    """6 x 6 blocks <- + scale G_i^T G_j diag(1, E_j)."""
    for j in range(2):
        at = 12 * row + 6 * j
        phi, scalar = turns[j]
        slopes = (*load3(G, at), *stretched(G, at + 3, phi, scalar))
        for i in range(2):
            to = blocks[2 * i + j]
            if to < 0:
                continue
            for k in range(6):
                for e in range(6):
                    values[to + e + 6 * k] += scale * slopes[k] * G[12 * row + 6 * i + e]


@kernel
def blocks_at(places, starts, shift):
    """Places of the blocks ``shift`` after four starts, none staying none."""
    aa = places[starts[0] + shift] if starts[0] >= 0 else -1
    ab = places[starts[1] + shift] if starts[1] >= 0 else -1
    ba = places[starts[2] + shift] if starts[2] >= 0 else -1
    bb = places[starts[3] + shift] if starts[3] >= 0 else -1
    return aa, ab, ba, bb


@kernel
def turn_of(n, s, turn, i, a):
    """(phi, sqrt(1 - |phi|^2)) of body i at node a, (0, 1) of the world."""
    if i < n:
        return half_turn(s, turn, i, a)
    return (0.0, 0.0, 0.0), 1.0


@kernel
def dampers(plan, constant, rule, blocks, h, nodes, E, W, values):
    """Blocks of all dampers between bodies."""
    places, _, pairs = blocks
    for k in range(plan[JOINTS], plan[GROUPS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        ends, starts = (
            (plan[group + A], plan[group + B]),
            starts_of(plan, pairs, rule.s, k),
        )
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            damping = constant[plan[ROW_CONSTANT_AT] + row * ROW_SIZE + DAMPING]
            if damping != 0.0:
                damper(plan, nodes, row, ends, starts, places, rule, h, damping, E, W, values)


@kernel
def spring_forces(plan, constant, k, impulse, h, b, control, nodes, turns, blocks, kappa, values):
    """kappa <- impulses of the rows of a force; blocks of its springs; whether any row acts."""
    here = node(plan, nodes, b)
    g, G = here.g, here.G
    group = plan[GROUP_AT] + k * GROUP_FIELDS
    acts = False
    for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
        c = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
        hard = constant[c + STIFFNESS]
        kappa[row] = -impulse * hard * g[row]
        index = plan[plan[ROW_AT] + row * ROW_FIELDS + CONTROL]
        if index >= 0:
            kappa[row] += impulse * bounded(constant, c, control[b, index])
        if hard != 0.0:
            springs(G, row, blocks, turns, impulse * hard * h, values)
        acts = acts or kappa[row] != 0.0
    return acts


@kernel
def stiffnesses(plan, constant, rule, blocks, h, control, x, nodes, K, kappa, values):
    """Blocks of springs and controls, and of the constraints' own stiffness, or K of each body."""
    s, weights, _, _ = rule
    places, _, pairs = blocks
    n, turn = plan[BODIES], nodes.turn
    for b in range(1, s):
        here = node(plan, nodes, b)
        gather(plan, b, x, kappa)
        for k in range(plan[GROUPS]):
            group = plan[GROUP_AT] + k * GROUP_FIELDS
            four = blocks_at(places, starts_of(plan, pairs, s, k), s * b + b - 1)
            turns = (
                turn_of(n, s, turn, plan[group + A], b),
                turn_of(n, s, turn, plan[group + B], b),
            )
            acts = k < plan[JOINTS]
            if not acts:
                acts = spring_forces(
                    plan, constant, k, h * weights[b], h, b, control, nodes, turns, four, kappa,
                    values,
                )  # fmt: skip
            if acts:
                stiffness(
                    plan, constant, k, kappa, here, turns, four, -h,
                    pairs[2 * k] >= 0, b - 1, K, values,
                )  # fmt: skip


@kernel
def joint_body(plan, s, rows, first, end, nodes, E, i, joints, at, values):
    """Blocks (body, joint): -G(z^b)^T, and (joint, body): G(z^{b+1}) diag(1, E), at each stage."""
    n = plan[BODIES]
    for b in range(s):
        G, G_next = node(plan, nodes, b).G, node(plan, nodes, b + 1).G
        stretch = 9 * (n * b + i)
        for k in range(rows):
            place, to = 12 * (first + k) + end, natural(joints[at + 2 * b] + 6 * k)
            moved, turned = load3(G, place), load3(G, place + 3)
            values[to], values[to + 1], values[to + 2] = -moved[0], -moved[1], -moved[2]
            values[to + 3], values[to + 4], values[to + 5] = -turned[0], -turned[1], -turned[2]
            moved = load3(G_next, place)
            turned = turned_back(E, stretch, load3(G_next, place + 3))
            to = natural(joints[at + 2 * b + 1] + k)
            rows = natural(rows)
            values[to], values[to + rows], values[to + 2 * rows] = moved
            to += 3 * rows
            values[to], values[to + rows], values[to + 2 * rows] = turned


@kernel
def later_group(plan, s, rows, first, end, nodes, E, i, joints, at, values):
    """The same blocks <- + those of a later group of the same equations."""
    n = plan[BODIES]
    for b in range(s):
        G, G_next = node(plan, nodes, b).G, node(plan, nodes, b + 1).G
        for k in range(rows):
            place, column = 12 * (first + k) + end, joints[at + 2 * b] + 6 * k
            turned = turned_back(E, 9 * (n * b + i), load3(G_next, place + 3))
            row = joints[at + 2 * b + 1] + k
            for j in range(TWIST):
                values[column + j] -= G[place + j]
                values[row + rows * j] += G_next[place + j] if j < 3 else turned[j - 3]


@kernel
def clear_stages(s, rows, joints, at, values):
    """The blocks of a group at each stage <- 0."""
    for b in range(2 * s):
        for j in range(TWIST * rows):
            values[joints[at + b] + j] = 0.0


@kernel
def constraints(plan, constant, s, joints, nodes, E, values):
    """Blocks between bodies and joints, groups of an equation added up, and regularization."""
    n = plan[BODIES]
    for k in range(plan[JOINTS] - 1, -1, -1):  # later groups, which come last
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        if plan[group + EQUATION] == plan[group + FIRST_ROW]:
            break
        for end in range(2):
            if plan[group + A + end] < n:
                clear_stages(s, plan[group + N_ROWS], joints, s * (5 * k + 1 + 2 * end), values)
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        rows, first, at = plan[group + N_ROWS], plan[group + FIRST_ROW], 5 * s * k
        whole = plan[group + EQUATION] == first
        for end in range(2):
            i, to = plan[group + A + end], at + s + 2 * s * end
            if i < n and whole:
                joint_body(plan, s, rows, first, 6 * end, nodes, E, i, joints, to, values)
            elif i < n:
                later_group(plan, s, rows, first, 6 * end, nodes, E, i, joints, to, values)
        for c in range(s if whole else 0):
            for i in range(rows):
                p = plan[ROW_CONSTANT_AT] + (first + i) * ROW_SIZE
                values[joints[at + c] + i * (rows + 1)] = constant[p + REGULARIZATION]


@kernel
def assemble(
    # Tables:
    plan,
    constant,
    rule,
    blocks,
    # In:
    h,
    control,
    nodes,
    # Work:
    work,
    # Out:
    values,
):  # fmt: skip
    """d r / d x: every block of the matrix, theory/galerkin (11), (12)."""
    s, weights, slope = rule.s, rule.weights, rule.slope
    x, L, C, K, E, W = work.x, work.L, work.C, work.K, work.E, work.W
    places, joints, _ = blocks
    n = plan[BODIES]
    stretches(n, s, nodes.turn, E)
    masses(plan, constant, s, weights, slope, places, values)
    for k in range(n * s * s, places.size):
        for i in range(TWIST * TWIST):
            values[places[k] + i] = 0.0
    for i in range(n):
        rotation_blocks(constant, rule, h, n, i, places, nodes, L, C, E, W[i], values)
        drags(constant, i * BODY_SIZE, rule, h, n, i, places, i * s * s, E, W[i], values)
        for j in range(K.shape[1]):
            K[i, j] = 0.0
    if plan[ADDED] > 0:
        add_node_blocks(plan, constant, rule, h, nodes, places, E, W, values)
    stiffnesses(plan, constant, rule, blocks, h, control, x, nodes, K, work.mu, values)
    hanging(n, s, h, places, K, E, values)
    dampers(plan, constant, rule, blocks, h, nodes, E, W, values)
    constraints(plan, constant, s, joints, nodes, E, values)


@kernel
def add_user_slopes(plan, constant, rule, places, time, h, inputs, nodes, work, values):
    """Slopes of users' wrenches in the child's own velocities to its blocks, after `assemble`."""
    s, weights, slope, place = rule.s, rule.weights, rule.slope, rule.place
    f, E, W = work.f, work.E, work.W
    n = plan[BODIES]
    ld = 3 * (s + 1)
    for b in range(s):
        here = node(plan, nodes, b)
        acting(plan, constant, time + place[b] * h, here, inputs.control[b], inputs.wrench, f)
        for k in range(plan[WRENCHES]):
            i = plan[plan[WRENCH_AT] + k * WRENCH_FIELDS + B]
            D = TWIST * n + 1 + k * WRENCH_SIZE + 2 * TWIST
            for g in range(1, s + 1):
                at, to = b * (s + 1) + g, places[s * (s * i + b) + g - 1]
                for e in range(TWIST):
                    row = D + TWIST * e
                    spin = spun_back(W[i], 3 * (b * ld + g), ld, load3(f, row + 3))
                    spin = turned_back(E, 9 * (n * (g - 1) + i), spin)
                    for j in range(3):
                        values[to + TWIST * j + e] -= h * weights[b] * slope[at] * f[row + j]
                        values[to + TWIST * (3 + j) + e] -= h * weights[b] * spin[j]
