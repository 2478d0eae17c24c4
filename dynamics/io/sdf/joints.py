"""Joints of SDF: kinds, axes in any frame, limits, springs, followers and gearboxes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.io.description import Description, JointEntry, Link, Mimic, Pose
from dynamics.io.notes import Notes
from dynamics.io.parsing import attribute, endless, numbers, once
from dynamics.io.sdf.scopes import DRAKE, OWN, Named, Scope
from dynamics.io.sdf.text import child, extended, flag, number, text_of, vector
from dynamics.parts.options import unused
from dynamics.parts.servos import PositionServo

__all__ = ["Joints"]

Float = NDArray[np.float64]

KINDS = {
    "fixed": "fixed",
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "ball": "spherical",
    "screw": "helical",
    "universal": "universal",
    "revolute2": "universal",
}
AXES = {"fixed": 0, "spherical": 0, "universal": 2}
#: Parts of a joint that are read, or that say how other programs solve it.
READ = {
    "parent", "child", "pose", "axis", "axis2", "physics", "thread_pitch", "screw_thread_pitch",
    "gearbox_ratio", "gearbox_reference_body", "drake:mimic", "drake:rotor_inertia",
    "drake:gear_ratio", "drake:controller_gains",
}  # fmt: skip
#: Sine of an angle up to which axes are at right angles.
MEANT = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """One axis of a joint.

    Attributes
    ----------
    direction : ndarray of float, shape (3,)
        Unit vector in the joint's frame.
    lower, upper, velocity, effort : float
        Infinite where there is none.
    damping, friction, stiffness, rest : float
    """

    direction: Float
    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0


class Joints:
    """Reader of joints.

    Parameters
    ----------
    found : Description
        Gets them.
    notes : Notes
    places : dict of Pose
        Of links in the file's frame.
    names : set of str
        Of all joints and links of the file.
    """

    def __init__(
        self, found: Description, notes: Notes, places: dict[str, Pose], names: set[str]
    ) -> None:
        self.found, self.notes, self.places, self.names = found, notes, places, names
        self.gearboxes: list[tuple[Scope, str, Named]] = []

    def read(self, scope: Scope, name: str, named: Named) -> None:
        """One joint; gearboxes wait for the others.

        Parameters
        ----------
        scope : Scope
        name : str
            In the scope.
        named : Named

        Raises
        ------
        ValueError
            For an unknown type, links that are not there, and numbers that are invalid.
        """
        label, full, element = f"{scope.label}, joint {name!r}", scope.full(name), named.element
        kind = attribute(element, "type", label)
        if element.tag.startswith(DRAKE):
            self.planar(scope, name, named, kind, label)
            return
        if kind == "gearbox":
            self.gearboxes.append((scope, name, named))
            return
        if kind not in KINDS:
            known = sorted([*KINDS, "gearbox"])
            raise ValueError(f"{label} has the unknown type {kind!r}; known are {known}")
        one, two = (scope.link_of(scope.end(name, end)) for end in ("parent", "child"))
        if one == two:
            raise ValueError(f"{label} joins {one or 'the world'!r} with itself")
        once(element, ("parent", "child", "pose", "axis", "axis2"), self.notes, full)
        for part in element:
            if part.tag not in READ:
                self.notes.leave_out(f"<{part.tag}> of joints", full)
        pose = scope.world_pose() @ scope.joint_pose(name)
        at = [pose if x is None else self.places[x].inverse() @ pose for x in (one, two)]
        entry = JointEntry(full, KINDS[kind], one, two, at[0], at[1])
        entry.closure = flag(element, "physics/simbody/must_be_loop_joint", False, label)
        axes = [
            self.axis(scope, name, named, tag)
            for tag in ("axis", "axis2")[: AXES.get(entry.kind, 1)]
        ]
        if kind == "ball" and child(element, "axis") is not None:
            forces = self.axis(scope, name, named, "axis")
            entry.damping, entry.friction = forces.damping, forces.friction
        if kind == "screw":
            entry.pitch, axes = _screw(element, named.version, axes, label)
        if kind == "continuous":
            axes = [replace(axes[0], lower=-math.inf, upper=math.inf)]
        self.add(entry, axes)
        self.extras(element, entry, scope, label)

    def planar(self, scope: Scope, name: str, named: Named, kind: str, label: str) -> None:
        """Drake's planar joint: moves along x and y and turns about z of its two frames."""
        full = scope.full(name)
        if kind != "planar":
            self.notes.leave_out(f"<drake:joint> of type {kind}", full)
            return
        links, poses = [], []
        for end in ("parent", "child"):
            frame = scope.end(name, end)
            links.append(scope.link_of(frame))
            pose = Pose() if links[-1] is None else scope.world_pose() @ scope.frame(frame)
            poses.append(pose if links[-1] is None else self.places[links[-1]].inverse() @ pose)
        z = np.array([0.0, 0.0, 1.0])
        entry = JointEntry(full, "planar", links[0], links[1], poses[0], poses[1], z)
        damping = vector(named.element, "drake:damping", "0 0 0", label)
        if (damping < 0.0).any():
            raise ValueError(f"{label}: damping is {damping}: it would add energy")
        if damping[0] == damping[1]:
            entry.damping = damping
        else:
            self.notes.leave_out("damping of planar joints that differs along x and y", full)
        self.keep(entry)

    def add(self, entry: JointEntry, axes: list[Axis]) -> None:
        """Keep a joint with its axes; crosses that are not square become two hinges."""
        if entry.kind == "universal":
            one, two = (axis.direction for axis in axes)
            square = float(one @ two)
            if np.linalg.norm(np.cross(one, two)) < MEANT:
                label = f"{self.notes.path.name}: joint {entry.name!r}"
                raise ValueError(
                    f"{label} has two axes that are parallel, or lacks one: give <axis> and <axis2>"
                )
            if abs(square) > MEANT:
                self.two_hinges(entry, axes)
                return
            entry.second = rotation.unit_vector(two - square * one, f"axis of {entry.name!r}")
        if axes:
            entry.axis = axes[0].direction
            self.fill(entry, axes)
        self.keep(entry)

    def keep(self, entry: JointEntry) -> None:
        """Add a joint to the description."""
        if entry.name in self.found.joints:
            raise ValueError(f"{self.notes.path.name}: two joints are called {entry.name!r}")
        self.found.joints[entry.name] = entry

    def fill(self, entry: JointEntry, axes: list[Axis]) -> None:
        """Give a joint the limits and forces of its axes."""
        if len(axes) == 1 and axes[0].lower == axes[0].upper and entry.kind != "helical":
            self.notes.merge("joints without a range between their limits are fixed", entry.name)
            moved = axes[0].lower * axes[0].direction
            turn = entry.kind == "revolute"
            step = Pose(orientation=rotation.from_rotation_vector(moved)) if turn else Pose(moved)
            entry.kind, entry.at_parent = "fixed", entry.at_parent @ step
            return
        for what in ("damping", "friction", "stiffness", "rest"):
            values = np.array([getattr(axis, what) for axis in axes])
            setattr(entry, what, values if len(axes) > 1 else float(values[0]))
        if any(math.isfinite(end) for axis in axes for end in (axis.lower, axis.upper)):
            entry.limits = [(axis.lower, axis.upper) for axis in axes]
        for name, what in (("velocity_limits", "velocity"), ("control_limits", "effort")):
            most = [getattr(axis, what) for axis in axes]
            if any(map(math.isfinite, most)):
                setattr(entry, name, [(-one, one) for one in most])

    def two_hinges(self, entry: JointEntry, axes: list[Axis]) -> None:
        """Hinges in series with a link without mass between them."""
        name = entry.name
        between = Link(unused(f"{name} between", self.found.links))
        self.found.links[between.name] = between
        ends = [(entry.parent, entry.at_parent), (between.name, Pose())]
        others = [(between.name, Pose()), (entry.child, entry.at_child)]
        for k, (axis, (one, a), (two, b)) in enumerate(zip(axes, ends, others)):
            label = unused(f"{name} {k + 1}", {*self.names, *self.found.joints})
            hinge = JointEntry(label, "revolute", one, two, a, b, axis.direction)
            hinge.closure = entry.closure
            self.fill(hinge, [axis])
            self.keep(hinge)
        self.notes.merge("joints of two axes that are not at right angles are two hinges", name)

    def axis(self, scope: Scope, name: str, named: Named, tag: str) -> Axis:
        """One axis of a joint, z where the file gives none."""
        label, full = f"{scope.label}, joint {name!r}, {tag}", scope.full(name)
        element = child(named.element, tag)
        if element is None:
            return Axis(np.array([0.0, 0.0, 1.0]))
        xyz = vector(element, "xyz", "0 0 1", label)
        if not xyz.any():
            raise ValueError(f"{label}: the axis is zero")
        direction = rotation.unit_vector(xyz, label)
        frame = (getattr(child(element, "xyz"), "attrib", {}).get("expressed_in") or "").strip()
        old = flag(element, "use_parent_model_frame", named.version < (1, 5), label)
        if not frame and named.version < (1, 7) and old:
            frame = OWN
        if frame:
            turn = scope.frame(named.at_home(frame)).orientation
            here = rotation.conjugate(scope.joint_pose(name).orientation)
            direction = rotation.rotate(rotation.multiply(here, turn), direction)
        damping = number(element, "dynamics/damping", 0.0, label)
        friction = number(element, "dynamics/friction", 0.0, label)
        stiffness = number(element, "dynamics/spring_stiffness", 0.0, label)
        for what, value in (
            ("damping", damping), ("friction", friction), ("spring_stiffness", stiffness),
        ):  # fmt: skip
            if value < 0.0:
                raise ValueError(f"{label}: {what} is {value}: it would add energy")
        lower, upper = (
            endless(extended(element, f"limit/{end}", default, label))
            for end, default in (("lower", -math.inf), ("upper", math.inf))
        )
        if lower > upper:
            raise ValueError(f"{label}: its lower limit {lower} is above the upper one {upper}")
        if lower == upper and math.isinf(lower):
            raise ValueError(f"{label}: its limits are both {lower}")
        most = [
            endless(extended(element, f"limit/{what}", math.inf, label))
            for what in ("velocity", "effort")
        ]  # not enforced where negative; 0 says that there is no motor
        velocity, effort = (one if one > 0.0 else math.inf for one in most)
        self.mimic(element, full, scope, label)
        return Axis(
            direction, lower, upper, velocity, effort, damping, friction, stiffness,
            number(element, "dynamics/spring_reference", 0.0, label),
        )  # fmt: skip

    def mimic(self, element: Element, full: str, scope: Scope, label: str) -> None:
        """A joint that follows another: q = multiplier (q_leader - reference) + offset."""
        mimic = child(element, "mimic")
        if mimic is None:
            return
        leader = attribute(mimic, "joint", label)
        if element.tag == "axis2" or mimic.get("axis", "axis") != "axis":
            self.notes.leave_out("mimic of a second axis", full)
            return
        factor = number(mimic, "multiplier", 1.0, label)
        offset = number(mimic, "offset", 0.0, label)
        offset -= factor * number(mimic, "reference", 0.0, label)
        self.found.mimics.append(Mimic(full, scope.full(leader), factor, offset))

    def extras(self, element: Element, entry: JointEntry, scope: Scope, label: str) -> None:
        """Drake's additions: followers, rotors and servos."""
        mimic = child(element, "drake:mimic")
        if mimic is not None:
            leader = scope.full(attribute(mimic, "joint", label))
            factor, offset = (
                float(numbers(mimic.get(key, default), 1, f"{label}: {key}")[0])
                for key, default in (("multiplier", "1"), ("offset", "0"))
            )
            self.found.mimics.append(Mimic(entry.name, leader, factor, offset))
        inertia = number(element, "drake:rotor_inertia", 0.0, label)
        ratio = number(element, "drake:gear_ratio", 1.0, label)
        if inertia < 0.0:
            raise ValueError(f"{label}: the inertia of its rotor is {inertia}, which is negative")
        if entry.kind in ("revolute", "prismatic"):
            entry.armature = inertia * ratio**2
        elif inertia:
            self.notes.leave_out("rotors of joints that do not turn or slide", entry.name)
        gains = child(element, "drake:controller_gains")
        if gains is not None and entry.kind in ("revolute", "prismatic"):
            p, d = (
                float(numbers(gains.get(key, "0"), 1, f"{label}: gain {key}")[0]) for key in "pd"
            )
            most = np.inf if entry.control_limits is None else entry.control_limits[0][1]
            try:
                entry.servo = PositionServo(p, d, force_limit=most)
            except ValueError as error:
                raise ValueError(f"{label}: {error}") from None

    def finish(self) -> None:
        """Read gearboxes: the angles of two hinges on one reference body in a ratio."""
        for scope, name, named in self.gearboxes:
            label, full = f"{scope.label}, joint {name!r}", scope.full(name)
            ratio = number(named.element, "gearbox_ratio", 1.0, label)
            text = text_of(named.element, "gearbox_reference_body")
            if text is None:
                raise ValueError(f"{label} has no <gearbox_reference_body>")
            base = scope.link_of(named.at_home(text))
            turn = (scope.world_pose() @ scope.joint_pose(name)).orientation
            hinges: list[tuple[JointEntry, float]] = []
            for end, tag in (("parent", "axis"), ("child", "axis2")):
                link = scope.link_of(scope.end(name, end))
                axis = self.axis(scope, name, named, tag)
                hinge = self.hinge(base, link, rotation.rotate(turn, axis.direction))
                hinges += [hinge] if hinge is not None else []
            if len(hinges) < 2:
                self.notes.leave_out("gearboxes without a hinge to each of their links", full)
                continue
            (leader, one), (follower, two) = hinges
            self.found.mimics.append(Mimic(follower.name, leader.name, -ratio * one * two, 0.0))

    def hinge(
        self, base: str | None, link: str | None, axis: Float
    ) -> tuple[JointEntry, float] | None:
        """Hinge between two links, and 1 or -1 for the sense in which the axis counts its angle."""
        for joint in self.found.joints.values():
            if joint.kind == "revolute" and {joint.parent, joint.child} == {base, link}:
                at = Pose() if joint.parent is None else self.places[joint.parent]
                own = rotation.rotate((at @ joint.at_parent).orientation, joint.axis)
                sense = math.copysign(1.0, float(own @ axis))
                return joint, sense if joint.parent == base else -sense
        return None


def _screw(
    element: Element, version: tuple[int, ...], axes: list[Axis], label: str
) -> tuple[float, list[Axis]]:
    """Metres a turn of a screw, and its axis with what acts about it as if it acted along it."""
    path = "screw_thread_pitch"
    if text_of(element, path) is not None or version >= (1, 10):
        pitch = number(element, path, 1.0, label)
    else:
        radians = number(element, "thread_pitch", 1.0, label)
        pitch = 0.0 if radians == 0.0 else -2.0 * math.pi / radians
    if pitch == 0.0:
        raise ValueError(f"{label}: a screw needs a thread_pitch that is not 0")
    rate = pitch / (2.0 * math.pi)  # metres per radian
    one = axes[0]
    lower, upper = sorted((one.lower * rate, one.upper * rate))
    return pitch, [
        Axis(
            one.direction, lower, upper, one.velocity * abs(rate), one.effort / abs(rate),
            one.damping / rate**2, one.friction / abs(rate), one.stiffness / rate**2,
            one.rest * rate,
        )
    ]  # fmt: skip
