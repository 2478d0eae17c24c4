"""Scopes of an SDF file and of all files that it includes."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

from dynamics.io.parsing import attribute, tree
from dynamics.io.sdf.files import included, version_of
from dynamics.io.sdf.scopes import DRAKE, OWN, Named, Scope
from dynamics.io.sdf.text import child, flag, pose_in, text_of

__all__ = ["scope_of"]

#: Children of models and worlds that are read elsewhere, or change no motion.
READ = ("static", "self_collide", "pose", "gravity", "allow_auto_disable", "physics", "scene")
#: Models nest no deeper; includes that do form a cycle.
DEEPEST = 20
#: Models of one file with all that it includes, and bytes of all these.
MOST, MOST_BYTES = 10_000, 256 * 2**20


#: Models that most worlds of Gazebo begin with, for where its own folder is not there.
GAZEBOS = {
    "model://sun": "",
    "model://ground_plane": (
        '<model name="ground_plane"><static>1</static><link name="link"><collision name="c">'
        "<geometry><plane><normal>0 0 1</normal></plane></geometry></collision></link></model>"
    ),
}


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
        found = self.model_of(made, uri, file, label)
        if found is None:
            return
        model, other, version = found
        self.files.append(other.resolve())
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
            if child(part, tag) is not None:
                made.notes.append((f"<{tag}> of includes", made.full(name)))
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

    def model_of(
        self, made: Scope, uri: str, file: Path, label: str
    ) -> tuple[Element, Path, tuple[int, ...]] | None:
        """Model of a URI, its file and version; None for a light."""
        try:
            other = included(uri, label, file, self.within)
        except FileNotFoundError:
            if uri.strip() not in GAZEBOS:
                raise
            text = GAZEBOS[uri.strip()]
            if not text:
                made.notes.append(("included <light>", made.full(uri)))
                return None
            return fromstring(text), file.parent / uri.partition("//")[2], (1, 9)
        if other.resolve() in self.files:
            raise ValueError(f"{label}: {other.name} includes itself")
        self.bytes += other.stat().st_size
        if self.bytes > MOST_BYTES:
            raise ValueError(f"{label}: includes are more than {MOST_BYTES // 2**20} MB in all")
        root = tree(other)
        version = version_of(root, other.name)
        models = root.findall("model")
        if len(models) == 1:
            return models[0], other, version
        kinds = [one.tag for one in root]
        if len(root) == 1 and kinds[0] in ("light", "actor"):
            made.notes.append((f"included <{kinds[0]}>", made.full(uri)))
            return None
        raise ValueError(f"{label}: {other.name} must hold one model, not {kinds}")

    def merge(
        self, made: Scope, inner: Scope, model: Element, file: Path, version: tuple[int, ...],
        home: str, label: str,
    ) -> None:  # fmt: skip
        """Put the elements of an included model into the scope itself, with a frame for its own."""
        if inner.static and not made.static:
            raise ValueError(f"{label}: a static model cannot be merged into one that moves")
        own = f"_merged__{inner.name.split('::')[-1]}__model__"
        base, pose = inner.place()
        link = inner.canonical or next(iter([*inner.links, *inner.models]), OWN)
        made.merged[own] = (home if base == OWN else base, pose, link)
        self.fill(made, model, file, version, own)


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
