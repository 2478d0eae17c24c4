"""Inertia in the matrix of Galerkin-Lobatto steps: the bodies' own blocks.

Changes of the unknowns y_R^g turn control points by ``theta^g = h E^g dy_R^g``, and with V^ag of
`galerkin.body`

    dR_R^b / d theta^g = sum_a w^a ((V^ab^T J / h + [a = b] (pi^a)^x / 2) V^ag + bends),

where bends are slopes of V^ab with pi^a held. The sum is one product of two matrices of 3 x 3
blocks, (b, a) and (a, g).
"""

from dynamics.kernels.base.jit import kernel, natural
from dynamics.kernels.base.layout import BODIES, BODY_SIZE, INERTIA, MASS, TWIST
from dynamics.kernels.base.quaternion import conjugate, cross, dot, load3, load4, multiply
from dynamics.kernels.galerkin.body import SPIN
from graphsys.kernels import add_product, assign_product, subtract_product

ZERO = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@kernel
def half_turn(s, turn, i, a):
    """(phi, sqrt(1 - |phi|^2)) of rho^a of body i."""
    scalar, x, y, z = load4(turn, 4 * ((s + 1) * i + a))
    return (x, y, z), scalar


@kernel
def between(s, turn, i, a, c):
    """conj(rho^a) * rho^c of body i as its scalar and its vector."""
    back = conjugate(load4(turn, 4 * ((s + 1) * i + a)))
    scalar, x, y, z = multiply(back, load4(turn, 4 * ((s + 1) * i + c)))
    return scalar, (x, y, z)


@kernel
def stretches(n, s, turn, E):
    """E^g of all bodies, ``E[9 (n (g - 1) + i):]`` row-major: s I - phi^x + phi phi^T / s."""
    for g in range(1, s + 1):
        for i in range(n):
            phi, scalar = half_turn(s, turn, i, g)
            at, ratio = 9 * (n * (g - 1) + i), 1.0 / scalar
            x, y, z = phi[0] * ratio, phi[1] * ratio, phi[2] * ratio
            E[at] = scalar + x * phi[0]
            E[at + 1] = phi[2] + x * phi[1]
            E[at + 2] = -phi[1] + x * phi[2]
            E[at + 3] = -phi[2] + y * phi[0]
            E[at + 4] = scalar + y * phi[1]
            E[at + 5] = phi[0] + y * phi[2]
            E[at + 6] = phi[1] + z * phi[0]
            E[at + 7] = -phi[0] + z * phi[1]
            E[at + 8] = scalar + z * phi[2]


@kernel
def store_spin(V, at, ld, d, a):
    """3 x 3 at ``at``, rows ``ld`` apart, <- d I + a^x."""
    at, ld = natural(at), natural(ld)
    V[at], V[at + 1], V[at + 2] = d, -a[2], a[1]
    V[at + ld], V[at + ld + 1], V[at + ld + 2] = a[2], d, -a[0]
    V[at + 2 * ld], V[at + 2 * ld + 1], V[at + 2 * ld + 2] = -a[1], a[0], d


@kernel
def load_spin(V, at, ld):
    """(d, a) of what `store_spin` stored."""
    at, ld = natural(at), natural(ld)
    return V[at], (V[at + 2 * ld + 1], V[at + 2], V[at + ld])


@kernel
def spun_back(V, at, ld, a):
    """V^T a for a 3 x 3 V of `store_spin`."""
    d, arm = load_spin(V, at, ld)
    x, y, z = cross(arm, a)
    return d * a[0] - x, d * a[1] - y, d * a[2] - z


@kernel
def spins(s, slope, h, n, i, speed, turn, sigma, V):
    """V^ag of body i for all nodes a, g: 3 x 3 blocks of one row-major matrix."""
    nodes = s + 1
    ld = 3 * nodes
    for a in range(nodes):
        w = load3(speed, TWIST * (n * a + i) + 3)
        arm = (0.5 * h * w[0], 0.5 * h * w[1], 0.5 * h * w[2])
        store_spin(V, 3 * a * (ld + 1), ld, slope[a * nodes + a] - sigma[nodes * i + a], arm)
        for g in range(a):
            scalar, v = between(s, turn, i, a, g)
            there, back = slope[a * nodes + g], slope[g * nodes + a]
            arm = (there * v[0], there * v[1], there * v[2])
            store_spin(V, 3 * (a * ld + g), ld, there * scalar, arm)
            arm = (-back * v[0], -back * v[1], -back * v[2])
            store_spin(V, 3 * (g * ld + a), ld, back * scalar, arm)


@kernel
def levers(constant, c, s, weights, h, i, spin, V, L):
    """Blocks (b, a) of L, by columns, <- -w^a (V^ab^T J + [a = b] (h/2) (pi^a)^x)."""
    nodes = s + 1
    ld, rows, J = 3 * nodes, natural(3 * nodes - 3), c + INERTIA
    for a in range(nodes):
        weight = -weights[a]
        for b in range(nodes - 1):
            d, arm = load_spin(V, 3 * (a * ld + b), ld)
            d *= weight
            arm = (weight * arm[0], weight * arm[1], weight * arm[2])
            at = natural(3 * b + 3 * a * rows)
            for j in range(3):  # J is symmetric: its columns are its rows
                e = load3(constant, J + 3 * j)
                x, y, z = cross(arm, e)
                to = at + rows * j
                L[to], L[to + 1], L[to + 2] = d * e[0] - x, d * e[1] - y, d * e[2] - z
    for b in range(nodes - 1):
        half, pi = 0.5 * h * weights[b], load3(spin, SPIN * (nodes * i + b))
        at = natural(3 * b * (rows + 1))
        L[at + 1] -= half * pi[2]
        L[at + 2] += half * pi[1]
        L[at + rows] += half * pi[2]
        L[at + rows + 2] -= half * pi[0]
        L[at + 2 * rows] -= half * pi[1]
        L[at + 2 * rows + 1] += half * pi[0]


