"""Solves for XLA by compiled code alone: the plan of each pattern, for `graphsys.interop.jax`.

A plan serves one vector and one matrix of one type, whose pivots are good. All other calls, and
those of a second thread at the same time, go through Python.
"""

from __future__ import annotations

import time
import weakref
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graphsys.interop.pattern import Pattern
from graphsys.kernels.base.address_table import new_frame
from graphsys.kernels.single import keyed_solve
from graphsys.numeric import fast_calls
from graphsys.numeric.factorization import Factorization

__all__ = ["Plans"]

Array = NDArray[Any]

#: Matrices in turn with doubtful pivots after which a plan is given up: such a call takes up to
#: twice the time.
MISSES = 4
#: Seconds between two trials to put a plan into use or take it out.
PAUSE = 1e-4


class Table(Protocol):
    """Places of plans in the memory of compiled code."""

    places: int

    def store(self, number: int, plan: int) -> bool:
        """Store the address of a plan, 0 for none; False while one is at work there."""


class Plans:
    """Plans of patterns, by number.

    Parameters
    ----------
    table : Table
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._arrays: dict[int, tuple[Array, ...]] = {}  # of the plans in use
        self._done: set[int] = set()  # numbers of patterns that have or had a plan

    def look_at(self, number: int, pattern: Pattern, data: Array) -> None:
        """Make a plan for a pattern with factors of these entries, or give up the one it has."""
        if number in self._arrays:
            if self._arrays[number][-1][keyed_solve.MISSES] >= MISSES:
                self.release(number)
        elif number not in self._done and number < self._table.places:
            found = pattern.plain_factors(data)
            if found is not None and hasattr(keyed_solve.solve_entries, "address"):
                self._done.add(number)
                self._make(number, pattern, found)

    def _make(self, number: int, pattern: Pattern, found: Factorization) -> None:
        """Make the plan of a pattern, with factors of its own, and put it into use."""
        dtype = found.dtype
        info = found.info.copy()
        size = found.symbolic.arena_size
        arrays = fast_calls.new_arrays(found.program, size, dtype, info)
        none = np.empty(0, dtype)
        frame: Any = new_frame(*arrays, np.empty(0, np.int64), none, none, np.empty(0))
        source = pattern.source()
        values, last = np.empty(source.size, dtype), np.empty(pattern.nz, dtype)
        state = np.zeros(keyed_solve.STATE_SIZE, np.int64)
        words: Any = new_frame(frame, source, values, last, state)
        kinds = f"i8,1Cw i8,1Cw {dtype.str[1:]},1Cw"
        function = keyed_solve.solve_entries.address(kinds, "c")
        plan = np.concatenate([[function, dtype.itemsize, words.size], words])
        self._arrays[number] = (*arrays, frame, source, values, last, plan, state)
        weakref.finalize(pattern, self.release, number).atexit = False
        self._store(number, plan.ctypes.data)

    def release(self, number: int) -> None:
        """Take a plan out of use, and drop it."""
        if number in self._arrays:
            self._store(number, 0)
            del self._arrays[number]

    def _store(self, number: int, plan: int) -> None:
        """Store the address of a plan as soon as no call is at work there."""
        while not self._table.store(number, plan):
            time.sleep(PAUSE)
