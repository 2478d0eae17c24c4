"""Certificate of a solution: its backward error, a condition estimate and a forward bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.kernels.single.certificate import (
    PHASES,
    RESULTS,
    certificate_work,
    certify,
    error_and_sizes,
    start_vectors,
)
from graphsys.numeric.residuals import EPS, Matrix
from graphsys.numeric.solver import Solver

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Certificate:
    """Accuracy of a solution; of several right-hand sides, the worst.

    Attributes
    ----------
    backward_error : float
        Componentwise, ``max_i |b - A x|_i / (|A| |x| + |b|)_i``: x is the exact solution of a
        system whose entries differ from those of A and b by at most this, relative to each entry.
    condition : float
        Estimate of ``max |A^-1| (|A| |x| + |b|) / max |x|``: relative change of x, in the maximum
        norm, per such relative change of the entries. The estimate is a lower bound, usually exact
        and seldom too small by more than a factor of 3.
    forward_error : float
        Estimated bound on ``max |x - x_exact| / max |x_exact|`` for the stored matrix:
        ``condition`` times the backward error plus the rounding error of the residual.
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
        if len(found) == 1:
            return found[0]
        every = zip(*((c.backward_error, c.condition, c.forward_error) for c in found), strict=True)
        return cls(*map(max, every)) if found else cls(0.0, 1.0, 0.0)


def certificate(
    solver: Solver, matrix: Matrix, b: Array, x: Array, transposed: bool, bounded: bool
) -> Certificate:
    """Certificate of one solution.

    The condition is estimated by three solves at once, and one with the transpose: see
    `graphsys.kernels.single.certificate.certify`.

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
        work = np.empty(certificate_work(graph.rows, solver.symbolic.widest), x.dtype)
        certify(
            graph.tables(), solver.program, solver.arena, matrix.values, transposed, b, x, sizes,
            work, info,
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
                condition = _condition(solver, sizes, largest, transposed)
    if condition == 0.0:  # x = 0
        return Certificate(error, 1.0, 0.0 if error == 0.0 else np.inf)
    forward = condition * (error + EPS[x.dtype] * (most + 1))
    return Certificate(error, condition, forward if forward == forward else np.inf)


def _condition(solver: Solver, sizes: Array, largest: float, transposed: bool) -> float:
    """The condition of `certify` by any solver; inf where a size or a solve overflows."""
    right = np.empty(len(PHASES) * sizes.size, solver.dtype)
    start_vectors(sizes, largest, right)
    if not np.isfinite(right).all():
        return np.inf
    trans, other = "TN" if transposed else "NT"
    some = sizes[sizes > 0.0].astype(float)
    if some.size == 0:
        return 0.0
    middle = float(some.min() ** 0.5 * some.max() ** 0.5)  # as in `certify`
    try:
        found, _ = solver.columns(right.reshape(-1, sizes.size).T, trans)
        row = int(np.abs(found).max(axis=1).argmax())
        one = middle / largest * np.eye(1, sizes.size, row)[0]
        of_inverse, _ = solver.columns(one.astype(solver.dtype), other)
    except OverflowError:
        return np.inf
    return max(float(np.abs(found).max()), float(sizes / middle @ np.abs(of_inverse)))
