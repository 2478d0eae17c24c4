"""Factors of a matrix: numeric factorization and solves, stable whatever the values are."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.errors import InaccurateSolutionWarning, SingularPivotError
from graphsys.kernels.single.fused_solve import BUSY, DONE, REFINE
from graphsys.kernels.single.refinement import FINE, GOOD
from graphsys.matrix.block import HERMITIAN, as_dtype, as_plain, as_symmetry, as_values
from graphsys.matrix.checksums import Sealed
from graphsys.matrix.graph import BlockGraph
from graphsys.matrix.vectors import join
from graphsys.numeric import measures
from graphsys.numeric.certificate import Certificate, certificate
from graphsys.numeric.diagnosis import allowed_in_vain, nothing_to_allow
from graphsys.numeric.factorization import DOUBTFUL, OTHER_THREAD, Factorization
from graphsys.numeric.gradient import values_gradient
from graphsys.numeric.mixed_precision import Mixed
from graphsys.numeric.regularization import Regularized, has_constraints
from graphsys.numeric.residuals import EPS, Matrix, check_symmetric
from graphsys.numeric.selected_inverse import SelectedInverse, selected_inverse
from graphsys.numeric.solver import UNREFINED, Solver, SolveReport
from graphsys.symbolic import Symbolic

Array = NDArray[Any]

#: Largest part of the digits of a number that may be lost without a warning, for a result by the
#: factors alone: 10 of 16 in double precision.
LOST = 0.6
#: Lock of the thread that replaces factors by stable ones; solves with the old ones continue.
_STABILIZING = threading.RLock()
#: Lock for the test if another thread refactorizes.
_ENTERING = threading.Lock()


def _unlock() -> None:
    """Renew the locks in a forked child: it lacks the threads that may hold its parent's."""
    global _STABILIZING, _ENTERING
    _STABILIZING, _ENTERING = threading.RLock(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)


