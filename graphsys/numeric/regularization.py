"""Redundant constraints: factors of a matrix with dependent rows, and bounded multipliers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.errors import InaccurateSolutionWarning, SingularPivotError
from graphsys.kernels.base.layout import ORDER_AT, ROWS
from graphsys.kernels.single.substitution import pivot_blocks
from graphsys.matrix.from_scipy import check_finite, coordinates
from graphsys.matrix.graph import BlockGraph
from graphsys.numeric.factorization import Factorization
from graphsys.numeric.residuals import Matrix
from graphsys.numeric.solver import Solver, SolveReport
from graphsys.symbolic import analyze

Array = NDArray[Any]
Ints = NDArray[np.int64]

#: Regularization of a constraint row is machine epsilon to this power times what its pivots scale
#: with: 9e-8 in double precision. Inverses of pivot blocks with such a pivot carry errors of
#: epsilon over it, which must stay well below it (power < 1/2); refinement, whose error it
#: multiplies at each step relative to the smallest pivot that is not redundant, wants it small.
REGULARIZATION = 0.45
#: Most steps of refinement: it ends where a step does not halve the error, which 40 steps take from
#: 1e-4 to rounding. Rows that are nearly redundant need some 25.
REFINEMENTS = 40
#: Steps of refinement with the regularized matrix, before those, where rows are redundant.
PROXIMAL = 2
#: Corrections of which refinement that stalls takes the best combination: one for each direction in
#: which rows are nearly dependent, and some more.
DIRECTIONS = 20
#: Rounding errors of the product of the matrix and a correction, over the residual: machine epsilon
#: over the regularization. What is not this much larger belongs to rows that contradict each other.
NOISE = 100.0
#: Residuals that pass without a word: machine epsilons, and a power of epsilon, 9e-6, that is less
#: in single precision, where 1e4 epsilons are 1e-3.
PASSED, PASSED_POWER = 1e4, 0.725
#: Machine epsilons up to which residuals of combined corrections are rounding, and those of bodies
#: at rest relative to all forces, multipliers too. Rows that contradict each other have multipliers
#: of their residual over the regularization, so that the quotient is epsilon to the power
#: `REGULARIZATION`, whatever it is.
AT_REST = 10.0


class Regularized(Factorization):
    """Factors of a saddle-point matrix [M B; G 0] whose constraint rows may be redundant.

    Where a row of a diagonal block is zero, a small number stands in its place on the diagonal,
    with the sign that the Schur complement -G M^-1 B has there. That is proximal regularization:
    refinement with the matrix as it is converges to a solution wherever there is one, and to the
    one with the least multipliers, measured in what their rows scale with. Where a pivot is left
    to the regularization, all constraints wait for their neighbours.

    Attributes
    ----------
    redundant : dict of label to int
        Rows that depend on others, by node, where the elimination came upon them.
    """

    must_refine = True
    equilibrates = False  # the regularization stands in what its rows scale with
    refines_rows = False  # its weak pivots are the regularization itself
    _all_wait = False
    _exact: Factorization | None = None  # without regularization
    _refused = False  # without it, which was tried

    def factorize(self, values: Array, changed: Ints | None = None) -> Factorization:
        """Factorize a matrix; as `Factorization`, but dependent constraint rows are no failure.

        Parameters
        ----------
        values : ndarray, shape (graph.nnz,)
        changed : ndarray of int, optional
            Ignored: everything is computed anew.

        Returns
        -------
        Regularized
            This one, or one in another order.
        """
        self._plain, self._exact, self._refused = values, None, False
        graph = self.symbolic.graph
        scale, change = regularization(graph, values, self.eps**REGULARIZATION)
        regular = values.copy()
        self._scale, self._change, self._constraint = scale, change, change != 0.0
        at = np.flatnonzero(change)
        regular[_diagonal_places(graph)[at]] += change[at]
        factors = super().factorize(regular)
        assert isinstance(factors, Regularized)
        rows = factors._redundant_rows()
        if rows and (other := factors._let_wait()) is not None:
            factors = Factorization.factorize(other, regular)
            assert isinstance(factors, Regularized)
            rows = factors._redundant_rows()
        factors.redundant = {graph.labels[i]: count for i, count in sorted(rows.items())}
        return factors

    def solver(self, values: Array | None) -> Solver:
        """Solves with the factors, as `RegularizedSolver`."""
        solver = RegularizedSolver(
            self.symbolic, self.arena, None, self.pivot_ratio, self.weakest, self.fronts,
            self.redundant, self._change, self._scale, self._is_singular,
        )  # fmt: skip
        solver.refine_with(values)
        return solver

    def _let_wait(self) -> Factorization | None:
        """Order all nodes with constraints after their neighbours; None if they are already.

        The Schur complement of the other nodes is then as definite as their part of the matrix, so
        that no order among the constraints makes its factors grow.
        """
        symbolic = self.symbolic
        if self._all_wait or symbolic.ordering == "given" or not self._constraint.any():
            return None
        self._all_wait = True
        ordering = symbolic.ordering
        if ordering == "dfs" and symbolic.n_fill == 0:
            ordering = "amd"  # without fill-in as well, and with less of it once nodes wait
        node = np.repeat(np.arange(symbolic.graph.size.size), symbolic.graph.size)
        waiting = frozenset(node[self._constraint].tolist())
        analysis = analyze(
            symbolic.graph, ordering, values=self._plain, symmetric=symbolic.symmetric,
            after_all=waiting,
        )  # fmt: skip
        return self._in_order(analysis, None)

    def _error(self, values: Array, normwise: bool = False) -> tuple[float, float]:
        """Nothing where a row is a constraint: refinement with the matrix judges each solution."""
        return (0.0, 1.0) if self._constraint.any() else super()._error(values, normwise)

    def _gain(self, values: Array) -> float:
        """0 where a row is a constraint: with the regularized matrix there is nothing to refine."""
        return 0.0 if self._constraint.any() else super()._gain(values)

    def stable(
        self, values: Array, *choices: Any, **options: Any
    ) -> tuple[Factorization, float, float]:
        """As `Factorization`, after all constraints wait."""
        check_finite(self.symbolic.graph, self._plain)
        other = self._let_wait()
        if other is not None and not other._eliminate(values):
            return other, 0.0, 1.0
        return Factorization.stable(other or self, values)

    def exact(self, values: Array) -> Factorization:
        """Stable factors of the matrix if it is regular, right without refinement."""
        if self._exact is None:
            found = Factorization(
                self.symbolic, self.dtype, threads=self.threads, refine_below=self._refine_below
            )
            self._exact = found.stable(values, compares=True)[0]
        return self._exact

    def _is_singular(self, values: Array) -> bool:
        """Whether the matrix is refused without regularization."""
        if not self._refused:
            try:
                self.exact(values)
            except SingularPivotError:
                self._refused = True
        return self._refused

    def _redundant_rows(self) -> dict[int, int]:
        """Number of pivots of each node that are left to the regularization."""
        bound = self.eps ** (-REGULARIZATION / 2)
        if self.fronts is not None:
            return self._redundant_in_fronts(1.0 / bound)
        program, start = self.program, self.symbolic.graph.row_start
        order = program[program[ORDER_AT] :][: int(program[ROWS])]
        at, ld, width = pivot_blocks(program)
        first = np.cumsum(width) - width
        found: dict[int, int] = {}
        for w in np.unique(width):
            steps = np.arange(w)
            mine = order[first[width == w, None] + steps]
            place = at[width == w, None, None] + steps[:, None] + steps * ld[width == w, None, None]
            root = np.sqrt(self._scale[mine])
            inverse = root[:, :, None] * self.arena[place] * root[:, None, :]
            weak = np.abs(inverse).max(axis=(1, 2)) > bound
            for k in np.flatnonzero(weak & self._constraint[mine].any(axis=1)).tolist():
                left, sizes, _ = np.linalg.svd(inverse[k])
                for vector in np.abs(left.T[sizes > bound]).round(8):
                    row = int(mine[k, np.argmax(np.where(self._constraint[mine[k]], vector, 0.0))])
                    node = int(np.searchsorted(start, row, side="right")) - 1
                    found[node] = found.get(node, 0) + 1
        return found

    def _redundant_in_fronts(self, bound: float) -> dict[int, int]:
        """The same where pivots were delayed: constraint rows whose pivots are below a bound."""
        assert self.fronts is not None
        order = self.program[self.program[ORDER_AT] :][: int(self.program[ROWS])]
        size, row, column = self.fronts.sizes()
        root = np.sqrt(self._scale)
        row, column = order[row], order[column]
        weak = row[(size < bound * root[row] * root[column]) & self._constraint[row]]
        node = np.searchsorted(self.symbolic.graph.row_start, weak, side="right") - 1
        found, count = np.unique(node, return_counts=True)
        return dict(zip(found.tolist(), count.tolist()))


def regularization(graph: BlockGraph, values: Array, size: float) -> tuple[Array, Array]:
    """Scale of the pivots of each row, and the change of its diagonal entry.

    For a constraint row r that is ``s = sum_c |G_rc| |B_cr| / |M_cc|`` (the largest of all rows
    where nothing is coupled to it), and ``-size s`` with the sign of the same sum without absolute
    values; for other rows it is the largest entry in the diagonal block, and nothing.

    Parameters
    ----------
    graph : BlockGraph
    values : ndarray, shape (graph.nnz,)
    size : float

    Returns
    -------
    scale : ndarray of float, shape (N,)
    change : ndarray, shape (N,)

    Raises
    ------
    OverflowError
        If one of them overflows.
    """
    from scipy.sparse import coo_array

    row, column = coordinates(graph)
    n_rows = graph.rows
    largest_inside = _largest_inside(graph, values, row, column)
    constraint = largest_inside == 0.0
    diagonal = values[_diagonal_places(graph)]
    small = np.abs(diagonal) < np.finfo(largest_inside.dtype).eps * largest_inside
    pivot = np.where(constraint, np.inf, np.where(small, largest_inside, diagonal))
    matrix = coo_array((values, (row, column)), shape=(n_rows, n_rows)).tocsr()
    with np.errstate(all="ignore"):  # divided first: products of two entries may overflow
        divided = coo_array((values / pivot[column], (row, column)), shape=(n_rows, n_rows))
        products = divided.tocsr() * matrix.T  # entry by entry: (r, c) is A_rc A_cr / A_cc
        signed = products.sum(axis=1)
        scale = np.where(constraint, abs(products).sum(axis=1), largest_inside)
    largest = scale[constraint].max(initial=0.0) or 1.0
    scale = np.where(constraint & ~(scale > 0.0), largest, scale)
    with np.errstate(all="ignore"):
        sign = np.where(signed == 0, 1.0, signed / np.abs(signed))
        change = np.where(constraint, -size * scale * sign, 0.0).astype(values.dtype)
    beyond = np.flatnonzero(~np.isfinite(scale) | ~np.isfinite(change))
    if beyond.size:
        check_finite(graph, values)
        node = int(np.searchsorted(graph.row_start, beyond[0], side="right")) - 1
        raise OverflowError(
            f"pivots of the constraint rows of node {graph.labels[node]!r} would leave "
            "the range of numbers: scale the matrix"
        )
    return scale.astype(values.real.dtype), change


def has_constraints(graph: BlockGraph, values: Array) -> bool:
    """True if some row is a constraint: zero in its diagonal block."""
    return bool((_largest_inside(graph, values, *coordinates(graph)) == 0.0).any())


def _largest_inside(graph: BlockGraph, values: Array, row: Ints, column: Ints) -> Array:
    """Largest entry of each row and column in its diagonal block, shape (N,)."""
    node = np.repeat(np.arange(graph.size.size), graph.size)
    inside = node[row] == node[column]
    largest = np.zeros(graph.rows, values.real.dtype)
    with np.errstate(invalid="ignore"):  # `regularization` refuses NaN
        np.maximum.at(largest, row[inside], np.abs(values[inside]))
        np.maximum.at(largest, column[inside], np.abs(values[inside]))
    return largest


def _diagonal_places(graph: BlockGraph) -> Ints:
    """Places in `values` of all diagonal entries, shape (N,)."""
    node = np.repeat(np.arange(graph.size.size), graph.size)
    inside = np.arange(node.size) - graph.row_start[node]
    places: Ints = graph.diagonal_at[node] + inside * (graph.size[node] + 1)
    return places


@dataclass(slots=True, eq=False)
class RegularizedSolver(Solver):
    """Solves with `Regularized` factors, refined row by row with the matrix as it is.

    Attributes
    ----------
    redundant : mapping of label to int
        From `Regularized`.
    change, scale : ndarray, shape (N,)
        What is added to the diagonal, and what pivots scale with: see `regularization`.
    is_singular : callable
        Whether the matrix as it is has no other factors, which would be more exact.
    """

    redundant: Mapping[Hashable, int]
    change: Array
    scale: Array
    is_singular: Callable[[Array], bool]

    def judge(self, report: SolveReport) -> None:
        """Nothing: `_refine` has refused what contradicts itself, or warned of it."""

    def _refine(
        self, matrix: Matrix, flat: Array, x: Array, count: int, transposed: bool
    ) -> tuple[Array, SolveReport]:
        eps = float(np.finfo(x.dtype).eps)
        absolute = Matrix(matrix.graph, np.abs(matrix.values))
        constraint, scale = np.tile(self.change != 0.0, count), np.tile(self.scale, count)

        def sizes(x: Array) -> Array:
            return -absolute.residual(-np.abs(flat), x, count, transposed)

        def motion(x: Array, multipliers: bool = False) -> Array:
            # A body at rest is known as accurately as its motion without constraints, and
            # multipliers do not count: those of rows that contradict each other are huge.
            free = np.where(constraint, 0.0, np.abs(x))
            with np.errstate(over="ignore"):
                alone = sizes(np.abs(x) if multipliers else free) / scale
            alone[~np.isfinite(alone)] = 0.0  # beyond the range of numbers
            return np.where(constraint, 0.0, np.maximum(free, alone))

        def check(x: Array, least: Array | float = 0.0) -> tuple[Array, Array, float]:
            r = matrix.residual(flat, x, count, transposed)
            size = np.maximum(np.where(constraint, sizes(motion(x)), sizes(np.abs(x))), least)
            error = np.where(r == 0.0, 0.0, np.abs(r) / np.where(size == 0.0, 1.0, size))
            return r, error, float(error.max(initial=0.0))

        for _ in range(PROXIMAL if self.redundant else 0):
            # The matrix as it is does not see an error along dependent rows; the factors' one does.
            r = matrix.residual(flat, x, count, transposed) - np.tile(self.change, count) * x
            x = x + self.substitute(r, count, transposed)
        r, error, worst = check(x)
        steps = 0
        while worst > eps and steps < REFINEMENTS:
            trial = x + self.substitute(r, count, transposed)
            next_r, next_error, next_worst = check(trial)
            if not next_worst < worst:
                break
            stalled = next_worst > worst / 2.0
            x, r, error, worst, steps = trial, next_r, next_error, next_worst, steps + 1
            if stalled:
                break
        passed = min(PASSED * eps, eps**PASSED_POWER)
        if not worst <= passed:
            if not (self.redundant and self.is_singular(matrix.values)):
                # Regular: other factors solve.
                self._tell(error, worst, steps, refuse=True)
            held = None
            checks: list[Callable[[Array], tuple[Array, Array, float]]] = [check]
            one, other = (absolute.sums(side)[self.change != 0.0] for side in (False, True))
            alike = bool((np.abs(one - other) <= PASSED * eps * one).all())
            if alike:
                # b contradicts nothing if multipliers act along the rows of their constraints.
                # Bodies that constraints hold wholly, and that only multipliers push, are at rest
                # but for errors of these and of bodies around: x has them, before they become less.
                # Errors of what moves a neighbour pass on, at most with its energy.
                free, root = motion(x, True), np.sqrt(scale)
                with np.errstate(over="ignore", invalid="ignore"):
                    most = self._most_around(root * free, root, count)
                    least = np.where(
                        constraint,
                        sizes(np.maximum(free, np.where(constraint, 0.0, most / root))),
                        np.maximum(sizes(np.abs(x)), root * most),
                    )
                least[~np.isfinite(least)] = 0.0

                def check_at_rest(x: Array) -> tuple[Array, Array, float]:
                    return check(x, least)

                checks.append(check_at_rest)
                held = self._at_rest(x, check_at_rest, eps, count, transposed)
            if held is None:
                if count > 1:
                    return self._one_by_one(matrix, flat, x, count, transposed)
                tries = (self._combined(matrix, x, one, eps, transposed) for one in checks)
                held = next((found for found in tries if found is not None), None)
            if held is None:
                self._tell(error, worst, steps, refuse=not worst <= eps**0.5)
            else:
                x, worst, more = held
                steps += more
        return x, SolveReport(steps, worst, dict(self.redundant))

    def _one_by_one(
        self, matrix: Matrix, flat: Array, x: Array, count: int, transposed: bool
    ) -> tuple[Array, SolveReport]:
        """`_refine` of each right-hand side alone."""
        pairs = zip(flat.reshape(count, -1), x.reshape(count, -1))
        found = [self._refine(matrix, b, y, 1, transposed) for b, y in pairs]
        reports = [report for _, report in found]
        return np.concatenate([y for y, _ in found]), SolveReport(
            max(one.refinements for one in reports),
            max(one.backward_error or 0.0 for one in reports),
            dict(self.redundant),
        )

    def _combined(
        self,
        matrix: Matrix,
        x: Array,
        check: Callable[[Array], tuple[Array, Array, float]],
        eps: float,
        transposed: bool,
    ) -> tuple[Array, float, int] | None:
        """Refinement by generalized conjugate residuals, where rows are nearly dependent.

        A pivot below its regularization loses only their quotient of the residual per correction.
        The residual is minimal over all corrections so far. None where more than rounding is left.
        """
        weight = 1.0 / np.sqrt(self.scale)
        none = np.zeros_like(x)
        corrections: list[tuple[Array, Array]] = []
        best = None
        r, _, worst = check(x)
        for k in range(DIRECTIONS):
            step = self.substitute(r, 1, transposed)
            change = -weight * matrix.residual(none, step, 1, transposed)
            for _ in range(2):  # twice is enough
                for p, q in corrections:
                    part = np.vdot(q, change)
                    step, change = step - part * p, change - part * q
            size = np.linalg.norm(change)
            if not size > NOISE * eps ** (1.0 - REGULARIZATION) * np.linalg.norm(weight * r):
                break
            step, change = step / size, change / size
            corrections.append((step, change))
            x = x + np.vdot(change, weight * r) * step
            before = worst
            r, _, worst = check(x)
            if best is not None and not worst < before:
                break
            if worst <= AT_REST * eps:
                best = x, worst, k + 1
            if worst <= eps:
                break
        return best

    def _most_around(self, sizes: Array, root: Array, count: int) -> Array:
        """Largest of the numbers of all rows that a path of the graph joins to each row.

        0 where roots of masses are so far apart that residuals of rows that contradict each other
        are below rounding errors of the energy of heavy bodies.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        graph, eps = self.symbolic.graph, float(np.finfo(sizes.dtype).eps)
        row, column = coordinates(graph)
        pattern = coo_array((np.ones(row.size), (row, column)), shape=(graph.rows, graph.rows))
        n, part = connected_components(pattern, directed=False)
        free = self.change == 0.0
        lightest, heaviest = np.full(n, np.inf), np.zeros(n)
        np.minimum.at(lightest, part[free], root[: graph.rows][free])
        np.maximum.at(heaviest, part[free], root[: graph.rows][free])
        found = np.zeros((count, n), sizes.dtype)
        for of_part, own in zip(found, sizes.reshape(count, -1)):
            np.maximum.at(of_part, part, own)
        found[:, heaviest > eps ** (REGULARIZATION - 1.0) / AT_REST * lightest] = 0.0
        most: Array = found[:, part].ravel()
        return most

    def _at_rest(
        self,
        x: Array,
        check: Callable[[Array], tuple[Array, Array, float]],
        eps: float,
        count: int,
        transposed: bool,
    ) -> tuple[Array, float, int] | None:
        """Refined solution, its error, and the steps; None where that is no rounding error."""
        r, _, worst = check(x)
        steps = 0
        while worst > eps and steps < REFINEMENTS:
            trial = x + self.substitute(r, count, transposed)
            next_r, _, next_worst = check(trial)
            if worst <= AT_REST * eps and not next_worst < worst:
                break
            x, r, worst, steps = trial, next_r, next_worst, steps + 1
        return (x, worst, steps) if worst <= AT_REST * eps else None

    def _tell(self, error: Array, worst: float, steps: int, refuse: bool) -> None:
        """Raise or warn: the rows of a node contradict others."""
        graph = self.symbolic.graph
        row = int(np.argmax(error)) % graph.rows
        node = int(np.searchsorted(graph.row_start, row, side="right")) - 1
        label = graph.labels[node]
        sentence = (
            f"the rows of node {label!r} are left with a residual of {worst:.1e} after {steps} "
            "refinements: they depend on others and contradict them"
        )
        if refuse:
            step = int(np.flatnonzero(self.symbolic.step_node == node)[0])
            remedy = "make the right-hand side consistent, or remove redundant rows"
            raise SingularPivotError(f"{sentence}; {remedy}", label, step, self.pivot_ratio)
        warnings.warn(sentence, InaccurateSolutionWarning, stacklevel=6)
