"""Solves of scalar matrices in JAX, by graphsys and by klujax: docs/from_jax.md.

``python -m benchmarks.jax_solve`` in ``asv_benchmarks`` prints its table; with ``--device`` times
on the default device of JAX, as a GPU, beside its own sparse and dense solves.
"""

import argparse
import time

import networkx as nx
import numpy as np
import scipy.sparse as sp

import graphsys as gs

from . import clock

#: What docs/from_jax.md shows: family, rows, lanes.
ROWS = [
    (family, rows, lanes)
    for family in ("chain", "circuit")
    for rows in (100, 1000)
    for lanes in (1, 256)
] + [("circuit", 10000, 1), ("circuit", 10000, 32)]
#: Seconds of calls that the CPU clock counts together: that of another thread lags behind.
TOGETHER, ROUNDS = 2e-2, 8
SOLVERS = ("graphsys", "klujax", "klujax, analyzed")


def matrix(family, rows):
    """Diagonally dominant matrix of a family."""
    rng = np.random.default_rng(0)
    if family == "chain":
        diagonals = rng.uniform(-1.0, 1.0, (2, rows - 1))
        middle = rng.uniform(4.0, 5.0, rows)
        return sp.diags_array([diagonals[0], middle, diagonals[1]], offsets=[-1, 0, 1]).tocsr()
    graph = nx.barabasi_albert_graph(rows, 1, seed=1)
    graph.add_edges_from(nx.gnm_random_graph(rows, rows // 20, seed=2).edges)
    A = nx.to_scipy_sparse_array(graph, format="csr", dtype=float)
    A.data = -rng.uniform(0.1, 1.0, A.nnz)
    return sp.csr_array(A + sp.diags_array(rng.uniform(0.01, 1.01, rows) - A.sum(axis=1)))


class Case:
    """A compiled solve, or the gradient of its sum of squares, with entries new in each call."""

    def __init__(self, family, rows, lanes, solver, gradient):
        import jax

        jax.config.update("jax_enable_x64", True)
        A = matrix(family, rows)
        solve = _solver(jax, A, lanes, solver)

        def loss(data, b):
            return jax.numpy.sum(solve(data, b) ** 2)

        self._wait = jax.block_until_ready
        self._call = jax.jit(jax.grad(loss) if gradient else solve)
        rng = np.random.default_rng(1)
        shape = (2, A.nnz) if lanes == 1 else (2, lanes, A.nnz)
        self._data = [jax.numpy.array(data) for data in A.data * rng.uniform(0.9, 1.1, shape)]
        self._b = jax.numpy.array(rng.standard_normal((*shape[1:-1], rows)))
        for _ in range(2):
            self.run()

    def run(self):
        """One call, with other entries than the last one."""
        self._data.reverse()
        self._wait(self._call(self._data[0], self._b))


def _solver(jax, A, lanes, solver):
    """Function of entries and right-hand sides."""
    if solver == "graphsys":
        pattern = gs.Pattern.from_scipy(A)

        def one(data, b):
            return gs.jax.solve(pattern, data, b)

        return one if lanes == 1 else jax.vmap(one)
    if solver == "spsolve":
        from jax.experimental.sparse.linalg import spsolve

        return lambda data, b: spsolve(data, A.indices, A.indptr, b, tol=0.0)
    if solver == "dense":
        rows, columns = A.tocoo().coords
        zero = jax.numpy.zeros(A.shape)
        return lambda data, b: jax.numpy.linalg.solve(zero.at[rows, columns].set(data), b)
    import klujax

    rows, columns = (jax.numpy.array(place, dtype="int32") for place in A.tocoo().coords)
    if solver == "klujax":
        return lambda data, b: klujax.solve(rows, columns, data, b)
    symbol = klujax.analyze(rows, columns, A.shape[0])
    return lambda data, b: klujax.solve_with_symbol(rows, columns, data, b, symbol)


class Solve:
    """A solve, and its gradient."""

    params = (ROWS, SOLVERS, (False, True))
    param_names = ("case", "solver", "gradient")

    def setup(self, case, solver, gradient):
        try:
            self.case = Case(*case, solver, gradient)
        except ImportError as error:
            raise NotImplementedError(str(error)) from error

    def time_solve(self, case, solver, gradient):
        self.case.run()


def _seconds(case):
    """Least CPU seconds of a call, of some that are counted together."""
    once = clock.fastest(case.run, 0.0)
    count = max(2, round(TOGETHER / once))
    return min(clock.seconds_of(lambda _: case.run(), None, count) for _ in range(ROUNDS))


def show_device():
    """Print least microseconds of a solve on JAX's default device."""
    for family, rows, lanes in ROWS:
        if lanes > 1 or rows > 1000:
            continue
        found = []
        for solver in ("graphsys", "spsolve", "dense"):
            case, least = Case(family, rows, lanes, solver, False), np.inf
            for _ in range(30):
                start = time.perf_counter()
                case.run()
                least = min(least, time.perf_counter() - start)
            found.append(f"{1e6 * least:.0f}")
        print(f"| {family}, {rows} rows | " + " | ".join(found) + " |", flush=True)


def main():
    """Print the rows of a table of docs/from_jax.md."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", action="store_true", help="on JAX's default device")
    if parser.parse_args().device:
        return show_device()
    for family, rows, lanes in ROWS:
        cases = [Case(family, rows, lanes, solver, False) for solver in SOLVERS]
        cases += [Case(family, rows, lanes, solver, True) for solver in SOLVERS[:2]]
        ours, theirs, analyzed, slope, other = (1e6 * _seconds(case) for case in cases)
        ratios = theirs / ours, analyzed / ours, other / slope
        print(
            f"| {family}, {rows} rows | {lanes} | {ours:.0f} | {theirs:.0f} | "
            + " | ".join(f"{ratio:.1f}" for ratio in ratios)
            + " |"
        )


if __name__ == "__main__":
    main()
