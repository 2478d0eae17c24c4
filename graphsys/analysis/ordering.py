"""Elimination orders of a graph: depth-first, minimum degree, nested dissection, or as given."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from graphsys.analysis.pivot_supply import Precedence
from graphsys.errors import UnknownNodeError
from graphsys.kernels.analysis.dissection import DISSECTION_ROWS, dissect
from graphsys.kernels.analysis.elimination import defer, number_by_levels
from graphsys.kernels.analysis.minimum_degree import ORDER_ROWS, order_by_degree, order_by_depth
from graphsys.matrix.graph import BlockGraph, distinct

Ints = npt.NDArray[np.int64]

#: Orderings that `analyze` knows by name.
NAMES = ("auto", "dfs", "amd", "nd")
#: Separators that METIS finds at every step, of which it takes the best: with one, triangulations
#: of 10,000 points take 1.11 times the operations (docs/benchmark_notes.md, "Orders").
SEPARATORS = 4


#: Nodes of more neighbours than so many square roots of the nodes come last of all: each of their
#: neighbours would visit them. The rule and its number are those of AMD (Amestoy, Davis and Duff,
#: ACM TOMS 30 (2004)). No node has as many in graphs of up to 100 nodes.
DENSE_NODES = 10.0


class Adjacency(NamedTuple):
    """The edges that matter to an elimination, and what its order has to respect.

    Edges to nodes without rows are left out; nodes that share a pivot block are joined to one.

    Attributes
    ----------
    neighbor_start : ndarray of int, shape (n + 1,)
    neighbor : ndarray of int, shape (2 m,)
        Neighbours, ascending within a node.
    weight : ndarray of int, shape (n,)
        Rows of each node.
    waits, release_start, release : ndarray of int
        As in `Precedence`.
    members : ndarray of int, shape (n_nodes,) or None
        Which of these nodes each node of the user's graph went to; None when all stayed alone.
    """

    neighbor_start: Ints
    neighbor: Ints
    weight: Ints
    waits: Ints
    release_start: Ints
    release: Ints
    members: Ints | None


def adjacency(graph: BlockGraph, precedence: Precedence) -> Adjacency:
    """Adjacency of a graph under a precedence."""
    n = graph.size.size
    start, neighbor = graph.neighbor_start, graph.neighbor
    if precedence.joined or np.count_nonzero(graph.size) < n:
        source = np.repeat(np.arange(n), np.diff(start))
        keep = (graph.size[source] > 0) & (graph.size[neighbor] > 0)
        start, neighbor = _lists(source[keep], neighbor[keep], n)
    if not precedence.joined:
        return Adjacency(
            start,
            neighbor,
            graph.size,
            precedence.waits,
            precedence.release_start,
            precedence.release,
            None,
        )
    member = np.arange(n)
    for group in precedence.joined:
        member[list(group)] = group[0]
    kept, member = np.unique(member, return_inverse=True)
    source = member[np.repeat(np.arange(n), np.diff(start))]
    target = member[neighbor]
    keep = source != target
    start, neighbor = _lists(source[keep], target[keep], kept.size)
    supplier = member[np.repeat(np.arange(n), np.diff(precedence.release_start))]
    release_start, release = _lists(supplier, member[precedence.release], kept.size)
    weight = np.bincount(member, graph.size, kept.size).astype(np.int64)
    waits = np.bincount(release, minlength=kept.size).astype(np.int64)
    for table in (weight, waits):
        table.setflags(write=False)
    return Adjacency(start, neighbor, weight, waits, release_start, release, member)


def _lists(source: Ints, target: Ints, n: int) -> tuple[Ints, Ints]:
    """Ascending lists of the distinct targets of each source."""
    keys = distinct(source * n + target)
    start = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(keys // max(n, 1), minlength=n), out=start[1:])
    found = keys % max(n, 1)
    for table in (start, found):  # a kernel is compiled for each kind of array
        table.setflags(write=False)
    return start, found


def node_edges(
    graph: BlockGraph, precedence: Precedence, edges: Adjacency, last: Ints
) -> tuple[Ints, Ints]:
    """Adjacency of the user's nodes, those that stay together in an order joined by edges.

    Parameters
    ----------
    graph : BlockGraph
    precedence : Precedence
    edges : Adjacency
    last : ndarray of int
        Nodes at the end of the order, in that order: a path through them keeps them there.

    Returns
    -------
    neighbor_start, neighbor : ndarray of int
    """
    if edges.members is None and last.size < 2:
        return edges.neighbor_start, edges.neighbor
    source = np.repeat(np.arange(graph.size.size), np.diff(graph.neighbor_start))
    target = graph.neighbor
    keep = (graph.size[source] > 0) & (graph.size[target] > 0)
    groups = [(i, j) for group in precedence.joined for i in group for j in group if i != j]
    more = np.array(groups, np.int64).reshape(-1, 2)
    return _lists(
        np.concatenate((source[keep], more[:, 0], last[:-1], last[1:])),
        np.concatenate((target[keep], more[:, 1], last[1:], last[:-1])),
        graph.size.size,
    )


def with_last(last: Ints, order: Ints) -> Ints:
    """The order with some nodes moved to its end; nothing else changes.

    Parameters
    ----------
    last : ndarray of int
        Nodes to move.
    order : ndarray of int, shape (n,)

    Returns
    -------
    ndarray of int, shape (n,)
    """
    if not last.size:
        return order
    moved = np.isin(order, last)
    return np.concatenate((order[~moved], order[moved]))


def order_by_name(name: str, edges: Adjacency, last: Ints) -> Ints:
    """Elimination order by a named method.

    Parameters
    ----------
    name : {"dfs", "amd", "nd"}
        The paper's depth-first search; approximate minimum degree; nested dissection by level sets.
    edges : Adjacency
    last : ndarray of int
        Nodes to eliminate after all others.

    Returns
    -------
    ndarray of int, shape (n,)
        Nodes of the user's graph in elimination order; a node that waits comes after its suppliers.
    """
    n = edges.weight.size
    start, neighbor = edges.neighbor_start, edges.neighbor
    if name == "dfs":
        order, work = np.empty(n, np.int64), np.empty((5, n), np.int64)
        releases = edges.release_start, edges.release
        order_by_depth(start, neighbor, edges.waits, *releases, work, order)
    elif name == "amd":
        order = _by_degree(edges, last)
    else:
        order = _deferred(edges, _by_level_sets(edges, _by_degree(edges, last)))
    return _by_nodes(edges, last, order)


def order_by_metis(edges: Adjacency, last: Ints) -> Ints:
    """Elimination order by METIS' nested dissection (pymetis), as from `order_by_name`."""
    return _by_nodes(edges, last, _deferred(edges, _by_metis(edges)))


