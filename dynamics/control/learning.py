"""Learning a few parameters by trial: the random search with a bias of Bruedigam et al. 2023."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation

__all__ = ["Search", "random_search"]

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Result of `random_search`.

    Attributes
    ----------
    parameters : ndarray of float, shape (k,)
        Best parameters.
    score : float
        Score of the best parameters.
    tried : ndarray of float, shape (episodes + 1, k)
        Parameters of every episode, after those of the start.
    scores : ndarray of float, shape (episodes + 1,)
        Scores of these; nan or infinite for failed episodes.
    """

    parameters: Float
    score: float
    tried: Float
    scores: Float

    @property
    def best(self) -> Float:
        """Best score so far, after every episode."""
        return np.maximum.accumulate(np.where(np.isfinite(self.scores), self.scores, -np.inf))


def random_search(
    score: Callable[[Float], float],
    start: ArrayLike,
    episodes: int = 100,
    *,
    explore: float = 0.1,
    shrink: float = 0.9,
    stride: float = 0.01,
    noise: float = 0.002,
    seed: int = 0,
    progress: Callable[[int, float], None] | None = None,
) -> Search:
    """Random search for the parameters with the highest score.

    Every episode tries the best parameters plus a normally distributed step of width ``explore``.
    After an improvement the next episode goes ``stride`` further in the same direction, plus a step
    of width ``noise``, and ``explore`` is reset. After an episode without improvement ``explore``
    shrinks.

    Parameters
    ----------
    score : callable
        ``score(parameters)``, such as the distance walked in a simulation; a value that is not
        finite is a failed episode.
    start : array_like, shape (k,)
        First parameters.
    episodes : int, optional
        Number of episodes.
    explore, shrink, stride, noise : float, optional
        Width of steps; its factor after an episode without improvement; length of the step after an
        improvement; width of the noise of that step.
    seed : int, optional
        Seed of the random numbers.
    progress : callable, optional
        ``progress(episode, score)``, called after each episode.

    Returns
    -------
    Search

    Raises
    ------
    ValueError
        For numbers that are negative or not finite, and if the first episode fails.

    References
    ----------
    .. [1] J. Bruedigam, S. Sosnowski, Z. Manchester, S. Hirche, Variational integrators and
       graph-based solvers for multibody dynamics in maximal coordinates, Multibody System
       Dynamics, 2023, Algorithm 7.

    Examples
    --------
    >>> found = random_search(lambda x: -np.sum((x - 1.0) ** 2), np.zeros(3))
    """
    best = rotation.as_numbers(start, np.shape(start), "start")
    if best.ndim != 1:
        raise ValueError(f"start must be a vector, not {start!r}")
    if episodes < 0:
        raise ValueError(f"episodes is {episodes}, and must not be negative")
    for value, what in (
        (explore, "explore"), (shrink, "shrink"), (stride, "stride"), (noise, "noise"),
    ):  # fmt: skip
        if not (math.isfinite(value) and value >= 0.0):
            raise ValueError(f"{what} is {value}, and must be finite and not negative")
    rng = np.random.default_rng(seed)
    tried, scores = np.empty((episodes + 1, best.size)), np.empty(episodes + 1)
    highest = float(score(best.copy()))
    if not math.isfinite(highest):
        raise ValueError(f"the start {best} fails: its score is {highest}")
    tried[0], scores[0] = best, highest
    bias, width = np.zeros(best.size), explore
    for k in range(1, episodes + 1):
        step = rng.standard_normal(best.size)
        now = best + (noise * step + stride * bias if bias.any() else width * step)
        tried[k], scores[k] = now, float(score(now.copy()))
        if math.isfinite(scores[k]) and scores[k] > highest:
            bias = (now - best) / max(float(np.linalg.norm(now - best)), 1e-300)
            best, highest, width = now, float(scores[k]), explore
        else:
            bias, width = np.zeros(best.size), shrink * width
        if progress is not None:
            progress(k, float(scores[k]))
    return Search(best.copy(), highest, tried, scores)
