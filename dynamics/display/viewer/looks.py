"""Looks of bodies and of the world: simple shapes and meshes, with places and colours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.mechanism import Mechanism
from dynamics.parts.bodies import WORLD, Body
from dynamics.parts.contact_primitives import HalfSpace
from dynamics.parts.convex_hulls import hull_mesh
from dynamics.parts.geometry import Geometry, Mesh
from dynamics.parts.meshes import colored_triangles_of
from dynamics.parts.shapes import Box, Capsule, Compound, Ellipsoid, Round, Sphere, spread
from dynamics.parts.surroundings import touched_shapes
from dynamics.parts.tendons import sliders_of

__all__ = ["Part", "Surface", "ends_of", "looks_of", "still_of", "visible"]

Float = NDArray[np.float64]
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
#: Okabe and Ito's colours, distinguishable for colour-blind readers.
COLORS = (
    (0.0, 0.447, 0.698), (0.902, 0.624, 0.0), (0.0, 0.62, 0.451), (0.8, 0.475, 0.655),
    (0.337, 0.706, 0.914), (0.835, 0.369, 0.0), (0.6, 0.6, 0.6),
)  # fmt: skip
STILL = (0.62, 0.65, 0.69)  #: colour of what does not move
FINE = 8  #: divisions of an octahedron's edges, for an ellipsoid
THINNEST = 0.02  #: of the longest edge, so that a rod or a plate without thickness is seen
RIGID = 6  #: rows of a joint that leaves no freedom
TRACE = 1e-6  #: of the heaviest body: lighter bodies without a shape are links without mass
#: Directions to the corners of a cube, and to its faces, edges and corners.
CORNERS = np.array([*np.ndindex(2, 2, 2)], float) * 2.0 - 1.0
WAYS = np.array([w for w in np.ndindex(3, 3, 3) if w != (1, 1, 1)], float) - 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """Triangles of a mesh.

    Attributes
    ----------
    vertices : ndarray of float, shape (v, 3)
        In the body's or world's frame before the part's pose, m.
    faces : ndarray of int, shape (f, 3)
    colors : ndarray of uint8, shape (f, 4), or None
        Of the faces, as the mesh's file has them.
    """

    vertices: Float
    faces: NDArray[np.int64]
    colors: NDArray[np.uint8] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One shape that is drawn.

    Attributes
    ----------
    kind : {"box", "sphere", "cylinder", "capsule", "mesh"}
    size : tuple of float
        Edges of a box; radius, and the length along z of a cylinder or of a capsule's straight
        part, m.
    position, orientation : ndarray of float, shape (3,), (4,)
        In the body's or the world's frame.
    color : tuple of float
        Red, green, blue, opacity.
    surface : Surface or None
        Of a mesh.
    """

    kind: str
    size: tuple[float, ...]
    position: Float
    orientation: Float
    color: tuple[float, ...]
    surface: Surface | None = field(default=None)


def visible(mechanism: Mechanism) -> list[Body]:
    """Bodies that are drawn.

    Left out are separating planes, slides of tendons, and bodies without a shape that have only a
    trace of mass or that a joint fixes to what has a shape, as the inertia of a link in a file.
    """
    planes = {id(c.plane.body) for c in mechanism.contacts.values() if c.plane is not None}
    planes |= {id(mechanism.bodies[name]) for name in sliders_of(mechanism)}
    carried: set[int] = set()
    for joint in mechanism.joints.values():
        if not joint.positions and len(joint.rows) == RIGID:
            for end, other in ((joint.parent, joint.child), (joint.child, joint.parent)):
                if end is not WORLD and (other is WORLD or _has_shape(other)):
                    carried.add(id(end))
    heaviest = max((body.mass for body in mechanism.bodies.values()), default=0.0)
    return [
        body for body in mechanism.bodies.values()
        if _has_shape(body)
        or (id(body) not in planes | carried and body.mass > TRACE * heaviest)
    ]  # fmt: skip


def _has_shape(body: Body) -> bool:
    return bool(body.visuals or body.collisions or body.shape is not None)


def looks_of(body: Body, number: int) -> list[Part]:
    """Parts of a body: its visuals, its shape, its collision shapes or the box of its inertia."""
    color = (*COLORS[number % len(COLORS)], 1.0)
    shown = list(body.visuals)
    if not shown and body.shape is not None:
        shown = [Geometry(body.shape, np.zeros(3), IDENTITY)]
    for shapes in (shown, body.collisions, [_inertia_box(body)]):
        parts = [part for one in shapes for part in _drawn(one, color)]
        if parts:  # meshes that are not there have none
            break
    return parts


