"""The joints that users name; each is a few rows of one table, see `dynamics.parts.joints`.

All take ``name=``, ``parent_point=, child_point=`` (m, from the centres of mass, body frames),
``orientation=`` (of the child in the parent's frame where all coordinates are 0), ``spring=,
damper=, rest=`` along the free axes (one number, or one an axis), ``friction=``, the largest dry
friction along them, N or N m, ``armature=``, inertia of rotors that turn with them, as gears show
it, kg or kg m^2, ``actuated=``; ``limits=, velocity_limits=, control_limits=``, pairs
(lower, upper) of the coordinates, of their rates and of their controls, which are cut there;
``servo=``, a `PositionServo` or `VelocityServo` that drives the free axes to the joint's control;
and ``compliance=, constraint_damping=, theta=`` that soften the constraint itself.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from dynamics import rotation
from dynamics.parts.joints import Joint, free_rows, joint, unit

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


def label_of(parent: Any, child: Any, options: Any) -> str:
    """What messages call a joint.

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
    kind: str, parent: Any, child: Any, axis: ArrayLike, orientation: ArrayLike, options: Any
) -> Joint:
    label = label_of(parent, child, options)
    n = unit(axis, label)
    offset = rotation.normalized(rotation.as_numbers(orientation, (4,), f"orientation of {label}"))
    return joint(kind, parent, child, *free_rows(kind, n, offset), offset, **options)


def Fixed(parent: Any, child: Any, *, orientation: ArrayLike = IDENTITY, **options: Any) -> Joint:
    """Weld the child to the parent: 6 constraints, 0 coordinates.

    Parameters
    ----------
    parent, child : Body or world
    orientation : array_like, shape (4,), optional
        Of the child in the parent's frame where all coordinates are 0, scalar first.
    **options
        What every joint takes: see the head of this module.

    Returns
    -------
    Joint
    """
    return _of_table("fixed", parent, child, Z, orientation, options)


def Prismatic(
    parent: Any, child: Any, axis: ArrayLike, *, orientation: ArrayLike = IDENTITY, **options: Any
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
        What every joint takes: see the head of this module.

    Returns
    -------
    Joint
    """
    return _of_table("prismatic", parent, child, axis, orientation, options)


def Planar(
    parent: Any, child: Any, axis: ArrayLike, *, orientation: ArrayLike = IDENTITY, **options: Any
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
        What every joint takes: see the head of this module.

    Returns
    -------
    Joint
    """
    return _of_table("planar", parent, child, axis, orientation, options)


def FixedOrientation(
    parent: Any, child: Any, *, orientation: ArrayLike = IDENTITY, **options: Any
) -> Joint:
    """Move freely without turning: 3 constraints, 3 displacements along the parent's axes.

    Parameters
    ----------
    parent, child : Body or world
    orientation : array_like, shape (4,), optional
        Of the child in the parent's frame where all coordinates are 0, scalar first.
    **options
        What every joint takes: see the head of this module.

    Returns
    -------
    Joint
    """
    return _of_table("fixed orientation", parent, child, Z, orientation, options)


def Revolute(
    parent: Any, child: Any, axis: ArrayLike, *, orientation: ArrayLike = IDENTITY, **options: Any
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
        What every joint takes: see the head of this module.

    Returns
    -------
    Joint
    """
    return _of_table("revolute", parent, child, axis, orientation, options)


def Cylindrical(
    parent: Any, child: Any, axis: ArrayLike, *, orientation: ArrayLike = IDENTITY, **options: Any
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
        What every joint takes: see the head of this module.

    Returns
    -------
    Joint
    """
    return _of_table("cylindrical", parent, child, axis, orientation, options)


def PlanarAxis(
    parent: Any, child: Any, axis: ArrayLike, *, orientation: ArrayLike = IDENTITY, **options: Any
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
        What every joint takes: see the head of this module.

    Returns
    -------
    Joint
    """
    return _of_table("planar axis", parent, child, axis, orientation, options)


def FreeAxis(
    parent: Any, child: Any, axis: ArrayLike, *, orientation: ArrayLike = IDENTITY, **options: Any
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
        What every joint takes: see the head of this module.

    Returns
    -------
    Joint
    """
    return _of_table("free axis", parent, child, axis, orientation, options)


def Spherical(
    parent: Any, child: Any, *, orientation: ArrayLike = IDENTITY, **options: Any
) -> Joint:
    """Turn about a point: 3 constraints; the rotation vector, rad, and the spin in child axes.

    Parameters
    ----------
    parent, child : Body or world
    orientation : array_like, shape (4,), optional
        Of the child in the parent's frame where all coordinates are 0, scalar first.
    **options
        What every joint takes: see the head of this module.

    Returns
    -------
    Joint
    """
    return _of_table("spherical", parent, child, Z, orientation, options)


def PointOnLine(
    parent: Any, child: Any, axis: ArrayLike, *, orientation: ArrayLike = IDENTITY, **options: Any
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
        What every joint takes: see the head of this module.

    Returns
    -------
    Joint
    """
    return _of_table("point on line", parent, child, axis, orientation, options)


def PointOnPlane(
    parent: Any, child: Any, axis: ArrayLike, *, orientation: ArrayLike = IDENTITY, **options: Any
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
        What every joint takes: see the head of this module.

    Returns
    -------
    Joint
    """
    return _of_table("point on plane", parent, child, axis, orientation, options)


def Floating(
    parent: Any, child: Any, *, orientation: ArrayLike = IDENTITY, **options: Any
) -> Joint:
    """Constrain nothing: coordinates, springs, dampers and controls between two free bodies.

    Parameters
    ----------
    parent, child : Body or world
    orientation : array_like, shape (4,), optional
        Of the child in the parent's frame where all coordinates are 0, scalar first.
    **options
        What every joint takes: see the head of this module.

    Returns
    -------
    Joint
    """
    return _of_table("floating", parent, child, Z, orientation, options)


def ConstantVelocity(
    parent: Any, child: Any, axis: ArrayLike, *, orientation: ArrayLike = IDENTITY, **options: Any
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
        What every joint takes: see the head of this module.

    Returns
    -------
    Joint
    """
    return _of_table("constant velocity", parent, child, axis, orientation, options)
