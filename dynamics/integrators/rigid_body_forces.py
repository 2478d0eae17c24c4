"""Inertia of one rigid body about any reference point, and what pushes and holds the body.

Body points are measured from the reference point along the body's axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.rotation import as_numbers

__all__ = [
    "AnchoredSpring",
    "BodyWrench",
    "Drag",
    "Pivot",
    "WorldForce",
    "check_inertia",
    "pack",
    "skew",
    "spatial_inertia",
]

Float = NDArray[np.float64]

# An inertia is singular where the least eigenvalue, rows and columns scaled to a diagonal of 1, is
# below this: rounding of its entries alone may then make it indefinite.
SINGULAR = 64 * np.finfo(float).eps
# Products like A.T @ A leave entries this far from symmetric, relative to the diagonal.
SYMMETRIC = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class WorldForce:
    """Constant force along the world's axes at a point of the body: weight, buoyancy.

    Attributes
    ----------
    force : ndarray of float, shape (3,)
        In the world's frame, N.
    point : ndarray of float, shape (3,)
        Where it acts, in the body's frame, m; by default the reference point.

    Raises
    ------
    ValueError
        Where a number is not finite.
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
        Without load, m; not negative.

    Raises
    ------
    ValueError
        Where stiffness or length is negative, or a number is not finite.
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
    """Constant wrench that turns with the body: a thruster.

    Attributes
    ----------
    torque : ndarray of float, shape (3,)
        About the reference point, along the body's axes, N m.
    force : ndarray of float, shape (3,)
        Along the body's axes, N.

    Raises
    ------
    ValueError
        Where a number is not finite.
    """

    torque: Float = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    force: Float = (0.0, 0.0, 0.0)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        _freeze(self, "torque", "force")


@dataclass(frozen=True, slots=True, eq=False)
class Drag:
    """Wrench ``-D [omega; v]`` about the reference point along the body's axes.

    Attributes
    ----------
    matrix : ndarray of float, shape (6, 6)
        D, N m s/rad, N s/rad, N s and N s/m by blocks; its symmetric part is positive
        semidefinite.

    Raises
    ------
    ValueError
        Where the drag would drive some motion, or a number is not finite.
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
        Where a number is not finite.
    """

    point: Float
    anchor: Float = (0.0, 0.0, 0.0)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        _freeze(self, "point", "anchor")


def spatial_inertia(
    mass: float, inertia: ArrayLike, center_of_mass: ArrayLike = (0.0, 0.0, 0.0)
) -> Float:
    """Inertia of a rigid body about its reference point, (4.4) of Xu and Halse 2016.

    Parameters
    ----------
    mass : float
        kg.
    inertia : array_like, shape (3, 3)
        About the centre of mass, along the body's axes, kg m^2.
    center_of_mass : array_like, shape (3,)
        From the reference point, along the body's axes, m.

    Returns
    -------
    ndarray of float, shape (6, 6)
        ``[[J, m S(r)], [-m S(r), m I]]`` with J about the reference point; add to it the added
        mass of a vehicle under water.

    Raises
    ------
    ValueError
        Where the mass is not positive, or a number is not finite.
    """
    m = float(as_numbers(mass, (), "the mass"))
    if m <= 0.0:
        raise ValueError(f"the mass must be positive, it is {m}")
    J = as_numbers(inertia, (3, 3), "the inertia")
    S = skew(as_numbers(center_of_mass, (3,), "the centre of mass"))
    return np.block([[J - m * S @ S, m * S], [-m * S, m * np.eye(3)]])


def skew(a: Float) -> Float:
    """S(a), with ``S(a) b = a x b``."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def check_inertia(matrix: ArrayLike) -> Float:
    """A 6 x 6 inertia that an integrator can use.

    Parameters
    ----------
    matrix : array_like, shape (6, 6)
        About the reference point, for twists ``[omega; v]`` along the body's axes.

    Returns
    -------
    ndarray of float, shape (6, 6)
        The same, symmetric to the last digit; read-only.

    Raises
    ------
    ValueError
        Where it is not symmetric, not positive definite or not finite.
    """
    M = as_numbers(matrix, (6, 6), "the inertia")
    d = np.diag(M)
    if d.min() <= 0.0:
        j = int(d.argmin())
        raise ValueError(
            f"the inertia is not positive definite: its entry ({j}, {j}) is {d[j]:.6g}"
        )
    scaled = M / np.sqrt(np.outer(d, d))
    gap = abs(scaled - scaled.T)
    if gap.max() > SYMMETRIC:
        i, k = divmod(int(gap.argmax()), 6)
        raise ValueError(
            f"the inertia is not symmetric: entry ({i}, {k}) is {M[i, k]:.6g}, "
            f"entry ({k}, {i}) is {M[k, i]:.6g}"
        )
    least = float(np.linalg.eigvalsh((scaled + scaled.T) / 2.0)[0])
    if least < SINGULAR:
        kind = "singular" if least > -SINGULAR else "indefinite"
        raise ValueError(
            f"the inertia is {kind}: scaled to a diagonal of 1, its least eigenvalue is {least:.3g}"
        )
    M = (M + M.T) / 2.0
    M.flags.writeable = False
    return M


def pack(M: Float, W: Float, forces: tuple[Any, ...], pivot: Pivot | None) -> Float:
    """Table of a body as `dynamics.kernels.dual_quaternion` reads it.

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
