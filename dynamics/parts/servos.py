"""Servos: motors with a feedback of their own that holds for any gain.

The feedback is evaluated at the end of an interval (`dynamics.kernels.rows.stiff_forces`), so that
no gain is too high for the time step. `dynamics.ProportionalDerivative` computes its force at the
start and holds it: it is for gains below the bound of `dynamics.control.largest_gain`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["PositionServo", "VelocityServo"]

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class PositionServo:
    """Motor with position feedback that drives a coordinate q to a target; ``servo=`` of a joint.

    The motor turns ``gear`` times as far as its joint. Its force is ``force = stiffness (target -
    gear q) - damping gear q'``, at most ``force_limit``, and the force on the joint is ``gear
    force``. Both are evaluated at the end of an interval (implicit Euler), so the motion is stable
    for any gain; with high gains the coordinate reaches its target in one step. The joint's control
    is added to the target. Runs with an ``accuracy`` integrate servos at second order.

    Parameters
    ----------
    stiffness : float or array_like, shape (k,)
        Position gain of the motor's coordinate, N m/rad or N/m; one number, or one per free axis of
        the joint.
    damping : float or array_like, shape (k,), optional
        Velocity gain, N m s/rad or N s/m.
    target : float or array_like, shape (k,), optional
        Target of the motor's coordinate, rad or m.
    force_limit : float or array_like, shape (k,) or (k, 2), optional
        Largest force of the motor, N m or N; an array of shape (k, 2) has the smallest and the
        largest force.
    gear : float, optional
        Ratio of the motor's coordinate to that of the joint; not 0.

    Raises
    ------
    ValueError
        For gains that are negative or not finite, a limit that is not positive, and a gear of 0.

    References
    ----------
    .. [1] J. Tan, K. Liu, G. Turk, Stable proportional-derivative controllers, IEEE Computer
       Graphics and Applications 31(4), 2011.
    """

    stiffness: ArrayLike
    damping: ArrayLike = 0.0
    target: ArrayLike = 0.0
    force_limit: ArrayLike = math.inf
    gear: float = 1.0

    def __post_init__(self) -> None:
        _check(self, {"stiffness": self.stiffness, "damping": self.damping})

    def rows(self, count: int, label: str) -> tuple[Float, ...]:
        """Stiffness, damping, gain, target and range of forces along the joint's coordinates.

        Parameters
        ----------
        count : int
            Number of coordinates.
        label : str
            Whose servo it is.

        Returns
        -------
        tuple of five ndarray of float, shape (count,), the last one (count, 2)
        """
        k, c, target, most = _wide(self, ("stiffness", "damping", "target"), count, label)
        return self.gear**2 * k, self.gear**2 * c, self.gear * k, target, most


@dataclass(frozen=True, slots=True, eq=False)
class VelocityServo:
    """Motor with velocity feedback that drives the rate of a coordinate q to a target.

    The force of the motor is ``force = damping (target - gear q')``, at most ``force_limit``, and
    the force on the joint is ``gear force``. The joint's control is added to the target. See
    `PositionServo`.

    Parameters
    ----------
    damping : float or array_like, shape (k,)
        Velocity gain of the motor's coordinate, N m s/rad or N s/m; one number, or one per free
        axis of the joint.
    target : float or array_like, shape (k,), optional
        Target rate of the motor, rad/s or m/s.
    force_limit : float or array_like, shape (k,) or (k, 2), optional
        Largest force of the motor, N m or N; an array of shape (k, 2) has the smallest and the
        largest force.
    gear : float, optional
        Ratio of the motor's coordinate to that of the joint; not 0.

    Raises
    ------
    ValueError
        As for `PositionServo`.
    """

    damping: ArrayLike
    target: ArrayLike = 0.0
    force_limit: ArrayLike = math.inf
    gear: float = 1.0

    def __post_init__(self) -> None:
        _check(self, {"damping": self.damping})

    def rows(self, count: int, label: str) -> tuple[Float, ...]:
        """Return rows like those of `PositionServo.rows`.

        Parameters
        ----------
        count : int
        label : str

        Returns
        -------
        tuple of five ndarray of float, shape (count,), the last one (count, 2)
        """
        c, target, most = _wide(self, ("damping", "target"), count, label)
        return np.zeros(count), self.gear**2 * c, self.gear * c, target, most


def _check(servo: PositionServo | VelocityServo, gains: dict[str, ArrayLike]) -> None:
    kind = type(servo).__name__
    for name, value in gains.items():
        numbers = np.asarray(value, np.float64)
        if not (np.isfinite(numbers).all() and (numbers >= 0.0).all()):
            raise ValueError(
                f"{name} of a {kind} is {value!r}, and must be finite and not negative"
            )
    if all(not np.any(value) for value in gains.values()):
        raise ValueError(f"{' and '.join(gains)} of a {kind} are 0: it would do nothing")
    if not np.isfinite(np.asarray(servo.target, np.float64)).all():
        raise ValueError(f"target of a {kind} is {servo.target}, and must be finite")
    limits = np.asarray(servo.force_limit, np.float64)
    if limits.ndim == 2 and limits.shape[1] == 2:
        if not (limits[:, 0] < limits[:, 1]).all():
            raise ValueError(
                f"force_limit of a {kind} is {servo.force_limit}, and must be (least, largest)"
            )
    elif not (limits > 0.0).all():
        raise ValueError(f"force_limit of a {kind} is {servo.force_limit}, and must be positive")
    if not (math.isfinite(servo.gear) and servo.gear != 0.0):
        raise ValueError(f"gear of a {kind} is {servo.gear}, and must be finite and not 0")


def _wide(
    servo: PositionServo | VelocityServo, names: tuple[str, ...], count: int, label: str
) -> list[Float]:
    """Numbers of each coordinate, the largest force of the joint last."""
    out = []
    for name in names:
        numbers = np.asarray(getattr(servo, name), np.float64)
        if numbers.shape not in ((), (count,)):
            raise ValueError(
                f"{name} of the servo of {label} has {numbers.size} numbers; it must be one, or "
                f"one per free axis: {count}"
            )
        out.append(np.broadcast_to(numbers, (count,)))
    limits = np.asarray(servo.force_limit, np.float64)
    if limits.shape not in ((), (count,), (count, 2)):
        raise ValueError(
            f"force_limit of the servo of {label} has shape {limits.shape}; it must be one number, "
            f"or one or two per free axis: {count}"
        )
    if limits.ndim < 2:
        limits = np.broadcast_to(limits, (count,))[:, None] * [-1.0, 1.0]
    out.append(np.sort(servo.gear * limits, axis=1))
    return out
