"""Sensors as data: what they measure and where, their noise and rate."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation
from dynamics.errors import UnknownNameError
from dynamics.parts.bodies import WORLD, Body
from dynamics.parts.options import never_changes, takes

__all__ = [
    "CentroidalSensor",
    "ContactSensor",
    "ForceTorque",
    "FrameSensor",
    "IMU",
    "JointSensor",
    "Noise",
    "RangeFinder",
    "Sensor",
    "check_sensor",
]

Float = NDArray[np.float64]
#: Axes of a frame, as quantities.
AXES = ("x axis", "y axis", "z axis")
ORIGIN, UPRIGHT = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Noise:
    """Errors of a sensor: ``bias + walk + white noise``, then rounding to the resolution.

    Each argument is one number, or one per number of the reading.

    Parameters
    ----------
    white : float or array_like, shape (m,), optional
        Standard deviation of the white noise of a sample, in the unit of the reading.
    bias : float or array_like, shape (m,), optional
        Constant error.
    walk : float or array_like, shape (m,), optional
        Standard deviation of the random walk after 1 s; it grows with the square root of time.
    resolution : float or array_like, shape (m,), optional
        Step to which readings are rounded; 0 for none.

    Raises
    ------
    ValueError
        If a number is not finite, or a number other than the bias is negative.
    """

    white: ArrayLike = 0.0
    bias: ArrayLike = 0.0
    walk: ArrayLike = 0.0
    resolution: ArrayLike = 0.0

    def __post_init__(self) -> None:
        for what in ("white", "bias", "walk", "resolution"):
            numbers = rotation.as_numbers(getattr(self, what), (...,), f"{what} of a noise")
            if numbers.ndim > 1:
                raise ValueError(f"{what} of a noise has shape {numbers.shape}; give (m,) or ()")
            if what != "bias" and (numbers < 0.0).any():
                raise ValueError(f"{what} of a noise is negative")
            numbers.flags.writeable = False
            object.__setattr__(self, what, numbers)


class SensorOptions(TypedDict, total=False):
    """Options of every sensor, documented in `options_of`."""

    name: Hashable
    noise: Noise | ArrayLike
    rate: float | None


def options_of(
    default: Hashable,
    name: Hashable = None,
    noise: Noise | ArrayLike = 0.0,
    rate: float | None = None,
    **unknown: Any,
) -> dict[str, Any]:
    """Check the options that every sensor has.

    Parameters
    ----------
    default : hashable
        Name if none is given.
    name : hashable, optional
        By default the name of its body or joint and the kind of sensor.
    noise : Noise or array_like, shape () or (m,), optional
        A number is the standard deviation of white noise.
    rate : float, optional
        Samples per second; each is held until the next. By default one per step.
    **unknown
        Raises an error.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        For a rate or noise that no sensor has.
    TypeError
        For an option that no sensor has.
    """
    name = default if name is None else name
    if unknown:
        raise TypeError(
            f"sensor {name!r} has no option {next(iter(unknown))!r}; there are "
            f"{list(SensorOptions.__annotations__)} and those of its kind"
        )
    if rate is not None and not (np.isfinite(rate) and rate > 0.0):
        raise ValueError(f"rate of sensor {name!r} is {rate}, and must be positive, 1/s")
    noise = noise if isinstance(noise, Noise) else Noise(noise)
    return {"name": name, "noise": noise, "rate": None if rate is None else float(rate)}


@never_changes("sensor")
@dataclass(frozen=True, slots=True, eq=False, init=False)
class Sensor:
    """Base of all sensors.

    Attributes
    ----------
    name : hashable
    quantities : tuple of str
        Quantities of a reading, in this order.
    noise : Noise
    rate : float or None
        Samples per second, or None for one per step.
    """

    name: Hashable
    quantities: tuple[str, ...]
    noise: Noise
    rate: float | None

    def _keep(self, **numbers: Any) -> None:
        for name, value in numbers.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    def _choose(self, asked: str | Iterable[str], offered: tuple[str, ...]) -> None:
        """Keep the quantities that are asked for."""
        chosen = (asked,) if isinstance(asked, str) else tuple(asked)
        for one in chosen:
            if one not in offered:
                raise ValueError(
                    f"sensor {self.name!r} measures no {one!r}; quantities are {list(offered)}"
                )
        if not chosen or len(set(chosen)) < len(chosen):
            raise ValueError(
                f"quantities of sensor {self.name!r} must be some of {list(offered)}, each once"
            )
        self._keep(quantities=chosen)

    def _own(self, owner: Any) -> None:
        """Keep what the sensor sits on: a body itself, or whatever has the name."""
        self._keep(body=name_of(owner), on_body=isinstance(owner, Body))

    def _place(self, point: ArrayLike, orientation: ArrayLike) -> None:
        """Keep the place of the sensor's frame."""
        label = f"of sensor {self.name!r}"
        q = rotation.as_numbers(orientation, (4,), f"orientation {label}")
        self._keep(
            point=rotation.as_numbers(point, (3,), f"point {label}"),
            orientation=rotation.normalized(q),
        )


