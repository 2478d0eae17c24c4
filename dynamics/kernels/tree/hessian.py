"""Second derivatives of a tree's energies in O(n^2) (Fan 2018, Alg. 2 and 3), and of its forces."""

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.quaternion import cross, load3
from dynamics.kernels.tree.algebra import (
    ad_dual,
    add_spatial,
    dot6,
    load6,
    load9,
    multiply6,
    subtract_dual,
)
from dynamics.kernels.tree.constraints import add_push_slopes
from dynamics.kernels.tree.layout import (
    AXIS,
    BODY,
    CENTER,
    DAMPING,
    INERTIA,
    MASS,
    MOMENTUM,
    ORIGIN,
    RECORD,
    ROTATION,
    STIFFNESS,
    TURN,
    WRENCH,
)
from dynamics.kernels.tree.motion import point
from dynamics.kernels.tree.residual import add_wrench_slopes


@kernel
def kinetic_hessian(tree, motion, nodes, a, composite, by_speeds, mixed, by_places):
    """d2K/dqd_i dqd_j, d2K/dq_i dqd_j, d2K/dq_i dq_j at node a, with all mu there (Algorithm 2)."""
    parent, body, _ = tree
    n = parent.size
    for j in range(36 * n):
        composite[j] = 0.0
    for j in range(n * n):
        by_speeds[j] = 0.0
        mixed[j] = 0.0
        by_places[j] = 0.0
    for i in range(n - 1, -1, -1):
        m = (i * nodes + a) * RECORD
        M = 36 * i
        add_spatial(
            body, i * BODY + INERTIA, load9(motion, m + ROTATION), load3(motion, m + ORIGIN),
            1.0, composite, M, 6,
        )  # fmt: skip
        axis, turn = load6(motion, m + AXIS), load6(motion, m + TURN)
        first = multiply6(composite, M, axis)
        b = multiply6(composite, M, turn)
        c = ad_dual(load6(motion, m + MOMENTUM), axis)
        second = (b[0] - c[0], b[1] - c[1], b[2] - c[2], b[3] - c[3], b[4] - c[4], b[5] - c[5])
        j = i
        while j >= 0:
            other = (j * nodes + a) * RECORD
            along, along_turn = load6(motion, other + AXIS), load6(motion, other + TURN)
            by_speeds[i * n + j] = by_speeds[j * n + i] = dot6(along, first)
            # mixed[i, j] = d2K/dq_i dqd_j: q of the ancestor j with the speed of i is S'_j . M S_i
            mixed[j * n + i] = dot6(along_turn, first)
            mixed[i * n + j] = dot6(along, second)
            by_places[i * n + j] = by_places[j * n + i] = dot6(along_turn, second)
            j = parent[j]
        if parent[i] >= 0:
            for e in range(36):
                composite[36 * parent[i] + e] += composite[M + e]


@kernel
def gravity_hessian(tree, motion, nodes, a, composite, hessian):
    """hessian <- d2V/dq_i dq_j of the weight at node a (Algorithm 3)."""
    parent, body, gravity = tree
    n = parent.size
    g = (gravity[0], gravity[1], gravity[2])
    for j in range(4 * n):
        composite[j] = 0.0
    for j in range(n * n):
        hessian[j] = 0.0
    for i in range(n - 1, -1, -1):
        m = (i * nodes + a) * RECORD
        mass = body[i * BODY + MASS]
        x = point(motion, m, body, i * BODY + CENTER)
        sums = 4 * i
        composite[sums] += mass
        for e in range(3):
            composite[sums + 1 + e] += mass * x[e]
        s, t = load3(motion, m + AXIS), load3(motion, m + AXIS + 3)
        u = cross(load3(composite, sums + 1), s)
        total = composite[sums]
        sigma = cross(g, (total * t[0] - u[0], total * t[1] - u[1], total * t[2] - u[2]))
        j = i
        while j >= 0:
            other = (j * nodes + a) * RECORD + AXIS
            entry = motion[other] * sigma[0] + motion[other + 1] * sigma[1]
            entry += motion[other + 2] * sigma[2]
            hessian[i * n + j] = hessian[j * n + i] = entry
            j = parent[j]
        if parent[i] >= 0:
            for e in range(4):
                composite[4 * parent[i] + e] += composite[sums + e]


