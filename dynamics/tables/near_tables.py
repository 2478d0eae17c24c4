"""Tables of a model with the contacts of some pairs of shapes, put together from parts.

A part holds what one pair adds: the records of its touches, and the body and the tie of the plane
between its shapes. Parts are written once, one after the other into arrays that grow, and so are
the tables of the model without pairs. The arrays of a set of pairs are rows of both, with new
numbers of bodies and new places of blocks; only the symbolic factorization is made anew, in
compiled code. Names are added where somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import graphsys as gs
from dynamics.kernels.base import layout
from dynamics.kernels.collisions import near_plan
from dynamics.kernels.collisions.near_plan import THE_PLANE, THE_WORLD
from dynamics.parts.bodies import WORLD
from dynamics.parts.contacts import Contact
from dynamics.parts.separating_planes import plane_name
from dynamics.tables import contacts as contact_tables
from dynamics.tables.finalize import Group, write_bodies, write_rows
from dynamics.tables.model_tables import Tables, planar_part
from dynamics.tables.near_graph import GraphRoom
from dynamics.tables.planar import planar_work
from dynamics.tables.records import BODY, GROUP, GROUP_CONSTANTS, ROW, ROW_CONSTANTS, view
from dynamics.tables.units import lighter

if TYPE_CHECKING:
    from dynamics.mechanism import Mechanism

__all__ = ["NearArrays", "NearTables", "Places"]

Float = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Places in a plan's header that planes and pairs change, as `NearTables` writes them.
CHANGED = np.array([
    layout.BODIES, layout.GROUPS, layout.MEASURES, layout.ALL_ROWS, layout.MEASURED_ROWS,
    layout.CONTACTS, layout.SLOTS, layout.GROUP_AT, layout.ROW_AT, layout.CONTACT_AT,
    layout.ADDED_AT, layout.WRENCH_AT, layout.FALLBACK_AT, layout.FALLBACK_SIZE,
    layout.GROUP_CONSTANT_AT, layout.ROW_CONSTANT_AT, layout.CONTACT_CONSTANT_AT, layout.UNITS_AT,
    layout.PLANAR_AT, layout.WORK_SIZE,
])  # fmt: skip


class Rows:
    """Rows of an array, to which others are added; the array has room for more.

    Parameters
    ----------
    kind : type
        int or float.
    *shape : int
        Of a row.
    """

    def __init__(self, kind: type, *shape: int) -> None:
        self.array: NDArray[Any] = np.empty((16, *shape), kind)
        self.count = 0

    def add(self, rows: Any) -> None:
        """Add rows, shape (k, ...)."""
        last = self.count + len(rows)
        if last > len(self.array):
            more = np.empty((2 * last, *self.array.shape[1:]), self.array.dtype)
            more[: self.count] = self.array[: self.count]
            self.array = more
        self.array[self.count : last], self.count = rows, last

    def __getitem__(self, chosen: Any) -> Any:
        return self.array[chosen]


class PairParts:
    """What the contacts of pairs add to the tables: k parts, t touches, p planes.

    Attributes
    ----------
    names : list of hashable, length k
        Of the contacts.
    units : list of Unit, length k
        Of the plane.
    touches, ends, owner, plane, slots : Rows of int, shapes (k, 2), (k, 2), (k,), (k,), (k,)
        First touch and number of touches; bodies, -1 for the world; body that the plane is tied
        to; number of the plane; numbers in a state. Owner and plane are -1 without a plane.
    height : Rows of float, shape (k,)
        Of the plane over its body, m; 0 without one.
    plan : Rows of int, shape (t, CONTACT_FIELDS)
        Bodies as above, -2 for the plane.
    constant : Rows of float, shape (t, CONTACT_SIZE)
    touch_slots : Rows of int, shape (t,)
        Numbers of each touch in a state.
    body : Rows of float, shape (p, BODY_SIZE)
        Of the planes.
    group, rows : Rows of int, shapes (p, GROUP_FIELDS), (p, 6 ROW_FIELDS)
        Of their ties.
    group_constant, row_constants : Rows of float, shapes (p, GROUP_SIZE), (p, 6 ROW_SIZE)
    """

    def __init__(self) -> None:
        self.names: list[Hashable] = []
        self.units: list[Any] = []
        self.touches, self.ends = Rows(int, 2), Rows(int, 2)
        self.owner, self.plane, self.slots = Rows(int), Rows(int), Rows(int)
        self.height = Rows(float)
        self.plan, self.touch_slots = Rows(int, layout.CONTACT_FIELDS), Rows(int)
        self.constant, self.body = Rows(float, layout.CONTACT_SIZE), Rows(float, layout.BODY_SIZE)
        self.group, self.rows = Rows(int, layout.GROUP_FIELDS), Rows(int, 6 * layout.ROW_FIELDS)
        self.group_constant = Rows(float, layout.GROUP_SIZE)
        self.row_constants = Rows(float, 6 * layout.ROW_SIZE)

    def ties(self) -> tuple[Any, ...]:
        """Arrays of planes and their ties, for `near_plan.join`."""
        rows = (
            self.plane, self.owner, self.body, self.group, self.rows, self.group_constant,
            self.row_constants,
        )  # fmt: skip
        return tuple(one.array for one in rows)

    def of_touches(self) -> tuple[Any, ...]:
        """Arrays of touches, for `near_plan.join`."""
        rows = self.touches, self.plan, self.constant, self.touch_slots
        return tuple(one.array for one in rows)


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where k pairs lie in a state of the tables.

    Attributes
    ----------
    plane : ndarray of int, shape (k,)
        Body of the plane; -1 without one.
    slot, slots : ndarray of int, shape (k,)
        First of its numbers in `State.contacts`, and how many.
    """

    plane: Ints
    slot: Ints
    slots: Ints


