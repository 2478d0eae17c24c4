"""`gs.splu` and `gs.spsolve` beside scipy's functions of the same names, one matrix at a time.

``python -m benchmarks.scipy_functions`` in ``asv_benchmarks`` prints the table of
`docs/from_scipy.md`.
"""

import networkx as nx
import numpy as np
from scipy.sparse import (
    block_array,
    block_diag,
    coo_array,
    csc_array,
    csr_array,
    diags_array,
    eye_array,
    kron,
    random_array,
)
from scipy.sparse import linalg as scipy_linalg

import graphsys as gs

from .block_triangular import circuit
from .clock import fastest
from .usage import answer_help

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


def band(n, width, seed=0):
    """Some diagonals on either side of a dominant one, without symmetry of values."""
    rng, places = np.random.default_rng(seed), range(-width, width + 1)
    A = diags_array([rng.uniform(-1.0, -0.1, n - abs(k)) for k in places], offsets=places)
    return csc_array(A + diags_array(abs(A).sum(axis=1) + 1.0))


def staircase(steps, rows, seed=0):
    """Irreducible blocks, each with entries in the columns of the one before: a plan in stages."""
    rng, draw = np.random.default_rng(seed), np.random.default_rng(seed).standard_normal

    def some(degree):
        return random_array((rows, rows), density=degree / rows, rng=rng, data_sampler=draw)

    own = [some(4) + diags_array(rng.uniform(1.0, 2.0, rows)) for _ in range(steps)]
    before = block_diag([some(2) for _ in range(steps - 1)])
    none = csr_array((rows, rows))
    return csc_array(block_diag(own) + block_array([[None, none], [before, None]]))


def saddle(unknowns, constraints, seed=0):
    """Quadratic program with a diagonal Hessian: symmetric, half of its pivots off the diagonal."""
    rng = np.random.default_rng(seed)
    B = random_array((constraints, unknowns), density=3.0 / unknowns, rng=rng)
    B = B + eye_array(constraints, unknowns)
    return csc_array(block_array([[diags_array(rng.uniform(0.1, 10.0, unknowns)), B.T], [B, None]]))


def convection(m):
    """Diffusion and a wind on a grid: a symmetric pattern without symmetric values."""
    second = diags_array([-np.ones(m - 1), 2.0 * np.ones(m), -np.ones(m - 1)], offsets=[-1, 0, 1])
    first, one = diags_array([-np.ones(m - 1), np.ones(m - 1)], offsets=[-1, 1]), eye_array(m)
    return csc_array(kron(second + 0.4 * first, one) + kron(one, second + 0.2 * first))


def filled(n, part, seed=0):
    """Random entries in a part of all places."""
    rng = np.random.default_rng(seed)
    A = random_array((n, n), density=part, rng=rng, data_sampler=rng.standard_normal)
    return csc_array(A + diags_array(np.full(n, 3.0)))


def graded(seed):
    """Random matrix of float32 whose rows and columns, or entries, span many powers of ten; A x."""
    rng = np.random.default_rng(seed)
    n, draw = int(rng.integers(20, 150)), rng.standard_normal
    A = random_array((n, n), density=4.0 / n, rng=rng, data_sampler=draw) + diags_array(draw(n))
    row, column = 10.0 ** rng.uniform(-4.0, 4.0, n), 10.0 ** rng.uniform(-3.0, 3.0, n)
    A = csc_array(diags_array(row) @ A @ diags_array(row if seed % 3 == 0 else column))
    if seed % 3 == 2:
        A.data *= 10.0 ** rng.uniform(-6.0, 0.0, A.nnz)
    A = A.astype(np.float32)
    return A, (A.astype(float) @ draw(n)).astype(np.float32)


