"""SDF: models and worlds as links, joints, floors and static shapes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from dynamics import rotation
from dynamics.io.description import Description, Floor, JointEntry, Link, Pose
from dynamics.io.notes import NOT_KEPT, Notes
from dynamics.io.parsing import numbers, once, tree
from dynamics.io.sdf.building import scope_of
from dynamics.io.sdf.files import version_of
from dynamics.io.sdf.geometry import Shapes
from dynamics.io.sdf.joints import Joints
from dynamics.io.sdf.scopes import Named, Scope
from dynamics.io.sdf.text import child, flag, number, pose_in, vector
from dynamics.io.spanning import hang
from dynamics.parts.options import unused

__all__ = ["read_sdf"]

#: Parts of a link that are read, or that change no motion.
READ = {"pose", "gravity", "inertial", "collision", "visual", "kinematic", "must_be_base_link"}
#: Elements at the root of a file that are read.
WORLDS = ("model", "world", "include")


def read_sdf(
    path: Path, notes: Notes, *, meshes: bool = True, within: Path | None = None
) -> Description:
    """Read what an SDF file says.

    Parameters
    ----------
    path : Path
    notes : Notes
        Gets what is left out.
    meshes : bool, optional
        Whether to keep names of meshes.
    within : Path, optional
        Folder of models that meshes and included files may lie in; by default that of the file.

    Returns
    -------
    Description

    Raises
    ------
    ValueError
        For a file that is broken, by the label of what is.
    FileNotFoundError
        For an included model that is not there.
    """
    root = tree(path)
    version = version_of(root, path.name)
    reader = _Reader(path, notes, meshes, within)
    worlds, models = root.findall("world"), root.findall("model")
    if len(worlds) > 1 or (worlds and models):
        names = [one.get("name", "") for one in (*worlds, *models)]
        raise ValueError(f"{path.name} holds {names}: one world, or models, to a file")
    for part in root:
        if part.tag not in WORLDS:
            notes.leave_out(f"<{part.tag}>", part.get("name") or part.tag)
    if not worlds and len(models) == 1 and root.find("include") is None:
        name = models[0].get("name", "")
        label = f"{path.name}: model {name!r}"
        scope = scope_of(models[0], path, version, label, "", within)
    else:  # several models stand in a world without a name
        element = worlds[0] if worlds else root
        element.tag = "world"
        scope = scope_of(element, path, version, f"{path.name}: the world", "", within)
    reader.whole(scope)
    gravity = worlds[0].find("gravity") if worlds else None
    if gravity is not None:
        reader.found.gravity = numbers(gravity.text or "", 3, f"{path.name}: <gravity>")
    return reader.found


class _Reader:
    """One file while it is read."""

    def __init__(self, path: Path, notes: Notes, meshes: bool, within: Path | None) -> None:
        self.path, self.notes = path, notes
        self.found = Description()
        self.shapes = Shapes(notes, meshes, within)
        self.names = set[str]()

    def whole(self, scope: Scope) -> None:
        """Links and joints of a scope and of all inside it."""
        found = self.found
        places: dict[str, Pose] = {}
        scopes = scope.scopes()
        self.names = {
            one.full(name) for one in scopes for kind in (one.joints, one.links) for name in kind
        }
        for one in scopes:
            here = one.world_pose()
            for kind, name in one.notes:
                self.notes.leave_out(kind, name)
            for name, named in one.links.items():
                full = one.full(name)
                places[full] = here @ one.frame(name)
                self.link(one, name, named, places[full])
            names = [one.full(name) for name in one.links]
            if not one.self_collide:
                found.excluded += [(a, b) for k, a in enumerate(names) for b in names[k + 1 :]]
        if not found.links:
            raise ValueError(f"{self.path.name} has no link")
        for one in scopes:
            for name in one.frames:
                link, pose = one.link_of(name), one.world_pose() @ one.frame(name)
                pose = pose if link is None else places[link].inverse() @ pose
                found.frames[one.full(name)] = (link, pose)
        joints = Joints(found, self.notes, places, self.names)
        for one in scopes:
            for name, named in one.joints.items():
                if one.static:
                    self.notes.leave_out("joints of static models", one.full(name))
                else:
                    joints.read(one, name, named)
        joints.finish()
        found.roots = hang(found, self.notes)
        found.places = {link: places[link] for link in found.roots}

    def link(self, scope: Scope, name: str, named: Named, pose: Pose) -> None:
        """One link; those of static models are fixed to the world."""
        element, full = named.element, scope.full(name)
        label = f"{scope.label}, link {name!r}"
        link = self.found.links[full] = Link(full)
        once(element, ("pose", "inertial"), self.notes, full)
        for part in element:
            if part.tag in ("visual", "collision"):
                self.shape(part, scope, name, named, link, pose)
            elif part.tag == "self_collide":
                if not flag(element, "self_collide", True, label):
                    self.apart(scope, name)
            elif part.tag == "velocity_decay":
                if any(number(part, key, 0.0, label) for key in ("linear", "angular")):
                    self.notes.leave_out("<velocity_decay> of links", full)
            elif part.tag not in READ:
                self.notes.leave_out(f"<{part.tag}> of links", full)
        if not flag(element, "gravity", True, label):
            link.gravity_scale = 0.0
        if flag(element, "kinematic", False, label):
            self.notes.leave_out("<kinematic> of links (they move freely)", full)
        inertial = child(element, "inertial")
        if inertial is not None:
            self.inertial(inertial, link, label)
        if scope.static:  # it is the world: no mass, no reaction
            name = unused(f"world-{full}", {*self.names, *self.found.joints})
            self.found.joints[name] = JointEntry(name, "fixed", None, full, pose)
            link.mass, link.inertia = 0.0, np.zeros((3, 3))
        elif inertial is None:
            link.mass, link.inertia = 1.0, np.eye(3)
            self.notes.merge("links without <inertial>, which SDF gives 1 kg and 1 kg m^2", full)

    def apart(self, scope: Scope, name: str) -> None:
        """Let a link touch no other of its model."""
        full = scope.full(name)
        self.found.excluded += [(full, scope.full(one)) for one in scope.links if one != name]

    def inertial(self, element: Element, link: Link, label: str) -> None:
        """Mass, centre of mass and inertia."""
        if element.get("auto", "false").strip().lower() in ("true", "1"):
            self.notes.leave_out('<inertial auto="true">: it needs its numbers', link.name)
        base, pose = pose_in(element, label)
        if base:
            raise ValueError(f"{label}: <pose> of <inertial> is relative to its link, not {base!r}")
        link.mass = number(element, "mass", 1.0, label)
        if link.mass < 0.0:
            raise ValueError(f"{label} has the mass {link.mass}, which is negative")
        xx, yy, zz = (number(element, f"inertia/i{k}{k}", 1.0, label) for k in "xyz")
        xy, xz, yz = (number(element, f"inertia/i{k}", 0.0, label) for k in ("xy", "xz", "yz"))
        R = rotation.to_matrix(pose.orientation)
        turned = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
        link.center, link.inertia = pose.position, (turned + turned.T) / 2.0
        if child(element, "fluid_added_mass") is not None:
            self.notes.leave_out("<fluid_added_mass> of links", link.name)

    def shape(
        self, element: Element, scope: Scope, name: str, named: Named, link: Link, pose: Pose
    ) -> None:
        """A visual or a collision of a link; planes of static links are floors."""
        label = f"{scope.label}, link {name!r}, {element.tag} {element.get('name', '')!r}"
        base, own = pose_in(element, label)
        if base and base != name:
            own = scope.frame(name).inverse() @ scope.frame(named.at_home(base)) @ own
        holder = child(element, "geometry")
        if holder is None or len(holder) == 0:
            raise ValueError(f"{label} has no <geometry>")
        if holder[0].tag == "plane":
            self.plane(element, holder[0], scope, link, pose @ own, label)
            return
        made = self.shapes.read(holder[0], own, named.file, link.name, label)
        if made is None:
            if element.tag == "collision" and holder[0].tag == "mesh" and not self.shapes.meshes:
                self.notes.leave_out(NOT_KEPT, link.name)
            return
        if element.tag == "visual":
            link.visuals.append(replace(made, color=self.shapes.color(element, link.name, label)))
        else:
            link.collisions.append(
                replace(made, surface=self.shapes.surface(element, link.name, label))
            )

    def plane(
        self, element: Element, plane: Element, scope: Scope, link: Link, pose: Pose, label: str
    ) -> None:
        """A plane: a floor without an end where a static link has it as its collision."""
        if element.tag == "visual":
            return  # a floor is drawn by itself
        if not scope.static:
            self.notes.leave_out("<plane> of links that are not static", link.name)
            return
        normal = rotation.rotate(pose.orientation, vector(plane, "normal", "0 0 1", label))
        length = float(np.linalg.norm(normal))
        if length == 0.0:
            raise ValueError(f"{label}: the normal of the plane is zero")
        surface = self.shapes.surface(element, link.name, label) or self.shapes.plain()
        names = {one.name for one in self.found.floors}
        name = next(
            one for one in (link.name, *(f"{link.name} {k}" for k in range(2, 10**6)))
            if one not in names
        )  # fmt: skip
        self.found.floors.append(Floor(name, pose.position, normal / length, surface))
