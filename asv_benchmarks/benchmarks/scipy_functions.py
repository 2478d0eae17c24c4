"""`gs.splu` and `gs.spsolve` beside scipy's functions of the same names, one matrix at a time.

``python -m benchmarks.scipy_functions`` in ``asv_benchmarks`` prints the table of
`docs/from_scipy.md`.
"""

import networkx as nx
import numpy as np
from scipy.sparse import coo_array, csc_array, diags_array, eye_array, random_array
from scipy.sparse import linalg as scipy_linalg

import graphsys as gs

from .block_triangular import circuit
from .clock import fastest

#: Least CPU seconds of each function.
SECONDS = 0.3


def laplacian(graph, seed=0):
    """Random conductances on a graph, and one from each node to the ground; symmetric."""
    rng = np.random.default_rng(seed)
    i, j = np.array(nx.convert_node_labels_to_integers(graph).edges).T
    y, n = rng.uniform(0.5, 2.0, i.size), len(graph)
    entries = np.concatenate([-y, -y, y, y, np.full(n, 0.1)])
    ground = np.arange(n)
    row, column = np.concatenate([i, j, i, j, ground]), np.concatenate([j, i, i, j, ground])
    return csc_array(coo_array((entries, (row, column)), shape=(n, n)))


def dominant(n, degree, seed=0):
    """Random pattern without symmetry, rows dominated by the diagonal."""
    A = random_array((n, n), density=degree / n, rng=np.random.default_rng(seed), format="csr")
    return csc_array(A + diags_array(abs(A).sum(axis=1) + 1.0))


MATRICES = {
    "chain, 20 rows": lambda: laplacian(nx.path_graph(20)),
    "chain, 100 rows": lambda: laplacian(nx.path_graph(100)),
    "chain, 1 000 rows": lambda: laplacian(nx.path_graph(1000)),
    "tree, 2 000 rows": lambda: laplacian(nx.random_labeled_tree(2000, seed=0)),
    "diagonal, 1 000 rows": lambda: csc_array(2.0 * eye_array(1000)),
    "circuit, 3 000 rows": lambda: csc_array(circuit(20, 150)),
    "power law, 3 000 rows": lambda: laplacian(nx.barabasi_albert_graph(3000, 2, seed=0)),
    "random, 200 rows of 4 entries": lambda: dominant(200, 3),
    "random, 2 000 rows of 3 entries": lambda: dominant(2000, 2),
    "grid, 15 × 15": lambda: laplacian(nx.grid_2d_graph(15, 15)),
    "grid, 30 × 30": lambda: laplacian(nx.grid_2d_graph(30, 30)),
    "grid, 150 × 150": lambda: laplacian(nx.grid_2d_graph(150, 150)),
    "grid, 15 × 15 × 15": lambda: laplacian(nx.grid_graph((15, 15, 15))),
}


class ScipyFunctions:
    params = (list(MATRICES),)
    param_names = ("matrix",)

    def setup(self, name):
        self.A = MATRICES[name]()
        self.b = np.ones(self.A.shape[0])
        self.factors = gs.splu(self.A)
        self.factors.refactorize(self.A)
        gs.spsolve(self.A, self.b)

    def time_splu(self, name):
        gs.splu(self.A)

    def time_spsolve(self, name):
        gs.spsolve(self.A, self.b)

    def track_spsolve_over_scipy(self, name):
        """Speed of `gs.spsolve` over that of scipy's."""
        ours, theirs = self.milliseconds()[2:4]
        return theirs / ours

    track_spsolve_over_scipy.unit = "times as fast as scipy"

    def milliseconds(self):
        """CPU time of splu, scipy's, spsolve, scipy's, refactorize, solve and scipy's solve."""
        A, b, others = self.A, self.b, scipy_linalg.splu(self.A)
        calls = (
            lambda: gs.splu(A), lambda: scipy_linalg.splu(A), lambda: gs.spsolve(A, b),
            lambda: scipy_linalg.spsolve(A, b), lambda: self.factors.refactorize(A),
            lambda: self.factors.solve(b), lambda: others.solve(b),
        )  # fmt: skip
        rounds = [[fastest(call, SECONDS / 3) for call in calls] for _ in range(3)]
        return [1e3 * min(times) for times in zip(*rounds, strict=True)]


def main():
    """Print rows of the table."""
    for name in MATRICES:
        case = ScipyFunctions()
        case.setup(name)
        cells = " | ".join(f"{t:.2g}" if t < 10 else f"{t:.0f}" for t in case.milliseconds())
        print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
