"""MJCF, read and compiled by MuJoCo itself: bodies, joints, geoms, actuators, sensors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphsys as gs
from dynamics import rotation
from dynamics.io.description import WORLD_BODY, Description, Floor, JointEntry, Link, Mimic, Pose
from dynamics.io.massless import determined
from dynamics.io.mjcf.actuators import actuator_names, driven_joints, read_actuator
from dynamics.io.mjcf.files import check_files
from dynamics.io.mjcf.freedom import Freedom, is_one, loses, one_joint
from dynamics.io.mjcf.keyframes import read_keyframe
from dynamics.io.mjcf.numbers import check_numbers
from dynamics.io.mjcf.options import counted, prepare, yields
from dynamics.io.mjcf.sensors import measured_joints, read_sensor
from dynamics.io.mjcf.tendons import read_tendon
from dynamics.io.notes import NOT_KEPT, Notes
from dynamics.parts.geometry import Geometry, Mesh, Surface
from dynamics.parts.height_fields import prisms
from dynamics.parts.options import unused
from dynamics.parts.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere

__all__ = ["read_mjcf"]

Float = NDArray[np.float64]
WATER = 1000.0  #: kg/m^3; shapes for looking at need some mass
#: Geoms of higher groups are hidden by MuJoCo's viewer; they are for collisions.
LAST_SHOWN_GROUP = 2
#: Points of a height field, each of which makes two shapes.
MOST_CELLS = 20_000
#: Lists of a spec that say nothing of bodies and joints, or nothing that we can.
UNSUPPORTED = (
    "lights", "flexes", "skins",
    "plugins", "numerics", "texts", "tuples",
)  # fmt: skip


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
        If ``mujoco`` is not installed.
    ValueError
        For a file that MuJoCo refuses, or whose joints are none of ours.
    """
    check_files(path, within)
    try:
        import mujoco
    except ImportError:
        raise gs.MissingExtraError("an MJCF file", "mujoco", "mjcf") from None
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        model = spec.compile()
    except (ValueError, RuntimeError) as error:
        raise ValueError(f"{path.name}: MuJoCo refuses it: {error}") from None
    check_numbers(model, path.name)
    prepare(mujoco, model)
    reader = Reader(mujoco, model, notes, meshes, split)
    for kind in UNSUPPORTED:
        for k, element in enumerate(getattr(spec, kind, ())):
            notes.leave_out(kind, getattr(element, "name", "") or k)
    reader.read()
    off = mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    reader.found.touches_nothing = bool(model.opt.disableflags & off)
    return reader.found


