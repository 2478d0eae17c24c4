"""Difference of two states in what users read: poses, and velocities that fulfil the constraints.

Momenta are handed on up to what constraints take up, which depends on the length of an interval.
So their projections are compared, times the unit of time of a body's part.
"""

import math

from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.base.layout import BODIES, BODY_SIZE, PACE, POSE, ROWS, TWIST
from dynamics.kernels.interval.residual import fastest
from dynamics.kernels.observables.measure import mobility, project, projection_matrix
from graphsys.kernels import factorize, solve

#: Change by a refinement over the solution, after which the next would change 1e-6 of it.
REFINED = 1e-3


@kernel
def pose_difference(bodies, counted, states):
    """Largest difference of positions, m, and of orientations, rad; and its body."""
    most, worst = 0.0, 0
    for i in range(bodies):
        if counted[i] == 0.0:
            continue
        way, same, other, at = 0.0, 0.0, 0.0, POSE * i
        for j in range(3):
            way += (states[0, at + j] - states[1, at + j]) ** 2
        for j in range(3, POSE):  # q and -q are one orientation
            same += (states[0, at + j] - states[1, at + j]) ** 2
            other += (states[0, at + j] + states[1, at + j]) ** 2
        found = math.sqrt(max(way, 4.0 * min(same, other)))
        if not found <= most:
            most, worst = found, i
    return most, worst


@kernel
def velocity_difference(plan, constant, counted, twists):
    """Largest difference of velocities times the unit of time, m and rad; and its body."""
    most, worst = 0.0, 0
    for i in range(plan[BODIES]):
        if counted[i] == 0.0:
            continue
        line = turn = 0.0
        for j in range(3):
            line += (twists[0, TWIST * i + j] - twists[1, TWIST * i + j]) ** 2
            turn += (twists[0, TWIST * i + 3 + j] - twists[1, TWIST * i + 3 + j]) ** 2
        found = constant[BODY_SIZE * i + PACE + 3] * math.sqrt(max(line, turn))
        if not found <= most:
            most, worst = found, i
    return most, worst


@kernel
def project_both(plan, constant, length, states, observer, twists):
    """Reported velocities of both states after intervals of a length and of half of it; a status.

    With the second elimination order where the first fails.
    """
    failed = 0
    for k in range(2):
        h = length if k == 0 else 0.5 * length
        for program in observer.programs:
            if program.size > 0:
                failed = project(
                    plan, constant, program, h, True, states[k : k + 1], observer.node,
                    observer.unknowns, observer.contacts, observer.solver, twists[k : k + 1],
                )  # fmt: skip
                if failed == 0:
                    break
        if failed != 0:
            return failed
    return 0


@kernel
def project_difference(plan, constant, G, states, observer, twists):
    """twists[0] - twists[1] <- difference of velocities, twists[1] <- 0, from the rows G; a status.

    The nodes differ by less than what counts, so that one projection of the difference of momenta
    does for both, with one refinement, or two where bodies of little mass need them. Contacts and
    stiff forces are left out.
    """
    blocks, magnitude, factors, workspace, status = observer.solver
    x, r, dx = observer.unknowns
    plan, constant, unknowns = pointer(plan, 0), pointer(constant, 0), pointer(x, 0)
    m = TWIST * plan[BODIES]
    for i in range(m + plan[ROWS]):
        unknowns[i] = 0.0
    projection_matrix(plan, constant, unknowns, G, blocks.size, pointer(blocks, 0))
    failed, first = 1, POSE * plan[BODIES]
    for program in observer.programs:
        if failed != 0 and program.size > 0:
            failed = factorize(program, blocks, 1e-15, magnitude, factors, status)
            for turn in range(3 if failed == 0 else 0):
                for i in range(m):
                    r[i] = states[0, first + i] - states[1, first + i]
                for i in range(m, m + plan[ROWS]):
                    r[i] = 0.0
                mobility(plan, constant, unknowns, G, pointer(r, 0))
                solve(program, factors, r, 1, workspace, dx)
                for i in range(m + plan[ROWS]):
                    unknowns[i] += dx[i]
                change = fastest(plan, constant, 1, pointer(dx, 0))
                if turn > 0 and change <= REFINED * fastest(plan, constant, 1, unknowns):
                    break
    for i in range(m):
        twists[0, i], twists[1, i] = unknowns[i], 0.0
    return failed
