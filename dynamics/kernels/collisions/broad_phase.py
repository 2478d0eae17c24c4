"""Broad phase: pairs of shapes whose bounds are near, and whether bodies have left theirs.

Every body has an *allowance*, a way that it may travel until the near pairs are found again. A pair
is near if its bounds are closer than the allowances of both bodies, so that no other pair can touch
before one of its bodies has used up its own (Verlet's neighbour list [1]).

[1] L. Verlet, Computer experiments on classical fluids, Physical Review 159, 1967.
"""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import POSE, TWIST
from dynamics.kernels.base.quaternion import cross, dot, load3, load4, rotate

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
def near_pairs(shapes, sizes, pairs, n, state, allowance, placed, found):
    """found <- numbers of the pairs that are near; how many.

    ``allowance`` has one number per body.
    """
    place_shapes(shapes, sizes, n, state, placed)
    count = 0
    for k in range(pairs.shape[0]):
        i, j = pairs[k, 0], pairs[k, 1]
        a, b = shapes[i, BODY], shapes[j, BODY]
        enough = (allowance[a] if a < n else 0.0) + (allowance[b] if b < n else 0.0)
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
def speed_of(bodies, i, reach, state):
    """Largest speed of a point of body i in the last interval, of a state of so many bodies."""
    at = (POSE + TWIST) * bodies + TWIST * i
    v, omega = load3(state, at), load3(state, at + 3)
    return math.sqrt(dot(v, v)) + reach[i] * math.sqrt(dot(omega, omega))


@kernel
def give_allowances(bodies, h, steps, part, reach, extent, state, ways, allowance):
    """allowance <- a part of each body's extent, and its way in some steps at its present speed.

    At least twice the ``ways`` in which bodies used up theirs in a step that was taken back.
    """
    for i in range(reach.size):
        way = part * extent[i] + steps * h * speed_of(bodies, i, reach, state)
        allowance[i] = max(way, 2.0 * ways[i])


@kernel
def way_of(i, reach, start, pose):
    """Distance that points of body i have travelled from their start, at least as large.

    A turn by a moves no point by more than 4 reach sin(a / 4).
    """
    x, q = load3(pose, POSE * i), load4(pose, POSE * i + 3)
    y, r = load3(start, POSE * i), load4(start, POSE * i + 3)
    d = (x[0] - y[0], x[1] - y[1], x[2] - y[2])
    minus = plus = 0.0
    for j in range(4):
        minus += (q[j] - r[j]) * (q[j] - r[j])
        plus += (q[j] + r[j]) * (q[j] + r[j])
    return math.sqrt(dot(d, d)) + 2.0 * reach[i] * math.sqrt(min(minus, plus))


@kernel
def used_up(start, reach, allowance, pose, ways):
    """Whether a body has used up its allowance since ``start``; ways <- the ways of those."""
    found = False
    for i in range(reach.size):
        way = way_of(i, reach, start, pose)
        if way > allowance[i]:
            ways[i], found = max(ways[i], way), True
    return found


@kernel
def runs_out(bodies, h, start, reach, allowance, state):
    """Whether a body would use up its allowance in the next step at its present speed."""
    for i in range(reach.size):
        way = way_of(i, reach, start, state) + h * speed_of(bodies, i, reach, state)
        if way > allowance[i]:
            return True
    return False
