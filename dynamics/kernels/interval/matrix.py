"""Matrix of one Newton step, written straight to its places in the values of the block graph."""

import math

from dynamics.kernels.base.jit import kernel, lazy, natural
from dynamics.kernels.base.lanes import every, some
from dynamics.kernels.base.layout import (
    ADDED,
    AJ_AT,
    ARMATURE,
    BJ_AT,
    BODIES,
    BODY_AT,
    BODY_SIZE,
    COMPLIANCE,
    DAMPING,
    DIAGONAL_AT,
    DRAG,
    DRAG_THETA,
    EQUATION,
    FIRST_ROW,
    GROUP_AT,
    GROUP_FIELDS,
    GROUPS,
    HOLDING,
    INERTIA,
    JA_AT,
    JB_AT,
    JOINTS,
    MASS,
    N_ROWS,
    REGULARIZATION,
    ROTORS,
    ROW_CONSTANT_AT,
    ROW_SIZE,
    SOFT,
    SPIN_DRAG,
    STIFF_NUMBERS,
    THETA,
    TWIST,
    A,
    B,
)
from dynamics.kernels.base.quaternion import cross, dot, load3, multiply_matrix
from dynamics.kernels.base.six import load_six, minus, nothing, plus, plus_multiple, put
from dynamics.kernels.rows.added_mass import add_blocks
from dynamics.kernels.rows.rows import held_velocity
from dynamics.kernels.rows.servo_kicks import kick_slope
from dynamics.kernels.rows.stiff_forces import part_of, steepness


@kernel
def bodies(plan, constant, h, part, u, values):
    """Blocks diag(m, d pi^- / d omega), theory/step (10), and drag; u = 0 gives diag(m, J)."""
    for i in range(plan[BODIES]):
        at, c, t = plan[plan[BODY_AT] + i], i * BODY_SIZE, TWIST * i
        omega = load3(u, t + 3)
        phi = (0.5 * h * omega[0], 0.5 * h * omega[1], 0.5 * h * omega[2])
        s = math.sqrt(1.0 - dot(phi, phi))
        over = 0.5 * h / s
        spin = multiply_matrix(constant, c + INERTIA, omega)
        early = h - part + constant[c + DRAG_THETA] * (2.0 * part - h)
        heavy = constant[c + MASS] + early * constant[c + DRAG]
        for k in range(6):
            put(values, at + 6 * k, nothing())
        values[at], values[at + 7], values[at + 14] = heavy, heavy, heavy
        x, y, z = 0.5 * h * spin[0], 0.5 * h * spin[1], 0.5 * h * spin[2]
        slow = early * constant[c + SPIN_DRAG]
        cross_spin = ((slow, -z, y), (z, slow, -x), (-y, x, slow))  # (J omega)^x, by columns
        for k in range(3):  # column k: s J e + phi x J e - (h/2) ((phi . e) / s + J omega x e)
            column = (
                constant[c + INERTIA + k],
                constant[c + INERTIA + 3 + k],
                constant[c + INERTIA + 6 + k],
            )
            turn, more = cross(phi, column), cross_spin[k]
            ratio, to = over * phi[k], at + 21 + 6 * k
            values[to] = s * column[0] + turn[0] - ratio * spin[0] + more[0]
            values[to + 1] = s * column[1] + turn[1] - ratio * spin[1] + more[1]
            values[to + 2] = s * column[2] + turn[2] - ratio * spin[2] + more[2]


@kernel
def add_outer(values, at, scale, G, left, right):
    """values[at:at + 36] <- + scale G[left:left + 6] G[right:right + 6]^T, by columns."""
    for j in range(6):
        column = plus(load_six(values, at + 6 * j), scale * G[right + j], G, left)
        put(values, at + 6 * j, column)


@kernel
def stretched_by(t, phi, s):
    """t E(phi): derivative with respect to omega, over h, of what has the slope t in theta."""
    turn = cross(t, phi)
    ratio = dot(t, phi) / s
    return (
        s * t[0] - turn[0] + ratio * phi[0],
        s * t[1] - turn[1] + ratio * phi[1],
        s * t[2] - turn[2] + ratio * phi[2],
    )


