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
from .layout import INERTIA, MASS, POSE, TWIST
from .matrix import stretched_by
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
def load9(m, at):
    """The nine numbers at m[at]: a row-major 3 x 3, as all m below."""
    return (
        m[at], m[at + 1], m[at + 2], m[at + 3], m[at + 4], m[at + 5], m[at + 6], m[at + 7],
        m[at + 8],
    )  # fmt: skip


@kernel
def store9(m, at, a):
    """m[at:at + 9] <- a."""
    m[at], m[at + 1], m[at + 2] = a[0], a[1], a[2]
    m[at + 3], m[at + 4], m[at + 5] = a[3], a[4], a[5]
    m[at + 6], m[at + 7], m[at + 8] = a[6], a[7], a[8]


@kernel
def scaled9(c, m, at):
    """c times the nine numbers at m[at]."""
    return (
        c * m[at], c * m[at + 1], c * m[at + 2], c * m[at + 3], c * m[at + 4], c * m[at + 5],
        c * m[at + 6], c * m[at + 7], c * m[at + 8],
    )  # fmt: skip


@kernel
def add_skew(m, d, a):
    """m + d I + a^x."""
    return (
        m[0] + d, m[1] - a[2], m[2] + a[1],
        m[3] + a[2], m[4] + d, m[5] - a[0],
        m[6] - a[1], m[7] + a[0], m[8] + d,
    )  # fmt: skip


@kernel
def add_outer(m, c, a, b):
    """m + c a b^T; such m are 3 x 3, row-major."""
    x, y, z = c * a[0], c * a[1], c * a[2]
    return (
        m[0] + x * b[0], m[1] + x * b[1], m[2] + x * b[2],
        m[3] + y * b[0], m[4] + y * b[1], m[5] + y * b[2],
        m[6] + z * b[0], m[7] + z * b[1], m[8] + z * b[2],
    )  # fmt: skip


@kernel
def add_product(m, c, a, W, at):
    """m + c a W_at, a and W row-major 3 x 3."""
    x0, x1, x2 = W[at], W[at + 1], W[at + 2]
    y0, y1, y2 = W[at + 3], W[at + 4], W[at + 5]
    z0, z1, z2 = W[at + 6], W[at + 7], W[at + 8]
    return (
        m[0] + c * (a[0] * x0 + a[1] * y0 + a[2] * z0),
        m[1] + c * (a[0] * x1 + a[1] * y1 + a[2] * z1),
        m[2] + c * (a[0] * x2 + a[1] * y2 + a[2] * z2),
        m[3] + c * (a[3] * x0 + a[4] * y0 + a[5] * z0),
        m[4] + c * (a[3] * x1 + a[4] * y1 + a[5] * z1),
        m[5] + c * (a[3] * x2 + a[4] * y2 + a[5] * z2),
        m[6] + c * (a[6] * x0 + a[7] * y0 + a[8] * z0),
        m[7] + c * (a[6] * x1 + a[7] * y1 + a[8] * z1),
        m[8] + c * (a[6] * x2 + a[7] * y2 + a[8] * z2),
    )


@kernel
def transposed_product(V, at, a):
    """V_at^T a."""
    u, v, w = load3(V, at), load3(V, at + 3), load3(V, at + 6)
    return (
        u[0] * a[0] + v[0] * a[3] + w[0] * a[6],
        u[0] * a[1] + v[0] * a[4] + w[0] * a[7],
        u[0] * a[2] + v[0] * a[5] + w[0] * a[8],
        u[1] * a[0] + v[1] * a[3] + w[1] * a[6],
        u[1] * a[1] + v[1] * a[4] + w[1] * a[7],
        u[1] * a[2] + v[1] * a[5] + w[1] * a[8],
        u[2] * a[0] + v[2] * a[3] + w[2] * a[6],
        u[2] * a[1] + v[2] * a[4] + w[2] * a[7],
        u[2] * a[2] + v[2] * a[5] + w[2] * a[8],
    )


