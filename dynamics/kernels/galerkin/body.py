"""Bodies in Galerkin-Lobatto steps: polynomials of degree s, theory/galerkin (1) to (5).

With nodes a = 0..s, weights w, slopes b^ab and unknowns y^g (velocity units, g = 1..s) of a body,

    x^g = x^0 + h y_T^g,     q^g = q^0 * rho^g,     rho^g = [sqrt(1 - |phi|^2), phi = h y_R^g / 2],
    xdot^a = sum b^ag y_T^g,     [sigma^a, (h/2) omega^a] = conj(rho^a) * sum b^ac rho^c,

velocities being slopes of the polynomials in R^3 x R^4. Changes theta^g of the control points
(rotation vectors, body frame) change ``h omega^a`` by ``V^ag theta^g``:

    V^ag = b^ag (r I + v^x),  [r, v] = conj(rho^a) * rho^g,
    V^aa = (b^aa - sigma^a) I + (h/2) (omega^a)^x;

so the discrete Lagrangian's slope at node b is ``R^b = sum w^a (b^ab m xdot^a, (V^ab)^T pi^a)``
with ``pi^a = J omega^a``, where

    sum w^a (V^ab)^T pi^a = vector of (sum w^a b^ab P^a) * rho^b
                            - w^b (sigma^b pi^b + (h/2) omega^b x pi^b),
    P^a = [0, pi^a] * conj(rho^a).

Degree s = 1 is the second-order step. A step hands on its nodes as one tuple: pose, matrix, g, G
and velocities ``speed``, one node after another, see `node`; and of each body ``spin`` (pi^a and
P^a, seven numbers), ``turn`` (rho^a, four) and ``sigma`` at all nodes.
"""

import math

from dynamics.kernels.base.jit import kernel, natural, pointer
from dynamics.kernels.base.layout import ALL_ROWS, BODIES, BODY_SIZE, INERTIA, POSE, ROWS, TWIST
from dynamics.kernels.base.quaternion import (
    conjugate,
    cross,
    dot,
    load3,
    load4,
    multiply,
    multiply_matrix,
    renormalized,
)
from dynamics.kernels.galerkin.arguments import NodeAt
from dynamics.kernels.rows.poses import MOST_TURN, rotation_matrix

SPIN = 7


@kernel
def node(plan, nodes, a):
    """Node a."""
    n, rows = plan[BODIES], plan[ALL_ROWS]
    return NodeAt(
        pose=pointer(nodes.pose, a * POSE * (n + 1)),
        matrix=pointer(nodes.matrix, a * 9 * (n + 1)),
        g=pointer(nodes.g, a * rows),
        G=pointer(nodes.G, a * 12 * rows),
        speed=pointer(nodes.speed, a * TWIST * n),
    )


@kernel
def control_points(plan, s, h, x, nodes):
    """(z^a, Q^a, rho^a), a = 1..s, from the unknowns y, |phi| at most MOST_TURN."""
    pose, matrix, turn = nodes.pose, nodes.matrix, nodes.turn
    n = plan[BODIES]
    stage = TWIST * n + plan[ROWS]
    for i in range(n):
        q0 = renormalized(load4(pose, POSE * i + 3))
        for a in range(1, s + 1):
            t, p = natural(stage * (a - 1) + TWIST * i), natural(POSE * ((n + 1) * a + i))
            phi = (0.5 * h * x[t + 3], 0.5 * h * x[t + 4], 0.5 * h * x[t + 5])
            square = dot(phi, phi)
            if square > MOST_TURN * MOST_TURN:
                scale = MOST_TURN / math.sqrt(square)
                phi = (phi[0] * scale, phi[1] * scale, phi[2] * scale)
                square = MOST_TURN * MOST_TURN
                for j in range(3, 6):
                    x[t + j] *= scale
            rho = (math.sqrt(1.0 - square), phi[0], phi[1], phi[2])
            for j in range(3):
                pose[p + j] = pose[POSE * i + j] + h * x[t + j]
            pose[p + 3], pose[p + 4], pose[p + 5], pose[p + 6] = multiply(q0, rho)
            to = natural(4 * ((s + 1) * i + a))
            turn[to], turn[to + 1], turn[to + 2], turn[to + 3] = rho
            rotation_matrix(pose, p + 3, matrix, 9 * ((n + 1) * a + i))


@kernel
def velocities(plan, constant, s, slope, h, x, nodes):
    """(xdot^a, omega^a), pi^a, P^a and sigma^a at all nodes a."""
    speed, spin, turn, sigma = nodes.speed, nodes.spin, nodes.turn, nodes.sigma
    n, rate = plan[BODIES], 2.0 / h
    stage = TWIST * n + plan[ROWS]
    for i in range(n):
        first = (s + 1) * i
        for a in range(s + 1):
            b = slope[a * (s + 1)]
            x0, x1, x2, d0, d1, d2, d3 = 0.0, 0.0, 0.0, b, 0.0, 0.0, 0.0
            for c in range(1, s + 1):
                b = slope[a * (s + 1) + c]
                t, r = natural(stage * (c - 1) + TWIST * i), natural(4 * (first + c))
                x0 += b * x[t]
                x1 += b * x[t + 1]
                x2 += b * x[t + 2]
                d0 += b * turn[r]
                d1 += b * turn[r + 1]
                d2 += b * turn[r + 2]
                d3 += b * turn[r + 3]
            back = conjugate(load4(turn, 4 * (first + a)))
            total, w0, w1, w2 = multiply(back, (d0, d1, d2, d3))
            omega = (rate * w0, rate * w1, rate * w2)
            pi = multiply_matrix(constant, i * BODY_SIZE + INERTIA, omega)
            t, p = natural(TWIST * (n * a + i)), natural(SPIN * (first + a))
            speed[t], speed[t + 1], speed[t + 2] = x0, x1, x2
            speed[t + 3], speed[t + 4], speed[t + 5] = omega
            spin[p], spin[p + 1], spin[p + 2] = pi
            carried = multiply((0.0, pi[0], pi[1], pi[2]), back)
            spin[p + 3], spin[p + 4], spin[p + 5], spin[p + 6] = carried
            sigma[first + a] = total


@kernel
def node_momentum(mass, s, weights, slope, h, n, i, b, nodes):
    """R^b of body i of some mass: translational, then rotational."""
    speed, spin, turn, sigma = nodes.speed, nodes.spin, nodes.turn, nodes.sigma
    first = (s + 1) * i
    x0, x1, x2, p0, p1, p2, p3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(s + 1):
        part = weights[a] * slope[a * (s + 1) + b]
        t, p = natural(TWIST * (n * a + i)), natural(SPIN * (first + a) + 3)
        x0 += part * speed[t]
        x1 += part * speed[t + 1]
        x2 += part * speed[t + 2]
        p0 += part * spin[p]
        p1 += part * spin[p + 1]
        p2 += part * spin[p + 2]
        p3 += part * spin[p + 3]
    rho, pi = load4(turn, 4 * (first + b)), load3(spin, SPIN * (first + b))
    _, u, v, w = multiply((p0, p1, p2, p3), rho)
    own, half = weights[b] * sigma[first + b], 0.5 * h * weights[b]
    turned = cross(load3(speed, TWIST * (n * b + i) + 3), pi)
    return (mass * x0, mass * x1, mass * x2), (
        u - own * pi[0] - half * turned[0],
        v - own * pi[1] - half * turned[1],
        w - own * pi[2] - half * turned[2],
    )
