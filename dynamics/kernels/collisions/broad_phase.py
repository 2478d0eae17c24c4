"""Broad phase: pairs of shapes whose bounds are near, and whether bodies have left theirs.

Every body has an *allowance*, a way that it may travel until the near pairs are found again. A pair
is near if its bounds are closer than the allowances of both bodies, so that no other pair can touch
before one of its bodies has used up its own (Verlet's neighbour list [1]).

Pairs of convex shapes are found by a hierarchical hash grid [2]: a shape is in the cell of its
centre, in a grid whose cells are as large as its sphere with its allowance, up to a factor of two.
It is tested against the shapes in neighbouring cells of its own grid and of coarser ones, so that
the cost is linear in shapes and near pairs. Half-spaces are tested against all their partners.

[1] L. Verlet, Computer experiments on classical fluids, Physical Review 159, 1967.
[2] C. Ericson, Real-time collision detection, 2004, sec. 7.2.
"""

import math
from typing import Any, NamedTuple

from dynamics.kernels.base.jit import inlined, kernel, record
from dynamics.kernels.base.layout import POSE, TWIST
from dynamics.kernels.base.quaternion import dot, load3, load4, rotate

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

#: Grids: cells of each are twice as large as those of the one before. The last one's hold the
#: largest shape; those 1e14 times smaller share the first one.
LEVELS = 48
# Where a convex shape is
LEVEL = 0  # its grid
CELL = 1  # (3,): its cell there
CELL_FIELDS = 4
#: Radius of what is larger or no number, m, and cells from the origin beyond which all are one: a
#: search ends for any state.
LARGEST, FAR = 1e30, 2.0**52
#: Part of a cell by which the range of neighbours is extended against rounding.
SLACK = 1e-6

# Places of `Grid.counts`
FOUND = 0  # pairs that are near
TESTED = 1  # pairs of shapes that were looked at
COUNTS = 2


@record
class Shapes(NamedTuple):
    """S shapes of n bodies and the P pairs of them that may touch."""

    shapes: Any  # (S, SHAPE_FIELDS): see above
    sizes: Any  # (S, SHAPE_SIZE): see above
    pairs: Any  # (P, 2): shapes
    partner_start: Any  # (S + 1,): partners of a shape, both convex, with higher numbers
    partner: Any  # (Q,): ascending within a shape
    number: Any  # (Q,): of the pair with this partner
    open_pairs: Any  # (P - Q,): pairs with a half-space
    reach: Any  # (n,): by how much a turn by 1 rad moves the farthest point of a body, m
    extent: Any  # (n,): least half size of a body's shapes, m; infinite without shapes


@record
class Grid(NamedTuple):
    """Work and result of `near_pairs`."""

    placed: Any  # (S, PLACED_SIZE): see above
    cells: Any  # (S, CELL_FIELDS): level of each shape, and cell of its centre
    first: Any  # (2^k >= S,): first shape of each hash, or -1
    following: Any  # (S,): next shape with the same hash, or -1
    largest: Any  # (LEVELS,): largest radius in each grid, -1 of an empty one
    found: Any  # (P,): pairs that are near, ascending
    counts: Any  # (COUNTS,): see above


@kernel
def shapes_of(given):
    """`Shapes` of a tuple, as which it comes from outside."""
    shapes, sizes, pairs, partner_start, partner, number, open_pairs, reach, extent = given
    return Shapes(shapes, sizes, pairs, partner_start, partner, number, open_pairs, reach, extent)


@kernel
def grid_of(given):
    """`Grid` of a tuple."""
    placed, cells, first, following, largest, found, counts = given
    return Grid(placed, cells, first, following, largest, found, counts)


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
    """Least distance of two bounds, at least: of spheres, else of boxes along their 6 axes."""
    a, b = load3(one, PLACED_CENTRE), load3(two, PLACED_CENTRE)
    way = (b[0] - a[0], b[1] - a[1], b[2] - a[2])
    best = math.sqrt(dot(way, way)) - size_one[RADIUS] - size_two[RADIUS]
    if best >= enough:
        return best
    for k in range(6):
        axis = load3(one, AXES + 3 * k) if k < 3 else load3(two, AXES + 3 * (k - 3))
        found = abs(dot(way, axis)) - box_reach(size_one, one, axis)
        best = max(best, found - box_reach(size_two, two, axis))
    return best


@inlined
def reach_of(shapes, sizes, s, n, allowance):
    """Radius of the sphere of a shape, and the allowance of its body."""
    body = shapes[s, BODY]
    radius = sizes[s, RADIUS] + (allowance[body] if body < n else 0.0)
    return radius if radius < LARGEST else LARGEST


