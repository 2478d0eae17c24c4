"""Backend of networkx: resistances, spanning trees and current-flow centralities by sparse solves.

Functions have the arguments and results of the networkx functions of their names. All are
quantities of the Laplacian with one node grounded, ``S = L_g^-1``: some solves, and the diagonal
of S by a selected inverse, where networkx inverts a dense matrix.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import chain
from typing import Any

import networkx as nx
import numpy as np
from networkx.utils import reverse_cuthill_mckee_ordering
from numpy.typing import NDArray

from graphsys.analysis.cycles import connected_components
from graphsys.factor import Factor
from graphsys.system import System

__all__ = ["Backend", "ConvertedGraph", "backend", "edge_resistance"]

Float = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Right-hand sides of one solve: 256 columns of 10^5 nodes are 200 MB.
COLUMNS = 256


class ConvertedGraph:
    """Graph of networkx as the functions of this backend take it.

    Parameters
    ----------
    graph : networkx.Graph
    """

    __networkx_backend__ = "graphsys"

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    def is_directed(self) -> bool:
        """True for a directed graph."""
        return bool(self.graph.is_directed())

    def is_multigraph(self) -> bool:
        """True for a graph with parallel edges."""
        return bool(self.graph.is_multigraph())


class Grounded:
    """Laplacian of a graph with its first node grounded, factorized.

    Parameters
    ----------
    nodes : list of hashable
        Order of the nodes; the first one is grounded.
    i, j : ndarray of int, shape (m,)
        Ends of all edges but loops, by number; from i to j if the graph is directed.
    conductance : ndarray, shape (m,)
        Those of parallel edges are summed.
    directed : bool, optional
        Whether the diagonal has the sums of incoming edges only.

    Raises
    ------
    DisconnectedError
        If the edges do not connect the graph.
    """

    def __init__(
        self, nodes: list[Hashable], i: Ints, j: Ints, conductance: Float, directed: bool = False
    ) -> None:
        self.nodes, self.i, self.j, self.conductance = nodes, i, j, conductance
        self.factor: Factor | None = None
        n = len(nodes)
        if n == 1:
            return
        degree = np.bincount(j, conductance, n)
        inner = (i > 0) & (j > 0)
        u, v, c = i[inner] - 1, j[inner] - 1, conductance[inner]
        one_each = np.ones(n - 1, np.int64)
        system = System.from_edges(u, v, one_each, symmetric=not directed)
        graph, values = system.graph, system.values
        part = connected_components(graph)
        grounded = np.zeros(part.max() + 1, np.bool_)
        grounded[part[np.concatenate([j[i == 0], i[j == 0]]) - 1]] = True
        if not grounded.all():
            raise DisconnectedError
        np.subtract.at(values, graph.blocks_at(u, v), c)
        if not directed:
            degree += np.bincount(i, conductance, n)
            np.subtract.at(values, graph.blocks_at(v, u), c)
        values[graph.diagonal_at] = degree[1:]
        # one factorization does not repay the time of nested dissection
        self.factor = system.factorize(system.analyze("amd"))

    def solve(self, b: Float) -> Float:
        """Potentials of currents b, shape (n,) or (n, k); 0 at the first node."""
        x = np.zeros_like(b)
        if self.factor is not None:
            x[1:] = self.factor.solve(np.ascontiguousarray(b[1:]))
        return x

    def diagonal(self) -> Float:
        """Diagonal of S, shape (n,)."""
        found = np.zeros(len(self.nodes))
        if self.factor is not None:
            graph = self.factor.graph
            found[1:] = self.factor.selected_inverse().values[graph.diagonal_at]
        return found

    def edges(self) -> tuple[Ints, Ints, Float]:
        """Ends i < j of all edges, sorted, and their conductances; parallel ones are one."""
        n = len(self.nodes)
        ends = np.minimum(self.i, self.j) * n + np.maximum(self.i, self.j)
        ends, which = np.unique(ends, return_inverse=True)
        summed = np.asarray(np.bincount(which, self.conductance, ends.size), float)
        return ends // n, ends % n, summed

    def currents(self) -> Iterator[tuple[slice, Float]]:
        """Rows of the current-flow matrix, edge by edge: c (S_i - S_j), shape (edges, n)."""
        i, j, c = self.edges()
        for start in range(0, i.size, COLUMNS):
            part = slice(start, min(start + COLUMNS, i.size))
            b, k = np.zeros((len(self.nodes), part.stop - start)), np.arange(part.stop - start)
            b[i[part], k] += c[part]
            b[j[part], k] -= c[part]
            yield part, self.solve(b).T


class DisconnectedError(Exception):
    """No current flows between some nodes."""


def _grounded(
    G: Any, weight: Any, invert: bool = False, order: Any = None, apart: str = ""
) -> Grounded:
    """Grounded Laplacian of a graph; NetworkXError ``apart`` if it is not connected."""
    nodes = list(G) if order is None else list(order)
    if not nodes:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    index = dict(zip(nodes, range(len(nodes)), strict=True))
    neighbors = [dict(found) for _, found in G.adjacency()]
    j = np.fromiter(map(index.__getitem__, chain.from_iterable(neighbors)), np.int64)
    i = np.repeat([index[node] for node in G], list(map(len, neighbors)))
    attributes = [given for found in neighbors for given in found.values()]
    if G.is_multigraph():
        i, j = (np.repeat(ends, list(map(len, attributes))) for ends in (i, j))
        attributes = [given for several in attributes for given in several.values()]
    once = i != j if G.is_directed() else i < j
    c = np.ones(i.size)
    if weight:
        c = np.array([given.get(weight, 1) for given in attributes], float)
    i, j, c = i[once], j[once], c[once]
    if weight and invert:
        c = np.array([1 / resistance for resistance in c.tolist()])
    if not np.isfinite(c).all():
        k = int(np.flatnonzero(~np.isfinite(c))[0])
        raise nx.NetworkXError(f"weight of edge ({nodes[i[k]]!r}, {nodes[j[k]]!r}) is not finite")
    carries = c != 0
    if not carries.all():
        apart = apart and "edges of weight 0 carry no current, and without them G falls apart"
        i, j, c = i[carries], j[carries], c[carries]
    try:
        return Grounded(nodes, i, j, c, G.is_directed())
    except DisconnectedError:
        if apart:
            raise nx.NetworkXError(apart) from None
        raise


def edge_resistance(
    G: Any, weight: Any = None, invert_weight: bool = True, *, ebunch: Any = None
) -> dict[tuple[Hashable, Hashable], float]:
    """Resistance distance between the ends of every edge, or of other pairs of nodes.

    All edges together cost one selected inverse; each other pair costs a solve.

    Parameters
    ----------
    G : networkx.Graph
        Connected.
    weight : str, optional
        Edge attribute; by default all weights are 1.
    invert_weight : bool, optional
        True if the attribute is a resistance, False if it is a conductance.
    ebunch : iterable of (node, node), optional
        Pairs of nodes, adjacent or not; by default all edges.

    Returns
    -------
    dict of (node, node) to float
        By pair of ``ebunch``, or by edge of ``G.edges()`` without self-loops.

    Raises
    ------
    networkx.NetworkXError
        If G is empty, directed or not connected, or a node of a pair is not in G.
    """
    G = G.graph if isinstance(G, ConvertedGraph) else G
    if not isinstance(weight, Hashable):
        raise TypeError("weight is the name of an edge attribute; pairs of nodes are ebunch=...")
    if len(G) == 0:
        raise nx.NetworkXError("Graph G must contain at least one node.")
    if G.is_directed():
        raise nx.NetworkXError("resistances are of undirected graphs; use G.to_undirected()")
    apart = "Graph G must be connected."
    one = _grounded(G, weight, invert_weight and weight is not None, apart=apart)
    if ebunch is not None:
        return _pair_resistance(one, [tuple(pair) for pair in ebunch])
    if one.factor is None:
        return {}
    S, graph = one.factor.selected_inverse().values, one.factor.graph
    diagonal = np.concatenate([[0.0], S[graph.diagonal_at]])
    index = {node: k for k, node in enumerate(one.nodes)}
    pairs = [(u, v) for u, v in G.edges() if u != v]
    i, j = np.array([(index[u], index[v]) for u, v in pairs], np.int64).reshape(-1, 2).T
    inside = (i > 0) & (j > 0)
    across = np.zeros(i.size)
    across[inside] = S[graph.blocks_at(i[inside] - 1, j[inside] - 1)]
    return dict(zip(pairs, (diagonal[i] + diagonal[j] - 2.0 * across).tolist()))


def _pair_resistance(one: Grounded, pairs: list[Any]) -> dict[tuple[Hashable, Hashable], float]:
    """Resistance distances of pairs of nodes, in portions of solves."""
    index, found = {node: k for k, node in enumerate(one.nodes)}, np.zeros(len(pairs))
    for pair in pairs:
        if len(pair) != 2 or not all(node in index for node in pair):
            raise nx.NetworkXError(f"{pair!r} is not a pair of nodes of G")
    ends = np.array([(index[u], index[v]) for u, v in pairs], np.int64).reshape(-1, 2)
    for start in range(0, len(pairs), COLUMNS):
        i, j = ends[start : start + COLUMNS].T
        b, k = np.zeros((len(one.nodes), i.size)), np.arange(i.size)
        b[i, k] += 1.0
        b[j, k] -= 1.0
        x = one.solve(b)
        found[start : start + COLUMNS] = x[i, k] - x[j, k]
    return dict(zip(pairs, found.tolist()))


def resistance_distance(
    G: Any, nodeA: Any = None, nodeB: Any = None, weight: Any = None, invert_weight: bool = True
) -> Any:
    """Resistance distance of two nodes, of one to all, or of all to all."""
    G = G.graph
    if len(G) == 0:
        raise nx.NetworkXError("Graph G must contain at least one node.")
    for node, name in ((nodeA, "A"), (nodeB, "B")):
        if node is not None and node not in G:
            raise nx.NetworkXError(f"Node {name} is not in graph G.")
    apart = "Graph G must be strongly connected."
    one = _grounded(G, weight, invert_weight and weight is not None, apart=apart)
    n, index = len(one.nodes), {node: k for k, node in enumerate(one.nodes)}
    if nodeA is not None and nodeB is not None:
        b = np.zeros(n)
        b[index[nodeA]] += 1.0
        b[index[nodeB]] -= 1.0
        x = one.solve(b)
        return float(x[index[nodeA]] - x[index[nodeB]])
    diagonal = one.diagonal()
    if nodeA is not None or nodeB is not None:
        k = index[nodeB if nodeA is None else nodeA]
        column = one.solve(np.eye(n, 1, -k)[:, 0])
        return dict(zip(one.nodes, (diagonal[k] + diagonal - 2.0 * column).tolist()))
    found = {}
    for start in range(0, n, COLUMNS):
        width = min(COLUMNS, n - start)
        rows = one.solve(np.eye(n, width, -start)).T
        for k, row in enumerate(rows, start):
            away = diagonal[k] + diagonal - 2.0 * row
            away[k] = 0.0
            found[one.nodes[k]] = dict(zip(one.nodes, away.tolist()))
    return found


def effective_graph_resistance(G: Any, weight: Any = None, invert_weight: bool = True) -> float:
    """Kirchhoff index: sum of the resistance distances of all pairs of nodes."""
    G = G.graph
    if len(G) == 0:
        raise nx.NetworkXError("Graph G must contain at least one node.")
    try:
        one = _grounded(G, weight, invert_weight and weight is not None)
    except DisconnectedError:
        return float("inf")
    n = len(one.nodes)
    return float(n * one.diagonal().sum() - one.solve(np.ones(n)).sum())


def number_of_spanning_trees(G: Any, *, root: Any = None, weight: Any = None) -> float:
    """Number, or weight, of spanning trees or of arborescences from a root: Kirchhoff's theorem."""
    G = G.graph
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("Graph G must contain at least one node.")
    if not G.is_directed():
        try:
            factor = _grounded(G, weight).factor
        except DisconnectedError:
            return 0.0
        return 1.0 if factor is None else _exp(factor)
    if root is None:
        raise nx.NetworkXError("Input `root` must be provided when G is directed")
    if root not in G:
        raise nx.NetworkXError("The node root is not in the graph G.")
    if len(nx.descendants(G, root)) + 1 < len(G):
        return 0.0
    try:
        factor = _grounded(G, weight, order=[root, *(v for v in G if v != root)]).factor
    except DisconnectedError:
        return 0.0
    return 1.0 if factor is None else _exp(factor)


