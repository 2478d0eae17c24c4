"""Times of peers over times of graphsys: refactorize and solve, in turn in one process.

Every peer in its fastest setting; "best" is the fastest peer of all. A peer that is not installed,
or hopeless for the matrix, is skipped with the reason. GRAPHSYS_SLOW=1 adds sizes; with the largest
it takes an hour.
"""

import os

from .cases import DIM
from .compare import compare

SECONDS = 0.1  # CPU time for each solver
ALL = os.environ.get("GRAPHSYS_SLOW", "0") == "1"

SPARSE = ["best", "splu", "KLU", "UMFPACK", "PARDISO"]
NARROW = [*SPARSE, "LAPACK band"]
DENSE = "LAPACK dense"  # the peer of Bruedigam et al. 2023, Fig. 9
UNIT = "peer's time / ours"


def _comparisons(cls):
    """All peers at each size of a class, measured once: they take turns, so ratios agree."""
    sizes = cls.params[0]
    return {n: compare(cls.family, n, DIM, None, SECONDS, analysis=False) for n in sizes}


def _fastest(comparison, peer):
    """The fastest setting of a peer; asv skips what `setup` says is not implemented."""
    fastest = comparison.best if peer == "best" else comparison.best_of(peer)
    if fastest is None:
        reasons = {why: None for name, why in comparison.missing.items() if name.startswith(peer)}
        raise NotImplementedError("; ".join(reasons) or f"{peer} gives a wrong solution")
    return fastest


class _Against:
    """asv names a cache by the line of `setup_cache`, so every class has its own."""

    param_names = ("nodes", "peer")
    timeout = 1800

    def setup(self, comparisons, n, peer):
        self.ours, self.theirs = comparisons[n].ours, _fastest(comparisons[n], peer)

    def track_ratio(self, comparisons, n, peer):
        return self.theirs.both / self.ours.both

    track_ratio.unit = UNIT


class Chain(_Against):
    family = "chain"
    params = ([100, 10_000, *[10, 1000, 100_000] * ALL], NARROW)

    def setup_cache(self):
        return _comparisons(Chain)


class Tree(_Against):
    family = "tree"
    params = ([100, 10_000, *[10, 1000, 100_000] * ALL], SPARSE)

    def setup_cache(self):
        return _comparisons(Tree)


class Ladder(_Against):
    family = "ladder"
    params = ([100, 10_000, *[10, 1000, 100_000] * ALL], [*NARROW, DENSE])

    def setup_cache(self):
        return _comparisons(Ladder)


class MixedTree(_Against):
    family = "mixed tree"
    params = ([1000, *[100] * ALL], SPARSE)

    def setup_cache(self):
        return _comparisons(MixedTree)


class BodyJointChain(_Against):
    family = "body/joint chain"
    params = ([20, 2000, *[200] * ALL], NARROW)

    def setup_cache(self):
        return _comparisons(BodyJointChain)


class BodyJointTree(_Against):
    family = "body/joint tree"
    params = ([20, 2000, *[200] * ALL], SPARSE)

    def setup_cache(self):
        return _comparisons(BodyJointTree)


class Net(_Against):
    family = "net"
    params = ([10**2, 50**2, *[30**2, 100**2, 200**2, 300**2] * ALL], [*SPARSE, DENSE])

    def setup_cache(self):
        return _comparisons(Net)


class Crystal(_Against):
    family = "crystal"
    params = ([3**3, 6**3, *[10**3, 15**3, 20**3] * ALL], [*SPARSE, DENSE])

    def setup_cache(self):
        return _comparisons(Crystal)


class Complete(_Against):
    family = "complete"
    params = ([5, 100, *[20, 50] * ALL], ["best", DENSE])

    def setup_cache(self):
        return _comparisons(Complete)


class _Blocks:
    param_names = ("block",)
    params = [1, 3, 12, *[2, 4] * ALL]
    timeout = 600

    def track_best_ratio(self, block):
        comparison = compare(self.family, self.nodes, block, None, SECONDS, analysis=False)
        return _fastest(comparison, "best").both / comparison.ours.both

    track_best_ratio.unit = UNIT


class LadderBlocks(_Blocks):
    family, nodes = "ladder", 1000


class NetBlocks(_Blocks):
    family, nodes = "net", 30**2


class CrystalBlocks(_Blocks):
    family, nodes = "crystal", 6**3
