"""MJCF, read and compiled by MuJoCo itself: bodies, joints, geoms, actuators, equalities."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphsys as gs
from dynamics import rotation
from dynamics.io.description import Description, Floor, JointEntry, Link, Mimic, Pose
from dynamics.io.freedom import Freedom, is_one, loses, one_joint
from dynamics.io.massless import determined
from dynamics.io.notes import Notes
from dynamics.io.parsing import mesh_path, tree
from dynamics.parts.actuators import Actuator, Keyframe
from dynamics.parts.geometry import Geometry, Mesh, Surface
from dynamics.parts.servos import PositionServo, VelocityServo
from dynamics.parts.shapes import Box, Capsule, Cylinder, Sphere

__all__ = ["read_mjcf"]

Float = NDArray[np.float64]
WATER = 1000.0  #: kg/m^3; shapes for looking at need some mass
#: Geoms of higher groups are hidden by MuJoCo's viewer; they are for collisions.
LAST_SHOWN_GROUP = 2
#: Elements that stand for many, and how many a file may stand for in all: no robot has as many.
REPEATED, MOST_ELEMENTS = ("replicate", "composite", "flexcomp"), 1e5
#: Attributes whose product is an array's size, and the most of it.
SIZES, MOST_NUMBERS = {"hfield": [("nrow", "ncol")], "texture": [("width", "height")]}, 1e8
#: Lists of a spec that say nothing of bodies and joints, or nothing that we can.
UNSUPPORTED = (
    "tendons", "sensors", "cameras", "lights", "pairs", "excludes", "flexes", "skins",
    "hfields", "plugins", "numerics", "texts", "tuples",
)  # fmt: skip
#: Joints that actuators drive, and their numbers of coordinates.
DRIVEN = {"revolute": 1, "prismatic": 1, "spherical": 3}
#: Numbers of a model by the flags that disable them; versions differ in the flags.
DISABLED = {
    "gravity": ("GRAVITY",),
    "jnt_limited": ("LIMIT", "CONSTRAINT"),
    "dof_frictionloss": ("FRICTIONLOSS", "CONSTRAINT"),
    "eq_active0": ("EQUALITY", "CONSTRAINT"),
    "jnt_stiffness": ("SPRING", "PASSIVE"),
    "dof_damping": ("DAMPER", "PASSIVE"),
}


def read_mjcf(
    path: Path,
    notes: Notes,
    *,
    meshes: bool = True,
    within: Path | None = None,
    split: bool = False,
) -> Description:
    """Read what an MJCF file says.

    Parameters
    ----------
    path : Path
    notes : Notes
        Gets what is left out.
    meshes : bool, optional
        Whether to keep meshes to look at.
    within : Path, optional
        Folder that all files must lie in; by default that of the file.
    split : bool, optional
        Whether to put links without mass between joints of a body that no single joint of ours is.

    Returns
    -------
    Description

    Raises
    ------
    graphsys.MissingExtraError
        Where ``mujoco`` is not installed.
    ValueError
        For a file that MuJoCo refuses, or whose joints are none of ours.
    """
    _check_files(path, within)
    try:
        import mujoco
    except ImportError:
        raise gs.MissingExtraError("an MJCF file", "mujoco", "mjcf") from None
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        model = spec.compile()
    except (ValueError, RuntimeError) as error:
        raise ValueError(f"{path.name}: MuJoCo refuses it: {error}") from None
    _switch_off(mujoco, model)
    reader = _Reader(mujoco, model, notes, meshes, split)
    for kind in UNSUPPORTED:
        for k, element in enumerate(getattr(spec, kind, ())):
            notes.leave_out(kind, getattr(element, "name", "") or k)
    reader.read()
    return reader.found


def _switch_off(mujoco: Any, model: Any) -> None:
    """Make zero what the flags of ``<option>`` disable."""
    for field, flags in DISABLED.items():
        found = [getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}", None) for flag in flags]
        if any(flag is not None and model.opt.disableflags & int(flag) for flag in found):
            owner = model.opt if hasattr(model.opt, field) else model
            getattr(owner, field)[:] = 0


def _check_files(path: Path, within: Path | None) -> None:
    """Refuse entities, and files outside the folder, in a file and those that it includes."""
    trees: dict[Path, Any] = {}
    _gather(path, path.parent, within, trees)
    _check_size(path, trees)
    starts = {file.parent for file in trees}
    for root in trees.values():
        for compiler in root.iter("compiler"):
            for key in ("meshdir", "texturedir", "assetdir"):
                if compiler.get(key):
                    _check(path, compiler, key, [path.parent], within)
                    starts.add(path.parent / compiler.get(key))
    for file, root in trees.items():
        for element in root.iter():
            if element.tag != "include":
                _check(file, element, "file", starts, within)


def _check_size(path: Path, trees: dict[Path, Any]) -> None:
    """Refuse what MuJoCo would expand beyond all bounds: its compiler cannot be stopped."""
    roots = {file.name: root for file, root in trees.items()}

    def count_of(element: Any, *keys: str) -> float:
        product = 1.0
        for key in keys:
            for word in element.get(key, "1").split():
                try:
                    product *= max(1.0, float(word))
                except ValueError:
                    raise ValueError(
                        f"{path.name}: {key} of <{element.tag}> is {word!r}, and must be a number"
                    ) from None
        return product

    def elements_in(element: Any, above: tuple[str, ...]) -> float:
        inside = sum(elements_in(child, above) for child in element)
        name = Path(element.get("file", "")).name
        if element.tag == "include" and name in roots and name not in above:
            inside += elements_in(roots[name], (*above, name))
        repeated = element.tag in REPEATED
        return (count_of(element, "count") if repeated else 1.0) * (1.0 + inside)

    asked = elements_in(roots[path.resolve().name], ())
    if not asked <= MOST_ELEMENTS:
        raise ValueError(
            f"{path.name} asks for {asked:.0e} elements by <replicate>, <composite> or <flexcomp>; "
            f"at most {MOST_ELEMENTS:.0e} are read: lower their count"
        )
    for element in (element for root in trees.values() for element in root.iter()):
        for keys in SIZES.get(element.tag, ()):
            if not count_of(element, *keys) <= MOST_NUMBERS:
                raise ValueError(
                    f"{path.name}: <{element.tag}> asks for {' times '.join(keys)} = "
                    f"{count_of(element, *keys):.0e} numbers; at most {MOST_NUMBERS:.0e} are read"
                )


def _gather(path: Path, main: Path, within: Path | None, trees: dict[Path, Any]) -> None:
    """Trees of a file and of those that it includes; MuJoCo looks in the folders of both."""
    if path.resolve() in trees:
        return
    root = trees[path.resolve()] = tree(path)
    for element in root.iter("include"):
        starts = {path.parent, main}
        _check(path, element, "file", starts, within)
        for start in starts:
            included = start / element.get("file", "")
            if included.is_file():
                _gather(included, main, within, trees)


def _check(
    path: Path, element: Any, key: str, starts: Collection[Path], within: Path | None
) -> None:
    """Refuse the path in an attribute where it leads outside."""
    name = element.get(key)
    if name and name not in (".", "./"):
        label, way_out = (
            f"{path.name}: <{element.tag}>",
            "move the file to the folder of its assets",
        )
        mesh_path(name, label, way_out, starts=starts, within=within)


class _Reader:
    """One compiled model while it is read."""

    def __init__(self, mujoco: Any, model: Any, notes: Notes, meshes: bool, split: bool) -> None:
        self.split = split
        self.mj, self.model, self.notes, self.meshes = mujoco, model, notes, meshes
        self.found = Description(gravity=np.array(model.opt.gravity))
        self.links: list[str | None] = [None]
        self.joint_name = [self.name("joint", k) for k in range(model.njnt)]
        self.driven = self.driven_joints()
        self.steps: list[tuple[str | None, Pose, list[tuple[str, list[int]]]]] = []

    def name(self, kind: str, k: int) -> str:
        """Name of an element, or one from its number."""
        return getattr(self.model, kind)(k).name or f"{kind} {k}"

    def read(self) -> None:
        m = self.model
        for i in range(1, m.nbody):
            self.links.append(self.name("body", i))
            self.body(i)
        for k in range(m.ngeom):
            self.geom(k)
        for k in range(m.nsite):
            link, pose = self.links[m.site_bodyid[k]], _pose(m.site_pos[k], m.site_quat[k])
            self.found.frames[self.name("site", k)] = (link, pose)
        for k in range(m.nu):
            self.actuator(k)
        for k in range(m.neq):
            self.equality(k)
        for k in range(m.nkey):
            self.keyframe(k)
        for what in ("density", "viscosity"):
            if getattr(m.opt, what) != 0.0:
                self.notes.leave_out("option", what)
        if np.any(m.opt.wind != 0.0):
            self.notes.leave_out("option", "wind")

    # Bodies and joints

    def body(self, i: int) -> None:
        m, name = self.model, str(self.links[i])
        R = rotation.to_matrix(m.body_iquat[i])
        self.found.links[name] = Link(
            name,
            float(m.body_mass[i]),
            np.array(m.body_ipos[i]),
            R @ np.diag(m.body_inertia[i]) @ R.T,
            gravity_scale=1.0 - float(m.body_gravcomp[i]),
        )
        if m.body_mocapid[i] >= 0:
            self.notes.leave_out("motion of mocap bodies", name)
        parent, place = self.links[m.body_parentid[i]], _pose(m.body_pos[i], m.body_quat[i])
        first, count = int(m.body_jntadr[i]), int(m.body_jntnum[i])
        if count == 0:
            entry = JointEntry(f"{parent or 'world'}-{name}", "fixed", parent, name, place)
            self.joint(entry)
            self.steps.append((parent, place, [(name, [])]))
            return
        freedoms = [self.freedom(k) for k in range(first, first + count)]
        chain, between = self.chain(freedoms, parent, name, place)
        if not is_one(freedoms) or loses(freedoms, self.driven):
            where = [(one, Pose(free.point)) for one, free in zip(chain, freedoms)]
            if determined(where) or (self.split and not is_one(freedoms)):
                self.found.links.update((link.name, link) for link in between)
                for one in chain:
                    self.joint(one)
                self.steps.append((parent, place, [
                    (str(one.child), [first + k]) for k, one in enumerate(chain)
                ]))  # fmt: skip
                return
        self.joint(one_joint(freedoms, parent, name, place, self.notes))
        self.steps.append((parent, place, [(name, list(range(first, first + count)))]))

    def chain(
        self, freedoms: list[Freedom], parent: str | None, name: str, place: Pose
    ) -> tuple[list[JointEntry], list[Link]]:
        """A joint for each freedom, and the massless links between them."""
        joints, between = [], []
        if len(freedoms) == 1 or any(one.kind == "free" for one in freedoms):
            return [], []
        for one in freedoms:
            last = one is freedoms[-1]
            link = Link(name if last else f"{name} behind {one.name}", center=one.point)
            between += [] if last else [link]
            joints.append(one_joint([one], parent, link.name, place, self.notes))
            parent, place = link.name, Pose()
        return joints, between

    def joint(self, joint: JointEntry) -> None:
        """Keep a joint."""
        if joint.name in self.found.joints:
            raise ValueError(f"{self.notes.path.name}: two joints are called {joint.name!r}")
        self.found.joints[joint.name] = joint

    def freedom(self, k: int) -> Freedom:
        """One of MuJoCo's joints."""
        m, name = self.model, self.joint_name[k]
        dof, at = int(m.jnt_dofadr[k]), int(m.jnt_qposadr[k])
        kind = ("free", "ball", "slide", "hinge")[int(m.jnt_type[k])]
        start = float(m.qpos0[at]) if kind in ("slide", "hinge") else 0.0
        if start != 0.0:
            self.notes.merge("coordinates are 0 where the file has ref", name)
        limits = None
        if m.jnt_limited[k]:
            limits = (float(m.jnt_range[k, 0]) - start, float(m.jnt_range[k, 1]) - start)
        for what in ("dof_dampingpoly", "jnt_stiffnesspoly"):  # since MuJoCo 4
            values = getattr(m, what, None)
            if values is not None and np.any(values[dof if what[0] == "d" else k] != 0.0):
                self.notes.leave_out("polynomial damping or stiffness of joints", name)
        rest = float(m.qpos_spring[at]) - start if kind in ("slide", "hinge") else 0.0
        return Freedom(
            name, kind, np.array(m.jnt_pos[k]), np.array(m.jnt_axis[k]), limits,
            float(m.dof_damping[dof]), float(m.jnt_stiffness[k]), rest,
            float(m.dof_frictionloss[dof]), float(m.dof_armature[dof]),
        )  # fmt: skip

    # Geoms

    def geom(self, k: int) -> None:
        m = self.model
        link, name = self.links[m.geom_bodyid[k]], self.name("geom", k)
        if link is None and m.geom_type[k] == self.mj.mjtGeom.mjGEOM_PLANE:
            place = _pose(m.geom_pos[k], m.geom_quat[k])
            normal = rotation.rotate(place.orientation, np.array([0.0, 0.0, 1.0]))
            self.found.floors.append(Floor(name, place.position, normal, self.surface(k)))
            return
        if link is None:
            self.notes.leave_out("geoms of the world", name)
            return
        shape = self.shape(k, name)
        if shape is None:
            return
        color = m.geom_rgba[k] if m.geom_matid[k] < 0 else m.mat_rgba[m.geom_matid[k]]
        pose = _pose(m.geom_pos[k], m.geom_quat[k])
        geometry = Geometry(shape, pose.position, pose.orientation, np.array(color, np.float64))
        if m.geom_group[k] <= LAST_SHOWN_GROUP:
            self.found.links[link].visuals.append(geometry)
        if m.geom_contype[k] or m.geom_conaffinity[k]:
            made = replace(geometry, surface=self.surface(k))
            self.found.links[link].collisions.append(made)

    def surface(self, k: int) -> Surface:
        """Friction and filters of a geom."""
        m = self.model
        slide, turn, roll = (float(x) for x in m.geom_friction[k])
        masks = int(m.geom_contype[k]), int(m.geom_conaffinity[k])
        return Surface(slide, turn, roll, int(m.geom_condim[k]), *masks)

    def shape(self, k: int, name: str) -> Any:
        m, kinds = self.model, self.mj.mjtGeom
        kind, size = kinds(m.geom_type[k]), [float(x) for x in m.geom_size[k]]
        if kind == kinds.mjGEOM_BOX:
            return Box(*(2.0 * x for x in size), density=WATER)
        if kind == kinds.mjGEOM_SPHERE:
            return Sphere(size[0], density=WATER)
        if kind == kinds.mjGEOM_CAPSULE:
            return Capsule(size[0], 2.0 * size[1], density=WATER)
        if kind == kinds.mjGEOM_CYLINDER:
            return Cylinder(size[0], 2.0 * size[1], density=WATER)
        if kind == kinds.mjGEOM_MESH:
            if not self.meshes:
                return None
            j = int(m.geom_dataid[k])
            v, f = int(m.mesh_vertadr[j]), int(m.mesh_faceadr[j])
            vertices = np.array(m.mesh_vert[v : v + int(m.mesh_vertnum[j])], np.float64)
            faces = np.array(m.mesh_face[f : f + int(m.mesh_facenum[j])], np.int64)
            return Mesh("", "", np.ones(3), vertices, faces)
        self.notes.leave_out(f"geoms of type {kind.name[7:].lower()}", name)
        return None

    # Actuators, keyframes and equalities

    def driven_joints(self) -> set[str]:
        """Joints that an actuator moves or that an equality couples."""
        m, kinds = self.model, self.mj.mjtTrn
        on_joints = (kinds.mjTRN_JOINT, kinds.mjTRN_JOINTINPARENT)
        driven = {
            self.joint_name[m.actuator_trnid[k, 0]]
            for k in range(m.nu)
            if kinds(m.actuator_trntype[k]) in on_joints
        }
        for k in range(m.neq):
            if self.mj.mjtEq(m.eq_type[k]) == self.mj.mjtEq.mjEQ_JOINT and m.eq_active0[k]:
                both = (int(m.eq_obj1id[k]), int(m.eq_obj2id[k]))
                driven |= {self.joint_name[j] for j in both if j >= 0}
        return driven

    def actuator(self, k: int) -> None:
        """One actuator: a motor whose control is a force, or a servo.

        Its force is ``g u + b0 + b1 l + b2 l'`` of the command u, with length l = gear q.
        Where b1 or b2 is negative, this is a servo with the target that makes the rest zero.
        """
        m, name = self.model, self.name("actuator", k)
        kind = self.mj.mjtTrn(m.actuator_trntype[k])
        joint = None
        if kind in (self.mj.mjtTrn.mjTRN_JOINT, self.mj.mjtTrn.mjTRN_JOINTINPARENT):
            joint = self.found.joints.get(self.joint_name[m.actuator_trnid[k, 0]])
        if joint is None or joint.kind not in DRIVEN:
            what = kind.name[6:].lower()
            self.notes.leave_out(f"actuators on {what}s that are no joint here", name)
            return
        if m.actuator_gaintype[k] > 1 or m.actuator_biastype[k] > 1 or m.actuator_dyntype[k] > 3:
            self.notes.leave_out("actuators that are muscles or of a user's own kind", name)
            return
        if m.actuator_dyntype[k] != 0:
            self.notes.leave_out("dynamics of actuators (commands act at once)", name)
        gain = float(m.actuator_gainprm[k, 0])
        if m.actuator_gaintype[k] == 1 and np.any(m.actuator_gainprm[k, 1:3] != 0.0):
            self.notes.leave_out("gain of actuators that depends on length or speed", name)
        bias = np.array(m.actuator_biasprm[k, :3]) * (m.actuator_biastype[k] == 1)
        gears = np.array(m.actuator_gear[k, : DRIVEN[joint.kind]], np.float64)
        gear = float(gears[0])
        ends = [-np.inf, np.inf]
        if m.actuator_ctrllimited[k]:
            ends = [float(x) for x in m.actuator_ctrlrange[k]]
        if joint.servo is not None or (joint.actuated and (bias[1] < 0.0 or bias[2] < 0.0)):
            self.notes.leave_out("actuators of joints that have a servo and another", name)
            return
        if bias[1] > 0.0 or bias[2] > 0.0 or (bias[1:].any() and (gear == 0.0 or gears.size > 1)):
            self.notes.leave_out("bias of actuators that is no servo here", name)
            bias[:] = 0.0
        if not bias[1:].any():
            self.motor(k, joint, gain * gears, float(bias[0]), ends)
            scale = gain * gears
        else:
            strength = -float(bias[1] or bias[2])
            scale = np.array([gain / strength])
            target, most = float(bias[0]) / strength, self.most_force(k, joint, name)
            if bias[1]:
                start = float(m.qpos0[m.jnt_qposadr[m.actuator_trnid[k, 0]]])
                joint.servo = PositionServo(
                    strength, -float(bias[2]), target - gear * start, most, gear
                )
            else:
                joint.servo = VelocityServo(strength, target, most, gear)
        self.found.actuators.append(Actuator(name, joint.name, scale, *ends))

    def motor(
        self, k: int, joint: JointEntry, scale: Float, bias: float, ends: list[float]
    ) -> None:
        """Let a joint take forces, within the range of commands and forces of its one motor."""
        m, name = self.model, self.name("actuator", k)
        if bias:
            self.notes.leave_out("constant forces of actuators", name)
        alone, joint.actuated = not joint.actuated, True
        most = np.sort(np.outer(scale, np.nan_to_num(ends, posinf=1e300, neginf=-1e300)), axis=1)
        limited = bool(m.actuator_ctrllimited[k])
        if m.actuator_forcelimited[k]:
            gears = np.array(m.actuator_gear[k, : scale.size])
            force = np.sort(np.outer(gears, m.actuator_forcerange[k]), axis=1)
            most, limited = np.clip(most, force[:, :1], force[:, 1:]), True
        j = int(m.actuator_trnid[k, 0])
        if getattr(m, "jnt_actfrclimited", np.zeros(m.njnt))[j]:
            most, limited = np.clip(most, *m.jnt_actfrcrange[j]), True
        if limited and alone:
            joint.control_limits = [(float(low), float(high)) for low, high in most]
        elif limited or joint.control_limits is not None:
            joint.control_limits = None
            self.notes.leave_out("limits of actuators that share a joint", name)

    def most_force(self, k: int, joint: JointEntry, name: str) -> float:
        """Largest force of a servo, the same both ways."""
        m, most = self.model, np.inf
        if m.actuator_forcelimited[k]:
            low, high = (float(x) for x in m.actuator_forcerange[k])
            most = max(-low, high)
            if -low != high:
                self.notes.leave_out("ranges of servos' forces that differ both ways", name)
        j, gear = int(m.actuator_trnid[k, 0]), abs(float(m.actuator_gear[k, 0]))
        if getattr(m, "jnt_actfrclimited", np.zeros(m.njnt))[j]:
            most = min(most, float(np.abs(m.jnt_actfrcrange[j]).max()) / gear)
        return most

    def keyframe(self, k: int) -> None:
        """Poses of all links where a keyframe has the coordinates, and its commands."""
        m, name = self.model, self.name("key", k)
        if np.any(m.key_qvel[k] != 0.0):
            self.notes.leave_out("velocities of keyframes", name)
        if np.any(m.key_mpos[k] != m.body_pos[m.body_mocapid >= 0].ravel()):
            self.notes.leave_out("mocap bodies of keyframes", name)
        poses: dict[str | None, Pose] = {None: Pose()}
        for parent, place, parts in self.steps:
            here = poses[parent] @ place
            for link, joints in parts:
                for j in joints:
                    here = self.turned(here, j, m.key_qpos[k])
                poses[link] = here
        commands = {self.name("actuator", i): float(m.key_ctrl[k, i]) for i in range(m.nu)}
        known = {one.name for one in self.found.actuators}
        self.found.keyframes[name] = Keyframe(
            {
                link: np.concatenate([pose.position, pose.orientation])
                for link, pose in poses.items()
                if link is not None
            },
            {one: value for one, value in commands.items() if one in known},
        )

    def turned(self, here: Pose, j: int, qpos: Any) -> Pose:
        """Pose of a body after one of its joints has moved."""
        m, at = self.model, int(self.model.jnt_qposadr[j])
        kind = ("free", "ball", "slide", "hinge")[int(m.jnt_type[j])]
        point, axis = np.array(m.jnt_pos[j]), np.array(m.jnt_axis[j])
        if kind == "free":
            return _pose(qpos[at : at + 3], qpos[at + 3 : at + 7])
        if kind == "ball":
            turn = rotation.normalized(qpos[at : at + 4])
            return here @ Pose(point, turn) @ Pose(-point)
        moved = float(qpos[at] - m.qpos0[at])
        if kind == "slide":
            return here @ Pose(moved * axis)
        return here @ Pose(point, rotation.from_rotation_vector(moved * axis)) @ Pose(-point)

    def equality(self, k: int) -> None:
        m, name = self.model, self.name("equality", k)
        kinds, data = self.mj.mjtEq, np.array(m.eq_data[k])
        kind, first, second = kinds(m.eq_type[k]), int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
        if not m.eq_active0[k]:
            self.notes.leave_out("equalities that are not active", name)
        elif kind == kinds.mjEQ_JOINT and second >= 0 and not data[2:5].any():
            leader, joint = self.joint_name[second], self.joint_name[first]
            self.found.mimics.append(Mimic(joint, leader, float(data[1]), float(data[0])))
        elif kind in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD):
            weld = kind == kinds.mjEQ_WELD
            if m.eq_objtype[k] == self.mj.mjtObj.mjOBJ_SITE:
                bodies = [int(m.site_bodyid[site]) for site in (first, second)]
                poses = [_pose(m.site_pos[site], m.site_quat[site]) for site in (first, second)]
            else:
                bodies = [first, second]  # the first three numbers of a weld are on the second
                poses = [_pose(data[3:6], data[6:10]) if weld else _pose(data[:3]),
                         _pose(data[:3]) if weld else _pose(data[3:6])]  # fmt: skip
            parent, child = self.links[bodies[0]], self.links[bodies[1]]
            name = f"{name} closure" if name in self.found.joints else name
            made = "fixed" if weld else "spherical"
            entry = JointEntry(name, made, parent, child, poses[0], poses[1], closure=True)
            self.found.joints[name] = entry
        else:
            self.notes.leave_out(f"equalities of type {kind.name[5:].lower()}", name)


def _pose(position: Any, orientation: Any = (1.0, 0.0, 0.0, 0.0)) -> Pose:
    """Pose from arrays of MuJoCo, which are views into its memory."""
    return Pose(np.array(position, np.float64), rotation.normalized(orientation))
