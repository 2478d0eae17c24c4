"""The paper's analysis of a graph: spanning forest, cycles, loop openers, children by kind.

Cycles and loop openers belong to the graph and come from the depth-first search of Bruedigam et
al. (2023), Section 4, whatever order is eliminated in. The children of a node belong to an
elimination order; for the depth-first order both views coincide.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from graphsys.graph import BlockGraph
from graphsys.kernels.elimination import depth_first

if TYPE_CHECKING:
    from graphsys.symbolic import Symbolic

Cycle = tuple[Hashable, ...]
Children = dict[Hashable, tuple[Hashable, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class SpanningForest:
    """Depth-first spanning forest of a graph, by labels.

    Attributes
    ----------
    roots : tuple of labels
        The first node of each connected component.
    parent : dict of label to label or None
    cycles : tuple of tuple of labels
        One fundamental cycle for each edge outside the forest: its loop opener, then the path from
        the opener's child down to the other end of the edge.
    loop_openers : tuple of labels
        Ancestor ends of the edges outside the forest, each once, in node order.
    """

    roots: tuple[Hashable, ...]
    parent: dict[Hashable, Hashable | None]
    cycles: tuple[Cycle, ...]
    loop_openers: tuple[Hashable, ...]


def cycles_of(graph: BlockGraph) -> SpanningForest:
    """Spanning forest, fundamental cycles and loop openers of a graph.

    Parameters
    ----------
    graph : BlockGraph

    Returns
    -------
    SpanningForest
    """
    n = graph.size.size
    order, parent = np.empty(n, np.int64), np.empty(n, np.int64)
    depth_first(graph.neighbor_start, graph.neighbor, order, parent)
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    lower = np.repeat(np.arange(n), np.diff(graph.neighbor_start))
    upper = graph.neighbor
    back = (place[lower] < place[upper]) & (parent[lower] != upper)
    labels, above = graph.labels, parent.tolist()
    cycles = []
    for i, opener in zip(lower[back].tolist(), upper[back].tolist(), strict=True):
        path = [i]
        while path[-1] != opener:
            path.append(above[path[-1]])
        cycles.append(tuple(labels[j] for j in reversed(path)))
    return SpanningForest(
        tuple(labels[i] for i in np.flatnonzero(parent == -1)),
        {labels[i]: None if p == -1 else labels[p] for i, p in enumerate(above)},
        tuple(cycles),
        tuple(labels[i] for i in np.unique(upper[back])),
    )


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
        alone: list[int] = []
        looped: list[int] = []
        branch: list[int] = []
        for child in earlier[k]:  # a branch ends with the child of k in the tree
            branch.append(child)
            if parent[child] == k:
                (alone if len(branch) == 1 else looped).extend(branch)
                branch = []
        acyclic[order[k]] = tuple(order[j] for j in alone)
        cyclic[order[k]] = tuple(order[j] for j in looped)
    return acyclic, cyclic
