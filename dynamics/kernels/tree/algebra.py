"""Twists and wrenches as six numbers, [rotation, translation]; 3 x 3 matrices as nine."""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.quaternion import cross


@kernel
def load6(x, at):
    """x[at:at + 6] as numbers."""
    return x[at], x[at + 1], x[at + 2], x[at + 3], x[at + 4], x[at + 5]


@kernel
def store6(a, x, at):
    """x[at:at + 6] <- a."""
    x[at] = a[0]
    x[at + 1] = a[1]
    x[at + 2] = a[2]
    x[at + 3] = a[3]
    x[at + 4] = a[4]
    x[at + 5] = a[5]


@kernel
def add6(a, x, at):
    """x[at:at + 6] <- x[at:at + 6] + a."""
    x[at] += a[0]
    x[at + 1] += a[1]
    x[at + 2] += a[2]
    x[at + 3] += a[3]
    x[at + 4] += a[4]
    x[at + 5] += a[5]


@kernel
def dot6(a, b):
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@kernel
def ad(v, x):
    """ad_v x = [w^ 0; v^ w^] x."""
    a, b, c = cross((v[0], v[1], v[2]), (x[0], x[1], x[2]))
    d, e, f = cross((v[3], v[4], v[5]), (x[0], x[1], x[2]))
    g, h, i = cross((v[0], v[1], v[2]), (x[3], x[4], x[5]))
    return a, b, c, d + g, e + h, f + i


@kernel
def ad_dual(wrench, v):
    """ad_v^T F = ad^D_F v = [t^ f^; f^ 0] v for F = [t, f]."""
    f = (wrench[3], wrench[4], wrench[5])
    a, b, c = cross((wrench[0], wrench[1], wrench[2]), (v[0], v[1], v[2]))
    d, e, g = cross(f, (v[3], v[4], v[5]))
    x, y, z = cross(f, (v[0], v[1], v[2]))
    return a + d, b + e, c + g, x, y, z


@kernel
def load9(x, at):
    """x[at:at + 9] as numbers."""
    return (
        x[at], x[at + 1], x[at + 2], x[at + 3], x[at + 4],
        x[at + 5], x[at + 6], x[at + 7], x[at + 8],
    )  # fmt: skip


@kernel
def apply(m, a):
    """M a."""
    return (
        m[0] * a[0] + m[1] * a[1] + m[2] * a[2],
        m[3] * a[0] + m[4] * a[1] + m[5] * a[2],
        m[6] * a[0] + m[7] * a[1] + m[8] * a[2],
    )


@kernel
def apply_transposed(m, a):
    """M^T a."""
    return (
        m[0] * a[0] + m[3] * a[1] + m[6] * a[2],
        m[1] * a[0] + m[4] * a[1] + m[7] * a[2],
        m[2] * a[0] + m[5] * a[1] + m[8] * a[2],
    )


@kernel
def product(m, n):
    """M N."""
    return (
        m[0] * n[0] + m[1] * n[3] + m[2] * n[6],
        m[0] * n[1] + m[1] * n[4] + m[2] * n[7],
        m[0] * n[2] + m[1] * n[5] + m[2] * n[8],
        m[3] * n[0] + m[4] * n[3] + m[5] * n[6],
        m[3] * n[1] + m[4] * n[4] + m[5] * n[7],
        m[3] * n[2] + m[4] * n[5] + m[5] * n[8],
        m[6] * n[0] + m[7] * n[3] + m[8] * n[6],
        m[6] * n[1] + m[7] * n[4] + m[8] * n[7],
        m[6] * n[2] + m[7] * n[5] + m[8] * n[8],
    )


@kernel
def transposed(m):
    """M^T."""
    return m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]


@kernel
def add9(m, n):
    """M + N."""
    return (
        m[0] + n[0], m[1] + n[1], m[2] + n[2], m[3] + n[3], m[4] + n[4],
        m[5] + n[5], m[6] + n[6], m[7] + n[7], m[8] + n[8],
    )  # fmt: skip


@kernel
def skew(a):
    """a^, with a^ b = a x b."""
    return 0.0, -a[2], a[1], a[2], 0.0, -a[0], -a[1], a[0], 0.0


