"""Velocities at which Newton's method starts: those of the last intervals, gone on.

They go on in a line, and bend by as much of the last second difference as would have been best an
interval ago: nearly all of it in smooth motion, none where it only shakes.
"""

from .jit import kernel

# info of a step
LENGTH = 28  # of the last interval, 0 where it was a part of a step
BEND = 29  # part of the last second difference


@kernel
def guess(n, first, info, u, u_prev, u_before, x):
    """x <- velocities u, or, at the ``first`` try, how they went on in the last three intervals."""
    if not first:
        for i in range(n):
            x[i] = u[i]
    elif info[BEND] == 0.0:
        for i in range(n):
            x[i] = 2.0 * u[i] - u_prev[i]
    else:
        bend = info[BEND]
        for i in range(n):
            x[i] = 2.0 * u[i] - u_prev[i] + bend * (u[i] - 2.0 * u_prev[i] + u_before[i])


@kernel
def shift(n, h, info, x, u, u_prev, u_before):
    """(u, u_prev, u_before) <- (x, u, u_prev), and the bend that would have guessed x best."""
    top = bottom = 0.0
    if info[LENGTH] == h:
        for i in range(n):
            bent = u[i] - 2.0 * u_prev[i] + u_before[i]
            top += bent * (x[i] - 2.0 * u[i] + u_prev[i])
            bottom += bent * bent
    for i in range(n):
        u_before[i] = u_prev[i]
        u_prev[i] = u[i]
        u[i] = x[i]
    info[BEND] = max(-1.0, min(1.0, top / bottom)) if bottom > 0.0 else 0.0
    info[LENGTH] = h
