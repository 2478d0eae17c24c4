"""Partial refactorization: the supernodes that a change of some blocks reaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.kernels.base.layout import GROWTH, PIVOT_RATIO, ROWS, SUPERNODES, WEAKEST
from graphsys.kernels.blocks.growth import pivot_growth
from graphsys.kernels.single.fused_solve import TOLERANCE
from graphsys.kernels.single.partial_update import (
    climb,
    reach_sizes,
    reach_tables,
    refactorize_reached,
)
from graphsys.symbolic import Symbolic

Array = NDArray[Any]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """Tables to factorize a part of s supernodes again; made once for a `Symbolic`, when needed.

    Attributes
    ----------
    symbolic : Symbolic
    first_row : ndarray of int, shape (n,)
        First row of each node in the elimination order.
    super_of_row : ndarray of int, shape (rows,)
        Supernode of each row.
    parent : ndarray of int, shape (s,)
        Supernode that each one updates first, -1 at a root: all it updates are ancestors.
    load_start : ndarray of int, shape (s + 1,)
        Where the blocks of each supernode start in the load table.
    source_start : ndarray of int, shape (s + 1,)
        Supernode t is updated by ``source[source_start[t]:source_start[t + 1]]``.
    source : ndarray of int, shape (u,)
        Supernodes, ascending.
    update_at : ndarray of int, shape (u,)
        Places in the program of these updates.
    pivot_row : ndarray of int, shape (b,)
        First row of each pivot block.
    """

    symbolic: Symbolic
    first_row: Ints
    super_of_row: Ints
    parent: Ints
    load_start: Ints
    source_start: Ints
    source: Ints
    update_at: Ints
    pivot_row: Ints

    @classmethod
    def of(cls, symbolic: Symbolic) -> Reach:
        """Tables of a symbolic factorization."""
        program = symbolic.supernodal_program
        count = int(program[SUPERNODES])
        updates, blocks = reach_sizes(program)
        super_of_row = np.empty(int(program[ROWS]), np.int64)
        parent = np.empty(count, np.int64)
        load_start, source_start = np.zeros((2, count + 1), np.int64)
        source, update_at = np.empty((2, updates), np.int64)
        pivot_row = np.empty(blocks, np.int64)
        reach_tables(
            program, super_of_row, parent, load_start, source_start, source, update_at, pivot_row
        )
        first_row = np.empty(symbolic.step_node.size, np.int64)
        first_row[symbolic.step_node] = symbolic.row_of[:-1]
        return cls(
            symbolic,
            first_row,
            super_of_row,
            parent,
            load_start,
            source_start,
            source,
            update_at,
            pivot_row,
        )

    def from_nodes(self, nodes: Ints) -> Ints:
        """Supernodes of some nodes and all their ancestors, ascending."""
        rows = self.first_row[nodes[self.symbolic.graph.size[nodes] > 0]]
        reached = np.empty(self.parent.size, np.int64)
        mark = np.zeros(self.parent.size, np.bool_)
        return np.sort(reached[: climb(self.parent, rows, self.super_of_row, mark, reached)])

    def refactorize(
        self, reached: Ints, values: Array, magnitude: Array, arena: Array, info: Array
    ) -> int:
        """Factorize some supernodes again: 0, or 1 + the row of a singular pivot block.

        Parameters
        ----------
        reached : ndarray of int
            From `from_nodes`.
        values : ndarray, shape (graph.nnz,)
        magnitude, arena : ndarray
            As the last factorization left them.
        info : ndarray, shape (6,)
            See `kernels.single.fused_solve`; gets the result for all supernodes.
        """
        failed = refactorize_reached(
            self.symbolic.supernodal_program,
            self.load_start,
            self.source_start,
            self.source,
            self.update_at,
            reached,
            values,
            info.item(TOLERANCE),
            magnitude,
            arena,
            info,
        )
        if failed == 0:
            self.summarize(magnitude, info)
        return int(failed)

    def summarize(self, magnitude: Array, info: Array) -> None:
        """Write pivot ratio, weakest row and growth of all supernodes into ``info``.

        Parameters
        ----------
        magnitude : ndarray
            As a factorization without a singular pivot left it.
        info : ndarray, shape (6,)
        """
        program = self.symbolic.supernodal_program
        rows, growth = int(program[ROWS]), pivot_growth(program, magnitude)
        info[PIVOT_RATIO], info[WEAKEST], info[GROWTH] = 1.0, 0, growth
        ratios = magnitude[2 * rows + self.pivot_row]
        if ratios.min(initial=1.0) < 1.0:
            least = int(np.argmin(ratios))
            info[PIVOT_RATIO], info[WEAKEST] = ratios[least], self.pivot_row[least]
