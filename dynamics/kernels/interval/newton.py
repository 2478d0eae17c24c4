"""Newton's method for one interval, of any order.

The matrix is factorized at the predicted velocities and kept while the residual shrinks fivefold
per iteration; Broyden's method corrects the remaining error. If a step with fresh factors does not
lower the residual, a second one with these follows, a step of the chord method; if that does not
help, the first one is halved. If only loops stay open, their regularization is reduced: near a
change point it is the only pivot of some rows.

A body of little mass between two joints has a pivot block with a condition number of 1e12. Its
inverse loses what the joints hold of a large residual: velocities are wrong by a hundred times what
they should change by. The second step is their iterative refinement (N. J. Higham, Accuracy and
Stability of Numerical Algorithms, SIAM, 2002, ch. 12), by the residual itself.

If a step with fresh factors hardly lowers the residual while constraints are open by the rounding
of poses alone, their rows count as closed in the next one. Over a short h that rounding is a large
velocity. At a singular posture the factors magnify it, and its error hides what bodies lack.

A method of several stages may begin with a rough matrix. It serves as long as 2 s iterations more
will do.
"""

from typing import Any, NamedTuple

from dynamics.kernels.base.jit import kernel, record
from dynamics.kernels.base.lanes import every, some
from dynamics.kernels.base.layout import BODIES, ROWS, TWIST
from dynamics.kernels.base.status import NOT_CONVERGED, NOT_FINITE, SINGULAR
from dynamics.kernels.base.step_info import (
    CONTRACTION,
    FACTORIZATIONS,
    ROUGH,
    VELOCITY_ERROR,
    VIOLATION,
)
from dynamics.kernels.interval.broyden import accelerate
from dynamics.kernels.interval.residual import fastest

#: Iterations of one attempt, and halvings of one iteration.
MOST_ITERATIONS = 30
HALVINGS = 8
#: Squared contraction of the residual that keeps a factorization. Always factorizing takes 1.3 to
#: 1.5 times as long (`benchmarks.step`: chains of 10 and 50 links).
KEEP = 0.04
#: What is left of the loops' regularization after each slow iteration, and at least: else some
#: steps end in a `ConvergenceError` (test_pivots_that_vanish_do_not_stop_a_motion).
RELAX, LEAST = 0.01, 1e-5
#: Residual over the tolerance below which a step with fresh factors may raise it: rounding. Without
#: it robots with light links end (test_robots_of_files_pass_their_singular_postures).
NEAR = 1e3
EPS = 2.220446049250313e-16
#: Rounding of a difference of coordinates of two poses, over that of one coordinate.
ROUNDED = 8.0


@record
class Goal(NamedTuple):
    """Where Newton's method begins and ends."""

    stages: Any  # s, each with the unknowns of order 2
    rough: Any  # whether the first matrix is the rough one
    tolerance: Any  # of velocities, over the unit of velocity
    closed: Any  # of constraints, over the unit of length, or rad
    rounding: Any  # change of velocities by rounding of poses over h, over the unit of velocity
    rounded: Any  # what constraints are open by from rounding of poses, over the same as `closed`


@kernel
def close_rows(plan, stages, r):
    """r <- 0 in the constraint rows of all stages."""
    n, rows = TWIST * plan[BODIES], plan[ROWS]
    for at in range(n, stages * (n + rows), n + rows):
        for i in range(rows):
            r[at + i] = 0.0


