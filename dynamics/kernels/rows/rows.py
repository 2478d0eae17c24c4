"""Rows: scalar functions of two poses, for constraints and for forces alike, with Jacobians.

With ``r = x_b + Q_b p_b - x_a``, ``d = Q_a^T r``, ``rho = q_off* q_a* q_b = [s, v]`` and the row's
axis n, the kinds are

=============  ===========================================  ======================================
kind           value                                        axis n lives in
=============  ===========================================  ======================================
POINT          n . (r - Q_a p_a)                            the world's frame
TRANSLATION    n . (d - p_a)                                a's frame
ROTATION       2 n . v                                      the offset frame (b's, when aligned)
ANGLE          2 atan2(n . v, s)                            the offset frame
DOT            (Q_a n) . (Q_b e)                            n in a's frame, e in b's
SCREW          n . (d - p_a) - pitch angle                  a's frame; angle about e, offset frame
DISTANCE       |r - Q_a p_a|
LOGARITHM      n . log rho, the rotation vector             the offset frame
SPIN           0; its rate is n . (omega_b - omega_a)       b's frame
HEADING_A      angle about n of Q_a^T Q_b e                 n in a's frame, e in b's
HEADING_B      angle about e of Q_b^T Q_a n, reversed       n in a's frame, e in b's
HEIGHT         n . (r + arm - Q_a p_a), p_b = 0             a's frame
EDGE           0; its rate is Q_b n . velocity of p_b       b's frame
ROLL           0; its rate is Q_a n . velocity at ``arm``   a's frame
WRAP, WRAPPED  length of a tendon around a geom: `wrapping`
=============  ===========================================  ======================================

each minus ``rest``. POINT rows are three, along the world's axes, and the first of their group
(`dynamics.parts.joints.POINTS`). Headings count from where ``rho`` is 1, with n, e perpendicular;
points at no distance count as b below a. A HEIGHT or ROLL row looks at the lowest point, ``arm``,
of a ball or of a disc with its axis at ``POINT_B``, of radius ``PITCH``, seen along ``SECOND``.
EDGE and ROLL are not integrable: see `roll`.
Jacobians are with respect to (x_a, theta_a, x_b, theta_b), theta a rotation vector in the body's
frame (theory/joints (10), (11); Bruedigam et al. 2023, Appendix B, halved; ROTATION doubled).
"""

import math

from dynamics.kernels.base.arguments import Frames
from dynamics.kernels.base.callback import call_rows
from dynamics.kernels.base.jit import inlined, kernel, lazy, natural
from dynamics.kernels.base.layout import (
    ALIGNED,
    AXIS,
    BODIES,
    CALLBACK,
    EQUATION,
    FIRST_ROW,
    GROUP_AT,
    GROUP_CONSTANT_AT,
    GROUP_FIELDS,
    GROUP_SIZE,
    JOINTS,
    KIND,
    MIX,
    N_ROWS,
    OFFSET,
    PERIOD,
    PINNED,
    PITCH,
    POINT_A,
    POINT_B,
    POSE,
    REST,
    ROW_AT,
    ROW_CONSTANT_AT,
    ROW_FIELDS,
    ROW_SIZE,
    SECOND,
    TURNS,
    TWIST,
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
    rotate,
)
from dynamics.kernels.rows.row_geometry import (
    angle_about,
    carried,
    heading,
    logarithm,
    lowest_point,
)
from dynamics.kernels.rows.wrapping import wrap

POINT = 0
TRANSLATION = 1
ROTATION = 2
ANGLE = 3
DOT = 4
SCREW = 5
DISTANCE = 6
USER = 7
LOGARITHM = 8
SPIN = 9
HEADING_A = 10
HEADING_B = 11
HEIGHT = 12
EDGE = 13
ROLL = 14  # kinds from EDGE on hold velocities alone

ZERO = (0.0, 0.0, 0.0)
FULL_TURNS = 4.0 * math.pi  # after which a quaternion comes back to itself


@kernel
def turned_back(m, at, a):
    """Q^T a, Q row-major at ``m[at:at + 9]``."""
    at = natural(at)
    return (
        m[at] * a[0] + m[at + 3] * a[1] + m[at + 6] * a[2],
        m[at + 1] * a[0] + m[at + 4] * a[1] + m[at + 7] * a[2],
        m[at + 2] * a[0] + m[at + 5] * a[1] + m[at + 8] * a[2],
    )


@kernel
def write(G, at, w, ta, tb):
    """G[at:at + 12] <- (-w, ta, w, tb)."""
    at = natural(at)
    G[at], G[at + 1], G[at + 2] = -w[0], -w[1], -w[2]
    G[at + 3], G[at + 4], G[at + 5] = ta
    G[at + 6], G[at + 7], G[at + 8] = w
    G[at + 9], G[at + 10], G[at + 11] = tb


