"""Numeric factorization by several threads: each takes supernodes and pulls their updates.

A task is a few supernodes, ascending: a whole subtree of the elimination tree, or one supernode
above these subtrees. Threads take the tasks in their order; what a supernode needs is in the same
task or in one that was taken before, so that the first of all unfinished tasks can always proceed,
however few threads there are. A supernode's panel is written by one thread alone, in the same order
as by `partial_update`: the factors are the same, whatever the threads do.
"""

from graphsys.kernels.base.atomic import publish, read, take_next
from graphsys.kernels.base.jit import kernel
from graphsys.kernels.base.layout import STARTS_AT, SUPERNODES, TARGET_FIELDS, targets_of
from graphsys.kernels.single.ldu import eliminate
from graphsys.kernels.single.partial_update import load_panel, pull

#: A thread that still waits after so many looks leaves the kernel, to let others run.
LOOKS = 2000
#: What threads share: the next task, and whether to stop.
NEXT, STOP = range(2)
#: Fields of a thread's state: its task, the place in it, and the source it comes to.
TASK, PLACE, SOURCE = range(3)
#: Statuses besides 1 + the row of a singular pivot block.
DONE, WAITING = 0, -1


@kernel
def take_part(
    # Tables:
    program,
    reach,
    tasks,
    # Shared:
    ticket,
    ready,
    # In:
    epoch,
    values,
    tolerance,
    work_at,
    # Work:
    state,
    magnitude,
    # Out:
    arena,
    info,
):
    """Take tasks until there is none; a status. `WAITING` asks for another call, ``state`` kept.

    ``reach`` has the loads of each supernode, its sources and their updates; ``tasks`` where each
    task begins, and its supernodes.

    ``ready[s]`` is ``epoch`` once supernode s is factorized, ``ticket[NEXT]`` the next task,
    ``ticket[STOP]`` not 0 where a thread has failed. A thread starts with ``state[TASK] = -1`` and
    ``info`` as `ldu.eliminate` wants it; it works in ``arena[work_at:]``.
    """
    load_start, source_start, source, update_at = reach
    task_start, task = tasks
    count = task_start.size - 1
    while True:
        if state[TASK] < 0:
            state[TASK] = take_next(ticket, NEXT)
            if state[TASK] >= count or read(ticket, STOP) != 0:
                return DONE
            state[PLACE], state[SOURCE] = task_start[state[TASK]], -1
        for place in range(state[PLACE], task_start[state[TASK] + 1]):
            t = task[place]
            state[PLACE] = place
            if state[SOURCE] < 0:
                load_panel(program, t, load_start, values, magnitude, arena)
                state[SOURCE] = source_start[t]
            for k in range(state[SOURCE], source_start[t + 1]):
                looks = 0
                while read(ready, source[k]) != epoch:
                    looks += 1
                    if read(ticket, STOP) != 0:
                        return DONE
                    if looks > LOOKS:
                        state[SOURCE] = k
                        return WAITING
                pull(program, source[k], update_at[k], work_at, magnitude, arena)
            state[SOURCE] = -1
            failed = eliminate(
                program, t, 1, False, work_at, tolerance, magnitude, arena, info
            )  # fmt: skip
            if failed != 0:
                publish(ticket, STOP, 1)
                return failed
            publish(ready, t, epoch)
        state[TASK] = -1


@kernel
def task_costs(program, super_of_row, own):
    """Own[s] <- operations that computing supernode s takes, its updates included."""
    own[:] = 0.0
    for s in range(program[SUPERNODES]):
        at = program[program[STARTS_AT] + s]
        p, q = float(program[at]), float(program[at + 1])
        own[s] += 2.0 * p * p * (p + 2.0 * q)
        targets, at = targets_of(program, s)
        for _ in range(targets):
            columns, runs = program[at + 5], program[at + 6]
            t = super_of_row[program[at + 4]]
            at += TARGET_FIELDS
            inside = outside = 0.0
            for r in range(runs):
                rows = float(program[at + 3 * r + 1])
                if r < columns:
                    inside += rows
                else:
                    outside += rows
            own[t] += 2.0 * p * inside * (inside + 2.0 * outside)
            at += 3 * runs


@kernel
def subtree_roots(parent, own, most, below, root):
    """Root[s] <- root of the largest subtree around s that takes at most ``most``; -1 above them.

    ``below`` gets the operations of the subtree under each supernode.
    """
    for s in range(own.size):
        below[s] = own[s]
    for s in range(own.size):
        if parent[s] >= 0:
            below[parent[s]] += below[s]
    for s in range(own.size - 1, -1, -1):
        above = parent[s]
        if below[s] > most:
            root[s] = -1
        elif above < 0 or root[above] < 0:
            root[s] = s
        else:
            root[s] = root[above]
