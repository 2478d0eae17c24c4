"""Where a plane between two shapes begins, and how it moves there: with the body it is tied to."""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import (
    BODIES,
    BODY_SIZE,
    CONTACT_AT,
    CONTACT_CONSTANT_AT,
    CONTACT_FIELDS,
    CONTACT_PACE,
    CONTACT_SIZE,
    CONTACTS,
    ENERGY,
    GRAVITY,
    INERTIA,
    MASS,
    POSE,
    ROWS,
    SLACK,
    SLOT,
    TWIST,
    A,
    B,
)
from dynamics.kernels.base.quaternion import cross, dot, load3, load4, rotate, rotate_back
from dynamics.kernels.base.step_info import HELD
from dynamics.kernels.collisions.carry import balance_of
from dynamics.kernels.collisions.gjk import separate

#: How far from its owner a plane is placed where there is room, over its height.
ROOM = 0.3
#: Marks of a plane: its owner presses on it, the other body does, both.
OWNER, OTHER, BOTH = 1, 2, 3


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
def separate_contacts(solids, placing, k, n, state, separation):
    """`gjk.separate` of the shapes that touch plane k; whether they are apart.

    Contacts of two rounded shapes see prisms around cylinders, larger by ``margins``.
    """
    points, starts, cores, shapes = solids
    pairs, margins = placing[3], placing[4]
    found = separate(
        points, starts, cores, shapes, pairs[k, 0], pairs[k, 1], n, state, separation
    )  # fmt: skip
    separation[3] += margins[k, 0]
    separation[4] -= margins[k, 1]
    return found and separation[3] < separation[4]


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

    ``solids`` are the tables of `gjk.separate`, ``placing`` the planes, their owners, heights,
    pairs of shapes and margins. The ``separation`` of the first may be ``given``.
    """
    at, owner, height = placing[:3]
    for k in range(done, at.size):
        if not (given and k == done):
            if not separate_contacts(solids, placing, k, n, state, separation):
                return k
        lay_plane(constant, h, height[k], owner[k], at[k], bodies, separation, state)
    return at.size


@kernel
def find_pressed(plan, constant, h, owner, n, state, pressed):
    """Marks of the planes that bodies press on: the impulse is more than the gap, over units."""
    bodies = plan[BODIES]
    first = (POSE + 3 * TWIST) * bodies + plan[ROWS]
    for k in range(pressed.size):
        pressed[k] = 0
    for k in range(plan[CONTACTS]):
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        plane, body = plan[at + A], plan[at + B]
        if not n <= plane < bodies:
            plane, body = body, plane
        if not n <= plane < bodies:
            continue
        p, slot = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE, first + plan[at + SLOT]
        square = constant[p + CONTACT_PACE] * constant[p + CONTACT_PACE]
        if h * state[slot] > square * constant[p + ENERGY] * state[slot + SLACK]:
            pressed[plane - n] |= OWNER if body == owner[plane - n] else OTHER


@kernel
def lay_idle(plan, constant, solids, placing, h, n, pressed, separation, state, info):
    """Lay the planes anew that are not pressed from both sides; whether there are any.

    A plane that moves freely, or is pushed by one body, meets the other one askew.
    """
    at, owner, height = placing[:3]
    bodies, laid = plan[BODIES], False
    if at.size == 0:
        return False
    find_pressed(plan, constant, h, owner, n, state, pressed)
    for k in range(at.size):
        if pressed[k] != BOTH and separate_contacts(solids, placing, k, n, state, separation):
            info[HELD] -= balance_of(constant, h, at[k], bodies, state)
            lay_plane(constant, h, height[k], owner[k], at[k], bodies, separation, state)
            info[HELD] += balance_of(constant, h, at[k], bodies, state)
            laid = True
    return laid
