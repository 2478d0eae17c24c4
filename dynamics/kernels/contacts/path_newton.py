"""One interval with contacts by Newton's method along the central path, tried first.

Every iterate has all contacts on the path (`central_path`), so that a step goes all its way, and
takes one factorization and one solve. Each contact has a barrier of its own, which falls a
hundredfold per iteration. If contacts keep changing between open and closed, or sticking and
sliding, `gauss_seidel` decides. If the iteration does not converge, `interior_point` starts cold.
"""

from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.base.layout import BODIES, ROWS, SLOTS, TWIST
from dynamics.kernels.base.settings import BARRIER, CONTACT_TOLERANCE, LARGEST_TURN
from dynamics.kernels.base.status import NOT_CONVERGED, NOT_FINITE, SINGULAR, USER_FAILED
from dynamics.kernels.base.step_info import FACTORIZATIONS, NEAREST
from dynamics.kernels.contacts.central_path import follow
from dynamics.kernels.contacts.condensation import (
    add_contacts,
    chord_steps,
    clear_pairs,
    condense,
    steps_of,
)
from dynamics.kernels.contacts.gauss_seidel import AGAIN, decide_all, gauss_seidel, undecided
from dynamics.kernels.contacts.interior_residual import (
    converged,
    evaluate_end_and_gaps,
    place_on_path,
    weigh,
)
from dynamics.kernels.contacts.interior_start import lower
from dynamics.kernels.interval.matrix import assemble
from dynamics.kernels.rows.poses import turns
from graphsys.kernels import factorize, solve

#: Iterations until a start gives way to that of `interior_point`: more seldom arrive.
PATIENCE = 14
#: Iteration from which a momentum error of so many tolerances ends a start: few of these arrive.
EARLY, LOST = 4, 1e6
#: Iterations from one use of the Gauss-Seidel method to the next.
ROUND = 2
#: |phi| of a body (the sine of half its turn) beyond which iterates do not come back.
FAR = 0.7
#: Barrier over the one before.
FALL = 0.01
#: Momentum error over the tolerance below which the next iteration is a chord step: it keeps the
#: factors. Always factorizing takes 1.2 times as long (quadruped that stands, hinge at a limit).
NEAR = 1e2


@kernel
def path_attempt(
    # Tables:
    plan,
    constant,
    program,
    # In:
    h,
    settings,
    node,
    # In and out:
    motion,
    trial,
    work,
    # Work:
    solver,
    # Out:
    info,
):  # fmt: skip
    """Solve one interval with contacts from the guess x, c; iterations, or what went wrong."""
    x, r, dx, c, dc = work.x, work.r, work.dx, motion.c, work.dc
    contacts, values = work.contacts, pointer(solver.values, 0)
    least, found = settings[BARRIER], pointer(info, NEAREST)
    unknowns = TWIST * plan[BODIES] + plan[ROWS]
    barrier = place_on_path(
        plan, constant, h, least, False, False, node, motion, trial, work, found
    )
    if barrier < 0.0:
        return USER_FAILED
    before, rows, fresh = 1e300, 0, False
    for iteration in range(PATIENCE + 1):
        speed, opened, merit = weigh(plan, constant, h, node, c, trial, work)
        if not merit < 1e300:
            return NOT_FINITE
        if converged(plan, constant, h, settings, speed, opened, before, node, c, work, info):
            return iteration
        lost = iteration >= EARLY and speed > LOST * settings[CONTACT_TOLERANCE]
        if lost or iteration == PATIENCE:
            break
        lower(plan, FALL, contacts)
        before, again, rows = speed, rows > 0, 0
        if fresh and speed <= NEAR * settings[CONTACT_TOLERANCE]:
            chord_steps(plan, constant, h, x, c, contacts, r)
            before, fresh = 1e300, False  # old factors may gain little, short of rounding
        else:
            if again or (iteration > 0 and iteration % ROUND == 0):
                part = AGAIN if again else 1.0
                rows = undecided(
                    plan, constant, h, settings[CONTACT_TOLERANCE], part, x, c, r, contacts
                )
            clear_pairs(plan, values)  # before: dampers may join the same bodies
            assemble(plan, constant, h, x, node.g, node.G, trial.G, values)
            condense(plan, constant, h, least, True, x, c, contacts, r)
            add_contacts(plan, contacts, values)
            failed = factorize(
                program, solver.values, 1e-15, solver.magnitude, solver.factors, solver.status
            )
            if failed != 0:
                return SINGULAR
            info[FACTORIZATIONS] += 1.0
            fresh = rows == 0
        if rows > 0:
            gauss_seidel(plan, constant, program, h, least, rows, work, solver, c)
        else:
            solve(program, solver.factors, solver.rhs, 1, solver.workspace, solver.solution)
            for i in range(unknowns):
                dx[i] = -dx[i]
        steps_of(plan, constant, h, dx, x, c, contacts, dc)
        for i in range(unknowns):
            x[i] += dx[i]
        for i in range(plan[SLOTS]):
            c[i] += dc[i]
        if turns(plan[BODIES], h, x) > max(FAR, settings[LARGEST_TURN]):
            break
        if evaluate_end_and_gaps(plan, constant, h, node, x, trial, found, contacts) != 0:
            return USER_FAILED
        follow(plan, constant, h, least, x, c, contacts)
        if rows > 0:
            decide_all(plan, contacts)
    return NOT_CONVERGED
