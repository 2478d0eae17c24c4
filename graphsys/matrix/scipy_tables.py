"""Scipy sparse matrices whose tables are sound: compiled loops of scipy trust them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.integer[Any]]


def checked(matrix: Any, name: str) -> Any:
    """The matrix, or one of its entries in a format with tables, once these are in range.

    Parameters
    ----------
    matrix : scipy sparse matrix or array, 2-D
    name : str
        Subject of an error.

    Returns
    -------
    scipy sparse matrix or array
        In CSR, CSC, BSR, COO or DIA format.

    Raises
    ------
    ValueError
        If an index is outside the matrix, or the tables do not fit together.
    """
    if matrix.format == "dok":
        matrix = matrix.tocoo()
    elif matrix.format == "lil":
        matrix = _of_lists(matrix, name)
    if matrix.format == "coo":
        for index, bound, what in zip(
            (matrix.row, matrix.col), matrix.shape, ("row", "column"), strict=True
        ):
            if index.size != matrix.data.size:
                raise _unsound(name, f"{index.size} {what} indices for {matrix.data.size} entries")
            _check_range(index, bound, what, name)
    elif matrix.format in ("csr", "csc", "bsr"):
        _check_compressed(matrix, name)
    elif matrix.format == "dia" and matrix.data.shape[:1] != matrix.offsets.shape:
        raise _unsound(name, f"{matrix.data.shape[0]} diagonals, {matrix.offsets.size} offsets")
    return matrix


def _check_compressed(matrix: Any, name: str) -> None:
    rows, columns = 1, 1
    if matrix.format == "bsr":
        rows, columns = matrix.data.shape[1:]
    bounds = [matrix.shape[0] // max(rows, 1), matrix.shape[1] // max(columns, 1)]
    what = "column" if matrix.format != "csc" else "row"
    major, minor = bounds if matrix.format != "csc" else bounds[::-1]
    start, index = matrix.indptr, matrix.indices
    if start.shape != (major + 1,) or start[0] != 0 or (np.diff(start) < 0).any():
        raise _unsound(name, f"indptr does not ascend from 0 in {major + 1} steps")
    entries = matrix.data.shape[0]
    if start[-1] > min(index.size, entries):
        there = f"{index.size} indices for {entries} entries"
        raise _unsound(name, f"indptr ends at {start[-1]}, there are {there}")
    _check_range(index[: start[-1]], minor, what, name)


def _check_range(index: Int, bound: int, what: str, name: str) -> None:
    if index.dtype.kind not in "iu":
        raise _unsound(name, f"{what} indices of type {index.dtype}")
    if index.size and (index.min() < 0 or index.max() >= bound):
        outside = index[(index < 0) | (index >= bound)][0]
        raise _unsound(name, f"{what} index {outside}, outside 0 to {bound - 1}")


def _of_lists(matrix: Any, name: str) -> Any:
    """CSR of a matrix in LIL format."""
    for row, entries in zip(matrix.rows, matrix.data, strict=True):
        if len(row) != len(entries):
            raise _unsound(name, f"{len(row)} column indices for {len(entries)} entries of a row")
        _check_range(np.asarray(row, np.int64), matrix.shape[1], "column", name)
    return matrix.tocsr()


def _unsound(name: str, what: str) -> ValueError:
    return ValueError(f"the tables of {name} are damaged: {what}")
