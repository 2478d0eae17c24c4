"""Condensation of a system onto chosen nodes: Schur complements, without eliminating the rest."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphsys.analysis.pivot_supply import WEAK
from graphsys.errors import SingularPivotError
from graphsys.factor import Factor
from graphsys.kernels.base.layout import ORDER_AT, ROWS, SUPERNODES, WIDEST
from graphsys.kernels.single import condensation as compiled
from graphsys.kernels.single.matrix import absolute_sums
from graphsys.matrix.block import as_dtype, as_numbers, mirrored
from graphsys.matrix.checksums import Sealed
from graphsys.matrix.from_scipy import check_finite, coordinates
from graphsys.matrix.graph import BlockGraph, from_pairs
from graphsys.matrix.vectors import check_rows, join
from graphsys.numeric.factorization import Factorization
from graphsys.numeric.solver import explain_not_finite
from graphsys.symbolic import Symbolic, analyze

if TYPE_CHECKING:
    from graphsys.system import System

Array = NDArray[Any]

#: Columns of A_en that are solved for at once, where A_ee is a system of its own.
COLUMNS = 64


def condense(system: System, nodes: Iterable[Hashable], ordering: Any = "auto") -> Condensation:
    """Condense a system onto chosen nodes: eliminate all others.

    Parameters
    ----------
    system : System
    nodes : iterable of labels
        Nodes n to keep, in the order of the rows of the result.
    ordering : str or sequence of labels, optional
        Elimination order of the others, as for `System.analyze`.

    Returns
    -------
    Condensation

    Raises
    ------
    TypeError
        If `system` is not a System.
    UnknownNodeError
        If a label names no node.
    ValueError
        If a node is given twice, or a block has entries that are not finite.
    SingularPivotError
        If the eliminated part is singular.

    Examples
    --------
    >>> import graphsys as gs
    >>> system = gs.System(gs.chain(3), 1, symmetric=True)
    >>> for k in range(3):
    ...     system[k, k] = 2.0
    >>> system[0, 1] = system[1, 2] = -1.0
    >>> gs.condense(system, [2, 0]).schur()
    array([[ 1.5, -0.5],
           [-0.5,  1.5]])
    """
    if not hasattr(system, "analyze"):
        raise TypeError(
            f"system is a {type(system).__name__}: give a System; gs.System.from_scipy(A) makes one"
        )
    keep = system.graph.nodes(nodes)
    chosen = tuple(system.graph.labels[i] for i in keep)
    seen: set[int] = set()
    for label, i in zip(chosen, keep):
        if i in seen:
            raise ValueError(f"node {label!r} is given twice")
        seen.add(i)
    symbolic = analyze(
        system.graph,
        ordering,
        values=system.values,
        symmetric=system.symmetric,
        last=frozenset(keep),
    )
    return Condensation(symbolic, system.values, chosen)


class Condensation(Sealed):
    """A system condensed onto chosen nodes n, with all other nodes e eliminated; from `condense`.

    ``schur()`` is S = A_nn - A_ne A_ee^-1 A_en. A x = b is solved by ``S x_n = reduce(b)`` and
    ``x = expand(x_n, b)``; A_ee must be nonsingular, S may be singular. `refactorize` condenses
    other values on the same graph, and reuses the analysis.

    Parameters
    ----------
    symbolic : Symbolic
        Symbolic factorization with these nodes last.
    values : ndarray, shape (symbolic.graph.nnz,)
        Blocks in the layout of the graph.
    nodes : tuple of labels
        Nodes to keep.

    Attributes
    ----------
    symbolic : Symbolic
    nodes : tuple of labels
    rows : ndarray of int, shape (K,)
        Rows of the system that correspond to the rows of S.
    pivot_ratio : float
        Smallest pivot of A_ee relative to its row, as `Factor.pivot_ratio`.
    """

    def __init__(self, symbolic: Symbolic, values: Array, nodes: tuple[Hashable, ...]) -> None:
        self.nodes = nodes
        self.dtype = as_dtype(np.asarray(values).dtype)
        start, index = symbolic.graph.row_start, symbolic.graph.index
        ranges = [np.arange(start[index[u]], start[index[u] + 1]) for u in nodes]
        self.rows = np.concatenate([np.zeros(0, np.int64), *ranges])
        self._partial = _Partial(
            symbolic, self.dtype, frozenset(index[u] for u in nodes), self.rows
        )
        self._eliminated: _Partial | _Separate = self._partial
        self._ready, self._interrupted = False, False
        self.refactorize(values)

    @property
    def symbolic(self) -> Symbolic:
        """Symbolic factorization in use."""
        return self._partial.symbolic

    @property
    def pivot_ratio(self) -> float:
        """Smallest pivot of A_ee relative to its row, as `Factor.pivot_ratio`."""
        return self._eliminated.pivot_ratio

    @property
    def graph(self) -> BlockGraph:
        """The graph of the whole matrix."""
        return self.symbolic.graph

    def refactorize(self, values: Any) -> Condensation:
        """Condense other values on the same graph.

        Parameters
        ----------
        values : array_like, shape (graph.nnz,)
            Blocks in the layout of the graph.

        Returns
        -------
        Condensation
            This one.

        Raises
        ------
        SingularPivotError
            If A_ee is singular.
        ValueError
            If `values` has the wrong shape or entries that are not finite.
        """
        values = np.ascontiguousarray(as_numbers(values, self.dtype, "values"))
        if values.shape != (self.graph.nnz,):
            raise ValueError(f"values has shape {values.shape}, it must be ({self.graph.nnz},)")
        self._ready = False
        check_finite(self.graph, values)
        if self._interrupted:  # nothing of its arrays is to be trusted
            old = self._partial
            self._partial = _Partial(old.symbolic, self.dtype, old.last, self.rows)
            self._interrupted = False
        try:
            self._eliminated = self._partial
            if not self._partial.succeeds(values):
                self._eliminated = self._separate(values)
        except (SingularPivotError, ValueError):
            raise
        except BaseException:  # as by Ctrl-C
            self._interrupted = True
            raise
        self._ready = True
        return self

    def _separate(self, values: Array) -> _Separate:
        """A_ee as a system of its own, in double precision if A_ee^-1 A_en asks for it."""
        try:
            return _Separate(self._partial, values)
        except OverflowError:
            wide = np.result_type(self.dtype, np.float64)
            if wide == self.dtype:
                raise
            return _Separate(self._partial, values.astype(wide))

    def _check_ready(self) -> None:
        if self._interrupted:
            raise ValueError(
                "the last refactorize was interrupted, so nothing is condensed: call refactorize "
                "again"
            )
        if not self._ready:
            raise ValueError("the last refactorize failed, so nothing is condensed")

    def schur(self) -> Array:
        """Schur complement S = A_nn - A_ne A_ee^-1 A_en, rows and columns in the nodes' order.

        Returns
        -------
        ndarray, shape (K, K)

        Raises
        ------
        OverflowError
            If an entry overflows.
        """
        self._check_ready()
        schur = self._as_given(self._eliminated.schur())
        if not np.isfinite(schur).all():
            raise OverflowError("the Schur complement overflows: scale the matrix")
        return schur

    def reduce(self, b: Any) -> Array:
        """Right-hand side of the condensed system S x_n = reduce(b): b_n - A_ne A_ee^-1 b_e.

        Parameters
        ----------
        b : array_like, shape (N,) or (N, k), or {label: vector}

        Returns
        -------
        ndarray, shape (K,) or (K, k)
        """
        self._check_ready()
        b = self._vectors(b)
        count = 1 if b.ndim == 1 else b.shape[1]
        flat = b.ravel(order="F")
        reduced = self._as_given(self._eliminated.reduce(flat, count))
        if not np.isfinite(reduced).all():
            explain_not_finite(self.graph, flat)
        return reduced.reshape((self.rows.size, *b.shape[1:]), order="F")

    def expand(self, x: Any, b: Any = None) -> Array:
        """Solution of all nodes from that of the kept nodes: x_e = A_ee^-1 (b_e - A_en x_n).

        Parameters
        ----------
        x : array_like, shape (K,) or (K, k)
            Solution x_n of the kept nodes.
        b : array_like, shape (N,) or (N, k), or {label: vector}, optional
            Right-hand side; zero by default.

        Returns
        -------
        ndarray, shape (N,) or (N, k)
        """
        self._check_ready()
        known = as_numbers(x, self.dtype, "x")
        if known.ndim not in (1, 2) or known.shape[0] != self.rows.size:
            kept = self.rows.size
            raise ValueError(f"x has shape {known.shape}, it must be ({kept},) or ({kept}, k)")
        shape = (self.graph.rows, *known.shape[1:])
        if not np.isfinite(known).all():
            raise ValueError("x is not finite")
        columns: Array = np.zeros(shape, self.dtype) if b is None else self._vectors(b)
        if columns.shape != shape:
            raise ValueError(f"b has shape {columns.shape}, with this x it must be {shape}")
        count = 1 if columns.ndim == 1 else columns.shape[1]
        flat = columns.ravel(order="F")
        solution = self._as_given(self._eliminated.expand(flat, known.ravel(order="F"), count))
        if not np.isfinite(solution).all():
            explain_not_finite(self.graph, flat)
        return solution.reshape(shape, order="F")

    def _as_given(self, numbers: Array) -> Array:
        """Numbers of the type of the system; inf where they leave its range."""
        with np.errstate(over="ignore"):
            return numbers.astype(self.dtype, copy=False)

    def _vectors(self, b: Any) -> Array:
        given = join(self.graph, b, self.dtype) if isinstance(b, Mapping) else b
        columns: Array = as_numbers(given, self.dtype, "b")
        check_rows(self.graph, columns)
        return columns

    def __repr__(self) -> str:
        return (
            f"Condensation({self.rows.size} of {self.graph.rows} unknowns kept, "
            f"{self.symbolic.ordering} order, {self.dtype})"
        )


class _Partial(Factorization):
    """Static factors of A_ee, and what they leave of the last nodes."""

    def __init__(
        self, symbolic: Symbolic, dtype: np.dtype[Any], last: frozenset[int], rows: Array
    ) -> None:
        self.rows = rows
        super().__init__(symbolic, dtype, last)
        total = int(self.program[ROWS])
        order = self.program[self.program[ORDER_AT] :][:total]
        position = np.empty(total, np.int64)
        position[rows] = np.arange(rows.size)
        self.place = position[order[total - rows.size :]]

    def succeeds(self, values: Array) -> bool:
        """Factorize; False where a pivot is singular or doubtful, or the result cancels."""
        return not (self._eliminate(values) or self.doubtful or self._cancels(values))

    def _cancels(self, values: Array) -> bool:
        """True if rows of the Schur complement are rounding errors, or leave single precision."""
        graph, size = self.symbolic.graph, np.abs(self.schur())
        if self.dtype != np.result_type(self.dtype, np.float64) and not np.isfinite(size).all():
            return True
        sums = np.empty((2, graph.rows), size.dtype)
        with np.errstate(all="ignore"):
            for transposed in (False, True):
                absolute_sums(*graph.tables(), values, transposed, sums[int(transposed)])
            left = np.minimum(size.max(axis=1, initial=0.0), size.max(axis=0, initial=0.0))
            return not (left >= WEAK * sums.min(axis=0)[self.rows]).all()

    def schur(self) -> Array:
        """A_nn - A_ne A_ee^-1 A_en, as the elimination left it."""
        kept, total = self.rows.size, int(self.symbolic.program[SUPERNODES])
        schur = np.empty(kept * kept, self.dtype)
        compiled.read_schur(self.program, total, self.place, self.arena, schur)
        return schur.reshape((kept, kept), order="F")

    def reduce(self, b: Array, count: int) -> Array:
        """b_n - A_ne A_ee^-1 b_e."""
        out = np.empty(self.rows.size * count, self.dtype)
        compiled.reduce(self.panels, self.place, self.arena, b, count, self._work(b), out)
        return out

    def expand(self, b: Array, known: Array, count: int) -> Array:
        """A_ee^-1 (b_e - A_en x_n) and x_n, in one vector."""
        out = np.empty(b.size, self.dtype)
        compiled.expand(self.panels, self.place, self.arena, b, known, count, self._work(b), out)
        return out

    def _work(self, b: Array) -> Array:
        return np.empty(b.size + int(self.program[WIDEST]), self.dtype)


class _Separate:
    """A_ee as a system of its own, with delayed pivots and refinement where it needs them.

    The Schur complement is A_nn - A_ne X with A_ee X = A_en. That takes a solve for each unknown
    that is kept, and asks nothing of the elimination order.
    """

    def __init__(self, partial: _Partial, values: Array) -> None:
        from scipy.sparse import coo_array

        symbolic, self.rows = partial.symbolic, partial.rows
        graph, kept = symbolic.graph, partial.rows
        nodes = [i for i in range(graph.size.size) if i not in partial.last]
        of_node = np.full(graph.size.size, -1)
        of_node[nodes] = np.arange(len(nodes))
        pairs = [of_node[side] for side in graph.pairs()]
        inside = (pairs[0] >= 0) & (pairs[1] >= 0)
        labels = tuple(graph.labels[i] for i in nodes)
        own = from_pairs(labels, graph.size[nodes], pairs[0][inside], pairs[1][inside])

        row, column = coordinates(graph)
        place = np.empty(graph.rows, np.int64)  # of a row among the kept, or the eliminated
        self.is_kept = np.zeros(graph.rows, np.bool_)
        self.is_kept[kept] = True
        place[~self.is_kept], place[kept] = np.arange(own.rows), np.arange(kept.size)
        row_kept, column_kept = self.is_kept[row], self.is_kept[column]
        blocks = []
        for r, c, shape in (
            (True, True, (kept.size, kept.size)),
            (True, False, (kept.size, own.rows)),
            (False, True, (own.rows, kept.size)),
        ):
            at = np.flatnonzero((row_kept == r) & (column_kept == c))
            block = coo_array((values[at], (place[row[at]], place[column[at]])), shape=shape)
            blocks.append(block.tocsr())
        corner, self.left, self.right = blocks

        ordering: Any = symbolic.ordering
        if ordering == "given":
            ordering = [label for label in symbolic.order if label in own.index]
        of_own = values[~(row_kept | column_kept)]
        symmetric = symbolic.symmetric
        analysis = analyze(own, ordering, values=of_own, symmetric=symmetric)
        self.factor = Factor(analysis, of_own, refine=True)
        self.found: Array = corner.toarray()
        for start in range(0, kept.size, COLUMNS):
            columns = self.right[:, start : start + COLUMNS].toarray()
            self.found[:, start : start + COLUMNS] -= self.left @ self.factor.solve(columns)
        if symmetric:
            with np.errstate(invalid="ignore"):  # inf of complex numbers, which `schur` refuses
                self.found = self.found / 2.0 + mirrored(self.found, symmetric) / 2.0

    @property
    def pivot_ratio(self) -> float:
        """That of A_ee."""
        return self.factor.pivot_ratio

    def schur(self) -> Array:
        """A copy of A_nn - A_ne A_ee^-1 A_en."""
        return self.found.copy()

    def reduce(self, b: Array, count: int) -> Array:
        """b_n - A_ne A_ee^-1 b_e."""
        columns = b.reshape(count, self.is_kept.size).T
        reduced = columns[self.rows] - self.left @ self.factor.solve(columns[~self.is_kept])
        out: Array = np.ascontiguousarray(reduced.T).ravel()
        return out

    def expand(self, b: Array, known: Array, count: int) -> Array:
        """A_ee^-1 (b_e - A_en x_n) and x_n, in one vector."""
        kept, rows = self.rows.size, self.is_kept.size
        x, at_kept = np.empty((rows, count), self.found.dtype), known.reshape(count, kept).T
        x[self.rows] = at_kept
        rest = b.reshape(count, rows).T[~self.is_kept] - self.right @ at_kept
        x[~self.is_kept] = self.factor.solve(rest)
        return np.ascontiguousarray(x.T).ravel()
