"""Places of sensors on bodies, and poses of bodies in a motion and before its last intervals."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.kernels.base import layout
from dynamics.kinematics.frames import frame_of
from dynamics.model import Model
from dynamics.parts.bodies import WORLD
from dynamics.trajectory import Trajectory

__all__ = ["Place", "force_share", "interval_velocities", "place_of", "pose_at_force", "pose_of"]

Float = NDArray[np.float64]
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Frame of a sensor on a body.

    Attributes
    ----------
    body : int
        Number of the body, -1 for the world.
    point : ndarray of float, shape (3,)
        From the body's centre of mass, m.
    orientation : ndarray of float, shape (4,)
        The sensor's frame to the body's.
    """

    body: int
    point: Float
    orientation: Float


def place_of(model: Model, owner: Hashable, point: Float, orientation: Float) -> Place:
    """Place of a sensor on a body, a named frame or the world."""
    body, x, q = (-1, np.zeros(3), IDENTITY) if owner == WORLD.name else frame_of(model, owner)
    return Place(body, x + rotation.rotate(q, point), rotation.multiply(q, orientation))


def pose_of(motion: Trajectory, body: int) -> tuple[Float, Float]:
    """Positions and orientations of a body or the world, shapes (k, 3) and (k, 4)."""
    if body < 0:
        return np.zeros((len(motion), 3)), np.tile(IDENTITY, (len(motion), 1))
    at = layout.POSE * body
    return motion.states[:, at : at + 3], motion.states[:, at + 3 : at + layout.POSE]


def interval_velocities(motion: Trajectory, body: int) -> tuple[Float, Float]:
    """Velocities of the last interval and of the one before it, shape (k, 6) each.

    Beyond order 2 those at the end and at the start of the last interval.
    """
    n = motion.model.n_bodies
    if body < 0:
        return np.zeros((len(motion), 6)), np.zeros((len(motion), 6))
    at = (layout.POSE + layout.TWIST) * n + layout.TWIST * body
    before = at + layout.TWIST * n
    return motion.states[:, at : at + 6], motion.states[:, before : before + 6]


def lengths(motion: Trajectory) -> tuple[Float, Float]:
    """Lengths of the last intervals, and the times that their changes of velocity took, s."""
    length, spacing = motion.intervals.T
    known, h = length * spacing != 0.0, motion.model.timestep
    return np.where(known, length, h), np.where(known, spacing, h)


def force_share(motion: Trajectory) -> Float:
    """Factor of recorded forces: they are impulses over an interval, which last its spacing."""
    length, spacing = lengths(motion)
    return np.asarray(length / spacing)


def pose_at_force(motion: Trajectory, body: int) -> tuple[Float, Float]:
    """Pose at the start of the last interval, where its impulses act; beyond order 2 its middle."""
    x, q = pose_of(motion, body)
    u, before = interval_velocities(motion, body)
    length, _ = lengths(motion)
    if hasattr(motion.model.stages, "s"):
        u, length = 0.5 * (u + before), 0.5 * length
    return x - length[:, None] * u[:, :3], turned_back(q, length, u[:, 3:])


def turned_back(q: Float, length: Float, omega: Float) -> Float:
    """Orientations before intervals of these lengths: theory/step (1)."""
    phi = 0.5 * length[:, None] * omega
    s = np.sqrt(np.maximum(0.0, 1.0 - (phi * phi).sum(axis=1, keepdims=True)))
    return rotation.multiply(q, np.concatenate([s, -phi], axis=1))
