"""Plan of a motion with contacts: states, forces, and how it was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.integrators.tree.linearization import evaluate
from dynamics.kernels.tree import layout
from dynamics.trajectory_optimization.ground import Ground
from dynamics.trajectory_optimization.points import Points, moved
from dynamics.trajectory_optimization.variables import Contact

__all__ = ["ContactPlan"]

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ContactPlan:
    """A motion, its forces and its contact forces, at J + 1 control points.

    Attributes
    ----------
    time : ndarray of float, shape (J + 1,)
        Times of the control points, s; J = s N.
    q : ndarray of float, shape (J + 1, n)
        Coordinates.
    forces : ndarray of float, shape (J + 1, n_u)
        Forces of the actuated joints; N m or N.
    contact_forces : ndarray of float, shape (J, C, 3)
        World axes, N; none at the last control point.
    gaps : ndarray of float, shape (J + 1, C)
        Height of the contacts above the ground, m.
    cost : float
        Integral of the squares of the forces.
    complementarity : float
        Largest sum of products of one contact at one time: force (in weights) times gap (m), and
        friction times slip (m / s).
    defect : float
        Largest violation of a row: weights for rows of motion, m, m / s or weights for others.
    iterations : int
        Iterations of all rounds.
    seconds, evaluation_seconds : float
        CPU time in all, and of the functions and their derivatives, s.
    size, rows : int
        Numbers of variables and rows of the nonlinear program.
    """

    time: Float
    q: Float
    forces: Float
    contact_forces: Float
    gaps: Float
    cost: float
    complementarity: float
    defect: float
    iterations: int
    seconds: float
    evaluation_seconds: float
    size: int
    rows: int

    def __repr__(self) -> str:
        return (
            f"ContactPlan({self.time.size} control points to {self.time[-1]:.6g} s, "
            f"{self.gaps.shape[1]} contacts, cost {self.cost:.4g}, defect {self.defect:.1e}, "
            f"{self.iterations} iterations)"
        )

    def save(self, path: str | Path) -> None:
        """Write the plan to a file.

        Parameters
        ----------
        path : str or Path
            As of `numpy.savez`.
        """
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        np.savez_compressed(path, **values)

    @classmethod
    def load(cls, path: str | Path) -> ContactPlan:
        """Read a plan.

        Parameters
        ----------
        path : str or Path
            From `save`.

        Returns
        -------
        ContactPlan
        """
        with np.load(path) as file:
            values = {name: file[name] for name in file.files}
        return cls(**{name: x if x.ndim else x.item() for name, x in values.items()})

    def residual(
        self,
        integrator: TreeIntegrator,
        contacts: Sequence[Contact],
        start_velocity: ArrayLike | None = None,
    ) -> Float:
        """Residuals of the equations of motion, evaluated step by step without the optimizer.

        Parameters
        ----------
        integrator : TreeIntegrator
            That of the plan.
        contacts : sequence of Contact
            Those of the plan.
        start_velocity : array_like, shape (n,), optional
            Rest by default.

        Returns
        -------
        ndarray of float, shape (N, s, n)
            N s or N m s.
        """
        s = integrator.degree
        wrenches, motors = self.wrenches(integrator, contacts), self.nodes(self.forces, s)
        rates = np.zeros(self.q.shape[1]) if start_velocity is None else start_velocity
        p, found = integrator.momentum(self.q[0], rates), []
        for q, u, w in zip(self.nodes(self.q, s), motors, wrenches):
            rest, p = evaluate(integrator, q, p, u, w)
            found.append(rest)
        return np.array(found)

    def wrenches(self, integrator: TreeIntegrator, contacts: Sequence[Contact]) -> Float:
        """Contact forces as wrenches on the bodies, for `TreeIntegrator.simulate`.

        Parameters
        ----------
        integrator : TreeIntegrator
            That of the plan.
        contacts : sequence of Contact
            Those of the plan.

        Returns
        -------
        ndarray of float, shape (N, s + 1, n, 6)
            About the bodies' origins in the world's axes.
        """
        s, n = integrator.degree, len(integrator.joints)
        records = moved(integrator, self.q)
        places = [(one.body, one.point) for one in contacts]
        points = Points(integrator, places, [Ground()] * len(places))
        x = points.positions(records)
        found = np.zeros((len(self.q), n, 6))
        for c, i in enumerate(points.body):
            arm = x[:-1, c] - records[:-1, i, layout.ORIGIN : layout.ORIGIN + 3]
            force = self.contact_forces[:, c]
            found[:-1, i] += np.hstack([np.cross(arm, force), force])
        return self.nodes(found, s)

    def nodes(self, values: ArrayLike, s: int) -> Float:
        """Values at control points by steps and their nodes.

        Parameters
        ----------
        values : array_like, shape (J + 1, ...)
            Such as `forces`.
        s : int
            Degree of the integrator's rule.

        Returns
        -------
        ndarray of float, shape (N, s + 1, ...)
        """
        given = np.asarray(values, float)
        found: Float = given[s * np.arange((len(given) - 1) // s)[:, None] + np.arange(s + 1)]
        return found
