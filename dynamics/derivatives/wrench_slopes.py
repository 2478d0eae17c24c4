"""Slopes of users' wrenches, by central differences of their functions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics.kernels.base import layout
from dynamics.kernels.rows.curvature import STEP, nudge
from dynamics.tables.model_tables import Tables

__all__ = ["wrench_slopes"]

Float = NDArray[np.float64]


def wrench_slopes(tables: Tables, time: float, pose: Float, twist: Float) -> Float:
    """Derivatives of each wrench by the arguments of its function.

    Parameters
    ----------
    tables : Tables
    time : float
        s.
    pose : ndarray of float, shape (n, 7)
    twist : ndarray of float, shape (n, 6)

    Returns
    -------
    ndarray of float, shape (wrenches, 12, 24)
        Of the wrenches on (parent, child) with respect to (poses, velocities) of (parent, child),
        a pose by its position and rotation vector; what belongs to the world is 0.
    """
    plan = tables.plan
    n, count, first = len(pose), int(plan[layout.WRENCHES]), int(plan[layout.WRENCH_AT])
    records = plan[first : first + count * layout.WRENCH_FIELDS].reshape(
        count, layout.WRENCH_FIELDS
    )
    calls = tables.callbacks[len(tables.callbacks) - count :]
    found = np.zeros((count, 12, 24))
    still = np.zeros(layout.POSE)
    still[3] = 1.0
    poses = np.vstack([pose, still])
    for slopes, record, call in zip(found, records.tolist(), calls):

        def given(poses: Float, twists: Float, call: Any = call) -> Float:
            out = np.zeros(layout.WRENCH_SIZE)
            call.function(np.array([time]), poses, twists, out)
            return np.concatenate([out[6:12], out[:6]])

        for end, body in enumerate((record[layout.A], record[layout.B])):
            if body == n:
                continue
            for j in range(layout.TWIST):
                sides = [_nudged(poses, body, j, step) for step in (STEP, -STEP)]
                change = given(sides[0], twist) - given(sides[1], twist)
                slopes[:, 6 * end + j] = change / (2.0 * STEP)
                step = STEP * max(1.0, abs(twist[body, j]))
                moved = np.zeros_like(twist)
                moved[body, j] = step
                change = given(poses, twist + moved) - given(poses, twist - moved)
                slopes[:, 12 + 6 * end + j] = change / (2.0 * step)
    return found


def _nudged(poses: Float, body: int, j: int, step: float) -> Float:
    """Poses with a body moved along the world's axis j, or turned about its own axis j - 3."""
    moved = poses.copy()
    nudge(moved.ravel(), layout.POSE * body, j, step)
    return moved
