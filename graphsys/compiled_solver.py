"""Solutions on one graph by C code that is compiled for it alone."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import empty
from numpy.typing import NDArray

from graphsys.c_code.build import shared_library
from graphsys.c_code.source import source
from graphsys.compiler import DISABLE_JIT, machine
from graphsys.factor import Factor
from graphsys.kernels.single.fused_solve import BUSY, DONE, MISFIT
from graphsys.kernels.single.one_graph import FRAME, FUNCTION, NNZ, ROWS, WORK, solve_once
from graphsys.kernels.single.refinement import GOOD
from graphsys.matrix.block import as_numbers, as_values
from graphsys.symbolic import Symbolic

Array = NDArray[np.float64]

FLOAT = np.dtype(np.float64)
#: Added to the file: one call for a solution that is good, or a status for one that is not.
ONCE = """
int graph_once(const double *values, double *work, const double *b, double *x)
{{
  int status = graph_factorize_and_solve(values, work, b, x);
  if (status == GRAPH_DOUBTFUL && graph_refine(values, work, b, x) <= {good!r}) return GRAPH_DONE;
  return status;
}}

/* Compiled for {processor}. */
const long long graph_work_length = GRAPH_WORK;
"""


def call_of(frame: NDArray[np.int64]) -> Callable[..., Any]:
    """Call of the code of one graph by its frame: kernel `one_graph.solve_once`."""
    vector = empty(1)
    call: Callable[..., Any] = solve_once.entry(MISFIT, frame, vector, vector, vector)
    return call


class CompiledSolver:
    """Solver for the matrices of one graph, with code compiled for this graph.

    Made by `System.compile`. A `Factor` solves instead if a solution is not accurate.

    Attributes
    ----------
    symbolic : Symbolic
    """

    def __init__(self, symbolic: Symbolic) -> None:
        if DISABLE_JIT:
            raise NotImplementedError("there is no machine code under NUMBA_DISABLE_JIT=1")
        self.symbolic = symbolic
        self._factor: Factor | None = None
        good = GOOD * float(np.finfo(FLOAT).eps)
        text = source(symbolic, "graph") + ONCE.format(good=good, processor=machine.processor())
        path = shared_library(
            text.encode(), "one-graph", "system.compile()", ("-O3", "-march=native")
        )
        self._library = ctypes.CDLL(str(path))
        length = ctypes.c_longlong.in_dll(self._library, "graph_work_length").value
        self._work = empty(length)
        self._frame = np.zeros(FRAME, np.int64)
        address = ctypes.cast(self._library.graph_once, ctypes.c_void_p).value or 0
        self._frame[FUNCTION], self._frame[WORK] = address, self._work.ctypes.data
        self._frame[NNZ], self._frame[ROWS] = symbolic.graph.nnz, symbolic.graph.rows
        self._code = call_of(self._frame)

    def __reduce__(self) -> tuple[Any, ...]:
        return CompiledSolver, (self.symbolic,)

    def __repr__(self) -> str:
        return f"CompiledSolver({len(self.symbolic.graph.labels)} nodes)"

    def solve_once(self, values: Any, b: Any) -> Array:
        """Solution of A x = b; the factors are not kept.

        Parameters
        ----------
        values : array_like, shape (graph.nnz,)
            Blocks of A in the layout of the graph, all of them also where A is symmetric.
        b : array_like, shape (N,)

        Returns
        -------
        ndarray, shape (N,)

        Raises
        ------
        SingularPivotError, ValueError
            As for `Factor`.
        RuntimeError
            If another thread solves with this solver: each needs one of its own.

        Warns
        -----
        InaccurateSolutionWarning
            As for `Factor.solve`.
        """
        x = empty(self.symbolic.graph.rows)
        status = self._code(self._frame, values, b, x)
        if status == DONE:
            return x
        if status == BUSY:
            raise RuntimeError(
                "another thread is solving with this solver: each needs one of its own, such as "
                "copy.copy(solver)"
            )
        graph = self.symbolic.graph
        numbers = as_values(values, FLOAT, graph.nnz)
        right = np.ascontiguousarray(as_numbers(b, FLOAT, "b"))
        if right.shape != (graph.rows,):
            raise ValueError(f"b has shape {right.shape}, it must be ({graph.rows},)")
        if status == MISFIT and self._code(self._frame, numbers, right, x) == DONE:
            return x
        if self._factor is None:
            self._factor = Factor(self.symbolic, numbers)
            return np.asarray(self._factor.solve(right))
        return np.asarray(self._factor.refactorize_and_solve(numbers, right))
