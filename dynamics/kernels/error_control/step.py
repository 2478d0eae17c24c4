"""Steps in as many intervals as the accuracy asks for; all orders.

Each pair of short intervals is compared with one interval of their length. At order p the error of
the pair is about the difference over 2^p - 1 (Richardson). It may be the accuracy times the length,
so that errors add up to the accuracy times the time. A PI controller chooses the lengths.

References: E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, 1993,
sec. II.4; K. Gustafsson, ACM Trans. Math. Softw. 17, 1991; G. Soederlind, ACM Trans. Math. Softw.
29, 2003.
"""

import math

from dynamics.kernels.base.arguments import Inputs, Place, motion_of
from dynamics.kernels.base.copying import copy
from dynamics.kernels.base.jit import inlined, kernel, pointer
from dynamics.kernels.base.layout import BODIES, CONTACTS, POSE, STIFF_NUMBERS
from dynamics.kernels.base.settings import BARRIER, FRICTION_PART, HEAP_BARRIER, SETTINGS_SIZE
from dynamics.kernels.base.status import INACCURATE, NOT_FINITE
from dynamics.kernels.base.step_info import (
    FACTORIZATIONS,
    FRICTION,
    INTERVALS,
    ITERATIONS,
    LARGEST_WORK,
    LAST_ERROR,
    LEAST_ERROR,
    NODE_SIDE,
    REJECTED,
    RELAXATION,
    RESTITUTION_PART,
    SHORTEST,
    STATUS,
    TIME,
    UNEXPLAINED_INTERVALS,
    UNRESOLVED,
    WANTED_LENGTH,
    WORST_BODY,
)
from dynamics.kernels.collisions.watch import begin, lay_idle_planes, look
from dynamics.kernels.error_control.arguments import (
    ACCURACY,
    ORDER,
    SHARPNESS,
    UNSEEN,
    control_of_tuple,
    observer_of_tuple,
)
from dynamics.kernels.error_control.difference import (
    pose_difference,
    project_both,
    project_difference,
    velocity_difference,
)
from dynamics.kernels.error_control.touch import EVENT
from dynamics.kernels.stepping.substeps import DEPTH, forget, rejected

#: Part of the length that would meet the accuracy, and bounds of the change from pair to pair.
SAFETY = 0.9
GROWTH = 5.0
SHRINKAGE = 0.1
#: Exponents of the last error and of the one before over the order (Gustafsson's PI controller).
PROPORTIONAL, INTEGRAL = 0.4, 0.7
#: Difference of short intervals over `UNSEEN`: several contacts on a face share what they leave. At
#: 1, a chain of 5 spheres takes 1.4 to 1.7 times the factorizations.
SHARED = 10.0
#: Part of Newton's difference below which a difference is no larger in longer intervals, and the
#: growth there. Without them, that chain takes up to 1.9 times the factorizations.
DROWNED = 0.1
DOUBLED = 2.0
#: Least part of the error that counts in the choice of the next length.
LEAST = 1e-6
#: Exponent of the length below which a difference that falls is that of a jump of velocities (1)
#: or of forces (2), and the number of these that a step may have beyond those of contacts
#: (test_a_force_that_jumps_is_located_by_the_error).
ROUGH = 2.5
KINKS = 32
#: Shortest pair over the step whose difference may be that of Newton's method.
EXCUSED = 1e-6
#: Pair with contacts over the step that is an instant: where several close at once, velocities
#: after it depend on their order, and no length meets the accuracy. It doubles with each one of a
#: step: two boxes that land on each other at 1e-4 then take 9e3 to 4e5 intervals in all.
INSTANT = 2.0**-20
#: Its most, and least length of the next pair over the step: an ant takes 3e3, not 5e4.
AFTER = 2.0**-10
#: Lengths over `AFTER` of pairs that are tried at an instant whose equations are not solved, each
#: with all settings, less friction last; then ever shorter ones. Shorter ones alone left one of 272
#: random mechanisms, and none nine of them
#: (test_an_instant_whose_contacts_are_not_solved_does_not_end_a_run).
LONGER, GROWING = 4.0, 4
#: Shortest pair over the step. Below that, impulses of joints drown in rounding.
SHORTEST_PART = 2.0**-30
#: Pairs of a step, rejected ones included: a second of computing for a few bodies.
MOST_PAIRS = 1 << 17


