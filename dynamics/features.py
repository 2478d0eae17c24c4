"""Shapes of contacts as pairs of features: points, spheres, segments, planes, rims."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation
from dynamics.bodies import WORLD
from dynamics.geometry import Geometry, Mesh
from dynamics.hulls import Core, Hull, hull_of
from dynamics.joints import basis
from dynamics.kernels import contact_geometry as kinds
from dynamics.shapes import Box, Capsule, Compound, Cylinder, Rod, Sphere
from dynamics.surfaces import corners_of

__all__ = ["HalfSpace", "Touch", "core_of", "rank", "shape_of", "touches_of"]

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
    of_parent : bool
        Whether it is the contact's parent that touches the plane between the bodies, which is the
        first body then.
    """

    kind: int
    first: Float = field(default_factory=lambda: ZERO)
    second_first: Float = field(default_factory=lambda: ZERO)
    other: Float = field(default_factory=lambda: ZERO)
    second_other: Float = field(default_factory=lambda: ZERO)
    radius_first: float = 0.0
    radius_other: float = 0.0
    frame: Float = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))
    of_parent: bool = False


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
    """Order in which pairs are offered: half-space, box, capsule, the rest.

    Parameters
    ----------
    shape : HalfSpace, Shape, Hull or ndarray of float, shape (3,)

    Returns
    -------
    int
    """
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


def touches_of(one: Any, two: Any) -> list[Touch] | None:
    """Pairs of features of two shapes; None where features do not tell how far they are apart.

    Parameters
    ----------
    one, two : HalfSpace, Shape, Hull or ndarray of float, shape (3,)
        The first of lower rank.

    Returns
    -------
    list of Touch or None
    """
    if isinstance(two, Compound):
        each = [touches_of(one, part.shape) for part in two.parts]
        return (
            None
            if None in each
            else [
                _moved(touch, part.position, part.orientation)
                for part, touches in zip(two.parts, each)
                for touch in touches or ()
            ]
        )
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
    return None


def _moved(touch: Touch, position: Float, orientation: Float) -> Touch:
    """Touch of a part of a compound, in the compound's frame."""

    def point(x: Float) -> Float:
        return position + rotation.rotate(orientation, x)

    second = touch.second_other
    second = (
        rotation.rotate(orientation, second) if touch.kind == kinds.PLANE_RIM else point(second)
    )
    return replace(touch, other=point(touch.other), second_other=second)
