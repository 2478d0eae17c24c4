"""Tables of a model with the contacts of some pairs of shapes, put together from parts.

A part holds what one pair adds: the records of its touches, and the body and the tie of the plane
between its shapes. Parts are written once, one after the other into arrays that grow, and so are
the tables of the model without pairs. The tables of a set of pairs are rows of both, with new
numbers of bodies and new places of blocks; only the symbolic factorization is made anew.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

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

__all__ = ["NearTables", "Places", "spread"]

Float = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Ends of touches that are no body of the model.
THE_WORLD, THE_PLANE = -1, -2


class Rows:
    """Rows of an array, to which others are added.

    Parameters
    ----------
    kind : type
        int or float.
    *shape : int
        Of a row.
    """

    def __init__(self, kind: type, *shape: int) -> None:
        self._array: NDArray[Any] = np.empty((16, *shape), kind)
        self.count = 0

    def add(self, rows: Any) -> None:
        """Add rows, shape (k, ...)."""
        last = self.count + len(rows)
        if last > len(self._array):
            more = np.empty((2 * last, *self._array.shape[1:]), self._array.dtype)
            more[: self.count] = self._array[: self.count]
            self._array = more
        self._array[self.count : last], self.count = rows, last

    def __getitem__(self, chosen: Any) -> Any:
        return self._array[chosen]


class PairParts:
    """What the contacts of pairs add to the tables: k parts, t touches, p planes.

    Attributes
    ----------
    contacts : list of Contact, length k
    labels : list of tuple, length k
        Contact and number of each touch of a part.
    units : list of Unit, length k
        Of the plane.
    touches, ends, owner, plane, slots : Rows of int, shapes (k, 2), (k, 2), (k,), (k,), (k,)
        First touch and number of touches; bodies, -1 for the world; body that the plane is tied
        to; number of the plane; numbers in a state. Owner and plane are -1 without a plane.
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
        self.contacts: list[Contact] = []
        self.labels: list[tuple[tuple[Hashable, int], ...]] = []
        self.units: list[Any] = []
        self.touches, self.ends = Rows(int, 2), Rows(int, 2)
        self.owner, self.plane, self.slots = Rows(int), Rows(int), Rows(int)
        self.plan, self.touch_slots = Rows(int, layout.CONTACT_FIELDS), Rows(int)
        self.constant, self.body = Rows(float, layout.CONTACT_SIZE), Rows(float, layout.BODY_SIZE)
        self.group, self.rows = Rows(int, layout.GROUP_FIELDS), Rows(int, 6 * layout.ROW_FIELDS)
        self.group_constant = Rows(float, layout.GROUP_SIZE)
        self.row_constants = Rows(float, 6 * layout.ROW_SIZE)


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


