"""Stiffness: derivatives of generalized forces F = G(z)^T kappa by the pose at fixed kappa.

A group's rows together make a force F0 of fixed direction in the world (POINT, DISTANCE), a force
Fa fixed in a's frame (TRANSLATION, SCREW) and a torque kappa_R on the vector of rho (ROTATION);
DISTANCE and DOT rows turn their directions too: theory/joints (14), (15). With ``d = Q_a^T r``

    F = F0 + Q_a Fa,   T_b = p_b x Q_b^T F + s kappa_R + kappa_R x v,
    T_a = -p_a x Q_a^T F0 + Fa x d + Q_off (kappa_R x v - s kappa_R).

Other kinds of rows are left out: these slopes direct Newton's method, the residual is exact.
"""

import math

from dynamics.kernels.base.jit import kernel, natural
from dynamics.kernels.base.layout import (
    AXIS,
    BODIES,
    FIRST_ROW,
    GROUP_AT,
    GROUP_CONSTANT_AT,
    GROUP_FIELDS,
    GROUP_SIZE,
    KIND,
    N_ROWS,
    OFFSET,
    POINT_A,
    POINT_B,
    POSE,
    ROW_AT,
    ROW_CONSTANT_AT,
    ROW_FIELDS,
    ROW_SIZE,
    SECOND,
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
    rotate,
    rotate_back,
)
from dynamics.kernels.interval.matrix import stretched_by
from dynamics.kernels.rows.rows import (
    DISTANCE,
    DOT,
    POINT,
    ROTATION,
    SCREW,
    TRANSLATION,
    turned_back,
)


@kernel
def plus_multiple(a, scale, b):
    """a + scale b."""
    return a[0] + scale * b[0], a[1] + scale * b[1], a[2] + scale * b[2]


@kernel
def pulls(plan, constant, k, kappa, gap):
    """(F0, Fa, kappa_R, direction and tension of a distance, kappa and axes of a DOT row)."""
    zero = (0.0, 0.0, 0.0)
    world, fixed, twist, n, e, tension, tilt = zero, zero, zero, zero, zero, 0.0, 0.0
    along = zero
    group = plan[GROUP_AT] + k * GROUP_FIELDS
    for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
        kind = plan[plan[ROW_AT] + row * ROW_FIELDS + KIND]
        c = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
        axis = load3(constant, c + AXIS)
        if kind == POINT:
            world = plus_multiple(world, kappa[row], axis)
        elif kind == TRANSLATION or kind == SCREW:
            fixed = plus_multiple(fixed, kappa[row], axis)
        elif kind == ROTATION:
            twist = plus_multiple(twist, kappa[row], axis)
        elif kind == DOT:
            n, e, tilt = axis, load3(constant, c + SECOND), kappa[row]
        elif kind == DISTANCE:
            length = math.sqrt(dot(gap, gap))
            if length > 0.0:
                along = (gap[0] / length, gap[1] / length, gap[2] / length)
                tension = kappa[row] / length
                world = plus_multiple(world, kappa[row], along)
    return world, fixed, twist, along, tension, n, e, tilt


@kernel
def pulled_by(along, tension, moved):
    """Change of a tension's force: (I - w w^T) dgap times tension over length."""
    return plus_multiple(
        (tension * moved[0], tension * moved[1], tension * moved[2]),
        -tension * dot(along, moved),
        along,
    )


@kernel
def twisted(off, rho, twist, ds, dv):
    """Changes of (T_a, T_b) where rho changes by (ds, dv)."""
    turn = cross(twist, dv)
    return rotate(off, plus_multiple(turn, -ds, twist)), plus_multiple(turn, ds, twist)