@inlined
def cell_of(x, size):
    """Cell of a coordinate."""
    if abs(x) < FAR * size:
        return int(math.floor(x / size))
    return int(FAR) if x > 0.0 else -int(FAR)


@inlined
def hash_of(level, i, j, k, count):
    """Place of a cell in a table of so many, a power of two (Ericson 2004, sec. 7.1.3)."""
    return ((level * 15485863) ^ (i * 73856093) ^ (j * 19349663) ^ (k * 83492791)) & (count - 1)


@kernel
def exponent_of(size):
    """Least e with size < 2^e or, by rounding, the next one; `math.frexp` would import numba."""
    return int(math.floor(math.log2(size))) + 1 if size > 0.0 else 0


@kernel
def fill_grids(tables, grid, n, allowance):
    """Put every convex shape into the cell of its centre; the size of the largest cells."""
    most = 0.0
    for s in range(tables.shapes.shape[0]):
        if tables.shapes[s, HALF_SPACE] == 0:
            most = max(most, reach_of(tables.shapes, tables.sizes, s, n, allowance))
    top = exponent_of(2.0 * most)
    for k in range(grid.first.size):
        grid.first[k] = -1
    for level in range(LEVELS):
        grid.largest[level] = -1.0
    for s in range(tables.shapes.shape[0]):
        if tables.shapes[s, HALF_SPACE] == 1:
            continue
        radius, cell = reach_of(tables.shapes, tables.sizes, s, n, allowance), grid.cells[s]
        level = max(0, LEVELS - 1 - (top - exponent_of(2.0 * radius))) if radius > 0.0 else 0
        size = 2.0 ** (top - (LEVELS - 1 - level))
        grid.largest[level] = max(grid.largest[level], radius)
        cell[LEVEL] = level
        for axis in range(3):
            cell[CELL + axis] = cell_of(grid.placed[s, PLACED_CENTRE + axis], size)
        k = hash_of(level, cell[CELL], cell[CELL + 1], cell[CELL + 2], grid.first.size)
        grid.following[s] = grid.first[k]
        grid.first[k] = s
    return top


@inlined
def number_of(tables, s, t):
    """Pair of two convex shapes; -1 if they may not touch."""
    one, two = min(s, t), max(s, t)
    low, high = tables.partner_start[one], tables.partner_start[one + 1]
    end = high
    while low < high:
        middle = (low + high) // 2
        if tables.partner[middle] < two:
            low = middle + 1
        else:
            high = middle
    return tables.number[low] if low < end and tables.partner[low] == two else -1


@inlined
def is_near(tables, placed, k, n, allowance):
    """Whether the bounds of a pair of convex shapes are closer than both allowances."""
    i, j = tables.pairs[k, 0], tables.pairs[k, 1]
    a, b = tables.shapes[i, BODY], tables.shapes[j, BODY]
    enough = (allowance[a] if a < n else 0.0) + (allowance[b] if b < n else 0.0)
    return apart(placed[i], placed[j], tables.sizes[i], tables.sizes[j], enough) < enough


@inlined
def way_between(placed, s, t):
    """Square of the distance of the centres of two shapes."""
    square = 0.0
    for axis in range(3):
        way = placed[s, PLACED_CENTRE + axis] - placed[t, PLACED_CENTRE + axis]
        square += way * way
    return square


@kernel
def sift(keys, root, count):
    """Move a key down a heap of so many, until none below it is larger."""
    key = keys[root]
    below = 2 * root + 1
    while below < count:
        if below + 1 < count and keys[below + 1] > keys[below]:
            below += 1
        if keys[below] <= key:
            break
        keys[root] = keys[below]
        root, below = below, 2 * below + 1
    keys[root] = key


