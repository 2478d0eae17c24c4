"""Judge: what became of a call, by backward stability and by what LAPACK can do."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import graphsys as gs
from tests.fuzz.reference import Reference, scale

#: A stable solve of n unknowns has a relative error below this many times n eps cond: Gaussian
#: elimination with pivots up to 10 times as large as others grows by less than 100 in practice
#: (Higham, Accuracy and Stability of Numerical Algorithms, 2002, sec. 9.4).
STABLE = 100.0
#: Bound on forward errors up to which they are judged; beyond, the backward error is.
JUDGED = 0.1
#: A matrix is regular while eps times its equilibrated condition number is below: cond 1e12 in
#: double precision.
REGULAR = 2.2e-4

RIGHT, WARNED, REFUSED = "right", "warned", "refused"
LAPACK, APART = "as LAPACK", "apart"  # LAPACK is wrong, too; the user asked for no refinement
WRONG, NEEDLESS, UNCLEAR, CRASH, HANG = "wrong", "needless", "unclear", "crash", "hang"
OUTCOMES = RIGHT, WARNED, REFUSED, LAPACK, APART, WRONG, NEEDLESS, UNCLEAR, CRASH, HANG
FAULTS = WRONG, NEEDLESS, UNCLEAR, CRASH, HANG
#: From the best to the worst, for calls that give several results.
SEVERITY = {outcome: k for k, outcome in enumerate(OUTCOMES)}

PACKAGE = Path(gs.__file__).parent


class RefusalError(Exception):
    """A status by which compiled code refuses, which has no order to fall back on."""


@dataclass(frozen=True)
class Measure:
    """Error of one result over its bound, and that of LAPACK's."""

    excess: float
    peer: Callable[[], float]


@dataclass(frozen=True)
class Verdict:
    """Outcome of a call, with a sentence."""

    outcome: str
    detail: str = ""


@dataclass(frozen=True)
class Observation:
    """A call's result, or its exception, and its warnings."""

    result: object
    error: Exception | None
    warned: str
    leaked: str


def observe(call: Callable[[], object]) -> Observation:
    """Call, and catch what is raised and warned of."""
    result = error = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as raised:
            error = raised
    ours = [w for w in caught if issubclass(w.category, gs.InaccurateSolutionWarning)]
    others = [w for w in caught if w not in ours]
    leaked = f"{others[0].category.__name__}: {others[0].message}" if others else ""
    return Observation(result, error, str(ours[0].message) if ours else "", leaked)


def explained(error: Exception) -> bool:
    """Whether an error is one of graphsys with a sentence, not one that slipped through."""
    if isinstance(error, RefusalError):
        return True
    if type(error) is np.linalg.LinAlgError:
        return False
    if not isinstance(error, gs.SingularPivotError | ValueError | OverflowError):
        return False
    frames = traceback.extract_tb(error.__traceback__)
    last = Path(frames[-1].filename) if frames else PACKAGE
    return last.is_relative_to(PACKAGE) and len(str(error).split()) > 4


def verdict(seen: Observation, regular: bool, measures: Callable[[object], list]) -> Verdict:
    """Outcome of an observed call.

    Parameters
    ----------
    seen : Observation
    regular : bool
        Whether the system may not be refused.
    measures : callable
        ``measures(result)``: list of `Measure` and `Verdict`.
    """
    if seen.error is not None:
        sentence = f"{type(seen.error).__name__}: {seen.error}"
        if not explained(seen.error):
            return Verdict(UNCLEAR, sentence)
        return Verdict(NEEDLESS if regular else REFUSED, sentence)
    if seen.leaked:
        return Verdict(UNCLEAR, seen.leaked)
    worst = Verdict(WARNED, seen.warned) if seen.warned else Verdict(RIGHT)
    for measure in measures(seen.result):
        found = measure if isinstance(measure, Verdict) else _judged(measure, bool(seen.warned))
        worst = max(worst, found, key=lambda v: SEVERITY[v.outcome])
    return worst


def _judged(measure: Measure, warned: bool) -> Verdict:
    if measure.excess <= 1.0:
        return Verdict(RIGHT)
    detail = f"error {measure.excess:.1e} times its bound"
    if np.isinf(measure.excess):
        detail = "error beyond any bound"
    if warned:
        return Verdict(WARNED, detail)
    return Verdict(WRONG if measure.peer() <= 1.0 else LAPACK, detail)


def bound(reference: Reference, eps: float) -> float:
    """Relative error of a stable solution."""
    return STABLE * max(len(reference.row), 1) * eps * reference.condition


def solution_excess(reference: Reference, x: NDArray, b: NDArray, eps: float) -> float:
    """Error of a solution of A x = b over its bound, in the scaling where it is least."""
    if x.size == 0:
        return 0.0
    if x.shape != b.shape or not np.isfinite(x).all():
        return np.inf
    excess = _solution_excess(reference, x, b, eps)
    if excess > 1.0:
        excess = min(_solution_excess(scaling, x, b, eps) for scaling in reference.scalings)
    return excess


def _solution_excess(reference, x, b, eps):
    extended = np.clongdouble if x.dtype.kind == "c" else np.longdouble
    hat = scale(x.astype(extended), -reference.column)
    most = bound(reference, eps)
    if most < JUDGED:
        exact = reference.solution(b)
        lost = scale(np.longdouble([np.finfo(x.dtype).tiny] * len(x)), -reference.column)
        error = np.abs(hat - exact)
        error = np.maximum(error - (lost if x.ndim == 1 else lost[:, None]), 0.0)
        size = np.abs(exact).max(axis=0) * most
    else:
        right = scale(b.astype(np.result_type(b, np.longdouble)), reference.row)
        error = np.abs(right - reference.scaled @ hat)
        size = reference.norm * np.abs(hat).max(axis=0) + np.abs(right).max(axis=0)
        size = size * eps**0.5
    error = error.max(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.where(error == 0.0, 0.0, error / size).max(initial=0.0))


def lapack_solution(reference: Reference, b: NDArray, eps: float) -> float:
    """The same of LAPACK's solution, of the matrix as it is."""
    with np.errstate(all="ignore"):
        try:
            x = np.linalg.solve(reference.matrix, b)
        except np.linalg.LinAlgError:
            return np.inf
    return solution_excess(reference, x.astype(np.result_type(reference.matrix, b)), b, eps)
