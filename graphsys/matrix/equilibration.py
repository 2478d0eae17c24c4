"""Equilibration of a matrix: rows and columns scaled by powers of two, which rounds nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import lsqr

from graphsys.kernels.single.matrix import absolute_sums
from graphsys.matrix.from_scipy import coordinates
from graphsys.matrix.graph import BlockGraph

Array = NDArray[Any]
Ints = NDArray[np.int64]

#: Sweeps over rows and columns. Each halves the logarithm of what is left, so 12 bring any range of
#: double precision down to a factor of two.
SWEEPS = 12
#: Exponent of the least entry below which the sweeps start once more. Of 2,400 matrices of
#: condition below 1e8 whose rows and columns were scaled by random powers of two up to 2^+-300, all
#: are solved with -30; with -45 8 are refused, without a second start more than half.
SMALL = -10.0
#: Exponent below which entries are rounding errors, and equally small.
ROUNDING = -52.0
#: Exponent up to which sums of rows and columns may differ from 1 for a scaling to be kept.
FITS = 8.0
#: Iterations of Curtis and Reid's scaling; 10 are too few for chains scaled by 2^+-300, 20 do.
ITERATIONS = 30


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Powers of two that make the largest entry of every row and column of ``R A C`` about 1.

    Attributes
    ----------
    row, column : ndarray of int, shape (N,)
        Exponents of R and of C; the same array where A is symmetric.
    entry : ndarray of int, shape (graph.nnz,)
        Their sums, for each number in `System.values`.

    References
    ----------
    .. [1] D. Ruiz, A scaling algorithm to equilibrate both rows and columns norms in matrices,
       Rutherford Appleton Laboratory, RAL-TR-2001-034, 2001.
    .. [2] A. R. Curtis, J. K. Reid, On the automatic scaling of matrices for Gaussian elimination,
       J. Inst. Maths Applics 10, 118-124, 1972.
    """

    row: Ints
    column: Ints
    entry: Ints

    @classmethod
    def of(
        cls, graph: BlockGraph, values: Array, symmetric: bool, last: frozenset[int] = frozenset()
    ) -> Scaling:
        """Scaling of a matrix whose entries are finite; rows of zeros stay as they are.

        Parameters
        ----------
        graph : BlockGraph
        values : ndarray, shape (graph.nnz,)
        symmetric : bool
        last : frozenset of int, optional
            Nodes whose rows and columns are left out, and stay as they are.
        """
        return next(cls.candidates(graph, values, symmetric, last))

    @classmethod
    def candidates(
        cls, graph: BlockGraph, values: Array, symmetric: bool, last: frozenset[int] = frozenset()
    ) -> Iterator[Scaling]:
        """Two scalings, the better one first; arguments as for `of`.

        Ruiz's sweeps [1]_ end at a scaling that depends on where they start: at the matrix, or at
        Curtis and Reid's scaling [2]_, which undoes any scaling of rows and columns, but which
        rounding errors among the entries mislead. The second start is tried at once where the
        first leaves small entries. The start that leaves the larger product of entries wins, in
        which rounding errors count alike. Where both leave none, only a factorization tells.
        """
        rows, columns = coordinates(graph)
        size = _exponents(values)
        some = size > -np.inf
        if last:
            inside = ~np.isin(np.repeat(np.arange(graph.size.size), graph.size), list(last))
            some &= inside[rows] & inside[columns]
        i, j, size = rows[some], columns[some], size[some]

        def scaling(r: Array, c: Array) -> Scaling:
            row = np.rint(r).astype(np.int64)
            column = row if symmetric else np.rint(c).astype(np.int64)
            return cls(row, column, row[rows] + column[columns])

        def second() -> tuple[Array, Array, Array]:
            start = _least_squares(i, j, size, graph.rows, symmetric)
            return _swept(i, j, size, *start, symmetric)

        zero = np.zeros(graph.rows)
        r, c, left = _swept(i, j, size, zero, zero, symmetric)
        if left.min(initial=0.0) < SMALL:
            *other, after = second()
            if np.maximum(after, ROUNDING).sum() > np.maximum(left, ROUNDING).sum():
                (r, c), other = other, [r, c]
            yield scaling(r, c)
            yield scaling(*other)
        else:
            yield scaling(r, c)
            yield scaling(*second()[:2])

    def fits(self, graph: BlockGraph, values: Array) -> bool:
        """True if the largest entries of all rows and columns of another matrix are moderate too.

        Parameters
        ----------
        graph : BlockGraph
        values : ndarray, shape (graph.nnz,)
        """
        scaled, sums = self.matrix(values), np.empty(graph.rows, values.real.dtype)
        for transposed in (False, True):
            absolute_sums(*graph.tables(), scaled, transposed, sums)
            if not (np.abs(np.log2(sums, where=sums > 0.0, out=np.zeros(graph.rows))) < FITS).all():
                return False
        return True

    def matrix(self, values: Array) -> Array:
        """Values of R A C."""
        return scaled(values, self.entry)

    def logarithm(self) -> float:
        """Natural logarithm of the determinant of R C."""
        return float(self.row.sum() + self.column.sum()) * math.log(2.0)

    def right_hand_side(self, b: Array, transposed: bool) -> Array:
        """R b, or C b for the transpose, of columns one after another."""
        return self._along(b, self.column if transposed else self.row)

    def solution(self, x: Array, transposed: bool) -> Array:
        """C x, or R x for the transpose, of columns one after another."""
        return self._along(x, self.row if transposed else self.column)

    def _along(self, x: Array, exponent: Ints) -> Array:
        count = x.size // max(exponent.size, 1)
        return scaled(x, np.tile(exponent, count)) if count > 1 else scaled(x, exponent)


