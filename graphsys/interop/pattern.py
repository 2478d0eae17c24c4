"""Sparsity pattern by its entries: solves for JAX, PyTorch and PyTensor, whose values are arrays.

The factors of the last values are kept, so that an adjoint solve does not factorize again.
"""

from __future__ import annotations

import re
import threading
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, issparse

from graphsys.batch import Batch
from graphsys.errors import SingularPivotError
from graphsys.factor import Factor
from graphsys.interop.cholesky_root import IndefiniteError, Root, Tables, is_sound
from graphsys.kernels.base.widths import LANES
from graphsys.matrix.block import as_numbers, as_plain
from graphsys.matrix.from_scipy import coordinates
from graphsys.numeric.batch_engines import lanes_fit, order_of_lanes
from graphsys.numeric.diagnosis import without_options
from graphsys.numeric.factorization import Factorization
from graphsys.numeric.scalar_lanes import EntryLanes, has_scalar_table
from graphsys.numeric.selected_inverse import selected_inverse
from graphsys.symbolic import Symbolic, analyze
from graphsys.system import System

__all__ = ["Pattern"]

Array = NDArray[Any]
Ints = NDArray[np.int64]

#: What a solve does about a singular matrix.
CHOICES = ("raise", "nan")
#: Rows of nodes in the message of an error: "0 (0), 0 (1)".
PLACES = re.compile(r"by node \(and row in it\) (\d+ \(\d+\)(?:, \d+ \(\d+\))*)")
#: Errors of a matrix, or of a right-hand side, that cannot be solved with.
REFUSED = (SingularPivotError, OverflowError)
#: Bytes of the entries of as many matrices as are solved at a time: their blocks stay in the second
#: cache. 256 circuits of 1000 rows take 0.75 of the time, as many chains 0.95.
PART_BYTES = 2**21


