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
    n = len(body_index)
    plan = np.zeros(len(records) * layout.CONTACT_FIELDS, np.int64)
    constant = np.zeros(len(records) * layout.CONTACT_SIZE)
    slots = np.concatenate([[0], np.cumsum([layout.slots_of(r.blocks, r.facets) for r in records])])
    places = view(plan, CONTACT, 0, len(records))
    numbers = view(constant, CONTACT_CONSTANTS, 0, len(records))
    for record, p, c, slot in zip(records, places, numbers, slots):
        a, b = (body_index.get(end.name, n) for end in (record.parent, record.child))
        p["a"], p["b"], p["blocks"], p["slot"] = a, b, record.blocks, slot
        p["facets"] = record.facets
        unit = lighter(units, record.parent, record.child)
        arm = unit.length if record.angular else 1.0
        c["energy"], c["pace"], c["turning_pace"] = (
            unit.energy, arm / unit.speed, unit.length / unit.speed,
        )  # fmt: skip
        c["length"] = unit.length / arm
        c["fall"] = unit.speed**2 / (unit.length * arm)
        p["ab_at"] = p["ba_at"] = -1
        if record.joins_bodies:
            p["ab_at"], p["ba_at"] = graph.edge_at(a, b), graph.edge_at(b, a)
        p["callback"], p["limited_row"] = record.callback, record.row
        if record.contact is None or record.touch is None:
            p["kind"] = kinds.LIMITED
            c["limit"], c["sign"], c["softness"] = record.limit, record.sign, record.softness
            c["of_rate"] = record.of_rate
            if record.friction > 0.0:
                p["kind"], c["friction"][0] = kinds.DRY_FRICTION, record.friction
            continue
        touch, contact = record.touch, record.contact
        p["kind"] = touch.kind
        c["point_a"], c["second_a"] = touch.first, touch.second_first
        c["point_b"], c["second_b"] = touch.other, touch.second_other
        c["radius_a"], c["radius_b"] = touch.radius_first, touch.radius_other
        c["frame_a"] = touch.frame
        c["restitution"], c["softness"] = contact.restitution, contact.compliance
        if contact.plane is not None:  # one after the other
            p["of_plane"] = 1
            c["softness"] = 0.5 * contact.compliance
        coefficients = np.array([contact.friction, contact.torsional, contact.rolling])
        # a block in the middle may have none: its cone is then a sliver
        c["friction"] = np.maximum(touch.grip * coefficients, 1e-12)
    return plan, constant, slots.astype(np.int64)