@kernel
def moving_b(matrix, a, b, frame, pull, dx, t):
    """Changes (dF, dT_a, dT_b) where b moves by dx and turns by t."""
    point_a, point_b, off, rho, _ = frame
    world, fixed, twist, along, tension, n, e, tilt = pull
    force = plus_multiple(world, 1.0, multiply_matrix(matrix, 9 * a, fixed))
    gap = plus_multiple(dx, 1.0, multiply_matrix(matrix, 9 * b, cross(t, point_b)))
    df = pulled_by(along, tension, gap)
    lever = plus_multiple(
        turned_back(matrix, 9 * b, df), 1.0, cross(turned_back(matrix, 9 * b, force), t)
    )
    v = (rho[1], rho[2], rho[3])
    vt = cross(v, t)
    dv = (
        0.5 * (rho[0] * t[0] + vt[0]),
        0.5 * (rho[0] * t[1] + vt[1]),
        0.5 * (rho[0] * t[2] + vt[2]),
    )
    ta, tb = twisted(off, rho, twist, -0.5 * dot(v, t), dv)
    tb = plus_multiple(tb, 1.0, cross(point_b, lever))
    ta = plus_multiple(ta, -1.0, cross(point_a, turned_back(matrix, 9 * a, df)))
    ta = plus_multiple(ta, 1.0, cross(fixed, turned_back(matrix, 9 * a, gap)))
    if tilt != 0.0:
        wa = turned_back(matrix, 9 * b, multiply_matrix(matrix, 9 * a, n))
        tb = plus_multiple(tb, tilt, cross(e, cross(wa, t)))
        turn = turned_back(matrix, 9 * a, multiply_matrix(matrix, 9 * b, cross(t, e)))
        ta = plus_multiple(ta, tilt, cross(n, turn))
    return df, ta, tb


@kernel
def moving_a(matrix, a, b, frame, pull, dx, t):
    """Changes (dF, dT_a, dT_b) where a moves by dx and turns by t."""
    point_a, point_b, off, rho, d = frame
    world, fixed, twist, along, tension, n, e, tilt = pull
    gap = plus_multiple(dx, 1.0, multiply_matrix(matrix, 9 * a, cross(t, point_a)))
    df = pulled_by(along, -tension, gap)
    lever = plus_multiple(
        turned_back(matrix, 9 * a, df), 1.0, cross(turned_back(matrix, 9 * a, world), t)
    )
    df = plus_multiple(df, 1.0, multiply_matrix(matrix, 9 * a, cross(t, fixed)))
    v, back = (rho[1], rho[2], rho[3]), rotate_back(off, t)
    vt = cross(v, back)
    dv = (
        0.5 * (vt[0] - rho[0] * back[0]),
        0.5 * (vt[1] - rho[0] * back[1]),
        0.5 * (vt[2] - rho[0] * back[2]),
    )
    ta, tb = twisted(off, rho, twist, 0.5 * dot(v, back), dv)
    tb = plus_multiple(tb, 1.0, cross(point_b, turned_back(matrix, 9 * b, df)))
    ta = plus_multiple(ta, -1.0, cross(point_a, lever))
    ta = plus_multiple(
        ta, 1.0, cross(fixed, plus_multiple(cross(d, t), -1.0, turned_back(matrix, 9 * a, dx)))
    )
    if tilt != 0.0:
        wb = turned_back(matrix, 9 * a, multiply_matrix(matrix, 9 * b, e))
        ta = plus_multiple(ta, tilt, cross(n, cross(wb, t)))
        turn = turned_back(matrix, 9 * b, multiply_matrix(matrix, 9 * a, cross(t, n)))
        tb = plus_multiple(tb, tilt, cross(e, turn))
    return df, ta, tb


@kernel
def frame_of(plan, constant, k, pose, matrix):
    """(p_a, p_b, q_off, rho, d) of a group, and its gap in the world's frame."""
    group, at = plan[GROUP_AT] + k * GROUP_FIELDS, plan[GROUP_CONSTANT_AT] + k * GROUP_SIZE
    a, b = plan[group + A], plan[group + B]
    point_a, point_b = load3(constant, at + POINT_A), load3(constant, at + POINT_B)
    off = load4(constant, at + OFFSET)
    qa, qb = load4(pose, POSE * a + 3), load4(pose, POSE * b + 3)
    rho = multiply(conjugate(off), multiply(conjugate(qa), qb))
    apart = plus_multiple(load3(pose, POSE * b), -1.0, load3(pose, POSE * a))
    r = plus_multiple(apart, 1.0, multiply_matrix(matrix, 9 * b, point_b))
    gap = plus_multiple(r, -1.0, multiply_matrix(matrix, 9 * a, point_a))
    return (point_a, point_b, off, rho, turned_back(matrix, 9 * a, r)), gap


@kernel
def add_column(values, at, scale, sign, force, torque):
    """values[at:at + 6] <- + scale (sign force, torque)."""
    for j in range(3):
        values[at + j] += scale * sign * force[j]
        values[at + 3 + j] += scale * torque[j]


