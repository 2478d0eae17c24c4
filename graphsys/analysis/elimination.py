"""Elimination of a graph in one order: its tree, its cost, and the tables the kernels read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from graphsys.analysis import ordering as orders
from graphsys.analysis.pivot_supply import Precedence
from graphsys.kernels.analysis.arrangement import arrange, count_parts
from graphsys.kernels.analysis.elimination import (
    earlier_blocks,
    elimination_tree,
    front_counts,
    fronts,
    postorder,
    reverse_edges,
)
from graphsys.kernels.base.layout import (
    NEIGHBOUR_FIELDS,
    NODE_FIELDS,
    SHORT,
    UPDATE_FIELDS,
)
from graphsys.kernels.program.nodal import append_nodal
from graphsys.kernels.program.supernodal import PIVOT_ROWS, build_program, supernodes
from graphsys.matrix.graph import BlockGraph

Ints = npt.NDArray[np.int64]

#: Nested dissection is worth trying for more nodes than this.
DISSECTION_NODES = 200
#: Operations of a factorization that take as long as METIS takes for one node or neighbour: 0.8 to
#: 3 microseconds, measured on grids of 3,000 to 90,000 nodes.
DISSECTION_OPERATIONS = 5e4
#: The first-touch program of small nodes is faster up to a third as many updates as blocks have
#: entries: supernodes of small blocks save more. It always is where a node updates one other.
NODAL_UPDATES = 1 / 3
#: Largest number of supernodes per node for which a matrix with monitored pivots uses supernodes:
#: their pivot blocks have more rows to exchange. With more, they are hardly larger than nodes.
FEW_MERGE = 0.9


class FactorStructure(NamedTuple):
    """Pattern of the factors, and the program that computes them.

    Attributes
    ----------
    front_start, front, fill, super_start, row_of, program : ndarray
        As in `Symbolic`.
    """

    front_start: Ints
    front: Ints
    fill: npt.NDArray[np.bool_]
    super_start: Ints
    row_of: Ints
    program: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Elimination:
    """An elimination order, children first in its tree, with the tree and what it costs.

    Attributes
    ----------
    graph : BlockGraph
    edges : tuple of ndarray of int
        Adjacency lists (start, neighbours) of the edges that matter.
    precedence : Precedence
    symmetric : bool
    n_last : int
        How many of the last steps are not eliminated.
    name : str
        Method of the order.
    step_node, position : ndarray of int, shape (n,)
        Node of each step, step of each node.
    parent : ndarray of int, shape (n,)
        Elimination tree by steps; -1 at a root.
    count, below : ndarray of int, shape (n,)
        Later nodes that share a block with each step, and their rows.
    operations : float
        Floating-point operations of one numeric factorization.
    """

    graph: BlockGraph
    edges: tuple[Ints, Ints]
    precedence: Precedence
    symmetric: bool
    n_last: int
    name: str
    step_node: Ints
    position: Ints
    parent: Ints
    count: Ints
    below: Ints
    operations: float

    @classmethod
    def of(
        cls,
        graph: BlockGraph,
        edges: orders.Adjacency,
        precedence: Precedence,
        symmetric: bool,
        n_last: int,
        name: str,
        order: Ints,
    ) -> Elimination:
        """Renumber an order of nodes by a postorder of its tree, and count its work."""
        last = order[order.size - n_last :]
        lists = orders.node_edges(graph, precedence, edges, last)
        return cls.in_tree(graph, lists, precedence, symmetric, n_last, name, order)

    @classmethod
    def in_tree(
        cls,
        graph: BlockGraph,
        edges: tuple[Ints, Ints],
        precedence: Precedence,
        symmetric: bool,
        n_last: int,
        name: str,
        order: Ints,
    ) -> Elimination:
        """As `of`, for the adjacency lists that `orders.node_edges` returns."""
        n = order.size
        start, neighbor = edges
        position, parent = np.empty(n, np.int64), np.empty(n, np.int64)
        position[order] = np.arange(n)
        mark, count, below, squares = np.empty((4, n), np.int64)
        elimination_tree(start, neighbor, order, position, mark, parent)
        renumbered = np.empty(n, np.int64)
        postorder(parent, count, below, renumbered)
        order = order[renumbered]
        position[order] = np.arange(n)
        place = np.empty(n + 1, np.int64)
        place[renumbered] = np.arange(n)
        place[n] = -1
        parent = place[parent[renumbered]]
        size = graph.size
        front_counts(start, neighbor, order, position, parent, size, mark, count, below, squares)
        eliminated = slice(n - n_last)
        operations = _operations(
            size[order][eliminated], below[eliminated], squares[eliminated], symmetric
        )
        return cls(
            graph,
            (start, neighbor),
            precedence,
            symmetric,
            n_last,
            name,
            order,
            position,
            parent,
            count,
            below,
            operations,
        )

    def arranged(self) -> Elimination:
        """An order with no more fill-in, whose supernodes update few runs of rows: see `arrange`.

        Nested dissection numbers separators at random; crystal(30) of scalars is factorized 3.4
        times as fast after this, crystal(10) of 6 x 6 blocks 1.25 times.
        """
        order, n = self.step_node, self.step_node.size
        front_start, front, _ = self._fronts()
        super_of, super_start = self._cliques()
        fixed = self.precedence.needy[order] | self._joined()
        fixed[n - self.n_last :] = True
        tables = super_start, super_of, front_start, front
        parts = np.empty((4, count_parts(*tables)), np.int64)
        work = np.empty((3, n + 1), np.int64), np.empty(n, np.bool_), np.empty(n, np.bool_)
        arranged = np.empty(n, np.int64)
        arrange(*tables, fixed, parts, *work, arranged)
        return Elimination.in_tree(
            self.graph, self.edges, self.precedence, self.symmetric, self.n_last,
            self.name, order[arranged],
        )  # fmt: skip

    def _cliques(self) -> tuple[Ints, Ints]:
        """As `_supernodes`, without zeros and however wide: no order inside has more fill-in."""
        n, below, size = self.step_node.size, self.below, self.graph.size[self.step_node]
        starts = np.ones(n, np.bool_)
        starts[1:] = (self.parent[:-1] != np.arange(1, n)) | (below[:-1] != below[1:] + size[1:])
        return np.cumsum(starts) - 1, np.append(np.flatnonzero(starts), n)

    def _fronts(self) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
        """Later steps that share a block with each step, and which blocks are fill-in."""
        n = self.step_node.size
        front_start = np.zeros(n + 1, np.int64)
        np.cumsum(self.count, out=front_start[1:])
        front = np.empty(front_start[-1], np.int64)
        fill = np.empty(front_start[-1], np.bool_)
        tree = *self.edges, self.step_node, self.position, self.parent
        fronts(*tree, front_start, *np.empty((3, n), np.int64), front, fill)
        return front_start, front, fill

    def _supernodes(self) -> tuple[Ints, Ints]:
        """Supernode of each step, and where each starts."""
        n, parent = self.step_node.size, self.parent.copy()
        if 0 < self.n_last < n:
            parent[n - self.n_last - 1] = -1  # no supernode across
        of, start = np.empty(n, np.int64), np.empty(n + 1, np.int64)
        size, joined = self.graph.size[self.step_node], self._joined()
        count = supernodes(size, parent, self.below, joined, of, start)
        return of, start[: count + 1].copy()

    def structure(self) -> FactorStructure:
        """Fronts, supernodes and program of this order."""
        graph, order, n = self.graph, self.step_node, self.step_node.size
        size = graph.size[order]
        front_start, front, fill = self._fronts()
        joined = self._joined()
        nodal = self._is_nodal()
        if nodal:
            super_of, super_start = np.arange(n), np.arange(n + 1)
        else:
            super_of, super_start = self._supernodes()
        n_super = super_start.size - 1
        row_of = np.zeros(n + 1, np.int64)
        np.cumsum(size, out=row_of[1:])
        loads = (*self._loads(), graph.diagonal_at[order])
        arguments = (
            size, graph.row_start[order], joined, (front_start, front), (super_of, super_start),
            row_of, self.symmetric, loads, np.empty(front.size, np.int64),
            np.empty((5, n_super), np.int64), np.empty(n + 1, np.int64),
        )  # fmt: skip
        program = np.empty(build_program(*arguments, np.empty(0, np.int64)), np.int64)
        build_program(*arguments, program)
        if nodal:
            pairs = self.count * (self.count + 1) // 2 if self.symmetric else self.count**2
            more = n * NODE_FIELDS + front.size * NEIGHBOUR_FIELDS + pairs.sum() * UPDATE_FIELDS
            at = program.size
            program = np.concatenate((program, np.empty(more, np.int64)))
            append_nodal(
                size, row_of, (front_start, front), self.symmetric, loads,
                np.empty(n, np.bool_), np.empty((4, front.size), np.int64), program, at,
            )  # fmt: skip
        program[SHORT] = self.precedence.short.size
        return FactorStructure(front_start, front, fill, super_start, row_of, program)

    @property
    def n_fill(self) -> int:
        """Number of blocks of fill-in, counted once for both triangles."""
        return int(self.count.sum()) - self.edges[1].size // 2

    def dissections(self, effort: float) -> int:
        """How many nested dissections may need fewer operations, and cost no more than ``effort``.

        None of graphs that are small, or have little fill-in.
        """
        nodes, neighbours = self.step_node.size, self.graph.neighbor.size
        if nodes <= DISSECTION_NODES or int(self.count.sum()) <= neighbours:
            return 0
        cost = DISSECTION_OPERATIONS * (nodes + neighbours)
        return int(min(orders.SEEDS, effort * self.operations / cost))

    def _is_nodal(self) -> bool:
        """True if nodes are small and update few others: see `kernels.single.nodal_ldu`."""
        n, size = self.step_node.size, self.graph.size
        if n == 0 or self.n_last or self.precedence.joined:
            return False
        if size.min() == 0 or size.max() > PIVOT_ROWS:
            return False
        if self.precedence.needy.any() and self._n_super() < FEW_MERGE * n:
            return False
        updates, entries = (float(np.square(counts).sum()) for counts in (self.count, size))
        return updates <= max(n, NODAL_UPDATES * entries)

    def _n_super(self) -> int:
        """Number of supernodes without the nodal program."""
        return int(self._supernodes()[1].size) - 1

    def _joined(self) -> npt.NDArray[np.bool_]:
        """Steps that share a pivot block with the next one."""
        joined = np.zeros(self.step_node.size, np.bool_)
        for group in self.precedence.joined:
            steps = np.sort(self.position[list(group)])
            joined[steps[:-1]] = True
        return joined

    def _loads(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Blocks off the diagonal by the earlier node: start, later node, places of both."""
        graph, n = self.graph, self.step_node.size
        start, reverse = np.empty(n + 1, np.int64), np.empty_like(graph.neighbor)
        reverse_edges(graph.neighbor_start, graph.neighbor, np.empty(n, np.int64), reverse)
        later = np.empty((3, graph.neighbor.size // 2), np.int64)
        earlier_blocks(
            graph.size,
            graph.neighbor_start,
            graph.neighbor,
            graph.block_at,
            reverse,
            self.step_node,
            self.position,
            start,
            *later,
        )
        node, lower, upper = later[:, : start[n]]
        return start, node, lower, upper


def _operations(size: Ints, below: Ints, squares: Ints, symmetric: bool) -> float:
    """Operations of theory/elimination (5): inverses of pivots, rows to their right, updates."""
    d, s = size.astype(float), below.astype(float)
    updates = (s * s + squares) / 2 if symmetric else s * s
    return float(np.sum(2 * d**3 + 2 * d * d * s + 2 * d * updates))
