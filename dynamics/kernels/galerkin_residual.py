"""Residual of one Galerkin-Lobatto step: theory/galerkin (6) to (8) at nodes b = 0..s-1.

    -R^b - [b = 0] p - h w^b f(z^b, u^b) - G(z^b)^T mu^b = 0     (N s, N m s)
    g(z^a) / h = 0,  a = 1..s                                    (m/s, rad/s)

``R^b`` is that of `galerkin_body`, f all that acts, u^b the polynomials' velocities. Unknowns of a
body are its y^1..y^s, those of a joint mu^0..mu^{s-1}; equations come in the same order.
"""

from .forces import conservative, damp, drive
from .galerkin_body import control_points, momentum, velocities
from .jit import kernel, natural
from .layout import (
    BODIES,
    BODY_SIZE,
    EQUATION,
    FIRST_ROW,
    GROUP_AT,
    GROUP_FIELDS,
    GROUPS,
    JOINTS,
    LARGEST_INERTIA,
    MASS,
    N_ROWS,
    TWIST,
    WRENCHES,
    A,
    B,
)
from .rows import evaluate
from .wrench import push_users


@kernel
def pull_on(plan, s, b, G, x, f):
    """f <- f + G^T mu^b of all joints, mu^b among the unknowns."""
    n = plan[BODIES]
    at = TWIST * s * n
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        first, rows = plan[group + FIRST_ROW], plan[group + N_ROWS]
        ends = (plan[group + A], plan[group + B])
        mu = at + s * plan[group + EQUATION] + b * rows
        for end in range(2):
            if ends[end] == n:
                continue
            f0, f1, f2, f3, f4, f5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for i in range(rows):
                part, place = x[natural(mu + i)], natural(12 * (first + i) + 6 * end)
                f0 += part * G[place]
                f1 += part * G[place + 1]
                f2 += part * G[place + 2]
                f3 += part * G[place + 3]
                f4 += part * G[place + 4]
                f5 += part * G[place + 5]
            to = natural(TWIST * ends[end])
            f[to] += f0
            f[to + 1] += f1
            f[to + 2] += f2
            f[to + 3] += f3
            f[to + 4] += f4
            f[to + 5] += f5


@kernel
def acting(plan, constant, time, b, h, w, control, wrench, nodes, f):
    """f <- impulses h w of all forces at node b, dampers and drag too; 1 where a function fails.

    Behind them come the time of the node and what users' functions gave.
    """
    pose, matrix, g, G, speed, spin, turn, sigma = nodes
    conservative(plan, constant, G[b], g[b], f)
    damp(plan, constant, -1.0, G[b], speed[b], f)
    drive(plan, constant, 1.0, G[b], control[b], wrench, f)
    n = TWIST * plan[BODIES]
    failed = 0
    if plan[WRENCHES] > 0:
        f[n] = time
        failed = push_users(plan, 1.0, (pose[b], matrix[b], g[b], G[b], f), speed[b], f)
    for i in range(n):
        f[i] *= h * w
    return failed


@kernel
def residual(
    # Tables:
    plan,
    constant,
    rule,
    # In:
    time,
    h,
    control,
    wrench,
    p,
    x,
    # Work:
    nodes,
    f,
    # Out:
    r,
):  # fmt: skip
    """r(x) of one step; the largest velocity error, |g|, and the squared norm of both."""
    weights, slope, place, places, joints, pairs = rule
    pose, matrix, g, G, speed, spin, turn, sigma = nodes
    n, s = plan[BODIES], weights.size - 1
    control_points(n, s, h, x, pose, matrix, turn)
    velocities(n, constant, slope, h, x, turn, speed, spin, sigma)
    for a in range(1, s + 1):
        last = plan[GROUPS] if a < s else plan[JOINTS]
        evaluate(plan, constant, 0, last, pose[a], matrix[a], a > 0, g[a], G[a])
    worst, opened, merit = 0.0, 0.0, 0.0
    for b in range(s):
        acting(plan, constant, time + place[b] * h, b, h, weights[b], control, wrench, nodes, f)
        if b == 0:
            for i in range(TWIST * n):
                f[i] += p[i]
        pull_on(plan, s, b, G[b], x, f)
        for i in range(n):
            c, t, to = i * BODY_SIZE, TWIST * i, TWIST * (s * i + b)
            mass = constant[c + MASS]
            linear, angular = momentum(mass, weights, slope, h, i, b, speed, spin, turn, sigma)
            light, thin = 1.0 / mass, 1.0 / constant[c + LARGEST_INERTIA]
            for j in range(3):
                r[to + j] = -linear[j] - f[t + j]
                r[to + 3 + j] = -angular[j] - f[t + 3 + j]
                error, rate = abs(r[to + j]) * light, abs(r[to + 3 + j]) * thin
                worst = max(worst, max(error, rate))
                merit += error * error + rate * rate
    at = TWIST * s * n
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        first, count = plan[group + FIRST_ROW], plan[group + N_ROWS]
        if plan[group + EQUATION] != first:
            continue  # the second half of a coupling is in the first one's value
        for a in range(1, s + 1):
            for i in range(count):
                value = g[a, first + i]
                opened = max(opened, abs(value))
                r[at + s * first + (a - 1) * count + i] = value / h
                merit += (value / h) ** 2
    return worst, opened, merit


@kernel
def end_momentum(plan, constant, rule, time, h, control, wrench, nodes, f, p):
    """p <- R^s with the impulses at the last node, its forces get rows here; see `acting`."""
    weights, slope, place, places, joints, pairs = rule
    pose, matrix, g, G, speed, spin, turn, sigma = nodes
    n, s = plan[BODIES], weights.size - 1
    evaluate(plan, constant, plan[JOINTS], plan[GROUPS], pose[s], matrix[s], s > 0, g[s], G[s])
    failed = acting(plan, constant, time + h, s, h, weights[s], control, wrench, nodes, f)
    for i in range(n):
        mass = constant[i * BODY_SIZE + MASS]
        linear, angular = momentum(mass, weights, slope, h, i, s, speed, spin, turn, sigma)
        for j in range(3):
            p[TWIST * i + j] = linear[j] + f[TWIST * i + j]
            p[TWIST * i + 3 + j] = angular[j] + f[TWIST * i + 3 + j]
    return failed
