"""Laws: what determinants, inverses, Schur complements and gradients must be, and how exactly."""

from __future__ import annotations

import numpy as np

from tests.fuzz.judge import JUDGED, REGULAR, STABLE, Measure, bound
from tests.fuzz.reference import Reference, scale

#: How far an estimate of the 1-norm of the inverse may be below it; 3 is usual (Higham 2002,
#: ch. 15).
ESTIMATED = 100.0
#: Times eps, the residual that refinement leaves without a warning where rows depend on others.
DEPENDENT = 1e4


def known_solution(trial):
    """Solution of the first right-hand side, to working precision."""
    reference = trial.reference()
    hat = reference.solution(trial.vector())
    with np.errstate(over="ignore", under="ignore"):
        return scale(hat, reference.column).astype(trial.case.dtype)


def ratio(error, most):
    """Error over its bound; infinite where it is no number."""
    if error == 0.0:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = float(np.float64(error) / np.float64(most))
    return quotient if np.isfinite(quotient) else np.inf


def lapack(call, excess):
    """Excess of LAPACK's result, infinite where it refuses."""

    def peer():
        with np.errstate(all="ignore"):
            try:
                return excess(call())
            except np.linalg.LinAlgError:
                return np.inf

    return peer


def extended_and_scales(trial):
    """The first matrix, and the largest entry of each row or column in its diagonal block."""
    a = trial.case.matrices[0].astype(np.result_type(trial.case.dtype, np.longdouble))
    node = np.repeat(np.arange(len(trial.case.sizes)), list(trial.case.sizes.values()))
    inside = np.where(node[:, None] == node, np.abs(a), 0.0)
    most = inside.max(axis=1, initial=0.0), inside.max(axis=0, initial=0.0)
    return a, np.maximum(*most)


def regularizable(trial):
    """Whether pivots that regularize constraint rows, of the size of C M^-1 C^T, are in range."""
    a, scales = extended_and_scales(trial)
    constraint = scales == 0.0
    diagonal = np.abs(np.diag(a))
    pivot = np.where(diagonal < trial.eps * scales, scales, diagonal)[~constraint]
    rows, columns = a[np.ix_(constraint, ~constraint)], a[np.ix_(~constraint, constraint)]
    pivots = (np.abs(rows) * np.abs(columns.T) / pivot).sum(axis=1)
    kind = np.finfo(trial.case.dtype)
    used = pivots[pivots > 0.0]
    return bool(((used < kind.max) & (used > kind.tiny / kind.eps)).all())


def dependent(trial, result):
    """Where rows depend on others, unknowns are as exact as those of the system without them.

    Constraint rows hold to rounding errors of what the other unknowns would be, by their diagonal
    blocks alone; the other rows hold to their own.
    """
    x, rows = result
    b = trial.vector()
    if not rows or not np.isfinite(x).all():
        return [trial.solution(x, b)]
    a, scales = extended_and_scales(trial)
    constraint = scales == 0.0
    scales[constraint] = 1.0
    free = np.where(constraint, 0.0, np.abs(x))
    moved = (np.abs(a) @ free + np.abs(b)) / scales
    free = np.where(constraint, 0.0, np.maximum(free, moved))
    size = np.where(constraint, np.abs(a) @ free, np.abs(a) @ np.abs(x)) + np.abs(b)
    rest = np.abs(b - a @ x)
    excess = max(map(ratio, rest, DEPENDENT * trial.eps * size), default=0.0)
    return [Measure(excess, lambda: 0.0)]


def inverse(trial, values, k=0):
    """Blocks of the inverse, relative to its largest entry in an equilibrated matrix."""
    reference, (rows, columns) = trial.reference(k), trial.place
    if bound(reference, trial.eps) >= JUDGED or values.size == 0:
        return []

    def excess(found):
        return min(excess_in(scaling, found) for scaling in reference.scalings)

    def excess_in(scaling, found):
        exponent = -scaling.column[rows] - scaling.row[columns]
        lost = scale(np.full(len(rows), np.finfo(found.dtype).tiny, np.longdouble), exponent)
        hat = scale(found.astype(scaling.scaled.dtype), exponent)
        exact = scaling.inverse
        error = np.maximum(np.abs(hat - exact[rows, columns]) - lost, 0.0)
        return ratio(error.max(), np.abs(exact).max() * bound(scaling, trial.eps))

    def peer():
        return np.linalg.inv(reference.matrix)[rows, columns]

    return [Measure(excess(values), lapack(peer, excess))]


def determinant(trial, result, k=0):
    """d log|det A| = tr(A^-1 dA), at most n eps cond."""
    reference = trial.reference(k)
    most = bound(reference, trial.eps)
    if most >= JUDGED:
        return []
    sign, logarithm = np.linalg.slogdet(reference.plain)
    logarithm -= np.log(2.0) * (reference.row.sum() + reference.column.sum())
    most += STABLE * trial.eps * (abs(logarithm) + len(reference.row))

    def excess(found):
        return ratio(max(abs(found[0] - sign), abs(found[1] - logarithm)), most)

    return [Measure(excess(result), lapack(lambda: np.linalg.slogdet(reference.matrix), excess))]


