"""Residuals of an interval with contacts: where bodies go, what acts on them, which are solved."""

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import (
    BEST,
    BODIES,
    CONTACT_ERROR,
    ERROR_BEFORE,
    HOLDING,
    ISLAND,
    MOMENTUM_ERROR,
    OPEN,
    OPENED,
    PHASE,
    SETTLED,
    STALLED,
    TWIST,
    WRENCHES,
)
from dynamics.kernels.base.settings import CONTACT_TOLERANCE, TOLERANCE
from dynamics.kernels.base.six import nothing, plus, total_of
from dynamics.kernels.base.step_info import VELOCITY_ERROR, VIOLATION
from dynamics.kernels.contacts.condensation import find_errors, push_out
from dynamics.kernels.contacts.delassus import decide_all
from dynamics.kernels.contacts.interior_start import WARM, centre, first_barriers, lower
from dynamics.kernels.contacts.islands import (
    find_islands,
    keep_open,
    largest_impulse,
    list_between_open,
    measure,
    record_of,
    rotors_rounding,
)
from dynamics.kernels.contacts.rows import (
    contact_rows,
    gaps,
    groups_at_end,
    note_softness,
    weigh_planes,
)
from dynamics.kernels.contacts.varying_lengths import centre_friction, stop_impacts
from dynamics.kernels.interval.newton import EPS
from dynamics.kernels.interval.residual import extent, residual
from dynamics.kernels.rows.poses import move
from dynamics.kernels.rows.rows import evaluate, roll
from dynamics.kernels.rows.wrench import update_user_impulse

#: Momentum error over the largest impulse that ends an iteration which gains no more: rounding
#: (test_residuals_of_light_bodies_count_over_their_own_mass).
ROUNDING = 1e-7
#: Iterations without half the error of contacts that end an island's, and the error that it may
#: have then, over the tolerance: where friction is at its limit, Newton's method may cycle. Without
#: this end, dominoes take 1.13 times the factorizations.
STALLS, ROUGH = 3.0, 1e3
#: Distance within which contacts act in any interval, over the unit of length and the barrier,
#: which holds up the unit of acceleration at 1
#: (test_a_larger_barrier_smooths_and_none_makes_it_infinite).
REACH = 30.0


@kernel
def evaluate_end_and_gaps(plan, constant, h, last, node, x, trial, found, contacts):
    """Poses, rows of the first groups and gaps at an interval's end; 0, or 1 + a user's failure."""
    move(plan[BODIES], h, node.pose, x, trial.pose, trial.matrix)
    evaluate(plan, constant, 0, last, trial.pose, trial.matrix, trial.g, trial.G)
    if plan[HOLDING] > 0:
        roll(plan, h, node.G, trial.G, x, trial.g)
    return gaps(plan, constant, h, x, trial, found, contacts)


@kernel
def weigh(plan, constant, h, node, c, trial, work):
    """r <- residuals after `evaluate_end_and_gaps`; the errors of each open island, the largest.

    The second result is NaN if any residual is.
    """
    x, r, kick = work.x, work.r, work.kick
    if plan[WRENCHES] > 0:
        update_user_impulse(plan, h, node, x, kick)
    _, _, merit = residual(plan, constant, h, kick, node.G, node.g, x, trial.g, r)
    push_out(plan, c, work.contacts, r)
    wrong = nothing()  # `largest` may pass over what is no number
    for i in range(0, TWIST * plan[BODIES], TWIST):
        wrong = plus(wrong, 0.0, r, i)
    return measure(plan, constant, h, r, work.contacts), merit + total_of(wrong)


