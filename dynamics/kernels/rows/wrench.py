"""Wrenches of users' functions: w(t, z, u) at both ends of an interval, u its own velocities.

Half of the impulse acts at each end, like a damper's: what depends on velocity stays of second
order. A node keeps its time and the wrenches after its forces.
"""

import math

from dynamics.kernels.base.callback import call_four
from dynamics.kernels.base.jit import lazy, pointer
from dynamics.kernels.base.layout import (
    BODIES,
    BODY_AT,
    TWIST,
    WRENCH_AT,
    WRENCH_FIELDS,
    WRENCH_SIZE,
    WRENCHES,
    A,
    B,
)


@lazy("int")
def add_user_impulses(plan, scale, pose, f, u, p):
    """p <- p + scale w(t, z, u), on the child and back on the parent; 1 where a function fails."""
    n = plan[BODIES]
    for k in range(plan[WRENCHES]):
        at = plan[WRENCH_AT] + k * WRENCH_FIELDS
        out = TWIST * n + 1 + k * WRENCH_SIZE
        if call_four(plan[at + 2], f, TWIST * n, pose, 0, u, 0, f, out) != 0:
            p[0] = math.nan
            return 1
        for end in range(2):
            body = plan[at + B] if end == 0 else plan[at + A]
            if body < n:
                for i in range(TWIST):
                    p[TWIST * body + i] += scale * f[out + TWIST * end + i]
    return 0


@lazy("None")
def update_user_impulse(plan, h, node, u, kick):
    """Users' half impulse at the start node, stored after the others in ``kick``, <- that of u."""
    m = TWIST * plan[BODIES]
    for i in range(m):
        kick[i] -= kick[m + i]
        kick[m + i] = 0.0
    add_user_impulses(plan, 0.5 * h, node.pose, node.f, u, pointer(kick, m))
    for i in range(m):
        kick[i] += kick[m + i]


@lazy("None")
def add_user_slopes(plan, h, f, values):
    """Slopes of the wrenches in the child's own velocity to its block, after `assemble`."""
    for k in range(plan[WRENCHES]):
        body = plan[plan[WRENCH_AT] + k * WRENCH_FIELDS + B]
        slope = TWIST * plan[BODIES] + 1 + k * WRENCH_SIZE + 2 * TWIST
        to = plan[plan[BODY_AT] + body]
        for i in range(TWIST):
            for j in range(TWIST):
                values[to + TWIST * j + i] -= 0.5 * h * f[slope + TWIST * i + j]