def inertia(trial, result, k=0):
    """Sylvester's law: scaling rows and columns alike leaves the signs of the eigenvalues."""
    reference = trial.reference(k)
    eigenvalues = np.linalg.eigvalsh(reference.plain)
    size = np.abs(eigenvalues)
    if size.size and size.min() <= STABLE * size.size * trial.eps * size.max():
        return []
    exact = int((eigenvalues > 0).sum()), int((eigenvalues < 0).sum())
    return [Measure(0.0 if tuple(result) == exact else np.inf, lambda: 0.0)]


def parts(trial):
    """Rows eliminated and kept by the condensation of a case."""
    kept = [trial.case.rows(label) for label in trial.case.kept]
    kept = np.concatenate([np.zeros(0, np.int64), *kept])
    gone = np.setdiff1d(np.arange(len(trial.case.matrices[0])), kept)
    return gone, kept


def eliminated(trial, k=0):
    """Reference of the eliminated part of matrix k."""
    gone, _ = parts(trial)
    return Reference(trial.case.matrices[k][np.ix_(gone, gone)])


def condensable(trial, k=0):
    """Whether a condensation may not be refused: the eliminated part is regular, and S in range."""
    if eliminated(trial, k).condition * trial.eps >= REGULAR:
        return False
    found = schur_and_growth(trial, k)
    if found is None:
        return True
    (_, kept), whole = parts(trial), trial.reference(k)
    with np.errstate(divide="ignore"):
        size = np.log2(np.abs(found[0])) - whole.row[kept][:, None] - whole.column[kept]
    return bool(size.max(initial=-np.inf) < np.finfo(trial.case.dtype).maxexp)


def schur_and_growth(trial, k=0, whole=None):
    """Schur complement in a scaling of the matrix, and what errors of the matrix grow by in it."""
    gone, kept = parts(trial)
    whole, part = whole or trial.reference(k), eliminated(trial, k)
    if part.inverse is None:
        return None
    matrix = trial.case.matrices[k]
    en, ne = matrix[np.ix_(gone, kept)], matrix[np.ix_(kept, gone)]
    right = scale(part.solution(en), part.column)  # A_ee^-1 A_en
    left = scale(part.transposed.solution(ne.T), part.row).T
    c, r = whole.column, whole.row
    right = scale(right, c[kept] - c[gone][:, None])
    left = scale(left, r[kept][:, None] - r[gone])
    exact = whole.scaled[np.ix_(kept, kept)] - whole.scaled[np.ix_(kept, gone)] @ right
    growth = (1.0 + _norm(left)) * (1.0 + _norm(right))
    return exact, growth


def schur(trial, result, k=0):
    """S changes by ``[-A_ne A_ee^-1, I] dA [-A_ee^-1 A_en; I]``.

    dA is n eps norm(A) where pivots are stable in the scaling of A. Pivots are stable in one
    scaling and not in another that divides their rows by more than those of the nodes kept.
    """
    part = eliminated(trial, k)
    if part.inverse is None or result.size == 0 or bound(part, trial.eps) >= JUDGED:
        return []
    gone, kept = parts(trial)
    found = [(whole, *schur_and_growth(trial, k, whole)) for whole in trial.reference(k).scalings]

    def excess(schur):
        return min(excess_in(*scaling, schur) for scaling in found)

    def excess_in(whole, exact, growth, schur):
        hat = scale(schur.astype(exact.dtype), whole.row[kept][:, None] + whole.column[kept])
        most = STABLE * len(whole.row) * trial.eps * whole.norm * growth
        return ratio(np.abs(hat - exact).max(), most)

    def peer():
        a = trial.case.matrices[k]
        solved = np.linalg.solve(a[np.ix_(gone, gone)], a[np.ix_(gone, kept)])
        return a[np.ix_(kept, kept)] - a[np.ix_(kept, gone)] @ solved

    return [Measure(excess(result), lapack(peer, excess))]