def _by_degree(edges: Adjacency, last: Ints) -> Ints:
    """Approximate minimum degree."""
    n, waits = edges.weight.size, edges.waits
    if last.size:
        waits = waits.copy()
        waits[last if edges.members is None else edges.members[last]] += 1  # nobody comes
        waits.setflags(write=False)
    if n > DENSE_NODES**2:
        dense = np.diff(edges.neighbor_start) > DENSE_NODES * n**0.5
        dense &= np.diff(edges.release_start) == 0  # a supplier comes before those that wait
        if 0 < np.count_nonzero(dense) <= n**0.5:  # of many, the order matters
            kept = np.flatnonzero(~dense)
            order = _by_degree(_without(edges._replace(waits=waits), dense), last[:0])
            return np.concatenate([kept[order], np.flatnonzero(dense)])
    order, work = np.empty(n, np.int64), np.empty((ORDER_ROWS, n), np.int64)
    starts, head = np.empty((2, n + 1), np.int64), np.empty(int(edges.weight.sum()) + 1, np.int64)
    lists = np.empty(5 * edges.neighbor.size + edges.release.size, np.int64)
    order_by_degree(
        edges.neighbor_start, edges.neighbor, edges.weight, waits, edges.release_start,
        edges.release, work, starts, head, lists, order,
    )  # fmt: skip
    return order


