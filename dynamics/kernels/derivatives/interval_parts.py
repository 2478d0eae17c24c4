"""Parts of the derivative of an interval along many directions: see `interval_slopes`.

Directions are columns: ``dz[6 n]`` (x, theta), ``dp[6 n]``, ``dc[c]``.
"""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import (
    BODIES,
    BODY_SIZE,
    COMPLIANCE,
    CONTROL,
    DAMPING,
    DRAG,
    DRAG_THETA,
    EQUATION,
    FIRST_ROW,
    GAIN,
    GROUP_AT,
    GROUP_FIELDS,
    GROUPS,
    INERTIA,
    JA_AT,
    JB_AT,
    JOINTS,
    MASS,
    N_ROWS,
    NEXT,
    PULL,
    REGULARIZATION,
    ROW_AT,
    ROW_CONSTANT_AT,
    ROW_FIELDS,
    ROW_SIZE,
    ROWS,
    SPIN_DRAG,
    STIFFNESS,
    THETA,
    TWIST,
    A,
    B,
)
from dynamics.kernels.base.quaternion import cross, dot, load3, multiply_matrix
from dynamics.kernels.interval.matrix import stretched
from dynamics.kernels.rows.curvature import hessian, hessian_across
from dynamics.kernels.rows.forces import bounded
from dynamics.kernels.rows.rows import held_velocity
from dynamics.kernels.rows.stiff_forces import part_of
from graphsys.kernels import solve

#: Solves that take the regularization of redundant rows out again.
REFINEMENTS = 2


@kernel
def row_rate(G, at, a, b, n, u):
    """G u of one row; the world is at rest."""
    total = 0.0
    for j in range(6):
        if a < n:
            total += G[at + j] * u[TWIST * a + j]
        if b < n:
            total += G[at + 6 + j] * u[TWIST * b + j]
    return total


@kernel
def add_force_change(a, b, n, H, G, at, force, along, dz, to, out):
    """Out <- out + d(force G^T), d force = along . dz, for the two bodies of a row."""
    change = 0.0
    for j in range(6):
        if a < n:
            change += along[j] * dz[TWIST * a + j]
        if b < n:
            change += along[6 + j] * dz[TWIST * b + j]
    for i in range(12):
        body = a if i < 6 else b
        if body == n:
            continue
        total = change * G[at + i]
        if force != 0.0:
            for j in range(6):
                if a < n:
                    total += force * H[12 * j + i] * dz[TWIST * a + j]
                if b < n:
                    total += force * H[72 + 12 * j + i] * dz[TWIST * b + j]
        out[to + TWIST * body + i % 6] += total


@kernel
def add_row_change(H, G, at, force, along, pair):
    """Pair_ij <- pair_ij + d(force G_i) / d z_j of one row, d force = along . dz."""
    for i in range(12):
        slope = G[at + i]
        for j in range(12):
            pair[12 * i + j] += force * H[12 * j + i] + slope * along[j]


@kernel
def add_pair_changes(a, b, n, pair, dz, out, length):
    """Out <- out + pair dz of the two bodies of a group, for all columns."""
    for end in range(2):
        body = b if end == 1 else a
        for side in range(2):
            other = b if side == 1 else a
            if body == n or other == n:
                continue
            first, at = 72 * end + 6 * side, TWIST * other
            for col in range(dz.shape[0]):
                to = col * length + TWIST * body
                for i in range(6):
                    total = 0.0
                    for j in range(6):
                        total += pair[first + 12 * i + j] * dz[col, at + j]
                    out[to + i] += total


