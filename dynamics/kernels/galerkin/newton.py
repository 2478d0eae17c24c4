"""One interval of a Galerkin-Lobatto step: Newton's method, as a rule with one small matrix.

The matrix of order 2 in the middle serves all stages (`galerkin.middle`) as long as 2 s more
iterations will do: what the matrix of the step itself costs. Where they will not, that one takes
over, kept while residuals shrink fivefold, and the next tries with the small one come after
1, 3, 7 ... 63 intervals. Constraints close as far as velocities do in an interval: what is left
open does work, which shows in the energy of loops.
"""

from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.base.layout import BODIES, ROWS, TWIST, UNITS_AT, WRENCHES
from dynamics.kernels.base.status import NOT_CONVERGED, NOT_FINITE, SINGULAR
from dynamics.kernels.base.step_info import (
    FACTORIZATIONS,
    MIDDLE_PAUSE,
    MIDDLE_WAIT,
    VELOCITY_ERROR,
    VIOLATION,
)
from dynamics.kernels.galerkin.matrix import add_user_slopes, assemble
from dynamics.kernels.galerkin.middle import factorize_middle, solve_middle
from dynamics.kernels.galerkin.residual import residual
from dynamics.kernels.interval.newton import EPS, HALVINGS, KEEP, MOST_ITERATIONS
from dynamics.kernels.interval.residual import extent, fastest
from graphsys.kernels import factorize, solve

#: Intervals without another try after one that failed, at most.
PAUSES = 64.0


@kernel
def schedule_middle(tried, middle, info):
    """Schedule the next try of the matrix of the middle."""
    info[MIDDLE_WAIT] = max(0.0, info[MIDDLE_WAIT] - 1.0)
    if tried:
        info[MIDDLE_PAUSE] = 0.0 if middle else min(PAUSES, 2.0 * info[MIDDLE_PAUSE] + 1.0)
        info[MIDDLE_WAIT] = info[MIDDLE_PAUSE]


@kernel
def largest_change(plan, constant, s, unknowns, x):
    """`fastest` of all stages."""
    most = 0.0
    for b in range(s):
        most = max(most, fastest(plan, constant, pointer(x, b * unknowns)))
    return most


@kernel
def attempt(
    # Tables:
    plan,
    constant,
    program,
    method,
    # In:
    tolerance,
    inputs,
    part,
    p,
    # In and out:
    nodes,
    work,
    # Work:
    solver,
    # Out:
    info,
):  # fmt: skip
    """Solve r(x) = 0 from the guess ``work.x``; iterations, or what went wrong (negative)."""
    x, r, dx, kept, f = work.x, work.r, work.dx, work.kept, work.f
    rule, blocks, values = method.rule, method.blocks, solver.values
    s, n, time, h = rule.s, TWIST * plan[BODIES], part.time, part.length
    stage = n + plan[ROWS]
    unknowns = s * stage
    closed = max(
        h / constant[plan[UNITS_AT]] * tolerance, 64.0 * EPS * extent(plan, constant, nodes.pose)
    )
    worst, opened, merit = residual(plan, constant, rule, time, h, inputs, p, x, nodes, f, r)
    settled = False  # whether the last change of velocities was below the tolerance
    fresh = False  # whether the factors are of this x
    ours = False  # whether they are of this interval
    tried = middle = info[MIDDLE_WAIT] == 0.0  # whether the matrix of the middle serves
    before = 0.0
    for iteration in range(MOST_ITERATIONS):
        info[VELOCITY_ERROR], info[VIOLATION] = worst, opened
        if not merit < 1e300:
            return NOT_FINITE
        level = tolerance * max(1.0, largest_change(plan, constant, s, stage, x))
        if (worst <= level or settled) and opened <= closed and iteration > 0:
            schedule_middle(tried, middle, info)
            return iteration
        if middle and iteration == 0:
            info[FACTORIZATIONS] += 1.0
            middle = (
                factorize_middle(plan, constant, method.middle, s, h, x, nodes, f, solver.middle)
                == 0
            )
        elif middle:  # it serves where few more iterations will do
            middle = worst * (merit / before) ** s <= level
        if not middle and (merit > KEEP * before or not ours):
            assemble(plan, constant, rule, blocks, h, inputs.control, nodes, work, values)
            if plan[WRENCHES] > 0:
                add_user_slopes(
                    plan, constant, rule, blocks[0], time, h, inputs, nodes, work, values
                )
            failed = factorize(
                program, values, 1e-15, solver.magnitude, solver.factors, solver.status
            )
            if failed != 0:
                return SINGULAR
            info[FACTORIZATIONS] += 1.0
            fresh = ours = True
        if middle:
            solve_middle(plan, method.middle, s, method.stages, r, solver.middle, dx)
        else:
            solve(program, solver.factors, solver.rhs, 1, solver.workspace, solver.solution)
        for i in range(unknowns):
            kept[i] = x[i]
        # residuals of light bodies drown in round-off
        settled = largest_change(plan, constant, s, stage, dx) <= level
        before = merit
        step = 1.0
        for _ in range(HALVINGS):
            for i in range(unknowns):
                x[i] = kept[i] - step * dx[i]
            worst, opened, merit = residual(
                plan, constant, rule, time, h, inputs, p, x, nodes, f, r
            )
            if merit < before or ((worst <= tolerance or settled) and opened <= closed):
                break
            step *= 0.5
        else:
            if fresh:
                return NOT_CONVERGED
            before = 0.0  # the direction was old: factorize at the point kept
            for i in range(unknowns):
                x[i] = kept[i]
            worst, opened, merit = residual(
                plan, constant, rule, time, h, inputs, p, x, nodes, f, r
            )
        fresh = False
    return NOT_CONVERGED
