"""Square root of a positive definite matrix from the blocks of its L D L^T factors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsys.kernels.base.layout import ORDER_AT, PANEL_FIELDS, ROWS, STARTS_AT, SUPERNODES
from graphsys.kernels.single.substitution import pivot_blocks
from graphsys.numeric.both_triangles import wide_factors, wide_program
from graphsys.numeric.factorization import Factorization
from graphsys.numeric.solver import Solver

Array = NDArray[Any]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """Places of D^-1 and W in the arena, for one program; rows are in elimination order.

    Attributes
    ----------
    program : ndarray of int
    wide : ndarray of int
        The program with places for all of W: see `graphsys.numeric.both_triangles`.
    order : ndarray of int, shape (N,)
        The user's row of each row.
    blocks : list of tuple (rows (c, w), places (c, w, w))
        Pivot blocks of one size w together.
    upper : ndarray of int, shape (e,)
        Places of W by rows.
    start : ndarray of int, shape (N + 1,)
        Row k of W is ``upper[start[k]:start[k + 1]]``.
    column : ndarray of int, shape (e,)
    """

    program: Ints
    wide: Ints
    order: Ints
    blocks: list[tuple[Ints, Ints]]
    upper: Ints
    start: Ints
    column: Ints

    @classmethod
    def of(cls, program: Ints) -> Tables:
        """Tables of a program that has all nodes."""
        given, program = program, wide_program(program)
        rows = int(program[ROWS])
        order = program[program[ORDER_AT] : program[ORDER_AT] + rows]
        panel = program[program[STARTS_AT] : program[STARTS_AT] + program[SUPERNODES]]
        p, q, first, lower, upper, pivots, runs = (program[panel + k] for k in range(7))

        run_at = ranges(panel + PANEL_FIELDS + pivots, runs, 3)
        below = ranges(program[run_at + 2], program[run_at + 1])  # rows below each panel
        below_at = np.cumsum(q) - q

        at, ld, w = pivot_blocks(program)
        s = np.repeat(np.arange(panel.size), pivots)
        offset = (at - lower[s]) // (ld + 1)  # of the block in its panel
        blocks = []
        for size in np.unique(w):
            chosen, step = np.flatnonzero(w == size), np.arange(size)
            places = at[chosen, None, None] + step[:, None] + step * ld[chosen, None, None]
            blocks.append(((first[s] + offset)[chosen, None] + step, places))

        block = np.repeat(np.arange(w.size), w)  # of each row
        r = np.arange(rows) - (np.cumsum(w) - w)[block]
        s, offset, w, ld, at = s[block], offset[block], w[block], ld[block], at[block]
        inner = p[s] - offset - w
        starts = np.column_stack([at + r + w * ld, upper[s] + offset + r]).ravel()
        counts = np.column_stack([inner, q[s]]).ravel()
        steps = np.column_stack([ld, p[s]]).ravel()
        first_column = first[s] + offset + w
        # Columns: consecutive ones in the panel, then those of its rows below.
        ahead = np.concatenate([np.arange(rows), below])
        column_at = np.column_stack([first_column, rows + below_at[s]]).ravel()
        start = np.concatenate([[0], np.cumsum(inner + q[s])])
        return cls(
            given, program, order, blocks, ranges(starts, counts, steps), start,
            ahead[ranges(column_at, counts)],
        )  # fmt: skip


def ranges(start: Ints, count: Ints, step: Any = 1) -> Ints:
    """Runs ``start, start + step, ...`` of ``count`` numbers each, one after another."""
    run = np.repeat(np.arange(count.size), count)
    place = np.arange(run.size) - (np.cumsum(count) - count)[run]
    return np.asarray(start[run] + place * np.broadcast_to(step, count.shape)[run])


class Root:
    """Cholesky factor P A P^T = L L^T of a factorized matrix, from the pivot blocks of its L D L^T.

    With unit block triangular I + W^T and D = C C^T, L = (I + W^T) C. An arena with W, with
    D^-1 := C^-T and without lower blocks makes the kernel of a solve compute L^-T, and that of a
    transposed solve L^-1.

    Parameters
    ----------
    factorization : Factorization
    tables : Tables
    by_rows : bool, optional
        Whether each pivot block has one row.
    """

    def __init__(self, factorization: Factorization, tables: Tables, by_rows: bool = False) -> None:
        self.tables, self._factorization, self.by_rows = tables, factorization, by_rows
        self.pivot_ratio = factorization.pivot_ratio
        arena = factorization.arena
        self.diagonal = np.empty(tables.order.size, arena.dtype)  # of L
        self._roots: list[Array] = []  # C^-T, upper triangular
        for rows, places in tables.blocks:
            inverse = arena[places]
            inverse = 0.5 * (inverse + np.swapaxes(inverse, 1, 2))
            try:  # D^-1 = U U^T with U upper triangular: backwards, from the last row
                root = np.linalg.cholesky(inverse[:, ::-1, ::-1])[:, ::-1, ::-1]
            except np.linalg.LinAlgError:
                eigenvalues = np.linalg.eigvalsh(inverse)
                lost = rows[~(eigenvalues[:, 0] > 0.0)]
                raise IndefiniteError(
                    int(tables.order[(lost if lost.size else rows)[0, 0]])
                ) from None
            self._roots.append(root)
            self.diagonal[rows] = 1.0 / np.diagonal(root, axis1=1, axis2=2)
        self.scale: Array | None = None
        if factorization.scaling is not None:  # A = R^-1 (R A R) R^-1
            exponent = factorization.scaling.row[tables.order]
            self.scale = np.ldexp(np.ones(exponent.size, arena.dtype), exponent)
            self.diagonal /= self.scale
        self._half: Solver | None = None

    def solve(self, b: Array, transposed: bool) -> Array:
        """L^-1 b, or L^-T b, of rows in elimination order, shape (N,) or (N, k)."""
        if self._half is None:
            factors, symbolic = self._factors(), self._factorization.symbolic
            arena = np.zeros_like(factors)
            arena[self.tables.upper] = factors[self.tables.upper]
            for (_, places), root in zip(self.tables.blocks, self._roots):
                arena[places] = root
            symbolic = replace(symbolic, program=self.tables.wide)
            self._half = Solver(symbolic, arena, None, 1.0, 0, None)
        scale = None if self.scale is None else self.scale.reshape(-1, *(1,) * (b.ndim - 1))
        right = np.empty_like(b, order="F")
        right[self.tables.order] = b if transposed or scale is None else b * scale
        count = 1 if b.ndim == 1 else b.shape[1]
        flat = self._half.substitute(right.ravel(order="F"), count, not transposed)
        x: Array = flat.reshape(b.shape, order="F")[self.tables.order]
        return x if not transposed or scale is None else x * scale

    def _factors(self) -> Array:
        """Factors with all of W."""
        return wide_factors(self.tables.program, self.tables.wide, self._factorization.arena)

    def matrix(self) -> Any:
        """L as a `scipy.sparse.csc_array`, shape (N, N)."""
        tables, n = self.tables, self.diagonal.size
        below = sp.csc_array(
            (self._factors()[tables.upper], tables.column, tables.start), shape=(n, n)
        )
        rows, columns, entries = [], [], []
        for (row, _), root in zip(tables.blocks, self._roots):
            i, j = np.tril_indices(row.shape[1])
            rows.append(row[:, i].ravel())
            columns.append(row[:, j].ravel())
            entries.append(np.swapaxes(np.linalg.inv(root), 1, 2)[:, i, j].ravel())
        where = (np.concatenate(rows), np.concatenate(columns)) if rows else ([], [])
        data = np.concatenate(entries) if entries else np.empty(0)
        C = sp.csc_array((data, where), shape=(n, n))
        L = sp.csc_array(below @ C + C)
        if self.scale is not None:
            L = sp.csc_array(sp.diags_array(1.0 / self.scale) @ L)
        L.sort_indices()  # the diagonal comes first in each column
        L.data[L.indptr[:-1]] = self.diagonal
        return L


class IndefiniteError(Exception):
    """The pivot block of a row of the user is not positive definite."""
