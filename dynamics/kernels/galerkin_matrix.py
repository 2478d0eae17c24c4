"""Matrix of one Newton step of Galerkin-Lobatto steps, written to its places in the values.

Unknown stages g = 1..s are columns, equations b = 0..s-1 rows, stage-major inside each block. All
blocks are first made for changes ``theta / h`` of the control points; `stretch` then turns them
into changes of y. ``pairs`` has the places of the blocks (a, b) and (b, a) of each group, -1 for
none; ``coupled`` every such place once, with the body of its columns.
"""

import math

from .galerkin_body import inertia_block
from .galerkin_residual import gather
from .galerkin_stiffness import stiffness
from .jit import kernel
from .layout import (
    AJ_AT,
    BJ_AT,
    BODIES,
    BODY_AT,
    BODY_SIZE,
    CONTROL,
    DAMPING,
    DIAGONAL_AT,
    DRAG,
    FIRST_ROW,
    GROUP_AT,
    GROUP_FIELDS,
    GROUPS,
    JA_AT,
    JB_AT,
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
def drags(constant, c, weights, slope, h, at, V, values):
    """Block <- + h w^b (D b^bg, D_s V^bg) of a body's drag."""
    s = weights.size - 1
    side = TWIST * s
    for b in range(s):
        for g in range(1, s + 1):
            place = b * (s + 1) + g
            linear = h * weights[b] * constant[c + DRAG] * slope[place]
            angular = h * weights[b] * constant[c + SPIN_DRAG]
            to = at + TWIST * b + side * TWIST * (g - 1)
            for j in range(3):
                values[to + j + side * j] += linear
                for k in range(3):
                    values[to + 3 + j + side * (3 + k)] += angular * V[9 * place + 3 * j + k]


@kernel
def add_product(values, to, side, scale, G, left, right, straight, V, at):
    """6 x 6 at ``to`` <- + scale G_left^T (straight G_right_T, G_right_R V)."""
    for k in range(6):
        if k < 3:
            part = scale * straight * G[right + k]
        else:
            part = 0.0
            for e in range(3):
                part += scale * G[right + 3 + e] * V[at + 3 * e + k - 3]
        for j in range(6):
            values[to + j + side * k] += part * G[left + j]


@kernel
def damper(G, row, ends, places, weights, slope, h, damping, V, values):
    """Blocks of one damper: + h w^b c G_i^T G_j (b^bg, V_j^bg) for both its ends i and j."""
    s = weights.size - 1
    side = TWIST * s
    for i in range(2):
        for j in range(2):
            block = places[2 * i + j]
            if block < 0:
                continue
            for b in range(s):
                for g in range(1, s + 1):
                    place = b * (s + 1) + g
                    add_product(
                        values, block + TWIST * b + side * TWIST * (g - 1), side,
                        h * weights[b] * damping, G[b], 12 * row + 6 * i, 12 * row + 6 * j,
                        slope[place], V[ends[j]], 9 * place,
                    )  # fmt: skip


@kernel
def springs(G, row, places, side, scale, values):
    """6 x 6 blocks at ``places`` <- + scale G_i^T G_j."""
    for i in range(2):
        for j in range(2):
            to = places[2 * i + j]
            if to < 0:
                continue
            for k in range(6):
                part = scale * G[12 * row + 6 * j + k]
                for e in range(6):
                    values[to + e + side * k] += part * G[12 * row + 6 * i + e]


@kernel
def places_of(plan, pairs, k):
    """Places of the blocks (a, a), (a, b), (b, a), (b, b) of a group, negative where none is."""
    n, group = plan[BODIES], plan[GROUP_AT] + k * GROUP_FIELDS
    a, b = plan[group + A], plan[group + B]
    aa = plan[plan[BODY_AT] + a] if a < n else -1
    bb = plan[plan[BODY_AT] + b] if b < n else -1
    return aa, pairs[2 * k], pairs[2 * k + 1], bb


@kernel
def inside(places, shift):
    """The places moved on, none staying none."""
    aa = places[0] + shift if places[0] >= 0 else -1
    ab = places[1] + shift if places[1] >= 0 else -1
    ba = places[2] + shift if places[2] >= 0 else -1
    bb = places[3] + shift if places[3] >= 0 else -1
    return aa, ab, ba, bb


@kernel
def forces(plan, constant, rule, h, control, x, nodes, V, kappa, values):
    """Blocks of dampers, springs and controls, and of the constraints' own stiffness."""
    weights, slope, place, pairs, coupled = rule
    pose, matrix, g, G, speed, turn, sigma = nodes
    s = weights.size - 1
    side = TWIST * s
    for k in range(plan[JOINTS], plan[GROUPS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        ends, places = (plan[group + A], plan[group + B]), places_of(plan, pairs, k)
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            damping = constant[plan[ROW_CONSTANT_AT] + row * ROW_SIZE + DAMPING]
            if damping != 0.0:
                damper(G, row, ends, places, weights, slope, h, damping, V, values)
    for b in range(1, s):
        gather(plan, s, b, x, kappa)
        shift, impulse = TWIST * b + side * TWIST * (b - 1), h * weights[b]
        for k in range(plan[GROUPS]):
            group = plan[GROUP_AT] + k * GROUP_FIELDS
            places, acts = inside(places_of(plan, pairs, k), shift), k < plan[JOINTS]
            first = plan[group + FIRST_ROW]
            for row in range(first, first + plan[group + N_ROWS]):
                if k < plan[JOINTS]:
                    continue
                hard = constant[plan[ROW_CONSTANT_AT] + row * ROW_SIZE + STIFFNESS]
                kappa[row] = -impulse * hard * g[b, row]
                index = plan[plan[ROW_AT] + row * ROW_FIELDS + CONTROL]
                if index >= 0:
                    kappa[row] += impulse * control[index]
                if hard != 0.0:
                    springs(G[b], row, places, side, impulse * hard * h, values)
                acts = acts or kappa[row] != 0.0
            if acts:
                stiffness(plan, constant, k, kappa, pose[b], matrix[b], places, side, -h, values)


@kernel
def stretch(values, at, side, rows, columns, h, x, t, row):
    """Columns of a body's rotations <- those times E(phi^g); ``row`` is scratch."""
    for g in range(columns):
        y = load3(x, t + TWIST * g + 3)
        phi = (0.5 * h * y[0], 0.5 * h * y[1], 0.5 * h * y[2])
        scalar = math.sqrt(1.0 - phi[0] * phi[0] - phi[1] * phi[1] - phi[2] * phi[2])
        to = at + side * (TWIST * g + 3)
        for j in range(rows):
            for k in range(3):
                row[k] = values[to + j + side * k]
            turned = stretched(row, 0, phi, scalar)
            for k in range(3):
                values[to + j + side * k] = turned[k]


@kernel
def joint_body(s, n_rows, first, end, G, h, x, t, column, row, values):
    """Blocks (body, joint): -G(z^b)^T, and (joint, body): G(z^a) diag(1, E), one each stage."""
    side, tall = TWIST * s, n_rows * s
    for b in range(s):  # what lies between stages is 0 from the start, and stays
        y = load3(x, t + TWIST * b + 3)
        phi = (0.5 * h * y[0], 0.5 * h * y[1], 0.5 * h * y[2])
        scalar = math.sqrt(1.0 - phi[0] * phi[0] - phi[1] * phi[1] - phi[2] * phi[2])
        for i in range(n_rows):
            place = 12 * (first + i) + end
            to = column + TWIST * b + side * (n_rows * b + i)
            for j in range(6):
                values[to + j] = -G[b, place + j]
            to = row + n_rows * b + i + tall * TWIST * b
            turned = stretched(G[b + 1], place + 3, phi, scalar)
            for j in range(3):
                values[to + tall * j] = G[b + 1, place + j]
                values[to + tall * (3 + j)] = turned[j]


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
    kappa,
    small,
    # Out:
    values,
):  # fmt: skip
    """d r / d x: every block of the matrix (maths F.2)."""
    weights, slope, place, pairs, coupled = rule
    pose, matrix, g, G, speed, turn, sigma = nodes
    n, s = plan[BODIES], weights.size - 1
    side = TWIST * s
    JV, m = small[9:], small[:9]
    for k in range(coupled.size // 2):
        for i in range(side * side):
            values[coupled[2 * k] + i] = 0.0
    for i in range(n):
        c, at = i * BODY_SIZE, plan[plan[BODY_AT] + i]
        inertia_block(
            constant, c, weights, slope, h, i, at, speed, turn, sigma, V[i], JV, m, values
        )
        drags(constant, c, weights, slope, h, at, V[i], values)
    forces(plan, constant, rule, h, control, x, nodes, V, kappa, values)
    for i in range(n):
        stretch(values, plan[plan[BODY_AT] + i], side, side, s, h, x, side * i, m)
    for k in range(coupled.size // 2):
        stretch(values, coupled[2 * k], side, side, s, h, x, side * coupled[2 * k + 1], m)
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        a, b = plan[group + A], plan[group + B]
        rows, first = plan[group + N_ROWS], plan[group + FIRST_ROW]
        at, tall = plan[group + DIAGONAL_AT], rows * s
        if a < n:
            joint_body(
                s, rows, first, 0, G, h, x, side * a, plan[group + AJ_AT], plan[group + JA_AT],
                values,
            )  # fmt: skip
        if b < n:
            joint_body(
                s, rows, first, 6, G, h, x, side * b, plan[group + BJ_AT], plan[group + JB_AT],
                values,
            )  # fmt: skip
        for i in range(tall):
            p = plan[ROW_CONSTANT_AT] + (first + i % rows) * ROW_SIZE
            values[at + i * (tall + 1)] = constant[p + REGULARIZATION]
