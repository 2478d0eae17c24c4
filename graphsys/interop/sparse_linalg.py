"""Direct solves with the names and arguments of `scipy.sparse.linalg`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from graphsys.factor import Factor
from graphsys.system import System

__all__ = ["FactorizedMatrix", "factorized", "splu", "spsolve"]

Array = NDArray[Any]

#: Names that scipy has for column orderings, and orderings here.
ORDERINGS = {
    None: "auto",
    "COLAMD": "auto",
    "MMD_AT_PLUS_A": "auto",
    "MMD_ATA": "auto",
    "NATURAL": "natural",
}


class FactorizedMatrix:
    """Factorization of a scipy sparse matrix, as `scipy.sparse.linalg.SuperLU`; made by `splu`.

    Parameters
    ----------
    A : scipy sparse matrix or array, shape (N, N)
    permc_spec : str, optional
        As for `splu`.

    Attributes
    ----------
    shape : tuple of int
        (N, N).
    dtype : numpy.dtype
    nnz : int
        Entries that are stored for the factors.
    system : System
        The matrix in blocks.
    factor : Factor
        Its factorization, with determinant, inertia, selected inverse and more.
    """

    def __init__(self, A: Any, permc_spec: str | None = None) -> None:
        if not issparse(A):
            A = _sparse(A)
        if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
            raise ValueError(f"the matrix must be square, its shape is {A.shape}")
        if permc_spec not in ORDERINGS:
            raise ValueError(f"permc_spec {permc_spec!r} is unknown; use {list(ORDERINGS)[1:]}")
        self.system = System.from_scipy(A)
        ordering: Any = ORDERINGS[permc_spec]
        if ordering == "natural":
            ordering = list(self.system.labels)
        self.factor: Factor = self.system.factorize(self.system.analyze(ordering))
        self.shape, self.dtype = self.system.shape, self.system.dtype

    @property
    def nnz(self) -> int:
        """Entries that are stored for the factors."""
        return int(self.factor.symbolic.arena_size)

    def solve(self, rhs: Any, trans: str = "N") -> Array:
        """Solve A x = rhs.

        Parameters
        ----------
        rhs : array_like, shape (N,) or (N, k)
        trans : {"N", "T", "H"}, optional
            Solve with A, its transpose, or its conjugate transpose.

        Returns
        -------
        ndarray, shape of rhs

        Raises
        ------
        ValueError
            If rhs has another shape or is not finite.
        """
        return np.asarray(self.factor.solve(np.asarray(rhs), trans))

    def refactorize(self, A: Any) -> None:
        """Factorize another matrix of the same pattern; scipy has no such method.

        Parameters
        ----------
        A : scipy sparse matrix or array, shape (N, N)
            With no entry outside the pattern of the first.

        Raises
        ------
        ValueError
            For another shape or pattern; the factors are kept.
        SingularPivotError
            If the matrix is singular.
        """
        self.system.set_from_scipy(A)
        self.factor.refactorize(self.system.values)


def splu(
    A: Any,
    permc_spec: str | None = None,
    diag_pivot_thresh: float | None = None,
    relax: int | None = None,
    panel_size: int | None = None,
    options: Any = None,
) -> FactorizedMatrix:
    """Factorize a sparse matrix, as `scipy.sparse.linalg.splu` does.

    Parameters
    ----------
    A : scipy sparse matrix or array, shape (N, N)
        Of any format; integers become float64.
    permc_spec : {"NATURAL", "COLAMD", "MMD_ATA", "MMD_AT_PLUS_A"}, optional
        "NATURAL" eliminates in the order of the rows, or in one with the same fill-in. All others
        choose the order by counted operations, of a symmetric pattern.
    diag_pivot_thresh, relax, panel_size, options
        For SuperLU; they have no effect here.

    Returns
    -------
    FactorizedMatrix
        With `solve`, `shape` and `nnz` as in scipy. There are no `L`, `U`, `perm_r` and `perm_c`:
        pivot blocks are stored as inverses.

    Raises
    ------
    SingularPivotError
        If the matrix is singular; scipy raises a RuntimeError.
    ValueError, TypeError
        If A is not square, finite and of numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csc_array
    >>> A = csc_array(np.array([[4.0, 1.0], [2.0, 3.0]]))
    >>> print(splu(A).solve(np.array([6.0, 8.0])))
    [1. 2.]
    """
    return FactorizedMatrix(A, permc_spec)


def factorized(A: Any) -> Callable[[Any], Array]:
    """Return a function that solves A x = b, as `scipy.sparse.linalg.factorized` does.

    Parameters
    ----------
    A : scipy sparse matrix or array, shape (N, N)

    Returns
    -------
    callable
        ``x = solve(b)``, b of shape (N,) or (N, k).

    Raises
    ------
    SingularPivotError, ValueError, TypeError
        As `splu`.
    """
    return splu(A).solve


def spsolve(A: Any, b: Any, permc_spec: str | None = None, use_umfpack: Any = None) -> Any:
    """Solve A x = b once, as `scipy.sparse.linalg.spsolve` does.

    Parameters
    ----------
    A : scipy sparse matrix or array, shape (N, N)
    b : array_like or scipy sparse matrix or array, shape (N,), (N, 1) or (N, k)
    permc_spec : str, optional
        As for `splu`.
    use_umfpack : bool, optional
        No effect here.

    Returns
    -------
    ndarray, shape (N,) or (N, k)
        A column b of shape (N, 1) gives shape (N,). A sparse b of several columns gives a sparse
        matrix in the format of A.

    Raises
    ------
    SingularPivotError
        If the matrix is singular; scipy warns and returns nan.
    ValueError, TypeError
        As `splu`, and for b of another length.
    """
    if not issparse(A):
        A = _sparse(A)
    sparse = issparse(b)
    right = b.toarray() if sparse else np.asarray(b)
    if right.ndim not in (1, 2) or right.shape[0] != A.shape[0]:
        raise ValueError(f"b has shape {right.shape}, the matrix has shape {A.shape}")
    if right.dtype.kind not in "biufc":
        raise TypeError(f"b is not an array of numbers but of type {right.dtype}")
    dtype = np.result_type(A.dtype, right.dtype, np.float32)
    if dtype == np.complex64:
        dtype = np.dtype(np.complex128)
    one = right.ndim == 1 or right.shape[1] == 1
    columns = right.ravel() if one else right
    x = splu(A.astype(dtype), permc_spec).solve(columns.astype(dtype))
    if not sparse or one:
        return x
    return type(A)(x) if A.format in ("csr", "csc") else _sparse(x).asformat(A.format)


def _sparse(A: Any) -> Any:
    """Sparse array of a dense one."""
    from scipy.sparse import csc_array

    return csc_array(np.atleast_2d(np.asarray(A)))
