"""The watch of a run: no body uses up its allowance in a step, or the step is taken back.

A watch is None, or a tuple: poses where the near pairs were found, reaches and allowances of the
bodies (see `broad_phase`), the ways of those that used it up in a step that is taken back, flags,
and the state, the workspace and the info before the step.
"""

from dynamics.kernels.base.copying import copy
from dynamics.kernels.base.jit import kernel
from dynamics.kernels.collisions.broad_phase import runs_out, used_up

# Places of a watch
START = 0
REACH = 1
ALLOWANCE = 2
WAYS = 3
FLAGS = 4
STATE = 5
WORK = 6
INFO = 7
# Flags
RENEW = 0  # 1 if the near pairs are to be found again
TAKEN_BACK = 1  # 1 if the last step was taken back


@kernel
def keep(watch, state, work, info):
    """Keep all that a step changes; whether this step was taken back, its controls are there."""
    if watch is not None:
        again = watch[FLAGS][TAKEN_BACK] == 1
        watch[FLAGS][RENEW] = watch[FLAGS][TAKEN_BACK] = 0
        copy(state, watch[STATE])
        copy(work, watch[WORK])
        copy(info, watch[INFO])
        return again
    return False


@kernel
def begin(watch):
    """Begin a division of the step into intervals."""
    if watch is not None:
        watch[FLAGS][TAKEN_BACK] = 0
        watch[WAYS][:] = 0.0


@kernel
def look(watch, pose):
    """Look where bodies are after an interval. In between they are nearer to its ends."""
    if watch is not None:
        if used_up(watch[START], watch[REACH], watch[ALLOWANCE], pose, watch[WAYS]):
            watch[FLAGS][TAKEN_BACK] = 1


@kernel
def taken_back(watch, state, work, info):
    """Whether the step was taken back, as a body used up its allowance."""
    if watch is not None:
        if watch[FLAGS][TAKEN_BACK] == 1:
            watch[FLAGS][RENEW] = 1
            copy(watch[STATE], state)
            copy(watch[WORK], work)
            copy(watch[INFO], info)
            return True
    return False


@kernel
def expires(watch, bodies, h, state):
    """Whether the near pairs are to be found again before the next step."""
    if watch is not None:
        if runs_out(bodies, h, watch[START], watch[REACH], watch[ALLOWANCE], state):
            watch[FLAGS][RENEW] = 1
            return True
    return False
