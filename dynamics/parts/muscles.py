"""Muscles: force by activation, length and speed, as MuJoCo documents them."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

__all__ = ["Muscle", "activated", "muscle_force"]

Float = NDArray[np.float64]
#: Step of Runge and Kutta's method over the shortest time constant, which activation may halve:
#: its error in a step is (0.4)^5 / 120 of the change at most.
STEP = 0.2


@dataclass(frozen=True, slots=True)
class Muscle:
    """A muscle with its tendon, as MuJoCo's ``<muscle>``: it pulls, and never pushes.

    With optimal length l0 and tendon length l_T, which follow from ``lengths`` and ``range``, let l
    = (length - l_T) / l0 and v = rate / (l0 fastest). The force is ``- peak (activation FL(l) FV(v)
    + FP(l))``.

    Parameters
    ----------
    lengths : (float, float)
        Shortest and longest length of the whole path, m.
    range : (float, float), optional
        Values of l at these lengths.
    peak : float, optional
        Largest active force at rest, N.
    shortest, longest : float, optional
        Values of l between which the muscle is active.
    fastest : float, optional
        Largest shortening velocity, without load, l0 per second.
    passive : float, optional
        Passive force at l = `longest`, relative to the peak.
    lengthening : float, optional
        Active force at fast lengthening, relative to the peak.
    times : (float, float), optional
        Time constants of activation and deactivation, s.
    smoothing : float, optional
        Range of excitation minus activation in which the two time constants are blended.
    gear : float, optional
        Ratio of the length and force of the muscle to those of the joint or tendon.
    forces : (float, float), optional
        Smallest and largest force, N; the force is clipped to them.

    References
    ----------
    .. [1] MuJoCo documentation, Modeling, Muscles.
    .. [2] M. Millard, T. Uchida, A. Seth, S. L. Delp, Flexing computational muscle: modeling and
       simulation of musculotendon dynamics, J. Biomech. Eng. 135 (2013) 021005.
    """

    lengths: tuple[float, float]
    range: tuple[float, float] = (0.75, 1.05)
    peak: float = 1000.0
    shortest: float = 0.5
    longest: float = 1.6
    fastest: float = 1.5
    passive: float = 1.3
    lengthening: float = 1.2
    times: tuple[float, float] = (0.01, 0.04)
    smoothing: float = 0.0
    gear: float = 1.0
    forces: tuple[float, float] = (-math.inf, math.inf)

    def __post_init__(self) -> None:
        for one in fields(self):
            values = np.atleast_1d(np.asarray(getattr(self, one.name), np.float64))
            if values.shape != ((2,) if one.type == "tuple[float, float]" else (1,)):
                raise ValueError(
                    f"{one.name} of a muscle must be {one.type}, not {values.tolist()}"
                )
            if not np.isfinite(values).all() and one.name != "forces" or np.isnan(values).any():
                raise ValueError(f"{one.name} of a muscle is {values.tolist()}, and must be finite")
        for name in ("lengths", "range", "forces"):
            low, high = getattr(self, name)
            if not low < high:
                raise ValueError(f"{name} of a muscle are {low}, {high}, and must increase")
        for name, good in (
            ("peak", self.peak >= 0.0),
            ("fastest", self.fastest > 0.0),
            ("times", min(self.times) > 0.0),
            ("smoothing", self.smoothing >= 0.0),
            ("passive", self.passive >= 0.0),
            ("lengthening", self.lengthening >= 1.0),
            ("shortest", 0.0 <= self.shortest < 1.0),
            ("longest", self.longest > 1.0),
            ("gear", self.gear != 0.0),
        ):
            if not good:
                raise ValueError(f"{name} of a muscle is {getattr(self, name)}, which is none")


def muscle_force(table: dict[str, Float], length: Float, rate: Float, activation: Float) -> Float:
    """Forces of muscles, N, negative where they pull.

    Parameters
    ----------
    table : dict of ndarray of float, shape (k,) or (k, 2)
        Fields of k muscles.
    length, rate : ndarray of float, shape (k,)
        Of their joints or tendons, without gear, m and m/s.
    activation : ndarray of float, shape (k,)

    Returns
    -------
    ndarray of float, shape (k,)
    """
    low, high = table["lengths"].T
    first, last = table["range"].T
    optimal = (high - low) / (last - first)
    at = first + (table["gear"] * length - low) / optimal
    speed = table["gear"] * rate / (optimal * table["fastest"])
    active = active_force(at, table["shortest"], table["longest"])
    force = activation * active * speed_force(speed, table["lengthening"])
    force = -table["peak"] * (force + passive_force(at, table["longest"], table["passive"]))
    return np.clip(force, *table["forces"].T)


def active_force(at: Float, shortest: Float, longest: Float) -> Float:
    """FL: quadratic splines from 0 up to 1 where l is 1 and down to 0."""
    end = np.where(at < 1.0, shortest, longest)
    part = np.clip((at - end) / (1.0 - end), 0.0, 1.0)  # 0 at the end of the range, 1 at l = 1
    return np.where(part < 0.5, 2.0 * part**2, 1.0 - 2.0 * (1.0 - part) ** 2)


def speed_force(speed: Float, most: Float) -> Float:
    """FV: 0 at the fastest shortening, 1 at rest, ``most`` in fast lengthening."""
    over = most - 1.0
    shortening = np.clip(1.0 + speed, 0.0, 1.0) ** 2
    left = np.clip(over - speed, 0.0, None)
    bend = np.divide(left**2, over, out=np.zeros_like(left), where=over > 0.0)
    return np.where(speed <= 0.0, shortening, most - bend)


def passive_force(at: Float, longest: Float, most: Float) -> Float:
    """FP: quadratic from l = 1 to the middle of its range, linear beyond."""
    half = 0.5 * (longest - 1.0)
    x = np.clip((at - 1.0) / half, 0.0, None)
    return most * np.where(x <= 1.0, 0.5 * x**2, x - 0.5)


def activated(
    table: dict[str, Float], activation: Float, excitation: Float, seconds: float
) -> Float:
    """Activations after some time of constant excitation.

    Time constants are longer the more a muscle is active, and those of deactivation shorter [1]_.

    Parameters
    ----------
    table : dict of ndarray of float, shape (k,) or (k, 2)
        Fields of k muscles.
    activation, excitation : ndarray of float, shape (k,)
    seconds : float

    Returns
    -------
    ndarray of float, shape (k,)

    References
    ----------
    .. [1] M. Millard, T. Uchida, A. Seth, S. L. Delp, J. Biomech. Eng. 135 (2013) 021005.
    """
    goal = np.clip(excitation, 0.0, 1.0)
    up, down = table["times"].T
    width = table["smoothing"]

    def slope(a: Float) -> Float:
        spread = 0.5 + 1.5 * np.clip(a, 0.0, 1.0)
        slow, fast = down / spread, up * spread
        apart = goal - a
        x = np.divide(apart, width, out=np.where(apart > 0.0, 1.0, -1.0), where=width > 0.0)
        x = np.clip(x + 0.5, 0.0, 1.0)
        blend: Float = x**3 * (10.0 + x * (6.0 * x - 15.0))
        return np.asarray(apart / (slow + (fast - slow) * blend))

    parts = max(1, math.ceil(seconds / (STEP * float(table["times"].min()))))
    h = seconds / parts
    for _ in range(parts):
        one = slope(activation)
        two = slope(activation + 0.5 * h * one)
        three = slope(activation + 0.5 * h * two)
        four = slope(activation + h * three)
        activation = activation + h / 6.0 * (one + 2.0 * two + 2.0 * three + four)
    return activation
