"""Matrices without symmetry: repeated factorizations by `gs.splu`, compared with KLU.

``python -m benchmarks.block_triangular`` in ``asv_benchmarks`` prints the table of
`docs/benchmark_notes.md`.
"""

import networkx as nx
import numpy as np
from scipy.sparse import block_diag, coo_array, csr_array

import graphsys as gs

from .clock import fastest
from .linear_programs import PROGRAMS, optimal_basis
from .suitesparse import KLU
from .usage import answer_help


def production_basis(periods, products, machines, seed=0):
    """Basis of a production plan: each balance or capacity with the variable it determines.

    Stocks link a balance to that of the period before, production links it to a capacity.
    """
    rng = np.random.default_rng(seed)
    balances = periods * products
    row, column = [np.arange(balances + periods * machines)], []
    column.append(row[0])
    later = np.arange(products, balances)
    stocked = later[rng.random(later.size) < 0.6]  # x of a balance is the stock before it
    row.append(stocked - products)
    column.append(stocked)
    made = rng.integers(0, balances, balances // 2)
    period = made // products
    row.append(balances + period * machines + rng.integers(0, machines, made.size))
    column.append(made)
    row, column = np.concatenate(row), np.concatenate(column)
    values = rng.uniform(0.5, 2.0, row.size) * rng.choice([-1.0, 1.0], row.size)
    n = balances + periods * machines
    A = coo_array((values, (row, column)), shape=(n, n)).tocsr()
    A = A[rng.permutation(n)][:, rng.permutation(n)].tocsr()
    A.sort_indices()
    return A


def circuit(nodes, stages=1, seed=0):
    """Conductances on power-law graphs, controlled sources, and couplings from stage to stage."""
    rng = np.random.default_rng(seed)
    parts = []
    for stage in range(stages):
        edges = np.array(nx.barabasi_albert_graph(nodes, 2, seed=seed + stage).edges)
        y = 10.0 ** rng.uniform(-3.0, 1.0, len(edges))
        sources = rng.integers(0, nodes, (2, nodes // 10))
        ground = np.arange(0, nodes, 20)
        row = np.concatenate(
            [edges[:, 0], edges[:, 1], edges[:, 0], edges[:, 1], sources[0], ground]
        )
        column = np.concatenate(
            [edges[:, 1], edges[:, 0], edges[:, 0], edges[:, 1], sources[1], ground]
        )
        value = np.concatenate([-y, -y, y, y, 10.0 ** rng.uniform(-3.0, 0.0, sources.shape[1]),
                                np.ones(ground.size)])  # fmt: skip
        parts.append(coo_array((value, (row, column)), shape=(nodes, nodes)))
    A = block_diag(parts).tocoo()
    stage = np.repeat(np.arange(1, stages), 3)
    row = stage * nodes + rng.integers(0, nodes, stage.size)
    column = (rng.random(stage.size) * stage).astype(int) * nodes + rng.integers(
        0, nodes, stage.size
    )
    A = csr_array(A + coo_array((rng.normal(size=stage.size), (row, column)), shape=A.shape))
    A.sort_indices()
    return A


def matrices():
    """Functions that make the matrices, by name."""
    return {
        "plan 680": lambda: production_basis(20, 30, 4),
        "plan 3250": lambda: production_basis(50, 60, 5),
        **{name: lambda f=f, a=a: optimal_basis(*f(*a)) for name, (f, *a) in PROGRAMS.items()},
        "circuit 300": lambda: circuit(300),
        "circuit 1000": lambda: circuit(1000),
        "circuit 20 x 100": lambda: circuit(100, 20),
        "circuit 200 x 20": lambda: circuit(20, 200),
    }


class Unsymmetric:
    params = (list(matrices()),)
    param_names = ("matrix",)

    def setup(self, name):
        self.A = matrices()[name]()
        self.b = np.ones(self.A.shape[0])
        self.columns = np.ones((self.A.shape[0], 50))
        self.factors = gs.splu(self.A)
        self.factors.refactorize(self.A)  # which analyzes the pattern, the first time

    def time_splu(self, name):
        gs.splu(self.A)

    def time_refactorize(self, name):
        self.factors.refactorize(self.A)

    def time_solve(self, name):
        self.factors.solve(self.b)

    def time_solve_columns(self, name):
        self.factors.solve(self.columns)

    def track_over_klu(self, name):
        """Speed of refactorize and solve over that of KLU; nan where KLU is not installed."""
        ours, peer = self.against_klu()
        return peer[0] / ours[0]

    track_over_klu.unit = "times as fast as KLU"

    def against_klu(self):
        """Microseconds and backward errors of ours and of KLU, in turns."""
        if KLU.lib is None:
            return (np.nan, np.nan), (np.nan, np.nan)
        klu, system = KLU(), gs.System.from_scipy(self.A)
        klu.analyze(self.A, system, range(len(system.labels)))
        calls = [(lambda: self.factors.refactorize(self.A), lambda: self.factors.solve(self.b)),
                 (lambda: klu.refactorize(klu.values), lambda: klu.solve(self.b))]  # fmt: skip
        least = [[np.inf] * 2 for _ in calls]
        for _ in range(4):
            for turn, pair in enumerate(calls):
                times = [fastest(call, 0.02) for call in pair]
                least[turn] = [min(t) for t in zip(times, least[turn], strict=True)]
        found = []
        for (_, solve), (factor, solution) in zip(calls, least, strict=True):
            x = solve()
            size = abs(self.A) @ np.abs(x) + np.abs(self.b)
            found.append((1e6 * (factor + solution), np.max(np.abs(self.A @ x - self.b) / size)))
        klu.close()
        return found


def main():
    """Print rows, entries, blocks, microseconds, the ratio, and backward errors."""
    for name in matrices():
        case = Unsymmetric()
        case.setup(name)
        (ours, error), (peer, its) = case.against_klu()
        print(
            f"| {name} | {case.A.shape[0]} | {case.A.nnz} | {case.factors.diagonal_blocks} | "
            f"{ours:.1f} | {peer:.1f} | {peer / ours:.1f} | {error:.0e} | {its:.0e} |",
            flush=True,
        )


if __name__ == "__main__":
    answer_help(__doc__)
    main()
