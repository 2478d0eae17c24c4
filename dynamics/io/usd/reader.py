"""USD: rigid bodies, joints, colliders and materials of UsdPhysics as OpenUSD's parser gives them.

Bodies are links, joints may connect them in any graph, and colliders without a body are static.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from dynamics import rotation
from dynamics.io.description import Description, Floor, JointEntry, Link, Pose
from dynamics.io.notes import NOT_KEPT, Notes
from dynamics.io.spanning import hang
from dynamics.io.usd.contacts import Surfaces
from dynamics.io.usd.joints import Joints
from dynamics.io.usd.masses import fill_mass
from dynamics.io.usd.shapes import Shapes, axis_of
from dynamics.io.usd.stage import Stage, authored, quiet
from dynamics.parts.actuators import Keyframe
from dynamics.parts.geometry import Surface

__all__ = ["read_usd"]

CLOSED = 1e-5  #: m and rad, of numbers in single precision
EARTH = 9.81  #: m/s^2, where a scene gives no magnitude
#: Schemas whose contents are read, or that change no motion.
READ = {
    *(f"Physics{name}API" for name in ("ArticulationRoot", "Collision", "Drive", "FilteredPairs",
      "Limit", "Mass", "Material", "MeshCollision", "RigidBody")),
    "MaterialBindingAPI", "GeomModelAPI", "SemanticsAPI", "SemanticsLabelsAPI", "CollectionAPI",
    "LightAPI", "MeshLightAPI", "ShapingAPI", "ShadowAPI", "VisibilityAPI",
}  # fmt: skip


def read_usd(
    path: Path, notes: Notes, *, meshes: bool = True, within: Path | None = None
) -> Description:
    """Read what a USD file says of rigid bodies.

    Parameters
    ----------
    path : Path
    notes : Notes
        Gets what is left out.
    meshes : bool, optional
        Whether to keep meshes.
    within : Path, optional
        Folder that all layers must lie in; by default that of the file.

    Returns
    -------
    Description

    Raises
    ------
    graphsys.MissingExtraError
        If ``usd-core`` is not installed.
    ValueError
        For a file that is broken, by the label of what is.
    FileNotFoundError
        For a layer that is not there.
    """
    with quiet(path):
        reader = _Reader(Stage(path, within), notes, meshes)
        reader.whole()
        return reader.found


class _Reader:
    """One stage while it is read."""

    def __init__(self, stage: Stage, notes: Notes, meshes: bool) -> None:
        self.stage, self.notes = stage, notes
        self.found = Description()
        self.shapes, self.meshes = Shapes(stage, notes), meshes
        self.kinds: Any = stage.pxr.UsdPhysics.ObjectType
        self.prims = self.seen()
        self.order = {str(prim.GetPath()): k for k, prim in enumerate(self.prims)}
        for prim in self.prims:
            stage.check(prim)
        physics = stage.pxr.UsdPhysics
        parse = getattr(physics, "UsdPhysicsLoadStageFromPrimRange", None)  # since 26.11
        parsed = (parse or physics.LoadUsdPhysicsFromRange)(stage.stage, ["/"])
        self.parsed: dict[Any, list[Any]] = {
            kind: list(descriptions) for kind, (_, descriptions) in parsed.items()
        }
        self.places: dict[str, Pose] = {}
        self.names: dict[str, str] = {}
        self.links: dict[str, str] = {}  # of prims below bodies

    def seen(self) -> list[Any]:
        """Prims in the order of the file, without what point instancers multiply."""
        found, hidden = [], "\0"
        for prim in self.stage.stage.Traverse(self.stage.pxr.Usd.TraverseInstanceProxies()):
            path = str(prim.GetPath())
            if path.startswith(hidden):
                continue
            if prim.IsA(self.stage.pxr.UsdGeom.PointInstancer):
                self.notes.leave_out("point instancers", path)
                hidden = f"{path}/"
            found.append(prim)
        return found

    def of(self, *kinds: str) -> list[Any]:
        """Valid descriptions of these kinds, in the order of the file."""
        found = [
            one
            for kind in kinds
            for one in self.parsed.get(getattr(self.kinds, kind, None), [])
            if one.isValid and str(one.primPath) in self.order
        ]
        return sorted(found, key=lambda one: self.order[str(one.primPath)])

    def whole(self) -> None:
        """Fill the description."""
        if not self.stage.has_units:
            self.notes.merge("lengths without metersPerUnit are centimetres, as USD says",
                             self.stage.path.name)  # fmt: skip
        self.gravity()
        bodies = self.of("RigidBody")
        self.names = _names([str(one.primPath) for one in bodies])
        for one in bodies:
            self.body(one)
        self.below()
        self.surfaces = Surfaces(self.stage, self.of("CollisionGroup"), self.notes)
        colliders = {
            str(one.primPath): one
            for one in self.of(
                "SphereShape", "CubeShape", "CapsuleShape", "Capsule1Shape", "CylinderShape",
                "Cylinder1Shape", "ConeShape", "MeshShape", "PlaneShape", "CustomShape",
                "SpherePointsShape",
            )
        }  # fmt: skip
        for prim in self.prims:
            self.shape(prim, colliders.get(str(prim.GetPath())))
            self.left(prim)
        for one in bodies:
            if not one.kinematicBody and one.rigidBodyEnabled:
                path = str(one.primPath)
                link, place = self.found.links[self.names[path]], self.places[path]
                fill_mass(self.stage, one, link, place, self.shapes, self.notes)
        self.joints()
        if not self.found.links:
            raise ValueError(
                f"{self.stage.path.name} has no rigid body: no prim has the PhysicsRigidBodyAPI"
            )
        self.pairs(colliders)
        self.found.roots = hang(self.found, self.notes)
        self.found.places = {link: self.start[link] for link in self.found.roots}
        self.posture()

    def descriptions(self) -> list[Any]:
        """Descriptions of joints in the order of the file."""
        found = [
            one for kind, some in self.parsed.items() if str(kind).endswith("Joint")
            for one in some if str(one.primPath) in self.order
        ]  # fmt: skip
        return sorted(found, key=lambda one: self.order[str(one.primPath)])

    def gravity(self) -> None:
        """Gravity of the first scene."""
        scenes = self.of("Scene")
        for one in scenes[1:]:
            self.notes.leave_out("further scenes", one.primPath)
        if not scenes:
            return
        scene = scenes[0]
        way = np.array([authored(x) for x in scene.gravityDirection])
        size = self.stage.length * authored(scene.gravityMagnitude)
        prim = self.stage.stage.GetPrimAtPath(scene.primPath)
        given = prim.GetAttribute("physics:gravityMagnitude").Get()
        if given is None or given < 0.0:
            size = EARTH  # whatever the unit
        length = float(np.linalg.norm(way))
        if not np.isfinite(length) or length == 0.0 or not np.isfinite(size):
            raise ValueError(f"{self.stage.name(prim)}: gravity is {size} along {way}")
        self.found.gravity = size * rotation.rotate(self.stage.upright.orientation, way / length)

    # Bodies

    def body(self, body: Any) -> None:
        """One rigid body; those that do not move by forces are fixed to the world."""
        path = str(body.primPath)
        name = self.names[path]
        prim = self.stage.stage.GetPrimAtPath(path)
        self.places[path] = self.stage.pose(prim)
        self.found.links[name] = Link(name)
        if np.any(np.array([*body.linearVelocity, *body.angularVelocity]) != 0.0):
            self.notes.leave_out("velocities of bodies at the start", name)
        if body.kinematicBody or not body.rigidBodyEnabled:
            what = "kinematic" if body.kinematicBody else "not enabled"
            self.notes.merge(f"bodies that are {what} stand still", name)
            fixed = f"world-{name}"
            self.found.joints[fixed] = JointEntry(fixed, "fixed", None, name, self.places[path])

    def below(self) -> None:
        """Body of each prim: itself, or the next one above."""
        for prim in self.prims:
            path = str(prim.GetPath())
            above = path.rsplit("/", 1)[0]
            if path in self.names:
                self.links[path] = path
            elif (
                above in self.links
                and not self.stage.pxr.UsdGeom.Xformable(prim).GetResetXformStack()
            ):
                self.links[path] = self.links[above]

    # Shapes

    def shape(self, prim: Any, collider: Any) -> None:
        """A prim as a look, a collision shape, a static shape or a floor."""
        path = str(prim.GetPath())
        if not prim.IsA(self.stage.pxr.UsdGeom.Gprim):
            return
        body = self.links.get(path)
        if collider is not None and not collider.collisionEnabled:
            collider = None
        if str(prim.GetTypeName()) == "Plane":
            self.plane(prim, body, collider)
            return
        seen = self.shapes.is_seen(prim)
        if not seen and collider is None:
            return
        if prim.GetTypeName() == "Mesh" and not self.meshes:
            if collider is not None:
                self.notes.leave_out(NOT_KEPT, path.strip("/"))
            return
        made = self.shapes.read(prim, Pose() if body is None else self.places[body])
        if made is None:
            return
        surface = None if collider is None else self.surfaces.read(collider)
        color = self.shapes.color(prim)
        if body is not None:
            link = self.found.links[self.names[body]]
            if seen:
                link.visuals.append(replace(made, color=color))
            if collider is not None:
                link.collisions.append(replace(made, surface=surface, labels=(path,)))
            return
        name = path.strip("/")
        if seen:
            self.found.scenery[name] = replace(made, color=color)
        if collider is not None:
            self.found.obstacles[name] = replace(made, surface=surface, labels=(path,))

    def plane(self, prim: Any, body: str | None, collider: Any) -> None:
        """A plane: a floor without an end where it collides and stands still."""
        path = str(prim.GetPath())
        if collider is None:
            return
        if body is not None:
            self.notes.leave_out("planes of bodies", path)
            return
        pose = self.stage.pose(prim)
        normal = rotation.rotate(pose.orientation, np.eye(3)[axis_of(prim, self.stage)])
        surface = self.surfaces.read(collider) or Surface(0.0, kind=-1, touches=-1)
        name = path.strip("/")
        self.found.floors.append(Floor(name, pose.position, normal, surface, (path,)))

    # The whole

    def joints(self) -> None:
        """All joints, and poses of links."""
        joints = self.descriptions()
        names = _names([str(one.primPath) for one in joints])
        reader = Joints(self.stage, self.found, self.notes, self.names, names)
        for one in joints:
            reader.read(one)
        self.start = {self.names[path]: pose for path, pose in self.places.items()}
        for joint in self.found.joints.values():  # links without mass are where coordinates are 0
            if joint.child in reader.between:
                above = Pose() if joint.parent is None else self.start[joint.parent]
                self.start[str(joint.child)] = above @ joint.at_parent @ joint.at_child.inverse()

    def pairs(self, colliders: dict[str, Any]) -> None:
        """Pairs of bodies and shapes that the file says never touch."""
        owners = [*self.of("RigidBody", "Articulation"), *colliders.values()]
        shapes = [one for link in self.found.links.values() for one in link.collisions]
        shapes += self.found.obstacles.values()
        paths = [label for one in shapes for label in one.labels]
        paths += [label for floor in self.found.floors for label in floor.labels]
        for one in owners:
            for other in one.filteredCollisions:
                first = self.touching(str(one.primPath), paths)
                self.found.excluded += product(first, self.touching(str(other), paths))

    def touching(self, path: str, paths: Iterable[str]) -> list[str]:
        """Name of a body, or else those of the paths that are a prim's or below it."""
        if path in self.names:
            return [self.names[path]]
        return [one for one in paths if f"{one}/".startswith(f"{path}/")]

    def left(self, prim: Any) -> None:
        """Note schemas that are not read, as those of other engines, and motions of prims."""
        path, kind = str(prim.GetPath()).strip("/"), prim.GetPrimTypeInfo()
        if prim.GetTypeName() and not kind.GetSchemaTypeName():
            self.notes.leave_out(str(prim.GetTypeName()), path)
        ops = self.stage.pxr.UsdGeom.Xformable(prim)
        if ops and any(one.GetAttr().GetNumTimeSamples() for one in ops.GetOrderedXformOps()):
            self.notes.merge("prims that move over time stand where they begin", path)
        for schema in kind.GetAppliedAPISchemas():
            name = str(schema).split(":")[0]
            if name not in READ:
                self.notes.leave_out(name, path)

    def posture(self) -> None:
        """Keep the file's posture where coordinates in it are not 0, and its joints allow it."""
        away = False
        for joint in self.found.joints.values():
            ends = [
                pose if link is None else self.start[link] @ pose
                for link, pose in ((joint.parent, joint.at_parent), (joint.child, joint.at_child))
            ]
            off = ends[0].inverse() @ ends[1]
            turn = rotation.to_rotation_vector(off.orientation)
            away |= bool(max(abs(off.position).max(), abs(turn).max()) > CLOSED)
            if not _allows(joint, off.position, turn):
                what = "joints that hold bodies elsewhere than the file places them"
                self.notes.merge(what, joint.name)
                away = False
                break
        if not away:
            return
        poses: dict[Hashable, Any] = {
            name: np.concatenate([self.start[name].position, self.start[name].orientation])
            for name in self.start
        }
        self.found.keyframes["start"] = Keyframe(poses, {})
        self.notes.merge("the posture of the file is the keyframe", "start")


def _allows(joint: JointEntry, position: Any, turn: Any) -> bool:
    """True if a joint leaves a displacement and a rotation vector, for kinds that are simple."""
    along, about = np.cross(position, joint.axis), np.cross(turn, joint.axis)
    held = {
        "fixed": (position, turn), "revolute": (position, about), "prismatic": (along, turn),
        "cylindrical": (along, about), "universal": (position,), "spherical": (position,),
    }  # fmt: skip
    return all(abs(one).max() <= CLOSED for one in held.get(joint.kind, ()))


def _names(paths: list[str]) -> dict[str, str]:
    """Names of prims by path: their own, or whole paths where two are the same."""
    own = {path: path.rsplit("/", 1)[-1] for path in paths}
    count = Counter(own.values())
    return {
        path: name if count[name] < 2 and name != "world" else path.strip("/")
        for path, name in own.items()
    }
