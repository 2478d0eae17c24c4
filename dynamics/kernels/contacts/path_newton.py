"""One interval with contacts by Newton's method along the central path, tried first.

Every iterate has all contacts on the path (`central_path`), so that a step goes all its way, and
takes one factorization and one solve. Each contact has a barrier of its own, which falls a
hundredfold per iteration. Few contacts that are not solved while others are leave the matrix, and
`delassus` solves them. If the iteration does not converge, `interior_point` starts cold, and gives
its last digits back to this method.
"""

from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.base.layout import BODIES, FACTORED_AT, ROWS, STIFF_NUMBERS, TWIST
from dynamics.kernels.base.settings import CONTACT_TOLERANCE
from dynamics.kernels.base.six import add_multiples, put_multiple
from dynamics.kernels.base.status import NOT_CONVERGED, SINGULAR, USER_FAILED
from dynamics.kernels.base.step_info import FACTORIZATIONS, NEAREST
from dynamics.kernels.contacts.central_path import follow
from dynamics.kernels.contacts.condensation import (
    add_contacts,
    chord_steps,
    clear_pairs,
    condense,
    steps_of,
    take_step,
)
from dynamics.kernels.contacts.delassus import decide_all, solve_undecided, undecided
from dynamics.kernels.contacts.interior_residual import (
    evaluate_end_and_gaps,
    place_on_path,
    settle,
    weigh,
)
from dynamics.kernels.contacts.interior_start import lower
from dynamics.kernels.contacts.islands import (
    forget_errors,
    hold,
    lose_above,
    lose_wrong,
    start_attempt,
    take_parts,
)
from dynamics.kernels.contacts.refinement import solve_refined
from dynamics.kernels.contacts.rows import groups_at_end
from dynamics.kernels.contacts.servo_ranges import go_all_the_way, stay_in_range
from dynamics.kernels.interval.matrix import assemble
from dynamics.kernels.interval.planar import factorize_system, suit

#: Iterations until a start gives way to that of `interior_point`, and at most while two of them
#: halve the largest error: friction of points of a plane may converge linearly. With 14 for all, a
#: ball in a valley (tests/dynamics/test_height_fields.py) takes 51 times the factorizations, 200
#: shapes that come to rest 1.15 times.
PATIENCE, MOST = 14, 30
#: Iteration from which a momentum error of so many tolerances ends the start of an island: few of
#: these arrive. Without it, heaps of 5, 10 and 20 shapes take 1.3 times the factorizations.
EARLY, HOPELESS = 4, 1e6
#: Iterations from one use of the Delassus operator to the next. With 3, humanoids take 1.3 to 1.6
#: times the factorizations; with 1, a driven half cheetah takes 1.1 times those.
ROUND = 2
#: Barrier over the one before. At 0.1, driven planar robots take 1.2 to 1.3 times the
#: factorizations; at 0.001, two steps of 200 shapes took 1.3 times.
FALL = 0.01
#: Momentum error over the tolerance below which the next iteration is a chord step: it keeps the
#: factors. Always factorizing takes 1.15 times as long for dominoes, 1.09 for a chain of 100
#: spheres.
NEAR = 1e2


@kernel
def path_attempt(
    # Tables:
    plan,
    constant,
    program,
    # In:
    least,
    handed,
    part,
    h,
    spacing,
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
    """Solve the open islands of an interval from the guess x, c; iterations, or what went wrong.

    ``least`` is the last barrier, over units of energy. If ``handed``, x and c are an iterate of
    `interior_point` at it. Each island is
    settled or lost then. Where one is lost, those that are not solved yet are, too: the
    next method takes as long for all as for the slowest, and each iteration here costs as much.
    """
    x, r, dx, c, dc = work.x, work.r, work.dx, motion.c, work.dc
    contacts, values = work.contacts, pointer(solver.values, 0)
    found, last = pointer(info, NEAREST), groups_at_end(plan)
    unknowns, tolerance = TWIST * plan[BODIES] + plan[ROWS], settings[CONTACT_TOLERANCE]
    if handed:
        lower(plan, 0.0, contacts)
        follow(plan, constant, h, least, x, c, contacts)
    elif place_on_path(
        plan, constant, h, spacing, least, False, part, node, motion, trial, work, found
    ):  # fmt: skip
        return USER_FAILED
    start_attempt(plan, contacts)
    fresh, before, older = False, 1e300, 1e300
    for iteration in range(MOST + 1):
        speed, merit = weigh(plan, constant, h, node, c, trial, work)
        lost = not merit < 1e300 and lose_wrong(plan, contacts, r)
        if not lost and settle(plan, constant, h, settings, least, node, c, work, info) == 0:
            return iteration
        if not lost and iteration >= EARLY:
            goes_on = iteration < PATIENCE or (speed <= 0.5 * older and iteration < MOST)
            error = HOPELESS * tolerance if goes_on else 0.0
            lost = lose_above(plan, error, contacts)
        if lost:
            lose_above(plan, 0.0, contacts)
            return iteration
        older, before = before, speed
        hold(plan, contacts, r)
        lower(plan, FALL, contacts)
        rows = 0
        if fresh and speed <= NEAR * tolerance and suit(plan, constant, h, solver):
            chord_steps(plan, constant, h, x, c, contacts, r)
            forget_errors(plan, contacts)  # old factors may gain little, short of rounding
            fresh = False
        else:
            if (handed or iteration > 0) and iteration % ROUND == 0:
                rows = undecided(plan, constant, tolerance, r, contacts)
            clear_pairs(plan, values)
            assemble(plan, constant, h, x, node.g, node.G, trial.G, values)
            condense(plan, constant, h, least, True, x, c, contacts, r)
            add_contacts(plan, contacts, values)
            if factorize_system(plan, constant, program, h, rows > 0, solver) != 0:
                decide_all(plan, contacts)
                return SINGULAR
            info[FACTORIZATIONS] += 1.0
            fresh = rows == 0
        if rows > 0:
            solve_undecided(plan, constant, program, h, least, rows, work, solver, c)
        else:
            solve_refined(plan, constant, program, speed, tolerance, solver)
            put_multiple(unknowns, -1.0, dx, 0, dx, 0)
        steps_of(plan, FACTORED_AT, dx, contacts, dc)
        if plan[STIFF_NUMBERS] > 0:
            go_all_the_way(plan, contacts)
            stay_in_range(plan, constant, h, node.g, trial.g, trial.G, dx, contacts)
            take_parts(plan, dx, x, contacts)
        else:
            add_multiples(unknowns, 1.0, dx, x)
        take_step(plan, dc, contacts, c)
        if evaluate_end_and_gaps(plan, constant, h, last, node, x, trial, found, contacts) != 0:
            return USER_FAILED
        follow(plan, constant, h, least, x, c, contacts)
        if rows > 0:
            decide_all(plan, contacts)
    return NOT_CONVERGED
