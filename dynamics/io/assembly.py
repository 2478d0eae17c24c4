"""From what a file says to a mechanism: links that cannot stand alone merged, frames kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.io.description import (
    Description,
    JointEntry,
    Pose,
    RopeEntry,
    TendonEntry,
    ThrusterEntry,
)
from dynamics.io.groups import Group, grouped
from dynamics.io.mimic import follow
from dynamics.io.notes import Notes
from dynamics.io.planar_loops import straighten
from dynamics.io.sensors import add_sensor
from dynamics.kernels.rows import rows as kinds
from dynamics.mechanism import Mechanism
from dynamics.parts import joint_types, special_joints
from dynamics.parts.bodies import WORLD
from dynamics.parts.forces import Spring, Thruster
from dynamics.parts.geometry import Frame, Geometry
from dynamics.parts.joints import POINTS, Joint, Row, basis, free_rows
from dynamics.parts.joints import joint as joint_of
from dynamics.parts.options import unused, with_new_words
from dynamics.parts.servos import PositionServo, VelocityServo
from dynamics.parts.tendons import Wrap, run_length

__all__ = ["Motors", "assembled"]

Float = NDArray[np.float64]
SERVOS = (PositionServo, VelocityServo)
#: A motor whose control is a force, also where the file has a servo.
MOTOR = "motor"
Motor = bool | str | PositionServo | VelocityServo
Motors = Motor | Iterable[str] | Mapping[str, Motor]
MAKERS: dict[str, Callable[..., Any]] = {
    "fixed": joint_types.Fixed,
    "revolute": joint_types.Revolute,
    "prismatic": joint_types.Prismatic,
    "cylindrical": joint_types.Cylindrical,
    "fixed orientation": joint_types.FixedOrientation,
    "free axis": joint_types.FreeAxis,
    "floating": joint_types.Floating,
    "spherical": joint_types.Spherical,
    "universal": special_joints.Universal,
}
#: Properties of joints that can be left out, and their values without them.
LEFT_OUT: dict[str, float | None] = {
    "limits": None,
    "velocity_limits": None,
    "control_limits": None,
    "friction": 0.0,
    "armature": 0.0,
    "damping": 0.0,
    "stiffness": 0.0,
}
#: Joints that slide in a plane, and their names in the table of joints.
PLANES = {"planar": "planar axis", "planar without turning": "planar"}
WITHOUT_AXIS = {
    joint_types.Fixed, joint_types.FixedOrientation, joint_types.Floating, joint_types.Spherical,
}  # fmt: skip


def assembled(
    found: Description,
    notes: Notes,
    *,
    base: str,
    root: Pose,
    gravity: Any,
    actuated: Motors | None,
    merge_fixed: bool,
    least_radius: float | None,
    without: Iterable[str],
) -> Mechanism:
    """Make the mechanism; see `dynamics.load`.

    Parameters
    ----------
    found : Description
    notes : Notes
        Gets what is left out or merged.
    base : {"floating", "fixed"}
    root : Pose
        Of the root's frame in the world.
    gravity : array_like, shape (3,)
    actuated : bool, servo, iterable of str, mapping or None
    merge_fixed : bool
    least_radius : float or None
    without : iterable of str
        Keywords of joints, keys of `LEFT_OUT`.

    Returns
    -------
    Mechanism

    Raises
    ------
    ValueError
        If a link that moves has no mass, or a name is that of no joint.
    """
    if base == "fixed":
        for link in found.roots:
            name = unused(f"world-{link}", {*found.joints, *found.links})
            here = root @ found.places.get(link, Pose())
            found.joints[name] = JointEntry(name, "fixed", None, link, here)
    _leave_out(found, without)
    _choose_motors(found, actuated)
    groups = grouped(found, notes, merge_fixed, least_radius)
    straighten((one for one in found.joints.values() if not _inside(one, groups)), groups, notes)
    if WORLD.name in found.joints:
        raise ValueError(
            f"{notes.path.name}: joint {WORLD.name!r} has the name of the world; give it another"
        )
    mechanism = Mechanism(gravity)
    taken = {joint.name for joint in found.joints.values() if not _inside(joint, groups)}
    bodies: dict[str, Any] = {}
    for group in groups.values():
        if group.name not in bodies:
            bodies[group.name] = _add_body(mechanism, group, taken, base, found, root, notes)
    for name, group in groups.items():
        pose = group.pose_of(name)
        body = bodies[group.name]
        mechanism.frames[name] = Frame(name, body, pose.position, pose.orientation)
    for mark, (owner, place) in found.frames.items():
        body, pose = WORLD, place
        if owner is not None:
            body, pose = bodies[groups[owner].name], groups[owner].pose_of(owner) @ place
        if mark in mechanism.frames:
            mark = unused(f"{mark} site", {*mechanism.frames, *found.frames})
            notes.merge("frames with names of links are now called", mark)
        mechanism.frames[mark] = Frame(mark, body, pose.position, pose.orientation)
    for joint in found.joints.values():
        if not _inside(joint, groups):
            mechanism.add_joint(_joint(joint, groups, bodies))
    for rope in found.ropes:
        _add_rope(mechanism, rope, groups, bodies, notes)
    for tendon in found.tendons.values():
        _add_tendon(mechanism, tendon, groups, bodies, notes)
    for thruster in found.thrusters:
        _add_thruster(mechanism, thruster, groups, bodies, notes)
    for one in found.actuators:
        if {one.joint, *one.others} & {*mechanism.joints, *mechanism.thrusters}:
            mechanism.actuators[one.name] = one
    mechanism.keyframes.update(found.keyframes)
    for name, look in found.scenery.items():
        mechanism.scenery[unused(name, mechanism.scenery)] = look
    for mimic in found.mimics:
        follow(mechanism, mimic, notes)
    for sensor in found.sensors:
        add_sensor(mechanism, sensor, groups, bodies, notes)
    return mechanism


def _choose_motors(found: Description, actuated: Motors | None) -> None:
    """Set which joints take controls; None leaves it as the file says."""
    if actuated is None:
        return
    chosen: dict[str, Any]
    if isinstance(actuated, (bool, *SERVOS)):
        led = {one.joint for one in found.mimics if one.multiplier and one.leader in found.joints}
        free = (one for one in found.joints.values() if one.kind not in ("fixed", "floating"))
        chosen = {
            joint.name: actuated
            for joint in free
            if not joint.closure
            and (joint.name not in led or joint.actuated or joint.servo is not None)
        }
    elif isinstance(actuated, Mapping):
        chosen = dict(actuated)
    elif isinstance(actuated, Iterable):
        chosen = dict.fromkeys({actuated} if isinstance(actuated, str) else set(actuated), True)
    else:
        raise TypeError(f"actuated is {actuated!r}, and must be True, False, a servo or names")
    unknown = set(chosen) - {*found.joints, *found.tendons}
    if unknown:
        raise ValueError(f"actuated names no joint: {sorted(unknown)}; there are "
                         f"{list(found.joints)}")  # fmt: skip
    for name, motor in chosen.items():
        if not (isinstance(motor, (bool, *SERVOS)) or motor == MOTOR):
            raise TypeError(
                f'actuated of joint {name!r} is {motor!r}, and must be True, False, "motor" or a '
                "servo"
            )
    replaced = {name for name, motor in chosen.items() if isinstance(motor, SERVOS)}
    driven: list[tuple[str, Any]] = [*found.joints.items(), *found.tendons.items()]
    for name, one in driven:
        if chosen.get(name) == MOTOR and one.servo is not None:
            replaced.add(name)
            one.control_limits, one.servo = _range_of_forces(one.servo, one.control_limits), None
    for joint in found.joints.values():
        _drive(joint, chosen.get(joint.name, False))
    for tendon in found.tendons.values():
        kept = actuated is True and (tendon.actuated or tendon.servo is not None)
        if not kept:
            _drive(tendon, chosen.get(tendon.name, False))
    found.actuators = [  # commands of the file are none of other servos
        one for one in found.actuators if not replaced & {str(x) for x in (one.joint, *one.others)}
    ]


def _range_of_forces(servo: Any, given: Float | None) -> Float | None:
    """Forces on its joint that a servo of a file can give, shape (k, 2); those given if any."""
    limit = np.asarray(servo.force_limit, dtype=float)
    if np.isinf(limit).all():
        return given
    ends = limit if limit.ndim == 2 else np.stack([-limit, limit], axis=-1).reshape(-1, 2)
    count = max(np.size(getattr(servo, "stiffness", 0.0)), np.size(servo.damping), len(ends))
    return np.sort(servo.gear * np.broadcast_to(ends, (count, 2)), axis=1)


def _drive(joint: JointEntry | TendonEntry, motor: Any) -> None:
    """Give a joint or tendon a motor, that of the file where it has one, a servo, or none."""
    if isinstance(motor, SERVOS):
        if joint.control_limits is not None and np.isinf(motor.force_limit).all():
            most = np.abs(joint.control_limits).max(axis=1) / abs(motor.gear)
            motor = replace(motor, force_limit=most)
        joint.servo, joint.actuated = motor, False
        return
    if not motor:
        joint.servo = None
    joint.actuated = bool(motor) and joint.servo is None


def _leave_out(found: Description, without: Iterable[str]) -> None:
    """Make all joints as if the file did not give them these properties."""
    given = {without} if isinstance(without, str) else set(without)
    names = set(with_new_words(dict.fromkeys(given), "joints without properties"))
    unknown = names - set(LEFT_OUT)
    if unknown:
        raise ValueError(f"without names no property: {sorted(unknown)}; there are "
                         f"{list(LEFT_OUT)}")  # fmt: skip
    for one in (*found.joints.values(), *found.tendons.values()):
        for name in names:
            if hasattr(one, name):
                setattr(one, name, LEFT_OUT[name])


def _inside(joint: JointEntry, groups: dict[str, Group]) -> bool:
    """True if merging makes both ends one body."""
    if joint.kind != "fixed" or joint.closure:
        return False
    parent = groups[joint.parent] if joint.parent is not None else None
    child = groups[str(joint.child)]
    return child is parent or (parent is None and child.fixed)


def _add_body(
    mechanism: Mechanism,
    group: Group,
    taken: set[str],
    base: str,
    found: Description,
    root: Pose,
    notes: Notes,
) -> Any:
    """Body of a group; the root of a floating robot has its place."""
    if group.fixed:
        _add_scenery(mechanism, group)
        _add_obstacles(found, group)
        return WORLD
    name = group.name
    if name in taken or name == WORLD.name:
        name = unused(f"{name} body", {*taken, *found.links})
        notes.merge("bodies with names of joints are now called", name)
    place: dict[str, Any] = {}
    first = group.links[0][0].name
    if base == "floating" and first in found.roots:
        where = root @ found.places.get(first, Pose()) @ Pose(group.center)
        place = {"position": where.position, "orientation": where.orientation}
    moments = np.linalg.eigvalsh(group.inertia)
    if moments[2] > (moments[0] + moments[1]) * (1.0 + 1e-9):
        notes.keep("inertia that no rigid body has (triangle inequality)", name)
    return mechanism.add_body(
        name=name,
        mass=group.mass,
        inertia=group.inertia,
        gravity_scale=group.gravity_scale,
        visuals=tuple(_moved(group, "visuals")),
        collisions=tuple(_moved(group, "collisions")),
        any_inertia=True,
        **place,
    )


def _add_scenery(mechanism: Mechanism, group: Group) -> None:
    """Looks of the links that are fixed to the world, by the names of these links."""
    for link, _ in group.links:
        pose = group.pose_of(link.name)
        for one in link.visuals or link.collisions:
            here = pose @ Pose(one.position, one.orientation)
            made = replace(one, position=here.position, orientation=here.orientation)
            mechanism.scenery[unused(link.name, mechanism.scenery)] = made


def _add_obstacles(found: Description, group: Group) -> None:
    """Collision shapes of the links that are fixed to the world, by the names of these links."""
    for link, _ in group.links:
        pose = group.pose_of(link.name)
        for one in link.collisions:
            here = pose @ Pose(one.position, one.orientation)
            made = replace(
                one, position=here.position, orientation=here.orientation,
                labels=(link.name, *one.labels),
            )  # fmt: skip
            label = unused(link.name, found.obstacles)
            found.obstacles[label] = made
            found.fixed.setdefault(link.name, []).append(label)


def _moved(group: Group, what: str) -> Iterable[Geometry]:
    """Geometry of all links in the body's frame."""
    for link, _ in group.links:
        pose = group.pose_of(link.name)
        for one in getattr(link, what):
            here, labels = pose @ Pose(one.position, one.orientation), (link.name, *one.labels)
            yield replace(one, position=here.position, orientation=here.orientation, labels=labels)


