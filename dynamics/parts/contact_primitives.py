"""Shapes of contacts as pairs of features: points, spheres, segments, planes, rims."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation
from dynamics.kernels.contacts import geometry as kinds
from dynamics.parts.bodies import WORLD
from dynamics.parts.convex_hulls import Core, Hull, hull_of
from dynamics.parts.geometry import Geometry, Mesh
from dynamics.parts.joints import basis
from dynamics.parts.meshes import corners_of
from dynamics.parts.shapes import (
    Box,
    Capsule,
    Compound,
    Cylinder,
    Ellipsoid,
    Rod,
    Shape,
    Sphere,
)

__all__ = [
    "HalfSpace",
    "Touch",
    "core_of",
    "placed_half_space",
    "rank",
    "shape_of",
    "touches_of",
]

Float = NDArray[np.float64]
ZERO, IDENTITY = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
#: Signs of the coordinates of a box's corners.
CORNERS = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T


@dataclass(frozen=True, slots=True, eq=False)
class HalfSpace:
    """All points below a plane.

    Parameters
    ----------
    normal : array_like, shape (3,), optional
        Outward normal, in the frame of the body or world that owns the half-space.
    point : array_like, shape (3,), optional
        Point on the plane, m.
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


def placed_half_space(geometry: Geometry) -> Geometry:
    """Geometry of a half-space without a place of its own: normal and point are the owner's.

    Parameters
    ----------
    geometry : Geometry
        Of a `HalfSpace`.

    Returns
    -------
    Geometry
    """
    plane, q = geometry.shape, geometry.orientation
    point = geometry.position + rotation.rotate(q, plane.point)
    moved = HalfSpace(rotation.rotate(q, plane.normal), point)
    return replace(geometry, shape=moved, position=ZERO, orientation=IDENTITY)


class Touch(NamedTuple):
    """One pair of simple features; see `dynamics.kernels.contacts.geometry`.

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
    of_parent : bool
        Whether it is the contact's parent that touches the plane between the bodies, which is the
        first body then.
    grip : float
        Factor of the contact's coefficients of friction.
    """

    kind: int
    first: Float = ZERO
    second_first: Float = ZERO
    other: Float = ZERO
    second_other: Float = ZERO
    radius_first: float = 0.0
    radius_other: float = 0.0
    frame: Float = IDENTITY
    of_parent: bool = False
    grip: float = 1.0


def shape_of(body: Any, shape: Any, label: str) -> Any:
    """Shape of a side of a contact: the body's own where none is given.

    Parameters
    ----------
    body : Body or world
    shape : optional
        A shape, half-space, point or points, or `Geometry`.
    label : str
        Of the contact.

    Returns
    -------
    HalfSpace, Shape, Hull or ndarray of float, shape (3,)

    Raises
    ------
    ValueError
        For bodies without a shape, numbers that are no points, and meshes that cannot be read.
    """
    if isinstance(shape, Geometry):
        return _placed(shape, label)
    if shape is not None:
        if isinstance(shape, (HalfSpace, Shape, Hull)):
            return shape
        if np.ndim(shape) == 2:
            return hull_of(shape, label)
        return rotation.as_numbers(shape, (3,), f"point of {label}")
    if body is WORLD:
        return HalfSpace()
    if body.shape is None:
        raise ValueError(f"{label}: body {body.name!r} has no shape; give shape=, or a point")
    return body.shape


def _placed(geometry: Geometry, label: str) -> Any:
    """Shape of a geometry where it sits on its body; of a mesh the hull."""
    if isinstance(geometry.shape, Mesh):
        try:
            corners = corners_of(geometry.shape)
        except (ValueError, OSError, IndexError) as error:
            raise ValueError(f"{label}: mesh {geometry.shape.path!r}: {error}") from None
        return hull_of(_at(corners, geometry.position, geometry.orientation), label)
    if not geometry.position.any() and geometry.orientation[0] == 1.0:
        return geometry.shape
    if isinstance(geometry.shape, HalfSpace):
        return placed_half_space(geometry).shape
    return Compound([(geometry.shape, geometry.position, geometry.orientation)])


