"""Trajectory optimization of a tree: states and forces at the steps' ends, exact derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import block_diag, null_space
from scipy.optimize import Bounds, minimize

from dynamics.errors import ConvergenceError
from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.integrators.tree.linearization import linearize

__all__ = ["TreePlan", "plan"]

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class TreePlan:
    """A motion from a start to a goal, and its forces.

    Attributes
    ----------
    time : ndarray of float, shape (N + 1,)
        s.
    q, p : ndarray of float, shape (N + 1, n)
        Coordinates and momenta.
    forces : ndarray of float, shape (N + 1, n_u)
        Forces of the actuated joints, linear between the times; N m or N.
    cost : float
        Integral of the squares of the forces.
    defect : float
        Largest difference between the end of a step and the start of the next.
    iterations : int
        Iterations of the optimizer.
    """

    time: Float
    q: Float
    p: Float
    forces: Float
    cost: float
    defect: float
    iterations: int

    def __repr__(self) -> str:
        return (
            f"TreePlan({self.time.size - 1} steps to {self.time[-1]:.6g} s, cost {self.cost:.4g}, "
            f"defect {self.defect:.1e}, {self.iterations} iterations)"
        )


#: Gap that stands for a step that cannot be solved.
HUGE = 1e6


class _Shot(NamedTuple):
    """Steps of one integrator between two states that are variables."""

    integrator: TreeIntegrator
    first: int
    steps: int


class _Shooting:
    """Gaps between shots, over variables x = [q, p] at their ends but the last, and u_0..u_N.

    The last gap is taken along the null space of the constraints there: the others q keeps, and
    what p has across is impulses of constraints. A phase begins where its constraints hold.
    """

    def __init__(self, shots: list[_Shot], start: Float, goal: Float) -> None:
        self.shots, self.start, self.goal = shots, start, goal
        last = shots[-1].integrator
        self.n, self.width = goal.size, 2 * goal.size
        self.steps = shots[-1].first + shots[-1].steps
        self.timestep = last.timestep
        across = last.work.constraints(last.tables, goal, last.motion(goal, 0.0 * goal))[1]
        along = null_space(across).T if across.size else np.eye(self.n)
        self.along = block_diag(along, along)
        self.inner = self.width * (len(shots) - 1)
        self.at = np.empty(0)
        self.gaps, self.slopes = np.empty(0), np.empty((0, 0))

    def split(self, z: Float) -> tuple[Float, Float]:
        """States (shots + 1, 2 n) and forces (N + 1, n_u)."""
        inner = z[: self.inner].reshape(-1, self.width)
        forces = z[self.inner :].reshape(self.steps + 1, -1)
        return np.vstack([self.start, inner, np.concatenate([self.goal, 0.0 * self.goal])]), forces

    def shoot(self, shot: _Shot, x: Float, u: Float) -> tuple[Float, Float, Float]:
        """States after every step of a shot, and the slopes of the last by x and by the forces."""
        place = shot.integrator.rule.place
        n, n_u = self.n, u.shape[1]
        states, by_state = [], np.eye(self.width)
        by_force = np.zeros((self.width, u.size))
        for k in range(shot.first, shot.first + shot.steps):
            between = (1.0 - place)[:, None] * u[k] + place[:, None] * u[k + 1]
            found = linearize(shot.integrator, x[None, :n], x[None, n:], between[None])
            A, B = found.A[0], found.B[0]
            by_state, by_force = A @ by_state, A @ by_force
            by_force[:, k * n_u : (k + 1) * n_u] += np.tensordot(1.0 - place, B, 1)
            by_force[:, (k + 1) * n_u : (k + 2) * n_u] += np.tensordot(place, B, 1)
            x = np.concatenate([found.q[0], found.p[0]])
            states.append(x)
        return np.array(states), by_state, by_force

    def evaluate(self, z: Float) -> None:
        """Gaps and their Jacobian, once for each z."""
        if np.array_equal(z, self.at):
            return
        x, u = self.split(z)
        gaps, slopes = [], []
        for k, shot in enumerate(self.shots):
            states, by_state, by_force = self.shoot(shot, x[k], u)
            gap, rows = x[k + 1] - states[-1], np.zeros((self.width, z.size))
            columns = slice((k - 1) * self.width, k * self.width)
            if k > 0:
                rows[:, columns] = -by_state
            rows[:, self.inner :] = -by_force
            if k < len(self.shots) - 1:
                rows[:, k * self.width : (k + 1) * self.width] = np.eye(self.width)
            else:
                gap, rows = self.along @ gap, self.along @ rows
            gaps.append(gap)
            slopes.append(rows)
            if k > 0 and shot.integrator is not self.shots[k - 1].integrator:
                made, q = shot.integrator, x[k, : self.n]
                values, Dh = made.work.constraints(made.tables, q, made.motion(q, np.zeros(self.n)))
                gaps.append(values)
                rows = np.zeros((values.size, z.size))
                rows[:, columns.start : columns.start + self.n] = Dh
                slopes.append(rows)
        self.gaps, self.slopes = np.concatenate(gaps), np.vstack(slopes)
        self.at = z.copy()

    def value(self, z: Float) -> Float:
        """Gaps; huge where a step cannot be solved, so that the optimizer turns back."""
        try:
            self.evaluate(z)
        except (ConvergenceError, ValueError):
            if self.gaps.size == 0:
                raise
            return np.full(self.gaps.size, HUGE)
        return self.gaps

    def slope(self, z: Float) -> Float:
        """Their Jacobian."""
        self.evaluate(z)
        return self.slopes

    def cost(self, z: Float) -> tuple[float, Float]:
        """Integral of |u|^2 for u linear between the steps, and its gradient."""
        u = self.split(z)[1]
        h = self.timestep
        a, b = u[:-1], u[1:]
        gradient = np.zeros(z.size)
        rows = gradient[self.inner :].reshape(u.shape)
        rows[:-1] += h / 3.0 * (2.0 * a + b)
        rows[1:] += h / 3.0 * (2.0 * b + a)
        return float(h / 3.0 * (a * a + a * b + b * b).sum()), gradient

    def states(self, z: Float) -> Float:
        """States at all steps' ends, (N + 1, 2 n)."""
        x, u = self.split(z)
        return np.vstack(
            [self.start, *(self.shoot(s, x[k], u)[0] for k, s in enumerate(self.shots))]
        )


