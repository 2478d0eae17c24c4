"""Numeric factorization of a system, and solves with it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphsys.accuracy import Matrix, check_symmetric
from graphsys.block import as_dtype, as_values
from graphsys.direct import Direct
from graphsys.kernels.at_once import MISFIT
from graphsys.measures import Measures
from graphsys.numeric import Numeric
from graphsys.redundancy import Regularized
from graphsys.seal import Sealed
from graphsys.solution import UNREFINED, Solver, SolveReport
from graphsys.symbolic import Symbolic, analyze

if TYPE_CHECKING:
    from graphsys.system import System

Array = NDArray[Any]

#: Solves are checked and refined when a pivot is smaller than this beside what its block held.
DOUBTFUL = 0.05


def factorize(
    system: System,
    symbolic: Symbolic | None = None,
    *,
    refine: bool | None = None,
    redundant: bool = False,
    threads: int = 1,
) -> Factor:
    """Numeric factorization of a system.

    Parameters
    ----------
    system : System
    symbolic : Symbolic, optional
        From `System.analyze`; made here with the automatic ordering by default.
    refine, redundant, threads : optional
        As for `Factor`.

    Returns
    -------
    Factor

    Raises
    ------
    SingularPivotError, ValueError
        As for `Factor`; also where `symbolic` is of another graph.
    """
    if symbolic is None:
        symbolic = analyze(system.graph, values=system.values, symmetric=system.symmetric)
    elif not symbolic.graph.lies_like(system.graph) or symbolic.symmetric != system.symmetric:
        raise ValueError(f"{symbolic!r} is not of this system: use what its analyze() returns")
    return Factor(symbolic, system.values, refine=refine, redundant=redundant, threads=threads)


class Factor(Measures, Sealed):
    """Block L D U factors of a matrix; `solve` uses them, `refactorize` replaces them.

    Parameters
    ----------
    symbolic : Symbolic
    values : ndarray, shape (symbolic.graph.nnz,)
        Blocks in the layout of the graph, copied when solves have to refine; `residual`,
        `backward_error` and `rcond` otherwise read them where they are: leave them as they were.
    refine : bool, optional
        Whether solves compute their residual and refine until it is at rounding level. By default
        they do when a pivot was small beside what its block held before.
    redundant : bool, optional
        Whether constraint rows (zero in the diagonal block) may depend on each other. Multipliers
        then stay small, all solves refine, and a b that contradicts itself is refused.
    threads : int, optional
        How many factorize together, to the same result; small and narrow systems stay with one.

    Raises
    ------
    SingularPivotError
        Where a pivot block is singular in every order that was tried.
    ValueError
        Where a block has entries that are not finite, or `symbolic` is symmetric and a block is not
        the transpose of its counterpart but for rounding.
    """

    def __init__(
        self,
        symbolic: Symbolic,
        values: Array,
        *,
        refine: bool | None = None,
        redundant: bool = False,
        threads: int = 1,
    ) -> None:
        self.dtype = as_dtype(np.asarray(values).dtype)
        self._told: SolveReport | tuple[int, float] = UNREFINED
        kind = Regularized if redundant else Numeric
        enough = DOUBTFUL if refine is None else np.inf if refine else 0.0
        self._numeric = kind(symbolic, self.dtype, threads=threads, enough=enough)
        self._nnz, self._enough = symbolic.graph.nnz, enough  # refined below that pivot ratio
        self._solver: Solver | None = None
        self._direct: Direct | None = None  # the short way for solves
        self._once: Direct | None = None  # and for factorizations
        self._refining: Matrix | None = None  # where solves refine
        if symbolic.symmetric:
            check_symmetric(symbolic.graph, as_values(values, self.dtype, self._nnz))
        self.refactorize(values)

    @property
    def pivot_ratio(self) -> float:
        """Smallest pivot beside the largest magnitude its row ever had in its pivot block.

        It is at most 1: the smaller, the more digits were lost by cancellation.
        """
        return self._numeric.pivot_ratio

    @property
    def refactorized(self) -> int:
        """Supernodes that the last factorization computed."""
        return self._numeric.factorized

    @property
    def redundant(self) -> dict[Hashable, int]:
        """Constraint rows that depend on others, by node; empty without ``redundant=True``."""
        return self._numeric.redundant

    @property
    def report(self) -> SolveReport:
        """What the last solve took."""
        return SolveReport(*self._told) if isinstance(self._told, tuple) else self._told

    @property
    def nbytes(self) -> int:
        """Bytes of the factors."""
        return self._numeric.arena.nbytes

    def refactorize(self, values: Any, changed: Iterable[Hashable] | None = None) -> Factor:
        """Factors of another matrix on the same graph; everything symbolic is reused.

        Parameters
        ----------
        values : array_like, shape (graph.nnz,)
            Blocks in the layout of the graph, of the type of this factor.
        changed : iterable of labels, optional
            Nodes whose diagonal block is another than last time, and both ends of each edge with
            another block; all by default. Only they and their ancestors in the elimination tree
            are computed anew, the result is the same.

        Returns
        -------
        Factor
            This one. Where a pivot turns out singular, an order that avoids it replaces the old
            one.

        Raises
        ------
        SingularPivotError
            As for `Factor`; it cannot solve before the next `refactorize` then.
        ValueError
            Where `values` has another shape or entries that are not finite. Of a symmetric matrix
            this looks at what the elimination reads: one of the blocks (u, v) and (v, u), and one
            triangle of diagonal blocks; that the other agrees is up to the caller.
        """
        if changed is None and self._once is not None:
            factorize = self._once.factorize  # found sooner than a method is
            ratio = factorize(values)
            if ratio > 0.0 and self._refining is None:
                self._held = values  # as `_remember` would
                return self
            if ratio > MISFIT:
                self._remember(values, ratio < 0.0)
                return self
        values = as_values(values, self.dtype, self._nnz)
        nodes = None
        if changed is not None and self._solver is not None:
            nodes = np.array([self.graph.node(label) for label in changed], np.int64)
        self._solver = self._direct = self._once = None
        numeric = self._numeric
        numeric.factorize(values, nodes)
        doubtful = numeric.pivot_ratio < self._enough or (numeric.suspect and self._enough > 0.0)
        self._remember(values, doubtful or numeric.must_refine)
        self._direct = None if numeric.must_refine else numeric.direct
        self._once = self._direct if numeric.plain else None
        return self

    def _remember(self, values: Array, refine: bool) -> None:
        """Hold a matrix: as it is, or copied where solves refine with it."""
        if refine or self._refining is not None or self._solver is None:
            self._solver = self._numeric.solver(values if refine else None)
            self._refining = self._solver.matrix
        self._held = values if self._refining is None else self._refining

    def solve(self, b: Any, trans: str = "N", *, out: Array | None = None) -> Any:
        """Solution of A x = b.

        Parameters
        ----------
        b : array_like, shape (N,) or (N, k), or {label: vector}
            Right-hand sides; cast to the type of the factor, but for a complex one of a real
            factor.
        trans : {"N", "T", "H"}, optional
            Solve with A, its transpose, or its conjugate transpose.
        out : ndarray, shape of b, optional
            Where to put the solution.

        Returns
        -------
        ndarray, shape of b, or {label: vector} for such a b

        Raises
        ------
        ValueError
            Where b or `out` has another shape, b is not finite, or `trans` is unknown.
        SingularPivotError
            Where refinement cannot bring the residual down: the factors are useless.

        Warns
        -----
        InaccurateSolutionWarning
            Where refinement leaves a residual well above rounding level.
        """
        if self._direct is not None and trans == "N" and out is None:
            if self._refining is not None:
                if (told := self._direct.solve_refined(b, self._refining)) is not None:
                    solution, self._told = told
                    return solution
            else:
                solve = self._direct.solve
                if (x := solve(b)) is not None:
                    self._told = UNREFINED
                    return x
        solution, self._told = self._ready().solve(b, trans, out)
        return solution

    def refactorize_and_solve(self, values: Any, b: Any) -> Any:
        """`refactorize` and then `solve` in one call, which is quicker for systems of a few nodes.

        Parameters
        ----------
        values : array_like, shape (graph.nnz,)
        b : array_like, shape (N,) or (N, k), or {label: vector}

        Returns
        -------
        ndarray, shape of b, or {label: vector} for such a b
            The factors are those of `values` from then on.

        Raises
        ------
        SingularPivotError, ValueError
            As for `refactorize` and `solve`.

        Warns
        -----
        InaccurateSolutionWarning
            As for `solve`.
        """
        if self._once is not None and self._refining is None:
            both = self._once.factorize_and_solve
            if (x := both(values, b)) is not None:
                self._held, self._told = values, UNREFINED
                return x
        return self.refactorize(values).solve(b)

    def _ready(self) -> Solver:
        if self._solver is not None:
            return self._solver
        raise ValueError("the last refactorize failed, so there are no factors to solve with")

    def __repr__(self) -> str:
        return (
            f"Factor({self.shape[0]} unknowns, {self.symbolic.ordering} order, {self.dtype}, "
            f"pivot ratio {self.pivot_ratio:.1e})"
        )
