"""Newton direction in O(n): theory/tree_integrator (4) to (8) (Fan 2018, Alg. B.1, B.2).

The matrices of Algorithm B.2 are blocks of larger ones. With z = [dv^0, ..., dv^s, eta^1, ...,
eta^s] and y = [dmu^0, ..., dmu^s, dGamma^0, ..., dGamma^{s-1}], both of N = 6 (2 s + 1) numbers,

- P = [D G; Pi Psi] and c = [l; zeta]: y_i = P_i z_i + c_i,
- J: z_i = z_parent + J_i dq_i, and B = P J = [H; Phi],
- row a of L takes S^a . dOmega^a + sum_b a^ab S^b . dmu^b from y; T = L P + E is [Theta Xi],
- Lambda = T J + dQ/dq, dq_i = X z_parent + y_i with X = -Lambda^-1 T = [X Y].

A factor holds, body after body, P (N, N), B and later B - K (N, s), T (s, N), X (s, N), Lambda
(s, s) and Lambda^-1 (s, s).
"""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.quaternion import load3
from dynamics.kernels.tree.algebra import ad_dual, add_spatial, dot6, load6, load9
from dynamics.kernels.tree.constraints import add_push_slopes
from dynamics.kernels.tree.layout import (
    AXIS,
    BODY,
    DAMPING,
    IMPULSE,
    INERTIA,
    MOMENTUM,
    ORIGIN,
    RECORD,
    ROTATION,
    STIFFNESS,
    TURN,
)
from dynamics.kernels.tree.residual import add_wrench_slopes


@kernel
def factor_stride(s):
    """N^2 + 3 N s + 2 s^2, numbers of a factor for one body."""
    width = 6 * (2 * s + 1)
    return width * width + 3 * width * s + 2 * s * s


@kernel
def factorize(tree, rule, pins, loads, multiplier, h, k, motion, factor):
    """X_i, B_i - K_i and Lambda_i^-1 of every body, leaves first; false where one is not finite."""
    parent, body, _ = tree
    weights, slope = rule[0], rule[1]
    n, nodes = parent.size, weights.size
    s = nodes - 1
    width = 6 * (2 * s + 1)
    stride = factor_stride(s)
    for j in range(n * stride):
        factor[j] = 0.0
    add_push_slopes(
        pins, multiplier, 1, s, nodes, motion, factor, stride,
        6 * nodes * width + 6 * s, 6 * width + 6, width,
    )  # fmt: skip
    for i in range(n - 1, -1, -1):
        P = i * stride
        B = P + width * width
        T = B + width * s
        X = T + width * s
        pivot = X + width * s
        for a in range(nodes):
            m = (i * nodes + a) * RECORD
            row = P + 6 * a * width
            add_spatial(
                body, i * BODY + INERTIA, load9(motion, m + ROTATION), load3(motion, m + ORIGIN),
                1.0, factor, row + 6 * a, width,
            )  # fmt: skip
            if a < s:
                row = P + 6 * (nodes + a) * width
                turns = row + 6 * (nodes + a - 1) if a > 0 else -1  # eta^0 = 0
                add_wrench_slopes(
                    tree, loads, weights[a] * h, k, a, i, True, motion, m, factor,
                    (turns, row + 6 * a, width),
                )  # fmt: skip
        _columns(slope, h, s, i, motion, factor, P, B, width)
        _rows(weights, slope, h, s, i, motion, factor, P, T, width)
        _pivot(weights, slope, h, s, i, body, motion, factor, T, pivot, width)
        if not _invert(factor, pivot, pivot + s * s, s):
            return False
        _close(s, i, motion, factor, B, T, X, pivot + s * s, width)
        if parent[i] >= 0:
            _hand_up(s, factor, P, B, X, parent[i] * stride, width)
    return True


