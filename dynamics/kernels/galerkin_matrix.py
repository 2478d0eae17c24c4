"""Matrix of one Newton step of Galerkin-Lobatto steps, written to its places in the values.

Unknown stages g = 1..s are columns, equations b = 0..s-1 rows; a body is s nodes of 6 of the graph,
a joint s nodes of its rows, node b with the equations of b and the unknowns of b + 1 (impulses of
b). The rule has the places of blocks: ``bodies[(s i + b) s + g - 1]`` of body i,
``pairs[2 k:2 k + 2]`` where those (a, b) and (b, a) of group k start in the same order within
``coupled``, -1 for none, ``joints`` four for each joint, end and stage: see `dynamics.galerkin`.
"""

from .forces import bounded
from .galerkin_body import half_turn, inertia_block
from .galerkin_residual import gather
from .galerkin_stiffness import stiffness
from .jit import kernel
from .layout import (
    BODIES,
    BODY_SIZE,
    CONTROL,
    DAMPING,
    DRAG,
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
    A,
    B,
)
from .matrix import stretched
from .quaternion import load3


@kernel
def drags(constant, c, weights, slope, h, places, at, W, values):
    """Blocks <- + h w^b (D b^bg, D_s W^bg) of a body's drag."""
    s = weights.size - 1
    linear, angular = constant[c + DRAG], constant[c + SPIN_DRAG]
    if linear == 0.0 and angular == 0.0:
        return
    for b in range(s):
        for g in range(1, s + 1):
            place, to = b * (s + 1) + g, places[at + s * b + g - 1]
            for j in range(3):
                values[to + 7 * j] += h * weights[b] * linear * slope[place]
                for k in range(3):
                    values[to + 21 + j + 6 * k] += (
                        h * weights[b] * angular * W[9 * place + 3 * j + k]
                    )


@kernel
def add_product(values, to, scale, G, left, right, straight, W, at):
    """6 x 6 at ``to`` <- + scale G_left^T (straight G_right_T, G_right_R W)."""
    for k in range(6):
        if k < 3:
            part = scale * straight * G[right + k]
        else:
            part = 0.0
            for e in range(3):
                part += scale * G[right + 3 + e] * W[at + 3 * e + k - 3]
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
def damper(G, row, ends, starts, places, weights, slope, h, damping, W, values):
    """Blocks of one damper: + h w^b c G_i^T G_j (b^bg, W_j^bg) for both its ends i and j."""
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
def turn_of(n, h, x, i, s, stage):
    """(phi, sqrt(1 - |phi|^2)) of body i at a stage, (0, 1) of the world."""
    if i < n:
        return half_turn(h, x, TWIST * (s * i + stage))
    return (0.0, 0.0, 0.0), 1.0


@kernel
def forces(plan, constant, rule, h, control, x, nodes, W, kappa, values):
    """Blocks of dampers, springs and controls, and of the constraints' own stiffness."""
    weights, slope, place, places, joints, pairs = rule
    pose, matrix, g, G, speed, turn, sigma = nodes
    n, s = plan[BODIES], weights.size - 1
    for k in range(plan[JOINTS], plan[GROUPS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        ends, starts = (plan[group + A], plan[group + B]), starts_of(plan, pairs, s, k)
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            damping = constant[plan[ROW_CONSTANT_AT] + row * ROW_SIZE + DAMPING]
            if damping != 0.0:
                damper(G, row, ends, starts, places, weights, slope, h, damping, W, values)
    for b in range(1, s):
        gather(plan, s, b, x, kappa)
        impulse = h * weights[b]
        for k in range(plan[GROUPS]):
            group = plan[GROUP_AT] + k * GROUP_FIELDS
            blocks = blocks_at(places, starts_of(plan, pairs, s, k), s * b + b - 1)
            acts, first = k < plan[JOINTS], plan[group + FIRST_ROW]
            turns = (
                turn_of(n, h, x, plan[group + A], s, b - 1),
                turn_of(n, h, x, plan[group + B], s, b - 1),
            )
            for row in range(first, first + plan[group + N_ROWS]):
                if k < plan[JOINTS]:
                    continue
                hard = constant[plan[ROW_CONSTANT_AT] + row * ROW_SIZE + STIFFNESS]
                kappa[row] = -impulse * hard * g[b, row]
                index = plan[plan[ROW_AT] + row * ROW_FIELDS + CONTROL]
                if index >= 0:
                    c = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
                    kappa[row] += impulse * bounded(constant, c, control[b, index])
                if hard != 0.0:
                    springs(G[b], row, blocks, turns, impulse * hard * h, values)
                acts = acts or kappa[row] != 0.0
            if acts:
                stiffness(plan, constant, k, kappa, pose[b], matrix[b], turns, blocks, -h, values)


@kernel
def joint_body(s, rows, first, end, G, h, x, t, joints, at, values):
    """Blocks (body, joint): -G(z^b)^T, and (joint, body): G(z^{b+1}) diag(1, E), at each stage."""
    for b in range(s):
        phi, scalar = half_turn(h, x, t + TWIST * b)
        column, row = joints[at + 2 * b], joints[at + 2 * b + 1]
        for i in range(rows):
            place = 12 * (first + i) + end
            for j in range(6):
                values[column + 6 * i + j] = -G[b, place + j]
            turned = stretched(G[b + 1], place + 3, phi, scalar)
            for j in range(3):
                values[row + i + rows * j] = G[b + 1, place + j]
                values[row + i + rows * (3 + j)] = turned[j]


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
    W,
    kappa,
    # Out:
    values,
):  # fmt: skip
    """d r / d x: every block of the matrix (maths F.2)."""
    weights, slope, place, places, joints, pairs = rule
    pose, matrix, g, G, speed, turn, sigma = nodes
    n, s = plan[BODIES], weights.size - 1
    for k in range(n * s * s, places.size):
        for i in range(TWIST * TWIST):
            values[places[k] + i] = 0.0
    for i in range(n):
        c, at = i * BODY_SIZE, i * s * s
        inertia_block(
            constant,
            c,
            weights,
            slope,
            h,
            i,
            places,
            at,
            x,
            speed,
            turn,
            sigma,
            V,
            pi,
            W[i],
            values,
        )
        drags(constant, c, weights, slope, h, places, at, W[i], values)
    forces(plan, constant, rule, h, control, x, nodes, W, kappa, values)
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        a, b = plan[group + A], plan[group + B]
        rows, first, at = plan[group + N_ROWS], plan[group + FIRST_ROW], 5 * s * k
        if a < n:
            joint_body(s, rows, first, 0, G, h, x, TWIST * s * a, joints, at + s, values)
        if b < n:
            joint_body(s, rows, first, 6, G, h, x, TWIST * s * b, joints, at + 3 * s, values)
        for c in range(s):
            for i in range(rows):
                p = plan[ROW_CONSTANT_AT] + (first + i) * ROW_SIZE
                values[joints[at + c] + i * (rows + 1)] = constant[p + REGULARIZATION]
