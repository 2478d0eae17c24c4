"""Contacts between shapes: which points of which bodies may touch what, and how they rub."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation
from dynamics.bodies import WORLD
from dynamics.hulls import Hull, hull_of
from dynamics.joints import basis
from dynamics.kernels import contact_geometry as kinds
from dynamics.shapes import Box, Capsule, Compound, Cylinder, Rod, Sphere

__all__ = ["Contact", "HalfSpace", "Touch", "contact"]

Float = NDArray[np.float64]
ZERO = np.zeros(3)


@dataclass(frozen=True, slots=True, eq=False)
class HalfSpace:
    """All points below a plane.

    Parameters
    ----------
    normal : array_like, shape (3,), optional
        Out of the solid, in the frame of the body or world that owns it.
    point : array_like, shape (3,), optional
        On the plane, m.
    """

    normal: ArrayLike = (0.0, 0.0, 1.0)
    point: ArrayLike = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        n = rotation.as_numbers(self.normal, (3,), "normal of a half-space")
        length = float(np.linalg.norm(n))
        if length == 0.0:
            raise ValueError("normal of a half-space is zero")
        object.__setattr__(self, "normal", n / length)
        point = rotation.as_numbers(self.point, (3,), "point of a half-space")
        object.__setattr__(self, "point", point)


@dataclass(frozen=True, slots=True, eq=False)
class Touch:
    """One pair of simple features; see `dynamics.kernels.contact_geometry`.

    Attributes
    ----------
    kind : int
    first, second_first : ndarray of float, shape (3,)
        Points of the first body: a centre or an end, and another end, a normal or half sizes.
    other, second_other : ndarray of float, shape (3,)
        Those of the other body.
    radius_first, radius_other : float
    frame : ndarray of float, shape (4,)
        Orientation of a box in its body.
    """

    kind: int
    first: Float = field(default_factory=lambda: ZERO)
    second_first: Float = field(default_factory=lambda: ZERO)
    other: Float = field(default_factory=lambda: ZERO)
    second_other: Float = field(default_factory=lambda: ZERO)
    radius_first: float = 0.0
    radius_other: float = 0.0
    frame: Float = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))


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
        A user's signed distance, see `dynamics.callbacks.distance`.
    facets : int
        Directions of the linearized friction cone; 0 is the round one.
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
    first_shape: Any = None,
    shape: Any = None,
    friction: float = 0.5,
    torsional: float = 0.0,
    rolling: float = 0.0,
    restitution: float = 0.0,
    compliance: float = 0.0,
    distance: Callable[..., Any] | None = None,
    cone: str | int = "round",
) -> Contact:
    """Check a contact and cut it into pairs of features; see `Mechanism.add_contact`.

    Parameters
    ----------
    first, other : Body or world
    name : hashable
    first_shape, shape : optional
        Shape, half-space, point, or points, shape (k, 3), which stand for their convex hull (of a
        mesh, found by Qhull), of the first and of the other body; by default theirs, and the
        half-space z < 0 of the world. Hulls touch half-spaces only.
    friction, torsional, rolling, restitution, compliance : float, optional
    distance : callable, optional
    cone : "round" or int, optional
        Cone of sliding friction: round, the same in all directions (second order), or the hull of
        an even number of directions, at least 4 (linearized, [1]_ Appendix C). On level ground the
        first direction is x, on a slope what x becomes by the shortest turn.

    Returns
    -------
    Contact

    Raises
    ------
    ValueError
        For coefficients that make no sense, cones of a number of directions that is odd or below 4,
        and pairs of shapes that are not offered.

    References
    ----------
    .. [1] J. Bruedigam, J. Janeva, S. Sosnowski, S. Hirche, Linear-time contact and friction
       dynamics in maximal coordinates using variational integrators, 2023.
    """
    label = f"contact {name!r}"
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
    if distance is not None:
        touches: tuple[Touch, ...] = (Touch(kinds.USER_GAP),)
    else:
        one = _shape_of(first, first_shape, label)
        two = _shape_of(other, shape, label)
        if _rank(one) > _rank(two):
            first, other, one, two = other, first, two, one
        touches = tuple(_touches(one, two, label))
    return Contact(
        name, first, other, touches, friction, torsional, rolling, restitution, compliance,
        distance, facets_of(cone, label),
    )  # fmt: skip


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
            raise ValueError(f"restitution of {label} is {value}: more than 1 makes energy")


def refuse_rigid(made: Contact, joints: Iterable[Any]) -> None:
    """Refuse a contact of bodies that fixed joints hold, one or a chain of them.

    Parameters
    ----------
    made : Contact
    joints : iterable of Joint

    Raises
    ------
    ValueError
        Naming the joints.
    """
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


def _shape_of(body: Any, shape: Any, label: str) -> Any:
    if shape is not None:
        if isinstance(shape, (HalfSpace, Box, Sphere, Capsule, Cylinder, Rod, Compound)):
            return shape
        if np.ndim(shape) == 2:
            return hull_of(shape, label)
        return rotation.as_numbers(shape, (3,), f"point of {label}")
    if body is WORLD:
        return HalfSpace()
    if body.shape is None:
        raise ValueError(f"{label}: body {body.name!r} has no shape; give shape=, or a point")
    return body.shape


def _rank(shape: Any) -> int:
    """Order in which pairs are offered: half-space, box, capsule, the rest."""
    if isinstance(shape, HalfSpace):
        return 0
    if isinstance(shape, Box):
        return 1
    return 2 if isinstance(shape, (Capsule, Rod)) else 3


def _ends(shape: Any) -> tuple[Float, Float, float]:
    """Ends of the axis of a capsule, rod or cylinder, and its radius."""
    half = 0.5 * shape.length * np.asarray(shape.axis, float)
    return -half, half, float(shape.radius)


def _spheres(shape: Any) -> list[tuple[Float, float]] | None:
    """Spheres (centre, radius) that touch a plane as the shape does; None for other shapes."""
    if isinstance(shape, np.ndarray):
        return [(shape, 0.0)]
    if isinstance(shape, Sphere):
        return [(ZERO, float(shape.radius))]
    if isinstance(shape, Box):
        half = 0.5 * np.array([shape.x, shape.y, shape.z])
        signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
        return [(sign * half, 0.0) for sign in signs]
    if isinstance(shape, (Capsule, Rod)):
        one, two, radius = _ends(shape)
        return [(one, radius), (two, radius)]
    if isinstance(shape, Hull):
        return [(corner, 0.0) for corner in shape.corners]
    return None


def _touches(one: Any, two: Any, label: str) -> list[Touch]:
    """Pairs of features of two shapes, the first of lower rank."""
    if isinstance(two, Compound):
        return [
            _moved(touch, part.position, part.orientation)
            for part in two.parts
            for touch in _touches(one, part.shape, label)
        ]
    spheres = _spheres(two)
    if isinstance(one, HalfSpace):
        plane: dict[str, Any] = {
            "first": np.asarray(one.point),
            "second_first": np.asarray(one.normal),
        }
        if isinstance(two, Cylinder):
            # the lowest point of each rim, on which it rolls, and four that it stands on
            low, high, radius = _ends(two)
            axis = np.asarray(two.axis, float)
            one_way, another, _ = basis(axis)
            rims = [
                Touch(kinds.PLANE_RIM, **plane, other=end, second_other=axis, radius_other=radius)
                for end in (low, high)
            ]
            return rims + [
                Touch(kinds.PLANE_SPHERE, **plane, other=end + radius * way)
                for end in (low, high)
                for way in (one_way, another, -one_way, -another)
            ]
        if spheres is not None:
            return [
                Touch(kinds.PLANE_SPHERE, **plane, other=at, radius_other=r) for at, r in spheres
            ]
    elif isinstance(one, Hull) or isinstance(two, Hull):
        pass  # corners alone would let edges and sides through
    elif isinstance(one, Box):  # ends alone would let a capsule through that lies across an edge
        if spheres is not None and isinstance(two, (Sphere, np.ndarray)):
            half = 0.5 * np.array([one.x, one.y, one.z])
            return [
                Touch(kinds.BOX_SPHERE, second_first=half, other=at, radius_other=r)
                for at, r in spheres
            ]
    elif isinstance(one, (Capsule, Rod)):
        low, high, radius = _ends(one)
        line: dict[str, Any] = {"first": low, "second_first": high, "radius_first": radius}
        if isinstance(two, (Capsule, Rod)):
            start, end, r = _ends(two)
            return [
                Touch(kinds.SEGMENT_SEGMENT, **line, other=start, second_other=end, radius_other=r)
            ]
        if spheres is not None:
            return [
                Touch(kinds.SEGMENT_SPHERE, **line, other=at, radius_other=r) for at, r in spheres
            ]
    else:
        first = _spheres(one)
        if first is not None and spheres is not None:
            return [
                Touch(kinds.SPHERE_SPHERE, first=a, radius_first=r, other=b, radius_other=s)
                for a, r in first
                for b, s in spheres
            ]
    raise ValueError(
        f"{label}: contact of {type(one).__name__} with {type(two).__name__} is not offered; use "
        "spheres, capsules, a half-space, or distance= with a function of your own"
    )


def _moved(touch: Touch, position: Float, orientation: Float) -> Touch:
    """Touch of a part of a compound, in the compound's frame."""
    from dataclasses import replace

    def point(x: Float) -> Float:
        return position + rotation.rotate(orientation, x)

    second = touch.second_other
    second = (
        rotation.rotate(orientation, second) if touch.kind == kinds.PLANE_RIM else point(second)
    )
    return replace(touch, other=point(touch.other), second_other=second)
