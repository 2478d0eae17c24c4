"""Arrays that kernels of Galerkin-Lobatto steps hand on together; sizes as in `base.arguments`.

s is the degree of the polynomials and s + 1 the number of nodes of an interval.
"""

from typing import Any, NamedTuple

from dynamics.kernels.base.jit import kernel, record


@record
class Rule(NamedTuple):
    """Lobatto quadrature."""

    s: Any  # degree
    weights: Any  # (s + 1,)
    slope: Any  # ((s + 1) (s + 1),): slopes b^ab of the Lagrange polynomials, row-major
    place: Any  # (s + 1,): places of the nodes in [0, 1]


@record
class Nodes(NamedTuple):
    """All nodes of an interval, one after another; `spin`, `turn` and `sigma` body by body."""

    pose: Any  # ((s + 1) 7 (n + 1),)
    matrix: Any  # ((s + 1) 9 (n + 1),)
    g: Any  # ((s + 1) R,)
    G: Any  # ((s + 1) 12 R,)
    speed: Any  # ((s + 1) m,): velocities
    spin: Any  # (7 (s + 1) n,): pi^a, P^a
    turn: Any  # (4 (s + 1) n,): rho^a
    sigma: Any  # ((s + 1) n,)


@record
class NodeAt(NamedTuple):
    """One node of an interval."""

    pose: Any  # (7 (n + 1),)
    matrix: Any  # (9 (n + 1),)
    g: Any  # (R,)
    G: Any  # (12 R,)
    speed: Any  # (m,)


@record
class Method(NamedTuple):
    """Tables of a step: see `dynamics.tables.galerkin.Stages`."""

    rule: Any  # `Rule`
    stages: Any  # K of `middle`, its inverse, and theta of all rows
    blocks: Any  # places of the matrix's blocks: of bodies, of joints, starts of pairs
    middle: Any  # program of the matrix of order 2


@record
class StageWork(NamedTuple):
    """Work arrays of an interval; N of all stages together."""

    x: Any  # (s N,): unknowns
    table: Any  # (DIFFERENCES s N,): backward differences of the last steps' unknowns
    r: Any  # (s N,): residual
    dx: Any  # (s N,): change of x
    kept: Any  # (STORED s N,): x before an iteration, then changes for Broyden's method
    mu: Any  # (R,): forces of rows
    f: Any  # (m,): forces at a node, then the time and users' wrenches
    driven: Any  # (s + 1, controls): controls at each node
    L: Any  # (9 (s + 1)^2,): blocks of a body's rotation
    C: Any  # (9 s^2,): the same for control points
    K: Any  # (n, 9 (s - 1)): stiffness against a body's turn
    E: Any  # (9 n s,): derivatives of rotation vectors by unknowns
    W: Any  # (n, 9 (s + 1)^2): derivatives of angular velocities


@record
class StageSolver(NamedTuple):
    """Matrix of a step and its factors, as `graphsys.kernels` takes them."""

    values: Any  # (nnz,): blocks of the matrix
    magnitude: Any  # largest magnitudes of pivot rows
    factors: Any  # block LDU factors
    workspace: Any  # of substitutions
    status: Any  # of factorizations
    rhs: Any  # (s N,)
    solution: Any  # (s N,)
    middle: Any  # arrays of the matrix of order 2 (the first five), and s N numbers


@kernel
def nodes_of_tuple(nodes):
    """The named tuple of a plain one."""
    pose, matrix, g, G, speed, spin, turn, sigma = nodes
    return Nodes(pose, matrix, g, G, speed, spin, turn, sigma)
