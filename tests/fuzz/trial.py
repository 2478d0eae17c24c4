"""Trial: a case as systems, factors, right-hand sides and references, each made when needed."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

import graphsys as gs
from graphsys.matrix.from_scipy import coordinates
from tests.fuzz.cases import Case
from tests.fuzz.judge import (
    NEEDLESS,
    REFUSED,
    REGULAR,
    Measure,
    Verdict,
    lapack_solution,
    solution_excess,
)
from tests.fuzz.reference import Reference, scale


class Trial:
    """A case under test.

    Parameters
    ----------
    case : Case

    Attributes
    ----------
    values : list of ndarray, shape (nnz,)
        Of each of its matrices.
    eps : float
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self.blank = gs.System(case.graph, case.sizes, dtype=case.dtype, symmetric=case.symmetric)
        self.place = coordinates(self.blank.graph)
        self.values = [matrix[self.place] for matrix in case.matrices]
        self.eps = float(np.finfo(case.dtype).eps)
        self._references: dict[int, Reference] = {}
        self._vectors: dict[tuple[int, str], NDArray] = {}
        self._factor: gs.Factor | Exception | None = None

    def system(self, k: int = 0) -> gs.System:
        """New system of matrix k."""
        system = self.blank.copy()
        system.values = self.values[k]
        return system

    @cached_property
    def diagonal(self) -> list[int]:
        """Places of diagonal entries in the values."""
        row, column = self.place
        return np.flatnonzero(row == column).tolist()

    @property
    def factor(self) -> gs.Factor:
        """Factors of the first matrix, not to be changed."""
        if self._factor is None:
            try:
                self._factor = self.new_factor()
            except Exception as error:
                self._factor = error
        if isinstance(self._factor, Exception):
            raise self._factor
        return self._factor

    def new_factor(self, **options) -> gs.Factor:
        """Factors of the first matrix, of the symbolic factorization that all of them share."""
        return gs.Factor(self.symbolic, self.values[0].copy(), **options)

    @cached_property
    def symbolic(self) -> gs.Symbolic:
        """Symbolic factorization of the first matrix."""
        return self.system().analyze()

    def reference(self, k: int = 0, trans: str = "N") -> Reference:
        """Reference of matrix k, or of its transpose or conjugate transpose."""
        key = -1 - k if trans == "H" else k
        if key not in self._references:
            matrix = self.case.matrices[k]
            self._references[key] = Reference(matrix.conj() if trans == "H" else matrix)
        found = self._references[key]
        return found if trans == "N" else found.transposed

    def regular(self, k: int = 0) -> bool:
        """Whether matrix k may not be refused."""
        first, most = self.reference(k), REGULAR / self.eps
        return first.condition < most or any(s.condition < most for s in first.scalings)

    def columns(self, k: int = 0, trans: str = "N") -> NDArray:
        """Three right-hand sides: random, of a random solution, of a unit vector."""
        key = k, trans
        if key not in self._vectors:
            reference = self.reference(k, trans)
            n = len(reference.row)
            rng = np.random.default_rng([self.case.seed, k])
            noise = rng.normal(size=(n, 2))
            if self.case.dtype.kind == "c":
                noise = noise + 1j * rng.normal(size=(n, 2))
            hat = np.zeros((n, 3), reference.scaled.dtype)
            hat[:, 0] = noise[:, 0]
            hat[:, 1] = reference.scaled @ noise[:, 1]
            if n:
                hat[rng.integers(n), 2] = 1.0
            with np.errstate(over="ignore", under="ignore"):
                b = scale(hat, -reference.row).astype(self.case.dtype)
            self._vectors[key] = np.where(np.isfinite(b), b, 1.0).astype(self.case.dtype)
        return self._vectors[key]

    def vector(self, k: int = 0, trans: str = "N") -> NDArray:
        """One of the first two right-hand sides, by the parity of the seed."""
        return self.columns(k, trans)[:, self.case.seed % 2].copy()

    def solution(self, x: NDArray, b: NDArray, k: int = 0, trans: str = "N") -> Measure:
        """Measure of a solution."""
        reference = self.reference(k, trans)
        return Measure(
            solution_excess(reference, x, b, self.eps),
            lambda: lapack_solution(reference, b, self.eps),
        )

    def failure(self, error: Exception, k: int) -> Verdict:
        """Verdict on a system that a batch refused."""
        return Verdict(NEEDLESS if self.regular(k) else REFUSED, f"{type(error).__name__}: {error}")
