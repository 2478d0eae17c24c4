"""Describing a mechanism with labels; `Mechanism.finalize` makes the tables of it."""

from __future__ import annotations

import copy
import itertools
import math
from collections import UserDict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation
from dynamics.elsewhere import MECHANISM, refer
from dynamics.errors import UnknownNameError, unknown_words
from dynamics.model import Model
from dynamics.parts.actuators import Actuator, Keyframe
from dynamics.parts.bodies import WORLD, Body, body
from dynamics.parts.collisions import Collision, checked_ends, one_end
from dynamics.parts.contact_primitives import HalfSpace, placed_half_space
from dynamics.parts.contacts import (
    Contact,
    check_coefficients,
    contact,
    facets_of,
    refuse_rigid,
)
from dynamics.parts.convex_hulls import hull_mesh
from dynamics.parts.couplings import Coupling, coupling, period_of
from dynamics.parts.forces import Potential, Spring, Thruster, Wrench
from dynamics.parts.geometry import Frame, Geometry, Mesh, Surface
from dynamics.parts.height_fields import checked_field, prisms
from dynamics.parts.joints import Joint
from dynamics.parts.options import BodyOptions, ContactOptions, ModelOptions, takes
from dynamics.parts.sensors import Sensor, check_sensor
from dynamics.parts.shapes import Shape
from dynamics.parts.tendons import Tendon, sliders_of, tendon, to_count

if TYPE_CHECKING:
    from dynamics.io.report import LoadReport

__all__ = ["Mechanism"]

Float = NDArray[np.float64]
Force = TypeVar("Force", Spring, Wrench, Potential, Thruster)
Part = TypeVar("Part")
Measuring = TypeVar("Measuring", bound=Sensor)

FINALIZED = (
    "the mechanism is finalized, and its model would not know; change mechanism.copy() and "
    "finalize that, or use dynamics.variant for numbers"
)


class Parts(UserDict[Hashable, Part]):
    """Parts by name, in the order they were added; fixed once they are in a model."""

    fixed = False

    def __setitem__(self, name: Hashable, part: Part) -> None:
        self._check(name)
        super().__setitem__(name, part)

    def __delitem__(self, name: Hashable) -> None:
        self._check(name)
        super().__delitem__(name)

    def _check(self, name: Hashable) -> None:
        if self.fixed:
            raise ValueError(f"cannot replace {name!r}: {FINALIZED}")

    def copy(self) -> Parts[Part]:
        """Return the same parts, which take changes."""
        return self | {}

    def __or__(self, more: Mapping[Hashable, Part]) -> Parts[Part]:  # type: ignore[override]
        made: Parts[Part] = Parts()
        made.data = {**self.data, **more}
        return made


