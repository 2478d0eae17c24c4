"""Supervariables: nodes with the same neighbours, which an elimination order keeps together.

Unknowns of one point of a mesh are such nodes where a matrix is scalar. They need not follow each
other: a matrix may have all of one kind first. See Duff, Reid, ACM TOMS 22, 1996.
"""

import numpy as np
import numpy.typing as npt

from graphsys.kernels.analysis.graph import number_alike
from graphsys.matrix.graph import BlockGraph, from_pairs

Ints = npt.NDArray[np.int64]

#: Fewest nodes, and neighbours per node, of a graph that is searched: others are ordered faster.
#: The analysis of nets of 14 x 14 and of 494_bus would take 1.2 and 1.6 times as long.
FEWEST_NODES, FEWEST_NEIGHBORS = 200, 3
#: Supervariables over nodes above which their order saves less than the search costs: jagmesh7
#: would take 1.4 times as long.
MOST_LEFT = 0.8


def supervariables(graph: BlockGraph) -> Ints | None:
    """Supervariable of each node, numbered by their first nodes; None where few nodes share one."""
    return same_neighbours(graph.neighbor_start, graph.neighbor, np.ones_like(graph.size, np.bool_))


def same_neighbours(start: Ints, neighbor: Ints, alone: npt.NDArray[np.bool_]) -> Ints | None:
    """`supervariables` by lists of neighbours, where nodes are their own that are not ``alone``.

    Nodes are compared by sums of random numbers below 2^62 / n over themselves and their
    neighbours. Different ones have the same sum with a probability of n^3 / 2^63, which costs
    fill-in alone: any order is right.
    """
    n = alone.size
    if n < FEWEST_NODES or neighbor.size < FEWEST_NEIGHBORS * n:
        return None
    numbers = np.random.default_rng(n).integers(0, 2**62 // n, n)
    members, owner = np.empty(n, np.int64), np.full(2 * n + 1, -1)
    most = int(MOST_LEFT * n)
    count = number_alike(
        start, neighbor, alone, numbers, most, np.empty_like(members), owner, members
    )
    return members if count >= 0 else None


def quotient(graph: BlockGraph, members: Ints) -> BlockGraph:
    """Graph of supervariables, with the rows of all their nodes."""
    count = int(members.max()) + 1
    one = np.full(count, -1, np.int64)  # a node of each
    one[members[::-1]] = np.arange(members.size - 1, -1, -1)
    degree = graph.neighbor_start[one + 1] - graph.neighbor_start[one]
    ends = np.cumsum(degree)
    at = np.repeat(graph.neighbor_start[one] - ends + degree, degree) + np.arange(degree.sum())
    size = np.bincount(members, graph.size, count).astype(np.int64)
    size.setflags(write=False)
    return from_pairs(
        range(count), size, np.repeat(np.arange(count), degree), members[graph.neighbor[at]]
    )