def spread(first: Ints, counts: Ints) -> Ints:
    """first[0], first[0] + 1, ... counts[0] of them, then those of first[1], ..."""
    before = np.cumsum(counts) - counts
    return np.repeat(first - before, counts) + np.arange(int(counts.sum()))


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
        sides = self.contact_plan[:, layout.A : layout.B + 1]
        self.touching = bool((sides < self.n).all(axis=1).any())  # limits between bodies
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
        self.parts = PairParts()
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

    def add(self, contacts: Sequence[Contact]) -> None:
        """Write what the contacts of some pairs add, as parts that follow the others.

        Parameters
        ----------
        contacts : sequence of Contact
        """
        index, parts, n = self.tables.body_index, self.parts, self.n
        planes = {one.plane.body.name: one for one in contacts if one.plane is not None}
        units = dict(self.tables.units)
        for contact in contacts:
            parts.contacts.append(contact)
            parts.labels.append(tuple((contact.name, k) for k in range(len(contact.touches))))
            parts.units.append(lighter(self.tables.units, contact.parent, contact.child))
            if contact.plane is not None:
                units[contact.plane.body.name] = parts.units[-1]
        records = [
            contact_tables.Record(label, *contact.ends(touch), contact, touch)
            for contact, labels in zip(contacts, parts.labels[-len(contacts) :])
            for label, touch in zip(labels, contact.touches)
        ]
        places = SimpleNamespace(edge_at=lambda i, j: 0)
        local = index | {name: n + k for k, name in enumerate(planes)}
        plan, constant, slots = contact_tables.written(records, units, local, places)
        plan = plan.reshape(len(records), layout.CONTACT_FIELDS)
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
        parts.slots.add(slots[last] - slots[last - counts])
        parts.plan.add(plan)
        parts.constant.add(constant.reshape(len(records), layout.CONTACT_SIZE))
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
        for one in planes.values():
            for rows, numbers in zip(kept, self._tie(one.plane)):
                rows.add(numbers[None])

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

    def joined(self, numbers: Ints) -> tuple[Tables, Places]:
        """Tables with the contacts of some pairs.

        Parameters
        ----------
        numbers : ndarray of int, shape (k,)
            Of their parts.

        Returns
        -------
        Tables
        Places
        """
        base, n, parts = self.tables, self.n, self.parts
        owners = parts.owner[numbers]
        tied = owners >= 0
        planes = np.where(tied, n + np.cumsum(tied) - 1, -1)
        ties, owners = parts.plane[numbers[tied]], owners[tied]
        p = len(ties)
        N = n + p
        chosen = numbers.tolist()
        names, units = [], {}
        for k in numbers[tied].tolist():
            name = parts.contacts[k].plane.body.name
            names.append(name)
            units[name] = parts.units[k]
        symbolic, fallback = self._symbolic(parts.ends[numbers], planes, names)
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
            more = groups[self.groups :]
            more[:] = parts.group[ties]
            own = n + np.arange(p)
            more[:, layout.A], more[:, layout.B] = own, owners
            more[:, layout.FIRST_ROW] = more[:, layout.EQUATION] = self.rows + 6 * np.arange(p)
            more[:, layout.NEXT] = self.groups + np.arange(p)
            more[:, layout.AJ_AT] = graph.blocks_at(own, owners)
            more[:, layout.JA_AT] = graph.blocks_at(owners, own)
        rows = np.concatenate([self.row_plan.ravel(), parts.rows[ties].ravel()])

        touches, counts = parts.touches[numbers].T
        touched = spread(touches, counts)
        new = parts.plan[touched]
        ends, of_plane = new[:, layout.A : layout.B + 1], np.repeat(planes, counts)[:, None]
        ends[:] = np.where(ends == THE_PLANE, of_plane, np.where(ends == THE_WORLD, N, ends))
        slots = parts.touch_slots[touched]
        head, slots_more = int(base.contact_slot[self.touches]), int(slots.sum())
        near_slots = head + np.cumsum(slots) - slots
        new[:, layout.SLOT] = near_slots
        old = self.contact_plan.copy()
        old[:, layout.A : layout.B + 1][old[:, layout.A : layout.B + 1] == n] = N
        old[self.touches :, layout.SLOT] += slots_more
        contacts = np.concatenate([old[: self.touches], new, old[self.touches :]])
        a, b = contacts[:, layout.A], contacts[:, layout.B]
        both = np.flatnonzero(contacts[:, layout.AB_AT] >= 0)
        contacts[both, layout.AB_AT] = graph.blocks_at(a[both], b[both])
        contacts[both, layout.BA_AT] = graph.blocks_at(b[both], a[both])
        constants = np.concatenate([
            self.contact_constants[: self.touches], parts.constant[touched],
            self.contact_constants[self.touches :],
        ])  # fmt: skip
        plan, constant = self._assembled(ties, groups, rows, contacts, constants, slots_more, graph)
        if fallback is not None:
            plan[layout.FALLBACK_AT], plan[layout.FALLBACK_SIZE] = plan.size, fallback.program.size
            plan = np.concatenate([plan, fallback.program])
        every = parts.slots[numbers]
        places = Places(planes, head + np.cumsum(every) - every, every)
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
            base.contact_touches + tuple(chain.from_iterable(parts.labels[k] for k in chosen)),
            np.concatenate([
                base.contact_slot[: self.touches], near_slots,
                base.contact_slot[self.touches :] + slots_more,
            ]),
            {label: slot + slots_more for label, slot in base.friction_slot.items()},
            base.cycles,
            base.units | units,
            base.stiff,
            base.callbacks,
        )  # fmt: skip
        return tables, places

    def _symbolic(
        self, ends: Ints, planes: Ints, names: list[Hashable]
    ) -> tuple[gs.Symbolic, gs.Symbolic | None]:
        """Symbolic factorization of the graph with planes, and a second one where there may be."""
        n, p = self.n, len(names)
        edges = self.edges + p * (self.edges >= n)
        tied = planes >= 0
        one, other = ends[~tied & (ends >= 0).all(axis=1)].T
        at, side = np.nonzero(tied[:, None] & (ends >= 0))
        i = np.concatenate([edges[0], one, planes[at]])
        j = np.concatenate([edges[1], other, ends[at, side]])
        labels = [*self.labels[:n], *names, *self.labels[n:]]
        sizes = np.concatenate([self.sizes[:n], np.full(p, layout.TWIST), self.sizes[n:]])
        touching = self.touching or one.size + at.size > 0
        ones = np.ones(i.size, np.int8)
        pattern = coo_array((ones, (i, j)), shape=(len(labels), len(labels)))
        system = gs.System(pattern, sizes, nodelist=labels)
        if self.held:  # pivots of joints come from the same bodies as without contacts
            first, second = self.tables.symbolic, self.tables.fallback
            found = system.analyze([*names, *first.order]).refining(touching)
            if second is None:
                return found, None
            return found, system.analyze([*names, *second.order]).refining(touching)
        return system.analyze().refining(touching), None

    def _assembled(
        self,
        ties: Ints,
        groups: Ints,
        rows: Ints,
        contacts: Ints,
        numbers: Float,
        more: int,
        graph: Any,
    ) -> tuple[Ints, Float]:
        """Plan without the second order, and constants."""
        header = self.tables.plan[: layout.HEADER].copy()
        p, parts = len(ties), self.parts
        bodies = self.n + p
        group_at = layout.HEADER + bodies
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
            self.bodies, parts.body[ties].ravel(),
            self.group_constants, parts.group_constant[ties].ravel(),
            self.row_constants, parts.row_constants[ties].ravel(),
            numbers.ravel(), self.spatial, self.units,
        ])  # fmt: skip
        return plan, constant
