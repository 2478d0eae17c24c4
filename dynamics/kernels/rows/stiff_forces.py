"""Springs, dampers and servos with the force that they have at the end of an interval.

Implicit Euler for stiff rows: over an interval of length h in which a row moves by ``way`` to
g_next, with the slope G = dg/dz at its start, a row pushes with the impulse

    h f G^T,    f = min(most, max(least, aim - k g_next - c way / h)).

Its amplification is 1 / (1 + h c / m + h^2 k / m) and less, whatever the stiffness: L-stable
(Hairer, Wanner, Solving Ordinary Differential Equations II, sec. IV.3). As k grows, the row becomes
a constraint that holds at the end of the interval, as those of rigid joints do. ``aim`` is that of
servos, gain (target + control).

The impulse of a node is that of half an interval before and after it, as half kicks are: f times
(h_prev + h) / 2. The first interval after velocities were given has h_prev = 0 (`first_part`). With
h f alone, each change of h would let what the spring holds up jump by (h_prev - h) f / 2.

Aims, of the last iteration which forces are cut, and the part of h stand after the values g of all
rows.
"""

from dynamics.kernels.base.jit import kernel, lazy
from dynamics.kernels.base.lanes import where
from dynamics.kernels.base.layout import (
    ALL_ROWS,
    BODIES,
    CONTROL,
    FIRST_ROW,
    GAIN,
    GROUP_AT,
    GROUP_FIELDS,
    IMPLICIT_DAMPING,
    IMPLICIT_STIFFNESS,
    JOINTS,
    N_ROWS,
    ROTORS,
    ROW_AT,
    ROW_CONSTANT_AT,
    ROW_FIELDS,
    ROW_SIZE,
    STIFF_NUMBERS,
    TARGET,
    TWIST,
    A,
    B,
)
from dynamics.kernels.rows.forces import add_multiple, bounded
from dynamics.kernels.rows.rotor import way

#: Numbers of a row that a state keeps, after the length of its last interval.
KEPT = 2


@kernel
def first_stiff(plan):
    """First row of the groups that may be stiff."""
    return plan[plan[GROUP_AT] + plan[JOINTS] * GROUP_FIELDS + FIRST_ROW]


@kernel
def first_part(stiff, h):
    """(h_prev + h) / 2 over h; 1/2 where the state has no interval before it."""
    return 0.5 + 0.5 * stiff[0] / h


@kernel
def part_of(plan, h, g):
    """Part of h for which stiff forces act in this interval."""
    return h * g[3 * plan[ALL_ROWS]] if plan[STIFF_NUMBERS] > 0 else h


@lazy("None")
def store_forces(plan, constant, h, g, g_next, stiff):
    """stiff <- h and, of each row, what of its force does not change with its rate, and 1 or 0.

    That is aim - k g_next, or the limit of a force that is cut.
    """
    stiff[0] = h
    for k in range(plan[JOINTS], plan[JOINTS] + plan[ROTORS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            c = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
            at = KEPT * (row - first_stiff(plan)) + 1
            force, cut = stiff_force(plan, constant, h, row, g, g_next)
            held = g[plan[ALL_ROWS] + row] - constant[c + IMPLICIT_STIFFNESS] * g_next[row]
            stiff[at], stiff[at + 1] = where(cut != 0.0, force, held), 1.0 - cut


@lazy("None")
def aim(plan, constant, control, g):
    """Aims of all servos for an interval."""
    for k in range(plan[JOINTS], plan[JOINTS] + plan[ROTORS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            c, index = plan[ROW_CONSTANT_AT] + row * ROW_SIZE, -1
            if control.size > 0:
                index = plan[plan[ROW_AT] + row * ROW_FIELDS + CONTROL]
            asked = control[index] if index >= 0 else 0.0
            g[plan[ALL_ROWS] + row] = constant[c + GAIN] * (constant[c + TARGET] + asked)


@kernel
def stiff_force(plan, constant, h, row, g, g_next):
    """f of a row, and whether it is cut."""
    c = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
    free = g[plan[ALL_ROWS] + row] - constant[c + IMPLICIT_STIFFNESS] * g_next[row]
    free -= constant[c + IMPLICIT_DAMPING] * way(constant, c, g[row], g_next[row]) / h
    if constant[c + GAIN] == 0.0:
        return free, 0.0
    force = bounded(constant, c, free)
    return force, where(force == free, 0.0, 1.0)


@kernel
def steepness(plan, constant, h, row, g):
    """h k + c of a row, 0 where its force is cut: what of the impulse changes with its way."""
    c = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
    hard = h * constant[c + IMPLICIT_STIFFNESS] + constant[c + IMPLICIT_DAMPING]
    return where(g[2 * plan[ALL_ROWS] + row] != 0.0, 0.0, hard)


@lazy("None")
def mark_cuts(plan, constant, h, g, g_next):
    """Mark the forces that are cut."""
    for k in range(plan[JOINTS], plan[JOINTS] + plan[ROTORS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            g[2 * plan[ALL_ROWS] + row] = stiff_force(plan, constant, h, row, g, g_next)[1]


@lazy("None")
def add_stiff_forces(plan, constant, h, g, g_next, G, r):
    """r <- r - h f G^T, or half of it, and which forces are cut."""
    n, part = plan[BODIES], part_of(plan, h, g)
    for k in range(plan[JOINTS], plan[JOINTS] + plan[ROTORS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        a, b = plan[group + A], plan[group + B]
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            c = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
            if constant[c + IMPLICIT_STIFFNESS] == 0.0 and constant[c + IMPLICIT_DAMPING] == 0.0:
                continue
            force, cut = stiff_force(plan, constant, h, row, g, g_next)
            g[2 * plan[ALL_ROWS] + row] = cut
            if a < n:
                add_multiple(r, TWIST * a, -part * force, G, 12 * row)
            if b < n:
                add_multiple(r, TWIST * b, -part * force, G, 12 * row + 6)
