"""Rigid bodies: what moves."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation
from dynamics.errors import unknown_words
from dynamics.parts.geometry import Geometry
from dynamics.parts.options import BodyOptions, never_changes
from dynamics.parts.shapes import Shape
from dynamics.parts.spatial_inertia import check_inertia

__all__ = ["WORLD", "Body", "body"]

Float = NDArray[np.float64]


class _World:
    """The inertial frame, a parent like any body."""

    name = "world"

    def __repr__(self) -> str:
        return "world"

    def __reduce__(self) -> str:
        return "WORLD"


#: The inertial frame.
WORLD = _World()


@never_changes("body")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Body:
    """A rigid body; the origin of its frame is the centre of mass.

    With a ``spatial_inertia`` the origin is any point, and the inertia may contain the added mass
    of water that moves with the body.

    Attributes
    ----------
    name : hashable
    mass : float
        kg.
    inertia : ndarray of float, shape (3, 3)
        Inertia about the centre of mass in body axes, kg m^2; with a ``spatial_inertia`` its
        rotational block.
    position : ndarray of float, shape (3,), or None
        Initial position of the centre of mass, world, m. With None the joints place the body. A
        body with a position or an orientation has both, by default 0 and the identity.
    orientation : ndarray of float, shape (4,), or None
        Initial orientation, body to world, scalar first.
    drag, spin_drag : float
        Force per velocity, N s/m; torque per angular velocity, N m s/rad.
    gravity_scale : float
        Factor of gravity on the body.
    shape : Shape or None
        Shape that is drawn and touches others.
    visuals, collisions : tuple of Geometry
        Shapes that are drawn, and shapes that touch others, of a body of a robot file.
    spatial_inertia : ndarray of float, shape (6, 6), or None
        Inertia about the origin for twists [omega; v] in body axes.
    center_of_mass : ndarray of float, shape (3,)
        Point on which gravity acts, body frame, m; 0 without a ``spatial_inertia``.
    """

    name: Hashable
    mass: float
    inertia: Float
    position: Float | None = None
    orientation: Float | None = None
    drag: float = 0.0
    spin_drag: float = 0.0
    gravity_scale: float = 1.0
    shape: Any = None
    visuals: tuple[Geometry, ...] = ()
    collisions: tuple[Geometry, ...] = ()
    spatial_inertia: Float | None = None
    center_of_mass: Float = field(default_factory=lambda: np.zeros(3))

    def __repr__(self) -> str:
        return f"Body({self.name!r}, {self.mass:g} kg)"


OPTIONS = (*BodyOptions.__annotations__, "name")
#: Words for options of bodies elsewhere.
MEANT = {
    "pos": "position", "x": "position", "quaternion": "orientation", "rotation": "orientation",
    "damping": "drag", "com": "center_of_mass", "colour": "color", "rgba": "color",
}  # fmt: skip


def body(
    shape: Shape | None,
    *,
    name: Hashable,
    mass: float | None = None,
    inertia: ArrayLike | None = None,
    position: ArrayLike | None = None,
    orientation: ArrayLike | None = None,
    drag: float = 0.0,
    spin_drag: float = 0.0,
    gravity_scale: float = 1.0,
    visuals: tuple[Geometry, ...] = (),
    collisions: tuple[Geometry, ...] = (),
    any_inertia: bool = False,
    center_of_mass: ArrayLike | None = None,
    color: ArrayLike | None = None,
    **unknown: Any,
) -> Body:
    """Make a body from a shape, or from mass and inertia; see `Body`.

    Parameters
    ----------
    shape : Shape or None
        Provides mass and inertia if they are not given.
    name : hashable
    mass : float, optional
        kg; by default that of the shape.
    inertia : array_like, shape (3, 3), (3,) or (6, 6), optional
        Matrix about the centre of mass, or principal moments, in body axes, kg m^2. A 6 x 6 matrix
        is for twists [omega; v] of any origin and may include added mass, see
        `dynamics.integrators.spatial_inertia`; ``mass`` is then the mass on which gravity acts.
    position : array_like, shape (3,), optional
        Initial position of the centre of mass, world, m; by default joints place the body.
    orientation : array_like, shape (4,), optional
        Initial orientation, body to world, scalar first.
    drag : float, optional
        Drag force per velocity, N s/m.
    spin_drag : float, optional
        Drag torque per angular velocity, N m s/rad.
    gravity_scale : float, optional
        Factor of gravity on this body; 0 for none.
    visuals, collisions : tuple of Geometry, optional
        Shapes that are drawn, and shapes that touch others.
    any_inertia : bool, optional
        Whether to accept an inertia that no rigid body can have, as in some robot files.
    center_of_mass : array_like, shape (3,), optional
        Point on which gravity acts, for an inertia of 6 x 6, body frame, m; by default the origin.
    color : array_like, shape (3,) or (4,), optional
        Red, green, blue and opacity of the shape on pages, each from 0 to 1.

    Returns
    -------
    Body

    Raises
    ------
    ValueError
        For a color of a body without a shape, or with visuals, which have their own. If mass or
        inertia is missing, not finite, not positive definite, or not of a rigid body (a principal
        moment above the sum of the others).
    """
    label = f"body {name!r}"
    if shape is not None and not isinstance(shape, Shape):
        raise TypeError(
            f"shape of {label} is {shape!r}, and must be one such as dynamics.Box(0.1, 0.1, 0.1, "
            "mass=1.0); a name is given with name="
        )
    if unknown:
        raise TypeError(unknown_words(label, unknown, OPTIONS, MEANT))
    if mass is None or inertia is None:
        if shape is None:
            raise ValueError(f"{label} needs a shape, or both mass and inertia")
        if np.abs(shape.center_of_mass).max() > 1e-9:
            raise ValueError(
                f"{label}: the origin of a body is its centre of mass, and that of the shape lies "
                f"at {shape.center_of_mass}; use shape.centered()"
            )
        mass = shape.mass if mass is None else mass
        inertia = shape.inertia * (mass / shape.mass) if inertia is None else inertia
    mass = float(mass)
    if not (np.isfinite(mass) and mass > 0.0):
        raise ValueError(f"mass of {label} is {mass}, and must be positive and finite")
    matrix = np.array(inertia, np.float64)
    spatial, center = None, np.zeros(3)
    if matrix.shape == (6, 6):
        spatial = _spatial(matrix, label)
        matrix = spatial[:3, :3].copy()
    else:
        if matrix.shape == (3,):
            matrix = np.diag(matrix)
        _check_inertia(matrix, label, any_inertia)
    if center_of_mass is not None:
        center = rotation.as_numbers(center_of_mass, (3,), f"center_of_mass of {label}")
        if spatial is None and center.any():
            raise ValueError(
                f"{label}: the origin of a body is its centre of mass, unless its inertia is 6 x 6"
            )
    if color is not None:
        if shape is None or visuals:
            raise ValueError(f"color of {label} is that of its shape: it must have one, no visuals")
        given = rotation.as_numbers(color, (np.size(color),), f"color of {label}")
        if given.size not in (3, 4) or given.min() < 0.0 or given.max() > 1.0:
            raise ValueError(f"color of {label} is {given}, and must be 3 or 4 numbers from 0 to 1")
        still, rgba = np.array([1.0, 0.0, 0.0, 0.0]), np.append(given, 1.0)[:4]
        visuals = (Geometry(shape, np.zeros(3), still, rgba),)
    for value, what in ((drag, "drag"), (spin_drag, "spin_drag")):
        if not (np.isfinite(value) and value >= 0.0):
            raise ValueError(f"{what} of {label} is {value}, and must be finite and not negative")
    x = None if position is None else rotation.as_numbers(position, (3,), f"position of {label}")
    q = None
    if orientation is not None:
        q = rotation.normalized(rotation.as_numbers(orientation, (4,), f"orientation of {label}"))
    if x is not None or q is not None:  # a body that is placed is placed entirely
        x = np.zeros(3) if x is None else x
        q = np.array([1.0, 0.0, 0.0, 0.0]) if q is None else q
    for numbers in (matrix, x, q, spatial, center):
        if numbers is not None:
            numbers.flags.writeable = False
    return Body(
        name, mass, matrix, x, q, float(drag), float(spin_drag), gravity_scale, shape,
        tuple(visuals), tuple(collisions), spatial, center,
    )  # fmt: skip


def _spatial(matrix: Float, label: str) -> Float:
    """An inertia of 6 x 6, checked."""
    try:
        return check_inertia(matrix)
    except ValueError as error:
        raise ValueError(f"inertia of {label}: {error}") from None


def _check_inertia(matrix: Float, label: str, any_inertia: bool) -> None:
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        raise ValueError(f"inertia of {label} must be 3 x 3 (or 3 moments) and finite")
    if np.abs(matrix - matrix.T).max() > 1e-9 * np.abs(matrix).max():
        raise ValueError(f"inertia of {label} is not symmetric")
    moments = np.linalg.eigvalsh(matrix)
    if moments[0] <= 0.0:
        raise ValueError(
            f"inertia of {label} is not positive definite: moments {moments}"
            + ("; a thin rod needs a radius= to be a body" if moments[0] == 0.0 else "")
        )
    if moments[2] > (moments[0] + moments[1]) * (1.0 + 1e-9) and not any_inertia:
        raise ValueError(
            f"inertia of {label} is not possible for a rigid body: its moments {moments} violate "
            "the triangle inequality"
        )


def no_body(what: str, given: Any) -> str:
    """Text of the error where something else is given in place of a body."""
    by_name = f", or mechanism.bodies[{given!r}]" if isinstance(given, str) else ""
    return f"{what} {given!r}, which is no Body; use what add_body returned{by_name}"


def check_ends(kind: str, *ends: Any) -> None:
    """Raise TypeError where one of the ends is neither a body nor the world."""
    for end in ends:
        if end is not WORLD and not isinstance(end, Body):
            raise TypeError(no_body(f"a {kind} has", end))
