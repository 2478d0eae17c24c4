"""Symbolic factorization: all that depends on the graph and not on values."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from importlib.util import find_spec
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from graphsys.analysis import ordering as orders
from graphsys.analysis.cycles import (
    Children,
    Cycle,
    SpanningForest,
    children_of,
    fundamental_cycles,
    spanning_forest,
)
from graphsys.analysis.elimination import (
    LEVEL_SETS_TIME,
    METIS_TIME,
    Elimination,
    panels_of_scalars,
    scalar_fronts,
    supernodal_program,
)
from graphsys.analysis.pivot_supply import (
    NONE,
    Precedence,
    cut_nodes,
    find_precedence,
    missing_rows,
)
from graphsys.analysis.supervariables import quotient, supervariables
from graphsys.kernels.analysis.branches import is_postorder
from graphsys.kernels.base.layout import (
    ARENA_TOTAL,
    BY_CONDITION,
    NO_BLOCKS,
    NODAL_AT,
    NODES,
    ORDER_AT,
    REFINED,
    SCALARS,
    SYMMETRIC,
    WIDEST,
)
from graphsys.kernels.base.layout import HERMITIAN as CONJUGATED
from graphsys.matrix.block import HERMITIAN, as_symmetry
from graphsys.matrix.checksums import check, checksum
from graphsys.matrix.graph import BlockGraph

Ints = npt.NDArray[np.int64]

#: Most nodes for which a depth-first order is tried besides minimum degree: the exoskeleton of
#: `dynamics.zoo` takes 0.8 of the operations. Tables of larger graphs share equal arrays.
SMALL_NODES = 1000
OPERATIONS = attrgetter("operations")


@dataclass(frozen=True, eq=False)
class Symbolic:
    """Symbolic factorization of a block graph; all arrays are read-only.

    A *step* is an index in the elimination order, a *row* a scalar row in that order.

    Attributes
    ----------
    graph : BlockGraph
    ordering : str
        Method of the order: "dfs", "amd", "nd" or "given".
    candidates : dict of str to float
        Operations with each method that was tried.
    precedence : Precedence
        Nodes with singular diagonal blocks, and the nodes that must precede them.
    symmetric : bool or "hermitian"
        Whether the factorization is L D L^T, or L D L^H.
    step_node : ndarray of int, shape (n,)
        Node of each step: the elimination order, children before parents of its tree.
    parent : ndarray of int, shape (n,)
        Elimination tree by steps; -1 at a root.
    front_start : ndarray of int, shape (n + 1,)
        Front of step k is ``front[front_start[k]:front_start[k + 1]]``.
    front : ndarray of int, shape (e,)
        Later steps that share a block with a step, ascending.
    fill : ndarray of bool, shape (e,)
        Entries of the fronts that are fill-in and not edges of the graph.
    super_start : ndarray of int, shape (s + 1,)
        First step of each supernode.
    row_of : ndarray of int, shape (n + 1,)
        First row of each step.
    program : ndarray of int, shape (any,)
        Integers that the kernels read, in the layout of `graphsys.kernels.base.layout`.
    arena_size : int
        Length of the array of the factors and their workspace.
    widest : int
        Number of rows of the largest pivot block.
    operations : float
        Floating-point operations of one numeric factorization: theory/elimination (5).
    """

    graph: BlockGraph
    ordering: str
    candidates: dict[str, float]
    precedence: Precedence
    symmetric: bool | str
    step_node: Ints
    parent: Ints
    front_start: Ints
    front: Ints
    fill: npt.NDArray[np.bool_]
    super_start: Ints
    row_of: Ints
    program: Ints
    arena_size: int
    widest: int
    operations: float

    def __post_init__(self) -> None:
        for table in (
            self.step_node, self.parent, self.front_start, self.front,
            self.fill, self.super_start, self.row_of, self.program,
        ):  # fmt: skip
            table.setflags(write=False)

    def _fields(self) -> tuple[Any, ...]:
        """Values of all fields, in order."""
        return tuple(getattr(self, field.name) for field in fields(self))

    # Immutable: a copy is the object itself. Pickled with a checksum, for kernels trust the tables.
    def __copy__(self) -> Symbolic:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Symbolic:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        stored = self._fields()
        return _unpickled, (stored, checksum(stored))

    def refining(self, weak: bool) -> Symbolic:
        """Return a copy with another rule for pivot blocks whose rows need small residuals.

        By default these are the blocks with weak pivots (`kernels.blocks.weak`), which depends on
        the units of the rows.

        Parameters
        ----------
        weak : bool
            True for blocks that are weak in any units, False for none.

        Returns
        -------
        Symbolic
        """
        program = self.program.copy()
        program[REFINED] = BY_CONDITION if weak else NO_BLOCKS
        return replace(self, program=program)

    @cached_property
    def panels(self) -> Ints:
        """The program, or where all nodes are single rows its panels without loads and targets."""
        if not self.program[SCALARS]:
            return self.program
        program = panels_of_scalars(self.program, self.graph, bool(self.symmetric))
        program.setflags(write=False)
        return program

    @cached_property
    def supernodal_program(self) -> Ints:
        """Program of the same factors by panels alone, without the nodal part.

        For complex numbers, lanes, threads, updates of some nodes and selected inverses.
        """
        if self.program[NODES] == 0:
            return self.program
        symmetric = bool(self.symmetric)
        program = supernodal_program(self.panels, self.graph, self.step_node, symmetric)
        program.setflags(write=False)
        return program

    def program_for(self, dtype: np.dtype[Any]) -> Ints:
        """Program for kernels with a given number type.

        Parameters
        ----------
        dtype : numpy.dtype
            Type of the factors.

        Returns
        -------
        ndarray of int
        """
        return self.supernodal_program if dtype.kind == "c" else self.program

    @cached_property
    def for_delayed_pivots(self) -> Symbolic:
        """Symbolic factorization in which no node waits for another's pivots.

        Nested dissection: its trees are flat. A pivot may be delayed all the
        way to the root, which on a chain is n fronts by minimum degree, log n by dissection. KKT
        systems of a race car (1,402 rows) are factorized 70 times as fast, of a hanging chain 30
        times, others within a factor of 2 (`tests.graphsys.ipopt_problems`).
        """
        if self.ordering == "given":
            return self.by_supernodes
        if self.ordering == "nd" and not self.precedence.needy.any():
            return self.by_supernodes
        found = analyze(self.graph, "nd", zero_diagonal=(), symmetric=self.symmetric, effort=0.0)
        return found.by_supernodes

    @cached_property
    def in_postorder(self) -> Symbolic:
        """The same order with each subtree's steps consecutive: for multifrontal and batches.

        All orders are such but those of long chains, whose branches are by turns, of single rows,
        which come by their depth, and of networks whose bottom comes first.
        """
        if is_postorder(self.parent, *np.empty((2, self.parent.size), np.int64)):
            return self
        return self.in_order(self.order)

    @cached_property
    def by_supernodes(self) -> Symbolic:
        """`in_postorder`, for multifrontal: small nodes at the bottom share supernodes, too.

        Pivots of two rows are within a supernode then, and fewer are delayed.
        """
        found = self.in_postorder
        if found.program[NODES] == 0:
            return found
        nodal = not (self.precedence.needy.any() or self.program[SCALARS])
        return found.in_order(found.order, nodal=nodal)

    @cached_property
    def for_fronts(self) -> Symbolic:
        """`by_supernodes`, with the steps of each supernode in the order of the graph's nodes.

        Entries of scalar nodes that follow each other in the matrix then do so in a front. Nodes
        that get rows from neighbours, such as those of zero diagonals, come last.
        """
        found, needy = self.by_supernodes, self.precedence.needy
        if self.graph.rows > 2 * self.graph.size.size:  # blocks are dense as they are
            return found
        node = found.step_node
        supernode = np.repeat(np.arange(found.super_start.size - 1), np.diff(found.super_start))
        order = node[np.lexsort((node, needy[node], supernode))]
        if (order == node).all():
            return found
        return found.in_order([self.graph.labels[i] for i in order.tolist()])

    def in_order(self, labels: Sequence[Hashable], nodal: bool = True) -> Symbolic:
        """Return the symbolic factorization in another order, without precedences.

        Parameters
        ----------
        labels : sequence of hashable
            All labels.
        nodal : bool, optional
            As of `analyze`.

        Returns
        -------
        Symbolic
            With the same `ordering`.
        """
        found = analyze(self.graph, labels, zero_diagonal=(), symmetric=self.symmetric, nodal=nodal)
        return replace(found, ordering=self.ordering, candidates=self.candidates)

    # Computed from the fields, once, when they are first asked for.

    @cached_property
    def n_fill(self) -> int:
        """Number of filled-in pairs of blocks."""
        return int(np.count_nonzero(self.fill))

    @cached_property
    def nbytes(self) -> int:
        """Bytes of the factors in double precision and of all tables."""
        tables = self.parent, self.front_start, self.front, self.fill, self.program
        owners = [table if table.base is None else table.base for table in tables]
        return 8 * self.arena_size + sum({id(owner): owner.nbytes for owner in owners}.values())

    @cached_property
    def order(self) -> tuple[Hashable, ...]:
        """Labels in elimination order."""
        return tuple(self.graph.labels[i] for i in self.step_node.tolist())

    @cached_property
    def forest(self) -> SpanningForest:
        """Depth-first spanning forest of the graph."""
        return spanning_forest(self.graph)

    @property
    def n_components(self) -> int:
        """Number of connected components."""
        return self.forest.n_components

    @cached_property
    def n_cycles(self) -> int:
        """Number k of independent cycles, m - n + c."""
        return self.graph.neighbor.size // 2 - len(self.graph.labels) + self.n_components

    @cached_property
    def cycles(self) -> tuple[Cycle, ...]:
        """Fundamental cycles of the depth-first spanning forest, each from its loop opener down."""
        return fundamental_cycles(self.graph, self.forest)

    @cached_property
    def loop_openers(self) -> tuple[Hashable, ...]:
        """Ancestor ends of the edges that close a loop in the depth-first spanning forest."""
        return tuple(self.graph.labels[i] for i in self.forest.loop_openers.tolist())

    @cached_property
    def _children(self) -> tuple[Children, Children]:
        """Acyclic and cyclic children of all nodes."""
        return children_of(self)

    @property
    def acyclic_children(self) -> Children:
        """For each node v, earlier nodes that alone in their branch share a block with v."""
        return self._children[0]

    @property
    def cyclic_children(self) -> Children:
        """For each node v, earlier nodes on loops opened by v that share a block with v."""
        return self._children[1]

    def to_c(self, name: str = "graph") -> str:
        """C source code that factorizes and solves the matrices of this graph.

        One file without dependencies, allocation and tables: all positions in memory are constants.
        It is for embedded computers and real-time code without Python, and for graphs of up to a
        few hundred nodes with small blocks. With the vector types of GNU C it is as fast as the
        kernels of this package; GCC and Clang compile it for any processor.

        Parameters
        ----------
        name : str, optional
            Prefix of its functions.

        Returns
        -------
        str
            Three functions on arrays of double. ``graph_factorize(values, work)`` takes blocks in
            the layout of `System.values`; ``graph_solve(values, work, b, x)`` solves with these
            factors; ``graph_refine(values, work, b, x)`` refines x and returns its componentwise
            backward error. Constants ``GRAPH_ROWS``, ``GRAPH_VALUES`` and ``GRAPH_WORK`` are the
            lengths of arrays. A comment at the top has the details.

        Raises
        ------
        ValueError
            For a name that C does not allow, and for graphs with too many block updates.

        Notes
        -----
        Rows are exchanged within a pivot block, and pivots are checked as in `Factor`. If one is
        doubtful, ``graph_factorize`` returns ``GRAPH_DOUBTFUL``; refine the solution then. There is
        no second elimination order and no scaling. A singular pivot gives ``GRAPH_SINGULAR``.

        Examples
        --------
        >>> import graphsys as gs
        >>> text = gs.System(gs.chain(3), 2).analyze().to_c("arm")
        >>> "int arm_factorize(const double *values, double *work);" in text
        True
        """
        from graphsys.c_code.source import source

        return source(self, name)

    def __repr__(self) -> str:
        return (
            f"Symbolic({len(self.graph.labels)} nodes, {self.ordering} order, "
            f"{self.n_fill} fill-ins, {self.operations:.3g} operations)"
        )


def _unpickled(stored: tuple[Any, ...], known: int) -> Symbolic:
    check("Symbolic", known, stored)
    return Symbolic(*stored)


def analyze(
    graph: BlockGraph,
    ordering: str | Sequence[Hashable] = "auto",
    *,
    zero_diagonal: Iterable[Hashable] | None = None,
    effort: float = 10.0,
    values: npt.NDArray[np.generic] | None = None,
    symmetric: bool | str = False,
    after_all: frozenset[int] = frozenset(),
    last: frozenset[int] = frozenset(),
    merge: bool = True,
    nodal: bool = True,
) -> Symbolic:
    """Symbolic factorization of a block graph.

    Parameters
    ----------
    graph : BlockGraph
    ordering : {"auto", "dfs", "amd", "nd"} or sequence of labels, optional
        "dfs" is the paper's depth-first search, "amd" approximate minimum degree, "nd" nested
        dissection by level sets, and by METIS where pymetis is installed (extra ``nd``), the better
        of the two; "auto" takes the one with the fewest operations of those worth trying, and the
        first one without fill-in.
        A sequence names every node once and is taken as it is.
    zero_diagonal : iterable of labels, optional
        Nodes whose diagonal block is zero. By default they are found in `values`.
    effort : float, optional
        What "auto" may spend on an order by level sets, and again on one by METIS, in numeric
        factorizations of the matrix. 0 leaves nested dissection out, which suits a single solve,
        and METIS out of "nd"; `numpy.inf` suits an order that many thousand factorizations share.
    values : ndarray, shape (graph.nnz,), optional
        The blocks, searched for singular diagonal blocks only.
    symmetric : bool or "hermitian", optional
        Whether the matrix equals its transpose, or its conjugate transpose.
    after_all : frozenset of int, optional
        Nodes to eliminate after all their neighbours.
    last : frozenset of int, optional
        Nodes to eliminate after all others, in supernodes of their own: see `condense`.
    merge : bool, optional
        Whether nodes share supernodes and pivot blocks; False for a given order only.
    nodal : bool, optional
        Whether small nodes may stay alone, for the nodal program.

    Returns
    -------
    Symbolic

    Raises
    ------
    UnknownNodeError
        If `ordering` or `zero_diagonal` names no node.
    ValueError
        If `ordering` is not a known name, or misses or repeats a node, `effort` is negative, or
        `symmetric` an unknown word.

    References
    ----------
    .. [1] T. A. Davis, Direct Methods for Sparse Linear Systems, SIAM, 2006, ch. 4 and 7.
    """
    name = ordering if isinstance(ordering, str) else "given"
    if isinstance(ordering, str) and name not in orders.NAMES:
        raise ValueError(
            f"ordering {ordering!r} is unknown; use one of {', '.join(map(repr, orders.NAMES))} "
            "or a sequence of all labels"
        )
    kind = as_symmetry(symmetric, np.dtype(complex))
    symmetric = bool(kind)
    if not effort >= 0.0:
        raise ValueError(f"effort is {effort}; it counts factorizations, so give 0 or more")
    demand, kept = missing_rows(graph, zero_diagonal, values), NONE
    if last:
        kept = np.array(sorted(i for i in last if graph.size[i] > 0), np.int64)
        demand[kept], after_all = 0, after_all.union(kept.tolist())
    precedence = find_precedence(graph, demand, after_all)
    if symmetric and values is not None:
        precedence = precedence._replace(cut=cut_nodes(graph, values, demand))
    if name == "given":  # taken as it is: no nodes are joined
        precedence = precedence._replace(joined=())
    edges = orders.adjacency(graph, precedence)
    if not isinstance(ordering, str):
        order = orders.with_last(kept, orders.order_as_given(ordering, graph))
        best = Elimination.of(graph, edges, precedence, symmetric, kept.size, name, order)
        candidates = {name: best.operations}
    elif kept.size or precedence.release.size or precedence.needy.any():
        best, candidates = _best_order(graph, edges, precedence, symmetric, name, kept, effort)
    elif (members := supervariables(graph)) is None:
        best, candidates = _best_order(graph, edges, precedence, symmetric, name, NONE, effort)
    else:
        small = quotient(graph, members)
        free = find_precedence(small, np.zeros_like(small.size), frozenset())
        reduced = orders.adjacency(small, free)
        best, candidates = _best_order(small, reduced, free, symmetric, name, NONE, effort)
        order = np.argsort(best.position[members], kind="stable")
        best = Elimination.of(graph, edges, precedence, symmetric, 0, best.name, order)
        candidates[best.name] = best.operations
    if not merge:
        return _finished(best.unmerged(), candidates, kind)
    best = best if name == "given" else best.by_turns()
    return _finished(best if nodal else best._replace(n_nodal=0), candidates, kind)


def _best_order(
    graph: BlockGraph,
    edges: orders.Adjacency,
    precedence: Precedence,
    symmetric: bool,
    name: str,
    kept: Ints,
    effort: float,
) -> tuple[Elimination, dict[str, float]]:
    """The order of a method, or the best one of several, and the operations of those tried."""

    def eliminated(method: str, order: Ints) -> Elimination:
        return Elimination.of(graph, edges, precedence, symmetric, kept.size, method, order)

    def by_name(method: str) -> Elimination:
        found = eliminated(method, orders.order_by_name(method, edges, kept))
        return found.with_better_subtrees() if method == "nd" else found

    tried: list[Elimination] = []
    for one in _worth_trying(graph) if name == "auto" else (name,):
        tried.append(by_name(one))
        if tried[-1].n_fill == 0:
            break
    best, asked = min(tried, key=OPERATIONS), name == "nd" and effort > 0.0
    if name == "auto":
        if best.affords(effort, LEVEL_SETS_TIME):
            tried.append(by_name("nd"))
            best = min(tried, key=OPERATIONS)
        asked = best.affords(effort, METIS_TIME)
    if asked and find_spec("pymetis"):
        found = eliminated("nd", orders.order_by_metis(edges, kept)).with_better_subtrees()
        best = min(best, found, key=OPERATIONS)
        tried.append(best)
    candidates = {candidate.name: candidate.operations for candidate in tried}
    if "nd" in candidates:
        best = best.arranged()
        candidates[best.name] = best.operations
    return best, candidates


def _worth_trying(graph: BlockGraph) -> list[str]:
    """A depth-first order is without fill-in on most trees and good with few cycles."""
    nodes, edges = len(graph.labels), graph.neighbor.size // 2
    few_cycles = edges < nodes or (edges < 2 * nodes - 1 and nodes <= SMALL_NODES)
    return ["dfs", "amd"] if few_cycles else ["amd"]


def _finished(best: Elimination, candidates: dict[str, float], symmetric: bool | str) -> Symbolic:
    best, front, fill, super_start, row_of, program = best.structure()
    if symmetric == HERMITIAN:
        program[SYMMETRIC] = CONJUGATED
    step_node, parent, front_start = best.step_node, best.parent, best.front_start
    rows, n = best.graph.row_start, best.step_node.size
    if n > SMALL_NODES and np.array_equal(row_of, rows):  # share equal arrays
        row_of = rows
        super_start = rows if np.array_equal(super_start, rows) else super_start
        if best.graph.rows == n:
            step_node = program[program[ORDER_AT] :][:n]
        if program[SCALARS]:
            front_start, front = scalar_fronts(program)
            after = program[program[NODAL_AT] + n + 1 :][:n]
            parent = after if np.array_equal(after, parent) else parent
        elif np.array_equal(front, parent[:-1]):
            front = parent[:-1]
    return Symbolic(
        best.graph, best.name, candidates, best.precedence, symmetric,
        step_node, parent, front_start, front, fill, super_start, row_of, program,
        program.item(ARENA_TOTAL), program.item(WIDEST), best.operations,
    )  # fmt: skip