@kernel
def add_changes_across(plan, constant, k, row, mine, force, x, pose, curvature, dz, length, out):
    """Out <- out + force dG^T of a user's row, by poses of the other groups of its function.

    At ``mine``, if it is a place, out <- out - dG V.
    """
    n, columns = plan[BODIES], dz.shape[0]
    group, H = plan[GROUP_AT] + k * GROUP_FIELDS, curvature.H
    other = plan[group + NEXT]
    while other != k:
        across = plan[GROUP_AT] + other * GROUP_FIELDS
        hessian_across(plan, constant, k, other, row, pose, curvature.work, H)
        for j in range(12):
            end = plan[across + A] if j < 6 else plan[across + B]
            if end == n:
                continue
            place, bend = TWIST * end + j % 6, 0.0
            for i in range(12):
                body = plan[group + A] if i < 6 else plan[group + B]
                if body == n:
                    continue
                at = TWIST * body + i % 6
                bend += H[12 * j + i] * x[at]
                for col in range(columns):
                    out[col * length + at] += force * H[12 * j + i] * dz[col, place]
            for col in range(columns if mine >= 0 else 0):
                out[col * length + mine] -= bend * dz[col, place]
        other = plan[across + NEXT]


@kernel
def impulse_changes(
    # Tables:
    plan,
    constant,
    # In:
    h,
    end,
    control,
    node,
    x,
    dz,
    dc,
    # Work:
    curvature,
    # Out:
    out,
    length,
):  # fmt: skip
    """Out <- out + d(impulses at one end of an interval) by pose and control, x fixed.

    Impulses are those of `forces`: h/2 of springs and controls, and theta of dampers and of
    ``G^T mu``, at the end 1 - theta of them. Column k of ``out`` starts at ``k length``.
    """
    pose, matrix, g, G = node.pose, node.matrix, node.g, node.G
    work, H, along, pair = curvature.work, curvature.H, curvature.along, curvature.pair
    n, c, columns = plan[BODIES], control.size, dz.shape[0]
    for k in range(plan[GROUPS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        a, b = plan[group + A], plan[group + B]
        changed = False
        for j in range(144):
            pair[j] = 0.0
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            p, at = plan[ROW_CONSTANT_AT] + row * ROW_SIZE, 12 * row
            for j in range(12):
                along[j] = 0.0
            index = -1
            if k < plan[JOINTS]:
                theta = constant[p + THETA]
                mine = TWIST * n + plan[group + EQUATION] + row - plan[group + FIRST_ROW]
                force = x[mine] * (1.0 - theta if end else theta)
                if force == 0.0:
                    continue
                hessian(plan, constant, k, row, pose, matrix, work, H)
            else:
                theta = constant[p + THETA]
                weight = 2.0 * (1.0 - theta)
                if not end:
                    share = part_of(plan, 1.0, g)
                    weight = 2.0 * (1.0 - share + theta * (2.0 * share - 1.0))
                stiff, damping = constant[p + STIFFNESS], weight * constant[p + DAMPING]
                pull, index = constant[p + PULL], plan[plan[ROW_AT] + row * ROW_FIELDS + CONTROL]
                if constant[p + GAIN] != 0.0:  # a servo's: see `derivatives.rotors`
                    index = -1
                if stiff == 0.0 and damping == 0.0 and pull == 0.0 and index < 0:
                    continue
                force = -0.5 * h * (stiff * g[row] + pull + damping * row_rate(G, at, a, b, n, x))
                if index >= 0 and c > 0:
                    drive = bounded(constant, p, control[index])
                    force += 0.5 * h * drive
                    if drive != control[index]:  # beyond a limit it changes nothing
                        index = -1
                hessian(plan, constant, k, row, pose, matrix, work, H)
                for j in range(12):
                    total = stiff * G[at + j]
                    if damping != 0.0:
                        for i in range(12):
                            body = a if i < 6 else b
                            if body < n:
                                total += damping * x[TWIST * body + i % 6] * H[12 * j + i]
                    along[j] = -0.5 * h * total
            add_row_change(H, G, at, force, along, pair)
            changed = True
            for col in range(columns if index >= 0 and c > 0 else 0):
                part = 0.5 * h * dc[col, index]
                for i in range(12):
                    body = a if i < 6 else b
                    if body < n and part != 0.0:
                        out[col * length + TWIST * body + i % 6] += part * G[at + i]
            if plan[group + NEXT] != k:
                add_changes_across(
                    plan, constant, k, row, -1, force, x, pose, curvature, dz, length, out
                )  # fmt: skip
        if changed:
            add_pair_changes(a, b, n, pair, dz, out, length)


@kernel
def carry(n, h, x, du, at, dz, dz_next):
    """dz' = diag(1, Q_f^T) dz + h diag(1, E) du, f = [s, phi] the turn of the interval."""
    for i in range(n):
        t = TWIST * i
        phi = (0.5 * h * x[t + 3], 0.5 * h * x[t + 4], 0.5 * h * x[t + 5])
        s = math.sqrt(1.0 - dot(phi, phi))
        theta, w = load3(dz, t + 3), load3(du, at + t + 3)
        one = cross(phi, theta)  # Q_f^T a = a - 2 s phi x a + 2 phi x (phi x a)
        two = cross(phi, one)
        turn = cross(phi, w)  # E a = s a - phi x a + phi (phi . a) / s
        along = dot(phi, w) / s
        for j in range(3):
            dz_next[t + j] = dz[t + j] + h * du[at + t + j]
            back = theta[j] - 2.0 * s * one[j] + 2.0 * two[j]
            dz_next[t + 3 + j] = back + h * (s * w[j] - turn[j] + along * phi[j])


@kernel
def row_changes(plan, constant, h, G, G_next, dz, carried, b, at):
    """B <- b - dr of the rows that hold positions, u fixed: G_next dz', lag of soft ones."""
    n = plan[BODIES]
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        i, j = plan[group + A], plan[group + B]
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            if held_velocity(plan, row):
                continue
            p = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
            late = constant[p + THETA] + constant[p + COMPLIANCE] * constant[p + DAMPING] / h
            now = late * row_rate(G_next, 12 * row, i, j, n, carried)
            if late != 1.0:
                now += (1.0 - late) * row_rate(G, 12 * row, i, j, n, dz)
            b[at + TWIST * n + plan[group + EQUATION] + row - plan[group + FIRST_ROW]] -= now / h


@kernel
def rate_derivatives(plan, constant, k, row, node, x, curvature):
    """along_j <- d (G u) / d z_j of one row."""
    n, H, along = plan[BODIES], curvature.H, curvature.along
    group = plan[GROUP_AT] + k * GROUP_FIELDS
    hessian(plan, constant, k, row, node.pose, node.matrix, curvature.work, H)
    for j in range(12):
        total = 0.0
        for i in range(12):
            body = plan[group + A] if i < 6 else plan[group + B]
            if body < n:
                total += H[12 * j + i] * x[TWIST * body + i % 6]
        along[j] = total


@kernel
def held_changes(
    # Tables:
    plan,
    constant,
    # In:
    h,
    x,
    node,
    trial,
    dz,
    carried,
    # Work:
    curvature,
    # Out:
    values,
    b,
):  # fmt: skip
    """Rotation of the rows that hold velocities: their part of the matrix, and b <- b - dr.

    Their residual is (G + G_next) u / 2; `assemble` leaves out how G_next turns with u.
    """
    n, columns, along = plan[BODIES], dz.shape[0], curvature.along
    unknowns = TWIST * n + plan[ROWS]
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        first, rows = plan[group + FIRST_ROW], plan[group + N_ROWS]
        for row in range(first, first + rows):
            if not held_velocity(plan, row):
                continue
            for end in range(2):
                rate_derivatives(plan, constant, k, row, trial if end == 1 else node, x, curvature)
                for side in range(2):
                    body = plan[group + B] if side == 1 else plan[group + A]
                    if body == n:
                        continue
                    for col in range(columns):
                        total = 0.0
                        for j in range(6):
                            way = carried if end == 1 else dz
                            total += along[6 * side + j] * way[col, TWIST * body + j]
                        b[col * unknowns + TWIST * n + row] -= 0.5 * total
                    if end == 0:
                        continue
                    place = plan[group + JB_AT] if side == 1 else plan[group + JA_AT]
                    t = TWIST * body + 3
                    phi = (0.5 * h * x[t], 0.5 * h * x[t + 1], 0.5 * h * x[t + 2])
                    turn = stretched(along, 6 * side + 3, phi, math.sqrt(1.0 - dot(phi, phi)))
                    for j in range(3):
                        to = place + row - first + rows * j
                        values[to] += 0.5 * h * along[6 * side + j]
                        values[to + 3 * rows] += 0.5 * h * turn[j]


@kernel
def solve_refined(plan, constant, program, compliance, columns, solver, right):
    """X <- K^-1 b from factors of K + eps: x_(k+1) = x_k + (K + eps)^-1 eps (x_k - x_(k-1)).

    With ``compliance``, rows that are soft hold no eps.
    """
    n, rows = TWIST * plan[BODIES], plan[ROWS]
    unknowns, factors, workspace = n + rows, solver.factors, solver.workspace
    b, d, x = right.b, right.d, right.dx
    bad = solve(program, factors, b, columns, workspace, d)
    for i in range(columns * unknowns):
        x[i] = d[i]
    most = 0.0
    for row in range(rows):
        most = max(most, constant[plan[ROW_CONSTANT_AT] + row * ROW_SIZE + REGULARIZATION])
    if most == 0.0:
        return bad
    for _ in range(REFINEMENTS):
        for col in range(columns):
            at = col * unknowns
            for i in range(n):
                b[at + i] = 0.0
            for row in range(rows):
                p = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
                soft = compliance and constant[p + COMPLIANCE] > 0.0
                eps = 0.0 if soft else constant[p + REGULARIZATION]
                b[at + n + row] = eps * d[at + n + row]
        bad += solve(program, factors, b, columns, workspace, d)
        for i in range(columns * unknowns):
            x[i] += d[i]
    return bad


@kernel
def end_changes(plan, constant, h, G, x, dx, at, dp):
    """Dp <- d p' by dx with the pose fixed: M dv, d pi^+, drag, dampers, (1 - theta) G^T d mu."""
    n = plan[BODIES]
    for i in range(n):
        c, t = i * BODY_SIZE, TWIST * i
        omega, dw = load3(x, t + 3), load3(dx, at + t + 3)
        phi, dphi = (0.5 * h * omega[0], 0.5 * h * omega[1], 0.5 * h * omega[2]), (
            0.5 * h * dw[0], 0.5 * h * dw[1], 0.5 * h * dw[2],
        )  # fmt: skip
        s = math.sqrt(1.0 - dot(phi, phi))
        ds = -dot(phi, dphi) / s
        spin = multiply_matrix(constant, c + INERTIA, omega)
        dspin = multiply_matrix(constant, c + INERTIA, dw)
        one, two = cross(dphi, spin), cross(phi, dspin)
        early = h * (1.0 - constant[c + DRAG_THETA])
        heavy = constant[c + MASS] - early * constant[c + DRAG]
        for j in range(3):
            dp[t + j] += heavy * dx[at + t + j]
            dp[t + 3 + j] += ds * spin[j] + s * dspin[j] - one[j] - two[j]
            dp[t + 3 + j] -= early * constant[c + SPIN_DRAG] * dw[j]
    du = dx[at : at + TWIST * n]
    for k in range(plan[GROUPS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        a, b = plan[group + A], plan[group + B]
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            p = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
            if k < plan[JOINTS]:
                mine = TWIST * n + plan[group + EQUATION] + row - plan[group + FIRST_ROW]
                part = (1.0 - constant[p + THETA]) * dx[at + mine]
            elif constant[p + DAMPING] != 0.0:
                part = -h * (1.0 - constant[p + THETA]) * constant[p + DAMPING]
                part *= row_rate(G, 12 * row, a, b, n, du)
            else:
                continue
            for i in range(12):
                body = a if i < 6 else b
                if body < n:
                    dp[TWIST * body + i % 6] += part * G[12 * row + i]