def name_of(owner: Any) -> Hashable:
    """Name of a body, frame, joint or the world that is given by itself or by name."""
    return getattr(owner, "name", owner)  # type: ignore[no-any-return]


@takes(SensorOptions, options_of)
@dataclass(frozen=True, slots=True, eq=False, init=False)
class IMU(Sensor):
    """Inertial measurement unit: specific force and angular velocity in the sensor's frame.

    The specific force is acceleration minus gravity: +9.81 m/s² upwards at rest, 0 in free fall. It
    is the difference of the discrete velocities of the last two intervals over the time between
    their midpoints. It belongs to the start of the last interval, where it is of second order, so
    it is one step old, as MuJoCo's after ``mj_step``. At orders 4 and 6 it is the mean over the
    last interval. Before the first step bodies are taken to move uniformly. The angular velocity is
    that of the state.

    Parameters
    ----------
    body : Body, world or hashable
        Body, or name of a frame (such as a link of a robot file) or of a body.
    point : array_like, shape (3,), optional
        Position of the sensor relative to the frame's origin or the body's centre of mass, m.
    orientation : array_like, shape (4,), optional
        Orientation, sensor to body, scalar first.
    quantities : {"specific force", "angular velocity"} or iterable of these, optional
        By default both: m/s² and rad/s, 3 numbers each.
    **options
        Name, noise and rate.

    Attributes
    ----------
    on_body : bool
        True if a body was given rather than a name, even if a frame has its name.

    Raises
    ------
    ValueError
        For unknown quantities, and numbers of the wrong shape.
    """

    body: Hashable
    on_body: bool
    point: Float
    orientation: Float

    def __init__(
        self,
        body: Any,
        point: ArrayLike = ORIGIN,
        orientation: ArrayLike = UPRIGHT,
        *,
        quantities: str | Iterable[str] = ("specific force", "angular velocity"),
        **options: Unpack[SensorOptions],
    ) -> None:
        self._own(body)
        self._keep(**options_of(f"{name_of(body)} imu", **options))
        self._choose(quantities, ("specific force", "angular velocity"))
        self._place(point, orientation)


@takes(SensorOptions, options_of)
@dataclass(frozen=True, slots=True, eq=False, init=False)
class ForceTorque(Sensor):
    """Force and torque of a joint's constraints on its child, in the sensor's frame.

    They are those of the last interval and belong to its start, as the specific force of an
    `IMU`: a body on a single `Fixed` joint has the force m times the specific force at its centre
    of mass. At orders 4 and 6, and on compliant joints, they are means over the last interval.
    Springs, motors and friction along the free axes of the joint are not included.

    Parameters
    ----------
    joint : Joint or hashable
    point : array_like, shape (3,), optional
        Position of the sensor in the frame of the child, from its centre of mass, m; torques are
        about this point. By default the position of the joint.
    orientation : array_like, shape (4,), optional
        Orientation, sensor to child, scalar first.
    quantities : {"force", "torque"} or iterable of these, optional
        By default both: N and N m, 3 numbers each.
    **options
        Name, noise and rate.

    Raises
    ------
    ValueError
        For unknown quantities, and numbers of the wrong shape.
    """

    joint: Hashable
    point: Float | None
    orientation: Float

    def __init__(
        self,
        joint: Any,
        point: ArrayLike | None = None,
        orientation: ArrayLike = UPRIGHT,
        *,
        quantities: str | Iterable[str] = ("force", "torque"),
        **options: Unpack[SensorOptions],
    ) -> None:
        self._keep(joint=name_of(joint), **options_of(f"{name_of(joint)} force", **options))
        self._choose(quantities, ("force", "torque"))
        self._place(ORIGIN if point is None else point, orientation)
        if point is None:
            self._keep(point=None)