def _placed(
    one: Any, groups: dict[str, Group], bodies: dict[str, Any], tendon: str, notes: Notes
) -> Any:
    """Point or wrap of a path on a body of ours, not on a link."""

    def at(link: str | None) -> tuple[Any, Pose]:
        if link is None:
            return WORLD, Pose()
        return bodies[groups[link].name], groups[link].pose_of(link)

    if not isinstance(one, Wrap):
        body, pose = at(one[0])
        return body, pose.point(one[1])
    body, pose = at(one.body)
    axis = None if one.axis is None else rotation.rotate(pose.orientation, one.axis)
    side = None
    if one.side is not None:
        other, where = at(one.side[0])
        if other is body:
            side = where.point(one.side[1])
        else:
            notes.leave_out("sides of tendons that are on other bodies than the geom", tendon)
    return Wrap(body, one.radius, pose.point(one.position), axis, side)


def _add_tendon(
    mechanism: Mechanism,
    entry: TendonEntry,
    groups: dict[str, Group],
    bodies: dict[str, Any],
    notes: Notes,
) -> None:
    """Tendon of ours, or a note where its joints are others here."""
    joints = [mechanism.joints.get(name) for name in entry.joints]
    if any(one is None or one.n_coordinates != 1 for one in joints):
        notes.leave_out("tendons of joints that are others here", entry.name)
        return
    path, divisors, offset = [], [], entry.offset
    for run, divisor in zip(entry.path, entry.divisors):
        points = [_placed(one, groups, bodies, entry.name, notes) for one in run]
        ends = {id(one.body if isinstance(one, Wrap) else one[0]) for one in points}
        if len(ends) > 1:
            path.append(points)
            divisors.append(divisor)
        else:
            offset += run_length(points) / divisor
    if not (path or joints):
        notes.leave_out("tendons of one body", entry.name)
        return
    if entry.length is not None:
        mechanism.add_tendon(
            entry.joints, path=path, name=entry.name, offset=offset, length=entry.length,
            divisors=divisors,
        )  # fmt: skip
        return
    numbers = ("stiffness", "damping", "rest", "limits", "friction", "armature")
    options = {what: getattr(entry, what) for what in numbers}
    mechanism.add_tendon(
        entry.joints,
        path=path,
        name=entry.name,
        offset=offset,
        divisors=divisors,
        actuated=entry.actuated,
        control_limits=entry.control_limits if entry.actuated else None,
        servo=entry.servo,
        **options,
    )


