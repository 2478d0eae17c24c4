"""Numeric factorization in one elimination order, and the search for an order that is stable."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.errors import SingularPivotError
from graphsys.kernels.base.layout import (
    GROWTH,
    NO_BLOCKS,
    PIVOT_RATIO,
    REFINED,
    ROWS,
    SCALARS,
    SUPERNODES,
    WEAKEST,
)
from graphsys.kernels.base.widths import GROWN, SMALL
from graphsys.kernels.single.fused_solve import (
    BUSY,
    INFO,
    NNZ,
    REFINE_BELOW,
    SINGULAR,
    TOLERANCE,
)
from graphsys.matrix.equilibration import Scaling
from graphsys.matrix.from_scipy import check_finite
from graphsys.numeric import diagnosis, fast_calls, stability
from graphsys.numeric.fronts import MANY_DELAYED, REFINED_THRESHOLDS, Fronts
from graphsys.numeric.partial_update import Reach
from graphsys.numeric.residuals import EPS, Matrix
from graphsys.numeric.scalar_update import RowReach
from graphsys.numeric.solver import Solver
from graphsys.numeric.threads import Tasks, as_threads, more_room, worth_sharing
from graphsys.symbolic import Symbolic

Array = NDArray[Any]
Ints = NDArray[np.int64]

#: Pivot ratio, in machine epsilons, below which a pivot is singular: it is cancellation.
SINGULAR_RATIO = 64.0
#: Pivot ratio below which factors are doubtful: solves check and refine their solution. A pivot at
#: this bound and growth at `growth.GROWN` amplify rounding errors 64 / 0.125 times.
DOUBTFUL = 0.125
#: Factor by which a step of refinement must reduce the residual, for refinement to converge soon.
CONTRACTS = 0.1
#: The same for at most two refinements, of 640 solutions of late interior-point systems with
#: diagonals of 1e-10 to 1e10. With 3e-5 one needs a third.
SOON = 1e-5
#: Rows per node beyond which fronts take less time than explicit inverses of pivot blocks.
WIDE_NODE = 16
#: Power of machine epsilon above which a condition number may be one of a poor scaling: 1.4e3 in
#: double precision, a seventh of 1e4, for the estimate is a lower bound.
CLEAR = -0.2
#: Power of machine epsilon from which pivot ratios of diagonally dominant matrices are no doubt:
#: no multiplier exceeds 1, and half of the digits of a pivot are left.
DOMINANT = 0.5
#: Range of the exponents of an equilibration beyond which the equilibrated matrix is factorized:
#: the floor of the backward error (`kernels.refinement.FLOOR`) could hide errors of small unknowns.
WILD = 20
#: Range of the exponents between two scalings that changes little: errors of the inverse in one are
#: 2^(2 * 8) machine epsilons of its largest entry in the other, 1e-11, at most.
NEAR = 8
#: Error of a thread that refactorizes at the same time as another.
OTHER_THREAD = (
    "another thread is refactorizing this factor: threads may share its solves, but each needs a "
    "factor of its own to refactorize, such as copy.deepcopy(factor)"
)


class Factorization:
    """Factors of a matrix in one elimination order; the arrays serve many matrices.

    Where a matrix needs another order, the methods return another factorization and leave this one
    with its arrays to the threads that solve with it.

    Parameters
    ----------
    symbolic : Symbolic
    dtype : dtype
    last : frozenset of int, optional
        Nodes that the symbolic factorization has last and that are not eliminated: see `condense`.
    threads : int, optional
        How many factorize together, if that is worth it.
    refine_below : float, optional
        Pivot ratio below which solutions are refined.

    Attributes
    ----------
    program : ndarray of int
        That of the symbolic factorization, as far as the first of the last nodes.
    arena, magnitude : ndarray
        Factors and magnitudes of their rows, as `kernels.factorize` leaves them.
    info : ndarray, shape (6,)
        Pivot ratio, weakest row and growth of the last factorization, and settings: see
        `kernels.single.fused_solve`.
    fast_factorize, fast_solve, fast_factorize_and_solve, fast_factorize_and_refine,
    fast_solve_refined : callable
        See `fast_calls`; the third one is None before its first call.
    matrix : Matrix or None
        The matrix to refine with, if solves refine.
    scaling : Scaling or None
        Where it is not None, these are factors of the equilibrated matrix.
    factorized : int
        Supernodes that the last factorization computed.
    stabilized : bool
        Whether order and scaling were chosen for the last matrix, not for one before.
    compared : bool
        Whether the scaling is the better one of two for the last matrix.
    fronts : Fronts or None
        Where it is not None, these are the factors: rows are exchanged between blocks.
    """

    #: Whether solves refine whatever the pivots are: these are not quite factors of the matrix.
    must_refine = False
    #: Whether unknowns differ by so many magnitudes that errors count in all rows.
    strict = False
    #: What solves with the factors.
    solves = Solver
    #: Whether `stable` equilibrates the matrix.
    equilibrates = True
    #: Whether rows of weak pivot blocks get small residuals, see `kernels.blocks.weak`.
    refines_rows = True
    #: Rows that depend on others, by label: none, for `factorize` refuses them.
    redundant: dict[Hashable, int] = {}

    def __init__(
        self,
        symbolic: Symbolic,
        dtype: np.dtype[Any],
        last: frozenset[int] = frozenset(),
        threads: int = 1,
        refine_below: float = 0.0,
    ) -> None:
        self.dtype, self.last, self.threads = dtype, last, as_threads(threads)
        self.eps = EPS[dtype]
        self._refine_below = refine_below
        self.scaling: Scaling | None = None
        self.stabilized = self.compared = False
        self._allocate(symbolic)

    def _allocate(self, symbolic: Symbolic, fronts: Fronts | None = None) -> None:
        """Make new arrays for an elimination order, in which fronts may delay pivots."""
        self.symbolic, self.fronts = symbolic, fronts
        self.program = symbolic.program_for(self.dtype)
        if not self.refines_rows:
            self.program = self.program.copy()
            self.program[REFINED] = NO_BLOCKS
        if self.last:
            stay = int(symbolic.graph.size[list(self.last)].sum())
            first_row = symbolic.row_of[symbolic.super_start[:-1]]
            self.program = self.program.copy()
            self.program[SUPERNODES] = np.searchsorted(first_row, symbolic.row_of[-1] - stay)
        self._reach: Reach | RowReach | None = None
        self.reached: Ints | None = None  # supernodes of the last update
        self._tasks: Tasks | None = None
        size = symbolic.arena_size
        if self.threads > 1 and not (self.last or fronts) and worth_sharing(symbolic, self.dtype):
            self._reach = Reach.of(symbolic)
            self._tasks = Tasks.of(self._reach, self.threads)
            size += more_room(symbolic, self.threads)
        self.info = np.zeros(INFO)
        self.info[TOLERANCE] = SINGULAR_RATIO * self.eps
        self.info[REFINE_BELOW] = self._refine_below
        self.info[NNZ] = symbolic.graph.nnz
        self._arrays = fast_calls.new_arrays(self.program, size, self.dtype, self.info)
        self.arena, self.magnitude = self._arrays.arena, self._arrays.magnitude
        self.factorized, self._supernodes = 0, int(self.program[SUPERNODES])
        self.matrix: Matrix | None = None
        self._solver = self.solves(symbolic, self.arena, None, 0.0, 0, self.fronts)
        self._bind()

    @property
    def panels(self) -> Ints:
        """A program that has the panels of the factors."""
        return self.symbolic.panels if self.program[SCALARS] else self.program

    def _bind(self) -> None:
        """Make the callables that work on the arrays."""
        self.fast_factorize = fast_calls.factorizing(self._arrays)
        self.fast_solve = fast_calls.solving(self._arrays)
        self.fast_factorize_and_solve: Callable[[Array, Array], Array | None] | None = None
        arrays, graph = self._arrays, self.symbolic.graph
        self.fast_factorize_and_refine = fast_calls.factorizing_and_refining(
            arrays, graph, self.strict
        )
        self.fast_solve_refined = fast_calls.solving_refined(arrays, graph, self.strict)

    def load_factorize_and_solve(self) -> Callable[[Array, Array], Array | None]:
        """Make `fast_factorize_and_solve`, whose machine code is loaded only for the first call."""
        self.fast_factorize_and_solve = made = fast_calls.factorizing_and_solving(self._arrays)
        return made

    def _in_order(
        self, symbolic: Symbolic, scaling: Scaling | None, fronts: Fronts | None = None
    ) -> Factorization:
        """A copy with arrays of its own for another elimination order, not yet factorized."""
        other = copy(self)
        other.scaling, other.strict = scaling, False
        other._allocate(symbolic, fronts)
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {name: v for name, v in self.__dict__.items() if not name.startswith("fast_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()

    @property
    def pivot_ratio(self) -> float:
        """Smallest pivot relative to the largest magnitude of its row in its pivot block."""
        return self.info.item(PIVOT_RATIO)

    @property
    def weakest(self) -> int:
        """First row of the pivot block with the smallest pivot ratio."""
        return int(self.info.item(WEAKEST))

    @property
    def pivot_growth(self) -> float:
        """Largest magnitude of a row of a pivot block relative to that of the matrix there."""
        if self.fronts is not None:
            if self.fronts.is_weak and self.matrix is not None:
                return self.fronts.growth_of(self.matrix.values)
            return self.fronts.growth
        rows = int(self.program[ROWS])
        most, given = self.magnitude[:rows], self.magnitude[rows : 2 * rows]
        with np.errstate(all="ignore"):
            return float(np.max(most / given, initial=1.0, where=most > 0.0))

    @property
    def doubtful(self) -> bool:
        """True if small pivots, or growth, may have made the factors inaccurate."""
        return not self.pivot_ratio >= DOUBTFUL or self.info.item(GROWTH) > GROWN

    @property
    def refines(self) -> bool:
        """True if solves with doubtful factors refine their solutions."""
        return self._refine_below > 0.0

    @property
    def plain(self) -> bool:
        """True if `fast_factorize` alone repeats the last factorization."""
        whole = self.factorized == self._supernodes and self._tasks is None
        return whole and self.scaling is None and self.fronts is None

    @property
    def nbytes(self) -> int:
        """Bytes of the factors."""
        return self.arena.nbytes if self.fronts is None else self.fronts.nbytes

    def factorize(self, values: Array, changed: Ints | None = None) -> Factorization:
        """Factorize a matrix; where a pivot is singular, in an order that avoids it.

        Parameters
        ----------
        values : ndarray, shape (graph.nnz,)
        changed : ndarray of int, optional
            Nodes that the last factors, good ones, do not know yet: see `Reach`. Fronts and
            factors of an equilibrated matrix are computed anew.

        Returns
        -------
        Factorization
            This one, or one in another order.

        Raises
        ------
        SingularPivotError
            If there is no such order.
        ValueError
            If values are not finite.
        """
        self.stabilized = self.compared = False
        if self.scaling is not None:
            check_finite(self.symbolic.graph, values)
            if not self.scaling.fits(self.symbolic.graph, values):
                self.scaling = self._equilibration(values)
            failed = self._eliminate(self.scaling.matrix(values))
        elif changed is None or self.fronts is not None:
            failed = self._eliminate(values)
        else:
            failed = self._update(values, changed)
        return self.stable(values, self.refines)[0] if failed else self

    def _eliminate(self, values: Array) -> int:
        """Factorize in the order there is: 0, or 1 + the row of a pivot block that is singular."""
        self.factorized, self.reached = self._supernodes, None
        if self.fronts is not None:
            failed = self.fronts.factorize(values)
            growth = self.fronts.growth
            self.info[PIVOT_RATIO] = 0.0 if failed else self.fronts.least
            self.info[WEAKEST], self.info[GROWTH] = max(failed - 1, 0), growth * (growth > GROWN)
            return failed
        if self._tasks is not None:
            return self._tasks.factorize(values, self.magnitude, self.arena, self.info)
        status = self.fast_factorize(values)
        if status == BUSY:
            raise RuntimeError(OTHER_THREAD)
        return 1 + self.weakest if status == SINGULAR else 0

    def _update(self, values: Array, changed: Ints) -> int:
        """Factorize the supernodes that a change reaches, and all if one of these is singular."""
        if self._reach is None:
            kind = RowReach if self.program[SCALARS] else Reach
            self._reach = kind.of(self.symbolic)
        reached = self._reach.from_nodes(changed)
        if self._reach.refactorize(reached, values, self.magnitude, self.arena, self.info):
            return self._eliminate(values)
        self.factorized, self.reached = reached.size, reached
        return 0

    def solver(self, values: Array | None) -> Solver:
        """Solves with the factors.

        Parameters
        ----------
        values : ndarray, shape (graph.nnz,), or None
            The matrix to refine with, if solves refine: it is copied.
        """
        solver, info = self._solver, self.info
        solver.pivot_ratio, solver.weakest = info.item(PIVOT_RATIO), int(info.item(WEAKEST))
        solver.scaling = self.scaling
        solver.refine_with(values)
        if solver.matrix is not None:
            solver.matrix.strict = self.strict
        return solver

    def instability(self, values: Array) -> tuple[float, float]:
        """Errors of the factors alone, and a lower bound of the condition number: `stability`.

        Parameters
        ----------
        values : ndarray, shape (graph.nnz,)
            What was factorized.
        """
        if self.scaling is not None:
            values = self.scaling.matrix(values)
        return self._error(values)

    def _error(self, values: Array, normwise: bool = False) -> tuple[float, float]:
        """`instability` of the matrix that the factors are of."""
        both, matrix = not self.symbolic.symmetric, Matrix(self.symbolic.graph, values)
        return stability.instability(matrix, self._probe, both, normwise=normwise)

    def _probe(self, b: Array, transposed: bool) -> Array:
        """Solution by the factors alone for columns that `stability` measures.

        NaN where it, or b as the residual of such a solution, is not finite.
        """
        solver = Solver(
            self.symbolic, self.arena, None, self.pivot_ratio, self.weakest, self.fronts
        )
        try:
            return solver.substitute(b, stability.PROBES, transposed)
        except (OverflowError, ValueError):
            return np.full_like(b, np.nan)

    def _equilibration(self, values: Array) -> Scaling:
        """Scaling of the part that is eliminated."""
        return Scaling.of(self.symbolic.graph, values, self.symbolic.symmetric, self.last)

    def is_wild(self, values: Array) -> bool:
        """True if rows or columns differ so much that errors of small unknowns are invisible."""
        if not self.equilibrates or self.symbolic.graph.rows == 0:
            return False
        matrix = Matrix(self.symbolic.graph, values)
        with np.errstate(all="ignore"):
            ranges = [sums.max() / sums.min() for sums in map(matrix.sums, (False, True))]
        if all(width <= 2.0**WILD for width in ranges):  # most: no need to equilibrate
            return False
        found = self._equilibration(values)
        return bool(max(np.ptp(found.row), np.ptp(found.column)) > WILD)

    def hides_errors(self, matrix: Matrix) -> bool:
        """True if errors of small unknowns are invisible in the scaling of the factors.

        That may be the scaling of an earlier matrix, or none. The largest entries of rows and
        columns do not tell: beside couplings of a moderate size, a block may be of any. Computed
        once per matrix.
        """
        if matrix.hidden is None:
            values, matrix.hidden = matrix.values, False
            if self.scaling is not None:
                values = self.scaling.matrix(values)
            size = np.abs(values)
            least = size.min(initial=np.inf, where=size > 0.0)
            if self.equilibrates and size.max(initial=0.0) * 2.0**-WILD > least:
                found = self._equilibration(values)
                matrix.hidden = bool(max(np.ptp(found.row), np.ptp(found.column)) > WILD)
        return matrix.hidden

    def can_refine(self, values: Array) -> bool:
        """True if refinement converges with the factors of a matrix, measured by two steps of it.

        Explicit inverses of pivot blocks lose as many digits as the blocks are close to singular
        ones, in any order of elimination; refinement brings these back.
        """
        return self._gain(values) < CONTRACTS

    def _gain(self, values: Array) -> float:
        """`_contraction`; infinite where errors of small unknowns are invisible."""
        if self.scaling is not None:
            values = self.scaling.matrix(values)
        elif not self.strict and self.is_wild(values):
            return np.inf
        return self._contraction(values)

    def with_strict_errors(self, values: Array) -> Factorization | None:
        """These factors of a symmetric matrix whose solves refine all rows, in at most two steps.

        Rows of interior-point systems differ by many magnitudes, and no scaling suits all of them.
        None where fronts would take less time, or more than two steps are due.
        """
        known = self.strict or self.last or self.must_refine or self.scaling or self.fronts
        double = self.dtype == np.dtype(np.float64)
        if known or not (self.symbolic.symmetric and self.refines and double):
            return None
        if self._is_wide() or not self._contraction(values) < SOON:
            return None
        found = copy(self)
        found.strict = True
        found._bind()
        return found

    def _contraction(self, values: Array) -> float:
        """Factor by which a refinement with the matrix that the factors are of reduces residuals.

        Infinite where that is singular to working precision.
        """
        both, matrix = not self.symbolic.symmetric, Matrix(self.symbolic.graph, values)
        factor, condition = stability.contraction(matrix, self._probe, both)
        return np.inf if stability.is_singular(condition, self.dtype) else factor

    def checked(self, values: Array, delays: bool = True) -> tuple[Factorization, float]:
        """Replace doubtful factors by those of a stable method.

        Where pivots may be delayed, they are, whatever the errors of the doubtful factors are: the
        recurrence of the selected inverse loses more by small pivots than a solve does. Scalar
        matrices that are diagonally dominant need no delay: no multiplier exceeds 1. Nothing
        refines here, so that errors grow with the condition number: of two scalings, the one with
        the smaller one is taken. It is at least the reciprocal of the pivot ratio.

        Parameters
        ----------
        values : ndarray, shape (graph.nnz,)
            What was factorized.
        delays : bool, optional
            Whether pivots may be delayed.

        Returns
        -------
        factorization : Factorization
            This one, or a stable one.
        lost : float
            Bound on relative errors of the inverse; 0 where nothing is in doubt.

        Raises
        ------
        SingularPivotError
            If the matrix is singular to working precision.
        """
        if self.scaling is not None and not self.compared:
            if (plain := self._as_it_is(values, delays, self.scaling)) is not None:
                return plain[0], max(plain[1], self.eps) * plain[2]
        if not self.doubtful and self.fronts is None:
            return self, 0.0
        small = self.fronts is None or self.fronts.is_weak  # as pivots may be
        dominant = self._is_dominant(values)
        if dominant and self.pivot_ratio >= self.eps**DOMINANT:
            return self, self.eps / self.pivot_ratio
        dominant &= delays
        found, replace = self, delays and small and not dominant
        if not replace:
            error, condition = self.instability(values)
            replace = not stability.is_stable(error, self.dtype)
            replace |= stability.is_singular(condition, self.dtype)
            replace |= self.scaling is None and self.is_wild(values)
            replace |= not self.compared and condition > self.eps**CLEAR
        if replace:
            delayed = None if dominant else delays
            found, error, condition = self.stable(values, delays=delayed, compares=True)
        return found, max(error, self.eps) * condition

    def _is_dominant(self, values: Array) -> bool:
        """True if these are static factors of a scalar matrix that its diagonal dominates.

        It does in rows and columns, up to rounding.

        Elimination then keeps dominance, and entries grow at most twofold (J. H. Wilkinson, Error
        analysis of direct methods of matrix inversion, J. ACM 8, 1961).
        """
        graph = self.symbolic.graph
        one_each = graph.size.max(initial=0) == 1 and graph.size.min(initial=1) == 1
        if self.fronts is not None or not one_each:
            return False
        with np.errstate(all="ignore"):
            least = 2.0 * np.abs(values[graph.diagonal_at])
            least *= 1.0 + self.eps * graph.most_entries()
            sides = (False,) if self.symbolic.symmetric else (False, True)
            sums = map(Matrix(graph, values).sums, sides)
            return all((least >= found).all() for found in sums)

    def stable(
        self,
        values: Array,
        refines: bool = False,
        delays: bool | None = None,
        compares: bool = False,
    ) -> tuple[Factorization, float, float]:
        """Factorize a matrix that resists: equilibrated, and then with delayed pivots.

        Parameters
        ----------
        values : ndarray, shape (graph.nnz,)
        refines : bool, optional
            Whether factors are good enough if refinement converges with them.
        delays : bool, optional
            True delays pivots at once, False never. By default they are delayed if static factors
            of the equilibrated matrix are not stable.
        compares : bool, optional
            Whether a large condition number in the first scaling has the second one tried, and one
            close to the units of the matrix where both are far from them.

        Returns
        -------
        factorization : Factorization
            Another one.
        error, condition : float
            Its `instability`.

        Raises
        ------
        SingularPivotError
            If the matrix is singular to working precision, or no factors were stable.
        ValueError
            If values are not finite.
        """
        graph = self.symbolic.graph
        check_finite(graph, values)
        if refines and delays is None and (weak := self._with_weak_pivots(values)) is not None:
            return weak
        best: tuple[float, float, Factorization | None] = (np.inf, np.inf, None)
        sure: tuple[float, float, Factorization] | None = None  # with the smaller condition number
        failure = None
        for attempt, scaling in enumerate(self._scalings(values)):
            matrix = values if scaling is None else scaling.matrix(values)
            if attempt == 0:
                diagnosis.check_structure(graph, matrix, self.last)
            before = best
            for trial in self._trials(scaling, delays):
                failed = trial._eliminate(matrix)
                if failed:
                    failure = failure or trial._failure(matrix, failed - 1)
                    continue
                error, condition = trial._error(matrix)
                stable = stability.is_stable(error, self.dtype)
                if stability.is_singular(condition, self.dtype, again=attempt > 0):
                    failure = failure or trial._singular(condition)
                    if stable:  # and so it is, whatever weaker factors said in this scaling
                        best = before
                        break
                elif stable or refines and trial._contraction(matrix) < CONTRACTS:
                    trial.stabilized = stable
                    if sure is None or condition < sure[1]:
                        sure = error, condition, trial
                    break
                elif error < best[0]:
                    best = error, condition, trial
            if sure is not None and not (compares and sure[1] > self.eps**CLEAR):
                break
        if sure is not None:
            error, condition, trial = sure
            trial.compared = compares
            plain = self._as_it_is(values, delays, trial.scaling) if compares else None
            return plain or (trial, error, condition)
        error, condition, found = best
        if found is not None and not error < self.eps**0.5:
            matrix = values if found.scaling is None else found.scaling.matrix(values)
            error, condition = found._error(matrix, normwise=True)
        if found is None or not error < self.eps**0.5:
            raise failure or self._unstable(error)
        found.stabilized = True
        return found, error, condition

    def first_replacement(self, values: Array) -> Factorization:
        """These doubtful factors of a first matrix, or better ones for it and those that follow.

        Raises
        ------
        SingularPivotError
            As for `stable`.
        """
        sure = self.pivot_ratio >= self.eps**DOMINANT and self._is_dominant(values)
        gain = 0.0 if sure else self._gain(values)
        refinable = gain < CONTRACTS
        if not refinable and (strict := self.with_strict_errors(values)) is not None:
            return strict
        if self.refines and refinable and not self.must_refine and self._suits_fronts(gain):
            weak = self._with_weak_pivots(values)
            return self if weak is None else weak[0]
        return self if refinable else self.stable(values, self.refines)[0]

    def _suits_fronts(self, gain: float) -> bool:
        """True if fronts solve in less time than doubtful factors, of wide nodes or of scalars.

        Fronts take 0.4 to 0.8 of the time of nodes of 40 to 16 rows; of scalars 0.6 to 0.8 with
        supernodes of more than `SMALL` rows, 1.1 times with those of 7. Or more than two
        refinements are due.
        """
        graph, supernodes = self.symbolic.graph, self.symbolic.super_start.size - 1
        rows = graph.rows
        if self._tasks is not None:
            return False
        if self._is_wide():
            return True
        scalars = rows <= 2 * graph.size.size
        return scalars and (rows > SMALL * supernodes or not gain < SOON)

    def _is_wide(self) -> bool:
        """True if pivot blocks are so wide that fronts take less time than static factors."""
        graph, widest = self.symbolic.graph, self.symbolic.widest
        return widest > WIDE_NODE and graph.rows > WIDE_NODE * graph.size.size

    def _with_weak_pivots(self, values: Array) -> tuple[Factorization, float, float] | None:
        """`stable` factors of a symmetric matrix as it is, by fronts with weak pivots.

        Pivots stay where the analysis put them but for a few. Where many are delayed, nodes are
        ordered once more, each where its last pivot was. None where refinement does not converge.
        Single precision has no digits to lose.
        """
        known = self.last or self.fronts is not None
        if not self.symbolic.symmetric or known or self.eps > EPS[np.dtype(np.float64)]:
            return None
        best: tuple[float, Factorization] | None = None
        for thresholds in REFINED_THRESHOLDS:
            trial = self._by_fronts(values, thresholds)
            if trial is None:
                continue
            contraction = trial._contraction(values)
            if best is None or contraction < best[0]:
                best = contraction, trial
            if contraction < SOON:
                break
        if best is None:
            return None
        contraction, trial = best
        error, condition = trial._error(values)
        if stability.is_singular(condition, self.dtype):
            return None
        stable = stability.is_stable(error, self.dtype) or contraction < CONTRACTS
        return (trial, error, condition) if stable else None

    def _by_fronts(self, values: Array, thresholds: tuple[float, float]) -> Factorization | None:
        """Factors of a symmetric matrix as it is; None where too many pivots are delayed."""
        symbolic = self.symbolic.for_fronts
        for again in (False, True):
            fronts = Fronts(symbolic, self.dtype, None, thresholds)
            trial = self._in_order(symbolic, None, fronts)
            if trial._eliminate(values):
                return None
            if again or fronts.delayed <= MANY_DELAYED * symbolic.graph.rows:
                break
            symbolic = symbolic.in_order(fronts.order()).for_fronts
        trial.stabilized = False  # solves check their rows
        return trial

    def _as_it_is(
        self, values: Array, delays: bool | None, other: Scaling | None
    ) -> tuple[Factorization, float, float] | None:
        """`stable` factors close to the units of the matrix, if the other scaling is far from them.

        Errors of the inverse are small relative to its largest entry in the scaling of the factors.
        That of a matching may make small entries of the inverse 1e300 times as large as others.
        None where the condition number is large in these units.
        """
        if other is None or values.size == 0:
            return None
        scaling = Scaling.of_sweeps(self.symbolic.graph, values, self.symbolic.symmetric)
        apart = scaling.row - other.row, scaling.column - other.column
        if max(map(np.ptp, apart)) <= NEAR:
            return None
        matrix = scaling.matrix(values)
        for trial in self._trials(scaling, delays):
            if trial._eliminate(matrix):
                continue
            error, condition = trial._error(matrix)
            if stability.is_stable(error, self.dtype) and condition <= self.eps**CLEAR:
                trial.stabilized = trial.compared = True
                return trial, error, condition
        return None

    def _scalings(self, values: Array) -> Iterator[Scaling | None]:
        """Scalings to try: another one makes some matrices regular that are singular in the first.

        A regularized matrix keeps its own.
        """
        if not self.equilibrates:
            yield None
            return
        symbolic = self.symbolic
        yield from Scaling.candidates(symbolic.graph, values, symbolic.symmetric, self.last)

    def _trials(self, scaling: Scaling | None, delays: bool | None) -> Iterator[Factorization]:
        """The equilibrated matrix with static pivots, and then with delayed ones.

        No node has to wait for a neighbour where pivots are delayed: fronts are smaller then.
        """
        if not delays:
            yield self._in_order(self.symbolic, scaling)
        if delays is not False:
            symbolic = self.symbolic.for_delayed_pivots
            yield self._in_order(symbolic, scaling, Fronts(symbolic, self.dtype))

    def _failure(self, values: Array, row: int) -> SingularPivotError:
        """Error for a pivot block, found at a row, that is singular."""
        step, ratio = self._failed_step(values, row)
        return diagnosis.singular_pivot(self.symbolic, step, ratio)

    def _failed_step(self, values: Array, row: int) -> tuple[int, float]:
        """Elimination step without a pivot, found at a row, and how singular its block is."""
        if self.fronts is not None:
            return int(np.searchsorted(self.symbolic.row_of, row, side="right")) - 1, 0.0
        return diagnosis.singular_step(self.symbolic, values, row, self.arena, self.magnitude)

    def _singular(self, condition: float) -> SingularPivotError:
        """Error for a matrix that is singular to working precision."""
        return diagnosis.singular_matrix(
            self.symbolic, self._weakest_step(), condition, self.pivot_ratio
        )

    def _unstable(self, error: float) -> SingularPivotError:
        """Error for a matrix whose factors are not stable, however pivots are chosen."""
        return diagnosis.unstable_factors(
            self.symbolic, self._weakest_step(), error, self.pivot_ratio
        )

    def uncertain_signs(self, count: int) -> SingularPivotError:
        """Error for ``count`` eigenvalues of pivot blocks whose signs rounding may have changed."""
        return diagnosis.uncertain_signs(
            self.symbolic, self._weakest_step(), count, self.pivot_ratio
        )

    def _weakest_step(self) -> int:
        """Elimination step with the weakest pivot block; 0 where none is weak."""
        weak = self._weak_steps()
        return weak[0] if weak else 0

    def _weak_steps(self) -> list[int]:
        """First steps of supernodes with large entries in D^-1, L or W."""
        if self.fronts is not None:
            return []
        weak = stability.weak_supernodes(self.panels, self.arena)
        steps: list[int] = self.symbolic.super_start[weak].tolist()
        return steps
