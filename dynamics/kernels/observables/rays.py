"""Distances along rays to the surfaces of shapes.

A line meets a convex solid in an interval, its *span* (near, far), and an empty one has near > far.
What a ray meets first is near, or far if it begins inside.
"""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.quaternion import dot, load3, load4, multiply, rotate, rotate_back
from dynamics.kernels.observables.sensing import added, pose_of

#: Kinds of shapes; solids of revolution lie along z, half-spaces below it.
HALF_SPACE, BOX, ELLIPSOID, CYLINDER, CAPSULE, TRIANGLES = range(6)
#: Columns of a shape's integers and numbers. Sizes are half-axes, or a radius and half a length.
BODY, KIND, FIRST, LAST = range(4)
POSITION, ORIENTATION, SIZE, REACH = 0, 3, 7, 10
#: Rounding of squared distances, relative.
ROUNDING = 1e-9


@kernel
def slab(o, d, half):
    """Span of -half <= o + t d <= half."""
    if d == 0.0:
        return (-math.inf, math.inf) if abs(o) <= half else (math.inf, -math.inf)
    one, two = (-half - o) / d, (half - o) / d
    return min(one, two), max(one, two)


@kernel
def ball(o, d, radius):
    """Span of |o + t d| <= radius; no digits are lost far away."""
    a = dot(d, d)
    if a == 0.0:
        return (-math.inf, math.inf) if dot(o, o) <= radius * radius else (math.inf, -math.inf)
    middle = -dot(o, d) / a
    nearest = added(o, middle, d)
    square = (radius * radius - dot(nearest, nearest)) / a
    if square < 0.0:
        return math.inf, -math.inf
    root = math.sqrt(square)
    return middle - root, middle + root


@kernel
def both(p, q):
    """Intersection of two spans."""
    return max(p[0], q[0]), min(p[1], q[1])


@kernel
def hull(p, q):
    """Span that holds both, one of which may be empty."""
    return min(p[0], q[0]), max(p[1], q[1])


@kernel
def round_span(o, d, radius, half, capped):
    """Span of a cylinder, or of a capsule."""
    side = ball((o[0], o[1], 0.0), (d[0], d[1], 0.0), radius)
    span = both(side, slab(o[2], d[2], half))
    if capped:
        if span[0] > span[1]:
            span = math.inf, -math.inf
        span = hull(span, ball((o[0], o[1], o[2] - half), d, radius))
        span = hull(span, ball((o[0], o[1], o[2] + half), d, radius))
    return span


@kernel
def span_of(kind, numbers, o, d):
    """Span of a solid but a half-space, in its frame."""
    x, y, z = load3(numbers, SIZE)
    if kind == BOX:
        across = both(slab(o[0], d[0], x), slab(o[1], d[1], y))
        return both(across, slab(o[2], d[2], z))
    if kind == ELLIPSOID:
        return ball((o[0] / x, o[1] / y, o[2] / z), (d[0] / x, d[1] / y, d[2] / z), 1.0)
    return round_span(o, d, x, y, kind == CAPSULE)


@kernel
def to_triangles(triangles, first, last, o, d):
    """Distance to triangles (Moeller and Trumbore 1997), seen from both sides."""
    found = math.inf
    for i in range(first, last):
        a = load3(triangles[i], 0)
        u, v = added(load3(triangles[i], 3), -1.0, a), added(load3(triangles[i], 6), -1.0, a)
        across = d[1] * v[2] - d[2] * v[1], d[2] * v[0] - d[0] * v[2], d[0] * v[1] - d[1] * v[0]
        volume = dot(u, across)
        if volume == 0.0:
            continue
        arm = added(o, -1.0, a)
        one = dot(arm, across) / volume
        normal = (
            arm[1] * u[2] - arm[2] * u[1],
            arm[2] * u[0] - arm[0] * u[2],
            arm[0] * u[1] - arm[1] * u[0],
        )
        two, t = dot(normal, d) / volume, dot(v, normal) / volume
        if one >= 0.0 and two >= 0.0 and one + two <= 1.0 and 0.0 <= t < found:
            found = t
    return found


@kernel
def surface_distance(kind, numbers, first, last, triangles, o, d):
    """Distance to the first point of a surface, in the shape's frame; inf where there is none."""
    if kind == TRIANGLES:
        return to_triangles(triangles, first, last, o, d)
    if kind == HALF_SPACE:
        t = -o[2] / d[2] if d[2] != 0.0 else math.inf
        return t if t >= 0.0 else math.inf
    near, far = span_of(kind, numbers, o, d)
    if near > far or far < 0.0:
        return math.inf
    return near if near >= 0.0 else far


@kernel
def cast(
    # Tables:
    table,
    numbers,
    triangles,
    # In:
    states,
    body,
    point,
    orientation,
    directions,
    # Out:
    out,
):  # fmt: skip
    """out[k, j] <- distance along ray j of a place to what is first in its way, inf for nothing."""
    arm, turned = load3(point, 0), load4(orientation, 0)
    for k in range(states.shape[0]):
        x, q = pose_of(states[k], body)
        origin, q = added(x, 1.0, rotate(q, arm)), multiply(q, turned)
        for j in range(directions.shape[0]):
            out[k, j] = math.inf
        for i in range(table.shape[0]):
            owner, kind = table[i, BODY], table[i, KIND]
            x, r = pose_of(states[k], owner)
            center = added(x, 1.0, rotate(r, load3(numbers[i], POSITION)))
            r = multiply(r, load4(numbers[i], ORIENTATION))
            way, reach = added(center, -1.0, origin), numbers[i, REACH]
            square = dot(way, way)
            o = rotate_back(r, (-way[0], -way[1], -way[2]))
            for j in range(directions.shape[0]):
                d = rotate(q, load3(directions[j], 0))
                along = max(0.0, dot(way, d))
                if square - along * along > (1.0 + ROUNDING) * reach * reach + ROUNDING * square:
                    continue
                t = surface_distance(
                    kind, numbers[i], table[i, FIRST], table[i, LAST], triangles, o,
                    rotate_back(r, d),
                )  # fmt: skip
                out[k, j] = min(out[k, j], t)
