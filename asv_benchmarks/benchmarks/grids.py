"""Grids against PARDISO: scalars and blocks of 3, elasticity and Poisson, LU and L D L^T.

``python -m benchmarks.grids [name ...]`` in ``asv_benchmarks`` prints the table of
`docs/benchmark_notes.md`. With ``GRAPHSYS_MKL_RT`` it takes another MKL.
"""

import sys
from itertools import product

import networkx as nx
import numpy as np
from scipy.sparse import coo_array, eye_array

import graphsys as gs
from graphsys.families import random_system

from . import clock
from .interface import analyzed
from .networks import Blocks
from .pardiso import Pardiso
from .usage import answer_help

#: Least CPU seconds of each solver.
SECONDS = 4.0
#: PARDISO is asked for our order, too, up to so many operations: it takes gigabytes.
MOST_OPERATIONS = 2e10
#: PARDISO's matrix types by whether the matrix is symmetric.
MATRIX_TYPES = {False: (11, 1), True: (2, -2)}


def crystal(n, size, symmetric):
    """Cubic grid of random diagonally dominant blocks."""
    system = random_system(gs.crystal(n), size)
    if not symmetric:
        return system
    A = system.to_scipy()
    return gs.System.from_scipy((A + A.T) / 2.0, size, symmetric=True)


def stiffness():
    """Stiffness matrix of a trilinear cube of edge 1, E = 1, nu = 0.3, nodes in lexical order."""
    nu = 0.3
    lame, shear = nu / (1 + nu) / (1 - 2 * nu), 0.5 / (1 + nu)
    D = np.diag(np.repeat((2 * shear, shear), 3))
    D[:3, :3] += lame
    corners = np.array(list(product((-1.0, 1.0), repeat=3)))
    K = np.zeros((24, 24))
    for point in corners / np.sqrt(3.0):
        factors = (1.0 + corners * point) / 2.0
        B = np.zeros((6, 24))
        for a in range(3):  # dN/dx_a; the derivative of (1 + c x) / 2 on an edge of 1 is c
            b, c = (a + 1) % 3, (a + 2) % 3
            slope = corners[:, a] * factors[:, b] * factors[:, c]
            B[a, a::3] = slope
            B[3 + c, b::3] += slope  # shear strain of the plane without axis c
            B[3 + b, c::3] += slope
        K += B.T @ D @ B / 8.0
    return K


def elasticity(n, symmetric):
    """Cube of n^3 nodes on springs of 1e-3."""
    K, node = stiffness(), np.arange(n**3).reshape(n, n, n)
    cell = np.stack([node[i : n - 1 + i, j : n - 1 + j, k : n - 1 + k].ravel()
                     for i, j, k in product((0, 1), repeat=3)], axis=1)  # fmt: skip
    unknown = (3 * cell[:, :, None] + np.arange(3)).reshape(len(cell), 24)
    rows, columns = np.repeat(unknown, 24, axis=1), np.tile(unknown, 24)
    values = np.tile(K.ravel(), len(cell))
    A = coo_array((values, (rows.ravel(), columns.ravel())), (3 * n**3, 3 * n**3))
    return gs.System.from_scipy(A + 1e-3 * eye_array(3 * n**3), 3, symmetric=symmetric)


def poisson(n, symmetric):
    """Five-point Laplacian of n^2 inner points."""
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(n, n))
    A = nx.laplacian_matrix(grid).astype(float).tocsr()
    A.setdiag(4.0)
    return gs.System.from_scipy(A, 1, symmetric=symmetric)


GRIDS = {
    "crystal 20³": lambda symmetric: crystal(20, 1, symmetric),
    "crystal 40³": lambda symmetric: crystal(40, 1, symmetric),
    "crystal 20³, blocks of 3": lambda symmetric: crystal(20, 3, symmetric),
    "crystal 30³, blocks of 3": lambda symmetric: crystal(30, 3, symmetric),
    "elasticity 16³": lambda symmetric: elasticity(16, symmetric),
    "Poisson 300²": lambda symmetric: poisson(300, symmetric),
}


def compare(system, symmetric, seconds=SECONDS):
    """Symbolic factorization, our CPU seconds, and those of PARDISO by setting, least first."""
    A, ours = system.to_scipy().tocsr(), Blocks(system)
    ours.analyze(A, system, None)
    order = _indices(ours.factor.symbolic)
    small = ours.factor.symbolic.operations < MOST_OPERATIONS
    peers = [
        Pardiso(kind, our_order=our_order)
        for kind in MATRIX_TYPES[symmetric]
        for our_order in (False, True)[: 1 + small]
    ]
    usable = analyzed(peers, A, system, order)
    b = np.ones(A.shape[0])
    times = clock.measure([ours, *usable], b, seconds)
    x = ours.solve(b)
    error = np.max(np.abs(A @ x - b) / (abs(A) @ np.abs(x) + np.abs(b)))
    found = sorted((t.both, p.name) for p, t in zip(usable, times[1:], strict=True))
    for peer in usable:
        peer.close()
    return ours.factor.symbolic, times[0].both, found, error


class SingleSolves:
    """`gs.spsolve`: analysis, one factorization and one solution."""

    params = [list(GRIDS)]
    param_names = ("grid",)
    timeout = 300

    def setup(self, name):
        self.A = GRIDS[name](False).to_scipy()
        self.b = np.ones(self.A.shape[0])
        gs.spsolve(self.A, self.b)

    def time_spsolve(self, name):
        gs.spsolve(self.A, self.b)


def _indices(symbolic):
    """Elimination order by index of the graph's nodes."""
    return np.array([symbolic.graph.index[label] for label in symbolic.order])


class Grids:
    params = (list(GRIDS), [False, True])
    param_names = ("grid", "symmetric")
    timeout = 900

    def track_over_pardiso(self, name, symmetric):
        """Speed of refactorize and solve over that of PARDISO's best setting."""
        _, ours, peers, _ = compare(GRIDS[name](symmetric), symmetric)
        return peers[0][0] / ours

    track_over_pardiso.unit = "times as fast as PARDISO"


def main():
    """Print rows of the table."""
    names = [name for name in GRIDS if not sys.argv[1:] or any(a in name for a in sys.argv[1:])]
    for name, symmetric in product(names, (False, True)):
        symbolic, ours, peers, error = compare(GRIDS[name](symmetric), symmetric)
        kind, rate = "L D Lᵀ" if symmetric else "LU", symbolic.operations / ours / 1e9
        best, setting = peers[0]
        cells = f"{symbolic.operations / 1e9:.3g} | {1e3 * ours:,.1f} | {rate:.0f}"
        peer = f"{1e3 * best:,.1f} ({setting}) | {best / ours:.2f}"
        print(f"| {name} | {kind} | {cells} | {peer} | {error:.0e} |", flush=True)


if __name__ == "__main__":
    answer_help(__doc__)
    main()
