"""Plans with contacts that the optimizer chooses: checks, bounds, guess, rounds, and the answer."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.errors import ConvergenceError
from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.kernels.tree import layout
from dynamics.trajectory_optimization import ipopt
from dynamics.trajectory_optimization.ground import Ground
from dynamics.trajectory_optimization.points import Points, moved
from dynamics.trajectory_optimization.transcription import Contact, Transcription

__all__ = ["ContactPlan", "optimize"]

Float = NDArray[np.float64]

#: A start may lie beneath the ground by this, m.
TOUCHING = 1e-6
#: Rounds with a penalty ten times that of the last.
ROUNDS = 5


@dataclass(frozen=True, slots=True, eq=False)
class ContactPlan:
    """A motion, the forces that drive it and those of its contacts, at J + 1 control points.

    Attributes
    ----------
    time : ndarray of float, shape (J + 1,)
        Of the control points, s; J = s N.
    q : ndarray of float, shape (J + 1, n)
        Coordinates.
    forces : ndarray of float, shape (J + 1, n_u)
        Of the actuated joints; N m or N.
    contact_forces : ndarray of float, shape (J, C, 3)
        In the world's frame, N; none at the last control point.
    gaps : ndarray of float, shape (J + 1, C)
        Height of the contacts above the ground, m.
    cost : float
        Integral of the squares of the forces.
    complementarity : float
        Largest sum of products of one contact at one time: force (in weights) times gap (m), and
        friction times slip (m / s).
    defect : float
        Largest violation of a row: of motion in weights, else in m, m / s or weights.
    iterations : int
        Of all rounds.
    seconds, evaluation_seconds : float
        Of processor time: in all, and for the functions and their derivatives.
    size, rows : int
        Of the nonlinear program.
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

    def wrenches(self, integrator: TreeIntegrator, contacts: Sequence[Contact]) -> Float:
        """Contact forces as wrenches on the bodies, for `TreeIntegrator.simulate`.

        Parameters
        ----------
        integrator : TreeIntegrator
        contacts : sequence of Contact
            Those of the plan.

        Returns
        -------
        ndarray of float, shape (N, s + 1, n, 6)
            About the bodies' origins in the world's axes.
        """
        s, n = integrator.degree, len(integrator.joints)
        records = moved(integrator, self.q)
        points = Points(integrator, [(one.body, one.point) for one in contacts])
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


