"""Rotations as quaternions ``[s, v]``: scalar first, Hamilton product, body to world.

Every function takes one quaternion or an array of them, shape (..., 4). One that stands for a
rotation is normalized first, and refused where it is zero.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "align",
    "conjugate",
    "from_axis_angle",
    "from_matrix",
    "from_rotation_vector",
    "from_rpy",
    "multiply",
    "normalized",
    "random",
    "rotate",
    "to_matrix",
    "to_rotation_vector",
    "to_rpy",
]


def __dir__() -> list[str]:
    return list(__all__)


Float = NDArray[np.float64]

# A matrix typed with six digits, as in robot files, is this far from orthogonal.
ORTHOGONAL = 1e-5

# Cosine of a pitch that is 90 degrees up to the rounding of the matrix.
LOCKED = 4.0 * np.finfo(np.float64).eps

# Order of the factors of a cross product.
YZX, ZXY = np.array([1, 2, 0]), np.array([2, 0, 1])


def as_numbers(value: Any, shape: tuple[Any, ...], name: str) -> Float:
    """Array of finite real numbers of a given shape.

    Parameters
    ----------
    value : array_like
        What the user gave.
    shape : tuple of int
        What its shape must be; after ``...`` in front, what its last axes must be.
    name : str
        What the user calls it, for the message.

    Returns
    -------
    ndarray of float
        A copy.

    Raises
    ------
    TypeError
        If it is not an array of real numbers.
    ValueError
        If its shape is wrong, or a number is infinite or NaN.
    """
    try:
        given = np.asarray(value)
    except ValueError as error:  # rows of unequal length
        raise ValueError(f"{name} is no array: {error}") from error
    if given.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold real numbers, not {value!r}")
    last = shape[1:] if shape[:1] == (...,) else shape
    if given.shape[max(given.ndim - len(last), 0) if last != shape else 0 :] != last:
        sizes = ["..." if n is ... else str(n) for n in shape]
        wanted = f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"
        hint = ""
        if last == (4,) and given.shape[-2:] == (3, 3):
            hint = ", a quaternion, scalar first: dynamics.rotation.from_matrix makes one"
        raise ValueError(f"{name} has shape {given.shape}, it must be {wanted}{hint}")
    array = np.array(given, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, not {value!r}")
    return array


def normalized(q: ArrayLike) -> Float:
    """Quaternions of unit length.

    Parameters
    ----------
    q : array_like, shape (..., 4)
        Quaternions, scalar first.

    Returns
    -------
    ndarray of float, shape (..., 4)

    Raises
    ------
    ValueError
        If one is zero or not finite.
    """
    one = _unit(q)
    if one is not None:
        return np.array(one)
    return unit_vector(as_numbers(q, (..., 4), "a quaternion"), "a quaternion")


def multiply(p: ArrayLike, q: ArrayLike) -> Float:
    """Hamilton product ``p * q``: the rotation q followed by the rotation p.

    Parameters
    ----------
    p, q : array_like, shape (..., 4)
        Quaternions of any length, scalar first.

    Returns
    -------
    ndarray of float, shape (..., 4)

    Raises
    ------
    ValueError
        If a number is not finite.
    """
    left, right = _floats(p, 4), _floats(q, 4)  # most calls are of one quaternion
    if left is not None and right is not None:
        (a0, a1, a2, a3), (b0, b1, b2, b3) = left, right
        return np.array([
            a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3, a0 * b1 + b0 * a1 + a2 * b3 - a3 * b2,
            a0 * b2 + b0 * a2 + a3 * b1 - a1 * b3, a0 * b3 + b0 * a3 + a1 * b2 - a2 * b1,
        ])  # fmt: skip
    a, b = as_numbers(p, (..., 4), "a quaternion"), as_numbers(q, (..., 4), "a quaternion")
    s, t, u, v = a[..., :1], b[..., :1], a[..., 1:], b[..., 1:]
    scalar = s * t - (u * v).sum(axis=-1, keepdims=True)
    return np.concatenate([scalar, s * v + t * u + cross(u, v)], axis=-1)


def conjugate(q: ArrayLike) -> Float:
    """Conjugate ``[s, -v]``: for unit length, the inverse rotation.

    Parameters
    ----------
    q : array_like, shape (..., 4)
        Quaternions of any length, scalar first.

    Returns
    -------
    ndarray of float, shape (..., 4)

    Raises
    ------
    ValueError
        If a number is not finite.
    """
    return np.asarray(as_numbers(q, (..., 4), "a quaternion") * [1.0, -1.0, -1.0, -1.0])


def rotate(q: ArrayLike, a: ArrayLike) -> Float:
    """Rotate vectors from the body's frame to the world frame: ``q * a * conj(q)``.

    Parameters
    ----------
    q : array_like, shape (..., 4)
        Orientations, body to world.
    a : array_like, shape (..., 3)
        Vectors in the frame of the body.

    Returns
    -------
    ndarray of float, shape (..., 3)
        The vectors in the frame of the world.

    Raises
    ------
    ValueError
        If a quaternion is zero or a number is not finite.
    """
    one, arm = _unit(q), _floats(a, 3)
    if one is not None and arm is not None:
        (r, x, y, z), (i, j, k) = one, arm
        b, c, d = 2.0 * (y * k - z * j), 2.0 * (z * i - x * k), 2.0 * (x * j - y * i)
        return np.array([
            i + r * b + y * d - z * c, j + r * c + z * b - x * d, k + r * d + x * c - y * b
        ])  # fmt: skip
    unit, vector = normalized(q), as_numbers(a, (..., 3), "a vector")
    s, v = unit[..., :1], unit[..., 1:]
    twice = 2.0 * cross(v, vector)
    return vector + s * twice + cross(v, twice)


def cross(u: Float, v: Float) -> Float:
    """Cross product along the last axis: for vectors in an eighth of `numpy.cross`'s time."""
    ahead, back = u.take(YZX, -1) * v.take(ZXY, -1), u.take(ZXY, -1) * v.take(YZX, -1)
    return np.asarray(ahead - back)


