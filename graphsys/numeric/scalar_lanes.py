"""Tables and arrays of eight systems of single rows, and solves with entries in any order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphsys.kernels.base.layout import (
    ARENA_TOTAL,
    ROWS,
    SCALAR_FILL_AT,
    SCALAR_FILLS,
    SCALARS,
    SHORT,
)
from graphsys.kernels.base.widths import LANES
from graphsys.kernels.batch.scalar_ldu import STATE, solve_scalars_once
from graphsys.kernels.program.scalar_lanes import fill_scalar_table, scalar_lengths
from graphsys.matrix.vectors import aligned
from graphsys.numeric.factorization import DOUBTFUL

Array = NDArray[Any]
Ints = NDArray[np.int64]


def has_scalar_table(program: Ints) -> bool:
    """True if all nodes of a program are single rows, eliminated one by one."""
    return bool(program[SCALARS])


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

    def vectors_of(self, columns: int) -> Ints:
        """Vector of each number of a right-hand side (n, columns) in the workspace x."""
        rows = self.row.size
        return (self.row[:, None] + rows * np.arange(columns)).ravel()

    def new_arrays(self, dtype: np.dtype[Any], columns: int) -> ScalarArrays:
        """Work arrays for right-hand sides of so many columns."""
        rows = self.row.size
        sizes = 2 * rows, max(columns, 1) * rows, self.vectors, STATE
        return ScalarArrays(*(aligned(LANES * size, dtype) for size in sizes))

    @contextmanager
    def arrays(
        self, spare: list[ScalarArrays], dtype: np.dtype[Any], columns: int
    ) -> Iterator[ScalarArrays]:
        """Work arrays that no other thread uses, from a list of them or new ones."""
        try:
            own = spare.pop()
        except IndexError:
            own = None
        if own is None or own.x.size < LANES * columns * self.row.size:
            own = self.new_arrays(dtype, columns)
        yield own
        spare.append(own)


class EntryLanes:
    """Solves with many matrices whose entries are in an order of their own.

    Nothing is kept: the transposed solve of a gradient factorizes again, for less than comparing
    and copying the entries would take.

    Parameters
    ----------
    program : ndarray of int
        With a scalar table.
    places, mirrored : ndarray of int, shape (nz,)
        Place of each entry (i, j) in the values of the graph, and that of (j, i).
    nnz : int
        Length of these values.
    """

    def __init__(self, program: Ints, places: Ints, mirrored: Ints, nnz: int) -> None:
        self.program = program
        tables = ScalarTables.of(program, nnz)
        self.tables = tuple(tables.with_places(tables.place[where]) for where in (places, mirrored))
        self.short = bool(program[SHORT] > 0)  # of pivots: no solution is sure then
        self.all_sure = False  # of the last solutions
        self._spare: dict[np.dtype[Any], list[ScalarArrays]] = {}

    def solve(self, data: Array, b: Array, transposed: bool) -> tuple[Array, NDArray[np.bool_]]:
        """Solutions, and which of them need no check: good pivots, and finite.

        ``data`` is (count, nz), b (count, n) or (count, n, k).
        """
        tables, count, out = self.tables[transposed], len(data), np.empty_like(b, order="C")
        columns = b.shape[2] if b.ndim == 3 else 1
        ratio, growth = np.empty((2, count), data.dtype)
        with tables.arrays(self._spare.setdefault(data.dtype, []), data.dtype, columns) as own:
            solve_scalars_once(
                tables.table, tables.place, tables.vectors_of(columns), data.ravel(), count, 0,
                -(-count // LANES), self.short, b.ravel(), own.magnitude, own.x, own.v, own.state,
                ratio, growth, out.reshape(-1),
            )  # fmt: skip
        sure = (ratio >= DOUBTFUL) & (growth == 0.0)
        self.all_sure = bool(sure.all())
        return out, sure
