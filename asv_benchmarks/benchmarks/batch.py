"""Many systems of one graph: per system, and against one factorization after another."""

import numpy as np

import graphsys as gs
from graphsys import kernels
from graphsys.kernels import batch_groups
from graphsys.kernels.program import ARENA_TOTAL

from . import cases, clock

COUNT = 256


class Batch:
    """Factorize and solve, 256 systems."""

    params = (["chain", "tree", "ladder", "crystal"], [10, 20, 27], [3, 6])
    param_names = ("graph", "nodes", "block")

    def setup(self, family, nodes, block):
        self.symbolic = cases.system(family, nodes, block).analyze()
        rng = np.random.default_rng(0)
        values = cases.system(family, nodes, block).values
        self.values = values * rng.uniform(0.9, 1.1, size=(COUNT, 1))
        self.batch = gs.Batch(self.symbolic, self.values)
        self.b = rng.standard_normal(self.batch.shape[:2])
        self.batch.solve(self.b)
        self.batch.solve_once(self.values, self.b)

    def time_refactorize(self, family, nodes, block):
        self.batch.refactorize(self.values)

    def time_solve_once(self, family, nodes, block):
        self.batch.solve_once(self.values, self.b)

    def track_microseconds_a_system(self, family, nodes, block):
        return 1e6 / COUNT * clock.fastest(lambda: self.batch.solve_once(self.values, self.b))

    track_microseconds_a_system.unit = "us"

    def track_speedup(self, family, nodes, block):
        """Over one system after another, all of it in compiled code."""
        program = self.symbolic.program
        rows, total = self.batch.shape[1], int(program[ARENA_TOTAL])
        _, magnitudes, work = kernels.work_sizes(program, 1)
        magnitude, info = np.empty(magnitudes), np.zeros(3)
        arena, x, out = np.empty(COUNT * total), np.empty(work), np.empty(COUNT * rows)
        status = np.ones((3, COUNT))
        values, b = self.values.ravel(), self.b.ravel()

        def one_by_one():
            for s in range(0, COUNT, 8):  # arena stays in the second cache
                batch_groups.factorize_each(
                    program, values[s * values.size // COUNT :][: 8 * values.size // COUNT],
                    8, 0, 8, 1e-14, magnitude, info, arena, *status,
                )  # fmt: skip
                batch_groups.solve_each(
                    program, arena, 0, 8, False, b[s * rows :], 1, x, out[s * rows :]
                )

        one_by_one()  # compiles
        one = clock.fastest(one_by_one)
        return one / clock.fastest(lambda: self.batch.solve_once(self.values, self.b))

    track_speedup.unit = "times as fast"
