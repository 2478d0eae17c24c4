"""Factors of a scipy matrix by blocks that are found in it, with the symmetry of its values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from graphsys.analysis.partition import Partition
from graphsys.factor import Factor
from graphsys.kernels.single.entries import MISFIT, REFUSED, place_entries
from graphsys.kernels.single.fused_solve import entry
from graphsys.matrix.from_scipy import find_equal
from graphsys.numeric.factorization import DOUBTFUL, Factorization
from graphsys.symbolic import Symbolic
from graphsys.system import System

__all__ = ["FoundBlocks", "by_columns"]

Array = NDArray[Any]
Ints = NDArray[np.int64]


class FoundBlocks:
    """System of a scipy matrix, whose rows may be in another order, and its factors.

    Parameters
    ----------
    rows : scipy.sparse.csr_array, shape (N, N)
        Canonical.
    partition : Partition or None
        Nodes; None for those of `find_equal`.
    mirrored : ndarray of int, shape (N_entries,), or None
        From `partition.mirror`, for matrices that are symmetric: their factors are, too.
    analyze : callable
        Symbolic factorization of a system.

    Attributes
    ----------
    order : ndarray of int, shape (N,), or None
        Row of the matrix in each row of the system; None where that is the same.
    system : System
    symbolic : Symbolic
    """

    def __init__(
        self,
        rows: Any,
        partition: Partition | None,
        mirrored: Ints | None,
        analyze: Callable[[System], Symbolic],
    ) -> None:
        self.order = None if partition is None else partition.order
        size = find_equal(rows) if partition is None else partition.size
        self._pattern = rows.indptr.copy(), rows.indices.copy()
        inside, place = rows, None
        if self.order is not None:
            numbers = csr_array((np.arange(rows.nnz), rows.indices, rows.indptr), rows.shape)
            inside = numbers[self.order][:, self.order]
            inside.sort_indices()
            place, inside.data = inside.data, rows.data[inside.data]
        self.system = System._from_rows(inside, size, None, mirrored is not None)
        at = self.system.entry_at
        assert at is not None
        self._at = at
        if place is not None:
            self._at = np.empty_like(at)
            self._at[place] = at
        self._mirrored = mirrored
        self.symbolic = analyze(self.system)
        self._factor: Factor | None = None
        self._places: dict[str, Callable[..., int]] = {}  # `place_entries` by format

    @property
    def is_plain(self) -> bool:
        """True if rows are in their own order and no entry is left out by symmetry."""
        return self.order is None and not self.system.symmetric

    @property
    def factor(self) -> Factor:
        """Factors; SingularPivotError where the first matrix is singular."""
        if self._factor is None:
            self._factor = self.system.factorize(self.symbolic)
        return self._factor

    def judge_pivots(self) -> tuple[bool, bool]:
        """Whether solves with static pivots of the first matrix refine, and if that suffices."""
        values = self.system.values
        found = Factorization(self.symbolic, self.system.dtype, refine_below=DOUBTFUL)
        if found._eliminate(values) != 0:
            return True, False
        return found.doubtful, not found.doubtful or found.can_refine(values)

    def load(self, A: Any) -> int:
        """Set the system to a CSR or CSC matrix with the pattern of the first: `place_entries`."""
        form = getattr(A, "format", "")
        if form not in ("csr", "csc") or A.shape != self.system.shape:
            return REFUSED
        places = self._places.get(form)
        if places is None:
            places = self._places[form] = self._placed(form)
        return places(A.indptr, A.indices, A.data, self.system.values)

    def _placed(self, form: str) -> Callable[..., int]:
        """`place_entries` for matrices of a format.

        Entries of a symmetric matrix go across its diagonal: those of a row follow each other in
        blocks then.
        """
        (start, index), values = self._pattern, self.system.values
        place, pairs, vacant = self._at, np.zeros((2, 0), np.int64), np.zeros(0, np.int64)
        if self._mirrored is not None:
            row = np.repeat(np.arange(start.size - 1), np.diff(start))
            upper = np.flatnonzero(index > row)
            place, pairs = place[self._mirrored], np.stack([upper, self._mirrored[upper]])
        elif form == "csc":
            start, index, order = by_columns(*self._pattern)
            place = np.empty_like(place)
            place[order] = self._at
        if self.is_plain:  # others have seen it, and may have written to it
            vacant = np.setdiff1d(np.arange(values.size), place)
        kind = np.uint32 if values.size < 2**32 else np.uint64
        tables = start, index, place.astype(kind), vacant.astype(kind), pairs.astype(kind)
        entries = np.empty(place.size, values.dtype)
        code = entry(place_entries, MISFIT, *tables, start, index, entries, values)

        def load(start: Any, index: Any, entries: Any, values: Any) -> int:
            status: int = code(*tables, start, index, entries, values)
            return status

        return load

    def entries(self) -> Array:
        """Entries of the matrix, by rows."""
        return self.system.values[self._at]

    def solve(self, b: Array, trans: str) -> Array:
        """Solution of A x = b with rows in the order of the matrix."""
        order = self.order
        if order is None or b.ndim == 0 or b.shape[0] != order.size:  # which the factor refuses
            return np.asarray(self.factor.solve(b, trans))
        inside = np.asarray(self.factor.solve(b[order], trans))
        x = np.empty_like(inside)
        x[order] = inside
        return x

    def row(self, row: int) -> int:
        """Row of the matrix in a row of the system."""
        return row if self.order is None else int(self.order[row])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_places": {}}


def by_columns(start: Ints, index: Ints) -> tuple[Ints, Ints, Ints]:
    """`indptr` and `indices` of a CSR pattern in CSC, and the place there of each entry."""
    n = start.size - 1
    places = csr_array((np.arange(index.size), index, start), (n, n)).tocsc()
    order = np.empty(index.size, np.int64)
    order[places.data] = np.arange(index.size)
    return places.indptr, places.indices, order
