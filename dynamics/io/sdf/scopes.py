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
from dynamics.io.parsing import attribute, tree
from dynamics.io.sdf.files import included, version_of
from dynamics.io.sdf.text import child, flag, pose_in, text_of

__all__ = ["Named", "Scope", "scope_of"]

OWN = "__model__"
DRAKE = "drake:"  #: before the tags of Drake's own elements
ROOTS = ("world", "__root__")
#: Children of models and worlds that are read elsewhere, or change no motion.
READ = ("static", "self_collide", "pose", "gravity", "allow_auto_disable", "physics", "scene")
#: Models nest no deeper; includes that do run in a circle.
DEEPEST = 20
#: Models of one file with all that it includes, and bytes of all these.
MOST, MOST_BYTES = 10_000, 256 * 2**20


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
        base, pose = self._place()
        if self.around is None:
            return pose
        return self.around.world_pose() @ self.around.frame(base) @ pose

    def _place(self) -> tuple[str, Pose]:
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
            For a name that is not there, and poses that run in a circle.
        """
        steps: dict[str, Pose] = {}
        while name not in self.known and name != OWN and not (self.world and name in ROOTS):
            if name in steps:
                raise ValueError(f"{self.label}: poses run in a circle: {_circle(steps, name)}")
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
            return self.models[name]._place()
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
            Where there is none.
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
            For a name that is not there, and frames that run in a circle.
        """
        passed: dict[str, None] = {}
        while name not in self.links:
            if name in passed:
                raise ValueError(f"{self.label}: frames run in a circle: {_circle(passed, name)}")
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


