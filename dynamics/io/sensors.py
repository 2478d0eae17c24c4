"""Sensors of a file on the bodies and joints of a mechanism."""

from __future__ import annotations

from typing import Any

from dynamics import rotation
from dynamics.io.description import Pose, SensorEntry
from dynamics.io.notes import Notes
from dynamics.mechanism import Mechanism
from dynamics.parts.bodies import WORLD
from dynamics.parts.sensors import (
    IMU,
    ContactSensor,
    ForceTorque,
    FrameSensor,
    JointSensor,
    Noise,
    RangeFinder,
    Sensor,
)

__all__ = ["add_sensor"]

Z = (0.0, 0.0, 1.0)
NOTHING = -1.0  #: what MuJoCo reads where a ray meets nothing


def add_sensor(
    mechanism: Mechanism, entry: SensorEntry, body: Any, pose: Pose, notes: Notes
) -> None:
    """Add a sensor of a file.

    Parameters
    ----------
    mechanism : Mechanism
    entry : SensorEntry
    body : Body or world
        That its link belongs to.
    pose : Pose
        In the body's frame.
    notes : Notes
        Gets what is left out.
    """
    sensor = _sensor(mechanism, entry, body, pose)
    if sensor is None:
        notes.leave_out("sensors of joints or bodies that are not here", entry.name)
    else:
        mechanism.add_sensor(sensor)


def _sensor(mechanism: Mechanism, entry: SensorEntry, body: Any, pose: Pose) -> Sensor | None:
    options: dict[str, Any] = {"name": entry.name, "noise": Noise(entry.noise, entry.bias)}
    x, q, quantity = pose.position, pose.orientation, entry.quantity
    joint = mechanism.joints.get(entry.joint)
    if entry.kind == "joint":
        if joint is None:
            return None
        return JointSensor(joint, entry.coordinate, quantities=quantity, **options)
    if entry.kind == "wrench":
        if joint is None or joint.child is not body:
            return None
        return ForceTorque(joint, x, q, quantities=quantity, **options)
    if entry.kind == "contact":
        return None if body is WORLD else ContactSensor(body, quantities=quantity, **options)
    if entry.kind == "range":
        way = rotation.rotate(q, Z)
        return RangeFinder(body, x, way, largest=entry.largest, nothing=NOTHING, **options)
    if entry.kind == "imu":
        return IMU(body, x, q, quantities=quantity, **options)
    own = entry.kind == "own frame"
    return FrameSensor(body, x, q, local=own, quantities=quantity, **options)
