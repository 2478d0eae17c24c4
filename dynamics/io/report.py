"""Table of what `dynamics.load` read, changed, left out and kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dynamics.io.description import Description
from dynamics.io.notes import Notes
from dynamics.mechanism import Mechanism

__all__ = ["LoadReport", "report_of"]

#: Widths of the first columns, and of the names in a row.
WIDTHS, NAMES = (10, 52, 6), 60


@dataclass(frozen=True, slots=True, eq=False)
class LoadReport:
    """Report on the elements of a robot file; prints as one table.

    Attributes
    ----------
    file : str
        Name of the file.
    read : dict of list of str
        Names by kind of element: links, joints by their type in the mechanism, motors and so on.
    changed : dict of list of str
        Elements that differ in the mechanism, by kind of change.
    left_out : dict of list of str
        Elements that the mechanism does not have, by kind.
    kept : dict of list of str
        Elements that are kept although they cannot be right, by reason.
    """

    file: str
    read: Mapping[str, list[str]]
    changed: Mapping[str, list[str]]
    left_out: Mapping[str, list[str]]
    kept: Mapping[str, list[str]]

    def rows(self) -> Iterator[tuple[str, str, list[str]]]:
        """Rows of the table.

        Yields
        ------
        tuple of (str, str, list of str)
            What became of the elements, their kind, their names.
        """
        for word, found in (
            ("read", self.read), ("changed", self.changed), ("left out", self.left_out),
            ("kept", self.kept),
        ):  # fmt: skip
            for kind, names in found.items():
                yield word, kind, names

    def __repr__(self) -> str:
        count = dict.fromkeys(("read", "changed", "left out", "kept"), 0)
        for word, _, names in self.rows():
            count[word] += len(names)
        words = ", ".join(f"{number} {word}" for word, number in count.items() if number)
        return f"LoadReport({self.file!r}: {words}; print it for the table)"

    def __str__(self) -> str:
        lines = []
        before = ""
        for word, kind, names in self.rows():
            columns = ("" if word == before else word, kind, str(len(names)))
            cells = [text.ljust(width) for text, width in zip(columns, WIDTHS)]
            lines.append(" ".join([*cells, _short(names)]).rstrip())
            before = word
        return "\n".join(lines)


def _short(names: list[str]) -> str:
    """Names, as many as a row has room for."""
    text = ""
    for k, name in enumerate(names):
        more = name if k == 0 else f"{text}, {name}"
        if len(more) > NAMES:
            return f"{text or name[:NAMES]}, ..." if k or len(names) > 1 else name[:NAMES] + "..."
        text = more
    return text


def report_of(found: Description, mechanism: Mechanism, notes: Notes) -> LoadReport:
    """Report on a file that is loaded.

    Parameters
    ----------
    found : Description
    mechanism : Mechanism
    notes : Notes

    Returns
    -------
    LoadReport
    """
    read: dict[str, list[str]] = {"links": list(found.links)}

    def note(kind: str, name: Any) -> None:
        read.setdefault(kind, []).append(str(name))

    for name, joint in mechanism.joints.items():
        note(f"{joint.kind} joints", name)
    for name, joint in mechanism.joints.items():
        if joint.servo is not None:
            note("servos", name)
        elif joint.actuated:
            note("motors (controls are forces)", name)
        for what in ("limits", "velocity_limits", "control_limits"):
            if getattr(joint, what) is not None:
                note(f"joints with {what}", name)
    for name in mechanism.thrusters:
        note("thrusters", name)
    for name in mechanism.couplings:
        note("couplings", name)
    for name in mechanism.springs:
        note("ropes", name)
    for name in mechanism.contacts:
        note("contacts", name)
    for name, body in mechanism.bodies.items():
        for what in ("visuals", "collisions"):
            read.setdefault(what, []).extend([str(name)] * len(getattr(body, what)))
    read |= found.shapes
    for name in mechanism.sensors:
        note("sensors", name)
    for frame in mechanism.frames:
        if frame not in found.links:
            note("frames that are no links", frame)
    return LoadReport(
        notes.path.name,
        {kind: names for kind, names in read.items() if names},
        notes.merged,
        notes.unsupported,
        notes.kept,
    )
