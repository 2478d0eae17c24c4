"""Solves with numeric factors: substitution, refinement, and their report."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys import kernels
from graphsys.errors import InaccurateSolutionWarning
from graphsys.kernels.base.layout import SCALARS, is_nodal
from graphsys.kernels.single.refinement import FINE, GOOD
from graphsys.kernels.single.scalar_ldu import solve_scalars
from graphsys.kernels.single.substitution import solve_nodal
from graphsys.matrix.block import as_numbers
from graphsys.matrix.equilibration import Scaling
from graphsys.matrix.graph import BlockGraph
from graphsys.matrix.vectors import check_rows, join, split
from graphsys.numeric import diagnosis
from graphsys.numeric.fronts import Fronts
from graphsys.numeric.residuals import EPS, Matrix
from graphsys.symbolic import Symbolic

Array = NDArray[Any]
Ints = NDArray[np.int64]


#: Steps of refinement for rows that may contain rounding errors only. One makes the backward error
#: of every other row small (R. D. Skeel, Math. Comp. 35, 1980), if pivots did not grow: of 20,000
#: matrices with rows and columns scaled by 1e+-150, the worst needed 4. Each leaves a machine
#: epsilon of the errors before: there are as many more as the scaling spans.
ROW_REFINEMENTS = 4


@dataclass(frozen=True, slots=True)
class SolveReport:
    """Refinements and errors of the last solve of a factor.

    Attributes
    ----------
    refinements : int
        Steps of iterative refinement.
    backward_error : float or None
        Largest ``|A x - b| / (|A| |x| + |b|)`` of any row; None if not computed. Four machine
        epsilons if the last correction was so small that no residual was needed.
    redundant : dict of label to int
        Rows that depend on others, by node; only with ``factorize(redundant=True)``.
    componentwise_error : float or None
        As ``backward_error``, including rows that contain only rounding errors.
    normwise_error : float or None
        ``|A x - b| / (|A| |x| + |b|)`` in the maximum norm, of the equilibrated matrix; None if the
        backward error is small, or the matrix is not equilibrated.
    """

    refinements: int
    backward_error: float | None
    redundant: dict[Hashable, int] = field(default_factory=dict)
    componentwise_error: float | None = None
    normwise_error: float | None = None


#: Report of a solve that had no reason to compute its residual.
UNREFINED = SolveReport(0, None)


@dataclass(slots=True, eq=False)
class Solver:
    """Numeric factors and what is needed to solve with them, changed with every matrix.

    Attributes
    ----------
    symbolic : Symbolic
    arena : ndarray, shape (symbolic.arena_size,)
        Factors.
    matrix : Matrix or None
        The matrix to refine with, where solves refine.
    pivot_ratio : float
        As `Factor.pivot_ratio`.
    weakest : int
        First row of the pivot block it was in.
    fronts : Fronts or None
        Where it is not None, the factors.
    scaling : Scaling or None
        Where it is not None, factors and matrix are those of the equilibrated one.
    program : ndarray of int
        Of the factors, for their type.
    nodal : bool
        Whether every supernode is one small node, of real numbers: see `kernels.single.nodal_ldu`.
    """

    symbolic: Symbolic
    arena: Array
    matrix: Matrix | None
    pivot_ratio: float
    weakest: int
    fronts: Fronts | None
    scaling: Scaling | None = field(init=False, default=None)
    program: Ints = field(init=False)
    nodal: bool = field(init=False)
    _kept: Matrix | None = field(init=False, default=None)
    _given: Matrix | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.program = self.symbolic.program_for(self.arena.dtype)
        self.nodal = is_nodal(self.program, self.arena.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of right-hand sides and solutions."""
        return self.arena.dtype

    @property
    def plain(self) -> bool:
        """True if `kernels.solve` solves with the factors, in their own scaling."""
        return type(self) is Solver and self.fronts is None and self.scaling is None

    def refine_with(self, values: Array | None) -> None:
        """Refine with a copy of a matrix, or not at all.

        Parameters
        ----------
        values : ndarray, shape (graph.nnz,), or None
        """
        if values is None:
            self.matrix = None
            return
        if self._kept is None:
            self._kept = Matrix(self.symbolic.graph, np.empty_like(values))
        held = values if self.scaling is None else self.scaling.matrix(values)
        self._kept.replace(held)
        self.matrix, self._given = self._kept, None
        if self.scaling is not None and ((held == 0.0) & (values != 0.0)).any():
            self._given = Matrix(self.symbolic.graph, values.copy())

    def solve(self, b: Any, trans: str, out: Array | None) -> tuple[Any, SolveReport]:
        """Solution for any b that `Factor.solve` takes, with its report."""
        graph, dtype = self.symbolic.graph, self.dtype
        if not isinstance(b, np.ndarray) and isinstance(b, Mapping):
            if out is not None:
                raise ValueError("out goes with an array b, not with one by labels")
            x, report = self.solve(join(graph, b, dtype), trans, None)
            return split(graph, x), report
        if trans not in ("N", "T", "H"):
            raise ValueError(f"trans is {trans!r}, it must be 'N', 'T' or 'H'")
        b = np.asarray(b)
        if b.dtype.kind == "c" and dtype.kind != "c":
            x, first = self.solve(b.real, trans, None)
            imaginary, report = self.solve(b.imag, trans, None)
            x, report = x + 1j * imaginary, _worse(first, report)
        else:
            b = as_numbers(b, dtype, "b")
            check_rows(graph, b)
            x, report = self.columns(b, trans)
        if out is None:
            return x, report
        if not isinstance(out, np.ndarray):
            raise TypeError(f"out must be a numpy array, not a {type(out).__name__}")
        if out.shape != x.shape or not np.can_cast(x.dtype, out.dtype, "same_kind"):
            raise ValueError(
                f"out has shape {out.shape} and type {out.dtype}, "
                f"the solution {x.shape} and {x.dtype}"
            )
        out[...] = x
        return out, report

    def columns(self, b: Array, trans: str) -> tuple[Array, SolveReport]:
        """Solution for b of shape (N,) or (N, k) and of the factors' type, with its report."""
        scaling = self.scaling
        if trans == "N" and self.matrix is None and b.ndim == 1 and scaling is None:  # everyday
            return self.substitute(b.ravel(), 1, False), UNREFINED
        if b.size == 0:  # no rows, or no columns
            return b.copy(), UNREFINED
        flat = b.ravel(order="F")  # a copy only where b is not contiguous by columns
        count = 1 if b.ndim == 1 else b.shape[1]
        transposed = trans != "N" and self.symbolic.symmetric is not True  # else A^T = A
        conjugate = trans == "H" and b.dtype.kind == "c"
        if conjugate:
            flat = flat.conj()
        shift = 0
        if scaling is not None:
            given = flat
            flat, shift = scaling.right_hand_side(flat, transposed)
            if not np.isfinite(flat).all():
                explain_not_finite(self.symbolic.graph, given)
        x = self.substitute(flat, count, transposed)
        report = UNREFINED
        if self.matrix is not None:
            x, report = self._refine(self.matrix, flat, x, count, transposed)
        if scaling is not None:
            x = scaling.solution(x, transposed, shift)
            if not np.isfinite(x).all():
                explain_not_finite(self.symbolic.graph, flat)
            if self._given is not None:
                x = self._with_lost_entries(self._given, given, x, count, transposed)
        if conjugate:
            x = x.conj()
        return (x if b.ndim == 1 else x.reshape(b.shape, order="F")), report

    def substitute(self, flat: Array, count: int, transposed: bool) -> Array:
        """Forward and back substitution for ``count`` columns, flat."""
        if self.fronts is not None:
            x = self.fronts.solve(flat, count, transposed)
            if not np.isfinite(x).all():
                explain_not_finite(self.symbolic.graph, flat)
            return x
        symbolic, size = self.symbolic, flat.size
        work, x = np.empty(size + symbolic.widest, flat.dtype), np.empty(size, flat.dtype)
        if self.nodal and count == 1 and not transposed:
            substitute = solve_scalars if self.program[SCALARS] else solve_nodal
            failed = substitute(self.program, self.arena, flat, work, x)
        else:
            substitute = kernels.solve_transposed if transposed else kernels.solve
            failed = substitute(self.program, self.arena, flat, count, work, x)
        if failed != 0:
            explain_not_finite(symbolic.graph, flat)
        return x

    def _refine(
        self, matrix: Matrix, flat: Array, x: Array, count: int, transposed: bool
    ) -> tuple[Array, SolveReport]:
        steps, error, strict = self._refine_all(matrix, flat, x, count, transposed)
        if self.scaling is not None or self.fronts is not None:
            x, taken, error, strict = self._refine_rows(
                matrix, flat, x, count, transposed, error, strict
            )
            steps += taken
        normwise = None
        if self.scaling is not None and not error <= EPS[self.dtype] ** 0.5:
            r = matrix.residual(flat, x, count, transposed)
            normwise = matrix.backward_error(r, flat, x, count, transposed)
        return x, SolveReport(steps, error, {}, strict, normwise)

    def _refine_all(
        self, matrix: Matrix, flat: Array, x: Array, count: int, transposed: bool
    ) -> tuple[int, float, float]:
        """x <- a better solution; steps taken and the two backward errors."""
        if self.fronts is None:
            return matrix.refine(self.program, self.arena, flat, x, count, transposed)
        return matrix.refine_with(self.fronts.solve, flat, x, count, transposed)

    def _refine_rows(
        self,
        matrix: Matrix,
        flat: Array,
        x: Array,
        count: int,
        transposed: bool,
        error: float,
        strict: float,
    ) -> tuple[Array, int, float, float]:
        """Refine what `FLOOR` takes for rounding errors: no scaling is the right one for all rows.

        Corrections are refined, too. Those of doubtful factors have few digits: rows of
        32 in 600 late interior-point systems kept errors of up to 2e-13 with them. Rows that are
        good count as exact: the rounding of large residuals would hide the small ones.

        Returns the solution, the steps taken, and the two backward errors.
        """
        eps, last, taken, most = EPS[self.dtype], np.inf, 0, ROW_REFINEMENTS
        if strict <= FINE * eps or not error <= GOOD * eps:
            return x, taken, error, strict
        if self.scaling is not None:
            span = np.ptp(self.scaling.row) + np.ptp(self.scaling.column)
            most += int(span / -np.log2(eps))
        r = matrix.residual(flat, x, count, transposed)
        while taken < most and strict > FINE * eps:
            size = matrix.sizes(x, count, transposed) + np.abs(flat)
            r[np.abs(r) <= FINE * eps * size] = 0.0
            try:
                change = self.substitute(r, count, transposed)
                self._refine_all(matrix, r, change, count, transposed)
                trial = x + change
            except (OverflowError, ValueError):  # or r overflows
                break
            r, new_error, new_strict = matrix.errors(flat, trial, count, transposed)
            moved = float(np.abs(change).max(initial=0.0))
            noise = max(strict, new_strict) > eps**0.5 and moved <= last / 2.0
            if not ((new_strict < strict or noise) and new_error <= max(error, FINE * eps)):
                break
            x, error, strict, last, taken = trial, new_error, new_strict, moved, taken + 1
        return x, taken, error, strict

    def _with_lost_entries(
        self, matrix: Matrix, flat: Array, x: Array, count: int, transposed: bool
    ) -> Array:
        """Refine with a matrix as it is, some of whose entries underflow once they are scaled.

        They count where all other unknowns of their rows are smaller still.
        """
        assert self.scaling is not None
        eps = EPS[self.dtype]
        r, _, strict = matrix.errors(flat, x, count, transposed)
        for _ in range(ROW_REFINEMENTS):
            if not FINE * eps < strict <= 1.0:
                break
            with np.errstate(all="ignore"):
                size = matrix.sizes(x, count, transposed) + np.abs(flat)
                r[np.abs(r) <= FINE * eps * size] = 0.0
                right, shift = self.scaling.right_hand_side(r, transposed)
                try:
                    change = self.substitute(right, count, transposed)
                except (OverflowError, ValueError):
                    break
                trial = x + self.scaling.solution(change, transposed, shift)
                r, _, new_strict = matrix.errors(flat, trial, count, transposed)
            if not new_strict < strict:
                break
            x, strict = trial, new_strict
        return x

    def judge(self, report: SolveReport) -> None:
        """Refuse a solution whose backward error is large, or warn of it.

        Raises
        ------
        SingularPivotError
            If the factors are useless.

        Warns
        -----
        InaccurateSolutionWarning
            If they lost digits that refinement did not bring back.
        """
        error, eps = report.backward_error, EPS[self.dtype]
        if error is None or error <= GOOD * eps:
            return
        normwise = error if report.normwise_error is None else report.normwise_error
        if not min(error, normwise) <= eps**0.5:
            raise diagnosis.useless_factors(self.symbolic, self.weakest, error, self.pivot_ratio)
        all_rows = f" ({normwise:.1e} in the maximum norm)" if normwise < error else ""
        warnings.warn(
            f"backward error {error:.1e}{all_rows} after {report.refinements} refinements: the "
            f"factors lost digits (pivot ratio {self.pivot_ratio:.1e})",
            InaccurateSolutionWarning,
            stacklevel=4,
        )


def _worse(first: SolveReport, second: SolveReport) -> SolveReport:
    """The report with the larger backward error."""
    return max(first, second, key=lambda report: report.backward_error or 0.0)


def explain_not_finite(graph: BlockGraph, flat: Array) -> None:
    """Raise for a solution that is not finite: because b is not, or because it overflows.

    Parameters
    ----------
    graph : BlockGraph
    flat : ndarray
        Right-hand sides b, by columns.

    Raises
    ------
    ValueError
        If b is not finite, with the label of a node.
    OverflowError
        Otherwise.
    """
    bad = np.flatnonzero(~np.isfinite(flat))
    if bad.size:
        row = bad[0] % graph.rows
        node = int(np.searchsorted(graph.row_start, row, side="right")) - 1
        raise ValueError(f"b is not finite at node {graph.labels[node]!r}")
    raise OverflowError("the solution overflows: scale the matrix or the right-hand side")