@kernel
def exponential(body, at, angle):
    """exp(S angle) as a rotation and an origin, S = [s, t] with s a unit vector or zero."""
    s = (body[at], body[at + 1], body[at + 2])
    t = (body[at + 3], body[at + 4], body[at + 5])
    if s[0] == 0.0 and s[1] == 0.0 and s[2] == 0.0:
        one, zero = 1.0, 0.0
        turn = (one, zero, zero, zero, one, zero, zero, zero, one)
        return turn, (t[0] * angle, t[1] * angle, t[2] * angle)
    sine, versine = math.sin(angle), 2.0 * math.sin(0.5 * angle) ** 2
    x, y, z = s
    turn = (
        1.0 - versine * (y * y + z * z), versine * x * y - sine * z, versine * x * z + sine * y,
        versine * x * y + sine * z, 1.0 - versine * (x * x + z * z), versine * y * z - sine * x,
        versine * x * z - sine * y, versine * y * z + sine * x, 1.0 - versine * (x * x + y * y),
    )  # fmt: skip
    # p = (angle I + versine s^ + (angle - sine) s^ s^) t
    a = cross(s, t)
    b = cross(s, a)
    rest = angle - sine
    return turn, (
        angle * t[0] + versine * a[0] + rest * b[0],
        angle * t[1] + versine * a[1] + rest * b[1],
        angle * t[2] + versine * a[2] + rest * b[2],
    )


@kernel
def subtract_dual(wrench, scale, out, at, width):
    """out <- out - scale ad^D_F, the 6 x 6 block at ``at`` of a matrix with rows of ``width``."""
    for block in range(3):
        row, column = (0, 0) if block == 0 else ((0, 3) if block == 1 else (3, 0))
        x = 0 if block == 0 else 3
        a, b, c = scale * wrench[x], scale * wrench[x + 1], scale * wrench[x + 2]
        place = at + row * width + column
        out[place + 1] += c
        out[place + 2] -= b
        out[place + width] -= c
        out[place + width + 2] += a
        out[place + 2 * width] += b
        out[place + 2 * width + 1] -= a


@kernel
def add_block9(m, scale, out, at, width):
    """out <- out + scale M, the 3 x 3 block at ``at`` of a matrix with rows of ``width``."""
    out[at] += scale * m[0]
    out[at + 1] += scale * m[1]
    out[at + 2] += scale * m[2]
    at += width
    out[at] += scale * m[3]
    out[at + 1] += scale * m[4]
    out[at + 2] += scale * m[5]
    at += width
    out[at] += scale * m[6]
    out[at + 1] += scale * m[7]
    out[at + 2] += scale * m[8]


@kernel
def add_spatial(matrix, at, turn, origin, scale, out, out_at, width):
    """out <- out + scale Ad_g^-T M Ad_g^-1 for a symmetric M of the body's frame."""
    rotated = transposed(turn)
    A = product(product(turn, _block(matrix, at)), rotated)
    B = product(product(turn, _block(matrix, at + 3)), rotated)
    C = product(product(turn, _block(matrix, at + 21)), rotated)
    hat = skew(origin)
    # Ad_g^-1 = Ad_R^-1 [1 0; -p^ 1]
    shifted = add9(B, product(hat, C))
    corner = add9(A, product(hat, transposed(B)))
    add_block9(corner, scale, out, out_at, width)
    add_block9(product(shifted, hat), -scale, out, out_at, width)
    add_block9(shifted, scale, out, out_at + 3, width)
    add_block9(transposed(shifted), scale, out, out_at + 3 * width, width)
    add_block9(C, scale, out, out_at + 3 * width + 3, width)


@kernel
def _block(matrix, at):
    """3 x 3 block of a 6 x 6 matrix."""
    return (
        matrix[at], matrix[at + 1], matrix[at + 2], matrix[at + 6], matrix[at + 7],
        matrix[at + 8], matrix[at + 12], matrix[at + 13], matrix[at + 14],
    )  # fmt: skip


@kernel
def multiply6(x, at, v):
    """A v for the 6 x 6 matrix A."""
    return (
        dot6(load6(x, at), v), dot6(load6(x, at + 6), v), dot6(load6(x, at + 12), v),
        dot6(load6(x, at + 18), v), dot6(load6(x, at + 24), v), dot6(load6(x, at + 30), v),
    )  # fmt: skip
