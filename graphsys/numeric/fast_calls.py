"""Calls of compiled code for one matrix and one vector, with the least overhead in Python.

Small systems would take longer for numba and numpy to inspect the arguments than for their
solution. Each callable checks just enough to call the machine code, and refuses all other
arguments. The arrays it works on are variables of its closure: they are found sooner than
attributes, and stay alive as long as the callable does, in whatever thread.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy import empty, ndarray
from numpy.typing import NDArray

from graphsys import kernels
from graphsys.kernels.base.address_table import new_frame
from graphsys.kernels.base.layout import ROWS, SCALARS, is_nodal
from graphsys.kernels.single.fused_solve import (
    DONE,
    EPSILON,
    LEAST,
    MISFIT,
    REFINED,
    REPORT,
    entry,
    factors,
    factors_and_solution,
    nodal_factors,
    nodal_factors_and_solution,
    scalar_factors,
    scalar_factors_and_solution,
    solution_entry,
)
from graphsys.kernels.single.refinement import refined_work, solve_refined
from graphsys.kernels.single.scalar_ldu import solve_scalars
from graphsys.kernels.single.substitution import solve, solve_nodal
from graphsys.matrix.graph import BlockGraph
from graphsys.numeric.residuals import EPS, Matrix, joined_tables, refinement_limits

Array = NDArray[Any]
Ints = NDArray[np.int64]


class Arrays(NamedTuple):
    """Arrays of a factorization, in the order in which a frame lists them.

    Attributes
    ----------
    program : ndarray of int
    arena : ndarray
        Factors, with their workspace.
    magnitude : ndarray
        Magnitudes of all rows, see `growth`.
    work : ndarray
        Workspace of a solve.
    info : ndarray, shape (6,)
        Pivot ratio, weakest row and growth, then the settings: see `kernels.single.fused_solve`.
    """

    program: Ints
    arena: Array
    magnitude: Array
    work: Array
    info: Array


def factorizing(arrays: Arrays) -> Callable[[Any], int]:
    """``factorize(values)``: a status of `kernels.single.fused_solve`."""
    frame, kernel = new_frame(*arrays), _kernels(arrays)[0]
    code: Callable[..., int] | None = None

    def factorize(values: Any) -> int:
        nonlocal code
        if code is None:
            code = entry(kernel, MISFIT, frame, arrays.arena)
        return code(frame, values)

    return factorize


def solving(arrays: Arrays) -> Callable[[Any], Array | None]:
    """``solve(b)``: x; None if it overflows, or b is no contiguous vector of the factors' type."""
    program, arena, size = arrays.program, arrays.arena, arrays.work.size
    dtype, rows, kernel = arena.dtype, int(program[ROWS]), _kernels(arrays)[1]
    nodal = is_nodal(program, dtype)
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
            code = entry(kernel, 1, program, arena, x, *((work, x) if nodal else (1, work, x)))
        if nodal:
            failed = code(program, arena, b, work, x)
        else:
            failed = code(program, arena, b, 1, work, x)
        spare.append(work)
        return None if failed else x

    return solution


def factorizing_and_solving(arrays: Arrays) -> Callable[[Any, Any], Array | None]:
    """``factorize_and_solve(values, b)``: x; None if the status is not `DONE`.

    No function of Python is called, and the vector is made by the stub: a fifth of the time of a
    chain of two nodes, a twelfth of ten.
    """
    vector = arrays.arena
    none = empty(0, vector.dtype)
    frame = new_frame(*arrays, empty(0, np.int64), none, none, empty(0))
    call = partial(solution_entry(_kernels(arrays)[2], frame, vector, vector, vector), frame)
    vars(call)["arrays"] = arrays  # alive as long as the call
    return call


def factorizing_and_refining(
    arrays: Arrays, graph: BlockGraph, strict: bool
) -> Callable[[Matrix, Any, Any], tuple[Array, Array | None] | None]:
    """``factorize_and_refine(matrix, values, b)``: x, and the report of `refine` in an array.

    The matrix becomes a copy of the values. The report is None, and no copy was made, where the
    factors are not doubtful; there is no result but None where x is not good.
    """
    rows, dtype, kernel = int(arrays.program[ROWS]), arrays.arena.dtype, _kernels(arrays)[2]
    report = np.zeros(REPORT)
    report[EPSILON], report[LEAST:REPORT] = EPS[dtype], refinement_limits(dtype, strict)
    frame: object = None
    held: tuple[Array, ...] = ()
    copied: Matrix | None = None
    code: Callable[..., int] | None = None

    def factorize_and_refine(
        matrix: Matrix, values: Any, b: Any
    ) -> tuple[Array, Array | None] | None:
        nonlocal code, copied, frame, held
        if matrix is not copied or code is None:
            if dtype.kind == "c":
                return None
            work = empty(refined_work(arrays.program, 1), dtype)
            held = joined_tables(graph), matrix.values, work
            frame, copied = new_frame(*arrays, *held, report), matrix
            code = entry(kernel, MISFIT, frame, arrays.arena, arrays.arena, arrays.arena)
        x = empty(rows, dtype)
        status = code(frame, values, b, x)
        if status == REFINED:
            matrix.forget()
            return x, report
        return (x, None) if status == DONE else None

    return factorize_and_refine


def solving_refined(
    arrays: Arrays, graph: BlockGraph, strict: bool
) -> Callable[[Matrix, Any], tuple[Array, tuple[int, float]] | None]:
    """``solve_refined(matrix, b)``: x, refinements and backward error; None if it is not good."""
    program, arena = arrays.program, arrays.arena
    dtype, rows = arena.dtype, int(program[ROWS])
    limits = EPS[dtype], *refinement_limits(dtype, strict)
    spare: list[tuple[Array, Array]] = []
    tables: Ints | None = None
    code: Callable[..., tuple[int, float]] | None = None

    def solution(matrix: Matrix, b: Any) -> tuple[Array, tuple[int, float]] | None:
        nonlocal code, tables
        if type(b) is not ndarray or b.size != rows or dtype.kind == "c":
            return None
        x = empty(rows, dtype)
        try:
            work = spare.pop()
        except IndexError:
            work = empty(refined_work(program, 1), dtype), empty(3)
        if code is None or tables is None:
            tables = joined_tables(graph)
            code = entry(solve_refined, (-1, 0.0), tables, program, arena, x, x, *limits, *work, x)
        steps, error = code(tables, program, arena, matrix.values, b, *limits, *work, x)
        spare.append(work)
        return None if steps < 0 else (x, (steps, error))

    return solution


def _kernels(arrays: Arrays) -> tuple[Any, Any, Any]:
    """Kernels that factorize, solve, and do both, for a program and a type of numbers."""
    if not is_nodal(arrays.program, arrays.arena.dtype):
        return factors, solve, factors_and_solution
    if arrays.program[SCALARS]:
        return scalar_factors, solve_scalars, scalar_factors_and_solution
    return nodal_factors, solve_nodal, nodal_factors_and_solution


def new_arrays(program: Ints, size: int, dtype: np.dtype[Any], info: Array) -> Arrays:
    """Arrays for a factorization with factors and workspace of a size."""
    _, magnitudes, work = kernels.work_sizes(program, 1)
    arena = empty(size, dtype)
    return Arrays(program, arena, empty(magnitudes, arena.real.dtype), empty(work, dtype), info)