def _exp(factor: Factor) -> float:
    sign, logarithm = factor.slogdet()
    with np.errstate(over="ignore"):
        return float(sign * np.exp(logarithm))


def current_flow_closeness_centrality(
    G: Any, weight: Any = None, dtype: Any = float, solver: str = "lu"
) -> dict[Hashable, float]:
    """Current-flow closeness, or information centrality, of all nodes."""
    G = G.graph
    one = _grounded(G, weight, apart="Graph not connected.")
    n, diagonal = len(one.nodes), one.diagonal()
    total = n * diagonal - 2.0 * one.solve(np.ones(n)) + diagonal.sum()
    with np.errstate(divide="ignore"):
        return dict(zip(one.nodes, (1.0 / total).tolist()))


def current_flow_betweenness_centrality(
    G: Any, normalized: bool = True, weight: Any = None, dtype: Any = float, solver: str = "full"
) -> dict[Hashable, float]:
    """Current-flow betweenness of all nodes (Brandes and Fleischer 2005)."""
    G = G.graph
    one = _grounded(G, weight, apart="Graph not connected.")
    n = len(one.nodes)
    found, k = np.zeros(n), np.arange(n)
    i, j, _ = one.edges()
    for part, rows in one.currents():
        weighted = (rows * k).sum(axis=1)
        ranked = _ranked(rows)
        np.add.at(found, i[part], weighted - ranked)
        np.add.at(found, j[part], (n - 1) * rows.sum(axis=1) - weighted - ranked)
    scale = (n - 1.0) * (n - 2.0) if normalized else 2.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return dict(zip(one.nodes, ((found - k) * 2.0 / scale).tolist()))


