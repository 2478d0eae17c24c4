"""Velocities at nodes next to stiff forces: half an interval of implicit Euler more.

An interval ends before the stiff impulses of the next one (`rows.stiff_forces`), as it ends before
those of its joints and contacts: the momentum of a body at rest on a stiff spring is that of half a
step's fall. The reported velocities are V with

    M V = p + (h/2) f G^T,    f = held - hard (c + (h/2) k) G V,

the same method over the half interval that is left. V is that of `measure.project` on rigid joints
as k or c grow, and dampers never turn it round. ``held``, ``hard`` and h are what the state keeps
of its last interval (`stiff_forces.store_forces`); h is 0 if velocities were given, and V then is
M^-1 p. The term (h/2) k is that of springs: a servo's target may move along with its coordinate.
"""

from dynamics.kernels.base.jit import kernel, lazy
from dynamics.kernels.base.layout import (
    AJ_AT,
    BODIES,
    BODY_AT,
    BODY_SIZE,
    DAMPING,
    DRAG,
    DRAG_THETA,
    DRAGGED,
    FIRST_ROW,
    GAIN,
    GROUP_AT,
    GROUP_FIELDS,
    GROUPS,
    IMPLICIT_DAMPING,
    IMPLICIT_STIFFNESS,
    JA_AT,
    JOINTS,
    N_ROWS,
    ROTORS,
    ROW_CONSTANT_AT,
    ROW_SIZE,
    SPIN_DRAG,
    THETA,
    TWIST,
    A,
    B,
)
from dynamics.kernels.interval.matrix import add_outer
from dynamics.kernels.rows.forces import add_multiple, inner
from dynamics.kernels.rows.stiff_forces import KEPT, first_stiff


@kernel
def slope(plan, constant, k, row, stiff):
    """(h/2) (c + (h/2) k) of a row of group k, as far as it is taken stiff."""
    c, half = plan[ROW_CONSTANT_AT] + row * ROW_SIZE, 0.5 * stiff[0]
    found = half * constant[c + DAMPING] if constant[c + THETA] == 1.0 else 0.0
    if k < plan[JOINTS] + plan[ROTORS]:
        hard = constant[c + IMPLICIT_DAMPING]
        if constant[c + GAIN] == 0.0:
            hard += half * constant[c + IMPLICIT_STIFFNESS]
        found += half * stiff[KEPT * (row - first_stiff(plan)) + 2] * hard
    return found


@lazy("None")
def add_stored_forces(plan, stiff, G, r):
    """r <- r + (h/2) held G^T."""
    n = plan[BODIES]
    for k in range(plan[JOINTS], plan[JOINTS] + plan[ROTORS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        a, b = plan[group + A], plan[group + B]
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            part = 0.5 * stiff[0] * stiff[KEPT * (row - first_stiff(plan)) + 1]
            if a < n:
                add_multiple(r, TWIST * a, part, G, 12 * row)
            if b < n:
                add_multiple(r, TWIST * b, part, G, 12 * row + 6)


@lazy("None")
def subtract_stiff_slopes(plan, constant, stiff, G, x, r):
    """r <- r - (h/2) (c + (h/2) k) G^T G x of all rows, and the same of drag."""
    n = plan[BODIES]
    for i in range(n if plan[DRAGGED] > 0 else 0):
        c, t = i * BODY_SIZE, TWIST * i
        half = 0.5 * stiff[0] if constant[c + DRAG_THETA] == 1.0 else 0.0
        for j in range(3):
            r[t + j] -= half * constant[c + DRAG] * x[t + j]
            r[t + 3 + j] -= half * constant[c + SPIN_DRAG] * x[t + 3 + j]
    for k in range(plan[JOINTS], plan[GROUPS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        a, b = plan[group + A], plan[group + B]
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            part = slope(plan, constant, k, row, stiff)
            if part == 0.0:
                continue
            rate = 0.0
            if a < n:
                rate += inner(G, 12 * row, x, TWIST * a)
            if b < n:
                rate += inner(G, 12 * row + 6, x, TWIST * b)
            if a < n:
                add_multiple(r, TWIST * a, -part * rate, G, 12 * row)
            if b < n:
                add_multiple(r, TWIST * b, -part * rate, G, 12 * row + 6)


@lazy("None")
def add_stiff_slopes(plan, constant, stiff, G, values):
    """Values <- + (h/2) (c + (h/2) k) G^T G of all rows, and the same of drag."""
    n = plan[BODIES]
    for i in range(n if plan[DRAGGED] > 0 else 0):
        c, at = i * BODY_SIZE, plan[plan[BODY_AT] + i]
        half = 0.5 * stiff[0] if constant[c + DRAG_THETA] == 1.0 else 0.0
        for j in range(3):
            values[at + 7 * j] += half * constant[c + DRAG]
            values[at + 21 + 7 * j] += half * constant[c + SPIN_DRAG]
    for k in range(plan[JOINTS], plan[GROUPS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        a, b = plan[group + A], plan[group + B]
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            part = slope(plan, constant, k, row, stiff)
            if part == 0.0:
                continue
            at, bt = 12 * row, 12 * row + 6
            if a < n:
                add_outer(values, plan[plan[BODY_AT] + a], part, G, at, at)
            if b < n:
                add_outer(values, plan[plan[BODY_AT] + b], part, G, bt, bt)
            if plan[group + AJ_AT] >= 0:
                add_outer(values, plan[group + AJ_AT], part, G, at, bt)
                add_outer(values, plan[group + JA_AT], part, G, bt, at)
