"""One interval of a Galerkin-Lobatto step: Newton's method, the matrix kept while it serves."""

from graphsys.kernels import factorize, solve

from .galerkin_matrix import assemble
from .galerkin_residual import residual
from .jit import kernel
from .layout import BODIES, ROWS, TWIST
from .newton import EPS, HALVINGS, ITERATIONS, KEEP, NOT_CONVERGED, NOT_FINITE, SINGULAR, largest


@kernel
def attempt(
    # Tables:
    plan,
    constant,
    program,
    rule,
    # In:
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
    r, dx, kept, mu, f, V, pi, W = scratch
    s = rule[0].size - 1
    n = TWIST * s * plan[BODIES]
    unknowns = n + s * plan[ROWS]
    closed = max(tolerance, 64.0 * EPS * largest(nodes[0][0], 0, nodes[0].shape[1]))
    again = h > 0.0 or h <= 0.0  # true, and no literal that would compile the residual twice
    worst, opened, merit = residual(
        plan, constant, rule, h, control, wrench, p, x, again, nodes, mu, f, r
    )
    settled = False  # whether the last change of velocities was below the tolerance
    fresh = False  # whether the factors are of this x
    factorized = False
    before = 0.0
    for iteration in range(ITERATIONS):
        info[0], info[1] = worst, opened
        if not merit < 1e300:
            return NOT_FINITE
        level = tolerance * max(1.0, largest(x, 0, n))
        if (worst <= level or settled) and opened <= closed and factorized:
            return iteration
        if not factorized or merit > KEEP * before:
            if iteration > 0:
                residual(plan, constant, rule, h, control, wrench, p, x, again, nodes, mu, f, r)
            assemble(plan, constant, rule, h, control, x, nodes, V, pi, W, mu, values)
            if factorize(program, values, 1e-15, magnitude, arena, status) != 0:
                return SINGULAR
            info[2] += 1.0
            fresh = True
            factorized = True
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
                plan, constant, rule, h, control, wrench, p, x, not again, nodes, mu, f, r
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
                plan, constant, rule, h, control, wrench, p, x, not again, nodes, mu, f, r
            )
        fresh = False
    return NOT_CONVERGED
