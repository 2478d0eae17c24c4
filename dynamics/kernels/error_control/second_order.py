"""Error control of order 2, with contacts."""

import math

from dynamics.kernels.base.jit import inlined, kernel, pointer
from dynamics.kernels.base.layout import BODIES, CONTACTS, TWIST
from dynamics.kernels.base.step_info import (
    CONTRACTION,
    DIFFERENCE_WEIGHTS,
    DIFFERENCE_WEIGHTS_SIZE,
    EQUAL_LENGTHS,
    LAST_LENGTH,
    LENGTH,
    NEAREST,
    SPACING,
)
from dynamics.kernels.contacts.varying_lengths import friction_arms
from dynamics.kernels.error_control import touch
from dynamics.kernels.error_control.run import make_controlled_simulate
from dynamics.kernels.error_control.step import make_controlled_step
from dynamics.kernels.interval.predictor import SLOW
from dynamics.kernels.stepping.step import advance, arrays_of, interval, load


@kernel
def predict(plan, h, ends, motion, work, info, guess):
    """Weights of differences that lead on along Newton's polynomial, where lengths have changed.

    The predictor of an interval takes them for those of intervals of one length; ``guess[0]`` is
    their number after this one.
    """
    alike = info[EQUAL_LENGTHS] if info[LAST_LENGTH] > 0.0 else 0.0
    same, most = info[LAST_LENGTH] == h, DIFFERENCE_WEIGHTS_SIZE + 1.0
    guess[0] = min(alike + 1.0, most) if same else 1.0
    if same and alike >= most or plan[CONTACTS] > 0:
        return
    weights = pointer(info, DIFFERENCE_WEIGHTS)
    weights[0], weights[1], weights[2], weights[3] = 1.0, 0.0, 0.0, 0.0
    if info[CONTRACTION] <= SLOW and info[SPACING] > 0.0:
        place = 0.5 * (h + info[LENGTH]) / info[SPACING]
        weights[1] = place
        if alike >= 3.0:
            weights[2] = 0.5 * place * (place + 1.0)
        if alike >= 4.0:
            weights[3] = weights[2] * (place + 2.0) / 3.0
    info[LAST_LENGTH], info[EQUAL_LENGTHS] = h, most


@kernel
def keep(plan, work, kept):
    """Keep velocities before the last ones."""
    n = TWIST * plan[BODIES]
    _, u_before, u_third = work.past
    for i in range(n):
        kept[i], kept[n + i] = u_before[i], u_third[i]


@kernel
def give_back(plan, work, kept):
    """Restore them, and users' impulses before the pair."""
    n = TWIST * plan[BODIES]
    _, u_before, u_third = work.past
    for i in range(n):
        u_before[i], u_third[i] = kept[i], kept[n + i]
        work.given[n + i] = work.given[i]


@kernel
def settle(plan, constant, k, length, ends, motion, work, own, info):
    """Length of the interval, the time of its impulses, arms of friction, codes of contacts."""
    info[SPACING] = 0.5 * (info[LENGTH] + length)
    info[LENGTH] = length
    if plan[CONTACTS] == 0:
        info[EQUAL_LENGTHS] = own.guess[0]
    if plan[CONTACTS] > 0:
        node, trial = ends
        friction_arms(
            plan, constant, length, node, motion.c, trial, pointer(info, NEAREST), work.contacts,
            motion.p,
        )  # fmt: skip
        touch.read_codes(plan, constant, length, motion.c, work.contacts, 1 + k, own.held)


@kernel
def has_event(plan, own):
    """Whether contacts have changed."""
    return touch.changed(plan, own.held) if plan[CONTACTS] > 0 else False


@kernel
def look_ahead(plan, constant, ends, motion, own, info):
    """Gaps at the node, and how fast they close."""
    if plan[CONTACTS] > 0:
        since, u = own.last[0], motion.u
        twist = pointer(own.twists[1], 0) if since > 0.0 else u
        touch.look_ahead(
            plan, constant, ends[0], since, twist, pointer(own.row, 0), info, own.held
        )  # fmt: skip
        touch.record_releases(plan, constant, own.goal, own.held, own.events, own.count)


@kernel
def longest(plan, constant, wanted, own):
    """Longest pair of intervals from here: until the next impact."""
    if plan[CONTACTS] == 0:
        return math.inf
    return touch.length_until_impact(plan, constant, own.goal, wanted, own.held)


@kernel
def accept(plan, constant, time, half, work, own):
    """Users' impulses before the next pair, and events of this one."""
    n = TWIST * plan[BODIES]
    for i in range(n):
        work.given[i] = work.given[n + i]
    if plan[CONTACTS] > 0:
        touch.record_events(plan, constant, time, half, own.held, own.events, own.count)


@inlined
def end_pose(plan, ends):
    """Poses at the end of the interval."""
    return ends[1].pose


step = make_controlled_step(
    arrays_of, load, interval, advance, predict, keep, give_back, settle, has_event, look_ahead,
    longest, accept, end_pose,
)  # fmt: skip
simulate = make_controlled_simulate(step)
