"""Broad phase: pairs of shapes whose bounds are near, and whether bodies have left theirs.

A body's *path* goes on with its velocity. Its *allowance* is a way by which it may leave that path
until the near pairs are found again, and a horizon bounds the number of steps. A pair is near if its
bounds are closer than both allowances and what their paths close within the horizon, so that no other
pair can touch before a body has used up its allowance (Verlet's neighbour list [1]).

[1] L. Verlet, Computer experiments on classical fluids, Physical Review 159, 1967.
"""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import POSE, TWIST
from dynamics.kernels.base.quaternion import cross, dot, load3, load4, multiply_matrix, rotate

# One shape in its table of integers
BODY = 0  # body, or the number of bodies for the world
HALF_SPACE = 1  # 1 for a half-space, whose centre is a point of its plane
SHAPE_FIELDS = 2
# One shape in its table of numbers
CENTRE = 0  # (3,): of its bounds, body frame, m
HALF = 3  # (3,): half sizes of its bounding box, m; the normal of a half-space
TURN = 6  # (4,): orientation of the box in the body's frame
RADIUS = 10  # of its bounding sphere, m
SHAPE_SIZE = 11
# One shape in the world
PLACED_CENTRE = 0  # (3,)
AXES = 3  # (9,): axes of the box, row by row; the first row is the normal of a half-space
PLACED_SIZE = 12

#: Squared sine of the angle of two edges below which their cross product is no direction.
PARALLEL = 1e-12


@kernel
def place_shapes(shapes, sizes, n, state, placed):
    """Bounds of all shapes in the world."""
    for s in range(shapes.shape[0]):
        body, size, out = shapes[s, BODY], sizes[s], placed[s]
        centre = load3(size, CENTRE)
        x, q = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
        if body < n:
            x, q = load3(state, POSE * body), load4(state, POSE * body + 3)
        moved, turn = rotate(q, centre), load4(size, TURN)
        for i in range(3):
            out[PLACED_CENTRE + i] = x[i] + moved[i]
        if shapes[s, HALF_SPACE] == 1:
            normal = rotate(q, load3(size, HALF))
            for i in range(3):
                out[AXES + i] = normal[i]
            continue
        for k in range(3):
            unit = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
            axis = rotate(q, rotate(turn, unit))
            for i in range(3):
                out[AXES + 3 * k + i] = axis[i]


@kernel
def box_reach(size, out, direction):
    """Half of the extent of a bounding box in a direction."""
    reach = 0.0
    for k in range(3):
        reach += size[HALF + k] * abs(dot(load3(out, AXES + 3 * k), direction))
    return reach


@kernel
def above(size, out, plane):
    """Least distance of a shape from a half-space, at least."""
    normal = load3(plane, AXES)
    x, p = load3(out, PLACED_CENTRE), load3(plane, PLACED_CENTRE)
    height = dot(normal, (x[0] - p[0], x[1] - p[1], x[2] - p[2]))
    return height - min(size[RADIUS], box_reach(size, out, normal))


@kernel
def apart(one, two, size_one, size_two, enough):
    """Least distance of two bounds, at least: of spheres, else of boxes along their 15 axes."""
    a, b = load3(one, PLACED_CENTRE), load3(two, PLACED_CENTRE)
    way = (b[0] - a[0], b[1] - a[1], b[2] - a[2])
    best = math.sqrt(dot(way, way)) - size_one[RADIUS] - size_two[RADIUS]
    if best >= enough:
        return best
    for k in range(6):
        axis = load3(one, AXES + 3 * k) if k < 3 else load3(two, AXES + 3 * (k - 3))
        found = abs(dot(way, axis)) - box_reach(size_one, one, axis)
        best = max(best, found - box_reach(size_two, two, axis))
    if best >= enough:
        return best
    for i in range(3):
        for j in range(3):
            across = cross(load3(one, AXES + 3 * i), load3(two, AXES + 3 * j))
            square = dot(across, across)
            if square < PARALLEL:
                continue
            length = 1.0 / math.sqrt(square)
            axis = (length * across[0], length * across[1], length * across[2])
            found = abs(dot(way, axis)) - box_reach(size_one, one, axis)
            best = max(best, found - box_reach(size_two, two, axis))
    return best


@kernel
def pace(bodies, i, state):
    """Velocity of a body in the last interval, of a state of so many bodies, and |omega|."""
    at = (POSE + TWIST) * bodies + TWIST * i
    omega = load3(state, at + 3)
    return load3(state, at), math.sqrt(dot(omega, omega))


