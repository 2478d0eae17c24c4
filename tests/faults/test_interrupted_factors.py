"""Ctrl-C, forks and factors: what solves is whole, and all the rest says so."""

import signal
import threading
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

import graphsys as gs
from graphsys import families
from graphsys.numeric import threads

from . import interrupting
from .interrupting import interrupted, script


def two_matrices(shape=(14, 14), size=6):
    """A system, values of two matrices on its graph, a right-hand side and both solutions."""
    system = families.random_system(nx.grid_graph(shape), size)
    both = system.values, system.values * 3.0
    b = np.random.default_rng(3).standard_normal(system.shape[0])
    x = system.factorize().solve(b)
    return system, both, b, (x, x / 3.0)


def is_one_of(x, solutions):
    return any(np.allclose(x, known, rtol=1e-6, atol=1e-9) for known in solutions)


def interrupt_at_random_times(factor, both, rounds=12):
    """After each Ctrl-C: how the factor is."""
    random = np.random.default_rng(5)
    for delay in random.uniform(0.005, 0.03, rounds):
        with interrupted(delay):
            while True:
                for values in both:
                    factor.refactorize(values)
        yield factor


def test_a_signal_that_comes_while_another_is_handled_waits_for_no_lock(monkeypatch):
    # Coverage once made the handler so slow that the next signal came while it set an event.
    def interrupt():
        signal.getsignal(signal.SIGINT)(signal.SIGINT, None)

    class Interrupted(threading.Event):
        def set(self):
            interrupt()
            super().set()

    names = {"Thread": threading.Thread, "main_thread": threading.main_thread}
    monkeypatch.setattr(interrupting, "threading", SimpleNamespace(Event=Interrupted, **names))
    with interrupted(60.0):
        interrupt()


@pytest.mark.parametrize("options", [{"threads": 2}, {}, {"refine": True}, {"redundant": True}])
def test_a_factor_that_was_interrupted_solves_rightly_or_says_so(monkeypatch, options):
    monkeypatch.setattr(threads, "WORTH_IT", 0.0)
    system, both, b, solutions = two_matrices()
    factor = system.factorize(**options)
    refused = 0
    for _ in interrupt_at_random_times(factor, both):
        try:
            x = factor.solve(b)
        except ValueError as error:
            refused += 1
            assert "was interrupted" in str(error)
            assert "call refactorize again" in str(error)
        else:
            assert is_one_of(x, solutions)
        factor.refactorize(both[1])
        assert is_one_of(factor.solve(b), solutions[1:])
    if options.get("threads") == 2:
        assert refused  # nearly all the time is spent in there


def test_helpers_have_left_the_factors_when_an_interrupt_comes_out(monkeypatch):
    monkeypatch.setattr(threads, "WORTH_IT", 0.0)
    inside = []
    take_part = threads.take_part

    def watched(*arguments):
        inside.append(1)
        try:
            return take_part(*arguments)
        finally:
            inside.pop()

    monkeypatch.setattr(threads, "take_part", watched)
    system, both, *_ = two_matrices()
    factor = system.factorize(threads=3)
    for _ in interrupt_at_random_times(factor, both, 8):
        assert not inside


def test_an_error_of_one_thread_gets_out_after_the_others_have_left(monkeypatch):
    monkeypatch.setattr(threads, "WORTH_IT", 0.0)
    system, both, b, solutions = two_matrices()
    factor = system.factorize(threads=2)
    take_part = threads.take_part

    def failing(*arguments):
        raise MemoryError

    monkeypatch.setattr(threads, "take_part", failing)
    with pytest.raises(MemoryError):
        factor.refactorize(both[1])
    monkeypatch.setattr(threads, "take_part", take_part)

    with pytest.raises(ValueError, match="was interrupted"):
        factor.solve(b)
    assert is_one_of(factor.refactorize(both[1]).solve(b), solutions[1:])


@pytest.mark.parametrize("once", [True, False])
def test_refinement_after_an_interrupt_never_uses_the_matrix_before(monkeypatch, once):
    # what Ctrl-C between the factorization and the line after it does, at the worst place
    system, both, b, solutions = two_matrices((4, 4), 3)
    factor = system.factorize(refine=True)
    kind = type(factor)
    remember = kind._remember

    def interrupt(self, *arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, "_remember", interrupt)
    if not once:
        factor._fast_again = None
    with pytest.raises(KeyboardInterrupt):
        factor.refactorize(both[1])
    monkeypatch.setattr(kind, "_remember", remember)

    with pytest.raises(ValueError, match="the last refactorize was interrupted"):
        factor.solve(b)
    with pytest.raises(ValueError, match="the last refactorize was interrupted"):
        factor.rcond()
    assert is_one_of(factor.refactorize(both[1]).solve(b), solutions[1:])


def test_a_condensation_that_was_interrupted_says_so(monkeypatch):
    system, both, b, solutions = two_matrices((4, 4), 3)
    condensation = gs.condense(system, [(0, 0), (3, 3)])
    partial = type(condensation._partial)
    succeeds = partial.succeeds

    def interrupt(self, values):
        raise KeyboardInterrupt

    monkeypatch.setattr(partial, "succeeds", interrupt)
    with pytest.raises(KeyboardInterrupt):
        condensation.refactorize(both[1])
    monkeypatch.setattr(partial, "succeeds", succeeds)

    with pytest.raises(ValueError, match="was interrupted, so nothing is condensed"):
        condensation.schur()
    condensation.refactorize(both[1])
    kept = np.linalg.solve(condensation.schur(), condensation.reduce(b))
    assert is_one_of(condensation.expand(kept, b), solutions[1:])


def test_a_batch_that_was_interrupted_has_no_factors():
    system, both, b, solutions = two_matrices((5, 5), 6)
    values = np.array([both[0], both[1]] * 40)
    batch = gs.Batch(system.analyze(), values, threads=2)
    right = np.tile(b, (80, 1))
    refused = 0
    for delay in np.random.default_rng(5).uniform(0.005, 0.03, 8):
        with interrupted(delay):
            while True:
                batch.refactorize(values)
        try:
            x = batch.solve(right)
        except ValueError as error:
            refused += 1
            assert "there are no factors to solve with: refactorize first" in str(error)
        else:
            assert all(is_one_of(x[i], [solutions[i % 2]]) for i in range(80))
        assert is_one_of(batch.refactorize(values).solve(right)[7], solutions[1:])
    assert refused


def test_threads_work_in_a_forked_child():
    script(
        """
        import os, signal
        import networkx as nx, numpy as np
        import graphsys as gs
        from graphsys import families
        from graphsys.numeric import threads
        threads.WORTH_IT = 0.0
        system = families.random_system(nx.grid_graph((6, 6)), 3)
        symbolic = system.analyze()
        values = np.array([system.values] * 32)
        b = np.ones((32, system.shape[0]))
        parent = gs.Batch(symbolic, values, threads=2).solve(b)
        one = system.factorize(threads=2).solve(b[0])
        threads_of_parent = threads.pool.cache_info().currsize
        child = os.fork()
        if child == 0:
            signal.alarm(30)  # ends a child that hangs
            same = np.array_equal(gs.Batch(symbolic, values, threads=2).solve(b), parent)
            same &= np.array_equal(system.factorize(threads=2).solve(b[0]), one)
            os._exit(0 if same else 1)
        assert threads_of_parent > 0
        assert os.waitpid(child, 0)[1] == 0
        """
    )
