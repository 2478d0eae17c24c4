"""Actuators and keyframes of robot files: commands in the file's own units, postures by name."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dynamics.parts.muscles import Muscle

__all__ = ["Actuator", "Keyframe"]

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Actuator:
    """Motor of a robot file: what its command makes of the controls of a joint.

    Attributes
    ----------
    name : str
    joint : hashable
    scale : ndarray of float, shape (number of the joint's coordinates,)
        Control of each coordinate for a command of 1: gear and gain of a motor, N or N m, and of a
        servo the change of its target.
    least, most : float
        Range that commands are clipped to.
    others : dict of ndarray of float
        Scales of further joints by name, where the motor pulls a tendon.
    constant : ndarray of float, shape (number of the joint's coordinates,)
        Control for a command of 0.
    activation : {"", "filter", "integrator"}
        What the command acts through: a first-order filter, an integrator, or nothing.
    time_constant : float
        Of a filter, s.
    active : (float, float)
        Range of what the filter or integrator gives.
    muscle : Muscle or None
        What makes a force of the command, as `dynamics.Muscles` does.
    """

    name: str
    joint: Hashable
    scale: Float
    least: float = -np.inf
    most: float = np.inf
    others: Mapping[Hashable, Float] = field(default_factory=dict)
    constant: Float = field(default_factory=lambda: np.zeros(1))
    activation: str = ""
    time_constant: float = 0.0
    active: tuple[float, float] = (-np.inf, np.inf)
    muscle: Muscle | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Keyframe:
    """Posture of a robot file, at rest or moving.

    Attributes
    ----------
    poses : dict of ndarray of float, shape (7,)
        Of frames in the world by name: position, m, and orientation, scalar first.
    commands : dict of float
        Of actuators by name.
    activations : dict of float
        Of actuators with a filter or integrator by name.
    twists : dict of ndarray of float, shape (6,)
        Velocity of a frame's origin, m/s, and angular velocity, rad/s, along the world's axes; of
        those frames that move.
    """

    poses: Mapping[Hashable, Float]
    commands: Mapping[str, float]
    twists: Mapping[Hashable, Float] = field(default_factory=dict)
    activations: Mapping[str, float] = field(default_factory=dict)
