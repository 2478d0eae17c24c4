"""Specific forces of points on bodies, by differences of discrete velocities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics.kernels.observables import sensing
from dynamics.sensors.places import Place, lengths
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
    model, found = motion.model, np.empty((len(motion), 3))
    sensing.specific_forces(
        model.n_bodies, motion.states, lengths(motion), hasattr(model.stages, "s"), place.body,
        place.point, place.orientation, model.mechanism.gravity, found,
    )  # fmt: skip
    return found
