"""Functions of the solver: how the fuzzer calls each, and what its result must be."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from unittest import mock

import numpy as np
import scipy.sparse as sp

import graphsys as gs
from graphsys import kernels
from tests.fuzz import compiled, laws
from tests.fuzz.judge import RefusalError, Verdict
from tests.fuzz.reference import Reference, scale
from tests.fuzz.trial import Trial

#: Pivot ratio below which a caller of the compiled interface has to look at residuals, as `Factor`
#: does.
DOUBTFUL = 0.125


@dataclass(frozen=True)
class Function:
    """A function under test.

    Attributes
    ----------
    call : callable
        ``call(trial)``: its result.
    measures : callable
        ``measures(trial, result)``: list of `Measure` and `Verdict`.
    regular : callable
        ``regular(trial)``: whether a refusal is a fault.
    applies : callable
        ``applies(trial)``: whether the function exists for the case.
    apart : bool
        Whether the user asked for no refinement: errors are counted apart.
    """

    call: Callable[[Trial], object]
    measures: Callable[[Trial, object], list]
    regular: Callable[[Trial], bool] = Trial.regular
    applies: Callable[[Trial], bool] = lambda trial: True
    apart: bool = False


def solves(call, k=0, trans="N", many=False, **options):
    """Function whose result solves with matrix k for `Trial.vector` or `Trial.columns`."""

    def measures(trial, x):
        b = trial.columns(k, trans) if many else trial.vector(k, trans)
        return [trial.solution(x, b, k, trans)]

    def regular(trial):  # the first matrix is factorized in any case
        return trial.regular() and trial.regular(k)

    return Function(call, measures, regular, **options)


def never(trial):
    """A refusal is never a fault: the caller chose the order, or has a status to look at."""
    return False


def by_labels(trial):
    system, b = trial.system(), trial.vector()
    x = trial.factor.solve(system.split(b))
    return system.join(x) if b.size else b.copy()


def into(trial):
    b = trial.columns()
    out = np.full_like(b, np.nan)
    assert trial.factor.solve(b, out=out) is out
    return out


def complex_right_hand_side(trial):
    b = trial.columns()
    return trial.factor.solve(b[:, 0] + 1j * b[:, 1])


def measures_of_complex(trial, x):
    b = trial.columns()
    return [trial.solution(x, b[:, 0] + 1j * b[:, 1])]


def refactorize(trial):
    factor = trial.new_factor()
    return factor.refactorize(trial.values[1]).solve(trial.vector(1))


def changed(trial):
    factor = trial.new_factor()
    return factor.refactorize(trial.values[2], trial.case.changed).solve(trial.vector(2))


def at_once(trial):
    factor = trial.new_factor()
    return factor.refactorize_and_solve(trial.values[1], trial.vector(1))


#: Matrices that `in_turn` factorizes one after another: of the case, or one that must be refused.
TURNS = (1, "zero", 0, 2, "infinite", 1, "zero", "infinite", 0)


def in_turn(applies=lambda trial: True, **options):
    """Function of factors that refuse matrices between others: solutions, or errors."""

    def refused(factor, values, place, kind):
        if values.size == 0:
            return True
        wrong = np.zeros_like(values)
        if kind == "infinite":
            wrong = values.copy()
            wrong[place] = np.inf
        try:
            factor.refactorize(wrong)
        except (gs.SingularPivotError, ValueError):
            return True
        return False

    def call(trial):
        factor, found, last = trial.new_factor(**options), [], 0
        place = int(np.random.default_rng(trial.case.seed).choice(trial.diagonal or [0]))
        for turn in TURNS:
            if isinstance(turn, str):
                found.append((turn, refused(factor, trial.values[0], place, turn)))
                continue
            b = trial.vector(turn)
            try:
                if (last, turn) == (0, 2):
                    x = factor.refactorize(trial.values[2], trial.case.changed).solve(b)
                elif turn == 0:
                    x = factor.refactorize_and_solve(trial.values[turn], b)
                else:
                    x = factor.refactorize(trial.values[turn]).solve(b)
            except (gs.SingularPivotError, OverflowError) as error:
                found.append((turn, error))
            else:
                found.append((turn, x))
            last = turn
        return found

    def measures(trial, found):
        verdicts: list = []
        for turn, result in found:
            if isinstance(turn, str):
                if not result:
                    verdicts.append(Verdict("wrong", f"factors of an {turn} matrix"))
            elif isinstance(result, Exception):
                verdicts.append(trial.failure(result, turn))
            else:
                verdicts.append(trial.solution(result, trial.vector(turn), turn))
        return verdicts

    return Function(call, measures, applies=applies)


def then(call, law, applies=lambda trial: True):
    """Function of the factors of matrix 2, of which the nodes that changed are new."""

    def of_changed(trial):
        factor = trial.new_factor().refactorize(trial.values[1])
        factor.refactorize(trial.values[0])
        return call(factor.refactorize(trial.values[2], trial.case.changed))

    def regular(trial):
        return all(map(trial.regular, range(3)))

    return Function(of_changed, partial(law, k=2), regular, applies)


def with_options(**options):
    return lambda trial: trial.new_factor(**options).solve(trial.vector())


def regularized(trial):
    """A solution, and the rows that are said to depend on others."""
    factor = trial.new_factor(redundant=True)
    return factor.solve(trial.vector()), factor.redundant


def shared(trial):
    """Two threads, also where a system is too small to be worth it."""
    with mock.patch("graphsys.numeric.threads.WORTH_IT", 0.0):
        return trial.new_factor(threads=2).solve(trial.vector())


def in_order(ordering):
    def call(trial):
        system = trial.system()
        system.analyze(trial.case.order if ordering == "given" else ordering)
        return system.factorize().solve(trial.vector())

    return call


def from_scipy(given):
    def call(trial):
        matrix = sp.csr_array(trial.case.matrices[0])
        dims = list(trial.case.sizes.values()) if given else None
        system = gs.System.from_scipy(matrix, dims, symmetric=trial.case.symmetric)
        return system.solve(trial.vector())

    return call


def condensed(trial):
    return gs.condense(trial.system(), trial.case.kept).schur()


def condensed_again(trial):
    condensation = gs.condense(trial.system(), trial.case.kept)
    return condensation.refactorize(trial.values[1]).schur()


def expanded(trial):
    condensation, b = gs.condense(trial.system(), trial.case.kept), trial.vector()
    schur, reduced = condensation.schur(), condensation.reduce(b)
    small = Reference(schur)  # LAPACK does not equilibrate
    if small.inverse is None or not np.isfinite(reduced).all():  # both, where the matrix is regular
        return np.full_like(b, np.nan)
    x = scale(small.solution(reduced), small.column).astype(b.dtype)
    return condensation.expand(x, b) if np.isfinite(x).all() else np.full_like(b, np.nan)


def gradient(trial):
    return trial.factor.solve_gradient(laws.known_solution(trial), trial.vector(0, "H"))


#: Matrices of the systems of a batch, and powers of two that they are multiplied by.
BATCH = ((0, 0), (1, 0), (0, 1), (2, 0), (1, -1), (0, 0), (1, 0), (0, 0), (1, 1))


def batch(once, trans="N"):
    def call(trial):
        pairs = [(trial.values[k], trial.vector(k, trans), np.ldexp(1.0, p)) for k, p in BATCH]
        exact = [all(np.array_equal(x * p / p, x) for x in (v, b)) for v, b, p in pairs]
        pairs = [pair if kept else (*pair[:2], 1.0) for pair, kept in zip(pairs, exact)]
        values = np.array([v * p for v, _, p in pairs]).astype(trial.case.dtype)
        b = np.array([b * p for _, b, p in pairs]).astype(trial.case.dtype)
        if once:
            solver = gs.Batch(trial.symbolic)
            return solver.solve_once(values, b, trans), solver.failures
        solver = gs.Batch(trial.symbolic, values)
        return solver.solve(b, trans), solver.failures

    def measures(trial, result):
        x, failures = result
        found: list = []
        for i, (k, _) in enumerate(BATCH):
            if i in failures:
                found.append(trial.failure(failures[i], k))
            else:
                found.append(trial.solution(x[i], trial.vector(k, trans), k, trans))
        return found

    return Function(call, measures, never)  # systems that fail have verdicts of their own


def by_kernels(once):
    """The interface for compiled code, with what its status says."""

    def call(trial):
        program, values, b = trial.symbolic.program, trial.values[0], trial.vector()
        arena_size, held, work_size = kernels.work_sizes(program, 1)
        real = values.real.dtype
        arena, work = (np.empty(size, values.dtype) for size in (arena_size, work_size))
        magnitude, info, x = np.empty(held, real), np.zeros(3), np.empty_like(b)
        tolerance = 64.0 * trial.eps
        if once:
            failed = compiled.at_once(
                program, values, b, tolerance, magnitude, work, arena, info, x
            )
        else:
            failed = compiled.in_turn(
                program, values, b, tolerance, magnitude, work, arena, info, x
            )
        if failed:
            raise RefusalError(f"status {failed}, pivot ratio {info[0]:.1e}")
        if info[0] < DOUBTFUL or info[2] > 0:
            warnings.warn(gs.InaccurateSolutionWarning("pivot ratio"), stacklevel=1)
        return x

    return solves(call)


def copied(trial):
    """Copies of factors must go on as the factors do, after these have changed."""
    factor, b = trial.new_factor(), trial.vector()
    copies = pickle.loads(pickle.dumps(factor)), copy.deepcopy(factor)
    before = factor.solve(b)
    try:
        factor.refactorize(trial.values[1])
    except (ValueError, ArithmeticError):
        pass
    return before, *(c.solve(b) for c in copies)


def measures_of_copies(trial, result):
    x, *others = result
    same = [np.array_equal(x, other, equal_nan=True) for other in others]
    found: list = [trial.solution(x, trial.vector())]
    if not all(same):
        off = [float(np.abs(x - other).max()) for other in others]
        size = float(np.abs(x).max())
        found.append(Verdict("wrong", f"copies of the factors solve otherwise: {off} of {size}"))
    return found


FUNCTIONS = {
    "solve": solves(lambda t: t.system().solve(t.vector())),
    "solve columns": solves(lambda t: t.factor.solve(t.columns()), many=True),
    "solve T": solves(lambda t: t.factor.solve(t.vector(0, "T"), "T"), trans="T"),
    "solve H": solves(lambda t: t.factor.solve(t.columns(0, "H"), "H"), trans="H", many=True),
    "solve labels": solves(by_labels),
    "solve out": solves(into, many=True),
    "solve complex": Function(
        complex_right_hand_side,
        measures_of_complex,
        applies=lambda t: t.case.dtype == np.float64,
    ),
    "refactorize": solves(refactorize, k=1),
    "changed": solves(changed, k=2),
    "refactorize_and_solve": solves(at_once, k=1),
    "in turn": in_turn(),
    "in turn mixed": in_turn(lambda t: t.case.dtype == np.float64, precision="mixed"),
    "refine=True": solves(with_options(refine=True)),
    "refine=False": solves(with_options(refine=False), apart=True),
    "redundant=True": Function(
        regularized, laws.dependent, lambda t: t.regular() and laws.regularizable(t)
    ),
    "threads=2": solves(shared),
    "mixed precision": solves(
        with_options(precision="mixed"), applies=lambda t: t.case.dtype == np.float64
    ),
    "dfs": solves(in_order("dfs")),
    "amd": solves(in_order("amd")),
    "nd": solves(in_order("nd")),
    "given order": solves(in_order("given")),
    "from_scipy": solves(from_scipy(False)),
    "from_scipy dims": solves(from_scipy(True)),
    "selected_inverse": Function(lambda t: t.factor.selected_inverse().values, laws.inverse),
    "slogdet": Function(lambda t: t.factor.slogdet(), laws.determinant),
    "inertia": Function(
        lambda t: t.factor.inertia(),
        laws.inertia,
        applies=lambda t: t.case.symmetric and t.case.dtype.kind != "c",
    ),
    "selected_inverse changed": then(lambda f: f.selected_inverse().values, laws.inverse),
    "slogdet changed": then(lambda f: f.slogdet(), laws.determinant),
    "inertia changed": then(
        lambda f: f.inertia(),
        laws.inertia,
        lambda t: t.case.symmetric and t.case.dtype.kind != "c",
    ),
    "schur": Function(condensed, laws.schur, laws.condensable),
    "schur again": Function(
        condensed_again,
        partial(laws.schur, k=1),
        lambda t: laws.condensable(t) and laws.condensable(t, 1),
    ),
    "expand": Function(
        expanded, laws.expansion, laws.condensable, applies=lambda t: t.regular() and t.case.kept
    ),
    "gradient": Function(gradient, laws.gradient, applies=Trial.regular),
    "residual": Function(
        lambda t: t.factor.residual(laws.known_solution(t), t.vector()),
        laws.residual,
        applies=Trial.regular,
    ),
    "rcond": Function(lambda t: t.factor.rcond(), laws.rcond),
    "batch": batch(False),
    "batch T": batch(False, "T"),
    "batch once": batch(True),
    "kernels": by_kernels(False),
    "kernels at once": by_kernels(True),
    "copies": Function(copied, measures_of_copies),
}
FUNCTIONS |= {
    name: Function(f.call, f.measures, never, f.applies)
    for name, f in FUNCTIONS.items()
    if name in ("given order", "kernels", "kernels at once")
}
