"""Bodies in Galerkin-Lobatto steps: polynomials of degree s, theory/galerkin (1) to (5).

With nodes a = 0..s, weights w, slopes b^ab and unknowns y^g (velocity units, g = 1..s) of a body,

    x^g = x^0 + h y_T^g,     q^g = q^0 * rho^g,     rho^g = [sqrt(1 - |phi|^2), phi = h y_R^g / 2],
    xdot^a = sum b^ag y_T^g,  omega^a = (2 / h) sum b^ac V(r^ac),  r^ac = conj(rho^a) * rho^c,

velocities being slopes of the polynomials in R^3 x R^4. Changes theta^g of the control points
(rotation vectors, body frame) change ``h omega^a`` by ``V^ag theta^g``:

    V^ag = b^ag (s I + v^x),  [s, v] = r^ag,    V^aa = (b^aa - sigma^a) I + (h/2) (omega^a)^x,

with ``sigma^a = sum b^ac s^ac``; so the discrete Lagrangian's slope at node b is
``R^b = sum w^a (b^ab m xdot^a, (V^ab)^T J omega^a)``. Degree s = 1 is the second-order step.
"""

import math

from .jit import kernel
from .layout import BODY_SIZE, INERTIA, POSE, TWIST
from .motion import MOST_TURN, rotation_matrix
from .quaternion import cross, dot, load3, load4, multiply, multiply_matrix, normalized

ZERO = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@kernel
def control_points(n, s, h, x, pose, matrix, turn):
    """(z^a, Q^a, rho^a), a = 1..s, from the unknowns y; the largest |phi|, at most MOST_TURN."""
    most = 0.0
    for i in range(n):
        p = POSE * i
        q0 = load4(pose[0], p + 3)
        for a in range(1, s + 1):
            t = TWIST * (s * i + a - 1)
            phi = (0.5 * h * x[t + 3], 0.5 * h * x[t + 4], 0.5 * h * x[t + 5])
            size = math.sqrt(dot(phi, phi))
            most = max(most, size)
            if size > MOST_TURN:
                scale = MOST_TURN / size
                phi = (phi[0] * scale, phi[1] * scale, phi[2] * scale)
                for j in range(3, 6):
                    x[t + j] *= scale
            rho = (math.sqrt(1.0 - dot(phi, phi)), phi[0], phi[1], phi[2])
            q = normalized(multiply(q0, rho))
            for j in range(3):
                pose[a, p + j] = pose[0, p + j] + h * x[t + j]
            for j in range(4):
                turn[a, 4 * i + j] = rho[j]
                pose[a, p + 3 + j] = q[j]
            rotation_matrix(pose[a], p + 3, matrix[a], 9 * i)
    return most


@kernel
def between(turn, i, a, c):
    """r^ac = conj(rho^a) * rho^c as its scalar and its vector; rho^0 is 1."""
    p, q = load4(turn[a], 4 * i), load4(turn[c], 4 * i)
    u, v = (p[1], p[2], p[3]), (q[1], q[2], q[3])
    if a == 0:
        return q[0], v
    if c == 0:
        return p[0], (-u[0], -u[1], -u[2])
    w = cross(u, v)
    return p[0] * q[0] + dot(u, v), (
        p[0] * v[0] - q[0] * u[0] - w[0],
        p[0] * v[1] - q[0] * u[1] - w[1],
        p[0] * v[2] - q[0] * u[2] - w[2],
    )


@kernel
def velocities(n, constant, slope, h, x, turn, speed, spin, sigma):
    """(xdot^a, omega^a), pi^a and sigma^a at all nodes a."""
    s, rate = sigma.shape[0] - 1, 2.0 / h
    for i in range(n):
        for a in range(s + 1):
            x0, x1, x2, w0, w1, w2, total = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for c in range(s + 1):
                b = slope[a * (s + 1) + c]
                if c > 0:
                    t = TWIST * (s * i + c - 1)
                    x0 += b * x[t]
                    x1 += b * x[t + 1]
                    x2 += b * x[t + 2]
                if c == a:
                    total += b
                    continue
                scalar, vector = between(turn, i, a, c)
                total += b * scalar
                w0 += b * vector[0]
                w1 += b * vector[1]
                w2 += b * vector[2]
            t = TWIST * i
            speed[a, t], speed[a, t + 1], speed[a, t + 2] = x0, x1, x2
            omega = (rate * w0, rate * w1, rate * w2)
            speed[a, t + 3], speed[a, t + 4], speed[a, t + 5] = omega
            pi = multiply_matrix(constant, i * BODY_SIZE + INERTIA, omega)
            spin[a, 3 * i], spin[a, 3 * i + 1], spin[a, 3 * i + 2] = pi
            sigma[a, i] = total


@kernel
def momentum(m, weights, slope, h, i, b, speed, spin, turn, sigma):
    """R^b of body i of mass m: translational, then rotational."""
    s = weights.size - 1
    t = TWIST * i
    x0, x1, x2, w0, w1, w2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(s + 1):
        part = weights[a] * slope[a * (s + 1) + b]
        v, pi = load3(speed[a], t), load3(spin[a], 3 * i)
        x0 += part * m * v[0]
        x1 += part * m * v[1]
        x2 += part * m * v[2]
        if a == b:
            part -= weights[a] * sigma[a, i]
            turned = cross(load3(speed[a], t + 3), pi)
            back = 0.5 * h * weights[a]
        else:
            scalar, vector = between(turn, i, a, b)
            turned = cross(vector, pi)
            back = part
            part *= scalar
        w0 += part * pi[0] - back * turned[0]
        w1 += part * pi[1] - back * turned[1]
        w2 += part * pi[2] - back * turned[2]
    return (x0, x1, x2), (w0, w1, w2)
