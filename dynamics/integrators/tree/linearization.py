"""Discrete Euler-Lagrange equations of a tree, their Newton direction and exact linearization."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.integrators.tree.trajectory import not_solved
from dynamics.integrators.tree.workspace import Loads, loads
from dynamics.kernels.tree import hessian as tree_hessian
from dynamics.kernels.tree import layout
from dynamics.kernels.tree import linearize as tree_linearize
from dynamics.kernels.tree import momentum as tree_momentum
from dynamics.kernels.tree import step as tree_step

__all__ = [
    "StepSlopes",
    "evaluate",
    "gravity_hessian",
    "jacobian",
    "kinetic_hessians",
    "linearize",
    "newton_direction",
]

Float = NDArray[np.float64]


class StepSlopes(NamedTuple):
    """N steps, each from a state of its own, and their derivatives.

    With x = [q, p] of 2 n numbers, x_next = f(x, forces): A = df/dx, B^a = df/du^a.

    Attributes
    ----------
    q, p : ndarray of float, shape (N, n)
        At the ends of the steps.
    multipliers : ndarray of float, shape (N, s, m)
        Impulses of the constraints, N s.
    A : ndarray of float, shape (N, 2 n, 2 n)
        By q and p at the start.
    B : ndarray of float, shape (N, s + 1, 2 n, n_u)
        By the forces at each node; their sum over the nodes is that by forces constant in a step.
    multipliers_by_state : ndarray of float, shape (N, s, m, 2 n)
        Derivatives of the multipliers by q and p.
    multipliers_by_force : ndarray of float, shape (N, s + 1, s, m, n_u)
        And by the forces.
    """

    q: Float
    p: Float
    multipliers: Float
    A: Float
    B: Float
    multipliers_by_state: Float
    multipliers_by_force: Float


def linearize(
    integrator: TreeIntegrator,
    q: ArrayLike,
    p: ArrayLike,
    forces: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    *,
    frame: str = "world",
) -> StepSlopes:
    """Take a step from each of N states and differentiate it exactly (Algorithms 2, 3 and B.1).

    Parameters
    ----------
    integrator : TreeIntegrator
    q, p : array_like, shape (N, n)
        Coordinates and momenta at the start of each step.
    forces : array_like, shape (n_u,), (N, n_u) or (N, s + 1, n_u), optional
        As in `TreeIntegrator.simulate`.
    wrenches, frame
        As in `TreeIntegrator.simulate`.

    Returns
    -------
    StepSlopes

    Raises
    ------
    ConvergenceError
        If the equations of a step could not be solved.

    Notes
    -----
    Blocks of second derivatives and solutions with the O(n) factor take O(n^2); the product of the
    blocks of the next momentum with the solutions takes s n^2 (2 n + (s + 1) n) more.
    """
    places, momenta = (np.ascontiguousarray(x, float) for x in (q, p))
    n, s, m = len(integrator.joints), integrator.degree, len(integrator.tables.constraints)
    if places.ndim != 2 or places.shape != momenta.shape or places.shape[1] != n:
        raise ValueError(f"q {places.shape} and p {momenta.shape} must have the shape (N, {n})")
    steps, nodes = places.shape[0], s + 1
    load = loads(
        integrator,
        None if forces is None else np.asarray(forces, float),
        None if wrenches is None else np.asarray(wrenches, float),
        frame,
        steps,
    )
    speed = np.array([integrator.velocity(*x) for x in zip(places, momenta)]).reshape(steps, n)
    q_next, p_next = np.empty((steps, n)), np.empty((steps, n))
    multipliers = np.zeros((steps, s, m))
    slopes = np.zeros((steps, 2 * n + s * m, 2 * n + nodes * n))
    done, status = tree_linearize.linearize(
        integrator.tables.tree, tuple(integrator.rule), integrator.tables.pins, load,
        (False, *integrator.method[1:]), integrator.timestep, steps,
        tuple(one.reshape(-1) for one in (places, momenta, speed)),
        integrator.work.arrays, integrator.work.vectors,
        (np.empty(78 * n), np.empty(4 * nodes * n * n), np.empty(2 * nodes * n * n)),
        tuple(one.reshape(-1) for one in (q_next, p_next, multipliers, slopes)),
    )  # fmt: skip
    if status != layout.SOLVED:
        raise not_solved(integrator, done, status)
    by_force = slopes[:, :, 2 * n :].reshape(steps, 2 * n + s * m, nodes, n)[
        ..., integrator.columns
    ]
    by_force = by_force.transpose(0, 2, 1, 3)
    return StepSlopes(
        q_next,
        p_next,
        multipliers,
        slopes[:, : 2 * n, : 2 * n],
        by_force[:, :, : 2 * n],
        slopes[:, 2 * n :, : 2 * n].reshape(steps, s, m, 2 * n),
        by_force[:, :, 2 * n :].reshape(steps, nodes, s, m, integrator.columns.size),
    )


def evaluate(
    integrator: TreeIntegrator,
    q: ArrayLike,
    p: ArrayLike,
    forces: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    multipliers: ArrayLike | None = None,
    *,
    frame: str = "world",
) -> tuple[Float, Float]:
    """Residuals of the discrete Euler-Lagrange equations and the next momentum (Algorithm 1).

    Parameters
    ----------
    integrator : TreeIntegrator
    q : array_like, shape (s + 1, n)
        Control points of a step.
    p : array_like, shape (n,)
        Momentum at its start.
    forces : array_like, shape (n_u,) or (s + 1, n_u), optional
        Of the actuated joints.
    wrenches, frame
        As in `TreeIntegrator.simulate`, of one step.
    multipliers : array_like, shape (s, m), optional
        Impulses of the constraints, N s.

    Returns
    -------
    residual : ndarray of float, shape (s, n)
    p_next : ndarray of float, shape (n,)
    """
    nodes, _, _ = _evaluate(integrator, q, p, forces, wrenches, multipliers, frame)
    return nodes[:-1], nodes[-1]


def newton_direction(
    integrator: TreeIntegrator,
    q: ArrayLike,
    p: ArrayLike,
    forces: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    multipliers: ArrayLike | None = None,
    *,
    frame: str = "world",
) -> Float:
    """-J^-1 r in O(n), without the rows of the constraints (Algorithms B.1 and B.2).

    Parameters
    ----------
    integrator : TreeIntegrator
        Its method decides: "quasi-newton" takes J for K M / h.
    q, p, forces, wrenches, multipliers, frame
        As in `evaluate`.

    Returns
    -------
    ndarray of float, shape (s, n)
        For the control points 1..s.
    """
    r, load, impulse = _evaluate(integrator, q, p, forces, wrenches, multipliers, frame)
    tables, rule, h = integrator.tables, tuple(integrator.rule), integrator.timestep
    none = tuple(array[:0] for array in tables.pins) if impulse.size == 0 else tables.pins
    quasi, arrays = integrator.method[0], integrator.work.arrays
    status = tree_step.factorize_step(tables.tree, rule, none, load, quasi, h, 0, impulse, arrays)
    if status != layout.SOLVED:
        raise not_solved(integrator, 0, status)
    step = np.empty(r[:-1].size)
    tree_step.newton_direction(
        tables.tree, rule, quasi, h, *arrays[:3], r[:-1].reshape(-1), arrays[3], step
    )
    return step.reshape(r[:-1].shape)


def jacobian(
    integrator: TreeIntegrator,
    q: ArrayLike,
    p: ArrayLike,
    forces: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    multipliers: ArrayLike | None = None,
    *,
    frame: str = "world",
) -> Float:
    """Derivatives of residuals and next momentum by all control points (Algorithms 2 and 3).

    Parameters
    ----------
    integrator : TreeIntegrator
    q, p, forces, wrenches, multipliers, frame
        As in `evaluate`.

    Returns
    -------
    ndarray of float, shape (s + 1, n, s + 1, n)
        Entry [b, i, g, j] is dr^b_i/dq^g_j; b = s is the next momentum. In O(s^3 n^2).
    """
    r, load, impulse = _evaluate(integrator, q, p, forces, wrenches, multipliers, frame)
    nodes, n = r.shape
    found = np.empty((nodes, n, nodes, n))
    tree_linearize.jacobian(
        integrator.tables.tree, tuple(integrator.rule), integrator.tables.pins, load,
        integrator.timestep, 0, impulse, integrator.work.arrays[0], np.empty(78 * n),
        np.empty(4 * nodes * n * n), np.empty(n * n), found.reshape(-1),
    )  # fmt: skip
    return found


def kinetic_hessians(
    integrator: TreeIntegrator, q: ArrayLike, velocity: ArrayLike
) -> tuple[Float, Float, Float]:
    """Second derivatives of the kinetic energy (Algorithm 2).

    Parameters
    ----------
    integrator : TreeIntegrator
    q, velocity : array_like, shape (n,)
        Coordinates and their rates.

    Returns
    -------
    by_speeds, mixed, by_places : ndarray of float, shape (n, n)
        d2K/dqd_i dqd_j (the mass matrix), d2K/dq_i dqd_j and d2K/dq_i dq_j.
    """
    speed = np.asarray(velocity, float)
    motion = integrator.motion(q, speed)
    n = len(integrator.joints)
    p = np.empty(n)
    tree_momentum.momentum(integrator.tables.tree, motion, p)
    found = tuple(np.empty((n, n)) for _ in range(3))
    tree_hessian.kinetic_hessian(
        integrator.tables.tree, motion, 1, 0, np.empty(36 * n), *(x.reshape(-1) for x in found)
    )
    return found[0], found[1], found[2]


def gravity_hessian(integrator: TreeIntegrator, q: ArrayLike) -> Float:
    """Second derivative of the potential energy of the weight (Algorithm 3).

    Parameters
    ----------
    integrator : TreeIntegrator
    q : array_like, shape (n,)
        Coordinates.

    Returns
    -------
    ndarray of float, shape (n, n)
    """
    n = len(integrator.joints)
    motion = integrator.motion(q, np.zeros(n))
    found = np.empty((n, n))
    tree_hessian.gravity_hessian(
        integrator.tables.tree, motion, 1, 0, np.empty(4 * n), found.reshape(-1)
    )
    return found


def _evaluate(
    integrator: TreeIntegrator,
    q: ArrayLike,
    p: ArrayLike,
    forces: ArrayLike | None,
    wrenches: ArrayLike | None,
    multipliers: ArrayLike | None,
    frame: str,
) -> tuple[Float, Loads, Float]:
    """Residuals with the next momentum below, (s + 1, n); the loads and the multipliers used."""
    n, s, m = len(integrator.joints), integrator.degree, len(integrator.tables.constraints)
    nodes, start = np.ascontiguousarray(q, float), np.ascontiguousarray(p, float)
    impulse = np.zeros((s, m)) if multipliers is None else np.array(multipliers, float)
    for x, shape, name in (
        (nodes, (s + 1, n), "q"), (start, (n,), "p"), (impulse, (s, m), "multipliers"),
    ):  # fmt: skip
        if x.shape != shape:
            raise ValueError(f"{name} has shape {x.shape}, the step's is {shape}")
    load = loads(
        integrator,
        None if forces is None else np.asarray(forces, float)[None],
        None if wrenches is None else np.asarray(wrenches, float)[None],
        frame,
        1,
    )
    r, flat = np.empty((s + 1, n)), impulse.reshape(-1)
    tables = integrator.tables
    tree_step.residual(
        tables.tree, tuple(integrator.rule), tables.pins, load, integrator.timestep, 0,
        nodes.reshape(-1), start, flat, integrator.work.arrays[0], r.reshape(-1),
    )  # fmt: skip
    return r, load, flat
