"""Equations of one interval of order 2 and their matrix, as Newton's method asks for them."""

from typing import Any, NamedTuple

from dynamics.kernels.base.jit import inlined, kernel, pointer, record
from dynamics.kernels.base.layout import BODIES, HOLDING, JOINTS, ROTORS, WRENCHES
from dynamics.kernels.interval.matrix import assemble, relax
from dynamics.kernels.interval.newton import make_attempt
from dynamics.kernels.interval.planar import factorize_system, solve_system
from dynamics.kernels.interval.planar import suit as factors_suit
from dynamics.kernels.interval.residual import residual
from dynamics.kernels.rows.poses import move
from dynamics.kernels.rows.rows import evaluate as evaluate_rows
from dynamics.kernels.rows.rows import roll
from dynamics.kernels.rows.wrench import add_user_slopes, update_user_impulse


@record
class Equations(NamedTuple):
    """Interval whose equations are solved."""

    h: Any  # length, s
    node: Any  # `Node` at its start
    trial: Any  # `Node` at its end, when solved: without forces


@kernel
def evaluate(plan, constant, equations, work):
    """Pose at the end of the interval, its rows and the residual of x: see `residual`."""
    (h, node, trial), x = equations, work.x
    move(plan[BODIES], h, node.pose, x, trial.pose, trial.matrix)
    last = plan[JOINTS] + plan[ROTORS]
    evaluate_rows(plan, constant, 0, last, trial.pose, trial.matrix, trial.g, trial.G)
    if plan[HOLDING] > 0:
        roll(plan, h, node.G, trial.G, x, trial.g)
    if plan[WRENCHES] > 0:
        update_user_impulse(plan, h, node, x, work.kick)
    return residual(plan, constant, h, work.kick, node.G, node.g, x, trial.g, work.r)


@inlined
def factorize(plan, constant, program, equations, rough, part, work, solver):
    """Factors of the matrix A at x; positive if a pivot is singular. None is rough."""
    h, node, trial = equations
    values = pointer(solver.values, 0)
    assemble(plan, constant, h, work.x, node.g, node.G, trial.G, values)
    if plan[WRENCHES] > 0:
        add_user_slopes(plan, h, node.f, values)
    if part < 1.0:
        relax(plan, constant, part, values)
    return factorize_system(plan, constant, program, h, False, solver)


@inlined
def suit(plan, constant, equations, solver):
    """Whether the factors are for this r."""
    return factors_suit(plan, constant, equations.h, solver)


@inlined
def solve(plan, program, equations, rough, work, solver):
    """dx <- A^-1 r with the factors of A at this x or an earlier one."""
    solve_system(program, solver, solver.rhs, solver.solution)


attempt = make_attempt(evaluate, factorize, suit, solve)
