"""Square root of a positive definite matrix from the blocks of its L D L^T factors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsys.kernels.base.layout import (
    BLOCKS,
    ORDER_AT,
    PANEL_FIELDS,
    ROWS,
    STARTS_AT,
    SUPERNODES,
)
from graphsys.kernels.base.widths import GROWN
from graphsys.kernels.single.cholesky_root import block_roots, solve_lower, write_lower
from graphsys.kernels.single.substitution import pivot_blocks
from graphsys.numeric.both_triangles import wide_factors, wide_program
from graphsys.numeric.factorization import Factorization
from graphsys.numeric.solver import explain_not_finite

Array = NDArray[Any]
Ints = NDArray[np.int64]

#: Power of machine epsilon below which pivot ratios of positive definite matrices are too small for
#: the log-determinant and the selected inverse by static factors. From there on inverses of pivot
#: blocks may lose their signs; fields with a range of 300 nodes have 4e-7, and errors no larger
#: than what rounding of the entries causes.
WEAK = 0.5


def is_sound(found: Factorization) -> bool:
    """Whether static factors of a positive definite matrix are good without refinement."""
    if found.fronts is not None:
        return False
    return found.pivot_ratio >= found.eps**WEAK and found.pivot_growth <= GROWN


@dataclass(frozen=True, eq=False)
class Tables:
    """Places of D^-1 and W in the arena, for one program; rows are in elimination order.

    Attributes
    ----------
    program : ndarray of int
    order : ndarray of int, shape (N,)
        The user's row of each row.
    at, ld, size : ndarray of int, shape (b,)
        Places, leading dimensions and sizes of the pivot blocks.
    """

    program: Ints
    order: Ints
    at: Ints
    ld: Ints
    size: Ints

    @classmethod
    def of(cls, program: Ints) -> Tables:
        """Tables of a program that has all nodes, and panels."""
        order = program[program[ORDER_AT] : program[ORDER_AT] + program[ROWS]]
        return cls(program, order, *(np.array(table) for table in pivot_blocks(program)))

    @cached_property
    def starts(self) -> tuple[Ints, Ints, Ints]:
        """Where the blocks of supernodes begin, and the rows and the roots of blocks."""
        program = self.program
        panel = program[program[STARTS_AT] : program[STARTS_AT] + program[SUPERNODES]]
        counts = program[panel + BLOCKS], self.size, self.size**2
        of_supernodes, of_rows, of_roots = (np.concatenate([[0], np.cumsum(c)]) for c in counts)
        return of_supernodes, of_rows, of_roots

    @cached_property
    def wide(self) -> Ints:
        """The program with places for all of W: see `graphsys.numeric.both_triangles`."""
        return wide_program(self.program)

    @cached_property
    def upper(self) -> tuple[Ints, Ints, Ints]:
        """Where rows of W begin (N + 1,), their columns, and their places in the wide arena."""
        program = self.wide
        panel = program[program[STARTS_AT] : program[STARTS_AT] + program[SUPERNODES]]
        p, q, first, lower, upper, pivots, runs = (program[panel + k] for k in range(7))

        run_at = ranges(panel + PANEL_FIELDS + pivots, runs, 3)
        below = ranges(program[run_at + 2], program[run_at + 1])  # rows below each panel
        below_at = np.cumsum(q) - q

        at, ld, w = self.at, self.ld, self.size
        s = np.repeat(np.arange(panel.size), pivots)
        offset = (at - lower[s]) // (ld + 1)  # of the block in its panel
        rows = self.order.size
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
        return start, ahead[ranges(column_at, counts)], ranges(starts, counts, steps)

    @cached_property
    def lower_start(self) -> Ints:
        """Where the columns of L begin, shape (N + 1,)."""
        left = np.repeat(np.cumsum(self.size), self.size) - np.arange(self.order.size)
        return np.concatenate([[0], np.cumsum(left + np.diff(self.upper[0]))])


def ranges(start: Ints, count: Ints, step: Any = 1) -> Ints:
    """Runs ``start, start + step, ...`` of ``count`` numbers each, one after another."""
    run = np.repeat(np.arange(count.size), count)
    place = np.arange(run.size) - (np.cumsum(count) - count)[run]
    return np.asarray(start[run] + place * (step if isinstance(step, int) else step[run]))


class Root:
    """Cholesky factor P A P^T = L L^H of a factorized matrix, from the pivot blocks of its L D L^H.

    With unit block triangular I + W^H and D^-1 = U U^H, U upper triangular, L = (I + W^H) U^-H. Of
    real matrices these are transposes.

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
        arena, size = factorization.arena, tables.size
        self.diagonal = np.empty(tables.order.size, arena.real.dtype)  # of L
        self._roots = np.empty(int((size * size).sum()), arena.dtype)
        row = block_roots(tables.at, tables.ld, size, arena, self._roots, self.diagonal)
        if row >= 0:
            raise IndefiniteError(int(tables.order[row]))
        self.scale: Array | None = None
        if factorization.scaling is not None:  # A = R^-1 (R A R) R^-1
            exponent = factorization.scaling.row[tables.order]
            self.scale = np.ldexp(np.ones_like(self.diagonal), exponent)
            self.diagonal /= self.scale
        self._lower: tuple[Ints, Array] | None = None

    def belongs_to(self, found: Factorization) -> bool:
        """True if this root is of such factors as they are, in their own scaling."""
        same = found is self._factorization and found.panels is self.tables.program
        return same and found.fronts is None and found.scaling is None

    def renew(self, supernodes: Ints) -> None:
        """Compute the blocks of some supernodes anew, the only ones whose factors have changed.

        A row without a root raises `IndefiniteError`, and this root is of no use then.
        """
        tables, (of_supernodes, of_rows, of_roots) = self.tables, self.tables.starts
        first = of_supernodes[supernodes]
        block = ranges(first, of_supernodes[supernodes + 1] - first)
        size = tables.size[block]
        row = ranges(of_rows[block], size)
        diagonal = np.empty(row.size, self.diagonal.dtype)
        roots = np.empty(int((size * size).sum()), self._roots.dtype)
        arena = self._factorization.arena
        failed = block_roots(tables.at[block], tables.ld[block], size, arena, roots, diagonal)
        if failed >= 0:
            raise IndefiniteError(int(tables.order[row[failed]]))
        self.diagonal[row] = diagonal
        self._roots[ranges(of_roots[block], size * size)] = roots
        self.pivot_ratio, self._lower = self._factorization.pivot_ratio, None

    def solve(self, b: Array, transposed: bool) -> Array:
        """L^-1 b, or L^-H b, of rows in elimination order, shape (N,) or (N, k)."""
        x = np.array(b, order="C")
        solve_lower(self.tables.lower_start, *self._columns(), transposed, x.ravel())
        if not np.isfinite(x).all():
            given = np.empty_like(b)
            given[self.tables.order] = b
            explain_not_finite(self._factorization.symbolic.graph, given.ravel(order="F"))
        return x

    def matrix(self) -> Any:
        """L as a `scipy.sparse.csc_array`, shape (N, N)."""
        index, data = self._columns()
        n = self.diagonal.size
        arrays = data.copy(), index.copy(), self.tables.lower_start.copy()
        return sp.csc_array(arrays, shape=(n, n))

    def _columns(self) -> tuple[Ints, Array]:
        """Rows and numbers of L by columns, the diagonal first; computed once."""
        if self._lower is None:
            tables, start = self.tables, self.tables.lower_start
            factors = wide_factors(tables.program, tables.wide, self._factorization.arena)
            index, data = np.empty(start[-1], np.int64), np.empty(start[-1], factors.dtype)
            inverse = np.empty(int(tables.size.max(initial=0)) ** 2, factors.dtype)
            write_lower(
                tables.size, *tables.upper, start, self._roots, factors, inverse, index, data
            )
            if self.scale is not None:
                data /= self.scale[index]
            data[start[:-1]] = self.diagonal
            self._lower = index, data
        return self._lower


class IndefiniteError(Exception):
    """The pivot block of a row of the user is not positive definite."""
