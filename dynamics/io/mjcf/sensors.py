"""Sensors of MuJoCo's model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics import rotation
from dynamics.io.description import Pose, SensorEntry
from dynamics.io.mjcf.options import output_at

if TYPE_CHECKING:
    from dynamics.io.mjcf.reader import Reader

__all__ = ["measured_joints", "read_sensor"]

#: Sensors on a site: kind here and quantity.
ON_SITE = {
    "ACCELEROMETER": ("imu", "specific force"),
    "GYRO": ("imu", "angular velocity"),
    "VELOCIMETER": ("own frame", "velocity"),
    "FORCE": ("wrench", "force"),
    "TORQUE": ("wrench", "torque"),
    "TOUCH": ("contact", "normal force"),
    "RANGEFINDER": ("range", "distance"),
}
#: Sensors on any frame.
ON_FRAME = {
    "FRAMEPOS": "position",
    "FRAMEQUAT": "orientation",
    "FRAMELINVEL": "velocity",
    "FRAMEANGVEL": "angular velocity",
    "FRAMEXAXIS": "x axis",
    "FRAMEYAXIS": "y axis",
    "FRAMEZAXIS": "z axis",
}
#: Sensors on a body with all that hangs on it.
ON_SUBTREE = {
    "SUBTREECOM": "center of mass",
    "SUBTREELINVEL": "velocity",
    "SUBTREEANGMOM": "angular momentum",
}
ON_JOINT = {"JOINTPOS": "position", "JOINTVEL": "velocity"}
ON_TENDON = {"TENDONPOS": "position", "TENDONVEL": "velocity"}
#: Sensors of forces of actuators: of one, and of all of a joint or a tendon.
OF_ACTUATOR = ("ACTUATORFRC", "JOINTACTFRC", "TENDONACTFRC")
#: Joints and tendons of one coordinate.
ALONE = ("revolute", "prismatic", "tendon")
#: Kinds of joints whose coordinates are those of the file's hinges and slides, in this order.
IN_ORDER = ("revolute", "prismatic", "universal")


def measured_joints(reader: Reader) -> set[str]:
    """Joints whose coordinates or rates a sensor of the file reads.

    Parameters
    ----------
    reader : Reader

    Returns
    -------
    set of str
    """
    m, kinds = reader.model, reader.mj.mjtSensor
    of_joint = (kinds.mjSENS_JOINTPOS, kinds.mjSENS_JOINTVEL)
    numbers = [k for k in range(m.nsensor) if kinds(m.sensor_type[k]) in of_joint]
    return {reader.joint_name[m.sensor_objid[k]] for k in numbers}


def read_sensor(reader: Reader, k: int) -> None:
    """One sensor, or a note that it is left out.

    Parameters
    ----------
    reader : Reader
        Its description gets the sensor.
    k : int
        Number of the sensor in MuJoCo's model.
    """
    m, name = reader.model, reader.name("sensor", k)
    kind = reader.mj.mjtSensor(m.sensor_type[k]).name.removeprefix("mjSENS_")
    entry = _entry(reader, k, name, kind)
    if entry is None:
        reader.notes.leave_out(f"sensors of type {kind.lower()}", name)
        return
    entry.noise = float(m.sensor_noise[k])
    cutoff = float(m.sensor_cutoff[k])
    if entry.kind == "range" and cutoff > 0.0:
        entry.largest = cutoff
    elif cutoff > 0.0:
        reader.notes.leave_out("cutoffs of sensors", name)
    for what in ("sensor_delay", "sensor_interval"):
        values = getattr(m, what, None)
        if values is not None and np.any(values[k] != 0.0):
            reader.notes.leave_out("delays and intervals of sensors", name)
    if entry.kind == "contact":
        reader.notes.merge("touch sensors feel all contacts of their body", name)
    if entry.kind == "wrench":
        entry.joint = _joint_above(reader, int(m.site_bodyid[m.sensor_objid[k]]))
        if entry.joint is None:
            reader.notes.leave_out("force and torque sensors of bodies without a joint", name)
            return
    reader.found.sensors.append(entry)


def _entry(reader: Reader, k: int, name: str, kind: str) -> SensorEntry | None:
    """Sensor of a known type; None for others."""
    m, objects = reader.model, reader.mj.mjtObj
    owner, at = objects(m.sensor_objtype[k]), int(m.sensor_objid[k])
    if kind in ON_JOINT:
        found = _coordinate(reader, reader.joint_name[at])
        if found is None:
            return None
        made = SensorEntry(name, "joint", ON_JOINT[kind], joint=found[0], coordinate=found[1])
        if kind == "JOINTPOS":
            made.bias = float(m.qpos0[m.jnt_qposadr[at]])
        return made
    if kind in OF_ACTUATOR:
        return _motor_force(reader, kind, at, name)
    if kind in ON_TENDON:
        tendon = reader.tendon_name[at]
        if tendon not in reader.found.tendons:
            return None
        return SensorEntry(name, "joint", ON_TENDON[kind], joint=tendon)
    if kind in ON_SUBTREE:
        links = _subtree(reader, at)
        if links is None:
            return None
        return SensorEntry(name, "centroidal", ON_SUBTREE[kind], links=links)
    if kind == "RANGEFINDER" and not _is_distance(reader, k):
        return None
    if kind in ON_SITE and owner == objects.mjOBJ_SITE:
        what, quantity = ON_SITE[kind]
    elif kind in ON_FRAME:
        what, quantity = "frame", ON_FRAME[kind]
    else:
        return None
    place = _place(reader, owner, at)
    if place is None:
        return None
    made = SensorEntry(name, what, quantity, link=place[0], pose=place[1])
    if what == "frame" and m.sensor_refid[k] >= 0:
        made.reference = _place(reader, objects(m.sensor_reftype[k]), int(m.sensor_refid[k]))
        if made.reference is None:
            return None
    return made


def _is_distance(reader: Reader, k: int) -> bool:
    """True if a rangefinder reads one distance, and no points or normals of rays."""
    m, mj = reader.model, reader.mj
    fields = getattr(mj, "mjtRayDataField", None)  # since MuJoCo 3.4
    alone = fields is None or int(m.sensor_intprm[k, 0]) == 1 << int(fields.mjRAYDATA_DIST)
    return bool(m.sensor_dim[k] == 1 and alone)


def _motor_force(reader: Reader, kind: str, at: int, name: str) -> SensorEntry | None:
    """Sensor of the force of a joint's or tendon's motor, if it is the only actuator there.

    That of an actuator is the force before its gear; of joints and tendons, the force after it.
    """
    m, found = reader.model, reader.found
    if kind == "ACTUATORFRC":
        one = next((x for x in found.actuators if x.name == reader.actuator_name[at]), None)
        if one is None or m.actuator_gear[output_at(m, at), 0] != 1.0:
            return None
        joint = str(one.joint)
    else:
        joint = (reader.joint_name if kind == "JOINTACTFRC" else reader.tendon_name)[at]
    owner: Any = found.joints.get(joint, found.tendons.get(joint))
    acting = [x for x in found.actuators if joint in (x.joint, *x.others)]
    shared = kind == "JOINTACTFRC" and (
        m.jnt_actgravcomp[at] or any(joint in one.joints for one in found.tendons.values())
    )
    if owner is None or owner.kind not in ALONE or len(acting) != 1 or acting[0].others or shared:
        return None
    if acting[0].muscle is not None and kind == "ACTUATORFRC":
        return None
    return SensorEntry(name, "joint", "motor force", joint=joint)


def _place(reader: Reader, kind: Any, at: int) -> tuple[str | None, Pose] | None:
    """Link of an object, None for the world, and its pose in the link's frame."""
    m, objects = reader.model, reader.mj.mjtObj
    places: dict[Any, Callable[[], tuple[int, Any, Any]]] = {
        objects.mjOBJ_SITE: lambda: (m.site_bodyid[at], m.site_pos[at], m.site_quat[at]),
        objects.mjOBJ_GEOM: lambda: (m.geom_bodyid[at], m.geom_pos[at], m.geom_quat[at]),
        objects.mjOBJ_CAMERA: lambda: (m.cam_bodyid[at], m.cam_pos[at], m.cam_quat[at]),
        objects.mjOBJ_BODY: lambda: (at, m.body_ipos[at], m.body_iquat[at]),
        objects.mjOBJ_XBODY: lambda: (at, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])),
    }
    if kind not in places:
        return None
    body, x, q = places[kind]()
    return reader.links[body], Pose(np.array(x, np.float64), rotation.normalized(q))


def _subtree(reader: Reader, body: int) -> tuple[str, ...] | None:
    """Links of a body and of all that hangs on it; None where some have mass and do not move."""
    m, inside = reader.model, {body}
    for i in range(body + 1, m.nbody):  # parents come first
        if int(m.body_parentid[i]) in inside:
            inside.add(i)
    links = {i: reader.links[i] for i in inside if m.body_mass[i] > 0.0}
    if not links or None in links.values():
        return None
    return tuple(str(link) for link in links.values())


def _coordinate(reader: Reader, name: str) -> tuple[str, int] | None:
    """Joint here and its coordinate that one of the file's is; None where there is none."""
    for joint in reader.found.joints.values():
        names = joint.name.split("+") if joint.name != name else [name]
        if name in names and joint.kind in IN_ORDER:
            return joint.name, names.index(name)
    return None


def _joint_above(reader: Reader, body: int) -> str | None:
    """Joint that holds a body on what is above it."""
    link = reader.links[body]
    for joint in reader.found.joints.values():
        if joint.child == link and not joint.closure and joint.kind != "floating":
            return joint.name
    return None
