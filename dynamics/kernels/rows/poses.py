"""Poses: where a step of constant velocity leads, how far it turns, and rotation matrices."""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import BODIES, BODY_SIZE, CONTACTS, INERTIA, MASS, POSE, TWIST
from dynamics.kernels.base.quaternion import dot, load3, load4, multiply_matrix, renormalized

#: Largest |phi| of a step, phi the sine of half the angle that a body turns.
MOST_TURN = 0.95
#: |phi| of 0.6 rad, up to which one of several bodies may turn where contacts take part. If each
#: counts by itself, heaps and driven walkers take 1.25 to 1.3 times the factorizations.
ALONE = 0.2955202066613396


@kernel
def rotation_matrix(pose, at, matrix, to):
    """Q(q), row-major."""
    s, x, y, z = pose[at], pose[at + 1], pose[at + 2], pose[at + 3]
    matrix[to] = 1.0 - 2.0 * (y * y + z * z)
    matrix[to + 1] = 2.0 * (x * y - s * z)
    matrix[to + 2] = 2.0 * (x * z + s * y)
    matrix[to + 3] = 2.0 * (x * y + s * z)
    matrix[to + 4] = 1.0 - 2.0 * (x * x + z * z)
    matrix[to + 5] = 2.0 * (y * z - s * x)
    matrix[to + 6] = 2.0 * (x * z - s * y)
    matrix[to + 7] = 2.0 * (y * z + s * x)
    matrix[to + 8] = 1.0 - 2.0 * (x * x + y * y)


@kernel
def rotation_matrices(n, pose, matrix):
    """Q(q_i) of all bodies and the world."""
    for i in range(n + 1):
        rotation_matrix(pose, POSE * i + 3, matrix, 9 * i)


@kernel
def move(n, h, pose, u, moved, matrix):
    """z <- z + h u (theory/step (1)), with |phi| at most MOST_TURN."""
    for i in range(n):
        p, t = POSE * i, TWIST * i
        for j in range(3):
            moved[p + j] = pose[p + j] + h * u[t + j]
        x, y, z = 0.5 * h * u[t + 3], 0.5 * h * u[t + 4], 0.5 * h * u[t + 5]
        square = x * x + y * y + z * z
        if square > MOST_TURN * MOST_TURN:
            scale = MOST_TURN / math.sqrt(square)
            x, y, z = x * scale, y * scale, z * scale
            for j in range(3, 6):
                u[t + j] *= scale
            square = MOST_TURN * MOST_TURN
        a, b, c, d = renormalized(load4(pose, p + 3))
        s = math.sqrt(1.0 - square)
        q = (
            a * s - (b * x + c * y + d * z),
            b * s + (a * x + c * z - d * y),
            c * s + (a * y - b * z + d * x),
            d * s + (a * z + b * y - c * x),
        )
        moved[p + 3], moved[p + 4], moved[p + 5], moved[p + 6] = q
        rotation_matrix(moved, p + 3, matrix, 9 * i)


@kernel
def turns(n, h, u):
    """Largest |phi| of an interval."""
    most = 0.0
    for k in range(n):
        w = load3(u, TWIST * k + 3)
        most = max(most, w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    return 0.5 * h * math.sqrt(most)


@kernel
def turns_too_far(plan, constant, h, u, limit):
    """True if bodies turn too far in an interval: one above ``limit``, with contacts their mean.

    The mean of |phi|^2 is weighted by kinetic energy, as is the effect of turns on the energy: a
    long chain on the ground has a sphere that turns fast in most of its steps.
    """
    n = plan[BODIES]
    most = turns(n, h, u)
    if plan[CONTACTS] == 0 or most <= limit or most > max(limit, ALONE):
        return most > limit
    energy = turned = 0.0
    for k in range(n):
        c = k * BODY_SIZE
        v, w = load3(u, TWIST * k), load3(u, TWIST * k + 3)
        part = constant[c + MASS] * dot(v, v)
        part += dot(w, multiply_matrix(constant, c + INERTIA, w))
        energy += part
        turned += part * dot(w, w)
    return 0.25 * h * h * turned > limit * limit * energy
