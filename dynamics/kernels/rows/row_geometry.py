"""Geometry between two frames: angles, headings and lowest points, some with slopes."""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.lanes import where
from dynamics.kernels.base.quaternion import cross, dot, rotate


@kernel
def angle_about(n, rho):
    """2 atan2(n . v, s), and its derivative with respect to theta_b."""
    v = (rho[1], rho[2], rho[3])
    along = dot(n, v)
    scale = 1.0 / (rho[0] * rho[0] + along * along)
    nv = cross(n, v)
    s, c = rho[0] * scale, along * scale
    slope = (
        s * (rho[0] * n[0] + nv[0]) + c * v[0],
        s * (rho[0] * n[1] + nv[1]) + c * v[1],
        s * (rho[0] * n[2] + nv[2]) + c * v[2],
    )
    return 2.0 * math.atan2(along, rho[0]), slope


@kernel
def carried(off, rho, slope):
    """Derivative with respect to theta_a, from that with respect to theta_b: -Q_a^T Q_b slope."""
    back = rotate(off, rotate(rho, slope))
    return -back[0], -back[1], -back[2]


@kernel
def logarithm(n, rho):
    """n . phi for phi = log rho, and its derivative with respect to theta_b, J_r(phi)^-T n."""
    sign = where(rho[0] >= 0.0, 1.0, -1.0)
    v = (sign * rho[1], sign * rho[2], sign * rho[3])
    sine = math.sqrt(dot(v, v))
    half = math.atan2(sine, sign * rho[0])
    over = 1.0 / max(sine, 1e-8)
    scale = where(sine < 1e-8, 2.0, 2.0 * half * over)
    phi = (scale * v[0], scale * v[1], scale * v[2])
    # (1 - (phi/2) cot(phi/2)) / phi^2, by its series near 0
    far = max(half, 1e-2)
    whole = (1.0 - half * sign * rho[0] * over) / (4.0 * far * far)
    c = where(half > 1e-2, whole, 1.0 / 12.0 + half * half / 180.0)
    one = cross(phi, n)
    two = cross(phi, one)
    slope = (
        n[0] - 0.5 * one[0] + c * two[0],
        n[1] - 0.5 * one[1] + c * two[1],
        n[2] - 0.5 * one[2] + c * two[2],
    )
    return dot(n, phi), slope


@kernel
def heading(n, zero, now):
    """Angle about n from one vector across n to another."""
    return math.atan2(dot(n, cross(zero, now)), dot(zero, now))


@kernel
def lowest_point(up, axis, radius):
    """From the centre of a ball, or of a disc with this axis, to its lowest point."""
    c = dot(up, axis)
    v = (up[0] - c * axis[0], up[1] - c * axis[1], up[2] - c * axis[2])
    scale = -radius / math.sqrt(dot(v, v))
    return v[0] * scale, v[1] * scale, v[2] * scale