def make_attempt(evaluate, factorize, suit, solve):
    """Kernel `attempt` of the module of some ``equations``, whose four functions it calls.

    The module has to assign it to that name: machine code is found by module and name.

    ``evaluate(plan, constant, equations, work)`` writes the residual of ``work.x``. It returns the
    largest velocity error, the largest constraint value and the squared norm of both, over units.

    ``factorize(plan, constant, program, equations, rough, part, work, solver)`` factorizes the
    matrix at ``work.x``, with a part of the loops' regularization. ``solve(plan, program,
    equations, rough, work, solver)`` writes the change ``work.dx`` by these factors, which later
    residuals may not ``suit(plan, constant, equations, solver)``.
    """

    def attempt(
        # Tables:
        plan,
        constant,
        program,
        # In:
        goal,
        equations,
        # In and out:
        work,
        # Work:
        solver,
        # Out:
        info,
    ):  # fmt: skip
        """Solve r(x) = 0 from the guess ``work.x``; iterations, or what went wrong (negative)."""
        x, dx, kept = work.x, work.dx, work.kept
        s, tolerance, closed, rough = goal.stages, goal.tolerance, goal.closed, goal.rough
        n = TWIST * plan[BODIES]
        stage = n + plan[ROWS]
        unknowns = s * stage
        worst, opened, merit = evaluate(plan, constant, equations, work)
        settled = False  # whether the last change of velocities was below the tolerance
        age = -1  # iterations with these factors; -1 before there are any
        part_kept = 1.0  # of the loops' regularization
        before = 0.0
        stored = 0  # changes with these factors, for Broyden's method
        changed = 0.0
        drowned = False  # whether constraint rows hold rounding that bodies' rows drown in
        info[CONTRACTION] = 0.0
        for iteration in range(MOST_ITERATIONS):
            info[VELOCITY_ERROR], info[VIOLATION] = worst, opened
            if not merit < 1e300:
                return NOT_FINITE
            level = tolerance * max(1.0, fastest(plan, constant, s, x))
            if age >= 0 and every(((worst <= level) | settled) & (opened <= closed)):
                info[ROUGH] = 1.0 if rough else 0.0
                return iteration
            if rough:
                fresh = age < 0 or some(worst * merit**s > level * before**s)
            else:
                fresh = age < 0 or some(merit > KEEP * before)
            fresh = fresh or not suit(plan, constant, equations, solver)
            if fresh:
                if age == 1 and every(worst <= level):
                    part_kept = max(LEAST, RELAX * part_kept)
                rough = rough and age < 0
                failed = factorize(
                    plan, constant, program, equations, rough, part_kept, work, solver
                )
                if failed > 0:
                    return SINGULAR
                info[FACTORIZATIONS] += 1.0
                age = stored = 0
            if drowned:
                close_rows(plan, s, work.r)
            solve(plan, program, equations, rough, work, solver)
            if not rough:
                stored = accelerate(n, stage, unknowns, stored, kept, dx)
            change = fastest(plan, constant, s, dx)
            if iteration == 1:
                info[CONTRACTION] = change / changed
            changed = change
            for i in range(unknowns):
                kept[i] = x[i]
            # residuals of light bodies drown in round-off
            settled = change <= max(level, goal.rounding)
            before = merit
            part = 1.0
            exact, stuck = age == 0 and not rough, False  # whether the matrix is that of this x
            for _ in range(HALVINGS):
                for i in range(unknowns):
                    x[i] = kept[i] - part * dx[i]
                worst, opened, merit = evaluate(plan, constant, equations, work)
                near = ((worst <= tolerance) | settled) & (opened <= closed)
                if every((merit < before) | near):
                    break
                if exact and part == 1.0:
                    if every((worst <= NEAR * level) & (opened <= NEAR * closed)):
                        break
                    solve(plan, program, equations, rough, work, solver)
                    for i in range(unknowns):
                        x[i] -= dx[i]
                        dx[i] = kept[unknowns + i]
                    stored = 0
                    worst, opened, merit = evaluate(plan, constant, equations, work)
                    if every(merit < before):
                        break
                part *= 0.5
                stored = 0
            else:
                stuck = exact
                before = 0.0  # the direction was old: factorize at the point kept
                for i in range(unknowns):
                    x[i] = kept[i]
                worst, opened, merit = evaluate(plan, constant, equations, work)
            age += 1
            if stuck and (drowned or some(opened > goal.rounded)):
                return NOT_CONVERGED
            hardly = exact and some(merit > KEEP * before)
            drowned = hardly and some(worst > level) and every(opened <= goal.rounded)
        return NOT_CONVERGED

    attempt.__module__, attempt.__qualname__ = evaluate.__module__, attempt.__name__
    return kernel(attempt)
