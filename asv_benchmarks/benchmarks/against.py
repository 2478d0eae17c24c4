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
UNIT = "peer's time / ours"


def _ratio(family, n, block, peer):
    groups = None if peer == "best" else [peer]
    comparison = compare(family, n, block, groups, SECONDS, analysis=False)
    fastest = comparison.best if peer == "best" else comparison.best_of(peer)
    if fastest is None:
        reasons = dict.fromkeys(comparison.missing.values())
        raise NotImplementedError("; ".join(reasons) or f"{peer} gives a wrong solution")
    return fastest.both / comparison.ours.both


class _Against:
    param_names = ("nodes", "peer")
    timeout = 1800

    def track_ratio(self, n, peer):
        return _ratio(self.family, n, DIM, peer)

    track_ratio.unit = UNIT


class Chain(_Against):
    family = "chain"
    params = ([100, 10_000, *[10, 1000, 100_000] * ALL], NARROW)


class Tree(_Against):
    family = "tree"
    params = ([100, 10_000, *[10, 1000, 100_000] * ALL], SPARSE)


class Ladder(_Against):
    family = "ladder"
    params = ([100, 10_000, *[10, 1000, 100_000] * ALL], NARROW)


class MixedTree(_Against):
    family = "mixed tree"
    params = ([1000, *[100] * ALL], SPARSE)


class BodyJointChain(_Against):
    family = "body/joint chain"
    params = ([20, 2000, *[200] * ALL], NARROW)


class BodyJointTree(_Against):
    family = "body/joint tree"
    params = ([20, 2000, *[200] * ALL], SPARSE)


class Net(_Against):
    family = "net"
    params = ([10**2, 100**2, *[30**2, 200**2, 300**2] * ALL], SPARSE)


class Crystal(_Against):
    family = "crystal"
    params = ([3**3, 10**3, *[6**3, 15**3, 20**3] * ALL], SPARSE)


class Complete(_Against):
    family = "complete"
    params = ([5, 100, *[20, 50] * ALL], ["best", "LAPACK dense"])


class _Blocks:
    param_names = ("block",)
    params = [1, 3, 12, *[2, 4] * ALL]
    timeout = 600

    def track_best_ratio(self, block):
        return _ratio(self.family, self.nodes, block, "best")

    track_best_ratio.unit = UNIT


class LadderBlocks(_Blocks):
    family, nodes = "ladder", 1000


class NetBlocks(_Blocks):
    family, nodes = "net", 30**2


class CrystalBlocks(_Blocks):
    family, nodes = "crystal", 6**3
