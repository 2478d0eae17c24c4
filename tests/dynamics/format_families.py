"""One random mechanism by hand, as URDF, as SDF and as USD.

Numbers have few digits, so that single precision keeps them. All frames of joints coincide in the
posture of the file, where all coordinates are 0.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import dynamics as dy
from dynamics import rotation
from dynamics.io.description import Pose
from dynamics.io.usd.stage import Y_TO_Z

from . import robots, sdf, usd

KINDS = ("revolute", "prismatic", "fixed", "spherical")
GRAVITY = 9.81


@dataclass
class Body:
    """A body: numbers of the USD file, and those in SI units in its link's frame."""

    name: str
    scale: float  # of its prim
    unit: float  # m of one of its prim's units
    mass: float
    moments: list[float]
    axes: Any
    center: Any
    place: Any = None  # of its link in the world

    def inertia(self, mass_unit, length):
        """About the centre of mass, along the axes of the link."""
        R = rotation.to_matrix(rotation.normalized(self.axes))
        found = mass_unit * length**2 * R @ np.diag(self.moments) @ R.T
        return (found + found.T) / 2.0


@dataclass
class Joint:
    """A joint: numbers of the USD file on both sides, and poses in the links' frames."""

    name: str
    kind: str
    parent: Any
    child: Any
    sides: list[tuple[Any, Any]]
    poses: list[Any]
    axis: int
    limits: Any  # degrees or m
    swapped: bool  # its child is the first body of the USD file