@kernel
def closing(a, b, n, bodies, state):
    """Relative speed of two bodies, of which n is the world."""
    v, w = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if a < n:
        v, _ = pace(bodies, a, state)
    if b < n:
        w, _ = pace(bodies, b, state)
    d = (v[0] - w[0], v[1] - w[1], v[2] - w[2])
    return math.sqrt(dot(d, d))


@kernel
def near_pairs(shapes, sizes, pairs, n, bodies, seconds, state, allowance, placed, found):
    """found <- numbers of the pairs that are near; how many.

    Bodies go on with their velocities for some seconds, and leave that path by at most their
    ``allowance``. The state has more ``bodies`` after the first n.
    """
    place_shapes(shapes, sizes, n, state, placed)
    count = 0
    for k in range(pairs.shape[0]):
        i, j = pairs[k, 0], pairs[k, 1]
        a, b = shapes[i, BODY], shapes[j, BODY]
        enough = (allowance[a] if a < n else 0.0) + (allowance[b] if b < n else 0.0)
        enough += seconds * closing(a, b, n, bodies, state)
        if shapes[i, HALF_SPACE] == 1:
            near = above(sizes[j], placed[j], placed[i]) < enough
        elif shapes[j, HALF_SPACE] == 1:
            near = above(sizes[i], placed[i], placed[j]) < enough
        else:
            near = apart(placed[i], placed[j], sizes[i], sizes[j], enough) < enough
        if near:
            found[count] = k
            count += 1
    return count


@kernel
def horizon(bodies, h, least, most, part, reach, extent, state):
    """Steps in which no body travels farther than a part of its extent, within two bounds."""
    steps = most
    for i in range(reach.size):
        v, spin = pace(bodies, i, state)
        speed = math.sqrt(dot(v, v)) + reach[i] * spin
        if extent[i] > 0.0 and steps * h * speed > part * extent[i]:
            steps = max(least, math.floor(part * extent[i] / (h * speed)))
    return steps


@kernel
def give_allowances(bodies, seconds, part, more, reach, extent, state, ways, allowance):
    """allowance <- a part of each body's extent and ``more``, its turn in some seconds, its way.

    The ways are those by which bodies left their path in a step that is taken again.
    """
    for i in range(reach.size):
        _, spin = pace(bodies, i, state)
        allowance[i] = part * extent[i] + more + seconds * reach[i] * spin
        allowance[i] = max(allowance[i], 2.0 * ways[i])


@kernel
def strayed(reach, x, q, y, r):
    """By how much points of a body with pose (y, r) are off (x, q), at most.

    A turn by a moves no point by more than 4 reach sin(a / 4).
    """
    d = (y[0] - x[0], y[1] - x[1], y[2] - x[2])
    way = math.sqrt(dot(d, d))
    if reach > 0.0:
        minus = plus = 0.0
        for j in range(4):
            minus += (q[j] - r[j]) * (q[j] - r[j])
            plus += (q[j] + r[j]) * (q[j] + r[j])
        way += 2.0 * reach * math.sqrt(min(minus, plus))
    return way


@kernel
def ahead(x, v, seconds):
    """X + seconds v."""
    return x[0] + seconds * v[0], x[1] + seconds * v[1], x[2] + seconds * v[2]


@kernel
def travelled(bodies, h, elapsed, steps, pose, velocity, reach, allowance, state):
    """2 if a body has left its path by more than its allowance, 1 if the next step may, or 0.

    Paths begin at ``pose`` with ``velocity``, ``elapsed`` steps ago, and hold for some steps.
    """
    verdict = 1 if elapsed >= steps else 0
    for i in range(reach.size):
        x = ahead(load3(pose, POSE * i), load3(velocity, 3 * i), elapsed * h)
        y, r = load3(state, POSE * i), load4(state, POSE * i + 3)
        way = strayed(reach[i], x, load4(pose, POSE * i + 3), y, r)
        if way > allowance[i]:
            return 2
        v, spin = pace(bodies, i, state)
        d = ahead(v, load3(velocity, 3 * i), -1.0)
        if way + h * (math.sqrt(dot(d, d)) + reach[i] * spin) > allowance[i]:
            verdict = 1
    return verdict


@kernel
def measure_ways(bodies, h, reach, before, after, ways):
    """ways <- by how much bodies have left their path in the step from one state to another."""
    for i in range(reach.size):
        v, _ = pace(bodies, i, before)
        x = ahead(load3(before, POSE * i), v, h)
        q = load4(before, POSE * i + 3)
        y, r = load3(after, POSE * i), load4(after, POSE * i + 3)
        ways[i] = strayed(reach[i], x, q, y, r)
