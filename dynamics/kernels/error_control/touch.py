"""Contacts and limits in a run with error control: which are closed, and which close next.

An impact makes a jump of velocities. Its time is located to the accuracy: a pair of intervals ends
just before a gap closes, as its distance, its rate and its second difference predict. The next
interval then starts with the impact, from which its impulse acts.
"""

import math

from dynamics.kernels.base.jit import kernel, lazy, pointer
from dynamics.kernels.base.layout import (
    ACTIVE_AT,
    BETA,
    BLOCK,
    BLOCKS,
    CONES,
    CONTACT_AT,
    CONTACT_CONSTANT_AT,
    CONTACT_FIELDS,
    CONTACT_PACE,
    CONTACT_SIZE,
    CONTACT_WORK,
    CONTACTS,
    FRICTION,
    GAMMA,
    MASS_AT,
    OF_PLANE,
    OF_RATE,
    SLACK,
    SLOT,
    SOFTNESS,
)
from dynamics.kernels.base.step_info import NEAREST
from dynamics.kernels.contacts.rows import contact_rate, is_dry_friction, normal_row
from dynamics.kernels.error_control.arguments import ACCURACY

#: Error of one event over that of a second of motion.
EVENT = 0.1
#: Part of a gap that a pair of intervals leaves open on the way to an impact.
LEFT = 0.01
#: Speed of an impact, over its unit, below which it changes no more than other forces do.
SLOW = 1e-3
#: Gap at which an impact begins: over the way in its pair of intervals, at least over `EVENT`'s.
REACHED = 0.25
NEARLY = 1e-3
#: Part of a cone beyond which friction slides.
SLIDING = 0.9
# Numbers of a contact
CODE = 0  # 1 if it is closed, and 2 for each block of friction that sticks; -1: not known
LONG, FIRST, SECOND = 1, 2, 3  # the same after each interval of the pair
GAP = 4  # at the start of the pair, m or rad
RATE = 5  # its rate there
GAP_BEFORE = 6  # the gap at the start of the pair before, and the time since then
SINCE = 7
SHUT = 8  # 1 if it is closed, also as far as the accuracy shows; -1: not known
RELEASED = 9  # time at which it last opened, s
BEFORE = 10  # the code, SHUT and RELEASED before the step
HELD_SIZE = 13
# Kinds of events
OPENS, CLOSES, FOUND_CLOSED = 0.0, 1.0, 2.0


@kernel
def touches(plan, constant, k):
    """True for a contact whose gap is a distance or an angle."""
    c = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
    return constant[c + OF_RATE] == 0.0 and not is_dry_friction(plan, k)


@lazy("None")
def read_codes(plan, constant, h, c, contacts, place, held):
    """Codes of all contacts after an interval, at a place of their numbers."""
    for k in range(plan[CONTACTS]):
        at, w = plan[CONTACT_AT] + k * CONTACT_FIELDS, k * CONTACT_WORK
        constants, slot, code = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE, plan[at + SLOT], 0.0
        if contacts[w + ACTIVE_AT] != 0.0:
            pressing = is_dry_friction(plan, k)
            if pressing or h * c[slot + GAMMA] > contacts[w + MASS_AT] * c[slot + SLACK]:
                code = 1.0
                for i in range(plan[at + BLOCKS]):
                    q = slot + CONES + BLOCK * i + BETA
                    most = SLIDING * constant[constants + FRICTION + i] * c[slot + GAMMA]
                    if c[q] * c[q] + c[q + 1] * c[q + 1] < most * most:
                        code += 2.0
        held[k, place] = code


@kernel
def keep_events(held, count, last):
    """Keep what a step changes."""
    count[1] = count[0]
    for k in range(held.shape[0]):
        held[k, BEFORE], held[k, BEFORE + 1] = held[k, CODE], held[k, SHUT]
        held[k, BEFORE + 2] = held[k, RELEASED]


@kernel
def take_back_events(held, count, last):
    """Restore it; gaps are to be found again."""
    count[0], last[0] = count[1], 0.0
    for k in range(held.shape[0]):
        held[k, CODE], held[k, SHUT] = held[k, BEFORE], held[k, BEFORE + 1]
        held[k, RELEASED] = held[k, BEFORE + 2]


@lazy("bool")
def changed(plan, held):
    """Whether a contact has closed, opened, begun to slide or to stick in a pair of intervals."""
    for k in range(plan[CONTACTS]):
        now = held[k, CODE]
        if now >= 0.0 and (held[k, LONG] != now or held[k, FIRST] != now or held[k, SECOND] != now):
            return True
    return False


