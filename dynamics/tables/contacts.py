"""From contacts and limits to the records of theory/contacts (1) to (5), which a step reads."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynamics.kernels.base import layout
from dynamics.kernels.contacts import geometry as kinds
from dynamics.kernels.rows import rows as kind_of
from dynamics.parts.bodies import WORLD
from dynamics.parts.contacts import Contact
from dynamics.tables import callbacks
from dynamics.tables.records import CONTACT, CONTACT_CONSTANTS, view
from dynamics.tables.units import UNITLESS, Unit, lighter

if TYPE_CHECKING:
    from dynamics.mechanism import Mechanism

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Record:
    """One contact or limit.

    Attributes
    ----------
    label : tuple
        Name of the contact or joint, and number of the touch or coordinate.
    parent, child : Body or world
    contact : Contact or None
    touch : Touch or None
    callback : int
        Address of a user's distance.
    row : int
        Limited row.
    limit, sign : float
    softness : float
        Of a limit, m/N or rad/(N m).
    of_rate : bool
        Whether a limit is one of the row's rate.
    friction : float
        Bound of dry friction along the row, N or N m; 0 for all else.
    angular : bool
        Whether the limited or rubbing row is an angle's.
    """

    label: tuple[Hashable, int]
    parent: Any
    child: Any
    contact: Contact | None = None
    touch: Any = None
    callback: int = 0
    row: int = 0
    limit: float = 0.0
    sign: float = 1.0
    softness: float = 0.0
    of_rate: bool = False
    friction: float = 0.0
    angular: bool = False

    @property
    def blocks(self) -> int:
        """Number of friction blocks."""
        return int(self.friction > 0.0) if self.contact is None else self.contact.blocks

    @property
    def facets(self) -> int:
        """Directions of the linearized friction cone, 0 where it is round."""
        return 0 if self.contact is None or self.blocks == 0 else self.contact.facets

    @property
    def joins_bodies(self) -> bool:
        """True if neither side is the world."""
        return self.parent is not WORLD and self.child is not WORLD


def records_of(
    mechanism: Mechanism, limited_row: Mapping[Hashable, int], rated_row: Mapping[Hashable, int]
) -> tuple[list[Record], list[Any]]:
    """Every pair of features, every limit, dry friction; and the C functions of users' distances.

    Parameters
    ----------
    mechanism : Mechanism
    limited_row : mapping
        First row of a joint's coordinates among the force rows.
    rated_row : mapping
        The same of the rates.

    Returns
    -------
    list of Record, list of Callback
    """
    records: list[Record] = []
    calls: list[Any] = []
    for contact in mechanism.contacts.values():
        address = 0
        if contact.distance is not None:
            calls.append(callbacks.distance(contact.distance, f"contact {contact.name!r}"))
            address = calls[-1].address
        for k, touch in enumerate(contact.touches):
            label = (contact.name, k)
            records.append(Record(label, *contact.ends(touch), contact, touch, address))
    for joint in mechanism.joints.values():
        if joint.limits is not None:
            records += _limits(joint, joint.limits, joint.rest, limited_row[joint.name], 0.0)
        if joint.velocity_limits is not None:
            ends = joint.velocity_limits
            row = rated_row[joint.name]
            records += _limits(joint, ends, np.zeros(len(ends)), row, 0.0, of_rate=True)
    for spring in mechanism.springs.values():
        if spring.limits is not None:
            ends, rest = np.array([spring.limits]), np.array([spring.length])
            row = limited_row[spring.name]
            records += _limits(spring, ends, rest, row, spring.limit_compliance)
    for joint in mechanism.joints.values():  # last: what is no contact to look at
        records += [
            Record(
                (joint.name, i), joint.parent, joint.child, row=rated_row[joint.name] + i,
                friction=bound, angular=joint.rates[i].kind in UNITLESS,
            )
            for i, bound in enumerate(joint.friction)
            if bound > 0.0
        ]  # fmt: skip
    return records, calls


def _limits(
    owner: Any, limits: Float, rest: Float, row: int, softness: float, of_rate: bool = False
) -> list[Record]:
    """Records of the finite limits of a joint's or spring's rows, which are off by their rests."""
    row_kinds = [row.kind for row in getattr(owner, "rates" if of_rate else "positions", ())]
    row_kinds = row_kinds or [kind_of.DISTANCE]  # of a spring
    return [
        Record(
            (owner.name, i), owner.parent, owner.child, row=row + i, limit=limit - rest[i],
            sign=sign, softness=softness, of_rate=of_rate, angular=kind in UNITLESS,
        )
        for i, (ends, kind) in enumerate(zip(limits, row_kinds))
        for limit, sign in zip(ends, (1.0, -1.0))
        if np.isfinite(limit)
    ]  # fmt: skip


def written(
    records: list[Record],
    units: dict[Hashable, Unit],
    body_index: Mapping[Hashable, int],
    graph: Any,
) -> tuple[NDArray[np.int64], Float, NDArray[np.int64]]:
    """Records as the kernels read them.

    Parameters
    ----------
    records : list of Record
    units : dict
        By name of body.
    body_index : mapping
    graph : BlockGraph

    Returns
    -------
    plan : ndarray of int, shape (records * CONTACT_FIELDS,)
    constant : ndarray of float, shape (records * CONTACT_SIZE,)
    slots : ndarray of int, shape (records + 1,)
    """
    n, count = len(body_index), len(records)
    plan = np.zeros(count * layout.CONTACT_FIELDS, np.int64)
    constant = np.zeros(count * layout.CONTACT_SIZE)
    blocks, facets = [r.blocks for r in records], [r.facets for r in records]
    slots = np.cumsum([0, *map(layout.slots_of, blocks, facets)], dtype=np.int64)
    p, c = view(plan, CONTACT, 0, count), view(constant, CONTACT_CONSTANTS, 0, count)
    for k, end in enumerate(("parent", "child")):
        p["ab"[k]] = [body_index.get(getattr(r, end).name, n) for r in records]
    p["blocks"], p["facets"], p["slot"] = blocks, facets, slots[:-1]
    p["callback"], p["limited_row"] = [r.callback for r in records], [r.row for r in records]
    p["kind"], p["ab_at"], p["ba_at"] = kinds.LIMITED, -1, -1
    for k, record in enumerate(records):
        if record.joins_bodies:
            a, b = int(p["a"][k]), int(p["b"][k])
            p["ab_at"][k], p["ba_at"][k] = graph.edge_at(a, b), graph.edge_at(b, a)
    _write_units(c, records, units)
    touching = [k for k, r in enumerate(records) if r.touch is not None]
    _write_limits(p, c, [k for k in range(count) if records[k].touch is None], records)
    _write_touches(p, c, touching, records)
    return plan, constant, slots


def _write_units(c: Any, records: list[Record], units: dict[Hashable, Unit]) -> None:
    """Unit of each record: that of the lighter of its ends."""
    known: dict[tuple[int, int], Unit] = {}
    for record in records:
        ends = id(record.parent), id(record.child)
        if ends not in known:
            known[ends] = lighter(units, record.parent, record.child)
    lighters = [known[id(r.parent), id(r.child)] for r in records]
    length, speed = np.array([(unit.length, unit.speed) for unit in lighters]).reshape(-1, 2).T
    arm = np.where([r.angular for r in records], length, 1.0)
    c["energy"] = [unit.energy for unit in lighters]
    c["pace"], c["turning_pace"], c["length"] = arm / speed, length / speed, length / arm
    c["fall"] = speed**2 / (length * arm)


def _write_limits(p: Any, c: Any, at: list[int], records: list[Record]) -> None:
    """Records of limits and of dry friction."""
    for k in at:
        record, numbers = records[k], c[k]
        numbers["limit"], numbers["sign"] = record.limit, record.sign
        numbers["softness"], numbers["of_rate"] = record.softness, record.of_rate
        if record.friction > 0.0:
            p["kind"][k], numbers["friction"][0] = kinds.DRY_FRICTION, record.friction


def _write_touches(p: Any, c: Any, at: list[int], records: list[Record]) -> None:
    """Records of pairs of features."""
    if not at:
        return
    touches = [records[k].touch for k in at]
    contacts: list[Any] = [records[k].contact for k in at]
    p["kind"][at] = [touch.kind for touch in touches]
    for name, of in (
        ("point_a", "first"), ("second_a", "second_first"), ("point_b", "other"),
        ("second_b", "second_other"), ("radius_a", "radius_first"), ("radius_b", "radius_other"),
        ("frame_a", "frame"),
    ):  # fmt: skip
        c[name][at] = [getattr(touch, of) for touch in touches]
    of_plane = np.array([one.plane is not None for one in contacts])
    p["of_plane"][at] = of_plane
    c["restitution"][at] = [one.restitution for one in contacts]
    # of two touches of a plane one is after the other
    c["softness"][at] = np.where(of_plane, 0.5, 1.0) * [one.compliance for one in contacts]
    coefficients = np.array([(one.friction, one.torsional, one.rolling) for one in contacts])
    grips = np.array([touch.grip for touch in touches])[:, None]
    # a block in the middle may have none: its cone is then a sliver
    c["friction"][at] = np.maximum(grips * coefficients, 1e-12)