@takes(SensorOptions, options_of)
@dataclass(frozen=True, slots=True, eq=False, init=False)
class ContactSensor(Sensor):
    """Normal force of all contacts of a body, and whether the body touches something.

    Forces are those of the last interval, without friction.

    Parameters
    ----------
    body : Body or hashable
        Body or its name.
    against : Body, world or hashable, optional
        Count only contacts with this body.
    quantities : {"normal force", "touch"} or iterable of these, optional
        By default both: the sum of the normal forces of all points, N; and 1 if the body touches
        something, else 0.
    threshold : float, optional
        Normal force above which the body touches, N; by default a thousandth of the body's unit of
        force, the weight of the heaviest body to which it is connected.
    **options
        Name, noise and rate.

    Raises
    ------
    ValueError
        For unknown quantities, and a threshold that is not positive.
    """

    body: Hashable
    against: Hashable
    threshold: float | None

    def __init__(
        self,
        body: Any,
        against: Any = None,
        *,
        quantities: str | Iterable[str] = ("normal force", "touch"),
        threshold: float | None = None,
        **options: Unpack[SensorOptions],
    ) -> None:
        self._keep(
            body=name_of(body), against=name_of(against), threshold=threshold,
            **options_of(f"{name_of(body)} contact", **options),
        )  # fmt: skip
        if threshold is not None and not (np.isfinite(threshold) and threshold > 0.0):
            raise ValueError(
                f"threshold of sensor {self.name!r} is {threshold}, and must be positive, N"
            )
        self._choose(quantities, ("normal force", "touch"))


@takes(SensorOptions, options_of)
@dataclass(frozen=True, slots=True, eq=False, init=False)
class RangeFinder(Sensor):
    """Distance along one or several rays to the first surface, even from inside a shape.

    Rays stop at the half-spaces that bodies touch, the obstacles of the world, and all other
    bodies: at their collision shapes, or else at their shape or visual shapes. Meshes are
    represented by their triangles.

    Parameters
    ----------
    body : Body, world or hashable
        Body, or name of a frame (such as a link of a robot file) or of a body.
    point : array_like, shape (3,), optional
        Start of the rays relative to the frame's origin or the body's centre of mass, m.
    direction : array_like, shape (3,) or (m, 3), optional
        Direction of one ray or of m rays in the frame of the body, not zero; by default x.
    largest : float, optional
        Range, m.
    nothing : float, optional
        Reading if a ray meets nothing within the range, without noise; by default infinity.
    **options
        Name, noise and rate.

    Attributes
    ----------
    on_body : bool
        True if a body was given rather than a name, even if a frame has its name.

    Raises
    ------
    ValueError
        For a direction of length 0, numbers of the wrong shape, and a range that is not positive.
    """

    body: Hashable
    on_body: bool
    point: Float
    direction: Float
    largest: float
    nothing: float

    def __init__(
        self,
        body: Any,
        point: ArrayLike = ORIGIN,
        direction: ArrayLike = (1.0, 0.0, 0.0),
        *,
        largest: float = np.inf,
        nothing: float = np.inf,
        **options: Unpack[SensorOptions],
    ) -> None:
        self._own(body)
        self._keep(**options_of(f"{name_of(body)} range", **options))
        label = f"of sensor {self.name!r}"
        ways = rotation.as_numbers(direction, (..., 3), f"direction {label}")
        if ways.ndim > 2 or ways.size == 0:
            raise ValueError(f"direction {label} has shape {ways.shape}; give (3,) or (m, 3)")
        if not largest > 0.0:
            raise ValueError(f"largest {label} is {largest}, and must be positive, m")
        self._keep(
            quantities=("distance",),
            point=rotation.as_numbers(point, (3,), f"point {label}"),
            direction=rotation.unit_vector(ways.reshape(-1, 3), f"direction {label}"),
            largest=float(largest),
            nothing=float(nothing),
        )


