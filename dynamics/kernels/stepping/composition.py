"""Symmetric compositions: a step as second-order steps of lengths gamma_i h, some of them back.

Momenta go from one to the next unprojected (theory/galerkin (13); Hairer, Lubich and
Wanner 2006, sec. V.3).
"""

from dynamics.kernels.base.copying import copy
from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.step_info import FACTORIZATIONS, INTERVALS, ITERATIONS
from dynamics.kernels.stepping import step as second_order
from dynamics.kernels.stepping.run import make_simulate


@kernel
def step(
    # Tables:
    plan,
    constant,
    program,
    # In:
    h,
    settings,
    control,
    wrench,
    # In and out:
    state,
    # Work:
    work,
    solver,
    # Out:
    info,
    # In:
    ready,
    watch,
):  # fmt: skip
    """State <- state after one step; 0 or what went wrong, the state then as it was.

    ``work`` holds the fractions gamma, the state before and the workspace of `step.step`.
    """
    fractions, before, inner = work
    copy(state, before)
    iterations, intervals, factorizations = 0.0, 0.0, 0.0
    for i in range(fractions.size):
        bad = second_order.step(
            plan, constant, program, fractions[i] * h, settings, control, wrench, state, inner,
            solver, info, ready or i > 0, watch,
        )  # fmt: skip
        iterations += info[ITERATIONS]
        intervals += info[INTERVALS]
        factorizations += info[FACTORIZATIONS]
        if bad != 0:
            copy(before, state)
            return bad
    info[ITERATIONS], info[INTERVALS] = iterations, intervals
    info[FACTORIZATIONS] = factorizations
    return 0


simulate = make_simulate(step)
