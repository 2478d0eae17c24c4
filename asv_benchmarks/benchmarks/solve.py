"""From a factorization and a right-hand side to a solution."""

import numpy as np

from . import cases, clock


class Solve:
    params = cases.PARAMS
    param_names = cases.PARAM_NAMES

    def setup(self, family, n):
        system = cases.system(family, n)
        self.matrix = system.to_scipy()
        self.factor = system.factorize(system.analyze())
        rng = np.random.default_rng(0)
        self.one = rng.standard_normal(self.matrix.shape[0])
        self.many = rng.standard_normal((self.matrix.shape[0], 16))
        self.factor.solve(self.one)
        self.factor.solve(self.many)

    def time_solve(self, family, n):
        self.factor.solve(self.one)

    def time_solve_16(self, family, n):
        self.factor.solve(self.many)

    def track_backward_error(self, family, n):
        x = self.factor.solve(self.one)
        norm = abs(self.matrix).sum(axis=1).max()
        residual = np.abs(self.matrix @ x - self.one).max()
        return float(residual / (norm * np.abs(x).max() + np.abs(self.one).max()))

    track_backward_error.unit = "||Ax - b|| / (||A|| ||x|| + ||b||), infinity norm"


class RefactorizeAndSolve:
    """One call from values and a right-hand side to a solution."""

    params = (["chain", "tree", "ladder", "complete"], [5, 10, 100])
    param_names = cases.PARAM_NAMES

    def setup(self, family, n):
        system = cases.system(family, n)
        self.factor, self.values = system.factorize(system.analyze()), system.values
        self.b = np.random.default_rng(0).standard_normal(system.shape[0])
        self.factor.refactorize_and_solve(self.values, self.b)

    def time_refactorize_and_solve(self, family, n):
        self.factor.refactorize_and_solve(self.values, self.b)


class SolveBlocks:
    """One right-hand side with blocks of other sizes."""

    params = (["chain", "ladder", "net", "crystal"], [1, 2, 3, 4, 12])
    param_names = ("graph", "block")
    nodes = 343

    def setup(self, family, block):
        system = cases.system(family, self.nodes, block)
        self.factor = system.factorize(system.analyze())
        self.b = np.random.default_rng(0).standard_normal(system.shape[0])
        self.factor.solve(self.b)

    def time_solve(self, family, block):
        self.factor.solve(self.b)

    def track_rate(self, family, block):
        seconds = clock.fastest(lambda: self.factor.solve(self.b))
        return 2.0 * cases.entries(self.factor.symbolic) / seconds / 1e9

    track_rate.unit = "GFLOP/s"
