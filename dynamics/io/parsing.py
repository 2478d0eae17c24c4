"""XML from strangers: a tree without entities, and numbers and names read with their labels."""

from __future__ import annotations

import math
from collections.abc import Collection
from pathlib import Path, PurePosixPath, PureWindowsPath
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

__all__ = ["attribute", "mesh_path", "numbers", "tree"]

Float = NDArray[np.float64]

#: No robot nests deeper; a file that does is meant to exhaust memory.
DEEPEST = 200
LARGEST = 64 * 2**20  #: bytes


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
        Where the file is no well-formed XML, declares a document type or is out of all bounds.
    """
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path.name} is larger than {LARGEST // 2**20} MB; that is no robot")
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
            f"{path.name} is no well-formed XML: {expat.ErrorString(error.code)} in line {line}"
        ) from None
    except RefusedError:
        raise
    except Exception as error:  # of codecs: expat asks Python for encodings that it does not know
        raise ValueError(
            f"{path.name} is in an encoding that is not read ({error}); save it as UTF-8"
        ) from None
    return builder.close()


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
        Where it is missing or empty.
    """
    value = element.get(key, "").strip()
    if not value:
        raise ValueError(f"{label}: <{element.tag}> has no {key}")
    return value


def numbers(text: str, count: int, label: str) -> Float:
    """Finite numbers, separated by blanks.

    Parameters
    ----------
    text : str
    count : int
    label : str
        What they are and whose.

    Returns
    -------
    ndarray of float, shape (count,)

    Raises
    ------
    ValueError
        Where they are not so many, or not finite numbers.
    """
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        values = []
    if len(values) != count or not all(map(math.isfinite, values)):
        few = "a finite number" if count == 1 else f"{count} finite numbers"
        raise ValueError(f"{label} must be {few}, not {text!r}")
    return np.array(values)


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