def plan(
    integrator: TreeIntegrator | Sequence[TreeIntegrator],
    start: ArrayLike,
    goal: ArrayLike,
    steps: int | Sequence[int],
    *,
    shot: int = 1,
    q_guess: ArrayLike | None = None,
    most_force: float = np.inf,
    least_q: ArrayLike = -np.inf,
    most_q: ArrayLike = np.inf,
    tolerance: float = 1e-8,
    most_iterations: int = 500,
) -> TreePlan:
    """Optimize a motion of a tree from rest to rest: least integral of squared forces.

    Parameters
    ----------
    integrator : TreeIntegrator or sequence of TreeIntegrator
        Its actuated joints have the forces. Several integrators are used one after another, each
        with its own pins: a schedule of contacts. A new pin acts as an impact without rebound.
    start, goal : array_like, shape (n,)
        Coordinates at rest.
    steps : int or sequence of int
        N, at least 2; for several integrators one number each.
    shot : int
        Steps between two states that are variables of the optimizer. 1 converges from the poorest
        guesses; more steps give fewer variables.
    q_guess : array_like, shape (N + 1, n), optional
        Initial guess; by default the straight line.
    most_force : float
        Bound on the magnitude of each force.
    least_q, most_q : array_like, shape () or (n,)
        Bounds on the coordinates of these states.
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
        If the optimizer finds no motion.
    InconsistentStateError
        If the start does not satisfy the first constraints, or the goal the last.
    ValueError
        If numbers and shapes do not fit, or integrators differ in joints or time step.

    Notes
    -----
    Multiple shooting with the derivatives of `linearize`, solved by sequential quadratic
    programming (SLSQP). Momenta are not projected, so a momentum before a pin acts is also valid
    after it.
    """
    phases = [integrator] if isinstance(integrator, TreeIntegrator) else list(integrator)
    counts = [int(k) for k in np.atleast_1d(np.asarray(steps))]
    _check(phases, counts, shot)
    first, last, total = phases[0], phases[-1], sum(counts)
    n, n_u = len(first.joints), first.columns.size
    ends = np.array([np.asarray(start, float), np.asarray(goal, float)])
    if ends.shape != (2, n):
        raise ValueError(f"start and goal must have shape ({n},)")
    first.check(ends[0], np.zeros(n))
    last.check(ends[1], np.zeros(n))
    way = np.linspace(0.0, 1.0, total + 1)[:, None]
    guess = ends[0] + way * (ends[1] - ends[0]) if q_guess is None else np.asarray(q_guess, float)
    if guess.shape != (total + 1, n):
        raise ValueError(f"q_guess has shape {guess.shape}, this plan's is ({total + 1}, {n})")
    rates = np.gradient(guess, first.timestep, axis=0)
    momenta = np.array([first.momentum(q, v) for q, v in zip(guess, rates)])
    shots = [
        _Shot(phase, sum(counts[:k]) + j, min(shot, count - j))
        for k, (phase, count) in enumerate(zip(phases, counts))
        for j in range(0, count, shot)
    ]
    shooting = _Shooting(shots, np.concatenate([ends[0], np.zeros(n)]), ends[1])
    inner = [np.hstack([guess[s.first], momenta[s.first]]) for s in shots[1:]]
    z = np.concatenate([*inner, np.zeros((total + 1) * n_u)])
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
    x, u = shooting.states(found.x), shooting.split(found.x)[1]
    time: Float = first.timestep * np.arange(total + 1, dtype=float)
    return TreePlan(time, x[:, :n], x[:, n:], u, float(found.fun), defect, int(found.nit))


def _check(phases: list[TreeIntegrator], counts: list[int], shot: int) -> None:
    """Refuse phases that do not follow each other."""
    if len(phases) != len(counts):
        raise ValueError(f"there are {len(phases)} integrators and steps for {len(counts)}")
    if min(counts) < 1 or sum(counts) < 2:
        raise ValueError(f"steps is {counts}: a plan needs 2 or more, a phase 1 or more")
    if shot < 1:
        raise ValueError(f"shot is {shot}: it must be 1 or more")
    if phases[0].columns.size == 0:
        raise ValueError("the integrator has no actuated joint: name one in `actuated`")
    for made in phases:
        same = (made.joints, made.timestep, made.columns.tolist())
        if same != (phases[0].joints, phases[0].timestep, phases[0].columns.tolist()):
            raise ValueError("integrators of phases differ in joints, actuated joints or time step")
