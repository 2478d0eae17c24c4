"""Poses as unit dual quaternions: composition, screw motions, exponential and interpolation.

A pose of a body's frame B in a frame A is ``p = q + eps l q / 2`` (eq. 2.4 of [1]_) with the
orientation q, B to A, and the position l of B's origin in A. Twists are ``[omega; v]``, v the
velocity of the point of the body that is at the frame's origin; wrenches are ``[torque; force]``,
the torque about the frame's origin.

References
----------
.. [1] J. Xu and K. H. Halse, Dual quaternion variational integrator for rigid body dynamic
   simulation, 2016, secs. 2 and 3; what is printed wrong there: docs/theory/dual_quaternion.md.
.. [2] L. Kavan, S. Collins, C. O'Sullivan and J. Zara, Dual quaternions for rigid transformation
   blending, Trinity College Dublin, 2006.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation

__all__ = ["DualQuaternion", "Screw"]

Float = NDArray[np.float64]

# (cos x - sinc x) / x^2 = sum over k >= 1 of (-1)^k 2k / (2k + 1)! x^(2k - 2); seven terms hold
# it to rounding up to x = 1/2, from where on the difference loses less than three bits.
SERIES = [(-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(7, 0, -1)]


@dataclass(frozen=True, slots=True, eq=False)
class Screw:
    """Rotation about a line of space and translation along it (Chasles; sec. 3.2).

    Attributes
    ----------
    direction : ndarray of float, shape (3,)
        Unit vector s along the axis; where nothing turns, along the translation, and z where
        nothing moves at all.
    point : ndarray of float, shape (3,)
        Point k of the axis that is closest to the origin, m. The moment of the axis is
        ``k x s``.
    angle : float
        Rotation about the axis by the right-hand rule, rad, from 0 to pi.
    translation : float
        Along the axis, m.
    pitch : float
        Translation over angle, m/rad; infinite where nothing turns.
    """

    direction: Float
    point: Float
    angle: float
    translation: float
    pitch: float


@dataclass(frozen=True, slots=True, eq=False)
class DualQuaternion:
    """Pose as a unit dual quaternion ``real + eps dual``; p and -p are the same pose.

    Parameters
    ----------
    real : array_like, shape (4,)
        Real part, of any length but zero; scaled to unit length, and `dual` with it.
    dual : array_like, shape (4,)
        Dual part, m; its component along `real` is taken away.

    Attributes
    ----------
    real : ndarray of float, shape (4,)
        Orientation q as a unit quaternion, body to world.
    dual : ndarray of float, shape (4,)
        ``l q / 2`` with the position l; at right angles to `real`, m.

    Raises
    ------
    ValueError
        If the real part is zero or a number is not finite.

    Examples
    --------
    A quarter turn about z at (1, 2, 0), then 3 m along the turned x axis:

    >>> corner = DualQuaternion.from_position((1, 2, 0), (0.5**0.5, 0, 0, 0.5**0.5))
    >>> ahead = corner @ DualQuaternion.from_position((3, 0, 0))
    >>> ahead.to_position()[0].round(12)
    array([1., 5., 0.])
    """

    real: Float
    dual: Float

    def __post_init__(self) -> None:
        real = rotation.as_numbers(self.real, (4,), "the real part")
        dual = rotation.as_numbers(self.dual, (4,), "the dual part")
        q = rotation.normalized(real)
        dual = dual / (q @ real)
        dual = dual - (dual @ q) * q
        q.flags.writeable = dual.flags.writeable = False
        object.__setattr__(self, "real", q)
        object.__setattr__(self, "dual", dual)

    @classmethod
    def identity(cls) -> DualQuaternion:
        """The pose of the world itself."""
        return cls(np.eye(4)[0], np.zeros(4))

    @classmethod
    def from_position(
        cls, position: ArrayLike, orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0)
    ) -> DualQuaternion:
        """Pose at a position, eq. (2.4).

        Parameters
        ----------
        position : array_like, shape (3,)
            Origin of the body's frame in the world, m.
        orientation : array_like, shape (4,)
            Quaternion, scalar first, body to world; by default the world's axes.

        Returns
        -------
        DualQuaternion

        Raises
        ------
        ValueError
            If the orientation is zero or a number is not finite.
        """
        place = rotation.as_numbers(position, (3,), "the position")
        q = rotation.normalized(rotation.as_numbers(orientation, (4,), "the orientation"))
        return cls(q, 0.5 * rotation.multiply(pure(place), q))

    def to_position(self) -> tuple[Float, Float]:
        """Position and orientation, ``l = 2 dual conj(real)``.

        Returns
        -------
        position : ndarray of float, shape (3,)
            m.
        orientation : ndarray of float, shape (4,)
            Unit quaternion, scalar first, body to world.
        """
        position = 2.0 * rotation.multiply(self.dual, rotation.conjugate(self.real))[1:]
        return position, self.real

    def to_matrix(self) -> Float:
        """Homogeneous matrix ``[[R, l], [0, 1]]``.

        Returns
        -------
        ndarray of float, shape (4, 4)
        """
        matrix = np.eye(4)
        matrix[:3, :3] = rotation.to_matrix(self.real)
        matrix[:3, 3] = self.to_position()[0]
        return matrix

    def __matmul__(self, other: DualQuaternion) -> DualQuaternion:
        """Composition: a pose of C in B after this one of B in A is that of C in A."""
        if not isinstance(other, DualQuaternion):
            return NotImplemented
        a, b, c, d = self.real, self.dual, other.real, other.dual
        dual = rotation.multiply(a, d) + rotation.multiply(b, c)
        return DualQuaternion(rotation.multiply(a, c), dual)

    def conjugate(self) -> DualQuaternion:
        """Quaternion conjugate of both parts: the inverse, the pose of A in B."""
        return DualQuaternion(rotation.conjugate(self.real), rotation.conjugate(self.dual))

    def dual_conjugate(self) -> DualQuaternion:
        """Dual conjugate ``real - eps dual``: the same orientation at the opposite position."""
        return DualQuaternion(self.real, -self.dual)

    def transform_point(self, point: ArrayLike) -> Float:
        """Point of the body in the frame of the world, eq. (2.5).

        Parameters
        ----------
        point : array_like, shape (..., 3)
            In the frame of the body, m.

        Returns
        -------
        ndarray of float, shape (..., 3)
            In the frame of the world, m.
        """
        return self.to_position()[0] + rotation.rotate(self.real, point)

    def transform_twist(self, twist: ArrayLike) -> Float:
        """Twist about B's origin along B's axes, as one about A's origin along A's: ``p x p'``.

        Parameters
        ----------
        twist : array_like, shape (6,)
            ``[omega; v]``, rad/s and m/s.

        Returns
        -------
        ndarray of float, shape (6,)
            ``[Q omega; Q v + l x Q omega]``.
        """
        position, q = self.to_position()
        omega, v = np.split(rotation.as_numbers(twist, (6,), "the twist"), 2)
        turning = rotation.rotate(q, omega)
        return np.concatenate([turning, rotation.rotate(q, v) + np.cross(position, turning)])

    def transform_wrench(self, wrench: ArrayLike) -> Float:
        """Wrench about B's origin along B's axes, as one about A's origin along A's.

        Parameters
        ----------
        wrench : array_like, shape (6,)
            ``[torque; force]``, N m and N.

        Returns
        -------
        ndarray of float, shape (6,)
            ``[Q torque + l x Q force; Q force]``: its power on a transformed twist is the same.
        """
        position, q = self.to_position()
        torque, force = np.split(rotation.as_numbers(wrench, (6,), "the wrench"), 2)
        push = rotation.rotate(q, force)
        return np.concatenate([rotation.rotate(q, torque) + np.cross(position, push), push])

    @classmethod
    def exp(cls, twist: ArrayLike) -> DualQuaternion:
        """Pose after one second of a constant twist: exp of half the pure dual quaternion.

        Parameters
        ----------
        twist : array_like, shape (6,)
            ``[omega; v]`` in the body's frame, rad and m.

        Returns
        -------
        DualQuaternion

        Raises
        ------
        ValueError
            If a number is not finite.
        """
        a, b = np.split(0.5 * rotation.as_numbers(twist, (6,), "the twist"), 2)
        x = float(np.linalg.norm(a))
        cos, sinc, rest = coefficients(x)
        along = a @ b
        dual = np.concatenate([[-sinc * along], sinc * b + rest * along * a])
        return cls(np.concatenate([[cos], sinc * a]), dual)

    def log(self) -> Float:
        """Twist that leads here in one second, turning by half a turn at most: inverse of `exp`.

        Returns
        -------
        ndarray of float, shape (6,)
            ``[omega; v]`` in the body's frame, rad and m.
        """
        sign = -1.0 if self.real[0] < 0.0 else 1.0
        real, dual = sign * self.real, sign * self.dual
        x = float(np.arctan2(np.linalg.norm(real[1:]), real[0]))
        _, sinc, rest = coefficients(x)  # sinc is 2 / pi at least
        a, along = real[1:] / sinc, -dual[0] / sinc
        return 2.0 * np.concatenate([a, (dual[1:] - rest * along * a) / sinc])

    @classmethod
    def from_screw(
        cls,
        direction: ArrayLike,
        angle: float,
        translation: float = 0.0,
        point: ArrayLike = (0.0, 0.0, 0.0),
    ) -> DualQuaternion:
        """Rotation about a line of space and translation along it, eq. (3.5).

        Parameters
        ----------
        direction : array_like, shape (3,)
            Direction s of the axis, of any length but zero.
        angle : float
            About the axis by the right-hand rule, rad.
        translation : float
            Along the axis, m.
        point : array_like, shape (3,)
            Any point k of the axis, m; its moment is ``k x s``.

        Returns
        -------
        DualQuaternion

        Raises
        ------
        ValueError
            If the direction is zero or a number is not finite.
        """
        s = rotation.as_numbers(direction, (3,), "the direction of the axis")
        s = rotation.unit_vector(s, "the direction of the axis")
        k = rotation.as_numbers(point, (3,), "the point of the axis")
        turn, along = rotation.as_numbers([angle, translation], (2,), "angle and translation")
        return cls.exp(np.concatenate([turn * s, turn * np.cross(k, s) + along * s]))

    def to_screw(self) -> Screw:
        """Rotation about a line of space and translation along it that make this pose."""
        omega, v = np.split(self.log(), 2)
        angle, length = float(np.linalg.norm(omega)), float(np.linalg.norm(v))
        if angle < 1e-100:  # below, nothing turns that a float64 position could show
            still = length == 0.0
            direction = np.array([0.0, 0.0, 1.0]) if still else v / length
            return Screw(direction, np.zeros(3), 0.0, length, np.inf)
        direction = omega / angle
        translation = float(direction @ v)
        point = np.cross(direction, v) / angle
        return Screw(direction, point, angle, translation, translation / angle)

    def interpolate(self, other: DualQuaternion, fraction: float) -> DualQuaternion:
        """Screw linear interpolation (ScLERP): ``p1 exp(fraction log(p1' p2))``, the short way.

        Parameters
        ----------
        other : DualQuaternion
            Pose at the fraction 1.
        fraction : float
            0 gives this pose, 1 the other; outside of that the screw motion goes on.

        Returns
        -------
        DualQuaternion
        """
        share = float(rotation.as_numbers(fraction, (), "the fraction"))
        return self @ DualQuaternion.exp(share * (self.conjugate() @ other).log())


def pure(vector: Float) -> Float:
    """Quaternion [0; a] of a vector a."""
    return np.concatenate([[0.0], vector])


def coefficients(x: float) -> tuple[float, float, float]:
    """Of the exponential: cos x, sin x / x and (cos x - sin x / x) / x^2."""
    cos, sinc = float(np.cos(x)), float(np.sinc(x / np.pi))
    if x > 0.5:
        return cos, sinc, (cos - sinc) / x**2
    return cos, sinc, float(np.polyval(SERIES, x**2))
