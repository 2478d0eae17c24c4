"""Memory that the kernels of a tree work in, and the forces and wrenches they read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynamics.integrators.tree.tables import Tables
from dynamics.kernels.tree import constraints as tree_constraints
from dynamics.kernels.tree import layout
from dynamics.kernels.tree import newton as tree_newton
from dynamics.kernels.tree.momentum import INERTIAS

if TYPE_CHECKING:
    from dynamics.integrators.tree.integrator import TreeIntegrator

__all__ = ["Loads", "Work", "loads"]

Float = NDArray[np.float64]
Int = NDArray[np.int64]
#: Forces, wrenches and strides, as in `tree.layout`.
Loads = tuple[Float, Float, Int]

FRAMES = {"world": layout.WORLD_FRAME, "body": layout.BODY_FRAME}


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """Scratch of the kernels for n joints, degree s and m constraints.

    Attributes
    ----------
    arrays : tuple of ndarray
        motion, factor, inertias, z, columns, slopes, schur, rows: `tree_step.factorize_step`.
    vectors : tuple of ndarray
        step, gap, trial, nodes_q, r: `tree_step.simulate`.
    """

    arrays: tuple[Any, ...]
    vectors: tuple[Float, ...]

    @classmethod
    def of(cls, n: int, s: int, m: int) -> Work:
        """Allocate.

        Parameters
        ----------
        n, s, m : int
            Joints, degree of the rule, constraints.

        Returns
        -------
        Work
        """
        nodes = s + 1
        width = 6 * (2 * s + 1)
        arrays = (
            np.zeros(n * nodes * layout.RECORD),
            np.zeros(n * tree_newton.factor_stride(s)),
            np.zeros(n * INERTIAS),
            np.zeros(n * (width + 2 * s)),
            np.zeros(s * m * s * n),
            np.zeros(nodes * m * n),
            np.zeros((s * m) ** 2 + m),
            np.zeros(s * m, np.int64),
        )
        sizes = (s * n, s * m, s * n, nodes * n, nodes * n)
        return cls(arrays, tuple(np.zeros(size) for size in sizes))

    def with_motion(self, motion: Float) -> tuple[Any, ...]:
        """The arrays with another motion."""
        return (motion, *self.arrays[1:])

    def constraints(self, tables: Tables, q: Float, motion: Float) -> tuple[Float, Float]:
        """Values of the constraints and their slopes by q.

        Parameters
        ----------
        tables : Tables
        q : ndarray of float, shape (n,)
        motion : ndarray of float
            Of one node.

        Returns
        -------
        gaps : ndarray of float, shape (m,)
        slopes : ndarray of float, shape (m, n)
        """
        m = len(tables.constraints)
        gaps, slopes = np.empty(m), np.zeros((m, q.size))
        for c in range(m):
            gaps[c] = tree_constraints.constraint(tables.tree, tables.pins, c, 1, 0, q, motion)
            tree_constraints.add_slope(
                tables.tree, tables.pins, c, 1, 0, motion, 1.0, slopes.reshape(-1), c * q.size
            )
        return gaps, slopes


def loads(
    integrator: TreeIntegrator,
    forces: Float | None,
    wrenches: Float | None,
    frame: str,
    steps: int,
) -> Loads:
    """Forces of the actuated joints and wrenches, as the kernels read them.

    Parameters
    ----------
    integrator : TreeIntegrator
    forces, wrenches : ndarray of float or None
        As in `TreeIntegrator.simulate`.
    frame : str
        Of the wrenches.
    steps : int
        Horizon.

    Returns
    -------
    Loads

    Raises
    ------
    ValueError
        If a shape does not fit, or a number is not finite.
    """
    n, nodes = len(integrator.joints), integrator.degree + 1
    if frame not in FRAMES:
        raise ValueError(f"frame {frame!r} is none of {', '.join(FRAMES)}")
    columns = integrator.columns
    given = np.zeros(columns.size) if forces is None else forces
    strides_f = _strides(given, (columns.size,), "forces", steps, nodes)
    spread = np.zeros((*given.shape[:-1], n))
    spread[..., columns] = given
    strides_w, code = [0, 0], layout.NO_WRENCH
    if wrenches is not None:
        strides_w = _strides(wrenches, (n, 6), "wrenches", steps, nodes)
        code = FRAMES[frame]
    flat = np.zeros(0) if wrenches is None else np.array(wrenches, float).ravel()
    size_f, size_w = n, 6 * n
    stride = [strides_f[0] * size_f, strides_f[1] * size_f]
    stride += [strides_w[0] * size_w, strides_w[1] * size_w, code]
    return spread.ravel(), flat, np.array(stride, np.int64)


def _strides(x: Float, tail: tuple[int, ...], name: str, steps: int, nodes: int) -> list[int]:
    """Rows from step to step and from node to node."""
    if not np.isfinite(x).all():
        raise ValueError(f"{name} are not finite")
    lead = x.ndim - len(tail)
    wanted = f"{tail}, ({steps}, *{tail}) or ({steps}, {nodes}, *{tail})"
    if not 0 <= lead <= 2 or x.shape[lead:] != tail or (lead == 2 and x.shape[1] != nodes):
        raise ValueError(f"{name} have shape {x.shape}: give {wanted}")
    if lead and x.shape[0] != steps:
        word = "shorter" if x.shape[0] < steps else "longer"
        raise ValueError(
            f"{name} are {word} than the horizon: {x.shape[0]} steps are given, {steps} are taken"
        )
    if lead == 0:
        return [0, 0]
    return [1, 0] if lead == 1 else [nodes, 1]
