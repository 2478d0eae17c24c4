"""Direction that separates two convex shapes: the algorithm of Gilbert, Johnson and Keerthi [1].

The point of the difference of both shapes that is nearest to the origin is found from support
points. The normal of the plane between the shapes is along it.

[1] E. G. Gilbert, D. W. Johnson, S. S. Keerthi, A fast procedure for computing the distance between
complex objects in three-dimensional space, IEEE Journal of Robotics and Automation 4, 1988.
"""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import POSE
from dynamics.kernels.base.quaternion import cross, dot, load3, load4, rotate, rotate_back
from dynamics.kernels.collisions.broad_phase import BODY

# One convex shape in its table of numbers: hull of points, rounded by a radius, and discs
AXIS = 0  # (3,): of the discs, which have their centres in the points, body frame
RIM = 3  # radius of the discs, m; 0 where there are none
ROUND = 4  # radius that rounds the shape, m
CORE_SIZE = 5

#: Support points of one search, and part of the squared distance that the next one has to gain.
MOST, GAIN = 64, 1e-10


@kernel
def support(points, first, last, core, x, q, way):
    """Farthest point of a shape without its rounding along a direction of the world."""
    local = rotate_back(q, way)
    best, far = first, -math.inf
    for k in range(first, last):
        along = dot(load3(points[k], 0), local)
        if along > far:
            best, far = k, along
    point = load3(points[best], 0)
    if core[RIM] > 0.0:
        axis = load3(core, AXIS)
        part = dot(axis, local)
        across = (
            local[0] - part * axis[0], local[1] - part * axis[1], local[2] - part * axis[2],
        )  # fmt: skip
        length = math.sqrt(dot(across, across))
        if length > 0.0:
            s = core[RIM] / length
            point = (
                point[0] + s * across[0], point[1] + s * across[1], point[2] + s * across[2],
            )  # fmt: skip
    turned = rotate(q, point)
    return x[0] + turned[0], x[1] + turned[1], x[2] + turned[2]


@kernel
def minus3(a, b):
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def mix(a, b, c, s, t, u):
    """S a + t b + u c."""
    return (
        s * a[0] + t * b[0] + u * c[0],
        s * a[1] + t * b[1] + u * c[1],
        s * a[2] + t * b[2] + u * c[2],
    )


@kernel
def nearest_on_triangle(a, b, c):
    """Point of a triangle nearest to the origin, and which corners it needs, as bits.

    C. Ericson, Real-time collision detection, 2004, sec. 5.1.5.
    """
    ab, ac = minus3(b, a), minus3(c, a)
    d1, d2 = -dot(ab, a), -dot(ac, a)
    if d1 <= 0.0 and d2 <= 0.0:
        return a, 1
    d3, d4 = -dot(ab, b), -dot(ac, b)
    if d3 >= 0.0 and d4 <= d3:
        return b, 2
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        t = d1 / (d1 - d3) if d1 > d3 else 0.0
        return mix(a, ab, ab, 1.0, t, 0.0), 3
    d5, d6 = -dot(ab, c), -dot(ac, c)
    if d6 >= 0.0 and d5 <= d6:
        return c, 4
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        t = d2 / (d2 - d6) if d2 > d6 else 0.0
        return mix(a, ac, ac, 1.0, t, 0.0), 5
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        total = (d4 - d3) + (d5 - d6)
        t = (d4 - d3) / total if total > 0.0 else 0.0
        return mix(b, minus3(c, b), ab, 1.0, t, 0.0), 6
    normal = cross(ab, ac)
    square = dot(normal, normal)
    if not square > 0.0:
        return a, 1
    # along the normal: a sum of corners would be as far as its rounding from it, which turns the
    # normal of shapes that are 1e-9 of their size apart
    part = dot(normal, a) / square
    return (part * normal[0], part * normal[1], part * normal[2]), 7


@kernel
def beyond(a, b, c, d):
    """Whether a face abc of a tetrahedron abcd has the origin on its outer side."""
    normal = cross(minus3(b, a), minus3(c, a))
    return dot(normal, a) * dot(normal, minus3(d, a)) > 0.0


@kernel
def separate(points, starts, cores, bodies, i, j, n, state, out):
    """out <- (normal from shape i to j, where i ends and j begins along it); whether it is found.

    The two overlap, or nearly, if not.
    """
    x = y = (0.0, 0.0, 0.0)
    q = r = (1.0, 0.0, 0.0, 0.0)
    if bodies[i, BODY] < n:
        x, q = load3(state, POSE * bodies[i, BODY]), load4(state, POSE * bodies[i, BODY] + 3)
    if bodies[j, BODY] < n:
        y, r = load3(state, POSE * bodies[j, BODY]), load4(state, POSE * bodies[j, BODY] + 3)
    one, two = cores[i], cores[j]
    v = minus3(
        support(points, starts[j], starts[j + 1], two, y, r, (-1.0, 0.0, 0.0)),
        support(points, starts[i], starts[i + 1], one, x, q, (1.0, 0.0, 0.0)),
    )
    a, b, c = v, v, v
    size = 1
    best, found = -math.inf, False
    for _ in range(MOST):
        square = dot(v, v)
        if square == 0.0:
            break
        length = math.sqrt(square)
        way = (v[0] / length, v[1] / length, v[2] / length)
        back = (-way[0], -way[1], -way[2])
        far = support(points, starts[i], starts[i + 1], one, x, q, way)
        near = support(points, starts[j], starts[j + 1], two, y, r, back)
        low, high = dot(far, way) + one[ROUND], dot(near, way) - two[ROUND]
        if high - low > best:
            best, found = high - low, high > low
            for k in range(3):
                out[k] = way[k]
            out[3], out[4] = low, high
        w = minus3(near, far)
        if square - dot(v, w) <= GAIN * square:
            break
        if size == 1:
            v, kept = nearest_on_triangle(a, w, w)
            b, size = w, 2
            if kept == 1:
                break
            if kept == 2 or kept == 4 or kept == 6:
                a, size = w, 1
            continue
        if size == 2:
            v, kept = nearest_on_triangle(a, b, w)
            c = w
        else:  # the nearest of the faces that have the origin outside
            least, kept, outside = math.inf, 0, False
            p0, p1, p2 = a, b, c
            for face in range(3):
                s0 = a if face < 2 else b
                s1 = b if face == 0 else c
                rest = c if face == 0 else (b if face == 1 else a)
                if beyond(s0, s1, w, rest):
                    point, bits = nearest_on_triangle(s0, s1, w)
                    if dot(point, point) < least:
                        least, kept, outside = dot(point, point), bits, True
                        v, p0, p1, p2 = point, s0, s1, w
            if not outside or least >= square:
                break
            a, b, c = p0, p1, p2
        size = 0
        first, second, third = a, b, c
        if kept & 1:
            size = 1
        if kept & 2:
            if size == 0:
                a = second
            else:
                b = second
            size += 1
        if kept & 4:
            if size == 0:
                a = third
            elif size == 1:
                b = third
            else:
                c = third
            size += 1
        if size == 0:
            a, size = first, 1
    return found
