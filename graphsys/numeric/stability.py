"""Stability: errors of factors relative to a stable method, and the pivot blocks to blame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.analysis.cycles import connected_components
from graphsys.kernels.base.layout import BELOW, LOWER, PIVOTS, STARTS_AT, SUPERNODES
from graphsys.matrix.graph import BlockGraph
from graphsys.numeric.residuals import EPS, Matrix

Array = NDArray[Any]
Ints = NDArray[np.int64]

#: Error of a solution by the factors alone, in machine epsilons, relative to what a backward stable
#: method may leave, up to which factors count as those of such a method.
STABLE = 300.0
#: Condition number, in reciprocal machine epsilons, from which a matrix counts as singular.
SINGULAR_CONDITION = 1.0 / 64.0
#: The same for a second scaling, after a first in which it is singular: any scaling changes the
#: condition number of a singular matrix by a little.
SINGULAR_AGAIN = 2.0**-12
#: Right-hand sides that errors are measured with.
PROBES = 3


def instability(
    matrix: Matrix,
    solve: Callable[[Array, bool], Array],
    both: bool,
    rows_of: Array | None = None,
    normwise: bool = False,
) -> tuple[float, float]:
    """Errors of solutions relative to those of a backward stable method, and a condition number.

    A solution x by the factors alone is compared with the correction d of one refinement step, in
    the maximum norm of each connected component: ``|d| / |A^-1| (|A| |x| + |b|)`` is a small
    multiple of the machine epsilon for a stable method (N. J. Higham, Accuracy and Stability of
    Numerical Algorithms, SIAM, 2002, sec. 7.2). Right-hand sides are random, so that solutions are
    as large as any. For A itself the backward error ``|b - A x| / (|A| |x| + |b|)`` counts as well:
    growth may hide from such right-hand sides in d, not in the residual. Products with |A^-1| are
    sampled by random signs and random magnitudes: with signs alone, columns of the inverse of a
    nearly singular block can cancel exactly.

    Parameters
    ----------
    matrix : Matrix
        Equilibrated, or nearly so.
    solve : callable
        ``solve(b, transposed)`` with the factors alone, for `PROBES` columns, flat; NaN where the
        solution is not finite.
    both : bool
        Whether to measure the transpose too.
    rows_of : ndarray of bool, shape (N,), optional
        Rows that the factors are of; the others' unknowns are zero. All by default.
    normwise : bool, optional
        Whether to allow every row of a component the largest error of any, ``max(|A| |x| + |b|)``:
        what Gaussian elimination with partial pivoting promises, without refinement.

    Returns
    -------
    error : float
        Largest of these quotients; inf where a solution is not finite.
    condition : float
        Largest ``|A| |x| / |b|`` in the maximum norm: a lower bound.
    """
    rows = matrix.graph.rows
    chosen = np.ones(rows, np.bool_) if rows_of is None else rows_of
    if not chosen.any():
        return 0.0, 1.0
    rng = np.random.default_rng(0)
    every = np.tile(chosen, PROBES)
    b = rng.choice([-1.0, 1.0], every.size) * rng.uniform(0.5, 1.0, every.size) * every
    b = b.astype(matrix.values.dtype)
    error, condition, component = 0.0, 1.0, _components(matrix.graph)
    for transposed in (False, True) if both else (False,):
        with np.errstate(all="ignore"):
            x = solve(b, transposed)
            r = matrix.residual(b, x, PROBES, transposed) * every
            size = matrix.sizes(x, PROBES, transposed) * every
            d = solve(r.astype(b.dtype), transposed)
            error_of_rows = size + np.abs(b)
            if normwise:
                error_of_rows = np.tile(_largest(error_of_rows, component)[component], PROBES)
            allowed = solve((b * error_of_rows).astype(b.dtype), transposed)
            if not (np.isfinite(d) & np.isfinite(allowed) & np.isfinite(x)).all():
                return np.inf, np.inf
            bound = np.fmax(np.abs(x), np.abs(allowed)) * every
            error = max(error, _relative(d * every, bound, component))
            if not transposed:
                error = max(error, _relative(r, error_of_rows, component))
        condition = max(condition, float(size.max() / np.abs(b).max()))
    return error, condition


def contraction(
    matrix: Matrix, solve: Callable[[Array, bool], Array], both: bool
) -> tuple[float, float]:
    """Factor by which a step of iterative refinement reduces the residual, and a condition number.

    A step turns the residual r into (I - A C) r, where C stands for a solve with the factors. The
    factor is the largest of two such steps, in the maximum norm of each connected component. Below
    1 it proves more: the matrices between A and C^-1 are all regular, so that the two have the same
    inertia.

    Parameters
    ----------
    matrix : Matrix
        Equilibrated, or nearly so.
    solve : callable
        As for `instability`.
    both : bool
        Whether to measure the transpose too.

    Returns
    -------
    factor : float
        inf where a solution is not finite.
    condition : float
        As of `instability`.
    """
    if matrix.graph.rows == 0:
        return 0.0, 1.0
    component = _components(matrix.graph)
    rng = np.random.default_rng(1)
    every = PROBES * matrix.graph.rows
    b = rng.choice([-1.0, 1.0], every) * rng.uniform(0.5, 1.0, every)
    factor, condition = 0.0, 1.0
    for transposed in (False, True) if both else (False,):
        r = b.astype(matrix.values.dtype)
        for step in range(2):
            with np.errstate(all="ignore"):
                x = solve(r, transposed)
                left = matrix.residual(r, x, PROBES, transposed)
            if not np.isfinite(left).all():
                return np.inf, np.inf
            if step == 0:
                size = matrix.sizes(x, PROBES, transposed)
                condition = max(condition, float(size.max() / np.abs(r).max()))
            factor, r = max(factor, _relative(left, np.abs(r), component)), left
    return factor, condition


def _relative(x: Array, size: Array, component: Ints) -> float:
    """Largest quotient of the maximum norms of two vectors in a connected component."""
    most = _largest(size, component)
    return float(np.max(_largest(x, component) / np.where(most > 0.0, most, 1.0), initial=0.0))


def _components(graph: BlockGraph) -> Ints:
    """Connected component of each row."""
    return np.repeat(connected_components(graph), graph.size)


def _largest(x: Array, component: Ints) -> Array:
    """Largest magnitude in each connected component, over all columns."""
    largest = np.zeros(component.max() + 1)
    np.maximum.at(largest, component, np.abs(x).reshape(PROBES, -1).max(axis=0))
    return largest


def is_stable(error: float, dtype: np.dtype[Any]) -> bool:
    """True if factors with such an `instability` are as good as those of a stable method."""
    return error <= STABLE * EPS[dtype]


def is_singular(condition: float, dtype: np.dtype[Any], again: bool = False) -> bool:
    """True if a matrix with such a condition number is singular to working precision.

    Parameters
    ----------
    condition : float
    dtype : numpy.dtype
    again : bool, optional
        Whether it was singular in another scaling.
    """
    return not condition * EPS[dtype] < (SINGULAR_AGAIN if again else SINGULAR_CONDITION)


def weak_supernodes(program: Ints, arena: Array) -> Ints:
    """Supernodes whose largest entry of D^-1, L and W is large, worst first.

    Parameters
    ----------
    program : ndarray of int
    arena : ndarray
        Factors of an equilibrated matrix.
    """
    sizes = _inverse_sizes(program, arena)
    eps = EPS[np.dtype(arena.dtype)]
    largest = sizes.max(initial=0.0)
    weak = np.flatnonzero(sizes >= max(10.0, min(largest, 1.0 / eps) ** 0.5))
    return weak[np.argsort(-sizes[weak], kind="stable")]


def _inverse_sizes(program: Ints, arena: Array) -> Array:
    """Largest entry of D^-1, L and W among the pivots of each supernode."""
    count = int(program[SUPERNODES])
    starts = program[int(program[STARTS_AT]) :][:count]
    p, below, lower = (program[starts + field] for field in (PIVOTS, BELOW, LOWER))
    sizes = np.zeros(count)
    for s in range(count):
        w, m = int(p[s]), int(p[s] + below[s])
        if w:
            panel = arena[int(lower[s]) : int(lower[s]) + m * w].reshape(w, m)[:, :w]
            with np.errstate(all="ignore"):
                size = float(np.abs(panel).max())
            sizes[s] = size if size == size else np.inf
    return sizes
