"""Mixed precision against double precision: refactorize and one solve, in turns."""

import numpy as np

from . import cases
from .clock import fastest

ROWS = [("net", 900), ("net", 10_000), ("crystal", 216), ("crystal", 1_000), ("crystal", 3_375)]


def seconds(family, nodes):
    """Least CPU seconds of refactorize and solve in double and in mixed precision."""
    system = cases.system(family, nodes)
    symbolic, b = system.analyze(), np.ones(system.shape[0])
    least = []
    for precision in ("double", "mixed", "double", "mixed"):
        factor = system.factorize(symbolic, precision=precision)

        def both(factor=factor):
            factor.refactorize(system.values)
            factor.solve(b)

        least.append(fastest(both))
    return min(least[0], least[2]), min(least[1], least[3])


class MixedPrecision:
    params = [f"{family} {nodes}" for family, nodes in ROWS[:4]]
    param_names = ("graph",)
    timeout = 300

    def track_speedup(self, graph):
        family, nodes = graph.split()
        double, mixed = seconds(family, int(nodes))
        return double / mixed

    track_speedup.unit = "times as fast"


if __name__ == "__main__":
    for family, nodes in ROWS:
        double, mixed = seconds(family, nodes)
        print(f"{family} {nodes}: {1e3 * double:.2f} {1e3 * mixed:.2f} ms, {double / mixed:.2f}x")
