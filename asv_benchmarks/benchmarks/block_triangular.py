"""Matrices with a block triangular form: `gs.splu` again and again, beside KLU."""

import numpy as np
from scipy.sparse import coo_array

import graphsys as gs

from .clock import fastest
from .suitesparse import KLU


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


class ProductionBasis:
    params = ([(20, 30, 4), (50, 60, 5)],)
    param_names = ("periods, products, machines",)

    def setup(self, size):
        self.A = production_basis(*size)
        self.b = np.ones(self.A.shape[0])
        self.factors = gs.splu(self.A)

    def time_refactorize(self, size):
        self.factors.refactorize(self.A)

    def time_solve(self, size):
        self.factors.solve(self.b)

    def track_over_klu(self, size):
        """Speed of refactorize and solve over that of KLU; nan where KLU is not installed."""
        if KLU.lib is None:
            return float("nan")
        klu, system = KLU(), gs.System.from_scipy(self.A)
        klu.analyze(self.A, system, range(len(system.labels)))
        peer = fastest(lambda: klu.refactorize(klu.values)) + fastest(lambda: klu.solve(self.b))
        klu.close()
        ours = fastest(lambda: self.factors.refactorize(self.A))
        return peer / (ours + fastest(lambda: self.factors.solve(self.b)))

    track_over_klu.unit = "times as fast as KLU"
