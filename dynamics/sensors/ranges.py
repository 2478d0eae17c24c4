"""What range finders see, and how far it is."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphsys as gs
from dynamics import rotation
from dynamics.model import Model
from dynamics.parts.contact_primitives import HalfSpace
from dynamics.parts.surroundings import planes_of, touched_shapes
from dynamics.sensors.places import Place, pose_of
from dynamics.sensors.rays import simple_shapes, surface_distance
from dynamics.trajectory import Trajectory

__all__ = ["ranges", "seen_from"]

Float = NDArray[np.float64]
#: A shape with its place on a body: number of the body (-1 for the world), shape, position and
#: orientation.
Seen = tuple[int, Any, Float, Float]


def seen_from(model: Model, body: int) -> list[Seen]:
    """Shapes that rays from a body may meet: those of the world and of all other bodies.

    Parameters
    ----------
    model : Model
    body : int
        Number of the body, -1 for the world.

    Returns
    -------
    list of (int, Shape, ndarray, ndarray)
    """
    mechanism, found = model.mechanism, list[Seen]()
    for point, normal in planes_of(mechanism):
        found += _parts(-1, HalfSpace(normal, point), "the world")
    world = {k: v for k, v in mechanism.obstacles.items() if not isinstance(v.shape, HalfSpace)}
    for name, geometry in (world | mechanism.scenery).items():
        found += _parts(-1, geometry, f"{name!r} of the world")
    for contact in mechanism.contacts.values():
        for geometry in touched_shapes(contact):
            found += _parts(-1, geometry, f"contact {contact.name!r}")
    for i, other in enumerate(model.bodies):
        shapes = other.collisions or ((other.shape,) if other.shape is not None else other.visuals)
        for shape in shapes if i != body else ():
            found += _parts(i, shape, f"body {other.name!r}")
    return found


def _parts(body: int, shape: Any, label: str) -> Iterator[Seen]:
    """Simple shapes of one; none of a mesh that cannot be read."""
    try:
        for inner, x, q in simple_shapes(shape):
            yield body, inner, x, q
    except (ValueError, OSError, IndexError, gs.MissingExtraError) as error:
        warnings.warn(f"range finders do not see a mesh of {label}: {error}", stacklevel=2)


def ranges(motion: Trajectory, place: Place, directions: Float, seen: list[Seen]) -> Float:
    """Distances along rays to what is seen; inf where that is nothing.

    Parameters
    ----------
    motion : Trajectory
    place : Place
    directions : ndarray of float, shape (m, 3)
        In the sensor's frame, of length one.
    seen : list of (int, Shape, ndarray, ndarray)

    Returns
    -------
    ndarray of float, shape (k, m)
        m.
    """
    k, m = len(motion), len(directions)
    x, q = pose_of(motion, place.body)
    x = x + rotation.rotate(q, np.broadcast_to(place.point, (k, 3)))
    q = rotation.multiply(q, np.broadcast_to(place.orientation, (k, 4)))
    q, origin = np.repeat(q, m, axis=0), np.repeat(x, m, axis=0)
    direction = rotation.rotate(q, np.tile(directions, (k, 1)))
    found = np.full(k * m, np.inf)
    for body, shape, position, orientation in seen:
        y, r = pose_of(motion, body)
        y = y + rotation.rotate(r, np.broadcast_to(position, (k, 3)))
        r = rotation.conjugate(rotation.multiply(r, np.broadcast_to(orientation, (k, 4))))
        back, there = np.repeat(r, m, axis=0), np.repeat(y, m, axis=0)
        rays = rotation.rotate(back, origin - there), rotation.rotate(back, direction)
        found = np.minimum(found, surface_distance(shape, *rays))
    return found.reshape(k, m)