@kernel
def add_force_slopes(
    # Tables:
    tree, pins, loads,
    # In:
    wh, k, a, s, multiplier, motion,
    # Work, 78 n:
    composite,
    # Out, (n, n):
    by_places, by_speeds,
):  # fmt: skip
    """by_places, by_speeds <- + df/dq, df/dqd of the joints' impulses f_i = S_i . Gamma_i + Q_i.

    Without gravity. df_i/dq_j = S_i . (C S_j + D dS_j/dt) - S_j . ad^D_Gamma S_i for an ancestor j
    of i or i itself, with C = sum of D_1 F - D_2 F ad_v = W - ad^D_F and D = sum of D_2 F over
    descendants of i; the last term falls away for a descendant j, with C and D of j.
    """
    parent, body = tree[0], tree[1]
    n = parent.size
    nodes = s + 1
    for j in range(78 * n):
        composite[j] = 0.0
    if a < s:
        add_push_slopes(pins, multiplier, a, a + 1, nodes, motion, composite, 78, -36 * a, 36, 6)
    for i in range(n - 1, -1, -1):
        m = (i * nodes + a) * RECORD
        C = 78 * i
        # F, and Gamma as their sum, without the weight
        mass = wh * body[i * BODY + MASS]
        g = tree[2]
        x = point(motion, m, body, i * BODY + CENTER)
        f = (mass * g[0], mass * g[1], mass * g[2])
        u = cross(x, f)
        for e in range(3):
            composite[C + 72 + e] += motion[m + WRENCH + e] - u[e]
            composite[C + 75 + e] += motion[m + WRENCH + 3 + e] - f[e]
        own = load6(motion, m + WRENCH)
        own = (
            own[0] - u[0], own[1] - u[1], own[2] - u[2],
            own[3] - f[0], own[4] - f[1], own[5] - f[2],
        )  # fmt: skip
        subtract_dual(own, 1.0, composite, C, 6)
        add_wrench_slopes(
            tree, loads, wh, k, a, i, False, motion, m, composite, (C, C + 36, 6)
        )  # fmt: skip
        axis = load6(motion, m + AXIS)
        force = ad_dual(load6(composite, C + 72), axis)
        left, left_speed = (
            _multiply_left(composite, C, axis),
            _multiply_left(composite, C + 36, axis),
        )
        right = multiply6(composite, C, axis)
        turned = multiply6(composite, C + 36, load6(motion, m + TURN))
        right_speed = multiply6(composite, C + 36, axis)
        j = i
        while j >= 0:
            other = (j * nodes + a) * RECORD
            along, along_turn = load6(motion, other + AXIS), load6(motion, other + TURN)
            entry = dot6(left, along) + dot6(left_speed, along_turn) - dot6(along, force)
            by_places[i * n + j] += entry
            by_speeds[i * n + j] += dot6(left_speed, along)
            if j != i:
                by_places[j * n + i] += dot6(along, right) + dot6(along, turned)
                by_speeds[j * n + i] += dot6(along, right_speed)
            j = parent[j]
        by_places[i * n + i] -= wh * body[i * BODY + STIFFNESS]
        by_speeds[i * n + i] -= wh * body[i * BODY + DAMPING]
        if parent[i] >= 0:
            for e in range(78):
                composite[78 * parent[i] + e] += composite[C + e]


@kernel
def _multiply_left(x, at, v):
    """A^T v for the 6 x 6 matrix A."""
    total = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for e in range(6):
        row = load6(x, at + 6 * e)
        total = (
            total[0] + row[0] * v[e], total[1] + row[1] * v[e], total[2] + row[2] * v[e],
            total[3] + row[3] * v[e], total[4] + row[4] * v[e], total[5] + row[5] * v[e],
        )  # fmt: skip
    return total


@kernel
def stage_hessians(tree, rule, pins, loads, h, k, multiplier, motion, composite, stages):
    """Lv_v = w^a K_qdqd, Lv_q, and slopes of w^a h L_q + F by q and by qd at each node.

    ``stages`` holds for each node four (n, n) matrices: d(w K_qd)/dqd, d(w K_qd)/dq,
    d(w h L_q + f)/dq and d(w h L_q + f)/dqd.
    """
    n, nodes = tree[0].size, rule[0].size
    for a in range(nodes):
        w = rule[0][a]
        first = 4 * n * n * a
        vv = stages[first : first + n * n]
        vq = stages[first + n * n : first + 2 * n * n]
        qq = stages[first + 2 * n * n : first + 3 * n * n]
        qv = stages[first + 3 * n * n : first + 4 * n * n]
        gravity_hessian(tree, motion, nodes, a, composite, vq)  # vq is free until then
        kept = vq
        kinetic_hessian(tree, motion, nodes, a, composite, vv, qv, qq)
        # kinetic_hessian leaves vq alone
        for i in range(n):
            for j in range(n):
                qq[i * n + j] = w * h * (qq[i * n + j] - kept[i * n + j])
        for i in range(n):
            for j in range(n):
                vv[i * n + j] *= w
                vq[j * n + i] = w * qv[i * n + j]
        for j in range(n * n):
            qv[j] *= w * h
        add_force_slopes(
            tree, pins, loads, w * h, k, a, nodes - 1, multiplier, motion, composite, qq, qv
        )


@kernel
def residual_block(slope, nodes, n, h, stages, row, column, out):
    """dR^b/dq^g = [b = g] f_q^b + b^bg f_v^b / h + b^gb Lv_q^g + sum_a b^ab b^ag Lv_v^a / h."""
    size = n * n
    for j in range(size):
        out[j] = 0.0
    if row == column:
        f = stages[(4 * row + 2) * size : (4 * row + 3) * size]
        for j in range(size):
            out[j] += f[j]
    weight = slope[row * nodes + column] / h
    f = stages[(4 * row + 3) * size : (4 * row + 4) * size]
    for j in range(size):
        out[j] += weight * f[j]
    weight = slope[column * nodes + row]
    f = stages[(4 * column + 1) * size : (4 * column + 2) * size]
    for j in range(size):
        out[j] += weight * f[j]
    for a in range(nodes):
        weight = slope[a * nodes + row] * slope[a * nodes + column] / h
        f = stages[4 * a * size : (4 * a + 1) * size]
        for j in range(size):
            out[j] += weight * f[j]