@kernel
def kind_of(plan, row):
    """Kind of a row."""
    return plan[natural(plan[ROW_AT] + row * ROW_FIELDS + KIND)]


@kernel
def difference(pose, at, bt, arm):
    """x_b + arm - x_a."""
    a, b = load3(pose, at), load3(pose, bt)
    return b[0] + arm[0] - a[0], b[1] + arm[1] - a[1], b[2] + arm[2] - a[2]


@inlined
def relative(pose, at, bt, off, turns):
    """rho = q_off* q_a* q_b."""
    rho = multiply(conjugate(load4(pose, at)), load4(pose, bt))
    if turns != ALIGNED:
        rho = multiply(conjugate(off), rho)
    return rho


@kernel
def held_velocity(plan, row):
    """True for a row that holds a velocity and no position."""
    return plan[plan[ROW_AT] + row * ROW_FIELDS + KIND] >= EDGE


@lazy("None")
def roll(plan, h, G, G_next, u, g_next):
    """g_next <- (h/2) (G + G_next) u for rows that hold velocities: theory/step (5)."""
    n = plan[BODIES]
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        row, rows = plan[group + FIRST_ROW], plan[group + N_ROWS]
        if not held_velocity(plan, row + rows - 1):  # they come last in a joint
            continue
        for i in range(row, row + rows):
            if held_velocity(plan, i):
                way = 0.0
                for end in range(2):
                    body = plan[group + A] if end == 0 else plan[group + B]
                    if body < n:
                        for j in range(TWIST):
                            at = 12 * i + TWIST * end + j
                            way += (G[at] + G_next[at]) * u[TWIST * body + j]
                g_next[i] = 0.5 * h * way


@kernel
def couple(period, first, second, g):
    """g[first] <- sum of a coupling's halves, its multiples of the period left out."""
    g[first] += g[second]
    if period > 0.0:
        g[first] -= period * math.floor(g[first] / period + 0.5)


@kernel
def multiply_factors(constant, factors, n, x, at, ld):
    """x <- L U x in place, n numbers from ``at``, ld apart; the diagonal of L is 1."""
    for i in range(n):
        total = 0.0
        for j in range(i, n):
            total += constant[factors + n * i + j] * x[at + ld * j]
        x[at + ld * i] = total
    for i in range(n - 1, -1, -1):
        for j in range(i):
            x[at + ld * i] += constant[factors + n * i + j] * x[at + ld * j]


@kernel
def product_entry(constant, factors, n, i, j):
    """(L U)_ij of the same factors."""
    total = constant[factors + n * i + j] if i <= j else 0.0
    for m in range(min(i, j + 1)):
        total += constant[factors + n * i + m] * constant[factors + n * m + j]
    return total


@lazy("None")
def recombine(plan, constant, group, g, G):
    """(g, G) <- L U (g, G) of a group's rows, whose compliance is diagonal then."""
    first, rows = plan[group + FIRST_ROW], plan[group + N_ROWS]
    factors = plan[UNITS_AT] + plan[group + MIX]
    multiply_factors(constant, factors, rows, g, first, 1)
    for j in range(12):
        multiply_factors(constant, factors, rows, G, 12 * first + j, 12)


@inlined
def pin(matrix, a, b, point_a, point_b, gap, row, g, G):
    """The three rows that keep two points together, along the world's axes."""
    g[row], g[row + 1], g[row + 2] = gap
    for j in range(3):  # Q^T of an axis is a row of Q
        w = (1.0 * (j == 0), 1.0 * (j == 1), 1.0 * (j == 2))
        ta = cross(load3(matrix, 9 * a + 3 * j), point_a)
        tb = cross(point_b, load3(matrix, 9 * b + 3 * j))
        write(G, 12 * (row + j), w, ta, tb)


@inlined
def held_axis(constant, c, rho, off, aligned, row, g, G):
    """A row that keeps two frames from turning about an axis."""
    n, v = load3(constant, c + AXIS), (rho[1], rho[2], rho[3])
    g[row] = 2.0 * dot(n, v) - constant[c + REST]
    s, nv = rho[0], cross(n, v)
    tb = (s * n[0] + nv[0], s * n[1] + nv[1], s * n[2] + nv[2])
    ta = (nv[0] - s * n[0], nv[1] - s * n[1], nv[2] - s * n[2])
    if not aligned:
        ta = rotate(off, ta)
    write(G, 12 * row, (0.0, 0.0, 0.0), ta, tb)


