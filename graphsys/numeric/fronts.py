"""Multifrontal factors of a matrix: rows are exchanged between blocks, and pivots delayed."""

from __future__ import annotations

from collections.abc import Hashable
from copy import copy
from dataclasses import InitVar, dataclass, field
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.kernels.base.layout import ORDER_AT, ROWS, SUPERNODES
from graphsys.kernels.frontal.front import LEAST
from graphsys.kernels.frontal.multifrontal import (
    ALL_DELAYED,
    FACTORS_FULL,
    FRONT_FIELDS,
    FRONT_FULL,
    HEADER,
    HEADERS_FULL,
    INFO,
    NAMES_FULL,
    NEEDED,
    PIVOTS,
    STACK_FULL,
    STOPPED,
    factorize_fronts,
    front_sizes,
    list_entries,
)
from graphsys.kernels.frontal.pivots import LEAST as LEAST_SIGN
from graphsys.kernels.frontal.pivots import (
    NEGATIVE,
    POSITIVE,
    count_signs,
    gather_pivots,
    largest_pivot,
)
from graphsys.kernels.frontal.selected_inverse import (
    invert_fronts,
    list_inverse_entries,
    stack_inverses,
)
from graphsys.kernels.frontal.substitution import solve_fronts
from graphsys.kernels.single.refinement import maximum_norm
from graphsys.matrix.block import HERMITIAN
from graphsys.matrix.from_scipy import coordinates
from graphsys.matrix.vectors import aligned
from graphsys.symbolic import Symbolic

Array = NDArray[Any]
Ints = NDArray[np.int64]

#: Least pivot relative to the largest entry of its column in its front. Entries of L are at most
#: 10. MUMPS and MA57 take 0.01; with 0.1 growth is less, and few more pivots are delayed.
THRESHOLD = 0.1
#: The same for weak pivots, which are taken where a front has no others: good ones, as in MUMPS and
#: MA57, and weak ones. Solutions keep ten digits: Ipopt refines them.
WEAK_THRESHOLDS = 0.01, 1e-4
#: The same for solves that check each row, and a second pair where refinement is slow: without it
#: 27 of 640 solutions of late interior-point systems need three refinements or more, with it none.
REFINED_THRESHOLDS = WEAK_THRESHOLDS, (0.1, 0.02)
#: What rounding errors may be of a pivot: each refinement gains as much. They are those of the
#: terms that it is a sum of, which pivots as small as a weak one have multiplied.
ERROR = 0.02
#: Pivots that a first matrix delays, as a part of its rows, from which on nodes are ordered where
#: their pivots were. It saves a third of the time of factorizations of a chain of 8 masses.
MANY_DELAYED = 0.1
#: By how much an array that was too short becomes longer than what was asked for.
MORE = 1.5
#: Names of the arrays that a status of `factorize_fronts` calls too short.
TOO_SHORT = {
    FRONT_FULL: "front",
    STACK_FULL: "stack",
    HEADERS_FULL: "headers",
    FACTORS_FULL: "factors",
    NAMES_FULL: "names",
}


def _count(listed: tuple[Ints, Ints, Ints]) -> int:
    """Number of runs."""
    return listed[1].size


