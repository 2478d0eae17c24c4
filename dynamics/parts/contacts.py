"""Contacts between shapes: which points of which bodies may touch what, and how they rub."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynamics.errors import unknown_words
from dynamics.kernels.contacts import geometry as kinds
from dynamics.parts.contact_primitives import Touch, rank, shape_of, touches_of
from dynamics.parts.options import ContactOptions, never_changes
from dynamics.parts.separating_planes import Plane, plane_between

__all__ = ["FARTHEST", "Contact", "contact"]

#: Reach of a shape, m: numbers of this size are apart by 1.5e-8, the gaps that contacts keep.
FARTHEST = 1e8

#: Touches of points and lines, each with a radius.
BETWEEN_LINES = (kinds.SPHERE_SPHERE, kinds.SEGMENT_SPHERE, kinds.SEGMENT_SEGMENT)


OPTIONS = (*ContactOptions.__annotations__, "name")
#: Words for options of contacts elsewhere.
MEANT = {
    "mu": "friction", "bounce": "restitution", "elasticity": "restitution", "e": "restitution",
    "stiffness": "compliance", "softness": "compliance", "ground": "against_shape",
    "geometry": "shape",
}  # fmt: skip


@never_changes("contact")
@dataclass(frozen=True, slots=True, eq=False)
class Contact:
    """Contact of two bodies; made by `Mechanism.add_contact`.

    Attributes
    ----------
    name : hashable
    parent, child : Body or world
        First and other body; normals point from the first to the other.
    touches : tuple of Touch
    friction, torsional, rolling : float
        Coefficients: 1, m, m.
    restitution : float
        Part of the approach velocity that comes back.
    compliance : float
        m/N; 0 is rigid.
    distance : callable or None
        A user's signed distance, see `dynamics.tables.callbacks.distance`.
    facets : int
        Directions of the linearized friction cone; 0 is the round one.
    plane : Plane or None
        Between two convex shapes, which both touch it.
    """

    name: Hashable
    parent: Any
    child: Any
    touches: tuple[Touch, ...]
    friction: float = 0.0
    torsional: float = 0.0
    rolling: float = 0.0
    restitution: float = 0.0
    compliance: float = 0.0
    distance: Callable[..., Any] | None = None
    facets: int = 0
    plane: Plane | None = None

    def __repr__(self) -> str:
        between = " and ".join(repr(one.name) for one in (self.parent, self.child))
        return f"Contact({self.name!r}, of {between}, friction {self.friction:g})"

    def ends(self, touch: Touch) -> tuple[Any, Any]:
        """First and other body of a touch: the contact's, or its plane and one of them."""
        if self.plane is None:
            return self.parent, self.child
        return self.plane.body, self.parent if touch.of_parent else self.child

    @property
    def blocks(self) -> int:
        """Number of friction blocks."""
        if self.rolling > 0.0:
            return 3
        if self.torsional > 0.0:
            return 2
        return 1 if self.friction > 0.0 else 0


