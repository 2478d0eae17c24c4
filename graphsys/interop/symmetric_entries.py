"""Entries of symmetric and Hermitian scipy matrices of one pattern: their places in a system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsys.matrix.from_scipy import entries_at
from graphsys.system import System

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class SymmetricEntries:
    """Places of the entries of a pattern, both triangles or one, in the values of a system.

    Attributes
    ----------
    form : str
        "csr" or "csc".
    start, index : ndarray of int
        `indptr` and `indices` of the pattern.
    at, mirrored : ndarray of int, shape (e,)
        Places of each entry, and of that across the diagonal.
    partner : ndarray of int, shape (e,), or None
        Entry across the diagonal; None for one triangle.
    diagonal : ndarray of int, shape (N,)
        Places of the diagonal.
    """

    form: str
    start: NDArray[Any]
    index: NDArray[Any]
    at: Ints
    mirrored: Ints
    partner: Ints | None
    diagonal: Ints

    @classmethod
    def of(cls, A: Any, system: System) -> SymmetricEntries | None:
        """Places for matrices like A; None for formats that are not compressed and canonical.

        Parameters
        ----------
        A : scipy sparse matrix or array, shape (N, N)
            In the blocks of the system.
        system : System
        """
        if A.format not in ("csr", "csc") or not A.has_canonical_format:
            return None
        start, index, n = A.indptr.copy(), A.indices.copy(), A.shape[0]
        rows = sp.csr_array((np.arange(index.size), index, start), shape=(n, n))  # or columns
        across = rows.T.tocsr()
        at, mirrored = (np.empty(index.size, np.int64) for _ in range(2))
        for pattern, places in ((rows, at), (across, mirrored)):
            places[pattern.data] = entries_at(system.graph, pattern).at
        if A.format == "csc":
            at, mirrored = mirrored, at
        both = np.array_equal(start, across.indptr) and np.array_equal(index, across.indices)
        row = np.repeat(np.arange(n), np.diff(start))
        if not both and (row < index).any() and (row > index).any():
            return None
        diagonal = entries_at(system.graph, sp.eye_array(n, format="csr")).at
        partner = across.data.astype(np.int64) if both else None
        return cls(A.format, start, index, at, mirrored, partner, diagonal)

    def load(self, A: Any, beta: float, system: System) -> bool:
        """Set the values of a system to A + beta I; False, and nothing is done, if A is another.

        A has another pattern, numbers of another kind that are not finite, or is not symmetric, or
        Hermitian, to the last bit.
        """
        if A.format != self.form or not np.array_equal(A.indptr, self.start):
            return False
        numbers, kinds = A.data, "iufc" if system.dtype.kind == "c" else "iuf"
        if numbers.dtype.kind not in kinds or not np.array_equal(A.indices, self.index):
            return False
        across = numbers.conj()
        if self.partner is not None and (numbers != across[self.partner]).any():
            return False
        if self.partner is None and (numbers != across)[self.at == self.mirrored].any():
            return False
        if not (np.isfinite(numbers).all() and np.isfinite(beta)):
            return False
        values = system.values
        values[:] = 0
        values[self.mirrored] = across
        values[self.at] = numbers
        values[self.diagonal] += beta
        return True
