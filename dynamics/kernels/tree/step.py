"""Steps of a tree: Newton's or the quasi-Newton method on its discrete Euler-Lagrange equations."""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.tree.constraints import (
    add_constraint_wrenches,
    add_slope,
    constraint,
    factorize_dense,
    solve_dense,
)
from dynamics.kernels.tree.layout import NOT_CONVERGED, NOT_FINITE, RECORD, REDUNDANT, SOLVED
from dynamics.kernels.tree.momentum import factorize_mass, solve_mass
from dynamics.kernels.tree.motion import evaluate_motion
from dynamics.kernels.tree.newton import factorize, newton_step
from dynamics.kernels.tree.residual import evaluate_equations


@kernel
def residual(tree, rule, pins, loads, h, k, q, p, multiplier, motion, r):
    """r(q^0..q^s, lambda) and the next momentum (6)."""
    n, nodes = tree[0].size, rule[0].size
    evaluate_motion(tree, rule, h, q, motion)
    for j in range(nodes * n):
        r[j] = 0.0
    add_constraint_wrenches(tree, pins, multiplier, nodes - 1, nodes, motion, r)
    evaluate_equations(tree, rule, loads, h, k, p, motion, q, r)


@kernel
def factorize_step(tree, rule, pins, loads, quasi, h, k, multiplier, work):
    """Factor of J, J^-1 (dh/dq)^T and dh/dq J^-1 (dh/dq)^T at the motion in ``work``; a status."""
    motion, factor, inertias, z, columns, slopes, schur, rows = work
    n, nodes, m = tree[0].size, rule[0].size, pins[0].size
    s = nodes - 1
    if quasi:
        if not factorize_mass(tree, motion, nodes * RECORD, inertias):
            return NOT_FINITE
    elif not factorize(tree, rule, pins, loads, multiplier, h, k, motion, factor):
        return NOT_FINITE
    if m == 0:
        return SOLVED
    for j in range(nodes * m * n):
        slopes[j] = 0.0
    for a in range(nodes):
        for c in range(m):
            add_slope(tree, pins, c, nodes, a, motion, 1.0, slopes, (a * m + c) * n)
    total = s * m
    for c in range(total):  # J^-1 A, a column for each multiplier lambda^a_c
        a = c // m
        column = columns[c * s * n : (c + 1) * s * n]
        right = z[n * 6 * (2 * s + 1) + n * s :]
        for j in range(s * n):
            right[j] = 0.0
        for i in range(n):
            right[a * n + i] = slopes[c * n + i]
        newton_direction(tree, rule, quasi, h, motion, factor, inertias, right, z, column)
        for row in range(total):
            g = row // m + 1
            value = 0.0
            for i in range(n):
                value += slopes[(row + m) * n + i] * column[(g - 1) * n + i]
            schur[row * total + c] = value
    return SOLVED if factorize_dense(schur, total, rows) else REDUNDANT


@kernel
def newton_direction(tree, rule, quasi, h, motion, factor, inertias, r, z, step):
    """step <- -J^-1 r, or -h K^-1 M^-1 r where J is taken as K M / h."""
    if not quasi:
        newton_step(tree, rule, h, motion, factor, r, z, step)
        return
    n, nodes = tree[0].size, rule[0].size
    s = nodes - 1
    for a in range(s):
        solve_mass(tree, motion, nodes * RECORD, inertias, r, a * n, z, a * n)
    for g in range(s):
        for i in range(n):
            total = 0.0
            for a in range(s):
                total += rule[3][g * s + a] * z[a * n + i]
            step[g * n + i] = -h * total


@kernel
def constrained_direction(tree, rule, m, quasi, h, r, gap, work, step):
    """dq and dlambda of J dq + A dlambda = -r, Dh dq = -gap (section 3.3); dlambda replaces gap."""
    motion, factor, inertias, z, columns, slopes, schur, rows = work
    n, s = tree[0].size, rule[0].size - 1
    newton_direction(tree, rule, quasi, h, motion, factor, inertias, r, z, step)
    total = s * m
    for row in range(total):
        g = row // m
        value = gap[row]
        for i in range(n):
            value += slopes[(row + m) * n + i] * step[g * n + i]
        gap[row] = -value
    if total:
        # columns hold -J^-1 A, so Dh dq = Dh dq_r + schur dlambda
        solve_dense(schur, total, rows, gap)
    for c in range(total):
        for j in range(s * n):
            step[j] += gap[c] * columns[c * s * n + j]


