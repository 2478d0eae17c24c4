"""Specific forces of points on bodies, by differences of discrete velocities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics.sensors.places import (
    Place,
    interval_velocities,
    lengths,
    pose_at_force,
    pose_of,
    skew,
    turn,
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
        m/s^2, at the start of the last interval (theory/step (11b)); beyond order 2 in its middle.
    """
    length, spacing = lengths(motion)
    u, before = interval_velocities(motion, place.body)
    _, R = pose_of(motion, place.body)
    _, then = pose_at_force(motion, place.body)
    v, v_before = u[:, :3], before[:, :3]
    if hasattr(motion.model.stages, "s"):
        spacing = length
        if place.point.any():
            first = turned_back(R, length, 0.5 * (u + before)[:, 3:])
            v = v + turn(R @ skew(u[:, 3:]), place.point)
            v_before = v_before + turn(first @ skew(before[:, 3:]), place.point)
    elif place.point.any():
        v = v + turn(R - then, place.point) / length[:, None]
        earlier = 2.0 * spacing - length
        v_before = v_before + _arm_velocity(earlier, then, before[:, 3:], place.point)
    force = (v - v_before) / spacing[:, None] - motion.model.mechanism.gravity
    return turn((then @ place.matrix).transpose(0, 2, 1), force)


def _arm_velocity(length: Float, R: Float, omega: Float, arm: Float) -> Float:
    """Mean velocity of an arm over the interval before, at its end where it has no length."""
    none = np.abs(length) <= 1e-12
    whole = np.where(none, 1.0, length)
    mean = turn(R - turned_back(R, whole, omega), arm) / whole[:, None]
    return np.asarray(np.where(none[:, None], turn(R @ skew(omega), arm), mean))
