"""One interval of a Galerkin-Lobatto step: Newton's method, the matrix kept while it serves."""

from graphsys.kernels import factorize, solve

from .galerkin_matrix import assemble, ease
from .galerkin_residual import residual
from .jit import kernel
from .layout import BODIES, ROWS, TWIST, WRENCHES
from .newton import EPS, HALVINGS, ITERATIONS, KEEP, NOT_CONVERGED, NOT_FINITE, SINGULAR, largest

#: What a factorization costs, in iterations; intervals without another try after one that failed.
WORTH = 2.5
PAUSES = 64.0

# info of a step: length of the interval whose factors are there; iterations that they cost more
# than fresh ones since; what those needed; intervals to wait before factors are used again, and
# how long the wait was
HELD, LOST, NEEDED, WAIT, PAUSE = 6, 7, 8, 10, 11


@kernel
def settle(h, iterations, tried, held, info):
    """Whether the next interval uses these factors: while they save more than they cost."""
    info[HELD] = h
    info[WAIT] = max(0.0, info[WAIT] - 1.0)
    first = info[LOST] == 0.0
    if held:
        info[LOST] += max(0.0, iterations - info[NEEDED])
    failed = tried and (not held or (first and info[LOST] >= WORTH))
    if failed:
        info[PAUSE] = min(PAUSES, 2.0 * info[PAUSE] + 1.0)
        info[WAIT] = info[PAUSE]
    elif tried:
        info[PAUSE] = 0.0
    if not held:
        info[LOST], info[NEEDED] = 0.0, iterations
    if info[WAIT] > 0.0 or info[LOST] >= WORTH:
        info[HELD] = 0.0


@kernel
def attempt(
    # Tables:
    plan,
    constant,
    program,
    rule,
    # In:
    time,
    h,
    tolerance,
    control,
    wrench,
    p,
    # In and out:
    x,
    # Work:
    nodes,
    scratch,
    solver,
    # Out:
    info,
):  # fmt: skip
    """Solve r(x) = 0 from the guess x; iterations, or what went wrong (negative).

    ``info[0], info[1]`` are the largest velocity error and |g|.
    """
    values, magnitude, arena, work, status = solver
    r, dx, kept, mu, f, L, C, K, E, W = scratch
    s = rule[0].size - 1
    n = TWIST * s * plan[BODIES]
    unknowns = n + s * plan[ROWS]
    closed = max(tolerance, 64.0 * EPS * largest(nodes[0][0], 0, nodes[0].shape[1]))
    tried = held = info[HELD] == h  # whether factors of an earlier interval serve
    info[HELD] = 0.0
    worst, opened, merit = residual(
        plan, constant, rule, time, h, control, wrench, p, x, nodes, f, r
    )
    settled = False  # whether the last change of velocities was below the tolerance
    fresh = False  # whether the factors are of this x
    factorized = held
    before = 0.0
    for iteration in range(ITERATIONS):
        info[0], info[1] = worst, opened
        if not merit < 1e300:
            return NOT_FINITE
        level = tolerance * max(1.0, largest(x, 0, n))
        if (worst <= level or settled) and opened <= closed and iteration > 0:
            settle(h, iteration, tried, held, info)
            return iteration
        if held:  # they serve where two more iterations will do
            slow = iteration > 0 and merit * worst > level * before
        else:
            slow = not factorized or merit > KEEP * before
        if slow:
            assemble(plan, constant, rule, h, control, x, nodes, L, C, K, E, W, mu, values)
            if plan[WRENCHES] > 0:
                ease(plan, constant, rule, time, h, control, wrench, nodes, f, E, W, values)
            if factorize(program, values, 1e-15, magnitude, arena, status) != 0:
                return SINGULAR
            info[2] += 1.0
            fresh = True
            factorized = True
            held = False
        solve(program, arena, r, 1, work, dx)
        for i in range(unknowns):
            kept[i] = x[i]
        settled = largest(dx, 0, n) <= level  # residuals of light bodies drown in round-off
        before = merit
        part = 1.0
        for _ in range(HALVINGS):
            for i in range(unknowns):
                x[i] = kept[i] - part * dx[i]
            worst, opened, merit = residual(
                plan, constant, rule, time, h, control, wrench, p, x, nodes, f, r
            )
            if merit < before or ((worst <= tolerance or settled) and opened <= closed):
                break
            part *= 0.5
        else:
            if fresh:
                return NOT_CONVERGED
            before = 0.0  # the direction was old: factorize at the point kept
            for i in range(unknowns):
                x[i] = kept[i]
            worst, opened, merit = residual(
                plan, constant, rule, time, h, control, wrench, p, x, nodes, f, r
            )
        fresh = False
    return NOT_CONVERGED
