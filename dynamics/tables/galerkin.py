"""Orders 4 and 6: tables of the Galerkin-Lobatto steps on the mechanism's own graph."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

import graphsys as gs
from dynamics.kernels.base import layout
from dynamics.kernels.galerkin import step as galerkin_step
from dynamics.kernels.galerkin.body import SPIN
from dynamics.kernels.galerkin.predictor import DIFFERENCES
from dynamics.tables.lobatto import lobatto
from dynamics.tables.model_tables import Tables, solver_arrays, worst_part
from dynamics.tables.recombination import of_loose_rows

if TYPE_CHECKING:
    from dynamics.mechanism import Mechanism
    from dynamics.parts.joints import Joint

__all__ = ["Stages", "check_order", "limits_of"]

Float = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Newton's tolerance by order. Loops stay closed to it times their unit of length, and a free top
#: keeps its energy to 1e-9 of it over 1e4 steps (tests/dynamics/test_tolerance.py). At order 2
#: steps take 0 to 8 % longer than at 1e-10; 2e-12 would take up to 14 %.
TOLERANCE = {2: 5e-12, 4: 1e-11, 6: 5e-12}
#: Angle in rad that a body may turn in one interval, by order.
#: Every cut shifts the energy a little: an hour of a double pendulum stays below 0.165 rad a step
#: and needs none; rhombic chains need cuts above 0.18 rad to keep theirs near 1 %.
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
        For other orders than 2, 4 and 6; beyond 2 for contacts, limits, servos, dry friction,
        armature, compliances that are no springs (`check_soft`) and the first-order form.
    """
    if not isinstance(order, int) or isinstance(order, bool) or order not in TOLERANCE:
        raise ValueError(f"order {order!r} is not offered; use 2, 4 or 6")
    if order == 2:
        return
    if form != "second order":
        raise ValueError(f"form {form!r} is one of order 2; leave it out with order={order}")
    if mechanism.contacts:
        name = next(iter(mechanism.contacts))
        raise ValueError(f"contact {name!r} needs order=2: impacts have no higher order")
    if mechanism.collisions:
        raise ValueError("collide needs order=2: impacts have no higher order")
    for joint in mechanism.joints.values():
        if joint.soft:
            check_soft(joint)
        if joint.limits is not None or joint.velocity_limits is not None:
            raise ValueError(
                f"limits of joint {joint.name!r} need order=2, as contacts do; load a file without "
                "them by without=['limits', 'velocity_limits']"
            )
        if joint.armature.any():
            raise ValueError(
                f"armature of joint {joint.name!r} needs order=2; load a file without it by "
                "without=['armature'], or turn a body of the same inertia by a coupling"
            )
        if joint.servo is not None:
            raise ValueError(f"servo of joint {joint.name!r} needs order=2")
        if joint.friction.any():
            raise ValueError(
                f"friction of joint {joint.name!r} needs order=2, as contacts do; load a file "
                "without it by without=['friction']"
            )
    for spring in mechanism.springs.values():
        if spring.limits is not None:
            raise ValueError(f"limits of {spring.name!r} need order=2, as contacts do")


def check_soft(joint: Joint) -> None:
    """Refuse compliances that no springs of order 4 and 6 stand for: see `finalize`.

    Parameters
    ----------
    joint : Joint

    Raises
    ------
    ValueError
    """
    label = f"joint {joint.name!r}"
    if joint.theta != 0.5:
        raise ValueError(f"{label} has theta={joint.theta}, which needs order=2; leave it out")
    if joint.user is not None:
        raise ValueError(
            f"{label} is compliant and of a function, which needs order=2; make it a "
            "dynamics.Potential of g^T C^-1 g / 2"
        )
    _, mix = of_loose_rows(joint.compliance, joint.constraint_damping, joint.n_rows)
    if (mix.compliance == 0.0).any():
        raise ValueError(
            f"the compliance of {label} is singular other than by rows that are 0, which needs "
            "order=2"
        )


def limits_of(
    order: int, tolerance: float | None, largest_turn: float | None
) -> tuple[float, float]:
    """Newton's tolerance and the largest turn, those of the order where they are not given."""
    return (
        TOLERANCE[order] if tolerance is None else tolerance,
        LARGEST_TURN[order] if largest_turn is None else largest_turn,
    )


