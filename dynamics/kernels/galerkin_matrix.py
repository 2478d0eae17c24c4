"""Matrix of one Newton step of Galerkin-Lobatto steps, written to its places in the values.

Unknown stages g = 1..s are columns, equations b = 0..s-1 rows; a body is s nodes of 6 of the graph,
a joint s nodes of its rows, node b with the equations of b and the unknowns of b + 1 (impulses of
b). The rule has the places of blocks: ``bodies[(s i + b) s + g - 1]`` of body i,
``pairs[2 k:2 k + 2]`` where those (a, b) and (b, a) of group k start in the same order within
``coupled``, -1 for none, ``joints`` four for each joint, end and stage: see `dynamics.galerkin`.
"""

from .forces import bounded
from .galerkin_body import half_turn, inertia_block
from .galerkin_residual import acting, gather
from .galerkin_stiffness import stiffness
from .jit import kernel
from .layout import (
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
from .matrix import stretched, stretched_by
from .quaternion import load3
from .rows import turned_back


@kernel
def drags(constant, c, weights, slope, h, i, turn, places, at, W, values):
    """Blocks <- + h w^b (D b^bg, D_s V^bg E^g) of a body's drag."""
    s = weights.size - 1
    linear, angular = constant[c + DRAG], constant[c + SPIN_DRAG]
    if linear == 0.0 and angular == 0.0:
        return
    for b in range(s):
        for g in range(1, s + 1):
            place, to = b * (s + 1) + g, places[at + s * b + g - 1]
            phi, scalar = half_turn(turn, i, g)
            for j in range(3):
                values[to + 7 * j] += h * weights[b] * linear * slope[place]
                row = stretched(W, 9 * place + 3 * j, phi, scalar)
                for k in range(3):
                    values[to + 21 + j + 6 * k] += h * weights[b] * angular * row[k]


@kernel
def add_product(values, to, scale, G, left, right, straight, W, at, turn):
    """6 x 6 at ``to`` <- + scale G_left^T (straight G_right_T, G_right_R W E)."""
    arm = load3(G, right + 3)
    phi, scalar = turn
    arm = stretched_by(turned_back(W, at, arm), phi, scalar)
    for k in range(6):
        part = scale * (straight * G[right + k] if k < 3 else arm[k - 3])
        for j in range(6):
            values[to + j + 6 * k] += part * G[left + j]


@kernel
def starts_of(plan, pairs, s, k):
    """Where places of the blocks (a, a), (a, b), (b, a), (b, b) of a group start, -1 for none."""
    n, group = plan[BODIES], plan[GROUP_AT] + k * GROUP_FIELDS
    a, b = plan[group + A], plan[group + B]
    aa = a * s * s if a < n else -1
    bb = b * s * s if b < n else -1
    return aa, pairs[2 * k], pairs[2 * k + 1], bb


@kernel
def damper(G, row, ends, starts, places, weights, slope, h, damping, turn, W, values):
    """Blocks of one damper: + h w^b c G_i^T G_j (b^bg, V_j^bg E^g) for both its ends i and j."""
    s = weights.size - 1
    for i in range(2):
        for j in range(2):
            start = starts[2 * i + j]
            if start < 0:
                continue
            for b in range(s):
                for g in range(1, s + 1):
                    place = b * (s + 1) + g
                    add_product(
                        values, places[start + s * b + g - 1], h * weights[b] * damping, G[b],
                        12 * row + 6 * i, 12 * row + 6 * j, slope[place], W[ends[j]], 9 * place,
                        half_turn(turn, ends[j], g),
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
    """Places of the blocks ``shift`` behind four starts, none staying none."""
    aa = places[starts[0] + shift] if starts[0] >= 0 else -1
    ab = places[starts[1] + shift] if starts[1] >= 0 else -1
    ba = places[starts[2] + shift] if starts[2] >= 0 else -1
    bb = places[starts[3] + shift] if starts[3] >= 0 else -1
    return aa, ab, ba, bb


@kernel
def turn_of(n, turn, i, a):
    """(phi, sqrt(1 - |phi|^2)) of body i at node a, (0, 1) of the world."""
    if i < n:
        return half_turn(turn, i, a)
    return (0.0, 0.0, 0.0), 1.0


@kernel
def dampers(plan, constant, rule, h, nodes, W, values):
    """Blocks of all dampers between bodies."""
    weights, slope, place, places, joints, pairs = rule
    G, turn = nodes[3], nodes[5]
    for k in range(plan[JOINTS], plan[GROUPS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        ends, starts = (
            (plan[group + A], plan[group + B]),
            starts_of(plan, pairs, weights.size - 1, k),
        )
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            damping = constant[plan[ROW_CONSTANT_AT] + row * ROW_SIZE + DAMPING]
            if damping != 0.0:
                damper(G, row, ends, starts, places, weights, slope, h, damping, turn, W, values)


@kernel
def spring_forces(plan, constant, k, impulse, h, b, control, nodes, turns, blocks, kappa, values):
    """kappa <- impulses of the rows of a force; blocks of its springs; whether any row acts."""
    pose, matrix, g, G, speed, turn, sigma = nodes
    group = plan[GROUP_AT] + k * GROUP_FIELDS
    acts = False
    for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
        c = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
        hard = constant[c + STIFFNESS]
        kappa[row] = -impulse * hard * g[b, row]
        index = plan[plan[ROW_AT] + row * ROW_FIELDS + CONTROL]
        if index >= 0:
            kappa[row] += impulse * bounded(constant, c, control[b, index])
        if hard != 0.0:
            springs(G[b], row, blocks, turns, impulse * hard * h, values)
        acts = acts or kappa[row] != 0.0
    return acts


@kernel
def stiffnesses(plan, constant, rule, h, control, x, nodes, K, kappa, values):
    """Blocks of springs and controls, and of the constraints' own stiffness, or K of each body."""
    weights, slope, place, places, joints, pairs = rule
    pose, matrix, turn = nodes[0], nodes[1], nodes[5]
    n, s = plan[BODIES], weights.size - 1
    for b in range(1, s):
        gather(plan, s, b, x, kappa)
        for k in range(plan[GROUPS]):
            group = plan[GROUP_AT] + k * GROUP_FIELDS
            blocks = blocks_at(places, starts_of(plan, pairs, s, k), s * b + b - 1)
            turns = (
                turn_of(n, turn, plan[group + A], b),
                turn_of(n, turn, plan[group + B], b),
            )
            acts = k < plan[JOINTS]
            if not acts:
                acts = spring_forces(
                    plan, constant, k, h * weights[b], h, b, control, nodes, turns, blocks, kappa,
                    values,
                )  # fmt: skip
            if acts:
                stiffness(
                    plan, constant, k, kappa, pose[b], matrix[b], turns, blocks, -h,
                    pairs[2 * k] >= 0, b - 1, K, values,
                )  # fmt: skip


@kernel
def joint_body(s, rows, first, end, G, turn, i, joints, at, values):
    """Blocks (body, joint): -G(z^b)^T, and (joint, body): G(z^{b+1}) diag(1, E), at each stage."""
    for b in range(s):
        phi, scalar = half_turn(turn, i, b + 1)
        column, row = joints[at + 2 * b], joints[at + 2 * b + 1]
        for k in range(rows):
            place = 12 * (first + k) + end
            for j in range(6):
                values[column + 6 * k + j] = -G[b, place + j]
            turned = stretched(G[b + 1], place + 3, phi, scalar)
            for j in range(3):
                values[row + k + rows * j] = G[b + 1, place + j]
                values[row + k + rows * (3 + j)] = turned[j]


@kernel
def second_half(s, row, end, G, turn, i, joints, at, values):
    """The same blocks <- + those of the second half of a coupling, one row."""
    place = 12 * row + end
    for b in range(s):
        phi, scalar = half_turn(turn, i, b + 1)
        turned = stretched(G[b + 1], place + 3, phi, scalar)
        for j in range(TWIST):
            values[joints[at + 2 * b] + j] -= G[b, place + j]
            values[joints[at + 2 * b + 1] + j] += G[b + 1, place + j] if j < 3 else turned[j - 3]


@kernel
def clear(s, joints, at, values):
    """The blocks of one row at each stage <- 0."""
    for b in range(2 * s):
        for j in range(TWIST):
            values[joints[at + b] + j] = 0.0


@kernel
def constraints(plan, constant, rule, nodes, values):
    """Blocks between bodies and joints, halves of couplings added up, and regularization."""
    joints, G, turn = rule[4], nodes[3], nodes[5]
    n, s = plan[BODIES], rule[0].size - 1
    for k in range(plan[JOINTS] - 1, -1, -1):  # second halves, which come last
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        if plan[group + EQUATION] == plan[group + FIRST_ROW]:
            break
        for end in range(2):
            if plan[group + A + end] < n:
                clear(s, joints, s * (5 * k + 1 + 2 * end), values)
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        rows, first, at = plan[group + N_ROWS], plan[group + FIRST_ROW], 5 * s * k
        whole = plan[group + EQUATION] == first
        for end in range(2):
            i, to = plan[group + A + end], at + s + 2 * s * end
            if i < n and whole:
                joint_body(s, rows, first, 6 * end, G, turn, i, joints, to, values)
            elif i < n:
                second_half(s, first, 6 * end, G, turn, i, joints, to, values)
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
    # In:
    h,
    control,
    x,
    nodes,
    # Work:
    V,
    pi,
    K,
    W,
    kappa,
    # Out:
    values,
):  # fmt: skip
    """d r / d x: every block of the matrix (maths F.2)."""
    weights, slope, place, places, joints, pairs = rule
    pose, matrix, g, G, speed, turn, sigma = nodes
    n, s = plan[BODIES], weights.size - 1
    for k in range(places.size):
        for i in range(TWIST * TWIST):
            values[places[k] + i] = 0.0
    for i in range(n):
        for j in range(K.shape[1]):
            K[i, j] = 0.0
    stiffnesses(plan, constant, rule, h, control, x, nodes, K, kappa, values)
    for i in range(n):
        c, at = i * BODY_SIZE, i * s * s
        inertia_block(
            constant, c, weights, slope, h, i, places, at, speed, turn, sigma, V, pi, K[i], W[i],
            values,
        )  # fmt: skip
        drags(constant, c, weights, slope, h, i, turn, places, at, W[i], values)
    dampers(plan, constant, rule, h, nodes, W, values)
    constraints(plan, constant, rule, nodes, values)


@kernel
def ease(plan, constant, rule, time, h, control, wrench, nodes, f, W, values):
    """Slopes of users' wrenches in the child's own velocities to its blocks, behind `assemble`."""
    weights, slope, place, places, joints, pairs = rule
    n, s, turn = plan[BODIES], weights.size - 1, nodes[5]
    for b in range(s):
        acting(plan, constant, time + place[b] * h, b, h, 0.0, control, wrench, nodes, f)
        for k in range(plan[WRENCHES]):
            i = plan[plan[WRENCH_AT] + k * WRENCH_FIELDS + B]
            D = TWIST * n + 1 + k * WRENCH_SIZE + 2 * TWIST
            for g in range(1, s + 1):
                at, to = b * (s + 1) + g, places[s * (s * i + b) + g - 1]
                phi, scalar = half_turn(turn, i, g)
                for e in range(TWIST):
                    row = D + TWIST * e
                    spin = stretched_by(turned_back(W[i], 9 * at, load3(f, row + 3)), phi, scalar)
                    for j in range(3):
                        values[to + TWIST * j + e] -= h * weights[b] * slope[at] * f[row + j]
                        values[to + TWIST * (3 + j) + e] -= h * weights[b] * spin[j]
