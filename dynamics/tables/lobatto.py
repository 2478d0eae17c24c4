"""Lobatto rules on a step: nodes, weights, and the slopes of the polynomial through the nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

__all__ = ["NAMED", "Rule", "lobatto"]

Float = NDArray[np.float64]

#: Rules with a name of their own, by the degree of their polynomials.
NAMED = {"trapezoidal": 1, "simpson": 2}

#: Beyond this the slopes lose digits faster than the order gains them in double precision.
MOST = 12


class Rule(NamedTuple):
    """A quadrature rule whose nodes are the control points, as the kernels read it.

    Attributes
    ----------
    weights : ndarray of float, shape (s + 1,)
        w^a, their sum is 1.
    slope : ndarray of float, shape ((s + 1) * (s + 1),)
        b^ab, row-major: dq/dt^a = sum_b b^ab q^b / h.
    place : ndarray of float, shape (s + 1,)
        c_a, from 0 to 1.
    quasi : ndarray of float, shape (s * s,)
        Inverse of K = (b^T diag(w) b) without its last row and its first column, row-major.
    """

    weights: Float
    slope: Float
    place: Float
    quasi: Float


def lobatto(s: int) -> Rule:
    """Lobatto rule with s + 1 nodes, exact for polynomials up to degree 2 s - 1.

    Parameters
    ----------
    s : int
        Degree of the polynomials on a step, 1 to 12; 1 is the trapezoidal rule, 2 Simpson's.

    Returns
    -------
    Rule
        Read-only arrays.

    Raises
    ------
    ValueError
        If s is not in 1..12.
    """
    if not 1 <= s <= MOST:
        raise ValueError(f"there is no Lobatto rule of degree {s} here: choose 1 to {MOST}")
    last = np.eye(s + 1)[s]
    # all are real; numpy gives them a complex type from 2.5 on
    inner = legendre.legroots(legendre.legder(last)).real if s > 1 else np.empty(0)
    x = np.concatenate([[-1.0], inner, [1.0]])
    x = 0.5 * (x - x[::-1])  # symmetric to the last digit
    weights = 1.0 / (s * (s + 1) * legendre.legval(x, last) ** 2)
    place = 0.5 * (1.0 + x)
    # Barycentric weights of the polynomial through the nodes (Berrut and Trefethen 2004, sec. 9.3).
    gaps = place[:, None] - place + np.eye(s + 1)
    scale = 1.0 / gaps.prod(axis=1)
    slope = scale / scale[:, None] / gaps
    np.fill_diagonal(slope, 0.0)
    np.fill_diagonal(slope, -slope.sum(axis=1))
    K = (slope.T @ (weights[:, None] * slope))[:s, 1:]
    rule = Rule(weights, slope.ravel(), place, np.linalg.inv(K).ravel())
    for array in rule:
        array.flags.writeable = False
    return rule
