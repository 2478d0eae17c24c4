"""Derivatives of a tree's discrete action over many steps: rows, Jacobians, and a Hessian.

The second derivative of ``direction . D L_d`` is the derivative of D^2 L_d along ``direction``, as
third derivatives are symmetric: the slopes of Algorithms 2 and 3. Spatial vectors vary by eta, the
twist of the displacement. Springs and dampers are linear and have no such part.

``q`` holds all control points, s from the start of a step to that of the next. ``work`` is
(motion, composite, stages, block, slopes): n (s + 1) RECORD, 78 n, 4 (s + 1) n^2, n^2, n SLOPES.
"""

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.quaternion import cross, load3
from dynamics.kernels.tree.algebra import (
    ad,
    ad_dual,
    add6,
    add_spatial,
    dot6,
    load6,
    load9,
    multiply6,
    store6,
)
from dynamics.kernels.tree.hessian import residual_block
from dynamics.kernels.tree.layout import (
    AXIS,
    BODY,
    CENTER,
    INERTIA,
    MASS,
    MOMENTUM,
    ORIGIN,
    RECORD,
    ROTATION,
    SPEED,
    TURN,
    VELOCITY,
)
from dynamics.kernels.tree.linearize import jacobian
from dynamics.kernels.tree.motion import point
from dynamics.kernels.tree.step import residual

# One body of the work array.
ETA = 0  # displacement of the body; 6
AXIS_SLOPE = 6  # of S; 6
TURN_SLOPE = 12  # of dS/dt; 6
VELOCITY_SLOPE = 18  # of v; 6
MOMENTUM_SLOPE = 24  # of mu, of the body and all its descendants; 6
COMPOSITE = 30  # inertia of the body and all its descendants; 36
COMPOSITE_SLOPE = 66  # 36
MASSES = 102  # mass, mass times center (3) of the same, and slope of the latter (3)
INERTIA_NOW = 109  # of the body alone; 36
SLOPES = 145


@kernel
def action_rows(tree, rule, pins, loads, h, steps, q, zero, work, out):
    """out[k, b, i] <- dL_d/dq^b_i of step k, with springs and dampers (Algorithm 1)."""
    n, nodes = tree[0].size, rule[0].size
    size = nodes * n
    for k in range(steps):
        first = k * (nodes - 1) * n
        residual(
            tree, rule, pins, loads, h, 0, q[first : first + size], zero, zero[:0], work[0],
            out[k * size : (k + 1) * size],
        )  # fmt: skip


@kernel
def action_jacobians(tree, rule, pins, loads, h, steps, q, zero, work, r, out):
    """out[k, b, i, g, j] <- derivatives of `action_rows` by q^g_j (Algorithms 2 and 3)."""
    motion, composite, stages, block, _ = work
    n, nodes = tree[0].size, rule[0].size
    size = nodes * n
    for k in range(steps):
        first = k * (nodes - 1) * n
        residual(tree, rule, pins, loads, h, 0, q[first : first + size], zero, zero[:0], motion, r)
        jacobian(
            tree, rule, pins, loads, h, 0, zero[:0], motion, composite, stages, block,
            out[k * size * size : (k + 1) * size * size],
        )  # fmt: skip


@kernel
def action_hessians(tree, rule, pins, loads, h, steps, q, zero, direction, work, r, out):
    """out[k, b, i, g, j] <- sum d3L_d / dq^b_i dq^g_j dq^c_l direction^c_l of step k."""
    motion, _, stages, block, slopes = work
    n, nodes = tree[0].size, rule[0].size
    size = nodes * n
    for k in range(steps):
        first = k * (nodes - 1) * n
        residual(tree, rule, pins, loads, h, 0, q[first : first + size], zero, zero[:0], motion, r)
        action_slopes(
            tree, rule, h, motion, direction[first : first + size], slopes, stages, block,
            out[k * size * size : (k + 1) * size * size],
        )  # fmt: skip


