"""Non-penetration along an interval: gaps on the straight path between its nodes."""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import (
    ARM_A_AT,
    BODIES,
    CONTACT_AT,
    CONTACT_CONSTANT_AT,
    CONTACT_FIELDS,
    CONTACT_KIND,
    CONTACT_SIZE,
    CONTACT_WORK,
    CONTACTS,
    DISTANCE_AT,
    NEXT_AT,
    RADIUS_A,
    RADIUS_B,
    SECOND_A,
    TWIST,
    W_AT,
    A,
    B,
)
from dynamics.kernels.base.quaternion import dot, load3
from dynamics.kernels.contacts.geometry import (
    BOX_SPHERE,
    SEGMENT_SEGMENT,
    SEGMENT_SPHERE,
    SPHERE_SPHERE,
    TINY,
    gap,
)
from dynamics.kernels.rows.poses import move

#: Cosine between the normals at both nodes above which a path cuts off less than a tenth of what
#: a ball overlaps at most: the chord of 51 degrees, cos 51 = 0.62.
STEADY = 0.6
#: Depth on the way, over the depth from which the nearest way out is the other side.
DEEP = 0.1
#: Least advance of a sweep over that depth, and the most advances; beyond, the interval is cut.
ADVANCE, MOST_ADVANCES = 0.1, 2000
#: Over the speed of the nearest points now: they move along their bodies, whose arms grow.
GROWING = 2.0


@kernel
def half_thickness(plan, constant, at, c):
    """Depth at which the nearest way out is the other side; 0 of gaps that always know theirs."""
    kind = plan[at + CONTACT_KIND]
    thick = constant[c + RADIUS_A] + constant[c + RADIUS_B]
    if kind == SPHERE_SPHERE or kind == SEGMENT_SPHERE or kind == SEGMENT_SEGMENT:
        return thick
    if kind == BOX_SPHERE:
        half = load3(constant, c + SECOND_A)
        return thick + min(half[0], half[1], half[2])
    return 0.0


@kernel
def motion_bound(plan, at, h, x, found):
    """Upper bound of the relative motion of the nearest points of a contact in an interval, m."""
    way = 0.0
    for side in range(2):
        body = plan[at + B] if side == 1 else plan[at + A]
        if body < plan[BODIES]:
            v, omega = load3(x, TWIST * body), load3(x, TWIST * body + 3)
            arm = load3(found, ARM_A_AT + 3 * side)
            way += math.sqrt(dot(v, v)) + math.sqrt(dot(omega, omega) * dot(arm, arm))
    return max(TINY, GROWING * h * way)


@kernel
def deep_within(plan, constant, h, k, thick, node, x, trial, found):
    """Conservative advancement: true if a contact's gap falls below -DEEP thick on the way.

    Poses on the way are written to the trial. Surfaces approach by at most `motion_bound`, so that
    a part ``gap / motion_bound`` of the interval is free of them (Mirtich 1996, ch. 3).
    """
    at = plan[CONTACT_AT] + k * CONTACT_FIELDS
    c = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
    pose, moved, matrix = node.pose, trial.pose, trial.matrix
    part = 0.0
    for _ in range(MOST_ADVANCES):
        move(plan[BODIES], part * h, pose, x, moved, matrix)
        if gap(plan, constant, at, c, moved, matrix, found) != 0:
            return True
        if found[DISTANCE_AT] < -DEEP * thick:
            return True
        part += max(found[DISTANCE_AT], ADVANCE * thick) / motion_bound(plan, at, h, x, found)
        if part >= 1.0:
            return False
    return True


@kernel
def passed(plan, constant, h, node, x, trial, found, contacts):
    """True if bodies pass through each other between the nodes of a solved interval.

    Gaps are positive at both nodes, and normals at both are known (W and NEXT of each contact, by
    `find_passed` also of those left out). Only if a normal turns far, the path between is checked.
    """
    through = False
    looked = False
    for k in range(plan[CONTACTS]):
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        thick = half_thickness(plan, constant, at, plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE)
        if thick == 0.0:
            continue
        w = k * CONTACT_WORK
        if dot(load3(contacts, w + W_AT + TWIST), load3(contacts, w + NEXT_AT + TWIST)) < STEADY:
            looked = True
            if deep_within(plan, constant, h, k, thick, node, x, trial, found):
                through = True
                break
    if looked:  # the end of the interval again
        move(plan[BODIES], h, node.pose, x, trial.pose, trial.matrix)
    return through
