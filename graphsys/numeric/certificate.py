"""Certificate of a solution: its backward error, a condition estimate and a forward bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.kernels.single.certificate import (
    RESULTS,
    ROWS_OF_INVERSE,
    certificate_work,
    certify,
    error_and_sizes,
    irregular_signs,
)
from graphsys.numeric.residuals import EPS, Matrix
from graphsys.numeric.solver import Solver

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Certificate:
    """How accurate a solution is: of several right-hand sides the worst.

    Attributes
    ----------
    backward_error : float
        Componentwise, ``max_i |b - A x|_i / (|A| |x| + |b|)_i``: x solves a system exactly whose
        entries differ from A and b by no more than this, relative to their size.
    condition : float
        Estimate of ``max |A^-1| (|A| |x| + |b|) / max |x|``: by how much such changes of the
        entries, relative to their size, change x, relative to its largest entry. The estimate is a
        lower bound, mostly right and seldom too small by more than 3.
    forward_error : float
        Estimated bound of ``max |x - x_exact| / max |x_exact|`` for the matrix as it is stored:
        ``condition`` times the backward error and the rounding of the residual.
    """

    backward_error: float
    condition: float
    forward_error: float

    @classmethod
    def worst(cls, found: list[Certificate]) -> Certificate:
        """The largest numbers of several; of none, those of an exact solution.

        Parameters
        ----------
        found : list of Certificate

        Returns
        -------
        Certificate
        """
        every = zip(*((c.backward_error, c.condition, c.forward_error) for c in found), strict=True)
        return cls(*map(max, every)) if found else cls(0.0, 1.0, 0.0)


def certificate(
    solver: Solver, matrix: Matrix, b: Array, x: Array, transposed: bool, bounded: bool
) -> Certificate:
    """Certificate of one solution.

    The norm of ``A^-1 diag(s)``, s = |A| |x| + |b|, is estimated by Hager's method from two starts:
    see `graphsys.kernels.single.certificate.certify`.

    Parameters
    ----------
    solver : Solver
    matrix : Matrix
    b, x : ndarray, shape (N,)
        Right-hand side and solution, of the factors' type.
    transposed : bool
        Whether x solves A^T x = b.
    bounded : bool
        False for a singular matrix, whose solutions have no bound.

    Returns
    -------
    Certificate
    """
    graph, info = matrix.graph, np.empty(RESULTS)
    sizes = np.empty(graph.rows, x.real.dtype)
    if bounded and solver.plain:
        program = solver.symbolic.program
        work = np.empty(certificate_work(program), x.dtype)
        certify(
            graph.tables(), program, solver.arena, matrix.values, transposed, b, x, sizes, work,
            info,
        )  # fmt: skip
        error, condition, most = info.tolist()
    else:
        r, work = np.empty((2, b.size), b.dtype)
        error = float(
            error_and_sizes(graph.tables(), matrix.values, transposed, b, x, r, sizes, work)
        )
        most, largest = graph.most_entries(), float(np.abs(x).max(initial=0.0))
        condition = np.inf if not bounded else 0.0
        if bounded and largest > 0.0:
            with np.errstate(all="ignore"):
                condition = _condition(solver, sizes / largest, transposed)
    if condition == 0.0:  # x = 0
        return Certificate(error, 1.0, 0.0 if error == 0.0 else np.inf)
    with np.errstate(all="ignore"):
        forward = np.float64(condition) * (error + EPS[x.dtype] * (most + 1))
    return Certificate(error, condition, float(forward) if forward == forward else np.inf)


def _condition(solver: Solver, sizes: Array, transposed: bool) -> float:
    """The condition of `certify` by any solver; inf where a solve overflows."""
    kind = solver.dtype

    def solve(v: Array, transposed: bool) -> Array:
        return solver.columns(v.astype(kind), "T" if transposed else "N")[0]

    irregular = np.empty(sizes.size)
    irregular_signs(irregular)
    best, row = -1.0, 0
    try:
        for signs in (np.ones(sizes.size), irregular):
            found = np.abs(solve(sizes * signs, transposed))
            if found.max() > best:
                best, row = found.max(), int(found.argmax())
        for again in range(ROWS_OF_INVERSE):
            of_inverse = solve(np.eye(1, sizes.size, row)[0], not transposed)
            size = np.abs(of_inverse)
            best = max(best, sizes @ size)
            if again + 1 == ROWS_OF_INVERSE:
                break
            signs = np.where(size == 0.0, 1.0, of_inverse.conj() / size)
            found = np.abs(solve(sizes * signs, transposed))
            best = max(best, found.max())
            if found.argmax() == row:
                break
            row = int(found.argmax())
    except OverflowError:
        return np.inf
    return float(best)
