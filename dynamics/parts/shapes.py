"""Shapes of uniform density: mass, volume, centre of mass and inertia.

A shape has a frame of its own, with the origin at its centre of mass (only a `Compound` keeps the
frame its parts were own in). Cylinder, capsule and rod lie along the z axis of that frame, or
along `axis`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation

__all__ = [
    "Box", "Capsule", "Compound", "Cylinder", "Ellipsoid", "Part", "Rod", "Shape", "Sphere",
    "spread",
]  # fmt: skip

Float = NDArray[np.float64]
Given = float | None


def spread(frequency: int) -> Float:
    """Corners of an octahedron whose edges are divided, on the unit sphere."""
    grid = np.array(list(np.ndindex((2 * frequency + 1,) * 3))) - frequency
    corners = np.sin(np.pi / 2 / frequency * grid[np.abs(grid).sum(axis=1) == frequency])
    return np.asarray(corners / np.linalg.norm(corners, axis=1)[:, None])


#: Points of the unit sphere, the six on the axes among them, that an ellipsoid touches with.
SPREAD = spread(4)
SMALLEST, LARGEST = 1e-100, 1e100  # so that no volume or inertia overflows or vanishes


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Shape:
    """Base of all shapes: mass, volume, centre of mass and inertia.

    Attributes
    ----------
    mass : float
        kg.
    volume : float
        m^3; 0 for a thin rod.
    center_of_mass : ndarray of float, shape (3,)
        In the shape's frame, m.
    inertia : ndarray of float, shape (3, 3)
        About the centre of mass, along the axes of the shape's frame, kg m^2.
    """

    mass: float
    volume: float = field(repr=False)
    center_of_mass: Float = field(repr=False)
    inertia: Float = field(repr=False)

    def _fill(self, volume: float, mass: Given, density: Given, moments: ArrayLike) -> None:
        """Store what a shape centred at its origin has; `moments` are for a mass of 1 kg."""
        label = type(self).__name__
        if (mass is None) == (density is None):
            raise ValueError(f"{label} needs mass= or density=, one of the two")
        if mass is None and volume == 0.0:
            raise ValueError(f"a thin {label} has no volume for a density to fill: give its mass")
        if mass is None:
            mass = volume * positive(density, f"density of {label}")
        mass = positive(mass, f"mass of {label}")
        inertia = mass * np.asarray(moments, dtype=np.float64)
        self._keep(mass=mass, volume=volume, center_of_mass=np.zeros(3), inertia=inertia)

    def _keep(self, **fields: Any) -> None:
        """Write fields of the frozen shape; arrays become read-only."""
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Box(Shape):
    """Cuboid centred at the origin.

    Parameters
    ----------
    x, y, z : float
        Lengths of its edges along the axes, m.
    mass : float, optional
        kg; either this or the density.
    density : float, optional
        kg/m^3.

    Raises
    ------
    ValueError
        If a length, mass or density is not positive and finite, or both or neither of mass
        and density are given.
    """

    x: float
    y: float
    z: float

    def __init__(
        self, x: float, y: float, z: float, *, mass: Given = None, density: Given = None
    ) -> None:
        x, y, z = (positive(size, f"{name} of Box") for size, name in zip((x, y, z), "xyz"))
        moments = np.diag([y * y + z * z, x * x + z * z, x * x + y * y]) / 12.0
        self._keep(x=x, y=y, z=z)
        self._fill(x * y * z, mass, density, moments)


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Sphere(Shape):
    """Solid ball centred at the origin.

    Parameters
    ----------
    radius : float
        m.
    mass : float, optional
        kg; either this or the density.
    density : float, optional
        kg/m^3.

    Raises
    ------
    ValueError
        If radius, mass or density is not positive and finite, or both or neither of mass and
        density are given.
    """

    radius: float

    def __init__(self, radius: float, *, mass: Given = None, density: Given = None) -> None:
        radius = positive(radius, "radius of Sphere")
        self._keep(radius=radius)
        self._fill(4.0 / 3.0 * math.pi * radius**3, mass, density, 0.4 * radius**2 * np.eye(3))


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Ellipsoid(Shape):
    """Solid ellipsoid centred at the origin.

    It touches as 66 balls of its smallest radius of curvature, inside it and on its axes: up to
    4 % of the distance from its centre to a tangent plane short of that plane, and exact on the
    axes.

    Parameters
    ----------
    x, y, z : float
        Half lengths along the axes, m.
    mass : float, optional
        kg; either this or the density.
    density : float, optional
        kg/m^3.

    Raises
    ------
    ValueError
        If a length, mass or density is not positive and finite, or both or neither of mass
        and density are given.
    """

    x: float
    y: float
    z: float

    def __init__(
        self, x: float, y: float, z: float, *, mass: Given = None, density: Given = None
    ) -> None:
        x, y, z = (positive(size, f"{name} of Ellipsoid") for size, name in zip((x, y, z), "xyz"))
        moments = np.diag([y * y + z * z, x * x + z * z, x * x + y * y]) / 5.0
        self._keep(x=x, y=y, z=z)
        self._fill(4.0 / 3.0 * math.pi * x * y * z, mass, density, moments)

    def balls(self) -> tuple[Float, float]:
        """Centres, shape (k, 3), and radius of the balls that it touches with."""
        half = np.array([self.x, self.y, self.z])
        radius = float(half.min() ** 2 / half.max())
        normals = SPREAD / half
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        centers = half * SPREAD - radius * normals
        return np.unique(np.round(centers, 12 - math.floor(math.log10(half.max()))), axis=0), radius


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Round(Shape):
    """Solid of revolution centred at the origin; made by the shapes below.

    Attributes
    ----------
    mass, density : float
        kg, or kg/m^3.
    radius : float
        m.
    length : float
        m.
    axis : ndarray of float, shape (3,)
        Unit vector along the axis, in the shape's frame.
    """

    radius: float
    length: float
    axis: Float

    def __init__(
        self,
        radius: float,
        length: float,
        *,
        mass: Given = None,
        density: Given = None,
        axis: ArrayLike = (0.0, 0.0, 1.0),
    ) -> None:
        label = type(self).__name__
        self._revolve(positive(radius, f"radius of {label}"), length, mass, density, axis)

    def _revolve(
        self, radius: float, length: float, mass: Given, density: Given, axis: ArrayLike
    ) -> None:
        """Check and store what solids of revolution share."""
        label = type(self).__name__
        length = positive(length, f"length of {label}")
        n = rotation.as_numbers(axis, (3,), f"axis of {label}")
        n = rotation.unit_vector(n, f"axis of {label}")
        volume, along, across = self._solid(radius, length)
        self._keep(radius=radius, length=length, axis=n)
        self._fill(volume, mass, density, across * np.eye(3) + (along - across) * np.outer(n, n))

    @staticmethod
    def _solid(radius: float, length: float) -> tuple[float, float, float]:
        """Volume, and moments of inertia of 1 kg about the axis and across it; a cylinder's."""
        across = (3.0 * radius**2 + length**2) / 12.0
        return math.pi * radius**2 * length, radius**2 / 2.0, across


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Cylinder(Round):
    """Solid circular cylinder centred at the origin.

    Parameters
    ----------
    radius : float
        m.
    length : float
        Along its axis, m.
    mass : float, optional
        kg; either this or the density.
    density : float, optional
        kg/m^3.
    axis : array_like, shape (3,)
        Direction in the shape's frame, of any length but zero; by default z.

    Raises
    ------
    ValueError
        If a size, mass or density is not positive and finite, the axis is zero, or not
        exactly one of mass and density is given.
    """


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Capsule(Round):
    """Solid cylinder with a hemisphere on each end, centred at the origin.

    Parameters
    ----------
    radius : float
        Radius of the cylinder and of the hemispheres, m.
    length : float
        Length of the cylinder, m; with the hemispheres it is ``length + 2 * radius`` long.
    mass : float, optional
        kg; either this or the density.
    density : float, optional
        kg/m^3.
    axis : array_like, shape (3,)
        Direction in the shape's frame, of any length but zero; by default z.

    Raises
    ------
    ValueError
        If a size, mass or density is not positive and finite, the axis is zero, or not
        exactly one of mass and density is given.
    """

    @staticmethod
    def _solid(radius: float, length: float) -> tuple[float, float, float]:
        """Volume, and moments of inertia of 1 kg about the axis and across it."""
        r, cylinder, ball = radius, length, 4.0 / 3.0 * radius  # the volumes over pi r^2
        share = cylinder / (cylinder + ball)
        along = share * r**2 / 2.0 + (1.0 - share) * 0.4 * r**2
        # A half ball's centre of mass is 3 r / 8 from its flat side, which is length / 2 away.
        ends = 0.4 * r**2 + length**2 / 4.0 + 0.375 * length * r
        across = share * (3.0 * r**2 + length**2) / 12.0 + (1.0 - share) * ends
        return math.pi * r**2 * (cylinder + ball), along, across


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Rod(Round):
    """Rod centred at the origin: a cylinder, or without a radius a line of mass.

    Parameters
    ----------
    length : float
        m.
    radius : float
        m; 0, the default, is a thin rod for a `Compound`. A thin rod has no inertia about its
        axis, so a body needs a radius.
    mass : float, optional
        kg; either this or the density.
    density : float, optional
        kg/m^3; refused for a thin rod, which has no volume.
    axis : array_like, shape (3,)
        Direction in the shape's frame, of any length but zero; by default z.

    Raises
    ------
    ValueError
        If length, mass or density is not positive and finite, the radius is negative, both or
        neither of mass and density are given, or the axis is zero.
    """

    def __init__(
        self,
        length: float,
        radius: float = 0.0,
        *,
        mass: Given = None,
        density: Given = None,
        axis: ArrayLike = (0.0, 0.0, 1.0),
    ) -> None:
        thin = isinstance(radius, (int, float)) and radius == 0.0
        radius = 0.0 if thin else positive(radius, "radius of Rod")
        self._revolve(radius, length, mass, density, axis)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A shape and where it sits in a compound.

    Attributes
    ----------
    shape : Shape
        Any shape, also a compound.
    position : ndarray of float, shape (3,)
        Origin of the shape's frame in the compound's, m.
    orientation : ndarray of float, shape (4,)
        Unit quaternion, the shape's frame to the compound's.
    """

    shape: Shape
    position: Float
    orientation: Float


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Compound(Shape):
    """Several shapes as one rigid body.

    Mass and volume are the sums over the parts, also where they overlap. The inertia is about the
    common centre of mass, by the parallel-axis theorem.

    Parameters
    ----------
    parts : iterable of (shape, position) or (shape, position, orientation)
        Each shape; the origin of its frame in the compound's frame, m, shape (3,); the quaternion
        from its frame to the compound's, scalar first, shape (4,), by default no rotation.

    Attributes
    ----------
    parts : tuple of Part
        The shapes with their poses.

    Raises
    ------
    TypeError
        If a part is not a tuple that begins with a shape.
    ValueError
        If there is no part, or a place is not finite.

    Examples
    --------
    >>> head = Box(0.1, 0.04, 0.04, mass=1.0)
    >>> Compound([(Rod(0.3, mass=0.2), (0, 0, 0)), (head, (0, 0, 0.15))]).mass
    1.2
    """

    parts: tuple[Part, ...]

    def __init__(self, parts: Iterable[tuple[Any, ...]]) -> None:
        own = tuple(_part(entry, k) for k, entry in enumerate(parts))
        if not own:
            raise ValueError("a compound needs at least one part")
        mass = sum(p.shape.mass for p in own)
        middle = [p.position + rotation.rotate(p.orientation, p.shape.center_of_mass) for p in own]
        center = sum(p.shape.mass * c for p, c in zip(own, middle)) / mass
        inertia = np.zeros((3, 3))
        for p, c in zip(own, middle):
            R, d = rotation.to_matrix(p.orientation), c - center
            inertia += R @ p.shape.inertia @ R.T
            inertia += p.shape.mass * (d @ d * np.eye(3) - np.outer(d, d))
        self._keep(
            parts=own,
            mass=mass,
            volume=sum(p.shape.volume for p in own),
            center_of_mass=center,
            inertia=(inertia + inertia.T) / 2.0,
        )

    def centered(self) -> Compound:
        """The same compound in a frame whose origin is the centre of mass.

        Returns
        -------
        Compound
            Its `center_of_mass` is zero, as that of every other shape.
        """
        moved = [(p.shape, p.position - self.center_of_mass, p.orientation) for p in self.parts]
        return Compound(moved)


def positive(value: Any, name: str) -> float:
    """A size, mass or density as a number.

    Raises
    ------
    TypeError
        If it is not a real number.
    ValueError
        If it is not positive, not finite, or so far from 1 that an inertia would not be.
    """
    number = float(rotation.as_numbers(value, (), name))
    if not SMALLEST <= number <= LARGEST:
        raise ValueError(f"{name} must be positive, {SMALLEST} to {LARGEST}, not {value!r}")
    return number


def _part(entry: Any, k: int) -> Part:
    """One entry of a compound's list, checked."""
    if not isinstance(entry, tuple) or len(entry) not in (2, 3) or not isinstance(entry[0], Shape):
        raise TypeError(
            f"part {k} of Compound must be (shape, position) or (shape, position, orientation), "
            f"not {entry!r}"
        )
    position = rotation.as_numbers(entry[1], (3,), f"position of part {k}")
    turn = entry[2] if len(entry) == 3 else (1.0, 0.0, 0.0, 0.0)
    turn = rotation.normalized(rotation.as_numbers(turn, (4,), f"orientation of part {k}"))
    position.flags.writeable = turn.flags.writeable = False
    return Part(entry[0], position, turn)