def _before(sizes: Ints) -> Ints:
    """Sum of the sizes before each."""
    found: Ints = np.cumsum(sizes) - sizes
    return found


def _written_tie(tie: Any) -> tuple[Ints, Ints, Float, Float]:
    """Group and rows of a plane's tie, those of all planes but for stiffness and damping."""
    group = Group(tie, [*tie.positions[:3], *tie.rates[3:]], tie.offset)
    group.theta[:] = 0.5
    count = near_plan.TIE_ROWS
    plan, constant = (
        np.zeros(count * layout.ROW_FIELDS, np.int64),
        np.zeros(count * layout.ROW_SIZE),
    )
    write_rows([group], view(plan, ROW, 0, count), view(constant, ROW_CONSTANTS, 0, count))
    record, numbers = np.zeros(layout.GROUP_FIELDS, np.int64), np.zeros(layout.GROUP_SIZE)
    place = view(record, GROUP, 0, 1)
    place["n_rows"], place["turns"] = count, layout.ALIGNED
    for name in ("diagonal_at", "bj_at", "jb_at"):
        place[name] = -1
    constants = view(numbers, GROUP_CONSTANTS, 0, 1)
    constants["point_a"], constants["point_b"] = group.points
    constants["offset"] = group.offset
    return record, plan, numbers, constant


@dataclass(frozen=True, slots=True, eq=False)
class NearArrays:
    """Arrays that steps of a near model need.

    Attributes
    ----------
    plan, constant : ndarray
        As in `Tables`.
    programs : list of ndarray of int
        Of the symbolic factorization, and of the second one where there is one.
    graph : tuple of ndarray of int
        Size, first row and first neighbour of nodes, neighbours, places of diagonal and other
        blocks, as in `graphsys.BlockGraph`.
    nnz : int
        Entries of all blocks.
    slots : ndarray of int
        `Tables.contact_slot`.
    places : Places
        Of the pairs.
    symbolic : tuple of Symbolic and of Symbolic or None, or None
        Where the programs are of these.
    """

    plan: Ints
    constant: Float
    programs: list[Ints]
    graph: tuple[Ints, ...]
    nnz: int
    slots: Ints
    places: Places
    symbolic: tuple[gs.Symbolic, gs.Symbolic | None] | None