def scaled(x: Array, exponent: Ints) -> Array:
    """``x 2**exponent``, entry by entry, without overflow on the way."""
    with np.errstate(all="ignore"):
        if x.dtype.kind == "c":
            out = np.empty_like(x)
            out.real, out.imag = np.ldexp(x.real, exponent), np.ldexp(x.imag, exponent)
            return out
        found: Array = np.ldexp(x, exponent)
        return found


def _exponents(values: Array) -> NDArray[np.float64]:
    """Logarithm to base 2 of each magnitude; -inf for zeros."""
    parts = (values.real, values.imag) if values.dtype.kind == "c" else (values,)
    with np.errstate(divide="ignore"):
        logarithms = [np.log2(np.abs(part.astype(np.float64))) for part in parts]
    return logarithms[0] if len(parts) == 1 else np.maximum(*logarithms)


def _swept(
    i: Ints, j: Ints, size: Array, r: Array, c: Array, symmetric: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Ruiz's sweeps from r and c: both after them, and the exponents of all entries then."""
    for _ in range(SWEEPS):
        left = size + r[i] + c[j]
        of_rows, of_columns = _largest(left, i, r.size), _largest(left, j, c.size)
        if symmetric:
            of_rows = of_columns = np.maximum(of_rows, of_columns)
        if max(np.abs(of_rows).max(initial=0.0), np.abs(of_columns).max(initial=0.0)) <= 1.0:
            break
        r = r - of_rows / 2.0
        c = c - of_columns / 2.0
    return r, c, size + r[i] + c[j]


def _least_squares(
    i: Ints, j: Ints, size: Array, n: int, symmetric: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """r and c of least sum of (size + r_i + c_j)^2, nearly: the sweeps do the rest."""
    entries = np.arange(size.size)
    one = np.ones(size.size)
    of_rows = sp.csr_array((one, (entries, i)), shape=(size.size, n))
    of_columns = sp.csr_array((one, (entries, j)), shape=(size.size, n))
    both = of_rows + of_columns if symmetric else sp.hstack([of_rows, of_columns], format="csr")
    found: NDArray[np.float64] = lsqr(both, -size, iter_lim=ITERATIONS)[0]
    return (found, found) if symmetric else (found[:n], found[n:])


def _largest(size: Array, place: Ints, count: int) -> NDArray[np.float64]:
    """Largest number of each place; 0 where there is none."""
    found = np.full(count, -np.inf)
    np.maximum.at(found, place, size)
    return np.where(found > -np.inf, found, 0.0)
