"""Equilibration of a matrix: rows and columns scaled by powers of two, which rounds nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsys.kernels.analysis.equilibration import SWEEPS, balance, sweep
from graphsys.kernels.analysis.product_matching import WORK_ROWS, match_products
from graphsys.kernels.single.matrix import absolute_sums
from graphsys.matrix.from_scipy import coordinates
from graphsys.matrix.graph import BlockGraph

Array = NDArray[Any]
Ints = NDArray[np.int64]

#: Iterations of Curtis and Reid's scaling; 10 are too few for chains scaled by 2^+-300, 20 do.
ITERATIONS = 30
#: Exponent up to which sums of rows and columns may differ from 1 for a scaling to be kept.
FITS = 8.0
#: Exponent of the largest scaled number, relative to that of its type, where smaller ones would be
#: lost: solutions may be 2^100 times as large in double precision.
HIGHEST = 0.9


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
    .. [1] I. S. Duff, J. Koster, On algorithms for permuting large entries to the diagonal of a
       sparse matrix, SIAM J. Matrix Anal. Appl. 22, 973-996, 2001.
    .. [2] D. Ruiz, A scaling algorithm to equilibrate both rows and columns norms in matrices,
       Rutherford Appleton Laboratory, RAL-TR-2001-034, 2001.
    .. [3] A. R. Curtis, J. K. Reid, On the automatic scaling of matrices for Gaussian elimination,
       J. Inst. Maths Applics 10, 118-124, 1972.
    """

    row: Ints
    column: Ints
    entry: Ints

    @classmethod
    def of(
        cls,
        graph: BlockGraph,
        values: Array,
        symmetric: bool | str,
        last: frozenset[int] = frozenset(),
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
        cls,
        graph: BlockGraph,
        values: Array,
        symmetric: bool | str,
        last: frozenset[int] = frozenset(),
    ) -> Iterator[Scaling]:
        """Two scalings, the better one first; arguments as for `of`.

        The first is that of a matching of rows with columns whose product of entries is largest
        [1]_: they become 1, and no entry is larger. Where no matching is perfect, Ruiz's sweeps
        [2]_ give it. The second is Curtis and Reid's [3]_ with such sweeps. Both undo
        any scaling of rows and columns.

        Scales of a matching are not unique where a matrix is reducible, or nearly so. Geometric
        means of rows and columns come first, so that those near the least squares are taken.
        """
        symmetric = bool(symmetric)  # magnitudes are, of Hermitian matrices too
        entries = _Entries.of(graph, values, symmetric, last)
        some, n, zero = entries.some, graph.rows, np.zeros(graph.rows)
        found = matched(*some, n, symmetric, balanced(*some, n, symmetric))
        yield entries.swept(*(found or (zero, zero)))
        yield entries.swept(*_least_squares(*entries.some, graph.rows, symmetric))

    @classmethod
    def of_sweeps(cls, graph: BlockGraph, values: Array, symmetric: bool | str = False) -> Scaling:
        """Scaling by Ruiz's sweeps alone: no further from the units of the matrix than it takes.

        Parameters
        ----------
        graph : BlockGraph
        values : ndarray, shape (graph.nnz,)
        symmetric : bool or str, optional
        """
        zero = np.zeros(graph.rows)
        return _Entries.of(graph, values, bool(symmetric), frozenset()).swept(zero, zero)

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

    def right_hand_side(self, b: Array, transposed: bool) -> tuple[Array, int]:
        """R b, or C b for the transpose, of columns one after another, and a common exponent.

        The exponent is 0 unless a number overflows: R may span more.
        """
        exponent = self._along(b, self.column if transposed else self.row)
        out, shift = scaled(b, exponent), 0
        given = b != 0
        with np.errstate(invalid="ignore"):
            lost = ~(np.abs(out[given]) > np.finfo(b.dtype).tiny) | ~np.isfinite(out[given])
        if lost.any() and np.isfinite(b).all():
            most = int((exponents(b[given]) + exponent[given]).max())
            shift = int(HIGHEST * np.finfo(b.dtype).maxexp) - most
            out = scaled(b, exponent + shift)
        return out, shift

    def solution(self, x: Array, transposed: bool, shift: int) -> Array:
        """C x, or R x for the transpose, of columns one after another, for such an exponent."""
        return scaled(x, self._along(x, self.row if transposed else self.column) - shift)

    def _along(self, x: Array, exponent: Ints) -> Ints:
        """Exponents for columns one after another."""
        count = x.size // max(exponent.size, 1)
        return np.tile(exponent, count) if count > 1 else exponent


def scaled(x: Array, exponent: Ints) -> Array:
    """``x 2**exponent``, entry by entry, without overflow on the way."""
    with np.errstate(all="ignore"):
        if x.dtype.kind == "c":
            out = np.empty_like(x)
            out.real, out.imag = np.ldexp(x.real, exponent), np.ldexp(x.imag, exponent)
            return out
        found: Array = np.ldexp(x, exponent)
        return found


