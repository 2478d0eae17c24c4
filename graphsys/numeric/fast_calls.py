"""One matrix and one right-hand side, with the least between Python and the compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import empty, ndarray
from numpy.typing import NDArray

from graphsys import kernels
from graphsys.kernels.base.address_table import new_frame
from graphsys.kernels.base.layout import ROWS, WIDEST, is_narrow
from graphsys.kernels.single.fused_solve import (
    BUSY,
    ENOUGH,
    INFO,
    MISFIT,
    NNZ,
    SINGULAR,
    TOLERANCE,
    entry,
    factors,
    factors_and_solution,
    narrow_factors,
    narrow_factors_and_solution,
    scalar_factors,
    scalar_factors_and_solution,
)
from graphsys.kernels.single.refinement import refined_work, solve_refined
from graphsys.kernels.single.scalar_ldu import solve_scalars
from graphsys.kernels.single.substitution import solve, solve_narrow
from graphsys.matrix.graph import BlockGraph
from graphsys.numeric.residuals import EPS, REFINEMENTS, Matrix, joined_tables

Array = NDArray[Any]
Ints = NDArray[np.int64]

#: Error of a thread that refactorizes at the same time as another.
SHARED = (
    "another thread is refactorizing this factor: threads may share its solves, but each needs a "
    "factor of its own to refactorize, such as copy.deepcopy(factor)"
)


class Direct:
    """Arrays of a numeric factorization, and machine code that is called with them.

    Small systems would wait longer for numba and numpy to look at what they are given than for
    their solution. What is given is therefore checked here just so far that the code can be called
    with it; all that is not as usual is left to others.

    Parameters
    ----------
    program : ndarray of int
    arena : ndarray, shape (arena_total,)
        Factors, with their workspace.
    graph : BlockGraph
    tolerance : float
        Pivot ratio below which a pivot is singular.
    enough : float
        Pivot ratio from which on no solution has to be refined.

    Attributes
    ----------
    dtype : numpy.dtype
    magnitude : ndarray
        Magnitudes of all rows, as `kernels.factorize` leaves them.
    info : ndarray, shape (6,)
        What it tells, and what is told `kernels.at_once.factors` in the same place.
    matrix : Matrix or None
        What `solve_refined` refines with.
    factorize : callable
        ``factorize(values)``: what `kernels.at_once.factors` tells, the pivot ratio where all is
        well, or `MISFIT` where values are not a contiguous array of the factors' type.
    solve : callable
        ``solve(b)``: solution of A x = b where b is a vector as usual and x is finite, or None.
    factorize_and_solve : callable
        ``factorize_and_solve(values, b)``: both; None where either is not as usual, or x is to be
        refined.
    """

    factorize: Callable[..., float]
    solve: Callable[[Any], Array | None]
    factorize_and_solve: Callable[[Any, Any], Array | None]

    def __init__(
        self, program: Ints, arena: Array, graph: BlockGraph, tolerance: float, enough: float
    ) -> None:
        _, magnitudes, work = kernels.work_sizes(program, 1)
        self.program, self.arena, self.graph = program, arena, graph
        self.dtype, self.rows = arena.dtype, int(program[ROWS])
        self.magnitude, self.info = empty(magnitudes, arena.real.dtype), np.zeros(INFO)
        self.info[TOLERANCE], self.info[ENOUGH], self.info[NNZ] = tolerance, enough, graph.nnz
        self._work = empty(work, self.dtype)
        self.matrix: Matrix | None = None
        self._spare_refining: list[tuple[Array, Array]] = []
        self._tables: Ints | None = None
        self._refine: Callable[..., tuple[int, float]] | None = None
        self._bind()

    def _bind(self) -> None:
        """Make what is called with the arrays."""
        narrow = is_narrow(self.program, self.dtype)
        if not narrow:
            kernels = factors, solve, factors_and_solution
        elif self.program[WIDEST] == 1:
            kernels = scalar_factors, solve_scalars, scalar_factors_and_solution
        else:
            kernels = narrow_factors, solve_narrow, narrow_factors_and_solution
        own = self.program, self.arena, self.magnitude, self._work, self.info
        self.factorize = _factorizing(own, kernels[0])
        self.solve = _solving(self.program, self.arena, self._work.size, kernels[1], narrow)
        self.factorize_and_solve = _both(own, self.rows, kernels[2])

    @property
    def ratio(self) -> float:
        """Smallest pivot beside what its row ever held, of the last factorization."""
        return float(self.info[0])

    @property
    def growth(self) -> float:
        """Growth of pivot blocks where that is a reason to check solutions, else 0."""
        return float(self.info[2])

    def report(self, ratio: float, weakest: int, growth: float) -> None:
        """Store the result of a factorization by another kernel."""
        self.info[0], self.info[1], self.info[2] = ratio, weakest, growth

    def eliminate(self, values: Array) -> tuple[int, float, float, float]:
        """Factorize: the status of `kernels.factorize`, and its ``info``.

        Parameters
        ----------
        values : ndarray, shape (nnz,)
            Contiguous, of `dtype`.
        """
        status = self.factorize(values)
        if status == BUSY:
            raise RuntimeError(SHARED)
        ratio, weakest, growth = self.info[:TOLERANCE].tolist()
        return (0 if status > MISFIT else 1 + int(SINGULAR - status)), ratio, weakest, growth

    def solve_refined(self, b: Any) -> tuple[Array, tuple[int, float]] | None:
        """Solution as by `solve`, refinements and backward error; None where it is not good.

        Parameters
        ----------
        b : array_like
        """
        matrix = self.matrix
        if matrix is None:
            return None
        if type(b) is not ndarray or b.size != self.rows or self.dtype.kind == "c":
            return None
        x, eps = empty(self.rows, self.dtype), EPS[self.dtype]
        try:
            spare = self._spare_refining.pop()
        except IndexError:
            spare = empty(refined_work(self.program, 1), self.dtype), np.empty(3)
        if self._refine is None:
            self._tables = joined_tables(self.graph)
            self._refine = entry(
                solve_refined, (-1, 0.0), self._tables, self.program, self.arena, x, x, eps,
                REFINEMENTS, *spare, x,
            )  # fmt: skip
        steps, error = self._refine(
            self._tables, self.program, self.arena, matrix.values, b, eps, REFINEMENTS, *spare, x
        )
        self._spare_refining.append(spare)
        return None if steps < 0 else (x, (steps, error))

    def __getstate__(self) -> dict[str, Any]:
        made = ("factorize", "solve", "factorize_and_solve", "_refine")
        return {name: value for name, value in self.__dict__.items() if name not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._refine = None
        self._bind()


# What these functions work with are variables of theirs, which are found sooner than attributes;
# they hold the arrays of the frame, as long as they run.


def _factorizing(own: tuple[Array, ...], kernel: Any) -> Callable[..., float]:
    frame = new_frame(*own)
    code: Callable[..., float] | None = None

    def factorize(values: Any) -> float:
        nonlocal code
        if code is None:
            code = entry(kernel, MISFIT, frame, own[1])
        return code(frame, values)

    return factorize


def _solving(
    program: Ints, arena: Array, size: int, kernel: Any, narrow: bool
) -> Callable[[Any], Array | None]:
    dtype, rows = arena.dtype, int(program[ROWS])
    spare: list[Array] = []
    code: Callable[..., int] | None = None

    def solution(b: Any) -> Array | None:
        nonlocal code
        if type(b) is not ndarray or b.size != rows:
            return None
        x = empty(rows, dtype)
        try:
            work = spare.pop()  # several threads may solve at once
        except IndexError:
            work = empty(size, dtype)
        if code is None:
            code = entry(kernel, 1, program, arena, x, *((work, x) if narrow else (1, work, x)))
        if narrow:
            failed = code(program, arena, b, work, x)
        else:
            failed = code(program, arena, b, 1, work, x)
        spare.append(work)
        return None if failed else x

    return solution


def _both(own: tuple[Array, ...], rows: int, kernel: Any) -> Callable[[Any, Any], Array | None]:
    frame, dtype = new_frame(*own), own[1].dtype
    code: Callable[..., float] | None = None

    def factorize_and_solve(values: Any, b: Any) -> Array | None:
        nonlocal code
        x = empty(rows, dtype)
        if code is None:
            code = entry(kernel, MISFIT, frame, own[1], x, x)
        return None if code(frame, values, b, x) < 0.0 else x

    return factorize_and_solve
