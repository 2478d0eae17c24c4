"""Lengths of tendons around spheres and cylinders, and over pulleys: theory/joints (18).

A tendon runs from a point p to a point q of two bodies around a geom of a third one, the shortest
way or that of the path by the side, a point of the user. The path is straight, an arc (on a
cylinder a helix), and straight again. It is stationary in the tangent points, so that the slopes of
its length with respect to p and q are the unit tangents at these ends; those of the geom's body
follow from rigid motions of all, which keep the length.

The first group of a pair (`WRAP`) has the bodies of p and of the geom. The second one (`WRAPPED`),
next to it, has that of q, with slopes alone, in a ring with the first one; if that body is one of
the first group's, all slopes are there, and the second group only holds q. A geom of radius 0 is
none: the path is straight.
"""

import math

from dynamics.kernels.base.jit import kernel, lazy, natural
from dynamics.kernels.base.layout import (
    AXIS,
    FIRST_ROW,
    GROUP_AT,
    GROUP_CONSTANT_AT,
    GROUP_FIELDS,
    GROUP_SIZE,
    KIND,
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
    A,
    B,
)
from dynamics.kernels.base.quaternion import conjugate, cross, dot, load3, load4, multiply, rotate

WRAP, WRAPPED = -1, -2  # negative: kinds that no other code looks at
CYLINDER = 1.0  # what is wrapped; spheres are 0
NO_SIDE, OUTSIDE, INSIDE = 0.0, 1.0, -1.0
#: Sine of the angle between two radii below which they span no plane.
PARALLEL = 1e-14
#: Steps of the angle of a path through a ring; each at least halves its bracket, every other time.
STEPS = 60


@kernel
def turned(x, y, cosine, sine):
    """(x, y) turned by an angle."""
    return cosine * x - sine * y, sine * x + cosine * y


@kernel
def angle_from(a, b):
    """Angle of the plane from one direction to another, within half a turn."""
    return math.atan2(a[0] * b[1] - a[1] * b[0], a[0] * b[0] + a[1] * b[1])


@kernel
def around(p, q, r, side, sided):
    """Path around a circle of the plane: (length, slopes by p and q); length < 0: straight.

    The shortest one that turns about the centre as from p straight to q, or by the side to q.
    """
    none = (-1.0, 0.0, 0.0, 0.0, 0.0)
    pp, qq = p[0] * p[0] + p[1] * p[1], q[0] * q[0] + q[1] * q[1]
    if pp < r * r or qq < r * r:
        return none
    angle = angle_from(p, q)
    if sided and (side[0] != 0.0 or side[1] != 0.0):
        angle = angle_from(p, side) + angle_from(side, q)
    at_p, at_q = math.sqrt(pp - r * r), math.sqrt(qq - r * r)
    arc = abs(angle) - math.atan2(at_p, r) - math.atan2(at_q, r)
    if arc <= 0.0:
        return none
    way = math.copysign(1.0, angle)  # counterclockwise from p to q, or clockwise
    tx, ty = turned(p[0], p[1], r * r / pp, way * r * at_p / pp)
    sx, sy = turned(q[0], q[1], r * r / qq, -way * r * at_q / qq)
    ux, uy = turned(-ty / r, tx / r, -way, 0.0)  # away from the way that the arc goes
    vx, vy = turned(-sy / r, sx / r, way, 0.0)
    return at_p + r * arc + at_q, ux, uy, vx, vy


