"""QTQP: a backend that factorizes the KKT matrices of its interior-point method."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.errors import MissingExtraError
from graphsys.factor import Factor
from graphsys.interop.ipopt import Pattern as Triangle
from graphsys.symbolic import Symbolic

__all__ = ["Choice", "linear_solver"]


def __dir__() -> list[str]:
    return list(__all__)


Ints = NDArray[np.int64]


class Choice:
    """A linear solver as QTQP takes it in place of a member of `qtqp.LinearSolver`.

    Attributes
    ----------
    name : str
        What QTQP prints.
    """

    name = "GRAPHSYS"

    def __init__(self) -> None:
        self._kept: tuple[Ints, Ints, Triangle, Symbolic] | None = None

    def value(self) -> Any:
        """Make a backend, which QTQP does once per problem.

        Returns
        -------
        qtqp.direct.LinearSolver
        """
        return _backend()(self)

    def analyzed(self, kkt: Any) -> tuple[Triangle, Symbolic]:
        """Pattern and symbolic factorization of a KKT matrix, those of the last one if they fit.

        Parameters
        ----------
        kkt : scipy.sparse.csc_matrix
            Upper triangle.

        Returns
        -------
        pattern : Triangle
        symbolic : Symbolic
        """
        kept = self._kept
        if kept is not None:
            start, rows, pattern, symbolic = kept
            if np.array_equal(start, kkt.indptr) and np.array_equal(rows, kkt.indices):
                return pattern, symbolic
        columns = np.repeat(np.arange(kkt.shape[1]), np.diff(kkt.indptr))
        pattern = Triangle(kkt.shape[0], kkt.indices.astype(np.int64), columns)
        pattern.system.values[...] = pattern.values(kkt.data)
        symbolic = pattern.system.analyze()
        self._kept = kkt.indptr.copy(), kkt.indices.copy(), pattern, symbolic
        return pattern, symbolic

    def __repr__(self) -> str:
        return "graphsys.qtqp.linear_solver()"


def linear_solver() -> Choice:
    """Linear solver for ``qtqp.QTQP(...).solve(linear_solver=...)``.

    Keep it for a sequence of problems with the same pattern: their KKT matrices are analyzed once.

    Returns
    -------
    Choice

    Raises
    ------
    MissingExtraError
        Without qtqp.

    Examples
    --------
    >>> import qtqp  # doctest: +SKIP
    >>> solution = qtqp.QTQP(a=a, b=b, c=c, z=z, p=p).solve(  # doctest: +SKIP
    ...     linear_solver=linear_solver()
    ... )
    """
    _backend()
    return Choice()


@cache
def _backend() -> Any:
    """Class of backends, of QTQP's base class."""
    try:
        from qtqp import direct
    except ImportError as error:
        if error.name not in (None, "qtqp"):
            raise
        raise MissingExtraError("graphsys.qtqp", "qtqp", "qtqp") from None

    class Backend(direct.LinearSolver):
        """KKT matrix [P + D1, A^T; A, -D2], of which only the diagonal changes.

        QTQP refines solutions with its own matrix, without the regularization of the diagonal, so
        that the factors refine none.
        """

        def __init__(self, choice: Choice) -> None:
            self._choice = choice
            self._factor: Factor | None = None

        def format(self) -> str:
            return "csc"

        def factorize(self) -> None:
            try:
                if self._factor is None:
                    self._pattern, symbolic = self._choice.analyzed(self._kkt)
                    values = self._pattern.values(self._kkt.data)
                    self._factor = Factor(symbolic, values, refine=False)
                else:
                    self._factor.refactorize(self._pattern.values(self._kkt.data))
            except OverflowError as error:  # QTQP expects a ValueError, which a singular pivot is
                raise ValueError(str(error)) from error

        def solve(self, rhs: Any) -> Any:
            assert self._factor is not None
            try:
                return self._factor.solve(rhs)
            except OverflowError as error:
                raise ValueError(str(error)) from error

        def free(self) -> None:
            self._factor = None

    return Backend
