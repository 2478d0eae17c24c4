"""Arrays in which the graph and the programs of a near model are written."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics.kernels.collisions import near_plan

__all__ = ["GraphRoom"]

Ints = NDArray[np.int64]

#: Entries of fronts and numbers of a program for each edge, before any is known: what a humanoid
#: needs. Where they do not suffice, there is twice the room from then on.
ROOM = 2, 64


class GraphRoom:
    """Room for graphs of so many nodes, and of up to so many edges.

    Parameters
    ----------
    orders : int
        How many programs there are, one for each order.
    nodes, edges : int
    widest : int
        Most rows of a node.
    entries, length : int, optional
        Entries of all fronts, and numbers of a program.

    Attributes
    ----------
    missing : bool
        Whether the last fronts or programs did not fit.
    """

    def __init__(
        self, orders: int, nodes: int, edges: int, widest: int, entries: int = 0, length: int = 0
    ) -> None:
        self.orders, self.nodes, self.edges, self.widest = orders, nodes, edges, widest
        self.entries, self.length = max(entries, ROOM[0] * edges), max(length, ROOM[1] * edges)
        self._found = np.zeros((orders, near_plan.FOUND_SIZE), np.int64)
        self._graph = np.empty(_size(nodes, edges), np.int64)
        self._programs = np.empty((orders, self.length), np.int64)
        self._work = (
            near_plan.room_of(nodes, edges, self.entries, widest * nodes),
            np.empty(nodes, np.int64), np.empty(2 * edges, np.int64),
        )  # fmt: skip

    def holds(self, nodes: int, edges: int) -> bool:
        """Whether a graph fits."""
        return nodes == self.nodes and edges <= self.edges

    def larger(self, nodes: int, edges: int) -> GraphRoom:
        """Room for another graph, with twice of what the last one lacked.

        Parameters
        ----------
        nodes, edges : int

        Returns
        -------
        GraphRoom
        """
        most, edges = self._found.max(axis=0), max(self.edges, 2 * edges)
        entries, length = most.item(near_plan.FRONTS), most.item(near_plan.LENGTH)
        entries = 2 * entries if entries > self.entries else self.entries
        length = 2 * length if length > self.length else self.length
        return GraphRoom(self.orders, nodes, edges, self.widest, entries, length)

    def arrays(self, edges: int) -> tuple[Any, ...]:
        """Work arrays, then those of `near_plan.join_graph` that are written.

        Parameters
        ----------
        edges : int
            Of the graph, repeats included.

        Returns
        -------
        tuple
        """
        work = self._work[0], np.empty((2, edges), np.int64), *self._work[1:]
        graph = _tables(self._graph, self.nodes, 2 * edges, 2 * edges)
        return work, graph, self._programs, self._found

    @property
    def missing(self) -> bool:
        """Whether the last fronts or programs did not fit."""
        most = self._found.max(axis=0)
        return bool(most[near_plan.FRONTS] > self.entries or most[near_plan.LENGTH] > self.length)

    def kept(self, edges: int) -> tuple[tuple[Ints, ...], int, list[Ints]]:
        """Copy of what was written: tables of the graph, entries of its blocks, programs.

        Parameters
        ----------
        edges : int
            As for `arrays`.

        Returns
        -------
        tuple of ndarray of int
        int
        list of ndarray of int
        """
        numbers = self._graph[: _size(self.nodes, edges)].copy()
        numbers.setflags(write=False)
        programs = []
        for program, length in zip(self._programs, self._found[:, near_plan.LENGTH].tolist()):
            made = program[:length].copy()
            made.setflags(write=False)
            programs.append(made)
        count, entries = self._found[0, [near_plan.NEIGHBOURS, near_plan.NNZ]].tolist()
        return _tables(numbers, self.nodes, 2 * edges, count), entries, programs


def _size(nodes: int, edges: int) -> int:
    """Numbers of the tables of a graph."""
    return 4 * nodes + 2 + 4 * edges


def _tables(numbers: Ints, nodes: int, room: int, count: int) -> tuple[Ints, ...]:
    """Tables of a graph, with so many numbers in its lists of neighbours: `BlockGraph.tables`."""
    n, at = nodes, 4 * nodes + 2
    return (
        numbers[:n], numbers[n : 2 * n + 1], numbers[2 * n + 1 : 3 * n + 2],
        numbers[at : at + count], numbers[3 * n + 2 : at],
        numbers[at + room : at + room + count],
    )  # fmt: skip