class Stages:
    """Symbolic factorization and tables of steps with s + 1 nodes.

    A body is s nodes of 6 unknowns and a joint with m rows s nodes of m, so that blocks stay small:
    node b has the equations of b and the control points b + 1, or the impulses b. All nodes b come
    one after the other, like those of order 2. The nodes of a body are joined, and node b of a
    joint with node b of its bodies; springs and dampers between two bodies join all their nodes.

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
    symbolic, fallback : graphsys.Symbolic
        Symbolic factorization, and a second one where `Tables` has one: joints that close loops
        then wait with all their stages (None for none).
    tables : tuple
        Plan, constants and program of the kernels.
    kernel : module
        With ``step`` and ``simulate``.
    rule : tuple of ndarray
        Weights, slopes and nodes.
    stages : tuple of ndarray
        K of `dynamics.kernels.galerkin.middle` and its inverse, row-major; theta of all rows.
    blocks : tuple of ndarray
        Places of the blocks of bodies, and after them of those between bodies; for each joint
        those of its diagonal blocks, and of the blocks (body, joint) and (joint, body) at each
        stage and end; where the blocks between the bodies of each group start among the first.
    """

    def __init__(self, tables: Tables, order: int, coupled: bool = False) -> None:
        self.base, self.s, self.coupled = tables, order // 2, coupled
        self.kernel = galerkin_step
        weights, slope, place, quasi = lobatto(self.s)
        self.rule = (weights, slope, place)
        self.plan = tables.plan
        rows = int(self.plan[layout.ROW_CONSTANT_AT]) + layout.ROW_SIZE * np.arange(
            self.plan[layout.ROWS]
        )
        theta = tables.constant[rows + layout.THETA]
        self.stages = (-np.linalg.inv(quasi.reshape(self.s, -1)).ravel(), -quasi, theta)
        n, joints, groups = (
            int(self.plan[i]) for i in (layout.BODIES, layout.JOINTS, layout.GROUPS)
        )
        held = int(self.plan[layout.GROUP_AT])
        table = self.plan[held : held + groups * layout.GROUP_FIELDS].reshape(
            groups, layout.GROUP_FIELDS
        )
        acts = _acting(tables, table)
        acts[:joints] = coupled and self.s > 1
        ends = table[:, [layout.A, layout.B]]
        both = np.flatnonzero(acts & (ends < n).all(axis=1))
        own = np.flatnonzero(table[:joints, layout.EQUATION] == table[:joints, layout.FIRST_ROW])
        node = np.searchsorted(table[own, layout.FIRST_ROW], table[:joints, layout.EQUATION])
        system = _system(tables, self.s, n, table[:joints], node, ends[both])
        zero = [(name, b) for name in tables.joint_index for b in range(self.s)]
        self.symbolic, self.fallback = system.analyze(zero_diagonal=zero), None
        if tables.fallback is not None:
            late = [(name, b) for name in tables.fallback.order for b in range(self.s)]
            self.fallback = system.analyze(late)
        self.tables = (self.plan, tables.constant, self.symbolic.program)
        stage = np.arange(self.s) * (n + own.size)

        def places(i: Ints, j: Ints) -> Ints:
            """Of all blocks between two bodies, rows first, for pairs of bodies."""
            rows, columns = i[:, None, None] + stage[:, None], j[:, None, None] + stage
            shape = (len(i), self.s, self.s)
            rows, columns = (np.broadcast_to(k, shape).flatten() for k in (rows, columns))
            found: Ints = self.symbolic.graph.blocks_at(rows, columns)
            return found

        def between(body: Ints, joint: Ints) -> Ints:
            """Of the blocks (body, joint) and (joint, body) at each stage."""
            i, j = body[:, None] + stage, (n + joint)[:, None] + stage
            i, j = (np.where(body[:, None] < n, k, 0).ravel() for k in (i, j))
            found = [self.symbolic.graph.blocks_at(*pair) for pair in ((i, j), (j, i))]
            return np.stack(found, axis=1).reshape(len(joint), 2 * self.s)

        diagonal = self.symbolic.graph.diagonal_at[(n + node)[:, None] + stage]
        held_at = np.hstack([diagonal, *(between(ends[:joints, i], node) for i in range(2))])
        a, b = ends[both].T
        starts = np.full((groups, 2), -1)
        starts[both] = self.s**2 * (n + np.arange(2 * both.size).reshape(-1, 2))
        across = places(np.stack([a, b], axis=1).ravel(), np.stack([b, a], axis=1).ravel())
        every = np.concatenate([places(np.arange(n), np.arange(n)), across])
        self.blocks = (every, held_at.ravel(), starts.ravel())

    def like(self, tables: Tables) -> Stages:
        """Those of other tables."""
        return Stages(tables, 2 * self.s, self.coupled)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.base, 2 * self.s, self.coupled)

    def solver(self) -> tuple[tuple[Float, ...], ...]:
        """Arrays of both solvers for one thread, see `solver_arrays`: step, and its middle."""
        middle = solver_arrays(self.base.symbolic, columns=self.s)
        mixed = np.zeros(self.s * self.base.symbolic.graph.row_start[-1])
        return solver_arrays(self.symbolic, self.fallback), (*middle, mixed)

    def work(self) -> tuple[Any, ...]:
        """Arrays of `dynamics.kernels.galerkin.step` for one thread."""
        n, rows, every = (int(self.plan[i]) for i in (layout.BODIES, layout.ROWS, layout.ALL_ROWS))
        nodes, unknowns = self.s + 1, self.s * (layout.TWIST * n + rows)
        sizes = [layout.POSE * (n + 1), 9 * (n + 1), every, 12 * every, layout.TWIST * n]
        made = tuple(np.zeros(nodes * size) for size in (*sizes, SPIN * n, 4 * n, n))
        x, r, dx = np.zeros((3, unknowns))
        kept = np.zeros(layout.STORED * unknowns)
        L, C, W = np.zeros(9 * nodes**2), np.zeros(9 * self.s**2), np.zeros((n, 9 * nodes**2))
        K, E = np.zeros((n, 9 * (self.s - 1))), np.zeros(9 * n * self.s)
        mu, f = np.zeros(every), np.zeros(layout.forces_size(n, int(self.plan[layout.WRENCHES])))
        scratch = (r, dx, kept, mu, f, L, C, K, E, W)
        saved = np.zeros(layout.state_size(n, rows))
        driven = np.zeros((nodes, len(self.base.control_names)))
        table = np.zeros(DIFFERENCES * unknowns)
        fallback = self.symbolic.program[:0] if self.fallback is None else self.fallback.program
        programs = fallback, self.base.symbolic.program
        tables = self.rule, self.stages, self.blocks
        return *tables, made, x, saved, table, scratch, driven, programs

    def worst(self, work: tuple[Any, ...]) -> tuple[Hashable, str]:
        """Name of the body or joint with the largest residual of the last step."""
        return worst_part(self.base, work[7][0], self.s)


