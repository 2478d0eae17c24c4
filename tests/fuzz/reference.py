"""Reference: a matrix equilibrated by powers of two, its inverse, and solutions in extended
precision."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphsys.matrix.equilibration import matched

#: Steps of equilibration, each halves what the exponents miss (Ruiz 2001).
EQUILIBRATIONS = 12
#: Condition number from which another scaling is tried.
DOUBTFUL = 1e4
#: How much larger the condition number in another scaling may be.
ANOTHER = 100.0
#: Steps of refinement with residuals in extended precision; each gains 16 - log10(cond) digits.
REFINEMENTS = 8


def scaling(matrix: NDArray, start: str) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Exponents r, c for which the largest entries of 2^r A 2^c are near 1 in rows and columns.

    Sweeps [1]_ begin at "zero", at "least squares" of the exponents [2]_, or at the duals of the
    "matching" with the largest product [3]_, None where no matching is perfect: the condition
    numbers differ by many powers of ten.

    References
    ----------
    .. [1] D. Ruiz, A scaling algorithm to equilibrate both rows and columns norms in matrices,
       RAL-TR-2001-034, 2001.
    .. [2] A. R. Curtis, J. K. Reid, On the automatic scaling of matrices for Gaussian elimination,
       J. Inst. Maths Applics 10, 118-124, 1972.
    .. [3] I. S. Duff, J. Koster, On algorithms for permuting large entries to the diagonal of a
       sparse matrix, SIAM J. Matrix Anal. Appl. 22, 973-996, 2001.
    """
    n = len(matrix)
    with np.errstate(divide="ignore"):
        size = np.log2(np.abs(matrix)).astype(float)
    symmetric = np.array_equal(matrix, matrix.T)
    if start == "zero":
        return _swept(size, np.zeros(n), np.zeros(n), symmetric)
    some = np.isfinite(size)
    if start == "matching":
        duals = matched(*np.nonzero(some), size[some], n)
        return None if duals is None else _swept(size, *duals, symmetric)
    normal = np.block([[np.diag(some.sum(axis=1)), some], [some.T, np.diag(some.sum(axis=0))]])
    sums = np.where(some, size, 0.0)
    right = -np.concatenate([sums.sum(axis=1), sums.sum(axis=0)])
    found = np.linalg.lstsq(normal.astype(float), right, rcond=None)[0]
    return _swept(size, *np.split(found, 2), symmetric)


def _swept(size, r, c, symmetric):
    size = size + r[:, None] + c
    for _ in range(EQUILIBRATIONS if len(r) else 0):
        rows, columns = size.max(axis=1), size.max(axis=0)
        rows[np.isinf(rows)] = columns[np.isinf(columns)] = 0.0
        r = r - rows / 2
        c = c - columns / 2
        size -= rows[:, None] / 2 + columns / 2
    if symmetric:  # a congruence, whatever rounding did to r and c
        r = c = (r + c) / 2
    return np.rint(r).astype(int), np.rint(c).astype(int)


class Reference:
    """What a matrix's solutions are judged by.

    Parameters
    ----------
    matrix : ndarray, shape (N, N)

    Attributes
    ----------
    row, column : ndarray of int, shape (N,)
        Exponents of the equilibration.
    scaled : ndarray of longdouble or clongdouble, shape (N, N)
        Equilibrated matrix.
    inverse : ndarray of float64 or complex128, shape (N, N), or None
        Its inverse; None where LAPACK finds it singular.
    norm, condition : float
        In the maximum norm, of the equilibrated matrix; infinite where it is singular.
    """

    untransposed: Reference | None = None

    def __init__(self, matrix: NDArray) -> None:
        self._use(matrix, *scaling(matrix, "zero"))
        if self.condition > DOUBTFUL:
            other = object.__new__(Reference)
            other._use(matrix, *scaling(matrix, "least squares"))
            if other.condition < self.condition:
                self.__dict__ = other.__dict__

    def _use(self, matrix: NDArray, row: NDArray[np.int64], column: NDArray[np.int64]) -> None:
        self.matrix, self.row, self.column, self._solved = matrix, row, column, {}
        extended = np.clongdouble if matrix.dtype.kind == "c" else np.longdouble
        self.scaled = scale(matrix.astype(extended), self.row[:, None] + self.column)
        plain = self.scaled.astype(complex if matrix.dtype.kind == "c" else float)
        self.plain = plain
        self.norm = _norm(plain)
        self.inverse = None
        self.condition = np.inf
        with np.errstate(all="ignore"):
            try:
                inverse = np.linalg.inv(plain)
            except np.linalg.LinAlgError:
                return
            condition = self.norm * _norm(inverse) if len(matrix) else 1.0
        if np.isfinite(condition):
            self.inverse, self.condition = inverse, float(condition)

    @cached_property
    def scalings(self) -> tuple[Reference, ...]:
        """This one, and those of other starts whose condition number is not much larger.

        Parts of a matrix that hardly touch may be scaled against each other in many ways, and what
        is stable in one is not in another: a solution is right that is stable in one of them.
        """
        if self.untransposed is not None:  # factors of one scaling solve with both
            others = self.untransposed.scalings[1:]
            return (self, *(other._transposed() for other in others))
        found = [self]
        for start in ("zero", "least squares", "matching"):
            exponents = scaling(self.matrix, start)
            if exponents is not None:
                other = object.__new__(Reference)
                other._use(self.matrix, *exponents)
                found += [other] if other.condition <= ANOTHER * self.condition else []
        return tuple(found)

    @cached_property
    def transposed(self) -> Reference:
        """Reference of the transpose, in the same scalings."""
        other = self._transposed()
        other.untransposed = self
        return other

    def _transposed(self) -> Reference:
        other = object.__new__(Reference)
        other.matrix, other.plain, other.scaled = self.matrix.T, self.plain.T, self.scaled.T
        other.row, other.column = self.column, self.row
        other.inverse = None if self.inverse is None else self.inverse.T
        other.norm = _norm(other.plain)
        other.condition, other._solved = np.inf, {}
        if other.inverse is not None:
            other.condition = other.norm * _norm(other.inverse) if len(self.matrix) else 1.0
        return other

    def solution(self, b: NDArray) -> NDArray:
        """Equilibrated solution 2^-c x of A x = b, in extended precision; computed once for a b."""
        key = b.tobytes(), b.shape
        if key not in self._solved:
            self._solved[key] = self._refined(b)
        return self._solved[key]

    def _refined(self, b: NDArray) -> NDArray:
        right = scale(b.astype(np.clongdouble if b.dtype.kind == "c" else np.longdouble), self.row)
        x = np.zeros_like(right, np.result_type(right, self.scaled))
        for _ in range(REFINEMENTS):
            residual = right - self.scaled @ x
            size = np.abs(residual).max(initial=0.0)
            if size == 0.0:
                break
            kind = complex if residual.dtype.kind == "c" else float
            change = self.inverse @ (residual / size).astype(kind) * size
            x = x + change
            if np.abs(change).max(initial=0.0) <= 1e-18 * np.abs(x).max(initial=0.0):
                break
        return x


def scale(array: NDArray, exponent: NDArray) -> NDArray:
    """2^exponent times an array of extended precision; exponents of rows where it has more axes."""
    while exponent.ndim < array.ndim:
        exponent = exponent[:, None]
    return array * np.ldexp(np.longdouble(1.0), exponent)


def _norm(matrix: NDArray) -> float:
    return float(np.abs(matrix).sum(axis=1).max(initial=0.0))
