"""Velocities that joints allow: by the rates of a spanning tree, which loops restrict."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import graphsys as gs
from dynamics.kernels.base import layout
from dynamics.parts.bodies import WORLD

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = ["Motions", "RowSlopes", "Slopes", "groups_of", "soft_rows"]

Float = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Singular values below this part of the largest are those of redundant constraints.
RANK = 1e-8
#: Velocity of a body per rate of a coordinate, m/s or rad/s per rad/s or m/s, above which
#: coordinates do not measure its motion.
LARGEST = 1e8


class Motions:
    """Motions of bodies by the rates of some coordinates: what depends on the mechanism alone.

    Parameters
    ----------
    model : Model
    rates : ndarray of int, shape (r,)
        Rows of the tables whose values are rates of coordinates.
    bodies : ndarray of int, shape (n,), optional
        Numbers of the bodies that move; by default all.
    free : iterable of int, optional
        Bodies, as places in ``bodies``, whose twists count as rates before the others.
    """

    def __init__(
        self, model: Model, rates: Ints, bodies: Ints | None = None, free: Iterable[int] = ()
    ) -> None:
        bodies = np.arange(model.n_bodies) if bodies is None else bodies
        self.tree = SpanningTree(model, bodies)
        rigid = np.flatnonzero(~soft_rows(model))
        self.rigid = RowSlopes(model, rigid, bodies)
        self.closures = RowSlopes(model, rigid[self.tree.closures], bodies)
        self.coordinates = RowSlopes(model, rates, bodies)
        self.base = np.array([6 * i + c for i in free for c in range(layout.TWIST)], np.int64)
        place = {column: k for k, column in enumerate(self.tree.columns.tolist())}
        keys = [*(-1 - self.base).tolist(), *rates.tolist()]
        self.size = len(keys)
        # columns of the tree in the order of the rates, where there is no other motion
        whole = not self.tree.closures.size and set(keys) == set(place)
        self.order = np.array([place[key] for key in keys], np.int64) if whole else None


class Slopes:
    """Jacobians of constraints and of coordinates at one state.

    Parameters
    ----------
    motions : Motions
    numbers, changes : ndarray of float
        Of `dynamics.kinematics.joint_space.row_slopes`; the changes are read for ``bend`` and
        ``swing`` alone.

    Attributes
    ----------
    G, bend : scipy.sparse array, shape (m, 6 n)
        Of the rigid constraints with respect to (x, theta) of every body; and of their rates ``G
        V``, ``V`` fixed.
    J, swing : scipy.sparse array, shape (r, 6 n)
        The same of the coordinates.
    """

    def __init__(self, motions: Motions, numbers: Float, changes: Float) -> None:
        self._motions, self._numbers, self._changes = motions, numbers, changes

    def of(self, motions: Motions) -> Slopes:
        """Those of other coordinates at the same state."""
        return Slopes(motions, self._numbers, self._changes)

    @cached_property
    def G(self) -> Any:
        """Rigid constraints by all bodies."""
        return self._motions.rigid.matrix(self._numbers)

    @cached_property
    def J(self) -> Any:
        """Rates of coordinates by all bodies."""
        return self._motions.coordinates.matrix(self._numbers)

    @cached_property
    def bend(self) -> Any:
        """Changes of ``G V``."""
        return self._motions.rigid.matrix(self._changes)

    @cached_property
    def swing(self) -> Any:
        """Changes of ``J V``."""
        return self._motions.coordinates.matrix(self._changes)

    def rates(self, motions: Float) -> Float:
        """Rates of all coordinates, those of free bodies first, of motions of shape (6 n, c)."""
        return np.concatenate([motions[self._motions.base], self.J @ motions])

    @cached_property
    def _tree(self) -> Float:
        """Motions of the tree by its rates, shape (6 n, k)."""
        return self._motions.tree.solve(self._numbers, self._motions.tree.unit_rates)

    @cached_property
    def _closed(self) -> tuple[Float, Float]:
        """Rates of the tree that keep loops closed, shape (k, d), and the pseudo-inverse."""
        k = self._motions.tree.columns.size
        if not self._motions.tree.closures.size:
            return np.eye(k), np.zeros((k, 0))
        closing = self._motions.closures.matrix(self._numbers) @ self._tree
        U, s, Vt = np.linalg.svd(closing)
        rank = int((s > RANK * max(1e-300, s.max(initial=0.0))).sum())
        return Vt[rank:].T, (Vt[:rank].T / s[:rank]) @ U[:, :rank].T

    def free(self) -> Float:
        """Basis of the motions that the constraints leave, shape (6 n, d)."""
        return self._tree @ self._closed[0] if self._motions.tree.closures.size else self._tree

    def along(self) -> Float:
        """Motions of all bodies that coordinates stand for.

        Returns
        -------
        ndarray of float, shape (6 n, k)
            ``G along = 0``; the rates of ``along`` are the identity or, where the coordinates
            depend on each other, the projection onto what they can do.

        Raises
        ------
        ValueError
            If bodies can move without any coordinate changing.
        """
        if self._motions.order is not None:
            return self._tree[:, self._motions.order]
        free = self.free()
        freedoms = free.shape[1]
        U, s, Vt = np.linalg.svd(self.rates(free), full_matrices=False)
        found = int((s > RANK * max(1e-300, s.max(initial=0.0))).sum())
        if found < freedoms:
            raise ValueError(
                f"the bodies have {freedoms} freedoms, and joint coordinates measure {found} of "
                "them; name all joints, give free bodies a Floating joint to the world, or use "
                'coordinates "maximal"'
            )
        return np.asarray(free @ (Vt.T / s) @ U.T)

    def seen(self, S: Any) -> Float:
        """``S along``, S of few rows, shape (c, k): of a tree by its transpose alone."""
        if self._motions.order is None:
            return np.asarray(S @ self.along())
        tree = self._motions.tree
        return tree.solve(self._numbers, S.T, "T")[tree.rate_rows[self._motions.order]].T

    def held(self, wanted: Float) -> Float:
        """Motions x of ``G x = wanted``, shape (6 n, c); of redundant rows the nearest."""
        tree = self._motions.tree
        found = tree.solve(self._numbers, tree.right_sides(wanted))
        if tree.closures.size:
            missed = wanted[tree.closures] - self._motions.closures.matrix(self._numbers) @ found
            found += self._tree @ (self._closed[1] @ missed)
        return found


class RowSlopes:
    """Sparsity of the Jacobian of some rows of the tables, found once.

    Parameters
    ----------
    model : Model
    rows : ndarray of int, shape (m,)
        Rows of constraints, forces or coordinates, in the order of the tables.
    bodies : ndarray of int, shape (n,), optional
        Whose velocities are columns; by default those of all bodies.
    empty : ndarray of bool, shape (m,), optional
        Rows that are left empty.
    """

    def __init__(
        self,
        model: Model,
        rows: Ints,
        bodies: Ints | None = None,
        empty: NDArray[np.bool_] | None = None,
    ) -> None:
        n, groups = model.n_bodies, groups_of(model)
        bodies = np.arange(n) if bodies is None else bodies
        column = np.full(n + 1, -1)
        column[bodies] = np.arange(bodies.size)
        owner = np.searchsorted(groups[:, layout.FIRST_ROW], rows, side="right") - 1
        place = {row: k for k, row in enumerate(rows.tolist())}
        found = [
            (k, side, row)
            for k, row in enumerate(rows.tolist())
            for side in groups[owner[k], [layout.A, layout.B]].tolist()
        ]
        parts = [(k, body, 2 * row + i % 2) for i, (k, body, row) in enumerate(found)]
        for group in groups[groups[:, layout.EQUATION] != groups[:, layout.FIRST_ROW]].tolist():
            for i in range(group[layout.N_ROWS]):
                if group[layout.EQUATION] + i in place:
                    k, row = place[group[layout.EQUATION] + i], group[layout.FIRST_ROW] + i
                    parts += [(k, group[layout.A], 2 * row), (k, group[layout.B], 2 * row + 1)]
        parts = sorted(
            (k, int(column[body]), at)
            for k, body, at in parts
            if column[body] >= 0 and (empty is None or not empty[k])
        )
        at = np.array(parts, np.int64).reshape(-1, 3)
        six = np.arange(layout.TWIST)
        counts = np.bincount(at[:, 0], minlength=rows.size)
        self._taken = layout.TWIST * at[:, 2, None] + six
        self._empty = csr_array(
            (
                np.zeros(self._taken.size),
                (layout.TWIST * at[:, 1, None] + six).ravel(),
                layout.TWIST * np.concatenate([[0], np.cumsum(counts)]),
            ),
            shape=(rows.size, layout.TWIST * bodies.size),
        )

    def matrix(self, slopes: Float) -> Any:
        """Jacobian, scipy.sparse of shape (m, 6 n), from 12 numbers for each row of the tables."""
        found = copy.copy(self._empty)
        found.data = slopes[self._taken].ravel()
        return found


class SpanningTree:
    """Spanning tree of the joints that leave their child no motion but their own coordinates.

    The twist of a child follows from that of its parent and the rates of the joint: six equations
    for each body, which are a system on the tree. Bodies that no such joint leads to are free.

    Parameters
    ----------
    model : Model
    bodies : ndarray of int, shape (n,)
        Numbers of the bodies; others, such as planes between shapes, are left out.

    Attributes
    ----------
    columns : ndarray of int, shape (k,)
        What each rate is: the row of a joint's coordinate in the tables, or ``-1 - (6 i + c)`` of
        component c of the twist of the free body ``bodies[i]``.
    equations : ndarray of int, shape (t,)
        Constraints, as places among the rigid rows, that the tree fulfils.
    closures : ndarray of int, shape (l,)
        The other ones, of loops.
    rate_rows : ndarray of int, shape (k,)
        Equation of each rate.
    unit_rates : ndarray of float, shape (6 n, k)
        Right-hand sides of `solve` for each rate.
    """

    def __init__(self, model: Model, bodies: Ints) -> None:
        self.size = layout.TWIST * bodies.size
        groups, rigid = groups_of(model), np.flatnonzero(~soft_rows(model))
        place = {row: k for k, row in enumerate(rigid.tolist())}
        graph, columns, equations = nx.Graph(), [], []
        graph.add_nodes_from(range(bodies.size))
        taken, blocks, at_equation, at_rate = [], [], [], []
        six = np.arange(layout.TWIST)
        for i, parent, rows, side in _tree(model, bodies, groups, place):
            if rows is None:
                columns += [-1 - (layout.TWIST * i + c) for c in range(layout.TWIST)]
                at_rate += [layout.TWIST * i + c for c in range(layout.TWIST)]
                continue
            for c, row in enumerate(rows):
                if row in place:
                    equations.append(place[row])
                    at_equation.append(layout.TWIST * i + c)
                else:
                    columns.append(row)
                    at_rate.append(layout.TWIST * i + c)
            flat = layout.TWIST * (2 * np.array(rows)[:, None])
            blocks.append((i, i))
            taken.append(flat + layout.TWIST * side + six)
            if parent >= 0:
                graph.add_edge(parent, i)
                blocks.append((i, parent))
                taken.append(flat + layout.TWIST * (1 - side) + six)
        self.columns = np.array(columns, np.int64)
        self.equations = np.array(equations, np.int64)
        self.closures = np.setdiff1d(np.arange(rigid.size), self.equations)
        self._at_equation = np.array(at_equation, np.int64)
        self.rate_rows = np.array(at_rate, np.int64)
        self.unit_rates = np.zeros((self.size, self.columns.size))
        self.unit_rates[self.rate_rows, np.arange(self.columns.size)] = 1.0
        system = gs.System(graph, layout.TWIST)
        for i in range(bodies.size):
            system[i, i] = np.eye(layout.TWIST)
        ends = np.array(blocks, np.int64).reshape(-1, 2).T.tolist()
        self._taken = np.array(taken, np.int64).reshape(-1, layout.TWIST, layout.TWIST)
        self._places = system.places(*ends) if blocks else self._taken
        system.analyze()
        self._system = system
        self._idle: list[gs.Factor] = []  # of other threads than those that solve

    def right_sides(self, wanted: Float) -> Float:
        """Right-hand sides of `solve` where constraints have values and rates are zero."""
        right = np.zeros((self.size, *wanted.shape[1:]))
        right[self._at_equation] = wanted[self.equations]
        return right

    def solve(self, slopes: Float, right: Float, trans: str = "N") -> Float:
        """Twists of all bodies whose tree equations have given right-hand sides.

        Parameters
        ----------
        slopes : ndarray of float
            Jacobian of all rows of the tables, 12 numbers each.
        right : ndarray of float, shape (6 n, c)
        trans : {"N", "T"}, optional
            "T" solves with the transpose.

        Returns
        -------
        ndarray of float, shape (6 n, c)

        Raises
        ------
        ValueError
            If coordinates of a joint do not measure its motion.
        """
        values = self._system.values.copy()
        values[self._places] = slopes[self._taken]
        factor = self._idle.pop() if self._idle else self._system.factorize()
        try:
            factor.refactorize(values)
            found = np.asarray(factor.solve(right, trans))
        except gs.SingularPivotError:
            found = np.full(right.shape, np.inf)
        self._idle.append(factor)
        if not np.abs(found).max(initial=0.0) < LARGEST * max(1.0, np.abs(right).max(initial=0.0)):
            raise ValueError("the coordinates of a joint do not measure its motion here")
        return found


def groups_of(model: Model) -> Ints:
    """Fields of all groups of the tables, one row each."""
    plan = model.tables.plan
    count = layout.GROUP_FIELDS * int(plan[layout.MEASURES])
    return np.asarray(plan[plan[layout.GROUP_AT] :][:count].reshape(-1, layout.GROUP_FIELDS))


def soft_rows(model: Model) -> NDArray[np.bool_]:
    """True for each compliant constraint row, shape (m,)."""
    plan, constant = model.tables.plan, model.tables.constant
    rows = constant[plan[layout.ROW_CONSTANT_AT] :][: layout.ROW_SIZE * model.n_rows]
    return np.asarray(rows.reshape(-1, layout.ROW_SIZE)[:, layout.COMPLIANCE] > 0.0)


def _tree(
    model: Model, bodies: Ints, groups: Ints, rigid: dict[int, int]
) -> list[tuple[int, int, list[int] | None, int]]:
    """Each body, its parent (-1: the world), the six rows between them, and its side of them.

    Parents come first; the rows of a free body are None.
    """
    number: dict[Hashable, int] = {model.bodies[b].name: i for i, b in enumerate(bodies)}
    number[WORLD.name] = -1
    joints: dict[int, list[tuple[int, int, list[int]]]] = {i: [] for i in number.values()}
    for joint in model.mechanism.joints.values():
        if len(joint.bodies) != 2 or any(one.name not in number for one in joint.bodies):
            continue
        rows = _rows_of(model, joint.name, groups)
        coordinates = rows[rows >= model.n_rows]
        if rows.size == layout.TWIST and all(
            row in rigid for row in rows[: rows.size - coordinates.size].tolist()
        ):
            a, b = number[joint.parent.name], number[joint.child.name]
            joints[a].append((b, 1, rows.tolist()))
            joints[b].append((a, 0, rows.tolist()))
    found: list[tuple[int, int, list[int] | None, int]] = []
    reached, last = {-1}, [-1]
    for root in (-1, *range(bodies.size)):
        if root not in reached:
            found.append((root, -1, None, 0))
            reached.add(root)
            last = [root]
        while last:
            parent = last.pop()
            for i, side, rows_of in joints[parent]:
                if i not in reached:
                    found.append((i, parent, rows_of, side))
                    reached.add(i)
                    last.append(i)
    return found


def _rows_of(model: Model, name: Hashable, groups: Ints) -> Ints:
    """Rows of a joint's constraints, then of the rates of its coordinates."""
    tables, found = model.tables, []
    if name in tables.joint_index:
        found.append(tables.joint_index[name])
    if name in tables.measure_group:
        found.append(tables.measure_group[name][1])
    rows = [
        np.arange(groups[k, layout.N_ROWS]) + groups[k, layout.FIRST_ROW]
        for k in found
        if not groups[k, layout.CALLBACK]
    ]
    return np.concatenate([np.zeros(0, np.int64), *rows])
