"""Numeric factorization with what to do when a pivot is singular: another order."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys import cutting, diagnosis
from graphsys.accuracy import Matrix
from graphsys.direct import Direct
from graphsys.errors import InaccurateSolutionWarning, SingularPivotError
from graphsys.kernels.program import SUPERNODES
from graphsys.reach import Reach
from graphsys.solution import Solver
from graphsys.symbolic import Symbolic, analyze
from graphsys.threads import Shared, as_threads, more_room, worth_sharing

Array = NDArray[Any]
Ints = NDArray[np.int64]

#: How often a singular pivot may lead to another elimination order.
REANALYSES = 8
#: A pivot this small beside what its block held before is cancellation (times machine epsilon).
SINGULAR = 64.0
#: Part of the digits of a number that may be lost before what is read off the factors alone comes
#: with a warning: 10 of 16 in double precision.
LOST = 0.6


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
        Another one after `factorize` had to change the order.
    program : ndarray of int
        That of the symbolic factorization, as far as the first of the last nodes.
    arena, magnitude : ndarray
        Factors and what each row held, as `kernels.factorize` leaves them.
    direct : Direct
        What works on these arrays.
    weakest : int
        First row of the pivot block it was in.
    suspect : bool
        Whether a pivot block may hold rounding noise alone.
    factorized : int
        Supernodes that the last `factorize` computed.
    """

    #: Whether solves refine whatever the pivots are.
    must_refine = False
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
        self._allocate(symbolic)

    @property
    def pivot_ratio(self) -> float:
        """Smallest pivot beside what its row ever held in its block."""
        return self.direct.ratio

    @property
    def plain(self) -> bool:
        """Whether the last factorization was all that `direct` does by itself."""
        whole = self.factorized == self._supernodes and self._shared is None
        return whole and not self.suspect

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
        self.weakest, self.suspect, self.factorized = 0, False, 0
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
        if changed is not None and self._update(values, changed):
            return
        failed = self._eliminate(values)
        if not failed:
            return
        after_all: set[int] = set()
        together: list[tuple[int, ...]] = []
        while failed:
            self._reorder(values, failed - 1, after_all, together)
            failed = self._eliminate(values)

    def _eliminate(self, values: Array) -> int:
        """Factorize in the order there is: 0, or 1 + the row of a pivot block that is singular."""
        if self._shared is None:
            failed, self.direct.ratio, weakest, suspect = self.direct.eliminate(values)
        else:
            failed, self.direct.ratio, weakest, suspect = self._shared.factorize(
                values, self._tolerance, self.magnitude, self.arena
            )
        self.weakest, self.suspect = int(weakest), suspect > 0
        self.factorized = self._supernodes
        if self.suspect:
            # before a singular pivot, one that was noise led to it
            failed = int(suspect) if failed else self._try_out(values, int(suspect))
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
        solver.refine_with(values)
        return solver

    def _update(self, values: Array, changed: Ints) -> bool:
        """Factorize what a change reaches; False where that asks for a look at the whole."""
        if self._reach is None:
            self._reach = Reach.of(self.symbolic)
        reached = self._reach.from_nodes(changed)
        self.factorized = reached.size
        failed, self.direct.ratio, self.weakest, suspect = self._reach.refactorize(
            reached, values, self._tolerance, self.magnitude, self.arena
        )
        self.suspect = suspect > 0
        return failed == 0 and not self.suspect

    def warn_of_lost_digits(self, what: str) -> None:
        """Warn of what is read off the factors alone, which no refinement mends.

        Parameters
        ----------
        what : str
            Subject of the sentence.
        """
        lost = self.eps / self.pivot_ratio
        if lost > self.eps ** (1.0 - LOST):
            warnings.warn(
                f"{what} may be wrong in its digit {max(1, round(-np.log10(lost)))}: a pivot is "
                f"only {self.pivot_ratio:.1e} of what its block held",
                InaccurateSolutionWarning,
                stacklevel=3,
            )

    def _try_out(self, values: Array, failed: int) -> int:
        """Solve once, for a pivot may be noise: 0 if it was none, else `failed`."""
        graph = self.symbolic.graph
        matrix = Matrix(graph, values)
        solver = Solver(self.symbolic, self.arena, matrix, self.pivot_ratio, self.weakest)
        x = np.ones(graph.rows, self.dtype)
        b = -matrix.residual(np.zeros_like(x), x, 1, False)
        with warnings.catch_warnings():
            warnings.simplefilter("error", InaccurateSolutionWarning)
            try:
                solver.columns(b, "N")
            except (SingularPivotError, InaccurateSolutionWarning, OverflowError):
                return failed
        return 0

    def _reorder(
        self, values: Array, row: int, after_all: set[int], together: list[tuple[int, ...]]
    ) -> None:
        """New order in which the node of a singular pivot comes later; or say there is none.

        The node waits for all its neighbours first, and shares a pivot block with its parent in
        the elimination tree when that does not help.
        """
        symbolic = self.symbolic
        cutting.check_finite(symbolic.graph, values)
        step, ratio = diagnosis.singular_step(symbolic, values, row, self.arena, self.magnitude)
        node, parent = int(symbolic.step_node[step]), int(symbolic.parent[step])
        tries = len(after_all) + len(together)
        if symbolic.ordering == "given" or tries == REANALYSES:
            raise diagnosis.singular_pivot(symbolic, step, ratio)
        if node not in after_all and not any(node in group for group in together):
            after_all.add(node)
        elif parent >= 0 and int(symbolic.step_node[parent]) not in self.last:
            # rows are then exchanged between the two
            after_all.discard(node)
            together.append((node, int(symbolic.step_node[parent])))
        else:
            raise diagnosis.singular_pivot(symbolic, step, ratio)
        self._allocate(self._analyzed(values, after_all, together))

    def _analyzed(
        self, values: Array, after_all: set[int], together: list[tuple[int, ...]]
    ) -> Symbolic:
        """Symbolic factorization in which some nodes come later, or share a pivot block."""
        return analyze(
            self.symbolic.graph,
            self.symbolic.ordering,
            values=values,
            symmetric=self.symbolic.symmetric,
            after_all=frozenset(after_all),
            together=together,
            last=self.last,
        )