class _Builder:
    """Scopes of one file and those that it includes."""

    def __init__(self, within: Path | None) -> None:
        self.within, self.count, self.bytes = within, 0, 0
        self.files: list[Path] = []

    def scope(
        self, element: Element, file: Path, version: tuple[int, ...], label: str, name: str,
        around: Scope | None,
    ) -> Scope:  # fmt: skip
        """Scope of a <model> or <world>."""
        self.count += 1
        depth, above = 0, around
        while above is not None:
            depth, above = depth + 1, above.around
        if depth > DEEPEST or self.count > MOST:
            raise ValueError(
                f"{label}: models nest more than {DEEPEST} deep, or are more than {MOST}"
            )
        made = Scope(name, label, around, world=element.tag == "world")
        if not made.world:
            made.static = flag(element, "static", False, label) or (
                around is not None and around.static
            )
            made.self_collide = flag(element, "self_collide", True, label)
            made.pose = pose_in(element, label)
            made.placed = element.get("placement_frame", "").strip()
            made.canonical = element.get("canonical_link", "").strip()
        self.fill(made, element, file, version, OWN)
        return made

    def fill(
        self, made: Scope, element: Element, file: Path, version: tuple[int, ...], home: str
    ) -> None:
        """Put the children of an element into a scope."""
        tables = {"link": made.links, "frame": made.frames}
        tables["joint"] = tables[f"{DRAKE}joint"] = made.joints
        for part in element:
            if part.tag == "include":
                self.include(made, part, file, home)
            elif part.tag == "model":
                name = self.name(made, part, version, f"{made.label}: a model")
                made.models[name] = self.scope(
                    part, file, version, f"{made.label}, model {name!r}", made.full(name), made
                )
                self.remember(made, made.models[name], home)
            elif part.tag in tables:
                name = self.name(made, part, version, f"{made.label}: a {part.tag}")
                tables[part.tag][name] = Named(part, home, file, version)
            elif part.tag not in READ:
                made.notes.append((f"<{part.tag}>", made.full(part.get("name") or part.tag)))

    def remember(self, made: Scope, model: Scope, home: str) -> None:
        """Say that a model of a merged one is relative to that one's frame."""
        base, pose = model.pose
        if base in ("", OWN):
            model.pose = (home, pose)

    def name(self, made: Scope, part: Element, version: tuple[int, ...], label: str) -> str:
        """Name of an element, which no other of the scope has; in old files none of its kind."""
        name = attribute(part, "name", label)
        if "::" in name and version >= (1, 7):
            raise ValueError(f"{label} is called {name!r}; :: is for names in other models")
        tables = {"link": made.links, "joint": made.joints, "frame": made.frames}
        same = name in tables.get(part.tag, made.models)
        if same or (version >= (1, 7) and made.has(name)):
            raise ValueError(f"{made.label} has two elements called {name!r}")
        return name

    def include(self, made: Scope, part: Element, file: Path, home: str) -> None:
        """A model of another file, as one of this scope, or merged into it."""
        uri = text_of(part, "uri")
        if uri is None:
            raise ValueError(f"{made.label}: an <include> has no <uri>")
        label = f"{made.label}, include of {uri!r}"
        other = included(uri, label, file, self.within)
        if other.resolve() in self.files:
            raise ValueError(f"{label}: {other.name} includes itself")
        self.bytes += other.stat().st_size
        if self.bytes > MOST_BYTES:
            raise ValueError(f"{label}: includes are more than {MOST_BYTES // 2**20} MB in all")
        root = tree(other)
        version = version_of(root, other.name)
        models = root.findall("model")
        if len(models) != 1:
            kinds = [one.tag for one in root]
            if len(root) == 1 and kinds[0] in ("light", "actor"):
                made.notes.append((f"included <{kinds[0]}>", made.full(uri)))
                return
            raise ValueError(f"{label}: {other.name} must hold one model, not {kinds}")
        self.files.append(other.resolve())
        model = models[0]
        given = text_of(part, "name")
        name = given or attribute(model, "name", f"{label}: the model")
        inner = self.scope(model, other, version, f"{made.label}, model {name!r}", made.full(name),
                           made)  # fmt: skip
        place = child(part, "placement_frame")
        if child(part, "pose") is not None:
            inner.pose = pose_in(part, label)
        if place is not None:
            if child(part, "pose") is None:
                raise ValueError(f"{label}: <placement_frame> needs a <pose>")
            inner.placed = (place.text or "").strip()
        if flag(part, "static", False, label):
            for one in inner.scopes():
                one.static = True
        for tag in ("plugin", "experimental:params"):
            made.notes += [(f"<{tag}> of includes", made.full(name))] * (
                child(part, tag) is not None
            )
        if part.get("merge", "false").strip().lower() in ("true", "1"):
            self.merge(made, inner, model, other, version, home, label)
            self.files.pop()
            return
        self.files.pop()
        if made.has(name):
            raise ValueError(f"{made.label} has two elements called {name!r}; give <include> a "
                             "<name>")  # fmt: skip
        made.models[name] = inner
        self.remember(made, inner, home)

    def merge(
        self, made: Scope, inner: Scope, model: Element, file: Path, version: tuple[int, ...],
        home: str, label: str,
    ) -> None:  # fmt: skip
        """Put the elements of an included model into the scope itself, with a frame for its own."""
        if inner.static and not made.static:
            raise ValueError(f"{label}: a static model cannot be merged into one that moves")
        own = f"_merged__{inner.name.split('::')[-1]}__model__"
        base, pose = inner._place()
        link = inner.canonical or next(iter([*inner.links, *inner.models]), OWN)
        made.merged[own] = (home if base == OWN else base, pose, link)
        self.fill(made, model, file, version, own)


def _circle(steps: dict[str, Any], name: str) -> str:
    """Names from a name to itself."""
    names = [*steps, name]
    return " -> ".join(names[names.index(name) :])


def scope_of(
    element: Element, file: Path, version: tuple[int, ...], label: str, name: str,
    within: Path | None,
) -> Scope:  # fmt: skip
    """Scope of a world or of a file's own model.

    Parameters
    ----------
    element : Element
    file : Path
    version : tuple of int
    label : str
        For messages.
    name : str
        That its elements get before their own; "" for none.
    within : Path or None
        Folder that included files may lie in.

    Returns
    -------
    Scope

    Raises
    ------
    ValueError
        For names that are there twice or not at all, and for files that include themselves.
    """
    builder = _Builder(within)
    builder.files.append(file.resolve())
    return builder.scope(element, file, version, label, name, None)
