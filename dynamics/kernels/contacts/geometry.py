"""Gaps between shapes: distance, normal from a to b, and the points of both that are nearest.

All lengths in m; normals and arms (from the centres of mass to the points) in the world's frame.
The gradient of a distance is the normal at the nearest points, so no shape needs more than these.
"""

import math

from dynamics.kernels.base.callback import call_three
from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import (
    ARM_A_AT,
    ARM_B_AT,
    CONTACT_A,
    CONTACT_B,
    CONTACT_CALLBACK,
    CONTACT_KIND,
    DISTANCE_AT,
    FRAME_A,
    NORMAL_AT,
    POSE,
    RADIUS_A,
    RADIUS_B,
    SECOND_A,
    SECOND_B,
    A,
    B,
)
from dynamics.kernels.base.quaternion import dot, load3, load4, multiply_matrix, rotate, rotate_back

PLANE_SPHERE = 0  # half-space of a, sphere (or point) of b
SPHERE_SPHERE = 1
SEGMENT_SPHERE = 2  # capsule of a, sphere of b
SEGMENT_SEGMENT = 3  # capsules
BOX_SPHERE = 4  # box of a, sphere of b
PLANE_RIM = 5  # half-space of a, lowest point of b's cylinder rim
LIMITED = 6  # row of a joint's coordinate
DRY_FRICTION = 8  # dry friction of a row
USER_GAP = 7

#: Distances below this have no direction, m.
TINY = 1e-12
#: Part of its radius by which the end of a cylinder is rounder than its rim, where it tilts. With
#: 1e-5 of it, planes that meet an end flat do not settle (docs/theory/contacts.md).
ROUND = 1e-3


@kernel
def along(a, b, t):
    """a + t (b - a)."""
    return a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), a[2] + t * (b[2] - a[2])


@kernel
def subtract3(a, b):
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def clamped(t):
    """t within [0, 1]."""
    return min(1.0, max(0.0, t))


@kernel
def nearest_on_segment(a, b, p):
    """Parameter of the point of segment ab nearest to p."""
    d = subtract3(b, a)
    length = dot(d, d)
    if length < TINY * TINY:
        return 0.0
    return clamped(dot(subtract3(p, a), d) / length)


@kernel
def nearest_of_segments(a, b, c, d, reach):
    """Parameters of the nearest points of segments ab and cd, and what counts as more distance^2.

    That is ROUND reach^2 times the squares of how far they are from the middles, as parameters:
    without it, the nearest points of segments that are almost parallel jump from end to end.
    """
    u, v, w = subtract3(b, a), subtract3(d, c), subtract3(a, c)
    uv, middle = dot(u, v), ROUND * reach * reach
    uu, vv = dot(u, u) + middle, dot(v, v) + middle
    one, two = 0.5 * middle - dot(u, w), 0.5 * middle + dot(v, w)
    s = clamped((vv * one + uv * two) / (uu * vv - uv * uv))
    t = clamped((two + uv * s) / vv)
    if t == 0.0 or t == 1.0:
        s = clamped((one + uv * t) / uu)
    return s, t, middle * ((s - 0.5) * (s - 0.5) + (t - 0.5) * (t - 0.5))


@kernel
def unit_vector(d, length, otherwise):
    """d / length, or another unit vector where d has none."""
    if length < TINY:
        return otherwise
    return d[0] / length, d[1] / length, d[2] / length


@kernel
def box_nearest(p, half):
    """Distance (negative inside), outward normal and nearest surface point of a box, its frame."""
    q = (
        min(half[0], max(-half[0], p[0])),
        min(half[1], max(-half[1], p[1])),
        min(half[2], max(-half[2], p[2])),
    )
    d = subtract3(p, q)
    length = math.sqrt(dot(d, d))
    if length > TINY:
        return length, unit_vector(d, length, d), q
    x, y, z = half[0] - abs(p[0]), half[1] - abs(p[1]), half[2] - abs(p[2])
    if x <= y and x <= z:
        sign = math.copysign(1.0, p[0])
        return -x, (sign, 0.0, 0.0), (sign * half[0], p[1], p[2])
    if y <= z:
        sign = math.copysign(1.0, p[1])
        return -y, (0.0, sign, 0.0), (p[0], sign * half[1], p[2])
    sign = math.copysign(1.0, p[2])
    return -z, (0.0, 0.0, sign), (p[0], p[1], sign * half[2])