def _without(edges: Adjacency, dropped: npt.NDArray[np.bool_]) -> Adjacency:
    """The graph without some nodes, which supply nobody."""
    kept = np.flatnonzero(~dropped)
    number = np.cumsum(~dropped) - 1
    lists = []
    for start, other in (
        (edges.neighbor_start, edges.neighbor),
        (edges.release_start, edges.release),
    ):
        node = np.repeat(np.arange(dropped.size), np.diff(start))
        stays = ~(dropped[node] | dropped[other])
        count = np.bincount(number[node[stays]], minlength=kept.size)
        lists += [np.concatenate([[0], np.cumsum(count)]), number[other[stays]]]
    tables = *lists[:2], edges.weight[kept], edges.waits[kept], *lists[2:]
    for table in tables:
        table.setflags(write=False)
    return edges._replace(
        neighbor_start=tables[0], neighbor=tables[1], weight=tables[2], waits=tables[3],
        release_start=tables[4], release=tables[5], members=None,
    )  # fmt: skip


def _deferred(edges: Adjacency, found: Ints) -> Ints:
    """The order with nodes that wait after their suppliers."""
    if not edges.release.size:
        return found
    order, work = np.empty_like(found), np.empty_like(found)
    defer(found, edges.waits.copy(), edges.release_start, edges.release, work, order)
    return order


def _by_nodes(edges: Adjacency, last: Ints, order: Ints) -> Ints:
    """An order of the nodes of `edges` as one of the user's nodes, some moved to its end."""
    if edges.members is not None:
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        order = np.argsort(place[edges.members], kind="stable")
    return with_last(last, order)


def _by_level_sets(edges: Adjacency, before: Ints) -> Ints:
    """Nested dissection by level sets, separators and small regions in the order `before`."""
    n = edges.weight.size
    levels, position, start, neighbor = _numbered(edges)
    rows, lists = np.empty((DISSECTION_ROWS, n + 2), np.int64), np.empty_like(neighbor)
    found, real = np.empty(n, np.int64), np.empty(n)
    dissect(start, neighbor, edges.weight[levels], position[before], rows, lists, real, found)
    return levels[found]


def _by_metis(edges: Adjacency) -> Ints:
    """Nested dissection by METIS, whose separators have few rows, not few nodes.

    That takes 0.3 to 0.7 of the operations of grids with blocks of 1 to 12 rows at random.
    """
    import pymetis

    if edges.neighbor.size == 0:
        return np.arange(edges.weight.size)
    levels, _, *pattern = _numbered(edges)
    options = pymetis.Options()
    options.seed, options.nseps = 0, SEPARATORS
    weight = edges.weight[levels] if edges.weight.min() < edges.weight.max() else None
    order, _ = pymetis.nested_dissection(
        pymetis.CSRAdjacency(*pattern), vweights=weight, options=options
    )
    return levels[np.asarray(order, np.int64)]


def _numbered(edges: Adjacency) -> tuple[Ints, Ints, Ints, Ints]:
    """Nodes in breadth-first order, places in it, lists: hardly any two labellings differ then."""
    key, levels, position = np.empty((3, edges.weight.size), np.int64)
    start, neighbor = np.empty_like(edges.neighbor_start), np.empty_like(edges.neighbor)
    waiting, lists = edges.release.size > 0, (edges.neighbor_start, edges.neighbor)
    number_by_levels(*lists, waiting, key, levels, position, start, neighbor)
    return levels, position, start, neighbor


def order_as_given(labels: Sequence[Hashable], graph: BlockGraph) -> Ints:
    """Elimination order from a sequence of all labels.

    Parameters
    ----------
    labels : sequence of hashable, length n
    graph : BlockGraph

    Returns
    -------
    ndarray of int, shape (n,)

    Raises
    ------
    UnknownNodeError
        If a label is not a node of the graph.
    ValueError
        If a node is missing or given twice.
    """
    try:
        order = np.array([graph.index[label] for label in labels], np.int64)
    except KeyError as error:
        (label,) = error.args
        raise UnknownNodeError(
            f"ordering names {label!r}, which is not a node of the graph"
        ) from None
    except TypeError:  # an unhashable label
        order = np.array(graph.nodes(labels), np.int64)
    seen = np.bincount(order, minlength=len(graph.labels))
    if (seen != 1).any():
        at = int(np.flatnonzero(seen != 1)[0])
        what = "is missing from" if seen[at] == 0 else "occurs twice in"
        raise ValueError(f"node {graph.labels[at]!r} {what} the ordering; give every node once")
    return order
