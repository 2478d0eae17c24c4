"""Poses: where a step of constant velocity leads, and rotation matrices."""

import math

from .jit import kernel
from .layout import POSE, TWIST
from .quaternion import normalized

#: Largest |phi| of a step, phi the sine of half the angle that a body turns.
MOST_TURN = 0.95


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
    """z <- z + h u (theory/step (1)); the largest |phi| of a step, at most MOST_TURN."""
    most = 0.0
    for i in range(n):
        p, t = POSE * i, TWIST * i
        for j in range(3):
            moved[p + j] = pose[p + j] + h * u[t + j]
        x, y, z = 0.5 * h * u[t + 3], 0.5 * h * u[t + 4], 0.5 * h * u[t + 5]
        turn = math.sqrt(x * x + y * y + z * z)
        most = max(most, turn)
        if turn > MOST_TURN:
            scale = MOST_TURN / turn
            x, y, z = x * scale, y * scale, z * scale
            for j in range(3, 6):
                u[t + j] *= scale
        s = math.sqrt(1.0 - x * x - y * y - z * z)
        a, b, c, d = pose[p + 3], pose[p + 4], pose[p + 5], pose[p + 6]
        q = normalized(
            (
                a * s - b * x - c * y - d * z,
                a * x + b * s + c * z - d * y,
                a * y - b * z + c * s + d * x,
                a * z + b * y - c * x + d * s,
            )
        )
        moved[p + 3], moved[p + 4], moved[p + 5], moved[p + 6] = q
        rotation_matrix(moved, p + 3, matrix, 9 * i)
    return most
