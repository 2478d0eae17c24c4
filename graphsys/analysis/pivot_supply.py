"""Precedence of nodes with singular diagonal blocks: neighbours that supply their pivots.

A node whose diagonal block is singular by structure can be eliminated only after neighbours have
filled it. An integer flow decides after which: every such node demands the rows it lacks, every
other node supplies up to its size, and a node waits for those that supply it. Nodes that find no
supplier join a neighbour in the same need: such a pair shares a pivot block, like a 2 x 2 pivot.
"""

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import numpy.typing as npt

from graphsys.analysis.matching import structural_rank
from graphsys.errors import UnknownNodeError
from graphsys.kernels.analysis.pivot_supply import lacking_rows, release_lists, supply
from graphsys.kernels.single.matrix import absolute_sums
from graphsys.matrix.equilibration import Scaling
from graphsys.matrix.graph import BlockGraph

Ints = npt.NDArray[np.int64]

#: Pivots smaller than this relative to row and column, in the equilibrated matrix, wait for a
#: neighbour: eliminated first, they would let the others grow by its inverse (tests/fuzz).
WEAK = 1e-4
#: Rows of a node beyond which definite blocks are cut. Chains of 24 and 40 rows are factorized in
#: 0.4 of the time, solves take 0.8 to 1.0; with 9 to 16 rows 0.8, and solves up to 1.2.
WIDE = 16
#: No nodes.
NONE, NOTHING = np.zeros(0, np.int64), np.zeros(0, np.bool_)
NONE.setflags(write=False)
NOTHING.setflags(write=False)


class Precedence(NamedTuple):
    """Constraints on an elimination order: nodes that wait for others.

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
    needy : ndarray of bool, shape (n,)
        Nodes that lack rows, and those whose pivot failed before.
    joined : tuple of tuple of int
        Groups of nodes that share a pivot block.
    short : ndarray of int
        Nodes whose demand no neighbours can meet: redundant by structure.
    cut : ndarray of bool, shape (n,) or (0,)
        Nodes that may have several pivot blocks; without entries where none may.
    """

    demand: Ints
    waits: Ints
    release_start: Ints
    release: Ints
    needy: npt.NDArray[np.bool_]
    joined: tuple[tuple[int, ...], ...]
    short: Ints
    cut: npt.NDArray[np.bool_] = NOTHING


def missing_rank(graph: BlockGraph, values: npt.NDArray[np.generic]) -> Ints:
    """Rows that each diagonal block lacks to be regular.

    A block lacks rows by structure where its zeros leave no pivot in them, and numerically where it
    is next to singular relative to the rest of the matrix.

    Parameters
    ----------
    graph : BlockGraph
    values : ndarray, shape (graph.nnz,)
        Blocks; a matrix of zeros alone counts as not yet known, and lacks nothing.

    Returns
    -------
    ndarray of int, shape (n,)
        Size minus structural rank (the largest matching of nonzero entries), or minus the number of
        singular values of the equilibrated block that are above `WEAK`, whichever is larger.
    """
    size, demand = graph.size, np.empty_like(graph.size)
    sums = np.empty(graph.rows, values.real.dtype)
    if lacking_rows(*graph.tables(), values, WEAK, sums, demand) == 0:  # most matrices
        return demand
    node = np.repeat(np.arange(size.size), size)
    place = np.arange(node.size) - graph.row_start[node]
    diagonal = np.abs(values[graph.diagonal_at[node] + place * (size[node] + 1)])
    weak = _weak_rows(graph, values, diagonal)
    suspects = np.unique(node[(diagonal == 0) | weak])
    nonzero = suspects[demand[suspects] == 0]
    from scipy.sparse import csr_array

    scaled: npt.NDArray[Any] = values
    if weak.any():
        scaled = Scaling.of_sweeps(graph, values).matrix(values)
    with_zeros = np.zeros(size.size, np.bool_)
    with_zeros[node[diagonal == 0]] = True
    for i in nonzero[with_zeros[nonzero]].tolist():
        d, at = int(size[i]), int(graph.diagonal_at[i])
        demand[i] = d - structural_rank(csr_array(values[at : at + d * d].reshape(d, d) != 0))
    with_weak = np.zeros(size.size, np.bool_)
    with_weak[node[weak]] = True
    for d in np.unique(size[nonzero]).tolist():
        mine = nonzero[with_weak[nonzero] & (size[nonzero] == d)]
        blocks = scaled[graph.diagonal_at[mine, None] + np.arange(d * d)].reshape(-1, d, d)
        lacking = (np.linalg.svd(blocks, compute_uv=False) < WEAK).sum(axis=1)
        demand[mine] = np.maximum(demand[mine], lacking)
    return demand


