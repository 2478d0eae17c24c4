"""The joints that users name; each is a few rows of one table, see `dynamics.parts.joints`.

All take the same options: names, points, forces along the free axes, limits, and softness of the
constraint (`dynamics.parts.options.JointOptions`).
"""

from __future__ import annotations

from typing import Any, Unpack

from numpy.typing import ArrayLike

from dynamics import rotation
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
        Where an end is no body.
    """
    for end in (parent, child):
        if not hasattr(end, "name"):
            raise TypeError(
                f"a joint is of bodies or the world, not {end!r}; use what add_body gave"
            )
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


@takes(JointOptions, joint)
def Fixed(
    parent: Any, child: Any, *, orientation: ArrayLike = IDENTITY, **options: Unpack[JointOptions]
) -> Joint:
    """Weld the child to the parent: 6 constraints, 0 coordinates.

    Parameters
    ----------
    parent, child : Body or world
    orientation : array_like, shape (4,), optional
        Of the child in the parent's frame where all coordinates are 0, scalar first.
    **options
        Those of every joint.

    Returns
    -------
    Joint
    """
    return _of_table("fixed", parent, child, Z, orientation, options)


@takes(JointOptions, joint)
def Prismatic(
    parent: Any,
    child: Any,
    axis: ArrayLike,
    *,
    orientation: ArrayLike = IDENTITY,
    **options: Unpack[JointOptions],
) -> Joint:
    """Slide along an axis (parent's frame): 5 constraints; coordinate: displacement, m.

    Parameters
    ----------
    parent, child : Body or world
    axis : array_like, shape (3,)
        Frame of the parent.
    orientation : array_like, shape (4,), optional
        Of the child in the parent's frame where all coordinates are 0, scalar first.
    **options
        Those of every joint.

    Returns
    -------
    Joint
    """
    return _of_table("prismatic", parent, child, axis, orientation, options)


@takes(JointOptions, joint)
def Planar(
    parent: Any,
    child: Any,
    axis: ArrayLike,
    *,
    orientation: ArrayLike = IDENTITY,
    **options: Unpack[JointOptions],
) -> Joint:
    """Slide in the plane across an axis, without turning: 4 constraints, 2 displacements.

    Parameters
    ----------
    parent, child : Body or world
    axis : array_like, shape (3,)
        Frame of the parent.
    orientation : array_like, shape (4,), optional
        Of the child in the parent's frame where all coordinates are 0, scalar first.
    **options
        Those of every joint.

    Returns
    -------
    Joint
    """
    return _of_table("planar", parent, child, axis, orientation, options)


@takes(JointOptions, joint)
def FixedOrientation(
    parent: Any, child: Any, *, orientation: ArrayLike = IDENTITY, **options: Unpack[JointOptions]
) -> Joint:
    """Move freely without turning: 3 constraints, 3 displacements along the parent's axes.

    Parameters
    ----------
    parent, child : Body or world
    orientation : array_like, shape (4,), optional
        Of the child in the parent's frame where all coordinates are 0, scalar first.
    **options
        Those of every joint.

    Returns
    -------
    Joint
    """
    return _of_table("fixed orientation", parent, child, Z, orientation, options)


@takes(JointOptions, joint)
def Revolute(
    parent: Any,
    child: Any,
    axis: ArrayLike,
    *,
    orientation: ArrayLike = IDENTITY,
    **options: Unpack[JointOptions],
) -> Joint:
    """Turn about an axis (parent's frame): 5 constraints; coordinate: angle, rad.

    Parameters
    ----------
    parent, child : Body or world
    axis : array_like, shape (3,)
        Frame of the parent.
    orientation : array_like, shape (4,), optional
        Of the child in the parent's frame where all coordinates are 0, scalar first.
    **options
        Those of every joint.

    Returns
    -------
    Joint
    """
    return _of_table("revolute", parent, child, axis, orientation, options)


@takes(JointOptions, joint)
def Cylindrical(
    parent: Any,
    child: Any,
    axis: ArrayLike,
    *,
    orientation: ArrayLike = IDENTITY,
    **options: Unpack[JointOptions],
) -> Joint:
    """Slide along and turn about an axis: 4 constraints; displacement and angle.

    Parameters
    ----------
    parent, child : Body or world
    axis : array_like, shape (3,)
        Frame of the parent.
    orientation : array_like, shape (4,), optional
        Of the child in the parent's frame where all coordinates are 0, scalar first.
    **options
        Those of every joint.

    Returns
    -------
    Joint
    """
    return _of_table("cylindrical", parent, child, axis, orientation, options)


@takes(JointOptions, joint)
def PlanarAxis(
    parent: Any,
    child: Any,
    axis: ArrayLike,
    *,
    orientation: ArrayLike = IDENTITY,
    **options: Unpack[JointOptions],
) -> Joint:
    """Slide across and turn about an axis: 3 constraints; two displacements and an angle.

    Parameters
    ----------
    parent, child : Body or world
    axis : array_like, shape (3,)
        Frame of the parent.
    orientation : array_like, shape (4,), optional
        Of the child in the parent's frame where all coordinates are 0, scalar first.
    **options
        Those of every joint.

    Returns
    -------
    Joint
    """
    return _of_table("planar axis", parent, child, axis, orientation, options)


@takes(JointOptions, joint)
def FreeAxis(
    parent: Any,
    child: Any,
    axis: ArrayLike,
    *,
    orientation: ArrayLike = IDENTITY,
    **options: Unpack[JointOptions],
) -> Joint:
    """Move freely, turn about an axis alone: 2 constraints; three displacements and an angle.

    Parameters
    ----------
    parent, child : Body or world
    axis : array_like, shape (3,)
        Frame of the parent.
    orientation : array_like, shape (4,), optional
        Of the child in the parent's frame where all coordinates are 0, scalar first.
    **options
        Those of every joint.

    Returns
    -------
    Joint
    """
    return _of_table("free axis", parent, child, axis, orientation, options)


@takes(JointOptions, joint)
def Spherical(
    parent: Any, child: Any, *, orientation: ArrayLike = IDENTITY, **options: Unpack[JointOptions]
) -> Joint:
    """Turn about a point: 3 constraints; the rotation vector, rad, and the spin in child axes.

    Parameters
    ----------
    parent, child : Body or world
    orientation : array_like, shape (4,), optional
        Of the child in the parent's frame where all coordinates are 0, scalar first.
    **options
        Those of every joint.

    Returns
    -------
    Joint
    """
    return _of_table("spherical", parent, child, Z, orientation, options)


@takes(JointOptions, joint)
def PointOnLine(
    parent: Any,
    child: Any,
    axis: ArrayLike,
    *,
    orientation: ArrayLike = IDENTITY,
    **options: Unpack[JointOptions],
) -> Joint:
    """Hold the child's point on a line of the parent: 2 constraints.

    Parameters
    ----------
    parent, child : Body or world
    axis : array_like, shape (3,)
        Frame of the parent.
    orientation : array_like, shape (4,), optional
        Of the child in the parent's frame where all coordinates are 0, scalar first.
    **options
        Those of every joint.

    Returns
    -------
    Joint
    """
    return _of_table("point on line", parent, child, axis, orientation, options)


@takes(JointOptions, joint)
def PointOnPlane(
    parent: Any,
    child: Any,
    axis: ArrayLike,
    *,
    orientation: ArrayLike = IDENTITY,
    **options: Unpack[JointOptions],
) -> Joint:
    """Hold the child's point on a plane of the parent, across the axis: 1 constraint.

    Parameters
    ----------
    parent, child : Body or world
    axis : array_like, shape (3,)
        Frame of the parent.
    orientation : array_like, shape (4,), optional
        Of the child in the parent's frame where all coordinates are 0, scalar first.
    **options
        Those of every joint.

    Returns
    -------
    Joint
    """
    return _of_table("point on plane", parent, child, axis, orientation, options)


@takes(JointOptions, joint)
def Floating(
    parent: Any, child: Any, *, orientation: ArrayLike = IDENTITY, **options: Unpack[JointOptions]
) -> Joint:
    """Constrain nothing: coordinates, springs, dampers and controls between two free bodies.

    Parameters
    ----------
    parent, child : Body or world
    orientation : array_like, shape (4,), optional
        Of the child in the parent's frame where all coordinates are 0, scalar first.
    **options
        Those of every joint.

    Returns
    -------
    Joint
    """
    return _of_table("floating", parent, child, Z, orientation, options)


@takes(JointOptions, joint)
def ConstantVelocity(
    parent: Any,
    child: Any,
    axis: ArrayLike,
    *,
    orientation: ArrayLike = IDENTITY,
    **options: Unpack[JointOptions],
) -> Joint:
    """Couple two shafts that meet at a point (Rzeppa): 4 constraints, two bending angles.

    Parameters
    ----------
    parent, child : Body or world
    axis : array_like, shape (3,)
        Frame of the parent.
    orientation : array_like, shape (4,), optional
        Of the child in the parent's frame where all coordinates are 0, scalar first.
    **options
        Those of every joint.

    Returns
    -------
    Joint
    """
    return _of_table("constant velocity", parent, child, axis, orientation, options)
