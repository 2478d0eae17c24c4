"""The fuzzer: LAPACK's answers are right, faults are found, a seed gives the same case."""

import sys
import time

import numpy as np
import pytest

from graphsys import SingularPivotError
from tests.fuzz import corpus, judge
from tests.fuzz.cases import row_ranges
from tests.fuzz.families import FAMILIES, draw
from tests.fuzz.functions import FUNCTIONS
from tests.fuzz.judge import Verdict, explained, observe, verdict
from tests.fuzz.reference import Reference, scaling
from tests.fuzz.series import Findings
from tests.fuzz.trial import Trial
from tests.fuzz.workers import Worker, examine_for


@pytest.mark.parametrize("family", FAMILIES)
def test_a_seed_gives_the_same_case(family):
    for seed in range(3):
        one, two = draw(family, seed), draw(family, seed)
        assert str(one) == str(two) and one.order == two.order
        for a, b in zip(one.matrices, two.matrices, strict=True):
            assert np.array_equal(a, b) and np.isfinite(a).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_matrices_lie_on_their_graphs_and_differ_where_nodes_changed(family):
    for seed in range(3):
        trial = Trial(draw(family, seed))
        case, inside = trial.case, np.zeros(trial.case.matrices[0].shape, bool)
        inside[trial.place] = True
        for matrix in case.matrices:
            assert not matrix[~inside].any()
            assert not case.symmetric or np.array_equal(matrix, matrix.T)
        ranges = row_ranges(case.sizes)
        same = [row for u in case.graph if u not in case.changed for row in ranges[u]]
        assert np.array_equal(case.matrices[0][same], case.matrices[2][same])


@pytest.mark.parametrize("start", ["zero", "least squares", "matching"])
def test_scalings_undo_powers_of_two(start):
    matrix = np.array([[1.0, 0.5], [0.5, 1.0]])
    scaled = np.ldexp(matrix, np.array([[300], [-200]]) + np.array([-100, 400]))
    row, column = scaling(scaled, start)
    back = np.ldexp(scaled, row[:, None] + column)
    assert 0.25 <= back.max(axis=0).min() and back.max() <= 4.0  # exponents are rounded
    assert Reference(matrix).condition == pytest.approx(3.0)  # |A| = 3/2, |A^-1| = 2
    assert Reference(scaled).condition <= 4.0 * 3.0


def test_reference_solutions_have_the_digits_of_extended_precision():
    hilbert = 1.0 / (np.arange(8)[:, None] + np.arange(8) + 1.0)
    x = np.arange(1.0, 9.0)
    reference = Reference(hilbert)
    found = np.ldexp(
        reference.solution(hilbert.astype(np.longdouble) @ x), reference.column.astype(np.int32)
    )
    bound = 10.0 * np.finfo(np.longdouble).eps * reference.condition
    assert np.abs(found - x).max() < bound * x.max() < 1e-6


@pytest.mark.parametrize("family", ["scaled_diagonals", "saddles", "circulations", "worked"])
def test_the_judge_finds_the_solutions_of_lapack_right(family):
    for seed in range(20):
        trial = Trial(draw(family, seed))
        if trial.regular() and trial.vector().size:
            x = np.linalg.solve(trial.case.matrices[0], trial.vector())
            assert trial.solution(x, trial.vector()).excess <= 1.0, seed


def test_the_judge_sees_half_the_digits_missing():
    trial = Trial(draw("scaled_diagonals", 1))
    x = np.linalg.solve(trial.case.matrices[0], trial.vector())
    worse = trial.solution(x * (1.0 + 1e-4), trial.vector())
    assert worse.excess > 1.0
    assert verdict(observe(lambda: x), True, lambda x: [worse]).outcome == judge.WRONG
    lapack_too = judge.Measure(2.0, lambda: 2.0)
    assert verdict(observe(lambda: x), True, lambda x: [lapack_too]).outcome == judge.LAPACK


def test_the_judge_sees_half_the_digits_of_a_schur_complement_missing():
    trial = Trial(draw("saddles", 763))
    schur = FUNCTIONS["schur again"].call(trial)
    [right] = FUNCTIONS["schur again"].measures(trial, schur)
    [worse] = FUNCTIONS["schur again"].measures(trial, schur * (1.0 + 1e-8))
    assert right.excess <= 1.0 < worse.excess


def test_errors_are_refusals_only_with_a_sentence_of_ours():
    def refuse():
        return FUNCTIONS["solve"].call(Trial(draw("worked", 7)))  # the matrix is zero

    assert isinstance(observe(refuse).error, SingularPivotError)
    assert verdict(observe(refuse), False, list).outcome == judge.REFUSED
    assert verdict(observe(refuse), True, list).outcome == judge.NEEDLESS
    assert not explained(observe(lambda: np.linalg.inv(np.zeros((2, 2)))).error)
    assert not explained(observe(lambda: 1 // 0).error)
    assert verdict(observe(lambda: np.float64(1.0) / 0.0), True, list).outcome == judge.UNCLEAR


class Crashing(Worker):
    """A worker that reports one right call, then dies."""

    command = (
        sys.executable,
        "-c",
        'import os; print(\'["case", "worked", 4]\'); print(\'["call", "solve"]\');'
        'print(\'["found", "solve", "right", ""]\'); print(\'["call", "slogdet"]\','
        "flush=True); os._exit(3)",
    )


def test_a_crash_is_counted_where_it_happened():
    findings, worker = Findings(), Crashing(0, 1, ["worked"], ["solve"], time.time())
    while worker.follow(findings):
        time.sleep(0.01)
    assert findings.counts["worked", "solve", "right"] == 1
    [(family, seed, name, found)] = findings.faults
    assert (family, seed, name, found.outcome) == ("worked", 4, "slogdet", judge.CRASH)


class Hanging(Crashing):
    """A worker that reports a call and nothing more."""

    command = (
        *Crashing.command[:2],
        Crashing.command[2].replace("os._exit(3)", "os.read(os.pipe()[0], 1)"),
    )


def test_a_hang_is_counted_and_ended(monkeypatch):
    monkeypatch.setattr("tests.fuzz.workers.COMPILES", 3.0)
    findings, worker = Findings(), Hanging(0, 1, ["worked"], ["solve"], time.time())
    while worker.follow(findings):
        time.sleep(0.01)
    assert [fault[2:] for fault in findings.faults] == [
        ("slogdet", Verdict(judge.HANG, "more than 3 s"))
    ]


def test_the_corpus_takes_one_case_of_each_fault(tmp_path):
    wrong, needless = Verdict(judge.WRONG), Verdict(judge.NEEDLESS)
    faults = [
        ("worked", 5, "solve", wrong),
        ("worked", 9, "solve", wrong),
        ("worked", 9, "slogdet", needless),
        ("saddles", 2, "solve", needless),
        ("", 0, "draw", Verdict(judge.CRASH)),
    ]
    held = {"worked": {"9": ["solve"]}}
    assert corpus.extend(held, faults) == 2
    assert held == {"worked": {"9": ["solve", "slogdet"]}, "saddles": {"2": ["solve"]}}
    corpus.save(held, tmp_path / "corpus.json")
    assert corpus.load(tmp_path / "corpus.json") == held


@pytest.mark.slow
def test_ten_minutes_of_random_systems_show_no_fault():
    findings = examine_for(600.0, list(FAMILIES), list(FUNCTIONS), 10**6, 2)
    assert findings.cases.keys() == FAMILIES.keys()
    assert findings.faults == []
