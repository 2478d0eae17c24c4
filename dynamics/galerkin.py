"""Orders 4 and 6: tables of the Galerkin-Lobatto steps on the mechanism's own graph."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

import graphsys as gs
from dynamics.integrators.tree_quadrature import lobatto
from dynamics.kernels import galerkin_step
from dynamics.kernels import layout as at
from dynamics.tables import Tables, solver_arrays, worst_part

if TYPE_CHECKING:
    from dynamics.mechanism import Mechanism

__all__ = ["Stages", "check_order", "limits_of"]

Float = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Newton's tolerance, and the angle in rad that a body may turn in one interval, by order.
TOLERANCE = {2: 1e-10, 4: 1e-12, 6: 1e-12}
#: Every cut shifts the energy a little: an hour of a double pendulum stays below 0.165 rad a step
#: and needs none; rhombic chains need cuts above 0.18 rad to keep theirs within 1 %.
LARGEST_TURN = {2: 0.17, 4: 0.6, 6: 1.2}


def check_order(order: int, form: str, mechanism: Mechanism) -> None:
    """Refuse what an order does not offer.

    Parameters
    ----------
    order : int
    form : str
        See `Model`.
    mechanism : Mechanism

    Raises
    ------
    ValueError
        For other orders than 2, 4 and 6; beyond 2 for contacts, limits, joints with compliance and
        the first-order form.
    """
    if isinstance(order, bool) or order not in TOLERANCE:
        raise ValueError(f"order {order!r} is not offered; use 2, 4 or 6")
    if order == 2:
        return
    if form != "second order":
        raise ValueError(f"form {form!r} is one of order 2; leave it out with order={order}")
    if mechanism.contacts:
        name = next(iter(mechanism.contacts))
        raise ValueError(f"contact {name!r} needs order=2: impacts have no higher order")
    for joint in mechanism.joints.values():
        if joint.compliance > 0.0:
            raise ValueError(
                f"joint {joint.name!r} is compliant, which needs order=2; model what gives way by "
                "a joint that is free there, with spring= and damper="
            )
        if joint.kind in ("rolling", "knife edge"):
            raise ValueError(f"joint {joint.name!r} holds velocities, which needs order=2")
        if joint.limits is not None:
            raise ValueError(f"limits of joint {joint.name!r} need order=2, as contacts do")
    for spring in mechanism.springs.values():
        if spring.limits is not None:
            raise ValueError(f"limits of {spring.name!r} need order=2, as contacts do")


def limits_of(
    order: int, tolerance: float | None, largest_turn: float | None
) -> tuple[float, float]:
    """Newton's tolerance and the largest turn, those of the order where they are not given.

    Parameters
    ----------
    order : int
    tolerance, largest_turn : float or None

    Returns
    -------
    tuple of float
    """
    return (
        TOLERANCE[order] if tolerance is None else tolerance,
        LARGEST_TURN[order] if largest_turn is None else largest_turn,
    )


class Stages:
    """Symbolic factorization and tables of steps with s + 1 nodes.

    A body has 6 s unknowns and a joint with m rows m s, on the graph of the mechanism; springs and
    dampers between two bodies join them by an edge.

    Parameters
    ----------
    tables : Tables
        Of the second-order step.
    order : int
        2 s.
    coupled : bool, optional
        Whether Newton's matrix has what constraint forces on one body change when the other of the
        joint moves: exact, at the price of an edge a joint.

    Attributes
    ----------
    plan : ndarray of int, shape (any,)
        That of `tables`, with the places of these blocks.
    symbolic : graphsys.Symbolic
    tables : tuple
        Plan, constants and program of the kernels.
    kernel : module
        With ``step`` and ``simulate``.
    rule : tuple of ndarray
        Weights, slopes, nodes; places of the blocks between the bodies of each group; these places
        once each, with the body of their columns.
    """

    def __init__(self, tables: Tables, order: int, coupled: bool = False) -> None:
        self.base, self.s, self.coupled = tables, order // 2, coupled
        self.kernel = galerkin_step
        weights, slope, place, _ = lobatto(self.s)
        plan = tables.plan.copy()
        n, joints, groups = (int(plan[i]) for i in (at.BODIES, at.JOINTS, at.GROUPS))
        held = int(plan[at.GROUP_AT])
        table = plan[held : held + groups * at.GROUP_FIELDS].reshape(groups, at.GROUP_FIELDS)
        bodies, names = list(tables.body_index), list(tables.joint_index)
        graph = nx.Graph()
        sizes: dict[Hashable, int] = {name: at.TWIST * self.s for name in bodies}
        graph.add_nodes_from(bodies)
        for k in range(joints):
            graph.add_node(names[k])
            sizes[names[k]] = self.s * int(table[k, at.N_ROWS])
            for i in table[k, [at.A, at.B]].tolist():
                if i < n:
                    graph.add_edge(bodies[i], names[k])
        acts = _acting(tables, table)
        acts[:joints] = coupled and self.s > 1
        pairs = np.full((groups, 2), -1)
        both = np.flatnonzero(acts & (table[:, [at.A, at.B]] < n).all(axis=1))
        graph.add_edges_from((bodies[table[k, at.A]], bodies[table[k, at.B]]) for k in both)
        self.symbolic = gs.System(graph, sizes).analyze(zero_diagonal=names)
        places = self.symbolic.graph
        plan[at.HEADER : at.HEADER + n] = places.diagonal_at[:n]
        table[:, at.DIAGONAL_AT : at.JB_AT + 1] = -1
        for k in range(joints):
            table[k, at.DIAGONAL_AT] = places.diagonal_at[n + k]
            for end, to in ((at.A, at.AJ_AT), (at.B, at.BJ_AT)):
                body = int(table[k, end])
                if body < n:
                    there = places.edge_at(body, n + k), places.edge_at(n + k, body)
                    table[k, to : to + 2] = there
        columns: dict[int, int] = {}
        for k in both.tolist():
            a, b = int(table[k, at.A]), int(table[k, at.B])
            pairs[k] = places.edge_at(a, b), places.edge_at(b, a)
            columns |= {int(pairs[k, 0]): b, int(pairs[k, 1]): a}
        plan.setflags(write=False)
        self.plan = plan
        self.tables = (plan, tables.constant, self.symbolic.program)
        once = np.array(list(columns.items()), np.int64).ravel()
        self.rule = (weights, slope, place, pairs.ravel(), once)

    def like(self, tables: Tables) -> Stages:
        """Those of other tables."""
        return Stages(tables, 2 * self.s, self.coupled)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.base, 2 * self.s, self.coupled)

    def solver(self) -> tuple[Float, ...]:
        """Arrays of the solver for one thread: see `dynamics.workspace.Workspace`."""
        return solver_arrays(self.symbolic)

    def work(self) -> tuple[Any, ...]:
        """Arrays of `dynamics.kernels.galerkin_step` for one thread."""
        n, rows, every = (int(self.plan[i]) for i in (at.BODIES, at.ROWS, at.ALL_ROWS))
        nodes, unknowns = self.s + 1, self.s * (at.TWIST * n + rows)
        sizes = (at.POSE * (n + 1), 9 * (n + 1), every, 12 * every, at.TWIST * n, 4 * n, n)
        x, r, dx, kept = np.zeros((4, unknowns))
        V, small = np.zeros((n, 9 * nodes**2)), np.zeros(9 + 9 * nodes**2)
        scratch = (r, dx, kept, np.zeros(every), np.zeros(at.TWIST * n), V, small)
        saved = np.zeros(at.state_size(n, rows))
        return self.rule, tuple(np.zeros((nodes, size)) for size in sizes), x, saved, scratch

    def worst(self, work: tuple[Any, ...]) -> tuple[Hashable, str]:
        """Name of the body or joint with the largest residual of the last step."""
        return worst_part(self.base, work[4][0], self.s)


def _acting(tables: Tables, table: Ints) -> NDArray[np.bool_]:
    """Which groups have a stiffness or a damping, so that their bodies feel each other."""
    start = int(tables.plan[at.ROW_CONSTANT_AT])
    rows = tables.constant[start : start + int(tables.plan[at.ALL_ROWS]) * at.ROW_SIZE]
    live = (rows.reshape(-1, at.ROW_SIZE)[:, [at.STIFFNESS, at.DAMPING]] != 0.0).any(axis=1)
    ends = table[:, at.FIRST_ROW] + table[:, at.N_ROWS]
    return np.array([live[a:b].any() for a, b in zip(table[:, at.FIRST_ROW], ends)], bool)
