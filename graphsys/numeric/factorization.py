"""Numeric factorization, and what to do when its pivots cannot be trusted."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.analysis.pivot_supply import merged
from graphsys.errors import SingularPivotError
from graphsys.kernels.base.layout import ROWS, SUPERNODES
from graphsys.kernels.blocks.growth import GROWN
from graphsys.matrix.equilibration import Scaling
from graphsys.matrix.from_scipy import check_finite
from graphsys.numeric import diagnosis, stability
from graphsys.numeric.fast_calls import Direct
from graphsys.numeric.partial_update import Reach
from graphsys.numeric.residuals import Matrix
from graphsys.numeric.solver import Solver
from graphsys.numeric.threads import Shared, as_threads, more_room, worth_sharing
from graphsys.symbolic import Symbolic, analyze

Array = NDArray[Any]
Ints = NDArray[np.int64]

#: How often an elimination order is replaced for one matrix.
REANALYSES = 8
#: A pivot this small relative to what its row held before is cancellation (times machine epsilon).
SINGULAR = 64.0
#: Solves check and refine their solution when a pivot is smaller than this relative to what its row
#: held. A pivot at this bound and growth at `growth.GROWN` amplify rounding errors 64 / 0.05 times.
DOUBTFUL = 0.05
#: Error of solutions by the factors alone up to which refinement is sure to converge.
CONTRACTS = 0.01
#: Systems up to so many rows are inverted as one block where no other order helps.
DENSE_ROWS = 2048
#: Range of the exponents of an equilibration beyond which the equilibrated matrix is factorized:
#: the floor of the backward error (`kernels.refinement.FLOOR`) could hide errors of small unknowns.
WILD = 20


class Numeric:
    """Arrays of a numeric factorization, made once for a `Symbolic` and used for many matrices.

    Parameters
    ----------
    symbolic : Symbolic
    dtype : dtype
    last : frozenset of int, optional
        Nodes that the symbolic factorization has last, which stay as they are: see `condense`.
    threads : int, optional
        How many factorize together, where that is worth it.
    enough : float, optional
        Least pivot ratio for which no solution has to be refined.

    Attributes
    ----------
    symbolic : Symbolic
        Another one after a matrix needed another order.
    program : ndarray of int
        That of the symbolic factorization, as far as the first of the last nodes.
    arena, magnitude : ndarray
        Factors and what each row held, as `kernels.factorize` leaves them.
    direct : Direct
        What works on these arrays.
    scaling : Scaling or None
        Where it is not None, these are factors of the equilibrated matrix.
    weakest : int
        First row of the pivot block with the smallest pivot ratio.
    factorized : int
        Supernodes that the last `factorize` computed.
    stabilized : bool
        Whether order and scaling were chosen for the last matrix, not for one before.
    """

    #: Whether solves refine whatever the pivots are.
    must_refine = False
    #: Whether a matrix that resists is equilibrated.
    equilibrates = True
    #: Rows that depend on others, by label: none, for `factorize` refuses them.
    redundant: dict[Hashable, int] = {}

    def __init__(
        self,
        symbolic: Symbolic,
        dtype: np.dtype[Any],
        last: frozenset[int] = frozenset(),
        threads: int = 1,
        enough: float = 0.0,
    ) -> None:
        self.dtype, self.last, self.threads = dtype, last, as_threads(threads)
        self._enough = enough
        real = np.zeros(0, dtype).real.dtype
        self.eps = float(np.finfo(real).eps)
        self._tolerance = SINGULAR * self.eps
        self.scaling: Scaling | None = None
        self.stabilized = False
        self._allocate(symbolic)

    @property
    def pivot_ratio(self) -> float:
        """Smallest pivot relative to what its row ever held in its block."""
        return self.direct.ratio

    @property
    def pivot_growth(self) -> float:
        """Largest magnitude of a row of a pivot block relative to what the matrix has there."""
        rows = int(self.program[ROWS])
        held, given = self.magnitude[:rows], self.magnitude[rows : 2 * rows]
        with np.errstate(all="ignore"):
            return float(np.max(held / given, initial=1.0, where=held > 0.0))

    @property
    def doubtful(self) -> bool:
        """Whether pivots leave open how good the factors are: small ones, or growth."""
        return not self.direct.ratio >= DOUBTFUL or self.direct.growth > GROWN

    @property
    def plain(self) -> bool:
        """Whether the last factorization was all that `direct` does by itself."""
        whole = self.factorized == self._supernodes and self._shared is None
        return whole and self.scaling is None

    def _allocate(self, symbolic: Symbolic) -> None:
        self.symbolic, self.program = symbolic, symbolic.program
        if self.last:
            stay = int(symbolic.graph.size[list(self.last)].sum())
            first_row = symbolic.row_of[symbolic.super_start[:-1]]
            self.program = symbolic.program.copy()
            self.program[SUPERNODES] = np.searchsorted(first_row, symbolic.row_of[-1] - stay)
        self._reach: Reach | None = None
        self._shared: Shared | None = None
        more = 0
        if self.threads > 1 and not self.last and worth_sharing(symbolic, self.dtype):
            self._reach = Reach.of(symbolic)
            self._shared = Shared.of(self._reach, self.threads)
            more = more_room(symbolic, self.threads)
        self.arena = np.empty(symbolic.arena_size + more, self.dtype)
        self.direct = Direct(
            self.program, self.arena, symbolic.graph, self._tolerance, self._enough
        )
        self.magnitude = self.direct.magnitude
        self.weakest, self.factorized = 0, 0
        self._supernodes = int(self.program[SUPERNODES])
        self._solver = Solver(symbolic, self.arena, None, 0.0, 0)

    def factorize(self, values: Array, changed: Ints | None = None) -> None:
        """Factorize a matrix; where a pivot is singular, in an order that avoids it.

        Parameters
        ----------
        values : ndarray, shape (graph.nnz,)
        changed : ndarray of int, optional
            Nodes that the factors of last time, good ones, do not know yet: see `Reach`.

        Raises
        ------
        SingularPivotError
            Where there is no such order.
        ValueError
            Where values are not finite.
        """
        self.stabilized = False
        if self.scaling is not None:
            check_finite(self.symbolic.graph, values)
            self.scaling = self._equilibration(values)
            if self._eliminate(self.scaling.matrix(values)):
                self.stabilize(values)
        elif changed is None or not self._update(values, changed):
            if self._eliminate(values):
                self.stabilize(values)

    def _eliminate(self, values: Array) -> int:
        """Factorize in the order there is: 0, or 1 + the row of a pivot block that is singular."""
        if self._shared is None:
            failed, ratio, weakest, growth = self.direct.eliminate(values)
        else:
            failed, ratio, weakest, growth = self._shared.factorize(
                values, self._tolerance, self.magnitude, self.arena
            )
        self.direct.report(ratio, int(weakest), growth)
        self.weakest, self.factorized = int(weakest), self._supernodes
        return failed

    def solver(self, values: Array | None) -> Solver:
        """Solves with the factors.

        Parameters
        ----------
        values : ndarray, shape (graph.nnz,), or None
            What to refine with, where solves refine: it is copied.
        """
        solver = self._solver
        solver.pivot_ratio, solver.weakest = self.pivot_ratio, self.weakest
        solver.scaling = self.scaling
        solver.refine_with(values)
        return solver

    def _update(self, values: Array, changed: Ints) -> bool:
        """Factorize what a change reaches; False where that asks for a look at the whole."""
        if self._reach is None:
            self._reach = Reach.of(self.symbolic)
        reached = self._reach.from_nodes(changed)
        self.factorized = reached.size
        failed, ratio, self.weakest, growth = self._reach.refactorize(
            reached, values, self._tolerance, self.magnitude, self.arena
        )
        self.direct.report(ratio, self.weakest, growth)
        return failed == 0

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
        symbolic = self.symbolic
        solver = Solver(symbolic, self.arena, None, self.pivot_ratio, self.weakest)

        def solve(b: Array, transposed: bool) -> Array:
            try:
                return solver.substitute(b, stability.PROBES, transposed)
            except OverflowError:
                return np.full_like(b, np.nan)

        matrix = Matrix(symbolic.graph, values)
        return stability.instability(matrix, solve, not symbolic.symmetric, normwise=normwise)

    def _equilibration(self, values: Array) -> Scaling:
        """Scaling of the part that is eliminated."""
        return Scaling.of(self.symbolic.graph, values, self.symbolic.symmetric, self.last)

    def is_wild(self, values: Array) -> bool:
        """Whether rows or columns of a matrix differ so much that unknowns hide behind others."""
        if not self.equilibrates or self.symbolic.graph.rows == 0:
            return False
        matrix = Matrix(self.symbolic.graph, values)
        with np.errstate(all="ignore"):
            ranges = [sums.max() / sums.min() for sums in map(matrix.sums, (False, True))]
        if all(width <= 2.0**WILD for width in ranges):  # most: no need to equilibrate
            return False
        found = self._equilibration(values)
        return bool(max(np.ptp(found.row), np.ptp(found.column)) > WILD)

    def can_refine(self, values: Array) -> bool:
        """Whether refinement will make up for what the factors of a matrix lack."""
        error, condition = self.instability(values)
        hopeless = stability.is_singular(condition, self.dtype) or not error * condition < CONTRACTS
        return not hopeless and not self.is_wild(values)

    def check(self, values: Array) -> tuple[bool, float]:
        """Replace doubtful factors that are less accurate than those of a stable method.

        Parameters
        ----------
        values : ndarray, shape (graph.nnz,)
            What was factorized.

        Returns
        -------
        replaced : bool
            Whether the factors are others now.
        lost : float
            Bound on relative errors of the inverse; 0 where nothing is in doubt.

        Raises
        ------
        SingularPivotError
            Where the matrix is singular to working precision.
        """
        if not self.doubtful:
            return False, 0.0
        error, condition = self.instability(values)
        replace = not stability.is_stable(error, self.dtype)
        replace |= stability.is_singular(condition, self.dtype)
        replace |= self.scaling is None and self.is_wild(values)
        if replace:
            error, condition = self.stabilize(values)
        return replace, max(error, self.eps) * condition

    def stabilize(self, values: Array) -> tuple[float, float]:
        """Factorize a matrix that resists: equilibrated, and in other orders until one is stable.

        Nodes whose pivots are small wait for all their neighbours first. Then they share a pivot
        block with their ancestors in the elimination tree, more of them each time, so that rows are
        exchanged between these: with all of them it is Gaussian elimination with partial pivoting.

        Parameters
        ----------
        values : ndarray, shape (graph.nnz,)

        Returns
        -------
        error, condition : float
            What `stability.instability` makes of the factors.

        Raises
        ------
        SingularPivotError
            Where the matrix is singular to working precision, or no order was stable.
        ValueError
            Where values are not finite.
        """
        graph = self.symbolic.graph
        check_finite(graph, values)
        scaling = self._equilibration(values) if self.equilibrates else None
        matrix = values if scaling is None else scaling.matrix(values)
        diagnosis.check_structure(graph, matrix, self.last)
        before = self.symbolic, self.scaling
        self.scaling = scaling
        best: tuple[float, float, Symbolic | None] = (np.inf, np.inf, None)
        failure = None
        waiting: set[int] = set()
        groups: list[tuple[int, ...]] = []
        for attempt in range(REANALYSES + 1):
            self._allocate(self._analyzed(matrix, waiting, groups))
            failed = self._eliminate(matrix)
            if failed:
                step, ratio = diagnosis.singular_step(
                    self.symbolic, matrix, failed - 1, self.arena, self.magnitude
                )
                failure = diagnosis.singular_pivot(self.symbolic, step, ratio)
                culprits = [step, *self._weak_steps(failed - 1)]
            else:
                error, condition = self._error(matrix)
                stable = stability.is_stable(error, self.dtype)
                if stability.is_singular(condition, self.dtype):
                    failure = self._singular(condition)
                    if stable:  # no other order will find another condition number
                        break
                elif stable:
                    self.stabilized = True
                    return error, condition
                elif error < best[0]:
                    best = error, condition, self.symbolic
                culprits = self._weak_steps()
            if self.symbolic.ordering == "given":
                break
            if not self._regroup(culprits, attempt, waiting, groups):
                break
        error, condition, symbolic = best
        if symbolic is not None and symbolic is not self.symbolic:
            self._allocate(symbolic)
            self._eliminate(matrix)
        if symbolic is not None and not error < self.eps**0.5:
            error, condition = self._error(matrix, normwise=True)
        if symbolic is None or not error < self.eps**0.5:
            failure = failure or self._unstable(error)
            symbolic, self.scaling = before  # for the matrices that follow
            self._allocate(symbolic)
            raise failure
        self.stabilized = True
        return error, condition

    def _singular(self, condition: float) -> SingularPivotError:
        """Error for a matrix that is singular to working precision."""
        return diagnosis.singular_matrix(
            self.symbolic, self._weakest_step(), condition, self.pivot_ratio
        )

    def _unstable(self, error: float) -> SingularPivotError:
        """Error for a matrix that no elimination order is stable for."""
        return diagnosis.no_stable_order(
            self.symbolic, self._weakest_step(), error, self.pivot_ratio
        )

    def _weakest_step(self) -> int:
        """Elimination step with the weakest pivot block; 0 where none is weak."""
        weak = self._weak_steps()
        return weak[0] if weak else 0

    def _weak_steps(self, end: int | None = None) -> list[int]:
        """First step of each supernode with entries of D^-1, L or W that are large, worst first.

        Of those before the one that row ``end`` is in, where it is given.
        """
        symbolic = self.symbolic
        sizes = stability.inverse_sizes(self.program, self.arena)
        if end is not None:
            sizes = sizes[: stability.supernode_of_row(self.program, end)]
        largest = sizes.max(initial=0.0)
        weak = np.flatnonzero(sizes >= max(10.0, min(largest, 1.0 / self.eps) ** 0.5))
        weak = weak[np.argsort(-sizes[weak], kind="stable")]
        steps: list[int] = symbolic.super_start[weak].tolist()
        return steps

    def _regroup(
        self, steps: list[int], attempt: int, waiting: set[int], groups: list[tuple[int, ...]]
    ) -> bool:
        """Let the nodes of some steps wait, or join their ancestors; False where they all do."""
        symbolic = self.symbolic
        before = len(waiting), sorted(groups)
        inside = {node for group in groups for node in group}
        more: list[tuple[int, ...]] = []
        super_of = np.searchsorted(symbolic.super_start, steps, side="right") - 1
        for step, s in zip(steps, super_of.tolist()):
            own = symbolic.step_node[symbolic.super_start[s] : symbolic.super_start[s + 1]]
            node = int(symbolic.step_node[step])
            if attempt == 0 and own.size == 1 and node not in waiting | inside:
                waiting.add(node)
                continue
            group, at = set(own.tolist()), int(symbolic.super_start[s + 1]) - 1
            for _ in range(2**attempt):
                at = int(symbolic.parent[at])
                if at < 0 or int(symbolic.step_node[at]) in self.last:
                    break
                group.add(int(symbolic.step_node[at]))
            more.append(tuple(sorted(group - self.last)))
        self._join(more, waiting, groups)
        if (len(waiting), sorted(groups)) == before or attempt == REANALYSES - 1:
            if int(symbolic.row_of[-1]) <= DENSE_ROWS:
                nodes = np.flatnonzero(symbolic.graph.size > 0).tolist()
                every = tuple(node for node in nodes if node not in self.last)
                self._join([every], waiting, groups)
        return (len(waiting), sorted(groups)) != before

    @staticmethod
    def _join(
        more: list[tuple[int, ...]], waiting: set[int], groups: list[tuple[int, ...]]
    ) -> None:
        """Let more groups of nodes share a pivot block."""
        groups[:] = merged([*groups, *(group for group in more if len(group) > 1)])
        waiting -= {node for group in groups for node in group}

    def _analyzed(
        self, values: Array, waiting: set[int], groups: list[tuple[int, ...]]
    ) -> Symbolic:
        """Symbolic factorization in which some nodes come later, or share a pivot block."""
        return analyze(
            self.symbolic.graph,
            self.symbolic.order if self.symbolic.ordering == "given" else self.symbolic.ordering,
            values=values,
            symmetric=self.symbolic.symmetric,
            after_all=frozenset(waiting),
            together=groups,
            last=self.last,
            partial_pivoting=True,
        )
