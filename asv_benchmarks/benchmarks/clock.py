"""CPU time of solvers that take turns in one process; the least of several rounds counts."""

import gc
import time
from dataclasses import dataclass
from itertools import repeat

import numpy as np

#: A clock reads batches of calls that take so long together, in s.
BATCH = 5e-4
#: Rounds of a solver, at least and at most, and CPU seconds it gets between these.
FEWEST, MOST, SECONDS = 3, 400, 0.3
#: A solver that takes so many times as long as the fastest is not measured more often than this.
HOPELESS, ROUNDS_OF_HOPELESS = 4.0, 2


@dataclass(slots=True)
class Timing:
    """CPU seconds of `refactorize`, of `solve`, and of both: one call or two in the same round."""

    factor: float = float("inf")
    solve: float = float("inf")
    both: float = float("inf")
    spent: float = 0.0
    rounds: int = 0

    def add(self, factor, solve, both):
        self.factor, self.solve = min(self.factor, factor), min(self.solve, solve)
        self.both = min(self.both, both)


def seconds_of(call, argument, count):
    """Return CPU seconds of one call, the mean of a batch."""
    start = time.process_time()
    for _ in repeat(None, count):
        call(argument)
    return (time.process_time() - start) / count


def seconds_of_two(call, first, second, count):
    """Return CPU seconds of one call with two arguments, the mean of a batch."""
    start = time.process_time()
    for _ in repeat(None, count):
        call(first, second)
    return (time.process_time() - start) / count


def fastest(call, seconds=0.1, most=MOST):
    """Return the least CPU seconds of a call without arguments, in batches."""

    def called(_):
        call()

    once = seconds_of(called, None, 1)
    count = max(1, round(BATCH / once))
    least, spent, rounds = once, once, 1
    while (rounds < FEWEST and spent < 1.0) or (spent < seconds and rounds < most):
        once = seconds_of(called, None, count)
        least, spent, rounds = min(least, once), spent + once * count, rounds + 1
    return least


def measure(solvers, b, seconds=SECONDS):
    """Time analyzed solvers in turn: refactorize and solve of the same system.

    Parameters
    ----------
    solvers : list of Solver
    b : ndarray, shape (N,)
    seconds : float
        CPU seconds for each solver.

    Returns
    -------
    list of Timing
    """
    timings = [Timing() for _ in solvers]
    batches = []
    for solver in solvers:
        first = [solver.refactorize, solver.values], [solver.solve, b]
        once = [seconds_of(*call, 1) for call in first]
        if sum(once) < 0.1:  # that was cold
            once = [seconds_of(*call, 1) for call in first]
        batches.append([max(1, min(2000, round(BATCH / max(t, 1e-7)))) for t in once])
    collecting = gc.isenabled()
    gc.disable()
    try:
        while any(_again(timing, timings, seconds) for timing in timings):
            for solver, timing, (n_factor, n_solve) in zip(solvers, timings, batches):
                if not _again(timing, timings, seconds):
                    continue
                factor = seconds_of(solver.refactorize, solver.values, n_factor)
                solve = seconds_of(solver.solve, b, n_solve)
                both = factor + solve
                if solver.at_once is not None:
                    both = seconds_of_two(solver.at_once, solver.values, b, n_factor)
                    timing.spent += both * n_factor
                timing.add(factor, solve, both)
                timing.spent += factor * n_factor + solve * n_solve
                timing.rounds += 1
    finally:
        if collecting:
            gc.enable()
    return timings


def _again(timing, timings, seconds):
    if timing.rounds >= ROUNDS_OF_HOPELESS:
        others = min((other.both for other in timings[1:]), default=np.inf)
        if timing is not timings[0] and timing.both > HOPELESS * others:
            return False
    return timing.rounds < FEWEST or (timing.spent < seconds and timing.rounds < MOST)


def dgemm_rate(n=512):
    """Return floating-point operations a second of numpy's product of two n x n matrices."""
    A = np.random.default_rng(0).standard_normal((2, n, n))
    out = np.empty((n, n))
    return 2.0 * n**3 / fastest(lambda: np.matmul(A[0], A[1], out=out))