@kernel
def stretch(h, u, t):
    """Columns of E(phi) = s I + phi^x + phi phi^T / s, for rows of slopes: see `stretched_by`."""
    x, y, z = 0.5 * h * u[t + 3], 0.5 * h * u[t + 4], 0.5 * h * u[t + 5]
    rest = 1.0 - (x * x + y * y + z * z)
    s = math.sqrt(rest)
    over = s * (1.0 / rest)  # 1 / s, without waiting for the root
    xy, yz, zx = over * x * y, over * y * z, over * z * x
    return (
        (s + over * x * x, xy - z, zx + y),
        (xy + z, s + over * y * y, yz - x),
        (zx - y, yz + x, s + over * z * z),
    )


@kernel
def put_turned_row(scale, E, G, at, rows, to, values):
    """One row of G diag(1, E), times ``scale``, into a block of ``rows`` rows; E by columns."""
    x = load3(G, at + 3)
    for j in range(3):
        values[to + rows * j] = scale * G[at + j]
        values[to + rows * (3 + j)] = scale * dot(x, E[j])


@kernel
def stretched(G, at, phi, s):
    """The same of the three numbers at G[at]."""
    return stretched_by(load3(G, at), phi, s)


@kernel
def add_dyad(values, at, G, left, right):
    """values[at:at + 36] <- + G[left:left + 6] right^T, by columns."""
    for j in range(6):
        if some(right[j] != 0.0):  # turns about an axis have three columns, in a plane one
            put(values, at + 6 * j, plus(load_six(values, at + 6 * j), right[j], G, left))


@kernel
def add_dyads(values, at, G, left, right, one, two, three):
    """`add_outer` of three rows at left and at right, 12 after one another, with their scales."""
    first, second, third = load_six(G, left), load_six(G, left + 12), load_six(G, left + 24)
    for j in range(6):
        column = plus_multiple(load_six(values, at + 6 * j), one * G[right + j], first)
        column = plus_multiple(column, two * G[right + 12 + j], second)
        put(values, at + 6 * j, plus_multiple(column, three * G[right + 24 + j], third))


@kernel
def damper_slope(constant, h, part, c):
    """Impulse of a row's damper by its rate: theta h c, where no part of it is implicit."""
    return constant[c + DAMPING] * (h - part + constant[c + THETA] * (2.0 * part - h))


@kernel
def slope_of(h, u, t, late, soon, G, G_next, at):
    """soon G + late G_next diag(I, E) of one row and the body whose velocity is u[t:t + 6]."""
    if every(late == 0.0):
        return (
            soon * G[at], soon * G[at + 1], soon * G[at + 2],
            soon * G[at + 3], soon * G[at + 4], soon * G[at + 5],
        )  # fmt: skip
    phi = (0.5 * h * u[t + 3], 0.5 * h * u[t + 4], 0.5 * h * u[t + 5])
    turn = stretched(G_next, at + 3, phi, math.sqrt(1.0 - dot(phi, phi)))
    return (
        soon * G[at] + late * G_next[at],
        soon * G[at + 1] + late * G_next[at + 1],
        soon * G[at + 2] + late * G_next[at + 2],
        soon * G[at + 3] + late * turn[0],
        soon * G[at + 4] + late * turn[1],
        soon * G[at + 5] + late * turn[2],
    )


