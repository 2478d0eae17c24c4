"""Factorize and solve in each elimination order: does `ordering="auto"` take the fastest?

``python -m benchmarks.elimination_orders [file.mtx ...]`` in ``asv_benchmarks`` prints the table of
`docs/benchmark_notes.md`, and that of the patterns of matrix files.
"""

import sys
import time
from functools import partial

import networkx as nx
import numpy as np
from scipy.io import mmread
from scipy.sparse import coo_array

import graphsys as gs
from graphsys.families import random_system

from .usage import answer_help

#: Rounds of all orders in turns, and CPU seconds of a batch of calls.
ROUNDS, BATCH = 60, 2e-3


def relabelled(make, *arguments, **options):
    return nx.convert_node_labels_to_integers(make(*arguments, **options))


#: Graph and block size by name.
GRAPHS = {
    **{f"net {n} × {n}, {k}": (partial(gs.net, n), k)
       for n, k in ((30, 1), (100, 1), (200, 1), (30, 3), (60, 3), (30, 6), (60, 6))},
    **{f"crystal {n} × {n} × {n}, {k}": (partial(gs.crystal, n), k)
       for n, k in ((10, 1), (15, 1), (20, 1), (6, 3), (10, 3), (6, 6), (10, 6))},
    "ladder 1,000, 6": (partial(gs.ladder, 1000), 6),
    "power law 5,000, 1": (partial(nx.barabasi_albert_graph, 5000, 2, seed=0), 1),
    "random regular 1,000, 1": (partial(nx.random_regular_graph, 3, 1000, seed=0), 1),
    "small world 2,000, 3": (partial(nx.watts_strogatz_graph, 2000, 4, 0.05, seed=0), 3),
    "hexagons 40 × 40, 1": (partial(relabelled, nx.hexagonal_lattice_graph, 40, 40), 1),
    "torus 50 × 50, 1": (partial(relabelled, nx.grid_2d_graph, 50, 50, periodic=True), 1),
    "near in space 2,000, 1": (partial(nx.random_geometric_graph, 2000, 0.1, dim=3, seed=0), 1),
}  # fmt: skip


def pattern(path):
    """Graph of a matrix file."""
    A = coo_array(mmread(path, spmatrix=False))
    graph = nx.empty_graph(A.shape[0])
    graph.add_edges_from((i, j) for i, j in zip(*A.coords, strict=True) if i != j)
    return graph


def times(system):
    """Microseconds of refactorize and solve, and the order, for "auto", "amd" and "nd"."""
    b, values, factors = np.ones(system.shape[0]), system.values.copy(), {}
    for name in ("auto", "amd", "nd"):
        factors[name] = system.factorize(system.analyze(name))
    least = dict.fromkeys(factors, np.inf)
    for _ in range(ROUNDS):
        for name, factor in factors.items():
            start, calls, spent = time.process_time(), 0, 0.0
            while spent < BATCH:
                factor.refactorize(values)
                factor.solve(b)
                calls += 1
                spent = time.process_time() - start
            least[name] = min(least[name], spent / calls)
    return {name: 1e6 * t for name, t in least.items()}, factors["auto"].symbolic.ordering


class EliminationOrders:
    params = (list(GRAPHS),)
    param_names = ("graph",)

    def track_over_fastest(self, name):
        """Time in the automatic order over that in the fastest."""
        make, size = GRAPHS[name]
        found, _ = times(random_system(make(), size))
        return found["auto"] / min(found.values())

    track_over_fastest.unit = "times the fastest order"


def main():
    """Print rows of the table."""
    cases = {**GRAPHS, **{path: (partial(pattern, path), 1) for path in sys.argv[1:]}}
    for name, (make, size) in cases.items():
        found, order = times(random_system(make(), size))
        ratio = found["auto"] / min(found.values())
        print(f"| {name} | {order} | " + " | ".join(f"{t:.0f}" for t in found.values())
              + f" | {ratio:.2f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    answer_help(__doc__)
    main()