def optimize(
    integrator: TreeIntegrator,
    start: ArrayLike,
    goal: ArrayLike,
    steps: int,
    *,
    contacts: Sequence[Contact] = (),
    ground: Ground | None = None,
    obstacles: Ground | None = None,
    clear: Sequence[tuple[Hashable, ArrayLike]] = (),
    reach: Sequence[tuple[Hashable, ArrayLike, ArrayLike]] = (),
    start_velocity: ArrayLike | None = None,
    stop: bool = True,
    planar: bool = False,
    most_force: ArrayLike = np.inf,
    least_q: ArrayLike = -np.inf,
    most_q: ArrayLike = np.inf,
    q_guess: ArrayLike | None = None,
    effort: float = 1.0,
    speed_weight: float = 1e-3,
    penalty: float = 10.0,
    complementarity: float = 1e-5,
    tolerance: float = 1e-6,
    most_iterations: int = 1000,
    options: Mapping[str, Any] | None = None,
) -> ContactPlan:
    """Move a tree to a goal with contacts whose times and places the optimizer chooses.

    Parameters
    ----------
    integrator : TreeIntegrator
        Without constraints and drag; its actuated joints bear the forces.
    start : array_like, shape (n,)
        Coordinates at the start, above the ground.
    goal : array_like, shape (n,)
        Coordinates at the end; nan for those that are free.
    steps : int
        N.
    contacts : sequence of Contact
        Points that may touch the ground.
    ground : Ground, optional
        z = 0 by default.
    obstacles : Ground, optional
        What the points of `clear` stay above; the ground by default. A contact in `clear` too
        cannot use what the obstacles cover.
    clear : sequence of (hashable, array_like)
        Bodies and points in their frames that take no force.
    reach : sequence of (hashable, array_like, array_like)
        Bodies, points in their frames, and the places in the world where they are at the end.
    start_velocity : array_like, shape (n,), optional
        Rest by default.
    stop : bool
        Whether the tree is at rest at the end.
    planar : bool
        Whether all moves in the plane of x and z, so that friction has two sides.
    most_force : array_like, shape () or (n_u,)
        Bounds on the magnitudes of the forces.
    least_q, most_q : array_like, shape () or (n,)
        Limits of the joints.
    q_guess : array_like, shape (J + 1, n), optional
        The straight line by default, with free goals as at the start.
    effort, speed_weight : float
        Weights of the integrals of the squares of the forces over the weight W of the tree, and of
        the coordinates' rates.
    penalty : float
        Of what is left of complementarity, in the first round.
    complementarity : float
        Largest that may be left; the penalty grows tenfold until then.
    tolerance : float
        Of Ipopt.
    most_iterations : int
        Of Ipopt in each round.
    options : mapping, optional
        Of Ipopt, such as ``{"print_level": 5}``.

    Returns
    -------
    ContactPlan

    Raises
    ------
    ConvergenceError
        Where Ipopt finds no motion; the sentence names the row that is violated most.
    graphsys.MissingExtraError
        Where casadi is not installed.
    ValueError
        Where shapes do not fit, or the start lies beneath the ground or beyond limits.

    Notes
    -----
    A contact's impulse at a control point keeps the gap at the next one, as a time-stepping scheme
    does [1]_; friction dissipates most. Sums of complementary products are bounded by slacks that
    the cost penalizes. Equations of motion are those of the integrator [2]_: their Jacobian comes
    from Algorithms 2 and 3, their part of the Hessian from the derivatives of these.

    References
    ----------
    .. [1] Z. Manchester, S. Kuindersma, Variational contact-implicit trajectory optimization,
       ISRR 2017.
    .. [2] T. Fan, J. Schultz, T. Murphey, Efficient computation of higher-order variational
       integrators in robotic simulation and trajectory optimization, WAFR 2018.
    """
    if steps < 1:
        raise ValueError(f"steps is {steps}: a plan needs 1 or more")
    n, n_u = len(integrator.joints), integrator.columns.size
    floor = Ground() if ground is None else ground
    _check_tree(integrator)
    q_start = _vector(start, n, "start")
    q_goal = np.array(goal, float)
    if q_goal.shape != (n,):
        raise ValueError(f"goal has shape {q_goal.shape}, the tree's is ({n},)")
    rates = np.zeros(n) if start_velocity is None else _vector(start_velocity, n, "start_velocity")
    low, high = (np.broadcast_to(np.asarray(x, float), (n,)) for x in (least_q, most_q))
    limit = np.broadcast_to(np.asarray(most_force, float), (n_u,))
    _check_limits(integrator, q_start, q_goal, low, high)
    weight = _weight(integrator)
    made = Transcription(
        integrator, steps, contacts, floor, floor if obstacles is None else obstacles, clear, reach,
        planar, integrator.momentum(q_start, rates), np.zeros(n),
        np.where(np.isfinite(limit), limit, weight), effort, speed_weight, penalty,
    )  # fmt: skip
    _check_start(made, q_start)
    if q_guess is None:
        way = made.time[:, None] / made.time[-1]
        guess = q_start + way * (np.where(np.isnan(q_goal), q_start, q_goal) - q_start)
    else:
        guess = np.array(q_guess, float)
        if guess.shape != (made.points + 1, n) or not np.isfinite(guess).all():
            raise ValueError(
                f"q_guess has shape {guess.shape}, this plan's is ({made.points + 1}, {n}), finite"
            )
    z = _first(made, guess)
    bounds = _bounds(made, q_start, q_goal, low, high, limit)
    rows = np.zeros(made.rows), np.zeros(made.rows)
    rows[0][made.pair_rows] = -np.inf
    rows[1][made.clear_rows] = np.inf
    if not stop:
        rows[0][made.motion_rows[-1]], rows[1][made.motion_rows[-1]] = -np.inf, np.inf
    settings: dict[str, Any] = {
        "print_level": 0, "sb": "yes", "tol": tolerance, "max_iter": most_iterations,
    }  # fmt: skip
    settings |= dict(options or {})
    answer, iterations, spent, within = None, 0, 0.0, 0.0
    for turn in range(ROUNDS):
        made.penalty = penalty * 10.0**turn
        if answer is not None:
            settings |= {"mu_init": 1e-4, "warm_start_init_point": "yes"}
        answer = ipopt.minimize(made, z, bounds, rows, settings, answer)
        iterations += answer.iterations
        spent, within = spent + answer.seconds, within + answer.evaluation_seconds
        z = answer.z
        left = float(z[made.at.slack].max(initial=0.0))
        if left <= complementarity or not answer.success:
            break
    assert answer is not None
    values = made.constraints(z)
    gaps = np.maximum(rows[0] - values, values - rows[1])
    worst = int(np.argmax(gaps)) if gaps.size else 0
    if not answer.success or left > complementarity:
        raise ConvergenceError(
            f"no motion was found, Ipopt: {answer.status} after {iterations} iterations; violated "
            f"most: {_label(made, worst)} by {gaps[worst]:.3g}, complementarity {left:.3g}: give "
            f"q_guess, more time, more force or more iterations",
            iterations,
            float(gaps[worst]),
        )
    return _plan(made, z, float(gaps[worst]), iterations, spent, within)


