"""Servos with a force limit in half kicks, as runs with an accuracy take them.

Half an interval of length h before and after each node, a servo pushes with the impulse

    (h/2) f G^T,    f = min(most, max(least, aim - k g - c G u)),

g and G those of the node, u the velocity of the interval: Stoermer and Verlet's method with dampers
by the trapezoidal rule, of second order. Where a limit is reached f has a kink, whose error is of
the third order in h. Servos without a limit are springs and dampers, `forces.pull` and
`forces.damp`.

Rows that are implicit are taken so where a state keeps no numbers of implicit forces:
`dynamics.tables.error_control.explicit_tables`.
"""

from dynamics.kernels.base.jit import kernel, lazy
from dynamics.kernels.base.lanes import where
from dynamics.kernels.base.layout import (
    ALL_ROWS,
    BODIES,
    FIRST_ROW,
    GROUP_AT,
    GROUP_FIELDS,
    IMPLICIT_DAMPING,
    IMPLICIT_STIFFNESS,
    JOINTS,
    N_ROWS,
    ROTORS,
    ROW_CONSTANT_AT,
    ROW_SIZE,
    TWIST,
    A,
    B,
)
from dynamics.kernels.rows.forces import add_multiple, bounded, inner


@lazy("None")
def add_servo_kicks(plan, constant, scale, aims, g, G, u, r):
    """r <- r + scale f G^T at a node, and which forces are cut; aims are in the values of a node.

    ``g``, ``G`` are those of the node, u the velocity of the interval next to it.
    """
    n = plan[BODIES]
    for k in range(plan[JOINTS], plan[JOINTS] + plan[ROTORS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        a, b = plan[group + A], plan[group + B]
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            c = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
            stiffness, damping = constant[c + IMPLICIT_STIFFNESS], constant[c + IMPLICIT_DAMPING]
            if stiffness == 0.0 and damping == 0.0:
                continue
            rate = 0.0
            if a < n:
                rate += inner(G, 12 * row, u, TWIST * a)
            if b < n:
                rate += inner(G, 12 * row + 6, u, TWIST * b)
            free = aims[plan[ALL_ROWS] + row] - stiffness * g[row] - damping * rate
            force = bounded(constant, c, free)
            g[2 * plan[ALL_ROWS] + row] = where(force == free, 0.0, 1.0)
            if a < n:
                add_multiple(r, TWIST * a, scale * force, G, 12 * row)
            if b < n:
                add_multiple(r, TWIST * b, scale * force, G, 12 * row + 6)


@kernel
def kick_slope(plan, constant, h, row, g):
    """Change of a row's impulse at the start of an interval by its rate; 0 where it is cut."""
    slope = 0.5 * h * constant[plan[ROW_CONSTANT_AT] + row * ROW_SIZE + IMPLICIT_DAMPING]
    return where(g[2 * plan[ALL_ROWS] + row] != 0.0, 0.0, slope)