def from_axis_angle(axis: ArrayLike, angle: ArrayLike) -> Float:
    """Rotation about an axis by the right-hand rule.

    Parameters
    ----------
    axis : array_like, shape (..., 3)
        Direction of the axis, of any length but zero.
    angle : array_like of float, shape (...)
        Angle, rad.

    Returns
    -------
    ndarray of float, shape (..., 4)

    Raises
    ------
    ValueError
        If an axis is zero or a number is not finite.
    """
    direction = unit_vector(as_numbers(axis, (..., 3), "the axis"), "the axis")
    half = 0.5 * as_numbers(angle, (...,), "the angle")[..., None]
    v = np.sin(half) * direction
    return np.concatenate([np.broadcast_to(np.cos(half), (*v.shape[:-1], 1)), v], axis=-1)


def from_rotation_vector(vector: ArrayLike) -> Float:
    """Exponential map: rotation about a vector by its length, rad.

    Parameters
    ----------
    vector : array_like, shape (..., 3)
        Rotation vectors, rad.

    Returns
    -------
    ndarray of float, shape (..., 4)

    Raises
    ------
    ValueError
        If a number is not finite.
    """
    one = _floats(vector, 3)
    if one is not None:
        turn = math.hypot(*one)
        part = math.sin(0.5 * turn) / turn if turn > 0.0 else 0.5
        return np.array([math.cos(0.5 * turn), part * one[0], part * one[1], part * one[2]])
    half = 0.5 * as_numbers(vector, (..., 3), "a rotation vector")
    length = np.linalg.norm(half, axis=-1, keepdims=True)
    # np.sinc(x) is sin(pi x) / (pi x), 1 at 0.
    return np.concatenate([np.cos(length), np.sinc(length / np.pi) * half], axis=-1)


def to_rotation_vector(q: ArrayLike) -> Float:
    """Logarithm: the shortest rotation vector of a rotation.

    Parameters
    ----------
    q : array_like, shape (..., 4)
        Quaternions, scalar first; q and -q give the same.

    Returns
    -------
    ndarray of float, shape (..., 3)
        Rotation vectors of length 0 to pi, rad.

    Raises
    ------
    ValueError
        If a quaternion is zero or not finite.
    """
    unit = normalized(q)
    return np.asarray(_as_rotation(unit).as_rotvec()).reshape(*unit.shape[:-1], 3)