@kernel
def through(p, q, r):
    """Path that meets a ring of the plane from outside: (length, slopes); < 0: straight."""
    none = (-1.0, 0.0, 0.0, 0.0, 0.0)
    pp, qq = math.sqrt(p[0] * p[0] + p[1] * p[1]), math.sqrt(q[0] * q[0] + q[1] * q[1])
    dx, dy = q[0] - p[0], q[1] - p[1]
    long = dx * dx + dy * dy
    if pp <= r or qq <= r or long == 0.0:
        return none
    part = -(p[0] * dx + p[1] * dy) / long
    if 0.0 < part < 1.0:
        nx, ny = p[0] + part * dx, p[1] + part * dy
        if nx * nx + ny * ny <= r * r:
            return none
    whole = math.atan2(p[0] * q[1] - p[1] * q[0], p[0] * q[0] + p[1] * q[1])
    low, high = min(0.0, whole), max(0.0, whole)
    phi = 0.5 * whole
    for k in range(STEPS):  # slope of the length by the angle from p: Newton's method, safeguarded
        a, b = phi, phi - whole
        da = math.sqrt(pp * pp + r * r - 2.0 * pp * r * math.cos(a))
        db = math.sqrt(qq * qq + r * r - 2.0 * qq * r * math.cos(b))
        sa, sb = r * pp * math.sin(a) / da, r * qq * math.sin(b) / db
        slope = sa + sb
        if slope > 0.0:
            high = phi
        else:
            low = phi
        bend = (r * pp * math.cos(a) - sa * sa) / da + (r * qq * math.cos(b) - sb * sb) / db
        after = phi - slope / bend if bend > 0.0 else high + 1.0
        if after <= low or after >= high or k % 8 == 7:
            after = 0.5 * (low + high)
        if abs(after - phi) < 1e-16:
            break
        phi = after
    tx, ty = turned(p[0] * r / pp, p[1] * r / pp, math.cos(phi), math.sin(phi))
    ux, uy, vx, vy = p[0] - tx, p[1] - ty, q[0] - tx, q[1] - ty
    a, b = math.sqrt(ux * ux + uy * uy), math.sqrt(vx * vx + vy * vy)
    return a + b, ux / a, uy / a, vx / b, vy / b


