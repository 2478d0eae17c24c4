"""Forces of motors and servos in a recorded motion."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.errors import UnknownNameError
from dynamics.kernels.base import layout
from dynamics.kinematics.coordinates import PERIOD

if TYPE_CHECKING:
    from dynamics.trajectory import Trajectory

__all__ = ["acting", "motor_force", "steps_before"]

Float = NDArray[np.float64]

#: Rounding of a time over the timestep: a day in steps of 1 ms has 1e-8.
ROUNDING = 1e-6


def steps_before(motion: Trajectory) -> NDArray[np.int64]:
    """Steps that led to each record, one that an event cut short included, shape (k,)."""
    passed = (motion.time - motion.time[:1]) / motion.model.timestep
    return np.asarray(np.ceil(passed - ROUNDING), np.int64)


def acting(motion: Trajectory, records: slice = slice(None)) -> Float:
    """Controls of the step that led to each record, NaN if they are not known.

    Parameters
    ----------
    motion : Trajectory
    records : slice, optional

    Returns
    -------
    ndarray of float, shape (k, c)
    """
    if motion.acted is not None:
        return motion.acted[records]
    width, steps = motion.model.n_controls, steps_before(motion)[records]
    rows = motion.controls[:, motion.controls.shape[1] - width :]
    if not rows.size:
        rows = np.zeros((1, width))
    found = rows[np.clip(steps - 1, 0, len(rows) - 1)]
    found[steps == 0] = np.nan if motion.controls_before is None else motion.controls_before
    return found


def motor_force(motion: Trajectory, name: Hashable, sensed: bool = False) -> Float:
    """Force of a motor over the interval before each node: `Trajectory.motor_force`.

    Where it is ``sensed``, each record has that of the controls that led to it, of shape
    (k, number of coordinates), and 0 where these are not known.
    """
    mechanism, starts = motion.model.mechanism, motion.model.tables.control_start
    if name not in starts:
        raise UnknownNameError(
            f"{name!r} has no motor, which actuated=True or servo= gives a joint; motors are "
            f"{list(starts)}"
        )
    first, count = starts[name]
    asked = acting(motion)[:, first : first + count]
    joint = mechanism.joints.get(name)
    if joint is None or joint.servo is None:
        motor = joint or mechanism.springs.get(name) or mechanism.thrusters[name]
        force, limits = asked, motor.control_limits
    else:
        stiffness, damping, gain, target, limits = joint.servo.rows(count, f"joint {name!r}")
        q, rate = _end_of_interval(motion, joint)
        force = gain * (target + asked) - stiffness * q - damping * rate
    if limits is not None:
        force = np.clip(force, *np.reshape(limits, (-1, 2)).T)
    if sensed:
        return np.where(np.isnan(asked), 0.0, force)
    force = np.where(np.arange(len(motion))[:, None] == 0, 0.0, force)
    return force[:, 0] if count == 1 else force


def _end_of_interval(motion: Trajectory, joint: Any) -> tuple[Float, Float]:
    """Coordinates at each node, and their changes per time over the interval before it.

    Servos take both (`dynamics.kernels.rows.stiff_forces`). The pose before the interval follows
    from its velocities, theory/step (1).
    """
    n, states = motion.model.n_bodies, motion.states
    start = (layout.POSE + layout.TWIST) * n
    u = states[:, start : start + layout.TWIST * n].reshape(-1, n, layout.TWIST)
    length = np.where(motion.intervals[:, 0] > 0.0, motion.intervals[:, 0], motion.model.timestep)
    before = states.copy()
    pose = before[:, : layout.POSE * n].reshape(-1, n, layout.POSE)
    pose[..., :3] -= length[:, None, None] * u[..., :3]
    phi = 0.5 * length[:, None, None] * u[..., 3:]
    s = np.sqrt(np.maximum(0.0, 1.0 - (phi * phi).sum(axis=-1, keepdims=True)))
    turn = np.concatenate([s, -phi], axis=-1)
    pose[..., 3:] = rotation.multiply(pose[..., 3:], turn)
    before[:, : layout.POSE * n] = pose.reshape(len(states), -1)
    still = np.zeros((len(states), layout.TWIST * n))
    measure = motion.model.workspace.joint
    q, past = (measure(joint.name, one, still)[:, :, 0].copy() for one in (states, before))
    way = q - past
    for k, row in enumerate(joint.positions):
        period = PERIOD.get(row.kind)
        if period is not None:
            way[:, k] -= period * np.round(way[:, k] / period)
    return q, way / length[:, None]
