"""Energy audit of an interval: work of joints and contacts, which give none.

From one interval's velocities V to the next ones V_next the impulses P at the node between them do
the work (V + V_next) . P / 2 = T(V_next) - T(V), exactly. Those of gravity, springs, controls and
users' forces are known (`kick`), and those of dampers, stiff forces and compliant joints by V_next
(`forces.damp`, `stiff_forces`, `forces.push`). The rest is of joints, contacts, limits and dry
friction: none but for the truncation of the method, of order (h omega)^2 T and as often positive as
negative, or energy lost; `energy_balance` bounds its sum. Where much more appears, and is not what
the known impulses take, a solution is spurious, or far from the motion.
"""

import math

from dynamics.kernels.base.jit import kernel, lazy, pointer
from dynamics.kernels.base.layout import (
    ADDED,
    BODIES,
    BODY_SIZE,
    COMPLIANCE,
    CONTACT_CONSTANT_AT,
    CONTACT_SIZE,
    CONTACTS,
    ENERGY,
    EQUATION,
    EXTENT,
    FIRST_ROW,
    GROUP_AT,
    GROUP_FIELDS,
    INERTIA,
    JOINTS,
    LIGHTNESS,
    MASS,
    N_ROWS,
    PACE,
    ROTORS,
    ROW_CONSTANT_AT,
    ROW_SIZE,
    ROWS,
    SOFT,
    STIFF_NUMBERS,
    THETA,
    TWIST,
    UNITS_AT,
    A,
    B,
)
from dynamics.kernels.base.quaternion import cross, dot, load3, multiply_matrix
from dynamics.kernels.interval.residual import fastest
from dynamics.kernels.rows.added_mass import add_momenta
from dynamics.kernels.rows.forces import add_multiple, damp
from dynamics.kernels.rows.rotor import add_rotors
from dynamics.kernels.rows.rows import held_velocity
from dynamics.kernels.rows.servo_kicks import add_servo_kicks
from dynamics.kernels.rows.stiff_forces import add_stiff_forces, part_of


@kernel
def take_soft(plan, constant, G, mu, r):
    """r <- r - theta G^T mu of rows with a compliance."""
    n = plan[BODIES]
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        a, b, first = plan[group + A], plan[group + B], plan[group + FIRST_ROW]
        for i in range(plan[group + N_ROWS]):
            c = plan[ROW_CONSTANT_AT] + (first + i) * ROW_SIZE
            if constant[c + COMPLIANCE] == 0.0:
                continue
            part = -constant[c + THETA] * mu[plan[group + EQUATION] + i]
            if a < n:
                add_multiple(r, TWIST * a, part, G, 12 * (first + i))
            if b < n:
                add_multiple(r, TWIST * b, part, G, 12 * (first + i) + 6)


@kernel
def open_by(plan, constant, g):
    """Largest value of the rows that rigid joints close, over its unit."""
    found, units = 0.0, plan[UNITS_AT] + 1
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        if plan[group + EQUATION] != plan[group + FIRST_ROW]:
            break  # second halves of couplings, whose values the first ones have
        for row in range(plan[group + FIRST_ROW], plan[group + FIRST_ROW] + plan[group + N_ROWS]):
            soft = constant[plan[ROW_CONSTANT_AT] + row * ROW_SIZE + COMPLIANCE] > 0.0
            if not soft and not held_velocity(plan, row):
                found = max(found, abs(g[row]) * constant[units + row])
    return found