class Reader:
    """One compiled model while it is read.

    Parameters
    ----------
    mujoco : module
    model : mujoco.MjModel
    notes : Notes
    meshes, split : bool
        See `read_mjcf`.
    """

    def __init__(self, mujoco: Any, model: Any, notes: Notes, meshes: bool, split: bool) -> None:
        self.split = split
        self.mj, self.model, self.notes, self.meshes = mujoco, model, notes, meshes
        self.found = Description(gravity=np.array(model.opt.gravity))
        self.links: list[str | None] = [None]
        self.made: dict[str, dict[int, str]] = {}
        self.joint_name = [self.name("joint", k) for k in range(model.njnt)]
        taken = {*self.joint_name, *(self.name("body", k) for k in range(model.nbody))}
        tendons = [self.name("tendon", k) for k in range(model.ntendon)]
        self.tendon_name = [f"{one} tendon" if one in taken else one for one in tendons]
        self.paired = {int(k) for one in (model.pair_geom1, model.pair_geom2) for k in one}
        self.actuator_name = actuator_names(self)
        self.driven, self.measured = driven_joints(self), measured_joints(self)
        self.steps: list[tuple[str | None, Pose, list[tuple[str, list[int]]]]] = []

    def name(self, kind: str, k: int) -> str:
        """Name of an element, or a free one made from its number."""
        if kind not in self.made:
            count = counted(self.model, kind)
            names = [getattr(self.model, kind)(i).name for i in range(count)]
            free = (i for i, name in enumerate(names) if not name)
            self.made[kind] = {i: unused(f"{kind} {i}", {*names}) for i in free}
        return self.made[kind].get(k) or str(getattr(self.model, kind)(k).name)

    def read(self) -> None:
        """Fill the description."""
        m = self.model
        for i in range(1, m.nbody):
            self.links.append(self.name("body", i))
            self.body(i)
        for k in range(m.ngeom):
            self.geom(k)
        for k in range(m.nsite):
            link, pose = self.links[m.site_bodyid[k]], _pose(m.site_pos[k], m.site_quat[k])
            self.found.frames[self.name("site", k)] = (link, pose)
        for k in range(m.ncam):
            self.camera(k)
        for k in range(m.ntendon):
            read_tendon(self, k)
        for k in range(m.neq):
            self.equality(k)
        for k in range(counted(m, "actuator")):
            read_actuator(self, k)
        for signature in m.exclude_signature[: m.nexclude].tolist():
            pair = [self.links[i] for i in (signature >> 16, signature & 0xFFFF)]
            self.found.excluded.append((pair[0] or WORLD_BODY, pair[1] or WORLD_BODY))
        for k in range(m.npair):
            self.pair(k)
        for k in range(m.nkey):
            read_keyframe(self, k)
        for k in range(m.nsensor):
            read_sensor(self, k)
        for what in ("density", "viscosity"):
            if getattr(m.opt, what) != 0.0:
                self.notes.leave_out("option", what)
        if m.opt.disableflags & int(self.mj.mjtDisableBit.mjDSBL_FILTERPARENT):
            self.notes.leave_out("option", "contacts of neighbours (filterparent)")
        if np.any(m.opt.wind != 0.0):
            self.notes.leave_out("option", "wind")

    # Bodies and joints

    def body(self, i: int) -> None:
        """One body and the joint, or joints, that it hangs on."""
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
            label = unused(f"{parent or 'world'}-{name}", {*self.joint_name, *self.found.joints})
            self.joint(JointEntry(label, "fixed", parent, name, place))
            self.steps.append((parent, place, [(name, [])]))
            return
        freedoms = [self.freedom(k) for k in range(first, first + count)]
        chain, between = self.chain(freedoms, parent, name, place)
        if not is_one(freedoms) or loses(freedoms, self.driven, self.measured):
            where = [(one, Pose(free.point)) for one, free in zip(chain, freedoms)]
            if (chain and determined(where)) or (self.split and not is_one(freedoms)):
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
            inner = unused(f"{name} behind {one.name}", {*self.links, *self.found.links})
            link = Link(name if last else inner, center=one.point, between=not last)
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
        if yields(m, "jnt", k):
            self.notes.leave_out("yield of springs", name)
        rest = float(m.qpos_spring[at]) - start if kind in ("slide", "hinge") else 0.0
        return Freedom(
            name, kind, np.array(m.jnt_pos[k]), np.array(m.jnt_axis[k]), limits,
            float(m.dof_damping[dof]), float(m.jnt_stiffness[k]), rest,
            float(m.dof_frictionloss[dof]), float(m.dof_armature[dof]),
        )  # fmt: skip

    # Geoms

    def geom(self, k: int) -> None:
        """One geom as a look, a collision shape or a floor."""
        m = self.model
        link, name = self.links[m.geom_bodyid[k]], self.name("geom", k)
        for what, field in (("speeds of surfaces", "surfacevel"), ("adhesion", "adhesion")):
            values = getattr(m, f"geom_{field}", None)  # since MuJoCo 4
            if self.touches(k) and values is not None and np.any(values[k] != 0.0):
                self.notes.leave_out(f"{what} of geoms", name)
        if m.geom_type[k] == self.mj.mjtGeom.mjGEOM_PLANE:  # of bodies that do not move alone
            place = self.place(k)
            normal = rotation.rotate(place.orientation, np.array([0.0, 0.0, 1.0]))
            labels = (link or WORLD_BODY,)
            self.found.floors.append(Floor(name, place.position, normal, self.surface(k), labels))
            return
        if m.body_weldid[m.geom_bodyid[k]] == 0 and m.geom_type[k] == self.mj.mjtGeom.mjGEOM_HFIELD:
            self.height_field(k, name, link or WORLD_BODY)
            return
        try:
            shape = self.shape(k, name)
        except ValueError as error:
            raise ValueError(f"{self.notes.path.name}: geom {name!r}: {error}") from None
        if shape is None:
            is_mesh = m.geom_type[k] == self.mj.mjtGeom.mjGEOM_MESH
            if is_mesh and self.touches(k):
                self.notes.leave_out(NOT_KEPT, name)
            return
        pose = _pose(m.geom_pos[k], m.geom_quat[k])
        geometry = Geometry(shape, pose.position, pose.orientation, self.color(k), name=name)
        if link is None:
            if m.geom_group[k] <= LAST_SHOWN_GROUP:
                self.found.scenery[name] = geometry
            if self.touches(k):
                made = replace(geometry, surface=self.surface(k), labels=(WORLD_BODY,))
                self.found.obstacles[name] = made
            return
        if m.geom_group[k] <= LAST_SHOWN_GROUP:
            self.found.links[link].visuals.append(geometry)
        if self.touches(k):
            made = replace(geometry, surface=self.surface(k))
            self.found.links[link].collisions.append(made)

    def place(self, k: int) -> Pose:
        """Pose in the world of a geom whose body cannot move."""
        m, body = self.model, int(self.model.geom_bodyid[k])
        pose = _pose(m.geom_pos[k], m.geom_quat[k])
        while body > 0:
            pose = _pose(m.body_pos[body], m.body_quat[body]) @ pose
            body = int(m.body_parentid[body])
        return pose

    def touches(self, k: int) -> bool:
        """True if filters or pairs let a geom touch any other."""
        m = self.model
        return bool(m.geom_contype[k] or m.geom_conaffinity[k] or k in self.paired)

    def camera(self, k: int) -> None:
        """Frame of a camera that is fixed to its body."""
        m, name = self.model, self.name("camera", k)
        if self.mj.mjtCamLight(m.cam_mode[k]) != self.mj.mjtCamLight.mjCAMLIGHT_FIXED:
            self.notes.leave_out("cameras that track", name)
            return
        name = f"{name} camera" if name in self.found.frames else name
        pose = _pose(m.cam_pos[k], m.cam_quat[k])
        self.found.frames[name] = self.links[m.cam_bodyid[k]], pose

    def height_field(self, k: int, name: str, label: str) -> None:
        """Read a static height field as prisms, as MuJoCo does."""
        m, j = self.model, int(self.model.geom_dataid[k])
        wide, deep, high, base = (float(one) for one in m.hfield_size[j])
        rows, columns = int(m.hfield_nrow[j]), int(m.hfield_ncol[j])
        if rows * columns > MOST_CELLS:
            self.notes.leave_out(f"height fields of more than {MOST_CELLS} points", name)
            return
        at = int(m.hfield_adr[j])
        z = high * np.array(m.hfield_data[at : at + rows * columns], np.float64)
        grid = np.linspace(-wide, wide, columns), np.linspace(-deep, deep, rows)
        pose = self.place(k)
        for i, one in enumerate(prisms(*grid, z.reshape(rows, columns).T, -base)):
            geometry = Geometry(one, pose.position, pose.orientation, self.color(k), name=name)
            if m.geom_group[k] <= LAST_SHOWN_GROUP:
                self.found.scenery[f"{name} {i}"] = geometry
            if m.geom_contype[k] or m.geom_conaffinity[k]:
                made = replace(geometry, surface=self.surface(k), labels=(label,))
                self.found.obstacles[f"{name} {i}"] = made

    def color(self, k: int) -> Any:
        """Colour of a geom: its own, or its material's times the mean of the texture."""
        m, material = self.model, int(self.model.geom_matid[k])
        if material < 0:
            return np.array(m.geom_rgba[k], np.float64)
        color = np.array(m.mat_rgba[material], np.float64)
        texture = int(m.mat_texid[material, self.mj.mjtTextureRole.mjTEXROLE_RGB])
        if texture >= 0:
            channels, at = int(m.tex_nchannel[texture]), int(m.tex_adr[texture])
            size = int(m.tex_height[texture]) * int(m.tex_width[texture]) * channels
            pixels = np.asarray(m.tex_data[at : at + size]).reshape(-1, channels)
            color[:3] *= pixels[:, :3].mean(axis=0) / 255.0
        return color

    def surface(self, k: int) -> Surface:
        """Friction and filters of a geom."""
        m = self.model
        slide, turn, roll = (float(x) for x in m.geom_friction[k])
        masks = int(m.geom_contype[k]), int(m.geom_conaffinity[k])
        priority = int(m.geom_priority[k])
        return Surface(slide, turn, roll, int(m.geom_condim[k]), *masks, priority)

    def shape(self, k: int, name: str) -> Any:
        """Shape of a geom; None where there is none here."""
        m, kinds = self.model, self.mj.mjtGeom
        kind, size = kinds(m.geom_type[k]), [float(x) for x in m.geom_size[k]]
        if kind == kinds.mjGEOM_BOX:
            return Box(*(2.0 * x for x in size), density=WATER)
        if kind == kinds.mjGEOM_ELLIPSOID:
            return Ellipsoid(*size, density=WATER)
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

    def pair(self, k: int) -> None:
        """Coefficients of two geoms that touch whatever their filters say."""
        m = self.model
        first, second = (self.name("geom", int(one[k])) for one in (m.pair_geom1, m.pair_geom2))
        slide, across, turn, roll, _ = (float(x) for x in m.pair_friction[k])
        if slide != across and m.pair_dim[k] > 1:
            self.notes.leave_out("second coefficients of friction of pairs", f"{first}, {second}")
        adhesion = getattr(m, "pair_adhesion", None)
        if adhesion is not None and adhesion[k] != 0.0:
            self.notes.leave_out("adhesion of pairs", f"{first}, {second}")
        own = {"friction": slide, "torsional": turn, "rolling": roll}
        least = {"friction": 3, "torsional": 4, "rolling": 6}
        self.found.pairs[first, second] = {
            name: value if m.pair_dim[k] >= least[name] else 0.0 for name, value in own.items()
        }

    # Equalities

    def equality(self, k: int) -> None:
        """One equality as a coupling or a closure."""
        m, name = self.model, self.name("equality", k)
        kinds, data = self.mj.mjtEq, np.array(m.eq_data[k])
        kind, first, second = kinds(m.eq_type[k]), int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
        tendons = self.found.tendons
        if not m.eq_active0[k]:
            self.notes.leave_out("equalities that are not active", name)
        elif kind == kinds.mjEQ_JOINT and second >= 0 and not data[2:5].any():
            leader, joint = self.joint_name[second], self.joint_name[first]
            self.found.mimics.append(Mimic(joint, leader, float(data[1]), float(data[0])))
        elif kind == kinds.mjEQ_JOINT and second < 0 and self.lock(first, float(data[0])):
            pass
        elif kind == kinds.mjEQ_TENDON and second < 0 and self.tendon_name[first] in tendons:
            tendons[self.tendon_name[first]].length = float(m.tendon_length0[first] + data[0])
        elif kind == kinds.mjEQ_TENDON and second >= 0 and not data[2:5].any():
            one, two = (self.tendon_name[i] for i in (first, second))
            start = m.tendon_length0[first] - data[1] * m.tendon_length0[second]
            self.found.mimics.append(Mimic(one, two, float(data[1]), float(data[0] + start)))
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
            taken = self.found.joints
            name = unused(f"{name} closure", taken) if name in taken else name
            made = "fixed" if weld and data[10] != 0.0 else "spherical"  # torquescale
            entry = JointEntry(name, made, parent, child, poses[0], poses[1], closure=True)
            self.found.joints[name] = entry
        else:
            self.notes.leave_out(f"equalities of type {kind.name[5:].lower()}", name)

    def lock(self, j: int, value: float) -> bool:
        """Fix a joint of one coordinate where it has a value; False where it is none here."""
        joint = self.found.joints.get(self.joint_name[j])
        if joint is None or joint.kind not in ("revolute", "prismatic"):
            return False
        moved = Pose(value * joint.axis)
        if joint.kind == "revolute":
            moved = Pose(orientation=rotation.from_rotation_vector(value * joint.axis))
        joint.kind, joint.at_parent = "fixed", joint.at_parent @ moved
        self.notes.merge("joints that an equality locks are fixed", joint.name)
        return True


def _pose(position: Any, orientation: Any = (1.0, 0.0, 0.0, 0.0)) -> Pose:
    """Pose from arrays of MuJoCo, which are views into its memory."""
    return Pose(np.array(position, np.float64), rotation.normalized(orientation))
