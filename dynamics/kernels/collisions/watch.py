"""The watch of a run: no step meets a pair of shapes that is not among the near ones.

If a body uses up its allowance in a step, the near pairs are found anew for the way that it went.
If there are no others, the step stands. Else it is taken back.

A watch is None, or a tuple: poses where the near pairs were found, reaches and allowances of the
bodies (see `broad_phase`), their longest ways in this step where one used up its own, flags, the
near pairs, the state, users' impulses of the last interval and the info before the step, what a
search needs (the steps and the part of an allowance, the shapes and the grid), and what `lay_idle`
needs of planes.
"""

from dynamics.kernels.base.copying import copy
from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import POSE
from dynamics.kernels.collisions.broad_phase import (
    are_among,
    give_allowances,
    grid_of,
    lengthen,
    near_pairs,
    runs_out,
    shapes_of,
    stay_grounded,
    used_up,
)
from dynamics.kernels.collisions.planes import lay_idle

# Places of a watch
START = 0
REACH = 1
ALLOWANCE = 2
WAYS = 3
FLAGS = 4
PAIRS = 5
STATE = 6
GIVEN = 7
INFO = 8
SEARCH = 9
PLANES = 10
# Flags
RENEW = 0  # 1 if the near pairs have changed
TAKEN_BACK = 1  # 1 if a body used up its allowance in the last step, which was taken back
COUNT = 2  # near pairs
GIVEN_AT = 3  # place of users' impulses in the workspace
FLAGS_SIZE = 4

#: Pairs that may stay when they are near no more: so many, and one for so many near pairs. Without
#: them the first run of a humanoid that is driven takes 1.11 to 1.16 times as long.
SPARE, SPARE_PART = 2, 8


@kernel
def keep(watch, state, work, info):
    """Keep what a run needs that takes the step back; if that happened, its controls are there.

    Of the workspace that is users' impulses alone: the run goes on in another near model.
    """
    if watch is not None:
        again = watch[FLAGS][TAKEN_BACK] == 1
        if not again:  # ways add up while a step is taken back: pairs could come and go in turns
            watch[WAYS][:] = 0.0
        watch[FLAGS][RENEW] = watch[FLAGS][TAKEN_BACK] = 0
        copy(state, watch[STATE])
        given, at = watch[GIVEN], watch[FLAGS][GIVEN_AT]
        for i in range(given.size):
            given[i] = work[at + i]
        copy(info, watch[INFO])
        return again
    return False


@kernel
def begin(watch):
    """Begin a division of the step into intervals."""
    if watch is not None:
        watch[FLAGS][TAKEN_BACK] = 0


@kernel
def look(watch, pose):
    """Look where bodies are after an interval. In between they are nearer to its ends."""
    if watch is not None:
        if used_up(watch[START], watch[REACH], watch[ALLOWANCE], pose):
            lengthen(watch[STATE], watch[REACH], pose, watch[WAYS])
            watch[FLAGS][TAKEN_BACK] = 1


@kernel
def lay_idle_planes(plan, constant, h, watch, state, info):
    """`planes.lay_idle` before a step; whether the state has changed."""
    if watch is not None:
        solids, placing, pressed, separation = watch[PLANES]
        n = watch[REACH].size
        return lay_idle(plan, constant, solids, placing, h, n, pressed, separation, state, info)
    return False


@kernel
def renew(watch, bodies, h, state):
    """Find the near pairs anew, of a state of so many bodies; whether they have changed.

    A few that are near no more may stay: a contact that is open costs less than another model.
    """
    start, reach, allowance, ways, flags, pairs = watch[:STATE]
    rule, tables, grid = watch[SEARCH]
    tables, grid, n = shapes_of(tables), grid_of(grid), reach.size
    give_allowances(bodies, h, rule[0], rule[1], reach, tables.extent, state, ways, allowance)
    near_pairs(tables, grid, n, state, allowance)
    count = stay_grounded(tables, grid, n, pairs, flags[COUNT])
    for i in range(POSE * n):
        start[i] = state[i]
    spare = SPARE + count // SPARE_PART
    if count <= flags[COUNT] <= count + spare and are_among(grid.found, count, pairs, flags[COUNT]):
        return False
    for k in range(count):
        pairs[k] = grid.found[k]
    flags[COUNT] = count
    return True


@kernel
def taken_back(watch, bodies, h, state, work, info):
    """Whether the step was taken back, as a body used up its allowance and others were near."""
    if watch is not None:
        if watch[FLAGS][TAKEN_BACK] == 1:
            if not renew(watch, bodies, h, watch[STATE]):  # for twice the ways of this step
                watch[FLAGS][TAKEN_BACK] = 0
                return False
            watch[FLAGS][RENEW] = 1
            copy(watch[STATE], state)
            given, at = watch[GIVEN], watch[FLAGS][GIVEN_AT]
            for i in range(given.size):
                work[at + i] = given[i]
            copy(watch[INFO], info)
            return True
    return False


@kernel
def expires(watch, bodies, h, state):
    """Whether the near pairs are others before the next step, for which they are found again."""
    if watch is not None:
        if runs_out(bodies, h, watch[START], watch[REACH], watch[ALLOWANCE], state):
            watch[WAYS][:] = 0.0  # of a step that stands
            if renew(watch, bodies, h, state):
                watch[FLAGS][RENEW] = 1
                return True
    return False
