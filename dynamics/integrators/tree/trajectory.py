"""Trajectory of a tree: states over time, or the error of a step that failed."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics.errors import ConvergenceError, UnknownNameError
from dynamics.kernels.tree import layout

if TYPE_CHECKING:
    from dynamics.integrators.tree.integrator import TreeIntegrator

__all__ = ["TreeTrajectory", "not_solved", "singular"]

Float = NDArray[np.float64]
Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class TreeTrajectory:
    """States of a tree over N steps.

    Attributes
    ----------
    time : ndarray of float, shape (N + 1,)
        s.
    q : ndarray of float, shape (N + 1, n)
        Coordinates of the joints, rad or m.
    p : ndarray of float, shape (N + 1, n)
        Momenta of the joints as in the integrator, not projected onto the constraints.
    velocity : ndarray of float, shape (N + 1, n)
        dq/dt, projected onto the constraints.
    multipliers : ndarray of float, shape (N, s, m)
        Impulse of each constraint at the nodes 0..s - 1 of each step, N s.
    iterations : ndarray of int, shape (N,)
        Iterations of each step.
    joints : tuple of hashable
        Labels of the n columns.
    """

    time: Float
    q: Float
    p: Float
    velocity: Float
    multipliers: Float
    iterations: Int
    joints: tuple[Hashable, ...]

    def __repr__(self) -> str:
        return (
            f"TreeTrajectory({len(self.joints)} joints, {self.time.size} states, "
            f"{self.time[0]:.6g} s to {self.time[-1]:.6g} s)"
        )

    def joint(self, label: Hashable) -> tuple[Float, Float]:
        """Coordinate and velocity of one joint.

        Parameters
        ----------
        label : hashable
            The joint's, that of the body below it.

        Returns
        -------
        q, velocity : ndarray of float, shape (N + 1,)
        """
        if label not in self.joints:
            raise UnknownNameError(f"there is no joint {label!r} in this trajectory")
        column = self.joints.index(label)
        return self.q[:, column], self.velocity[:, column]


def not_solved(integrator: TreeIntegrator, step: int, status: int) -> ConvergenceError:
    """The sentence for a step that failed.

    Parameters
    ----------
    integrator : TreeIntegrator
        Its work holds the residuals.
    step : int
        The step's number.
    status : int
        What the kernel gave back.

    Returns
    -------
    ConvergenceError
    """
    n, s = len(integrator.joints), integrator.degree
    rest = np.abs(integrator.work.vectors[-1][: s * n]).reshape(s, n).max(axis=0)
    worst = int(np.argmax(np.where(np.isfinite(rest), rest, np.inf)))
    label = integrator.joints[worst]
    if status == layout.REDUNDANT:
        what = singular(integrator, status)
    elif status == layout.NOT_FINITE:
        what = "its numbers are no longer finite: take a smaller timestep or smaller forces"
    else:
        what = (
            f"residual {rest[worst]:.3g} at joint {label!r} after {integrator.method[1]} "
            f"iterations: take a smaller timestep"
        )
        if integrator.method[0]:
            what += ' or method="newton"'
    message = f"step {step} was not solved, {what}; the state before it is kept"
    return ConvergenceError(message, step, float(rest[worst]), label)


def singular(integrator: TreeIntegrator, status: int) -> str:
    """The sentence for a singular mass matrix or singular constraints.

    Parameters
    ----------
    integrator : TreeIntegrator
        Its work holds the pivots.
    status : int
        What the kernel gave back.

    Returns
    -------
    str
    """
    if status == layout.REDUNDANT:
        names = ", ".join(repr(name) for name in dict.fromkeys(integrator.tables.constraints))
        return f"constraints {names} are redundant here: leave out axes that joints hold already"
    pivots = integrator.work.arrays[2].reshape(len(integrator.joints), -1)[:, 42]
    label = integrator.joints[int(np.flatnonzero(~(pivots > 0.0))[-1])]
    return f"joint {label!r} moves no mass: give the bodies below it mass or inertia"