@kernel
def plus_outer(m, c, a, b):
    """m + c a b^T for a row-major 3 x 3 m."""
    x, y, z = c * a[0], c * a[1], c * a[2]
    return (
        m[0] + x * b[0], m[1] + x * b[1], m[2] + x * b[2],
        m[3] + y * b[0], m[4] + y * b[1], m[5] + y * b[2],
        m[6] + z * b[0], m[7] + z * b[1], m[8] + z * b[2],
    )  # fmt: skip


@kernel
def plus_skew(m, d, c, a):
    """m + d I + c a^x."""
    x, y, z = c * a[0], c * a[1], c * a[2]
    return (
        m[0] + d, m[1] - z, m[2] + y, m[3] + z, m[4] + d, m[5] - x, m[6] - y, m[7] + x, m[8] + d
    )  # fmt: skip


@kernel
def bend(m, half, sign, pi, V, at, ld):
    """m - 2 half d(V^ab^T pi / h) / d theta, theta of node a where ``sign`` is 1, of b for -1."""
    d, arm = load_spin(V, at, ld)
    m = plus_outer(plus_outer(m, -half * sign, pi, arm), -half, arm, pi)
    return plus_skew(m, half * dot(pi, arm), half * sign * d, pi)


@kernel
def bends(s, weights, h, i, spin, V, C):
    """Blocks (b, g) of C, by columns, <- -w^a h^2 d((V^ab / h)^T pi^a) / d theta^g, pi^a held."""
    nodes = s + 1
    ld, rows, step = 3 * nodes, natural(3 * nodes - 3), 0.5 * h
    for b in range(nodes - 1):
        near = load3(spin, SPIN * (nodes * i + b))
        for g in range(1, nodes):
            _, arm = load_spin(V, 3 * (b * ld + g), ld)
            half = step * weights[b]
            m = plus_outer(ZERO, half if g == b else -half, near, arm)
            if g == b:
                for a in range(nodes):
                    if a != b:
                        pi = load3(spin, SPIN * (nodes * i + a))
                        m = bend(m, step * weights[a], -1.0, pi, V, 3 * (a * ld + b), ld)
            else:
                pi = load3(spin, SPIN * (nodes * i + g))
                m = bend(m, step * weights[g], 1.0, pi, V, 3 * (g * ld + b), ld)
            at = natural(3 * b + 3 * (g - 1) * rows)
            C[at], C[at + 1], C[at + 2] = m[0], m[3], m[6]
            at += rows
            C[at], C[at + 1], C[at + 2] = m[1], m[4], m[7]
            at += rows
            C[at], C[at + 1], C[at + 2] = m[2], m[5], m[8]


@kernel
def rotation_blocks(constant, rule, h, n, i, places, nodes, L, C, E, W, values):
    """Rotations' part of the blocks of body i <- -h dR^b / dy^g; W <- V^ag."""
    s, weights, slope, _ = rule
    _, _, _, _, speed, spin, turn, sigma = nodes
    rows = 3 * s
    spins(s, slope, h, n, i, speed, turn, sigma, W)
    levers(constant, i * BODY_SIZE, s, weights, h, i, spin, W, L)
    bends(s, weights, h, i, spin, W, C)
    add_product(C, 0, rows, L, 0, rows, W, 3, rows + 3, 1, rows, rows, rows + 3)
    for b in range(s):
        for g in range(s):
            to = places[s * (s * i + b) + g] + 21
            place, at = 3 * b + rows * 3 * g, 9 * (n * g + i)
            assign_product(values, to, 6, C, place, rows, E, at, 3, 1, 3, 3, 3)


@kernel
def hanging(n, s, h, places, K, E, values):
    """The same blocks <- - h K^b E^b: see `galerkin.stiffness`."""
    for i in range(n):
        for b in range(1, s):
            to, at = places[s * (s * i + b) + b - 1] + 21, 9 * (b - 1)
            for k in range(9):
                K[i, at + k] *= h
            subtract_product(values, to, 6, K[i], at, 3, E, 9 * (n * (b - 1) + i), 3, 1, 3, 3, 3)


@kernel
def masses(plan, constant, s, weights, slope, places, values):
    """The bodies' own blocks <- -h d R^b / dy^g of translations, and zeros."""
    for b in range(s):
        for g in range(1, s + 1):
            heavy = 0.0
            for a in range(s + 1):
                heavy -= weights[a] * slope[a * (s + 1) + b] * slope[a * (s + 1) + g]
            for i in range(plan[BODIES]):
                to = natural(places[s * (s * i + b) + g - 1])
                mass = heavy * constant[i * BODY_SIZE + MASS]
                for k in range(TWIST * TWIST):
                    values[to + k] = 0.0
                values[to], values[to + 7], values[to + 14] = mass, mass, mass