@kernel
def solve_step(
    # Tables:
    tree, rule, pins, loads, method,
    # In, k the step's number:
    h, k, p,
    # Work:
    work, scratch,
    # Out, a guess before:
    q, multiplier,
):  # fmt: skip
    """r(q^1..q^s, lambda) = 0, h(q^1) = .. = h(q^s) = 0 for q^0, p^k; (status, iterations)."""
    quasi, most, halvings, tolerance = method
    step, gap, trial, _, r = scratch
    n, nodes, m = tree[0].size, rule[0].size, pins[0].size
    s = nodes - 1
    motion = work[0]
    residual(tree, rule, pins, loads, h, k, q, p, multiplier, motion, r)
    before = math.inf
    for iteration in range(1, most + 1):
        norm = _norm(r, s * n)
        if not math.isfinite(norm):
            return NOT_FINITE, iteration
        status = factorize_step(tree, rule, pins, loads, quasi, h, k, multiplier, work)
        if status != SOLVED:
            return status, iteration
        for a in range(1, nodes):
            for c in range(m):
                gap[(a - 1) * m + c] = constraint(tree, pins, c, nodes, a, q, motion)
        constrained_direction(tree, rule, m, quasi, h, r, gap, work, step)
        size, scale = 0.0, 1.0
        for j in range(s * n):
            size = max(size, abs(step[j]))
            scale = max(scale, abs(q[n + j]))
            trial[j] = q[n + j]
        if not math.isfinite(size):
            return NOT_FINITE, iteration
        for c in range(s * m):
            multiplier[c] += gap[c]
        length = 1.0
        halved = 0
        while True:
            for j in range(s * n):
                q[n + j] = trial[j] + length * step[j]
            residual(tree, rule, pins, loads, h, k, q, p, multiplier, motion, r)
            if halved >= halvings or m > 0 or size <= 1e-6 * scale:
                break
            if _norm(r, s * n) <= (1.0 - 1e-4 * length) * norm:
                break
            length *= 0.5
            halved += 1
        if halved == 0 and _small(size, before, tolerance * scale):
            return SOLVED, iteration
        before = size if halved == 0 else math.inf
    return NOT_CONVERGED, most


@kernel
def _small(size, before, tolerance):
    """True if the rest after a step, size * ratio / (1 - ratio), is below tolerance or rounding."""
    if size <= tolerance:
        return True
    if not math.isfinite(before):
        return False
    ratio = size / before
    if ratio < 1.0 and size * ratio / (1.0 - ratio) <= tolerance:
        return True
    # Steps that no longer shrink and are this small are rounding errors of J^-1 r.
    return ratio > 0.1 and size <= 1e3 * tolerance


@kernel
def _norm(r, count):
    """|r|."""
    total = 0.0
    for j in range(count):
        total += r[j] * r[j]
    return math.sqrt(total)


@kernel
def velocity(tree, pins, nodes, a, p, p_at, work, speed, speed_at):
    """M dq/dt = p + (dh/dq)^T nu, dh/dq dq/dt = 0 at node a of the motion in ``work``; a status."""
    motion, inertias, columns, slopes, schur, rows = (
        work[0], work[2], work[4], work[5], work[6], work[7],
    )  # fmt: skip
    n, m = tree[0].size, pins[0].size
    here = motion[a * RECORD :]
    if not factorize_mass(tree, here, nodes * RECORD, inertias):
        return NOT_FINITE
    solve_mass(tree, here, nodes * RECORD, inertias, p, p_at, speed, speed_at)
    if m == 0:
        return SOLVED
    for j in range(m * n):
        slopes[j] = 0.0
    for c in range(m):
        add_slope(tree, pins, c, nodes, a, motion, 1.0, slopes, c * n)
        solve_mass(tree, here, nodes * RECORD, inertias, slopes, c * n, columns, c * n)
    right = schur[m * m :]
    for c in range(m):
        right[c] = 0.0
        for i in range(n):
            right[c] -= slopes[c * n + i] * speed[speed_at + i]
        for d in range(m):
            schur[c * m + d] = 0.0
            for i in range(n):
                schur[c * m + d] += slopes[c * n + i] * columns[d * n + i]
    if not factorize_dense(schur, m, rows):
        return REDUNDANT
    solve_dense(schur, m, rows, right)
    for c in range(m):
        for i in range(n):
            speed[speed_at + i] += right[c] * columns[c * n + i]
    return SOLVED


@kernel
def simulate(
    # Tables:
    tree, rule, pins, loads, method,
    # In, with row 0 of q, p and speed:
    h, first, steps,
    # Work:
    work, scratch,
    # Out:
    results,
):  # fmt: skip
    """(q, p)_{k+1} from (q, p)_k for first <= k < steps; the steps done and a status.

    ``results`` are q, p, velocities, multipliers and iterations of all steps.
    """
    q, p, speed, multiplier, iterations = results
    _, _, _, nodes_q, r = scratch
    n, nodes, m = tree[0].size, rule[0].size, pins[0].size
    s = nodes - 1
    for k in range(first, steps):
        for i in range(n):
            for a in range(nodes):
                nodes_q[a * n + i] = q[k * n + i] + rule[2][a] * h * speed[k * n + i]
        impulse = multiplier[k * s * m : (k + 1) * s * m]
        for c in range(s * m):
            impulse[c] = multiplier[(k - 1) * s * m + c] if k > 0 else 0.0
        status, count = solve_step(
            tree, rule, pins, loads, method, h, k, p[k * n : (k + 1) * n],
            work, scratch, nodes_q, impulse,
        )  # fmt: skip
        iterations[k] = count
        if status == SOLVED:
            for i in range(n):
                q[(k + 1) * n + i] = nodes_q[s * n + i]
                p[(k + 1) * n + i] = r[s * n + i]
            status = velocity(tree, pins, nodes, s, p, (k + 1) * n, work, speed, (k + 1) * n)
        if status != SOLVED:
            return k, status
    return steps, SOLVED
