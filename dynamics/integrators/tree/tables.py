"""Flat tables of a described tree, as the kernels read them (`dynamics.kernels.tree.layout`)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics.integrators.tree.description import WORLD, Tree
from dynamics.kernels.tree import layout

__all__ = ["Tables", "tables"]

Float = NDArray[np.float64]
Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """A tree in numbers: n joints, m rows of constraints.

    Attributes
    ----------
    joints : tuple of hashable
        Labels, parents before children; joint i is the one above body i.
    tree : tuple of ndarray
        parent (n,), body (n * BODY,), gravity (3,).
    pins : tuple of ndarray
        kind (m,), ends (2 m,), numbers (m * PIN,).
    constraints : tuple of hashable
        Label of each row, m.
    """

    joints: tuple[Hashable, ...]
    tree: tuple[Int, Float, Float]
    pins: tuple[Int, Int, Float]
    constraints: tuple[Hashable, ...]


def tables(tree: Tree) -> Tables:
    """Number the joints of a tree and pack its bodies and constraints.

    Parameters
    ----------
    tree : Tree
        It may be changed afterwards: what is packed is a copy.

    Returns
    -------
    Tables
        Read-only arrays.

    Raises
    ------
    ValueError
        If a body has no joint.
    """
    joints = tree.order()
    index = {label: i for i, label in enumerate(joints)} | {WORLD: -1}
    body = np.zeros((len(joints), layout.BODY))
    for label, row in zip(joints, body):
        rigid, joint = tree.bodies[label], tree.joints[label]
        _put(row, layout.TWIST, joint.twist)
        _put(row, layout.HOME_ROTATION, joint.rotation)
        _put(row, layout.HOME_ORIGIN, joint.position)
        _put(row, layout.INERTIA, rigid.inertia)
        _put(row, layout.CENTER, rigid.center)
        _put(row, layout.DRAG, rigid.drag)
        row[layout.MASS] = rigid.mass
        row[layout.DRAGGED] = float(rigid.drag.any())
        row[layout.AREA] = rigid.drag_area
        row[layout.STIFFNESS] = joint.stiffness
        row[layout.REST] = joint.rest
        row[layout.DAMPING] = joint.damping
    kinds = {"pin": layout.AT_POINT, "coupling": layout.COUPLING}
    rows = tree.constraints
    kind = np.array([kinds[word] for _, word, _, _ in rows], np.int64)
    ends = np.array([index[label] for _, _, pair, _ in rows for label in pair], np.int64)
    pin = np.array([numbers for *_, numbers in rows], float).ravel()
    parent = np.array([index[tree.joints[label].parent] for label in joints], np.int64)
    gravity = np.array(tree.gravity, float)
    arrays = (parent, body.ravel(), gravity, kind, ends, pin)
    for array in arrays:
        array.flags.writeable = False
    return Tables(tuple(joints), arrays[:3], arrays[3:], tuple(name for name, *_ in rows))


def _put(row: Float, at: int, value: Float) -> None:
    """row[at:...] = value, row-major."""
    row[at : at + value.size] = value.ravel()
