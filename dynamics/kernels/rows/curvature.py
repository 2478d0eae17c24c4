"""Second derivatives of rows: how a row's slopes G change along a motion of its two poses.

Along (x_a, theta_a, x_b, theta_b), with ``omega = theta_b - Q_rho^T Q_off^T theta_a``, the
quaternion rho changes by ``rho * [0, omega] / 2``, theory/joints (16); each kind of `rows` follows
by the product rule. They are the geometric stiffness of joints, springs and actuators: a force
``a G^T`` changes by ``a H dz``. Headings and distances as in `rows`, perpendicular axes and
distinct points.
"""

import math

from dynamics.kernels.base.callback import call_rows
from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import (
    AXIS,
    BODIES,
    CALLBACK,
    FIRST_ROW,
    GROUP_AT,
    GROUP_CONSTANT_AT,
    GROUP_FIELDS,
    GROUP_SIZE,
    KIND,
    MIX,
    N_ROWS,
    NEXT,
    OFFSET,
    PITCH,
    POINT_A,
    POINT_B,
    POSE,
    ROW_AT,
    ROW_CONSTANT_AT,
    ROW_FIELDS,
    ROW_SIZE,
    SECOND,
    UNITS_AT,
    A,
    B,
)
from dynamics.kernels.base.quaternion import (
    conjugate,
    cross,
    dot,
    load3,
    load4,
    multiply,
    multiply_matrix,
    normalized,
    rotate,
    rotate_back,
)
from dynamics.kernels.rows.rows import (
    ANGLE,
    DISTANCE,
    DOT,
    EDGE,
    HEADING_A,
    HEADING_B,
    HEIGHT,
    LOGARITHM,
    POINT,
    ROLL,
    ROTATION,
    SCREW,
    SPIN,
    TRANSLATION,
    multiply_factors,
    product_entry,
    turned_back,
)
from dynamics.kernels.rows.wrapping import wrap

ZERO = (0.0, 0.0, 0.0)
#: Half a step of the central differences of a user's Jacobian: eps^(1/3), of poses of order 1.
STEP = 6e-6


@kernel
def add3(a, b):
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel
def sub(a, b):
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def scale(c, a):
    """c a."""
    return c * a[0], c * a[1], c * a[2]


@kernel
def moved_back(matrix, at, a, turn):
    """d (Q^T a) = -turn x Q^T a, a fixed."""
    return cross(turned_back(matrix, at, a), turn)


@kernel
def angle_curvature(n, rho, omega):
    """Slope of `rows.angle_about` with respect to theta_b, and its change along omega."""
    s, v = rho[0], (rho[1], rho[2], rho[3])
    ds = -0.5 * dot(v, omega)
    dv = scale(0.5, add3(scale(s, omega), cross(v, omega)))
    along, dalong = dot(n, v), dot(n, dv)
    norm = 1.0 / (s * s + along * along)
    dnorm = -2.0 * norm * norm * (s * ds + along * dalong)
    S, C = s * norm, along * norm
    dS, dC = ds * norm + s * dnorm, dalong * norm + along * dnorm
    arm, darm = add3(scale(s, n), cross(n, v)), add3(scale(ds, n), cross(n, dv))
    slope = add3(scale(S, arm), scale(C, v))
    change = add3(add3(scale(dS, arm), scale(S, darm)), add3(scale(dC, v), scale(C, dv)))
    return slope, change


@kernel
def logarithm_curvature(n, rho, omega):
    """J_r(phi)^-T n of `rows.logarithm`, and its change along omega, d phi = J_r(phi)^-1 omega."""
    sign = 1.0 if rho[0] >= 0.0 else -1.0
    v = (sign * rho[1], sign * rho[2], sign * rho[3])
    sine = math.sqrt(dot(v, v))
    t = 2.0 * math.atan2(sine, sign * rho[0])
    phi = scale(2.0 if sine < 1e-8 else t / sine, v)
    t2 = t * t
    if t < 0.3:  # sum of |B_2k| / (2 k)! t^(2k - 2), and its derivative over t
        c = 1 / 12 + t2 * (1 / 720 + t2 * (1 / 30240 + t2 * (1 / 1209600 + t2 / 47900160)))
        slope = 1 / 360 + t2 * (1 / 7560 + t2 * (1 / 201600 + t2 * (1 / 5987520 + t2 * 5.284e-9)))
    else:
        cot = sign * rho[0] / sine
        c = (1.0 - 0.5 * t * cot) / t2
        slope = (-2.0 / t2 + 0.5 * cot / t + 0.25 / (sine * sine)) / t2
    one = cross(phi, omega)
    dphi = add3(omega, add3(scale(0.5, one), scale(c, cross(phi, one))))
    one, done = cross(phi, n), cross(dphi, n)
    two, dtwo = cross(phi, one), add3(cross(dphi, one), cross(phi, done))
    change = add3(scale(-0.5, done), add3(scale(slope * dot(phi, dphi), two), scale(c, dtwo)))
    return add3(n, add3(scale(-0.5, one), scale(c, two))), change