@takes(SensorOptions, options_of)
@dataclass(frozen=True, slots=True, eq=False, init=False)
class JointSensor(Sensor):
    """Encoder: coordinates of a joint and their rates, and the forces of its motor.

    Parameters
    ----------
    joint : Joint or hashable
    coordinate : int, optional
        Number of the only coordinate to read; by default all.
    quantities : {"position", "velocity", "motor force"} or iterable of these, optional
        By default the first two: m or rad, and m/s or rad/s, one number per coordinate. The third
        is the force of the motor or servo, N or N m: see `Trajectory.motor_force`.
    **options
        Name, noise and rate.

    Raises
    ------
    ValueError
        For unknown quantities.
    """

    joint: Hashable
    coordinate: int | None

    def __init__(
        self,
        joint: Any,
        coordinate: int | None = None,
        *,
        quantities: str | Iterable[str] = ("position", "velocity"),
        **options: Unpack[SensorOptions],
    ) -> None:
        self._keep(
            joint=name_of(joint), coordinate=coordinate,
            **options_of(f"{name_of(joint)} encoder", **options),
        )  # fmt: skip
        self._choose(quantities, ("position", "velocity", "motor force"))


@takes(SensorOptions, options_of)
@dataclass(frozen=True, slots=True, eq=False, init=False)
class FrameSensor(Sensor):
    """Pose and velocity of a frame, as from motion capture.

    Parameters
    ----------
    body : Body, world or hashable
        Body, or name of a frame (such as a link of a robot file) or of a body.
    point : array_like, shape (3,), optional
        Position of the sensor relative to the frame's origin or the body's centre of mass, m.
    orientation : array_like, shape (4,), optional
        Orientation, sensor to body, scalar first.
    local : bool, optional
        Whether velocities are in the sensor's own axes; by default in world axes.
    reference : Body or hashable, optional
        Frame or body relative to which, and in whose axes, everything is read; its own motion is
        subtracted from velocities.
    quantities : {"position", "orientation", "velocity", "angular velocity", "x axis", "y axis", \
"z axis"} or iterable, optional
        By default the first two: position in the world, m; orientation, sensor to world, scalar
        first; velocities, m/s and rad/s; and the directions of the sensor's axes; 3, 4, 3, 3 and 3
        numbers.
    **options
        Name, noise and rate.

    Attributes
    ----------
    on_body, reference_on_body : bool
        True if a body was given rather than a name, even if a frame has its name.

    Raises
    ------
    ValueError
        For unknown quantities, numbers of the wrong shape, and ``local`` with a reference.
    """

    body: Hashable
    on_body: bool
    point: Float
    orientation: Float
    local: bool
    reference: Hashable
    reference_on_body: bool

    def __init__(
        self,
        body: Any,
        point: ArrayLike = ORIGIN,
        orientation: ArrayLike = UPRIGHT,
        *,
        local: bool = False,
        reference: Any = None,
        quantities: str | Iterable[str] = ("position", "orientation"),
        **options: Unpack[SensorOptions],
    ) -> None:
        self._own(body)
        self._keep(
            local=bool(local), reference=name_of(reference),
            reference_on_body=isinstance(reference, Body),
            **options_of(f"{name_of(body)} pose", **options),
        )  # fmt: skip
        if local and reference is not None:
            raise ValueError(
                f"sensor {self.name!r} has a reference, along whose axes its velocities are; "
                "leave out local="
            )
        known = ("position", "orientation", "velocity", "angular velocity", *AXES)
        self._choose(quantities, known)
        self._place(point, orientation)


