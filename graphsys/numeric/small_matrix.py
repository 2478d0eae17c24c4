"""Dense LU factors of a small sparse matrix, which need no analysis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from graphsys.kernels.single.fused_solve import entry
from graphsys.kernels.single.small_matrix import GOOD, MISFIT, factorize_small, solve_small
from graphsys.numeric.residuals import EPS
from graphsys.numeric.sparse_lu import GOOD as GOOD_ERROR

Array = NDArray[Any]

#: Rows up to which the first matrix of a pattern gets dense factors: 64 take 20 us, sparse ones 30.
#: A complex row counts as two.
SMALL_ROWS = 64
#: Right-hand sides after which sparse factors are made, of which each takes 1 us less.
MOST_SOLVES = 200
FLOAT = np.dtype(np.float64)


class SmallFactor:
    """Dense LU factors of a sparse matrix of at most `SMALL_ROWS` rows, in double precision.

    Those of a complex matrix are of [Re A, -Im A; Im A, Re A].

    Parameters
    ----------
    A : scipy sparse matrix or array, shape (N, N)
        In CSR or CSC, whose arrays are copied.

    Attributes
    ----------
    form : str
    dtype : numpy.dtype
    start, index, data : ndarray
        The matrix.
    """

    def __init__(self, A: Any) -> None:
        self.form, self.dtype = A.format, A.dtype
        self.start, self.index, self.data = A.indptr.copy(), A.indices.copy(), A.data.copy()
        self._left = MOST_SOLVES
        tables = self.start, self.index, self.data
        if self.dtype.kind == "c":
            tables = _real(*tables, self.form == "csc")
        elif self.dtype != FLOAT:
            tables = self.start, self.index, self.data.astype(FLOAT)
        n = tables[0].size - 1
        self._tables = (
            *tables, self.form == "csc", np.empty(2 * n), np.empty(n * n), np.empty(n, np.int64)
        )  # fmt: skip

    @classmethod
    def of(cls, A: Any) -> SmallFactor | None:
        """Factors of a matrix; None if it is of another kind, or pivots need an analysis."""
        if A.format not in ("csr", "csc") or A.dtype.char not in "fdFD" or not A.dtype.isnative:
            return None
        n, is_complex = A.shape[0], A.dtype.kind == "c"
        if not 0 < n << is_complex <= SMALL_ROWS or (is_complex and not _is_sound(A)):
            return None
        factor = cls(A)
        return factor if _call(factorize_small, *factor._tables) == GOOD else None

    def matrix(self) -> Any:
        """The matrix, in a scipy sparse array that shares its numbers."""
        n = self.start.size - 1
        kind = csc_array if self.form == "csc" else csr_array
        return kind((self.data, self.index, self.start), shape=(n, n))

    def solve(self, b: Array) -> Array | None:
        """Solution of A x = b; None if b is not of this type or shape, or x is not good.

        None also after `MOST_SOLVES` right-hand sides, which are worth an analysis.

        Parameters
        ----------
        b : ndarray, shape (N,) or (N, k)

        Returns
        -------
        ndarray, shape of b, or None
        """
        n = self.start.size - 1
        if b.dtype.kind not in ("iufc" if self.dtype.kind == "c" else "iuf"):
            return None
        if b.ndim not in (1, 2) or b.shape[0] != n:
            return None
        self._left -= b.size // n
        if self._left < 0:
            return None
        if b.ndim == 1 and self.dtype == FLOAT:
            x = np.empty(n)
            return x if self._solve(np.ascontiguousarray(b, FLOAT), x) == GOOD else None
        given = self._parts(b.T.reshape(-1, n))
        found = np.empty(given.shape)
        for row, column in zip(given, found, strict=True):
            if self._solve(row, column) != GOOD:
                return None
        if self.dtype.kind == "c":
            found = found[:, :n] + 1j * found[:, n:]
        with np.errstate(over="ignore"):
            found = found.astype(self.dtype, copy=False)
        if self.dtype.char in "fF" and not np.isfinite(found).all():
            return None
        return found[0] if b.ndim == 1 else found.T

    def _parts(self, rows: Array) -> Array:
        """Right-hand sides of the real matrix, one in each row."""
        if self.dtype.kind == "c":
            rows = np.concatenate([rows.real, rows.imag], axis=1)
        return np.ascontiguousarray(rows, FLOAT)

    def _solve(self, b: Array, x: Array) -> int:
        """Solve the real matrix for one vector: a status."""
        return _call(
            solve_small, *self._tables, b, GOOD_ERROR * EPS[FLOAT], np.empty(4 * b.size), x
        )


def _is_sound(A: Any) -> bool:
    """True if the tables of a compressed matrix fit together."""
    n, start, index = A.shape[0], A.indptr, A.indices
    if start.shape != (n + 1,) or start[0] != 0 or start[n] != index.size:
        return False
    if index.size != A.data.size or (start[1:] < start[:-1]).any():
        return False
    return bool(index.size == 0 or (index.min() >= 0 and index.max() < n))


def _real(start: Array, index: Array, data: Array, by_columns: bool) -> tuple[Array, Array, Array]:
    """Compressed lines of [Re A, -Im A; Im A, Re A], of those of A."""
    n, count = start.size - 1, np.diff(start)
    first = np.arange(index.size) + np.repeat(start[:-1], count)  # places of twice as long lines
    second = first + np.repeat(count, count)
    doubled = np.empty(2 * index.size, index.dtype)
    doubled[first], doubled[second] = index, index + n
    numbers = np.empty((2, 2 * index.size))
    across = data.imag if by_columns else -data.imag
    numbers[0, first], numbers[0, second] = data.real, across
    numbers[1, first], numbers[1, second] = -across, data.real
    starts = np.concatenate([2 * start[:-1], 2 * (start[-1] + start)]).astype(start.dtype)
    return starts, np.concatenate([doubled, doubled]), numbers.ravel()


#: Calls of kernels, by kernel and type of indices.
_CALLS: dict[tuple[Any, ...], Callable[..., int]] = {}


def _call(kernel: Any, *arguments: Any) -> int:
    """Status of a kernel, `MISFIT` for arrays that it does not take."""
    kind = kernel, arguments[0].dtype
    call = _CALLS.get(kind)
    if call is None:
        call = _CALLS[kind] = entry(kernel, MISFIT, *arguments)
    return call(*arguments)
