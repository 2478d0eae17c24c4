"""Equations of one Galerkin-Lobatto interval and their two matrices, for Newton's method.

The rough matrix is that of order 2 in the middle, for all stages (`galerkin.middle`). It serves as
long as 2 s more iterations will do: what the matrix of the step itself costs. Where they will not,
that one takes over, and the next tries with the small one come after 1, 3, 7 ... 63 intervals.
Constraints close as far as velocities do in an interval: what is left open does work, which shows
in the energy of loops.
"""

from typing import Any, NamedTuple

from dynamics.kernels.base.jit import inlined, kernel, record
from dynamics.kernels.base.layout import UNITS_AT, WRENCHES
from dynamics.kernels.base.step_info import MIDDLE_PAUSE, MIDDLE_WAIT, ROUGH
from dynamics.kernels.galerkin.matrix import add_user_slopes, assemble
from dynamics.kernels.galerkin.middle import factorize_middle, solve_middle
from dynamics.kernels.galerkin.residual import residual
from dynamics.kernels.interval.newton import EPS, ROUNDED, Goal, make_attempt
from dynamics.kernels.interval.residual import extent
from graphsys import kernels as linear

#: Intervals without another try after one that failed, at most. If every interval tries, rhombi of
#: order 6 take 1.26 times as long.
PAUSES = 64.0


@record
class StageEquations(NamedTuple):
    """Interval whose equations are solved."""

    method: Any  # `Method`
    time: Any  # at its start, s
    h: Any  # length, s
    inputs: Any  # `Inputs`, controls at each node
    p: Any  # (m,): momenta at its start
    nodes: Any  # `Nodes`


@kernel
def goal_of(plan, constant, method, h, tolerance, nodes, info):
    """`Goal` of an interval."""
    rate, rounding = constant[plan[UNITS_AT]] / h, EPS * extent(plan, constant, nodes.pose)
    return Goal(
        stages=method.rule.s, rough=info[MIDDLE_WAIT] == 0.0, tolerance=tolerance,
        closed=max(tolerance / rate, 64.0 * rounding), rounding=ROUNDED * rounding * rate,
        rounded=ROUNDED * rounding,
    )  # fmt: skip


@kernel
def schedule_middle(tried, info):
    """Schedule the next try of the matrix of the middle."""
    info[MIDDLE_WAIT] = max(0.0, info[MIDDLE_WAIT] - 1.0)
    if tried:
        served = info[ROUGH] != 0.0
        info[MIDDLE_PAUSE] = 0.0 if served else min(PAUSES, 2.0 * info[MIDDLE_PAUSE] + 1.0)
        info[MIDDLE_WAIT] = info[MIDDLE_PAUSE]


@kernel
def evaluate(plan, constant, equations, work):
    """`residual` of ``work.x``."""
    method, time, h, inputs, p, nodes = equations
    return residual(
        plan, constant, method.rule, time, h, inputs, p, work.x, nodes, work.f, work.r
    )  # fmt: skip


@inlined
def factorize(plan, constant, program, equations, rough, part, work, solver):
    """Factors of the matrix A at x; positive if a pivot is singular."""
    method, time, h, inputs, _, nodes = equations
    rule, blocks, values = method.rule, method.blocks, solver.values
    if rough:
        return factorize_middle(
            plan, constant, method.middle, rule.s, h, work.x, nodes, work.f, solver.middle
        )
    assemble(plan, constant, rule, blocks, h, inputs.control, nodes, work, values)
    if plan[WRENCHES] > 0:
        add_user_slopes(plan, constant, rule, blocks[0], time, h, inputs, nodes, work, values)
    return linear.factorize(program, values, 1e-15, solver.magnitude, solver.factors, solver.status)


@inlined
def suit(plan, constant, equations, solver):
    """Factors are for any r."""
    return True


@kernel
def solve(plan, program, equations, rough, work, solver):
    """dx <- A^-1 r with the factors of A at this x or an earlier one."""
    method = equations.method
    if rough:
        solve_middle(
            plan, method.middle, method.rule.s, method.stages, work.r, solver.middle, work.dx
        )  # fmt: skip
    else:
        linear.solve(program, solver.factors, solver.rhs, 1, solver.workspace, solver.solution)


attempt = make_attempt(evaluate, factorize, suit, solve)
