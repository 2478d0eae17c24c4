"""Elimination of a graph in one order: its tree, its cost, and the tables the kernels read."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy import empty, int64

from graphsys.analysis import ordering as orders
from graphsys.analysis.pivot_supply import Precedence
from graphsys.kernels.analysis.arrangement import arrange, count_parts
from graphsys.kernels.analysis.branches import alternate, take_turns
from graphsys.kernels.analysis.elimination import fronts, renumber
from graphsys.kernels.analysis.minimum_degree import WORK_ROWS
from graphsys.kernels.analysis.subtrees import SUBTREE_ROWS, order_subtrees
from graphsys.kernels.base.layout import (
    HEADER,
    NODAL_AT,
    NODES,
    ORDER_AT,
    REFINED,
    ROWS,
    SHORT,
    SYMMETRIC,
)
from graphsys.kernels.program.factor_structure import (
    BLOCK_ROWS,
    ENTRY_ROWS,
    FIXED,
    FREE,
    LENGTH,
    SIZES,
    STEP_ROWS,
    choose_structure,
    list_blocks,
    updates_length,
    write_program,
    write_updates,
)
from graphsys.kernels.program.scalars import write_scalars
from graphsys.kernels.program.supernodal import build_program, measure_program
from graphsys.matrix.graph import BlockGraph

Ints = npt.NDArray[np.int64]

#: Nested dissection is worth trying for more nodes than this: the analysis of nets of 10 x 10 and
#: 14 x 14 would take 9 times as long, for factorizations as long as before.
DISSECTION_NODES = 200
#: Nanoseconds that METIS and level sets take for a node or neighbour, for each of log2 of their
#: number: 40 to 110 and 13 to 29 on grids, crystals and random graphs of 200 to 90,000 nodes.
METIS_TIME, LEVEL_SETS_TIME = 75.0, 20.0
#: Nanoseconds of a factorization for each operation and block of L: arithmetic and memory traffic.
#: Fitted to 106 factorizations of 53 graphs with blocks of 1 to 6 rows, which take 0.6 to 2.6 times
#: as long.
OPERATION_TIME, BLOCK_TIME = 0.026, 8.5
#: The branches of a chain of at least so many nodes are eliminated by turns: the analysis of
#: shorter ones would take 1.2 times as long. Without it factorize and solve of chain(1000) takes
#: 1.06 to 1.11 times as long, and a solve 1.1 to 1.5 times with blocks of 1 to 6.
BRANCH_NODES = 50
#: Most nodes of the subtrees that are ordered again: without it crystals of 6 x 6 x 6 take 1.25
#: times the operations; 128 and 256 nodes besides cost a third of the analysis and save 0 to 4 %.
SUBTREE_NODES = 64


class FactorStructure(NamedTuple):
    """Pattern of the factors, and the program that computes them.

    Attributes
    ----------
    elimination : Elimination
        The order, in which the bottom of the tree may have come first.
    front, fill, super_start, row_of, program : ndarray
        As in `Symbolic`.
    """

    elimination: Elimination
    front: Ints
    fill: npt.NDArray[np.bool_]
    super_start: Ints
    row_of: Ints
    program: Ints


class Elimination(NamedTuple):
    """An elimination order, children first in its tree, with the tree and what it costs.

    It is a postorder of the tree, unless two branches are by turns or steps were sorted.

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
    below : ndarray of int, shape (n,)
        Rows of the later nodes that share a block with each step.
    front_start : ndarray of int, shape (n + 1,)
        As in `Symbolic`.
    operations : float
        Floating-point operations of one numeric factorization.
    n_nodal : int
        How many of the first steps the nodal program eliminates, or `FREE`: not yet chosen.
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
    below: Ints
    front_start: Ints
    operations: float
    n_nodal: int = FREE

    @staticmethod
    def of(
        graph: BlockGraph,
        edges: orders.Adjacency,
        precedence: Precedence,
        symmetric: bool,
        n_last: int,
        name: str,
        order: Ints,
    ) -> Elimination:
        """Renumber an order of nodes by a postorder of its tree, and count its work."""
        lists = orders.node_edges(graph, precedence, edges, order[order.size - n_last :])
        return Elimination.in_tree(graph, lists, precedence, symmetric, n_last, name, order)

    @staticmethod
    def in_tree(
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
        step_node, position, parent = empty(n, int64), empty(n, int64), empty(n, int64)
        below, front_start = empty(n, int64), empty(n + 1, int64)
        operations = renumber(
            *edges, graph.size, order, n_last, symmetric, empty((6, n), int64),
            step_node, position, parent, below, front_start,
        )  # fmt: skip
        return Elimination(
            graph, edges, precedence, symmetric, n_last, name,
            step_node, position, parent, below, front_start, operations,
        )  # fmt: skip

    def with_better_subtrees(self) -> Elimination:
        """An order of no more operations, its small subtrees by minimum degree: `order_subtrees`.

        A nested dissection takes 0.8 to 0.99 of the operations after this.
        """
        if self.precedence.release.size or self.precedence.joined:
            return self  # nodes wait for others
        n = self.step_node.size
        rows, work = empty((SUBTREE_ROWS, n + 1), int64), empty((WORK_ROWS, n), int64)
        head = empty(int(self.graph.size.sum()) + 1, int64)
        lists, order = empty(5 * self.edges[1].size, int64), empty(n, int64)
        order_subtrees(
            *self.edges, self.graph.size, self.step_node, self.position, self.parent, self.below,
            SUBTREE_NODES, self.n_last, rows, work, head, lists, order,
        )  # fmt: skip
        return self._of_order(order)

    def _of_order(self, order: Ints) -> Elimination:
        """The same in another order."""
        return Elimination.in_tree(
            self.graph, self.edges, self.precedence, self.symmetric, self.n_last, self.name, order
        )

    def by_turns(self) -> Elimination:
        """The branches of a long chain by turns, other trees as they are.

        Steps of one branch wait for each other, those of two do not: the processor overlaps them.
        """
        n = self.step_node.size
        chain = n >= BRANCH_NODES and self.front_start.item(n) < n and self.n_last == 0
        if not chain or self.precedence.needy.any():
            return self
        turns = empty(n, int64)
        return self._by(turns) if alternate(self.parent, turns) else self

    def _by(self, turns: Ints) -> Elimination:
        """The same steps by turns that keep children before parents."""
        n = turns.size
        step_node, position, parent = empty(n, int64), empty(n, int64), empty(n, int64)
        below, front_start = empty(n, int64), empty(n + 1, int64)
        take_turns(
            turns, self.step_node, self.parent, self.below, self.front_start, empty(n, int64),
            step_node, position, parent, below, front_start,
        )  # fmt: skip
        return self._replace(
            step_node=step_node, position=position, parent=parent, below=below,
            front_start=front_start,
        )  # fmt: skip

    def _tables(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """Order, position, tree, rows below and fronts' places, as kernels take them."""
        return self.step_node, self.position, self.parent, self.below, self.front_start

    def unmerged(self) -> Elimination:
        """The same order of scalar nodes with a supernode for each, for `structure` alone.

        Fewer rows below than none look like zeros to store, more than a supernode may.
        """
        return self._replace(below=np.full_like(self.below, -1))

    def arranged(self) -> Elimination:
        """An order with no more fill-in, whose supernodes update few runs of rows: see `arrange`.

        Nested dissection numbers separators at random; crystal(30) of scalars is factorized 3.4
        times as fast after this, crystal(10) of 6 x 6 blocks 1.25 times, power laws of 3,000
        scalars by minimum degree 1.1 times.
        """
        order, n = self.step_node, self.step_node.size
        entries = self.front_start.item(n)
        front, fill = np.empty(entries, np.int64), np.empty(entries, np.bool_)
        tree = *self.edges, order, self.position, self.parent
        fronts(*tree, self.front_start, *np.empty((3, n), np.int64), front, fill)
        super_of, super_start = self._cliques()
        fixed = self.precedence.needy[order] | self._joined()
        fixed[n - self.n_last :] = True
        tables = super_start, super_of, self.front_start, front
        parts = np.empty((4, count_parts(*tables)), np.int64)
        work = np.empty((3, n + 1), np.int64), np.empty(n, np.bool_), np.empty(n, np.bool_)
        arranged = np.empty(n, np.int64)
        arrange(*tables, fixed, parts, *work, arranged)
        return self._of_order(order[arranged])

    def _cliques(self) -> tuple[Ints, Ints]:
        """Supernodes without zeros, however wide: no order inside of them has more fill-in."""
        n, below, size = self.step_node.size, self.below, self.graph.size[self.step_node]
        starts = np.ones(n, np.bool_)
        starts[1:] = (self.parent[:-1] != np.arange(1, n)) | (below[:-1] != below[1:] + size[1:])
        return np.cumsum(starts) - 1, np.append(np.flatnonzero(starts), n)

    def structure(self) -> FactorStructure:
        """Fronts, supernodes and program of this order."""
        graph, symmetric, n = self.graph, self.symmetric, self.step_node.size
        entries, joined, cut = self.front_start.item(n), self._joined(), self._cut()
        front, fill = empty(entries, int64), empty(entries, np.bool_)
        row_of, super_start = empty(n + 1, int64), empty(n + 1, int64)
        by_entry = empty((ENTRY_ROWS, entries), int64)
        by_step, by_block = _lists(graph)
        n_nodal = FIXED if self.name == "given" and self.n_nodal == FREE else self.n_nodal
        nodes, count, length = choose_structure(
            graph.tables(), self.edges, self._tables(), joined, cut, self.precedence.needy,
            self.n_last, n_nodal, symmetric, front, fill, row_of, super_start, by_step, by_block,
            by_entry,
        )  # fmt: skip
        if count == 0 < n:  # in another order
            turns = by_step[-1, :n].argsort(kind="stable")
            return self._by(turns)._replace(n_nodal=nodes).structure()
        if count < n:
            super_start = super_start[: count + 1].copy()
        program, short, tables = empty(length, int64), self.precedence.short.size, graph.tables()
        listed = self.front_start, front
        if 0 < nodes == n == graph.rows:  # single rows
            write_scalars(tables, self.step_node, self.position, listed, symmetric, short, program)
            return FactorStructure(self, front, fill, super_start, row_of, program)
        write_program(
            listed, joined, cut, short, symmetric, nodes, row_of, super_start, by_step, by_block,
            by_entry, program,
        )  # fmt: skip
        if nodes < n:
            program = _with_updates(program, row_of, symmetric, by_step, by_block)
        return FactorStructure(self, front, fill, super_start, row_of, program)

    @property
    def n_fill(self) -> int:
        """Number of blocks of fill-in, counted once for both triangles."""
        return self.front_start.item(-1) - self.edges[1].size // 2

    def affords(self, effort: float, time: float) -> bool:
        """Whether an order that takes `METIS_TIME`, say, costs at most ``effort`` factorizations.

        Small graphs, and those with little fill-in, need no other order.
        """
        nodes, neighbours = self.step_node.size, self.graph.neighbor.size
        if nodes <= DISSECTION_NODES or self.front_start.item(-1) <= neighbours:
            return False
        factorization = OPERATION_TIME * self.operations + BLOCK_TIME * self.front_start.item(-1)
        cost = time * (nodes + neighbours) * math.log2(nodes + neighbours)
        return bool(effort * factorization >= cost)

    def _cut(self) -> npt.NDArray[np.bool_]:
        """Steps with several pivot blocks."""
        if self.precedence.cut.size == 0:
            return np.zeros(self.step_node.size, np.bool_)
        return self.precedence.cut[self.step_node]

    def _joined(self) -> npt.NDArray[np.bool_]:
        """Steps that share a pivot block with the next one."""
        joined = np.zeros(self.step_node.size, np.bool_)
        for group in self.precedence.joined:
            steps = np.sort(self.position[list(group)])
            joined[steps[:-1]] = True
        return joined


def supernodal_program(panels: Ints, graph: BlockGraph, step_node: Ints, symmetric: bool) -> Ints:
    """Program of the same factors in which every supernode loads its panels and updates others."""
    n = step_node.size
    position, row_of = empty(n, int64), empty(n + 1, int64)
    position[step_node] = np.arange(n)
    by_step, by_block = _lists(graph)
    list_blocks(graph.tables(), step_node, position, row_of, by_step, by_block)
    panels = (panels[: panels[NODAL_AT]] if panels[NODES] > 0 else panels).copy()
    panels[NODAL_AT] = panels[NODES] = 0
    return _with_updates(panels, row_of, symmetric, by_step, by_block)


def panels_of_scalars(program: Ints, graph: BlockGraph, symmetric: bool) -> Ints:
    """Header, order and panels of a program of single rows."""
    n = program.item(ROWS)
    row_of, none = np.arange(n + 1), np.zeros(n, np.bool_)
    fronts, supernodes = scalar_fronts(program), (row_of, row_of)
    offset, by_supernode = empty(fronts[1].size, int64), empty((5, n), int64)
    sizes, order = empty(SIZES, int64), program[program.item(ORDER_AT) :][:n]
    measure_program(
        graph.size, none, none, fronts, supernodes, row_of, symmetric, n, offset, by_supernode,
        sizes,
    )  # fmt: skip
    panels = empty(HEADER + 2 * n + sizes.item(LENGTH), int64)
    build_program(
        graph.size, order, none, none, fronts, supernodes, row_of, symmetric, offset,
        by_supernode, sizes, panels,
    )  # fmt: skip
    for field in (SYMMETRIC, REFINED, SHORT):
        panels[field] = program[field]
    return panels


def scalar_fronts(program: Ints) -> tuple[Ints, Ints]:
    """Where fronts begin, and these, of a program of single rows: views of it."""
    rows, at = program.item(ROWS), program.item(NODAL_AT)
    starts = program[at : at + rows + 1]
    return starts, program[at + rows + 1 :][: starts.item(rows)]


def _lists(graph: BlockGraph) -> tuple[Ints, Ints]:
    """Room for lists by steps and by blocks."""
    edges = graph.neighbor.size // 2
    by_step = empty((STEP_ROWS, graph.size.size + 1), int64)
    return by_step, empty(BLOCK_ROWS * edges + SIZES, int64)


def _with_updates(
    panels: Ints, row_of: Ints, symmetric: bool, by_step: Ints, by_block: Ints
) -> Ints:
    """A program with loads and targets after its panels and its nodal part."""
    super_of_row = empty(row_of.item(-1), int64)
    more = updates_length(row_of, symmetric, by_step, by_block, panels, super_of_row)
    program = empty(panels.size + more, int64)
    program[: panels.size] = panels
    write_updates(row_of, symmetric, by_step, by_block, super_of_row, program, panels.size)
    return program
