"""Units of a mechanism: length, speed, mass and energy that tolerances are relative to."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dynamics.kernels.rows import rows as kinds
from dynamics.parts.bodies import WORLD, Body
from dynamics.parts.tendons import sliders_of, terms

if TYPE_CHECKING:
    from dynamics.mechanism import Mechanism
    from dynamics.parts.contacts import Contact
    from dynamics.parts.joints import Row

__all__ = ["Unit", "is_angle", "lighter", "planes_of", "units_of"]

#: Gravity of a part that has none, m/s^2: with it units of ordinary mechanisms are ordinary.
STANDARD_GRAVITY = 9.81
#: Mass of a body over the heaviest one of its part, at least: residuals of 1e-9 of it are 1e-14 of
#: the momenta that joints pass on, their rounding.
LIGHTEST = 1e-5
#: Kinds of rows whose value has no unit; all others are in m.
UNITLESS = {
    kinds.ROTATION, kinds.ANGLE, kinds.DOT, kinds.LOGARITHM, kinds.SPIN, kinds.HEADING_A,
    kinds.HEADING_B,
}  # fmt: skip


def is_angle(row: Row) -> bool:
    """True if a row's value has no unit."""
    turns_alone = row.kind == kinds.SCREW and not row.axis.any()  # of a coupling
    return row.kind in UNITLESS or turns_alone


class Unit(NamedTuple):
    """Units of the part that a body belongs to: the bodies that joints hold together.

    Attributes
    ----------
    length : float
        Median of the reaches of the part's bodies, m. The reach of a body is its largest radius of
        gyration, or the distance of the farthest point of a joint or spring from its centre of
        mass where that is more.
    speed : float
        Of a fall by half the length, ``sqrt(g length)``, m/s. Without gravity g is
        `STANDARD_GRAVITY`.
    mass : float
        Of the heaviest body of the part, kg.
    energy : float
        ``mass speed^2``, J: the weight of that body times the length.
    """

    length: float
    speed: float
    mass: float
    energy: float


def units_of(mechanism: Mechanism) -> dict[Hashable, Unit]:
    """Units of every body.

    Parameters
    ----------
    mechanism : Mechanism

    Returns
    -------
    dict
        By name of body. The body of a separating plane has those of the lighter body's part, and
        so has the slide of a tendon.
    """
    planes, sliders = planes_of(mechanism), sliders_of(mechanism)
    helpers = {*planes, *sliders}
    bodies = {name: one for name, one in mechanism.bodies.items() if name not in helpers}
    moments = np.linalg.eigvalsh(np.array([body.inertia for body in bodies.values()]))[:, -1]
    reach = {
        name: math.sqrt(moment / body.mass)
        for (name, body), moment in zip(bodies.items(), moments.tolist())
    }
    links: list[Any] = [*mechanism.joints.values(), *mechanism.springs.values()]
    for link in links:
        for body, point in ((link.parent, link.parent_point), (link.child, link.child_point)):
            if body is not WORLD and body.name in reach:
                reach[body.name] = max(reach[body.name], math.hypot(*point))
    gravity = float(np.linalg.norm(mechanism.gravity))
    units: dict[Hashable, Unit] = {}
    for part in _parts(mechanism, bodies):
        length = float(np.median([reach[name] for name in part]))
        pull = gravity * max(abs(bodies[name].gravity_scale) for name in part)
        speed = math.sqrt((pull or STANDARD_GRAVITY) * length)
        mass = max(float(bodies[name].mass) for name in part)
        units |= dict.fromkeys(part, Unit(length, speed, mass, mass * speed**2))
    for name, tendon in sliders.items():
        ends = [end for part in terms(tendon, mechanism) for end in part.ends]
        units[name] = lighter(units, *ends)
    for name, contact in planes.items():
        units[name] = lighter(units, contact.parent, contact.child)
    return units


def planes_of(mechanism: Mechanism) -> dict[Hashable, Contact]:
    """Contacts with a separating plane.

    Parameters
    ----------
    mechanism : Mechanism

    Returns
    -------
    dict
        By name of the plane's body.
    """
    return {
        contact.plane.body.name: contact
        for contact in mechanism.contacts.values()
        if contact.plane is not None
    }


def lighter(units: Mapping[Hashable, Unit], *ends: Any) -> Unit:
    """Those of the part of less energy.

    Parameters
    ----------
    units : mapping
        By name of body.
    *ends : Body or world
        At least one is no world.

    Returns
    -------
    Unit
    """
    moving = [units[end.name] for end in ends if end is not WORLD]
    return min(moving, key=lambda unit: unit.energy)


def _parts(mechanism: Mechanism, bodies: Mapping[Hashable, Body]) -> list[list[Hashable]]:
    """Names of the bodies that joints hold together, part by part."""
    member = {name: [name] for name in bodies}
    for joint in mechanism.joints.values():
        ends = [body for body in joint.bodies if body is not WORLD]
        for first, second in zip(ends, ends[1:]) if joint.n_rows > 0 else ():
            one, other = member.get(first.name), member.get(second.name)
            if one is not None and other is not None and one is not other:
                small, large = sorted((one, other), key=len)
                large += small
                member |= dict.fromkeys(small, large)
    return list({id(part): part for part in member.values()}.values())
