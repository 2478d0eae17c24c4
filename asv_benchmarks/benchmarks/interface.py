"""What a direct solver has to offer to be measured: prepare once, factorize new values, solve."""

import ctypes
import sys
from ctypes.util import find_library

import numpy as np


class Solver:
    """A direct solver in one setting.

    Attributes
    ----------
    group : str
        Solver; a table shows the fastest setting of a group.
    name : str
        Solver and setting.
    values : object
        The matrix as `refactorize` wants it, made by `analyze`: what it costs to bring numbers
        into a solver's own layout is not held against it.
    at_once : callable or None
        ``at_once(values, b)`` does what `refactorize` and then `solve` do, in one call.
    most_operations : float
        Operations of our factorization up to which this solver is worth waiting for.
    """

    group = name = ""
    at_once = None
    most_operations = float("inf")

    def available(self):
        """Return None, or the reason why this solver cannot be used here."""
        return None

    def unfit(self, A):
        """Return None, or the reason why this solver is hopeless for this matrix."""
        return None

    def analyze(self, A, system, order):
        """Do what depends on the pattern alone: A in CSR, our elimination order by node index."""
        raise NotImplementedError

    def analysis_seconds(self):
        """Return CPU seconds of the analysis proper; nan where every factorization repeats it."""
        return float("nan")

    def refactorize(self, values):
        """Factorize a matrix of the same pattern."""
        raise NotImplementedError

    def solve(self, b):
        """Return x with A x = b; it may be the same array every time."""
        raise NotImplementedError

    def close(self):
        """Give back the memory that Python does not know of."""


class Pointers:
    """Pointers to arrays as ctypes wants them; that of the last array in each role is kept."""

    def __init__(self):
        self.known = {}

    def __call__(self, role, array):
        """Return a pointer to the numbers of an array, which lives on until the next one."""
        last = self.known.get(role)
        if last is None or last[0] is not array:
            last = self.known[role] = array, ctypes.c_void_p(array.ctypes.data)
        return last[1]


def analyzed(solvers, A, system, order):
    """Return the solvers that factorize A, once they are analyzed; print why others do not."""
    usable = []
    for solver in solvers:
        try:
            solver.analyze(A.copy(), system, order)
            solver.refactorize(solver.values)
            usable.append(solver)
        except ArithmeticError as failure:
            print(f"{solver.name}: {failure}", file=sys.stderr)
    return usable


def without_zeros(A):
    """Return A without stored zeros: the diagonal blocks of joints are such."""
    A = A.copy()
    A.eliminate_zeros()
    return A


def rows_in_order(system, order):
    """Return the scalar rows of the nodes in elimination order, shape (N,)."""
    start = system.graph.row_start
    return np.concatenate([np.arange(start[i], start[i + 1]) for i in order]).astype(np.int32)


def library(*names):
    """Return the first of these shared libraries that can be loaded, or None."""
    for name in names:
        path = name if ".so" in name else find_library(name)
        try:
            return ctypes.CDLL(path) if path else None
        except OSError:
            pass
    return None
