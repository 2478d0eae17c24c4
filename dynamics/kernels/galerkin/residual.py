"""Residual of one Galerkin-Lobatto step: theory/galerkin (6) to (8) at nodes b = 0..s-1.

    -R^b - [b = 0] p - h w^b f(z^b, u^b) - G(z^b)^T mu^b = 0     (N s, N m s)
    g(z^a) / h = 0,  a = 1..s                                    (m/s, rad/s)

``R^b`` is that of `galerkin.body`, f all that acts, u^b the polynomials' velocities. Unknowns come
by stages, each like those of order 2: y^{b+1} of all bodies, then mu^b; and so do equations, those
of node b and then the constraints at b + 1.
"""

from dynamics.kernels.base.jit import kernel, natural, pointer
from dynamics.kernels.base.layout import (
    ADDED,
    BODIES,
    BODY_SIZE,
    EQUATION,
    FIRST_ROW,
    GROUP_AT,
    GROUP_FIELDS,
    GROUPS,
    HOLDING,
    JOINTS,
    LIGHTNESS,
    MASS,
    N_ROWS,
    ROWS,
    TWIST,
    UNITS_AT,
    WRENCHES,
    A,
    B,
)
from dynamics.kernels.base.six import add, nothing, plus
from dynamics.kernels.galerkin.added_mass import add_node_momenta, add_spins
from dynamics.kernels.galerkin.body import control_points, node, node_momentum, velocities
from dynamics.kernels.galerkin.rolling import roll_stages
from dynamics.kernels.rows.forces import conservative, damp, drive
from dynamics.kernels.rows.rows import evaluate
from dynamics.kernels.rows.wrench import add_user_impulses


@kernel
def pull_on(plan, G, mu, f):
    """f <- f + G^T mu of all joints."""
    n = plan[BODIES]
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        a, b, row = plan[group + A], plan[group + B], plan[group + EQUATION]
        at = 12 * plan[group + FIRST_ROW]
        on_a, on_b = nothing(), nothing()
        for i in range(plan[group + N_ROWS]):
            on_a, on_b = plus(on_a, mu[row + i], G, at), plus(on_b, mu[row + i], G, at + 6)
            at += 12
        if a < n:
            add(f, TWIST * a, on_a)
        if b < n:
            add(f, TWIST * b, on_b)


@kernel
def acting(plan, constant, time, here, control, wrench, f):
    """f <- all forces at a node, dampers and drag too; 1 where a function fails.

    After them come the time of the node and what users' functions gave.
    """
    pose, G, speed = here.pose, here.G, here.speed
    conservative(plan, constant, G, here.g, f)
    damp(plan, constant, -1.0, -1.0, G, speed, f)
    drive(plan, constant, 1.0, G, control, wrench, f)
    if plan[WRENCHES] == 0:
        return 0
    f[TWIST * plan[BODIES]] = time
    return add_user_impulses(plan, 1.0, pose, f, speed, f)


@kernel
def residual(
    # Tables:
    plan,
    constant,
    rule,
    # In:
    time,
    h,
    inputs,
    p,
    x,
    # Work:
    nodes,
    f,
    # Out:
    r,
):  # fmt: skip
    """r(x) of one step; largest velocity error, |g|, squared norm of both, over units."""
    s, weights, slope, place = rule
    n, rows = plan[BODIES], plan[ROWS]
    m = TWIST * n
    control_points(plan, s, h, x, nodes)
    velocities(plan, constant, s, slope, h, x, nodes)
    if plan[ADDED] > 0:
        add_spins(plan, constant, s, nodes)
    worst, opened, merit, rate, units = 0.0, 0.0, 0.0, 1.0 / h, plan[UNITS_AT] + 1
    for b in range(s + 1):
        here = node(plan, nodes, b)
        if b > 0:
            last = plan[GROUPS] if b < s else plan[JOINTS]
            evaluate(plan, constant, 0, last, here.pose, here.matrix, here.g, here.G)
            out, g = pointer(r, (b - 1) * (m + rows) + m), here.g
            for i in range(rows):
                value = constant[units + i] * g[i]
                opened = max(opened, abs(value))
                out[i] = rate * g[i]
                value *= rate * constant[units - 1]
                merit += value * value
        if b == s:
            break
        acting(plan, constant, time + place[b] * h, here, inputs.control[b], inputs.wrench, f)
        kick = h * weights[b]
        for i in range(m):
            f[i] *= kick
        if plan[ADDED] > 0:
            add_node_momenta(plan, constant, rule, h, nodes, b, f)
        if b == 0:
            for i in range(m):
                f[i] += p[i]
        first = natural(b * (m + rows))
        pull_on(plan, here.G, pointer(x, first + m), f)
        for i in range(n):
            c, t = i * BODY_SIZE, natural(TWIST * i)
            mass = constant[c + MASS]
            linear, angular = node_momentum(mass, s, weights, slope, h, n, i, b, nodes)
            light, thin = constant[c + LIGHTNESS], constant[c + LIGHTNESS + 3]
            for j in range(3):
                push, twist = -linear[j] - f[t + j], -angular[j] - f[t + 3 + j]
                r[first + t + j], r[first + t + 3 + j] = push, twist
                error, spin = abs(push) * light, abs(twist) * thin
                worst = max(worst, max(error, spin))
                merit += error * error + spin * spin
    if plan[HOLDING] > 0:
        way, squares = roll_stages(plan, constant, s, h, nodes, r)
        opened, merit = max(opened, way), merit + squares
    return worst, opened, merit


@kernel
def end_momentum(plan, constant, rule, time, h, inputs, nodes, f, p):
    """p <- R^s with the impulses at the last node, its forces get rows here; see `acting`."""
    s, weights, slope, _ = rule
    n, kick = plan[BODIES], h * weights[s]
    here = node(plan, nodes, s)
    evaluate(
        plan, constant, plan[JOINTS], plan[GROUPS], here.pose, here.matrix, here.g, here.G
    )  # fmt: skip
    failed = acting(plan, constant, time + h, here, inputs.control[s], inputs.wrench, f)
    for i in range(TWIST * n):
        f[i] *= kick
    if plan[ADDED] > 0:
        add_node_momenta(plan, constant, rule, h, nodes, s, f)
    for i in range(n):
        t = natural(TWIST * i)
        mass = constant[i * BODY_SIZE + MASS]
        linear, angular = node_momentum(mass, s, weights, slope, h, n, i, s, nodes)
        for j in range(3):
            p[t + j] = linear[j] + f[t + j]
            p[t + 3 + j] = angular[j] + f[t + 3 + j]
    return failed
