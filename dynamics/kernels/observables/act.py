"""An action of an environment in one call: steps with held controls, and what is observed then."""

from dynamics.kernels.base.copying import copy_numbers
from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.base.layout import BODIES
from dynamics.kernels.base.run_totals import STEPS
from dynamics.kernels.observables.measure import coordinates, placed, project_one
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
    projection,
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
    is the action and the largest controls. After all steps the state's numbers come out as those of
    the model without near pairs, and what is observed: velocities by ``projection``, work of
    `project_one` for the model of the steps, whose contacts they keep; coordinates by ``whole``,
    tables and work of `coordinates` for the model without near pairs.
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
        node, unknowns, contacts, linear = projection
        pose, matrix, g, G = node
        node = pointer(pose, 0), pointer(matrix, 0), pointer(g, 0), pointer(G, 0)
        if project_one(
            pointer(plan, 0), pointer(constant, 0), program, h, False, state, node, unknowns,
            pointer(contacts, 0), linear,
        ) != 0:  # fmt: skip
            return -1
        plan, constant, places, node, measured = whole
        pose, matrix, g, G = node
        node = pointer(pose, 0), pointer(matrix, 0), pointer(g, 0), pointer(G, 0)
        plan, constant = pointer(plan, 0), pointer(constant, 0)
        placed(plan[BODIES], numbers[0], node[0], node[1])
        coordinates(plan, constant, places, node, pointer(unknowns[0], 0), measured, out[0])
    return done
