"""PyTensor: solves and log-determinants as operations with gradients, for models in PyMC."""

from __future__ import annotations

from functools import cache
from typing import Any

from graphsys.errors import MissingExtraError
from graphsys.interop.pattern import Pattern, check

__all__ = ["logdet", "solve"]


def __dir__() -> list[str]:
    return list(__all__)


def solve(pattern: Pattern, data: Any, b: Any, *, singular: str = "raise") -> Any:
    """Solve A x = b in PyTensor.

    It has derivatives of any order with respect to data and b. The adjoint solve reuses the factors
    of the solve.

    Parameters
    ----------
    pattern : Pattern
        Positions of the entries.
    data : TensorVariable or array_like, shape (nz,)
        Entries of A.
    b : TensorVariable or array_like, shape (n,) or (n, k)
    singular : {"raise", "nan"}, optional
        For a singular matrix at run time, raise an error, or return NaN, which samplers reject.

    Returns
    -------
    TensorVariable, shape of b
        NaN also if entries or right-hand sides are not finite.

    Raises
    ------
    MissingExtraError
        Without pytensor.
    TypeError, ValueError
        If data or b has the wrong number of axes or is complex, or `singular` is unknown.

    Examples
    --------
    >>> import graphsys as gs
    >>> pattern = gs.Pattern([0, 1], [0, 1])
    >>> x = gs.pytensor.solve(pattern, [2.0, 4.0], [2.0, 2.0])  # doctest: +SKIP
    >>> x.eval()  # doctest: +SKIP
    array([1. , 0.5])
    """
    check(pattern, singular)
    return _operations().Solve(pattern, False, singular)(data, b)


def logdet(pattern: Pattern, data: Any) -> Any:
    """Logarithm of the determinant of A in PyTensor, with first derivatives.

    Parameters
    ----------
    pattern : Pattern
    data : TensorVariable or array_like, shape (nz,)
        Entries of A.

    Returns
    -------
    TensorVariable, scalar
        NaN if the determinant is negative, -inf if A is singular. It is finite for an indefinite
        matrix with an even number of negative eigenvalues.

    Raises
    ------
    MissingExtraError
        Without pytensor.
    TypeError
        If data is not a vector of real numbers.

    Examples
    --------
    >>> import graphsys as gs
    >>> value = gs.pytensor.logdet(gs.Pattern([0], [0]), [2.0])  # doctest: +SKIP
    """
    check(pattern)
    return _operations().LogDet(pattern)(data)


@cache
def _operations() -> Any:
    """The module of the operations, which needs PyTensor."""
    try:
        from graphsys.interop import pytensor_operations
    except ImportError as error:
        if (error.name or "pytensor").partition(".")[0] != "pytensor":
            raise
        raise MissingExtraError("graphsys.pytensor", "pytensor", "pytensor") from None
    return pytensor_operations
