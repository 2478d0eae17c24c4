"""One interval with contacts and limits: a primal-dual interior-point method (Mehrotra).

Each iteration factorizes the graph of bodies and joints once, with the condensed contacts, and
solves twice: a predictor step without barrier determines how far the barrier may fall. It
starts cold, where `path_newton` has not arrived.
"""

from dynamics.kernels.base.copying import copy_numbers
from dynamics.kernels.base.jit import inlined, kernel, pointer
from dynamics.kernels.base.layout import (
    ACTIVE_AT,
    BODIES,
    BOUNCED,
    CONTACT_AT,
    CONTACT_CONSTANT_AT,
    CONTACT_FIELDS,
    CONTACT_SIZE,
    CONTACT_WORK,
    CONTACTS,
    DISTANCE_AT,
    GAP_AT,
    LEFT_OUT,
    LOST,
    MUST_ACT,
    OF_PLANE,
    OF_RATE,
    OPEN,
    PHASE,
    ROWS,
    SLOT,
    SLOTS,
    SPEED_AT,
    STIFF_NUMBERS,
    TWIST,
)
from dynamics.kernels.base.settings import BARRIER, CONTACT_TOLERANCE, HEAP_BARRIER
from dynamics.kernels.base.six import put_multiple
from dynamics.kernels.base.status import NOT_CONVERGED, SINGULAR, USER_FAILED
from dynamics.kernels.base.step_info import (
    COLD_START,
    EQUAL_LENGTHS,
    FACTORIZATIONS,
    LAST_LENGTH,
    NEAREST,
    RAISED,
)
from dynamics.kernels.contacts.condensation import add_contacts, clear_pairs, numbers_of
from dynamics.kernels.contacts.geometry import gap
from dynamics.kernels.contacts.interior_passes import (
    ARRIVED,
    advance,
    bounded_steps,
    choose_barriers,
    condense_aimed,
    condense_without_barrier,
    damp_planes,
    predict,
)
from dynamics.kernels.contacts.interior_residual import (
    evaluate_end_and_gaps,
    place_on_path,
    settle,
    weigh,
)
from dynamics.kernels.contacts.interior_start import clear_lost, set_dry_friction
from dynamics.kernels.contacts.islands import (
    contact_island,
    count,
    drop_lost,
    enter,
    hold,
    keep_open,
    lose_above,
    lose_wrong,
    open_all,
    open_lost,
    start_attempt,
    take_parts,
    touches_lost,
)
from dynamics.kernels.contacts.path_newton import path_attempt
from dynamics.kernels.contacts.refinement import solve_refined
from dynamics.kernels.contacts.rows import (
    acting_contact,
    acting_contacts,
    gaps,
    groups_at_end,
    is_dry_friction,
    is_of_half_space,
    list_contact,
    start_list,
)
from dynamics.kernels.contacts.servo_ranges import stay_in_range
from dynamics.kernels.interval.energy_balance import barrier_of
from dynamics.kernels.interval.matrix import assemble
from dynamics.kernels.interval.planar import factorize_system
from dynamics.kernels.interval.predictor import part_of_change
from graphsys.kernels import solve

MOST_ITERATIONS = 30
#: Starts of an interval, warm and cold, and again with contacts that were passed.
ATTEMPTS = 6
#: Iterations at the last barrier from one start of `path_newton` to the next. Without these, heaps
#: of 200 shapes take 1.1 to 1.2 times the factorizations, dominoes 1.25 times.
AFTER = 5
#: Contacts with planes between bodies that act in a heap, at least. With the barrier of all else in
#: heaps, too, 200 shapes take 1.7 times the factorizations in 4 s, 100 shapes 1.6 times.
HEAP = 200