def _weak_rows(
    graph: BlockGraph, values: npt.NDArray[np.generic], diagonal: npt.NDArray[np.floating[Any]]
) -> npt.NDArray[np.bool_]:
    """Rows whose diagonal entry, not zero, is tiny relative to both its row and its column."""
    sums = np.empty((2, graph.rows), values.real.dtype)
    for transposed in (False, True):  # hardly any matrix needs the second, slower pass
        absolute_sums(*graph.tables(), values, transposed, sums[int(transposed)])
        if not transposed and not ((diagonal > 0) & (diagonal < WEAK * sums[0])).any():
            return np.zeros(graph.rows, np.bool_)
    if not np.isfinite(sums).all():  # what overflows, or is no number, is found by others
        return np.zeros(graph.rows, np.bool_)
    bound = np.minimum(sums[0], sums[1])
    weak: npt.NDArray[np.bool_] = (diagonal > 0) & (diagonal < WEAK * bound)
    return weak


def cut_nodes(
    graph: BlockGraph, values: npt.NDArray[np.generic], demand: Ints
) -> npt.NDArray[np.bool_]:
    """Nodes of a symmetric graph whose pivots need no exchange between parts of their rows.

    Where nodes lack rows, so that solves refine: those that lack all, which neighbours fill in, and
    those without zeros on the diagonal. Elsewhere wide nodes with definite blocks.

    Parameters
    ----------
    graph : BlockGraph
    values : ndarray, shape (graph.nnz,)
    demand : ndarray of int, shape (n,)
        From `missing_rank`.

    Returns
    -------
    ndarray of bool, shape (n,), or (0,) if there are none
    """
    if np.count_nonzero(demand) > 0:
        node = np.repeat(np.arange(graph.size.size), graph.size)
        place = np.arange(node.size) - graph.row_start[node]
        zero = values[graph.diagonal_at[node] + place * (graph.size[node] + 1)] == 0
        zeros = np.bincount(node, zero, graph.size.size)
        cut: npt.NDArray[np.bool_] = (demand == graph.size) | (zeros == 0)
    elif graph.size.max(initial=0) > WIDE and np.count_nonzero(values) > 0:
        cut = np.array([_is_definite(graph, values, i) for i in range(graph.size.size)])
    else:
        return NOTHING
    cut.setflags(write=False)
    return cut