class Pattern:
    """Sparsity pattern of a square matrix in triplets, and its symbolic factorization.

    The analysis runs once, at the first solve. Threads may share a pattern: concurrent calls use
    separate factors, which are kept.

    Parameters
    ----------
    rows, columns : array_like of int, shape (nz,)
        Position of each entry, from 0 to n - 1; entries at the same position are summed.
    n : int, optional
        Number of rows; by default one more than the largest position.
    positive_definite : bool, optional
        Whether all matrices are symmetric and positive definite, like precision matrices. They get
        L D L^T factors without delayed pivots, with at most half the operations. Pass the entries
        of both triangles; their symmetry is checked for the first matrix only. The log-determinant
        of a matrix that is not positive definite is NaN or -inf; solves do not check this.

    Attributes
    ----------
    rows, columns : ndarray of int, shape (nz,)
        Read-only.
    n : int
    nz : int
        Number of entries.
    positive_definite : bool

    Raises
    ------
    TypeError, ValueError
        If rows or columns are not integers, differ in length, or are outside the matrix. If the
        pattern of positive definite matrices lacks an entry (j, i) of an entry (i, j).

    Examples
    --------
    >>> import numpy as np
    >>> pattern = Pattern([0, 0, 1], [0, 1, 1])
    >>> print(pattern.solve([2.0, 2.0, 4.0], [4.0, 4.0]))
    [1. 1.]
    """

    def __init__(
        self,
        rows: Any,
        columns: Any = None,
        n: int | None = None,
        *,
        positive_definite: bool = False,
    ) -> None:
        if columns is None:
            raise TypeError(
                "columns are missing: give gs.Pattern(rows, columns), or gs.Pattern.from_scipy(A) "
                "for a matrix"
            )
        self.rows, self.columns = _positions(rows, "rows"), _positions(columns, "columns")
        if self.rows.shape != self.columns.shape:
            raise ValueError(f"there are {self.rows.size} rows and {self.columns.size} columns")
        most = int(max(self.rows.max(initial=-1), self.columns.max(initial=-1)))
        if n is not None and not isinstance(n, int | np.integer):
            raise TypeError(f"n is {n!r}, it must be a whole number, the rows of the matrix")
        self.n = most + 1 if n is None else int(n)
        if most >= self.n:
            raise ValueError(f"position {most} is outside of a matrix of {self.n} rows")
        self.nz = self.rows.size
        self.positive_definite = bool(positive_definite)
        ones = np.ones(self.nz)
        shape = (self.n, self.n)
        entries = csr_array(coo_array((ones, (self.rows, self.columns)), shape=shape))
        entries.sum_duplicates()
        if self.positive_definite:
            _check_mirrored(entries)
        first = System.from_scipy(entries).graph
        # The label of a node is its first row, which messages name.
        self.system = System.from_scipy(entries, first.size, labels=first.row_start[:-1].tolist())
        places = self.system.entry_at
        assert places is not None
        keys = np.repeat(np.arange(self.n), np.diff(entries.indptr)) * self.n + entries.indices
        at = places[np.searchsorted(keys, self.rows * self.n + self.columns)]
        nnz = self.system.graph.nnz
        self._sum: Any = None  # where entries repeat
        self._places: Ints = at  # of the entries
        self._source = np.zeros(nnz, np.int64)  # entry of each place
        self._source[at] = np.arange(self.nz)
        self._empty = np.setdiff1d(np.arange(nnz), at)
        if places.size < self.nz:
            self._sum = csr_array(coo_array((ones, (at, np.arange(self.nz))), (nnz, self.nz)))
        self._number = -1
        self._mirror: Ints | None = None  # place of (j, i) for each entry (i, j)
        self._lock = threading.Lock()  # of the analysis
        self._taking = threading.Lock()  # of the lists of factors
        self._symbolic: Symbolic | None = None
        self._tables: Tables | None = None  # of the square root
        self._entry_lanes: EntryLanes | None = None
        # By type, and of one matrix or of many: factors that no call works with, last used last.
        self._free: dict[tuple[Any, bool], list[_Factors]] = {}

    @classmethod
    def from_scipy(cls, A: Any, *, positive_definite: bool = False) -> Pattern:
        """Pattern of a scipy sparse matrix; the entries are in the order of ``A.tocoo().data``.

        That is ``A.data`` for the formats CSR, CSC and COO.

        Parameters
        ----------
        A : scipy sparse matrix or array, shape (n, n)
            Its numbers have no effect.
        positive_definite : bool, optional
            As for `Pattern`.

        Returns
        -------
        Pattern

        Raises
        ------
        TypeError, ValueError
            If A is not sparse or not square, or as for `Pattern`.
        """
        if not issparse(A):
            raise TypeError(
                f"A must be a scipy sparse matrix, not {type(A).__name__}; of others pass the "
                "positions of their entries, gs.Pattern(rows, columns, n)"
            )
        if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
            raise ValueError(f"the matrix must be square, its shape is {A.shape}")
        entries = A.tocoo()
        return cls(entries.row, entries.col, A.shape[0], positive_definite=positive_definite)

    def solve(self, data: Any, b: Any, trans: str = "N", *, singular: str = "raise") -> Array:
        """Solve A x = b; the factors of the last call are reused if the entries are the same.

        Parameters
        ----------
        data : array_like, shape (nz,) or (count, nz)
            Entries of one matrix, or of many.
        b : array_like, shape (n,) or (n, k), or (count, n) or (count, n, k) with many matrices
        trans : {"N", "T"}, optional
            Solve with A or with its transpose.
        singular : {"raise", "nan"}, optional
            For a singular matrix, raise an error or return NaN for its solutions.

        Returns
        -------
        ndarray, shape of b
            NaN also if entries or right-hand sides are not finite.

        Raises
        ------
        SingularPivotError
            If a matrix is singular, with its number among many and a row.
        OverflowError
            If a solution overflows.
        TypeError, ValueError
            If an argument is not as above.
        """
        if issparse(data):
            raise TypeError(f"data is a {type(data).__name__}: give its entries, A.tocoo().data")
        data, b = np.asarray(data), np.asarray(b)
        for given, name in ((data, "data"), (b, "b")):
            if given.dtype.kind not in "biufc":
                as_numbers(given, None, name)  # which refuses it
        one = data.ndim == 1
        shape = b.shape
        cores = (1, 2) if one else (2, 3)
        if data.ndim not in (1, 2) or data.shape[-1] != self.nz:
            raise ValueError(
                f"data has shape {data.shape}, it must be ({self.nz},) or (count, {self.nz})"
            )
        rows = 0 if one else 1
        if b.ndim not in cores or shape[rows] != self.n or (not one and len(b) != len(data)):
            wanted = f"({self.n},) or ({self.n}, k)"
            if not one:
                wanted = f"({len(data)}, {self.n}) or ({len(data)}, {self.n}, k)"
            raise ValueError(f"b has shape {shape}, it must be {wanted}")
        dtype = np.result_type(data.dtype, b.dtype, np.float32)
        if dtype not in (np.float32, np.float64, np.complex64, np.complex128):
            raise TypeError(f"numbers of type {dtype} are not supported")
        data, b = data.astype(dtype, copy=False), b.astype(dtype, copy=False)
        if one:
            return self._solve_columns(data, b, trans, singular)
        return self._solve_many(as_plain(data), as_plain(b), trans, singular)

    def _solve_columns(self, data: Array, b: Array, trans: str, singular: str) -> Array:
        """`solve` for one matrix, without checks of the arrays."""
        _check(trans, singular)
        try:
            return self._alone(data, b, trans)
        except REFUSED as failure:
            if singular == "raise":
                raise _named(failure, "") from failure
            return np.full_like(b, np.nan)

    def _alone(self, data: Array, b: Array, trans: str) -> Array:
        """Solution with one matrix, NaN where numbers are not finite."""
        kept = self._take(data, True)
        try:
            x = self._one(kept, data, b, trans)
        except ValueError:
            if not np.isfinite(data).all():
                return np.full_like(b, np.nan)
            good = np.isfinite(b).all(axis=0)
            if good.all():
                raise
            x = np.full_like(b, np.nan)
            if b.ndim == 2 and good.any():
                x[:, good] = self._one(kept, data, np.ascontiguousarray(b[:, good]), trans)
        self._give(kept, data, True)
        return x

    def _solve_many(self, data: Array, b: Array, trans: str, singular: str) -> Array:
        """`solve` for many matrices, without checks of the arrays."""
        _check(trans, singular)
        count, lanes = len(data), self._lanes(data)
        if lanes is None:
            x, failed = self._many(data, b, trans)
        else:
            x, sure = lanes.solve(data, b, trans != "N")
            failed = {}
            for i in np.flatnonzero(~sure).tolist():
                try:
                    x[i] = self._alone(data[i], b[i], trans)
                except REFUSED as refusal:
                    x[i], failed[i] = np.nan, refusal
        if singular == "raise":
            for i, failure in sorted(failed.items()):
                if np.isfinite(data[i]).all():
                    raise _named(failure, f"matrix {i} of {count}: ") from failure
        return x

    def _lanes(self, data: Array) -> EntryLanes | None:
        """Solver for many matrices of single rows, all with good pivots."""
        if len(data) < 2 or self._sum is not None or data.dtype.kind != "f":
            return None
        symbolic = order_of_lanes(self._analyzed(data[0]), data.dtype)
        if not (has_scalar_table(symbolic.program) and lanes_fit(symbolic, data.dtype)):
            return None
        found = self._entry_lanes
        if found is None or found.program is not symbolic.program:
            found = EntryLanes(symbolic.program, self._places, self._mirrored(), self._source.size)
            self._entry_lanes = found
        return found

    def _many(self, data: Array, b: Array, trans: str) -> tuple[Array, dict[int, Exception]]:
        """Solutions with many matrices by batches, and what failed."""
        x = np.empty_like(b, order="C")
        failed: dict[int, Exception] = {}
        if len(data) == 0:
            return x, failed
        kept = self._take(data, False)
        step = max(LANES, PART_BYTES // max(data[0].nbytes, 1) // LANES * LANES)
        starts = range(0, len(data), step)
        kept.parts += [_Factors() for _ in starts[len(kept.parts) :]]
        for part, i in zip(kept.parts, starts, strict=False):
            some = slice(i, i + step)
            batch = self._some(part, data[some], b[some], trans, x[some])
            failed.update({i + k: failure for k, failure in batch.failures.items()})
        self._give(kept, data, False)
        return x, failed

    def _some(self, kept: _Factors, data: Array, b: Array, trans: str, x: Array) -> Batch:
        """Write the solutions x with some matrices; returns their batch."""
        if kept.factors is None:
            kept.factors = Batch(self._analyzed(data[0]))
        batch: Batch = kept.factors
        again = kept.are_of(data)
        if again and kept.whole:
            x[...] = batch.solve(b, trans)
        else:
            kept.data, values = None, self._values(data)
            kept.whole = again or kept.asked or trans != "N"
            if kept.whole:
                x[...] = batch.refactorize(values).solve(b, trans)
            else:
                x[...] = batch.solve_once(values, b)
            kept.data = data.copy()
        kept.asked = again
        return batch

    def logdet(self, data: Any) -> float:
        """Logarithm of the determinant; the factors of the last call are reused if they fit.

        Parameters
        ----------
        data : array_like, shape (nz,)

        Returns
        -------
        float
            NaN if the determinant is negative or entries are not finite, -inf if the matrix is
            singular. With `positive_definite` NaN also if the matrix is not positive definite.
        """
        data = self._entries(data)
        if not np.isfinite(data).all():
            return float("nan")
        kept = self._take(data, True)
        try:
            factor = self._factor(kept, data)
            root = self._root(factor)
            if root is not None:
                logarithm = 2.0 * float(np.log(root.diagonal).sum(dtype=float))
            else:
                sign, logarithm = factor.slogdet()
                if sign <= 0.0 or (self.positive_definite and factor.inertia()[1] > 0):
                    logarithm = float("nan")
        except REFUSED:
            return float("-inf")
        self._give(kept, data, True)
        return logarithm

    def logdet_gradient(self, data: Any) -> Array:
        """Gradient of `logdet` with respect to the entries.

        These are entries of the transposed inverse, from the selected inverse, which costs about
        two factorizations.

        Parameters
        ----------
        data : array_like, shape (nz,)

        Returns
        -------
        ndarray, shape (nz,)
            NaN if the matrix is singular or entries are not finite. With `positive_definite` NaN
            also if the matrix is not positive definite.
        """
        data = self._entries(data)
        if not np.isfinite(data).all():
            return np.full_like(data, np.nan)
        kept = self._take(data, True)
        try:
            factor = self._factor(kept, data)
            if self._root(factor) is not None:
                inverse = selected_inverse(factor._factorization)
            elif self.positive_definite and factor.inertia()[1] > 0:
                return np.full_like(data, np.nan)
            else:
                inverse = factor.selected_inverse()
        except REFUSED:
            return np.full_like(data, np.nan)
        self._give(kept, data, True)
        found: Array = inverse.values[self._mirrored()]
        return found

    def _plain_factors(self, data: Array) -> Factorization | None:
        """Factorization of the last call, if solves with it check nothing."""
        with self._taking:
            free = self._free.get((data.dtype, True))
            factor = free[-1].factors if free and free[-1].are_of(data) else None
        if factor is None or factor._fast_again is None or factor.refines:
            return None
        found: Factorization = factor._fast_again
        return None if self._sum is not None else found

    def _entry_of_place(self) -> Ints:
        """Entry of each place in the blocks, if no position has two."""
        source = self._source.copy()
        source[self._empty] = -1
        return source

    def _mirrored(self) -> Ints:
        """Place of (j, i) in the blocks for each entry (i, j)."""
        if self._mirror is None:
            i, j = coordinates(self.system.graph)
            order = np.argsort(i * self.n + j)
            keys = (i * self.n + j)[order]
            self._mirror = order[np.searchsorted(keys, self.columns * self.n + self.rows)]
        return self._mirror

    def _entries(self, data: Any) -> Array:
        """Real entries of one matrix."""
        data = np.asarray(data)
        if data.shape != (self.nz,):
            raise ValueError(f"data has shape {data.shape}, it must be ({self.nz},)")
        dtype = np.result_type(data.dtype, np.float32)
        if dtype not in (np.float32, np.float64):
            raise TypeError(
                f"data is of type {data.dtype}: logdet and its gradient take real numbers; of "
                "others use gs.splu(A).factor.slogdet()"
            )
        entries: Array = data.astype(dtype, copy=False)
        return entries

    def _take(self, data: Array, one: bool) -> _Factors:
        """Factors that no other call works with, those of the same entries if there are.

        A call that fails does not give them back: the next one makes others.
        """
        with self._taking:
            free = self._free.get((data.dtype, one))
            if not free:
                return _Factors()
            for i in range(len(free) - 1, 0, -1):
                if free[i].are_of(data):
                    return free.pop(i)
            return free.pop(0)  # the only ones, or used the longest time ago

    def _give(self, kept: _Factors, data: Array, one: bool) -> None:
        """Let other calls take factors."""
        with self._taking:
            self._free.setdefault((data.dtype, one), []).append(kept)

    def _one(self, kept: _Factors, data: Array, b: Array, trans: str) -> Array:
        """Solution with one matrix, by the factors of the last one where it is the same."""
        if kept.factors is not None and trans == "N" and b.ndim == 1 and not kept.are_of(data):
            kept.data = None
            x = kept.factors.refactorize_and_solve(self._values(data), b)
            kept.data = data.copy()
            return np.asarray(x)
        return np.asarray(self._factor(kept, data).solve(b, trans))

    def _factor(self, kept: _Factors, data: Array) -> Factor:
        """Factors of one matrix: the last ones where it is the same."""
        if kept.factors is None:
            kept.factors = Factor(self._analyzed(data), self._values(data))
            kept.data = data.copy()
        elif not kept.are_of(data):
            kept.data = None
            kept.factors.refactorize(self._values(data))
            kept.data = data.copy()
        factor: Factor = kept.factors
        return factor

    def _root(self, factor: Factor) -> Root | None:
        """Square root of positive definite factors that need no check; None for all others."""
        found = factor._factorization
        if not self.positive_definite or not is_sound(found):
            return None
        tables = self._tables
        if tables is None or tables.program is not found.panels:
            tables = self._tables = Tables.of(found.panels)
        try:
            return Root(found, tables)
        except IndefiniteError:
            return None

    def _analyzed(self, data: Array) -> Symbolic:
        """Symbolic factorization, which depends on the zeros of the first diagonal."""
        with self._lock:
            if self._symbolic is not None:
                return self._symbolic
            graph, symmetric = self.system.graph, self.positive_definite
            if symmetric:  # no pivot is zero
                self._symbolic = analyze(graph, symmetric=True, zero_diagonal=())
            elif not np.isfinite(data).all():  # analyzed without numbers, this once
                return analyze(graph)
            else:
                self._symbolic = analyze(graph, values=self._values(data))
            return self._symbolic

    def _values(self, data: Array) -> Array:
        """Blocks in the layout of the graph, shape (..., nnz), of entries of shape (..., nz)."""
        if self._sum is not None:
            return np.ascontiguousarray((self._sum @ data.T).T, data.dtype)
        if self.nz == 0:
            return np.zeros((*data.shape[:-1], self.system.graph.nnz), data.dtype)
        values: Array = data.take(self._source, axis=-1)
        if self._empty.size and values.ndim == 1:  # a third of the time
            values[self._empty] = 0.0
        elif self._empty.size:
            values[..., self._empty] = 0.0
        return values

    def __reduce__(self) -> Any:
        return _remade, (self.rows, self.columns, self.n, self.positive_definite)

    def __repr__(self) -> str:
        return f"Pattern({self.n} rows, {self.nz} entries)"


class _Factors:
    """Factors and the entries that they are of, or None.

    Solves of a batch that keep no factors are faster. Factors are kept as soon as the same matrices
    come twice, as in a gradient, and until they do not.
    """

    def __init__(self) -> None:
        self.factors: Any = None  # until the first call
        self.data: Array | None = None
        self.parts: list[_Factors] = []  # of many matrices, so many at a time
        self.whole = False  # whether the factors were kept
        self.asked = False  # whether the last solve was with the matrices of the one before

    def are_of(self, data: Array) -> bool:
        """True if some entries are those of the last solve."""
        if self.parts:
            last = self.parts[0].data
            return last is not None and self.parts[0].are_of(data[: len(last)])
        last = self.data
        if last is None or last.shape != data.shape:
            return False
        if data.size and last.item(0) != data.item(0):  # mostly, and quicker than all of them
            return False
        return np.array_equal(last, data)


#: Patterns that compiled functions of other libraries name by a number, never used twice.
_PATTERNS: WeakValueDictionary[int, Pattern] = WeakValueDictionary()
_NUMBERS = count()
_NUMBERING = threading.Lock()


def number_of(pattern: Pattern) -> int:
    """Number of a pattern in compiled functions, for `pattern_of`."""
    with _NUMBERING:
        if pattern._number < 0:
            pattern._number = next(_NUMBERS)
            _PATTERNS[pattern._number] = pattern
    return pattern._number


def pattern_of(number: int) -> Pattern:
    """Pattern with a number; ValueError if it no longer exists."""
    pattern = _PATTERNS.get(number)
    if pattern is None:
        raise ValueError(
            "the gs.Pattern of this compiled function no longer exists: keep a reference to it as "
            "long as the function"
        )
    return pattern


def _remade(rows: Ints, columns: Ints, n: int, positive_definite: bool) -> Pattern:
    """Pattern from a pickle."""
    return Pattern(rows, columns, n, positive_definite=positive_definite)


def _check_mirrored(entries: Any) -> None:
    """ValueError where a pattern is not that of a symmetric matrix."""
    rows, columns = entries.nonzero()
    n = entries.shape[0]
    missing = np.flatnonzero(~np.isin(columns * np.int64(n) + rows, rows * np.int64(n) + columns))
    if missing.size:
        i, j = int(rows[missing[0]]), int(columns[missing[0]])
        raise ValueError(
            f"a positive definite matrix has entries in both triangles: ({i}, {j}) is a position, "
            f"({j}, {i}) is not"
        )


def _positions(numbers: Any, name: str) -> Ints:
    """Read-only array of positions."""
    found = np.array(numbers)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise TypeError(f"{name} must be a vector of integers")
    positions: Ints = found.astype(np.int64)
    if positions.size and positions.min() < 0:
        raise ValueError(f"{name} has the negative position {positions.min()}")
    positions.setflags(write=False)
    return positions


def check(pattern: Any, singular: str = "raise") -> None:
    """TypeError for another object than a pattern, ValueError for an unknown choice."""
    if not isinstance(pattern, Pattern):
        raise TypeError(
            f"pattern is a {type(pattern).__name__}; make one of positions, gs.Pattern(rows, "
            "columns), or of a scipy matrix, gs.Pattern.from_scipy(A)"
        )
    _check_choice(singular)


def _check(trans: str, singular: str) -> None:
    if trans not in ("N", "T"):
        raise ValueError(f"trans is {trans!r}, it must be 'N' or 'T'")
    _check_choice(singular)


def _check_choice(singular: str) -> None:
    if singular not in CHOICES:
        raise ValueError(f"singular is {singular!r}, it must be 'raise' or 'nan'")


def _named(failure: Exception, which: str) -> Exception:
    """The same error with the matrix among many, and the row."""
    if isinstance(failure, SingularPivotError):
        row, text = _by_rows(failure)
        text = f"{which}the matrix is singular at row {row} ({text})"
        return SingularPivotError(text, row, failure.step, failure.ratio)
    return type(failure)(f"{which}{failure}")


def _by_rows(failure: SingularPivotError) -> tuple[Any, str]:
    """First row and message of an error, with rows for nodes, which bear their first row's name."""
    text = without_options(failure).replace("; set blocks first, as system[u, v] = block", "")
    found = PLACES.search(text)
    if found is None:
        return failure.node, text
    rows = [int(node) + int(row) for node, row in re.findall(r"(\d+) \((\d+)\)", found[1])]
    return rows[0], text.replace(
        found[0], f"row{'s' * (len(rows) > 1)} {', '.join(map(str, rows))}"
    )
