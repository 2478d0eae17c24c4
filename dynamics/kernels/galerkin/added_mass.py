"""Bodies with an inertia of 6 x 6 in Galerkin-Lobatto steps: what they add to rigid bodies.

With d = Q^T xdot and M [omega; d] = [mu_a; mu_b], the block of rotation of M being 0, the nodes of
such a body have, theory/galerkin (14),

    linear momentum  Q mu_b - m xdot  (world),    pi += mu_a,    torque  mu_b x d  (body),

the torque because d changes by d x theta as the body turns. `velocities` has m xdot and J omega.
"""

from dynamics.kernels.base.jit import kernel, lazy
from dynamics.kernels.base.layout import (
    ADDED,
    ADDED_AT,
    ADDED_BODY,
    ADDED_FIELDS,
    BODIES,
    BODY_SIZE,
    MASS,
    SPATIAL,
    TWIST,
)
from dynamics.kernels.base.quaternion import (
    conjugate,
    cross,
    load3,
    load4,
    multiply,
    multiply_matrix,
)
from dynamics.kernels.galerkin.body import SPIN, node
from dynamics.kernels.galerkin.inertia import load_spin, spun_back
from dynamics.kernels.rows.added_mass import added, spatial_product
from dynamics.kernels.rows.rows import turned_back

ZERO = (0.0, 0.0, 0.0)


@kernel
def momenta_at(constant, m, here, body):
    """(d, mu_a, mu_b) of a body at a node."""
    t = TWIST * body
    d = turned_back(here.matrix, 9 * body, load3(here.speed, t))
    a, b = spatial_product(constant, m, load3(here.speed, t + 3), d)
    return d, a, b


@lazy("None")
def add_spins(plan, constant, s, nodes):
    """(pi^a, P^a) of these bodies with mu_a, after `velocities`."""
    spin, turn = nodes.spin, nodes.turn
    for one in range(plan[ADDED]):
        at = plan[ADDED_AT] + one * ADDED_FIELDS
        body, m = plan[at + ADDED_BODY], plan[at + SPATIAL]
        for a in range(s + 1):
            _, more, _ = momenta_at(constant, m, node(plan, nodes, a), body)
            p = SPIN * ((s + 1) * body + a)
            pi = added(load3(spin, p), more)
            spin[p], spin[p + 1], spin[p + 2] = pi
            back = conjugate(load4(turn, 4 * ((s + 1) * body + a)))
            carried = multiply((0.0, pi[0], pi[1], pi[2]), back)
            spin[p + 3], spin[p + 4], spin[p + 5], spin[p + 6] = carried


@lazy("None")
def add_node_momenta(plan, constant, rule, h, nodes, b, f):
    """f <- f + (sum w^a b^ab (Q mu_b - m xdot)^a, h w^b (mu_b x d)^b)."""
    s, weights, slope, _ = rule
    for one in range(plan[ADDED]):
        at = plan[ADDED_AT] + one * ADDED_FIELDS
        body, m = plan[at + ADDED_BODY], plan[at + SPATIAL]
        t, mass = TWIST * body, constant[body * BODY_SIZE + MASS]
        for a in range(s + 1):
            here, part = node(plan, nodes, a), weights[a] * slope[a * (s + 1) + b]
            d, _, low = momenta_at(constant, m, here, body)
            linear = multiply_matrix(here.matrix, 9 * body, low)
            for j in range(3):
                f[t + j] += part * (linear[j] - mass * here.speed[t + j])
            if a == b:
                torque = cross(low, d)
                for j in range(3):
                    f[t + 3 + j] += h * weights[b] * torque[j]


@kernel
def node_changes(constant, m, mass, here, body, dv, domega, theta):
    """Changes of the linear momentum, of mu_a and of the torque at a node."""
    d, _, low = momenta_at(constant, m, here, body)
    dd = added(turned_back(here.matrix, 9 * body, dv), cross(d, theta))
    dhigh, dlow = spatial_product(constant, m, domega, dd)
    linear = multiply_matrix(here.matrix, 9 * body, added(dlow, cross(theta, low)))
    torque = added(cross(dlow, d), cross(low, dd))
    return (
        (linear[0] - mass * dv[0], linear[1] - mass * dv[1], linear[2] - mass * dv[2]),
        dhigh,
        torque,
    )


@lazy("None")
def add_node_blocks(plan, constant, rule, h, nodes, places, E, W, values):
    """Blocks of these bodies <- - their part of h dR^b / dy^g, after `rotation_blocks`."""
    s, weights, slope, _ = rule
    n, ld = plan[BODIES], 3 * (s + 1)
    for one in range(plan[ADDED]):
        at = plan[ADDED_AT] + one * ADDED_FIELDS
        i, m = plan[at + ADDED_BODY], plan[at + SPATIAL]
        mass, V = constant[i * BODY_SIZE + MASS], W[i]
        for g in range(1, s + 1):
            for k in range(TWIST):
                e = (1.0 * (k % 3 == 0), 1.0 * (k % 3 == 1), 1.0 * (k % 3 == 2))
                turn = multiply_matrix(E, 9 * (n * (g - 1) + i), e) if k >= 3 else ZERO
                for a in range(s + 1):
                    there = slope[a * (s + 1) + g]
                    dv = (there * e[0], there * e[1], there * e[2]) if k < 3 else ZERO
                    c, arm = load_spin(V, 3 * (a * ld + g), ld)
                    spun = cross(arm, turn)
                    domega = (c * turn[0] + spun[0], c * turn[1] + spun[1], c * turn[2] + spun[2])
                    theta = (h * turn[0], h * turn[1], h * turn[2]) if a == g else ZERO
                    linear, high, torque = node_changes(
                        constant, m, mass, node(plan, nodes, a), i, dv, domega, theta
                    )
                    for b in range(s):
                        to = places[s * (s * i + b) + g - 1] + TWIST * k
                        part, back = weights[a] * slope[a * (s + 1) + b], h * weights[a]
                        moved = spun_back(V, 3 * (a * ld + b), ld, high)
                        for j in range(3):
                            values[to + j] -= part * linear[j]
                            values[to + 3 + j] -= weights[a] * moved[j]
                            if a == b:
                                values[to + 3 + j] -= back * torque[j]