@kernel
def interior_attempt(
    # Tables:
    plan,
    constant,
    program,
    # In:
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

    Each is settled or lost then. At the last barrier `path_newton` takes over: contacts whose
    friction is at its limit cost this method five to fifteen iterations more.
    """
    x, r, dx, kept, c, dc = work.x, work.r, work.dx, work.kept, motion.c, work.dc
    contacts, values = work.contacts, pointer(solver.values, 0)
    unknowns = TWIST * plan[BODIES] + plan[ROWS]
    least, found, last = barrier_of(settings, info), pointer(info, NEAREST), groups_at_end(plan)
    if place_on_path(
        plan, constant, h, spacing, least, True, 0.0, node, motion, trial, work, found
    ):  # fmt: skip
        return USER_FAILED
    start_attempt(plan, contacts)
    most, again = 1e300, 1
    for iteration in range(MOST_ITERATIONS):
        speed, merit = weigh(plan, constant, h, node, c, trial, work)
        if not merit < 1e300 and lose_wrong(plan, contacts, r):
            drop_lost(plan, h, motion.u, motion.mu, x, contacts)
            keep_open(plan, contacts)
            if evaluate_end_and_gaps(plan, constant, h, last, node, x, trial, found, contacts) != 0:
                return USER_FAILED
        if settle(plan, constant, h, settings, least, node, c, work, info) == 0:
            return iteration
        if iteration >= again and most <= ARRIVED * least:
            copy_numbers(x, 0, kept, 0, unknowns)
            copy_numbers(c, 0, work.kept_c, 0, plan[SLOTS])
            done = path_attempt(
                plan, constant, program, least, True, 0.0, h, spacing, settings, node, motion,
                trial, work, solver, info,
            )  # fmt: skip
            if done == USER_FAILED:
                return done
            if done < 0:
                lose_above(plan, 0.0, contacts)
            if count(plan, contacts, LOST) == 0:
                return iteration
            drop_lost(plan, 1.0, kept, pointer(kept, TWIST * plan[BODIES]), x, contacts)
            restore_contacts(plan, contacts, work.kept_c, c)
            open_lost(plan, contacts)
            keep_open(plan, contacts)
            if evaluate_end_and_gaps(plan, constant, h, last, node, x, trial, found, contacts) != 0:
                return USER_FAILED
            again = iteration + AFTER
            continue
        hold(plan, contacts, r)
        clear_pairs(plan, values)
        assemble(plan, constant, h, x, node.g, node.G, trial.G, values)
        for i in range(unknowns):
            kept[i] = r[i]
        first = iteration == 0
        most = condense_without_barrier(plan, constant, h, least, first, x, c, contacts, r)
        add_contacts(plan, contacts, values)
        damp_planes(plan, constant, contacts, values)
        if factorize_system(plan, constant, program, h, True, solver) != 0:
            return SINGULAR
        info[FACTORIZATIONS] += 1.0
        predicts = most > ARRIVED * least
        if predicts:  # how far a step without barrier would get says how far to go
            solve(program, solver.factors, solver.rhs, 1, solver.workspace, solver.solution)
            for i in range(unknowns):
                dx[i] = -dx[i]
            predict(plan, constant, dx, c, contacts, dc)
        choose_barriers(plan, least, contacts)
        if predicts:
            for i in range(unknowns):
                r[i] = kept[i]
            condense_aimed(plan, constant, h, least, dc, x, c, contacts, r)
        solve_refined(plan, constant, program, speed, settings[CONTACT_TOLERANCE], solver)
        for i in range(unknowns):
            dx[i] = -dx[i]
        bounded_steps(plan, dx, c, contacts, dc)
        if plan[STIFF_NUMBERS] > 0:
            stay_in_range(plan, constant, h, node.g, trial.g, trial.G, dx, contacts)
        take_parts(plan, dx, x, contacts)
        advance(plan, constant, least, dc, x, contacts, c)
        if evaluate_end_and_gaps(plan, constant, h, last, node, x, trial, found, contacts) != 0:
            return USER_FAILED
    return NOT_CONVERGED


@kernel
def restore_contacts(plan, contacts, kept, c):
    """The numbers of contacts in islands that are lost <- those that were kept."""
    for k in range(plan[CONTACTS]):
        if contacts[contact_island(plan, contacts, k) + PHASE] == LOST:
            at = plan[CONTACT_AT] + k * CONTACT_FIELDS
            for j in range(plan[at + SLOT], plan[at + SLOT] + numbers_of(plan, at)):
                c[j] = kept[j]


@kernel
def find_passed(plan, constant, h, x, trial, found, contacts):
    """Find contacts that were left out or bounced and are passed; their gaps are held from now on.

    Their islands are open again. A bounce holds the velocity of a point; a rim that turns has
    another nearest point at the end.
    """
    start_list(plan, contacts)
    wrong = False
    for k in range(plan[CONTACTS]):
        w, at = k * CONTACT_WORK, plan[CONTACT_AT] + k * CONTACT_FIELDS
        c = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
        held = constant[c + OF_RATE] != 0.0
        if contacts[w + ACTIVE_AT] == 0.0 and is_of_half_space(plan, at):
            gap(plan, constant, at, c, trial.pose, trial.matrix, found)
            if found[DISTANCE_AT] < 0.0:
                contacts[w + ACTIVE_AT], wrong = MUST_ACT, True
                enter(plan, contacts, k, OPEN)
        elif contacts[w + ACTIVE_AT] == 0.0:
            contacts[w + ACTIVE_AT] = LEFT_OUT
            list_contact(plan, contacts, k)
        elif contacts[w + SPEED_AT] != 0.0 and not held and not is_dry_friction(plan, k):
            contacts[w + ACTIVE_AT], contacts[w + SPEED_AT] = BOUNCED, 0.0
            list_contact(plan, contacts, k)
    gaps(plan, constant, h, x, trial, found, contacts)
    for nth in range(acting_contacts(plan, contacts)):
        k = acting_contact(plan, contacts, nth)
        w = k * CONTACT_WORK
        if contacts[w + GAP_AT] < 0.0:
            contacts[w + ACTIVE_AT], wrong = MUST_ACT, True
            enter(plan, contacts, k, OPEN)
        else:
            contacts[w + ACTIVE_AT] = 0.0 if contacts[w + ACTIVE_AT] == LEFT_OUT else 1.0
    return wrong


@kernel
def is_heap(plan, c):
    """Whether so many contacts with planes between bodies acted in the interval before."""
    acted = 0
    for k in range(plan[CONTACTS]):
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        if plan[at + OF_PLANE] != 0 and c[plan[at + SLOT]] > 0.0:
            acted += 1
    return acted >= HEAP


@kernel
def release_bounces(plan, constant, contacts):
    """Hold the gaps of contacts that bounced in islands that are lost; whether there were any.

    Where a joint guides a body into the ground, friction can leave Newton's law without solution
    (test_a_bounce_that_friction_and_a_guide_forbid_gives_way).
    """
    bounced = False
    for k in range(plan[CONTACTS]):
        w = k * CONTACT_WORK
        held = constant[plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE + OF_RATE] != 0.0
        bounces = not held and not is_dry_friction(plan, k)
        if bounces and contacts[w + SPEED_AT] != 0.0 and touches_lost(plan, contacts, k):
            contacts[w + ACTIVE_AT], contacts[w + SPEED_AT], bounced = MUST_ACT, 0.0, True
    return bounced


@inlined
def interior(
    # Tables:
    plan,
    constant,
    program,
    # In:
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
    """`path_attempt`, then `interior_attempt`; iterations or what is wrong.

    Each is for the islands that the one before has lost; the second one starts again without
    bounces. Contacts that were passed open their islands again, for both.
    """
    x, contacts, n = work.x, work.contacts, TWIST * plan[BODIES]
    least = settings[HEAP_BARRIER] if is_heap(plan, motion.c) else settings[BARRIER]
    info[COLD_START], info[RAISED] = 0.0, least / settings[BARRIER]
    set_dry_friction(plan, h, spacing, motion.c)
    copy_numbers(motion.u, 0, x, 0, n)
    put_multiple(plan[ROWS], h, motion.mu, 0, x, n)
    part = 0.0
    if spacing == 0.0 and info[LAST_LENGTH] == -h and info[EQUAL_LENGTHS] >= 3.0:
        part = part_of_change(plan, constant, motion.u, work.past)
    open_all(plan, contacts)
    for _ in range(ATTEMPTS):
        warm = info[COLD_START] == 0.0
        if warm:
            done = path_attempt(
                plan, constant, program, least, False, part, h, spacing, settings, node, motion,
                trial, work, solver, info,
            )  # fmt: skip
            part = 0.0
        else:
            done = interior_attempt(
                plan, constant, program, h, spacing, settings, node, motion, trial, work, solver,
                info,
            )  # fmt: skip
        if done == USER_FAILED:
            return done
        if done < 0:
            lose_above(plan, 0.0, contacts)
        if count(plan, contacts, LOST) == 0:
            if not find_passed(plan, constant, h, x, trial, pointer(info, NEAREST), contacts):
                return done
            info[COLD_START] = 0.0  # the solution is a good guess
            continue
        if warm:
            info[COLD_START] = 1.0
        elif not release_bounces(plan, constant, contacts):
            return min(done, NOT_CONVERGED)
        # nothing of a failed start is kept
        drop_lost(plan, h, motion.u, motion.mu, x, contacts)
        clear_lost(plan, contacts, motion.c)
        open_lost(plan, contacts)
    return NOT_CONVERGED
