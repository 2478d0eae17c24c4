"""Elimination orders for a matrix whose pivots are weak: nodes wait, then share pivot blocks."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from graphsys.analysis.pivot_supply import merged
from graphsys.symbolic import Symbolic

#: Most orders that are tried for one matrix, after the first.
REANALYSES = 8
#: Most rows of a system that becomes one pivot block if no other order is stable.
DENSE_ROWS = 2048


@dataclass(slots=True, eq=False)
class Reordering:
    """Constraints on the elimination order, extended until the factors are stable.

    Nodes with weak pivots wait for all their neighbours first. Then they share a pivot block with
    their ancestors in the elimination tree, twice as many each time, so that rows are exchanged
    between these. With all of them it is Gaussian elimination with partial pivoting.

    Attributes
    ----------
    last : frozenset of int
        Nodes that are not eliminated.
    waiting : set of int
        Nodes to eliminate after all their neighbours.
    groups : list of tuple of int
        Nodes that share a pivot block.
    """

    last: frozenset[int]
    waiting: set[int] = field(default_factory=set)
    groups: list[tuple[int, ...]] = field(default_factory=list)

    def extend(self, symbolic: Symbolic, steps: list[int], attempt: int) -> bool:
        """Let the nodes of some steps wait, or join their ancestors; False if they all do.

        Parameters
        ----------
        symbolic : Symbolic
            In the last order.
        steps : list of int
            Elimination steps with weak pivots.
        attempt : int
            Number of the last order, from 0.
        """
        before = self._state()
        inside = {node for group in self.groups for node in group}
        more: list[tuple[int, ...]] = []
        super_of = np.searchsorted(symbolic.super_start, steps, side="right") - 1
        for step, s in zip(steps, super_of.tolist()):
            own = symbolic.step_node[symbolic.super_start[s] : symbolic.super_start[s + 1]]
            node = int(symbolic.step_node[step])
            if attempt == 0 and own.size == 1 and node not in self.waiting | inside:
                self.waiting.add(node)
                continue
            group, at = set(own.tolist()), int(symbolic.super_start[s + 1]) - 1
            for _ in range(2**attempt):
                at = int(symbolic.parent[at])
                if at < 0 or int(symbolic.step_node[at]) in self.last:
                    break
                group.add(int(symbolic.step_node[at]))
            more.append(tuple(sorted(group - self.last)))
        self._join(more)
        if self._state() == before or attempt == REANALYSES - 1:
            if int(symbolic.row_of[-1]) <= DENSE_ROWS:
                nodes = np.flatnonzero(symbolic.graph.size > 0).tolist()
                self._join([tuple(node for node in nodes if node not in self.last)])
        return self._state() != before

    def _state(self) -> tuple[int, list[tuple[int, ...]]]:
        """Number of nodes that wait, and all groups."""
        return len(self.waiting), sorted(self.groups)

    def _join(self, more: list[tuple[int, ...]]) -> None:
        """Let more groups of nodes share a pivot block."""
        self.groups[:] = merged([*self.groups, *(group for group in more if len(group) > 1)])
        self.waiting -= {node for group in self.groups for node in group}
