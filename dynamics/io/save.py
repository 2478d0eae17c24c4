"""`save_urdf`: what a URDF file can say of a mechanism."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

import networkx as nx
import numpy as np
from numpy.typing import NDArray

import graphsys as gs
from dynamics import rotation
from dynamics.io.description import Pose
from dynamics.io.notes import Notes
from dynamics.mechanism import Mechanism
from dynamics.parts.bodies import WORLD, Body
from dynamics.parts.couplings import counters
from dynamics.parts.geometry import Geometry, Mesh, Surface
from dynamics.parts.joints import Joint
from dynamics.parts.meshes import found as file_of
from dynamics.parts.options import unused
from dynamics.parts.shapes import Box, Capsule, Compound, Round, Sphere
from dynamics.parts.tendons import sliders_of

__all__ = ["save_urdf"]

Float = NDArray[np.float64]
KINDS = {
    "fixed": "fixed",
    "revolute": "continuous",  # "revolute" with limits
    "prismatic": "prismatic",
    "planar axis": "planar",
    "floating": "floating",
    "spherical": "spherical",
}
#: Parts of a mechanism that the format has no words for.
LEFT_OUT = (
    "springs", "contacts", "tendons", "thrusters", "wrenches", "potentials", "obstacles", "sensors",
)  # fmt: skip
FREE = 1e16  #: limit of a prismatic joint without one, as in SDF; the format asks for numbers
SAME = 1e-9  #: m and rad, of frames that are one up to rounding


def save_urdf(mechanism: Mechanism, path: str | Path, name: str = "robot") -> None:
    """Write a mechanism as a URDF file.

    Loops are written as Drake's ``<loop_joint>``, ball joints as type "spherical"; `dynamics.load`
    reads both, other programs may not. If the world is a parent, the root is a link called "world",
    which `dynamics.load` fixes. Motors are written as transmissions, frames as links without mass.
    Springs, drag, contacts, feedback of servos and gravity are left out, with an
    `UnsupportedElementWarning`.

    Parameters
    ----------
    mechanism : Mechanism
    path : str or Path
    name : str, optional
        Name of the robot.

    Raises
    ------
    ValueError
        For a joint that URDF cannot express, names that are not valid XML text or equal as text,
        and bodies that no joints connect.
    """
    notes, mechanism = Notes(Path(path)), _without_planes(mechanism)
    _check_names(mechanism)
    for joint in mechanism.joints.values():
        if joint.kind not in KINDS:
            raise ValueError(f"joint {joint.name!r} is {joint.kind}, which URDF cannot express")
    tree, root = _tree(mechanism)
    frames: dict[Any, Pose] = {WORLD.name: Pose()}  # of links in their bodies
    for joint, down in tree:
        end = joint.child if down else joint.parent
        frames[end.name] = Pose(joint.child_point if down else joint.parent_point)
    own = mechanism.frames.get(root)
    if root not in frames and own is not None and own.body.name == root:
        frames[root] = Pose(own.position, own.orientation)
    frames.setdefault(root, Pose())
    robot = Element("robot", name=name)
    if root == WORLD.name:
        SubElement(robot, "link", name=WORLD.name)
    for body in mechanism.bodies.values():
        _link(robot, body, frames[body.name], notes)
    downwards = {joint.name: down for joint, down in tree}
    for joint in mechanism.joints.values():  # in this order: controls are in that of joints
        if joint.name not in downwards:
            _loop(robot, joint, frames, notes)
            continue
        down = downwards[joint.name]
        element = SubElement(robot, "joint", name=str(joint.name), type=_kind(joint))
        ends = (joint.parent, joint.child) if down else (joint.child, joint.parent)
        for tag, end in zip(("parent", "child"), ends):
            SubElement(element, tag, link=str(end.name))
        origin, axis = _ends(joint, frames)[0], _axis(joint)
        if not down:  # the file's child is our parent: the motion runs backwards
            back = Pose(joint.child_point, rotation.conjugate(joint.offset))
            origin = frames[joint.child.name].inverse() @ back
            axis = -rotation.rotate(joint.offset, axis)
        _origin(element, origin)
        _properties(element, joint, axis, notes)
    _add_frames(robot, mechanism, frames, notes)
    elements = {one.get("name"): one for one in robot.findall("joint")}
    for one in mechanism.couplings.values():
        follower = elements.get(str(one.follower))
        if follower is None or follower.find("mimic") is not None:
            notes.leave_out("couplings of a joint on a loop, or of one that has another", one.name)
        else:
            numbers: dict[str, Any] = {"multiplier": repr(one.ratio), "offset": repr(one.offset)}
            SubElement(follower, "mimic", joint=str(one.leader), **numbers)
    for joint in mechanism.joints.values():
        if joint.actuated:
            _add_motor(robot, str(joint.name))
    for what in LEFT_OUT:
        for one in getattr(mechanism, what):
            if one not in counters(mechanism.couplings):
                notes.leave_out(what, one)
    if mechanism.gravity.tolist() != [0.0, 0.0, -9.81]:
        notes.leave_out("gravity other than (0, 0, -9.81)", _numbers(mechanism.gravity))
    indent(robot)
    with gs.whole_file(path) as temporary:
        ElementTree(robot).write(temporary, encoding="utf-8", xml_declaration=True)
    notes.emit(stacklevel=2)


def _loop(robot: Element, joint: Joint, frames: dict[Any, Pose], notes: Notes) -> None:
    """Joint that closes a loop."""
    element = SubElement(robot, "loop_joint", name=str(joint.name), type=_kind(joint))
    at_parent, at_child = _ends(joint, frames)
    for tag, end, pose in (("link1", joint.parent, at_parent), ("link2", joint.child, at_child)):
        _place(SubElement(element, tag, link=str(end.name)), pose)
    _properties(element, joint, _axis(joint), notes)


def _check_names(mechanism: Mechanism) -> None:
    """Refuse what has no bodies, and names that would not come back from a file."""
    if not mechanism.bodies:
        raise ValueError("the mechanism has no bodies; a URDF file has one link at least")
    for kind in ("bodies", "joints", "frames"):
        labels: dict[str, Any] = {}
        for name in getattr(mechanism, kind):
            label = str(name)
            if label != " ".join(label.split()) or not label or not label.isprintable():
                raise ValueError(
                    f"the name {name!r} among {kind} is empty, or holds blanks or signs that a "
                    "URDF file does not keep; give it another"
                )
            if label in labels:
                raise ValueError(
                    f"the {kind} {labels[label]!r} and {name!r} have the same name in a URDF file; "
                    "give one of them another"
                )
            labels[label] = name


def _add_frames(
    robot: Element, mechanism: Mechanism, frames: dict[Any, Pose], notes: Notes
) -> None:
    """Links without mass for the frames that are no link's own."""
    links = {one.get("name") for one in robot.findall("link")}
    joints = {one.get("name") for one in robot}
    for name, frame in mechanism.frames.items():
        here = Pose(frame.position, frame.orientation)
        if frame.body.name not in frames or (frame.body is WORLD and WORLD.name not in links):
            notes.leave_out("frames of the world, which is no link", name)
            continue
        pose = frames[frame.body.name].inverse() @ here
        turn = rotation.to_rotation_vector(pose.orientation)
        if str(name) in links:
            moved = max(abs(pose.position).max(), abs(turn).max()) > SAME
            if moved or str(name) != str(frame.body.name):
                notes.leave_out("frames with names of links that are elsewhere", name)
            continue
        links.add(str(name))
        SubElement(robot, "link", name=str(name))
        label = unused(f"{name} frame", joints)
        joints.add(label)
        element = SubElement(robot, "joint", name=label, type="fixed")
        SubElement(element, "parent", link=str(frame.body.name))
        SubElement(element, "child", link=str(name))
        _origin(element, pose)


