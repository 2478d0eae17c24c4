"""One matrix and one right-hand side, with the least between Python and the compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import empty, ndarray
from numpy.typing import NDArray

from graphsys import kernels
from graphsys.accuracy import EPS, REFINEMENTS, Matrix, joined_tables
from graphsys.graph import BlockGraph
from graphsys.kernels.at_once import (
    DOUBTFUL,
    MISFIT,
    entry,
    factors,
    factors_and_solution,
    narrow_factors,
    narrow_factors_and_solution,
)
from graphsys.kernels.program import ROWS, is_narrow
from graphsys.kernels.refinement import refined_work, solve_refined
from graphsys.kernels.substitution import solve, solve_narrow

Array = NDArray[Any]
Ints = NDArray[np.int64]


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
    narrow : bool
        Whether every supernode is one small node with real blocks.
    magnitude : ndarray
        Magnitudes of all rows, as `kernels.factorize` leaves them.
    info : ndarray, shape (3,)
        What it tells.
    ratio : float
        Smallest pivot beside what its row ever held, of the last factorization.
    """

    def __init__(
        self, program: Ints, arena: Array, graph: BlockGraph, tolerance: float, enough: float
    ) -> None:
        _, magnitudes, work = kernels.work_sizes(program, 1)
        self.program, self.arena, self.graph, self.nnz = program, arena, graph, graph.nnz
        self.tolerance, self.enough, self.ratio = tolerance, enough, 0.0
        self.dtype, self.rows = arena.dtype, int(program[ROWS])
        self.narrow = is_narrow(program, self.dtype)
        self.magnitude, self.info = empty(magnitudes, arena.real.dtype), np.zeros(3)
        self._work = empty(work, self.dtype)
        self._spare: list[Array] = []
        self._spare_refining: list[tuple[Array, Array]] = []
        self._tables: Ints | None = None
        self._factorize: Callable[..., float] | None = None
        self._solve: Callable[..., int] | None = None
        self._refine: Callable[..., tuple[int, float, float]] | None = None
        self._at_once: Callable[..., float] | None = None

    def eliminate(self, values: Array) -> tuple[int, float, float, float]:
        """Factorize: the status of `kernels.factorize`, and its ``info``.

        Parameters
        ----------
        values : ndarray, shape (nnz,)
            Contiguous, of `dtype`.
        """
        status = self._factors(values)
        ratio, weakest, suspect = self.info.tolist()
        return (0 if status > MISFIT else int(DOUBTFUL - status)), ratio, weakest, suspect

    def factorize(self, values: Any) -> bool:
        """Factorize; whether values are as usual, and no pivot is singular or may be noise.

        Parameters
        ----------
        values : array_like
        """
        if type(values) is not ndarray or values.dtype is not self.dtype or values.ndim != 1:
            return False
        ratio = self._factors(values)
        if ratio <= MISFIT:
            return False
        self.ratio = abs(ratio)
        return True

    def _factors(self, values: Array) -> float:
        own = self.tolerance, self.enough, self.magnitude, self.arena, self.info
        if self._factorize is None:
            kernel = narrow_factors if self.narrow else factors
            self._factorize = entry(kernel, self.program, self.nnz, self.arena, *own)
        return self._factorize(self.program, self.nnz, values, *own)

    def solve(self, b: Any) -> Array | None:
        """Solution of A x = b where b is a vector as usual and x is finite; otherwise None.

        Parameters
        ----------
        b : array_like
        """
        if type(b) is not ndarray or b.dtype is not self.dtype or b.ndim != 1:
            return None
        if b.size != self.rows or not b.flags.c_contiguous:
            return None
        x = empty(self.rows, self.dtype)
        try:
            work = self._spare.pop()  # several threads may solve at once
        except IndexError:
            work = empty(self._work.size, self.dtype)
        if self._solve is None:
            own = (work, x) if self.narrow else (1, work, x)
            kernel = solve_narrow if self.narrow else solve
            self._solve = entry(kernel, self.program, self.arena, x, *own)
        if self.narrow:
            failed = self._solve(self.program, self.arena, b, work, x)
        else:
            failed = self._solve(self.program, self.arena, b, 1, work, x)
        self._spare.append(work)
        return None if failed else x

    def solve_refined(self, b: Any, matrix: Matrix) -> tuple[Array, tuple[int, float]] | None:
        """Solution as by `solve`, refinements and backward error; None where it is not good.

        Parameters
        ----------
        b : array_like
        matrix : Matrix
            What was factorized.
        """
        if type(b) is not ndarray or b.dtype is not self.dtype or b.ndim != 1:
            return None
        if b.size != self.rows or not b.flags.c_contiguous or self.dtype.kind == "c":
            return None
        x, eps = empty(self.rows, self.dtype), EPS[self.dtype]
        try:
            spare = self._spare_refining.pop()
        except IndexError:
            spare = empty(refined_work(self.program, 1), self.dtype), np.empty(3)
        if self._refine is None:
            self._tables = joined_tables(self.graph)
            self._refine = entry(
                solve_refined, self._tables, self.program, self.arena, x, x, 0.0, eps, REFINEMENTS,
                *spare, x,
            )  # fmt: skip
        steps, error, matrix.norms[0] = self._refine(
            self._tables, self.program, self.arena, matrix.values, b, matrix.norms[0], eps,
            REFINEMENTS, *spare, x,
        )  # fmt: skip
        self._spare_refining.append(spare)
        return None if steps < 0 else (x, (steps, error))

    def factorize_and_solve(self, values: Any, b: Any) -> Array | None:
        """`factorize`, then `solve`; None where either is not as usual, or x is to be refined.

        Parameters
        ----------
        values, b : array_like
        """
        if not (
            type(values) is type(b) is ndarray
            and values.dtype is b.dtype is self.dtype
            and values.ndim == 1 == b.ndim
        ):
            return None
        x = empty(self.rows, self.dtype)
        if self._at_once is None:
            kernel = narrow_factors_and_solution if self.narrow else factors_and_solution
            self._at_once = entry(
                kernel, self.program, self.nnz, self.arena, x, self.tolerance, self.enough,
                self.magnitude, self._work, self.arena, self.info, x,
            )  # fmt: skip
        ratio = self._at_once(
            self.program, self.nnz, values, b, self.tolerance, self.enough,
            self.magnitude, self._work, self.arena, self.info, x,
        )  # fmt: skip
        if ratio < 0.0:
            return None
        self.ratio = ratio
        return x

    def __getstate__(self) -> dict[str, Any]:
        codes = dict.fromkeys(("_factorize", "_solve", "_refine", "_at_once"))
        return self.__dict__ | codes  # found again when needed

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.dtype = np.dtype(self.dtype.char)  # the one and only of its kind, as arrays have it