def expansion(trial, x):
    """Kept unknowns have errors that grow as those of S, or by those of ``A_ee^-1 b_e``.

    The others solve their own rows beside them.
    """
    found = schur_and_growth(trial)
    b, (gone, kept) = trial.vector(), parts(trial)
    if found is None or bound(eliminated(trial), trial.eps) >= JUDGED:
        return []
    if bound(trial.reference(), trial.eps) * found[1] >= JUDGED:
        return []
    reference = trial.reference()
    exact = reference.solution(b)
    part, a = eliminated(trial), trial.case.matrices[0].astype(exact.dtype)
    inner = np.abs(part.solution(b[gone])).max(initial=0.0) * bound(part, trial.eps)
    reduced = np.abs(a[np.ix_(kept, gone)]) @ scale(np.full(gone.size, inner), part.column)
    most = bound(reference, trial.eps) * np.abs(exact).max(initial=0.0) * found[1]
    most = most + np.abs(np.linalg.inv(found[0].astype(reference.plain.dtype))) @ scale(
        reduced, reference.row[kept]
    )

    def excess(found):
        hat = scale(found.astype(exact.dtype), -reference.column)
        beside = b[gone] - a[np.ix_(gone, kept)] @ found[kept]
        errors = zip(np.abs(hat - exact)[kept], most, strict=True)
        of_kept = max((ratio(*error) for error in errors), default=0.0)
        terms = np.abs(b[gone]) + np.abs(a[np.ix_(gone, kept)]) @ np.abs(found[kept])
        rounded = scale((kept.size + 2) * trial.eps * terms.astype(np.longdouble), part.row)
        solved = part.solution(beside)
        error = np.abs(scale(found[gone].astype(exact.dtype), -part.column) - solved)
        allowed = np.abs(solved).max(initial=0.0) * bound(part, trial.eps)
        allowed = allowed + (np.abs(part.inverse) @ rounded).max(initial=0.0)
        return max(of_kept, ratio(error.max(initial=0.0), allowed))

    def peer():
        with np.errstate(all="ignore"):
            solved = condensed_by_lapack(trial, b)
        return np.inf if solved is None else excess(solved)

    return [Measure(excess(x) if np.isfinite(x).all() else np.inf, peer)]


def condensed_by_lapack(trial, b):
    """Solution through the Schur complement by LAPACK; None where a matrix is singular."""
    (gone, kept), a = parts(trial), trial.case.matrices[0]
    x = np.zeros(b.shape, a.dtype)
    try:
        solved = np.linalg.solve(a[np.ix_(gone, gone)], np.c_[a[np.ix_(gone, kept)], b[gone]])
        schur = a[np.ix_(kept, kept)] - a[np.ix_(kept, gone)] @ solved[:, :-1]
        x[kept] = np.linalg.solve(schur, b[kept] - a[np.ix_(kept, gone)] @ solved[:, -1])
    except np.linalg.LinAlgError:
        return None
    x[gone] = solved[:, -1] - solved[:, :-1] @ x[kept]
    return x.astype(b.dtype)


def gradient(trial, result):
    """The adjoint solves with A^H; blocks of the gradient are its products with the solution."""
    values, adjoint = result
    measure = trial.solution(adjoint, trial.vector(0, "H"), 0, "H")
    extended = trial.reference().scaled.dtype
    lam, x = adjoint.astype(extended), known_solution(trial).astype(extended).conj()
    rows, columns = trial.place
    exact, size = -lam[rows] * x[columns], np.abs(lam[rows] * x[columns])
    if trial.case.symmetric:
        exact = (exact - lam[columns] * x[rows]) / 2
        size = (size + np.abs(lam[columns] * x[rows])) / 2
    info = np.finfo(trial.case.dtype)
    inside = size < float(info.max) / 8
    error = np.abs(values - exact)[inside]
    most = (10.0 * trial.eps * size + 10.0 * float(info.tiny))[inside]
    return [measure, Measure(float((error / most).max(initial=0.0)), lambda: 0.0)]


def residual(trial, result):
    """b - A x is exact but for n roundings of each of its terms."""
    reference, b = trial.reference(), trial.vector()
    hat = scale(known_solution(trial).astype(reference.scaled.dtype), -reference.column)
    right = scale(b.astype(reference.scaled.dtype), reference.row)
    found = scale(result.astype(hat.dtype), reference.row)
    error = np.abs(found - (right - reference.scaled @ hat))
    terms = np.abs(reference.scaled) @ np.abs(hat) + np.abs(right)
    lost = scale(np.full(len(b), np.finfo(b.dtype).tiny, np.longdouble), reference.row)
    most = 4.0 * (len(b) + 1) * (trial.eps * terms + lost)
    return [Measure(float((error / most).max(initial=0.0)), lambda: 0.0)]


def rcond(trial, result):
    """An estimate is at least the reciprocal condition number, and rarely far above it."""
    reference = trial.reference()
    if bound(reference, trial.eps) >= JUDGED or not len(reference.row):
        return []
    inverse = scale(
        reference.inverse.astype(reference.scaled.dtype),
        reference.column[:, None] + reference.row,
    )
    exact = 1.0 / (
        _norm(trial.case.matrices[0].T.astype(reference.scaled.dtype)) * _norm(inverse.T)
    )
    info = np.finfo(trial.case.dtype)
    if not float(info.tiny) < exact:
        return []
    right = exact / 2 <= result <= ESTIMATED * exact
    return [Measure(0.0 if right else np.inf, lambda: 0.0)]


def _norm(matrix):
    return np.abs(matrix).sum(axis=1).max(initial=0.0)
