"""Contents of a robot file before bodies are made of it: links, joints and closures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.parts.actuators import Actuator, Keyframe
from dynamics.parts.geometry import Geometry, Surface
from dynamics.parts.servos import PositionServo, VelocityServo

__all__ = [
    "WORLD_BODY",
    "Description",
    "Floor",
    "JointEntry",
    "Link",
    "Mimic",
    "Pose",
    "RopeEntry",
    "SensorEntry",
    "TendonEntry",
    "ThrusterEntry",
]  # fmt: skip

Float = NDArray[np.float64]
#: Label of the shapes of an MJCF file's world itself, not of bodies that are fixed to it.
WORLD_BODY = "<worldbody>"


def _origin() -> Float:
    return np.zeros(3)


def _upright() -> Float:
    return np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True, slots=True, eq=False)
class Pose:
    """A frame in another frame.

    Attributes
    ----------
    position : ndarray of float, shape (3,)
    orientation : ndarray of float, shape (4,)
    """

    position: Float = field(default_factory=_origin)
    orientation: Float = field(default_factory=_upright)

    def __matmul__(self, other: Pose) -> Pose:
        turned = rotation.multiply(self.orientation, other.orientation)
        return Pose(self.point(other.position), turned)

    def point(self, p: Float) -> Float:
        """A point of this frame in the other.

        Parameters
        ----------
        p : ndarray of float, shape (3,)

        Returns
        -------
        ndarray of float, shape (3,)
        """
        return self.position + rotation.rotate(self.orientation, p)

    def inverse(self) -> Pose:
        """The other frame in this one."""
        back = rotation.conjugate(self.orientation)
        return Pose(-rotation.rotate(back, self.position), back)


@dataclass(slots=True, eq=False)
class Link:
    """A link of the file.

    Attributes
    ----------
    name : str
    mass : float
        0 where the file gives none, kg.
    center : ndarray of float, shape (3,)
        Centre of mass in the link's frame, m.
    inertia : ndarray of float, shape (3, 3)
        About the centre of mass, along the link's axes, kg m^2.
    visuals, collisions : list of Geometry
        In the link's frame.
    gravity_scale : float
    between : bool
        Whether a reader has put it between hinges of a body: it is not in the file.
    """

    name: str
    mass: float = 0.0
    center: Float = field(default_factory=_origin)
    inertia: Float = field(default_factory=lambda: np.zeros((3, 3)))
    visuals: list[Geometry] = field(default_factory=list)
    collisions: list[Geometry] = field(default_factory=list)
    gravity_scale: float = 1.0
    between: bool = False


@dataclass(slots=True, eq=False)
class JointEntry:
    """A joint of the file; a closure where its child has a place already.

    Attributes
    ----------
    name : str
    kind : str
        "fixed", "revolute", "prismatic", "planar", ...: keys of `dynamics.io.assembly.MAKERS`.
    parent, child : str or None
        Names of links; None is the world.
    at_parent, at_child : Pose
        The joint's frame in the link's, where all coordinates are 0.
    axis, second : ndarray of float, shape (3,)
        In the joint's frame.
    pitch : float
        Of a "helical" joint, m a turn.
    limits : list of (float, float) or None
        One pair a coordinate.
    velocity_limits : list of (float, float) or None
        The same of their rates.
    control_limits : list of (float, float) or None
        The same of the controls, for joints that have some.
    damping, friction, armature, stiffness, rest : float or ndarray of float, shape (coordinates,)
        Along every free axis, or one number for each.
    actuated : bool
    servo : PositionServo, VelocityServo or None
        Motor with a feedback of its own, instead of one whose control is a force.
    closure : bool
        Closes a loop: takes no part in placing links.
    """

    name: str
    kind: str
    parent: str | None
    child: str | None
    at_parent: Pose = field(default_factory=Pose)
    at_child: Pose = field(default_factory=Pose)
    axis: Float = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    second: Float = field(default_factory=lambda: np.array([0.0, 1.0, 0.0]))
    pitch: float = 0.0
    limits: list[tuple[float, float]] | None = None
    velocity_limits: list[tuple[float, float]] | None = None
    control_limits: list[tuple[float, float]] | None = None
    damping: Float | float = 0.0
    friction: Float | float = 0.0
    armature: Float | float = 0.0
    stiffness: Float | float = 0.0
    rest: Float | float = 0.0
    actuated: bool = False
    servo: PositionServo | VelocityServo | None = None
    closure: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Mimic:
    """A joint that follows another: ``q = multiplier * q_leader + offset``.

    Attributes
    ----------
    joint, leader : str
    multiplier, offset : float
    """

    joint: str
    leader: str
    multiplier: float
    offset: float


@dataclass(slots=True, eq=False)
class TendonEntry:
    """A tendon of the file; springs, limits and motors as of `JointEntry`.

    Attributes
    ----------
    name : str
    joints : dict of float
        Factors by name of joint.
    path : list of list of (str or None, ndarray of float, shape (3,)) or Wrap
        Runs of points on links, or on the world, in their frames, and what lies between.
    divisors : list of float
        Of the lengths of runs.
    offset : float
    length : float or None
        That never changes.
    limits, control_limits : list of (float, float) or None
    damping, friction, armature, stiffness, rest : float
    actuated : bool
    servo : PositionServo, VelocityServo or None
    kind : str
    """

    name: str
    joints: dict[str, float] = field(default_factory=dict)
    path: list[list[Any]] = field(default_factory=list)
    divisors: list[float] = field(default_factory=list)
    offset: float = 0.0
    length: float | None = None
    limits: list[tuple[float, float]] | None = None
    control_limits: list[tuple[float, float]] | None = None
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    actuated: bool = False
    servo: PositionServo | VelocityServo | None = None
    kind: str = "tendon"


@dataclass(frozen=True, slots=True, eq=False)
class RopeEntry:
    """A least and a largest distance of two points.

    Attributes
    ----------
    name : str
    parent, child : str or None
        Names of links; None is the world.
    at_parent, at_child : ndarray of float, shape (3,)
        In the links' frames.
    limits : tuple of float
        Either of them infinite, m; a rod where both are the same.
    """

    name: str
    parent: str | None
    child: str | None
    at_parent: Float
    at_child: Float
    limits: tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class ThrusterEntry:
    """A thruster of the file.

    Attributes
    ----------
    name : str
    link : str
    point, force, torque : ndarray of float, shape (3,)
        In the link's frame, for a control of 1.
    control_limits : (float, float) or None
    """

    name: str
    link: str
    point: Float
    force: Float
    torque: Float
    control_limits: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Floor:
    """A half-space of the world that the file holds.

    Attributes
    ----------
    name : str
    point, normal : ndarray of float, shape (3,)
        On its plane and out of the solid, in the world.
    surface : Surface
    labels : tuple of str
        By which the file leaves out pairs.
    """

    name: str
    point: Float
    normal: Float
    surface: Surface
    labels: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class SensorEntry:
    """A sensor of the file.

    Attributes
    ----------
    name : str
    kind : {"imu", "wrench", "contact", "range", "joint", "frame", "own frame", "centroidal"}
        An "own frame" has velocities along its own axes; rays of a "range" go along z.
    quantity : str
        See `dynamics.parts.sensors`.
    link : str or None
        That it sits on; None is the world.
    pose : Pose
        In the link's frame.
    joint : str or None
    coordinate : int
        Of a "joint".
    noise : float
        Standard deviation of white noise.
    bias : float
        Reading of a "joint" whose coordinate is 0.
    largest : float
        Of a "range", m.
    reference : (str or None, Pose) or None
        Link, None the world, and pose in its frame, that a "frame" is seen from.
    links : tuple of str
        Of a "centroidal".
    """

    name: str
    kind: str
    quantity: str
    link: str | None = None
    pose: Pose = field(default_factory=Pose)
    joint: str | None = None
    coordinate: int = 0
    noise: float = 0.0
    bias: float = 0.0
    largest: float = np.inf
    reference: tuple[str | None, Pose] | None = None
    links: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Description:
    """All that a file says.

    Attributes
    ----------
    links : dict of Link
        By name.
    joints : dict of JointEntry
        By name.
    mimics : list of Mimic
    ropes : list of RopeEntry
    tendons : dict of TendonEntry
        By name.
    thrusters : list of ThrusterEntry
    roots : list of str
        Links without a parent: see `base`.
    places : dict of Pose
        Of roots in the file's frame; by default its own.
    gravity : ndarray of float, shape (3,), or None
        None leaves it to the mechanism.
    frames : dict of (str or None, Pose)
        More frames by name: link and pose in the link's frame.
    floors : list of Floor
    scenery : dict of Geometry
        Looks of the world by name.
    obstacles : dict of Geometry
        Collision shapes of the world by name.
    touches_nothing : bool
        Whether the file switches all contacts off.
    fixed : dict of list of str
        Names of the obstacles of each link that is fixed to the world.
    excluded : list of (str, str)
        Links, paths of USD prims, or "world", that never touch each other.
    actuators : list of Actuator
    keyframes : dict of Keyframe
        Poses are those of links.
    sensors : list of SensorEntry
    pairs : dict of dict of float
        Coefficients of friction by the names of two collision shapes that touch in any case.
    shapes : dict of list of str
        Links, or obstacles, by what became of their concave meshes.
    """

    links: dict[str, Link] = field(default_factory=dict)
    joints: dict[str, JointEntry] = field(default_factory=dict)
    mimics: list[Mimic] = field(default_factory=list)
    ropes: list[RopeEntry] = field(default_factory=list)
    tendons: dict[str, TendonEntry] = field(default_factory=dict)
    thrusters: list[ThrusterEntry] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)
    places: dict[str, Pose] = field(default_factory=dict)
    gravity: Float | None = None
    frames: dict[str, tuple[str | None, Pose]] = field(default_factory=dict)
    floors: list[Floor] = field(default_factory=list)
    scenery: dict[str, Geometry] = field(default_factory=dict)
    obstacles: dict[str, Geometry] = field(default_factory=dict)
    touches_nothing: bool = False
    fixed: dict[str, list[str]] = field(default_factory=dict)
    excluded: list[tuple[str, str]] = field(default_factory=list)
    actuators: list[Actuator] = field(default_factory=list)
    keyframes: dict[str, Keyframe] = field(default_factory=dict)
    sensors: list[SensorEntry] = field(default_factory=list)
    pairs: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)
    shapes: dict[str, list[str]] = field(default_factory=dict)