@dataclass(slots=True, eq=False)
class Fronts:
    """Factors of one matrix by the multifrontal method with threshold pivoting.

    Rows are exchanged, and 2 x 2 pivots of symmetric matrices chosen, within a front. Pivots below
    `THRESHOLD` of their column are delayed to the parent of their front.

    Attributes
    ----------
    symbolic : Symbolic
    dtype : dtype
    entries : tuple of two ndarray of int, or None
        Row and column of each value that is factorized, in the order of the graph's rows; of a
        symmetric matrix each entry in either triangle. By default they are `System.values`.
    arrays : dict of str to ndarray
        Work arrays and factors of `factorize_fronts`, as long as they ever had to be.
    table : ndarray of int, shape (supernodes, 4)
        Rows, pivots, place of the factors and place of the names of each front.
    thresholds : tuple of two float
        Least pivots, relative to their columns, that are good, and that are not delayed.
    least : float
        Least pivot relative to its column.
    made : float
        Largest magnitude of a pivot.
    growth : float
        `growth_of` the matrix, where weak pivots are delayed.
    delayed : int
        How often a pivot was delayed.
    listed : tuple of three ndarray of int
        Entries of each front, from `list_entries`.

    References
    ----------
    .. [1] I. S. Duff, J. K. Reid, The multifrontal solution of indefinite sparse symmetric linear
       equations, ACM Trans. Math. Softw. 9, 1983.
    .. [2] P. R. Amestoy, I. S. Duff, J.-Y. L'Excellent, Multifrontal parallel distributed symmetric
       and unsymmetric solvers, Comput. Methods Appl. Mech. Engrg. 184, 2000.
    """

    symbolic: Symbolic
    dtype: np.dtype[Any]
    entries: InitVar[tuple[Ints, Ints] | None] = None
    thresholds: tuple[float, float] = (THRESHOLD, THRESHOLD)
    arrays: dict[str, Array] = field(init=False)
    table: Ints = field(init=False)
    least: float = field(init=False, default=1.0)
    made: float = field(init=False, default=0.0)
    growth: float = field(init=False, default=1.0)
    delayed: int = field(init=False, default=0)
    listed: tuple[Ints, Ints, Ints] = field(init=False)
    _gathered: tuple[Array, Array, Ints, Ints] | None = field(init=False, default=None)

    def __post_init__(self, entries: tuple[Ints, Ints] | None) -> None:
        program = self.symbolic.panels
        factors, names, largest, space = front_sizes(program)
        self.table = np.zeros((int(program[SUPERNODES]), FRONT_FIELDS), np.int64)
        self.listed = self._list(entries)
        self.arrays = {}
        lengths = {
            "front": space, "stack": 2 * largest * largest,
            "headers": 4 * largest + HEADER, "place": int(program[ROWS]),
            "factors": factors, "names": names,
        }  # fmt: skip
        for name, length in lengths.items():
            kind = self.dtype if name in ("front", "stack", "factors") else np.dtype(np.int64)
            self.arrays[name] = aligned(max(length, 1), kind)

    def _list(self, entries: tuple[Ints, Ints] | None) -> tuple[Ints, Ints, Ints]:
        """Runs of entries of each front, from `list_entries`."""
        program = self.symbolic.panels
        row, column = coordinates(self.symbolic.graph) if entries is None else entries
        if entries is not None or not self.symbolic.symmetric:
            return self._runs(row, column, None)
        position = np.empty(int(program[ROWS]), np.int64)
        position[program[int(program[ORDER_AT]) :][: position.size]] = np.arange(position.size)
        row_at, column_at = position[row], position[column]
        lower = self._runs(row, column, np.flatnonzero(row_at >= column_at))
        if self.symbolic.symmetric == HERMITIAN:  # fronts are lower triangles
            return lower
        # Runs are along blocks, or along the rows of scalar graphs (27 + 13 early: 1.19 without).
        return min(lower, self._runs(row, column, np.flatnonzero(row_at <= column_at)), key=_count)

    def _runs(self, row: Ints, column: Ints, chosen: Ints | None) -> tuple[Ints, Ints, Ints]:
        """Runs of the chosen entries, or of all."""
        program = self.symbolic.panels
        start, rows = np.empty(len(self.table) + 1, np.int64), int(program[ROWS])
        source, target = np.empty((2, row.size if chosen is None else chosen.size), np.int64)
        work = np.empty((2, rows), np.int64)
        if chosen is None:
            chosen = np.arange(row.size)
        list_entries(program, row, column, chosen, *work, start, source, target)
        runs = int(start[-1])
        return start, source[:runs].copy(), target[:runs].copy()

    def fresh(self) -> Fronts:
        """The same for another matrix: with arrays of its own, of the lengths of these."""
        other = copy(self)
        other.table = np.zeros_like(self.table)
        other.arrays = {name: aligned(a.size, a.dtype) for name, a in self.arrays.items()}
        return other

    def lengthen(self, status: int, info: Array) -> None:
        """Put a longer array in the place of a short one, with what that held.

        Parameters
        ----------
        status : int
            What `factorize_fronts` returned.
        info : ndarray
            Its ``info``.
        """
        name, length = TOO_SHORT[status], int(MORE * info[NEEDED])
        held = self.arrays[name]
        self.arrays[name] = aligned(length, held.dtype)
        self.arrays[name][: held.size] = held

    def factorize(self, values: Array) -> int:
        """Factorize a matrix: 0, or 1 + a row, in elimination order, that has no pivot.

        Weak pivots are not delayed more often than the matrix has rows: 1 then, and where entries
        are not finite.

        Parameters
        ----------
        values : ndarray, shape (graph.nnz,)
            Equilibrated.
        """
        program, info = self.symbolic.panels, np.zeros(INFO)
        good, weak = self.thresholds
        most = float(program[ROWS]) if self.is_weak else np.inf
        while True:
            status = int(
                factorize_fronts(
                    program, *self.listed, values, good, weak, most, np.inf,
                    *self.arrays.values(), self.table.reshape(-1), info,
                )
            )  # fmt: skip
            if status == STOPPED:
                return 1
            if status >= 0:
                break
            self.lengthen(status, info)
        self.least, self.delayed = float(info[LEAST]), int(info[ALL_DELAYED])
        self._gathered = None
        if status == 0:
            symmetric = bool(self.symbolic.symmetric)
            table, factors = self.table.reshape(-1), self.arrays["factors"]
            self.made = float(largest_pivot(table, factors, symmetric))
            if self.is_weak:  # solves refine whatever the growth is
                return 0 if np.isfinite(self.made) else 1
            self.growth = self.growth_of(values)
            if np.isnan(self.growth):  # an infinite pivot, whose row and column are then lost
                return 1
        return status

    def growth_of(self, values: Array) -> float:
        """Largest pivot relative to the largest entry of the matrix; NaN if that is not finite."""
        given = float(maximum_norm(values, 0, values.size))
        if not np.isfinite(given):
            return np.nan
        return max(1.0, self.made / given) if given > 0.0 else 1.0

    def _pivots(self) -> tuple[Array, Array, Ints, Ints]:
        """Pivots, the subdiagonal of D, and their rows and columns, once for each matrix."""
        if self._gathered is not None:
            return self._gathered
        n = int(self.table[:, PIVOTS].sum())
        pivots, below = np.empty((2, n), self.dtype)
        rows, columns = np.empty((2, n), np.int64)
        gather_pivots(
            self.table.reshape(-1), self.arrays["names"], self.arrays["factors"],
            bool(self.symbolic.symmetric), pivots, below, rows, columns,
        )  # fmt: skip
        self._gathered = pivots, below, rows, columns
        return self._gathered

    def order(self) -> tuple[Hashable, ...]:
        """Labels of the nodes in the order in which their last pivots were taken."""
        symbolic, names = self.symbolic, self.arrays["names"]
        rows = [names[at : at + pivots] for _, pivots, _, at in self.table.tolist()]
        node = np.repeat(symbolic.step_node, symbolic.graph.size[symbolic.step_node])
        taken, before_end = np.unique(node[np.concatenate(rows)][::-1], return_index=True)
        empty = np.flatnonzero(symbolic.graph.size == 0)
        order = np.concatenate([empty, taken[np.argsort(-before_end)]])
        return tuple(symbolic.graph.labels[k] for k in order.tolist())

    @property
    def nbytes(self) -> int:
        """Bytes of the factors."""
        return self.arrays["factors"].nbytes + self.arrays["names"].nbytes

    def pivots(self) -> Array:
        """Diagonal of U, or of D, shape (N,)."""
        return self._pivots()[0]

    def sizes(self) -> tuple[Array, Ints, Ints]:
        """Magnitude of each pivot, and its row and column in the order of the static analysis.

        A pivot of 2 x 2 counts twice: with its larger eigenvalue and its smaller one, nearly.
        """
        pivots, below, rows, columns = self._pivots()
        size = np.abs(pivots)
        if self.symbolic.symmetric:
            first = np.flatnonzero(below)
            over, between = np.abs(self._determinants()[1])
            size[first] = np.maximum(np.maximum(size[first], size[first + 1]), between)
            size[first + 1] = over / size[first] * between
        return size, rows, columns

    def _determinants(self) -> tuple[Array, Array]:
        """Single pivots, and determinants of pivots of 2 x 2 over their subdiagonal."""
        pivots, below, _, _ = self._pivots()
        first = np.flatnonzero(below)
        single = np.ones(pivots.size, np.bool_)
        single[first] = single[first + 1] = False
        one, other, between = pivots[first], pivots[first + 1], below[first]
        across = between.conj() if self.symbolic.symmetric == HERMITIAN else between
        return pivots[single], np.stack([one / between * other - across, between])

    def slogdet(self) -> tuple[Any, float]:
        """Sign (or phase) and logarithm of the absolute determinant."""
        if self.symbolic.symmetric:
            single, pairs = self._determinants()
            factors = np.concatenate([single, pairs.reshape(-1)])
        else:
            factors = self.pivots()
        size = np.abs(factors)
        sign = np.prod(factors / size) * (1.0 if self._even() else -1.0)
        return sign.astype(self.dtype)[()], float(np.log(size).sum())

    def _even(self) -> bool:
        """True if the exchanges of rows are an even permutation."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        _, _, rows, columns = self._pivots()
        n = rows.size
        graph = coo_array((np.ones(n), (rows, columns)), shape=(n, n))
        cycles, _ = connected_components(graph, directed=False)
        return bool((n - cycles) % 2 == 0)

    @property
    def is_weak(self) -> bool:
        """True if weak pivots are taken rather than delayed."""
        return self.thresholds[1] < self.thresholds[0]

    @property
    def least_certain(self) -> float:
        """Least pivot, relative to the terms that it is a sum of, that rounding leaves alone."""
        return float(np.finfo(self.dtype).eps) / self.thresholds[1] / ERROR

    def inertia(self) -> tuple[int, int]:
        """Numbers of positive and negative eigenvalues of D (Sylvester's law).

        Both are 0 where a weak pivot may be no more than rounding errors.
        """
        signs, sums = np.empty(3), np.empty(int(self.symbolic.panels[ROWS]))
        names, factors = self.arrays["names"], self.arrays["factors"]
        count_signs(self.table.reshape(-1), names, factors, sums, signs)
        if self.is_weak and not signs[LEAST_SIGN] >= self.least_certain:
            return 0, 0
        return int(signs[POSITIVE]), int(signs[NEGATIVE])

    def solve(self, b: Array, count: int, transposed: bool) -> Array:
        """Solution of A x = b, or of A^T x = b, for ``count`` columns, flat."""
        y, x = np.empty((2, int(self.symbolic.panels[ROWS])), self.dtype)
        # The largest front is not larger than the square that it was in.
        part, out = np.empty(isqrt(self.arrays["front"].size), self.dtype), np.empty_like(b)
        solve_fronts(
            self.symbolic.panels, self.table.reshape(-1), self.arrays["names"],
            self.arrays["factors"], b, count, transposed, y, x, part, out,
        )  # fmt: skip
        return out

    def selected_inverse(self) -> Array:
        """Blocks of the inverse in the layout of `System.values`, from the roots down."""
        program, fronts, names = self.symbolic.panels, self.table.reshape(-1), self.arrays["names"]
        rows, count = int(program[ROWS]), len(self.table)
        position, place_row, place_column = np.empty((3, rows), np.int64)
        position[program[int(program[ORDER_AT]) :][:rows]] = np.arange(rows)
        i, j = (position[place] for place in coordinates(self.symbolic.graph))
        stacked = tuple(np.empty((2, count), np.int64))
        listed = np.empty(count + 1, np.int64), np.empty(i.size, np.int64)
        stack, space = stack_inverses(program, fronts, names, place_row, *stacked)
        list_inverse_entries(fronts, names, i, j, place_row, place_column, *listed)
        values, known = np.empty(i.size, self.dtype), np.empty(stack, self.dtype)
        invert_fronts(
            program, fronts, names, stacked, listed, self.arrays["factors"], i, j,
            place_row, place_column, known, np.empty(space, self.dtype), values,
        )  # fmt: skip
        return values
