"""Residuals of an interval with contacts: where bodies go, what acts on them, when it is solved."""

import math

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import (
    BODIES,
    BODY_SIZE,
    GROUPS,
    HOLDING,
    IMPULSE,
    ROWS,
    TWIST,
    UNITS_AT,
    WRENCHES,
)
from dynamics.kernels.base.settings import BARRIER, CONTACT_TOLERANCE, TOLERANCE
from dynamics.kernels.base.six import largest, most_of, nothing, products
from dynamics.kernels.base.step_info import VELOCITY_ERROR, VIOLATION
from dynamics.kernels.contacts.condensation import errors, push_out
from dynamics.kernels.contacts.gauss_seidel import decide_all
from dynamics.kernels.contacts.interior_start import WARM, centre, first_barrier, lower
from dynamics.kernels.contacts.rows import contact_rows, gaps, weigh_planes
from dynamics.kernels.interval.newton import EPS
from dynamics.kernels.interval.residual import extent, fastest, residual
from dynamics.kernels.rows.poses import move
from dynamics.kernels.rows.rows import evaluate, roll
from dynamics.kernels.rows.wrench import update_user_impulse

#: Momentum error over the largest impulse that ends an iteration which gains no more.
ROUNDING = 1e-7


@kernel
def evaluate_end_and_gaps(plan, constant, h, node, x, trial, found, contacts):
    """Poses, rows and gaps at the end of the interval; 0, or 1 + a user's failure."""
    move(plan[BODIES], h, node.pose, x, trial.pose, trial.matrix)
    evaluate(
        plan, constant, 0, plan[GROUPS], trial.pose, trial.matrix, True, trial.g, trial.G
    )  # fmt: skip
    if plan[HOLDING] > 0:
        roll(plan, h, node.G, trial.G, x, trial.g)
    return gaps(plan, constant, h, x, trial, found, contacts)


@kernel
def weigh(plan, constant, h, node, c, trial, work):
    """r <- residuals after `evaluate_end_and_gaps`; the largest of momenta and |g|, over units.

    The third result is NaN if any residual is.
    """
    n = TWIST * plan[BODIES]
    x, r, kick = work.x, work.r, work.kick
    if plan[WRENCHES] > 0:
        update_user_impulse(plan, h, node, x, kick)
    _, opened, merit = residual(plan, constant, h, kick, node.G, node.g, x, trial.g, r)
    push_out(plan, c, work.contacts, r)
    wrong = 0  # `largest` may pass over what is no number
    for i in range(n):
        wrong += r[i] != r[i]
    most = nothing()
    for i in range(plan[BODIES]):
        most = largest(most, products(nothing(), constant, i * BODY_SIZE + IMPULSE, r, TWIST * i))
    return most_of(most), opened, math.nan if wrong > 0 else merit


@kernel
def largest_impulse(plan, constant, x):
    """Largest momentum of a body or impulse of a joint, over its unit."""
    most, mu = fastest(plan, constant, 1, x), TWIST * plan[BODIES]
    units = plan[UNITS_AT] + 1 + plan[ROWS]
    for row in range(plan[ROWS]):
        most = max(most, constant[units + row] * abs(x[mu + row]))
    return most


@kernel
def place_on_path(plan, constant, h, least, cold, every, node, motion, trial, work, found):
    """Contacts that can act, each on its central path at the guess x: the barrier; -1 of a user.

    A cold start has one barrier for all, a warm one a barrier for each contact. What comes back is
    over the contacts' units of energy.
    """
    x, c, contacts = work.x, motion.c, work.contacts
    if contact_rows(plan, constant, h, node, x, every, found, contacts) != 0:
        return -1.0
    if cold:
        weigh_planes(plan, constant, contacts)
    if evaluate_end_and_gaps(plan, constant, h, node, x, trial, found, contacts) != 0:
        return -1.0
    decide_all(plan, contacts)
    energy = first_barrier(plan, constant, h, cold, x, motion.u_prev, c, contacts)
    lower(plan, 0.0 if cold else WARM, contacts)
    barrier = max(least, energy) if cold else least
    centre(plan, constant, h, barrier, x, c, contacts)
    return barrier


@kernel
def converged(plan, constant, h, settings, speed, opened, before, node, c, work, info):
    """Convergence test: x and c solve the interval at the last barrier."""
    info[VELOCITY_ERROR], info[VIOLATION] = speed, opened
    if speed > settings[CONTACT_TOLERANCE]:
        # stiff contacts and large impulses: no better than rounding
        if not 0.1 * before < speed <= ROUNDING * largest_impulse(plan, constant, work.x):
            return False
    worst = errors(plan, constant, h, settings[BARRIER], work.x, c, work.contacts)
    info[VELOCITY_ERROR] = max(speed, worst)
    closed = max(settings[TOLERANCE], 64.0 * EPS * extent(plan, constant, node.pose))
    return worst <= settings[CONTACT_TOLERANCE] and opened <= closed