def from_matrix(matrix: ArrayLike) -> Float:
    """Quaternion of a rotation matrix, with a scalar part that is not negative.

    Parameters
    ----------
    matrix : array_like, shape (..., 3, 3)
        Rotation matrices: columns are the body's axes in the frame of the world.

    Returns
    -------
    ndarray of float, shape (..., 4)

    Raises
    ------
    ValueError
        If ``R.T @ R`` is more than 1e-5 from the identity, or R is a reflection.
    """
    R = as_numbers(matrix, (..., 3, 3), "a rotation matrix")
    gap = abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(initial=0.0)
    if gap > ORTHOGONAL:
        raise ValueError(f"a rotation matrix must be orthogonal; R.T @ R is {gap:.1e} from that")
    if (np.linalg.det(R) < 0.0).any():
        raise ValueError("a rotation matrix must have determinant 1; this one is a reflection")
    return _from_rotation(_scipys().from_matrix(R.reshape(-1, 3, 3)), R.shape[:-2])


def to_matrix(q: ArrayLike) -> Float:
    """Rotation matrix of a quaternion.

    Parameters
    ----------
    q : array_like, shape (..., 4)
        Quaternions, scalar first.

    Returns
    -------
    ndarray of float, shape (..., 3, 3)
        ``R @ a_body`` is the vector in the frame of the world.

    Raises
    ------
    ValueError
        If a quaternion is zero or not finite.
    """
    one = _unit(q)
    s, x, y, z = np.moveaxis(normalized(q), -1, 0) if one is None else one
    R = np.empty((*np.shape(q)[:-1], 3, 3))
    R[..., 0, 0], R[..., 1, 2] = 1.0 - 2.0 * (y * y + z * z), 2.0 * (y * z - s * x)
    R[..., 1, 1], R[..., 2, 0] = 1.0 - 2.0 * (x * x + z * z), 2.0 * (x * z - s * y)
    R[..., 2, 2], R[..., 0, 1] = 1.0 - 2.0 * (x * x + y * y), 2.0 * (x * y - s * z)
    R[..., 2, 1], R[..., 0, 2] = 2.0 * (y * z + s * x), 2.0 * (x * z + s * y)
    R[..., 1, 0] = 2.0 * (x * y + s * z)
    return R


def from_rpy(rpy: ArrayLike) -> Float:
    """Rotation from roll, pitch and yaw as in URDF: ``Rz(yaw) Ry(pitch) Rx(roll)``.

    Parameters
    ----------
    rpy : array_like, shape (..., 3)
        Angles about the fixed x, y and z axes, in this order, rad.

    Returns
    -------
    ndarray of float, shape (..., 4)

    Raises
    ------
    ValueError
        If a number is not finite.
    """
    angles = as_numbers(rpy, (..., 3), "roll, pitch and yaw")
    cos_r, cos_p, cos_y = np.moveaxis(np.cos(0.5 * angles), -1, 0)
    sin_r, sin_p, sin_y = np.moveaxis(np.sin(0.5 * angles), -1, 0)
    q = [
        cos_r * cos_p * cos_y + sin_r * sin_p * sin_y,
        sin_r * cos_p * cos_y - cos_r * sin_p * sin_y,
        cos_r * sin_p * cos_y + sin_r * cos_p * sin_y,
        cos_r * cos_p * sin_y - sin_r * sin_p * cos_y,
    ]
    return _with_positive_scalar(np.stack(q, axis=-1))


def to_rpy(q: ArrayLike) -> Float:
    """Roll, pitch and yaw of a rotation as in URDF.

    Parameters
    ----------
    q : array_like, shape (..., 4)
        Quaternions, scalar first.

    Returns
    -------
    ndarray of float, shape (..., 3)
        Angles, rad; pitch from -pi/2 to pi/2. At a pitch of +-pi/2 only the sum or difference of
        roll and yaw is defined, and yaw is 0.

    Raises
    ------
    ValueError
        If a quaternion is zero or not finite.
    """
    R = to_matrix(q)
    cos = np.hypot(R[..., 0, 0], R[..., 1, 0])
    roll = np.where(
        cos > LOCKED,
        np.arctan2(R[..., 2, 1], R[..., 2, 2]),
        np.arctan2(-R[..., 1, 2], R[..., 1, 1]),
    )
    # Yaw is what the roll leaves of R, so that both make up for each other's rounding.
    c, s = np.cos(roll), np.sin(roll)
    yaw = np.arctan2(s * R[..., 0, 2] - c * R[..., 0, 1], c * R[..., 1, 1] - s * R[..., 1, 2])
    return np.stack([roll, np.arctan2(-R[..., 2, 0], cos), np.where(cos > LOCKED, yaw, 0.0)], -1)


