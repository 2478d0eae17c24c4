"""The solvers that graphsys is measured against, each in every setting that may be its best."""

import numpy as np
from scipy.linalg.lapack import dgbtrf, dgbtrs, dgetrf, dgetrs
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from .clock import fastest
from .interface import Solver, without_zeros
from .pardiso import Pardiso
from .suitesparse import KLU, UMFPACK


class Graphsys(Solver):
    """This package: `System.analyze`, `Factor.refactorize`, `solve` and `refactorize_and_solve`."""

    group = name = "graphsys"

    def analyze(self, A, system, order):
        self.factor = system.factorize(system.analyze())
        self.values = system.values
        self.refactorize, self.solve = self.factor.refactorize, self.factor.solve
        self.at_once = self.factor.refactorize_and_solve
        self.system = system
        self.solve(np.ones(A.shape[0]))  # compile before the clock starts
        self.at_once(self.values, np.ones(A.shape[0]))

    def analysis_seconds(self):
        return fastest(self.system.analyze)


class SuperLU(Solver):
    """scipy's splu: it cannot reuse an analysis, so it orders anew every time."""

    group = "splu"
    most_operations = 2e10

    def __init__(self, order):
        self.permc_spec = order
        self.name = f"splu {order}"

    def analyze(self, A, system, order):
        self.values = without_zeros(A).tocsc()

    def refactorize(self, values):
        self.factors = splu(values, permc_spec=self.permc_spec)

    def solve(self, b):
        return self.factors.solve(b)


class Band(Solver):
    """LAPACK's band LU, in the given or the reverse Cuthill-McKee order, as is narrower."""

    group = name = "LAPACK band"
    most_products = 5e9  # of the band's width and height below the diagonal, times rows

    def unfit(self, A):
        lower, upper, _ = self._narrowest(A)
        if A.shape[0] * lower * (lower + upper) > self.most_products:
            return f"the band is {lower + upper + 1} wide"
        return None

    def _narrowest(self, A):
        """Return the widths below and above the diagonal, and the order."""
        A = without_zeros(A).tocoo()
        best = None
        for order in (np.arange(A.shape[0]), reverse_cuthill_mckee(A.tocsr())):
            place = np.empty_like(order)
            place[order] = np.arange(order.size)
            below = place[A.row] - place[A.col]
            widths = int(below.max(initial=0)), int(-below.min(initial=0))
            if best is None or sum(widths) < sum(best[:2]):
                best = *widths, order
        return best

    def analyze(self, A, system, order):
        self.lower, self.upper, self.order = self._narrowest(A)
        self.natural = bool(np.all(np.diff(self.order) == 1))
        self.x = np.empty(A.shape[0])
        A = without_zeros(A)[self.order][:, self.order].tocoo()
        shape = 2 * self.lower + self.upper + 1, A.shape[0]
        self.values = np.zeros(shape, order="F")
        self.values[self.lower + self.upper + A.row - A.col, A.col] = A.data

    def refactorize(self, values):
        self.factors, self.pivots, info = dgbtrf(values, self.lower, self.upper)
        if info:
            raise ArithmeticError(f"dgbtrf: {info}")

    def solve(self, b):
        if self.natural:
            return dgbtrs(self.factors, self.lower, self.upper, b, self.pivots)[0]
        x, _ = dgbtrs(self.factors, self.lower, self.upper, b[self.order], self.pivots)
        self.x[self.order] = x
        return self.x


class Dense(Solver):
    """LAPACK's dense LU, without the checks of scipy's lu_factor."""

    group = name = "LAPACK dense"
    most_rows = 2500

    def unfit(self, A):
        return f"more than {self.most_rows} rows" if A.shape[0] > self.most_rows else None

    def analyze(self, A, system, order):
        self.values = np.asfortranarray(A.toarray())

    def refactorize(self, values):
        self.factors, self.pivots, info = dgetrf(values)
        if info:
            raise ArithmeticError(f"dgetrf: {info}")

    def solve(self, b):
        return dgetrs(self.factors, self.pivots, b)[0]


def peers():
    """Return every peer in every setting, those too that are not installed here."""
    return [
        SuperLU("COLAMD"),
        SuperLU("MMD_AT_PLUS_A"),
        Band(),
        Dense(),
        KLU(),
        KLU(our_order=True),
        UMFPACK(),
        UMFPACK(our_order=True),
        Pardiso(11),
        Pardiso(1),
        Pardiso(1, our_order=True),
        Pardiso(11, blocks=True),
        Pardiso(11, blocks=True, our_order=True),
    ]