@kernel
def action_slopes(tree, rule, h, motion, direction, work, stages, block, out):
    """out[b, i, g, j] <- sum d3L_d / dq^b_i dq^g_j dq^c_l direction^c_l of one step.

    ``motion`` has the momenta of `residual`.
    """
    n, nodes = tree[0].size, rule[0].size
    for a in range(nodes):
        _displace(tree, rule, h, motion, direction, a, work)
        first = 4 * n * n * a
        size = n * n
        vv = stages[first : first + size]
        vq = stages[first + size : first + 2 * size]
        qq = stages[first + 2 * size : first + 3 * size]
        qv = stages[first + 3 * size : first + 4 * size]
        for j in range(size):
            vv[j] = 0.0
            vq[j] = 0.0
            qq[j] = 0.0
            qv[j] = 0.0
        _hessian_slopes(tree, motion, nodes, a, rule[0][a], h, work, vv, vq, qq, qv)
    for b in range(nodes):
        for g in range(nodes):
            residual_block(rule[1], nodes, n, h, stages, b, g, block)
            for i in range(n):
                for j in range(n):
                    out[((b * n + i) * nodes + g) * n + j] = block[i * n + j]


@kernel
def _displace(tree, rule, h, motion, direction, a, work):
    """eta_i = eta_up + S_i dq_i; dS = ad_eta S, dv = dv_up + dS qd + S dqd at node a."""
    parent = tree[0]
    n, nodes = parent.size, rule[0].size
    for i in range(n):
        m, at = (i * nodes + a) * RECORD, i * SLOPES
        axis, v, speed = load6(motion, m + AXIS), load6(motion, m + VELOCITY), motion[m + SPEED]
        eta = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        dv = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        if parent[i] >= 0:
            eta = load6(work, parent[i] * SLOPES + ETA)
            dv = load6(work, parent[i] * SLOPES + VELOCITY_SLOPE)
        dq, rate = direction[a * n + i], 0.0
        for b in range(nodes):
            rate += rule[1][a * nodes + b] * direction[b * n + i]
        rate /= h
        slope = ad(eta, axis)
        store6(slope, work, at + AXIS_SLOPE)
        store6(eta, work, at + ETA)
        store6(dv, work, at + VELOCITY_SLOPE)
        for e in range(6):
            work[at + ETA + e] += motion[m + AXIS + e] * dq
            work[at + VELOCITY_SLOPE + e] += (
                work[at + AXIS_SLOPE + e] * speed + motion[m + AXIS + e] * rate
            )
        store6(ad(v, slope), work, at + TURN_SLOPE)
        add6(ad(load6(work, at + VELOCITY_SLOPE), axis), work, at + TURN_SLOPE)
        for e in range(MOMENTUM_SLOPE, SLOPES):  # sums over descendants
            work[at + e] = 0.0