class Family:
    """Draws a tree of bodies.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.length = float(self.rng.choice([1.0, 0.01, 0.5]))  # m of the USD file's unit
        self.mass = float(self.rng.choice([1.0, 0.1, 2.0]))
        self.up = str(self.rng.choice(["Z", "Y"]))
        self.group = Pose(self.vector(1.0), rotation.normalized(self.quaternion()))
        self.group_scale = float(self.rng.choice([1.0, 2.0, 0.5]))
        self.is_fixed = bool(self.rng.random() < 0.6)
        self.bodies, self.joints = [], []
        for i in range(int(self.rng.integers(2, 6))):
            self.bodies.append(self.body(f"b{i}"))
            if i or self.is_fixed:
                self.joints.append(self.joint(f"j{i}"))
            else:
                place = Pose(self.vector(1.0), rotation.normalized(self.quaternion()))
                self.bodies[0].place = place

    def vector(self, size):
        return np.round(self.rng.uniform(-size, size, 3), 3)

    def quaternion(self):
        return np.round(self.rng.uniform(-1, 1, 4), 4) + [1.5, 0, 0, 0]

    def body(self, name):
        scale = float(self.rng.choice([1.0, 2.0, 0.25]))
        unit = self.group_scale * scale * self.length
        points = 0.3 * self.rng.normal(size=(4, 3))
        spread = np.cov(points.T) + 0.01 * np.eye(3)
        moments = np.linalg.eigvalsh(np.trace(spread) * np.eye(3) - spread) / self.length**2
        mass = round(float(self.rng.uniform(0.5, 3.0)), 3)
        return Body(name, scale, unit, mass, np.round(moments, 4).tolist(), self.quaternion(),
                    self.vector(0.3 / unit))  # fmt: skip

    def joint(self, name):
        child = self.bodies[-1]
        parent = self.rng.choice(self.bodies[:-1]) if len(self.bodies) > 1 else None
        kind = str(self.rng.choice(KINDS, p=[0.4, 0.3, 0.1, 0.2]))
        units = [self.length if parent is None else parent.unit, child.unit]
        sides = [(self.vector(0.5 / unit), self.quaternion()) for unit in units]
        poses = [Pose(u * x, rotation.normalized(q)) for u, (x, q) in zip(units, sides)]
        if parent is None and self.up == "Y":
            poses[0] = Pose(orientation=Y_TO_Z) @ poses[0]
        above = Pose() if parent is None else parent.place
        child.place = above @ poses[0] @ poses[1].inverse()
        limits = None
        if kind in ("revolute", "prismatic") and self.rng.random() < 0.5:
            most = 170.0 if kind == "revolute" else 1.0
            limits = np.round(most * np.array([-1, 1]) * self.rng.uniform(0.2, 1.0, 2), 2)
        swapped = self.is_fixed and bool(self.rng.random() < 0.4)
        axis = int(self.rng.integers(3))
        return Joint(name, kind, parent, child, sides, poses, axis, limits, swapped)

    def limits(self, joint):
        """In rad or m."""
        turns = joint.kind == "revolute"
        return None if joint.limits is None else np.radians(joint.limits) if turns else joint.limits

    # Forms

    def by_hand(self):
        mech = dy.Mechanism((0, 0, -GRAVITY))
        made = {}
        for one in self.bodies:
            options = {}
            if one.place is not None and not self.is_fixed and one is self.bodies[0]:
                options["position"] = one.place.point(one.unit * one.center)
                options["orientation"] = one.place.orientation
            made[one.name] = mech.add_body(
                mass=self.mass * one.mass, inertia=one.inertia(self.mass, self.length),
                name=one.name, **options,
            )  # fmt: skip
        for one in self.joints:
            a, b = one.poses
            center = 0.0 if one.parent is None else one.parent.unit * one.parent.center
            options = {
                "name": one.name,
                "parent_point": a.position - center,
                "child_point": b.position - one.child.unit * one.child.center,
                "orientation": rotation.multiply(a.orientation, rotation.conjugate(b.orientation)),
            }
            if one.limits is not None:
                options["limits"] = [tuple(self.limits(one))]
            ends = (
                mech.world if one.parent is None else made[one.parent.name],
                made[one.child.name],
            )
            maker = getattr(dy, one.kind.capitalize())
            if one.kind in ("revolute", "prismatic"):
                axis = rotation.to_matrix(a.orientation)[:, one.axis]
                mech.add_joint(maker(*ends, axis, **options))
            else:
                mech.add_joint(maker(*ends, **options))
        return mech

    def as_urdf(self):
        """Text, and the frame of each link of the file in the link's frame of the others."""
        frames = {one.child.name: one.poses[1] for one in self.joints}
        frames = {one.name: frames.get(one.name, Pose()) for one in self.bodies}
        parts = [robots.link("world", mass=0)] if self.is_fixed else []
        for one in self.bodies:
            back = frames[one.name].inverse()
            parts.append(robots.link(
                one.name, self.mass * one.mass, back.point(one.unit * one.center),
                rotation.to_rpy(back.orientation), one.inertia(self.mass, self.length),
            ))  # fmt: skip
        for one in self.joints:
            parent = "world" if one.parent is None else one.parent.name
            at = frames.get(parent, Pose()).inverse() @ one.poses[0]
            kind, more = one.kind, ""
            if one.limits is not None:
                low, high = (repr(float(x)) for x in self.limits(one))
                more = f'<limit lower="{low}" upper="{high}"/>'
            elif kind == "revolute":
                kind = "continuous"
            parts.append(robots.joint(one.name, kind, parent, one.child.name, at.position,
                                      rotation.to_rpy(at.orientation), np.eye(3)[one.axis],
                                      more))  # fmt: skip
        return robots.robot(*parts), frames

    def as_sdf(self):
        def pose(name, place):
            numbers = [*place.position, *rotation.to_rpy(place.orientation)]
            return sdf.at(" ".join(repr(float(x)) for x in numbers), name)

        parts = []
        for one in self.bodies:
            base, place = "", one.place
            if one is not self.bodies[0] and self.rng.random() < 0.5:
                base, place = self.bodies[0].name, self.bodies[0].place.inverse() @ place
            tensor = one.inertia(self.mass, self.length)
            moments = "".join(
                f"<i{'xyz'[i]}{'xyz'[j]}>{float(tensor[i, j])!r}</i{'xyz'[i]}{'xyz'[j]}>"
                for i in range(3) for j in range(i, 3)
            )  # fmt: skip
            inertial = pose("", Pose(one.unit * one.center))
            inertial += f"<mass>{self.mass * one.mass!r}</mass><inertia>{moments}</inertia>"
            inside = f"{pose(base, place)}<inertial>{inertial}</inertial>"
            parts.append(f'<link name="{one.name}">{inside}</link>')
        for one in self.joints:
            parent = "world" if one.parent is None else one.parent.name
            world = one.child.place @ one.poses[1]
            places = [pose(one.child.name, one.poses[1]), pose("__model__", world)]
            axis, frame = np.eye(3)[one.axis], ""
            if self.rng.random() < 0.5:
                axis, frame = rotation.rotate(world.orientation, axis), ' expressed_in="__model__"'
            more = places[int(self.rng.integers(2))]
            if one.kind in ("revolute", "prismatic"):
                limits = ""
                if one.limits is not None:
                    low, high = (repr(float(x)) for x in self.limits(one))
                    limits = f"<limit><lower>{low}</lower><upper>{high}</upper></limit>"
                xyz = " ".join(repr(float(x)) for x in axis)
                more += f"<axis><xyz{frame}>{xyz}</xyz>{limits}</axis>"
            kind = "ball" if one.kind == "spherical" else one.kind
            parts.append(sdf.joint(one.name, kind, parent, one.child.name, more=more))
        self.rng.shuffle(parts)
        return sdf.model(*parts)

    def as_usd(self):
        turn = rotation.conjugate(Y_TO_Z) if self.up == "Y" else np.array([1.0, 0, 0, 0])
        inside, joints = [], []
        for one in self.bodies:
            place = Pose(orientation=turn) @ one.place
            place = self.group.inverse() @ Pose(place.position / self.length, place.orientation)
            at = usd.place((place.position / self.group_scale).tolist(),
                           place.orientation.tolist(), [one.scale] * 3)  # fmt: skip
            axes = f"quatf physics:principalAxes = {tuple(one.axes.tolist())}"
            inside.append(usd.body(one.name, axes, mass=one.mass, inertia=one.moments,
                                   center=one.center.tolist(), at=at))  # fmt: skip
        for one in self.joints:
            ends = ["" if end is None else f"/G/{end.name}" for end in (one.parent, one.child)]
            sides, limits = one.sides, one.limits
            if one.swapped:
                ends, sides = ends[::-1], sides[::-1]
                limits = None if limits is None else -limits[::-1]
            more = []
            if limits is not None:
                unit = 1.0 if one.kind == "revolute" else self.length
                more = [f"float physics:{end}Limit = {float(x / unit)!r}"
                        for end, x in zip(("lower", "upper"), limits)]  # fmt: skip
            (x0, q0), (x1, q1) = ((x.tolist(), q.tolist()) for x, q in sides)
            turns = None if one.kind in ("fixed", "spherical") else "XYZ"[one.axis]
            joints.append(usd.joint(one.kind.capitalize(), one.name, *ends, *more, pos0=x0, rot0=q0,
                                    pos1=x1, rot1=q1, axis=turns))  # fmt: skip
        size = f"float physics:gravityMagnitude = {GRAVITY / self.length!r}"
        group = usd.place(self.group.position.tolist(), self.group.orientation.tolist(),
                          [self.group_scale] * 3)  # fmt: skip
        return usd.file(
            usd.prim("PhysicsScene", "scene", size), usd.prim("Xform", "G", group, *inside),
            *joints, up=self.up, meters=self.length, kilograms=self.mass,
        )  # fmt: skip