@kernel
def plane_of(p, q):
    """Two axes of the plane of p and q, the first along p."""
    length = math.sqrt(dot(p, p))
    if length == 0.0:
        return (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    e = (p[0] / length, p[1] / length, p[2] / length)
    normal = cross(e, q)
    size = math.sqrt(dot(normal, normal))
    if size <= PARALLEL * math.sqrt(dot(q, q)):  # any plane: that of the least coordinate's axis
        x, y, z = abs(e[0]), abs(e[1]), abs(e[2])
        axis = (1.0, 0.0, 0.0)
        if y <= x and y <= z:
            axis = (0.0, 1.0, 0.0)
        elif z <= x and z <= y:
            axis = (0.0, 0.0, 1.0)
        normal = cross(e, axis)
        size = math.sqrt(dot(normal, normal))
    return e, cross((normal[0] / size, normal[1] / size, normal[2] / size), e)


@kernel
def path(p, q, r, shape, side, sided):
    """Length of a path in a geom's frame, and its slopes by p and q."""
    d = (p[0] - q[0], p[1] - q[1], p[2] - q[2])
    length = math.sqrt(dot(d, d))
    u = (0.0, 0.0, 1.0)
    if length > 0.0:
        u = (d[0] / length, d[1] / length, d[2] / length)
    v = (-u[0], -u[1], -u[2])
    if r <= 0.0:
        return length, u, v
    e, f = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    if shape != CYLINDER:
        e, f = plane_of(p, q)
    flat_p, flat_q = (dot(p, e), dot(p, f)), (dot(q, e), dot(q, f))
    if sided == INSIDE:
        flat, a, b, c, w = through(flat_p, flat_q, r)
    else:
        seen = (dot(side, e), dot(side, f))
        flat, a, b, c, w = around(flat_p, flat_q, r, seen, sided != NO_SIDE)
    if flat < 0.0:
        return length, u, v
    u = (a * e[0] + b * f[0], a * e[1] + b * f[1], a * e[2] + b * f[2])
    v = (c * e[0] + w * f[0], c * e[1] + w * f[1], c * e[2] + w * f[2])
    if shape == CYLINDER:
        length = math.sqrt(flat * flat + d[2] * d[2])
        part, rise = flat / length, d[2] / length
        return length, (part * u[0], part * u[1], rise), (part * v[0], part * v[1], -rise)
    return flat, u, v


@lazy("None")
def wrap(plan, constant, k, pose, g, row, G, at):
    """g[row], G[at:at + 12] <- row of group k, one of the two of a path around a geom."""
    groups, constants = plan[GROUP_AT], plan[GROUP_CONSTANT_AT]
    kind = plan[plan[ROW_AT] + plan[groups + k * GROUP_FIELDS + FIRST_ROW] * ROW_FIELDS + KIND]
    first, last = k, k + 1
    if kind == WRAPPED:
        first, last = k - 1, k
        g[row] = 0.0
        if plan[groups + k * GROUP_FIELDS + NEXT] == k:
            for j in range(12):
                G[at + j] = 0.0
            return
    head, tail = natural(groups + first * GROUP_FIELDS), natural(groups + last * GROUP_FIELDS)
    c, e = natural(constants + first * GROUP_SIZE), natural(constants + last * GROUP_SIZE)
    numbers = natural(plan[ROW_CONSTANT_AT] + plan[head + FIRST_ROW] * ROW_SIZE)
    a, s, b = natural(plan[head + A]), natural(plan[head + B]), natural(plan[tail + B])
    qa, qs, qb = load4(pose, POSE * a + 3), load4(pose, POSE * s + 3), load4(pose, POSE * b + 3)
    xs, center = load3(pose, POSE * s), rotate(qs, load3(constant, c + POINT_B))
    point_p, point_q = load3(constant, c + POINT_A), load3(constant, e + POINT_B)
    p, q = rotate(qa, point_p), rotate(qb, point_q)
    arm_p = (  # from the centre of mass of the geom's body
        pose[POSE * a] + p[0] - xs[0],
        pose[POSE * a + 1] + p[1] - xs[1],
        pose[POSE * a + 2] + p[2] - xs[2],
    )
    arm_q = (
        pose[POSE * b] + q[0] - xs[0],
        pose[POSE * b + 1] + q[1] - xs[1],
        pose[POSE * b + 2] + q[2] - xs[2],
    )
    turn = multiply(qs, load4(constant, c + OFFSET))
    back = conjugate(turn)
    factor, shape = constant[numbers + SECOND], constant[numbers + SECOND + 1]
    length, u, v = path(
        rotate(back, (arm_p[0] - center[0], arm_p[1] - center[1], arm_p[2] - center[2])),
        rotate(back, (arm_q[0] - center[0], arm_q[1] - center[1], arm_q[2] - center[2])),
        constant[numbers + PITCH], shape, load3(constant, numbers + AXIS),
        constant[numbers + SECOND + 2],
    )  # fmt: skip
    u, v = rotate(turn, u), rotate(turn, v)
    u = (factor * u[0], factor * u[1], factor * u[2])
    v = (factor * v[0], factor * v[1], factor * v[2])
    q_turn = cross(point_q, rotate(conjugate(qb), v))
    if kind == WRAPPED:
        for j in range(6):
            G[at + j] = 0.0
        G[at + 6], G[at + 7], G[at + 8] = v
        G[at + 9], G[at + 10], G[at + 11] = q_turn
        return
    g[row] = factor * length
    on_p = cross(point_p, rotate(conjugate(qa), u))
    one, two = cross(arm_p, u), cross(arm_q, v)
    on_geom = rotate(
        conjugate(qs), (-one[0] - two[0], -one[1] - two[1], -one[2] - two[2])
    )  # fmt: skip
    G[at], G[at + 1], G[at + 2] = u
    G[at + 3], G[at + 4], G[at + 5] = on_p
    G[at + 6], G[at + 7], G[at + 8] = -u[0] - v[0], -u[1] - v[1], -u[2] - v[2]
    G[at + 9], G[at + 10], G[at + 11] = on_geom
    to = at if b == a else at + 6
    if b == a or b == s:
        for j in range(3):
            G[to + j] += v[j]
            G[to + 3 + j] += q_turn[j]
