"""Sparse LU factors of one matrix, with pivots that are chosen while it is eliminated."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.analysis.sparse_lu import ROOM_AT_FIRST, longer
from graphsys.kernels.base.address_table import new_frame
from graphsys.kernels.program.sparse_lu import PART_FIELDS
from graphsys.kernels.single.one_pass_lu import (
    BEFORE,
    DOUBTFUL,
    EXPENSIVE,
    GOOD,
    INFO,
    LINES,
    LOWER,
    NO_ROOM,
    PARTS,
    REFUSED,
    REST_NUMBERS,
    UPPER,
    WIDEST,
    WORK_ROWS,
    eliminate_parts,
    write_parts,
)
from graphsys.kernels.analysis.markowitz import LIMITS, STATE
from graphsys.numeric.sparse_lu import PartFactor, PartSolver

__all__ = ["EXPENSIVE", "REFUSED", "OnePassLU"]

Array = NDArray[Any]
Ints = NDArray[np.int64]

#: Lists of earlier eliminations, up to `MOST_KEPT` numbers in each: 24 MB. New memory would take as
#: long as small matrices.
_kept: list[tuple[Ints, Array]] = []
MOST_KEPT = 2**19
NO_NUMBERS, NO_INTEGERS = np.empty(0), np.empty(0, np.int64)


class OnePassLU(PartFactor):
    """LU factors of the diagonal blocks of a block triangular form, for one matrix.

    Pivots have the least Markowitz cost among entries of at least a tenth of their row. Factors are
    in double precision.

    Parameters
    ----------
    given : numpy.dtype
        Type of the matrix, and of solutions.
    rows : tuple of ndarray
        Its compressed rows: starts, columns and entries.
    tables : tuple of ndarray
        Integers of `write_parts`, in its order.
    rest_scale, factors : ndarray
    nnz, widest : int
    refines : bool
    """

    def __init__(
        self,
        given: Any,
        rows: tuple[Ints, Ints, Array],
        tables: tuple[Ints, ...],
        rest_scale: Array,
        factors: Array,
        nnz: int,
        widest: int,
        refines: bool,
    ) -> None:
        self.given, self.rows, self.tables, self.rest_scale = given, rows, tables, rest_scale
        self.factors, self.nnz, self.widest, self.refines = factors, nnz, widest, refines
        self.dtype = factors.dtype
        self._bind()

    def _bind(self) -> None:
        """Hand the arrays to the kernels."""
        start, index, values = self.rows
        none = 9 * (NO_INTEGERS,)
        frame = new_frame(
            start, index, *self.tables[:-1], *none, self.tables[-1], NO_NUMBERS, NO_NUMBERS,
            NO_NUMBERS, self.rest_scale, values, self.factors, NO_NUMBERS,
        )  # fmt: skip
        self._solver = PartSolver(frame, start.size - 1, self.widest, self.dtype)

    @classmethod
    def of(cls, A: Any) -> OnePassLU | int:
        """Factors of a matrix, or a status: `REFUSED`, or `EXPENSIVE` if these take long.

        Parameters
        ----------
        A : scipy sparse matrix or array, shape (N, N)
            With numbers; those that are no sound CSR or CSC matrix are refused.
        """
        if A.format not in ("csr", "csc") or A.dtype.char not in "fdFD" or not A.dtype.isnative:
            return REFUSED
        n, count = A.shape[0], A.indices.size
        dtype = np.dtype(np.complex128 if A.dtype.kind == "c" else np.float64)
        lines = A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data.astype(dtype)
        rows = np.empty(n + 1, np.int64), np.empty(count, np.int64), np.empty(count, dtype)
        order, scale, info = np.empty((2, n), np.int64), np.empty(4 * n), np.empty(INFO, np.int64)
        block = np.empty((n // 2 + 1, 2), np.int64)
        work = np.empty((LINES, n), np.int64), np.empty(WORK_ROWS * n + 2, np.int64)
        room, status = ROOM_AT_FIRST * count + 64, NO_ROOM
        limits, state = np.empty(LIMITS), np.zeros(STATE, np.int64)
        line = _lines_of(room, dtype)
        while status == NO_ROOM:
            status = eliminate_parts(
                *lines, A.format == "csc", *rows, order, block, scale, info,
                scale.view(np.int64), limits, state, *work, *line,
            )  # fmt: skip
            if status == NO_ROOM:
                line = longer(line[0]), longer(line[1])
        if status != GOOD:
            _keep(line)
            return int(status)
        lower, upper, before = int(info[LOWER]), int(info[UPPER]), int(info[BEFORE])
        sizes = (n, n, int(info[PARTS]) * PART_FIELDS, n + 1, before, before,
                 n + 1, lower, n + 1, upper, n)  # fmt: skip
        tables = tuple([np.empty(size, np.int64) for size in sizes])
        factors = np.empty(lower + upper + n + int(info[REST_NUMBERS]), dtype)
        rest_scale = np.empty(n)
        status = write_parts(
            *rows, order, block, scale, info, *work, *line, *tables[:-1], rest_scale, tables[-1],
            factors,
        )  # fmt: skip
        _keep(line)
        if status != GOOD:
            return int(status)
        nnz = factors.size + before
        return cls(
            A.dtype, rows, tables, rest_scale, factors, nnz, int(info[WIDEST]),
            bool(info[DOUBTFUL]),
        )  # fmt: skip

    @property
    def solver(self) -> PartSolver:
        """Kernels that solve."""
        return self._solver

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_solver": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()


def _lines_of(room: int, dtype: Any) -> tuple[Ints, Array]:
    """Two lists of indices and two of numbers, with at least so much room."""
    try:
        kept = _kept.pop()  # other threads make lists of their own
    except IndexError:
        kept = None
    if kept is not None and kept[0].shape[1] >= room and kept[1].dtype == dtype:
        return kept
    return np.empty((2, room), np.int64), np.empty((2, room), dtype)


def _keep(lines: tuple[Ints, Array]) -> None:
    """Lists for the next elimination, if they are not too long."""
    if lines[0].shape[1] <= MOST_KEPT and not _kept:
        _kept.append(lines)
