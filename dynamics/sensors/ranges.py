"""What range finders see, and how far it is."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphsys as gs
from dynamics.kernels.observables import rays
from dynamics.model import Model
from dynamics.parts.contact_primitives import HalfSpace
from dynamics.parts.surroundings import planes_of, touched_shapes
from dynamics.sensors.places import Place
from dynamics.sensors.rays import Simple, simple_shapes
from dynamics.trajectory import Trajectory

__all__ = ["Scene", "ranges", "scene_of"]

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Shapes that rays may meet, each with its place on a body: see `kernels.observables.rays`.

    Attributes
    ----------
    table : ndarray of int, shape (c, 4)
        Numbers of the bodies, -1 for the world, kinds of the shapes, first triangles and those
        after the last.
    numbers : ndarray of float, shape (c, 11)
        Positions on the bodies, orientations, sizes and reaches.
    triangles : ndarray of float, shape (t, 9)
        Their corners.
    """

    table: NDArray[np.int64]
    numbers: Float
    triangles: Float


def scene_of(model: Model, body: int) -> Scene:
    """Shapes of the world and of all bodies but one.

    Parameters
    ----------
    model : Model
    body : int
        Number of the body that rays begin on, -1 for the world.

    Returns
    -------
    Scene
    """
    mechanism, found = model.mechanism, list[tuple[int, Simple]]()

    def add(owner: int, shape: Any, label: str) -> None:
        try:
            found.extend((owner, one) for one in simple_shapes(shape))
        except (ValueError, OSError, IndexError, gs.MissingExtraError) as error:
            warnings.warn(f"range finders do not see a mesh of {label}: {error}", stacklevel=6)

    for point, normal in planes_of(mechanism):
        add(-1, HalfSpace(normal, point), "the world")
    world = {k: v for k, v in mechanism.obstacles.items() if not isinstance(v.shape, HalfSpace)}
    for name, geometry in (world | mechanism.scenery).items():
        add(-1, geometry, f"{name!r} of the world")
    for contact in mechanism.contacts.values():
        for geometry in touched_shapes(contact):
            add(-1, geometry, f"contact {contact.name!r}")
    for i, other in enumerate(model.bodies):
        shapes = other.collisions or ((other.shape,) if other.shape is not None else other.visuals)
        for shape in shapes if i != body else ():
            add(i, shape, f"body {other.name!r}")
    return _scene(found)


def _scene(found: list[tuple[int, Simple]]) -> Scene:
    """Scene of simple shapes on bodies."""
    ends = np.cumsum([0, *(len(one.triangles) for _, one in found)])
    table = [(owner, one.kind, *ends[k : k + 2]) for k, (owner, one) in enumerate(found)]
    rows = [(*one.position, *one.orientation, *one.sizes, one.reach) for _, one in found]
    triangles = [np.zeros((0, 9)), *(one.triangles for _, one in found)]
    return Scene(
        np.array(table, np.int64).reshape(-1, 4),
        np.array(rows, np.float64).reshape(-1, 11),
        np.concatenate(triangles),
    )


def ranges(motion: Trajectory, place: Place, directions: Float, scene: Scene) -> Float:
    """Distances along rays to what is seen; inf where that is nothing.

    Parameters
    ----------
    motion : Trajectory
    place : Place
    directions : ndarray of float, shape (m, 3)
        In the sensor's frame, of length one.
    scene : Scene

    Returns
    -------
    ndarray of float, shape (k, m)
        m.
    """
    found = np.empty((len(motion), len(directions)))
    rays.cast(
        scene.table, scene.numbers, scene.triangles, motion.states, place.body, place.point,
        place.orientation, directions, found,
    )  # fmt: skip
    return found
