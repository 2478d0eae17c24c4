"""Numeric factorization by several threads."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.kernels.base.layout import ARENA_SIZE, ARENA_TOTAL, is_nodal
from graphsys.kernels.single.fused_solve import TOLERANCE
from graphsys.kernels.single.parallel import STOP, WAITING, subtree_roots, take_part, task_costs
from graphsys.numeric.partial_update import Reach
from graphsys.symbolic import Symbolic

Array = NDArray[Any]
Ints = NDArray[np.int64]

#: Factorizations of fewer operations are done before a second thread has begun.
WORTH_IT = 2e7
#: Subtrees for each thread, about: more share the work more evenly, fewer keep it together.
SUBTREES = 8


@cache
def pool(threads: int) -> ThreadPoolExecutor:
    """Threads that stay: starting one takes longer than a small factorization."""
    return ThreadPoolExecutor(threads)


if hasattr(os, "register_at_fork"):  # a child has the pools of its parent, without their threads
    os.register_at_fork(after_in_child=pool.cache_clear)


class Crew:
    """Threads at work on the same arrays, which all have left when an error or Ctrl-C gets out."""

    def __init__(self) -> None:
        self._came: list[None] = []
        self._left: list[None] = []
        self._over = False

    def do(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Do a part of the work in a helper; nothing after `dismiss`."""
        self._came.append(None)
        try:
            return None if self._over else work(*arguments)
        finally:
            self._left.append(None)

    def dismiss(self) -> None:
        """Wait until all helpers have left, however often Ctrl-C is pressed meanwhile."""
        while True:
            try:
                self._over = True
                while len(self._came) > len(self._left):
                    time.sleep(1e-4)
                return
            except KeyboardInterrupt:  # the first one is on its way
                continue


def share(threads: int, total: int, work: Callable[[int, int], None]) -> None:
    """Call ``work(first, last)`` for parts of ``range(total)``, each in a thread of its own."""
    parts = min(threads, total)
    if parts <= 1:
        if total:
            work(0, total)
        return
    edges = [total * part // parts for part in range(parts + 1)]
    crew = Crew()
    try:
        for _ in pool(parts).map(partial(crew.do, work), edges[:-1], edges[1:]):
            pass
    except BaseException:
        crew.dismiss()
        raise


def as_threads(threads: Any) -> int:
    """`threads`, 1 or more; ValueError where it is not."""
    if isinstance(threads, bool) or threads < 1:
        raise ValueError(f"threads is {threads}, it must be 1 or more")
    return int(threads)


@dataclass(frozen=True, slots=True, eq=False)
class Tasks:
    """Tasks of a factorization by several threads; made once for a `Symbolic`.

    Attributes
    ----------
    reach : Reach
        Who updates whom.
    threads : int
    task_start : ndarray of int, shape (t + 1,)
        Task i is the supernodes ``task[task_start[i]:task_start[i + 1]]``, ascending.
    task : ndarray of int, shape (s,)
    ready : ndarray of int, shape (s + 1,)
        Number of the factorization that computed each supernode last; then that of the
        last factorization.
    """

    reach: Reach
    threads: int
    task_start: Ints
    task: Ints
    ready: Ints

    @classmethod
    def of(cls, reach: Reach, threads: int) -> Tasks:
        """Tasks: subtrees of the elimination tree, the largest first, and what is above them."""
        program, count = reach.symbolic.supernodal_program, reach.parent.size
        own, below = np.empty((2, count))
        root = np.empty(count, np.int64)
        task_costs(program, reach.super_of_row, own)
        subtree_roots(reach.parent, own, float(own.sum()) / (SUBTREES * threads), below, root)
        # Subtrees by falling cost, then what is above them, one by one.
        rank = np.where(root >= 0, -below[root], 1.0)
        key = np.where(root >= 0, root, np.arange(count))
        task = np.lexsort((np.arange(count), key, rank))
        first = np.ones(count, np.bool_)
        first[1:] = key[task[1:]] != key[task[:-1]]
        task_start = np.append(np.flatnonzero(first), count)
        return cls(reach, threads, task_start, task, np.zeros(count + 1, np.int64))

    def factorize(self, values: Array, magnitude: Array, arena: Array, info: Array) -> int:
        """Factorize all supernodes; arguments and result as of `Reach.refactorize`.

        `arena` has the room that `more_room` asks for.
        """
        self.ready[-1] += 1
        ticket = np.zeros(2, np.int64)

        def part(thread: int) -> int:
            return self._take_part(thread, ticket, values, info.item(TOLERANCE), magnitude, arena)

        crew = Crew()
        try:
            submit = pool(self.threads - 1).submit
            helpers = [submit(crew.do, part, i) for i in range(1, self.threads)]
            results = [part(0)]
            # A helper that has not begun has nothing left to do.
            results += [helper.result() for helper in helpers if not helper.cancel()]
        except BaseException:
            ticket[STOP] = 1
            crew.dismiss()
            raise
        if failed := [result for result in results if result]:
            return min(failed)
        self.reach.summarize(magnitude, info)
        return 0

    def _take_part(
        self,
        thread: int,
        ticket: Ints,
        values: Array,
        tolerance: float,
        magnitude: Array,
        arena: Array,
    ) -> int:
        """Tasks of one thread: 0, or 1 + the row of a singular pivot block."""
        reach, program = self.reach, self.reach.symbolic.supernodal_program
        tables = reach.load_start, reach.source_start, reach.source, reach.update_at
        panels, total = int(program[ARENA_SIZE]), int(program[ARENA_TOTAL])
        state, info = np.array([-1, 0, -1]), np.array([1.0, 0.0, 0.0])
        status = WAITING
        while status == WAITING:
            status = take_part(
                program, tables, (self.task_start, self.task),
                ticket, self.ready, self.ready.item(-1), values, tolerance,
                panels + thread * (total - panels), state, magnitude, arena, info,
            )  # fmt: skip
            if status == WAITING:
                time.sleep(0)
        return int(status)


def worth_sharing(symbolic: Symbolic, dtype: np.dtype[Any]) -> bool:
    """True if a factorization takes long enough for several threads, and is not nodal."""
    return symbolic.operations > WORTH_IT and not is_nodal(symbolic.program, dtype)


def more_room(symbolic: Symbolic, threads: int) -> int:
    """Numbers of the arena that the workspaces of more threads add."""
    program = symbolic.program
    room = int(program[ARENA_TOTAL]) - int(program[ARENA_SIZE])
    return (threads - 1) * room
