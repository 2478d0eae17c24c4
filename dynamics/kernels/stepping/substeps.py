"""Substeps: a step as one interval, or as 2, 4, ... where the equations are hard; all orders."""

from typing import Any, NamedTuple

from dynamics.kernels.base.arguments import Inputs, Place, motion_of
from dynamics.kernels.base.copying import copy
from dynamics.kernels.base.intervals import keeps_intervals
from dynamics.kernels.base.jit import inlined, kernel, pointer, record
from dynamics.kernels.base.layout import BODIES, CONTACTS, POSE
from dynamics.kernels.base.settings import BARRIER, FRICTION_PART, SETTINGS_SIZE
from dynamics.kernels.base.status import ENERGY_GAINED, PASSED_THROUGH, TURNED_TOO_FAR
from dynamics.kernels.base.step_info import (
    BALANCE,
    EQUAL_LENGTHS,
    FACTORIZATIONS,
    FRICTION,
    INFO_SIZE,
    INTERVALS,
    ITERATIONS,
    LARGEST_RISE,
    LARGEST_WORK,
    LAST_LENGTH,
    MIDDLE_PAUSE,
    MIDDLE_WAIT,
    RAISED,
    RELAXATION,
    RESTITUTION_PART,
    STATUS,
    STEP_HALVINGS,
    STORED_STEPS,
    TIME,
    UNEXPLAINED_INTERVALS,
)
from dynamics.kernels.collisions.watch import begin, lay_idle_planes, look

#: A step is cut into up to 2^DEPTH intervals. Where that fails, their lengths may differ, down to
#: 2^-DEEP of the step: a light body between two heavy ones turns so fast at a singular posture
#: (tests/dynamics/test_gimbals.py). Then, too, there are about 2^DEPTH at most.
DEPTH = 10
DEEP = 24


@record
class Arrays(NamedTuple):
    """Arrays of a step, as its functions ask for them."""

    ends: Any  # a tuple; the first has the pose at the start of an interval
    work: Any  # of an interval
    solver: Any  # matrix of an interval and its factors
    saved: Any  # (state,): the state at the start of the step
    reached: Any  # (state,): the state after its last interval; (0,) where all are of one length
    fallback: Any  # program of the second elimination order, or (0,)


@kernel
def forget(h, info):
    """No interval has been before the first of a motion."""
    info[LAST_LENGTH], info[EQUAL_LENGTHS] = h, 2.0
    info[STORED_STEPS], info[MIDDLE_WAIT], info[MIDDLE_PAUSE] = 0.0, 0.0, 0.0
    restore_ledger((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), info)


@kernel
def ledger_of(info):
    """Numbers of the energy audit and of the energy balance before an interval."""
    a = BALANCE
    return (
        info[LARGEST_WORK], info[UNEXPLAINED_INTERVALS],
        info[a], info[a + 1], info[a + 2], info[a + 3], info[a + 4], info[a + 5], info[a + 6],
    )  # fmt: skip


@kernel
def restore_ledger(ledger, info):
    """The same numbers again."""
    info[LARGEST_WORK], info[UNEXPLAINED_INTERVALS] = ledger[0], ledger[1]
    for i in range(LARGEST_RISE + 1 - BALANCE):
        info[BALANCE + i] = ledger[2 + i]


@kernel
def rejected(done):
    """Whether a check rejects the interval: another elimination order would not change that."""
    return done == TURNED_TOO_FAR or done == PASSED_THROUGH or done == ENERGY_GAINED