@kernel
def store(plan, pose, state, out):
    """out <- the state with these poses."""
    copy(state, out)
    for i in range(POSE * plan[BODIES]):
        out[i] = pose[i]


@kernel
def restore(kept, info):
    """info <- kept, but for what counts work and where the nodes are."""
    side, factorizations = info[NODE_SIDE], info[FACTORIZATIONS]
    copy(kept, info)
    info[NODE_SIDE], info[FACTORIZATIONS] = side, factorizations


@kernel
def compare(tables, length, G, own, observer):
    """Difference of two short intervals and one long one, and its body."""
    plan, constant = tables
    most, worst = pose_difference(plan[BODIES], own.counted, own.states)
    if plan[CONTACTS] + plan[STIFF_NUMBERS] == 0:
        failed = project_difference(plan, constant, G, own.states, observer, own.twists)
    else:
        failed = project_both(plan, constant, length, own.states, observer, own.twists)
    if failed != 0:
        return math.inf, 0
    found, body = velocity_difference(plan, constant, own.counted, own.twists)
    if not found <= most:
        most, worst = found, body
    return most, worst


@kernel
def unseen(goal, h, length):
    """Difference that Newton's method leaves; more where contacts rattle in short intervals."""
    return goal[UNSEEN] if length > h / (1 << DEPTH) else SHARED * goal[UNSEEN]


@kernel
def excess(goal, h, length, event, found):
    """Difference of a pair over what it may be beyond Newton's tolerance; accepted up to 1.

    An event, at which the order is one, may have its own error, however short the intervals are.
    """
    most = length * goal[ACCURACY] * (2.0 ** goal[ORDER] - 1.0)
    if event:
        most = max(most, EVENT * goal[ACCURACY])
    error = found / most
    if error <= 1.0 or length < EXCUSED * h:
        return error
    return max(1.0, (found - unseen(goal, h, length)) / most)


@kernel
def choose_settings(settings, first, part, own):
    """Settings of an interval that is a part of the step, from the set at ``first``.

    A barrier kappa gives a body that leaves a contact the speed sqrt(kappa / m), which is to be
    less than the accuracy. Friction slides at kappa / (F h) where it should stick, so that kappa
    falls with the length h, in heaps, too.
    """
    for i in range(SETTINGS_SIZE):
        own.settings[i] = settings[first + i]
    own.settings[BARRIER] *= part * min(1.0, own.goal[SHARPNESS] / settings[BARRIER])
    own.settings[HEAP_BARRIER] = own.settings[BARRIER]


@kernel
def has_all_friction(settings, first):
    """Whether there is a set at ``first`` whose motion may be as accurate as any."""
    return first < settings.size and settings[first + FRICTION_PART] == 1.0


@kernel
def growth(order, drowned, error, info):
    """Next length over this one after a pair with this error, or whose difference is Newton's."""
    error = max(error, LEAST)
    part = SAFETY * error ** (-INTEGRAL / order) * info[LAST_ERROR] ** (PROPORTIONAL / order)
    if drowned:
        return max(DOUBLED, min(GROWTH, part))
    if error == 1.0:
        return 1.0
    return max(SHRINKAGE, min(GROWTH, part))


@kernel
def shrinkage(order, error):
    """The same after a pair that is rejected."""
    return max(SHRINKAGE, min(SAFETY, SAFETY * error ** (-1.0 / order)))


@kernel
def forced_part(nth):
    """Length over the step of the nth pair that is tried at an instant which is not solved."""
    return AFTER * (LONGER**nth if nth < GROWING else 0.5 ** (nth - GROWING + 1))


