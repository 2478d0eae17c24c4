"""Shapes that are none of ours, as meshes: cones and sheared cubes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation
from dynamics.parts.geometry import Mesh
from dynamics.parts.shapes import positive

__all__ = ["cone", "parallelepiped"]

Float = NDArray[np.float64]
#: Meridians of a turned shape: off by 0.5 % of the radius.
AROUND = 32


def cone(radius: float, length: float, axis: ArrayLike = (0.0, 0.0, 1.0)) -> Mesh:
    """Cone about an axis, its tip at half the length along it.

    Parameters
    ----------
    radius, length : float
        m.
    axis : array_like, shape (3,)
        Unit vector.

    Returns
    -------
    Mesh
    """
    r, h = positive(radius, "radius of a cone"), positive(length, "length of a cone") / 2.0
    vertices, faces = _turned(np.array([0.0, r, 0.0]), np.array([h, -h, -h]))
    q = rotation.align(np.array([0.0, 0.0, 1.0]), np.asarray(axis, np.float64))
    turned = rotation.rotate(np.broadcast_to(q, (len(vertices), 4)), vertices)
    return Mesh("", "", np.ones(3), np.asarray(turned), faces)


def parallelepiped(half: Float, center: Float) -> Mesh:
    """Solid of all points ``center + half @ x`` with -1 <= x <= 1.

    Parameters
    ----------
    half : ndarray of float, shape (3, 3)
        Columns are half of its edges, m.
    center : ndarray of float, shape (3,)
        m.

    Returns
    -------
    Mesh
    """
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float64)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = np.array([face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))], np.int64)
    if np.linalg.det(half) < 0.0:
        faces = faces[:, ::-1].copy()
    return Mesh("", "", np.ones(3), center + signs @ half.T, faces)


def _turned(radii: Float, heights: Float) -> tuple[Float, NDArray[np.int64]]:
    """Corners and faces of a profile from the upper to the lower pole, turned about z."""
    turn = 2.0 * np.pi * np.arange(AROUND) / AROUND
    rings = [
        np.column_stack([r * np.cos(turn), r * np.sin(turn), np.full(AROUND, z)])
        for r, z in zip(radii[1:-1], heights[1:-1])
    ]
    poles = np.array([[0.0, 0.0, heights[0]], [0.0, 0.0, heights[-1]]])
    last = 1 + AROUND * len(rings)
    i, j = np.arange(AROUND), (np.arange(AROUND) + 1) % AROUND
    faces = [np.column_stack([np.zeros(AROUND, np.int64), 1 + i, 1 + j])]
    for k in range(len(rings) - 1):
        upper, lower = 1 + AROUND * k, 1 + AROUND * (k + 1)
        faces += [np.column_stack([upper + i, lower + i, lower + j]),
                  np.column_stack([upper + i, lower + j, upper + j])]  # fmt: skip
    at = last - AROUND
    faces.append(np.column_stack([np.full(AROUND, last), at + j, at + i]))
    return np.concatenate([poles[:1], *rings, poles[1:]]), np.concatenate(faces).astype(np.int64)
