"""Where a plane between two shapes begins, and how it moves there: with the body it is tied to."""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import BODY_SIZE, GRAVITY, INERTIA, MASS, POSE, TWIST
from dynamics.kernels.base.quaternion import cross, dot, load3, load4, rotate, rotate_back
from dynamics.kernels.collisions.gjk import separate

#: How far from its owner a plane is placed where there is room, over its height.
ROOM = 0.3


@kernel
def lay(height, separation, owner, at, pose):
    """Pose of plane ``at`` <- between its shapes, next to its owner.

    ``separation`` (5,) is what `gjk.separate` finds: the normal, up to where the first shape
    reaches along it, and where the other begins.
    """
    normal, low, high = load3(separation, 0), separation[3], separation[4]
    room, x = 0.5 * (high - low), load3(pose, POSE * owner)
    there = low + min(room, ROOM * height) if height > 0.0 else high - min(room, -ROOM * height)
    part = there - dot(normal, x) - height
    to = POSE * at
    for j in range(3):
        pose[to + j] = x[j] + part * normal[j]
    # the shortest turn from z to the normal; half a turn about y if it is -z
    cos = math.sqrt(normal[0] ** 2 + normal[1] ** 2 + (1.0 + normal[2]) ** 2)
    sin = math.sqrt(normal[0] ** 2 + normal[1] ** 2 + (1.0 - normal[2]) ** 2)
    across = math.sqrt(normal[0] ** 2 + normal[1] ** 2)
    a, b = (-normal[1] / across, normal[0] / across) if across > 1e-15 else (0.0, 1.0)
    length = math.sqrt(cos * cos + sin * sin)
    pose[to + 3], pose[to + 4] = cos / length, sin * a / length
    pose[to + 5], pose[to + 6] = sin * b / length, 0.0


@kernel
def ride(owner, at, pose, twists, first):
    """Velocities of plane ``at`` <- as if fixed to its owner; twists from place ``first``."""
    x, y = load3(pose, POSE * owner), load3(pose, POSE * at)
    arm = (y[0] - x[0], y[1] - x[1], y[2] - x[2])
    v = load3(twists, first + TWIST * owner)
    spin = rotate(load4(pose, POSE * owner + 3), load3(twists, first + TWIST * owner + 3))
    more, turn = cross(spin, arm), rotate_back(load4(pose, POSE * at + 3), spin)
    for j in range(3):
        twists[first + TWIST * at + j] = v[j] + more[j]
        twists[first + TWIST * at + 3 + j] = turn[j]


@kernel
def lay_plane(
    # Tables:
    constant,
    # In:
    h,
    height,
    owner,
    at,
    bodies,
    separation,
    # In and out:
    state,
):  # fmt: skip
    """Plane ``at`` of a state of so many bodies <- between its shapes, moving with its owner.

    The momentum is that of a node, half a step's fall after the interval.
    """
    lay(height, separation, owner, at, state)
    momentum, c = POSE * bodies + TWIST * at, BODY_SIZE * at
    velocity = (POSE + TWIST) * bodies
    for first in (velocity, velocity + TWIST * bodies):
        ride(owner, at, state, state, first)
    for j in range(3):
        fall = 0.5 * h * constant[c + GRAVITY + j]
        v, omega = state[velocity + TWIST * at + j], state[velocity + TWIST * at + 3 + j]
        state[momentum + j] = constant[c + MASS] * (v + fall)
        state[momentum + 3 + j] = constant[c + INERTIA] * omega


@kernel
def lay_planes(
    # Tables:
    constant,
    solids,
    # In:
    placing,
    h,
    n,
    bodies,
    done,
    given,
    # In and out:
    separation,
    state,
):  # fmt: skip
    """Lay planes from number ``done`` on; the number of the first whose shapes overlap.

    ``solids`` are the tables of `gjk.separate`, ``placing`` the planes, their owners, heights and
    pairs of shapes. The ``separation`` of the first may be ``given``.
    """
    points, starts, cores, shapes = solids
    at, owner, height, pairs = placing
    for k in range(done, at.size):
        if not (given and k == done) and not separate(
            points, starts, cores, shapes, pairs[k, 0], pairs[k, 1], n, state, separation
        ):
            return k
        lay_plane(constant, h, height[k], owner[k], at[k], bodies, separation, state)
    return at.size
