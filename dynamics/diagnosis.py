"""What went wrong in a step, in the user's labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics.errors import ConvergenceError
from dynamics.kernels.cuts import DEPTH

if TYPE_CHECKING:
    from dynamics.model import Model

WENT_WRONG = {
    -1: "Newton's method did not converge",
    -2: "the matrix is singular",
    -3: "numbers are not finite",
    -5: "a user's distance function failed",
    -4: "a body turns too far in one interval",
    -6: "bodies that touch go through each other between two nodes",
}


def failure(
    model: Model, bad: int, step: int, time: float, info: NDArray[np.float64]
) -> ConvergenceError:
    """What to raise when a step failed.

    Parameters
    ----------
    model : Model
    bad : int
        Status of the step.
    step : int
        Its number.
    time : float
        Where it began, s.
    info : ndarray of float

    Returns
    -------
    ConvergenceError
        Or what a user's function raised is raised again.
    """
    for call in model.tables.callbacks:
        call.reraise()
    name, what = model.workspace.worst()
    return ConvergenceError(
        f"step {step} at {time:.6g} s: {WENT_WRONG[bad]}, even in {2**DEPTH} intervals; "
        f"the largest residual is {info[0]:.2e} in {what} {name!r} (constraints open by "
        f"{info[1]:.2e}). Use a smaller timestep, or look at that part's masses, forces and state",
        step,
        float(info[0]),
        name,
    )