@kernel
def unit(i):
    """Unit vector i; none of the three where i is not 0, 1 or 2."""
    x = 1.0 if i == 0 else 0.0
    y = 1.0 if i == 1 else 0.0
    z = 1.0 if i == 2 else 0.0
    return x, y, z


@kernel
def column(t, turn):
    """E(phi) t: the rotation vector over h that a change t of the unknowns y makes."""
    phi, scalar = turn
    return stretched_by(t, (-phi[0], -phi[1], -phi[2]), scalar)


@kernel
def add_hanging(point, force, scalar, v, k, K, at):
    """K <- + d(p x Q^T F + s k + k x v) / d theta, by columns, of a body that [s, v] turns with."""
    at, half = natural(at), 0.5 * scalar
    p, f = point, force
    d = -dot(p, f) - 0.5 * dot(k, v)
    K[at] += f[0] * p[0] + d
    K[at + 4] += f[1] * p[1] + d
    K[at + 8] += f[2] * p[2] + d
    skew = (half * k[0], half * k[1], half * k[2])
    x = 0.5 * (v[1] * k[2] - k[1] * v[2]) - skew[0]
    y = 0.5 * (v[2] * k[0] - k[2] * v[0]) - skew[1]
    z = 0.5 * (v[0] * k[1] - k[0] * v[1]) - skew[2]
    K[at + 1] += f[1] * p[0] - z
    K[at + 2] += f[2] * p[0] + y
    K[at + 3] += f[0] * p[1] + z
    K[at + 5] += f[2] * p[1] - x
    K[at + 6] += f[0] * p[2] - y
    K[at + 7] += f[1] * p[2] + x


@kernel
def held_points(n, a, b, matrix, frame, pull, K, stage):
    """`stiffness` of each body alone where forces keep their direction: points and rotations."""
    point_a, point_b, off, rho, _ = frame
    world, _, twist, _, _, _, _, _ = pull
    if b < n:
        force = turned_back(matrix, 9 * b, world)
        add_hanging(point_b, force, rho[0], (rho[1], rho[2], rho[3]), twist, K[b], 9 * stage)
    if a < n:
        x, y, z = turned_back(matrix, 9 * a, world)
        # seen from a the rotation is the inverse one, its torques those of off * kappa
        back, k = rotate(off, (-rho[1], -rho[2], -rho[3])), rotate(off, twist)
        add_hanging(point_a, (-x, -y, -z), rho[0], back, (-k[0], -k[1], -k[2]), K[a], 9 * stage)


@kernel
def stiffness(plan, constant, k, kappa, here, turns, places, scale, coupled, stage, K, values):
    """Blocks at ``places`` (aa, ab, ba, bb; none where negative) <- + scale dF / dy over h.

    Where forces keep their direction and bodies are not ``coupled``, all that changes are torques
    on the body that turns; their slopes go to K instead.
    """
    matrix, group = here.matrix, plan[GROUP_AT] + k * GROUP_FIELDS
    a, b = plan[group + A], plan[group + B]
    frame, gap = frame_of(plan, constant, k, here.pose, matrix)
    pull = pulls(plan, constant, k, kappa, gap)
    straight = dot(pull[1], pull[1]) + abs(pull[4])  # else no force changes where nothing turns
    if straight == 0.0 and pull[7] == 0.0 and not coupled:
        held_points(plan[BODIES], a, b, matrix, frame, pull, K, stage)
        return
    for j in range(0 if straight > 0.0 else 3, 6):
        dx, t = unit(j), unit(j - 3)
        if places[0] >= 0:
            df, ta, tb = moving_a(matrix, a, b, frame, pull, dx, column(t, turns[0]))
            add_column(values, places[0] + 6 * j, scale, -1.0, df, ta)
            if places[2] >= 0:
                add_column(values, places[2] + 6 * j, scale, 1.0, df, tb)
        if places[3] >= 0:
            df, ta, tb = moving_b(matrix, a, b, frame, pull, dx, column(t, turns[1]))
            add_column(values, places[3] + 6 * j, scale, 1.0, df, tb)
            if places[1] >= 0:
                add_column(values, places[1] + 6 * j, scale, -1.0, df, ta)
