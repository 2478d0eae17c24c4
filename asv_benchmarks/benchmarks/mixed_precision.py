"""Mixed precision against double precision and PARDISO: refactorize and one solve, in turns."""

import numpy as np

from . import cases
from .clock import fastest
from .pardiso import Pardiso
from .usage import answer_help

ROWS = [("net", 900), ("net", 10_000), ("crystal", 216), ("crystal", 1_000), ("net", 40_000)]
ROWS += [("crystal", 3_375), ("crystal", 8_000)]


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


def seconds_of_pardiso(family, nodes):
    """Least CPU seconds of PARDISO's fastest setting in double precision; nan without MKL."""
    if Pardiso.lib is None:
        return np.nan
    system = cases.system(family, nodes)
    order, b = system.analyze().order, np.ones(system.shape[0])
    least = []
    for blocks in (False, True):
        for ours in (False, True):
            peer = Pardiso(11, blocks, ours)
            peer.analyze(system.to_scipy(), system, list(order))

            def both(peer=peer):
                peer.refactorize(peer.values)
                peer.solve(b)

            least.append(fastest(both))
            peer.close()
    return min(least)


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
    answer_help(__doc__)
    for family, nodes in ROWS:
        double, mixed = seconds(family, nodes)
        peer = seconds_of_pardiso(family, nodes)
        print(
            f"{family} {nodes}: {1e3 * double:.2f} {1e3 * mixed:.2f} ms, {double / mixed:.2f}x; "
            f"PARDISO {1e3 * peer:.2f} ms, {peer / mixed:.2f}x"
        )
