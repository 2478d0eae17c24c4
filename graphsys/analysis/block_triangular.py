"""Block triangular form of an unsymmetric pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from graphsys.analysis.matching import maximum_matching
from graphsys.kernels.analysis.strong_blocks import WORK_ROWS, find_blocks

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class BlockTriangularForm:
    """Rows and columns in an order that makes a matrix block lower triangular.

    Attributes
    ----------
    row, column : ndarray of int, shape (N,)
        Row and column of the matrix at each place of the form.
    block : ndarray of int, shape (K + 1,)
        First place of each diagonal block, and N.
    """

    row: Ints
    column: Ints
    block: Ints


def block_triangular_form(pattern: Any) -> BlockTriangularForm | None:
    """Finest block triangular form of a pattern; None if it is structurally singular.

    Its blocks are the strongly connected components of the rows once each has a column (Dulmage
    and Mendelsohn 1958; Duff and Reid 1978).

    Parameters
    ----------
    pattern : scipy sparse array, shape (N, N)
        In CSR.

    Returns
    -------
    BlockTriangularForm or None
    """
    n = pattern.shape[0]
    column_of, row_of = maximum_matching(pattern)
    if (column_of < 0).any():
        return None
    start, index = pattern.indptr.astype(np.int64), pattern.indices.astype(np.int64)
    block_of = np.empty(n, np.int64)  # of each row
    count = find_blocks(start, index, row_of, np.empty((WORK_ROWS, n), np.int64), block_of)
    component = block_of[row_of]  # block of each column
    column = np.argsort(component, kind="stable")
    block = np.concatenate([[0], np.cumsum(np.bincount(component, minlength=count))])
    # A block on the diagonal keeps its rows beside its columns, and its symmetry with them.
    moved = np.zeros(count, np.bool_)
    moved[component[component != block_of]] = True
    at_row = np.where(moved[component], row_of, np.arange(n))
    return BlockTriangularForm(at_row[column], column, block)