@inlined
def turned_angle(constant, c, rho, off, aligned, row, g, G):
    """A row that measures the angle about an axis."""
    value, tb = angle_about(load3(constant, c + AXIS), rho)
    g[row] = value - constant[c + REST]
    back = rotate(rho, tb)
    if not aligned:
        back = rotate(off, back)
    write(G, 12 * row, ZERO, (-back[0], -back[1], -back[2]), tb)


@lazy("None")
def other(plan, constant, pose, matrix, frames, i, g, G):
    """Row i, of no kind that `pin`, `held_axis` or `turned_angle` are for: these are most."""
    a, b, point_a, point_b = frames.a, frames.b, frames.point_a, frames.point_b
    off, r, gap, rho = frames.off, frames.r, frames.gap, frames.rho
    kind, c = kind_of(plan, i), natural(plan[ROW_CONSTANT_AT] + i * ROW_SIZE)
    n = load3(constant, c + AXIS)
    w, ta, tb = ZERO, ZERO, ZERO
    if kind == TRANSLATION or kind == SCREW:
        w = multiply_matrix(matrix, 9 * a, n)
        value = dot(w, gap)
        ta = cross(n, turned_back(matrix, 9 * a, r))
        tb = cross(point_b, turned_back(matrix, 9 * b, w))
        if kind == SCREW:
            pitch = constant[c + PITCH]
            angle, slope = angle_about(load3(constant, c + SECOND), rho)
            angle += FULL_TURNS * math.floor((value / pitch - angle) / FULL_TURNS + 0.5)
            value -= pitch * angle
            back = carried(off, rho, slope)
            tb = (
                tb[0] - pitch * slope[0],
                tb[1] - pitch * slope[1],
                tb[2] - pitch * slope[2],
            )
            ta = (
                ta[0] - pitch * back[0],
                ta[1] - pitch * back[1],
                ta[2] - pitch * back[2],
            )
    elif kind == DOT:
        e = load3(constant, c + SECOND)
        wa, wb = multiply_matrix(matrix, 9 * a, n), multiply_matrix(matrix, 9 * b, e)
        value = dot(wa, wb)
        ta = cross(n, turned_back(matrix, 9 * a, wb))
        tb = cross(e, turned_back(matrix, 9 * b, wa))
    elif kind == LOGARITHM:
        value, tb = logarithm(n, rho)
        ta = carried(off, rho, tb)
    elif kind == SPIN:
        value, tb = 0.0, n
        ta = carried(off, rho, tb)
    elif kind == HEADING_A:
        e = load3(constant, c + SECOND)
        now = turned_back(matrix, 9 * a, multiply_matrix(matrix, 9 * b, e))
        value, ta = heading(n, rotate(off, e), now), (-n[0], -n[1], -n[2])
        tb = turned_back(matrix, 9 * b, multiply_matrix(matrix, 9 * a, n))
    elif kind == HEADING_B:
        e = load3(constant, c + SECOND)
        now = turned_back(matrix, 9 * b, multiply_matrix(matrix, 9 * a, n))
        value, tb = -heading(e, rotate(conjugate(off), n), now), e
        ta = turned_back(matrix, 9 * a, multiply_matrix(matrix, 9 * b, e))
        ta = (-ta[0], -ta[1], -ta[2])
    elif kind == HEIGHT or kind == ROLL:
        w, up = (
            multiply_matrix(matrix, 9 * a, n),
            multiply_matrix(matrix, 9 * a, load3(constant, c + SECOND)),
        )
        down = lowest_point(up, multiply_matrix(matrix, 9 * b, point_b), constant[c + PITCH])
        low = (
            pose[POSE * b] - pose[POSE * a] + down[0],
            pose[POSE * b + 1] - pose[POSE * a + 1] + down[1],
            pose[POSE * b + 2] - pose[POSE * a + 2] + down[2],
        )
        value = dot(w, low) - dot(n, point_a) if kind == HEIGHT else 0.0
        ta = turned_back(matrix, 9 * a, cross(w, low))
        tb = turned_back(matrix, 9 * b, cross(down, w))
    elif kind == EDGE:
        value, w, tb = 0.0, multiply_matrix(matrix, 9 * b, n), cross(point_b, n)
        ta = turned_back(matrix, 9 * a, cross(w, r))
    else:  # DISTANCE
        value = math.sqrt(dot(gap, gap))
        w = (0.0, 0.0, -1.0)
        if value > 0.0:
            w = (gap[0] / value, gap[1] / value, gap[2] / value)
        ta = cross(turned_back(matrix, 9 * a, w), point_a)
        tb = cross(point_b, turned_back(matrix, 9 * b, w))
    g[i] = value - constant[c + REST]
    write(G, 12 * i, w, ta, tb)


