"""Sparse matrices with a pattern that is fixed: entries by blocks, summed into columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Entries"]

Float = NDArray[np.float64]
Int = NDArray[np.int64]


class Entries:
    """Blocks of entries that a matrix sums, given in the same order each time.

    The first pass, until `close`, collects rows and columns, each later one the values.

    Parameters
    ----------
    upper : bool
        Whether entries below the diagonal are dropped, those of a symmetric matrix.
    """

    def __init__(self, upper: bool = False) -> None:
        self.upper = upper
        self._rows: list[Int] = []
        self._columns: list[Int] = []
        self._shapes: list[tuple[int, ...]] = []
        self._values: list[Float] = []
        self._kept: NDArray[np.bool_] | None = None

    def add(self, rows: ArrayLike, columns: ArrayLike, values: ArrayLike) -> None:
        """Add a block: rows, columns and values broadcast against each other."""
        if self._kept is None:
            i, j, _ = np.broadcast_arrays(rows, columns, values)
            self._rows.append(i.ravel().astype(np.int64))
            self._columns.append(j.ravel().astype(np.int64))
            self._shapes.append(i.shape)
        shape, v = self._shapes[len(self._values)], np.asarray(values, float)
        self._values.append((v if v.shape == shape else np.broadcast_to(v, shape)).ravel())

    def both(self, rows: ArrayLike, columns: ArrayLike, values: ArrayLike) -> None:
        """Add a block of a symmetric matrix and its transpose."""
        self.add(rows, columns, values)
        self.add(columns, rows, values)

    def close(self, shape: tuple[int, int]) -> None:
        """Freeze the pattern: compressed columns, rows ascending."""
        i, j = np.concatenate(self._rows), np.concatenate(self._columns)
        kept = i <= j if self.upper else np.ones(i.size, bool)
        key = j[kept] * shape[0] + i[kept]
        unique, place = np.unique(key, return_inverse=True)
        self.shape = shape
        self.rows = unique % shape[0]
        self.columns = unique // shape[0]
        self.starts = np.searchsorted(self.columns, np.arange(shape[1] + 1))
        self._place, self._kept = place, kept
        self._rows, self._columns, self._values = [], [], []

    def take(self) -> Float:
        """Values in the order of `rows` and `columns` of the blocks added since the last call."""
        values = np.concatenate(self._values)[self._kept]
        self._values = []
        return np.bincount(self._place, values, self.rows.size).astype(float, copy=False)