@kernel
def carried_change(off, rho, omega, slope, change):
    """d (-Q_off Q_rho slope)."""
    back = rotate(off, rotate(rho, add3(cross(omega, slope), change)))
    return -back[0], -back[1], -back[2]


@kernel
def lowest_change(up, axis, dup, daxis, radius):
    """`rows.lowest` and its change."""
    c, dc = dot(up, axis), dot(dup, axis) + dot(up, daxis)
    v = sub(up, scale(c, axis))
    dv = sub(dup, add3(scale(dc, axis), scale(c, daxis)))
    length = math.sqrt(dot(v, v))
    unit = scale(1.0 / length, v)
    change = scale(-radius / length, sub(dv, scale(dot(unit, dv), unit)))
    return scale(-radius, unit), change


@kernel
def nudge(pose, p, j, step):
    """Pose at p <- moved by a step along the world's axis j, or turned about the body's j - 3."""
    if j < 3:
        pose[p + j] += step
        return
    half = 0.5 * step
    x = half if j == 3 else 0.0
    y = half if j == 4 else 0.0
    z = half if j == 5 else 0.0
    q = normalized(multiply(load4(pose, p + 3), (1.0, x, y, z)))
    pose[p + 3], pose[p + 4], pose[p + 5], pose[p + 6] = q


@kernel
def user_hessian(plan, constant, group, other, row, pose, work, H):
    """H[12 j + i] <- d G_i / d z_j of a user's row or path, z of the bodies of ``other`` group.

    By central differences of its Jacobian; ``pose`` comes back as it was.
    """
    rows = plan[group + N_ROWS]
    g, G, at = work[POSE : POSE + rows], work[POSE + rows :], 12 * (row - plan[group + FIRST_ROW])
    for j in range(12):
        body = plan[other + A] if j < 6 else plan[other + B]
        place = POSE * body
        for i in range(POSE):
            work[i] = pose[place + i]
        for side in (1.0, -1.0):
            if body < plan[BODIES]:
                nudge(pose, place, j % 6, side * STEP)
            if plan[group + CALLBACK] != 0:
                call_rows(plan[group + CALLBACK], pose, g, 0, G, 0)
            else:
                k = (group - plan[GROUP_AT]) // GROUP_FIELDS
                wrap(plan, constant, k, pose, g, 0, G, 0)
            for i in range(12):
                if plan[group + MIX] > 0:
                    multiply_factors(constant, plan[UNITS_AT] + plan[group + MIX], rows, G, i, 12)
                if side > 0.0:
                    H[12 * j + i] = G[at + i]
                else:
                    H[12 * j + i] = (H[12 * j + i] - G[at + i]) / (2.0 * STEP)
            for i in range(POSE):
                pose[place + i] = work[i]


@kernel
def hessian(
    # Tables:
    plan,
    constant,
    k,
    row,
    # In:
    pose,
    matrix,
    # Work:
    work,
    # Out:
    H,
):  # fmt: skip
    """H[12 j + i] <- d G_i / d z_j of one row of group k, z = (x_a, theta_a, x_b, theta_b)."""
    group = plan[GROUP_AT] + k * GROUP_FIELDS
    if plan[group + CALLBACK] != 0 or plan[plan[ROW_AT] + row * ROW_FIELDS + KIND] < 0:
        user_hessian(plan, constant, group, group, row, pose, work, H)
        return
    if plan[group + MIX] == 0:
        row_hessian(plan, constant, k, row, pose, matrix, H)
        return
    first, rows, one = plan[group + FIRST_ROW], plan[group + N_ROWS], work[work.size - 144 :]
    for i in range(144):
        H[i] = 0.0
    for m in range(rows):
        part = product_entry(constant, plan[UNITS_AT] + plan[group + MIX], rows, row - first, m)
        row_hessian(plan, constant, k, first + m, pose, matrix, one)
        for i in range(144):
            H[i] += part * one[i]


