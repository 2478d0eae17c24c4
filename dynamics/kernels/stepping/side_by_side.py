"""Eight runs of one model side by side, a run in each lane: see `dynamics.kernels.base.lanes`.

Contacts and limits that cannot act in an interval have no forces in it. Steps are taken without
them as long as that holds in all lanes. The run ends before a step in which one can act. A step
after which one is closed is taken back.
"""

from dynamics.kernels.base.arguments import motion_of
from dynamics.kernels.base.copying import copy
from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.lanes import as_lanes, every, some
from dynamics.kernels.base.layout import (
    BLOCK,
    BLOCKS,
    BODIES,
    CONES,
    CONTACT_AT,
    CONTACT_CONSTANT_AT,
    CONTACT_FIELDS,
    CONTACT_SIZE,
    CONTACTS,
    FACETS,
    FALL,
    LIMIT,
    OF_RATE,
    SIGN,
    SLOT,
    TWIST,
    A,
    B,
)
from dynamics.kernels.base.run_totals import END_TIME, RESUMED, STEPS
from dynamics.kernels.base.step_info import NODE_SIDE, TIME
from dynamics.kernels.contacts.rows import contact_rate, is_dry_friction, normal_row
from dynamics.kernels.stepping.run import record_step
from dynamics.kernels.stepping.step import load_state, place, pointers, step

#: What `reach_of` finds of contacts: none can act, one can, or one is closed or a rate beyond its
#: limit.
FREE, NEAR, CLOSED = 0, 1, 2


@kernel
def reach_of(plan, constant, h, node, u, found, row):
    """How near contacts and limits are at a node, in any lane; u are the velocities before."""
    n, result = plan[BODIES], FREE
    for k in range(plan[CONTACTS]):
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        c = plan[CONTACT_CONSTANT_AT] + k * CONTACT_SIZE
        if is_dry_friction(plan, k):
            return NEAR
        distance, failed = normal_row(plan, constant, k, node, found, row, 0)
        if failed:
            return NEAR
        fall = h * constant[c + FALL]
        if constant[c + OF_RATE] != 0.0:
            left = contact_rate(plan, at, row, 0, u) - constant[c + SIGN] * constant[c + LIMIT]
            if some(left <= 0.0):
                return CLOSED
            if not every(left > fall):
                result = NEAR
            continue
        if some(distance <= 0.0):
            return CLOSED
        speed = 0.0
        for j in range(TWIST):
            if plan[at + A] < n:
                speed += abs(row[j] * u[TWIST * plan[at + A] + j])
            if plan[at + B] < n:
                speed += abs(row[TWIST + j] * u[TWIST * plan[at + B] + j])
        if not every(distance > h * (speed + fall)):
            result = NEAR
    return result


@kernel
def clear_forces(plan, c):
    """Forces of all contacts and limits <- 0."""
    for k in range(plan[CONTACTS]):
        at = plan[CONTACT_AT] + k * CONTACT_FIELDS
        slot, blocks = plan[at + SLOT], plan[at + BLOCKS]
        c[slot] = 0.0
        for i in range(blocks):
            c[slot + CONES + BLOCK * i] = 0.0
            c[slot + CONES + BLOCK * i + 1] = 0.0
        if plan[at + FACETS] > 0:
            for i in range(plan[at + FACETS] + 1):
                c[slot + CONES + BLOCK * blocks + i] = 0.0


@kernel
def simulate(
    # Tables:
    plan,
    free,
    constant,
    program,
    # In:
    h,
    settings,
    steps,
    every,
    controls,
    wrenches,
    # In and out:
    state,
    # Work:
    saved,
    work,
    contacts,
    solver,
    # Out:
    results,
):  # fmt: skip
    """Run ``steps`` more steps of eight runs, as `stepping.run`; how many were taken.

    Arrays of numbers hold eight in the place of each: a row of ``controls`` is that of a step. The
    plan ``free`` is that without contacts. ``saved`` gets the state and the info before the last
    step: that is where runs go on if the kernel ends as their lanes differ.
    """
    values, magnitude, factors, workspace, status, columns, schedule = solver
    linear = (
        as_lanes(values), as_lanes(magnitude), as_lanes(factors), as_lanes(workspace),
        as_lanes(status), columns, schedule,
    )  # fmt: skip
    record, info, totals = as_lanes(results[0]), as_lanes(results[1]), as_lanes(results[2])
    return run(
        plan, free, constant, program, h, settings, steps, every, as_lanes(controls),
        as_lanes(wrenches), as_lanes(state), as_lanes(saved), as_lanes(work), as_lanes(contacts),
        linear, record, info, totals,
    )  # fmt: skip


@kernel
def run(
    plan, free, constant, program, h, settings, steps, stride, controls, wrenches, state, saved,
    work, contacts, solver, record, info, totals,
):  # fmt: skip
    """`simulate` of arrays of lanes."""
    done, size = int(totals[STEPS]), state.size
    kept, kept_info, found = saved[:size], saved[size:], contacts[2 * TWIST :]
    one, at = place(plan, work, 0)
    two, _ = place(plan, work, at)
    nodes = pointers(one), pointers(two)
    motion = motion_of(plan, state)
    u, resumed = motion.u, int(totals[RESUMED]) != 0
    if not resumed:
        info[NODE_SIDE] = 0.0
    if plan[CONTACTS] > 0:
        if not resumed:
            load_state(plan, constant, state, nodes[0], nodes[1])
        side = int(info[NODE_SIDE])
        if reach_of(plan, constant, h, nodes[side], u, found, contacts) != FREE:
            return 0
        clear_forces(plan, motion.c)
    for k in range(done, done + steps):
        copy(state, kept)
        copy(info, kept_info)
        info[TIME] = totals[END_TIME]
        bad = step(
            free, constant, program, h, settings, controls[min(k, controls.shape[0] - 1)],
            wrenches[min(k, wrenches.shape[0] - 1)], state, work, solver, info, resumed, None,
        )  # fmt: skip
        if bad != 0:
            return k - done
        reach = FREE
        if plan[CONTACTS] > 0:
            node = nodes[int(info[NODE_SIDE])]
            reach = reach_of(plan, constant, h, node, u, found, contacts)
            if reach == CLOSED:
                copy(kept, state)
                copy(kept_info, info)
                return k - done
        resumed = True
        totals[RESUMED] = 1.0
        record_step(k, stride, h, info, state, totals, record)
        if reach == NEAR:
            return k + 1 - done
    return steps