def _plan(
    made: Transcription, z: Float, defect: float, iterations: int, spent: float, within: float
) -> ContactPlan:
    """The answer in SI units."""
    q = z[made.at.q]
    x = made.bodies.positions(moved(made.integrator, q))[:, : len(made.contacts)]
    u = z[made.at.u] * made.force_unit
    return ContactPlan(
        made.time, q, u, made.forces(z), x[..., 2] - made.ground.height(x[..., 0])[0],
        float(made.tau @ (u * u).sum(axis=1)), float(z[made.at.slack].max(initial=0.0)),
        defect, iterations, spent, within, made.size, made.rows,
    )  # fmt: skip


def _weight(integrator: TreeIntegrator) -> float:
    """m g, or m without gravity."""
    body = integrator.tables.tree[1].reshape(len(integrator.joints), -1)
    return float(body[:, layout.MASS].sum() * (np.linalg.norm(integrator.tables.tree[2]) or 1.0))


def _first(made: Transcription, guess: Float) -> Float:
    """Variables of a motion: the weight on all contacts, and a little of everything else."""
    z, at = np.full(made.size, 0.01), made.at
    z[at.q], z[at.u] = guess, 0.0
    z[at.normal] = 1.0 / max(1, len(made.contacts))
    x = made.bodies.positions(moved(made.integrator, guess))[:, : len(made.contacts)]
    height = x[..., 2] - made.ground.height(x[..., 0])[0]
    z[at.gap] = np.maximum(height[1:], 0.01)
    z[at.spare] = made.friction * z[at.normal]
    return z


def _bounds(
    made: Transcription, start: Float, goal: Float, low: Float, high: Float, limit: Float
) -> tuple[Float, Float]:
    """Bounds of the variables."""
    at = made.at
    least, most = np.full(made.size, -np.inf), np.full(made.size, np.inf)
    for one in (at.normal, at.sides, at.speed, at.gap, at.slip, at.spare, at.slack):
        least[one] = 0.0
    held = [c for c, one in enumerate(made.contacts) if one.sticking]
    for one in (at.speed, at.gap, at.slip, at.slack):
        most[one[:, held]] = 0.0
    least[at.q[1:]], most[at.q[1:]] = low, high
    least[at.q[0]] = most[at.q[0]] = start
    given = np.flatnonzero(np.isfinite(goal))
    least[at.q[-1, given]] = most[at.q[-1, given]] = goal[given]
    bound = np.where(np.isfinite(limit), 1.0, np.inf)
    least[at.u], most[at.u] = -bound, bound
    return least, most