def _at(points: Float, position: Float, orientation: Float) -> Float:
    return position + rotation.rotate(np.broadcast_to(orientation, (len(points), 4)), points)


def core_of(shape: Any) -> Core | None:
    """A convex shape as hull and radius; None for what is not convex, and half-spaces.

    Parameters
    ----------
    shape : Shape, Hull or ndarray of float, shape (3,)

    Returns
    -------
    Core or None
    """
    if isinstance(shape, Compound):
        if len(shape.parts) > 1:
            return None
        part = shape.parts[0]
        core = core_of(part.shape)
        if core is None:
            return None
        points = _at(core.points, part.position, part.orientation)
        return replace(core, points=points, axis=rotation.rotate(part.orientation, core.axis))
    if isinstance(shape, Cylinder):
        low, high, radius = _ends(shape)
        return Core(np.stack([low, high]), axis=np.asarray(shape.axis, float), rim=radius)
    spheres = _spheres(shape)
    if spheres is None:
        return None
    return Core(np.stack([at for at, _ in spheres]), spheres[0][1])


def rank(shape: Any) -> int:
    """Order in which pairs are offered: half-space, box, capsule, the rest; the first of parts.

    Parameters
    ----------
    shape : HalfSpace, Shape, Hull or ndarray of float, shape (3,)

    Returns
    -------
    int
    """
    if isinstance(shape, Compound):
        return min(rank(part.shape) for part in shape.parts)
    if isinstance(shape, HalfSpace):
        return 0
    if isinstance(shape, Box):
        return 1
    return 2 if isinstance(shape, (Capsule, Rod)) else 3


def _ends(shape: Any) -> tuple[Float, Float, float]:
    """Ends of the axis of a capsule, rod or cylinder, and its radius."""
    half = 0.5 * shape.length * np.asarray(shape.axis, float)
    return -half, half, float(shape.radius)


def _ball(shape: Any) -> tuple[Float, float]:
    """Centre and radius of a sphere, or of a point."""
    return (ZERO, float(shape.radius)) if isinstance(shape, Sphere) else (shape, 0.0)


def _spheres(shape: Any) -> list[tuple[Float, float]] | None:
    """Spheres (centre, radius) that touch a plane as the shape does; None for other shapes."""
    if isinstance(shape, (Sphere, np.ndarray)):
        return [_ball(shape)]
    if isinstance(shape, Box):
        half = 0.5 * np.array([shape.x, shape.y, shape.z])
        return [(sign * half, 0.0) for sign in CORNERS]
    if isinstance(shape, (Capsule, Rod)):
        one, two, radius = _ends(shape)
        return [(one, radius), (two, radius)]
    if isinstance(shape, Ellipsoid):
        centers, radius = shape.balls()
        return [(center, radius) for center in centers]
    if isinstance(shape, Hull):
        return [(corner, 0.0) for corner in shape.corners]
    return None


def touches_of(one: Any, two: Any, **marks: Any) -> list[Touch] | None:
    """Pairs of features of two shapes, each part of the one with each part of the other.

    Parameters
    ----------
    one, two : HalfSpace, Shape, Hull or ndarray of float, shape (3,)
        Of the first and of the other body of the touches.
    **marks
        ``of_parent`` and ``grip`` of touches with a half-space.

    Returns
    -------
    list of Touch or None
        None where the distance of some pair of parts is not offered, or only with `two` first.
    """
    found: list[Touch] = []
    for own, x, q in _parts(one):
        for other, y, r in _parts(two):
            touches = _pair(own, other, marks)
            if touches is None:
                return None
            if isinstance(two, Compound):
                touches = _moved_others(touches, y, r)
            if isinstance(one, Compound):
                touches = _moved_firsts(touches, x, q)
            found += touches
    return found