def _add_thruster(
    mechanism: Mechanism,
    entry: ThrusterEntry,
    groups: dict[str, Group],
    bodies: dict[str, Any],
    notes: Notes,
) -> None:
    """Thruster of ours, or a note where it pushes the world."""
    group = groups[entry.link]
    if group.fixed:
        notes.leave_out("actuators on sites of the world", entry.name)
        return
    pose = group.pose_of(entry.link)
    made = Thruster(
        bodies[group.name],
        rotation.rotate(pose.orientation, entry.force),
        rotation.rotate(pose.orientation, entry.torque),
        pose.point(entry.point),
        entry.name,
        entry.control_limits,
    )
    mechanism.add_force(made)


def _joint(joint: JointEntry, groups: dict[str, Group], bodies: dict[str, Any]) -> Any:
    """Joint of ours between the bodies of two links."""
    ends: list[Any] = []
    poses: list[Pose] = []
    for link, pose in ((joint.parent, joint.at_parent), (joint.child, joint.at_child)):
        group = groups[link] if link is not None else None
        ends.append(WORLD if group is None else bodies[group.name])
        poses.append(pose if group is None else group.pose_of(link) @ pose)
    at_parent, at_child = poses
    offset = rotation.multiply(at_parent.orientation, rotation.conjugate(at_child.orientation))
    axis = rotation.rotate(at_parent.orientation, joint.axis)
    second = rotation.rotate(at_parent.orientation, joint.second)
    options: dict[str, Any] = {
        "name": joint.name,
        "orientation": offset,
        "parent_point": at_parent.position,
        "child_point": at_child.position,
    }
    if joint.kind != "fixed":
        options |= {
            "damping": joint.damping,
            "friction": joint.friction,
            "armature": joint.armature,
            "stiffness": joint.stiffness,
            "rest": joint.rest,
            "limits": joint.limits,
            "velocity_limits": joint.velocity_limits,
            "actuated": joint.actuated,
            "control_limits": joint.control_limits if joint.actuated else None,
            "servo": joint.servo,
        }
    if joint.kind == "skew universal":
        return _skew_universal(joint.name, ends, axis, second, at_parent, at_child, offset)
    if joint.kind in PLANES:  # along the axes of the joint's frame
        along = rotation.rotate(at_parent.orientation, basis(joint.axis)[0])
        table = PLANES[joint.kind]
        rows, positions, rates = free_rows(table, axis, options.pop("orientation"), along)
        return joint_of(table, ends[0], ends[1], rows, positions, rates, offset, **options)
    if joint.kind == "helical":
        return special_joints.Helical(ends[0], ends[1], axis, joint.pitch, **options)
    if joint.kind == "universal":
        return special_joints.Universal(ends[0], ends[1], axis, second, **options)
    maker = MAKERS[joint.kind]
    return maker(*ends, **options) if maker in WITHOUT_AXIS else maker(*ends, axis, **options)


