"""Functions that measure what sensors do, exactly and of all records at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.kernels.base.layout import POSE, TWIST
from dynamics.kinematics.motor_forces import motor_force
from dynamics.model import Model
from dynamics.parts.sensors import (
    AXES,
    IMU,
    CentroidalSensor,
    ContactSensor,
    ForceTorque,
    FrameSensor,
    JointSensor,
    RangeFinder,
    Sensor,
)
from dynamics.parts.tendons import sliders_of
from dynamics.sensors.forces import contact_force, contacts_of, joint_wrench
from dynamics.sensors.inertial import specific_force
from dynamics.sensors.places import place_of, poses_of, velocities_of
from dynamics.sensors.ranges import ranges, scene_of
from dynamics.tables.units import planes_of
from dynamics.trajectory import Trajectory

__all__ = ["SIZES", "measure_of", "size_of"]

Float = NDArray[np.float64]
#: Numbers of each quantity; of a joint's one for each coordinate.
SIZES = {
    "specific force": 3, "angular velocity": 3, "force": 3, "torque": 3, "normal force": 1,
    "touch": 1, "position": 3, "orientation": 4, "velocity": 3, "center of mass": 3,
    "angular momentum": 3, **dict.fromkeys(AXES, 3),
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
        key = "scene", place.body
        if key not in model.structures:
            model.structures[key] = scene_of(model, place.body)
        scene = model.structures[key]

        def distances(motion: Trajectory) -> Float:
            found = ranges(motion, place, sensor.direction, scene)
            return np.where(found <= sensor.largest, found, np.inf)

        return distances
    if isinstance(sensor, JointSensor):
        if "motor force" in sensor.quantities and sensor.joint not in model.tables.control_start:
            raise ValueError(
                f"sensor {sensor.name!r} reads the force of a motor, and joint {sensor.joint!r} "
                "has none; actuated=True or servo= gives it one"
            )
        return lambda motion: _coordinates(motion, sensor)
    if isinstance(sensor, CentroidalSensor):
        return _centroidal(model, sensor)
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
    chosen = slice(None) if sensor.coordinate is None else [sensor.coordinate]
    parts = {"position": found[:, :, 0], "velocity": found[:, :, 1]}
    if "motor force" in sensor.quantities:
        parts["motor force"] = motor_force(motion, sensor.joint, sensed=True)[:, chosen]
    return _joined([parts[one] for one in sensor.quantities])


def _frame(model: Model, sensor: FrameSensor) -> Callable[[Trajectory], Float]:
    place = place_of(model, sensor.body, sensor.on_body, sensor.point, sensor.orientation)
    seen_from = None
    if sensor.reference is not None:
        seen_from = place_of(
            model, sensor.reference, sensor.reference_on_body, np.zeros(3), UPRIGHT
        )
    moves = not {"velocity", "angular velocity"}.isdisjoint(sensor.quantities)

    def frame(motion: Trajectory) -> Float:
        pose = poses_of(motion, place)
        twist = velocities_of(motion, place, sensor.local) if moves else np.zeros((len(pose), 6))
        if seen_from is not None:
            pose, twist = _seen_from(
                poses_of(motion, seen_from), velocities_of(motion, seen_from, False), pose, twist
            )
        parts = {
            "position": pose[:, FIRST], "orientation": pose[:, 3:],
            "velocity": twist[:, FIRST], "angular velocity": twist[:, SECOND],
        }  # fmt: skip
        for axis, direction in zip(AXES, np.eye(3)):
            if axis in sensor.quantities:
                parts[axis] = rotation.rotate(pose[:, 3:], direction)
        return _joined([parts[one] for one in sensor.quantities])

    return frame


def _seen_from(frame: Float, rates: Float, pose: Float, twist: Float) -> tuple[Float, Float]:
    """Pose and twist relative to a frame that moves, along its axes."""
    back, apart = rotation.conjugate(frame[:, 3:]), pose[:, FIRST] - frame[:, FIRST]
    v = twist[:, FIRST] - rates[:, FIRST] - rotation.cross(rates[:, SECOND], apart)
    omega = twist[:, SECOND] - rates[:, SECOND]
    q = rotation.multiply(back, pose[:, 3:])
    found = [rotation.rotate(back, vector) for vector in (apart, v, omega)]
    return np.hstack([found[0], q]), np.hstack(found[1:])


def _centroidal(model: Model, sensor: CentroidalSensor) -> Callable[[Trajectory], Float]:
    names = list(sensor.bodies or ())
    if sensor.bodies is None:
        helpers = {*sliders_of(model.mechanism), *planes_of(model.mechanism)}
        names = [name for name in model.mechanism.bodies if name not in helpers]
    rows = np.array([model.tables.body_index[name] for name in names])
    owners = [model.mechanism.bodies[name] for name in names]
    mass, inertia = (
        np.array([one.mass for one in owners]),
        np.array([one.inertia for one in owners]),
    )
    share = mass / mass.sum()

    def centroidal(motion: Trajectory) -> Float:
        count = len(motion)
        pose = motion.states[:, : POSE * model.n_bodies].reshape(count, -1, POSE)[:, rows]
        twist = motion.twists.reshape(count, -1, TWIST)[:, rows]
        x, q, v = pose[..., FIRST], pose[..., 3:], twist[..., FIRST]
        center, speed = share @ x, share @ v
        spin = np.einsum("nij,knj->kni", inertia, twist[..., SECOND])
        turning = rotation.rotate(q, spin)
        orbit = rotation.cross(x - center[:, None], mass[:, None] * (v - speed[:, None]))
        parts = {
            "center of mass": center, "velocity": speed,
            "angular momentum": (turning + orbit).sum(axis=1),
        }  # fmt: skip
        return _joined([parts[one] for one in sensor.quantities])

    return centroidal


def _joined(parts: list[Float]) -> Float:
    """Quantities one after another."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
