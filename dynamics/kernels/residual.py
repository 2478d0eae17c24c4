"""Residual of one step: the discrete Euler-Lagrange equations with their constraints.

Rows are scaled to impulses: body rows in N s and N m s, constraint rows as velocities g/h
(theory/step (3), (4); Bruedigam et al. 2023, eqs. 10, 16, 18, whose whole kicks are first order).
"""

import math

from .added_mass import add_momenta
from .forces import damp, push
from .jit import kernel, pointer
from .layout import (
    BODIES,
    BODY_SIZE,
    COMPLIANCE,
    DAMPING,
    INERTIA,
    LARGEST_INERTIA,
    MASS,
    ROW_CONSTANT_AT,
    ROW_SIZE,
    ROWS,
    THETA,
    TWIST,
)
from .quaternion import cross, load3, multiply_matrix
from .rotor import add_rotors


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

    Gives the largest velocity error, largest |g|, and the
    squared norm of both as velocities (NaN where anything is).

    ``kick`` is the momentum with all impulses at the start node that do not depend on x; ``G, g``
    are the rows at the start, ``g_next`` at the end.
    """
    n = plan[BODIES]
    for i in range(n):
        c, t = i * BODY_SIZE, TWIST * i
        for j in range(3):
            r[t + j] = constant[c + MASS] * x[t + j] - kick[t + j]
        omega = load3(x, t + 3)
        phi = (0.5 * h * omega[0], 0.5 * h * omega[1], 0.5 * h * omega[2])
        s = math.sqrt(1.0 - phi[0] * phi[0] - phi[1] * phi[1] - phi[2] * phi[2])
        spin = multiply_matrix(constant, c + INERTIA, omega)
        turn = cross(phi, spin)
        for j in range(3):
            r[t + 3 + j] = s * spin[j] + turn[j] - kick[t + 3 + j]
    add_momenta(plan, constant, h, 1.0, 1.0, G, x, r)
    damp(plan, constant, 0.5 * h, G, x, r)
    add_rotors(plan, constant, h, g, g_next, G, r)
    rows = plan[ROWS]
    mu = pointer(x, TWIST * n)
    push(plan, constant, False, G, mu, -1.0, r)
    worst, opened, merit = 0.0, 0.0, 0.0
    rate = 1.0 / h
    c = plan[ROW_CONSTANT_AT]
    for row in range(rows):
        compliance = rate * constant[c + COMPLIANCE]
        late = constant[c + THETA] + compliance * constant[c + DAMPING]
        value = late * g_next[row] + (1.0 - late) * g[row] + compliance * mu[row]
        opened = max(opened, abs(value))
        value *= rate
        r[TWIST * n + row] = value
        merit += value * value
        c += ROW_SIZE
    for i in range(n):
        c, t = i * BODY_SIZE, TWIST * i
        light, thin = 1.0 / constant[c + MASS], 1.0 / constant[c + LARGEST_INERTIA]
        u, v, w = abs(r[t]) * light, abs(r[t + 1]) * light, abs(r[t + 2]) * light
        x, y, z = abs(r[t + 3]) * thin, abs(r[t + 4]) * thin, abs(r[t + 5]) * thin
        worst = max(worst, max(max(max(u, x), max(v, y)), max(w, z)))
        merit += (u * u + x * x) + (v * v + y * y) + (w * w + z * z)
    return worst, opened, merit
