"""One interval: Newton's method on the residual, all in compiled code.

The matrix is factorized at the predicted velocities and kept while residual and changes shrink
fivefold per iteration; Broyden's method corrects the remaining error. A step that does not lower
the residual is halved. The iteration that was the last one of the previous interval also writes the
slopes of the rows: if it is the last again, the next interval has them. If only loops stay open,
their regularization is reduced: near a change point it is the only pivot of some rows.
"""

from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.base.layout import BODIES, JOINTS, ROTORS, ROWS, TWIST, WRENCHES
from dynamics.kernels.base.six import larger, most_of, nothing
from dynamics.kernels.base.status import NOT_CONVERGED, NOT_FINITE, SINGULAR
from dynamics.kernels.base.step_info import (
    CONTRACTION,
    FACTORIZATIONS,
    HAS_SLOPES,
    LAST_ITERATIONS,
    VELOCITY_ERROR,
    VIOLATION,
)
from dynamics.kernels.interval.broyden import accelerate
from dynamics.kernels.interval.matrix import assemble, relax
from dynamics.kernels.interval.residual import extent, fastest, residual
from dynamics.kernels.rows.poses import move
from dynamics.kernels.rows.rows import evaluate, roll
from dynamics.kernels.rows.wrench import add_user_slopes, update_user_impulse
from graphsys.kernels import factorize_and_solve, solve

#: Iterations of one attempt, and halvings of one iteration.
MOST_ITERATIONS = 30
HALVINGS = 8
#: Squared contraction of the residual that keeps a factorization, and contraction of the changes.
KEEP = 0.04
FRESH = 0.15
#: Squared contraction with new factors that is none: a shorter interval does better.
SLOW = 0.5
#: What is left of the loops' regularization after each slow iteration, and at least.
RELAX = 0.01
NEAR = 1e3
LEAST = 1e-5
EPS = 2.220446049250313e-16


@kernel
def largest_entry(x, first, last):
    """max |x_i|, first <= i < last."""
    rest = last - (last - first) % 6
    found = nothing()
    for i in range(first, rest, 6):
        found = larger(found, x, i)
    most = most_of(found)
    for i in range(rest, last):
        most = max(most, abs(x[i]))
    return most


@kernel
def evaluate_end(plan, constant, h, slopes, node, x, trial):
    """Rows at the end of the interval, where `move` has led to."""
    last = plan[JOINTS] + plan[ROTORS]
    evaluate(plan, constant, 0, last, trial.pose, trial.matrix, slopes, trial.g, trial.G)
    roll(plan, h, node.G, trial.G, x, trial.g)


@kernel
def evaluate_residual(plan, constant, h, slopes, kick, node, x, trial, r):
    """Pose at the end of the interval, its rows and the residual of x: see `residual`."""
    move(plan[BODIES], h, node.pose, x, trial.pose, trial.matrix)
    evaluate_end(plan, constant, h, slopes, node, x, trial)
    if plan[WRENCHES] > 0:
        update_user_impulse(plan, h, node, x, kick)
    return residual(plan, constant, h, kick, node.G, node.g, x, trial.g, r)


@kernel
def attempt(
    # Tables:
    plan,
    constant,
    program,
    # In:
    h,
    tolerance,
    node,
    # In and out:
    trial,
    work,
    # Work:
    solver,
    # Out:
    info,
):  # fmt: skip
    """Solve r(x) = 0 from the guess ``work.x``; iterations, or what went wrong (negative).

    ``node`` is the start and ``trial``, when solved, the end: without forces, and with slopes if
    ``info[HAS_SLOPES]`` is 1.
    """
    x, r, dx, kept, kick = work.x, work.r, work.dx, work.kept, work.kick
    values = pointer(solver.values, 0)
    n = TWIST * plan[BODIES]
    unknowns = n + plan[ROWS]
    closed = max(tolerance, 64.0 * EPS * extent(plan, constant, node.pose))
    worst, opened, merit = evaluate_residual(plan, constant, h, True, kick, node, x, trial, r)
    settled = False  # whether the last change of velocities was below the tolerance
    age = -1  # iterations with these factors; -1 before there are any
    part_kept = 1.0  # of the loops' regularization
    before = 0.0
    expected = info[LAST_ITERATIONS]
    stored = 0  # changes with these factors, for Broyden's method
    change = changed = 0.0
    info[CONTRACTION] = 0.0
    sloped = True
    for iteration in range(MOST_ITERATIONS):
        info[VELOCITY_ERROR], info[VIOLATION] = worst, opened
        if not merit < 1e300:
            return NOT_FINITE
        level = tolerance * max(1.0, fastest(plan, constant, x))
        if (worst <= level or settled) and opened <= closed and age >= 0:
            info[LAST_ITERATIONS], info[HAS_SLOPES] = iteration, 1.0 if sloped else 0.0
            return iteration
        fresh = age < 0 or merit > KEEP * before
        if not fresh:
            solve(program, solver.factors, solver.rhs, 1, solver.workspace, solver.solution)
            fresh = fastest(plan, constant, dx) > FRESH * changed and worst > NEAR * level
        if fresh:
            if not sloped:
                evaluate_end(plan, constant, h, True, node, x, trial)
            assemble(plan, constant, h, x, node.g, node.G, trial.G, values)
            add_user_slopes(plan, h, node.f, values)
            if age == 1 and worst <= level:
                part_kept = max(LEAST, RELAX * part_kept)
            if part_kept < 1.0:
                relax(plan, constant, part_kept, values)
            failed = factorize_and_solve(
                program, solver.values, solver.rhs, 1e-15, solver.magnitude, solver.workspace,
                solver.factors, solver.status, solver.solution,
            )  # fmt: skip
            if failed > 0:
                return SINGULAR
            info[FACTORIZATIONS] += 1.0
            age = stored = 0
        stored = accelerate(n, unknowns, stored, kept, dx)
        change = fastest(plan, constant, dx)
        if iteration == 1:
            info[CONTRACTION] = change / changed
        changed = change
        for i in range(unknowns):
            kept[i] = x[i]
        settled = change <= level  # residuals of light bodies drown in round-off
        before = merit
        part = 1.0
        sloped = iteration + 1 >= expected
        for _ in range(HALVINGS):
            for i in range(unknowns):
                x[i] = kept[i] - part * dx[i]
            worst, opened, merit = evaluate_residual(
                plan, constant, h, sloped, kick, node, x, trial, r
            )
            if merit < before or ((worst <= tolerance or settled) and opened <= closed):
                break
            if age == 0 and part == 1.0 and worst <= NEAR * level and opened <= NEAR * closed:
                break
            part *= 0.5
            stored = 0
        else:
            if age == 0:
                return NOT_CONVERGED
            before = 0.0  # the direction was old: factorize at the point kept
            for i in range(unknowns):
                x[i] = kept[i]
            worst, opened, merit = evaluate_residual(
                plan, constant, h, True, kick, node, x, trial, r
            )
            sloped = True
        if age == 0 and merit > SLOW * before and worst > NEAR * level:
            return NOT_CONVERGED
        age += 1
    return NOT_CONVERGED