@kernel
def _columns(slope, h, s, i, motion, factor, P, B, width):
    """B = P J: column g of J has b^rg S^r / h and dS^g/dt in dv, S^g in eta^g (steps 3, 4)."""
    nodes = s + 1
    for row in range(width):
        x = P + row * width
        for a in range(nodes):
            along = dot6(load6(factor, x + 6 * a), load6(motion, (i * nodes + a) * RECORD + AXIS))
            for g in range(1, nodes):
                factor[B + row * s + g - 1] += slope[a * nodes + g] / h * along
        for g in range(1, nodes):
            m = (i * nodes + g) * RECORD
            factor[B + row * s + g - 1] += dot6(
                load6(factor, x + 6 * g), load6(motion, m + TURN)
            ) + dot6(load6(factor, x + 6 * (nodes + g - 1)), load6(motion, m + AXIS))


@kernel
def row_weight(weights, slope, h, nodes, i, a, b, e, motion):
    """L^ab_e = w^b b^ba S^b_e + [a = b] w^a h (dS^a/dt)_e: entry e of row a for dmu^b."""
    m = (i * nodes + b) * RECORD
    weight = weights[b] * slope[b * nodes + a] * motion[m + AXIS + e]
    if a == b:
        weight += weights[a] * h * motion[m + TURN + e]
    return weight


@kernel
def _rows(weights, slope, h, s, i, motion, factor, P, T, width):
    """T = L P + E, with S^aT ad^D_mu w^a h in E for dv^a (steps 5, 6)."""
    nodes = s + 1
    for a in range(s):
        m = (i * nodes + a) * RECORD
        row = factor[T + a * width : T + (a + 1) * width]
        for b in range(nodes):
            for e in range(6):
                weight = row_weight(weights, slope, h, nodes, i, a, b, e, motion)
                x = factor[P + (6 * b + e) * width : P + (6 * b + e + 1) * width]
                for j in range(width):
                    row[j] += weight * x[j]
        for e in range(6):
            weight = motion[m + AXIS + e]
            x = P + (6 * (nodes + a) + e) * width
            x = factor[x : x + width]
            for j in range(width):
                row[j] += weight * x[j]
        # S^T ad^D_mu = -(ad^D_mu S)^T
        turn = ad_dual(load6(motion, m + MOMENTUM), load6(motion, m + AXIS))
        for e in range(6):
            row[6 * a + e] -= weights[a] * h * turn[e]


@kernel
def _pivot(weights, slope, h, s, i, body, motion, factor, T, pivot, width):
    """Lambda = T J + dQ/dq (step 7)."""
    nodes = s + 1
    stiffness, damping = body[i * BODY + STIFFNESS], body[i * BODY + DAMPING]
    for a in range(s):
        x = T + a * width
        for b in range(nodes):
            along = dot6(load6(factor, x + 6 * b), load6(motion, (i * nodes + b) * RECORD + AXIS))
            for g in range(1, nodes):
                factor[pivot + a * s + g - 1] += slope[b * nodes + g] / h * along
        for g in range(1, nodes):
            m = (i * nodes + g) * RECORD
            entry = dot6(load6(factor, x + 6 * g), load6(motion, m + TURN))
            entry += dot6(load6(factor, x + 6 * (nodes + g - 1)), load6(motion, m + AXIS))
            if a == g:
                entry -= weights[a] * h * stiffness
            entry -= weights[a] * slope[a * nodes + g] * damping
            factor[pivot + a * s + g - 1] += entry


@kernel
def _invert(x, at, out, s):
    """A^-1 by Gauss-Jordan with the largest pivot of each column; false where not finite."""
    for i in range(s):
        for j in range(s):
            x[out + i * s + j] = 1.0 if i == j else 0.0
    for k in range(s):
        best = k
        for i in range(k + 1, s):
            if abs(x[at + i * s + k]) > abs(x[at + best * s + k]):
                best = i
        pivot = 1.0 / x[at + best * s + k]
        if not math.isfinite(pivot):
            return False
        for j in range(s):
            for y in (at, out):
                kept = x[y + k * s + j]
                x[y + k * s + j] = x[y + best * s + j] * pivot
                if best != k:
                    x[y + best * s + j] = kept
        for i in range(s):
            if i != k:
                ratio = x[at + i * s + k]
                for j in range(s):
                    x[at + i * s + j] -= ratio * x[at + k * s + j]
                    x[out + i * s + j] -= ratio * x[out + k * s + j]
    return True


