"""Steps of servos with a force limit: none crosses the whole range of its force at once.

A force that is cut has no slope. From one limit, Newton's method then goes to where the force would
be at the other one, and back. A step that would do so ends in the middle of the range instead,
where the force has its slope.
"""

from dynamics.kernels.base.jit import kernel, lazy
from dynamics.kernels.base.layout import (
    ALL_ROWS,
    BODIES,
    FIRST_ROW,
    GAIN,
    GROUP_AT,
    GROUP_FIELDS,
    IMPLICIT_DAMPING,
    IMPLICIT_STIFFNESS,
    JOINTS,
    N_ROWS,
    ROTORS,
    ROW_CONSTANT_AT,
    ROW_SIZE,
    STEP_PART,
    TWIST,
    A,
    B,
)
from dynamics.kernels.contacts.islands import island_of, record_of
from dynamics.kernels.rows.forces import bounded
from dynamics.kernels.rows.rotor import way


@kernel
def go_all_the_way(plan, contacts):
    """Steps of islands <- whole ones."""
    for body in range(plan[BODIES]):
        contacts[record_of(plan, body) + STEP_PART] = 1.0


@kernel
def rate_of(plan, group, row, G, dx):
    """Change of the rate of a row by a step."""
    rate = 0.0
    for side in range(2):
        body = plan[group + A + side]
        if body < plan[BODIES]:
            for j in range(TWIST):
                rate += G[12 * row + 6 * side + j] * dx[TWIST * body + j]
    return rate


@lazy("None")
def stay_in_range(plan, constant, h, g, g_next, G, dx, contacts):
    """Shorten the steps of islands so that no force goes from one limit beyond the other one."""
    for k in range(plan[JOINTS], plan[JOINTS] + plan[ROTORS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            c = plan[ROW_CONSTANT_AT] + row * ROW_SIZE
            stiff, damping = constant[c + IMPLICIT_STIFFNESS], constant[c + IMPLICIT_DAMPING]
            if constant[c + GAIN] == 0.0 or (stiff == 0.0 and damping == 0.0):
                continue
            free = g[plan[ALL_ROWS] + row] - stiff * g_next[row]
            free -= damping * way(constant, c, g[row], g_next[row]) / h
            change = (h * stiff + damping) * rate_of(plan, group, row, G, dx)
            now, then = bounded(constant, c, free), bounded(constant, c, free - change)
            if now == free or then == free - change or now == then:
                continue
            body = plan[group + B] if plan[group + B] < plan[BODIES] else plan[group + A]
            place = island_of(plan, contacts, body) + STEP_PART
            contacts[place] = min(contacts[place], (free - 0.5 * (now + then)) / change)