def _without_planes(mechanism: Mechanism) -> Mechanism:
    """The mechanism without what contacts of convex shapes, and tendons, have added to it."""
    planes = [one.plane for one in mechanism.contacts.values() if one.plane is not None]
    bodies, ties = {plane.body.name for plane in planes}, {plane.tie.name for plane in planes}
    bodies |= {*sliders_of(mechanism)}
    ties |= {*mechanism.tendons}
    found = mechanism.copy()
    for name in bodies:
        del found.bodies[name]
    for name in ties:
        del found.joints[name]
    return found


def _tree(mechanism: Mechanism) -> tuple[list[tuple[Joint, bool]], Any]:
    """Joints of a spanning tree with whether they lead from parent to child, and the root."""
    graph = mechanism.graph()
    held = any(WORLD in (j.parent, j.child) for j in mechanism.joints.values())
    root = WORLD.name if held else next(iter(mechanism.bodies))
    if not held:
        graph.remove_node(WORLD.name)
    if not nx.is_connected(graph):
        parts = [sorted(map(str, part)) for part in nx.connected_components(graph)]
        raise ValueError(f"a URDF file holds one robot; no joints connect the bodies {parts}")
    tree: list[tuple[Joint, bool]] = []
    reached, waiting = {root}, [root]
    for here in waiting:  # parents before children of joints, so that few run backwards
        for joint in sorted(mechanism.joints.values(), key=lambda j: j.parent.name != here):
            down = joint.parent.name == here
            other = (joint.child if down else joint.parent).name
            if here in (joint.parent.name, joint.child.name) and other not in reached:
                tree.append((joint, down))
                reached.add(other)
                waiting.append(other)
    return tree, root


