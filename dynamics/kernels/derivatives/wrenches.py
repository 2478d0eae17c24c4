"""Slopes of users' wrenches in the derivative of an interval.

``W[k]`` (12 x 24) holds those of wrench k on bodies (a, b) with respect to (z_a, z_b, u_a, u_b),
poses as (x, theta). What a body's own velocity does is in its block of the matrix; the graph has no
block for what the other's does, which is iterated.
"""

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import (
    BODIES,
    BODY_AT,
    ROWS,
    TWIST,
    WRENCH_AT,
    WRENCH_FIELDS,
    WRENCHES,
    A,
    B,
)
from dynamics.kernels.derivatives.arguments import Columns
from dynamics.kernels.derivatives.interval_parts import solve_refined

#: Iterations for velocities of two bodies, and the change at which they end.
CROSSINGS = 60
SETTLED = 1e-15


@kernel
def add_own(plan, scale, W, values):
    """Blocks (b, b) <- + scale d w_b / d u_b, for both bodies of each wrench."""
    for k in range(plan[WRENCHES]):
        at = plan[WRENCH_AT] + k * WRENCH_FIELDS
        for end in range(2):
            body = plan[at + B] if end == 1 else plan[at + A]
            if body == plan[BODIES]:
                continue
            to = plan[plan[BODY_AT] + body]
            for j in range(TWIST):
                for i in range(TWIST):
                    values[to + TWIST * j + i] += scale * W[k, 6 * end + i, 12 + 6 * end + j]


@kernel
def add_wrenches(plan, scale, W, part, change, first, out, to):
    """out[to:] <- + scale W change[first:], of poses (part 0) or velocities (part 12)."""
    n = plan[BODIES]
    for k in range(plan[WRENCHES]):
        at = plan[WRENCH_AT] + k * WRENCH_FIELDS
        for i in range(12):
            on = plan[at + A] if i < 6 else plan[at + B]
            if on == n:
                continue
            for j in range(12):
                by = plan[at + A] if j < 6 else plan[at + B]
                if by < n:
                    moved = change[first + TWIST * by + j % 6]
                    out[to + TWIST * on + i % 6] += scale * W[k, i, part + j] * moved


@kernel
def add_crossed(plan, scale, W, du, out, at):
    """out[at:] <- + scale d w / d u du[at:], by the velocity of the other body alone."""
    n = plan[BODIES]
    for k in range(plan[WRENCHES]):
        bodies = plan[WRENCH_AT] + k * WRENCH_FIELDS
        a, b = plan[bodies + A], plan[bodies + B]
        if a == n or b == n:
            continue
        for i in range(12):
            on, by, other = (a, b, 18) if i < 6 else (b, a, 12)
            for j in range(6):
                part = scale * W[k, i, other + j]
                out[at + TWIST * on + i % 6] += part * du[at + TWIST * by + j]


@kernel
def solve_crossed(plan, constant, program, scale, W, columns, solver, right, change):
    """dx <- dx + K^-1 E dx + (K^-1 E)^2 dx + ..., E of `add_crossed`; 1 where it does not end."""
    b, dx = right.b, right.dx
    unknowns = TWIST * plan[BODIES] + plan[ROWS]
    size = columns * unknowns
    corrections = Columns(b=b, d=right.d, dx=change)
    for i in range(size):
        change[i] = dx[i]
    for _ in range(CROSSINGS):
        for i in range(size):
            b[i] = 0.0
        for col in range(columns):
            add_crossed(plan, scale, W, change, b, col * unknowns)
        bad = solve_refined(plan, constant, program, False, columns, solver, corrections)
        if bad != 0:
            return 1
        step, whole = 0.0, 0.0
        for i in range(size):
            dx[i] += change[i]
            step, whole = max(step, abs(change[i])), max(whole, abs(dx[i]))
        if step <= SETTLED * whole:
            return 0
    return 1
