"""Twists of joints, [rotation, translation], and the checks of a tree's numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.parts.spatial_inertia import skew

__all__ = ["prismatic", "revolute", "screw"]

Float = NDArray[np.float64]


def revolute(axis: ArrayLike, point: ArrayLike = (0.0, 0.0, 0.0)) -> Float:
    """Twist of a hinge; its coordinate is an angle in rad.

    Parameters
    ----------
    axis : array_like, shape (3,)
        Direction in the child's frame, of any length but 0.
    point : array_like, shape (3,)
        A point of the axis in the child's frame, m.

    Returns
    -------
    ndarray of float, shape (6,)
    """
    return screw(axis, 0.0, point)


def screw(axis: ArrayLike, pitch: float, point: ArrayLike = (0.0, 0.0, 0.0)) -> Float:
    """Twist of a screw; its coordinate is an angle in rad.

    Parameters
    ----------
    axis : array_like, shape (3,)
        Direction in the child's frame, of any length but 0.
    pitch : float
        Advance along the axis, m / rad.
    point : array_like, shape (3,)
        A point of the axis in the child's frame, m.

    Returns
    -------
    ndarray of float, shape (6,)
    """
    unit = direction(axis)
    return np.concatenate([unit, np.cross(vector(point, "point"), unit) + pitch * unit])


def prismatic(axis: ArrayLike) -> Float:
    """Twist of a slider; its coordinate is a length in m.

    Parameters
    ----------
    axis : array_like, shape (3,)
        Direction in the child's frame, of any length but 0.

    Returns
    -------
    ndarray of float, shape (6,)
    """
    return np.concatenate([np.zeros(3), direction(axis)])


def vector(value: ArrayLike, name: str) -> Float:
    """Three finite numbers."""
    found = np.array(value, float)
    if found.shape != (3,) or not np.isfinite(found).all():
        raise ValueError(f"{name} must be 3 finite numbers")
    return found


def direction(value: ArrayLike) -> Float:
    """Unit vector."""
    found = vector(value, "axis")
    size = float(np.linalg.norm(found))
    if size == 0.0:
        raise ValueError("axis is zero: give the direction of the joint or constraint")
    return found / size


def rotation(value: ArrayLike, name: str) -> Float:
    """Rotation matrix of a unit quaternion."""
    q = np.asarray(value, float)
    if q.shape != (4,) or not abs(np.linalg.norm(q) - 1.0) < 1e-6:
        raise ValueError(f"{name}: orientation must be a unit quaternion, scalar first")
    s, v = q[0] / np.linalg.norm(q), q[1:] / np.linalg.norm(q)
    turn: Float = (2.0 * s * s - 1.0) * np.eye(3) + 2.0 * s * skew(v) + 2.0 * np.outer(v, v)
    return turn


def at_origin(mass: float, inertia: Float, center: Float) -> Float:
    """Spatial inertia about a frame's origin from that about the center of mass."""
    hat = mass * skew(center)
    return np.block([[inertia - hat @ skew(center), hat], [-hat, mass * np.eye(3)]])


def semidefinite(value: ArrayLike, size: int, name: str) -> Float:
    """Symmetric positive semidefinite matrix."""
    found = np.asarray(value, float)
    if found.shape != (size, size) or not np.isfinite(found).all():
        raise ValueError(f"{name} must be a finite {size} x {size} matrix")
    largest = np.abs(found).max(initial=0.0)
    if np.abs(found - found.T).max() > 1e-9 * largest:
        raise ValueError(f"{name} is not symmetric")
    symmetric: Float = 0.5 * (found + found.T)
    if np.linalg.eigvalsh(symmetric)[0] < -1e-9 * largest:
        raise ValueError(f"{name} is not positive semidefinite")
    return symmetric
