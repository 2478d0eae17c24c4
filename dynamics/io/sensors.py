"""Sensors of a file on the bodies and joints of a mechanism."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from dynamics import rotation
from dynamics.io.description import Pose, SensorEntry
from dynamics.io.groups import Group
from dynamics.io.notes import Notes
from dynamics.mechanism import Mechanism
from dynamics.parts.bodies import WORLD
from dynamics.parts.sensors import (
    IMU,
    CentroidalSensor,
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
    mechanism: Mechanism,
    entry: SensorEntry,
    groups: Mapping[str, Group],
    bodies: Mapping[str, Any],
    notes: Notes,
) -> None:
    """Add a sensor of a file.

    Parameters
    ----------
    mechanism : Mechanism
    entry : SensorEntry
    groups : dict of Group
        By link.
    bodies : dict of Body or world
        By name of group.
    notes : Notes
        Gets what is left out.
    """

    def place(link: str | None, pose: Pose) -> tuple[Any, Pose]:
        if link is None:
            return WORLD, pose
        return bodies[groups[link].name], groups[link].pose_of(link) @ pose

    sensor: Sensor | None
    if entry.kind == "centroidal":
        sensor = _centroidal(entry, groups, bodies)
    else:
        reference = None
        if entry.reference is not None:
            name = f"{entry.name} reference"
            reference = _frame_at(mechanism, name, *place(*entry.reference))
        sensor = _sensor(mechanism, entry, *place(entry.link, entry.pose), reference)
    if sensor is None:
        notes.leave_out("sensors of joints or bodies that are not here", entry.name)
    else:
        mechanism.add_sensor(sensor)


def _frame_at(mechanism: Mechanism, name: str, body: Any, pose: Pose) -> Hashable:
    """Name of a frame at this place, which is made where there is none."""
    for frame in mechanism.frames.values():
        same = frame.body is body and np.array_equal(frame.position, pose.position)
        if same and np.array_equal(frame.orientation, pose.orientation):
            return frame.name
    return mechanism.add_frame(
        name, body, position=pose.position, orientation=pose.orientation
    ).name


def _centroidal(
    entry: SensorEntry, groups: Mapping[str, Group], bodies: Mapping[str, Any]
) -> CentroidalSensor | None:
    """Sensor of the bodies that links belong to; None where they have other links, too."""
    names = dict.fromkeys(groups[link].name for link in entry.links)
    for name in names:
        others = (link for link, _ in groups[name].links if link.name not in entry.links)
        if groups[name].fixed or any(link.mass > 0.0 for link in others):
            return None
    noise = Noise(entry.noise)
    return CentroidalSensor(
        [bodies[name] for name in names], quantities=entry.quantity, name=entry.name, noise=noise
    )


def _sensor(
    mechanism: Mechanism, entry: SensorEntry, body: Any, pose: Pose, reference: Hashable
) -> Sensor | None:
    options: dict[str, Any] = {"name": entry.name, "noise": Noise(entry.noise, entry.bias)}
    x, q, quantity = pose.position, pose.orientation, entry.quantity
    joint = mechanism.joints.get(entry.joint)
    if entry.kind == "joint":
        if joint is None or (
            quantity == "motor force" and not (joint.actuated or joint.servo is not None)
        ):
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
    return FrameSensor(body, x, q, local=own, reference=reference, quantities=quantity, **options)
