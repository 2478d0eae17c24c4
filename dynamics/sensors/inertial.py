"""Specific forces of points on bodies, by differences of discrete velocities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.sensors.places import (
    Place,
    interval_velocities,
    lengths,
    pose_at_force,
    pose_of,
    turned_back,
)
from dynamics.trajectory import Trajectory

__all__ = ["specific_force"]

Float = NDArray[np.float64]


def specific_force(motion: Trajectory, place: Place) -> Float:
    """Acceleration minus gravity of a point, in the sensor's frame.

    Parameters
    ----------
    motion : Trajectory
    place : Place

    Returns
    -------
    ndarray of float, shape (k, 3)
        m/s^2, at the start of the last interval (theory/step (1)); beyond order 2 in its middle.
    """
    length, spacing = lengths(motion)
    u, before = interval_velocities(motion, place.body)
    _, q = pose_of(motion, place.body)
    _, then = pose_at_force(motion, place.body)
    arm = np.broadcast_to(place.point, (len(motion), 3))
    if hasattr(motion.model.stages, "s"):
        first = turned_back(q, length, 0.5 * (u + before)[:, 3:])
        v = u[:, :3] + rotation.rotate(q, np.cross(u[:, 3:], arm))
        v_before = before[:, :3] + rotation.rotate(first, np.cross(before[:, 3:], arm))
        spacing = length
    else:
        turned = rotation.rotate(then, arm)
        v = u[:, :3] + (rotation.rotate(q, arm) - turned) / length[:, None]
        v_before = before[:, :3] + _arm_velocity(2.0 * spacing - length, then, before, arm, turned)
    acceleration = (v - v_before) / spacing[:, None]
    frame = rotation.multiply(then, np.broadcast_to(place.orientation, then.shape))
    force = acceleration - motion.model.mechanism.gravity
    return rotation.rotate(rotation.conjugate(frame), force)


def _arm_velocity(length: Float, q: Float, twist: Float, arm: Float, turned: Float) -> Float:
    """Mean velocity of an arm over the interval before, at its end where it has no length."""
    at_end = rotation.rotate(q, np.cross(twist[:, 3:], arm))
    none = np.abs(length) <= 1e-12
    whole = np.where(none, 1.0, length)
    start = rotation.rotate(turned_back(q, whole, twist[:, 3:]), arm)
    return np.asarray(np.where(none[:, None], at_end, (turned - start) / whole[:, None]))
