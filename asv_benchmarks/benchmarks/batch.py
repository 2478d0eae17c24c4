"""Many systems of one graph: per system, and against one factorization after another."""

import numpy as np

import graphsys as gs
from graphsys import kernels
from graphsys.kernels.base.layout import ARENA_TOTAL
from graphsys.kernels.batch import groups as batch_groups

from . import cases, clock

COUNT = 256


#: What docs/benchmarks.md shows: family, nodes, block.
ROWS = [
    ("chain", 10, 3),
    ("chain", 10, 6),
    ("chain", 100, 6),
    ("tree", 20, 6),
    ("ladder", 20, 6),
    ("net", 16, 6),
    ("crystal", 27, 3),
    ("crystal", 27, 6),
]


class Systems:
    """Systems of one graph with values of their own, and three ways to solve them."""

    def __init__(self, family, nodes, block):
        system = cases.system(family, nodes, block)
        self.symbolic = system.analyze()
        rng = np.random.default_rng(0)
        self.values = system.values * rng.uniform(0.9, 1.1, size=(COUNT, 1))
        self.batch = gs.Batch(self.symbolic, self.values)
        self.b = rng.standard_normal(self.batch.shape[:2])

    def together(self):
        """`Batch.solve_once`."""
        self.batch.solve_once(self.values, self.b)

    def one_by_one(self):
        """One factorization and solve after another, all of it in compiled code."""
        program, values, b = self.symbolic.program, self.values.ravel(), self.b.ravel()
        rows, total, length = b.size // COUNT, int(program[ARENA_TOTAL]), values.size // COUNT
        _, magnitudes, work = kernels.work_sizes(program, 1)
        magnitude, info, status = np.empty(magnitudes), np.zeros(3), np.ones((3, 8))
        arena, x, out = np.empty(8 * total), np.empty(work), np.empty(COUNT * rows)

        def solve():
            for s in range(0, COUNT, 8):  # arena stays in the second cache
                batch_groups.factorize_each(
                    program, values[s * length : (s + 8) * length], 8, 0, 8, 1e-14, magnitude,
                    info, arena, *status,
                )  # fmt: skip
                batch_groups.solve_each(
                    program, arena, 0, 8, False, b[s * rows :], 1, x, out[s * rows :]
                )

        return solve

    def seconds(self):
        """CPU seconds a system of `together`, and of one after another."""
        one_by_one = self.one_by_one()
        for solve in (self.together, one_by_one):
            solve()  # compiles
        return tuple(clock.fastest(solve) / COUNT for solve in (self.together, one_by_one))


class Batch:
    """Factorize and solve, 256 systems."""

    params = (["chain", "tree", "ladder", "crystal"], [10, 27], [1, 3, 6])
    param_names = ("graph", "nodes", "block")

    def setup(self, family, nodes, block):
        self.systems = Systems(family, nodes, block)
        self.batch, self.values = self.systems.batch, self.systems.values
        self.batch.solve(self.systems.b)
        self.systems.together()

    def time_refactorize(self, family, nodes, block):
        self.batch.refactorize(self.values)

    def time_solve_once(self, family, nodes, block):
        self.systems.together()

    def track_speedup(self, family, nodes, block):
        """Over one system after another."""
        together, one_by_one = self.systems.seconds()
        return one_by_one / together

    track_speedup.unit = "times as fast"
