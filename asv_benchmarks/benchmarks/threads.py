"""Two threads against one, by the wall clock: two cores must be free for it to mean anything."""

import time

import numpy as np

from . import cases
from .usage import answer_help

ROWS = [("net", 900), ("net", 10_000), ("crystal", 216), ("crystal", 1_000), ("crystal", 3_375)]


def seconds(family, nodes, threads=(1, 2), rounds=15):
    """Least seconds of refactorize and solve for each number of threads, taken in turns."""
    system = cases.system(family, nodes)
    symbolic = system.analyze()
    factors = [system.factorize(symbolic, threads=count) for count in threads]
    b = np.ones(system.shape[0])
    least = [np.inf] * len(threads)
    for _ in range(rounds):
        for i, factor in enumerate(factors):
            start = time.perf_counter()
            factor.refactorize(system.values)
            factor.solve(b)
            least[i] = min(least[i], time.perf_counter() - start)
    return least


class TwoThreads:
    params = [f"{family} {nodes}" for family, nodes in ROWS[:4]]
    param_names = ("graph",)
    timeout = 300

    def track_speedup(self, graph):
        family, nodes = graph.split()
        one, two = seconds(family, int(nodes))
        return one / two

    track_speedup.unit = "times as fast"


if __name__ == "__main__":
    answer_help(__doc__)
    for family, nodes in ROWS:
        one, two = seconds(family, nodes)
        print(f"{family} {nodes}: {1e3 * one:.2f} ms, {1e3 * two:.2f} ms, {one / two:.2f}x")
