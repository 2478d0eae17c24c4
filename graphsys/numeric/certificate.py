"""Certificate of a solution: its backward error, a condition estimate and a forward bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.numeric.residuals import EPS, Matrix

Array = NDArray[Any]

#: Most steps of the estimate of a norm, of two solves each; two are enough for most matrices.
STEPS = 5


@dataclass(frozen=True, slots=True)
class Certificate:
    """How accurate a solution is: of several right-hand sides the worst.

    Attributes
    ----------
    backward_error : float
        Componentwise, ``max_i |b - A x|_i / (|A| |x| + |b|)_i``: x solves a system exactly whose
        entries differ from A and b by no more than this, relative to their size.
    condition : float
        Estimate of ``max |A^-1| (|A| |x| + |b|) / max |x|``: by how much such changes of the
        entries, relative to their size, change x, relative to its largest entry. The estimate is a
        lower bound, mostly right and seldom too small by more than 3.
    forward_error : float
        Estimated bound of ``max |x - x_exact| / max |x_exact|`` for the matrix as it is stored:
        ``condition`` times the backward error and the rounding of the residual.
    """

    backward_error: float
    condition: float
    forward_error: float

    @classmethod
    def worst(cls, found: list[Certificate]) -> Certificate:
        """The largest numbers of several; of none, those of an exact solution.

        Parameters
        ----------
        found : list of Certificate

        Returns
        -------
        Certificate
        """
        every = zip(*((c.backward_error, c.condition, c.forward_error) for c in found), strict=True)
        return cls(*map(max, every)) if found else cls(0.0, 1.0, 0.0)


def certificate(
    matrix: Matrix,
    solve: Callable[[Array, bool], Array] | None,
    b: Array,
    x: Array,
    transposed: bool,
) -> Certificate:
    """Certificate of one solution.

    The norm of ``diag(s) A^-T``, s = |A| |x| + |b|, is estimated as in LAPACK's ``gerfs`` (N. J.
    Higham, FORTRAN codes for estimating the one-norm of a real or complex matrix, ACM TOMS 14,
    1988).

    Parameters
    ----------
    matrix : Matrix
    solve : callable or None
        ``solve(b, transposed)`` for one right-hand side, shape (N,); None for a singular matrix,
        whose solutions have no bound.
    b, x : ndarray, shape (N,)
        Right-hand side and solution.
    transposed : bool
        Whether x solves A^T x = b.

    Returns
    -------
    Certificate
    """
    eps = EPS[x.dtype]
    with np.errstate(all="ignore"):
        r = np.abs(matrix.residual(b, x, 1, transposed))
        size = matrix.sizes(x, 1, transposed) + np.abs(b)
        largest = float(np.abs(x).max(initial=0.0))
        error = float(np.max(r / size, initial=0.0, where=r > 0.0))
        if solve is None:
            return Certificate(error, np.inf, np.inf)
        if largest == 0.0:
            return Certificate(error, 1.0, 0.0 if error == 0.0 else np.inf)
        condition = _norm_estimate(solve, size / largest, transposed, x.dtype)
        forward = condition * (error + eps * (matrix.graph.most_entries() + 1))
    return Certificate(error, condition, forward if forward == forward else np.inf)


def _norm_estimate(
    solve: Callable[[Array, bool], Array], size: Array, transposed: bool, dtype: np.dtype[Any]
) -> float:
    """Lower bound, mostly close, of the largest entry of |A^-1| s; inf where a solve overflows."""
    rows = size.size

    def step(v: Array) -> tuple[float, Array]:
        """Norm of diag(s) A^-T v, and its gradient in v."""
        y = size * solve(v, not transposed)
        norm = float(np.abs(y).sum())
        if not np.isfinite(norm):
            raise OverflowError
        signs = np.where(y == 0.0, 1.0, y / np.abs(y))
        return norm, solve(size * signs.conj(), transposed)

    alternating = (1.0 + np.arange(rows) / max(rows - 1, 1)) * (-1.0) ** np.arange(rows)
    try:
        best, gradient = step(np.full(rows, 1.0 / rows, dtype))
        for _ in range(STEPS - 1):
            unit = np.zeros(rows, dtype)
            unit[np.argmax(np.abs(gradient))] = 1.0
            norm, gradient = step(unit)
            if norm <= best:
                break
            best = norm
        y = size * solve(alternating.astype(dtype), not transposed)
    except OverflowError:
        return np.inf
    other = 2.0 * float(np.abs(y).sum()) / (3.0 * rows)
    return max(best, other) if np.isfinite(other) else np.inf
