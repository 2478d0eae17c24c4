"""Solves for XLA by compiled code alone: the plan of each pattern, for `graphsys.interop.jax`.

A plan serves one matrix, or many of single rows, of one type whose pivots are good. All other
calls, and those of a second thread at the same time, go through Python.
"""

from __future__ import annotations

import time
import weakref
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graphsys.interop.pattern import Pattern
from graphsys.kernels.base.address_table import new_frame
from graphsys.kernels.base.layout import WIDEST
from graphsys.kernels.batch import entries_solve
from graphsys.kernels.single import keyed_solve
from graphsys.numeric import fast_calls
from graphsys.numeric.factorization import DOUBTFUL, Factorization
from graphsys.numeric.scalar_lanes import EntryLanes

__all__ = ["CODES", "Plans"]

Array = NDArray[Any]

#: Matrices in turn with doubtful pivots after which a plan is given up: such a call takes up to
#: twice the time.
MISSES = 4
#: XLA's codes of types.
CODES: dict[np.dtype[Any], int] = {
    np.dtype(np.float32): 11,
    np.dtype(np.float64): 12,
    np.dtype(np.complex64): 15,
    np.dtype(np.complex128): 18,
}
#: Seconds between two trials to put a plan into use or take it out.
PAUSE = 1e-4


def address_of(kernel: Any, dtype: np.dtype[Any]) -> int:
    """Address of a kernel of plans, `solve_entries` or `solve_entries_of_many`, for a type."""
    return int(kernel.address(f"i8,1Cw i8,1Cw {dtype.str[1:]},1Cw", "c"))


class Table(Protocol):
    """Places of plans in the memory of compiled code."""

    places: int

    def store(self, place: int, plan: int) -> bool:
        """Store the address of a plan, 0 for none; False while one is at work there."""


class Plans:
    """Plans of patterns: for one matrix, and for many, whose place is one further.

    Parameters
    ----------
    table : Table
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._arrays: dict[int, tuple[Array, ...]] = {}  # of the plans in use, by place
        self._room: dict[int, int] = {}  # right-hand sides
        self._done: set[int] = set()  # places that have or had a plan

    def look_at(self, number: int, pattern: Pattern, data: Array, columns: int) -> None:
        """Make a plan with factors of these entries, or give up the one that there is.

        It gets room for so many right-hand sides.
        """
        place = 2 * number
        if self._wanted(place, number, columns):
            found = pattern._plain_factors(data)
            if found is not None:
                self._make(place, pattern, columns, *_for_one(pattern, found, columns))

    def look_at_many(self, number: int, pattern: Pattern, data: Array, columns: int) -> None:
        """As `look_at` for many matrices, with entries of shape (count, nz)."""
        place = 2 * number + 1
        if self._wanted(place, number, columns):
            lanes = pattern._lanes(data)
            if lanes is not None and lanes.all_sure:
                self._make(place, pattern, columns, *_for_many(lanes, data.dtype, columns))

    def _wanted(self, place: int, number: int, columns: int) -> bool:
        """True if there is to be a plan; one that served too few calls is given up."""
        if place in self._arrays:
            if self._arrays[place][-1][keyed_solve.MISSES] >= MISSES:
                self.release(place)
                return False
            if columns <= self._room[place]:
                return False
            self.release(place)
            self._done.discard(place)
        known = number >= self._table.places or place in self._done
        return not known and hasattr(keyed_solve.solve_entries, "address")

    def _make(
        self,
        place: int,
        pattern: Pattern,
        columns: int,
        kernel: Any,
        dtype: np.dtype[Any],
        arrays: tuple[Array, ...],
        kept: tuple[Array, ...],
    ) -> None:
        """Put the plan of a kernel with some arrays, the last one its state, into use."""
        if place not in self._room:
            weakref.finalize(pattern, self.release, place).atexit = False
        self._done.add(place)
        self._room[place] = columns
        words: Any = new_frame(*arrays)
        function = address_of(kernel, dtype)
        plan = np.concatenate([[function, CODES[dtype], words.size], words])
        self._arrays[place] = (*kept, words, plan, *arrays)
        self._store(place, plan.ctypes.data)

    def release(self, place: int) -> None:
        """Take a plan out of use, and drop it."""
        if place in self._arrays:
            self._store(place, 0)
            del self._arrays[place]

    def _store(self, place: int, plan: int) -> None:
        """Store the address of a plan as soon as no call is at work there."""
        while not self._table.store(place, plan):
            time.sleep(PAUSE)


def _for_one(pattern: Pattern, found: Factorization, columns: int) -> tuple[Any, ...]:
    """Kernel, type, arrays and what these point to of a plan for one matrix."""
    dtype, info, program = found.dtype, found.info.copy(), found.program
    own = fast_calls.new_arrays(program, found.symbolic.arena_size, dtype, info)
    none = np.empty(0, dtype)
    frame: Any = new_frame(*own, np.empty(0, np.int64), none, none, np.empty(0))
    source = pattern._entry_of_place()
    entries = np.empty(source.size, dtype), np.empty(pattern.nz, dtype)
    size = pattern.n * columns if columns > 1 else 0
    several = (np.empty(length, dtype) for length in (size + int(program[WIDEST]), size, size))
    state = np.zeros(keyed_solve.STATE_SIZE, np.int64)
    return keyed_solve.solve_entries, dtype, (frame, source, *entries, *several, state), own


def _for_many(lanes: EntryLanes, dtype: np.dtype[Any], columns: int) -> tuple[Any, ...]:
    """Kernel, type, arrays and what these point to of a plan for many matrices."""
    plain, transposed = lanes.tables
    tables = plain.table, plain.place, transposed.table, transposed.place, plain.row
    work = plain.vectors_of(columns), *plain.new_arrays(dtype, columns), np.array([DOUBTFUL])
    state = np.zeros(keyed_solve.STATE_SIZE, np.int64)
    return entries_solve.solve_entries_of_many, dtype, (*tables, *work, state), ()