def edge_current_flow_betweenness_centrality(
    G: Any, normalized: bool = True, weight: Any = None, dtype: Any = float, solver: str = "full"
) -> dict[tuple[Hashable, Hashable], float]:
    """Current-flow betweenness of all edges (Brandes and Fleischer 2005)."""
    G = G.graph
    order = reverse_cuthill_mckee_ordering(G)
    one = _grounded(G, weight, order=order, apart="Graph not connected.")
    n = len(one.nodes)
    i, j, _ = one.edges()
    found = np.zeros(i.size)
    for part, rows in one.currents():
        found[part] = (n - 1) * rows.sum(axis=1) - 2.0 * _ranked(rows)
    found /= (n - 1.0) * (n - 2.0) if normalized else 2.0
    keys = zip((one.nodes[k] for k in i), (one.nodes[k] for k in j))
    return dict(zip(keys, found.tolist()))


def _ranked(rows: Float) -> Float:
    """Sum of each row's numbers times their rank, the largest first, from 0."""
    return np.asarray(-np.sort(-rows, axis=1) @ np.arange(rows.shape[1]))


class Backend:
    """Functions that networkx dispatches to, and the conversion of graphs."""

    resistance_distance = staticmethod(resistance_distance)
    effective_graph_resistance = staticmethod(effective_graph_resistance)
    number_of_spanning_trees = staticmethod(number_of_spanning_trees)
    current_flow_closeness_centrality = staticmethod(current_flow_closeness_centrality)
    information_centrality = staticmethod(current_flow_closeness_centrality)
    current_flow_betweenness_centrality = staticmethod(current_flow_betweenness_centrality)
    edge_current_flow_betweenness_centrality = staticmethod(
        edge_current_flow_betweenness_centrality
    )

    @staticmethod
    def convert_from_nx(graph: Any, *arguments: Any, **options: Any) -> ConvertedGraph:
        """Wrap a graph of networkx."""
        return ConvertedGraph(graph)

    @staticmethod
    def convert_to_nx(found: Any, **options: Any) -> Any:
        """Return a result, or the graph that was wrapped."""
        return found.graph if isinstance(found, ConvertedGraph) else found


backend = Backend()