MATRICES = {
    "chain, 20 rows": lambda: laplacian(nx.path_graph(20)),
    "chain, 100 rows": lambda: laplacian(nx.path_graph(100)),
    "chain, 1 000 rows": lambda: laplacian(nx.path_graph(1000)),
    "tree, 2 000 rows": lambda: laplacian(nx.random_labeled_tree(2000, seed=0)),
    "diagonal, 1 000 rows": lambda: csc_array(2.0 * eye_array(1000)),
    "3 diagonals, 5 000 rows": lambda: band(5000, 1),
    "5 diagonals, 5 000 rows": lambda: band(5000, 2),
    "11 diagonals, 2 000 rows": lambda: band(2000, 5),
    "circuit, 3 000 rows": lambda: csc_array(circuit(20, 150)),
    "power law, 3 000 rows": lambda: laplacian(nx.barabasi_albert_graph(3000, 2, seed=0)),
    "random, 200 rows of 4 entries": lambda: dominant(200, 3),
    "random, 2 000 rows of 3 entries": lambda: dominant(2000, 2),
    "saddle, 300 rows": lambda: saddle(200, 100),
    "saddle, 1 000 rows": lambda: saddle(667, 333),
    "staircase, 10 × 30": lambda: staircase(10, 30),
    "staircase, 25 × 60": lambda: staircase(25, 60),
    "3 % of 300 rows": lambda: filled(300, 0.03),
    "30 % of 300 rows": lambda: filled(300, 0.3),
    "30 % of 1 000 rows": lambda: filled(1000, 0.3),
    "convection, 20 × 20": lambda: convection(20),
    "convection, 30 × 30": lambda: convection(30),
    "convection, 45 × 45": lambda: convection(45),
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
        self.b, self.columns = np.ones(self.A.shape[0]), np.ones((self.A.shape[0], 50))
        self.factors = gs.splu(self.A)
        self.factors.refactorize(self.A)
        gs.spsolve(self.A, self.b)

    def time_splu(self, name):
        gs.splu(self.A)

    def time_spsolve(self, name):
        gs.spsolve(self.A, self.b)

    def time_50_columns(self, name):
        self.factors.solve(self.columns)

    def track_splu_over_scipy(self, name):
        """Speed of `gs.splu` over that of scipy's."""
        ours, theirs = self.milliseconds()[:2]
        return theirs / ours

    track_splu_over_scipy.unit = "times as fast as scipy"

    def track_spsolve_over_scipy(self, name):
        """Speed of `gs.spsolve` over that of scipy's."""
        ours, theirs = self.milliseconds()[2:4]
        return theirs / ours

    track_spsolve_over_scipy.unit = "times as fast as scipy"

    def milliseconds(self):
        """CPU time of splu, spsolve, refactorize, solve of one and 50 columns, some as scipy's.

        Each is followed by scipy's, but refactorize. The columns are solved by the first factors.
        """
        A, b, first, others = self.A, self.b, gs.splu(self.A), scipy_linalg.splu(self.A)
        calls = (
            lambda: gs.splu(A), lambda: scipy_linalg.splu(A), lambda: gs.spsolve(A, b),
            lambda: scipy_linalg.spsolve(A, b), lambda: self.factors.refactorize(A),
            lambda: self.factors.solve(b), lambda: others.solve(b),
            lambda: first.solve(self.columns), lambda: others.solve(self.columns),
        )  # fmt: skip
        rounds = [[fastest(call, SECONDS / 3) for call in calls] for _ in range(3)]
        return [1e3 * min(times) for times in zip(*rounds, strict=True)]


class GradedSinglePrecision:
    """Solutions of float32 with a row whose residual is above a tenth of its terms."""

    params = (["splu", "refactorize", "scipy"],)
    param_names = ("function",)

    def track_wrong_of_600(self, function):
        """Matrices of `graded` with such a row, singular ones left out."""
        wrong = 0
        for seed in range(600):
            A, b = graded(seed)
            try:
                factors = scipy_linalg.splu(A) if function == "scipy" else gs.splu(A)
            except (gs.SingularPivotError, RuntimeError):
                continue
            if function == "refactorize":
                factors.refactorize(A)
            exact, x = A.astype(float), factors.solve(b).astype(float)
            terms = abs(exact) @ abs(x) + abs(b)
            wrong += bool((abs(exact @ x - b) > 0.1 * terms).any())
        return wrong


def main():
    """Print rows of the table, and how many solutions of float32 have a wrong row."""
    for function in GradedSinglePrecision.params[0]:
        print(function, GradedSinglePrecision().track_wrong_of_600(function))
    for name in MATRICES:
        case = ScipyFunctions()
        case.setup(name)
        cells = " | ".join(f"{t:.2g}" if t < 10 else f"{t:.0f}" for t in case.milliseconds())
        print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    answer_help(__doc__)
    main()
