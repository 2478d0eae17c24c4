"""Models and worlds of SDF as scopes of names, and the poses of their frames (SDF 1.7 and later).

A scope resolves ``link``, ``joint``, ``frame``, ``model`` and ``model::name``. Poses are relative
to the scope's own frame, and depend on each other in any order without a circle [1]_.

.. [1] Open Robotics, Pose frame semantics: SDFormat 1.7, sdformat.org.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from dynamics.io.description import Pose
from dynamics.io.sdf.text import pose_in, text_of

__all__ = ["DRAKE", "OWN", "Named", "Scope"]

OWN = "__model__"
DRAKE = "drake:"  #: before the tags of Drake's own elements
ROOTS = ("world", "__root__")


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """An element with a name, and where its names and poses begin.

    Attributes
    ----------
    element : Element
    home : str
        Frame of the scope that it is relative to by default: the model's own, or that of a model
        that is merged into it.
    file : Path
        That it stands in.
    version : tuple of int
        Of that file.
    """

    element: Element
    home: str
    file: Path
    version: tuple[int, ...]

    def at_home(self, name: str) -> str:
        """Name of a frame as the element says it, its own model's for ``__model__``."""
        return self.home if name == OWN else name


@dataclass(slots=True, eq=False)
class Scope:
    """A model or a world.

    Attributes
    ----------
    name : str
        With those of the scopes around it, as ``arm::hand``; "" for a file's own model or world.
    label : str
        For messages.
    around : Scope or None
    world, static : bool
    links, joints, frames : dict of Named
    models : dict of Scope
    pose : tuple of (str, Pose)
        Frame of the scope around it that it is relative to, and the pose.
    placed : str
        Frame of its own that the pose places; "" is its own.
    canonical : str
        Name of its canonical link; "" is the first one.
    self_collide : bool
    merged : dict of (str, Pose, str)
        Frames of models that are merged into it: what they are relative to, their pose, and the
        link that they are attached to.
    known : dict of Pose
        Frames whose poses are computed.
    notes : list of (str, str)
        Kinds and names of elements that are not read.
    """

    name: str
    label: str
    around: Scope | None = None
    world: bool = False
    static: bool = False
    links: dict[str, Named] = field(default_factory=dict)
    joints: dict[str, Named] = field(default_factory=dict)
    frames: dict[str, Named] = field(default_factory=dict)
    models: dict[str, Scope] = field(default_factory=dict)
    pose: tuple[str, Pose] = ("", Pose())
    placed: str = ""
    canonical: str = ""
    self_collide: bool = True
    merged: dict[str, tuple[str, Pose, str]] = field(default_factory=dict)
    known: dict[str, Pose] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)

    def full(self, name: str) -> str:
        """Name of an element with those of the scopes around it."""
        return f"{self.name}::{name}" if self.name else name

    def has(self, name: str) -> bool:
        """True if an element has this name."""
        return any(name in one for one in (self.links, self.joints, self.frames, self.models))

    # Poses

    def world_pose(self) -> Pose:
        """Pose of the scope's frame in the file's."""
        base, pose = self.place()
        if self.around is None:
            return pose
        return self.around.world_pose() @ self.around.frame(base) @ pose

    def place(self) -> tuple[str, Pose]:
        """Frame around it that it is relative to, and its own frame's pose in that."""
        base, pose = self.pose
        return base or OWN, pose @ self.frame(self.placed).inverse() if self.placed else pose

    def frame(self, name: str) -> Pose:
        """Pose of a frame in the scope's own.

        Parameters
        ----------
        name : str

        Returns
        -------
        Pose

        Raises
        ------
        ValueError
            For a name that is not there, and poses that form a cycle.
        """
        steps: dict[str, Pose] = {}
        while name not in self.known and name != OWN and not (self.world and name in ROOTS):
            if name in steps:
                raise ValueError(f"{self.label}: poses form a cycle: {_circle(steps, name)}")
            base, steps[name] = self._step(name)
            name = base
        here = self.known.get(name, Pose())
        for one, pose in reversed(steps.items()):
            here = self.known[one] = here @ pose
        return here

    def _step(self, name: str) -> tuple[str, Pose]:
        """Frame that another is relative to, and its pose in that."""
        first, _, rest = name.partition("::")
        if rest and first in self.models:
            return first, self.models[first].frame(rest)
        if name in self.merged:
            return self.merged[name][:2]
        if name in self.models:
            return self.models[name].place()
        named, kind = self.entry(name)
        base, pose = pose_in(named.element, f"{self.label}, {kind} {name!r}")
        if not base and kind == "joint":
            base = self.end(name, "child")
        elif not base and kind == "frame":
            base = named.element.get("attached_to", "").strip()
        return named.at_home(base or OWN), pose

    def joint_pose(self, name: str) -> Pose:
        """Pose of a joint's frame in the scope's own; old files call links by the same name.

        Parameters
        ----------
        name : str

        Returns
        -------
        Pose
        """
        named = self.joints[name]
        base, pose = pose_in(named.element, f"{self.label}, joint {name!r}")
        base = named.at_home(base) if base else self.end(name, "child")
        if base in ROOTS and not self.world and not self.has(base):
            return self.world_pose().inverse() @ pose
        return self.frame(base) @ pose

    def entry(self, name: str) -> tuple[Named, str]:
        """Link, joint or frame of a name, and its kind.

        Parameters
        ----------
        name : str

        Returns
        -------
        tuple of (Named, str)

        Raises
        ------
        ValueError
            If there is none.
        """
        for kind, entries in (("link", self.links), ("joint", self.joints), ("frame", self.frames)):
            if name in entries:
                return entries[name], kind
        there = [*self.links, *self.joints, *self.frames, *self.models]
        raise ValueError(f"{self.label} has no frame {name!r}; there are {there}")

    def end(self, joint: str, which: str) -> str:
        """Frame that a joint has as its parent or child."""
        named = self.joints[joint]
        drake = named.element.tag.startswith(DRAKE)
        text = text_of(named.element, DRAKE + which if drake else which)
        if text is None:
            raise ValueError(f"{self.label}, joint {joint!r} has no <{which}>")
        return named.at_home(text)

    # Links

    def link_of(self, name: str) -> str | None:
        """Full name of the link that a frame is attached to; None is the world.

        Parameters
        ----------
        name : str

        Returns
        -------
        str or None

        Raises
        ------
        ValueError
            For a name that is not there, and frames that form a cycle.
        """
        passed: dict[str, None] = {}
        while name not in self.links:
            if name in passed:
                raise ValueError(f"{self.label}: frames form a cycle: {_circle(passed, name)}")
            passed[name] = None
            first, _, rest = name.partition("::")
            if name in ROOTS and not self.has(name):
                return None
            if first in self.models:
                return self.models[first].link_of(rest or OWN)
            if name == OWN:
                if self.world:
                    return None
                name = self.canonical or next(iter([*self.links, *self.models]), "")
                if not name:
                    raise ValueError(f"{self.label} has no link")
            elif name in self.merged:
                name = self.merged[name][2]
            else:
                named, kind = self.entry(name)
                to = named.element.get("attached_to", "").strip() or OWN
                name = self.end(name, "child") if kind == "joint" else named.at_home(to)
        return self.full(name)

    def scopes(self) -> list[Scope]:
        """The scope and those inside it, outer ones first."""
        return [self, *(one for model in self.models.values() for one in model.scopes())]


def _circle(steps: dict[str, Any], name: str) -> str:
    """Names from a name to itself."""
    names = [*steps, name]
    return " -> ".join(names[names.index(name) :])
