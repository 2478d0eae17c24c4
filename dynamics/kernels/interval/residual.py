"""Residual of one step: the discrete Euler-Lagrange equations with their constraints.

Rows are scaled to impulses: body rows in N s and N m s, constraint rows as velocities g/h
(theory/step (3), (4); Bruedigam et al. 2023, eqs. 10, 16, 18, whose whole kicks are first order).
"""

import math

from dynamics.kernels.base.jit import kernel, lazy, pointer
from dynamics.kernels.base.layout import (
    ADDED,
    BODIES,
    BODY_SIZE,
    COMPLIANCE,
    DAMPING,
    EXTENT,
    INERTIA,
    LIGHTNESS,
    MASS,
    PACE,
    POSE,
    ROTORS,
    ROW_CONSTANT_AT,
    ROW_SIZE,
    ROWS,
    SOFT,
    STIFF_NUMBERS,
    THETA,
    TWIST,
    UNITS_AT,
)
from dynamics.kernels.base.quaternion import cross, load3, multiply_matrix
from dynamics.kernels.base.six import (
    largest,
    most_of,
    multiplied,
    nothing,
    plus,
    products,
    put,
    total_of,
)
from dynamics.kernels.rows.added_mass import add_momenta
from dynamics.kernels.rows.forces import damp, push
from dynamics.kernels.rows.rotor import add_rotors
from dynamics.kernels.rows.servo_kicks import add_servo_kicks
from dynamics.kernels.rows.stiff_forces import add_stiff_forces, part_of


@kernel
def rigid_constraints(plan, constant, rate, g, r):
    """r <- rate g, how far constraints are open as velocities; max |g|, and |r|^2, over units."""
    rows, units = plan[ROWS], plan[UNITS_AT] + 1
    whole = rows - rows % 6
    most, squares = nothing(), nothing()
    for row in range(0, whole, 6):
        value = products(nothing(), constant, units + row, g, row)
        most, squares = largest(most, value), multiplied(squares, value, value)
        put(r, row, plus(nothing(), rate, g, row))
    opened, merit = most_of(most), total_of(squares)
    for row in range(whole, rows):
        value = constant[units + row] * g[row]
        opened = max(opened, abs(value))
        merit += value * value
        r[row] = rate * g[row]
    scale = rate * constant[units - 1]
    return opened, scale * scale * merit


@kernel
def fastest(plan, constant, stages, x):
    """Largest velocity of all stages over the unit of speed; of omega over speed / length."""
    most, n = nothing(), plan[BODIES]
    stage = TWIST * n + plan[ROWS]
    for at in range(0, stages * stage, stage):
        for i in range(n):
            pace = i * BODY_SIZE + PACE
            most = largest(most, products(nothing(), constant, pace, x, at + TWIST * i))
    return most_of(most)


@kernel
def extent(plan, constant, pose):
    """Largest coordinate of a body over the unit of length, at least 1."""
    most = 1.0
    for i in range(plan[BODIES]):
        scale = constant[i * BODY_SIZE + EXTENT]
        for j in range(3):
            most = max(most, scale * abs(pose[POSE * i + j]))
    return most


@lazy("(float float)")
def soft_constraints(plan, constant, rate, g, g_next, mu, r):
    """The same where constraints have compliances: theory/step (4)."""
    opened, merit = 0.0, 0.0
    c, units = plan[ROW_CONSTANT_AT], plan[UNITS_AT] + 1
    for row in range(plan[ROWS]):
        compliance = rate * constant[c + COMPLIANCE]
        late = constant[c + THETA] + compliance * constant[c + DAMPING]
        value = late * g_next[row] + (1.0 - late) * g[row] + compliance * mu[row]
        r[row] = rate * value
        value *= constant[units + row]
        opened = max(opened, abs(value))
        merit += value * value
        c += ROW_SIZE
    scale = rate * constant[units - 1]
    return opened, scale * scale * merit


@kernel
def residual(
    # Tables:
    plan,
    constant,
    # In:
    h,
    kick,
    G,
    g,
    x,
    g_next,
    # Out:
    r,
):  # fmt: skip
    """r(x) of one step: momentum balance and constraints.

    Gives the largest velocity error, largest |g|, and the squared norm of both as velocities (NaN
    where anything is), over the units of each body and row.

    ``kick`` is the momentum with all impulses at the start node that do not depend on x; ``G, g``
    are the rows at the start, ``g_next`` at the end.
    """
    n = plan[BODIES]
    for i in range(n):
        c, t = i * BODY_SIZE, TWIST * i
        mass = constant[c + MASS]
        for j in range(3):
            r[t + j] = mass * x[t + j] - kick[t + j]
        omega = load3(x, t + 3)
        phi = (0.5 * h * omega[0], 0.5 * h * omega[1], 0.5 * h * omega[2])
        s = math.sqrt(1.0 - phi[0] * phi[0] - phi[1] * phi[1] - phi[2] * phi[2])
        spin = multiply_matrix(constant, c + INERTIA, omega)
        turn = cross(phi, spin)
        for j in range(3):
            r[t + 3 + j] = s * spin[j] + turn[j] - kick[t + 3 + j]
    if plan[ADDED] > 0:
        add_momenta(plan, constant, h, 1.0, 1.0, G, x, r)
    part = part_of(plan, h, g)
    damp(plan, constant, part, h - part, G, x, r)
    if plan[ROTORS] > 0:
        add_rotors(plan, constant, h, g, g_next, G, r)
        if plan[STIFF_NUMBERS] > 0:
            add_stiff_forces(plan, constant, h, g, g_next, G, r)
        else:
            add_servo_kicks(plan, constant, -0.5 * h, g, g, G, x, r)
    mu, rest = pointer(x, TWIST * n), pointer(r, TWIST * n)
    push(plan, constant, False, G, mu, -1.0, r)
    if plan[SOFT] == 0:
        opened, merit = rigid_constraints(plan, constant, 1.0 / h, g_next, rest)
    else:
        opened, merit = soft_constraints(plan, constant, 1.0 / h, g, g_next, mu, rest)
    most, squares = nothing(), nothing()
    for i in range(n):
        error = products(nothing(), constant, i * BODY_SIZE + LIGHTNESS, r, TWIST * i)
        most, squares = largest(most, error), multiplied(squares, error, error)
    return most_of(most), opened, merit + total_of(squares)
