"""The paper's analysis of a graph: spanning forest, cycles, loop openers, children by kind.

Cycles and loop openers belong to the graph and come from the depth-first search of Bruedigam et
al. (2023), Section 4, whatever order is eliminated in. The children of a node belong to an
elimination order; for the depth-first order both views coincide.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from graphsys.kernels.analysis.elimination import depth_first
from graphsys.matrix.graph import BlockGraph

if TYPE_CHECKING:
    from graphsys.symbolic import Symbolic

Ints = NDArray[np.int64]
Cycle = tuple[Hashable, ...]
Children = dict[Hashable, tuple[Hashable, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class SpanningForest:
    """Depth-first spanning forest of a graph, nodes by index.

    Attributes
    ----------
    parent : ndarray of int, shape (n,)
        -1 at the root of each connected component, its first node.
    lower, upper : ndarray of int, shape (k,)
        The edges outside the forest, each from a node to its ancestor: they close the k loops, and
        the ancestors are the loop openers.
    loop_openers : ndarray of int
        Each loop opener once, ascending.
    n_components : int
        Number of connected components.
    """

    parent: Ints
    lower: Ints
    upper: Ints
    loop_openers: Ints
    n_components: int


def spanning_forest(graph: BlockGraph) -> SpanningForest:
    """Depth-first spanning forest, in linear time."""
    n = graph.size.size
    place, (order, parent) = np.empty(n, np.int64), _searched(graph)
    place[order] = np.arange(n)
    lower = np.repeat(np.arange(n), np.diff(graph.neighbor_start))
    upper = graph.neighbor
    closing = (place[lower] < place[upper]) & (parent[lower] != upper)
    upper = upper[closing]
    components = int(np.count_nonzero(parent == -1))
    return SpanningForest(parent, lower[closing], upper, np.unique(upper), components)


def connected_components(graph: BlockGraph) -> Ints:
    """Connected component of each node, numbered by their first nodes, in linear time."""
    order, parent = _searched(graph)
    found = np.empty_like(order)
    root = parent[order] < 0  # the last one of its component
    found[order] = np.cumsum(root) - root
    return found


def _searched(graph: BlockGraph) -> tuple[Ints, Ints]:
    """Nodes in depth-first order, and the parent of each in that search."""
    n = graph.size.size
    order, parent, place = np.empty((3, n), np.int64)
    depth_first(graph.neighbor_start, graph.neighbor, np.arange(n), place, order, parent)
    return order, parent


def fundamental_cycles(graph: BlockGraph, forest: SpanningForest) -> tuple[Cycle, ...]:
    """One cycle for each edge outside the depth-first spanning forest, by labels.

    Parameters
    ----------
    graph : BlockGraph
    forest : SpanningForest
        Of this graph.

    Returns
    -------
    tuple of tuple of labels
        The loop opener, then the path from its child down to the other end of the edge. Written
        down they take up to k n entries.
    """
    labels, above = graph.labels, forest.parent.tolist()
    cycles = []
    for i, opener in zip(forest.lower.tolist(), forest.upper.tolist(), strict=True):
        path = [i]
        while path[-1] != opener:
            path.append(above[path[-1]])
        cycles.append(tuple(labels[j] for j in reversed(path)))
    return tuple(cycles)


def children_of(symbolic: "Symbolic") -> tuple[Children, Children]:
    """Acyclic and cyclic children of every node in an elimination order.

    A child of v is an earlier node that shares a block with v in the factors. It is acyclic when
    nothing else in its branch of the elimination tree is a child of v, else the branch holds a loop
    that v closes and its children of v are cyclic.

    Parameters
    ----------
    symbolic : Symbolic

    Returns
    -------
    acyclic, cyclic : dict of label to tuple of labels
        In elimination order.
    """
    n = symbolic.parent.size
    order, parent = symbolic.order, symbolic.parent.tolist()
    earlier: list[list[int]] = [[] for _ in range(n)]
    starts, front = symbolic.front_start.tolist(), symbolic.front.tolist()
    for k in range(n):
        for e in range(starts[k], starts[k + 1]):
            earlier[front[e]].append(k)
    acyclic: Children = {}
    cyclic: Children = {}
    for k in range(n):
        branch: dict[int, int] = {}  # the child of k in the tree that each is below
        for child in reversed(earlier[k]):  # its parent shares a block with k too
            branch[child] = child if parent[child] == k else branch[parent[child]]
        members = Counter(branch.values())
        alone = [child for child in earlier[k] if members[branch[child]] == 1]
        looped = [child for child in earlier[k] if members[branch[child]] > 1]
        acyclic[order[k]] = tuple(order[j] for j in alone)
        cyclic[order[k]] = tuple(order[j] for j in looped)
    return acyclic, cyclic