def _system(tables: Tables, s: int, n: int, joints: Ints, node: Ints, pairs: Ints) -> gs.System:
    """The graph whose nodes are the stages of bodies, then those of joints.

    ``node`` has the joint that each constraint group belongs to: halves of a coupling share one.
    """
    bodies, names = list(tables.body_index), list(tables.joint_index)
    graph = nx.Graph()
    rows = dict(zip(node.tolist(), joints[:, layout.N_ROWS].tolist()))
    each = {name: layout.TWIST for name in bodies} | {names[k]: rows[k] for k in sorted(rows)}
    sizes: dict[Hashable, int] = {(name, b): size for b in range(s) for name, size in each.items()}
    graph.add_nodes_from(sizes)
    for name in bodies:
        graph.add_edges_from(itertools.combinations([(name, b) for b in range(s)], 2))
    for k, joint in zip(node.tolist(), joints):
        for i in joint[[layout.A, layout.B]].tolist():
            if i < n:
                graph.add_edges_from(((bodies[i], b), (names[k], b)) for b in range(s))
    for i, j in pairs.tolist():
        stages = itertools.product(range(s), range(s))
        graph.add_edges_from(((bodies[i], b), (bodies[j], g)) for b, g in stages)
    return gs.System(graph, sizes)


def _acting(tables: Tables, table: Ints) -> NDArray[np.bool_]:
    """Flags of groups with a stiffness or a damping, which couple their bodies."""
    start = int(tables.plan[layout.ROW_CONSTANT_AT])
    rows = tables.constant[start : start + int(tables.plan[layout.ALL_ROWS]) * layout.ROW_SIZE]
    live = (rows.reshape(-1, layout.ROW_SIZE)[:, [layout.STIFFNESS, layout.DAMPING]] != 0.0).any(
        axis=1
    )
    ends = table[:, layout.FIRST_ROW] + table[:, layout.N_ROWS]
    return np.array([live[a:b].any() for a, b in zip(table[:, layout.FIRST_ROW], ends)], bool)