def _vector(value: ArrayLike, n: int, name: str) -> Float:
    """A finite number for each joint."""
    found = np.array(value, float)
    if found.shape != (n,) or not np.isfinite(found).all():
        raise ValueError(f"{name} has shape {found.shape}, it must be ({n},) and finite")
    return found


def _check_tree(integrator: TreeIntegrator) -> None:
    """Refuse constraints and drag."""
    if integrator.tables.constraints:
        raise ValueError(
            f"the tree has constraints ({integrator.tables.constraints[0]!r}): contacts replace "
            f"pins here"
        )
    body = integrator.tables.tree[1].reshape(len(integrator.joints), -1)
    dragged = np.flatnonzero((body[:, layout.DRAGGED] != 0.0) | (body[:, layout.AREA] != 0.0))
    if dragged.size:
        raise ValueError(f"body {integrator.joints[dragged[0]]!r} has drag: leave it out here")


def _check_limits(
    integrator: TreeIntegrator, start: Float, goal: Float, low: Float, high: Float
) -> None:
    """Refuse ends beyond the limits of joints."""
    for i, label in enumerate(integrator.joints):
        if low[i] > high[i]:
            raise ValueError(f"limits of joint {label!r} are empty: {low[i]} to {high[i]}")
        for name, value in (("start", start[i]), ("goal", goal[i])):
            if value < low[i] or value > high[i]:
                raise ValueError(
                    f"{name} of joint {label!r} is {value:.6g}, beyond its limits {low[i]:.6g} to "
                    f"{high[i]:.6g}"
                )


def _check_start(made: Transcription, start: Float) -> None:
    """Refuse points beneath the ground at the start."""
    x = made.bodies.positions(moved(made.integrator, start[None]))[0]
    heights = [p[2] - ground.height(p[0])[0] for p, ground in zip(x, made.grounds)]
    bodies = [one.body for one in made.contacts] + [body for body, _ in made.clear]
    for body, place, height in zip(bodies, x, heights):
        if height < -TOUCHING:
            raise ValueError(
                f"a point of body {body!r} starts {-height:.3g} m beneath the ground (at "
                f"x = {place[0]:.3g} m, z = {place[2]:.3g} m): raise the start"
            )


def _label(made: Transcription, row: int) -> str:
    """What a row says, and when."""
    time = made.time
    k, i = divmod(row, made.n)
    if row < made.motion_rows.size:
        return f"motion of joint {made.integrator.joints[i]!r} at {time[k]:.3g} s"
    free = [int(c) for c in made.free]
    every = list(range(len(made.contacts)))
    groups = (
        ("gap", made.gap_rows, free),
        ("slip", made.slip_rows, free),
        ("friction cone", made.cone_rows, every),
        ("complementarity", made.pair_rows, free),
    )
    for name, numbers, which in groups:
        if numbers.size and numbers.min() <= row <= numbers.max():
            place = np.argwhere(numbers == row)[0]
            body = made.contacts[which[place[1]]].body
            return f"{name} of the contact of {body!r} at {time[place[0]]:.3g} s"
    if made.clear_rows.size and row <= made.clear_rows.max():
        place = np.argwhere(made.clear_rows == row)[0]
        return f"height of a point of {made.clear[place[1]][0]!r} at {time[place[0] + 1]:.3g} s"
    place = np.argwhere(made.reach_rows == row)[0]
    return f"place of a point of {made.reach[place[0]][0]!r} at the end"
