"""Trajectory optimization of a tree: states and forces at the steps' ends, exact derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, minimize

from dynamics.errors import ConvergenceError
from dynamics.integrators.tree_integrator import TreeIntegrator
from dynamics.integrators.tree_linearization import linearize

__all__ = ["TreePlan", "plan"]

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class TreePlan:
    """A motion from a start to a goal and the forces that drive it.

    Attributes
    ----------
    time : ndarray of float, shape (N + 1,)
        s.
    q, p : ndarray of float, shape (N + 1, n)
        Coordinates and momenta.
    forces : ndarray of float, shape (N + 1, n_u)
        Of the actuated joints, linear in between; N m or N.
    cost : float
        Integral of the squares of the forces.
    defect : float
        Largest gap between a step's end and the next step's start.
    iterations : int
        Of the optimizer.
    """

    time: Float
    q: Float
    p: Float
    forces: Float
    cost: float
    defect: float
    iterations: int


class _Shooting:
    """Gaps x_{k+1} - f(x_k, u_k, u_{k+1}) over variables x_1..x_{N-1}, u_0..u_N, x = [q, p]."""

    def __init__(self, integrator: TreeIntegrator, start: Float, goal: Float, steps: int) -> None:
        self.integrator, self.start, self.goal, self.steps = integrator, start, goal, steps
        self.n = len(integrator.joints)
        self.inner = 2 * self.n * (steps - 1)
        self.at = np.empty(0)
        self.gaps, self.slopes = np.empty(0), np.empty((0, 0))

    def split(self, z: Float) -> tuple[Float, Float]:
        """States (N + 1, 2 n) and forces (N + 1, n_u)."""
        inner = z[: self.inner].reshape(-1, 2 * self.n)
        forces = z[self.inner :].reshape(self.steps + 1, -1)
        return np.vstack([self.start, inner, self.goal]), forces

    def evaluate(self, z: Float) -> None:
        """Gaps and their Jacobian, once for each z."""
        if np.array_equal(z, self.at):
            return
        x, u = self.split(z)
        place = self.integrator.rule.place[:, None]
        between = (1.0 - place) * u[:-1, None] + place * u[1:, None]
        n, width = self.n, 2 * self.n
        found = linearize(self.integrator, x[:-1, :n], x[:-1, n:], between)
        self.gaps = (x[1:] - np.hstack([found.q, found.p])).ravel()
        self.slopes = np.zeros((self.gaps.size, z.size))
        weights = self.integrator.rule.place
        first = np.tensordot(1.0 - weights, found.B, ([0], [1]))
        second = np.tensordot(weights, found.B, ([0], [1]))
        n_u = u.shape[1]
        for k in range(self.steps):
            rows = slice(k * width, (k + 1) * width)
            if k > 0:
                self.slopes[rows, (k - 1) * width : k * width] = -found.A[k]
            if k < self.steps - 1:
                self.slopes[rows, rows] = np.eye(width)
            at = self.inner + k * n_u
            self.slopes[rows, at : at + n_u] -= first[k]
            self.slopes[rows, at + n_u : at + 2 * n_u] -= second[k]
        self.at = z.copy()

    def value(self, z: Float) -> Float:
        """Gaps."""
        self.evaluate(z)
        return self.gaps

    def slope(self, z: Float) -> Float:
        """Their Jacobian."""
        self.evaluate(z)
        return self.slopes

    def cost(self, z: Float) -> tuple[float, Float]:
        """Integral of |u|^2 for u linear between the steps, and its gradient."""
        u = self.split(z)[1]
        h = self.integrator.timestep
        a, b = u[:-1], u[1:]
        gradient = np.zeros(z.size)
        rows = gradient[self.inner :].reshape(u.shape)
        rows[:-1] += h / 3.0 * (2.0 * a + b)
        rows[1:] += h / 3.0 * (2.0 * b + a)
        return float(h / 3.0 * (a * a + a * b + b * b).sum()), gradient


def plan(
    integrator: TreeIntegrator,
    start: ArrayLike,
    goal: ArrayLike,
    steps: int,
    *,
    q_guess: ArrayLike | None = None,
    most_force: float = np.inf,
    least_q: ArrayLike = -np.inf,
    most_q: ArrayLike = np.inf,
    tolerance: float = 1e-8,
    most_iterations: int = 500,
) -> TreePlan:
    """Move a tree from rest to rest with the least integral of squared forces.

    Parameters
    ----------
    integrator : TreeIntegrator
        Its actuated joints bear the forces.
    start, goal : array_like, shape (n,)
        Coordinates at rest.
    steps : int
        N, at least 2.
    q_guess : array_like, shape (N + 1, n), optional
        The straight line by default.
    most_force : float
        Bound on the magnitude of each force.
    least_q, most_q : array_like, shape () or (n,)
        Bounds on the coordinates.
    tolerance : float
        Of the optimizer.
    most_iterations : int
        Of the optimizer.

    Returns
    -------
    TreePlan

    Raises
    ------
    ConvergenceError
        Where the optimizer finds no motion.

    Notes
    -----
    Multiple shooting with the derivatives of `linearize`, solved by sequential quadratic
    programming (SLSQP). No contacts.
    """
    n, n_u = len(integrator.joints), integrator.columns.size
    if steps < 2:
        raise ValueError(f"steps is {steps}: a plan needs 2 or more")
    if n_u == 0:
        raise ValueError("the integrator has no actuated joint: name one in `actuated`")
    ends = np.array([np.asarray(start, float), np.asarray(goal, float)])
    if ends.shape != (2, n):
        raise ValueError(f"start and goal must have shape ({n},)")
    way = np.linspace(0.0, 1.0, steps + 1)[:, None]
    guess = ends[0] + way * (ends[1] - ends[0]) if q_guess is None else np.asarray(q_guess, float)
    if guess.shape != (steps + 1, n):
        raise ValueError(f"q_guess has shape {guess.shape}, this plan's is ({steps + 1}, {n})")
    rates = np.gradient(guess, integrator.timestep, axis=0)
    momenta = np.array([integrator.momentum(q, v) for q, v in zip(guess, rates)])
    rest = np.hstack([ends, np.zeros((2, n))])
    shooting = _Shooting(integrator, rest[0], rest[1], steps)
    z = np.concatenate([np.hstack([guess, momenta])[1:-1].ravel(), np.zeros((steps + 1) * n_u)])
    low, high = np.full(z.size, -np.inf), np.full(z.size, np.inf)
    for bound, value in ((low, least_q), (high, most_q)):
        bound[: shooting.inner].reshape(-1, 2 * n)[:, :n] = value
    low[shooting.inner :], high[shooting.inner :] = -most_force, most_force
    found = minimize(
        shooting.cost, z, jac=True, method="SLSQP", bounds=Bounds(low, high),
        constraints={"type": "eq", "fun": shooting.value, "jac": shooting.slope},
        options={"maxiter": most_iterations, "ftol": tolerance},
    )  # fmt: skip
    defect = float(np.abs(shooting.value(found.x)).max())
    if not found.success:
        raise ConvergenceError(
            f"no motion was found, {found.message} (largest gap {defect:.3g} after {found.nit} "
            f"iterations): give q_guess, more time or more force",
            found.nit,
            defect,
        )
    x, u = shooting.split(found.x)
    time: Float = integrator.timestep * np.arange(steps + 1, dtype=float)
    return TreePlan(time, x[:, :n], x[:, n:], u, float(found.fun), defect, int(found.nit))
