"""Momenta of bodies from their velocities, and how these change with the numbers behind them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.kernels import layout as at
from dynamics.tables import Tables

__all__ = ["momenta", "turned_momenta"]

Float = NDArray[np.float64]


def momenta(tables: Tables, pose: Float, twists: Float, constant: Float | None = None) -> Float:
    """M V of many velocities at one pose.

    Parameters
    ----------
    tables : Tables
    pose : ndarray of float, shape (n, 7)
    twists : ndarray of float, shape (k, 6 n)
    constant : ndarray of float, optional
        Other masses and inertias than those of the tables.

    Returns
    -------
    ndarray of float, shape (k, 6 n)
    """
    constant = tables.constant if constant is None else constant
    out = twists.reshape(len(twists), twists.shape[1] // at.TWIST, at.TWIST).copy()
    bodies = constant[: at.BODY_SIZE * out.shape[1]].reshape(-1, at.BODY_SIZE)
    for i, body in enumerate(bodies):
        out[:, i, :3] *= body[at.MASS]
        out[:, i, 3:] = out[:, i, 3:] @ body[at.INERTIA : at.INERTIA + 9].reshape(3, 3)
    given = twists.reshape(out.shape)
    for i, matrix in _spatial(tables, constant):
        Q = rotation.to_matrix(pose[i, 3:])
        a, b = _products(matrix, given[:, i, 3:], given[:, i, :3] @ Q)
        out[:, i, :3] = b @ Q.T
        out[:, i, 3:] += a
    return out.reshape(twists.shape)


def turned_momenta(tables: Tables, pose: Float, twist: Float, dz: Float) -> Float:
    """How M V changes with poses, V held: 0 for rigid bodies about their centres of mass.

    Parameters
    ----------
    tables : Tables
    pose : ndarray of float, shape (n, 7)
    twist : ndarray of float, shape (6 n,)
    dz : ndarray of float, shape (k, 6 n)
        Position and rotation vector (body frame) of each body.

    Returns
    -------
    ndarray of float, shape (k, 6 n)
    """
    out = np.zeros((len(dz), dz.shape[1] // at.TWIST, at.TWIST))
    given = twist.reshape(-1, at.TWIST)
    for i, matrix in _spatial(tables, tables.constant):
        Q = rotation.to_matrix(pose[i, 3:])
        d, theta = given[i, :3] @ Q, dz.reshape(out.shape)[:, i, 3:]
        _, b = _products(matrix, given[i, 3:], d)
        da, db = _products(matrix, np.zeros(3), np.cross(d, theta))
        out[:, i, :3] = (db + np.cross(theta, b)) @ Q.T
        out[:, i, 3:] = da
    return out.reshape(dz.shape)


def _spatial(tables: Tables, constant: Float) -> list[tuple[int, Float]]:
    """Bodies with an inertia of 6 x 6, and what of it is not about rotation alone."""
    plan = tables.plan
    count, first = int(plan[at.ADDED]), int(plan[at.ADDED_AT])
    records = plan[first : first + count * at.ADDED_FIELDS].reshape(count, at.ADDED_FIELDS)
    places = records[:, [at.ADDED_BODY, at.SPATIAL]].tolist()
    return [(body, constant[place : place + 36].reshape(6, 6)) for body, place in places]


def _products(matrix: Float, omega: Float, d: Float) -> tuple[Float, Float]:
    """M [omega; d] by its two parts, omega and d by rows."""
    both = omega @ matrix[:, :3].T + d @ matrix[:, 3:].T
    return both[..., :3], both[..., 3:]