def contact(
    first: Any,
    other: Any,
    *,
    name: Hashable,
    shape: Any = None,
    against_shape: Any = None,
    friction: float = 0.5,
    torsional: float = 0.0,
    rolling: float = 0.0,
    restitution: float = 0.0,
    compliance: float = 0.0,
    distance: Callable[..., Any] | None = None,
    cone: str | int = "round",
    **unknown: Any,
) -> Contact:
    """Check a contact and divide it into pairs of features; see `Mechanism.add_contact`.

    Parameters
    ----------
    first, other : Body or world
    name : hashable
    shape : Shape, HalfSpace, Geometry or array_like, shape (3,) or (k, 3), optional
        Shape of the body: a shape, a point, points whose convex hull it is (by Qhull), or a
        `Geometry` of a robot file (the hull of a mesh). By default the body's own shape.
    against_shape : Shape, HalfSpace, Geometry or array_like, shape (3,) or (k, 3), optional
        Shape that it touches; by default the other body's own shape, or the half-space z < 0 of the
        world.
    friction : float, optional
        Coefficient of sliding friction.
    torsional, rolling : float, optional
        Coefficients of torsional and rolling friction, m.
    restitution : float, optional
        Ratio of the separation velocity after an impact to the approach velocity, from 0 to 1.
    compliance : float, optional
        m/N; 0 is rigid.
    distance : callable, optional
        Your function for the signed distance of the two bodies, instead of shapes.
    cone : "round" or int, optional
        Cone of sliding friction: round (second-order cone), or the convex hull of an even number of
        directions, at least 4 (linearized: Bruedigam et al. 2023, Appendix C). On level ground the
        first direction is x, on a slope x after the shortest rotation to the slope.

    Returns
    -------
    Contact

    Raises
    ------
    ValueError
        For invalid coefficients, cones with an odd number of directions or fewer than 4,
        unsupported pairs of shapes, and restitution between shapes with a separating plane.

    References
    ----------
    .. [1] J. Bruedigam, S. Sosnowski, Z. Manchester, S. Hirche, Variational integrators and
       graph-based solvers for multibody dynamics in maximal coordinates, 2023.
    """
    label = f"contact {name!r}"
    if unknown:
        raise TypeError(unknown_words(label, unknown, OPTIONS, MEANT))
    if first is other:
        raise ValueError(f"{label} is of {first.name!r} with itself")
    check_coefficients(
        label,
        {
            "friction": friction, "torsional": torsional, "rolling": rolling,
            "restitution": restitution, "compliance": compliance,
        },
    )  # fmt: skip
    if (torsional > 0.0 or rolling > 0.0) and friction == 0.0:
        raise ValueError(f"{label} resists turning but not sliding; give it friction")
    plane: Plane | None = None
    if distance is not None:
        touches: tuple[Touch, ...] = (Touch(kinds.USER_GAP),)
    else:
        one = shape_of(first, against_shape, label)
        two = shape_of(other, shape, label)
        low, high = sorted((one, two), key=rank)
        found = touches_of(low, high)
        if found is None:  # roles are those of all parts of compounds: try both
            low, high = high, low
            found = touches_of(low, high)
        if found is None:
            if restitution > 0.0:
                raise ValueError(
                    f"restitution of {label} is {restitution}; it is not offered between shapes "
                    "that touch a plane between them, as the plane would bounce"
                )
            plane, found = plane_between(first, other, one, two, name)
        elif low is not one:
            first, other = other, first
        touches = tuple(found)
        check_thickness(label, touches)
        _check_reach(label, touches)
    return Contact(
        name, first, other, touches, friction, torsional, rolling, restitution, compliance,
        distance, facets_of(cone, label), plane,
    )  # fmt: skip


def check_thickness(label: str, touches: Iterable[Touch]) -> None:
    """Refuse points and lines against each other, whose distance never says that they crossed."""
    for touch in touches:
        if touch.kind in BETWEEN_LINES and touch.radius_first + touch.radius_other == 0.0:
            raise ValueError(
                f"{label} is of points or thin rods, which have no thickness and would pass "
                "through each other; give one of them a radius, or use a Capsule or Sphere"
            )


def _check_reach(label: str, touches: Iterable[Touch]) -> None:
    """Refuse shapes so large that positions on them have no digits for gaps."""
    for touch in touches:
        points = touch.first, touch.second_first, touch.other, touch.second_other
        far = float(np.abs(points).max()) + max(touch.radius_first, touch.radius_other)
        if far > FARTHEST:
            raise ValueError(
                f"a shape of {label} reaches {far:.0e} m from the body's frame, where positions "
                f"have no digits for gaps; keep shapes within {FARTHEST:.0e} m"
            )


def facets_of(cone: str | int, label: str) -> int:
    """Directions of a cone, 0 of the round one.

    Parameters
    ----------
    cone : "round" or int
    label : str
        Of the contact.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        For anything else, and numbers that are odd or below 4.
    """
    if isinstance(cone, str) and cone == "round":
        return 0
    whole = int(cone) if isinstance(cone, (int, np.integer)) and cone is not True else 0
    if whole < 4 or whole % 2:
        raise ValueError(
            f'cone of {label} is {cone!r}; it may be "round", or an even number of directions, '
            "at least 4"
        )
    return int(cone)


def check_coefficients(label: str, numbers: Mapping[str, float]) -> None:
    """Refuse coefficients that make no sense.

    Parameters
    ----------
    label : str
        Of the contact.
    numbers : mapping
        By name of the coefficient.

    Raises
    ------
    ValueError
    """
    for what, value in numbers.items():
        if not (math.isfinite(value) and value >= 0.0):
            raise ValueError(f"{what} of {label} is {value}, and must not be negative")
        if what == "restitution" and value > 1.0:
            raise ValueError(f"restitution of {label} is {value}: more than 1 adds energy")


def refuse_rigid(made: Contact, joints: Iterable[Any]) -> None:
    """Refuse a contact of bodies that fixed joints hold, one or a chain of them."""
    fixed = [joint for joint in joints if joint.kind == "fixed"]
    ways: dict[Any, list[Any]] = {made.parent: []}
    ends = [made.parent]
    for body in ends:
        for joint in fixed:
            for one, other in ((joint.parent, joint.child), (joint.child, joint.parent)):
                if one is body and other not in ways:
                    ways[other] = [*ways[body], joint.name]
                    ends.append(other)
    if made.child in ways:
        names = ways[made.child]
        which = f"joint {names[0]!r} holds" if len(names) == 1 else f"joints {names} hold"
        raise ValueError(f"contact {made.name!r} is of bodies that {which} rigidly")
