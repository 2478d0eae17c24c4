"""Optimization of a motion with contacts: bounds, guess, rounds of Ipopt, and the answer."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.errors import ConvergenceError
from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.trajectory_optimization import ipopt
from dynamics.trajectory_optimization.checks import (
    check_limits,
    check_start,
    check_tree,
    row_label,
    vector,
)
from dynamics.trajectory_optimization.ground import Ground
from dynamics.trajectory_optimization.plan import ContactPlan
from dynamics.trajectory_optimization.transcription import Task, Transcription
from dynamics.trajectory_optimization.variables import Contact, grid

__all__ = ["optimize"]

Float = NDArray[np.float64]

#: Rounds with a penalty ten times that of the last.
ROUNDS = 5


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
    """Contact-implicit trajectory optimization of a tree, from a start to a goal.

    Parameters
    ----------
    integrator : TreeIntegrator
        Integrator without constraints and drag; its actuated joints have the forces.
    start : array_like, shape (n,)
        Coordinates at the start, above the ground.
    goal : array_like, shape (n,)
        Coordinates at the end; nan for free ones.
    steps : int
        N.
    contacts : sequence of Contact
        Points that may touch the ground.
    ground : Ground, optional
        z = 0 by default.
    obstacles : Ground, optional
        Surface above which the points of `clear` stay; by default the ground. A contact that is
        also in `clear` cannot touch the ground below obstacles.
    clear : sequence of (hashable, array_like)
        Bodies and points in their frames, without contact forces.
    reach : sequence of (hashable, array_like, array_like)
        Bodies, points in their frames, and their positions in the world at the end.
    start_velocity : array_like, shape (n,), optional
        Rest by default.
    stop : bool
        Whether the tree is at rest at the end.
    planar : bool
        Whether the motion is in the x-z plane, so that friction has two directions.
    most_force : array_like, shape () or (n_u,)
        Bounds on the magnitudes of the forces.
    least_q, most_q : array_like, shape () or (n,)
        Limits of the joints.
    q_guess : array_like, shape (J + 1, n), optional
        Initial guess; by default the straight line, with free coordinates as at the start.
    effort, speed_weight : float
        Weights of the integrals of the squared forces, relative to the weight W of the tree, and of
        the squared rates of the coordinates.
    penalty : float
        Penalty of the violation of complementarity in the first round.
    complementarity : float
        Largest violation of complementarity; the penalty grows tenfold until it is reached.
    tolerance : float
        Of Ipopt.
    most_iterations : int
        Largest number of Ipopt's iterations per round.
    options : mapping, optional
        Options of Ipopt, such as ``{"print_level": 5}``.

    Returns
    -------
    ContactPlan

    Raises
    ------
    ConvergenceError
        If Ipopt finds no motion; the message names the row with the largest violation.
    graphsys.MissingExtraError
        If casadi is not installed.
    ValueError
        If shapes do not fit, or the start is below the ground or beyond limits.

    Notes
    -----
    The impulse of a contact at a control point is complementary to the gap at the next one, as in a
    time-stepping scheme; friction has maximum dissipation. Sums of complementarity products are
    bounded by slack variables, which the cost penalizes. The equations of motion are those of the
    integrator: their Jacobian comes from Algorithms 2 and 3, their part of the Hessian from the
    derivatives of these.

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
    check_tree(integrator)
    q_start, q_goal = vector(start, n, "start"), np.array(goal, float)
    if q_goal.shape != (n,):
        raise ValueError(f"goal has shape {q_goal.shape}, the tree's is ({n},)")
    rates = np.zeros(n) if start_velocity is None else vector(start_velocity, n, "start_velocity")
    low, high = (np.broadcast_to(np.asarray(x, float), (n,)) for x in (least_q, most_q))
    limit = np.broadcast_to(np.asarray(most_force, float), (n_u,))
    check_limits(integrator, q_start, q_goal, low, high)
    weight = grid(integrator, steps, planar).weight
    task = Task(
        integrator, steps, contacts, floor, floor if obstacles is None else obstacles, clear, reach,
        planar, (integrator.momentum(q_start, rates), np.zeros(n)),
        np.where(np.isfinite(limit), limit, weight), effort, speed_weight,
    )  # fmt: skip
    made = Transcription(task, penalty)
    check_start(made, q_start)
    points = made.grid.points + 1
    if q_guess is None:
        way = made.grid.time[:, None] / made.grid.time[-1]
        guess = q_start + way * (np.where(np.isnan(q_goal), q_start, q_goal) - q_start)
    else:
        guess = np.array(q_guess, float)
        if guess.shape != (points, n) or not np.isfinite(guess).all():
            raise ValueError(
                f"q_guess has shape {guess.shape}, this plan's is ({points}, {n}), finite"
            )
    z = _first(made, guess)
    bounds = _bounds(made, q_start, q_goal, low, high, limit)
    rows = np.zeros(made.height), np.zeros(made.height)
    rows[0][made.rows.pairs] = -np.inf
    rows[1][made.rows.clear] = np.inf
    if not stop:
        rows[0][made.rows.motion[-1]], rows[1][made.rows.motion[-1]] = -np.inf, np.inf
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
    whole = gaps.copy()  # with what the slacks allow
    whole[made.rows.pairs] += z[made.at.slack[:, made.free]]
    worst = int(np.argmax(whole))
    if not answer.success or left > complementarity:
        raise ConvergenceError(
            f"no motion was found, Ipopt: {answer.status} after {iterations} iterations; violated "
            f"most: {row_label(made, worst)}, by {whole[worst]:.3g}: give q_guess, more time, "
            f"more force or more iterations",
            iterations,
            float(whole[worst]),
        )
    return _plan(made, z, float(gaps.max()), iterations, spent, within)


def _plan(
    made: Transcription, z: Float, defect: float, iterations: int, spent: float, within: float
) -> ContactPlan:
    """The answer in SI units."""
    u = z[made.at.u] * made.task.force_unit
    gaps = made.points.heights(z[made.at.q])[:, : len(made.task.contacts)]
    return ContactPlan(
        made.grid.time, z[made.at.q], u, made.forces(z), gaps,
        float(made.grid.tau @ (u * u).sum(axis=1)), float(z[made.at.slack].max(initial=0.0)),
        defect, iterations, spent, within, made.size, made.height,
    )  # fmt: skip


def _first(made: Transcription, guess: Float) -> Float:
    """Variables of a motion: the weight on all contacts, and a little of everything else."""
    z, at = np.full(made.size, 0.01), made.at
    z[at.q], z[at.u] = guess, 0.0
    z[at.normal] = 1.0 / max(1, len(made.task.contacts))
    heights = made.points.heights(guess)[:, : len(made.task.contacts)]
    z[at.gap] = np.maximum(heights[1:], 0.01)
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
    held = [c for c, one in enumerate(made.task.contacts) if one.sticking]
    for one in (at.speed, at.gap, at.slip, at.slack):
        most[one[:, held]] = 0.0
    least[at.q[1:]], most[at.q[1:]] = low, high
    least[at.q[0]] = most[at.q[0]] = start
    given = np.flatnonzero(np.isfinite(goal))
    least[at.q[-1, given]] = most[at.q[-1, given]] = goal[given]
    bound = np.where(np.isfinite(limit), 1.0, np.inf)
    least[at.u], most[at.u] = -bound, bound
    return least, most
