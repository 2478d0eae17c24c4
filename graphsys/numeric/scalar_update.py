"""Partial refactorization of single rows: those that a change of some entries reaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.kernels.base.layout import ARENA_SIZE, GROWTH, NODAL_AT, PIVOT_RATIO, ROWS, WEAKEST
from graphsys.kernels.blocks.growth import pivot_growth
from graphsys.kernels.single.fused_solve import TOLERANCE
from graphsys.kernels.single.scalar_update import climb_rows, refactorize_rows, row_reach_tables
from graphsys.symbolic import Symbolic

Array = NDArray[Any]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class RowReach:
    """`Reach` of a program of n single rows with e entries of fronts.

    Attributes
    ----------
    symbolic : Symbolic
    position : ndarray of int, shape (n,)
        Row of each node in the elimination order.
    given : ndarray of int, shape (arena,)
        Place in values of each number of the factors, -1 where A has no entry.
    pair_start : ndarray of int, shape (n,)
        First update of each row.
    source_start : ndarray of int, shape (n + 1,)
        Row t is updated by ``source[source_start[t]:source_start[t + 1]]``.
    source : ndarray of int, shape (e,)
        Rows, ascending.
    entry : ndarray of int, shape (e,)
        Places of t in their fronts.
    """

    symbolic: Symbolic
    position: Ints
    given: Ints
    pair_start: Ints
    source_start: Ints
    source: Ints
    entry: Ints

    @classmethod
    def of(cls, symbolic: Symbolic) -> RowReach:
        """Tables of a symbolic factorization."""
        program, n = symbolic.program, symbolic.step_node.size
        entries = int(program[int(program[NODAL_AT]) + n])
        given, pair_start = np.empty(int(program[ARENA_SIZE]), np.int64), np.empty(n, np.int64)
        source_start, (source, entry) = np.empty(n + 1, np.int64), np.empty((2, entries), np.int64)
        row_reach_tables(program, given, pair_start, source_start, source, entry)
        position = np.empty(n, np.int64)
        position[symbolic.step_node] = np.arange(n)
        return cls(symbolic, position, given, pair_start, source_start, source, entry)

    def from_nodes(self, nodes: Ints) -> Ints:
        """Rows of some nodes and all their ancestors, ascending."""
        n = self.position.size
        reached, mark = np.empty(n, np.int64), np.zeros(n, np.bool_)
        count = climb_rows(self.symbolic.program, self.position[nodes], mark, reached)
        return np.sort(reached[:count])

    def refactorize(
        self, reached: Ints, values: Array, magnitude: Array, arena: Array, info: Array
    ) -> int:
        """Factorize some rows again; arguments and result as of `Reach.refactorize`."""
        program = self.symbolic.program
        failed = refactorize_rows(
            program, self.given, self.pair_start, self.source_start, self.source, self.entry,
            reached, values, info.item(TOLERANCE), magnitude, arena, info,
        )  # fmt: skip
        if failed == 0:
            ratios = magnitude[2 * int(program[ROWS]) :]
            least = int(np.argmin(ratios))
            info[PIVOT_RATIO], info[WEAKEST] = ratios[least], least
            info[GROWTH] = pivot_growth(program, magnitude)
        return int(failed)