def make_controlled_step(
    arrays_of, load, interval, advance, predict, keep, give_back, settle, has_event, look_ahead,
    longest, accept, end_pose,
):  # fmt: skip
    """Kernel `step` of the module of a `settle`, with an ``interval`` as in `substeps.make_step`.

    ``predict(plan, length, ends, motion, work, info, guess)`` guesses its unknowns. ``keep(plan,
    work, kept)`` keeps what an interval changes beyond state, info and nodes, and
    ``give_back(plan, work, kept)`` restores it. ``settle(plan, constant, k, length, ends, motion,
    work, own, info)`` follows the long interval (k = 0) and both short ones. ``has_event(plan,
    own)`` says whether contacts have changed in them. ``look_ahead(plan, constant, ends,
    motion, own, info)`` finds gaps at a node, ``longest(plan, constant, wanted, own)`` is the
    longest pair from there. ``accept(plan, constant, time,
    half, work, own)`` follows a pair. ``end_pose(plan, ends)`` are the poses at the end of an
    interval, before `advance`.
    """

    def step(
        # Tables:
        plan,
        constant,
        program,
        # In:
        h,
        settings,
        control,
        wrench,
        # In and out:
        state,
        # Work:
        work,
        solver,
        # Out:
        info,
        # In:
        ready,
        watch,
    ):  # fmt: skip
        """State <- state after one step; 0 or what went wrong, the state then as it was.

        ``work`` holds a `Control`, an `Observer` and the workspace of a step without them.
        """
        own, observer, inner = control_of_tuple(work[0]), observer_of_tuple(work[1]), work[2]
        tables, numbers, before = (plan, constant), info, own.kept_state
        guess, chosen = pointer(own.guess, 0), pointer(own.settings, 0)
        ends, scratch, linear, saved, _, fallback = arrays_of(plan, state, inner, solver, info)
        motion, inputs = motion_of(plan, state), Inputs(control=control, wrench=wrench)
        plan, constant, info = pointer(plan, 0), pointer(constant, 0), pointer(info, 0)
        if not ready:
            load(plan, constant, state, ends)
            forget(h, info)
        elif lay_idle_planes(plan, constant, h, watch, state, info):
            load(plan, constant, state, ends)
        if not 0.0 < info[WANTED_LENGTH] <= h:
            info[WANTED_LENGTH], info[LAST_ERROR] = h, 1.0
        copy(state, saved)
        info[FACTORIZATIONS], info[LARGEST_WORK], info[UNEXPLAINED_INTERVALS] = 0.0, 0.0, 0.0
        info[RESTITUTION_PART] = 1.0
        begin(watch)
        first, time, done, iterations, intervals, again = 0, 0.0, 0, 0.0, 0.0, False
        pairs_tried, kinks, before_found, before_length = 0, 0, 0.0, h
        instant, largest = INSTANT, 0  # and the last set of settings that an interval has had
        forced = 0  # tries at an instant that is not solved, each with another set
        while time < h:
            if not again:
                look_ahead(plan, constant, ends, motion, own, info)
            pairs_tried += 1
            if pairs_tried > MOST_PAIRS:
                done = INACCURATE
                break
            pairs = max(1.0, math.ceil((h - time) / info[WANTED_LENGTH] - 1e-6))
            length = (h - time) / pairs
            most = longest(plan, constant, length, own)
            cut, at = most < length and forced == 0, first
            if forced > 0:
                at = (forced - 1) * SETTINGS_SIZE % settings.size
            if cut:
                pairs, length = 2.0, max(most, SHORTEST_PART * h)
            copy(state, before)
            copy(numbers, own.kept_info)
            keep(plan, scratch, own.kept_past)
            solved, moved = 0.0, False
            for k in range(3):
                size = length if k == 0 else 0.5 * length
                begun = time + size if k == 2 else time
                part = Place(
                    time=info[TIME] + begun, end=info[TIME] + begun + size, length=size,
                    index=begun / size, count=h / size, last=length <= h / (1 << DEPTH),
                    moving=ready or begun > 0.0, guess=guess,
                )  # fmt: skip
                choose_settings(settings, at, size / h, own)
                predict(plan, size, ends, motion, scratch, info, guess)
                for elimination in (program, fallback):
                    done = interval(
                        plan, constant, elimination, chosen, inputs, part, motion, ends, scratch,
                        linear, info,
                    )  # fmt: skip
                    if done >= 0 or fallback.size == 0 or rejected(done):
                        break
                if done < 0:
                    break
                iterations += done
                solved += 1.0
                settle(plan, constant, k, size, ends, motion, scratch, own, info)
                if k == 0:
                    store(plan, end_pose(plan, ends), state, own.states[0])
                    copy(before, state)
                    restore(own.kept_info, numbers)
                    give_back(plan, scratch, own.kept_past)
                else:
                    ends, moved = advance(plan, ends, info), True
                    if k == 2:
                        store(plan, ends[0].pose, state, own.states[1])
            error, worst, event, kink, unresolved = 0.0, 0, False, False, False
            if done >= 0:
                event = has_event(plan, own)
                found, worst = compare(tables, length, ends[0].G, own, observer)
                if not found < 1e300:
                    done = NOT_FINITE
                # an impact leaves a part to the pair after it
                error = excess(
                    own.goal, h, length, event or own.last[1] > 0.0, found
                )  # fmt: skip
                if error > 1.0 and again:
                    kink = (
                        kinks < KINKS and found > before_found * (length / before_length) ** ROUGH
                    )
                    if kink:  # the next pair is no longer
                        error = max(1.0, excess(own.goal, h, length, True, found))
                unresolved = forced > 0 or (
                    error > 1.0 and plan[CONTACTS] > 0 and length < instant * h
                )
                if unresolved:
                    error = 1.0
                before_found, before_length = found, length
            if done >= 0 and error <= 1.0:
                accept(plan, constant, info[TIME] + time, 0.5 * length, scratch, own)
                time, own.last[0] = h if pairs == 1.0 else time + length, length
                own.last[1] = 1.0 if event else 0.0
                kinks += 1 if kink else 0
                intervals += 2.0
                if not cut:
                    drowned = found < DROWNED * unseen(own.goal, h, length)
                    part = growth(own.goal[ORDER], drowned, error, info)
                    info[WANTED_LENGTH] = length * part
                    info[LAST_ERROR] = max(error, LEAST)
                largest = max(largest, at)
                if unresolved:
                    forced = 0
                    info[UNRESOLVED] += 1.0
                    instant = min(AFTER, 2.0 * instant)
                    info[WANTED_LENGTH] = max(info[WANTED_LENGTH], AFTER * h)
                info[RESTITUTION_PART], again = 1.0, False
                shortest = info[SHORTEST]
                info[SHORTEST] = min(shortest, 0.5 * length) if shortest > 0.0 else 0.5 * length
                pose = ends[0].pose
                for i in range(POSE * plan[BODIES]):
                    state[i] = pose[i]
                look(watch, ends[0].pose)
                continue
            restitution = info[RESTITUTION_PART]
            copy(before, state)
            restore(own.kept_info, numbers)
            give_back(plan, scratch, own.kept_past)
            if moved:
                load(plan, constant, state, ends)
            lowered = restitution < info[RESTITUTION_PART]
            info[RESTITUTION_PART], again = restitution, True
            info[REJECTED] += solved
            if done >= 0:
                order = 1.0 if event or kink else own.goal[ORDER]
                info[WANTED_LENGTH] = length * shrinkage(order, error)
                info[LEAST_ERROR], info[WORST_BODY] = error, float(worst)
            elif forced > 0 or (plan[CONTACTS] > 0 and length < instant * h):
                forced += 1
                info[WANTED_LENGTH] = h * forced_part((forced - 1) * SETTINGS_SIZE // settings.size)
            elif not lowered:
                more = first + SETTINGS_SIZE
                if length <= h / (1 << DEPTH) and has_all_friction(settings, more):
                    first = more
                else:
                    info[WANTED_LENGTH] = 0.5 * length
            if info[WANTED_LENGTH] < SHORTEST_PART * h:
                done = min(done, 0) if done < 0 else INACCURATE
                break
        info[ITERATIONS], info[INTERVALS] = iterations, intervals
        info[RELAXATION] = settings[largest + BARRIER] / settings[BARRIER]
        info[FRICTION] = settings[largest + FRICTION_PART]
        info[STATUS] = min(done, 0)
        if done < 0:
            copy(saved, state)
        return min(done, 0)

    step.__module__, step.__qualname__ = settle.__module__, step.__name__
    return inlined(step)
