"""Keyframes of MuJoCo's model as poses of links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics import rotation
from dynamics.io.description import Pose
from dynamics.parts.actuators import Keyframe

if TYPE_CHECKING:
    from dynamics.io.mjcf.reader import Reader

__all__ = ["read_keyframe"]


def read_keyframe(reader: Reader, k: int) -> None:
    """Poses of all links where a keyframe has the coordinates, and its commands.

    Parameters
    ----------
    reader : Reader
        Its description gets the keyframe.
    k : int
        Number of the keyframe in MuJoCo's model.
    """
    m, name = reader.model, reader.name("key", k)
    if np.any(m.key_qvel[k] != 0.0):
        reader.notes.leave_out("velocities of keyframes", name)
    if np.any(m.key_mpos[k] != m.body_pos[m.body_mocapid >= 0].ravel()):
        reader.notes.leave_out("mocap bodies of keyframes", name)
    poses: dict[str | None, Pose] = {None: Pose()}
    for parent, place, parts in reader.steps:
        here = poses[parent] @ place
        for link, joints in parts:
            for j in joints:
                here = _turned(reader, here, j, m.key_qpos[k])
            poses[link] = here
    commands = {one: float(m.key_ctrl[k, i]) for i, one in enumerate(reader.actuator_name)}
    known = {one.name for one in reader.found.actuators}
    reader.found.keyframes[name] = Keyframe(
        {
            link: np.concatenate([pose.position, pose.orientation])
            for link, pose in poses.items()
            if link is not None
        },
        {one: value for one, value in commands.items() if one in known},
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
