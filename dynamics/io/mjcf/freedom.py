"""Several of MuJoCo's joints on one body as one joint of ours: the motions that they leave."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics.io.description import JointEntry, Pose
from dynamics.io.notes import Notes

__all__ = ["Freedom", "is_one", "loses", "one_joint"]

Float = NDArray[np.float64]
#: Sine of an angle, or metres, up to which axes and points of a file are what they are meant to be.
MEANT = 1e-6
#: Least singular value of axes that count as independent.
LEAST = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Freedom:
    """One of MuJoCo's joints.

    Attributes
    ----------
    name : str
    kind : {"free", "ball", "slide", "hinge"}
    point, axis : ndarray of float, shape (3,)
        In the body's frame.
    limits : (float, float) or None
    damping, stiffness, rest, friction, armature : float
    """

    name: str
    kind: str
    point: Float
    axis: Float
    limits: tuple[float, float] | None
    damping: float
    stiffness: float
    rest: float
    friction: float
    armature: float


def one_joint(
    freedoms: list[Freedom], parent: str | None, child: str, place: Pose, notes: Notes
) -> JointEntry:
    """Joint that leaves the motions of all freedoms of a body.

    Parameters
    ----------
    freedoms : list of Freedom
        In the file's order, at least one.
    parent : str or None
    child : str
    place : Pose
        Of the body's frame in the parent's, all coordinates at the file's first position.
    notes : Notes
        Gets what is left out.

    Returns
    -------
    JointEntry

    Raises
    ------
    ValueError
        If no joint of ours leaves just these motions.
    """
    name = "+".join(one.name for one in freedoms)
    slides, turns = _sorted(freedoms)
    kind, axis = _kind(slides, turns)
    if kind is None:
        kinds = ", ".join(f"{one.kind} {one.name!r}" for one in freedoms)
        raise ValueError(
            f"{notes.path.name}: body {child!r} has the joints {kinds}, whose motions no single "
            "joint here has, and which are not independent: leave one of them out"
        )
    point = turns[0].point if turns and turns[0].kind != "free" else freedoms[0].point
    entry = JointEntry(
        name, kind, parent, child, place @ Pose(point), Pose(np.array(point)), np.array(axis)
    )
    if kind in ("universal", "skew universal"):
        entry.second = turns[1].axis
    if len(freedoms) == 1:
        one = freedoms[0]
        entry.damping, entry.stiffness, entry.rest = one.damping, one.stiffness, one.rest
        entry.friction = one.friction
        if kind in ("revolute", "prismatic"):
            entry.armature = one.armature
        elif one.armature:
            notes.leave_out("armature of joints that turn freely", name)
        if one.limits is not None and kind in ("revolute", "prismatic"):
            entry.limits = [one.limits]
        elif one.limits is not None:
            notes.leave_out("limits of ball joints", name)
        return entry
    notes.merge("several joints of a body are one here", name)
    if kind == "universal":
        for what in ("damping", "stiffness", "rest", "friction", "armature"):
            setattr(entry, what, np.array([getattr(one, what) for one in turns]))
        free = (-np.inf, np.inf)
        if any(one.limits is not None for one in turns):
            entry.limits = [free if one.limits is None else one.limits for one in turns]
        return entry
    for one in freedoms:
        if one.damping or one.stiffness or one.limits or one.friction or one.armature:
            what = "damping, stiffness, friction, armature and limits of joints that are one here"
            notes.leave_out(what, one.name)
    return entry


def is_one(freedoms: list[Freedom]) -> bool:
    """True if a joint of ours leaves the motions of all these."""
    return _kind(*_sorted(freedoms))[0] is not None


def loses(freedoms: list[Freedom], driven: Collection[str], measured: Collection[str]) -> bool:
    """True if the one joint of ours would be without properties or motors of some of these.

    Parameters
    ----------
    freedoms : list of Freedom
    driven : collection of str
        Joints that actuators move or that others follow.
    measured : collection of str
        Joints that sensors read.

    Returns
    -------
    bool
    """
    if len(freedoms) == 1:
        return False
    if any(one.name in driven for one in freedoms):
        return True
    if _kind(*_sorted(freedoms))[0] == "universal":
        return False
    return any(
        one.damping or one.stiffness or one.limits or one.friction or one.armature
        or one.name in measured
        for one in freedoms
    )  # fmt: skip


def _sorted(freedoms: list[Freedom]) -> tuple[list[Freedom], list[Freedom]]:
    """Slides, and the rest."""
    slides = [one for one in freedoms if one.kind == "slide"]
    return slides, [one for one in freedoms if one.kind != "slide"]


def _kind(slides: list[Freedom], turns: list[Freedom]) -> tuple[str | None, Float]:
    """Kind of joint, and its axis in the body's frame."""
    shape = len(slides), tuple(sorted(one.kind for one in turns))
    axis = turns[0].axis if turns else slides[0].axis
    if not _independent(slides) or not _meeting(turns):
        return None, axis
    three = shape[1] in (("ball",), ("hinge",) * 3) and _independent(turns)
    if shape == (0, ("free",)):
        return "floating", axis
    if three and shape[0] in (0, 3):
        return ("spherical" if shape[0] == 0 else "floating"), axis
    if shape in ((0, ("hinge",)), (1, ())):
        return ("revolute" if turns else "prismatic"), axis
    if shape == (0, ("hinge",) * 2) and _independent(turns):
        square = abs(float(turns[0].axis @ turns[1].axis)) < MEANT
        return ("universal" if square else "skew universal"), axis
    along = [abs(float(one.axis @ axis)) for one in slides]
    if shape == (1, ("hinge",)) and along[0] > 1.0 - MEANT:
        return "cylindrical", axis
    if shape == (2, ("hinge",)) and max(along) < MEANT:
        return "planar", axis
    if shape == (2, ()):
        return "planar without turning", np.cross(slides[0].axis, slides[1].axis)
    if shape == (3, ()):
        return "fixed orientation", axis
    return ("free axis" if shape == (3, ("hinge",)) else None), axis


def _independent(freedoms: list[Freedom]) -> bool:
    """True if no axis lies in the span of the others; a ball has none."""
    axes = [one.axis for one in freedoms if one.kind != "ball"]
    return not axes or float(np.linalg.svd(np.array(axes))[1].min()) > LEAST and len(axes) < 4


def _meeting(turns: list[Freedom]) -> bool:
    """True if all turn about one point."""
    return all(float(abs(one.point - turns[0].point).max()) < MEANT for one in turns)
