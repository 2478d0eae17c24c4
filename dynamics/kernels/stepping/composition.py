"""Symmetric compositions: a step as second-order steps of lengths gamma_i h, some of them back.

Momenta go from one to the next unprojected (theory/galerkin (13); Hairer, Lubich and
Wanner 2006, sec. V.3).
"""

from dynamics.kernels.base.callback import call_three
from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.base.run_totals import END_TIME, RESUMED, STEPS
from dynamics.kernels.base.step_info import FACTORIZATIONS, INTERVALS, ITERATIONS
from dynamics.kernels.stepping import step as second_order
from dynamics.kernels.stepping.step import copy, record_step


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
            solver, info, ready or i > 0,
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


@kernel
def simulate(
    # Tables:
    plan,
    constant,
    program,
    # In:
    h,
    settings,
    steps,
    every,
    inputs,
    # In and out:
    state,
    # Work:
    work,
    solver,
    # Out:
    results,
):  # fmt: skip
    """Run ``steps`` steps, record the state after every ``every``; steps done (see `step`)."""
    controller, controls, wrenches = inputs
    record, info, totals = results
    time = pointer(totals, END_TIME)
    done, resumed = int(totals[STEPS]), totals[RESUMED] != 0.0
    for k in range(done, done + steps):
        row = min(k, controls.shape[0] - 1)
        if controller != 0:
            row = 0
            if call_three(controller, time, 0, state, 0, controls, 0) != 0:
                return k - done
        bad = step(
            plan, constant, program, h, settings, controls[row],
            wrenches[min(k, wrenches.shape[0] - 1)], state, work, solver, info, k > 0 or resumed,
        )  # fmt: skip
        if bad != 0:
            return k - done
        record_step(k, every, h, info, state, totals, record)
    return steps
