"""Places of sensors on bodies, and poses of bodies in a motion and before its last intervals.

Orientations are rotation matrices of all records at once, so that a reading is quick.
"""

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

__all__ = [
    "Place", "force_share", "interval_velocities", "lengths", "matrices", "place_of",
    "pose_at_force", "pose_of", "quaternion_at_force", "skew", "turn", "turned_back",
]  # fmt: skip

Float = NDArray[np.float64]
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
#: ``v @ CROSS`` is the matrix of ``a -> v x a``, row-major.
CROSS = np.array([
    [0, 0, 0, 0, 0, -1, 0, 1, 0], [0, 0, 1, 0, 0, 0, -1, 0, 0], [0, -1, 0, 1, 0, 0, 0, 0, 0],
], float)  # fmt: skip


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
    matrix : ndarray of float, shape (3, 3)
        The same.
    """

    body: int
    point: Float
    orientation: Float
    matrix: Float


def place_of(
    model: Model, owner: Hashable, on_body: bool, point: Float, orientation: Float
) -> Place:
    """Place of a sensor on a body, a named frame or the world."""
    body, x, q = -1, np.zeros(3), IDENTITY
    if owner != WORLD.name:
        body, x, q = frame_of(model, owner, on_body)
    turned = rotation.multiply(q, orientation)
    return Place(body, x + rotation.rotate(q, point), turned, rotation.to_matrix(turned))


def skew(v: Float) -> Float:
    """Matrices of ``a -> v x a``, shape (k, 3, 3)."""
    return np.asarray((v @ CROSS).reshape(-1, 3, 3))


def turn(R: Float, a: Float) -> Float:
    """Vectors ``R a``, shape (k, 3), of matrices (k, 3, 3) and vectors (k, 3) or (3,)."""
    return np.asarray((R @ a[..., None])[..., 0])


def matrices(s: Float, v: Float) -> Float:
    """Rotation matrices of unit quaternions [s, v], shape (k, 3, 3)."""
    R = 2.0 * (v[:, :, None] * v[:, None] + s[:, None, None] * skew(v))
    R[:, range(3), range(3)] += (2.0 * s * s - 1.0)[:, None]
    return np.asarray(R)


def pose_of(motion: Trajectory, body: int) -> tuple[Float, Float]:
    """Positions and orientations of a body or the world, shapes (k, 3) and (k, 3, 3)."""
    if body < 0:
        return np.zeros((len(motion), 3)), np.tile(np.eye(3), (len(motion), 1, 1))
    at = layout.POSE * body
    states = motion.states
    return states[:, at : at + 3], matrices(states[:, at + 3], states[:, at + 4 : at + layout.POSE])


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
    """Lengths of the last intervals, and the times over which their impulses acted, s."""
    length, spacing = motion.intervals.T
    known, h = length * spacing != 0.0, motion.model.timestep
    return np.where(known, length, h), np.where(known, spacing, h)


def force_share(motion: Trajectory) -> Float:
    """Factor of recorded forces: they are impulses over lengths, and act over spacings."""
    length, spacing = lengths(motion)
    return np.asarray(length / spacing)


def pose_at_force(motion: Trajectory, body: int) -> tuple[Float, Float]:
    """Pose at the start of the last interval, where its impulses act; beyond order 2 its middle."""
    x, R = pose_of(motion, body)
    way, s, phi = _way_back(motion, body)
    return x - way, np.asarray(R @ matrices(s, -phi))


def quaternion_at_force(motion: Trajectory, body: int) -> Float:
    """Orientation of a body as in `pose_at_force`, as quaternions, shape (k, 4)."""
    at = layout.POSE * body + 3
    t, v = motion.states[:, at], motion.states[:, at + 1 : at + 4]
    _, s, phi = _way_back(motion, body)
    scalar = t * s + (v * phi).sum(axis=1)
    return np.column_stack([scalar, s[:, None] * v - t[:, None] * phi - turn(skew(v), phi)])


def _way_back(motion: Trajectory, body: int) -> tuple[Float, Float, Float]:
    """Displacement since the time of `pose_at_force`, and the turn [s, phi] since then."""
    u, before = interval_velocities(motion, body)
    length, _ = lengths(motion)
    if hasattr(motion.model.stages, "s"):
        u, length = 0.5 * (u + before), 0.5 * length
    return length[:, None] * u[:, :3], *_turns(length, u[:, 3:])


def _turns(length: Float, omega: Float) -> tuple[Float, Float]:
    """Turns [s, phi] of intervals: theory/step (1)."""
    phi = 0.5 * length[:, None] * omega
    return np.sqrt(np.maximum(0.0, 1.0 - (phi * phi).sum(axis=1))), phi


def turned_back(R: Float, length: Float, omega: Float) -> Float:
    """Orientations before intervals of these lengths."""
    s, phi = _turns(length, omega)
    return np.asarray(R @ matrices(s, -phi))