@lazy("None")
def force_slopes(plan, constant, h, part, u, g, G, G_next, values):
    """Dampers theta h c G^T G, rotors and stiff forces (a + h (h k + c)) G^T G_next diag(I, E).

    After `bodies`. For h = 0 it leaves rotors alone: a G^T G_next.
    """
    n, rotors = plan[BODIES], plan[JOINTS] + plan[ROTORS]
    for k in range(plan[JOINTS], plan[GROUPS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        for place in (plan[group + AJ_AT], plan[group + JA_AT]):
            if place >= 0:
                for i in range(0, 36, 6):
                    put(values, place + i, nothing())
    for k in range(plan[JOINTS], plan[GROUPS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        first, end = plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]
        while k >= rotors and first + 3 <= end:  # three rows at once: ties of planes have six
            c, to = plan[ROW_CONSTANT_AT] + first * ROW_SIZE, 12 * first
            one = damper_slope(constant, h, part, c)
            two = damper_slope(constant, h, part, c + ROW_SIZE)
            three = damper_slope(constant, h, part, c + 2 * ROW_SIZE)
            first += 3
            if one == 0.0 and two == 0.0 and three == 0.0:
                continue
            for side in range(2):
                if plan[group + A + side] < n:
                    right, at = to + 6 * side, plan[plan[BODY_AT] + plan[group + A + side]]
                    add_dyads(values, at, G, right, right, one, two, three)
                    place = plan[group + AJ_AT] if side == 1 else plan[group + JA_AT]
                    if place >= 0:
                        left = to + 6 - 6 * side
                        add_dyads(values, place, G, left, right, one, two, three)
        for row in range(first, end):
            c = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
            soon = damper_slope(constant, h, part, c)
            late = constant[c + ARMATURE] if k < rotors else 0.0
            if plan[STIFF_NUMBERS] > 0 and k < rotors and part > 0.0:
                late += part * steepness(plan, constant, h, row, g)
            elif k < rotors and part > 0.0:
                soon += kick_slope(plan, constant, h, row, g)
            if every(soon == 0.0) and every(late == 0.0):
                continue
            for side in range(2):
                body, at = plan[group + A + side], 12 * row + 6 * side
                if body == n:
                    continue
                right = slope_of(h, u, TWIST * body, late, soon, G, G_next, at)
                add_dyad(values, plan[plan[BODY_AT] + body], G, at, right)
                place = plan[group + AJ_AT] if side == 1 else plan[group + JA_AT]
                if place >= 0:
                    add_dyad(values, place, G, 12 * row + 6 - 6 * side, right)


@kernel
def firm(plan, h, u, G, G_next, values):
    """Blocks (body, joint) and (joint, body) of all joints: -G^T, and G_next diag(1, E)."""
    n, groups = plan[BODIES], plan[GROUP_AT]
    for k in range(plan[JOINTS]):
        group = natural(groups + k * GROUP_FIELDS)
        rows, first = plan[group + N_ROWS], plan[group + FIRST_ROW]
        if plan[group + EQUATION] != first:
            break
        for end in range(2):
            body, at = plan[group + A + end], 12 * first + 6 * end
            if body == n:
                continue
            column, row = plan[group + AJ_AT + 2 * end], plan[group + JA_AT + 2 * end]
            E = stretch(h, u, TWIST * body)
            for i in range(rows):
                put(values, column + 6 * i, minus(nothing(), load_six(G, at + 12 * i)))
                put_turned_row(1.0, E, G_next, at + 12 * i, rows, row + i, values)


@lazy("None")
def soft(plan, constant, h, u, G, G_next, values):
    """The same where joints have a compliance: -theta G^T, and what is late of the other."""
    n, rate = plan[BODIES], 1.0 / h
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        rows, first = plan[group + N_ROWS], plan[group + FIRST_ROW]
        if plan[group + EQUATION] != first:
            break
        for end in range(2):
            body, at = plan[group + A + end], 12 * first + 6 * end
            if body == n:
                continue
            column, row = plan[group + AJ_AT + 2 * end], plan[group + JA_AT + 2 * end]
            E = stretch(h, u, TWIST * body)
            for i in range(rows):
                c, place = plan[ROW_CONSTANT_AT] + (first + i) * ROW_SIZE, at + 12 * i
                theta = constant[c + THETA]
                late = theta + constant[c + COMPLIANCE] * constant[c + DAMPING] * rate
                put(values, column + 6 * i, plus(nothing(), -theta, G, place))
                put_turned_row(late, E, G_next, place, rows, row + i, values)


@kernel
def diagonals(plan, constant, h, values):
    """Blocks (joint, joint): compliances, and the regularization of loops."""
    rate, groups = 1.0 / h, plan[GROUP_AT]
    for k in range(plan[JOINTS]):
        group = natural(groups + k * GROUP_FIELDS)
        rows, first, at = plan[group + N_ROWS], plan[group + FIRST_ROW], plan[group + DIAGONAL_AT]
        if plan[group + EQUATION] != first:
            break
        c = natural(plan[ROW_CONSTANT_AT] + first * ROW_SIZE)
        for i in range(rows * rows):
            values[at + i] = 0.0
        for _ in range(rows):
            values[at] = constant[c + COMPLIANCE] * (rate * rate) + constant[c + REGULARIZATION]
            at += rows + 1
            c += ROW_SIZE


@lazy("None")
def rolling(plan, G, G_next, values):
    """Rows of (joint, body) that hold velocities: (G + G_next) / 2, how G turns left out."""
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        rows, first = plan[group + N_ROWS], plan[group + FIRST_ROW]
        if plan[group + EQUATION] != first:
            break
        for i in range(rows):
            if not held_velocity(plan, first + i):
                continue
            for end in range(2):
                place, at = plan[group + JA_AT + 2 * end], 12 * (first + i) + 6 * end
                if place < 0:
                    continue
                for j in range(6):
                    values[place + i + rows * j] = 0.5 * (G[at + j] + G_next[at + j])


@lazy("None")
def later_group(plan, constant, h, u, G, G_next, group, values):
    """Blocks of a later group, added to what the first group has of the same body."""
    first, rows, rate = plan[group + FIRST_ROW], plan[group + N_ROWS], 1.0 / h
    for end in range(2):
        body = plan[group + B] if end == 1 else plan[group + A]
        if body == plan[BODIES]:
            continue
        column = plan[group + BJ_AT] if end == 1 else plan[group + AJ_AT]
        row = plan[group + JB_AT] if end == 1 else plan[group + JA_AT]
        t = TWIST * body + 3
        phi = (0.5 * h * u[t], 0.5 * h * u[t + 1], 0.5 * h * u[t + 2])
        s = math.sqrt(1.0 - dot(phi, phi))
        for i in range(rows):
            c, at = plan[ROW_CONSTANT_AT] + (first + i) * ROW_SIZE, 12 * (first + i) + 6 * end
            theta = constant[c + THETA]
            late = theta + constant[c + COMPLIANCE] * constant[c + DAMPING] * rate
            turn = stretched(G_next, at + 3, phi, s)
            for j in range(6):
                values[column + 6 * i + j] -= theta * G[at + j]
            for j in range(3):
                values[row + i + rows * j] += late * G_next[at + j]
                values[row + i + rows * (3 + j)] += late * turn[j]


@lazy("None")
def clear_later_group(plan, group, values):
    """Blocks of a later group <- 0."""
    for field in range(AJ_AT, JB_AT + 1):
        if plan[group + field] >= 0:
            for i in range(TWIST * plan[group + N_ROWS]):
                values[plan[group + field] + i] = 0.0


@lazy("None")
def relax(plan, constant, part, values):
    """Regularization of loops <- a part of it, after `assemble`."""
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        rows, first = plan[group + N_ROWS], plan[group + FIRST_ROW]
        if plan[group + EQUATION] != first:
            continue
        for i in range(rows):
            c = plan[ROW_CONSTANT_AT] + (first + i) * ROW_SIZE
            values[plan[group + DIAGONAL_AT] + i * (rows + 1)] -= (1.0 - part) * constant[
                c + REGULARIZATION
            ]


@kernel
def assemble(
    # Tables:
    plan,
    constant,
    # In:
    h,
    u,
    g,
    G,
    G_next,
    # Out:
    values,
):  # fmt: skip
    """d r / d x: every block of the matrix, theory/step (7) to (9)."""
    part = part_of(plan, h, g)
    bodies(plan, constant, h, part, u, values)
    if plan[ADDED] > 0:
        add_blocks(plan, constant, h, G, u, values)
    if plan[GROUPS] > plan[JOINTS]:
        force_slopes(plan, constant, h, part, u, g, G, G_next, values)
    for k in range(plan[JOINTS] - 1, -1, -1):  # later groups before the first ones write
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        if plan[group + EQUATION] == plan[group + FIRST_ROW]:
            break
        clear_later_group(plan, group, values)
    if plan[SOFT] > 0:
        soft(plan, constant, h, u, G, G_next, values)
    else:
        firm(plan, h, u, G, G_next, values)
    if plan[HOLDING] > 0:
        rolling(plan, G, G_next, values)
    diagonals(plan, constant, h, values)
    for k in range(plan[JOINTS] - 1, -1, -1):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        if plan[group + EQUATION] == plan[group + FIRST_ROW]:
            break
        later_group(plan, constant, h, u, G, G_next, group, values)