def exponents(values: Array) -> NDArray[np.float64]:
    """Logarithm to base 2 of each magnitude; -inf for zeros."""
    parts = (values.real, values.imag) if values.dtype.kind == "c" else (values,)
    with np.errstate(divide="ignore"):
        logarithms = [np.log2(np.abs(part.astype(np.float64))) for part in parts]
    return logarithms[0] if len(parts) == 1 else np.maximum(*logarithms)


@dataclass(frozen=True, slots=True, eq=False)
class _Entries:
    """Entries of a matrix that are not zero, for sweeps over them.

    Attributes
    ----------
    symmetric : bool
    place : tuple of ndarray of int
        Row and column of each number in `System.values`.
    some : tuple of ndarray
        Rows, columns and logarithms of those that count.
    rows : int
    """

    symmetric: bool
    place: tuple[Ints, Ints]
    some: tuple[Ints, Ints, Array]
    rows: int

    @classmethod
    def of(
        cls, graph: BlockGraph, values: Array, symmetric: bool, last: frozenset[int]
    ) -> _Entries:
        """Entries outside the rows and columns of the nodes ``last``."""
        rows, columns = coordinates(graph)
        size = exponents(values)
        some = size > -np.inf
        if last:
            inside = ~np.isin(np.repeat(np.arange(graph.size.size), graph.size), list(last))
            some &= inside[rows] & inside[columns]
        return cls(symmetric, (rows, columns), (rows[some], columns[some], size[some]), graph.rows)

    def swept(self, r: Array, c: Array) -> Scaling:
        """Scaling by Ruiz's sweeps from r and c, or from their mean."""
        if self.symmetric:
            r = c = 0.5 * (r + c)
        else:
            r, c = r.copy(), c.copy()
        sweep(*self.some, self.symmetric, SWEEPS, r, c, *np.empty((2, self.rows)))
        row = np.rint(r).astype(np.int64)
        column = row if self.symmetric else np.rint(c).astype(np.int64)
        return Scaling(row, column, row[self.place[0]] + column[self.place[1]])


def balanced(i: Ints, j: Ints, size: Array, n: int, symmetric: bool = False) -> tuple[Array, Array]:
    """Scales that make the geometric means of rows and columns about 1."""
    r, c = np.empty((2, n))
    c = r if symmetric else c
    balance(i, j, size, symmetric, SWEEPS, r, c, *np.empty((3, n)))
    return r, c


def matched(
    i: Ints,
    j: Ints,
    size: Array,
    n: int,
    symmetric: bool = False,
    near: tuple[Array, Array] | None = None,
) -> tuple[Array, Array] | None:
    """Duals of the matching with the largest product; None where a row has no column left.

    Where there are many, those that differ little from ``near`` are taken.

    One number may move from all rows of a connected component to its columns: their means agree,
    unless the mean of both is all that counts, as for symmetric matrices.
    """
    if near is not None:
        size = size + near[0][i] + near[1][j]
    order = np.argsort(i * n + j)
    start, j, size = np.zeros(n + 1, np.int64), j[order], size[order]
    np.cumsum(np.bincount(i, minlength=n), out=start[1:])
    duals, partners = np.empty((2, n)), np.empty((2, n), np.int64)
    failed = match_products(
        start, j, size, np.empty(WORK_ROWS * n, np.int64), np.empty(n), *partners, *duals
    )
    if failed:
        return None
    if near is not None:
        duals += near
    if symmetric:
        return duals[0], duals[1]
    from scipy.sparse.csgraph import connected_components  # takes 0.1 s once

    entries = sp.csr_array((size, j, start), shape=(n, n))
    _, component = connected_components(entries, directed=False)
    moved = np.bincount(component, 0.5 * (duals[0] - duals[1])) / np.bincount(component)
    return duals[0] - moved[component], duals[1] + moved[component]


def _least_squares(
    i: Ints, j: Ints, size: Array, n: int, symmetric: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """r and c of least sum of (size + r_i + c_j)^2, nearly: the sweeps do the rest."""
    from scipy.sparse.linalg import lsqr

    entries = np.arange(size.size)
    one = np.ones(size.size)
    of_rows = sp.csr_array((one, (entries, i)), shape=(size.size, n))
    of_columns = sp.csr_array((one, (entries, j)), shape=(size.size, n))
    both = of_rows + of_columns if symmetric else sp.hstack([of_rows, of_columns], format="csr")
    found: NDArray[np.float64] = lsqr(both, -size, iter_lim=ITERATIONS)[0]
    return (found, found) if symmetric else (found[:n], found[n:])