@lazy("None")
def look_ahead(plan, constant, node, since, twist, row, info, held):
    """Gaps and rates at the node after ``since`` seconds from the last one, or 0 if there is none.

    ``row`` has room for a row of a contact.
    """
    for k in range(plan[CONTACTS]):
        if not touches(plan, constant, k):
            continue
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        gap, failed = normal_row(plan, constant, k, node, pointer(info, NEAREST), row, 0)
        held[k, GAP_BEFORE], held[k, SINCE] = held[k, GAP], since
        held[k, GAP] = math.inf if failed else gap
        held[k, RATE] = contact_rate(plan, at, row, 0, twist)


@kernel
def time_until(gap, rate, bend):
    """Least positive t of gap + rate t + bend t^2 / 2 = 0, or infinity."""
    root = rate * rate - 2.0 * bend * gap
    if root < 0.0:
        return math.inf
    root = math.sqrt(root)
    if rate < 0.0:
        return 2.0 * gap / (root - rate)
    return (rate + root) / -bend if bend < 0.0 else math.inf


@lazy("float")
def length_until_impact(plan, constant, goal, wanted, held):
    """Length of a pair until just before the next impact, or that of a bounce; infinity if none."""
    least, near = math.inf, EVENT * goal[ACCURACY]
    for k in range(plan[CONTACTS]):
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        if not touches(plan, constant, k) or plan[at + OF_PLANE] != 0:
            continue
        c, gap, rate = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE, held[k, GAP], held[k, RATE]
        if held[k, CODE] > 0.0 or constant[c + SOFTNESS] > 0.0:
            continue
        # An impact acts on the mean velocity of an interval, off by half of what forces change. So
        # its interval is short.
        bounce = min(wanted, near * constant[c + CONTACT_PACE])
        reached = min(near, max(NEARLY * near, -REACHED * bounce * rate))
        if gap <= reached:
            if -rate * constant[c + CONTACT_PACE] > SLOW:
                least = min(least, bounce)
            continue
        if gap <= near and rate >= 0.0:
            continue
        bend, since = 0.0, held[k, SINCE]
        if since > 0.0:
            bend = 2.0 * (held[k, GAP_BEFORE] - gap + rate * since) / (since * since)
        aim = max(0.5 * reached, LEFT * gap)
        least = min(least, time_until(gap - aim, rate, bend))
    return least


@kernel
def record_event(time, k, kind, events, count):
    """One more event, where there is room."""
    if count[0] < events.shape[0]:
        row = events[count[0]]
        row[0], row[1], row[2] = time, k, kind
        count[0] += 1


@lazy("None")
def record_events(plan, constant, time, half, held, events, count):
    """Contacts that close in a pair that is accepted, from its time on; codes of the next one."""
    for k in range(plan[CONTACTS]):
        if held[k, SHUT] < 0.0:
            held[k, SHUT] = min(1.0, held[k, SECOND])
            if held[k, SHUT] == 1.0 and not is_dry_friction(plan, k):
                record_event(time, k, FOUND_CLOSED, events, count)
        elif not is_dry_friction(plan, k):
            for place in range(FIRST, SECOND + 1):
                before = held[k, CODE] if place == FIRST else held[k, FIRST]
                start = time if place == FIRST else time + half
                if held[k, place] < 1.0 and before >= 1.0:
                    held[k, RELEASED] = start
                elif held[k, place] >= 1.0 and held[k, SHUT] == 0.0:
                    then = start
                    if touches(plan, constant, k) and held[k, RATE] < 0.0:
                        reached = time + max(0.0, held[k, GAP]) / -held[k, RATE]
                        then = min(max(start, reached), start + half)
                    held[k, SHUT] = 1.0
                    record_event(then, k, CLOSES, events, count)
        held[k, CODE] = held[k, SECOND]


@lazy("None")
def record_releases(plan, constant, goal, held, events, count):
    """Contacts that have opened and whose gaps are larger now than the accuracy of an event."""
    for k in range(plan[CONTACTS]):
        if held[k, SHUT] == 1.0 and held[k, CODE] == 0.0 and not is_dry_friction(plan, k):
            if not touches(plan, constant, k) or held[k, GAP] > EVENT * goal[ACCURACY]:
                held[k, SHUT] = 0.0
                record_event(held[k, RELEASED], k, OPENS, events, count)
