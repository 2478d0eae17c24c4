"""Bodies with an inertia of 6 x 6: what their kinetic energy adds to that of a rigid body.

The discrete twist of an interval is that of Xu and Halse (2016), from the dual quaternion between
its ends: ``omega`` and ``w = (s I - phi^x) Q_k^T v = (s I + phi^x) Q_k+1^T v``, twice (Phi, Psi)
over h. With M [omega; w] = [mu_a; mu_b] and t = -(h/2) phi . Q^T v the momenta of its ends are, for
``side`` 1 at the start and -1 at the end,

    linear   s mu_b + side phi x mu_b
    angular  t mu_b + side (h/2) w x mu_b + s mu_a + side phi x mu_a

(eqs. 4.31 to 4.34), both along the body's axes. A rigid body's ``m v`` and the part of its block of
rotation are written by others: ``m v`` is taken off here, and that block of M is 0. The rows of G
at the node, three a body, are the body's axes in the world.
"""

import math

from dynamics.kernels.base.jit import kernel, lazy
from dynamics.kernels.base.layout import (
    ADDED,
    ADDED_AT,
    ADDED_BODY,
    ADDED_FIELDS,
    ADDED_ROW,
    BODY_AT,
    BODY_SIZE,
    MASS,
    POSE,
    SPATIAL,
    TWIST,
)
from dynamics.kernels.base.quaternion import cross, dot, load3, load4, rotate, rotate_back


@kernel
def spatial_product(constant, m, a, b):
    """M [a; b] as two vectors, M row-major at ``constant[m]``."""
    y = (0.0, 0.0, 0.0)
    z = (0.0, 0.0, 0.0)
    for k in range(3):
        i, j = m + k, m + 3 + k
        y = (
            y[0] + constant[i] * a[k] + constant[j] * b[k],
            y[1] + constant[i + 6] * a[k] + constant[j + 6] * b[k],
            y[2] + constant[i + 12] * a[k] + constant[j + 12] * b[k],
        )
        z = (
            z[0] + constant[i + 18] * a[k] + constant[j + 18] * b[k],
            z[1] + constant[i + 24] * a[k] + constant[j + 24] * b[k],
            z[2] + constant[i + 30] * a[k] + constant[j + 30] * b[k],
        )
    return y, z


@kernel
def combined(s, side, phi, a):
    """(s I + side phi^x) a."""
    x = cross(phi, a)
    return s * a[0] + side * x[0], s * a[1] + side * x[1], s * a[2] + side * x[2]


@kernel
def added(a, b):
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel
def along_axes(G, row, v):
    """Q^T v, Q by the three rows from ``row`` on."""
    x, y, z = load3(G, 12 * row + 6), load3(G, 12 * row + 18), load3(G, 12 * row + 30)
    return dot(x, v), dot(y, v), dot(z, v)


@kernel
def in_world(G, row, v):
    """Q v."""
    i, j, k = 12 * row + 6, 12 * row + 18, 12 * row + 30
    return (
        G[i] * v[0] + G[j] * v[1] + G[k] * v[2],
        G[i + 1] * v[0] + G[j + 1] * v[1] + G[k + 1] * v[2],
        G[i + 2] * v[0] + G[j + 2] * v[1] + G[k + 2] * v[2],
    )


@lazy("None")
def add_momenta(plan, constant, h, side, scale, G, u, p):
    """p <- p + scale (momenta of the interval u - m v), at its start (side 1) or end (-1)."""
    for one in range(plan[ADDED]):
        at = plan[ADDED_AT] + one * ADDED_FIELDS
        body, row, m = plan[at + ADDED_BODY], plan[at + ADDED_ROW], plan[at + SPATIAL]
        t = TWIST * body
        v, omega = load3(u, t), load3(u, t + 3)
        d = along_axes(G, row, v)
        phi = (0.5 * h * omega[0], 0.5 * h * omega[1], 0.5 * h * omega[2])
        s = math.sqrt(1.0 - dot(phi, phi))
        w = combined(s, -side, phi, d)
        psi = (0.5 * h * w[0], 0.5 * h * w[1], 0.5 * h * w[2])
        a, b = spatial_product(constant, m, omega, w)
        linear = in_world(G, row, combined(s, side, phi, b))
        angular = added(
            combined(-0.5 * h * dot(phi, d), side, psi, b),
            combined(s, side, phi, a),
        )
        for j in range(3):
            p[t + j] += scale * (linear[j] - constant[body * BODY_SIZE + MASS] * v[j])
            p[t + 3 + j] += scale * angular[j]