@refer(MECHANISM)
class Mechanism:
    """Bodies, joints, forces and contacts by name, in the order in which they were added.

    Parameters
    ----------
    gravity : array_like, shape (3,), optional
        Acceleration in the world frame, m/s^2.

    Attributes
    ----------
    world : World
        The inertial frame, parent or child of any joint.
    bodies, joints, couplings, tendons, springs, thrusters, wrenches, potentials, contacts : mapping
        Parts by name. The length of a tendon is also a joint with its name.
    scenery : dict of Geometry
        Geometry of the world by name that is drawn and touches nothing, such as the base of a robot
        file. It may be added to at any time.
    obstacles : mapping of Geometry
        Static geometry of the world by name that bodies of `collide` touch: see `add_obstacle`.
    collisions : list of Collision
        Arguments of the calls of `collide`.
    pair_numbers : dict of dict
        Numbers of pairs of `collide`, by name, that `variant` changed.
    frames : dict of Frame
        Named frames on bodies, such as the links of a robot file. A frame may have the name of a
        body or joint.
    actuators : dict of Actuator
        Motors of a robot file by name: see `Model.controls`.
    keyframes : dict of Keyframe
        Postures of a robot file by name: see `Model.keyframe`.
    sensors : dict of Sensor
        Sensors by name: see `add_sensor`. They do not affect the motion.
    report : LoadReport or None
        Table of the elements that `dynamics.load` read, changed and left out; None if no file was
        read.
    """

    def __init__(self, gravity: ArrayLike = (0.0, 0.0, -9.81)) -> None:
        self._finalized = False
        self.gravity = gravity
        self.world = WORLD
        self.bodies = Parts[Body]()
        self.joints = Parts[Joint]()
        self.couplings = Parts[Coupling]()
        self.tendons = Parts[Tendon]()
        self.springs = Parts[Spring]()
        self.thrusters = Parts[Thruster]()
        self.wrenches = Parts[Wrench]()
        self.potentials = Parts[Potential]()
        self.scenery: dict[Hashable, Geometry] = {}
        self.obstacles = Parts[Geometry]()
        self.collisions: list[Collision] = []
        self.pair_numbers: dict[Hashable, dict[str, float]] = {}
        self.frames: dict[Hashable, Frame] = {}
        self.contacts = Parts[Contact]()
        self.actuators: dict[str, Actuator] = {}
        self.keyframes: dict[str, Keyframe] = {}
        self.sensors: dict[Hashable, Sensor] = {}
        self.report: LoadReport | None = None
        self._used: set[Hashable] = {WORLD.name}

    @takes(BodyOptions, body)
    def add_body(
        self,
        shape: Shape | None = None,
        *,
        name: Hashable = None,
        **options: Unpack[BodyOptions],
    ) -> Body:
        """Add a rigid body.

        Parameters
        ----------
        shape : Shape, optional
            Provides mass and inertia if ``mass=`` and ``inertia=`` are not given.
        name : hashable, optional
            By default ``"body 0"`` and so on.
        **options
            Mass, inertia, start, drag, and what the body looks like.

        Returns
        -------
        Body
            To name it in joints.

        Raises
        ------
        ValueError
            For a name in use, or an invalid mass or inertia.
        """
        name = f"body {len(self.bodies)}" if name is None else name
        self._check_open(f"add body {name!r}")
        self._check_name(name)
        made = body(shape, name=name, **options)
        self.bodies[name] = made
        self._used.add(name)
        return made

    def add_joint(self, joint: Joint) -> Joint:
        """Add a joint, made by `Revolute` or a similar function.

        Parameters
        ----------
        joint : Joint

        Returns
        -------
        Joint

        Raises
        ------
        ValueError
            For a name in use, and if it connects the two bodies of a contact rigidly.
        UnknownNameError
            If it holds a body of another mechanism.
        TypeError
            If it is not a joint.
        """
        if not isinstance(joint, Joint):
            raise TypeError(
                f"add_joint takes what dynamics.Revolute and its like return, not {joint!r}; "
                "springs, ropes, thrusters, wrenches and potentials go to add_force"
            )
        self._check_open(f"add joint {joint.name!r}")
        self._check_name(joint.name)
        self._check_ends(joint, f"joint {joint.name!r}")
        if joint.kind == "fixed":
            for made in self.contacts.values():
                refuse_rigid(made, [*self.joints.values(), joint])
        self.joints[joint.name] = joint
        self._used.add(joint.name)
        return joint

    def add_coupling(
        self,
        leader: Joint | Hashable,
        follower: Joint | Hashable,
        ratio: float = 1.0,
        offset: float = 0.0,
        *,
        name: Hashable = None,
    ) -> Coupling:
        """Couple the coordinates of two joints: ``q_follower = ratio q_leader + offset``.

        Models gears, belts, racks and the fingers of a gripper without their mass. The torque
        between the joints is the multiplier of this constraint (theory/joints (12), (13)).

        Parameters
        ----------
        leader, follower : Joint or hashable
            Joints with one coordinate each, anywhere in the mechanism, or their names.
        ratio : float, optional
            Coordinate of the follower per coordinate of the leader, rad or m each. Two hinges may
            turn without limit. If the ratio is not a ratio of whole numbers with a denominator up
            to 1000, like that of teeth, a helper tendon ``"<name> turns"`` counts the turns of the
            leader.
        offset : float, optional
            Coordinate of the follower at zero coordinate of the leader, rad or m.
        name : hashable, optional
            By default ``"a~b"`` for joints a and b.

        Returns
        -------
        Coupling

        Raises
        ------
        ValueError
            For a name in use, joints that do not have exactly one coordinate, a joint with itself,
            and a ratio that is 0 or not finite.
        UnknownNameError
            For joints of another mechanism.
        """
        joints = list[Joint]()
        for one in (leader, follower):
            label = getattr(one, "name", one)
            found = self.joints.get(label) if isinstance(label, Hashable) else None
            if found is None or (isinstance(one, Joint) and found is not one):
                raise UnknownNameError(
                    f"a coupling is of {label!r}, which is not a joint of this mechanism; use what "
                    "add_joint returned, or its name"
                )
            joints.append(found)
        first, second = joints
        name = f"{first.name}~{second.name}" if name is None else name
        self._check_open(f"add coupling {name!r}")
        self._check_name(name)
        made = coupling(first, second, name, ratio, offset)
        if period_of(made, first, second) is None:
            counter = self.add_tendon({first: 1.0}, name=f"{name} turns")
            made = replace(made, counter=counter.name)
        self.couplings[name] = made
        self._used.add(name)
        return self.couplings[name]

    def add_tendon(
        self,
        joints: Mapping[Any, float] | None = None,
        *,
        path: Iterable[Any] | None = None,
        name: Hashable = None,
        offset: float = 0.0,
        length: float | None = None,
        divisors: Iterable[float] | None = None,
        **options: Any,
    ) -> Joint:
        """Add a tendon: a length defined by joint coordinates or by points of bodies.

        ``length = offset + sum(factor q) + sum of the distances between points of the path``.
        Springs, dampers, limits, friction, rotor, motor and servo act along the length as along the
        coordinate of a joint, and their force acts on all joints and bodies that define it
        (theory/joints (17)).

        Parameters
        ----------
        joints : mapping, optional
            Factors by joint, each with one coordinate: MJCF's fixed tendons. If several hinges may
            turn without limit, and their factors are not whole multiples of the smallest one,
            helper tendons ``"<name> turns of <joint>"`` count the turns of all but the first. With
            ``length=`` hinges must stay within one turn of 0.
        path : iterable of (Body, world or hashable, array_like) or Wrap, optional
            Points in the frames of bodies, m, between which the tendon is straight or runs around a
            `Wrap`: MJCF's spatial tendons. Or several such lists.
        name : hashable, optional
            By default ``"tendon 0"`` and so on.
        offset : float, optional
            Added to the length, m, or rad if all joints are hinges.
        length : float, optional
            Constant length, as of a stiff cable; the joint then has no coordinate and takes no
            options.
        divisors : iterable of float, optional
            Divisors of the lengths of these lists, as for pulleys; by default 1.
        **options
            Options of a `Prismatic` joint along the length: ``stiffness``, ``rest``, ``damping``,
            ``limits``, ``friction``, ``armature``, ``actuated``, ``servo`` and so on.

        Returns
        -------
        Joint
            Joint with the tendon's name: `Model.joint` and `Trajectory.joint` return its length.

        Raises
        ------
        ValueError
            For a name in use, joints that do not have exactly one coordinate, and a path on a
            single body.
        UnknownNameError
            For joints and bodies of another mechanism.
        """
        name = f"tendon {len(self.tendons)}" if name is None else name
        self._check_open(f"add tendon {name!r}")
        self._check_name(name)
        joints = self._counted(joints, name) if joints and length is None else joints
        made, slide, joint = tendon(self, joints, path, name, offset, length, divisors, options)
        for label in (made.slider, made.equation):
            self._check_name(label)
        self.tendons[name], self.bodies[made.slider], self.joints[name] = made, slide, joint
        self._used |= {name, made.slider, made.equation}
        return joint

    def _counted(self, joints: Mapping[Any, float], name: Hashable) -> Mapping[Any, float]:
        """Factors by joint, with tendons that count in the place of joints that wind on."""
        known = {getattr(one, "name", one): factor for one, factor in joints.items()}
        factors = {self.joints[one]: factor for one, factor in known.items() if one in self.joints}
        fits = len(factors) == len(joints) and all(
            one.n_coordinates == 1 and math.isfinite(factor) and factor != 0.0
            for one, factor in factors.items()
        )
        counted = to_count(factors) if fits else []  # else `tendon` says what is wrong
        given = dict(joints)
        for one in counted:
            factor = given.pop(one, None) or given.pop(one.name)
            counter = self.add_tendon({one: 1.0}, name=f"{name} turns of {one.name}")
            given[counter] = factor
        return given

    def add_force(self, force: Force) -> Force:
        """Add a spring, a thruster, or a force or potential from your own function.

        Parameters
        ----------
        force : Spring, Thruster, Wrench or Potential

        Returns
        -------
        Spring, Thruster, Wrench or Potential

        Raises
        ------
        ValueError
            For a name in use.
        UnknownNameError
            If it acts on a body of another mechanism.
        TypeError
            If it is none of these.
        """
        if not isinstance(force, (Spring, Wrench, Potential, Thruster)):
            raise TypeError(
                "add_force takes a dynamics.Spring, Rope, Thruster, Wrench or Potential, not "
                f"{force!r}; joints go to add_joint"
            )
        self._check_open(f"add force {force.name!r}")
        self._check_name(force.name)
        self._check_ends(force, f"force {force.name!r}")
        if isinstance(force, Wrench):
            self.wrenches[force.name] = force
        elif isinstance(force, Potential):
            self.potentials[force.name] = force
        elif isinstance(force, Thruster):
            self.thrusters[force.name] = force
        else:
            self.springs[force.name] = force
        self._used.add(force.name)
        return force

    @takes(ContactOptions, contact)
    def add_contact(
        self,
        body: Any,
        against: Any = WORLD,
        *,
        name: Hashable = None,
        **options: Unpack[ContactOptions],
    ) -> Contact:
        """Add a contact of two bodies; by default of a body and the ground, the half-space z < 0.

        Spheres, capsules and boxes touch half-spaces and spheres, and capsules touch capsules, at
        their closest points. All other pairs of convex shapes (boxes, cylinders, hulls of points)
        touch a separating plane between them, a light helper body ``"<name> plane"``.

        Parameters
        ----------
        body : Body or hashable
            Body or its name.
        against : Body, world or hashable, optional
            The other body, or its name.
        name : hashable, optional
        **options
            Shapes, friction, restitution, compliance and so on.

        Returns
        -------
        Contact

        Raises
        ------
        ValueError
            For a name in use, bodies that are rigidly connected, negative coefficients, and
            unsupported pairs of shapes.
        UnknownNameError
            If it is not a body of this mechanism.
        """
        body, against = self._end(body), self._end(against)
        name = f"{against.name}|{body.name}" if name is None else name
        self._check_open(f"add contact {name!r}")
        self._check_name(name)
        made = contact(against, body, name=name, **options)
        self._check_ends(made, f"contact {name!r}")
        refuse_rigid(made, self.joints.values())
        if made.plane is not None:
            plane, tie = made.plane.body, made.plane.tie
            self._check_name(plane.name)
            self._check_name(tie.name)
            self.bodies[plane.name], self.joints[tie.name] = plane, tie
            self._used |= {plane.name, tie.name}
        self.contacts[name] = made
        self._used.add(name)
        return made

    def add_frame(
        self,
        name: Hashable,
        on: Body | Frame | Hashable,
        *,
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0),
    ) -> Frame:
        """Add a named frame, such as the tip of a foot; possible after `finalize`, too.

        Parameters
        ----------
        name : hashable
            Not the name of another frame.
        on : Body, Frame, world or hashable
            Body or frame that carries it, in whose frame its pose is given. A name means the frame
            with this name, such as that of a link, or else the body.
        position : array_like, shape (3,), optional
            Position of its origin, m.
        orientation : array_like, shape (4,), optional
            Orientation, new frame to the other one, scalar first.

        Returns
        -------
        Frame

        Raises
        ------
        ValueError
            For the name of another frame, and an invalid pose.
        UnknownNameError
            If there is no such body or frame.
        """
        if name in self.frames:
            raise ValueError(f"there is a frame {name!r}; give this one another name")
        x = rotation.as_numbers(position, (3,), f"position of frame {name!r}")
        q = rotation.as_numbers(orientation, (4,), f"orientation of frame {name!r}")
        q = rotation.normalized(q)
        if not isinstance(on, (Body, Frame, type(WORLD))):
            found = WORLD if on == WORLD.name else self.bodies.get(on)
            on = self.frames.get(on, found)
        if isinstance(on, Frame) and self.frames.get(on.name) is on:
            x = on.position + rotation.rotate(on.orientation, x)
            q = rotation.multiply(on.orientation, q)
            on = on.body
        elif on is not WORLD and not (on and self.bodies.get(getattr(on, "name", None)) is on):
            raise UnknownNameError(
                f"on= of frame {name!r} is neither a body nor a frame of this mechanism; there are "
                f"bodies {list(self.bodies)} and frames {list(self.frames)}"
            )
        self.frames[name] = Frame(name, on, np.asarray(x), np.asarray(q))
        return self.frames[name]

    def add_sensor(self, sensor: Measuring) -> Measuring:
        """Add a sensor, to be read by `Sensors`; possible after `finalize`, too.

        Parameters
        ----------
        sensor : IMU, ForceTorque, ContactSensor, RangeFinder, JointSensor, FrameSensor or \
CentroidalSensor

        Returns
        -------
        Sensor

        Raises
        ------
        ValueError
            For the name of another sensor, and a joint that does not have the quantity.
        UnknownNameError
            If it names an unknown body, frame or joint.
        TypeError
            If it is not a sensor.
        """
        check_sensor(sensor, self)
        if sensor.name in self.sensors:
            raise ValueError(f"there is a sensor {sensor.name!r}; give this one another name=")
        self.sensors[sensor.name] = sensor
        return sensor

    def add_obstacle(
        self,
        shape: Shape | HalfSpace | Geometry | ArrayLike,
        *,
        name: Hashable = None,
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        friction: float = 0.5,
    ) -> Geometry:
        """Add static geometry of the world that bodies of `collide` touch.

        Parameters
        ----------
        shape : Shape, HalfSpace, Geometry or array_like, shape (k, 3)
            A geometry has its own pose and surface. Points stand for their convex hull. Points, and
            point and normal of a half-space, are in the frame of the shape.
        name : hashable, optional
            By default ``"obstacle 0"`` and so on.
        position : array_like, shape (3,), optional
            Position of the shape's frame in the world, m.
        orientation : array_like, shape (4,), optional
            Orientation, shape to world, scalar first.
        friction : float, optional
            Coefficient of sliding friction, up to 1000; two surfaces have the larger of theirs.

        Returns
        -------
        Geometry

        Raises
        ------
        ValueError
            For a name in use, and a coefficient that is invalid.
        TypeError
            If it is not a shape.
        """
        name = f"obstacle {len(self.obstacles)}" if name is None else name
        self._check_open(f"add obstacle {name!r}")
        self._check_name(name)
        solid: Any = shape
        if isinstance(shape, (list, tuple, np.ndarray)) and np.ndim(shape) == 2:
            solid = hull_mesh(shape, f"obstacle {name!r}")
        if not isinstance(solid, (Shape, HalfSpace, Geometry, Mesh)):
            raise TypeError(
                "add_obstacle takes a shape, a dynamics.HalfSpace, points of shape (k, 3) or a "
                f"geometry, not {shape!r}"
            )
        if not isinstance(solid, Geometry):
            check_coefficients(f"obstacle {name!r}", {"friction": friction})
            x = rotation.as_numbers(position, (3,), f"position of obstacle {name!r}")
            q = rotation.as_numbers(orientation, (4,), f"orientation of obstacle {name!r}")
            surface = Surface(float(friction))
            solid = Geometry(solid, x, rotation.normalized(q), surface=surface)
        made: Geometry = solid
        if isinstance(made.shape, HalfSpace):
            made = placed_half_space(made)
        self.obstacles[name] = made
        self._used.add(name)
        return made

    def add_terrain(
        self,
        x: ArrayLike,
        y: ArrayLike,
        heights: ArrayLike,
        *,
        name: str = "terrain",
        bottom: float | None = None,
        friction: float = 0.5,
    ) -> list[Geometry]:
        """Add a height field that bodies of `collide` touch: two triangular prisms per cell.

        Parameters
        ----------
        x : array_like, shape (n,)
            x coordinates of the grid, ascending, m.
        y : array_like, shape (m,)
            y coordinates of the grid, ascending, m.
        heights : array_like, shape (n, m)
            Heights at the grid points, m.
        name : str, optional
            Name of the field; its prisms are obstacles ``"terrain 0"`` and so on.
        bottom : float, optional
            Height of the underside, m; by default a tenth of the field's width below the lowest
            point.
        friction : float, optional
            Coefficient of sliding friction, up to 1000; two surfaces have the larger of theirs.

        Returns
        -------
        list of Geometry
            One per prism.

        Raises
        ------
        ValueError
            For a grid that does not ascend, a name in use, and numbers that are invalid.
        """
        field = checked_field(x, y, heights, bottom, f"terrain {name!r}")
        check_coefficients(f"terrain {name!r}", {"friction": friction})
        parts = dict(zip((f"{name} {k}" for k in itertools.count()), prisms(*field)))
        for label in parts:
            self._check_name(label)
        place: dict[str, Any] = {
            "position": np.zeros(3), "orientation": np.array([1.0, 0.0, 0.0, 0.0]),
        }  # fmt: skip
        return [
            self.add_obstacle(Geometry(one, **place, surface=Surface(float(friction))), name=label)
            for label, one in parts.items()
        ]

    def collide(
        self,
        bodies: Iterable[Body | Hashable] | None = None,
        against: Iterable[Body | Hashable] | None = None,
        *,
        without: Iterable[tuple[Any, Any]] = (),
        neighbors: bool = False,
        friction: float | None = None,
        torsional: float | None = None,
        rolling: float | None = None,
        restitution: float = 0.0,
        compliance: float = 0.0,
        cone: str | int = "round",
        pairs: Mapping[tuple[str, str], Mapping[str, float]] | None = None,
        apart: Iterable[tuple[str, str]] = (),
    ) -> None:
        """Let all pairs of shapes touch; the model finds the near pairs itself.

        The shapes are the collision shapes of bodies, or else their own shape, and the obstacles of
        the world. Left out are pairs of bodies that a joint connects, directly or through bodies
        without shapes, or that fixed joints connect, pairs with a contact from `add_contact`, and
        those whose ``contype`` and ``conaffinity`` do not match. It may be called again for other
        bodies; the first call that includes a pair defines its options.

        Parameters
        ----------
        bodies : iterable of Body, world or hashable, optional
            Bodies or their names; by default all, including those that are added later.
        against : iterable of Body, world or hashable, optional
            Bodies that these touch; by default each other and the world.
        without : iterable of pairs of Body, world or hashable, optional
            Pairs that are left out: bodies, the world, or names of bodies and obstacles.
        neighbors : bool, optional
            Whether bodies that a joint connects also touch each other.
        friction, torsional, rolling : float, optional
            Coefficients as for `add_contact`; by default the larger ones of both shapes. The
            friction of a shape is that of the robot file, or 0.5.
        restitution : float, optional
            As for `add_contact`; not supported for shapes with a separating plane.
        compliance : float, optional
            m/N; 0 is rigid.
        cone : "round" or int, optional
            As for `add_contact`.
        pairs : mapping, optional
            Coefficients (``friction``, ``torsional``, ``rolling``) by the names of two geometries
            that touch regardless of filters, neighbours and ``without``, as MJCF's ``<pair>``.
        apart : iterable of pairs of str, optional
            Pairs of labels of geometries (`Geometry.labels`) that are left out, such as the shapes
            of two links that are merged into larger bodies.

        Raises
        ------
        ValueError
            For invalid coefficients.
        UnknownNameError
            For a body of another mechanism.

        Notes
        -----
        `finalize` refuses a mechanism in which no two shapes may touch, and options that apply to
        no pair.
        """
        self._check_open("let bodies collide")
        given = {"friction": friction, "torsional": torsional, "rolling": rolling}
        options: dict[str, Any] = {k: float(v) for k, v in given.items() if v is not None}
        options |= {"restitution": float(restitution), "compliance": float(compliance)}
        check_coefficients("collide", options)
        facets_of(cone, "collide")
        if friction == 0.0 and (torsional or rolling):
            raise ValueError("collide resists turning but not sliding; give it friction")
        left_out = [
            [
                one if one in self.obstacles else one_end(self, one, "without of collide")
                for one in pair
            ]
            for pair in _as_pairs(without)
        ]
        own = {frozenset(names): dict(numbers) for names, numbers in (pairs or {}).items()}
        for names, numbers in own.items():
            check_coefficients(f"pair {sorted(names)}", numbers)
            numbers |= {"friction": 0.5} | numbers
        self.collisions.append(
            Collision(
                checked_ends(self, bodies, "bodies"),
                checked_ends(self, against, "against"),
                frozenset(map(frozenset, left_out)),
                bool(neighbors),
                options | {"cone": cone},
                own,
                frozenset(map(frozenset, apart)),
            )
        )

    @takes(ModelOptions, Model)
    def finalize(
        self,
        timestep: float = 0.01,
        *,
        contacts: str | None = None,
        **options: Unpack[ModelOptions],
    ) -> Model:
        """Make the model of the mechanism, which cannot be changed afterwards.

        Parameters
        ----------
        timestep : float, optional
            s.
        contacts : {"auto"}, optional
            Let all pairs of shapes touch: calls `collide` without options unless it was called
            before. By default only contacts of `add_contact` and `collide` act.
        **options
            Order, tolerances and checks of the steps.

        Returns
        -------
        Model

        Raises
        ------
        ValueError
            If the parts do not make a model, with the label of one of them.
        """
        if contacts not in (None, "auto"):
            raise ValueError(f'contacts is {contacts!r}, and must be "auto" or None')
        unknown = set(options) - set(ModelOptions.__annotations__)
        if unknown:
            known = "timestep", "contacts", *ModelOptions.__annotations__
            raise TypeError(unknown_words("finalize", unknown, known, {"dt": "timestep"}))
        automatic = contacts == "auto" and not self.collisions
        if automatic:
            self.collide()
        try:
            model = Model(self, timestep, **options)
        except BaseException:
            if automatic:
                self.collisions.clear()
            raise
        self._finalize()
        return model

    def _finalize(self) -> None:
        """Take no changes from now on."""
        self._finalized = True
        for parts in vars(self).values():
            if isinstance(parts, Parts):
                parts.fixed = True

    def copy(self) -> Mechanism:
        """Return another mechanism with the same parts, which can be changed.

        Returns
        -------
        Mechanism
        """
        made = copy.copy(self)
        made._finalized = False
        for name, value in vars(self).items():
            if isinstance(value, (Parts, dict, set, list)):
                setattr(made, name, value.copy())
        return made

    @property
    def gravity(self) -> Float:
        """Acceleration in the world's frame, m/s^2, shape (3,).

        Read-only as an array: assign a whole one, as in ``mechanism.gravity = (0, 0, -1.62)``.
        """
        return self._gravity

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        self._check_open("change gravity")
        self._gravity = rotation.as_numbers(value, (3,), "gravity")
        self._gravity.flags.writeable = False

    def graph(self) -> Any:
        """Bodies and joints as a `networkx.MultiGraph`, the world included.

        A constraint of three and more bodies is an edge between each two of them.

        Returns
        -------
        networkx.MultiGraph
        """
        import networkx as nx

        graph = nx.MultiGraph()
        graph.add_node(WORLD.name)
        graph.add_nodes_from(self.bodies)
        for joint in self.joints.values():
            for one, other in itertools.combinations(joint.bodies, 2):
                graph.add_edge(one.name, other.name, key=joint.name, kind=joint.kind)
        return graph

    def plot(self, ax: Any = None) -> Any:
        """Draw bodies, joints and what closes loops; see `dynamics.display.plot.plot_mechanism`.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        matplotlib Axes
        """
        from dynamics.display.plot import plot_mechanism

        return plot_mechanism(self, ax)

    def _check_open(self, what: str) -> None:
        if self._finalized:
            raise ValueError(f"cannot {what}: {FINALIZED}")

    def _check_name(self, name: Hashable) -> None:
        if name in self._used:
            raise ValueError(f"the name {name!r} is in use; give another one by name=")

    def _end(self, given: Any) -> Any:
        """Body of a contact, or the world, given by itself or by name."""
        if isinstance(given, (Body, type(WORLD))):
            return given
        if given == WORLD.name:
            return WORLD
        if isinstance(given, Hashable) and given in self.bodies:
            return self.bodies[given]
        if isinstance(given, str):
            raise UnknownNameError(
                f"there is no body {given!r} for a contact; bodies are {list(self.bodies)}"
            )
        raise TypeError(
            f"add_contact takes bodies or the world, or their names, not {given!r}; a shape that "
            "the body touches, such as a half-space, is against_shape="
        )

    def _check_ends(self, thing: Any, label: str) -> None:
        for end in getattr(thing, "bodies", (thing.parent, thing.child)):
            if end is not WORLD and self.bodies.get(getattr(end, "name", None)) is not end:
                raise UnknownNameError(
                    f"{label} holds {getattr(end, 'name', end)!r}, which is not a body of this "
                    "mechanism; use what add_body returned"
                )

    def __repr__(self) -> str:
        return f"Mechanism({len(self.bodies)} bodies, {len(self.joints)} joints)"

    def __contains__(self, name: Hashable) -> bool:
        return name in self._used

    @property
    def mass(self) -> float:
        """Of all bodies but the slides of tendons, kg."""
        sliders = sliders_of(self)
        return float(np.sum([one.mass for k, one in self.bodies.items() if k not in sliders]))


def _as_pairs(without: Any) -> list[Any]:
    pairs = list(without)
    for pair in pairs:
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise ValueError(f"without= of collide takes pairs of bodies, not {pair!r}")
    return pairs
