"""Numeric factorization of a system, and solves with it."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphsys.errors import InaccurateSolutionWarning, SingularPivotError
from graphsys.kernels.single.fused_solve import BUSY, MISFIT
from graphsys.kernels.single.refinement import GOOD
from graphsys.matrix.block import as_dtype, as_values
from graphsys.matrix.checksums import Sealed
from graphsys.numeric.factorization import DOUBTFUL, Numeric
from graphsys.numeric.fast_calls import SHARED, Direct
from graphsys.numeric.measures import Measures
from graphsys.numeric.regularization import Regularized
from graphsys.numeric.residuals import EPS, Matrix, check_symmetric
from graphsys.numeric.solver import UNREFINED, Solver, SolveReport
from graphsys.symbolic import Symbolic, analyze

if TYPE_CHECKING:
    from graphsys.system import System

Array = NDArray[Any]

#: Part of the digits of a number that may be lost before what is read off the factors alone comes
#: with a warning: 10 of 16 in double precision.
LOST = 0.6
#: Held by the thread that replaces factors by stable ones; solves with the old ones may go on.
_STABILIZING = threading.RLock()
#: Held for a look at who refactorizes.
_ENTERING = threading.Lock()


def _unlock() -> None:
    """Locks of a forked child, which has not the threads that may hold those of its parent."""
    global _STABILIZING, _ENTERING
    _STABILIZING, _ENTERING = threading.RLock(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)


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
        they do when `pivot_ratio` is below 0.05 or `pivot_growth` above 64.
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
        self._regularized = self._numeric if redundant else None
        self._nnz, self._enough = symbolic.graph.nnz, enough  # refined below that pivot ratio
        self._solver: Solver | None = None
        self._direct: Direct | None = None  # the short way for solves
        self._once: Direct | None = None  # and for factorizations
        self._refining: Matrix | None = None  # where solves refine
        self._unseen = True
        self._entered = False  # by a thread that refactorizes
        self._interrupted = False  # as by Ctrl-C: nothing of the factors is to be trusted
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
    def pivot_growth(self) -> float:
        """Largest magnitude of a row of a pivot block relative to what the matrix has there.

        At least 1. An entry of the matrix may be lost in rounding errors so many times its size:
        beyond 64 solves check their solution, and refine it.
        """
        return self._numeric.pivot_growth

    @property
    def refines(self) -> bool:
        """Whether solves compute their residual, and refine until it is at rounding level."""
        return self._refining is not None

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
            As for `Factor`; it cannot solve before the next `refactorize` then. Nor can it after
            Ctrl-C.
        RuntimeError
            Where another thread is refactorizing this factor. Solves may share a factor.
        ValueError
            Where `values` has another shape or entries that are not finite. Of a symmetric matrix
            this looks at what the elimination reads: one of the blocks (u, v) and (v, u), and one
            triangle of diagonal blocks; that the other agrees is up to the caller.
        """
        if changed is None and self._once is not None:
            factorize = self._once.factorize  # found sooner than a method is
            try:
                ratio = factorize(values)
                if ratio > 0.0 and self._refining is None:
                    self._held = values  # as `_remember` would
                    return self
                if ratio > MISFIT:
                    self._remember(values, ratio < 0.0)
                    return self
            except BaseException:  # as by Ctrl-C
                self._break_off()
                raise
            if ratio == BUSY:
                raise RuntimeError(SHARED)
        mine = False
        try:
            with _ENTERING:
                if self._entered:
                    raise RuntimeError(SHARED)
                mine = self._entered = True
            return self._refactorize(values, changed)
        finally:
            if mine:
                self._entered = False

    def _refactorize(self, values: Any, changed: Iterable[Hashable] | None) -> Factor:
        """Do as `refactorize`, whatever the values are."""
        values = as_values(values, self.dtype, self._nnz)
        nodes = None
        if changed is not None and self._solver is not None:
            nodes = np.array([self.graph.node(label) for label in changed], np.int64)
        with self._whole():
            self._forget()
            if self._interrupted:
                self._renew()
            if self._regularized is not None:
                self._numeric = self._regularized
            numeric = self._numeric
            try:
                numeric.factorize(values, nodes)
            except SingularPivotError as failure:
                self._held = values
                self._go_regular(failure)
                return self
            if self._unseen:  # the first matrix may take its time
                self._unseen = False
                if numeric.doubtful and numeric.scaling is None and not numeric.can_refine(values):
                    numeric.stabilize(values)
            self._use(values)
        return self

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Refuse to solve where anything but a refused matrix ends the replacement of factors."""
        try:
            yield
        except (SingularPivotError, ValueError):
            raise
        except BaseException:
            self._break_off()
            raise

    def _break_off(self) -> None:
        """Refuse to solve until the next factorization, which trusts nothing of this one."""
        self._interrupted = True
        self._forget()

    def _renew(self) -> None:
        """Make the arrays of the factors anew."""
        old = self._numeric if self._regularized is None else self._regularized
        kind = Numeric if self._regularized is None else Regularized
        self._numeric = kind(old.symbolic, self.dtype, threads=old.threads, enough=self._enough)
        self._regularized = None if self._regularized is None else self._numeric
        self._unseen, self._interrupted = True, False

    def _use(self, values: Array) -> None:
        """Solve with the present factors from now on."""
        numeric = self._numeric
        doubtful = numeric.doubtful or numeric.scaling is not None
        refine = numeric.pivot_ratio < self._enough or (doubtful and self._enough > 0.0)
        self._direct = self._once = None
        self._remember(values, refine or numeric.must_refine)
        if not numeric.must_refine and numeric.scaling is None:
            self._direct = numeric.direct
            self._once = numeric.direct if numeric.plain else None

    def _remember(self, values: Array, refine: bool) -> None:
        """Hold a matrix: as it is, or copied where solves refine with it."""
        if refine or self._refining is not None or self._solver is None:
            self._solver = self._numeric.solver(values if refine else None)
            self._refining = self._numeric.direct.matrix = self._solver.matrix
        if self._refining is None:
            self._held = values
        elif self._solver.scaling is None:
            self._held = self._refining
        else:
            self._held = Matrix(self.graph, values.copy())

    def _forget(self) -> None:
        """Refuse to solve until the next factorization."""
        self._solver = self._direct = self._once = None

    def _stabilize(self) -> None:
        """Replace the factors by stable ones; other threads may solve with the old ones."""
        with _STABILIZING:
            if self._numeric.stabilized:  # another thread was faster
                return
            values = self._matrix().values
            with self._whole():
                try:
                    self._numeric.stabilize(values)
                except SingularPivotError:
                    self._forget()
                    raise
                self._use(values)

    def _go_regular(self, failure: SingularPivotError) -> None:
        """Replace regularized factors that failed: the matrix may be regular."""
        if self._numeric is not self._regularized:
            raise failure
        values = self._matrix().values
        with self._whole():
            try:
                self._numeric = self._without_regularization(values)
            except SingularPivotError:
                raise failure from None
            self._use(values)

    def _without_regularization(self, values: Array) -> Numeric:
        """Stable factors of a regular matrix."""
        threads = self._numeric.threads
        numeric = Numeric(self.symbolic, self.dtype, threads=threads, enough=self._enough)
        numeric.stabilize(values)
        return numeric

    def _trusted(self, what: str) -> Numeric:
        """Factors that are right by themselves, without refinement or regularization."""
        self._ready()
        with _STABILIZING:
            values = self._matrix().values
            if self._numeric.must_refine:
                return self._without_regularization(values)
            with self._whole():
                try:
                    replaced, lost = self._numeric.check(values)
                except SingularPivotError:
                    self._forget()
                    raise
                if replaced:
                    self._use(values)
            if lost > EPS[self.dtype] ** (1.0 - LOST):
                warnings.warn(
                    f"{what} may be wrong in its digit {max(1, round(-np.log10(lost)))}: the "
                    f"matrix is close to a singular one (pivot ratio {self.pivot_ratio:.1e}, "
                    f"growth {self.pivot_growth:.1e})",
                    InaccurateSolutionWarning,
                    stacklevel=3,
                )
            return self._numeric

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
        direct = self._direct
        if direct is not None and trans == "N" and out is None:
            if direct.matrix is not None:
                if (told := direct.solve_refined(b)) is not None:
                    solution, self._told = told
                    return solution
            elif (x := direct.solve(b)) is not None:
                self._told = UNREFINED
                return x
            if isinstance(b, np.ndarray) and b.ndim == 1 and not b.flags.carray:
                if b.dtype.newbyteorder("=") == self.dtype:  # the same numbers, laid out as usual
                    return self.solve(np.array(b, self.dtype, subok=False), trans)
        solver, mend = self._ready(), None
        try:
            solution, report = solver.solve(b, trans, out)
            if not self._settled(report):
                mend = self._stabilize
        except SingularPivotError as failure:
            mend = partial(self._go_regular, failure)
        except OverflowError:  # on the way to a solution that may not overflow
            if self._numeric.stabilized or self._numeric.must_refine:
                raise
            mend = self._stabilize
        if mend is not None:
            mend()
            solver = self._ready()
            solution, report = solver.solve(b, trans, out)
        solver.judge(report)
        self._told = report
        return solution

    def _settled(self, report: SolveReport) -> bool:
        """Whether no other elimination order would give a better solution."""
        numeric, error, strict = self._numeric, report.backward_error, report.componentwise_error
        if error is None or numeric.stabilized or numeric.must_refine:
            return True
        enough = GOOD * EPS[self.dtype]
        if strict is not None and strict <= enough:
            return True
        return error <= enough and not numeric.is_wild(self._matrix().values)

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
            try:
                if (x := both(values, b)) is not None:
                    self._held, self._told = values, UNREFINED
                    return x
            except BaseException:  # as by Ctrl-C
                self._break_off()
                raise
        return self.refactorize(values).solve(b)

    def _ready(self) -> Solver:
        if self._solver is not None:
            return self._solver
        if self._interrupted:
            raise ValueError(
                "the last refactorize was interrupted, so there are no factors to solve with: call "
                "refactorize again"
            )
        raise ValueError("the last refactorize failed, so there are no factors to solve with")

    def __repr__(self) -> str:
        return (
            f"Factor({self.shape[0]} unknowns, {self.symbolic.ordering} order, {self.dtype}, "
            f"pivot ratio {self.pivot_ratio:.1e}, growth {self.pivot_growth:.1e})"
        )