@kernel
def place_on_path(
    plan, constant, h, spacing, least, cold, part, node, motion, trial, work, found
):  # fmt: skip
    """Contacts that can act in open islands, each on its central path at the guess x; 0 or 1.

    To the guess it adds a part of the last change of velocities, which decides on no contact.
    A cold start has one barrier for each island, a warm one a barrier for each contact. 1 is a
    user's failure. ``spacing`` is 0, or positive where lengths vary.
    """
    x, c, contacts = work.x, motion.c, work.contacts
    list_between_open(plan, contacts)
    if contact_rows(plan, constant, h, node, x, REACH * least, found, contacts) != 0:
        return 1
    if spacing > 0.0:
        stop_impacts(plan, constant, h, x, contacts)
        centre_friction(plan, constant, h, node, motion.u, trial, found, contacts)
    find_islands(plan, contacts)
    keep_open(plan, contacts)
    if cold:
        weigh_planes(plan, constant, contacts)
    note_softness(plan, constant, h, node, contacts)
    last = groups_at_end(plan)
    for i in range(TWIST * plan[BODIES] if part > 0.0 else 0):
        x[i] += part * (motion.u[i] - motion.u_prev[i])
    if evaluate_end_and_gaps(plan, constant, h, last, node, x, trial, found, contacts) != 0:
        return 1
    decide_all(plan, contacts)
    first_barriers(plan, constant, h, cold, motion.u, motion.u_prev, c, contacts)
    if not cold:
        lower(plan, WARM, contacts)
    centre(plan, constant, h, least, cold, x, c, contacts)
    return 0


@kernel
def cycles(contacts, record, tolerance):
    """True if iterates of an island cycle near a solution, which friction at its limit may do."""
    error, best = contacts[record + CONTACT_ERROR], contacts[record + BEST]
    if error < 0.0:
        return False
    if error < 0.5 * best:
        contacts[record + BEST], contacts[record + STALLED] = error, 0.0
        return False
    contacts[record + STALLED] += 1.0
    return contacts[record + STALLED] >= STALLS and error <= min(ROUGH * tolerance, 2.0 * best)


@kernel
def settle(plan, constant, h, settings, least, node, c, work, info):
    """Settle the open islands that x and c solve at the least barrier; how many are open still."""
    x, contacts, tolerance = work.x, work.contacts, settings[CONTACT_TOLERANCE]
    there, left = False, 0
    for body in range(plan[BODIES]):
        record = record_of(plan, body)
        if contacts[record + PHASE] != OPEN or int(contacts[record + ISLAND]) != body:
            continue
        error, before = contacts[record + MOMENTUM_ERROR], contacts[record + ERROR_BEFORE]
        contacts[record + CONTACT_ERROR], contacts[record + ERROR_BEFORE] = 0.0, error
        if error > tolerance:
            # stiff contacts and large impulses, or large rotors: no better than rounding
            if error <= 0.1 * before or (
                error > ROUNDING * largest_impulse(plan, constant, record, x, contacts)
                and error > rotors_rounding(plan, constant, h, record, node.g, contacts)
            ):
                contacts[record + CONTACT_ERROR] = -1.0
        there = there or contacts[record + CONTACT_ERROR] == 0.0
    if there:
        find_errors(plan, constant, h, least, x, c, contacts)
    closed = max(settings[TOLERANCE], 64.0 * EPS * extent(plan, constant, node.pose))
    some, worst, opened = False, 0.0, 0.0
    for body in range(plan[BODIES]):
        record = record_of(plan, body)
        if int(contacts[record + ISLAND]) != body:
            continue
        error = contacts[record + CONTACT_ERROR]
        worst = max(worst, max(contacts[record + MOMENTUM_ERROR], error))
        opened = max(opened, contacts[record + OPENED])
        if contacts[record + PHASE] == OPEN:
            good = 0.0 <= error <= tolerance or cycles(contacts, record, tolerance)
            if good and contacts[record + OPENED] <= closed:
                contacts[record + PHASE], some = SETTLED, True
            else:
                left += 1
    info[VELOCITY_ERROR], info[VIOLATION] = worst, opened
    if some and left > 0:
        keep_open(plan, contacts)
    return left