@kernel
def row_hessian(plan, constant, k, row, pose, matrix, H):
    """The same of a row as its kind says, before it is recombined with others."""
    group = plan[GROUP_AT] + k * GROUP_FIELDS
    a, b = plan[group + A], plan[group + B]
    at = plan[GROUP_CONSTANT_AT] + k * GROUP_SIZE
    pa, pb = load3(constant, at + POINT_A), load3(constant, at + POINT_B)
    off = load4(constant, at + OFFSET)
    qa, qb = load4(pose, POSE * a + 3), load4(pose, POSE * b + 3)
    rho = multiply(conjugate(off), multiply(conjugate(qa), qb))
    v = (rho[1], rho[2], rho[3])
    arm = multiply_matrix(matrix, 9 * b, pb)
    r = sub(add3(load3(pose, POSE * b), arm), load3(pose, POSE * a))
    gap = sub(r, multiply_matrix(matrix, 9 * a, pa))
    kind = plan[plan[ROW_AT] + row * ROW_FIELDS + KIND]
    c = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
    n, e, pitch = load3(constant, c + AXIS), load3(constant, c + SECOND), constant[c + PITCH]
    for j in range(12):
        unit = (
            1.0 if j % 3 == 0 else 0.0, 1.0 if j % 3 == 1 else 0.0, 1.0 if j % 3 == 2 else 0.0,
        )  # fmt: skip
        da = unit if 3 <= j < 6 else ZERO
        db = unit if j >= 9 else ZERO
        dr = add3(scale(-1.0 if j < 3 else 0.0, unit), scale(1.0 if 6 <= j < 9 else 0.0, unit))
        dr = add3(dr, multiply_matrix(matrix, 9 * b, cross(db, pb)))
        omega = sub(db, rotate_back(rho, rotate_back(off, da)))
        dw, dta, dtb = ZERO, ZERO, ZERO
        if kind == POINT:
            dta = cross(moved_back(matrix, 9 * a, n, da), pa)
            dtb = cross(pb, moved_back(matrix, 9 * b, n, db))
        elif kind == TRANSLATION or kind == SCREW:
            w = multiply_matrix(matrix, 9 * a, n)
            dw = multiply_matrix(matrix, 9 * a, cross(da, n))
            dta = cross(n, add3(turned_back(matrix, 9 * a, dr), moved_back(matrix, 9 * a, r, da)))
            dtb = cross(pb, add3(turned_back(matrix, 9 * b, dw), moved_back(matrix, 9 * b, w, db)))
            if kind == SCREW:
                slope, change = angle_curvature(e, rho, omega)
                dtb = sub(dtb, scale(pitch, change))
                dta = sub(dta, scale(pitch, carried_change(off, rho, omega, slope, change)))
        elif kind == ROTATION:
            ds = -0.5 * dot(v, omega)
            dv = scale(0.5, add3(scale(rho[0], omega), cross(v, omega)))
            dtb = add3(scale(ds, n), cross(n, dv))
            dta = rotate(off, sub(cross(n, dv), scale(ds, n)))
        elif kind == ANGLE or kind == LOGARITHM:
            slope, dtb = n, ZERO
            if kind == ANGLE:
                slope, dtb = angle_curvature(n, rho, omega)
            else:
                slope, dtb = logarithm_curvature(n, rho, omega)
            dta = carried_change(off, rho, omega, slope, dtb)
        elif kind == SPIN:
            dta = carried_change(off, rho, omega, n, ZERO)
        elif kind == DOT:
            wa, wb = multiply_matrix(matrix, 9 * a, n), multiply_matrix(matrix, 9 * b, e)
            dwa = multiply_matrix(matrix, 9 * a, cross(da, n))
            dwb = multiply_matrix(matrix, 9 * b, cross(db, e))
            dta = cross(n, add3(turned_back(matrix, 9 * a, dwb), moved_back(matrix, 9 * a, wb, da)))
            dtb = cross(e, add3(turned_back(matrix, 9 * b, dwa), moved_back(matrix, 9 * b, wa, db)))
        elif kind == HEADING_A:
            w = multiply_matrix(matrix, 9 * a, n)
            dw = multiply_matrix(matrix, 9 * a, cross(da, n))
            dtb = add3(turned_back(matrix, 9 * b, dw), moved_back(matrix, 9 * b, w, db))
            dw = ZERO
        elif kind == HEADING_B:
            w = multiply_matrix(matrix, 9 * b, e)
            dw = multiply_matrix(matrix, 9 * b, cross(db, e))
            dta = add3(turned_back(matrix, 9 * a, dw), moved_back(matrix, 9 * a, w, da))
            dta, dw = scale(-1.0, dta), ZERO
        elif kind == HEIGHT or kind == ROLL:
            w, up = multiply_matrix(matrix, 9 * a, n), multiply_matrix(matrix, 9 * a, e)
            dw = multiply_matrix(matrix, 9 * a, cross(da, n))
            axis = multiply_matrix(matrix, 9 * b, pb)
            down, ddown = lowest_change(
                up, axis, multiply_matrix(matrix, 9 * a, cross(da, e)),
                multiply_matrix(matrix, 9 * b, cross(db, pb)), pitch,
            )  # fmt: skip
            low = add3(sub(load3(pose, POSE * b), load3(pose, POSE * a)), down)
            dlow = add3(scale(-1.0 if j < 3 else (1.0 if 6 <= j < 9 else 0.0), unit), ddown)
            turn, dturn = cross(w, low), add3(cross(dw, low), cross(w, dlow))
            dta = add3(turned_back(matrix, 9 * a, dturn), moved_back(matrix, 9 * a, turn, da))
            turn, dturn = cross(down, w), add3(cross(ddown, w), cross(down, dw))
            dtb = add3(turned_back(matrix, 9 * b, dturn), moved_back(matrix, 9 * b, turn, db))
        elif kind == EDGE:
            w = multiply_matrix(matrix, 9 * b, n)
            dw = multiply_matrix(matrix, 9 * b, cross(db, n))
            turn, dturn = cross(w, r), add3(cross(dw, r), cross(w, dr))
            dta = add3(turned_back(matrix, 9 * a, dturn), moved_back(matrix, 9 * a, turn, da))
        elif kind == DISTANCE:
            value = math.sqrt(dot(gap, gap))
            if value > 0.0:
                w = scale(1.0 / value, gap)
                dgap = sub(dr, multiply_matrix(matrix, 9 * a, cross(da, pa)))
                dw = scale(1.0 / value, sub(dgap, scale(dot(w, dgap), w)))
                dta = cross(
                    add3(turned_back(matrix, 9 * a, dw), moved_back(matrix, 9 * a, w, da)), pa
                )
                dtb = cross(
                    pb, add3(turned_back(matrix, 9 * b, dw), moved_back(matrix, 9 * b, w, db))
                )
        h = 12 * j
        H[h], H[h + 1], H[h + 2] = -dw[0], -dw[1], -dw[2]
        H[h + 3], H[h + 4], H[h + 5] = dta
        H[h + 6], H[h + 7], H[h + 8] = dw
        H[h + 9], H[h + 10], H[h + 11] = dtb


