"""Functions that measure what sensors do, exactly and of all records at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.kernels.base import layout
from dynamics.model import Model
from dynamics.parts.sensors import (
    IMU,
    ContactSensor,
    ForceTorque,
    FrameSensor,
    JointSensor,
    RangeFinder,
    Sensor,
)
from dynamics.sensors.forces import contact_force, contacts_of, joint_wrench
from dynamics.sensors.inertial import specific_force
from dynamics.sensors.places import Place, place_of, pose_of, skew, turn
from dynamics.sensors.ranges import ranges, scene_of
from dynamics.trajectory import Trajectory

__all__ = ["SIZES", "measure_of", "size_of"]

Float = NDArray[np.float64]
#: Numbers of each quantity; of a joint's one for each coordinate.
SIZES = {
    "specific force": 3, "angular velocity": 3, "force": 3, "torque": 3, "normal force": 1,
    "touch": 1, "position": 3, "orientation": 4, "velocity": 3,
}  # fmt: skip
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
#: Part of a body's unit of force from which on it touches.
FELT = 1e-3


def size_of(model: Model, sensor: Sensor) -> int:
    """Count the numbers of a reading."""
    if isinstance(sensor, RangeFinder):
        return len(sensor.direction)
    if isinstance(sensor, JointSensor):
        count = model.mechanism.joints[sensor.joint].n_coordinates
        return len(sensor.quantities) * (count if sensor.coordinate is None else 1)
    return sum(SIZES[one] for one in sensor.quantities)


def measure_of(model: Model, sensor: Sensor) -> Callable[[Trajectory], Float]:
    """Function that measures exactly."""
    if isinstance(sensor, IMU):
        place = place_of(model, sensor.body, sensor.on_body, sensor.point, sensor.orientation)
        parts = {
            "specific force": lambda motion: specific_force(motion, place),
            "angular velocity": lambda motion: _velocities(motion, place, True)[1],
        }
        return lambda motion: np.hstack([parts[one](motion) for one in sensor.quantities])
    if isinstance(sensor, ForceTorque):
        return _joint_wrench(model, sensor)
    if isinstance(sensor, ContactSensor):
        return _contact(model, sensor)
    if isinstance(sensor, RangeFinder):
        place = place_of(model, sensor.body, sensor.on_body, sensor.point, UPRIGHT)
        scene = scene_of(model, place.body)

        def distances(motion: Trajectory) -> Float:
            found = ranges(motion, place, sensor.direction, scene)
            return np.where(found <= sensor.largest, found, np.inf)

        return distances
    if isinstance(sensor, JointSensor):
        return lambda motion: _coordinates(motion, sensor)
    assert isinstance(sensor, FrameSensor)
    return _frame(model, sensor)


def _joint_wrench(model: Model, sensor: ForceTorque) -> Callable[[Trajectory], Float]:
    joint = model.mechanism.joints[sensor.joint]
    if model.order > 2 and joint.soft:
        raise ValueError(
            f"sensor {sensor.name!r} is on joint {joint.name!r}, whose compliance is a spring at "
            "order 4 and 6; use order=2"
        )
    point = joint.child_point if sensor.point is None else sensor.point
    place = place_of(model, joint.child.name, True, point, sensor.orientation)

    def wrench(motion: Trajectory) -> Float:
        parts = dict(zip(("force", "torque"), joint_wrench(motion, sensor.joint, place)))
        return np.hstack([parts[one] for one in sensor.quantities])

    return wrench


def _contact(model: Model, sensor: ContactSensor) -> Callable[[Trajectory], Float]:
    names, least = contacts_of(model, sensor.body, sensor.against), sensor.threshold
    if least is None:
        unit = model.tables.units[sensor.body]
        least = FELT * unit.mass * unit.speed**2 / unit.length

    def contact(motion: Trajectory) -> Float:
        force = contact_force(motion, names)
        parts = {"normal force": force, "touch": (force >= least).astype(float)}
        return np.column_stack([parts[one] for one in sensor.quantities])

    return contact


def _coordinates(motion: Trajectory, sensor: JointSensor) -> Float:
    found = motion.model.workspace.joint(sensor.joint, motion.states, motion.twists)
    if sensor.coordinate is not None:
        found = found[:, [sensor.coordinate]]
    return np.hstack([found[:, :, ("position", "velocity").index(q)] for q in sensor.quantities])


def _frame(model: Model, sensor: FrameSensor) -> Callable[[Trajectory], Float]:
    place = place_of(model, sensor.body, sensor.on_body, sensor.point, sensor.orientation)

    def frame(motion: Trajectory) -> Float:
        x, R = pose_of(motion, place.body)
        parts = {}
        for one in sensor.quantities:
            if one == "position":
                parts[one] = x + turn(R, place.point)
            elif one == "orientation":
                parts[one] = _orientation(motion, place)
            elif one not in parts:
                moving = _velocities(motion, place, sensor.local)
                parts |= dict(zip(("velocity", "angular velocity"), moving))
        return np.hstack([parts[one] for one in sensor.quantities])

    return frame


def _orientation(motion: Trajectory, place: Place) -> Float:
    """Orientations of a place, sensor to world, shape (k, 4)."""
    if place.body < 0:
        return np.tile(place.orientation, (len(motion), 1))
    at = layout.POSE * place.body + 3
    q = motion.states[:, at : at + 4]
    if place.orientation[0] == 1.0:
        return q.copy()
    return rotation.multiply(q, np.broadcast_to(place.orientation, q.shape))


def _velocities(motion: Trajectory, place: Place, local: bool) -> tuple[Float, Float]:
    """Velocity and angular velocity of a place, along its own axes or the world's."""
    if place.body < 0:
        return np.zeros((len(motion), 3)), np.zeros((len(motion), 3))
    at = layout.TWIST * place.body
    v, omega = motion.twists[:, at : at + 3], motion.twists[:, at + 3 : at + layout.TWIST]
    _, R = pose_of(motion, place.body)
    if place.point.any():
        v = v + turn(R @ skew(omega), place.point)
    if local:
        return turn((R @ place.matrix).transpose(0, 2, 1), v), omega @ place.matrix
    return v, turn(R, omega)
