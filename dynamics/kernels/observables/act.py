"""An action of an environment in one call: steps with held controls, and what is observed then."""

from dynamics.kernels.base.copying import copy_numbers
from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.run_totals import STEPS
from dynamics.kernels.observables.measure import observe
from dynamics.kernels.stepping.step import simulate


@kernel
def hold(action, most, control):
    """control <- most times the action, cut off at -1 and 1."""
    for i in range(action.size):
        control[i] = most[i] * min(max(action[i], -1.0), 1.0)


@kernel
def numbers_of(state, columns, numbers):
    """Numbers of the whole model's state: those of a near model in some ``columns``, or all."""
    if columns is None:
        for i in range(numbers.size):
            numbers[i] = state[i]
    else:
        for i in range(numbers.size):
            numbers[i] = state[columns[i]]


@kernel
def act(
    # Tables:
    tables,
    whole,
    columns,
    # In:
    h,
    settings,
    count,
    inputs,
    watch,
    command,
    # In and out:
    state,
    kept,
    # Work:
    work,
    solver,
    # Out:
    results,
    numbers,
    out,
):  # fmt: skip
    """Hold a command for ``count`` steps; the steps done, or -1 where velocities fail after all.

    ``kept`` are the first numbers of the workspace, which others use between actions. ``command``
    is the action and the largest controls. ``whole`` are tables and work of `observe` for the model
    without near pairs: its state's numbers and what is observed come out after all steps.
    """
    plan, constant, program = tables
    action, most = command
    copy_numbers(kept, 0, work, 0, kept.size)
    hold(action, most, inputs[1][0])
    results[2][STEPS] = 0.0
    done = simulate(
        plan, constant, program, h, settings, count, count + 1, inputs, watch, state, work, solver,
        results,
    )  # fmt: skip
    copy_numbers(work, 0, kept, 0, kept.size)
    numbers_of(state, columns, numbers[0])
    if done == count:
        plan, constant, program, places, node, unknowns, contacts, solver, measured = whole
        if observe(
            plan, constant, program, places, h, numbers, node, unknowns, contacts, solver, measured,
            out,
        ) != 0:  # fmt: skip
            return -1
    return done
