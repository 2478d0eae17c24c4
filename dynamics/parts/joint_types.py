"""The joints that users name: a kind of one table of rows (`dynamics.parts.joints`) each.

All take the same options: names, points, forces along the free axes, limits, and softness of the
constraint (`dynamics.parts.options.JointOptions`).
"""

from __future__ import annotations

from typing import Any, Protocol, Unpack

from numpy.typing import ArrayLike

from dynamics import rotation
from dynamics.parts.bodies import check_ends
from dynamics.parts.joints import Joint, free_rows, joint, unit
from dynamics.parts.options import JointOptions, takes

__all__ = [
    "ConstantVelocity",
    "Cylindrical",
    "Fixed",
    "FixedOrientation",
    "Floating",
    "FreeAxis",
    "Planar",
    "PlanarAxis",
    "PointOnLine",
    "PointOnPlane",
    "Prismatic",
    "Revolute",
    "Spherical",
]

IDENTITY = (1.0, 0.0, 0.0, 0.0)
Z = (0.0, 0.0, 1.0)


def label_of(parent: Any, child: Any, options: JointOptions) -> str:
    """Label of a joint in messages.

    Parameters
    ----------
    parent, child : Body or world
    options : dict
        Its ``name`` where it has one.

    Returns
    -------
    str

    Raises
    ------
    TypeError
        If an end is not a body.
    """
    check_ends("joint", parent, child)
    return f"joint {options.get('name') or f'{parent.name}-{child.name}'!r}"


def _of_table(
    kind: str,
    parent: Any,
    child: Any,
    axis: ArrayLike,
    orientation: ArrayLike,
    options: JointOptions,
) -> Joint:
    label = label_of(parent, child, options)
    n = unit(axis, label)
    offset = rotation.normalized(rotation.as_numbers(orientation, (4,), f"orientation of {label}"))
    return joint(kind, parent, child, *free_rows(kind, n, offset), offset, **options)


class AxisJoint(Protocol):
    """Function that makes a joint with an axis."""

    def __call__(
        self,
        parent: Any,
        child: Any,
        axis: ArrayLike,
        *,
        orientation: ArrayLike = IDENTITY,
        **options: Unpack[JointOptions],
    ) -> Joint:
        """Return the joint of two bodies."""


class FrameJoint(Protocol):
    """Function that makes a joint without an axis."""

    def __call__(
        self,
        parent: Any,
        child: Any,
        *,
        orientation: ArrayLike = IDENTITY,
        **options: Unpack[JointOptions],
    ) -> Joint:
        """Return the joint of two bodies."""


#: Docstring of all: their summary, and the entry of an axis.
DOCSTRING = """{summary}

Parameters
----------
parent, child : Body or world
{axis}orientation : array_like, shape (4,), optional
    Orientation of the child in the parent's frame at zero coordinates, scalar first.
**options
    Those of every joint.

Returns
-------
Joint
"""
AXIS = "axis : array_like, shape (3,)\n    In the frame of the parent, of any length but 0.\n"


def _present(function: Any, kind: str, summary: str, axis: str) -> Any:
    """Give a function the name of its kind, a docstring, and the options of joints."""
    function.__name__ = function.__qualname__ = kind.title().replace(" ", "")
    function.__doc__ = DOCSTRING.format(summary=summary, axis=axis)
    return takes(JointOptions, joint)(function)


def _with_axis(kind: str, summary: str) -> AxisJoint:
    """Function of a kind of joints that have an axis."""

    def make(
        parent: Any,
        child: Any,
        axis: ArrayLike,
        *,
        orientation: ArrayLike = IDENTITY,
        **options: Unpack[JointOptions],
    ) -> Joint:
        return _of_table(kind, parent, child, axis, orientation, options)

    made: AxisJoint = _present(make, kind, summary, AXIS)
    return made


def _without_axis(kind: str, summary: str) -> FrameJoint:
    """Function of a kind of joints that have no axis."""

    def make(
        parent: Any,
        child: Any,
        *,
        orientation: ArrayLike = IDENTITY,
        **options: Unpack[JointOptions],
    ) -> Joint:
        return _of_table(kind, parent, child, Z, orientation, options)

    made: FrameJoint = _present(make, kind, summary, "")
    return made


Fixed = _without_axis(
    "fixed",
    "Fixed joint: the child is welded to the parent; 6 constraints, no coordinates.",
)
Prismatic = _with_axis(
    "prismatic",
    "Prismatic joint: the child slides along an axis; 5 constraints, a displacement, m.",
)
Planar = _with_axis(
    "planar",
    "The child slides across an axis without rotation; 4 constraints, two displacements, m.",
)
FixedOrientation = _without_axis(
    "fixed orientation",
    "The child moves without rotation; 3 constraints, displacements in the parent's axes, m.",
)
Revolute = _with_axis(
    "revolute",
    "Revolute joint (hinge): the child turns about an axis; 5 constraints, an angle, rad.",
)
Cylindrical = _with_axis(
    "cylindrical",
    "The child slides along an axis and turns about it; 4 constraints, displacement and angle.",
)
PlanarAxis = _with_axis(
    "planar axis",
    "The child slides across an axis and turns about it; 3 constraints, 2 displacements, angle.",
)
FreeAxis = _with_axis(
    "free axis",
    "The child moves freely and turns about an axis; 2 constraints, 3 displacements, angle.",
)
Spherical = _without_axis(
    "spherical",
    "Ball joint: 3 constraints; coordinates: rotation vector, rad; rates in the child's axes.",
)
PointOnLine = _with_axis(
    "point on line",
    "The child's point stays on a line of the parent; 2 constraints.",
)
PointOnPlane = _with_axis(
    "point on plane",
    "The child's point stays on a plane of the parent, across the axis; 1 constraint.",
)
Floating = _without_axis(
    "floating",
    "No constraint: coordinates, springs, dampers and controls between two free bodies.",
)
ConstantVelocity = _with_axis(
    "constant velocity",
    "Constant-velocity (Rzeppa) joint of two shafts that meet; 4 constraints, 2 angles, rad.",
)