class NearTables:
    """Tables of a model, ready to be joined with parts of pairs.

    Parameters
    ----------
    mechanism : Mechanism
    tables : Tables
        Without pairs.
    timestep : float
        s.
    """

    def __init__(self, mechanism: Mechanism, tables: Tables, timestep: float) -> None:
        self.mechanism, self.tables, self.timestep = mechanism, tables, timestep
        plan, constant, n = tables.plan, tables.constant, len(tables.body_index)
        self.n, self.groups = n, int(plan[layout.GROUPS])
        self.rows, self.joints = int(plan[layout.ALL_ROWS]), int(plan[layout.JOINTS])
        self.records = int(plan[layout.CONTACTS])
        self.touches = len(tables.contact_touches)
        at = {name: int(plan[getattr(layout, name)]) for name in (
            "GROUP_AT", "CONTACT_AT", "ADDED_AT", "WRENCH_AT", "CONTACT_CONSTANT_AT", "UNITS_AT",
        )}  # fmt: skip

        def cut(table: Any, first: int, count: int, size: int) -> Any:
            return table[first : first + count * size].reshape(count, size)

        self.group_plan = cut(plan, at["GROUP_AT"], self.groups, layout.GROUP_FIELDS)
        contacts = cut(plan, at["CONTACT_AT"], self.records, layout.CONTACT_FIELDS)
        sides = contacts[:, layout.A : layout.B + 1]
        self.touching = bool((sides < self.n).all(axis=1).any())  # limits between bodies
        self.added = cut(plan, at["ADDED_AT"], int(plan[layout.ADDED]), layout.ADDED_FIELDS)
        self.wrenches = cut(plan, at["WRENCH_AT"], int(plan[layout.WRENCHES]), layout.WRENCH_FIELDS)
        self.spatial_at = at["CONTACT_CONSTANT_AT"] + self.records * layout.CONTACT_SIZE
        self.spatial = constant[self.spatial_at : at["UNITS_AT"]]
        self.units = constant[at["UNITS_AT"] :]
        self.header = plan[: layout.HEADER].copy()
        self.slots, self.held_rows = int(plan[layout.SLOTS]), int(plan[layout.ROWS])
        self.lates = int(plan[layout.STIFF_NUMBERS])
        self.parts = PairParts()
        self._tie: tuple[NDArray[Any], ...] | None = None
        self._read_graph()

    def _read_graph(self) -> None:
        """Nodes and edges, and the blocks that each place of the plan holds."""
        graph = self.tables.symbolic.graph
        self.sizes, self.labels = graph.size, graph.labels
        i, j = graph.pairs()
        self.edges = np.stack([i[i < j], j[i < j]])
        groups = self.group_plan
        a, b = groups[:, layout.A], groups[:, layout.B]
        node = np.searchsorted(graph.diagonal_at, groups[: self.joints, layout.DIAGONAL_AT])
        held = np.concatenate([node, b[self.joints :]])  # of a force the other end is b
        ends = {
            layout.AJ_AT: (a, held), layout.JA_AT: (held, a),
            layout.BJ_AT: (b, held), layout.JB_AT: (held, b),
        }  # fmt: skip
        places, first, second = [], [], []
        k = np.arange(self.joints)
        places.append(k * layout.GROUP_FIELDS + layout.DIAGONAL_AT)
        first.append(node)
        second.append(node)
        for field, (one, two) in ends.items():
            k = np.flatnonzero(groups[:, field] >= 0)
            places.append(k * layout.GROUP_FIELDS + field)
            first.append(one[k])
            second.append(two[k])
        nodes = np.stack([np.concatenate(first), np.concatenate(second)])
        tables = self.tables
        self.whole = tables.plan, tables.constant, np.concatenate(places), nodes, self.touches
        self.held = self.joints > 0
        self.ordered = self.held and bool((self.sizes > 0).all())
        both = [one for one in (tables.symbolic, tables.fallback) if one is not None]
        self.orders = np.stack([one.step_node for one in both])
        nodes, edges = self.sizes.size, 2 * self.edges.shape[1] + 8
        widest = int(self.sizes.max(initial=layout.TWIST))
        self._room = GraphRoom(len(both), nodes, edges, widest)

    def add(self, contacts: Sequence[Contact]) -> None:
        """Write what the contacts of some pairs add, as parts that follow the others.

        Parameters
        ----------
        contacts : sequence of Contact
        """
        index, parts, n = self.tables.body_index, self.parts, self.n
        planes = {one.plane.body.name: one for one in contacts if one.plane is not None}
        units = dict(self.tables.units)
        records = []
        for contact in contacts:
            own = contact_tables.touching_records(contact)
            records += own
            parts.names.append(contact.name)
            parts.units.append(lighter(self.tables.units, contact.parent, contact.child))
            if contact.plane is not None:
                units[contact.plane.body.name] = parts.units[-1]
        places = SimpleNamespace(edge_at=lambda i, j: 0)
        local = index | {name: n + k for k, name in enumerate(planes)}
        plan, constant, slots = contact_tables.written(records, units, local, places)
        plan = plan.reshape(-1, layout.CONTACT_FIELDS)
        ends = plan[:, layout.A : layout.B + 1]
        ends[ends >= n] = np.where(ends[ends >= n] < len(local), THE_PLANE, THE_WORLD)
        counts = np.array([len(contact.touches) for contact in contacts])
        last = np.cumsum(counts)
        tied = np.array([contact.plane is not None for contact in contacts])
        parts.plane.add(np.where(tied, parts.body.count + np.cumsum(tied) - 1, -1))
        parts.touches.add(np.stack([parts.plan.count + last - counts, counts], axis=1))
        parts.ends.add([
            [THE_WORLD if end is WORLD else index[end.name] for end in (one.parent, one.child)]
            for one in contacts
        ])  # fmt: skip
        owners = [None if one.plane is None else one.plane.owner.name for one in contacts]
        parts.owner.add([-1 if name is None else index[name] for name in owners])
        parts.height.add([0.0 if one.plane is None else one.plane.height for one in contacts])
        parts.slots.add(slots[last] - slots[last - counts])
        parts.plan.add(plan)
        parts.constant.add(constant.reshape(-1, layout.CONTACT_SIZE))
        parts.touch_slots.add(np.diff(slots))
        if planes:
            self._add_planes(planes, units)

    def _add_planes(self, planes: dict[Hashable, Any], units: dict[Hashable, Any]) -> None:
        """Bodies of planes, by their names, and their ties."""
        parts = self.parts
        bodies = np.zeros(len(planes) * layout.BODY_SIZE)
        alone: Any = SimpleNamespace(
            bodies={name: one.plane.body for name, one in planes.items()},
            contacts={one.name: one for one in planes.values()}, gravity=self.mechanism.gravity,
        )  # fmt: skip
        thetas = np.full(len(planes), 0.5)
        write_bodies(alone, thetas, units, view(bodies, BODY, 0, len(planes)))
        parts.body.add(bodies.reshape(-1, layout.BODY_SIZE))
        kept = (parts.group, parts.rows, parts.group_constant, parts.row_constants)
        for rows, numbers in zip(kept, self._ties([one.plane for one in planes.values()])):
            rows.add(numbers)

    def _ties(self, planes: list[Any]) -> list[NDArray[Any]]:
        """Groups and rows of planes' ties, no stiffer than what a step takes explicitly."""
        if self._tie is None:
            self._tie = _written_tie(planes[0].tie)
        many = [np.repeat(one[None], len(planes), axis=0) for one in self._tie]
        rows, h = many[3].reshape(len(planes), near_plan.TIE_ROWS, layout.ROW_SIZE), self.timestep
        moving = [(plane.body.mass, plane.body.inertia[0, 0]) for plane in planes]
        inertias = np.repeat(moving, 3, axis=1)
        stiffness = np.array([plane.tie.stiffness for plane in planes])
        damping = np.array([plane.tie.damping for plane in planes])
        rows[:, :, layout.STIFFNESS] = np.minimum(stiffness, inertias / h**2)
        rows[:, :, layout.DAMPING] = np.minimum(damping, inertias / h)
        return many

    def repeat(self, numbers: Ints, ends: Ints, names: Sequence[Hashable]) -> None:
        """Write parts that differ from others in their bodies and names alone.

        Parameters
        ----------
        numbers : ndarray of int, shape (k,)
            Of the parts that they are like.
        ends : ndarray of int, shape (k, 2)
            `PairParts.ends`.
        names : sequence of hashable, length k
            Of their contacts.
        """
        parts = self.parts
        old, tied = parts.ends[numbers], parts.plane[numbers] >= 0
        first, counts = parts.touches[numbers].T
        touches = np.arange(counts.sum()) + np.repeat(first - _before(counts), counts)
        plan = parts.plan[touches]
        for side in (layout.A, layout.B):
            sides = plan[:, side]
            for end in range(2):
                was, now = np.repeat(old[:, end], counts), np.repeat(ends[:, end], counts)
                own = (parts.plan[touches, side] == was) & (was >= 0)
                sides[own] = now[own]
        owner = parts.owner[numbers]
        planes = parts.plane[numbers[tied]]
        parts.names += names
        parts.units += [parts.units[k] for k in numbers.tolist()]
        parts.owner.add(np.where(tied, np.where(owner == old[:, 0], ends[:, 0], ends[:, 1]), -1))
        parts.plane.add(np.where(tied, parts.body.count + np.cumsum(tied) - 1, -1))
        parts.touches.add(np.stack([parts.plan.count + _before(counts), counts], axis=1))
        parts.ends.add(ends)
        for rows, chosen in (
            (parts.height, numbers), (parts.slots, numbers), (parts.constant, touches),
            (parts.touch_slots, touches), (parts.body, planes), (parts.group, planes),
            (parts.rows, planes), (parts.group_constant, planes), (parts.row_constants, planes),
        ):  # fmt: skip
            rows.add(rows[chosen])
        parts.plan.add(plan)

    def joined(self, numbers: Ints) -> NearArrays:
        """Arrays of a model with the contacts of some pairs.

        Parameters
        ----------
        numbers : ndarray of int, shape (k,)
            Of their parts.

        Returns
        -------
        NearArrays
        """
        base, parts = self.tables, self.parts
        sizes, counts = parts.slots[numbers], parts.touches[numbers, 1]
        planes = int(np.count_nonzero(parts.plane[numbers] >= 0)) if parts.body.count else 0
        touches, more = int(counts.sum()), int(sizes.sum())
        symbolic: tuple[gs.Symbolic, gs.Symbolic | None] | None = None
        if self.ordered:
            graph, nnz, programs = self._in_order(numbers, planes)
        else:
            symbolic = self._symbolic(numbers)
            graph, nnz = symbolic[0].graph.tables(), symbolic[0].graph.nnz
            programs = [one.program for one in symbolic if one is not None]
        alike = planes == 0 and nnz == base.symbolic.graph.nnz  # no pair adds an edge
        plan, constant = self._arrays(planes, touches, more, programs[1:], alike)
        slots = np.empty(self.touches + touches + 1, np.int64)
        slots[: self.touches + 1] = base.contact_slot[: self.touches + 1]
        plane_of = np.empty(numbers.size, np.int64)
        near_plan.join(
            self.whole, parts.ties(), parts.of_touches(), graph[2:], numbers, plan, constant,
            plane_of, slots,
        )  # fmt: skip
        plan.setflags(write=False)
        places = Places(plane_of, int(base.contact_slot[self.touches]) + _before(sizes), sizes)
        return NearArrays(plan, constant, programs, graph, nnz, slots, places, symbolic)

    def named(self, numbers: Ints, arrays: NearArrays) -> Tables:
        """Tables of what `joined` made.

        Parameters
        ----------
        numbers : ndarray of int, shape (k,)
        arrays : NearArrays

        Returns
        -------
        Tables
        """
        base, n, parts = self.tables, self.n, self.parts
        names, units = self._planes(numbers), {}
        for name, k in zip(names, numbers[parts.plane[numbers] >= 0].tolist()):
            units[name] = parts.units[k]
        symbolic, fallback = arrays.symbolic or self._symbolic(numbers)
        more, counts = int(arrays.places.slots.sum()), parts.touches[numbers, 1].tolist()
        labels = tuple(
            (parts.names[k], touch) for k, n in zip(numbers.tolist(), counts) for touch in range(n)
        )
        return Tables(
            arrays.plan,
            arrays.constant,
            symbolic,
            fallback,
            base.body_index | {name: n + k for k, name in enumerate(names)},
            base.joint_index,
            base.row_start,
            base.control_names,
            base.control_start,
            {},
            base.contact_touches + labels,
            arrays.slots,
            {label: slot + more for label, slot in base.friction_slot.items()},
            base.cycles,
            base.units | units,
            base.stiff,
            base.callbacks,
        )

    def _planes(self, numbers: Ints) -> list[Hashable]:
        """Names of the planes of some parts."""
        parts = self.parts
        tied = numbers[parts.plane[numbers] >= 0].tolist()
        return [plane_name(parts.names[k]) for k in tied]

    def _in_order(self, numbers: Ints, planes: int) -> tuple[tuple[Ints, ...], int, list[Ints]]:
        """Tables and entries of the graph with planes, and programs in the orders of the model."""
        nodes, edges = self.sizes.size + planes, self.edges.shape[1] + 2 * numbers.size
        given = self.edges, self.sizes, self.orders
        pairs = self.parts.plane.array, self.parts.ends.array
        while True:
            if not self._room.holds(nodes, edges):
                self._room = self._room.larger(nodes, edges)
            near_plan.join_graph(
                given, self.n, planes, self.touching, pairs, numbers, *self._room.arrays(edges)
            )
            if not self._room.missing:
                return self._room.kept(edges)
            self._room = self._room.larger(nodes, edges)

    def _symbolic(self, numbers: Ints) -> tuple[gs.Symbolic, gs.Symbolic | None]:
        """Symbolic factorization of the graph with planes, and a second one where there may be."""
        n, parts, own = self.n, self.parts, self.edges.shape[1]
        names = self._planes(numbers)
        p = len(names)
        edges = np.empty((2, own + 2 * numbers.size), np.int64)
        count = near_plan.join_edges(
            self.edges, n, p, parts.plane.array, parts.ends.array, numbers, edges
        )
        labels = [*self.labels[:n], *names, *self.labels[n:]]
        sizes = np.concatenate([self.sizes[:n], np.full(p, layout.TWIST), self.sizes[n:]])
        touching = self.touching or count > own
        i, j = edges[:, :count]
        system = gs.System.from_edges(i, j, sizes, labels=labels)
        if self.held:  # pivots of joints come from the same bodies as without contacts
            first, second = self.tables.symbolic, self.tables.fallback
            found = system.analyze([*names, *first.order], ()).refining(touching)
            if second is None:
                return found, None
            return found, system.analyze([*names, *second.order], ()).refining(touching)
        return system.analyze(zero_diagonal=()).refining(touching), None

    def _arrays(
        self, planes: int, touches: int, slots: int, others: list[Ints], alike: bool
    ) -> tuple[Ints, Float]:
        """Plan and constants in which all is written but bodies, groups, rows and contacts."""
        header, added, wrenches = self.header.copy(), self.added, self.wrenches
        bodies, groups = self.n + planes, self.groups + planes
        rows, contacts = self.rows + near_plan.TIE_ROWS * planes, self.records + touches
        at = [layout.HEADER + 2 * bodies]  # groups, rows, contacts, added mass, wrenches, the rest
        for size in (
            groups * layout.GROUP_FIELDS, rows * layout.ROW_FIELDS,
            contacts * layout.CONTACT_FIELDS, added.size, wrenches.size,
        ):  # fmt: skip
            at.append(at[-1] + size)
        numbers_at = [bodies * layout.BODY_SIZE]  # of groups, rows, contacts, added mass, units
        for size in (
            groups * layout.GROUP_SIZE, rows * layout.ROW_SIZE, contacts * layout.CONTACT_SIZE,
            self.spatial.size,
        ):  # fmt: skip
            numbers_at.append(numbers_at[-1] + size)
        end, spatial_at, units_at = at[-1], numbers_at[-2], numbers_at[-1]
        other = others[0] if others else None
        planar = planar_part(self.tables.plan) if alike else np.zeros(0, np.int64)
        last = end + (0 if other is None else other.size)
        slots += self.slots
        header[CHANGED] = (
            bodies, groups, groups, rows, rows, contacts, slots, *at[:-1],
            0 if other is None else end, 0 if other is None else other.size,
            *numbers_at[:-2], units_at, last if planar.size else 0,
            layout.work_size(
                bodies, self.held_rows, rows, contacts, slots, len(wrenches), self.lates,
                planar_work(planar),
            ),
        )  # fmt: skip
        plan = np.empty(last + planar.size, np.int64)
        plan[: layout.HEADER] = header
        if added.size:
            added = added.copy()
            added[:, layout.SPATIAL] += spatial_at - self.spatial_at
            plan[at[3] : at[4]] = added.ravel()
        if wrenches.size:
            wrenches = wrenches.copy()
            ends = wrenches[:, layout.A : layout.B + 1]
            ends[ends == self.n] = bodies
            plan[at[4] : end] = wrenches.ravel()
        if other is not None:
            plan[end:last] = other
        plan[last:] = planar
        constant = np.empty(units_at + self.units.size)
        constant[spatial_at:units_at], constant[units_at:] = self.spatial, self.units
        return plan, constant