def _kind(joint: Joint) -> str:
    if joint.kind == "revolute" and joint.limits is not None:
        return "revolute"
    return KINDS[joint.kind]


def _ends(joint: Joint, frames: dict[Any, Pose]) -> tuple[Pose, Pose]:
    """The joint's frame, along the child's axes, in the links of parent and child."""
    parent, child = frames[joint.parent.name], frames[joint.child.name]
    at_parent = parent.inverse() @ Pose(joint.parent_point, joint.offset)
    return at_parent, child.inverse() @ Pose(joint.child_point)


def _axis(joint: Joint) -> Float:
    """Axis in the joint's frame."""
    if joint.kind == "prismatic":
        back = rotation.conjugate(joint.offset)
        return np.asarray(rotation.rotate(back, joint.positions[0].axis))
    if joint.kind in ("revolute", "planar axis"):
        return np.asarray(joint.positions[-1].axis)
    return np.array([1.0, 0.0, 0.0])


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(x) + 0.0) for x in values)


def _place(element: Element, pose: Pose) -> None:
    element.set("xyz", _numbers(pose.position))
    element.set("rpy", _numbers(rotation.to_rpy(pose.orientation)))


def _origin(element: Element, pose: Pose) -> None:
    _place(SubElement(element, "origin"), pose)


