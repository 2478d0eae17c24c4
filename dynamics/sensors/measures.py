"""Functions that measure what sensors do, exactly and of all records at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

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
from dynamics.sensors.places import place_of, poses_of, velocities_of
from dynamics.sensors.ranges import ranges, scene_of
from dynamics.trajectory import Trajectory

__all__ = ["SIZES", "measure_of", "size_of"]

Float = NDArray[np.float64]
#: Numbers of each quantity; of a joint's one for each coordinate.
SIZES = {
    "specific force": 3, "angular velocity": 3, "force": 3, "torque": 3, "normal force": 1,
    "touch": 1, "position": 3, "orientation": 4, "velocity": 3,
}  # fmt: skip
#: Columns of two vectors.
FIRST, SECOND = slice(0, 3), slice(3, 6)
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
            "angular velocity": lambda motion: velocities_of(motion, place, True)[:, 3:],
        }
        return lambda motion: _joined([parts[one](motion) for one in sensor.quantities])
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

    wrench, parts = joint_wrench(model, sensor.joint, place), {"force": FIRST, "torque": SECOND}

    def measure(motion: Trajectory) -> Float:
        found = wrench(motion)
        return _joined([found[:, parts[one]] for one in sensor.quantities])

    return measure


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
    return _joined([found[:, :, ("position", "velocity").index(q)] for q in sensor.quantities])


def _frame(model: Model, sensor: FrameSensor) -> Callable[[Trajectory], Float]:
    place = place_of(model, sensor.body, sensor.on_body, sensor.point, sensor.orientation)

    places = {"position": FIRST, "orientation": slice(3, 7)}
    rates = {"velocity": FIRST, "angular velocity": SECOND}

    def frame(motion: Trajectory) -> Float:
        parts = dict[str, Float]()
        if not places.keys().isdisjoint(sensor.quantities):
            found = poses_of(motion, place)
            parts |= {name: found[:, part] for name, part in places.items()}
        if not rates.keys().isdisjoint(sensor.quantities):
            found = velocities_of(motion, place, sensor.local)
            parts |= {name: found[:, part] for name, part in rates.items()}
        return _joined([parts[one] for one in sensor.quantities])

    return frame


def _joined(parts: list[Float]) -> Float:
    """Quantities one after another."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
