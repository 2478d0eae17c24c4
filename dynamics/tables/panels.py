"""Groups of pivots whose fronts are small: tables of `dynamics.kernels.interval.panels`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import graphsys as gs
from dynamics.kernels.base.layout import PANEL, SIDE

__all__ = ["panel_tables"]

Ints = NDArray[np.int64]


def panel_tables(symbolic: gs.Symbolic, ends: Ints, unknowns: Ints) -> tuple[int, Ints]:
    """Tables of the factorization of a block graph in panels of eight rows.

    Parameters
    ----------
    symbolic : Symbolic
    ends : ndarray of int, shape (2, e)
        Rows and columns of its entries, numbered node after node.
    unknowns : ndarray of int, shape (n,)
        Numbers of its rows in the right-hand side.

    Returns
    -------
    int
        Number of groups; 0 where one does not fit into a panel.
    ndarray of int
        Places of the entries, `unknowns` in the order of pivots, records, sums; empty without
        groups.
    """
    sizes, steps = np.asarray(symbolic.graph.size), np.asarray(symbolic.step_node)
    first = np.concatenate([[0], np.cumsum(sizes)])
    rows_of = [list(range(first[node], first[node + 1])) for node in steps]
    groups = list[tuple[list[int], list[int]]]()  # pivots and front
    for k, pivots in enumerate(rows_of):
        front = symbolic.front[symbolic.front_start[k] : symbolic.front_start[k + 1]]
        later = [row for step in front for row in rows_of[step]]
        if groups and symbolic.parent[k - 1] == k:
            if len(groups[-1][0]) + len(pivots) + len(later) <= SIDE:
                pivots = groups.pop()[0] + pivots
        if len(pivots) + len(later) > SIDE:
            return 0, np.zeros(0, np.int64)
        groups.append((pivots, later))
    groups = _by_height(groups)
    order = [row for pivots, _ in groups for row in pivots]
    position = np.argsort(order)
    group_of = {row: g for g, (pivots, _) in enumerate(groups) for row in pivots}

    def place(row: int, column: int) -> int:
        """Place of an entry, in the panel of its first pivot."""
        g = min(group_of[row], group_of[column])
        rows = [*groups[g][0], *groups[g][1]]
        return PANEL * g + SIDE * rows.index(column) + rows.index(row)

    targets = [place(*entry) for entry in ends.T.tolist()]
    records, sums = list[int](), list[int]()
    for g, (pivots, front) in enumerate(groups):
        rows = [*pivots, *front]
        none = [len(order)] * (SIDE - len(rows))  # the number after all unknowns, which is 0
        records += [len(pivots), len(front) ** 2, *position[rows].tolist(), *none]
        for j, column in enumerate(front, len(pivots)):
            for i, row in enumerate(front, len(pivots)):
                sums += [PANEL * g + SIDE * j + i, place(row, column)]
    return len(groups), np.array([*targets, *unknowns[order], *records, *sums], np.int64)


def _by_height(groups: list[tuple[list[int], list[int]]]) -> list[tuple[list[int], list[int]]]:
    """Groups by their height in the elimination tree: processors overlap those of a height."""
    height = [0] * len(groups)
    of = {row: g for g, (pivots, _) in enumerate(groups) for row in pivots}
    for g, (_, front) in enumerate(groups):
        for row in front:
            height[of[row]] = max(height[of[row]], height[g] + 1)
    return [groups[g] for g in sorted(range(len(groups)), key=height.__getitem__)]