@kernel
def _hessian_slopes(tree, motion, nodes, a, w, h, work, vv, vq, qq, qv):
    """Slopes of `kinetic_hessian` and `gravity_hessian`, weighted as in `stage_hessians`."""
    parent, body, gravity = tree
    n = parent.size
    g = (gravity[0], gravity[1], gravity[2])
    for i in range(n - 1, -1, -1):
        m, at = (i * nodes + a) * RECORD, i * SLOPES
        _add_body(body, i, motion, m, work, at)
        axis, turn = load6(motion, m + AXIS), load6(motion, m + TURN)
        axis_slope, turn_slope = load6(work, at + AXIS_SLOPE), load6(work, at + TURN_SLOPE)
        mu, mu_slope = load6(motion, m + MOMENTUM), load6(work, at + MOMENTUM_SLOPE)
        M, dM = at + COMPOSITE, at + COMPOSITE_SLOPE
        A = multiply6(work, M, axis)
        B = _difference(multiply6(work, M, turn), ad_dual(mu, axis))
        dA = _sum(multiply6(work, dM, axis), multiply6(work, M, axis_slope))
        dB = _difference(
            _sum(multiply6(work, dM, turn), multiply6(work, M, turn_slope)),
            _sum(ad_dual(mu_slope, axis), ad_dual(mu, axis_slope)),
        )
        # d2V/dq_i dq_j = s_j . sigma
        sums = at + MASSES
        mass, center, center_slope = work[sums], load3(work, sums + 1), load3(work, sums + 4)
        u = cross(center, (axis[0], axis[1], axis[2]))
        sigma = cross(g, (mass * axis[3] - u[0], mass * axis[4] - u[1], mass * axis[5] - u[2]))
        u = cross(center_slope, (axis[0], axis[1], axis[2]))
        y = cross(center, (axis_slope[0], axis_slope[1], axis_slope[2]))
        dsigma = cross(
            g,
            (
                mass * axis_slope[3] - u[0] - y[0],
                mass * axis_slope[4] - u[1] - y[1],
                mass * axis_slope[5] - u[2] - y[2],
            ),
        )
        j = i
        while j >= 0:
            other, place = (j * nodes + a) * RECORD, j * SLOPES
            S, T = load6(motion, other + AXIS), load6(motion, other + TURN)
            dS, dT = load6(work, place + AXIS_SLOPE), load6(work, place + TURN_SLOPE)
            vv[i * n + j] = vv[j * n + i] = w * (dot6(dS, A) + dot6(S, dA))
            # d2K/dqd_i dq_j and d2K/dqd_j dq_i, each in both orders
            entry = w * (dot6(dT, A) + dot6(T, dA))
            vq[i * n + j] = entry
            qv[j * n + i] = h * entry
            entry = w * (dot6(dS, B) + dot6(S, dB))
            vq[j * n + i] = entry
            qv[i * n + j] = h * entry
            entry = dot6(dT, B) + dot6(T, dB)
            entry -= dS[0] * sigma[0] + dS[1] * sigma[1] + dS[2] * sigma[2]
            entry -= S[0] * dsigma[0] + S[1] * dsigma[1] + S[2] * dsigma[2]
            qq[i * n + j] = qq[j * n + i] = w * h * entry
            j = parent[j]
        if parent[i] >= 0:
            above = parent[i] * SLOPES
            for e in range(MOMENTUM_SLOPE, INERTIA_NOW):
                work[above + e] += work[at + e]


@kernel
def _add_body(body, i, motion, m, work, at):
    """M, mu and m x of body i, and their slopes: dM = X + X^T with X = -M ad_eta."""
    now = at + INERTIA_NOW
    add_spatial(
        body, i * BODY + INERTIA, load9(motion, m + ROTATION), load3(motion, m + ORIGIN),
        1.0, work, now, 6,
    )  # fmt: skip
    eta = load6(work, at + ETA)
    v, dv = load6(motion, m + VELOCITY), load6(work, at + VELOCITY_SLOPE)
    # dM v + M dv = M (dv - ad_eta v) - ad_eta^T M v
    own = multiply6(work, now, v)
    add6(multiply6(work, now, _difference(dv, ad(eta, v))), work, at + MOMENTUM_SLOPE)
    turned = ad_dual(own, eta)
    add6((-turned[0], -turned[1], -turned[2], -turned[3], -turned[4], -turned[5]),
         work, at + MOMENTUM_SLOPE)  # fmt: skip
    for r in range(6):
        x = ad_dual(load6(work, now + 6 * r), eta)
        for e in range(6):
            work[at + COMPOSITE + 6 * r + e] += work[now + 6 * r + e]
        store = at + COMPOSITE_SLOPE
        add6((-x[0], -x[1], -x[2], -x[3], -x[4], -x[5]), work, store + 6 * r)
        work[store + r] -= x[0]
        work[store + 6 + r] -= x[1]
        work[store + 12 + r] -= x[2]
        work[store + 18 + r] -= x[3]
        work[store + 24 + r] -= x[4]
        work[store + 30 + r] -= x[5]
    mass = body[i * BODY + MASS]
    x = point(motion, m, body, i * BODY + CENTER)
    u = cross((eta[0], eta[1], eta[2]), x)
    sums = at + MASSES
    work[sums] += mass
    for e in range(3):
        work[sums + 1 + e] += mass * x[e]
        work[sums + 4 + e] += mass * (u[e] + eta[3 + e])


@kernel
def _sum(a, b):
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


@kernel
def _difference(a, b):
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5]
