"""Tables and arrays of eight systems of single rows, and solves with entries in any order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphsys.kernels.base.layout import (
    ARENA_TOTAL,
    NODAL_AT,
    ROWS,
    SCALAR_FILL_AT,
    SCALAR_FILLS,
    WIDEST,
)
from graphsys.kernels.base.widths import LANES
from graphsys.kernels.batch.scalar_ldu import STATE
from graphsys.kernels.program.scalar_lanes import fill_scalar_table, scalar_lengths

Array = NDArray[Any]
Ints = NDArray[np.int64]


def has_scalar_table(program: Ints) -> bool:
    """True if all nodes of a program are single rows, eliminated one by one."""
    return bool(program[NODAL_AT] and program[WIDEST] == 1)


class ScalarArrays(NamedTuple):
    """Work arrays for eight systems.

    Attributes
    ----------
    magnitude, x, v, state : ndarray
        As in `graphsys.kernels.batch.scalar_ldu`.
    """

    magnitude: Array
    x: Array
    v: Array
    state: Array


class ScalarTables(NamedTuple):
    """Tables of `graphsys.kernels.batch.scalar_ldu`.

    Attributes
    ----------
    table : ndarray of int
    place : ndarray of int, shape (entries,)
        Vector of each entry of the matrix.
    row : ndarray of int, shape (n,)
        Elimination step of each row.
    vectors : int
        Vectors of the factors.
    """

    table: Ints
    place: Ints
    row: Ints
    vectors: int

    @classmethod
    def of(cls, program: Ints, entries: int) -> ScalarTables:
        """Tables of a program, for values in the layout of its graph."""
        words, vectors = scalar_lengths(program)
        table, used = np.empty(words, np.int64), np.empty(vectors, np.int64)
        moved = np.zeros(int(program[ARENA_TOTAL]), np.int64)
        place, row = np.empty(entries, np.int64), np.empty(int(program[ROWS]), np.int64)
        fill_scalar_table(program, vectors, moved, used, table, place, row)
        return cls(table, place, row, vectors).with_places(place)

    def with_places(self, place: Ints) -> ScalarTables:
        """Tables for other entries, each with its vector; none of two entries but the last one."""
        filled = np.zeros(self.vectors, np.bool_)
        filled[place] = filled[-1] = True
        fills = np.flatnonzero(~filled)
        table = np.concatenate([self.table[: self.table[SCALAR_FILL_AT]], fills])
        table[SCALAR_FILLS] = fills.size
        for array in (table, place):
            array.setflags(write=False)
        return ScalarTables(table, place, self.row, self.vectors)

    def new_arrays(self, dtype: np.dtype[Any]) -> ScalarArrays:
        """Work arrays."""
        sizes = 2 * self.row.size, self.row.size, self.vectors, STATE
        return ScalarArrays(*(aligned(LANES * size, dtype) for size in sizes))

    @contextmanager
    def arrays(self, spare: list[ScalarArrays], dtype: np.dtype[Any]) -> Iterator[ScalarArrays]:
        """Work arrays that no other thread uses, from a list of them or new ones."""
        try:
            own = spare.pop()
        except IndexError:
            own = self.new_arrays(dtype)
        yield own
        spare.append(own)


def first_columns(b: Array) -> Array:
    """Array (columns, count, rows) of right-hand sides (count, rows) or (count, rows, columns)."""
    return b[None] if b.ndim == 2 else np.ascontiguousarray(np.moveaxis(b, 2, 0))


def last_columns(x: Array, b: Array) -> Array:
    """Array of the shape of right-hand sides; the other way from `first_columns`."""
    return x[0] if b.ndim == 2 else np.ascontiguousarray(np.moveaxis(x, 0, 2))


def aligned(size: int, dtype: np.dtype[Any]) -> Array:
    """Array whose vectors of eight do not straddle cache lines."""
    room = np.empty(size + LANES, dtype)
    first = -(room.ctypes.data // room.itemsize) % LANES
    return room[first : first + size]
