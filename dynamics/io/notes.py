"""Losses of a reader, collected and reported in one warning of each kind."""

from __future__ import annotations

import warnings
from pathlib import Path

__all__ = [
    "ImplausibleInertiaWarning",
    "LoadWarning",
    "MergedLinkWarning",
    "Notes",
    "UnsupportedElementWarning",
]

#: Of files that are loaded without meshes, where shapes touch.
NOT_KEPT = "collision meshes, as meshes=False"
MISSING, NO_CLOSURES = "meshes that are not there", "files next to it that hold no closures"
#: Kinds of elements that change no motion: in the report, but in no warning.
LOOKS = (
    "lights", "skins", "cameras that track", "numerics", "texts", "tuples", MISSING, NO_CLOSURES,
)  # fmt: skip
#: How changes begin that keep every motion, and that most files need: in the report alone. Links
#: keep their names, as frames or bodies.
MERGED, BETWEEN = "merged into", "links between hinges of a body"
USUAL = (MERGED, BETWEEN)
#: So many names of one kind are written out in a message; `elements` holds all.
MOST_NAMES = 12


class LoadWarning(UserWarning):
    """Something in a file is not in the mechanism as it is in the file.

    Parameters
    ----------
    message : str
    elements : dict of list of str, optional
        What it is about: names by kind.
    """

    def __init__(self, message: str, elements: dict[str, list[str]] | None = None) -> None:
        super().__init__(message)
        self.elements = elements or {}


class UnsupportedElementWarning(LoadWarning):
    """Elements of a file that the mechanism is without."""


class MergedLinkWarning(LoadWarning):
    """Links and joints that the mechanism has in another way, or under another name."""


class ImplausibleInertiaWarning(LoadWarning):
    """Bodies with inertia that no rigid body has; the file's numbers are kept."""


class Notes:
    """Notes on one file.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unsupported: dict[str, list[str]] = {}
        self.merged: dict[str, list[str]] = {}
        self.kept: dict[str, list[str]] = {}

    def leave_out(self, kind: str, name: object) -> None:
        """Note an element that is left out.

        Parameters
        ----------
        kind : str
            What kind of element, as in the file.
        name : object
            Label of the element or of its owner.
        """
        self._add(self.unsupported, kind, name)

    def merge(self, kind: str, name: object) -> None:
        """Note a link that is merged or a body that is renamed."""
        self._add(self.merged, kind, name)

    def keep(self, kind: str, name: object) -> None:
        """Note what is kept although it cannot be right."""
        self._add(self.kept, kind, name)

    def hint(self, *kinds: str) -> str:
        """Words for an error that elements of these kinds, left out, may have caused."""
        found = {what: names for what, names in self.unsupported.items() if what.startswith(kinds)}
        return f" (left out: {_parts(found)})" if found else ""

    def emit(self, stacklevel: int) -> None:
        """Warn, once for each class.

        Parameters
        ----------
        stacklevel : int
            1 is the caller of this method.
        """
        moving = {what: names for what, names in self.unsupported.items() if what not in LOOKS}
        changed = {what: to for what, to in self.merged.items() if not what.startswith(USUAL)}
        for found, kind, title in (
            (moving, UnsupportedElementWarning, "left out"),
            (changed, MergedLinkWarning, "changed"),
            (self.kept, ImplausibleInertiaWarning, "kept"),
        ):
            if found:
                message = f"{self.path.name}: {title}: {_parts(found)}"
                warnings.warn(kind(message, found), stacklevel=stacklevel + 1)

    @staticmethod
    def _add(found: dict[str, list[str]], kind: str, name: object) -> None:
        names = found.setdefault(kind, [])
        if str(name) not in names:
            names.append(str(name))


def _parts(found: dict[str, list[str]]) -> str:
    """Names by kind."""
    return "; ".join(f"{what}: {_listed(names)}" for what, names in found.items())


def _listed(names: list[str]) -> str:
    """Names, the first of them written out."""
    shown = ", ".join(repr(name) for name in names[:MOST_NAMES])
    more = len(names) - MOST_NAMES
    return f"{shown} and {more} more" if more > 0 else shown
