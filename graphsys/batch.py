"""Many systems of one graph, factorized and solved side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.factor import Factor
from graphsys.matrix.block import as_dtype, as_numbers
from graphsys.matrix.checksums import Sealed
from graphsys.matrix.graph import BlockGraph
from graphsys.numeric.batch_engines import FAILURES, Engine, Lanes, engine_for
from graphsys.numeric.factorization import DOUBTFUL
from graphsys.numeric.threads import as_threads
from graphsys.symbolic import Symbolic

Array = NDArray[Any]


class Batch(Sealed):
    """Factors of many matrices on one graph; small systems are computed eight at a time.

    Each system is solved as accurately as by `Factor`: one with a singular pivot in the common
    elimination order, or whose refinement fails, is factorized by a `Factor` of its own. If that
    fails as well, its solutions are NaN and `failures` has the reason; the other systems are not
    affected.

    Parameters
    ----------
    symbolic : Symbolic
        Symbolic factorization of the common graph, from `System.analyze`.
    values : array_like, shape (count, graph.nnz), optional
        Blocks of each system in the layout of `System.values`, factorized in the constructor.
    refine : bool, optional
        Whether solves compute residuals and refine to rounding level. By default they do for
        systems with a pivot ratio below 0.125 or a pivot growth above 64, and if nodes lack pivots
        (`Precedence.short`).
    threads : int, optional
        Number of threads that share the systems.

    Attributes
    ----------
    symbolic : Symbolic
    count : int
        Number of systems; 0 before the first values.
    pivot_ratio : ndarray, shape (count,)
        As `Factor.pivot_ratio`; NaN if a pivot is singular in the common elimination order.
    backward_error : ndarray, shape (count,)
        Of the last solve, ``|A x - b| / (|A| |x| + |b|)`` in the maximum norm; NaN if not computed.
    failures : dict of int to Exception
        By number of a system, the reason why it could not be factorized or solved; a
        `SingularPivotError` has the node's label.

    Raises
    ------
    ValueError
        If `values` has the wrong shape, or `threads` is less than 1.
    TypeError
        If `values` are not numbers.

    Examples
    --------
    >>> import graphsys as gs
    >>> import numpy as np
    >>> system = gs.System(gs.chain(2), 1, blocks={(0, 0): 2.0, (1, 1): 4.0})
    >>> batch = gs.Batch(system.analyze(), [system.values, 2 * system.values])
    >>> batch.solve([[2.0, 4.0], [2.0, 4.0]])
    array([[1. , 1. ],
           [0.5, 0.5]])
    """

    def __init__(
        self,
        symbolic: Symbolic,
        values: Any = None,
        *,
        refine: bool | None = None,
        threads: int = 1,
    ) -> None:
        kind: type = type(symbolic)
        if not issubclass(kind, Symbolic):
            raise TypeError(f"symbolic is a {kind.__name__}: give what system.analyze() returns")
        self.symbolic, self.threads, self._refine = symbolic, as_threads(threads), refine
        self.count = 0
        self.failures: dict[int, Exception] = {}
        self.pivot_ratio = self.backward_error = np.zeros(0)
        self._alone: dict[int, Factor] = {}
        self._engine: Engine | None = None
        self._factors = self._mostly_doubtful = False
        if values is not None:
            self.refactorize(values)

    @property
    def graph(self) -> BlockGraph:
        """The graph of all systems."""
        return self.symbolic.graph

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of systems, and the shape of each."""
        rows = self.graph.rows
        return self.count, rows, rows

    @property
    def status(self) -> NDArray[np.str_]:
        """How each system was factorized, shape (count,): "batch", "alone" or "failed"."""
        status = np.full(self.count, "batch", "<U6")
        status[list(self._alone)] = "alone"
        status[list(self.failures)] = "failed"
        return status

    def refactorize(self, values: Any) -> Batch:
        """Factorize other matrices.

        Parameters
        ----------
        values : array_like, shape (count, graph.nnz)
            Blocks of each system; copied if solves have to refine.

        Returns
        -------
        Batch
            This one.

        Raises
        ------
        ValueError
            If `values` has the wrong shape; the factors are kept.
        """
        numbers = self._checked(values)
        engine = self._start(numbers)
        engine.factorize(numbers, self.threads)
        self.pivot_ratio = engine.pivot_ratio[: self.count]
        self._values = numbers
        if engine.doubtful(self._refine_below).any():
            self._values = numbers.copy()
        for i in np.flatnonzero(~engine.trusted()).tolist():
            self._go_alone(i, numbers[i])
        self._factors = True
        return self

    def solve(self, b: Any, trans: str = "N") -> Array:
        """Solve A_i x_i = b_i for all systems.

        Parameters
        ----------
        b : array_like, shape (count, N) or (count, N, k)
            Right-hand sides of each system.
        trans : {"N", "T", "H"}, optional
            Solve with the A_i, their transposes, or their conjugate transposes.

        Returns
        -------
        ndarray, shape of b
            NaN for systems that failed.

        Raises
        ------
        ValueError
            If b has the wrong shape, or there are no factors.
        """
        if not self._factors or self._engine is None:
            raise ValueError("there are no factors to solve with: refactorize first")
        right = self._right_hand_sides(b, trans, self.count, self._engine.dtype)
        x, error = self._engine.solve(self._values, right, trans, self._refine_below, self.threads)
        return self._finished(self._values, right, trans, x, error)

    def solve_once(self, values: Any, b: Any, trans: str = "N") -> Array:
        """Factorize other matrices and solve, without keeping the factors.

        This is one pass through memory. Solutions may differ from those of `refactorize` and
        `solve` by rounding errors, because pivot blocks of small nodes are not inverted.

        Parameters
        ----------
        values : array_like, shape (count, graph.nnz)
        b : array_like, shape (count, N) or (count, N, k)
        trans : {"N", "T", "H"}, optional
            As for `solve`.

        Returns
        -------
        ndarray, shape of b
            NaN for systems that failed.

        Raises
        ------
        ValueError
            If `values` or b has the wrong shape; the factors are kept.
        """
        numbers = self._checked(values)
        right = self._right_hand_sides(b, trans, len(numbers), numbers.dtype)
        engine = self._start(numbers)
        each = self._mostly_doubtful and right.ndim == 2
        if not isinstance(engine, Lanes) or trans != "N" or (self._mostly_doubtful and not each):
            x = self.refactorize(numbers).solve(right, trans)
            self._remember(engine.doubtful(self._refine_below))
            return x
        if each:
            x, error = engine.solve_each(numbers, right, self._refine_below, self.threads)
            self._remember(engine.doubtful(self._refine_below))
            self.pivot_ratio, self.backward_error = engine.pivot_ratio[: self.count].copy(), error
            unsure = np.isinf(error)
        else:
            x = engine.solve_once(numbers, right, self.threads)
            self.pivot_ratio = engine.pivot_ratio[: self.count].copy()
            if engine.sure(self._refine_below):
                return x
            unsure = ~engine.trusted() | engine.doubtful(self._refine_below)
            self._remember(unsure)
        again = np.flatnonzero(unsure)
        if again.size:
            part = Batch(self.symbolic, numbers[again], refine=self._refine, threads=self.threads)
            x[again] = part.solve(right[again])
            self.backward_error[again] = part.backward_error
            self.failures = {int(again[i]): failure for i, failure in part.failures.items()}
            self._alone = {int(again[i]): factor for i, factor in part._alone.items()}
        return x

    def _remember(self, doubtful: NDArray[np.bool_]) -> None:
        """If most systems have to be refined, the next `solve_once` solves them one by one."""
        self._mostly_doubtful = bool(2 * np.count_nonzero(doubtful) > doubtful.size)

    @property
    def _refine_below(self) -> float:
        """Pivot ratio below which solutions are refined."""
        if self._refine is None:
            return DOUBTFUL
        return np.inf if self._refine else 0.0

    def _checked(self, values: Any) -> Array:
        """Values as they are needed; ValueError or TypeError for what are none."""
        numbers = as_numbers(values, None, "values")
        numbers = np.ascontiguousarray(numbers, as_dtype(numbers.dtype))
        if numbers.ndim != 2 or numbers.shape[1] != self.graph.nnz:
            raise ValueError(
                f"values has shape {numbers.shape}, it must be (count, {self.graph.nnz})"
            )
        return numbers

    def _start(self, numbers: Array) -> Engine:
        """What works on values, with nothing known of them yet; the factors before are gone."""
        self._factors = False
        self.count, self.failures, self._alone = numbers.shape[0], {}, {}
        self.backward_error = np.full(self.count, np.nan)
        engine = self._engine
        if engine is None or engine.count != self.count or engine.dtype != numbers.dtype:
            engine = self._engine = engine_for(self.symbolic, self.count, numbers.dtype)
        return engine

    def _right_hand_sides(self, b: Any, trans: str, count: int, dtype: np.dtype[Any]) -> Array:
        """b as it is needed by so many systems; ValueError or TypeError for what is none."""
        if trans not in ("N", "T", "H"):
            raise ValueError(f"trans is {trans!r}, it must be 'N', 'T' or 'H'")
        right = np.ascontiguousarray(as_numbers(b, dtype, "b"))
        shape = count, self.graph.rows
        if right.ndim not in (2, 3) or right.shape[:2] != shape:
            raise ValueError(
                f"b has shape {right.shape}, it must be {shape} or ({shape[0]}, {shape[1]}, k)"
            )
        return right

    def _go_alone(self, i: int, values: Array) -> None:
        """Factorize one system by itself."""
        try:
            self._alone[i] = Factor(self.symbolic, values, refine=self._refine)
        except FAILURES as failure:
            self.failures[i] = failure

    def _finished(self, values: Array, b: Array, trans: str, x: Array, error: Array) -> Array:
        """Solutions with those that went alone, or failed, in their places."""
        assert self._engine is not None
        self.backward_error = error
        refined = self._engine.doubtful(self._refine_below)
        for i in np.flatnonzero(refined & ~(error <= self._engine.largest_error)).tolist():
            if i not in self._alone and i not in self.failures and np.isfinite(b[i]).all():
                self._go_alone(i, values[i])
        for i, factor in list(self._alone.items()):
            x[i] = error[i] = np.nan
            if not np.isfinite(b[i]).all():
                continue
            try:
                x[i] = factor.solve(b[i], trans)
            except FAILURES as failure:
                self.failures[i] = failure
            else:
                reported = factor.report.backward_error
                error[i] = np.nan if reported is None else reported
        failed = list(self.failures)
        x[failed] = error[failed] = np.nan
        return x

    def __repr__(self) -> str:
        _, rows, _ = self.shape
        return f"Batch({self.count} systems of {rows} unknowns, {self.symbolic.ordering} order)"