def _is_definite(graph: BlockGraph, values: npt.NDArray[np.generic], i: int) -> bool:
    """True if a diagonal block has more than `WIDE` rows and a Cholesky factor, or minus it has."""
    size, at = int(graph.size[i]), int(graph.diagonal_at[i])
    if size <= WIDE:
        return False
    block: npt.NDArray[Any] = values[at : at + size * size].reshape(size, size)
    try:
        np.linalg.cholesky(block if block[0, 0].real > 0 else -block)
    except np.linalg.LinAlgError:
        return False
    return True


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
        If `zero_diagonal` names no node.
    """
    if zero_diagonal is not None:
        demand = np.zeros(graph.size.size, np.int64)
        for label in zero_diagonal:
            try:
                i = graph.index[label]
            except (KeyError, TypeError):  # TypeError: an unhashable label
                raise UnknownNodeError(
                    f"zero_diagonal names {label!r}, which is not a node"
                ) from None
            demand[i] = graph.size[i]
        return demand
    return np.zeros(graph.size.size, np.int64) if values is None else missing_rank(graph, values)


def find_precedence(
    graph: BlockGraph,
    demand: Ints,
    after_all: frozenset[int] = frozenset(),
) -> Precedence:
    """Suppliers of every node that lacks rows.

    Parameters
    ----------
    graph : BlockGraph
    demand : ndarray of int, shape (n,)
        From `missing_rank`.
    after_all : frozenset of int, optional
        Nodes that wait for all their neighbours: those whose pivot failed before.

    Returns
    -------
    Precedence
    """
    n = graph.size.size
    if not after_all and np.count_nonzero(demand) == 0:  # most matrices
        none = np.zeros(n + 1, np.int64)
        none.setflags(write=False)  # a kernel is compiled for each kind of array
        return Precedence(none[:n], none[:n], none, NONE, np.zeros(n, np.bool_), (), NONE)
    needy = demand > 0
    needy[list(after_all)] = True
    supplier, served, lack = _supplied(graph, demand, needy)
    short, joined = NONE, tuple[tuple[int, ...], ...]()
    if lack.size or after_all:
        joined = tuple(_join_short(graph, demand, lack.tolist()))
        inside = {j for group in joined for j in group}
        short = np.array([j for j in lack.tolist() if j not in inside], np.int64)
        awaited = _awaited(graph, supplier, served, {*short.tolist(), *after_all}, joined)
        keep = ~np.isin(served, list(awaited))
        new = [(i, j) for j, suppliers in awaited.items() for i in suppliers]
        more = np.array(new, np.int64).reshape(-1, 2).T
        supplier, served = np.append(supplier[keep], more[0]), np.append(served[keep], more[1])
    waits, release_start = np.empty(n, np.int64), np.empty(n + 1, np.int64)
    work, release = np.empty(n, np.int64), np.empty_like(served)
    release_lists(supplier, served, work, np.empty_like(served), waits, release_start, release)
    for table in (waits, release_start, release):
        table.setflags(write=False)
    return Precedence(demand, waits, release_start, release, needy, joined, short)


def _awaited(
    graph: BlockGraph,
    supplier: Ints,
    served: Ints,
    last: set[int],
    joined: tuple[tuple[int, ...], ...],
) -> dict[int, list[int]]:
    """Suppliers of the nodes that come after their neighbours, or share a pivot block.

    Groups that would wait for each other do not wait for each other at all.
    """
    awaited: dict[int, set[int]] = {}
    for j in sorted(last):  # after all neighbours that do not wait for as much themselves
        row = graph.neighbor[graph.neighbor_start[j] : graph.neighbor_start[j + 1]]
        awaited[j] = set(row.tolist()) - last
    for group in joined:  # whoever one of a group waits for, all do
        of_flow = set(supplier[np.isin(served, [j for j in group if j not in last])].tolist())
        together = of_flow.union(*(awaited.get(j, set()) for j in group)) - set(group)
        awaited.update((j, together) for j in group)
    knot = _knots(awaited, joined)
    return {
        j: sorted(i for i in suppliers if i not in knot or knot[i] != knot.get(j))
        for j, suppliers in awaited.items()
    }


def _knots(awaited: dict[int, set[int]], joined: tuple[tuple[int, ...], ...]) -> dict[int, int]:
    """Nodes that wait for each other, groups taken as one node: the number of their knot."""
    member = {j: group[0] for group in joined for j in group}
    waits = nx.DiGraph()
    for j, suppliers in awaited.items():
        waits.add_edges_from((member.get(j, j), member.get(i, i)) for i in suppliers)
    knots = [part for part in nx.strongly_connected_components(waits) if len(part) > 1]
    of_group = {i: number for number, part in enumerate(knots) for i in part}
    nodes = {*awaited, *member, *of_group}
    return {j: of_group[member.get(j, j)] for j in nodes if member.get(j, j) in of_group}


def _supplied(
    graph: BlockGraph, demand: Ints, needy: npt.NDArray[np.bool_]
) -> tuple[Ints, Ints, Ints]:
    """Pairs (supplier, served) as two arrays of nodes, and the nodes without enough suppliers."""
    n = demand.size
    by_node, lacking = np.empty((4, n + 1), np.int64), np.empty(n, np.int64)
    supplier, served, amount = np.empty((3, graph.neighbor.size), np.int64)
    found = supply(
        graph.neighbor_start, graph.neighbor, graph.size, demand, needy,
        by_node, lacking, supplier, served, amount,
    )  # fmt: skip
    supplier, served = supplier[:found], served[:found]
    lack = np.flatnonzero(lacking)
    if lack.size:
        flow = _Flow(graph, needy, by_node[0], supplier, served, amount[:found])
        lack = np.array(
            [j for j in lack.tolist() if not flow.augment(j, int(lacking[j]))], np.int64
        )
        supplier, served = flow.pairs()
    return supplier, served, lack


class _Flow:
    """Integer flow from regular nodes to the needy ones among their neighbours."""

    def __init__(
        self,
        graph: BlockGraph,
        needy: npt.NDArray[np.bool_],
        capacity: Ints,
        supplier: Ints,
        served: Ints,
        amount: Ints,
    ) -> None:
        self.graph, self.capacity = graph, capacity.tolist()
        self.given: dict[int, dict[int, int]] = {}
        self.taken: dict[int, set[int]] = {}
        # Nodes that supply nothing, and regular ones from which no path leads to spare capacity.
        self.closed = set(np.flatnonzero(needy | (graph.size == 0)).tolist())
        for i, j, some in zip(supplier.tolist(), served.tolist(), amount.tolist(), strict=True):
            self._give(i, j, some)

    def pairs(self) -> tuple[Ints, Ints]:
        """Pairs of a supplier and the node it serves, as two arrays."""
        pairs = [(i, j) for j, given in self.given.items() for i in given]
        supplier, served = np.array(pairs, np.int64).reshape(-1, 2).T
        return supplier, served

    def _give(self, i: int, j: int, amount: int) -> None:
        given = self.given.setdefault(j, {})
        after = given.get(i, 0) + amount
        if after == 0:
            del given[i]
            self.taken[i].discard(j)
        else:
            given[i] = after
            self.taken.setdefault(i, set()).add(j)

    def augment(self, j: int, lack: int) -> bool:
        """Serve what node j still lacks by making others change; False where that is not enough."""
        return all(self._augment(j) for _ in range(lack))

    def _augment(self, j: int) -> bool:
        """One unit more for j along a path of supplies passed on; False when there is none."""
        reached_from: dict[int, int] = {}  # regular node -> needy node it would serve
        gives_up: dict[int, int] = {}  # needy node -> regular node it would leave for another
        queue = [j]
        for needy in queue:
            first, after = self.graph.neighbor_start[needy : needy + 2]
            for i in self.graph.neighbor[first:after].tolist():
                if i in reached_from or i in self.closed:
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
        self.closed.update(reached_from)
        return False


def _join_short(graph: BlockGraph, demand: Ints, short: list[int]) -> list[tuple[int, ...]]:
    """Pairs of adjacent empty nodes of one size; who has the fewest such neighbours begins.

    Some nodes may be left alone that a maximum matching would pair: their pivots are delayed.
    """
    empty = {j for j in short if demand[j] == graph.size[j]}
    options = {}
    for j in empty:
        row = graph.neighbor[graph.neighbor_start[j] : graph.neighbor_start[j + 1]].tolist()
        options[j] = [i for i in row if i in empty and graph.size[i] == graph.size[j]]
    found: list[tuple[int, ...]] = []
    taken: set[int] = set()
    for j in sorted(options, key=lambda j: (len(options[j]), j)):
        free = [i for i in options[j] if i not in taken]
        if j not in taken and free:
            i = min(free, key=lambda i: (len(options.get(i, ())), i))
            taken.update((i, j))
            found.append((min(i, j), max(i, j)))
    return sorted(found)
