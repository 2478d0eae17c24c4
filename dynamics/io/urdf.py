"""URDF: links, joints and Drake's ``<loop_joint>``, on the standard library alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.io.description import Description, JointEntry, Link, Mimic, Pose
from dynamics.io.notes import NOT_KEPT, Notes
from dynamics.io.parsing import attribute, color_of, endless, mesh_path, numbers, once, tree
from dynamics.parts.geometry import Geometry, Mesh, Surface
from dynamics.parts.shapes import Box, Capsule, Cylinder, Shape, Sphere

__all__ = ["read_urdf"]

Float = NDArray[np.float64]

#: Joint types of the file and ours; planar joints of URDF turn about the normal, too.
KINDS = {
    "fixed": "fixed",
    "weld": "fixed",
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "planar": "planar",
    "floating": "floating",
    "spherical": "spherical",
    "ball": "spherical",
}
#: Parts of a joint.
PARTS = ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic")
WITHOUT_AXIS = {"fixed", "floating", "spherical"}
WATER = 1000.0  #: kg/m^3; shapes for looking at need some mass


def read_urdf(
    path: Path, notes: Notes, *, meshes: bool = True, within: Path | None = None
) -> Description:
    """Read what a URDF file says.

    Parameters
    ----------
    path : Path
    notes : Notes
        Gets what is left out.
    meshes : bool, optional
        Whether to keep names of meshes.
    within : Path, optional
        Folder that meshes must lie in; by default that of the file.

    Returns
    -------
    Description

    Raises
    ------
    ValueError
        For a file that is broken, by the label of what is.
    """
    robot = tree(path)
    if robot.tag != "robot":
        raise ValueError(f"{path.name}: the root of a URDF file is <robot>, not <{robot.tag}>")
    reader = _Reader(path, notes, meshes, within)
    reader.colors(robot)
    for element in robot:
        reader.element(element)
    reader.check()
    return reader.found


class _Reader:
    """One file while it is read."""

    def __init__(self, path: Path, notes: Notes, meshes: bool, within: Path | None) -> None:
        self.path, self.notes, self.meshes, self.within = path, notes, meshes, within
        self.found = Description()
        self.materials: dict[str, Float] = {}
        self.motors: list[str] = []
        self.surfaces: dict[str, Surface] = {}

    def colors(self, robot: Element) -> None:
        """Materials with a name, wherever they stand; the first of a name counts."""
        for material in robot.iter("material"):
            color = material.find("color")
            name = material.get("name", "")
            if color is not None and name not in self.materials:
                label = f"{self.path.name}: color of material {name!r}"
                self.materials[name] = color_of(attribute(color, "rgba", label), label)

    def element(self, element: Element) -> None:
        """One child of <robot>."""
        tag = element.tag
        if tag.startswith("xacro:"):
            raise ValueError(
                f"{self.path.name} holds <{tag}>, so it is a xacro file: run xacro on it first"
            )
        if tag == "link":
            self.link(element)
        elif tag == "joint":
            self.joint(element)
        elif tag == "loop_joint":
            self.loop_joint(element)
        elif tag == "transmission":
            self.transmission(element)
        elif tag == "gazebo" and element.get("reference") and self.gazebo_friction(element):
            pass
        elif tag != "material":
            self.notes.leave_out(f"<{tag}>", element.get("name") or element.get("reference") or tag)

    # Links

    def link(self, element: Element) -> None:
        name = attribute(element, "name", f"{self.path.name}: a link")
        label = f"{self.path.name}: link {name!r}"
        if name in self.found.links:
            raise ValueError(f"{label} appears twice; names of links differ")
        link = self.found.links[name] = Link(name)
        once(element, ["inertial"], self.notes, name)
        inertial = element.find("inertial")
        if inertial is not None:
            self.inertial(inertial, link, label)
        for part in element:
            if part.tag == "inertial":
                pass
            elif part.tag in ("visual", "collision"):
                kept = link.visuals if part.tag == "visual" else link.collisions
                geometry = self.geometry(part, name, f"{label}, {part.tag}")
                kept += [geometry] if geometry is not None else []
                if (
                    not self.meshes
                    and part.tag == "collision"
                    and part.find("geometry/mesh") is not None
                ):
                    self.notes.leave_out(NOT_KEPT, name)
            elif part.tag == "contact":
                self.bullet_friction(part, name, label)
            else:
                self.notes.leave_out(f"<{part.tag}> of links", name)

    def inertial(self, element: Element, link: Link, label: str) -> None:
        once(element, ("origin", "mass", "inertia"), self.notes, link.name)
        pose = self.pose(element.find("origin"), label)
        mass, inertia = element.find("mass"), element.find("inertia")
        if mass is None or inertia is None:
            raise ValueError(f"{label}: <inertial> needs <mass> and <inertia>")
        link.mass = float(numbers(attribute(mass, "value", label), 1, f"{label}: the mass")[0])
        if link.mass < 0.0:
            raise ValueError(f"{label} has the mass {link.mass}, which is negative")
        xx, xy, xz, yy, yz, zz = (
            float(numbers(inertia.get(key, "0"), 1, f"{label}: {key} of the inertia")[0])
            for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        )
        R = rotation.to_matrix(pose.orientation)
        turned = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
        link.center, link.inertia = pose.position, (turned + turned.T) / 2.0

    def bullet_friction(self, element: Element, link: str, label: str) -> None:
        """Friction of a link in Bullet's words, ``<contact><lateral_friction value=.../>``."""
        found = dict.fromkeys(("lateral_friction", "spinning_friction", "rolling_friction"), 0.0)
        for part in element:
            if part.tag in found:
                value = attribute(part, "value", label)
                found[part.tag] = float(numbers(value, 1, f"{label}: {part.tag}")[0])
            else:
                self.notes.leave_out(f"<{part.tag}> of contacts", link)
        if min(found.values()) < 0.0:
            raise ValueError(f"{label}: a coefficient of friction is negative: {found}")
        if element.find("lateral_friction") is not None:
            slide, turn, roll = found.values()
            self.surfaces[link] = Surface(slide, turn, roll, dimensions=6)

    def gazebo_friction(self, element: Element) -> bool:
        """Friction of a link in Gazebo's words, ``<mu1>``; True if the element says no more."""
        link = str(element.get("reference"))
        label = f"{self.path.name}: <gazebo> of {link!r}"
        coefficients = [
            float(numbers(part.get("value") or part.text or "", 1, f"{label}: {part.tag}")[0])
            for part in element
            if part.tag in ("mu1", "mu2")
        ]
        if not coefficients:
            return False
        if min(coefficients) < 0.0:
            raise ValueError(f"{label}: a coefficient of friction is negative: {coefficients}")
        self.surfaces[link] = Surface(coefficients[0])
        return all(part.tag in ("mu1", "mu2") for part in element)

    def geometry(self, element: Element, owner: str, label: str) -> Geometry | None:
        once(element, ("origin", "geometry", "material"), self.notes, owner)
        pose = self.pose(element.find("origin"), label)
        holder = element.find("geometry")
        if holder is None or len(holder) == 0:
            raise ValueError(f"{label} has no <geometry>")
        if len(holder) > 1:
            self.notes.leave_out("second shapes of <geometry>", owner)
        shape = self.shape(holder[0], owner, label)
        if shape is None:
            return None
        material = element.find("material")
        color = None
        if material is not None:
            own = material.find("color")
            color = self.materials.get(material.get("name", ""))
            if own is not None:
                color = color_of(attribute(own, "rgba", label), f"{label}: the color")
        return Geometry(shape, pose.position, pose.orientation, color)

    def shape(self, element: Element, owner: str, label: str) -> Shape | Mesh | None:
        def size(key: str) -> float:
            return float(numbers(attribute(element, key, label), 1, f"{label}: {key}")[0])

        makers: dict[str, Callable[[], Shape]] = {
            "box": lambda: Box(
                *numbers(attribute(element, "size", label), 3, f"{label}: size").tolist(),
                density=WATER,
            ),
            "sphere": lambda: Sphere(size("radius"), density=WATER),
            "cylinder": lambda: Cylinder(size("radius"), size("length"), density=WATER),
            "capsule": lambda: Capsule(size("radius"), size("length"), density=WATER),
        }
        if element.tag in makers:
            try:
                return makers[element.tag]()
            except ValueError as error:
                sizes = " ".join(element.get(key, "") for key in ("radius", "length", "size"))
                if any(not word.strip("0.") for word in sizes.split()):
                    self.notes.leave_out(f"<{element.tag}> of size 0", owner)
                    return None
                raise ValueError(f"{label}: {error}") from None
        if element.tag == "mesh":
            if not self.meshes:
                return None
            name = attribute(element, "filename", label)
            name = mesh_path(name, label, starts=[self.path.parent], within=self.within)
            scale = numbers(element.get("scale", "1 1 1"), 3, f"{label}: scale of the mesh")
            within = "" if self.within is None else str(self.within)
            return Mesh(name, str(self.path.parent), scale, within=within)
        self.notes.leave_out(f"<{element.tag}> as a geometry", owner)
        return None

    # Joints

    def joint(self, element: Element) -> None:
        joint, label = self.joint_of(element)
        ends = {}
        for end in ("parent", "child"):
            found = element.find(end)
            if found is None:
                raise ValueError(f"{label} has no <{end}>")
            ends[end] = attribute(found, "link", label)
        joint.parent, joint.child = ends["parent"], ends["child"]
        joint.at_parent = self.pose(element.find("origin"), label)
        mimic = element.find("mimic")
        if mimic is not None:
            factor, offset = (
                float(numbers(mimic.get(key, default), 1, f"{label}: {key} of mimic")[0])
                for key, default in (("multiplier", "1"), ("offset", "0"))
            )
            leader = attribute(mimic, "joint", label)
            self.found.mimics.append(Mimic(joint.name, leader, factor, offset))
        self.extras(element, set(PARTS))

    def loop_joint(self, element: Element) -> None:
        """Drake's closure: a joint between a frame on each of two links that have places."""
        joint, label = self.joint_of(element)
        poses, links = [], []
        for end in ("link1", "link2"):
            found = element.find(end)
            if found is None:
                raise ValueError(f"{label} has no <{end}>")
            links.append(attribute(found, "link", label))
            poses.append(self.pose(found, label))
        (joint.parent, joint.child), (joint.at_parent, joint.at_child) = links, poses
        joint.closure = True
        self.extras(element, {"link1", "link2", "axis", "limit", "dynamics"})

    def joint_of(self, element: Element) -> tuple[JointEntry, str]:
        """Entries that both kinds of joint have."""
        name = attribute(element, "name", f"{self.path.name}: a {element.tag}")
        label = f"{self.path.name}: joint {name!r}"
        if name in self.found.joints:
            raise ValueError(f"{label} appears twice; names of joints differ")
        kind = attribute(element, "type", label)
        if kind not in KINDS:
            raise ValueError(f"{label} has the unknown type {kind!r}; known are {sorted(KINDS)}")
        joint = self.found.joints[name] = JointEntry(name, KINDS[kind], None, None)
        once(element, PARTS, self.notes, name)
        axis = element.find("axis")
        if axis is not None and KINDS[kind] not in WITHOUT_AXIS:
            joint.axis = numbers(attribute(axis, "xyz", label), 3, f"{label}: the axis")
            length = float(np.linalg.norm(joint.axis))
            if length == 0.0:
                raise ValueError(f"{label}: the axis is zero")
            joint.axis = joint.axis / length
        self.limits(element, joint, kind, label)
        dynamics = element.find("dynamics")
        if dynamics is not None:
            damping, friction = (
                float(numbers(dynamics.get(key, "0"), 1, f"{label}: {key}")[0])
                for key in ("damping", "friction")
            )
            if damping < 0.0:
                raise ValueError(f"{label}: damping is {damping}: it would add energy")
            if friction < 0.0:
                raise ValueError(f"{label}: friction is {friction}: it would add energy")
            joint.damping, joint.friction = damping, friction
            for key in sorted(set(dynamics.attrib) - {"damping", "friction"}):
                self.notes.leave_out(f"{key} of joints", name)
        return joint, label

    def limits(self, element: Element, joint: JointEntry, kind: str, label: str) -> None:
        limit = element.find("limit")
        if limit is None:
            return
        effort, velocity = (
            endless(float(numbers(limit.get(key, "0"), 1, f"{label}: {key} limit", math.inf)[0]))
            for key in ("effort", "velocity")
        )
        for key, most in (("effort", effort), ("velocity", velocity)):
            if most < 0.0:
                raise ValueError(f"{label}: its {key} limit is {most}, and must not be negative")
        if 0.0 < effort < math.inf:  # the format asks for both; 0 means none
            joint.control_limits = [(-effort, effort)]
        if velocity == math.inf:
            pass
        elif velocity > 0.0 and joint.kind in ("revolute", "prismatic"):
            joint.velocity_limits = [(-velocity, velocity)]
        elif velocity > 0.0 and joint.kind != "fixed":
            self.notes.leave_out("limit of velocity", joint.name)
        for key in sorted(set(limit.attrib) - {"lower", "upper", "effort", "velocity"}):
            self.notes.leave_out(f"limit of {key}", joint.name)
        if kind not in ("revolute", "prismatic") or not set(limit.attrib) & {"lower", "upper"}:
            return  # without both numbers a joint is free, not held at 0
        lower, upper = (
            endless(float(numbers(limit.get(key, "0"), 1, f"{label}: {key} limit", math.inf)[0]))
            for key in ("lower", "upper")
        )
        if lower > upper:
            raise ValueError(f"{label}: its lower limit {lower} is above the upper one {upper}")
        if lower == upper:  # exporters write this for joints without limits
            self.notes.leave_out("limits without a range between them", joint.name)
        elif math.isfinite(lower) or math.isfinite(upper):
            joint.limits = [(lower, upper)]

    def transmission(self, element: Element) -> None:
        """Joints that have a motor."""
        for joint in element.findall("joint"):
            self.motors.append(joint.get("name", ""))
        for actuator in element.findall("actuator"):
            reduction = actuator.find("mechanicalReduction")
            if reduction is not None and (reduction.text or "1").strip() not in ("1", "1.0"):
                self.notes.leave_out("<mechanicalReduction>", element.get("name", ""))

    def extras(self, element: Element, known: set[str]) -> None:
        """Note parts of a joint that are not read."""
        for part in element:
            if part.tag not in known:
                self.notes.leave_out(f"<{part.tag}> of joints", element.get("name"))

    def pose(self, element: Element | None, label: str) -> Pose:
        """Pose of an <origin>, or of what has its attributes."""
        if element is None:
            return Pose()
        xyz = numbers(element.get("xyz", "0 0 0"), 3, f"{label}: xyz")
        rpy = numbers(element.get("rpy", "0 0 0"), 3, f"{label}: rpy")
        if "quat_xyzw" not in element.attrib:
            return Pose(xyz, rotation.from_rpy(rpy))
        if "rpy" in element.attrib:
            raise ValueError(f"{label}: an origin has rpy and quat_xyzw; leave one of them out")
        x, y, z, w = numbers(attribute(element, "quat_xyzw", label), 4, f"{label}: quat_xyzw")
        if not (x or y or z or w):
            raise ValueError(f"{label}: quat_xyzw is zero, and no orientation")
        return Pose(xyz, rotation.normalized(np.array([w, x, y, z])))

    # The whole

    def check(self) -> None:
        """Hold the whole to be a tree of links that are there, and find its root."""
        found, name = self.found, self.path.name
        if not found.links:
            raise ValueError(f"{name} has no link")
        for owner, surface in self.surfaces.items():
            if owner in found.links:
                shapes = found.links[owner].collisions
                shapes[:] = [replace(one, surface=surface) for one in shapes]
        parents: dict[str, str] = {}
        for joint in found.joints.values():
            for link in (joint.parent, joint.child):
                if link not in found.links:
                    raise ValueError(
                        f"{name}: joint {joint.name!r} names no link: {link!r}; links are "
                        f"{list(found.links)}"
                    )
            if joint.parent == joint.child:
                raise ValueError(
                    f"{name}: joint {joint.name!r} joins link {joint.child!r} with itself"
                )
            if joint.closure:
                continue
            child, parent = str(joint.child), str(joint.parent)
            if child in parents:
                raise ValueError(
                    f"{name}: link {child!r} has two parent joints, one is {joint.name!r}; close "
                    "loops with <loop_joint>"
                )
            parents[child] = parent
        for motor in self.motors:
            if motor in found.joints:
                found.joints[motor].actuated = True
            else:
                self.notes.leave_out("<transmission> of no joint", motor)
        found.roots = [link for link in found.links if link not in parents]
        if not found.roots:
            raise ValueError(
                f"{name}: the joints of {sorted(found.links)} form a cycle; use <loop_joint>"
            )
        if len(found.roots) != 1:
            raise ValueError(
                f"{name}: a URDF file has one link without a parent, this has {found.roots}"
            )
        reached, waiting = {found.roots[0]}, True
        while waiting:
            new = {c for c, p in parents.items() if p in reached} - reached
            reached |= new
            waiting = bool(new)
        if len(reached) < len(found.links):
            lost = sorted(set(found.links) - reached)
            raise ValueError(f"{name}: the joints of {lost} form a cycle; use <loop_joint>")
