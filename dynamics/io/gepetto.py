"""Loop closures in a side file, ``robot.yaml``, as Gepetto's parallel robots have them.

``closed_loop: [[frame, frame], ...]`` with ``type: [6d, 3d, ...]`` and ``name_mot: [joint, ...]``;
a frame is that of a link, or that of the child of a joint. ``joint_name: [joint, ...]`` with
``joint_type: [SPHERICAL, ...]`` gives joints types that URDF has no word for.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics.io.description import Description, JointEntry
from dynamics.io.notes import Notes

__all__ = ["holds_closures", "read_closures"]

Float = NDArray[np.float64]

KINDS = {"6d": "fixed", "3d": "spherical"}
X, Y, Z = np.eye(3)
#: Types of joints, and their axes in the joint's frame; those of two axes are crosses.
TYPES: dict[str, tuple[str, tuple[Float, ...]]] = {
    "FIXED": ("fixed", ()),
    "SPHERICAL": ("spherical", ()),
    "CARDAN": ("universal", (X, Y)),
    "UJOINT_XY": ("universal", (X, Y)),
    "UJOINT_YZ": ("universal", (Y, Z)),
    "UJOINT_ZX": ("universal", (Z, X)),
    "UJOINT_YX": ("universal", (Y, X)),
    "UJOINT_ZY": ("universal", (Z, Y)),
    "UJOINT_XZ": ("universal", (X, Z)),
}
TOKEN = re.compile(r"""\s*([\[\],]|'[^']*'|"[^"]*"|[^\s\[\],'"]+)""")
DEEPEST = 2


def holds_closures(path: Path) -> bool:
    """True if a file has a key of such side files; a ``robot.yaml`` is often of another kind.

    Parameters
    ----------
    path : Path

    Returns
    -------
    bool
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    return re.search(r"^[\s-]*(closed_loop|joint_type|name_mot)\s*:", text, re.M) is not None


def read_closures(path: Path, found: Description, notes: Notes) -> None:
    """Add the closures of a side file to a description.

    Parameters
    ----------
    path : Path
    found : Description
        Changed.
    notes : Notes
        Gets what is left out.

    Raises
    ------
    ValueError
        If the file is in no form that is known, or names no frame.
    """
    entries = _entries(path)
    pairs, kinds = entries.pop("closed_loop", []), entries.pop("type", [])
    motors = entries.pop("name_mot", [])
    _set_types(entries.pop("joint_name", []), entries.pop("joint_type", []), found, path, notes)
    for key in entries:
        notes.leave_out(f"{path.name}", key)
    if isinstance(kinds, str):
        kinds = [kinds] * len(pairs)
    if not isinstance(pairs, list) or len(kinds) != len(pairs):
        raise ValueError(f"{path.name}: closed_loop and type must be lists of one length")
    for pair, kind in zip(pairs, kinds):
        if not (isinstance(pair, list) and len(pair) == 2 and str(kind).lower() in KINDS):
            raise ValueError(
                f"{path.name}: a closure is a pair of frames of type 3d or 6d, not {pair} {kind!r}"
            )
        name = f"{pair[0]}-{pair[1]}"
        if name in found.joints:
            raise ValueError(f"{path.name}: the closure {name!r} appears twice")
        parent, child = (_link_of(frame, found, path) for frame in pair)
        kind = KINDS[str(kind).lower()]
        found.joints[name] = JointEntry(name, kind, parent, child, closure=True)
    for motor in motors if isinstance(motors, list) else [motors]:
        if motor not in found.joints:
            raise ValueError(f"{path.name}: name_mot names no joint: {motor!r}")
        found.joints[motor].actuated = True


def _set_types(names: Any, types: Any, found: Description, path: Path, notes: Notes) -> None:
    """Change the named joints to other types; limits are those of the type in the URDF file."""
    if not isinstance(names, list) or not isinstance(types, list) or len(names) != len(types):
        raise ValueError(f"{path.name}: joint_name and joint_type must be lists of one length")
    for name, word in zip(names, types):
        if name not in found.joints:
            raise ValueError(f"{path.name}: joint_name names no joint: {name!r}")
        if str(word).upper() not in TYPES:
            raise ValueError(
                f"{path.name}: joint {name!r} has the unknown joint_type {word!r}; known are "
                f"{sorted(TYPES)}"
            )
        joint, (kind, axes) = found.joints[name], TYPES[str(word).upper()]
        notes.merge(f"joints made {kind} by joint_type", name)
        for what in ("limits", "velocity_limits", "control_limits"):
            if getattr(joint, what) is not None and kind != "fixed":
                notes.leave_out(f"{what} of joints whose type is changed", name)
            setattr(joint, what, None)
        joint.kind = kind
        if axes:
            joint.axis, joint.second = axes


def _link_of(frame: Any, found: Description, path: Path) -> str:
    """Link whose frame it is."""
    if frame in found.joints and found.joints[frame].child is not None:
        return str(found.joints[frame].child)
    if frame in found.links:
        return str(frame)
    raise ValueError(f"{path.name}: closed_loop names neither link nor joint: {frame!r}")


def _entries(path: Path) -> dict[str, Any]:
    """Keys and their lists; the only YAML there is in such files."""
    try:
        text = re.sub(r"(^|\s)#.*", "", path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ValueError(f"{path.name} is not UTF-8") from None
    found: dict[str, Any] = {}
    starts = list(re.finditer(r"^(\w+)\s*:", text, re.M))
    if not starts or text[: starts[0].start()].strip(" \n-"):
        raise ValueError(f"{path.name} must hold lines like closed_loop: [[a, b]]")
    for start, stop in zip(starts, [*[s.start() for s in starts[1:]], len(text)]):
        value = text[start.end() : stop].strip()
        tokens = TOKEN.findall(value)
        if not tokens or "".join(tokens) != re.sub(r"\s(?=(?:[^'\"]*['\"][^'\"]*['\"])*[^'\"]*$)",
                                                   "", value):  # fmt: skip
            raise ValueError(f"{path.name}: cannot read {start[1]}: write it as [[a, b], ...]")
        found[start[1]], rest = _value(tokens, 0, path)
        if rest:
            raise ValueError(f"{path.name}: brackets of {start[1]} do not match")
    return found


def _value(tokens: list[str], depth: int, path: Path) -> tuple[Any, list[str]]:
    """First value of the tokens, and what is left."""
    first, rest = tokens[0], tokens[1:]
    if first != "[":
        if first in "],":
            raise ValueError(f"{path.name}: there is a {first!r} where a name should be")
        return first.strip("'\""), rest
    if depth == DEEPEST:
        raise ValueError(f"{path.name}: brackets nest too deep")
    values = []
    while rest and rest[0] != "]":
        value, rest = _value(rest, depth + 1, path)
        values.append(value)
        if rest and rest[0] == ",":
            rest = rest[1:]
    if not rest:
        raise ValueError(f"{path.name}: a bracket is not closed")
    return values, rest[1:]
