"""Bodies in Galerkin-Lobatto steps: polynomials of degree s through control points.

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
from .layout import INERTIA, MASS, POSE, TWIST
from .motion import MOST_TURN, rotation_matrix
from .quaternion import cross, dot, load3, load4, multiply, multiply_matrix, normalized


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
    """r^ac = conj(rho^a) * rho^c as its scalar and its vector."""
    p, q = load4(turn[a], 4 * i), load4(turn[c], 4 * i)
    u, v = (p[1], p[2], p[3]), (q[1], q[2], q[3])
    w = cross(u, v)
    return p[0] * q[0] + dot(u, v), (
        p[0] * v[0] - q[0] * u[0] - w[0],
        p[0] * v[1] - q[0] * u[1] - w[1],
        p[0] * v[2] - q[0] * u[2] - w[2],
    )


@kernel
def velocities(n, slope, h, x, turn, speed, sigma):
    """(xdot^a, omega^a) and sigma^a at all nodes a."""
    s = sigma.shape[0] - 1
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
            speed[a, t + 3], speed[a, t + 4] = 2.0 / h * w0, 2.0 / h * w1
            speed[a, t + 5] = 2.0 / h * w2
            sigma[a, i] = total


@kernel
def momentum(constant, c, weights, slope, h, i, b, speed, turn, sigma):
    """R^b of body i: translational, then rotational."""
    s = weights.size - 1
    m, t = constant[c + MASS], TWIST * i
    x0, x1, x2, w0, w1, w2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(s + 1):
        part = weights[a] * slope[a * (s + 1) + b]
        v, omega = load3(speed[a], t), load3(speed[a], t + 3)
        pi = multiply_matrix(constant, c + INERTIA, omega)
        x0 += part * m * v[0]
        x1 += part * m * v[1]
        x2 += part * m * v[2]
        if a == b:
            part -= weights[a] * sigma[a, i]
            turned = cross(omega, pi)
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


@kernel
def add_skew(m, at, scale, a):
    """m[at:at + 9] <- + scale a^x, row-major."""
    m[at + 1] -= scale * a[2]
    m[at + 2] += scale * a[1]
    m[at + 3] += scale * a[2]
    m[at + 5] -= scale * a[0]
    m[at + 6] -= scale * a[1]
    m[at + 7] += scale * a[0]


@kernel
def spins(slope, h, i, speed, turn, sigma, V):
    """V^ag of body i for all nodes a, g: 3 x 3, row-major."""
    s = sigma.shape[0] - 1
    for a in range(s + 1):
        for g in range(s + 1):
            at, b = 9 * (a * (s + 1) + g), slope[a * (s + 1) + g]
            for k in range(9):
                V[at + k] = 0.0
            if a == g:
                scalar = b - sigma[a, i]
                add_skew(V, at, 0.5 * h, load3(speed[a], TWIST * i + 3))
            else:
                scalar, vector = between(turn, i, a, g)
                scalar *= b
                add_skew(V, at, b, vector)
            for k in range(3):
                V[at + 4 * k] += scalar


@kernel
def add_crosses(m, scale, p, v):
    """m <- + scale p^x v^x = scale (v p^T - (p . v) I), row-major."""
    along = scale * dot(p, v)
    for i in range(3):
        for j in range(3):
            m[3 * i + j] += scale * v[i] * p[j]
        m[4 * i] -= along


@kernel
def bend(weights, slope, h, i, a, b, g, pi, speed, turn, V, m):
    """m <- + w^a h^2 d((V^ab / h)^T pi) / d theta^g with pi held."""
    s = weights.size - 1
    w = weights[a]
    if a == b:
        at = a * (s + 1) + g
        if g == a:
            rate = load3(speed[a], TWIST * i + 3)
            part = -0.25 * w * h * h
        else:
            _, rate = between(turn, i, a, g)
            part = 0.5 * w * h * slope[at]
        for j in range(3):
            for k in range(3):
                m[3 * j + k] += part * pi[j] * rate[k]
        for k in range(3):  # (h/2) pi^x V^ag, column by column
            column = (V[9 * at + k], V[9 * at + 3 + k], V[9 * at + 6 + k])
            turned = cross(pi, column)
            for j in range(3):
                m[3 * j + k] += 0.5 * w * h * turned[j]
    elif g == b or g == a:
        sign = 1.0 if g == b else -1.0
        part = 0.5 * w * h * slope[a * (s + 1) + b]
        scalar, vector = between(turn, i, a, b)
        for j in range(3):
            for k in range(3):
                m[3 * j + k] -= sign * part * pi[j] * vector[k]
        add_skew(m, 0, sign * part * scalar, pi)
        add_crosses(m, part, pi, vector)


@kernel
def inertia_block(constant, c, weights, slope, h, i, at, speed, turn, sigma, V, JV, m, values):
    """Block of body i: -h dR^b / d(x, theta)^g at row 6 b, column 6 (g - 1); fills it, and V."""
    s = weights.size - 1
    side = TWIST * s
    for k in range(side * side):
        values[at + k] = 0.0
    spins(slope, h, i, speed, turn, sigma, V)
    for p in range((s + 1) * (s + 1)):
        for k in range(3):
            column = multiply_matrix(
                constant, c + INERTIA, (V[9 * p + k], V[9 * p + 3 + k], V[9 * p + 6 + k])
            )
            for j in range(3):
                JV[9 * p + 3 * j + k] = column[j]
    for b in range(s):
        for g in range(1, s + 1):
            heavy = 0.0
            for k in range(9):
                m[k] = 0.0
            for a in range(s + 1):
                w, left, right = weights[a], a * (s + 1) + b, a * (s + 1) + g
                heavy += w * slope[left] * slope[right]
                for j in range(3):
                    for k in range(3):
                        total = 0.0
                        for e in range(3):
                            total += V[9 * left + 3 * e + j] * JV[9 * right + 3 * e + k]
                        m[3 * j + k] += w * total
                omega = load3(speed[a], TWIST * i + 3)
                pi = multiply_matrix(constant, c + INERTIA, omega)
                bend(weights, slope, h, i, a, b, g, pi, speed, turn, V, m)
            to = at + TWIST * b + side * TWIST * (g - 1)
            for j in range(3):
                values[to + j + side * j] = -heavy * constant[c + MASS]
                for k in range(3):
                    values[to + 3 + j + side * (3 + k)] = -m[3 * j + k]