@kernel
def rim(axis, normal, radius):
    """Reach of the end of a cylinder against n, and the arm to its lowest point there.

    That of a rim is r d, d the sine of its tilt, whose arm turns with any tilt of a cylinder that
    stands. With w = 1 - d^2 the end bulges to r sqrt(d^2 + (ROUND w)^2) - r ROUND w^2 instead,
    the same where it stands and where it rolls, and ROUND r inside elsewhere; the arm is its slope.
    """
    side = dot(axis, normal)
    w = side * side
    down = (side * axis[0] - normal[0], side * axis[1] - normal[1], side * axis[2] - normal[2])
    length = math.sqrt(dot(down, down) + ROUND * ROUND * w * w)
    arm = radius * ((1.0 - 2.0 * ROUND * ROUND * w) / length + 4.0 * ROUND * w)
    reach = radius * (length - ROUND * w * w)
    return reach, (arm * down[0], arm * down[1], arm * down[2])


@kernel
def gap(plan, constant, at, c, pose, matrix, out):
    """out <- (distance, normal, arm on a, arm on b) of one contact; not 0 where a user's fails."""
    a, b, kind = plan[at + A], plan[at + B], plan[at + CONTACT_KIND]
    if kind == USER_GAP:
        return call_three(plan[at + CONTACT_CALLBACK], pose, POSE * a, pose, POSE * b, out, 0)
    xa, xb = load3(pose, POSE * a), load3(pose, POSE * b)
    pa = multiply_matrix(matrix, 9 * a, load3(constant, c + CONTACT_A))
    pb = multiply_matrix(matrix, 9 * b, load3(constant, c + CONTACT_B))
    ra, rb = constant[c + RADIUS_A], constant[c + RADIUS_B]
    between = (xb[0] + pb[0] - xa[0], xb[1] + pb[1] - xa[1], xb[2] + pb[2] - xa[2])
    if kind == PLANE_SPHERE or kind == PLANE_RIM:
        n = multiply_matrix(matrix, 9 * a, load3(constant, c + SECOND_A))
        if kind == PLANE_RIM:
            axis = multiply_matrix(matrix, 9 * b, load3(constant, c + SECOND_B))
            reach, arm = rim(axis, n, rb)
            distance = dot(n, subtract3(between, pa)) - reach
            pb = (pb[0] + arm[0], pb[1] + arm[1], pb[2] + arm[2])
        else:
            distance = dot(n, subtract3(between, pa)) - rb
            pb = (pb[0] - rb * n[0], pb[1] - rb * n[1], pb[2] - rb * n[2])
        end = subtract3(xb, xa)
        pa = (
            end[0] + pb[0] - distance * n[0],
            end[1] + pb[1] - distance * n[1],
            end[2] + pb[2] - distance * n[2],
        )
    elif kind == BOX_SPHERE:
        frame = load4(constant, c + FRAME_A)
        q = load4(pose, POSE * a + 3)
        local = rotate_back(frame, rotate_back(q, subtract3(between, pa)))
        distance, n, point = box_nearest(local, load3(constant, c + SECOND_A))
        n = rotate(q, rotate(frame, n))
        point = rotate(q, rotate(frame, point))
        distance -= rb
        pa = (pa[0] + point[0], pa[1] + point[1], pa[2] + point[2])
        pb = (pb[0] - rb * n[0], pb[1] - rb * n[1], pb[2] - rb * n[2])
    else:
        more = 0.0
        if kind == SEGMENT_SPHERE:
            qa = multiply_matrix(matrix, 9 * a, load3(constant, c + SECOND_A))
            pa = along(pa, qa, nearest_on_segment(pa, qa, between))
        elif kind == SEGMENT_SEGMENT:
            qa = multiply_matrix(matrix, 9 * a, load3(constant, c + SECOND_A))
            qb = multiply_matrix(matrix, 9 * b, load3(constant, c + SECOND_B))
            end = (xb[0] + qb[0] - xa[0], xb[1] + qb[1] - xa[1], xb[2] + qb[2] - xa[2])
            s, t, more = nearest_of_segments(pa, qa, between, end, ra + rb)
            pa, pb = along(pa, qa, s), along(pb, qb, t)
            between = (xb[0] + pb[0] - xa[0], xb[1] + pb[1] - xa[1], xb[2] + pb[2] - xa[2])
        d = subtract3(between, pa)
        length = math.sqrt(dot(d, d))
        n = unit_vector(d, length, (0.0, 0.0, 1.0))
        distance = math.sqrt(length * length + more) - ra - rb
        pa = (pa[0] + ra * n[0], pa[1] + ra * n[1], pa[2] + ra * n[2])
        pb = (pb[0] - rb * n[0], pb[1] - rb * n[1], pb[2] - rb * n[2])
    out[DISTANCE_AT] = distance
    out[NORMAL_AT], out[NORMAL_AT + 1], out[NORMAL_AT + 2] = n
    out[ARM_A_AT], out[ARM_A_AT + 1], out[ARM_A_AT + 2] = pa
    out[ARM_B_AT], out[ARM_B_AT + 1], out[ARM_B_AT + 2] = pb
    return 0
