"""Checks of what is to be planned, in the labels of the tree, and the names of rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.kernels.tree import layout
from dynamics.trajectory_optimization.points import moved
from dynamics.trajectory_optimization.transcription import Transcription

__all__ = ["check_limits", "check_start", "check_tree", "row_label", "vector"]

Float = NDArray[np.float64]

#: A start may lie beneath the ground by this, m.
TOUCHING = 1e-6


def vector(value: ArrayLike, n: int, name: str) -> Float:
    """A finite number for each joint."""
    found = np.array(value, float)
    if found.shape != (n,) or not np.isfinite(found).all():
        raise ValueError(f"{name} has shape {found.shape}, it must be ({n},) and finite")
    return found


def check_tree(integrator: TreeIntegrator) -> None:
    """Refuse constraints and drag."""
    if integrator.tables.constraints:
        raise ValueError(
            f"the tree has constraints ({integrator.tables.constraints[0]!r}): contacts replace "
            f"pins here"
        )
    body = integrator.tables.tree[1].reshape(len(integrator.joints), -1)
    dragged = np.flatnonzero((body[:, layout.DRAGGED] != 0.0) | (body[:, layout.AREA] != 0.0))
    if dragged.size:
        raise ValueError(f"body {integrator.joints[dragged[0]]!r} has drag: leave it out here")


def check_limits(
    integrator: TreeIntegrator, start: Float, goal: Float, low: Float, high: Float
) -> None:
    """Refuse ends beyond the limits of joints."""
    for i, label in enumerate(integrator.joints):
        if low[i] > high[i]:
            raise ValueError(f"limits of joint {label!r} are empty: {low[i]} to {high[i]}")
        for name, value in (("start", start[i]), ("goal", goal[i])):
            if value < low[i] or value > high[i]:
                raise ValueError(
                    f"{name} of joint {label!r} is {value:.6g}, beyond its limits {low[i]:.6g} to "
                    f"{high[i]:.6g}"
                )


def check_start(made: Transcription, start: Float) -> None:
    """Refuse points beneath the ground at the start."""
    heights = made.points.heights(start[None])[0]
    where = made.points.positions(moved(made.task.integrator, start[None]))[0]
    bodies = [one.body for one in made.task.contacts] + [body for body, _ in made.task.clear]
    for body, x, height in zip(bodies, where, heights):
        if height < -TOUCHING:
            raise ValueError(
                f"a point of body {body!r} starts {-height:.3g} m beneath the ground (at "
                f"x = {x[0]:.3g} m, z = {x[2]:.3g} m): raise the start"
            )


def row_label(made: Transcription, row: int) -> str:
    """What a row says, and when."""
    task, rows, time = made.task, made.rows, made.grid.time
    k, i = divmod(row, made.grid.n)
    if row < rows.motion.size:
        return f"motion of joint {task.integrator.joints[i]!r} at {time[k]:.3g} s"
    free = [task.contacts[c].body for c in made.free]
    every = [one.body for one in task.contacts]
    groups = (
        ("gap of the contact", rows.gap, free),
        ("slip of the contact", rows.slip, free),
        ("friction cone of the contact", rows.cone, every),
        ("complementarity of the contact", rows.pairs, free),
        ("height of the point", rows.clear, [body for body, _ in task.clear]),
    )
    for name, numbers, bodies in groups:
        if numbers.size and numbers.min() <= row <= numbers.max():
            place = np.argwhere(numbers == row)[0]
            return f"{name} of {bodies[place[1]]!r} at {time[place[0]]:.3g} s"
    place = np.argwhere(rows.reach == row)[0]
    return f"place of a point of {task.reach[place[0]][0]!r} at the end"
