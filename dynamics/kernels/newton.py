"""One interval: Newton's method on the residual, all in compiled code.

The matrix is factorized at the guess and kept while the residual shrinks tenfold an iteration; a
step that does not lower the residual is halved.
"""

from graphsys.kernels import factorize, solve

from .jit import kernel
from .layout import BODIES, JOINTS, ROWS, TWIST
from .matrix import assemble
from .motion import move
from .residual import residual
from .rows import evaluate, roll

#: Iterations of one attempt, and halvings of one iteration.
ITERATIONS = 30
HALVINGS = 8
#: Squared contraction that keeps a factorization.
KEEP = 0.01
#: What `attempt` gives back when it fails.
NOT_CONVERGED = -1
SINGULAR = -2
NOT_FINITE = -3

EPS = 2.220446049250313e-16


@kernel
def largest(x, first, last):
    """max |x_i|, first <= i < last."""
    most = 0.0
    for i in range(first, last):
        most = max(most, abs(x[i]))
    return most


@kernel
def try_out(plan, constant, h, slopes, kick, node, x, trial, r):
    """Pose at the end of the interval, its rows and the residual of x: see `residual`."""
    pose, _, g, G, _ = node
    moved, matrix, g_next, G_next, _ = trial
    move(plan[BODIES], h, pose, x, moved, matrix)
    evaluate(plan, constant, 0, plan[JOINTS], moved, matrix, slopes, g_next, G_next)
    roll(plan, h, G, G_next, x, g_next)
    return residual(plan, constant, h, kick, G, g, x, g_next, r)


@kernel
def attempt(
    # Tables:
    plan,
    constant,
    program,
    # In:
    h,
    tolerance,
    kick,
    node,
    # In and out:
    x,
    # Work:
    trial,
    r,
    dx,
    kept,
    solver,
    # Out:
    info,
):  # fmt: skip
    """Solve r(x) = 0 from the guess x; iterations, or what went wrong (negative).

    ``node`` and ``trial`` are (pose, matrix, g, G, f) at the start and, when solved, at the end
    (there without slopes and forces). ``info[0], info[1]`` are the largest velocity error and |g|.
    """
    values, magnitude, arena, work, status = solver
    n = TWIST * plan[BODIES]
    unknowns = n + plan[ROWS]
    reach = largest(node[0], 0, node[0].size)
    closed = max(tolerance, 64.0 * EPS * reach)
    worst, opened, merit = try_out(plan, constant, h, True, kick, node, x, trial, r)
    fresh = False  # whether the factors are of this x
    factorized = False
    before = 0.0
    for iteration in range(ITERATIONS):
        info[0], info[1] = worst, opened
        if not merit < 1e300:
            return NOT_FINITE
        if worst <= tolerance * max(1.0, largest(x, 0, n)) and opened <= closed and factorized:
            return iteration
        if not factorized or merit > KEEP * before:
            if iteration > 0:
                try_out(plan, constant, h, True, kick, node, x, trial, r)
            assemble(plan, constant, h, x, node[3], trial[3], values)
            if factorize(program, values, 1e-15, magnitude, arena, status) != 0:
                return SINGULAR
            info[2] += 1.0
            fresh = True
            factorized = True
        solve(program, arena, r, 1, work, dx)
        for i in range(unknowns):
            kept[i] = x[i]
        before = merit
        part = 1.0
        for _ in range(HALVINGS):
            for i in range(unknowns):
                x[i] = kept[i] - part * dx[i]
            worst, opened, merit = try_out(plan, constant, h, False, kick, node, x, trial, r)
            if merit < before or (worst <= tolerance and opened <= closed):
                break
            part *= 0.5
        else:
            if fresh:
                return NOT_CONVERGED
            before = 0.0  # the direction was old: factorize at the point kept
            for i in range(unknowns):
                x[i] = kept[i]
            worst, opened, merit = try_out(plan, constant, h, False, kick, node, x, trial, r)
        fresh = False
    return NOT_CONVERGED
