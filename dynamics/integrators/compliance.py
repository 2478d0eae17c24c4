"""Springs and constraints as compliant multipliers of composed mappings, by implicit steps.

The scheme of the note on compliance in the library of papers: a mapping f has a Jacobian J and a
geometric stiffness G(q, lam) = d(J(q)^T lam)/dq; both compose, so that a chain of mappings is
written once for each link. C = 0 makes a constraint of a spring, with the same equations
(theory/compliance (1)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

import graphsys as gs
from dynamics.errors import ConvergenceError
from dynamics.parts.softness import check_semidefinite

__all__ = ["Mapping", "effective_compliance", "implicit_step"]

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Mapping:
    """A function f of coordinates with its first and second derivatives.

    ``f @ g`` is f after g (theory/compliance (4)): with the pulled force gamma = J_f^T lam

        G(q, lam) = G_g(q, gamma) + J_g^T G_f(g(q), lam) J_g.

    Attributes
    ----------
    value : callable
        ``value(q)``, shape (m,).
    jacobian : callable
        ``jacobian(q)``, shape (m, n).
    stiffness : callable
        ``stiffness(q, lam)``, shape (n, n): geometric stiffness.

    Examples
    --------
    >>> square = Mapping(lambda q: q**2, lambda q: np.diag(2 * q), lambda q, f: np.diag(2 * f))
    >>> fourth = square @ square
    >>> float(fourth.stiffness(np.array([2.0]), np.array([1.0]))[0, 0])  # 12 q^2
    48.0
    """

    value: Callable[[Float], Float]
    jacobian: Callable[[Float], Float]
    stiffness: Callable[[Float, Float], Float]

    def __matmul__(self, g: Mapping) -> Mapping:
        """Composition, g first."""

        def stiffness(q: Float, lam: Float) -> Float:
            place, J = g.value(q), g.jacobian(q)
            gamma = self.jacobian(place).T @ lam
            return g.stiffness(q, gamma) + J.T @ self.stiffness(place, lam) @ J

        return Mapping(
            lambda q: self.value(g.value(q)),
            lambda q: self.jacobian(g.value(q)) @ g.jacobian(q),
            stiffness,
        )


def _matrix(x: Float, m: int) -> Float:
    """A matrix, or that with these numbers on its diagonal."""
    return x if x.ndim == 2 else np.diag(np.broadcast_to(x, m))


def effective_compliance(
    compliance: ArrayLike, damping: ArrayLike, timestep: float
) -> tuple[Float, Float]:
    """Effective compliance W = (h C D + h^2)^-1 C of an implicit step, and the scale of f.

    The scale is (h C D + h^2)^-1. W is symmetric positive semidefinite, and defined for C = 0,
    where the stiffness is infinite.

    Parameters
    ----------
    compliance, damping : array_like, shape (m,) or (m, m)
        C, m/N, and D, N s/m: per row, not negative, or symmetric positive semidefinite matrices.
    timestep : float
        h, s.

    Returns
    -------
    W : ndarray of float, shape (m, m)
    scale : ndarray of float, shape (m,)
        Shape (m, m) if one of them is a matrix.

    Raises
    ------
    ValueError
        For negative or infinite numbers (leave out springs without stiffness), and for matrices
        that are not symmetric positive semidefinite.
    """
    c, d = np.atleast_1d(compliance), np.atleast_1d(damping)
    for name, x in (("compliance", c), ("damping", d)):
        if x.ndim == 2:
            check_semidefinite(x, name)
        elif not (np.isfinite(x) & (x >= 0.0)).all():
            raise ValueError(f"{name} is {x}: every row's must be finite, 0 or more")
    if c.ndim == 2 or d.ndim == 2:
        C, D = _matrix(c, d.shape[0]), _matrix(d, c.shape[0])
        eye = np.eye(C.shape[0])
        rows = np.asarray(np.linalg.solve(timestep * C @ D + timestep**2 * eye, eye))
        W = rows @ C
        return 0.5 * (W + W.T), rows
    c, d = np.broadcast_arrays(c, d)
    scale = 1.0 / (timestep * c * d + timestep**2)
    return np.diag(scale * c), scale


def implicit_step(
    mass: ArrayLike,
    mapping: Mapping,
    q: ArrayLike,
    velocity: ArrayLike,
    timestep: float,
    *,
    compliance: ArrayLike = 0.0,
    damping: ArrayLike = 0.0,
    force: ArrayLike = 0.0,
    multipliers: ArrayLike = 0.0,
    iterations: int = 50,
) -> tuple[Float, Float, Float]:
    """Take an implicit Euler step, by saddle-point systems with geometric stiffness.

    Newton's method on ``M (v_next - v) = h force + h J^T lam`` and ``f + C D J v_next + C lam = 0``
    at the end of the step (theory/compliance (2)); its first iteration is the note's step (3),

        [M - h^2 G   -J^T] [v_next]   [M v + h force         ]
        [-J          -W  ] [h lam ] = [h (h C D + h^2)^-1 f  ].

    Parameters
    ----------
    mass : array_like, shape (n, n)
        kg.
    mapping : Mapping
        f, zero if springs have no force and constraints are satisfied.
    q, velocity : array_like, shape (n,)
        Not changed.
    timestep : float
        h, s.
    compliance, damping : array_like, shape (), (m,) or (m, m)
        C, 0 for a constraint, and D: per row, or symmetric positive semidefinite matrices.
    force : array_like, shape () or (n,)
        Other forces.
    multipliers : array_like, shape () or (m,)
        Those of the last step, for the first geometric stiffness.
    iterations : int
        Largest number of iterations; 1 is the step of the notes.

    Returns
    -------
    q_next, v_next : ndarray of float, shape (n,)
    multipliers : ndarray of float, shape (m,)
        Forces of the rows, lam, N.

    Raises
    ------
    ConvergenceError
        If more than one iteration is allowed and corrections do not converge to rounding.
    """
    M, h, start = np.asarray(mass, float), timestep, np.asarray(q, float)
    before, v = np.asarray(velocity, float), np.zeros(start.size)
    m = mapping.value(start).size
    c, d = (np.asarray(x, float) for x in (compliance, damping))
    c, d = (x if x.ndim == 2 else np.broadcast_to(x, m) for x in (c, d))
    W, scale = effective_compliance(c, d, h)
    C, D, S = (_matrix(x, m) for x in (c, d, scale))
    mu = h * np.broadcast_to(np.asarray(multipliers, float), m)
    system = gs.System(nx.Graph([("v", "mu")]), {"v": v.size, "mu": m})
    left = np.inf
    for _ in range(iterations):
        x = start + h * v
        f, J = mapping.value(x), mapping.jacobian(x)
        system["v", "v"] = M - h * mapping.stiffness(x, mu)
        system["v", "mu"], system["mu", "v"], system["mu", "mu"] = -J.T, -J, -W
        balance = M @ (v - before) - h * np.broadcast_to(force, v.shape) - J.T @ mu
        rows = -S @ (h * f + C @ (h * D @ (J @ v) + mu))
        change = system.solve({"v": -balance, "mu": -rows})
        v, mu = v + change["v"], mu + change["mu"]
        left, before_it = float(np.abs(change["v"]).max()), left
        if left <= 1e-12 * max(1.0, float(np.abs(v).max())) or left >= 0.5 * before_it < 1e-10:
            break
    else:
        if iterations > 1:
            raise ConvergenceError(
                f"an implicit step was not solved, velocities still change by {left:.1e} after "
                f"{iterations} iterations: take a smaller timestep",
                0,
                left,
            )
    return start + h * v, v, mu / h