@takes(SensorOptions, options_of)
@dataclass(frozen=True, slots=True, eq=False, init=False)
class CentroidalSensor(Sensor):
    """Centre of mass of bodies, its velocity, and the angular momentum about it.

    Parameters
    ----------
    bodies : iterable of Body or hashable, optional
        By default all.
    quantities : {"center of mass", "velocity", "angular momentum"} or iterable of these, optional
        By default all three, in world axes: m, m/s and kg m^2/s; 3 numbers each.
    **options
        Name, noise and rate.

    Raises
    ------
    ValueError
        For unknown quantities, and no bodies.
    """

    bodies: tuple[Hashable, ...] | None

    def __init__(
        self,
        bodies: Iterable[Any] | None = None,
        *,
        quantities: str | Iterable[str] = ("center of mass", "velocity", "angular momentum"),
        **options: Unpack[SensorOptions],
    ) -> None:
        if isinstance(bodies, (str, Body)):
            raise ValueError(f"bodies of a centroidal sensor are several; use [{bodies!r}]")
        chosen = None if bodies is None else tuple(map(name_of, bodies))
        if chosen is not None and (not chosen or len(set(chosen)) < len(chosen)):
            raise ValueError("bodies of a centroidal sensor must be some, each once")
        first = "all" if chosen is None else chosen[0]
        self._keep(bodies=chosen, **options_of(f"{first} centroid", **options))
        self._choose(quantities, ("center of mass", "velocity", "angular momentum"))


def check_sensor(sensor: Any, mechanism: Any) -> None:
    """Refuse what is no sensor, and sensors on what the mechanism does not have.

    Parameters
    ----------
    sensor : Sensor
    mechanism : Mechanism

    Raises
    ------
    TypeError
    UnknownNameError
    ValueError
        For a joint without what is measured.
    """
    if not isinstance(sensor, Sensor):
        raise TypeError(f"a sensor is what dynamics.IMU and its like return, not {sensor!r}")
    label = f"sensor {sensor.name!r}"
    if isinstance(sensor, (ForceTorque, JointSensor)):
        _check_joint(sensor, mechanism.joints, label)
        return
    bodies, frames = mechanism.bodies, mechanism.frames
    if isinstance(sensor, CentroidalSensor):
        for name in sensor.bodies or ():
            if name not in bodies:
                raise UnknownNameError(
                    f"{label} is on {name!r}, which is not a body; bodies are {list(bodies)}"
                )
        return
    assert isinstance(sensor, (IMU, ContactSensor, RangeFinder, FrameSensor))
    if isinstance(sensor, ContactSensor):
        for name in (sensor.body, sensor.against):
            known = name is None or name in bodies or name == WORLD.name
            if not known or sensor.body in (None, WORLD.name):
                raise UnknownNameError(
                    f"{label} is on {name!r}, which is not a body; bodies are {list(bodies)}"
                )
        return
    seen_from = getattr(sensor, "reference", None)
    for owner in (sensor.body, WORLD.name if seen_from is None else seen_from):
        if owner != WORLD.name and owner not in bodies and owner not in frames:
            raise UnknownNameError(
                f"{label} is on {owner!r}, which is neither a body nor a frame; bodies are "
                f"{list(bodies)}, frames {list(frames)}"
            )


def _check_joint(sensor: ForceTorque | JointSensor, joints: Any, label: str) -> None:
    if sensor.joint not in joints:
        raise UnknownNameError(
            f"{label} is on joint {sensor.joint!r}, which does not exist; joints are {list(joints)}"
        )
    joint = joints[sensor.joint]
    if isinstance(sensor, ForceTorque):
        if joint.n_rows == 0:
            raise ValueError(f"{label} is on joint {sensor.joint!r}, which has no constraints")
        if len(joint.bodies) > 2:
            raise ValueError(
                f"{label} is on joint {sensor.joint!r}, which is of {len(joint.bodies)} bodies: "
                "there is no one force between two of them"
            )
        return
    if joint.n_coordinates == 0:
        raise ValueError(f"{label} is on joint {sensor.joint!r}, which has no coordinates")
    if sensor.coordinate is not None and not 0 <= sensor.coordinate < joint.n_coordinates:
        raise ValueError(
            f"{label} measures coordinate {sensor.coordinate} of joint {sensor.joint!r}, which "
            f"has {joint.n_coordinates}: numbers are from 0"
        )
