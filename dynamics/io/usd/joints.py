"""Joints of UsdPhysics: kinds, degrees of freedom by limits, drives as motors and servos."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.io.description import Description, JointEntry, Link, Pose, RopeEntry
from dynamics.io.notes import Notes
from dynamics.io.usd.stage import Stage, authored
from dynamics.parts.servos import PositionServo, VelocityServo

__all__ = ["Joints"]

Float = NDArray[np.float64]
ENDLESS = 1e30  #: limits and forces from here on are none: the largest single number is 3.4e38
AXES = {"X": 0, "Y": 1, "Z": 2}


@dataclass(slots=True, eq=False)
class Freedom:
    """What a joint of UsdPhysics has along or about one axis, in the file's units and degrees."""

    turns: bool
    axis: int
    lower: float = -math.inf
    upper: float = math.inf
    drive: Any = None

    @property
    def is_limited(self) -> bool:
        """True if one of its ends is finite."""
        return abs(self.lower) < ENDLESS or abs(self.upper) < ENDLESS


class Joints:
    """Reader of joints.

    Parameters
    ----------
    stage : Stage
    found : Description
        Gets them.
    notes : Notes
    names : dict of str
        Names of bodies by path.
    joint_names : dict of str
        Names of joints by path.
    """

    def __init__(
        self,
        stage: Stage,
        found: Description,
        notes: Notes,
        names: dict[str, str],
        joint_names: dict[str, str],
    ) -> None:
        self.stage, self.found, self.notes = stage, found, notes
        self.names, self.joint_names = names, joint_names
        self.kinds = stage.pxr.UsdPhysics.ObjectType
        self.between: set[str | None] = set()

    def read(self, joint: Any) -> None:
        """One joint.

        Parameters
        ----------
        joint : pxr.UsdPhysics.JointDesc
        """
        path = str(joint.primPath)
        name = self.joint_names[path]
        if not joint.jointEnabled:
            self.notes.leave_out("joints that are not enabled", name)
            return
        for one in (joint.rel0, joint.rel1):
            if not one.isEmpty and not self.stage.stage.GetPrimAtPath(one):
                raise ValueError(
                    f"{self.stage.path.name}: joint {name!r} names no prim: {str(one)!r}"
                )
        bodies = [one for one in (joint.body0, joint.body1) if not one.isEmpty]
        if any(str(one) not in self.names for one in bodies):
            self.notes.leave_out("joints of bodies that are not read", name)
            return
        links = [self.names.get(str(one)) for one in (joint.body0, joint.body1)]
        if links[0] == links[1]:
            what = "the world" if links[0] is None else repr(links[0])
            raise ValueError(f"{self.stage.path.name}: joint {name!r} joins {what} with itself")
        for what in ("breakForce", "breakTorque"):
            if getattr(joint, what) < ENDLESS:
                self.notes.leave_out(f"{what} of joints", name)
        if joint.type == self.kinds.DistanceJoint:
            self.rope(joint, name, links)
            return
        freedoms = self.freedoms(joint, name)
        if freedoms is None:
            return
        at_parent = self.pose(joint.localPose0Position, joint.localPose0Orientation, links[0])
        at_child = self.pose(joint.localPose1Position, joint.localPose1Orientation, links[1])
        entry = JointEntry(name, "fixed", links[0], links[1], at_parent, at_child)
        entry.closure = bool(joint.excludeFromArticulation)
        self.add(entry, freedoms)

    def rope(self, joint: Any, name: str, links: list[str | None]) -> None:
        """Distances that two points keep, those that the file sets."""
        points = [
            self.pose(position, turn, link).position
            for position, turn, link in (
                (joint.localPose0Position, joint.localPose0Orientation, links[0]),
                (joint.localPose1Position, joint.localPose1Orientation, links[1]),
            )
        ]
        prim = self.stage.stage.GetPrimAtPath(joint.primPath)
        least, most = (
            authored(prim.GetAttribute(f"physics:{end}Distance").Get()) for end in ("min", "max")
        )
        unit = self.stage.length  # what is negative is no limit
        low, high = (unit * least if least > 0.0 else 0.0, unit * most if most >= 0.0 else math.inf)
        if not low <= high or not high > 0.0:
            raise ValueError(
                f"{self.stage.path.name}: joint {name!r} has the distances {least} and {most}"
            )
        if low > 0.0 or high < math.inf:
            made = RopeEntry(name, links[0], links[1], points[0], points[1], (low, high))
            self.found.ropes.append(made)
        else:
            self.notes.leave_out("distances without limits", name)

    def pose(self, position: Any, orientation: Any, link: str | None) -> Pose:
        """Pose of a joint in a body, or in the world with z upwards."""
        x = self.stage.length * np.array([authored(c) for c in position])
        q = np.array([authored(c) for c in (orientation.GetReal(), *orientation.GetImaginary())])
        if not np.isfinite([*x, *q]).all() or not q.any():
            raise ValueError(f"{self.stage.path.name}: a joint of {link or 'the world'} has a pose "
                             f"of {x} and {q}")  # fmt: skip
        made = Pose(x, rotation.normalized(q))
        return self.stage.upright @ made if link is None else made

    def freedoms(self, joint: Any, name: str) -> list[Freedom] | None:
        """What the joint leaves free, along and about the axes of its frame; None for no joint."""
        kinds, kind = self.kinds, joint.type
        if kind == kinds.FixedJoint:
            return []
        if kind in (kinds.RevoluteJoint, kinds.PrismaticJoint):
            prim = self.stage.stage.GetPrimAtPath(joint.primPath)
            token = str(prim.GetAttribute("physics:axis").Get())
            if token not in AXES:  # OpenUSD takes X
                raise ValueError(
                    f"{self.stage.path.name}: joint {name!r} has the axis {token!r}, and must have "
                    "X, Y or Z"
                )
            axis = AXES[token]
            one = Freedom(kind == kinds.RevoluteJoint, axis)
            if joint.limit.enabled:
                one.lower, one.upper = joint.limit.lower, joint.limit.upper
            one.drive = joint.drive if joint.drive.enabled else None
            return [one]
        if kind == kinds.SphericalJoint:
            if joint.limit.enabled:
                self.notes.leave_out("cones of ball joints", name)
            return [Freedom(True, k) for k in range(3)]
        if kind == kinds.D6Joint:
            return self.six(joint, name)
        self.notes.leave_out(f"joints of type {str(kind).split('.')[-1]}", name)
        return None

    def six(self, joint: Any, name: str) -> list[Freedom] | None:
        """Freedoms of a joint by its limits; a lower end above the upper one locks."""
        degrees = self.stage.pxr.UsdPhysics.JointDOF
        places = {
            getattr(degrees, f"{what}{letter}"): (what == "Rot", k)
            for what in ("Trans", "Rot")
            for k, letter in enumerate("XYZ")
        }
        found = {dof: Freedom(*place) for dof, place in places.items()}
        for one in joint.jointLimits:
            dof, limit = one.first, one.second
            if dof not in found:
                self.notes.leave_out("limits of distance", name)
            elif limit.enabled and limit.lower > limit.upper:
                del found[dof]
            elif limit.enabled:
                found[dof].lower, found[dof].upper = limit.lower, limit.upper
        for one in joint.jointDrives:
            if one.first in found and one.second.enabled:
                found[one.first].drive = one.second
            elif one.second.enabled:
                self.notes.leave_out("drives of axes that are locked", name)
        if len(found) == 6:
            self.notes.leave_out("joints that leave all motions free", name)
            return None
        return list(found.values())

    def add(self, entry: JointEntry, freedoms: list[Freedom]) -> None:
        """Keep a joint with these freedoms, as two with a link between where no kind has them."""
        slides = [one for one in freedoms if not one.turns]
        turns = [one for one in freedoms if one.turns]
        kind = _kind(slides, turns)
        acts = any(one.drive is not None or one.is_limited for one in freedoms)
        if kind == "spherical" and acts:
            self.chain(entry, [[one] for one in turns])
            self.notes.merge("ball joints with limits or drives are three hinges", entry.name)
        elif kind is None or (slides and turns and acts):
            self.chain(entry, [[one] for one in slides] + ([turns] if turns else []))
            self.notes.merge("joints that slide and turn are several", entry.name)
        else:
            self.fill(entry, kind, slides, turns)
            self.found.joints[entry.name] = entry

    def chain(self, entry: JointEntry, parts: list[list[Freedom]]) -> None:
        """Keep a joint as several in series, with links without mass between them."""
        links: list[str | None] = [entry.parent]
        for k in range(len(parts) - 1):
            between = Link(f"{entry.name} between {k + 1}")
            self.found.links[between.name] = between
            self.between.add(between.name)
            links.append(between.name)
        links.append(entry.child)
        for k, some in enumerate(parts):
            a = entry.at_parent if k == 0 else Pose()
            b = entry.at_child if k == len(parts) - 1 else Pose()
            one = JointEntry(f"{entry.name} {k + 1}", "fixed", links[k], links[k + 1], a, b)
            one.closure = entry.closure
            self.add(one, some)

    def fill(
        self, entry: JointEntry, kind: str, slides: list[Freedom], turns: list[Freedom]
    ) -> None:
        """Kind, axes, limits and motors of a joint."""
        entry.kind = kind
        ordered = [*slides, *turns]
        if not ordered:
            return
        main = turns[0] if turns else slides[0]
        entry.axis = np.eye(3)[main.axis]
        if kind == "universal":
            entry.second = np.eye(3)[turns[1].axis]
        if kind == "planar without turning":
            entry.axis = np.eye(3)[({0, 1, 2} - {one.axis for one in slides}).pop()]
        if kind not in ("revolute", "prismatic", "universal"):
            for one in ordered:  # of slides only, or of turns only
                if one.is_limited:
                    self.notes.leave_out(f"limits of {kind} joints", entry.name)
                if one.drive is not None:
                    self.notes.leave_out(f"drives of {kind} joints", entry.name)
            return
        ends = [self.limits(one, entry.name) for one in ordered]
        if any(math.isfinite(end) for pair in ends for end in pair):
            if len(ends) == 1 and ends[0][0] == ends[0][1]:
                self.hold(entry, kind, ends[0][0])
                return
            entry.limits = ends
        self.drive(entry, ordered)

    def hold(self, entry: JointEntry, kind: str, value: float) -> None:
        """Fix a joint whose limits leave one coordinate."""
        self.notes.merge("joints without a range between their limits are fixed", entry.name)
        moved = value * entry.axis
        turn = kind == "revolute"
        step = Pose(orientation=rotation.from_rotation_vector(moved)) if turn else Pose(moved)
        entry.kind, entry.at_parent = "fixed", entry.at_parent @ step

    def limits(self, one: Freedom, name: str) -> tuple[float, float]:
        """Limits in radians or metres, infinite where there is none."""
        scale = math.pi / 180.0 if one.turns else self.stage.length
        ends = []
        for end in (one.lower, one.upper):
            if math.isnan(end):
                raise ValueError(f"{self.stage.path.name}: a limit of joint {name!r} is no number")
            far = abs(end) >= ENDLESS
            ends.append(math.copysign(math.inf, end) if far else scale * authored(end))
        if ends[0] > ends[1]:
            raise ValueError(
                f"{self.stage.path.name}: joint {name!r} has the limits {one.lower} and {one.upper}"
            )
        return ends[0], ends[1]

    def drive(self, entry: JointEntry, freedoms: list[Freedom]) -> None:
        """Drives as a servo, or as a motor whose control is a force."""
        drives = [one.drive for one in freedoms]
        if all(one is None for one in drives):
            return
        name = entry.name
        gains = [self.gains(one, name) for one in freedoms]
        stiffness, damping, position, velocity, most = (np.array(x) for x in zip(*gains))
        if any(one is not None and one.acceleration for one in drives):
            self.notes.leave_out("drives by acceleration (their gains are of no mass)", name)
            return
        if (np.concatenate([stiffness, damping]) < 0.0).any() or (most < 0.0).any():
            raise ValueError(
                f"{self.stage.path.name}: the drive of joint {name!r} has a negative stiffness, "
                "damping or maxForce"
            )
        if stiffness.any():
            if velocity.any():
                self.notes.leave_out("target velocities of drives with a stiffness", name)
            entry.servo = self.servo(PositionServo, (stiffness, damping, position), most, name)
        elif damping.any():
            entry.servo = self.servo(VelocityServo, (damping, velocity), most, name)
        else:
            entry.actuated = True
        if np.isfinite(most).any() and most.all():
            entry.control_limits = [(-one, one) for one in most.tolist()]

    def servo(self, kind: Any, values: tuple[Float, ...], most: Float, name: str) -> Any:
        """Servo with numbers of each axis, one number where there is one."""
        if not most.all():
            self.notes.leave_out("drives whose maxForce is 0", name)
            return None
        numbers = [one if len(one) > 1 else float(one[0]) for one in (*values, most)]
        return kind(*numbers[:-1], force_limit=numbers[-1])

    def gains(self, one: Freedom, name: str) -> tuple[float, float, float, float, float]:
        """Stiffness, damping, targets and largest force of a drive in SI units."""
        if one.drive is None:
            return 0.0, 0.0, 0.0, 0.0, math.inf
        d, mass, length = one.drive, self.stage.mass, self.stage.length
        angle = math.pi / 180.0
        force = mass * length**2 if one.turns else mass * length
        way = angle if one.turns else length
        numbers = [
            authored(x)
            for x in (d.stiffness, d.damping, d.targetPosition, d.targetVelocity, d.forceLimit)
        ]
        if any(math.isnan(x) for x in numbers) or any(math.isinf(x) for x in numbers[:4]):
            raise ValueError(f"{self.stage.path.name}: the drive of joint {name!r} has {numbers}")
        k, c, position, velocity, most = numbers
        most = math.inf if most >= ENDLESS else force * most
        return force / way * k, force / way * c, way * position, way * velocity, most


def _kind(slides: list[Freedom], turns: list[Freedom]) -> str | None:
    """Kind of joint with these freedoms; None where there is none."""
    along = {one.axis for one in slides}
    about = {one.axis for one in turns}
    count = len(along), len(about)
    kinds = {
        (0, 0): "fixed", (0, 1): "revolute", (0, 2): "universal", (0, 3): "spherical",
        (1, 0): "prismatic", (2, 0): "planar without turning", (3, 0): "fixed orientation",
        (3, 1): "free axis",
    }  # fmt: skip
    if count == (1, 1) and along == about:
        return "cylindrical"
    if count == (2, 1) and not along & about:
        return "planar"
    return kinds.get(count)
