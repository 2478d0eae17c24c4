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

#: Rows up to which the first matrix of a pattern gets dense factors: 256 take 0.4 ms, an analysis
#: 0.4 to 2 ms.
SMALL_ROWS = 256
#: Right-hand sides after which sparse factors repay their analysis: they take 3 to 10 us less each.
MOST_SOLVES = 200
FLOAT = np.dtype(np.float64)


class SmallFactor:
    """Dense LU factors of a sparse matrix of at most `SMALL_ROWS` rows.

    Parameters
    ----------
    A : scipy sparse matrix or array, shape (N, N)
        In CSR or CSC, whose arrays are copied.

    Attributes
    ----------
    form : str
    start, index, data : ndarray
        The matrix.
    """

    def __init__(self, A: Any) -> None:
        n = A.shape[0]
        self.form = A.format
        self.start, self.index, self.data = A.indptr.copy(), A.indices.copy(), A.data.copy()
        self._left = MOST_SOLVES
        self._tables = (
            self.start, self.index, self.data, self.form == "csc",
            np.empty(2 * n), np.empty(n * n), np.empty(n, np.int64),
        )  # fmt: skip

    @classmethod
    def of(cls, A: Any) -> SmallFactor | None:
        """Factors of a matrix; None if it is of another kind, or pivots need an analysis."""
        if A.format not in ("csr", "csc") or A.dtype != FLOAT or not 0 < A.shape[0] <= SMALL_ROWS:
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
        if b.dtype != FLOAT or b.ndim not in (1, 2) or b.shape[0] != n:
            return None
        self._left -= b.size // n
        if self._left < 0:
            return None
        if b.ndim == 1:
            x = np.empty(n)
            return x if self._solve(np.ascontiguousarray(b), x) == GOOD else None
        columns = np.empty((b.shape[1], n))
        for column, given in zip(columns, np.ascontiguousarray(b.T), strict=True):
            if self._solve(given, column) != GOOD:
                return None
        return columns.T

    def _solve(self, b: Array, x: Array) -> int:
        """Solve for one vector: a status."""
        return _call(
            solve_small, *self._tables, b, GOOD_ERROR * EPS[FLOAT], np.empty(4 * b.size), x
        )


#: Calls of kernels, by kernel and type of indices.
_CALLS: dict[tuple[Any, ...], Callable[..., int]] = {}


def _call(kernel: Any, *arguments: Any) -> int:
    """Status of a kernel, `MISFIT` for arrays that it does not take."""
    kind = kernel, arguments[0].dtype
    call = _CALLS.get(kind)
    if call is None:
        call = _CALLS[kind] = entry(kernel, MISFIT, *arguments)
    return call(*arguments)
