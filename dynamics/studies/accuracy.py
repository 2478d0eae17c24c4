"""Time steps for an accuracy: one step length per run, so that momenta keep their meaning."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.errors import ConvergenceError, check_model
from dynamics.kernels.base import layout
from dynamics.simulation import simulate
from dynamics.state import State, check_state

if TYPE_CHECKING:
    from dynamics.model import Model
    from dynamics.trajectory import Trajectory

__all__ = ["simulate_within", "suggest_timestep"]

Float = NDArray[np.float64]

#: Comparisons before giving up, the largest change of the number of steps from one to the next,
#: the part of the tolerance that is aimed at, and nodes at which runs are compared.
COMPARISONS = 12
CHANGE = 8.0
AIM = 0.7
NODES = 100


def suggest_timestep(
    model: Model,
    state: State,
    tolerance: float,
    seconds: float,
    *,
    controls: ArrayLike | None = None,
) -> float:
    """Estimate the largest time step that keeps all poses within a tolerance.

    Runs with n and 2 n steps are compared. At order p the error of the first is their difference
    times ``2^p / (2^p - 1)`` and is proportional to ``n^-p``, which predicts the next n. The
    returned time step was tested.

    Parameters
    ----------
    model : Model
        Of any order; the search starts with its time step.
    state : State
        Initial state; not changed.
    tolerance : float
        Largest error of a position, m, and of an orientation, rad, during the motion.
    seconds : float
        Duration, s. In chaotic motions errors grow exponentially with time.
    controls : array_like, shape (c,), optional
        Constant controls.

    Returns
    -------
    float
        ``seconds`` divided by a whole number, s: for ``mechanism.finalize(timestep, order=...)``.

    Raises
    ------
    ValueError
        For a tolerance or time that is not positive, and if no time step tried keeps the tolerance.

    References
    ----------
    .. [1] E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I,
       Springer, 1993, sec. II.4.
    """
    check_model(model, "suggest_timestep")
    check_state(model, state)
    for value, what in ((tolerance, "tolerance"), (seconds, "seconds")):
        if not (math.isfinite(value) and value > 0.0):
            raise ValueError(f"{what} is {value}, and must be positive and finite")
    order = model.order
    n = max(1, round(seconds / model.timestep))
    good: int | None = None
    bad, least, most = 0, math.inf, 0
    for _ in range(COMPARISONS):
        every = math.ceil(n / NODES)
        n = every * math.ceil(n / every)
        try:
            error = _difference(model, state, seconds, n, every, controls)
            error *= 2.0**order / (2.0**order - 1.0)
        except ConvergenceError:
            error = math.inf
        if n >= 2 * most > 0 and math.isfinite(least) and error > 0.5 * least > 0.5 * tolerance:
            break  # more steps do not help: round-off, or what Newton's method leaves
        least, most = min(least, error), max(most, n)
        if error <= tolerance:
            good = n if good is None else min(good, n)
        else:
            bad = max(bad, n)
        change = (error / (AIM * tolerance)) ** (1.0 / order)
        n = max(1, math.ceil(n * min(CHANGE, max(1.0 / CHANGE, change))))
        if good is not None:
            n = max(n, bad + 1)
            if n > 0.9 * good:
                return seconds / good
    if good is not None:
        return seconds / good
    raise ValueError(
        f"no time step found keeps errors within {tolerance:.1e} over {seconds} s; the least error "
        f"was {least:.1e}. Take a shorter time, a higher order, or a tighter tolerance of Newton's "
        f"method (now {model.tolerance:.1e})"
    )


def simulate_within(
    model: Model,
    state: State,
    seconds: float,
    tolerance: float,
    *,
    controls: ArrayLike | None = None,
    every: int = 1,
) -> Trajectory:
    """Simulate with about the largest time step that keeps all poses within a tolerance.

    Parameters
    ----------
    model : Model
        Of any order; the search starts with its time step.
    state : State
        Initial state; not changed.
    seconds : float
        Duration, s.
    tolerance : float
        Largest error of a position, m, and of an orientation, rad, during the motion.
    controls : array_like, shape (c,), optional
        Constant controls.
    every : int, optional
        Steps between records.

    Returns
    -------
    Trajectory
        With a constant time step, which conserves momentum; ``trajectory.model`` has this time
        step.

    Raises
    ------
    ValueError
        As in `suggest_timestep`.
    ConvergenceError
        As in `simulate`.
    """
    timestep = suggest_timestep(model, state, tolerance, seconds, controls=controls)
    return simulate(_timed(model, timestep), state, seconds, controls=controls, every=every)


def _difference(
    model: Model, state: State, seconds: float, n: int, every: int, controls: ArrayLike | None
) -> float:
    """Largest difference of positions, m, and of orientations, rad, of n and 2 n steps."""
    coarse, fine = (
        simulate(
            _timed(model, seconds / (k * n)), state, seconds, controls=controls, every=k * every
        )
        for k in (1, 2)
    )
    size = layout.POSE * model.n_bodies
    a, b = (one.states[:, :size].reshape(len(one), -1, layout.POSE) for one in (coarse, fine))
    apart = np.linalg.norm(a[..., :3] - b[..., :3], axis=-1)
    # q and -q are one orientation; |q_a - q_b| is twice the sine of a quarter of the angle
    near = np.minimum(*(np.linalg.norm(a[..., 3:] - s * b[..., 3:], axis=-1) for s in (1.0, -1.0)))
    angle = 4.0 * np.arcsin(np.minimum(1.0, 0.5 * near))
    return float(max(apart.max(), angle.max()))


def _timed(model: Model, timestep: float) -> Model:
    """The same model with another time step."""
    return model._replace(timestep=timestep)
