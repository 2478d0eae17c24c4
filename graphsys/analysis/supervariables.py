"""Supervariables: nodes with the same neighbours, which an elimination order keeps together.

Unknowns of one point of a mesh are such nodes where a matrix is scalar. They need not follow each
other: a matrix may have all of one kind first. See Duff, Reid, ACM TOMS 22, 1996.
"""

import numpy as np
import numpy.typing as npt

from graphsys.matrix.graph import BlockGraph, from_pairs

Ints = npt.NDArray[np.int64]

#: Fewest nodes, and neighbours per node, of a graph that is searched: others are ordered faster.
FEWEST_NODES, FEWEST_NEIGHBORS = 200, 3
#: Supervariables over nodes above which their order saves less than the search costs.
MOST_LEFT = 0.8


def supervariables(graph: BlockGraph) -> Ints | None:
    """Supervariable of each node, numbered by their first nodes; None where few nodes share one."""
    alone = np.ones(graph.size.size, np.bool_)
    return same_neighbours(graph.neighbor_start, graph.neighbor, alone, graph.size == 0)


def same_neighbours(
    start: Ints,
    neighbor: Ints,
    alone: npt.NDArray[np.bool_],
    void: npt.NDArray[np.bool_] | None = None,
) -> Ints | None:
    """`supervariables` by lists of neighbours, where nodes are their own that are not ``alone``.

    Nodes that are ``void`` share a supervariable.

    Nodes are compared by sums of random numbers of 64 bits over themselves and their neighbours.
    Different ones have the same sum with a probability of n^2 / 2^65, which costs fill-in alone:
    any order is right.
    """
    n = alone.size
    if n < FEWEST_NODES or neighbor.size < FEWEST_NEIGHBORS * n:
        return None
    numbers = np.random.default_rng(n).integers(0, 2**64, n, np.uint64)
    sums = np.zeros(neighbor.size + 1, np.uint64)
    np.cumsum(numbers[neighbor], out=sums[1:])  # modulo 2^64, as all that follows
    keys = numbers * alone + sums[start[1:]] - sums[start[:-1]]
    if void is not None:
        keys[void] = 0
    if np.count_nonzero(np.diff(np.sort(keys))) > MOST_LEFT * n - 1.0:
        return None
    _, first, members = np.unique(keys, return_index=True, return_inverse=True)
    number = np.empty(first.size, np.int64)
    number[np.argsort(first)] = np.arange(first.size)
    found: Ints = number[members]
    return found


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