@kernel
def changed(constant, h, side, m, G, row, v, omega, dv, domega, theta):
    """Linear and angular momentum of an end, changed by dv, domega and a turn of the body."""
    d = along_axes(G, row, v)
    dd = added(along_axes(G, row, dv), cross(d, theta))
    phi = (0.5 * h * omega[0], 0.5 * h * omega[1], 0.5 * h * omega[2])
    dphi = (0.5 * h * domega[0], 0.5 * h * domega[1], 0.5 * h * domega[2])
    s = math.sqrt(1.0 - dot(phi, phi))
    ds = -dot(phi, dphi) / s
    w = combined(s, -side, phi, d)
    dw = added(combined(ds, -side, dphi, d), combined(s, -side, phi, dd))
    psi = (0.5 * h * w[0], 0.5 * h * w[1], 0.5 * h * w[2])
    dpsi = (0.5 * h * dw[0], 0.5 * h * dw[1], 0.5 * h * dw[2])
    t, dt = -0.5 * h * dot(phi, d), -0.5 * h * (dot(dphi, d) + dot(phi, dd))
    a, b = spatial_product(constant, m, omega, w)
    da, db = spatial_product(constant, m, domega, dw)
    low = combined(s, side, phi, b)
    dlow = added(combined(ds, side, dphi, b), combined(s, side, phi, db))
    linear = in_world(G, row, added(dlow, cross(theta, low)))
    shifted = added(combined(dt, side, dpsi, b), combined(t, side, psi, db))
    angular = added(shifted, added(combined(ds, side, dphi, a), combined(s, side, phi, da)))
    return linear, angular


@lazy("None")
def add_blocks(plan, constant, h, G, u, values):
    """d (momenta at the start - m v) / d u to the diagonal blocks, after `matrix.bodies`."""
    zero = (0.0, 0.0, 0.0)
    for one in range(plan[ADDED]):
        at = plan[ADDED_AT] + one * ADDED_FIELDS
        body, row, m = plan[at + ADDED_BODY], plan[at + ADDED_ROW], plan[at + SPATIAL]
        v, omega = load3(u, TWIST * body), load3(u, TWIST * body + 3)
        for k in range(TWIST):
            e = (1.0 * (k % 3 == 0), 1.0 * (k % 3 == 1), 1.0 * (k % 3 == 2))
            linear, angular = changed(
                constant, h, 1.0, m, G, row, v, omega, e if k < 3 else zero, zero if k < 3 else e,
                zero,
            )  # fmt: skip
            to = plan[plan[BODY_AT] + body] + TWIST * k
            for j in range(3):
                values[to + j] += linear[j]
                values[to + 3 + j] += angular[j]
            if k < 3:
                values[to + k] -= constant[body * BODY_SIZE + MASS]


@lazy("None")
def add_changes(plan, constant, h, side, scale, G, u, du, first, dz, out, to):
    """out <- out + scale d (momenta of an end - m v) along du[first:] and poses dz."""
    for one in range(plan[ADDED]):
        at = plan[ADDED_AT] + one * ADDED_FIELDS
        body, row, m = plan[at + ADDED_BODY], plan[at + ADDED_ROW], plan[at + SPATIAL]
        t = TWIST * body
        dv = load3(du, first + t)
        linear, angular = changed(
            constant, h, side, m, G, row, load3(u, t), load3(u, t + 3), dv,
            load3(du, first + t + 3), load3(dz, t + 3),
        )  # fmt: skip
        for j in range(3):
            out[to + t + j] += scale * (linear[j] - constant[body * BODY_SIZE + MASS] * dv[j])
            out[to + t + 3 + j] += scale * angular[j]


@lazy("float")
def added_energy(plan, constant, state, u):
    """Kinetic energy of the twists u that a rigid body's m and J leave out."""
    total = 0.0
    for one in range(plan[ADDED]):
        at = plan[ADDED_AT] + one * ADDED_FIELDS
        body, m = plan[at + ADDED_BODY], plan[at + SPATIAL]
        v, omega = load3(u, TWIST * body), load3(u, TWIST * body + 3)
        d = rotate_back(load4(state, POSE * body + 3), v)
        a, b = spatial_product(constant, m, omega, d)
        total += 0.5 * (dot(omega, a) + dot(d, b))
        total -= 0.5 * constant[body * BODY_SIZE + MASS] * dot(v, v)
    return total


@lazy("None")
def add_total(plan, constant, state, u, out):
    """Linear momentum, and angular about the world's origin, that m and J leave out."""
    for one in range(plan[ADDED]):
        at = plan[ADDED_AT] + one * ADDED_FIELDS
        body, m = plan[at + ADDED_BODY], plan[at + SPATIAL]
        v, omega = load3(u, TWIST * body), load3(u, TWIST * body + 3)
        q, x = load4(state, POSE * body + 3), load3(state, POSE * body)
        a, b = spatial_product(constant, m, omega, rotate_back(q, v))
        mass = constant[body * BODY_SIZE + MASS]
        linear = added(rotate(q, b), (-mass * v[0], -mass * v[1], -mass * v[2]))
        angular = added(rotate(q, a), cross(x, linear))
        for j in range(3):
            out[j] += linear[j]
            out[3 + j] += angular[j]
