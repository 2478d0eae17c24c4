"""Momentum of a tree from its velocity and back in O(n), for a motion of one node."""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.quaternion import load3
from dynamics.kernels.tree.algebra import add6, add_spatial, dot6, load6, load9, store6
from dynamics.kernels.tree.layout import AXIS, BODY, INERTIA, MOMENTUM, ORIGIN, RECORD, ROTATION
from dynamics.kernels.tree.residual import momentum_of

# One body of the factor of the mass matrix: P (36), P S (6), S . P S, work (7).
INERTIAS = 50


@kernel
def momentum(tree, motion, p):
    """p = dK/d(dq/dt): p_i = S_i . mu_i with mu_i of body i and all its descendants."""
    parent, body, _ = tree
    for i in range(parent.size - 1, -1, -1):
        m = i * RECORD
        add6(momentum_of(body, i * BODY, motion, m), motion, m + MOMENTUM)
        p[i] = dot6(load6(motion, m + AXIS), load6(motion, m + MOMENTUM))
        if parent[i] >= 0:
            add6(load6(motion, m + MOMENTUM), motion, parent[i] * RECORD + MOMENTUM)


@kernel
def factorize_mass(tree, motion, stride, inertias):
    """P_i = M_i + sum_j (P_j - U_j U_j^T / d_j), U = P S, d = S . U (articulated inertias).

    Of the record ``i * stride`` of a motion; false where a d_i is not positive.
    """
    parent, body, _ = tree
    n = parent.size
    for j in range(n * INERTIAS):
        inertias[j] = 0.0
    for i in range(n - 1, -1, -1):
        m, P = i * stride, i * INERTIAS
        add_spatial(
            body, i * BODY + INERTIA, load9(motion, m + ROTATION), load3(motion, m + ORIGIN),
            1.0, inertias, P, 6,
        )  # fmt: skip
        axis = load6(motion, m + AXIS)
        for e in range(6):
            inertias[P + 36 + e] = dot6(load6(inertias, P + 6 * e), axis)
        d = dot6(load6(inertias, P + 36), axis)
        if not (d > 0.0 and math.isfinite(d)):
            return False
        inertias[P + 42] = d
        if parent[i] >= 0:
            above = parent[i] * INERTIAS
            for e in range(6):
                ratio = inertias[P + 36 + e] / d
                for f in range(6):
                    inertias[above + 6 * e + f] += (
                        inertias[P + 6 * e + f] - ratio * inertias[P + 36 + f]
                    )
    return True


@kernel
def solve_mass(tree, motion, stride, inertias, p, p_at, speed, speed_at):
    """M dq/dt = p with the articulated inertias of `factorize_mass`."""
    parent = tree[0]
    n = parent.size
    for i in range(n):
        for e in range(6):
            inertias[i * INERTIAS + 43 + e] = 0.0
    for i in range(n - 1, -1, -1):
        P = i * INERTIAS
        c = load6(inertias, P + 43)
        y = (p[p_at + i] - dot6(load6(motion, i * stride + AXIS), c)) / inertias[P + 42]
        inertias[P + 49] = y
        if parent[i] >= 0:
            above = parent[i] * INERTIAS + 43
            for e in range(6):
                inertias[above + e] += c[e] + inertias[P + 36 + e] * y
    for i in range(n):
        P = i * INERTIAS
        y = inertias[P + 49]
        v = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        if parent[i] >= 0:
            v = load6(inertias, parent[i] * INERTIAS + 43)
            y -= dot6(load6(inertias, P + 36), v) / inertias[P + 42]
        speed[speed_at + i] = y
        store6(v, inertias, P + 43)
        for e in range(6):
            inertias[P + 43 + e] += motion[i * stride + AXIS + e] * y
