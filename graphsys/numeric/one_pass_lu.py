"""Sparse LU factors of one matrix, with pivots that are chosen while it is eliminated."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from graphsys.analysis.sparse_lu import ROOM_AT_FIRST, longer
from graphsys.kernels.analysis.markowitz import LIMITS, STATE
from graphsys.kernels.analysis.one_pass import (
    BEFORE,
    DOUBTFUL,
    EXPENSIVE,
    GOOD,
    INFO,
    LINES,
    LOWER,
    NO_ROOM,
    OUTSIDE,
    PARTS,
    REFUSED,
    REST_NUMBERS,
    UPPER,
    WIDEST,
    WORK_ROWS,
    eliminate_parts,
)
from graphsys.kernels.base.address_table import new_frame, pieces
from graphsys.kernels.program.sparse_lu import AFTER, FIRST, PART_FIELDS
from graphsys.kernels.single.one_pass_lu import write_parts
from graphsys.numeric.sparse_lu import PartFactor, PartSolver

__all__ = ["EXPENSIVE", "GOOD", "REFUSED", "OnePassLU"]

Array = NDArray[Any]
Ints = NDArray[np.int64]

#: Lists of earlier eliminations, up to `MOST_KEPT` numbers in each: 24 MB. New memory would take as
#: long as small matrices.
_kept: list[tuple[Ints, Array]] = []
MOST_KEPT = 2**19
NO_NUMBERS, NO_INTEGERS = pieces(np.empty(0), [0]), pieces(np.empty(0, np.int64), [0])


class OnePassLU(PartFactor):
    """LU factors of the diagonal blocks of a block triangular form, for one matrix.

    Pivots have the least Markowitz cost among entries of at least a tenth of their row. Factors are
    in double precision.

    Parameters
    ----------
    given, index : numpy.dtype
        Types of the matrix, and of solutions, and of its indices.
    rows : tuple of ndarray
        Its compressed rows: starts, columns and entries.
    tables : ndarray of int
        Those of `write_parts`.
    rest_scale, factors : ndarray
    info : list of int
        That of `eliminate_parts`.

    Attributes
    ----------
    nnz : int
        Entries that are stored for the factors.
    """

    def __init__(
        self,
        given: Any,
        index: Any,
        rows: tuple[Ints, Ints, Array],
        tables: Ints,
        rest_scale: Array,
        factors: Array,
        info: list[int],
    ) -> None:
        self.given, self.index, self.rows = given, index, rows
        self.tables, self.info = tables, info
        self.rest_scale, self.factors, self.dtype = rest_scale, factors, factors.dtype
        self.nnz, self.refines = factors.size + info[OUTSIDE], info[DOUBTFUL] != 0
        self._bind()

    def _bind(self) -> None:
        """Hand the arrays to the kernels."""
        start, index, values = self.rows
        *tables, names = pieces(self.tables, _sizes(start.size - 1, self.info))
        frame = new_frame(
            start, index, *tables, *9 * NO_INTEGERS, names, *3 * NO_NUMBERS, self.rest_scale,
            values, self.factors, *NO_NUMBERS,
        )  # fmt: skip
        self._solver = PartSolver(frame, start.size - 1, self.info[WIDEST], self.dtype)

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
        if n == 0:
            return REFUSED
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
        found = info.tolist()
        tables = np.empty(sum(_sizes(n, found)), np.int64)
        factors = np.empty(found[LOWER] + found[UPPER] + n + found[REST_NUMBERS], dtype)
        rest_scale = np.empty(n)
        status = write_parts(
            *rows, order, block, scale, info, *work, *line, tables, rest_scale, factors
        )
        _keep(line)
        if status != GOOD:
            return int(status)
        found[DOUBTFUL] = int(info[DOUBTFUL])
        return cls(A.dtype, A.indices.dtype, rows, tables, rest_scale, factors, found)

    @property
    def diagonal_blocks(self) -> int:
        """Blocks of the block triangular form."""
        n, parts = self.rows[0].size - 1, self.info[PARTS]
        part = self.tables[2 * n : 2 * n + PART_FIELDS * parts].reshape(-1, PART_FIELDS)
        return n - int((part[:, AFTER] - part[:, FIRST] - 1).sum())

    def matrix(self) -> Any:
        """The matrix, in compressed rows."""
        start, index = (array.astype(self.index) for array in self.rows[:2])
        n = start.size - 1
        return csr_array((self.rows[2].astype(self.given), index, start), shape=(n, n))

    def solve(self, b: Array, trans: str = "N") -> Array | None:
        """As `PartFactor.solve`; None also if x leaves the range of the matrix's type."""
        x = super().solve(b, trans)
        if x is None or self.given == self.dtype:
            return x
        with np.errstate(over="ignore"):
            x = x.astype(np.complex64 if x.dtype.kind == "c" else np.float32)
        return x if np.isfinite(x).all() else None

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


def _sizes(n: int, info: list[int]) -> list[int]:
    """Lengths of the tables of `write_parts`."""
    parts, before = PART_FIELDS * info[PARTS], info[BEFORE]
    return [n, n, parts, n + 1, before, before, n + 1, info[LOWER], n + 1, info[UPPER], n]