@kernel
def heap_sort(keys, count):
    """Sort so many keys, ascending (J. W. J. Williams, Algorithm 232, CACM 7, 1964)."""
    for root in range(count // 2 - 1, -1, -1):
        sift(keys, root, count)
    for last in range(count - 1, 0, -1):
        keys[0], keys[last] = keys[last], keys[0]
        sift(keys, 0, last)


@kernel
def near_pairs(tables, grid, n, state, allowance):
    """grid.found <- numbers of the pairs that are near, ascending; how many.

    ``allowance`` has one number per body.
    """
    shapes, sizes, placed, cells = tables.shapes, tables.sizes, grid.placed, grid.cells
    first, following, found, largest = grid.first, grid.following, grid.found, grid.largest
    place_shapes(shapes, sizes, n, state, placed)
    count = tested = 0
    for at in range(tables.open_pairs.size):
        k = tables.open_pairs[at]
        i, j = tables.pairs[k, 0], tables.pairs[k, 1]
        if shapes[i, HALF_SPACE] == 0:
            i, j = j, i
        body = shapes[j, BODY]
        tested += 1
        if above(sizes[j], placed[j], placed[i]) < (allowance[body] if body < n else 0.0):
            found[count] = k
            count += 1
    some = tables.partner.size > 0  # a planar robot has pairs with its floor alone
    top = fill_grids(tables, grid, n, allowance) if some else 0
    for s in range(shapes.shape[0] if some else 0):
        if shapes[s, HALF_SPACE] == 1:
            continue
        radius, (x, y, z) = reach_of(shapes, sizes, s, n, allowance), load3(placed[s], 0)
        for level in range(cells[s, LEVEL], LEVELS):
            if largest[level] < 0.0:
                continue
            own, size = level == cells[s, LEVEL], 2.0 ** (top + level + 1 - LEVELS)
            far = radius + largest[level] + SLACK * size
            # of its own grid those in cells that follow: each pair of shapes once
            begin = cells[s, CELL] if own else cell_of(x - far, size)
            for i in range(begin, cell_of(x + far, size) + 1):
                own_i = own and i == begin
                begin_j = cells[s, CELL + 1] if own_i else cell_of(y - far, size)
                for j in range(begin_j, cell_of(y + far, size) + 1):
                    own_j = own_i and j == begin_j
                    begin_k = cells[s, CELL + 2] if own_j else cell_of(z - far, size)
                    for k in range(begin_k, cell_of(z + far, size) + 1):
                        own_k = own_j and k == begin_k
                        t = first[hash_of(level, i, j, k, first.size)]
                        while t >= 0:
                            tested += 1
                            here = cells[t, LEVEL] == level and cells[t, CELL] == i
                            here = here and cells[t, CELL + 1] == j and cells[t, CELL + 2] == k
                            if here and (not own_k or t > s):
                                bound = radius + reach_of(shapes, sizes, t, n, allowance)
                                if way_between(placed, s, t) < bound * bound:
                                    pair = number_of(tables, s, t)
                                    if pair >= 0 and is_near(tables, placed, pair, n, allowance):
                                        found[count] = pair
                                        count += 1
                            t = following[t]
    heap_sort(found, count)
    grid.counts[FOUND], grid.counts[TESTED] = count, tested
    return count


@kernel
def stay_grounded(tables, grid, n, before, count):
    """Add those of the pairs before, ascending, that have a half-space of the world; how many.

    Their contacts join no bodies, so they cost little where they are idle, less than a new model
    each time that a foot is lifted or put down: 1.3 times the time of a driven walker's first run.
    """
    found, more = grid.found, grid.counts[FOUND]
    k = 0
    for nth in range(count):
        pair = before[nth]
        while k < grid.counts[FOUND] and found[k] < pair:
            k += 1
        if k < grid.counts[FOUND] and found[k] == pair:
            continue
        for side in range(2):
            s = tables.pairs[pair, side]
            if tables.shapes[s, HALF_SPACE] == 1 and tables.shapes[s, BODY] == n:
                found[more] = pair
                more += 1
    heap_sort(found, more)
    return more


@kernel
def are_among(some, count, others, many):
    """Whether so many ascending numbers are all among other ascending ones."""
    i = 0
    for k in range(count):
        while i < many and others[i] < some[k]:
            i += 1
        if i == many or others[i] != some[k]:
            return False
    return True


@kernel
def speed_of(bodies, i, reach, state):
    """Largest speed of a point of body i in the last interval, of a state of so many bodies."""
    at = (POSE + TWIST) * bodies + TWIST * i
    v, omega = load3(state, at), load3(state, at + 3)
    return math.sqrt(dot(v, v)) + reach[i] * math.sqrt(dot(omega, omega))


@kernel
def give_allowances(bodies, h, steps, part, reach, extent, state, ways, allowance):
    """allowance <- a part of each body's extent, and its way in some steps at its present speed.

    At least twice the ``ways`` of a step in which a body used up its own; infinite of a body
    without shapes.
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
def used_up(start, reach, allowance, pose):
    """Whether a body has used up its allowance since ``start``."""
    for i in range(reach.size):
        if way_of(i, reach, start, pose) > allowance[i]:
            return True
    return False


@kernel
def lengthen(start, reach, pose, ways):
    """Ways of bodies <- those from ``start``, if longer."""
    for i in range(reach.size):
        ways[i] = max(ways[i], way_of(i, reach, start, pose))


@kernel
def runs_out(bodies, h, start, reach, allowance, state):
    """Whether a body would use up its allowance in the next step at its present speed."""
    for i in range(reach.size):
        way = way_of(i, reach, start, state) + h * speed_of(bodies, i, reach, state)
        if way > allowance[i]:
            return True
    return False