@kernel
def spins(slope, h, i, speed, turn, sigma, V):
    """V^ag of body i for all nodes a, g: 3 x 3, row-major."""
    nodes = sigma.shape[0]
    for a in range(nodes):
        w = load3(speed[a], TWIST * i + 3)
        arm = (0.5 * h * w[0], 0.5 * h * w[1], 0.5 * h * w[2])
        at = 9 * (a * nodes + a)
        store9(V, at, add_skew(ZERO, slope[a * nodes + a] - sigma[a, i], arm))
        for g in range(a):
            scalar, v = between(turn, i, a, g)
            there, back = slope[a * nodes + g], slope[g * nodes + a]
            arm = (there * v[0], there * v[1], there * v[2])
            store9(V, 9 * (a * nodes + g), add_skew(ZERO, there * scalar, arm))
            arm = (-back * v[0], -back * v[1], -back * v[2])
            store9(V, 9 * (g * nodes + a), add_skew(ZERO, back * scalar, arm))


@kernel
def bend(m, weight, h, a, b, g, pi, V, at):
    """m + w^a h^2 d((V^ab / h)^T pi) / d theta^g with pi and omega held; V at ``at``: V^a0, ..."""
    half = 0.5 * weight * h
    if a == b:
        arm = arm_of(V, at + 9 * g)
        return add_outer(m, -half if g == a else half, pi, arm)
    if g == b or g == a:
        arm = arm_of(V, at + 9 * b)
        sign = half if g == b else -half
        m = add_outer(add_outer(m, -sign, pi, arm), half, arm, pi)
        c = sign * V[at + 9 * b]
        return add_skew(m, -half * dot(pi, arm), (c * pi[0], c * pi[1], c * pi[2]))
    return m


@kernel
def arm_of(V, at):
    """a of d I + a^x."""
    return V[at + 7], V[at + 2], V[at + 3]


@kernel
def half_turn(turn, i, a):
    """(phi, sqrt(1 - |phi|^2)) of rho^a of body i."""
    at = 4 * i
    return (turn[a, at + 1], turn[a, at + 2], turn[a, at + 3]), turn[a, at]


@kernel
def stretched_rows(m, phi, scalar):
    """m E(phi)."""
    u = stretched_by((m[0], m[1], m[2]), phi, scalar)
    v = stretched_by((m[3], m[4], m[5]), phi, scalar)
    w = stretched_by((m[6], m[7], m[8]), phi, scalar)
    return u[0], u[1], u[2], v[0], v[1], v[2], w[0], w[1], w[2]


@kernel
def levers(constant, c, h, i, speed, W, V, pi):
    """V^ag <- W^ag^T J + [a = g] (h/2) (J omega^a)^x, and pi <- J omega^a."""
    nodes = speed.shape[0]
    J = load9(constant, c + INERTIA)
    for a in range(nodes):
        omega = load3(speed[a], TWIST * i + 3)
        turn = multiply_matrix(constant, c + INERTIA, omega)
        pi[3 * a], pi[3 * a + 1], pi[3 * a + 2] = turn
        for g in range(nodes - 1):
            at = 9 * (a * nodes + g)
            m = transposed_product(W, at, J)
            if a == g:
                m = add_skew(m, 0.0, (0.5 * h * turn[0], 0.5 * h * turn[1], 0.5 * h * turn[2]))
            store9(V, at, m)


@kernel
def inertia_block(
    constant, c, weights, slope, h, i, places, at, speed, turn, sigma, V, pi, K, W, values
):
    """Blocks of body i at places[at:] <- + -h d(R^b + K^b theta) / dy^g; W <- V^ag."""
    s = weights.size - 1
    spins(slope, h, i, speed, turn, sigma, W)
    levers(constant, c, h, i, speed, W, V, pi)
    for g in range(1, s + 1):
        phi, scalar = half_turn(turn, i, g)
        for b in range(s):
            m, heavy = ZERO, 0.0
            if g == b:
                m = scaled9(h, K, 9 * (b - 1))
            for a in range(s + 1):
                m = bend(m, weights[a], h, a, b, g, load3(pi, 3 * a), W, 9 * a * (s + 1))
            for a in range(s + 1):
                left, right = a * (s + 1) + b, a * (s + 1) + g
                heavy += weights[a] * slope[left] * slope[right]
                m = add_product(m, weights[a], load9(V, 9 * left), W, 9 * right)
            m = stretched_rows(m, phi, scalar)
            to = places[at + s * b + g - 1]
            for k in range(3):
                values[to + 7 * k] -= heavy * constant[c + MASS]
                values[to + 21 + k] -= m[3 * k]
                values[to + 27 + k] -= m[3 * k + 1]
                values[to + 33 + k] -= m[3 * k + 2]