def _link(robot: Element, body: Body, frame: Pose, notes: Notes) -> None:
    """Link of a body; its frame lies at the joint that leads to it."""
    link = SubElement(robot, "link", name=str(body.name))
    inertial = SubElement(link, "inertial")
    _origin(inertial, frame.inverse())
    SubElement(inertial, "mass", value=repr(body.mass))
    pairs = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2),
             ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))  # fmt: skip
    moments = {key: repr(float(body.inertia[i, j])) for key, i, j in pairs}
    SubElement(inertial, "inertia", moments)
    here = Geometry(body.shape, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
    own = (here,) if body.shape is not None else ()
    for tag, shown in (("visual", body.visuals or own), ("collision", body.collisions or own)):
        for geometry in shown:
            _geometry(link, tag, geometry, frame, body, notes)
    _friction(link, body, notes)
    for what, usual in (("drag", 0.0), ("spin_drag", 0.0), ("gravity_scale", 1.0)):
        if getattr(body, what) != usual:
            notes.leave_out(what, body.name)


def _friction(link: Element, body: Body, notes: Notes) -> None:
    """Friction of a link in Bullet's words, where it is that of all its collision shapes."""
    surfaces = {one.surface for one in body.collisions}
    if surfaces <= {None, Surface()}:
        return
    surface = surfaces.pop()
    if surfaces or surface is None or (surface.kind, surface.touches) != (1, 1):
        notes.leave_out("friction that differs between shapes, and filters", body.name)
        return
    if surface.priority:
        notes.leave_out("priorities of surfaces", body.name)
    found = surface.against(Surface(0.0, dimensions=1))
    words = {"friction": "lateral", "torsional": "spinning", "rolling": "rolling"}
    contact = SubElement(link, "contact")
    for what, value in found.items():
        if value or what == "friction":
            SubElement(contact, f"{words[what]}_friction", value=repr(float(value)))


def _geometry(
    link: Element, tag: str, geometry: Geometry, frame: Pose, body: Body, notes: Notes
) -> None:
    pose = frame.inverse() @ Pose(geometry.position, geometry.orientation)
    shape = geometry.shape
    if isinstance(shape, Compound):
        for part in shape.parts:
            place = Pose(geometry.position, geometry.orientation) @ Pose(
                part.position, part.orientation
            )
            inner = Geometry(part.shape, place.position, place.orientation, geometry.color)
            _geometry(link, tag, inner, frame, body, notes)
        return
    if isinstance(shape, Round):
        pose = pose @ Pose(np.zeros(3), rotation.align((0.0, 0.0, 1.0), shape.axis))
    entry: tuple[str, dict[str, str]] | None = None
    if isinstance(shape, Box):
        entry = "box", {"size": _numbers((shape.x, shape.y, shape.z))}
    elif isinstance(shape, Sphere):
        entry = "sphere", {"radius": repr(shape.radius)}
    elif isinstance(shape, Round) and shape.radius > 0.0:
        kind = "capsule" if isinstance(shape, Capsule) else "cylinder"
        entry = kind, {"radius": repr(shape.radius), "length": repr(shape.length)}
    elif isinstance(shape, Mesh) and shape.path:
        if not _is_found(shape, notes.path.parent):
            notes.leave_out("meshes that are not found from the folder of the file", shape.path)
        entry = "mesh", {"filename": shape.path, "scale": _numbers(shape.scale)}
    if entry is None:
        notes.leave_out(f"{tag} of type {type(shape).__name__}", body.name)
        return
    element = SubElement(link, tag)
    _origin(element, pose)
    SubElement(SubElement(element, "geometry"), entry[0], entry[1])
    if geometry.color is not None and tag == "visual":
        material = SubElement(element, "material", name=f"color of {body.name}")
        SubElement(material, "color", rgba=_numbers(geometry.color))


def _is_found(mesh: Mesh, folder: Path) -> bool:
    """True if a file in a folder may name a mesh as it is named."""
    try:
        return file_of(replace(mesh, folder=str(folder))) is not None
    except ValueError:  # outside the folder that holds it
        return False


def _add_motor(robot: Element, joint: str) -> None:
    """Transmission of a joint whose control is a force."""
    motor = SubElement(robot, "transmission", name=f"{joint} transmission")
    SubElement(motor, "type").text = "transmission_interface/SimpleTransmission"
    SubElement(
        SubElement(motor, "joint", name=joint), "hardwareInterface"
    ).text = "hardware_interface/EffortJointInterface"
    actuator = SubElement(motor, "actuator", name=f"{joint} motor")
    SubElement(actuator, "mechanicalReduction").text = "1"


def _most(joint: Joint, what: str, notes: Notes) -> float:
    """Largest control or rate where it is the same both ways, 0 where none is given."""
    limits = getattr(joint, what)
    if limits is None:
        return 0.0
    low, high = map(float, limits[0])
    if len(limits) > 1 or not 0.0 < -low == high < np.inf:
        notes.leave_out(f"{what} that are not (-most, most)", joint.name)
        return 0.0
    return high


def _properties(element: Element, joint: Joint, axis: Float, notes: Notes) -> None:
    """Axis, limits and damping."""
    if joint.kind in ("revolute", "prismatic", "planar axis"):
        SubElement(element, "axis", xyz=_numbers(axis))
    limits, single = joint.limits, joint.kind in ("revolute", "prismatic")
    effort, velocity = (_most(joint, what, notes) for what in ("control_limits", "velocity_limits"))
    if single and (limits is not None or joint.kind == "prismatic" or effort or velocity):
        limit = SubElement(element, "limit")
        if limits is not None or joint.kind == "prismatic":
            low, high = (-FREE, FREE) if limits is None else limits[0]
            limit.set("lower", repr(float(max(low, -FREE))))
            limit.set("upper", repr(float(min(high, FREE))))
        limit.set("effort", repr(effort))
        limit.set("velocity", repr(velocity))
    if limits is not None and not single:
        notes.leave_out(f"limits of {joint.kind} joints", joint.name)
    if joint.damping.any() or joint.friction.any():
        dynamics = SubElement(element, "dynamics")
        for what in ("damping", "friction"):
            values = getattr(joint, what)
            if values.any():
                dynamics.set(what, repr(float(values[0])))
            if np.ptp(values) > 0.0:
                notes.leave_out(f"{what} that differs between axes", joint.name)
    for what in ("stiffness", "armature", "compliance", "constraint_damping", "servo"):
        value = getattr(joint, what)
        if value is not None and (what == "servo" or np.any(value)):
            notes.leave_out(f"{what} of joints", joint.name)