def align(a: ArrayLike, b: ArrayLike) -> Float:
    """Shortest rotation that turns the direction a into the direction b.

    Parameters
    ----------
    a, b : array_like, shape (3,)
        Directions of any length but zero.

    Returns
    -------
    ndarray of float, shape (4,)
        For opposite a and b, half a turn about one of the perpendicular axes.

    Raises
    ------
    ValueError
        If a direction is zero or not finite.
    """
    u = unit_vector(as_numbers(a, (3,), "a direction"), "a direction")
    v = unit_vector(as_numbers(b, (3,), "a direction"), "a direction")
    axis = cross(u, v)
    if np.linalg.norm(axis) < 1e-15:  # alike or opposite
        axis = cross(u, np.eye(3)[abs(u).argmin()])
    axis = unit_vector(axis, "the axis")
    axis = unit_vector(axis - (axis @ u) * u, "the axis")  # near half a turn rounding had tilted it
    cos, sin = np.linalg.norm(u + v), np.linalg.norm(u - v)
    return normalized(np.concatenate([[cos], sin * axis]))


def random(rng: np.random.Generator, size: int | tuple[int, ...] = ()) -> Float:
    """Uniformly distributed random rotations.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of random numbers: ``numpy.random.default_rng(seed)``.
    size : int or tuple of int
        Number of rotations; by default one.

    Returns
    -------
    ndarray of float, shape (*size, 4)
    """
    shape = (size,) if isinstance(size, int) else tuple(size)
    return normalized(rng.standard_normal((*shape, 4)))


def unit_vector(array: Float, name: str) -> Float:
    """Vectors along the last axis, finite, divided by their length; a zero one is refused."""
    # Scaled by the largest entry first, so that squares neither overflow nor vanish.
    largest = abs(array).max(axis=-1, keepdims=True)
    if (largest == 0.0).any():
        raise ValueError(f"{name} must not be zero")
    scaled = array / largest
    return np.asarray(scaled / np.linalg.norm(scaled, axis=-1, keepdims=True))


def _floats(array: Any, size: int) -> list[float] | None:
    """Numbers of one vector, for which Python is faster than numpy; None of anything else."""
    if type(array) is not np.ndarray or array.shape != (size,) or array.dtype != np.float64:
        return None
    found: list[float] = array.tolist()
    return found if math.isfinite(sum(found)) else None


def _unit(q: Any) -> tuple[float, float, float, float] | None:
    """One quaternion over its length, if that is an ordinary number; None of anything else."""
    found = _floats(q, 4)
    if found is None:
        return None
    s, x, y, z = found
    square = s * s + x * x + y * y + z * z
    if not 1e-100 < square < 1e100:
        return None
    length = math.sqrt(square)
    return s / length, x / length, y / length, z / length


def _scipys() -> Any:
    """scipy's rotations: importing them takes longer than the rest of a first simulation."""
    from scipy.spatial.transform import Rotation

    return Rotation


def _as_rotation(unit: Float) -> Any:
    """Quaternions as scipy has them: one list, scalar last."""
    return _scipys().from_quat(np.roll(unit.reshape(-1, 4), -1, axis=-1))


def _from_rotation(rotation: Any, shape: tuple[int, ...]) -> Float:
    """Quaternions of scipy in the given shape, scalar first and not negative."""
    return _with_positive_scalar(np.roll(rotation.as_quat(), 1, axis=-1).reshape(*shape, 4))


def _with_positive_scalar(q: Float) -> Float:
    """The one of q and -q whose scalar part is not negative."""
    return np.asarray(np.where(q[..., :1] < 0.0, -q, q))
