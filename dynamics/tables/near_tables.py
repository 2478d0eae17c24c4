"""Tables of a model with the contacts of some pairs of shapes, put together from parts.

A part holds what one pair adds: the records of its touches, and the body and the tie of the plane
between its shapes. Parts are written once, and so are the tables of the model without pairs. The
tables of a set of pairs are both, one after another, with new numbers of bodies and new places of
blocks; only the symbolic factorization is made anew.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import graphsys as gs
from dynamics.kernels.base import layout
from dynamics.parts.bodies import WORLD
from dynamics.parts.contacts import Contact
from dynamics.tables import contacts as contact_tables
from dynamics.tables.finalize import Group, write_bodies, write_rows
from dynamics.tables.model_tables import Tables
from dynamics.tables.records import BODY, GROUP, GROUP_CONSTANTS, ROW, ROW_CONSTANTS, view
from dynamics.tables.units import lighter

if TYPE_CHECKING:
    from dynamics.mechanism import Mechanism

__all__ = ["NearTables", "PairPart", "Places"]

Float = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Ends of touches that are no body of the model.
THE_WORLD, THE_PLANE = -1, -2


@dataclass(frozen=True, slots=True, eq=False)
class PairPart:
    """What the contact of a pair adds to the tables; its t touches.

    Attributes
    ----------
    contact : Contact
    ends : ndarray of int, shape (2,)
        Bodies, -1 for the world.
    owner : int
        Body that the plane is tied to; -1 without a plane.
    plan : ndarray of int, shape (t, CONTACT_FIELDS)
        Bodies as above, -2 for the plane.
    constant : ndarray of float, shape (t, CONTACT_SIZE)
    slots : ndarray of int, shape (t,)
        Numbers of each touch in a state.
    body : ndarray of float, shape (BODY_SIZE,)
        Of the plane; empty without one, as are those of its tie.
    group, rows : ndarray of int, shapes (GROUP_FIELDS,), (6 ROW_FIELDS,)
    group_constant, row_constants : ndarray of float, shapes (GROUP_SIZE,), (6 ROW_SIZE,)
    """

    contact: Contact
    ends: Ints
    owner: int
    plan: Ints
    constant: Float
    slots: Ints
    body: Float
    group: Ints
    rows: Ints
    group_constant: Float
    row_constants: Float


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where a pair lies in a state of the tables.

    Attributes
    ----------
    plane : int
        Body of the plane; -1 without one.
    slot, slots : int
        First of its numbers in `State.contacts`, and how many.
    """

    plane: int
    slot: int
    slots: int


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
            "GROUP_AT", "ROW_AT", "CONTACT_AT", "ADDED_AT", "WRENCH_AT", "GROUP_CONSTANT_AT",
            "ROW_CONSTANT_AT", "CONTACT_CONSTANT_AT", "UNITS_AT",
        )}  # fmt: skip

        def cut(table: Any, first: int, count: int, size: int) -> Any:
            return table[first : first + count * size].reshape(count, size)

        self.group_plan = cut(plan, at["GROUP_AT"], self.groups, layout.GROUP_FIELDS)
        self.row_plan = cut(plan, at["ROW_AT"], self.rows, layout.ROW_FIELDS)
        self.contact_plan = cut(plan, at["CONTACT_AT"], self.records, layout.CONTACT_FIELDS)
        self.added = cut(plan, at["ADDED_AT"], int(plan[layout.ADDED]), layout.ADDED_FIELDS)
        self.wrenches = cut(plan, at["WRENCH_AT"], int(plan[layout.WRENCHES]), layout.WRENCH_FIELDS)
        self.bodies = constant[: n * layout.BODY_SIZE]
        first = at["GROUP_CONSTANT_AT"]
        self.group_constants = constant[first : first + self.groups * layout.GROUP_SIZE]
        first = at["ROW_CONSTANT_AT"]
        self.row_constants = constant[first : first + self.rows * layout.ROW_SIZE]
        first = at["CONTACT_CONSTANT_AT"]
        self.contact_constants = cut(constant, first, self.records, layout.CONTACT_SIZE)
        self.spatial_at = first + self.records * layout.CONTACT_SIZE
        self.spatial = constant[self.spatial_at : at["UNITS_AT"]]
        self.units = constant[at["UNITS_AT"] :]
        self._read_graph()

    def _read_graph(self) -> None:
        """Nodes and edges, and the blocks that each place of the plan holds."""
        graph, n = self.tables.symbolic.graph, self.n
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
        self.group_blocks = np.concatenate(places), np.concatenate(first), np.concatenate(second)
        self.in_world = groups[:, layout.A : layout.B + 1] == n
        self.held = self.joints > 0

    def part(self, contact: Contact) -> PairPart:
        """Write what the contact of a pair adds.

        Parameters
        ----------
        contact : Contact

        Returns
        -------
        PairPart
        """
        index, plane = self.tables.body_index, contact.plane
        names = [end.name for end in (contact.parent, contact.child) if end is not WORLD]
        numbers = [index[name] for name in names]
        units = {name: self.tables.units[name] for name in names}
        if plane is not None:
            units[plane.body.name] = lighter(units, contact.parent, contact.child)
            names, numbers = [*names, plane.body.name], [*numbers, THE_PLANE]
        records = [
            contact_tables.Record((contact.name, k), *contact.ends(touch), contact, touch)
            for k, touch in enumerate(contact.touches)
        ]
        places = SimpleNamespace(edge_at=lambda i, j: 0)
        local = {name: k for k, name in enumerate(names)}
        plan, constant, slots = contact_tables.written(records, units, local, places)
        plan = plan.reshape(len(records), layout.CONTACT_FIELDS)
        codes = np.array([*numbers, THE_WORLD])
        plan[:, layout.A : layout.B + 1] = codes[plan[:, layout.A : layout.B + 1]]
        body, group, rows = np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64)
        group_constant = row_constants = np.zeros(0)
        if plane is not None:
            body = np.zeros(layout.BODY_SIZE)
            alone: Any = SimpleNamespace(
                bodies={plane.body.name: plane.body}, contacts={contact.name: contact},
                gravity=self.mechanism.gravity,
            )  # fmt: skip
            write_bodies(alone, np.array([0.5]), units, view(body, BODY, 0, 1))
            group, rows, group_constant, row_constants = self._tie(plane)
        ends = [THE_WORLD if e is WORLD else index[e.name] for e in (contact.parent, contact.child)]
        owner = -1 if plane is None else index[plane.owner.name]
        return PairPart(
            contact, np.array(ends), owner, plan, constant.reshape(len(records), -1),
            np.diff(slots), body, group, rows, group_constant, row_constants,
        )  # fmt: skip

    def _tie(self, plane: Any) -> tuple[Ints, Ints, Float, Float]:
        """Group and rows of a plane's tie, no stiffer than what a step takes explicitly."""
        tie, h = plane.tie, self.timestep
        inertias = np.array([plane.body.mass] * 3 + [plane.body.inertia[0, 0]] * 3)
        group = Group(tie, [*tie.positions[:3], *tie.rates[3:]], tie.offset)
        group.stiffness = np.minimum(tie.stiffness, inertias / h**2)
        group.damping = np.minimum(tie.damping, inertias / h)
        group.theta[:] = 0.5
        plan, constant = np.zeros(6 * layout.ROW_FIELDS, np.int64), np.zeros(6 * layout.ROW_SIZE)
        write_rows([group], view(plan, ROW, 0, 6), view(constant, ROW_CONSTANTS, 0, 6))
        record, numbers = np.zeros(layout.GROUP_FIELDS, np.int64), np.zeros(layout.GROUP_SIZE)
        place = view(record, GROUP, 0, 1)
        place["n_rows"], place["turns"] = 6, layout.ALIGNED
        for name in ("diagonal_at", "bj_at", "jb_at"):
            place[name] = -1
        constants = view(numbers, GROUP_CONSTANTS, 0, 1)
        constants["point_a"], constants["point_b"] = group.points
        constants["offset"] = group.offset
        return record, plan, numbers, constant

    def joined(self, parts: Sequence[PairPart]) -> tuple[Tables, list[Places]]:
        """Tables with the contacts of some pairs.

        Parameters
        ----------
        parts : sequence of PairPart

        Returns
        -------
        Tables
        list of Places
        """
        base, n = self.tables, self.n
        tied = [part for part in parts if part.owner >= 0]
        p = len(tied)
        N = n + p
        planes = np.cumsum([part.owner >= 0 for part in parts], dtype=np.int64) + n - 1
        moved = [self._numbered(part, int(plane), N) for part, plane in zip(parts, planes.tolist())]
        names = [part.contact.plane.body.name for part in tied]  # type: ignore[union-attr]
        symbolic, fallback = self._symbolic(parts, planes, names)
        graph = symbolic.graph

        def shifted(nodes: Ints) -> Ints:
            return nodes + p * (nodes >= n)

        groups = np.empty((self.groups + p, layout.GROUP_FIELDS), np.int64)
        groups[: self.groups] = self.group_plan
        groups[: self.groups, layout.A : layout.B + 1][self.in_world] = N
        flat = groups.reshape(-1)
        at, first, second = self.group_blocks
        flat[at] = graph.blocks_at(shifted(first), shifted(second))
        if p:
            ties, owners = groups[self.groups :], np.array([part.owner for part in tied])
            ties[:] = np.stack([part.group for part in tied])
            own = n + np.arange(p)
            ties[:, layout.A], ties[:, layout.B] = own, owners
            ties[:, layout.FIRST_ROW] = ties[:, layout.EQUATION] = self.rows + 6 * np.arange(p)
            ties[:, layout.AJ_AT] = graph.blocks_at(own, owners)
            ties[:, layout.JA_AT] = graph.blocks_at(owners, own)
        rows = np.concatenate([self.row_plan.ravel(), *(part.rows for part in tied)])
        contacts = self.contact_plan.copy()
        contacts[:, layout.A : layout.B + 1][contacts[:, layout.A : layout.B + 1] == n] = N
        slots = np.concatenate([part.slots for part in parts]) if parts else np.zeros(0, np.int64)
        head = int(base.contact_slot[self.touches])
        more = int(slots.sum())
        contacts[self.touches :, layout.SLOT] += more
        near_slots = head + np.cumsum(slots) - slots
        contacts = np.concatenate([contacts[: self.touches], *moved, contacts[self.touches :]])
        new = contacts[self.touches : self.touches + len(slots)]
        new[:, layout.SLOT] = near_slots
        a, b = contacts[:, layout.A], contacts[:, layout.B]
        both = np.flatnonzero(contacts[:, layout.AB_AT] >= 0)
        contacts[both, layout.AB_AT] = graph.blocks_at(a[both], b[both])
        contacts[both, layout.BA_AT] = graph.blocks_at(b[both], a[both])
        numbers = np.concatenate([
            self.contact_constants[: self.touches], *(part.constant for part in parts),
            self.contact_constants[self.touches :],
        ])  # fmt: skip
        plan, constant = self._assembled(tied, groups, rows, contacts, numbers, N, more, graph)
        if fallback is not None:
            plan[layout.FALLBACK_AT], plan[layout.FALLBACK_SIZE] = plan.size, fallback.program.size
            plan = np.concatenate([plan, fallback.program])
        counts = [len(part.slots) for part in parts]
        last = np.cumsum([0, *(int(part.slots.sum()) for part in parts)])
        places = [
            Places(int(plane) if part.owner >= 0 else -1, head + int(first), int(end - first))
            for part, plane, first, end in zip(parts, planes, last, last[1:])
        ]
        labels = [(part.contact.name, k) for part, m in zip(parts, counts) for k in range(m)]
        tables = Tables(
            plan,
            constant,
            symbolic,
            fallback,
            base.body_index | {name: n + k for k, name in enumerate(names)},
            base.joint_index,
            base.row_start,
            base.control_names,
            base.control_start,
            {},
            base.contact_touches + tuple(labels),
            np.concatenate([
                base.contact_slot[: self.touches], near_slots,
                base.contact_slot[self.touches :] + more,
            ]),
            {label: slot + more for label, slot in base.friction_slot.items()},
            base.cycles,
            base.units | {
                name: lighter(base.units, part.contact.parent, part.contact.child)
                for name, part in zip(names, tied)
            },
            base.stiff,
            base.callbacks,
        )  # fmt: skip
        return tables, places

    def _numbered(self, part: PairPart, plane: int, world: int) -> Ints:
        """Records of a part's touches, their bodies as numbers."""
        plan = part.plan.copy()
        ends = plan[:, layout.A : layout.B + 1]
        ends[ends == THE_WORLD] = world
        ends[ends == THE_PLANE] = plane
        return plan

    def _symbolic(
        self, parts: Sequence[PairPart], planes: Ints, names: list[Hashable]
    ) -> tuple[gs.Symbolic, gs.Symbolic | None]:
        """Symbolic factorization of the graph with planes, and a second one where there may be."""
        n, p = self.n, len(names)
        edges = self.edges + p * (self.edges >= n)
        more: list[tuple[int, int]] = []
        for part, plane in zip(parts, planes.tolist()):
            ends = [end for end in part.ends.tolist() if end >= 0]
            if part.owner >= 0:
                more += [(plane, end) for end in ends]
            elif len(ends) == 2:
                more.append((ends[0], ends[1]))
        i, j = np.concatenate([edges, np.array(more, np.int64).reshape(-1, 2).T], axis=1)
        labels = [*self.labels[:n], *names, *self.labels[n:]]
        sizes = np.concatenate([self.sizes[:n], np.full(p, layout.TWIST), self.sizes[n:]])
        ones = np.ones(i.size, np.int8)
        pattern = csr_array((ones, (i, j)), shape=(len(labels), len(labels)))
        system = gs.System(pattern, sizes, nodelist=labels)
        if self.held:  # pivots of joints come from the same bodies as without contacts
            first, second = self.tables.symbolic, self.tables.fallback
            found = system.analyze([*names, *first.order]).refining(bool(more))
            if second is None:
                return found, None
            return found, system.analyze([*names, *second.order]).refining(bool(more))
        return system.analyze().refining(bool(more)), None

    def _assembled(
        self,
        tied: list[PairPart],
        groups: Ints,
        rows: Ints,
        contacts: Ints,
        numbers: Float,
        bodies: int,
        more: int,
        graph: Any,
    ) -> tuple[Ints, Float]:
        """Plan without the second order, and constants."""
        header = self.tables.plan[: layout.HEADER].copy()
        p, group_at = len(tied), layout.HEADER + bodies
        row_at = group_at + groups.size
        contact_at = row_at + rows.size
        added_at = contact_at + contacts.size
        wrench_at = added_at + self.added.size
        spatial_at = (
            bodies * layout.BODY_SIZE + len(groups) * layout.GROUP_SIZE
            + (self.rows + 6 * p) * layout.ROW_SIZE + numbers.size
        )  # fmt: skip
        every = self.rows + 6 * p
        header[layout.BODIES] = bodies
        header[layout.GROUPS] = header[layout.MEASURES] = len(groups)
        header[layout.ALL_ROWS] = header[layout.MEASURED_ROWS] = every
        header[layout.GROUP_AT], header[layout.ROW_AT] = group_at, row_at
        header[layout.GROUP_CONSTANT_AT] = bodies * layout.BODY_SIZE
        row_constant_at = (bodies * layout.BODY_SIZE) + len(groups) * layout.GROUP_SIZE
        header[layout.ROW_CONSTANT_AT] = row_constant_at
        header[layout.CONTACTS], header[layout.CONTACT_AT] = len(contacts), contact_at
        header[layout.CONTACT_CONSTANT_AT] = spatial_at - numbers.size
        header[layout.SLOTS] += more
        header[layout.ADDED_AT], header[layout.WRENCH_AT] = added_at, wrench_at
        header[layout.UNITS_AT] = spatial_at + self.spatial.size
        header[layout.FALLBACK_AT] = header[layout.FALLBACK_SIZE] = 0
        header[layout.WORK_SIZE] = layout.work_size(
            bodies, int(header[layout.ROWS]), every, len(contacts), int(header[layout.SLOTS]),
            len(self.wrenches), int(header[layout.STIFF_NUMBERS]),
        )  # fmt: skip
        added = self.added.copy()
        added[:, layout.SPATIAL] += spatial_at - self.spatial_at
        wrenches = self.wrenches.copy()
        ends = wrenches[:, layout.A : layout.B + 1]
        ends[ends == self.n] = bodies
        plan = np.concatenate([
            header, graph.diagonal_at[:bodies], groups.ravel(), rows, contacts.ravel(),
            added.ravel(), wrenches.ravel(),
        ])  # fmt: skip
        constant = np.concatenate([
            self.bodies, *(part.body for part in tied),
            self.group_constants, *(part.group_constant for part in tied),
            self.row_constants, *(part.row_constants for part in tied),
            numbers.ravel(), self.spatial, self.units,
        ])  # fmt: skip
        return plan, constant
