"""Inertia of one rigid body about any reference point, and what pushes and holds the body.

Body points are measured from the reference point along the body's axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics.parts.spatial_inertia import SYMMETRIC, spatial_inertia
from dynamics.rotation import as_numbers

__all__ = [
    "AnchoredSpring",
    "BodyWrench",
    "Drag",
    "Pivot",
    "WorldForce",
    "pack",
    "spatial_inertia",
]

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class WorldForce:
    """Constant force in world axes at a point of the body, such as weight or buoyancy.

    Attributes
    ----------
    force : ndarray of float, shape (3,)
        In the world's frame, N.
    point : ndarray of float, shape (3,)
        Point of action, in the body's frame, m; by default the reference point.

    Raises
    ------
    ValueError
        If a number is not finite.
    """

    force: Float
    point: Float = (0.0, 0.0, 0.0)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        _freeze(self, "force", "point")


@dataclass(frozen=True, slots=True, eq=False)
class AnchoredSpring:
    """Linear spring from a point of the body to a point of the world.

    Attributes
    ----------
    stiffness : float
        N/m; not negative.
    point : ndarray of float, shape (3,)
        End on the body, in the body's frame, m.
    anchor : ndarray of float, shape (3,)
        End in the world, m.
    length : float
        Rest length, m; not negative.

    Raises
    ------
    ValueError
        If stiffness or length is negative, or a number is not finite.
    """

    stiffness: float
    point: Float
    anchor: Float
    length: float = 0.0

    def __post_init__(self) -> None:
        _freeze(self, "point", "anchor")
        for name in ("stiffness", "length"):
            number = float(as_numbers(getattr(self, name), (), f"{name} of the spring"))
            if number < 0.0:
                raise ValueError(f"{name} of the spring must not be negative, it is {number}")
            object.__setattr__(self, name, number)


@dataclass(frozen=True, slots=True, eq=False)
class BodyWrench:
    """Constant wrench in the body's frame, as of a thruster.

    Attributes
    ----------
    torque : ndarray of float, shape (3,)
        Torque about the reference point, body axes, N m.
    force : ndarray of float, shape (3,)
        Force, body axes, N.

    Raises
    ------
    ValueError
        If a number is not finite.
    """

    torque: Float = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    force: Float = (0.0, 0.0, 0.0)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        _freeze(self, "torque", "force")


@dataclass(frozen=True, slots=True, eq=False)
class Drag:
    """Drag wrench ``-D [omega; v]`` about the reference point, in body axes.

    Attributes
    ----------
    matrix : ndarray of float, shape (6, 6)
        D, N m s/rad, N s/rad, N s and N s/m by blocks; its symmetric part is positive
        semidefinite.

    Raises
    ------
    ValueError
        If the drag would add energy to some motion, or a number is not finite.
    """

    matrix: Float

    def __post_init__(self) -> None:
        D = as_numbers(self.matrix, (6, 6), "the drag matrix")
        least = float(np.linalg.eigvalsh(D + D.T)[0]) / 2.0
        if least < -SYMMETRIC * abs(D).max():
            raise ValueError(
                f"the drag matrix drives some motion: its symmetric part has eigenvalue {least:.3g}"
            )
        D.flags.writeable = False
        object.__setattr__(self, "matrix", D)


@dataclass(frozen=True, slots=True, eq=False)
class Pivot:
    """Spherical joint between a point of the body and a point of the world.

    Attributes
    ----------
    point : ndarray of float, shape (3,)
        In the body's frame, m.
    anchor : ndarray of float, shape (3,)
        In the world, m; by default its origin.

    Raises
    ------
    ValueError
        If a number is not finite.
    """

    point: Float
    anchor: Float = (0.0, 0.0, 0.0)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        _freeze(self, "point", "anchor")


def pack(M: Float, W: Float, forces: tuple[Any, ...], pivot: Pivot | None) -> Float:
    """Table of a body as `dynamics.kernels.dual_quaternion.equations` reads it.

    Parameters
    ----------
    M, W : ndarray of float, shape (6, 6)
        Inertia and mobility.
    forces : tuple
        What acts on the body, of the kinds above.
    pivot : Pivot or None
        What holds it.

    Returns
    -------
    ndarray of float
        In this order: M, W, the sum of drag matrices, room for a matrix that depends on the
        timestep, the sum of body wrenches, both points of the pivot (zero without one), force and
        point of each world force; stiffness, length, point and anchor of each spring.
    """
    D, wrench, pushes, springs = np.zeros((6, 6)), np.zeros(6), [], []
    for force in forces:
        if isinstance(force, Drag):
            D = D + force.matrix
        elif isinstance(force, BodyWrench):
            wrench = wrench + np.concatenate([force.torque, force.force])
        elif isinstance(force, WorldForce):
            pushes += [force.force, force.point]
        else:
            springs += [[force.stiffness, force.length], force.point, force.anchor]
    points = (np.zeros(3), np.zeros(3)) if pivot is None else (pivot.point, pivot.anchor)
    rows = [M.ravel(), W.ravel(), D.ravel(), np.eye(6).ravel(), wrench]
    return np.concatenate([*rows, *points, *pushes, *springs])


def _freeze(force: object, *names: str) -> None:
    """Check a frozen dataclass's vectors and make them read-only arrays."""
    for name in names:
        vector = as_numbers(getattr(force, name), (3,), f"{name} of {type(force).__name__}")
        vector.flags.writeable = False
        object.__setattr__(force, name, vector)