@lazy("None")
def constraint_impulses(plan, constant, h, node, trial, work):
    """``work.dx`` <- impulses of joints and contacts at the start of an interval."""
    n, G = plan[BODIES], node.G
    x, r, kick = work.x, work.dx, work.kick
    mu = pointer(x, TWIST * n)
    for i in range(n):
        c, t = i * BODY_SIZE, TWIST * i
        mass, omega = constant[c + MASS], load3(x, t + 3)
        phi = (0.5 * h * omega[0], 0.5 * h * omega[1], 0.5 * h * omega[2])
        s = math.sqrt(1.0 - dot(phi, phi))
        spin = multiply_matrix(constant, c + INERTIA, omega)
        turn = cross(phi, spin)
        for j in range(3):
            r[t + j] = mass * x[t + j] - kick[t + j]
            r[t + 3 + j] = s * spin[j] + turn[j] - kick[t + 3 + j]
    if plan[ADDED] > 0:
        add_momenta(plan, constant, h, 1.0, 1.0, G, x, r)
    if plan[ROTORS] > 0:
        add_rotors(plan, constant, h, node.g, trial.g, G, r)
    part = part_of(plan, h, node.g)
    damp(plan, constant, part, h - part, G, x, r)
    if plan[STIFF_NUMBERS] > 0:
        add_stiff_forces(plan, constant, h, node.g, trial.g, G, r)
    elif plan[ROTORS] > 0:
        add_servo_kicks(plan, constant, -0.5 * h, node.g, node.g, G, x, r)
    if plan[SOFT] > 0:
        take_soft(plan, constant, G, mu, r)


@kernel
def work_of(plan, u, work):
    """Work of the impulses ``work.dx`` between the velocities u and ``work.x``, J."""
    given, x, r = 0.0, work.x, work.dx
    for i in range(TWIST * plan[BODIES]):
        given += 0.5 * (x[i] + u[i]) * r[i]
    return given


@lazy("(float float)")
def constraint_work(plan, constant, h, tolerance, barrier, residual, node, trial, u, work, moving):
    """Work of joints and contacts, and what of it rounding explains, J.

    ``work.dx`` takes their impulses. If u is given and not ``moving``, joints may not allow it:
    what they take of it is no gain. ``residual`` is what Newton's method left: the largest error of
    velocities, which stiff rows make of rounded positions, and what joints are open by at the end
    of the interval. Velocities are off by Newton's tolerance, and by what joints are open by over
    h. All count over units.
    """
    left, opened = residual
    constraint_impulses(plan, constant, h, node, trial, work)
    given = work_of(plan, u, work)
    if not moving:
        given = min(given, work_of(plan, work.x, work))
    opened = max(opened, open_by(plan, constant, node.g))
    mu = pointer(work.x, TWIST * plan[BODIES])
    error = rounding_work(plan, constant, h, tolerance, barrier, opened, work.x, mu, work.dx)
    return given, error + left * work_of_residual(plan, constant, u, work.x)


@kernel
def work_of_residual(plan, constant, u, x):
    """Most work of a residual of 1, J."""
    most = 0.0
    for i in range(plan[BODIES]):
        light, t = i * BODY_SIZE + LIGHTNESS, TWIST * i
        for j in range(TWIST):
            most += 0.5 * abs(u[t + j] + x[t + j]) / constant[light + j]
    return most


@kernel
def rounding_work(plan, constant, h, tolerance, barrier, opened, x, mu, r):
    """Work that impulses r and mu may do by errors of velocities, and that of barriers, J."""
    fast = tolerance * max(1.0, fastest(plan, constant, 1, x))
    found = 0.0
    for i in range(plan[BODIES]):
        c, t = i * BODY_SIZE, TWIST * i
        arm = 1.0 / constant[c + EXTENT]
        for j in range(3):
            linear, angular = abs(r[t + j]), abs(r[t + 3 + j])
            found += linear * (fast / constant[c + PACE] + arm * opened / h)
            found += angular * (fast / constant[c + PACE + 3] + opened / h)
    rate = fast / constant[plan[UNITS_AT]] + opened / h
    for row in range(plan[ROWS]):
        found += abs(mu[row]) / constant[plan[UNITS_AT] + 1 + row] * rate
    return found + barrier_energy(plan, constant, barrier)


@kernel
def barrier_energy(plan, constant, barrier):
    """Work that the barriers of contacts may do, J."""
    found = 0.0
    for k in range(plan[CONTACTS]):
        found += barrier * constant[plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE + ENERGY]
    return found
