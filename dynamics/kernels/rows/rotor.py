"""Rotors on the axes of joints: kinetic energy a q'^2 / 2 that is no body's.

Over an interval a coordinate q moves by ``way``; the discrete Lagrangian ``a way^2 / (2 h)`` gives
the momenta ``a (way / h) G^T`` at both ends, G = dq/dz there (theory/step (12)). Rotors are the
first groups of forces, ``plan[ROTORS]`` of them.
"""

import math

from dynamics.kernels.base.jit import kernel, lazy
from dynamics.kernels.base.layout import (
    ARMATURE,
    BODIES,
    FIRST_ROW,
    GROUP_AT,
    GROUP_FIELDS,
    JOINTS,
    N_ROWS,
    PERIOD,
    ROTORS,
    ROW_CONSTANT_AT,
    ROW_SIZE,
    TWIST,
    A,
    B,
)
from dynamics.kernels.rows.forces import add_multiple, inner


@kernel
def way(constant, c, before, after):
    """after - before of a coordinate whose row's constants are at ``c``; turns by the near way."""
    moved, period = after - before, constant[c + PERIOD]
    if period > 0.0:
        moved -= period * math.floor(moved / period + 0.5)
    return moved


@lazy("None")
def add_rotors(plan, constant, h, g, g_next, G, r):
    """r <- r + a (way / h) G^T, the momenta of an interval's rotors at the end that has G."""
    n = plan[BODIES]
    for k in range(plan[JOINTS], plan[JOINTS] + plan[ROTORS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        a, b = plan[group + A], plan[group + B]
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            c = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
            part = constant[c + ARMATURE] * way(constant, c, g[row], g_next[row]) / h
            if a < n:
                add_multiple(r, TWIST * a, part, G, 12 * row)
            if b < n:
                add_multiple(r, TWIST * b, part, G, 12 * row + 6)


@lazy("float")
def add_spin(plan, constant, scale, G, u, p):
    """p <- p + scale a G^T G u; twice the kinetic energy of all rotors at the velocities u."""
    n, total = plan[BODIES], 0.0
    for k in range(plan[JOINTS], plan[JOINTS] + plan[ROTORS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        a, b = plan[group + A], plan[group + B]
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            rate = 0.0
            if a < n:
                rate += inner(G, 12 * row, u, TWIST * a)
            if b < n:
                rate += inner(G, 12 * row + 6, u, TWIST * b)
            momentum = constant[plan[ROW_CONSTANT_AT] + row * ROW_SIZE + ARMATURE] * rate
            total += momentum * rate
            if scale == 0.0:
                continue
            if a < n:
                add_multiple(p, TWIST * a, scale * momentum, G, 12 * row)
            if b < n:
                add_multiple(p, TWIST * b, scale * momentum, G, 12 * row + 6)
    return total
