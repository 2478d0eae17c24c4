"""Noise of a sensor as a function of seed and sample: the same online, afterwards and again."""

from __future__ import annotations

from collections.abc import Hashable
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from dynamics.parts.sensors import Noise

__all__ = ["Errors"]

Float = NDArray[np.float64]
#: Samples that are drawn at once.
BLOCK = 256


class Errors:
    """Errors of one sensor.

    Parameters
    ----------
    noise : Noise
    name : hashable
        Sensors of other names have other errors.
    size : int
        Numbers of a reading.
    period : float
        Time between samples, s.
    seed : int
    """

    def __init__(self, noise: Noise, name: Hashable, size: int, period: float, seed: int) -> None:
        numbers = {}
        for what in ("white", "bias", "walk", "resolution"):
            given = np.asarray(getattr(noise, what))
            if given.shape not in ((), (size,)):
                raise ValueError(
                    f"{what} of the noise of sensor {name!r} has shape {given.shape}, and its "
                    f"readings {size} numbers"
                )
            numbers[what] = np.broadcast_to(given, (size,))
        self.white, self.bias, self.resolution = (
            numbers[what] for what in ("white", "bias", "resolution")
        )
        self.increment = numbers["walk"] * np.sqrt(period)
        self.size, self.key = size, [seed, crc32(repr(name).encode())]
        self.random = bool(self.white.any() or self.increment.any())
        self.rounded = np.flatnonzero(self.resolution > 0.0)
        self.none = not (self.random or self.rounded.size or self.bias.any())
        self._last: tuple[int, Float] | None = None
        self._walked = [np.zeros(size)]  # at the start of each block

    def added(self, exact: Float, samples: NDArray[np.int64]) -> Float:
        """Readings with errors.

        Parameters
        ----------
        exact : ndarray of float, shape (k, m)
        samples : ndarray of int, shape (k,)
            Number of each sample, from 0 at time 0.

        Returns
        -------
        ndarray of float, shape (k, m)
            The exact ones themselves, where the sensor has no errors.
        """
        if self.none:
            return exact
        found = exact + self.bias
        if self.random:
            blocks = samples // BLOCK
            for block in np.unique(blocks).tolist():
                chosen = blocks == block
                found[chosen] += self._drawn(block)[samples[chosen] - BLOCK * block]
        if self.rounded.size:
            step = self.resolution[self.rounded]
            found[:, self.rounded] = step * np.round(found[:, self.rounded] / step)
        return np.asarray(found)

    def _drawn(self, block: int) -> Float:
        """Walk and white noise of a block."""
        last = self._last
        if last is None or last[0] != block:
            white, steps = self._normal(block)
            walk = np.zeros_like(white)
            if self.increment.any() and block >= 0:
                for before in range(len(self._walked) - 1, block):
                    total = self._walked[before] + self._normal(before)[1].sum(axis=0)
                    self._walked.append(total)
                walk = self._walked[block] + np.cumsum(steps, axis=0) - steps
            last = self._last = block, self.white * white + self.increment * walk
        return last[1]

    def _normal(self, block: int) -> tuple[Float, Float]:
        """Standard normal numbers of a block, shape (BLOCK, m): white ones, and steps of a walk."""
        rng = np.random.default_rng([*self.key, block % 2**32])
        white = rng.standard_normal((BLOCK, self.size))
        steps = rng.standard_normal((BLOCK, self.size)) if self.increment.any() else white
        return white, steps