@kernel
def hessian_across(plan, constant, k, other, row, pose, work, H):
    """H of `hessian` of one row of group k, z of the bodies of another group of its function."""
    group, across = plan[GROUP_AT] + k * GROUP_FIELDS, plan[GROUP_AT] + other * GROUP_FIELDS
    user_hessian(plan, constant, group, across, row, pose, work, H)


@kernel
def rate_slopes(
    # Tables:
    plan,
    constant,
    first,
    last,
    # In:
    pose,
    matrix,
    twist,
    # Work:
    work,
    H,
    # Out:
    W,
):  # fmt: skip
    """W[12 i + j] <- d (G_i V) / d z_j = (V^T H_i)_j of the rows of groups ``first`` to ``last``.

    Rows count from the first of them; ``twist`` holds the world's velocity, 0, too.
    """
    place = 0
    for k in range(first, last):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        a, b, row = plan[group + A], plan[group + B], plan[group + FIRST_ROW]
        for i in range(row, row + plan[group + N_ROWS]):
            hessian(plan, constant, k, i, pose, matrix, work, H)
            for j in range(12):
                total = 0.0
                for m in range(6):
                    total += H[12 * j + m] * twist[6 * a + m] + H[12 * j + 6 + m] * twist[6 * b + m]
                W[place + j] = total
            other = plan[group + NEXT]
            while other != k:
                across = plan[GROUP_AT] + other * GROUP_FIELDS
                c, d, same = plan[across + A], plan[across + B], plan[across + FIRST_ROW] + i - row
                user_hessian(plan, constant, across, group, same, pose, work, H)
                for j in range(12):
                    for m in range(6):
                        W[place + j] += H[12 * j + m] * twist[6 * c + m]
                        W[place + j] += H[12 * j + 6 + m] * twist[6 * d + m]
                other = plan[across + NEXT]
            place += 12