@inlined
def points(constant, at, pose, matrix, a, b):
    """Points of a group in the frames of a and b; from the centre of a and from its point to b's.

    Rows of angles do without them.
    """
    point_a, point_b = load3(constant, at + POINT_A), load3(constant, at + POINT_B)
    r = difference(pose, POSE * a, POSE * b, multiply_matrix(matrix, 9 * b, point_b))
    arm = multiply_matrix(matrix, 9 * a, point_a)
    return point_a, point_b, r, (r[0] - arm[0], r[1] - arm[1], r[2] - arm[2])


@lazy("None")
def rows_of_any(plan, constant, k, pose, matrix, g, G):
    """Rows of a group of any kinds."""
    group, at = plan[GROUP_AT] + k * GROUP_FIELDS, plan[GROUP_CONSTANT_AT] + k * GROUP_SIZE
    a, b = natural(plan[group + A]), natural(plan[group + B])
    row, rows = natural(plan[group + FIRST_ROW]), plan[group + N_ROWS]
    if kind_of(plan, row) < 0:
        wrap(plan, constant, k, pose, g, row, G, 12 * row)
        couple(0.0, plan[group + EQUATION], row, g)
        return
    if plan[group + CALLBACK] != 0:
        if call_rows(plan[group + CALLBACK], pose, g, row, G, 12 * row) != 0:
            for i in range(row, row + rows):
                g[i] = math.nan  # an exception is no constraint that is fulfilled
        if plan[group + MIX] > 0:
            recombine(plan, constant, group, g, G)
        return
    off = load4(constant, at + OFFSET)
    turns, rho = plan[group + TURNS], (1.0, 0.0, 0.0, 0.0)
    if turns != 0:
        rho = relative(pose, POSE * a + 3, POSE * b + 3, off, turns)
    start = row
    if kind_of(plan, row) == POINT:
        point_a, point_b, _, gap = points(constant, at, pose, matrix, a, b)
        pin(matrix, a, b, point_a, point_b, gap, row, g, G)
        start += 3
    for i in range(start, row + rows):
        c = natural(plan[ROW_CONSTANT_AT] + i * ROW_SIZE)
        if kind_of(plan, i) == ROTATION:
            held_axis(constant, c, rho, off, turns == ALIGNED, i, g, G)
        elif kind_of(plan, i) == ANGLE:
            turned_angle(constant, c, rho, off, turns == ALIGNED, i, g, G)
        else:
            point_a, point_b, r, gap = points(constant, at, pose, matrix, a, b)
            frames = Frames(
                a=a, b=b, point_a=point_a, point_b=point_b, off=off, r=r, gap=gap, rho=rho
            )  # fmt: skip
            other(plan, constant, pose, matrix, frames, i, g, G)
    if plan[group + MIX] > 0:
        recombine(plan, constant, group, g, G)
    if plan[group + EQUATION] != row:
        couple(
            constant[plan[ROW_CONSTANT_AT] + row * ROW_SIZE + PERIOD],
            plan[group + EQUATION],
            row,
            g,
        )


@kernel
def evaluate(
    # Tables:
    plan,
    constant,
    first,
    last,
    # In:
    pose,
    matrix,
    # Out:
    g,
    G,
):  # fmt: skip
    """g_i(z) of the rows of groups ``first`` to ``last``, and their Jacobians G."""
    groups, group_constants = plan[GROUP_AT], plan[GROUP_CONSTANT_AT]
    row_constants = plan[ROW_CONSTANT_AT]
    for k in range(first, last):
        group, at = natural(groups + k * GROUP_FIELDS), natural(group_constants + k * GROUP_SIZE)
        if plan[group + PINNED] == 0:
            rows_of_any(plan, constant, k, pose, matrix, g, G)
            continue
        a, b = natural(plan[group + A]), natural(plan[group + B])
        row, rows = natural(plan[group + FIRST_ROW]), plan[group + N_ROWS]
        point_a, point_b, _, gap = points(constant, at, pose, matrix, a, b)
        pin(matrix, a, b, point_a, point_b, gap, row, g, G)
        if rows == 3:
            continue
        turns, off = plan[group + TURNS], load4(constant, at + OFFSET)
        rho = relative(pose, POSE * a + 3, POSE * b + 3, off, turns)
        c = natural(row_constants + (row + 3) * ROW_SIZE)
        for i in range(row + 3, row + rows):
            held_axis(constant, c, rho, off, turns == ALIGNED, i, g, G)
            c += ROW_SIZE
