"""Calls of small systems, most of whose time is spent outside of loops, relative to their peers.

``python -m benchmarks.small_systems`` in ``asv_benchmarks`` prints the tables of
`docs/benchmark_notes.md` and `docs/from_networkx.md`.
"""

import pickle
from functools import partial

import networkx as nx
import numpy as np
from scipy.sparse import csc_array, diags_array, kron
from scipy.sparse.linalg import splu

import graphsys as gs

from .clock import fastest
from .scipy_functions import laplacian
from .usage import answer_help

#: Least CPU seconds of each function.
SECONDS = 0.1

SIZES = [8, 52]
GRAPHS = {
    "grid, 4 × 4": nx.grid_2d_graph(4, 4),
    "grid, 7 × 7": nx.grid_2d_graph(7, 7),
    "grid, 17 × 17": nx.grid_2d_graph(17, 17),
    "tree, 20": nx.random_labeled_tree(20, seed=1),
    "tree, 60": nx.random_labeled_tree(60, seed=1),
    "power law, 60": nx.barabasi_albert_graph(60, 3, seed=0),
    "power law, 300": nx.barabasi_albert_graph(300, 3, seed=0),
    "half of all edges, 60": nx.gnp_random_graph(60, 0.5, seed=3),
}
FUNCTIONS = [
    nx.number_of_spanning_trees,
    nx.effective_graph_resistance,
    nx.current_flow_closeness_centrality,
    nx.current_flow_betweenness_centrality,
    nx.edge_current_flow_betweenness_centrality,
]


def block_chain(n, size=6, seed=0):
    """Chain of nodes with blocks, as a scalar matrix."""
    one = np.ones(n - 1)
    chain = diags_array([one, np.full(n, 20.0), one], offsets=[-1, 0, 1])
    block = np.random.default_rng(seed).random((size, size)) + 3.0 * np.eye(size)
    return csc_array(kron(chain, block))


class Case:
    """A grid of n x n, and a chain of as many rows in blocks of 6."""

    def __init__(self, n):
        grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(n, n))
        self.A, self.x = laplacian(grid), np.ones(n * n)
        self.system = gs.System.from_scipy(self.A, 1, symmetric=True)
        self.symbolic = self.system.analyze()
        self.factor, self.root = self.system.factorize(self.symbolic), gs.cholesky(self.A)
        self.inverse, self.blocks = self.factor.selected_inverse(), block_chain(max(n * n // 6, 35))
        self.edges = np.array(grid.edges).T


CALLS = {
    "`system.factorize(symbolic)`": lambda case: case.system.factorize(case.symbolic),
    "`factor.slogdet()`": lambda case: case.factor.slogdet(),
    "`factor.residual(x, b)`": lambda case: case.factor.residual(case.x, case.x),
    "`system @ x`": lambda case: case.system @ case.x,
    "`system.T`": lambda case: case.system.T,
    "`inverse.to_scipy()`": lambda case: case.inverse.to_scipy(),
    "`system.add(rows, cols, blocks)`": lambda case: case.system.add(*case.edges, 0.0),
    "`system.places(rows, cols)`": lambda case: case.system.places(*case.edges),
    "pickle of `system` and back": lambda case: pickle.loads(pickle.dumps(case.system)),
    "`gs.cholesky(A)`": lambda case: gs.cholesky(case.A),
    "`root.cholesky(A)`": lambda case: case.root.cholesky(case.A),
    "`gs.splu` of a block chain": lambda case: gs.splu(case.blocks),
    "`scipy.sparse.linalg.splu` of it": lambda case: splu(case.blocks),
}


class Calls:
    params = (list(CALLS), SIZES)
    param_names = ("call", "side")

    def setup(self, name, n):
        self.case = Case(n)
        CALLS[name](self.case)

    def time_call(self, name, n):
        CALLS[name](self.case)


class NetworkxBackend:
    params = ([function.__name__ for function in FUNCTIONS], list(GRAPHS))
    param_names = ("function", "graph")

    def track_over_networkx(self, name, graph):
        """Time of networkx over that of the backend."""
        function, G = getattr(nx, name), GRAPHS[graph]
        ours, theirs = (
            fastest(partial(function, G, backend=backend), SECONDS)
            for backend in ("graphsys", "networkx")
        )
        return theirs / ours

    track_over_networkx.unit = "times as fast as networkx"


def main():
    """Print both tables: µs of calls, and the backend's part of the time of networkx."""
    cases = [Case(n) for n in SIZES]
    for name, call in CALLS.items():
        times = (1e6 * fastest(partial(call, case), SECONDS) for case in cases)
        print(f"| {name} | {' | '.join(f'{t:.3g}' for t in times)} |", flush=True)
    nx.config.warnings_to_ignore.add("cache")
    for graph in GRAPHS:
        ratios = (
            1.0 / NetworkxBackend().track_over_networkx(function.__name__, graph)
            for function in FUNCTIONS
        )
        print(f"| {graph} | {' | '.join(f'{r:.2g}' for r in ratios)} |", flush=True)


if __name__ == "__main__":
    answer_help(__doc__)
    main()
