"""Arrays of error control that kernels hand on together; n bodies, C contacts, others as in `base`.

From Python they are plain tuples in the same order.
"""

from typing import Any, NamedTuple

from dynamics.kernels.base.jit import kernel, record

# Places of a goal
ACCURACY = 0  # error that a second of motion may add, m and rad
UNSEEN = 1  # difference that Newton's tolerance explains, m and rad
ORDER = 2
SHARPNESS = 3  # largest barrier of contacts, over the unit of energy
GOAL_SIZE = 4


@record
class Control(NamedTuple):
    """What error control needs in addition to a step."""

    goal: Any  # (GOAL_SIZE,)
    counted: Any  # (n,): 1, or 0 of planes between bodies, which have no accuracy
    kept_state: Any  # (state,): state before a pair of intervals
    kept_info: Any  # (INFO_SIZE,): info before it
    kept_past: Any  # (2 m,): velocities before the last ones, of order 2
    guess: Any  # (s N,): first guess of an interval
    states: Any  # (2, state size): after one long interval, and after two short ones
    twists: Any  # (2, m): reported velocities of these
    settings: Any  # (SETTINGS_SIZE,): of a pair of intervals
    held: Any  # (C, HELD_SIZE): see `touch`
    row: Any  # (12,): row of a contact
    events: Any  # (any, 3): time, s, contact and kind of each
    count: Any  # (2,): number of events, and before the step
    last: Any  # (2,): length of the last pair, s, 0 before the first; whether it had an event


@record
class Observer(NamedTuple):
    """Arrays for `observables.measure.project`."""

    programs: Any  # of the matrix of order 2, and with the second elimination order or (0,)
    node: Any  # pose, matrix, g, G
    unknowns: Any  # x, r, dx
    contacts: Any
    solver: Any


@kernel
def control_of_tuple(control):
    """The named tuple of a plain one."""
    goal, counted, state, info, past, guess, states, twists, settings = control[:9]
    held, row, events, count, last = control[9:]
    return Control(
        goal, counted, state, info, past, guess, states, twists, settings, held, row, events,
        count, last,
    )  # fmt: skip


@kernel
def observer_of_tuple(observer):
    """The same."""
    programs, node, unknowns, contacts, solver = observer
    return Observer(programs, node, unknowns, contacts, solver)
