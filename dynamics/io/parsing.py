"""XML from strangers: a tree without entities, and numbers and names read with their labels."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable
from pathlib import Path, PurePosixPath, PureWindowsPath
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from dynamics.io.notes import Notes

__all__ = ["NO_NUMBER", "attribute", "color_of", "endless", "mesh_path", "numbers", "once", "tree"]

Float = NDArray[np.float64]

#: No robot nests deeper; a file that does is meant to exhaust memory.
DEEPEST = 200
LARGEST = 64 * 2**20  #: bytes
#: Of a length, a mass or an inertia: products of some of them do not overflow.
LARGEST_NUMBER = 1e100
#: Limits from here on are none: SDF wrote 1e16 for infinity, and others the largest number.
ENDLESS = 1e15
#: What Python reads in numbers, and files do not have: 1_000, and digits of other scripts.
NO_NUMBER = re.compile(r"[^\x00-\x7f]|_")


class RefusedError(ValueError):
    """XML that no robot needs."""


def tree(path: Path) -> Element:
    """Root of an XML file.

    Document types and entities are refused before anything is expanded.

    Parameters
    ----------
    path : Path

    Returns
    -------
    Element

    Raises
    ------
    ValueError
        If the file is not well-formed XML, declares a document type or is out of all bounds.
    """
    if path.stat().st_size > LARGEST:
        raise ValueError(
            f"{path.name} is larger than {LARGEST // 2**20} MB; robot files are smaller"
        )
    builder, parser = TreeBuilder(), expat.ParserCreate()
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise RefusedError(f"{path.name} nests elements more than {DEEPEST} deep")
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: object) -> None:
        raise RefusedError(
            f"{path.name} declares a document type or entities, which no robot needs and which "
            "can fill the memory: remove <!DOCTYPE ...>"
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    data = path.read_bytes()
    text = data.lstrip(b" \t\r\n")  # before <?xml ...?>, as files of others have it
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        line = error.lineno + data[: len(data) - len(text)].count(b"\n")
        raise ValueError(
            f"{path.name} is not well-formed XML: {expat.ErrorString(error.code)} in line {line}"
            + _foreign(data)
        ) from None
    except RefusedError:
        raise
    except Exception as error:  # of codecs: expat asks Python for encodings that it does not know
        raise ValueError(
            f"{path.name} is in an encoding that is not read ({error}); save it as UTF-8"
        ) from None
    return builder.close()


def _foreign(data: bytes) -> str:
    """Words for an error that bytes of another encoding may have caused."""
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return f"; its line {line} is not UTF-8: save it as UTF-8, or declare its encoding"
    return ""


def once(element: Element, tags: Iterable[str], notes: Notes, owner: object) -> None:
    """Note children that an element may have once, and has several times: the first counts.

    Parameters
    ----------
    element : Element
    tags : iterable of str
    notes : Notes
    owner : object
        Label of what the element belongs to.
    """
    for tag in tags:
        if len(element.findall(tag)) > 1:
            notes.leave_out(f"second <{tag}> of <{element.tag}>", owner)


def attribute(element: Element, key: str, label: str) -> str:
    """Attribute that must be there.

    Parameters
    ----------
    element : Element
    key : str
    label : str
        Whose it is.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If it is missing or empty.
    """
    value = element.get(key, "").strip()
    if not value:
        raise ValueError(f"{label}: <{element.tag}> has no {key}")
    return value


def numbers(text: str, count: int, label: str, largest: float = LARGEST_NUMBER) -> Float:
    """Finite numbers, separated by blanks; those below 1e-100 are 0.

    Parameters
    ----------
    text : str
    count : int
    label : str
        What they are and whose.
    largest : float, optional
        So that no product of some numbers overflows.

    Returns
    -------
    ndarray of float, shape (count,)

    Raises
    ------
    ValueError
        If they are not so many, not finite numbers, or too large.
    """
    values = [] if NO_NUMBER.search(text) else text.split()
    try:
        found = np.array([float(word) for word in values])
    except ValueError:
        found = np.zeros(0)
    few = "a finite number" if count == 1 else f"{count} finite numbers"
    if len(found) != count or not np.isfinite(found).all():
        raise ValueError(f"{label} must be {few}, not {text!r}")
    if np.abs(found).max(initial=0.0) > largest:
        raise ValueError(f"{label} must be {few} up to {largest:g}, not {text!r}")
    return np.where(np.abs(found) < 1.0 / LARGEST_NUMBER, 0.0, found)


def color_of(text: str, label: str) -> Float:
    """Red, green, blue and opacity, cut off at 0 and 1.

    Parameters
    ----------
    text : str
    label : str
        What has it.

    Returns
    -------
    ndarray of float, shape (4,)
    """
    return np.clip(numbers(text, 4, label), 0.0, 1.0)


def endless(value: float) -> float:
    """A limit, infinite where it stands for none.

    Parameters
    ----------
    value : float

    Returns
    -------
    float
    """
    return math.copysign(math.inf, value) if abs(value) >= ENDLESS else value


def mesh_path(
    text: str,
    label: str,
    way_out: str = "load without pictures: meshes=False",
    *,
    starts: Collection[Path] = (),
    within: Path | None = None,
) -> str:
    """Path of a mesh that stays below its folder, links resolved, as ``folder/name.stl``.

    Parameters
    ----------
    text : str
        As in the file, ``package://`` included.
    label : str
        Whose it is.
    way_out : str, optional
        What else to do, for the message.
    starts : collection of Path, optional
        Folders that a relative path may begin in.
    within : Path, optional
        Folder that paths with parent folders must stay in; without it there may be none.

    Returns
    -------
    str
        Without ``package://``.

    Raises
    ------
    ValueError
        For absolute paths, parent folders and other schemes.
    """
    bare = text.strip().removeprefix("package://").removeprefix("model://")
    bare = bare.lstrip("/") if bare != text.strip() else bare
    parts = PurePosixPath(bare.replace("\\", "/")).parts
    outside = PurePosixPath(bare).is_absolute() or bool(PureWindowsPath(bare).drive)
    places = [] if outside or "\0" in bare else [start / "/".join(parts) for start in starts]
    if ".." in parts:
        inside = [within is not None and one.resolve().is_relative_to(within) for one in places]
        outside = outside or not inside or not all(inside)
    for start, place in zip(starts, places):  # links may lead anywhere
        if place.exists():
            outside |= not place.resolve().is_relative_to(within or start.resolve())
    if not parts or outside or "://" in bare or "\0" in bare:
        raise ValueError(
            f"{label}: {text!r} lies outside the robot's folder; use a path below it, name the "
            f"folder that holds both by within=, or {way_out}"
        )
    return "/".join(parts)
