"""Quaternions ``[s, v]`` (Hamilton product, unit, body to world) and small vectors as scalars.

Functions take and give tuples of numbers, so that LLVM keeps them in registers.
"""

import math

from dynamics.kernels.base.jit import kernel, natural
from dynamics.kernels.base.lanes import some

#: Error of |q|^2 whose square is less than rounding.
NEARLY = 1e-8


@kernel
def multiply(p, q):
    """p * q."""
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


@kernel
def conjugate(q):
    """q*: the inverse rotation."""
    return q[0], -q[1], -q[2], -q[3]


@kernel
def normalized(q):
    """q / |q|."""
    scale = 1.0 / math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return q[0] * scale, q[1] * scale, q[2] * scale, q[3] * scale


@kernel
def renormalized(q):
    """q / |q|, quickly where only rounding errors are to be taken out."""
    square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]
    if some(abs(square - 1.0) > NEARLY):
        return normalized(q)
    scale = 1.5 - 0.5 * square
    return q[0] * scale, q[1] * scale, q[2] * scale, q[3] * scale


@kernel
def cross(a, b):
    """a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def dot(a, b):
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def rotate(q, a):
    """Q(q) a: a vector of the body's frame in the world's."""
    x, y, z = cross((q[1], q[2], q[3]), a)
    x, y, z = 2.0 * x, 2.0 * y, 2.0 * z
    u, v, w = cross((q[1], q[2], q[3]), (x, y, z))
    return a[0] + q[0] * x + u, a[1] + q[0] * y + v, a[2] + q[0] * z + w


@kernel
def rotate_back(q, a):
    """Q(q)^T a: a vector of the world's frame in the body's."""
    return rotate((q[0], -q[1], -q[2], -q[3]), a)


@kernel
def load3(x, at):
    """x[at:at + 3] as numbers."""
    at = natural(at)
    return x[at], x[at + 1], x[at + 2]


@kernel
def load4(x, at):
    """x[at:at + 4] as numbers."""
    at = natural(at)
    return x[at], x[at + 1], x[at + 2], x[at + 3]


@kernel
def multiply_matrix(m, at, a):
    """M a for the 3 x 3 matrix M, row-major at ``m[at:at + 9]``."""
    at = natural(at)
    return (
        m[at] * a[0] + m[at + 1] * a[1] + m[at + 2] * a[2],
        m[at + 3] * a[0] + m[at + 4] * a[1] + m[at + 5] * a[2],
        m[at + 6] * a[0] + m[at + 7] * a[1] + m[at + 8] * a[2],
    )
