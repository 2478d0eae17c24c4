"""Keyframes of MuJoCo's model as poses and velocities of links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.io.description import Pose
from dynamics.io.mjcf.options import command_at
from dynamics.parts.actuators import Keyframe

if TYPE_CHECKING:
    from dynamics.io.mjcf.reader import Reader

__all__ = ["read_keyframe"]

Float = NDArray[np.float64]


def read_keyframe(reader: Reader, k: int) -> None:
    """Poses and velocities of all links in a keyframe, and its commands.

    Parameters
    ----------
    reader : Reader
        Its description gets the keyframe.
    k : int
        Number of the keyframe in MuJoCo's model.
    """
    m, name = reader.model, reader.name("key", k)
    if np.any(m.key_mpos[k] != m.body_pos[m.body_mocapid >= 0].ravel()):
        reader.notes.leave_out("mocap bodies of keyframes", name)
    poses: dict[str | None, Pose] = {None: Pose()}
    rates: dict[str | None, Float] = {None: np.zeros(6)}
    for parent, place, parts in reader.steps:
        here, rate = poses[parent] @ place, rates[parent]
        for link, joints in parts:
            for j in joints:
                before, here = here, _turned(reader, here, j, m.key_qpos[k])
                rate = _moving(reader, before, here, rate, j, m.key_qvel[k])
            poses[link], rates[link] = here, rate
    known = {one.name for one in reader.found.actuators}
    commands = {
        one: float(m.key_ctrl[k, command_at(m, i)])
        for i, one in enumerate(reader.actuator_name)
        if one in known
    }
    reader.found.keyframes[name] = Keyframe(
        {
            link: np.concatenate([pose.position, pose.orientation])
            for link, pose in poses.items()
            if link is not None
        },
        commands,
        {
            link: np.concatenate([rate[:3] + np.cross(rate[3:], poses[link].position), rate[3:]])
            for link, rate in rates.items()
            if link is not None and rate.any()
        },
        {
            one: float(m.key_act[k, m.actuator_actadr[i]])
            for i, one in enumerate(reader.actuator_name)
            if one in known and m.actuator_actadr[i] >= 0
        },
    )


def _turned(reader: Reader, here: Pose, j: int, qpos: Any) -> Pose:
    """Pose of a body after one of its joints has moved."""
    m, at = reader.model, int(reader.model.jnt_qposadr[j])
    kind = ("free", "ball", "slide", "hinge")[int(m.jnt_type[j])]
    point, axis = np.array(m.jnt_pos[j]), np.array(m.jnt_axis[j])
    if kind == "free":
        return Pose(np.array(qpos[at : at + 3]), rotation.normalized(qpos[at + 3 : at + 7]))
    if kind == "ball":
        turn = rotation.normalized(qpos[at : at + 4])
        return here @ Pose(point, turn) @ Pose(-point)
    moved = float(qpos[at] - m.qpos0[at])
    if kind == "slide":
        return here @ Pose(moved * axis)
    return here @ Pose(point, rotation.from_rotation_vector(moved * axis)) @ Pose(-point)


def _moving(reader: Reader, before: Pose, here: Pose, rate: Float, j: int, qvel: Any) -> Float:
    """Velocity of a body's point at the world's origin, and its angular velocity, after a joint.

    ``before`` and ``here`` are its poses before and after the joint has moved.
    """
    m, at = reader.model, int(reader.model.jnt_dofadr[j])
    kind = ("free", "ball", "slide", "hinge")[int(m.jnt_type[j])]
    slide, spin, point = np.zeros(3), np.zeros(3), here.point(np.array(m.jnt_pos[j]))
    if kind == "free":
        rate, point = np.zeros(6), here.position
        slide, spin = np.array(qvel[at : at + 3]), np.array(qvel[at + 3 : at + 6])
        spin = rotation.rotate(here.orientation, spin)
    elif kind == "ball":
        spin = rotation.rotate(here.orientation, np.array(qvel[at : at + 3]))
    else:
        way = rotation.rotate(before.orientation, float(qvel[at]) * np.array(m.jnt_axis[j]))
        slide, spin = (way, spin) if kind == "slide" else (slide, way)
    return np.asarray(rate + np.concatenate([slide - np.cross(spin, point), spin]))
