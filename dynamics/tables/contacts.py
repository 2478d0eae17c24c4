"""From contacts and limits to the records of theory/contacts (1) to (5), which a step reads."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
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

#: Largest coefficient of friction: nothing slides. With those of some files, 1e14, matrices are
#: singular.
STICKING = 1e3


@dataclass(frozen=True, slots=True)
class Record:
    """Touches of a contact between the same bodies, or a limit; each is a row of the tables.

    Attributes
    ----------
    labels : tuple of tuple, length k
        Name of the contact or joint, and number of the touch or coordinate.
    parent, child : Body or world
    contact : Contact or None
    touches : tuple of Touch, length k
        None of a limit, for which k is 1.
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

    labels: tuple[tuple[Hashable, int], ...]
    parent: Any
    child: Any
    contact: Contact | None = None
    touches: tuple[Any, ...] = ()
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


def touching_records(contact: Contact, callback: int = 0) -> list[Record]:
    """Records of the touches of a contact."""
    records, first = [], 0
    for _, several in groupby(contact.touches, attrgetter("of_parent")):
        touches = tuple(several)
        labels = tuple((contact.name, first + k) for k in range(len(touches)))
        records.append(Record(labels, *contact.ends(touches[0]), contact, touches, callback))
        first += len(touches)
    return records


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
        records += touching_records(contact, address)
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
                ((joint.name, i),), joint.parent, joint.child, row=rated_row[joint.name] + i,
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
            ((owner.name, i),), owner.parent, owner.child, row=row + i, limit=limit - rest[i],
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
    plan : ndarray of int, shape (k * CONTACT_FIELDS,)
        Of k touches and limits.
    constant : ndarray of float, shape (k * CONTACT_SIZE,)
    slots : ndarray of int, shape (k + 1,)
    """
    n, counts = len(body_index), [len(r.labels) for r in records]
    count = sum(counts)
    plan = np.zeros(count * layout.CONTACT_FIELDS, np.int64)
    constant = np.zeros(count * layout.CONTACT_SIZE)
    p, c = view(plan, CONTACT, 0, count), view(constant, CONTACT_CONSTANTS, 0, count)
    slots = np.zeros(count + 1, np.int64)
    fields = []
    for r in records:
        a, b = body_index.get(r.parent.name, n), body_index.get(r.child.name, n)
        blocks, facets = r.blocks, r.facets
        places = (graph.edge_at(a, b), graph.edge_at(b, a)) if r.joins_bodies else (-1, -1)
        size = layout.slots_of(blocks, facets)
        fields.append((a, b, *places, blocks, facets, r.callback, r.row, size))
    each = np.repeat(np.array(fields, np.int64).reshape(-1, 9), counts, axis=0).T
    for name, numbers in zip(
        ("a", "b", "ab_at", "ba_at", "blocks", "facets", "callback", "limited_row"), each
    ):
        p[name] = numbers
    np.cumsum(each[8], out=slots[1:])
    p["slot"], p["kind"] = slots[:-1], kinds.LIMITED
    _write_units(c, records, counts, units)
    touching = [record for record in records if record.contact is not None]
    t = sum(counts[: len(touching)])  # these are the first
    _write_touches(p[:t], c[:t], touching)
    _write_limits(p[t:], c[t:], records[len(touching) :])
    return plan, constant, slots


def _write_units(
    c: Any, records: list[Record], counts: list[int], units: dict[Hashable, Unit]
) -> None:
    """Unit of each record: that of the lighter of its ends."""
    numbers = []
    for record in records:
        unit = lighter(units, record.parent, record.child)
        arm = unit.length if record.angular else 1.0
        numbers.append((unit.energy, unit.length, unit.speed, arm))
    every = np.repeat(np.array(numbers).reshape(-1, 4), counts, axis=0)
    energy, length, speed, arm = every.T
    c["energy"] = energy
    c["pace"], c["turning_pace"], c["length"] = arm / speed, length / speed, length / arm
    c["fall"] = speed**2 / (length * arm)


def _write_limits(p: Any, c: Any, records: list[Record]) -> None:
    """Records of limits and of dry friction."""
    for k, record in enumerate(records):
        numbers = c[k]
        numbers["limit"], numbers["sign"] = record.limit, record.sign
        numbers["softness"], numbers["of_rate"] = record.softness, record.of_rate
        if record.friction > 0.0:
            p["kind"][k], numbers["friction"][0] = kinds.DRY_FRICTION, record.friction


def _write_touches(p: Any, c: Any, records: list[Record]) -> None:
    """Records of pairs of features."""
    if not records:
        return
    touches = [touch for record in records for touch in record.touches]
    kind, *vectors, radius_a, radius_b, frame, _, grip = zip(*touches)
    p["kind"], c["radius_a"], c["radius_b"] = kind, radius_a, radius_b
    names = "point_a", "second_a", "point_b", "second_b", "frame_a"
    for name, numbers in zip(names, (*vectors, frame)):
        c[name] = np.concatenate(numbers).reshape(len(touches), -1)
    contacts: list[Any] = [record.contact for record in records]
    # of two touches of a plane one is after the other
    options = [
        (
            one.plane is not None, one.restitution,
            (0.5 if one.plane is not None else 1.0) * one.compliance,
            one.friction, one.torsional, one.rolling,
        )
        for one in contacts
    ]  # fmt: skip
    each = np.repeat(options, [len(record.touches) for record in records], axis=0)
    p["of_plane"], c["restitution"], c["softness"] = each[:, :3].T
    # a block in the middle may have none: its cone is then a sliver
    c["friction"] = np.clip(np.array(grip)[:, None] * each[:, 3:], 1e-12, STICKING)