class Factor(Sealed):
    """Block LDU factors of a matrix; `solve` uses them, `refactorize` replaces them.

    Parameters
    ----------
    symbolic : Symbolic
    values : ndarray, shape (symbolic.graph.nnz,)
        Blocks in the layout of the graph; copied if solves have to refine. Otherwise `residual`,
        `backward_error`, `rcond`, certificates and, with ``refine=False``, determinants and similar
        results read this array later: do not change it.
    refine : bool, optional
        Whether solves compute their residual and refine to rounding level. By default they do if
        `pivot_ratio` is below 0.125 or `pivot_growth` above 64.
    redundant : bool, optional
        Whether constraint rows (with a zero diagonal block) may depend on each other. Multipliers
        then stay bounded, all solves refine, and an inconsistent right-hand side raises an error.
        If rows are dependent, errors are relative to the solution of the system without its
        constraints. All other rows must be independent; if there are constraints, this is not
        checked.
    threads : int, optional
        Number of threads per factorization; the result is the same. Small systems, and systems with
        small nodes only, use one thread.
    precision : {"double", "mixed"}, optional
        "mixed", for float64, factorizes in single precision and refines each solution to double
        precision. It is faster for large systems with few right-hand sides. A matrix for which it
        fails is factorized in double precision, and so are all later ones on the same analysis.
        Determinants, inverses and similar results factorize in double precision at each call.

    Raises
    ------
    SingularPivotError
        If a pivot block is singular in every order that was tried.
    ValueError
        If `precision` is unknown or not supported for the type of `values` or with `redundant`. If
        a block has entries that are not finite, or `symbolic` is symmetric and a block is not the
        transpose of its counterpart up to rounding.
    """

    def __init__(
        self,
        symbolic: Symbolic,
        values: Array,
        *,
        refine: bool | None = None,
        redundant: bool = False,
        threads: int = 1,
        precision: str = "double",
    ) -> None:
        self.dtype = as_dtype(np.asarray(values).dtype)
        self._report: SolveReport | tuple[int, float] | Array = UNREFINED
        self._refine_below = DOUBTFUL if refine is None else np.inf if refine else 0.0
        if precision not in ("double", "mixed"):
            raise ValueError(f'precision is "double" or "mixed", not {precision!r}')
        if redundant and precision == "mixed":
            raise ValueError('redundant=True needs precision="double"')
        kind = Regularized if redundant else Mixed if precision == "mixed" else Factorization
        self._factorization: Factorization = kind(
            symbolic, self.dtype, threads=threads, refine_below=self._refine_below
        )
        self._regularized = self._factorization if redundant else None
        self._nnz = symbolic.graph.nnz
        self._values: Array | Matrix = values  # of the last factorization
        self._solver: Solver | None = None  # None while there are no factors
        self._fast: Factorization | None = None  # whose fast calls solve
        self._fast_again: Factorization | None = None  # whose fast calls factorize again
        self._refining: Matrix | None = None  # if solves refine
        self._first = True  # until the first matrix is factorized
        self._entered = False  # by a thread that refactorizes
        self._interrupted = False  # as by Ctrl-C: the factors are not valid
        if symbolic.symmetric:
            given = as_values(values, self.dtype, self._nnz)
            check_symmetric(symbolic.graph, given, self._symmetry)
        self._refactorize(values, None)

    @property
    def symbolic(self) -> Symbolic:
        """Symbolic factorization in use."""
        return self._factorization.symbolic

    @property
    def _symmetry(self) -> bool | str:
        """That of the matrix, False, True or "hermitian"."""
        return as_symmetry(self.symbolic.symmetric, self.dtype)

    @property
    def graph(self) -> BlockGraph:
        """The graph of the matrix."""
        return self.symbolic.graph

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix."""
        return self.graph.rows, self.graph.rows

    @property
    def pivot_ratio(self) -> float:
        """Smallest ratio of a pivot to the largest magnitude of its row in its pivot block.

        At most 1; a small ratio means that digits were lost by cancellation. The magnitude of a
        complex number is ``|Re| + |Im|`` here.
        """
        return self._factorization.pivot_ratio

    @property
    def pivot_growth(self) -> float:
        """Largest magnitude of a row of a pivot block relative to that row of the matrix.

        At least 1. Rounding errors may be larger by this factor; above 64, solves check their
        solution and refine it.
        """
        return self._factorization.pivot_growth

    @property
    def delayed_pivots(self) -> int:
        """Number of times that a pivot was too small in its front and was delayed to the next one.

        0 for static pivots, which most matrices have.
        """
        fronts = self._factorization.fronts
        return 0 if fronts is None else fronts.delayed

    @property
    def refines(self) -> bool:
        """True if solves compute their residual and refine it to rounding level."""
        return self._refining is not None

    @property
    def refactorized(self) -> int:
        """Supernodes that the last factorization computed."""
        return self._factorization.factorized

    @property
    def redundant(self) -> dict[Hashable, int]:
        """Constraint rows that depend on others, by node; empty without ``redundant=True``."""
        return self._factorization.redundant

    @property
    def report(self) -> SolveReport:
        """Refinements and errors of the last solve."""
        report = self._report
        if isinstance(report, np.ndarray):  # of a call that also factorized
            report = int(report[0]), float(report[1])
        return SolveReport(*report) if isinstance(report, tuple) else report

    @property
    def nbytes(self) -> int:
        """Bytes of the factors."""
        return self._factorization.nbytes

    def refactorize(self, values: Any, changed: Iterable[Hashable] | None = None) -> Factor:
        """Factorize another matrix on the same graph; the analysis is reused.

        Parameters
        ----------
        values : array_like, shape (graph.nnz,)
            Blocks in the layout of the graph, of the type of this factor.
        changed : iterable of labels, optional
            Nodes whose diagonal block has changed, and both ends of each edge with a changed block;
            all by default. Only these nodes and their ancestors in the elimination tree are
            computed again; the result is the same.

        Returns
        -------
        Factor
            This factor. If a pivot is singular, later factorizations delay it.

        Raises
        ------
        SingularPivotError
            As for `Factor`. The factor then raises an error on solve until the next `refactorize`;
            the same holds after Ctrl-C.
        RuntimeError
            If another thread is refactorizing this factor.
        ValueError
            If `values` has the wrong shape or entries that are not finite. Of a symmetric matrix
            only the entries that the elimination reads are checked: one of the blocks (u, v) and
            (v, u), and one triangle of diagonal blocks. The others must agree.
        """
        if changed is None and self._fast_again is not None:
            factorize = self._fast_again.fast_factorize
            try:
                status = factorize(values)
                if status == DONE and self._refining is None:
                    self._values = values  # as `_remember` would
                    return self
                if status <= REFINE:
                    self._remember(values, status == REFINE)
                    return self
            except BaseException:  # as by Ctrl-C
                self._break_off()
                raise
            if status == BUSY:
                raise RuntimeError(OTHER_THREAD)
        mine = False
        try:
            with _ENTERING:
                if self._entered:
                    raise RuntimeError(OTHER_THREAD)
                mine = self._entered = True
            return self._refactorize(values, changed)
        finally:
            if mine:
                self._entered = False

    def _refactorize(self, values: Any, changed: Iterable[Hashable] | None) -> Factor:
        """`refactorize` for any values, and where a fast call refused them."""
        values = as_values(values, self.dtype, self._nnz)
        nodes = None
        if changed is not None and self._solver is not None:
            nodes = np.array(self.graph.nodes(changed), np.int64)
        with self._whole():
            self._forget()
            if self._interrupted:
                self._renew()
            if self._regularized is not None:
                self._factorization = self._regularized
            try:
                found = self._factorization.factorize(values, nodes)
                if self._first:  # which may take its time
                    self._first = False
                    chosen = found.scaling is not None or found.fronts is not None
                    if found.doubtful and not chosen:
                        found = found.first_replacement(values)
            except SingularPivotError as failure:
                self._values = values
                self._go_regular(failure)
                return self
            self._factorization = found
            if self._regularized is not None:
                self._regularized = found
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
        """Make new arrays for the factors."""
        old = self._regularized or self._factorization
        self._factorization = type(old)(
            old.symbolic, self.dtype, threads=old.threads, refine_below=self._refine_below
        )
        self._regularized = self._factorization if self._regularized is not None else None
        self._first, self._interrupted = True, False

    def _use(self, values: Array) -> None:
        """Solve with the present factors from now on."""
        found, bound = self._factorization, self._refine_below
        doubtful = found.doubtful or found.scaling is not None or found.fronts is not None
        refine = found.pivot_ratio < bound or (doubtful and bound > 0.0)
        self._fast = self._fast_again = None
        self._remember(values, refine or found.must_refine)
        if not found.must_refine and found.scaling is None and found.fronts is None:
            self._fast = found
            self._fast_again = found if found.plain else None

    def _remember(self, values: Array, refine: bool) -> None:
        """Store a matrix: as it is, or copied if solves refine with it."""
        if refine or self._refining is not None or self._solver is None:
            self._solver = self._factorization.solver(values if refine else None)
            self._refining = self._factorization.matrix = self._solver.matrix
        if self._refining is None:
            self._values = values
        elif self._solver.scaling is None:
            self._values = self._refining
        else:
            self._values = Matrix(self.graph, values.copy())

    def _forget(self) -> None:
        """Refuse to solve until the next factorization."""
        self._solver = self._fast = self._fast_again = None

    def _stabilize(self) -> None:
        """Replace the factors by stable ones; other threads may solve with the old ones."""
        with _STABILIZING:
            if self._factorization.stabilized:  # another thread was faster
                return
            values = self._matrix().values
            with self._whole():
                found = self._factorization
                refines = found.refines and found.scaling is None and found.fronts is None
                strict = found.with_strict_errors(values) if refines else None
                try:
                    self._factorization = strict or found.stable(values, refines)[0]
                except SingularPivotError:
                    self._forget()
                    raise
                self._use(values)

    def _go_regular(self, failure: SingularPivotError | OverflowError) -> None:
        """Replace regularized factors that failed: the matrix may be regular."""
        regularized, values = self._factorization, self._matrix().values
        if isinstance(failure, SingularPivotError):
            if isinstance(regularized, Regularized):
                failure = allowed_in_vain(failure)
            elif not has_constraints(self.graph, values):
                failure = nothing_to_allow(failure)
        if not isinstance(regularized, Regularized):
            raise failure
        with self._whole():
            try:
                self._factorization = regularized.exact(values)
            except SingularPivotError:
                raise failure from None
            self._use(values)

    def _check(self, values: Array, delays: bool) -> float:
        """Replace factors that are not right by themselves; a bound on errors of the inverse."""
        with self._whole():
            try:
                found, lost = self._factorization.checked(values, delays)
            except SingularPivotError:
                self._forget()
                raise
            if found is not self._factorization:
                self._factorization = found
                self._use(values)
            if delays:
                self._matrix().lost = lost
        return lost

    def _trusted(self, what: str, delays: bool = True) -> Factorization:
        """Factors that are right by themselves, without refinement or regularization."""
        self._ready()
        with _STABILIZING:
            matrix = self._matrix()
            if isinstance(self._factorization, Mixed | Regularized):
                return self._factorization.exact(matrix.values)
            lost = matrix.lost if delays else -1.0
            if lost < 0.0:
                lost = self._check(matrix.values, delays)
            if lost > EPS[self.dtype] ** (1.0 - LOST):
                warnings.warn(
                    f"{what} may be wrong in its digit {max(1, round(-np.log10(lost)))}: the "
                    f"matrix is close to a singular one (pivot ratio {self.pivot_ratio:.1e}, "
                    f"growth {self.pivot_growth:.1e})",
                    InaccurateSolutionWarning,
                    stacklevel=3,
                )
            return self._factorization

    def solve(
        self, b: Any, trans: str = "N", *, out: Array | None = None, report: bool = False
    ) -> Any:
        """Solve A x = b.

        Parameters
        ----------
        b : array_like, shape (N,) or (N, k), or {label: vector}
            Right-hand sides; cast to the type of the factor, except that a real factor accepts
            complex ones.
        trans : {"N", "T", "H"}, optional
            Solve with A, its transpose, or its conjugate transpose.
        out : ndarray, shape of b, optional
            Array that receives the solution.
        report : bool, optional
            Whether to return also a `Certificate` of the solution: backward error, condition
            estimate and bound on the forward error, at the cost of about four more solves per
            column of b. There is no bound if rows are redundant.

        Returns
        -------
        x : ndarray, shape of b, or {label: vector} for such a b
        certificate : Certificate
            Only with ``report=True``.

        Raises
        ------
        ValueError
            If b or `out` has the wrong shape, b is not finite, or `trans` is unknown.
        TypeError
            If `out` is not an array.
        SingularPivotError
            If refinement cannot reduce the residual: the factors are useless.

        Warns
        -----
        InaccurateSolutionWarning
            If refinement leaves a residual well above rounding level.
        """
        if report:
            return self._certified(b, trans, out)
        fast = self._fast
        if fast is not None and trans == "N" and out is None:
            matrix = fast.matrix
            if matrix is not None:
                if (refined := fast.fast_solve_refined(matrix, b)) is not None:
                    solution, self._report = refined
                    return solution
            elif (x := fast.fast_solve(b)) is not None:
                self._report = UNREFINED
                return x
            if isinstance(b, np.ndarray) and b.ndim == 1 and not b.flags.carray:
                if b.dtype.newbyteorder("=") == self.dtype:  # the same numbers, laid out as usual
                    return self.solve(np.array(b, self.dtype, subok=False), trans)
        while True:  # factors with which refinement stalls are replaced, twice at most
            solver, mend = self._ready(), None
            try:
                solution, found = solver.solve(b, trans, out)
                if not self._settled(found):
                    mend = self._stabilize
            except SingularPivotError as failure:
                mend = partial(self._go_regular, failure)
            except OverflowError as failure:  # on the way to a solution that may not overflow
                if self._factorization is self._regularized:
                    mend = partial(self._go_regular, failure)
                elif self._factorization.stabilized:
                    raise
                else:
                    mend = self._stabilize
            if mend is None:
                break
            mend()
        solver.judge(found)
        self._report = found
        return solution

    def _certified(self, b: Any, trans: str, out: Array | None) -> tuple[Any, Certificate]:
        """Solution, and the certificate of its worst column."""
        if out is not None and isinstance(b, np.ndarray):  # which may share memory
            b = b.copy()
        x = self.solve(b, trans, out=out)
        try:
            return x, self._certificate(b, x, trans)
        except SingularPivotError as failure:  # regularized factors, a vector of the estimate
            self._go_regular(failure)
        return x, self._certificate(b, x, trans)

    def _certificate(self, b: Any, x: Any, trans: str) -> Certificate:
        """Certificate of the worst column of a solution."""
        solver, matrix, bounded = self._ready(), self._matrix(), not self.redundant
        transposed = trans != "N" and self.symbolic.symmetric is not True  # else A^T = A
        found = [
            certificate(solver, matrix, *pair, transposed, bounded)
            for pair in zip(self._columns(b, trans), self._columns(x, trans), strict=True)
        ]
        return Certificate.worst(found)

    def _columns(self, v: Any, trans: str) -> list[Array]:
        """Columns of b or x, of the type of the factors; conjugates where A^H stands for A^T."""
        if type(v) is np.ndarray and v.ndim == 1 and v.dtype == self.dtype and v.flags.carray:
            if trans != "H":
                return [v]  # a quarter of the time of a chain of ten nodes
        v = np.asarray(join(self.graph, v, self.dtype) if isinstance(v, Mapping) else v)
        v = v[:, None] if v.ndim == 1 else v
        if v.dtype.kind == "c" and self.dtype.kind != "c":
            v = np.hstack([v.real, v.imag])
        elif trans == "H":
            v = v.conj()
        return list(np.require(v.T, self.dtype, ["C", "A", "W"]))

    def _settled(self, report: SolveReport) -> bool:
        """True if no other elimination order would give a better solution."""
        found, error = self._factorization, report.backward_error
        strict = report.componentwise_error
        if error is None or found.stabilized or found is self._regularized:
            return True
        good = (FINE if found.strict else GOOD) * EPS[self.dtype]
        if strict is not None and strict <= good:
            return True
        return error <= good and (found.strict or not found.hides_errors(self._matrix()))

    def refactorize_and_solve(self, values: Any, b: Any) -> Any:
        """`refactorize` and `solve` in one call, which is faster for systems of a few nodes.

        Parameters
        ----------
        values : array_like, shape (graph.nnz,)
        b : array_like, shape (N,) or (N, k), or {label: vector}

        Returns
        -------
        ndarray, shape of b, or {label: vector} for such a b
            The factor is that of `values` afterwards.

        Raises
        ------
        SingularPivotError, ValueError
            As for `refactorize` and `solve`.

        Warns
        -----
        InaccurateSolutionWarning
            As for `solve`.
        """
        again, matrix = self._fast_again, self._refining
        if again is not None:
            try:
                if matrix is None:
                    both = again.fast_factorize_and_solve or again.load_factorize_and_solve()
                    if (x := both(values, b)) is not None:
                        self._values, self._report = values, UNREFINED
                        return x
                elif (found := again.fast_factorize_and_refine(matrix, values, b)) is not None:
                    x, report = found
                    if report is None:
                        self._remember(values, False)
                    self._report = UNREFINED if report is None else report
                    return x
            except BaseException:  # as by Ctrl-C
                self._break_off()
                raise
        return self.refactorize(values).solve(b)

    def residual(self, x: Any, b: Any) -> Array:
        """Residual b - A x.

        Parameters
        ----------
        x, b : array_like, shape (N,) or (N, k)

        Returns
        -------
        ndarray, shape of b

        Raises
        ------
        ValueError
            If x or b has the wrong shape.
        """
        return measures.residual(self._matrix(), b, x)

    def backward_error(self, x: Any, b: Any) -> float:
        """Largest ``|A x - b| / (|A| |x| + |b|)`` in the maximum norm.

        Parameters
        ----------
        x, b : array_like, shape (N,) or (N, k)

        Returns
        -------
        float
            About the machine epsilon after an accurate solve.

        Raises
        ------
        ValueError
            As for `residual`.
        """
        return measures.backward_error(self._matrix(), b, x)

    def slogdet(self) -> tuple[Any, float]:
        """Sign (complex: phase) of the determinant, and logarithm of its magnitude.

        Returns
        -------
        sign : float or complex
        logabsdet : float

        Raises
        ------
        ValueError
            If the last `refactorize` failed.
        SingularPivotError
            If the matrix is singular to working precision.

        Warns
        -----
        InaccurateSolutionWarning
            If many digits are lost: the matrix is close to a singular one.
        """
        return measures.slogdet(self._trusted("the determinant"))

    def inertia(self) -> tuple[int, int]:
        """Numbers of positive and negative eigenvalues of a symmetric matrix (Sylvester's law).

        The matrix must be real, or Hermitian.

        Returns
        -------
        positive, negative : int

        Raises
        ------
        ValueError
            If the factorization is not of a real symmetric or a Hermitian system, or failed.
        SingularPivotError
            As for `slogdet`, and if rounding errors are as large as an eigenvalue.

        Warns
        -----
        InaccurateSolutionWarning
            As for `slogdet`.
        """
        symmetric = self.symbolic.symmetric
        if not symmetric or (self.dtype.kind == "c" and symmetric != HERMITIAN):
            raise ValueError(
                "inertia needs a real system made with symmetric=True, or a complex one made with "
                f"symmetric={HERMITIAN!r}"
            )
        self._ready()
        found = self._factorization
        weak = found.fronts is not None and found.fronts.is_weak  # which knows its rounding errors
        doubtful = found.doubtful and not weak
        if found.must_refine or doubtful and not self._can_refine(found):
            found = self._trusted("the inertia")
        positive, negative = measures.inertia(found)
        if positive + negative < self.shape[0]:
            found = self._trusted("the inertia")
            positive, negative = measures.inertia(found)
        if missing := self.shape[0] - positive - negative:
            raise found.uncertain_signs(missing)
        return positive, negative

    def _can_refine(self, found: Factorization) -> bool:
        """Whether refinement converges with factors of the matrix, measured once."""
        matrix = self._matrix()
        if matrix.refinable is None:
            matrix.refinable = found.can_refine(matrix.values)
        return matrix.refinable

    def rcond(self) -> float:
        """Estimate of ``1 / (|A| |A^-1|)`` in the 1-norm, at the cost of a few solves.

        Returns
        -------
        float
            At most 1; about the machine epsilon if the matrix is singular to rounding, or its rows
            differ as much in scale; 0 if the norm of the inverse overflows.

        Raises
        ------
        ValueError, SingularPivotError
            As for `solve`.

        References
        ----------
        .. [1] N. J. Higham, FORTRAN codes for estimating the one-norm of a real or complex matrix,
           ACM Trans. Math. Softw. 14, 381-396, 1988.
        """
        return measures.rcond(self._matrix(), self.solve)

    def solve_gradient(self, x: Any, g: Any) -> tuple[Array, Any]:
        """Gradients of a real function f(x), x = A^-1 b, with respect to A and b.

        ``df = Re(sum(conj(values_gradient) * dvalues)) + Re(sum(conj(b_gradient) * db))`` for any
        change of A on its pattern; the conjugates matter only for complex systems.

        Parameters
        ----------
        x : array_like, shape (N,) or (N, k), or {label: vector}
            Solution.
        g : array_like, shape of x, or {label: vector}
            Gradient of f with respect to x, ``df = Re(sum(conj(g) * dx))``: df/dRe x + i df/dIm x.

        Returns
        -------
        values_gradient : ndarray, shape (graph.nnz,)
            Blocks ``-lam_i x_j^H`` in the layout of `System.values`, summed over the columns. For a
            symmetric or Hermitian system they are symmetrized: setting ``system[u, v] = block``
            changes blocks (u, v) and (v, u), so df is twice the product with block (u, v).
        b_gradient : ndarray, shape of g, or {label: vector}
            The adjoint lam, ``A^H lam = g``, at the cost of one solve.

        Raises
        ------
        ValueError
            As for `solve`, and if x and g have different shapes.
        """
        lam = self.solve(g, "H")
        return values_gradient(self.graph, self.dtype, self.symbolic.symmetric, x, lam), lam

    def selected_inverse(self) -> SelectedInverse:
        """Blocks of A^-1 on the nodes and edges of the graph.

        They cost about two factorizations, and are computed from the factors without refinement.
        ``inverse[u, u]`` is the marginal covariance of node u if A is a precision matrix.

        Returns
        -------
        SelectedInverse

        Raises
        ------
        ValueError
            If the last `refactorize` failed.
        SingularPivotError
            As for `slogdet`.

        Warns
        -----
        InaccurateSolutionWarning
            As for `slogdet`.

        References
        ----------
        .. [1] A. M. Erisman and W. F. Tinney, On computing certain elements of the inverse of a
           sparse matrix, Comm. ACM 18, 1975.
        """
        found = self._trusted("the selected inverse")
        return selected_inverse(found)

    def as_linear_operator(self) -> Any:
        """The inverse as a `scipy.sparse.linalg.LinearOperator`, for example as a preconditioner.

        Returns
        -------
        scipy.sparse.linalg.LinearOperator, shape (N, N)
        """
        return measures.linear_operator(self.solve, self.shape, self.dtype)

    def _matrix(self) -> Matrix:
        """The matrix that was factorized last, to check solutions with."""
        values = self._values  # read once: another thread may replace it
        if not isinstance(values, Matrix):
            self._values = values = Matrix(self.graph, as_plain(values))
        return values

    def _ready(self) -> Solver:
        """Solves with the factors; ValueError if the last factorization failed."""
        solver, found = self._solver, self._factorization
        if solver is not None:
            solver.pivot_ratio, solver.weakest = found.pivot_ratio, found.weakest
            return solver
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