def _parts(shape: Any) -> list[tuple[Any, Float, Float]]:
    """Simple shapes of a compound, nested ones included, each with its place."""
    if not isinstance(shape, Compound):
        return [(shape, ZERO, IDENTITY)]
    found: list[tuple[Any, Float, Float]] = []
    for part in shape.parts:
        at, turn = part.position, part.orientation
        if isinstance(part.shape, Compound):
            found += [
                (own, at + rotation.rotate(turn, x), rotation.multiply(turn, q))
                for own, x, q in _parts(part.shape)
            ]
        else:
            found.append((part.shape, at, turn))
    return found


def _pair(one: Any, two: Any, marks: dict[str, Any]) -> list[Touch] | None:
    """Touches of two simple shapes in their own frames; None as in `touches_of`."""
    if isinstance(one, HalfSpace):
        return _on_plane(one, two, marks)
    round_two = isinstance(two, (Sphere, np.ndarray))  # a point is a sphere without a radius
    if isinstance(one, Box):
        if not round_two:  # corners or ends alone would let edges and sides through
            return None
        half = 0.5 * np.array([one.x, one.y, one.z])
        at, r = _ball(two)
        return [Touch(kinds.BOX_SPHERE, second_first=half, other=at, radius_other=r)]
    if isinstance(one, (Capsule, Rod, Sphere, np.ndarray)):
        if isinstance(one, (Capsule, Rod)):
            low, high, radius = _ends(one)
        else:
            low, radius = _ball(one)
            high = low
        if isinstance(two, (Capsule, Rod)):  # a sphere is a segment without a length
            start, end, r = _ends(two)
            ends = [(low, high, start, end)]
            if low is not high:  # the nearest points of two that lie side by side jump: four ends
                ends += [(at, at, start, end) for at in (low, high)]
                ends += [(low, high, at, at) for at in (start, end)]
            return [Touch(kinds.SEGMENT_SEGMENT, *four, radius, r) for four in ends]
        if round_two:
            at, r = _ball(two)
            if isinstance(one, (Capsule, Rod)):
                return [Touch(kinds.SEGMENT_SPHERE, low, high, at, ZERO, radius, r)]
            return [Touch(kinds.SPHERE_SPHERE, low, ZERO, at, ZERO, radius, r)]
    return None


def _on_plane(one: HalfSpace, two: Any, marks: dict[str, Any]) -> list[Touch] | None:
    """Touches of a simple shape with a half-space."""
    plane: dict[str, Any] = {
        "first": np.asarray(one.point),
        "second_first": np.asarray(one.normal),
        **marks,
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
    spheres = _spheres(two)
    if spheres is None:
        return None
    return [Touch(kinds.PLANE_SPHERE, **plane, other=at, radius_other=r) for at, r in spheres]


def _moved_others(touches: list[Touch], position: Float, orientation: Float) -> list[Touch]:
    """Touches whose other shape is a part of a compound, in the compound's frame."""
    points = [(touch.other, touch.second_other) for touch in touches]
    turned = rotation.rotate(orientation, points)
    moved = position + turned
    return [
        # the second of a rim is a direction
        touch._replace(other=at[0], second_other=(way if touch.kind == kinds.PLANE_RIM else at)[1])
        for touch, at, way in zip(touches, moved, turned)
    ]


def _moved_firsts(touches: list[Touch], position: Float, orientation: Float) -> list[Touch]:
    """Touches whose first shape is a part of a compound, in the compound's frame."""
    if touches[0].kind in (kinds.PLANE_SPHERE, kinds.PLANE_RIM):  # half-spaces are no parts
        return touches
    points = [(touch.first, touch.second_first) for touch in touches]
    moved = position + rotation.rotate(orientation, points)
    return [
        # of a box: half sizes, along the axes of `frame`
        touch._replace(first=at[0], frame=rotation.multiply(orientation, touch.frame))
        if touch.kind == kinds.BOX_SPHERE
        else touch._replace(first=at[0], second_first=at[1])
        for touch, at in zip(touches, moved)
    ]