def make_step(arrays_of, load, interval, advance, adapt):
    """Kernel `step` of the module of an ``interval``, which becomes a part of it.

    The module has to assign it to that name: machine code is found by module and name.

    ``arrays_of(plan, state, work, solver, info)`` returns the `Arrays`. ``load(plan, constant,
    state, ends)`` evaluates the node at the start. ``interval(plan, constant, program, settings,
    inputs, part, motion, ends, work, solver, info)`` returns its iterations, or what went wrong,
    the motion then unchanged; ``part`` is its `Place`. ``advance(plan, ends, info)`` returns the
    ends of the next interval. ``adapt(plan, constant, h, done, part, motion, ends, work, info)``
    follows intervals that failed, and the last one of a step, or all of them (`keeps_intervals`).
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

        An ``info`` that is longer than `INFO_SIZE` gets the lengths of the intervals after that.
        ``ready`` says that the workspace holds the node of the state. ``watch`` is None or that of
        `dynamics.kernels.collisions.watch`, and looks after each interval.
        """
        ends, scratch, linear, saved, reached, fallback = arrays_of(plan, state, work, solver, info)
        motion, inputs = motion_of(plan, state), Inputs(control=control, wrench=wrench)
        room = info.size - INFO_SIZE
        plan, constant, info = pointer(plan, 0), pointer(constant, 0), pointer(info, 0)
        if not ready:
            load(plan, constant, state, ends)
            forget(h, info)
        elif lay_idle_planes(plan, constant, h, watch, state, info):
            load(plan, constant, state, ends)
        copy(state, saved)
        info[ITERATIONS], info[FACTORIZATIONS] = 0.0, 0.0
        info[LARGEST_WORK], info[UNEXPLAINED_INTERVALS] = 0.0, 0.0
        start, done, rigid = ledger_of(info), 0, keeps_intervals(plan)
        sets = settings.size // SETTINGS_SIZE if plan[CONTACTS] > 0 else 1
        for attempt in range(sets + min(1, reached.size)):
            deep = attempt == sets
            chosen, ledger = pointer(settings, 0 if deep else attempt * SETTINGS_SIZE), start
            keeping, depth = rigid or deep, DEEP if deep else DEPTH
            i, count = 0, 1 << int(info[STEP_HALVINGS])  # intervals done, and into how many
            info[INTERVALS], info[RESTITUTION_PART], raised = 0.0, 1.0, 1.0
            begin(watch)
            while i < count and count <= 1 << depth:
                length, restitution = h / count, info[RESTITUTION_PART]
                part = Place(
                    time=info[TIME] + i * length, end=info[TIME] + (i + 1) * length, length=length,
                    index=i, count=count, last=2 * count > 1 << depth, moving=ready or i > 0,
                    guess=None,
                )  # fmt: skip
                for order in (program, fallback):
                    done = interval(
                        plan, constant, order, chosen, inputs, part, motion, ends, scratch, linear,
                        info,
                    )  # fmt: skip
                    if done >= 0 or fallback.size == 0 or rejected(done):
                        break
                if done >= 0:
                    i += 1
                    info[ITERATIONS] += done
                    if info[INTERVALS] < room:
                        info[INFO_SIZE + int(info[INTERVALS])] = length
                    info[INTERVALS] += 1.0
                    raised = max(raised, info[RAISED])
                    ends = advance(plan, ends, info)
                    look(watch, ends[0].pose)
                    if rigid or i == count:
                        adapt(plan, constant, h, done, part, motion, ends, scratch, info)
                    if keeping:  # what is done stays, and the next interval may be longer
                        copy(state, reached)
                        ledger, info[RESTITUTION_PART] = ledger_of(info), 1.0
                        if i < count and i % 2 == 0:
                            i, count = i // 2, count // 2
                    continue
                if keeping and i > 0:
                    copy(reached, state)
                else:
                    copy(saved, state)
                restore_ledger(ledger, info)
                again = info[RESTITUTION_PART] < restitution
                if not again:
                    adapt(plan, constant, h, done, part, motion, ends, scratch, info)
                    info[RESTITUTION_PART] = 1.0
                    count *= 2
                    if keeping:
                        i *= 2
                    if deep and info[INTERVALS] > 1 << DEPTH:
                        break
                if not keeping:
                    if i > 0:  # else the node is there
                        load(plan, constant, state, ends)
                    i, info[INTERVALS], raised = 0, 0.0, 1.0
                    begin(watch)
            if done >= 0:
                info[RAISED] = raised
                info[RELAXATION] = raised * chosen[BARRIER] / settings[BARRIER]
                info[FRICTION] = chosen[FRICTION_PART]
                break
            if i > 0:
                copy(saved, state)
                load(plan, constant, state, ends)
        info[STATUS] = min(done, 0)
        if done >= 0:
            pose = ends[0].pose
            for i in range(POSE * plan[BODIES]):
                state[i] = pose[i]
        return min(done, 0)

    step.__module__, step.__qualname__ = interval.__module__, step.__name__
    return inlined(step)