def still_of(mechanism: Mechanism) -> dict[str, list[Part]]:
    """Parts of the world by name: its scenery, and the shapes that bodies touch there."""
    color = (*STILL, 1.0)
    solid = {k: v for k, v in mechanism.obstacles.items() if not isinstance(v.shape, HalfSpace)}
    found = {str(name): _drawn(one, color) for name, one in (solid | mechanism.scenery).items()}
    touched: dict[tuple[Any, ...], Part] = {}
    for contact in mechanism.contacts.values():
        for part in (part for one in touched_shapes(contact) for part in _drawn(one, color)):
            number = [*part.size, *part.position, *part.orientation]
            points = 0 if part.surface is None else part.surface.vertices.tobytes()
            key = (part.kind, points, *np.round(number, 9))
            if key not in touched:
                touched[key] = part
                found.setdefault(f"world ({contact.name})", []).append(part)
    return {name: parts for name, parts in found.items() if parts}


def _drawn(geometry: Geometry, color: tuple[float, ...]) -> list[Part]:
    """Parts of one geometry; none for a mesh whose file is not there."""
    shape, x, q = geometry.shape, geometry.position, geometry.orientation
    if isinstance(shape, Compound):
        found = []
        for part in shape.parts:
            place = x + rotation.rotate(q, part.position)
            turned = rotation.multiply(q, part.orientation)
            inner = replace(geometry, shape=part.shape, position=place, orientation=turned)
            found += _drawn(inner, color)
        return found
    if geometry.color is not None:
        color = tuple(float(c) for c in geometry.color)
    if isinstance(shape, Box):
        return [Part("box", (shape.x, shape.y, shape.z), x, q, color)]
    if isinstance(shape, Sphere):
        return [Part("sphere", (shape.radius, 0.0), x, q, color)]
    if isinstance(shape, Ellipsoid):
        return [Part("mesh", (0.0, 0.0), x, q, color, _ellipsoid(shape))]
    if isinstance(shape, Round):
        q = rotation.multiply(q, rotation.align((0.0, 0.0, 1.0), shape.axis))
        radius = shape.radius or 0.5 * THINNEST * shape.length
        kind = "capsule" if isinstance(shape, Capsule) else "cylinder"
        return [Part(kind, (radius, shape.length), x, q, color)]
    if isinstance(shape, Mesh):
        found_mesh = colored_triangles_of(shape)
        if found_mesh is not None:
            triangles, colors = found_mesh
            made = _joined(triangles, colors if geometry.color is None else None)
            return [Part("mesh", (0.0, 0.0), x, q, color, made)]
    return []


def _ellipsoid(shape: Ellipsoid) -> Surface:
    """Hull of points on an ellipsoid."""
    found = hull_mesh(spread(FINE) * [shape.x, shape.y, shape.z], "an ellipsoid")
    assert found.vertices is not None and found.faces is not None
    return Surface(found.vertices, found.faces)


def _joined(triangles: Float, colors: NDArray[np.uint8] | None) -> Surface:
    """Triangles with shared vertices; those that differ by 1e-6 of the size are one."""
    points = triangles.reshape(-1, 3)
    unit = 1e-6 * float(np.ptp(points, axis=0).max()) or 1.0
    _, first, inverse = np.unique(
        np.rint(points / unit), axis=0, return_index=True, return_inverse=True
    )
    return Surface(points[first], inverse.reshape(-1, 3), colors)


def _inertia_box(body: Body) -> Geometry:
    """Box with the mass and inertia of a body."""
    moments, axes = np.linalg.eigh(body.inertia)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    squares = 6.0 / body.mass * (moments.sum() - 2.0 * moments)
    edges = np.sqrt(np.maximum(squares, 0.0))
    edges = np.maximum(edges, THINNEST * edges.max())
    return Geometry(Box(*edges, mass=body.mass), np.zeros(3), rotation.from_matrix(axes))


def ends_of(parts: Iterable[Part]) -> Float:
    """Outermost points of parts, in their body's frame, shape (k, 3), which frame a motion."""
    found = [np.zeros((0, 3))]
    for part in parts:
        if part.surface is not None:
            corners = part.surface.vertices
            corners = corners[np.unique(np.argmax(corners @ WAYS.T, axis=0))]
        elif part.kind == "box":
            corners = 0.5 * np.array(part.size) * CORNERS
        else:
            radius, length = part.size
            cap = radius if part.kind != "cylinder" else 0.0
            corners = np.array([radius, radius, 0.5 * length + cap]) * CORNERS
        turned = np.broadcast_to(part.orientation, (len(corners), 4))
        found.append(part.position + rotation.rotate(turned, corners))
    return np.concatenate(found)
