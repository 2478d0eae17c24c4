"""Mixed precision: factors in single precision, solutions refined to double precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from graphsys.numeric.factorization import Factorization
from graphsys.numeric.residuals import Matrix
from graphsys.numeric.solver import Solver, SolveReport
from graphsys.symbolic import Symbolic

Array = NDArray[Any]
Ints = NDArray[np.int64]

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
#: Analyses of matrices with which single precision has failed once: they stay in double precision.
_FAILED: WeakSet[Symbolic] = WeakSet()


@dataclass(slots=True, eq=False)
class MixedSolver(Solver):
    """Solves with factors in single precision, refined with residuals in double precision."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of right-hand sides and solutions."""
        return DOUBLE

    def substitute(self, flat: Array, count: int, transposed: bool) -> Array:
        """Forward and back substitution of columns scaled to 1, which stay in range."""
        columns = flat.reshape(count, -1)
        exponent = np.frexp(np.abs(columns).max(axis=1, initial=0.0))[1][:, None]
        single = np.ldexp(columns, -exponent).astype(SINGLE)
        x = Solver.substitute(self, single.ravel(), count, transposed)
        scaled: Array = np.ldexp(x.astype(DOUBLE).reshape(count, -1), exponent)
        return scaled.ravel()

    def _refine(
        self, matrix: Matrix, flat: Array, x: Array, count: int, transposed: bool
    ) -> tuple[Array, SolveReport]:
        # Single precision is never enough: what the first step corrects is not measured.
        x = x + self.substitute(matrix.residual(flat, x, count, transposed), count, transposed)
        steps, error, strict = matrix.refine_with(self.substitute, flat, x, count, transposed)
        return x, SolveReport(steps + 1, error, {}, strict)


class Mixed(Factorization):
    """Factors in single precision of a matrix in double precision.

    They take half the memory traffic and twice the lanes of vector registers. Each step of
    refinement gains about 7 - log10(cond) digits. Where pivots are doubtful, numbers leave the
    range of single precision, or refinement does not reach double precision, the matrix is
    factorized in double precision, and so are all that follow on the same analysis.

    References
    ----------
    .. [1] A. Buttari, J. Dongarra, J. Kurzak, P. Luszczek, S. Tomov, Using mixed precision for
       sparse matrix computations to enhance the performance while achieving 64-bit accuracy, ACM
       Trans. Math. Softw. 34, 2008.
    """

    must_refine = True
    solves = MixedSolver

    def __init__(self, symbolic: Symbolic, dtype: np.dtype[Any], **options: Any) -> None:
        if dtype != DOUBLE:
            raise ValueError(f'precision="mixed" is one of float64 systems, not of {dtype}')
        super().__init__(symbolic, SINGLE, **options)

    def factorize(self, values: Array, changed: Ints | None = None) -> Factorization:
        """Factorize a matrix; in double precision where single precision fails.

        Parameters
        ----------
        values : ndarray, shape (graph.nnz,)
        changed : ndarray of int, optional
            As for `Factorization`.

        Returns
        -------
        Factorization
            This one, or one in double precision.

        Raises
        ------
        SingularPivotError, ValueError
            As for `Factorization`.
        """
        if self.symbolic not in _FAILED:
            with np.errstate(all="ignore"):
                single = values.astype(SINGLE)
            failed = self._eliminate(single) if changed is None else self._update(single, changed)
            if not failed and not self.doubtful:
                return self
        return self._in_double(values)

    def stable(
        self, values: Array, *choices: Any, **options: Any
    ) -> tuple[Factorization, float, float]:
        """As `Factorization`, in double precision."""
        found = self._in_double(values)
        if found.doubtful:
            return found.stable(values, *choices, **options)
        return found, found.eps, 1.0

    def exact(self, values: Array) -> Factorization:
        """Factors in double precision, right without refinement."""
        return self._double().factorize(values).checked(values)[0]

    def _in_double(self, values: Array) -> Factorization:
        """Factors in double precision of this matrix, and of all others on the same analysis."""
        _FAILED.add(self.symbolic)
        return self._double().factorize(values)

    def _double(self) -> Factorization:
        """An empty factorization in double precision."""
        return Factorization(
            self.symbolic, DOUBLE, self.last, self.threads, refine_below=self._refine_below
        )