def _add_rope(
    mechanism: Mechanism, rope: RopeEntry, groups: dict[str, Group], bodies: dict[str, Any],
    notes: Notes,
) -> None:  # fmt: skip
    """Keep two points within their distances, as a rod where these are the same."""
    ends: list[Any] = []
    points: list[Float] = []
    for link, point in ((rope.parent, rope.at_parent), (rope.child, rope.at_child)):
        group = groups[link] if link is not None else None
        ends.append(WORLD if group is None else bodies[group.name])
        points.append(point if group is None else group.pose_of(link).point(point))
    options: dict[str, Any] = {
        "name": rope.name, "parent_point": points[0], "child_point": points[1],
    }  # fmt: skip
    if ends[0] is ends[1]:
        notes.leave_out("distances of links that are one body", rope.name)
    elif rope.limits[0] == rope.limits[1]:
        mechanism.add_joint(special_joints.Distance(ends[0], ends[1], rope.limits[1], **options))
    else:
        mechanism.add_force(Spring(ends[0], ends[1], limits=rope.limits, **options))


def _skew_universal(
    name: str, ends: list[Any], n: Float, across: Float, a: Pose, b: Pose, offset: Float
) -> Joint:
    """Cross of two axes that keep their angle, one on each body: exact, but without coordinates."""
    e = rotation.rotate(rotation.conjugate(offset), across)
    rows = [*POINTS, Row(kinds.DOT, n, e, rest=float(n @ across))]
    return joint_of(
        "skew universal", ends[0], ends[1], rows, [], [], offset, name=name,
        parent_point=a.position, child_point=b.position,
    )  # fmt: skip
