"""Places of sensors on bodies, and where their last intervals begin in time."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.kernels.observables import sensing
from dynamics.kinematics.frames import frame_of
from dynamics.model import Model
from dynamics.parts.bodies import WORLD
from dynamics.trajectory import Trajectory

__all__ = ["Place", "force_share", "lengths", "place_of", "poses_of", "velocities_of"]

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


def place_of(
    model: Model, owner: Hashable, on_body: bool, point: Float, orientation: Float
) -> Place:
    """Place of a sensor on a body, a named frame or the world."""
    body, x, q = -1, np.zeros(3), IDENTITY
    if owner != WORLD.name:
        body, x, q = frame_of(model, owner, on_body)
    return Place(body, x + rotation.rotate(q, point), rotation.multiply(q, orientation))


def poses_of(motion: Trajectory, place: Place) -> Float:
    """Positions and orientations of a place, shape (k, 7)."""
    found = np.empty((len(motion), 7))
    sensing.poses(motion.states, place.body, place.point, place.orientation, found)
    return found


def velocities_of(motion: Trajectory, place: Place, local: bool) -> Float:
    """Velocities and angular velocities of a place, in its axes or the world's, shape (k, 6)."""
    found = np.empty((len(motion), 6))
    sensing.velocities(
        motion.states, motion.twists, place.body, place.point, place.orientation, local, found
    )
    return found


def lengths(motion: Trajectory) -> Float:
    """Lengths of the last intervals, and times over which their impulses acted, s: (k, 2)."""
    known = motion.intervals[:, :1] * motion.intervals[:, 1:] != 0.0
    return np.where(known, motion.intervals, motion.model.timestep)


def force_share(motion: Trajectory) -> Float:
    """Factor of recorded forces: they are impulses over lengths, and act over spacings."""
    length, spacing = lengths(motion).T
    return np.asarray(length / spacing)
