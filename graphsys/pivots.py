"""Which nodes must wait for a pivot: zero diagonal blocks and who gives them one.

A node whose diagonal block is singular by structure can be eliminated only after neighbours have
filled it. An integer flow decides after which: every such node demands the rows it lacks, every
other node supplies up to its size, and a node waits for those that supply it. Nodes that find no
supplier join a neighbour in the same need: such a pair shares a pivot block, like a 2 x 2 pivot.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
import numpy.typing as npt

from graphsys.errors import UnknownNodeError
from graphsys.graph import BlockGraph

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Precedence:
    """Who waits for whom in an elimination order.

    Attributes
    ----------
    demand : ndarray of int, shape (n,)
        Rows that the diagonal block of a node lacks; 0 for a regular node.
    waits : ndarray of int, shape (n,)
        How many suppliers a node waits for.
    release_start : ndarray of int, shape (n + 1,)
        ``release[release_start[i]:release_start[i + 1]]`` wait for node i.
    release : ndarray of int, shape (sum of waits,)
        Nodes that wait.
    watched : ndarray of bool, shape (n,)
        Nodes whose own block does not tell how large their pivots should be: those that lack rows,
        and those whose pivot failed before.
    joined : tuple of tuple of int
        Groups of nodes that share a pivot block.
    short : ndarray of int
        Nodes whose demand nobody can meet: redundant by structure.
    """

    demand: Ints
    waits: Ints
    release_start: Ints
    release: Ints
    watched: npt.NDArray[np.bool_]
    joined: tuple[tuple[int, ...], ...]
    short: Ints


def missing_rank(graph: BlockGraph, values: npt.NDArray[np.generic]) -> Ints:
    """Rows that each diagonal block lacks to be regular by structure.

    Parameters
    ----------
    graph : BlockGraph
    values : ndarray, shape (graph.nnz,)
        Blocks; a matrix of zeros alone counts as not yet known, and lacks nothing.

    Returns
    -------
    ndarray of int, shape (n,)
        Size minus structural rank (the largest matching of nonzero entries).
    """
    demand = np.zeros(graph.size.size, np.int64)
    if not values.any():
        return demand
    size = graph.size
    node = np.repeat(np.arange(size.size), size)
    place = np.arange(node.size) - graph.row_start[node]
    on_diagonal = values[graph.diagonal_at[node] + place * (size[node] + 1)] != 0
    suspects = np.unique(node[~on_diagonal])
    if suspects.size == 0:
        return demand
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import structural_rank

    for i in suspects:
        d, at = int(size[i]), int(graph.diagonal_at[i])
        block = values[at : at + d * d].reshape(d, d) != 0
        demand[i] = d - (structural_rank(csr_array(block)) if block.any() else 0)
    return demand


def missing_rows(
    graph: BlockGraph,
    zero_diagonal: Iterable[Hashable] | None,
    values: npt.NDArray[np.generic] | None,
) -> Ints:
    """Rows that diagonal blocks lack: all of the nodes that are named, else as the values show.

    Parameters
    ----------
    graph : BlockGraph
    zero_diagonal : iterable of labels, optional
    values : ndarray, shape (graph.nnz,), optional

    Returns
    -------
    ndarray of int, shape (n,)

    Raises
    ------
    UnknownNodeError
        Where `zero_diagonal` names no node.
    """
    if zero_diagonal is not None:
        demand = np.zeros(graph.size.size, np.int64)
        for label in zero_diagonal:
            if label not in graph.index:
                raise UnknownNodeError(f"zero_diagonal names {label!r}, no node of the graph")
            demand[graph.index[label]] = graph.size[graph.index[label]]
        return demand
    return np.zeros(graph.size.size, np.int64) if values is None else missing_rank(graph, values)


def precedence(
    graph: BlockGraph,
    demand: Ints,
    after_all: frozenset[int] = frozenset(),
    together: Sequence[tuple[int, ...]] = (),
) -> Precedence:
    """Suppliers of every node that lacks rows.

    Parameters
    ----------
    graph : BlockGraph
    demand : ndarray of int, shape (n,)
        From `missing_rank`.
    after_all : frozenset of int, optional
        Nodes that wait for all their neighbours: those whose pivot failed before.
    together : sequence of tuple of int, optional
        Groups of nodes to share a pivot block.

    Returns
    -------
    Precedence
    """
    needy = demand > 0
    needy[list(after_all)] = True
    for group in together:
        needy[list(group)] = True
    suppliers: dict[int, set[int]] = {}
    flow = _Flow(graph, demand, needy)
    for j in sorted(np.flatnonzero(demand).tolist(), key=flow.urgency):
        flow.supply(j)
    for j in np.flatnonzero(demand).tolist():
        suppliers[j] = set(flow.given[j])
    short = {j for j in suppliers if flow.lack(j) > 0}
    joined = _merged([*_join_short(graph, demand, sorted(short)), *together])
    short -= {j for group in joined for j in group}
    last = short | set(after_all)
    for j in sorted(last):  # behind all neighbours that do not wait for as much themselves
        suppliers[j] = set(map(int, flow.neighbours(j))) - last
    for group in joined:  # whoever one of a group waits for, all do
        awaited = set().union(*(suppliers.get(j, set()) for j in group)) - set(group)
        for j in group:
            suppliers[j] = awaited
    waits = np.zeros(graph.size.size, np.int64)
    pairs = [(i, j) for j, who in suppliers.items() for i in who]
    for _, j in pairs:
        waits[j] += 1
    pairs.sort()
    release_start = np.zeros(graph.size.size + 1, np.int64)
    for i, _ in pairs:
        release_start[i + 1] += 1
    return Precedence(
        demand,
        waits,
        np.cumsum(release_start),
        np.array([j for _, j in pairs], np.int64),
        needy,
        tuple(joined),
        np.array(sorted(short), np.int64),
    )


class _Flow:
    """Integer flow from regular nodes to the needy ones beside them."""

    def __init__(self, graph: BlockGraph, demand: Ints, needy: npt.NDArray[np.bool_]) -> None:
        self.graph = graph
        self.demand = demand
        self.needy = needy
        self.capacity = np.where(needy, 0, graph.size)
        self.degree = np.diff(graph.neighbor_start)
        self.given: dict[int, dict[int, int]] = {}
        self.taken: dict[int, set[int]] = {}

    def neighbours(self, j: int) -> Ints:
        return self.graph.neighbor[self.graph.neighbor_start[j] : self.graph.neighbor_start[j + 1]]

    def urgency(self, j: int) -> tuple[int, int]:
        """Nodes with the fewest regular neighbours are served first: they have no choice."""
        return int(np.count_nonzero(~self.needy[self.neighbours(j)])), j

    def lack(self, j: int) -> int:
        return int(self.demand[j]) - sum(self.given.get(j, {}).values())

    def _give(self, i: int, j: int, amount: int) -> None:
        given = self.given.setdefault(j, {})
        given[i] = given.get(i, 0) + amount
        if given[i] == 0:
            del given[i]
            self.taken[i].discard(j)
        else:
            self.taken.setdefault(i, set()).add(j)

    def supply(self, j: int) -> None:
        """Serve node j: by one neighbour if one can, by several, else by making others change."""
        self.given.setdefault(j, {})
        regular = [int(i) for i in self.neighbours(j) if self.capacity[i] > 0]
        able = [i for i in regular if self.capacity[i] >= self.demand[j]]
        if able:
            i = min(able, key=lambda i: (-self.capacity[i], self.degree[i], i))
            regular = [i]
        for i in sorted(regular, key=lambda i: -self.capacity[i]):
            amount = min(int(self.capacity[i]), self.lack(j))
            if amount > 0:
                self._give(i, j, amount)
                self.capacity[i] -= amount
        while self.lack(j) > 0 and self._augment(j):
            pass

    def _augment(self, j: int) -> bool:
        """One unit more for j along a path of supplies passed on; False when there is none."""
        reached_from: dict[int, int] = {}  # regular node -> needy node it would serve
        gives_up: dict[int, int] = {}  # needy node -> regular node it would leave for another
        queue = [j]
        for needy in queue:
            for i in map(int, self.neighbours(needy)):
                if self.needy[i] or i in reached_from or self.graph.size[i] == 0:
                    continue
                reached_from[i] = needy
                if self.capacity[i] > 0:
                    self.capacity[i] -= 1
                    while True:  # back along the path
                        served = reached_from[i]
                        self._give(i, served, 1)
                        if served == j:
                            return True
                        i = gives_up[served]
                        self._give(i, served, -1)
                for other in sorted(self.taken.get(i, ())):
                    if other != j and other not in gives_up:
                        gives_up[other] = i
                        queue.append(other)
        return False


def _merged(groups: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Groups without a common member: those that share one become one."""
    graph = nx.Graph()
    for group in groups:
        nx.add_path(graph, group)
    return sorted(tuple(sorted(part)) for part in nx.connected_components(graph))


def _join_short(graph: BlockGraph, demand: Ints, short: list[int]) -> list[tuple[int, ...]]:
    """Pairs of adjacent empty nodes of one size, as many as there can be."""
    empty = [j for j in short if demand[j] == graph.size[j]]
    among = nx.Graph()
    for j in empty:
        row = graph.neighbor[graph.neighbor_start[j] : graph.neighbor_start[j + 1]]
        among.add_edges_from((j, int(i)) for i in row if graph.size[i] == graph.size[j])
    among = among.subgraph(empty)
    pairs = nx.max_weight_matching(among, maxcardinality=True)
    return sorted((min(pair), max(pair)) for pair in pairs)
