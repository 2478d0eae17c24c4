"""Exact linearization of a step: derivatives of q, p and lambda at its end by q, p and force."""

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.tree.hessian import residual_block, stage_hessians
from dynamics.kernels.tree.layout import SOLVED
from dynamics.kernels.tree.step import constrained_direction, factorize_step, solve_step


@kernel
def jacobian(tree, rule, pins, loads, h, k, multiplier, motion, composite, stages, block, out):
    """out[b, i, g, j] = dR^b_i/dq^g_j, R^s the next momentum."""
    n, nodes = tree[0].size, rule[0].size
    stage_hessians(tree, rule, pins, loads, h, k, multiplier, motion, composite, stages)
    for b in range(nodes):
        for g in range(nodes):
            residual_block(rule[1], nodes, n, h, stages, b, g, block)
            for i in range(n):
                for j in range(n):
                    out[((b * n + i) * nodes + g) * n + j] = block[i * n + j]


@kernel
def linearize(
    # Tables:
    tree, rule, pins, loads, method,
    # In, (steps, n):
    h, steps, starts,
    # Work:
    work, scratch, spare,
    # Out, (steps, n), (steps, s, m), (steps, 2 n + s m, 2 n + (s + 1) n):
    results,
):  # fmt: skip
    """d(q^s, p^{k+1}, lambda)/d(q^0, p^k, u^0..u^s) of each step; the steps done and a status.

    From J dq + A dlambda = -dr, with dr of q^0 (Algorithms 2 and 3), of p, and of u^a, w^a h.
    ``starts`` are q, p and velocities, ``results`` q and p after each step, multipliers and slopes.
    """
    q, p, speed = starts
    step, gap, _, nodes_q, r = scratch
    composite, stages, blocks = spare
    q_next, p_next, multiplier, slopes = results
    n, nodes, m = tree[0].size, rule[0].size, pins[0].size
    s = nodes - 1
    columns = 2 * n + nodes * n
    size = n * n
    for k in range(steps):
        at = k * n
        for i in range(n):
            for a in range(nodes):
                nodes_q[a * n + i] = q[at + i] + rule[2][a] * h * speed[at + i]
        impulse = multiplier[k * s * m : (k + 1) * s * m]
        out = slopes[k * (2 * n + s * m) * columns : (k + 1) * (2 * n + s * m) * columns]
        status, _ = solve_step(
            tree, rule, pins, loads, method, h, k, p[at : at + n],
            work, scratch, nodes_q, impulse,
        )  # fmt: skip
        if status == SOLVED:
            status = factorize_step(tree, rule, pins, loads, False, h, k, impulse, work)
        if status != SOLVED:
            return k, status
        for i in range(n):
            q_next[at + i] = nodes_q[s * n + i]
            p_next[at + i] = r[s * n + i]
        stage_hessians(tree, rule, pins, loads, h, k, impulse, work[0], composite, stages)
        # Blocks dR^b/dq^0, then dR^s/dq^g
        for b in range(nodes):
            residual_block(rule[1], nodes, n, h, stages, b, 0, blocks[b * size : (b + 1) * size])
        for g in range(1, nodes):
            block = blocks[(nodes + g - 1) * size : (nodes + g) * size]
            residual_block(rule[1], nodes, n, h, stages, s, g, block)
        for column in range(columns):
            for j in range(s * n):
                r[j] = 0.0
            for c in range(s * m):
                gap[c] = 0.0
            j = column % n
            a = column // n - 2
            if column < n:
                for b in range(s):
                    for i in range(n):
                        r[b * n + i] = blocks[b * size + i * n + j]
            elif column < 2 * n:
                r[j] = 1.0
            elif a < s:
                r[a * n + j] = rule[0][a] * h
            constrained_direction(tree, rule, m, False, h, r, gap, work, step)
            for i in range(n):
                out[i * columns + column] = step[(s - 1) * n + i]
                total = blocks[s * size + i * n + j] if column < n else 0.0
                if a == s and i == j:
                    total += rule[0][s] * h
                for g in range(1, nodes):
                    block = (nodes + g - 1) * size + i * n
                    for e in range(n):
                        total += blocks[block + e] * step[(g - 1) * n + e]
                out[(n + i) * columns + column] = total
            for c in range(s * m):
                out[(2 * n + c) * columns + column] = gap[c]
    return steps, SOLVED
