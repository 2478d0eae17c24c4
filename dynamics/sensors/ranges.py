"""What range finders see, and how far it is."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphsys as gs
from dynamics import rotation
from dynamics.kernels.base import layout
from dynamics.model import Model
from dynamics.parts.contact_primitives import HalfSpace
from dynamics.parts.surroundings import planes_of, touched_shapes
from dynamics.sensors.places import Place, matrices, pose_of, turn
from dynamics.sensors.rays import reach_of, simple_shapes, surface_distance
from dynamics.trajectory import Trajectory

__all__ = ["Scene", "ranges", "scene_of"]

Float = NDArray[np.float64]
ROUNDING = 1e-9  #: of squared distances, relative
MOST = 1_000_000  #: rays times shapes at once


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Shapes that rays may meet, each with its place on a body.

    Attributes
    ----------
    body : ndarray of int, shape (c,)
        Numbers of the bodies, n for the world.
    shape : list
        As for `surface_distance`.
    position : ndarray of float, shape (c, 3)
    matrix : ndarray of float, shape (c, 3, 3)
        The shape's frame to the body's.
    reach : ndarray of float, shape (c,)
        Radius about the position that holds the shape, m; inf for half-spaces.
    """

    body: NDArray[np.int64]
    shape: list[Any]
    position: Float
    matrix: Float
    reach: Float


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
    mechanism, n = model.mechanism, model.n_bodies
    found: list[tuple[int, Any, Float, Float]] = []

    def add(owner: int, shape: Any, label: str) -> None:
        try:
            found.extend((owner, *one) for one in simple_shapes(shape))
        except (ValueError, OSError, IndexError, gs.MissingExtraError) as error:
            warnings.warn(f"range finders do not see a mesh of {label}: {error}", stacklevel=6)

    for point, normal in planes_of(mechanism):
        add(n, HalfSpace(normal, point), "the world")
    world = {k: v for k, v in mechanism.obstacles.items() if not isinstance(v.shape, HalfSpace)}
    for name, geometry in (world | mechanism.scenery).items():
        add(n, geometry, f"{name!r} of the world")
    for contact in mechanism.contacts.values():
        for geometry in touched_shapes(contact):
            add(n, geometry, f"contact {contact.name!r}")
    for i, other in enumerate(model.bodies):
        shapes = other.collisions or ((other.shape,) if other.shape is not None else other.visuals)
        for shape in shapes if i != body else ():
            add(i, shape, f"body {other.name!r}")
    return Scene(
        np.array([one[0] for one in found], np.int64),
        [one[1] for one in found],
        np.array([one[2] for one in found]).reshape(-1, 3),
        rotation.to_matrix(np.array([one[3] for one in found]).reshape(-1, 4)),
        np.array([reach_of(one[1]) for one in found]),
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
    k, m, c = len(motion), len(directions), len(scene.shape)
    if c == 0:
        return np.full((k, m), np.inf)
    part = max(1, MOST // (m * c))
    if k > part:
        parts = (motion[a : a + part] for a in range(0, k, part))
        return np.concatenate([ranges(one, place, directions, scene) for one in parts])
    n = motion.model.n_bodies
    x, R = pose_of(motion, place.body)
    origin = np.repeat(x + turn(R, place.point), m, axis=0)
    direction = (directions @ (R @ place.matrix).transpose(0, 2, 1)).reshape(k * m, 3)
    poses = np.zeros((k, n + 1, layout.POSE))
    poses[:, n, 3] = 1.0
    poses[:, :n] = motion.states[:, : layout.POSE * n].reshape(k, n, layout.POSE)
    owners = poses[:, scene.body].reshape(k * c, layout.POSE)
    turned = matrices(owners[:, 3], owners[:, 4:])
    center = (owners[:, :3] + turn(turned, np.tile(scene.position, (k, 1)))).reshape(k, c, 3)
    turned = (turned @ np.tile(scene.matrix, (k, 1, 1))).reshape(k, c, 3, 3)
    record, found = np.repeat(np.arange(k), m), np.full(k * m, np.inf)
    arm = center[record] - origin[:, None]
    along = (arm * direction[:, None]).sum(axis=2)
    apart = (arm * arm).sum(axis=2) - np.maximum(along, 0.0) ** 2
    meets = apart <= (1.0 + ROUNDING) * scene.reach**2 + ROUNDING * (arm * arm).sum(axis=2)
    for i in np.flatnonzero(meets.any(axis=0)):
        rays = np.flatnonzero(meets[:, i])
        back = turned[record[rays], i].transpose(0, 2, 1)
        here = turn(back, -arm[rays, i]), turn(back, direction[rays])
        found[rays] = np.minimum(found[rays], surface_distance(scene.shape[i], *here))
    return found.reshape(k, m)
