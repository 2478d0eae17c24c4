"""Factors of the diagonal blocks of a block triangular matrix; the rest needs no factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.analysis.block_triangular import DENSE, BlockTriangularForm
from graphsys.errors import SingularPivotError
from graphsys.factor import Factor
from graphsys.kernels.single.dense_blocks import (
    factorize_dense,
    solve_dense,
    solve_dense_transposed,
)
from graphsys.matrix.block import as_numbers
from graphsys.matrix.from_scipy import cut, entries_at
from graphsys.numeric.residuals import EPS
from graphsys.symbolic import analyze

__all__ = ["BlockTriangularFactor"]

Array = NDArray[Any]
Ints = NDArray[np.int64]


@dataclass(slots=True, eq=False)
class _Group:
    """Large blocks that do not need each other, as one system.

    Attributes
    ----------
    places : slice
        Their rows in the form.
    at : ndarray of int
        Place in the matrix' entries of each of theirs.
    to : ndarray of int
        Place of the same in the values of the system.
    size : int
        Number of these values.
    factor : Factor
    """

    places: slice
    at: Ints
    to: Ints
    size: int
    factor: Factor

    def values(self, data: Array) -> Array:
        """Blocks of the system out of the entries of the matrix."""
        values = np.zeros(self.size, data.dtype)
        values[self.to] = data[self.at]
        return values


class BlockTriangularFactor:
    """Factorization of a matrix by its block triangular form.

    Diagonal blocks of at most `DENSE` rows are factorized as dense matrices, larger ones by
    `Factor`. Solves substitute block by block.

    Parameters
    ----------
    rows : scipy.sparse.csr_array, shape (N, N)
        Canonical.
    form : BlockTriangularForm
    ordering : str
        Of the large blocks, as for `System.analyze`.

    Raises
    ------
    SingularPivotError
        If a diagonal block is singular, or overflows.
    """

    def __init__(self, rows: Any, form: BlockTriangularForm, ordering: str = "auto") -> None:
        n, count = rows.shape[0], form.block.size - 1
        self.form, self.dtype = form, rows.dtype
        place_of_row, place_of_column = np.empty(n, np.int64), np.empty(n, np.int64)
        place_of_row[form.row] = place_of_column[form.column] = np.arange(n)
        i = np.repeat(place_of_row, np.diff(rows.indptr))
        j = place_of_column[rows.indices]
        size = np.diff(form.block)
        block_of = np.repeat(np.arange(count), size)

        outside = np.flatnonzero(block_of[i] != block_of[j])
        self.before_at = outside[np.lexsort((j[outside], i[outside]))]
        self.before_start = np.searchsorted(i[self.before_at], np.arange(n + 1))
        self.before_index = j[self.before_at]

        dense = size <= DENSE
        self.place = np.concatenate([[0], np.cumsum(np.where(dense, size * size, 0))])
        inside = np.flatnonzero((block_of[i] == block_of[j]) & dense[block_of[i]])
        k, self.inside_at = block_of[i[inside]], inside
        first = form.block[k]
        self.inside_to = self.place[k] + (j[inside] - first) * size[k] + i[inside] - first

        self.before = np.empty(outside.size, self.dtype)
        self.lu = np.empty(int(self.place[-1]), self.dtype)
        self.pivot, self.work = np.empty(n, np.int64), np.empty(2 * DENSE)
        self.runs: list[tuple[int, int, _Group | None]] = []  # blocks of each run
        for first, after in zip(form.run[:-1].tolist(), form.run[1:].tolist()):
            large = None if dense[first] else self._group(rows, first, after, ordering)
            self.runs.append((first, after, large))
        self._eliminate(rows.data)

    def _group(self, rows: Any, first: int, after: int, ordering: str) -> _Group:
        """System of the large blocks of a run, factorized."""
        from scipy.sparse import block_diag

        form, parts = self.form, []
        numbered = rows.copy()
        numbered.data = np.arange(1, rows.nnz + 1)  # says where an entry comes from
        for k in range(first, after):
            places = slice(form.block[k], form.block[k + 1])
            parts.append(numbered[form.row[places]][:, form.column[places]])
        entries = block_diag(parts, format="csr")
        entries.sort_indices()
        graph = cut(entries, None, None)
        at, to = entries.data.astype(np.int64) - 1, entries_at(graph, entries).at
        values = np.zeros(graph.nnz, self.dtype)
        values[to] = rows.data[at]
        places = slice(int(form.block[first]), int(form.block[after]))
        factor = Factor(analyze(graph, ordering, values=values), values)
        return _Group(places, at, to, graph.nnz, factor)

    @property
    def nnz(self) -> int:
        """Entries that are stored for the factors."""
        large = sum(group.factor.symbolic.arena_size for group in self._groups())
        return int(self.lu.size + self.before.size + large)

    def refactorize(self, data: Array) -> None:
        """Factorize other entries of the same pattern.

        Parameters
        ----------
        data : ndarray
            Of the canonical CSR array.

        Raises
        ------
        SingularPivotError
            As for the first matrix.
        """
        for group in self._groups():
            group.factor.refactorize(group.values(data))
        self._eliminate(data)

    def _groups(self) -> list[_Group]:
        return [group for *_, group in self.runs if group is not None]

    def _eliminate(self, data: Array) -> None:
        """Factorize the dense blocks."""
        self.before[:] = data[self.before_at]
        self.lu[:] = 0.0
        self.lu[self.inside_to] = data[self.inside_at]
        threshold = 64.0 * EPS[self.dtype]
        failed = factorize_dense(
            self.form.block, self.place, self.lu, self.pivot, self.work, threshold
        )
        if failed:
            row = int(self.form.row[failed - 1])
            raise SingularPivotError(
                f"a diagonal block of the block triangular form is singular at row {row}",
                row, failed - 1, 0.0,
            )  # fmt: skip

    def solve(self, b: Array, trans: str = "N") -> Array:
        """Solution of A x = b.

        Parameters
        ----------
        b : ndarray, shape (N,) or (N, k)
        trans : {"N", "T", "H"}, optional

        Returns
        -------
        ndarray, shape of b

        Raises
        ------
        ValueError
            If b has another shape or is not finite.
        OverflowError
            If the solution is not finite.
        """
        if trans not in ("N", "T", "H"):
            raise ValueError(f"trans is {trans!r}, it must be 'N', 'T' or 'H'")
        if b.dtype.kind == "c" and self.dtype.kind != "c":
            return np.asarray(self.solve(b.real, trans) + 1j * self.solve(b.imag, trans))
        n = self.form.row.size
        if b.ndim not in (1, 2) or b.shape[0] != n:
            raise ValueError(f"b has shape {b.shape}, it must be ({n},) or ({n}, k)")
        b = as_numbers(b, self.dtype, "b")
        if not np.isfinite(b).all():
            raise ValueError(f"b is not finite at row {np.argwhere(~np.isfinite(b))[0][0]}")
        with np.errstate(all="ignore"):
            return self._substitute(b, trans)

    def _substitute(self, b: Array, trans: str) -> Array:
        form, transposed = self.form, trans != "N"
        from_place, to_place = (form.column, form.row) if transposed else (form.row, form.column)
        conjugate = trans == "H" and b.dtype.kind == "c"
        x = np.ascontiguousarray(b[from_place].T).reshape(-1, from_place.size)
        if conjugate:
            np.conjugate(x, out=x)
        step = solve_dense_transposed if transposed else solve_dense
        for first, after, group in reversed(self.runs) if transposed else self.runs:
            if group is not None and transposed:
                self._solve_group(group, x, "T")
            step(
                form.block, self.place, self.before_start, self.before_index,
                self.before, self.lu, self.pivot, first, after, x,
            )  # fmt: skip
            if group is not None and not transposed:
                self._solve_group(group, x, "N")
        if not np.isfinite(x).all():
            raise OverflowError("the solution overflows: scale the matrix or the right-hand side")
        if conjugate:
            np.conjugate(x, out=x)
        out = np.empty_like(x)
        out[:, to_place] = x
        return out[0] if b.ndim == 1 else out.T

    def _solve_group(self, group: _Group, x: Array, trans: str) -> None:
        if not np.isfinite(x[:, group.places]).all():
            raise OverflowError("the solution overflows: scale the matrix or the right-hand side")
        x[:, group.places] = group.factor.solve(x[:, group.places].T, trans).T
