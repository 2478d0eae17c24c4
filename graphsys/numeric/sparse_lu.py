"""Sparse LU factors of a block triangular form: one call to factorize, and one to solve."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.analysis.block_triangular import BlockTriangularForm
from graphsys.analysis.sparse_lu import SparseLU, sparse_lu
from graphsys.kernels.base.address_table import new_frame
from graphsys.kernels.base.widths import LANES
from graphsys.kernels.single.fused_solve import entry
from graphsys.kernels.single.sparse_lu import (
    BUSY,
    DONE,
    DOUBTFUL,
    MISFIT,
    OTHER_PATTERN,
    WEAK,
    factorize_parts,
    solve_parts,
    solve_parts_refined,
    solve_parts_transposed,
)
from graphsys.kernels.single.sparse_lu_columns import (
    solve_columns,
    solve_columns_refined,
    solve_columns_transposed,
)
from graphsys.matrix.block import as_numbers
from graphsys.numeric.residuals import EPS

Array = NDArray[Any]
Ints = NDArray[np.int64]

#: Componentwise backward error, in machine epsilons, that needs no refinement: 7.1e-15.
GOOD = 32.0
#: Error of a thread that refactorizes at the same time as another.
OTHER_THREAD = (
    "another thread is refactorizing this matrix: threads may share its solves, but each needs a "
    "matrix of its own to refactorize, such as copy.deepcopy(factors)"
)


class PartSolver:
    """Calls of the kernels that solve with factors of `kernels.single.sparse_lu`.

    Parameters
    ----------
    frame : ndarray
        Tables and factors.
    n, widest : int
        Rows of the matrix, and of its largest dense rest.
    dtype : numpy.dtype
    """

    def __init__(self, frame: Any, n: int, widest: int, dtype: Any) -> None:
        self.frame, self.n, self.widest, self.dtype = frame, n, widest, dtype
        self._spare: list[Array] = []
        self._spare_refined: list[tuple[Array, Array, Array]] = []
        self._solve: dict[bool, Callable[..., int]] = {}
        self._solve_columns: dict[Any, Callable[..., int]] = {}
        self._solve_refined: Callable[..., int] | None = None

    def solve(self, b: Any, x: Array, transposed: bool, refines: bool) -> int:
        """Solve for one vector after another: a status, 0 if x is good."""
        try:
            work = self._spare.pop()  # several threads may solve at once
        except IndexError:
            work = np.empty(self.n + self.widest, self.dtype)
        if refines:
            failed = self._refined(b, x, transposed, work)
        else:
            if transposed not in self._solve:
                kernel = solve_parts_transposed if transposed else solve_parts
                self._solve[transposed] = entry(kernel, MISFIT, self.frame, x, work, x)
            failed = self._solve[transposed](self.frame, b, work, x)
        self._spare.append(work)
        return failed

    def solve_columns(self, b: Array, transposed: bool, refines: bool) -> Array | None:
        """Solve for all columns of real b, eight at a time; None if X is not good."""
        x, rows = np.empty_like(b), 6 * self.n + 3 if refines else 2 * self.n
        work, kernel = np.empty(LANES * (rows + self.widest), b.dtype), solve_columns
        arrays: tuple[Any, ...] = work, x.reshape(-1)
        if refines:
            kernel, arrays = solve_columns_refined, (transposed, GOOD * EPS[self.dtype], *arrays)
        elif transposed:
            kernel = solve_columns_transposed
        arguments = self.frame, b.reshape(-1), b.shape[1], *arrays
        if kernel not in self._solve_columns:
            self._solve_columns[kernel] = entry(kernel, MISFIT, *arguments)
        return x if self._solve_columns[kernel](*arguments) == 0 else None

    def _refined(self, b: Any, x: Array, transposed: bool, work: Array) -> int:
        n, good = self.n, GOOD * EPS[self.dtype]
        try:
            size, r, better = self._spare_refined.pop()
        except IndexError:
            size, r, better = np.empty(n), np.empty(n, x.dtype), np.empty(n, x.dtype)
        if self._solve_refined is None:
            self._solve_refined = entry(
                solve_parts_refined, MISFIT, self.frame, r, transposed, good, work, size, r,
                better, r,
            )  # fmt: skip
        call, failed = self._solve_refined, 0
        if x.size == n:
            failed = call(self.frame, b, transposed, good, work, size, r, better, x)
        else:
            for at in range(0, x.size, n):
                part = slice(at, at + n)
                status = call(self.frame, b[part], transposed, good, work, size, r, better, x[part])
                failed = max(failed, status)
        self._spare_refined.append((size, r, better))
        return failed


class _Program:
    """Tables and arrays for one order of pivots, with the calls of the kernels.

    Parameters
    ----------
    rows : scipy.sparse.csr_array
    tables : SparseLU

    Attributes
    ----------
    data : ndarray
        Entries of the matrix that was factorized.
    factorize : callable
        ``factorize(start, index, values)`` for entries in compressed rows: a status of the kernel.
    solver : PartSolver
    """

    def __init__(self, rows: Any, tables: SparseLU) -> None:
        self.rows, self.tables = rows, tables
        self.data, self.factors = rows.data.copy(), np.empty(tables.size, rows.dtype)
        self.names = np.zeros(2 * rows.shape[0], np.int64)
        self.index = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
        self._bind()

    def _bind(self) -> None:
        """Hand the arrays to the kernels."""
        tables, rows, n = self.tables, self.rows, self.rows.shape[0]
        self.row = np.empty(n, self.data.dtype)
        self.frame = new_frame(
            *self.index, tables.row, tables.column, tables.part, tables.before_start,
            tables.before_at, tables.before_column, tables.lower_start, tables.lower_column,
            tables.upper_start, tables.upper_column, tables.single, tables.single_at,
            tables.load_at, tables.load_to, tables.step, tables.pivots, tables.place,
            tables.fourth, tables.mirrored, self.names,
            tables.bound, tables.floor, tables.limit, tables.rest_scale, self.data, self.factors,
            self.row,
        )  # fmt: skip
        code = entry(
            factorize_parts, MISFIT, self.frame, tables.operation, tables.scaled,
            rows.indptr.copy(), rows.indices.copy(), self.data,
        )  # fmt: skip
        self.factorize = partial(code, self.frame, tables.operation, tables.scaled)
        self.solver = PartSolver(self.frame, n, tables.widest, self.data.dtype)

    def __getstate__(self) -> dict[str, Any]:
        kept = ("rows", "tables", "data", "factors", "names", "index")
        return {name: getattr(self, name) for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()


class PartFactor:
    """Factors of the diagonal blocks of a block triangular form, which solve.

    Attributes
    ----------
    dtype : numpy.dtype
    refines : bool
        Whether solves check their backward error and refine.
    """

    dtype: np.dtype[Any]
    refines: bool

    @property
    def solver(self) -> PartSolver:
        """Kernels that solve."""
        raise NotImplementedError

    def solve(self, b: Array, trans: str = "N") -> Array | None:
        """Solution of A x = b; None where it is not finite, or these factors are too inaccurate.

        Parameters
        ----------
        b : ndarray, shape (N,) or (N, k)
        trans : {"N", "T", "H"}, optional

        Returns
        -------
        ndarray, shape of b, or None

        Raises
        ------
        ValueError
            If b has the wrong shape or is not finite.
        """
        if trans == "N" and b.ndim == 1 and b.size == self.solver.n and b.dtype == self.dtype:
            x = np.empty(b.size, self.dtype)
            if self.solver.solve(b, x, False, self.refines) == 0:
                return x
        if trans not in ("N", "T", "H"):
            raise ValueError(f"trans is {trans!r}, it must be 'N', 'T' or 'H'")
        if b.dtype.kind == "c" and self.dtype.kind != "c":
            parts = self.solve(b.real, trans), self.solve(b.imag, trans)
            return None if parts[0] is None or parts[1] is None else parts[0] + 1j * parts[1]
        n, b = self.solver.n, as_numbers(b, self.dtype, "b")
        if b.ndim not in (1, 2) or b.shape[0] != n:
            raise ValueError(f"b has shape {b.shape}, it must be ({n},) or ({n}, k)")
        if not np.isfinite(b).all():
            raise ValueError(f"b is not finite at row {np.argwhere(~np.isfinite(b))[0][0]}")
        if b.ndim == 2 and b.shape[1] > 1 and self.dtype.kind != "c":
            b = np.ascontiguousarray(b)
            return self.solver.solve_columns(b, trans != "N", self.refines)
        columns = np.array(b.T, order="C").ravel()
        conjugate = trans == "H" and self.dtype.kind == "c"
        if conjugate:
            np.conjugate(columns, out=columns)
        out = np.empty_like(columns)
        if self.solver.solve(columns, out, trans != "N", self.refines) != 0:
            return None
        if conjugate:
            np.conjugate(out, out=out)
        return out if b.ndim == 1 else out.reshape(-1, n).T


class SparseLUFactor(PartFactor):
    """LU factors of the diagonal blocks of a block triangular form, with threshold pivoting.

    The first values choose the pivots. Others are factorized in the same order, as ``klu_refactor``
    does. If a pivot is too weak for them, or they are not symmetric any more, pivots are chosen
    anew.

    Parameters
    ----------
    rows : scipy.sparse.csr_array, shape (N, N)
        Canonical.
    form : BlockTriangularForm
    most : int
        Operations that a factorization may take.
    once : bool, optional
        Whether there is only one.
    mirrored : ndarray of int, optional
        As for `sparse_lu`.

    Attributes
    ----------
    orders : int
        How often pivots were chosen.
    refines : bool
        Whether solves check their backward error and refine: entries of L or U grew, or those of
        the matrix differ by more than 2^20 in a good scaling.
    """

    def __init__(
        self,
        rows: Any,
        form: BlockTriangularForm,
        most: int,
        once: bool = False,
        mirrored: Ints | None = None,
    ) -> None:
        self.form, self.most, self.dtype, self.orders = form, most, rows.dtype, 0
        self.once, self._mirrored = once, mirrored
        self._rows = rows
        self.refines = False
        self._program: _Program | None = None

    @classmethod
    def of(
        cls,
        rows: Any,
        form: BlockTriangularForm,
        most: int,
        once: bool = False,
        mirrored: Ints | None = None,
    ) -> SparseLUFactor | None:
        """Factors of a matrix; None if it has no good pivots, or takes more operations."""
        factor = cls(rows, form, most, once, mirrored)
        return None if factor._choose_pivots(rows.data) == WEAK else factor

    @property
    def solver(self) -> PartSolver:
        """Kernels that solve."""
        return self._good.solver

    @property
    def data(self) -> Array:
        """Entries of the matrix that was factorized."""
        data: Array = self._good.data
        return data

    @property
    def nnz(self) -> int:
        """Entries that are stored for the factors."""
        tables = self._good.tables
        return int(tables.size + self.data.size - tables.load_at.size - tables.single.size)

    @property
    def _good(self) -> _Program:
        assert self._program is not None
        return self._program

    def _choose_pivots(self, values: Array) -> int:
        """Choose pivots by values, and factorize these: a status."""
        self.orders += 1
        tables = sparse_lu(self._rows, self.form, values, self.most, self.once, self._mirrored)
        if tables is None:
            return WEAK
        self._program = _Program(self._rows, tables)
        status = self._program.factorize(self._rows.indptr, self._rows.indices, values)
        self.refines = status == DOUBTFUL or tables.wild
        return DONE if status == DOUBTFUL else status

    def refactorize(self, start: Any, index: Any, values: Any) -> int:
        """Factorize other entries of the same pattern.

        Parameters
        ----------
        start, index, values : ndarray
            Of a CSR array of this shape, with the index type of the first one.

        Returns
        -------
        int
            `DONE`; `WEAK` if there are no good pivots, so that there are no factors; or
            `OTHER_PATTERN`, with the factors as they were, if the arrays do not fit the first ones
            or values are not finite.

        Raises
        ------
        RuntimeError
            If another thread does so.
        """
        program = self._good
        status = program.factorize(start, index, values)
        if status <= DOUBTFUL:
            self.refines = status == DOUBTFUL or program.tables.wild
            return DONE
        if status == BUSY:
            raise RuntimeError(OTHER_THREAD)
        if status != WEAK or not np.isfinite(values).all():
            return OTHER_PATTERN
        return self._choose_pivots(values.copy())