@kernel
def _close(s, i, motion, factor, B, T, X, inverse, width):
    """X = -Lambda^-1 T (step 9) and B - K, K^a = [ad^D_mu S; ad^D_Gamma S]^a for a >= 1."""
    nodes = s + 1
    for g in range(s):
        row = factor[X + g * width : X + (g + 1) * width]
        for a in range(s):
            weight = factor[inverse + g * s + a]
            x = factor[T + a * width : T + (a + 1) * width]
            for j in range(width):
                row[j] -= weight * x[j]
    for a in range(1, nodes):
        m = (i * nodes + a) * RECORD
        axis = load6(motion, m + AXIS)
        turn = ad_dual(load6(motion, m + MOMENTUM), axis)
        for e in range(6):
            factor[B + (6 * a + e) * s + a - 1] -= turn[e]
        if a < s:
            turn = ad_dual(load6(motion, m + IMPULSE), axis)
            for e in range(6):
                factor[B + (6 * (nodes + a) + e) * s + a - 1] -= turn[e]


@kernel
def _hand_up(s, factor, P, B, X, above, width):
    """P_parent <- P_parent + P + (B - K) X (B.1, B.3)."""
    for row in range(width):
        x = factor[P + row * width : P + (row + 1) * width]
        out = factor[above + row * width : above + (row + 1) * width]
        for j in range(width):
            out[j] += x[j]
        for g in range(s):
            weight = factor[B + row * s + g]
            x = factor[X + g * width : X + (g + 1) * width]
            for j in range(width):
                out[j] += weight * x[j]


@kernel
def newton_step(
    # Tables:
    tree, rule,
    # In:
    h, motion, factor, r,
    # Work, n (N + s):
    z,
    # Out, (s, n):
    step,
):  # fmt: skip
    """step <- -J^-1 r: dq^1..dq^s for residuals of nodes 0..s - 1 (Algorithm B.1)."""
    parent = tree[0]
    weights, slope = rule[0], rule[1]
    n, nodes = parent.size, weights.size
    s = nodes - 1
    width = 6 * (2 * s + 1)
    stride = factor_stride(s)
    for j in range(n * width):
        z[j] = 0.0
    for i in range(n - 1, -1, -1):
        P = i * stride
        B = P + width * width
        inverse = B + 3 * width * s + s * s
        c, y = i * width, n * width + i * s
        for g in range(s):
            z[y + g] = 0.0
        for a in range(s):
            m = (i * nodes + a) * RECORD
            total = r[a * n + i]
            for b in range(nodes):
                for e in range(6):
                    weight = row_weight(weights, slope, h, nodes, i, a, b, e, motion)
                    total += weight * z[c + 6 * b + e]
            for e in range(6):
                total += motion[m + AXIS + e] * z[c + 6 * (nodes + a) + e]
            for g in range(s):  # y = -Lambda^-1 (r + L c)
                z[y + g] -= factor[inverse + g * s + a] * total
        if parent[i] >= 0:
            above = parent[i] * width
            for row in range(width):
                total = z[c + row]
                for g in range(s):
                    total += factor[B + row * s + g] * z[y + g]
                z[above + row] += total
    for i in range(n):
        X = i * stride + width * width + 2 * width * s
        c, y = i * width, n * width + i * s
        above = parent[i] * width
        for g in range(s):
            total = z[y + g]
            if parent[i] >= 0:
                for j in range(width):
                    total += factor[X + g * width + j] * z[above + j]
            step[g * n + i] = total
        for a in range(nodes):  # z = z_parent + J dq
            m = (i * nodes + a) * RECORD
            speed = 0.0
            for g in range(1, nodes):
                speed += slope[a * nodes + g] / h * step[(g - 1) * n + i]
            turn = step[(a - 1) * n + i] if a > 0 else 0.0
            for e in range(6):
                dv = motion[m + AXIS + e] * speed + motion[m + TURN + e] * turn
                if parent[i] >= 0:
                    dv += z[above + 6 * a + e]
                z[c + 6 * a + e] = dv
                if a > 0:
                    eta = motion[m + AXIS + e] * turn
                    if parent[i] >= 0:
                        eta += z[above + 6 * (nodes + a - 1) + e]
                    z[c + 6 * (nodes + a - 1) + e] = eta
